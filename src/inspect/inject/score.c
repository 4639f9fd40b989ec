/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The learned signal: a linear model over the features of a sentence. Weights are made by
 * tools/train/train-inject.py; a score becomes a confidence by two points that were chosen on
 * sources the weights had not seen: `suspicious` at the false-positive budget, `malicious` at a
 * tenth of it.
 */
#include "inspect/inject/inject.h"
#include "inspect/inject/weights.h"

#define REACH	  3   /* sentences on each side */
#define NEIGHBOUR 0.5 /* how much of a neighbour's rules counts */

_Static_assert(sizeof(weights) == FEATURE_COUNT, "the weights are of other features: train again");

double inject_score(const struct inject_features *f)
{
	int sum = 0;

	for (size_t i = 0; i < f->n; i++)
		sum += weights[f->v[i]];
	return sum * WEIGHT_SCALE + WEIGHT_BIAS;
}

/* Kinds of pressure add up over neighbours: few real texts have several. */
double inject_rules_score(const struct inject_sentences *all, size_t i)
{
	size_t first = i > REACH ? i - REACH : 0;
	unsigned seen = all->v[i].hits;
	double sum = (double)all->v[i].rules;

	for (size_t k = first; k < all->n && k <= i + REACH; k++) {
		if (!(all->v[k].hits & ~seen))
			continue;
		sum += NEIGHBOUR * (double)all->v[k].rules;
		seen |= all->v[k].hits;
	}
	return sum;
}

double inject_confidence(double score)
{
	if (score < SCORE_SUSPICIOUS)
		return 0.30 / (1.0 + SCORE_SUSPICIOUS - score);
	if (score < SCORE_MALICIOUS)
		return 0.30 +
			0.40 * (score - SCORE_SUSPICIOUS) / (SCORE_MALICIOUS - SCORE_SUSPICIOUS);
	return 0.98 - 0.28 / (1.0 + score - SCORE_MALICIOUS);
}
