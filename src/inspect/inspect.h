/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Detectors produce findings about a call. One detector per file, all behind this vtable. */

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "call/call.h"
#include "policy/policy.h"

enum bawn_severity {
	BAWN_SEV_NONE,
	BAWN_SEV_LOW,
	BAWN_SEV_MEDIUM,
	BAWN_SEV_HIGH,
	BAWN_SEV_CRITICAL,
};

struct bawn_finding {
	const char *detector; /* "shell-rules" */
	const char *rule;     /* "shell.blocked_commands" */
	const char *category; /* "policy" */
	enum bawn_severity level;
	double confidence;
	size_t start, end;   /* span in call->text */
	const char *message; /* what, by which rule, how to allow it */
};

struct bawn_findings {
	struct bawn_finding *v;
	size_t n, cap;
};

struct bawn_detector {
	const char *name;
	/* Adds findings; a failure of a detector is a failure of the call, never "nothing found".
	 */
	int (*inspect)(struct bawn_arena *a, const struct bawn_policy *p, const struct bawn_call *c,
		struct bawn_findings *out, struct bawn_error *err);
};

const struct bawn_detector *bawn_detector_at(size_t i); /* NULL past the end */
int bawn_inspect_call(struct bawn_arena *a, const struct bawn_policy *p, const struct bawn_call *c,
	struct bawn_findings *out, struct bawn_error *err);
const char *bawn_severity_name(enum bawn_severity s);
