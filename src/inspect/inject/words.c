/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words and their classes. A word is hashed and looked up in the generated table, alone and
 * together with the one or two words before it. Every byte of content comes through here, so what
 * happens for every word has hardly a branch.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define LEX_TABLE
#include "inject-lexicon.h"
#include "inspect/inject/words.h"

#define LEET_CLASSES (BIT(LEX_OVERRIDE) | BIT(LEX_INSTR) | BIT(LEX_PRIOR) | BIT(LEX_SECRET))
#define STARTS       BIT(LEX_STARTS)
_Static_assert(LEX_STARTS == 63, "it is taken for the sign");

/*
 * The table is a perfect hash: a word has one place, which holds it or not. What is left of the
 * product tells its word from all others, see tools/gen-lexicon.py.
 */
static inline uint32_t entry_of(uint32_t hash)
{
	uint32_t x = (hash ^ lexicon_shift[hash >> LEX_BUCKET]) * LEX_FACTOR;
	uint32_t entry = lexicon[x >> LEX_SLOT];

	return entry & LEX_CLASSES & -(uint32_t)(entry >> LEX_TAG == (x & LEX_REST));
}

static inline uint64_t look_up(uint32_t hash)
{
	return lexicon_classes[entry_of(hash)];
}

/* Whether a phrase may begin with two words that have this hash together. */
static inline bool is_pair(uint32_t hash)
{
	return lexicon_pairs[hash >> LEX_PAIR >> 6] >> (hash >> LEX_PAIR & 63) & 1;
}

uint64_t inject_lexicon(uint32_t hash)
{
	return look_up(hash);
}

