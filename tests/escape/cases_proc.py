# SPDX-License-Identifier: Apache-2.0
"""Rows 26 to 38: other processes, terminals, survivors, limits."""

import glob
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import time

from lib import CALL, FAR, PATH, SLOW, TASK, Fail, Skip, case, fails_outside


@case(26, "trace or write another process", "proc")
def _(t):
    for act in ("attach", "seize"):
        _, pid, _a = t.victim()
        t.attack([act, pid], errs=TASK)
    for act in ("vmread", "vmwrite"):
        def fresh():
            t.now = t.victim()
        fresh()
        p, pid, addr = t.now
        t.attack([act, pid, addr], errs=TASK, outside=[act, *t.victim()[1:]], canary=lambda: still(p))


def own_pids():
    """Shell text: are process numbers the sandbox's own?"""
    return f'[ "$(readlink /proc/self/ns/pid)" != "{os.readlink("/proc/self/ns/pid")}" ]'


def still(p):
    time.sleep(0.3)
    if p.poll() is not None:
        raise Fail("the process outside was changed or ended")


@case(26, "trace or write the sandbox's own supervisor", "proc")
def _(t):
    for act in ("attach parent", "seize parent", "vmread parent 0x400000", "pidfd-getfd parent 0"):
        # Behind a shell of its own, so that the parent is never the suite itself.
        t.attack(f"$P {act}; exit $?", errs=TASK, outside=["attach", t.victim()[1]])
    for act in ("attach 1", "seize 1", "vmread 1 0x400000"):
        # Process 1 only if it is the sandbox's: a wall that is missing must not cost the host its init.
        t.attack(f"{own_pids()} || exit 9; $P {act}; exit $?", errs=TASK | {"exit"}, outside=["attach", t.victim()[1]])


@case(27, "memory and environment of others in /proc", "proc")
def _(t):
    p = t.popen(t.cmd(["sleep", 60]), env=t.env(CANARY="outside-secret"))
    # Without a pid namespace other processes can be listed, with their names and arguments: SECURITY.md says so.
    listed = ("cmdline",) if t.tier == "native" else ()
    t.attacks([["openw" if what == "mem" else "open", f"/proc/{p.pid}/{what}"] for what in ("environ", "mem", "maps") + listed],
              errs=TASK)
    if t.suite.outside_only:
        return
    env = t.env(CANARY="outside-secret")
    acts = ["cat /proc/*/environ /proc/*/cmdline; true"]
    acts += [f"$P openw /proc/{pid}/{f}" for pid in (1, "$PPID") for f in ("mem", "root/etc/passwd")]
    found = t.many(acts, env=env) if t.tier in SLOW else [t.bawn(a, env=env) for a in acts]
    if "outside-secret" in (t.last.out if t.tier in SLOW else found[0].out):
        raise Fail("the caller's environment can be read inside")
    for act, r in zip(acts[1:], found[1:]):
        if r is None or r.what == "ok":
            raise Fail(f"{act}: the supervisor's can be opened for writing: {r}")


@case(28, "take a descriptor of another process", "proc")
def _(t):
    _, pid, _a = t.victim()
    t.attack(["pidfd-getfd", pid, 1], errs=TASK)
    t.attack("$P pidfd-getfd $PPID 1; exit $?", errs=TASK, outside=["pidfd-getfd", pid, 1])
    t.attack(["pidfd-getfd", 1, 0], errs=TASK, outside=["pidfd-getfd", pid, 1])


@case(29, "signal processes outside", "proc")
def _(t):
    hit = t.out + "/hit"
    # SIGURG: ignored by whoever does not ask for it, so that even a sandbox without walls does no harm.
    sig = int(signal.SIGURG)
    p = t.helper(f"trap 'echo x >> {hit}' URG; echo ready; i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done")
    todo = []
    for act in (["kill", p.pid, sig], ["tgkill", p.pid, sig], ["sigqueue", p.pid, sig], ["pidfd-signal", p.pid, sig],
                ["sigio", p.pid, sig], ["kill", -1, sig], ["kill", -p.pid, sig]):
        t.gone(hit)
        if act[1] != -1:
            t.host(act)
            if not arrives(hit):
                t.skip_act(f"{t.say(act)}: no signal arrives outside either")
                continue
        t.acts += 1
        # To all, as root, only if that cannot be the whole host.
        broad = act[1] == -1 and t.identity == "root"
        todo.append(f"{own_pids()} || exit 9; $P kill -1 {sig}" if broad else act)
    for acts in [] if t.suite.outside_only else [todo] if t.tier in SLOW else [[a] for a in todo]:
        t.gone(hit)
        t.many(acts)
        time.sleep(0.3)
        if os.path.exists(hit):
            raise Fail(f"{'; '.join(t.say(a) for a in acts)}: the signal came through")


