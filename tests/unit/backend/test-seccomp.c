/* SPDX-License-Identifier: Apache-2.0 */
/* The filters: decisions by a small interpreter of the programs, then real programs under them. */

/* NOLINTBEGIN(readability-function-size,performance-no-int-to-ptr): an interpreter is one switch;
 * asserts count as branches */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "backend/native/broker_impl.h"
#include "backend/native/seccomp.h"
#include "backend/native/seccomp_build.h"
#include "harness.h"

#if defined(__x86_64__)
#define NATIVE  AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#else
#define NATIVE  AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#endif
#define NO(e)  (SECCOMP_RET_ERRNO | (e))
#define ALLOW  SECCOMP_RET_ALLOW
#define NOTIFY SECCOMP_RET_USER_NOTIF
#define HIGH   0xdeadbeef00000000ULL

static bool taken(const struct sock_filter *i, uint32_t acc)
{
	switch (BPF_OP(i->code)) {
	case BPF_JEQ:
		return acc == i->k;
	case BPF_JGT:
		return acc > i->k;
	case BPF_JGE:
		return acc >= i->k;
	case BPF_JSET:
		return (acc & i->k) != 0;
	default:
		FAIL("jump %x is unknown", i->code);
	}
}

static uint32_t run(const struct sock_fprog *p, const struct seccomp_data *d)
{
	uint32_t acc = 0;

	for (size_t pc = 0; pc < p->len; pc++) {
		const struct sock_filter *i = &p->filter[pc];

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			ASSERT_EQ(i->code, BPF_LD | BPF_W | BPF_ABS);
			ASSERT_TRUE(i->k + 4 <= sizeof(*d));
			memcpy(&acc, (const char *)d + i->k, 4);
			break;
		case BPF_ALU:
			ASSERT_EQ(i->code, BPF_ALU | BPF_AND | BPF_K);
			acc &= i->k;
			break;
		case BPF_JMP:
			if (BPF_OP(i->code) == BPF_JA)
				pc += i->k;
			else
				pc += taken(i, acc) ? i->jt : i->jf;
			break;
		case BPF_RET:
			return i->k;
		default:
			FAIL("instruction %x is unknown", i->code);
		}
	}
	FAIL("ran off the end");
}

struct row {
	const char *what;
	uint32_t arch;
	int nr;
	uint64_t a0, a1, a2;
	uint32_t expect;
};

