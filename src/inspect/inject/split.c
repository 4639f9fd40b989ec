/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words put into sentences. No grammar: where a sentence ends is decided by punctuation, line ends
 * and the marks of lists, tables and JSON, which is as much as scoring needs. Most words tell
 * nothing but that they are there: those are counted and passed over.
 */
#include <errno.h>
#include <string.h>

#include "inspect/inject/words.h"

#define SENTENCE_WORDS 100
#define SENTENCE_BYTES 24 /* most texts have fewer sentences */

static inline bool starts_clause(const struct inject_finder *f, uint32_t at)
{
	if (at / 64 < f->m.first)
		return f->begun_clause;
	return f->m.v[at / 64 - f->m.first].clause >> at % 64 & 1;
}

/* The pass over one text. */
struct split {
	struct bawn_arena *a;
	struct inject_sentences *out;
	struct inject_sentence *s; /* the one at hand, behind those of `out` */
	struct inject_sentence none;
	struct {
		uint8_t n_turned, n_reversed, n_leet;
	} before;       /* of the last sentence */
	size_t runs;    /* of those before words that were taken */
	uint32_t stop;  /* behind the first stop behind the last word, 0 if there was none so far */
	size_t tallied; /* up to here what is marked at the ends of words was counted */
	bool fresh;     /* the next word begins a sentence */
	int failed;
};

/* Words of these are counted. */
#define COUNTED                                                                            \
	(BIT(LEX_ABOUT) | BIT(LEX_DEV) | BIT(LEX_YOU) | BIT(LEX_AGENT) | BIT(LEX_TURNED) | \
		BIT(LEX_REVERSED) | BIT(LEX_LEET))

