# SPDX-License-Identifier: Apache-2.0
"""What work on files costs inside: single operations, of which some pass the broker, and whole jobs."""
import shutil
import statistics

from common import Section, ms, ratio

OPERATIONS = ["create + close + unlink", "mkdir + rmdir", "open + close, existing, to read", "stat"]


def operations(bench, place):
    """Microseconds per operation: the median of several alternations of outside and inside."""
    count = 500 if bench.quick else 20000
    tool = shutil.copy(bench.bin / "files", place.ws / "files")
    lines = {"outside": [tool, str(count)], "inside": [bench.bawn, "run", "--", tool, str(count)]}
    seen = {name: [] for name in lines}
    for turn in range(1 if bench.quick else 5):
        for name, line in lines.items():
            bench.say(f"files: single operations {name}, turn {turn + 1}")
            seen[name].append([float(v) for v in place.run(line).stdout.split()])
    rows = []
    for i, what in enumerate(OPERATIONS):
        out, inside = (statistics.median(turn[i] for turn in seen[n]) for n in ("outside", "inside"))
        rows.append([what, f"{out:.2f}", f"{inside:.2f}", ratio(inside, out)])
    return rows


def prepare(bench, place):
    """A repository, an archive of many files and a small C project."""
    files = 200 if bench.quick else 5000
    tree = place.ws / "tree"
    for i in range(files):
        path = tree / f"d{i // 50}" / f"f{i}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {i}\n" * 20)
    place.run(["tar", "cf", "tree.tar", "tree"])
    for line in (["init", "-q", "tree"], ["-C", "tree", "add", "-A"],
                 ["-C", "tree", "-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-qm", "b"]):
        place.run(["git", *line])
    src = place.ws / "src"
    src.mkdir()
    for i in range(5 if bench.quick else 30):
        (src / f"u{i}.c").write_text(f"#include <stdio.h>\nint f{i}(int x) {{ return printf(\"%d\", x + {i}); }}\n")
    return [(f"`tar x`, {files:,} files", "rm -rf x && mkdir x && tar xf tree.tar -C x"),
            (f"`git clone` of a local repository, {files:,} files", "rm -rf c && git clone -q --no-local tree c"),
            ("compile 30 small C files", "rm -f src/*.o && for f in src/*.c; do cc -c $f -o ${f%.c}.o || exit; done"),
            ("`grep -r` through them", "grep -rc zzz tree >/dev/null; true")]


def jobs(bench, place):
    rows = []
    for name, script in prepare(bench, place):
        bench.say(f"files: {name}")
        line = ["/bin/sh", "-c", script]
        out, inside = place.times([line, [bench.bawn, "run", "--", *line]], 1 if bench.quick else 7)
        failed = f" ({inside.failed} failed)" if inside.failed else ""
        rows.append([name, ms(out.median), ms(inside.median) + failed, ratio(inside.median, out.median)])
    return rows


def measure(bench):
    place = bench.place("files")
    s = Section("Work on files", "Creating, removing and renaming passes the path broker; opening to read and "
                "looking do not. The jobs run in the workspace, outside and inside in turn, and include "
                "the sandbox's start.")
    s.tables.append(("One operation, µs", ["operation", "outside", "inside", "ratio"], operations(bench, place)))
    s.tables.append(("Jobs", ["job", "outside ms", "inside ms", "ratio"], jobs(bench, place)))
    return s
