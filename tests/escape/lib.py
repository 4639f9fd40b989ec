# SPDX-License-Identifier: Apache-2.0
"""What a case of the escape suite works with: its own directory, an identity, a tier, two ways to run a command."""

import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time

# How a path that is out of reach may answer: absent, read-only, refused.
PATH = {"EACCES", "EPERM", "EROFS", "ENOENT", "EXDEV", "ELOOP", "EBUSY", "EOPNOTSUPP"}
CALL = {"EPERM", "ENOSYS", "EACCES", "killed"}
TASK = {"EPERM", "ESRCH", "ENOSYS", "EACCES", "ENOENT", "EBADF"}
SOCK = {"EPERM", "EACCES", "ENOENT", "ECONNREFUSED", "ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"}
FAMILY = {"EPERM", "EACCES", "EAFNOSUPPORT", "ENOSYS", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT"}

# Where the number of user namespaces is limited to none.
NESTED = CALL | {"ENOSPC"}

# Walls that others build. In the order of how long that takes: a virtual machine, a container, next to nothing.
VMS = ("firecracker", "qemu")
CONTAINERS = ("gvisor", "docker", "podman")
QUICK = ("bwrap", "nsjail", "chroot")
ADAPTERS = (*VMS, *CONTAINERS, *QUICK)
SLOW = (*VMS, *CONTAINERS)

# Walls that are another kernel.
FAR = ("firecracker", "qemu", "gvisor")

# Walls that enforce a control in the usual case and say so when asked for more than they can.
PARTIAL = ("landlock", *FAR)

# For who wants to know only whether something fails.
PATIENCE = 15

CASES = []


class Skip(Exception):
    pass


class Unclaimed(Exception):
    """The wall does not claim what the case is about: there is nothing to test."""


class Fail(Exception):
    pass


class OutsideOnly(Exception):
    pass


def clean_ipc(key):
    """Remove System V objects and the queue that belong to `key`, if there are any."""
    libc = ctypes.CDLL(None)
    for get, ctl, args in ((libc.shmget, libc.shmctl, (0, 0)), (libc.msgget, libc.msgctl, (0,))):
        i = get(key, *args)
        if i >= 0:
            ctl(i, 0, None)
    i = libc.semget(key, 0, 0)
    if i >= 0:
        libc.semctl(i, 0, 0)
    try:
        ctypes.CDLL("librt.so.1").mq_unlink(f"/bawn-escape-{key}".encode())
    except OSError:
        libc.mq_unlink(f"/bawn-escape-{key}".encode())


class Case:
    def __init__(self, row, title, controls, fn, identities, tiers, alone, slow):
        self.row, self.title, self.controls, self.fn = row, title, controls, fn
        self.identities, self.tiers, self.alone, self.slow = identities, tiers, alone, slow


def case(row, title, *controls, identities=("root", "user"), tiers=("native", "landlock"), alone=None,
         slow=False):
    """
    Register a case. `controls` are those it exercises: a tier whose receipt lacks one is skipped. `alone` names what of
    the host it needs for itself: of those with the same name one runs at a time, beside all others. A slow one begins
    before the others.
    """
    def add(fn):
        CASES.append(Case(row, title, controls, fn, identities, tiers, alone, slow))
        return fn
    return add


class Result:
    """How a command ended. `what` is the probe's answer: "ok", an errno name, "killed" or "exit N"."""

    def __init__(self, code, out, err, seconds, result=None):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds
        self.json = result or {}
        last = out.strip().splitlines()[-1] if out.strip() else ""
        if "killed" in out.split() or code < 0 or code > 128:
            self.what = "killed"
        elif last.startswith("errno "):
            self.what = last.split()[1]
        elif code == 0:
            self.what = "ok"
        else:
            self.what = f"exit {code}"

    @property
    def limit(self):
        return self.json.get("limit") or ""

    def denials(self, control):
        return [d for d in self.json.get("denials") or [] if d.get("control") == control]

    def __str__(self):
        err = self.err.strip().replace("\n", " | ")
        return f"{self.what} (status {self.code}{', limit ' + self.limit if self.limit else ''}) {err[:300]}"


def told(n, argv, cwd, bound=""):
    """Shell text: a command, announced and its end told."""
    return (f"printf '\\n@@ begin {n}\\n'; (cd {shlex.quote(cwd)} && exec {bound}{shlex.join(argv)}) 2>&1 </dev/null; "
            f"printf '\\n@@ end {n} %d\\n' $?")


def answers(out):
    """What commands said between their announcements and how they ended: ({number: result}, the one that did not end)."""
    found, last = {}, None
    for m in re.finditer(r"^@@ (begin|end) (\d+) ?(\d*)\n((?:(?!^@@ ).*\n)*)", out + "\n", re.M):
        if m[1] == "begin":
            last = (int(m[2]), m[4])
        elif last and last[0] == int(m[2]):
            found[last[0]] = Result(int(m[3]), last[1], "", 0)
            last = None
    return found, last


# What would let an act work outside that fails there.
REMEDY = {
    **dict.fromkeys(("EPERM", "EACCES"), "needs somebody who may do it outside: root's run tries it, with every capability"),
    **dict.fromkeys(("ENOENT", "ENXIO", "ENODEV", "ENOTDIR"), "needs a host that has it"),
    **dict.fromkeys(("EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "ENOSYS", "EOPNOTSUPP", "EINVAL"), "needs a kernel that has it"),
    **dict.fromkeys(("EUSERS", "ENOSPC", "EMFILE", "EAGAIN"), "needs a host with higher limits"),
}


def fails_outside(what):
    return f"fails outside as well ({what}): {REMEDY.get(what, 'needs a host where it works')}"


class One:
    """An act of several that share a start, with answers or an act outside of its own."""

    def __init__(self, act, errs=None, outside=None):
        self.act, self.errs, self.outside = act, errs, outside

    @staticmethod
    def of(act):
        return act if isinstance(act, One) else One(act)


class Box:
    """The surroundings of one case: directories of its own, its identity, what to take down afterwards."""

    def __init__(self, suite, base, case_, identity, tier):
        self.suite, self.case, self.identity, self.tier = suite, case_, identity, tier
        self.uid, self.gid = suite.ids(identity)
        self.base = base
        self.acts = 0
        self.skipped = []
        self.failed = []
        self.keys = []
        self.procs = []
        self.socks = []
        self.extra = []
        self.runs = 0
        self.last = None
        self.world = None
        self.ws, self.home, self.out = base + "/repo", base + "/home", base + "/out"
        for d in (base, self.ws, self.home, self.out, base + "/state", base + "/config", base + "/cache",
                  base + "/run", base + "/bin", base + "/results"):
            self.dir(d)
        os.chmod(base + "/run", 0o700)
        self.probe = base + "/bin/probe"
        os.link(suite.probe, self.probe)

    # files -------------------------------------------------------------------------------------------------
    def own(self, path):
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        return path

    def dir(self, path):
        made = []
        while not os.path.isdir(path):
            made.append(path)
            path = os.path.dirname(path)
        for d in reversed(made):
            os.mkdir(d, 0o755)
            self.own(d)

    def file(self, path, text="canary\n", mode=0o644):
        self.dir(os.path.dirname(path))
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)
        return self.own(path)

    def copy(self, src, dst):
        """A program. By another process: a descriptor open for writing, inherited by a fork, would make it busy."""
        subprocess.run(["cp", src, dst], check=True)
        os.chmod(self.own(dst), 0o755)

    def link(self, target, path):
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(target, path)
        return self.own(path)

    def tidy(self, path):
        """Remove `path` (outside the case's directory as well) when the case ends."""
        self.extra.append(path)
        return path

    def gone(self, *paths):
        for p in paths:
            if os.path.islink(p) or os.path.isfile(p) or (os.path.lexists(p) and not os.path.isdir(p)):
                os.unlink(p)
            elif os.path.isdir(p):
                shutil.rmtree(p)

    def same(self, path, text="canary\n"):
        with open(path) as f:
            got = f.read()
        if got != text:
            raise Fail(f"canary '{path}' changed: {got[:60]!r}")

    def absent(self, *paths):
        for p in paths:
            if os.path.lexists(p):
                raise Fail(f"'{p}' came into being")

    # running -----------------------------------------------------------------------------------------------
    def env(self, **more):
        e = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.home, "LANG": "C.UTF-8",
             "XDG_STATE_HOME": self.base + "/state", "XDG_CONFIG_HOME": self.base + "/config",
             "XDG_CACHE_HOME": self.base + "/cache", "XDG_RUNTIME_DIR": self.base + "/run"}
        e.update(self.suite.env)
        e.update(more)
        return e

    def ident(self):
        if os.geteuid() != 0 or self.identity == "root":
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def popen(self, argv, cwd=None, env=None, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.PIPE)
        kw.setdefault("start_new_session", True)
        ident = self.ident()
        if self.world and ident:
            argv, ident = [*self.world.as_user(self.uid, self.gid), *argv], {}
        elif self.world:
            argv = [*self.world.enter, *argv]
        p = subprocess.Popen(argv, cwd=cwd or self.ws, env=env or self.env(), **ident, **kw)
        self.procs.append(p)
        return p

    def finish(self, p, timeout, result=None):
        start = time.monotonic()
        timeout = min(timeout, PATIENCE) if self.suite.first else timeout * 4  # this is for what hangs; others use the processor too
        try:
            out, err = p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            try:
                p.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                for s in (p.stdout, p.stderr):
                    if s:
                        s.close()
            raise Fail(f"still running after {timeout} s")
        got = {}
        if result and os.path.exists(result):
            with open(result, encoding="utf-8", errors="surrogateescape") as f:
                try:
                    got = json.load(f)
                except ValueError as e:
                    raise Fail(f"the result file is not JSON: {e}")
        return Result(p.returncode, (out or b"").decode("utf-8", "replace"), (err or b"").decode("utf-8", "replace"),
                      time.monotonic() - start, got)

    def cmd(self, act, probe=None):
        """A list is a call of the probe, a string is shell text ($P is the probe)."""
        probe = probe or self.probe
        if isinstance(act, str):
            return ["/bin/sh", "-c", f"P={probe}; {act}"]
        return [probe] + [str(a) for a in act]

    def host(self, act, timeout=60, **kw):
        return self.finish(self.popen(self.cmd(act), **kw), timeout)

    def bawn_argv(self, act, opts=(), workspace=True, probe=None):
        if self.suite.outside_only:
            raise OutsideOnly()
        self.runs += 1
        result = f"{self.base}/results/{self.runs}.json"
        ws = ["--workspace", self.ws] if workspace else []
        cmd = act if isinstance(act, tuple) else self.cmd(act, probe)
        # a machine of the usual size takes longer to boot
        opts = ["--memory", "512m", *opts] if self.tier in VMS and "--memory" not in opts else opts
        return [self.suite.bawn, "run", "--backend", self.tier, "--result", result, "--ro", self.base + "/bin",
                *ws, *[str(o) for o in opts], "--", *cmd], result

    def bawn(self, act, opts=(), timeout=60, workspace=True, probe=None, refused=False, **kw):
        argv, result = self.bawn_argv(act, opts, workspace, probe)
        self.last = self.finish(self.popen(argv, **kw), timeout, result)
        if self.last.code == 125 and self.tier in VMS and "did not start in time" in self.last.err:
            # this host had better to do than to boot a machine: no answer, so once more
            argv, result = self.bawn_argv(act, opts, workspace, probe)
            self.last = self.finish(self.popen(argv, **kw), timeout, result)
        if self.last.code == 125 and not refused:
            lacks = re.search(r"cannot enforce (\S+)|(?:': )(.*?) cannot be had (?:behind|in)\b", self.last.err)
            if lacks and self.tier in PARTIAL:
                raise Unclaimed(f"{lacks[1] or lacks[2]} with {self.say(opts[:1])} is not in the receipt of {self.tier}: refused")
            raise Fail(f"bawn refused: {self.last.err.strip()[:300]}")
        return self.last

    def accepts(self, opts):
        """Are these options right? Nothing is started where that takes long."""
        if self.tier not in SLOW:
            return self.bawn("true", opts, refused=True).code != 125
        argv = [self.suite.bawn, "explain", "--workspace", self.ws, *opts, "--", "true"]
        return self.finish(self.popen(argv), 60).code != 125

    def attack(self, act, **kw):
        """
        `known` says of which walls it is known that the act works inside, and why that does no harm.
        The same act outside, where it must work, and inside, where it must fail with one of `errs` or hit one of
        `limits`. Returns the inside result, or None when there was none. A failure does not end the case: the
        other acts are of interest as well.
        """
        try:
            return self.one_attack(act, **kw)
        except Fail as e:
            if self.suite.first:
                raise
            self.failed.append(str(e))
            return None

    def one_attack(self, act, errs=PATH, opts=(), setup=None, canary=None, outside=None, limits=(), known=None, **kw):
        if setup:
            setup()
        r = self.host(act if outside is None else outside)
        if r.what != "ok":
            self.skipped.append(f"{self.say(act)}: {fails_outside(r.what)}")
            return None
        self.acts += 1
        if self.suite.outside_only:
            return None
        if setup:
            setup()
        r = self.bawn(act, opts, **kw)
        hit = (r.limit and r.limit in limits) or self.undone(r, canary)
        if not hit and known and self.tier in known:
            self.skipped.append(f"{self.say(act)}: {known[self.tier]}")
            return None
        if not hit and r.what not in errs and not ("exit" in errs and r.what.startswith("exit")):
            raise Fail(f"{self.say(act)}: {r}; expected one of {', '.join(sorted(errs))} {' '.join(limits)}")
        if canary:
            canary()
        return r

    def many(self, acts, opts=(), **kw):
        """Several acts in one start: what each answered. One during which the run ended counts as killed; after it, None."""
        path = f"{self.base}/bin/acts-{self.runs}.sh"
        bound = [("timeout 20 " if isinstance(a, str) else "") for a in acts]
        where = self.ws if kw.get("workspace", True) else "."
        self.file(path, "\n".join(told(n, self.cmd(a), where, b) for n, (a, b) in enumerate(zip(acts, bound))) + "\nexit 0\n")
        kw.setdefault("timeout", 60 + 5 * len(acts))
        r = self.bawn(("/bin/sh", path), opts, **kw)
        found, last = answers(r.out)
        if last:
            found[last[0]] = Result(137, last[1], "the run ended here", 0, r.json)
        if not found and not r.limit:
            raise Fail(f"nothing came back: {r}")
        return [found.get(n) for n in range(len(acts))]

    def attacks(self, acts, denial=None, **kw):
        """
        attack() for each of several acts (or One()s) with the same surroundings; behind a wall that takes long to build they
        share a start. With `denial`, the result must hold one of that control for each: who is refused is told of it.
        """
        if self.tier not in SLOW:
            for one in map(One.of, acts):
                own = {k: v for k, v in (("errs", one.errs), ("outside", one.outside)) if v is not None}
                r = self.attack(one.act, **{**kw, **own})
                if r and denial and not r.denials(denial):
                    self.failed.append(f"{self.say(one.act)}: refused, but the result has no {denial} denial")
            return
        try:
            self.shared_attacks([One.of(a) for a in acts], denial, **kw)
        except Fail as e:
            self.failed.append(str(e))

    def shared_attacks(self, acts, denial, errs=PATH, opts=(), setup=None, canary=None, outside=None, limits=(), **kw):
        good = []
        for one in acts:
            if setup:
                setup()
            instead = outside if one.outside is None else one.outside
            r = self.host(one.act if instead is None else instead)
            if r.what == "ok":
                good.append(one)
            else:
                self.skipped.append(f"{self.say(one.act)}: {fails_outside(r.what)}")
        if not good:
            return
        self.acts += len(good)
        if setup:
            setup()
        found = self.many([one.act for one in good], opts, **kw)
        texts = [d.get("text", "") for d in self.last.denials(denial)] if denial else []
        for one, r in zip(good, found):
            act, expected = one.act, one.errs or errs
            hit = self.last.limit in limits or (canary and self.tier in FAR)  # see undone()
            if r is None and not hit:
                self.failed.append(f"{self.say(act)}: no answer; {self.last}")
            elif not hit and r.what not in expected and not ("exit" in expected and r.what.startswith("exit")):
                self.failed.append(f"{self.say(act)}: {r} {r.out.strip()[-80:]}; expected one of {', '.join(sorted(expected))}")
            if denial and not any(os.path.basename(str(act[-1])) in text for text in texts):
                self.failed.append(f"{self.say(act)}: refused, but the result has no {denial} denial: {texts}")
        if canary:
            canary()

    def some(self, n):
        """How often to do what is done again and again: less often where one start takes long."""
        return max(1, n // (15 if self.tier in VMS else 5 if self.tier in CONTAINERS else 1))

    def tries(self, n):
        """How often to try a race that needs no start for each try. Behind every other wall it is the same check of ours."""
        return n if self.tier == "native" else n // 4

    def pick(self, things, n):
        """Of several ways to the same thing, each with a start of its own, the first `n` where a start takes seconds."""
        return things[:n] if self.tier in VMS else things

    def undone(self, r, canary):
        """Behind another kernel, changes are made to a copy; what may not be is refused when they are brought back, or is
        nothing that could be brought back. The canary tells."""
        return self.tier in FAR and r.what == "ok" and (canary or r.denials("fs.protect") or r.denials("fs.write"))

    def works(self, act, opts=(), **kw):
        """What must go on working inside."""
        if self.suite.outside_only:
            return None
        r = self.bawn(act, opts, **kw)
        if r.what != "ok":
            raise Fail(f"{self.say(act)} should work: {r}")
        return r

    def say(self, act):
        text = act if isinstance(act, str) else " ".join(str(a) for a in act)
        return text.replace(self.base, "").replace("\n", "; ")[:120]

    def outside_ok(self):
        """For cases that do not go through attack(): the act worked outside."""
        self.acts += 1
        if self.suite.outside_only:
            raise OutsideOnly()

    def skip_act(self, why):
        self.skipped.append(why)

    def internet(self):
        """From here on everything of this case runs on the test's own internet."""
        self.world = self.world or self.suite.internet()
        return self.world

    # host-side helpers -------------------------------------------------------------------------------------
    def helper(self, act, ready="ready"):
        """A process of the host, of this identity, that has said `ready`."""
        p = self.popen(self.cmd(act))
        line = b""
        while ready is not None and ready.encode() not in line:
            line = p.stdout.readline()
            if not line:
                raise Skip(f"helper '{self.say(act)}' ended: {p.stderr.read().decode()[:100]}")
        p.first = line.decode().strip()
        return p

    def victim(self):
        """A process with a canary in its memory: (popen, pid, address)."""
        p = self.popen(self.cmd(["victim", 600]))  # ended by close()
        pid, addr = p.stdout.readline().split()
        return p, int(pid), addr.decode()

    def listen(self, family, kind, address, answer=b"host\n", fd=None):
        """A listener of the host; the list that is returned grows with what it was sent."""
        s = socket.socket(family, kind)
        s.bind(address)
        if kind == socket.SOCK_STREAM:
            s.listen(8)
        if family == socket.AF_UNIX and isinstance(address, str) and address[0] != "\0":
            self.own(address)
            os.chmod(address, 0o777)
        s.settimeout(1800)  # close() ends it
        got = []
        self.socks.append(s)

        def answer_one(c):
            with c:
                try:
                    c.settimeout(5)
                    if fd is not None:
                        socket.send_fds(c, [b"x"], [fd])
                    got.append(c.recv(100))
                    c.sendall(answer)
                except OSError:
                    pass

        def serve():
            try:
                while True:
                    if kind != socket.SOCK_STREAM:
                        got.append(s.recv(100))
                        continue
                    answer_one(s.accept()[0])
            except (OSError, ValueError):
                pass

        threading.Thread(target=serve, daemon=True).start()
        return s, got

    def marked(self, marker):
        """Process ids whose command line holds `marker`."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if marker.encode() in f.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    @staticmethod
    def end(pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    @staticmethod
    def tidies(pid):
        try:
            with open(f"/proc/{pid}/comm") as f:
                return f.read().strip() in ("bawn-keeper", "bawn-janitor")
        except OSError:
            return False

    def no_survivor(self, marker, wait=30):
        end = time.monotonic() + wait
        while (left := self.marked(marker)) and time.monotonic() < end:
            time.sleep(0.05)
        self.end(left)
        if left:
            raise Fail(f"{len(left)} processes are left over")

    def close(self):
        for s in self.socks:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
        for p in self.procs:
            if p.poll() is None:
                p.kill()
                p.wait()
            for f in (p.stdin, p.stdout, p.stderr):
                if f:
                    f.close()
        # what tidies up behind a bawn that was killed has its command line
        end = time.monotonic() + 15
        while (left := self.marked(self.base + "/")) and any(self.tidies(p) for p in left) and time.monotonic() < end:
            time.sleep(0.02)
        self.end(left)
        for path in self.extra:
            self.gone(path)
        for key in self.keys:
            clean_ipc(key)
        if self.world:
            self.suite.leave(self.world)
            self.world = None
