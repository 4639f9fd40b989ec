# SPDX-License-Identifier: Apache-2.0
"""What it costs to start a command that does nothing, next to bare exec and to other sandboxes."""
import json
import shutil

from common import Budget, Section, ms, ratio

TRUE = "/bin/true"
UNSHARE = ["--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork"]
PEERS = {"srt": "@anthropic-ai/sandbox-runtime", "codex": "@openai/codex"}


def bwrap_command(bench, place):
    """bwrap with the binds of bawn's own plan; what bawn hides or writes in addition is left out."""
    plan = json.loads(place.run([bench.bawn, "explain", "--json", "--", "true"]).stdout)["plan"]
    line = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--proc", "/proc", "--dev", "/dev"]
    for m in plan["mounts"]:
        how = {"read": ["--ro-bind", m["source"]], "write": ["--bind", m["source"]],
               "symlink": ["--symlink", m["source"]], "private": ["--tmpfs"]}.get(m["kind"])
        if how:
            line += [*how, m["path"]]
    return [*line, "--chdir", str(place.ws), TRUE]


def install_peers(bench):
    """{name: command} of what npm could install, and why the others could not."""
    found, missing = {}, []
    prefix = bench.top / "npm"
    for name, package in PEERS.items():
        bench.say(f"start-up: npm install {package}")
        try:
            bench.run(["npm", "install", "--prefix", str(prefix), "--no-audit", "--no-fund", package],
                      timeout=240)
        except Exception as e:  # any reason at all: it is only not compared
            missing.append(f"{package}: not installed ({type(e).__name__})")
            continue
        if name == "srt":
            found[name] = [str(prefix / "node_modules/.bin/srt"), "-c", TRUE]
        else:  # the program itself, without the node script that starts it
            real = sorted(prefix.glob("node_modules/@openai/codex-*/vendor/*/bin/codex"))
            found[name] = [str(real[0] if real else prefix / "node_modules/.bin/codex"),
                           "sandbox", "--", TRUE]
    return found, missing


def contenders(bench, place, peers):
    """(name, command, slow)"""
    bawn = bench.bawn
    bwrap = bwrap_command(bench, place)
    anew = place.top / "anew.yaml"
    anew.write_text("detection: {memo: false}\n", encoding="ascii")
    anew.chmod(0o644)
    rows = [("bare exec", [TRUE], False),
            ("unshare, 6 namespaces", [shutil.which("unshare"), *UNSHARE, TRUE], False),
            ("bwrap --unshare-all, same binds", bwrap, False),
            ("floor: a minimal C program, same binds", [str(bench.bin / "floor"), *bwrap[1:]], False),
            ("**bawn run**", [bawn, "run", "--", TRUE], False),
            ("bawn run, command inspected anew", [bawn, "run", "--policy", str(anew), "--", TRUE], False),
            ("bawn run --net allowlist", [bawn, "run", "--net", "allowlist", "--allow-host", "*.example.org", "--", TRUE],
             False),
            ("bawn run --backend landlock", [bawn, "run", "--backend", "landlock", "--", TRUE], False)]
    if shutil.which("firejail"):
        rows.append(("firejail --noprofile --net=none --private …",
                     [shutil.which("firejail"), "--quiet", "--noprofile", "--net=none", "--private",
                      "--private-dev", "--private-tmp", "--caps.drop=all", "--seccomp",
                      "--nonewprivs", TRUE], True))
    for name, command in peers.items():
        rows.append((f"{name} ({PEERS[name]})", command, True))
    return rows


def works(bench, place, name, command, notes):
    try:
        place.run(command, timeout=60)
        return True
    except Exception as e:  # a peer that does not work here is reported, not fatal
        notes.append(f"{name}: not measured, {bench.hide(str(e))}")
        return False


def table(bench, place, who, peers, notes):
    """One table; also bawn's two ratios."""
    all_of = contenders(bench, place, peers)
    usable = [c for c in all_of if works(bench, place, f"{who}: {c[0]}", c[1], notes)]
    fast = [c for c in usable if not c[2]]
    slow = [c for c in usable if c[2]]
    bench.say(f"start-up as {who}: {len(fast)} contenders in turn")
    got = place.times([c[1] for c in fast], 10 if bench.quick else 200)
    rows, numbers = [], {}
    for (name, _, _), t in zip(fast, got):
        numbers[name] = t
    bare, bwrap = numbers["bare exec"], numbers.get("bwrap --unshare-all, same binds")
    for name, t in numbers.items():
        rows.append([name, ms(t.median), ms(t.p90), ratio(t.median, bwrap.median) if bwrap else "–",
                     ratio(t.median, bare.median), str(t.failed)])
    if slow:
        bench.say(f"start-up as {who}: {len(slow)} slow contenders in turn")
        base = [c for c in fast if c[0].startswith(("bare", "bwrap"))]
        got = place.times([c[1] for c in base + slow], 3 if bench.quick else 20)
        for (name, _, _), t in list(zip(base + slow, got))[len(base):]:
            rows.append([name, ms(t.median), ms(t.p90),
                         ratio(t.median, got[1].median) if len(base) > 1 else "–",
                         ratio(t.median, got[0].median), str(t.failed)])
    head = ["what", "median ms", "p90 ms", "× bwrap", "× bare exec", "failed"]
    mine = numbers.get("**bawn run**")
    budgets = []
    if mine and bwrap:
        budgets.append(Budget(f"start-up as {who} / bwrap", mine.median / bwrap.median, 0.6))
    door = numbers.get("bawn run --net allowlist")
    if mine and door:
        budgets.append(Budget(f"start-up as {who}: with the network on, in addition", (door.median - mine.median) / 1000,
                              3, "ms"))
    if mine:
        budgets.append(Budget(f"start-up as {who} / bare exec", mine.median / bare.median, 3))
    return (f"As {who}", head, rows), budgets


def measure(bench):
    s = Section("Start-up", "A command that does nothing (`/bin/true`), started with posix_spawn and "
                "waited for; all contenders once per round, round after round. bawn as it is by "
                "default: namespaces, Landlock, seccomp, path broker, limits, audit, and a command that it has inspected "
                "before (`detection.memo`); inspected anew each time in a row of its own. bwrap gets the "
                "binds of bawn's own plan (`bawn explain --json`), but hides nothing inside them, "
                "filters no system calls, sets no limits and keeps no record. The floor (`bench/floor.c`) makes "
                "the same namespaces and binds, a Landlock domain and a filter of four instructions, and "
                "nothing else: what the kernel takes at the least. The slow contenders "
                "are measured in a group of their own with bare exec and bwrap beside them.")
    peers, missing = ({}, ["npm packages: left out of a quick run"]) if bench.quick else install_peers(bench)
    s.notes += missing
    whos = [("root", False), ("an ordinary user", True)] if bench.as_root else [("an ordinary user", False)]
    for who, user in whos:
        place = bench.place("startup-user" if user else "startup", user)
        made, budgets = table(bench, place, who, peers, s.notes)
        s.tables.append(made)
        s.budgets += budgets
    return s
