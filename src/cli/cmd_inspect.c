/* SPDX-License-Identifier: Apache-2.0 */
/* `bawn inspect`: what content would make an agent do, and which secrets it holds. */
#include <errno.h>

#include "cli/vet.h"

#define AT(name_, letter_, kind_, value_, words_, member_, help_)                           \
	{                                                                                   \
		.name = (name_), .letter = (letter_), .kind = (kind_), .value = (value_),   \
		.words = (words_), .offset = offsetof(struct cli, member_), .help = (help_) \
	}

static const struct cli_opt inspect_opts[] = {
	AT("redact", 'r', CLI_FLAG, NULL, NULL, redact,
		"pass the content on with secrets masked and hidden text shown"),
	AT("detect", 'd', CLI_TEXT, "KINDS", "injection,secrets,policy,all", detect,
		"what to look for (default: injection,secrets,policy)"),
	AT("batch", 0, CLI_TEXT, "KIND", "command,content,code", batch,
		"vet JSON lines {\"id\",\"text\",\"lang\"?} from standard input"),
	{NULL},
};

const struct cli_opt cli_vet_opts[] = {
	AT("mode", 'M', CLI_TEXT, "MODE", "strict,standard,lenient", mode,
		"how strictly to read (default: by path)"),
	AT("verbose", 'v', CLI_FLAG, NULL, NULL, verbose, "show weak hints and clean files too"),
	AT("sarif", 0, CLI_FLAG, NULL, NULL, sarif, "print SARIF 2.1.0 on standard output"),
	{NULL},
};

static int batch(struct cli *cli, struct bawn_error *err)
{
	struct bawn_policy_source src;
	const struct bawn_policy *p = NULL;
	unsigned detect = BAWN_DETECT_ALL;
	int r;

	if (cli->args.n || cli->redact || cli->sarif || cli->mode)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--batch' reads standard input and takes no files and no options "
			"but '--detect', '--policy' and '--workspace'");
	r = cli->detect ? vet_parse_detect(cli->detect, &detect, err) : 0;
	if (!r)
		r = cli_policy_source(cli, &src, err);
	if (!r)
		r = bawn_policy_load(cli->arena, &src, &p, err);
	return r < 0 ? r : cli_batch(cli, p, cli->batch, detect, err);
}

static int inspect(struct cli *cli, struct bawn_error *err)
{
	struct vet v = {
		.detect = BAWN_DETECT_INJECTION | BAWN_DETECT_SECRETS | BAWN_DETECT_POLICY,
		.redact = cli->redact,
	};
	int r;

	if (cli->batch)
		return batch(cli, err);
	if (cli->redact && (cli->json || cli->sarif))
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'--redact' has standard output for the content; leave out '--json' and "
			"'--sarif'");
	r = vet_start(&v, cli, err);
	if (!r) {
		v.progress = cli_shows_progress(cli) && !cli->redact;
		vet_report_begin(&v);
	}
	for (size_t i = 0; !r && i < cli->args.n; i++)
		r = vet_path(&v, cli->args.v[i], vet_fd, err);
	if (!r && !cli->args.n)
		r = vet_path(&v, "-", vet_fd, err);
	if (r >= 0)
		r = vet_report_end(&v, err);
	vet_stop(&v);
	return r < 0 ? r : vet_status(&v);
}

const struct cli_cmd cli_cmd_inspect = {
	.name = "inspect",
	.summary = "Look for prompt injection, exfiltration and secrets in content",
	.usage = "[options] [FILE|DIR|-]...",
	.about =
		"Directories are read whole, but for version control's own files; links in them are "
		"not followed.\n"
		"Exit status: 0 nothing was found, 1 something is suspicious or worse, 2 usage, or\n"
		"something could not be read.",
	.words = "@file",
	.opts = {inspect_opts, cli_vet_opts, cli_place_opts, cli_common_opts},
	.usage_status = VET_FAILED,
	.failed_status = VET_FAILED,
	.run = inspect,
};
