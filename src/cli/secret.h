/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the two files of `bawn secret` share. */

#include "cli/cli.h"

/* All of them as a table or as JSON. */
void cli_secret_list(struct cli *cli, const struct bawn_secret *v, size_t n);
/* One, line by line; `value` is NULL unless it is to be seen. */
void cli_secret_show(struct cli *cli, const struct bawn_secret *s, const char *value);
