# SPDX-License-Identifier: Apache-2.0
"""Namespaces made by the test, and the door in one of them. No packet leaves the machine.

The test process is in a namespace of its own with the door; world.py is in another; a veth pair joins them.
"""
import array
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
WAIT = 60  # seconds until something that should happen at once counts as a failure: others use the processor, too


def enter():
    """Run again inside new namespaces, as whoever we are."""
    if os.environ.get("BAWN_TEST_NET"):
        return
    for tool in ("unshare", "ip", "openssl"):
        if not shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            print(f"1..0 # SKIP {tool} is not installed (apt-get install iproute2 util-linux openssl)")
            sys.exit(0)
    line = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*line, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"],
                      capture_output=True, check=False).returncode:
        print("1..0 # SKIP no network namespaces or veth here: run as root, or allow user namespaces (sysctl user.max_user_namespaces)")
        sys.exit(0)
    env = dict(os.environ, BAWN_TEST_NET="1", PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    os.execvpe("unshare", [*line, sys.executable, "-B", *sys.argv], env)


def program(name="bawn-egress"):
    """The door is beside bawn."""
    bawn = os.environ.get("BAWN") or HERE.parents[2] / "build/bawn"
    return str(pathlib.Path(bawn).resolve().parent / name)


def sh(text):
    subprocess.run(text, shell=True, check=True)


class World:
    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="bawn-egress-"))
        self.dir.chmod(0o755)
        cert = self.dir / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", str(cert), "-out", str(self.dir / "crt"), "-subj", "/CN=test", "-days", "30",
                        "-addext", "subjectAltName=DNS:a.test,DNS:*.test,DNS:*.w.test,IP:93.184.215.14"],
                       check=True, capture_output=True)
        with open(cert, "ab") as f:
            f.write((self.dir / "crt").read_bytes())
        self.make_past_certificate(cert)
        ready, go = os.pipe(), os.pipe()
        script = ("ip link set lo up; while ! ip link set v1 up 2>/dev/null; do sleep 0.01; done; "
                  "ip addr add 198.51.100.2/24 dev v1; "
                  "for a in 93.184.215.14 93.184.215.15 93.184.215.16 93.184.215.53; do ip addr add $a/32 dev lo; done; "
                  "ip -6 addr add fd99::2/64 dev v1 nodad; ip -6 addr add 2606:2800:21f::14/128 dev lo nodad; "
                  f"exec {sys.executable} -B {HERE / 'world.py'} {cert}")
        for fd in (*ready, *go):
            os.close(fd)
        self.process = subprocess.Popen(["unshare", "--net", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        mine = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.process.pid}/ns/net") == mine:
            time.sleep(0.005)
        sh("ip link set lo up; ip link add v0 type veth peer name v1; "
           f"ip link set v1 netns {self.process.pid}; ip link set v0 up; ip addr add 198.51.100.1/24 dev v0; "
           "ip -6 addr add fd99::1/64 dev v0 nodad; ip route add default via 198.51.100.2; "
           "ip -6 route add default via fd99::2")
        assert self.process.stdout.readline() == "ready\n"

    def make_past_certificate(self, cert):
        """The same key with a certificate of long ago, for who trusts it."""
        past, conf = pathlib.Path(str(cert) + ".past"), self.dir / "past.conf"
        conf.write_text("[ca]\ndefault_ca=d\n[d]\ndatabase=%s/index\nserial=%s/serial\nnew_certs_dir=%s\ndefault_md=sha256\n"
                        "policy=p\ncopy_extensions=copy\n[p]\ncommonName=supplied\n" % ((self.dir,) * 3))
        (self.dir / "index").write_text("")
        (self.dir / "serial").write_text("01\n")
        subprocess.run(["openssl", "req", "-new", "-key", str(cert), "-subj", "/CN=past", "-out", str(self.dir / "csr"),
                        "-addext", "subjectAltName=DNS:*.w.test"], check=True, capture_output=True)
        subprocess.run(["openssl", "ca", "-batch", "-config", str(conf), "-selfsign", "-keyfile", str(cert), "-in",
                        str(self.dir / "csr"), "-out", str(self.dir / "past.crt"), "-notext", "-startdate", "20200101000000Z",
                        "-enddate", "20200201000000Z"], check=True, capture_output=True)
        past.write_bytes(cert.read_bytes().split(b"-----BEGIN CERTIFICATE")[0] + (self.dir / "past.crt").read_bytes())
        (self.dir / "roots").write_bytes((self.dir / "crt").read_bytes() + (self.dir / "past.crt").read_bytes())

    def tell(self, what="tell"):
        s = socket.create_connection(("198.51.100.2", 9000), timeout=WAIT)
        s.sendall(what.encode() + b"\n")
        data = b""
        while more := s.recv(65536):
            data += more
        return json.loads(data)

    def reset(self):
        self.tell("reset")

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def listener(port=0, addr="127.0.0.1", kind=socket.SOCK_STREAM):
    family = socket.AF_INET6 if ":" in addr else socket.AF_INET
    s = socket.socket(family, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind((addr, port))
    if kind == socket.SOCK_STREAM:
        s.listen(4096)
    return s


def start(program, control):
    """The door with its end of the pair as descriptor 3."""
    os.set_inheritable(control.fileno(), True)
    return subprocess.Popen([program], pass_fds=[3], env={}, stdin=subprocess.DEVNULL,
                            preexec_fn=lambda: os.dup2(control.fileno(), 3))


class Door:
    """bawn-egress with a control socket; the protocol of control.h."""

    def __init__(self, program, listen=("proxy",), **config):
        self.config = {"mode": "allowlist", "allow": [], "resolver": ["93.184.215.53:53"], **config}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control, self.events, self.ports, self.said = ours, [], {}, b""
        self.process = start(program, theirs)
        theirs.close()
        ours.settimeout(WAIT)
        self.send({"config": self.config})
        self.ca = self.wait("ca")["ca"] if self.config.get("secrets") else None
        for item in listen:
            kind, port, addr = (item, 0, "127.0.0.1") if isinstance(item, str) else item
            s = listener(port if kind != "loopback" else 0, addr,
                         socket.SOCK_DGRAM if kind == "dns-udp" else socket.SOCK_STREAM)
            self.ports[kind] = s.getsockname()[1]
            self.send({"listen": kind, "port": port or self.ports[kind]}, s)
            s.close()
        self.send({"go": True})
        self.wait("ready")
        self.pid = self.process.pid

    @property
    def port(self):
        return self.ports["proxy"]

    def send(self, message, passed=None):
        data = [json.dumps(message).encode()]
        extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [passed.fileno()]))] if passed else []
        try:
            self.control.sendmsg(data, extra)
        except (BrokenPipeError, ConnectionResetError):  # what it said before it went is more telling
            self.wait("nothing")

    def pull(self, timeout=0.0):
        while select.select([self.control], [], [], timeout)[0]:
            try:
                data = self.control.recv(65536)
            except ConnectionResetError:  # told once, before what it said last
                continue
            self.said += data
            if not data:
                self.events.append({"gone": True})
                return
            self.events += [json.loads(line) for line in data.decode().split("\n")]
            timeout = 0

    def wait(self, key, match=None):
        """The next event with this key; earlier ones are dropped."""
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            while self.events:
                e = self.events.pop(0)
                if key in e and (match is None or all(e.get(k) == v for k, v in match.items())):
                    return e
                if "error" in e and key != "error":
                    raise AssertionError(e["error"])
                if "gone" in e:
                    raise AssertionError("the door is gone")
            self.pull(1)
        raise AssertionError(f"no '{key}' came")

    def reload(self, **config):
        self.config.update(config)
        self.send({"config": self.config})

    def stats(self):
        self.send({"stats": True})
        hosts, end = {}, time.monotonic() + WAIT
        while True:
            assert time.monotonic() < end, "no statistics came"
            self.pull(1)
            while self.events:
                e = self.events.pop(0)
                if "stats" in e:
                    return e["stats"], hosts
                if "host" in e and "decision" not in e:
                    hosts[e["host"]] = e

    def connect(self, kind="proxy"):
        s = socket.create_connection(("127.0.0.1", self.ports[kind]), timeout=WAIT)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def close(self):
        self.control.close()
        try:
            self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read_all(s):
    data = b""
    try:
        while more := s.recv(65536):
            data += more
    except ConnectionResetError:
        data += b"<RST>"
    return data


