/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter over content of any length in constant memory. Bytes are looked at through windows that
 * overlap by more than the longest secret. At the end of each look everything is settled up to a
 * place behind which a secret may still be unfinished: what ends before it is reported and passed
 * on, what does not is found again in the next window.
 */
#include <errno.h>
#include <string.h>

#include "inspect/escape.h"
#include "inspect/inspector.h"
#include "inspect/scan.h"
#include "inspect/secret/secret.h"

#define WINDOW_MIN ((size_t)768 << 10)
#define FOUND_MAX  4096u /* findings of one feed; further ones are counted as one */
#define SHORT_WORD 6     /* on a flush: shorter words are no secret worth waiting for */
#define LONG_WORD  24    /* longer ones may be */

struct bawn_stream {
	const struct bawn_policy *policy;
	struct bawn_stream_options o;
	struct bawn_arena *own; /* name */
	struct bawn_registered *registered;
	struct bawn_escape escape;
	bool escapes; /* pass through `escape` */
	char *buf;
	size_t len, window, overlap;
	size_t base;     /* offset of buf[0] in the stream */
	size_t settled;  /* buf up to here was looked at and passed on */
	size_t masked;   /* offset in the stream where the last mask ended */
	uint64_t budget; /* for the secrets of a window; 0: by its length */
	bool over, too_much;
};

/* One look at the window. */
struct look {
	struct bawn_stream *s;
	struct bawn_arena *temp;    /* gone after the look */
	struct bawn_findings found; /* in temp */
	struct bawn_findings masks; /* secrets to be masked or blocked, in temp */
	size_t until;               /* what will be settled */
	bool flush, last;
	bool unseen; /* there may be more secrets than were found */
	/* of the feed */
	struct bawn_arena *a;
	struct bawn_buf *out;
	struct bawn_findings *ret;
};

struct bawn_stream *bawn_stream_free(struct bawn_stream *s)
{
	if (!s)
		return NULL;
	(void)bawn_registered_free(s->registered);
	(void)bawn_arena_free(s->own);
	if (s->buf)
		explicit_bzero(s->buf, s->window);
	free(s->buf);
	free(s);
	return NULL;
}

void bawn_stream_set_budget(struct bawn_stream *s, uint64_t units)
{
	s->budget = units;
}

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
}

static void size_windows(struct bawn_stream *s)
{
	size_t span = s->registered ? bawn_registered_span(s->registered) : 0;

	s->overlap = span > BAWN_SECRET_SPAN_MAX ? span : BAWN_SECRET_SPAN_MAX;
	s->window = 4 * s->overlap > WINDOW_MIN ? 4 * s->overlap : WINDOW_MIN;
}

