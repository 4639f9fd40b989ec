/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict/act.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"allow", "log", "constrain", "block"};

const char *bawn_action_name(enum bawn_action a)
{
	return (size_t)a < sizeof(names) / sizeof(names[0]) ? names[a] : "unknown";
}

static enum bawn_action action_of(const struct bawn_policy *p, enum bawn_verdict_kind kind)
{
	static const enum bawn_action defaults[] = {
		[BAWN_SAFE] = BAWN_ACTION_ALLOW,
		[BAWN_SUSPICIOUS] = BAWN_ACTION_CONSTRAIN,
		[BAWN_MALICIOUS] = BAWN_ACTION_BLOCK,
	};
	char key[32];
	const char *text;

	(void)snprintf(key, sizeof(key), "actions.%s", bawn_verdict_name(kind));
	text = bawn_policy_named(p, key);
	for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i]))
			return (enum bawn_action)i;
	return defaults[kind];
}

void bawn_decide(
	const struct bawn_policy *p, const struct bawn_verdict *v, struct bawn_decision *ret)
{
	*ret = (struct bawn_decision){
		.would = v->blocked ? BAWN_ACTION_BLOCK : action_of(p, v->kind),
		.dry_run = !p->enf_enabled || p->enf_dry_run,
	};
}

enum bawn_action bawn_decision_does(const struct bawn_decision *d)
{
	return d->dry_run ? BAWN_ACTION_ALLOW : d->would;
}

const char *bawn_decision_name(const struct bawn_decision *d)
{
	if (d->would == BAWN_ACTION_ALLOW || d->would == BAWN_ACTION_LOG)
		return "ALLOW";
	if (d->dry_run)
		return "DRY_RUN";
	return d->would == BAWN_ACTION_BLOCK ? "BLOCK" : "CONSTRAIN";
}
