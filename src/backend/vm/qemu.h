/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* QEMU's command line, and which of its two ways to run a guest works here. */

#include <stdbool.h>
#include <stdint.h>

#include "backend/vm/kernel.h"
#include "base/arena.h"

/* What a machine is made of. QEMU's standard input is the frames' stream, its standard output the
 * files' stream, its standard error the console: sockets, all three. */
struct bawn_qemu {
	const char *program;
	const struct bawn_vm_kernel *kernel;
	const char *initrd;
	const char *image; /* a disk to be read, or NULL */
	const char *guest; /* the last words for the guest's kernel, see guest.h */
	uint64_t memory_mib;
	unsigned cpus;
	unsigned tsc_khz; /* how fast the processor counts; 0: not known */
	bool kvm;
};

/* NULL if out of memory. */
const char *const *bawn_qemu_argv(struct bawn_arena *a, const struct bawn_qemu *q);

/*
 * Whether KVM runs our guest here: tried once by booting it, bounded in time, and remembered for
 * this QEMU, kernel and host. False when in doubt: emulation always works.
 */
bool bawn_qemu_kvm_works(struct bawn_arena *a, const struct bawn_qemu *q);
/* Ticks of the processor's counter per millisecond, measured; 0 if it has none. */
unsigned bawn_qemu_tsc_khz(void);
