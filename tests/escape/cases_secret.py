# SPDX-License-Identifier: Apache-2.0
"""
Row 80: the value of a secret is nowhere that the command could look, and what it knows of one does not get out unseen. The
same search finds it outside, where the value is in a variable as usual.
"""

import base64
import json
import os
import subprocess
import time

from lib import SLOW, Fail, Skip, answers, case, told

VALUE = "zq7Kx-93fWmT_vR2pLd8sYc4"
HOST = "good.example.org"
NET = ["--net", "allowlist", "--allow-host", "*.example.org"]

# Looks everywhere for what it is given reversed, so that the search does not find itself.
SEARCH = r"""
import glob, os, resource, signal, subprocess, sys
needle = sys.argv[1][::-1].encode()
found = set()
def look(path, data):
    if needle in data:
        found.add(path)
def read(path, n=4 << 20):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(fd, n)
    except OSError:
        return b""
    finally:
        os.close(fd)
def memory(pid):
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            for line in maps:
                a, b = (int(x, 16) for x in line.split()[0].split("-"))
                if " rw" in line and b - a < 64 << 20:
                    try:
                        mem.seek(a)
                        look(f"/proc/{pid}/mem", mem.read(b - a))
                    except (OSError, OverflowError):
                        pass
    except OSError:
        pass
for name, value in os.environb.items():
    look("environment " + name.decode(), value)
for pid in filter(str.isdigit, os.listdir("/proc")):
    for what in ("environ", "cmdline"):
        look(f"/proc/{pid}/{what}", read(f"/proc/{pid}/{what}"))
    if int(pid) not in (os.getpid(), os.getppid()) and "QUICK" not in os.environ:
        memory(pid)
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2) if resource.getrlimit(resource.RLIMIT_CORE)[1] == resource.RLIM_INFINITY else None
subprocess.run(["sh", "-c", "kill -SEGV $$"])
for top in sys.argv[2:]:
    for base, dirs, files in os.walk(top):
        for f in files:
            look(os.path.join(base, f), read(os.path.join(base, f)))
print("found", len(found), sorted(found)[:5], flush=True)
"""


def vault(t, *more, value=VALUE):
    """A vault of this case's identity with TOKEN in it; the options that open it."""
    key = ["--key-file", t.base + "/vault-key"]
    for argv, text in ((["init", "-q"], ""), (["set", "-q", "TOKEN", "--host", HOST, "--access", "always", *more], value)):
        p = t.popen([t.suite.bawn, "secret", *argv, *key], stdin=subprocess.PIPE)
        out, err = p.communicate(text.encode(), timeout=60)
        if p.returncode:
            raise Fail(f"bawn secret {argv[0]}: {err.decode()}")
    return [*key, "--secret", "TOKEN"]


def forms(value):
    """As it is, and as it may lie in a file."""
    raw = value.encode()
    return [raw, base64.b64encode(raw)[:-4], raw.hex().encode()]


def nowhere(t, *tops):
    for top in tops:
        for base, _, files in os.walk(top):
            for f in files:
                path = os.path.join(base, f)
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                try:
                    with open(path, "rb") as g:
                        data = g.read()
                except FileNotFoundError:  # what a run leaves is removed about now
                    continue
                for form in forms(VALUE):
                    if form in data:
                        t.failed.append(f"'{path.replace(t.base, '')}' holds the value")


def children(pid):
    out = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
            if int(rest.split()[1]) == pid:
                out.append((int(p), name))
        except OSError:
            pass
    return out


def tree(pid):
    todo, out = [(pid, "bawn")], []
    while todo:
        one = todo.pop()
        out.append(one)
        todo += children(one[0])
    return out


def carriers(placeholder):
    """Whoever has it in its environment: the command, also where an engine and not bawn is its parent."""
    out = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/environ", "rb") as f, open(f"/proc/{p}/comm") as name:
                if placeholder.encode() in f.read():
                    out.append((int(p), name.read().strip()))
        except OSError:
            pass
    return out


def in_memory(pid):
    """Only root can look. Nothing is in a process that has ended meanwhile."""
    found = False
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            for line in maps:
                a, b = (int(x, 16) for x in line.split()[0].split("-"))
                if " rw" in line and b - a < 256 << 20:
                    try:
                        mem.seek(a)
                        found |= VALUE.encode() in mem.read(b - a)
                    except (OSError, OverflowError):
                        pass
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def ids(path):
    """(owner, inode), or nothing where the process has ended."""
    try:
        st = os.stat(path)
        return st.st_uid, st.st_ino
    except OSError:
        return None


def inspect_tree(t, pid, placeholder):
    """What the host can see of the processes of a run. The door must have the value, or the search is worth nothing."""
    seen = list(dict(tree(pid) + carriers(placeholder)).items())
    for p, name in seen:
        for what in ("cmdline", "environ"):
            try:
                with open(f"/proc/{p}/{what}", "rb") as f:
                    if VALUE.encode() in f.read():
                        t.failed.append(f"/proc/<{name}>/{what} holds the value")
            except OSError:
                pass
    doors = [p for p, name in seen if name.startswith("bawn-egress")]
    if not doors:
        raise Fail(f"no door among {seen}")
    if any((ids(f"/proc/{p}/fd") or (0,))[0] for p in doors):
        t.failed.append("the door can be dumped")
    if os.geteuid():
        t.skip_act("memory of other processes: only root can look")
        return
    if not any(in_memory(p) for p in doors):
        raise Fail("the search does not even find it in the door")
    ours = ids(f"/proc/{pid}/ns/pid")
    inside = [(p, n) for p, n in seen if ids(f"/proc/{p}/ns/pid") not in (ours, None)]
    if not inside:
        raise Fail(f"no sandboxed processes among {seen}")
    for p, name in inside:
        if in_memory(p):
            t.failed.append(f"the memory of '{name}' inside holds the value")


