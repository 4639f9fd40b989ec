/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes, cut anywhere: what passes is the same as in one piece, nothing is lost, and findings
 * lie inside. The first two bytes choose how it is cut and what is asked.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "inspect/inspector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct bawn_arena *a;
	struct bawn_buf out;
	struct bawn_findings found;
	int status;
};

static void pass(struct run *r, unsigned ask, const char *text, size_t len, size_t cut)
{
	struct bawn_stream_options o = {
		.like = {.kind = BAWN_KIND_TEXT, .detect = BAWN_DETECT_ALL},
		.leaks = (enum bawn_leak_action)(ask % 3),
		.show_hidden = ask & 4,
		.tame_escapes = ask & 8,
	};
	struct bawn_stream *s = NULL;

	r->a = bawn_arena_new();
	assert(r->a && bawn_stream_new(NULL, &o, &s, NULL) == 0);
	for (size_t at = 0; !r->status && at < len;) {
		struct bawn_stream_chunk c = {.bytes = text + at, .n = len - at};

		if (c.n > cut)
			c.n = cut;
		at += c.n;
		c.flush = ask & 16;
		r->status = bawn_stream_feed(s, &c, r->a, &r->out, &r->found, NULL);
	}
	if (!r->status) {
		struct bawn_stream_chunk c = {.bytes = "", .last = true};

		r->status = bawn_stream_feed(s, &c, r->a, &r->out, &r->found, NULL);
	}
	assert(r->status == 0 || r->status == -13);
	for (size_t i = 0; i < r->found.n; i++)
		assert(r->found.v[i].start <= r->found.v[i].end && r->found.v[i].end <= len);
	(void)bawn_stream_free(s);
}

static void done(struct run *r)
{
	(void)bawn_arena_free(r->a);
	bawn_buf_done(&r->out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run whole = {0}, parts = {0};
	const char *text = (const char *)data + 2;
	unsigned ask;

	if (size < 2)
		return 0;
	size -= 2;
	/* with a flush, what passes may depend on the cut */
	ask = data[1] & ~16u;
	pass(&whole, ask, text, size, size + 1);
	pass(&parts, ask, text, size, data[0] + 1u);
	assert(whole.status == parts.status);
	assert(whole.out.len == parts.out.len);
	assert(!whole.out.len || !memcmp(whole.out.data, parts.out.data, whole.out.len));
	if (ask % 3 == BAWN_LEAK_WARN && !(ask & 12)) {
		assert(whole.out.len == size);
		assert(!size || !memcmp(whole.out.data, text, size));
	}
	done(&whole);
	done(&parts);
	parts = (struct run){0};
	pass(&parts, data[1] | 16u, text, size, data[0] + 1u);
	done(&parts);
	return 0;
}
