/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SOCKS 4, 4a and 5 (RFC 1928, 1929), client side of the conversation; only CONNECT exists. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/host.h"

struct bawn_socks_hello { /* version 5 */
	bool none, password;
	size_t len;
};
struct bawn_socks_request {
	int version; /* 4 or 5 */
	int command; /* 1 CONNECT; others are answered "not supported" */
	struct bawn_host host;
	uint16_t port;
	char user[256], password[256]; /* RFC 1929 or the 4a user id */
	size_t len;
};

/* 1 complete, 0 more needed, negative refused (-EAFNOSUPPORT: an address type that does not exist).
 * A request of version 5 leaves user and password as they are. */
int bawn_socks5_hello_parse(const uint8_t *p, size_t n, struct bawn_socks_hello *ret);
int bawn_socks5_auth_parse(const uint8_t *p, size_t n, struct bawn_socks_request *ret);
int bawn_socks_request_parse(
	const uint8_t *p, size_t n, struct bawn_socks_request *ret, struct bawn_error *err);
