#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Real clients through the door to real servers, on an internet of the test's own (internet.py): each client once to a host
that is allowed, where it must succeed, and once to one that is not, where it must fail at once, the host must not hear
of it and bawn must say what to do. As root and as an ordinary user. Speaks TAP. $BAWN is the program, with bawn-egress
beside it; $EGRESS_CLIENT a static client.
"""

import argparse
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import internet  # noqa: E402
import servers  # noqa: E402

HUNG = 120  # seconds; nothing here takes more than a fraction of one unless it hangs or the machine is busy
PY = internet.PYTHON
ALLOW = ["--allow-host", "*.example.org", "--allow-host", "api.example.com:443"]
CASES = []


class Skip(Exception):
    pass


class Fail(Exception):
    pass


def case(title):
    def add(fn):
        CASES.append((title, fn))
        return fn
    return add


def need(*programs):
    for p in programs:
        if not shutil.which(p, path="/usr/local/bin:/usr/bin:/bin"):
            raise Skip(f"'{p}' is not installed (apt-get install {internet.PACKAGES.get(p, p)})")


class Result:
    def __init__(self, code, out, err, seconds, result):
        self.code, self.out, self.err, self.seconds, self.json = code, out, err, seconds, result

    def denials(self):
        return [d["text"] for d in self.json.get("denials") or [] if d["control"] in ("net.egress", "net.ssrf")]

    def __str__(self):
        return f"status {self.code}, {self.seconds:.1f} s, {self.out.strip()[-200:]!r}, {self.err.strip()[-300:]!r}"


class Test:
    """One identity: its directories and ways to run things."""

    def __init__(self, suite, identity):
        self.suite, self.world, self.identity = suite, suite.world, identity
        self.base = f"{suite.base}/{identity}"
        self.ws, self.bin = self.base + "/ws", suite.bin
        self.n = 0
        for d in (self.base, self.ws, self.base + "/state", self.base + "/home"):
            os.makedirs(d, exist_ok=True)
            if suite.root:
                os.chown(d, *suite.ids(identity))
        self.procs = []

    def prefix(self):
        if self.suite.root and self.identity == "user":
            return self.world.as_user(*self.suite.user)
        return self.world.enter

    def env(self):
        return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.base + "/home",
                "LANG": "C.UTF-8", "XDG_STATE_HOME": self.base + "/state", "XDG_CONFIG_HOME": self.base + "/config",
                "XDG_CACHE_HOME": self.base + "/cache"}

    def argv(self, cmd, opts, net=("--net", "allowlist"), allow=ALLOW):
        self.n += 1
        self.result = f"{self.base}/{self.n}.json"
        if isinstance(cmd, str):
            cmd = ["/bin/sh", "-c", cmd]
        more = [x for k in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS",
                            "npm_config_cafile", "PIP_CERT")
                for x in ("--env", f"{k}={self.world.ca}")]
        return [*self.prefix(), self.suite.bawn, "run", "--result", self.result, "--workspace", self.ws,
                "--ro", self.suite.bin, "--ro", self.world.ca, *net, *allow, *opts, *more, "--", *cmd]

    def start(self, cmd, opts=(), **kw):
        p = subprocess.Popen(self.argv(cmd, opts, **kw), cwd=self.ws, env=self.env(), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                             start_new_session=True)
        self.procs.append(p)
        return p

    def finish(self, p, result, start):
        try:
            out, err = p.communicate(timeout=HUNG)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            raise Fail(f"it hung: {out[-200:]!r} {err[-200:]!r}")
        got = {}
        if os.path.exists(result):
            with open(result) as f:
                got = json.load(f)
        return Result(p.returncode, out, err, time.monotonic() - start, got)

    def bawn(self, cmd, opts=(), **kw):
        start = time.monotonic()
        p = self.start(cmd, opts, **kw)
        return self.finish(p, self.result, start)

    def works(self, cmd, says="hello", opts=(), **kw):
        r = self.bawn(cmd, opts, **kw)
        if r.code or says not in r.out:
            raise Fail(f"{cmd}: should work: {r}")
        return r

    def refused(self, cmd, opts=(), denial=True, host="evil.example.net", **kw):
        """It fails, the forbidden servers hear nothing, and there is a line that says what to do."""
        mark = self.world.mark()
        r = self.bawn(cmd, opts, **kw)
        if r.code in (0, 125):
            raise Fail(f"{cmd}: should fail: {r}")
        self.untouched(mark, cmd)
        if denial and not any(host in d for d in r.denials()):
            raise Fail(f"{cmd}: no denial names '{host}': {r.denials()} {r}")
        if denial and not re.search(r"^bawn: denied: .*" + re.escape(host), r.err, re.M):
            raise Fail(f"{cmd}: stderr does not say what was denied: {r}")
        return r

    def untouched(self, mark, what):
        bad = [x for x in self.world.seen(mark) if x.get("at") in (servers.EVIL, servers.EVIL6, servers.ROUTER,
               servers.METADATA, servers.HOST, servers.DOH, "127.0.0.1", "::1") or "evil" in x.get("name", "")]
        if bad:
            raise Fail(f"{what}: it came through: {bad}")


GET = "GET /hello HTTP/1.0\r\nHost: {}\r\n\r\n"
GOOD, EVIL = "good.example.org", "evil.example.net"


def both(t, cmd, good=f"http://{GOOD}/hello", evil=f"http://{EVIL}/hello", **kw):
    """`cmd` with {} for the URL, to a host that is allowed and to one that is not."""
    t.works(cmd.format(good), **kw)
    t.refused(cmd.format(evil))


# ---- curl -----------------------------------------------------------------------------------------------------------

@case("curl with the variables: http and https")
def _(t):
    need("curl")
    both(t, "curl -sSf {}")
    both(t, "curl -sSf {}", f"https://{GOOD}/", f"https://{EVIL}/")
    t.works("curl -sSf https://api.example.com/")


@case("curl with every proxy scheme")
def _(t):
    need("curl")
    for scheme in ("http", "socks4a", "socks5h", "socks5", "socks4"):
        proxy = "127.0.0.1:${{HTTP_PROXY##*:}}"
        both(t, f"curl -sSf -x {scheme}://{proxy} {{}}")
        both(t, f"curl -sSf -x {scheme}://{proxy} {{}}", f"https://{GOOD}/", f"https://{EVIL}/")
    both(t, "curl -sSf -p -x http://127.0.0.1:${{HTTP_PROXY##*:}} {}")
    both(t, "curl -sSf -x http://[::1]:${{HTTP_PROXY##*:}} {}")


@case("curl that wants no proxy")
def _(t):
    need("curl")
    both(t, "curl -sSf --noproxy '*' {}")
    both(t, "curl -sSf --noproxy '*' {}", f"https://{GOOD}/", f"https://{EVIL}/")
    both(t, "curl -4 -sSf --noproxy '*' {}")
    both(t, "curl -6 -sSf --noproxy '*' {}")
    both(t, "env -i /usr/bin/curl -sSf {}")


@case("an address in place of a name")
def _(t):
    need("curl")
    for way in ("", "--noproxy '*'"):
        for url in (f"http://{servers.EVIL}/", f"http://[{servers.EVIL6}]/"):
            t.refused(f"curl -gsSf {way} {url}", host=servers.EVIL if "[" not in url else servers.EVIL6)
    t.works(f"curl -sSf http://{servers.API}/", allow=["--allow-host", servers.API])
    t.works(f"curl -sSf --noproxy '*' http://{servers.API}/", allow=["--allow-host", servers.API])


@case("what a refusal looks like")
def _(t):
    need("curl")
    r = t.refused(f"curl -sS -o out -w '%{{http_code}}' http://{EVIL}/ && cat out && exit 7")
    if "403" not in r.out or EVIL not in r.out or "allow-host" not in r.out:
        raise Fail(f"no 403 with a reason: {r}")
    r = t.refused(f"curl -sS https://{EVIL}/")
    if "403" not in r.err:
        raise Fail(f"CONNECT is not answered 403: {r}")
    r = t.refused(f"curl -sS --noproxy '*' http://{EVIL}/")
    if "Could not resolve" not in r.err:
        raise Fail(f"the name is not refused by the resolver: {r}")


@case("wget")
def _(t):
    need("wget")
    both(t, "wget -q -t1 -T60 -O- {}")
    both(t, "wget -q -t1 -T60 -O- --ca-certificate=$SSL_CERT_FILE {}", f"https://{GOOD}/", f"https://{EVIL}/")
    both(t, "wget -q -t1 -T60 --no-proxy -O- {}")


@case("git over https")
def _(t):
    need("git")
    for way in ("", "env -u http_proxy -u https_proxy -u HTTPS_PROXY -u all_proxy -u ALL_PROXY"):
        cmd = f"rm -rf /tmp/c; {way} git clone -q {{}} /tmp/c && git -C /tmp/c log --format=%s"
        t.works(cmd.format("https://git.example.org/files/repo.git"), "cloned")
        t.refused(cmd.format(f"https://{EVIL}/files/repo.git"))


@case("pip against an index")
def _(t):
    if subprocess.run([PY, "-m", "pip", "--version"], capture_output=True).returncode:
        raise Skip("pip is not installed (apt-get install python3-pip)")
    cmd = (f"{PY} -m pip download -q --no-deps --no-cache-dir --retries 0 --timeout 60 --disable-pip-version-check "
           "-d /tmp/w -i https://{}/files/simple demo && ls /tmp/w")
    t.works(cmd.format("pypi.example.org"), "demo-1.0")
    t.refused(cmd.format(EVIL))


@case("npm against a registry")
def _(t):
    need("npm", "node")
    cmd = ("mkdir -p /tmp/n && cd /tmp/n && echo '{{}}' > package.json && npm install --silent --no-audit --no-fund "
           "--fetch-retries=0 --cache /tmp/npm --registry https://{}/files/npm/ demo && ls node_modules")
    t.works(cmd.format("npm.example.org"), "demo")
    t.refused(cmd.format(EVIL))


@case("node's own clients")
def _(t):
    need("node")
    js = ("require(process.argv[1].split(':')[0]).get(process.argv[1], r => {{ r.on('data', d => process.stdout.write(d)); "
          "r.on('end', () => process.exit(r.statusCode == 200 ? 0 : 1)) }})"
          ".on('error', e => {{ console.error(e.message); process.exit(1) }})")
    both(t, f'node -e "{js}" {{}}')
    both(t, f'node -e "{js}" {{}}', f"https://{GOOD}/", f"https://{EVIL}/")
    js = ("fetch(process.argv[1]).then(r => r.text()).then(x => process.stdout.write(x))"
          ".catch(e => {{ console.error(e.cause || e); process.exit(1) }})")
    both(t, f'node -e "{js}" {{}}', f"https://{GOOD}/", f"https://{EVIL}/")


@case("go's client, with and without the variables")
def _(t):
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not go:
        raise Skip("'go' is not installed (apt-get install golang-go)")
    out = t.suite.bin + "/go-client"
    if not os.path.exists(out):
        env = {**os.environ, "CGO_ENABLED": "0", "GOCACHE": t.suite.base + "/gocache", "GOFLAGS": "-mod=mod",
               "GOTOOLCHAIN": "local", "GO111MODULE": "off", "HOME": t.suite.base}
        # as it comes from the source; making it faster takes longest
        done = subprocess.run([go, "build", "-gcflags=all=-N -l", "-o", out, HERE + "/client.go"], env=env, capture_output=True, text=True)
        if done.returncode:
            raise Skip(f"go cannot build here, needs one that can: {done.stderr.strip()[:150]}")
    for how in ("env", "direct"):
        both(t, f"{out} {how} {{}}")
        both(t, f"{out} {how} {{}}", f"https://{GOOD}/", f"https://{EVIL}/")


@case("python: urllib and sockets")
def _(t):
    both(t, f"{PY} -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read())' {{}}")
    code = ("import socket, sys; s = socket.create_connection((sys.argv[1], 80), 60); "
            "s.sendall(b\\\"GET /hello HTTP/1.0\\\\r\\\\nHost: %s\\\\r\\\\n\\\\r\\\\n\\\" % sys.argv[1].encode()); "
            "print(s.makefile().read())")
    both(t, f'{PY} -c "{code}" {{}}', GOOD, EVIL)


@case("a static program that resolves nothing and knows no proxy")
def _(t):
    cli = t.suite.bin + "/client"
    resolve = f"$({PY} -c 'import socket; print(socket.getaddrinfo(\"{GOOD}\", 80, {{}})[0][4][0])')"
    for family in ("socket.AF_INET", "socket.AF_INET6"):
        t.works(f"{cli} {resolve.format(family)} 80 '{GET.format(GOOD)}'")
    for address in (servers.EVIL, servers.EVIL6, servers.GOOD):
        mark = t.world.mark()
        r = t.bawn([cli, address, "80", GET.format(EVIL)])
        t.untouched(mark, address)
        if "stolen" in r.out or not r.denials():
            raise Fail(f"{address}: {r}")


@case("other protocols by port: allowed and not")
def _(t):
    cli = f"{PY} -c \"import socket, sys; print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 60).recv(99))\""
    t.works(f"{cli} {GOOD} 22", "raw hello", allow=["--allow-host", f"{GOOD}:22"])
    t.refused(f"{cli} {GOOD} 22 | grep raw", host=GOOD)
    t.refused(f"{cli} {GOOD} 25 | grep raw", host=GOOD, allow=["--allow-host", f"{GOOD}:22"])


# ---- names and addresses --------------------------------------------------------------------------------------------

@case("chains, one family only, rebinding, lies")
def _(t):
    need("curl")
    for way in ("", "--noproxy '*'"):
        for name in ("chain.example.org", "only4.example.org", "only6.example.org"):
            t.works(f"curl -sSf {way} http://{name}/")
        for name in ("chainbad", "nx", "stall", "garbage", "loop", "ip-7f000001", "ip-0a4d0001", "ip-0a4d0002",
                     "ip-a9fea9fe"):
            mark = t.world.mark()
            r = t.bawn(f"curl -sSf {way} http://{name}.example.org/")
            t.untouched(mark, name)
            if r.code == 0:
                raise Fail(f"{name}: {r}")


@case("rebinding never reaches the second address")
def _(t):
    need("curl")
    for way in ("", "--noproxy '*'"):
        mark = t.world.mark()
        r = t.bawn(f"for i in 1 2 3 4 5 6; do curl -sS {way} http://rebind{len(way)}.example.org/; done")
        t.untouched(mark, "rebind")
        if "internal" in r.out or "hello" not in r.out:
            raise Fail(str(r))


@case("a redirect is a new request")
def _(t):
    need("curl")
    t.works(f"curl -sSfL 'http://{GOOD}/redirect?to=http://x.example.org/'")
    t.refused(f"curl -sSfL 'http://{GOOD}/redirect?to=http://{EVIL}/'")
    for url in ("http://10.77.0.2/", "http://127.0.0.1:8099/", "http://169.254.169.254/"):
        mark = t.world.mark()
        r = t.bawn(f"curl -sSfL --noproxy x 'http://{GOOD}/redirect?to={url}'")
        t.untouched(mark, url)
        if r.code == 0:
            raise Fail(f"{url}: {r}")


# ---- modes ----------------------------------------------------------------------------------------------------------

@case("empty allow-list, block-list, open, deny, closed")
def _(t):
    need("curl")
    for way in ("", "--noproxy '*'"):
        t.refused(f"curl -sSf {way} http://{GOOD}/", allow=[], host=GOOD)
        t.works(f"curl -sSf {way} http://{GOOD}/", net=["--net", "blocklist", "--block-host", EVIL], allow=[])
        t.refused(f"curl -sSf {way} http://{EVIL}/", net=["--net", "blocklist", "--block-host", EVIL], allow=[])
        t.refused(f"curl -sSf {way} http://x.{EVIL}/", net=["--net", "blocklist", "--block-host", f"*.{EVIL}"], allow=[])
        for mode in ("open", "allow-all"):
            t.works(f"curl -sSf {way} http://{EVIL}/", "stolen", net=["--net", mode], allow=[])
        for url in ("http://10.77.0.2/", "http://169.254.169.254/", "http://10.77.0.1:8099/"):
            mark = t.world.mark()
            r = t.bawn(f"curl -sSf {way} {url}", net=["--net", "open"], allow=[])
            t.untouched(mark, url)
            if r.code == 0:
                raise Fail(f"{url} in mode open: {r}")
        for mode in ("deny", "closed"):
            t.refused(f"curl -sSf {way} http://{GOOD}/", net=["--net", mode], denial=False)


@case("block wins over allow; method and path rules")
def _(t):
    need("curl")
    t.refused(f"curl -sSf http://{GOOD}/", opts=["--block-host", GOOD], host=GOOD)
    rule = ["--allow-host", f"GET,HEAD {GOOD}/public/*"]
    for way in ("", "--noproxy '*'"):
        t.works(f"curl -sSf {way} http://{GOOD}/public/x", allow=rule)
        t.refused(f"curl -sSf {way} -X POST -d x http://{GOOD}/public/x", allow=rule, host=GOOD)
        t.refused(f"curl -sSf {way} http://{GOOD}/private", allow=rule, host=GOOD)
        t.refused(f"curl -sSf {way} https://{GOOD}/public/x", allow=rule, host=GOOD)


@case("private addresses by name of the address only")
def _(t):
    need("curl")
    t.works(f"curl -sSf http://{servers.ROUTER}/", "internal", allow=["--allow-host", servers.ROUTER])
    for address in ("169.254.169.254", "127.0.0.1:8099", "10.77.0.1:8099"):
        mark = t.world.mark()
        r = t.bawn(f"curl -sSf -x $HTTP_PROXY --noproxy x http://{address}/", allow=["--allow-host", address])
        t.untouched(mark, address)
        if r.code == 0:
            raise Fail(f"{address}: {r}")


@case("budgets per host")
def _(t):
    need("curl")
    path = f"{t.base}/budget.yaml"
    with open(path, "w") as f:
        f.write("network: {host_bytes: 64k}\n")
    os.chmod(path, 0o644)
    t.works(f"curl -sSf -o /dev/null 'http://{GOOD}/big?n=1000' && echo hello", opts=["--policy", path])
    r = t.bawn(f"curl -sSf -o /tmp/x 'http://{GOOD}/big?n=1000000'; wc -c < /tmp/x", opts=["--policy", path])
    if int(r.out.split()[-1]) > 200000:
        raise Fail(f"the budget of 64k let through {r}")
    with open(path, "w") as f:
        f.write("network: {host_rate: 1}\n")
    # by one client, so that they come faster than that also on a busy machine
    r = t.bawn(f"curl -s -w '%{{http_code}} ' -o '/tmp/#1' 'http://{GOOD}/?[1-40]'", opts=["--policy", path])
    got = r.out.split()
    if len(got) != 40 or not 1 <= got.count("200") <= 3 + r.seconds or "429" not in got:
        raise Fail(f"one request per second: {r}")


# ---- beside it ------------------------------------------------------------------------------------------------------

@case("a loopback port of the host beside the door")
def _(t):
    need("curl")
    t.works("curl -sSf http://127.0.0.1:8099/ && curl -sSf http://good.example.org/", "hello",
            opts=["--loopback-port", "8099"])
    t.works("curl -sSf http://localhost:8099/", "internal", opts=["--loopback-port", "8099"])
    t.refused("curl -sSf http://127.0.0.1/", opts=["--loopback-port", "8099"], denial=False)


@case("the sandbox's own loopback works")
def _(t):
    need("curl")
    t.works(f"{PY} -m http.server -b 127.0.0.1 8000 >/dev/null 2>&1 & "
            "for i in $(seq 200); do sleep 0.3; curl -sf http://127.0.0.1:8000/ >/dev/null && echo hello && break; done; "
            "kill $!")


@case("everything but TCP is refused at once")
def _(t):
    code = ("import socket\n"
            "for f, a in ((2, '93.184.216.12'), (10, '2606:2800:220::12'), (2, '1.1.1.1'), (2, '224.0.0.251')):\n"
            "    for p in (53, 123, 443, 5353):\n"
            "        try:\n"
            "            socket.socket(f, socket.SOCK_DGRAM).sendto(b'x', (a, p)); print('sent', a, p)\n"
            "        except OSError as e: print(e.errno)\n")
    mark = t.world.mark()
    r = t.works([PY, "-c", code], "101")
    t.untouched(mark, "udp")
    if "sent" in r.out:
        raise Fail(str(r))


@case("the resolver's file: a link, a dangling link, none")
def _(t):
    if not t.suite.root or t.identity != "root":
        raise Skip("another /etc needs root: [root] tries it")
    etc = t.base + "/etc"
    show = "cat /etc/resolv.conf; getent hosts x.%s; echo asked $?" % EVIL
    bawn = " ".join([t.suite.bawn, "run", "-q", "--workspace", t.ws, "--net", "allowlist", "--", "sh", "-c", f"'{show}'"])
    lines = [f"cp -a /etc {etc}", f"mount --bind {etc} /etc", "umount /etc/resolv.conf 2>/dev/null || true",
             "rm -f /etc/resolv.conf", "ln -s ../run/resolve/stub.conf /etc/resolv.conf", "mount -t tmpfs t /run",
             "mkdir /run/resolve", "echo nameserver 9.9.9.9 > /run/resolve/stub.conf", bawn, "cat /run/resolve/stub.conf",
             "rm /run/resolve/stub.conf", bawn, "rm /etc/resolv.conf", bawn]
    done = subprocess.run([*t.world.enter, "unshare", "--mount", "sh", "-ec", "\n".join(lines)], env=t.env(), cwd=t.ws,
                          capture_output=True, text=True, timeout=HUNG)
    shutil.rmtree(etc, ignore_errors=True)
    if done.stdout.split("\n") != ["nameserver 127.0.0.1", "asked 2", "nameserver 9.9.9.9", "asked 2", "asked 2", ""]:
        raise Fail(f"{done.stdout!r} {done.stderr[-300:]!r}")


@case("records: every decision with its rule")
def _(t):
    need("curl")
    r = t.bawn(f"curl -s http://{GOOD}/ -o /dev/null; curl -s http://{EVIL}/ -o /dev/null; exit 3")
    log = t.base + "/state/bawn/audit.jsonl"
    with open(log) as f:
        mine = [x for x in map(json.loads, f) if x.get("run") == r.json["run"]]
    net = [x for x in mine if x["event"] == "network"]
    allow = [x for x in net if x["decision"] == "allow" and x["host"] == GOOD]
    deny = [x for x in net if x["decision"] == "deny" and x["host"] == EVIL]
    if not allow or not deny or "*.example.org" not in allow[0]["rule"] or "allowlist" not in deny[0]["rule"]:
        raise Fail(f"{net}")
    stats = r.json["network"]
    if stats["allowed"] < 1 or stats["blocked"] < 1 or stats["received"] < 10 or stats["lost"] or \
            not any(h["host"] == GOOD for h in stats["hosts"]):
        raise Fail(f"{stats}")
    end = [x for x in mine if x["event"] == "end"][0]
    if end["network"]["blocked"] != stats["blocked"] or r.code != 3:
        raise Fail(f"{end}")
    done = subprocess.run([t.suite.bawn, "audit", "verify"], env=t.env(), capture_output=True, text=True)
    if t.identity != "user" and done.returncode:
        raise Fail(done.stderr)


@case("a name that is not allowed is never resolved")
def _(t):
    need("curl")
    mark = t.world.mark()
    t.bawn(f"curl -s http://secret.{EVIL}/; curl -s --noproxy '*' http://secret2.{EVIL}/; "
           f"curl -s -x socks5h://127.0.0.1:${{HTTP_PROXY##*:}} http://secret3.{EVIL}/; getent hosts secret4.{EVIL}")
    asked = [x["name"] for x in t.world.seen(mark, who="dns")]
    if asked:
        raise Fail(f"asked for {asked}")


# ---- life and death -------------------------------------------------------------------------------------------------

def doors(t):
    """Doors of this suite."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as f:
                if f.read().strip() == "bawn-egress" and \
                        os.readlink(f"/proc/{pid}/exe").startswith(t.suite.base):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def gone(t, what):
    end = time.monotonic() + HUNG
    while (left := doors(t)) and time.monotonic() < end:
        time.sleep(0.05)
    if left:
        raise Fail(f"{what}: {len(left)} doors are left")


