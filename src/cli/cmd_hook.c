/* SPDX-License-Identifier: Apache-2.0 */
/* `bawn hook`: answer an agent's hook, and put the hook into the agent's settings. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "cli/cli.h"
#include "serve/hook.h"
#include "serve/install.h"

/* Far above any payload of a tool call; more is answered like any other malformed input. */
#define PAYLOAD_MAX ((size_t)64 << 20)

static const struct cli_opt answer_opts[] = {
	{.name = "policy",
		.letter = 'p',
		.kind = CLI_LIST,
		.value = "FILE",
		.words = "@file",
		.offset = offsetof(struct cli, policies),
		.help = "read a policy; may be repeated"},
	{.name = "workspace",
		.letter = 'w',
		.kind = CLI_TEXT,
		.value = "DIR",
		.words = "@dir",
		.offset = offsetof(struct cli, workspace),
		.help = "the project (default: CLAUDE_PROJECT_DIR, else the call's directory)"},
	{NULL},
};

static const struct cli_opt install_opts[] = {
	{.name = "settings",
		.kind = CLI_TEXT,
		.value = "FILE",
		.words = "@file",
		.offset = offsetof(struct cli, settings_file),
		.help = "the settings file (default: ~/.claude/settings.json)"},
	{.name = "project",
		.kind = CLI_FLAG,
		.offset = offsetof(struct cli, project),
		.help = "the settings of this directory: .claude/settings.json"},
	{.name = "policy",
		.letter = 'p',
		.kind = CLI_LIST,
		.value = "FILE",
		.words = "@file",
		.offset = offsetof(struct cli, policies),
		.help = "let the hook read this policy; may be repeated"},
	{NULL},
};

static const char *self_path(struct cli *cli)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return n > 0 ? bawn_arena_strndup(cli->arena, path, (size_t)n) : "bawn";
}

static int answer(struct cli *cli, struct bawn_error *err)
{
	const struct bawn_hook_agent *agent = bawn_hook_agent_find(cli->cmd->name);
	_cleanup_buf_ struct bawn_buf payload = {.max = PAYLOAD_MAX};
	const char *project = cli_env(cli, "CLAUDE_PROJECT_DIR");
	struct bawn_hook_options o = {
		.policy = {.files = cli->policies.v},
		.workspace = cli->workspace        ? cli->workspace
			     : project && *project ? project
						   : NULL,
		.self = self_path(cli),
	};
	struct bawn_hook_answer said;

	if (cli->args.n)
		return bawn_fail(
			err, BAWN_ERR_USAGE, -EINVAL, "unexpected argument '%s'", cli->args.v[0]);
	/* What could not be read whole is no JSON, and is answered as such. */
	if (cli->closed & 1u || bawn_read_all(STDIN_FILENO, &payload) < 0)
		payload.len = 0;
	bawn_hook_answer(
		cli->arena, agent, &o, payload.data ? payload.data : "", payload.len, &said);
	bawn_buf_puts(&cli->out, said.out);
	bawn_buf_puts(&cli->say, said.say);
	/* an answer that the agent does not get must not let the call through */
	if (cli_flush(cli, err) < 0)
		return -EIO;
	return said.status;
}

static const char *shell_word(struct cli *cli, const char *s)
{
	if (s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+")] ==
		'\0')
		return s;
	return strchr(s, '\'') ? NULL : bawn_arena_printf(cli->arena, "'%s'", s);
}

/* "/usr/bin/bawn hook claude-code [--policy FILE]…" */
static int hook_command(
	struct cli *cli, const char *agent, const char **ret, struct bawn_error *err)
{
	const char *path = self_path(cli);
	const char *word = path ? shell_word(cli, path) : NULL;
	const char *text = word ? bawn_arena_printf(cli->arena, "%s hook %s", word, agent) : NULL;

	for (size_t i = 0; text && i < cli->policies.n; i++) {
		int r = bawn_path_resolve(cli->arena, cli->policies.v[i], &path);

		if (r < 0) {
			errno = -r;
			return bawn_fail(
				err, BAWN_ERR_USAGE, r, "policy '%s': %m", cli->policies.v[i]);
		}
		word = shell_word(cli, path);
		text = word ? bawn_arena_printf(cli->arena, "%s --policy %s", text, word) : NULL;
	}
	if (!text)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'%s' has a quote in it, which the settings cannot hold",
			path ? path : "bawn's own path");
	*ret = text;
	return 0;
}