def read_head(s):
    data = b""
    while b"\r\n\r\n" not in data:
        more = s.recv(1)
        if not more:
            break
        data += more
    return data


def read_answer(s):
    """(status, headers, body) of one response on a connection that may go on."""
    head = read_head(s)
    if not head:
        return 0, {}, b""
    lines = head.decode("latin-1").split("\r\n")
    h = {k.lower(): v for k, v in (x.split(": ", 1) for x in lines[1:] if x)}
    body = b""
    if h.get("transfer-encoding") == "chunked":
        while True:
            line = b""
            while not line.endswith(b"\r\n"):
                line += s.recv(1)
            n, got = int(line, 16), b""
            while len(got) < n + 2:
                got += s.recv(n + 2 - len(got))
            body += got[:-2]
            if not n:
                break
    elif "content-length" in h:
        while len(body) < int(h["content-length"]):
            more = s.recv(int(h["content-length"]) - len(body))
            if not more:
                break
            body += more
    return int(lines[0].split()[1]), h, body


def tap(tests, *args):
    """Run functions in turn; each can fail on its own."""
    only = os.environ.get("ONLY")
    tests = [t for t in tests if not only or only in t.__name__]
    print(f"1..{len(tests)}", flush=True)
    bad = 0
    for i, t in enumerate(tests, 1):
        name = t.__name__.replace("_", " ")
        signal.alarm(WAIT * 6)
        try:
            why = t(*args)
            print(f"ok {i} - {name}" + (f" # SKIP {why}" if why else ""), flush=True)
        except Exception as e:  # the others are still worth running
            bad += 1
            tb = e.__traceback__
            while tb.tb_next:
                tb = tb.tb_next
            print(f"not ok {i} - {name}\n# {type(e).__name__}: {e} (line {tb.tb_lineno})", flush=True)
        signal.alarm(0)
    return 1 if bad else 0


def main(names):
    """Run every function of a test file that takes the world."""
    enter()
    world = World()
    try:
        return tap([f for f in list(names.values()) if getattr(f, "__code__", None)
                    and f.__code__.co_varnames[:1] == ("world",)], world)
    finally:
        world.close()
