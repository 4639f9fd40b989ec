/* SPDX-License-Identifier: Apache-2.0 */
/* Response heads. */
#include <stdint.h>

#include "egress/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bawn_http_response a, b;
	const char *p = (const char *)data;
	struct bawn_error err;

	if (bawn_http_response_parse(p, size, &a, &err) <= 0)
		return 0;
	if (a.head_len > size || a.status < 100 || a.status > 599 ||
		(a.body == BAWN_BODY_UNTIL_CLOSE && a.keep_alive))
		abort();
	if (bawn_http_response_parse(p, a.head_len - 1, &b, &err) != 0 ||
		bawn_http_response_parse(p, a.head_len, &b, &err) != 1 || a.body != b.body ||
		a.length != b.length)
		abort();
	return 0;
}
