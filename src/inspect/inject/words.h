/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect/inject: words as the splitter gets them, some blocks of a text at a time.
 */

#include "inspect/inject/classes.h"
#include "inspect/inject/marks.h"

#define INJECT_LONG_WORD  20  /* may be encoded text */
#define INJECT_SPACED_GAP 10u /* the next one, with marks before it, has to start within */

/* Words of the sentence so far, as far as the next one needs them. */
struct inject_context {
	uint32_t before, before2; /* hashes of the last word and of the last two */
	uint64_t last, two;       /* classes of the last word alone and of the last two */
	bool clause;              /* the next one starts one */
	bool odd;                 /* the word before has other classes than it was found with */
};

/* Behind these a clause may start. */
#define INJECT_JOINS (BIT(LEX_JOIN) | BIT(LEX_PLEASE) | BIT(LEX_SEQ) | BIT(LEX_MODAL))

/* Classes of a word that has `own` by itself and `two` with the one before, with those of the
 * phrases of three that end with it. */
static inline uint64_t inject_classify_known(
	struct inject_context *x, uint32_t hash, uint64_t own, uint64_t two)
{
	uint64_t all = own | two;

	if (__builtin_expect((x->two & BIT(LEX_STARTS)) != 0, 0))
		all |= inject_lexicon(inject_hash_join(x->before2, hash));
	x->before2 = inject_hash_join(x->before, hash);
	x->before = hash;
	x->last = own;
	x->two = two;
	return all & ~BIT(LEX_STARTS);
}
/* The same where it is not known what it is with the one before. */
uint64_t inject_classify(struct inject_context *x, uint32_t hash, uint64_t own);
/* Any word [start, end) of a text of `len` bytes, by its letters too. w->hash is set and `own` is
 * what the lexicon has for it. */
void inject_any_word(const char *text, size_t len, struct inject_context *x, struct inject_word *w,
	uint64_t own);

/* Single letters one after the other. */
struct inject_run {
	uint32_t start, reach; /* where it is over */
	uint32_t n;
};

#define INJECT_FOUND (32 * INJECT_BLOCKS) /* words that can end in these blocks */
#define INJECT_RUNS  (INJECT_FOUND / INJECT_SPACED_RUN + 2)

/* A bit for each word, and for one that has only begun. */
struct inject_bits {
	uint64_t v[INJECT_FOUND / 64 + 1];
};

static inline unsigned inject_bit(const struct inject_bits *b, size_t i)
{
	return (unsigned)(b->v[i / 64] >> i % 64) & 1;
}

/* The words that end in the blocks of `m`. */
struct inject_finder {
	struct inject_marks m;
	uint32_t hash[INJECT_FOUND + 1];
	uint16_t own[INJECT_FOUND + 1],
		two[INJECT_FOUND + 1]; /* of `classes`: of the word alone,
					  and together with the one before */
	size_t n;
	const uint64_t *classes;
	struct inject_bits begins; /* a sentence ended before it */
	struct inject_bits odd;    /* its letters may say more than its hash: inject_any_word() */
	struct inject_bits spaced; /* a run of single letters ended before it, see `runs` */
	struct inject_bits far;    /* long enough to be encoded text, or letters spaced by dots */
	struct inject_bits look;   /* all that tell something; the others are only counted */
	struct inject_run run, runs[INJECT_RUNS]; /* the last one, and those before `spaced` */
	bool begun_begins, begun_clause;          /* of one that has begun in blocks before */
	/* private */
	struct inject_bits phrase;
	uint16_t some[INJECT_FOUND + 16]; /* words to look at again; room for whole groups */
	uint32_t last_hash;
	bool last_starts; /* the last word of the blocks before may start a phrase */
	bool runs_before; /* there may have been a run */
};
void inject_find_begin(struct inject_finder *f, const struct inject_text *t);
/* The words that end in the next blocks. False at the end of the text. */
bool inject_find_next(struct inject_finder *f, const struct inject_text *t);
