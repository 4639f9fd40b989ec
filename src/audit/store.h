/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/audit: the two files of a log, its lock, its lines and the shape of a record. */

#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "audit/audit.h"

#define AUDIT_LINE_MAX ((size_t)1 << 20) /* with its newline */
#define AUDIT_TIME_LEN 27                /* 2026-11-15T06:00:00.123456Z */
#define AUDIT_LOCK_MS  10000

struct bawn_audit {
	char *path;
	const char *name; /* its last component, within path */
	char *head_name;
	char shown[160]; /* the path for messages, shortened */
	int dir_fd, log_fd, head_fd;
	unsigned lock_ms; /* how long to wait for other writers */
	bool sync;
	bool appended; /* this handle has written a record: it may use the room kept ahead */
};

/* Where a chain stands: the last record and the size of the log behind it. */
struct audit_head {
	uint64_t seq;
	uint64_t size;
	char hash[BAWN_HEX_LEN + 1];
};

#define AUDIT_ZERO_HASH "0000000000000000000000000000000000000000000000000000000000000000"
/* "SEQ HASH SIZE\n", fixed width: rewriting it in place needs no room and has no length to tear. */
#define AUDIT_HEAD_LEN (20 + 1 + BAWN_HEX_LEN + 1 + 20 + 1)

/* One record as bytes: everything points into the line. */
struct audit_record {
	uint64_t seq;
	const char *time; /* AUDIT_TIME_LEN */
	const char *prev, *hash;
	size_t body_len; /* what the hash covers */
	bool head_lost;  /* the writer found no head file next to records */
};

/* chain.c */
bool audit_record_parse(const char *line, size_t len, struct audit_record *ret);
bool audit_record_authentic(const char *line, const struct audit_record *r);
void audit_head_format(const struct audit_head *h, char ret[AUDIT_HEAD_LEN + 1]);
/* False if `text` is not exactly what audit_head_format() writes. */
bool audit_head_parse(const char *text, size_t len, struct audit_head *ret);
/* 0 with *ret set, -ENODATA if the file is empty, -EBADMSG if it is damaged, or a read error. */
int audit_head_read(int fd, struct audit_head *ret);

/* Lines of a file in constant memory, up to a given size. */
struct audit_lines {
	int fd;
	off_t next;  /* where the next read starts */
	off_t start; /* where the line last returned starts */
	off_t limit; /* bytes from here on are not looked at */
	char *buf;
	size_t cap, len, used;
};
enum audit_line_kind {
	AUDIT_LINE_END,  /* nothing more */
	AUDIT_LINE_FULL, /* a line, without its newline */
	AUDIT_LINE_TORN, /* bytes without a newline at the end */
	AUDIT_LINE_LONG, /* a line above the maximum, skipped */
};
void audit_lines_init(struct audit_lines *l, int fd, off_t start, off_t limit);
void audit_lines_done(struct audit_lines *l);
/* One of enum audit_line_kind, or a negative errno. */
int audit_lines_next(struct audit_lines *l, const char **line, size_t *len);

/* store.c */
/* Open, or open again, log and head of `au` and check them. */
int audit_store_open(struct bawn_audit *au, struct bawn_error *err);
int audit_store_open_head(struct bawn_audit *au, struct bawn_error *err);
/* Wait at most `ms` for flock(fd, op): 0, -ETIMEDOUT or another negative errno. */
int audit_lock(int fd, int op, unsigned ms);
/* A path that fits into a message: its beginning, and its end if that is not all. */
void audit_shown(const char *path, char *ret, size_t size);
/* Open a log for reading: a regular file, no symlink. -ENOENT is returned without a message. */
int audit_open_read(const char *path, struct bawn_error *err);
/* `path`, or the default place if it is empty. */
int audit_path_or_default(
	struct bawn_arena *a, const char *path, const char **ret, struct bawn_error *err);