static const struct row rows[] = {
	{"read", NATIVE, SYS_read, 0, 0, 0, ALLOW},
	{"openat", NATIVE, SYS_openat, 0, 0, 0, ALLOW},
	{"openat2", NATIVE, SYS_openat2, 0, 0, 0, ALLOW},
	{"statx", NATIVE, SYS_statx, 0, 0, 0, ALLOW},
	{"rseq", NATIVE, SYS_rseq, 0, 0, 0, ALLOW},
	{"seccomp", NATIVE, SYS_seccomp, 1, 0, 0, ALLOW},
	{"memfd_create", NATIVE, SYS_memfd_create, 0, 0, 0, ALLOW},
	{"cachestat", NATIVE, 451, 0, 0, 0, ALLOW},
	{"fchmodat2", NATIVE, 452, 0, 0, 0, ALLOW},
	{"mseal", NATIVE, 462, 0, 0, 0, ALLOW},
	{"setxattrat", NATIVE, 463, 0, 0, 0, NO(ENOSYS)},
	{"unknown", NATIVE, 999, 0, 0, 0, NO(ENOSYS)},
	{"clone3", NATIVE, SYS_clone3, 0, 0, 0, NO(ENOSYS)},
	{"fork", NATIVE, SYS_clone, SIGCHLD, 0, 0, ALLOW},
	{"thread", NATIVE, SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 0, 0, ALLOW},
	{"clone user", NATIVE, SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, NO(EPERM)},
	{"clone mount", NATIVE, SYS_clone, CLONE_NEWNS | SIGCHLD, 0, 0, NO(EPERM)},
	{"clone cgroup", NATIVE, SYS_clone, CLONE_NEWCGROUP, 0, 0, NO(EPERM)},
	{"clone uts", NATIVE, SYS_clone, CLONE_NEWUTS, 0, 0, NO(EPERM)},
	{"clone ipc", NATIVE, SYS_clone, CLONE_NEWIPC, 0, 0, NO(EPERM)},
	{"clone pid", NATIVE, SYS_clone, CLONE_NEWPID, 0, 0, NO(EPERM)},
	{"clone net", NATIVE, SYS_clone, HIGH | CLONE_NEWNET, 0, 0, NO(EPERM)},
	{"unshare", NATIVE, SYS_unshare, 0, 0, 0, NO(EPERM)},
	{"setns", NATIVE, SYS_setns, 0, 0, 0, NO(EPERM)},
	{"chroot", NATIVE, SYS_chroot, 0, 0, 0, NO(EPERM)},
	{"mount", NATIVE, SYS_mount, 0, 0, 0, NO(EPERM)},
	{"umount2", NATIVE, SYS_umount2, 0, 0, 0, NO(EPERM)},
	{"swapon", NATIVE, SYS_swapon, 0, 0, 0, NO(EPERM)},
	{"swapoff", NATIVE, SYS_swapoff, 0, 0, 0, NO(EPERM)},
	{"init_module", NATIVE, SYS_init_module, 0, 0, 0, NO(EPERM)},
	{"delete_module", NATIVE, SYS_delete_module, 0, 0, 0, NO(EPERM)},
	{"finit_module", NATIVE, SYS_finit_module, 0, 0, 0, NO(EPERM)},
	{"ptrace", NATIVE, SYS_ptrace, 0, 0, 0, NO(EPERM)},
	{"process_vm_writev", NATIVE, SYS_process_vm_writev, 0, 0, 0, NO(EPERM)},
	{"reboot", NATIVE, SYS_reboot, 0, 0, 0, NO(EPERM)},
	{"kexec_load", NATIVE, SYS_kexec_load, 0, 0, 0, NO(EPERM)},
	{"kexec_file_load", NATIVE, SYS_kexec_file_load, 0, 0, 0, NO(EPERM)},
	{"bpf", NATIVE, SYS_bpf, 0, 0, 0, NO(EPERM)},
	{"add_key", NATIVE, SYS_add_key, 0, 0, 0, NO(EPERM)},
	{"request_key", NATIVE, SYS_request_key, 0, 0, 0, NO(EPERM)},
	{"keyctl", NATIVE, SYS_keyctl, 0, 0, 0, NO(EPERM)},
	{"userfaultfd", NATIVE, SYS_userfaultfd, 0, 0, 0, NO(EPERM)},
	{"kcmp", NATIVE, SYS_kcmp, 0, 0, 0, NO(EPERM)},
	{"open_by_handle_at", NATIVE, SYS_open_by_handle_at, 0, 0, 0, NO(EPERM)},
	{"name_to_handle_at", NATIVE, SYS_name_to_handle_at, 0, 0, 0, NO(EPERM)},
	{"io_uring_setup", NATIVE, SYS_io_uring_setup, 0, 0, 0, NO(EPERM)},
	{"io_uring_enter", NATIVE, SYS_io_uring_enter, 0, 0, 0, NO(EPERM)},
	{"io_uring_register", NATIVE, SYS_io_uring_register, 0, 0, 0, NO(EPERM)},
	{"open_tree", NATIVE, SYS_open_tree, 0, 0, 0, NO(EPERM)},
	{"move_mount", NATIVE, SYS_move_mount, 0, 0, 0, NO(EPERM)},
	{"fsopen", NATIVE, SYS_fsopen, 0, 0, 0, NO(EPERM)},
	{"mount_setattr", NATIVE, SYS_mount_setattr, 0, 0, 0, NO(EPERM)},
	{"open_tree_attr", NATIVE, 467, 0, 0, 0, NO(EPERM)},
	{"pivot_root", NATIVE, SYS_pivot_root, 0, 0, 0, NO(EPERM)},
	{"perf_event_open", NATIVE, SYS_perf_event_open, 0, 0, 0, NO(EPERM)},
	{"quotactl", NATIVE, SYS_quotactl, 0, 0, 0, NO(EPERM)},
	{"acct", NATIVE, SYS_acct, 0, 0, 0, NO(EPERM)},
	{"syslog", NATIVE, SYS_syslog, 0, 0, 0, NO(EPERM)},
	{"clock_settime", NATIVE, SYS_clock_settime, 0, 0, 0, NO(EPERM)},
	{"fanotify_init", NATIVE, SYS_fanotify_init, 0, 0, 0, NO(EPERM)},
	{"personality 0", NATIVE, SYS_personality, 0, 0, 0, ALLOW},
	{"personality ?", NATIVE, SYS_personality, 0xffffffff, 0, 0, ALLOW},
	{"personality -1", NATIVE, SYS_personality, ~0ULL, 0, 0, ALLOW},
	{"read implies exec", NATIVE, SYS_personality, 0x400000, 0, 0, NO(EPERM)},
	{"no randomize", NATIVE, SYS_personality, 0x40000, 0, 0, NO(EPERM)},
	{"ioctl TCGETS", NATIVE, SYS_ioctl, 0, TCGETS, 0, ALLOW},
	{"ioctl TIOCSTI", NATIVE, SYS_ioctl, 0, TIOCSTI, 0, NO(EPERM)},
	{"ioctl TIOCSTI high", NATIVE, SYS_ioctl, 0, HIGH | TIOCSTI, 0, NO(EPERM)},
	{"ioctl TIOCLINUX", NATIVE, SYS_ioctl, 0, TIOCLINUX, 0, NO(EPERM)},
	{"ioctl TIOCSETD high", NATIVE, SYS_ioctl, 0, HIGH | TIOCSETD, 0, NO(EPERM)},
	{"mknodat fifo", NATIVE, SYS_mknodat, 0, 0, S_IFIFO | 0600, ALLOW},
	{"mknodat file", NATIVE, SYS_mknodat, 0, 0, 0600, ALLOW},
	{"mknodat block", NATIVE, SYS_mknodat, 0, 0, S_IFBLK | 0600, NO(EPERM)},
	{"mknodat char", NATIVE, SYS_mknodat, 0, 0, HIGH | S_IFCHR | 0600, NO(EPERM)},
	{"socketpair", NATIVE, SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ALLOW},
	{"socketpair packets", NATIVE, SYS_socketpair, AF_UNIX, SOCK_SEQPACKET, 0, ALLOW},
	{"socketpair datagrams", NATIVE, SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, NO(EPERM)},
	{"socketpair high", NATIVE, SYS_socketpair, HIGH | AF_UNIX,
		HIGH | SOCK_CLOEXEC | SOCK_DGRAM, 0, NO(EPERM)},
	{"socketpair raw", NATIVE, SYS_socketpair, AF_UNIX, SOCK_RAW, 0, NO(EPERM)},
	{"own limits", NATIVE, SYS_prlimit64, 0, 7, 0x7fff00000000, ALLOW},
	{"own limits high", NATIVE, SYS_prlimit64, HIGH, 7, 0x1000, ALLOW},
	{"limits read", NATIVE, SYS_prlimit64, 1234, 7, 0, ALLOW},
	{"limits set", NATIVE, SYS_prlimit64, 1234, 7, 0x1000, NO(EPERM)},
	{"limits set high", NATIVE, SYS_prlimit64, 1234, 7, 0x7f0000000000, NO(EPERM)},
	{"socketpair tipc", NATIVE, SYS_socketpair, 30, SOCK_STREAM, 0, NO(EAFNOSUPPORT)},
	{"foreign", FOREIGN, SYS_read, 0, 0, 0, SECCOMP_RET_KILL_PROCESS},
#if defined(__x86_64__)
	{"x32", NATIVE, 0x40000000 | SYS_read, 0, 0, 0, SECCOMP_RET_KILL_PROCESS},
	{"x32 open", NATIVE, 0x40000000 | SYS_openat, 0, 0, 0, SECCOMP_RET_KILL_PROCESS},
	{"mknod char", NATIVE, SYS_mknod, 0, S_IFCHR | 0600, 0, NO(EPERM)},
	{"ioperm", NATIVE, SYS_ioperm, 0, 0, 0, NO(EPERM)},
	{"iopl", NATIVE, SYS_iopl, 0, 0, 0, NO(EPERM)},
	{"modify_ldt", NATIVE, SYS_modify_ldt, 0, 0, 0, NO(EPERM)},
	{"open", NATIVE, SYS_open, 0, 0, 0, ALLOW},
#endif
};

