# SPDX-License-Identifier: Apache-2.0
"""Rows 1 to 25: the file system."""

import fcntl
import json
import os
import shutil
import struct

from lib import CALL, NESTED, PATH, SLOW, Fail, One, Skip, case

FS = ("fs.read", "fs.write")


@case(1, "write through a symlink to a file outside", "fs.write")
def _(t):
    canary = t.out + "/canary"
    for target in (canary, t.home + "/.bashrc"):
        t.link(target, t.ws + "/link")
        t.attack(["write", t.ws + "/link"], setup=lambda: t.file(target), canary=lambda: t.same(target))
        t.attack(["trunc", t.ws + "/link"], setup=lambda: t.file(target), canary=lambda: t.same(target))
    t.link("/etc/passwd", t.ws + "/etc")
    t.attack(["openw", t.ws + "/etc"])


@case(1, "read what lies outside: home, keys, other projects", "fs.read")
def _(t):
    for p in (t.out + "/canary", t.home + "/.ssh/id_ed25519", t.home + "/.aws/credentials", t.base + "/other/f"):
        t.file(p)
        t.attack(["read", p])
    for p in ("/etc/shadow", "/root", "/proc/1/root/etc/hostname"):
        t.attack(["open", p])


@case(1, "write outside the workspace", "fs.write")
def _(t):
    t.attack(["create", t.out + "/new"], setup=lambda: t.gone(t.out + "/new"), canary=lambda: t.absent(t.out + "/new"))
    for p in ("/etc/passwd", "/usr/bin/ldd", "/etc/ld.so.cache"):  # none is a program that runs meanwhile: ETXTBSY is no wall
        t.attack(["openw", p])
    t.file(t.base + "/ro/f")
    t.attack(["write", t.base + "/ro/f"], opts=["--ro", t.base + "/ro"], setup=lambda: t.file(t.base + "/ro/f"),
             canary=lambda: t.same(t.base + "/ro/f"))
    t.works(["read", t.base + "/ro/f"], opts=["--ro", t.base + "/ro"])
    t.works(["create", t.ws + "/new"])


@case(2, "directory swapped for a symlink while bawn starts", "fs.write")
def _(t):
    for name in (".git", ".claude"):
        t.dir(f"{t.ws}/{name}")
        t.dir(f"{t.out}/{name}")
        t.file(f"{t.out}/{name}/config")
    t.link(t.out, t.ws + "/away")
    if t.host(["create", t.ws + "/away/pwn"]).what != "ok":
        raise Skip("cannot write through a symlink outside: set BAWN_ESCAPE_DIR to where one can")
    t.gone(t.out + "/pwn", t.ws + "/away")
    t.outside_ok()
    swappers = [t.popen(t.cmd(["swap", f"{t.ws}/{n}", f"{t.out}/{n}", 60000])) for n in (".git", ".claude")]
    for i in range(t.some(50)):
        t.bawn(f"echo x > .git/pwn{i}; echo x > .claude/pwn{i}; mkdir .git/hooks; echo x > .git/config",
               refused=True, timeout=30)
    for s in swappers:
        s.kill()
        s.wait()
    for name in (".git", ".claude"):
        if os.listdir(f"{t.out}/{name}") != ["config"]:
            raise Fail(f"outside was written: {os.listdir(f'{t.out}/{name}')}")
        t.same(f"{t.out}/{name}/config")


@case(3, "symlink to .. and then out", *FS)
def _(t):
    t.dir(t.ws + "/sub")
    t.link("..", t.ws + "/sub/up")
    t.file(t.out + "/f")
    for act in ("read", "write"):
        t.attack([act, t.ws + "/sub/up/../out/f"], setup=lambda: t.file(t.out + "/f"), canary=lambda: t.same(t.out + "/f"))
    t.attack(["read", "sub/up/../out/f"])


@case(4, "ancestor symlink with a tail that does not exist", "fs.write")
def _(t):
    t.link(t.out, t.ws + "/link")

    def clean():
        t.gone(t.out + "/newdir")

    def none():
        t.absent(t.out + "/newdir")
    t.attack(["mkdir", t.ws + "/link/newdir"], setup=clean, canary=none)
    t.attack("mkdir -p link/newdir/a && echo x > link/newdir/a/f", errs={"exit"}, setup=clean, canary=none)


