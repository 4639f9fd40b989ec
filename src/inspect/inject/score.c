/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The learned signal: a linear model over the features of a sentence. Weights are made by
 * tools/train/train-inject.py; a score becomes a confidence by two points that were chosen on
 * sources the weights had not seen: `suspicious` at the false-positive budget, `malicious` at a
 * tenth of it.
 */
#include "inspect/inject/inject.h"
#include "inspect/inject/weights.h"

_Static_assert(sizeof(weights) == FEATURE_COUNT, "the weights are of other features: train again");

double inject_score(const struct inject_features *f)
{
	int sum = 0;

	for (size_t i = 0; i < f->n; i++)
		sum += weights[f->v[i]];
	return sum * WEIGHT_SCALE + WEIGHT_BIAS;
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
