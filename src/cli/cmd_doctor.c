/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bawn doctor`: what this host can enforce, and for what it cannot, the command that would change
 * that. Everything is tried, nothing concluded from version numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "backend/backend.h"
#include "backend/native/cgroup.h"
#include "backend/native/seccomp.h"
#include "base/control.h"
#include "base/path.h"
#include "cli/cli.h"

struct host {
	struct utsname kernel;
	long landlock; /* ABI, 0 if there is none */
	bool userns;
	uint32_t cgroup;
	char cgroup_detail[80], cgroup_why[160];
};

/* A child that makes a user namespace tells; we stay where we are. */
static bool try_userns(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void look(struct host *h)
{
	*h = (struct host){0};
	(void)uname(&h->kernel);
	h->landlock =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (h->landlock < 0)
		h->landlock = 0;
	h->userns = try_userns();
	h->cgroup = bawn_cgroup_probe(h->cgroup_detail, h->cgroup_why);
}

/* The policy files of each layer that exist, strongest first. */
static int find_layers(struct cli *cli, const struct bawn_explanation *ex, struct bawn_strlist *ret,
	struct bawn_error *err)
{
	const char *config = cli_env(cli, "XDG_CONFIG_HOME");
	const char *home = bawn_path_home(cli->arena);
	const char *workspace = ex->result.call ? ex->result.call->workspace : ".";
	const char *places[3] = {"/etc/bawn/policy.yaml"};

	if (config && *config == '/')
		places[1] = bawn_path_join(cli->arena, config, "bawn/policy.yaml");
	else if (home)
		places[1] = bawn_path_join(cli->arena, home, ".config/bawn/policy.yaml");
	places[2] = bawn_path_join(cli->arena, workspace, ".bawn.yaml");
	for (size_t i = 0; i < 3; i++)
		if (places[i] && access(places[i], F_OK) == 0 &&
			bawn_strlist_add(cli->arena, ret, places[i]) < 0)
			return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	return 0;
}

static void fact(struct bawn_buf *b, const char *title, const char *text)
{
	cli_pad(b, title, 14);
	cli_puts_safe(b, text);
	bawn_buf_puts(b, "\n");
}

static void show_names(struct bawn_buf *b, const char *title, const struct bawn_items *items)
{
	cli_pad(b, title, 13);
	for (size_t i = 0; i < items->n; i++) {
		bawn_buf_puts(b, " ");
		cli_puts_safe(b, items->v[i].raw);
	}
	bawn_buf_puts(b, "\n");
}

static void show_host(struct cli *cli, const struct host *h)
{
	struct bawn_buf *b = &cli->out;

	bawn_buf_printf(b, "%-14s%s %s (%s)\n", "kernel", h->kernel.sysname, h->kernel.release,
		h->kernel.machine);
	if (h->landlock)
		bawn_buf_printf(b, "%-14sABI %ld\n", "Landlock", h->landlock);
	else
		fact(b, "Landlock", "none");
	fact(b, "namespaces", h->userns ? "user namespaces work" : "no user namespaces");
	fact(b, "cgroup", h->cgroup ? h->cgroup_detail : h->cgroup_why);
}

static void show_sandbox(struct cli *cli, const struct bawn_explanation *ex, const struct host *h,
	const struct bawn_strlist *layers)
{
	struct bawn_buf *b = &cli->out;
	const struct bawn_result *r = &ex->result;

	show_host(cli, h);
	for (size_t i = 0; i < layers->n; i++)
		fact(b, "policy file", layers->v[i]);
	if (!layers->n)
		fact(b, "policy file", "none, the defaults apply");
	if (r->policy) {
		show_names(b, "protected", &r->policy->fs_protect);
		show_names(b, "denied", &r->policy->fs_deny);
	}
	bawn_buf_puts(b, "\nA run here:\n");
	cli_explain_header(cli, ex);
	if (ex->n_rows)
		cli_explain_controls(cli, ex);
	if (r->error.kind != BAWN_ERR_NONE) {
		bawn_buf_puts(b, "\nwould be refused: ");
		cli_puts_safe(b, r->error.msg);
		bawn_buf_puts(b, "\n");
	}
}

static void json_sandbox(struct bawn_buf *b, const struct bawn_explanation *ex,
	const struct host *h, const struct bawn_strlist *layers)
{
	const struct bawn_result *r = &ex->result;
	const struct {
		const char *name, *text;
	} facts[] = {
		{"kernel", h->kernel.release},
		{"architecture", h->kernel.machine},
		{"cgroup", h->cgroup ? h->cgroup_detail : NULL},
		{"backend", r->backend},
		{"level", r->level},
		{"reason", r->reason},
		{"walls", r->walls},
		{"policy_digest", r->policy ? r->policy->digest : NULL},
	};

	cli_json_key(b, "sandbox");
	bawn_buf_puts(b, "{");
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		cli_json_key(b, facts[i].name);
		cli_json_str(b, facts[i].text);
	}
	cli_json_key(b, "landlock_abi");
	bawn_buf_printf(b, "%ld", h->landlock);
	cli_json_key(b, "user_namespaces");
	bawn_buf_puts(b, h->userns ? "true" : "false");
	cli_json_key(b, "policy_files");
	cli_json_list(b, layers->v, layers->n);
	cli_json_key(b, "protected");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; r->policy && i < r->policy->fs_protect.n; i++) {
		cli_json_next(b);
		cli_json_str(b, r->policy->fs_protect.v[i].raw);
	}
	bawn_buf_puts(b, "]");
	cli_explain_json_tried(b, r);
	cli_json_key(b, "error");
	cli_json_error(b, &r->error);
	cli_explain_json_controls(b, ex);
	bawn_buf_puts(b, "}");
}

static int export_seccomp(struct cli *cli, struct bawn_error *err)
{
	_cleanup_close_ int fd = -1;
	const char *path = cli->seccomp_file;

	if (!strcmp(path, "-")) {
		(void)signal(SIGPIPE, SIG_IGN);
		return bawn_seccomp_export(STDOUT_FILENO, err);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "'%s': %m", path);
	return bawn_seccomp_export(fd, err);
}

static int both(struct cli *cli, bool sandbox, bool caps, struct bawn_error *err)
{
	struct bawn_explanation ex;
	struct bawn_strlist layers = {0};
	struct host host;
	int r = 0;

	cli->args = (struct bawn_strlist){0};
	r = bawn_strlist_add(cli->arena, &cli->args, "true");
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "out of memory");
	r = cli_explain_make(cli, &ex, err);
	if (r < 0)
		return r;
	r = find_layers(cli, &ex, &layers, err);
	if (r < 0)
		return r;
	if (sandbox)
		look(&host);
	if (cli->json) {
		bawn_buf_puts(&cli->out, "{");
		cli_json_key(&cli->out, "schema");
		cli_json_str(&cli->out, "bawn/doctor/v1");
		cli_json_key(&cli->out, "would_run");
		bawn_buf_puts(&cli->out, ex.result.error.kind == BAWN_ERR_NONE ? "true" : "false");
	}
	if (sandbox && cli->json)
		json_sandbox(&cli->out, &ex, &host, &layers);
	else if (sandbox)
		show_sandbox(cli, &ex, &host, &layers);
	if (sandbox && caps && !cli->json)
		bawn_buf_puts(&cli->out, "\n");
	if (caps)
		cli_doctor_capabilities(cli);
	if (cli->json)
		bawn_buf_puts(&cli->out, "}\n");
	return ex.result.error.kind == BAWN_ERR_NONE ? 0 : CLI_EXIT_FAILED;
}

static int doctor(struct cli *cli, struct bawn_error *err)
{
	const char *what = cli->args.n ? cli->args.v[0] : "";
	bool sandbox = !*what || !strcmp(what, "sandbox");
	bool caps = !*what || !strcmp(what, "capabilities");

	if (cli->args.n > 1 || (!sandbox && !caps))
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"unexpected argument '%s'; 'sandbox' and 'capabilities' are known",
			cli->args.v[cli->args.n - 1]);
	if (cli->seccomp_file)
		return export_seccomp(cli, err);
	return both(cli, sandbox, caps, err);
}

static const struct cli_opt doctor_opts[] = {
	{.name = "workspace",
		.letter = 'w',
		.kind = CLI_TEXT,
		.value = "DIR",
		.words = "@dir",
		.offset = offsetof(struct cli, workspace),
		.help = "the workspace to look at (default: the current directory)"},
	{.name = "fresh",
		.kind = CLI_FLAG,
		.offset = offsetof(struct cli, fresh),
		.help = "try every backend again instead of remembering recent answers"},
	{.name = "export-seccomp",
		.kind = CLI_TEXT,
		.value = "FILE",
		.words = "@file",
		.offset = offsetof(struct cli, seccomp_file),
		.help = "write the system call filter as raw BPF to FILE, '-' for standard output"},
	{NULL},
};

const struct cli_cmd cli_cmd_doctor = {
	.name = "doctor",
	.summary = "Show what this host can enforce, and how to get what it cannot",
	.usage = "[options] [sandbox|capabilities]",
	.about = "sandbox: what a run here would use. capabilities: every backend, tried.\n"
		 "Exit status: 0 if a run with the defaults is possible here, 1 if not.",
	.words = "sandbox,capabilities",
	.opts = {doctor_opts, cli_common_opts},
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_FAILED,
	.run = doctor,
};
