# SPDX-License-Identifier: Apache-2.0
"""Surroundings that are not as they should be: disks, descriptors, limits, and kernels that lack a wall."""

import os
import shutil
import subprocess
import threading
import time

from lib import TIMEOUT, USER, Fail, Place, Skip, expect_refusal

TOUCH = ["sh", "-c", "touch started; echo hi"]


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root to prepare the place: run the suite as root")


def expect_ok(place, r):
    if r.code != 0 or r.out != "hi\n" or not place.started():
        raise Fail(f"expected a good run: {r}")


def expect_not_run(place, r, *words, codes=(125,)):
    expect_refusal(r, codes)
    if place.started():
        raise Fail(f"it ran all the same: {r}")
    for word in words:
        if word not in r.err:
            raise Fail(f"expected '{word}': {r}")


def in_mounts(place, setup):
    """Words that run a command in a mount namespace of its own, after `setup` as root."""
    need_root()
    return ["/usr/bin/unshare", "-m", "sh", "-c", f'{setup} && exec "$@"', "sh"]


# ---- disks and directories ----

def full_audit_disk(place):
    state = f"{place.home}/.local/state/bawn"
    owner = "" if place.identity == "root" else f",uid={USER},gid={USER}"
    before = in_mounts(place, f"mkdir -p {state} && chown -R --reference={place.home} {place.home}/.local && "
                       f"mount -t tmpfs -o size=4k,mode=700{owner} tmpfs {state} && head -c 9999 /dev/zero "
                       f"> {state}/fill 2>/dev/null; true")
    r = place.bawn("run", "--", *TOUCH, before=before)
    expect_not_run(place, r, "audit")


def audit_disk_fills_up_during_the_run(place):
    """The end still fits, or its absence is said."""
    state = f"{place.home}/.local/state/bawn"
    owner = "" if place.identity == "root" else f",uid={USER},gid={USER}"
    before = in_mounts(place, f"mkdir -p {state} && chown -R --reference={place.home} {place.home}/.local && "
                       f"mount -t tmpfs -o size=128k,mode=700{owner} tmpfs {state} && "
                       f"{{ (for i in $(seq 1000); do [ -e {place.ws}/started ] && break; sleep 0.05; done; "
                       f"head -c 999999 /dev/zero > {state}/fill; touch {place.ws}/full) >/dev/null 2>&1 & }}")
    r = place.run("/bin/sh", "-c", f"{place.suite.bawn} run -- sh -c 'touch started; until [ -e full ]; do sleep 0.05; done; "
                  "rm full; echo hi'; "
                  f"code=$?; grep -c '\"event\":\"end\"' {place.audit}; {place.suite.bawn} audit verify >/dev/null; "
                  "echo verify $?; exit $code", before=before)
    if not place.started() or r.code != 0 or "verify 0" not in r.out:
        raise Fail(str(r))
    if not r.out.startswith("hi\n1\n") and "not in the audit log" not in r.err:
        raise Fail(f"the end is lost without a word: {r}")


def read_only_state(place):
    before = in_mounts(place, f"mount --bind {place.home} {place.home} && mount -o remount,bind,ro {place.home}")
    expect_not_run(place, place.bawn("run", "--", *TOUCH, before=before), "audit")


def state_is_a_file(place):
    with open(f"{place.home}/.local", "w", encoding="ascii"):
        pass
    expect_not_run(place, place.bawn("run", "--", *TOUCH), "audit")


def workspace_vanishes_before(place):
    r = place.run("/bin/sh", "-c", f'mkdir {place.side}/w; cd {place.side}/w; rmdir {place.side}/w; '
                  f'exec {place.suite.bawn} run -- true')
    expect_not_run(place, r)


def workspace_vanishes_while_starting(place):
    """At whatever moment: refused, or run in the directory that is gone by then."""
    for delay in (0, 0.002, 0.005, 0.01, 0.02, 0.04):
        ws = f"{place.side}/ws"
        os.mkdir(ws)
        if place.identity == "user" and os.geteuid() == 0:
            os.chown(ws, USER, USER)
        t = threading.Thread(target=lambda d=delay, w=ws: (time.sleep(d), shutil.rmtree(w, ignore_errors=True)))
        t.start()
        r = place.bawn("run", "-w", ws, "--", "sh", "-c", "echo hi")
        t.join()
        if r.code != 0:
            expect_refusal(r, (125, 126, 127))
        elif r.out != "hi\n":
            raise Fail(f"after {delay}: {r}")


