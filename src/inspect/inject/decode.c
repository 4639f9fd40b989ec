/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text inside text: base64, base32, hexadecimal digits, rot13, reversed and spaced-out letters,
 * digits for letters. Only places that the splitter found odd are looked at, and only what comes
 * out readable is kept, so that hashes and keys cost a few bytes each.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/digit.h"
#include "inspect/inject/inject.h"

#define PROBE       24 /* decoded bytes that have to be readable before the rest is decoded */
#define TEXT_LEAST  12 /* decoded bytes that can say something */
#define SPELLED     3  /* single letters with the same marks between them that may be a word */
#define DIGITS      (2 * TEXT_LEAST) /* digits that may be, likewise */
#define LINE_REACH  1024
#define NUMBERS_MAX ((size_t)16 << 10) /* bytes that are read as numbers */

static bool readable(unsigned char c)
{
	return (c >= ' ' && c != 0x7f) || c == '\n' || c == '\r' || c == '\t';
}

/* Mostly letters and spaces, no control characters. Of other scripts only what is UTF-8 counts:
 * nothing else can be read, and half of all bytes are none of ours. */
static bool is_text(const char *p, size_t n)
{
	size_t letters = 0;
	uint32_t cp;

	for (size_t i = 0; i < n; i++)
		if (!readable((unsigned char)p[i]))
			return false;
	for (size_t i = 0, len; i < n; i += len) {
		bool high = (unsigned char)p[i] >= 0x80;

		len = high ? inject_utf8(p + i, n - i, &cp) : 1;
		letters += high ? len : isalpha((unsigned char)p[i]) || p[i] == ' ';
		len += !len;
	}
	return n && letters * 10 >= n * 7;
}

typedef size_t decoder(const char *p, size_t n, char *out, size_t max);

