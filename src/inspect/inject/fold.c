/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a code point looks like to a reader. Text that shall reach a model but not a filter is
 * written with letters of other alphabets, in styled or full-width forms, or with characters that
 * nobody sees; all of them become the plain letter here. The tables hold one ASCII letter per code
 * point, '.' where there is none.
 */
#include <string.h>

#include "inspect/inject/inject.h"

/* U+00C0..U+02B8 */
static const char latin[] =
	"AAAAAAACEEEEIIIIDNOOOOO.OUUUUYTsaaaaaaaceeeeiiiidnooooo.ouuuuytyAaAaAaCcCcCcCcDd"
	"DdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlLlLlNnNnNn.NnOoOoOoOoRrRrRrSsSsSs"
	"SsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzsbB....oCcDD...E.EFfG...IKkl..Nn.Oo..Pp.....tTt.U"
	"u.VYyZz.........l...DDdLLlNNnAaIiOoUuUuUuUuUueAaAa....GgKkOoOo..jDDdGg..NnAa...."
	"AaAaEeEeIiIiOoOoRrRrUuUuSsTt..Hh......AaEeOoOoOoOoYy...j........................"
	".a...............gg......ii.........n...........r..............y.........b..h..l"
	"................h.jr...wy";
/* U+1D00..U+1DBF */
static const char phonetic[] =
	"a...cd.e..jk.m.o.o......p..tu.u.vwz.........A.B.DE.GHIJKLMN.O.PRTUWa...bde...g.k"
	"m.o...ptu..v......iruv......................................................c..."
	"f..........................z....";
/* U+1E00..U+1EFF */
static const char latin_more[] =
	"AaBbBbBbCcDdDdDdDdDdEeEeEeEeEeFfGgHhHhHhHhHhIiIiKkKkKkLlLlLlLlMmMmMmNnNnNnNnOoOo"
	"OoOoPpPpRrRrRrRrSsSsSsSsSsTtTtTtTtUuUuUuUuUuVvVvWwWwWwWwWwXxXxYyZzZzZzhtwyas...."
	"AaAaAaAaAaAaAaAaAaAaAaAaEeEeEeEeEeEeEeEeIiIiOoOoOoOoOoOoOoOoOoOoOoOoUuUuUuUuUuUu"
	"UuYyYyYyYy......";
/* U+2070..U+2149 */
static const char letterlike[] =
	"0i..456789.....n0123456789......aeox.hklmnpst...........R......................."
	"..................................................................C.......gHHHh."
	"IILl.NN..PQRRR..S.T.Z...Z.KABC.eEF.Mo....i...........Ddeij";
/* U+2460..U+24E9 */
static const char enclosed[] =
	"12345678911111111112123456789...........123456789...........abcdefghijklmnopqrst"
	"uvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static const struct {
	uint32_t first, last;
	const char *to;
} blocks[] = {
	{0x00c0, 0x02b8, latin},
	{0x1d00, 0x1dbf, phonetic},
	{0x1e00, 0x1eff, latin_more},
	{0x2070, 0x2149, letterlike},
	{0x2460, 0x24e9, enclosed},
};