#define SOCK(what, family, type, proto, act)                       \
	{                                                          \
		what, NATIVE, SYS_socket, family, type, proto, act \
	}

static const struct row open_net[] = {
	SOCK("unix", AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ALLOW),
	SOCK("unix packets", AF_UNIX, SOCK_SEQPACKET, 0, ALLOW),
	SOCK("unix datagrams", AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, NO(EPERM)),
	SOCK("unix raw", HIGH | AF_UNIX, HIGH | SOCK_RAW, 0, NO(EPERM)),
	SOCK("tcp", AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, ALLOW),
	SOCK("tcp6", AF_INET6, SOCK_STREAM, 6, ALLOW),
	SOCK("udp", AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 17, ALLOW),
	SOCK("raw", AF_INET, SOCK_RAW, 1, NO(EAFNOSUPPORT)),
	SOCK("raw flags", AF_INET, SOCK_RAW | SOCK_CLOEXEC, 255, NO(EAFNOSUPPORT)),
	SOCK("ping", AF_INET, SOCK_DGRAM, 1, NO(EAFNOSUPPORT)),
	SOCK("ping6", AF_INET6, SOCK_DGRAM, 58, NO(EAFNOSUPPORT)),
	SOCK("packet type", AF_INET, SOCK_PACKET, 0, NO(EAFNOSUPPORT)),
	SOCK("netlink", AF_NETLINK, SOCK_RAW, 0, NO(EAFNOSUPPORT)),
	SOCK("netlink high", HIGH | AF_NETLINK, SOCK_RAW, 0, NO(EAFNOSUPPORT)),
	SOCK("packet", AF_PACKET, SOCK_RAW, 0, NO(EAFNOSUPPORT)),
	SOCK("vsock", AF_VSOCK, SOCK_STREAM, 0, NO(EAFNOSUPPORT)),
	SOCK("alg", AF_ALG, SOCK_SEQPACKET, 0, NO(EAFNOSUPPORT)),
	SOCK("xdp", 44, SOCK_RAW, 0, NO(EAFNOSUPPORT)),
	SOCK("bluetooth", AF_BLUETOOTH, SOCK_STREAM, 0, NO(EAFNOSUPPORT)),
};

