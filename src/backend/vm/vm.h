/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A far backend (far/far.h) whose tool is a machine: what QEMU's and Firecracker's have in common.
 */

#include "backend/far/far.h"
#include "backend/vm/machine.h"

struct bawn_vm {
	struct bawn_far far;
	struct bawn_machine machine;
	struct bawn_far_tool tool; /* if it is not the constant one … */
	char program[PATH_MAX];    /* … but this program */
};

struct bawn_vm *bawn_vm_of(struct bawn_instance *in);

int bawn_vm_prepare(struct bawn_instance *in, const struct bawn_far_tool *tool,
	const struct bawn_plan *plan, const int stdio[3], struct bawn_error *err);
/* As bawn_far_await; what the machine said last is in the error. */
int bawn_vm_await(struct bawn_instance *in, struct bawn_error *err);
void bawn_vm_destroy(struct bawn_instance *in);
/* What holds by there being another machine, whatever its kernel does. */
uint32_t bawn_vm_claims(const struct bawn_plan *plan, uint32_t inside);
/* Build the wall around nothing and take it down again. */
void bawn_vm_probe(const struct bawn_backend *be, const char *program, const char *remedy,
	struct bawn_probe *ret);

/* What backends that are machines have in common. */
#define BAWN_VM_BACKEND                                                                            \
	.abi = BAWN_BACKEND_ABI, .level = BAWN_LEVEL_VM, .tier = BAWN_TIER_FAR,                    \
	.image = BAWN_IMAGE_DISK, .instance_size = sizeof(struct bawn_vm), .await = bawn_vm_await, \
	.start = bawn_far_start, .event = bawn_far_event, .signal = bawn_far_signal,               \
	.usage = bawn_far_usage, .destroy = bawn_vm_destroy