def arrives(path):
    end = time.monotonic() + 20
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.02)
    return os.path.exists(path)


@case(29, "stop or kill the supervisor", "proc")
def _(t):
    p, pid, _a = t.victim()
    if t.host(["kill", pid, 19]).what != "ok":
        raise Skip("cannot stop a process outside: needs a host that lets a user signal its own")
    p.kill()
    t.outside_ok()
    for sig, who in t.pick(((9, "1"), (15, "$PPID"), (9, "$PPID"), (19, "$PPID"), (19, "1")), 2):
        guard = f"{own_pids()} || exit 7;" if who == "1" else ""
        opts = ["--timeout", "3s"] if t.tier == "gvisor" else []
        argv, _r = t.bawn_argv(f"{guard} $P kill {who} {sig}; sleep 0.2; exit 7", opts)
        # A shell between: the parent inside a sandbox without walls is then that shell and not the suite.
        r = t.finish(t.popen(["/bin/sh", "-c", '"$@"; exit $?', "sh", *argv]), 30)
        # who stops or kills its own init behind gVisor's kernel ends its own run, which says so
        if r.code != 7 and not (t.tier == "gvisor" and r.code in (124, 125) and r.err.strip()):
            raise Fail(f"signal {sig} to {who}: the run ended with {r}")


def on_terminal(t, argv):
    """Run with a terminal as standard input and controlling terminal."""
    master, slave = pty.openpty()
    if os.geteuid() == 0:
        os.fchown(slave, t.uid, t.gid)
    try:
        return t.finish(t.popen(["setsid", "-c", "-w", *argv], stdin=slave), 30)
    finally:
        os.close(slave)
        os.close(master)


@case(30, "push input into the caller's terminal", "syscalls")
def _(t):
    if not shutil.which("setsid"):
        raise Skip("setsid is not installed (apt-get install util-linux)")
    for act in (["tiocsti"], ["tiocsti-wide"], ["tioclinux"]):
        r = on_terminal(t, t.cmd(act))
        if r.what != "ok":
            t.skip_act(f"{act[0]}: {fails_outside(r.what)}")
            continue
        t.acts += 1
        if t.suite.outside_only:
            continue
        for opts in ([],) if t.tier in FAR else ([], ["--pty"]):  # refused there
            r = on_terminal(t, t.bawn_argv(act, opts)[0])
            if not any(f"errno {e}" in r.out for e in ("EPERM", "EACCES", "ENOTTY", "ENOSYS")) and r.what != "killed":
                raise Fail(f"{act[0]} {opts}: {r} {r.out!r}")


@case(30, "no controlling terminal of the caller", "proc")
def _(t):
    if not shutil.which("setsid") or on_terminal(t, t.cmd(["tty"])).what != "ok":
        raise Skip("/dev/tty cannot be opened outside: needs a /dev with tty and ptmx")
    t.outside_ok()
    r = on_terminal(t, t.bawn_argv(["tty"])[0])
    if r.what not in {"ENXIO", "ENOENT", "EACCES", "EPERM", "ENODEV", *(["EIO"] if t.tier == "gvisor" else [])}:
        raise Fail(f"/dev/tty: {r}")
    if terminal(on_terminal(t, t.cmd(["read", "/proc/self/stat"]))) == 0:
        raise Skip("/proc does not tell the terminal outside: needs Linux' own /proc")
    if terminal(on_terminal(t, t.bawn_argv(["read", "/proc/self/stat"])[0])) != 0:
        raise Fail("the caller's terminal is the controlling terminal inside")


def terminal(r):
    """The controlling terminal's number in what /proc/self/stat said."""
    return int(r.out.rpartition(")")[2].split()[4])


@case(31, "terminal escapes in output", "secrets")
def _(t):
    raise Skip("filtering of output is not claimed yet")


def marker(t):
    return "mark-" + os.path.basename(t.suite.base) + os.path.basename(t.base)


