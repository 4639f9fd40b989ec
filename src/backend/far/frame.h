/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the host and a sandbox on another kernel say to each other: frames on one duplex byte
 * stream, whatever carries it (stdio of a tool, a virtual serial line, a vsock).
 *
 *   host (pump.c)                          inside (inside/far.c)
 *                                  HELLO  ← (need not be awaited: far.h, `eager`)
 *   → PLAN… ENTRY DATA… ENTRY … TREE_END
 *                          READY or ERROR ←
 *   → GO
 *   → STDIN… STDIN_END, SIGNAL             STDOUT… STDERR… EVENT… ←
 *   → CREDIT (for STDOUT, STDERR)          CREDIT (for STDIN) ←
 *                                  EVENT (the command ended) ←
 *                  ENTRY DATA… … TREE_END, DONE ←
 *
 * What comes from inside is hostile: the reader checks type, direction and length of each frame
 * before anybody sees it, and never holds more than one frame and what was read with it. Of each of
 * the three streams of the command at most BAWN_FRAME_WINDOW bytes are under way; who sends more
 * breaks the protocol. Numbers are little-endian.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/buf.h"

#define BAWN_FRAME_VERSION 1
#define BAWN_FRAME_MAX     65536u /* payload of one frame */
#define BAWN_FRAME_HEADER  8u     /* type, argument, two zero bytes, length */
#define BAWN_FRAME_WINDOW  262144u
#define BAWN_FRAME_PATH    4095u
#define BAWN_FRAME_GONE    UINT32_MAX

enum bawn_frame_type {
	BAWN_FRAME_HELLO = 1, /* ← u32 version, then the kernel's name */
	BAWN_FRAME_PLAN,      /* → a piece of the handover (inside/handover.h); argument: bit 0
				 with the last one, bits 1 to 3: the command has no stdin, … */
	BAWN_FRAME_ENTRY,     /* ↔ struct bawn_entry */
	BAWN_FRAME_DATA,      /* ↔ u64 offset and bytes of the file that was named last */
	BAWN_FRAME_TREE_END,  /* ↔ no more entries */
	BAWN_FRAME_READY, /* ← struct bawn_frame_event: `control` holds the receipt, `text` the
			     flaw (backend.h) */
	BAWN_FRAME_ERROR, /* ← u32 kind, i32 errno, text */
	BAWN_FRAME_GO,    /* → let the command go */
	BAWN_FRAME_STDIN, /* → bytes */
	BAWN_FRAME_STDIN_END, /* → no more */
	BAWN_FRAME_STDOUT,    /* ← bytes */
	BAWN_FRAME_STDERR,    /* ← bytes */
	BAWN_FRAME_CREDIT,    /* ↔ u32 bytes of stream `argument` (0, 1, 2) were taken;
				 BAWN_FRAME_GONE: nobody reads it any more */
	BAWN_FRAME_SIGNAL,    /* → argument: the signal; SIGKILL ends everything but the bridge */
	BAWN_FRAME_EVENT,     /* ← struct bawn_frame_event */
	BAWN_FRAME_DONE,      /* ← the last one; the host then closes the stream */
	_BAWN_FRAME_TYPES,
};

struct bawn_frame {
	enum bawn_frame_type type;
	uint8_t arg;
	const uint8_t *data; /* in the reader's buffer, until its next call */
	size_t len;
};

/* ---- reading ---- */

struct bawn_frame_reader {
	bool inside; /* we are inside: frames of the other direction are expected */
	bool eof;
	uint8_t *buf; /* BAWN_FRAME_HEADER + BAWN_FRAME_MAX bytes */
	size_t start, end;
};

int bawn_frame_reader_init(struct bawn_frame_reader *r, bool inside); /* 0 or -ENOMEM */
void bawn_frame_reader_done(struct bawn_frame_reader *r);
/* One read(2). The number of bytes, 0 at the end of the stream (`eof` is set), or a negative errno.
 */
int bawn_frame_fill(struct bawn_frame_reader *r, int fd);
/* As if `len` bytes had been read; returns how many there was room for. */
size_t bawn_frame_feed(struct bawn_frame_reader *r, const void *data, size_t len);
/* 1: *ret is the next frame; 0: more bytes are needed; -EPROTO: this is no frame. */
int bawn_frame_next(struct bawn_frame_reader *r, struct bawn_frame *ret);

/* ---- writing: append to a buffer, look at its `failed`, then flush it ---- */

void bawn_frame_put(
	struct bawn_buf *out, enum bawn_frame_type type, uint8_t arg, const void *data, size_t len);
/* Write what can be written and drop it from `out`. 0, -EAGAIN if something is left, or worse. */
int bawn_frame_flush(struct bawn_buf *out, int fd);

/* ---- entries of a tree ---- */

enum bawn_entry_kind {
	BAWN_ENTRY_FILE = 1, /* its content follows in DATA frames, holes left out */
	BAWN_ENTRY_DIR,
	BAWN_ENTRY_LINK,   /* a symbolic link to `target` */
	BAWN_ENTRY_META,   /* mode and time of what is there already */
	BAWN_ENTRY_DELETE, /* ← only */
	BAWN_ENTRY_OTHER,  /* ← only: a FIFO, socket or device, which is not sent */
	_BAWN_ENTRY_KINDS,
};

#define BAWN_ENTRY_HAVE 1u /* → the file is there already, as a copy on write of the host's */

struct bawn_entry {
	enum bawn_entry_kind kind;
	uint8_t flags;
	uint16_t root; /* which of the plan's writable mounts (bawn_root_at) */
	uint32_t mode; /* permission bits */
	uint64_t size;
	int64_t mtime, ctime; /* nanoseconds */
	const char *path;     /* below the root, not terminated; "" is the root itself */
	size_t path_len;
	const char *target;
	size_t target_len;
};

void bawn_entry_put(struct bawn_buf *out, const struct bawn_entry *e);
/* The entry in a frame; its strings stay in the frame. -EPROTO for anything but what bawn_entry_put
 * makes: also for paths that are absolute, have empty, "." or ".." components, or NUL bytes. */
int bawn_entry_get(const struct bawn_frame *f, struct bawn_entry *ret);
/* Offset and bytes of a DATA frame. */
int bawn_frame_data(const struct bawn_frame *f, uint64_t *ret_offset, const uint8_t **ret_bytes,
	size_t *ret_len);

/* ---- the rest ---- */

void bawn_frame_put_event(struct bawn_buf *out, enum bawn_frame_type type,
	const struct bawn_event *ev, const struct bawn_usage *usage);
int bawn_frame_get_event(
	const struct bawn_frame *f, struct bawn_event *ev, struct bawn_usage *usage);
void bawn_frame_put_error(struct bawn_buf *out, const struct bawn_error *err);
int bawn_frame_get_error(const struct bawn_frame *f, struct bawn_error *ret);
void bawn_frame_put_u32(struct bawn_buf *out, enum bawn_frame_type type, uint8_t arg, uint32_t v);
uint32_t bawn_frame_u32(const struct bawn_frame *f); /* its first four bytes */

/* The writable trees of a plan, which are carried between the host and the inside: every
 * BAWN_MNT_RW mount that is no pin. NULL past the end. */
const struct bawn_mount *bawn_root_at(const struct bawn_plan *plan, size_t i);
/*
 * What becomes of `path` (inside): true if it belongs to root `i`, and not to a mount of another
 * kind or to another root below it.
 */
bool bawn_root_owns(const struct bawn_plan *plan, size_t i, const char *path);
