/* SPDX-License-Identifier: Apache-2.0 */
/* What the policy says about leaks: secrets.leak_detection.patterns, .action and .actions. */
#include <string.h>

#include "base/path.h"
#include "inspect/rules.h"
#include "inspect/secret/secret.h"

#define ACTIONS    "secrets.leak_detection.actions."
#define PREFIX     "secret."
#define REGISTERED PREFIX "registered"

static enum bawn_leak_action action_of(const char *word)
{
	if (!strcmp(word, "block"))
		return BAWN_LEAK_BLOCK;
	return !strcmp(word, "warn") ? BAWN_LEAK_WARN : BAWN_LEAK_REDACT;
}

/* A rule is named with or without "secret."; * is a wildcard. */
static bool names(const char *pattern, const char *rule)
{
	if (bawn_glob_match(pattern, rule))
		return true;
	return !strncmp(rule, PREFIX, sizeof(PREFIX) - 1) &&
	       bawn_glob_match(pattern, rule + sizeof(PREFIX) - 1);
}

size_t bawn_secret_patterns(void)
{
	const struct bawn_ruleset *set = &bawn_rules_secret;
	size_t n = 0;

	/* several patterns of one rule stand together */
	for (uint32_t i = 0; i < set->n; i++)
		n += !i || set->rules[i].id != set->rules[i - 1].id;
	return n;
}

enum bawn_leak_action bawn_leak_action(const struct bawn_policy *p, const struct bawn_finding *f)
{
	enum bawn_leak_action best = BAWN_LEAK_WARN;
	bool named = false;

	/* a secret of the vault is no guess: a warning would come too late */
	if (!strncmp(f->rule, REGISTERED, sizeof(REGISTERED) - 1))
		return p && p->sec_action == BAWN_LEAK_BLOCK ? BAWN_LEAK_BLOCK : BAWN_LEAK_REDACT;
	/* what is not even suspicious is reported and no more */
	if (f->confidence < (p ? p->thr_suspicious : 0.30))
		return BAWN_LEAK_WARN;
	for (size_t i = 0; p && i < p->named.n; i++) {
		const struct bawn_pair *x = &p->named.v[i];
		enum bawn_leak_action a;

		if (strncmp(x->key, ACTIONS, sizeof(ACTIONS) - 1) != 0 ||
			!names(x->key + sizeof(ACTIONS) - 1, f->rule))
			continue;
		a = action_of(x->value);
		best = named && best > a ? best : a;
		named = true;
	}
	if (named)
		return best;
	return p ? p->sec_action : BAWN_LEAK_REDACT;
}

enum bawn_leak_action bawn_leak_action_unseen(const struct bawn_policy *p)
{
	enum bawn_leak_action most = p ? p->sec_action : BAWN_LEAK_REDACT;

	for (size_t i = 0; p && i < p->named.n; i++) {
		const struct bawn_pair *x = &p->named.v[i];

		if (!strncmp(x->key, ACTIONS, sizeof(ACTIONS) - 1) && action_of(x->value) > most)
			most = action_of(x->value);
	}
	return most;
}
