/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kernel that a guest boots: where it is and which modules go with it. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct bawn_vm_kernel {
	char image[PATH_MAX];   /* bzImage or, if there is one, the ELF image (vmlinux) */
	char modules[PATH_MAX]; /* directory of modules; "": everything is built in */
	bool elf;               /* it is an ELF image: Firecracker takes nothing else */
	bool flat;              /* modules lie in that directory itself, not as in /lib/modules */
};

/*
 * `setting` is enforcement.vm.kernel; if empty, what tools/vm-kernel.sh has set up is used, else a
 * Debian cloud kernel that is installed. -ENOENT with BAWN_ERR_UNSUPPORTED and the remedy if there
 * is none; BAWN_ERR_BACKEND if the named one cannot be read or is no kernel.
 */
int bawn_vm_kernel_find(const char *setting, struct bawn_vm_kernel *ret, struct bawn_error *err);

extern const char bawn_vm_kernel_remedy[];

/* The modules that a guest needs as far as the kernel has not got them built in, in the order to be
 * loaded; NULL past the end. `dir` is where they are in /lib/modules/RELEASE/kernel. */
struct bawn_vm_module {
	const char *name;
	const char *dir;
};
const struct bawn_vm_module *bawn_vm_module_at(size_t i);

/* Add what tells a file from what it was before: path, size, time, inode. For names of what was
 * made from it. */
void bawn_vm_identity(struct bawn_buf *b, const char *path);
