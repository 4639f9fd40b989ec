/* SPDX-License-Identifier: Apache-2.0 */
/* `bawn audit`: read the record of what was run, and check that nobody edited it. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "audit/audit.h"
#include "cli/cli.h"

#define TAIL_DEFAULT 10
#define HASH_SHOWN   12

static inline void cleanup_json_p(json_t **j)
{
	json_decref(*j);
}

/*
 * The log that a run here would write to. A workspace has no say in that, so that its policy, right
 * or wrong, cannot hide the log.
 */
static int audit_path(struct cli *cli, const char **ret, struct bawn_error *err)
{
	struct bawn_policy_source src;
	const struct bawn_policy *p = NULL;
	int r;

	if (cli->args.n)
		return bawn_fail(
			err, BAWN_ERR_USAGE, -EINVAL, "unexpected argument '%s'", cli->args.v[0]);
	if (cli->audit_file) {
		*ret = cli->audit_file;
		return 0;
	}
	r = cli_policy_source(cli, &src, err);
	if (r < 0)
		return r;
	src.no_workspace = true;
	r = bawn_policy_load(cli->arena, &src, &p, err);
	if (r < 0)
		return bawn_error_wrap(err, "finding the audit log ('--file' names it)");
	*ret = p->audit_path && *p->audit_path ? p->audit_path
					       : bawn_audit_default_path(cli->arena);
	if (!*ret)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ENOENT,
			"no home directory, so no audit log; '--file' names one");
	return 0;
}

static const char *text_of(const json_t *record, const char *name)
{
	const char *s = json_string_value(json_object_get(record, name));

	return s ? s : "";
}

/* What was done with which secret, and for whom. */
static void put_secret(struct bawn_buf *b, const json_t *record)
{
	cli_puts_safe(b, text_of(record, "action"));
	bawn_buf_puts(b, " ");
	cli_puts_safe(b, text_of(record, "name"));
	if (*text_of(record, "host")) {
		bawn_buf_puts(b, " for ");
		cli_puts_safe(b, text_of(record, "host"));
	}
}

/* How it ended or why it did not begin, and what was refused on the way. */
static void put_outcome(struct bawn_buf *b, const json_t *record)
{
	json_int_t denied = json_integer_value(json_object_get(record, "denials_total"));
	const json_t *status = json_object_get(record, "exit");

	cli_puts_safe(b, text_of(record, "outcome"));
	if (*text_of(record, "limit")) {
		bawn_buf_puts(b, " ");
		cli_puts_safe(b, text_of(record, "limit"));
	}
	if (json_is_integer(status))
		bawn_buf_printf(b, ", exit %lld", (long long)json_integer_value(status));
	if (denied)
		bawn_buf_printf(b, ", %lld denied", (long long)denied);
	cli_puts_safe(b, text_of(record, "why"));
}

static void put_column(struct bawn_buf *b, const char *text, size_t width)
{
	size_t start = b->len;

	cli_puts_safe(b, text);
	while (b->len - start < width)
		bawn_buf_puts(b, " ");
	bawn_buf_puts(b, "  ");
}

/* The start of a hash or an id tells records apart as well as all of it. */
static void put_short(struct bawn_buf *b, const char *text)
{
	char shown[HASH_SHOWN + 1] = "";

	memcpy(shown, text, strnlen(text, HASH_SHOWN));
	put_column(b, shown, HASH_SHOWN);
}

static void put_record(struct bawn_buf *b, const json_t *record)
{
	bawn_buf_printf(
		b, "%6lld  ", (long long)json_integer_value(json_object_get(record, "seq")));
	put_column(b, text_of(record, "time"), 27);
	put_column(b, text_of(record, "event"), 7);
	put_short(b, text_of(record, "run"));
	put_column(b, text_of(record, "adapter"), 8);
	put_short(b, text_of(record, "input_sha256"));
	if (!strcmp(text_of(record, "event"), "secret"))
		put_secret(b, record);
	put_outcome(b, record);
	while (b->len && b->data[b->len - 1] == ' ')
		b->len--;
	bawn_buf_puts(b, "\n");
}

struct lines {
	struct cli *cli;
	struct bawn_error *err, why;
	int failed;
};

static int each(void *data, const char *text, size_t len)
{
	struct lines *l = data;
	struct bawn_buf *b = &l->cli->out;

	if (l->cli->json) {
		bawn_buf_add(b, text, len);
		bawn_buf_puts(b, "\n");
	} else {
		_cleanup_(cleanup_json_p) json_t *record = json_loadb(text, len, 0, NULL);

		if (record)
			put_record(b, record);
		else
			bawn_buf_puts(
				b, "     ?  a line that is no record; see 'bawn audit verify'\n");
	}
	if (l->cli->follow || b->len > (1u << 16))
		l->failed = cli_flush(l->cli, l->err);
	return l->failed;
}

static int list(struct cli *cli, uint64_t last, struct bawn_error *err)
{
	struct bawn_audit_filter filter = {
		.run = cli->audit_run,
		.event = cli->audit_event,
		.since = cli->audit_since,
		.last = last,
	};
	struct lines l = {.cli = cli};
	const char *path = NULL;
	size_t head;
	int r = audit_path(cli, &path, err);

	if (r < 0)
		return r;
	if (!cli->json) {
		bawn_buf_printf(&cli->out, "%s   SEQ  ", cli_colour(cli->colour_out, CLI_BOLD));
		put_column(&cli->out, "TIME", 27);
		put_column(&cli->out, "EVENT", 7);
		put_column(&cli->out, "RUN", HASH_SHOWN);
		put_column(&cli->out, "BACKEND", 8);
		put_column(&cli->out, "COMMAND", HASH_SHOWN);
		bawn_buf_printf(&cli->out, "OUTCOME%s\n", cli_colour(cli->colour_out, CLI_PLAIN));
	}
	head = cli->out.len;
	l.err = &l.why;
	r = bawn_audit_query(path, &filter, cli->follow, each, &l, err);
	if (l.failed < 0 && err)
		*err = l.why; /* of writing, not of reading the log */
	if (r < 0 && cli->out.len == head)
		cli->out.len = 0; /* no table where there is no log */
	return l.failed < 0 ? l.failed : r < 0 ? r : 0;
}

