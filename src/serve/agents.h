/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/serve: every agent whose hooks we speak, one per file. */

#include "serve/hook.h"

extern const struct bawn_hook_agent bawn_hook_claude_code;
