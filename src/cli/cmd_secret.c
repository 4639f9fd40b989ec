/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bawn secret`: the vault. Values come from standard input or a question without echo, never from
 * an argument, and leave it only for runs, or for a person at a terminal who has just proved who he
 * is.
 */
#include <errno.h>
#include <string.h>

#include "audit/audit.h"
#include "base/io.h"
#include "cli/secret.h"
#include "pipeline/record.h"

static int ask_passphrase(
	void *data, const char *prompt, char *dst, size_t size, struct bawn_error *err)
{
	(void)data;
	return cli_ask_hidden(prompt, dst, size, err);
}

static int parse_fd(const char *text, const char *option, int *ret, struct bawn_error *err)
{
	size_t n = text ? strlen(text) : 0;

	*ret = -1;
	if (!text)
		return 0;
	if (!n || n > 6 || strspn(text, "0123456789") != n)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--%s' needs the number of an open descriptor, not '%s'", option,
			text);
	*ret = (int)strtol(text, NULL, 10);
	return 0;
}

int cli_vault_key(struct cli *cli, const struct bawn_policy *p, struct bawn_vault_key *ret,
	struct bawn_error *err)
{
	*ret = (struct bawn_vault_key)BAWN_VAULT_KEY;
	ret->key_file = cli->key_file ? cli->key_file : p ? p->sec_key_file : NULL;
	ret->ask = ask_passphrase;
	if (cli->passphrase_fd && cli->key_file)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'--key-file' and '--passphrase-fd' exclude each other");
	if (cli->passphrase_fd)
		ret->key_file = NULL;
	return parse_fd(cli->passphrase_fd, "passphrase-fd", &ret->passphrase_fd, err);
}

/* A vault at work: its key, where changes are recorded. */
struct job {
	struct bawn_vault_key key;
	struct bawn_vault *vault;
	struct bawn_audit *audit;
};

static void job_done(struct job *j)
{
	j->vault = bawn_vault_free(j->vault);
	j->audit = bawn_audit_free(j->audit);
}
#define _cleanup_job_ _cleanup_(job_done)

/* The policy that a run would have, less the workspace's, which has no say in this. */
static int prepare(struct cli *cli, struct job *j, struct bawn_error *err)
{
	const struct bawn_policy *p = NULL;
	struct bawn_policy_source src;
	int r = cli_policy_source(cli, &src, err);

	if (r < 0)
		return r;
	src.no_workspace = true;
	r = bawn_policy_load(cli->arena, &src, &p, err);
	if (r >= 0)
		r = cli_vault_key(cli, p, &j->key, err);
	return r < 0 ? r : bawn_audit_open(p->audit_path, p->audit_sync, &j->audit, err);
}

static int open_vault(struct cli *cli, struct job *j, bool change, struct bawn_error *err)
{
	int r = prepare(cli, j, err);

	return r < 0 ? r : bawn_vault_open(&j->key, change, &j->vault, err);
}

static int record(struct job *j, const char *action, const char *name, uint64_t generation,
	struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	int r;

	bawn_record_text(&b, "event", "secret");
	bawn_record_text(&b, "action", action);
	if (name)
		bawn_record_text(&b, "name", name);
	if (generation)
		bawn_buf_printf(&b, ",\"generation\":%llu", (unsigned long long)generation);
	r = b.failed ? bawn_fail(err, BAWN_ERR_AUDIT, b.failed, "out of memory")
		     : bawn_audit_append(j->audit, b.data, err);
	return r < 0 ? bawn_error_wrap(err, "it was done, but is not in the audit log") : 0;
}

static int commit(struct job *j, const char *action, const char *name, struct bawn_error *err)
{
	uint64_t generation = 0;
	int r = bawn_vault_commit(j->vault, &generation, err);

	return r < 0 ? r : record(j, action, name, generation, err);
}

static void said(struct cli *cli, const char *what, const char *name)
{
	struct bawn_buf *b = &cli->out;

	if (!cli->json) {
		if (cli->quiet)
			return;
		bawn_buf_printf(
			b, "%s%s%s%s\n", what, name ? " '" : "", name ? name : "", name ? "'" : "");
		return;
	}
	bawn_buf_puts(b, "{");
	cli_json_text(b, "schema", "bawn/secret-change/v1");
	cli_json_text(b, "done", what);
	cli_json_text(b, "name", name);
	bawn_buf_puts(b, "}\n");
}

static int need_args(struct cli *cli, size_t n, const char *what, struct bawn_error *err)
{
	if (cli->args.n > n)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, /* not named: it may be a value */
			"one argument too many: 'bawn secret %s' takes %s", cli->cmd->name, what);
	if (cli->args.n < n)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "'bawn secret %s' needs %s",
			cli->cmd->name, what);
	return 0;
}

static int find(struct cli *cli, struct job *j, const char *name, const struct bawn_secret **ret,
	struct bawn_error *err)
{
	const struct bawn_secret *list = NULL;
	size_t n = 0;
	int r = bawn_vault_list(j->vault, cli->arena, &list, &n, err);

	*ret = NULL;
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (!strcmp(list[i].name, name))
			*ret = &list[i];
	return r;
}

static int init(struct cli *cli, struct bawn_error *err)
{
	_cleanup_job_ struct job j = {0};
	int r = need_args(cli, 0, "no argument", err);

	if (r >= 0)
		r = prepare(cli, &j, err);
	if (r >= 0)
		r = bawn_vault_create(&j.key, true, err);
	if (r >= 0)
		r = record(&j, "init", NULL, 1, err);
	if (r >= 0)
		said(cli, "made an empty vault", NULL);
	return r;
}

/* Standard input to its end, less one line end; or what is typed. */
static int read_value(
	struct cli *cli, const char *name, struct bawn_locked **ret, struct bawn_error *err)
{
	_cleanup_locked_ struct bawn_locked *l = bawn_locked_new(BAWN_SECRET_VALUE_MAX + 1);
	int r = 0;

	if (!l)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	if (cli->closed & 1u)
		return bawn_fail(err, BAWN_ERR_USAGE, -EBADF,
			"standard input is closed; the value is read from there");
	if (isatty(STDIN_FILENO)) {
		const char *prompt = bawn_arena_printf(cli->arena, "Value of %s: ", name);

		r = cli_ask_hidden(prompt ? prompt : "Value: ", l->data, l->size + 1, err);
		l->len = r < 0 ? 0 : strlen(l->data);
	}
	while (!isatty(STDIN_FILENO) && l->len < l->size) {
		ssize_t n = read(STDIN_FILENO, l->data + l->len, l->size - l->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "standard input: %m");
		if (n == 0)
			break;
		l->len += (size_t)n;
	}
	if (r < 0)
		return r;
	if (l->len && l->data[l->len - 1] == '\n')
		l->data[--l->len] = '\0';
	*ret = TAKE_PTR(l);
	return 0;
}

static const char *const *lower(struct cli *cli, const struct bawn_strlist *l)
{
	const char **v = bawn_new(cli->arena, const char *, l->n + 1);

	for (size_t i = 0; v && i < l->n; i++) {
		char *s = bawn_arena_strdup(cli->arena, l->v[i]);

		for (char *p = s; p && *p; p++)
			if (*p >= 'A' && *p <= 'Z')
				*p = (char)(*p - 'A' + 'a');
		v[i] = s ? s : "";
	}
	return v;
}

/* What was given over what was there, or over the defaults. */
static int describe(struct cli *cli, const struct bawn_secret *was, struct bawn_secret *s,
	struct bawn_error *err)
{
	static const char *const none[] = {NULL};
	static const char *const usual[] = {"authorization", NULL};
	bool loose = was && was->injection == BAWN_INJECT_ENVIRONMENT && !was->hosts[0];

	*s = was ? *was
		 : (struct bawn_secret){.env = cli->args.v[0],
			   .note = "",
			   .hosts = none,
			   .headers = usual,
			   .skills = none,
			   .triggers = none,
			   .access = BAWN_ACCESS_APPROVAL,
			   .injection = BAWN_INJECT_ENVIRONMENT};
	s->name = cli->args.v[0];
	if (cli->access && bawn_secret_access_find(cli->access, &s->access) < 0)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"unknown access '%s': always, approval, auth, skill-only or trigger-only",
			cli->access);
	if (cli->injection && bawn_secret_injection_find(cli->injection, &s->injection) < 0)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"unknown injection '%s': host-boundary, file-mount or environment",
			cli->injection);
	s->env = cli->variable ? cli->variable : s->env;
	s->note = cli->note ? cli->note : s->note;
	s->hosts = cli->hosts.n ? cli->hosts.v : s->hosts;
	s->headers = cli->headers.n ? lower(cli, &cli->headers) : s->headers;
	s->skills = cli->skills.n ? cli->skills.v : s->skills;
	s->triggers = cli->triggers.n ? cli->triggers.v : s->triggers;
	if (!s->headers)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	/* without hosts it can only enter the sandbox itself: that is to be said */
	if (!s->hosts[0] && !loose && !cli->injection)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'%s' needs the hosts that are to get it (--host), or --injection environment if its value may enter a sandbox",
			s->name);
	return bawn_secret_check(s, err);
}

static int set(struct cli *cli, struct bawn_error *err)
{
	_cleanup_locked_ struct bawn_locked *value = NULL;
	_cleanup_job_ struct job j = {0};
	const struct bawn_secret *was = NULL;
	struct bawn_secret s;
	int r = need_args(
		cli, 1, "the name of a secret; its value is read from standard input", err);

	if (r >= 0)
		r = open_vault(cli, &j, true, err);
	if (r >= 0)
		r = find(cli, &j, cli->args.v[0], &was, err);
	if (r >= 0)
		r = describe(cli, was, &s, err);
	if (r >= 0 && !cli->keep_value)
		r = read_value(cli, s.name, &value, err);
	if (r >= 0)
		r = bawn_vault_put(
			j.vault, &s, value ? value->data : NULL, value ? value->len : 0, err);
	if (r >= 0)
		r = commit(&j, "set", s.name, err);
	if (r >= 0)
		said(cli, "set", s.name);
	return r;
}

static int list(struct cli *cli, struct bawn_error *err)
{
	_cleanup_job_ struct job j = {0};
	const struct bawn_secret *v = NULL;
	size_t n = 0;
	int r = need_args(cli, 0, "no argument", err);

	if (r >= 0)
		r = open_vault(cli, &j, false, err);
	if (r >= 0)
		r = bawn_vault_list(j.vault, cli->arena, &v, &n, err);
	if (r >= 0)
		cli_secret_list(cli, v, n);
	return r < 0 ? r : 0;
}

/* To nobody but a person: not into a file or a pipe, and not for whoever finds a terminal open. */
static int check_reveal(struct cli *cli, struct bawn_error *err)
{
	if (!cli->reveal)
		return 0;
	if (cli->json || !isatty(STDOUT_FILENO))
		return bawn_fail(err, BAWN_ERR_USAGE, -ENOTTY,
			"a value is shown on a terminal only; runs get it with 'bawn run --secret'");
	return 0;
}

static int show(struct cli *cli, struct bawn_error *err)
{
	_cleanup_locked_ struct bawn_locked *value = NULL;
	_cleanup_job_ struct job j = {0};
	const struct bawn_secret *s = NULL;
	int r = need_args(cli, 1, "the name of a secret", err);

	if (r >= 0)
		r = check_reveal(cli, err);
	if (r >= 0)
		r = prepare(cli, &j, err);
	j.key.anew = cli->reveal;
	if (r >= 0)
		r = bawn_vault_open(&j.key, false, &j.vault, err);
	if (r >= 0)
		r = find(cli, &j, cli->args.v[0], &s, err);
	if (r >= 0 && (cli->reveal || !s)) /* which says that it is not there */
		r = bawn_vault_get(j.vault, cli->args.v[0], &value, err);
	if (r >= 0 && cli->reveal)
		r = record(&j, "reveal", cli->args.v[0], 0, err);
	if (r < 0 || !s)
		return r < 0 ? r : CLI_EXIT_FAILED;
	cli_secret_show(cli, s, cli->reveal ? value->data : NULL);
	r = cli_flush(cli, err);
	if (cli->out.data)
		explicit_bzero(cli->out.data, cli->out.cap);
	return r;
}

static int rm(struct cli *cli, struct bawn_error *err)
{
	_cleanup_job_ struct job j = {0};
	int r = cli->args.n ? open_vault(cli, &j, true, err)
			    : need_args(cli, 1, "the names of secrets", err);

	for (size_t i = 0; r >= 0 && i < cli->args.n; i++)
		r = bawn_vault_remove(j.vault, cli->args.v[i], err);
	if (r >= 0)
		r = commit(&j, "rm", cli->args.v[0], err);
	for (size_t i = 1; r >= 0 && i < cli->args.n; i++)
		r = record(&j, "rm", cli->args.v[i], 0, err);
	for (size_t i = 0; r >= 0 && i < cli->args.n; i++)
		said(cli, "removed", cli->args.v[i]);
	return r;
}

static int rename_one(struct cli *cli, struct bawn_error *err)
{
	_cleanup_job_ struct job j = {0};
	int r = need_args(cli, 2, "the name of a secret and its new name", err);

	if (r >= 0)
		r = open_vault(cli, &j, true, err);
	if (r >= 0)
		r = bawn_vault_rename(j.vault, cli->args.v[0], cli->args.v[1], err);
	if (r >= 0)
		r = commit(&j, "rename", cli->args.v[1], err);
	if (r >= 0)
		said(cli, "renamed to", cli->args.v[1]);
	return r;
}

static int rotate_key(struct cli *cli, struct bawn_error *err)
{
	_cleanup_job_ struct job j = {0};
	struct bawn_vault_key fresh = BAWN_VAULT_KEY;
	int r = need_args(cli, 0, "no argument", err);

	if (r >= 0)
		r = prepare(cli, &j, err);
	if (r >= 0)
		r = parse_fd(
			cli->new_passphrase_fd, "new-passphrase-fd", &fresh.passphrase_fd, err);
	if (r >= 0 && cli->new_passphrase_fd && cli->new_key_file)
		r = bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'--new-key-file' and '--new-passphrase-fd' exclude each other");
	j.key.anew = true;
	if (r >= 0)
		r = bawn_vault_open(&j.key, true, &j.vault, err);
	fresh.key_file = cli->new_key_file;
	fresh.ask = j.key.ask;
	if (r >= 0)
		r = bawn_vault_rekey(j.vault, &fresh, true, err);
	if (r >= 0)
		r = commit(&j, "rotate-key", NULL, err);
	if (r >= 0)
		said(cli, "sealed anew under a new key", NULL);
	return r;
}

static int parse_time(const char *text, uint64_t *ret, struct bawn_error *err)
{
	static const char units[] = "smhd";
	static const uint64_t seconds[] = {1, 60, 3600, 86400};
	size_t n = strspn(text, "0123456789");
	const char *unit = n && n < 8 && text[n] && !text[n + 1] ? strchr(units, text[n]) : NULL;

	if (!unit)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--for' needs a time such as 30m or 8h, not '%s'", text);
	*ret = strtoull(text, NULL, 10) * seconds[unit - units];
	return 0;
}

static int unlock(struct cli *cli, struct bawn_error *err)
{
	_cleanup_job_ struct job j = {0};
	uint64_t seconds = BAWN_VAULT_HOLD_DEFAULT;
	int r = need_args(cli, 0, "no argument", err);

	if (r >= 0 && cli->hold_for)
		r = parse_time(cli->hold_for, &seconds, err);
	if (r >= 0)
		r = prepare(cli, &j, err);
	j.key.anew = true;
	if (r >= 0)
		r = bawn_vault_open(&j.key, false, &j.vault, err);
	if (r >= 0)
		r = bawn_vault_hold(j.vault, seconds, err);
	if (r >= 0)
		r = record(&j, "unlock", NULL, 0, err);
	if (r >= 0)
		said(cli, "unlocked", NULL);
	return r;
}

static int lock(struct cli *cli, struct bawn_error *err)
{
	_cleanup_job_ struct job j = {0};
	int r = need_args(cli, 0, "no argument", err);
	bool was;

	if (r >= 0)
		r = prepare(cli, &j, err);
	if (r >= 0)
		r = bawn_vault_drop(err);
	was = r > 0;
	if (was)
		r = record(&j, "lock", NULL, 0, err);
	if (r >= 0)
		said(cli, was ? "locked" : "it was locked", NULL);
	return r < 0 ? r : 0;
}

#define OPT(name_, kind_, value_, words_, member_, help_)                               \
	{                                                                               \
		.name = (name_), .kind = (kind_), .value = (value_), .words = (words_), \
		.offset = offsetof(struct cli, member_), .help = (help_)                \
	}

const struct cli_opt cli_key_opts[] = {
	OPT("key-file", CLI_TEXT, "FILE", "@file", key_file, "open the vault with this key file"),
	OPT("passphrase-fd", CLI_TEXT, "N", NULL, passphrase_fd,
		"read the vault's passphrase from descriptor N"),
	{NULL},
};

static const struct cli_opt quiet_opts[] = {
	{.name = "quiet",
		.letter = 'q',
		.kind = CLI_FLAG,
		.offset = offsetof(struct cli, quiet),
		.help = "say nothing when it was done"},
	{NULL},
};

static const struct cli_opt set_opts[] = {
	OPT("host", CLI_LIST, "HOST[:PORT]", NULL, hosts,
		"a host whose requests get it (port 443); may be repeated"),
	OPT("header", CLI_LIST, "NAME", NULL, headers,
		"a header it is put into (default: authorization); may be repeated"),
	OPT("access", CLI_TEXT, "WORD", "always,approval,auth,skill-only,trigger-only", access,
		"when a run gets it (default: approval)"),
	OPT("for-skill", CLI_LIST, "SKILL", NULL, skills,
		"with --access skill-only: one of the skills"),
	OPT("for-trigger", CLI_LIST, "TRIGGER", NULL, triggers,
		"with --access trigger-only: one of the triggers"),
	OPT("env", CLI_TEXT, "NAME", NULL, variable, "variable inside (default: its name)"),
	OPT("injection", CLI_TEXT, "WORD", "host-boundary,file-mount,environment", injection,
		"let it reach a run in this way or a safer one only"),
	OPT("note", CLI_TEXT, "TEXT", NULL, note, "a note for people"),
	OPT("keep-value", CLI_FLAG, NULL, NULL, keep_value, "change what is given, not the value"),
	{NULL},
};

static const struct cli_opt show_opts[] = {
	OPT("reveal", CLI_FLAG, NULL, NULL, reveal, "show the value, on a terminal only"),
	{NULL},
};

static const struct cli_opt rotate_opts[] = {
	OPT("new-key-file", CLI_TEXT, "FILE", "@file", new_key_file,
		"wrap the new key by this key file"),
	OPT("new-passphrase-fd", CLI_TEXT, "N", NULL, new_passphrase_fd,
		"read the new passphrase from descriptor N"),
	{NULL},
};

static const struct cli_opt unlock_opts[] = {
	OPT("for", CLI_TEXT, "TIME", NULL, hold_for, "how long: 30m, 8h (default), at most 7d"),
	{NULL},
};

#define SECRET(name_, summary_, usage_, run_, ...)                                             \
	{                                                                                      \
		.name = (name_), .parent = "secret", .summary = (summary_), .usage = (usage_), \
		.opts = {__VA_ARGS__}, .usage_status = CLI_EXIT_USAGE,                         \
		.failed_status = CLI_EXIT_FAILED, .run = (run_)                                \
	}

static const struct cli_cmd secret_cmds[] = {
	SECRET("init", "Make an empty vault", "[options]", init, cli_key_opts, quiet_opts,
		cli_place_opts, cli_common_opts),
	SECRET("set", "Put a secret into the vault, or change one", "[options] NAME < value", set,
		set_opts, cli_key_opts, quiet_opts, cli_place_opts, cli_common_opts),
	SECRET("list", "Show all secrets but their values", "[options]", list, cli_key_opts,
		cli_place_opts, cli_common_opts),
	SECRET("show", "Show one secret", "[options] NAME", show, show_opts, cli_key_opts,
		cli_place_opts, cli_common_opts),
	SECRET("rm", "Remove secrets", "[options] NAME...", rm, cli_key_opts, quiet_opts,
		cli_place_opts, cli_common_opts),
	SECRET("rename", "Give a secret another name", "[options] NAME NEW-NAME", rename_one,
		cli_key_opts, quiet_opts, cli_place_opts, cli_common_opts),
	SECRET("rotate-key", "Seal the vault under a new key and passphrase", "[options]",
		rotate_key, rotate_opts, cli_key_opts, quiet_opts, cli_place_opts, cli_common_opts),
	SECRET("unlock", "Keep the key in the kernel's keyring for a while", "[options]", unlock,
		unlock_opts, cli_key_opts, quiet_opts, cli_place_opts, cli_common_opts),
	SECRET("lock", "Take the key out of the keyring", "[options]", lock, quiet_opts,
		cli_place_opts, cli_common_opts),
	{NULL},
};

const struct cli_cmd cli_cmd_secret = {
	.name = "secret",
	.summary = "Keep secrets in a vault, for runs that never see them",
	.usage = "init|set|list|show|rm|rename|rotate-key|unlock|lock ...",
	.words = "init,set,list,show,rm,rename,rotate-key,unlock,lock",
	.about =
		"Exit status: 0 done, 1 not done (no vault, locked, wrong passphrase, no such secret),\n"
		"2 wrongly called.",
	.opts = {cli_common_opts},
	.subs = secret_cmds,
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_FAILED,
};