static const struct row closed_net[] = {
	SOCK("unix", AF_UNIX, SOCK_STREAM, 0, ALLOW),
	SOCK("unix datagrams", AF_UNIX, SOCK_DGRAM, 0, NO(EPERM)),
	SOCK("tcp", AF_INET, SOCK_STREAM, 0, NO(EAFNOSUPPORT)),
	SOCK("udp6", AF_INET6, SOCK_DGRAM, 0, NO(EAFNOSUPPORT)),
	SOCK("netlink", AF_NETLINK, SOCK_RAW, 0, NO(EAFNOSUPPORT)),
};

static const struct row no_net[] = {
	SOCK("unix", AF_UNIX, SOCK_STREAM, 0, NO(EAFNOSUPPORT)),
	SOCK("tcp", AF_INET, SOCK_STREAM, 0, NO(EAFNOSUPPORT)),
};

static const int ipc_calls[] = {SYS_shmget, SYS_shmat, SYS_shmctl, SYS_shmdt, SYS_msgget,
	SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
	SYS_mq_open, SYS_mq_unlink};

static void check_ipc(const struct sock_fprog *p, uint32_t expect)
{
	for (size_t i = 0; i < sizeof(ipc_calls) / sizeof(ipc_calls[0]); i++) {
		struct seccomp_data d = {.nr = ipc_calls[i], .arch = NATIVE};

		ASSERT_EQ(run(p, &d), expect);
	}
}