/* Letters of other alphabets that look like one of ours. */
static const struct {
	uint16_t cp;
	char to;
} lookalikes[] = {
	{0x0391, 'A'},
	{0x0392, 'B'},
	{0x0395, 'E'},
	{0x0396, 'Z'},
	{0x0397, 'H'},
	{0x0399, 'I'},
	{0x039a, 'K'},
	{0x039c, 'M'},
	{0x039d, 'N'},
	{0x039f, 'O'},
	{0x03a1, 'P'},
	{0x03a4, 'T'},
	{0x03a5, 'Y'},
	{0x03a7, 'X'},
	{0x03b1, 'a'},
	{0x03b3, 'y'},
	{0x03b5, 'e'},
	{0x03b7, 'n'},
	{0x03b9, 'i'},
	{0x03ba, 'k'},
	{0x03bd, 'v'},
	{0x03bf, 'o'},
	{0x03c1, 'p'},
	{0x03c3, 'o'},
	{0x03c4, 't'},
	{0x03c5, 'u'},
	{0x03c7, 'x'},
	{0x03c9, 'w'},
	{0x03f2, 'c'},
	{0x03f3, 'j'},
	{0x0405, 'S'},
	{0x0406, 'I'},
	{0x0408, 'J'},
	{0x0410, 'A'},
	{0x0412, 'B'},
	{0x0415, 'E'},
	{0x0417, '3'},
	{0x041a, 'K'},
	{0x041c, 'M'},
	{0x041d, 'H'},
	{0x041e, 'O'},
	{0x0420, 'P'},
	{0x0421, 'C'},
	{0x0422, 'T'},
	{0x0423, 'Y'},
	{0x0425, 'X'},
	{0x0430, 'a'},
	{0x0432, 'b'},
	{0x0433, 'r'},
	{0x0435, 'e'},
	{0x0438, 'u'},
	{0x043a, 'k'},
	{0x043c, 'm'},
	{0x043d, 'h'},
	{0x043e, 'o'},
	{0x043f, 'n'},
	{0x0440, 'p'},
	{0x0441, 'c'},
	{0x0442, 't'},
	{0x0443, 'y'},
	{0x0445, 'x'},
	{0x0455, 's'},
	{0x0456, 'i'},
	{0x0457, 'i'},
	{0x0458, 'j'},
	{0x0475, 'v'},
	{0x0491, 'r'},
	{0x04ae, 'Y'},
	{0x04af, 'y'},
	{0x04bb, 'h'},
	{0x04c0, 'I'},
	{0x04cf, 'l'},
	{0x0501, 'd'},
	{0x050d, 'g'},
	{0x051b, 'q'},
	{0x051d, 'w'},
	{0x0561, 'w'},
	{0x0566, 'q'},
	{0x0570, 'h'},
	{0x0578, 'n'},
	{0x057c, 'n'},
	{0x057d, 'u'},
	{0x0581, 'g'},
	{0x0585, 'o'},
	{0x13a0, 'D'},
	{0x13a1, 'R'},
	{0x13a2, 'T'},
	{0x13a9, 'Y'},
	{0x13aa, 'A'},
	{0x13ab, 'J'},
	{0x13ac, 'E'},
	{0x13b3, 'W'},
	{0x13b7, 'M'},
	{0x13bb, 'H'},
	{0x13c0, 'G'},
	{0x13c3, 'Z'},
	{0x13cf, 'b'},
	{0x13d2, 'R'},
	{0x13d4, 'W'},
	{0x13da, 'S'},
	{0x13de, 'L'},
	{0x13df, 'C'},
	{0x13e2, 'P'},
	{0x13e6, 'K'},
	{0xa730, 'f'},
	{0xa731, 's'},
};

/* Signs and spaces. */
static const struct {
	uint16_t first, last;
	char to[3];
} signs[] = {
	{0x00a0, 0x00a0, " "},
	{0x2000, 0x200a, " "},
	{0x2010, 0x2015, "-"},
	{0x2018, 0x201b, "'"},
	{0x201c, 0x201f, "\""},
	{0x2022, 0x2022, "*"},
	{0x2024, 0x2024, "."},
	{0x2026, 0x2026, "."},
	{0x2028, 0x2029, "\n"},
	{0x202f, 0x202f, " "},
	{0x2039, 0x203a, "'"},
	{0x205f, 0x205f, " "},
	{0x2800, 0x2800, " "},
	{0x3000, 0x3000, " "},
	{0x3001, 0x3001, ", "},
	{0x3002, 0x3002, ". "},
	{0x300c, 0x300f, "\""},
};

/* Characters without a look of their own. */
static const struct {
	uint32_t first, last;
} invisible[] = {
	{0x00ad, 0x00ad}, /* soft hyphen */
	{0x034f, 0x034f},
	{0x061c, 0x061c},
	{0x115f, 0x1160},
	{0x17b4, 0x17b5},
	{0x180b, 0x180f},
	{0x200b, 0x200f},
	{0x202a, 0x202e},
	{0x2060, 0x206f},
	{0x3164, 0x3164},
	{0xfeff, 0xfeff},
	{0xffa0, 0xffa0},
	{0xfff9, 0xfffb},
	{0x1d173, 0x1d17a},
	{0xe0000, 0xe001f},
	{0xe007f, 0xe00ff},
};

static struct inject_fold fold_to(enum inject_fold_kind kind, char c)
{
	return (struct inject_fold){.kind = kind, .to = {c}};
}

static bool is_invisible(uint32_t cp)
{
	for (size_t i = 0; i < sizeof(invisible) / sizeof(invisible[0]); i++)
		if (cp >= invisible[i].first && cp <= invisible[i].last)
			return true;
	return false;
}

