/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way into the door names a host in its own spelling; here they become one. What a resolver,
 * a browser or a C library might read as an address is an address here, and what they might read
 * differently is refused: the decision must be about the host that is dialled in the end.
 */
#include "egress/host.h"

#include <errno.h>
#include <idn2.h>

#include <arpa/inet.h>

#define LABEL_MAX 63

/* The name as it may stand in a message: hostile bytes never reach a terminal. */
static const char *shown(const char *s, size_t len, char dst[static 81])
{
	size_t n = len < 80 ? len : 80;

	for (size_t i = 0; i < n; i++) {
		dst[i] = '?';
		if (s[i] > ' ' && s[i] < 0x7f && s[i] != '\'')
			dst[i] = s[i];
	}
	dst[n] = '\0';
	return dst;
}

static int refuse(const char *s, size_t len, const char *why, struct bawn_error *err)
{
	char show[81];

	return bawn_fail(err, BAWN_ERR_CALL, -EINVAL, "host '%s': %s", shown(s, len, show), why);
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

/* One part of a numeric address as inet_aton reads it: decimal, 0octal or 0xhex. */
static bool parse_part(const char *s, size_t len, uint64_t *ret)
{
	unsigned base = 10;
	uint64_t v = 0;

	if (len > 1 && s[0] == '0') {
		base = s[1] == 'x' ? 16 : 8;
		s += base == 16 ? 2 : 1;
		len -= base == 16 ? 2 : 1;
	}
	for (size_t i = 0; i < len; i++) {
		unsigned d = (unsigned)digit_of(s[i]);

		if (d >= base)
			return false;
		v = v * base + d;
		if (v > UINT32_MAX)
			return false;
	}
	*ret = v;
	return len > 0;
}

/* Whether the last label can only be meant as a number: no such top-level domain exists. */
static bool looks_numeric(const char *s, size_t len)
{
	size_t start = len;

	while (start > 0 && s[start - 1] != '.')
		start--;
	if (len - start >= 2 && s[start] == '0' && s[start + 1] == 'x') {
		for (size_t i = start + 2; i < len; i++)
			if (digit_of(s[i]) > 15)
				return false;
		return true;
	}
	for (size_t i = start; i < len; i++)
		if (digit_of(s[i]) > 9)
			return false;
	return true;
}

/* a, a.b, a.b.c or a.b.c.d; the last part fills the bytes that are left. */
static bool parse_v4(const char *s, size_t len, uint8_t addr[static 4])
{
	uint32_t sum = 0;
	unsigned parts = 0;

	for (size_t from = 0; from <= len;) {
		const char *dot = memchr(s + from, '.', len - from);
		size_t to = dot ? (size_t)(dot - s) : len;
		uint64_t v, limit;

		if (parts == 4 || !parse_part(s + from, to - from, &v))
			return false;
		limit = dot ? 0xff : UINT32_MAX >> (8 * parts);
		if (v > limit)
			return false;
		sum |= dot ? (uint32_t)v << (24 - 8 * parts) : (uint32_t)v;
		if (dot && parts == 3)
			return false;
		parts++;
		from = to + 1;
	}
	sum = htonl(sum);
	memcpy(addr, &sum, 4);
	return true;
}

void bawn_host_from_address(int family, const uint8_t *addr, struct bawn_host *ret)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	/* The kernel dials IPv4 for a mapped address, so that is the host it names. */
	if (family == AF_INET6 && memcmp(addr, mapped, sizeof(mapped)) == 0) {
		family = AF_INET;
		addr += sizeof(mapped);
	}
	*ret = (struct bawn_host){.kind = family == AF_INET ? BAWN_HOST_V4 : BAWN_HOST_V6};
	memcpy(ret->addr, addr, family == AF_INET ? 4 : 16);
	(void)inet_ntop(family, ret->addr, ret->text, sizeof(ret->text));
}

static int parse_v6(const char *s, size_t len, struct bawn_host *ret, struct bawn_error *err)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t addr[16];

	if (memchr(s, '%', len))
		return refuse(s, len, "an address with a zone cannot be reached from here", err);
	if (len >= sizeof(text) || memchr(s, '\0', len))
		return refuse(s, len, "not an IPv6 address", err);
	memcpy(text, s, len);
	text[len] = '\0';
	if (inet_pton(AF_INET6, text, addr) != 1)
		return refuse(s, len, "not an IPv6 address", err);
	bawn_host_from_address(AF_INET6, addr, ret);
	return 0;
}

/* Lower-case letters, digits, - and _ in labels of 1 to 63; anything else is refused by name. */
static const char *check_name(const char *s, size_t len)
{
	size_t label = 0;

	if (len > BAWN_HOST_MAX)
		return "longer than 253 bytes";
	for (size_t i = 0; i < len; i++) {
		char c = s[i];

		if (c == '.') {
			if (!label)
				return "has an empty label";
			label = 0;
			continue;
		}
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
			return "has a character that no host name has";
		if (++label > LABEL_MAX)
			return "has a label longer than 63 bytes";
	}
	return label ? NULL : "has an empty label";
}

