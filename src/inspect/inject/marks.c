/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where words begin and end, and what stands between them, as one bit per byte. The splitter would
 * have to guess at every byte otherwise, and guesses wrong several times per word. SSE2 is part of
 * every x86-64, AVX2 is used where it is; other machines go by the tables, with the same result.
 */
#include "inspect/inject/marks.h"

#ifdef __SSE2__
#include <immintrin.h>

#include "inspect/cpu.h"
#endif

const unsigned char inject_kind[256] = {
	['a' ... 'z'] = C_LOWER,
	['A' ... 'Z'] = C_UPPER,
	['0' ... '9'] = C_DIGIT,
	['_'] = C_UNDER,
	['.'] = C_DOT,
	['@'] = C_AT,
	['\''] = C_QUOTE,
	[0x80 ... 0xff] = C_LOWER | C_HIGH,
};

const bool inject_clause[256] = {
	['\n'] = true,
	['-'] = true,
	['*'] = true,
	['"'] = true,
	['\''] = true,
	['!'] = true,
	[':'] = true,
	[','] = true,
	[';'] = true,
	['('] = true,
	['>'] = true,
};

/* What a byte does to a sentence that ends next to it. NUL is the end of the text. */
#define D_APART (1u << 0) /* a line that starts with it is no continuation */
#define D_OPENS (1u << 1) /* a value stands behind it */
#define D_VALUE (1u << 2) /* a value ends before it */
#define D_AFTER (1u << 3) /* a full stop before it ends the sentence */
#define D_ANY   (1u << 4) /* whatever follows */
#define D_BREAK (1u << 5) /* a clause may start behind it: inject_clause */
static const unsigned char divides[256] = {
	[0] = D_APART | D_AFTER,
	[' '] = D_AFTER,
	['\n'] = D_APART | D_AFTER | D_BREAK,
	['!'] = D_BREAK,
	['-'] = D_APART | D_BREAK,
	['*'] = D_APART | D_AFTER | D_BREAK,
	['"'] = D_APART | D_AFTER | D_BREAK,
	['\''] = D_APART | D_AFTER | D_BREAK,
	['|'] = D_APART,
	[':'] = D_APART | D_OPENS | D_VALUE | D_BREAK,
	[','] = D_OPENS | D_VALUE | D_BREAK,
	[';'] = D_BREAK,
	['>'] = D_BREAK,
	['('] = D_OPENS | D_BREAK,
	[')'] = D_AFTER,
	['+'] = D_APART,
	['<'] = D_APART,
	['{'] = D_APART | D_OPENS,
	['}'] = D_APART | D_VALUE | D_AFTER,
	['['] = D_APART | D_OPENS,
	[']'] = D_APART | D_VALUE | D_AFTER,
	['='] = D_APART | D_OPENS,
	['A' ... 'Z'] = D_APART | D_AFTER,
	['0' ... '9'] = D_APART,
};

/* What has to follow a byte for it to end a sentence. */
static const unsigned char stops[256] = {
	['\n'] = D_APART,
	['"'] = D_VALUE,
	['\''] = D_VALUE,
	['!'] = D_AFTER,
	['.'] = D_AFTER,
	['?'] = D_AFTER,
	['|'] = D_ANY,
};

/* A quotation mark that starts a value: behind a comma, a colon or a bracket. */
static bool opens(const char *text, size_t at)
{
	while (at && text[at - 1] == ' ')
		at--;
	return at && divides[(unsigned char)text[at - 1]] & D_OPENS;
}

/* Those of the bytes at `at` on that end a sentence. */
static uint64_t which_stop(const char *text, size_t at, uint64_t bits)
{
	uint64_t r = 0;

	for (; bits; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);
		unsigned must = stops[(unsigned char)text[at + i]];
		/* no guessing: every other line end goes on */
		unsigned next = divides[(unsigned char)text[at + i + 1]] | D_ANY;
		bool yes = next & must;

		if (must == D_VALUE && !yes)
			yes = opens(text, at + i);
		r |= (uint64_t)yes << i;
	}
	return r;
}

