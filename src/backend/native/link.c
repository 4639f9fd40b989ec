/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See link.h. What init says is ours until the command has broken it: so nothing here trusts a
 * length, a kind or a missing NUL.
 */
#include "backend/native/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/sched.h"
#include "base/sys.h"

/* What init has left to do when it says so takes half as long. */
#define SOON_US  200
#define DEATH_US 400
#define TOOL_MS  5000 /* how long a tool may take to end once nothing is left inside */

void bawn_link_open(struct bawn_link *l, struct bawn_instance *in)
{
	l->in = in;
	l->sock = l->pidfd = l->init_fd = in->event_fd = in->pty_fd = -1;
	for (size_t i = 0; i < BAWN_PORTS_MAX; i++)
		l->relay_fds[i] = -1;
}

int bawn_link_plan(struct bawn_link *l, const struct bawn_plan *plan, struct bawn_error *err)
{
	l->plan = plan;
	if (plan->n_loopback_ports > BAWN_PORTS_MAX)
		return bawn_fail(
			err, BAWN_ERR_PLAN, -E2BIG, "at most %d loopback ports", BAWN_PORTS_MAX);
	return 0;
}

/* ---- the receipt ---- */

static void take_listeners(struct bawn_link *l, uint32_t there, const int *fds)
{
	struct bawn_instance *in = l->in;

	in->listeners = l->listeners;
	for (size_t i = 0; i < BAWN_LISTENERS_MAX; i++)
		if (there & 1u << i)
			in->listeners[in->n_listeners++] =
				(struct bawn_listener){.kind = bawn_listener_kinds[i].name,
					.port = bawn_listener_port(l->plan->egress, i),
					.fd = *fds++};
}

static int take_fds(struct bawn_link *l, struct bawn_received *got, uint32_t listeners)
{
	size_t first = (l->plan->pty ? 1 : 0) + l->plan->n_loopback_ports;
	const int *fds = got->fds;

	if (listeners >> BAWN_LISTENERS_MAX || (listeners && !l->plan->egress) ||
		got->n != first + (size_t)__builtin_popcount(listeners)) {
		bawn_received_close(got);
		return -EPROTO;
	}
	if (l->plan->pty)
		l->in->pty_fd = fds[0];
	for (size_t i = 0; i < l->plan->n_loopback_ports; i++)
		l->relay_fds[i] = fds[i + (l->plan->pty ? 1 : 0)];
	if (l->plan->n_loopback_ports)
		l->in->relay_fds = l->relay_fds;
	take_listeners(l, listeners, fds + first);
	return 0;
}

/* The wall stands, but programs that ignore the proxy variables would find nothing. */
static int check_redirect(struct bawn_link *l, const char *why, struct bawn_error *err)
{
	char *walls = l->in->walls;
	size_t at = strlen(walls);

	if (!l->plan->egress || l->in->enforced & BAWN_CTL_NET_EGRESS)
		return 0;
	(void)snprintf(
		walls + at, sizeof(l->in->walls) - at, ", connections not redirected (%.60s)", why);
	if (l->plan->may_miss & BAWN_CTL_NET_EGRESS)
		return 0;
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"this kernel cannot redirect connections to the egress proxy (%.100s), so that only programs "
		"that obey HTTP_PROXY would have a network; if that will do: --allow-missing net.egress",
		why);
}

static int wait_readable(int fd, int timeout_ms, bool soon, struct bawn_error *err)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	int64_t left = soon ? SOON_US : 0;
	int r;

	do
		r = bawn_poll_soon(&pfd, 1, timeout_ms, &left);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -ETIMEDOUT, "the sandbox did not come up in time");
	return r < 0 ? bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot wait: %m") : 0;
}

static int take_receipt(struct bawn_link *l, struct bawn_init_msg *msg, struct bawn_received *got,
	struct bawn_error *err)
{
	bool ready = msg->kind == BAWN_INIT_READY;

	if (!ready)
		bawn_received_close(got);
	if (msg->kind == BAWN_INIT_ERROR && msg->error.err < 0) {
		msg->error.msg[sizeof(msg->error.msg) - 1] = '\0';
		if (err)
			*err = msg->error;
		return msg->error.err;
	}
	if (!ready || take_fds(l, got, msg->listeners) < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -EPROTO, "the sandbox's init answered nonsense");
	if (l->find_init && l->init_fd < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -ESRCH, "the sandbox's init cannot be found");
	msg->text[sizeof(msg->text) - 1] = '\0';
	l->in->enforced = msg->enforced;
	if (l->plan->tier == BAWN_TIER_FAR)
		(void)snprintf(l->in->flaw, sizeof(l->in->flaw), "%.159s", msg->text);
	return check_redirect(l, msg->text, err);
}

