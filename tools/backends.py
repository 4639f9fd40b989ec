#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
docs/BACKENDS.md from what the contract suite and the escape suite saw (BUILD/tests/contract/seen, BUILD/tests/escape/seen),
and from the time that each wall takes next to the bare tool, measured in one run, one after the other in turn.

usage: tools/backends.py BUILD [--out FILE]
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/escape")]
import suite  # noqa: E402
import table as table_of_attacks  # noqa: E402

SYSTEM = [x for d in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc") if os.path.exists(d) for x in ("--ro-bind", d, d)]
RUNSC = ["runsc", "--platform=ptrace", "--network=none", "--ignore-cgroups"]


def bare(build, tree):
    """{backend: (what it is called, command)}: the tool alone, doing as little as it can."""
    kernel = build / "vm/vmlinux"
    return {
        "native": ("`posix_spawn`", ["/bin/true"]),
        "bwrap": ("`bwrap --unshare-all`", ["bwrap", "--unshare-all", *SYSTEM, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/bin/true"]),
        "chroot": ("`unshare … chroot /`", ["unshare", "--mount", "--pid", "--fork", "--net", "--ipc", "--uts", "chroot", "/", "/bin/true"]),
        "docker": ("`docker run`", ["docker", "run", "--rm", "--network", "none", "--read-only", "bawn-test/busybox:1", "/bin/true"]),
        "podman": ("`podman run`", ["podman", "--runtime", "runc", "run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit",
                                         "nproc=1024:1024", "--read-only", "--rootfs", tree, "/bin/true"]),
        "gvisor": ("`runsc do`", [*RUNSC, "do", "/bin/true"]),
        "qemu": ("`qemu` until the kernel has no root", [
            "qemu-system-x86_64", "-M", "microvm,accel=tcg", "-m", "256", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", str(kernel), "-append", "panic=-1 reboot=t quiet"]),
    }


def run_ms(cmd, env, cwd, timeout=40):
    start = time.monotonic()
    try:
        done = subprocess.run(cmd, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(cmd, 124, b"", f"no end within {timeout} s".encode())
    return (time.monotonic() - start) * 1000, done


def measure(build, env, there, busybox):
    """{backend: {ours: ms, bare: ms or None, name, n, why}}"""
    found = {}
    with tempfile.TemporaryDirectory(dir="/tmp") as work:
        alone = bare(build, busybox)
        for be in there:
            name, tool = alone.get(be, ("–", None))
            module = build / "tests/wasm/probe.wasm"
            ours = [str(build / "bawn"), "run", "-q", "-b", be, "--", "/bin/true"]
            if be == "wasm":
                if not module.exists():
                    continue
                shutil.copy(module, work)
                ours[-1:] = [work + "/probe.wasm", "hello"]
            if tool and not shutil.which(tool[0]):
                tool = None
            first, done = run_ms(ours, env, work)
            if done.returncode:
                found[be] = {"why": done.stderr.decode(errors="replace").strip()[:200]}
                continue
            n = 3 if first > 2000 else 5 if first > 200 else 21
            times = {"ours": [], "bare": []}
            for _ in range(n):
                times["ours"].append(run_ms(ours, env, work)[0])
                if tool:
                    ms, done = run_ms(tool, env, work)
                    if done.returncode and (be != "qemu" or done.returncode == 124):
                        name, tool = f"{name}: {done.stderr.decode(errors='replace').strip()[:80]}", None
                        continue
                    times["bare"].append(ms)
            found[be] = {"ours": statistics.median(times["ours"]), "name": name, "n": n,
                         "bare": statistics.median(times["bare"]) if times["bare"] else None}
    return found


def read_contract(path):
    seen = {}
    for line in path.read_text().splitlines():
        r = json.loads(line)
        seen.setdefault(r["backend"], {"strength": r["strength"], "level": r["level"]})[r["identity"]] = r
    return dict(sorted(seen.items(), key=lambda x: -x[1]["strength"]))


def claims(r):
    """{control: what enforces it}, of all plans that were accepted."""
    got = {}
    for plan in ("egress", "plain"):
        if isinstance(r.get(plan), dict):
            got.update(r[plan])
    return got


def why_not(r):
    if "skipped" not in r:
        return ""
    return r["skipped"].split(" cannot be used here: ")[-1]


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *["| " + " | ".join(r) + " |" for r in rows], ""]


def part_matrix(seen):
    controls = []
    for be in seen.values():
        for who in ("root", "user"):
            controls += [c for c in claims(be.get(who, {})) if c not in controls]
    used = [b for b in seen if any(claims(seen[b].get(w, {})) for w in ("root", "user"))]
    rows = []
    for c in sorted(controls, key=controls_order):
        cells = []
        for b in used:
            has = [w for w in ("root", "user") if c in claims(seen[b].get(w, {}))]
            cells.append("✓" if len(has) == 2 or (has and "plain" not in seen[b].get("user", {})) else has[0] if has else "–")
        rows.append([f"`{c}`", *cells])
    out = ["## Which backend enforces what", "",
           "The receipts of the contract suite: what was in force before the command started, checked from inside where it can be. A backend",
           "that lacks a control that is demanded refuses the call. `root` or `user`: only when started as that.", "",
           *table(["control", *used], rows)]
    out += ["What enforces each, where it is not the same for all:", ""]
    for b in used:
        r = claims(seen[b].get("root") or {}) or claims(seen[b].get("user") or {})
        say = "; ".join(f"`{c}` {t}" for c, t in sorted(r.items(), key=lambda x: controls_order(x[0])) if t and c.split(".")[0] in ("fs", "net", "ipc", "proc", "syscalls"))
        out.append(f"- **{b}** ({seen[b]['level']}): {say}")
    return out + [""]


ORDER = ("fs.", "net.", "ipc", "proc", "syscalls", "nested", "privilege", "env", "limit.", "secrets", "snapshot")


def controls_order(c):
    return next((i for i, p in enumerate(ORDER) if c.startswith(p)), 99), c


def part_here(seen):
    rows = []
    for b, be in seen.items():
        root, user = be.get("root", {}), be.get("user", {})
        state = ["✓" if claims(r) else "–" if why_not(r) else "not tried" for r in (root, user)]
        why = "; ".join(dict.fromkeys(f"{w}: {why_not(r)}" if why_not(r) != why_not(root if w == "user" else user) else why_not(r)
                                      for w, r in (("root", root), ("user", user)) if why_not(r) and not claims(r)))
        refused = root.get("egress") if isinstance(root.get("egress"), str) else ""
        why = why or (f"network through the proxy: {refused}" if refused else "")
        rows.append([b, be["level"], (root.get("version") or user.get("version") or "–"), *state, why or " "])
    return ["## What was there", "", *table(["backend", "level", "version", "root", "user", "skipped or refused, since"], rows)]


def part_times(times):
    rows = []
    for b, t in times.items():
        if "why" in t:
            rows.append([b, "–", "–", "–", "–", t["why"]])
            continue
        more = f"{t['ours'] - t['bare']:+.1f} ms ({(t['ours'] / t['bare'] - 1) * 100:+.0f} %)" if t["bare"] else "–"
        rows.append([b, f"{t['ours']:.1f} ms", f"{t['bare']:.1f} ms" if t["bare"] else "–", more, str(t["n"]), t["name"]])
    return ["## What starting costs", "",
            "`bawn run -b BACKEND -- /bin/true` with everything on (inspection, audit, every control), next to the tool alone with next to nothing",
            "on; medians of runs in turn. wasm: a module that says hello, compiled before.", "",
            *table(["backend", "bawn", "bare tool", "difference", "runs", "the bare tool is"], rows)]


def part_escape(path):
    return ["## Attacks", "",
            "The escape suite (`tests/escape`): each case is tried for real behind every wall that claims the control. Behind walls that take long to",
            "build many acts share a start; of several ways to the same thing a virtual machine is given the first.", "",
            *table_of_attacks.markdown(json.loads(path.read_text())), ""]


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("build", type=pathlib.Path)
    ap.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/BACKENDS.md")
    args = ap.parse_args()
    build = args.build.resolve()
    contract, escape = build / "tests/contract/seen", build / "tests/escape/seen"
    if not contract.exists():
        sys.exit(f"backends: no '{contract}'; run the contract suite first: tests/suite.py {args.build} --suite contract --suite matrix")
    seen = read_contract(contract)
    env = dict(os.environ)
    stop = suite.engine(build, env)
    try:
        there = [b for b in seen if claims(seen[b].get("root", {})) and seen[b]["level"] != "none"]
        times = measure(build, env, there, str(build / "engine/busybox"))
    finally:
        stop()
    text = ["# Backends", "",
            f"Made by `make backends` on {datetime.date.today().isoformat()}: {platform.system()} {platform.release()}, {os.cpu_count()} processors. What is said here was seen, not",
            "concluded; another host has other backends, and `bawn doctor capabilities` says which.", "",
            *part_here(seen), *part_matrix(seen), *part_times(times), *(part_escape(escape) if escape.exists() else [])]
    args.out.write_text("\n".join(text).rstrip() + "\n")
    print(f"backends: wrote {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
