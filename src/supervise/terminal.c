/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own terminal while the command has one of its own: raw, so that every key goes
 * through, and of the same size. Put back on every way out.
 */
#include <fcntl.h>

#include <sys/ioctl.h>

#include "supervise/loop.h"

/* False if `fd` is our controlling terminal and another job is in front. */
bool terminal_foreground(int fd)
{
	pid_t front = tcgetpgrp(fd);

	return front < 0 || front == getpgrp();
}

void terminal_size(struct loop *l)
{
	struct winsize ws;

	if (l->terminal.fd >= 0 && l->in->pty_fd >= 0 &&
		ioctl(l->terminal.fd, TIOCGWINSZ, &ws) == 0)
		(void)ioctl(l->in->pty_fd, TIOCSWINSZ, &ws);
}

void terminal_enter(struct loop *l)
{
	struct terminal *t = &l->terminal;
	struct termios raw;
	int flags;

	t->fd = -1;
	if (!l->plan->pty || l->in->pty_fd < 0)
		return;
	/* The master is the instance's alone, so this changes nobody else. */
	flags = fcntl(l->in->pty_fd, F_GETFL);
	if (flags >= 0)
		(void)fcntl(l->in->pty_fd, F_SETFL, flags | O_NONBLOCK);
	if (l->o->terminal_fd < 0)
		return;
	t->fd = l->o->terminal_fd;
	terminal_size(l);
	if (!terminal_foreground(t->fd) || tcgetattr(t->fd, &t->before) < 0)
		return;
	raw = t->before;
	cfmakeraw(&raw);
	t->raw = tcsetattr(t->fd, TCSANOW, &raw) == 0;
}

void terminal_leave(struct loop *l)
{
	struct terminal *t = &l->terminal;
	sigset_t set, before;

	if (!t->raw)
		return;
	/* We may have been sent to the background meanwhile. */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTTOU);
	(void)pthread_sigmask(SIG_BLOCK, &set, &before);
	(void)tcsetattr(t->fd, TCSANOW, &t->before);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	t->raw = false;
}