def child_door(t, pid):
    end = time.monotonic() + HUNG
    while time.monotonic() < end:
        for d in doors(t):
            try:
                with open(f"/proc/{d}/stat") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                        return d
            except OSError:
                pass
        time.sleep(0.02)
    raise Fail("no door appeared")


@case("the door dies: no network, and the result says so")
def _(t):
    need("curl")
    start = time.monotonic()
    p = t.start(f"touch {t.ws}/up; while [ ! -e {t.ws}/dead ]; do sleep 0.05; done; curl -sS http://{GOOD}/; "
                f"curl -sS --noproxy '*' http://{GOOD}/; curl -sS --noproxy '*' http://{servers.GOOD}/; echo over")
    result = t.result
    while not os.path.exists(t.ws + "/up") and p.poll() is None:
        time.sleep(0.02)
    mark = t.world.mark()
    os.kill(child_door(t, p.pid), signal.SIGKILL)
    time.sleep(0.2)
    open(t.ws + "/dead", "w").close()
    r = t.finish(p, result, start)
    for f in ("up", "dead"):
        os.unlink(f"{t.ws}/{f}")
    if r.code or "hello" in r.out or "over" not in r.out or t.world.seen(mark):
        raise Fail(str(r))
    if not r.json["network"]["lost"] or "egress proxy died" not in r.err:
        raise Fail(f"not noted: {r.json['network']} {r}")


