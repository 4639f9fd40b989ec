# SPDX-License-Identifier: Apache-2.0
"""Many runs, one after another and at once: nothing may be left, nothing may grow."""
import os
import pathlib
import statistics

from common import Budget, Section
from startup import TRUE, bwrap_command

# In a mount namespace of its own, where nobody else makes mounts or files in /tmp.
SCRIPT = """
mount -t tmpfs tmpfs /tmp || exit 9
count() { echo "$(wc -l </proc/self/mountinfo) $(find /tmp "$PWD" | wc -l)"; }
before=$(count)
"$@" || exit 8
echo "$before $(count)"
"""


def ours_alive(bench):
    """Processes of our copy of the program; others may be running theirs."""
    n = 0
    for entry in pathlib.Path("/proc").glob("[0-9]*/exe"):
        try:
            n += os.readlink(entry).startswith(str(bench.bin))
        except OSError:
            pass
    return n


def dead_groups():
    """Control groups of runs whose process is gone."""
    found = set()
    for path, directories, _ in os.walk("/sys/fs/cgroup"):
        for d in directories:
            owner = d.split("-")[1] if d.startswith("bawn-") and d.count("-") >= 2 else ""
            if owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
                found.add(os.path.join(path, d))
    return found


def own_mounts(bench):
    """A root of a container may not be allowed to have them; then only the rest is counted."""
    return bench.as_root and bench.run(["unshare", "--mount", "true"], check=False).returncode == 0


def runs(bench, place, total, at_once, command):
    """[runs per second, failed, mounts more, files more]"""
    line = [str(bench.bin / "many"), str(total), str(at_once), *command]
    if own_mounts(bench):
        line = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh", *line]
    out = place.run(line, timeout=900).stdout.split()
    counts = [int(v) for v in out[2:6]] if len(out) == 6 else [0, 0, 0, 0]
    return [float(out[0]), int(out[1]), counts[2] - counts[0], counts[3] - counts[1]]


def in_turn(bench, place, total, at_once, commands):
    """Four parts, the commands in turn: the speeds' median and the sums of the rest, per command."""
    seen = [[] for _ in commands]
    for _ in range(4):
        for mine, command in zip(seen, commands):
            mine.append(runs(bench, place, total // 4, at_once, command))
    return [[statistics.median(r[0] for r in mine), *(sum(r[i] for r in mine) for i in (1, 2, 3))]
            for mine in seen]


def measure(bench):
    total = 80 if bench.quick else 1000
    place = bench.place("endurance")
    bwrap = bwrap_command(bench, place)
    bawn = [bench.bawn, "run", "--", TRUE]
    s = Section("Endurance", f"{total:,} runs of `/bin/true`, one after another and 64 at once, and "
                f"{total:,} through the library in one process (`bawn_run`). Left over means: more than "
                "before. Mounts and files (in /tmp and in the workspace) are counted in a mount "
                "namespace of the measurement's own, processes and control groups on the whole host.")
    place.run(bawn)
    rows = []
    left = 0
    for at_once in (1, 64):
        bench.say(f"endurance: {total} runs, {at_once} at once")
        groups = dead_groups()
        mine, other = in_turn(bench, place, total, at_once, [bawn, bwrap])
        speed, failed, mounts, files = mine
        peer, peer_failed = other[:2]
        alive, stale = ours_alive(bench), len(dead_groups() - groups)
        left += failed + max(mounts, 0) + max(files, 0) + alive + stale
        rows.append([f"{at_once} at once", f"{speed:.0f}", f"{peer:.0f}", f"{speed / peer:.2f}",
                     f"{failed} / {peer_failed}", str(alive), str(mounts), str(stale), str(files)])
    s.tables.append(("", ["", "bawn runs/s", "bwrap runs/s", "bawn ÷ bwrap", "failed (bawn / bwrap)",
                          "processes left", "mounts left", "control groups left", "files left"], rows))
    bench.say(f"endurance: {total} runs through the library")
    out = place.run([str(bench.bin / "loop"), str(total)], timeout=600).stdout.split()
    failed, early, late, fds_early, fds_late = map(int, out[:5])
    s.tables.append(("Through the library, in one process", ["", "after a tenth", "at the end", "growth"], [
        ["resident memory, KiB", str(early), str(late), str(late - early)],
        ["open descriptors", str(fds_early), str(fds_late), str(fds_late - fds_early)],
        ["failed runs", "", str(failed), ""], ["runs per second", "", out[5], ""]]))
    s.budgets += [Budget("failed runs and things left over", left + failed, 0, ""),
                  Budget("descriptors that the library's user gains", fds_late - fds_early, 0, ""),
                  Budget("memory that the library's user gains, KiB", late - early, 256, "")]
    return s
