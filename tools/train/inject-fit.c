/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject-fit < JOB > WEIGHTS
 *
 * For the trainer: fits the network of the injection detector (one hidden layer and a straight way
 * past it, which is all there is for features from `deep` on) by Adam. A sentence has few of the
 * many features, so sparse rows make this many times faster than matrices. One thread and its own
 * random numbers: the same job gives the same weights. The job is in the order of read_job, native
 * numbers; train-inject.py writes it.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HIDDEN_MAX 256

enum {
	IN,
	IN_BIAS,
	OUT,
	STRAIGHT,
	BIAS,
	PARTS
};

struct head {
	uint32_t sentences, features, hidden, rows, epochs, batch, deep, unused;
	uint64_t seed;
	float prior, rate, decay, drop;
};

struct job {
	struct head h;
	uint32_t *first; /* of the features of each sentence, and the end */
	uint16_t *feature;
	float *label, *weight, *given;
	uint32_t *row; /* the sentences to learn from */
	float *middle; /* what the straight weights are pulled to */
	float *p[PARTS];
	size_t n[PARTS];
};

struct state {
	float *grad[PARTS], *m[PARTS], *v[PARTS];
	bool *keep; /* features that are not dropped from this batch */
	uint64_t random;
	uint32_t step, steps;
};

static void *get(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p || fread(p, size, n, stdin) != n) {
		(void)fputs("inject-fit: no whole job on standard input\n", stderr);
		_exit(1);
	}
	return p;
}

static float *zeros(size_t n)
{
	float *p = calloc(n, sizeof(*p));

	if (!p)
		_exit(1);
	return p;
}

static void read_job(struct job *j)
{
	struct head *h = get(1, sizeof(*h));

	j->h = *h;
	free(h);
	if (j->h.hidden > HIDDEN_MAX || !j->h.batch || j->h.deep > j->h.features)
		_exit(1);
	j->first = get(j->h.sentences + 1u, sizeof(uint32_t));
	j->feature = get(j->first[j->h.sentences], sizeof(uint16_t));
	j->label = get(j->h.sentences, sizeof(float));
	j->weight = get(j->h.sentences, sizeof(float));
	j->given = get(j->h.sentences, sizeof(float));
	j->row = get(j->h.rows, sizeof(uint32_t));
	j->middle = get(j->h.features, sizeof(float));
	j->n[IN] = (size_t)j->h.deep * j->h.hidden;
	j->n[IN_BIAS] = j->n[OUT] = j->h.hidden;
	j->n[STRAIGHT] = j->h.features;
	j->n[BIAS] = 1;
	for (unsigned k = 0; k < PARTS; k++)
		j->p[k] = get(j->n[k], sizeof(float));
}

/* xorshift; only has to be even and the same everywhere. */
static uint32_t random_bits(struct state *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (uint32_t)(s->random >> 32);
}

static void shuffle(struct job *j, struct state *s)
{
	for (uint32_t i = j->h.rows; i > 1; i--) {
		uint32_t k = random_bits(s) % i, t = j->row[i - 1];

		j->row[i - 1] = j->row[k];
		j->row[k] = t;
	}
}

static void add(float *to, const float *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] += from[i];
}

