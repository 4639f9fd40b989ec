# Sourced after common.bash by the files that need a container engine: one daemon for all tests of a
# file, started here if none answers. Without one every test is skipped, and says why.

setup_file() {
	export ENGINE_DIR=$BATS_FILE_TMPDIR/engine ENGINE_WHY=
	local said
	if said=$("$BATS_TEST_DIRNAME/../engine.sh" start "$ENGINE_DIR" 2>"$BATS_FILE_TMPDIR/why"); then
		eval "$said"
	else
		ENGINE_WHY=$(cat "$BATS_FILE_TMPDIR/why")
		[ -n "$ENGINE_WHY" ] || ENGINE_WHY="engine.sh failed"
	fi
}

teardown_file() {
	"$BATS_TEST_DIRNAME/../engine.sh" stop "$ENGINE_DIR"
}

# What podman keeps below a user's home is read-only in places.
teardown() {
	cd /
	chmod -R u+w "$base" 2>/dev/null || true
	rm -rf "$base"
}

need_engine() {
	need_plain
	[ -z "$ENGINE_WHY" ] || skip "$ENGINE_WHY"
	# private directories of runs are made there, where nobody else's are
	export XDG_RUNTIME_DIR=$base/run
	mkdir -m 700 "$XDG_RUNTIME_DIR"
	# what is there before, so that what a test leaves is seen
	containers=$(docker ps --all --quiet --no-trunc | sort)
}

# Nothing of ours is left: no container, no volume, no private directory, no process.
nothing_left() {
	for _ in $(seq 50); do
		[ "$(docker ps --all --quiet --no-trunc | sort)" != "$containers" ] || break
		sleep 0.1
	done
	[ "$(docker ps --all --quiet --no-trunc | sort)" = "$containers" ] || { docker ps --all; false; }
	[ -z "$(ls -A "$XDG_RUNTIME_DIR")" ] || { ls -A "$XDG_RUNTIME_DIR"; false; }
	[ -z "$(docker volume ls --quiet)" ]
}

image=bawn-test/busybox:1