static inline uint64_t hash_step(uint64_t h, uint64_t x)
{
	x |= (x & 0x4040404040404040u) >> 1;
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* inject_hash() of a word of up to eight letters, with what stands behind it in x. */
static inline uint32_t short_hash(uint64_t x, size_t n)
{
	uint64_t h = hash_step(n, x & ~(uint64_t)0 >> ((64 - 8 * n) & 63));

	return (uint32_t)(h ^ h >> 15);
}

/* inject_hash() with no branch for most words. Reads sixteen bytes. */
static inline __attribute__((always_inline)) uint32_t hash_of(const char *p, size_t n)
{
	static const uint64_t masks[9] = {0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff,
		0xffffffffffff, 0xffffffffffffff, ~(uint64_t)0};
	uint64_t more = -(uint64_t)(n > 8), x, y, h;

	if (__builtin_expect(n > 16, 0))
		return inject_hash(p, n);
	memcpy(&x, p, 8);
	memcpy(&y, p + 8, 8);
	h = hash_step(n, htole64(x) & masks[more ? 8 : n]);
	y = hash_step(h, htole64(y) & masks[(n - 8) & more]);
	h ^= (h ^ y) & more;
	return (uint32_t)(h ^ h >> 15);
}

/* A word with digits for letters, when it then is one of those that matter. */
static uint64_t leet(const char *p, size_t n)
{
	static const char letters[256] = {
		['0'] = 'o',
		['1'] = 'i',
		['3'] = 'e',
		['4'] = 'a',
		['5'] = 's',
		['7'] = 't',
		['8'] = 'b',
		['@'] = 'a',
		['$'] = 's',
	};
	char plain[24] = "";
	bool inside = false; /* more than a number behind a word */
	uint64_t c;

	if (n > 16 || n < 4)
		return 0;
	for (size_t i = 0; i < n; i++) {
		char to = letters[(unsigned char)p[i]];

		inside |= to && i + 1 < n && !(inject_kind[(unsigned char)p[i + 1]] & C_DIGIT);
		plain[i] = (char)(to ? to : p[i]);
	}
	c = inside ? look_up(hash_of(plain, n)) & ~STARTS : 0;
	return c ? (c & LEET_CLASSES && n > 4 ? c : 0) | BIT(LEX_LEET) : 0;
}

/* Whether one of `ends` (by their length: those of n bytes, less than eight, start at first[n]) is
 * the end of a name. Reads eight bytes. */
static bool ends_like(const char (*ends)[8], const uint8_t *first, const char *dot, size_t n)
{
	uint64_t x, y;
	bool yes = false;

	memcpy(&x, dot, 8);
	x = htole64(x) & (((uint64_t)1 << 8 * n) - 1);
	x = htole64(x | (x & 0x4040404040404040u) >> 1);
	for (size_t i = first[n]; i < first[n + 1]; i++) {
		memcpy(&y, ends[i], 8);
		yes |= x == y;
	}
	return yes;
}

/*
 * Whether the end of a name, dot included, is one of the usual ones in addresses. Some are just as
 * usual in code and in names of files: they count where more looks like an address.
 */
static bool is_domain(const char *dot, size_t n, bool more)
{
	static const char sure[][8] = {".io", ".ru", ".cn", ".co", ".me", ".ai", ".cc", ".pw",
		".eu", ".de", ".fr", ".nl", ".uk", ".jp", ".kr", ".vn", ".cz", ".gg", ".com",
		".net", ".org", ".dev", ".app", ".xyz", ".biz", ".icu", ".win", ".info", ".site",
		".club", ".tech", ".shop"};
	static const char odd[][8] = {".it", ".es", ".us", ".ch", ".at", ".se", ".br", ".in", ".id",
		".tv", ".ly", ".top", ".pro", ".one", ".run", ".link", ".live", ".page", ".news",
		".host", ".click", ".store", ".cloud", ".space", ".pages", ".online"};
	static const uint8_t sure_first[] = {0, 0, 0, 0, 18, 27, 32, 32, 32},
			     odd_first[] = {0, 0, 0, 0, 11, 15, 20, 25, 26};

	if (n < 3 || n > 7)
		return false;
	return ends_like(sure, sure_first, dot, n) || (more && ends_like(odd, odd_first, dot, n));
}

/* Addresses of any kind: mail, web, bank. `hyphen`: one stands before it. */
static bool is_target(const char *p, size_t n, const char *end, unsigned flags, bool hyphen)
{
	const char *q = p + n, *dot;

	if ((flags & (C_LOWER | C_UPPER | C_DIGIT)) == (C_UPPER | C_DIGIT) && n >= 12 &&
		inject_kind[(unsigned char)p[0]] == C_UPPER &&
		inject_kind[(unsigned char)p[1]] == C_UPPER)
		return true;
	if (*q == ':' && end - q > 3 && !memcmp(q, "://", 3))
		return true;
	if (flags & C_AT) {
		const char *at = memchr(p, '@', n);

		/* what stands behind a hyphen is another word */
		return at && (inject_kind[(unsigned char)at[1]] & (C_LOWER | C_UPPER));
	}
	if (!(flags & C_DOT))
		return false;
	dot = memrchr(p, '.', n); /* there is one */
	return is_domain(dot, n - (size_t)(dot - p), hyphen || *q == '/') ||
	       (n > 4 && (*p | 0x20) == 'w' && !strncasecmp(p, "www.", 4));
}

/* A capital behind a small letter. */
static bool has_hump(const char *p, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (inject_kind[(unsigned char)p[i]] == C_UPPER &&
			inject_kind[(unsigned char)p[i - 1]] == C_LOWER)
			return true;
	return false;
}

/* What the letters of an unusual word tell. */
static inline uint64_t shape_classes(
	const char *p, size_t n, const char *end, unsigned flags, bool hyphen)
{
	uint64_t c = 0;

	if (is_target(p, n, end, flags, hyphen))
		c |= BIT(LEX_TARGET);
	if ((flags & C_LOWER) && ((flags & C_UNDER) || ((flags & C_UPPER) && has_hump(p, n))))
		c |= BIT(LEX_IDENT);
	if ((flags & C_DIGIT) && (flags & (C_LOWER | C_UPPER)))
		c |= leet(p, n);
	return c;
}

uint64_t inject_classify(struct inject_context *x, uint32_t hash, uint64_t own)
{
	uint32_t joined = inject_hash_join(x->before, hash);
	uint64_t two = 0;

	if (((x->last & STARTS) != 0) & is_pair(joined))
		two = look_up(joined);
	return inject_classify_known(x, hash, own, two);
}

/* +49 170 555…: digits behind a plus that is not part of a sum. */
static bool is_phone(const char *text, size_t start, size_t end, size_t len)
{
	if (!start || text[start - 1] != '+' || (start > 1 && text[start - 2] == '+'))
		return false;
	return end - start >= 8 || (end - start <= 3 && end + 3 < len && text[end] == ' ' &&
					   (inject_kind[(unsigned char)text[end + 1]] & C_DIGIT) &&
					   (inject_kind[(unsigned char)text[end + 2]] & C_DIGIT));
}

/* The possessive is left out of its hash. */
void inject_any_word(
	const char *text, size_t len, struct inject_context *x, struct inject_word *w, uint64_t own)
{
	const char *p = text + w->start, *q = text + w->end, *end = text + len;
	size_t n = w->end - w->start;
	/* the first byte may be a dot, its case tells nothing */
	unsigned first = inject_kind[(unsigned char)*p], flags = inject_kinds(p + 1, n - 1);
	unsigned all = first | flags;

	if (flags & C_QUOTE && q[-1] == 's' && q[-2] == '\'' && !own) {
		w->hash = hash_of(p, n - 2);
		own = look_up(w->hash);
	}
	w->classes = *q == '(' && q < end && (all & C_LOWER) ? BIT(LEX_IDENT) : 0;
	w->clause = x->clause;
	w->upper = (all & (C_UPPER | C_LOWER)) == C_UPPER && n > 1;
	w->title = first == C_UPPER;
	w->foreign = all & C_HIGH;
	if ((all & (C_DIGIT | C_UNDER | C_DOT | C_AT)) || (flags & C_UPPER) ||
		(end - q > 3 && *q == ':' && q[1] == '/'))
		w->classes |= shape_classes(p, n, end, all, w->start && p[-1] == '-');
	if (all == C_DIGIT && is_phone(text, w->start, w->end, len))
		w->classes |= BIT(LEX_TARGET);
	w->classes = inject_classify(x, w->hash, w->classes | own);
}

/* Where the word that starts at `at` ends, in a text of `len` bytes. NUL is no word. */
static size_t word_end(const char *text, size_t at, size_t len)
{
	for (at++; at < len; at++) {
		size_t n = inject_word_part(text + at);

		at += n;
		if (at >= len)
			return len;
		if (n == 16) {
			at--;
			continue;
		}
		if (!(inject_kind[(unsigned char)text[at]] & C_INNER) || at + 1 >= len ||
			!(inject_kind[(unsigned char)text[at + 1]] & C_STARTS))
			break;
	}
	return at;
}

/* Whether a word starts here; a dot may, in front of a letter. */
static inline bool word_starts(const char *text, size_t at, size_t len)
{
	if (inject_kind[(unsigned char)text[at]] & C_STARTS)
		return true;
	return text[at] == '.' && at + 1 < len &&
	       (inject_kind[(unsigned char)text[at + 1]] & (C_LOWER | C_UPPER)) &&
	       (!at || !(inject_kind[(unsigned char)text[at - 1]] & C_STARTS));
}

static inline void set_bit(struct inject_bits *b, size_t i, bool yes)
{
	b->v[i / 64] |= (uint64_t)yes << i % 64;
}

/* So many more of them as the word count says go to bit `at` on. */
static inline void add_bits(struct inject_bits *b, size_t at, uint64_t bits)
{
	b->v[at / 64] |= bits << at % 64;
	b->v[at / 64 + 1] |= bits >> 1 >> (63 - at % 64);
}

/* Goes on with the run at a word of n letters. Returns whether there was one that is over. */
static bool run_on(struct inject_run *r, const char *text, uint32_t start, uint32_t n)
{
	bool single = n == 1 || (n == 2 && r->n > 0 && text[start] == '_');
	bool goes_on = single && start < r->reach;
	bool over = r->n >= INJECT_SPACED_RUN && !goes_on;

	r->n = (goes_on ? r->n : 0) + single;
	r->start = goes_on ? r->start : start;
	r->reach = single ? start + n + INJECT_SPACED_GAP : 0;
	return over;
}

/* The first word that may be of a run, or f->n. */
static size_t first_of_runs(const struct inject_finder *f)
{
	size_t i = 0;

	if (f->runs_before || f->run.n >= INJECT_SPACED_RUN)
		return 0;
	for (size_t k = 0; k < f->m.n && !(f->m.runs >> k & 1); k++)
		i += f->m.v[k].ends;
	/* the last one of it may stand in that block */
	return f->m.runs ? (i > INJECT_SPACED_RUN ? i - INJECT_SPACED_RUN : 0) : f->n;
}

/*
 * Runs of single letters. Nearly all text has none: then only the words behind the last longer one
 * matter, for a run that may have begun there.
 */
static void find_runs(struct inject_finder *f, const struct inject_text *t)
{
	struct inject_run now = f->run;
	size_t runs = 0, i = first_of_runs(f);

	i = i < f->n ? i : f->n;
	f->runs_before = f->m.runs != 0;
	while (i && f->m.edges[2 * i - 1] - f->m.edges[2 * i - 2] <= 2)
		i--;
	if (i)
		now = (struct inject_run){0};
	for (; i < f->n; i++) {
		struct inject_run before = now;
		uint32_t start = f->m.edges[2 * i];

		if (!run_on(&now, t->text, start, f->m.edges[2 * i + 1] - start))
			continue;
		f->runs[runs++] = before;
		set_bit(&f->spaced, i, true);
	}
	f->run = now;
}

/* Long ones, which are few: the first n of `some`. */
static void find_long(struct inject_finder *f, const struct inject_text *t, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		size_t i = f->some[k], len = f->m.edges[2 * i + 1] - f->m.edges[2 * i];
		const char *p = t->text + f->m.edges[2 * i];
		bool dotted = (p[1] == '.' || p[1] == '_') && p[3] == p[1];

		f->hash[i] = hash_of(p, len);
		set_bit(&f->far, i,
			len >= INJECT_LONG_WORD || (dotted && len >= 2 * INJECT_SPACED_RUN - 1));
	}
}

