/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native backend, host side: clones the sandbox's init into its namespaces, where it begins the
 * wall while the plan is made; hands it the plan, makes the control groups and passes on what init
 * says. The tiers differ in the plan and in the clone flags only.
 */
#include "backend/native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/socket.h>

#include "backend/backends.h"
#include "backend/inside/parcel.h"
#include "backend/native/cgroup.h"
#include "backend/native/hole.h"
#include "backend/native/init.h"
#include "backend/native/link.h"
#include "backend/native/scratch.h"
#include "backend/native/seccomp.h"
#include "backend/native/wall.h"
#include "base/cleanup.h"
#include "base/sched.h"
#include "base/sys.h"

#define NETWORK_MS 1 /* more than twice of what it takes to make one */

struct native {
	struct bawn_instance in;
	const struct bawn_plan *plan;
	struct bawn_arena *arena;
	struct bawn_link link;
	struct bawn_scratch scratch;
	bool groups_follow; /* init enters them when they are made; else it is born there */
	bool limited;       /* they are made, as far as there are any */
	uint32_t by_cgroup; /* limits that they hold, where it was born there */
};

static struct native *native_of(struct bawn_instance *in)
{
	return (struct native *)(void *)in;
}

static uint64_t clone_flags(enum bawn_tier tier)
{
	uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP;

	if (tier == BAWN_TIER_LANDLOCK)
		return 0;
	if (tier == BAWN_TIER_CHROOT)
		flags &= ~(uint64_t)CLONE_NEWUSER;
	if (HOLE("pidns"))
		flags &= ~(uint64_t)CLONE_NEWPID;
	if (HOLE("ipcns"))
		flags &= ~(uint64_t)CLONE_NEWIPC;
	return flags;
}

/*
 * What is made by the clone itself. Where init need not be born in a control group it makes the
 * others by itself, while we go on: that takes as long as all the rest of it.
 */
static uint64_t birth_flags(struct bawn_init *init)
{
	uint64_t all = clone_flags(init->tier);
	uint64_t later = init->groups_follow ? all & ~(uint64_t)(CLONE_NEWUSER | CLONE_NEWPID) : 0;

	init->namespaces = (int)later;
	return all & ~later;
}

/* Filters of container engines answer clone3 with "no such call" so that they can look at clone's
 * flags. */
static pid_t clone_old(struct bawn_init *init, int *ret_pidfd)
{
	init->born_inside = false;
	init->reset_signals = true;
	return (pid_t)syscall(
		SYS_clone, birth_flags(init) | CLONE_PIDFD | SIGCHLD, NULL, ret_pidfd, NULL, 0);
}

static pid_t clone_init(const struct native *n, struct bawn_init *init, int *ret_pidfd)
{
	struct clone_args args = {.flags = birth_flags(init) | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD};
	pid_t pid;

	if (init->born_inside) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned long long)bawn_cgroup_clone_fd(n->link.cgroup);
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	return pid < 0 && errno == ENOSYS ? clone_old(init, ret_pidfd) : pid;
}

static void describe(struct native *n, uint32_t by_cgroup)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} limits[] = {{BAWN_CTL_LIMIT_MEMORY, " memory"}, {BAWN_CTL_LIMIT_PROCESSES, " processes"},
		{BAWN_CTL_LIMIT_CPU, " cpu"}};
	static const char *const around[] = {
		[BAWN_TIER_FULL] = "namespaces (user mount pid net ipc uts cgroup), ",
		[BAWN_TIER_LANDLOCK] = "",
		[BAWN_TIER_CHROOT] = "namespaces (mount pid net ipc uts cgroup), chroot, ",
	};
	size_t size = sizeof(n->in.walls);
	size_t at =
		(size_t)snprintf(n->in.walls, size, "%sLandlock ABI %d, seccomp, rlimits, metering",
			around[n->plan->tier], bawn_landlock_abi());

	if (by_cgroup)
		at += (size_t)snprintf(n->in.walls + at, size - at, ", cgroup for");
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && at < size; i++)
		if (by_cgroup & limits[i].bit)
			at += (size_t)snprintf(n->in.walls + at, size - at, "%s", limits[i].name);
}

static int no_child(enum bawn_tier tier, int error, struct bawn_error *err)
{
	errno = error;
	if (tier == BAWN_TIER_FULL)
		return bawn_native_no_namespaces(error, err);
	if (tier == BAWN_TIER_CHROOT && error == EPERM)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"namespaces are refused to root here (no CAP_SYS_ADMIN?): %m");
	return bawn_fail(err, BAWN_ERR_BACKEND, -error, "cannot make a process: %m");
}

