/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words, their classes, and sentences. A word is hashed and looked up in the generated table, alone
 * and together with the one or two words before it. No grammar: where a sentence ends is decided by
 * punctuation, line ends and the marks of lists, tables and JSON, which is as much as scoring
 * needs. Every byte of content comes through here, so what happens for every word has hardly a
 * branch.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define LEX_TABLE
#include "inject-lexicon.h"
#include "inspect/inject/marks.h"

#define LONG_WORD      20  /* may be encoded text */
#define SPACED_RUN     7   /* single letters in a row */
#define SPACED_GAP     10u /* the next one, with marks before it, has to start within */
#define SENTENCE_WORDS 100
#define SENTENCE_BYTES 24 /* most texts have fewer sentences */
#define BIT(class)     ((uint64_t)1 << (class))
#define LEET_CLASSES   (BIT(LEX_OVERRIDE) | BIT(LEX_INSTR) | BIT(LEX_PRIOR) | BIT(LEX_SECRET))
#define ACTIONS                                                                               \
	(BIT(LEX_EXFIL) | BIT(LEX_DESTROY) | BIT(LEX_EXEC) | BIT(LEX_REVEAL) | BIT(LEX_SAY) | \
		BIT(LEX_PAY) | BIT(LEX_ACT) | BIT(LEX_OVERRIDE) | BIT(LEX_OBEY) | BIT(LEX_TELL))

/* Behind these a clause may start. */
#define JOINS (BIT(LEX_JOIN) | BIT(LEX_PLEASE) | BIT(LEX_SEQ) | BIT(LEX_MODAL))

/*
 * The table is a perfect hash: a word has one place, which holds it or not. What is left of the
 * product tells its word from all others, see tools/gen-lexicon.py.
 */
static inline uint64_t look_up(uint32_t hash)
{
	uint32_t x = (hash ^ lexicon_shift[hash >> LEX_BUCKET]) * LEX_FACTOR;
	uint32_t entry = lexicon[x >> LEX_SLOT];

	return lexicon_classes[entry & LEX_CLASSES &
			       -(uint32_t)(entry >> LEX_TAG == (x & LEX_REST))];
}

/* The same without a look at the table when it does not matter. */
static inline uint64_t look_up_if(uint32_t hash, bool matters)
{
	uint32_t yes = -(uint32_t)matters;
	uint32_t x = (hash ^ lexicon_shift[(hash & yes) >> LEX_BUCKET]) * LEX_FACTOR & yes;
	uint32_t entry = lexicon[x >> LEX_SLOT];

	return lexicon_classes[entry & LEX_CLASSES & yes &
			       -(uint32_t)(entry >> LEX_TAG == (x & LEX_REST))];
}

uint64_t inject_lexicon(uint32_t hash)
{
	return look_up(hash);
}

/* Words of the sentence so far, as far as the next one needs them. */
struct context {
	uint32_t before, before2; /* hashes of the last word and of the last two */
	uint64_t last, two;       /* classes of the last word alone and of the last two */
	bool clause;              /* the next one starts one */
	bool odd;                 /* the word before has other classes than it was found with */
};

static inline uint64_t hash_step(uint64_t h, uint64_t x)
{
	x |= (x & 0x4040404040404040u) >> 1;
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
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
	c = inside ? look_up(hash_of(plain, n)) & ~BIT(LEX_STARTS) : 0;
	return c ? (c & LEET_CLASSES && n > 4 ? c : 0) | BIT(LEX_LEET) : 0;
}

/* Whether one of `ends` (by their length: those of n bytes start at first[n]) is the end of a name.
 */