@case(5, "hard link of an outside file", "fs.write")
def _(t):
    c, hl = t.out + "/canary", t.ws + "/hl"

    def fresh():
        t.gone(hl)
        t.file(c)
    for how in ("link", "link-fd"):
        t.attack([how, c, hl], setup=fresh, canary=lambda: t.same(c))
        t.attack([how, c, hl], setup=fresh, opts=["--ro", t.out], canary=lambda: t.same(c))
    t.attack(f"ln {c} hl && echo x > hl", errs={"exit"}, setup=fresh, opts=["--ro", t.out], canary=lambda: t.same(c))


@case(6, "move an ancestor of a protected path away", "fs.protect")
def _(t):
    def fresh():
        t.gone(t.ws + "/.git", t.ws + "/.git2", t.ws + "/.claude", t.ws + "/.c2", t.ws + "/d")
        t.file(t.ws + "/.git/hooks/pre-commit")
        t.file(t.ws + "/.git/config")
        t.file(t.ws + "/.claude/settings.json")
        t.dir(t.ws + "/d")

    def same():
        for p in (".git/hooks/pre-commit", ".git/config", ".claude/settings.json"):
            t.same(f"{t.ws}/{p}")
    t.attacks([["rename", ".git", ".git2"], ["rename", ".git/hooks", ".git/h2"], ["rename", ".claude", ".c2"],
               ["rename", ".git/config", ".git/c2"], ["exchange", ".git", "d"]], setup=fresh, canary=same)
    t.attack(["rename", t.ws, t.base + "/moved"], outside="true", canary=same)


NEW_FILES = (".mcp.json", ".envrc", ".bawn.yaml")
NEW_DIRS = (".claude", ".codex", ".vscode")


@case(7, "create a protected name", "fs.protect")
def _(t):
    paths = [f"{t.ws}/{name}" for name in NEW_FILES + NEW_DIRS]
    t.attacks([["mkdir" if name in NEW_DIRS else "create", name] for name in NEW_FILES + NEW_DIRS], denial="fs.protect",
              setup=lambda: t.gone(*paths), canary=lambda: t.absent(*paths))


@case(7, "create a protected name by every other call", "fs.protect")
def _(t):
    p = t.ws + "/.mcp.json"

    def fresh():
        t.gone(p, t.ws + "/d")
        t.dir(t.ws + "/d")
        t.file(t.ws + "/f")
    acts = (["creat", p], ["openat2", p], ["symlink", "f", p], ["link", "f", p], ["rename", "f", p],
            ["rename", "d", p], ["mknod", "fifo", p], ["mknod", "sock", p], ["tmpfile-link", t.ws, p], ["mkdir", p],
            ["create", "d/../.mcp.json"], ["create", "/proc/self/cwd/.mcp.json"], ["listen-unix", p, 0])
    t.attacks(acts, errs=PATH | {"ENOSYS", "EAFNOSUPPORT"}, setup=fresh, canary=lambda: t.absent(p))
    t.attack("mkdir -p n/.claude && echo x > n/.claude/settings.json && mv n/.claude .claude", errs={"exit"},
             setup=lambda: t.gone(t.ws + "/n", t.ws + "/.claude"), canary=lambda: t.absent(t.ws + "/.claude"))


@case(7, "create git hooks and configuration", "fs.protect")
def _(t):
    def fresh():
        t.gone(t.ws + "/.git")
        t.dir(t.ws + "/.git/objects")
        t.file(t.ws + "/.git/HEAD", "ref: refs/heads/main\n")
        t.dir(t.ws + "/.git/refs")
    hooks = t.ws + "/.git/hooks"
    t.attacks([["mkdir", ".git/hooks"], ["create", ".git/config"]], setup=fresh,
              canary=lambda: t.absent(hooks, t.ws + "/.git/config"))
    t.attack(["create", ".git/hooks/pre-commit"], setup=lambda: (fresh(), t.dir(hooks)),
             canary=lambda: t.absent(hooks + "/pre-commit"))
    t.attack("mkdir g && mkdir g/hooks && mv g .git", errs={"exit"}, setup=lambda: t.gone(t.ws + "/.git", t.ws + "/g"),
             canary=lambda: t.absent(hooks))
    t.attack("mkdir .git && mkdir .git/hooks && echo x > .git/hooks/pre-commit", errs={"exit"},
             setup=lambda: t.gone(t.ws + "/.git", t.ws + "/g"), canary=lambda: t.absent(hooks + "/pre-commit"))


