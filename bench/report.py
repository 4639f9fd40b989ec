# SPDX-License-Identifier: Apache-2.0
"""The same tables for a person at a terminal and for docs/BENCHMARKS.md."""
import os
import pathlib
import platform
import re
import subprocess
import sys


def virtualised():
    """Whose guest this is, or that it is none."""
    try:
        words = subprocess.run(["systemd-detect-virt"], capture_output=True, text=True, timeout=10).stdout.strip()
        if words and words != "none":
            return f"virtual machine or container ({words})"
    except OSError:
        pass
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return "virtual machine" if re.search(r"^flags\s*:.*\bhypervisor\b", flags, re.M) else "not virtualised"


def machine():
    release = re.match(r"\d+\.\d+", platform.release())
    groups = "v2" if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else "v1"
    return (f"Linux {release[0] if release else 'unknown'}, {platform.machine()}, {os.cpu_count()} processors, "
            f"{virtualised()}, cgroup {groups}, glibc {platform.libc_ver()[1]}")


def show(value):
    return f"{value:.3f}" if abs(value) < 0.1 and value else f"{value:.2f}".rstrip("0").rstrip(".")


def budget_rows(sections):
    rows = []
    for s in sections:
        for b in s.budgets:
            sign = "≥" if b.at_least else "≤"
            rows.append([b.what, f"{show(b.value)} {b.unit}".strip(), f"{sign} {show(b.limit)} {b.unit}".strip(),
                         "met" if b.met else "**missed**"])
    return rows


def markdown_table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def write(path, sections, quick):
    text = ["# Benchmarks\n", "Written by `make bench` (`bench/run.py`). All contenders of a table are measured in "
            "one run, in turn. The ratios are what counts; times depend on the machine.\n",
            f"Machine: {machine()}.\n"]
    if quick:
        text.append("**A quick run: too few rounds to rely on.**\n")
    rows = budget_rows(sections)
    if rows:
        text += ["## Budgets\n", markdown_table(["what", "measured", "budget", ""], rows)]
    for s in sections:
        text += [f"## {s.title}\n", s.text + "\n"]
        for caption, header, body in s.tables:
            text += ([f"### {caption}\n"] if caption else []) + [markdown_table(header, body)]
        if s.notes:
            text.append("\n".join(f"- {n}" for n in s.notes) + "\n")
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(text), encoding="utf-8")


def plain_table(header, rows):
    strip = [[re.sub(r"^\*\*(.*)\*\*$", r"\1", cell).replace("`", "") for cell in row] for row in [header, *rows]]
    wide = [max(len(row[i]) for row in strip) for i in range(len(header))]
    for row in strip:
        yield "  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, wide)))


def print_section(s):
    bold, dim, end = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(f"\n{bold}{s.title}{end}")
    for caption, header, rows in s.tables:
        if caption:
            print(f" {caption}")
        for i, line in enumerate(plain_table(header, rows)):
            print(f"{dim}{line}{end}" if i == 0 else line)
    for note in s.notes:
        print(f"  - {note}")
    sys.stdout.flush()


def print_budgets(sections):
    colour = sys.stdout.isatty()
    rows = budget_rows(sections)
    if not rows:
        return
    print("\nBudgets")
    for i, line in enumerate(plain_table(["what", "measured", "budget", ""], rows)):
        missed = i > 0 and "missed" in rows[i - 1][3]
        paint = ("\033[31m" if missed else "\033[32m") if colour and i else ""
        print(f"{paint}{line}{chr(27) + '[0m' if paint else ''}")
