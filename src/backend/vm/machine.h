/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What all virtual machines have in common, whoever monitors them: a kernel, its first files, the
 * file server, and a console that tells why it did not work.
 *
 *   host process ──┬── [native wall] monitor ── guest: bawn-inside ── command
 *                  │        └ two streams ┘
 *                  └── [native wall] bawn-inside files
 *
 * Runs in: the host process.
 */

#include <limits.h>

#include "backend/vm/console.h"
#include "backend/vm/jail.h"
#include "backend/vm/jailer.h"
#include "backend/vm/kernel.h"

/* An emulated guest on a busy host is slow, but not that slow. */
#define BAWN_MACHINE_BOOT_MS 60000

struct bawn_machine {
	struct bawn_arena *a; /* NULL: nothing was begun */
	const struct bawn_plan *plan;
	struct bawn_vm_kernel kernel;
	char inside[PATH_MAX]; /* bawn-inside */
	const char *initrd;
	struct bawn_jail monitor, files;
	struct bawn_jailer jailer; /* instead of `monitor`, if there is one */
	struct bawn_console console;
};

/* Find the parts. */
int bawn_machine_init(struct bawn_machine *m, const struct bawn_plan *plan, struct bawn_error *err);
/* Serve the plan's read-only mounts on the stream `fd`. */
int bawn_machine_serve(struct bawn_machine *m, int fd, struct bawn_error *err);
/* Memory for the guest: that of the command, and what the guest needs itself. */
uint64_t bawn_machine_memory_mib(const struct bawn_plan *plan);
unsigned bawn_machine_cpus(const struct bawn_plan *plan);
/* "guest … files" or "guest … disk" */
const char *bawn_machine_words(const struct bawn_machine *m, const char *stream);
/* The error that the machine's last words amount to. */
int bawn_machine_failed(struct bawn_machine *m, const char *what, struct bawn_error *err);
/* End all of it. Safe when nothing was begun, and twice. */
void bawn_machine_end(struct bawn_machine *m);
