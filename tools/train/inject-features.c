/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject-features < TEXTS.jsonl > FEATURES.txt
 *
 * For the trainer: the features that the detector itself computes, so that nothing is computed
 * twice in two ways. Each input line is {"id", "text"}; the output has a line "= ID" per text,
 * a line of feature indexes per sentence that would be scored (behind its score, how much is meant,
 * what rules add, whether one is sure, and where it stands), and with -v
 * the sentences and the rules that matched as well. With -g there is a line for every sentence
 * instead, with what the gate sees: classes of its words and of its neighbours', whether it starts
 * like an order, how many words it has; whether it comes to the gate at all, whether it
 * needs less there, whether rules matched, its score, and the hashes of its words if it comes
 * there.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/inject/inject.h"
#include "inspect/rules.h"
#include "inspect/scan.h"

struct mode {
	bool verbose, gate;
};

static int sentence(
	void *data, const struct inject_part *p, size_t i, const struct inject_features *f)
{
	const struct inject_sentence *s = &p->s.v[i];
	const struct mode *m = data;

	size_t start, end;

	if (m->gate)
		return 0;
	inject_part_span(p, s->start, s->end, &start, &end);
	(void)printf("%.3f %.3f %.3f %d %zu %zu", (double)s->score, inject_meant(&p->s, i),
		inject_rules_score(&p->s, i), s->strong, start, end);
	for (size_t k = 0; k < f->n; k++)
		(void)printf(" %u", (unsigned)f->v[k]);
	if (m->verbose) {
		(void)printf(" # ");
		for (size_t k = s->start; k < s->end && k < s->start + 300u; k++)
			(void)putchar(p->t.text[k] == '\n' ? ' ' : p->t.text[k]);
	}
	(void)putchar('\n');
	return 0;
}

/* What the gate sees of a sentence, and what becomes of it. */
static void gate(const struct inject_part *p, size_t i)
{
	const struct inject_sentence *s = &p->s.v[i];
	bool comes = inject_trigger(s) && !s->foreign;
	struct inject_word w[INJECT_WORDS_MAX];
	size_t n = comes ? inject_words(p->t.text, s, w) : 0;

	(void)printf("%llx %llx %d %d %d %d %d %.3f", (unsigned long long)s->classes,
		(unsigned long long)inject_near(&p->s, i), s->command, s->n_words, comes,
		inject_outright(s), s->hits != 0, (double)s->score);
	for (size_t k = 0; k < n; k++)
		(void)printf(" %x", w[k].hash);
	(void)putchar('\n');
}

static int part(void *data, const struct inject_part *p, const struct inject_found *found, size_t n)
{
	const struct mode *m = data;

	for (size_t i = 0; m->gate && i < p->s.n; i++)
		gate(p, i);
	for (size_t i = 0; m->verbose && i < n; i++)
		(void)printf("! %s %zu # %.*s\n",
			bawn_rule_str(&bawn_rules_inject, found[i].rule->id), found[i].sentence,
			(int)(found[i].end - found[i].start), p->t.text + found[i].start);
	return 0;
}

static int one(const char *line, struct mode *m)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	json_t *o = json_loads(line, JSON_ALLOW_NUL, NULL);
	json_t *text = json_object_get(o, "text");
	struct bawn_findings found = {0};
	struct bawn_scan scan = {.a = a, .out = &found, .budget = UINT64_MAX};
	struct inject_visitor v = {.sentence = sentence, .part = part, .data = m, .all = true};
	struct bawn_error err = {0};
	struct bawn_subject sub = {.kind = BAWN_KIND_TEXT, .last = true};
	int r = -EINVAL;

	if (a && json_is_string(text)) {
		sub.text = json_string_value(text);
		sub.len = json_string_length(text);
		(void)printf("= %s\n", json_string_value(json_object_get(o, "id")));
		r = inject_run(&scan, &sub, &v, &err);
	}
	json_decref(o);
	return r;
}

int main(int argc, char *argv[])
{
	struct mode m = {
		.verbose = argc > 1 && !strcmp(argv[1], "-v"),
		.gate = argc > 1 && !strcmp(argv[1], "-g"),
	};
	char *line = NULL;
	size_t cap = 0;
	int r = 0;

	(void)argv;
	while (!r && getline(&line, &cap, stdin) > 0)
		r = one(line, &m);
	free(line);
	return r < 0;
}
