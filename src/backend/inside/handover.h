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

/* The first datagram to bawn-inside: this, with BAWN_PARCEL_FDS descriptors. */
struct bawn_parcel {
	uint32_t magic;
	uint32_t size; /* of the handover in the memory file */
};

#define BAWN_PARCEL_MAGIC UINT32_C(0x6277696e)
#define BAWN_PARCEL_FDS   4 /* stdin, stdout, stderr, a memory file with the handover */

/* Of `in`: plan, uid, gid, by_cgroup, outer, base, notify. Look at out->failed at the end. */
void bawn_handover_encode(const struct bawn_init *in, struct bawn_buf *out);
/* The other way round; members not named above are left alone. -EPROTO if it is no handover. */
int bawn_handover_decode(struct bawn_arena *a, const void *data, size_t len, struct bawn_init *ret,
	struct bawn_error *err);
