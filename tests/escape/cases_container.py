# SPDX-License-Identifier: Apache-2.0
"""Row 99: containers. What an engine, its options or an image could give away."""

import io
import os
import shutil
import subprocess
import tarfile

from lib import Fail, Skip, case

ENGINES = ("docker", "podman")
SOCKETS = ("/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock")


def engine(t, *words, data=None):
    """One command of the engine itself, as this case's identity would give it."""
    p = t.popen([t.tier, *words], stdin=subprocess.PIPE if data else subprocess.DEVNULL)
    out, err = p.communicate(data, timeout=60)
    if p.returncode:
        raise Skip(f"'{t.tier} {words[0]}' fails: {err.decode()[:200]}")
    return out.decode().strip()


def refused(t, what, opts, act=None):
    ran = t.ws + "/ran"
    t.gone(ran)
    r = t.bawn(act or ["create", ran], opts, refused=True)
    if r.code != 125 or os.path.exists(ran):
        t.failed.append(f"{what}: {r}; expected a refusal")
    elif not r.err.strip():
        t.failed.append(f"{what}: refused without a reason")


def each(t, things, act, bad, complaint):
    """`act` with each of the things, in one start: none may answer with `bad`."""
    for thing, r in zip(things, t.many([act.format(thing) for thing in things])):
        if r is None or bad in r.out.split():
            t.failed.append(complaint.format(thing) + (": no answer" if r is None else ""))


def policy(t, text):
    return t.file(t.base + "/p.yaml", text)


def image(t, *changes):
    """A tiny image with these instructions, gone again with the case."""
    busybox = shutil.which("busybox")
    if not busybox:
        raise Skip("no static busybox to make an image of (apt-get install busybox-static)")
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        tar.add(busybox, "bin/busybox")
        for name in ("sh", "cat", "id", "pwd", "ls", "touch", "env"):
            link = tarfile.TarInfo("bin/" + name)
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        for name in ("etc", "tmp", "vol", "proc"):
            d = tarfile.TarInfo(name)
            d.type, d.mode = tarfile.DIRTYPE, 0o777
            tar.addfile(d)
    name = f"bawn-escape/case:{os.path.basename(t.base)}-{t.identity}"
    engine(t, "import", *[w for c in changes for w in ("--change", c)], "-", name, data=raw.getvalue())
    return name


@case(99, "an engine's socket is never inside", "ipc", tiers=ENGINES)
def _(t):
    t.outside_ok()
    own = t.env().get("DOCKER_HOST", "")
    for path in (own[7:] if own.startswith("unix://") else None, *SOCKETS):
        if not path or not os.path.exists(path):
            continue
        refused(t, f"directory of {path}", ["--ro", os.path.dirname(os.path.realpath(path))])
        refused(t, path, ["--unix-socket", path])
    r = t.works("for s in /run/docker.sock /var/run/docker.sock /run/podman/podman.sock /run/containerd/containerd.sock; "
                "do [ -e $s ] && echo there; done; ls /.bawn 2>/dev/null; true")
    if r.out.strip():
        raise Fail(f"inside there is {r.out}")


