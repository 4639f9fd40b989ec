#!/usr/bin/env bats
# WebAssembly modules as a caller sees them: --backend wasm, behind the native wall.
load common

# The module and the library are there, or the reason is shown.
need_wasm() {
	[ -n "${WASM_PROBE:-}" ] && [ -e "$WASM_PROBE" ] || skip "no module (apt-get install clang lld wasi-libc libclang-rt-14-dev-wasm32, then build again)"
	cp "$WASM_PROBE" m.wasm
	chmod 644 m.wasm
	if ! out=$("$BAWN" run --backend wasm -- ./m.wasm hello 2>&1); then
		case $out in
		*"there is no libwasmtime.so"*) skip "$out" ;;
		*) echo "$out"; false ;;
		esac
	fi
}

policy() {
	echo "$1" >"$base/p.yaml"
}

wasm() {
	"$BAWN" run --backend wasm "$@"
}

@test "a module runs without the executable bit" {
	need_wasm
	run -0 wasm -- ./m.wasm hello
	[ "$output" = hello ]
	run -0 wasm -- "$PWD/m.wasm" hello
	[ "$output" = hello ]
}

@test "arguments, environment, standard input, exit status" {
	need_wasm
	run -0 wasm -- ./m.wasm hello 'a b' '' '*' ä
	[ "$output" = "hello a b  * ä" ]
	run -0 wasm --env WASM_X=y=z -- ./m.wasm env WASM_X
	[ "$output" = y=z ]
	run -0 env SECRET_OF_HOST=1 "$BAWN" run --backend wasm -- ./m.wasm env SECRET_OF_HOST
	[ "$output" = "(unset)" ]
	run -0 sh -c 'echo in | "$0" run --backend wasm -- ./m.wasm cat -' "$BAWN"
	[ "$output" = in ]
	run -42 wasm -- ./m.wasm exit 42
	run -125 wasm -- ./m.wasm exit 125
}

@test "the result says which walls stood" {
	need_wasm
	run --separate-stderr -0 wasm --json -- ./m.wasm hello
	[ "$(jq -r .backend <<<"$output")" = wasm ]
	[ "$(jq -r .level <<<"$output")" = wasm ]
	[[ "$(jq -r .walls <<<"$output")" == wasmtime*namespaces*Landlock* ]]
}

@test "files by policy" {
	need_wasm
	mkdir "$base/ro" "$base/rw" "$base/none"
	for d in ro rw none; do echo "in $d" >"$base/$d/file"; done
	grant=(--ro "$base/ro" --rw "$base/rw")
	run -0 wasm "${grant[@]}" -- ./m.wasm write new
	[ "$(cat new)" = wasm ]
	run -0 wasm "${grant[@]}" -- ./m.wasm cat "$base/ro/file"
	[ "$output" = "in ro" ]
	run -1 wasm "${grant[@]}" -- ./m.wasm write "$base/ro/file"
	run -1 wasm "${grant[@]}" -- ./m.wasm write "$base/ro/new"
	run -1 wasm "${grant[@]}" -- ./m.wasm truncate "$base/ro/file"
	run -1 wasm "${grant[@]}" -- ./m.wasm unlink "$base/ro/file"
	run -1 wasm "${grant[@]}" -- ./m.wasm mkdir "$base/ro/dir"
	[ "$(ls "$base/ro")" = file ]
	[ "$(cat "$base/ro/file")" = "in ro" ]
	run -0 wasm "${grant[@]}" -- ./m.wasm write "$base/rw/file"
	[ "$(cat "$base/rw/file")" = wasm ]
	run -1 wasm "${grant[@]}" -- ./m.wasm cat "$base/none/file"
	run -1 wasm "${grant[@]}" -- ./m.wasm cat ../none/file
	run -1 wasm "${grant[@]}" -- ./m.wasm cat /proc/self/environ
	run -1 wasm "${grant[@]}" -- ./m.wasm list /dev/shm
}

@test "a workspace that is read-only stays so" {
	need_wasm
	echo old >file
	policy 'filesystem: {mode: read-only}'
	run -1 wasm --policy "$base/p.yaml" -- ./m.wasm write file
	run -0 wasm --policy "$base/p.yaml" -- ./m.wasm cat file
	[ "$output" = old ]
}

