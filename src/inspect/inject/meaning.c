/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sentence is about, finer than the classes that every word of every text is looked up for:
 * only sentences that are worth a closer look, and those next to them, come here. Which of two
 * meanings stands before the other and near it tells who does what to whom, in whatever words.
 */
#define MEANS_TABLE
#include "inject-meaning.h"
#include "inspect/inject/classes.h"

#define REACH 5 /* words between two meanings that belong together */

static uint64_t look_up(uint32_t hash)
{
	uint32_t x = (hash ^ means_shift[hash >> MEANS_BUCKET]) * MEANS_FACTOR;
	uint32_t entry = means[x >> MEANS_SLOT];

	return means_classes[entry & MEANS_CLASSES &
			     -(uint32_t)(entry >> MEANS_TAG == (x & MEANS_REST))];
}

/* Whether a phrase may begin with two words that have this hash together. */
static bool is_pair(uint32_t hash)
{
	return means_pairs[hash >> MEANS_PAIR >> 6] >> (hash >> MEANS_PAIR & 63) & 1;
}

/* Behind the finer classes stand those of the others that they are paired with. */
enum {
	M_NEG = 36,
	M_AGENT,
	M_YOU,
	M_USER,
	M_MODAL,
	M_COND,
	M_TARGET,
	M_NAMED,
	M_PARAM,
	M_LOOT,
	M_ABOUT,
	M_ME,
	M_PAIRED, /* from here on what several make together */
	M_HUSHED = M_PAIRED,
	M_PLANTED,
	M_LOADED,
	M_WEAK,
	M_REDIRECTED,
	M_DISMISSED,
	M_READERS,
	M_CLAIMED,
	M_GRADED,
	M_KEPT,
	M_COUNT,
};
_Static_assert(MEANS_ERR < M_NEG && M_COUNT <= 63, "room for meanings");
_Static_assert(M_PAIRED *M_PAIRED <= FEATURE_PAIRS, "room for pairs of meanings");

#define PLAIN                                                                                 \
	(BIT(LEX_NEG) | BIT(LEX_AGENT) | BIT(LEX_READER) | BIT(LEX_YOU) | BIT(LEX_USER3) |    \
		BIT(LEX_MODAL) | BIT(LEX_COND) | BIT(LEX_TARGET) | BIT(LEX_IDENT) |           \
		BIT(LEX_TOOL) | BIT(LEX_PARAM) | OBJECTS | BIT(LEX_PROMPT) | BIT(LEX_ABOUT) | \
		BIT(LEX_EXAMPLE) | BIT(LEX_ME))

static uint64_t plain(uint64_t c)
{
	static const uint8_t to[64] = {
		[LEX_NEG] = M_NEG,
		[LEX_AGENT] = M_AGENT,
		[LEX_READER] = M_AGENT,
		[LEX_YOU] = M_YOU,
		[LEX_USER3] = M_USER,
		[LEX_MODAL] = M_MODAL,
		[LEX_COND] = M_COND,
		[LEX_TARGET] = M_TARGET,
		[LEX_IDENT] = M_NAMED,
		[LEX_TOOL] = M_NAMED,
		[LEX_PARAM] = M_PARAM,
		[LEX_SECRET] = M_LOOT,
		[LEX_PRIVATE] = M_LOOT,
		[LEX_PROMPT] = M_LOOT,
		[LEX_ABOUT] = M_ABOUT,
		[LEX_EXAMPLE] = M_ABOUT,
		[LEX_ME] = M_ME,
	};
	uint64_t m = 0;

	for (c &= PLAIN; c; c &= c - 1)
		m |= BIT(to[__builtin_ctzll(c)]);
	return m;
}

/* The meanings of each word, and of phrases of up to three at their last. */
static void of_words(const struct inject_word *w, size_t n, uint64_t *m)
{
	uint32_t one = 0, two = 0;
	uint64_t last = 0, pair = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t own = look_up(w[i].hash);
		uint32_t joined = inject_hash_join(one, w[i].hash);
		bool both = (last >> MEANS_STARTS & 1) & is_pair(joined);
		uint64_t with = both ? look_up(joined) : 0;

		m[i] = own | with;
		if (pair >> MEANS_STARTS & 1)
			m[i] |= look_up(inject_hash_join(two, w[i].hash));
		m[i] = (m[i] & ~BIT(MEANS_STARTS)) | plain(w[i].classes);
		one = w[i].hash;
		two = joined;
		last = own;
		pair = with;
	}
}

/* Whether a word with one of `a` is followed by one of `b` within `reach`. */
static bool then(const uint64_t *m, size_t n, uint64_t a, uint64_t b, size_t reach)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; m[i] & a && k < n && k <= i + reach; k++)
			if (m[k] & b)
				return true;
	return false;
}

static bool near(const uint64_t *m, size_t n, uint64_t a, uint64_t b, size_t reach)
{
	return then(m, n, a, b, reach) || then(m, n, b, a, reach);
}

