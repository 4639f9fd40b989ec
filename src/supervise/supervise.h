/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Between a prepared instance and its outcome: moves bytes, watches the clock, ends what must end.
 * Constant memory whatever the command writes. No survivor: returns only after BAWN_EV_ENDED.
 */

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "base/buf.h"

/* The descriptors of one run. Opened before prepare(), child ends closed after it. */
struct bawn_stdio {
	int child[3];  /* for prepare(); -1 once closed */
	int parent[3]; /* our ends: write for 0 (or -1 when the caller's stdin is passed on), read
			  for 1, 2 */
	int stdin_fd;  /* the caller's stdin to pump from, or -1 */
};

/*
 * What output goes through before anybody sees it. feed() takes raw bytes of stream 1 or 2 and
 * appends what may be passed on to `out`; it may hold back a tail until nothing comes for now (`n`
 * is 0) or `last`. A negative return withholds the rest and ends the run.
 */
struct bawn_filter {
	int (*feed)(void *data, int stream, const char *bytes, size_t n, bool last,
		struct bawn_buf *out, struct bawn_error *err);
	void *data;
};

/* Where output goes. With `capture`, both streams are also or only kept in memory up to the limit.
 */
struct bawn_outlets {
	int out_fd, err_fd;         /* -1: not passed on */
	struct bawn_buf *out, *err; /* NULL: not captured */
	/* Optional: called with each piece; a negative return ends the run. Library users. */
	int (*sink)(void *data, int stream, const char *bytes, size_t len);
	void *sink_data;
	const struct bawn_filter *filter; /* NULL: as it is */
	bool forward_signals; /* SIGINT, SIGTERM, SIGHUP, SIGQUIT go to the command (CLI only) */
	int terminal_fd;      /* the user's terminal for --pty (raw mode, size), or -1 */
	const struct bawn_watch *watch; /* NULL for none */
};

/*
 * Somebody else who has something to tell during the run: the door. `next` gives what there is
 * without blocking: BAWN_EV_DENIED, or BAWN_EV_NONE when there is no more now, or BAWN_EV_ENDED
 * when there never will be.
 */
struct bawn_watch {
	int fd; /* readable when there is something; -1: nobody */
	void (*next)(void *data, struct bawn_event *ret);
	void *data;
};

#define BAWN_DENIALS_MAX 32
#define BAWN_WORDS_MAX   2048

struct bawn_denial {
	uint32_t control;
	const char *text;
	unsigned count;
};

struct bawn_outcome {
	int wait_status; /* of the command, as from waitpid; valid if `exited` */
	bool exited;
	int exec_errno;   /* the command could not be executed */
	uint32_t limit;   /* BAWN_CTL_LIMIT_*: what was hit, 0 if none */
	int got_signal;   /* we were told to stop by this signal, 0 if not */
	bool sink_closed; /* whoever read our output went away */
	int sink_errno;   /* output was lost for another reason: a full disk */
	uint64_t out_bytes, err_bytes;
	char last_words[BAWN_WORDS_MAX]; /* the end of standard error, or of the terminal */
	size_t n_last_words;
	int64_t wall_ms;
	struct bawn_usage usage;
	struct bawn_denial denials[BAWN_DENIALS_MAX];
	size_t n_denials;
	uint64_t denials_total;
};

/* Note a denial; the same one again is counted. */
int bawn_outcome_denied(struct bawn_arena *a, struct bawn_outcome *o, const struct bawn_event *ev,
	struct bawn_error *err);

/* Make the pipes. `stdin_fd` < 0 means no input (/dev/null). With plan->pty only parent[] stays -1.
 */
int bawn_stdio_open(
	struct bawn_stdio *s, const struct bawn_plan *plan, int stdin_fd, struct bawn_error *err);
void bawn_stdio_close_child(struct bawn_stdio *s);
void bawn_stdio_done(struct bawn_stdio *s);

/*
 * Start the instance and stay until nothing of it is left. On failure (the backend lost sight of
 * it, no memory) SIGKILL was sent to everything inside and destroy() is to be called. The caller's
 * descriptors, signal mask and handlers and the user's terminal are as they were on every return.
 */
int bawn_supervise(struct bawn_arena *a, struct bawn_instance *in, const struct bawn_plan *plan,
	struct bawn_stdio *s, const struct bawn_outlets *o, struct bawn_outcome *ret,
	struct bawn_error *err);
