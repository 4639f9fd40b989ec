/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The near side of the inspector: starts the child, hands subjects over, waits no longer than its
 * patience, and checks what comes back. What cannot be answered, for whatever reason, becomes the
 * finding "scan.budget"; only the next subject gets a new child.
 */
#include "inspect/inspector.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include <sys/socket.h>
#include <sys/wait.h>

#include "base/io.h"
#include "inspect/inspector_child.h"
#include "inspect/scan.h"
#include "inspect/wire.h"

#define PATIENCE_MS  10000  /* for a subject without length */
#define PER_MS       1024   /* bytes for which a millisecond more is waited */
#define PATIENCE_MAX 60000  /* for a subject of any length */
#define AGE_MAX_MS   120000 /* below the child's CPU limit, together with PATIENCE_MAX */
#define READ_SIZE    65536u
#define SUBJECT_MAX  ((size_t)64 << 20)

struct bawn_inspector {
	const struct bawn_policy *policy;
	pid_t pid;
	int fd;
	struct bawn_buf out; /* what the child has not taken yet starts at `sent` */
	size_t sent;
	struct bawn_buf in;
	size_t unanswered;
	bool refused; /* the subject is too large to be handed over */
	bool streaming;
	bool dismissed; /* it was killed; somebody else may have reaped it */
	int64_t patience, due, born;
	size_t start, end; /* what is being looked at, for the finding when it fails */
};

/* Its wait status, 0 if there was no child. */
static int stop(struct bawn_inspector *i)
{
	int status = 0;

	if (i->pid > 0) {
		if (!i->dismissed)
			(void)kill(i->pid, SIGKILL);
		while (waitpid(i->pid, &status, __WALL) < 0 && errno == EINTR)
			;
	}
	if (i->fd >= 0)
		(void)close(i->fd);
	i->pid = -1;
	i->fd = -1;
	i->unanswered = 0;
	i->streaming = i->dismissed = false;
	i->due = -1;
	i->out.len = i->sent = i->in.len = 0;
	i->out.failed = i->in.failed = 0;
	return status;
}

static int start(struct bawn_inspector *i, struct bawn_error *err)
{
	pid_t self = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_INSPECT, -errno, "starting the inspector: %m");
	i->pid = fork();
	if (i->pid == 0)
		inspector_child(i->policy, pair[1], self);
	(void)close(pair[1]);
	i->fd = pair[0];
	if (i->pid < 0) {
		int e = errno;

		(void)stop(i);
		errno = e;
		return bawn_fail(err, BAWN_ERR_INSPECT, -e, "starting the inspector: %m");
	}
	i->born = bawn_now_ms();
	return 0;
}

int bawn_inspector_new(
	const struct bawn_policy *p, struct bawn_inspector **ret, struct bawn_error *err)
{
	struct bawn_inspector *i = calloc(1, sizeof(*i));
	int r;

	if (!i)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	i->policy = p;
	i->pid = i->fd = -1;
	i->due = -1;
	i->patience = PATIENCE_MS;
	i->out.max = WIRE_REQUEST_MAX;
	i->in.max = WIRE_ANSWER_MAX + READ_SIZE;
	r = start(i, err);
	if (r < 0) {
		(void)bawn_inspector_free(i);
		return r;
	}
	*ret = i;
	return 0;
}

struct bawn_inspector *bawn_inspector_free(struct bawn_inspector *i)
{
	if (!i)
		return NULL;
	(void)stop(i);
	bawn_buf_done(&i->out);
	bawn_buf_done(&i->in);
	free(i);
	return NULL;
}

void bawn_inspector_dismiss(struct bawn_inspector *i)
{
	if (i->pid <= 0 || i->dismissed)
		return;
	(void)kill(i->pid, SIGKILL);
	i->dismissed = true;
}

/* A child that can take the next subject. */
static int ready(struct bawn_inspector *i, struct bawn_error *err)
{
	if (i->dismissed)
		(void)stop(i);
	if (i->pid > 0 && !i->unanswered && bawn_now_ms() - i->born > AGE_MAX_MS)
		(void)stop(i);
	return i->pid > 0 ? 0 : start(i, err);
}