@case(32, "double fork, own session, deaf to signals", "proc")
def _(t):
    m = marker(t)
    t.host(["survive", 60, m], stdout=-3, stderr=-3)
    found, end = [], time.monotonic() + 60
    while not found and time.monotonic() < end:  # it may be between two forks
        time.sleep(0.1)
        found = t.marked(m)
    if not found:
        raise Skip("nothing survives outside: needs a host whose processes may outlive their parents")
    t.end(found)
    t.outside_ok()
    m = "in-" + m[::-1]  # what started late outside is not ours to find
    r = t.bawn(["survive", 60, m], timeout=30)
    t.no_survivor(m)
    if r.code:
        raise Fail(f"the run itself: {r}")
    t.bawn(f"trap '' HUP TERM INT; (setsid $P sleep 60 {m} &) ; (nohup $P sleep 60 {m} >/dev/null 2>&1 &); exit 0", timeout=30)
    t.no_survivor(m)


@case(33, "a survivor holds standard output", "proc")
def _(t):
    m = marker(t)
    if t.host("sleep 1 & exit 3").seconds < 0.9:
        raise Skip("a held pipe does not delay the caller outside: needs a usual shell")
    t.acts += 1
    if t.suite.outside_only:
        return
    for act in t.pick((f"$P survive 60 {m}; exit 3", f"$P sleep 60 {m} & exit 3", f"(trap '' TERM; sleep 60; : {m}) & exit 3"), 1):
        r = t.bawn(act, timeout=30)
        if r.code != 3:
            raise Fail(f"{t.say(act)}: {r}; expected status 3")
        t.no_survivor(m)


def leftovers(t):
    """What runs of bawn leave on this host until they end, other than those that are under way."""
    with open("/proc/self/mountinfo") as f:
        mounts = {line.split(" ", 4)[4].split(" - ")[0] for line in f}
    groups = {d for d in glob.glob("/sys/fs/cgroup/**/bawn-*", recursive=True) if os.path.isdir(d)}
    files = set()
    for where in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/user/%d" % t.uid, t.base + "/run", t.ws, t.home, t.out):
        if os.path.isdir(where):
            names = os.listdir(where)
            mine = where.startswith(t.base)
            # other tests' directories have a word behind the first
            files |= {f"{where}/{n}" for n in names if mine or ("bawn" in n and not re.match(r"bawn-[a-z][a-z0-9]{1,15}\b", n))}
    ours = {p.pid for p in t.procs}
    made, others = containers(t)
    return ({m for m in mounts if not others(m)}, *[{p for p in paths if not elsewhere(p, ours)} for paths in (groups, files)], made)


def elsewhere(path, ours):
    """Is it named after a process that is alive, and not one of ours? Others run bawn meanwhile."""
    m = re.match(r"bawn-(\d+)-", os.path.basename(path))
    return m and int(m[1]) not in ours and os.path.exists(f"/proc/{m[1]}")


ENGINES = re.compile(r"/docker/(data|exec)\b|/containers/|/netns/")


def containers(t):
    """What the engine has, dead or alive, of runs that this case began, and what tells the mounts of other containers."""
    if t.tier not in ("docker", "podman"):
        return set(), ENGINES.search

    def ask(*words):
        return subprocess.run([t.tier, *words], env=t.env(), capture_output=True, text=True, timeout=120, **t.ident()).stdout
    ids = ask("ps", "-aq", "--no-trunc").split()
    ours, made, known = tuple(f"bawn-{p.pid}-" for p in t.procs), set(), []
    for c in json.loads(ask("inspect", "--type", "container", *ids) or "[]") if ids else []:
        if c["Name"].lstrip("/").startswith(ours):
            made.add(c["Name"])
        else:
            known += [c["Id"], ((c.get("GraphDriver") or {}).get("Data") or {}).get("MergedDir"), (c.get("NetworkSettings") or {}).get("SandboxKey")]
    own = (os.path.dirname(t.env().get("DOCKER_HOST", "")[len("unix://"):]),) if t.tier == "docker" else ("/containers/", "/run/netns/")
    # podman's whole storage is a mount of its own from its first use on, whoever's that is
    return made, lambda m: (any(k in m for k in known if k) or m.split()[0].endswith("/containers/storage/overlay")
                            or (ENGINES.search(m) and not any(o in m for o in own)))