#ifdef __SSE2__
/* 0xff for bytes in [first, last] */
static inline __m128i in_range(__m128i v, char first, char last)
{
	__m128i t = _mm_sub_epi8(v, _mm_set1_epi8(first));

	return _mm_cmpeq_epi8(_mm_min_epu8(t, _mm_set1_epi8((char)(last - first))), t);
}

static inline __m128i is(__m128i v, char c)
{
	return _mm_cmpeq_epi8(v, _mm_set1_epi8(c));
}

static inline __m128i or3(__m128i a, __m128i b, __m128i c)
{
	return _mm_or_si128(a, _mm_or_si128(b, c));
}

/* The highest bits of 64 bytes. */
static inline __attribute__((always_inline)) uint64_t bits_of(const __m128i v[static 4])
{
	uint64_t lo = (unsigned)_mm_movemask_epi8(v[0]) |
		      (uint64_t)(unsigned)_mm_movemask_epi8(v[1]) << 16;
	uint64_t hi = (unsigned)_mm_movemask_epi8(v[2]) |
		      (uint64_t)(unsigned)_mm_movemask_epi8(v[3]) << 16;

	return lo | hi << 32;
}

static inline __attribute__((always_inline)) void look(const char *p, struct inject_bytes *r)
{
	__m128i word[4], letter[4], ascii[4], dot[4], inner[4], lower[4], clause[4], stop[4];
	__m128i digit[4], paren[4], colon[4], slash[4], plus[4];

	for (unsigned i = 0; i < 4; i++) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * (size_t)i));
		__m128i quote = is(v, '\'');
		/* these both divide clauses and may end sentences */
		__m128i both = or3(in_range(v, '!', '"'), quote, is(v, '\n'));

		ascii[i] = in_range(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 'z');
		/* a byte of another script has the highest bit */
		letter[i] = _mm_or_si128(ascii[i], v);
		digit[i] = in_range(v, '0', '9');
		word[i] = or3(letter[i], digit[i], is(v, '_'));
		dot[i] = is(v, '.');
		inner[i] = or3(dot[i], quote, is(v, '@'));
		lower[i] = in_range(v, 'a', 'z');
		paren[i] = is(v, '(');
		colon[i] = is(v, ':');
		slash[i] = is(v, '/');
		plus[i] = is(v, '+');
		clause[i] = or3(in_range(v, ',', '-'), or3(colon[i], is(v, ';'), is(v, '>')), both);
		clause[i] = or3(clause[i], paren[i], is(v, '*'));
		stop[i] = or3(both, dot[i], _mm_or_si128(is(v, '?'), is(v, '|')));
	}
	*r = (struct inject_bytes){
		.word = bits_of(word),
		.letter = bits_of(letter),
		.ascii = bits_of(ascii),
		.dot = bits_of(dot),
		.inner = bits_of(inner),
		.lower = bits_of(lower),
		.digit = bits_of(digit),
		.paren = bits_of(paren),
		.colon = bits_of(colon),
		.slash = bits_of(slash),
		.plus = bits_of(plus),
		.clause = bits_of(clause),
		.stop = bits_of(stop),
	};
}

INJECT_AVX2 static inline __m256i in_range2(__m256i v, char first, char last)
{
	__m256i t = _mm256_sub_epi8(v, _mm256_set1_epi8(first));

	return _mm256_cmpeq_epi8(_mm256_min_epu8(t, _mm256_set1_epi8((char)(last - first))), t);
}

INJECT_AVX2 static inline __m256i is2(__m256i v, char c)
{
	return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c));
}

INJECT_AVX2 static inline __m256i or6(__m256i a, __m256i b, __m256i c)
{
	return _mm256_or_si256(a, _mm256_or_si256(b, c));
}

