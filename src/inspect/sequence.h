/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rules over several calls of one session: each call alone may be fine, together they are not.
 * Pure: the session's past and this call's steps in, findings out. Rules are one table in the .c
 * file; the policy turns each to `advisory` or `enforce` (sequences.<ID>.mode).
 */

#include "call/session.h"
#include "inspect/inspect.h"

/* What one tool call is, as far as sequences care. */
struct bawn_tool_use {
	const char *tool;    /* "Bash", "Read", "mcp__mail__send", …; never NULL */
	const char *command; /* shell text, or NULL */
	const char *path;    /* file read or written, or NULL */
	const char *url;     /* fetched, or NULL */
	bool writes;         /* `path` is written */
};

#define BAWN_STEPS_PER_CALL 8

/* The steps of this call; at most BAWN_STEPS_PER_CALL. */
size_t bawn_sequence_steps(const struct bawn_tool_use *use, const struct bawn_policy *p,
	uint64_t now_us, struct bawn_session_event *ret);
/* Findings (signal sequence) that `now` makes together with the past. */
int bawn_sequence_check(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_session *past, const struct bawn_session_event *now, size_t n_now,
	struct bawn_findings *out, struct bawn_error *err);
/* Is this path one that holds credentials (keys, tokens, .env, …)? What kind, or NULL. */
const char *bawn_sensitive_path(const char *path);
