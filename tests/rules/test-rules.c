/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rule's own examples: what must match produces the rule's finding when it goes through the
 * whole detector, what must not does not.
 */
#include "harness.h"
#include "inspect/detectors.h"
#include "inspect/rules.h"
#include "inspect/scan.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

static bool found(const struct bawn_findings *f, const char *rule)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].rule, rule))
			return true;
	return false;
}

static bool right(const struct bawn_rule_example *e, enum bawn_kind kind, unsigned detect)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_subject sub = {
		.kind = kind,
		.detect = detect,
		.text = e->text,
		.len = e->len,
		.last = true,
	};

	if (!a || bawn_lang_from_name(e->lang, &sub.lang) < 0) {
		printf("# %s:%u: no language '%s'\n", e->file, e->line, e->lang);
		return false;
	}
	if (kind == BAWN_KIND_COMMAND)
		sub.lang = BAWN_LANG_BASH;
	if (kind == BAWN_KIND_CODE && sub.lang == BAWN_LANG_AUTO)
		sub.lang = bawn_lang_guess(NULL, e->text, e->len);
	if (bawn_scan_subject(a, NULL, &sub, &f, &err) < 0) {
		printf("# %s:%u: %s\n", e->file, e->line, err.msg);
		return false;
	}
	if (found(&f, e->id) == (e->match != 0))
		return true;
	printf("# rules/%s:%u: '%s' %s: %s\n", e->file, e->line, e->id,
		e->match ? "does not find" : "finds", e->text);
	for (size_t i = 0; i < f.n; i++)
		printf("#   found '%s'\n", f.v[i].rule);
	return false;
}

static void run(const struct bawn_rule_example *v, enum bawn_kind kind, unsigned detect)
{
	const struct bawn_detector *d;
	size_t bad = 0, n = 0;
	bool there = false;

	for (size_t i = 0; (d = bawn_detector_at(i)); i++)
		there |= (d->detect & detect) && (d->kinds & (1u << kind)) &&
			 d != &bawn_detector_shell_rules;
	if (!there)
		SKIP("no detector uses this set");
	for (; v[n].id; n++)
		bad += !right(&v[n], kind, detect);
	if (bad)
		FAIL("%zu of %zu examples", bad, n);
	ASSERT_TRUE(n > 0);
}

/* Hyperscan and the windows around its hits miss nothing that PCRE2 alone would find. */
struct seen {
	const struct bawn_ruleset *set;
	bool *rules;
};

static int note(void *data, const struct bawn_match *m)
{
	struct seen *x = data;

	x->rules[m->rule - x->set->rules] = true;
	return 0;
}

static void ask_matcher(struct seen *x, const struct bawn_rule_example *e)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_scan s = {.a = a, .out = &f, .budget = UINT64_MAX};

	memset(x->rules, 0, x->set->n * sizeof(*x->rules));
	if (!a || bawn_rules_match(&s, x->set, e->text, e->len, note, x, &err) < 0)
		FAIL("%s", err.msg);
}

static void agree(const struct bawn_ruleset *set, const struct bawn_rule_example *v)
{
	struct seen x = {.set = set, .rules = calloc(set->n, sizeof(bool))};
	struct compiled {
		pcre2_code *code;
	} *codes = calloc(set->n, sizeof(*codes));
	pcre2_match_data *data = pcre2_match_data_create(100, NULL);
	size_t bad = 0;

	ASSERT_TRUE(x.rules && codes && data);
	for (uint32_t i = 0; i < set->n; i++) {
		const struct bawn_rule *r = &set->rules[i];
		PCRE2_SIZE at = 0;
		int number = 0;

		codes[i].code = pcre2_compile((PCRE2_SPTR)bawn_rule_str(set, r->pattern),
			PCRE2_ZERO_TERMINATED, r->caseless ? PCRE2_CASELESS : 0, &number, &at,
			NULL);
		ASSERT_TRUE(codes[i].code);
	}
	for (; v->id; v++) {
		ask_matcher(&x, v);
		for (uint32_t i = 0; i < set->n; i++) {
			int rc = pcre2_match(
				codes[i].code, (PCRE2_SPTR)v->text, v->len, 0, 0, data, NULL);

			if ((rc > 0) == x.rules[i])
				continue;
			printf("# rules/%s:%u: '%s' is %s by the matcher alone\n", v->file, v->line,
				bawn_rule_str(set, set->rules[i].id),
				x.rules[i] ? "found" : "not found");
			bad++;
		}
	}
	for (uint32_t i = 0; i < set->n; i++)
		pcre2_code_free(codes[i].code);
	pcre2_match_data_free(data);
	free(codes);
	free(x.rules);
	ASSERT_EQ(bad, 0);
}

TEST(the_matcher_agrees_with_pcre)
{
	agree(&bawn_rules_command, bawn_examples_command);
	agree(&bawn_rules_code, bawn_examples_code);
	agree(&bawn_rules_inject, bawn_examples_inject);
	agree(&bawn_rules_secret, bawn_examples_secret);
}

TEST(command_rules)
{
	run(bawn_examples_command, BAWN_KIND_COMMAND, BAWN_DETECT_COMMAND);
}

TEST(code_rules)
{
	run(bawn_examples_code, BAWN_KIND_CODE, BAWN_DETECT_CODE);
}

TEST(injection_rules)
{
	run(bawn_examples_inject, BAWN_KIND_TEXT, BAWN_DETECT_INJECTION);
}

TEST(secret_rules)
{
	run(bawn_examples_secret, BAWN_KIND_TEXT, BAWN_DETECT_SECRETS);
}
