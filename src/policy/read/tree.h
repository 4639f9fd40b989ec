/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A document of any front format as nodes that know their place. Everything lives in the arena.
 * Readers of settings walk this and never see the format.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

#define BAWN_TREE_BYTES ((size_t)1 << 20)
#define BAWN_TREE_DEPTH 32
#define BAWN_TREE_NODES 10000

enum bawn_node_kind {
	BAWN_NODE_NULL, /* nothing was written */
	BAWN_NODE_SCALAR,
	BAWN_NODE_LIST,
	BAWN_NODE_MAP,
};

struct bawn_node {
	enum bawn_node_kind kind;
	bool quoted;           /* a scalar that can only be a string */
	unsigned line, column; /* of the value, from 1 */
	const char *key;       /* below a map, else NULL */
	unsigned key_line, key_column;
	const char *text; /* of a scalar; no NUL and no control character but \t and \n */
	struct bawn_node *first, *last, *next, *parent;
	size_t n; /* children */
};

/* Text to a tree. An empty document is a BAWN_NODE_NULL. `file` is for messages. */
int bawn_tree_yaml(struct bawn_arena *a, const char *file, const char *text, size_t len,
	struct bawn_node **ret, struct bawn_error *err);

/* The child of a map by key; NULL if there is none. */
const struct bawn_node *bawn_node_get(const struct bawn_node *map, const char *key);
/* The next node in document order within `root`, NULL at the end; `deeper` false skips children. */
const struct bawn_node *bawn_node_next(
	const struct bawn_node *root, const struct bawn_node *n, bool deeper);