int bawn_link_await(struct bawn_link *l, int timeout_ms, struct bawn_error *err)
{
	struct bawn_init_msg msg = {0};
	struct bawn_received got;
	bool soon = false;
	ssize_t len;

	do {
		int r = wait_readable(l->sock, timeout_ms, soon, err);

		if (r < 0)
			return r;
		len = bawn_receive_fds(l->sock, &msg, sizeof(msg), 0, &got);
		/* it ended without reading all that we sent: its last words come after that */
		if (len == -ECONNRESET)
			len = bawn_receive_fds(l->sock, &msg, sizeof(msg), 0, &got);
		soon = msg.kind == BAWN_INIT_SOON && bawn_sched_waits(msg.cpu);
	} while (len == sizeof(msg) && !got.n &&
		 (msg.kind == BAWN_INIT_SOON || msg.kind == BAWN_INIT_PROGRESS));
	if (len <= 0 && len != -EPROTO)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -EPIPE, "the sandbox's init died while setting up");
	/* it waits for our word, so that its number is its own */
	if (l->find_init && l->init_fd < 0 && got.from)
		l->init_fd = (int)syscall(SYS_pidfd_open, got.from, 0);
	if (len != sizeof(msg))
		msg.kind = 0;
	return take_receipt(l, &msg, &got, err);
}

void bawn_link_await_word(const struct bawn_link *l, int timeout_ms)
{
	(void)wait_readable(l->sock, timeout_ms, false, NULL);
}

int bawn_link_watch_limits(struct bawn_link *l, struct bawn_error *err)
{
	uint32_t events[4];
	int fds[4];
	int count = l->cgroup ? bawn_cgroup_fds(l->cgroup, fds, events) : 0;

	for (int i = 0; i < count; i++) {
		/* edge-triggered: a counter that stays raised must wake us once only */
		struct epoll_event ev = {.events = events[i] | EPOLLET, .data.fd = fds[i]};

		if (epoll_ctl(l->in->event_fd, EPOLL_CTL_ADD, fds[i], &ev) < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "cannot watch the limits: %m");
	}
	return 0;
}

/* One descriptor for the event loop: init's socket, and the control groups' if there are any. */
int bawn_link_watch(struct bawn_link *l, struct bawn_error *err)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = l->sock};

	if (!l->cgroup) {
		l->in->event_fd = fcntl(l->sock, F_DUPFD_CLOEXEC, 3);
		return l->in->event_fd < 0
			       ? bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot watch: %m")
			       : 0;
	}
	l->in->event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->in->event_fd < 0 || epoll_ctl(l->in->event_fd, EPOLL_CTL_ADD, l->sock, &ev) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot watch the sandbox: %m");
	return 0;
}

/* Should it fail, the socket is readable then as well. */
void bawn_link_watch_death(struct bawn_link *l)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = l->pidfd};
	struct pollfd pfd = {.fd = l->pidfd, .events = POLLIN};
	int64_t left = bawn_sched_waits(l->cpu) ? DEATH_US : 0;
	int fd = l->in->event_fd;

	if (!l->cgroup)
		(void)dup3(l->pidfd, fd, O_CLOEXEC);
	else if (epoll_ctl(fd, EPOLL_CTL_ADD, l->pidfd, &ev) == 0)
		(void)epoll_ctl(fd, EPOLL_CTL_DEL, l->sock, NULL);
	(void)bawn_poll_soon(&pfd, 1, 0, &left);
}

/* ---- while it runs ---- */

int bawn_link_start(struct bawn_link *l, struct bawn_error *err)
{
	struct bawn_init_order go = {0};

	if (send(l->sock, &go, sizeof(go), MSG_NOSIGNAL) != sizeof(go))
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "the sandbox's init is gone: %m");
	return 0;
}

void bawn_link_kill(struct bawn_link *l)
{
	struct bawn_init_order order = {.signo = SIGKILL};

	if (l->pid <= 0 || l->reaped)
		return;
	if (l->find_init && l->init_fd < 0) /* the end of the socket is the end of it */
		return;
	if (l->by_order && send(l->sock, &order, sizeof(order), MSG_NOSIGNAL) == sizeof(order))
		return;
	/* a tool that waits for init ends with it, and only then is all of it over */
	(void)bawn_pidfd_send_signal(l->init_fd >= 0 ? l->init_fd : l->pidfd, SIGKILL);
}

