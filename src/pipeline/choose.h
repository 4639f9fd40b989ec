/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which backends may carry out a call, strongest first (DESIGN: named, by level, or auto). */

#include "backend/backend.h"

#define BAWN_CHOICES_MAX 8

struct bawn_choices {
	const struct bawn_backend *v[BAWN_CHOICES_MAX];
	size_t n;
	const char *reason; /* why these */
};

int bawn_choose(const struct bawn_policy *p, struct bawn_choices *ret, struct bawn_error *err);
const char *bawn_level_name(enum bawn_level level);
