/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which addresses a confined command may never be connected to: one table, IPv4 and IPv6. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/socket.h>

/* Why an address is special; the text goes into denials. */
enum bawn_address_class {
	BAWN_ADDR_PUBLIC,
	BAWN_ADDR_UNSPECIFIED,
	BAWN_ADDR_LOOPBACK,
	BAWN_ADDR_PRIVATE, /* RFC 1918, fc00::/7, site-local */
	BAWN_ADDR_LINK_LOCAL,
	BAWN_ADDR_CGNAT,
	BAWN_ADDR_METADATA, /* 169.254.169.254, fd00:ec2::254, 168.63.129.16, 100.100.100.200, … */
	BAWN_ADDR_TEST,     /* documentation and benchmark ranges */
	BAWN_ADDR_MULTICAST,
	BAWN_ADDR_RESERVED, /* 192.0.0.0/24, 240/4, …, and IPv6 outside 2000::/3 but for NAT64 */
	BAWN_ADDR_OWN,      /* an address of this host */
};

/*
 * IPv4 inside IPv6 (mapped, compatible, NAT64 well-known and local, 6to4, Teredo, ISATAP) is
 * unwrapped and the worse of both counts. `family` is AF_INET (4 bytes) or AF_INET6 (16).
 */
enum bawn_address_class bawn_address_classify(int family, const uint8_t *addr);
/* The IPv4 addresses inside an IPv6 one: none, one, or two (Teredo: server and client). */
size_t bawn_address_unwrap(int family, const uint8_t *addr, uint8_t ret[2][4]);
/* Whether the first `bits` bits are the same. */
bool bawn_address_in_block(const uint8_t *addr, const uint8_t *block, unsigned bits);
const char *bawn_address_class_name(enum bawn_address_class c);

/* The host's own interface addresses, read once (getifaddrs) before the door is sandboxed. */
struct bawn_own_addresses {
	struct {
		int family;
		uint8_t addr[16];
	} * v;
	size_t n;
};
int bawn_own_addresses_read(struct bawn_own_addresses *ret);
void bawn_own_addresses_free(struct bawn_own_addresses *o);
bool bawn_own_addresses_has(const struct bawn_own_addresses *o, int family, const uint8_t *addr);
