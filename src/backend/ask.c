/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/sys.h"

#define AT_ONCE 4
#define TICK_MS 200

static _Noreturn void answer(const struct bawn_backend *be, int fd, pid_t parent)
{
	struct bawn_probe p = {0};
	struct bawn_error e = {0};

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (be->probe(&p, &e) < 0) {
		p = (struct bawn_probe){0};
		(void)snprintf(
			p.reason, sizeof(p.reason), "%.*s", (int)sizeof(p.reason) - 1, e.msg);
	}
	(void)!write(fd, &p, sizeof(p)); /* smaller than PIPE_BUF: whole or not at all */
	_exit(0);
}

static int begin(struct bawn_asking *q, int64_t timeout_ms)
{
	pid_t parent = getpid();
	int p[2];

	_Static_assert(sizeof(struct bawn_probe) <= 4096, "is written in one piece");
	q->fd = -1;
	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	q->since = bawn_now_ms();
	q->stop = q->since + timeout_ms;
	q->pid = fork();
	if (q->pid == 0) {
		(void)close(p[0]);
		answer(q->be, p[1], parent);
	}
	(void)close(p[1]);
	if (q->pid < 0) {
		int r = -errno;

		(void)close(p[0]);
		return r;
	}
	(void)setpgid(q->pid, q->pid);
	q->fd = p[0];
	return 0;
}

/* It has answered, has died, or is too late. */
static void finish(struct bawn_asking *q, bool late)
{
	int64_t now = bawn_now_ms();
	bool told = !late && read(q->fd, &q->probe, sizeof(q->probe)) == sizeof(q->probe);

	(void)kill(-q->pid, SIGKILL);
	(void)kill(q->pid, SIGKILL);
	while (waitpid(q->pid, NULL, 0) < 0 && errno == EINTR)
		;
	(void)close(q->fd);
	q->fd = -1;
	q->done = true;
	q->took_ms = now - q->since;
	if (told)
		return;
	q->probe = (struct bawn_probe){0};
	(void)snprintf(q->probe.reason, sizeof(q->probe.reason),
		late ? "the probe did not end within %lld s and was killed"
		     : "the probe died after %lld s",
		(long long)((q->took_ms + 999) / 1000));
}

/* Wait at most `ms` for any that has begun and is not done, and take what there is. */
static void wait_some(struct bawn_asking *v, size_t n, int64_t ms)
{
	struct pollfd fds[AT_ONCE];
	struct bawn_asking *of[AT_ONCE];
	int64_t now = bawn_now_ms();
	nfds_t open = 0;

	for (size_t i = 0; i < n && open < AT_ONCE; i++) {
		if (v[i].done || v[i].pid <= 0)
			continue;
		if (v[i].stop - now < ms)
			ms = v[i].stop > now ? v[i].stop - now : 0;
		of[open] = &v[i];
		fds[open++] = (struct pollfd){.fd = v[i].fd, .events = POLLIN};
	}
	if (!open || (poll(fds, open, (int)ms) < 0 && errno != EINTR))
		return;
	now = bawn_now_ms();
	for (nfds_t i = 0; i < open; i++)
		if (fds[i].revents || of[i]->stop <= now)
			finish(of[i], !fds[i].revents);
}

/* Begin as many as may run at once; how many do. */
static unsigned begin_some(struct bawn_asking *v, size_t n, int64_t timeout_ms)
{
	unsigned running = 0;

	for (size_t i = 0; i < n; i++)
		running += !v[i].done && v[i].pid > 0;
	for (size_t i = 0; i < n && running < AT_ONCE; i++) {
		int r;

		if (v[i].done || v[i].pid > 0)
			continue;
		r = begin(&v[i], timeout_ms);
		if (r < 0) {
			v[i].done = true;
			(void)snprintf(v[i].probe.reason, sizeof(v[i].probe.reason),
				"it could not be asked (error %d)", -r);
			continue;
		}
		running++;
	}
	return running;
}

void bawn_ask_all(struct bawn_asking *v, size_t n, int64_t timeout_ms, void (*tick)(void *userdata),
	void *userdata)
{
	while (begin_some(v, n, timeout_ms)) {
		if (tick)
			tick(userdata);
		wait_some(v, n, TICK_MS);
	}
}

void bawn_ask(const struct bawn_backend *be, int64_t timeout_ms, struct bawn_probe *ret)
{
	struct bawn_asking q = {.be = be};

	bawn_ask_all(&q, 1, timeout_ms, NULL, NULL);
	*ret = q.probe;
}
