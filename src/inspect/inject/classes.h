/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/inspect/inject: word classes as masks, and what belongs together. */

#include "inject-lexicon.h"
#include "inspect/inject/inject.h"

#define BIT(class) ((uint64_t)1 << (class))
#define NEAR       2 /* sentences on each side that count as neighbours */
#define OBJECTS    (BIT(LEX_SECRET) | BIT(LEX_PRIVATE))
#define ACTIONS                                                                               \
	(BIT(LEX_EXFIL) | BIT(LEX_DESTROY) | BIT(LEX_EXEC) | BIT(LEX_REVEAL) | BIT(LEX_SAY) | \
		BIT(LEX_PAY) | BIT(LEX_ACT) | BIT(LEX_OVERRIDE) | BIT(LEX_OBEY) | BIT(LEX_TELL))
