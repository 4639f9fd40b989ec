/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a value may be written: as it is, rotated, in base64 or base32 at any place of a longer text,
 * as numbers, and each of these backwards. Alphabets that differ in signs or letter case alone are
 * the same here, because symbols have neither.
 */
#include "inspect/secret/forms.h"

#include <string.h>

#include "inspect/secret/squeeze.h"

#define BYTES_MAX (FORM_VALUE_MAX * 2)

struct work {
	int (*add)(void *data, const struct form *f);
	void *data;
	struct form form;
	int r;
};

static void begin(struct work *w)
{
	w->form.n = 0;
	w->form.extent = 0;
}

static void put(struct work *w, unsigned char c)
{
	unsigned s = squeeze_symbol(c);

	if (s < 36 && w->form.n < FORM_MAX)
		w->form.symbols[w->form.n++] = (uint8_t)s;
}

/* Give the form away, then its mirror image. */
static void finish(struct work *w)
{
	if (w->r < 0)
		return;
	w->r = w->add(w->data, &w->form);
	for (size_t i = 0, k = w->form.n; i + 1 < k; i++) {
		uint8_t x = w->form.symbols[--k];

		w->form.symbols[k] = w->form.symbols[i];
		w->form.symbols[i] = x;
	}
	w->form.extent = 0;
	if (w->r >= 0)
		w->r = w->add(w->data, &w->form);
}

/*
 * Groups of `bits` bits in `alphabet`, when `before` unknown bytes stand in front: only the
 * characters that do not depend on what is around the value.
 */
static void grouped(struct work *w, const unsigned char *p, size_t len, unsigned bits,
	const char *alphabet, size_t before)
{
	size_t first = (before * 8 + bits - 1) / bits, last = (before + len) * 8 / bits;

	begin(w);
	for (size_t g = first; g < last; g++) {
		unsigned v = 0;

		for (size_t b = g * bits; b < (g + 1) * bits; b++)
			v = v << 1 | (p[b / 8 - before] >> (7 - b % 8) & 1u);
		put(w, (unsigned char)alphabet[v]);
	}
	finish(w);
}

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

static void base64_forms(struct work *w, const unsigned char *p, size_t len)
{
	for (size_t before = 0; before < 3; before++)
		grouped(w, p, len, 6, base64, before);
}

static void numbers(
	struct work *w, const unsigned char *p, size_t len, unsigned base, unsigned width)
{
	begin(w);
	for (size_t i = 0; i < len; i++) {
		char digits[8];
		unsigned n = 0, v = p[i];

		do {
			digits[n++] = "0123456789abcdef"[v % base];
			v /= base;
		} while (v || n < width);
		while (n)
			put(w, (unsigned char)digits[--n]);
	}
	finish(w);
}

/* Words of two bytes, the lower one first, as hexdump and od print them. */
static void swapped(struct work *w, const unsigned char *p, size_t len)
{
	unsigned char pairs[FORM_VALUE_MAX];

	len = len / 2 * 2;
	for (size_t i = 0; i < len; i++)
		pairs[i] = p[i ^ 1];
	numbers(w, pairs, len, 16, 2);
	explicit_bzero(pairs, sizeof(pairs));
}

static void rotated(struct work *w, const unsigned char *p, size_t len)
{
	begin(w);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = p[i] | 0x20;

		put(w, c >= 'a' && c <= 'z' ? (unsigned char)('a' + (c - 'a' + 13) % 26) : p[i]);
	}
	finish(w);
}

/* As it is, and as the decoder of the squeezer would read it. */
static void plain(struct work *w, const char *p, size_t len)
{
	for (unsigned mode = 0; mode < 2; mode++) {
		struct squeeze s = {.text = p, .len = len, .plain = mode == 0};
		size_t first = 0;
		unsigned c;

		begin(w);
		while ((c = squeeze_next(&s)) != SQUEEZE_NONE && w->form.n < FORM_MAX) {
			if (!w->form.n)
				first = s.start;
			w->form.symbols[w->form.n++] = (uint8_t)c;
			w->form.extent = s.at - first;
		}
		finish(w);
	}
}

/* Base64 of base64, which is what carrying base64 in JSON or YAML comes to. */
static void twice(struct work *w, const unsigned char *p, size_t len)
{
	unsigned char inner[BYTES_MAX];
	size_t n = 0;

	for (size_t g = 0; g < len * 8 / 6 && n < sizeof(inner); g++) {
		unsigned v = 0;

		for (size_t b = g * 6; b < (g + 1) * 6; b++)
			v = v << 1 | (p[b / 8] >> (7 - b % 8) & 1u);
		inner[n++] = (unsigned char)base64[v];
	}
	base64_forms(w, inner, n);
	explicit_bzero(inner, sizeof(inner));
}

static void wide(struct work *w, const unsigned char *p, size_t len)
{
	unsigned char pairs[BYTES_MAX] = {0};

	for (size_t i = 0; i < len; i++)
		pairs[2 * i] = p[i];
	base64_forms(w, pairs, len * 2);
	explicit_bzero(pairs, sizeof(pairs));
}

int forms_each(
	const char *value, size_t len, int (*add)(void *data, const struct form *f), void *data)
{
	struct work w = {.add = add, .data = data};
	unsigned char p[FORM_VALUE_MAX], back[FORM_VALUE_MAX];

	if (len > FORM_VALUE_MAX)
		len = FORM_VALUE_MAX;
	memcpy(p, value, len);
	for (size_t i = 0; i < len; i++)
		back[i] = p[len - 1 - i];
	plain(&w, value, len);
	rotated(&w, p, len);
	base64_forms(&w, p, len);
	base64_forms(&w, back, len);
	twice(&w, p, len);
	wide(&w, p, len);
	for (size_t before = 0; before < 5; before++)
		grouped(&w, p, len, 5, base32, before);
	numbers(&w, p, len, 16, 2);
	numbers(&w, back, len, 16, 2);
	swapped(&w, p, len);
	swapped(&w, p + 1, len - 1);
	numbers(&w, p, len, 10, 1);
	numbers(&w, p, len, 8, 3);
	numbers(&w, p, len, 2, 8);
	explicit_bzero(p, sizeof(p));
	explicit_bzero(back, sizeof(back));
	explicit_bzero(&w.form, sizeof(w.form));
	return w.r;
}
