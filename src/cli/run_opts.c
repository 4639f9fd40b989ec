/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that describe a run, shared by `run`, `explain` and `policy show`. Those that become
 * policy are passed on as text: the policy reader knows what a size or a control is, and says so in
 * the same words for a flag and for a file.
 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "cli/cli.h"

static int handle_rw(struct cli *cli, const char *value, struct bawn_error *err)
{
	if (bawn_strlist_add(cli->arena, &cli->writable, value) < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	return cli_add_setting(cli, "filesystem.write", value, "--rw", err);
}

static int handle_env(struct cli *cli, const char *value, struct bawn_error *err)
{
	const char *eq = strchr(value, '=');

	if (!*value || eq == value)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--env' needs NAME or NAME=VALUE, not '%s'", value);
	return cli_add_setting(
		cli, eq ? "environment.set" : "environment.pass", value, "--env", err);
}

/* "development" is no mode of its own: an allow-list that begins with the hosts of development. */
static int handle_net(struct cli *cli, const char *value, struct bawn_error *err)
{
	int r = 0;

	if (!strcmp(value, "development")) {
		r = cli_add_setting(cli, "network.development", "true", "--net", err);
		value = "allowlist";
	}
	return r < 0 ? r : cli_add_setting(cli, "network.mode", value, "--net", err);
}

#define SETTING(name_, letter_, value_, words_, key_, help_)                                  \
	{                                                                                     \
		.name = (name_), .letter = (letter_), .kind = CLI_SETTING, .value = (value_), \
		.words = (words_), .key = (key_), .help = (help_)                             \
	}
#define AT(name_, letter_, kind_, value_, words_, member_, help_)                           \
	{                                                                                   \
		.name = (name_), .letter = (letter_), .kind = (kind_), .value = (value_),   \
		.words = (words_), .offset = offsetof(struct cli, member_), .help = (help_) \
	}

const struct cli_opt cli_place_opts[] = {
	AT("policy", 'p', CLI_LIST, "FILE", "@file", policies, "read a policy; may be repeated"),
	AT("workspace", 'w', CLI_TEXT, "DIR", "@dir", workspace,
		"whose policy counts (default: the current directory)"),
	{NULL},
};

const struct cli_opt cli_policy_opts[] = {
	AT("policy", 'p', CLI_LIST, "FILE", "@file", policies, "read a policy; may be repeated"),
	AT("workspace", 'w', CLI_TEXT, "DIR", "@dir", workspace,
		"the writable directory (default: the current one)"),
	SETTING("ro", 0, "PATH", "@file", "filesystem.read", "let it read PATH"),
	{.name = "rw",
		.kind = CLI_HANDLER,
		.value = "PATH",
		.words = "@file",
		.handle = handle_rw,
		.help = "let it read and write PATH"},
	SETTING("deny", 0, "PATH", "@file", "filesystem.deny",
		"put a path or pattern out of reach"),
	SETTING("deny-exec", 0, "DIR", "@dir", "filesystem.deny_exec", "execute nothing from DIR"),
	SETTING("protect", 0, "NAME", "@file", "filesystem.protect",
		"keep NAME in the workspace as it is"),
	SETTING("unprotect", 0, "NAME", "@file", "filesystem.unprotect",
		"let it create and change NAME, which is protected"),
	{.name = "net",
		.kind = CLI_HANDLER,
		.value = "MODE",
		.words = "deny,allowlist,development,blocklist,open,closed",
		.handle = handle_net,
		.help = "what of the network is reachable"},
	SETTING("allow-host", 0, "HOST", NULL, "network.allow_hosts",
		"let it reach HOST, *.HOST, HOST:PORT, …, with --net allowlist"),
	SETTING("block-host", 0, "HOST", NULL, "network.block_hosts",
		"never let it reach HOST; wins over what is allowed"),
	SETTING("loopback-port", 0, "PORT", NULL, "network.loopback_ports",
		"let it reach this TCP port of the host's loopback"),
	SETTING("unix-socket", 0, "PATH", "@file", "network.unix_sockets",
		"let it connect to this socket of the host"),
	SETTING("device", 0, "PATH", "@file", "devices", "grant a device node"),
	{.name = "env",
		.letter = 'e',
		.kind = CLI_HANDLER,
		.value = "NAME[=VALUE]",
		.handle = handle_env,
		.help = "pass a variable on, or set one"},
	SETTING("memory", 'm', "SIZE", NULL, "limits.memory", "memory of the whole tree"),
	SETTING("cpus", 0, "N", NULL, "limits.cpus", "processors, 0.5 is half of one"),
	SETTING("pids", 0, "N", NULL, "limits.processes", "processes and threads"),
	SETTING("files", 0, "N", NULL, "limits.files", "open files of each process"),
	SETTING("disk", 0, "SIZE", NULL, "limits.disk", "private temporary space"),
	SETTING("timeout", 0, "TIME", NULL, "limits.time", "wall-clock time: 500ms, 30s, 5m, 1h"),
	SETTING("output-limit", 0, "SIZE", NULL, "limits.output",
		"bytes of standard output and error"),
	SETTING("allow-syscall", 0, "NAME", NULL, "syscalls.allow",
		"allow a system call beyond the profile"),
	SETTING("deny-syscall", 0, "NAME", NULL, "syscalls.deny", "refuse a system call"),
	SETTING("backend", 'b', "NAME", "@backend", "backend", "which wall; auto takes what fits"),
	SETTING("image", 0, "IMAGE", NULL, "enforcement.docker.image",
		"container image whose system it sees, instead of this host's"),
	SETTING("level", 0, "LEVEL", "@level", "level", "isolation level at least"),
	SETTING("isolation", 0, "WORD", "@isolation", "isolation", "isolation asked for"),
	SETTING("prefer", 0, "WORD", "@prefer", "prefer",
		"fastest or strongest, when several backends would do"),
	SETTING("allow-missing", 0, "CONTROL", "@control", "allow_missing",
		"run even if this control cannot be enforced"),
	{NULL},
};

const struct cli_opt cli_limit_opts[] = {
	SETTING("timeout", 0, "TIME", NULL, "limits.time", "wall-clock time: 500ms, 30s, 5m, 1h"),
	SETTING("memory", 'm', "SIZE", NULL, "limits.memory", "memory of the whole tree"),
	SETTING("pids", 0, "N", NULL, "limits.processes", "processes and threads"),
	SETTING("files", 0, "N", NULL, "limits.files", "open files of each process"),
	SETTING("output-limit", 0, "SIZE", NULL, "limits.output",
		"bytes of standard output and error"),
	{.name = "env",
		.letter = 'e',
		.kind = CLI_HANDLER,
		.value = "NAME[=VALUE]",
		.handle = handle_env,
		.help = "pass a variable on, or set one"},
	{NULL},
};

const struct cli_opt cli_call_opts[] = {
	AT("cwd", 'C', CLI_TEXT, "DIR", "@dir", cwd, "start in DIR, inside the workspace"),
	AT("pty", 't', CLI_FLAG, NULL, NULL, pty, "give it a terminal of its own"),
	AT("tool", 0, CLI_TEXT, "NAME", NULL, tool, "tool of the agent, for rules and records"),
	AT("agent", 0, CLI_TEXT, "NAME", NULL, agent, "agent, for rules and records"),
	AT("session", 0, CLI_TEXT, "NAME", NULL, session, "session, for the records"),
	{NULL},
};

const struct cli_opt cli_secret_opts[] = {
	SETTING("secret", 0, "NAME[=VARIABLE]", NULL, "secrets.use",
		"let it use a secret of the vault; may be repeated"),
	AT("approve-secret", 0, CLI_LIST, "NAME", NULL, approved,
		"approve the use of a secret beforehand"),
	AT("skill", 0, CLI_TEXT, "NAME", NULL, skill, "skill it belongs to, for secrets"),
	AT("trigger", 0, CLI_TEXT, "NAME", NULL, trigger, "what set it off, for secrets"),
	AT("key-file", 0, CLI_TEXT, "FILE", "@file", key_file, "open the vault with this key file"),
	AT("passphrase-fd", 0, CLI_TEXT, "N", NULL, passphrase_fd,
		"read the vault's passphrase from descriptor N"),
	{NULL},
};

static int approve(void *data, const char *question, struct bawn_error *err)
{
	(void)data;
	return cli_ask_yes(question, err);
}

/* Only with --secret or a policy that uses some is any of it looked at. */
static int secrets_input(struct cli *cli, struct bawn_secrets_input *ret, struct bawn_error *err)
{
	*ret = (struct bawn_secrets_input){
		.has_key = true,
		.approved = cli->approved.v,
		.skill = cli->skill,
		.trigger = cli->trigger,
		.approve = approve,
	};
	return cli_vault_key(cli, NULL, &ret->key, err);
}

/*
 * The name of `path` relative to the workspace if it is at or below a name that is protected by
 * default, else NULL. Names that a policy protects on top of those stay protected.
 */
static const char *protected_name(struct cli *cli, const char *workspace, const char *path)
{
	const char *full = bawn_path_join(cli->arena, workspace, path);
	const char *names = BAWN_DEFAULT_PROTECT;
	const char *rel;

	if (!full || !bawn_path_under(full, workspace) || !strcmp(full, workspace))
		return NULL;
	rel = full + strlen(workspace) + (strcmp(workspace, "/") != 0);
	while (*names) {
		size_t len = strcspn(names, ",");

		if (!strncmp(rel, names, len) && (!rel[len] || rel[len] == '/'))
			return rel;
		names += len + (names[len] == ',');
	}
	return NULL;
}

/* Whoever grants `--rw .git/hooks` means it: the grant alone would leave it read-only. */
static int unprotect_granted(struct cli *cli, const char *workspace, struct bawn_error *err)
{
	for (size_t i = 0; i < cli->writable.n; i++) {
		const char *name = protected_name(cli, workspace, cli->writable.v[i]);
		int r = name ? cli_add_setting(cli, "filesystem.unprotect", name, "--rw", err) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

int cli_policy_source(struct cli *cli, struct bawn_policy_source *ret, struct bawn_error *err)
{
	const char *given = cli->workspace ? cli->workspace : ".";
	const char *workspace = NULL;
	int r = bawn_path_resolve(cli->arena, given, &workspace);

	if (r == -ENOENT && !cli->workspace)
		return bawn_fail(err, BAWN_ERR_CALL, r,
			"the current directory does not exist any more; change to one that does, or name one with --workspace");
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_CALL, r, "workspace '%s': %m", given);
	}
	r = unprotect_granted(cli, workspace, err);
	if (r < 0)
		return r;
	*ret = (struct bawn_policy_source){
		.workspace = workspace,
		.files = cli->policies.v,
		.settings = cli->settings,
		.n_settings = cli->n_settings,
	};
	return 0;
}

int cli_run_input(struct cli *cli, struct bawn_run_input *ret, struct bawn_error *err)
{
	struct bawn_secrets_input secrets;
	struct bawn_policy_source source;
	int r = cli_policy_source(cli, &source, err);

	if (r < 0)
		return r;
	r = secrets_input(cli, &secrets, err);
	if (r < 0)
		return r;
	*ret = (struct bawn_run_input){
		.secrets = secrets,
		.call = {.argv = cli->args.v,
			.envp = cli->envp,
			.workspace = source.workspace,
			.cwd = cli->cwd,
			.tool = cli->tool,
			.agent = cli->agent,
			.session = cli->session},
		.policy = source,
		.box = cli->box,
		.box_dir = cli->box_dir,
		.pty = cli->pty,
		.stdin_fd = -1,
		.outlets = {.out_fd = -1, .err_fd = -1, .terminal_fd = -1},
	};
	return 0;
}
