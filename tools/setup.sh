#!/bin/sh
# Install what building (or testing, measuring, training) needs from Debian. Asks for nothing; does nothing
# when everything is there. Run by make.
set -eu

build="gcc libc6-dev meson ninja-build pkg-config python3 libseccomp-dev libyaml-dev libjansson-dev
    libpcre2-dev libsodium-dev libssl-dev libevent-dev libc-ares-dev libidn2-dev libunistring-dev
    libhyperscan-dev libtree-sitter-dev ca-certificates"
tests="bats jq git bubblewrap mandoc clang clang-format clang-tidy libclang-rt-dev llvm cppcheck valgrind
    util-linux procps e2fsprogs iproute2 openssl curl wget bash-completion python3-yaml
    file lld wasi-libc libclang-rt-14-dev-wasm32"
# other people's walls, each of which is skipped where it is not to be had
walls="docker.io iptables runsc qemu-system-x86 podman crun uidmap slirp4netns busybox-static lz4"
# who reads the completions for them; skipped as well where they are not to be had
shells="zsh fish"
bench="firejail bubblewrap ripgrep socat iproute2 tinyproxy-bin squid"

what=${1:-build}
case "$what" in
build) want=$build ;;
test) want="$build $tests $walls $shells" ;;
bench) want="$build $bench $walls jq git" ;;
train) want=$build ;;
*) echo "usage: $0 build|test|bench|train" >&2; exit 2 ;;
esac
[ "$what" != train ] || python3 -c 'import numpy, yaml' 2>/dev/null || want="$want python3-numpy python3-yaml"

command -v npm >/dev/null || want="$want npm"

here=$(cd "$(dirname "$0")" && pwd)
for_walls=
case "$what" in test | bench) for_walls=1 ;; esac

# grammars that npm brings; wasmtime's library that pip brings; a kernel for virtual machines
finish()
{
    "$here/grammars.sh"
    [ -z "$for_walls" ] || "$here/wasmtime.sh"
    [ -z "$for_walls" ] || "$here/vm-kernel.sh" "$here/../build-deps/vm"
    exit
}

# somebody else's package of the same program will do
have()
{
    dpkg-query -W -f '${Status}\n' "$1" 2>/dev/null | grep -q ' installed$' && return
    case $1 in
    docker.io) command -v docker >/dev/null && command -v dockerd >/dev/null ;;
    busybox-static) command -v busybox >/dev/null ;;
    podman | crun | runsc) command -v "$1" >/dev/null ;;
    *) return 1 ;;
    esac
}

missing=
for p in $want; do
    have "$p" || missing="$missing $p"
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
install()
{
    # no daemon is to be started by installing it
    $root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
# shellcheck disable=SC2086
install $missing || for p in $missing; do
    install "$p" || case " $walls $shells " in
    *" $p "*) echo "setup: there is no package $p here; what needs it is skipped" >&2 ;;
    *) exit 1 ;;
    esac
done
finish
