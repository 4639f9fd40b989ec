#!/bin/sh
# Run every fuzz target of a build for some seconds. Finds go into the build directory; crashes end the run.
set -eu
build=$1
seconds=$2
root=$(cd "$(dirname "$0")/.." && pwd)
for target in "$build"/tests/fuzz-*; do
    [ -x "$target" ] && [ -f "$target" ] || continue
    name=$(basename "$target")
    name=${name#fuzz-}
    mkdir -p "$build/found/$name"
    echo "fuzz: $name, $seconds s"
    "$target" -max_total_time="$seconds" -max_len=8192 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$build/found/" "$build/found/$name" "$root/tests/fuzz/corpus/$name"
done
