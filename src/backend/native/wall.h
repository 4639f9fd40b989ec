/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pieces of the native wall. All of this runs in the sandbox's init, between clone and the
 * start of the command, in the order of the steps in init.c. Nothing here allocates memory.
 */

#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

/* root.c: the fresh root. Everything that the plan binds, private /tmp and /dev, own /proc; then
 * the old root is gone. */
int bawn_wall_root(const struct bawn_plan *plan, struct bawn_error *err);

/* landlock.c: the second wall. Returns the ABI in force (> 0). */
int bawn_wall_landlock(const struct bawn_plan *plan, struct bawn_error *err);
/* The newest Landlock ABI of this kernel, 0 if there is none. */
int bawn_landlock_abi(void);

/* privilege.c */
int bawn_wall_identity(
	uid_t uid, gid_t gid, struct bawn_error *err); /* id maps of the user namespace */
int bawn_wall_no_privilege(struct bawn_error *err);    /* capabilities, no_new_privs */
int bawn_wall_own_loopback(struct bawn_error *err);    /* bring lo up */
/* Listeners for plan->loopback_ports inside the network namespace. */
int bawn_wall_listen(const struct bawn_plan *plan, int *fds, struct bawn_error *err);
