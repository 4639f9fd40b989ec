/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that are known to be secret, found in whatever dress they come. The text is squeezed to
 * letters and digits (squeeze.h) and every form of every value (forms.h) is looked for in that one
 * stream: the last eight symbols are a number, a bitmap tells that almost none of them ends a form,
 * and only then the form is compared backwards with the symbols kept in a ring. One pass, no state
 * per form. Values with too few letters and digits for that are compared byte by byte.
 *
 * A long value is registered in pieces, each of which is worth a finding.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/secret/dump.h"
#include "inspect/secret/forms.h"
#include "inspect/secret/secret.h"
#include "inspect/secret/squeeze.h"

#define KEY_SYMBOLS 8
#define KEY_MASK    (((uint64_t)1 << (6 * KEY_SYMBOLS)) - 1)
#define HEAD        4 /* symbols from which on a beginning is held back */
#define HEAD_MASK   (((uint64_t)1 << (6 * HEAD)) - 1)
#define BLOOM_BITS  17
#define VALUES_MAX  4096
#define VALUE_MAX   ((size_t)64 << 10)
#define PIECE       48 /* bytes of a long value: less than a line of a key file */
#define SAME        32 /* bytes behind a header that are alike in all keys of a kind */
#define RING        2048
#define GAP         24 /* bytes between two symbols of a match, on the average */
#define SHORT_MAX   64

struct pattern {
	uint64_t key;
	uint32_t at; /* into symbols */
	uint16_t n;
	uint16_t extent; /* bytes of an occurrence of the value as it is, or 0 */
};

/* The last symbols of a search and where they came from. */
struct ring {
	uint8_t symbols[RING];
	uint32_t places[RING];
};

struct bawn_registered {
	uint8_t *symbols;
	size_t n_symbols, cap_symbols;
	struct pattern *v;
	size_t n, cap;
	uint32_t *table; /* by key: index + 1 */
	size_t table_mask;
	char *shorts; /* values that are compared as they are, NUL after each */
	size_t shorts_len;
	size_t longest;
	uint8_t ends[(1u << BLOOM_BITS) / 8];  /* of keys */
	uint8_t heads[(1u << BLOOM_BITS) / 8]; /* of the first symbols */
	struct ring *ring;
};

static size_t hash(uint64_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15u) >> (64 - BLOOM_BITS));
}

static void bloom_set(uint8_t *bits, uint64_t key)
{
	size_t h = hash(key);

	bits[h / 8] = (uint8_t)(bits[h / 8] | 1u << h % 8);
}

static bool bloom_has(const uint8_t *bits, uint64_t key)
{
	size_t h = hash(key);

	return bits[h / 8] >> h % 8 & 1;
}

static uint64_t key_of(const uint8_t *symbols, size_t n)
{
	uint64_t key = 0;

	for (size_t i = 0; i < n; i++)
		key = key << 6 | symbols[i];
	return key;
}

/* Room for `more` elements; what is left behind is wiped. */
static int reserve(void **base, size_t n, size_t *cap, size_t more, size_t size)
{
	size_t want = n + more > *cap * 2 ? n + more : *cap * 2;
	void *p;

	if (n + more <= *cap)
		return 0;
	p = calloc(want, size);
	if (!p)
		return -ENOMEM;
	if (n)
		memcpy(p, *base, n * size);
	if (*base)
		explicit_bzero(*base, n * size);
	free(*base);
	*base = p;
	*cap = want;
	return 0;
}

static bool known(const struct bawn_registered *r, const struct form *f)
{
	for (size_t i = r->n; i-- && r->n - i < 64;)
		if (r->v[i].n == f->n && !memcmp(r->symbols + r->v[i].at, f->symbols, f->n))
			return true;
	return false;
}

