#!/usr/bin/python3
"""Stands in for Firecracker's jailer, of which there is no package.

Takes the options of its published documentation and no others, checks what they say, and does what it would do:
makes <base>/<program>/<id>/root, copies the program there, makes the control groups, changes root, gives up root, and
executes the program. Since the stand-in for Firecracker is a script in front of QEMU, the system is bound into that
root as well, and the copy of the script is run by its interpreter.
"""
import ctypes
import os
import re
import shutil
import sys

ONCE = {"--id", "--exec-file", "--uid", "--gid", "--parent-cgroup", "--cgroup-version", "--chroot-base-dir", "--netns"}
MANY = {"--cgroup", "--resource-limit"}
FLAGS = {"--daemonize", "--new-pid-ns"}
libc = ctypes.CDLL(None, use_errno=True)


def fail(why):
    sys.exit(f"jailer: {why}")


def record(*words):
    """Beside ourselves, where the test looks."""
    with open(f"{os.path.dirname(os.path.abspath(__file__))}/jailer.log", "a", encoding="ascii") as f:
        print(*words, file=f)


def parse(args):
    got = {}
    while args:
        name = args.pop(0)
        if name == "--":
            break
        if name in FLAGS and name not in got:
            got[name] = True
        elif name in ONCE and name not in got and args:
            got[name] = args.pop(0)
        elif name in MANY and args:
            got.setdefault(name, []).append(args.pop(0))
        else:
            fail(f"unexpected argument '{name}'")
    return got, args


def check(got):
    for name in ("--id", "--exec-file", "--uid", "--gid"):
        if name not in got:
            fail(f"missing {name}")
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", got["--id"]):
        fail("invalid id")
    if "firecracker" not in os.path.basename(got["--exec-file"]):
        fail("the exec file's name must contain 'firecracker'")
    if got.get("--cgroup-version", "1") not in ("1", "2"):
        fail("invalid cgroup version")
    for limit in got.get("--resource-limit", []):
        if not re.fullmatch(r"(fsize|no-file)=[0-9]+", limit):
            fail(f"invalid resource limit {limit}")
    for group in got.get("--cgroup", []):
        if not re.fullmatch(r"[a-z]+(\.[a-z_]+)+=[0-9 ]+", group):
            fail(f"invalid cgroup {group}")
    if int(got["--uid"]) == 0 or int(got["--gid"]) == 0:
        fail("it would stay root")
    if set(os.listdir("/proc/self/fd")) - {"0", "1", "2", "3"}:  # 3: the directory itself
        fail("descriptors were left open")


def hierarchies():
    with open("/proc/mounts", encoding="ascii") as f:
        for line in f:
            _, where, kind, options = line.split()[:4]
            if kind in ("cgroup", "cgroup2"):
                yield where, kind, options.split(",")


def join_groups(got):
    """The directories; a host that has not let us make them is no matter here."""
    two = got.get("--cgroup-version") == "2"
    for setting in got.get("--cgroup", []):
        name = setting.split("=")[0]
        for where, kind, options in hierarchies():
            if two == (kind == "cgroup2") and (two or name.split(".")[0] in options):
                path = f"{where}/{got.get('--parent-cgroup', 'firecracker')}/{got['--id']}"
                try:
                    os.makedirs(path, exist_ok=True)
                    with open(f"{path}/cgroup.procs", "w", encoding="ascii") as f:
                        f.write(str(os.getpid()))
                    record("GROUP", path)
                except OSError as e:
                    record("NO-GROUP", path, e.strerror)


def mount(src, dst, kind, flags):
    if libc.mount(src.encode(), dst.encode(), kind and kind.encode(), flags, None) < 0:
        fail(f"cannot mount {dst}: {os.strerror(ctypes.get_errno())}")


def enter(root):
    libc.unshare(0x00020000)  # CLONE_NEWNS
    mount("none", "/", None, 0x4000 | 0x40000)  # MS_REC | MS_PRIVATE
    mount(root, root, None, 0x1000)  # MS_BIND, and not recursively, as the real one does
    for top in ("usr", "etc"):
        os.mkdir(f"{root}/{top}")
        mount(f"/{top}", f"{root}/{top}", None, 0x1000)
    for link in ("bin", "lib", "lib64"):
        os.symlink(f"usr/{link}", f"{root}/{link}")
    os.makedirs(f"{root}/dev", exist_ok=True)
    mount("/dev", f"{root}/dev", None, 0x1000)
    os.mkdir(f"{root}/proc")
    mount("proc", f"{root}/proc", "proc", 0)
    os.chroot(root)
    os.chdir("/")


def main():
    if sys.argv[1:] == ["--version"]:
        print("Jailer v0.0.0-fake")
        return
    got, rest = parse(sys.argv[1:])
    check(got)
    if "--id" in rest:
        fail("the jailer gives the id itself")
    record("JAILER", *sys.argv[1:])
    if set(os.environ) - {"LC_CTYPE"}:  # which the interpreter sets itself
        fail("an environment")
    program = os.path.realpath(got["--exec-file"])
    name = os.path.basename(program)
    root = f"{got.get('--chroot-base-dir', '/srv/jailer')}/{name}/{got['--id']}/root"
    os.makedirs(root, exist_ok=True)
    shutil.copy(program, f"{root}/{name}")
    record("ROOT", *sorted(os.listdir(root)))
    join_groups(got)
    if "--new-pid-ns" in got:
        libc.unshare(0x20000000)  # CLONE_NEWPID: of the next child
        pid = os.fork()
        if pid:
            with open(f"{root}/{name}.pid", "w", encoding="ascii") as f:
                f.write(str(pid))
            return
    enter(root)
    uid, gid = int(got["--uid"]), int(got["--gid"])
    os.chown("/", uid, gid)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    os.execve("/usr/bin/python3", ["python3", f"/{name}", "--id", got["--id"], *rest], {})


main()
