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
/* `text` with * ? [ made literal by a class of one, for use in front of a pattern. */
const char *bawn_entry_literal(struct bawn_arena *a, const char *text);
/* Check a regular expression. */
int bawn_entry_regex(const struct bawn_context *c, const char *raw, const struct bawn_origin *from);
/* True if a rule about hosts lies inside another: a.example.org in *.example.org, host:443 in host.
 */
bool bawn_host_within(const char *inner, const char *outer);
/* A rule about hosts in its one form, or -EINVAL with the reason in *why; -ENOMEM. One that blocks
 * may take in a whole top-level domain. */
int bawn_host_clean(
	struct bawn_arena *a, const char *raw, bool block, const char **ret, const char **why);
/* True for [A-Za-z_][A-Za-z0-9_]*. */
bool bawn_env_name(const char *name);
