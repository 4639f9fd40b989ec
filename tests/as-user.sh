#!/bin/sh
# Run a test as an ordinary user: as it is when we are one; else as uid 54321 with a home of its own. The program
# and the tests are copied to where that user can read them, since a build tree often is not.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
if [ "$(id -u)" != 0 ]; then
    exec "$@"
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
chmod 755 "$dir"
mkdir "$dir/home" "$dir/tests"
cp "$BAWN" "$dir/bawn"
for beside in bawn-egress bawn-egress-tls bawn-inside bawn-vault bawn-wasm; do
    [ ! -e "${BAWN%/*}/$beside" ] || cp "${BAWN%/*}/$beside" "$dir/$beside"
done
if [ -e "${WASM_PROBE:-}" ] && [ -e "$root/build-deps/wasmtime/libwasmtime.so" ]; then
    cp "$WASM_PROBE" "$dir/probe.wasm"
    cp "$root/build-deps/wasmtime/libwasmtime.so" "$dir/libwasmtime.so"
    export WASM_PROBE="$dir/probe.wasm" BAWN_WASM="$dir/bawn-wasm"
fi
# kernels are large; one that this user cannot reach is one that is not there
[ ! -e "${BAWN%/*}/vm" ] || ln -s "$(realpath "${BAWN%/*}/vm")" "$dir/vm"
cp -r "$root/tests/cli" "$root/tests/escape" "$root/tests/egress" "$root/tests/engine.sh" "$dir/tests/"
mkdir "$dir/man" "$dir/src"
cp -r "$root/man/." "$dir/man/"
cp -r "$root/src/." "$dir/src/"
cp -r "$root/profiles" "$dir/profiles"
cp -r "$root/tools" "$dir/tools"
cp -r "$root/include" "$root/docs" "$root/examples" "$root"/*.md "$root/LICENSE" "$dir/"
chown -R 54321:54321 "$dir/home"
prog=$1
shift
case "$prog" in "$root"/*) prog=$dir/${prog#"$root"/} ;; esac
n=$#
while [ "$n" -gt 0 ]; do
    arg=$1
    shift
    case "$arg" in "$root"/*) arg=$dir/${arg#"$root"/} ;; esac
    set -- "$@" "$arg"
    n=$((n - 1))
done
cd "$dir"
status=0
env -u XDG_RUNTIME_DIR BAWN="$dir/bawn" HOME="$dir/home" USER=user LOGNAME=user \
    setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=-all "$prog" "$@" || status=$?
exit "$status"