@case(80, "a secret is not inside", "net.egress", tiers=("native",), slow=True)
def _(t):
    t.internet()
    search = t.file(t.base + "/bin/search.py", SEARCH)
    act = f"/usr/bin/python3 {search} {VALUE[::-1]} {t.ws} /tmp /run /dev/shm /etc/ssl $HOME"
    r = t.host(f"TOKEN={VALUE} QUICK=1; export TOKEN QUICK; {act.split(' /tmp')[0]}")
    if "found 0" in r.out or "found" not in r.out:
        raise Skip(f"the search finds nothing outside as well: {r}")
    t.outside_ok()
    opts = [*NET, *vault(t)]
    argv, _ = t.bawn_argv(f"echo $TOKEN; {act}; exec sleep 300", opts)
    p = t.popen(argv)
    first = p.stdout.readline().decode()
    line = p.stdout.readline().decode()
    try:
        if not first.startswith("bawn-secret-token-"):
            raise Fail(f"no placeholder inside: {first!r} {p.stderr.read(300) if p.poll() is not None else ''}")
        if not line.startswith("found 0 "):
            t.failed.append(f"inside it is {line.strip()}")
        bawn = p.pid
        end = time.monotonic() + 60
        while not any(n.startswith("bawn-egress") for _, n in tree(bawn)) and time.monotonic() < end:
            time.sleep(0.05)
        inspect_tree(t, bawn, first.strip())
    finally:
        p.terminate()
        p.wait()
    nowhere(t, t.base + "/state", t.base + "/results", t.ws, t.home, t.base + "/cache", t.base + "/run")
    log = t.base + "/state/bawn/audit.jsonl"
    with open(log) as f:
        records = [json.loads(x) for x in f]
    if not any(x["event"] == "secret" and x["action"] == "use" and x["name"] == "TOKEN" for x in records):
        raise Fail("the use of the secret is not in the audit log")


ENCODED = {
    "as it is": "cat",
    "base64": "base64",
    "base64 of more": "sed 's/^/xy/' | base64",
    "hex": "od -An -tx1",
    "hex without blanks": "od -An -v -tx1 | tr -d ' \\n'",
    "url-encoded": "sed 's/_/%5F/g; s/-/%2d/g'",
    "all url-encoded": "od -An -v -tx1 | tr -d '\\n' | sed 's/ /%/g'",
    "reversed": "rev",
    "split into lines": "fold -w 5",
    "split by blanks": "sed 's/./& /g'",
    "split over two writes": "sh -c 'head -c 9; sleep 0.3; cat'",
    "reversed and base64": "rev | base64",
    "in the middle of much": "sed 's/^/'$(printf 'a%.0s' $(seq 3000))'/'",
}


@case(80, "what is known of a secret does not get out unseen", "env", slow=True)
def _(t):
    policy = ["--policy", t.file(t.base + "/inside.yaml", "secrets: {injection: environment}\n")]
    todo = []
    for title, how in ENCODED.items():
        act = f"printf %s $TOKEN | {how}"
        r = t.host(f"TOKEN={VALUE}; {act}")
        if r.code or not r.out.strip():
            t.skip_act(f"{title}: does not work outside ({r})")
            continue
        t.acts += 1
        todo.append((title, act, r.out.strip()))
    if t.suite.outside_only:
        return
    opts = [*policy, *vault(t)]
    for stream in ("stdout", "stderr"):
        for those in [todo] if t.tier in SLOW else [[x] for x in todo]:
            unseen(t, those, stream, opts)
    nowhere(t, t.base + "/state", t.base + "/results")


def unseen(t, todo, stream, opts):
    """Each of the acts, in one start: what it prints must be found, and must not come out."""
    lines = "\n".join(told(n, t.cmd(act), t.ws) for n, (_, act, _) in enumerate(todo))
    r = t.bawn("{\n" + lines + "\n}" + (" >&2" if stream == "stderr" else ""), opts, timeout=60 + 5 * len(todo))
    found = sum(f["count"] for f in r.json.get("output_findings") or [] if f["stream"] == stream)
    if found < len(todo):
        t.failed.append(f"{stream}: {found} findings of {len(todo)}, {', '.join(title for title, _, _ in todo)}: {r}")
    said = answers(r.err if stream == "stderr" else r.out)[0]
    for n, (title, _, text) in enumerate(todo):
        if n not in said or "[redacted:" not in said[n].out:
            t.failed.append(f"{title}, {stream}: nothing was taken out: {said.get(n) and said[n].out[:80]!r}")
        if text in (r.err if stream == "stderr" else r.out):
            t.failed.append(f"{title}, {stream}: it was printed")