static int settings_path(struct cli *cli, const char **ret, struct bawn_error *err)
{
	const char *home = bawn_path_home(cli->arena);

	if (cli->settings_file && cli->project)
		return bawn_fail(
			err, BAWN_ERR_USAGE, -EINVAL, "give either '--settings' or '--project'");
	if (cli->settings_file)
		*ret = cli->settings_file;
	else if (cli->project)
		*ret = ".claude/settings.json";
	else if (home)
		*ret = bawn_path_join(cli->arena, home, ".claude/settings.json");
	else
		return bawn_fail(err, BAWN_ERR_USAGE, -ENOENT,
			"no home directory is known; give '--settings'");
	return *ret ? 0 : bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

static int check_agent(struct cli *cli, const char **ret, struct bawn_error *err)
{
	if (!cli->args.n)
		return bawn_fail(
			err, BAWN_ERR_USAGE, -EINVAL, "no agent given; there is: claude-code");
	if (cli->args.n != 1 || !bawn_hook_agent_find(cli->args.v[0]))
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"unknown agent '%s'; there is: claude-code", cli->args.v[0]);
	*ret = cli->args.v[0];
	return 0;
}

static void report(struct cli *cli, const struct bawn_hook_change *c, const char *done)
{
	struct bawn_buf *b = &cli->out;

	if (cli->json) {
		bawn_buf_puts(b, "{");
		cli_json_key(b, "schema");
		cli_json_str(b, "bawn/hook/v1");
		cli_json_key(b, "changed");
		bawn_buf_puts(b, c->changed ? "true" : "false");
		cli_json_key(b, "settings");
		cli_json_str(b, c->path);
		cli_json_key(b, "backup");
		cli_json_str(b, c->backup);
		bawn_buf_puts(b, "}\n");
		return;
	}
	bawn_buf_printf(b, "%s: %s\n", c->changed ? done : "nothing to do", c->path);
	if (c->backup)
		bawn_buf_printf(b, "the file as it was: %s\n", c->backup);
}

static int install(struct cli *cli, struct bawn_error *err)
{
	struct bawn_hook_change change;
	const char *agent = NULL, *path = NULL, *command = NULL;
	int r = check_agent(cli, &agent, err);

	if (r >= 0)
		r = settings_path(cli, &path, err);
	if (r >= 0)
		r = hook_command(cli, agent, &command, err);
	if (r < 0)
		return r;
	r = bawn_hook_install(cli->arena, path, command, &change, err);
	if (r < 0)
		return r;
	report(cli, &change, "installed in");
	return 0;
}

static int uninstall(struct cli *cli, struct bawn_error *err)
{
	struct bawn_hook_change change;
	const char *agent = NULL, *path = NULL;
	int r = check_agent(cli, &agent, err);

	if (r >= 0)
		r = settings_path(cli, &path, err);
	if (r >= 0)
		r = bawn_hook_uninstall(cli->arena, path, &change, err);
	if (r < 0)
		return r;
	report(cli, &change, "removed from");
	return 0;
}

static const struct cli_cmd subs[] = {
	{.name = "claude-code",
		.parent = "hook",
		.summary = "Answer one PreToolUse or PostToolUse event of Claude Code",
		.usage = "[options] < event.json",
		.about =
			"Exit status 0 lets the call through (perhaps with an answer on standard output), 2\n"
			"blocks it with the reason on standard error.",
		.opts = {answer_opts, cli_common_opts},
		.usage_status = CLI_EXIT_USAGE,
		.failed_status = CLI_EXIT_USAGE,
		.run = answer},
	{.name = "install",
		.parent = "hook",
		.summary = "Put the hook into an agent's settings",
		.usage = "[options] claude-code",
		.words = "claude-code",
		.opts = {install_opts, cli_common_opts},
		.usage_status = CLI_EXIT_USAGE,
		.failed_status = CLI_EXIT_FAILED,
		.run = install},
	{.name = "uninstall",
		.parent = "hook",
		.summary = "Take the hook out of an agent's settings",
		.usage = "[options] claude-code",
		.words = "claude-code",
		.opts = {install_opts, cli_common_opts},
		.usage_status = CLI_EXIT_USAGE,
		.failed_status = CLI_EXIT_FAILED,
		.run = uninstall},
	{NULL},
};

const struct cli_cmd cli_cmd_hook = {
	.name = "hook",
	.summary = "Vet every tool call of an agent through its hooks",
	.usage = "claude-code|install|uninstall ...",
	.words = "claude-code,install,uninstall",
	.opts = {cli_common_opts},
	.subs = subs,
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_FAILED,
};
