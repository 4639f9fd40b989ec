/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bawn help` and `bawn version`. With --json, help prints every table of the program: agents read
 * it instead of scraping texts, and the test that compares the man pages with the program does too.
 */
#include <errno.h>
#include <string.h>

#include "backend/backend.h"
#include "base/control.h"
#include "cli/cli.h"

static void json_cmd(struct bawn_buf *b, const struct cli_cmd *c)
{
	const struct cli_opt *o;

	cli_json_next(b);
	bawn_buf_printf(b, "{\"verb\":\"%s%s%s\"", c->parent ? c->parent : "", c->parent ? " " : "",
		c->name);
	cli_json_key(b, "summary");
	cli_json_str(b, c->summary);
	cli_json_key(b, "usage");
	cli_json_str(b, c->usage);
	cli_json_key(b, "options");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; (o = cli_opt_at(c, i)); i++) {
		const char letter[2] = {o->letter, '\0'};

		cli_json_next(b);
		bawn_buf_puts(b, "{");
		cli_json_key(b, "name");
		cli_json_str(b, o->name);
		cli_json_key(b, "letter");
		cli_json_str(b, o->letter ? letter : NULL);
		cli_json_key(b, "value");
		cli_json_str(b, o->value);
		cli_json_key(b, "setting");
		cli_json_str(b, o->key);
		cli_json_key(b, "help");
		cli_json_str(b, o->help);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]}");
}

static void json_words(struct bawn_buf *b)
{
	const struct bawn_field_info *f;
	const int statuses[] = {BAWN_EXIT_TIMEOUT, BAWN_EXIT_REFUSED, BAWN_EXIT_BLOCKED,
		BAWN_EXIT_NOT_FOUND, BAWN_EXIT_SIGNAL};

	cli_json_key(b, "settings");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; (f = bawn_field_at(i)); i++) {
		cli_json_next(b);
		cli_json_str(b, f->key);
	}
	bawn_buf_puts(b, "]");
	cli_json_key(b, "controls");
	cli_json_controls(b, (1u << BAWN_CTL_COUNT) - 1);
	cli_json_key(b, "error_kinds");
	bawn_buf_puts(b, "[");
	for (int k = BAWN_ERR_NONE + 1; k < _BAWN_ERR_MAX; k++) {
		cli_json_next(b);
		cli_json_str(b, bawn_errkind_name((enum bawn_errkind)k));
	}
	bawn_buf_puts(b, "]");
	cli_json_key(b, "exit_statuses");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		cli_json_next(b);
		bawn_buf_printf(b, "%d", statuses[i]);
	}
	bawn_buf_puts(b, "]");
}

static void json_all(struct bawn_buf *b, const struct cli_cmd *only)
{
	bawn_buf_puts(b, "{");
	cli_json_key(b, "schema");
	cli_json_str(b, "bawn/help/v1");
	cli_json_key(b, "verbs");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; cli_verbs[i]; i++) {
		const struct cli_cmd *c = cli_verbs[i];

		if (!c->subs && (!only || only == c))
			json_cmd(b, c);
		for (const struct cli_cmd *s = c->subs; s && s->name; s++)
			if (!only || only == s || only == c)
				json_cmd(b, s);
	}
	bawn_buf_puts(b, "]");
	if (!only)
		json_words(b);
	bawn_buf_puts(b, "}\n");
}

static int help(struct cli *cli, struct bawn_error *err)
{
	const struct cli_cmd *cmd = NULL;
	int r = 0;

	if (cli->args.n > 0)
		r = cli_find_cmd(cli->args.v[0], &cmd, err);
	if (r >= 0 && cli->args.n > 1 && cmd->subs)
		r = cli_find_sub(cmd, cli->args.v[1], &cmd, err);
	if (r < 0)
		return r;
	if (cli->json)
		json_all(&cli->out, cmd);
	else
		cli_help(cmd, &cli->out);
	return 0;
}

#ifdef BAWN_STATIC
#define LINKED "static"
#else
#define LINKED "dynamic"
#endif
#ifdef __OPTIMIZE__
#define OPTIMIZED "optimized"
#else
#define OPTIMIZED "not optimized"
#endif

static int version(struct cli *cli, struct bawn_error *err)
{
	struct bawn_buf *b = &cli->out;
	const struct bawn_backend *be;

	if (cli->args.n)
		return bawn_fail(
			err, BAWN_ERR_USAGE, -EINVAL, "unexpected argument '%s'", cli->args.v[0]);
	if (!cli->json) {
		bawn_buf_printf(b, "bawn %s\nbuilt: %s, %s, compiler %s\nbackends:", BAWN_VERSION,
			LINKED, OPTIMIZED, __VERSION__);
		for (size_t i = 0; (be = bawn_backend_at(i)); i++)
			bawn_buf_printf(b, " %s", be->name);
		bawn_buf_puts(b, "\n");
		return 0;
	}
	bawn_buf_puts(b, "{");
	cli_json_key(b, "schema");
	cli_json_str(b, "bawn/version/v1");
	cli_json_key(b, "version");
	cli_json_str(b, BAWN_VERSION);
	cli_json_key(b, "linked");
	cli_json_str(b, LINKED);
	cli_json_key(b, "compiler");
	cli_json_str(b, __VERSION__);
	cli_json_key(b, "backends");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; (be = bawn_backend_at(i)); i++) {
		cli_json_next(b);
		cli_json_str(b, be->name);
	}
	bawn_buf_puts(b, "]}\n");
	return 0;
}

const struct cli_cmd cli_cmd_help = {
	.name = "help",
	.summary = "Show help, for all or for one verb",
	.usage = "[verb]",
	.words = "@verb",
	.opts = {cli_common_opts},
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_FAILED,
	.run = help,
};

const struct cli_cmd cli_cmd_version = {
	.name = "version",
	.summary = "Show the version and how it was built",
	.usage = "",
	.opts = {cli_common_opts},
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_FAILED,
	.run = version,
};
