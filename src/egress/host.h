/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One canonical form of a host. Every way into the door (CONNECT, absolute-form, SOCKS, SNI, Host,
 * DNS question, original destination, and the rules themselves) goes through here, so two spellings
 * of one host can never be decided differently.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BAWN_HOST_MAX 253

enum bawn_host_kind {
	BAWN_HOST_NAME, /* lower-case A-labels, no trailing dot */
	BAWN_HOST_V4,   /* every numeric spelling that inet_aton knows ends here */
	BAWN_HOST_V6,   /* no brackets; a zone id is refused */
};

struct bawn_host {
	enum bawn_host_kind kind;
	char text[BAWN_HOST_MAX + 1];
	uint8_t addr[16]; /* network order; V4 uses the first four bytes */
};

/*
 * `s` need not end in NUL. Brackets around IPv6 are accepted. Refused: empty, over 253 bytes,
 * labels over 63, NUL, controls, space, %, @, \, #, /, ?, [ ] out of place, a name whose last label
 * is numeric but that is no address, invalid UTF-8 or IDN. Underscores inside labels are fine.
 */
int bawn_host_parse(const char *s, size_t len, struct bawn_host *ret, struct bawn_error *err);
/* "host:port", "[v6]:port", "host" (then `def`, and refused if def is 0). */
int bawn_host_parse_port(const char *s, size_t len, uint16_t def, struct bawn_host *ret,
	uint16_t *ret_port, struct bawn_error *err);
/* AF_INET (4 bytes) or AF_INET6 (16 bytes), network order; IPv4-mapped becomes IPv4. */
void bawn_host_from_address(int family, const uint8_t *addr, struct bawn_host *ret);
bool bawn_host_equal(const struct bawn_host *a, const struct bawn_host *b);
