/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Mounts in the making: what root.c and outer.c build with. Nothing here is attached anywhere. */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

/* A new file system; `options` are pairs, ended by NULL. Its descriptor. */
int bawn_mount_new(
	const char *type, const char *const *options, unsigned attrs, struct bawn_error *err);
/* A copy of the mounts at `src` ("": dirfd itself) with these attributes as well. Its descriptor,
 * or a negative errno. */
int bawn_mount_clone(int dirfd, const char *src, uint64_t attrs);
/* The private space of so many bytes. In it are "none" and "none-dir": empty, without any
 * permission, for what is to be hidden. */
int bawn_mount_scratch(uint64_t bytes, struct bawn_error *err);
/* It holds no more than that from now on. Filters of container engines forbid this. */
int bawn_mount_scratch_size(int scratch, uint64_t bytes, struct bawn_error *err);

/* How many files such a space may hold, as a mount option's value. */
void bawn_mount_inodes(uint64_t bytes, char ret[32]);

/* What is masked in /proc: host state that no command needs. The rest is read-only. Ends with a
 * NULL path. */
struct bawn_proc_mask {
	const char *path;
	bool dir;
};
extern const struct bawn_proc_mask bawn_proc_masked[];
