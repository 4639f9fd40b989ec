/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that was turned into numbers (hexadecimal, decimal, octal, binary, in whatever marks they
 * stand) or whose letters were moved along the alphabet. The splitter does not see these: no word
 * of theirs is odd by itself. So sentences are looked at, and nearly all are done with after a few
 * bytes.
 */
#include <errno.h>
#include <string.h>

#include "base/digit.h"
#include "inject-lexicon.h"
#include "inspect/inject/inject.h"

#define NUMBERS_LEAST  12  /* in a sentence */
#define NUMBERS_PROBE  10  /* that have to stand for letters before the rest is looked at */
#define DIGITS_LEAST   8   /* in these: no letter is spelled by letters alone, see spells() */
#define SHIFT_WORDS    6   /* in a sentence; fewer say nothing in any cipher */
#define SHIFT_LETTERS  400 /* of a sentence that are looked at */
#define SHIFT_KNOWN    3   /* of four words, so many have to be known behind the shift */
#define NUMBER_LONG    9   /* with what stands between them, bytes each on the whole */
#define NUMBER_CLASSES 4   /* that words among them may have */
#define ATBASH         26
#define STARTS         6 /* words of a sentence that numbers may start at */

_Static_assert(SHIFT_WORDS <= NUMBERS_LEAST, "shorter sentences are passed over");

/* Every sentence comes by here: one look at a table tells what a byte can be. */
#define B_LETTER  (1u << 0)
#define B_CAPITAL (1u << 1)
#define B_DIGIT   (1u << 2)
#define B_HEX     (1u << 3)
#define B_MARKS   (1u << 4) /* x or u: what follows is hexadecimal */
#define B_BETWEEN (1u << 5) /* stands between numbers */
#define B_PROSE   (1u << 6) /* or between words */
#define B_ALNUM   (B_LETTER | B_DIGIT)
static const unsigned char kinds[256] = {
	['0' ... '9'] = B_DIGIT | B_HEX,
	['a' ... 'f'] = B_LETTER | B_HEX,
	['g' ... 't'] = B_LETTER,
	['u'] = B_LETTER | B_MARKS,
	['v' ... 'w'] = B_LETTER,
	['x'] = B_LETTER | B_MARKS,
	['y' ... 'z'] = B_LETTER,
	['A' ... 'F'] = B_LETTER | B_CAPITAL | B_HEX,
	['G' ... 'T'] = B_LETTER | B_CAPITAL,
	['U'] = B_LETTER | B_CAPITAL | B_MARKS,
	['V' ... 'W'] = B_LETTER | B_CAPITAL,
	['X'] = B_LETTER | B_CAPITAL | B_MARKS,
	['Y' ... 'Z'] = B_LETTER | B_CAPITAL,
	[0] = B_BETWEEN | B_PROSE,
	[' '] = B_BETWEEN | B_PROSE,
	['\t'] = B_BETWEEN,
	['\r'] = B_BETWEEN,
	['\n'] = B_BETWEEN,
	['\\'] = B_BETWEEN,
	['%'] = B_BETWEEN,
	['='] = B_BETWEEN,
	['&'] = B_BETWEEN,
	['#'] = B_BETWEEN,
	[','] = B_BETWEEN | B_PROSE,
	[';'] = B_BETWEEN | B_PROSE,
	[':'] = B_BETWEEN | B_PROSE,
	['.'] = B_PROSE,
	['\''] = B_PROSE,
	['!'] = B_PROSE,
	['?'] = B_PROSE,
	['@'] = B_PROSE,
	['-'] = B_PROSE,
	['/'] = B_PROSE,
};

static inline unsigned is(char c, unsigned which)
{
	return kinds[(unsigned char)c] & which;
}

enum base {
	BASE_2 = 2,
	BASE_8 = 8,
	BASE_10 = 10,
	BASE_16 = 16,
};

/* A number, with what may stand before it in code. */
struct number {
	const char *digits;
	size_t len;
	bool marked; /* by x or u: the digits are hexadecimal */
	bool slash;  /* by a backslash */
};

/* The next number; its end, or NULL when something else stands there. */
static const char *next_number(const char *p, const char *end, struct number *r)
{
	*r = (struct number){0};
	for (; p < end && is(*p, B_BETWEEN); p++)
		r->slash = *p == '\\';
	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x') {
		r->marked = true;
		p += 2;
	} else if (p < end && is(*p, B_MARKS)) {
		r->marked = true;
		p++;
	}
	r->digits = p;
	while (p < end && is(*p, B_HEX))
		p++;
	r->len = (size_t)(p - r->digits);
	return r->len && r->len <= 8 && !(p < end && is(*p, B_ALNUM)) ? p : NULL;
}

static enum base base_of(const struct number *v, size_t n)
{
	bool two = true, ten = true, eight = true;

