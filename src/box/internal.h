/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/box. */

#include "box/box.h"

#define BOX_CALL_MS  60000
#define BOX_BUILD_MS 3600000

/* record.c */
/* `rest` in the directory of all boxes, which is made if it is missing. */
const char *box_path(struct bawn_arena *a, const char *rest, struct bawn_error *err);
int box_check_name(const char *name, struct bawn_error *err);
/* A new record with its lock; refuses a name that is taken and more than BAWN_BOXES_MAX. */
int box_register(struct bawn_arena *a, struct bawn_box *b, struct bawn_error *err);
/* Write the record so that it is there whole or not at all. */
int box_save(const struct bawn_box *b, struct bawn_error *err);
int box_unregister(const struct bawn_box *b, struct bawn_error *err);
/* Eight hex digits that stand for this user's directory of boxes: an engine serves many. */
const char *box_owner(struct bawn_arena *a);
/* A file and its directory written whole: temporary name, then rename. */
int box_write(const char *path, const char *text, size_t len, struct bawn_error *err);

/* engine.c: the few questions that are put to an engine. */
/* The identity of an image in *ret, or "" if the engine does not have it. */
int box_image_id(struct bawn_arena *a, const char *engine, const char *image, const char **ret,
	struct bawn_error *err);
int box_engine(const char *engine, const char *const *words, struct bawn_buf *ret_out,
	struct bawn_error *err);
/* Remove a tree of ours; what is not there is fine. */
void box_remove_tree(const char *path);
