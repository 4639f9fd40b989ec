/* SPDX-License-Identifier: Apache-2.0 */
/* The detector of secrets over any bytes: spans lie in the text, messages hold none of it. */
#include <stdint.h>
#include <stdlib.h>

#include "inspect/inspect.h"
#include "inspect/secret/secret.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_subject sub = {
		.kind = BAWN_KIND_TEXT,
		.detect = BAWN_DETECT_SECRETS,
		.text = (const char *)data,
		.len = size,
		.base = 1000,
		.last = true,
	};
	struct bawn_findings out = {0};

	if (!a || bawn_scan_subject(a, NULL, &sub, &out, NULL) < 0)
		return 0;
	for (size_t i = 0; i < out.n; i++) {
		const struct bawn_finding *f = &out.v[i];

		if (f->start < 1000 || f->start > f->end || f->end > 1000 + size)
			abort();
		if (f->confidence <= 0.0 || f->confidence > 1.0 || !f->message)
			abort();
		(void)bawn_leak_action(NULL, f);
	}
	if (bawn_secret_tail(sub.text, size) > size ||
		bawn_secret_tail(sub.text, size) > BAWN_SECRET_SPAN_MAX)
		abort();
	return 0;
}
