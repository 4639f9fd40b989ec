/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The nearest of many names to a mistyped one. */

#include <stddef.h>

struct bawn_suggest {
	const char *word; /* as typed */
	const char *best; /* not NUL-terminated */
	size_t best_len;  /* 0: nothing is near enough */
	size_t distance;
};

void bawn_suggest_offer(struct bawn_suggest *s, const char *name, size_t len);
