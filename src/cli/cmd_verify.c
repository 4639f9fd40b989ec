/* SPDX-License-Identifier: Apache-2.0 */
/* `bawn verify`: what a source file would do when it is run. Nothing of it is. */
#include <errno.h>

#include "cli/vet.h"

#define SETTING(name_, value_, words_, key_, help_)                                         \
	{                                                                                   \
		.name = (name_), .kind = CLI_SETTING, .value = (value_), .words = (words_), \
		.key = (key_), .help = (help_)                                              \
	}

static const struct cli_opt verify_opts[] = {
	{.name = "lang",
		.letter = 'l',
		.kind = CLI_TEXT,
		.value = "LANG",
		.words = "bash,python,go,javascript,auto",
		.offset = offsetof(struct cli, lang),
		.help = "bash, python, go, javascript, or auto (default)"},
	SETTING("block-module", "NAME", NULL, "verify.blocked_modules",
		"a module that must not be used; may be repeated"),
	SETTING("block-function", "NAME", NULL, "verify.blocked_functions",
		"a function that must not be called; may be repeated"),
	SETTING("block-pattern", "REGEX", NULL, "verify.blocked_patterns",
		"what must not occur; may be repeated"),
	SETTING("allow-path", "PATH", "@file", "verify.allowed_paths",
		"a path that may be touched; may be repeated"),
	{NULL},
};

static int verify(struct cli *cli, struct bawn_error *err)
{
	struct vet v = {
		.verify = true,
		.detect = BAWN_DETECT_CODE | BAWN_DETECT_COMMAND | BAWN_DETECT_POLICY,
	};
	int r;

	if (!cli->args.n)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'bawn verify' needs a file, or '-' for standard input");
	r = vet_start(&v, cli, err);
	if (!r) {
		v.progress = cli_shows_progress(cli);
		vet_report_begin(&v);
	}
	for (size_t i = 0; !r && i < cli->args.n; i++)
		r = vet_path(&v, cli->args.v[i], vet_code, err);
	if (r >= 0)
		r = vet_report_end(&v, err);
	vet_stop(&v);
	return r < 0 ? r : vet_status(&v);
}

const struct cli_cmd cli_cmd_verify = {
	.name = "verify",
	.summary = "Look at source code for what it would do: bash, python, go, javascript",
	.usage = "[options] FILE|DIR|-...",
	.about =
		"Nothing of the code is run. In a directory, files of other languages are left out.\n"
		"Exit status: 0 no error was found, 1 one was found, 2 usage, or something could not "
		"be read.",
	.words = "@file",
	.opts = {verify_opts, cli_vet_opts, cli_place_opts, cli_common_opts},
	.usage_status = VET_FAILED,
	.failed_status = VET_FAILED,
	.run = verify,
};
