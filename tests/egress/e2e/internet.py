# SPDX-License-Identifier: Apache-2.0
"""
An internet of the test's own: two network namespaces joined by a cable. In `here` stands the host on which bawn runs,
with a loopback service and a private address; behind it are servers on addresses that look public (servers.py). Needs
no privilege but user namespaces; as root it uses none.
"""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import servers  # noqa: E402

SAN = ("example.org", "*.example.org", "api.example.com", "evil.example.net", "*.evil.example.net")
PYTHON = "/usr/bin/python3"


# where Debian has a program in a package of another name
PACKAGES = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "node": "nodejs", "getent": "libc-bin"}


class Missing(Exception):
    """What the test would need is not to be had here."""


def sh(prefix, *lines):
    done = subprocess.run([*prefix, "sh", "-ec", "\n".join(lines)], capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"the test's network cannot be made, needs veth and user namespaces or root: {done.stderr.strip()[:200]}")


class World:
    def __init__(self, base):
        self.base = base
        self.procs = []
        os.makedirs(base, exist_ok=True)
        os.chmod(base, 0o755)
        for need in ("ip", "unshare", "nsenter", "openssl"):
            if not shutil.which(need):
                raise Missing(f"'{need}' is not installed (apt-get install {PACKAGES.get(need, need)})")
        self.root = os.geteuid() == 0
        try:
            self.certificates()
            self.contents()
            self.network()
        except BaseException:
            self.close()
            raise

    # what the servers have ----------------------------------------------------------------------------------
    def certificates(self):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
        ca, leaf = self.base + "/ca", self.base + "/leaf"
        for cmd in (["-subj", "/CN=test CA", "-keyout", ca + ".key", "-out", ca + ".pem",
                     "-addext", "keyUsage=critical,keyCertSign,cRLSign"],
                    ["-subj", "/CN=test", "-keyout", leaf + ".key", "-out", leaf + ".pem", "-CA", ca + ".pem",
                     "-CAkey", ca + ".key", "-addext", "basicConstraints=CA:FALSE",
                     "-addext", "subjectAltName=" + ",".join("DNS:" + n for n in SAN)]):
            subprocess.run(["openssl", "req", "-x509", *key, *cmd], check=True, capture_output=True)
        self.ca = ca + ".pem"

    def contents(self):
        files = self.base + "/files"
        os.makedirs(files + "/simple/demo", exist_ok=True)
        wheel = "demo-1.0-py3-none-any.whl"
        with zipfile.ZipFile(f"{files}/{wheel}", "w") as z:
            z.writestr("demo.py", "x = 1\n")
            z.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
            z.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            z.writestr("demo-1.0.dist-info/RECORD", "")
        with open(files + "/simple/demo/index.html", "w") as f:
            f.write(f'<!DOCTYPE html><a href="/files/{wheel}">{wheel}</a>\n')
        manifest = json.dumps({"name": "demo", "version": "1.0.0"}).encode()
        tgz = io.BytesIO()
        with tarfile.open(fileobj=tgz, mode="w:gz") as t:
            info = tarfile.TarInfo("package/package.json")
            info.size = len(manifest)
            t.addfile(info, io.BytesIO(manifest))
        with open(files + "/demo-1.0.0.tgz", "wb") as f:
            f.write(tgz.getvalue())
        digest = base64.b64encode(hashlib.sha512(tgz.getvalue()).digest()).decode()
        dist = {"tarball": "https://npm.example.org/files/demo-1.0.0.tgz", "integrity": "sha512-" + digest}
        os.makedirs(files + "/npm", exist_ok=True)
        with open(files + "/npm/demo", "w") as f:
            json.dump({"name": "demo", "dist-tags": {"latest": "1.0.0"},
                       "versions": {"1.0.0": {"name": "demo", "version": "1.0.0", "dist": dist}}}, f)
        if shutil.which("git"):
            env = {**os.environ, "HOME": self.base, "GIT_CONFIG_NOSYSTEM": "1"}
            work = self.base + "/work"
            for cmd in (["git", "init", "-q", work],
                        ["git", "-C", work, "-c", "user.name=t", "-c", "user.email=t@t.test", "commit", "-q",
                         "--allow-empty", "-m", "cloned"],
                        ["git", "clone", "-q", "--bare", work, files + "/repo.git"],
                        ["git", "-C", files + "/repo.git", "update-server-info"]):
                subprocess.run(cmd, check=True, capture_output=True, env=env)

    # the network -------------------------------------------------------------------------------------------
    def start(self, prefix, *cmd):
        p = subprocess.Popen([*prefix, *cmd], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        self.procs.append(p)
        return p

    @staticmethod
    def say(p, word):
        p.stdin.write(word + "\n")
        p.stdin.flush()

    def network(self):
        who = [] if self.root else ["--user", "--map-root-user"]
        hold = ["sh", "-c", "echo ready; read x"]
        here = self.start(["unshare", *who, "--net", "--mount", "--propagation", "private"], *hold)
        if here.stdout.readline().strip() != "ready":
            raise Missing(f"no network namespace, run as root or allow user namespaces: {here.stderr.read().strip()[:150]}")
        user = [] if self.root else ["--user", "--preserve-credentials"]
        self.enter = ["nsenter", "--target", str(here.pid), *user, "--net", "--mount", "--"]
        run = [PYTHON, "-B", HERE + "/servers.py"]
        there = self.start([*self.enter, "unshare", "--net"], *run, "internet", self.base)
        local = self.start(self.enter, *run, "host", self.base)
        with open(self.base + "/resolv.conf", "w") as f:
            f.write(f"nameserver {servers.DNS}\noptions timeout:2 attempts:1\n")
        other = self.inside_of(there)
        sh(self.enter, "ip link set lo up", "ip link add cable type veth peer name far",
           f"ip link set far netns {other}",
           f"ip addr add {servers.HOST}/24 dev cable", "ip -6 addr add fd77::1/64 dev cable nodad",
           "ip link set cable up", f"mount --bind {self.base}/resolv.conf /etc/resolv.conf")
        far = ["nsenter", "--target", str(other), *user, "--net", "--"]
        sh(far, "ip link set lo up", f"ip addr add {servers.ROUTER}/24 dev far",
           "ip -6 addr add fd77::2/64 dev far nodad", "ip link set far up",
           *[f"ip addr add {a}/{'128' if ':' in a else '32'} dev lo{' nodad' if ':' in a else ''}"
             for a in (*servers.PUBLIC, servers.METADATA)])
        sh(self.enter, f"ip route add default via {servers.ROUTER}", "ip -6 route add default via fd77::2")
        for p in (there, local):
            self.say(p, "go")
            if p.stdout.readline().strip() != "ready":
                raise Missing(f"a server did not start: {p.stderr.read().strip()[-300:]}")

    @staticmethod
    def inside_of(p):
        """The process in the new namespace: unshare became it by exec."""
        before = os.readlink("/proc/self/ns/net")
        for _ in range(3000):  # a minute
            with open(f"/proc/{p.pid}/cmdline", "rb") as f:
                if b"servers.py" in f.read().split(b"\0", 2)[-1] and os.readlink(f"/proc/{p.pid}/ns/net") != before:
                    with open(f"/proc/{p.pid}/comm") as g:
                        if g.read().startswith("python"):
                            return p.pid
            time.sleep(0.02)
        raise Missing("a server's process did not appear")

    def as_user(self, uid, gid):
        """A prefix that ends up in `here` as that user; only root can."""
        return [*self.enter, "setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--inh-caps=-all", "--"]

    # what was seen -----------------------------------------------------------------------------------------
    def mark(self):
        try:
            return os.path.getsize(self.base + "/log")
        except OSError:
            return 0

    def seen(self, mark, **like):
        with open(self.base + "/log", "a+") as f:
            f.seek(mark)
            lines = [json.loads(x) for x in f.read().splitlines()]
        return [x for x in lines if all(x.get(k) == v for k, v in like.items())]

    def close(self):
        for p in reversed(self.procs):
            try:
                p.stdin.close()
            except OSError:
                pass
            try:
                p.wait(3)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
            for s in (p.stdout, p.stderr):
                s.close()
