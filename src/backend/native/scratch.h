/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The private temporary directory of the Landlock tier, where no mount can make one. Made by the
 * host process under the plan's name, 0700, and removed by it. A keeper (a child in its own session
 * that does nothing else) removes it if the host process is killed.
 */

#include <stdint.h>

#include <sys/types.h>

#include "base/error.h"
#include "plan/plan.h"

struct bawn_scratch {
	int pipe; /* the keeper acts when this is closed */
	pid_t keeper;
	const char *path; /* the caller's */
	bool alone;       /* the keeper has nothing to do but to remove it */
};

#define BAWN_SCRATCH_NONE ((struct bawn_scratch){.pipe = -1})

/* Where the plan wants it; NULL in the other tiers. */
const char *bawn_scratch_of(const struct bawn_plan *plan);
int bawn_scratch_make(const char *path, struct bawn_scratch *ret, struct bawn_error *err);
/*
 * A keeper that first runs `clean` (argv, or NULL for none), unless the run ended by itself, and
 * then removes `path` (made by this; or NULL for none).
 */
int bawn_keeper_start(const char *path, const char *const *clean, struct bawn_scratch *ret,
	struct bawn_error *err);
/* Have it removed and wait for that. */
void bawn_scratch_done(struct bawn_scratch *s);
/* The same when the run ended by itself: nothing to clean up but the directory. */
void bawn_keeper_dismiss(struct bawn_scratch *s);
/* Bytes used below `path`; stops counting at `enough`. */
uint64_t bawn_scratch_usage(const char *path, uint64_t enough);
