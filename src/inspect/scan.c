/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over one subject. The budget is counted in bytes looked at, not in time, so that a
 * verdict is the same on every machine; the clock is the inspector's business.
 */
#include "inspect/scan.h"

#include <errno.h>
#include <string.h>

#define BUDGET_FLOOR  ((uint64_t)16 << 20)
#define BUDGET_FACTOR 512
#define NESTED_MAX    8
#define FINDINGS_MAX  4096
#define LOOK_BACK     16

struct bawn_arena *bawn_scan_arena(struct bawn_scan *s)
{
	return s->a;
}

const struct bawn_policy *bawn_scan_policy(struct bawn_scan *s)
{
	return s->policy;
}

bool bawn_scan_spend(struct bawn_scan *s, uint64_t units)
{
	if (s->spent || units > s->budget) {
		s->spent = true;
		return false;
	}
	s->budget -= units;
	return true;
}

/* The same rule at the same place, found in another way just before. */
static struct bawn_finding *again(
	const struct bawn_findings *out, const char *rule, size_t start, size_t end)
{
	for (size_t i = out->n; i > 0 && i + LOOK_BACK > out->n; i--) {
		struct bawn_finding *x = &out->v[i - 1];

		if (x->start == start && x->end == end && !strcmp(x->rule, rule))
			return x;
	}
	return NULL;
}

int bawn_scan_report(
	struct bawn_scan *s, const struct bawn_subject *sub, const struct bawn_finding *f)
{
	size_t start = s->depth ? s->start : f->start + sub->base;
	size_t end = s->depth ? s->end : f->end + sub->base;
	struct bawn_finding *x;

	if (!s->depth && sub->fresh && f->end <= sub->fresh)
		return 0;
	x = again(s->out, f->rule, start, end);
	if (x) {
		if (f->confidence > x->confidence)
			x->confidence = f->confidence;
		return 0;
	}
	if (s->out->n >= (s->most ? s->most : FINDINGS_MAX)) {
		s->spent = true;
		return 0;
	}
	x = bawn_grow(s->a, &s->out->v, &s->out->n, &s->out->cap);
	if (!x)
		return -ENOMEM;
	*x = *f;
	x->start = start;
	x->end = end;
	return 0;
}

static int run(struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err)
{
	const struct bawn_detector *d;

	for (size_t i = 0; !s->spent && (d = bawn_detector_at(i)); i++) {
		int r;

		if (!(d->kinds & (1u << sub->kind)) || !(d->detect & sub->detect))
			continue;
		r = d->inspect(s, sub, err);
		if (r < 0) {
			(void)bawn_error_wrap(err, "detector '%s'", d->name);
			return r;
		}
	}
	return 0;
}

int bawn_scan_nested(struct bawn_scan *s, const struct bawn_subject *outer, size_t start,
	size_t end, const struct bawn_subject *inner, struct bawn_error *err)
{
	struct bawn_scan saved = *s;
	int r;

	if (s->depth >= NESTED_MAX || !bawn_scan_spend(s, inner->len)) {
		s->spent = true;
		return 0;
	}
	if (!s->depth) {
		s->start = start + outer->base;
		s->end = end + outer->base;
	}
	s->depth++;
	r = run(s, inner, err);
	s->depth = saved.depth;
	s->start = saved.start;
	s->end = saved.end;
	return r;
}

int bawn_scan_report_budget(struct bawn_arena *a, struct bawn_findings *out, size_t start,
	size_t end, enum bawn_budget why)
{
	static const char *const messages[] = {
		[BAWN_BUDGET_WORK] =
			"this is too large or too deeply nested to be understood; split it into smaller "
			"steps",
		[BAWN_BUDGET_TIME] =
			"understanding this took too long; split it into smaller steps",
		[BAWN_BUDGET_DIED] =
			"the detectors failed on this, so it is not known to be safe; split it into "
			"smaller steps",
	};
	struct bawn_finding *x = bawn_grow(a, &out->v, &out->n, &out->cap);

	if (!x)
		return -ENOMEM;
	*x = (struct bawn_finding){
		.detector = "scan",
		.rule = "scan.budget",
		.category = "budget",
		.level = BAWN_SEV_HIGH,
		.confidence = 0.5,
		.start = start,
		.end = end,
		.message = messages[why],
	};
	return 0;
}

int bawn_scan_run(struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err)
{
	int r;

	if (!s->budget)
		s->budget = BUDGET_FLOOR + BUDGET_FACTOR * (uint64_t)sub->len;
	r = run(s, sub, err);
	if (r >= 0 && s->spent)
		r = bawn_scan_report_budget(
			s->a, s->out, sub->base, sub->base + sub->len, BAWN_BUDGET_WORK);
	return r == -ENOMEM ? bawn_fail(err, BAWN_ERR_INSPECT, r, "out of memory") : r;
}

int bawn_scan_subject(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_subject *sub, struct bawn_findings *out, struct bawn_error *err)
{
	struct bawn_scan s = {.a = a, .policy = p, .out = out};

	return bawn_scan_run(&s, sub, err);
}