int bawn_stream_new(const struct bawn_policy *p, const struct bawn_stream_options *o,
	struct bawn_stream **ret, struct bawn_error *err)
{
	struct bawn_stream *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return no_memory(err);
	s->policy = p;
	s->o = *o;
	s->base = o->like.base;
	s->own = bawn_arena_new();
	if (s->own && o->like.name)
		s->o.like.name = bawn_arena_strdup(s->own, o->like.name);
	if (o->secrets && o->secrets[0])
		r = bawn_registered_new(o->secrets, &s->registered, err);
	s->o.secrets = NULL;
	if (r >= 0) {
		size_windows(s);
		s->buf = malloc(s->window);
	}
	s->escapes = o->tame_escapes || o->show_hidden;
	bawn_escape_init(&s->escape, (o->tame_escapes ? BAWN_ESCAPE_TAME : 0) |
					     (o->show_hidden ? BAWN_ESCAPE_HIDDEN : 0));
	if (r >= 0 && (!s->own || !s->buf || (o->like.name && !s->o.like.name)))
		r = no_memory(err);
	if (r < 0) {
		(void)bawn_stream_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* A word at which it is worth to wait for more although nothing comes for now. */
static bool may_be_secret(const char *word, size_t n)
{
	bool digit = false;

	for (size_t i = 0; i < n; i++)
		digit |= word[i] >= '0' && word[i] <= '9';
	return n > LONG_WORD || (n > SHORT_WORD && digit);
}

/* Where the part begins that may go on in bytes to come. */
static size_t settle_at(const struct look *k)
{
	const struct bawn_stream *s = k->s;
	size_t tail, known = 0;

	if (k->last)
		return s->len;
	tail = bawn_secret_tail(s->buf, s->len);
	if (k->flush && !may_be_secret(s->buf + s->len - tail, tail))
		tail = 0;
	if (s->registered)
		known = bawn_registered_tail(s->registered, s->buf, s->len);
	tail = known > tail ? known : tail;
	/* the window must move on */
	if (tail > s->overlap)
		tail = s->overlap;
	return s->len - tail > s->settled ? s->len - tail : s->settled;
}

static bool is_secret(const struct bawn_finding *f)
{
	return !strcmp(f->category, "secret");
}

static bool is_budget(const struct bawn_finding *f)
{
	return !strcmp(f->category, "budget");
}

static enum bawn_leak_action action_for(const struct bawn_stream *s, const struct bawn_finding *f)
{
	if (is_budget(f))
		return s->o.leaks_by_policy ? bawn_leak_action_unseen(s->policy) : s->o.leaks;
	if (!is_secret(f))
		return BAWN_LEAK_WARN;
	return s->o.leaks_by_policy ? bawn_leak_action(s->policy, f) : s->o.leaks;
}

/*
 * A secret that ends behind the place to settle at is held back whole, unless it is so long that
 * the window could not move on.
 */
static void hold_secrets(struct look *k)
{
	const struct bawn_stream *s = k->s;
	size_t half = s->window / 2;
	size_t floor = s->len > half && s->len - half > s->settled ? s->len - half : s->settled;
	bool changed;

	do {
		changed = false;
		for (size_t i = 0; i < k->found.n; i++) {
			const struct bawn_finding *f = &k->found.v[i];
			size_t start = f->start > s->base ? f->start - s->base : 0;

			if (!is_secret(f) || f->end <= s->base + k->until || start >= k->until ||
				k->until <= floor)
				continue;
			k->until = start > floor ? start : floor;
			changed = true;
		}
	} while (changed);
}

static int keep(struct look *k, const struct bawn_finding *f)
{
	struct bawn_finding *x = bawn_grow(k->a, &k->ret->v, &k->ret->n, &k->ret->cap);

	if (!x)
		return -ENOMEM;
	*x = *f;
	x->detector = bawn_arena_strdup(k->a, f->detector);
	x->rule = bawn_arena_strdup(k->a, f->rule);
	x->category = bawn_arena_strdup(k->a, f->category);
	x->message = bawn_arena_strdup(k->a, f->message ? f->message : "");
	return x->detector && x->rule && x->category && x->message ? 0 : -ENOMEM;
}

/* Report it. One finding stands for all that are too many, or about the budget. */
static int report(struct look *k, const struct bawn_finding *f)
{
	struct bawn_stream *s = k->s;

	if (k->ret->n < FOUND_MAX && !is_budget(f))
		return keep(k, f);
	if (s->too_much)
		return 0;
	s->too_much = true;
	return bawn_scan_report_budget(k->a, k->ret, f->start, f->end, BAWN_BUDGET_WORK);
}

static int by_start(const void *a, const void *b)
{
	const struct bawn_finding *x = a;
	const struct bawn_finding *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

static int add_mask(struct look *k, const struct bawn_finding *f)
{
	struct bawn_finding *m;

	if (action_for(k->s, f) == BAWN_LEAK_WARN)
		return 0;
	m = bawn_grow(k->temp, &k->masks.v, &k->masks.n, &k->masks.cap);
	if (!m)
		return -ENOMEM;
	*m = *f;
	return 0;
}

/* All that is about to pass stands for the secrets that were not looked for. */
static int mask_unseen(struct look *k)
{
	const struct bawn_stream *s = k->s;
	struct bawn_finding all = {
		.rule = "scan.budget",
		.category = "budget",
		.start = s->base + s->settled,
		.end = s->base + k->until,
	};

	return k->unseen && all.start < all.end ? add_mask(k, &all) : 0;
}

/* What is settled is reported; of that, what must not pass as it is goes into k->masks. */
static int sort_out(struct look *k)
{
	size_t until = k->s->base + k->until;

	for (size_t i = 0; i < k->found.n; i++) {
		const struct bawn_finding *f = &k->found.v[i];

		if (f->end > until && !k->last && !is_budget(f))
			continue;
		if (report(k, f) < 0 || (is_secret(f) && add_mask(k, f) < 0))
			return -ENOMEM;
	}
	if (mask_unseen(k) < 0)
		return -ENOMEM;
	if (k->masks.n)
		qsort(k->masks.v, k->masks.n, sizeof(*k->masks.v), by_start);
	return 0;
}

static void pass(struct look *k, const char *bytes, size_t n)
{
	struct bawn_stream *s = k->s;

	if (s->o.findings_only)
		return;
	if (s->escapes)
		bawn_escape_feed(&s->escape, bytes, n, k->out);
	else
		bawn_buf_add(k->out, bytes, n);
}

static int pass_on(struct look *k, struct bawn_error *err)
{
	struct bawn_stream *s = k->s;
	size_t at = s->settled;

	for (size_t i = 0; i < k->masks.n; i++) {
		const struct bawn_finding *m = &k->masks.v[i];
		size_t start = m->start > s->base ? m->start - s->base : 0;
		size_t stop = m->end > s->base ? m->end - s->base : 0;

		if (stop > k->until)
			stop = k->until;
		if (stop <= at)
			continue;
		if (start > at)
			pass(k, s->buf + at, start - at);
		if (action_for(s, m) == BAWN_LEAK_BLOCK) {
			s->over = true;
			return bawn_fail(err, BAWN_ERR_BLOCKED, -EACCES,
				"a secret (%s) was about to pass; the rest is withheld", m->rule);
		}
		/* one that overlaps the one before is covered by the same words; the beginning of
		 * one that came in single bytes may have passed, the words still stand for the rest
		 */
		if (m->start >= s->masked) {
			pass(k, "[redacted:", 10);
			pass(k, m->rule, strlen(m->rule));
			pass(k, "]", 1);
		}
		at = stop;
		s->masked = s->base + stop;
	}
	pass(k, s->buf + at, k->until - at);
	if (k->last && s->escapes && !s->o.findings_only)
		bawn_escape_end(&s->escape, k->out);
	return 0;
}

static void move_on(struct bawn_stream *s, size_t until)
{
	size_t drop = until > s->overlap ? until - s->overlap : 0;

	memmove(s->buf, s->buf + drop, s->len - drop);
	s->len -= drop;
	s->base += drop;
	s->settled = until - drop;
}

/* Secrets come last, and as many as there are: they hide nothing else. */
static int find(struct look *k, struct bawn_error *err)
{
	struct bawn_stream *s = k->s;
	struct bawn_subject sub = s->o.like;
	struct bawn_scan every = {.a = k->temp,
		.policy = s->policy,
		.out = &k->found,
		.budget = s->budget,
		.most = SIZE_MAX};
	int r;

	sub.text = s->buf;
	sub.len = s->len;
	sub.base = s->base;
	sub.fresh = s->settled;
	sub.last = k->last;
	sub.detect &= ~(unsigned)BAWN_DETECT_SECRETS;
	r = bawn_scan_subject(k->temp, s->policy, &sub, &k->found, err);
	sub.detect = s->o.like.detect & BAWN_DETECT_SECRETS;
	if (r >= 0)
		r = bawn_scan_run(&every, &sub, err);
	if (r >= 0 && s->registered)
		r = bawn_registered_find(s->registered, &sub, k->temp, &k->found, err);
	k->unseen = every.spent;
	return r;
}

static int look(struct look *k, struct bawn_error *err)
{
	struct bawn_stream *s = k->s;
	int r = find(k, err);

	if (r < 0)
		return r;
	k->until = settle_at(k);
	if (!k->last)
		hold_secrets(k);
	if (sort_out(k) < 0)
		return no_memory(err);
	r = pass_on(k, err);
	move_on(s, k->until);
	return r;
}

static int round_of(struct look *k, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *temp = bawn_arena_new();
	struct look x = *k;

	if (!temp)
		return no_memory(err);
	x.temp = temp;
	return look(&x, err);
}

int bawn_stream_feed(struct bawn_stream *s, const struct bawn_stream_chunk *c, struct bawn_arena *a,
	struct bawn_buf *out, struct bawn_findings *found, struct bawn_error *err)
{
	struct look k = {.s = s, .a = a, .out = out, .ret = found};
	int r = 0;

	if (s->over)
		return bawn_fail(err, BAWN_ERR_BLOCKED, -EACCES, "this stream was blocked");
	for (size_t at = 0; at < c->n && r >= 0;) {
		size_t n = s->window - s->len < c->n - at ? s->window - s->len : c->n - at;

		memcpy(s->buf + s->len, c->bytes + at, n);
		s->len += n;
		at += n;
		if (s->len == s->window && (at < c->n || !c->last))
			r = round_of(&k, err);
	}
	k.flush = c->flush;
	k.last = c->last;
	if (r >= 0 && (c->last || (c->flush && s->len > s->settled)))
		r = round_of(&k, err);
	if (c->last)
		s->over = true;
	if (r >= 0 && out && out->failed)
		return no_memory(err);
	return r;
}