@case(99, "no privilege, no capability, a filter", "privilege", tiers=ENGINES)
def _(t):
    t.outside_ok()
    r = t.works("grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status")
    got = dict(line.split(":\t") for line in r.out.strip().splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if int(got[name], 16):
            t.failed.append(f"{name} is {got[name]}")
    if got["NoNewPrivs"] != "1" or got["Seccomp"] != "2":
        t.failed.append(f"no_new_privs {got['NoNewPrivs']}, seccomp {got['Seccomp']}")
    each(t, ("mount -t tmpfs none /tmp", "mknod /tmp/d b 8 0", "unshare -U true", "chroot / true", "su -c true root",
             "nsenter -t 1 -m true"), "{} && echo did; exit 0", "did", "'{}' works")


@case(99, "no namespace of the host", "proc", tiers=ENGINES)
def _(t):
    t.outside_ok()
    r = t.works("for n in cgroup ipc mnt net pid user uts; do readlink /proc/self/ns/$n; done")
    for line in r.out.split():
        name = line.split(":")[0]
        # on control groups of the first kind docker uses the host's; nothing of them can be written
        if name != "cgroup" and os.readlink(f"/proc/self/ns/{name}") == line:
            t.failed.append(f"{name} is the host's")
    r = t.works("ls /proc | grep -c '^[0-9]'")
    if int(r.out) > 8:
        t.failed.append(f"{r.out.strip()} processes are seen")
    r = t.bawn("for f in /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs; do echo 1 >$f && echo wrote; done 2>/dev/null")
    if "wrote" in r.out:
        t.failed.append("control groups can be written")


@case(99, "masked and read-only places of the kernel", "fs.write", tiers=ENGINES)
def _(t):
    t.outside_ok()
    each(t, ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/kmsg", "/proc/sched_debug", "/sys/firmware/acpi"),
         "[ $(cat {} 2>/dev/null | head -c 1 | wc -c) = 0 ] || echo read", "read", "'{}' can be read")
    each(t, ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches", "/sys/kernel/uevent_helper",
             "/proc/sys/kernel/modprobe"), "[ -e {0} ] && : >>{0} && echo wrote", "wrote", "'{}' can be opened for writing")


@case(99, "a start directory behind a descriptor is refused", "fs.read", tiers=ENGINES)
def _(t):
    t.outside_ok()
    os.symlink("/proc/self/fd/7", t.ws + "/strange")
    for cwd in ("/proc/self/fd/7", "/proc/self/fd/8/../..", t.ws + "/strange", "/dev/fd/9"):
        refused(t, cwd, ["--cwd", cwd])


@case(99, "what an image says about itself does not count", "privilege", tiers=ENGINES)
def _(t):
    t.outside_ok()
    name = image(t, "WORKDIR /proc/self/fd/8", "USER 4242", 'ENTRYPOINT ["/bin/sh","-c","echo pwned"]',
                 "ENV LD_PRELOAD=/evil.so", "VOLUME /vol")
    try:
        r = t.works(("/bin/sh", "-c", "pwd; id -u; env; touch /vol/x 2>/dev/null && echo wrote; "
                     "cat ../../../../../../../etc/shadow 2>/dev/null; ls /proc/self/cwd/../../etc/passwd 2>/dev/null; true"),
                    ["--image", name])
        lines = r.out.split()
        if lines[:2] != [t.ws, str(t.uid if t.ident() else os.geteuid())]:
            t.failed.append(f"started as {lines[:2]}")
        for word in ("pwned", "LD_PRELOAD", "wrote", "root:"):
            if word in r.out:
                t.failed.append(f"'{word}' is in what it said")
    finally:
        subprocess.run([t.tier, "image", "rm", "-f", name], env=t.env(), capture_output=True, **t.ident())


@case(99, "options that would undo the wall are refused", "net.none", tiers=ENGINES)
def _(t):
    t.outside_ok()
    for text in ("enforcement: {docker: {network: host}}\n", "enforcement: {docker: {network: bridge}}\n",
                 "enforcement: {docker: {mounts: [{source: /, target: /host}]}}\n",
                 "enforcement: {docker: {mounts: [{source: /proc, target: /proc}]}}\n",
                 f"enforcement: {{docker: {{mounts: [{{source: {t.home}, target: /h}}]}}}}\nfilesystem: {{deny: [{t.home}]}}\n",
                 "enforcement: {docker: {privileged: true}}\n", "enforcement: {docker: {runtime: no-such-runtime}}\n"):
        refused(t, text.strip(), ["--policy", policy(t, text)])
    for name in ("--privileged", "-v/:/host", "bawn-escape/none:1", "../x", "a b"):
        refused(t, f"image {name}", ["--image=" + name], ("true",))


@case(99, "root inside is nobody outside", "fs.write", identities=("root",), tiers=ENGINES)
def _(t):
    t.outside_ok()
    secret = t.file(t.out + "/root-only", "canary\n", 0o600)
    r = t.bawn(f"cat {secret}; chown 0:0 /etc/passwd; chmod 777 /usr; kill -9 1; true")
    if "canary" in r.out:
        raise Fail("root's file was read")
    t.same(secret, "canary\n")