static bool is_mark(uint32_t cp)
{
	return (cp >= 0x0300 && cp <= 0x036f) || (cp >= 0x1ab0 && cp <= 0x1aff) ||
	       (cp >= 0x1dc0 && cp <= 0x1dff) || (cp >= 0x20d0 && cp <= 0x20ff) ||
	       (cp >= 0xfe00 && cp <= 0xfe0f) || (cp >= 0xfe20 && cp <= 0xfe2f);
}

/* Tag characters are ASCII moved up; variation selectors carry a byte each. */
static bool smuggled(uint32_t cp, struct inject_fold *ret)
{
	uint32_t c = 0;

	if (cp >= 0xe0020 && cp <= 0xe007e)
		c = cp - 0xe0000;
	else if (cp >= 0xe0100 && cp <= 0xe01ef)
		c = cp - 0xe0100 + 16;
	else
		return false;
	*ret = c >= 0x20 && c < 0x7f ? fold_to(FOLD_SMUGGLED, (char)c)
				     : (struct inject_fold){.kind = FOLD_INVISIBLE};
	return true;
}

static char styled(uint32_t cp)
{
	if (cp >= 0xff01 && cp <= 0xff5e)
		return (char)(cp - 0xff01 + '!');
	if (cp >= 0x1d400 && cp <= 0x1d6a3)
		return alphabet[(cp - 0x1d400) % 52];
	if (cp >= 0x1d7ce && cp <= 0x1d7ff)
		return (char)('0' + (cp - 0x1d7ce) % 10);
	if (cp >= 0x1f110 && cp <= 0x1f189 && (cp - 0x1f110) % 32 < 26)
		return alphabet[(cp - 0x1f110) % 32];
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		if (cp >= blocks[i].first && cp <= blocks[i].last) {
			char c = blocks[i].to[cp - blocks[i].first];

			return (char)(c == '.' ? 0 : c);
		}
	return 0;
}

static char lookalike(uint32_t cp)
{
	size_t lo = 0, hi = sizeof(lookalikes) / sizeof(lookalikes[0]);

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (lookalikes[mid].cp < cp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (char)(lo < sizeof(lookalikes) / sizeof(lookalikes[0]) && lookalikes[lo].cp == cp
			      ? lookalikes[lo].to
			      : 0);
}

static uint32_t lower(uint32_t cp)
{
	if (cp >= 0x0410 && cp <= 0x042f)
		return cp + 0x20;
	if (cp >= 0x0400 && cp <= 0x040f)
		return cp + 0x50;
	if (cp >= 0x0391 && cp <= 0x03a9)
		return cp + 0x20;
	return cp;
}

struct inject_fold inject_fold(uint32_t cp)
{
	struct inject_fold f = {.kind = FOLD_KEEP, .lower = lower(cp)};
	char c;

	if (cp >= 0x3400 && cp <= 0x9fff)
		return f;
	if (smuggled(cp, &f))
		return f;
	if (is_invisible(cp))
		return (struct inject_fold){.kind = FOLD_INVISIBLE};
	if (is_mark(cp))
		return (struct inject_fold){.kind = FOLD_DROP};
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (cp >= signs[i].first && cp <= signs[i].last) {
			f.kind = FOLD_TO;
			memcpy(f.to, signs[i].to, sizeof(f.to));
			return f;
		}
	c = styled(cp);
	if (c)
		return fold_to(FOLD_TO, c);
	f.to[0] = lookalike(cp);
	if (f.to[0])
		f.kind = FOLD_LOOKALIKE;
	else if (f.lower != cp)
		f.kind = FOLD_LOWER;
	return f;
}

size_t inject_utf8(const char *p, size_t n, uint32_t *cp)
{
	unsigned char b = (unsigned char)p[0];
	size_t len = b < 0xc2 ? 0 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : b < 0xf5 ? 4 : 0;
	uint32_t v = len == 2 ? b & 0x1fu : len == 3 ? b & 0x0fu : b & 0x07u;

	if (b < 0x80) {
		*cp = b;
		return 1;
	}
	if (!len || n < len)
		return 0;
	for (size_t i = 1; i < len; i++) {
		unsigned char c = (unsigned char)p[i];

		if ((c & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (c & 0x3fu);
	}
	if ((len == 3 && v < 0x800) || (len == 4 && (v < 0x10000 || v > 0x10ffff)))
		return 0;
	*cp = v;
	return len;
}

size_t inject_utf8_put(char *out, uint32_t cp)
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (cp >> 18 & 0x07));
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}
