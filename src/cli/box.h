/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the two files of `bawn box` share. */

#include "box/box.h"
#include "cli/cli.h"

/* cmd_box.c: lines of the engine as progress, where a person looks. */
struct bawn_box_watch cli_box_watch(struct cli *cli);

/* cmd_box_image.c */
extern const struct cli_opt cli_box_image_opts[];
extern const struct cli_opt cli_box_check_opts[];
int cli_box_build(struct cli *cli, struct bawn_error *err);
int cli_box_image(struct cli *cli, struct bawn_error *err);
int cli_box_rebuild(struct cli *cli, struct bawn_error *err);
int cli_box_invalidate(struct cli *cli, struct bawn_error *err);