static bool needs_idn(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] >= 0x80)
			return true;
		if ((i == 0 || s[i - 1] == '.') && len - i >= 4 && memcmp(s + i, "xn--", 4) == 0)
			return true;
	}
	return false;
}

/* Unicode to A-labels (UTS 46); A-labels that are there already must be what Unicode makes of them.
 * Characters are mapped here, so everything is checked after it, not before. */
static int to_ascii(char *name, size_t size, size_t *len)
{
	uint8_t *out = NULL;
	int r = idn2_lookup_u8((const uint8_t *)name, &out, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);

	if (r != IDN2_OK)
		return r == IDN2_MALLOC ? -ENOMEM : -EINVAL;
	*len = strlen((const char *)out);
	if (*len < size)
		memcpy(name, out, *len + 1);
	idn2_free(out);
	return *len < size ? 0 : -EINVAL;
}

static void lower(char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] >= 'A' && s[i] <= 'Z')
			s[i] = (char)(s[i] + ('a' - 'A'));
}

static int parse_name(const char *s, size_t len, struct bawn_host *ret, struct bawn_error *err)
{
	char name[BAWN_HOST_MAX + 2];
	size_t n = len;
	const char *why;
	uint8_t v4[4];
	int r;

	memcpy(name, s, len);
	name[len] = '\0';
	lower(name, n);
	if (needs_idn(name, n)) {
		r = to_ascii(name, sizeof(name), &n);
		if (r == -ENOMEM)
			return bawn_fail(err, BAWN_ERR_INTERNAL, r, "out of memory");
		if (r < 0)
			return refuse(s, len, "not a valid internationalised name", err);
		lower(name, n);
	}
	if (n > 1 && name[n - 1] == '.')
		name[--n] = '\0';
	why = check_name(name, n);
	if (why)
		return refuse(s, len, why, err);
	if (looks_numeric(name, n)) {
		if (!parse_v4(name, n, v4))
			return refuse(s, len, "ends in a number but is no IPv4 address", err);
		bawn_host_from_address(AF_INET, v4, ret);
		return 0;
	}
	*ret = (struct bawn_host){.kind = BAWN_HOST_NAME};
	memcpy(ret->text, name, n + 1);
	return 0;
}

int bawn_host_parse(const char *s, size_t len, struct bawn_host *ret, struct bawn_error *err)
{
	if (!len)
		return bawn_fail(err, BAWN_ERR_CALL, -EINVAL, "the host is empty");
	/* One more for the dot of the root. */
	if (len > BAWN_HOST_MAX + 1)
		return refuse(s, len, "longer than 253 bytes", err);
	if (s[0] == '[') {
		if (len < 2 || s[len - 1] != ']')
			return refuse(s, len, "'[' without ']'", err);
		return parse_v6(s + 1, len - 2, ret, err);
	}
	if (memchr(s, ':', len))
		return parse_v6(s, len, ret, err);
	/* Before the mapping of international names, which works on strings. */
	if (memchr(s, '\0', len))
		return refuse(s, len, "has a NUL byte", err);
	return parse_name(s, len, ret, err);
}

static int parse_port(const char *s, size_t len, uint16_t *ret)
{
	unsigned v = 0;

	if (len < 1 || len > 5 || s[0] == '0')
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -EINVAL;
		v = v * 10 + (unsigned)(s[i] - '0');
	}
	if (v > UINT16_MAX)
		return -EINVAL;
	*ret = (uint16_t)v;
	return 0;
}

int bawn_host_parse_port(const char *s, size_t len, uint16_t def, struct bawn_host *ret,
	uint16_t *ret_port, struct bawn_error *err)
{
	const char *end = len && s[0] == '[' ? memchr(s, ']', len) : NULL;
	size_t from = end ? (size_t)(end - s) + 1 : 0;
	const char *colon = memchr(s + from, ':', len - from);
	size_t host_len = colon ? (size_t)(colon - s) : len;
	uint16_t port = def;
	int r;

	if (end && host_len != from)
		return refuse(s, len, "has something between ']' and the port", err);
	/* 2001:db8::1:80 has two readings. */
	if (colon && memchr(colon + 1, ':', len - host_len - 1))
		return refuse(s, len, "an IPv6 address with a port needs brackets", err);
	if (colon && parse_port(colon + 1, len - host_len - 1, &port) < 0)
		return refuse(s, len, "the port must be a number from 1 to 65535", err);
	if (!port)
		return refuse(s, len, "has no port", err);
	r = bawn_host_parse(s, host_len, ret, err);
	if (r < 0)
		return r;
	*ret_port = port;
	return 0;
}

bool bawn_host_equal(const struct bawn_host *a, const struct bawn_host *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case BAWN_HOST_V4:
		return memcmp(a->addr, b->addr, 4) == 0;
	case BAWN_HOST_V6:
		return memcmp(a->addr, b->addr, 16) == 0;
	case BAWN_HOST_NAME:
		break;
	}
	return strcmp(a->text, b->text) == 0;
}
