#!/bin/sh
# Print the files of a folder that match a pattern, one per line, relative to the source root. No folder: none.
cd "$(dirname "$0")/.." || exit 1
[ -d "$1" ] || exit 0
find "$1" -maxdepth 1 -name "$2" | sort
