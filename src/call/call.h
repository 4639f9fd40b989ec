/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the agent wants done: one command, where, with what. Plain data; checked by bawn_call_check.
 */

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/sha256.h"

struct bawn_call {
	const char *const *argv; /* NULL-terminated, at least one */
	const char *const *envp; /* the caller's environment; the plan picks from it */
	const char *workspace;   /* canonical absolute path */
	const char *cwd;         /* canonical, at or below the workspace */
	const char *tool;        /* "Bash", "run", …; never NULL */
	const char *agent;       /* "" if unknown */
	const char *session;     /* "" if none */
	const char *text;        /* the command as one line of shell words, for rules and people */
	char input_sha256[BAWN_HEX_LEN +
			  1]; /* of argv with its NULs: the audit keeps this, not argv */
	char run_id[33];      /* random, hex */
};

struct bawn_call_input {
	const char *const *argv;
	const char *const *envp;
	const char *workspace;              /* NULL for the current directory */
	const char *cwd;                    /* NULL for the workspace; relative to it */
	const char *tool, *agent, *session; /* NULL is fine */
};

/*
 * Bytes to a typed call: resolves the workspace and the working directory (which must exist, be
 * directories, and cwd must lie in the workspace), checks argv, makes the run id.
 */
int bawn_call_make(struct bawn_arena *a, const struct bawn_call_input *in,
	const struct bawn_call **ret, struct bawn_error *err);
