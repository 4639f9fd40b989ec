/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as Python. */
#define FUZZ_LANG BAWN_LANG_PYTHON
#include "fuzz-code.h"
