/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about hosts: text to fields and back, and which rule lies inside which. One form for each,
 * so that the merge of policies and the door read the same thing. Numbers that only some resolvers
 * take for an address (0x7f.1, 127.1) are refused.
 */
#include "base/netrule.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include <arpa/inet.h>

#include "base/path.h"

#define NAME_MAX_LEN 253

static int bad(const char **why, const char *what)
{
	*why = what;
	return -EINVAL;
}

/* ---- the parts of a rule; each takes its text from *p and moves behind it ---- */

/* "GET,HEAD": letters and '-', separated by single commas. */
static bool methods_ok(const char *m)
{
	for (;; m++) {
		size_t n = strspn(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");

		if (!n)
			return false;
		m += n;
		if (*m != ',')
			return !*m;
	}
}

static int take_methods(const char **p, struct bawn_netrule *r, const char **why)
{
	size_t n = strcspn(*p, " ");

	if (!(*p)[n])
		return 0;
	if (n >= sizeof(r->methods))
		return bad(why, "too many methods");
	for (size_t i = 0; i < n; i++)
		r->methods[i] = (char)toupper((unsigned char)(*p)[i]);
	if (!methods_ok(r->methods))
		return bad(why, "the word before the space is no list of methods");
	*p += n + 1;
	return 0;
}

static int take_bits(const char **p, struct bawn_netrule *r, const char **why)
{
	unsigned max = r->family == AF_INET ? 32 : 128, v = 0;
	size_t n = **p == '/' ? strspn(*p + 1, "0123456789") : 0;

	r->bits = max;
	/* "/8" and what may follow a block; anything else is a path */
	if (!n || ((*p)[n + 1] && !strchr(":/", (*p)[n + 1])))
		return 0;
	for (size_t i = 1; i <= n && v <= max; i++)
		v = v * 10 + (unsigned)((*p)[i] - '0');
	if (v > max)
		return bad(why, "the length of the block is too large");
	r->bits = v;
	for (unsigned i = v; i < max; i++)
		if (r->addr[i / 8] & (0x80u >> (i % 8)))
			return bad(why, "bits are set behind the length of the block");
	*p += n + 1;
	return 0;
}

static bool label_is_number(const char *s)
{
	if (!strncmp(s, "0x", 2) && !s[2 + strspn(s + 2, "0123456789abcdef")])
		return true;
	return !s[strspn(s, "0123456789")];
}

static bool name_ok(const char *name)
{
	const char *last = name;

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
	return !label_is_number(last);
}

/* Take "*." or "." off; what is left is a name. */
static enum bawn_netrule_kind take_wildcard(const char **text, size_t *len)
{
	size_t n = 0;

	if (*len > 2 && (*text)[0] == '*' && (*text)[1] == '.')
		n = 2;
	else if (*len > 1 && **text == '.')
		n = 1;
	*text += n;
	*len -= n;
	return n == 2 ? BAWN_NETRULE_TREE : n ? BAWN_NETRULE_BELOW : BAWN_NETRULE_NAME;
}

static char lower_of(char c)
{
	return (char)tolower((unsigned char)c);
}

/* False for what is not ASCII. */
static bool lower(const char *text, size_t len, char *dst)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] >= 0x80)
			return false;
		dst[i] = lower_of(text[i]);
	}
	dst[len] = '\0';
	return true;
}

static int take_name(const char *text, size_t len, struct bawn_netrule *r, const char **why)
{
	if (len == 1 && *text == '*') {
		r->kind = BAWN_NETRULE_ANY;
		return 0;
	}
	r->kind = take_wildcard(&text, &len);
	if (len > 1 && text[len - 1] == '.')
		len--;
	if (len > NAME_MAX_LEN)
		return bad(why, "the name is too long");
	if (!lower(text, len, r->name))
		return bad(why, "write the name in its ASCII form, xn--…");
	return name_ok(r->name) ? 0 : bad(why, "not a host name or address");
}

/* ::ffff:a.b.c.d is a.b.c.d, and nothing else. */
static int unmap(struct bawn_netrule *r, const char **why)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (memcmp(r->addr, mapped, sizeof(mapped)) != 0)
		return 0;
	if (r->bits != 128)
		return bad(why, "write the block as IPv4");
	memmove(r->addr, r->addr + sizeof(mapped), 4);
	memset(r->addr + 4, 0, sizeof(mapped));
	r->family = AF_INET;
	r->bits = 32;
	return 0;
}