INJECT_AVX2 static inline uint64_t bits2(__m256i v, unsigned shift)
{
	return (uint64_t)(unsigned)_mm256_movemask_epi8(v) << shift;
}

/* look() with 32 bytes at once */
INJECT_AVX2 static inline void look2(const char *p, struct inject_bytes *r)
{
	*r = (struct inject_bytes){0};
	for (unsigned i = 0; i < 64; i += 32) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));
		__m256i quote = is2(v, '\''), dot = is2(v, '.');
		__m256i both = or6(in_range2(v, '!', '"'), quote, is2(v, '\n'));
		__m256i ascii = in_range2(_mm256_or_si256(v, _mm256_set1_epi8(0x20)), 'a', 'z');
		__m256i letter = _mm256_or_si256(ascii, v);
		__m256i digit = in_range2(v, '0', '9');
		__m256i paren = is2(v, '('), colon = is2(v, ':');
		__m256i clause =
			or6(in_range2(v, ',', '-'), or6(colon, is2(v, ';'), is2(v, '>')), both);

		clause = or6(clause, paren, is2(v, '*'));
		r->word |= bits2(or6(letter, digit, is2(v, '_')), i);
		r->letter |= bits2(letter, i);
		r->ascii |= bits2(ascii, i);
		r->dot |= bits2(dot, i);
		r->inner |= bits2(or6(dot, quote, is2(v, '@')), i);
		r->lower |= bits2(in_range2(v, 'a', 'z'), i);
		r->digit |= bits2(digit, i);
		r->paren |= bits2(paren, i);
		r->colon |= bits2(colon, i);
		r->slash |= bits2(is2(v, '/'), i);
		r->plus |= bits2(is2(v, '+'), i);
		r->clause |= bits2(clause, i);
		r->stop |= bits2(or6(both, dot, _mm256_or_si256(is2(v, '?'), is2(v, '|'))), i);
	}
}

/* look() with all of a block at once, and what else a block can tell that way. */
INJECT_AVX512 static inline void look3(const char *p, struct inject_bytes *r)
{
	__m512i v = _mm512_loadu_si512(p);
	__m512i kind = _mm512_permutex2var_epi8(
		_mm512_loadu_si512(inject_kind), v, _mm512_loadu_si512(inject_kind + 64));
	__m512i does = _mm512_permutex2var_epi8(
		_mm512_loadu_si512(divides), v, _mm512_loadu_si512(divides + 64));
	uint64_t high = _mm512_movepi8_mask(v), ours = ~high;

#define KIND(bits) (_mm512_test_epi8_mask(kind, _mm512_set1_epi8(bits)) & ours)
#define DOES(bits) (_mm512_test_epi8_mask(does, _mm512_set1_epi8(bits)) & ours)
#define IS(c)      _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(c))
	r->word = KIND(C_STARTS) | high;
	r->ascii = KIND(C_LOWER | C_UPPER);
	r->letter = r->ascii | high;
	r->lower = KIND(C_LOWER);
	r->digit = KIND(C_DIGIT);
	r->dot = KIND(C_DOT);
	r->inner = KIND(C_INNER);
	r->paren = IS('(');
	r->colon = IS(':');
	r->slash = IS('/');
	r->plus = IS('+');
	r->clause = DOES(D_BREAK);
	r->line = IS('\n');
	r->full = r->dot | IS('!') | IS('?');
	r->quote = IS('"') | KIND(C_QUOTE);
	r->bar = IS('|');
	r->space = IS(' ');
	r->apart = DOES(D_APART);
	r->opens = DOES(D_OPENS);
	r->value = DOES(D_VALUE);
	r->after = DOES(D_AFTER);
#undef KIND
#undef DOES
#undef IS
}

size_t inject_word_part(const char *p)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i letter = in_range(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 'z');
	/* those of other scripts have the highest bit themselves */
	__m128i word = or3(_mm_or_si128(letter, v), in_range(v, '0', '9'), is(v, '_'));

	return (size_t)__builtin_ctz(~(unsigned)_mm_movemask_epi8(word));
}

