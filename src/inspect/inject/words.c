/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words, their classes, and sentences. Everything is done in one pass over the bytes: a word is
 * hashed while it is read and looked up in the generated table, alone and together with the one or
 * two words before it. No grammar: where a sentence ends is decided by punctuation, line ends and
 * the marks of lists, tables and JSON, which is as much as scoring needs.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define LEX_TABLE
#include "inject-lexicon.h"
#include "inspect/inject/inject.h"

#define LONG_WORD	 20 /* may be encoded text */
#define SPACED_RUN	 7  /* single letters in a row */
#define SENTENCE_WORDS	 100
#define BIT(class)	 ((uint64_t)1 << (class))
#define LEET_CLASSES     (BIT(LEX_OVERRIDE) | BIT(LEX_INSTR) | BIT(LEX_PRIOR) | BIT(LEX_SECRET))
#define ACTIONS                                                                              \
	(BIT(LEX_EXFIL) | BIT(LEX_DESTROY) | BIT(LEX_EXEC) | BIT(LEX_REVEAL) | BIT(LEX_SAY) | \
		BIT(LEX_PAY) | BIT(LEX_ACT) | BIT(LEX_OVERRIDE) | BIT(LEX_OBEY) | BIT(LEX_TELL))

/* 1 a letter, 2 a digit, 3 part of a word inside one. */
static const unsigned char kind[256] = {
	['a' ... 'z'] = 1, ['A' ... 'Z'] = 1, [0x80 ... 0xff] = 1, ['0' ... '9'] = 2, ['_'] = 2,
	['\''] = 3, ['.'] = 3, ['@'] = 3,
};

uint64_t inject_lexicon(uint32_t hash)
{
	if (!(lexicon_bits[hash >> 21] >> (hash >> 16 & 31) & 1))
		return 0;
	for (uint32_t at = hash & (LEX_SIZE - 1); lexicon[at].hash; at = (at + 1) & (LEX_SIZE - 1))
		if (lexicon[at].hash == hash)
			return (uint64_t)lexicon[at].high << 32 | lexicon[at].low;
	return 0;
}

/* Words of the sentence so far, as far as the next one needs them. */
struct context {
	uint32_t before, before2; /* hashes; 0 at the start */
	uint64_t last;		  /* classes of the last word alone */
	bool clause;
};

/* What the letters of a word tell. */
struct shape {
	bool digit, letter, under, dot, at, hump, lower, upper;
};

static char unleet(char c)
{
	static const char from[] = "0134578@$", to[] = "oieastbas";
	const char *p = memchr(from, c, sizeof(from) - 1);

	return p ? to[p - from] : (char)tolower((unsigned char)c);
}

/* A word with digits for letters, when it then is one of those that matter. */
static uint64_t leet(const char *p, size_t n)
{
	uint32_t h = INJECT_HASH_INIT;
	uint64_t c;

	if (n > 16 || n < 5)
		return 0;
	for (size_t i = 0; i < n; i++)
		h = inject_hash(h, (unsigned char)unleet(p[i]));
	c = inject_lexicon(h);
	return c & LEET_CLASSES ? c | BIT(LEX_LEET) : 0;
}

/* Addresses of any kind: mail, web, bank. */
static bool is_target(const char *p, size_t n, const char *end, const struct shape *s)
{
	static const char ends[][6] = {".com", ".net", ".org", ".io", ".dev", ".app", ".xyz", ".ru",
		".cn", ".co", ".info", ".me", ".site", ".ai"};
	const char *q = p + n;

	if (s->at && s->dot)
		return true;
	if (end - q > 3 && !memcmp(q, "://", 3))
		return true;
	if (n > 4 && !strncasecmp(p, "www.", 4))
		return true;
	if (n >= 12 && isupper((unsigned char)p[0]) && isupper((unsigned char)p[1]) && s->digit &&
		!s->lower && isdigit((unsigned char)p[n - 1]))
		return true;
	for (size_t i = 0; s->dot && i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t len = strlen(ends[i]);

		if (n > len + 1 && !strncasecmp(p + n - len, ends[i], len))
			return true;
	}
	return false;
}

static uint64_t shape_classes(const char *p, size_t n, const char *end, const struct shape *s)
{
	uint64_t c = 0;

	if (is_target(p, n, end, s))
		c |= BIT(LEX_TARGET);
	if ((s->under && s->lower) || s->hump || (p + n < end && p[n] == '(' && s->lower))
		c |= BIT(LEX_IDENT);
	if (s->digit && s->letter)
		c |= leet(p, n);
	return c;
}