@test "the whole file system, if the policy says so" {
	need_wasm
	policy "filesystem: {mode: full, deny: [$XDG_STATE_HOME/bawn]}"
	mkdir "$base/other"
	echo there >"$base/other/file"
	echo here >file
	run -0 wasm --policy "$base/p.yaml" -- ./m.wasm cat "$base/other/file"
	[ "$output" = there ]
	run -0 wasm --policy "$base/p.yaml" -- ./m.wasm cat file
	[ "$output" = here ]
	run -0 wasm --policy "$base/p.yaml" -- ./m.wasm write "$base/other/new"
	[ -e "$base/other/new" ]
	run -1 wasm --policy "$base/p.yaml" -- ./m.wasm cat /proc/self/status
}

@test "where nothing may be executed a module still is read" {
	need_wasm
	run -0 wasm --deny-exec "$PWD" -- ./m.wasm hello
	[ "$output" = hello ]
}

@test "denied and protected paths hold for modules too" {
	need_wasm
	mkdir -p .git/hooks sub
	echo key >sub/secret
	run -1 wasm --deny "$PWD/sub" -- ./m.wasm cat sub/secret
	[[ $output != *key* ]]
	run -1 wasm -- ./m.wasm write .git/hooks/pre-commit
	[ ! -e .git/hooks/pre-commit ]
	run -1 wasm -- ./m.wasm write .bawn.yaml
	[ ! -e .bawn.yaml ]
}

@test "symbolic links do not lead out" {
	need_wasm
	mkdir "$base/none"
	echo key >"$base/none/file"
	ln -s "$base/none/file" abs
	ln -s ../none/file rel
	ln -s "$base/none" dir
	ln -s /proc/self/root root
	for p in abs rel dir/file "root$base/none/file"; do
		run -1 wasm -- ./m.wasm cat "$p"
		[[ $output != *key* ]]
		run -1 wasm -- ./m.wasm write "$p"
	done
	# one that it makes itself
	run wasm -- ./m.wasm symlink ../none/file own
	run -1 wasm -- ./m.wasm cat own
	[[ $output != *key* ]]
	[ "$(cat "$base/none/file")" = key ]
}

@test "no hard link and no rename between a read-only and a writable directory" {
	need_wasm
	mkdir "$base/ro" "$base/rw"
	echo keep >"$base/ro/file"
	echo mine >"$base/rw/file"
	grant=(--ro "$base/ro" --rw "$base/rw")
	run -1 wasm "${grant[@]}" -- ./m.wasm link "$base/ro/file" "$base/rw/link"
	run -1 wasm "${grant[@]}" -- ./m.wasm link "$base/ro/file" link
	run -1 wasm "${grant[@]}" -- ./m.wasm rename "$base/ro/file" "$base/rw/moved"
	run -1 wasm "${grant[@]}" -- ./m.wasm rename "$base/rw/file" "$base/ro/moved"
	run -1 wasm "${grant[@]}" -- ./m.wasm rename "$base/rw/file" "$base/ro/file"
	run -1 wasm "${grant[@]}" -- ./m.wasm link "$base/rw/file" "$base/ro/link"
	[ "$(ls "$base/ro")" = file ]
	[ "$(ls "$base/rw")" = file ]
	[ "$(cat "$base/ro/file")" = keep ]
	[ "$(stat -c %h "$base/ro/file")" = 1 ]
}

@test "memory: growing ends where the limit is" {
	need_wasm
	run -0 wasm --memory 96m -- ./m.wasm grow
	[ "$output" -gt 16 ]
	[ "$output" -lt 96 ]
	run -0 wasm --memory 192m -- ./m.wasm grow
	[ "$output" -gt 96 ]
	[ "$output" -lt 192 ]
}

@test "fuel: a loop ends, the status is SIGXCPU's and the setting is named" {
	need_wasm
	policy 'enforcement: {wasm: {fuel_limit: 10000000}}'
	run --separate-stderr -152 wasm --policy "$base/p.yaml" -- ./m.wasm loop
	[ "$output" = up ]
	[[ $stderr == *fuel_limit* ]]
	run -0 wasm --policy "$base/p.yaml" -- ./m.wasm hello
}

@test "time: a loop and a sleep end with 124" {
	need_wasm
	run --separate-stderr -124 wasm --timeout 1s -- ./m.wasm loop
	[[ $stderr == *time* ]]
	run --separate-stderr -124 wasm --timeout 1s -- ./m.wasm sleep 1000
}

