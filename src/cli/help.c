/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, made from the tables. */
#include <string.h>

#include "cli/cli.h"

const struct cli_opt *cli_opt_at(const struct cli_cmd *cmd, size_t i)
{
	for (size_t t = 0; t < CLI_TABLES_MAX && cmd->opts[t]; t++)
		for (const struct cli_opt *o = cmd->opts[t]; o->name; o++)
			if (i-- == 0)
				return o;
	return NULL;
}

static void list_cmd(struct bawn_buf *out, const struct cli_cmd *c)
{
	bawn_buf_puts(out, "  ");
	cli_pad(out, c->name, 13);
	bawn_buf_printf(out, "%s\n", c->summary);
}

static void overview(struct bawn_buf *out)
{
	bawn_buf_puts(out,
		"bawn runs the commands of an AI agent behind the strongest wall this host can "
		"prove.\n\n"
		"usage: bawn <verb> [options]\n"
		"       bawn run [options] -- command [argument...]\n\n"
		"verbs:\n");
	for (size_t i = 0; cli_verbs[i]; i++)
		list_cmd(out, cli_verbs[i]);
	bawn_buf_puts(out,
		"\n'bawn help <verb>' shows the options of a verb, 'man bawn' the whole story.\n");
}

static void list_opts(struct bawn_buf *out, const struct cli_cmd *cmd)
{
	const struct cli_opt *o;

	for (size_t i = 0; (o = cli_opt_at(cmd, i)); i++) {
		size_t width = strlen(o->name) + (o->value ? strlen(o->value) + 1 : 0);

		if (o->letter)
			bawn_buf_printf(out, "  -%c, --%s", o->letter, o->name);
		else
			bawn_buf_printf(out, "      --%s", o->name);
		if (o->value)
			bawn_buf_printf(out, " %s", o->value);
		cli_pad(out, "", width < 22 ? 24 - width : 2);
		bawn_buf_printf(out, "%s\n", o->help);
	}
}

void cli_help(const struct cli_cmd *cmd, struct bawn_buf *out)
{
	if (!cmd) {
		overview(out);
		return;
	}
	bawn_buf_printf(out, "usage: bawn %s%s%s %s\n\n%s.\n", cmd->parent ? cmd->parent : "",
		cmd->parent ? " " : "", cmd->name, cmd->usage, cmd->summary);
	if (cmd->about)
		bawn_buf_printf(out, "%s\n", cmd->about);
	if (cmd->subs) {
		bawn_buf_puts(out, "\nverbs:\n");
		for (const struct cli_cmd *s = cmd->subs; s->name; s++)
			list_cmd(out, s);
		return;
	}
	bawn_buf_puts(out, "\noptions:\n");
	list_opts(out, cmd);
}