/* A word at `at` with these classes. */
static inline __attribute__((always_inline)) void count(struct split *p,
	const struct inject_finder *f, uint32_t at, uint64_t classes,
	const struct inject_context *x)
{
	struct inject_sentence *s = p->s;
	uint64_t own = x->last; /* without those of a phrase */

	s->n_words++;
	s->classes |= classes;
	if (__builtin_expect(!(classes & (COUNTED | ACTIONS)), 1))
		return;
	s->command |= (classes & ACTIONS) && s->n_words <= 4 && (x->clause || starts_clause(f, at));
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

static void hint_run(struct split *p, const struct inject_run *r)
{
	if (r->n >= INJECT_SPACED_RUN)
		hint(p, r->start, r->reach - INJECT_SPACED_GAP, HINT_SPACED);
}

/* There may be encoded text at word i, or before it. */
static void hints(struct split *p, const struct inject_finder *f, const char *text, size_t i)
{
	uint32_t start = f->m.edges[2 * i], end = f->m.edges[2 * i + 1];
	const char *c = text + start;

	if (inject_bit(&f->spaced, i))
		hint_run(p, &f->runs[p->runs++]);
	if (!inject_bit(&f->far, i))
		return;
	if ((c[1] == '.' || c[1] == '_') && c[3] == c[1])
		hint(p, start, end, HINT_SPACED);
	else
		hint(p, start, end, HINT_LONG);
}

/* The sentence at hand, or what is next to it, may make sense in another way. */
static void hint_sense(struct split *p)
{
	const struct inject_sentence *s = p->s;

	if (s->n_turned && s->n_turned + p->before.n_turned > 1)
		hint(p, s->start, s->end, HINT_TURNED);
	if (s->n_reversed && s->n_reversed + p->before.n_reversed > 1) {
		hint(p, s->start, s->end, HINT_REVERSED);
		hint(p, s->start, s->end, HINT_REVERSED_WORDS);
	}
	if (s->n_leet && s->n_leet + p->before.n_leet > 1)
		hint(p, s->start, s->end, HINT_LEET);
}

/* Room for the next sentence. */
static void more_room(struct split *p)
{
	struct inject_sentences *out = p->out;

	if (!bawn_grow(p->a, &out->v, &out->n, &out->cap)) {
		p->failed = -ENOMEM;
		p->s = &p->none;
		return;
	}
	p->s = &out->v[--out->n];
}

static inline void add(struct split *p)
{
	const struct inject_sentence *s = p->s;
	struct inject_sentences *out = p->out;

	if (!s->n_words || p->failed)
		return;
	out->words += s->n_words;
	out->commands += s->command;
	out->bullets += s->bullet;
	if (__builtin_expect(s->n_turned | s->n_reversed | s->n_leet, 0))
		hint_sense(p);
	p->before.n_turned = s->n_turned;
	p->before.n_reversed = s->n_reversed;
	p->before.n_leet = s->n_leet;
	p->s++;
	if (++out->n == out->cap)
		more_room(p);
	*p->s = (struct inject_sentence){0};
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

/* What words are by their letters that end at one of `bits` of a block. */
static inline __attribute__((always_inline)) void tally_block(
	struct inject_sentence *s, const struct inject_mark *b, uint64_t bits)
{
	s->classes |= (uint64_t)((b->ident & bits) != 0) << LEX_IDENT;
	s->foreign |= (b->foreign & bits) != 0;
	if (__builtin_expect((b->upper & bits) != 0, 0))
		s->n_upper = (uint16_t)(s->n_upper + __builtin_popcountll(b->upper & bits));
}

/* The same for those that ended in [p->tallied, to). Most sentences are of one block or two, and
 * which of it is not to be guessed. */
static inline void tally(struct split *p, const struct inject_marks *m, size_t to)
{
	size_t from = p->tallied > 64 * m->first ? p->tallied : 64 * m->first, first, last;
	uint64_t head = ~(uint64_t)0 << from % 64, tail;

	p->tallied = to;
	if (from >= to)
		return;
	first = from / 64 - m->first;
	last = (to - 1) / 64 - m->first;
	tail = ~(uint64_t)0 >> (63 - (to - 1) % 64);
	for (size_t i = first + 1; i < last; i++)
		tally_block(p->s, &m->v[i], ~(uint64_t)0);
	tally_block(p->s, &m->v[first], first == last ? head & tail : head);
	tally_block(p->s, &m->v[last], first == last ? 0 : tail);
}

/* The sentence ends with the first stop behind its last word, if there is one. */
static void end_sentence(struct split *p, const struct inject_marks *m)
{
	if (p->s->n_words) {
		tally(p, m, (size_t)p->s->end + 1);
		if (!p->stop)
			p->stop = first_stop(m, p->s->end);
		if (p->stop)
			p->s->end = p->stop;
	}
	p->stop = 0;
	add(p);
}

/* What stands before an item of a list or a table. */
static bool is_bullet(char c)
{
	return c == '-' || c == '*' || c == '+' || c == '|';
}

static void begin_sentence(struct split *p, const struct inject_text *t, size_t start)
{
	p->s->start = (uint32_t)start;
	p->s->bullet = start > 1 && is_bullet(t->text[start - 2]);
	p->tallied = start + 1;
}

/* All that is to be done at the end of these blocks, which come no more. */
static void leave_blocks(struct split *p, const struct inject_marks *m)
{
	if (!p->s->n_words)
		return;
	tally(p, m, 64 * (m->first + m->n));
	if (!p->stop)
		p->stop = first_stop(m, p->s->end);
}

/* One whose letters say more than its marks. */
static uint64_t odd_word(const struct inject_finder *f, const struct inject_text *t,
	struct inject_context *x, size_t i)
{
	struct inject_word w = {
		.start = f->m.edges[2 * i], .end = f->m.edges[2 * i + 1], .hash = f->hash[i]};

	inject_any_word(t->text, t->len, x, &w, f->classes[f->own[i]]);
	x->odd = true;
	return w.classes;
}

/* Word i, which does not begin a sentence or has had that done. */
static inline __attribute__((always_inline)) void add_word(struct split *p,
	const struct inject_finder *f, const struct inject_text *t, struct inject_context *x,
	size_t i)
{
	uint32_t start = f->m.edges[2 * i], end = f->m.edges[2 * i + 1];
	uint64_t own = f->classes[f->own[i]], classes;

	if (__builtin_expect(inject_bit(&f->odd, i), 0)) {
		classes = odd_word(f, t, x, i);
	} else if (__builtin_expect(x->odd, 0)) {
		/* what it is with that before it was not known */
		x->odd = false;
		classes = inject_classify(x, f->hash[i], own);
	} else {
		/* no phrase goes over from the sentence before */
		uint64_t two = p->s->n_words ? f->classes[f->two[i]] : 0;

		classes = inject_classify_known(x, f->hash[i], own, two);
	}
	count(p, f, start, classes, x);
	x->clause = x->last & INJECT_JOINS;
	p->s->end = end;
}

static inline __attribute__((always_inline)) void one_word(struct split *p,
	const struct inject_finder *f, const struct inject_text *t, struct inject_context *x,
	size_t i)
{
	if (inject_bit(&f->begins, i) | p->fresh) {
		end_sentence(p, &f->m);
		begin_sentence(p, t, f->m.edges[2 * i]);
		*x = (struct inject_context){.clause = true};
		p->fresh = false;
	}
	add_word(p, f, t, x, i);
	if (__builtin_expect(inject_bit(&f->far, i) | inject_bit(&f->spaced, i), 0))
		hints(p, f, t->text, i);
	if (__builtin_expect(p->s->n_words == SENTENCE_WORDS, 0)) {
		tally(p, &f->m, (size_t)p->s->end + 1);
		add(p);
		p->fresh = true;
	}
}

/* Words [i, end), which tell nothing; but a sentence may be full with one of them. */
static inline void pass_over(struct split *p, const struct inject_finder *f,
	const struct inject_text *t, struct inject_context *x, size_t i, size_t end)
{
	if (__builtin_expect(p->fresh || p->s->n_words + (end - i) >= SENTENCE_WORDS, 0)) {
		for (; i < end; i++)
			one_word(p, f, t, x, i);
		return;
	}
	p->s->n_words = (uint16_t)(p->s->n_words + (end - i));
	p->s->end = f->m.edges[2 * end - 1];
	x->last = x->two = 0;
	x->clause = false;
}

static void some_words(struct split *p, const struct inject_finder *f, const struct inject_text *t,
	struct inject_context *x)
{
	size_t next = 0;

	p->runs = 0;
	for (size_t k = 0; 64 * k < f->n; k++)
		for (uint64_t left = f->look.v[k]; left; left &= left - 1) {
			size_t i = 64 * k + (size_t)__builtin_ctzll(left);

			if (next < i)
				pass_over(p, f, t, x, next, i);
			one_word(p, f, t, x, i);
			next = i + 1;
		}
}

int inject_split(struct bawn_arena *a, const struct inject_text *t, struct inject_sentences *out)
{
	INJECT_RAW struct inject_finder f;
	struct split p = {.a = a, .out = out, .fresh = true};
	struct inject_context x = {.clause = true};

	*out = (struct inject_sentences){.cap = t->len / SENTENCE_BYTES + 8};
	out->v = bawn_arena_raw(a, sizeof(*out->v) * out->cap);
	if (!out->v)
		return -ENOMEM;
	p.s = out->v;
	*p.s = (struct inject_sentence){0};
	inject_find_begin(&f, t);
	while (!p.failed && inject_find_next(&f, t)) {
		some_words(&p, &f, t, &x);
		leave_blocks(&p, &f.m);
	}
	hint_run(&p, &f.run);
	end_sentence(&p, &f.m);
	return p.failed;
}