/* Write what goes without waiting. */
static int push(struct bawn_inspector *i)
{
	while (i->sent < i->out.len) {
		ssize_t n = send(i->fd, i->out.data + i->sent, i->out.len - i->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		i->sent += (size_t)n;
	}
	i->out.len = i->sent = 0;
	return 0;
}

/* Read what is there. -EIO when the child is gone. */
static int pull(struct bawn_inspector *i)
{
	char chunk[READ_SIZE / 8];

	for (;;) {
		ssize_t n = recv(i->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -EIO;
		bawn_buf_add(&i->in, chunk, (size_t)n);
		if (i->in.failed)
			return -EBADMSG;
		if ((size_t)n < sizeof(chunk))
			return 0;
	}
}

static bool whole(const struct bawn_inspector *i, struct wire_head *h)
{
	if (i->in.len < sizeof(*h))
		return false;
	memcpy(h, i->in.data, sizeof(*h));
	return h->type != WIRE_ANSWER || h->len > WIRE_ANSWER_MAX ||
	       i->in.len - sizeof(*h) >= h->len;
}

/* One answer, if a whole one is there: 1. The bytes of `w` hold until the next call. */
static int answer(struct bawn_inspector *i, struct bawn_arena *a, struct wire_answer *w)
{
	struct wire_head h;
	int r;

	if (!whole(i, &h))
		return 0;
	if (h.type != WIRE_ANSWER || h.len > WIRE_ANSWER_MAX || !i->unanswered)
		return -EBADMSG;
	r = wire_get_answer(a, i->in.data + sizeof(h), (size_t)h.len, w);
	if (r < 0)
		return r;
	i->unanswered--;
	return 1;
}

static void forget_answer(struct bawn_inspector *i)
{
	struct wire_head h;
	size_t n;

	memcpy(&h, i->in.data, sizeof(h));
	n = sizeof(h) + (size_t)h.len;
	memmove(i->in.data, i->in.data + n, i->in.len - n);
	i->in.len -= n;
}

/* Wait until something can be read, written or is too late. */
static int wait_for_child(struct bawn_inspector *i)
{
	struct pollfd p = {.fd = i->fd, .events = POLLIN};
	int64_t left = i->due - bawn_now_ms();

	if (i->sent < i->out.len)
		p.events |= POLLOUT;
	if (left <= 0)
		return -ETIMEDOUT;
	if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

static int lost(struct bawn_inspector *i, struct bawn_arena *a, int why, struct bawn_findings *out,
	struct bawn_error *err)
{
	int status = stop(i);
	int r;

	if (WIFEXITED(status) && WEXITSTATUS(status) == INSPECTOR_UNCONFINED)
		return bawn_fail(err, BAWN_ERR_INSPECT, -EPERM,
			"the inspector could not give up its rights; does this host have seccomp?");
	r = bawn_scan_report_budget(
		a, out, i->start, i->end, why == -ETIMEDOUT ? BAWN_BUDGET_TIME : BAWN_BUDGET_DIED);
	return r < 0 ? bawn_fail(err, BAWN_ERR_INSPECT, r, "out of memory") : 0;
}

static void expect(struct bawn_inspector *i, size_t len)
{
	int64_t ms = i->patience + (int64_t)(len / PER_MS);

	i->unanswered++;
	i->due = bawn_now_ms() + (ms < PATIENCE_MAX ? ms : PATIENCE_MAX);
}

int bawn_inspector_submit(
	struct bawn_inspector *i, const struct bawn_subject *sub, struct bawn_error *err)
{
	int r;

	if (i->unanswered || i->refused)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -EBUSY,
			"the inspector has a subject that was not collected");
	i->start = sub->base;
	i->end = sub->base + sub->len;
	if (sub->len > SUBJECT_MAX) {
		i->refused = true;
		return 0;
	}
	r = ready(i, err);
	if (r < 0)
		return r;
	wire_put_subject(&i->out, sub);
	if (i->out.failed) {
		(void)stop(i);
		i->refused = true;
		return 0;
	}
	expect(i, sub->len);
	/* a child that died is noticed when the answer is collected */
	(void)push(i);
	return 0;
}

/* Wait for one answer. 1 with it, or a negative errno. */
static int await(struct bawn_inspector *i, struct bawn_arena *a, struct wire_answer *w)
{
	int r;

	for (;;) {
		r = answer(i, a, w);
		if (r)
			return r;
		r = wait_for_child(i);
		if (!r)
			r = push(i);
		/* an answer may be there although the child is gone */
		if (!r || r == -EPIPE)
			r = pull(i);
		if (r < 0 && answer(i, a, w) == 1)
			return 1;
		if (r < 0)
			return r;
	}
}

static int append(struct bawn_arena *a, struct bawn_findings *out, const struct bawn_findings *more)
{
	for (size_t k = 0; k < more->n; k++) {
		struct bawn_finding *f = bawn_grow(a, &out->v, &out->n, &out->cap);

		if (!f)
			return -ENOMEM;
		*f = more->v[k];
	}
	return 0;
}

int bawn_inspector_collect(struct bawn_inspector *i, struct bawn_arena *a,
	struct bawn_findings *out, struct bawn_error *err)
{
	struct wire_answer w;
	int r;

	if (i->refused) {
		i->refused = false;
		r = bawn_scan_report_budget(a, out, i->start, i->end, BAWN_BUDGET_WORK);
		return r < 0 ? bawn_fail(err, BAWN_ERR_INSPECT, r, "out of memory") : 0;
	}
	if (!i->unanswered)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -EINVAL, "nothing was submitted");
	r = await(i, a, &w);
	if (r < 0)
		return lost(i, a, r, out, err);
	forget_answer(i);
	/* no memory in a child whose memory is bounded: the subject is too much for it */
	if (w.status == -ENOMEM)
		return lost(i, a, -ENOMEM, out, err);
	if (append(a, out, &w.found) < 0)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	if (w.status < 0 && err)
		*err = w.error;
	return w.status;
}

int bawn_inspector_stream(
	struct bawn_inspector *i, const struct bawn_stream_options *o, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct wire_answer w = {0};
	int r;

	if (!a)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	if (i->unanswered)
		(void)stop(i);
	r = ready(i, err);
	if (r < 0)
		return r;
	i->out.wipe = i->out.wipe || o->secrets;
	wire_put_stream(&i->out, o);
	expect(i, 0);
	i->start = i->end = o->like.base;
	r = i->out.failed ? i->out.failed : push(i);
	if (!r)
		r = await(i, a, &w);
	if (i->out.wipe && i->out.data)
		explicit_bzero(i->out.data, i->out.cap); /* the child has the values now */
	if (r < 0) {
		(void)stop(i);
		return bawn_fail(err, BAWN_ERR_INSPECT, r, "the inspector did not start a stream");
	}
	forget_answer(i);
	if (w.status < 0) {
		if (err)
			*err = w.error;
		return w.status;
	}
	i->streaming = true;
	return 0;
}

int bawn_inspector_send(
	struct bawn_inspector *i, const struct bawn_stream_chunk *c, struct bawn_error *err)
{
	if (!i->streaming)
		return bawn_fail(err, BAWN_ERR_INSPECT, -EIO, "the stream is over");
	if (c->n > BAWN_STREAM_CHUNK)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -E2BIG, "too much for one chunk");
	if (!i->unanswered)
		i->start = i->end;
	i->end += c->n;
	wire_put_data(
		&i->out, c->bytes, c->n, (c->flush ? WIRE_FLUSH : 0) | (c->last ? WIRE_LAST : 0));
	if (i->out.failed)
		return bawn_fail(
			err, BAWN_ERR_INSPECT, i->out.failed, "too much waits to be looked at");
	expect(i, i->out.len);
	(void)push(i);
	return 0;
}

