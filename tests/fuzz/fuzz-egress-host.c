/* SPDX-License-Identifier: Apache-2.0 */
/* Host canonicalisation: what comes out is canonical, and stays what it is when parsed again. */
#include <stdint.h>

#include "egress/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct bawn_host *h)
{
	size_t len = strnlen(h->text, sizeof(h->text));
	struct bawn_host again;
	uint16_t port;

	if (!len || len > BAWN_HOST_MAX || bawn_host_parse(h->text, len, &again, NULL) < 0 ||
		!bawn_host_equal(h, &again) || strcmp(h->text, again.text) != 0)
		abort();
	for (size_t i = 0; i < len; i++) {
		char c = h->text[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
			    c == '.' || (c == ':' && h->kind == BAWN_HOST_V6)))
			abort();
	}
	if (h->kind != BAWN_HOST_V6 &&
		(bawn_host_parse_port(h->text, len, 80, &again, &port, NULL) < 0 || port != 80))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data;
	struct bawn_host h;
	struct bawn_error err;
	uint16_t port = 0;

	if (bawn_host_parse(s, size, &h, &err) == 0)
		check(&h);
	if (bawn_host_parse_port(s, size, 0, &h, &port, &err) == 0) {
		check(&h);
		if (!port)
			abort();
	}
	return 0;
}
