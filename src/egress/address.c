/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The special addresses as one table per family, most specific first, and IPv4 inside IPv6
 * unwrapped. IPv6 is the other way round from IPv4: what is not known to be global is reserved.
 */
#include "egress/address.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>

struct block {
	uint8_t addr[16];
	uint8_t bits;
	uint8_t class;
};

static const struct block v4_blocks[] = {
	/* Cloud metadata and what else a cloud answers to guests only. */
	{{169, 254, 169, 254}, 32, BAWN_ADDR_METADATA},
	{{169, 254, 169, 253}, 32, BAWN_ADDR_METADATA}, /* AWS resolver */
	{{169, 254, 169, 123}, 32, BAWN_ADDR_METADATA}, /* AWS time */
	{{169, 254, 170, 2}, 32, BAWN_ADDR_METADATA},   /* AWS task credentials */
	{{169, 254, 170, 23}, 32, BAWN_ADDR_METADATA},  /* AWS pod identity */
	{{169, 254, 42, 42}, 32, BAWN_ADDR_METADATA},   /* Scaleway */
	{{169, 254, 0, 23}, 32, BAWN_ADDR_METADATA},    /* Tencent */
	{{168, 63, 129, 16}, 32, BAWN_ADDR_METADATA},   /* Azure wire server */
	{{100, 100, 100, 200}, 32, BAWN_ADDR_METADATA}, /* Alibaba */
	{{192, 0, 0, 192}, 32, BAWN_ADDR_METADATA},     /* Oracle */
	/* The special-purpose registry. */
	{{0, 0, 0, 0}, 32, BAWN_ADDR_UNSPECIFIED},
	{{0}, 8, BAWN_ADDR_RESERVED}, /* this network */
	{{10}, 8, BAWN_ADDR_PRIVATE},
	{{100, 64}, 10, BAWN_ADDR_CGNAT},
	{{127}, 8, BAWN_ADDR_LOOPBACK},
	{{169, 254}, 16, BAWN_ADDR_LINK_LOCAL},
	{{172, 16}, 12, BAWN_ADDR_PRIVATE},
	{{192, 0, 0}, 24, BAWN_ADDR_RESERVED}, /* protocol assignments */
	{{192, 0, 2}, 24, BAWN_ADDR_TEST},
	{{192, 88, 99}, 24, BAWN_ADDR_RESERVED}, /* 6to4 relay, deprecated */
	{{192, 168}, 16, BAWN_ADDR_PRIVATE},
	{{198, 18}, 15, BAWN_ADDR_TEST}, /* benchmarks */
	{{198, 51, 100}, 24, BAWN_ADDR_TEST},
	{{203, 0, 113}, 24, BAWN_ADDR_TEST},
	{{224}, 4, BAWN_ADDR_MULTICAST},
	{{240}, 4, BAWN_ADDR_RESERVED},
};

static const struct block v6_blocks[] = {
	{{0xfd, 0x00, 0x0e, 0xc2}, 32, BAWN_ADDR_METADATA}, /* AWS, all its services for guests */
	{{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54}, 128, BAWN_ADDR_METADATA}, /* GCP */
	{{0xfd, 0x00, 0x00, 0x42, [15] = 0x42}, 128, BAWN_ADDR_METADATA}, /* Scaleway */
	{{0}, 128, BAWN_ADDR_UNSPECIFIED},
	{{[15] = 1}, 128, BAWN_ADDR_LOOPBACK},
	{{[10] = 0xff, [11] = 0xff}, 96, BAWN_ADDR_PUBLIC}, /* mapped: IPv4 is what is dialled */
	{{0x20, 0x01, 0x00, 0x02}, 48, BAWN_ADDR_TEST},     /* benchmarks */
	{{0x20, 0x01}, 23, BAWN_ADDR_RESERVED},             /* protocols, Teredo, … */
	{{0x20, 0x01, 0x0d, 0xb8}, 32, BAWN_ADDR_TEST},     /* documentation */
	{{0x3f, 0xff}, 20, BAWN_ADDR_TEST},                 /* documentation */
	{{0x20}, 3, BAWN_ADDR_PUBLIC},                      /* global unicast */
	{{0x00, 0x64, 0xff, 0x9b}, 96, BAWN_ADDR_PUBLIC},   /* NAT64: the inside counts */
	{{0xfc}, 7, BAWN_ADDR_PRIVATE},                     /* unique local */
	{{0xfe, 0x80}, 10, BAWN_ADDR_LINK_LOCAL},
	{{0xfe, 0xc0}, 10, BAWN_ADDR_PRIVATE}, /* site-local */
	{{0xff}, 8, BAWN_ADDR_MULTICAST},
	{{0}, 0, BAWN_ADDR_RESERVED},
};

