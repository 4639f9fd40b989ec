#!/usr/bin/env python3
"""Run the whole suite of a build directory and say at the end: N passed, N failed, N skipped.

Counts single tests: every TAP line of a unit, command line or escape test, not every program.
"""
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ET


def counts(junit):
    passed = failed = skipped = 0
    reasons = {}
    for suite in ET.parse(junit).getroot().iter("testsuite"):
        for case in suite.findall("testcase"):
            name = f"{suite.get('name', '')} {case.get('name', '')}".strip()
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
                print(f"FAILED {name}")
            elif case.find("skipped") is not None:
                skipped += 1
                reasons.setdefault(case.find("skipped").get("message") or "no reason given", []).append(name)
            else:
                passed += 1
    for why, names in sorted(reasons.items()):
        print(f"skipped {len(names)}: {why}" + (f" ({names[0]})" if len(names) == 1 else ""))
    return passed, failed, skipped


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    env = dict(os.environ, TERM="dumb")
    for name in list(env):
        if name.startswith("BAWN"):
            del env[name]
    logs = build / "meson-logs"
    (logs / "testlog.junit.xml").unlink(missing_ok=True)
    args = ["meson", "test", "-C", str(build), "--print-errorlogs", "--num-processes", "2"] + sys.argv[2:]
    status = subprocess.run(args, env=env, stdin=subprocess.DEVNULL, check=False).returncode
    passed, failed, skipped = counts(logs / "testlog.junit.xml")
    if status and not failed:
        failed = 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