@test "the deadline of the run time itself ends a loop" {
	need_wasm
	lib=${BAWN_WASM%/*}/libwasmtime.so
	[ -e "$lib" ] || lib=$SOURCE_ROOT/build-deps/wasmtime/libwasmtime.so
	[ -e "$lib" ] || skip "libwasmtime.so is neither beside bawn-wasm nor in build-deps (tools/wasmtime.sh)"
	file=$(echo "$XDG_STATE_HOME"/bawn/wasm/*)
	run --separate-stderr -142 "$BAWN_WASM" run "$lib" "$file" time=300 name=m -- m loop
	[ "$output" = up ]
	[[ $stderr == *"ran out of time"* ]]
	# waiting in a call of the host: the second alarm
	run -137 "$BAWN_WASM" run "$lib" "$file" time=100 name=m -- m sleep 1000
}

@test "a trap: one line and the status of SIGABRT" {
	need_wasm
	for how in memory unreachable stack; do
		run --separate-stderr -134 wasm -- ./m.wasm trap $how
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ $stderr == "'./m.wasm' was stopped: "*trap:* ]]
	done
}

@test "no sockets" {
	need_wasm
	run -0 wasm -- ./m.wasm sockets
	[ "$output" = none ]
}

@test "a program that is no module is refused, never run" {
	need_wasm
	printf '#!/bin/sh\necho ran\n' >script
	chmod +x script
	run --separate-stderr -125 wasm -- ./script
	one_error
	run --separate-stderr -125 wasm -- true
	one_error
}

@test "auto takes wasm for modules and for nothing else" {
	need_wasm
	run --separate-stderr -0 bawn run --json -- ./m.wasm hello
	[ "$(jq -r .backend <<<"$output")" = wasm ]
	run --separate-stderr -0 bawn run --level wasm -- ./m.wasm hello
	[ "$output" = hello ]
	run --separate-stderr -0 bawn run --json -- true
	[ "$(jq -r .backend <<<"$output")" = native ]
}

@test "garbage, a component: one line, 126, nothing is kept" {
	need_wasm
	kept=$(ls "$XDG_STATE_HOME/bawn/wasm")
	printf '\0asm\1\0\0\0garbage garbage' >garbage.wasm
	printf '\0asm\15\0\1\0' >component.wasm
	printf '\0asm' >short.wasm
	{ head -c 30000 m.wasm; head -c 20000 /dev/urandom; } >broken.wasm
	# (module (import "env" "socket" (func)) (func (export "_start")))
	printf '\0asm\1\0\0\0\1\4\1\x60\0\0\2\16\1\3env\6socket\0\0\3\2\1\0\7\12\1\6_start\0\1\12\4\1\2\0\13' >import.wasm
	for f in garbage.wasm component.wasm short.wasm broken.wasm import.wasm; do
		run --separate-stderr -126 wasm -- "./$f"
		one_error
		[[ $stderr == *"$f"* ]]
	done
	[ "$(ls "$XDG_STATE_HOME/bawn/wasm")" = "$kept" ]
}

@test "a huge module is refused by its size" {
	need_wasm
	printf '\0asm\1\0\0\0' >huge.wasm
	truncate -s 300M huge.wasm
	run --separate-stderr -126 wasm -- ./huge.wasm
	one_error
	[[ $stderr == *"larger than"* ]]
}

@test "the second start comes from the cache; damage is repaired" {
	need_wasm
	file=$(echo "$XDG_STATE_HOME"/bawn/wasm/*)
	[ "$(stat -c %a "$XDG_STATE_HOME/bawn/wasm")" = 700 ]
	[ "$(stat -c %a "$file")" = 600 ]
	before=$(stat -c %i "$file")
	run -0 wasm -- ./m.wasm hello
	[ "$(stat -c %i "$file")" = "$before" ]
	whole=$(sha256sum <"$file")
	# cut short, changed in the middle, empty
	truncate -s 5000 "$file"
	run -0 wasm -- ./m.wasm hello
	[ "$(sha256sum <"$file")" = "$whole" ]
	printf XXXX | dd of="$file" bs=1 seek=20000 conv=notrunc status=none
	run -0 wasm -- ./m.wasm hello
	[ "$(sha256sum <"$file")" = "$whole" ]
	: >"$file"
	run -0 wasm -- ./m.wasm hello
	[ "$(sha256sum <"$file")" = "$whole" ]
	[ "$(ls -A "$XDG_STATE_HOME/bawn/wasm" | wc -l)" = 1 ]
}

@test "a cache that others can write is not used" {
	need_wasm
	dir=$XDG_STATE_HOME/bawn/wasm
	file=$(echo "$dir"/*)
	chmod 644 "$file"
	run --separate-stderr -125 wasm -- ./m.wasm hello
	[[ $stderr == *"not made by us"* ]]
	chmod 600 "$file"
	ln "$file" "$base/second-name"
	run --separate-stderr -125 wasm -- ./m.wasm hello
	[[ $stderr == *"not made by us"* ]]
	rm "$base/second-name"
	mv "$file" "$base/elsewhere"
	ln -s "$base/elsewhere" "$file"
	run --separate-stderr -125 wasm -- ./m.wasm hello
	rm "$file"
	chmod 777 "$dir"
	run --separate-stderr -125 wasm -- ./m.wasm hello
	[[ $stderr == *"changed by others"* ]]
	chmod 700 "$dir"
	run -0 wasm -- ./m.wasm hello
	# what is granted does not reach it, so it is used
	sum=$(cat "$dir"/* | sha256sum)
	run -0 wasm --rw "$XDG_STATE_HOME" -- ./m.wasm hello
	run --separate-stderr bawn run --rw "$XDG_STATE_HOME" -- sh -c "echo planted >>'$file'; echo planted >'$dir/other'"
	[ "$(cat "$dir"/* | sha256sum)" = "$sum" ]
}

@test "another module of the same name is another entry" {
	need_wasm
	{ cat m.wasm; printf '\0\6\4note!'; } >other
	mv other m.wasm
	run -0 wasm -- ./m.wasm hello
	[ "$(ls "$XDG_STATE_HOME/bawn/wasm" | wc -l)" = 2 ]
}

@test "a library that is missing or no library: what to do" {
	need_wasm
	policy 'enforcement: {wasm: {library: /nonexistent/libwasmtime.so}}'
	run --separate-stderr -125 wasm --policy "$base/p.yaml" -- ./m.wasm hello
	[[ $stderr == *"/nonexistent/libwasmtime.so"* ]]
	echo nonsense >lib.so
	chmod 644 lib.so
	policy "enforcement: {wasm: {library: $PWD/lib.so}}"
	run --separate-stderr -125 wasm --policy "$base/p.yaml" -- ./m.wasm hello
	one_error
	[[ $stderr == *"libwasmtime.so cannot be used"* ]]
	chmod 666 lib.so
	run --separate-stderr -125 wasm --policy "$base/p.yaml" -- ./m.wasm hello
	[[ $stderr == *"changed by others"* ]]
}

@test "a module that others cannot run is said so" {
	need_wasm
	run --separate-stderr -126 bawn run --backend native -- ./m.wasm hello
	[[ $stderr == *m.wasm* ]]
}

@test "the cache stays small, and what was left half written goes" {
	need_wasm
	dir=$XDG_STATE_HOME/bawn/wasm
	for i in $(seq 70); do
		: >"$dir/old-$i"
		touch -d "2001-01-01 +$i min" "$dir/old-$i"
	done
	: >"$dir/.new-1-1"
	touch -d 2001-01-01 "$dir/.new-1-1"
	: >"$dir/.new-2-2"
	{ cat m.wasm; printf '\0\6\4note!'; } >other.wasm
	run -0 wasm -- ./other.wasm hello
	[ "$(ls "$dir" | wc -l)" = 64 ]
	[ ! -e "$dir/old-1" ]
	[ -e "$dir/old-70" ]
	[ ! -e "$dir/.new-1-1" ]
	[ -e "$dir/.new-2-2" ]
}

@test "a full disk: one line, nothing is left" {
	need_wasm
	[ "$(id -u)" = 0 ] || skip "needs root to mount a small disk: cli/wasm as root runs it"
	mkdir "$base/small"
	run --separate-stderr -125 unshare -m sh -c 'mount -t tmpfs -o size=64k,mode=700 none "$1/small" || exit 9
		XDG_STATE_HOME=$1/small "$2" run --backend wasm -- ./m.wasm hello
		s=$?; ls -A "$1/small/bawn/wasm" >"$1/left"; exit $s' sh "$base" "$BAWN"
	[[ $stderr == *"cannot keep the compiled module"*"No space left"* ]]
	[ ! -s "$base/left" ]
}
