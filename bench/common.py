# SPDX-License-Identifier: Apache-2.0
"""What every measurement needs: a directory of its own, helpers, bounded children, progress."""
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

USER = 1000  # the ordinary user; needs no entry in /etc/passwd


@dataclasses.dataclass
class Budget:
    what: str
    value: float
    limit: float
    unit: str = "×"
    at_least: bool = False

    @property
    def met(self):
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclasses.dataclass
class Section:
    title: str
    text: str
    tables: list = dataclasses.field(default_factory=list)  # (caption, header, rows)
    budgets: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Timing:
    median: float  # microseconds
    p90: float
    failed: int
    runs: int
    rss_kib: int


class Bench:
    """One run of the benchmarks: where it works, as whom, how much."""

    def __init__(self, build, quick):
        self.build = pathlib.Path(build).resolve()
        self.source = pathlib.Path(__file__).resolve().parent
        self.quick = quick
        self.as_root = os.geteuid() == 0
        # not below /tmp: some of the compared programs refuse to keep their state there
        # Neither /tmp nor /var/tmp, which the contenders replace by private ones.
        base = next(d for d in ("/srv", "/opt", os.path.expanduser("~")) if os.access(d, os.W_OK))
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=base))
        self.top.chmod(0o755)
        self.bin = self.top / "bin"
        self.bin.mkdir()

    def __enter__(self):
        self.say("building the helpers")
        self.run(["ninja", "-C", str(self.build), "bawn", "bawn-egress", "bawn-egress-tls", "bench-tools"], timeout=600)
        shutil.copy(self.build / "bawn", self.bin)
        shutil.copy(self.build / "bawn-egress", self.bin)
        for name in ("spawn", "floor", "many", "files", "loop", "audit-tool"):
            shutil.copy(self.build / "bench" / name, self.bin)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top, ignore_errors=True)

    def say(self, text):
        """Progress, on standard error; rewrites its line on a terminal."""
        if sys.stderr.isatty():
            print(f"\r\033[K\033[2m· {text}\033[0m", end="", file=sys.stderr, flush=True)
        else:
            print(f"· {text}", file=sys.stderr, flush=True)

    @property
    def bawn(self):
        return str(self.bin / "bawn")

    def place(self, name, user=False):
        """A home and a workspace that belong to whoever will use them."""
        top = self.top / name
        for path in (top, top / "home", top / "ws"):
            path.mkdir()
            if user:
                os.chown(path, USER, USER)
        return Place(self, top, user)

    def run(self, command, timeout=120, check=True, **kw):
        """A bounded child; on failure the error names the command's last words."""
        kw.setdefault("stdin", subprocess.DEVNULL)
        done = subprocess.run(command, timeout=timeout, text=True, capture_output=True, **kw)
        if check and done.returncode:
            words = (done.stderr or done.stdout).strip().splitlines() or ["(silent)"]
            raise RuntimeError(f"{pathlib.Path(command[0]).name}: {self.hide(words[-1])}")
        return done

    def hide(self, text):
        """No path of this machine in what is written down."""
        for path, name in ((self.top, "$TOP"), (self.build, "$BUILD"), (self.source.parent, "$SRC")):
            text = text.replace(str(path), name)
        return text[:160]


@dataclasses.dataclass
class Place:
    bench: Bench
    top: pathlib.Path
    user: bool

    @property
    def ws(self):
        return self.top / "ws"

    @property
    def env(self):
        home = self.top / "home"
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(home), "LANG": "C",
               "GIT_CONFIG_NOSYSTEM": "1"}
        for kind in ("CONFIG", "STATE", "CACHE", "DATA"):
            env[f"XDG_{kind}_HOME"] = str(home / kind.lower())
        return env

    def run(self, command, timeout=300, check=True, **kw):
        if self.user:
            command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command]
        return self.bench.run(command, timeout, check, cwd=self.ws, env=self.env, **kw)

    def times(self, commands, rounds, seconds=120):
        """Each command once per round, in turn."""
        line = [str(self.bench.bin / "spawn"), str(rounds), str(seconds)]
        for command in commands:
            line += [":::", *map(str, command)]
        out = self.run(line, timeout=seconds * 2 + 60).stdout
        rows = [row.split() for row in out.strip().splitlines()]
        return [Timing(float(r[0]), float(r[1]), int(r[2]), int(r[3]), int(r[4])) for r in rows]


def ms(us):
    return f"{us / 1000:.2f}"


def ratio(a, b):
    return f"{a / b:.2f}" if b else "–"
