/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Settings that hold a free name: tools.<Tool>.suspicious_threshold, scan_modes.<glob>, … */

#include "policy/context.h"
#include "policy/read/tree.h"

enum bawn_named_kind {
	BAWN_NAMED_REAL,
	BAWN_NAMED_CONFIDENCE, /* 0 to 1, higher is tighter */
	BAWN_NAMED_TEXT,       /* one line */
	BAWN_NAMED_REGEX,
	BAWN_NAMED_WORD, /* one of `words`, loosest first */
	BAWN_NAMED_BACKEND,
	BAWN_NAMED_BACKENDS, /* lists: entries separated by \n */
	BAWN_NAMED_PATHS,
	BAWN_NAMED_HOSTS, /* or true or false */
};

struct bawn_named {
	const char *pattern; /* at most one * */
	enum bawn_named_kind kind;
	const char *words; /* of BAWN_NAMED_WORD: "allow,log,constrain,block" */
	const char *def;   /* what holds if nothing is said, for the workspace layer */
	enum bawn_field_id
		base; /* the setting that holds if nothing is said (REAL, BACKEND, leaks) */
	bool adds;    /* setting it where nothing was set only adds a check */
};

/* NULL past the end. */
const struct bawn_named *bawn_named_at(size_t i);
/* The kind of a full key and where its free name lies; NULL if no pattern fits. */
const struct bawn_named *bawn_named_find(const char *key, const char **name, size_t *len);
bool bawn_named_is_list(const struct bawn_named *n, const char *value);

/* Read a value into the draft under `key`. */
int bawn_named_set(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_named *n,
	const char *key, const struct bawn_node *node);
/* Put the draft's named settings into the policy; -EPERM if one would widen. */
int bawn_named_merge(
	const struct bawn_context *c, struct bawn_policy *p, const struct bawn_draft *d);
/* Refuse named settings that could have no effect on this policy, all layers being in it. */
int bawn_named_check(const struct bawn_context *c, const struct bawn_policy *p);
