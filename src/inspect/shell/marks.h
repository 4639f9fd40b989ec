/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Marks that the reader leaves in a word for what was not quoted. */

#include "inspect/shell/shell.h"

#define MARK_SPLIT '\x01'
#define MARK_OPEN  '\x02'
#define MARK_COMMA '\x03'
#define MARK_CLOSE '\x04'
#define MARK_ITEM  '\x05' /* between the items of an array */
