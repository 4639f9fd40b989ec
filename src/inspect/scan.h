/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect and its tests: what one pass over one subject holds. */

#include "inspect/inspect.h"

struct bawn_scan {
	struct bawn_arena *a;
	const struct bawn_policy *policy;
	struct bawn_findings *out;
	uint64_t budget;
	bool spent;
	unsigned depth;
	size_t start, end; /* with depth: where the nested subject stands in the outermost */
};