@case(8, "replace or change a protected file that exists", "fs.protect")
def _(t):
    p = t.ws + "/.mcp.json"

    def fresh():
        t.gone(p, t.ws + "/.claude", t.ws + "/d")
        t.file(p)
        t.file(t.ws + "/.claude/settings.json")
        t.file(t.ws + "/f", "evil\n")
        t.dir(t.ws + "/d")

    def same():
        t.same(p)
        t.same(t.ws + "/.claude/settings.json")
    t.attacks([["write", p], ["trunc", p], ["chmod", p, 0o777], ["mmap-write", p], ["exchange", "d", p]], setup=fresh, canary=same)
    t.attacks([["exchange", "f", p], ["rename", "f", p], ["rename", p, "g"], ["write", ".claude/settings.json"],
               ["create", ".claude/hook.sh"]], setup=fresh, canary=same)
    t.attacks([["unlink", p], ["unlink", ".claude/settings.json"], One("rm .mcp.json && ln -s /tmp/x .mcp.json", {"exit"})],
              setup=fresh, canary=same)
    t.works(["read", p])


def git(t, where, text):
    r = t.host(text, cwd=where)
    if r.code:
        raise Skip(f"git: {r.err[:100]}")


def need_git(t):
    if not shutil.which("git"):
        raise Skip("git is not installed (apt-get install git)")
    t.file(t.home + "/.gitconfig", "[user]\nname = n\nemail = e@example.org\n[init]\ndefaultBranch = main\n"
           "[protocol \"file\"]\nallow = always\n")


COMMIT = "head -c 16 /dev/urandom > new && git add new && git -c user.name=n -c user.email=e@example.org commit -qm x"


@case(9, "git: plain repository, hooksPath, include, fsmonitor", "fs.protect")
def _(t):
    need_git(t)
    git(t, t.ws, "git init -q . && mkdir .githooks && git config core.hooksPath .githooks && "
        "echo > .gitinc && git config include.path ../.gitinc && echo a > a && git add a && git commit -qm a")
    def same():
        t.absent(t.ws + "/.githooks/pre-commit", t.ws + "/.git/hooks/post-checkout", t.ws + "/.git/config.worktree")
        t.same(t.ws + "/.gitinc", "\n")
        t.same(t.ws + "/.git/config", config)
    with open(t.ws + "/.git/config") as f:
        config = f.read()
    t.attacks(["echo x > .githooks/pre-commit", "echo '[core]' >> .gitinc", "git config core.fsmonitor /tmp/x",
               "git config --unset core.hooksPath", "echo x > .git/hooks/post-checkout", "echo x > .git/config.worktree"],
              errs={"exit"}, outside="true", canary=same)
    t.works(COMMIT)


@case(9, "git: linked worktree", "fs.protect")
def _(t):
    need_git(t)
    main = t.base + "/main"
    t.dir(main)
    git(t, main, "git init -q . && echo a > a && git add a && git commit -qm a")
    shutil.rmtree(t.ws)
    git(t, main, f"git worktree add -q {t.ws} -b side")
    def same():
        t.absent(main + "/.git/hooks/pre-commit", main + "/.git/config.worktree")
        t.same(main + "/a", "a\n")
        t.same(main + "/.git/config", config)
        t.same(t.ws + "/.git", dot_git)
    with open(main + "/.git/config") as f, open(t.ws + "/.git") as g:
        config, dot_git = f.read(), g.read()
    t.attacks([["create", main + "/.git/hooks/pre-commit"], ["write", main + "/.git/config"],
               ["create", main + "/.git/config.worktree"], ["write", main + "/a"], ["write", t.ws + "/.git"],
               ["unlink", t.ws + "/.git"]], outside="true", canary=same)
    if not t.suite.outside_only:
        t.bawn(["create", main + "/pwn"])
    t.absent(main + "/pwn")
    t.works(COMMIT)


@case(9, "git: submodule", "fs.protect")
def _(t):
    need_git(t)
    main, lib = t.base + "/main", t.base + "/lib"
    t.dir(main)
    t.dir(lib)
    git(t, lib, "git init -q . && echo a > a && git add a && git commit -qm a")
    git(t, main, f"git init -q . && git submodule --quiet add {lib} sub && git commit -qm a")
    real = main + "/.git/modules/sub"
    with open(real + "/config") as f:
        config = f.read()
    for ws in (main, main + "/sub"):
        t.attacks([["create", real + "/hooks/pre-commit"], ["write", real + "/config"]], outside="true", opts=["--workspace", ws],
                  workspace=False, canary=lambda: (t.absent(real + "/hooks/pre-commit"), t.same(real + "/config", config)))
    t.works(f"cd {main}/sub && {COMMIT}", opts=["--workspace", main], workspace=False, cwd=main)
    t.works(COMMIT, opts=["--workspace", main + "/sub"], workspace=False, cwd=main + "/sub")