static int take_host(const char **p, struct bawn_netrule *r, const char **why)
{
	size_t len = strcspn(*p, "/");
	bool bracket = **p == '[';
	const char *start = *p + bracket;
	char text[NAME_MAX_LEN + 16];

	if (bracket) {
		len = strcspn(start, "]");
		if (!start[len])
			return bad(why, "the bracket is not closed");
	} else if (memchr(*p, ':', len) == memrchr(*p, ':', len)) {
		len = strcspn(*p, ":/");
	}
	if (!len || len >= sizeof(text))
		return bad(why, len ? "the name is too long" : "there is no host");
	memcpy(text, start, len);
	text[len] = '\0';
	*p = start + len + bracket;
	r->kind = BAWN_NETRULE_BLOCK;
	r->family = AF_INET6;
	if (inet_pton(AF_INET6, text, r->addr) == 1)
		return take_bits(p, r, why) < 0 ? -EINVAL : unmap(r, why);
	if (bracket)
		return bad(why, "not an IPv6 address in brackets");
	r->family = AF_INET;
	if (inet_pton(AF_INET, text, r->addr) == 1)
		return take_bits(p, r, why);
	r->family = 0;
	return take_name(text, len, r, why);
}

static int take_port(const char **p, struct bawn_netrule *r, const char **why)
{
	const char *s = *p;
	unsigned v = 0;

	if (*s != ':')
		return 0;
	if (s[1] == '*') {
		r->any_port = true;
		*p = s + 2;
		return 0;
	}
	for (s++; isdigit((unsigned char)*s) && v <= UINT16_MAX; s++)
		v = v * 10 + (unsigned)(*s - '0');
	if (!v || v > UINT16_MAX)
		return bad(why, "the port is not 1 to 65535 or *");
	r->port = (uint16_t)v;
	*p = s;
	return 0;
}

/* A component that is "." or "..". */
static bool has_dots(const char *path)
{
	for (const char *p = path; (p = strchr(p, '/')); p++) {
		size_t n = strcspn(p + 1, "/");

		if (n && n <= 2 && strspn(p + 1, ".") >= n)
			return true;
	}
	return false;
}

static int take_path(const char **p, struct bawn_netrule *r, const char **why)
{
	size_t n = strlen(*p);

	if (n && **p != '/')
		return bad(why, "not a host name or address");
	if (n >= sizeof(r->path))
		return bad(why, "the path is too long");
	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)(*p)[i]) || strchr("%\\?#;", (*p)[i]))
			return bad(why, "a path is written decoded and without a query");
	if (strstr(*p, "//") || has_dots(*p))
		return bad(why, "a path with '//', '.' or '..' never matches");
	memcpy(r->path, *p, n + 1);
	return 0;
}

int bawn_netrule_parse(const char *text, struct bawn_netrule *ret, const char **why)
{
	static int (*const parts[])(const char **, struct bawn_netrule *, const char **) = {
		take_methods, take_host, take_port, take_path};
	struct bawn_netrule r = {0};

	if (strlen(text) > BAWN_NETRULE_MAX)
		return bad(why, "longer than 299 bytes");
	if (strstr(text, "://"))
		return bad(why, "a rule has no scheme: write the host");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int e = parts[i](&text, &r, why);

		if (e < 0)
			return e;
	}
	*ret = r;
	return 0;
}

bool bawn_netrule_is_wide(const struct bawn_netrule *r)
{
	return (r->kind == BAWN_NETRULE_TREE || r->kind == BAWN_NETRULE_BELOW) &&
	       !strchr(r->name, '.');
}

/* ---- and back ---- */

static void format_host(const struct bawn_netrule *r, char *dst, size_t size)
{
	static const char *const wild[] = {
		[BAWN_NETRULE_NAME] = "",
		[BAWN_NETRULE_TREE] = "*.",
		[BAWN_NETRULE_BELOW] = ".",
	};
	bool v6 = r->family == AF_INET6;
	/* a path that looks like a length must not be taken for it */
	bool whole =
		r->bits == (v6 ? 128u : 32u) && (!*r->path || !isdigit((unsigned char)r->path[1]));
	bool bracket = v6 && (r->port || r->any_port || *r->path);
	char address[INET6_ADDRSTRLEN], bits[8] = "";

	if (r->kind == BAWN_NETRULE_ANY) {
		(void)snprintf(dst, size, "*");
		return;
	}
	if (r->kind != BAWN_NETRULE_BLOCK) {
		(void)snprintf(dst, size, "%s%s", wild[r->kind], r->name);
		return;
	}
	(void)inet_ntop(r->family, r->addr, address, sizeof(address));
	if (!whole)
		(void)snprintf(bits, sizeof(bits), "/%u", r->bits);
	(void)snprintf(
		dst, size, "%s%s%s%s", bracket ? "[" : "", address, bracket ? "]" : "", bits);
}

