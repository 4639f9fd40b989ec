/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A plan as bytes, for a stage of ours in another process image or on another kernel. Everything
 * but `policy` and `call`, which stay with the host process and are NULL after decoding. Numbers
 * are little-endian, strings and lists have their length in front; the first word is the version.
 * Both sides come from the same build: another version is refused.
 */

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "plan/plan.h"

/* Append; look at out->failed at the end. */
void bawn_plan_encode(const struct bawn_plan *plan, struct bawn_buf *out);
/*
 * Never reads past `len`, never takes more memory than a small multiple of it. All of `data` must
 * be the plan. Every pointer of the result is as plan.h says (lists are not NULL). -EPROTO if it is
 * not a plan.
 */
int bawn_plan_decode(struct bawn_arena *a, const void *data, size_t len,
	const struct bawn_plan **ret, struct bawn_error *err);