@case("bawn is killed: the door ends, the command too")
def _(t):
    p = t.start("sleep 60")
    child_door(t, p.pid)
    os.kill(p.pid, signal.SIGKILL)
    p.wait()
    gone(t, "SIGKILL")


@case("bawn is killed at any moment: nothing stays")
def _(t):
    for i in range(40):
        p = t.start("sleep 60")
        time.sleep(i * 0.0015)
        os.kill(p.pid, signal.SIGKILL)
        p.wait()
    gone(t, "SIGKILL")


@case("no door, no run")
def _(t):
    lone = t.suite.base + "/lone"
    os.makedirs(lone, exist_ok=True)
    shutil.copy(t.suite.bawn, lone + "/bawn")
    there = os.path.exists("/usr/libexec/bawn/bawn-egress")
    if there:
        raise Skip("bawn is installed: /usr/libexec/bawn/bawn-egress would be found; remove it")
    old, t.suite.bawn = t.suite.bawn, lone + "/bawn"
    try:
        r = t.bawn("echo ran")
        if r.code != 125 or "ran" in r.out or "bawn-egress" not in r.err:
            raise Fail(str(r))
        with open(lone + "/bawn-egress", "w") as f:
            f.write("#!/bin/sh\nexit 1\n")
        os.chmod(lone + "/bawn-egress", 0o755)
        r = t.bawn("echo ran")
        if r.code != 125 or "ran" in r.out:
            raise Fail(str(r))
        if t.bawn("echo ran", net=["--net", "deny"], allow=[]).code:
            raise Fail("without network it should run")
    finally:
        t.suite.bawn = old


