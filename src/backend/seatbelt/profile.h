/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A plan (of BAWN_TIER_LANDLOCK: paths as they are, nothing is mounted) as a profile of macOS's
 * sandbox, in SBPL: rules from top to bottom, the last one that matches decides.
 *
 *   strict    deny by default; reading is limited to what the plan grants
 *   moderate  the same for writing, network and denied paths, but everything else may be read, and
 *             all services and settings of the system are within reach
 *   a path    a profile of the operator's own; it gets parameters
 */

#include "base/buf.h"
#include "base/error.h"
#include "plan/plan.h"

#define BAWN_SEATBELT_PROGRAM "/usr/bin/sandbox-exec"

/* True if the plan names a profile of the operator's own, which says nothing about this plan. */
bool bawn_seatbelt_is_custom(const struct bawn_plan *plan);
/*
 * Append the profile. BAWN_ERR_UNSUPPORTED for what cannot be said in one (the door, control
 * characters in a path): it is never left out.
 */
int bawn_seatbelt_profile(
	const struct bawn_plan *plan, struct bawn_buf *out, struct bawn_error *err);
/* The command line that runs the plan's command in its profile, NULL-terminated, in *ret. */
int bawn_seatbelt_argv(struct bawn_arena *a, const struct bawn_plan *plan, const char *const **ret,
	struct bawn_error *err);
/* The controls that the generated profile enforces for this plan. */
uint32_t bawn_seatbelt_claims(const struct bawn_plan *plan);
