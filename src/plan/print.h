/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "plan/plan.h"

/* The whole plan as text, one record per line, for the digest and for `explain -v`. */
void bawn_plan_print(const struct bawn_plan *plan, struct bawn_buf *out);
const char *bawn_mount_kind_name(enum bawn_mount_kind kind);