/* Read the word at p; returns its length. The possessive is left out of its hash. */
static size_t word_read(const char *p, const char *end, uint32_t *hash, struct shape *s)
{
	const char *q = p;
	uint32_t h = INJECT_HASH_INIT, stem = 0;

	if (*q == '.')
		h = inject_hash(h, (unsigned char)*q++);
	for (; q < end; q++) {
		unsigned char c = (unsigned char)*q, k = kind[c];

		if (!k)
			break;
		if (k == 3) {
			if (q + 1 == end || !kind[(unsigned char)q[1]] ||
				kind[(unsigned char)q[1]] == 3)
				break;
			s->dot |= c == '.';
			s->at |= c == '@';
			stem = c == '\'' ? h : stem;
		} else if (k == 2) {
			s->digit |= c != '_';
			s->under |= c == '_';
		} else {
			bool up = c >= 'A' && c <= 'Z';

			s->hump |= up && s->lower;
			s->upper |= up;
			s->lower |= !up;
			s->letter = true;
			c |= up ? 0x20 : 0;
		}
		h = inject_hash(h, c);
	}
	*hash = stem && q - p > 2 && q[-1] == 's' && q[-2] == '\'' && !inject_lexicon(h) ? stem : h;
	return (size_t)(q - p);
}

static void classify(struct context *x, struct inject_word *w)
{
	w->classes |= inject_lexicon(w->hash);
	x->last = w->classes;
	if (x->before) {
		uint32_t two = inject_hash_join(x->before, w->hash);

		w->classes |= inject_lexicon(two);
		if (x->before2)
			w->classes |= inject_lexicon(inject_hash_join(
				inject_hash_join(x->before2, x->before), w->hash));
	}
	x->before2 = x->before;
	x->before = w->hash;
}

/* A word that starts at `at`; returns where it ends. */
static size_t word_at(
	const char *text, size_t at, size_t len, struct context *x, struct inject_word *w)
{
	struct shape s = {0};
	const char *p = text + at, *end = text + len;
	size_t n;

	*w = (struct inject_word){.start = (uint32_t)at, .clause = x->clause};
	n = word_read(p, end, &w->hash, &s);
	w->end = (uint32_t)(at + n);
	w->upper = s.upper && !s.lower && n > 1;
	w->title = kind[(unsigned char)*p] == 1 && *p >= 'A' && *p <= 'Z';
	if (s.at || s.dot || s.under || s.hump || s.digit || (p + n < end && strchr("(:", p[n])))
		w->classes = shape_classes(p, n, end, &s);
	classify(x, w);
	x->clause = x->last & (BIT(LEX_JOIN) | BIT(LEX_PLEASE) | BIT(LEX_SEQ) | BIT(LEX_MODAL));
	return at + n;
}

/* Whether a word starts here; a dot may, in front of a letter. */
static bool word_starts(const char *text, size_t at, size_t len)
{
	unsigned char k = kind[(unsigned char)text[at]];

	if (k == 1 || k == 2)
		return true;
	return text[at] == '.' && at + 1 < len && kind[(unsigned char)text[at + 1]] == 1 &&
		(!at || !kind[(unsigned char)text[at - 1]]);
}

/* A line that starts like a list item, a table row or a key. */
static bool line_apart(const char *p, const char *end)
{
	if (p == end || strchr("\n-*+|<{}[]\"'=:", *p) || (*p >= 'A' && *p <= 'Z'))
		return true;
	if (isdigit((unsigned char)*p)) {
		while (p < end && isdigit((unsigned char)*p))
			p++;
		return p < end && (*p == '.' || *p == ')');
	}
	return false;
}

/* Whether the separator at `at` ends a sentence. */
static bool ends(const char *text, size_t at, size_t len)
{
	char c = text[at], next = (char)(at + 1 < len ? text[at + 1] : '\n');

	switch (c) {
	case '.':
	case '!':
	case '?':
		return strchr(" \n\"')]}*", next) || (next >= 'A' && next <= 'Z');
	case '\n':
		return line_apart(text + at + 1, text + len);
	case '|':
	case '\x01':
		return true;
	case '"':
	case '\'':
		return next == ',' || next == '}' || next == ']' || next == ':';
	default:
		return false;
	}
}

