# SPDX-License-Identifier: Apache-2.0
"""Places to run bawn in, and what must not be left behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

USER = 54322  # whose processes are counted: nobody else's
TIMEOUT = 90  # for what hangs: others use the processor too


class Fail(Exception):
    pass


class Skip(Exception):
    pass


class Run:
    """What came of one run."""

    def __init__(self, code, out, err, matched=0, host=0, at_exec=0, seen=None, status=0):
        self.code, self.out, self.err = code, out, err
        self.matched, self.host, self.at_exec, self.seen = matched, host, at_exec, seen or {}
        self.status = status

    def __str__(self):
        return f"exit {self.code}, stderr {self.err.strip()!r}, stdout {self.out[:200]!r}"


class Place:
    """A workspace and a home of one identity; every run in it carries the same mark."""
    number = 0
    lock = threading.Lock()

    def __init__(self, suite, identity):
        with Place.lock:
            Place.number += 1
            self.id = Place.number
        self.suite, self.identity = suite, identity
        self.mark = f"{os.getpid()}{self.id:04d}"
        self.base = f"{suite.base}/p{self.id:04d}"
        self.ws, self.home, self.side = f"{self.base}/ws", f"{self.base}/home", f"{self.base}/side"
        os.mkdir(self.base, 0o755)
        for d in (self.ws, self.home, self.side):
            os.mkdir(d, 0o755)
            if identity == "user" and os.geteuid() == 0:
                os.chown(d, USER, USER)
        self.audit = f"{self.home}/.local/state/bawn/audit.jsonl"
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.home,
                    "LANG": "C.UTF-8"}

    def drop(self):
        """Words before a command that make it this place's identity."""
        if self.identity == "root" or os.geteuid() != 0:
            return []
        return ["/usr/bin/setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all", "--"]

    def run(self, *words, before=(), inject=None, stdin=subprocess.DEVNULL, timeout=TIMEOUT, env=None, **kw):
        """Run words (a full command line). `inject` is (role, syscall, n, action)."""
        report = f"{self.side}/report"
        cmd = list(before) + self.drop()
        if inject:
            cmd += [self.suite.inject] + [str(w) for w in inject] + ["--"]
        cmd += list(words)
        e = dict(self.env, INJECT_REPORT=report, **(env or {}))
        p = subprocess.Popen(cmd, cwd=self.ws, env=e, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True, **kw)
        try:
            out, err = p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.kill()
            p.communicate()
            raise Fail("hangs") from None
        r = Run(p.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
        if inject and os.path.exists(report):
            with open(report, encoding="ascii") as f:
                r.matched, r.host, r.at_exec, r.status = map(int, f.readline().split())
                for line in f:
                    role, name, count = line.split()
                    r.seen[role, name] = int(count)
            os.unlink(report)
        return r

    def bawn(self, *words, **kw):
        return self.run(self.suite.bawn, *words, **kw)

    def started(self):
        """Whether the command ran, and forget it."""
        try:
            os.unlink(f"{self.ws}/started")
            return True
        except FileNotFoundError:
            return False

    def records(self):
        try:
            with open(self.audit, encoding="utf-8") as f:
                return [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def verify(self):
        if not os.path.exists(self.audit):
            return
        r = self.bawn("audit", "verify")
        if r.code != 0:
            raise Fail(f"the audit log does not verify: {r}")

    def alive(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    line = f.read()
            except OSError:
                continue
            if self.mark.encode() in line:
                found.append(f"{pid}: {line.replace(bytes(1), b' ').decode(errors='replace')[:200]}")
        return found

    def leftovers(self, host):
        """Reasons why the place is not as it was: processes, groups, files."""
        why = [f"process {p}" for p in self.alive()]
        if host:
            why += [f"group {g}" for g in groups_of(host)]
        why += [f"file {f} in the workspace" for f in os.listdir(self.ws) if f != "started"]
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            why += [f"mount {line.split()[4]}" for line in f if self.base in line]
        return why

    def expect_clean(self, host=0, patience=60):
        end = time.monotonic() + patience
        while True:
            why = self.leftovers(host)
            if not why:
                return
            if time.monotonic() > end:
                raise Fail("left behind: " + "; ".join(why))
            time.sleep(0.05)

    def close(self):
        for pid in [int(line.split(":")[0]) for line in self.alive()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.base, ignore_errors=True)


def groups_of(pid, top="/sys/fs/cgroup", depth=7):
    """A directory that has no others is not listed: the number of its links tells."""
    found = []
    try:
        if depth == 0 or (top.count("/") > 4 and os.stat(top).st_nlink == 2):
            return found
        dirs = [e.name for e in os.scandir(top) if e.is_dir(follow_symlinks=False)]
    except OSError:  # gone meanwhile
        return found
    for d in dirs:
        found += [f"{top}/{d}"] if d.startswith(f"bawn-{pid}-") else groups_of(pid, f"{top}/{d}", depth - 1)
    return found


def expect_refusal(r, codes=(125,)):
    """Did not run, says why in exactly one line, and where several walls were tried one more for each of the others."""
    lines = [line for line in r.err.splitlines() if not line.startswith("bawn: nor: ")]
    if r.code not in codes:
        raise Fail(f"expected exit {codes}: {r}")
    if len(lines) != 1 or not lines[0].startswith("bawn: "):
        raise Fail(f"expected one line 'bawn: …': {r}")


def scrub(text):
    """Take out what differs from run to run."""
    text = re.sub(r"/tmp/bawn-[0-9a-f]{32}", "/tmp/bawn-RUN", text)
    return re.sub(r"p\d{4}/", "pN/", text)
