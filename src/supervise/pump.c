/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves bytes between the command and the caller in constant memory. The caller's descriptors may
 * be shared with others, so O_NONBLOCK is never set on them: each kind has its own way of being
 * written to without waiting. What cannot be written yet stays in the stream's one buffer and
 * nothing more is read from the command until it is gone: that is how a slow reader slows the
 * command down.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "backend/native/hole.h"
#include "supervise/loop.h"

#define PTY_REST ((size_t)1 << 20) /* FIONREAD does not say what a terminal still holds */

void stream_open(struct loop *l, unsigned index)
{
	struct stream *st = &l->streams[index];

	*st = (struct stream){.index = index,
		.from = -1,
		.to = -1,
		.own = -1,
		.budget = SIZE_MAX,
		.flush_at = NEVER};
	st->filtered.max = SIZE_MAX / 2;
	st->count = index ? &l->ret->err_bytes : &l->ret->out_bytes;
	if (l->plan->pty && index)
		return;
	st->pty = l->plan->pty;
	st->from = st->pty ? l->in->pty_fd : l->stdio->parent[index + 1];
	st->to = index ? l->o->err_fd : l->o->out_fd;
	st->kind = st->to >= 0 ? OUTLET_UNKNOWN : OUTLET_NONE;
	st->keep = index ? l->o->err : l->o->out;
}

/* No more is read. Closing the pipe makes the command's next write fail. */
void stream_close(struct loop *l, struct stream *st)
{
	if (st->from >= 0 && !st->pty) {
		(void)close(st->from);
		l->stdio->parent[st->index + 1] = -1;
	}
	st->from = -1;
}

void stream_drop(struct loop *l, struct stream *st)
{
	st->len = 0;
	st->fed = false;
	st->flush_at = NEVER;
	st->to = -1;
	st->kind = OUTLET_NONE;
	l->ret->sink_closed = true;
	if (!st->pty)
		stream_close(l, st);
}

void stream_done(struct stream *st)
{
	if (st->own >= 0)
		(void)close(st->own);
	free(st->buf);
	bawn_buf_done(&st->filtered);
}

void stream_last(struct loop *l, struct stream *st)
{
	int n = 0;

	if (st->from < 0)
		return;
	/* Empty and nobody can write any more: no need to ask. */
	if (!st->pty && l->p[SLOT_FROM + st->index].revents == POLLHUP) {
		stream_close(l, st);
		return;
	}
	/* Whoever else holds the pipe open may go on writing: only what is there now counts. */
	if (!st->pty && (ioctl(st->from, FIONREAD, &n) < 0 || n <= 0))
		stream_close(l, st);
	else
		st->budget = st->pty ? PTY_REST : (size_t)n;
}

void stream_arm(struct loop *l, struct stream *st, int64_t *wake)
{
	bool waiting = st->retry_at > l->now;
	bool read = st->from >= 0 && !st->len && !waiting;

	loop_want(l, SLOT_FROM + st->index, st->from, read ? POLLIN : 0);
	loop_want(l, SLOT_TO + st->index, st->own >= 0 ? st->own : st->to, st->len ? POLLOUT : 0);
	if (waiting && st->from >= 0)
		loop_sooner(wake, st->retry_at);
	if (!st->len)
		loop_sooner(wake, st->from < 0 && st->fed ? l->now : st->flush_at);
	if (read && l->ended)
		*wake = l->now;
}

/* A terminal's description is shared with the shell and others: get one of our own. The master of a
 * terminal cannot be had this way (opening it makes a new one). */
