/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals for the time of one run. They are blocked and read from a descriptor, so that no handler
 * of the embedding process is replaced; what was ignored stays ignored (nohup, background jobs).
 */
#include <errno.h>
#include <time.h>

#include <sys/signalfd.h>

#include "supervise/loop.h"

static void mask_add(struct loop *l, const sigset_t *set)
{
	struct signals *s = &l->signals;

	(void)pthread_sigmask(SIG_BLOCK, set, s->masked ? NULL : &s->before);
	s->masked = true;
}

/* Asked when one arrives: most runs see none. Blocked signals are queued even if ignored. */
static bool is_ignored(int signo)
{
	struct sigaction sa;

	return sigaction(signo, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

/* What means something to some commands and never an end by itself. */
static bool is_message(int signo)
{
	return signo == SIGUSR1 || signo == SIGUSR2;
}

int signals_open(struct loop *l, struct bawn_error *err)
{
	static const int stop[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	bool user = l->plan->pty && l->o->terminal_fd >= 0;
	sigset_t set;

	l->signals.fd = -1;
	if (!l->o->forward_signals && !user)
		return 0;
	(void)sigemptyset(&set);
	/* Also for a library that has put the terminal in raw mode: it must be put back. */
	for (size_t i = 0; i < sizeof(stop) / sizeof(stop[0]); i++)
		(void)sigaddset(&set, stop[i]);
	if (user)
		(void)sigaddset(&set, SIGWINCH);
	if (l->o->forward_signals) {
		(void)sigaddset(&set, SIGUSR1);
		(void)sigaddset(&set, SIGUSR2);
	}
	l->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->signals.fd < 0)
		return bawn_fail(err, BAWN_ERR_SUPERVISE, -errno, "cannot watch signals: %m");
	mask_add(l, &set);
	return 0;
}

int signals_step(struct loop *l, struct bawn_error *err)
{
	struct signalfd_siginfo si;

	while (read(l->signals.fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		int signo = (int)si.ssi_signo;
		int r = 0;

		if (signo == SIGWINCH)
			terminal_size(l);
		else if (is_ignored(signo))
			continue;
		else if (!is_message(signo))
			r = loop_stop(l, signo, err);
		else if (!l->gone && !l->ended) /* nobody to tell is fine */
			(void)l->in->be->signal(l->in, signo, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Before the first write that may meet a closed pipe. */
void signals_no_pipe(struct loop *l)
{
	sigset_t set;

	if (l->signals.no_pipe)
		return;
	l->signals.no_pipe = true;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGPIPE);
	mask_add(l, &set);
}

void signals_done(struct loop *l)
{
	struct signals *s = &l->signals;
	struct signalfd_siginfo si;
	struct timespec now = {0};
	sigset_t set;

	if (s->fd >= 0) {
		/* What came at the last moment must not hit the caller when it is unblocked. */
		while (read(s->fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
			if (si.ssi_signo != SIGWINCH && !is_message((int)si.ssi_signo) &&
				!is_ignored((int)si.ssi_signo) && !l->ret->got_signal)
				l->ret->got_signal = (int)si.ssi_signo;
		(void)close(s->fd);
		s->fd = -1;
	}
	if (!s->masked)
		return;
	/* Take back a SIGPIPE of ours, unless the caller had it blocked anyway. */
	if (s->piped && !sigismember(&s->before, SIGPIPE)) {
		(void)sigemptyset(&set);
		(void)sigaddset(&set, SIGPIPE);
		(void)sigtimedwait(&set, NULL, &now);
	}
	(void)pthread_sigmask(SIG_SETMASK, &s->before, NULL);
	s->masked = false;
}
