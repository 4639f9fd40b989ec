/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From tables to programs. libseccomp cannot say "allow ioctl but for these" in an allow-list, so a
 * filter is made of parts: a tree that decides by number, which sends the few calls whose arguments
 * matter on to libseccomp's program; what that does not recognise goes on to the table's decision
 * for the call.
 */

#include "backend/native/seccomp_build.h"

#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>

#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "backend/native/broker_mode.h"
#include "backend/native/seccomp_tree.h"

#define GO_ON SCMP_ACT_TRACE(0xba3) /* default of the first program; never loaded */
#define LOW32 0xffffffffU
#define TYPE  0xfU

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* Names are in the tables, as pointers to them would have to be relocated at every start. */
struct row {
	char name[28];
	int number; /* -1: ask libseccomp */
	int action; /* 0 or errno */
};

static const struct row table[] = {
#define SYS(group, act, sys)      {.name = #sys, .number = -1, .action = act},
#define NEW(group, act, sys, num) {.name = #sys, .number = num, .action = act},
#include "backend/native/syscalls.def"
#undef SYS
#undef NEW
};

/* An argument check of the first program: up to three masked comparisons. */
struct check {
	char name[16];
	uint32_t action; /* SCMP_ACT_ALLOW or SCMP_ACT_ERRNO() */
	unsigned int n;
	struct {
		unsigned int arg;
		uint64_t mask, value;
	} a[3];
};

#define DENY SCMP_ACT_ERRNO(EPERM)
#define ONE(sys, act, num, msk, val)                             \
	{                                                        \
		.name = sys, .action = act, .n = 1,              \
		.a = { {.arg = num, .mask = msk, .value = val} } \
	}
#define FLAG(sys, num, bit) ONE(sys, DENY, num, (uint64_t)(bit), (uint64_t)(bit))

/* Datagrams can be sent to any path without connect(), which is what the broker sees. The kernel
 * takes a raw Unix socket for a datagram one. */
#define UNIX(sys, act, type)                        \
	{                                           \
		.name = sys, .action = act, .n = 2, \
		.a = { {0, LOW32, AF_UNIX},         \
			{1, TYPE, (type)} }         \
	}

static const struct check checks[] = {
	/* The kernel looks at 32 bits of an ioctl number: so do we. */
	ONE("ioctl", DENY, 1, LOW32, TIOCSTI),
	ONE("ioctl", DENY, 1, LOW32, TIOCLINUX),
	ONE("ioctl", DENY, 1, LOW32, TIOCSETD),
	FLAG("clone", 0, CLONE_NEWNS),
	FLAG("clone", 0, CLONE_NEWCGROUP),
	FLAG("clone", 0, CLONE_NEWUTS),
	FLAG("clone", 0, CLONE_NEWIPC),
	FLAG("clone", 0, CLONE_NEWUSER),
	FLAG("clone", 0, CLONE_NEWPID),
	FLAG("clone", 0, CLONE_NEWNET),
	ONE("personality", SCMP_ACT_ALLOW, 0, LOW32, 0),
	ONE("personality", SCMP_ACT_ALLOW, 0, LOW32, LOW32),
	ONE("mknod", DENY, 1, S_IFMT, S_IFCHR),
	ONE("mknod", DENY, 1, S_IFMT, S_IFBLK),
	ONE("mknodat", DENY, 2, S_IFMT, S_IFCHR),
	ONE("mknodat", DENY, 2, S_IFMT, S_IFBLK),
	/* A program that others run as its owner would outlive the sandbox. Creating one is the
	 * broker's matter (made_checks without it). */
	FLAG("chmod", 1, S_ISUID),
	FLAG("fchmod", 1, S_ISUID),
	FLAG("fchmodat", 2, S_ISUID),
	FLAG("fchmodat2", 2, S_ISUID),
	/* The limits of another process are not ours to set, though it may have the same user. */
	ONE("prlimit64", SCMP_ACT_ALLOW, 0, LOW32, 0),
	ONE("prlimit64", SCMP_ACT_ALLOW, 2, UINT64_MAX, 0),
	UNIX("socketpair", SCMP_ACT_ALLOW, SOCK_STREAM),
	UNIX("socketpair", SCMP_ACT_ALLOW, SOCK_SEQPACKET),
	UNIX("socketpair", DENY, SOCK_DGRAM),
	UNIX("socketpair", DENY, SOCK_RAW),
};
#define MADE(sys, flags_arg, mode_arg)                          \
	{                                                       \
		.name = sys, .action = DENY, .n = 2,            \
		.a = { {.arg = (flags_arg), O_CREAT, O_CREAT},  \
			{.arg = (mode_arg), S_ISUID, S_ISUID} } \
	}

