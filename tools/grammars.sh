#!/bin/sh
# Fetch the grammars of tools/grammars.txt into build-deps/grammars/NAME, each checked against its digest.
# Does nothing for those that are there.
set -eu
cd "$(dirname "$0")/.."
dest=build-deps/grammars
grep -v '^#' tools/grammars.txt | while read -r name version digest; do
    if [ "$(cat "$dest/$name/.digest" 2>/dev/null)" = "$digest" ]; then continue; fi
    if ! command -v npm >/dev/null; then
        echo "setup: npm is missing, and with it the grammar tree-sitter-$name; please install npm" >&2
        exit 1
    fi
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    echo "setup: fetching tree-sitter-$name $version"
    tgz=$(npm pack --silent --pack-destination "$tmp" "tree-sitter-$name@$version" </dev/null | tail -n1)
    if [ "$(sha256sum <"$tmp/$tgz" | cut -d' ' -f1)" != "$digest" ]; then
        echo "setup: tree-sitter-$name $version is not the package it should be (digest differs)" >&2
        exit 1
    fi
    tar -xzf "$tmp/$tgz" -C "$tmp" package/src
    rm -rf "${dest:?}/$name"
    mkdir -p "$dest"
    mv "$tmp/package/src" "$dest/$name"
    echo "$digest" >"$dest/$name/.digest"
    rm -rf "$tmp"
done
