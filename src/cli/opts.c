/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser. Our own because getopt_long() cannot say which option was meant, accepts
 * abbreviations (so that a new option breaks old scripts), and takes "--" as a value.
 */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"

const struct cli_opt cli_common_opts[] = {
	{"help", 'h', CLI_FLAG, .offset = offsetof(struct cli, help), .help = "show this help"},
	{"json", 0, CLI_FLAG, .offset = offsetof(struct cli, json),
		.help = "print JSON on standard output"},
	{NULL},
};

#define WORD_MAX_LEN 32
#define FAR_AWAY     4

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned cli_distance(const char *a, const char *b)
{
	size_t la = strlen(a);
	size_t lb = strlen(b);
	unsigned d[WORD_MAX_LEN + 1][WORD_MAX_LEN + 1];

	if (la > WORD_MAX_LEN || lb > WORD_MAX_LEN)
		return FAR_AWAY;
	for (size_t i = 0; i <= la; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++)
		for (size_t j = 1; j <= lb; j++) {
			unsigned best = least(d[i - 1][j], d[i][j - 1]) + 1;

			best = least(best, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = least(best, d[i - 2][j - 2] + 1);
			d[i][j] = best;
		}
	return least(d[la][lb], FAR_AWAY);
}

/* The nearest so far. A word is near if at most a third of it differs, or if one begins the other.
 */
struct nearest {
	const char *given, *name;
	unsigned distance;
};

static void nearest_try(struct nearest *n, const char *name)
{
	size_t len = strlen(n->given);
	unsigned distance = cli_distance(n->given, name);
	unsigned allowed = len < 3 ? 1 : least((unsigned)len / 3 + 1, FAR_AWAY - 1);

	if (len >= 3 && !strncmp(name, n->given, len))
		distance = 1;
	if (distance <= allowed && (!n->name || distance < n->distance)) {
		n->name = name;
		n->distance = distance;
	}
}

static int unknown_option(
	const struct cli *cli, const char *arg, size_t len, struct bawn_error *err)
{
	char name[WORD_MAX_LEN + 1] = "";
	struct nearest n = {.given = name};
	const struct cli_opt *o;

	if (len > 2 && len - 2 <= WORD_MAX_LEN)
		memcpy(name, arg + 2, len - 2);
	if (name[0])
		for (size_t i = 0; (o = cli_opt_at(cli->cmd, i)); i++)
			nearest_try(&n, o->name);
	if (n.name)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"unknown option '%.*s', did you mean '--%s'?", (int)len, arg, n.name);
	return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
		"unknown option '%.*s', see 'bawn help %s%s%s'", (int)len, arg,
		cli->cmd->parent ? cli->cmd->parent : "", cli->cmd->parent ? " " : "",
		cli->cmd->name);
}

static int set_number(
	struct cli *cli, const struct cli_opt *o, const char *value, struct bawn_error *err)
{
	uint64_t n = 0;

	for (const char *p = value; p && *p; p++) {
		if (*p < '0' || *p > '9' || n > (UINT64_MAX - 9) / 10)
			return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
				"option '--%s' needs a whole number, not '%s'", o->name, value);
		n = n * 10 + (uint64_t)(*p - '0');
	}
	if (!n)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--%s' needs a number from 1", o->name);
	memcpy((char *)cli + o->offset, &n, sizeof(n));
	return 0;
}

int cli_add_setting(struct cli *cli, const char *key, const char *value, const char *flag,
	struct bawn_error *err)
{
	struct bawn_setting *s =
		bawn_grow(cli->arena, &cli->settings, &cli->n_settings, &cli->cap_settings);

	if (!s)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	*s = (struct bawn_setting){.key = key, .text = value, .flag = flag};
	return 0;
}

/* A number of who knows what: in policies a bare time is milliseconds, for timeout(1) seconds. */
static bool is_bare(const char *value)
{
	return *value && value[strspn(value, "0123456789")] == '\0' &&
	       value[strspn(value, "0")] != '\0';
}

static int set(struct cli *cli, const struct cli_opt *o, const char *value, struct bawn_error *err)
{
	const char *flag = bawn_arena_printf(cli->arena, "--%s", o->name);
	void *at = (char *)cli + o->offset;

	/* What tells only how to print the outcome is not part of the call. */
	if (!flag ||
		(o->offset != offsetof(struct cli, json) &&
			(bawn_strlist_add(cli->arena, &cli->given, flag) < 0 ||
				(value && bawn_strlist_add(cli->arena, &cli->given, value) < 0))))
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");

	switch (o->kind) {
	case CLI_FLAG:
		*(bool *)at = true;
		return 0;
	case CLI_TEXT:
		memcpy(at, &value, sizeof(value));
		return 0;
	case CLI_NUMBER:
		return set_number(cli, o, value, err);
	case CLI_LIST:
		if (bawn_strlist_add(cli->arena, at, value) < 0)
			return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
		return 0;
	case CLI_SETTING:
		if (value && !strcmp(o->key, "limits.time") && is_bare(value))
			return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
				"option '%s' needs a unit: %ss for seconds, %sms for milliseconds",
				flag, value, value);
		return cli_add_setting(cli, o->key, value, flag, err);
	case CLI_HANDLER:
		return o->handle(cli, value, err);
	}
	return 0;
}

