/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which backends may carry out a call, in the order in which they are to be tried. A named one is
 * the only one, unless the policy that names it has `sandbox.fallback`. Else those of the level
 * that is asked for, strongest first, and after them those of the next higher levels; with `prefer:
 * strongest` all of that level and above, strongest first. Never one of a lower level.
 */

#include "backend/backend.h"

#define BAWN_CHOICES_MAX 24

struct bawn_choices {
	const struct bawn_backend *v[BAWN_CHOICES_MAX];
	size_t n;
	bool named;
	enum bawn_level level; /* asked for */
	const char *reason;    /* why these */
};

int bawn_choose(const struct bawn_policy *p, struct bawn_choices *ret, struct bawn_error *err);
/* The same among those that `at` gives, strongest first, NULL past the end. */
int bawn_choose_among(const struct bawn_backend *(*at)(size_t), const struct bawn_policy *p,
	struct bawn_choices *ret, struct bawn_error *err);
/*
 * The one that is mostly first, before the policy is read; NULL if an option speaks of it. What it
 * begins is taken down again if the policy chooses otherwise.
 */
const struct bawn_backend *bawn_choose_guess(const struct bawn_policy_source *src);
/* Move candidate `i` behind the others of its level. Returns false if there is none. */
bool bawn_choices_put_back(struct bawn_choices *c, size_t i);
const char *bawn_level_name(enum bawn_level level);
