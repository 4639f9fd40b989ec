/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One policy for every tool: what `bawn run` would keep a command from, a file or web tool of the
 * agent is kept from as well. */

#include "serve/hook.h"

/* Findings of category policy for paths and hosts that the policy denies. */
int bawn_tool_policy(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_tool_call *c, struct bawn_findings *out, struct bawn_error *err);
