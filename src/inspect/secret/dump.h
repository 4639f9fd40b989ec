/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Private to src/inspect/secret: the bytes column of what xxd, hexdump and od print, without the
 * offsets before it and the text behind it, so that it reads as if it were in one line.
 */

#include <stddef.h>

struct dump {
	const char *text;
	size_t len;
	size_t at;    /* the next byte to look at */
	size_t stop;  /* end of the column in this line */
	size_t start; /* where the last symbol stands */
};

/* The next symbol (squeeze.h), or SQUEEZE_NONE. */
unsigned dump_next(struct dump *d);
