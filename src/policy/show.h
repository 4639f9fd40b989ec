/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the YAML and the JSON form of a policy share. */

#include "policy/model.h"

/* The value of a named setting: a list in brackets, or one word. */
void bawn_show_named(struct bawn_buf *b, const struct bawn_pair *pair, bool json);
/* enforcement.docker.mounts, in brackets: both YAML and JSON. */
void bawn_show_mounts(struct bawn_buf *b, const struct bawn_policy *p);
struct bawn_origin bawn_show_mounts_origin(const struct bawn_policy *p);

void bawn_show_json(const struct bawn_policy *p, struct bawn_buf *b);