@case(9, "git: .git file that points elsewhere gives nothing", *FS)
def _(t):
    need_git(t)
    main = t.base + "/main"
    t.dir(main)
    git(t, main, "git init -q . && echo a > a && git add a && git commit -qm a")
    t.file(t.ws + "/.git", f"gitdir: {main}/.git\n")
    t.attack(["read", main + "/.git/config"], refused=True, errs=PATH | {"exit"})
    t.attack(["create", main + "/.git/pwn"], refused=True, errs=PATH | {"exit"},
             setup=lambda: t.gone(main + "/.git/pwn"), canary=lambda: t.absent(main + "/.git/pwn"))


@case(10, "other spelling of a protected name on a case-insensitive file system", "fs.protect", identities=("root", "user"))
def _(t):
    if os.geteuid():
        raise Skip("needs root to mount a case-insensitive file system: run the suite as root")
    img, mnt, ws = t.base + "/img", t.base + "/cf", t.base + "/cf/ws"
    t.dir(mnt)
    make = (f"truncate -s 16m {img} && mkfs.ext4 -q -O casefold -E encoding=utf8 {img} && mount -o loop {img} {mnt} && "
            f"mkdir {ws} && chattr +F {ws} && mkdir -p {ws}/.git/hooks && echo c > {ws}/.git/config && "
            f"cp {t.probe} {mnt}/probe && chown -R {t.uid}:{t.gid} {ws}")
    drop = "" if t.identity == "root" else f"setpriv --reuid={t.uid} --regid={t.gid} --clear-groups "

    def within(act):
        import subprocess
        p = subprocess.Popen(["unshare", "-m", "sh", "-c", f"{make} || exit 99; cd {ws}; {drop}\"$@\"", "sh", *act],
                             cwd=t.base, env=t.env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True)
        t.procs.append(p)
        return t.finish(p, 60)
    if not shutil.which("mkfs.ext4"):
        raise Skip("mkfs.ext4 is not installed (apt-get install e2fsprogs)")
    r = within([t.probe, "create", ".GIT/HOOKS/pre-commit"])
    if r.what != "ok":
        raise Skip(f"no case-insensitive ext4 here, needs CONFIG_UNICODE and loop devices: {(r.err or r.what).strip()[:80]}")
    t.outside_ok()
    for act in (["create", ".GIT/HOOKS/pre-commit"], ["write", ".Git/Config"], ["mkdir", ".CLAUDE"],
                ["create", ".Mcp.Json"], ["rename", ".GIT", "x"]):
        argv, _ = t.bawn_argv(act, ["--workspace", ws], workspace=False)
        r = within(argv)
        if r.what not in PATH:
            raise Fail(f"{act}: {r}")


@case(11, "aliases in /proc of a path outside", "fs.read")
def _(t):
    s = t.file(t.out + "/secret")
    for p in (f"/proc/self/root{s}", "/proc/self/cwd/../out/secret", f"/proc/thread-self/root{s}",
              "/proc/self/task/../cwd/../out/secret"):
        t.attack(["read", p])
    v = t.popen(["/bin/sh", "-c", "echo ready; sleep 600"], stdin=open(s))
    v.stdin = None
    t.attack(["read", f"/proc/{v.pid}/fd/0"], errs=PATH | {"ESRCH"})
    t.attack(["read", f"/proc/{v.pid}/root{s}"], errs=PATH | {"ESRCH"})
    t.attack(["read", f"/proc/{v.pid}/cwd/../out/secret"], errs=PATH | {"ESRCH"})


@case(11, "aliases in /proc of a denied path", "fs.deny")
def _(t):
    s = t.file(t.ws + "/secret.txt")
    opts = ["--deny", s]
    for p in (s, f"/proc/self/root{s}", "/proc/self/cwd/secret.txt", "/proc/1/cwd/secret.txt", f"/proc/1/root{s}"):
        t.attack(["read", p], opts=opts, outside=["read", s])
    t.attack("exec 5<. ; cat /dev/fd/5/secret.txt", errs={"exit"}, opts=opts)
    t.attack("exec 5<. ; cat /proc/self/fd/5/secret.txt", errs={"exit"}, opts=opts)


@case(12, "open_by_handle_at", "syscalls")
def _(t):
    t.attack(["handle", t.ws, "own"], errs=CALL)
    t.attack(["handle", t.ws, "root"], errs=CALL)
    t.attack(["handle", "/etc", "own"], errs=CALL)