/* Make init, which begins and then waits for the plan. `cgroup` is to be born into, or NULL. */
static int make_init(struct native *n, const struct bawn_cgroup *cgroup, struct bawn_error *err)
{
	struct bawn_init init = {.tier = n->in.be->tier,
		.uid = geteuid(),
		.gid = getegid(),
		.cgroup = cgroup,
		.groups_follow = n->groups_follow,
		.born_inside = cgroup && bawn_cgroup_clone_fd(cgroup) >= 0};
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a socket pair: %m");
	n->link.sock = pair[0];
	init.sock = pair[1];
	n->link.pid = clone_init(n, &init, &n->link.pidfd);
	if (n->link.pid == 0) {
		(void)close(n->link.sock);
		bawn_init_main(&init);
	}
	(void)close(pair[1]);
	if (n->link.pid > 0)
		bawn_sched_beside(n->link.pid);
	return n->link.pid < 0 ? no_child(init.tier, errno, err) : 0;
}

/* Before there is a plan; nothing of it is needed, where groups can follow. */
static int native_begin(struct bawn_instance *in, struct bawn_error *err)
{
	struct native *n = native_of(in);

	bawn_link_open(&n->link, in);
	n->scratch = BAWN_SCRATCH_NONE;
	/* without a pid namespace that dies with its init, init must do the killing */
	n->link.by_order = in->be->tier == BAWN_TIER_LANDLOCK;
	n->groups_follow = bawn_cgroup_may_follow();
	bawn_sched_look();
	return n->groups_follow ? make_init(n, NULL, err) : 0;
}

/* Gone already: await says why. */
static int is_gone(int r)
{
	return r == -EPIPE || r == -ECONNRESET;
}

static int hand_over(const struct native *n, const int stdio[3], const struct bawn_init *init,
	struct bawn_error *err)
{
	_cleanup_close_ int null = -1;
	_cleanup_close_ int bytes = bawn_parcel_pack(init, err);
	int fds[BAWN_PARCEL_FDS] = {stdio[0], stdio[1], stdio[2], bytes};
	int r;

	if (bytes < 0)
		return bytes;
	for (int i = 0; i < 3; i++) {
		if (fds[i] < 0 && null < 0)
			null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fds[i] < 0)
			fds[i] = null;
	}
	r = bawn_parcel_send(n->link.sock, fds);
	if (r == 0 || is_gone(r))
		return 0;
	errno = -r;
	return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot hand the plan over: %m");
}

/*
 * The groups are made while init builds, but not before the network, nor anything else: both take
 * long, and with two processors both want this one. The network is needed sooner. On a busy machine
 * it may not come to run for a while, and then there is no point in waiting.
 */
static int native_limit(struct bawn_instance *in, struct bawn_error *err)
{
	struct native *n = native_of(in);
	uint32_t by_cgroup = n->by_cgroup;
	int r = 0;

	if (n->limited)
		return 0;
	n->limited = true;
	if (n->groups_follow && n->plan->tier != BAWN_TIER_LANDLOCK && !bawn_sched_busy())
		bawn_link_await_word(&n->link, NETWORK_MS);
	if (n->groups_follow)
		r = bawn_cgroup_new(n->plan, &n->link.cgroup, &by_cgroup, err);
	if (r < 0)
		return r;
	describe(n, by_cgroup);
	in->by_cgroup = by_cgroup;
	r = n->groups_follow ? bawn_cgroup_hand(n->link.cgroup, by_cgroup, n->link.sock) : 0;
	if (r == 0 || is_gone(r))
		return 0;
	errno = -r;
	return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot hand over the control groups: %m");
}

/* A namespace that was made but has no power (AppArmor on Ubuntu) fails at its first privileged
 * step; one that cannot be made, at once. */
static bool is_powerless(const struct native *n, int r, const struct bawn_error *err)
{
	if (n->plan->tier != BAWN_TIER_FULL || r >= 0 || !err)
		return false;
	return !strncmp(err->msg, "namespaces:", 11) ||
	       ((r == -EPERM || r == -EACCES) &&
		       (!strncmp(err->msg, "identity:", 9) || !strncmp(err->msg, "network:", 8) ||
			       !strncmp(err->msg, "root:", 5)));
}

/* Without a program it fails in any case, with EFAULT if it could be done. */
static bool may_listen(void)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		       NULL) >= 0 ||
	       errno != EPERM;
}

bool bawn_native_inside(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables meanwhile */
	const char *name = getenv("BAWN_SANDBOX");

	return name && *name && !may_listen();
}

/* What this tier cannot do whatever the host. */
static int check(const struct bawn_plan *plan, struct bawn_error *err)
{
	if (plan->n_loopback_ports && plan->tier == BAWN_TIER_LANDLOCK)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"a single port of the host's loopback cannot be opened without a network namespace");
	if (plan->egress && plan->tier == BAWN_TIER_LANDLOCK)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"net.egress: network.mode '%s' needs a network namespace, which there is none of without user namespaces; only deny and closed can be enforced",
			bawn_enum_name("netmode", plan->egress->mode));
	if (plan->tier == BAWN_TIER_CHROOT && geteuid() != 0)
		return bawn_fail(
			err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP, "only root can build this wall");
	if (plan->tier == BAWN_TIER_LANDLOCK && bawn_broker_mode(plan) != BAWN_BROKER_OFF &&
		!may_listen())
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"a sandbox stands around this already, whose system call filter lets no other listen");
	return 0;
}