static bool parts(char c)
{
	return c == ',' || c == ':' || c == ';' || c == '(' || c == '"' || c == '\'' || c == '>' ||
		c == '-' || c == '\n' || c == '!' || c == '*';
}

static void count(struct inject_sentences *all, struct inject_sentence *s,
	const struct inject_word *w, const struct context *x)
{
	uint64_t verbs = w->classes & ACTIONS;

	s->classes |= w->classes;
	s->n_upper = (uint16_t)(s->n_upper + w->upper);
	if (w->clause && verbs && (s->n_words == 0 || (s->n_words < 4 && !s->command)))
		s->command = true;
	s->n_words++;
	all->words++;
	all->about += !!(w->classes & BIT(LEX_ABOUT));
	all->you += !!(x->last & BIT(LEX_YOU));
	all->agent += !!(x->last & BIT(LEX_AGENT));
	s->n_turned = (uint8_t)(s->n_turned + !!(w->classes & BIT(LEX_TURNED)));
	s->n_reversed = (uint8_t)(s->n_reversed + !!(w->classes & BIT(LEX_REVERSED)));
}

/* The pass over one text. */
struct split {
	struct bawn_arena *a;
	struct inject_sentences *out;
	struct inject_sentence s;
	struct context x;
	uint32_t spaced, spaced_end; /* a run of single letters */
	unsigned run;
	int failed;
};

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

static void spaced_end(struct split *p)
{
	if (p->run >= SPACED_RUN)
		hint(p, p->spaced, p->spaced_end, HINT_SPACED);
	p->run = 0;
}

/* Look for encoded text at a word. */
static void hints(struct split *p, const char *text, const struct inject_word *w)
{
	uint32_t n = w->end - w->start;

	if (n == 1 || (n <= 2 && p->run && text[w->start] == '_')) {
		if (!p->run || w->start > p->spaced_end + 4u) {
			spaced_end(p);
			p->spaced = w->start;
		}
		p->run++;
		p->spaced_end = w->end;
		return;
	}
	if (p->run)
		spaced_end(p);
	if (n >= 2 * SPACED_RUN - 1 && strchr("._", text[w->start + 1]) &&
		text[w->start + 3] == text[w->start + 1])
		hint(p, w->start, w->end, HINT_SPACED);
	else if (n >= LONG_WORD)
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
		p->out->commands += s->command;
		if (s->n_turned > 1)
			hint(p, s->start, s->end, HINT_TURNED);
		if (s->n_reversed > 1)
			hint(p, s->start, s->end, HINT_REVERSED);
	}
	*s = (struct inject_sentence){0};
	p->x = (struct context){.clause = true};
}

int inject_split(struct bawn_arena *a, const struct inject_text *t, struct inject_sentences *out)
{
	struct split p = {.a = a, .out = out, .x.clause = true};
	struct inject_word w;
	size_t i = 0;

	*out = (struct inject_sentences){0};
	while (i < t->len && !p.failed) {
		if (word_starts(t->text, i, t->len)) {
			i = word_at(t->text, i, t->len, &p.x, &w);
			if (!p.s.n_words) {
				p.s.start = w.start;
				p.s.bullet = w.start > 1 && strchr("-*+|", t->text[w.start - 2]);
			}
			count(out, &p.s, &w, &p.x);
			hints(&p, t->text, &w);
			p.s.end = (uint32_t)i;
			if (p.s.n_words == SENTENCE_WORDS)
				add(&p);
			continue;
		}
		p.x.clause |= parts(t->text[i]);
		if (p.s.n_words && ends(t->text, i, t->len)) {
			p.s.end = (uint32_t)i + 1;
			add(&p);
		}
		i++;
	}
	spaced_end(&p);
	add(&p);
	return p.failed;
}

size_t inject_words(const char *text, const struct inject_sentence *s,
	struct inject_word words[static INJECT_WORDS_MAX])
{
	struct context x = {.clause = true};
	size_t n = 0;

	for (size_t i = s->start; i < s->end && n < INJECT_WORDS_MAX;) {
		if (word_starts(text, i, s->end)) {
			i = word_at(text, i, s->end, &x, &words[n++]);
			continue;
		}
		x.clause |= parts(text[i]);
		i++;
	}
	return n;
}