static const struct check made_checks[] = {
	MADE("open", 1, 2),
	MADE("openat", 2, 3),
	FLAG("creat", 1, S_ISUID),
	FLAG("mknod", 1, S_ISUID),
	FLAG("mknodat", 2, S_ISUID),
};
static const struct check unix_checks[] = {
	UNIX("socket", SCMP_ACT_ALLOW, SOCK_STREAM),
	UNIX("socket", SCMP_ACT_ALLOW, SOCK_SEQPACKET),
	UNIX("socket", DENY, SOCK_DGRAM),
	UNIX("socket", DENY, SOCK_RAW),
};

#define INET(family, type, proto)                                   \
	{                                                           \
		.name = "socket", .action = SCMP_ACT_ALLOW, .n = 3, \
		.a = { {0, LOW32, (family)},                        \
			{1, TYPE, (type)},                          \
			{2, LOW32, (proto)} }                       \
	}

static const struct check inet_checks[] = {
	INET(AF_INET, SOCK_STREAM, 0),
	INET(AF_INET, SOCK_STREAM, IPPROTO_TCP),
	INET(AF_INET, SOCK_DGRAM, 0),
	INET(AF_INET, SOCK_DGRAM, IPPROTO_UDP),
	INET(AF_INET6, SOCK_STREAM, 0),
	INET(AF_INET6, SOCK_STREAM, IPPROTO_TCP),
	INET(AF_INET6, SOCK_DGRAM, 0),
	INET(AF_INET6, SOCK_DGRAM, IPPROTO_UDP),
};
/* The redirect of connections is set up by netlink. */
static const struct check stage_checks[] = {
	ONE("socket", SCMP_ACT_ALLOW, 0, LOW32, AF_NETLINK),
};
/* A memory file is executable unless it is made with NOEXEC_SEAL. */
static const struct check memfd_checks[] = {
	ONE("memfd_create", DENY, 1, MFD_NOEXEC_SEAL, 0),
	FLAG("memfd_create", 1, MFD_EXEC),
};

static const struct row *find_row(const char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	}
	return NULL;
}

/* The number here; a negative number other than __NR_SCMP_ERROR: not on this architecture. */
static int number_of(const char *name)
{
	const struct row *r = find_row(name);

	return r && r->number >= 0 ? r->number : seccomp_syscall_resolve_name(name);
}

bool bawn_seccomp_name_known(const char *name)
{
	return number_of(name) != __NR_SCMP_ERROR;
}

static bool listed(const char *const *list, const char *name)
{
	for (; list && *list; list++) {
		if (strcmp(*list, name) == 0)
			return true;
	}
	return false;
}

/* Which sockets there are is the network's setting, not a matter of call names. */
static bool is_socket(const char *name)
{
	return strcmp(name, "socket") == 0 || strcmp(name, "socketpair") == 0;
}

/* Objects of an ipc namespace, by the calls that reach them. */
static const char *const ipc_calls[] = {"shmget", "shmat", "shmctl", "shmdt", "msgget", "msgsnd",
	"msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl", "mq_open", "mq_unlink",
	"ipc", NULL};

/* What the broker does to its callers, and nobody else to anybody. */
static const char *const broker_calls[] = {"pidfd_getfd", "process_vm_readv", NULL};

/* What finishes a wall that somebody else has begun (outer.c). */
static const char *const stage_calls[] = {"fsconfig", "fsmount", "fsopen", "fspick",
	"mount_setattr", "move_mount", "open_tree", "unshare", NULL};

/* What the table and the profile say: 0 or an errno. */
static int action_of(const struct bawn_seccomp_profile *p, const char *name)
{
	const struct row *r = find_row(name);

	if (p->broker && listed(broker_calls, name))
		return 0;
	if (p->stage && listed(stage_calls, name))
		return 0;
	if (listed(p->deny, name))
		return EPERM;
	/* Without a namespace these are the host's, and no name in the policy changes that. */
	if (!p->ipc && listed(ipc_calls, name))
		return EPERM;
	if (listed(p->allow, name) && !is_socket(name))
		return 0;
	return r ? r->action : ENOSYS;
}

static int add_check(scmp_filter_ctx ctx, const struct check *c)
{
	struct scmp_arg_cmp cmp[3] = {0};
	int nr = number_of(c->name);

	if (nr < 0)
		return 0;
	for (unsigned int i = 0; i < c->n; i++)
		cmp[i] = SCMP_CMP64(c->a[i].arg, SCMP_CMP_MASKED_EQ, c->a[i].mask, c->a[i].value);
	return seccomp_rule_add_array(ctx, c->action, nr, c->n, cmp);
}

