/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The one place that names all stages in order: call, inspect, verdict, plan, backend, supervise,
 * result, audit. */

#include "call/call.h"
#include "policy/policy.h"
#include "result/result.h"
#include "secrets/secrets.h"
#include "supervise/supervise.h"

/* What a call that uses secrets (secrets.use) says about itself, and who can be asked. */
struct bawn_secrets_input {
	struct bawn_vault_key key; /* zeros: nobody to ask, only the keyring or the policy's file */
	bool has_key;              /* `key` counts */
	const char *const
		*approved; /* these may be used; NULL-terminated or NULL. Never a policy's */
	const char *skill, *trigger; /* what the call is part of, or NULL */
	/* 1 yes, 0 no, negative: there is nobody. NULL: nobody either. */
	int (*approve)(void *data, const char *question, struct bawn_error *err);
	void *data;
};

struct bawn_run_input {
	struct bawn_call_input call;
	struct bawn_policy_source policy; /* .workspace is filled in from the call */
	bool guard; /* act by verdict (allow, constrain, block) instead of always confining */
	bool memo;  /* what nothing was found in need not be inspected again; not with guard */
	const char *session_dir;   /* where sessions are remembered; NULL for the usual place */
	const char *box, *box_dir; /* the container of a box to run in, and its private directory,
				      or NULL */
	struct bawn_secrets_input secrets;
	bool pty;
	int stdin_fd; /* -1: no input */
	struct bawn_outlets outlets;
};

/*
 * Run one call through everything. Always fills *ret as far as it came. 0 when the command was
 * started, whatever became of it; negative when it was refused, blocked or failed before
 * (ret->error says why). An audit record is written in either case; a call whose record cannot be
 * written does not run.
 */
int bawn_pipeline_run(
	struct bawn_arena *a, const struct bawn_run_input *in, struct bawn_result *ret);

/* One row of `bawn explain`. */
struct bawn_explain_row {
	const char *control;
	bool demanded, enforced;
	const char *by;     /* "mount namespace, Landlock", "cgroup v1" */
	const char *detail; /* "4 GiB", "12 paths", or why it cannot be */
};

struct bawn_explanation {
	struct bawn_result result; /* call, policy, plan, verdict, backend as a run would have them;
				      error if refused */
	struct bawn_explain_row rows[BAWN_CTL_COUNT];
	size_t n_rows;
};

/* The same up to the receipt, then everything is taken down again; nothing of the call runs,
 * nothing is recorded. */
int bawn_pipeline_explain(
	struct bawn_arena *a, const struct bawn_run_input *in, struct bawn_explanation *ret);