/* Until nothing is left: the end of init is the end of its pid namespace. */
static void reap(struct bawn_link *l)
{
	struct rusage ru = {0};
	int status;

	if (l->pid <= 0 || l->reaped)
		return;
	if (l->init_fd >= 0)
		(void)bawn_pidfd_await(l->init_fd, -1);
	/* a tool that is killed cannot tidy up behind itself: only when it does not end with init
	 */
	if (l->find_init && bawn_pidfd_await(l->pidfd, TOOL_MS) == 0)
		(void)bawn_pidfd_send_signal(l->pidfd, SIGKILL);
	while (wait4(l->pid, &status, 0, &ru) < 0 && errno == EINTR)
		;
	l->reaped = true;
	l->usage.cpu_us = (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000u +
			  (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
}

static uint32_t cgroup_breach(struct bawn_link *l)
{
	struct epoll_event seen[4];
	uint32_t hit;

	if (!l->cgroup)
		return 0;
	/* edges are shown until somebody has looked: else our caller would be woken for ever */
	(void)epoll_wait(l->in->event_fd, seen, 4, 0);
	hit = l->limit_told ? 0 : bawn_cgroup_breach(l->cgroup);
	l->limit_told |= hit != 0;
	return hit;
}

static void from_msg(struct bawn_link *l, struct bawn_init_msg *msg, struct bawn_event *ret)
{
	if (msg->kind != BAWN_EV_EXITED && msg->kind != BAWN_EV_FAILED &&
		msg->kind != BAWN_EV_LIMIT && msg->kind != BAWN_EV_DENIED)
		return;
	ret->kind = (enum bawn_event_kind)msg->kind;
	ret->status = msg->status;
	ret->control = msg->control;
	msg->text[sizeof(msg->text) - 1] = '\0';
	if (msg->kind == BAWN_EV_DENIED)
		(void)snprintf(ret->text, sizeof(ret->text), "%s", msg->text);
	if (msg->kind == BAWN_EV_LIMIT)
		l->limit_told = true;
	l->cpu = msg->cpu;
	if (msg->usage.memory_peak)
		l->usage.memory_peak = msg->usage.memory_peak;
}

int bawn_link_event(struct bawn_link *l, struct bawn_event *ret, struct bawn_error *err)
{
	struct bawn_init_msg msg;
	ssize_t len;

	*ret = (struct bawn_event){.kind = BAWN_EV_NONE};
	if (l->ended)
		return 0;
	len = recv(l->sock, &msg, sizeof(msg), MSG_DONTWAIT);
	if (len < 0 && errno == ECONNRESET) /* said once, before what is still there */
		len = recv(l->sock, &msg, sizeof(msg), MSG_DONTWAIT);
	if (len < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNRESET)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot hear the sandbox: %m");
	if (len == sizeof(msg)) {
		from_msg(l, &msg, ret);
		return 0;
	}
	ret->control = cgroup_breach(l);
	if (ret->control) {
		ret->kind = BAWN_EV_LIMIT;
		bawn_link_kill(l);
		return 0;
	}
	if (len == 0 || (len < 0 && errno == ECONNRESET)) { /* init is gone, and so is all else */
		reap(l);
		ret->kind = BAWN_EV_ENDED;
		l->ended = true;
	}
	return 0;
}

int bawn_link_signal(struct bawn_link *l, int signo, struct bawn_error *err)
{
	struct bawn_init_order order = {.signo = signo};

	if (signo == SIGKILL)
		bawn_link_kill(l);
	else if (send(l->sock, &order, sizeof(order), MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot signal the command: %m");
	return 0;
}

void bawn_link_usage(struct bawn_link *l, struct bawn_usage *ret)
{
	uint64_t cpu = 0, peak = 0;

	if (l->cgroup)
		bawn_cgroup_usage(l->cgroup, &cpu, &peak);
	*ret = l->usage;
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

void bawn_link_close(struct bawn_link *l)
{
	if (!l->in)
		return;
	bawn_link_kill(l);
	close_fd(&l->sock);
	reap(l);
	close_fd(&l->pidfd);
	close_fd(&l->init_fd);
	close_fd(&l->in->event_fd);
	close_fd(&l->in->pty_fd);
	for (size_t i = 0; i < BAWN_PORTS_MAX; i++)
		close_fd(&l->relay_fds[i]);
	bawn_instance_drop_listeners(l->in);
	l->cgroup = bawn_cgroup_free(l->cgroup);
}
