/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detection in a child that can do nothing but compute and answer: no files, no network, no exec,
 * its memory and time bounded. A child that dies, is killed for its budget or answers nonsense
 * yields the finding "budget" (category budget, 0.30..): never SAFE.
 */

#include <sys/types.h>

#include "base/buf.h"
#include "inspect/inspect.h"

struct bawn_inspector;

/* Forks. The policy must stay as it is until the inspector is freed. One child serves many
 * subjects. */
int bawn_inspector_new(
	const struct bawn_policy *p, struct bawn_inspector **ret, struct bawn_error *err);
struct bawn_inspector *bawn_inspector_free(struct bawn_inspector *i);

/* Nothing more will be asked for now: the child is killed, but not waited for until it is freed. */
void bawn_inspector_dismiss(struct bawn_inspector *i);

/* Everything of a subject that an inspection depends on, as bytes. */
void bawn_subject_bytes(struct bawn_buf *b, const struct bawn_subject *sub);

/* One whole subject. submit returns at once; collect waits for the findings (bounded). */
int bawn_inspector_submit(
	struct bawn_inspector *i, const struct bawn_subject *sub, struct bawn_error *err);
int bawn_inspector_collect(struct bawn_inspector *i, struct bawn_arena *a,
	struct bawn_findings *out, struct bawn_error *err);
/* submit a call that is about to run. */
int bawn_inspector_submit_call(
	struct bawn_inspector *i, const struct bawn_call *c, struct bawn_error *err);

BAWN_DEFINE_CLEANUP(struct bawn_inspector, inspector, bawn_inspector_free)
#define _cleanup_inspector_ _cleanup_(cleanup_inspector_p)

struct bawn_stream_options {
	struct bawn_subject like;    /* kind TEXT, mode, detect, name */
	enum bawn_leak_action leaks; /* secrets: pass and report, mask, or end the stream */
	bool leaks_by_policy;        /* as the policy says for the rule, instead of `leaks` */
	bool show_hidden; /* zero-width, bidi, tag characters become visible (U+200B → <U+200B>) */
	bool tame_escapes;  /* terminal escapes that act (clipboard, title, queries, …) are made
			       inert; colours stay */
	bool findings_only; /* nothing is passed on, only findings are wanted */
	const char *const *secrets; /* registered secrets, also looked for encoded, split and
				       reversed; NULL-terminated or NULL */
};

/* A piece of a stream. At most BAWN_STREAM_CHUNK bytes; `flush` and `last` as below. */
#define BAWN_STREAM_CHUNK ((size_t)1 << 20)

struct bawn_stream_chunk {
	const char *bytes;
	size_t n;
	bool flush, last;
};

struct bawn_stream; /* a filter: bytes in, bytes (perhaps changed) and findings out; constant memory
		     */

/* In this process, for the child and for tests. */
int bawn_stream_new(const struct bawn_policy *p, const struct bawn_stream_options *o,
	struct bawn_stream **ret, struct bawn_error *err);
struct bawn_stream *bawn_stream_free(struct bawn_stream *s);
/*
 * Feed bytes. What may be passed on is appended to `out` (a short tail that could be the start of a
 * secret is held back until more comes, `flush` or `last`); new findings are appended to `found`.
 * `flush`: nothing more comes for now, so let go of everything that is no beginning of a match.
 * -EACCES with BAWN_ERR_BLOCKED when leaks are to be blocked.
 */
int bawn_stream_feed(struct bawn_stream *s, const struct bawn_stream_chunk *c, struct bawn_arena *a,
	struct bawn_buf *out, struct bawn_findings *found, struct bawn_error *err);

/*
 * The same through a child. bawn_inspector_stream ends a stream that was there before. filter feeds
 * and waits for the answer (bounded). If the child dies or answers nonsense, what it had not
 * answered is lost: -EIO, with the finding "budget" in `found`; the stream is over then.
 */
int bawn_inspector_stream(
	struct bawn_inspector *i, const struct bawn_stream_options *o, struct bawn_error *err);
int bawn_inspector_filter(struct bawn_inspector *i, const struct bawn_stream_chunk *c,
	struct bawn_arena *a, struct bawn_buf *out, struct bawn_findings *found,
	struct bawn_error *err);

/*
 * For an event loop: send queues a chunk and never blocks; whenever the descriptor is readable (or
 * writable while bawn_inspector_pending says that something waits), or its deadline has passed,
 * call receive. It returns how many chunks were answered, failures as of filter.
 */
int bawn_inspector_fd(const struct bawn_inspector *i);
bool bawn_inspector_pending(const struct bawn_inspector *i);
size_t bawn_inspector_unanswered(const struct bawn_inspector *i);
int64_t bawn_inspector_deadline(const struct bawn_inspector *i); /* bawn_now_ms(); -1: none */
int bawn_inspector_send(
	struct bawn_inspector *i, const struct bawn_stream_chunk *c, struct bawn_error *err);
int bawn_inspector_receive(struct bawn_inspector *i, struct bawn_arena *a, struct bawn_buf *out,
	struct bawn_findings *found, struct bawn_error *err);

/* For tests. */
pid_t bawn_inspector_pid(const struct bawn_inspector *i); /* -1 if no child lives */
void bawn_inspector_set_patience(struct bawn_inspector *i, int64_t ms);
void bawn_stream_set_budget(struct bawn_stream *s, uint64_t units); /* for secrets, per window */
