/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native backend, host side: makes the control groups, clones the sandbox's init into its
 * namespaces and passes on what init says. The two tiers differ in the plan and in the clone flags
 * only.
 */
#include "backend/native/native.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>

#include <linux/sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "backend/backends.h"
#include "backend/native/cgroup.h"
#include "backend/native/hole.h"
#include "backend/native/init.h"
#include "backend/native/scratch.h"
#include "backend/native/seccomp.h"
#include "backend/native/wall.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/sys.h"

#define SETUP_TIMEOUT_MS 30000 /* a bind of a dead network file system must not hang us */

struct native {
	struct bawn_instance in;
	const struct bawn_plan *plan;
	struct bawn_arena *arena;
	struct bawn_cgroup *cgroup;
	struct bawn_scratch scratch;
	int relay_fds[BAWN_PORTS_MAX];
	struct bawn_listener listeners[BAWN_LISTENERS_MAX];
	int sock;
	pid_t pid;
	int pidfd;
	bool reaped;
	bool limit_told;
	bool ended;
	struct bawn_usage usage;
};

static struct native *native_of(struct bawn_instance *in)
{
	return (struct native *)(void *)in;
}

static uint64_t clone_flags(const struct bawn_plan *plan)
{
	uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP;

	if (plan->tier != BAWN_TIER_FULL)
		return 0;
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
		args.cgroup = (unsigned long long)bawn_cgroup_clone_fd(n->cgroup);
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	return pid < 0 && errno == ENOSYS ? clone_old(n, init, ret_pidfd) : pid;
}

static void take_listeners(struct native *n, uint32_t there, const int *fds)
{
	struct bawn_instance *in = &n->in;

	in->listeners = n->listeners;
	for (size_t i = 0; i < BAWN_LISTENERS_MAX; i++)
		if (there & 1u << i)
			in->listeners[in->n_listeners++] =
				(struct bawn_listener){.kind = bawn_listener_kinds[i].name,
					.port = bawn_listener_port(n->plan->egress, i),
					.fd = *fds++};
}

static int take_fds(struct native *n, struct msghdr *mh, uint32_t listeners)
{
	size_t first = (n->plan->pty ? 1 : 0) + n->plan->n_loopback_ports;
	size_t want = first + (size_t)__builtin_popcount(listeners);
	struct cmsghdr *c = CMSG_FIRSTHDR(mh);
	int fds[BAWN_INIT_FDS_MAX];

	if (!want)
		return 0;
	if (listeners >> BAWN_LISTENERS_MAX || (listeners && !n->plan->egress))
		return -EPROTO;
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int) * want))
		return -EPROTO;
	memcpy(fds, CMSG_DATA(c), sizeof(int) * want);
	if (n->plan->pty)
		n->in.pty_fd = fds[0];
	for (size_t i = 0; i < n->plan->n_loopback_ports; i++)
		n->relay_fds[i] = fds[i + (n->plan->pty ? 1 : 0)];
	n->in.relay_fds = n->relay_fds;
	take_listeners(n, listeners, fds + first);
	return 0;
}

/* The wall stands, but programs that ignore the proxy variables would find nothing. */
static int check_redirect(struct native *n, const char *why, struct bawn_error *err)
{
	size_t at = strlen(n->in.walls);

	if (!n->plan->egress || n->in.enforced & BAWN_CTL_NET_EGRESS)
		return 0;
	(void)snprintf(n->in.walls + at, sizeof(n->in.walls) - at,
		", connections not redirected (%.60s)", why);
	if (n->plan->may_miss & BAWN_CTL_NET_EGRESS)
		return 0;
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"this kernel cannot redirect connections to the egress proxy (%.100s), so that only programs "
		"that obey HTTP_PROXY would have a network; if that will do: --allow-missing net.egress",
		why);
}

/* Wait for init's word that the wall stands. */
static int await_ready(struct native *n, struct bawn_error *err)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int) * BAWN_INIT_FDS_MAX)];
	} c = {.buf = {0}};
	struct bawn_init_msg msg = {0};
	struct iovec iov = {.iov_base = &msg, .iov_len = sizeof(msg)};
	struct msghdr mh = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = c.buf,
		.msg_controllen = sizeof(c.buf)};
	struct pollfd pfd = {.fd = n->sock, .events = POLLIN};
	ssize_t len;
	int r;

	do
		r = poll(&pfd, 1, SETUP_TIMEOUT_MS);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -ETIMEDOUT, "the sandbox did not come up in time");
	len = recvmsg(n->sock, &mh, MSG_CMSG_CLOEXEC);
	if (len != sizeof(msg))
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -EPROTO, "the sandbox's init died while setting up");
	if (msg.kind == BAWN_INIT_ERROR) {
		if (err)
			*err = msg.error;
		return msg.error.err;
	}
	if (msg.kind != BAWN_INIT_READY || take_fds(n, &mh, msg.listeners) < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -EPROTO, "the sandbox's init answered nonsense");
	n->in.enforced = msg.enforced;
	return check_redirect(n, msg.text, err);
}

