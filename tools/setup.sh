#!/bin/sh
# Install what building (and with `all`, testing and measuring) needs from Debian. Asks for nothing; does nothing
# when everything is there. Run by make.
set -eu

build="gcc libc6-dev meson ninja-build pkg-config python3 libseccomp-dev libyaml-dev libjansson-dev
    libpcre2-dev libsodium-dev libevent-dev libc-ares-dev libidn2-dev libunistring-dev
    libhyperscan-dev libtree-sitter-dev ca-certificates"
tests="bats jq git bubblewrap mandoc clang clang-format clang-tidy libclang-rt-dev llvm cppcheck valgrind
    util-linux procps e2fsprogs iproute2 openssl curl wget bash-completion python3-yaml
    qemu-system-x86 lz4 busybox-static file"
bench="firejail bubblewrap ripgrep socat iproute2 tinyproxy-bin squid"

what=${1:-build}
case "$what" in
build) want=$build ;;
test) want="$build $tests" ;;
bench) want="$build $bench jq git" ;;
*) echo "usage: $0 build|test|bench" >&2; exit 2 ;;
esac

command -v npm >/dev/null || want="$want npm"

# grammars that npm brings, and for tests a kernel for virtual machines
finish()
{
    tools=$(dirname "$0")
    "$tools/grammars.sh"
    [ "$what" != test ] || "$tools/vm-kernel.sh" "$tools/../build-deps/vm"
    exit
}

missing=
for p in $want; do
    dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q ' installed$' || missing="$missing $p"
done
[ -n "$missing" ] || finish
if ! command -v apt-get >/dev/null; then
    echo "setup: no apt-get here; please install:$missing" >&2
    finish
fi
root=
if [ "$(id -u)" != 0 ]; then
    root=sudo
    if ! sudo -n true 2>/dev/null; then
        echo "setup: not root; please run: apt-get install$missing" >&2
        finish
    fi
fi
echo "setup: installing$missing"
$root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
# shellcheck disable=SC2086
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
finish
