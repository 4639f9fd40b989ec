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
/*
 * The network namespace, made by a helper that shares our memory and descriptors while we go on:
 * making one costs as much as all mounts together. Begin after descriptors were closed; join before
 * capabilities are dropped. A helper that failed fails the join. With `loopback` the namespace has
 * a loopback of its own.
 */
int bawn_wall_network_begin(bool loopback, struct bawn_error *err);
int bawn_wall_network_join(struct bawn_error *err);
/* Listeners for plan->loopback_ports inside the network namespace. */
int bawn_wall_listen(const struct bawn_plan *plan, int *fds, struct bawn_error *err);
