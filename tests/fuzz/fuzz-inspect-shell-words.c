/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte picks a decoder, the normaliser, the splitter or the matcher of globs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/scan.h"
#include "inspect/shell/shell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void words(struct sh *s, const char *t)
{
	struct sh_word w = {.text = t, .known = true};
	struct sh_words out = {0};

	if (sh_split_word(s, &w, &out) < 0)
		abort();
	for (size_t i = 0; i < out.n; i++) {
		if (strpbrk(out.v[i].text, "\x01\x02\x03\x04"))
			abort();
	}
}

static void pick(struct sh *s, unsigned which, const char *t, size_t n)
{
	struct sh_norm norm;
	size_t k = 0;

	switch (which % 10) {
	case 0:
		(void)sh_decode_base64(s->a, t, n, &k);
		break;
	case 1:
		(void)sh_decode_base32(s->a, t, n, &k);
		break;
	case 2:
		(void)sh_decode_hex(s->a, t, n, &k);
		break;
	case 3:
		(void)sh_decode_escapes(s->a, t, n, &k);
		break;
	case 4:
		(void)sh_decode_reverse(s->a, t, n);
		break;
	case 5:
		(void)sh_decode_tr(s->a, t, n, t, t, n % 2);
		break;
	case 6:
		if (sh_normalise(s, t, n, &norm) < 0 || norm.len > n)
			abort();
		break;
	case 7:
		words(s, t);
		break;
	case 8:
		(void)sh_glob_match(t, t + n / 2);
		break;
	default:
		(void)sh_place(s, t);
		(void)sh_secret_of(s, t);
		(void)sh_host_of(s, t, NULL);
		break;
	}
	if (k > n + 8)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_scan scan = {.a = a, .out = &f, .budget = (uint64_t)1 << 20};
	struct sh *s = a ? bawn_new(a, struct sh, 1) : NULL;
	const char *t = a && size ? bawn_arena_strndup(a, (const char *)data + 1, size - 1) : NULL;

	if (!s)
		abort();
	s->scan = &scan;
	s->a = a;
	s->err = &err;
	if (t)
		pick(s, data[0], t, strlen(t));
	return 0;
}
