# SPDX-License-Identifier: Apache-2.0
"""Row 98: WebAssembly modules. $WASM_PROBE is the module, $BAWN_WASM the program that runs it inside the wall."""

import os
import threading

from lib import Fail, Skip, case

TAKING = threading.Lock()
LIBRARY = "libwasmtime.so"


def library(runner):
    """Where backend/wasm/find.c looks first and last."""
    here = os.path.dirname(os.path.abspath(runner))
    for path in (f"{here}/{LIBRARY}", f"{here}/../build-deps/wasmtime/{LIBRARY}"):
        if os.path.exists(path):
            return path
    raise Skip(f"no {LIBRARY} beside bawn-wasm or in build-deps (tools/wasmtime.sh)")


def tools(suite):
    """The program and the library beside the suite's copy of bawn, where both identities reach them."""
    runner, probe = os.environ.get("BAWN_WASM"), os.environ.get("WASM_PROBE")
    if not (runner and probe and os.path.exists(runner) and os.path.exists(probe)):
        raise Skip("no module (apt-get install clang lld wasi-libc libclang-rt-14-dev-wasm32, then build again)")
    with TAKING:
        for path, name in ((runner, "bawn-wasm"), (library(runner), LIBRARY), (probe, "probe.wasm")):
            if not os.path.exists(f"{suite.base}/{name}"):
                suite.take(path, name)


def receipt_act(t):
    """What to run for this backend's receipt: it runs modules only."""
    tools(t.suite)
    t.copy(t.suite.base + "/probe.wasm", t.ws + "/m.wasm")
    return (t.ws + "/m.wasm", "hello")


def start(t):
    """The module in the workspace; it has run once, so that its compiled form is in the cache."""
    r = t.bawn(receipt_act(t))
    if r.out != "hello\n":
        raise Fail(f"a harmless module should run: {r}")
    return sorted(os.listdir(t.base + "/state/bawn/wasm"))[0]


def outside(t, compiled, *act):
    """The same act by the same module without any wall and with everything granted: it must work."""
    argv = [t.suite.base + "/bawn-wasm", "run", f"{t.suite.base}/{LIBRARY}", f"{t.base}/state/bawn/wasm/{compiled}",
            "rw=/", "--", "m.wasm", *act]
    r = t.finish(t.popen(argv), 60)
    if r.code != 0:
        t.skip_act(f"{' '.join(act)}: fails outside as well ({r.out.strip()}): needs a host where it works")
        return False
    t.outside_ok()
    return True


def by_host(t, text):
    """The same act by a program of the host, for what the run time refuses whatever is granted."""
    if t.host(text).code != 0:
        t.skip_act(f"{text}: fails outside as well: needs a host where it works")
        return False
    t.outside_ok()
    return True


def refused(t, compiled, *act, opts=(), setup=None, canary=None, host=None):
    if setup:
        setup()
    if not (by_host(t, host) if host else outside(t, compiled, *act)):
        return
    if setup:
        setup()
    r = t.bawn((t.ws + "/m.wasm", *act), opts)
    if r.code != 1 or "error" not in r.out:
        t.failed.append(f"{' '.join(act)}: {r} {r.out[:80]!r}; expected an error")
    if canary:
        canary()


def wasm(title, *controls):
    return case(98, title, *controls, tiers=("wasm",))


@wasm("a symlink that leads out of a granted directory", "fs.read", "fs.write")
def _(t):
    key = t.file(t.out + "/key")
    c = start(t)
    t.link(key, t.ws + "/abs")
    t.link("../out/key", t.ws + "/rel")
    t.link(t.out, t.ws + "/dir")
    t.link("/proc/self/root", t.ws + "/root")
    for path in ("abs", "rel", "dir/key"):
        refused(t, c, "cat", f"{t.ws}/{path}", host=f"cat {t.ws}/{path}")
        refused(t, c, "write", f"{t.ws}/{path}", setup=lambda: t.file(key), canary=lambda: t.same(key),
                host=f"echo x >{t.ws}/{path}")
    refused(t, c, "cat", f"{t.ws}/root{key}", host=f"cat {t.ws}/root{key}")
    refused(t, c, "cat", t.ws + "/rel")


