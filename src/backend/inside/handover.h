/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What bawn-inside is given: all that init needs, as bytes. The system call filters come along
 * ready-made, so that bawn-inside links no compiler of them. Both sides come from the same build on
 * the same machine; anything else is refused.
 */

#include "backend/native/init.h"
#include "base/arena.h"
#include "base/buf.h"

/* Of `in`: plan, uid, gid, by_cgroup, groups_follow, outer, base, notify. Look at out->failed at
 * the end. */
void bawn_handover_encode(const struct bawn_init *in, struct bawn_buf *out);
/* The other way round, and the tier; members not named above are left alone. -EPROTO if it is no
 * handover. */
int bawn_handover_decode(struct bawn_arena *a, const void *data, size_t len, struct bawn_init *ret,
	struct bawn_error *err);
