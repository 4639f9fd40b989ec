# SPDX-License-Identifier: Apache-2.0
"""Rows 91, 92, 95 to 97 and 100: policy layers, audit log, refusals, two runs at once, clocks."""

import json
import os
import re
import shutil
import time

from lib import CALL, SLOW, Fail, One, case


def ran(t):
    return os.path.exists(t.ws + "/ran")


def refused(t, what, opts=(), **kw):
    """`what` must end with 125 and nothing of the command may have run."""
    t.gone(t.ws + "/ran")
    r = t.bawn(["create", t.ws + "/ran"], opts, refused=True, **kw)
    if r.code != 125 or ran(t):
        t.failed.append(f"{what}: {r}{', and the command ran' if ran(t) else ''}; expected status 125")
    elif not r.err.strip():
        t.failed.append(f"{what}: refused without a reason")


@case(91, "a repository's policy that widens is refused", "fs.write")
def _(t):
    t.outside_ok()
    own = t.ws + "/.bawn.yaml"
    for text in (f"filesystem:\n  write: [\"{t.out}\"]\n", f"filesystem:\n  read: [\"{t.out}\"]\n",
                 "limits:\n  memory: 64g\n", "limits:\n  time: unlimited\n", "filesystem:\n  unprotect: [.claude]\n",
                 "network:\n  loopback_ports: [22]\n", "syscalls:\n  allow: [bpf]\n", "backend: noop\n", "level: none\n",
                 "environment:\n  pass: [\"*\"]\n", "allow_missing: [net.none]\n", "devices: [/dev/null]\n",
                 f"audit:\n  path: {t.ws}/log\n", "no_such_key: 1\n", "limits: [\n"):
        t.file(own, text)
        refused(t, repr(text))
    t.file(own, "limits:\n  processes: 100\n")
    t.works(["create", t.ws + "/ran"])


@case(91, "--policy that does not exist or is broken is refused", "fs.write")
def _(t):
    t.outside_ok()
    refused(t, "missing file", ["--policy", t.base + "/no-such.yaml"])
    for text in ("filesystem: 7\n", "{[\n", "unknown: true\n", "limits:\n  memory: lots\n"):
        refused(t, repr(text), ["--policy", t.file(t.base + "/p.yaml", text)])


@case(92, "the policy cannot be edited from inside", "fs.protect")
def _(t):
    own = t.ws + "/.bawn.yaml"
    t.attacks([["write", own], ["trunc", own], ["rename", own, t.ws + "/x"], ["unlink", own]],
              setup=lambda: t.file(own, "limits:\n  processes: 100\n"), canary=lambda: t.same(own, "limits:\n  processes: 100\n"))
    users = t.base + "/config/bawn/policy.yaml"
    t.attacks([["create", own], One(["create", users], outside="true")], setup=lambda: t.gone(own),
              canary=lambda: t.absent(own, users))


@case(92, "bawn inside bawn cannot widen", "fs.write")
def _(t):
    pwn = t.out + "/pwn"
    t.outside_ok()
    inner = t.base + "/bin/bawn"
    t.copy(t.suite.bawn, inner)
    acts = [f"{inner} run {opts} -- $P create {pwn}; $P create {pwn}; true" for opts in
            (f"--rw {t.out}", f"--workspace {t.out}", "--backend noop", f"--backend noop --rw {t.out}",
             f"--backend landlock --rw {t.out}")]
    for some in [acts] if t.tier in SLOW else [[a] for a in acts]:
        t.many(some)
        t.absent(pwn)


