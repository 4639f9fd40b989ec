/* SPDX-License-Identifier: Apache-2.0 */
/* See process.h. The command leads a session of its own; what stays in it is killed at the end. */
#include "backend/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>

#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/sys.h"

static struct bawn_process *process_of(struct bawn_instance *in)
{
	return (struct bawn_process *)(void *)in;
}

int bawn_process_prepare(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
	struct bawn_error *err)
{
	struct bawn_process *p = process_of(in);

	p->plan = plan;
	p->pid = -1;
	p->pidfd = p->in.event_fd = p->in.pty_fd = -1;
	for (int i = 0; i < 3; i++)
		p->stdio[i] = -1;
	if (plan->pty || plan->n_loopback_ports)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"backend '%s' has no terminal and no relays of its own", in->be->name);
	for (int i = 0; i < 3; i++) {
		p->stdio[i] = stdio[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC)
					   : fcntl(stdio[i], F_DUPFD_CLOEXEC, 3);
		if (p->stdio[i] < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "cannot take descriptor %d: %m", i);
	}
	return 0;
}

int bawn_process_await(struct bawn_instance *in, struct bawn_error *err)
{
	(void)err;
	in->enforced = BAWN_CTL_ENV;
	return 0;
}

static void child(const struct bawn_process *p, int report) __attribute__((noreturn));
static void child(const struct bawn_process *p, int report)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;
	int e;

	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &dfl, NULL);
	(void)sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	(void)bawn_setsid();
	if (dup2(p->stdio[0], 0) >= 0 && dup2(p->stdio[1], 1) >= 0 && dup2(p->stdio[2], 2) >= 0 &&
		chdir(p->plan->cwd) == 0) {
		(void)close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
		bawn_exec(p->plan->exe, p->plan->argv, p->plan->envp);
	}
	e = errno;
	_exit(write(report, &e, sizeof(e)) == sizeof(e) ? 127 : 126);
}

int bawn_process_start(struct bawn_instance *in, struct bawn_error *err)
{
	struct bawn_process *p = process_of(in);
	_cleanup_close_ int rd = -1;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a pipe: %m");
	rd = fds[0];
	p->pid = fork();
	if (p->pid == 0)
		child(p, fds[1]);
	(void)close(fds[1]);
	if (p->pid < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot fork: %m");
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	p->in.event_fd = fcntl(p->pidfd, F_DUPFD_CLOEXEC, 3);
	if (p->in.event_fd < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot watch the command: %m");
	for (int i = 0; i < 3; i++) {
		(void)close(p->stdio[i]);
		p->stdio[i] = -1;
	}
	if (read(rd, &p->exec_errno, sizeof(p->exec_errno)) != sizeof(p->exec_errno))
		p->exec_errno = 0;
	return 0;
}

int bawn_process_event(struct bawn_instance *in, struct bawn_event *ret, struct bawn_error *err)
{
	struct bawn_process *p = process_of(in);
	siginfo_t si = {0};

	(void)err;
	*ret = (struct bawn_event){.kind = BAWN_EV_NONE};
	if (p->ended)
		return 0;
	if (p->told) {
		(void)kill(-p->pid, SIGKILL);
		(void)waitpid(p->pid, NULL, 0);
		p->ended = true;
		ret->kind = BAWN_EV_ENDED;
		return 0;
	}
	/* not reaped yet: the number stays ours until the session was killed */
	if (waitid(P_PID, (id_t)p->pid, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || si.si_pid == 0)
		return 0;
	p->told = true;
	ret->kind = p->exec_errno ? BAWN_EV_FAILED : BAWN_EV_EXITED;
	ret->status = p->exec_errno              ? p->exec_errno
		      : si.si_code == CLD_EXITED ? si.si_status << 8
						 : si.si_status;
	return 0;
}

int bawn_process_signal(struct bawn_instance *in, int signo, struct bawn_error *err)
{
	struct bawn_process *p = process_of(in);

	(void)err;
	if (p->pid > 0 && !p->ended)
		(void)kill(-p->pid, signo);
	return 0;
}

void bawn_process_destroy(struct bawn_instance *in)
{
	struct bawn_process *p = process_of(in);

	if (!p->plan)
		return;
	if (p->pid > 0 && !p->ended) {
		(void)kill(-p->pid, SIGKILL);
		(void)waitpid(p->pid, NULL, 0);
	}
	for (int i = 0; i < 3; i++)
		if (p->stdio[i] >= 0)
			(void)close(p->stdio[i]);
	if (p->pidfd >= 0)
		(void)close(p->pidfd);
	if (p->in.event_fd >= 0)
		(void)close(p->in.event_fd);
}
