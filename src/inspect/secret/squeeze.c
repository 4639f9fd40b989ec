/* SPDX-License-Identifier: Apache-2.0 */
/* Letters and digits of a text, whatever stands between them and however they are escaped. */
#include "inspect/secret/squeeze.h"

#include <stdbool.h>

#define ESC        0x1b
#define SKIP_MAX   4096 /* of a terminal escape */
#define ENTITY_MAX 10

enum {
	NOTHING, /* a separator */
	PERCENT = 64,
	BACKSLASH,
	AMPERSAND,
	ESCAPE,
};

/* clang-format off */
const unsigned char squeeze_class[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10,
	['a'] = 11, ['A'] = 11, ['b'] = 12, ['B'] = 12, ['c'] = 13, ['C'] = 13, ['d'] = 14, ['D'] = 14,
	['e'] = 15, ['E'] = 15, ['f'] = 16, ['F'] = 16, ['g'] = 17, ['G'] = 17, ['h'] = 18, ['H'] = 18,
	['i'] = 19, ['I'] = 19, ['j'] = 20, ['J'] = 20, ['k'] = 21, ['K'] = 21, ['l'] = 22, ['L'] = 22,
	['m'] = 23, ['M'] = 23, ['n'] = 24, ['N'] = 24, ['o'] = 25, ['O'] = 25, ['p'] = 26, ['P'] = 26,
	['q'] = 27, ['Q'] = 27, ['r'] = 28, ['R'] = 28, ['s'] = 29, ['S'] = 29, ['t'] = 30, ['T'] = 30,
	['u'] = 31, ['U'] = 31, ['v'] = 32, ['V'] = 32, ['w'] = 33, ['W'] = 33, ['x'] = 34, ['X'] = 34,
	['y'] = 35, ['Y'] = 35, ['z'] = 36, ['Z'] = 36,
	['%'] = PERCENT, ['\\'] = BACKSLASH, ['&'] = AMPERSAND, [ESC] = ESCAPE,
};
/* clang-format on */

/* Read up to `max` digits of `base`; sets `*at` behind them. Returns the value, or -1 if none. */
static long number(const struct squeeze *s, size_t *at, unsigned base, unsigned max)
{
	long v = 0;
	unsigned n = 0;

	while (n < max && *at < s->len) {
		unsigned d = squeeze_symbol((unsigned char)s->text[*at]);

		if (d >= base)
			break;
		v = v * (long)base + (long)d;
		n++;
		(*at)++;
	}
	return n ? v : -1;
}

static unsigned symbol_of(long v)
{
	unsigned c = v >= 0 && v < 256 ? squeeze_symbol((unsigned char)v) : SQUEEZE_NONE;

	return c < 36 ? c : SQUEEZE_NONE;
}

/* %41: two digits, or the sign falls away */
static unsigned percent(struct squeeze *s)
{
	size_t at = s->at;
	long v = number(s, &at, 16, 2);

	if (v < 0 || at != s->at + 2)
		return SQUEEZE_NONE;
	s->at = at;
	return symbol_of(v);
}

/* \u0041 \u{41} \x41 \101, and \n \r \t …, which are separators */
static unsigned backslash(struct squeeze *s)
{
	size_t at = s->at + 1;
	bool braces;
	long v;

	if (s->at >= s->len)
		return SQUEEZE_NONE;
	switch (s->text[s->at]) {
	case 'u':
	case 'U':
	case 'x':
		braces = at < s->len && s->text[at] == '{';
		at += braces;
		v = number(s, &at, 16, s->text[s->at] == 'x' ? 2 : s->text[s->at] == 'u' ? 4 : 8);
		if (v < 0)
			return SQUEEZE_NONE;
		s->at = at + (braces && at < s->len && s->text[at] == '}');
		return symbol_of(v);
	case 'n':
	case 'r':
	case 't':
	case 'b':
	case 'f':
	case 'v':
		s->at++;
		return SQUEEZE_NONE;
	default:
		at = s->at;
		v = number(s, &at, 8, 3);
		if (v < 0 || at != s->at + 3)
			return SQUEEZE_NONE;
		s->at = at;
		return symbol_of(v);
	}
}

/* &#65; &#x41; and &amp; &quot; …, which are separators */
static unsigned ampersand(struct squeeze *s)
{
	size_t at = s->at, i;
	long v;

	if (at < s->len && s->text[at] == '#') {
		bool x = ++at < s->len && (s->text[at] == 'x' || s->text[at] == 'X');

		at += x;
		v = number(s, &at, x ? 16 : 10, 6);
		if (v < 0)
			return SQUEEZE_NONE;
		s->at = at + (at < s->len && s->text[at] == ';');
		return symbol_of(v);
	}
	for (i = at; i < s->len && i - at < ENTITY_MAX; i++) {
		if (s->text[i] == ';') {
			s->at = i + 1;
			break;
		}
		if (squeeze_symbol((unsigned char)s->text[i]) >= 36)
			break;
	}
	return SQUEEZE_NONE;
}

/*
 * Behind ESC: a CSI sequence falls away up to its final byte. A string sequence falls away in plain
 * mode only, because the value may also be what it carries (to the clipboard, for instance).
 */
static void skip_escape(struct squeeze *s)
{
	size_t stop = s->len - s->at > SKIP_MAX ? s->at + SKIP_MAX : s->len;
	unsigned char kind = s->at < stop ? (unsigned char)s->text[s->at++] : 0;
	size_t i = s->at;

	if (kind == '[') {
		while (i < stop && (unsigned char)s->text[i] >= ' ' &&
			(unsigned char)s->text[i] < '@')
			i++;
		s->at = i < stop ? i + 1 : i;
	} else if (kind == ']' || kind == 'P' || kind == '_' || kind == '^' || kind == 'X') {
		s->decoded = true;
		if (!s->plain)
			return;
		while (i < stop && s->text[i] != '\a' && s->text[i] != ESC && s->text[i] != '\n')
			i++;
		if (i + 1 < stop && s->text[i] == ESC && s->text[i + 1] == '\\')
			i++;
		s->at = i < stop ? i + 1 : i;
	}
}

unsigned squeeze_next(struct squeeze *s)
{
	while (s->at < s->len) {
		unsigned c = squeeze_class[(unsigned char)s->text[s->at]];
		unsigned v = SQUEEZE_NONE;

		s->start = s->at++;
		if (c - 1 < 36)
			return c - 1;
		if (c == NOTHING)
			continue;
		if (c == ESCAPE)
			skip_escape(s);
		else if (s->plain)
			continue;
		else if (c == PERCENT)
			v = percent(s);
		else if (c == BACKSLASH)
			v = backslash(s);
		else
			v = ampersand(s);
		/* \n and the like are one letter, which is not worth another look */
		s->decoded |= s->at > s->start + 2;
		if (v != SQUEEZE_NONE)
			return v;
	}
	return SQUEEZE_NONE;
}
