/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files to and from a sandbox that shares no file system with us. The writable trees of the plan go
 * in, without what is denied; what the command changed comes back and is applied here, on the host,
 * where the rules hold whatever the inside says:
 *
 *  - each name is opened from its root without following a symbolic link; nothing outside is
 * touched;
 *  - what is protected, guarded, denied or belongs to a read-only mount is refused and reported;
 *  - what was changed on the host meanwhile is kept and reported;
 *  - set-user-id and set-group-id bits do not come back;
 *  - a file is written completely before it gets its name; owner and attributes stay;
 *  - disk_reserve is left free.
 *
 * A refusal concerns one entry; a breach of the protocol ends everything (-EPROTO).
 *
 * Runs in: the pump, a process of the host.
 */

#include <stdbool.h>
#include <stdint.h>

#include "backend/far/frame.h"
#include "base/buf.h"
#include "base/error.h"
#include "plan/plan.h"

struct bawn_transfer;

/* `control` is FS_WRITE, FS_PROTECT, FS_DENY or LIMIT_DISK. */
typedef void bawn_transfer_report_fn(void *data, uint32_t control, const char *text);

/* `have`: inside, the files are there already as copies on write; names and dates are enough. */
int bawn_transfer_new(const struct bawn_plan *plan, bool have, bawn_transfer_report_fn *report,
	void *data, struct bawn_transfer **ret, struct bawn_error *err);
struct bawn_transfer *bawn_transfer_free(struct bawn_transfer *t);

/* Append frames until `out` holds about `enough` bytes. 1: there is more; 0: that was TREE_END. */
int bawn_transfer_send(
	struct bawn_transfer *t, struct bawn_buf *out, size_t enough, struct bawn_error *err);
/* Take an ENTRY, DATA or TREE_END frame from inside. */
int bawn_transfer_take(struct bawn_transfer *t, const struct bawn_frame *f, struct bawn_error *err);
/* How many changes were applied, and how many were not. */
void bawn_transfer_count(const struct bawn_transfer *t, size_t *ret_applied, size_t *ret_refused);

BAWN_DEFINE_CLEANUP(struct bawn_transfer, transfer, bawn_transfer_free)
