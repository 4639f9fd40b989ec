/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect/secret: the functions that rules name with `check`. */

#include "inspect/rules.h"
#include "inspect/secret/value.h"

/* A match under examination. A check may move start and end and change the confidence. */
struct candidate {
	const char *text;
	size_t len;
	const struct bawn_rule *rule;
	size_t whole_start, whole_end;
	size_t start, end;
	double confidence;
};

/* False: it is no secret. An unknown name is a mistake in the rules and never agrees. */
bool check_named(const char *name, struct candidate *c);

/* assigned.c: the value that stands behind a match of a name and an assignment. */
bool check_assigned(struct candidate *c);

static inline struct value candidate_value(const struct candidate *c)
{
	return (struct value){c->text + c->start, c->end - c->start};
}
/* The byte before the value and the one behind it; a space where the text ends. */
static inline char candidate_prev(const struct candidate *c)
{
	if (!c->start)
		return ' ';
	return c->text[c->start - 1];
}
static inline char candidate_next(const struct candidate *c)
{
	if (c->end >= c->len)
		return ' ';
	return c->text[c->end];
}
/* The text of the same line before `at`, at most `max` bytes. */
struct value candidate_before(const struct candidate *c, size_t at, size_t max);
/* A match stands free: it is no part of a longer word or blob, on the right, and unless
 * `right_only`, on the left. */
bool candidate_stands_free(const struct candidate *c, bool right_only);
