/* SPDX-License-Identifier: Apache-2.0 */
/* `bawn inspect`: what content would make an agent do, and which secrets it holds. */
#include <errno.h>

#include "cli/cli.h"

static const struct cli_opt inspect_opts[] = {
	{"batch", 0, CLI_TEXT, "KIND", "command,content,code",
		.offset = offsetof(struct cli, batch),
		.help = "vet JSON lines {\"id\",\"text\",\"lang\"?} from standard input"},
	{NULL},
};

static int inspect(struct cli *cli, struct bawn_error *err)
{
	struct bawn_policy_source src;
	const struct bawn_policy *p = NULL;
	int r = cli_policy_source(cli, &src, err);

	if (!r)
		r = bawn_policy_load(cli->arena, &src, &p, err);
	if (r < 0)
		return r;
	if (cli->batch)
		return cli_batch(cli, p, cli->batch, err);
	return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "'bawn inspect' needs '--batch'");
}

const struct cli_cmd cli_cmd_inspect = {
	.name = "inspect",
	.summary = "Look for prompt injection, exfiltration and secrets in content",
	.usage = "[options] [FILE|DIR|-]...",
	.words = "@file",
	.opts = {inspect_opts, cli_place_opts, cli_common_opts},
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_USAGE,
	.run = inspect,
};
