/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bawn explain`: what `bawn run` with the same options would do, as a table or as JSON. The walls
 * are really put up and taken down again, so that the table shows what is and not what should be.
 */
#include <errno.h>
#include <string.h>

#include "backend/seatbelt/profile.h"
#include "base/control.h"
#include "base/path.h"
#include "cli/cli.h"

/* "PATH=/usr/bin" -> "PATH": values may be secret, names are what one looks for. */
static void put_name(struct bawn_buf *b, const char *pair, bool json)
{
	size_t len = strcspn(pair, "=");

	if (json)
		(void)bawn_buf_json(b, pair, len);
	else
		bawn_buf_escape(b, pair, len);
}

static void line(struct bawn_buf *b, const char *title, const char *text)
{
	if (!text)
		return;
	cli_pad(b, title, 14);
	cli_puts_safe(b, text);
	bawn_buf_puts(b, "\n");
}

static void heading(struct cli *cli, const char *title)
{
	bawn_buf_printf(&cli->out, "\n%s%s%s\n", cli_colour(cli->colour_out, CLI_BOLD), title,
		cli_colour(cli->colour_out, CLI_PLAIN));
}

struct state {
	const char *text;
	enum cli_colour colour;
};

static struct state state_of(const struct bawn_explain_row *row, uint32_t missing)
{
	if (row->enforced)
		return (struct state){"✓ enforced", CLI_GREEN};
	if (!row->demanded)
		return (struct state){"– not asked", CLI_DIM};
	if (missing & bawn_control_find(row->control))
		return (struct state){"✗ permitted", CLI_YELLOW};
	return (struct state){"✗ missing", CLI_RED};
}

void cli_explain_controls(struct cli *cli, const struct bawn_explanation *ex)
{
	struct bawn_buf *b = &cli->out;
	size_t by = strlen("ENFORCED BY");

	for (size_t i = 0; i < ex->n_rows; i++)
		if (ex->rows[i].by && cli_width(ex->rows[i].by) > by)
			by = cli_width(ex->rows[i].by);
	bawn_buf_printf(b, "\n%s", cli_colour(cli->colour_out, CLI_BOLD));
	cli_pad(b, "CONTROL", 17);
	cli_pad(b, "STATE", 13);
	cli_pad(b, "ENFORCED BY", by + 2);
	bawn_buf_printf(b, "DETAIL%s\n", cli_colour(cli->colour_out, CLI_PLAIN));
	for (size_t i = 0; i < ex->n_rows; i++) {
		const struct bawn_explain_row *row = &ex->rows[i];
		struct state s = state_of(row, ex->result.missing);

		cli_pad(b, row->control, 17);
		bawn_buf_puts(b, cli_colour(cli->colour_out, s.colour));
		cli_pad(b, s.text, 13);
		bawn_buf_puts(b, cli_colour(cli->colour_out, CLI_PLAIN));
		cli_pad(b, row->by && *row->by ? row->by : "–", by + 2);
		cli_puts_safe(b, row->detail);
		while (b->len && b->data[b->len - 1] == ' ')
			b->len--;
		bawn_buf_puts(b, "\n");
	}
}

static const char *mount_word(enum bawn_mount_kind kind)
{
	static const char *const words[] = {
		[BAWN_MNT_RO] = "read",
		[BAWN_MNT_RW] = "write",
		[BAWN_MNT_SCRATCH] = "private",
		[BAWN_MNT_SYMLINK] = "symlink",
		[BAWN_MNT_HIDE] = "hidden",
		[BAWN_MNT_SOCKET] = "socket",
		[BAWN_MNT_DEVICE] = "device",
		[BAWN_MNT_FILE] = "file",
	};

	return words[kind];
}

/* The path behind a mount; NULL where `src` is a mode or a text. */
static const char *source_of(const struct bawn_mount *m)
{
	return m->kind == BAWN_MNT_SCRATCH || m->kind == BAWN_MNT_FILE ? NULL : m->src;
}

static void show_mount(struct bawn_buf *b, const struct bawn_mount *m)
{
	const char *src = source_of(m);

	bawn_buf_puts(b, "  ");
	cli_pad(b, mount_word(m->kind), 9);
	cli_puts_safe(b, m->dst);
	if (src && strcmp(src, m->dst) != 0) {
		bawn_buf_puts(b, m->kind == BAWN_MNT_SYMLINK ? " -> " : " from ");
		cli_puts_safe(b, src);
	}
	if (m->no_exec)
		bawn_buf_puts(b, ", nothing is executed");
	if (m->rule) {
		bawn_buf_puts(b, "  (");
		cli_puts_safe(b, m->rule);
		bawn_buf_puts(b, ")");
	}
	bawn_buf_puts(b, "\n");
}

static void show_limits(struct bawn_buf *b, const struct bawn_limits *l)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {{"processes", l->processes}, {"files", l->files}};

	bawn_buf_puts(b, "  memory ");
	cli_size(b, l->memory);
	bawn_buf_puts(b, ", disk ");
	cli_size(b, l->disk);
	bawn_buf_puts(b, ", output ");
	cli_size(b, l->output);
	bawn_buf_puts(b, ", time ");
	cli_msec(b, l->time_ms);
	for (size_t i = 0; i < 2; i++) {
		bawn_buf_printf(b, ", %s ", counts[i].name);
		if (counts[i].value == BAWN_UNLIMITED)
			bawn_buf_puts(b, "unlimited");
		else
			bawn_buf_printf(b, "%llu", (unsigned long long)counts[i].value);
	}
	if (l->cpus_milli == BAWN_UNLIMITED)
		bawn_buf_puts(b, ", cpus unlimited");
	else
		bawn_buf_printf(b, ", cpus %llu.%03llu", (unsigned long long)(l->cpus_milli / 1000),
			(unsigned long long)(l->cpus_milli % 1000));
	bawn_buf_puts(b, "\n");
}

static void show_hosts(struct bawn_buf *b, const char *word, const char *const *v)
{
	for (; *v; v++) {
		bawn_buf_puts(b, "  ");
		cli_pad(b, word, 9);
		cli_puts_safe(b, *v);
		bawn_buf_puts(b, "\n");
	}
}

static void show_network(struct cli *cli, const struct bawn_egress_plan *e)
{
	struct bawn_buf *b = &cli->out;

	heading(cli, "Network");
	bawn_buf_printf(b, "  %s, proxy at 127.0.0.1:%u, other connections by way of %u",
		bawn_enum_name("netmode", e->mode), e->proxy_port, e->capture_port);
	bawn_buf_printf(b, "; internal addresses %s\n",
		!e->ssrf           ? "not refused"
		: e->block_private ? "refused"
				   : "refused but for private ones");
	show_hosts(b, "allow", e->allow);
	if (e->development)
		bawn_buf_puts(b, "  allow    package registries and source hosts\n");
	show_hosts(b, "block", e->block);
	if (e->host_bytes != BAWN_UNLIMITED) {
		bawn_buf_puts(b, "  at most  ");
		cli_size(b, e->host_bytes);
		bawn_buf_puts(b, " to and from each host\n");
	}
	if (e->host_rate_milli != BAWN_UNLIMITED)
		bawn_buf_printf(b, "  at most  %g requests per second to each host\n",
			(double)e->host_rate_milli / 1000);
}

static const char *way_word(enum bawn_secret_way way)
{
	static const char *const words[] = {
		[BAWN_SECRET_BOUNDARY] = "host-boundary",
		[BAWN_SECRET_VARIABLE] = "environment",
		[BAWN_SECRET_FILE] = "file-mount",
	};

	return words[way];
}

static void show_secrets(struct cli *cli, const struct bawn_plan *plan)
{
	struct bawn_buf *b = &cli->out;

	if (plan->n_secrets)
		heading(cli, "Secrets");
	for (size_t i = 0; i < plan->n_secrets; i++) {
		const struct bawn_plan_secret *s = &plan->secrets[i];

		bawn_buf_printf(b, "  %s as $%s%s, ", s->name, s->env,
			s->way == BAWN_SECRET_FILE ? "_FILE" : "");
		bawn_buf_puts(b, s->way == BAWN_SECRET_BOUNDARY ? "a placeholder; its value goes to"
								: "ITS VALUE INSIDE; bound to");
		if (!s->hosts[0])
			bawn_buf_puts(b, " no host");
		for (size_t j = 0; s->hosts[j]; j++) {
			bawn_buf_puts(b, j ? ", " : " ");
			cli_puts_safe(b, s->hosts[j]);
		}
		bawn_buf_printf(b, "  (%s)\n", way_word(s->way));
	}
}

static void json_secrets(struct bawn_buf *b, const struct bawn_plan *plan)
{
	cli_json_key(b, "secrets");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < plan->n_secrets; i++) {
		const struct bawn_plan_secret *s = &plan->secrets[i];
		size_t n = 0;

		while (s->hosts[n])
			n++;
		cli_json_next(b);
		bawn_buf_puts(b, "{");
		cli_json_text(b, "name", s->name);
		cli_json_text(b, "env", s->env);
		cli_json_text(b, "injection", way_word(s->way));
		cli_json_key(b, "hosts");
		cli_json_list(b, s->hosts, n);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
}

static void show_plan(struct cli *cli, const struct bawn_plan *plan)
{
	struct bawn_buf *b = &cli->out;

	heading(cli, "Files");
	for (size_t i = 0; i < plan->n_mounts; i++)
		show_mount(b, &plan->mounts[i]);
	if (plan->n_guards)
		heading(cli, "Names that cannot come into being");
	for (size_t i = 0; i < plan->n_guards; i++) {
		bawn_buf_puts(b, "  ");
		cli_puts_safe(b, plan->guards[i].dir);
		bawn_buf_puts(b, "/");
		cli_puts_safe(b, plan->guards[i].name);
		bawn_buf_puts(b, "  (");
		cli_puts_safe(b, plan->guards[i].rule);
		bawn_buf_puts(b, ")\n");
	}
	heading(cli, "Environment");
	bawn_buf_puts(b, " ");
	for (const char *const *e = plan->envp; e && *e; e++) {
		bawn_buf_puts(b, " ");
		put_name(b, *e, false);
	}
	bawn_buf_puts(b, "\n");
	if (plan->egress)
		show_network(cli, plan->egress);
	show_secrets(cli, plan);
	heading(cli, "Limits");
	show_limits(b, &plan->limits);
}

/* The text that would be handed to macOS's sandbox; NULL for other backends. On a system that has
 * no such sandbox this is all that there is to see of it. */
static const char *profile_of(struct cli *cli, const struct bawn_result *r)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	if (!r->plan || strcmp(r->backend, "seatbelt") != 0 || bawn_seatbelt_is_custom(r->plan) ||
		bawn_seatbelt_profile(r->plan, &b, NULL) < 0)
		return NULL;
	return bawn_arena_strndup(cli->arena, b.data, b.len);
}

static void show_profile(struct cli *cli, const struct bawn_result *r)
{
	const char *text = profile_of(cli, r);

	if (!text)
		return;
	heading(cli, "Seatbelt profile");
	for (size_t len; *text; text += len + (text[len] ? 1 : 0)) {
		len = strcspn(text, "\n");
		bawn_buf_escape(&cli->out, text, len);
		bawn_buf_puts(&cli->out, "\n");
	}
}

void cli_explain_header(struct cli *cli, const struct bawn_explanation *ex)
{
	const struct bawn_result *r = &ex->result;
	struct bawn_buf *b = &cli->out;

	if (r->call) {
		line(b, "command", r->call->text);
		line(b, "workspace", r->call->workspace);
	}
	line(b, "backend", r->backend);
	line(b, "chosen since", r->reason);
	for (size_t i = 0; i < r->n_tried; i++)
		line(b, i ? "" : "would not do",
			bawn_arena_printf(
				cli->arena, "%s: %s", r->tried[i].backend, r->tried[i].why));
	line(b, "walls", r->walls);
	line(b, "level", r->level);
	if (r->policy)
		line(b, "policy", r->policy->digest);
	for (size_t i = 0; i < sizeof(r->notes) / sizeof(r->notes[0]) && r->notes[i]; i++)
		line(b, "note", r->notes[i]);
}

static void json_plan_paths(struct bawn_buf *b, const struct bawn_plan *plan)
{
	cli_json_key(b, "mounts");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];

		cli_json_next(b);
		bawn_buf_puts(b, "{");
		cli_json_key(b, "kind");
		cli_json_str(b, mount_word(m->kind));
		cli_json_key(b, "path");
		cli_json_str(b, m->dst);
		cli_json_key(b, "source");
		cli_json_str(b, source_of(m));
		cli_json_key(b, "no_exec");
		bawn_buf_puts(b, m->no_exec ? "true" : "false");
		cli_json_key(b, "rule");
		cli_json_str(b, m->rule);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
	cli_json_key(b, "guards");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < plan->n_guards; i++) {
		cli_json_next(b);
		bawn_buf_puts(b, "{");
		cli_json_key(b, "directory");
		cli_json_str(b, plan->guards[i].dir);
		cli_json_key(b, "name");
		cli_json_str(b, plan->guards[i].name);
		cli_json_key(b, "rule");
		cli_json_str(b, plan->guards[i].rule);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
	cli_json_key(b, "protect");
	cli_json_list(b, plan->protect, plan->n_protect);
	cli_json_key(b, "deny");
	cli_json_list(b, plan->deny, plan->n_deny);
	cli_json_key(b, "no_exec");
	cli_json_list(b, plan->no_exec, plan->n_no_exec);
	cli_json_key(b, "writable");
	cli_json_list(b, plan->writable, plan->n_writable);
}

static void json_limits(struct bawn_buf *b, const struct bawn_limits *l)
{
	const struct {
		const char *name;
		uint64_t value;
	} all[] = {
		{"memory", l->memory},
		{"cpus_milli", l->cpus_milli},
		{"cpu_shares", l->cpu_shares},
		{"processes", l->processes},
		{"files", l->files},
		{"disk", l->disk},
		{"disk_reserve", l->disk_reserve},
		{"time_ms", l->time_ms},
		{"output", l->output},
	};

	cli_json_key(b, "limits");
	bawn_buf_puts(b, "{");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cli_json_key(b, all[i].name);
		cli_json_u64(b, all[i].value);
	}
	bawn_buf_puts(b, "}");
}

static void json_hosts(struct bawn_buf *b, const char *key, const char *const *v)
{
	size_t n = 0;

	while (v[n])
		n++;
	cli_json_key(b, key);
	cli_json_list(b, v, n);
}

static void json_egress(struct bawn_buf *b, const struct bawn_egress_plan *e)
{
	cli_json_key(b, "egress");
	if (!e) {
		bawn_buf_puts(b, "null");
		return;
	}
	bawn_buf_puts(b, "{");
	cli_json_key(b, "mode");
	cli_json_str(b, bawn_enum_name("netmode", e->mode));
	json_hosts(b, "allow", e->allow);
	json_hosts(b, "block", e->block);
	bawn_buf_printf(b,
		",\"development\":%s,\"ssrf\":%s,\"block_private\":%s,\"proxy_port\":%u,\"capture_port\":%u",
		e->development ? "true" : "false", e->ssrf ? "true" : "false",
		e->block_private ? "true" : "false", e->proxy_port, e->capture_port);
	cli_json_key(b, "host_bytes");
	cli_json_u64(b, e->host_bytes);
	cli_json_key(b, "host_rate_milli");
	cli_json_u64(b, e->host_rate_milli);
	bawn_buf_puts(b, "}");
}

static void json_plan(struct bawn_buf *b, const struct bawn_plan *plan)
{
	char digest[BAWN_HEX_LEN + 1];

	bawn_plan_digest(plan, digest);
	cli_json_key(b, "digest");
	cli_json_str(b, digest);
	cli_json_key(b, "executable");
	cli_json_str(b, plan->exe);
	cli_json_key(b, "cwd");
	cli_json_str(b, plan->cwd);
	json_plan_paths(b, plan);
	cli_json_key(b, "environment");
	bawn_buf_puts(b, "[");
	for (const char *const *e = plan->envp; e && *e; e++) {
		cli_json_next(b);
		put_name(b, *e, true);
	}
	bawn_buf_puts(b, "]");
	cli_json_key(b, "loopback_ports");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < plan->n_loopback_ports; i++) {
		cli_json_next(b);
		bawn_buf_printf(b, "%u", plan->loopback_ports[i]);
	}
	bawn_buf_puts(b, "]");
	json_egress(b, plan->egress);
	json_secrets(b, plan);
	json_limits(b, &plan->limits);
}

void cli_explain_json_controls(struct bawn_buf *b, const struct bawn_explanation *ex)
{
	cli_json_key(b, "controls");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < ex->n_rows; i++) {
		const struct bawn_explain_row *row = &ex->rows[i];

		cli_json_next(b);
		bawn_buf_puts(b, "{");
		cli_json_key(b, "control");
		cli_json_str(b, row->control);
		cli_json_key(b, "demanded");
		bawn_buf_puts(b, row->demanded ? "true" : "false");
		cli_json_key(b, "enforced");
		bawn_buf_puts(b, row->enforced ? "true" : "false");
		cli_json_key(b, "by");
		cli_json_str(b, row->by);
		cli_json_key(b, "detail");
		cli_json_str(b, row->detail);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
}

void cli_explain_json_tried(struct bawn_buf *b, const struct bawn_result *r)
{
	cli_json_key(b, "tried");
	bawn_buf_puts(b, "{");
	for (size_t i = 0; i < r->n_tried; i++) {
		cli_json_key(b, r->tried[i].backend);
		cli_json_str(b, r->tried[i].why);
	}
	bawn_buf_puts(b, "}");
}

static void json_result(struct bawn_buf *b, const struct bawn_result *r)
{
	const struct {
		const char *name, *text;
	} facts[] = {
		{"text", r->call ? r->call->text : NULL},
		{"workspace", r->call ? r->call->workspace : NULL},
		{"backend", r->backend},
		{"level", r->level},
		{"reason", r->reason},
		{"walls", r->walls},
		{"policy_digest", r->policy ? r->policy->digest : NULL},
		{"verdict", r->call ? bawn_verdict_name(r->verdict.kind) : NULL},
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		cli_json_key(b, facts[i].name);
		cli_json_str(b, facts[i].text);
	}
	cli_explain_json_tried(b, r);
	cli_json_key(b, "error");
	cli_json_error(b, &r->error);
	cli_json_key(b, "missing");
	cli_json_controls(b, r->missing);
	while (n < sizeof(r->notes) / sizeof(r->notes[0]) && r->notes[n])
		n++;
	cli_json_key(b, "notes");
	cli_json_list(b, r->notes, n);
}

/* Program and arguments that run the command confined, for whoever starts it himself. */
static int json_wrap(struct cli *cli, struct bawn_error *err)
{
	struct bawn_strlist wrap = {0};
	const char *self = NULL;
	int r = bawn_path_resolve(cli->arena, "/proc/self/exe", &self);

	if (r < 0)
		self = "bawn";
	r = bawn_strlist_add(cli->arena, &wrap, self);
	if (!r)
		r = bawn_strlist_add(cli->arena, &wrap, "run");
	for (size_t i = 0; !r && i < cli->given.n; i++)
		r = bawn_strlist_add(cli->arena, &wrap, cli->given.v[i]);
	if (!r)
		r = bawn_strlist_add(cli->arena, &wrap, "--");
	for (size_t i = 0; !r && i < cli->args.n; i++)
		r = bawn_strlist_add(cli->arena, &wrap, cli->args.v[i]);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "out of memory");
	cli_json_key(&cli->out, "run_as");
	cli_json_list(&cli->out, wrap.v, wrap.n);
	return 0;
}

static int print_json(struct cli *cli, const struct bawn_explanation *ex, struct bawn_error *err)
{
	struct bawn_buf *b = &cli->out;
	const char *profile;
	int r;

	bawn_buf_puts(b, "{");
	cli_json_key(b, "schema");
	cli_json_str(b, "bawn/plan/v1");
	cli_json_key(b, "would_run");
	bawn_buf_puts(b, ex->result.error.kind == BAWN_ERR_NONE ? "true" : "false");
	cli_json_key(b, "command");
	cli_json_list(b, cli->args.v, cli->args.n);
	json_result(b, &ex->result);
	cli_explain_json_controls(b, ex);
	cli_json_key(b, "plan");
	if (ex->result.plan) {
		bawn_buf_puts(b, "{");
		json_plan(b, ex->result.plan);
		bawn_buf_puts(b, "}");
	} else {
		bawn_buf_puts(b, "null");
	}
	profile = profile_of(cli, &ex->result);
	if (profile) {
		cli_json_key(b, "seatbelt_profile");
		cli_json_str(b, profile);
	}
	r = json_wrap(cli, err);
	bawn_buf_puts(b, "}\n");
	return r;
}

int cli_explain_make(struct cli *cli, struct bawn_explanation *ret, struct bawn_error *err)
{
	struct bawn_run_input in;
	int r = cli_run_input(cli, &in, err);

	if (r < 0)
		return r;
	*ret = (struct bawn_explanation){0};
	r = bawn_pipeline_explain(cli->arena, &in, ret);
	if (r < 0 && ret->result.error.kind == BAWN_ERR_NONE)
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "the plan could not be made");
	return 0;
}

static int explain(struct cli *cli, struct bawn_error *err)
{
	struct bawn_explanation ex;
	int r = 0;

	if (!cli->args.n)
		r = bawn_strlist_add(cli->arena, &cli->args, "true");
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "out of memory");
	r = cli_explain_make(cli, &ex, err);
	if (r < 0)
		return r;
	if (cli->json) {
		r = print_json(cli, &ex, err);
		if (r < 0)
			return r;
	} else {
		cli_explain_header(cli, &ex);
		if (ex.result.plan) {
			cli_explain_controls(cli, &ex);
			show_plan(cli, ex.result.plan);
			show_profile(cli, &ex.result);
		}
	}
	if (ex.result.error.kind == BAWN_ERR_NONE)
		return 0;
	*err = ex.result.error;
	(void)bawn_error_wrap(err, "would be refused");
	cli_say(cli, err->msg);
	return bawn_result_exit(&ex.result) ? bawn_result_exit(&ex.result) : BAWN_EXIT_REFUSED;
}

const struct cli_cmd cli_cmd_explain = {
	.name = "explain",
	.summary = "Show what a run would do: each control and what enforces it",
	.usage = "[options] [--] [command [argument...]]",
	.about = "Takes the options of 'bawn run'. Runs nothing of the command, records nothing.\n"
		 "Exit status: 0 if it would run, 125 or 126 if it would be refused.",
	.words = "@command",
	.opts = {cli_policy_opts, cli_secret_opts, cli_call_opts, cli_common_opts},
	.command = true,
	.usage_status = BAWN_EXIT_REFUSED,
	.failed_status = BAWN_EXIT_REFUSED,
	.run = explain,
};