/* How bad it is to be connected there: the worse of an address and what it wraps counts. The first
 * ones can be allowed by name. */
static const uint8_t ranks[] = {
	[BAWN_ADDR_PUBLIC] = 0,
	[BAWN_ADDR_TEST] = 1,
	[BAWN_ADDR_PRIVATE] = 2,
	[BAWN_ADDR_CGNAT] = 3,
	[BAWN_ADDR_RESERVED] = 4,
	[BAWN_ADDR_MULTICAST] = 5,
	[BAWN_ADDR_LINK_LOCAL] = 6,
	[BAWN_ADDR_UNSPECIFIED] = 7,
	[BAWN_ADDR_LOOPBACK] = 8,
	[BAWN_ADDR_OWN] = 9,
	[BAWN_ADDR_METADATA] = 10,
};

static const char *const names[] = {
	[BAWN_ADDR_PUBLIC] = "public",
	[BAWN_ADDR_UNSPECIFIED] = "unspecified",
	[BAWN_ADDR_LOOPBACK] = "loopback",
	[BAWN_ADDR_PRIVATE] = "private",
	[BAWN_ADDR_LINK_LOCAL] = "link-local",
	[BAWN_ADDR_CGNAT] = "carrier-grade NAT",
	[BAWN_ADDR_METADATA] = "cloud metadata",
	[BAWN_ADDR_TEST] = "test",
	[BAWN_ADDR_MULTICAST] = "multicast",
	[BAWN_ADDR_RESERVED] = "reserved",
	[BAWN_ADDR_OWN] = "this host's own",
};

const char *bawn_address_class_name(enum bawn_address_class c)
{
	return (size_t)c < sizeof(names) / sizeof(names[0]) ? names[c] : "unknown";
}

bool bawn_address_in_block(const uint8_t *addr, const uint8_t *block, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(addr, block, whole) != 0)
		return false;
	return !rest || (addr[whole] ^ block[whole]) >> (8 - rest) == 0;
}

static enum bawn_address_class lookup(const uint8_t *addr, const struct block *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bawn_address_in_block(addr, t[i].addr, t[i].bits))
			return (enum bawn_address_class)t[i].class;
	return BAWN_ADDR_PUBLIC;
}

size_t bawn_address_unwrap(int family, const uint8_t *addr, uint8_t ret[2][4])
{
	/* Where the IPv4 address is in addresses that start like this. */
	static const struct {
		uint8_t start[12];
		uint8_t bits, at;
	} forms[] = {
		{{0}, 96, 12},                                  /* compatible */
		{{[10] = 0xff, [11] = 0xff}, 96, 12},           /* mapped */
		{{[8] = 0xff, [9] = 0xff}, 96, 12},             /* translated */
		{{0x00, 0x64, 0xff, 0x9b}, 96, 12},             /* NAT64 */
		{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, 12}, /* NAT64, local */
		{{0x20, 0x02}, 16, 2},                          /* 6to4 */
	};
	static const uint8_t teredo[4] = {0x20, 0x01}, isatap[4] = {0x00, 0x00, 0x5e, 0xfe};

	if (family != AF_INET6)
		return 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (bawn_address_in_block(addr, forms[i].start, forms[i].bits)) {
			memcpy(ret[0], addr + forms[i].at, 4);
			return 1;
		}
	}
	if (memcmp(addr, teredo, sizeof(teredo)) ==
		0) { /* server, and client bit by bit reversed */
		memcpy(ret[0], addr + 4, 4);
		for (size_t i = 0; i < 4; i++)
			ret[1][i] = (uint8_t)~addr[12 + i];
		return 2;
	}
	if ((addr[8] & 0xfc) == isatap[0] && memcmp(addr + 9, isatap + 1, 3) == 0) {
		memcpy(ret[0], addr + 12, 4);
		return 1;
	}
	return 0;
}