static size_t decode64(const char *p, size_t n, char *out, size_t max)
{
	uint32_t acc = 0;
	unsigned bits = 0;
	size_t o = 0;

	for (size_t i = 0; i < n && o < max; i++) {
		int v = bawn_digit64(p[i]);

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

static size_t decode32(const char *p, size_t n, char *out, size_t max)
{
	uint32_t acc = 0;
	unsigned bits = 0;
	size_t o = 0;

	for (size_t i = 0; i < n && o < max; i++) {
		int v = bawn_digit32(p[i]);

		if (v < 0)
			continue;
		acc = acc << 5 | (uint32_t)v;
		bits += 5;
		if (bits < 8)
			continue;
		bits -= 8;
		out[o++] = (char)(acc >> bits & 0xff);
	}
	return o;
}

/* Of text in two bytes a letter every other byte is zero. */
static size_t decode64_wide(const char *p, size_t n, char *out, size_t max)
{
	size_t len = decode64(p, n, out, max), o = 0;

	for (size_t i = 0; i < len; i++)
		if (out[i] || i % 2 == 0)
			out[o++] = out[i];
	return o;
}

/* Characters of an alphabet, a bit each. */
#define OF_64 (1u << 0)
#define OF_16 (1u << 1)
static const unsigned char alphabets[256] = {
	['0' ... '9'] = OF_64 | OF_16,
	['A' ... 'F'] = OF_64 | OF_16,
	['a' ... 'f'] = OF_64 | OF_16,
	['G' ... 'Z'] = OF_64,
	['g' ... 'z'] = OF_64,
	['+'] = OF_64,
	['-'] = OF_64,
	['/'] = OF_64,
	['_'] = OF_64,
};

static inline bool is_of(char c, unsigned of)
{
	return alphabets[(unsigned char)c] & of;
}

/* Whether the block goes on at `at`: a line end between three characters of the alphabet does. */
static inline bool goes_on(const struct inject_text *t, size_t at, unsigned of)
{
	const char *p = t->text + at;

	if (is_of(*p, of) || *p == '=')
		return true;
	return *p == '\n' && at + 4 < t->len && is_of(p[1], of) && is_of(p[2], of) &&
	       is_of(p[3], of);
}

/* Grow [start, end) over characters of the alphabet. */
static void extend(const struct inject_text *t, struct inject_block *b, unsigned of)
{
	size_t first = b->start > INJECT_BLOCK_MAX ? b->start - INJECT_BLOCK_MAX : 0;

	while (b->start > first && is_of(t->text[b->start - 1], of))
		b->start--;
	while (b->end < t->len && b->end - b->start < 2 * INJECT_BLOCK_MAX &&
		goes_on(t, b->end, of))
		b->end++;
}

/* Which of the encodings in letters it is: in capitals alone, or of wide characters. */
static decoder *which64(const char *p, size_t n)
{
	char probe[4] = "";
	size_t k = 0;

	while (k < n && ((p[k] >= 'A' && p[k] <= 'Z') || (p[k] >= '2' && p[k] <= '7')))
		k++;
	if (k == n || p[k] == '=' || p[k] == '\n')
		return k >= PROBE ? decode32 : decode64;
	return decode64(p, n, probe, sizeof(probe)) == 4 && probe[0] && !probe[1] && probe[2] &&
			       !probe[3]
		       ? decode64_wide
		       : decode64;
}

static int decode_long(struct bawn_arena *a, const struct inject_text *t, struct inject_block *b)
{
	decoder *decode = decode16;
	char probe[2 * PROBE];
	size_t n, hexes = 0;

	for (size_t i = b->start; i < b->end; i++)
		hexes += is_of(t->text[i], OF_16);
	if (hexes < b->end - b->start)
		decode = decode64;
	extend(t, b, decode == decode16 ? OF_16 : OF_64);
	if (decode == decode64)
		decode = which64(t->text + b->start, b->end - b->start);
	n = decode(t->text + b->start, b->end - b->start, probe,
		decode == decode64_wide ? sizeof(probe) : PROBE);
	if (n < TEXT_LEAST || !is_text(probe, n < PROBE ? n - n / 8 : n))
		return 0;
	n = b->end - b->start;
	b->text = bawn_arena_alloc(a, n + 1);
	if (!b->text)
		return -ENOMEM;
	b->len =
		decode(t->text + b->start, n, b->text, n < INJECT_BLOCK_MAX ? n : INJECT_BLOCK_MAX);
	return 0;
}

/*
 * Whether single letters may spell something: some have the same marks between them, spaces left
 * out. Those of code (`i = 0; i < n; i++`) have not. Digits alone spell nothing unless there are so
 * many that they may be encoded text.
 */
static bool spells(const char *p, size_t n)
{
	const uint64_t none = ~(uint64_t)0;
	uint64_t marks = none, before = none;
	size_t alike = 1;
	bool any = false, letter = false;

	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)p[i])) {
			marks = p[i] == ' ' ? marks : marks << 8 | (unsigned char)p[i];
			continue;
		}
		if (i && isalnum((unsigned char)p[i - 1]))
			continue;
		/* what stands before the first tells nothing */
		alike = marks == before ? alike + 1 : 2;
		any = (marks == before ? any : letter) | (isalpha((unsigned char)p[i]) != 0);
		if (alike >= (any ? SPELLED : DIGITS))
			return true;
		letter = isalpha((unsigned char)p[i]) != 0;
		before = marks;
		marks = 0;
	}
	return false;
}

#define SPACED_GAP 12 /* at most, between letters that are spaced out */

static bool alone(const char *p, size_t n, size_t i)
{
	return isalnum((unsigned char)p[i]) && (!i || !isalnum((unsigned char)p[i - 1])) &&
	       (i + 1 == n || !isalnum((unsigned char)p[i + 1]));
}

/* How many bytes are between the letter at i and the next, 0 when one of them is not alone. */
static size_t gap(const char *p, size_t n, size_t i)
{
	size_t k = i + 1;

	if (!alone(p, n, i))
		return 0;
	while (k < n && k - i <= SPACED_GAP && !isalnum((unsigned char)p[k]))
		k++;
	return k < n && k - i <= SPACED_GAP && alone(p, n, k) ? k - i - 1 : 0;
}

/* The first gap that comes twice in a row: what stands between letters of a word. */
static size_t usual_gap(const char *p, size_t n, const char **ret)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = gap(p, n, i);

		*ret = p + i + 1;
		if (len && gap(p, n, i + 1 + len) == len && !memcmp(*ret, *ret + len + 1, len))
			return len;
	}
	return 0;
}

/* Single letters with the same between them, wherever in the line; with something else between
 * them a new word starts. */
static size_t unspace(const char *p, size_t n, char *out)
{
	const char *usual = p;
	size_t len = usual_gap(p, n, &usual), o = 0;

	for (size_t i = 0; len && i < n; i++) {
		size_t now = gap(p, n, i);

		out[o++] = p[i];
		if (!now)
			continue;
		if (now != len || memcmp(p + i + 1, usual, len) != 0)
			out[o++] = ' ';
		i += now;
	}
	return o;
}

