#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure bawn next to its peers, print the tables and write docs/BENCHMARKS.md.

A missed budget is shown, not hidden, and is not an error; a measurement that cannot be made is.
"""
import argparse
import pathlib
import sys

import audit
import detect
import endurance
import files
import globs
import output
import report
import startup
from common import Bench

PARTS = {"startup": startup, "endurance": endurance, "globs": globs, "files": files, "output": output,
         "audit": audit, "detect": detect}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("build", help="build directory")
    p.add_argument("--quick", action="store_true", help="few runs: only shows that it works")
    p.add_argument("--only", action="append", choices=PARTS, metavar="NAME",
                   help="one part (may be repeated): " + ", ".join(PARTS))
    p.add_argument("--output", metavar="FILE", help="where to write (default: docs/BENCHMARKS.md, "
                   "but nothing with --quick or --only)")
    o = p.parse_args()
    if not (pathlib.Path(o.build) / "build.ninja").exists():
        p.error(f"'{o.build}' is no build directory; make one with: meson setup {o.build}")
    sections, failed = [], 0
    with Bench(o.build, o.quick) as bench:
        for name in o.only or PARTS:
            try:
                section = PARTS[name].measure(bench)
            except Exception as e:  # the other parts are still worth having
                print(f"\nbench: {name}: {bench.hide(str(e))}", file=sys.stderr)
                failed += 1
                continue
            sections.append(section)
            report.print_section(section)
    report.print_budgets(sections)
    where = o.output or (None if o.quick or o.only else
                         pathlib.Path(__file__).resolve().parent.parent / "docs/BENCHMARKS.md")
    if where and not failed:
        report.write(pathlib.Path(where), sections, o.quick)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
