/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* DNS questions of confined programs and our answers to them. The real resolving is c-ares' job. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/host.h"

#define BAWN_DNS_MAX 1232

enum bawn_dns_type {
	BAWN_DNS_A = 1,
	BAWN_DNS_PTR = 12,
	BAWN_DNS_AAAA = 28,
	BAWN_DNS_HTTPS = 65
};
enum bawn_dns_code {
	BAWN_DNS_OK = 0,
	BAWN_DNS_FORMERR = 1,
	BAWN_DNS_SERVFAIL = 2,
	BAWN_DNS_NXDOMAIN = 3,
	BAWN_DNS_NOTIMP = 4,
	BAWN_DNS_REFUSED = 5
};

struct bawn_dns_question {
	uint16_t id, type, klass;
	struct bawn_host name;
	size_t question_len; /* bytes of the question section as sent, to echo (0x20 case kept) */
	bool edns;
};

/*
 * Exactly one question, opcode QUERY, class IN, a name (not the root, not an address), at most an
 * OPT record behind it. Negative: refused; -ENODATA: say nothing, everything else can be answered:
 * *ret then has what bawn_dns_answer() needs to echo the id alone (-ENOSYS with NOTIMP, the others
 * with FORMERR).
 */
int bawn_dns_question_parse(
	const uint8_t *p, size_t n, struct bawn_dns_question *ret, struct bawn_error *err);
/* An answer to `query` (n bytes): `code`, and for OK at most one address of 4 or 16 bytes (addr_len
 * 0: NODATA). Length or negative. */
int bawn_dns_answer(const uint8_t *query, size_t n, const struct bawn_dns_question *q,
	enum bawn_dns_code code, const uint8_t *addr, size_t addr_len, uint32_t ttl, uint8_t *dst,
	size_t size);
