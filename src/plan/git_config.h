/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to git*.c and its tests: git's configuration format, and the parts of git.h. */

#include <stdbool.h>
#include <stddef.h>

#include "plan/git.h"

/* `section` and `key` are lower case. `value` is NULL for a key without "=". 0 or a negative errno
 * that ends the reading. */
typedef int (*git_config_fn)(
	void *ctx, const char *section, bool has_subsection, const char *key, const char *value);

/* -EBADMSG if it is not in git's format (git refuses such a file); what stands before was told. */
int git_config_parse(const char *data, size_t len, git_config_fn fn, void *ctx);

/* The target in the text of a `.git` file, as it stands there; -EBADMSG, -ENOMEM. */
int git_file_parse(struct bawn_arena *a, const char *data, size_t len, const char **ret);

#define GIT_CONFIG_MAX ((size_t)1 << 20)

struct git_repo {
	struct bawn_arena *a;
	const char *workspace;
	const char *home; /* or NULL */
	struct bawn_git *git;
	const char *plain; /* a directory without symlinks on the way, or one that does not exist;
			      or NULL */
};

/* Add to the protected paths, in clean and in canonical form, if inside what can be written. */
int git_protect(struct git_repo *g, const char *path);
/* What decides in one git directory; `worktree` is its working tree, NULL if core.worktree says. */
int git_protect_dir(
	struct git_repo *g, const char *dir, const char *worktree, struct bawn_error *err);
/* The same for all modules/ and worktrees/ below `dir`. */
int git_protect_nested(struct git_repo *g, const char *dir, struct bawn_error *err);
/* Configuration of the user and the host: who commits, and hooks in the workspace. */
int git_read_user(struct git_repo *g, struct bawn_error *err);
/* core.worktree of a git directory as a canonical path, NULL if it has none. */
int git_read_worktree(
	struct git_repo *g, const char *dir, const char **ret, struct bawn_error *err);
