# SPDX-License-Identifier: Apache-2.0
"""The egress proxy next to tinyproxy, squid and the proxy of sandbox-runtime.

In a network namespace of its own, the server in another, joined by a veth pair: no packet leaves the machine. The
target is an address, so no contender resolves a name.
"""
import array
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from common import Budget, Section

SERVER, PORT = "93.184.215.14", 7000
SECURE = f"{SERVER}:7443"
HOLDER, VALUE = "bawn-secret-token-0123456789abcdef0123456789abcdef", "a-token-that-only-the-server-and-the-door-know"
URL, TUNNEL, SINK = f"http://{SERVER}:{PORT}/x", f"{SERVER}:{PORT + 1}", f"{SERVER}:{PORT + 2}"
WAIT = 20
IDLE = {"tinyproxy": 1000, "sandbox-runtime": 1000}  # more than that they do not take, or only slowly

SRT = """
const m = require('@anthropic-ai/sandbox-runtime/dist/sandbox/http-proxy.js');
const s = m.createHttpProxyServer({ filter: async () => true });
s.listen(8903, '127.0.0.1', () => console.log('ready'));
"""


class Door:
    """bawn-egress, spoken to as control.h says."""

    def __init__(self, program, **config):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        s.listen(4096)
        self.port = s.getsockname()[1]
        self.process = subprocess.Popen([program], pass_fds=[3], env={}, stdin=subprocess.DEVNULL,
                                        preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
        theirs.close()
        self.send({"config": {"mode": "allowlist", "allow": [f"{SERVER}:{PORT}", TUNNEL, SINK, SECURE], **config}})
        self.control.settimeout(WAIT)
        self.ca = json.loads(self.control.recv(65536))["ca"] if config.get("secrets") else None
        self.send({"listen": "proxy", "port": self.port}, s)
        self.send({"go": True})
        assert b"ready" in self.control.recv(65536)
        # Somebody reads what it tells, as bawn does.
        self.reader = os.fork()
        if not self.reader:
            self.control.settimeout(None)
            while self.control.recv(65536):
                pass
            os._exit(0)

    def send(self, message, passed=None):
        extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [passed.fileno()]))] if passed else []
        self.control.sendmsg([json.dumps(message).encode()], extra)

    @property
    def pid(self):
        return self.process.pid

    def close(self):
        self.process.kill()
        self.process.wait()
        self.control.close()
        os.waitpid(self.reader, 0)


class Peer:
    def __init__(self, command, port, **kw):
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        stdin=subprocess.DEVNULL, start_new_session=True, **kw)
        end = time.monotonic() + WAIT
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    self.close()
                    raise RuntimeError(f"{command[0]} did not start") from None
                time.sleep(0.05)

    @property
    def pid(self):
        return self.process.pid

    def close(self):
        for how in (signal.SIGTERM, signal.SIGKILL):  # squid leaves shared memory behind when it is killed
            try:
                os.killpg(self.process.pid, how)
                self.process.wait(5)
                return
            except ProcessLookupError:
                return
            except subprocess.TimeoutExpired:
                pass


def tinyproxy(top):
    conf = top / "tinyproxy.conf"
    conf.write_text("Port 8901\nListen 127.0.0.1\nTimeout 60\nMaxClients 2000\nLogLevel Critical\n"
                    f'LogFile "{top}/tinyproxy.log"\nAllow 127.0.0.1\nDisableViaHeader Yes\n')
    return Peer(["tinyproxy", "-d", "-c", str(conf)], 8901)


def squid(top):
    conf = top / "squid.conf"
    conf.write_text("http_port 127.0.0.1:8902\nacl ours dst " + SERVER + "\nhttp_access allow ours\n"
                    "http_access deny all\ncache deny all\naccess_log none\ncache_log /dev/null\n"
                    f"pid_filename {top}/squid.pid\ncoredump_dir {top}\nshutdown_lifetime 0 seconds\n"
                    "via off\nforwarded_for delete\nmax_filedescriptors 16384\npinger_enable off\n")
    return Peer(["squid", "-N", "-n", f"bench{os.getpid()}", "-f", str(conf)], 8902)


def install_srt(bench):
    """Before there is a network of our own, which leads nowhere."""
    where = bench.top / "srt"
    if bench.quick or os.environ.get("SRT_MODULES") or not shutil.which("npm"):
        return
    bench.say("egress: npm install @anthropic-ai/sandbox-runtime")
    try:
        bench.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(where),
                   "@anthropic-ai/sandbox-runtime"], timeout=240)
    except Exception:  # any reason at all: it is only not compared
        return
    os.environ["SRT_MODULES"] = str(where)


