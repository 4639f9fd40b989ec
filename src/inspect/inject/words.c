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

#define LONG_WORD      20 /* may be encoded text */
#define SPACED_RUN     7  /* single letters in a row */
#define SPACED_GAP     9u /* between two of them, with marks */
#define SENTENCE_WORDS 100
#define BIT(class)     ((uint64_t)1 << (class))
#define LEET_CLASSES   (BIT(LEX_OVERRIDE) | BIT(LEX_INSTR) | BIT(LEX_PRIOR) | BIT(LEX_SECRET))
#define ACTIONS                                                                               \
	(BIT(LEX_EXFIL) | BIT(LEX_DESTROY) | BIT(LEX_EXEC) | BIT(LEX_REVEAL) | BIT(LEX_SAY) | \
		BIT(LEX_PAY) | BIT(LEX_ACT) | BIT(LEX_OVERRIDE) | BIT(LEX_OBEY) | BIT(LEX_TELL))

/* The table is a perfect hash: a word has one place, which holds it or not. */
static inline uint64_t look_up(uint32_t hash)
{
	uint32_t at = (hash ^ lexicon_shift[hash >> LEX_BUCKET]) * LEX_FACTOR >> LEX_SLOT;

	return lexicon_classes[lexicon[at].classes & -(uint32_t)(lexicon[at].hash == hash)];
}

uint64_t inject_lexicon(uint32_t hash)
{
	return look_up(hash);
}

/* Words of the sentence so far, as far as the next one needs them. */
struct context {
	uint32_t before, before2; /* hashes of the last word and of the last two */
	uint64_t last, two;       /* classes of the last word alone and of the last two */
	bool clause;
};