static inline __m128i masked(__m128i v, unsigned bit)
{
	return _mm_and_si128(v, _mm_set1_epi8((char)bit));
}

unsigned inject_kinds(const char *p, size_t n)
{
	const __m128i place = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	__m128i all = _mm_setzero_si128();

	for (size_t i = 0; i < n; i += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		__m128i left = _mm_set1_epi8((char)(n - i < 16 ? n - i : 16));
		__m128i high = _mm_cmplt_epi8(v, _mm_setzero_si128());
		__m128i k = or3(masked(in_range(v, 'a', 'z'), C_LOWER),
			masked(in_range(v, 'A', 'Z'), C_UPPER),
			masked(in_range(v, '0', '9'), C_DIGIT));

		k = or3(k, masked(is(v, '_'), C_UNDER), masked(high, C_LOWER | C_HIGH));
		k = or3(k, masked(is(v, '.'), C_DOT), masked(is(v, '@'), C_AT));
		k = _mm_or_si128(k, masked(is(v, '\''), C_QUOTE));
		all = _mm_or_si128(all, _mm_and_si128(k, _mm_cmplt_epi8(place, left)));
	}
	all = _mm_or_si128(all, _mm_srli_si128(all, 8));
	all = _mm_or_si128(all, _mm_srli_si128(all, 4));
	all = _mm_or_si128(all, _mm_srli_si128(all, 2));
	all = _mm_or_si128(all, _mm_srli_si128(all, 1));
	return (unsigned)_mm_cvtsi128_si32(all) & 0xff;
}
#else
static inline void look(const char *p, struct inject_bytes *r)
{
	*r = (struct inject_bytes){0};
	for (unsigned i = 0; i < 64; i++) {
		unsigned char c = (unsigned char)p[i];
		unsigned k = inject_kind[c];

		r->letter |= (uint64_t)((k & (C_LOWER | C_UPPER)) != 0) << i;
		r->ascii |= (uint64_t)(k == C_LOWER || k == C_UPPER) << i;
		r->dot |= (uint64_t)(k == C_DOT) << i;
		r->word |= (uint64_t)((k & C_STARTS) != 0) << i;
		r->inner |= (uint64_t)((k & C_INNER) != 0) << i;
		r->lower |= (uint64_t)(k == C_LOWER) << i;
		r->digit |= (uint64_t)(k == C_DIGIT) << i;
		r->paren |= (uint64_t)(c == '(') << i;
		r->colon |= (uint64_t)(c == ':') << i;
		r->slash |= (uint64_t)(c == '/') << i;
		r->plus |= (uint64_t)(c == '+') << i;
		r->clause |= (uint64_t)inject_clause[c] << i;
		r->stop |= (uint64_t)(stops[c] != 0) << i;
	}
}

size_t inject_word_part(const char *p)
{
	size_t n = 0;

	while (n < 16 && inject_kind[(unsigned char)p[n]] & C_STARTS)
		n++;
	return n;
}

unsigned inject_kinds(const char *p, size_t n)
{
	unsigned all = 0;

	for (size_t i = 0; i < n; i++)
		all |= inject_kind[(unsigned char)p[i]];
	return all;
}
#endif

/*
 * Behind each run of bits in `runs` that has one of `seeds` in it: adding carries the lowest of
 * them up to the first place that is not of the run.
 */
static inline uint64_t behind(uint64_t runs, uint64_t seeds, uint64_t *carry)
{
	unsigned long long sum = 0;
	bool a = __builtin_uaddll_overflow(runs, seeds, &sum);
	bool b = __builtin_uaddll_overflow(sum, *carry, &sum);

	*carry = a | b;
	return sum & ~runs;
}

