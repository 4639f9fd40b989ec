/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which existing paths below a root match deny patterns. A tree of 300,000 files costs one walk the
 * first time and a tenth of that later: the result is cached per root and pattern set in
 * $XDG_CACHE_HOME/bawn, keyed by what each directory's mtime, ctime and inode were; only
 * directories that changed are read again.
 */

#include "base/arena.h"
#include "base/error.h"

struct bawn_scan_options {
	const char *root;            /* canonical directory */
	const char *const *patterns; /* absolute patterns for bawn_glob_match, NULL-terminated */
	const char *cache_dir;       /* NULL: $XDG_CACHE_HOME/bawn or ~/.cache/bawn; "" for none */
};

struct bawn_scan_stats {
	size_t directories, files,
		reread; /* directories seen, entries known, directories read anew */
};

/*
 * Symlinks are not followed, other file systems are entered. An unreadable directory that could
 * hide a match (it is ours, or can be entered) is itself reported. A directory that matches is not
 * looked into. The matches are canonical paths in *ret, sorted. A cache directory below the root is
 * not used: the command could forge it.
 */
int bawn_scan(struct bawn_arena *a, const struct bawn_scan_options *o, struct bawn_strlist *ret,
	struct bawn_scan_stats *ret_stats, struct bawn_error *err);
