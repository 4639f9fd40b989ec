/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The escape filter: splitting the input changes nothing, what comes out holds nothing left to
 * tame, and showing loses no printable character.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/escape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t filter(unsigned flags, const char *in, size_t n, size_t step, struct bawn_buf *out)
{
	struct bawn_escape e;

	bawn_escape_init(&e, flags);
	for (size_t i = 0; i < n; i += step)
		bawn_escape_feed(&e, in + i, n - i < step ? n - i : step, out);
	bawn_escape_end(&e, out);
	return e.tamed;
}

static size_t printable(const char *p, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += p[i] > ' ' && p[i] < 0x7f;
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned modes[] = {BAWN_ESCAPE_TAME, BAWN_ESCAPE_TAME | BAWN_ESCAPE_SHOW,
		BAWN_ESCAPE_TAME | BAWN_ESCAPE_HIDDEN, BAWN_ESCAPE_HIDDEN};
	const char *in = (const char *)data;

	for (size_t i = 0; size && i < sizeof(modes) / sizeof(modes[0]); i++) {
		_cleanup_buf_ struct bawn_buf whole = {0}, parts = {0}, again = {0};

		(void)filter(modes[i], in, size, size, &whole);
		(void)filter(modes[i], in, size, 1 + data[0] % 7u, &parts);
		if (whole.len != parts.len ||
			(whole.len && memcmp(whole.data, parts.data, whole.len) != 0))
			abort();
		if ((modes[i] & BAWN_ESCAPE_TAME) && whole.len &&
			filter(modes[i], whole.data, whole.len, whole.len, &again))
			abort();
		if ((modes[i] & BAWN_ESCAPE_SHOW) &&
			printable(whole.data, whole.len) + 16 < printable(in, size) &&
			!memmem(in, size, "\x1b[", 2))
			abort();
	}
	return 0;
}