static int add_form(void *data, const struct form *f)
{
	struct bawn_registered *r = data;
	struct pattern *p;

	if (f->n < KEY_SYMBOLS || f->n >= RING || known(r, f))
		return 0;
	if (reserve((void **)&r->symbols, r->n_symbols, &r->cap_symbols, f->n, 1) < 0 ||
		reserve((void **)&r->v, r->n, &r->cap, 1, sizeof(*r->v)) < 0)
		return -ENOMEM;
	p = &r->v[r->n++];
	*p = (struct pattern){
		.key = key_of(f->symbols + f->n - KEY_SYMBOLS, KEY_SYMBOLS),
		.at = (uint32_t)r->n_symbols,
		.n = (uint16_t)f->n,
		.extent = (uint16_t)f->extent,
	};
	memcpy(r->symbols + r->n_symbols, f->symbols, f->n);
	r->n_symbols += f->n;
	bloom_set(r->ends, p->key);
	bloom_set(r->heads, key_of(f->symbols, HEAD));
	if (f->n > r->longest)
		r->longest = f->n;
	return 0;
}

/* Symbols that a search sees in the value: fewer than it has letters where it holds escapes. */
static size_t symbols_in(const char *p, size_t len)
{
	struct squeeze s = {.text = p, .len = len};
	size_t n = 0;

	while (squeeze_next(&s) != SQUEEZE_NONE)
		n++;
	return n;
}

/* Where the first piece of a long value begins: behind what all keys have in common. */
static size_t first_piece(const char *s)
{
	const char *nl = !strncmp(s, "-----BEGIN", 10) ? strchr(s, '\n') : NULL;

	return nl ? (size_t)(nl + 1 - s) + SAME : 0;
}

static int add_value(struct bawn_registered *r, const char *s, size_t len)
{
	int e = 0;

	if (symbols_in(s, len) < KEY_SYMBOLS) {
		size_t cap = r->shorts_len;

		if (reserve((void **)&r->shorts, r->shorts_len, &cap, len + 1, 1) < 0)
			return -ENOMEM;
		memcpy(r->shorts + r->shorts_len, s, len + 1);
		r->shorts_len += len + 1;
	}
	if (len <= FORM_VALUE_MAX)
		return forms_each(s, len, add_form, r);
	for (size_t i = first_piece(s); i < len && e >= 0; i += PIECE)
		e = forms_each(len - i < PIECE ? s + len - PIECE : s + i, PIECE, add_form, r);
	return e;
}

static int build_table(struct bawn_registered *r)
{
	size_t size = 16;

	while (size < r->n * 2)
		size *= 2;
	r->table = calloc(size, sizeof(*r->table));
	r->ring = calloc(1, sizeof(*r->ring));
	if (!r->table || !r->ring)
		return -ENOMEM;
	r->table_mask = size - 1;
	for (size_t i = 0; i < r->n; i++) {
		size_t h = hash(r->v[i].key) & r->table_mask;

		while (r->table[h])
			h = (h + 1) & r->table_mask;
		r->table[h] = (uint32_t)(i + 1);
	}
	return 0;
}

struct bawn_registered *bawn_registered_free(struct bawn_registered *r)
{
	if (!r)
		return NULL;
	if (r->symbols)
		explicit_bzero(r->symbols, r->cap_symbols);
	if (r->v)
		explicit_bzero(r->v, r->cap * sizeof(*r->v));
	if (r->shorts)
		explicit_bzero(r->shorts, r->shorts_len);
	free(r->symbols);
	free(r->v);
	free(r->shorts);
	free(r->table);
	if (r->ring)
		explicit_bzero(r->ring, sizeof(*r->ring));
	free(r->ring);
	explicit_bzero(r, sizeof(*r));
	free(r);
	return NULL;
}

int bawn_registered_new(
	const char *const *secrets, struct bawn_registered **ret, struct bawn_error *err)
{
	struct bawn_registered *r = calloc(1, sizeof(*r));
	int e = r ? 0 : -ENOMEM;

	for (size_t i = 0; e >= 0 && secrets && secrets[i]; i++) {
		size_t len = strnlen(secrets[i], VALUE_MAX + 1);

		if (len < BAWN_REGISTERED_MIN || len > VALUE_MAX || i >= VALUES_MAX) {
			(void)bawn_registered_free(r);
			return bawn_fail(err, BAWN_ERR_INSPECT, -EINVAL,
				"registered secret number %zu has %zu bytes: give at most %d values "
				"of %d to %zu bytes each",
				i + 1, len, VALUES_MAX, BAWN_REGISTERED_MIN, VALUE_MAX);
		}
		e = add_value(r, secrets[i], len);
	}
	if (e >= 0)
		e = build_table(r);
	if (e < 0) {
		(void)bawn_registered_free(r);
		return bawn_fail(err, BAWN_ERR_INSPECT, e, "out of memory");
	}
	*ret = r;
	return 0;
}