/* Whether the letters of word i say more than its hash and its marks do. */
static bool is_odd(const struct inject_finder *f, const struct inject_text *t, size_t i)
{
	uint32_t start = f->m.edges[2 * i], stop = f->m.edges[2 * i + 1];
	const char *p = t->text + start, *q = t->text + stop;
	unsigned all = inject_kind[(unsigned char)*p] | inject_kinds(p + 1, stop - start - 1);

	if (*q == ':' || (all & C_QUOTE && q[-1] == 's'))
		return true;
	if (all == C_DIGIT)
		return is_phone(t->text, start, stop, t->len);
	return shape_classes(p, stop - start, t->text + t->len, all, start && p[-1] == '-') &
	       ~BIT(LEX_IDENT);
}

/* Most that were marked for their dots and digits are not. */
static void leave_odd(struct inject_finder *f, const struct inject_text *t)
{
	for (size_t k = 0; 64 * k < f->n; k++)
		for (uint64_t left = f->odd.v[k]; left; left &= left - 1)
			if (!is_odd(f, t, 64 * k + (size_t)__builtin_ctzll(left)))
				f->odd.v[k] ^= left & -left;
}

/* What word i is together with the one before, by their hash. */
static void find_phrase(struct inject_finder *f, size_t i, uint32_t joined)
{
	f->two[i] = (uint16_t)entry_of(joined);
	set_bit(&f->phrase, i, f->two[i] != 0);
}

