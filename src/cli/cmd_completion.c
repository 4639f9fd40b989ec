/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bawn completion`: completion scripts for shells, made from the tables, so that they cannot lag
 * behind. The scripts hold only words; everything is decided here.
 */
#include <errno.h>
#include <string.h>

#include "backend/backend.h"
#include "base/control.h"
#include "cli/cli.h"

typedef void shell_fn(struct bawn_buf *b);

/* Words separated by `sep`; nothing for "@file", "@dir", "@command". */
static void put_words(struct bawn_buf *b, const char *words, char sep)
{
	const char *name;

	if (words[0] != '@') {
		for (const char *p = words; *p; p++)
			bawn_buf_add(b, *p == ',' ? &sep : p, 1);
		return;
	}
	if (!strcmp(words, "@control")) {
		for (unsigned i = 0; (name = bawn_control_name(i)); i++)
			bawn_buf_printf(b, "%.*s%s", i > 0, &sep, name);
	} else if (!strcmp(words, "@backend")) {
		const struct bawn_backend *be;

		bawn_buf_puts(b, "auto");
		for (size_t i = 0; (be = bawn_backend_at(i)); i++)
			bawn_buf_printf(b, "%c%s", sep, be->name);
	} else if (!strcmp(words, "@verb")) {
		for (size_t i = 0; cli_verbs[i]; i++)
			bawn_buf_printf(b, "%.*s%s", i > 0, &sep, cli_verbs[i]->name);
	} else {
		for (unsigned i = 0; (name = bawn_enum_name(words + 1, i)); i++)
			bawn_buf_printf(b, "%.*s%s", i > 0, &sep, name);
	}
}

static bool is(const char *words, const char *what)
{
	return words && !strcmp(words, what);
}

/* Called for each verb without parts and for each part. */
static void each_cmd(struct bawn_buf *b, void (*fn)(struct bawn_buf *b, const struct cli_cmd *c))
{
	for (size_t i = 0; cli_verbs[i]; i++) {
		if (!cli_verbs[i]->subs)
			fn(b, cli_verbs[i]);
		for (const struct cli_cmd *s = cli_verbs[i]->subs; s && s->name; s++)
			fn(b, s);
	}
}

/* bash */

static void bash_values(struct bawn_buf *b, const struct cli_opt *o)
{
	bawn_buf_printf(b, "\t\t--%s", o->name);
	if (o->letter)
		bawn_buf_printf(b, " | -%c", o->letter);
	bawn_buf_puts(b, ") ");
	if (is(o->words, "@file")) {
		bawn_buf_puts(b, "COMPREPLY=($(compgen -f -- \"$cur\"))");
	} else if (is(o->words, "@dir")) {
		bawn_buf_puts(b, "COMPREPLY=($(compgen -d -- \"$cur\"))");
	} else if (o->words) {
		bawn_buf_puts(b, "COMPREPLY=($(compgen -W '");
		put_words(b, o->words, ' ');
		bawn_buf_puts(b, "' -- \"$cur\"))");
	} else {
		bawn_buf_puts(b, "COMPREPLY=()");
	}
	bawn_buf_puts(b, "; return ;;\n");
}

static void bash_cmd(struct bawn_buf *b, const struct cli_cmd *c)
{
	const struct cli_opt *o;

	bawn_buf_printf(b, "\t'%s%s%s')\n\t\tcase $prev in\n", c->parent ? c->parent : "",
		c->parent ? " " : "", c->name);
	for (size_t i = 0; (o = cli_opt_at(c, i)); i++)
		if (o->value)
			bash_values(b, o);
	bawn_buf_puts(b, "\t\tesac\n\t\topts='");
	for (size_t i = 0; (o = cli_opt_at(c, i)); i++)
		bawn_buf_printf(b, "%s--%s", i ? " " : "", o->name);
	bawn_buf_puts(b, "'\n\t\targs='");
	if (c->words && (c->words[0] != '@' || is(c->words, "@verb")))
		put_words(b, c->words, ' ');
	bawn_buf_printf(b, "'\n\t\tkind='%s' ;;\n",
		is(c->words, "@file")      ? "-f"
		: is(c->words, "@command") ? "-c"
					   : "");
}

static void bash(struct bawn_buf *b)
{
	bawn_buf_puts(b, "# bash completion for bawn; made by 'bawn completion bash'\n"
			 "_bawn()\n{\n"
			 "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
			 "\tlocal verb=${COMP_WORDS[1]} opts='' args='' kind=''\n"
			 "\tCOMPREPLY=()\n"
			 "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
			 "\t\tCOMPREPLY=($(compgen -W '");
	put_words(b, "@verb", ' ');
	bawn_buf_puts(b, " --help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $verb in\n");
	for (size_t i = 0; cli_verbs[i]; i++) {
		if (!cli_verbs[i]->subs)
			continue;
		bawn_buf_printf(b,
			"\t%s)\n\t\tif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
			"\t\t\tCOMPREPLY=($(compgen -W '",
			cli_verbs[i]->name);
		put_words(b, cli_verbs[i]->words, ' ');
		bawn_buf_puts(b, " --help' -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n"
				 "\t\tverb=\"$verb ${COMP_WORDS[2]}\" ;;\n");
	}
	bawn_buf_puts(b, "\tesac\n\tcase $verb in\n");
	each_cmd(b, bash_cmd);
	bawn_buf_puts(b,
		"\tesac\n"
		"\tcase $cur in\n"
		"\t-*) COMPREPLY=($(compgen -W \"$opts\" -- \"$cur\")) ;;\n"
		"\t*) COMPREPLY=($(compgen ${kind:+\"$kind\"} -W \"$args\" -- \"$cur\")) ;;\n"
		"\tesac\n}\n"
		"complete -o bashdefault -o default -F _bawn bawn\n");
}

/* zsh */

/* Text inside '…[…]': brackets and colons mean something there. */
static void zsh_text(struct bawn_buf *b, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			bawn_buf_puts(b, "'\\'");
		else if (strchr("[]:\\", *s))
			bawn_buf_puts(b, "\\");
		bawn_buf_add(b, s, 1);
	}
}

static void zsh_action(struct bawn_buf *b, const char *words)
{
	if (is(words, "@file")) {
		bawn_buf_puts(b, "_files");
	} else if (is(words, "@dir")) {
		bawn_buf_puts(b, "_files -/");
	} else if (is(words, "@command")) {
		bawn_buf_puts(b, "_normal");
	} else if (words) {
		bawn_buf_puts(b, "(");
		put_words(b, words, ' ');
		bawn_buf_puts(b, ")");
	}
}

static void zsh_opt(
	struct bawn_buf *b, const struct cli_opt *o, const char *dashes, const char *name)
{
	bawn_buf_printf(b, " \\\n\t\t\t'*%s%s%s[", dashes, name, o->value && dashes[1] ? "=" : "");
	zsh_text(b, o->help);
	bawn_buf_puts(b, "]");
	if (o->value) {
		bawn_buf_puts(b, ":");
		zsh_text(b, o->value);
		bawn_buf_puts(b, ":");
		zsh_action(b, o->words);
	}
	bawn_buf_puts(b, "'");
}

static void zsh_cmd(struct bawn_buf *b, const struct cli_cmd *c)
{
	const struct cli_opt *o;

	bawn_buf_printf(b, "\t'%s%s%s')\n\t\t_arguments -s%s", c->parent ? c->parent : "",
		c->parent ? " " : "", c->name, c->command ? " -A '-*'" : "");
	for (size_t i = 0; (o = cli_opt_at(c, i)); i++) {
		const char letter[2] = {o->letter, '\0'};

		zsh_opt(b, o, "--", o->name);
		if (o->letter)
			zsh_opt(b, o, "-", letter);
	}
	if (c->words) {
		bawn_buf_puts(
			b, c->command ? " \\\n\t\t\t'*::command:" : " \\\n\t\t\t'*:argument:");
		zsh_action(b, c->words);
		bawn_buf_puts(b, "'");
	}
	bawn_buf_puts(b, " ;;\n");
}

static void zsh(struct bawn_buf *b)
{
	bawn_buf_puts(b, "#compdef bawn\n"
			 "# zsh completion for bawn; made by 'bawn completion zsh'\n"
			 "_bawn() {\n"
			 "\tlocal verb=$words[2]\n"
			 "\tif (( CURRENT == 2 )); then\n"
			 "\t\tcompadd -- ");
	put_words(b, "@verb", ' ');
	bawn_buf_puts(b, " --help --version\n\t\treturn\n\tfi\n\tcase $verb in\n");
	for (size_t i = 0; cli_verbs[i]; i++) {
		if (!cli_verbs[i]->subs)
			continue;
		bawn_buf_printf(b, "\t%s)\n\t\tif (( CURRENT == 3 )); then\n\t\t\tcompadd -- ",
			cli_verbs[i]->name);
		put_words(b, cli_verbs[i]->words, ' ');
		bawn_buf_puts(b,
			" --help\n\t\t\treturn\n\t\tfi\n"
			"\t\tverb=\"$verb $words[3]\"\n\t\tshift words\n\t\t(( CURRENT-- )) ;;\n");
	}
	bawn_buf_puts(b, "\tesac\n\tshift words\n\t(( CURRENT-- ))\n\tcase $verb in\n");
	each_cmd(b, zsh_cmd);
	bawn_buf_puts(b, "\tesac\n}\n\n_bawn \"$@\"\n");
}

/* fish */

static void fish_text(struct bawn_buf *b, const char *s)
{
	bawn_buf_puts(b, "'");
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			bawn_buf_puts(b, "\\");
		bawn_buf_add(b, s, 1);
	}
	bawn_buf_puts(b, "'");
}

static void fish_condition(struct bawn_buf *b, const struct cli_cmd *c)
{
	if (c->parent)
		bawn_buf_printf(b,
			"complete -c bawn -n '__fish_seen_subcommand_from %s; and "
			"__fish_seen_subcommand_from %s'",
			c->parent, c->name);
	else
		bawn_buf_printf(b, "complete -c bawn -n '__fish_seen_subcommand_from %s'", c->name);
}

static void fish_words(struct bawn_buf *b, const char *words)
{
	bawn_buf_puts(b, " -x -a '");
	if (is(words, "@dir"))
		bawn_buf_puts(b, "(__fish_complete_directories)");
	else if (is(words, "@command"))
		bawn_buf_puts(b, "(__fish_complete_subcommand)");
	else
		put_words(b, words, ' ');
	bawn_buf_puts(b, "'");
}

static void fish_cmd(struct bawn_buf *b, const struct cli_cmd *c)
{
	const struct cli_opt *o;

	for (size_t i = 0; (o = cli_opt_at(c, i)); i++) {
		fish_condition(b, c);
		bawn_buf_printf(b, " -l %s", o->name);
		if (o->letter)
			bawn_buf_printf(b, " -s %c", o->letter);
		if (o->value && is(o->words, "@file"))
			bawn_buf_puts(b, " -r -F");
		else if (o->value && o->words)
			fish_words(b, o->words);
		else if (o->value)
			bawn_buf_puts(b, " -x");
		bawn_buf_puts(b, " -d ");
		fish_text(b, o->help);
		bawn_buf_puts(b, "\n");
	}
	if (!c->words)
		return;
	fish_condition(b, c);
	if (is(c->words, "@file"))
		bawn_buf_puts(b, " -F");
	else
		fish_words(b, c->words);
	bawn_buf_puts(b, "\n");
}

static void fish(struct bawn_buf *b)
{
	bawn_buf_puts(b, "# fish completion for bawn; made by 'bawn completion fish'\n"
			 "complete -c bawn -f\n");
	for (size_t i = 0; cli_verbs[i]; i++) {
		const struct cli_cmd *c = cli_verbs[i];

		bawn_buf_printf(b, "complete -c bawn -n __fish_use_subcommand -a %s -d ", c->name);
		fish_text(b, c->summary);
		bawn_buf_puts(b, "\n");
		for (const struct cli_cmd *s = c->subs; s && s->name; s++) {
			bawn_buf_printf(b,
				"complete -c bawn -n '__fish_seen_subcommand_from %s; and not "
				"__fish_seen_subcommand_from %s' -a %s -d ",
				c->name, s->name, s->name);
			fish_text(b, s->summary);
			bawn_buf_puts(b, "\n");
		}
	}
	each_cmd(b, fish_cmd);
}

static int completion(struct cli *cli, struct bawn_error *err)
{
	static const struct {
		const char *name;
		shell_fn *print;
	} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

	for (size_t i = 0; cli->args.n == 1 && i < sizeof(shells) / sizeof(shells[0]); i++) {
		_cleanup_buf_ struct bawn_buf script = {0};

		if (strcmp(cli->args.v[0], shells[i].name) != 0)
			continue;
		shells[i].print(&script);
		if (script.failed)
			return bawn_fail(err, BAWN_ERR_INTERNAL, script.failed, "out of memory");
		if (!cli->json) {
			bawn_buf_add(&cli->out, script.data, script.len);
			return 0;
		}
		bawn_buf_puts(&cli->out, "{\"schema\":\"bawn/completion/v1\",\"script\":");
		cli_json_str(&cli->out, script.data);
		bawn_buf_puts(&cli->out, "}\n");
		return 0;
	}
	return bawn_fail(
		err, BAWN_ERR_USAGE, -EINVAL, "'bawn completion' needs one of: bash, zsh, fish");
}

const struct cli_cmd cli_cmd_completion = {
	.name = "completion",
	.summary = "Print a completion script for a shell",
	.usage = "bash|zsh|fish",
	.words = "bash,zsh,fish",
	.opts = {cli_common_opts},
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_FAILED,
	.run = completion,
};
