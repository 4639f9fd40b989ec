/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the real git directory of a workspace is, and which files in it decide what git executes.
 * Hostile input: `.git` files, commondir, config are read as data, sizes are capped, nothing is
 * run.
 */

#include "base/arena.h"
#include "base/error.h"

struct bawn_git {
	const char *git_dir;    /* canonical real gitdir, NULL if the workspace is no repository */
	const char *common_dir; /* canonical; equals git_dir except in linked worktrees */
	bool outside; /* git_dir or common_dir lies outside the workspace and must be bound */
	/* Canonical or cleaned absolute paths, existing or not, that must not change: hooks,
	 * config, config.worktree, commondir, gitdir, core.hooksPath, include.path / includeIf
	 * targets inside the workspace or gitdir, the same for each modules/<name> and
	 * worktrees/<name>, and the
	 * `.git` file itself. */
	struct bawn_strlist protect;
	/* Directories outside the workspace that commit must write: common_dir or git_dir. */
	struct bawn_strlist writable;
	const char *user_name, *user_email; /* from ~/.gitconfig or XDG; NULL if not set */
	const char
		*refused; /* why a .git file was not followed, for a note to the user; else NULL */
};

/*
 * A `.git` file is followed only if the target points back at this workspace (worktree: its
 * `gitdir` file names <workspace>/.git; submodule: core.worktree resolves to the workspace) and
 * looks like a repository; otherwise `refused` says why and nothing outside is granted.
 */
int bawn_git_find(struct bawn_arena *a, const char *workspace, const char *home,
	struct bawn_git *ret, struct bawn_error *err);
