# The front door; the build itself is Meson. `make help` lists what there is.
B ?= build
CMD ?=
DATA ?= ../shared/data
PREFIX ?= /usr/local
SRC = $(shell find src include tests bench tools examples -name '*.[ch]')
.DEFAULT_GOAL := build

$(B)/build.ninja:
	@tools/setup.sh build
	meson setup $(B) --prefix $(PREFIX) >/dev/null
build: $(B)/build.ninja ## compile: leaves build/bawn and the libraries
	@ninja -C $(B) --quiet
run: build ## a demonstration; make run CMD='…' runs any command confined
	@if [ -n "$$BAWN_CMD" ]; then $(B)/bawn run -- sh -c "$$BAWN_CMD"; else tools/demo.sh $(B)/bawn; fi
run: export BAWN_CMD = $(CMD)
test: ## install what tests need, build, run the whole suite
	@tools/setup.sh test
	@$(MAKE) --no-print-directory build
	@tests/suite.py $(B)
backends: ## what every backend enforces here and what it costs; writes docs/BACKENDS.md
	@tools/setup.sh bench
	@$(MAKE) --no-print-directory build
	@tests/suite.py $(B) --suite contract --suite matrix
	@tools/backends.py $(B)
bench: ## measure against the peers in one run; writes docs/BENCHMARKS.md
	@tools/setup.sh bench
	@$(MAKE) --no-print-directory build
	@bench/run.py $(B)
eval: build ## how good detection is on labelled data (DATA=folder); writes docs/DETECTION.md
	@tools/setup.sh train
	@tools/eval.py $(B) $(DATA) --train --out docs/DETECTION.md
asan: ## the suite under AddressSanitizer and UBSan, but for what needs static programs and for timing (escape, fault, egress, bench)
	@tools/setup.sh test
	test -d build-asan || CC=clang meson setup build-asan -Db_sanitize=address,undefined >/dev/null
	ninja -C build-asan --quiet
	@tests/suite.py build-asan --suite unit --suite table --suite api --suite fuzz --suite contract --suite cli
fuzz: ## run each fuzz target for FUZZ_SECONDS (30)
	@tools/setup.sh test
	test -d build-fuzz || CC=clang meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined >/dev/null
	ninja -C build-fuzz --quiet fuzz-targets
	@tools/fuzz.sh build-fuzz $${FUZZ_SECONDS:-30}
tidy: ## clang-tidy over every source file, and cppcheck
	@tools/setup.sh test
	test -d build-clang || CC=clang meson setup build-clang >/dev/null
	ninja -C build-clang --quiet
	find src tests examples -name '*.c' -not -path 'tests/wasm/*' -print0 | xargs -0 -n1 -P$$(nproc) clang-tidy -quiet -p build-clang
	cppcheck --enable=warning,performance,portability --std=c11 --inline-suppr --suppressions-list=tools/cppcheck.txt --quiet --error-exitcode=1 \
	  --suppress=missingIncludeSystem --library=gnu -D__x86_64__ -D_GNU_SOURCE -Isrc -Iinclude src
valgrind: ## unit tests of everything that makes no wall, under valgrind
	@tools/setup.sh test
	@$(MAKE) --no-print-directory build
	@tools/valgrind.sh $(B)
train: build ## train the injection model on DATA/inject.jsonl.gz and ordinary files next to it and in packages that it fetches
	@tools/setup.sh train
	ninja -C $(B) --quiet tools/train/inject-features tools/train/inject-fit
	tools/train/ordinary.py tools/train/ordinary.txt build-deps/ordinary
	tools/train/train-inject.py --data $(DATA)/inject.jsonl.gz --own tools/train/inject-own.txt $(sort $(wildcard tools/train/inject-own-*.txt)) --grammar tools/train/inject-grammar.txt \
	  --held tools/train/inject-held.txt --ordinary tools/train/ordinary.txt build-deps/ordinary \
	  --features $(B)/tools/train/inject-features \
	  --shapes src/inspect/inject/shapes.h --lexicon $(B)/src/inspect/inject-lexicon.h --out src/inspect/inject/weights.h \
	  --gate src/inspect/inject/gate-weights.h --rules rules
format: ## rewrite sources with clang-format
	clang-format -i $(SRC)
format-check: ## fail if clang-format would change anything
	@clang-format --dry-run -Werror $(SRC)
install: build ## install program, library, man pages, completions (PREFIX=/usr/local, DESTDIR)
	meson configure $(B) -Dprefix=$(PREFIX)
	meson install -C $(B)
clean: ## remove build directories
	rm -rf build build-asan build-fuzz build-clang
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t14
.PHONY: build run test backends bench eval train asan fuzz tidy valgrind format format-check install clean help
