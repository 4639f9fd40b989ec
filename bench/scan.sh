#!/bin/sh
# Search for deny patterns in trees of 300,000 files, against find(1) on the same tree in the same run.
# usage: bench/scan.sh BUILD_DIRECTORY [DIVISOR of the number of files]
set -eu
tool=$(realpath "$1")/bench/scan-tool
ninja -C "$1" bench/scan-tool >/dev/null
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
mkdir -m 700 "$top/cache"

tree() { # NAME DIRECTORIES FILES_EACH
	python3 - "$top/$1" "$2" "$3" <<'PY'
import os, sys
root, dirs, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.mkdir(root)
made = [root]
while len(made) <= dirs:
    path = f"{made[(len(made) - 1) // 12]}/dir{len(made)}"
    os.mkdir(path)
    made.append(path)
for path in made[1:]:
    for k in range(files):
        os.close(os.open(f"{path}/file{k}.c", os.O_CREAT | os.O_WRONLY))
PY
}

find_ms() { # the best of three, in milliseconds
	for _ in 1 2 3; do
		a=$(date +%s%N)
		find "$top/$1" >/dev/null
		b=$(date +%s%N)
		echo $(((b - a) / 1000))
	done | sort -n | head -n 1 | awk '{ print $1 / 1000 }'
}

scan_ms() { # NAME forget|keep: the best of three
	for _ in 1 2 3; do
		[ "$2" = keep ] || rm -f "$top"/cache/*
		"$tool" "$top/$1" "$top/cache"
	done | sort -n | head -n 1 | awk '{ print $1 }'
}

by=${2:-1}
tree many $((30000 / by)) 10
tree wide $((300 / by)) 1000
sleep 3
for t in many wide; do
	find "$top/$t" >/dev/null
	f=$(find_ms $t)
	first=$(scan_ms $t forget)
	later=$(scan_ms $t keep)
	awk -v t=$t -v f="$f" -v a="$first" -v b="$later" 'BEGIN {
		printf "%s: find %.1f ms, first %.1f ms (%.2f, budget 1), later %.2f ms (%.3f, budget 0.1)\n",
			t, f, a, a / f, b, b / f }'
done