@case(13, "descriptors left open by the caller", "fs.read")
def _(t):
    fds = [os.open("/", os.O_RDONLY | os.O_DIRECTORY), os.open(t.out, os.O_RDONLY | os.O_DIRECTORY)]
    high = fcntl.fcntl(fds[0], fcntl.F_DUPFD, 700)
    fds.append(high)
    try:
        r = t.host(["fdlist"], pass_fds=fds)
        if not all(f"fd {n} " in r.out for n in fds):
            raise Skip("descriptors are not inherited outside: needs a limit of more than 700 (ulimit -n)")
        t.outside_ok()
        acts = [["fdscan"], ["fdlist"], ["read", f"/proc/self/fd/{high}/etc/hostname"]]
        found = t.many(acts, pass_fds=fds) if t.tier in SLOW else [t.bawn(a, pass_fds=fds) for a in acts]
        for act, r in zip(acts, found):
            if r is None:
                raise Fail(f"{act[0]}: no answer: {t.last}")
            seen = {line.split()[1] for line in r.out.splitlines() if line.startswith("fd ")}
            if seen - {"0", "1", "2"}:
                raise Fail(f"{act[0]}: open inside: {r.out.strip()!r}")
        if found[-1].what == "ok":
            raise Fail("a descriptor of the caller works inside")
    finally:
        for fd in fds:
            os.close(fd)


@case(14, "working directory outside, deleted or a symlink", *FS)
def _(t):
    pwn = t.out + "/pwn"
    t.link(t.out, t.ws + "/link")
    if t.host(["create", "pwn"], cwd=t.out).what != "ok":
        raise Skip("cannot write there outside: set BAWN_ESCAPE_DIR to where one can")
    t.gone(pwn)
    t.outside_ok()
    for cwd in t.pick((t.ws + "/link", t.out), 1):
        t.bawn(["create", "pwn"], cwd=cwd, refused=True)
        t.bawn(["create", pwn], cwd=cwd, refused=True)
        t.absent(pwn)
        t.bawn(["create", "pwn"], ["--cwd", cwd], refused=True)
        t.bawn(["create", pwn], ["--cwd", cwd], refused=True)
        t.absent(pwn)
    t.bawn(["create", pwn], env=t.env(PWD=t.out, OLDPWD=t.out))
    t.absent(pwn)
    argv, _r = t.bawn_argv(["create", "pwn"], workspace=False)
    r = t.host('mkdir gone && cd gone && rmdir ../gone && exec ' + " ".join(argv))
    if r.code != 125:
        raise Fail(f"a deleted working directory: {r}; expected status 125")


@case(15, "a path that only begins like a granted one", *FS)
def _(t):
    evil = t.ws + "-evil/f"
    t.dir(t.base + "/data")
    for p in (evil, t.base + "/data-evil/f"):
        t.file(p)
        for act in ("read", "write"):
            t.attack([act, p], opts=["--rw", t.base + "/data"], setup=lambda: t.file(p), canary=lambda: t.same(p))


@case(16, "odd spellings of a path outside", *FS)
def _(t):
    c = t.file(t.out + "/canary")
    t.dir(t.ws + "/sub")
    for p in ("/" + c, c.replace("/out/", "/out//"), c.replace("/out/", "/./out/./"), t.ws + "/../out/canary",
              t.ws + "/sub/../../out/canary", "/../../.." + c, "../out/canary"):
        t.attack(["read", p])
    t.attack(["read-long", c])
    t.attack(["read-nul", c, "/../../repo/ok"])


@case(16, "odd spellings of a denied path", "fs.deny")
def _(t):
    c = t.file(t.ws + "/secret.txt")
    t.dir(t.ws + "/sub")
    t.attacks(denied_paths(t, c), opts=["--deny", c])
    t.dir(t.ws + "/vault/deep")
    t.file(t.ws + "/vault/deep/f")
    t.attacks([["read", "vault/deep/f"], ["open", "vault"], ["create", "vault/new"]], opts=["--deny", t.ws + "/vault/"])


def denied_paths(t, c):
    return [*[["read", p] for p in (c, t.ws + "//secret.txt", t.ws + "/./secret.txt", t.ws + "/sub/../secret.txt", "secret.txt")],
            ["read-long", c], ["read-nul", c, ".ok"]]