static bool ends_like(const char (*ends)[8], const uint8_t *first, const char *dot, size_t n)
{
	char end[8] = "";
	uint64_t x, y;
	bool yes = false;

	for (size_t i = 0; i < n; i++)
		end[i] = (char)(dot[i] | (dot[i] & 0x40) >> 1);
	memcpy(&x, end, 8);
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

	if (n > 7)
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

/* Classes of a word that has `own` by itself and `two` with the one before, with those of the
 * phrases of three that end with it. */
static inline __attribute__((always_inline)) uint64_t classify_known(
	struct context *x, uint32_t hash, uint64_t own, uint64_t two)
{
	uint64_t all = own | two;

	if (__builtin_expect((x->two & BIT(LEX_STARTS)) != 0, 0))
		all |= look_up(inject_hash_join(x->before2, hash));
	x->before2 = inject_hash_join(x->before, hash);
	x->before = hash;
	x->last = own;
	x->two = two;
	return all & ~BIT(LEX_STARTS);
}

/* Classes of a word that has `own` by itself, with those of the phrases that end with it. */
static inline uint64_t classify(struct context *x, uint32_t hash, uint64_t own)
{
	uint64_t two = look_up_if(inject_hash_join(x->before, hash), x->last >> LEX_STARTS & 1);

	return classify_known(x, hash, own | look_up(hash), two);
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

/* Any word in a text of `len` bytes. The possessive is left out of its hash. */
static void any_word(const char *text, size_t len, struct context *x, struct inject_word *w)
{
	const char *p = text + w->start, *q = text + w->end, *end = text + len;
	size_t n = w->end - w->start;
	/* the first byte may be a dot, its case tells nothing */
	unsigned first = inject_kind[(unsigned char)*p], flags = inject_kinds(p + 1, n - 1);
	unsigned all = first | flags;

	w->hash = hash_of(p, n);
	if (flags & C_QUOTE && q[-1] == 's' && q[-2] == '\'' && !look_up(w->hash))
		w->hash = hash_of(p, n - 2);
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
	w->classes = classify(x, w->hash, w->classes);
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

/* A word, with what can be told of it before it is known which sentence it is in. */
struct found {
	uint32_t start, end;
	uint32_t hash;
	uint32_t marks;    /* M_* */
	uint64_t own, two; /* classes of it alone, and together with the word before */
};
#define M_BEGINS (1u << 0) /* a sentence ended before it */
#define M_ODD    (1u << 1)
#define M_CLAUSE (1u << 2) /* of a word that has begun in blocks before */
#define M_LONG   (1u << 3) /* may be several letters, or encoded text */
#define M_SPACED (1u << 4) /* a run of single letters ended before it */

/* Single letters one after the other. */
struct run {
	uint32_t start, reach; /* where it is over */
	uint32_t n;
};
#define RUNS_MAX (32 * INJECT_BLOCKS / SPACED_RUN + 2)

/*
 * Words are looked up some blocks at a time and then put into sentences: the first has no branch
 * that depends on what stands there, so it is not held up by the guesses of the second.
 */
struct finder {
	struct inject_marks m;
	uint32_t edges[64 * INJECT_BLOCKS + 1];
	struct found v[32 * INJECT_BLOCKS + 1];
	size_t n;
	uint16_t phrases[32 * INJECT_BLOCKS + 2]; /* words behind one that may start a phrase */
	struct run run, runs[RUNS_MAX];           /* the last one, and those before M_SPACED */
	size_t taken;                             /* of `runs` */
	uint32_t shorts;                          /* words that may be of a run, up to here */
	struct found last;                        /* of the blocks before */
	bool inside;    /* a word has begun in blocks before, at edges[0] */
	uint32_t marks; /* of it */
};

static inline uint32_t bit(uint64_t bits, uint32_t at)
{
	return (uint32_t)(bits >> at % 64) & 1;
}

/* The edges in these blocks, that of a word that has begun before them first. Returns how many. */
static inline __attribute__((always_inline)) size_t find_edges(struct finder *f)
{
	size_t n = f->inside;

	for (size_t i = 0; i < f->m.n; i++) {
		uint32_t at = (uint32_t)(64 * (f->m.first + i));

		for (uint64_t left = f->m.v[i].edge; left; left &= left - 1)
			f->edges[n++] = at + (uint32_t)__builtin_ctzll(left);
	}
	return n;
}

/* Goes on with the run at a word of n letters. Returns whether there was one that is over. */
static bool run_on(struct run *r, const char *text, uint32_t start, uint32_t n)
{
	bool single = n == 1 || (n == 2 && r->n > 0 && text[start] == '_');
	bool goes_on = single && start < r->reach;
	bool over = r->n >= SPACED_RUN && !goes_on;

	r->n = (goes_on ? r->n : 0) + single;
	r->start = goes_on ? r->start : start;
	r->reach = single ? start + n + SPACED_GAP : 0;
	return over;
}

/*
 * Runs of single letters. Nearly all text has none: then only the words behind the last longer one
 * matter, for a run that may have begun there.
 */
static void find_runs(struct finder *f, const struct inject_text *t, bool any)
{
	size_t runs = 0, i = 0;

	f->taken = 0;
	if (!any && f->shorts < f->n) {
		f->run = (struct run){0};
		i = f->n - f->shorts;
	}
	for (; i < f->n; i++) {
		struct found *w = &f->v[i];
		struct run before = f->run;

		if (!run_on(&f->run, t->text, w->start, w->end - w->start))
			continue;
		f->runs[runs++] = before;
		w->marks |= M_SPACED;
	}
}

/* What words are with the one before them, where that can be anything. */
static inline __attribute__((always_inline)) void find_phrases(struct finder *f, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		size_t i = f->phrases[k];
		uint32_t before = i ? f->v[i - 1].hash : f->last.hash;

		f->v[i].two = look_up(inject_hash_join(before, f->v[i].hash));
	}
}

/* Mark the words that have one of `bits` at their edge in block i, whose first one is edge `at`. */
static inline __attribute__((always_inline)) void mark_words(
	struct finder *f, size_t i, size_t at, uint64_t bits, uint32_t mark)
{
	uint64_t edges = f->m.v[i].edge;

	for (bits &= edges; bits; bits &= bits - 1) {
		uint64_t before = edges & (bits ^ (bits - 1)) >> 1;

		f->v[(at + (size_t)__builtin_popcountll(before)) / 2].marks |= mark;
	}
}

/*
 * Several loops, each as short as can be: what a word is waits for memory several times, and a
 * short loop is ahead by many words meanwhile.
 */
static inline __attribute__((always_inline)) void find_words(
	struct finder *f, const struct inject_text *t)
{
	uint64_t starts = f->last.own >> LEX_STARTS;
	uint32_t shorts = f->shorts, most = 0;
	size_t phrases = 0, at = f->inside;

	for (size_t i = 0; i < f->n; i++) {
		uint32_t start = f->edges[2 * i], end = f->edges[2 * i + 1], n = end - start;
		uint32_t single;

		f->v[i].start = start;
		f->v[i].end = end;
		f->v[i].hash = hash_of(t->text + start, n);
		f->v[i].marks = (n >= 2 * SPACED_RUN - 1) * M_LONG;
		single = (n == 1) | ((n == 2) & (t->text[start] == '_'));
		shorts = (shorts + 1) & -single;
		most = shorts > most ? shorts : most;
	}
	f->shorts = shorts;
	for (size_t i = 0; i < f->n; i++) {
		f->phrases[phrases] = (uint16_t)i;
		phrases += starts;
		f->v[i].own = look_up(f->v[i].hash);
		f->v[i].two = 0;
		starts = f->v[i].own >> LEX_STARTS;
	}
	find_phrases(f, phrases);
	for (size_t i = 0; i < f->m.n; i++) {
		mark_words(f, i, at, f->m.v[i].begins, M_BEGINS);
		mark_words(f, i, at, f->m.v[i].odd, M_ODD);
		at += (size_t)__builtin_popcountll(f->m.v[i].edge);
	}
	find_runs(f, t, most >= SPACED_RUN || f->run.n >= SPACED_RUN);
}

static inline __attribute__((always_inline)) void find_some(
	struct finder *f, const struct inject_text *t)
{
	size_t edges = find_edges(f);

	f->n = edges / 2;
	find_words(f, t);
	if (f->inside && f->n)
		f->v[0].marks = (f->v[0].marks & (M_ODD | M_LONG | M_SPACED)) | f->marks;
	if (edges % 2 && (f->n || !f->inside)) {
		uint32_t at = f->edges[0] = f->edges[edges - 1];
		const struct inject_mark *m = &f->m.v[at / 64 - f->m.first];

		f->marks = bit(m->begins, at) * M_BEGINS | bit(m->clause, at) * M_CLAUSE;
	}
	f->inside = edges % 2;
}

static void find_any(struct finder *f, const struct inject_text *t)
{
	find_some(f, t);
}

#ifdef INJECT_AVX2
INJECT_AVX2 static void find_fast(struct finder *f, const struct inject_text *t)
{
	find_some(f, t);
}
#else
#define find_fast find_any
#endif

static void find_begin(struct finder *f, const struct inject_text *t)
{
	inject_marks_begin(&f->m, t);
	f->n = 0;
	f->inside = false;
	f->last = (struct found){0};
	f->run = (struct run){0};
	f->shorts = 0;
}

/* The words that end in the next blocks. False at the end of the text. */
static bool find_next(struct finder *f, const struct inject_text *t)
{
	if (f->n)
		f->last = f->v[f->n - 1];
	if (!inject_marks_next(&f->m))
		return false;
	if (f->m.fast)
		find_fast(f, t);
	else
		find_any(f, t);
	return true;
}
static inline bool starts_clause(const struct finder *f, const struct found *w)
{
	if (w->start / 64 < f->m.first)
		return w->marks & M_CLAUSE;
	return bit(f->m.v[w->start / 64 - f->m.first].clause, w->start);
}

/* The pass over one text. */
struct split {
	struct bawn_arena *a;
	struct inject_sentences *out;
	struct inject_sentence s;
	struct {
		uint8_t n_turned, n_reversed, n_leet;
	} before;       /* of the last sentence */
	uint32_t stop;  /* behind the first stop behind the last word, 0 if there was none so far */
	size_t tallied; /* up to here what is marked at the ends of words was counted */
	bool fresh;     /* the next word begins a sentence */
	int failed;
};

/* Words of these are counted. */
#define COUNTED                                                                            \
	(BIT(LEX_ABOUT) | BIT(LEX_DEV) | BIT(LEX_YOU) | BIT(LEX_AGENT) | BIT(LEX_TURNED) | \
		BIT(LEX_REVERSED) | BIT(LEX_LEET))

/* A word with these classes, `own` without those of a phrase. */
static inline __attribute__((always_inline)) void count(struct split *p, const struct finder *f,
	const struct found *w, uint64_t classes, const struct context *x)
{
	uint64_t own = x->last;
	struct inject_sentence *s = &p->s;

	s->n_words++;
	s->classes |= classes;
	if (__builtin_expect(!(classes & (COUNTED | ACTIONS)), 1))
		return;
	s->command |= (classes & ACTIONS) && s->n_words <= 4 && (x->clause || starts_clause(f, w));
	p->out->about += classes >> LEX_ABOUT & 1;
	p->out->dev += classes >> LEX_DEV & 1;
	p->out->you += own >> LEX_YOU & 1;
	p->out->agent += own >> LEX_AGENT & 1;
	s->n_turned = (uint8_t)(s->n_turned + (classes >> LEX_TURNED & 1));
	s->n_reversed = (uint8_t)(s->n_reversed + (classes >> LEX_REVERSED & 1));
	s->n_leet = (uint8_t)(s->n_leet + (classes >> LEX_LEET & 1));
}

static void hint(struct split *p, uint32_t start, uint32_t end, enum inject_hint_kind k)
{
	struct inject_hint *h;

	if (p->out->n_hints >= INJECT_HINTS_MAX)
		return;
	h = bawn_grow(p->a, &p->out->hints, &p->out->n_hints, &p->out->cap_hints);
	if (!h)
		p->failed = -ENOMEM;
	else
		*h = (struct inject_hint){start, end, k};
}

static void hint_run(struct split *p, const struct run *r)
{
	if (r->n >= SPACED_RUN)
		hint(p, r->start, r->reach - SPACED_GAP, HINT_SPACED);
}

/* There may be encoded text at a word, or before it. */
static void hints(struct split *p, struct finder *f, const char *text, const struct found *w)
{
	const char *c = text + w->start;

	if (w->marks & M_SPACED)
		hint_run(p, &f->runs[f->taken++]);
	if (!(w->marks & M_LONG))
		return;
	if ((c[1] == '.' || c[1] == '_') && c[3] == c[1])
		hint(p, w->start, w->end, HINT_SPACED);
	else if (w->end - w->start >= LONG_WORD)
		hint(p, w->start, w->end, HINT_LONG);
}

static void add(struct split *p)
{
	struct inject_sentence *s = &p->s, *v;

	if (s->n_words) {
		v = bawn_grow(p->a, &p->out->v, &p->out->n, &p->out->cap);
		if (!v) {
			p->failed = -ENOMEM;
			return;
		}
		*v = *s;
		p->out->words += s->n_words;
		p->out->commands += s->command;
		p->out->bullets += s->bullet;
		if (s->n_turned && s->n_turned + p->before.n_turned > 1)
			hint(p, s->start, s->end, HINT_TURNED);
		if (s->n_reversed && s->n_reversed + p->before.n_reversed > 1) {
			hint(p, s->start, s->end, HINT_REVERSED);
			hint(p, s->start, s->end, HINT_REVERSED_WORDS);
		}
		if (s->n_leet && s->n_leet + p->before.n_leet > 1)
			hint(p, s->start, s->end, HINT_LEET);
		p->before.n_turned = s->n_turned;
		p->before.n_reversed = s->n_reversed;
		p->before.n_leet = s->n_leet;
	}
	*s = (struct inject_sentence){0};
}

/* Behind the first stop in these blocks from `at` on, 0 if there is none. */
static uint32_t first_stop(const struct inject_marks *m, size_t at)
{
	uint64_t bits = ~(uint64_t)0;
	size_t i = 0;

	if (at / 64 >= m->first) {
		i = at / 64 - m->first;
		bits <<= at % 64;
	}
	for (; i < m->n; i++, bits = ~(uint64_t)0) {
		bits &= m->v[i].stop;
		if (bits)
			return (uint32_t)(64 * (m->first + i)) + (uint32_t)__builtin_ctzll(bits) +
			       1;
	}
	return 0;
}

/* What the words are by their letters that ended in [p->tallied, to). */
static inline void tally(struct split *p, const struct inject_marks *m, size_t to)
{
	size_t from = p->tallied > 64 * m->first ? p->tallied : 64 * m->first;
	struct inject_sentence *s = &p->s;
	uint64_t ident = 0, foreign = 0;

	for (; from < to; from = (from / 64 + 1) * 64) {
		const struct inject_mark *b = &m->v[from / 64 - m->first];
		uint64_t bits = ~(uint64_t)0 << from % 64;

		if (to / 64 == from / 64)
			bits &= ~(~(uint64_t)0 << to % 64);
		ident |= b->ident & bits;
		foreign |= b->foreign & bits;
		for (uint64_t upper = b->upper & bits; upper; upper &= upper - 1)
			s->n_upper++;
	}
	s->classes |= ident ? BIT(LEX_IDENT) : 0;
	s->foreign |= foreign != 0;
	p->tallied = to;
}

/* The sentence ends with the first stop behind its last word, if there is one. */
static void end_sentence(struct split *p, const struct inject_marks *m)
{
	if (p->s.n_words) {
		tally(p, m, (size_t)p->s.end + 1);
		if (!p->stop)
			p->stop = first_stop(m, p->s.end);
		if (p->stop)
			p->s.end = p->stop;
	}
	p->stop = 0;
	add(p);
}

static void begin_sentence(struct split *p, const struct inject_text *t, size_t start)
{
	p->s.start = (uint32_t)start;
	p->s.bullet = start > 1 && strchr("-*+|", t->text[start - 2]);
	p->tallied = start + 1;
}

/* All that is to be done at the end of these blocks, which come no more. */
static void leave_blocks(struct split *p, const struct inject_marks *m)
{
	if (!p->s.n_words)
		return;
	tally(p, m, 64 * (m->first + m->n));
	if (!p->stop)
		p->stop = first_stop(m, p->s.end);
}

/* One whose letters say more than its marks. */
static uint64_t odd_word(const struct inject_text *t, struct context *x, const struct found *f)
{
	struct inject_word w = {.start = f->start, .end = f->end};

	any_word(t->text, t->len, x, &w);
	x->odd = true;
	return w.classes;
}

static inline __attribute__((always_inline)) void one_word(struct split *p, struct finder *f,
	const struct inject_text *t, struct context *x, const struct found *w)
{
	uint64_t classes;

	if (__builtin_expect(w->marks & M_ODD, 0)) {
		classes = odd_word(t, x, w);
	} else if (__builtin_expect(x->odd, 0)) {
		/* what it is with that before it was not known */
		x->odd = false;
		classes = classify(x, w->hash, w->own);
	} else {
		classes = classify_known(x, w->hash, w->own, w->two);
	}
	count(p, f, w, classes, x);
	x->clause = x->last & JOINS;
	if (__builtin_expect(w->marks & (M_LONG | M_SPACED), 0))
		hints(p, f, t->text, w);
	p->s.end = w->end;
}

static void some_words(
	struct split *p, struct finder *f, const struct inject_text *t, struct context *x)
{
	struct found *end = f->v + f->n;

	for (struct found *w = f->v; w < end; w++) {
		if ((w->marks & M_BEGINS) | p->fresh) {
			end_sentence(p, &f->m);
			begin_sentence(p, t, w->start);
			/* no phrase goes over from the sentence before */
			*x = (struct context){.clause = true};
			w->two = 0;
			p->fresh = false;
		}
		one_word(p, f, t, x, w);
		if (__builtin_expect(p->s.n_words == SENTENCE_WORDS, 0)) {
			tally(p, &f->m, (size_t)p->s.end + 1);
			add(p);
			p->fresh = true;
		}
	}
}

int inject_split(struct bawn_arena *a, const struct inject_text *t, struct inject_sentences *out)
{
	INJECT_RAW struct finder f;
	struct split p = {.a = a, .out = out, .fresh = true};
	struct context x = {.clause = true};

	*out = (struct inject_sentences){.cap = t->len / SENTENCE_BYTES + 8};
	out->v = bawn_new(a, struct inject_sentence, out->cap);
	if (!out->v)
		return -ENOMEM;
	find_begin(&f, t);
	while (!p.failed && find_next(&f, t)) {
		some_words(&p, &f, t, &x);
		leave_blocks(&p, &f.m);
	}
	hint_run(&p, &f.run);
	end_sentence(&p, &f.m);
	return p.failed;
}

size_t inject_words(const char *text, const struct inject_sentence *s,
	struct inject_word words[static INJECT_WORDS_MAX])
{
	struct context x = {.clause = true};
	size_t n = 0;

	for (size_t i = s->start; i < s->end && n < INJECT_WORDS_MAX;) {
		if (word_starts(text, i, s->end)) {
			struct inject_word *w = &words[n++];

			w->start = (uint32_t)i;
			i = word_end(text, i, s->end);
			w->end = (uint32_t)i;
			any_word(text, s->end, &x, w);
			x.clause = x.last & JOINS;
			continue;
		}
		x.clause |= inject_clause[(unsigned char)text[i]];
		i++;
	}
	return n;
}
