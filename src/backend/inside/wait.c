/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a box. It holds the container's namespaces, reaps what runs leave behind and
 * ends when the engine says so; runs come in beside it and are stages of their own.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include <sys/wait.h>

#include "backend/inside/mode.h"

int bawn_inside_wait(char *const *argv)
{
	sigset_t set;
	int sig;

	(void)argv;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
		return 1;
	do {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		sig = sigwaitinfo(&set, NULL);
	} while (sig == SIGCHLD || (sig < 0 && errno == EINTR));
	return 0;
}