/* A denied call is not looked at; nor is one that the table refuses and the policy allows. */
static int add_checks(
	scmp_filter_ctx ctx, const struct bawn_seccomp_profile *p, const struct check *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *r = find_row(c[i].name);
		int r2;

		if (listed(p->deny, c[i].name))
			continue;
		if (r && r->action != 0 && action_of(p, c[i].name) == 0)
			continue;
		r2 = add_check(ctx, &c[i]);
		if (r2 < 0)
			return r2;
	}
	return 0;
}

static int ctx_new(uint32_t def_action, scmp_filter_ctx *ret)
{
	scmp_filter_ctx ctx;
	int r;

	/* The program is for the host that runs it, not for the one that builds it. */
	(void)seccomp_api_set(6);
	ctx = seccomp_init(def_action);
	if (!ctx)
		return -ENOMEM;
	r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r < 0) {
		seccomp_release(ctx);
		return r;
	}
	*ret = ctx;
	return 0;
}

/* libseccomp writes programs to descriptors only. Consumes the context. */
static int take_program(scmp_filter_ctx ctx, struct sock_filter **ret, size_t *ret_n)
{
	struct sock_filter *prog = NULL;
	int r, fd = memfd_create("bawn-seccomp", MFD_CLOEXEC);
	off_t len;

	r = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);
	seccomp_release(ctx);
	if (r == 0) {
		len = lseek(fd, 0, SEEK_END);
		prog = len > 0 ? malloc((size_t)len) : NULL;
		if (!prog || pread(fd, prog, (size_t)len, 0) != len)
			r = prog ? -EIO : -ENOMEM;
		else
			*ret_n = (size_t)len / sizeof(*prog);
	}
	if (fd >= 0)
		(void)close(fd);
	if (r < 0) {
		free(prog);
		return r;
	}
	*ret = prog;
	return 0;
}

/* The first program: arguments. */
static int build_checks(
	const struct bawn_seccomp_profile *p, struct sock_filter **ret, size_t *ret_n)
{
	scmp_filter_ctx ctx = NULL;
	int r = ctx_new(GO_ON, &ctx);

	if (r < 0)
		return r;
	r = add_checks(ctx, p, checks, sizeof(checks) / sizeof(checks[0]));
	if (r == 0 && !p->broker)
		r = add_checks(ctx, p, made_checks, sizeof(made_checks) / sizeof(made_checks[0]));
	if (r == 0 && p->unix_sockets)
		r = add_checks(ctx, p, unix_checks, sizeof(unix_checks) / sizeof(unix_checks[0]));
	if (r == 0 && p->inet)
		r = add_checks(ctx, p, inet_checks, sizeof(inet_checks) / sizeof(inet_checks[0]));
	if (r == 0 && p->stage)
		r = add_checks(ctx, p, stage_checks, 1);
	if (r == 0 && p->memfd_noexec)
		r = add_checks(
			ctx, p, memfd_checks, sizeof(memfd_checks) / sizeof(memfd_checks[0]));
	if (r < 0) {
		seccomp_release(ctx);
		return r;
	}
	return take_program(ctx, ret, ret_n);
}

static uint32_t decision_of(const struct bawn_seccomp_profile *p, const char *name)
{
	int act = action_of(p, name);

	return act ? SECCOMP_RET_ERRNO | ((uint32_t)act & SECCOMP_RET_DATA) : SECCOMP_RET_ALLOW;
}

static int decide(uint32_t *decisions, const char *name, uint32_t decision)
{
	int nr = number_of(name);

	if (nr >= BAWN_SECCOMP_NUMBERS)
		return -ERANGE;
	if (nr >= 0)
		decisions[nr] = decision;
	return 0;
}

/* What the tables say by name. ENOSYS for what they do not know. */
static int decide_all(const struct bawn_seccomp_profile *p, uint32_t *decisions)
{
	int r = 0;

	for (size_t i = 0; i < BAWN_SECCOMP_NUMBERS; i++)
		decisions[i] = SECCOMP_RET_ERRNO | ENOSYS;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && r == 0; i++)
		r = decide(decisions, table[i].name, decision_of(p, table[i].name));
	for (const char *const *name = p->allow; name && *name && r == 0; name++)
		r = number_of(*name) == __NR_SCMP_ERROR
			    ? -EINVAL
			    : decide(decisions, *name, decision_of(p, *name));
	for (const char *const *name = p->deny; name && *name && r == 0; name++)
		r = number_of(*name) == __NR_SCMP_ERROR
			    ? -EINVAL
			    : decide(decisions, *name, decision_of(p, *name));
	return r;
}

