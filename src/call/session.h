/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What earlier calls of one agent session did, in broad strokes: when, what kind, and a word such
 * as the tool's name. Kept in one small file per session in the state directory (0600), because
 * each call is a process of its own. No inputs are stored. The oldest events are forgotten.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define BAWN_SESSION_EVENTS_MAX 256
#define BAWN_SESSION_WORD_MAX   80

enum bawn_step {
	BAWN_STEP_OTHER,
	BAWN_STEP_SENSITIVE_READ, /* keys, credentials, tokens were read; word: which kind */
	BAWN_STEP_FETCH,          /* a fetch of an outside host; word: the host */
	BAWN_STEP_NET_COMMAND,    /* a shell command that names a URL or host; word: the host */
	BAWN_STEP_MCP,            /* word: the tool */
	BAWN_STEP_MCP_SEND,       /* an MCP tool that sends something away; word: the tool */
	BAWN_STEP_BUILD_WRITE,    /* a build file was written; word: its name */
	BAWN_STEP_BUILD_RUN,      /* a build was run; word: the program */
	BAWN_STEP_CONFIG_WRITE,   /* agent or git configuration was written; word: its name */
	BAWN_STEP_COUNT,
};

struct bawn_session_event {
	uint64_t time_us; /* wall clock, for the window of a rule */
	enum bawn_step step;
	char word[BAWN_SESSION_WORD_MAX];
};

struct bawn_session {
	struct bawn_session_event v[BAWN_SESSION_EVENTS_MAX]; /* oldest first */
	size_t n;
};

/*
 * `dir` is the directory for session files (NULL: $XDG_STATE_HOME/bawn/sessions or
 * ~/.local/state/bawn/sessions); made if missing, 0700. Refuses symlinks, files of others and files
 * that others can write. A session that was never seen is empty.
 */
int bawn_session_load(const char *dir, const char *agent, const char *session,
	struct bawn_session *ret, struct bawn_error *err);
/* Append events, under a lock; the file is rewritten when it has grown beyond its bound. */
int bawn_session_add(const char *dir, const char *agent, const char *session,
	const struct bawn_session_event *v, size_t n, struct bawn_error *err);
const char *bawn_step_name(enum bawn_step s);
