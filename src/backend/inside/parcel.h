/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How a handover reaches init: one datagram with the descriptors that the command gets and a memory
 * file with the bytes. Sent by the host process to its own child (native) and to bawn-inside
 * (near).
 */

#include "backend/inside/handover.h"

#define BAWN_PARCEL_FDS 4 /* stdin, stdout, stderr, a memory file with the handover */

/* A sealed memory file with the handover of `in`; its descriptor. */
int bawn_parcel_pack(const struct bawn_init *in, struct bawn_error *err);
/* A negative errno when it cannot be sent. The descriptors stay the caller's. */
int bawn_parcel_send(int sock, const int fds[BAWN_PARCEL_FDS]);
/*
 * Wait for it; into `ret` goes what bawn_handover_decode() fills in, and stdio. -EPIPE if there is
 * nobody to send one any more, or who says to end instead.
 */
int bawn_parcel_take(struct bawn_arena *a, int sock, struct bawn_init *ret, struct bawn_error *err);