@case(95, "a log that was changed does not verify", "fs.write")
def _(t):
    t.outside_ok()
    for i in range(4):
        t.bawn(f"exit {i}")
    t.bawn(("./no-such\n{\"forged\":1}",), refused=True)
    state = t.base + "/state/bawn"
    if not os.path.exists(state + "/audit.jsonl"):
        raise Fail("no audit log was written")
    with open(state + "/audit.jsonl", "rb") as f:
        lines = f.read().splitlines(keepends=True)
    if len(lines) < 5:
        raise Fail(f"{len(lines)} records after five runs")
    if verify(t, t.base + "/state") != 0:
        raise Fail("an untouched log does not verify")
    forged = json.loads(lines[-1])
    forged["seq"] = forged.get("seq", 0) + 1
    changed = {
        "first record deleted": lines[1:],
        "middle record deleted": lines[:2] + lines[3:],
        "last record deleted": lines[:-1],
        "two records swapped": lines[:1] + [lines[2], lines[1]] + lines[3:],
        "record repeated": lines[:2] + [lines[1]] + lines[2:],
        "byte changed": [lines[0], flip(lines[1])] + lines[2:],
        "last byte cut": lines[:-1] + [lines[-1][:-3]],
        "half a record": lines[:-1] + [lines[-1][:len(lines[-1]) // 2]],
        "record forged": lines + [json.dumps(forged).encode() + b"\n"],
        "emptied": [],
    }
    for what, new in changed.items():
        copy = t.base + "/tampered"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(t.base + "/state", copy)
        for top, dirs, files in os.walk(copy):
            for n in [top] + [f"{top}/{x}" for x in files]:
                t.own(n)
        with open(copy + "/bawn/audit.jsonl", "wb") as f:
            f.writelines(new)
        if verify(t, copy) == 0:
            raise Fail(f"{what}: still verifies")


def flip(line):
    at = len(line) // 2
    while not chr(line[at]).isalnum():
        at += 1
    return line[:at] + (b"0" if line[at:at + 1] != b"0" else b"1") + line[at + 1:]


def verify(t, state):
    return t.finish(t.popen([t.suite.bawn, "audit", "verify"], env=t.env(XDG_STATE_HOME=state)), 30).code


@case(95, "a record that cannot be written stops the run", "fs.write")
def _(t):
    t.outside_ok()
    t.file(t.base + "/state/bawn")
    refused(t, "the log's directory is a file")
    t.gone(t.base + "/state/bawn")
    t.dir(t.base + "/state/bawn")
    t.file(t.out + "/elsewhere", "")
    t.link(t.out + "/elsewhere", t.base + "/state/bawn/audit.jsonl")
    refused(t, "the log is a symlink")
    t.same(t.out + "/elsewhere", "")


@case(96, "what cannot be enforced does not run", "fs.write")
def _(t):
    t.outside_ok()
    for b in ("no-such-backend", "seatbelt", "apple-container", "path", "noop"):
        refused(t, f"--backend {b}", ["--backend", b])
    for b, program in (("firecracker", "firecracker"), ("nsjail", "nsjail"), ("docker", "docker"), ("bwrap", "bwrap")):
        if not shutil.which(program):
            refused(t, f"--backend {b}", ["--backend", b])
    vm = t.tier in ("qemu", "firecracker")
    for text in () if vm else ("level: vm\n", "isolation: maximum\n"):
        refused(t, repr(text), ["--policy", t.file(t.base + "/p.yaml", text)])
    for text in ("network:\n  mode: allowlist\n  allow_hosts: ['*.org']\n",):
        refused(t, repr(text), ["--policy", t.file(t.base + "/p.yaml", text)])
    if not vm:
        refused(t, "--level vm", ["--level", "vm"])
    if t.tier == "landlock":
        refused(t, "--net allowlist", ["--net", "allowlist", "--allow-host", "example.org"])
    refused(t, "an unknown option", ["--no-such-option"])
    refused(t, "a path that does not exist", ["--rw", t.base + "/no-such"])


@case(96, "the receipt holds every demanded control", "fs.write")
def _(t):
    t.outside_ok()
    r = t.works("true")
    c = r.json.get("controls") or {}
    lacking = set(c.get("demanded") or []) - set(c.get("enforced") or []) - set(c.get("missing") or [])
    if lacking or not c.get("demanded"):
        raise Fail(f"demanded, not enforced, not named as missing: {sorted(lacking)} of {c}")
    if c.get("missing"):
        raise Fail(f"controls are missing though no policy permits it: {c['missing']}")


@case(97, "two runs at once share nothing", "ipc", "fs.write")
def _(t):
    n = f"two-{os.path.basename(t.suite.base)}-{os.path.basename(t.base)}"
    key = 0x43000000 + (os.getpid() % 4096) * 4096 + int(os.path.basename(t.base))
    t.keys.append(key)
    other = t.base + "/repo2"
    t.dir(other)
    for p in (f"/tmp/{n}", f"/dev/shm/{n}", f"/tmp/{n}.s"):
        t.tidy(p)
    a = (f"echo secret > /tmp/{n}; echo secret > /dev/shm/{n}; echo secret > ~/{n}; $P ipc-make {key} 120 & "
         f"$P listen-unix @{n} 120 & $P listen-unix /tmp/{n}.s 120 & $P listen-tcp 127.0.0.1 45678 120 & "
         f"sleep 1; touch made; echo made; sleep 120")
    t.outside_ok()
    p = t.popen(t.bawn_argv(a)[0])
    said = b"x"
    while said and b"made" not in said:
        said = p.stdout.readline()
    if not said:
        raise Fail(f"the first run ended: {p.stderr.read().decode()[:200]}")
    acts = (["read", f"/tmp/{n}"], ["read", f"/dev/shm/{n}"], ["read", f"{t.home}/{n}"], ["shm", key], ["msg", key],
            ["sem", key], ["mq", f"/bawn-escape-{key}"], ["connect-unix", "@" + n], ["connect-unix", f"/tmp/{n}.s"],
            ["tcp", "127.0.0.1", 45678], ["read", t.ws + "/made"])
    script = "".join(f"$P {' '.join(str(w) for w in act)} >/dev/null 2>&1 && echo WORKS {i}; " for i, act in enumerate(acts))
    r = t.bawn(script + "echo tried; cat /proc/[0-9]*/cmdline; exit 0", ["--workspace", other], workspace=False, cwd=other,
               timeout=90)
    if "tried" not in r.out:
        raise Fail(f"the second run did not get far: {r}")
    for i in re.findall(r"^WORKS (\d+)$", r.out, re.M):
        raise Fail(f"{t.say(acts[int(i)])} of the first run works in the second")
    # without a pid namespace processes can be listed: SECURITY.md says so
    if "sleep\x00120" in r.out and t.tier != "landlock":
        raise Fail("the second run sees processes of the first")
    p.terminate()
    try:
        p.wait(60)
    except Exception:
        raise Fail("the first run does not end on SIGTERM")
    t.absent(f"/tmp/{n}", f"/dev/shm/{n}", f"/tmp/{n}.s")


@case(100, "setting the clock", "syscalls")
def _(t):
    t.attack(["sys", "clock_settime"], errs=CALL)
    t.attack(["sys", "settimeofday"], errs=CALL)


@case(100, "huge time limits are no time limits of zero", "limit.time")
def _(t):
    t.outside_ok()
    for v in t.pick(("9223372036854775807ms", "18446744073709551616s", "18446744073709551615ms", "99999999999999999999h",
                     "5124095576030431h", "584942418y"), 2):
        r = t.bawn("exit 0", ["--timeout", v], refused=True, timeout=20)
        if r.code not in (0, 125):
            raise Fail(f"--timeout {v}: {r}")
    for v in ("-1", "-5s", "1e3s", "", "0x10s", "5 s x"):
        t.gone(t.ws + "/ran")
        r = t.bawn(["create", t.ws + "/ran"], ["--timeout", v], refused=True, timeout=20)
        if r.code != 125 or ran(t):
            raise Fail(f"--timeout '{v}': {r}; expected status 125")


@case(100, "tricks with time inside do not extend the limit", "limit.time")
def _(t):
    t.outside_ok()
    start = time.monotonic()
    env = t.env(FAKETIME="-10d", LD_PRELOAD="", FAKETIME_DONT_FAKE_MONOTONIC="0")
    r = t.bawn("trap '' ALRM VTALRM PROF TERM; kill -STOP $$; while :; do sleep 1; done", ["--timeout", "1s"], env=env,
               timeout=30)
    if r.code != 124 or r.limit != "time":
        raise Fail(f"{r} after {time.monotonic() - start:.0f} s; expected status 124")
