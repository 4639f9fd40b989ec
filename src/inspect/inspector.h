/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detection in a child that can do nothing but compute and answer: no files, no network, no exec,
 * its memory and time bounded. A child that dies, is killed for its budget or answers nonsense
 * yields the finding "budget" (category budget, 0.30..): never SAFE.
 */

#include "inspect/inspect.h"

struct bawn_inspector;

/* Forks. The policy must stay as it is until the inspector is freed. One child serves many
 * subjects. */
int bawn_inspector_new(
	const struct bawn_policy *p, struct bawn_inspector **ret, struct bawn_error *err);
struct bawn_inspector *bawn_inspector_free(struct bawn_inspector *i);

/* One whole subject. submit returns at once; collect waits for the findings (bounded). */
int bawn_inspector_submit(
	struct bawn_inspector *i, const struct bawn_subject *sub, struct bawn_error *err);
int bawn_inspector_collect(struct bawn_inspector *i, struct bawn_arena *a,
	struct bawn_findings *out, struct bawn_error *err);

struct bawn_stream_options {
	struct bawn_subject like;    /* kind TEXT, mode, detect, name */
	enum bawn_leak_action leaks; /* secrets: pass and report, mask, or end the stream */
	bool show_hidden; /* zero-width, bidi, tag characters become visible (U+200B → <U+200B>) */
	bool tame_escapes; /* terminal escapes that act (clipboard, title, queries, …) are made
			      inert; colours stay */
	const char *const *secrets; /* registered secrets, also looked for encoded, split and
				       reversed; NULL-terminated or NULL */
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
struct bawn_buf;
int bawn_stream_feed(struct bawn_stream *s, const char *bytes, size_t n, bool flush, bool last,
	struct bawn_arena *a, struct bawn_buf *out, struct bawn_findings *found,
	struct bawn_error *err);

/* The same through a child: a socket that takes and gives, for an event loop. */
int bawn_inspector_stream(
	struct bawn_inspector *i, const struct bawn_stream_options *o, struct bawn_error *err);
int bawn_inspector_fd(
	const struct bawn_inspector *i); /* non-blocking after bawn_inspector_stream */