/* Append "this call: its decision from the table" and mark the call as one whose arguments matter.
 */
static void send_to_args(uint32_t *decisions, const struct check *c, size_t n,
	struct sock_filter *tail, size_t *n_tail)
{
	for (size_t i = 0; i < n; i++) {
		int nr = number_of(c[i].name);

		if (nr < 0 || decisions[nr] == BAWN_SECCOMP_ARGS)
			continue;
		tail[(*n_tail)++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1);
		tail[(*n_tail)++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, decisions[nr]);
		decisions[nr] = BAWN_SECCOMP_ARGS;
	}
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TAIL_MAX                                                                             \
	(2 * (COUNT(checks) + COUNT(made_checks) + COUNT(unix_checks) + COUNT(inet_checks) + \
		     COUNT(memfd_checks)) +                                                  \
		2)

/* The decisions by name for calls that the argument program lets go on. */
static size_t make_tail(
	const struct bawn_seccomp_profile *p, uint32_t *decisions, struct sock_filter *tail)
{
	size_t n = 0;

	tail[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	send_to_args(decisions, checks, COUNT(checks), tail, &n);
	if (!p->broker)
		send_to_args(decisions, made_checks, COUNT(made_checks), tail, &n);
	if (p->unix_sockets)
		send_to_args(decisions, unix_checks, COUNT(unix_checks), tail, &n);
	if (p->inet)
		send_to_args(decisions, inet_checks, COUNT(inet_checks), tail, &n);
	if (p->memfd_noexec)
		send_to_args(decisions, memfd_checks, COUNT(memfd_checks), tail, &n);
	tail[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	return n;
}

int bawn_seccomp_build_base(
	const struct bawn_seccomp_profile *p, struct sock_filter **ret, size_t *ret_n)
{
	uint32_t decisions[BAWN_SECCOMP_NUMBERS];
	struct sock_filter tail[TAIL_MAX];
	struct sock_filter *args = NULL, *more;
	size_t n_args = 0, n_tail;
	int r = decide_all(p, decisions);

	if (r == 0)
		r = build_checks(p, &args, &n_args);
	if (r < 0)
		return r;
	n_tail = make_tail(p, decisions, tail);
	more = realloc(args, (n_args + n_tail) * sizeof(*args));
	if (!more) {
		free(args);
		return -ENOMEM;
	}
	args = more;
	for (size_t i = 0; i < n_args; i++)
		if (args[i].code == (BPF_RET | BPF_K) && args[i].k == GO_ON)
			args[i] = (struct sock_filter)BPF_STMT(
				BPF_JMP | BPF_JA, (uint32_t)(n_args - i - 1));
	memcpy(args + n_args, tail, n_tail * sizeof(*tail));
	r = bawn_seccomp_tree(seccomp_arch_native(), decisions, args, n_args + n_tail, ret, ret_n);
	free(args);
	return r;
}

/* Calls that the broker carries out: from which mode on, and for which flags. */
struct notify {
	char name[20];
	int from, to; /* modes, inclusive */
	int arg;      /* -1: always */
	uint64_t mask, value;
};

#define ALWAYS(sys, lo)                                                   \
	{                                                                 \
		.name = sys, .from = lo, .to = BAWN_BROKER_ALL, .arg = -1 \
	}
#define WHEN(sys, lo, hi, num, msk, val)                                                 \
	{                                                                                \
		.name = sys, .from = lo, .to = hi, .arg = num, .mask = msk, .value = val \
	}
#define C BAWN_BROKER_CREATE
#define W BAWN_BROKER_WRITE
#define A BAWN_BROKER_ALL

static const struct notify notifies[] = {
	WHEN("open", C, W, 1, O_CREAT, O_CREAT),
	WHEN("openat", C, W, 2, O_CREAT, O_CREAT),
	ALWAYS("creat", C),
	ALWAYS("mkdir", C),
	ALWAYS("mkdirat", C),
	ALWAYS("mknod", C),
	ALWAYS("mknodat", C),
	ALWAYS("symlink", C),
	ALWAYS("symlinkat", C),
	ALWAYS("link", C),
	ALWAYS("linkat", C),
	ALWAYS("rename", C),
	ALWAYS("renameat", C),
	ALWAYS("renameat2", C),
	ALWAYS("bind", C),
	ALWAYS("connect", C),
	ALWAYS("umask", C),
	WHEN("open", W, W, 1, O_ACCMODE, O_WRONLY),
	WHEN("open", W, W, 1, O_ACCMODE, O_RDWR),
	WHEN("open", W, W, 1, O_ACCMODE, O_ACCMODE),
	WHEN("open", W, W, 1, O_TRUNC, O_TRUNC),
	WHEN("openat", W, W, 2, O_ACCMODE, O_WRONLY),
	WHEN("openat", W, W, 2, O_ACCMODE, O_RDWR),
	WHEN("openat", W, W, 2, O_ACCMODE, O_ACCMODE),
	WHEN("openat", W, W, 2, O_TRUNC, O_TRUNC),
	ALWAYS("truncate", W),
	ALWAYS("unlink", W),
	ALWAYS("unlinkat", W),
	ALWAYS("rmdir", W),
	ALWAYS("chmod", W),
	ALWAYS("fchmod", W),
	ALWAYS("fchmodat", W),
	ALWAYS("fchmodat2", W),
	ALWAYS("chown", W),
	ALWAYS("lchown", W),
	ALWAYS("fchown", W),
	ALWAYS("fchownat", W),
	ALWAYS("utime", W),
	ALWAYS("utimes", W),
	ALWAYS("futimesat", W),
	ALWAYS("utimensat", W),
	ALWAYS("setxattr", W),
	ALWAYS("lsetxattr", W),
	ALWAYS("fsetxattr", W),
	ALWAYS("removexattr", W),
	ALWAYS("lremovexattr", W),
	ALWAYS("fremovexattr", W),
	ALWAYS("open", A),
	ALWAYS("openat", A),
};

/* The argument program of the notification filter. */
static int build_notify_args(int mode, struct sock_filter **ret, size_t *ret_n)
{
	scmp_filter_ctx ctx = NULL;
	struct scmp_arg_cmp cmp = SCMP_CMP64(1, SCMP_CMP_MASKED_EQ,
		SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	int r = ctx_new(SCMP_ACT_ALLOW, &ctx);

	if (r < 0)
		return r;
	r = seccomp_rule_add_array(ctx, DENY, number_of("seccomp"), 1, &cmp);
	/* Who cannot be read cannot be helped by the broker: agents of ssh and gpg would make no
	 * file. Nobody may trace it anyway, and there are no core dumps. */
	cmp = SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, LOW32, PR_SET_DUMPABLE);
	if (r == 0)
		r = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(0), number_of("prctl"), 1, &cmp);
	for (size_t i = 0; i < COUNT(notifies) && r == 0; i++) {
		const struct notify *n = &notifies[i];
		int nr = number_of(n->name);

		if (mode < n->from || mode > n->to || nr < 0 || n->arg < 0)
			continue;
		cmp = SCMP_CMP64((unsigned int)n->arg, SCMP_CMP_MASKED_EQ, n->mask, n->value);
		r = seccomp_rule_add_array(ctx, SCMP_ACT_NOTIFY, nr, 1, &cmp);
	}
	if (r < 0) {
		seccomp_release(ctx);
		return r;
	}
	return take_program(ctx, ret, ret_n);
}

int bawn_seccomp_build_notify(int mode, struct sock_filter **ret, size_t *ret_n)
{
	uint32_t decisions[BAWN_SECCOMP_NUMBERS];
	struct sock_filter *args = NULL;
	size_t n_args = 0;
	int r = build_notify_args(mode, &args, &n_args);

	for (size_t i = 0; i < BAWN_SECCOMP_NUMBERS; i++)
		decisions[i] = SECCOMP_RET_ALLOW;
	if (r == 0)
		r = decide(decisions, "seccomp", BAWN_SECCOMP_ARGS);
	if (r == 0)
		r = decide(decisions, "prctl", BAWN_SECCOMP_ARGS);
	/* The flags are behind a pointer; the C library has a way without it. */
	if (r == 0)
		r = decide(decisions, "openat2", SECCOMP_RET_ERRNO | ENOSYS);
	/* The base filter lets the broker do it, not the command. */
	for (size_t i = 0; broker_calls[i] && r == 0; i++)
		r = decide(decisions, broker_calls[i], SECCOMP_RET_ERRNO | EPERM);
	for (size_t i = 0; i < COUNT(notifies) && r == 0; i++)
		if (mode >= notifies[i].from && mode <= notifies[i].to)
			r = decide(decisions, notifies[i].name,
				notifies[i].arg < 0 ? SECCOMP_RET_USER_NOTIF : BAWN_SECCOMP_ARGS);
	if (r == 0)
		r = bawn_seccomp_tree(seccomp_arch_native(), decisions, args, n_args, ret, ret_n);
	free(args);
	return r;
}
