# SPDX-License-Identifier: Apache-2.0
"""Rows 39 to 55: system calls, execution, environment, privilege."""

import glob
import os
import resource
import shutil
import time

from lib import CALL, FAR, NESTED, PATH, SLOW, TASK, Fail, One, Skip, Unclaimed, case


@case(39, "io_uring", "syscalls")
def _(t):
    for name in ("io_uring_setup", "io_uring_enter", "io_uring_register"):
        t.attack(["sys", name], errs=CALL)


@case(40, "system calls of another architecture", "syscalls")
def _(t):
    for act in (["int80"], ["int80-socket"], ["x32", 39], ["x32", 41]):
        t.attack(act, errs=CALL | {"EINTR"}, known={"gvisor": "gVisor answers it itself; nothing of it reaches the host's kernel"})


KINDS = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time")


@case(41, "new namespaces by unshare, clone, clone3, setns", "nested")
def _(t):
    for kind in KINDS:
        t.attack(["unshare", kind], errs=NESTED)
        t.attack(["clone3", kind], errs=NESTED)
        if kind != "time":
            t.attack(["clone", kind], errs=NESTED)
        t.attack(["setns", f"/proc/self/ns/{kind}", kind], errs=NESTED | {"EINVAL", "ENOENT"})


@case(42, "executing from a directory where that is denied", "fs.exec")
def _(t):
    x = t.ws + "/x"
    t.copy(t.probe, x)
    opts = ["--deny-exec", t.ws]
    errs = {"EACCES", "EPERM", "ENOSYS", "exit"}
    acts = [[how, x] for how in ("exec", "execveat", "exec-procfd", "memfd-exec", "mmap-exec")]
    acts += [One(a, {"exit"}) for a in (f"cp {x} y && ./y ids", f"ln {x} z; ./z ids", "sh -c './x ids'", "cp /bin/true t && ./t")]
    loaders = glob.glob("/lib*/ld-linux-*.so.*") + glob.glob("/lib/ld-linux-*.so.*")
    acts += [One(f"cp /bin/true t && {ld} ./t", {"exit", "killed"}) for ld in loaders[:1]]
    t.attacks(acts, errs=errs, opts=opts)
    t.works("/bin/true", opts=opts)


POISON = ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GCONV_PATH", "NODE_OPTIONS", "PYTHONSTARTUP", "PYTHONPATH",
          "PERL5OPT", "PERL5LIB", "RUBYOPT", "BASH_ENV", "ENV", "GIT_SSH_COMMAND", "GIT_DIR", "GIT_EXEC_PATH",
          "GIT_CONFIG_COUNT", "GIT_EXTERNAL_DIFF", "JAVA_TOOL_OPTIONS", "PROMPT_COMMAND", "IFS", "CDPATH", "SHELLOPTS",
          "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "ANTHROPIC_API_KEY",
          "DOCKER_HOST", "KUBECONFIG", "XAUTHORITY", "HTTP_PROXY", "https_proxy")


@case(43, "dangerous variables of the caller", "env")
def _(t):
    # an engine is where this says it is
    used = ("DOCKER_HOST",) if t.tier == "docker" else ()
    env = t.env(**{k: "/poison-canary" for k in POISON if not k.startswith("LD_") and k not in used})
    env.update({k: t.out for k in POISON if k.startswith("LD_")})
    if "/poison-canary" not in t.host("env", env=env).out:
        raise Skip("the environment is not inherited outside: needs a usual /usr/bin/env")
    t.outside_ok()
    out = t.bawn(("/usr/bin/env",), env=env).out
    for k in POISON:
        if any(line.startswith(k + "=") and ("poison-canary" in line or t.out in line) for line in out.splitlines()):
            raise Fail(f"{k} came through")
    if "poison-canary" in out:
        raise Fail("a value came through under another name")
    out = t.bawn(("/usr/bin/env",), ["--env", "GREETING=hello"], env=env).out
    if "GREETING=hello" not in out:
        raise Fail("--env K=V does not arrive")


