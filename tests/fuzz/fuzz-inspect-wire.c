/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a child answers, the parent stays sound; what is read can be written and read again. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "inspect/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(struct bawn_arena *a, const char *body, size_t len)
{
	struct wire_answer w, again;
	struct bawn_buf b = {0};

	if (wire_get_answer(a, body, len, &w) < 0)
		return;
	for (size_t i = 0; i < w.found.n; i++) {
		assert(w.found.v[i].confidence >= 0.0 && w.found.v[i].confidence <= 1.0);
		assert(w.found.v[i].start <= w.found.v[i].end);
		assert(w.found.v[i].level <= BAWN_SEV_CRITICAL);
	}
	wire_put_answer(&b, &w);
	assert(!b.failed);
	assert(wire_get_answer(a, b.data + sizeof(struct wire_head),
		       b.len - sizeof(struct wire_head), &again) == 0);
	assert(again.found.n == w.found.n && again.status == w.status);
	bawn_buf_done(&b);
}

static void subject(struct bawn_arena *a, const char *body, size_t len)
{
	struct bawn_subject s, again;
	struct bawn_buf b = {0};

	if (wire_get_subject(a, body, len, &s) < 0)
		return;
	wire_put_subject(&b, &s);
	assert(!b.failed);
	assert(wire_get_subject(a, b.data + sizeof(struct wire_head),
		       b.len - sizeof(struct wire_head), &again) == 0);
	assert(again.len == s.len && !memcmp(again.text, s.text, s.len));
	bawn_buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_stream_options o;

	if (!a || size < 1)
		return 0;
	if (data[0] % 3 == 0)
		answer(a, (const char *)data + 1, size - 1);
	else if (data[0] % 3 == 1)
		subject(a, (const char *)data + 1, size - 1);
	else
		(void)wire_get_stream(a, (const char *)data + 1, size - 1, &o);
	return 0;
}
