/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as JavaScript. */
#define FUZZ_LANG BAWN_LANG_JAVASCRIPT
#include "fuzz-code.h"
