# SPDX-License-Identifier: Apache-2.0
"""
Failing system calls and kills, one at a time. A run with a fault is fine when it is as good as one without (same
output of a command that looks at its wall from inside), or when it is refused: one line, and the command did not run.
"""

import errno
import os

from lib import Fail, Place, expect_refusal, scrub

# What the command sees of its wall. Every line must be the same with and without a harmless fault.
LOOK = r"""
: MARK
touch started
try() { "$@" >/dev/null 2>&1 && echo "HOLE: $*" || echo "no: $1"; }
echo "root $(ls -A / | tr '\n' ' ')"
grep -E '^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Seccomp_filters|Cap...):' /proc/self/status
echo "net $(cut -s -d: -f1 /proc/net/dev | tr -d ' \n')"
[ "$BAWN_SANDBOX" = landlock ] || cut -d' ' -f5,6 /proc/self/mountinfo
ulimit -n
try mkdir .claude
try touch .mcp.json
try touch /usr/fault-test
try cat /etc/shadow
try ls OUTSIDE
try unshare -U true
try mkdir -p .git/hooks
env | grep -v '^_=' | sort
"""

CALLS = """clone3 clone openat openat2 mkdirat open_tree move_mount mount_setattr fsopen fsmount fsconfig pivot_root umount2
prctl capset landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp write pwrite64 pread64 flock
socketpair sendto sendmsg recvmsg recvfrom epoll_create1 epoll_ctl pipe2 dup2 close_range setsid chdir fchdir execve
unlinkat prlimit64 read readlink newfstatat fcntl memfd_create signalfd4 timerfd_create timerfd_settime eventfd2
pidfd_open mount mknodat symlinkat sethostname socket ioctl fallocate ftruncate lseek getrandom poll epoll_wait wait4
mmap""".split()
# Calls that cannot fail this way, or whose failure nothing can be done about: fcntl asking for descriptors, answers to a waiting system call, and waiting for a child that is known to be there.
NOT = {("host", "fcntl"), ("init", "ioctl"), ("init", "wait4"), ("host", "wait4")}
# Without these a control is not in force: the command must not run when one of them fails in init.
WALL = """landlock_restrict_self landlock_add_rule capset pivot_root move_mount mount_setattr""".split()
ERRORS = [errno.ENOMEM, errno.EPERM, errno.ENOSYS]


def script(place):
    return LOOK.replace("MARK", place.mark).replace("OUTSIDE", place.side)


def sample(total, most, deep):
    if deep or total <= most:
        return list(range(1, total + 1))
    return sorted({1 + round(i * (total - 1) / (most - 1)) for i in range(most)})


class Combo:
    """One identity and one backend, with what a run without faults looks like."""

    def __init__(self, suite, identity, backend):
        self.suite, self.identity, self.backend = suite, identity, backend
        place = Place(suite, identity)
        try:
            r = self.go(place, ("host", "any", 0, 0))
            if r.code != 0 or not place.started():
                raise Fail(f"without any fault: {r}")
            if "HOLE" in r.out:
                raise Fail(f"without any fault: {r.out}")
            self.good, self.seen, self.host_calls, self.at_exec = scrub(r.out), r.seen, r.matched, r.at_exec
            place.expect_clean(r.host)
        finally:
            place.close()

    def __str__(self):
        return f"{self.identity} {self.backend}"

    def go(self, place, inject):
        return place.bawn("run", "--backend", self.backend, "--", "sh", "-c", script(place), inject=inject)

    def count(self, role, call):
        return self.seen.get((role, call), 0)


