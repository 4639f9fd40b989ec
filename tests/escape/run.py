#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The escape suite: attacks on the sandbox, each made for real. A case does the same act outside, where it must work
(else it is skipped and counted), and inside, where it must fail as stated while the host's canary stays as it was.
Every case runs for each identity (root, an ordinary user) and each wall whose receipt claims the controls it is about;
what a receipt lacks is "not claimed", and no test. Behind the walls that others build, many cases share a start
(batch.py). Speaks TAP. $BAWN is the program, $ESCAPE_PROBE the probe.
"""

import argparse
import concurrent.futures
import json
import os
import pwd
import queue
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import threading
import traceback

import batch
import lib
import table
import cases_fs     # noqa: F401  each registers its cases
import cases_proc   # noqa: F401
import cases_sys    # noqa: F401
import cases_ipc    # noqa: F401
import cases_life   # noqa: F401
import cases_egress  # noqa: F401
import cases_egress_secrets  # noqa: F401
import cases_container  # noqa: F401
import cases_secret  # noqa: F401
import cases_wasm

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "egress", "e2e"))
import internet  # noqa: E402


# Most of what goes through the door waits: these can be many at once. The rest needs the processor.
WORLDS = 6
JOBS = 6
MACHINES = 2

# What is not worth starting a virtual machine for, which takes seconds.
WRITES = ("about what bawn itself writes down, which is the same behind every wall; a machine takes too long to start for it "
          "(ESCAPE_ALL=1 does it)")
VM_SKIP = {} if os.environ.get("ESCAPE_ALL") else {
    20: WRITES, 25: WRITES, 80: WRITES, 95: WRITES,
    47: "a race with a check that is made while the command runs; behind another kernel it is made when it has ended (ESCAPE_ALL=1)"}
ADAPTERS = lib.ADAPTERS


class Suite:
    def __init__(self, args):
        self.outside_only, self.first = args.outside_only, args.first
        for name, path in (("probe", args.probe), ("bawn", args.bawn)):
            if not (path and os.path.exists(path)) and not (name == "bawn" and self.outside_only):
                sys.exit(f"Bail out! no {name} at '{path}': set $BAWN and $ESCAPE_PROBE")
        self.base = tempfile.mkdtemp(prefix="bawn-escape-", dir=args.dir)
        os.chmod(self.base, 0o755)
        self.env = {k: os.environ[k] for k in ("BAWN_HOLE", "DOCKER_HOST") if k in os.environ}
        self.probe = self.take(args.probe, "probe")
        self.bawn = None if self.outside_only else self.take(args.bawn, "bawn")
        for up in (".", ".."):  # the program with holes lies in another directory
            for name in ("bawn-egress", "bawn-egress-tls", "bawn-inside", "bawn-vault"):
                path = os.path.join(os.path.dirname(args.bawn or ""), up, name)
                if os.path.exists(path):
                    self.take(path, name)
            kernels = os.path.join(os.path.dirname(args.bawn or ""), up, "vm")
            if os.path.isdir(kernels) and not os.path.lexists(self.base + "/vm"):
                os.symlink(os.path.realpath(kernels), self.base + "/vm")
        self.worlds, self.idle = [], queue.LifoQueue()
        self.lock = threading.Lock()
        self.user = self.find_user()
        self.claims = {}
        self.starts = {}  # how often a case ran bawn
        self.reached = {}  # what was made outside, and whether it got there
        self.took = {}  # seconds from start to end of a run that does nothing
        self.number = 0

    def take(self, path, name):
        """A copy that every identity can reach and nobody but its owner can change."""
        to = f"{self.base}/{name}"
        shutil.copy(path, to)
        os.chmod(to, 0o755)
        return to

    @staticmethod
    def find_user():
        if os.geteuid() != 0:
            return os.getuid(), os.getgid()
        for p in pwd.getpwall():
            if 1000 <= p.pw_uid < 60000:
                return p.pw_uid, p.pw_gid
        return 1000, 1000

    def internet(self):
        """One that nobody else is on; made when needed, up to a number. Give it back with leave()."""
        with self.lock:
            number = len(self.worlds)
            make = self.idle.empty() and number < WORLDS
            if make:
                self.worlds.append(None)
        if not make:
            world = self.idle.get(timeout=300)
        else:
            try:
                world = self.worlds[number] = internet.World(f"{self.base}/world{number}")
            except internet.Missing as e:
                world = str(e)
        if isinstance(world, str):
            self.idle.put(world)
            raise lib.Skip(world)
        return world

    def leave(self, world):
        self.idle.put(world)

    def close(self):
        for w in self.worlds:
            if w:
                w.close()
        # podman of an ordinary user holds on to its namespace
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f, open(f"/proc/{pid}/comm") as g:
                    if self.base.encode() in f.read() and g.read().startswith("podman"):
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass

    def ids(self, identity):
        return (0, 0) if identity == "root" else self.user

    def box(self, case_, identity, tier, kind=lib.Box):
        with self.lock:
            self.number += 1
            number = self.number
        return kind(self, f"{self.base}/{number:04d}", case_, identity, tier)

    @staticmethod
    def drop(box):
        box.close()
        remove(box.base)

    def receipt(self, identity, tier):
        """The controls that this tier says are in force for this identity, or why there is no answer."""
        box = self.box(None, identity, tier)
        try:
            harmless = cases_wasm.receipt_act(box) if tier == "wasm" else "true"
            r = box.bawn(harmless, refused=True)
            self.took[identity, tier] = r.seconds
            if r.code != 0:
                return None, f"{harmless!r} ends with {r}"
            if r.json.get("backend") != tier:
                return None, f"--backend {tier} ran behind '{r.json.get('backend')}'"
            walls = r.json.get("walls") or ""
            if tier == "landlock" and "namespace" in walls:
                return None, f"--backend landlock ran behind another wall: {walls}"
            got = set((r.json.get("controls") or {}).get("enforced") or ())
            # with a door, other controls stand in the place of net.none
            r = box.bawn(harmless, ["--net", "allowlist"], refused=True)
            door = set((r.json.get("controls") or {}).get("enforced") or ()) if r.code == 0 else set()
            return (got | door, "") if got else (None, "the result names no enforced control")
        except (lib.Fail, lib.Skip, OSError) as e:
            return None, str(e)
        finally:
            box.close()

    def run(self, c, identity, tier):
        """(verdict, reason, notes): verdict is ok, skip, fail, or none where the wall does not claim what it is about."""
        claimed, why = self.claims[identity, tier]
        if claimed is None:
            return ("skip", f"no receipt from {tier}: {why}", []) if why else ("fail", why, [])
        if not self.outside_only:
            for ctl in c.controls:
                if ctl not in claimed:
                    return "none", f"{ctl} is not in the receipt of {tier}", []
        box = None
        try:
            box = self.box(c, identity, tier)
            c.fn(box)
            if box.failed:
                return "fail", "", box.failed
            if not box.acts and box.skipped:
                return "skip", box.skipped[0], box.skipped[1:]
            if not box.acts:
                return "fail", "the case did nothing", []
            return "ok", "", box.skipped
        except lib.OutsideOnly:
            return ("ok" if box.acts else "skip"), "" if box.acts else "no act outside", box.skipped
        except lib.Unclaimed as e:
            return ("fail", "", box.failed) if box.failed else ("none", str(e), box.skipped)
        except lib.Skip as e:
            return "skip", str(e), box.skipped if box else []
        except lib.Fail as e:
            return "fail", str(e), box.failed if box else []
        except Exception:
            return "fail", "the case itself broke: " + traceback.format_exc().strip().replace("\n", " | "), []
        finally:
            if box:
                self.starts[c, identity, tier] = box.runs
                self.drop(box)


def remove(path):
    def again(fn, p, _):
        try:
            os.chmod(os.path.dirname(p), stat.S_IRWXU)
            fn(p)
        except OSError:
            pass
    shutil.rmtree(path, onerror=again)


class Tap:
    """Tells of each case; what a wall does not claim is no test there, and a line of its own."""

    def __init__(self, shown):
        self.i, self.shown = 0, shown
        self.lock = threading.Lock()
        self.count = {"ok": 0, "skip": 0, "fail": 0, "none": 0}
        self.rows, self.why, self.reasons = {}, {}, {"none": {}, "skip": {}}
        print("TAP version 13", flush=True)

    def tell(self, row, name, verdict, reason, notes=()):
        with self.lock:
            self.count[verdict] += 1
            who, tier = re.search(r"\[(\w+)/([\w-]+)\]$", name).groups()
            cell = self.rows.setdefault(row, {}).setdefault(tier, {"ok": 0, "skip": 0, "fail": 0, "none": 0})
            cell[verdict] += 1
            reason = re.sub(r"/\S*bawn-escape-\w+/\d+", "", reason.replace("\n", " ").replace("#", ""))
            if verdict in self.reasons and row:
                self.reasons[verdict].setdefault(tier, {}).setdefault(reason, []).append(row)
            if row == 0 and verdict == "skip":
                self.why[f"{who}/{tier}"] = reason
            self.show(name, verdict, reason, notes)

    def show(self, name, verdict, reason, notes):
        if verdict == "none":
            print(f"# not claimed: {name}: {reason}", flush=True)
            return
        self.i += 1
        line = f"{'not ok' if verdict == 'fail' else 'ok'} {self.i} - {name}"
        print(line + (f" # SKIP {reason}" if verdict == "skip" else ""))
        if verdict == "fail":
            for n in [*notes, reason] if reason else notes:
                print(f"#   {n}")
        for n in notes if self.shown and verdict != "fail" else ():
            print(f"#   act skipped: {n}")
        sys.stdout.flush()

    def note(self, text):
        with self.lock:
            print("# " + text, flush=True)

    def summary(self, seen):
        """A line per row, a column per wall: how many passed, failed as !n, skipped as -n, not claimed as ~n."""
        tiers = sorted({t for r in self.rows.values() for t in r}, key=("native", "landlock", "wasm", *ADAPTERS).index)
        print("# passed, !failed, -skipped, ~not claimed")
        print("# row " + "".join(f"{t[:11]:>12}" for t in tiers))
        for row in sorted(self.rows):
            cells = [self.rows[row].get(t) for t in tiers]
            text = [" ".join(f"{sign}{c[k]}" for k, sign in (("ok", ""), ("skip", "-"), ("fail", "!"), ("none", "~")) if c[k])
                    if c else "" for c in cells]
            print(f"# {row:3d} " + "".join(f"{x:>12}" for x in text))
        data = {"tiers": tiers, "rows": self.rows, "why": self.why, "unclaimed": self.reasons["none"],
                "skipped": self.reasons["skip"]}
        if seen:
            with open(seen, "w") as f:
                json.dump(data, f, indent=1)
            with open(seen + ".md", "w") as f:
                f.write("\n".join(["# Attacks", "", *table.markdown(data), ""]))
            print(f"# the table with its reasons: {seen}.md")
        c = self.count
        print(f"# {c['ok']} passed, {c['fail']} failed, {c['skip']} skipped, {c['none']} not claimed")
        print(f"1..{self.i}", flush=True)


def place():
    """Not below a directory that is private inside, if there is such a place."""
    return "/srv" if os.path.isdir("/srv") and os.access("/srv", os.W_OK) else "/var/tmp"


def arguments():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--row", action="append", type=int, help="only this row; may be repeated")
    ap.add_argument("--match", help="only cases whose title holds this text")
    ap.add_argument("--identity", choices=("root", "user"))
    ap.add_argument("--tier", choices=("native", "landlock", "wasm", *ADAPTERS), action="append")
    ap.add_argument("--seen", default=os.environ.get("BAWN_SEEN"), help="write what was seen to this file")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--outside-only", action="store_true", help="check only that every act works unconfined")
    ap.add_argument("--notes", action="store_true", help="show the acts that were skipped within a case")
    ap.add_argument("--first", action="store_true", help="end at the first case that fails and is not --known")
    ap.add_argument("--known", action="append", default=[], help="a case that is expected to fail; may be repeated")
    ap.add_argument("--times", action="store_true", help="how long each case took")
    ap.add_argument("--jobs", type=int, default=JOBS)
    ap.add_argument("--dir", default=os.environ.get("BAWN_ESCAPE_DIR") or place(), help="where to work")
    ap.add_argument("--bawn", default=os.environ.get("BAWN"))
    ap.add_argument("--probe", default=os.environ.get("ESCAPE_PROBE"))
    return ap.parse_args()


def chosen(args):
    """(identities, tiers that run case by case, adapters, cases)"""
    identities = [args.identity] if args.identity else ["root", "user"] if os.geteuid() == 0 else ["user"]
    if os.geteuid() != 0 and "root" in identities:
        sys.exit("Bail out! --identity root needs root")
    tiers = args.tier or ["native", "landlock", "wasm", *ADAPTERS]
    ours = [t for t in tiers if t not in ADAPTERS]
    others = [] if args.outside_only else [t for t in tiers if t in ADAPTERS]
    if args.outside_only:
        ours = ours[:1]
    cases = [c for c in sorted(lib.CASES, key=lambda c: c.row)
             if not (args.row and c.row not in args.row) and not (args.match and args.match not in c.title)]
    return identities, ours, others, cases


def main():
    args = arguments()
    if args.list:
        for c in sorted(lib.CASES, key=lambda c: c.row):
            print(f"r{c.row:02d} {c.title} ({', '.join(c.controls)})")
        return 0
    suite = Suite(args)
    try:
        return Play(suite, args).all()
    finally:
        suite.close()
        remove(suite.base)


class Play:
    """
    Everything at once, as far as it goes: our own tiers case by case; behind adapters many acts at a time as soon as they are
    written down, and the rest case by case. Machines have a line of their own, the longest, which therefore never waits.
    """

    def __init__(self, suite, args):
        self.suite, self.args = suite, args
        self.identities, self.ours, self.others, self.cases = chosen(args)
        self.enough = threading.Event()
        self.tap = Tap(args.notes)
        self.lines, self.begun = {}, []

    def all(self):
        suite, args = self.suite, self.args
        try:
            self.receipts()
            # what takes longest begins first
            for c, i, t in sorted(((c, i, t) for c in self.cases for i in self.identities if i in c.identities
                                   for t in self.ours if t in c.tiers), key=lambda j: not j[0].slow):
                self.submit(c, i, t)
            for i in self.identities:
                self.behind_adapters(i)
            self.done(self.begun)
        finally:
            self.enough.set()
            for line in self.lines.values():
                line.shutdown()
        self.tap.summary(args.seen)
        return 1 if self.tap.count["fail"] else 0

    def line(self, name, n=1):
        """Threads that work at one kind of thing; one by one where it is something that can be used by one only."""
        return self.lines.setdefault(name, concurrent.futures.ThreadPoolExecutor(n))

    def starts(self, t):
        return self.line("machines", MACHINES) if t in lib.VMS else self.line("starts", 2)

    def submit(self, c, i, t):
        line = self.line(c.alone) if c.alone else self.starts(t) if t in lib.VMS else self.line("cases", self.args.jobs)
        self.begun.append(line.submit(self.one, (c, i, t)))

    @staticmethod
    def done(futures):
        for f in futures:
            f.result()

    def receipts(self):
        """Of our own tiers now, of the others when they come."""
        pairs = [(i, t) for t in (*self.ours, *self.others) for i in self.identities]
        if self.args.outside_only:
            self.suite.claims = {p: (set(), "") for p in pairs}
            return
        abi = subprocess.run([self.suite.probe, "landlock"], capture_output=True, text=True).returncode == 0

        def ask(i, t):
            claimed, why = self.suite.claims[i, t] = self.suite.receipt(i, t)
            verdict = "ok" if claimed else "fail" if t == "native" or (t == "landlock" and abi) else "skip"
            self.tap.tell(0, f"r00 receipt [{i}/{t}]", verdict, why)
            if claimed:
                self.tap.note(f"{i}/{t} claims {' '.join(sorted(claimed))}")
        self.asked = {(i, t): (self.starts if t in self.others else lambda _: self.line("cases", self.args.jobs))(t).submit(ask, i, t)
                      for i, t in pairs}
        self.done(f for (_, t), f in self.asked.items() if t in self.ours)

    def one(self, job):
        c, i, t = job
        if self.enough.is_set():
            return
        began = time.monotonic()
        verdict, reason, notes = self.suite.run(c, i, t)
        if self.args.times:
            notes = [*notes, f"took {time.monotonic() - began:.1f} s, {self.suite.starts.get(job, 0)} starts"]
        self.tell(c, i, t, verdict, reason, notes)

    def tell(self, c, i, t, verdict, reason, notes):
        name = f"r{c.row:02d} {c.title} [{i}/{t}]"
        self.tap.tell(c.row, name, verdict, reason, notes)
        if self.args.first and verdict == "fail" and name not in self.args.known:
            self.enough.set()

    def behind_adapters(self, identity):
        """Cases that share starts, behind each adapter that can be had, then those that need starts of their own."""
        if not self.others:
            return
        cases = [c for c in self.cases if identity in c.identities and "native" in c.tiers]
        recorded, own = batch.record(self.suite, identity, cases)
        shared = []
        try:
            for t in reversed(self.others):  # in the order in which receipts come
                self.asked[identity, t].result()
                # what a virtual machine does inside does not depend on who started it
                if not self.suite.claims[identity, t][0] or (t in lib.VMS and identity != self.identities[0]):
                    continue
                shared.append(self.starts(t).submit(self.adapter, identity, t, recorded))
                for c in sorted(self.far(identity, t, own), key=lambda c: not c.slow):
                    self.submit(c, identity, t)
        finally:
            self.begun.append(self.line("tidy").submit(self.forget, shared, recorded))

    def forget(self, shared, recorded):
        concurrent.futures.wait(shared)
        for _, b, _ in recorded:
            self.suite.drop(b)
        self.done(shared)

    def far(self, identity, t, own):
        """What is left to do behind an adapter, case by case."""
        todo = [c for c in self.cases if identity in c.identities and t in c.tiers]
        for c in own:
            lacks = sorted(set(c.controls) - self.suite.claims[identity, t][0])
            if t not in lib.VMS or c.row not in VM_SKIP or lacks:
                todo.append(c)
            else:
                self.tell(c, identity, t, "skip", VM_SKIP[c.row], [])
        return todo

    def adapter(self, identity, t, recorded):
        home = self.suite.box(None, identity, t)
        try:
            took = batch.play(home, t, recorded, self.suite.claims[identity, t][0],
                              lambda c, *how: self.tell(c, identity, t, *how))
            self.tap.note(f"{identity}/{t}: {sum(len(b.list) for _, b, _ in recorded)} acts in {took:.1f} s")
        finally:
            self.suite.drop(home)


if __name__ == "__main__":
    sys.exit(main())
