#!/usr/bin/env python3
"""Fail when a source file has more than 800 lines: one thing in each, and a sitting to read it."""
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
bad = 0
for folder in ("src", "include", "tests", "bench", "tools", "examples"):
    for path in sorted((root / folder).rglob("*.[ch]")):
        lines = len(path.read_text().splitlines())
        if lines > 800:
            print(f"{path.relative_to(root)}: {lines} lines")
            bad += 1
sys.exit(bool(bad))
