/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking. A position is decided once no secret can begin there any more, in any of the ways it is
 * written; then it is passed on, as itself or as `*`. Most positions are decided by one look into a
 * table of the pairs of bytes that anything looked for can begin with.
 */
#include "egress/mask.h"

#include <stdlib.h>
#include <string.h>

#include "base/digit.h"

#define MORE        (-1) /* the text ends before it is clear */
#define ESCAPED_MAX 6    /* bytes that one byte can be written as */
#define FORMS_MAX   8    /* ways to write one */
#define ENCODED_MIN 4    /* shorter values are too often part of something else */

enum way {
	AS_IS,
	ESCAPED,
	HEX,
	BASE64, /* three of them: what comes before may be of any length */
	BASE64_1,
	BASE64_2,
	WAYS,
};

struct bawn_mask_set {
	size_t window;
	uint8_t begins[65536 / 8];        /* a bit for each pair of bytes */
	uint32_t first[256], second[256]; /* a bit for each value that has the byte there */
	size_t n;
	struct bawn_slice v[];
};

static uint8_t lower(uint8_t b)
{
	return b >= 'A' && b <= 'Z' ? (uint8_t)(b | 0x20) : b;
}

static int match_as_is(struct bawn_slice v, const uint8_t *p, size_t n)
{
	size_t m = n < v.n ? n : v.n;

	if (memcmp(v.p, p, m) != 0)
		return 0;
	return m < v.n ? MORE : (int)v.n;
}

static int match_hex(struct bawn_slice v, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < 2 * v.n; i++) {
		uint8_t b = (uint8_t)v.p[i / 2];

		if (i == n)
			return MORE;
		if (bawn_digit16((char)p[i]) != (i % 2 ? b & 0xf : b >> 4))
			return 0;
	}
	return (int)(2 * v.n);
}

/* Bits 6j to 6j+5 of a text that has the value behind `shift` unknown bytes; which of them are
 * known. */
static uint8_t bits64(struct bawn_slice v, size_t shift, size_t j, uint8_t *known)
{
	uint8_t bits = 0;

	*known = 0;
	for (size_t i = 6 * j; i < 6 * j + 6; i++) {
		bool in = i / 8 >= shift && i / 8 < shift + v.n;

		bits = (uint8_t)(bits << 1);
		*known = (uint8_t)(*known << 1 | in);
		if (in)
			bits |= (uint8_t)v.p[i / 8 - shift] >> (7 - i % 8) & 1;
	}
	return bits;
}

/* One byte of a value as URLs, JSON and HTML write it; lower case. */
static size_t escapes(uint8_t b, char ret[FORMS_MAX][ESCAPED_MAX + 1])
{
	static const struct {
		uint8_t byte;
		const char *text;
	} named[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'/', "\\/"}, {' ', "+"}, {'&', "&amp;"},
		{'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}, {'\'', "\\'"},
		{'\'', "&#039;"}, {'"', "&#034;"}};
	static const char digits[] = "0123456789abcdef";
	const char hi = digits[b >> 4];
	const char lo = digits[b & 0xf];
	size_t n = 0;

	memcpy(ret[n++], (const char[]){'%', hi, lo, '\0'}, 4);
	memcpy(ret[n++], (const char[]){'\\', 'u', '0', '0', hi, lo, '\0'}, 7);
	memcpy(ret[n++], (const char[]){'&', '#', 'x', hi, lo, ';', '\0'}, 7);
	if (b >= 100)
		memcpy(ret[n++],
			(const char[]){'&', '#', digits[b / 100], digits[b / 10 % 10],
				digits[b % 10], ';', '\0'},
			7);
	else
		memcpy(ret[n++],
			(const char[]){'&', '#', digits[b / 10], digits[b % 10], ';', '\0'}, 6);
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (named[i].byte == b)
			memcpy(ret[n++], named[i].text, strlen(named[i].text) + 1);
	return n;
}

/* One byte of a value at p: the bytes it takes there, the longest way of writing it first. What can
 * still become a longer one is waited for. */
static int match_byte(uint8_t b, const uint8_t *p, size_t n, bool end)
{
	char forms[FORMS_MAX][ESCAPED_MAX + 1];
	int best = p[0] == b;
	bool more = false;
	size_t k;

	if (p[0] != '%' && p[0] != '\\' && p[0] != '&' && p[0] != '+')
		return best;
	k = escapes(b, forms);
	for (size_t i = 0; i < k; i++) {
		size_t len = strlen(forms[i]);
		size_t at = 0;

		while (at < len && at < n && lower(p[at]) == (uint8_t)forms[i][at])
			at++;
		if (at == len && (int)len > best)
			best = (int)len;
		else if (at == n && at < len && !end)
			more = true;
	}
	return more ? MORE : best;
}

/* One digit of base64 at p that fits what is known of it: the bytes it takes. What was sent as
 * base64 is escaped like any other text: "/" and "+" are more than one byte then. */
static int match_digit(uint8_t bits, uint8_t known, const uint8_t *p, size_t n, bool end)
{
	static const char last[] = {'+', '/'};
	int digit = bawn_digit64((char)p[0]);
	int best = digit >= 0 && (digit & known) == bits;

	if (p[0] != '%' && p[0] != '\\' && p[0] != '&')
		return best;
	for (size_t i = 0; i < sizeof(last); i++) {
		int r = ((62 + i) & known) == bits ? match_byte((uint8_t)last[i], p, n, end) : 0;

		if (r == MORE || r > best)
			best = r;
		if (r == MORE)
			break;
	}
	return best;
}

