/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking: the same result however the bytes arrive, no value left as it is, nothing changed but to
 * '*'. The first byte says how they are cut, the second how long the first value is; a value, a
 * second one up to the next newline, then the stream.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "egress/mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct bawn_slice *v, size_t n, const char *was, const char *is, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (is[i] != was[i] && is[i] != BAWN_MASK_CHAR)
			abort();
	for (size_t i = 0; i < n; i++)
		if (v[i].n && memmem(was, len, v[i].p, v[i].n)) {
			const char *at = memmem(was, len, v[i].p, v[i].n);

			for (size_t k = 0; k < v[i].n; k++)
				if (is[at - was + (ptrdiff_t)k] != BAWN_MASK_CHAR)
					abort();
		}
}

/* In pieces of `step`; the result replaces the text. */
static void in_pieces(const struct bawn_mask_set *s, char *text, size_t len, size_t step)
{
	struct bawn_mask m = {0};
	size_t from = 0;

	for (size_t to = 0; to < len || from < len; to += step) {
		size_t end = to + step < len ? to + step : len;
		size_t n = bawn_mask_feed(s, &m, text + from, end - from, end == len);

		if (n > end - from || end - from - n > bawn_mask_window(s))
			abort();
		from += n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data + 2;
	struct bawn_slice v[2] = {0};
	struct bawn_mask_set *s;
	char *whole, *cut;
	const char *line;
	size_t len;

	if (size < 3 || size > 4096)
		return 0;
	len = size - 2;
	v[0] = (struct bawn_slice){p, data[1] % 32U < len ? data[1] % 32U : len};
	p += v[0].n;
	len -= v[0].n;
	line = memchr(p, '\n', len);
	v[1] = (struct bawn_slice){p, line ? (size_t)(line - p) : 0};
	p += v[1].n;
	len -= v[1].n;
	s = bawn_mask_set_new(v, 2);
	whole = malloc(len + 1);
	cut = malloc(len + 1);
	if (!s || !whole || !cut)
		abort();
	memcpy(whole, p, len);
	memcpy(cut, p, len);
	bawn_mask_text(s, whole, len);
	check(v, 2, p, whole, len);
	in_pieces(s, cut, len, data[0] % 16U + 1);
	if (memcmp(whole, cut, len) != 0)
		abort();
	free(whole);
	free(cut);
	(void)bawn_mask_set_free(s);
	return 0;
}
