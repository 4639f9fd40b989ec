/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "inspect/inspect.h"

enum bawn_verdict_kind {
	BAWN_SAFE,
	BAWN_SUSPICIOUS,
	BAWN_MALICIOUS,
};

struct bawn_verdict {
	enum bawn_verdict_kind kind;
	double confidence;
	bool blocked;       /* a rule of the policy forbids the call, whatever the mode */
	const char *reason; /* one line; NULL when SAFE */
	struct bawn_findings findings;
};

/* Where the subject comes from; NULL or "" for what is not known. */
struct bawn_verdict_place {
	enum bawn_mode mode;
	const char *tool, *agent; /* may have thresholds of their own */
};

/*
 * Findings × thresholds → verdict. In lenient mode the findings themselves change: levels drop by
 * one, low ones are taken out. `place` may be NULL.
 */
int bawn_verdict_make(const struct bawn_policy *p, const struct bawn_verdict_place *place,
	const struct bawn_findings *f, struct bawn_verdict *ret, struct bawn_error *err);
const char *bawn_verdict_name(enum bawn_verdict_kind k);

/*
 * The one confidence behind several findings (fusion.c): the strongest, raised by what agrees with
 * it. Findings that stay below BAWN_HINT on their own are hints and count only together.
 */
#define BAWN_HINT 0.30
double bawn_fuse(const struct bawn_findings *f, enum bawn_mode mode);
/* Lenient mode: high → medium → low → gone; critical and what says that the budget was used up
 * stay.
 */
void bawn_findings_soften(struct bawn_findings *f);