@case(44, "shell functions, PATH and state carried from call to call", "env")
def _(t):
    t.file(t.ws + "/ls", "#!/bin/sh\necho PWNED\n", 0o755)
    env = t.env(**{"BASH_FUNC_ls%%": "() { echo PWNED; }", "BASH_FUNC_true%%": "() { echo PWNED; }"})
    env["PATH"] = ".:" + env["PATH"]
    for _i in range(100):  # busy while another thread's child still has it open for writing
        if planted := "PWNED" in t.host("ls", env=env).out:
            break
        time.sleep(0.05)
    if not planted:
        raise Skip("PATH=. has no effect outside: needs a /bin/sh that has no ls of its own")
    t.outside_ok()
    for act in t.pick((("ls", "/"), "ls /", "bash -c 'ls /; true'"), 1):
        r = t.bawn(act, env=env, refused=True)
        if "PWNED" in r.out:
            raise Fail(f"{t.say(act)}: the planted command ran")
    t.bawn("export PATH=.:$PATH; echo 'ls() { echo PWNED; }' > ~/.bashrc; echo 'echo PWNED' > ~/.profile; "
           "echo x > ~/.bash_aliases; mkdir -p ~/.config; true")
    r = t.bawn("ls ~ ~/.config /tmp -a; cat ~/.bashrc; bash -ic true; bash -lc true; true")
    if "PWNED" in r.out or "PWNED" in r.err:
        raise Fail(f"something was carried over: {r.out!r}")
    t.absent(t.home + "/.bashrc", t.home + "/.profile")


DANGEROUS = ("bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "personality", "kexec_load",
             "kexec_file_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff", "quotactl", "acct",
             "syslog", "open_tree", "open_tree_clone", "move_mount", "fsopen", "fsmount", "fspick", "mount_setattr", "mount",
             "umount2", "pivot_root", "chroot", "iopl", "ioperm", "sethostname", "setdomainname", "reboot", "fanotify_init",
             "settimeofday")


@case(45, "dangerous system calls", "syscalls")
def _(t):
    for name in DANGEROUS:
        t.attack(["sys", name], errs=CALL)


@case(46, "a filter of one's own weakens nothing", "syscalls")
def _(t):
    t.attack(["listener"], errs=CALL | {"EBUSY", "EINVAL"})
    for kind in ("user", "uts"):
        t.attack(["weaken", kind], errs=CALL | {"EINVAL"})


@case(47, "path changed in memory after the check", "fs.protect")
def _(t):
    for good, bad in ((".mcp.jsox", ".mcp.json"), ("xclaude", ".claude")):
        good, bad = f"{t.ws}/{good}", f"{t.ws}/{bad}"
        t.attack(["race-memory", good, bad, t.tries(20000)], errs={"EACCES", "EAGAIN"}, outside=["race-memory", good, bad, 20000],
                 setup=lambda: t.gone(good, bad), canary=lambda: t.absent(bad))


@case(47, "symlink flipped between a free and a guarded directory", "fs.protect")
def _(t):
    def fresh():
        t.gone(t.ws + "/l", t.ws + "/l.new", t.ws + "/ok", t.ws + "/.git")
        t.dir(t.ws + "/ok")
        t.dir(t.ws + "/.git/objects")
        t.link(t.ws + "/ok", t.ws + "/l")
    for name in ("hooks", "config"):
        t.attack(["race-link", t.ws + "/l", t.ws + "/ok", t.ws + "/.git", name, t.tries(10000)], errs={"EACCES", "EAGAIN"},
                 outside=["race-link", t.ws + "/l", t.ws + "/ok", t.ws + "/.git", name, 200000], setup=fresh, canary=lambda: t.absent(f"{t.ws}/.git/{name}"))


@case(48, "kernel settings that run programs", "fs.write")
def _(t):
    for p in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
              "/sys/kernel/uevent_helper", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/vm/overcommit_memory",
              "/proc/sys/kernel/hostname", *glob.glob("/sys/fs/cgroup/*/release_agent")[:2], "/sys/fs/cgroup/release_agent",
              "/proc/sys/net/ipv4/ip_forward"):
        t.attack(["openw", p])


