/* SPDX-License-Identifier: Apache-2.0 */
/* Chunked bodies: the same result however the bytes arrive. The first byte says how they are cut.
 */
#include <stdint.h>

#include "egress/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bawn_http_chunks whole = {0}, cut = {0};
	const char *p = (const char *)data + 1;
	int64_t all, sum = 0, k = 0;
	size_t step, n;
	bool done, cut_done = false;

	if (!size)
		return 0;
	step = data[0] % 16U + 1;
	n = size - 1;
	all = bawn_http_chunks_feed(&whole, p, n, &done);
	for (size_t at = 0; at < n && k >= 0 && !cut_done; at += step) {
		size_t len = n - at < step ? n - at : step;

		k = bawn_http_chunks_feed(&cut, p + at, len, &cut_done);
		sum += k;
		if (k >= 0 && (size_t)k != len && !cut_done)
			abort();
	}
	if ((all < 0) != (k < 0) || done != cut_done || (all >= 0 && all != sum))
		abort();
	if (all > (int64_t)n || (all < 0 && done))
		abort();
	return 0;
}
