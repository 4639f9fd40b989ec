/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On the host: run an engine whose helpers outlive it, and end when the last of them has. Podman
 * leaves a monitor behind, which would otherwise come to whoever reaps orphans here: a caller who
 * knows nothing of it.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "backend/inside/mode.h"

int bawn_inside_reap(char *const *argv)
{
	pid_t self = getpid(), pid, child;
	int status = 0, got;

	if (!argv[0] || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return 2;
	child = fork();
	if (child == 0) {
		/* who ends us ends it */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == self)
			(void)execv(argv[0], argv);
		_exit(127);
	}
	while ((pid = waitpid(-1, &got, 0)) > 0 || errno == EINTR)
		if (pid == child)
			status = got;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return child < 0 ? 1 : WEXITSTATUS(status);
}