/* What a word can have, by the bytes of it. */
enum {
	HAS_LOWER,
	HAS_UPPER,
	HAS_DIGIT,
	HAS_UNDER,
	HAS_HUMP,
	HAS_INNER,
	HAS_PLUS, /* before it: it may be a number to call */
};

/* What words that end in this block are, by their letters. `starts` and `ends` are their edges. */
static inline __attribute__((always_inline)) void by_letters(struct inject_mark *r,
	struct inject_marks *m, const struct inject_bytes *now, uint64_t in, uint64_t starts)
{
	uint64_t upper = now->ascii & ~now->lower, high = now->letter & ~now->ascii;
	/* a capital behind a small letter */
	uint64_t hump = upper & (now->lower << 1 | m->lower);
	uint64_t single = starts << 1 | m->single;
	uint64_t has_high = behind(in, high, &m->foreign);
	uint64_t has_lower = behind(in, now->lower, &m->has[HAS_LOWER]) | has_high;
	uint64_t has_upper = behind(in, upper, &m->has[HAS_UPPER]);
	uint64_t has_digit = behind(in, now->digit, &m->has[HAS_DIGIT]);
	uint64_t under = now->word & ~now->letter & ~now->digit;

	r->foreign = has_high;
	r->upper = has_upper & ~has_lower & ~single;
	r->ident = behind(in, hump, &m->has[HAS_HUMP]) |
		   (has_lower & (behind(in, under, &m->has[HAS_UNDER]) | now->paren));
	r->odd = behind(in, now->inner & in, &m->has[HAS_INNER]) |
		 (has_digit & (has_lower | has_upper));
	m->lower = now->lower >> 63;
	m->single = starts >> 63;
}

/* Bytes that are of a word. */
static inline __attribute__((always_inline)) uint64_t in_words(const struct inject_marks *m,
	const struct inject_bytes *now, const struct inject_bytes *next)
{
	uint64_t before = now->word << 1 | m->word;

	return now->word | (now->inner & before & (now->word >> 1 | next->word << 63)) |
	       (now->dot & ~before & (now->letter >> 1 | next->letter << 63));
}

/* A block with bytes `in` words, r->stop set. Returns those that words start with. */
static inline __attribute__((always_inline)) uint64_t one_block(struct inject_mark *r,
	struct inject_marks *m, const struct inject_bytes *now, const struct inject_bytes *next,
	uint64_t in)
{
	uint64_t address = now->colon & (now->slash >> 1 | next->slash << 63);
	uint64_t starts;

	r->edge = in ^ (in << 1 | m->in);
	starts = r->edge & in;
	r->clause = behind(~in, now->clause & ~in, &m->clause);
	r->begins = behind(~in, r->stop, &m->begins);
	by_letters(r, m, now, in, starts);
	r->odd |= address;
	r->odd |= behind(in, starts & (now->plus << 1 | m->plus), &m->has[HAS_PLUS]);
	m->word = now->word >> 63;
	m->plus = now->plus >> 63;
	m->in = in >> 63;
	r->starts = (uint32_t)__builtin_popcountll(starts);
	r->ends = (uint32_t)__builtin_popcountll(r->edge ^ starts);
	return starts;
}

/* The edges of block i, one by one. */
static inline __attribute__((always_inline)) void put_edges(struct inject_marks *m, size_t i)
{
	uint32_t at = (uint32_t)(64 * (m->first + i));

	for (uint64_t left = m->v[i].edge; left; left &= left - 1)
		m->edges[m->n_edges++] = at + (uint32_t)__builtin_ctzll(left);
}

/* Those of `bits` that are of `mask`, side by side. */
static uint32_t squeeze(uint64_t bits, uint64_t mask)
{
	uint32_t r = 0;

	for (unsigned k = 0; mask; mask &= mask - 1, k++)
		r |= (uint32_t)(bits >> __builtin_ctzll(mask) & 1) << k;
	return r;
}