/*
 * Several loops, each as short as can be: what a word is waits for memory several times, and a
 * short loop is ahead by many words meanwhile. This one hashes them as if they were short and puts
 * those into `some` that are not.
 */
static inline __attribute__((always_inline)) size_t hash_words(
	struct inject_finder *f, const struct inject_text *t)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		uint32_t start = f->m.edges[2 * i], len = f->m.edges[2 * i + 1] - start;
		uint64_t x;

		memcpy(&x, t->text + start, 8);
		f->hash[i] = short_hash(htole64(x), len);
		f->some[n] = (uint16_t)i;
		n += len > 8;
	}
	return n;
}

/* Looks them up and puts those into `some` that are known. */
static inline __attribute__((always_inline)) size_t know_words(struct inject_finder *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		f->own[i] = (uint16_t)entry_of(f->hash[i]);
		f->some[n] = (uint16_t)i;
		n += f->own[i] != 0;
	}
	return n;
}

/* What n known words are together with those behind them. */
static inline __attribute__((always_inline)) void find_phrases(struct inject_finder *f, size_t n)
{
	uint32_t joined = inject_hash_join(f->last_hash, f->hash[0]);

	f->hash[f->n] = 0;
	if (f->last_starts && is_pair(joined))
		find_phrase(f, 0, joined);
	for (size_t k = 0; k < n; k++) {
		size_t i = f->some[k];
		uint64_t c = lexicon_classes[f->own[i]];

		set_bit(&f->look, i, c << 1 != 0);
		joined = inject_hash_join(f->hash[i], f->hash[i + 1]);
		if (__builtin_expect(((c & STARTS) != 0) & is_pair(joined), 0))
			find_phrase(f, i + 1, joined);
	}
}