@case("many runs at once, each with its own door")
def _(t):
    need("curl")
    errors = []

    def one(i):
        start = time.monotonic()
        with lock:
            host = "api.example.com" if i % 2 else GOOD
            p = t.start(f"for i in 1 2 3 4 5; do curl -sSf https://{host}/; done; curl -s https://{'x' if i % 2 else 'api'}"
                        f".example.{'org' if i % 2 else 'com'}/", allow=["--allow-host", host])
            result = t.result
        try:
            r = t.finish(p, result, start)
            if r.out.count("hello") != 5:
                errors.append(str(r))
        except Fail as e:
            errors.append(str(e))

    lock = threading.Lock()
    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for x in threads:
        x.start()
    for x in threads:
        x.join()
    if errors:
        raise Fail(errors[0])
    gone(t, "after the runs")


# ---- secrets of the vault -------------------------------------------------------------------------------------------

VALUE = "gh/val+ue~7Kx93fWmTvR2pLd8"


def vault(t):
    """A vault with TOKEN, bound to GOOD; the options that use it, and the environment in which the door trusts the servers."""
    key = ["--key-file", t.base + "/vault-key"]
    env = {**t.env(), "SSL_CERT_FILE": t.world.ca}
    if not os.path.exists(t.base + "/vault-key"):
        for argv, text in ((["init"], ""), (["set", "TOKEN", "--host", GOOD, "--header", "Authorization", "--header",
                                              "X-Api-Key", "--access", "always"], VALUE)):
            p = subprocess.run([*t.prefix(), t.suite.bawn, "secret", *argv, *key], input=text, env=env, text=True,
                               capture_output=True)
            if p.returncode:
                raise Fail(f"bawn secret {argv[0]}: {p.stderr}")
    return [*key, "--secret", "TOKEN"], env


