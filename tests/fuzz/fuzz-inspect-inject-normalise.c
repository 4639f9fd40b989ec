/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes through the normaliser, the splitter and the decoders: all offsets lead back. */
#include <stdint.h>
#include <stdlib.h>

#include "inspect/inject/inject.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct inject_text t;
	struct inject_sentences s;

	if (!a || inject_normalise(a, (const char *)data, size, &t) < 0)
		return 0;
	for (size_t i = 0; i <= t.len; i++)
		if (inject_origin(&t, i) > size)
			abort();
	for (size_t i = 0; i < t.n_spans; i++)
		if (t.spans[i].start > t.spans[i].end || t.spans[i].end > t.len)
			abort();
	if (inject_split(a, &t, &s) < 0)
		return 0;
	for (size_t i = 0; i < s.n; i++)
		if (s.v[i].start >= s.v[i].end || s.v[i].end > t.len ||
			(i && s.v[i].start < s.v[i - 1].start))
			abort();
	for (size_t i = 0; i < s.n_hints; i++) {
		struct inject_block b;

		if (!inject_decode(a, &t, &s.hints[i], &b) && (b.start > b.end || b.end > t.len))
			abort();
	}
	return 0;
}