static void check_broker_calls(const struct sock_fprog *p, uint32_t expect)
{
	struct seccomp_data d = {.nr = SYS_pidfd_getfd, .arch = NATIVE};

	ASSERT_EQ(run(p, &d), expect);
	d.nr = SYS_process_vm_readv;
	ASSERT_EQ(run(p, &d), expect);
}

static void check(const struct sock_fprog *p, const struct row *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct seccomp_data d = {
			.nr = r[i].nr, .arch = r[i].arch, .args = {r[i].a0, r[i].a1, r[i].a2}};
		uint32_t got = run(p, &d);

		if (got != r[i].expect)
			FAIL("%s: %08x instead of %08x", r[i].what, got, r[i].expect);
	}
}
#define CHECK(p, r) check(p, r, sizeof(r) / sizeof((r)[0]))

static struct sock_fprog base_of(const struct bawn_plan *plan)
{
	static struct bawn_arena *a;
	struct bawn_error err = {0};
	struct sock_fprog p = {0};

	a = a ? a : bawn_arena_new();
	if (bawn_seccomp_base(a, plan, &p, &err) < 0)
		FAIL("%s", err.msg);
	return p;
}

static void check_same(const struct sock_fprog *p, bool inet, bool unix_sockets)
{
	struct bawn_seccomp_profile prof = {
		.inet = inet, .unix_sockets = unix_sockets, .ipc = inet, .broker = inet};
	struct sock_filter *made = NULL;
	size_t n = 0;

	ASSERT_EQ(bawn_seccomp_build_base(&prof, &made, &n), 0);
	struct sock_fprog q = {.len = (unsigned short)n, .filter = made};
	CHECK(&q, rows);
	for (int nr = -2; nr < 600; nr++) {
		for (uint64_t bit = 0; bit < 64; bit++) {
			uint64_t v = bit == 63 ? 0 : 1ULL << bit;
			struct seccomp_data d = {
				.nr = nr, .arch = NATIVE, .args = {v, v | 1, v | 2}};

			ASSERT_EQ(run(p, &d), run(&q, &d));
		}
	}
	free(made);
}

TEST(full)
{
	struct bawn_plan plan = {.tier = BAWN_TIER_FULL};
	struct sock_fprog p = base_of(&plan);

	(void)printf("# full: %u instructions\n", p.len);
	(void)fflush(stdout);
	CHECK(&p, rows);
	CHECK(&p, open_net);
	check_ipc(&p, ALLOW);
	check_broker_calls(&p, ALLOW); /* for the broker: see notify */
	check_same(&p, true, true);
}

TEST(landlock)
{
	struct bawn_plan plan = {.tier = BAWN_TIER_LANDLOCK};
	struct sock_fprog p = base_of(&plan);

	CHECK(&p, rows);
	CHECK(&p, no_net);
	check_ipc(&p, NO(EPERM));
	check_broker_calls(&p, NO(EPERM));
	check_same(&p, false, false);
	plan.n_guards = 1;
	p = base_of(&plan);
	check_ipc(&p, NO(EPERM));
	check_broker_calls(&p, ALLOW);
}

TEST(landlock_unix)
{
	struct bawn_plan plan = {.tier = BAWN_TIER_LANDLOCK, .unix_open = true};
	struct sock_fprog p = base_of(&plan);

	CHECK(&p, rows);
	CHECK(&p, closed_net);
	check_ipc(&p, NO(EPERM));
	check_same(&p, false, true);
}

TEST(net_closed)
{
	struct bawn_plan plan = {.tier = BAWN_TIER_FULL, .net_closed = true};
	struct sock_fprog p = base_of(&plan);

	CHECK(&p, rows);
	CHECK(&p, closed_net);
	check_ipc(&p, ALLOW);
}

/* What is the host's stays so, and what the broker needs stays, whatever names the policy has. */
TEST(policy_cannot_change)
{
	static const char *const allow[] = {"shmget", "mq_open", "socket", NULL};
	static const char *const deny[] = {"pidfd_getfd", NULL};
	struct bawn_plan plan = {
		.tier = BAWN_TIER_LANDLOCK, .sys_allow = allow, .sys_deny = deny, .n_guards = 1};
	struct sock_fprog p = base_of(&plan);

	check_ipc(&p, NO(EPERM));
	check_broker_calls(&p, ALLOW);
	plan.n_guards = 0;
	p = base_of(&plan);
	check_broker_calls(&p, NO(EPERM));
}