static enum bawn_address_class classify_v4(const uint8_t *addr)
{
	return lookup(addr, v4_blocks, sizeof(v4_blocks) / sizeof(v4_blocks[0]));
}

enum bawn_address_class bawn_address_classify(int family, const uint8_t *addr)
{
	enum bawn_address_class worst, c;
	uint8_t inner[2][4];
	size_t n;

	if (family == AF_INET)
		return classify_v4(addr);
	if (family != AF_INET6)
		return BAWN_ADDR_RESERVED;
	worst = lookup(addr, v6_blocks, sizeof(v6_blocks) / sizeof(v6_blocks[0]));
	n = bawn_address_unwrap(family, addr, inner);
	/* ::1 is no IPv4 address 0.0.0.1. */
	if (worst == BAWN_ADDR_UNSPECIFIED || worst == BAWN_ADDR_LOOPBACK)
		return worst;
	for (size_t i = 0; i < n; i++) {
		c = classify_v4(inner[i]);
		if (ranks[c] > ranks[worst])
			worst = c;
	}
	return worst;
}

static size_t address_of(const struct ifaddrs *i, uint8_t addr[static 16])
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (!i->ifa_addr)
		return 0;
	if (i->ifa_addr->sa_family == AF_INET) {
		memcpy(&in, i->ifa_addr, sizeof(in));
		memcpy(addr, &in.sin_addr, 4);
		return 4;
	}
	if (i->ifa_addr->sa_family == AF_INET6) {
		memcpy(&in6, i->ifa_addr, sizeof(in6));
		memcpy(addr, &in6.sin6_addr, 16);
		return 16;
	}
	return 0;
}

int bawn_own_addresses_read(struct bawn_own_addresses *ret)
{
	struct bawn_own_addresses o = {0};
	struct ifaddrs *list = NULL;
	size_t n = 0;

	if (getifaddrs(&list) < 0)
		return -errno;
	for (const struct ifaddrs *i = list; i; i = i->ifa_next)
		n++;
	o.v = calloc(n ? n : 1, sizeof(*o.v));
	for (const struct ifaddrs *i = list; o.v && i; i = i->ifa_next)
		if (address_of(i, o.v[o.n].addr))
			o.v[o.n++].family = i->ifa_addr->sa_family;
	freeifaddrs(list);
	if (!o.v)
		return -ENOMEM;
	*ret = o;
	return 0;
}

void bawn_own_addresses_free(struct bawn_own_addresses *o)
{
	free(o->v);
	*o = (struct bawn_own_addresses){0};
}

static bool has(const struct bawn_own_addresses *o, int family, const uint8_t *addr)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].family == family &&
			memcmp(o->v[i].addr, addr, family == AF_INET ? 4 : 16) == 0)
			return true;
	return false;
}

bool bawn_own_addresses_has(const struct bawn_own_addresses *o, int family, const uint8_t *addr)
{
	uint8_t inner[2][4];
	size_t n;

	if (family != AF_INET && family != AF_INET6)
		return false;
	n = bawn_address_unwrap(family, addr, inner);
	for (size_t i = 0; i < n; i++)
		if (has(o, AF_INET, inner[i]))
			return true;
	return has(o, family, addr);
}
