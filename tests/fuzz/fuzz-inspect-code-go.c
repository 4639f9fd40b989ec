/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as Go. */
#define FUZZ_LANG BAWN_LANG_GO
#include "fuzz-code.h"