#ifdef INJECT_AVX512
typedef uint64_t wide8 __attribute__((vector_size(64)));
typedef uint32_t wide16 __attribute__((vector_size(64)));

/* A bit for each of the words [i, i + width) that there are. */
static inline unsigned lanes(size_t i, size_t n, unsigned width)
{
	return n - i < width ? (1u << (n - i)) - 1 : (1u << width) - 1;
}

/* hash_words(), eight at a time */
INJECT_AVX512 static inline size_t hash_words3(struct inject_finder *f, const struct inject_text *t)
{
	const __m128i steps = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7), none = _mm_setzero_si128();
	size_t n = 0;

	for (size_t i = 0; i < f->n; i += 8) {
		__mmask8 k = (__mmask8)lanes(i, f->n, 8), more;
		wide8 both = (wide8)_mm512_loadu_si512(f->m.edges + 2 * i);
		wide8 start = both & 0xffffffff, len = (both >> 32) - start, zero = {0};
		wide8 x = (wide8)_mm512_mask_i64gather_epi64(
			(__m512i)zero, k, (__m512i)start, t->text, 1);

		x &= ~zero >> ((64 - 8 * len) & 63);
		x |= (x & 0x4040404040404040u) >> 1;
		x = (x ^ len) * 0x9e3779b97f4a7c15u;
		x ^= x >> 32;
		_mm512_mask_cvtepi64_storeu_epi32(f->hash + i, k, (__m512i)(x ^ x >> 15));
		more = _mm512_mask_cmpgt_epu64_mask(k, (__m512i)len, (__m512i)(zero + 8));
		_mm_storeu_si128((__m128i *)(void *)(f->some + n),
			_mm_mask_compress_epi16(
				none, more, _mm_add_epi16(steps, _mm_set1_epi16((short)i))));
		n += (size_t)__builtin_popcount(more);
	}
	return n;
}

/* know_words(), sixteen at a time; of the shifts, which are short, two are read for one. */
INJECT_AVX512 static inline size_t know_words3(struct inject_finder *f)
{
	const __m256i steps =
		_mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	size_t n = 0;

	for (size_t i = 0; i < f->n; i += 16) {
		__mmask16 k = (__mmask16)lanes(i, f->n, 16), yes;
		wide16 x = (wide16)_mm512_maskz_loadu_epi32(k, f->hash + i), zero = {0}, entry;
		wide16 bucket = x >> LEX_BUCKET;
		wide16 shift = (wide16)_mm512_mask_i32gather_epi32(
			(__m512i)zero, k, (__m512i)(bucket >> 1), lexicon_shift, 4);

		x = (x ^ (shift >> (bucket % 2 * 16) & 0xffff)) * LEX_FACTOR;
		entry = (wide16)_mm512_mask_i32gather_epi32(
			(__m512i)zero, k, (__m512i)(x >> LEX_SLOT), lexicon, 4);
		yes = _mm512_mask_cmpeq_epu32_mask(
			k, (__m512i)(entry >> LEX_TAG), (__m512i)(x & LEX_REST));
		entry = (wide16)_mm512_maskz_mov_epi32(yes, (__m512i)(entry & LEX_CLASSES));
		_mm512_mask_cvtepi32_storeu_epi16(f->own + i, k, (__m512i)entry);
		yes = _mm512_test_epi32_mask((__m512i)entry, (__m512i)entry);
		_mm256_storeu_si256((__m256i *)(void *)(f->some + n),
			_mm256_maskz_compress_epi16(
				yes, _mm256_add_epi16(steps, _mm256_set1_epi16((short)i))));
		n += (size_t)__builtin_popcount(yes);
	}
	return n;
}
#endif

