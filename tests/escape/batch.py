# SPDX-License-Identifier: Apache-2.0
"""
Many rows behind one wall. Starting a container takes a second, a virtual machine several, so the acts of all cases that
need no start of their own are made outside once, written down, and then made inside in one run per adapter: each case keeps
its own directories, all of them granted as the case would have had them. What is checked is the same.
"""

import time
import traceback

import lib

# Options that only say what is granted or denied at a place: those of several cases can stand side by side.
PLACES = {"--ro", "--rw", "--deny"}

# Runs until all acts have had their turn: an act that takes its neighbours down ends a run.
RUNS_MAX = 6


class OwnStart(Exception):
    """The case needs a run of its own."""


class Later:
    """What a command answered, for who looks at it before it was run."""

    def __getattr__(self, name):
        raise OwnStart()


class Act:
    def __init__(self, act, opts, errs, canary, known):
        self.act, self.opts, self.errs, self.canary, self.known = act, opts, errs, canary, known or {}


class Recorder(lib.Box):
    """A box that does outside what a case asks for and writes down what is to be done inside."""

    def __init__(self, *args):
        super().__init__(*args)
        self.list = []

    def bawn_argv(self, *args, **kw):
        raise OwnStart()

    def put(self, act, opts, errs, canary=None, known=None):
        opts = [str(o) for o in opts]
        if any(o not in PLACES or p[0] != "/" for o, p in zip(opts[::2], opts[1::2])):
            raise OwnStart()
        self.list.append(Act(act, opts, errs, canary, known))

    def one_attack(self, act, errs=lib.PATH, opts=(), setup=None, canary=None, outside=None, limits=(), timeout=None,
                   known=None, **kw):
        if kw or limits:
            raise OwnStart()
        if setup:
            setup()
        r = self.host(act if outside is None else outside)
        if setup:
            setup()
        if r.what != "ok":
            self.skipped.append(f"{self.say(act)}: {lib.fails_outside(r.what)}")
            return None
        self.acts += 1
        self.put(act, opts, errs, canary, known)
        return None

    def works(self, act, opts=(), **kw):
        if kw:
            raise OwnStart()
        self.put(act, opts, {"ok"})
        return Later()


def settled(suite, job, own):
    """Keep the canaries that are well now that all acts have been made outside; one at least of a case that has some."""
    c, box, why = job
    had = [a for a in box.list if a.canary and not why]
    for a in had:
        try:
            a.canary()
        except lib.Fail:
            a.canary = None
    if had and not any(a.canary for a in had):
        suite.drop(box)
        own.append(c)
        return False
    return True


def record(suite, identity, cases):
    """(recorded, own): the cases with their boxes, and those that need runs of their own. Close the boxes afterwards."""
    recorded, own = [], []
    for c in cases:
        box = suite.box(c, identity, "outside", Recorder)
        why = None
        try:
            if "fs.protect" in c.controls:  # about names in the workspace, of which there is one per run
                raise OwnStart()
            c.fn(box)
        except (OwnStart, lib.Unclaimed):
            suite.drop(box)
            own.append(c)
            continue
        except lib.Skip as e:
            why = ("skip", str(e))
        except lib.Fail as e:
            why = ("fail", str(e))
        except Exception:
            why = ("fail", "the case itself broke: " + traceback.format_exc().strip().replace("\n", " | "))
        recorded.append((c, box, why))
    time.sleep(0.5)  # what listeners were sent may still be on its way to them
    return [r for r in recorded if settled(suite, r, own)], own


def script(probe, todo):
    """Every act, announced and its end told."""
    # the probe ends by itself; starting one more program is what takes time on an emulated processor
    return "\n".join(lib.told(n, box.cmd(act.act, probe), box.ws, "timeout 20 " if isinstance(act.act, str) else "")
                     for n, (box, act) in todo) + "\nexit 0\n"


def one_run(home, adapter, todo):
    """{number: result}; the act during which the run ended counts as killed, the rest is left out."""
    base = home.base
    home.file(base + "/bin/acts.sh", script(home.probe, todo))
    boxes = {id(b): b for _, (b, _) in todo}.values()
    opts = [o for b in boxes for o in ("--rw", b.ws, "--ro", b.base + "/bin")]
    seen = set()
    for _, (_, act) in todo:
        for pair in zip(act.opts[::2], act.opts[1::2]):
            if pair not in seen:
                opts += pair
                seen.add(pair)
    home.tier = adapter
    r = home.bawn(("/bin/sh", base + "/bin/acts.sh"), ["--timeout", "400s", *opts], timeout=430,
                  refused=True)
    found, last = lib.answers(r.out)
    if last:
        found[last[0]] = lib.Result(137, last[1], "the run ended here", 0)
    if not found:
        raise lib.Fail(f"nothing came back: {r}")
    return found


def inside(home, adapter, todo):
    found = {}
    for _ in range(RUNS_MAX):
        left = [t for t in todo if t[0] not in found]
        if not left:
            break
        found.update(one_run(home, adapter, left))
    return found


def groups(acts):
    """Numbered acts that can share a run: those without options, and those whose options do not contradict each other."""
    runs = []
    for n, (box, act) in enumerate(acts):
        want = {path: kind for kind, path in zip(act.opts[::2], act.opts[1::2])}
        for todo, granted in runs:
            if bool(granted) == bool(want) and all(granted.get(p, k) == k for p, k in want.items()):
                break
        else:
            todo, granted = [], {}
            runs.append((todo, granted))
        todo.append((n, (box, act)))
        granted.update(want)
    return [todo for todo, _ in runs]


def play(home, adapter, recorded, claimed, tell):
    """Make all acts of the recorded cases behind `adapter` and tell of each case."""
    began = time.monotonic()
    jobs = [(c, b, w) for c, b, w in recorded if not set(c.controls) - claimed]
    acts = [(b, a) for _, b, w in jobs if not w for a in b.list]
    found, broken = {}, ""
    for todo in groups(acts):
        try:
            found.update(inside(home, adapter, todo))
        except (lib.Fail, lib.Skip) as e:
            broken = str(e)
    told = {id(a): (n, found.get(n)) for n, (_, a) in enumerate(acts)}
    for c, box, why in recorded:
        lacks = sorted(set(c.controls) - claimed)
        if lacks:
            tell(c, "none", f"{lacks[0]} is not in the receipt of {adapter}", [])
        elif why:
            tell(c, *why, [])
        else:
            tell(c, *judge(box, adapter, told, broken))
    return time.monotonic() - began


def judge(box, adapter, told, broken):
    failed, noted = list(box.failed), list(box.skipped)
    for a in box.list:
        n, r = told[id(a)]
        if r is None:
            failed.append(f"{box.say(a.act)}: no answer {broken}")
        elif adapter in a.known and r.what not in a.errs:
            noted.append(f"{box.say(a.act)}: {a.known[adapter]}")
        elif r.what not in a.errs and not ("exit" in a.errs and r.what.startswith("exit")):
            failed.append(f"{box.say(a.act)}: {r} {r.out.strip()[-80:]}; expected one of {', '.join(sorted(a.errs))}")
        elif a.canary:
            try:
                a.canary()
            except lib.Fail as e:
                failed.append(str(e))
    if failed:
        return "fail", "", failed
    if not box.acts:
        return "skip", (noted or ["no act of it works outside"])[0], noted[1:]
    return "ok", "", noted