	for (size_t i = 0; i < n; i++) {
		if (v[i].marked)
			return BASE_16;
		two &= v[i].len >= 7;
		eight &= v[i].len == 3 && (!i || v[i].slash);
		for (size_t k = 0; k < v[i].len; k++) {
			ten &= is(v[i].digits[k], B_DIGIT) != 0;
			two &= v[i].digits[k] == '0' || v[i].digits[k] == '1';
		}
	}
	return two ? BASE_2 : eight ? BASE_8 : ten && v[0].len < 4 ? BASE_10 : BASE_16;
}

/* What it stands for, 0 when that is no character of a text. */
static char character(const struct number *v, enum base base)
{
	unsigned x = 0;

	for (size_t i = 0; i < v->len; i++) {
		int d = bawn_digit16(v->digits[i]);

		if (d < 0 || d >= (int)base)
			return 0;
		x = x * (unsigned)base + (unsigned)d;
	}
	return (char)((x >= ' ' && x < 0x7f) || x == '\n' ? x : 0);
}

/* Two hexadecimal digits each may happen to be decimal ones. */
static bool spells(const struct number *v, size_t n, enum base base)
{
	size_t letters = 0;

	for (size_t i = 0; i < n; i++) {
		char c = character(&v[i], base);

		if (!c)
			return false;
		letters += is(c, B_LETTER) || c == ' ';
	}
	return letters * 10 >= n * 8;
}

static bool probe(const char *p, const char *end, enum base *base)
{
	struct number v[NUMBERS_PROBE];

	for (size_t i = 0; i < NUMBERS_PROBE; i++) {
		p = next_number(p, end, &v[i]);
		if (!p)
			return false;
	}
	*base = base_of(v, NUMBERS_PROBE);
	if (*base == BASE_10 && !spells(v, NUMBERS_PROBE, *base))
		*base = BASE_16;
	return spells(v, NUMBERS_PROBE, *base);
}

size_t inject_numbers(const char *p, size_t n, char *out, size_t *used)
{
	const char *end = p + n, *at = p;
	enum base base = BASE_16;
	size_t o = 0;

	*used = 0;
	if (!probe(p, end, &base))
		return 0;
	for (;;) {
		struct number v;
		char c;

		at = next_number(at, end, &v);
		c = (char)(at ? character(&v, base) : 0);
		if (!c)
			return o;
		out[o++] = c;
		*used = (size_t)(at - p);
	}
}

static char shifted(char c, unsigned by)
{
	char first = (char)(c >= 'a' && c <= 'z' ? 'a' : c >= 'A' && c <= 'Z' ? 'A' : 0);

	if (!first)
		return c;
	if (by == ATBASH)
		return (char)(first + 25 - (c - first));
	return (char)(first + (c - first + (int)by) % 26);
}

/* Words that most English sentences have. */
static const char often[][4] = {"the", "and", "you", "your", "this", "that", "with", "all", "not",
	"for", "to", "of", "in", "is", "on", "or", "any", "are"};

/* Whether n letters are one of them. */
static bool common(const char *w, size_t n)
{
	char low[4] = "";
	uint32_t x, y;
	bool yes = false;

	if (n < 2 || n > 4)
		return false;
	for (size_t i = 0; i < n; i++)
		low[i] = (char)(w[i] | 0x20);
	memcpy(&x, low, 4);
	for (size_t i = 0; i < sizeof(often) / sizeof(often[0]); i++) {
		memcpy(&y, often[i], 4);
		yes |= x == y;
	}
	return yes;
}

/* Whether it has one of them, as it stands. */
static bool has_common(const char *p, size_t n)
{
	for (size_t i = 0, k; i < n; i = k + 1) {
		for (k = i; k < n && is(p[k], B_LETTER);)
			k++;
		if (k > i && common(p + i, k - i))
			return true;
	}
	return false;
}

/* How many words of the shifted text are known, of how many. */
static bool reads(const char *p, size_t n, unsigned by)
{
	INJECT_RAW char w[32 + INJECT_PAD];
	size_t words = 0, known = 0, usual = 0;

	for (size_t i = 0, k; i < n; i = k + 1) {
		bool is_common;

		for (k = i; k < n && is(p[k], B_LETTER) && k - i < 32; k++)
			w[k - i] = shifted(p[k], by);
		if (k == i)
			continue;
		memset(w + (k - i), 0, 8);
		words++;
		is_common = common(w, k - i);
		usual += is_common;
		known += is_common || inject_lexicon(inject_hash(w, k - i)) != 0;
	}
	return usual >= 1 && known * 4 >= words * SHIFT_KNOWN - words && known >= 4;
}

/* Whether a mask has more than n bits. No guessing: every sentence has another number. */
static inline __attribute__((always_inline)) bool more_bits(uint64_t bits, unsigned n)
{
	for (; n; n--)
		bits &= bits - (bits != 0);
	return bits;
}

/* What letters that were moved may happen to be. */
#define BY_CHANCE ((uint64_t)1 << LEX_TARGET | (uint64_t)1 << LEX_IDENT | (uint64_t)1 << LEX_URLISH)

