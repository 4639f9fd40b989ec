/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Append-only JSON lines. Each record carries `seq`, `prev` (the hash of the record before, 64
 * zeros for the first) and, last, `hash`: SHA-256 of the line's bytes before `,"hash":`. Next to
 * the log, in <log>.head, stand the last seq and hash and the log's size, so that a cut tail is
 * seen. The next record continues from the head, not from what is left of the log, and one written
 * without a head says `"head_lost":true`: damage stays visible. Whoever can write both files can
 * still go back to an older pair; only a hash kept elsewhere (`expect` below) shows that. Many
 * processes may append: the log is locked (flock) per record, at most ten seconds. No secrets:
 * inputs are hashed by the caller.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/sha256.h"

struct bawn_audit;

/*
 * Open or create (0600, directories 0700). `path` NULL or "" means $XDG_STATE_HOME/bawn/audit.jsonl
 * or
 * ~/.local/state/bawn/audit.jsonl. Refuses a symlink, a file of another owner (unless we are root
 * and it is root's), or one that others can write. `sync` waits for the disk after each record.
 */
int bawn_audit_open(const char *path, bool sync, struct bawn_audit **ret, struct bawn_error *err);
struct bawn_audit *bawn_audit_free(struct bawn_audit *au);
const char *bawn_audit_path(const struct bawn_audit *au);

/*
 * Append one record. `members` are the record's own JSON members without braces, already valid JSON
 * ("\"event\":\"start\",\"run\":\"…\""); schema, seq, time, prev and hash are added here. Either
 * the whole record is in the log and the head is updated, or neither (a short write is cut off
 * again). Keeps some room allocated ahead: the first record through a handle fails unless there is
 * room behind it, so use one handle for a run's start and end, and the end fits when the disk fills
 * up during the run.
 */
int bawn_audit_append(struct bawn_audit *au, const char *members, struct bawn_error *err);

struct bawn_audit_report {
	uint64_t records;
	uint64_t bad_line; /* from 1; 0 when intact */
	char head[BAWN_HEX_LEN + 1];
	char problem[200]; /* "line 7: record was edited", "3 records missing at the end", …; with
			      bad_line 0 a remark: an incomplete last line that never was a record
			    */
};

/*
 * Check the whole chain in constant memory. 0 when intact, -EBADMSG with `report` filled when not,
 * another error when it cannot be read. `expect` may be "SEQ:HASH" kept elsewhere: that record must
 * be there, same.
 */
int bawn_audit_verify(const char *path, const char *expect, struct bawn_audit_report *ret,
	struct bawn_error *err);

struct bawn_audit_filter {
	const char *run;   /* NULL for any */
	const char *event; /* NULL for any */
	const char *since; /* ISO time or "10m", "2h", "1d"; NULL for any */
	uint64_t last;     /* only the last N; 0 for all */
};

/* Calls `each` per matching record line (without newline). With `follow`, waits for more until
 * `each` returns non-zero or a signal arrives. Constant memory. */
int bawn_audit_query(const char *path, const struct bawn_audit_filter *f, bool follow,
	int (*each)(void *data, const char *line, size_t len), void *data, struct bawn_error *err);
/* The path that an empty setting means, in the arena. */
const char *bawn_audit_default_path(struct bawn_arena *a);