static int make_parts(struct native *n, struct bawn_init *init, struct bawn_error *err)
{
	const char *scratch = bawn_scratch_of(n->plan);
	int r = bawn_seccomp_base(n->arena, n->plan, &init->base, err);

	if (r < 0)
		return r;
	if (!HOLE("guards"))
		bawn_seccomp_notify(bawn_broker_mode(n->plan), &init->notify);
	r = n->groups_follow ? 0 : bawn_cgroup_new(n->plan, &n->link.cgroup, &init->by_cgroup, err);
	if (r < 0)
		return r;
	return scratch ? bawn_scratch_make(scratch, &n->scratch, err) : 0;
}

static int native_prepare(struct bawn_instance *in, const struct bawn_plan *plan,
	const int stdio[3], struct bawn_error *err)
{
	struct native *n = native_of(in);
	struct bawn_init init = {.uid = geteuid(), .gid = getegid()};
	int r;

	n->plan = init.plan = bawn_holes_in(plan);
	init.groups_follow = n->groups_follow;
	r = bawn_link_plan(&n->link, n->plan, err);
	if (r == 0)
		r = check(plan, err);
	if (r < 0)
		return r;
	n->arena = bawn_arena_new();
	if (!n->arena)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	r = make_parts(n, &init, err);
	if (r == 0 && !n->groups_follow)
		r = make_init(n, n->link.cgroup, err);
	n->by_cgroup = init.by_cgroup;
	return r < 0 ? r : hand_over(n, stdio, &init, err);
}

static int native_await(struct bawn_instance *in, struct bawn_error *err)
{
	struct native *n = native_of(in);
	int r = native_limit(in, err);

	if (r == 0)
		r = bawn_link_watch(&n->link, err);
	/* those of version 2 tell only what happens from then on */
	if (r == 0 && !n->groups_follow)
		r = bawn_link_watch_limits(&n->link, err);
	if (r < 0)
		return r;
	r = bawn_link_await(&n->link, BAWN_SETUP_MS, err);
	if (r < 0 && n->plan->tier == BAWN_TIER_CHROOT && (r == -EPERM || r == -EACCES) && err) {
		struct bawn_error was = *err;

		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"root has not all its rights here: %.300s", was.msg);
	}
	return is_powerless(n, r, err) ? bawn_native_no_namespaces(-r, err) : r;
}

static int native_start(struct bawn_instance *in, struct bawn_error *err)
{
	struct native *n = native_of(in);
	int r = bawn_link_start(&n->link, err);

	/* the limits hold; who watches them need not keep the command waiting */
	return r == 0 && n->groups_follow ? bawn_link_watch_limits(&n->link, err) : r;
}

static int native_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err)
{
	struct bawn_link *l = &native_of(in)->link;
	int r = bawn_link_event(l, ret, err);

	/* its last word: what is waited for now is its death */
	if (r == 0 && ret->kind == BAWN_EV_EXITED)
		bawn_link_watch_death(l);
	return r;
}

static int native_signal(struct bawn_instance *in, int signo, struct bawn_error *err)
{
	return bawn_link_signal(&native_of(in)->link, signo, err);
}

static void native_usage(struct bawn_instance *in, struct bawn_usage *ret)
{
	bawn_link_usage(&native_of(in)->link, ret);
}

static void native_destroy(struct bawn_instance *in)
{
	struct native *n = native_of(in);

	if (!n->link.in) /* it was never begun */
		return;
	bawn_link_close(&n->link);
	bawn_scratch_done(&n->scratch);
	n->arena = bawn_arena_free(n->arena);
}

/* All tiers are one backend on different plans. */
#define NATIVE                                                                                    \
	.abi = BAWN_BACKEND_ABI, .level = BAWN_LEVEL_PROCESS,                                     \
	.instance_size = sizeof(struct native), .begin = native_begin, .prepare = native_prepare, \
	.limit = native_limit, .await = native_await, .start = native_start,                      \
	.event = native_event, .signal = native_signal, .usage = native_usage,                    \
	.destroy = native_destroy

const struct bawn_backend bawn_backend_native = {
	NATIVE,
	.name = "native",
	.aliases = "kernel,namespace,landlock+bwrap",
	.summary = "namespaces, Landlock and seccomp of this kernel",
	.strength = 60,
	.tier = BAWN_TIER_FULL,
	.probe = bawn_native_probe,
};

const struct bawn_backend bawn_backend_chroot = {
	NATIVE,
	.name = "chroot",
	.aliases = "",
	.summary = "for root: chroot, namespaces, Landlock and seccomp without user namespaces",
	.strength = 30,
	.tier = BAWN_TIER_CHROOT,
	.probe = bawn_chroot_probe,
};

const struct bawn_backend bawn_backend_landlock = {
	NATIVE,
	.name = "landlock",
	.aliases = "",
	.summary = "Landlock and seccomp without namespaces, for unprivileged containers",
	.strength = 20,
	.tier = BAWN_TIER_LANDLOCK,
	.probe = bawn_landlock_probe,
};