def workspace_vanishes_during_the_run(place):
    ws = f"{place.side}/ws"
    os.mkdir(ws)
    if place.identity == "user" and os.geteuid() == 0:
        os.chown(ws, USER, USER)

    def vanish():
        end = time.monotonic() + TIMEOUT
        while not os.path.exists(f"{ws}/started") and time.monotonic() < end:
            time.sleep(0.02)
        shutil.rmtree(ws, ignore_errors=True)
    t = threading.Thread(target=vanish)
    t.start()
    r = place.bawn("run", "-w", ws, "--", "sh", "-c", "touch started; while [ -e started ]; do sleep 0.05; done; echo hi")
    t.join()
    if r.code != 0 or r.out != "hi\n":
        raise Fail(str(r))


# ---- descriptors and limits ----

def closed_descriptors(place):
    for mask in range(8):
        for backend in ("native", "landlock"):
            shut = " ".join(f"{fd}{'<' if fd == 0 else '>'}&-" for fd in range(3) if mask & 1 << fd)
            r = place.run("/bin/sh", "-c",
                          f"exec {place.suite.bawn} run --backend {backend} -- sh -c 'touch started; echo hi' {shut}")
            ran = place.started()
            if ran and r.code == 0 and r.out in ("hi\n", "") and not (r.out == "" and not mask & 2):
                continue
            if not ran and r.code in (125, 126) and (r.err.startswith("bawn: ") or mask & 4):
                continue
            raise Fail(f"{backend} with {shut or 'nothing'} closed: ran {ran}, {r}")


def few_descriptors(place):
    for n in (4, 6, 8, 10, 12, 14, 16, 20, 24, 32):
        for backend in ("native", "landlock"):
            r = place.run("/bin/sh", "-c", f"ulimit -n {n}; exec {place.suite.bawn} run --backend {backend} -- "
                          "sh -c 'touch started; echo hi'")
            if r.code == 0:
                expect_ok(place, r)
            else:
                expect_not_run(place, r, codes=(125, 126, 127))


def few_processes(place):
    if place.identity == "root":
        raise Skip("root has no such limit: the same runs as a user")
    for n in (1, 2, 3, 4, 6):
        for backend in ("native", "landlock"):
            r = place.run("/bin/bash", "-c", f"ulimit -u {n}; exec {place.suite.bawn} run --backend {backend} -- "
                          "sh -c 'touch started; echo hi'")
            ran = place.started()
            if not ran:
                expect_refusal(r, (125, 126, 127))
            elif r.code == 0 and r.out != "hi\n":
                raise Fail(f"with {n}: {r}")


def little_memory(place):
    loaded = os.path.getsize(place.suite.bawn) // 1024 + 4000  # with less the kernel cannot even load us
    for kb in (3000, 6000, 12000, 20000, 30000, 40000, 60000):
        for backend in ("native", "landlock"):
            r = place.run("/bin/sh", "-c", f"ulimit -v {kb}; exec {place.suite.bawn} run --backend {backend} -- "
                          "sh -c 'touch started; echo hi'")
            ran = place.started()
            if ran and r.code == 0 and r.out == "hi\n":
                continue
            if ran and r.code and r.err:
                continue  # the command itself was short of it
            if not ran and r.code and r.err and r.code not in (134, 139):
                continue
            if r.code in (-11, 139, -9, 137, 126) and not r.err and kb <= loaded:
                continue
            raise Fail(f"with {kb} kB: ran {ran}, {r}")


def no_proc(place):
    before = in_mounts(place, "umount -l /proc")
    for backend in ("native", "landlock"):
        r = place.bawn("run", "--backend", backend, "--", *TOUCH, before=before)
        if r.code == 0:
            expect_ok(place, r)
        else:
            expect_not_run(place, r, codes=(125, 126, 127))


# ---- kernels that lack something ----