@case(16, "odd spellings of a rule that denies", "fs.deny")
def _(t):
    c = t.file(t.ws + "/secret.txt")
    t.dir(t.ws + "/sub")
    for rule in (f"{t.ws}//./secret.txt", f"{t.ws}/sub/../secret.txt", "secret.txt"):
        # A rule may be refused for its spelling; it must not be accepted and mean nothing.
        if not t.suite.outside_only and not t.accepts(["--deny", rule]):
            t.skip_act(f"--deny {t.say([rule])}: refused")
            continue
        t.attacks(denied_paths(t, c), opts=["--deny", rule])


@case(17, "device nodes", "privilege")
def _(t):
    for kind in ("chr", "blk"):
        for where in (t.ws, "/tmp"):
            p = t.tidy(f"{where}/node-{os.path.basename(t.suite.base)}-{os.path.basename(t.base)}-{kind}")
            t.attack(["mknod", kind, p], setup=lambda: t.gone(p), canary=lambda: t.absent(p))


@case(17, "FIFOs and sockets in place of configuration do not hang the start", "fs.write")
def _(t):
    # one by one where a start takes no time; else only those that may keep a run from starting
    others = [".git/HEAD", ".gitmodules", "x/.env"]
    for some in ([".mcp.json"], [".git/config"], [".bawn.yaml"], *([others] if t.tier in SLOW else [[p] for p in others])):
        for p in some:
            t.dir(os.path.dirname(f"{t.ws}/{p}"))
            os.mkfifo(f"{t.ws}/{p}")
            t.own(f"{t.ws}/{p}")
            t.acts += 1
        if not t.suite.outside_only:
            t.bawn("true", refused=True)
        t.gone(*[f"{t.ws}/{p}" for p in some])


@case(18, "setuid file in the workspace", "privilege")
def _(t):
    if os.geteuid():
        raise Skip("needs root to make a file of another owner: run the suite as root")
    other = t.suite.user if t.identity == "root" else (0, 0)
    p = t.ws + "/suid"
    t.copy(t.probe, p)
    os.chown(p, *other)
    os.chmod(p, 0o6755)
    r = t.host(f"{p} ids")
    ids = r.out.split()
    if len(ids) < 4 or ids[1] == ids[3]:
        raise Skip(f"setuid has no effect outside, set BAWN_ESCAPE_DIR to a place without nosuid: {r.out.strip()}")
    t.outside_ok()
    ids = t.bawn(f"{p} ids").out.split()
    if len(ids) < 4 or ids[1] != ids[3]:
        raise Fail(f"setuid works inside: {' '.join(ids)}")


@case(18, "a setuid program is not left behind", "privilege")
def _(t):
    p = t.ws + "/left"
    made = t.ws + "/made"
    t.copy(t.probe, p)
    t.host(f"chmod 4755 {p}")
    if not os.stat(p).st_mode & 0o4000:
        raise Skip("files cannot be made setuid outside: set BAWN_ESCAPE_DIR to another file system")
    os.chmod(p, 0o755)
    t.outside_ok()
    t.bawn(f"chmod 4755 {p}; perl -e 'sysopen(F, \"{made}\", 65, 04755)'; true")
    for left in (p, made):
        if os.path.exists(left) and os.stat(left).st_mode & 0o4000:
            raise Fail(f"{left} is setuid afterwards")