/* Take one answer that is whole. Its status. */
static int take_answer(struct bawn_inspector *i, const struct wire_answer *w, struct bawn_arena *a,
	struct bawn_buf *out, struct bawn_findings *found, struct bawn_error *err)
{
	int r = append(a, found, &w->found);

	if (r >= 0 && out)
		bawn_buf_add(out, w->bytes, w->n_bytes);
	forget_answer(i);
	if (r < 0 || (out && out->failed))
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	if (w->status < 0 && err)
		*err = w->error;
	if (w->status < 0)
		i->streaming = false;
	return w->status;
}

static int stream_lost(struct bawn_inspector *i, int why, struct bawn_arena *a,
	struct bawn_findings *found, struct bawn_error *err)
{
	int r = lost(i, a, why, found, err);

	if (r < 0)
		return r;
	return bawn_fail(err, BAWN_ERR_INSPECT, -EIO,
		why == -ETIMEDOUT ? "looking at the stream took too long"
				  : "the inspector ended while it looked at the stream");
}

int bawn_inspector_receive(struct bawn_inspector *i, struct bawn_arena *a, struct bawn_buf *out,
	struct bawn_findings *found, struct bawn_error *err)
{
	struct wire_answer w;
	int n = 0;
	int gone, r;

	if (!i->streaming)
		return bawn_fail(err, BAWN_ERR_INSPECT, -EIO, "the stream is over");
	gone = push(i);
	r = pull(i);
	gone = r < 0 ? r : gone;
	while ((r = answer(i, a, &w)) == 1) {
		r = take_answer(i, &w, a, out, found, err);
		if (r < 0)
			return r;
		n++;
	}
	if (r < 0 || gone < 0)
		return stream_lost(i, r < 0 ? r : gone, a, found, err);
	if (i->unanswered && bawn_now_ms() >= i->due)
		return stream_lost(i, -ETIMEDOUT, a, found, err);
	return n;
}