static int reopen_terminal(int fd, const struct stat *st)
{
	char path[32];

	if (major(st->st_rdev) == 5 && minor(st->st_rdev) == 2)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static enum outlet_kind outlet_look(struct stream *st)
{
	struct stat sb;

	if (fstat(st->to, &sb) < 0)
		return OUTLET_FILE;
	if (S_ISFIFO(sb.st_mode))
		return OUTLET_PIPE;
	if (S_ISSOCK(sb.st_mode))
		return OUTLET_SOCKET;
	if (!S_ISCHR(sb.st_mode) || !isatty(st->to))
		return OUTLET_FILE;
	st->own = reopen_terminal(st->to, &sb);
	return st->own >= 0 ? OUTLET_OWN : OUTLET_PIECES;
}

/* As write(2): -1 with EAGAIN when it would have to wait. */
static ssize_t outlet_write(struct stream *st, bool writable)
{
	const char *at = st->out + st->off;
	struct iovec iov = {.iov_len = st->len};
	ssize_t n;

	memcpy(&iov.iov_base, &at, sizeof(at)); /* only read, though its type does not say so */

	if (st->kind == OUTLET_PIPE) {
		n = pwritev2(st->to, &iov, 1, -1, RWF_NOWAIT);
		if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
			return n;
		st->kind = OUTLET_PIECES;
	}
	if (st->kind == OUTLET_SOCKET)
		return send(st->to, at, st->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (st->kind == OUTLET_OWN)
		return write(st->own, at, st->len);
	if (st->kind == OUTLET_FILE)
		return write(st->to, at, st->len);
	if (writable)
		return write(st->to, at, st->len < PIPE_BUF ? st->len : PIPE_BUF);
	errno = EAGAIN;
	return -1;
}

static int stream_push(struct loop *l, struct stream *st, bool writable, struct bawn_error *err)
{
	if (st->kind == OUTLET_UNKNOWN)
		st->kind = outlet_look(st);
	signals_no_pipe(l);
	while (st->len) {
		ssize_t n = outlet_write(st, writable);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0) {
			l->signals.piped |= errno == EPIPE;
			/* a reader that went away wanted no more, and a terminal that did cannot be
			 * told */
			if (errno != EPIPE && errno != EIO && !l->ret->sink_errno)
				l->ret->sink_errno = errno;
			stream_drop(l, st);
			/* A pipe tells the command by itself. */
			return st->pty ? loop_stop(l, SIGHUP, err) : 0;
		}
		st->off += (size_t)n;
		st->len -= (size_t)n;
		writable = false;
	}
	return 0;
}

/* How many of `n` more bytes the limits let through. */
static size_t output_room(const struct loop *l, const struct stream *st, size_t n)
{
	uint64_t total = l->ret->out_bytes + l->ret->err_bytes;
	uint64_t cap = HOLE("output") ? BAWN_UNLIMITED : l->plan->limits.output;
	size_t room = n;

	if (total >= cap)
		room = 0;
	else if (cap - total < room)
		room = (size_t)(cap - total);
	if (st->keep) {
		size_t max = st->keep->max ? st->keep->max : BAWN_BUF_MAX;
		size_t left = max > st->keep->len ? max - st->keep->len : 0;

		room = left < room ? left : room;
	}
	return room;
}

static void remember(struct bawn_outcome *o, const char *bytes, size_t n)
{
	size_t take = n < BAWN_WORDS_MAX ? n : BAWN_WORDS_MAX;
	size_t stay = BAWN_WORDS_MAX - take;

	stay = o->n_last_words < stay ? o->n_last_words : stay;
	memmove(o->last_words, o->last_words + o->n_last_words - stay, stay);
	memcpy(o->last_words + stay, bytes + n - take, take);
	o->n_last_words = stay + take;
}

/* What may be seen: keep, show and queue it. */
static int stream_pass(
	struct loop *l, struct stream *st, const char *bytes, size_t n, struct bawn_error *err)
{
	st->out = bytes;
	st->off = 0;
	st->len = st->to >= 0 ? n : 0;
	if (n && (st->index || st->pty))
		remember(l->ret, bytes, n);
	if (st->keep && n)
		bawn_buf_add(st->keep, bytes, n);
	if (st->keep && st->keep->failed)
		return bawn_fail(err, BAWN_ERR_SUPERVISE, st->keep->failed,
			"cannot keep the command's output: out of memory");
	if (n && l->o->sink && l->o->sink(l->o->sink_data, (int)st->index + 1, bytes, n) < 0) {
		stream_drop(l, st);
		l->cut = true;
		return loop_kill(l, err);
	}
	return 0;
}

/* Through the filter, if there is one. What it refuses is withheld, and so is the rest. */
static int stream_filter(
	struct loop *l, struct stream *st, size_t n, bool last, struct bawn_error *err)
{
	const struct bawn_filter *f = l->o->filter;
	int r;

	if (!f)
		return stream_pass(l, st, st->buf, n, err);
	st->filtered.len = 0;
	r = f->feed(f->data, (int)st->index + 1, st->buf, n, last, &st->filtered, err);
	if (r >= 0)
		r = st->filtered.failed;
	if (r < 0)
		return r;
	st->fed = !last;
	st->flush_at = n && !last ? l->now + FILTER_IDLE_MS : NEVER;
	return stream_pass(l, st, st->filtered.data, st->filtered.len, err);
}

/* `n` fresh bytes are in the buffer. What is over the limit is not passed on. */
static int stream_take(struct loop *l, struct stream *st, size_t n, struct bawn_error *err)
{
	size_t room = output_room(l, st, n);
	int r;

	*st->count += room;
	r = stream_filter(l, st, room, false, err);
	if (r >= 0 && room < n) {
		r = loop_limit(l, BAWN_CTL_LIMIT_OUTPUT, err);
		stream_close(l, &l->streams[0]);
		stream_close(l, &l->streams[1]);
	}
	return r;
}

static int stream_pull(struct loop *l, struct stream *st, struct bawn_error *err)
{
	size_t want = st->budget < PUMP_SIZE ? st->budget : PUMP_SIZE;
	ssize_t n;

	if (!st->buf)
		st->buf = malloc(PUMP_SIZE);
	if (!st->buf)
		return bawn_fail(err, BAWN_ERR_SUPERVISE, -ENOMEM, "out of memory");
	n = read(st->from, st->buf, want);
	if (n < 0 && (errno == EINTR || (errno == EAGAIN && !l->ended)))
		return 0;
	/* A terminal that nobody inside has open right now may be opened again. */
	if (n < 0 && errno == EIO && st->pty && !l->ended) {
		st->retry_at = l->now + PAUSE_MS;
		return 0;
	}
	if (n < 0 && errno != EIO && errno != EAGAIN)
		return bawn_fail(
			err, BAWN_ERR_SUPERVISE, -errno, "cannot read the command's output: %m");
	if (n <= 0) {
		stream_close(l, st);
		return 0;
	}
	st->budget -= st->budget == SIZE_MAX ? 0 : (size_t)n;
	if (!st->budget)
		stream_close(l, st);
	return stream_take(l, st, (size_t)n, err);
}

int stream_step(struct loop *l, struct stream *st, struct bawn_error *err)
{
	short from = l->p[SLOT_FROM + st->index].revents;
	bool writable = l->p[SLOT_TO + st->index].revents != 0;
	int r = 0;

	if (st->len && (writable || st->kind == OUTLET_PIPE))
		r = stream_push(l, st, writable, err);
	if (r >= 0 && !st->len && st->fed && (st->from < 0 || l->now >= st->flush_at)) {
		r = stream_filter(l, st, 0, st->from < 0, err);
		if (r >= 0 && st->len)
			r = stream_push(l, st, false, err);
	}
	if (r < 0 || st->len || st->from < 0 || st->retry_at > l->now)
		return r;
	if (from == POLLHUP && !st->pty) {
		stream_close(l, st); /* empty and nobody can write: no need to ask read(2) */
		return 0;
	}
	if (!from && !l->ended)
		return 0;
	r = stream_pull(l, st, err);
	if (r >= 0 && st->len)
		r = stream_push(l, st, false, err);
	return r;
}

void input_open(struct loop *l)
{
	struct input *in = &l->input;

	in->pty = l->plan->pty;
	in->from = l->stdio->stdin_fd;
	in->to = in->pty ? l->in->pty_fd : l->stdio->parent[0];
	if (in->to < 0)
		in->from = -1;
}

void input_close(struct loop *l)
{
	struct input *in = &l->input;

	if (!in->pty && l->stdio->parent[0] >= 0) {
		(void)close(l->stdio->parent[0]);
		l->stdio->parent[0] = -1;
	}
	in->from = -1;
	in->to = -1;
	in->len = 0;
}

void input_arm(struct loop *l, int64_t *wake)
{
	struct input *in = &l->input;
	bool waiting = in->retry_at > l->now;

	loop_want(l, SLOT_INPUT, in->from, in->from >= 0 && !in->len && !waiting ? POLLIN : 0);
	loop_want(l, SLOT_INPUT_TO, in->to, in->to >= 0 && in->len ? POLLOUT : 0);
	if (waiting && in->from >= 0)
		loop_sooner(wake, in->retry_at);
}

/* The caller's input is at its end. A terminal has no end of its own: it is typed. */
static void input_eof(struct loop *l)
{
	struct input *in = &l->input;

	if (!in->pty) {
		input_close(l);
		return;
	}
	in->from = -1;
	in->off = 0;
	in->buf[in->len++] = 4;
	if (in->line_open)
		in->buf[in->len++] = 4;
}

static void input_pull(struct loop *l)
{
	struct input *in = &l->input;
	ssize_t n;

	/* Reading our terminal from the background would stop us, deadline and all. */
	if (!terminal_foreground(in->from)) {
		in->retry_at = l->now + PAUSE_MS;
		return;
	}
	n = read(in->from, in->buf, sizeof(in->buf));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		input_eof(l);
		return;
	}
	in->off = 0;
	in->len = (size_t)n;
	in->line_open = in->buf[n - 1] != '\n' && in->buf[n - 1] != '\r';
}

void input_step(struct loop *l)
{
	struct input *in = &l->input;
	ssize_t n;

	if (in->from >= 0 && !in->len && l->p[SLOT_INPUT].revents)
		input_pull(l);
	if (!in->len || in->to < 0)
		return;
	signals_no_pipe(l);
	n = write(in->to, in->buf + in->off, in->len);
	if (n > 0) {
		in->off += (size_t)n;
		in->len -= (size_t)n;
	} else if (n < 0 && errno != EINTR && errno != EAGAIN) {
		l->signals.piped |= errno == EPIPE;
		input_close(l);
	}
}
