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

#define LONG_WORD      20 /* may be encoded text */
#define SPACED_RUN     7  /* single letters in a row */
#define SENTENCE_WORDS 100
#define BIT(class)     ((uint64_t)1 << (class))
#define LEET_CLASSES   (BIT(LEX_OVERRIDE) | BIT(LEX_INSTR) | BIT(LEX_PRIOR) | BIT(LEX_SECRET))
#define ACTIONS                                                                               \
	(BIT(LEX_EXFIL) | BIT(LEX_DESTROY) | BIT(LEX_EXEC) | BIT(LEX_REVEAL) | BIT(LEX_SAY) | \
		BIT(LEX_PAY) | BIT(LEX_ACT) | BIT(LEX_OVERRIDE) | BIT(LEX_OBEY) | BIT(LEX_TELL))

/* What a byte can be in a word. */
#define C_LOWER  (1u << 0) /* and every byte of other scripts */
#define C_UPPER  (1u << 1)
#define C_DIGIT  (1u << 2)
#define C_UNDER  (1u << 3)
#define C_DOT    (1u << 4) /* these three only between two others */
#define C_AT     (1u << 5)
#define C_QUOTE  (1u << 6)
#define C_HIGH   (1u << 7)
#define C_INNER  (C_DOT | C_AT | C_QUOTE)
#define C_STARTS (C_LOWER | C_UPPER | C_DIGIT | C_UNDER)
static const unsigned char kind[256] = {
	['a' ... 'z'] = C_LOWER,
	['A' ... 'Z'] = C_UPPER,
	['0' ... '9'] = C_DIGIT,
	['_'] = C_UNDER,
	['.'] = C_DOT,
	['@'] = C_AT,
	['\''] = C_QUOTE,
	[0x80 ... 0xff] = C_LOWER | C_HIGH,
};

