/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one load carries around, and a draft: the settings that one layer asks for, before they are
 * compared with what stands.
 */

#include "base/arena.h"
#include "base/error.h"
#include "policy/model.h"

#define BAWN_LIST_MAX 4096

struct bawn_context {
	struct bawn_arena *a;
	struct bawn_error *err; /* never NULL */
	const char *workspace;  /* canonical */
	const char *home;       /* canonical, or NULL */
	enum bawn_layer layer;  /* being read */
	const char *file;       /* being read; the flag for a flag */
	unsigned source;        /* number of the file being read, 0 for flags */
};

/* How a setting came into a draft. */
struct bawn_mark {
	bool set;
	bool inferred;   /* nobody wrote it: it follows from another setting */
	bool from_file;  /* at least one file of the layer gave it, not only flags */
	unsigned source; /* the last file that gave it */
	const char *raw; /* as written, for messages; NULL for lists and maps */
	struct bawn_origin from;
};

struct bawn_draft {
	struct bawn_policy v;
	struct bawn_mark mark[BAWN_FIELD_COUNT];
};

/* Put "file:line:column: " (or "file: " for line 0) before the message; returns `neg_errno`. */
int bawn_at(
	struct bawn_error *err, const char *file, unsigned line, unsigned column, int neg_errno);
/* Hostile text made fit for a message: escaped and shortened. Never NULL. */
const char *bawn_quote(struct bawn_arena *a, const char *text);

/* -EPERM: "'KEY: VALUE' would widen what FILE:L:C allows (ABOVE)". */
int bawn_widens(const struct bawn_context *c, const struct bawn_origin *from, const char *key,
	const char *value, const struct bawn_origin *above_from, const char *above);

/* Raise a policy error at an origin; yields `neg_errno`. */
#define bawn_bad(c, from, neg_errno, ...)                                                       \
	({                                                                                      \
		int bad_errno = (neg_errno);                                                    \
		(void)bawn_fail((c)->err, BAWN_ERR_POLICY, bad_errno, __VA_ARGS__);             \
		(void)bawn_at((c)->err, (from)->file, (from)->line, (from)->column, bad_errno); \
		bad_errno;                                                                      \
	})

#define bawn_oom(c) \
	((void)bawn_fail((c)->err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory"), -ENOMEM)