static void some_blocks(struct inject_marks *m)
{
	struct inject_bytes now = m->ahead;

	m->runs = ~0u;
	for (size_t i = 0; i < m->n; i++, now = m->ahead) {
		struct inject_mark *r = &m->v[i];
		size_t at = 64 * (m->first + i);
		uint64_t in, starts;

		look(m->text + at + 64, &m->ahead);
		in = in_words(m, &now, &m->ahead);
		r->stop = which_stop(m->text, at, now.stop & ~in);
		starts = one_block(r, m, &now, &m->ahead, in);
		r->begin_words = squeeze(r->begins, starts);
		r->odd_words = squeeze(r->odd, r->edge ^ starts);
		put_edges(m, i);
	}
}

#ifdef INJECT_AVX2
/*
 * Whether so many words of one letter, or two with an underscore, stand in a row that they may
 * spell something. Words that reach into the next block may be such.
 */
INJECT_AVX2 static inline void find_singles(struct inject_marks *m, const struct inject_mark *r,
	const struct inject_bytes *now, uint64_t starts)
{
	unsigned which = (unsigned)(r - m->v);
	uint64_t under = now->word & ~now->letter & ~now->digit, ends = r->edge ^ starts;
	uint64_t single = starts & ((ends >> 1 | (uint64_t)1 << 63) |
					   (under & (ends >> 2 | (uint64_t)3 << 62)));
	uint64_t all = _pext_u64(single, starts) << (INJECT_SPACED_RUN - 1) | m->singles;
	uint64_t some = all & all >> 1;

	some &= some >> 2;
	m->runs |= (unsigned)((some & some >> (INJECT_SPACED_RUN - 4)) != 0) << which;
	m->singles = all >> r->starts & (((uint64_t)1 << (INJECT_SPACED_RUN - 1)) - 1);
}

INJECT_AVX2 static void some_blocks2(struct inject_marks *m)
{
	struct inject_bytes now = m->ahead;

	m->runs = 0;
	for (size_t i = 0; i < m->n; i++, now = m->ahead) {
		struct inject_mark *r = &m->v[i];
		size_t at = 64 * (m->first + i);
		uint64_t in, starts;

		look2(m->text + at + 64, &m->ahead);
		in = in_words(m, &now, &m->ahead);
		r->stop = which_stop(m->text, at, now.stop & ~in);
		starts = one_block(r, m, &now, &m->ahead, in);
		r->begin_words = (uint32_t)_pext_u64(r->begins, starts);
		r->odd_words = (uint32_t)_pext_u64(r->odd, r->edge ^ starts);
		find_singles(m, r, &now, starts);
		put_edges(m, i);
	}
}

/* which_stop() of a block. A quotation mark may stand behind what opens a value, with spaces
 * between. */
static inline __attribute__((always_inline)) uint64_t all_stops(
	struct inject_marks *m, const struct inject_bytes *now, const struct inject_bytes *next)
{
	uint64_t apart = now->apart >> 1 | next->apart << 63;
	uint64_t after = now->after >> 1 | next->after << 63;
	uint64_t value = now->value >> 1 | next->value << 63;
	uint64_t open = now->opens << 1 | m->opens;

	open = (open & ~now->space) | behind(now->space, open & now->space, &m->opened);
	m->opens = now->opens >> 63;
	return (now->line & apart) | (now->full & after) | (now->quote & (value | open)) | now->bar;
}

/* put_edges() without a guess at how many there are. */
INJECT_AVX512 static inline void put_edges3(struct inject_marks *m, size_t i)
{
	static const uint8_t places[64] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,
		38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58,
		59, 60, 61, 62, 63};
	__m512i all = _mm512_maskz_compress_epi8(m->v[i].edge, _mm512_loadu_si512(places));
	__m512i at = _mm512_set1_epi32((int)(64 * (m->first + i)));
	size_t n = m->v[i].starts + m->v[i].ends;
	INJECT_RAW uint8_t out[64];

	_mm512_storeu_si512(out, all);
	for (size_t k = 0; k < (n > 32 ? 64 : 32); k += 16) {
		__m128i part = _mm_loadu_si128((const __m128i *)(const void *)(out + k));

		_mm512_storeu_si512(m->edges + m->n_edges + k,
			_mm512_add_epi32(at, _mm512_maskz_cvtepu8_epi32(0xffff, part)));
	}
	m->n_edges += n;
}

