/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vault's file as anybody could have written it: whole, under a key that the writer knows
 * (first byte even), or behind its seal, as the plain bytes of one secret (odd).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "secrets/vault/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_whole(const uint8_t *data, size_t size)
{
	static const struct format_key key = {
		FORMAT_KIND_FILE, "0123456789abcdef0123456789abcdef", 32};
	struct format f;

	if (format_init(&f) == 0 && format_look(&f, data, size) == 0) {
		int r = format_unwrap(&f, &key);

		/* whoever has no key tries one */
		if (r < 0)
			r = format_take_key(&f, (const uint8_t *)key.data);
		if (r == 0 && format_read(&f, data, size) == 0 && f.n > BAWN_SECRETS_MAX)
			abort();
	}
	format_done(&f);
}

/* What can be read can be written, and is the same then. */
static void read_secret(const uint8_t *data, size_t size)
{
	struct bawn_arena *a = bawn_arena_new();
	struct unpack u = {(const char *)data, size, false};
	struct bawn_secret s;
	static char out[1 << 20];

	if (a && unpack_secret(&u, a, &s) == 0) {
		struct pack p = {out, sizeof(out), false};

		pack_secret(&p, &s);
		if (p.failed || (size_t)(p.at - out) != size - u.left ||
			memcmp(out, data, size - u.left) != 0)
			abort();
	}
	(void)bawn_arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int started;

	if (!started && crypt_start() < 0)
		abort();
	started = 1;
	if (size && data[0] & 1)
		read_secret(data + 1, size - 1);
	else if (size)
		read_whole(data + 1, size - 1);
	return 0;
}
