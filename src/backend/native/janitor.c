/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A plain fork, not one that shares memory: the kernel's OOM killer ends every process that shares
 * the memory of its victim, and the janitor exists for that day. The raw system call without exit
 * signal keeps it invisible to the wait() and SIGCHLD of a program that uses us as a library, and
 * runs no atfork handlers; in return the child may only make system calls.
 */
#include "backend/native/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/sched.h"
#include "base/sys.h"

#define CLEAR_MS   10000
#define PIDS_BATCH 128

static void nap_ms(long ms)
{
	struct timespec ts = {.tv_nsec = ms * 1000000};

	(void)nanosleep(&ts, NULL);
}

/* Up to PIDS_BATCH process ids; the rest comes in the next round. */
static size_t read_pids(int dir, pid_t pids[PIDS_BATCH])
{
	char text[4096];
	int len = bawn_read_small(dir, "cgroup.procs", text, sizeof(text));
	size_t n = 0;

	/* A number that the end of the buffer cut in two is another process. */
	for (char *p = text; len > 0 && n < PIDS_BATCH;) {
		char *end = NULL;
		long v = strtol(p, &end, 10);

		if (end == p || *end != '\n')
			break;
		if (v > 1)
			pids[n++] = (pid_t)v;
		p = end + 1;
	}
	return n;
}

/*
 * Process ids are reused. A descriptor is taken first and the list read again: who is in the list
 * now either is the one that the descriptor holds, or that one is dead and gets nothing.
 */
static void kill_members(int dir)
{
	pid_t first[PIDS_BATCH];
	pid_t again[PIDS_BATCH];
	int fds[PIDS_BATCH];
	size_t n = read_pids(dir, first);

	for (size_t i = 0; i < n; i++)
		fds[i] = (int)syscall(SYS_pidfd_open, first[i], 0);
	size_t m = n ? read_pids(dir, again) : 0;
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		if (fds[i] < 0)
			continue;
		while (k < m && again[k] != first[i])
			k++;
		if (k < m)
			(void)syscall(SYS_pidfd_send_signal, fds[i], SIGKILL, NULL, 0);
		(void)close(fds[i]);
	}
}

/* One attempt. 0 when the group is gone. */
static int clear_once(const struct bawn_group_ref *g)
{
	int r = g->remove(g->parent, g->name);

	if (r == 0 || r == -ENOENT || r == -ENODEV)
		return 0;
	_cleanup_close_ int dir =
		openat(g->parent, g->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT || errno == ENODEV ? 0 : -errno;
	/* Where it can be done, nothing new is born while we kill. */
	(void)bawn_write_small(dir, "pids.max", "0");
	if (bawn_write_small(dir, "cgroup.kill", "1") < 0)
		kill_members(dir);
	r = g->remove(g->parent, g->name);
	return r == -ENOENT || r == -ENODEV ? 0 : r;
}

int bawn_groups_clear(const struct bawn_group_ref *groups, size_t n, int ms)
{
	int64_t end = bawn_now_ms() + ms;
	bool gone[BAWN_GROUPS_MAX] = {false};

	for (long pause = 1;; pause = pause < 32 ? pause * 2 : 32) {
		size_t left = 0;

		for (size_t i = 0; i < n && i < BAWN_GROUPS_MAX; i++) {
			if (!gone[i])
				gone[i] = clear_once(&groups[i]) == 0;
			left += !gone[i];
		}
		if (!left)
			return 0;
		if (bawn_now_ms() >= end)
			return -EBUSY;
		nap_ms(pause);
	}
}

/* Keep only `keep` (sorted): the caller's output must see its end when the host process is gone. */
static void close_others(const int *keep, size_t n)
{
	unsigned from = 0;

	for (size_t i = 0; i < n; i++) {
		if ((unsigned)keep[i] > from)
			(void)close_range(from, (unsigned)keep[i] - 1, 0);
		if ((unsigned)keep[i] >= from)
			from = (unsigned)keep[i] + 1;
	}
	(void)close_range(from, ~0U, 0);
}

static void sort_fds(int *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && v[k - 1] > v[k]; k--) {
			int t = v[k];

			v[k] = v[k - 1];
			v[k - 1] = t;
		}
}

/* A wait that fails is no death: it would cost a run that is well its life. */
static void await_death(int host)
{
	struct pollfd p = {.fd = host, .events = POLLIN};

	while (poll(&p, 1, -1) < 0) {
		if (errno == EINTR)
			continue;
		if (syscall(SYS_pidfd_send_signal, host, 0, NULL, 0) < 0 && errno == ESRCH)
			return;
		nap_ms(10);
	}
}

static _Noreturn void janitor_main(int host, const struct bawn_group_ref *groups, size_t n)
{
	int keep[BAWN_GROUPS_MAX + 1] = {host};

	(void)setsid();
	for (size_t i = 0; i < n; i++)
		keep[i + 1] = groups[i].parent;
	sort_fds(keep, n + 1);
	close_others(keep, n + 1);
	(void)prctl(PR_SET_NAME, "bawn-janitor");
	/* Not to stand on a file system that somebody wants to unmount; "/" cannot fail. */
	(void)syscall(SYS_chdir, "/");
	await_death(host);
	(void)bawn_groups_clear(groups, n, CLEAR_MS);
	_exit(0);
}

static pid_t dying; /* killed, not yet reaped */

static void reap_last(void)
{
	while (dying && waitpid(dying, NULL, __WALL) < 0 && errno == EINTR)
		;
	dying = 0;
}

int bawn_janitor_start(struct bawn_janitor *ret, const struct bawn_group_ref *groups, size_t n)
{
	sigset_t all;
	sigset_t old;

	if (n > BAWN_GROUPS_MAX)
		return -EINVAL;
	/* Not a pipe: its other end could live on in a process that the host forked. */
	_cleanup_close_ int host = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (host < 0)
		return -errno;
	/* The child is born deaf: a handler of the host program must never run in it. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	long pid = syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);
	int e = errno;
	if (pid == 0)
		janitor_main(host, groups, n);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return -e;
	ret->pid = (pid_t)pid;
	return 0;
}

void bawn_janitor_dismiss(struct bawn_janitor *j)
{
	cpu_set_t all;

	if (!j->pid)
		return;
	/* it need not die where we go on */
	(void)bawn_sched_elsewhere(j->pid, &all);
	(void)kill(j->pid, SIGKILL);
	reap_last();
	/* it does nothing any more; it is reaped when it has had the time to die, or by init after
	 * us */
	if (waitpid(j->pid, NULL, __WALL | WNOHANG) == 0)
		dying = j->pid;
	j->pid = 0;
}
