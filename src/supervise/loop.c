/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop that stays with a command until nothing of it is left. One poll set, built anew in each
 * round: what is not in it is not waited for, which is all that backpressure needs, and a short
 * command costs no set-up calls at all. Time limits are poll's timeout.
 */
#include "supervise/loop.h"

#include <errno.h>

#include "backend/native/hole.h"
#include "base/io.h"

int loop_kill(struct loop *l, struct bawn_error *err)
{
	struct bawn_error e = {0};
	int r;

	if (l->ended)
		return 0;
	r = l->in->be->signal(l->in, SIGKILL, &e);
	l->kill_again = l->now + KILL_AGAIN_MS;
	l->stop_at = NEVER;
	if (r < 0 && r != -ESRCH)
		return bawn_fail(err, BAWN_ERR_SUPERVISE, r, "cannot kill the command: %s", e.msg);
	return 0;
}

int loop_limit(struct loop *l, uint32_t control, struct bawn_error *err)
{
	if (!l->ret->limit)
		l->ret->limit = control;
	l->cut = true;
	return loop_kill(l, err);
}

int loop_stop(struct loop *l, int signo, struct bawn_error *err)
{
	struct bawn_error e = {0};
	bool again = l->ret->got_signal != 0;

	l->cut = true;
	if (!again)
		l->ret->got_signal = signo;
	if (l->ended) {
		l->flush_until = l->now;
		return 0;
	}
	if (again || l->gone)
		return loop_kill(l, err);
	/* If it cannot be told, it can still be killed. */
	if (l->in->be->signal(l->in, signo, &e) < 0)
		return loop_kill(l, err);
	l->stop_at = l->now + STOP_GRACE_MS;
	return 0;
}

int bawn_outcome_denied(struct bawn_arena *a, struct bawn_outcome *o, const struct bawn_event *ev,
	struct bawn_error *err)
{
	struct bawn_denial *d;

	o->denials_total++;
	for (size_t i = 0; i < o->n_denials; i++) {
		d = &o->denials[i];
		if (d->control == ev->control && !strcmp(d->text, ev->text)) {
			d->count++;
			return 0;
		}
	}
	if (o->n_denials == BAWN_DENIALS_MAX)
		return 0;
	d = &o->denials[o->n_denials];
	*d = (struct bawn_denial){.control = ev->control, .count = 1};
	d->text = bawn_arena_strdup(a, ev->text);
	if (!d->text)
		return bawn_fail(err, BAWN_ERR_SUPERVISE, -ENOMEM, "out of memory");
	o->n_denials++;
	return 0;
}

/* What the door has to tell. Whatever becomes of it, the run goes on: it only has no network. */
static int watch_step(struct loop *l, struct bawn_error *err)
{
	const struct bawn_watch *w = l->o->watch;
	int r = 0;

	while (r >= 0 && l->watching) {
		struct bawn_event ev = {.kind = BAWN_EV_NONE};

		w->next(w->data, &ev);
		if (ev.kind == BAWN_EV_ENDED)
			l->watching = false;
		if (ev.kind != BAWN_EV_DENIED)
			break;
		r = bawn_outcome_denied(l->arena, l->ret, &ev, err);
	}
	return r;
}

static void note_end(struct loop *l)
{
	l->ended = true;
	l->ret->wall_ms = l->now - l->started;
	/* Output of a command that ended by itself is waited for as long as it could have run. */
	l->flush_until = l->now + READER_GRACE_MS;
	if (!l->cut && l->deadline > l->flush_until)
		l->flush_until = l->deadline;
	input_close(l);
	relay_done(l);
	stream_last(l, &l->streams[0]);
	stream_last(l, &l->streams[1]);
}

static int take_event(struct loop *l, const struct bawn_event *ev, struct bawn_error *err)
{
	switch (ev->kind) {
	case BAWN_EV_EXITED:
		l->gone = true;
		l->ret->exited = true;
		l->ret->wait_status = ev->status;
		return loop_kill(l, err); /* what it left behind */
	case BAWN_EV_FAILED:
		l->gone = true;
		l->ret->exec_errno = ev->status;
		return loop_kill(l, err);
	case BAWN_EV_LIMIT:
		return loop_limit(l, ev->control, err);
	case BAWN_EV_DENIED:
		return bawn_outcome_denied(l->arena, l->ret, ev, err);
	case BAWN_EV_ENDED:
		note_end(l);
		return 0;
	case BAWN_EV_NONE:
		break;
	}
	return 0;
}

static int events_step(struct loop *l, struct bawn_error *err)
{
	struct bawn_event ev = {.kind = BAWN_EV_DENIED};
	int r = 0;

	while (r >= 0 && !l->ended && ev.kind != BAWN_EV_NONE) {
		struct bawn_error e = {0};

		ev.kind = BAWN_EV_NONE;
		r = l->in->be->event(l->in, &ev, &e);
		if (r < 0)
			return bawn_fail(
				err, BAWN_ERR_SUPERVISE, r, "lost sight of the command: %s", e.msg);
		r = take_event(l, &ev, err);
	}
	return r;
}

