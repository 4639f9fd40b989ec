/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that shells, parsers and people read differently. What can be made plain without a doubt
 * is; the rest is named, so that the text is never taken for harmless. Look-alike letters give a
 * second text that is walked as well.
 */
#include <string.h>

#include "inspect/shell/shell.h"

/* Cyrillic and Greek letters that look like ASCII ones. */
static const struct {
	unsigned short from;
	char to;
} lookalikes[] = {
	{0x0430, 'a'},
	{0x0435, 'e'},
	{0x043e, 'o'},
	{0x0440, 'p'},
	{0x0441, 'c'},
	{0x0443, 'y'},
	{0x0445, 'x'},
	{0x0456, 'i'},
	{0x0455, 's'},
	{0x0458, 'j'},
	{0x04bb, 'h'},
	{0x0501, 'd'},
	{0x051b, 'q'},
	{0x051d, 'w'},
	{0x043c, 'm'},
	{0x043a, 'k'},
	{0x0442, 't'},
	{0x0432, 'b'},
	{0x043d, 'n'},
	{0x0433, 'r'},
	{0x0410, 'A'},
	{0x0412, 'B'},
	{0x0415, 'E'},
	{0x041a, 'K'},
	{0x041c, 'M'},
	{0x041d, 'H'},
	{0x041e, 'O'},
	{0x0420, 'P'},
	{0x0421, 'C'},
	{0x0422, 'T'},
	{0x0425, 'X'},
	{0x03bf, 'o'},
	{0x03b1, 'a'},
	{0x03bd, 'v'},
	{0x03c1, 'p'},
	{0x03b9, 'i'},
	{0x03ba, 'k'},
	{0x03c4, 't'},
	{0x03c5, 'u'},
	{0x03c7, 'x'},
	{0x0131, 'i'},
	{0x0261, 'g'},
	{0x2044, '/'},
	{0x2215, '/'},
	{0x29f8, '/'},
	{0x3000, ' '},
	{0x2010, '-'},
	{0x2011, '-'},
};

/* One character; invalid bytes count as themselves. Returns its length. */
static size_t decode(const char *t, size_t n, unsigned *ret)
{
	unsigned char c = (unsigned char)t[0];
	size_t len = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	unsigned v = len == 1 ? c : c & (0x7fu >> len);

	if (len > n)
		len = 1;
	for (size_t i = 1; i < len; i++) {
		if (((unsigned char)t[i] & 0xc0) != 0x80) {
			len = 1;
			v = c;
			break;
		}
		v = v << 6 | ((unsigned char)t[i] & 0x3f);
	}
	*ret = len == 1 ? c : v;
	return len;
}

static char fold(unsigned c)
{
	if (c >= 0xff01 && c <= 0xff5e)
		return (char)(c - 0xff01 + '!');
	if (c >= 0x1d400 && c <= 0x1d6a3) {
		unsigned k = (c - 0x1d400) % 52;

		return (char)(k < 26 ? 'A' + k : 'a' + k - 26);
	}
	for (size_t i = 0; i < sizeof(lookalikes) / sizeof(lookalikes[0]); i++) {
		if (lookalikes[i].from == c)
			return lookalikes[i].to;
	}
	return 0;
}

static const char *fold_text(struct bawn_arena *a, const char *t, size_t n)
{
	char *out = bawn_arena_alloc(a, n + 1);
	bool changed = false;
	size_t k = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i < n;) {
		unsigned c;
		size_t len = decode(t + i, n - i, &c);
		char f = (char)(c < 0x80 ? '\0' : fold(c));

		if (f) {
			out[k++] = f;
			changed = true;
		} else {
			memcpy(out + k, t + i, len);
			k += len;
		}
		i += len;
	}
	out[k] = 0;
	return changed ? out : NULL;
}

const char *sh_fold_word(struct bawn_arena *a, const char *word)
{
	return fold_text(a, word, strlen(word));
}

