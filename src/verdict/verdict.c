/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings to a verdict. A rule that somebody wrote into the policy is not a guess: it blocks with
 * certainty. Everything else is weighed against the thresholds.
 */
#include "verdict/verdict.h"

#include <errno.h>
#include <string.h>

int bawn_verdict_make(const struct bawn_policy *p, const struct bawn_findings *f,
	struct bawn_verdict *ret, struct bawn_error *err)
{
	struct bawn_verdict v = {.kind = BAWN_SAFE, .findings = *f};
	const struct bawn_finding *worst = NULL;

	for (size_t i = 0; i < f->n; i++) {
		const struct bawn_finding *x = &f->v[i];

		/* written so that a NaN fails too: it would compare false with every threshold */
		if (!(x->confidence >= 0.0 && x->confidence <= 1.0))
			return bawn_fail(err, BAWN_ERR_INSPECT, -ERANGE,
				"detector '%s' reports a confidence outside 0..1", x->detector);
		if (!strcmp(x->category, "policy")) {
			v.kind = BAWN_MALICIOUS;
			v.confidence = 1.0;
			v.blocked = true;
			v.reason = x->message;
			*ret = v;
			return 0;
		}
		if (!worst || x->confidence > worst->confidence)
			worst = x;
	}
	if (worst) {
		v.confidence = worst->confidence;
		if (worst->confidence >= p->thr_malicious)
			v.kind = BAWN_MALICIOUS;
		else if (worst->confidence >= p->thr_suspicious)
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
