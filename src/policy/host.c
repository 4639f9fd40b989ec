/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host patterns: one form for each, so that the merge and the egress proxy compare text. Numbers
 * that only some resolvers take for an address (0x7f.1, 127.1) are refused.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include <arpa/inet.h>

#include "policy/entry.h"

#define HOST_MAX 253

/* Cut ":port" off `host` (a copy); *port is 0 if there is none. */
static int split_port(char *host, unsigned *port)
{
	char *colon = strrchr(host, ':');
	unsigned v = 0;

	*port = 0;
	if (*host == '[') {
		char *end = strchr(host, ']');

		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		colon = end[1] ? end + 1 : NULL;
		*end = '\0';
	} else if (colon && strchr(host, ':') != colon) {
		return 0; /* an IPv6 address without brackets */
	}
	if (!colon)
		return 0;
	*colon++ = '\0';
	if (!*colon)
		return -EINVAL;
	for (; isdigit((unsigned char)*colon) && v <= UINT16_MAX; colon++)
		v = v * 10 + (unsigned)(*colon - '0');
	if (*colon || !v || v > UINT16_MAX)
		return -EINVAL;
	*port = v;
	return 0;
}

static bool name_ok(const char *name)
{
	const char *last = name;

	if (!*name || strlen(name) > HOST_MAX)
		return false;
	for (const char *p = name;; p++) {
		size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789-_");

		if (!n || n > 63 || p[0] == '-' || p[n - 1] == '-')
			return false;
		last = p;
		p += n;
		if (!*p)
			break;
		if (*p != '.')
			return false;
	}
	/* a last label that reads as a number belongs to an address, not to a name */
	if (!strncmp(last, "0x", 2) && !last[2 + strspn(last + 2, "0123456789abcdef")])
		return false;
	return last[strspn(last, "0123456789")] != '\0';
}

/* "*.x" and ".x" give "x" and the prefix; everything else no prefix. */
static const char *split_wild(const char **host)
{
	if (!strncmp(*host, "*.", 2)) {
		*host += 2;
		return "*.";
	}
	if (**host == '.') {
		*host += 1;
		return ".";
	}
	return "";
}

static const char *with_port(
	struct bawn_arena *a, const char *host, const char *prefix, bool brackets, unsigned port)
{
	if (!port)
		return bawn_arena_printf(a, "%s%s", prefix, host);
	return bawn_arena_printf(
		a, "%s%s%s%s:%u", prefix, brackets ? "[" : "", host, brackets ? "]" : "", port);
}

int bawn_host_clean(struct bawn_arena *a, const char *raw, const char **ret)
{
	char address[INET6_ADDRSTRLEN];
	unsigned char binary[16];
	const char *host, *prefix;
	char *copy;
	unsigned port;
	size_t len = strlen(raw);
	bool bracket = *raw == '[';

	if (len > HOST_MAX + 10)
		return -EINVAL;
	copy = bawn_arena_strdup(a, raw);
	if (!copy)
		return -ENOMEM;
	for (char *p = copy; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (split_port(copy, &port) < 0)
		return -EINVAL;
	host = copy + bracket;
	if (inet_pton(AF_INET6, host, binary) == 1) {
		if (!inet_ntop(AF_INET6, binary, address, sizeof(address)))
			return -EINVAL;
		*ret = with_port(a, address, "", true, port);
		return *ret ? 0 : -ENOMEM;
	}
	if (bracket)
		return -EINVAL;
	prefix = split_wild(&host);
	len = strlen(host);
	if (len > 1 && host[len - 1] == '.')
		copy[host - copy + (ptrdiff_t)len - 1] = '\0';
	if (*prefix || (inet_pton(AF_INET, host, binary) != 1 && strcmp(host, "*") != 0))
		if (!name_ok(host))
			return -EINVAL;
	*ret = with_port(a, host, prefix, false, port);
	return *ret ? 0 : -ENOMEM;
}

/* Where ":port" starts in a cleaned pattern, or its end. */
static const char *port_of(const char *host)
{
	const char *colon = strrchr(host, ':');

	if (colon && *host != '[' && strchr(host, ':') != colon)
		colon = NULL;
	return colon ? colon : host + strlen(host);
}

static bool suffix_is(const char *text, size_t len, const char *suffix, size_t n)
{
	return len >= n && !strncmp(text + len - n, suffix, n);
}

bool bawn_host_within(const char *inner, const char *outer)
{
	const char *inner_port = port_of(inner), *outer_port = port_of(outer);
	size_t n = (size_t)(inner_port - inner), m = (size_t)(outer_port - outer);

	if (*outer_port && strcmp(inner_port, outer_port) != 0)
		return false;
	if (*inner == '[') { /* [::1]:443 lies in ::1 */
		inner++;
		n -= 2;
	}
	if (*outer == '[') {
		outer++;
		m -= 2;
	}
	if (n == m && !strncmp(inner, outer, n))
		return true;
	if (m == 1 && *outer == '*')
		return true;
	if (m > 2 && outer[0] == '*' && outer[1] == '.') /* below, but not the name itself */
		return n > m - 1 && suffix_is(inner, n, outer + 1, m - 1);
	if (m > 1 && outer[0] == '.')
		return suffix_is(inner, n, outer, m) ||
		       (n == m - 1 && !strncmp(inner, outer + 1, n));
	return false;
}
