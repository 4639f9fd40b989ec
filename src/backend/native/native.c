/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native backend, host side: makes the control groups, clones the sandbox's init into its
 * namespaces and passes on what init says. The tiers differ in the plan and in the clone flags
 * only.
 */
#include "backend/native/native.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

#include <linux/sched.h>
#include <sys/socket.h>

#include "backend/backends.h"
#include "backend/native/cgroup.h"
#include "backend/native/hole.h"
#include "backend/native/init.h"
#include "backend/native/link.h"
#include "backend/native/scratch.h"
#include "backend/native/seccomp.h"
#include "backend/native/wall.h"
#include "base/sys.h"

struct native {
	struct bawn_instance in;
	const struct bawn_plan *plan;
	struct bawn_arena *arena;
	struct bawn_link link;
	struct bawn_scratch scratch;
};

static struct native *native_of(struct bawn_instance *in)
{
	return (struct native *)(void *)in;
}

static uint64_t clone_flags(const struct bawn_plan *plan)
{
	uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP;

	if (plan->tier == BAWN_TIER_LANDLOCK)
		return 0;
	if (plan->tier == BAWN_TIER_CHROOT)
		flags &= ~(uint64_t)CLONE_NEWUSER;
	if (HOLE("pidns"))
		flags &= ~(uint64_t)CLONE_NEWPID;
	if (HOLE("ipcns"))
		flags &= ~(uint64_t)CLONE_NEWIPC;
	return flags;
}

/* Filters of container engines answer clone3 with "no such call" so that they can look at clone's
 * flags. */
static pid_t clone_old(const struct native *n, struct bawn_init *init, int *ret_pidfd)
{
	init->born_inside = false;
	init->reset_signals = true;
	return (pid_t)syscall(
		SYS_clone, clone_flags(n->plan) | CLONE_PIDFD | SIGCHLD, NULL, ret_pidfd, NULL, 0);
}

static pid_t clone_init(const struct native *n, struct bawn_init *init, int *ret_pidfd)
{
	struct clone_args args = {.flags = clone_flags(n->plan) | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD};
	pid_t pid;

	if (init->born_inside) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned long long)bawn_cgroup_clone_fd(n->link.cgroup);
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	return pid < 0 && errno == ENOSYS ? clone_old(n, init, ret_pidfd) : pid;
}

static void describe(struct native *n, const struct bawn_init *init)
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

	if (init->by_cgroup)
		at += (size_t)snprintf(n->in.walls + at, size - at, ", cgroup for");
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && at < size; i++)
		if (init->by_cgroup & limits[i].bit)
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

static int clone_child(struct native *n, struct bawn_init *init, int child, struct bawn_error *err)
{
	n->link.pid = clone_init(n, init, &n->link.pidfd);
	if (n->link.pid == 0) {
		(void)close(n->link.sock);
		bawn_init_main(init);
	}
	(void)close(child);
	return n->link.pid < 0 ? no_child(n->plan->tier, errno, err) : 0;
}

/* The groups are made while init builds. */
static int make_groups(struct native *n, struct bawn_init *init, struct bawn_error *err)
{
	int r = init->groups_follow
			? bawn_cgroup_new(n->plan, &n->link.cgroup, &init->by_cgroup, err)
			: 0;

	if (r < 0)
		return r;
	describe(n, init);
	n->in.by_cgroup = init->by_cgroup;
	r = init->groups_follow ? bawn_cgroup_hand(n->link.cgroup, init->by_cgroup, n->link.sock)
				: 0;
	if (r < 0 && r != -EPIPE && r != -ECONNRESET) { /* gone: await says why */
		errno = -r;
		return bawn_fail(
			err, BAWN_ERR_BACKEND, r, "cannot hand over the control groups: %m");
	}
	return 0;
}

/* A namespace that was made but has no power (AppArmor on Ubuntu) fails at its first privileged
 * step. */
static bool is_powerless(const struct native *n, int r, const struct bawn_error *err)
{
	return n->plan->tier == BAWN_TIER_FULL && (r == -EPERM || r == -EACCES) && err &&
	       (!strncmp(err->msg, "identity:", 9) || !strncmp(err->msg, "network:", 8) ||
		       !strncmp(err->msg, "root:", 5));
}

static int make_parts(struct native *n, struct bawn_init *init, struct bawn_error *err)
{
	const struct bawn_plan *plan = n->plan;
	int r = bawn_seccomp_base(n->arena, plan, &init->base, err);

	if (r < 0)
		return r;
	if (!HOLE("guards"))
		bawn_seccomp_notify(bawn_broker_mode(plan), &init->notify);
	init->groups_follow = bawn_cgroup_may_follow();
	r = init->groups_follow ? 0 : bawn_cgroup_new(plan, &n->link.cgroup, &init->by_cgroup, err);
	if (r < 0)
		return r;
	init->cgroup = n->link.cgroup;
	init->born_inside = init->cgroup && bawn_cgroup_clone_fd(init->cgroup) >= 0;
	for (size_t i = 0; plan->tier == BAWN_TIER_LANDLOCK && i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == BAWN_MNT_SCRATCH) {
			init->scratch = plan->mounts[i].dst;
			return bawn_scratch_make(init->scratch, &n->scratch, err);
		}
	return 0;
}

static int native_prepare(struct bawn_instance *in, const struct bawn_plan *plan,
	const int stdio[3], struct bawn_error *err)
{
	struct native *n = native_of(in);
	struct bawn_init init = {.plan = plan,
		.stdio = {stdio[0], stdio[1], stdio[2]},
		.uid = geteuid(),
		.gid = getegid()};
	int pair[2];
	int r;

	n->plan = bawn_holes_in(plan);
	init.plan = n->plan;
	n->scratch = BAWN_SCRATCH_NONE;
	r = bawn_link_open(&n->link, in, n->plan, err);
	if (r < 0)
		return r;
	/* without a pid namespace that dies with its init, init must do the killing */
	n->link.by_order = plan->tier == BAWN_TIER_LANDLOCK;
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
	n->arena = bawn_arena_new();
	if (!n->arena)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	r = make_parts(n, &init, err);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a socket pair: %m");
	n->link.sock = pair[0];
	init.sock = pair[1];
	r = clone_child(n, &init, pair[1], err);
	return r < 0 ? r : make_groups(n, &init, err);
}

static int native_await(struct bawn_instance *in, struct bawn_error *err)
{
	struct native *n = native_of(in);
	int r = bawn_link_watch(&n->link, err);

	if (r < 0)
		return r;
	r = bawn_link_await(&n->link, BAWN_SETUP_MS, err);
	return is_powerless(n, r, err) ? bawn_native_no_namespaces(-r, err) : r;
}

static int native_start(struct bawn_instance *in, struct bawn_error *err)
{
	return bawn_link_start(&native_of(in)->link, err);
}

static int native_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err)
{
	return bawn_link_event(&native_of(in)->link, ret, err);
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

	if (!n->plan) /* prepare was never called */
		return;
	bawn_link_close(&n->link);
	bawn_scratch_done(&n->scratch);
	n->arena = bawn_arena_free(n->arena);
}

/* All tiers are one backend on different plans. */
#define NATIVE                                                                                    \
	.abi = BAWN_BACKEND_ABI, .level = BAWN_LEVEL_PROCESS,                                     \
	.instance_size = sizeof(struct native), .prepare = native_prepare, .await = native_await, \
	.start = native_start, .event = native_event, .signal = native_signal,                    \
	.usage = native_usage, .destroy = native_destroy

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
