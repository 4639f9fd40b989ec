/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a rule, taken apart once when rules are compiled. Whatever could be meant in two ways
 * is an error here: a rule that is read wider than it was meant is a hole in the wall.
 */
#include "egress/rule.h"

#include <errno.h>

#include "base/digit.h"

#define PATH_MAX_CHECKED 8192

struct cursor {
	const char *text; /* the whole rule, for messages */
	const char *p, *end;
	bool block;
	struct bawn_error *err;
};

static int bad(const struct cursor *c, const char *why)
{
	return bawn_fail(
		c->err, BAWN_ERR_POLICY, -EINVAL, "rule '%.*s': %s", BAWN_RULE_MAX, c->text, why);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int check_bytes(const struct cursor *c)
{
	if (c->p == c->end)
		return bawn_fail(c->err, BAWN_ERR_POLICY, -EINVAL, "a rule is empty");
	for (const char *p = c->p; p < c->end; p++)
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
			return bawn_fail(c->err, BAWN_ERR_POLICY, -EINVAL,
				"a rule has control characters in it");
	if (c->end - c->p > BAWN_RULE_MAX)
		return bad(c, "longer than 299 bytes");
	return 0;
}

/* "GET,HEAD " in front; methods are case-sensitive, so lower-case ones would never match. */
static int take_methods(struct cursor *c, const char **ret, size_t *ret_len)
{
	const char *p = c->p;
	bool empty = true;

	while (p < c->end && !is_blank(*p))
		p++;
	*ret = NULL;
	*ret_len = 0;
	if (p == c->end)
		return 0;
	for (const char *m = c->p; m < p; m++) {
		if (*m == ',' && empty)
			return bad(c, "an empty method");
		if (*m != ',' && *m != '-' && (*m < 'A' || *m > 'Z'))
			return bad(c, "methods are capital letters, separated by commas");
		empty = *m == ',';
	}
	if (empty)
		return bad(c, "an empty method");
	*ret = c->p;
	*ret_len = (size_t)(p - c->p);
	while (p < c->end && is_blank(*p))
		p++;
	c->p = p;
	for (; p < c->end; p++)
		if (is_blank(*p))
			return bad(c, "only one blank, between methods and host");
	return 0;
}

/* Where the host ends: brackets, an IPv6 address without them, or the first of ':' and '/'. */
static const char *host_end(const struct cursor *c)
{
	const char *slash = memchr(c->p, '/', (size_t)(c->end - c->p));
	const char *stop = slash ? slash : c->end;
	const char *colon = memchr(c->p, ':', (size_t)(stop - c->p));

	if (*c->p == '[') {
		const char *close = memchr(c->p, ']', (size_t)(stop - c->p));

		return close ? close + 1 : stop;
	}
	if (colon && memchr(colon + 1, ':', (size_t)(stop - colon - 1)))
		return stop;
	return colon ? colon : stop;
}

/* "10.*", "192.168.*": whole octets, so that 110.0.0.1 is not in the first. */
static bool octets(const char *p, size_t len, struct bawn_rule *r)
{
	unsigned v = 0, digits = 0, n = 0;

	if (len < 3 || p[len - 1] != '*' || p[len - 2] != '.')
		return false;
	for (size_t i = 0; i < len - 1; i++) {
		if (p[i] == '.') {
			if (!digits || v > 255 || n == 3)
				return false;
			r->addr[n++] = (uint8_t)v;
			v = digits = 0;
		} else if (p[i] >= '0' && p[i] <= '9' && digits < 3) {
			if (digits == 1 && v == 0)
				return false;
			v = v * 10 + (unsigned)(p[i] - '0');
			digits++;
		} else {
			return false;
		}
	}
	r->kind = BAWN_RULE_ADDRESS;
	r->family = AF_INET;
	r->bits = (uint8_t)(8 * n);
	return true;
}

/* "/8" behind an address, if nothing but a port or a path follows. */
static int take_bits(struct cursor *c, bool colons, struct bawn_rule *r)
{
	unsigned max = r->family == AF_INET ? 32 : 128, v = 0;
	const char *p = c->p + 1;

	r->bits = (uint8_t)max;
	if (c->p == c->end || *c->p != '/')
		return 0;
	while (p < c->end && *p >= '0' && *p <= '9' && v < 1000)
		v = v * 10 + (unsigned)(*p++ - '0');
	if (p == c->p + 1 || (p < c->end && *p != ':' && *p != '/'))
		return 0;
	if (v > max || (colons && r->family == AF_INET))
		return bad(c, "the block has more bits than the address");
	for (unsigned i = v; i < max; i++)
		if (r->addr[i / 8] & (0x80 >> i % 8))
			return bad(c,
				"the address has bits outside of the block; a path needs a port "
				"before it");
	r->bits = (uint8_t)v;
	c->p = p;
	return 0;
}

/* Whether naming these addresses opens them: a block like 0.0.0.0/0 names none in particular. */
static bool nameable(const struct bawn_rule *r)
{
	uint8_t last[16];
	enum bawn_address_class c = bawn_address_classify(r->family, r->addr);

	memcpy(last, r->addr, sizeof(last));
	for (unsigned i = r->bits; i < (r->family == AF_INET ? 32 : 128); i++)
		last[i / 8] |= (uint8_t)(0x80 >> i % 8);
	return c == bawn_address_classify(r->family, last) &&
	       (c == BAWN_ADDR_PRIVATE || c == BAWN_ADDR_CGNAT || c == BAWN_ADDR_TEST);
}

static int take_host(struct cursor *c, struct bawn_rule *r, struct bawn_host *host)
{
	const char *end = host_end(c), *p = c->p;
	size_t len = (size_t)(end - p);
	struct bawn_error why;

	c->p = end;
	if (len == 1 && *p == '*')
		return 0;
	if (octets(p, len, r))
		return 0;
	r->self = true;
	if (len > 1 && (*p == '.' || (*p == '*' && p[1] == '.'))) {
		r->self = *p == '*';
		r->below = true;
		p += r->self ? 2 : 1;
		len = (size_t)(end - p);
	}
	if (memchr(p, '*', len))
		return bad(c, "a wildcard stands for whole labels in front: '*.example.org'");
	if (bawn_host_parse(p, len, host, &why) < 0)
		return bad(c, why.msg);
	if (host->kind == BAWN_HOST_NAME) {
		r->kind = BAWN_RULE_NAME;
		if (r->below && !strchr(host->text, '.') && !c->block)
			return bad(c,
				"a wildcard for a whole top-level domain; name a domain below it");
		return 0;
	}
	if (r->below)
		return bad(c, "a wildcard in front of an address; write a block like '10.0.0.0/8'");
	r->kind = BAWN_RULE_ADDRESS;
	r->family = host->kind == BAWN_HOST_V4 ? AF_INET : AF_INET6;
	memcpy(r->addr, host->addr, sizeof(r->addr));
	return take_bits(c, memchr(p, ':', len) != NULL, r);
}

static int take_port(struct cursor *c, struct bawn_rule *r)
{
	unsigned v = 0;

	if (c->p == c->end || *c->p == '/') {
		r->any_port = c->block;
		return 0;
	}
	if (*c->p != ':')
		return bad(c, "only a port or a path can follow the host");
	c->p++;
	if (c->p < c->end && *c->p == '*') {
		r->any_port = true;
		c->p++;
	} else {
		const char *start = c->p;

		while (c->p < c->end && *c->p >= '0' && *c->p <= '9' && v <= UINT16_MAX)
			v = v * 10 + (unsigned)(*c->p++ - '0');
		if (c->p == start || !v || v > UINT16_MAX)
			return bad(c, "the port is a number from 1 to 65535 or '*'");
		r->port = (uint16_t)v;
	}
	return c->p == c->end || *c->p == '/' ? 0 : bad(c, "only a path can follow the port");
}

/* What a path glob may not have: it is compared with the decoded path, without the query. */
static int check_path(const struct cursor *c)
{
	for (const char *p = c->p; p < c->end; p++) {
		if (*p == '%' || *p == '\\' || *p == '?' || *p == '#' || *p == ';')
			return bad(c, "a path is written decoded and without a query");
		if (*p != '/')
			continue;
		if (p + 1 < c->end && p[1] == '/')
			return bad(c, "a path with '//' never matches");
		if (p + 1 < c->end && p[1] == '.') {
			const char *q = p + (p + 2 < c->end && p[2] == '.' ? 3 : 2);

			if (q == c->end || *q == '/')
				return bad(c, "a path with '.' or '..' never matches");
		}
	}
	return 0;
}

static char *put(char **dst, const char *s, size_t len)
{
	char *at = *dst;

	if (!s)
		return NULL;
	memcpy(at, s, len);
	at[len] = '\0';
	*dst += len + 1;
	return at;
}

int bawn_rule_parse(const char *text, bool block, struct bawn_rule *ret, struct bawn_error *err)
{
	struct cursor c = {text, text, text + strlen(text), block, err};
	struct bawn_rule r = {.kind = BAWN_RULE_ANY};
	struct bawn_host host = {0};
	const char *methods, *start;
	size_t methods_len;
	char *mem;

	while (c.p < c.end && is_blank(*c.p))
		c.p++;
	while (c.end > c.p && is_blank(c.end[-1]))
		c.end--;
	start = c.p;
	if (check_bytes(&c) < 0 || take_methods(&c, &methods, &methods_len) < 0)
		return -EINVAL;
	for (const char *p = c.p; p + 2 < c.end; p++)
		if (memcmp(p, "://", 3) == 0)
			return bad(&c, "write the host without a scheme");
	if (take_host(&c, &r, &host) < 0 || take_port(&c, &r) < 0 || check_path(&c) < 0)
		return -EINVAL;
	r.nameable = r.kind == BAWN_RULE_ADDRESS && nameable(&r);

	mem = malloc((size_t)(c.end - start) + strlen(host.text) + methods_len +
		     (size_t)(c.end - c.p) + 4);
	if (!mem)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	r.text = put(&mem, start, (size_t)(c.end - start));
	r.name = put(&mem, host.text, strlen(host.text));
	r.methods = put(&mem, methods, methods_len);
	r.path = put(&mem, c.p < c.end ? c.p : NULL, (size_t)(c.end - c.p));
	*ret = r;
	return 0;
}

void bawn_rule_done(struct bawn_rule *r)
{
	free(r->text);
	r->text = NULL;
}

static bool method_in(const char *list, const char *method)
{
	size_t n = strlen(method);

	for (const char *p = list; *p;) {
		const char *comma = strchrnul(p, ',');

		if ((size_t)(comma - p) == n && memcmp(p, method, n) == 0)
			return true;
		p = *comma ? comma + 1 : comma;
	}
	return false;
}

/* One byte of a path, decoded; negative if servers would not agree what it is. */
static int path_byte(const char **p)
{
	int hi, lo, v = (unsigned char)*(*p)++;

	if (v == '\\' || v == ';' || v < ' ' || v == 0x7f)
		return -1;
	if (v != '%')
		return v;
	hi = bawn_digit16(**p);
	if (hi < 0)
		return -1;
	lo = bawn_digit16((*p)[1]);
	if (lo < 0)
		return -1;
	*p += 2;
	v = hi * 16 + lo;
	return v == '/' || v == '\\' || v == ';' || v == '%' || v < ' ' || v == 0x7f ? -1 : v;
}

static bool is_dots(const char *s, size_t len)
{
	return (len == 1 && s[0] == '.') || (len == 2 && s[0] == '.' && s[1] == '.');
}

/* The path up to the query, decoded. False when there is more than one way to read it: dot
 * segments, empty segments, encoded separators, parameters, double encoding. */
static bool path_decode(const char *path, char *dst, size_t size)
{
	size_t n = 0, segment = 0;

	while (*path && *path != '?') {
		int v = path_byte(&path);

		if (v < 0 || n + 1 >= size)
			return false;
		if (v == '/' && n > 0) {
			if (n == segment || is_dots(dst + segment, n - segment))
				return false;
		}
		dst[n++] = (char)v;
		if (v == '/')
			segment = n;
	}
	dst[n] = '\0';
	return n > 0 && dst[0] == '/' && !is_dots(dst + segment, n - segment);
}

/* `*` is any run of bytes; goes back to the last `*` only, so the time is bounded. */
static bool path_matches(const char *pattern, const char *s)
{
	const char *star = NULL, *from = NULL;

	while (*s) {
		if (*pattern == '*') {
			star = ++pattern;
			from = s;
		} else if (*pattern == *s) {
			pattern++;
			s++;
		} else if (star) {
			pattern = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static enum bawn_rule_fit fit_path(const struct bawn_rule *r, const char *path)
{
	char decoded[PATH_MAX_CHECKED];

	if (!path || !path_decode(path, decoded, sizeof(decoded)))
		return BAWN_FIT_ODD_PATH;
	return path_matches(r->path, decoded) ? BAWN_FIT_YES : BAWN_FIT_NOT_PATH;
}

enum bawn_rule_fit bawn_rule_fit(
	const struct bawn_rule *r, bool block, const struct bawn_egress_ask *ask)
{
	bool limited = r->methods || r->path;
	enum bawn_rule_fit fit;

	/* Resolving is needed if anything of the host is allowed, and not if nothing is. */
	if (ask->way == BAWN_WAY_DNS)
		return !block || (r->any_port && !limited) ? BAWN_FIT_YES : BAWN_FIT_NOT_PORT;
	if (!r->any_port && (r->port ? ask->port != r->port : ask->port != 80 && ask->port != 443))
		return BAWN_FIT_NOT_PORT;
	if (!limited)
		return BAWN_FIT_YES;
	if (ask->way != BAWN_WAY_HTTP)
		return block ? BAWN_FIT_YES : BAWN_FIT_NOT_TUNNEL;
	if (r->methods && (!ask->method || !method_in(r->methods, ask->method)))
		return BAWN_FIT_NOT_METHOD;
	if (!r->path)
		return BAWN_FIT_YES;
	fit = fit_path(r, ask->path);
	return block && fit == BAWN_FIT_ODD_PATH ? BAWN_FIT_YES : fit;
}
