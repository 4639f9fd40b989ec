/* SPDX-License-Identifier: Apache-2.0 */
/* ClientHello. Whatever is accepted says the same when it is cut into records of one byte. */
#include <stdint.h>

#include "egress/tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The handshake bytes of the first records, each in a record of its own. */
static size_t cut(const uint8_t *p, size_t n, uint8_t *dst, size_t size)
{
	size_t at = 0, out = 0, want = 4, got = 0;

	while (got < want && at + 5 <= n) {
		size_t len = (size_t)p[at + 3] << 8 | p[at + 4];

		for (size_t i = 0; i < len && at + 5 + i < n && out + 6 <= size && got < want;
			i++) {
			const uint8_t head[5] = {22, 3, 1, 0, 1};

			memcpy(dst + out, head, 5);
			dst[out + 5] = p[at + 5 + i];
			if (got > 0 && got < 4)
				want += (size_t)dst[out + 5] << 8 * (3 - got);
			got++;
			out += 6;
		}
		at += 5 + len;
	}
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t pieces[BAWN_HELLO_MAX - 1];
	struct bawn_hello a = {0}, b = {0};
	struct bawn_error err;
	size_t n;

	if (bawn_hello_parse(data, size, &a, &err) != 1)
		return 0;
	if (a.has_sni && !a.sni.text[0])
		abort();
	if (size * 6 >= sizeof(pieces))
		return 0;
	n = cut(data, size, pieces, sizeof(pieces));
	if (bawn_hello_parse(pieces, n, &b, &err) != 1 || a.has_sni != b.has_sni ||
		a.has_ech != b.has_ech || (a.has_sni && !bawn_host_equal(&a.sni, &b.sni)))
		abort();
	if (bawn_hello_parse(pieces, n - 1, &b, &err) != 0)
		abort();
	return 0;
}