def with_secret(t, cmd, opts=()):
    """(result, requests that the servers heard)"""
    use, env = vault(t)
    mark, start = t.world.mark(), time.monotonic()
    p = subprocess.Popen(t.argv(cmd, [*use, *opts]), cwd=t.ws, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    t.procs.append(p)
    r = t.finish(p, t.result, start)
    if VALUE in r.out + r.err + json.dumps(r.json):
        raise Fail(f"the value came back: {r}")
    return r, t.world.seen(mark, who="http")


def got_it(t, cmd, text=VALUE, n=1):
    r, heard = with_secret(t, cmd)
    if r.code or sum(text in x["headers"] for x in heard) < n:
        raise Fail(f"{cmd}: {r}; heard {[x['headers'] for x in heard]}")
    return r


@case("a secret goes to its host and no further: curl")
def _(t):
    need("curl")
    r = got_it(t, f'curl -sS -H "Authorization: Bearer $TOKEN" https://{GOOD}/echo')
    if "Bearer ****" not in r.out:
        raise Fail(f"the echo is not masked: {r}")
    got_it(t, f'curl -sS -u "me:$TOKEN" https://{GOOD}/echo', base64.b64encode(f"me:{VALUE}".encode()).decode())
    got_it(t, f'curl -sS -H "X-Api-Key: $TOKEN" https://{GOOD}/ https://{GOOD}/', n=2)
    got_it(t, f'curl -sS --noproxy "*" -H "Authorization: token $TOKEN" https://{GOOD}/echo')
    for act in (f'curl -sS -H "Authorization: Bearer $TOKEN" https://other.example.org/echo',
                f'curl -sS -H "X-Other: $TOKEN" https://{GOOD}/echo',
                f'curl -sS -d "$TOKEN" https://{GOOD}/echo',
                f'curl -sS "https://{GOOD}/echo?$TOKEN"',
                f'curl -sS -H "Authorization: Bearer $TOKEN" http://{GOOD}/echo',
                f'curl -sSL --location-trusted -H "Authorization: Bearer $TOKEN" http://{GOOD}/redirect?to=https://other.example.org/echo'):
        r, heard = with_secret(t, act)
        if not heard or any(VALUE in x["headers"] + x["text"] + x["path"] for x in heard):
            raise Fail(f"{act}: {r}; heard {heard}")


@case("a secret is used by python, node and git")
def _(t):
    need("python3")
    got_it(t, [PY, "-c", "import os, urllib.request as u; print(u.urlopen(u.Request('https://" + GOOD + "/echo', headers="
               "{'Authorization': 'Bearer ' + os.environ['TOKEN']})).read().decode())"])
    if shutil.which("git", path="/usr/bin:/bin"):
        r, heard = with_secret(t, f'git -c http.extraHeader="Authorization: Basic $(printf x:$TOKEN | base64 -w0)" clone -q '
                               f'https://{GOOD}/files/repo.git /tmp/clone && git -C /tmp/clone log --format=%s')
        if r.code or "cloned" not in r.out or base64.b64encode(f"x:{VALUE}".encode()).decode() not in heard[0]["headers"]:
            raise Fail(f"git: {r}; {heard[:1]}")
    if shutil.which("node", path="/usr/local/bin:/usr/bin:/bin"):
        got_it(t, ["node", "-e", "const tls = require('https'); tls.get({host: '" + GOOD + "', path: '/echo', headers: "
                   "{authorization: 'Bearer ' + process.env.TOKEN}}, r => { r.pipe(process.stdout) })"])


@case("injections are on record, values are not")
def _(t):
    need("curl")
    got_it(t, f'curl -sS -H "Authorization: Bearer $TOKEN" https://{GOOD}/')
    with open(t.base + "/state/bawn/audit.jsonl") as f:
        text = f.read()
    if VALUE in text:
        raise Fail("the audit log holds the value")
    last = [json.loads(x) for x in text.splitlines()]
    run = last[-1]["run"]
    kinds = [(x["action"], x["name"], x.get("host")) for x in last if x["event"] == "secret" and x.get("run") == run]
    if kinds != [("use", "TOKEN", None), ("inject", "TOKEN", GOOD)]:
        raise Fail(f"recorded: {kinds}")


@case("a host that cannot prove itself gets nothing")
def _(t):
    need("curl")
    use, env = vault(t)
    env.pop("SSL_CERT_FILE")
    mark, start = t.world.mark(), time.monotonic()
    p = subprocess.Popen(t.argv(f'curl -sSk -H "Authorization: Bearer $TOKEN" https://{GOOD}/echo', use), cwd=t.ws, env=env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         start_new_session=True)
    t.procs.append(p)
    r = t.finish(p, t.result, start)
    if t.world.seen(mark, who="http") or "hello" in r.out:
        raise Fail(f"it was sent: {r}")


# ---- the suite ------------------------------------------------------------------------------------------------------

class Suite:
    def __init__(self, base, bawn, client):
        self.base, self.root = base, os.geteuid() == 0
        self.bin = base + "/bin"
        os.makedirs(self.bin)
        os.chmod(base, 0o755)
        self.user = (54321, 54321)
        self.bawn = self.bin + "/bawn"
        for src, dst in ((bawn, self.bawn), (os.path.join(os.path.dirname(bawn), "bawn-egress"), self.bin + "/bawn-egress"),
                         (os.path.join(os.path.dirname(bawn), "bawn-egress-tls"), self.bin + "/bawn-egress-tls"),
                         (os.path.join(os.path.dirname(bawn), "bawn-vault"), self.bin + "/bawn-vault"),
                         (client, self.bin + "/client")):
            if not os.path.exists(src):
                sys.exit(f"Bail out! no program at '{src}': set $BAWN and $EGRESS_CLIENT")
            shutil.copy(src, dst)
            os.chmod(dst, 0o755)
        self.world = internet.World(base + "/world")

    def ids(self, identity):
        return (0, 0) if identity == "root" else self.user


def one(t, title, fn):
    try:
        fn(t)
        return "ok", ""
    except Skip as e:
        return "skip", str(e)
    except Fail as e:
        return "fail", str(e)
    except Exception:
        return "fail", "the case itself broke: " + traceback.format_exc().strip()
    finally:
        for p in t.procs:
            if p.poll() is None:
                p.kill()
                p.wait()
            for s in (p.stdout, p.stderr):
                s.close()
        t.procs.clear()


class Tap:
    def __init__(self, n):
        self.n, self.lock = 0, threading.Lock()
        self.count = {"ok": 0, "skip": 0, "fail": 0}
        print(f"1..{n}", flush=True)

    def tell(self, title, verdict, why):
        flat = why.replace("\n", " | ").replace("#", "")
        with self.lock:
            self.n += 1
            self.count[verdict] += 1
            print(f"{'not ok' if verdict == 'fail' else 'ok'} {self.n} - {title}" + (f" # SKIP {flat}" if verdict == "skip" else ""))
            if verdict == "fail":
                print(f"#   {flat}")
            sys.stdout.flush()


def play(suite, identity, cases, tap):
    t = Test(suite, identity)
    for title, fn in cases:
        tap.tell(f"{title} [{identity}]", *one(t, title, fn))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--match", help="only cases whose title holds this text")
    ap.add_argument("--identity", choices=("root", "user"))
    args = ap.parse_args()
    cases = [c for c in CASES if not args.match or args.match in c[0]]
    who = [args.identity] if args.identity else ["root", "user"] if os.geteuid() == 0 else ["user"]
    base = tempfile.mkdtemp(prefix="bawn-e2e-", dir="/var/tmp")
    os.chmod(base, 0o755)
    suites = []
    try:
        try:
            for identity in who:
                os.mkdir(f"{base}/{identity}")
                suites.append(Suite(f"{base}/{identity}", os.environ.get("BAWN", ""), os.environ.get("EGRESS_CLIENT", "")))
        except internet.Missing as e:
            print(f"1..0 # SKIP {e}")
            return 0
        tap = Tap(len(cases) * len(who))
        # each identity on an internet of its own: most of the time is spent waiting
        threads = [threading.Thread(target=play, args=(s, i, cases, tap)) for s, i in zip(suites, who)]
        for x in threads:
            x.start()
        for x in threads:
            x.join()
        c = tap.count
        print(f"# {c['ok']} passed, {c['fail']} failed, {c['skip']} skipped")
        return 1 if c["fail"] or tap.n != len(cases) * len(who) else 0
    finally:
        for s in suites:
            s.world.close()
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
