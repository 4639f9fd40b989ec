/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the sandbox's init, see init.h. How it builds the wall is in steps.c. */
#include "backend/native/init.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "backend/native/hole.h"
#include "backend/native/init_impl.h"
#include "backend/native/scratch.h"
#include "backend/native/seccomp.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/sched.h"
#include "base/sys.h"

static void tell(const struct init_state *s, const struct bawn_init_msg *msg)
{
	(void)send(s->sock, msg, sizeof(*msg), MSG_NOSIGNAL);
}

/* ---- the command ---- */

/* Without a pid namespace the command gets a domain of its own, so that it cannot signal us. */
static int own_domain(const struct init_state *s)
{
	struct bawn_landlock_ruleset_attr attr = {.scoped = 3};
	_cleanup_close_ int fd = -1;

	if (s->alone || bawn_landlock_abi() < 6)
		return 0;
	fd = bawn_landlock_create_ruleset(&attr, sizeof(attr), 0);
	return fd < 0 || bawn_landlock_restrict_self(fd, 0) < 0 ? -errno : 0;
}

/* The host's word. False: not to start, or there is no host any more. */
static bool await_word(void)
{
	struct bawn_init_order order = {0};
	ssize_t n;

	do
		n = recv(SOCK_FD, &order, sizeof(order), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(order) && order.signo == 0;
}

/*
 * Shares memory and descriptors with init until exec: what it stores in `s` is seen there. It is
 * made ready while the host writes its record, and init stands still until it has been told to go.
 */
static int command_main(void *arg)
{
	struct init_state *s = arg;
	const struct bawn_plan *p = s->plan;
	sigset_t none;
	int r;

	if (!HOLE("setsid"))
		(void)bawn_setsid();
	if (p->pty)
		(void)ioctl(0, TIOCSCTTY, 0);
	r = own_domain(s);
	if (r == 0 && s->in->notify.len) {
		s->listener = bawn_seccomp_load(&s->in->notify, true, NULL);
		/* what it would guard is guarded outside where another kernel has no such thing */
		r = s->listener < 0 && p->tier != BAWN_TIER_FAR ? s->listener : 0;
	}
	if (s->here)
		(void)sched_setaffinity(0, sizeof(s->cpus), &s->cpus);
	/* init goes on when we execute, but need not push us aside for that */
	s->elsewhere = bawn_sched_elsewhere(s->self, &s->cpus);
	s->dismissed = !await_word();
	if (s->dismissed)
		_exit(1);
	if (r < 0) {
		s->exec_errno = -r;
		_exit(127);
	}
	(void)sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	if (HOLE("env"))
		bawn_exec(p->exe, p->argv, (const char *const *)environ);
	errno = ENOENT;
	for (const char *const *exe = s->exes; *exe && errno == ENOENT; exe++)
		bawn_exec(*exe, p->argv, p->envp);
	s->exec_errno = errno; /* not before: we share memory with who reads it */
	if (errno ==
		ENOEXEC) { /* a script without an interpreter line: the shell's, as for execvp(3) */
		s->exec_errno = 0;
		bawn_exec("/bin/sh", s->sh_argv, p->envp);
		s->exec_errno = errno;
	}
	_exit(127);
}

static int prepare_sh(struct init_state *s)
{
	size_t n = 0;

	while (s->plan->argv[n])
		n++;
	s->sh_argv = calloc(n + 2, sizeof(*s->sh_argv));
	if (!s->sh_argv)
		return -ENOMEM;
	s->sh_argv[0] = "sh";
	s->sh_argv[1] = s->plan->exe;
	for (size_t i = 1; i < n; i++)
		s->sh_argv[i + 1] = s->plan->argv[i];
	return 0;
}

/* The command's path or, for a bare name in an image, the places along PATH. */
static int prepare_exes(struct init_state *s)
{
	static const char *one[2];
	const char *path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	struct bawn_arena *a;
	struct bawn_strlist list = {0};
	int r = 0;

	one[0] = s->plan->exe;
	s->exes = one;
	if (strchr(s->plan->exe, '/'))
		return 0;
	a = bawn_arena_new(); /* lives as long as we do */
	for (const char *const *e = s->plan->envp; *e; e++)
		if (!strncmp(*e, "PATH=", 5))
			path = *e + 5;
	for (; a && r == 0 && path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL)
		if (*path == '/')
			r = bawn_strlist_add(a, &list,
				bawn_arena_printf(
					a, "%.*s/%s", (int)strcspn(path, ":"), path, s->plan->exe));
	if (!a || r < 0)
		return -ENOMEM;
	if (list.n)
		s->exes = list.v;
	return 0;
}

static void report(void *data, uint32_t control, const char *text)
{
	struct init_state *s = data;
	struct bawn_init_msg msg = {.kind = BAWN_EV_DENIED, .control = control};

	if (s->reports++ > 1000) /* a flood says nothing new */
		return;
	(void)snprintf(msg.text, sizeof(msg.text), "%s", text);
	(void)send(SOCK_FD, &msg, sizeof(msg), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int start_command(struct init_state *s)
{
	static char stack[65536] __attribute__((aligned(64)));
	struct bawn_init_msg failed = {.kind = BAWN_EV_FAILED};
	int r = prepare_sh(s);

	if (r == 0)
		r = prepare_exes(s);
	if (r == 0) {
		/* we sleep until it is told to go, and the host process has the other processor */
		s->here = bawn_sched_here(&s->cpus);
		s->pid = clone(command_main, stack + sizeof(stack),
			CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, s);
		r = s->pid < 0 ? -errno : -s->exec_errno;
	}
	if (s->here || s->elsewhere)
		(void)sched_setaffinity(0, sizeof(s->cpus), &s->cpus);
	if (s->pid > 0 ? s->dismissed : !await_word())
		_exit(1);
	if (r == 0 && s->listener >= 0)
		r = bawn_broker_new(s->plan, s->listener, report, s, &s->broker, NULL);
	if (r < 0) {
		failed.status = -r;
		tell(s, &failed);
		return r;
	}
	/* the command has its own copies; an end of file must not wait for us */
	for (int i = 0; i < 3; i++)
		(void)close(i);
	return 0;
}

/* ---- afterwards ---- */

static void finish(struct init_state *s) __attribute__((noreturn));
static void finish(struct init_state *s)
{
	/* orphans come to us: who has no child has no descendant, and need not look for any */
	if (!s->alone && s->meter && (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 || errno != ECHILD))
		bawn_meter_kill_all(s->meter);
	/* else the kernel kills what is left in the pid namespace before anybody can wait for us */
	_exit(0);
}

/* Nobody would watch over the command: end everything. */
static void give_up(struct init_state *s) __attribute__((noreturn));
static void give_up(struct init_state *s)
{
	struct bawn_init_msg msg = {.kind = BAWN_EV_FAILED, .status = ENOMEM};

	tell(s, &msg);
	finish(s);
}

/* What no mount limits as a whole. */
static uint64_t scratch_usage(const struct init_state *s)
{
	const char *dir = bawn_scratch_of(s->plan);

	if (dir)
		return bawn_scratch_usage(dir, s->plan->limits.disk);
	return s->plan->tier == BAWN_TIER_NEAR || s->plan->tier == BAWN_TIER_FAR
		       ? bawn_wall_outer_scratch(s->plan)
		       : 0;
}

static int look(struct init_state *s)
{
	struct bawn_init_msg msg = {.kind = BAWN_EV_LIMIT};
	int next = -1;

	if (!s->meter)
		return -1;
	msg.control = bawn_meter_look(s->meter, &next);
	if (!msg.control && bawn_now_ms() >= s->next_usage) {
		if (scratch_usage(s) > s->plan->limits.disk)
			msg.control = BAWN_CTL_LIMIT_DISK;
		s->next_usage = bawn_now_ms() + 250;
	}
	if (!msg.control)
		return next;
	tell(s, &msg);
	finish(s);
}

static void tell_exit(struct init_state *s, int status)
{
	struct bawn_init_msg msg = {
		.kind = BAWN_EV_EXITED, .status = status, .cpu = bawn_sched_cpu()};
	siginfo_t left = {0};

	/* who could not fork any more has left the others behind, and that is why it ended */
	if (s->todo & BAWN_CTL_LIMIT_PROCESSES &&
		waitid(P_ALL, 0, &left, WEXITED | WNOHANG | WNOWAIT) == 0)
		(void)look(s);
	if (s->meter)
		bawn_meter_usage(s->meter, &msg.usage.cpu_us, &msg.usage.memory_peak);
	tell(s, &msg);
	finish(s);
}

static void reap(struct init_state *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == s->pid)
			tell_exit(s, status);
	if (pid < 0 && errno == ECHILD)
		finish(s);
}

static void obey(struct init_state *s)
{
	struct bawn_init_order order = {0};
	ssize_t n = recv(SOCK_FD, &order, sizeof(order), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(order) ||
		order.signo == SIGKILL) /* the host is gone, or wants it all gone */
		finish(s);
	if (order.signo > 0)
		(void)kill(-s->pid, order.signo);
}

static void stay(struct init_state *s) __attribute__((noreturn));
static void stay(struct init_state *s)
{
	struct pollfd fds[3] = {{.fd = SOCK_FD, .events = POLLIN}, {.fd = -1, .events = POLLIN},
		{.fd = s->broker ? bawn_broker_fd(s->broker) : -1, .events = POLLIN}};
	int64_t next = bawn_now_ms() + 20;
	sigset_t chld;

	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	fds[1].fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fds[1].fd < 0)
		finish(s);
	for (;;) {
		struct signalfd_siginfo si;
		int64_t now = bawn_now_ms();

		if (s->meter && now >= next)
			next = now + look(s);
		if (poll(fds, 3, s->meter ? (int)(next > now ? next - now : 0) : -1) < 0 &&
			errno != EINTR)
			finish(s);
		if (fds[0].revents)
			obey(s);
		if (fds[1].revents) {
			while (read(fds[1].fd, &si, sizeof(si)) > 0)
				;
			reap(s);
		}
		if (fds[2].revents && bawn_broker_serve(s->broker) == -ENOENT)
			fds[2].fd = -1;
	}
}

/* ---- the beginning ---- */

static void send_ready(const struct init_state *s)
{
	struct bawn_init_msg msg = {.kind = BAWN_INIT_READY, .enforced = s->enforced};
	int fds[BAWN_INIT_FDS_MAX];
	size_t n = 0;

	if (s->pty >= 0)
		fds[n++] = s->pty;
	for (size_t i = 0; i < s->n_relays; i++)
		fds[n++] = s->relays[i];
	for (size_t i = 0; i < BAWN_LISTENERS_MAX; i++)
		if (s->listeners.fds[i] >= 0) {
			msg.listeners |= 1u << i;
			fds[n++] = s->listeners.fds[i];
		}
	if (s->listeners.redirect_error < 0)
		(void)snprintf(msg.text, sizeof(msg.text), "%s: %s", s->listeners.redirect_what,
			strerrordesc_np(-s->listeners.redirect_error));
	if (bawn_send_fds(SOCK_FD, &msg, sizeof(msg), fds, n) < 0)
		_exit(1);
	for (size_t i = 0; i < n; i++)
		(void)close(fds[i]);
}

void bawn_init_main(const struct bawn_init *in)
{
	struct bawn_init mine = *in;
	struct init_state s = {.in = &mine,
		.plan = in->plan,
		.by_cgroup = in->by_cgroup,
		.sock = in->sock,
		.self = getpid(),
		.pty = -1,
		.listener = -1};
	struct bawn_init_msg msg = {.kind = BAWN_INIT_ERROR};

	s.alone = in->tier != BAWN_TIER_LANDLOCK && !in->outer.shared &&
		  (in->tier != BAWN_TIER_FAR || getpid() == 1);
	for (size_t i = 0; i < BAWN_LISTENERS_MAX; i++)
		s.listeners.fds[i] = -1;
	if (init_build_wall(&s, &msg.error) < 0) {
		tell(&s, &msg);
		_exit(1);
	}
	send_ready(&s);
	/* if the kernel ends everything with us anyway only after the start, for it takes a while;
	 * rlimits hold already */
	if (!s.alone)
		s.meter = bawn_meter_new(s.plan, s.todo, false);
	if (!s.alone && !s.meter) {
		(void)await_word();
		give_up(&s);
	}
	if (start_command(&s) < 0)
		finish(&s);
	if (!s.meter)
		s.meter = bawn_meter_new(s.plan, s.todo, true);
	if (!s.meter)
		give_up(&s);
	stay(&s);
}
