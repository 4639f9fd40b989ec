/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory for what must not be seen: not swapped where the limit on locked memory allows it, not in
 * core dumps, all zeros in children (fork, clone), wiped when freed. It never moves.
 */

#include <stddef.h>

#include "base/cleanup.h"

struct bawn_locked {
	char *data; /* `size` bytes and a NUL */
	size_t size;
	size_t len; /* the user's */
};

/* NULL when memory is out. */
struct bawn_locked *bawn_locked_new(size_t size);
struct bawn_locked *bawn_locked_free(struct bawn_locked *l); /* NULL is fine; returns NULL */

BAWN_DEFINE_CLEANUP(struct bawn_locked, locked, bawn_locked_free)
#define _cleanup_locked_ _cleanup_(cleanup_locked_p)