@case(49, "no core dumps", "privilege")
def _(t):
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        t.skip_act("core files are off outside as well")
    else:
        t.attacks([["dumpable"], One(["raise", int(resource.RLIMIT_CORE), 4096], {"EPERM", "EINVAL"}, "true")], errs={"EPERM"})
        act = "ulimit -c 4096 2>/dev/null; sh -c 'kill -SEGV $$'; ls | grep core"
        if "core" in t.host(act).out:
            t.acts += 1
            t.gone(*[os.path.join(t.ws, n) for n in os.listdir(t.ws)])
            if not t.suite.outside_only and "core" in t.bawn(act).out:
                raise Fail("a core file was written")
        else:
            t.skip_act("a crash leaves no core file outside")


@case(49, "the supervisor cannot be dumped or read", "proc", identities=("user",))
def _(t):
    p = t.popen(t.cmd(["sleep", 20]))
    time.sleep(0.2)
    if os.stat(f"/proc/{p.pid}/environ").st_uid != t.uid:
        raise Skip("processes cannot be told apart by the owner of /proc here: needs one without hidepid")
    t.outside_ok()
    p = t.popen(t.bawn_argv("echo up; exec sleep 300")[0])
    if b"up" not in p.stdout.readline():
        raise Fail(f"the run ended early: {p.stderr.read().decode()[:200]}")
    if os.stat(f"/proc/{p.pid}/environ").st_uid == t.uid:
        raise Fail("the supervisor is dumpable")
    p.kill()


OWN_DEVICES = {"gvisor": "gVisor's kernel has such a device of its own; the host's is not behind it"}


@case(50, "devices", "fs.read")
def _(t):
    for p in ("/dev/kvm", "/dev/mem", "/dev/port", "/dev/kmsg", "/dev/fuse", "/dev/vda", "/dev/sda", "/dev/nvme0n1",
              "/dev/loop0", "/dev/loop-control", "/dev/dri", "/dev/dri/card0", "/dev/net/tun", "/dev/tty0", "/dev/tty1",
              "/dev/hwrng", "/dev/vsock", "/dev/vhost-net", "/dev/snapshot", "/dev/input"):
        t.attack(["open", p], errs=PATH | {"ENXIO", "ENODEV"}, known=OWN_DEVICES if p in ("/dev/fuse", "/dev/net/tun") else None)
    for p in ("/dev/null", "/dev/zero", "/dev/urandom"):
        t.works(["open", p])


@case(50, "a device that is granted, and no other", "fs.read")
def _(t):
    if t.host(["open", "/dev/fuse"]).what != "ok":
        raise Skip(f"/dev/fuse cannot be opened outside by {t.identity}: modprobe fuse, chmod 666 /dev/fuse")
    t.outside_ok()
    t.works(["open", "/dev/fuse"], opts=["--device", "/dev/fuse"])
    t.attack(["open", "/dev/net/tun"], errs=PATH | {"ENXIO", "ENODEV"}, opts=["--device", "/dev/fuse"], known=OWN_DEVICES)


@case(51, "no capabilities, no new privileges", "privilege")
def _(t):
    t.outside_ok()
    r = t.bawn(["read", "/proc/self/status"])
    got = dict(line.split(":", 1) for line in r.out.splitlines() if ":" in line)
    sets = ["CapInh", "CapPrm", "CapEff", *(["CapAmb"] if t.tier != "gvisor" else [])]  # gVisor has no such set
    if t.tier == "native" or t.identity == "root":
        sets.append("CapBnd")
    else:
        t.skip_act("CapBnd: only a capability can empty it, and an ordinary user without a namespace has none")
    for k in sets:
        if int(got.get(k, "1"), 16):
            raise Fail(f"{k} is {got.get(k, '?').strip()}")
    # what gVisor's kernel does not tell is seen in row 18
    if got.get("NoNewPrivs", "1" if t.tier == "gvisor" else "").strip() != "1":
        raise Fail("NoNewPrivs is not set")
    if got.get("Seccomp", "").strip() != "2":
        raise Fail("no seccomp filter")


