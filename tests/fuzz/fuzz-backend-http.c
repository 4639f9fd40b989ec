/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a machine monitor's API: what is read of them lies in them, and more bytes change
 * nothing. */
#include <stdint.h>
#include <stdlib.h>

#include "backend/vm/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct bawn_http_answer a = {0}, b = {0};
	int n = bawn_http_parse(size ? text : "", size, &a);

	if (n <= 0)
		return 0;
	if ((size_t)n > size || a.status < 100 || a.status > 999 ||
		a.body_len > BAWN_HTTP_BODY_MAX || a.body + a.body_len != text + n)
		abort();
	if (bawn_http_parse(text, (size_t)n, &b) != n || b.status != a.status ||
		bawn_http_parse(text, (size_t)n - 1, &b) > 0)
		abort();
	return 0;
}
