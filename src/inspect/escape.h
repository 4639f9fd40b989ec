/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Make what a terminal would act on inert, and what a reader would not see visible. A filter over a
 * stream: bytes in, bytes out, a fixed amount of memory, sequences may be split anywhere.
 *
 * Kept: text, colours and styles (SGR without conceal), CR, LF, TAB, BS, cursor movement inside and
 * between lines (CSI A B C D E F G), erasing of a line or of what follows (CSI K, CSI 0 J), and
 * hyperlinks to http and https addresses. All else that starts with ESC, C1 controls (as a byte
 * that is no UTF-8, or as U+0080..9F) and all other control characters are taken out or shown.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define BAWN_ESCAPE_TAME   (1u << 0) /* terminal controls that act */
#define BAWN_ESCAPE_HIDDEN (1u << 1) /* zero-width, bidi, tag characters become <U+200B> */
/* What acts is shown (ESC becomes U+241B and so on, its text stays) instead of taken out. */
#define BAWN_ESCAPE_SHOW (1u << 2)

#define BAWN_ESCAPE_HELD 1024 /* a longer sequence is never kept */

/* Owned by the caller, no pointers; everything in it is private but the counts. */
struct bawn_escape {
	unsigned flags;
	unsigned char state;
	unsigned char need; /* bytes that a UTF-8 character still lacks */
	bool started;       /* a character went through already */
	uint16_t held_len;  /* bytes in held: the sequence or character so far */
	uint32_t dropped;   /* bytes of a string sequence that were taken out so far */
	uint32_t prev;      /* the character before */
	char held[BAWN_ESCAPE_HELD];
	uint64_t tamed;  /* sequences and controls made inert so far */
	uint64_t hidden; /* characters made visible so far */
};

void bawn_escape_init(struct bawn_escape *e, unsigned flags);
/* Append what may pass to `out` (which keeps its own failure). */
void bawn_escape_feed(struct bawn_escape *e, const char *bytes, size_t n, struct bawn_buf *out);
/* Nothing more comes: let go of an unfinished sequence (inert). */
void bawn_escape_end(struct bawn_escape *e, struct bawn_buf *out);