@case(52, "setuid helpers", "privilege")
def _(t):
    acts = ["chage -l $(id -un)", "sudo -n true", "ping -c1 -W1 127.0.0.1", "pkexec --version >/dev/null; pkexec true"]
    if t.identity == "root":
        acts = ["su -s /bin/sh nobody -c true", "setpriv --reuid=1 true", "nice -n -5 sh -c '[ $(nice) = -5 ]'"]
    for act in acts:
        if shutil.which(act.split()[0]):
            t.attack(act, errs={"exit", "killed"},
                     known={"gvisor": "gVisor has priorities of its own"} if act.startswith("nice") else None)
    t.attack(["setuid", 0 if t.identity == "root" else 1], errs={"EPERM", "EINVAL", "ok"}, outside="true")
    if t.identity == "root":
        t.attack(["setuid", 1], errs={"EPERM", "EINVAL"})


@case(53, "System V and POSIX objects of the host", "ipc")
def _(t):
    key = 0x42000000 + (os.getpid() % 4096) * 4096 + int(os.path.basename(t.base))
    t.keys.append(key)
    p = t.popen(t.cmd(["ipc-make", key, 60]))
    mq = p.stdout.readline().decode().strip()
    p.stdout.readline()
    errs = {"ENOENT", "EPERM", "EACCES", "ENOSYS", "EIDRM"}
    for act in ("shm", "msg", "sem"):
        t.attack([act, key], errs=errs)
    if mq == "mq made":
        t.attack(["mq", f"/bawn-escape-{key}"], errs=errs)
    else:
        t.skip_act(f"message queue: {mq}")


@case(54, "page cache shared with protected files", "fs.write")
def _(t):
    """Nothing of it can be shared where the kernel is another one."""
    if t.tier not in FAR:
        raise Unclaimed(f"a kernel of its own is not in the receipt of {t.tier}: a documented limit of this level")
    with open("/proc/version") as f:
        ours = f.read()
    t.outside_ok()
    r = t.works("cat /proc/version")
    if r.out == ours or not r.out.strip():
        raise Fail(f"the kernel inside is the host's: {r.out}")


@case(55, "limits of others and of oneself", "limit.files")
def _(t):
    _, pid, _a = t.victim()
    t.attack(["prlimit", pid], errs=TASK)
    t.attack("$P prlimit $PPID; exit $?", errs=TASK, outside=["prlimit", pid])
    t.attack(["raise", int(resource.RLIMIT_NOFILE), 1 << 20], errs={"EPERM", "EINVAL"}, outside="true")


@case(55, "a limit on descriptors cannot be raised", "limit.files")
def _(t):
    t.attack(["raise", int(resource.RLIMIT_NOFILE), 4096], errs={"EPERM", "EINVAL"}, opts=["--files", 256])


@case(55, "leaving the control group", "fs.write")
def _(t):
    paths = ["/sys/fs/cgroup/cgroup.procs"] + glob.glob("/sys/fs/cgroup/*/cgroup.procs")
    for p in paths:
        t.attack(["openw", p])
        group = f"{os.path.dirname(p)}/{os.path.basename(t.suite.base)}-{os.path.basename(t.base)}"  # nobody else's
        t.attack(["mkdir", group], setup=lambda: os.path.isdir(group) and os.rmdir(group), canary=lambda: t.absent(group))
        if os.path.isdir(group):
            os.rmdir(group)


@case(55, "limits stand before the first instruction", "limit.processes", "limit.files", alone="processes")
def _(t):
    t.acts += 1
    if t.suite.outside_only:
        return
    forks, fds = ["forks", 200], ["fds", "null", 300]
    for _i in range(t.some(5)):
        if t.tier in SLOW:  # the one that ends the run last
            few, many = t.many([fds, forks], ["--pids", 32, "--files", 64])
        else:
            few, many = t.bawn(fds, ["--files", 64]), t.bawn(forks, ["--pids", 32])
        if many is None or many.what == "ok":
            raise Fail(f"200 processes in spite of a limit of 32: {many}")
        if few is None or few.what == "ok":
            raise Fail(f"300 descriptors in spite of a limit of 64: {few}")
