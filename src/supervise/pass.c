/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/pass.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/io.h"

static volatile sig_atomic_t target;

static void hand_on(int signo)
{
	int saved = errno;

	if (target > 0)
		(void)kill((pid_t)target, signo);
	errno = saved;
}

static const int watched[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define WATCHED (sizeof(watched) / sizeof(watched[0]))

/* What was ignored stays ignored (nohup). */
static void watch(struct sigaction before[WATCHED])
{
	for (size_t i = 0; i < WATCHED; i++) {
		struct sigaction sa = {.sa_handler = i < 2 ? SIG_IGN : hand_on};

		(void)sigaction(watched[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			(void)sigaction(watched[i], &sa, NULL);
	}
}

static void restore(const struct sigaction before[WATCHED])
{
	for (size_t i = 0; i < WATCHED; i++)
		(void)sigaction(watched[i], &before[i], NULL);
}

/* The two ends of a stream that is kept; -1 when it goes where ours goes. */
struct kept {
	int rd[2], wr[2];
};

static void kept_close(int fds[2])
{
	for (int i = 0; i < 2; i++)
		fds[i] = fds[i] < 0 ? -1 : (close(fds[i]), -1);
}

static void kept_done(struct kept *k)
{
	kept_close(k->rd);
	kept_close(k->wr);
}
#define _cleanup_kept_ _cleanup_(kept_done)

static int kept_open(struct kept *k, const struct bawn_outlets *o, struct bawn_error *err)
{
	struct bawn_buf *const want[2] = {o->out, o->err};

	for (int i = 0; i < 2; i++) {
		int fds[2];

		if (!want[i])
			continue;
		if (pipe2(fds, O_CLOEXEC) < 0)
			return bawn_fail(err, BAWN_ERR_SUPERVISE, -errno, "cannot make a pipe: %m");
		k->rd[i] = fds[0];
		k->wr[i] = fds[1];
	}
	return 0;
}

/* Until both streams are at their end. What does not fit is read and dropped; the buffer says so.
 */
static void kept_read(struct kept *k, const struct bawn_outlets *o, struct bawn_outcome *ret)
{
	struct bawn_buf *const into[2] = {o->out, o->err};
	uint64_t *const count[2] = {&ret->out_bytes, &ret->err_bytes};
	char piece[8192];

	while (k->rd[0] >= 0 || k->rd[1] >= 0) {
		struct pollfd p[2] = {
			{.fd = k->rd[0], .events = POLLIN}, {.fd = k->rd[1], .events = POLLIN}};

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return;
		for (int i = 0; i < 2; i++) {
			ssize_t n = p[i].revents ? read(k->rd[i], piece, sizeof(piece)) : -1;

			if (n > 0) {
				bawn_buf_add(into[i], piece, (size_t)n);
				*count[i] += (uint64_t)n;
			} else if (p[i].revents && (n == 0 || errno != EINTR)) {
				(void)close(k->rd[i]);
				k->rd[i] = -1;
			}
		}
	}
}

/* A directory of PATH that cannot be searched is no reason to say that the program cannot be
 * executed. */
static int why_not(const struct bawn_call *c, int e)
{
	const char *path = NULL;
	char file[PATH_MAX];

	for (const char *const *v = c->envp; v && *v; v++)
		if (!strncmp(*v, "PATH=", 5))
			path = *v + 5;
	if (e != EACCES || !path || strchr(c->argv[0], '/'))
		return e;
	for (size_t len; *path; path += len + (path[len] == ':')) {
		len = strcspn(path, ":");
		(void)snprintf(file, sizeof(file), "%.*s/%s", (int)len, path, c->argv[0]);
		if (access(file, F_OK) == 0)
			return EACCES;
	}
	return ENOENT;
}

static void child(const struct bawn_call *c, const struct sigaction before[WATCHED],
	const struct kept *k, int report) __attribute__((noreturn));
static void child(const struct bawn_call *c, const struct sigaction before[WATCHED],
	const struct kept *k, int report)
{
	/* execvpe() changes nothing of it, though its type does not say so */
	union {
		const char *const *given;
		char *const *taken;
	} argv = {c->argv}, envp = {c->envp};
	bool ready = chdir(c->cwd) == 0;
	int e;

	restore(before);
	(void)signal(SIGXFSZ, SIG_DFL); /* ignored by main() for ourselves */
	for (int i = 0; i < 2; i++)
		ready = ready && (k->wr[i] < 0 || dup2(k->wr[i], i + 1) >= 0);
	if (ready)
		(void)execvpe(c->argv[0], argv.taken, envp.taken);
	e = why_not(c, errno);
	_exit(write(report, &e, sizeof(e)) == (ssize_t)sizeof(e) ? 127 : 126);
}

int bawn_pass_through(const struct bawn_call *c, const struct bawn_outlets *o,
	struct bawn_outcome *ret, struct bawn_error *err)
{
	_cleanup_kept_ struct kept k = {{-1, -1}, {-1, -1}};
	struct sigaction before[WATCHED];
	_cleanup_close_ int rd = -1;
	int64_t start = bawn_now_ms();
	int fds[2], status = 0;
	pid_t pid, r;

	*ret = (struct bawn_outcome){0};
	if (kept_open(&k, o, err) < 0)
		return err->err;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return bawn_fail(err, BAWN_ERR_SUPERVISE, -errno, "cannot make a pipe: %m");
	rd = fds[0];
	watch(before);
	pid = fork();
	if (pid == 0)
		child(c, before, &k, fds[1]);
	(void)close(fds[1]);
	kept_close(k.wr);
	target = pid;
	if (pid < 0) {
		restore(before);
		return bawn_fail(err, BAWN_ERR_SUPERVISE, -errno, "cannot fork: %m");
	}
	if (read(rd, &ret->exec_errno, sizeof(ret->exec_errno)) != (ssize_t)sizeof(ret->exec_errno))
		ret->exec_errno = 0;
	kept_read(&k, o, ret);
	do
		r = waitpid(pid, &status, 0);
	while (r < 0 && errno == EINTR);
	target = 0;
	restore(before);
	ret->wait_status = status;
	ret->exited = ret->exec_errno == 0;
	ret->wall_ms = bawn_now_ms() - start;
	return 0;
}
