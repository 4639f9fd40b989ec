/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rule's own examples: what must match produces the rule's finding when it goes through the
 * whole detector, what must not does not.
 */
#include "harness.h"
#include "inspect/detectors.h"
#include "inspect/rules.h"

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
