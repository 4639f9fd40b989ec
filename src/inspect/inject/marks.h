/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect/inject: what single bytes are to the splitter. */

#include "inspect/inject/inject.h"

/* What a byte can be in a word. */
#define C_LOWER  (1u << 0) /* and every byte of other scripts */
#define C_UPPER  (1u << 1)
#define C_DIGIT  (1u << 2)
#define C_UNDER  (1u << 3)
#define C_DOT    (1u << 4) /* these three only between two others */
#define C_AT     (1u << 5)
#define C_QUOTE  (1u << 6)
#define C_HIGH   (1u << 7)
#define C_INNER  (C_DOT | C_AT | C_QUOTE)
#define C_STARTS (C_LOWER | C_UPPER | C_DIGIT | C_UNDER)
extern const unsigned char inject_kind[256];
/* All C_* that occur in n bytes. Reads up to 15 bytes behind them. */
unsigned inject_kinds(const char *p, size_t n);

/* Whether a clause may start behind such a byte between words. */
extern const bool inject_clause[256];

/* 64 bytes of a text, a bit for each. */
struct inject_mark {
	uint64_t edge;   /* a word starts here, or has just ended */
	uint64_t clause; /* a word starts here, and something before it may start a clause */
	uint64_t begins; /* a word starts here, and a sentence ended before it */
	uint64_t odd;    /* a word has just ended, not one letter and then only small ones */
	uint64_t stop;   /* a sentence ends with this byte if there is one */
};

struct inject_marks {
	struct inject_mark *v;
	size_t n;
};
/* 0 or -ENOMEM. */
int inject_marks(struct bawn_arena *a, const struct inject_text *t, struct inject_marks *ret);
