/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A verdict to what is done about it: `actions` of the policy, and whether the policy acts at all.
 */

#include "verdict/verdict.h"

enum bawn_action {
	BAWN_ACTION_ALLOW,
	BAWN_ACTION_LOG,       /* let through and say so */
	BAWN_ACTION_CONSTRAIN, /* run it behind the wall */
	BAWN_ACTION_BLOCK,
};

struct bawn_decision {
	enum bawn_action would; /* by the verdict */
	bool dry_run;           /* the policy does not act yet: everything is let through */
};

void bawn_decide(
	const struct bawn_policy *p, const struct bawn_verdict *v, struct bawn_decision *ret);
/* What really happens: `would`, or ALLOW in a dry run. */
enum bawn_action bawn_decision_does(const struct bawn_decision *d);
/* The audit's words: ALLOW, DRY_RUN, CONSTRAIN, BLOCK. */
const char *bawn_decision_name(const struct bawn_decision *d);
const char *bawn_action_name(enum bawn_action a); /* allow, log, constrain, block */
