/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds secrets in a stream and puts as many `*` in their place, so that lengths hold. Found are
 * the bytes themselves, with any of them percent-encoded or JSON-escaped, hexadecimal (either
 * case), and base64 (either alphabet, at any alignment). Where a stream is cut into pieces makes no
 * difference.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/http.h"

#define BAWN_MASK_CHAR '*'

struct bawn_mask_set; /* immutable; what is looked for */

/* At most 32 values, which are not copied and must outlive the set. NULL: out of memory. */
struct bawn_mask_set *bawn_mask_set_new(const struct bawn_slice *values, size_t n);
struct bawn_mask_set *bawn_mask_set_free(struct bawn_mask_set *s);

/* A text that is there as a whole. */
void bawn_mask_text(const struct bawn_mask_set *s, char *p, size_t n);

/* A stream: what was read and is not decided yet stands in a window of the caller's. */
struct bawn_mask {
	size_t covered; /* bytes from the window's start that are to be masked already */
};
/*
 * How many bytes of the window (n bytes at p) are decided, at `end` all of them; these are masked
 * in place, the others are left as they are and must stand at the start of the next window. A
 * window of more than bawn_mask_window() bytes always has decided ones.
 */
size_t bawn_mask_feed(
	const struct bawn_mask_set *s, struct bawn_mask *m, char *p, size_t n, bool end);
/* The longest text that a secret can be written as, in bytes. */
size_t bawn_mask_window(const struct bawn_mask_set *s);
