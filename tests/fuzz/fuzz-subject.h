/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as FUZZ_SUBJECT: bounded, every finding lies inside the text, confidences are sane. */
#include <stdint.h>
#include <stdlib.h>

#include "inspect/inspect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_subject sub = {
		FUZZ_SUBJECT,
		.text = (const char *)data,
		.len = size,
		.last = true,
	};

	if (!a || bawn_scan_subject(a, NULL, &sub, &f, &err) < 0)
		abort();
	for (size_t i = 0; i < f.n; i++)
		if (f.v[i].start > f.v[i].end || f.v[i].end > size ||
			!(f.v[i].confidence >= 0 && f.v[i].confidence <= 1))
			abort();
	return 0;
}
