/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fill a draft, value by value. The same functions serve files and flags. */

#include "policy/context.h"

/* A value of any scalar kind. `quoted`: it can only be a string. */
int bawn_draft_scalar(const struct bawn_context *c, struct bawn_draft *d,
	const struct bawn_field *f, const char *text, bool quoted, const struct bawn_origin *from);
/* One entry of a list. */
int bawn_draft_entry(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_field *f,
	const char *text, const struct bawn_origin *from);
/* One pair of a map. */
int bawn_draft_pair(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_field *f,
	const char *key, const char *value, const struct bawn_origin *from);
/* The setting is given, be it empty. -EINVAL if the same file gave it before. */
int bawn_draft_mark(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_field *f,
	const char *raw, const struct bawn_origin *from);
/* A flag: text as its setting asks. */
int bawn_draft_flag(
	const struct bawn_context *c, struct bawn_draft *d, const struct bawn_setting *s);
/* Check a backend's name; *ret is the name we use (landlock is native). -EINVAL if unknown. */
int bawn_backend_word(const char *word, const char **ret);
/* Put `key` into pairs, replacing an earlier one. */
int bawn_pairs_put(struct bawn_arena *a, struct bawn_pairs *pairs, const struct bawn_pair *pair);
