#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Who tests the tests: takes one control away at a time and requires that the escape suite notices. $BAWN_HOLES_BIN is
bawn compiled with -DBAWN_HOLES, which leaves out what $BAWN_HOLE names ("a+b": both, where one wall stands behind
another). A row that is skipped notices nothing. Speaks TAP.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

# hole: (tier, rows that must notice)
HOLES = {
    "landlock": ("landlock", (1, 15)),
    "seccomp": ("native", (39, 45, 60)),
    "mounts-ro+landlock": ("native", (1, 5)),
    "protect": ("native", (6, 8)),
    "guards": ("native", (7, 47)),
    "hide": ("native", (11, 16, 23)),
    "caps": ("native", (51, 52)),
    "nnp": ("native", (51,)),
    "netns+landlock": ("native", (57, 62, 63)),
    "pidns+landlock": ("native", (27, 29, 97)),
    "ipcns": ("native", (53,)),
    "env": ("native", (43, 44)),
    "memory": ("native", (36,)),
    "processes": ("native", (35, 55)),
    "files": ("native", (35, 55)),
    "disk": ("native", (24,)),
    "time": ("native", (37, 100)),
    "output": ("native", (38,)),
    "closefds": ("native", (13, 59)),
    "setsid": ("native", (30,)),
    "redirect": ("native", (63,)),
    "rules": ("native", (64, 67)),
    "ssrf": ("native", (70,)),
    "placeholder": ("native", (80,)),
    "leaks": ("native", (80,)),
    "binding": ("native", (79,)),
}

# What has no limit any more is not let loose beside others.
ALONE = {"memory", "processes"}
AT_ONCE = 4

# Nothing starts without these: Landlock and seccomp need no_new_privs, our own /proc needs the pid namespace.
KERNEL = {"nnp", "pidns+landlock"}


def suite(binary, tier, rows, hole=None, known=()):
    """
    Names of cases that (failed, passed), the receipt left out, and how long it took. With a hole it ends at the first
    failure that is not `known`.
    """
    env = {k: v for k, v in os.environ.items() if k != "BAWN_HOLE"}
    env["BAWN"] = binary
    if hole:
        env["BAWN_HOLE"] = hole
    who = "root" if os.geteuid() == 0 else "user"
    cmd = [sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py"), "--tier", tier,
           "--identity", who]
    for r in rows:
        cmd += ["--row", str(r)]
    if hole:
        cmd += ["--first", "--jobs", "2", *[a for name in known for a in ("--known", name)]]
    began = time.monotonic()
    run = subprocess.run(cmd, env=env, capture_output=True, text=True, timeout=1800)
    out = run.stdout
    if not re.search(r"^1\.\.\d", out, re.M):
        sys.exit(f"Bail out! the suite did not start: {(out + run.stderr).strip()[:200]}")
    failed, passed = [], []
    for line in out.splitlines():
        m = re.match(r"(not ok|ok) \d+ - (r\d+ .*?)(?: # SKIP (.*))?$", line)
        if not m or m[2].startswith("r00"):
            continue
        if not m[3]:
            (passed if m[1] == "ok" else failed).append(m[2])
    return failed, passed, time.monotonic() - began


def refused(binary, tier, hole):
    """Starts with everything and does not without `hole`: no case is needed to notice."""
    with tempfile.TemporaryDirectory() as d:
        def start(**env):
            return subprocess.run([binary, "run", "--backend", tier, "--workspace", d, "--", "/bin/true"], cwd=d,
                                  env={"PATH": os.environ["PATH"], "HOME": d, **env}, capture_output=True).returncode
        return start() == 0 and start(BAWN_HOLE=hole) == 125


def main():
    binary = os.environ.get("BAWN_HOLES_BIN")
    if not binary or not os.path.exists(binary):
        print(f"Bail out! no program at '{binary}': set $BAWN_HOLES_BIN")
        return 1
    only = sys.argv[1:]
    todo = {h: v for h, v in HOLES.items() if not only or h in only}
    count = {"ok": 0, "fail": 0, "skip": 0}
    print(f"1..{len(todo)}", flush=True)
    # What is red without a hole proves nothing about it.
    before = {}
    for tier in {t for t, _ in todo.values()}:
        before[tier] = set(suite(binary, tier, sorted({r for t, rows in todo.values() if t == tier for r in rows}))[0])
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        shared = {h: pool.submit(suite, binary, *v, h, before[v[0]]) for h, v in todo.items() if h not in ALONE}
        for n, (hole, (tier, rows)) in enumerate(sorted(todo.items(), key=lambda x: x[0] in ALONE), 1):
            if hole in ALONE:
                concurrent.futures.wait(shared.values())
            found = shared[hole].result() if hole in shared else suite(binary, tier, rows, hole, before[tier])
            count[judge(n, binary, hole, tier, rows, found, before[tier])] += 1
    print(f"# {count['ok']} passed, {count['fail']} failed, {count['skip']} skipped")
    return 1 if count["fail"] else 0


def judge(n, binary, hole, tier, rows, found, before):
    failed, passed, took = found
    new = [f for f in failed if f not in before]
    if new:
        verdict = "ok"
        print(f"ok {n} - without {hole}: {len(new)} of {len(failed) + len(passed)} cases so far notice, after {took:.0f} s")
    elif not passed and not failed and refused(binary, tier, hole):
        verdict = "ok" if hole in KERNEL else "fail"
        print(f"{'ok' if verdict == 'ok' else 'not ok'} {n} - without {hole}: bawn does not start, so no case was tried")
    elif not passed and not failed:
        verdict = "skip"
        print(f"ok {n} - without {hole} # SKIP every case of rows {rows} is skipped here; see the reasons of 'escape'")
    else:
        verdict = "fail"
        print(f"not ok {n} - without {hole}: nothing notices")
        for name in passed:
            print(f"#   passed: {name}")
    for name in new:
        print(f"#   noticed by {name}")
    for name in sorted(before.intersection(failed)):
        print(f"#   red without a hole as well: {name}")
    sys.stdout.flush()
    return verdict


if __name__ == "__main__":
    sys.exit(main())