/* Those next to the ones in b, `before` of them in front. */
static inline void add_around(struct inject_bits *to, const struct inject_bits *b, unsigned before)
{
	const size_t last = sizeof(b->v) / sizeof(b->v[0]) - 1;

	for (size_t i = 0; i <= last; i++) {
		uint64_t next = i < last ? b->v[i + 1] : 0;

		to->v[i] |= b->v[i] | b->v[i] << 1 | (i ? b->v[i - 1] >> 63 : 0);
		for (unsigned k = 1; k <= before; k++)
			to->v[i] |= b->v[i] >> k | next << (64 - k);
	}
}

/*
 * Which words have to be looked at one by one. What an odd word or one that ends a phrase is
 * depends on those before it, and what follows depends on it; of blocks to come it is not known
 * whether they begin with one.
 */
static void find_telling(struct inject_finder *f)
{
	for (size_t i = 0; i < sizeof(f->look.v) / sizeof(f->look.v[0]); i++)
		f->look.v[i] |= f->begins.v[i] | f->spaced.v[i] | f->far.v[i];
	add_around(&f->look, &f->odd, 2);
	add_around(&f->look, &f->phrase, 1);
	set_bit(&f->look, 0, true);
	for (size_t i = f->n > 2 ? f->n - 2 : 0; i < f->n; i++)
		set_bit(&f->look, i, true);
	/* what has only begun is of the next blocks */
	f->look.v[f->n / 64] &= ((uint64_t)1 << f->n % 64) - 1;
	for (size_t i = f->n / 64 + 1; i < sizeof(f->look.v) / sizeof(f->look.v[0]); i++)
		f->look.v[i] = 0;
}

/* Before words are looked for, */
static inline void find_none(struct inject_finder *f)
{
	f->n = f->m.n_edges / 2;
	memset(f->two, 0, (f->n + 1) * sizeof(f->two[0]));
	f->begins = f->odd = f->spaced = f->far = f->phrase = f->look = (struct inject_bits){0};
}

/* and when they were found. */
static void find_rest(struct inject_finder *f, const struct inject_text *t)
{
	size_t begin = f->m.begun, end = 0;

	for (size_t i = 0; i < f->m.n; i++) {
		add_bits(&f->begins, begin, f->m.v[i].begin_words);
		add_bits(&f->odd, end, f->m.v[i].odd_words);
		begin += f->m.v[i].starts;
		end += f->m.v[i].ends;
	}
	if (f->m.begun)
		set_bit(&f->begins, 0, f->begun_begins);
	leave_odd(f, t);
	find_runs(f, t);
	find_telling(f);
}

static void find_some(struct inject_finder *f, const struct inject_text *t)
{
	find_none(f);
	find_long(f, t, hash_words(f, t));
	find_phrases(f, know_words(f));
	find_rest(f, t);
}

#ifdef INJECT_AVX512
INJECT_AVX512 static void find_some3(struct inject_finder *f, const struct inject_text *t)
{
	find_none(f);
	find_long(f, t, hash_words3(f, t));
	find_phrases(f, know_words3(f));
	find_rest(f, t);
}
#else
#define find_some3 find_some
#endif

void inject_find_begin(struct inject_finder *f, const struct inject_text *t)
{
	inject_marks_begin(&f->m, t, inject_marks_machine());
	f->classes = lexicon_classes;
	f->n = 0;
	f->run = (struct inject_run){0};
	f->last_starts = f->runs_before = false;
}