/* Plain words with hardly one among them that is known: what code and data hardly ever are. */
static bool odd_prose(const struct inject_text *t, const struct inject_sentence *s)
{
	const char *p = t->text;
	size_t letters = 0, n = s->end - s->start;

	if (s->foreign || more_bits(s->classes & ~BY_CHANCE, 2))
		return false;
	/* a name has what prose has not, unless that stands behind the end */
	if (s->classes >> LEX_IDENT & 1 && p[s->end] != '(')
		return false;
	for (size_t i = s->start; i < s->end; i++) {
		if (!is(p[i], B_LETTER | B_PROSE))
			return false;
		if (is(p[i], B_CAPITAL) && i > s->start && is(p[i - 1], B_LETTER))
			return false;
		letters += is(p[i], B_LETTER) != 0;
	}
	return letters * 10 >= n * 7u && !has_common(p + s->start, n);
}

/* By how much n letters may be shifted to be one of the words that are used often, a bit each. */
static uint32_t shifts_of(const char *w, size_t n)
{
	uint32_t r = 0;

	for (size_t i = 0; i < sizeof(often) / sizeof(often[0]); i++) {
		int first = often[i][0] - (w[0] | 0x20), turned = often[i][0] + (w[0] | 0x20);
		bool by = true, back = true;

		if (strnlen(often[i], 4) != n)
			continue;
		for (size_t k = 1; k < n; k++) {
			int apart = often[i][k] - (w[k] | 0x20) - first;

			by &= apart == 0 || apart == 26 || apart == -26;
			back &= often[i][k] + (w[k] | 0x20) == turned;
		}
		r |= (uint32_t)by << (first + 26) % 26;
		r |= (uint32_t)(back && turned == 'a' + 'z') << ATBASH;
	}
	return r;
}

/* Those that make one of them of any word: others need no try, see reads(). */
static uint32_t shifts(const char *p, size_t n)
{
	uint32_t r = 0;

	for (size_t i = 0, k; i < n; i = k + 1) {
		for (k = i; k < n && is(p[k], B_LETTER) && k - i < 32;)
			k++;
		if (k - i >= 2 && k - i <= 4)
			r |= shifts_of(p + i, k - i);
	}
	return r;
}

size_t inject_shifted(const char *p, size_t n, char *out)
{
	size_t look = n < SHIFT_LETTERS ? n : SHIFT_LETTERS;
	uint32_t worth = shifts(p, look);

	for (unsigned by = 1; by <= ATBASH; by++) {
		/* the splitter sees the thirteenth */
		if (by == 13 || !(worth >> by & 1) || !reads(p, look, by))
			continue;
		for (size_t i = 0; i < n; i++)
			out[i] = shifted(p[i], by);
		return n;
	}
	return 0;
}

static int add_hint(struct bawn_arena *a, struct inject_sentences *all, size_t start, size_t end,
	enum inject_hint_kind kind)
{
	struct inject_hint *h;

	if (all->n_hints >= INJECT_HINTS_MAX)
		return 0;
	h = bawn_grow(a, &all->hints, &all->n_hints, &all->cap_hints);
	if (!h)
		return -ENOMEM;
	*h = (struct inject_hint){.start = (uint32_t)start, .end = (uint32_t)end, .kind = kind};
	return 0;
}

/* How many digits there are, eight bytes at a time; up to seven behind them are looked at, too. */
static size_t count_digits(const char *p, size_t n)
{
	uint64_t high = 0x8080808080808080u, x;
	size_t digits = 0;

	for (size_t i = 0; i < n; i += 8) {
		memcpy(&x, p + i, 8);
		x ^= 0x3030303030303030u; /* a digit is less than ten now */
		x = ~((x & ~high) + 0x7676767676767676u) & ~x & high;
		digits += (x >> 7) * 0x0101010101010101u >> 56;
	}
	return digits;
}

/* Where the first numbers of a sentence start that spell something; its end when none do. */
static size_t numbers_start(const struct inject_text *t, const struct inject_sentence *s)
{
	const char *p = t->text;
	enum base base;
	unsigned tries = 0;

	if (s->n_words < NUMBERS_LEAST || s->end - s->start > NUMBER_LONG * (uint32_t)s->n_words ||
		more_bits(s->classes, NUMBER_CLASSES) ||
		count_digits(p + s->start, s->end - s->start) < DIGITS_LEAST)
		return s->end;
	for (size_t i = s->start; i < s->end && tries < STARTS; i++) {
		if (!is(p[i], B_ALNUM) || (i > s->start && is(p[i - 1], B_ALNUM)))
			continue;
		tries++;
		if (is(p[i], B_HEX | B_MARKS) && probe(p + i, p + s->end, &base))
			return i;
	}
	return s->end;
}

int inject_ciphers(struct bawn_arena *a, const struct inject_text *t, struct inject_sentences *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct inject_sentence *s = &all->v[i];
		size_t start;
		int r = 0;

		if (s->n_words < SHIFT_WORDS)
			continue;
		start = numbers_start(t, s);
		if (start < s->end)
			r = add_hint(a, all, start, s->end, HINT_NUMBERS);
		else if (odd_prose(t, s))
			r = add_hint(a, all, s->start, s->end, HINT_SHIFTED);
		if (r < 0)
			return r;
	}
	return 0;
}
