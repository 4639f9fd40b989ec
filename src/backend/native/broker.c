/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: receive a suspended call, find its row, act, answer. A call without a row cannot come
 * (the filter and the table are checked against each other by a test); it would be refused.
 */

#include "backend/native/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "backend/native/broker_impl.h"
#include "base/cleanup.h"

#define LOOK_US 100000 /* how often a child looks whether the caller still waits */

/* Linux 6.6; older ones say EINVAL, which is fine. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define SYNC_WAKE_UP 1ULL

enum bawn_broker_mode bawn_broker_mode(const struct bawn_plan *plan)
{
	if (plan->tier == BAWN_TIER_LANDLOCK && plan->n_deny > 0)
		return BAWN_BROKER_ALL;
	if (plan->tier == BAWN_TIER_LANDLOCK && plan->n_protect > 0)
		return BAWN_BROKER_WRITE;
	/* Everywhere else there are always Unix sockets, and connect() is the broker's to decide.
	 */
	return plan->tier != BAWN_TIER_LANDLOCK || plan->n_guards > 0 ? BAWN_BROKER_CREATE
								      : BAWN_BROKER_OFF;
}

int bawn_broker_new(const struct bawn_plan *plan, int listener, bawn_broker_report_fn *report,
	void *data, struct bawn_broker **ret, struct bawn_error *err)
{
	struct bawn_broker *b = calloc(1, sizeof(*b));
	uint64_t flags = SYNC_WAKE_UP;

	if (!b) {
		(void)close(listener);
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	}
	*b = (struct bawn_broker){
		.plan = plan,
		.mode = bawn_broker_mode(plan),
		.listener = listener,
		.self = getpid(),
		.report = report,
		.data = data,
	};
	if (bawn_guard_init(b) < 0) {
		(void)bawn_broker_free(b);
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	}
	b->umask = umask(077);
	(void)umask(b->umask);
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
	*ret = b;
	return 0;
}

struct bawn_broker *bawn_broker_free(struct bawn_broker *b)
{
	if (!b)
		return NULL;
	bawn_guard_done(b);
	free(b->own);
	(void)close(b->listener);
	free(b);
	return NULL;
}

int bawn_broker_fd(const struct bawn_broker *b)
{
	return b->listener;
}

bool bawn_susp_alive(const struct bawn_susp *s)
{
	return ioctl(s->b->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &s->id) == 0;
}

/* A caller that is gone needs no answer: errors are of no interest. */
void bawn_susp_answer(const struct bawn_susp *s, long result)
{
	struct seccomp_notif_resp resp = {.id = s->id};

	if (result == BAWN_CONTINUE)
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (result < 0)
		resp.error = (int)result;
	else
		resp.val = result;
	(void)ioctl(s->b->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/*
 * In two steps, with ours closed between them: a caller that goes on while we still have the file
 * open for writing could not execute it (ETXTBSY), nor see the end of a pipe. One step saves two
 * changes of the processor's task, where that cannot happen.
 */
void bawn_susp_answer_fd(const struct bawn_susp *s, int fd, bool cloexec, bool late)
{
	struct seccomp_notif_addfd add = {
		.id = s->id,
		.flags = late ? SECCOMP_ADDFD_FLAG_SEND : 0,
		.srcfd = (uint32_t)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};
	int r = ioctl(s->b->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	if (r < 0)
		r = -errno;
	(void)close(fd);
	if (!late || r < 0)
		bawn_susp_answer(s, r);
}

static void on_alarm(int sig)
{
	(void)sig;
}

int bawn_tick_on(suseconds_t us, sigset_t *ret_old)
{
	struct sigaction sa = {.sa_handler = on_alarm};
	struct itimerval every = {{0, us}, {0, us}};
	sigset_t alarm;

	(void)sigemptyset(&sa.sa_mask);
	(void)sigemptyset(&alarm);
	(void)sigaddset(&alarm, SIGALRM);
	if (sigaction(SIGALRM, &sa, NULL) < 0 || setitimer(ITIMER_REAL, &every, NULL) < 0)
		return -errno;
	(void)pthread_sigmask(SIG_UNBLOCK, &alarm, ret_old);
	return 0;
}

void bawn_tick_off(const sigset_t *old)
{
	(void)setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	if (old)
		(void)pthread_sigmask(SIG_SETMASK, old, NULL);
}

void bawn_child_begin(bool tick)
{
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	if (tick)
		(void)bawn_tick_on(LOOK_US, NULL);
}

static void serve_one(struct bawn_broker *b, const struct seccomp_notif *req)
{
	struct bawn_lazy lazy = {.proc = -1, .mem = -1};
	struct bawn_susp s = {.b = b,
		.id = req->id,
		.tid = (pid_t)req->pid,
		.args = (const uint64_t *)req->data.args,
		.lazy = &lazy};
	const struct bawn_op *op = NULL;
	long r;

	for (size_t i = 0; i < bawn_broker_n_ops && !op; i++) {
		if (bawn_broker_ops[i].nr == req->data.nr)
			op = &bawn_broker_ops[i];
	}
	r = op ? op->act(&s, op) : -EPERM;
	if (r != BAWN_ANSWERED)
		bawn_susp_answer(&s, r);
	if (lazy.mem >= 0)
		(void)close(lazy.mem);
	if (lazy.proc >= 0)
		(void)close(lazy.proc);
}

int bawn_broker_serve(struct bawn_broker *b)
{
	struct pollfd p = {.fd = b->listener, .events = POLLIN};
	struct seccomp_notif req = {0};

	if (poll(&p, 1, 0) <= 0)
		return 0;
	if (!(p.revents & POLLIN))
		return p.revents & POLLHUP ? -ENOENT : 0;
	if (ioctl(b->listener, SECCOMP_IOCTL_NOTIF_RECV, &req) == 0)
		serve_one(b, &req);
	return 0;
}
