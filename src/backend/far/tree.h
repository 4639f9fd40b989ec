/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is in the writable trees of a plan, as a list in which parents come before their children,
 * found again by path. The host remembers in one what it sent, the inside what it was given.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/stat.h>

#include "backend/far/frame.h"
#include "base/arena.h"

#define BAWN_TREE_NODES 4000000u /* more than this in all is refused */

struct bawn_node {
	enum bawn_entry_kind kind; /* FILE, DIR, LINK or, if asked for, OTHER; 0: gone */
	uint16_t root;
	bool seen; /* for the user of the tree */
	uint32_t mode;
	uint32_t want; /* the mode that it is to have in the end */
	uint64_t size;
	int64_t mtime, ctime;
	dev_t dev;
	ino_t ino;
	uint32_t hash;
	const char *path; /* below the root */
};

struct bawn_tree {
	const struct bawn_plan *plan;
	bool host;   /* paths are the host's (src), not the inside's (dst) */
	bool others; /* list FIFOs, sockets and devices as well */
	int *roots;  /* descriptors; -1: not there or no directory */
	size_t n_roots;
	struct bawn_arena *arena;
	struct bawn_node *v;
	size_t n, cap;
	uint32_t *slots; /* index + 1 into v */
	size_t n_slots;
};

/* Open the roots. Those that are not there are left out, if the plan says that this is fine or if
 * we are inside, where they may be yet to come. */
int bawn_tree_init(
	struct bawn_tree *t, const struct bawn_plan *plan, bool host, struct bawn_error *err);
/* An empty tree with the same roots: opening them takes a while where another process does it. */
int bawn_tree_again(struct bawn_tree *t, const struct bawn_tree *as, struct bawn_error *err);
void bawn_tree_done(struct bawn_tree *t);

/* NULL when memory is out or there are too many. Only hash and path are set. The pointer is good
 * until the next one is added. */
struct bawn_node *bawn_tree_add(struct bawn_tree *t, uint16_t root, const char *path, size_t len);
/* NULL if it is not there. */
struct bawn_node *bawn_tree_find(
	const struct bawn_tree *t, uint16_t root, const char *path, size_t len);

/* Note what was found out about it. False if it is neither file, directory nor symbolic link. */
bool bawn_node_set(struct bawn_node *n, const struct stat *st);
/* True if `st` is what the node says, content and all, as far as that can be told. */
bool bawn_node_same(const struct bawn_node *n, const struct stat *st);
int64_t bawn_stat_ns(const struct timespec *ts);

/*
 * Open something below root `root` without following any symbolic link or leaving the root.
 * "" is the root. A descriptor or a negative errno.
 */
int bawn_tree_open(const struct bawn_tree *t, uint16_t root, const char *path, uint64_t flags);
/* The same for the directory that `path` is in; *ret_name is the last component. -EINVAL for "". */
int bawn_tree_parent(
	const struct bawn_tree *t, uint16_t root, const char *path, const char **ret_name);
/* The absolute path, for people and for rules. False if it does not fit. */
bool bawn_tree_path(
	const struct bawn_tree *t, uint16_t root, const char *path, char *dst, size_t size);

/* Inside only, when nothing else runs there: give ourselves what its mode denies. */
int bawn_tree_unlock(const struct bawn_tree *t, const struct bawn_node *n);

/* Add the roots that are there, then for each directory node its children: call with 0, 1, 2, …
 * while below t->n. `wanted` decides about each name (absolute path inside). */
typedef bool bawn_tree_wanted_fn(const struct bawn_plan *plan, uint16_t root, const char *inside);
int bawn_tree_begin(struct bawn_tree *t, struct bawn_error *err);
int bawn_tree_expand(
	struct bawn_tree *t, size_t i, bawn_tree_wanted_fn *wanted, struct bawn_error *err);
