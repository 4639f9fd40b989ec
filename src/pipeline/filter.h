/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the command writes, looked at on its way to the caller: secrets are masked (or what the
 * policy says), escapes that act on a terminal are made inert, text that addresses the agent is
 * reported. The looking is done by an inspector's child per stream, made when the first byte comes.
 */

#include "inspect/inspector.h"
#include "supervise/supervise.h"

#define BAWN_OUTPUT_FINDINGS_MAX 32

struct bawn_output_findings {
	struct bawn_finding
		v[BAWN_OUTPUT_FINDINGS_MAX];  /* one per rule and stream, the first of it */
	int stream[BAWN_OUTPUT_FINDINGS_MAX]; /* 1 or 2 */
	unsigned count[BAWN_OUTPUT_FINDINGS_MAX];
	size_t n;
	uint64_t total;
};

struct bawn_output_filter {
	struct bawn_filter ops; /* for bawn_outlets */
	struct bawn_arena *a;   /* of the run */
	const struct bawn_policy *p;
	const char *const *secrets; /* values that must not leave; NULL: none */
	bool tame[2];               /* per stream: somebody's terminal or a model reads it */
	struct bawn_inspector *inspector[2];
	struct bawn_output_findings *found;
};

/* Does the policy demand that leaks are looked for (the control `secrets`)? */
bool bawn_output_filter_guards_secrets(const struct bawn_policy *p);
/* -EOPNOTSUPP when it demands more patterns than there are. */
int bawn_output_filter_check(const struct bawn_policy *p, struct bawn_error *err);
/* False when the policy wants no looking: then ops is not to be used. */
bool bawn_output_filter_init(struct bawn_output_filter *f, struct bawn_arena *a,
	const struct bawn_policy *p, const char *const *secrets, const struct bawn_outlets *o,
	struct bawn_output_findings *found);
void bawn_output_filter_done(struct bawn_output_filter *f);