INJECT_AVX512 static void some_blocks3(struct inject_marks *m)
{
	struct inject_bytes now = m->ahead;

	m->runs = 0;
	for (size_t i = 0; i < m->n; i++, now = m->ahead) {
		struct inject_mark *r = &m->v[i];
		uint64_t in, starts;

		look3(m->text + 64 * (m->first + i + 1), &m->ahead);
		in = in_words(m, &now, &m->ahead);
		r->stop = all_stops(m, &now, &m->ahead) & ~in;
		starts = one_block(r, m, &now, &m->ahead, in);
		r->begin_words = (uint32_t)_pext_u64(r->begins, starts);
		r->odd_words = (uint32_t)_pext_u64(r->odd, r->edge ^ starts);
		find_singles(m, r, &now, starts);
		put_edges3(m, i);
	}
}

INJECT_AVX512 static void look_first3(struct inject_marks *m)
{
	look3(m->text, &m->ahead);
}
#endif

enum inject_machine inject_machine_most = INJECT_HAS_AVX512;

#ifdef INJECT_AVX2
static enum inject_machine ask_machine(void)
{
	const unsigned avx2 = bit_AVX2 | bit_BMI | bit_BMI2;
	const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
	const unsigned vbmi = bit_AVX512VBMI | bit_AVX512VBMI2;
	struct bawn_cpu x = bawn_cpu_ask();

	if ((x.state & BAWN_CPU_AVX) != BAWN_CPU_AVX || (x.seven & avx2) != avx2)
		return INJECT_ANY;
	return (x.state & BAWN_CPU_AVX512) == BAWN_CPU_AVX512 && x.one & bit_POPCNT &&
			       (x.seven & avx512) == avx512 && (x.seven_c & vbmi) == vbmi
		       ? INJECT_HAS_AVX512
		       : INJECT_HAS_AVX2;
}
#endif

enum inject_machine inject_marks_machine(void)
{
	static enum inject_machine has = INJECT_ANY;
#ifdef INJECT_AVX2
	static bool asked;

	if (!asked)
		has = ask_machine();
	asked = true;
#endif
	return has < inject_machine_most ? has : inject_machine_most;
}

void inject_marks_begin(
	struct inject_marks *m, const struct inject_text *t, enum inject_machine machine)
{
	memset((char *)m + offsetof(struct inject_marks, first), 0,
		sizeof(*m) - offsetof(struct inject_marks, first));
	m->text = t->text;
	m->blocks = t->len / 64 + 1;
	m->machine = machine;
#ifdef INJECT_AVX2
	if (machine == INJECT_HAS_AVX512) {
		look_first3(m);
		return;
	}
#endif
	look(t->text, &m->ahead);
}

bool inject_marks_next(struct inject_marks *m)
{
	static void (*const some[])(struct inject_marks * m) = {
		[INJECT_ANY] = some_blocks,
#ifdef INJECT_AVX2
		[INJECT_HAS_AVX2] = some_blocks2,
		[INJECT_HAS_AVX512] = some_blocks3,
#endif
	};

	m->first += m->n;
	m->n = m->blocks - m->first < INJECT_BLOCKS ? m->blocks - m->first : INJECT_BLOCKS;
	if (!m->n)
		return false;
	m->begun = m->n_edges % 2;
	if (m->begun)
		m->edges[0] = m->edges[m->n_edges - 1];
	m->n_edges = m->begun;
	some[m->machine](m);
	return true;
}