void bawn_netrule_format(const struct bawn_netrule *r, char dst[BAWN_NETRULE_TEXT_MAX])
{
	char host[NAME_MAX_LEN + 8], port[8] = "";

	format_host(r, host, sizeof(host));
	if (r->any_port)
		(void)snprintf(port, sizeof(port), ":*");
	else if (r->port)
		(void)snprintf(port, sizeof(port), ":%u", r->port);
	(void)snprintf(dst, BAWN_NETRULE_TEXT_MAX, "%s%s%s%s%s", r->methods, *r->methods ? " " : "",
		host, port, r->path);
}

/* ---- what lies in what ---- */

static bool is_below(const char *name, const char *top)
{
	size_t n = strlen(name), m = strlen(top);

	return n > m + 1 && name[n - m - 1] == '.' && !strcmp(name + n - m, top);
}

bool bawn_netrule_has_name(const struct bawn_netrule *r, const char *name)
{
	switch (r->kind) {
	case BAWN_NETRULE_ANY:
		return true;
	case BAWN_NETRULE_NAME:
		return !strcmp(name, r->name);
	case BAWN_NETRULE_TREE:
		return !strcmp(name, r->name) || is_below(name, r->name);
	case BAWN_NETRULE_BELOW:
		return is_below(name, r->name);
	case BAWN_NETRULE_BLOCK:
		return false;
	}
	return false;
}

bool bawn_netrule_has_address(const struct bawn_netrule *r, int family, const uint8_t *addr)
{
	if (r->kind == BAWN_NETRULE_ANY)
		return true;
	if (r->kind != BAWN_NETRULE_BLOCK || r->family != family)
		return false;
	for (unsigned i = 0; i < r->bits; i++)
		if ((r->addr[i / 8] ^ addr[i / 8]) & (0x80u >> (i % 8)))
			return false;
	return true;
}

bool bawn_netrule_has_port(const struct bawn_netrule *r, uint16_t port)
{
	if (r->any_port)
		return true;
	return r->port ? r->port == port : port == 80 || port == 443;
}

static bool has_method(const char *list, const char *method, size_t n)
{
	for (const char *p = list; *p; p += strspn(p, ",")) {
		size_t m = strcspn(p, ",");

		if (m == n && !strncmp(p, method, n))
			return true;
		p += m;
	}
	return false;
}

bool bawn_netrule_has_method(const struct bawn_netrule *r, const char *method)
{
	return !*r->methods || has_method(r->methods, method, strlen(method));
}

static bool methods_within(const char *in, const char *out)
{
	if (!*out)
		return true;
	for (const char *p = in; *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ",");

		if (!has_method(out, p, n))
			return false;
		p += n;
	}
	return *in != '\0';
}

static bool host_within(const struct bawn_netrule *in, const struct bawn_netrule *out)
{
	switch (in->kind) {
	case BAWN_NETRULE_ANY:
		return out->kind == BAWN_NETRULE_ANY;
	case BAWN_NETRULE_NAME:
		return bawn_netrule_has_name(out, in->name);
	case BAWN_NETRULE_TREE: /* its top must be in as well */
		return out->kind != BAWN_NETRULE_NAME && bawn_netrule_has_name(out, in->name);
	case BAWN_NETRULE_BELOW:
		return out->kind != BAWN_NETRULE_NAME &&
		       (bawn_netrule_has_name(out, in->name) ||
			       (out->kind == BAWN_NETRULE_BELOW && !strcmp(in->name, out->name)));
	case BAWN_NETRULE_BLOCK:
		return (out->kind == BAWN_NETRULE_ANY || in->bits >= out->bits) &&
		       bawn_netrule_has_address(out, in->family, in->addr);
	}
	return false;
}

static bool ports_within(const struct bawn_netrule *in, const struct bawn_netrule *out)
{
	if (out->any_port || in->any_port)
		return out->any_port;
	if (in->port)
		return bawn_netrule_has_port(out, in->port);
	return !out->port;
}

bool bawn_netrule_within(const struct bawn_netrule *in, const struct bawn_netrule *out)
{
	bool path = !*out->path || !strcmp(in->path, out->path) ||
		    (*in->path && bawn_glob_match(out->path, in->path));

	return host_within(in, out) && ports_within(in, out) &&
	       methods_within(in->methods, out->methods) && path;
}