static size_t span_limit(size_t symbols)
{
	size_t n = symbols * GAP + 64;

	return n < BAWN_SECRET_SPAN_MAX ? n : BAWN_SECRET_SPAN_MAX;
}

size_t bawn_registered_span(const struct bawn_registered *r)
{
	size_t n = span_limit(r->longest);

	return n > SHORT_MAX ? n : SHORT_MAX;
}

struct hunt {
	const struct bawn_registered *r;
	const struct bawn_subject *sub;
	struct bawn_arena *a;
	struct bawn_findings *out;
	size_t first; /* of out: what this search added */
};

/* Overlapping occurrences become one finding, so that masking covers them all. */
static int report(struct hunt *h, size_t start, size_t end, bool encoded)
{
	struct bawn_finding *f;

	if (end <= h->sub->fresh && h->sub->fresh)
		return 0;
	start += h->sub->base;
	end += h->sub->base;
	for (size_t i = h->first; i < h->out->n; i++) {
		f = &h->out->v[i];
		if (start >= f->end || f->start >= end)
			continue;
		f->start = start < f->start ? start : f->start;
		f->end = end > f->end ? end : f->end;
		return 0;
	}
	f = bawn_grow(h->a, &h->out->v, &h->out->n, &h->out->cap);
	if (!f)
		return -ENOMEM;
	*f = (struct bawn_finding){
		.detector = "registered",
		.rule = encoded ? "secret.registered-encoded" : "secret.registered",
		.category = "secret",
		.level = BAWN_SEV_CRITICAL,
		.confidence = 0.99,
		.start = start,
		.end = end,
		.message =
			encoded ? "a registered secret, encoded, split or reversed: it must not leave"
				: "a registered secret: it must not leave",
	};
	return 0;
}

/* Does the form end at symbol number `count`? */
static bool ends_here(const struct bawn_registered *r, const struct pattern *p, size_t count)
{
	const uint8_t *s = r->symbols + p->at;

	if (p->n > count)
		return false;
	for (size_t i = 0; i < p->n; i++)
		if (r->ring->symbols[(count - p->n + i) % RING] != s[i])
			return false;
	return true;
}

static int confirm(struct hunt *h, uint64_t key, size_t count, size_t end)
{
	const struct bawn_registered *r = h->r;

	for (size_t i = hash(key) & r->table_mask; r->table[i]; i = (i + 1) & r->table_mask) {
		const struct pattern *p = &r->v[r->table[i] - 1];
		size_t start;
		int e;

		if (p->key != key || !ends_here(r, p, count))
			continue;
		start = r->ring->places[(count - p->n) % RING];
		if (end - start > span_limit(p->n))
			continue;
		e = report(h, start, end, end - start != p->extent);
		if (e < 0)
			return e;
	}
	return 0;
}

/* The symbols of one search so far. */
struct trail {
	uint64_t key;
	size_t count;
};

static inline int push(struct hunt *h, struct trail *t, unsigned c, size_t start, size_t end)
{
	struct ring *ring = h->r->ring;

	ring->symbols[t->count % RING] = (uint8_t)c;
	ring->places[t->count % RING] = (uint32_t)start;
	t->count++;
	t->key = (t->key << 6 | c) & KEY_MASK;
	if (!bloom_has(h->r->ends, t->key) || t->count < KEY_SYMBOLS)
		return 0;
	return confirm(h, t->key, t->count, end);
}

