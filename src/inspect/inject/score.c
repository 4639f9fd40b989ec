/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The learned signal: a network with one hidden layer over the features of a sentence. Weights are
 * made by tools/train/train-inject.py. Scores are log-odds with zero where a text becomes
 * suspicious; that point and the one where it becomes malicious were chosen on sources that the
 * weights had not seen, at the false-positive budget and at a tenth of it.
 */
#include "inspect/inject/classes.h"
#include "inspect/inject/lanes.h"
#include "inspect/inject/marks.h"
#include "inspect/inject/weights.h"

#define DOUBT_MOST -4.5
#define TALK       6.0 /* what it costs to be among words about attacks */
#define SAYS       3.5 /* what rules that matched say on top of what the model was given of them … */
#define SAYS_FROM  2.0 /* … from so much on … */
#define SAYS_MEANT 0.7 /* … when it is hardly talk */
#define UNSEEN     1.5 /* a rule that matched where nobody looks */
#define NEIGHBOUR  0.5 /* how much of a neighbour's rules counts */

_Static_assert(
	sizeof(hidden) == (size_t)FEATURE_DEEP * HIDDEN && sizeof(direct) == (size_t)FEATURE_COUNT,
	"the weights are of other features: train again");

_Static_assert(HIDDEN % LANES == 0, "the hidden layer is summed by registers");

/* Adds the weights of up to 255 features, as many as fit sums of this size. */
static inline __attribute__((always_inline)) int add_some(
	const uint16_t *v, size_t n, int sum[HIDDEN])
{
	sums part[HIDDEN / LANES] = {0};
	int16_t out[HIDDEN];
	int straight = 0;

	for (size_t i = 0; i < n; i++) {
		straight += direct[v[i]];
		if (v[i] >= FEATURE_DEEP)
			continue;
		for (unsigned k = 0; k < HIDDEN / LANES; k++) {
			weights w;

			memcpy(&w, hidden[v[i]] + LANES * (size_t)k, sizeof(w));
			part[k] += __builtin_convertvector(w, sums);
		}
	}
	memcpy(out, part, sizeof(out));
	for (unsigned k = 0; k < HIDDEN; k++)
		sum[k] += out[k];
	return straight;
}

static int add_weights(const uint16_t *v, size_t n, int sum[HIDDEN])
{
	return add_some(v, n, sum);
}

#ifdef INJECT_AVX2
/* Has an instruction for what the others take three for. */
INJECT_AVX2 static int add_weights2(const uint16_t *v, size_t n, int sum[HIDDEN])
{
	return add_some(v, n, sum);
}
#else
#define add_weights2 add_weights
#endif

/* Sums of small integers: the same everywhere, whatever the order and the compiler. */
static int sum_up(const struct inject_features *f, int sum[HIDDEN])
{
	bool fast = inject_marks_machine() >= INJECT_HAS_AVX2;
	int straight = 0;

	for (size_t i = 0; i < f->n; i += 255) {
		size_t n = f->n - i < 255 ? f->n - i : 255;

		straight += fast ? add_weights2(f->v + i, n, sum) : add_weights(f->v + i, n, sum);
	}
	return straight;
}

double inject_score(const struct inject_features *f)
{
	int sum[HIDDEN] = {0}, straight = sum_up(f, sum);
	double out = 0.0;

	for (unsigned k = 0; k < HIDDEN; k++) {
		double h = sum[k] * hidden_scale[k] + hidden_bias[k];

		out += h > 0.0 ? h * hidden_out[k] : 0.0;
	}
	return out + straight * DIRECT_SCALE + WEIGHT_BIAS - SCORE_SUSPICIOUS;
}

/*
 * How much a sentence that is quoted, listed or announced counts in a text that may only talk about
 * attacks: less among words about them, between quotation marks and behind "for example". What
 * stands by itself counts in full, whatever the rest of the text says about attacks, and what
 * nobody sees is not an example.
 */
double inject_meant(const struct inject_sentences *all, size_t i)
{
	const struct inject_sentence *s = &all->v[i];
	uint64_t before = i ? all->v[i - 1].classes : 0;
	uint64_t near = s->classes | inject_near(all, i);
	bool apart = !(near & (BIT(LEX_ABOUT) | BIT(LEX_EXAMPLE))); /* the talk is elsewhere */
	bool talk = all->about > 1 || (all->about && s->quoted);
	double m = 1.0;

	if (talk && all->about * 1000 > all->words * 15)
		m *= apart ? 0.6 : 0.4;
	else if (talk && all->about * 1000 > all->words * 5)
		m *= apart ? 0.78 : 0.65;
	if (!s->reported) /* it stands by itself: talk around it tells little */
		return s->strong ? 1.0 : 0.4 + 0.6 * m;
	if ((s->classes | before) & BIT(LEX_ABOUT))
		m *= 0.7;
	if (s->quoted)
		m *= 0.55;
	if (s->sampled)
		m *= 0.35;
	if ((s->classes | before) & BIT(LEX_EXAMPLE))
		m *= 0.8;
	return s->unseen && m < 0.8 ? (m + 0.8) / 2 : m;
}

/* Kinds of pressure add up over neighbours: few real texts have several. */
double inject_rules_score(const struct inject_sentences *all, size_t i)
{
	size_t first = i > INJECT_REACH ? i - INJECT_REACH : 0;
	unsigned seen = all->v[i].hits;
	double sum = seen ? (double)all->v[i].rules * inject_meant(all, i) : 0.0;

	if (seen && all->v[i].unseen)
		sum += UNSEEN;
	for (size_t k = first; k < all->n && k <= i + INJECT_REACH; k++) {
		if (!(all->v[k].hits & ~seen))
			continue;
		sum += NEIGHBOUR * (double)all->v[k].rules * inject_meant(all, k);
		seen |= all->v[k].hits;
	}
	return sum;
}

/*
 * The model was trained with the rules' say as given, so both add up. It may doubt the surest rules
 * only so far: what it has never seen looks doubtful to it, and these are what was seen. On sources
 * that neither had seen, nearly all that was flagged and harmless was so by the model alone, and
 * much that was missed had been matched by rules: so these have a say of their own. That
 * an agent is addressed is nothing by itself.
 */
double inject_combine(const struct inject_sentences *all, size_t i, double model, double rules)
{
	bool told = all->v[i].hits & ~(1u << INJECT_FAMILY_AGENT);
	double meant = inject_meant(all, i);

	if (all->v[i].strong && model < DOUBT_MOST)
		model = DOUBT_MOST;
	if (told && rules >= SAYS_FROM && meant >= SAYS_MEANT)
		model += SAYS;
	return model + (rules > 0.0 ? rules : 0.0) - TALK * (1.0 - meant);
}

double inject_confidence(double score)
{
	if (score < 0.0)
		return 0.30 / (1.0 - score);
	if (score < SCORE_MALICIOUS)
		return 0.30 + 0.40 * score / SCORE_MALICIOUS;
	return 0.98 - 0.28 / (1.0 + score - SCORE_MALICIOUS);
}
