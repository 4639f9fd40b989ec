/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/api: what a report holds and how every function makes one. */

#include <bawn/bawn.h>

#include "pipeline/pipeline.h"

struct bawn_report {
	struct bawn_arena *arena;
	struct bawn_error error;
	int exit_status;
	const char *limit, *verdict;
	double confidence;
	struct bawn_buf json;
	struct bawn_buf output[2];
};

int api_report_new(struct bawn_report **ret);
/* Every way to fail ends here: the report says so in both of its forms. Without a reason so far it
 * is the report itself that could not be made. */
int api_fail(struct bawn_report *r, int e);
int api_make_input(struct bawn_report *r, const struct bawn_options *o, struct bawn_run_input *in);
/* The policy that holds for these options; lives as long as the report. */
int api_load_policy(
	struct bawn_report *r, const struct bawn_options *o, const struct bawn_policy **ret);
