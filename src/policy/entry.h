/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Entries of lists: expanded, checked and cleaned as the element type of the list asks. */

#include "policy/context.h"

/* Text as written to item->text. Errors name item->from. 1 if it is to be left out: an absent path
 * that the built-in list has, too. */
int bawn_entry_make(
	const struct bawn_context *c, const struct bawn_field *f, struct bawn_item *item);
/* One entry of a built-in list; 1 if it is to be left out (absent path, no home). */
int bawn_entry_default(
	const struct bawn_context *c, const struct bawn_field *f, struct bawn_item *item);
/* A path with ~ and ${…} expanded, relative ones put below the workspace; must exist. */
int bawn_entry_path(const struct bawn_context *c, const char *raw, const struct bawn_origin *from,
	const char **ret);
/* Check a regular expression. */
int bawn_entry_regex(const struct bawn_context *c, const char *raw, const struct bawn_origin *from);
/* True if a host pattern lies inside another: a.example in *.example, host:443 in host. */
bool bawn_host_within(const char *inner, const char *outer);
/* A host pattern in its one form (lower case, no final dot) or -EINVAL; -ENOMEM. */
int bawn_host_clean(struct bawn_arena *a, const char *raw, const char **ret);
/* True for [A-Za-z_][A-Za-z0-9_]*. */
bool bawn_env_name(const char *name);
