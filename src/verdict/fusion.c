/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several findings, one confidence. A confidence is meant as a probability, so what agrees is
 * joined like independent evidence (one minus the product of the doubts), damped because rules that
 * look at the same text are not independent. Evidence joins only where it is about the same thing:
 * findings of one detector, and a sequence of calls with whatever stands in the present one.
 *
 * Kinds of evidence weigh differently (pattern and classifier 0.4, sequence 0.2), and the place of
 * the content moves them: more for agent instruction files, less for tests.
 */
#include <string.h>

#include "verdict/verdict.h"

#define SIGNALS    3
#define DAMP       0.5  /* of each further finding of one signal */
#define TOP        6    /* findings of one signal that count */
#define HINTS_MAX  0.50 /* hints alone never make more than SUSPICIOUS */
#define ALMOST_ONE 0.99 /* what a multiplier may reach */
#define GROUPS_MAX 16

static const double weights[SIGNALS] = {0.4, 0.4, 0.2};
static const double factors[][SIGNALS] = {
	[BAWN_MODE_STANDARD] = {1.0, 1.0, 1.0},
	[BAWN_MODE_STRICT] = {1.2, 1.3, 0.8},
	[BAWN_MODE_LENIENT] = {0.7, 0.7, 1.2},
};

/* The strongest findings of one signal, each rule once. */
struct top {
	const struct bawn_finding *f[TOP];
	double v[TOP];
	size_t n;
};

static double in_mode(const struct bawn_finding *f, enum bawn_mode mode)
{
	double v = f->confidence * factors[mode][f->signal];

	/* certain already, or certain to be looked at */
	if (!strcmp(f->category, "budget") ||
		(mode == BAWN_MODE_LENIENT && v < f->confidence && f->level == BAWN_SEV_CRITICAL))
		return f->confidence;
	if (v > ALMOST_ONE && v > f->confidence)
		return f->confidence > ALMOST_ONE ? f->confidence : ALMOST_ONE;
	return v;
}

static void top_add(struct top *t, const struct bawn_finding *f, double v)
{
	size_t i = 0;

	for (; i < t->n; i++)
		if (!strcmp(t->f[i]->rule ? t->f[i]->rule : "", f->rule ? f->rule : ""))
			break;
	if (i < t->n && t->v[i] >= v)
		return;
	if (i == t->n) {
		if (t->n == TOP && t->v[TOP - 1] >= v)
			return;
		i = t->n < TOP ? t->n++ : TOP - 1;
	}
	for (; i > 0 && t->v[i - 1] < v; i--) {
		t->f[i] = t->f[i - 1];
		t->v[i] = t->v[i - 1];
	}
	t->f[i] = f;
	t->v[i] = v;
}

/* What is strong by itself joins; hints raise it as far as hints can. */
static double joined(const struct top *t)
{
	double strong = 0.0, hints = 0.0, damp_strong = 1.0, damp_hints = 1.0;

	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i] >= BAWN_HINT) {
			strong += (1.0 - strong) * t->v[i] * damp_strong;
			damp_strong *= DAMP;
		} else {
			hints += (1.0 - hints) * t->v[i] * damp_hints;
			damp_hints *= DAMP;
		}
	}
	if (strong > 0.0)
		hints *= DAMP;
	hints = strong + (1.0 - strong) * hints;
	if (hints > HINTS_MAX)
		hints = HINTS_MAX;
	return strong > hints ? strong : hints;
}

static double across(const struct top t[SIGNALS])
{
	double v[SIGNALS];
	double doubt;
	size_t best = 0;

	for (size_t i = 0; i < SIGNALS; i++) {
		v[i] = joined(&t[i]);
		if (v[i] > v[best])
			best = i;
	}
	doubt = 1.0 - v[best];
	for (size_t i = 0; i < SIGNALS; i++)
		if (i != best)
			doubt *= 1.0 - weights[i] * v[i];
	return 1.0 - doubt;
}

/* Commands inside of code are looked at by both. */
static bool same_matter(const char *a, const char *b)
{
	if (!strcmp(a, b))
		return true;
	return (!strcmp(a, "shell") && !strcmp(b, "code")) ||
	       (!strcmp(a, "code") && !strcmp(b, "shell"));
}

static double fuse_group(const struct bawn_findings *f, const char *detector, enum bawn_mode mode)
{
	struct top t[SIGNALS] = {0};

	for (size_t i = 0; i < f->n; i++) {
		const struct bawn_finding *x = &f->v[i];

		if (x->signal == BAWN_SIGNAL_SEQUENCE || same_matter(x->detector, detector))
			top_add(&t[x->signal], x, in_mode(x, mode));
	}
	return across(t);
}

double bawn_fuse(const struct bawn_findings *f, enum bawn_mode mode)
{
	const char *seen[GROUPS_MAX];
	size_t n = 0;
	double best = 0.0;

	for (size_t i = 0; i < f->n; i++) {
		const char *d = f->v[i].detector;
		size_t k = 0;
		double v;

		while (k < n && strcmp(seen[k], d) != 0)
			k++;
		if (k < n)
			continue;
		if (n < GROUPS_MAX)
			seen[n++] = d;
		v = fuse_group(f, d, mode);
		if (v > best)
			best = v;
	}
	return best;
}

void bawn_findings_soften(struct bawn_findings *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct bawn_finding x = f->v[i];

		if (x.level != BAWN_SEV_CRITICAL && strcmp(x.category, "budget") != 0 &&
			strcmp(x.category, "policy") != 0) {
			if (x.level <= BAWN_SEV_LOW)
				continue;
			x.level--;
		}
		f->v[n++] = x;
	}
	f->n = n;
}
