/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect and its tests: what one pass over one subject holds. */

#include "inspect/inspect.h"

struct bawn_scan {
	struct bawn_arena *a;
	const struct bawn_policy *policy;
	struct bawn_findings *out;
	uint64_t budget; /* 0 before: by the length of the subject */
	size_t most;     /* findings; 0: as many as a subject may have */
	bool spent;
	unsigned depth;
	size_t start, end; /* with depth: where the nested subject stands in the outermost */
};

enum bawn_budget {
	BAWN_BUDGET_WORK, /* too large or too deeply nested */
	BAWN_BUDGET_TIME, /* took too long */
	BAWN_BUDGET_DIED, /* the detectors ended before they were done */
};

/* One pass with limits of one's own; `spent` says afterwards whether there may be more to find. */
int bawn_scan_run(struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err);

/* Add the finding that something could not be understood: never SAFE. */
int bawn_scan_report_budget(struct bawn_arena *a, struct bawn_findings *out, size_t start,
	size_t end, enum bawn_budget why);
