/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On the host: run an engine whose helpers outlive it, and end when the last of them has. Podman
 * leaves a monitor behind, which would otherwise come to whoever reaps orphans here: a caller who
 * knows nothing of it. One that an ordinary user starts also leaves a process that holds its user
 * namespace for as long as the user is there: that one is not waited for.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "backend/inside/mode.h"

enum {
	LINGER_MS = 1000,
	STEP_MS = 5
};

/* Wait for `child`, and for a while for what it left behind; its status. */
static int wait_for(pid_t child)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	int status = 0, got, left = LINGER_MS / STEP_MS;
	bool ended = false;
	pid_t pid;

	while ((pid = waitpid(-1, &got, ended ? WNOHANG : 0)) >= 0 || errno == EINTR) {
		if (pid == child) {
			status = got;
			ended = true;
		} else if (pid == 0) {
			if (left-- == 0)
				break;
			(void)nanosleep(&step, NULL);
		}
	}
	return status;
}

int bawn_inside_reap(char *const *argv)
{
	pid_t self = getpid(), child;
	int status;

	if (!argv[0] || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return 2;
	child = fork();
	if (child == 0) {
		/* who ends us ends it */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == self)
			(void)execv(argv[0], argv);
		_exit(127);
	}
	status = wait_for(child);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return child < 0 ? 1 : WEXITSTATUS(status);
}
