/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the caller gets: how it ended, why, what was in force. */

#include "base/buf.h"
#include "supervise/supervise.h"
#include "verdict/act.h"
#include "verdict/verdict.h"

/* Exit statuses of `bawn run`; otherwise the command's own. */
enum bawn_exit {
	BAWN_EXIT_TIMEOUT = 124,
	BAWN_EXIT_REFUSED = 125, /* refused or failed before anything ran */
	BAWN_EXIT_BLOCKED = 126, /* by verdict or policy; also: found but not executable */
	BAWN_EXIT_NOT_FOUND = 127,
	BAWN_EXIT_SIGNAL = 128, /* + N: killed by signal N; a limit other than time: 137 */
};

/* What went through the door. */
struct bawn_net_host {
	const char *name;
	uint64_t allowed, blocked, sent, received;
};

struct bawn_network {
	bool door;                 /* there was one */
	bool lost;                 /* it died before the run ended */
	uint64_t allowed, blocked; /* decisions */
	uint64_t sent, received;   /* bytes of connections that were let through */
	uint64_t unrecorded;       /* decisions that are not in the log */
	struct bawn_net_host *hosts;
	size_t n_hosts;
	uint64_t more_hosts; /* not listed */
};

/* A backend that was tried, and why it would not do. */
struct bawn_tried {
	const char *backend, *why;
};

struct bawn_result {
	const struct bawn_call *call; /* NULL if it did not come that far; same below */
	const struct bawn_policy *policy;
	const struct bawn_plan *plan;
	char plan_sha256[BAWN_HEX_LEN + 1];
	struct bawn_verdict verdict;
	bool guarded; /* `decision` was asked for: acted on by verdict, not always confined */
	struct bawn_decision decision; /* with guarded */
	bool passed;                   /* let through: it ran without a wall */
	const char *backend;           /* name */
	const char *level;
	const char *reason;       /* why this backend */
	struct bawn_tried *tried; /* those before it; all, if refused for want of one */
	size_t n_tried;
	const char *walls; /* what enforces the controls */
	uint32_t demanded, enforced,
		missing; /* missing: demanded, not in force, permitted by the policy */
	bool started;
	struct bawn_outcome outcome;
	struct bawn_network network;
	const struct bawn_finding
		*output_findings;     /* in what the command wrote: one per rule and stream */
	const int *output_stream;     /* 1 or 2, same order */
	const unsigned *output_count; /* how often, same order */
	size_t n_output_findings;
	uint64_t output_findings_total;
	struct bawn_error error; /* kind NONE unless refused, blocked or failed */
	const char *notes[8];    /* NULL-terminated further remarks */
	const char *audit_path;
};

int bawn_result_exit(const struct bawn_result *r);
/* A limit of the plan for people, "4 GiB" or "30 s". -ENOENT if the control is no limit or
 * unlimited. */
int bawn_result_limit(const struct bawn_result *r, uint32_t control, char *dst, size_t size);
/* One JSON object, schema bawn/result/v1. `out`/`err` are captured output or NULL. */
int bawn_result_json(const struct bawn_result *r, const struct bawn_buf *out,
	const struct bawn_buf *err, struct bawn_buf *ret);
#define BAWN_HINTS_MAX 3
/*
 * What the last words of a command that failed mean here: files that it could not open because they
 * are denied or not part of the sandbox. Returns how many; the texts are the arena's. Only words:
 * whether such files exist outside is not looked at, and not told.
 */
size_t bawn_result_hints(
	struct bawn_arena *a, const struct bawn_result *r, const char *ret[BAWN_HINTS_MAX]);
/* The lines for stderr after a run: limit hit, denials, missing controls, errors. Each ends in a
 * newline and starts with "bawn: ". Empty when there is nothing to say. */
int bawn_result_say(const struct bawn_result *r, bool colour, struct bawn_buf *ret);
