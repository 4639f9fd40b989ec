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

/* Findings × thresholds → verdict. */
int bawn_verdict_make(const struct bawn_policy *p, const struct bawn_findings *f,
	struct bawn_verdict *ret, struct bawn_error *err);
const char *bawn_verdict_name(enum bawn_verdict_kind k);