int bawn_inspector_filter(struct bawn_inspector *i, const struct bawn_stream_chunk *c,
	struct bawn_arena *a, struct bawn_buf *out, struct bawn_findings *found,
	struct bawn_error *err)
{
	int r = bawn_inspector_send(i, c, err);

	while (r >= 0 && i->unanswered) {
		struct wire_answer w;

		r = await(i, a, &w);
		if (r < 0)
			return stream_lost(i, r, a, found, err);
		r = take_answer(i, &w, a, out, found, err);
	}
	return r < 0 ? r : 0;
}

int bawn_inspector_fd(const struct bawn_inspector *i)
{
	return i->fd;
}

bool bawn_inspector_pending(const struct bawn_inspector *i)
{
	return i->sent < i->out.len;
}

size_t bawn_inspector_unanswered(const struct bawn_inspector *i)
{
	return i->unanswered;
}

int64_t bawn_inspector_deadline(const struct bawn_inspector *i)
{
	return i->unanswered ? i->due : -1;
}

pid_t bawn_inspector_pid(const struct bawn_inspector *i)
{
	return i->pid;
}

void bawn_inspector_set_patience(struct bawn_inspector *i, int64_t ms)
{
	i->patience = ms;
}

int bawn_inspector_submit_call(
	struct bawn_inspector *i, const struct bawn_call *c, struct bawn_error *err)
{
	struct bawn_subject sub = bawn_call_subject(c);

	return bawn_inspector_submit(i, &sub, err);
}

int bawn_inspect_call(struct bawn_arena *a, const struct bawn_policy *p, const struct bawn_call *c,
	struct bawn_findings *out, struct bawn_error *err)
{
	_cleanup_inspector_ struct bawn_inspector *i = NULL;
	int r = bawn_inspector_new(p, &i, err);

	if (r < 0 || !i)
		return r;
	r = bawn_inspector_submit_call(i, c, err);
	return r < 0 ? r : bawn_inspector_collect(i, a, out, err);
}
