/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Readers are tables: which path of the document means which setting. One walk applies a table to a
 * tree and refuses what no rule names.
 */

#include "policy/context.h"
#include "policy/named.h"
#include "policy/read/tree.h"

enum bawn_want {
	BAWN_WANT_ANY, /* as the setting's own parser says */
	BAWN_WANT_STRING,
	BAWN_WANT_INTEGER, /* digits only */
	BAWN_WANT_BOOL,
};

struct bawn_word_pair {
	const char *from, *to;
};

struct bawn_reader;
typedef int bawn_rule_fn(const struct bawn_reader *r, const struct bawn_node *n);

struct bawn_rule {
	const char *path; /* "tools.*.x"; * is any one key */
	const char *key;  /* the setting, or the named key with its own *; NULL with fn */
	enum bawn_want want;
	bool strict_words;                  /* only the words of `words` are accepted */
	const struct bawn_word_pair *words; /* other words for values, ends with NULL */
	const char *suffix;                 /* put behind the text: "m" for mebibytes */
	bawn_rule_fn *fn;                   /* reads the node itself */
	bool subtree;                       /* accept whatever is below */
};

struct bawn_reader {
	const struct bawn_context *c;
	struct bawn_draft *d;
	const struct bawn_rule *rules; /* ends with a NULL path */
	bool native;                   /* keys of fields.def and named keys are rules, too */
};

int bawn_rules_apply(const struct bawn_reader *r, const struct bawn_node *root);
/* Put one node into a setting. */
int bawn_rule_set(const struct bawn_reader *r, const struct bawn_rule *rule,
	const struct bawn_field *f, const struct bawn_node *n);
/* Where a node's value is. */
struct bawn_origin bawn_node_origin(const struct bawn_context *c, const struct bawn_node *n);

/* The readers. */
int bawn_read_native(
	const struct bawn_context *c, struct bawn_draft *d, const struct bawn_node *root);
int bawn_read_claw(
	const struct bawn_context *c, struct bawn_draft *d, const struct bawn_node *root);
/* Bytes of a file into the draft, by whichever reader its content asks for. */
int bawn_read_text(
	const struct bawn_context *c, struct bawn_draft *d, const char *text, size_t len);