static char rot13(char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return (char)((c | 0x20) < 'n' ? c + 13 : c - 13);
	return c;
}

static size_t turn(const char *p, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = rot13(p[i]);
	return n;
}

static size_t reverse(const char *p, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = p[n - 1 - i];
	return n;
}

/* Each word by itself. */
static size_t reverse_words(const char *p, size_t n, char *out)
{
	for (size_t i = 0, end; i < n; i = end + 1) {
		for (end = i; end < n && p[end] != ' ';)
			end++;
		(void)reverse(p + i, end - i, out + i);
		if (end < n)
			out[end] = ' ';
	}
	return n;
}

/* Letters for the digits of one word. 1 is an i, or an l when only that makes a word we know. */
static void unleet_word(char *p, size_t n)
{
	static const char from[] = "0134578@$!|+", to[] = "oieastbasiit";
	INJECT_RAW char other[64 + INJECT_PAD];
	bool ones = false;

	memcpy(other, p, n);
	memset(other + n, 0, INJECT_PAD);
	for (size_t i = 0; i < n; i++) {
		const char *at = p[i] ? strchr(from, p[i]) : NULL;

		ones |= p[i] == '1';
		other[i] = (char)(p[i] == '1' ? 'l' : at ? to[at - from] : p[i]);
		p[i] = (char)(at ? to[at - from] : p[i]);
	}
	if (ones && inject_lexicon(inject_hash(other, n)))
		memcpy(p, other, n);
}

static size_t unleet(const char *p, size_t n, char *out)
{
	memcpy(out, p, n);
	for (size_t i = 0, end; i < n; i = end + 1) {
		size_t last;

		for (end = i; end < n && out[end] != ' ' && out[end] != '\n';)
			end++;
		for (last = end; last > i && strchr(".,;:!?)\"'", out[last - 1]);)
			last--;
		if (last - i <= 64)
			unleet_word(out + i, last - i);
	}
	return n;
}

/* The line that something stands in, or what is near of it. */
static void whole_line(const struct inject_text *t, struct inject_block *b)
{
	size_t first = b->start > LINE_REACH ? b->start - LINE_REACH : 0;
	size_t last = t->len - b->end > LINE_REACH ? b->end + LINE_REACH : t->len;

	while (b->start > first && t->text[b->start - 1] != '\n')
		b->start--;
	while (b->end < last && t->text[b->end] != '\n')
		b->end++;
}

/* Numbers go on over what ends sentences, up to what is none. */
static size_t from_numbers(const struct inject_text *t, struct inject_block *b)
{
	size_t n = t->len - b->start < NUMBERS_MAX ? t->len - b->start : NUMBERS_MAX;
	size_t used = 0, len = inject_numbers(t->text + b->start, n, b->text, &used);

	b->end = used > b->end - b->start ? b->start + used : b->end;
	return len;
}

int inject_decode(struct bawn_arena *a, const struct inject_text *t, const struct inject_hint *h,
	struct inject_block *ret)
{
	static size_t (*const decode[])(const char *p, size_t n, char *out) = {
		[HINT_SPACED] = unspace,
		[HINT_TURNED] = turn,
		[HINT_REVERSED] = reverse,
		[HINT_REVERSED_WORDS] = reverse_words,
		[HINT_LEET] = unleet,
		[HINT_SHIFTED] = inject_shifted,
	};
	struct inject_block b = {.start = h->start, .end = h->end};
	int r = 0;

	if (h->kind == HINT_LONG) {
		r = decode_long(a, t, &b);
		*ret = b;
		return r;
	}
	if (h->kind == HINT_SPACED && !spells(t->text + b.start, b.end - b.start)) {
		*ret = b;
		return 0;
	}
	if (h->kind != HINT_NUMBERS && (h->kind != HINT_SPACED || t->text[b.start + 1] != ' '))
		whole_line(t, &b);
	b.text = bawn_arena_alloc(a, h->kind == HINT_NUMBERS ? NUMBERS_MAX : b.end - b.start + 1);
	if (!b.text)
		return -ENOMEM;
	b.len = h->kind == HINT_NUMBERS
			? from_numbers(t, &b)
			: decode[h->kind](t->text + b.start, b.end - b.start, b.text);
	*ret = b;
	return 0;
}
