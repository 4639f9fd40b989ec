/* SPDX-License-Identifier: Apache-2.0 */
/* What rules say about themselves. */
#include "inspect/rules.h"

#include <string.h>

const char *bawn_rule_arg(const struct bawn_ruleset *s, const struct bawn_rule *r, const char *key)
{
	const char *p = bawn_rule_str(s, r->args);

	/* offset 0 is the empty string, so a rule without args ends here at once */
	while (*p) {
		const char *value = p + strlen(p) + 1;

		if (!strcmp(p, key))
			return value;
		p = value + strlen(value) + 1;
	}
	return NULL;
}

int bawn_rules_report(struct bawn_scan *s, const struct bawn_subject *sub, const char *detector,
	const struct bawn_ruleset *set, const struct bawn_match *m)
{
	struct bawn_finding f = {
		.detector = detector,
		.rule = bawn_rule_str(set, m->rule->id),
		.category = bawn_rule_str(set, m->rule->category),
		.level = (enum bawn_severity)m->rule->level,
		.signal = BAWN_SIGNAL_PATTERN,
		.confidence = (double)m->rule->confidence,
		.start = m->start,
		.end = m->end,
		.message = bawn_rule_str(set, m->rule->means),
	};

	return bawn_scan_report(s, sub, &f);
}
