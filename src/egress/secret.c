/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets and what they are bound to. Whatever could send a value further than was meant is an
 * error when the door starts: a binding to everybody, a header that decides where a request goes,
 * a value that would end a header.
 */
#include "egress/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sys/mman.h>

#include "egress/http_bytes.h"

#define NAME_MAX_LEN 64
#define HOLDER_MIN   16
#define HOLDER_MAX   255
#define VALUE_MAX    8192
#define TLS_PORT     443
#define PLAIN_PORT   80
#define BASIC_MAX    ((size_t)BAWN_HTTP_HEAD_MAX / 4 * 3)

/* Where a request goes and where it ends; and what stays on this hop. */
static const char *const never[] = {"host", "content-length", "transfer-encoding", "connection",
	"te", "trailer", "upgrade", "expect", "keep-alive", "accept-encoding", "accept-charset",
	"range", "if-range"};

static int bad(struct bawn_error *err, const struct bawn_egress_secret *e, const char *why)
{
	return bawn_fail(
		err, BAWN_ERR_POLICY, -EINVAL, "secret '%.64s': %s", e->name ? e->name : "", why);
}

static bool printable(const char *s, char least)
{
	for (; *s; s++)
		if (*s < least || *s > '~')
			return false;
	return true;
}

static bool name_fine(const char *s)
{
	size_t n = s ? strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
		     : 0;

	return n && n <= NAME_MAX_LEN && !s[n] && (s[0] < '0' || s[0] > '9');
}

static int check_texts(const struct bawn_egress_secret *e, struct bawn_error *err)
{
	size_t n = e->placeholder ? strlen(e->placeholder) : 0;

	if (!name_fine(e->name))
		return bawn_fail(err, BAWN_ERR_POLICY, -EINVAL,
			"a secret's name is a letter or '_', then letters, digits and '_'");
	if (n < HOLDER_MIN || n > HOLDER_MAX || !printable(e->placeholder, '!'))
		return bad(err, e, "the placeholder is 16 to 255 printable characters");
	n = e->value ? strlen(e->value) : 0;
	if (!n || n > VALUE_MAX || !printable(e->value, ' '))
		return bad(err, e,
			"a value that goes into a header is 1 to 8192 printable ASCII characters");
	if (strstr(e->value, e->placeholder))
		return bad(err, e, "the value has its placeholder in it");
	return 0;
}

static bool header_fine(const char *h)
{
	size_t n = strlen(h);

	if (!n || n > NAME_MAX_LEN || !strncasecmp(h, "proxy-", 6))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!bawn_http_is_token((uint8_t)h[i]))
			return false;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (!strcasecmp(h, never[i]))
			return false;
	return true;
}

/* Copies into the locked mapping, which was made large enough. */
static struct bawn_slice keep(struct bawn_secrets *s, const char *text)
{
	size_t n = strlen(text);
	char *at = s->mem + s->used;

	memcpy(at, text, n + 1);
	s->used += n + 1;
	return (struct bawn_slice){at, n};
}

static int take_headers(struct bawn_secrets *s, struct bawn_secret *to,
	const struct bawn_egress_secret *e, struct bawn_error *err)
{
	static const char *const usual[] = {"authorization", NULL};
	const char *const *v = e->headers && e->headers[0] ? e->headers : usual;

	for (; *v; v++) {
		if (!header_fine(*v))
			return bad(err, e,
				"a header name is not one, or is one that a value cannot go into");
		if (to->n_headers == BAWN_SECRET_HEADERS_MAX)
			return bad(err, e, "more than 16 headers");
		to->headers[to->n_headers++] = keep(s, *v);
	}
	return 0;
}

