/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect: every detector, one per file or folder. */

#include "inspect/inspect.h"

extern const struct bawn_detector
	bawn_detector_shell_rules; /* shell_rules.c: the policy's own rules */
extern const struct bawn_detector bawn_detector_operator; /* operator.c: rules of the policy */
extern const struct bawn_detector bawn_detector_shell;    /* shell/: what a command would do */
extern const struct bawn_detector bawn_detector_code;     /* code/: what a source file would do */
extern const struct bawn_detector
	bawn_detector_inject; /* inject/: instructions aimed at an agent */
extern const struct bawn_detector bawn_detector_secret; /* secret/: credentials */
