/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings to a verdict. A rule that somebody wrote into the policy is not a guess: it blocks with
 * certainty. Everything else is weighed against the thresholds.
 */
#include "verdict/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 256

/* The value of "tools.NAME.WHAT", if the policy has one, and if it is lower than what is there
 * already from another name. */
static void own_threshold(const struct bawn_policy *p, const char *group, const char *name,
	const char *what, double *value, bool *found)
{
	char key[KEY_MAX];
	const char *text;
	double v;

	if (!name || !*name ||
		snprintf(key, sizeof(key), "%s.%s.%s", group, name, what) >= (int)sizeof(key))
		return;
	text = bawn_policy_named(p, key);
	if (!text)
		return;
	v = strtod(text, NULL);
	if (!*found || v < *value)
		*value = v;
	*found = true;
}

static double threshold(const struct bawn_policy *p, const struct bawn_verdict_place *place,
	const char *what, double base)
{
	bool found = false;
	double v = base;

	if (!place)
		return base;
	own_threshold(p, "tools", place->tool, what, &v, &found);
	own_threshold(p, "agents", place->agent, what, &v, &found);
	return v;
}

/* Find what is nonsense, the rule of the policy that forbids it, and the strongest finding. */
static int survey(const struct bawn_findings *f, const struct bawn_finding **forbids,
	const struct bawn_finding **worst, struct bawn_error *err)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct bawn_finding *x = &f->v[i];

		/* written so that a NaN fails too: it would compare false with every threshold */
		if (!(x->confidence >= 0.0 && x->confidence <= 1.0) ||
			x->signal > BAWN_SIGNAL_SEQUENCE)
			return bawn_fail(err, BAWN_ERR_INSPECT, -ERANGE,
				"detector '%s' reports a confidence outside 0..1", x->detector);
		if (!*forbids && !strcmp(x->category, "policy"))
			*forbids = x;
		if (!*worst || x->confidence > (*worst)->confidence)
			*worst = x;
	}
	return 0;
}

int bawn_verdict_make(const struct bawn_policy *p, const struct bawn_verdict_place *place,
	const struct bawn_findings *f, struct bawn_verdict *ret, struct bawn_error *err)
{
	enum bawn_mode mode = place ? place->mode : BAWN_MODE_STANDARD;
	struct bawn_verdict v = {.kind = BAWN_SAFE, .findings = *f};
	const struct bawn_finding *worst = NULL, *forbids = NULL;
	int r;

	if (mode == BAWN_MODE_LENIENT)
		bawn_findings_soften(&v.findings);
	r = survey(&v.findings, &forbids, &worst, err);
	if (r < 0)
		return r;
	if (forbids) {
		v.kind = BAWN_MALICIOUS;
		v.confidence = 1.0;
		v.blocked = true;
		v.reason = forbids->message;
	} else if (worst) {
		v.confidence = bawn_fuse(&v.findings, mode);
		if (v.confidence >= threshold(p, place, "malicious_threshold", p->thr_malicious))
			v.kind = BAWN_MALICIOUS;
		else if (v.confidence >=
			 threshold(p, place, "suspicious_threshold", p->thr_suspicious))
			v.kind = BAWN_SUSPICIOUS;
		if (v.kind != BAWN_SAFE)
			v.reason = worst->message;
	}
	*ret = v;
	return 0;
}

const char *bawn_verdict_name(enum bawn_verdict_kind k)
{
	static const char *const names[] = {"SAFE", "SUSPICIOUS", "MALICIOUS"};

	return (size_t)k < sizeof(names) / sizeof(names[0]) ? names[k] : "UNKNOWN";
}