static bool invisible(unsigned c)
{
	return (c >= 0x200b && c <= 0x200d) || c == 0x2060 || c == 0xfeff || c == 0x00ad ||
	       c == 0x180e || (c >= 0x2061 && c <= 0x2064);
}

/* Why this character makes readers disagree, or NULL. `between`: letters beyond ASCII on both
 * sides, as joiners in emoji and in scripts that need them. */
static const char *oddity(unsigned c, bool between)
{
	if ((c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e ||
		c == 0x200f || c == 0x061c)
		return "a character that turns the direction of writing";
	if (c == 0x2028 || c == 0x2029 || c == 0x0085)
		return "a Unicode line separator, which is a line end for some readers only";
	if (c >= 0xe0000 && c <= 0xe007f)
		return "invisible tag characters";
	if (invisible(c) && !between)
		return "an invisible character";
	return NULL;
}

static const char *odd_control(unsigned char c)
{
	if (!c)
		return "a NUL byte, which shells drop";
	if (c == '\r')
		return "a carriage return, which hides what stands before it on a terminal";
	if (c == 0x1b)
		return "a raw escape character";
	if (c < 0x20 || c == 0x7f)
		return "a control character";
	return NULL;
}

/* The first character of the line that is no blank. */
static char line_first(char first, char c)
{
	if (c == '\n')
		return 0;
	return (char)(first || c == ' ' || c == '\t' ? first : c);
}

/* In a source file form feeds part pages, and comments hold any name; there only the direction of
 * writing can make one thing look like another. */
static const char *odd_in(const struct sh *s, char first, char c, const char *odd)
{
	if (!odd || !s->script)
		return odd;
	return c == '\f' || (first == '#' && !strstr(odd, "direction")) ? NULL : odd;
}

static bool high(const char *t, size_t n, size_t i)
{
	return i < n && ((unsigned char)t[i] & 0x80);
}

/* One byte of ASCII; returns how many were written. */
static size_t put_ascii(const char *text, size_t len, size_t i, char *out, const char **odd)
{
	unsigned char b = (unsigned char)text[i];

	if ((b >= 0x20 && b < 0x7f) || b == '\n' || b == '\t') {
		*out = text[i];
		return 1;
	}
	if (b == '\r' && (i + 1 == len || text[i + 1] == '\n'))
		return 0;
	*odd = odd_control(b);
	*out = ' ';
	return b != 0;
}

int sh_normalise(struct sh *s, const char *text, size_t len, struct sh_norm *ret)
{
	char *out = bawn_arena_alloc(s->a, len + 1);
	bool beyond = false;
	char first = 0;
	size_t k = 0, i = len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;

	*ret = (struct sh_norm){0};
	if (!out)
		return sh_no_memory(s);
	while (i < len) {
		unsigned char b = (unsigned char)text[i];
		unsigned c;
		size_t n;
		const char *odd = NULL;

		if (b < 0x80) {
			k += put_ascii(text, len, i, out + k, &odd);
			first = line_first(first, text[i]);
			ret->odd = ret->odd ? ret->odd : odd_in(s, first, text[i], odd);
			i++;
			continue;
		}
		n = decode(text + i, len - i, &c);
		/* a byte that is no UTF-8 belongs to another encoding, in which it is a letter */
		odd = n > 1 ? oddity(c, i && high(text, len, i - 1) && high(text, len, i + n))
			    : NULL;
		first = line_first(first, text[i]);
		ret->odd = ret->odd ? ret->odd : odd_in(s, first, text[i], odd);
		beyond = true;
		if (!odd || c == 0x2028 || c == 0x2029) {
			memcpy(out + k, text + i, n);
			k += n;
		}
		i += n;
	}
	out[k] = 0;
	ret->text = out;
	ret->len = k;
	if (beyond)
		ret->folded = fold_text(s->a, out, k);
	return 0;
}
