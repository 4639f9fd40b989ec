/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Built-in rules: YAML under rules/, compiled while building (tools/compile-rules.c) into a
 * hyperscan database and a table without pointers, so that they cost nothing at start. A set is one
 * file group: rules/SET/NAME.yaml → set SET (command, code, inject, secret). Each file is a list of
 *
 *   - id: secret.github-pat            # SET.word
 *     category: secret
 *     level: critical                  # none low medium high critical
 *     confidence: 0.95
 *     means: "GitHub personal access token"      # goes into messages
 *     pattern: '\bghp_[0-9A-Za-z]{36}\b'         # PCRE; or patterns: [ … ], each a string or
 *                                      # {pattern: …, needs: …}
 *     scan: '\bghp_'                   # optional, with one pattern: see below
 *     caseless: true                   # optional, default false
 *     group: 1                         # optional: the capture that is the span (0)
 *     check: crc-github                # optional: a function of the detector that must agree
 *     args: {entropy: "3.5"}           # optional, strings, for check
 *     match: [ … ]                     # at least one; each must produce this rule's finding
 *     no-match: [ … ]                  # at least one; must not produce it
 *
 * `scan` is what hyperscan looks for in the pattern's place: every match of the pattern has to
 * start with a match of it. A pattern that ends in a long or open repetition is slow to look for
 * and has its matches confirmed over all bytes that it might span; its beginning is not and has
 * not. Patterns of the form '^program word.*rest' get theirs from the compiler, where PCRE2 is
 * quick about the rest.
 *
 * `needs` is the same for something that every match has in it, wherever: where a pattern begins
 * with usual words and ends with rare ones, hyperscan looks for the rare ones. Patterns of the form
 * '(?m)^verb [^\n]*rest' and '(?m)^verb (?:name|name)rest' get theirs from the compiler.
 *
 * An example is a string, or {python: string} where the language cannot be guessed from it.
 * Patterns see bytes: no \x{200b}, write the UTF-8 bytes. They must not match the empty string. A
 * match longer than BAWN_RULE_WIDTH_MAX may be missed.
 *
 * The build fails on a rule that lacks a part, has a duplicate id, or a pattern that hyperscan
 * refuses (then HS_FLAG_PREFILTER is tried) or PCRE2 refuses. A test runs every rule's own examples
 * through the whole detector.
 */

#include <stddef.h>
#include <stdint.h>

#include "inspect/inspect.h"

#define BAWN_RULE_WIDTH_MAX 8192

struct bawn_rule {
	uint32_t id, category, means, pattern, check,
		args; /* offsets into the set's strings; args: key\0value\0…\0 */
	uint32_t line;
	uint32_t width; /* bytes that hyperscan's match can have, at most BAWN_RULE_WIDTH_MAX */
	float confidence;
	uint8_t level;
	uint8_t group;
	uint8_t caseless;
	uint8_t inner; /* hyperscan looks for what it needs: BAWN_RULE_* */
};

#define BAWN_RULE_NEEDS 1 /* somewhere in it */
#define BAWN_RULE_LINE  2 /* in the line that it begins with */

struct bawn_ruleset {
	const char *name;
	const char *strings;
	const struct bawn_rule
		*rules; /* several patterns of one rule are several entries with one id */
	uint32_t n;
	const unsigned char *db; /* hyperscan database, block mode, as it lies in memory */
	size_t db_len;
	const unsigned char *head; /* as much of it as tells how much scratch space it needs */
};

extern const struct bawn_ruleset bawn_rules_command, bawn_rules_code, bawn_rules_inject,
	bawn_rules_secret;

static inline const char *bawn_rule_str(const struct bawn_ruleset *s, uint32_t at)
{
	return s->strings + at;
}
const char *bawn_rule_arg(const struct bawn_ruleset *s, const struct bawn_rule *r,
	const char *key); /* NULL if absent */

/*
 * Call `hit` for every match of the set in text, in the order of their ends, exact (confirmed by
 * PCRE2 with a match limit, so start and the rule's group are right). Matches of one rule do not
 * overlap. `hit` may start another search. A negative return of hit ends the search and is
 * returned. Reaching the match limit counts as a match of what was looked at.
 */
struct bawn_match {
	const struct bawn_rule *rule;
	size_t start, end;             /* of the rule's group */
	size_t whole_start, whole_end; /* of the whole match */
	size_t found;                  /* where it was clear that it is one */
};
int bawn_rules_match(struct bawn_scan *s, const struct bawn_ruleset *set, const char *text,
	size_t len, int (*hit)(void *data, const struct bawn_match *m), void *data,
	struct bawn_error *err);
/* Report a match as it is: id, category, level, confidence and meaning of the rule. */
int bawn_rules_report(struct bawn_scan *s, const struct bawn_subject *sub, const char *detector,
	const struct bawn_ruleset *set, const struct bawn_match *m);

/* A rule's own example, in a file that only a test links. The last one has no id. */
struct bawn_rule_example {
	const char *id, *lang, *file;
	uint32_t line;
	int match; /* or it must not */
	uint32_t len;
	const char *text;
};
extern const struct bawn_rule_example bawn_examples_command[], bawn_examples_code[],
	bawn_examples_inject[], bawn_examples_secret[];
