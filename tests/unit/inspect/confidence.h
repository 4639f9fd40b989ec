/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How sure the injection detector is of a text. */

#include "harness.h"
#include "inspect/detectors.h"
#include "inspect/inspect.h"
/* Confidence of the worst finding. */
static inline double confidence(const char *text)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_subject sub = {.kind = BAWN_KIND_TEXT,
		.detect = BAWN_DETECT_INJECTION,
		.text = text,
		.len = strlen(text),
		.last = true};
	double best = 0;

	ASSERT_TRUE(a != NULL);
	if (bawn_scan_subject(a, NULL, &sub, &f, &err) < 0)
		FAIL("%s", err.msg);
	for (size_t i = 0; i < f.n; i++)
		best = f.v[i].confidence > best ? f.v[i].confidence : best;
	return best;
}
