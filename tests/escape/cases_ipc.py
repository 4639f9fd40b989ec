# SPDX-License-Identifier: Apache-2.0
"""Rows 56 to 62: sockets of the host, local network."""

import os
import socket
import time

from lib import FAMILY, PARTIAL, PATH, SOCK, Fail, Skip, case

U, S, D = socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM
# Landlock's tier refuses socket() itself.
ANY = SOCK | {"ENOSYS", "ECONNRESET", "EPROTOTYPE"}


def name(t, what=""):
    return f"bawn-esc-{os.path.basename(t.suite.base)}-{os.path.basename(t.base)}{what}"


def quiet(got, before=1):
    """The listener heard what was sent outside and nothing else."""
    if len(got) > before:
        raise Fail(f"the host's socket received {got[before:]}")


@case(56, "Unix sockets of the host", "ipc")
def _(t):
    places = [t.base + "/run/bus", t.home + "/.gnupg/S.gpg-agent", t.out + "/docker.sock", t.tidy(f"/tmp/{name(t)}")]
    for p in places:
        t.dir(os.path.dirname(p))
        _, got = t.listen(U, S, p)
        t.attack(["connect-unix", p], errs=ANY, canary=lambda: quiet(got))
    t.attack(["connect-unix", t.out + "/docker.sock"], errs=ANY, opts=["--ro", t.out])
    t.attack(["connect-unix", t.out + "/docker.sock"], errs=ANY, opts=["--rw", t.out])


@case(56, "Unix socket of the host inside the workspace", "ipc")
def _(t):
    p = t.ws + "/ide.sock"
    _, got = t.listen(U, S, p)
    t.attack(["connect-unix", p], errs=ANY, canary=lambda: quiet(got))
    t.attack(["connect-unix", "ide.sock"], errs=ANY, canary=lambda: quiet(got, 2))
    t.link("ide.sock", t.ws + "/l")
    t.attack(["connect-unix", "l"], errs=ANY, canary=lambda: quiet(got, 3))
    t.attack("$P connect-unix /proc/self/cwd/ide.sock", errs=ANY, canary=lambda: quiet(got, 4))


@case(56, "a listed Unix socket works, others do not", "ipc")
def _(t):
    a, b = t.out + "/a.sock", t.out + "/b.sock"
    t.listen(U, S, a)
    t.listen(U, S, b)
    t.attack(["connect-unix", b], errs=ANY, opts=["--unix-socket", a])
    t.works(["connect-unix", a], opts=["--unix-socket", a])


@case(57, "abstract Unix socket of the host", "ipc")
def _(t):
    n = name(t)
    _, got = t.listen(U, S, "\0" + n)
    t.attack(["connect-unix", "@" + n], errs=ANY, canary=lambda: quiet(got))


@case(58, "datagrams to Unix sockets without connect", "ipc")
def _(t):
    p, w, n = t.out + "/log", t.ws + "/log", name(t)
    for addr, s in ((p, p), (w, w), ("\0" + n, "@" + n)):
        _, got = t.listen(U, D, addr)
        sent = [0]  # by us, outside
        for act in (["sendto", s], ["sendmsg", s, "one"], ["sendmsg", s, "many"], ["pair-sendto", s]):
            sent[0], before = sent[0] + 1, t.acts
            t.attack(act, errs=ANY, canary=lambda got=got, sent=sent: (time.sleep(0.05), quiet(got, sent[0])))
            if t.acts == before:  # it did not end well outside; it may have been heard all the same
                time.sleep(1)
                sent[0] = len(got)


@case(59, "descriptors over sockets", "ipc")
def _(t):
    secret = t.file(t.out + "/secret")
    fd = os.open(secret, os.O_RDONLY)
    try:
        for where in (t.ws + "/s", t.out + "/s", "\0" + name(t)):
            t.listen(U, S, where, fd=fd)
            t.attack(["scm", where.replace("\0", "@")], errs=ANY)
    finally:
        os.close(fd)
    t.skip_act("a descriptor that a listed socket's owner sends on purpose: what is listed is trusted")


@case(59, "no descriptor of the supervisor inside", "proc")
def _(t):
    a, b = socket.socketpair()
    try:
        r = t.host(["fdlist"], pass_fds=[a.fileno()])
        if "socket:" not in r.out:
            raise Skip("a socket is not inherited outside: needs Linux' own /proc")
        t.outside_ok()
        r = t.bawn(["fdlist"], pass_fds=[a.fileno()])
        if "socket:" in r.out or "anon_inode" in r.out:
            raise Fail(f"inside: {r.out.strip()!r}")
    finally:
        a.close()
        b.close()