def judge(combo, place, r, role, call, n):
    """Raises Fail unless the outcome is one of those that may be."""
    ran = place.started()
    if os.WIFSIGNALED(r.status):
        raise Fail(f"crashes: {r}")
    if "HOLE" in r.out:
        raise Fail(f"a hole: {r}")
    if role == "init" and n > r.at_exec >= 0:
        # the command is under way and may see a call of its own fail; silence is not an option
        if not r.out and not r.err:
            raise Fail(f"fails without a word: {r}")
        return None
    if not ran:
        return expect_refusal(r, (125, 126, 127))
    if not any(x.get("event") == "start" for x in place.records()):
        raise Fail(f"ran without a record: {r}")
    same = scrub(r.out) == combo.good
    if r.code == 0 and not same:
        raise Fail(f"another wall, or output lost: {r}\n" + differ(combo.good, scrub(r.out)))
    if r.code == 0 and role == "init" and call in WALL:
        raise Fail(f"ran although a wall could not be built: {r}")
    if r.code != 0 and "bawn: " not in r.err:
        raise Fail(f"fails without a word: {r}")
    if r.code in (126, 127):
        raise Fail(f"says that the command was not executed, but it was: {r}")
    return None


def differ(a, b):
    a, b = a.splitlines(), b.splitlines()
    return " | ".join([f"-{x}" for x in a if x not in b] + [f"+{x}" for x in b if x not in a])[:600]


def one(combo, role, call, n, error):
    place = Place(combo.suite, combo.identity)
    try:
        r = combo.go(place, (role, call, n, error))
        judge(combo, place, r, role, call, n)
        place.expect_clean(r.host)
        place.verify()
    except Fail as e:
        raise Fail(f"{role} {call} #{n} {errno.errorcode[error]}: {e}") from None
    finally:
        place.close()


def fail_call(combo, role, call, deep):
    """The sweep of one call in one role."""
    total = combo.count(role, call)
    errors = ERRORS if role != "host" or deep else ERRORS[:1]
    most = 4 if role == "host" else 3
    failed = []
    for i, n in enumerate(sample(total, most, deep)):
        for error in errors if deep or total <= 2 else [errors[i % len(errors)]]:
            try:
                one(combo, role, call, n, error)
            except Fail as e:
                failed.append(str(e))
    if failed:
        raise Fail("\n".join(failed))


def kill_at(combo, role, n, after):
    """The process is killed at its nth call; `after`: the command has ended by then."""
    place = Place(combo.suite, combo.identity)
    nap = f"0.0{place.mark}" if after else f"30.0{place.mark}"
    try:
        r = place.bawn("run", "--backend", combo.backend, "--", "sh", "-c", f"touch started; sleep {nap}; :",
                       inject=(role, "any", n, "kill"))
        if r.matched >= n and role == "host" and r.code != 128 + 9:
            raise Fail(f"was not killed: {r}")
        place.expect_clean(r.host)
        place.verify()
        if place.started() and not any(x.get("event") == "start" for x in place.records()):
            raise Fail("ran without a record")
    except Fail as e:
        raise Fail(f"{role} killed at call {n}: {e}") from None
    finally:
        place.close()


def kill_host(combo, deep):
    failed = []
    for n in sample(combo.host_calls, 60, deep):
        try:
            kill_at(combo, "host", n, n > combo.at_exec)
        except Fail as e:
            failed.append(str(e))
    if failed:
        raise Fail("\n".join(failed))


def kill_init(combo, deep):
    """Somebody (the kernel, short of memory) kills init while it builds the wall."""
    total = sum(c for (role, _), c in combo.seen.items() if role == "init")
    failed = []
    for n in sample(total * 3 // 4, 12, deep):
        try:
            kill_at(combo, "init", n, True)
        except Fail as e:
            failed.append(str(e))
    if failed:
        raise Fail("\n".join(failed))


def cases(combo, deep):
    for role in ("host", "init", "command", "helper"):
        for call in CALLS:
            if combo.count(role, call) and (role, call) not in NOT:
                yield (f"{combo}: {call} fails in {role}",
                       lambda role=role, call=call: fail_call(combo, role, call, deep))
    yield f"{combo}: host process killed at every step", lambda: kill_host(combo, deep)
    yield f"{combo}: init killed while it builds", lambda: kill_init(combo, deep)


