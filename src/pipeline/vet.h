/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The first half of the flow for a tool call that somebody else will carry out: inspect, verdict,
 * decision, record. The second half of `bawn guard` and all of `bawn hook`. */

#include "inspect/sequence.h"
#include "policy/policy.h"
#include "verdict/act.h"

struct bawn_audit;

struct bawn_vetting_input {
	const char *tool, *agent, *session;  /* "" if unknown; never NULL */
	const char *session_dir;             /* NULL for the usual place */
	const struct bawn_tool_use *use;     /* for rules over the session; NULL for none */
	const struct bawn_subject *subjects; /* what is looked at */
	size_t n_subjects;
	const struct bawn_findings *also; /* found elsewhere, or NULL */
	const char *memo; /* where one subject that nothing was found in is remembered, or NULL */
};

struct bawn_vetting; /* under way, in the inspector's child */

/* Hand the first subject to the detectors; returns at once. `in` and what it points to must stay.
 */
int bawn_vetting_begin(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_vetting_input *in, struct bawn_vetting **ret, struct bawn_error *err);
/*
 * inspect → sequences → verdict → decision, when the detectors are done. The session remembers this
 * call. The child is told to go, whatever comes of it; bawn_vetting_drop reaps it.
 */
int bawn_vetting_end(struct bawn_vetting *v, struct bawn_verdict *ret,
	struct bawn_decision *ret_decision, struct bawn_error *err);
/* Forget about it. NULL is fine; returns NULL. */
struct bawn_vetting *bawn_vetting_drop(struct bawn_vetting *v);
/* Both at once. */
int bawn_vetting_all(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_vetting_input *in, struct bawn_verdict *ret,
	struct bawn_decision *ret_decision, struct bawn_error *err);

/* What became of a tool call. `input` is hashed, not kept. */
struct bawn_vetted {
	const char *event;
	const void *input;
	size_t input_len;
	const struct bawn_verdict *verdict;
	const struct bawn_decision *decision;
	const char *outcome;
};

/* One record for a tool call that was vetted and not run by us. */
int bawn_vetting_record(struct bawn_audit *au, const struct bawn_policy *p,
	const struct bawn_vetting_input *in, const struct bawn_vetted *done,
	struct bawn_error *err);