@case(60, "socket families beyond Unix and IP", "syscalls")
def _(t):
    for f, k, p in (("netlink", "raw", 0), ("netlink", "raw", 12), ("netlink", "dgram", 15), ("packet", "raw", 768),
                    ("packet", "dgram", 768), ("vsock", "stream", 0), ("alg", "seq", 0), ("xdp", "raw", 0),
                    ("bluetooth", "raw", 1), ("inet", "raw", 1), ("inet6", "raw", 58), ("inet", "dgram", 1),
                    ("can", "raw", 1), ("rds", "seq", 0), ("tipc", "seq", 0), ("kcm", "dgram", 0), ("smc", "stream", 0),
                    ("key", "raw", 2)):
        t.attack(["socket", f, k, p], errs=FAMILY | {"killed"})


@case(61, "a port opened inside is not the host's", "net.none")
def _(t):
    for addr in t.pick(("0.0.0.0", "127.0.0.1", "::"), 1):
        port = free_port()
        p = t.popen(t.cmd(["listen-tcp", addr, port, 20]))
        if b"ready" not in p.stdout.readline() or not reach(port, addr):
            t.skip_act(f"{addr}: cannot be reached outside")
            continue
        p.kill()
        p.wait()
        t.acts += 1
        if t.suite.outside_only:
            continue
        p = t.popen(t.bawn_argv(["listen-tcp", addr, port, 20])[0])
        p.stdout.readline()
        if reach(port, addr):
            raise Fail(f"{addr}:{port} inside is open on the host")
        p.terminate()
        p.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def reach(port, addr):
    try:
        with socket.create_connection(("::1" if addr == "::" else "127.0.0.1", port), timeout=2):
            return True
    except OSError:
        return False


@case(62, "services on the host's loopback", "net.none")
def _(t):
    s, got = t.listen(socket.AF_INET, S, ("127.0.0.1", 0))
    port = s.getsockname()[1]
    for act in (["tcp", "127.0.0.1", port], ["tcp", "0.0.0.0", port],
                ["tcp", "::ffff:127.0.0.1", port], ["fastopen", "127.0.0.1", port]):
        before = len(got)
        t.attack(act, errs=ANY | {"ENOTCONN", "EINPROGRESS", "EPIPE"}, canary=lambda: quiet(got, before + 1))
    u, got_u = t.listen(socket.AF_INET, D, ("127.0.0.1", 0))
    # one that nobody hears may be sent
    t.attack(["udp", "127.0.0.1", u.getsockname()[1]], errs=ANY | {"ok"}, canary=lambda: (time.sleep(0.1), quiet(got_u)))
    try:
        s6, _got = t.listen(socket.AF_INET6, S, ("::1", 0))
        t.attack(["tcp", "::1", s6.getsockname()[1]], errs=ANY)
    except OSError:
        t.skip_act("no IPv6 loopback outside")


@case(62, "host address and metadata service", "net.none")
def _(t):
    with socket.socket(socket.AF_INET, D) as s:
        try:
            s.connect(("192.0.2.1", 9))
            own = s.getsockname()[0]
        except OSError:
            raise Skip("the host has no address but loopback: give it one with a default route")
    try:
        s, got = t.listen(socket.AF_INET, S, (own, 0))
    except OSError:
        raise Skip("cannot listen on the host's address: needs one that is its own")
    t.attack(["tcp", own, s.getsockname()[1]], errs=ANY | {"EHOSTUNREACH"}, canary=lambda: quiet(got))


@case(62, "a listed loopback port works, others do not", "net.none")
def _(t):
    a, _ = t.listen(socket.AF_INET, S, ("127.0.0.1", 0))
    b, _ = t.listen(socket.AF_INET, S, ("127.0.0.1", 0))
    pa, pb = a.getsockname()[1], b.getsockname()[1]
    t.attack(["tcp", "127.0.0.1", pb], errs=ANY, outside=["tcp", "127.0.0.1", pb])
    if t.suite.outside_only:
        return
    opts = ["--loopback-port", pa]
    r = t.bawn(["tcp", "127.0.0.1", pa], opts, refused=True)
    if r.code == 125 and t.tier in PARTIAL:
        t.skip_act(f"{t.tier} refuses loopback ports")
        return
    if r.what != "ok" or "host" not in r.out:
        raise Fail(f"the listed port does not answer: {r}")
    r = t.bawn(["tcp", "127.0.0.1", pb], opts)
    if r.what not in ANY:
        raise Fail(f"another port answers: {r}")
