/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Put our hook into an agent's settings file, and take it out again, without touching the rest. */

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct bawn_hook_change {
	bool changed;
	const char *path; /* the file, symbolic links resolved */
	const char
		*backup; /* what it was before, or NULL if there was nothing or nothing changed */
};

/*
 * `command` is what the agent is to run, as in "/usr/bin/bawn hook claude-code"; entries whose
 * command ends in " hook claude-code" and names a program called bawn are taken for ours. The file
 * is replaced atomically, with its mode kept; a copy of the old one stays beside it. Nothing is
 * written when nothing would change.
 */
int bawn_hook_install(struct bawn_arena *a, const char *path, const char *command,
	struct bawn_hook_change *ret, struct bawn_error *err);
int bawn_hook_uninstall(struct bawn_arena *a, const char *path, struct bawn_hook_change *ret,
	struct bawn_error *err);