/* Returns 1 if plain mode may see something else. */
static int search(struct hunt *h, bool plain)
{
	struct squeeze s = {.text = h->sub->text, .len = h->sub->len, .plain = plain};
	struct trail t = {0};

	while (s.at < s.len) {
		unsigned c = squeeze_class[(unsigned char)s.text[s.at]];
		int e;

		/* what is neither symbol nor escape, and symbols: here; the rest is rare */
		s.start = s.at++;
		if (!c)
			continue;
		c--;
		if (c >= 36) {
			s.at--;
			c = squeeze_next(&s);
			if (c == SQUEEZE_NONE)
				break;
		}
		e = push(h, &t, c, s.start, s.at);
		if (e < 0)
			return e;
	}
	return s.decoded;
}

static int search_dumps(struct hunt *h)
{
	struct dump d = {.text = h->sub->text, .len = h->sub->len};
	struct trail t = {0};
	unsigned c;
	int e = 0;

	while (e >= 0 && (c = dump_next(&d)) != SQUEEZE_NONE)
		e = push(h, &t, c, d.start, d.at);
	return e;
}

static int search_short(struct hunt *h)
{
	const char *p = h->r->shorts;

	for (size_t i = 0; i < h->r->shorts_len; i += strlen(p + i) + 1) {
		size_t n = strlen(p + i), at = 0;
		const char *hit;

		while ((hit = memmem(h->sub->text + at, h->sub->len - at, p + i, n))) {
			int e;

			at = (size_t)(hit - h->sub->text) + n;
			e = report(h, at - n, at, false);
			if (e < 0)
				return e;
		}
	}
	return 0;
}

int bawn_registered_find(const struct bawn_registered *r, const struct bawn_subject *sub,
	struct bawn_arena *a, struct bawn_findings *out, struct bawn_error *err)
{
	struct hunt h = {r, sub, a, out, out->n};
	int e = 0;

	if (sub->len > UINT32_MAX)
		return bawn_fail(err, BAWN_ERR_INSPECT, -E2BIG, "a window of more than 4 GiB");
	if (r->n) {
		e = search(&h, false);
		/* what was taken for an escape may have been none */
		if (e > 0)
			e = search(&h, true);
		if (e >= 0)
			e = search_dumps(&h);
	}
	if (e >= 0)
		e = search_short(&h);
	return e < 0 ? bawn_fail(err, BAWN_ERR_INSPECT, e, "out of memory") : 0;
}

/* Are the last `n` symbols before `count` the beginning of a longer form? */
static bool begins(const struct bawn_registered *r, size_t count, size_t n)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct pattern *p = &r->v[i];
		size_t k = 0;

		if (p->n <= n)
			continue;
		while (k < n && r->ring->symbols[(count - n + k) % RING] == r->symbols[p->at + k])
			k++;
		if (k == n)
			return true;
	}
	return false;
}

static size_t short_tail(const struct bawn_registered *r, const char *text, size_t len)
{
	size_t best = 0;

	for (size_t i = 0; i < r->shorts_len; i += strlen(r->shorts + i) + 1) {
		size_t n = strlen(r->shorts + i);

		for (size_t k = n - 1 < len ? n - 1 : len; k > best; k--)
			if (!memcmp(text + len - k, r->shorts + i, k))
				best = k;
	}
	return best;
}

size_t bawn_registered_tail(const struct bawn_registered *r, const char *text, size_t len)
{
	size_t span = bawn_registered_span(r), count = 0;
	struct squeeze s = {.text = text, .len = len, .at = len > span ? len - span : 0};
	unsigned c;

	while ((c = squeeze_next(&s)) != SQUEEZE_NONE) {
		r->ring->symbols[count % RING] = (uint8_t)c;
		r->ring->places[count % RING] = (uint32_t)s.start;
		count++;
	}
	for (size_t n = count < r->longest ? count : r->longest; n >= HEAD; n--) {
		uint64_t key = 0;

		for (size_t k = 0; k < HEAD; k++)
			key = key << 6 | r->ring->symbols[(count - n + k) % RING];
		if (bloom_has(r->heads, key & HEAD_MASK) && begins(r, count, n))
			return len - r->ring->places[(count - n) % RING];
	}
	return short_tail(r, text, len);
}
