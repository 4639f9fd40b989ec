/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts behind scan.h: the tree of directories as one flat array, the compiled patterns, and
 * the file that keeps the tree between runs. Private to scan*.c and its tests.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/sha256.h"

#define SCAN_NONE      UINT32_MAX
#define SCAN_DEPTH_MAX 4096
#define SCAN_DIRS_MAX  ((size_t)4 << 20)
#define SCAN_NAMES_MAX ((size_t)512 << 20)
#define SCAN_HITS_MAX  ((size_t)1 << 18)

enum {
	SCAN_VOLATILE = 1, /* must be read again next time: racy, unreadable, unknown file system */
};

/* One directory. Breadth first: the children of a directory stand together, in its order. */
struct scan_node {
	uint64_t dev, ino;
	int64_t mtime, ctime;       /* ns */
	uint32_t parent;            /* SCAN_NONE for the tops */
	uint32_t name;              /* offset in names */
	uint32_t child, n_children; /* first one and how many */
	uint32_t hit, n_hits;
	uint32_t entries;
	uint16_t name_len;
	uint16_t depth;
	uint32_t flags;
	uint32_t old; /* the same directory in the tree of the last run, or SCAN_NONE */
};

/* A matching entry of a directory. No name (length 0): the directory itself. */
struct scan_hit {
	uint32_t name;
	uint32_t len;
};

struct scan_tree {
	struct scan_node *nodes;
	struct scan_hit *hits;
	char *names;
	size_t n_nodes, n_hits, n_names, n_tops;
	size_t cap_nodes, cap_hits, cap_names;
	void *memory; /* what a tree from the cache points into; else NULL */
};

void scan_tree_done(struct scan_tree *t);
#define _cleanup_scan_tree_ _cleanup_(scan_tree_done)
/* All -ENOMEM or -E2BIG on failure. */
int scan_tree_add_name(struct scan_tree *t, const char *s, size_t len, uint32_t *ret);
int scan_tree_add_node(struct scan_tree *t, uint32_t parent, const char *name, size_t len);
int scan_tree_add_hit(struct scan_tree *t, const char *name, size_t len);

/* A path in memory that is built again and again. */
struct scan_path {
	char *s;
	size_t len, cap;
	size_t rel; /* where the part below the root begins */
};

void scan_path_done(struct scan_path *p);
/* root + "/" + the path of node `i`; 0 or -ENOMEM. */
int scan_path_set(struct scan_path *p, const char *root, const struct scan_tree *t, uint32_t i);
int scan_path_add(struct scan_path *p, const char *name, size_t len);

struct scan_pattern {
	const char *text; /* the whole pattern */
	const char *last; /* what the last component must look like; NULL: anything */
	const char *word; /* the literal part of `last` */
	size_t word_len;
	enum {
		SCAN_EXACT,
		SCAN_SUFFIX,
		SCAN_PREFIX,
		SCAN_GLOB
	} kind;
};

struct scan_matcher {
	struct scan_pattern *v;
	size_t n, cap;
	bool any;                    /* some pattern cannot be judged by first or last byte */
	bool first[256], last[256];  /* bytes with which a name of interest begins or ends */
	struct bawn_strlist tops;    /* where to begin, relative to the root; "" is the root */
	struct bawn_strlist literal; /* patterns that are plain paths */
};

int scan_matcher_make(struct bawn_arena *a, const char *root, const char *const *patterns,
	struct scan_matcher *ret);
/* Whether some pattern may match a path with this last component. */
bool scan_matcher_name(const struct scan_matcher *m, const char *name, size_t len);
bool scan_matcher_path(const struct scan_matcher *m, const char *path, const char *name);

/* What the walk needs and gives. */
struct scan_walk {
	const char *root;
	int root_fd;
	const struct scan_matcher *matcher;
	const struct scan_tree *old; /* empty if there is none */
	const uint8_t *state;        /* per old node: SCAN_SAME or not */
	struct scan_tree tree;
	struct scan_path path;
	char *entries;     /* for getdents64 */
	uint64_t dev;      /* the file system asked last */
	bool dev_ok;       /* and whether its directories have times to rely on */
	int64_t racy_from; /* what changed since then may change again unseen */
	size_t reread, reread_stable, lookups;
};

enum {
	SCAN_UNKNOWN,
	SCAN_SAME,
	SCAN_CHANGED
};

int scan_walk(struct scan_walk *w, struct bawn_error *err);
/* Compare each directory of `t` with what is there now. `state` has t->n_nodes bytes, zeroed. */
int scan_check(const struct scan_tree *t, const char *root, int root_fd, uint8_t *state);
/* Open the directory at `p` below the root without following any symlink; `flags` for open(2). */
int scan_open(int root_fd, const struct scan_path *p, int flags);

/* Take over `data` (malloc) as a tree; -EBADMSG if it is not one that scan_cache_store wrote. */
int scan_cache_parse(void *data, size_t len, const char *key, struct scan_tree *ret);
int scan_cache_load(int dir_fd, const char *name, const char *key, struct scan_tree *ret);
int scan_cache_store(int dir_fd, const char *name, const char *key, const struct scan_tree *t);
/* The descriptor of the cache directory (made if need be) or a negative errno. */
int scan_cache_open(struct bawn_arena *a, const char *dir, const char *root);
uint64_t scan_cache_sum(const void *data, size_t len);
