/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as Python. */
#define FUZZ_SUBJECT                                      \
	.kind = BAWN_KIND_CODE, .lang = BAWN_LANG_PYTHON, \
	.detect = BAWN_DETECT_CODE | BAWN_DETECT_COMMAND
#include "fuzz-subject.h"
