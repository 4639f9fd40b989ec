/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A helper program of a run — a machine monitor, the file server — behind the native wall: it sees
 * only what is named here, has no network, and dies with the host process.
 *
 * Runs in: the host process.
 */

#include "backend/backend.h"
#include "base/arena.h"

struct bawn_jail {
	struct bawn_instance *in;
	struct bawn_plan plan;
	struct bawn_call call;
	size_t cap;
	struct bawn_arena *a; /* the caller's; lives longer than the jail */
};

/* An empty jail for the run of `plan`, whose processor limits it takes over. */
void bawn_jail_init(struct bawn_jail *j, struct bawn_arena *a, const struct bawn_plan *plan);
/* What the program may see; strings are not copied. 0 or -ENOMEM. */
int bawn_jail_add(struct bawn_jail *j, struct bawn_mount m);
int bawn_jail_mount(struct bawn_jail *j, enum bawn_mount_kind kind, const char *path);
/* What programs of the system need in order to start. */
int bawn_jail_system(struct bawn_jail *j);
/* Start `argv` (argv[0] is the program's path) with these three descriptors. It runs when this
 * returns. */
int bawn_jail_start(
	struct bawn_jail *j, const char *const *argv, const int stdio[3], struct bawn_error *err);
/* Kill it and wait until it is gone. Safe when it was never started, and twice. */
void bawn_jail_end(struct bawn_jail *j);
