# SPDX-License-Identifier: Apache-2.0
"""Deny patterns on a large tree: the search itself against find(1), and a whole run with it."""
import re
import shutil
import time

from common import Budget, Section, ms, ratio

LINE = re.compile(r"(\w+): find ([\d.]+) ms, first ([\d.]+) ms .*?, later ([\d.]+) ms")


def make_tree(root, directories, files):
    made = [root]
    while len(made) <= directories:
        path = made[(len(made) - 1) // 12] / f"dir{len(made)}"
        path.mkdir()
        made.append(path)
    for path in made[1:]:
        for k in range(files):
            (path / f"file{k}.c").touch()


def measure(bench):
    scale = 100 if bench.quick else 1
    count = f"{300000 // scale:,}"
    s = Section("Deny patterns", f"Eight patterns such as `**/.env` searched for in {count} files, against "
                "`find` on the same tree: *many* is 10 files in each directory, *wide* 1,000. First without, "
                "later with what the first search remembered. Then whole runs on the tree *many*.")
    bench.say(f"deny patterns: two trees of {count} files, searched")
    out = bench.run(["sh", str(bench.source / "scan.sh"), str(bench.build), str(scale)], timeout=590).stdout
    rows = []
    for tree, find, first, later in LINE.findall(out):
        find, first, later = float(find), float(first), float(later)
        rows.append([tree, f"{find:.1f}", f"{first:.1f}", ratio(first, find), f"{later:.2f}",
                     f"{later / find:.3f}"])
        s.budgets += [Budget(f"first search / find, {tree}", first / find, 1),
                      Budget(f"later search / find, {tree}", later / find, 0.1)]
    s.tables.append(("The search", ["tree", "find ms", "first ms", "× find", "later ms", "× find"], rows))
    bench.say("deny patterns: whole runs")
    place = bench.place("globs")
    make_tree(place.ws, 30000 // scale, 10)
    deny = [bench.bawn, "run", "--deny", "**/.env", "--", "/bin/true"]
    time.sleep(3)  # what has just changed is not trusted to stay: let it settle
    place.run(deny)
    find, without, warm = place.times([["/usr/bin/find", str(place.ws)],
                                       [bench.bawn, "run", "--", "/bin/true"], deny], 3 if bench.quick else 15)
    s.tables.append(("Whole runs", ["", "median ms", "× find"], [
        ["`find` on the same tree", ms(find.median), "1.00"],
        ["`bawn run` without a pattern", ms(without.median), ratio(without.median, find.median)],
        ["`bawn run --deny '**/.env'`, warm", ms(warm.median), ratio(warm.median, find.median)]]))
    shutil.rmtree(place.top)
    return s
