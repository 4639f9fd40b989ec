/* SPDX-License-Identifier: Apache-2.0 */
/* SOCKS: the first byte chooses hello, auth or request. */
#include <stdint.h>

#include "egress/socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bawn_socks_request a, b;
	struct bawn_socks_hello h = {0};
	struct bawn_error err;
	const uint8_t *p = data + 1;
	size_t n = size - 1;

	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0:
		if (bawn_socks5_hello_parse(p, n, &h) == 1 &&
			(h.len > n || bawn_socks5_hello_parse(p, h.len - 1, &h) != 0))
			abort();
		break;
	case 1:
		if (bawn_socks5_auth_parse(p, n, &a) == 1 &&
			(a.len > n || a.len != 3 + strlen(a.user) + strlen(a.password) ||
				bawn_socks5_auth_parse(p, a.len - 1, &b) != 0))
			abort();
		break;
	default:
		if (bawn_socks_request_parse(p, n, &a, &err) != 1)
			break;
		if (a.len > n || !a.host.text[0] || (a.command == 1 && !a.port) ||
			bawn_socks_request_parse(p, a.len - 1, &b, &err) != 0 ||
			bawn_socks_request_parse(p, a.len, &b, &err) != 1 ||
			!bawn_host_equal(&a.host, &b.host))
			abort();
	}
	return 0;
}