def sandbox_runtime(_top):
    if not os.environ.get("SRT_MODULES"):
        raise RuntimeError("npm cannot install it here")
    where = pathlib.Path(os.environ["SRT_MODULES"])
    script = where / "proxy.mjs"
    script.write_text(SRT.replace("const m = require(", "const m = await import(").replace(
        "'@anthropic-ai/sandbox-runtime/dist", f"'{where}/node_modules/@anthropic-ai/sandbox-runtime/dist"))
    return Peer(["node", str(script)], 8903)


def rss(pid):
    """Of the process and its children, KiB."""
    total, todo = 0, [pid]
    while todo:
        p = todo.pop()
        try:
            text = pathlib.Path(f"/proc/{p}/status").read_text(encoding="ascii")
            total += int(re.search(r"VmRSS:\s+(\d+)", text)[1])
            todo += [int(x) for x in pathlib.Path(f"/proc/{p}/task/{p}/children").read_text().split()]
        except (OSError, TypeError):
            pass
    return total


class Lab:
    """Runs inside the namespace: measures every contender in turn, prints one JSON object."""

    def __init__(self, netload, door, quick):
        self.netload, self.door, self.quick = netload, door, quick
        try:  # what else runs on the machine waits meanwhile; the same for all contenders
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
        except PermissionError:
            pass
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="bench-egress-"))
        self.top.chmod(0o777)
        self.contenders, self.absent = {"direct": None}, {}
        self.serve()
        self.contenders["bawn"] = Door(door)
        for name, start in (("tinyproxy", tinyproxy), ("squid", squid), ("sandbox-runtime", sandbox_runtime)):
            tool = "npm" if name == "sandbox-runtime" else name
            try:
                if not shutil.which(tool):
                    raise RuntimeError(f"{tool} is not installed")
                if quick and tool == "npm" and not os.environ.get("SRT_MODULES"):
                    raise RuntimeError("a quick run installs nothing")
                self.contenders[name] = start(self.top)
            except (RuntimeError, subprocess.TimeoutExpired) as e:
                self.absent[name] = str(e)

    def serve(self):
        self.server = subprocess.Popen(
            ["unshare", "--net", "sh", "-c",
             "ip link set lo up; while ! ip link set v1 up 2>/dev/null; do sleep 0.01; done; "
             f"ip addr add 198.51.100.2/24 dev v1; ip addr add {SERVER}/32 dev lo; "
             f'exec "$0" serve {SERVER} {PORT}', self.netload], stdout=subprocess.PIPE, text=True)
        mine = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.server.pid}/ns/net") == mine:
            time.sleep(0.005)
        subprocess.run("ip link set lo up; ip link add v0 type veth peer name v1; ip link set v1 netns "
                       f"{self.server.pid}; ip link set v0 up; ip addr add 198.51.100.1/24 dev v0; "
                       "ip route add default via 198.51.100.2; "
                       "sysctl -q -w net.ipv4.ip_local_port_range='1024 65535' net.ipv4.tcp_tw_reuse=1 || true",
                       shell=True, check=True)
        assert self.server.stdout.readline() == "ready\n"

    def run(self, *args, tool=None):
        done = subprocess.run([tool or self.netload, *map(str, args)], capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            return None
        return [float(x) for x in done.stdout.split()]

    def http(self, name, conns, seconds, keep):
        c = self.contenders[name]
        if c:
            return self.run("http", "127.0.0.1", c.port, URL, conns, seconds, keep)
        return self.run("http", SERVER, PORT, URL.split("://")[1], conns, seconds, keep)

    def bulk(self, name, size, way="bulk"):
        """MiB/s of bytes that come ("bulk") or go ("pour")."""
        c, target = self.contenders[name], TUNNEL if way == "bulk" else SINK
        got = self.run(way, "127.0.0.1", c.port, target, size) if c else self.run(
            way, SERVER, target.split(":")[1], "-", size)
        return got and got[0]

    def rounds(self, n, what, names=None):
        """{name: [value]} of n rounds; each round measures each contender once, every other one backwards."""
        found = {name: [] for name in names or self.contenders}
        for i in range(n):
            for name in list(found)[::-1 if i % 2 else 1]:
                v = what(name)
                if v is not None:
                    found[name].append(v)
        return found

    def secrets(self, n, seconds):
        """Requests with a token over TLS: sent by the client itself, without and through the door; put in by the door."""
        if not shutil.which("openssl"):
            return None
        cert, ca, tls = self.top / "cert.pem", self.top / "ca.pem", str(pathlib.Path(self.netload).with_name("tlsload"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", str(cert), "-out", str(ca), "-subj", "/CN=bench", "-days", "2", "-addext",
                        f"subjectAltName=IP:{SERVER}"], check=True, capture_output=True)
        cert.write_bytes(cert.read_bytes() + ca.read_bytes())
        server = subprocess.Popen(["nsenter", "--preserve-credentials", "--net", f"--target={self.server.pid}", tls, "serve",
                                   *SECURE.split(":"), str(cert), VALUE], stdout=subprocess.PIPE, text=True)
        secret = {"name": "TOKEN", "placeholder": HOLDER, "value": VALUE, "hosts": [SECURE]}
        door = Door(self.door + "-tls", secrets=[secret], roots=str(ca))
        trusted = self.top / "door.pem"
        trusted.write_text(door.ca)
        try:
            assert server.stdout.readline() == "ready\n"
            ways = {"direct": (*SECURE.split(":"), "-", SERVER, ca, VALUE),
                    "bawn, tunnel": ("127.0.0.1", self.contenders["bawn"].port, SECURE, SERVER, ca, VALUE),
                    "bawn, secret put in": ("127.0.0.1", door.port, SECURE, SERVER, trusted, HOLDER)}
            return {kind: self.rounds(n, lambda name: self.run("http", *ways[name], conns, seconds, keep, tool=tls), ways)
                    for kind, conns, keep in (("one", 1, "keep"), ("keep", 50, "keep"), ("close", 50, "close"))}
        finally:
            door.close()
            server.kill()
            server.wait()

    def memory(self, most):
        """{name: [KiB at the start, KiB per idle connection, how many]}"""
        found = {}
        for name, c in self.contenders.items():
            if not c:
                continue
            n = min(most, IDLE.get(name, most))
            before = rss(c.pid)
            p = subprocess.Popen([self.netload, "hold", "127.0.0.1", str(c.port), str(n)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
            p.stdout.readline()
            time.sleep(1)
            found[name] = [before, (rss(c.pid) - before) / n, n]
            p.stdin.close()
            p.wait()
        return found

    def measure(self):
        q = self.quick
        n, seconds, size = (1, 0.5, 64 << 20) if q else (7, 1, 512 << 20)
        return {
            "congestion": pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="ascii").strip(),
            "bulk": self.rounds(1 if q else 21, lambda name: self.bulk(name, size)),
            "pour": self.rounds(n, lambda name: self.bulk(name, size, "pour")),
            "one": self.rounds(n, lambda name: self.http(name, 1, seconds, "keep")),
            "keep": self.rounds(n, lambda name: self.http(name, 50, seconds, "keep")),
            "close": self.rounds(n, lambda name: self.http(name, 50, seconds, "close")),
            "secrets": self.secrets(n, seconds),
            "memory": self.memory(200 if q else 10000),
            "active": self.rounds(n, lambda name: self.http(name, 100 if q else 1000, seconds, "keep")),
            "absent": self.absent,
        }

    def close(self):
        for c in self.contenders.values():
            if c:
                c.close()
        self.server.kill()
        self.server.wait()
        shutil.rmtree(self.top, ignore_errors=True)


def table(found, unit, show, column=None):
    pick = [[v if column is None else v[column] for v in found[name]] for name in found]
    med = {name: statistics.median(v) for name, v in zip(found, pick) if v}
    rows = [[name, show(m), f"{m / med['direct']:.2f}"] for name, m in med.items()]
    return ["", unit, "÷ direct"], rows, med


def secrets(s, found):
    if not found:
        s.notes.append("secrets: not measured, openssl is not installed")
        return
    for kind, title, unit, column in (
            ("one", "TLS: latency of a request on a kept connection, median", "µs", 1),
            ("keep", "TLS: requests per second, 50 kept connections", "requests/s", 0),
            ("close", "TLS: requests per second, 50 at a time, each on a new connection", "requests/s", 0)):
        head, rows, _ = table(found[kind], unit, lambda v: f"{v:.0f}", column)
        s.tables.append((title, head, rows))
    failed = sum(v[3] for kind in found.values() for v in kind["bawn, secret put in"])
    s.notes.append("TLS: each request carries a token, without which the server does not answer. In a tunnel the client has it; "
                   "\"secret put in\" ends TLS on both sides, puts it in and looks for it in the answer; "
                   f"{failed:.0f} such requests failed")


def measure(bench):
    bench.say("egress: throughput, requests, latency, memory")
    bench.run(["ninja", "-C", str(bench.build), "bawn-egress", "bawn-egress-tls"], timeout=600)
    for path in (bench.build / "bawn-egress", bench.build / "bench/door-start"):
        shutil.copy(path, bench.bin)
    install_srt(bench)
    start = [float(x) for x in bench.run([str(bench.bin / "door-start"), "20" if bench.quick else "300"]).stdout.split()]
    line = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    out = bench.run([*line, sys.executable, "-B", __file__, str(bench.build / "bench" / "netload"),
                     str(bench.build / "bawn-egress"), "quick" if bench.quick else "full"], timeout=900).stdout
    r = json.loads(out.strip().splitlines()[-1])
    s = Section("Egress", "The egress proxy and its peers between one client and one server, in network namespaces "
                "joined by a veth pair; plain HTTP with answers of 128 bytes, and a CONNECT tunnel. Medians of "
                "rounds in which each contender runs once. A tunnel can be faster than none: without one it is the "
                "server's sending that wakes the client, for every few segments; a proxy that waits for more takes that off "
                f"it. Congestion control of the namespaces, inherited from the host: {r['congestion']}; bawn chooses another on "
                "its way to the client, which never leaves the machine.")
    for way, title in (("bulk", "Tunnel throughput"), ("pour", "Tunnel throughput, from the client to the server")):
        head, rows, _ = table(r[way], "MiB/s", lambda v: f"{v:.0f}")
        s.tables.append((title, head, rows))
    head, rows, one = table(r["one"], "µs", lambda v: f"{v:.0f}", 1)
    s.tables.append(("Latency of a request on a kept connection, median", head, rows))
    med = {}
    for kind, title in (("keep", "Requests per second, 50 kept connections"),
                        ("active", f"Requests per second, {100 if bench.quick else 1000} kept connections"),
                        ("close", "Requests per second, 50 at a time, each on a new connection")):
        head, rows, med[kind] = table(r[kind], "requests/s", lambda v: f"{v:.0f}", 0)
        s.tables.append((title, head, rows))
    secrets(s, r["secrets"])
    s.tables.append(("Memory", ["", "resident at the start, KiB", "idle connections", "KiB for each"],
                     [[name, str(v[0]), str(v[2]), f"{v[1]:.1f}"] for name, v in r["memory"].items()]))
    s.tables.append(("Start, until it is confined and accepts", ["", "median, ms", "ninth decile, ms"],
                     [["bawn", *(f"{x / 1000:.2f}" for x in start)]]))
    s.budgets.append(Budget("egress: start of the proxy", start[0] / 1000, 1.5, "ms"))
    # Throughput on a shared machine drifts by more than what is measured: compare within each round.
    paired = [b / d for b, d in zip(r["bulk"]["bawn"], r["bulk"]["direct"])]
    s.notes.append(f"tunnel ÷ direct within each round: {min(paired):.2f} to {max(paired):.2f}, median "
                   f"{statistics.median(paired):.2f}; directly {min(r['bulk']['direct']):.0f} to "
                   f"{max(r['bulk']['direct']):.0f} MiB/s")
    s.budgets.append(Budget("egress: tunnel throughput ÷ direct, median of rounds", statistics.median(paired), 0.8,
                            at_least=True))
    s.budgets.append(Budget("egress: latency added to a request, median", (one["bawn"] - one["direct"]) / 1000, 0.2,
                            "ms"))
    for kind in ("keep", "close"):
        for peer in ("tinyproxy", "squid"):
            if peer in med[kind]:
                s.budgets.append(Budget(f"egress: requests per second ÷ {peer} ({kind})",
                                        med[kind]["bawn"] / med[kind][peer], 1, at_least=True))
    for name, why in r["absent"].items():
        s.notes.append(f"{name}: not measured, {why}")
    return s


if __name__ == "__main__":
    lab = Lab(sys.argv[1], sys.argv[2], sys.argv[3] == "quick")
    try:
        print(json.dumps(lab.measure()))
    finally:
        lab.close()