/* What is said of the thing itself: not to speak of it, to put it everywhere, … */
static uint64_t together(const uint64_t *m, size_t n, uint64_t all)
{
	uint64_t hush = BIT(MEANS_HUSH) | BIT(MEANS_KNOW) | BIT(MEANS_OUTLET);
	uint64_t no = BIT(M_NEG) | BIT(MEANS_NONEED) | BIT(MEANS_HIDE);
	uint64_t loot = BIT(MEANS_SENSFILE) | BIT(MEANS_TALK) | BIT(M_LOOT);
	uint64_t bad = BIT(M_TARGET) | BIT(MEANS_INSECURE);
	uint64_t r = 0;

	if (all & no && all & hush && then(m, n, no, hush, 4) &&
		near(m, n, no | hush, BIT(MEANS_THIS), 4))
		r |= BIT(M_HUSHED);
	if (all & BIT(MEANS_CODE) && all & bad &&
		(all & BIT(MEANS_HABIT) || then(m, n, BIT(MEANS_PUT), BIT(MEANS_CODE), 6)))
		r |= BIT(M_PLANTED);
	if (all & (BIT(M_PARAM) | BIT(M_NAMED)) && all & loot &&
		all & (BIT(MEANS_PUT) | BIT(MEANS_NEED)))
		r |= BIT(M_LOADED);
	if (all & BIT(MEANS_INSECURE) && all & (BIT(MEANS_HABIT) | BIT(MEANS_PUT)))
		r |= BIT(M_WEAK);
	if (all & BIT(M_TARGET) && all & BIT(MEANS_CHANGE) &&
		near(m, n, BIT(MEANS_CHANGE), BIT(MEANS_ACCOUNT), 6))
		r |= BIT(M_REDIRECTED);
	if (all & BIT(MEANS_OVER) && all & BIT(MEANS_JOB) &&
		near(m, n, BIT(MEANS_OVER), BIT(MEANS_JOB), 4))
		r |= BIT(M_DISMISSED);
	if (all & BIT(MEANS_SERVE) &&
		near(m, n, BIT(MEANS_MACHINE) | BIT(M_AGENT), BIT(MEANS_SERVE), 4))
		r |= BIT(M_READERS);
	if (all & BIT(MEANS_CLAIM) &&
		all & (BIT(MEANS_MONEY) | BIT(MEANS_ACTFOR) | BIT(MEANS_SEND)))
		r |= BIT(M_CLAIMED);
	if (all & BIT(MEANS_GRADE) && all & (BIT(MEANS_DOWN) | BIT(MEANS_HIDE)))
		r |= BIT(M_GRADED);
	if (all & BIT(MEANS_MEMO) &&
		all & (BIT(M_TARGET) | BIT(MEANS_CLAIM) | BIT(MEANS_NONEED) | BIT(MEANS_SEND)))
		r |= BIT(M_KEPT);
	return r;
}

uint64_t inject_meaning(struct inject_word *w, size_t n)
{
	INJECT_RAW uint64_t m[INJECT_WORDS_MAX];
	uint64_t all = 0;

	of_words(w, n, m);
	for (size_t i = 0; i < n; i++) {
		w[i].means = m[i];
		all |= m[i];
	}
	return all | together(m, n, all);
}

static void put(struct inject_features *out, unsigned feature)
{
	if (out->n < FEATURES_MAX)
		out->v[out->n++] = (uint16_t)feature;
}

static void pairs(const struct inject_word *w, size_t n, struct inject_features *out)
{
	INJECT_RAW uint8_t some[INJECT_WORDS_MAX]; /* those that mean anything */
	uint64_t seen[M_PAIRED] = {0};
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		some[count] = (uint8_t)i;
		count += w[i].means != 0;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t after = 0;

		for (size_t k = i + 1; k < count && some[k] <= some[i] + REACH; k++)
			after |= w[some[k]].means;
		for (uint64_t left = after ? w[some[i]].means : 0; left; left &= left - 1)
			seen[__builtin_ctzll(left)] |= after;
	}
	for (unsigned a = 0; a < M_PAIRED; a++)
		for (uint64_t left = seen[a]; left; left &= left - 1)
			put(out, FEATURE_PAIR + a * M_PAIRED + (unsigned)__builtin_ctzll(left));
}

void inject_meanings(const struct inject_sentences *all, size_t i, const struct inject_word *w,
	size_t n, struct inject_features *out)
{
	for (uint64_t left = all->v[i].means; left; left &= left - 1)
		put(out, FEATURE_MEANS + (unsigned)__builtin_ctzll(left));
	pairs(w, n, out);
}

void inject_meanings_near(const struct inject_sentences *all, size_t i, struct inject_features *out)
{
	uint64_t next = i ? all->v[i - 1].means : 0;

	next |= i + 1 < all->n ? all->v[i + 1].means : 0;
	for (uint64_t left = next; left; left &= left - 1)
		put(out, FEATURE_MEANS_NEAR + (unsigned)__builtin_ctzll(left));
}