@case(34, "bawn killed at any instant leaves nothing", "proc", slow=True)
def _(t):
    m = marker(t)
    t.file(t.ws + "/.git/config")
    p = t.popen(t.cmd(f"$P sleep 60 {m} & echo ready; wait"))
    p.stdout.readline()
    p.kill()
    if len(t.marked(m)) == 0:
        raise Skip("children of a killed process die outside as well: run it where nothing reaps them")
    t.end(t.marked(m))
    t.acts += 1
    if t.suite.outside_only:
        return
    before = leftovers(t)
    rng = random.Random(34)
    full = 2 * t.suite.took.get((t.identity, t.tier), 0)  # a start, and as long again
    for i in range(t.some(30)):
        argv, _r = t.bawn_argv(["sleep", 60, m], ["--memory", "256m", "--pids", "64"])
        p = t.popen(argv)
        time.sleep(rng.uniform(0, full) if i % 3 else rng.uniform(0, full / 6))
        p.kill()
        p.wait()
    t.no_survivor(m)
    # left is what is seen every time one looks; what others do comes and goes
    left, end = [now - was for now, was in zip(leftovers(t), before)], time.monotonic() + 60
    while any(left) and time.monotonic() < end:
        time.sleep(0.2)
        left = [was & now for was, now in zip(left, leftovers(t))]
    for what, more in zip(("mounts", "cgroups", "files", "containers"), left):
        if more:
            raise Fail(f"{what} left over: {sorted(more)[:5]}")


@case(35, "too many processes and threads", "limit.processes", alone="processes")
def _(t):
    # alone: where there is no namespace, all that the user has running counts
    t.attacks([["forks", 400], ["threads", 400]], errs={"EAGAIN", "ENOMEM", "killed"}, limits=("processes",), opts=["--pids", 64])
    t.attack("i=0; while [ $i -lt 300 ]; do sleep 10 & i=$((i+1)); done; echo made", errs={"exit", "killed"},
             limits=("processes",), opts=["--pids", 64, "--timeout", "8s"],
             outside="true")
    if not t.suite.outside_only:
        r = t.bawn(["forks", 20], ["--pids", 64])
        if r.what != "ok":
            raise Fail(f"20 processes of 64 should be possible: {r}")


@case(35, "too many descriptors", "limit.files")
def _(t):
    t.attacks([["fds", kind, 100 if kind == "inotify" else 600] for kind in ("null", "epoll", "timer", "inotify")],
              errs={"EMFILE", "ENFILE"}, limits=("files",), opts=["--files", 64])


UNCOUNTED = {"gvisor": "files in memory that are not mapped (memfd) are not counted there: SECURITY.md"}


@case(36, "too much memory, one process or many", "limit.memory", alone="memory")
def _(t):
    errs = {"ENOMEM", "EAGAIN", "ENOSPC", "EPERM", "killed"}
    for act, n in t.pick((("memory-tree", 16), ("memfd", 256), ("memory", 256), ("shm-fill", 256), ("mlock", 128)), 2):
        r = t.attack([act, n], errs=errs, limits=("memory", "disk"), opts=["--memory", "64m"], known=UNCOUNTED if act == "memfd" else None)
        if r and r.what == "killed" and act.startswith("memory") and r.limit != "memory":
            raise Fail(f"{act}: killed, but the result names the limit '{r.limit}'")
    t.attack(["fill", f"/dev/shm/fill-{os.path.basename(t.suite.base)}", 256], errs=errs | {"ENOENT", "EACCES"}, limits=("memory", "disk"),
             opts=["--memory", "64m", "--disk", "64m"], outside=["fill", t.out + "/fill", 64])
    t.works(["memory", 16], opts=["--memory", "64m"])


@case(37, "burning or sleeping past the time limit", "limit.time", slow=True)
def _(t):
    m = marker(t)
    if t.host(["burn", 1]).what != "ok":
        raise Skip("there is a time limit outside as well: ulimit -t unlimited")
    t.acts += 1
    if t.suite.outside_only:
        return
    for act in t.pick((f"$P survive 60 {m}; $P sleep 60 {m}", f"trap '' TERM XCPU ALRM; while :; do :; done; : {m}",
                       f"$P burn 60 {m}", f"$P sleep 60 {m}", "kill -STOP $$"), 2):
        r = t.bawn(act, ["--timeout", "1s"], timeout=30)
        if r.code != 124 or r.limit != "time":
            raise Fail(f"{t.say(act)}: {r}; expected status 124 and limit time")
        t.no_survivor(m)


@case(38, "endless output, with and without lines", "limit.output")
def _(t):
    for lines in t.pick((0, 1), 1):
        t.acts += 1
        if t.suite.outside_only:
            if len(t.host(["spew", 8192, lines]).out) < 8 << 20:
                raise Skip("the output is cut outside as well: needs room for 8 MB")
            continue
        r = t.bawn(["spew", 65536, lines], ["--output-limit", "1m"])
        if r.limit != "output" or r.code != 137:
            raise Fail(f"{r}; expected status 137 and limit output")
        if len(r.out) > 1 << 20:
            raise Fail(f"{len(r.out)} bytes came through a limit of 1 MiB")
    t.works(["spew", 512, 1], opts=["--output-limit", "1m"])
