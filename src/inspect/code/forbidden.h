/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect: what the policy forbids in shell scripts, where commands are the
 * functions. */

#include "inspect/inspect.h"

/* A command that would be run, by its name or path. */
int code_forbid_command(struct bawn_scan *s, const struct bawn_subject *sub, const char *command,
	const size_t span[2]);
