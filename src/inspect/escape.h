/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Make what a terminal would act on inert, and what a reader would not see visible. A filter over a
 * stream: bytes in, bytes out, a fixed amount of memory, sequences may be split anywhere.
 *
 * Kept: text, colours and styles (SGR without conceal), CR, LF, TAB, BS, cursor movement inside and
 * between lines (CSI A B C D E F G), erasing of a line or of what follows (CSI K, CSI 0 J). All
 * else that starts with ESC or a C1 control (as a byte that is no UTF-8, or as U+0080..9F) and all
 * other control characters are taken out or shown.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define BAWN_ESCAPE_TAME   (1u << 0) /* terminal controls that act */
#define BAWN_ESCAPE_HIDDEN (1u << 1) /* zero-width, bidi, tag characters become <U+200B> */
/* What acts is shown (ESC becomes U+241B and so on, its text stays) instead of taken out. */
#define BAWN_ESCAPE_SHOW (1u << 2)

#define BAWN_ESCAPE_HELD 64 /* a longer sequence is judged by its beginning */

/* Owned by the caller, no pointers; everything in it is private but the counts. */
struct bawn_escape {
	unsigned flags;
	unsigned char state;
	unsigned char kind;     /* of a string sequence: ']' 'P' 'X' '^' '_' */
	unsigned char held_len; /* bytes in held */
	unsigned char need;     /* bytes that a UTF-8 character still lacks */
	unsigned char last;     /* the first byte of a visible flag sequence, see escape.c */
	char held[BAWN_ESCAPE_HELD];
	uint64_t tamed;  /* sequences made inert so far */
	uint64_t hidden; /* characters made visible so far */
};

void bawn_escape_init(struct bawn_escape *e, unsigned flags);
/* Append what may pass to `out` (which keeps its own failure). */
void bawn_escape_feed(struct bawn_escape *e, const char *bytes, size_t n, struct bawn_buf *out);
/* Nothing more comes: let go of an unfinished sequence (inert). */
void bawn_escape_end(struct bawn_escape *e, struct bawn_buf *out);
