/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Agent hooks: the agent hands us each tool call before and after it happens, as JSON, and acts on
 * the answer. An agent's own words are turned into a struct bawn_tool_call by its file (claude.c);
 * what follows is the same for all.
 */

#include "inspect/sequence.h"
#include "pipeline/vet.h"

enum bawn_hook_when {
	BAWN_HOOK_BEFORE, /* the call has not happened yet: it can be stopped or rewritten */
	BAWN_HOOK_AFTER,  /* its output is there: the agent can be warned */
	BAWN_HOOK_OTHER,  /* an event that is no tool call */
};

#define BAWN_HOOK_SUBJECTS_MAX 16

/* One tool call, whatever the agent. Strings live in the arena. */
struct bawn_tool_call {
	enum bawn_hook_when when;
	const char *agent, *session, *cwd;
	struct bawn_tool_use use;
	struct bawn_subject subjects[BAWN_HOOK_SUBJECTS_MAX];
	size_t n_subjects;
	struct bawn_strlist paths; /* further ones, of tools that nobody knows */
	bool prompts;              /* the agent asks its user before it acts */
};

/* What is said back. `out` and `say` are whole texts for standard output and error. */
struct bawn_hook_answer {
	int status; /* 0 lets through, 2 blocks */
	const char *out, *say;
};

/* An agent's dialect. */
struct bawn_hook_agent {
	const char *name;
	/* Understand a payload; -EINVAL with err when it is not what the agent documents. */
	int (*parse)(struct bawn_arena *a, const char *payload, size_t len,
		struct bawn_tool_call *ret, struct bawn_error *err);
	/* Standard output for "run this instead": the payload's input with another command. */
	const char *(*rewrite)(struct bawn_arena *a, const char *payload, size_t len,
		const struct bawn_tool_call *c, const char *command, const char *reason);
	/* Standard output for "ask the user first" (before) or "tell the model" (after). */
	const char *(*caution)(
		struct bawn_arena *a, const struct bawn_tool_call *c, const char *reason);
};

const struct bawn_hook_agent *bawn_hook_agent_find(const char *name);
const struct bawn_hook_agent *bawn_hook_agent_at(size_t i); /* NULL past the end */

struct bawn_hook_options {
	struct bawn_policy_source policy; /* .workspace is filled in */
	const char *workspace;            /* the project; NULL: the call's working directory */
	const char *self;                 /* path of bawn, for rewritten commands */
	const char *session_dir;          /* NULL for the usual place */
};

/*
 * Answer one payload. Never fails: what cannot be understood or checked is blocked when the policy
 * acts, and let through with a warning in a dry run. Every answer is in the audit log, or the call
 * is blocked.
 */
void bawn_hook_answer(struct bawn_arena *a, const struct bawn_hook_agent *agent,
	const struct bawn_hook_options *o, const char *payload, size_t len,
	struct bawn_hook_answer *ret);