/* One descriptor for the event loop: init's socket, and the control groups' if there are any. */
static int make_event_fd(struct native *n, struct bawn_error *err)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = n->sock};
	uint32_t events[4];
	int fds[4];
	int count = n->cgroup ? bawn_cgroup_fds(n->cgroup, fds, events) : 0;

	if (!count) {
		n->in.event_fd = fcntl(n->sock, F_DUPFD_CLOEXEC, 3);
		return n->in.event_fd < 0
			       ? bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot watch: %m")
			       : 0;
	}
	n->in.event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (n->in.event_fd < 0 || epoll_ctl(n->in.event_fd, EPOLL_CTL_ADD, n->sock, &ev) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot watch the sandbox: %m");
	for (int i = 0; i < count; i++) {
		/* edge-triggered: a counter that stays raised must wake us once only */
		ev = (struct epoll_event){.events = events[i] | EPOLLET, .data.fd = fds[i]};
		if (epoll_ctl(n->in.event_fd, EPOLL_CTL_ADD, fds[i], &ev) < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "cannot watch the limits: %m");
	}
	return 0;
}

static void describe(struct native *n, const struct bawn_init *init)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} limits[] = {{BAWN_CTL_LIMIT_MEMORY, " memory"}, {BAWN_CTL_LIMIT_PROCESSES, " processes"},
		{BAWN_CTL_LIMIT_CPU, " cpu"}};
	size_t size = sizeof(n->in.walls);
	size_t at = (size_t)snprintf(n->in.walls, size,
		"%sLandlock ABI %d, seccomp, rlimits, metering",
		n->plan->tier == BAWN_TIER_FULL ? "namespaces (user mount pid net ipc uts cgroup), "
						: "",
		bawn_landlock_abi());

	if (init->by_cgroup)
		at += (size_t)snprintf(n->in.walls + at, size - at, ", cgroup for");
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && at < size; i++)
		if (init->by_cgroup & limits[i].bit)
			at += (size_t)snprintf(n->in.walls + at, size - at, "%s", limits[i].name);
}

static int clone_child(struct native *n, struct bawn_init *init, int child, struct bawn_error *err)
{
	n->pid = clone_init(n, init, &n->pidfd);
	if (n->pid == 0) {
		(void)close(n->sock);
		bawn_init_main(init);
	}
	(void)close(child);
	if (n->pid < 0) {
		int r = -errno;

		return n->plan->tier == BAWN_TIER_FULL
			       ? bawn_native_no_namespaces(-r, err)
			       : bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot make a process: %m");
	}
	describe(n, init);
	n->in.by_cgroup = init->by_cgroup;
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
	r = bawn_cgroup_new(plan, &n->cgroup, &init->by_cgroup, err);
	if (r < 0)
		return r;
	init->cgroup = n->cgroup;
	init->born_inside = n->cgroup && bawn_cgroup_clone_fd(n->cgroup) >= 0;
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
	n->in.event_fd = n->in.pty_fd = n->sock = n->pidfd = -1;
	n->scratch = BAWN_SCRATCH_NONE;
	for (size_t i = 0; i < BAWN_PORTS_MAX; i++)
		n->relay_fds[i] = -1;
	if (plan->n_loopback_ports > BAWN_PORTS_MAX)
		return bawn_fail(
			err, BAWN_ERR_PLAN, -E2BIG, "at most %d loopback ports", BAWN_PORTS_MAX);
	if (plan->n_loopback_ports && plan->tier == BAWN_TIER_LANDLOCK)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"a single port of the host's loopback cannot be opened without a network namespace");
	if (plan->egress && plan->tier == BAWN_TIER_LANDLOCK)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"net.egress: network.mode '%s' needs a network namespace, which there is none of without user namespaces; only deny and closed can be enforced",
			bawn_enum_name("netmode", plan->egress->mode));
	n->arena = bawn_arena_new();
	if (!n->arena)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	r = make_parts(n, &init, err);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a socket pair: %m");
	n->sock = pair[0];
	init.sock = pair[1];
	return clone_child(n, &init, pair[1], err);
}

static int native_await(struct bawn_instance *in, struct bawn_error *err)
{
	struct native *n = native_of(in);
	int r = await_ready(n, err);

	if (is_powerless(n, r, err))
		return bawn_native_no_namespaces(-r, err);
	return r < 0 ? r : make_event_fd(n, err);
}

static int native_start(struct bawn_instance *in, struct bawn_error *err)
{
	struct bawn_init_order go = {0};

	if (send(native_of(in)->sock, &go, sizeof(go), MSG_NOSIGNAL) != sizeof(go))
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "the sandbox's init is gone: %m");
	return 0;
}

static void kill_all(struct native *n)
{
	struct bawn_init_order kill_order = {.signo = SIGKILL};

	if (n->pid <= 0 || n->reaped)
		return;
	/* the Landlock tier has no pid namespace that dies with its init: init must do the killing
	 */
	if (n->plan->tier == BAWN_TIER_LANDLOCK &&
		send(n->sock, &kill_order, sizeof(kill_order), MSG_NOSIGNAL) == sizeof(kill_order))
		return;
	(void)bawn_pidfd_send_signal(n->pidfd, SIGKILL);
}

