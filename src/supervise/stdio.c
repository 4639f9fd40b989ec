/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors of one run. Output always goes through pipes of ours, so that it can be counted
 * and capped and the command never holds a descriptor of the caller that it could write to. Input
 * is handed on as it is, except for a terminal: that one is open for writing, too, and takes
 * ioctls.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "supervise/supervise.h"

static int open_input(struct bawn_stdio *s, int stdin_fd, struct bawn_error *err)
{
	int p[2];

	if (stdin_fd < 0) {
		s->child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (s->child[0] < 0)
			return bawn_fail(
				err, BAWN_ERR_SUPERVISE, -errno, "cannot open '/dev/null': %m");
		return 0;
	}
	if (!isatty(stdin_fd)) {
		s->child[0] = fcntl(stdin_fd, F_DUPFD_CLOEXEC, 3);
		if (s->child[0] < 0)
			return bawn_fail(err, BAWN_ERR_SUPERVISE, -errno,
				"cannot duplicate standard input: %m");
		return 0;
	}
	if (pipe2(p, O_CLOEXEC) < 0)
		return bawn_fail(err, BAWN_ERR_SUPERVISE, -errno,
			"cannot make a pipe for standard input: %m");
	s->child[0] = p[0];
	s->parent[0] = p[1];
	s->stdin_fd = stdin_fd;
	/* Only our end: the command's end is another description. */
	if (fcntl(p[1], F_SETFL, O_NONBLOCK) < 0)
		return bawn_fail(
			err, BAWN_ERR_SUPERVISE, -errno, "cannot set up standard input: %m");
	return 0;
}

static int open_pipes(struct bawn_stdio *s, int stdin_fd, struct bawn_error *err)
{
	int r = open_input(s, stdin_fd, err);

	if (r < 0)
		return r;
	for (int i = 1; i < 3; i++) {
		int p[2];

		if (pipe2(p, O_CLOEXEC) < 0)
			return bawn_fail(err, BAWN_ERR_SUPERVISE, -errno,
				"cannot make a pipe for output: %m");
		s->parent[i] = p[0];
		s->child[i] = p[1];
	}
	return 0;
}

int bawn_stdio_open(
	struct bawn_stdio *s, const struct bawn_plan *plan, int stdin_fd, struct bawn_error *err)
{
	int r;

	*s = (struct bawn_stdio){.child = {-1, -1, -1}, .parent = {-1, -1, -1}, .stdin_fd = -1};
	if (plan->pty) {
		s->stdin_fd = stdin_fd;
		return 0;
	}
	r = open_pipes(s, stdin_fd, err);
	if (r < 0)
		bawn_stdio_done(s);
	return r;
}

static void close_all(int fds[3])
{
	for (int i = 0; i < 3; i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
		fds[i] = -1;
	}
}

void bawn_stdio_close_child(struct bawn_stdio *s)
{
	close_all(s->child);
}

void bawn_stdio_done(struct bawn_stdio *s)
{
	close_all(s->child);
	close_all(s->parent);
	s->stdin_fd = -1;
}
