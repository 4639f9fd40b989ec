/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "policy/context.h"

/*
 * Put what a layer asks for (c->layer) into the policy. -EPERM if it would widen what a stronger
 * layer set, or, for the workspace layer, what is the default.
 */
int bawn_merge(const struct bawn_context *c, struct bawn_policy *p, const struct bawn_draft *d);
