/* SPDX-License-Identifier: Apache-2.0 */
/* `bawn policy`: check files, show what is in effect and why, write a first one. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/io.h"
#include "cli/cli.h"

static int no_args(const struct cli *cli, struct bawn_error *err)
{
	if (!cli->args.n)
		return 0;
	return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "unexpected argument '%s'", cli->args.v[0]);
}

static void json_head(struct bawn_buf *b, const char *schema)
{
	bawn_buf_puts(b, "{");
	cli_json_key(b, "schema");
	cli_json_str(b, schema);
}

/* One file on its own (NULL: all layers that apply here). True if it is right. */
static bool check_one(struct cli *cli, const struct bawn_policy_source *base, const char *file)
{
	struct bawn_policy_source src = *base;
	const char *const files[] = {file, NULL};
	const struct bawn_policy *p = NULL;
	struct bawn_error err = {0};
	bool ok;

	if (file) {
		src.files = files;
		src.no_admin = src.no_user = src.no_workspace = true;
	}
	ok = bawn_policy_load(cli->arena, &src, &p, &err) >= 0;
	if (cli->json) {
		cli_json_next(&cli->out);
		bawn_buf_puts(&cli->out, "{");
		cli_json_key(&cli->out, "file");
		cli_json_str(&cli->out, file);
		cli_json_key(&cli->out, "ok");
		bawn_buf_puts(&cli->out, ok ? "true" : "false");
		cli_json_key(&cli->out, "error");
		cli_json_error(&cli->out, &err);
		bawn_buf_puts(&cli->out, "}");
	} else if (ok) {
		cli_puts_safe(&cli->out, file ? file : "effective policy");
		bawn_buf_puts(&cli->out, ": OK\n");
	}
	if (!ok)
		cli_say(cli, err.msg);
	return ok;
}

static int check(struct cli *cli, struct bawn_error *err)
{
	struct bawn_policy_source src;
	bool ok = true;
	int r = cli_policy_source(cli, &src, err);

	if (r < 0)
		return r;
	if (cli->json) {
		json_head(&cli->out, "bawn/policy-check/v1");
		cli_json_key(&cli->out, "files");
		bawn_buf_puts(&cli->out, "[");
	}
	if (!cli->args.n)
		ok = check_one(cli, &src, NULL);
	for (size_t i = 0; i < cli->args.n; i++)
		ok = check_one(cli, &src, cli->args.v[i]) && ok;
	if (cli->json)
		bawn_buf_printf(&cli->out, "],\"ok\":%s}\n", ok ? "true" : "false");
	return ok ? 0 : CLI_EXIT_FAILED;
}

static int show(struct cli *cli, struct bawn_error *err)
{
	struct bawn_policy_source src;
	const struct bawn_policy *p = NULL;
	int r = no_args(cli, err);

	if (r < 0)
		return r;
	r = cli_policy_source(cli, &src, err);
	if (r < 0)
		return r;
	r = bawn_policy_load(cli->arena, &src, &p, err);
	if (r < 0)
		return r;
	r = bawn_policy_show(p, cli->json, &cli->out);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "printing the policy: %m");
	}
	if (cli->out.len && cli->out.data[cli->out.len - 1] != '\n')
		bawn_buf_puts(&cli->out, "\n");
	return 0;
}

static int write_template(const struct cli *cli, const char *path, const struct bawn_buf *text,
	struct bawn_error *err)
{
	int how = cli->force ? O_TRUNC : O_EXCL;
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | how, 0644);
	int r;

	if (fd < 0 && errno == EEXIST)
		return bawn_fail(err, BAWN_ERR_POLICY, -EEXIST,
			"'%s' exists already; '--force' overwrites it", path);
	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_POLICY, -errno, "'%s': %m", path);
	r = bawn_write_all(fd, text->data, text->len);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_POLICY, r, "'%s': %m", path);
	}
	return 0;
}

static int init(struct cli *cli, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf text = {0};
	const char *path = cli->args.n ? cli->args.v[0] : NULL;
	int r;

	if (cli->args.n > 1)
		return bawn_fail(
			err, BAWN_ERR_USAGE, -EINVAL, "unexpected argument '%s'", cli->args.v[1]);
	r = bawn_policy_template(&text);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "making the template: %m");
	}
	if (path) {
		r = write_template(cli, path, &text, err);
		if (r < 0)
			return r;
	}
	if (cli->json) {
		json_head(&cli->out, "bawn/policy-init/v1");
		cli_json_key(&cli->out, "file");
		cli_json_str(&cli->out, path);
		cli_json_key(&cli->out, "text");
		cli_json_str(&cli->out, text.data);
		bawn_buf_puts(&cli->out, "}\n");
	} else if (!path) {
		bawn_buf_add(&cli->out, text.data, text.len);
	}
	return 0;
}

static const struct cli_opt init_opts[] = {
	{.name = "force",
		.letter = 'f',
		.kind = CLI_FLAG,
		.offset = offsetof(struct cli, force),
		.help = "overwrite FILE"},
	{NULL},
};

static const struct cli_opt check_opts[] = {
	{.name = "workspace",
		.letter = 'w',
		.kind = CLI_TEXT,
		.value = "DIR",
		.words = "@dir",
		.offset = offsetof(struct cli, workspace),
		.help = "what relative paths are relative to"},
	{NULL},
};

static const struct cli_cmd policy_cmds[] = {
	{
		.name = "check",
		.parent = "policy",
		.summary = "Check policy files, or all layers that apply here",
		.usage = "[options] [FILE...]",
		.about = "Exit status: 0 if all are right, 1 if not.",
		.words = "@file",
		.opts = {check_opts, cli_common_opts},
		.usage_status = CLI_EXIT_USAGE,
		.failed_status = CLI_EXIT_FAILED,
		.run = check,
	},
	{
		.name = "show",
		.parent = "policy",
		.summary = "Show the effective policy and which layer set each value",
		.usage = "[options]",
		.about = "Takes those options of 'bawn run' that become policy.",
		.opts = {cli_policy_opts, cli_common_opts},
		.usage_status = CLI_EXIT_USAGE,
		.failed_status = CLI_EXIT_FAILED,
		.run = show,
	},
	{
		.name = "init",
		.parent = "policy",
		.summary = "Write a commented policy with every setting at its default",
		.usage = "[options] [FILE]",
		.about = "Without FILE it is printed.",
		.words = "@file",
		.opts = {init_opts, cli_common_opts},
		.usage_status = CLI_EXIT_USAGE,
		.failed_status = CLI_EXIT_FAILED,
		.run = init,
	},
	{NULL},
};

const struct cli_cmd cli_cmd_policy = {
	.name = "policy",
	.summary = "Check, show or write policies",
	.usage = "check|show|init ...",
	.words = "check,show,init",
	.opts = {cli_common_opts},
	.subs = policy_cmds,
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_FAILED,
};
