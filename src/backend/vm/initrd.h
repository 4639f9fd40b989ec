/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a guest's kernel starts with: an archive (cpio, "newc") with bawn-inside as /init and the
 * modules as /modules/NN.ko in the order to be loaded. A few megabytes, kept as a file because the
 * machine monitors want one.
 */

#include "backend/vm/kernel.h"
#include "base/arena.h"
#include "base/buf.h"

/* Add one entry; `mode` with its type, `data` of `len` bytes for files. */
void bawn_cpio_add(
	struct bawn_buf *b, const char *name, unsigned mode, const void *data, size_t len);
/* A character device. */
void bawn_cpio_device(struct bawn_buf *b, const char *name, unsigned major, unsigned minor);
/* The end of the archive. */
void bawn_cpio_end(struct bawn_buf *b);

/* The whole archive for this kernel with the program `init`. */
int bawn_initrd_make(const struct bawn_vm_kernel *k, const char *init, struct bawn_buf *out,
	struct bawn_error *err);
/* A file with it among bawn's own, made if it is not there or was made from something else: whole
 * or not at all. */
int bawn_initrd_file(struct bawn_arena *a, const struct bawn_vm_kernel *k, const char *init,
	const char **ret, struct bawn_error *err);
