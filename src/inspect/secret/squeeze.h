/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Private to src/inspect/secret: text reduced to its letters and digits. Whatever is put between
 * the characters of a value (white space, quotes, punctuation, terminal escapes, NUL bytes of
 * UTF-16) falls away, letter case too, and escapes (%41, \u0041, \x41, \101, &#65;) become what
 * they stand for. What remains is 0..35 per character, with the place it came from.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SQUEEZE_NONE 0xffu /* end of the text */

/* Per byte: 1..36 for letters and digits. */
extern const unsigned char squeeze_class[256];

struct squeeze {
	const char *text;
	size_t len;
	size_t at;    /* the next byte to look at */
	size_t start; /* where the last symbol began */
	bool plain;   /* escapes are not decoded, their signs are separators */
	bool decoded; /* set when an escape was decoded that plain mode would read otherwise */
};

/* The next symbol, or SQUEEZE_NONE. */
unsigned squeeze_next(struct squeeze *s);
/* The symbol of a byte; 36 or more when it is neither letter nor digit. */
static inline unsigned squeeze_symbol(unsigned char c)
{
	return squeeze_class[c] - 1u;
}