TEST(no_exec)
{
	static const struct row want[] = {
		{"memfd plain", NATIVE, SYS_memfd_create, 0, 1, 0, NO(EPERM)},
		{"memfd exec", NATIVE, SYS_memfd_create, 0, 0x11, 0, NO(EPERM)},
		{"memfd sealed", NATIVE, SYS_memfd_create, 0, 9, 0, ALLOW},
		{"memfd both", NATIVE, SYS_memfd_create, 0, 0x19, 0, NO(EPERM)},
		{"mount", NATIVE, SYS_mount, 0, 0, 0, NO(EPERM)},
	};
	struct bawn_plan plan = {.tier = BAWN_TIER_FULL, .n_no_exec = 1};
	struct sock_fprog p = base_of(&plan);

	CHECK(&p, want);
	CHECK(&p, open_net);
	plan.net_closed = true;
	p = base_of(&plan);
	CHECK(&p, want);
	CHECK(&p, closed_net);
	plan.tier = BAWN_TIER_LANDLOCK;
	p = base_of(&plan);
	CHECK(&p, want);
	CHECK(&p, no_net);
}

TEST(policy_changes)
{
	static const char *const allow[] = {"ptrace", "personality", "socket", "vserver", NULL};
	static const char *const deny[] = {"mkdirat", "clone", "socketpair", "tuxcall", NULL};
	static const char *const bad[] = {"no_such_call", NULL};
	static const struct row want[] = {
		{"ptrace", NATIVE, SYS_ptrace, 0, 0, 0, ALLOW},
		{"personality", NATIVE, SYS_personality, 0x400000, 0, 0, ALLOW},
		{"mkdirat", NATIVE, SYS_mkdirat, 0, 0, 0, NO(EPERM)},
		{"clone", NATIVE, SYS_clone, SIGCHLD, 0, 0, NO(EPERM)},
		{"socketpair", NATIVE, SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, NO(EPERM)},
		{"mount", NATIVE, SYS_mount, 0, 0, 0, NO(EPERM)},
		{"ioctl", NATIVE, SYS_ioctl, 0, HIGH | TIOCSTI, 0, NO(EPERM)},
		{"memfd plain", NATIVE, SYS_memfd_create, 0, 1, 0, NO(EPERM)},
		{"memfd exec", NATIVE, SYS_memfd_create, 0, 0x11, 0, NO(EPERM)},
		{"memfd sealed", NATIVE, SYS_memfd_create, 0, 9, 0, ALLOW},
	};
	struct bawn_plan plan = {
		.tier = BAWN_TIER_FULL, .sys_allow = allow, .sys_deny = deny, .n_no_exec = 1};
	struct sock_fprog p = base_of(&plan);
	struct bawn_error err = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();

	CHECK(&p, want);
	CHECK(&p, open_net);
	plan.sys_allow = bad;
	ASSERT_EQ(bawn_seccomp_base(a, &plan, &p, &err), -EINVAL);
	ASSERT_EQ(err.kind, BAWN_ERR_POLICY);
	ASSERT_TRUE(bawn_seccomp_known("openat"));
	ASSERT_TRUE(bawn_seccomp_known("mseal"));
	ASSERT_TRUE(!bawn_seccomp_known("no_such_call"));
}