static int clock_step(struct loop *l, struct bawn_error *err)
{
	if (l->ended) {
		if (l->now >= l->flush_until) {
			stream_drop(l, &l->streams[0]);
			stream_drop(l, &l->streams[1]);
			stream_close(l, &l->streams[0]); /* a terminal is not closed by dropping */
		}
		return 0;
	}
	if (l->now >= l->deadline && !l->gone && !l->cut)
		return loop_limit(l, BAWN_CTL_LIMIT_TIME, err);
	if (l->now >= l->stop_at || l->now >= l->kill_again)
		return loop_kill(l, err);
	return 0;
}

static bool is_done(const struct loop *l)
{
	const struct stream *s = l->streams;

	return l->ended && s[0].from < 0 && !s[0].len && s[1].from < 0 && !s[1].len;
}

/* Build the poll set; returns how long to sleep in ms. */
static int loop_arm(struct loop *l)
{
	int64_t wake = l->now + WAKE_MAX_MS;

	loop_want(l, SLOT_EVENT, l->in->event_fd, l->ended ? 0 : POLLIN);
	loop_want(l, SLOT_SIGNAL, l->signals.fd, l->signals.fd >= 0 ? POLLIN : 0);
	loop_want(l, SLOT_WATCH, l->watching ? l->o->watch->fd : -1, l->watching ? POLLIN : 0);
	if (l->ended) {
		loop_sooner(&wake, l->flush_until);
	} else {
		if (!l->gone && !l->cut)
			loop_sooner(&wake, l->deadline);
		loop_sooner(&wake, l->stop_at);
		loop_sooner(&wake, l->kill_again);
	}
	stream_arm(l, &l->streams[0], &wake);
	stream_arm(l, &l->streams[1], &wake);
	input_arm(l, &wake);
	relay_arm(l, &wake);
	return wake > l->now ? (int)(wake - l->now) : 0;
}

static int loop_step(struct loop *l, struct bawn_error *err)
{
	int timeout = loop_arm(l);
	int n = poll(l->p, l->n_p, timeout);
	int r = 0;

	if (n < 0 && errno != EINTR)
		return bawn_fail(err, BAWN_ERR_SUPERVISE, -errno, "cannot wait: %m");
	l->now = bawn_now_ms();
	if (n < 0)
		for (nfds_t i = 0; i < l->n_p; i++)
			l->p[i].revents = 0;
	if (l->p[SLOT_SIGNAL].revents)
		r = signals_step(l, err);
	if (r >= 0 && l->p[SLOT_EVENT].revents)
		r = events_step(l, err);
	if (r >= 0 && l->p[SLOT_WATCH].revents)
		r = watch_step(l, err);
	for (int i = 0; i < 2 && r >= 0; i++)
		r = stream_step(l, &l->streams[i], err);
	if (r < 0)
		return r;
	input_step(l);
	relay_step(l);
	return clock_step(l, err);
}

static int loop_run(struct loop *l, struct bawn_error *err)
{
	struct bawn_error e = {0};
	int r = signals_open(l, err);

	if (r >= 0)
		r = relay_open(l, err);
	terminal_enter(l);
	while (r >= 0 && !is_done(l))
		r = loop_step(l, err);
	if (r >= 0) /* what it said while the command ended */
		r = watch_step(l, err);
	/* We cannot go on, so it must not either; destroy() waits for it. */
	if (r < 0 && !l->ended)
		(void)l->in->be->signal(l->in, SIGKILL, &e);
	/* nobody told it to end and nobody saw it end: somebody else took its sandbox away */
	if (r >= 0 && !l->gone && !l->cut)
		return bawn_fail(err, BAWN_ERR_SUPERVISE, -ECHILD,
			"lost sight of the command: its sandbox was ended from outside (out of memory?)");
	return r;
}

static int64_t deadline_of(int64_t from, uint64_t ms)
{
	return ms == BAWN_UNLIMITED || ms > (uint64_t)(NEVER - from) ? NEVER : from + (int64_t)ms;
}

int bawn_supervise(struct bawn_arena *a, struct bawn_instance *in, const struct bawn_plan *plan,
	struct bawn_stdio *s, const struct bawn_outlets *o, struct bawn_outcome *ret,
	struct bawn_error *err)
{
	struct loop l = {.arena = a, .in = in, .plan = plan, .stdio = s, .o = o, .ret = ret};
	int r;

	*ret = (struct bawn_outcome){0};
	l.n_p = SLOT_RELAY;
	l.watching = o->watch && o->watch->fd >= 0;
	l.p = bawn_new(a, struct pollfd, SLOT_RELAY + relay_slots(plan));
	if (!l.p)
		return bawn_fail(err, BAWN_ERR_SUPERVISE, -ENOMEM, "out of memory");
	bawn_stdio_close_child(s);
	stream_open(&l, 0);
	stream_open(&l, 1);
	input_open(&l);
	l.stop_at = l.kill_again = l.flush_until = NEVER;
	l.now = l.started = bawn_now_ms();
	l.deadline = deadline_of(l.started, HOLE("time") ? BAWN_UNLIMITED : plan->limits.time_ms);
	r = in->be->start(in, err);
	if (r < 0)
		return r;
	r = loop_run(&l, err);
	terminal_leave(&l);
	relay_done(&l);
	stream_done(&l.streams[0]);
	stream_done(&l.streams[1]);
	signals_done(&l);
	if (r >= 0 && in->be->usage)
		in->be->usage(in, &ret->usage);
	return r;
}
