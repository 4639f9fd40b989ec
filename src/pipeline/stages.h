/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What `run` and `explain` have in common: the stages up to a wall that stands. */

#include "audit/audit.h"
#include "backend/backend.h"
#include "pipeline/choose.h"
#include "pipeline/door.h"
#include "pipeline/pipeline.h"
#include "pipeline/secrets.h"
#include "pipeline/vet.h"

struct bawn_run {
	struct bawn_arena *a;
	const struct bawn_run_input *in;
	struct bawn_result *r;
	struct bawn_audit *audit;
	struct bawn_choices *choices; /* NULL: not chosen yet */
	struct bawn_instance *instance;
	struct bawn_door *door;
	struct bawn_stdio stdio;
	struct bawn_plan_own own[4]; /* the audit log, its head, the memo */
	struct bawn_granted *granted;
	const char *const *vault; /* files that no run can read */
	const char *authorities;  /* with a door that knows secrets */
	struct bawn_tool_use use;
	struct bawn_subject subject;
	struct bawn_vetting *vetting; /* the call is looked at while its wall goes up */
	bool heard, judged;
	int heard_error; /* why there is no verdict */
	struct bawn_error heard_why;
};

#define BAWN_RUN(a_, in_, r_)                                 \
	{                                                     \
		.a = (a_), .in = (in_), .r = (r_), .stdio = { \
			.child = {-1, -1, -1},                \
			.parent = {-1, -1, -1},               \
			.stdin_fd = -1                        \
		}                                             \
	}

/* call → policy → inspect, which goes on meanwhile */
int bawn_run_understand(struct bawn_run *x);

/* inspect → verdict, once. `run` does it while its wall goes up, so that it takes no time of its
 * own. */
void bawn_run_hear(struct bawn_run *x);

/*
 * What the verdict means. For `run`, called when the wall stands and nothing of the call has run;
 * also when there is no wall (`wall` < 0): that the call is forbidden says more than why it could
 * not be confined. For `guard`, called first: the verdict says whether there is to be a wall.
 */
int bawn_run_judge(struct bawn_run *x, int wall);

/* The wall that most calls get begins before the policy is read: what it does first is the same for
 * all. */
void bawn_run_guess(struct bawn_run *x);

/* The first candidate begins while the call is looked at and its plan is made. */
int bawn_run_begin(struct bawn_run *x);

/* The secrets that the policy says this run uses; with `values`, for a run that is to take place.
 */
int bawn_run_grant(struct bawn_run *x, bool values);

/*
 * plan → backend: the first candidate that meets every demanded control. Says in the result which
 * one and why; those that would not do are in result->tried.
 */
int bawn_run_wall(struct bawn_run *x);

/* A further remark for the user; NULL is none. */
void bawn_run_note(struct bawn_result *r, const char *text);
