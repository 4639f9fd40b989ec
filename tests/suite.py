#!/usr/bin/env python3
"""Run the whole suite of a build directory and say at the end: N passed, N failed, N skipped.

Counts single tests: every TAP line of a unit, command line or escape test, not every program.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET


def skip_reasons(suite):
    """Meson keeps the names of skipped tests only; the reasons are in what the program printed."""
    text = "".join(e.text or "" for e in suite.iter("system-out"))
    return re.findall(r"^(?:ok|not ok)\b.*?# SKIP ?(.*)$", text, re.MULTILINE | re.IGNORECASE) + re.findall(
        r"^# skip: (.*)$", text, re.MULTILINE)


def failure_reasons(suite):
    """What the program said of each test that failed, and at the least its last words."""
    text = "".join((e.text or "") + "\n" for what in ("system-out", "system-err") for e in suite.iter(what))
    said = re.findall(r"^((?:#.*\n)*not ok\b.*\n?(?:\s*#.*\n)*)", text, re.MULTILINE)
    lines = "".join(said).splitlines() if said else text.strip().splitlines()[-20:]
    for line in lines[:60]:
        print(f"  {line[:400]}")


def timeouts(log):
    """Programs that were ended because they took too long: the other record does not tell."""
    with open(log, encoding="utf-8") as f:
        late = {t["name"] for t in map(json.loads, f) if t["result"] == "TIMEOUT"}
    for name in sorted(late):
        print(f"FAILED {name}: took too long")
    return late


def counts(junit, late):
    passed, failed, skipped = 0, len(late), 0
    reasons = collections.Counter()
    for suite in ET.parse(junit).getroot().iter("testsuite"):
        here, before = 0, failed
        for case in suite.findall("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                print(f"FAILED {suite.get('name', '')} {case.get('name', '')}".strip())
            elif case.find("skipped") is not None:
                here += 1
            elif case.get("name") not in late:
                passed += 1
        if failed > before:
            failure_reasons(suite)
        skipped += here
        named = [r for r in skip_reasons(suite) if r][:here]
        reasons.update(named + ["no reason given"] * (here - len(named)))
    for why, n in sorted(reasons.items()):
        print(f"skipped {n}: {why}")
    return passed, failed, skipped


def engine(build, env):
    """A container engine: the one that answers, or one that the suite starts and ends. Says why if there is none."""
    script, place = pathlib.Path(__file__).parent / "engine.sh", build / "engine"
    made = subprocess.run(["sh", str(script), "start", str(place)], env=env, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, check=False)
    if made.returncode:
        print(made.stderr.strip() or "engine: there is none")
    for name, value in re.findall(r"^export (\w+)='(.*)'$", made.stdout, re.MULTILINE):
        env[name] = value
    return lambda: subprocess.run(["sh", str(script), "stop", str(place)], env=env, check=False)


def slowest(junit, n=12):
    """Where the time went."""
    times = {s.get("name", ""): float(s.get("time") or 0) for s in ET.parse(junit).getroot().iter("testsuite")}
    if any(times.values()):
        print("slowest: " + ", ".join(f"{k} {v:.0f} s" for k, v in sorted(times.items(), key=lambda x: -x[1])[:n]))


def main():
    if "-h" in sys.argv[1:] or "--help" in sys.argv[1:]:
        print(__doc__.strip() + "\n\nsuite.py [BUILD] [what meson test takes: --suite NAME, names of tests …]")
        return 0
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    env = dict(os.environ, TERM="dumb")
    for name in list(env):
        if name.startswith("BAWN"):
            del env[name]
    logs = build / "meson-logs"
    (logs / "testlog.junit.xml").unlink(missing_ok=True)
    for seen in (build / "tests/contract/seen", build / "tests/escape/seen", build / "tests/escape/seen.md"):
        seen.unlink(missing_ok=True)
    stop = engine(build, env)
    args = ["meson", "test", "-C", str(build), "--print-errorlogs", "--num-processes", "4"] + sys.argv[2:]
    try:
        status = subprocess.run(args, env=env, stdin=subprocess.DEVNULL, check=False).returncode
    finally:
        stop()
    passed, failed, skipped = counts(logs / "testlog.junit.xml", timeouts(logs / "testlog.json"))
    slowest(logs / "testlog.junit.xml")
    if (build / "tests/escape/seen.md").exists():
        print(f"attacks by row and wall: {build / 'tests/escape/seen.md'}")
    if status and not failed:
        failed = 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
