/* SPDX-License-Identifier: Apache-2.0 */
/* Request heads: what is accepted has exactly one reading. */
#include <stdint.h>

#include "egress/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct bawn_slice s, const char *p, size_t n)
{
	if (s.n && (s.p < p || s.p + s.n > p + n))
		abort();
	if (memchr(s.n ? s.p : "x", '\n', s.n) || memchr(s.n ? s.p : "x", '\r', s.n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bawn_http_request a, b;
	const char *p = (const char *)data;
	unsigned lengths = 0, codings = 0, hosts = 0;
	struct bawn_error err;
	int status = 0, r = bawn_http_request_parse(p, size, &a, &status, &err);

	if (r < 0 && (status < 400 || status > 505))
		abort();
	if (r <= 0)
		return 0;
	if (a.head_len > size || a.head_len > BAWN_HTTP_HEAD_MAX || !a.host.text[0] || !a.port)
		abort();
	inside(a.method, p, a.head_len);
	inside(a.target, p, a.head_len);
	for (size_t i = 0; i < a.n_headers; i++) {
		inside(a.headers[i].name, p, a.head_len);
		inside(a.headers[i].value, p, a.head_len);
		lengths += a.headers[i].name.n == 14 &&
			   strncasecmp(a.headers[i].name.p, "content-length", 14) == 0;
		codings += a.headers[i].name.n == 17 &&
			   strncasecmp(a.headers[i].name.p, "transfer-encoding", 17) == 0;
		hosts += a.headers[i].name.n == 4 &&
			 strncasecmp(a.headers[i].name.p, "host", 4) == 0;
	}
	if (lengths + codings > 1 || hosts > 1 || (!hosts && a.minor))
		abort();
	/* One byte less is not enough, bytes behind change nothing. */
	if (bawn_http_request_parse(p, a.head_len - 1, &b, &status, &err) != 0)
		abort();
	if (bawn_http_request_parse(p, a.head_len, &b, &status, &err) != 1 ||
		b.head_len != a.head_len || !bawn_host_equal(&a.host, &b.host))
		abort();
	return 0;
}