/* One sentence: forwards, then what it adds to the gradient. `share` is one by the batch. */
static void learn(const struct job *j, struct state *s, uint32_t r, float share)
{
	float h[HIDDEN_MAX] = {0}, back[HIDDEN_MAX] = {0}, z = j->p[BIAS][0] + j->given[r], d;
	uint32_t n = j->h.hidden;

	add(h, j->p[IN_BIAS], n);
	for (uint32_t i = j->first[r]; i < j->first[r + 1]; i++) {
		if (!s->keep[j->feature[i]])
			continue;
		z += j->p[STRAIGHT][j->feature[i]];
		if (j->feature[i] < j->h.deep)
			add(h, j->p[IN] + (size_t)j->feature[i] * n, n);
	}
	for (uint32_t k = 0; k < n; k++)
		z += h[k] > 0.0f ? h[k] * j->p[OUT][k] : 0.0f;
	z = z > 30.0f ? 30.0f : z < -30.0f ? -30.0f : z;
	d = j->weight[r] * (1.0f / (1.0f + expf(-z)) - j->label[r]) * share;
	for (uint32_t k = 0; k < n; k++) {
		if (h[k] <= 0.0f)
			continue;
		s->grad[OUT][k] += h[k] * d;
		back[k] = d * j->p[OUT][k];
	}
	add(s->grad[IN_BIAS], back, n);
	s->grad[BIAS][0] += d;
	for (uint32_t i = j->first[r]; i < j->first[r + 1]; i++) {
		if (!s->keep[j->feature[i]])
			continue;
		s->grad[STRAIGHT][j->feature[i]] += d;
		if (j->feature[i] < j->h.deep)
			add(s->grad[IN] + (size_t)j->feature[i] * n, back, n);
	}
}

/* Adam over one part of the weights; large ones are pulled back, straight ones to the middle. */
static void move(const struct job *j, struct state *s, unsigned part, const float *fix)
{
	float rate = j->h.rate * (1.0f - (float)s->step / (float)s->steps) + 1e-4f;
	float decay = part == IN || part == OUT || part == STRAIGHT ? j->h.decay : 0.0f;

	for (size_t i = 0; i < j->n[part]; i++) {
		float to = part == STRAIGHT ? j->h.prior * j->middle[i] : 0.0f;
		float g = s->grad[part][i] + decay * (j->p[part][i] - to);

		s->m[part][i] = 0.9f * s->m[part][i] + 0.1f * g;
		s->v[part][i] = 0.999f * s->v[part][i] + 0.001f * g * g;
		j->p[part][i] -=
			rate * (s->m[part][i] * fix[0]) / (sqrtf(s->v[part][i] * fix[1]) + 1e-8f);
	}
}

static void batch(const struct job *j, struct state *s, uint32_t from)
{
	uint32_t n = j->h.rows - from < j->h.batch ? j->h.rows - from : j->h.batch;
	float fix[2];

	for (unsigned k = 0; k < PARTS; k++)
		memset(s->grad[k], 0, j->n[k] * sizeof(float));
	for (uint32_t k = 0; k < j->h.features; k++)
		s->keep[k] = (float)(random_bits(s) >> 8) * 0x1p-24f >= j->h.drop;
	for (uint32_t k = 0; k < n; k++)
		learn(j, s, j->row[from + k], 1.0f / (float)n);
	s->step++;
	fix[0] = 1.0f / (1.0f - powf(0.9f, (float)s->step));
	fix[1] = 1.0f / (1.0f - powf(0.999f, (float)s->step));
	for (unsigned k = 0; k < PARTS; k++)
		move(j, s, k, fix);
}

int main(void)
{
	struct job j = {0};
	struct state s = {0};

	read_job(&j);
	s.random = j.h.seed * 0x9e3779b97f4a7c15u + 1;
	s.steps = j.h.epochs * (j.h.rows / j.h.batch + 1);
	s.keep = calloc(j.h.features, sizeof(bool));
	if (!s.keep)
		return 1;
	for (unsigned k = 0; k < PARTS; k++) {
		s.grad[k] = zeros(j.n[k]);
		s.m[k] = zeros(j.n[k]);
		s.v[k] = zeros(j.n[k]);
	}
	for (uint32_t e = 0; e < j.h.epochs; e++) {
		shuffle(&j, &s);
		for (uint32_t i = 0; i < j.h.rows; i += j.h.batch)
			batch(&j, &s, i);
	}
	for (unsigned k = 0; k < PARTS; k++)
		if (fwrite(j.p[k], sizeof(float), j.n[k], stdout) != j.n[k])
			return 1;
	return 0; /* what is left goes with the process */
}