static const struct row notify_create[] = {
	{"read open", NATIVE, SYS_openat, 0, 0, O_RDONLY, ALLOW},
	{"write open", NATIVE, SYS_openat, 0, 0, O_WRONLY | O_TRUNC, ALLOW},
	{"create", NATIVE, SYS_openat, 0, 0, O_WRONLY | O_CREAT, NOTIFY},
	{"create high", NATIVE, SYS_openat, 0, 0, HIGH | O_CREAT, NOTIFY},
	{"tmpfile", NATIVE, SYS_openat, 0, 0, O_TMPFILE | O_RDWR, ALLOW},
	{"mkdirat", NATIVE, SYS_mkdirat, 0, 0, 0, NOTIFY},
	{"renameat2", NATIVE, SYS_renameat2, 0, 0, 0, NOTIFY},
	{"connect", NATIVE, SYS_connect, 0, 0, 0, NOTIFY},
	{"bind", NATIVE, SYS_bind, 0, 0, 0, NOTIFY},
	{"pidfd_getfd", NATIVE, SYS_pidfd_getfd, 0, 0, 0, NO(EPERM)},
	{"process_vm_readv", NATIVE, SYS_process_vm_readv, 0, 0, 0, NO(EPERM)},
	{"umask", NATIVE, SYS_umask, 022, 0, 0, NOTIFY},
	{"unlinkat", NATIVE, SYS_unlinkat, 0, 0, 0, ALLOW},
	{"openat2", NATIVE, SYS_openat2, 0, 0, 0, NO(ENOSYS)},
	{"listener", NATIVE, SYS_seccomp, 1, 8, 0, NO(EPERM)},
	{"filter", NATIVE, SYS_seccomp, 1, 1, 0, ALLOW},
	{"read", NATIVE, SYS_read, 0, 0, 0, ALLOW},
};
static const struct row notify_write[] = {
	{"read open", NATIVE, SYS_openat, 0, 0, O_RDONLY, ALLOW},
	{"write open", NATIVE, SYS_openat, 0, 0, O_WRONLY, NOTIFY},
	{"rw open", NATIVE, SYS_openat, 0, 0, O_RDWR | O_CLOEXEC, NOTIFY},
	{"accmode 3", NATIVE, SYS_openat, 0, 0, 3, NOTIFY},
	{"read trunc", NATIVE, SYS_openat, 0, 0, O_RDONLY | O_TRUNC, NOTIFY},
	{"read create", NATIVE, SYS_openat, 0, 0, O_RDONLY | O_CREAT, NOTIFY},
	{"unlinkat", NATIVE, SYS_unlinkat, 0, 0, 0, NOTIFY},
	{"fchmodat2", NATIVE, 452, 0, 0, 0, NOTIFY},
	{"fsetxattr", NATIVE, SYS_fsetxattr, 0, 0, 0, NOTIFY},
	{"connect", NATIVE, SYS_connect, 0, 0, 0, NOTIFY},
	{"pidfd_getfd", NATIVE, SYS_pidfd_getfd, 0, 0, 0, NO(EPERM)},
	{"process_vm_readv", NATIVE, SYS_process_vm_readv, 0, 0, 0, NO(EPERM)},
	{"openat2", NATIVE, SYS_openat2, 0, 0, 0, NO(ENOSYS)},
	{"listener", NATIVE, SYS_seccomp, 1, HIGH | 8, 0, NO(EPERM)},
};
static const struct row notify_all[] = {
	{"read open", NATIVE, SYS_openat, 0, 0, O_RDONLY, NOTIFY},
	{"unlinkat", NATIVE, SYS_unlinkat, 0, 0, 0, NOTIFY},
	{"read", NATIVE, SYS_read, 0, 0, 0, ALLOW},
	{"bind", NATIVE, SYS_bind, 0, 0, 0, NOTIFY},
	{"pidfd_getfd", NATIVE, SYS_pidfd_getfd, 0, 0, 0, NO(EPERM)},
	{"process_vm_readv", NATIVE, SYS_process_vm_readv, 0, 0, 0, NO(EPERM)},
};

TEST(notify)
{
	struct sock_fprog p = {0};

	bawn_seccomp_notify(BAWN_BROKER_CREATE, &p);
	CHECK(&p, notify_create);
	bawn_seccomp_notify(BAWN_BROKER_WRITE, &p);
	CHECK(&p, notify_write);
	bawn_seccomp_notify(BAWN_BROKER_ALL, &p);
	CHECK(&p, notify_all);
}

