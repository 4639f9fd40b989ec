/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about a file as a whole that no single event shows: how it is written. They only count
 * together with what the file does.
 */
#include <ctype.h>
#include <string.h>

#include "inspect/code/code.h"

#define PUSHED       120 /* spaces in the middle of a line that move code out of sight */
#define SHORT        60
#define LONG_LINE    2000
#define NAMES_MANY   12
#define ESCAPES_MANY 80
#define SYMBOLS_MANY 160

struct counts {
	size_t hex_names;  /* _0x3fa2 */
	size_t blur_names; /* lIlIlI, OO0O0, ____ */
	size_t escapes;    /* \x41 */
	size_t brackets;   /* what JavaScript can be written with alone: []()!+ */
	size_t letters;    /* and figures */
	size_t line_max;
	size_t lines;
	bool script; /* JavaScript */
	bool pushed;
	bool bidi;
};

void code_fact(struct code_walk *w, const char *fact)
{
	for (size_t i = 0; i < w->facts.n; i++)
		if (strcmp(w->facts.v[i], fact) == 0)
			return;
	if (bawn_strlist_add(w->a, &w->facts, fact) < 0)
		w->failed = true;
}

static bool blurred(const char *s, size_t n)
{
	size_t l = 0, o = 0, u = 0;

	for (size_t i = 0; i < n; i++) {
		l += s[i] == 'l' || s[i] == 'I' || s[i] == '1' || s[i] == 'i';
		o += s[i] == 'O' || s[i] == '0' || s[i] == 'o';
		u += s[i] == '_';
	}
	return (n >= 6 && (l == n || o == n)) || (n >= 3 && u == n) || (n >= 8 && (l + o + u == n));
}

static size_t name_at(const char *s, size_t len, struct counts *c)
{
	size_t n = 0, hex = 0;

	while (n < len && (isalnum((unsigned char)s[n]) || s[n] == '_'))
		n++;
	if (n >= 6 && s[0] == '_' && s[1] == '0' && s[2] == 'x') {
		for (size_t i = 3; i < n; i++)
			hex += isxdigit((unsigned char)s[i]) != 0;
		c->hex_names += hex == n - 3;
	}
	c->blur_names += blurred(s, n);
	return n;
}

static void line(const char *s, size_t n, struct counts *c)
{
	size_t i = 0, run = 0;
	bool code = false;

	c->lines++;
	c->line_max = n > c->line_max ? n : c->line_max;
	while (i < n) {
		if (s[i] == ' ' || s[i] == '\t') {
			run++;
			i++;
			continue;
		}
		if (code && run >= PUSHED && s[i] != '#' && s[i] != '/' && s[i] != '\\' &&
			s[i] != '|' && n - i > 12)
			c->pushed = true;
		code = true;
		run = 0;
		if (isalpha((unsigned char)s[i]) || s[i] == '_') {
			size_t k = name_at(s + i, n - i, c);

			c->letters += k;
			i += k;
			continue;
		}
		if (c->script) {
			c->letters += isdigit((unsigned char)s[i]) || (s[i] & 0x80);
			c->brackets += s[i] && strchr("[](){}!+~$", s[i]);
		}
		if (s[i] == '\\' && i + 3 < n && s[i + 1] == 'x')
			c->escapes++;
		if ((unsigned char)s[i] == 0xe2 && i + 2 < n && (unsigned char)s[i + 1] == 0x80 &&
			(unsigned char)s[i + 2] >= 0xaa && (unsigned char)s[i + 2] <= 0xae)
			c->bidi = true;
		i++;
	}
}

/* Python reads a comment in the first two lines for the encoding of the rest. Where ASCII may stand
 * for something else, what is seen here is not what runs. */
static bool coded(const char *p, const char *end)
{
	static const char *const odd[] = {"utf7", "utf-7", "utf_7", "u7", "unicode_escape",
		"unicode-escape", "raw_unicode_escape", "raw-unicode-escape", "punycode", "idna",
		"iso2022", "iso-2022", "iso_2022", "hz", "utf-16", "utf_16", "utf16", "utf-32",
		"utf_32", "utf32", "cp037", "cp500", "cp1140"};

	for (unsigned k = 0; k < 2 && p < end; k++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
		const char *at = memmem(p, (size_t)(stop - p), "coding", 6);

		at = at && memchr(p, '#', (size_t)(at - p)) ? at + 6 : stop;
		if (at < stop && (*at == ':' || *at == '='))
			for (at++; at < stop && (*at == ' ' || *at == '\t');)
				at++;
		for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
			if ((size_t)(stop - at) >= strlen(odd[i]) &&
				!strncasecmp(at, odd[i], strlen(odd[i])))
				return true;
		p = stop + 1;
	}
	return false;
}

void code_shape(struct code_walk *w)
{
	struct counts c = {.script = w->front == &code_javascript};
	const char *p = w->text, *end = w->text + w->len;

	if (!bawn_scan_spend(w->scan, w->len)) {
		w->spent = true;
		return;
	}
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);

		line(p, n, &c);
		p += n + 1;
	}
	if (w->front == &code_python && coded(w->text, end))
		code_fact(w, "odd-coding");
	if (c.pushed)
		code_fact(w, "pushed-code");
	if (c.bidi)
		code_fact(w, "bidi");
	if (c.hex_names >= NAMES_MANY)
		code_fact(w, "hex-names");
	if (c.blur_names >= NAMES_MANY)
		code_fact(w, "blurred-names");
	if (c.escapes >= ESCAPES_MANY && c.escapes * 12 > w->len)
		code_fact(w, "hex-text");
	if (c.brackets >= SYMBOLS_MANY && c.brackets > c.letters * 6)
		code_fact(w, "symbols");
	if (c.line_max >= LONG_LINE)
		code_fact(w, "long-line");
	if (c.lines <= SHORT && !w->inner)
		code_fact(w, "short");
}