/* What the next words need of these. */
static void carry_over(struct inject_finder *f)
{
	if (f->n) {
		f->last_hash = f->hash[f->n - 1];
		f->last_starts = lexicon_classes[f->own[f->n - 1]] & STARTS;
	}
	if (f->m.n_edges % 2 && (f->n || !f->m.begun)) {
		uint32_t at = f->m.edges[f->m.n_edges - 1];
		const struct inject_mark *m = &f->m.v[at / 64 - f->m.first];

		f->begun_begins = m->begins >> at % 64 & 1;
		f->begun_clause = m->clause >> at % 64 & 1;
	}
}

bool inject_find_next(struct inject_finder *f, const struct inject_text *t)
{
	carry_over(f);
	if (!inject_marks_next(&f->m))
		return false;
	if (f->m.machine >= INJECT_HAS_AVX512)
		find_some3(f, t);
	else
		find_some(f, t);
	return true;
}

#ifdef __SSE2__
/* 0xff for letters of ours. */
static inline __m128i letters_of(__m128i v)
{
	__m128i t = _mm_sub_epi8(_mm_or_si128(v, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));

	return _mm_cmpeq_epi8(_mm_min_epu8(t, _mm_set1_epi8('z' - 'a')), t);
}

/* Most words are of letters alone, and less than sixteen: how many, or 0 when it is another word.
 * There are `left` bytes. */
static inline unsigned letters_alone(const char *p, size_t left)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	unsigned n = (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(letters_of(v)));

	return n == 16 || n >= left || inject_kind[(unsigned char)p[n]] ? 0 : n;
}

/*
 * Of small letters, perhaps behind a capital: one look at them tells all that inject_any_word()
 * would. False when it is another word.
 */
static bool plain_word(
	const char *text, size_t len, struct inject_context *x, struct inject_word *w)
{
	const char *p = text + w->start, *q;
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	unsigned n = letters_alone(p, len - w->start);
	/* of letters, small ones have this bit */
	unsigned small = (unsigned)_mm_movemask_epi8(_mm_slli_epi16(v, 2));

	q = p + n;
	if (!n || ~small & ((1u << n) - 2))
		return false;
	w->end = w->start + n;
	w->hash = hash_of(p, n);
	w->clause = x->clause;
	w->upper = w->foreign = false;
	w->title = !(small & 1);
	w->classes = *q == '(' && (n > 1 || small & 1) ? BIT(LEX_IDENT) : 0;
	if (len - w->end > 3 && !memcmp(q, "://", 3))
		w->classes |= BIT(LEX_TARGET);
	w->classes = inject_classify(x, w->hash, w->classes | look_up(w->hash));
	return true;
}
#else
#define letters_alone(p, left)      0
#define plain_word(text, len, x, w) false
#endif

size_t inject_hashes(
	const char *text, const struct inject_sentence *s, uint32_t hashes[static INJECT_WORDS_MAX])
{
	size_t n = 0, len;

	for (size_t i = s->start; i < s->end && n < INJECT_WORDS_MAX; i += len) {
		len = 1;
		if (!word_starts(text, i, s->end))
			continue;
		len = letters_alone(text + i, s->end - i);
		if (len) {
			hashes[n++] = hash_of(text + i, len);
			continue;
		}
		len = word_end(text, i, s->end) - i;
		hashes[n] = hash_of(text + i, len);
		if (len > 2 && !memcmp(text + i + len - 2, "'s", 2) && !look_up(hashes[n]))
			hashes[n] = hash_of(text + i, len - 2);
		n++;
	}
	return n;
}

size_t inject_words(const char *text, const struct inject_sentence *s,
	struct inject_word words[static INJECT_WORDS_MAX])
{
	struct inject_context x = {.clause = true};
	size_t n = 0;

	for (size_t i = s->start; i < s->end && n < INJECT_WORDS_MAX;) {
		if (word_starts(text, i, s->end)) {
			struct inject_word *w = &words[n++];

			w->start = (uint32_t)i;
			if (!plain_word(text, s->end, &x, w)) {
				w->end = (uint32_t)word_end(text, i, s->end);
				w->hash = hash_of(text + i, w->end - i);
				inject_any_word(text, s->end, &x, w, look_up(w->hash));
			}
			i = w->end;
			x.clause = x.last & INJECT_JOINS;
			continue;
		}
		x.clause |= inject_clause[(unsigned char)text[i]];
		i++;
	}
	return n;
}