@case(18, "file capabilities in the workspace", "privilege", identities=("user",))
def _(t):
    if os.geteuid():
        raise Skip("needs root to give a file capabilities: run the suite as root")
    p = t.ws + "/fcap"
    t.copy(t.probe, p)
    os.setxattr(p, "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0))

    def effective(r):
        return [line.split()[1] for line in r.out.splitlines() if line.startswith("CapEff")]
    if effective(t.host(f"{p} read /proc/self/status")) != ["0000000000002000"]:
        raise Skip("file capabilities have no effect outside: set BAWN_ESCAPE_DIR to a place without nosuid")
    t.outside_ok()
    got = effective(t.bawn(f"{p} read /proc/self/status"))
    if got not in ([], ["0000000000000000"]):
        raise Fail(f"capabilities gained: {got}")


@case(19, "temporary directories are private", "fs.read", "fs.write")
def _(t):
    for where in ("/tmp", "/var/tmp", "/dev/shm", t.base + "/run"):
        p = t.tidy(f"{where}/bawn-esc-{os.path.basename(t.suite.base)}-{os.path.basename(t.base)}")
        t.attack(["read", p], setup=lambda: t.file(p), errs=PATH)
        t.attack(["write", p], setup=lambda: t.file(p), canary=lambda: t.same(p))


@case(19, "what is put into temporary directories stays there", "fs.write")
def _(t):
    paths = [t.tidy(f"{where}/bawn-esc-{os.path.basename(t.suite.base)}-{os.path.basename(t.base)}{n}")
             for where in ("/tmp", "/var/tmp", "/dev/shm", t.base + "/run") for n in "ab"]
    for p in paths:
        if t.host(["create", p]).what != "ok":
            raise Skip(f"'{p}' cannot be made outside: make its directory writable")
        t.gone(p)
    t.outside_ok()
    t.many([["symlink", "/etc/passwd", p] if p.endswith("b") else ["create", p] for p in paths])
    t.absent(*paths)


@case(20, "bawn's own files", *FS)
def _(t):
    policy = t.base + "/config/bawn/policy.yaml"
    log = t.base + "/state/bawn/audit.jsonl"
    memo = t.base + "/state/bawn/judged"
    t.file(policy, "limits:\n  processes: 300\n")
    if not t.suite.outside_only:
        t.bawn("true")
        if not os.path.exists(log):
            raise Fail("no audit log was written")
    else:
        t.file(log)
        t.file(memo)
    acts = [act for p in (policy, log, memo) for act in (["open", p], ["openw", p], One(["unlink", p], outside="true"))]
    t.attacks([*acts, One(["openw", t.suite.probe if t.suite.outside_only else t.suite.bawn], PATH | {"ETXTBSY"})])


@case(20, "bawn's own files when they lie in the workspace", "fs.write")
def _(t):
    t.file(t.ws + "/state/bawn/x")
    t.gone(t.ws + "/state")
    t.outside_ok()
    env = t.env(XDG_STATE_HOME=t.ws + "/state", XDG_CONFIG_HOME=t.ws + "/config")
    t.dir(t.ws + "/state")
    t.bawn("true", env=env, refused=True)
    log = t.ws + "/state/bawn/audit.jsonl"
    memo = t.ws + "/state/bawn/judged"
    for act in (["write", memo], ["trunc", memo], ["unlink", memo], ["rename", memo, t.ws + "/m2"],
                ["write", log], ["trunc", log], ["unlink", log], ["write", log + ".head"],
                ["rename", t.ws + "/state/bawn", t.ws + "/s2"], ["rename", t.ws + "/state", t.ws + "/s3"],
                ["create", t.ws + "/config/bawn/policy.yaml"]):
        before = set(os.listdir(t.ws + "/state/bawn"))
        r = t.bawn(act, env=env, refused=True)
        stays = os.path.isdir(t.ws + "/state/bawn") and before <= set(os.listdir(t.ws + "/state/bawn"))
        taken = [p for p in ("/m2", "/s2/audit.jsonl", "/s2/judged", "/s3/bawn/audit.jsonl", "/s3/bawn/judged",
                             "/config/bawn/policy.yaml") if os.path.lexists(t.ws + p)]
        for p in ("/m2", "/s2", "/s3"):
            t.gone(t.ws + p)
        if not stays or taken or (r.code != 125 and r.what not in PATH and not t.undone(r, False)):
            raise Fail(f"{t.say(act)}: {r}")


@case(21, "mount in a nested user namespace", "nested")
def _(t):
    t.attack(["unshare", "user"], errs=NESTED)
    if shutil.which("unshare"):
        t.attack("unshare -Ur true", errs={"exit", "killed"})
        t.attack(f"unshare -Urm mount -t tmpfs none {t.ws}", errs={"exit", "killed"})


@case(22, "copying a denied file without reading it", "fs.deny")
def _(t):
    c = t.file(t.ws + "/secret.txt")
    for how in ("ficlone", "copyrange", "sendfile"):
        t.attack([how, c, t.ws + "/copy"], opts=["--deny", c], setup=lambda: t.gone(t.ws + "/copy"),
                 canary=lambda: not os.path.exists(t.ws + "/copy") or t.same(t.ws + "/copy", ""))
    t.attack("cp --reflink=auto secret.txt copy && cat copy", errs={"exit"}, opts=["--deny", c], setup=lambda: t.gone(t.ws + "/copy"))
    t.attack(["sys", "io_uring_setup"], errs=CALL)


@case(23, "a file denied by pattern, by other names", "fs.deny")
def _(t):
    def fresh(where):
        t.gone(where)
        for name in (".env", "sub/.env", "a/b/.env"):
            t.file(f"{where}/{name}", "SECRET-canary\n")
        t.file(where + "/other")
    opts, todo = ["--deny", "**/.env"], []
    for n, act in enumerate(("cat .env", "cat sub/.env", "cat a/b/.env", "mv .env x; cat x", "ln .env x; cat x", "ln -s .env x; cat x",
                "mv sub sub2; cat sub2/.env", "mv a/b a/c; cat a/c/.env", "cp -r sub x; cat x/.env", "cp -al sub x; cat x/.env",
                "$P exchange .env other; cat other", "$P link-fd .env x; cat x", "tar cf - .env sub", "grep -r SECRET .",
                "cat /proc/self/cwd/.env", "chmod 777 .env; cat .env", "dd if=.env 2>&1")):
        act = f"cd {t.ws}/{n} && {act}"  # each has files of its own
        fresh(f"{t.ws}/{n}")
        if "SECRET" not in t.host(act).out:
            t.skip_act(f"{act}: shows nothing outside")
            continue
        fresh(f"{t.ws}/{n}")
        if t.tier == "gvisor" and act.split("&& ")[1].startswith(("mv sub", "mv a/b")):
            t.skip_act(f"{act}: gVisor's kernel ends when a directory with a mount in it is moved, and the run with it")
            continue
        t.acts += 1
        todo.append(act)
    for act, r in zip(todo, [] if t.suite.outside_only else t.many(todo, opts)):
        if r is None or "SECRET" in r.out:
            raise Fail(f"{act}: the denied text came out, or nothing: {r}")
    t.skip_act("git show of a committed .env: the object store holds it too; out of scope of path rules")


@case(24, "filling the private temporary space", "limit.disk")
def _(t):
    full = {"ENOSPC", "EDQUOT", "ENOMEM", "EFBIG"} | ({"EACCES"} if t.tier == "landlock" else set())
    t.attacks([["fill", f"{where}/fill-{os.path.basename(t.suite.base)}", 64] for where in ("/tmp", "/dev/shm")], errs=full,
              limits=("disk", "memory"), opts=["--disk", "20m"], outside=["fill", t.out + "/fill", 64])
    # The Landlock tier has no mounts: its temporary directory may be elsewhere.
    t.attack('$P fill "${TMPDIR:-/tmp}/fill" 64; exit $?', errs=full, limits=("disk", "memory"), opts=["--disk", "20m"],
             outside=["fill", t.out + "/fill", 64])
    if t.tier == "gvisor":
        t.skip_act("empty files: gVisor counts bytes; they are in its memory, which is limited, and not on the host's disk")
        return
    t.attack('$P inodes "${TMPDIR:-/tmp}" 100000; exit $?', errs=full, limits=("disk", "memory"),
             opts=["--disk", "20m"], outside=["inodes", t.out, 1000], timeout=90)


@case(25, "control characters in names and arguments do not reach log or terminal", "fs.write")
def _(t):
    evil = "a\x1b]0;pwn\x07\nb\u202e"
    t.file(f"{t.ws}/{evil}/.env")
    t.outside_ok()
    ws = t.base + "/w\x1b[31m\nx"
    t.dir(ws)
    outs = [t.bawn((f"./no-such-{evil}",), refused=True),
            t.bawn(["read", f"{t.ws}/{evil}/.env"], ["--deny", "**/.env"], refused=True),
            t.bawn(["mkdir", ".claude"], ["--workspace", ws], workspace=False, refused=True, cwd=ws),
            t.bawn(["create", f"{t.ws}/{evil}/.git/hooks"], refused=True)]
    for r in outs:
        if "\x1b" in r.err or "\u202e" in r.err or "\x07" in r.err:
            raise Fail(f"control characters on standard error: {r.err!r}")
        for d in r.json.get("denials") or []:
            if "\x1b" in d.get("text", "") or "\n" in d.get("text", ""):
                raise Fail(f"control characters in a denial: {d['text']!r}")
    if not os.path.exists(t.base + "/state/bawn/audit.jsonl"):
        raise Fail("no audit log was written")
    with open(t.base + "/state/bawn/audit.jsonl", "rb") as f:
        for line in f.read().splitlines():
            json.loads(line)
            if any(b < 0x20 for b in line):
                raise Fail(f"control characters in the audit log: {line!r}")
    for verb in (["audit", "show"], ["audit", "verify"]):
        r = t.finish(t.popen([t.suite.bawn, *verb]), 30)
        if r.code or "\x1b" in r.out:
            raise Fail(f"bawn {' '.join(verb)}: {r}")