static int show(struct cli *cli, struct bawn_error *err)
{
	return list(cli, cli->last, err);
}

static int tail(struct cli *cli, struct bawn_error *err)
{
	return list(cli, cli->last ? cli->last : TAIL_DEFAULT, err);
}

static void verify_json(
	struct bawn_buf *b, const char *path, const struct bawn_audit_report *rep, bool intact)
{
	bawn_buf_puts(b, "{");
	cli_json_key(b, "schema");
	cli_json_str(b, "bawn/audit-verify/v1");
	cli_json_key(b, "file");
	cli_json_str(b, path);
	cli_json_key(b, "intact");
	bawn_buf_puts(b, intact ? "true" : "false");
	cli_json_key(b, "records");
	cli_json_u64(b, rep->records);
	cli_json_key(b, "head");
	cli_json_str(b, rep->head);
	cli_json_key(b, "bad_line");
	cli_json_u64(b, rep->bad_line ? rep->bad_line : BAWN_UNLIMITED);
	cli_json_key(b, "problem");
	cli_json_str(b, intact ? NULL : rep->problem);
	bawn_buf_puts(b, "}\n");
}

static int verify(struct cli *cli, struct bawn_error *err)
{
	struct bawn_audit_report report = {0};
	struct bawn_buf *b = &cli->out;
	const char *path = NULL;
	bool intact;
	int r = audit_path(cli, &path, err);

	if (r < 0)
		return r;
	r = bawn_audit_verify(path, cli->audit_expect, &report, err);
	if (r < 0 && r != -EBADMSG)
		return r;
	intact = r >= 0;
	if (cli->json) {
		verify_json(b, path, &report, intact);
	} else {
		cli_puts_safe(b, path);
		if (intact)
			bawn_buf_printf(b, ": intact, %llu records\nhead %llu:%s\n",
				(unsigned long long)report.records,
				(unsigned long long)report.records, report.head);
		else
			bawn_buf_puts(b, ": NOT intact\n");
	}
	if (intact)
		return 0;
	(void)bawn_fail(
		err, BAWN_ERR_AUDIT, -EBADMSG, "audit log is not intact: %s", report.problem);
	cli_say(cli, err->msg);
	return CLI_EXIT_FAILED;
}

#define OPT(name_, letter_, kind_, value_, words_, member_, help_)                          \
	{                                                                                   \
		.name = (name_), .letter = (letter_), .kind = (kind_), .value = (value_),   \
		.words = (words_), .offset = offsetof(struct cli, member_), .help = (help_) \
	}

static const struct cli_opt file_opts[] = {
	OPT("file", 0, CLI_TEXT, "FILE", "@file", audit_file, "the log (default: the policy's)"),
	{NULL},
};

static const struct cli_opt show_opts[] = {
	OPT("last", 'n', CLI_NUMBER, "N", NULL, last, "only the last N records"),
	OPT("run", 0, CLI_TEXT, "ID", NULL, audit_run, "only records of this run"),
	OPT("event", 0, CLI_TEXT, "NAME", "start,end,refused", audit_event, "only this event"),
	OPT("since", 0, CLI_TEXT, "TIME", NULL, audit_since,
		"only from this time on: 10m, 2h, 1d or ISO 8601"),
	{NULL},
};

static const struct cli_opt verify_opts[] = {
	OPT("expect", 0, CLI_TEXT, "SEQ:HASH", NULL, audit_expect,
		"this record, noted elsewhere, must be there"),
	{NULL},
};

static const struct cli_opt tail_opts[] = {
	OPT("lines", 'n', CLI_NUMBER, "N", NULL, last, "the last N records (default: 10)"),
	OPT("follow", 'f', CLI_FLAG, NULL, NULL, follow, "wait for more"),
	{NULL},
};

static const struct cli_cmd audit_cmds[] = {
	{
		.name = "show",
		.parent = "audit",
		.summary = "Show records",
		.usage = "[options]",
		.about = "With --json the records themselves, one per line.",
		.opts = {show_opts, file_opts, cli_common_opts},
		.usage_status = CLI_EXIT_USAGE,
		.failed_status = CLI_EXIT_FAILED,
		.run = show,
	},
	{
		.name = "verify",
		.parent = "audit",
		.summary = "Check that no record was edited, removed or added",
		.usage = "[options]",
		.about = "Exit status: 0 if the log is intact, 1 if not.",
		.opts = {verify_opts, file_opts, cli_common_opts},
		.usage_status = CLI_EXIT_USAGE,
		.failed_status = CLI_EXIT_FAILED,
		.run = verify,
	},
	{
		.name = "tail",
		.parent = "audit",
		.summary = "Show the last records, and with -f those to come",
		.usage = "[options]",
		.opts = {tail_opts, file_opts, cli_common_opts},
		.usage_status = CLI_EXIT_USAGE,
		.failed_status = CLI_EXIT_FAILED,
		.run = tail,
	},
	{NULL},
};

const struct cli_cmd cli_cmd_audit = {
	.name = "audit",
	.summary = "Show or verify the record of what was run",
	.usage = "show|verify|tail ...",
	.words = "show,verify,tail",
	.opts = {cli_common_opts},
	.subs = audit_cmds,
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_FAILED,
};