static const char *host_objection(const struct bawn_rule *r)
{
	if (r->methods || r->path)
		return "a host it is bound to is 'HOST' or 'HOST:PORT', without method or path";
	if (r->kind == BAWN_RULE_ANY)
		return "it is bound to every host; name the hosts that may see it";
	if (r->kind == BAWN_RULE_ADDRESS && r->bits != (r->family == AF_INET ? 32 : 128))
		return "it is bound to a block of addresses; name the hosts that may see it";
	return NULL;
}

static int take_hosts(
	struct bawn_secret *to, const struct bawn_egress_secret *e, struct bawn_error *err)
{
	size_t n = 0;

	while (e->hosts && e->hosts[n])
		n++;
	if (!n || n > BAWN_SECRET_HOSTS_MAX)
		return bad(err, e, "it is bound to 1 to 64 hosts");
	to->hosts = calloc(n, sizeof(to->hosts[0]));
	if (!to->hosts)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const char *why;
		int r = bawn_rule_parse(e->hosts[i], false, &to->hosts[i], err);

		if (r < 0)
			return bawn_error_wrap(err, "secret '%s'", e->name);
		to->n_hosts++;
		why = host_objection(&to->hosts[i]);
		if (why)
			return bad(err, e, why);
	}
	return 0;
}

static int take(struct bawn_secrets *s, const struct bawn_egress_secret *e, struct bawn_error *err)
{
	struct bawn_secret *to = &s->v[s->n++];
	int r;

	to->name = keep(s, e->name).p;
	to->placeholder = keep(s, e->placeholder);
	to->value = keep(s, e->value);
	r = take_headers(s, to, e, err);
	if (r >= 0)
		r = take_hosts(to, e, err);
	for (size_t i = 0; r >= 0 && i + 1 < s->n; i++)
		if (strstr(s->v[i].placeholder.p, to->placeholder.p) ||
			strstr(to->placeholder.p, s->v[i].placeholder.p))
			r = bad(err, e, "its placeholder is part of another one");
	return r;
}

/* One mapping for all: what is locked and wiped as a whole cannot be forgotten in part. */
static int map(struct bawn_secrets *s, const struct bawn_egress_secret *v, size_t n)
{
	s->size = 64;
	for (size_t i = 0; i < n; i++) {
		s->size += strlen(v[i].name) + strlen(v[i].placeholder) + strlen(v[i].value) + 64;
		for (size_t k = 0; v[i].headers && v[i].headers[k]; k++)
			s->size += strlen(v[i].headers[k]) + 1;
	}
	s->mem = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->mem == MAP_FAILED) {
		s->mem = NULL;
		return -ENOMEM;
	}
	(void)mlock(s->mem, s->size); /* a limit of zero is no reason to have no network */
	(void)madvise(s->mem, s->size, MADV_DONTDUMP);
	(void)madvise(s->mem, s->size, MADV_WIPEONFORK);
	return 0;
}

static int fill(struct bawn_secrets *s, const struct bawn_egress_secret *v, size_t n,
	struct bawn_error *err)
{
	struct bawn_slice values[BAWN_EGRESS_SECRETS_MAX];
	size_t bytes = 0;
	int r = 0;

	if (!n || n > BAWN_EGRESS_SECRETS_MAX)
		return bawn_fail(err, BAWN_ERR_POLICY, -E2BIG, "more than %d secrets",
			BAWN_EGRESS_SECRETS_MAX);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = check_texts(&v[i], err);
		bytes += r >= 0 ? strlen(v[i].value) : 0;
	}
	if (r >= 0 && bytes > BAWN_EGRESS_SECRET_BYTES_MAX)
		r = bawn_fail(err, BAWN_ERR_POLICY, -E2BIG,
			"the values of the secrets are more than %d bytes together",
			BAWN_EGRESS_SECRET_BYTES_MAX);
	if (r >= 0 && map(s, v, n) < 0)
		r = bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = take(s, &v[i], err);
		values[i] = s->v[i].value;
	}
	if (r < 0)
		return r;
	s->mask = bawn_mask_set_new(values, n);
	return s->mask ? 0 : bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

