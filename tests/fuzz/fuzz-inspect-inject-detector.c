/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes through the whole injection detector. */
#define FUZZ_SUBJECT .kind = BAWN_KIND_TEXT, .detect = BAWN_DETECT_INJECTION
#include "fuzz-subject.h"