@wasm("paths outside by any spelling", "fs.read")
def _(t):
    key = t.file(t.out + "/key")
    c = start(t)
    for path in (key, t.ws + "/../out/key", t.ws + "/./../out//key", t.home + "/../out/key"):
        refused(t, c, "cat", path)
    refused(t, c, "list", t.out)


@wasm("hard link and rename between a read-only and a writable directory", "fs.write")
def _(t):
    ro, rw = t.base + "/ro", t.base + "/rw"
    keep, mine = ro + "/keep", rw + "/mine"
    c = start(t)

    def setup():
        t.gone(ro, rw)
        t.file(keep)
        t.file(mine, "mine\n")

    def canary():
        t.same(keep)
        if os.listdir(ro) != ["keep"] or os.stat(keep).st_nlink != 1:
            raise Fail(f"the read-only directory holds {os.listdir(ro)}, {os.stat(keep).st_nlink} links")
        t.same(mine, "mine\n")

    opts = ["--ro", ro, "--rw", rw]
    for act in (("link", keep, rw + "/link"), ("link", keep, t.ws + "/link"), ("link", mine, ro + "/link"),
                ("rename", keep, rw + "/moved"), ("rename", mine, ro + "/moved"), ("rename", mine, keep)):
        t.gone(t.ws + "/link")
        refused(t, c, *act, opts=opts, setup=setup, canary=canary)


@wasm("writing, cutting and removing in a read-only directory", "fs.write")
def _(t):
    ro = t.base + "/ro"
    keep = ro + "/keep"
    c = start(t)

    def setup():
        t.gone(ro)
        t.file(keep)

    for act in (("write", keep), ("truncate", keep), ("unlink", keep)):
        refused(t, c, *act, opts=["--ro", ro], setup=setup, canary=lambda: t.same(keep))
    for act in (("write", ro + "/new"), ("mkdir", ro + "/new"), ("symlink", "x", ro + "/new")):
        refused(t, c, *act, opts=["--ro", ro], setup=setup, canary=lambda: t.absent(ro + "/new"))


@wasm("memory.grow without end", "limit.memory")
def _(t):
    start(t)
    t.outside_ok()
    r = t.bawn((t.ws + "/m.wasm", "grow"), ["--memory", "96m"])
    if r.code != 0 or not r.out.strip().isdigit() or int(r.out) >= 96:
        t.failed.append(f"grow in 96 MiB: {r} {r.out[:40]!r}")


@wasm("a loop without end: fuel, and the clock", "limit.time")
def _(t):
    start(t)
    t.outside_ok()
    policy = t.file(t.base + "/fuel.yaml", "enforcement: {wasm: {fuel_limit: 5000000}}\n")
    r = t.bawn((t.ws + "/m.wasm", "loop"), ["--policy", policy])
    if r.code != 152 or "fuel" not in r.err:
        t.failed.append(f"fuel did not stop it: {r}")
    r = t.bawn((t.ws + "/m.wasm", "loop"), ["--timeout", "1s"])
    if r.code != 124 or r.limit != "time":
        t.failed.append(f"the clock did not stop it: {r}")


@wasm("no sockets", "net.none")
def _(t):
    start(t)
    t.outside_ok()
    r = t.bawn((t.ws + "/m.wasm", "sockets"))
    if r.out != "none\n":
        t.failed.append(f"there are sockets: {r.out[:80]!r}")


@wasm("a compiled module that somebody else put into the cache", "fs.write")
def _(t):
    name = start(t)
    t.outside_ok()
    path = f"{t.base}/state/bawn/wasm/{name}"
    with open(path, "rb") as f:
        whole = f.read()
    os.chmod(path, 0o666)
    r = t.bawn((t.ws + "/m.wasm", "hello"), refused=True)
    if r.code != 125 or "not made by us" not in r.err:
        t.failed.append(f"a file that others can write is used: {r}")
    os.chmod(path, 0o600)
    with open(path, "wb") as f:
        f.write(whole[:100] + b"\xcc" * (len(whole) - 100))
    r = t.bawn((t.ws + "/m.wasm", "hello"))
    if r.out != "hello\n":
        t.failed.append(f"a damaged file is not made anew: {r}")
    r = t.bawn((t.ws + "/m.wasm", "write", path))
    if r.code != 1:
        t.failed.append(f"a module can write into the cache: {r}")