static inline uint64_t hash_step(uint64_t h, uint64_t x)
{
	x |= (x & 0x4040404040404040u) >> 1;
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* inject_hash() with no branch for most words. Reads sixteen bytes. */
static inline uint32_t hash_of(const char *p, size_t n)
{
	static const uint64_t masks[25] = {[8] = 0,
		0xff,
		0xffff,
		0xffffff,
		0xffffffff,
		0xffffffffff,
		0xffffffffffff,
		0xffffffffffffff,
		~(uint64_t)0,
		~(uint64_t)0,
		~(uint64_t)0,
		~(uint64_t)0,
		~(uint64_t)0,
		~(uint64_t)0,
		~(uint64_t)0,
		~(uint64_t)0,
		~(uint64_t)0};
	uint64_t a, b, one, two, h;

	if (__builtin_expect(n > 16, 0))
		return inject_hash(p, n);
	memcpy(&a, p, 8);
	memcpy(&b, p + 8, 8);
	one = hash_step(n, htole64(a) & masks[n + 8]);
	two = hash_step(one, htole64(b) & masks[n]);
	h = one ^ ((one ^ two) & -(uint64_t)(n > 8));
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
	       (n > 4 && !strncasecmp(p, "www.", 4));
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

/* Classes of a word that has `own` by itself, with those of the phrases that end with it. */
static inline __attribute__((always_inline)) uint64_t classify(
	struct context *x, uint32_t hash, uint64_t own)
{
	uint32_t joined = inject_hash_join(x->before, hash);
	uint64_t two = look_up(joined) & -(x->last >> LEX_STARTS & 1), all;

	own |= look_up(hash);
	all = own | two;
	if (x->two & BIT(LEX_STARTS))
		all |= look_up(inject_hash_join(x->before2, hash));
	x->before2 = joined;
	x->before = hash;
	x->last = own;
	x->two = two;
	x->clause = own & (BIT(LEX_JOIN) | BIT(LEX_PLEASE) | BIT(LEX_SEQ) | BIT(LEX_MODAL));
	return all & ~BIT(LEX_STARTS);
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
		unsigned k = inject_kind[(unsigned char)text[at]];

		if (!(k & C_STARTS) &&
			(!(k & C_INNER) || at + 1 >= len ||
				!(inject_kind[(unsigned char)text[at + 1]] & C_STARTS)))
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

/* The pass over one text. */
struct split {
	struct bawn_arena *a;
	struct inject_sentences *out;
	struct inject_sentence s;
	struct {
		uint8_t n_turned, n_reversed, n_leet;
	} before;                    /* of the last sentence */
	uint32_t spaced, spaced_end; /* a run of single letters */
	unsigned run;
	int failed;
};

/* Words of these are counted. */
#define COUNTED                                                                            \
	(BIT(LEX_ABOUT) | BIT(LEX_DEV) | BIT(LEX_YOU) | BIT(LEX_AGENT) | BIT(LEX_TURNED) | \
		BIT(LEX_REVERSED) | BIT(LEX_LEET))

/* A word with these classes, `own` without those of a phrase. */
static inline __attribute__((always_inline)) void count(
	struct split *p, uint64_t classes, uint64_t own, bool clause)
{
	struct inject_sentence *s = &p->s;

	s->n_words++;
	s->classes |= classes;
	if (__builtin_expect(!(classes & (COUNTED | ACTIONS)), 1))
		return;
	s->command |= (classes & ACTIONS) && clause && s->n_words <= 4;
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

/* Look for encoded text at a word. */
static inline __attribute__((always_inline)) void hints(
	struct split *p, const char *text, uint32_t start, uint32_t end)
{
	uint32_t n = end - start;
	bool run = p->run, single, fresh;

	if (__builtin_expect((n - 3 < 2 * SPACED_RUN - 4) & !run, 1))
		return;
	single = (n == 1) | ((n == 2) & run & (text[start] == '_'));
	fresh = single & (!run | (start > p->spaced_end + SPACED_GAP));

	if (__builtin_expect((p->run >= SPACED_RUN) & (!single | fresh), 0))
		hint(p, p->spaced, p->spaced_end, HINT_SPACED);
	p->spaced = fresh ? start : p->spaced;
	p->spaced_end = single ? end : p->spaced_end;
	p->run = (p->run & -(unsigned)(single & !fresh)) + single;
	if (__builtin_expect(n < 2 * SPACED_RUN - 1, 1))
		return;
	if ((text[start + 1] == '.' || text[start + 1] == '_') &&
		text[start + 3] == text[start + 1])
		hint(p, start, end, HINT_SPACED);
	else if (n >= LONG_WORD)
		hint(p, start, end, HINT_LONG);
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

/* The next place where a word starts or has just ended; the marks alternate. */
struct edges {
	const struct inject_mark *m, *last;
	size_t at;
	uint64_t left; /* of this block */
	unsigned bit;
};

static inline __attribute__((always_inline)) bool next_edge(struct edges *e)
{
	while (!e->left) {
		if (e->m == e->last)
			return false;
		e->m++;
		e->at += 64;
		e->left = e->m->edge;
	}
	e->bit = (unsigned)__builtin_ctzll(e->left);
	e->left &= e->left - 1;
	return true;
}

/* The sentence ends with the first stop behind its last word, if there is one. */
static void end_sentence(struct split *p, const struct inject_marks *m)
{
	uint64_t bits = ~(uint64_t)0 << p->s.end % 64;

	for (size_t i = p->s.end / 64; p->s.n_words && i < m->n; i++, bits = ~(uint64_t)0) {
		bits &= m->v[i].stop;
		if (bits) {
			p->s.end = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(bits) + 1);
			break;
		}
	}
	add(p);
}

static void begin_sentence(struct split *p, const struct inject_text *t, size_t start)
{
	p->s.start = (uint32_t)start;
	p->s.bullet = start > 1 && strchr("-*+|", t->text[start - 2]);
}

static inline __attribute__((always_inline)) void one_word(struct split *p,
	const struct inject_text *t, struct context *x, uint32_t start, uint32_t end, bool odd)
{
	bool clause = x->clause;
	uint64_t classes;

	if (odd) {
		struct inject_word w = {.start = start, .end = end};

		any_word(t->text, t->len, x, &w);
		classes = w.classes;
		p->s.n_upper = (uint16_t)(p->s.n_upper + w.upper);
		p->s.foreign |= w.foreign;
	} else {
		uint64_t own = 0;

		/* a macro of one letter is none */
		if (t->text[end] == '(' && (end - start > 1 || t->text[start] >= 'a'))
			own = BIT(LEX_IDENT);
		classes = classify(x, hash_of(t->text + start, end - start), own);
	}
	count(p, classes, x->last, clause);
	hints(p, t->text, start, end);
	p->s.end = end;
}

int inject_split(struct bawn_arena *a, const struct inject_text *t, struct inject_sentences *out)
{
	struct split p = {.a = a, .out = out};
	struct context x = {.clause = true};
	struct inject_marks m;
	struct edges e = {0};
	bool fresh = true;

	*out = (struct inject_sentences){0};
	if (inject_marks(a, t, &m) < 0)
		return -ENOMEM;
	e = (struct edges){.m = m.v, .last = m.v + m.n - 1, .left = m.v[0].edge};
	while (!p.failed && next_edge(&e)) {
		size_t start = e.at + e.bit, end;

		x.clause |= e.m->clause >> e.bit & 1;
		if (fresh | (e.m->begins >> e.bit & 1)) {
			end_sentence(&p, &m);
			begin_sentence(&p, t, start);
			x = (struct context){.clause = true};
		}
		/* there is one: NUL is no word */
		(void)next_edge(&e);
		end = e.at + e.bit;
		one_word(&p, t, &x, (uint32_t)start, (uint32_t)end,
			(e.m->odd >> e.bit & 1) ||
				(t->text[end] == ':' && t->text[end + 1] == '/'));
		fresh = p.s.n_words == SENTENCE_WORDS;
		if (__builtin_expect(fresh, 0))
			add(&p);
	}
	if (p.run >= SPACED_RUN)
		hint(&p, p.spaced, p.spaced_end, HINT_SPACED);
	end_sentence(&p, &m);
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
			continue;
		}
		x.clause |= inject_clause[(unsigned char)text[i]];
		i++;
	}
	return n;
}
