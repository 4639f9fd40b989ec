/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Findings in code as violations: what `bawn verify` says about them. */

#include "inspect/inspect.h"

/*
 * One of blocked_module, blocked_function, dangerous_pattern, file_access, network_access,
 * system_call, whichever detector the finding comes from: a command inside code is a system call
 * unless it is about files or the network.
 */
const char *bawn_violation_type(const struct bawn_finding *f);
