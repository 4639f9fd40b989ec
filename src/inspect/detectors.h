/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect: every detector, one per file. */

#include "inspect/inspect.h"

extern const struct bawn_detector bawn_detector_shell_rules;
