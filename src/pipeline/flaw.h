/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Backends behind whose walls something common does not work (struct bawn_instance, `flaw`). That
 * shows only when one stands, so it is remembered in the state directory as long as the backend's
 * program is the same: the next call does not begin with a wall that is then taken down again.
 */

#include "backend/backend.h"

/* What was found out about `be`; NULL if nothing is known. */
const char *bawn_flaw_recall(struct bawn_arena *a, const struct bawn_backend *be);
/* As good as it can be: who cannot remember finds out again. */
void bawn_flaw_remember(struct bawn_arena *a, const struct bawn_backend *be, const char *flaw);