static int match_base64(struct bawn_slice v, size_t shift, const uint8_t *p, size_t n, bool end)
{
	size_t from = 8 * shift / 6;
	size_t to = (8 * (shift + v.n) + 5) / 6;
	size_t at = 0;

	for (size_t j = from; j < to; j++) {
		uint8_t known;
		uint8_t bits = bits64(v, shift, j, &known);
		int r = at < n ? match_digit(bits, known, p + at, n - at, end) : MORE;

		if (r <= 0)
			return r;
		at += (size_t)r;
	}
	return (int)at;
}

static int match_escaped(struct bawn_slice v, const uint8_t *p, size_t n, bool end)
{
	size_t at = 0;

	for (size_t i = 0; i < v.n; i++) {
		int r = at < n ? match_byte((uint8_t)v.p[i], p + at, n - at, end) : MORE;

		if (r <= 0)
			return r;
		at += (size_t)r;
	}
	return (int)at;
}

/* Bytes of p that are the value written this way; 0: it is not; MORE. */
static int match(struct bawn_slice v, enum way way, const uint8_t *p, size_t n, bool end)
{
	if (way != AS_IS && v.n < ENCODED_MIN)
		return 0;
	switch (way) {
	case AS_IS:
		return match_as_is(v, p, n);
	case ESCAPED:
		return match_escaped(v, p, n, end);
	case HEX:
		return match_hex(v, p, n);
	case BASE64:
	case BASE64_1:
	case BASE64_2:
		return match_base64(v, (size_t)(way - BASE64), p, n, end);
	case WAYS:
		break;
	}
	return 0;
}

/* Every pair of bytes that the value can begin with, asked of the functions that look for it. */
static void note_pairs(struct bawn_mask_set *s, size_t which, enum way way)
{
	struct bawn_slice v = s->v[which];
	uint32_t bit = UINT32_C(1) << which;

	for (unsigned a = 0; a < 256; a++) {
		uint8_t text[2] = {(uint8_t)a, 0};

		if (match(v, way, text, 1, false) == 0)
			continue;
		s->first[a] |= bit;
		for (unsigned b = 0; b < 256; b++) {
			text[1] = (uint8_t)b;
			if (match(v, way, text, 2, false) == 0)
				continue;
			s->second[b] |= bit;
			s->begins[(a << 8 | b) / 8] |= (uint8_t)(1 << b % 8);
		}
	}
}

/* Every digit of its base64 escaped, the first and the last of which it shares with others. */
static size_t longest_form(size_t n)
{
	return (n * 4 / 3 + 2) * ESCAPED_MAX;
}

struct bawn_mask_set *bawn_mask_set_new(const struct bawn_slice *values, size_t n)
{
	struct bawn_mask_set *s = calloc(1, sizeof(*s) + n * sizeof(s->v[0]));

	if (!s)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!values[i].n)
			continue;
		s->v[s->n++] = values[i];
		if (longest_form(values[i].n) > s->window)
			s->window = longest_form(values[i].n);
		for (enum way w = AS_IS; w < WAYS; w++)
			note_pairs(s, s->n - 1, w);
	}
	return s;
}

struct bawn_mask_set *bawn_mask_set_free(struct bawn_mask_set *s)
{
	if (s)
		explicit_bzero(s, sizeof(*s) + s->n * sizeof(s->v[0]));
	free(s);
	return NULL;
}

size_t bawn_mask_window(const struct bawn_mask_set *s)
{
	return s->window;
}

/* The longest that begins at p; MORE if that is not clear yet. */
static int longest(const struct bawn_mask_set *s, const uint8_t *p, size_t n, bool end)
{
	uint32_t some = s->first[p[0]] & (n > 1 ? s->second[p[1]] : UINT32_MAX);
	int best = 0;

	for (size_t i = 0; some; i++, some >>= 1)
		for (enum way w = AS_IS; some & 1 && w < WAYS; w++) {
			int r = match(s->v[i], w, p, n, end);

			if (r == MORE && !end)
				return MORE;
			if (r > best)
				best = r;
		}
	return best;
}

static bool may_begin(const struct bawn_mask_set *s, const uint8_t *p, size_t n)
{
	if (n < 2)
		return s->first[p[0]] != 0;
	return s->begins[((size_t)p[0] << 8 | p[1]) / 8] >> p[1] % 8 & 1;
}

size_t bawn_mask_feed(
	const struct bawn_mask_set *s, struct bawn_mask *m, char *p, size_t n, bool end)
{
	const uint8_t *text = (const uint8_t *)p;
	size_t covered = m->covered;
	size_t i;

	for (i = 0; i < n; i++) {
		if (may_begin(s, text + i, n - i)) {
			int r = longest(s, text + i, n - i, end);

			if (r == MORE)
				break;
			if (i + (size_t)r > covered)
				covered = i + (size_t)r;
		}
		if (i < covered)
			p[i] = BAWN_MASK_CHAR;
	}
	m->covered = covered > i ? covered - i : 0;
	return i;
}

void bawn_mask_text(const struct bawn_mask_set *s, char *p, size_t n)
{
	struct bawn_mask m = {0};

	(void)bawn_mask_feed(s, &m, p, n, true);
}