/* Every call that the filter suspends has a row in the broker's table. */
TEST(notify_and_broker_agree)
{
	for (int mode = BAWN_BROKER_CREATE; mode <= BAWN_BROKER_ALL; mode++) {
		struct sock_fprog p = {0};
		unsigned int n = 0;

		bawn_seccomp_notify((enum bawn_broker_mode)mode, &p);
		for (int nr = 0; nr < 600; nr++) {
			struct seccomp_data d = {
				.nr = nr, .arch = NATIVE, .args = {0, O_CREAT, O_CREAT}};
			bool has = false;

			if (run(&p, &d) != NOTIFY)
				continue;
			for (size_t i = 0; i < bawn_broker_n_ops; i++)
				has |= bawn_broker_ops[i].nr == nr;
			if (!has)
				FAIL("call %d is suspended in mode %d, nobody does it", nr, mode);
			n++;
		}
		ASSERT_TRUE(n >= 8);
		ASSERT_TRUE(mode < BAWN_BROKER_WRITE || n == bawn_broker_n_ops);
	}
}

TEST(exported)
{
	FILE *f = tmpfile();
	struct sock_fprog p = {0};
	off_t size;

	ASSERT_TRUE(f != NULL);
	ASSERT_EQ(bawn_seccomp_export(fileno(f), NULL), 0);
	size = lseek(fileno(f), 0, SEEK_END);
	p.filter = malloc((size_t)size);
	p.len = (unsigned short)((size_t)size / sizeof(*p.filter));
	ASSERT_EQ(pread(fileno(f), p.filter, (size_t)size, 0), size);
	CHECK(&p, rows);
	CHECK(&p, open_net);
	check_ipc(&p, ALLOW);
	check_broker_calls(&p, NO(EPERM)); /* whoever loads it has no broker */
	free(p.filter);
}

static int run_under(enum bawn_tier tier, const char *const *argv)
{
	pid_t pid = fork();
	int st = 0;

	if (pid == 0) {
		struct bawn_plan plan = {.tier = tier};
		struct sock_fprog p = base_of(&plan);
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		(void)dup2(null, 1);
		(void)dup2(null, 2);
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
			bawn_seccomp_load(&p, false, NULL) < 0)
			_exit(125);
		(void)execv(argv[0], (char *const *)(uintptr_t)argv);
		_exit(126);
	}
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

TEST(real_programs)
{
	static const char *const cmds[][4] = {
		{"/bin/true"},
		{"/bin/bash", "-c",
			"a=$(echo hi | cat); [ \"$a\" = hi ] && (exec ls / >/dev/null)"},
		{"/usr/bin/python3", "-c",
			"import threading,subprocess,socket,tempfile,select\n"
			"t=threading.Thread(target=lambda:None);t.start();t.join()\n"
			"subprocess.run(['/bin/true'],check=True)\n"
			"socket.socketpair()\ntempfile.TemporaryFile().write(b'x')\nselect.epoll()"},
		{"/usr/bin/perl", "-e", "print `echo x` eq \"x\\n\" ? exit 0 : exit 1"},
		{"/usr/bin/git", "--version"},
		{"/usr/bin/gcc", "-v"},
	};

	for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		if (access(cmds[i][0], X_OK) < 0) {
			(void)printf("# '%s' is not here\n", cmds[i][0]);
			continue;
		}
		if (run_under(BAWN_TIER_FULL, cmds[i]) != 0)
			FAIL("'%s' fails under the full filter", cmds[i][0]);
		if (run_under(BAWN_TIER_LANDLOCK, cmds[i]) != 0)
			FAIL("'%s' fails under the Landlock filter", cmds[i][0]);
	}
}

TEST(refusal_is_real)
{
	struct bawn_plan plan = {.tier = BAWN_TIER_FULL};
	struct sock_fprog p = base_of(&plan);

	ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ASSERT_EQ(bawn_seccomp_load(&p, false, NULL), 0);
	errno = 0;
	ASSERT_EQ(unshare(CLONE_NEWUSER), -1);
	ASSERT_EQ(errno, EPERM);
	ASSERT_EQ(socket(AF_NETLINK, SOCK_RAW, 0), -1);
	ASSERT_EQ(errno, EAFNOSUPPORT);
}

/* NOLINTEND(readability-function-size,performance-no-int-to-ptr) */