/* `next` is the argument after this one or NULL. Returns how many arguments were used. */
static int parse_long(struct cli *cli, const char *arg, const char *next, struct bawn_error *err)
{
	const char *eq = strchr(arg, '=');
	size_t len = eq ? (size_t)(eq - arg) : strlen(arg);
	const struct cli_opt *o;
	int r;

	for (size_t i = 0; (o = cli_opt_at(cli->cmd, i)); i++)
		if (strlen(o->name) == len - 2 && !memcmp(o->name, arg + 2, len - 2))
			break;
	if (!o)
		return unknown_option(cli, arg, len, err);
	if (!o->value && eq)
		return bawn_fail(
			err, BAWN_ERR_USAGE, -EINVAL, "option '--%s' takes no value", o->name);
	if (!o->value || eq) {
		r = set(cli, o, eq ? eq + 1 : NULL, err);
		return r < 0 ? r : 1;
	}
	if (!next || !strcmp(next, "--"))
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "option '--%s' needs a value (%s)",
			o->name, o->value);
	r = set(cli, o, next, err);
	return r < 0 ? r : 2;
}

/* -q, -qv, -w DIR, -wDIR */
static int parse_short(struct cli *cli, const char *arg, const char *next, struct bawn_error *err)
{
	for (const char *p = arg + 1; *p; p++) {
		const struct cli_opt *o;
		int r;

		for (size_t i = 0; (o = cli_opt_at(cli->cmd, i)); i++)
			if (o->letter == *p)
				break;
		if (!o)
			return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
				"unknown option '-%c' in '%s'; if it belongs to the command, put "
				"'--' before the command",
				*p, arg);
		if (o->value && !p[1] && (!next || !strcmp(next, "--")))
			return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
				"option '-%c' needs a value (%s)", *p, o->value);
		r = set(cli, o, !o->value ? NULL : p[1] ? p + 1 : next, err);
		if (r < 0)
			return r;
		if (o->value)
			return p[1] ? 1 : 2;
	}
	return 1;
}

static int add_rest(struct cli *cli, int argc, char **argv, struct bawn_error *err)
{
	for (int i = 0; i < argc; i++)
		if (bawn_strlist_add(cli->arena, &cli->args, argv[i]) < 0)
			return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	return 0;
}

int cli_parse(struct cli *cli, int argc, char **argv, struct bawn_error *err)
{
	for (int i = 0; i < argc && !cli->help;) {
		const char *arg = argv[i];
		const char *next = i + 1 < argc ? argv[i + 1] : NULL;
		int r = 1;

		if (!strcmp(arg, "--"))
			return add_rest(cli, argc - i - 1, argv + i + 1, err);
		if (arg[0] != '-' || !arg[1]) {
			if (cli->cmd->command)
				return add_rest(cli, argc - i, argv + i, err);
			if (bawn_strlist_add(cli->arena, &cli->args, arg) < 0)
				return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
		} else if (arg[1] == '-') {
			r = parse_long(cli, arg, next, err);
		} else {
			r = parse_short(cli, arg, next, err);
		}
		if (r < 0)
			return r;
		i += r;
	}
	return 0;
}

int cli_find_cmd(const char *name, const struct cli_cmd **ret, struct bawn_error *err)
{
	struct nearest n = {.given = name};

	for (size_t i = 0; cli_verbs[i]; i++) {
		if (!strcmp(cli_verbs[i]->name, name)) {
			*ret = cli_verbs[i];
			return 0;
		}
		nearest_try(&n, cli_verbs[i]->name);
	}
	if (name[0] == '-')
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"unknown option '%s'; options stand behind the verb, as in 'bawn run %s'",
			name, name);
	if (n.name)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"unknown verb '%s', did you mean '%s'?", name, n.name);
	return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
		"unknown verb '%s', see 'bawn help'; to run a command: 'bawn run -- %s'", name,
		name);
}

int cli_find_sub(const struct cli_cmd *cmd, const char *name, const struct cli_cmd **ret,
	struct bawn_error *err)
{
	struct nearest n = {.given = name ? name : ""};
	char all[256] = "";
	size_t len = 0;

	for (const struct cli_cmd *s = cmd->subs; name && s->name; s++) {
		if (!strcmp(s->name, name)) {
			*ret = s;
			return 0;
		}
		nearest_try(&n, s->name);
	}
	if (n.name)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"unknown verb '%s %s', did you mean '%s %s'?", cmd->name, name, cmd->name,
			n.name);
	for (const struct cli_cmd *s = cmd->subs; s->name && len < sizeof(all); s++)
		len += (size_t)snprintf(
			all + len, sizeof(all) - len, "%s%s", len ? ", " : "", s->name);
	return bawn_fail(
		err, BAWN_ERR_USAGE, -EINVAL, "'bawn %s' needs one of: %s", cmd->name, all);
}
