#!/bin/sh
# Fetch wasmtime's C library into build-deps/wasmtime/libwasmtime.so, from the Python package that carries it,
# checked against its digest. Does nothing when it is there. Without pip it says so and leaves it: wasm tests skip.
set -eu
cd "$(dirname "$0")/.."
dest=build-deps/wasmtime
version=50.0.1
case "$(uname -m)" in
x86_64) platform=manylinux1_x86_64 digest=cc14c3a17654e0394e0225b11813532ef0cd7bd1e222a0c5494cdedaabeddac4 ;;
aarch64) platform=manylinux2014_aarch64 digest=675484e525c028dc02762b777f1db4477ea70caa3fec6775426daff4d64edfb1 ;;
*) echo "setup: there is no wasmtime package for $(uname -m); wasm is skipped" >&2; exit 0 ;;
esac
if [ "$(cat "$dest/.digest" 2>/dev/null)" = "$digest" ]; then exit 0; fi
if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "setup: pip is missing, and with it wasmtime's library; wasm is skipped (apt-get install python3-pip)" >&2
    exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo "setup: fetching wasmtime $version"
if ! python3 -m pip download --quiet --no-deps --only-binary :all: --platform "$platform" --dest "$tmp" \
    "wasmtime==$version" >/dev/null 2>"$tmp/err"; then
    echo "setup: pip cannot fetch wasmtime $version; wasm is skipped: $(tail -n1 "$tmp/err")" >&2
    exit 0
fi
if [ "$(cat "$tmp"/*.whl | sha256sum | cut -d' ' -f1)" != "$digest" ]; then
    echo "setup: wasmtime $version is not the package it should be (digest differs)" >&2
    exit 1
fi
python3 -m zipfile -e "$tmp"/*.whl "$tmp/x"
mkdir -p "$dest"
install -m 755 "$tmp"/x/wasmtime/linux-*/_libwasmtime.so "$dest/libwasmtime.so"
echo "$digest" >"$dest/.digest"
