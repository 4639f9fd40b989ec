/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Private to src/inspect: what parent and inspector child say to each other. Each request has one
 * answer. The child has read hostile bytes, so the parent believes nothing of an answer that it did
 * not check; whatever is not exactly as described here is -EBADMSG.
 */

#include <stdint.h>

#include "base/buf.h"
#include "inspect/inspector.h"

enum wire_type {
	WIRE_SUBJECT = 0x62617731, /* one whole subject */
	WIRE_STREAM,               /* options of a stream that begins */
	WIRE_DATA,                 /* bytes of the stream */
	WIRE_ANSWER,
};

#define WIRE_FLUSH (1u << 0) /* of WIRE_DATA */
#define WIRE_LAST  (1u << 1)

#define WIRE_REQUEST_MAX ((uint64_t)80 << 20) /* bytes behind a head */
#define WIRE_ANSWER_MAX  ((uint64_t)16 << 20)

/* Stands before every message. */
struct wire_head {
	uint32_t type;
	uint32_t flags;
	uint64_t len; /* of what follows */
};

/* What an answer holds. */
struct wire_answer {
	int status;              /* 0 or the negative errno of the scan */
	struct bawn_error error; /* with status < 0 */
	struct bawn_findings found;
	const char *bytes; /* of a stream: what may be passed on */
	size_t n_bytes;
};

/* Append a message, head included. A failure sticks to the buffer. */
void wire_put_subject(struct bawn_buf *b, const struct bawn_subject *sub);
void wire_put_stream(struct bawn_buf *b, const struct bawn_stream_options *o);
void wire_put_data(struct bawn_buf *b, const char *bytes, size_t n, unsigned flags);
void wire_put_answer(struct bawn_buf *b, const struct wire_answer *w);

/* Read what stands behind the head. Strings are copied into the arena, text is not. */
int wire_get_subject(struct bawn_arena *a, const char *body, size_t len, struct bawn_subject *ret);
int wire_get_stream(
	struct bawn_arena *a, const char *body, size_t len, struct bawn_stream_options *ret);
int wire_get_answer(struct bawn_arena *a, const char *body, size_t len, struct wire_answer *ret);
