#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Faults: what happens when a system call fails, a process is killed, or the surroundings are not as they should be.
Never a hang, a crash, a silent failure, a run without its wall or its record, or something left behind. Speaks TAP.
$BAWN is the program, $FAULT_INJECT and $FAULT_WITHOUT the tools beside this file. Started as root it tries both
identities and has a /tmp of its own. FAULT_DEEP=1 tries every call instead of a sample.
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import places
import sweep
from lib import Fail, Skip


class Suite:
    def __init__(self):
        self.base = tempfile.mkdtemp(prefix="fault-")
        os.chmod(self.base, 0o755)
        self.bawn = self.take("BAWN", "bawn")
        self.inject = self.take("FAULT_INJECT", "inject")
        self.without = self.take("FAULT_WITHOUT", "without")

    def take(self, variable, name):
        path = os.environ.get(variable, "")
        if not os.path.exists(path):
            sys.exit(f"Bail out! ${variable} names no program: '{path}'")
        to = f"{self.base}/{name}"
        shutil.copy(path, to)
        os.chmod(to, 0o755)
        return to


def attempt(fn):
    try:
        fn()
        return "ok", ""
    except Skip as e:
        return "skip", str(e)
    except Fail as e:
        return "not ok", str(e)
    except Exception:
        return "not ok", traceback.format_exc()


def all_cases(suite, only):
    identities = ["root", "user"] if os.geteuid() == 0 else ["user"]
    deep = bool(os.environ.get("FAULT_DEEP"))
    cases = []
    for identity in identities:
        for backend in ("native", "landlock"):
            try:
                cases += sweep.cases(sweep.Combo(suite, identity, backend), deep)
            except Fail as e:
                cases.append((f"{identity} {backend}", lambda e=str(e): (_ for _ in ()).throw(Fail(e))))
        cases += places.cases(suite, identity)
    cases = [c for c in cases if all(word in c[0] for word in only)]
    # the long ones first
    return sorted(cases, key=lambda c: "killed" not in c[0])


def main():
    suite = Suite()
    failed = 0
    try:
        cases = all_cases(suite, sys.argv[1:])
        print(f"1..{len(cases) + 1}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for i, (case, (verdict, why)) in enumerate(
                    zip(cases, pool.map(lambda c: attempt(c[1]), cases)), 1):
                failed += verdict == "not ok"
                for line in why.splitlines() if verdict == "not ok" else []:
                    print(f"# {line}")
                end = f" # SKIP {why}" if verdict == "skip" else ""
                print(f"{'ok' if verdict == 'skip' else verdict} {i} - {case[0]}{end}", flush=True)
        left = [n for n in os.listdir("/tmp") if n.startswith("bawn-")] if os.environ.get("FAULT_OWN_TMP") else []
        failed += bool(left)
        print(f"{'not ok' if left else 'ok'} {len(cases) + 1} - nothing is left in the temporary directory {left}")
    finally:
        shutil.rmtree(suite.base, ignore_errors=True)
    return 1 if failed else 0


def own_tmp():
    """Start again with a /tmp that nobody else uses."""
    probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/tmp"], check=False,
                           stderr=subprocess.DEVNULL)
    if probe.returncode != 0:
        return
    env = dict(os.environ, FAULT_OWN_TMP="1")
    if any(os.path.abspath(p).startswith("/tmp/") for p in (__file__, env.get("BAWN", ""), sys.executable)):
        return  # it would hide ourselves
    for name in ("BAWN", "FAULT_INJECT", "FAULT_WITHOUT"):
        env[name] = os.path.abspath(env.get(name, ""))
    here = os.path.abspath(__file__)
    words = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o mode=1777 tmpfs /tmp && exec "$@"', "sh", sys.executable,
             "-B", here] + sys.argv[1:]
    os.execvpe("unshare", words, env)


if __name__ == "__main__":
    if os.geteuid() == 0 and not os.environ.get("FAULT_OWN_TMP"):
        own_tmp()
    sys.exit(main())