static inline uint64_t look_up(uint32_t hash)
{
	if (__builtin_expect(!(lexicon_bits[hash >> 21] >> (hash >> 16 & 31) & 1), 1))
		return 0;
	for (uint32_t at = hash & (LEX_SIZE - 1); lexicon[at].hash; at = (at + 1) & (LEX_SIZE - 1))
		if (lexicon[at].hash == hash)
			return (uint64_t)lexicon[at].high << 32 | lexicon[at].low;
	return 0;
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

static char unleet(char c)
{
	static const char from[] = "0134578@$", to[] = "oieastbas";
	const char *p = memchr(from, c, sizeof(from) - 1);

	return (char)(p ? to[p - from] : tolower((unsigned char)c));
}

/* A word with digits for letters, when it then is one of those that matter. */
static uint64_t leet(const char *p, size_t n)
{
	char plain[24] = "";
	uint64_t c;

	if (n > 16 || n < 5)
		return 0;
	for (size_t i = 0; i < n; i++)
		plain[i] = unleet(p[i]);
	c = look_up(inject_hash(plain, n));
	return c & LEET_CLASSES ? c | BIT(LEX_LEET) : 0;
}

/* Addresses of any kind: mail, web, bank. */
static bool is_target(const char *p, size_t n, const char *end, unsigned flags)
{
	static const char ends[][6] = {".com", ".net", ".org", ".io", ".dev", ".app", ".xyz", ".ru",
		".cn", ".co", ".info", ".me", ".site", ".ai"};
	const char *q = p + n, *dot;
	size_t len;

	if ((flags & C_AT) && (flags & C_DOT))
		return true;
	if (end - q > 3 && !memcmp(q, "://", 3))
		return true;
	if (n >= 12 && (flags & (C_LOWER | C_UPPER | C_DIGIT)) == (C_UPPER | C_DIGIT) &&
		kind[(unsigned char)p[0]] == C_UPPER && kind[(unsigned char)p[1]] == C_UPPER)
		return true;
	if (!(flags & C_DOT))
		return false;
	dot = memrchr(p, '.', n); /* there is one */
	len = n - (size_t)(dot - p);
	for (size_t i = 0; len < sizeof(ends[0]) && i < sizeof(ends) / sizeof(ends[0]); i++)
		if ((dot[1] | 0x20) == ends[i][1] && !ends[i][len] &&
			!strncasecmp(dot, ends[i], len))
			return true;
	return n > 4 && !strncasecmp(p, "www.", 4);
}

/* A capital behind a small letter. */
static bool has_hump(const char *p, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (kind[(unsigned char)p[i]] == C_UPPER &&
			kind[(unsigned char)p[i - 1]] == C_LOWER)
			return true;
	return false;
}

/* What the letters of an unusual word tell. */
static uint64_t shape_classes(const char *p, size_t n, const char *end, unsigned flags)
{
	uint64_t c = 0;

	if (is_target(p, n, end, flags))
		c |= BIT(LEX_TARGET);
	if ((flags & C_LOWER) && ((flags & C_UNDER) || ((flags & C_UPPER) && has_hump(p, n))))
		c |= BIT(LEX_IDENT);
	if ((flags & C_DIGIT) && (flags & (C_LOWER | C_UPPER)))
		c |= leet(p, n);
	return c;
}

/* Classes of the word alone, and of the phrases that end with it. */
static inline __attribute__((always_inline)) void classify(struct context *x, struct inject_word *w)
{
	uint64_t own = w->classes | look_up(w->hash), two = 0;

	w->classes = own;
	if (x->last & BIT(LEX_STARTS)) {
		two = look_up(inject_hash_join(x->before, w->hash));
		w->classes |= two;
	}
	if (x->two & BIT(LEX_STARTS))
		w->classes |= look_up(inject_hash_join(x->before2, w->hash));
	x->before2 = inject_hash_join(x->before, w->hash);
	x->before = w->hash;
	x->last = own;
	x->two = two;
	w->classes &= ~BIT(LEX_STARTS);
	x->clause = own & (BIT(LEX_JOIN) | BIT(LEX_PLEASE) | BIT(LEX_SEQ) | BIT(LEX_MODAL));
}

/* The word that starts at `at`; returns where it ends. The possessive is left out of its hash. */
static inline __attribute__((always_inline)) size_t word_at(
	const char *text, size_t at, size_t len, struct context *x, struct inject_word *w)
{
	const unsigned char *p = (const unsigned char *)text + at, *q = p;
	const unsigned char *end = (const unsigned char *)text + len;
	unsigned flags = 0, first = kind[*p], k;
	size_t stem = 0;
	uint32_t h;

	/* the first byte may be a dot, its case tells nothing; text ends with NUL, which is no word
	 */
	for (q++;; q++) {
		for (; (k = kind[*q]) & C_STARTS; q++)
			flags |= k;
		if (__builtin_expect(!(k & C_INNER), 1) || q + 1 >= end || !(kind[q[1]] & C_STARTS))
			break;
		stem = k == C_QUOTE ? (size_t)(q - p) : stem;
		flags |= k;
	}
	q = q < end ? q : end;
	h = inject_hash(text + at, (size_t)(q - p));
	if (stem && q[-1] == 's' && q[-2] == '\'' && !look_up(h))
		h = inject_hash(text + at, stem);
	w->start = (uint32_t)at;
	w->end = (uint32_t)(at + (size_t)(q - p));
	w->hash = h;
	w->classes = q < end && *q == '(' && ((first | flags) & C_LOWER) ? BIT(LEX_IDENT) : 0;
	w->clause = x->clause;
	w->upper = ((first | flags) & (C_UPPER | C_LOWER)) == C_UPPER && q - p > 1;
	w->title = first == C_UPPER;
	w->foreign = (first | flags) & C_HIGH;
	if (((first | flags) & (C_DIGIT | C_UNDER | C_DOT | C_AT)) || (flags & C_UPPER) ||
		(end - q > 3 && *q == ':' && q[1] == '/'))
		w->classes |= shape_classes(text + at, (size_t)(q - p), text + len, first | flags);
	classify(x, w);
	return w->end;
}

/* Whether a word starts here; a dot may, in front of a letter. */
static inline bool word_starts(const char *text, size_t at, size_t len)
{
	if (kind[(unsigned char)text[at]] & C_STARTS)
		return true;
	return text[at] == '.' && at + 1 < len &&
	       (kind[(unsigned char)text[at + 1]] & (C_LOWER | C_UPPER)) &&
	       (!at || !(kind[(unsigned char)text[at - 1]] & C_STARTS));
}

/* What a byte between words does. */
#define D_CLAUSE (1u << 0) /* a clause may start behind it */
#define D_STOP   (1u << 1) /* a sentence may end with it */
#define D_APART  (1u << 2) /* a line that starts with it is no continuation */
#define D_OPENS  (1u << 3) /* a value stands behind it */
#define D_VALUE  (1u << 4) /* a value ends before it */
#define D_AFTER  (1u << 5) /* a full stop before it ends the sentence */
static const unsigned char divides[256] = {
	[0] = D_APART,
	[' '] = D_AFTER,
	['\n'] = D_CLAUSE | D_STOP | D_APART | D_AFTER,
	['-'] = D_CLAUSE | D_APART,
	['*'] = D_CLAUSE | D_APART | D_AFTER,
	['"'] = D_CLAUSE | D_STOP | D_APART | D_AFTER,
	['\''] = D_CLAUSE | D_STOP | D_APART | D_AFTER,
	['!'] = D_CLAUSE | D_STOP,
	['.'] = D_STOP,
	['?'] = D_STOP,
	['|'] = D_STOP | D_APART,
	[':'] = D_CLAUSE | D_APART | D_OPENS | D_VALUE,
	[','] = D_CLAUSE | D_OPENS | D_VALUE,
	[';'] = D_CLAUSE,
	['('] = D_CLAUSE | D_OPENS,
	[')'] = D_AFTER,
	['>'] = D_CLAUSE,
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

/* A line that starts like a list item, a table row, a key or a sentence. */
static bool line_apart(const char *p, const char *end)
{
	return p == end || divides[(unsigned char)*p] & D_APART;
}

/* A quotation mark that starts a value: behind a comma, a colon or a bracket. */
static bool opens(const char *text, size_t at)
{
	while (at && text[at - 1] == ' ')
		at--;
	return at && divides[(unsigned char)text[at - 1]] & D_OPENS;
}

/* Whether the D_STOP at `at` ends a sentence. */
static bool ends(const char *text, size_t at, size_t len)
{
	char c = text[at], next = (char)(at + 1 < len ? text[at + 1] : '\n');

	if (c == '\n')
		return line_apart(text + at + 1, text + len);
	if (c == '|')
		return true;
	if (c == '"' || c == '\'')
		return !next || divides[(unsigned char)next] & D_VALUE || opens(text, at);
	return !next || divides[(unsigned char)next] & D_AFTER;
}

static inline void count(struct inject_sentences *all, struct inject_sentence *s,
	const struct inject_word *w, const struct context *x)
{
	uint64_t c = w->classes;

	s->n_upper = (uint16_t)(s->n_upper + w->upper);
	s->foreign |= w->foreign;
	s->n_words++;
	if (!c)
		return;
	s->classes |= c;
	if (w->clause && c & ACTIONS && s->n_words <= 4)
		s->command = true;
	all->about += c >> LEX_ABOUT & 1;
	all->dev += c >> LEX_DEV & 1;
	all->you += x->last >> LEX_YOU & 1;
	all->agent += x->last >> LEX_AGENT & 1;
	s->n_turned = (uint8_t)(s->n_turned + (c >> LEX_TURNED & 1));
	s->n_reversed = (uint8_t)(s->n_reversed + (c >> LEX_REVERSED & 1));
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
static inline __attribute__((always_inline)) void hints(
	struct split *p, const char *text, const struct inject_word *w)
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
		p->out->words += s->n_words;
		p->out->commands += s->command;
		p->out->bullets += s->bullet;
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
	unsigned d;
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
		d = divides[(unsigned char)t->text[i]];
		if (__builtin_expect(!(d & (D_CLAUSE | D_STOP)), 1)) {
			i++;
			continue;
		}
		p.x.clause |= d & D_CLAUSE;
		if (d & D_STOP && p.s.n_words && ends(t->text, i, t->len)) {
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
		x.clause |= divides[(unsigned char)text[i]] & D_CLAUSE;
		i++;
	}
	return n;
}
