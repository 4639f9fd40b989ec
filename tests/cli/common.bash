# Sourced by every file here. Each test gets its own home, workspace and XDG places, and so its own
# audit log; nothing of the caller's policy or state is seen.
bats_require_minimum_version 1.5.0

SOURCE_ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BAWN=$(realpath "${BAWN:-$SOURCE_ROOT/build/bawn}")

setup() {
	base=$(mktemp -d "${TMPDIR:-/tmp}/bawn-cli.XXXXXX")
	export HOME=$base/home XDG_STATE_HOME=$base/state XDG_CONFIG_HOME=$base/config XDG_CACHE_HOME=$base/cache
	mkdir "$HOME" "$XDG_STATE_HOME" "$XDG_CONFIG_HOME" "$XDG_CACHE_HOME" "$base/work"
	unset NO_COLOR
	cd "$base/work"
}

teardown() {
	cd /
	rm -rf "$base"
}

bawn() {
	"$BAWN" "$@"
}

# Wait until a command succeeds: two minutes at the most, and not longer than the process lives.
await() {
	local pid=$1
	shift
	for _ in $(seq 2400); do
		! "$@" || return 0
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.05
	done
	"$@"
}

# The default run must be possible here; if it is not, that is a failure and not a reason to look away.
need_run() {
	bawn run -q -- true
}

# With sanitizers the programs are not static and not all of their filters are loaded.
need_plain() {
	[[ $(bawn version) == *"built: static"* ]] || skip "needs static programs and all filters: run it with a build without sanitizers (make test)"
}

# One line, starting with "bawn: ", on standard error, and nothing on standard output.
one_error() {
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "bawn: "* ]]
}
