/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The door of one run: started early, so that it is ready when the wall is; given the listeners
 * inside the sandbox; heard while the command runs; asked for its figures at the end. A door that
 * cannot start means that nothing runs, one that dies that the command has no network any more.
 */

#include "audit/audit.h"
#include "backend/backend.h"
#include "egress/control.h"
#include "result/result.h"

struct bawn_door;

/* network.mode in the door's words. */
enum bawn_egress_mode bawn_door_mode(enum bawn_netmode mode);

/* Start it for what the plan says; returns at once. With secrets, bawn_door_ca() is needed. */
int bawn_door_open(struct bawn_arena *a, const struct bawn_egress_plan *plan,
	const struct bawn_egress_secret *secrets, size_t n_secrets, struct bawn_door **ret,
	struct bawn_error *err);
/* The certificate of its authority, PEM. */
int bawn_door_ca(struct bawn_door *d, const char **ret, struct bawn_error *err);
/* Hand it the instance's listeners and wait until it accepts. */
int bawn_door_hand(struct bawn_door *d, struct bawn_instance *in, struct bawn_error *err);
/* Its events, for the supervisor: every decision goes into the log, denials into the outcome. */
const struct bawn_watch *bawn_door_watch(
	struct bawn_door *d, struct bawn_audit *audit, const struct bawn_result *r);
/* The run has ended: the figures, and the denials that it had left to tell. The door ends now; free
 * waits for it. */
void bawn_door_end(struct bawn_door *d, struct bawn_network *ret, struct bawn_outcome *outcome);
struct bawn_door *bawn_door_free(struct bawn_door *d);