int bawn_secrets_new(const struct bawn_egress_secret *v, size_t n, struct bawn_secrets **ret,
	struct bawn_error *err)
{
	struct bawn_secrets *s = calloc(1, sizeof(*s));
	int r = s ? fill(s, v, n, err)
		  : bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");

	if (r < 0) {
		(void)bawn_secrets_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct bawn_secrets *bawn_secrets_free(struct bawn_secrets *s)
{
	if (!s)
		return NULL;
	s->mask = bawn_mask_set_free(s->mask);
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->v[i].n_hosts; k++)
			bawn_rule_done(&s->v[i].hosts[k]);
		free(s->v[i].hosts);
	}
	if (s->mem) {
		explicit_bzero(s->mem, s->size);
		(void)munmap(s->mem, s->size);
	}
	free(s);
	return NULL;
}

static bool names_host(const struct bawn_rule *r, const struct bawn_host *h)
{
	size_t n, m;

	if (r->kind == BAWN_RULE_ADDRESS)
		return h->kind == (r->family == AF_INET ? BAWN_HOST_V4 : BAWN_HOST_V6) &&
		       bawn_address_in_block(h->addr, r->addr, r->bits);
	if (r->kind != BAWN_RULE_NAME || h->kind != BAWN_HOST_NAME)
		return false;
	n = strlen(h->text);
	m = strlen(r->name);
	if (n == m)
		return r->self && !memcmp(h->text, r->name, n);
	return r->below && n > m && h->text[n - m - 1] == '.' &&
	       !memcmp(h->text + n - m, r->name, m);
}

static bool bound(const struct bawn_secret *s, const struct bawn_secrets_where *w)
{
	for (size_t i = 0; i < s->n_hosts; i++) {
		const struct bawn_rule *r = &s->hosts[i];
		uint16_t port = r->port ? r->port : TLS_PORT;

		/* in the clear only where port 80 was named, never by a pattern for ports */
		if (w->tls ? w->port == PLAIN_PORT || (!r->any_port && port != w->port)
			   : w->port != PLAIN_PORT || r->port != PLAIN_PORT)
			continue;
		if (names_host(r, w->host))
			return true;
	}
	return false;
}

bool bawn_secrets_bound(
	const struct bawn_secrets *s, const struct bawn_host *host, uint16_t port, bool tls)
{
	const struct bawn_secrets_where w = {host, port, tls};

	for (size_t i = 0; s && i < s->n; i++)
		if (bound(&s->v[i], &w))
			return true;
	return false;
}

static bool in_header(const struct bawn_secret *s, struct bawn_slice name)
{
	for (size_t i = 0; i < s->n_headers; i++)
		if (s->headers[i].n == name.n && !strncasecmp(s->headers[i].p, name.p, name.n))
			return true;
	return false;
}

/* Which secrets may go into this header there. */
static uint32_t eligible(
	const struct bawn_secrets *s, const struct bawn_secrets_where *w, struct bawn_slice name)
{
	uint32_t set = 0;

	for (size_t i = 0; i < s->n; i++)
		if (in_header(&s->v[i], name) && bound(&s->v[i], w))
			set |= UINT32_C(1) << i;
	return set;
}

/* The secret of the set whose placeholder is at p; none: s->n. */
static size_t holder_at(const struct bawn_secrets *s, uint32_t set, struct bawn_slice text)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct bawn_slice *h = &s->v[i].placeholder;

		if (set >> i & 1 && h->n <= text.n && !memcmp(h->p, text.p, h->n))
			return i;
	}
	return s->n;
}