static void reap(struct native *n)
{
	struct rusage ru = {0};
	int status;

	if (n->pid <= 0 || n->reaped)
		return;
	while (wait4(n->pid, &status, 0, &ru) < 0 && errno == EINTR)
		;
	n->reaped = true;
	n->usage.cpu_us = (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000u +
			  (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
}

static uint32_t cgroup_breach(struct native *n)
{
	struct epoll_event seen[4];
	uint32_t hit;

	if (!n->cgroup)
		return 0;
	/* edges are shown until somebody has looked: else our caller would be woken for ever */
	(void)epoll_wait(n->in.event_fd, seen, 4, 0);
	hit = n->limit_told ? 0 : bawn_cgroup_breach(n->cgroup);
	n->limit_told |= hit != 0;
	return hit;
}

static void from_msg(struct native *n, const struct bawn_init_msg *msg, struct bawn_event *ret)
{
	ret->kind = (enum bawn_event_kind)msg->kind;
	ret->status = msg->status;
	ret->control = msg->control;
	if (msg->kind == BAWN_EV_DENIED)
		(void)snprintf(ret->text, sizeof(ret->text), "%s", msg->text);
	if (msg->kind == BAWN_EV_LIMIT)
		n->limit_told = true;
	if (msg->usage.memory_peak)
		n->usage.memory_peak = msg->usage.memory_peak;
}

static int native_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err)
{
	struct native *n = native_of(in);
	struct bawn_init_msg msg;
	ssize_t len;

	*ret = (struct bawn_event){.kind = BAWN_EV_NONE};
	if (n->ended)
		return 0;
	len = recv(n->sock, &msg, sizeof(msg), MSG_DONTWAIT);
	if (len < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNRESET)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot hear the sandbox: %m");
	if (len == sizeof(msg)) {
		from_msg(n, &msg, ret);
		return 0;
	}
	ret->control = cgroup_breach(n);
	if (ret->control) {
		ret->kind = BAWN_EV_LIMIT;
		kill_all(n);
		return 0;
	}
	if (len == 0 || (len < 0 && errno == ECONNRESET)) { /* init is gone, and so is all else */
		reap(n);
		ret->kind = BAWN_EV_ENDED;
		n->ended = true;
	}
	return 0;
}

static int native_signal(struct bawn_instance *in, int signo, struct bawn_error *err)
{
	struct native *n = native_of(in);
	struct bawn_init_order order = {.signo = signo};

	if (signo == SIGKILL)
		kill_all(n);
	else if (send(n->sock, &order, sizeof(order), MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot signal the command: %m");
	return 0;
}

static void native_usage(struct bawn_instance *in, struct bawn_usage *ret)
{
	struct native *n = native_of(in);
	uint64_t cpu = 0, peak = 0;

	if (n->cgroup)
		bawn_cgroup_usage(n->cgroup, &cpu, &peak);
	*ret = n->usage;
	if (cpu)
		ret->cpu_us = cpu;
	if (peak)
		ret->memory_peak = peak;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void native_destroy(struct bawn_instance *in)
{
	struct native *n = native_of(in);

	if (!n->plan) /* prepare was never called */
		return;
	kill_all(n);
	close_fd(&n->sock);
	reap(n);
	close_fd(&n->pidfd);
	close_fd(&n->in.event_fd);
	close_fd(&n->in.pty_fd);
	for (size_t i = 0; i < BAWN_PORTS_MAX; i++)
		close_fd(&n->relay_fds[i]);
	bawn_instance_drop_listeners(in);
	n->cgroup = bawn_cgroup_free(n->cgroup);
	bawn_scratch_done(&n->scratch);
	n->arena = bawn_arena_free(n->arena);
}

const struct bawn_backend bawn_backend_native = {
	.abi = BAWN_BACKEND_ABI,
	.name = "native",
	.aliases = "kernel,namespace,landlock+bwrap",
	.summary = "namespaces, Landlock and seccomp of this kernel",
	.level = BAWN_LEVEL_PROCESS,
	.strength = 60,
	.tier = BAWN_TIER_FULL,
	.instance_size = sizeof(struct native),
	.probe = bawn_native_probe,
	.prepare = native_prepare,
	.await = native_await,
	.start = native_start,
	.event = native_event,
	.signal = native_signal,
	.usage = native_usage,
	.destroy = native_destroy,
};

/* The same backend on a plan for the second tier. */
const struct bawn_backend bawn_backend_landlock = {
	.abi = BAWN_BACKEND_ABI,
	.name = "landlock",
	.aliases = "",
	.summary = "Landlock and seccomp without namespaces, for unprivileged containers",
	.level = BAWN_LEVEL_PROCESS,
	.strength = 20,
	.tier = BAWN_TIER_LANDLOCK,
	.instance_size = sizeof(struct native),
	.probe = bawn_landlock_probe,
	.prepare = native_prepare,
	.await = native_await,
	.start = native_start,
	.event = native_event,
	.signal = native_signal,
	.usage = native_usage,
	.destroy = native_destroy,
};
