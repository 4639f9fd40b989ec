/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A backend that builds no wall but really runs programs: one process group, seen to be empty when
 * the last holder of a pipe is gone. Enough to drive the supervisor with real processes.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <termios.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/io.h"
#include "harness.h"
#include "supervise/supervise.h"

struct bed_instance {
	struct bawn_instance base;
	pid_t pid;
	int pidfd, gate, life, extra_fd;
	const struct bawn_event *extra; /* delivered first */
	size_t n_extra, at;
	bool fail_event, exited, exec_failed;
	int kills;
};

struct bed {
	struct bawn_arena *arena;
	struct bed_instance in;
	struct bawn_plan plan;
	struct bawn_stdio stdio;
	struct bawn_outlets o;
	struct bawn_outcome ret;
	struct bawn_error err;
	int stdin_fd;
};

static void bed_child(struct bed_instance *b, const struct bawn_plan *plan, const int stdio[3],
	const int gate[2], int slave)
{
	char *argv[16] = {0};
	char c;

	for (size_t i = 0; i < 15 && plan->argv[i]; i++)
		argv[i] = strdup(plan->argv[i]);
	(void)setsid();
	for (int i = 0; i < 3; i++)
		(void)dup2(slave >= 0 ? slave : stdio[i], i);
	if (slave >= 0)
		(void)ioctl(0, TIOCSCTTY, 0);
	(void)close(gate[1]);
	(void)fcntl(b->life, F_SETFD, 0);
	if (read(gate[0], &c, 1) != 1)
		_exit(99);
	if (argv[0])
		(void)execvp(argv[0], argv);
	_exit(127);
}

static int bed_prepare(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
	struct bawn_error *err)
{
	struct bed_instance *b = (struct bed_instance *)in;
	int gate[2], life[2], slave = -1;
	struct epoll_event ev = {.events = EPOLLIN};

	(void)err;
	if (plan->pty) {
		in->pty_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (in->pty_fd < 0 || unlockpt(in->pty_fd) < 0)
			SKIP("no pseudo-terminals here: mount devpts at /dev/pts");
		slave = ioctl(in->pty_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	}
	ASSERT_EQ(pipe2(gate, O_CLOEXEC), 0);
	ASSERT_EQ(pipe2(life, O_CLOEXEC), 0);
	ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	b->life = life[1];
	b->pid = fork();
	ASSERT_TRUE(b->pid >= 0);
	if (b->pid == 0)
		bed_child(b, plan, stdio, gate, slave);
	(void)close(gate[0]);
	(void)close(life[1]);
	if (slave >= 0)
		(void)close(slave);
	b->gate = gate[1];
	b->life = life[0];
	b->pidfd = (int)syscall(SYS_pidfd_open, b->pid, 0);
	b->extra_fd = eventfd(b->n_extra ? 1 : 0, EFD_CLOEXEC);
	in->event_fd = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_EQ(epoll_ctl(in->event_fd, EPOLL_CTL_ADD, b->pidfd, &ev), 0);
	ASSERT_EQ(epoll_ctl(in->event_fd, EPOLL_CTL_ADD, b->extra_fd, &ev), 0);
	return 0;
}

static int bed_start(struct bawn_instance *in, struct bawn_error *err)
{
	struct bed_instance *b = (struct bed_instance *)in;

	(void)err;
	return write(b->gate, "", 1) == 1 ? 0 : -errno;
}

static int bed_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err)
{
	struct bed_instance *b = (struct bed_instance *)in;
	struct epoll_event ev = {.events = EPOLLIN};
	struct pollfd p = {.fd = b->life, .events = POLLIN};
	int st;

	if (b->fail_event)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "test");
	if (b->at < b->n_extra) {
		*ret = b->extra[b->at++];
		return 0;
	}
	if (b->extra_fd >= 0)
		(void)close(b->extra_fd);
	b->extra_fd = -1;
	if (!b->exited) {
		if (waitpid(b->pid, &st, WNOHANG) != b->pid)
			return 0;
		b->exited = true;
		(void)close(b->pidfd);
		ASSERT_EQ(epoll_ctl(in->event_fd, EPOLL_CTL_ADD, b->life, &ev), 0);
		ret->kind = BAWN_EV_EXITED;
		ret->status = st;
		return 0;
	}
	if (poll(&p, 1, 0) == 1) {
		while (waitpid(-b->pid, NULL, 0) > 0)
			;
		ret->kind = BAWN_EV_ENDED;
	}
	return 0;
}

static int bed_signal(struct bawn_instance *in, int signo, struct bawn_error *err)
{
	struct bed_instance *b = (struct bed_instance *)in;

	b->kills += signo == SIGKILL;
	/* The group may not be there yet. */
	if ((signo != SIGKILL || kill(-b->pid, signo) < 0) && kill(b->pid, signo) < 0 &&
		errno != ESRCH)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "kill: %m");
	return 0;
}

static void bed_usage(struct bawn_instance *in, struct bawn_usage *ret)
{
	(void)in;
	ret->cpu_us = 4711;
}

static const struct bawn_backend bed_backend = {
	.abi = BAWN_BACKEND_ABI,
	.name = "bed",
	.prepare = bed_prepare,
	.start = bed_start,
	.event = bed_event,
	.signal = bed_signal,
	.usage = bed_usage,
};

static void bed_init(struct bed *b, const char *const *argv)
{
	(void)alarm(90); /* a run that does not end fails here, not in the build system */
	*b = (struct bed){.stdin_fd = -1};
	b->arena = bawn_arena_new();
	b->plan.argv = argv;
	b->plan.limits = (struct bawn_limits){
		.time_ms = BAWN_UNLIMITED, .output = BAWN_UNLIMITED, .memory = BAWN_UNLIMITED};
	b->o = (struct bawn_outlets){.out_fd = -1, .err_fd = -1, .terminal_fd = -1};
	b->in.base.be = &bed_backend;
	b->in.base.pty_fd = -1;
}

static void bed_prepare_all(struct bed *b)
{
	ASSERT_EQ(bawn_stdio_open(&b->stdio, &b->plan, b->stdin_fd, &b->err), 0);
	ASSERT_EQ(bed_prepare(&b->in.base, &b->plan, b->stdio.child, &b->err), 0);
}

static int bed_go(struct bed *b)
{
	int r;

	bawn_stdio_close_child(&b->stdio);
	r = bawn_supervise(b->arena, &b->in.base, &b->plan, &b->stdio, &b->o, &b->ret, &b->err);
	bawn_stdio_done(&b->stdio);
	(void)close(b->in.base.event_fd);
	(void)close(b->in.life);
	(void)close(b->in.gate);
	if (b->in.base.pty_fd >= 0)
		(void)close(b->in.base.pty_fd);
	return r;
}

static void bed_done(struct bed *b)
{
	bawn_arena_free(b->arena);
}

/* Run to the end; the outcome is in b->ret. */
static void bed_run(struct bed *b)
{
	bed_prepare_all(b);
	if (bed_go(b) < 0)
		FAIL("supervise: %s", b->err.msg);
	/* Promised whatever happened: nothing of it is left. */
	ASSERT_TRUE(kill(-b->in.pid, 0) < 0 && errno == ESRCH);
}

#define SH(text)                       \
	(const char *const[])          \
	{                              \
		"sh", "-c", text, NULL \
	}