static int64_t replace(const struct bawn_secrets *s, uint32_t set, struct bawn_slice text,
	char *dst, size_t size, uint32_t *used)
{
	size_t out = 0;

	while (text.n) {
		size_t i = holder_at(s, set, text);
		struct bawn_slice add = i < s->n ? s->v[i].value : (struct bawn_slice){text.p, 1};
		size_t skip = i < s->n ? s->v[i].placeholder.n : 1;

		if (add.n > size - out)
			return -ENOBUFS;
		memcpy(dst + out, add.p, add.n);
		out += add.n;
		text.p += skip;
		text.n -= skip;
		if (i < s->n)
			*used |= UINT32_C(1) << i;
	}
	return (int64_t)out;
}

static const char digits64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Strictly: what a server might read differently is left alone. 0: no base64. */
static size_t decode64(struct bawn_slice in, char *dst)
{
	uint32_t bits = 0;
	size_t out = 0;
	size_t n = in.n;

	if (n % 4 || n / 4 * 3 > BASIC_MAX)
		return 0;
	for (int i = 0; i < 2 && n && in.p[n - 1] == '='; i++)
		n--;
	for (size_t i = 0; i < n; i++) {
		const char *at = in.p[i] ? strchr(digits64, in.p[i]) : NULL;

		if (!at)
			return 0;
		bits = bits << 6 | (uint32_t)(at - digits64);
		if (i % 4)
			dst[out++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	return out;
}

static int64_t encode64(struct bawn_slice in, char *dst, size_t size)
{
	size_t out = 0;

	if ((in.n + 2) / 3 * 4 > size)
		return -ENOBUFS;
	for (size_t i = 0; i < in.n; i += 3) {
		uint32_t b = (uint32_t)(uint8_t)in.p[i] << 16;

		if (i + 1 < in.n)
			b |= (uint32_t)(uint8_t)in.p[i + 1] << 8;
		if (i + 2 < in.n)
			b |= (uint8_t)in.p[i + 2];
		dst[out++] = digits64[b >> 18];
		dst[out++] = digits64[b >> 12 & 63];
		dst[out++] = digits64[b >> 6 & 63];
		dst[out++] = digits64[b & 63];
		if (i + 2 >= in.n)
			dst[out - 1] = '=';
		if (i + 1 >= in.n)
			dst[out - 2] = '=';
	}
	return (int64_t)out;
}

/* "Basic base64(user:password)": -ENOENT if it is not that or has no placeholder in it. */
static int64_t replace_basic(const struct bawn_secrets *s, uint32_t set, struct bawn_slice value,
	char *dst, size_t size, uint32_t *used)
{
	static const char word[] = {'B', 'a', 's', 'i', 'c', ' '};
	static char plain[BASIC_MAX + 3], full[BAWN_HTTP_HEAD_MAX];
	size_t scheme = sizeof(word);
	uint32_t now = 0;
	int64_t n;

	if (value.n <= scheme || strncasecmp(value.p, word, scheme) != 0 || size < scheme)
		return -ENOENT;
	while (scheme < value.n && value.p[scheme] == ' ')
		scheme++;
	n = (int64_t)decode64((struct bawn_slice){value.p + scheme, value.n - scheme}, plain);
	if (n)
		n = replace(
			s, set, (struct bawn_slice){plain, (size_t)n}, full, sizeof(full), &now);
	if (n >= 0 && now) {
		memcpy(dst, word, sizeof(word));
		n = encode64((struct bawn_slice){full, (size_t)n}, dst + sizeof(word),
			size - sizeof(word));
		n = n < 0 ? n : n + (int64_t)sizeof(word);
	}
	explicit_bzero(full, sizeof(full));
	*used |= now;
	return n < 0 || now ? n : -ENOENT;
}

int64_t bawn_secrets_put(const struct bawn_secrets *s, const struct bawn_secrets_where *where,
	struct bawn_slice name, struct bawn_slice value, char *dst, size_t size, uint32_t *used)
{
	uint32_t set = eligible(s, where, name);
	int64_t n = set ? replace_basic(s, set, value, dst, size, used) : -ENOENT;

	return n != -ENOENT ? n : replace(s, set, value, dst, size, used);
}
