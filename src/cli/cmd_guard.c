/* SPDX-License-Identifier: Apache-2.0 */
/* `bawn guard`: one command, vetted first, then let through, confined or blocked by its verdict. */
#include "cli/cli.h"

static int run(struct cli *cli, struct bawn_error *err)
{
	return cli_run_command(cli, true, err);
}

const struct cli_cmd cli_cmd_guard = {
	.name = "guard",
	.summary = "Vet a command, then let it through, confine or block it",
	.usage = "[options] [--] command [argument...]",
	.about =
		"SAFE runs as it is, SUSPICIOUS runs confined, MALICIOUS does not run (126). Until the\n"
		"policy says enforcement.enabled: true everything is let through and only recorded.\n"
		"Exit status: the command's own; 124 timed out, 125 refused before anything ran,\n"
		"126 blocked or not executable, 127 not found, 128+N killed by signal N.",
	.words = "@command",
	.opts = {cli_policy_opts, cli_secret_opts, cli_call_opts, cli_result_opts, cli_common_opts},
	.command = true,
	.usage_status = BAWN_EXIT_REFUSED,
	.failed_status = BAWN_EXIT_REFUSED,
	.run = run,
};