def no_user_namespaces(place):
    """native is refused with reason and remedy; auto falls to chroot for root, to landlock for others, and says so;
    enhanced does not take landlock."""
    # the owner of a namespace may set its limits from within, with the rights it has there
    wrap = ["/usr/bin/unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"', "sh"]
    words = place.drop() + wrap
    probe = subprocess.run(words + ["unshare", "-U", "true"], check=False, capture_output=True, cwd=place.ws)
    if probe.returncode == 0:
        raise Skip("user namespaces cannot be switched off here: needs a kernel where unshare -Ur may write max_user_namespaces")

    # as an ordinary user: root by name only
    bare = ["/usr/bin/setpriv", "--bounding-set=-all", "--inh-caps=-all"]

    def check(way, backend):
        def run(*args):
            return place.run(*wrap, *way, place.suite.bawn, "run", *args)
        expect_not_run(place, run("--backend", "native", "--", *TOUCH), "user namespaces are", "max_user_namespaces")
        r = run("--", *TOUCH)
        expect_ok(place, r)
        r = run("--json", "--", *TOUCH)
        place.started()
        for word in (f'"backend":"{backend}"', "user namespaces"):
            if word not in r.out.replace('": "', '":"'):
                raise Fail(f"the result does not say {word}: {r.out}")
        r = run("--isolation", "enhanced", "--", *TOUCH)
        if backend == "landlock":
            expect_not_run(place, r, "user namespaces")
        else:
            expect_ok(place, r)

    check([], "chroot")
    check(bare, "landlock")


def one_namespace_short(place):
    """A kind of namespace that cannot be made, whether at birth or by init itself: refused with the reason, also by auto,
    whose next wall lacks it as well."""
    for kind in ("pid", "mnt", "ipc", "uts", "cgroup", "net"):
        wrap = ["/usr/bin/unshare", "-Ur", "sh", "-c",
                f'echo 0 > /proc/sys/user/max_{kind}_namespaces && exec "$@"', "sh"]
        if subprocess.run(place.drop() + wrap + ["true"], check=False, capture_output=True, cwd=place.ws).returncode:
            raise Skip("namespaces cannot be limited here: needs a kernel where unshare -Ur may write max_*_namespaces")
        r = place.run(*wrap, place.suite.bawn, "run", "--backend", "native", "--", *TOUCH)
        expect_not_run(place, r, "namespace", "No space left on device")
        expect_not_run(place, place.run(*wrap, place.suite.bawn, "run", "--", *TOUCH), "No space left on device")


def lacks(place, *calls):
    return [place.suite.without] + list(calls) + ["--"]


def no_landlock(place):
    for backend in ("native", "landlock", "auto") + (("chroot",) if place.identity == "root" else ()):
        r = place.run(*lacks(place, "landlock_create_ruleset"), place.suite.bawn, "run", "--backend", backend, "--", *TOUCH)
        expect_not_run(place, r, "Landlock")


def no_seccomp(place):
    for backend in ("native", "landlock", "auto") + (("chroot",) if place.identity == "root" else ()):
        r = place.run(*lacks(place, "seccomp"), place.suite.bawn, "run", "--backend", backend, "--", *TOUCH)
        expect_not_run(place, r, "filter")


def no_clone3(place):
    """Docker's older profiles: ENOSYS. Refused or done by other means, but never with less."""
    for backend in ("native", "landlock", "auto"):
        r = place.run(*lacks(place, "clone3"), place.suite.bawn, "run", "--backend", backend, "--", *TOUCH)
        if r.code == 0:
            expect_ok(place, r)
        else:
            expect_not_run(place, r)


def old_mount_api(place):
    """Before Linux 5.2 and 5.12, or a container's filter."""
    for call in ("open_tree", "move_mount", "mount_setattr", "fsopen", "pivot_root"):
        for error in ("38", "1"):
            r = place.run(*lacks(place, f"{call}={error}"), place.suite.bawn, "run", "--backend", "native", "--", *TOUCH)
            expect_not_run(place, r)
            r = place.run(*lacks(place, f"{call}={error}"), place.suite.bawn, "run", "--", *TOUCH)
            if r.code == 0:
                expect_ok(place, r)
            else:
                expect_not_run(place, r)


def no_groups(place):
    """Without control groups the meter takes over: the same controls are in force."""
    before = in_mounts(place, "umount -l -R /sys/fs/cgroup")
    for backend in ("native", "landlock"):
        r = place.bawn("run", "--backend", backend, "--", *TOUCH, before=before)
        expect_ok(place, r)
        r = place.bawn("run", "--backend", backend, "--memory", "64m", "--", "sh", "-c",
                       "x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo ${#x}", before=before)
        if r.code == 0 or "memory" not in r.err:
            raise Fail(f"no limit without groups: {r}")


ALL = [full_audit_disk, audit_disk_fills_up_during_the_run, read_only_state, state_is_a_file, workspace_vanishes_before,
       workspace_vanishes_while_starting, workspace_vanishes_during_the_run, closed_descriptors, few_descriptors,
       few_processes, little_memory, no_proc, no_user_namespaces, one_namespace_short, no_landlock, no_seccomp, no_clone3,
       old_mount_api, no_groups]


def attempt(suite, identity, fn):
    place = Place(suite, identity)
    try:
        fn(place)
        place.expect_clean()
    finally:
        place.close()


def cases(suite, identity):
    for fn in ALL:
        yield (f"{identity} place: {fn.__name__.replace('_', ' ')}",
               lambda fn=fn: attempt(suite, identity, fn))
