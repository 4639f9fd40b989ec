#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The escape suite: attacks on the sandbox, each made for real. A case does the same act outside, where it must work
(else it is skipped and counted), and inside, where it must fail as stated while the host's canary stays as it was.
Every case runs for each identity (root, an ordinary user) and each tier (native, landlock) whose receipt claims the
controls it is about. Speaks TAP. $BAWN is the program, $ESCAPE_PROBE the probe.
"""

import argparse
import concurrent.futures
import os
import pwd
import queue
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import threading
import traceback

import lib
import cases_fs     # noqa: F401  each registers its cases
import cases_proc   # noqa: F401
import cases_sys    # noqa: F401
import cases_ipc    # noqa: F401
import cases_life   # noqa: F401
import cases_egress  # noqa: F401

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "egress", "e2e"))
import internet  # noqa: E402


WORLDS = 3


class Suite:
    def __init__(self, args):
        self.outside_only, self.first = args.outside_only, args.first
        for name, path in (("probe", args.probe), ("bawn", args.bawn)):
            if not (path and os.path.exists(path)) and not (name == "bawn" and self.outside_only):
                sys.exit(f"Bail out! no {name} at '{path}': set $BAWN and $ESCAPE_PROBE")
        self.base = tempfile.mkdtemp(prefix="bawn-escape-", dir=args.dir)
        os.chmod(self.base, 0o755)
        self.env = {k: os.environ[k] for k in ("BAWN_HOLE",) if k in os.environ}
        self.probe = self.take(args.probe, "probe")
        self.bawn = None if self.outside_only else self.take(args.bawn, "bawn")
        for up in (".", ".."):  # the program with holes lies in another directory
            door = os.path.join(os.path.dirname(args.bawn or ""), up, "bawn-egress")
            if os.path.exists(door):
                self.take(door, "bawn-egress")
        self.worlds, self.idle = [], queue.LifoQueue()
        self.lock = threading.Lock()
        self.user = self.find_user()
        self.claims = {}
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

    def ids(self, identity):
        return (0, 0) if identity == "root" else self.user

    def box(self, case_, identity, tier):
        self.number += 1
        return lib.Box(self, f"{self.base}/{self.number:04d}", case_, identity, tier)

    def receipt(self, identity, tier):
        """The controls that this tier says are in force for this identity, or why there is no answer."""
        box = self.box(None, identity, tier)
        try:
            r = box.bawn("true", refused=True)
            if r.code != 0:
                return None, f"'true' ends with {r}"
            walls = r.json.get("walls") or ""
            if tier == "landlock" and "namespace" in walls:
                return None, f"--backend landlock ran behind another wall: {walls}"
            got = set((r.json.get("controls") or {}).get("enforced") or ())
            # with a door, other controls stand in the place of net.none
            r = box.bawn("true", ["--net", "allowlist"], refused=True)
            door = set((r.json.get("controls") or {}).get("enforced") or ()) if r.code == 0 else set()
            return (got | door, "") if got else (None, "the result names no enforced control")
        except (lib.Fail, OSError) as e:
            return None, str(e)
        finally:
            box.close()

    def run(self, c, identity, tier):
        """(verdict, reason, notes): verdict is ok, skip or fail."""
        claimed, why = self.claims[identity, tier]
        if claimed is None:
            return ("skip", f"no receipt from the {tier} tier", []) if why else ("fail", why, [])
        if not self.outside_only:
            for ctl in c.controls:
                if ctl not in claimed:
                    return "skip", f"control {ctl} not claimed by {tier} tier", []
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
        except lib.Skip as e:
            return "skip", str(e), box.skipped if box else []
        except lib.Fail as e:
            return "fail", str(e), box.failed if box else []
        except Exception:
            return "fail", "the case itself broke: " + traceback.format_exc().strip().replace("\n", " | "), []
        finally:
            if box:
                box.close()
                remove(box.base)


def remove(path):
    def again(fn, p, _):
        try:
            os.chmod(os.path.dirname(p), stat.S_IRWXU)
            fn(p)
        except OSError:
            pass
    shutil.rmtree(path, onerror=again)


class Tap:
    def __init__(self, n, shown):
        self.n, self.i, self.shown = n, 0, shown
        self.lock = threading.Lock()
        self.count = {"ok": 0, "skip": 0, "fail": 0}
        self.rows = {}
        print(f"1..{n}", flush=True)

    def tell(self, row, name, verdict, reason, notes=()):
        with self.lock:
            self.i += 1
            self.count[verdict] += 1
            self.rows.setdefault(row, {"ok": 0, "skip": 0, "fail": 0, "acts": 0})[verdict] += 1
            self.rows[row]["acts"] += len(notes) if verdict != "fail" else 0
            reason = reason.replace("\n", " ").replace("#", "")
            line = f"{'not ok' if verdict == 'fail' else 'ok'} {self.i} - {name}"
            print(line + (f" # SKIP {reason}" if verdict == "skip" else ""))
            if verdict == "fail":
                for n in [*notes, reason] if reason else notes:
                    print(f"#   {n}")
            for n in notes if self.shown and verdict != "fail" else ():
                print(f"#   act skipped: {n}")
            sys.stdout.flush()

    def summary(self):
        print("# row   ok  skip  fail  acts skipped")
        for row in sorted(self.rows):
            r = self.rows[row]
            print(f"# {row:3d} {r['ok']:5d} {r['skip']:5d} {r['fail']:5d} {r['acts']:5d}")
        c = self.count
        print(f"# {c['ok']} passed, {c['fail']} failed, {c['skip']} skipped", flush=True)


def place():
    """Not below a directory that is private inside, if there is such a place."""
    return "/srv" if os.path.isdir("/srv") and os.access("/srv", os.W_OK) else "/var/tmp"


def arguments():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--row", action="append", type=int, help="only this row; may be repeated")
    ap.add_argument("--match", help="only cases whose title holds this text")
    ap.add_argument("--identity", choices=("root", "user"))
    ap.add_argument("--tier", choices=("native", "landlock"))
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--outside-only", action="store_true", help="check only that every act works unconfined")
    ap.add_argument("--notes", action="store_true", help="show the acts that were skipped within a case")
    ap.add_argument("--first", action="store_true", help="end at the first case that fails and is not --known")
    ap.add_argument("--known", action="append", default=[], help="a case that is expected to fail; may be repeated")
    ap.add_argument("--times", action="store_true", help="how long each case took")
    ap.add_argument("--jobs", type=int, default=4)
    ap.add_argument("--dir", default=os.environ.get("BAWN_ESCAPE_DIR") or place(), help="where to work")
    ap.add_argument("--bawn", default=os.environ.get("BAWN"))
    ap.add_argument("--probe", default=os.environ.get("ESCAPE_PROBE"))
    return ap.parse_args()


def chosen(args):
    identities = [args.identity] if args.identity else ["root", "user"] if os.geteuid() == 0 else ["user"]
    if os.geteuid() != 0 and "root" in identities:
        sys.exit("Bail out! --identity root needs root")
    tiers = [args.tier] if args.tier else ["native", "landlock"]
    if args.outside_only:
        tiers = tiers[:1]
    todo = []
    for c in sorted(lib.CASES, key=lambda c: c.row):
        if (args.row and c.row not in args.row) or (args.match and args.match not in c.title):
            continue
        todo += [(c, i, t) for i in identities if i in c.identities for t in tiers if t in c.tiers]
    return identities, tiers, todo


def main():
    args = arguments()
    identities, tiers, todo = chosen(args)
    if args.list:
        for c in sorted(lib.CASES, key=lambda c: c.row):
            print(f"r{c.row:02d} {c.title} ({', '.join(c.controls)})")
        return 0
    suite = Suite(args)
    try:
        return play(suite, args, identities, tiers, todo)
    finally:
        suite.close()
        remove(suite.base)


def play(suite, args, identities, tiers, todo):
    receipts = [] if args.outside_only else [(i, t) for i in identities for t in tiers]
    tap = Tap(len(todo) + len(receipts), args.notes)
    abi = subprocess.run([suite.probe, "landlock"], capture_output=True, text=True).returncode == 0
    for i in identities:
        for t in tiers:
            suite.claims[i, t] = (set(), "") if args.outside_only else suite.receipt(i, t)
    for i, t in receipts:
        claimed, why = suite.claims[i, t]
        verdict = "ok" if claimed else "fail" if t == "native" or abi else "skip"
        tap.tell(0, f"r00 receipt [{i}/{t}]", verdict, why)
        if claimed:
            print(f"# {i}/{t} claims {' '.join(sorted(claimed))}")

    enough = threading.Event()

    def one(job):
        c, i, t = job
        if enough.is_set():
            return
        began = time.monotonic()
        verdict, reason, notes = suite.run(c, i, t)
        if args.times:
            notes = [*notes, f"took {time.monotonic() - began:.1f} s"]
        name = f"r{c.row:02d} {c.title} [{i}/{t}]"
        tap.tell(c.row, name, verdict, reason, notes)
        if args.first and verdict == "fail" and name not in args.known:
            enough.set()

    # what takes longest begins first
    shared = sorted((j for j in todo if not j[0].serial), key=lambda j: not j[0].slow)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(one, shared))
    for job in todo:
        if job[0].serial:
            one(job)
    tap.summary()
    return 1 if tap.count["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
