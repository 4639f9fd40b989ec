/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text inside text: base64, hexadecimal digits, rot13, reversed and spaced-out letters. Only places
 * that the splitter found odd are looked at, and only what comes out readable is kept, so that
 * hashes and keys cost a few bytes each.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "inspect/inject/inject.h"

#define PROBE      24 /* decoded bytes that have to be readable before the rest is decoded */
#define TEXT_LEAST 12 /* decoded bytes that can say something */

static int value64(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

static bool readable(unsigned char c)
{
	return (c >= ' ' && c != 0x7f) || c == '\n' || c == '\r' || c == '\t';
}

/* Mostly letters and spaces, no control characters. */
static bool is_text(const char *p, size_t n)
{
	size_t letters = 0, high = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (!readable(c))
			return false;
		letters += isalpha(c) || c == ' ';
		high += c >= 0x80;
	}
	return n && (letters + high) * 10 >= n * 7;
}

static size_t decode64(const char *p, size_t n, char *out, size_t max)
{
	uint32_t acc = 0;
	unsigned bits = 0;
	size_t o = 0;

	for (size_t i = 0; i < n && o < max; i++) {
		int v = value64((unsigned char)p[i]);

		if (v < 0)
			continue;
		acc = acc << 6 | (uint32_t)v;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		out[o++] = (char)(acc >> bits & 0xff);
	}
	return o;
}

static size_t decode16(const char *p, size_t n, char *out, size_t max)
{
	size_t o = 0, digits = 0;
	unsigned acc = 0;

	for (size_t i = 0; i < n && o < max; i++) {
		unsigned char c = (unsigned char)p[i];

		if (!isxdigit(c))
			continue;
		acc = acc << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
		if (++digits % 2 == 0)
			out[o++] = (char)(acc & 0xff);
	}
	return o;
}

static bool of64(char c)
{
	return value64((unsigned char)c) >= 0;
}

static bool of16(char c)
{
	return isxdigit((unsigned char)c);
}

/* Whether the block goes on at `at`: a line end between three characters of the alphabet does. */
static bool goes_on(const struct inject_text *t, size_t at, bool (*of)(char c))
{
	const char *p = t->text + at;

	if (of(*p) || *p == '=')
		return true;
	return *p == '\n' && at + 4 < t->len && of(p[1]) && of(p[2]) && of(p[3]);
}

/* Grow [start, end) over characters of the alphabet. */
static void extend(const struct inject_text *t, struct inject_block *b, bool (*of)(char c))
{
	size_t first = b->start > INJECT_BLOCK_MAX ? b->start - INJECT_BLOCK_MAX : 0;

	while (b->start > first && of(t->text[b->start - 1]))
		b->start--;
	while (b->end < t->len && b->end - b->start < 2 * INJECT_BLOCK_MAX &&
		goes_on(t, b->end, of))
		b->end++;
}

static int decode_long(struct bawn_arena *a, const struct inject_text *t, struct inject_block *b)
{
	size_t (*decode)(const char *p, size_t n, char *out, size_t max) = decode16;
	char probe[PROBE];
	size_t n, hexes = 0;

	for (size_t i = b->start; i < b->end; i++)
		hexes += of16(t->text[i]);
	if (hexes < b->end - b->start)
		decode = decode64;
	extend(t, b, decode == decode16 ? of16 : of64);
	n = decode(t->text + b->start, b->end - b->start, probe, sizeof(probe));
	if (n < TEXT_LEAST || !is_text(probe, n < sizeof(probe) ? n - n / 8 : n))
		return 0;
	n = b->end - b->start;
	b->text = bawn_arena_alloc(a, n + 1);
	if (!b->text)
		return -ENOMEM;
	b->len =
		decode(t->text + b->start, n, b->text, n < INJECT_BLOCK_MAX ? n : INJECT_BLOCK_MAX);
	return 0;
}

/* Letters with one separator between them; a longer gap is a space between words. */
static size_t unspace(const char *p, size_t n, char *out)
{
	size_t o = 0, gap = 0;
	char sep = (char)(n > 1 ? p[1] : ' ');

	for (size_t i = 0; i < n; i++) {
		if (isalnum((unsigned char)p[i])) {
			if (o && gap > 1)
				out[o++] = ' ';
			out[o++] = p[i];
			gap = 0;
		} else {
			gap += p[i] == sep || sep == ' ' ? 1 : 2;
		}
	}
	return o;
}

static char rot13(char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return (char)((c | 0x20) < 'n' ? c + 13 : c - 13);
	return c;
}

int inject_decode(struct bawn_arena *a, const struct inject_text *t, const struct inject_hint *h,
	struct inject_block *ret)
{
	struct inject_block b = {.start = h->start, .end = h->end};
	size_t n = b.end - b.start;
	const char *p = t->text + b.start;

	if (h->kind == HINT_LONG) {
		int r = decode_long(a, t, &b);

		*ret = b;
		return r;
	}
	b.text = bawn_arena_alloc(a, n + 1);
	if (!b.text)
		return -ENOMEM;
	if (h->kind == HINT_SPACED) {
		b.len = unspace(p, n, b.text);
	} else {
		b.len = n;
		for (size_t i = 0; i < n; i++)
			b.text[i] = (char)(h->kind == HINT_REVERSED ? p[n - 1 - i] : rot13(p[i]));
	}
	*ret = b;
	return 0;
}
