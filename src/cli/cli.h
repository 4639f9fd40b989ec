/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The command line as tables. A verb is a struct cli_cmd, an option a struct cli_opt; the parser,
 * the help texts, the completions and the check of the man pages all read the same tables. Most
 * options of `bawn run` only name a setting of fields.def: the policy reader checks their values.
 *
 * A verb writes what belongs on standard output into cli->out and remarks into cli->say; only
 * main() prints. It returns an exit status >= 0, or a negative errno with `err` filled.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "pipeline/pipeline.h"
#include "secrets/secrets.h"

enum {
	CLI_EXIT_FAILED = 1, /* the verb could not do it, or the answer is no */
	CLI_EXIT_USAGE = 2,  /* except `run` and `explain`: BAWN_EXIT_REFUSED */
};

struct cli;

enum cli_kind {
	CLI_FLAG,    /* sets the bool at `offset` */
	CLI_TEXT,    /* the const char * at `offset`; the last one counts */
	CLI_NUMBER,  /* the uint64_t at `offset` */
	CLI_LIST,    /* appends to the bawn_strlist at `offset` */
	CLI_SETTING, /* appends a bawn_setting for `key` */
	CLI_HANDLER, /* calls `handle` */
};

struct cli_opt {
	const char *name; /* long name without dashes; NULL ends a table */
	char letter;      /* short name or 0 */
	enum cli_kind kind;
	const char *value; /* what the value is called in help texts; NULL when there is none */
	const char *words; /* for completion: "a,b", "@file", "@dir", "@control", "@backend" or
			      "@<enum of the policy>"; NULL for nothing */
	const char *key;   /* CLI_SETTING: of fields.def */
	size_t offset;     /* into struct cli */
	int (*handle)(struct cli *cli, const char *value, struct bawn_error *err);
	const char *help;
};

#define CLI_TABLES_MAX 6

struct cli_cmd {
	const char *name;    /* NULL ends a list of verbs */
	const char *parent;  /* name of the verb this is a part of, or NULL */
	const char *summary; /* one line */
	const char *usage;   /* what follows the name */
	const char *about;   /* further lines for the help text, or NULL */
	const char *words;   /* completion of positional arguments, as in cli_opt */
	const struct cli_opt *opts[CLI_TABLES_MAX]; /* ends with NULL */
	const struct cli_cmd *subs;                 /* NULL, or its parts: then run is NULL */
	bool command;                               /* the first positional starts a command */
	int usage_status;                           /* exit status of a usage error */
	int failed_status;                          /* exit status of any other error */
	int (*run)(struct cli *cli, struct bawn_error *err);
};

struct cli {
	struct bawn_arena *arena;
	const struct cli_cmd *cmd;
	struct bawn_buf out; /* for standard output, as it is */
	struct bawn_buf say; /* for standard error: whole lines that start with "bawn: " */
	bool unwritable;     /* standard output is */
	unsigned closed;     /* bit N: descriptor N was closed when we were started */
	bool colour_out, colour_err;
	const char *const *envp;

	struct bawn_strlist args;  /* positional, or the command */
	struct bawn_strlist given; /* options as given, for `explain`'s "run as" */

	bool help, json, version;
	/* run, explain, policy show */
	struct bawn_strlist policies;
	struct bawn_strlist writable; /* --rw */
	struct bawn_setting *settings;
	size_t n_settings, cap_settings;
	const char *workspace, *cwd, *tool, *agent, *session;
	bool pty, quiet, verbose;
	const char *result_file;
	/* doctor */
	const char *seccomp_file;
	bool fresh;
	/* policy init */
	bool force;
	/* audit */
	const char *audit_file, *audit_run, *audit_event, *audit_since, *audit_expect;
	uint64_t last;
	bool follow;
	/* proxy */
	const char *port;
	struct bawn_strlist resolvers;
	/* hook install */
	const char *settings_file;
	bool project;
	/* box */
	const char *box, *box_dir; /* exec: where the command runs */
	const char *dockerfile, *build_network, *engine, *older_than;
	bool all, check;
	/* secret, and what uses secrets */
	struct bawn_strlist approved; /* --approve-secret */
	const char *skill, *trigger;
	const char *key_file, *new_key_file, *passphrase_fd, *new_passphrase_fd;
	struct bawn_strlist hosts, headers, skills, triggers;
	const char *access, *variable, *note, *injection, *hold_for;
	bool reveal, keep_value;
	/* inspect, verify */
	const char *batch, *mode, *detect, *lang;
	bool redact, sarif;
};

/* main.c */
extern const struct cli_cmd *const cli_verbs[]; /* ends with NULL */
/* Write cli->out to standard output and empty it. */
int cli_flush(struct cli *cli, struct bawn_error *err);
/* The same, and cli->say to standard error: for a verb that goes on running. */
int cli_flush_all(struct cli *cli, struct bawn_error *err);
/* The same when it has grown large, but for its last byte; for verbs that print as they go. */
int cli_drain(struct cli *cli, struct bawn_error *err);
/* Write to standard error at once: only for what a person at a terminal looks at meanwhile. */
void cli_progress(struct cli *cli, const struct bawn_buf *text);
/* A variable of the caller's environment, NULL if it is not set. */
const char *cli_env(const struct cli *cli, const char *name);
/* Is standard error a terminal that can take a line back? */
bool cli_shows_progress(const struct cli *cli);
/* One line about something that went wrong, for standard error. */
void cli_say(struct cli *cli, const char *text);

/* opts.c: --help and --json, which every verb takes */
extern const struct cli_opt cli_common_opts[];
/* Parse what follows the verb. Stops early, with cli->help set, at --help. */
int cli_parse(struct cli *cli, int argc, char **argv, struct bawn_error *err);
/* The verb `name` among `list`; fails with a suggestion. */
int cli_find_cmd(const char *name, const struct cli_cmd **ret, struct bawn_error *err);
int cli_find_sub(const struct cli_cmd *cmd, const char *name, const struct cli_cmd **ret,
	struct bawn_error *err);
/* Append a setting as if an option had given it. */
int cli_add_setting(struct cli *cli, const char *key, const char *value, const char *flag,
	struct bawn_error *err);
/* How many edits (insert, delete, replace, swap neighbours) lie between two short words; gives up
 * above 3. */
unsigned cli_distance(const char *a, const char *b);

/* batch.c: `inspect --batch command|content|code`, JSON lines in, JSON lines out */
int cli_batch(struct cli *cli, const struct bawn_policy *p, const char *what, unsigned detect,
	struct bawn_error *err);

/* cmd_inspect.c: shared with verify */
extern const struct cli_opt cli_vet_opts[];

/* run_opts.c: what describes a run */
extern const struct cli_opt cli_policy_opts[]; /* what becomes policy */
extern const struct cli_opt
	cli_limit_opts[];                    /* of that, what can differ from run to run in a box */
extern const struct cli_opt cli_call_opts[]; /* what describes the call */
extern const struct cli_opt cli_secret_opts[]; /* which secrets it uses */
/* Everything parsed, as the pipeline wants it. Output goes nowhere yet. */
int cli_run_input(struct cli *cli, struct bawn_run_input *ret, struct bawn_error *err);
/* --policy and --workspace alone, for verbs that run nothing */
extern const struct cli_opt cli_place_opts[];
/* The policy source alone, workspace resolved. */
int cli_policy_source(struct cli *cli, struct bawn_policy_source *ret, struct bawn_error *err);

/* ask.c: the person at the terminal, whatever standard input is */
/* Without echo, into `dst`. -ENOTTY: there is no terminal; -ECANCELED: interrupted or end of file.
 */
int cli_ask_hidden(const char *prompt, char *dst, size_t size, struct bawn_error *err);
/* 1 for yes, 0 for no; -ENOTTY. */
int cli_ask_yes(const char *question, struct bawn_error *err);

/* cmd_secret.c: how the vault is opened, from --key-file, --passphrase-fd and the terminal */
extern const struct cli_opt cli_key_opts[];
int cli_vault_key(struct cli *cli, const struct bawn_policy *p, struct bawn_vault_key *ret,
	struct bawn_error *err);

/* cmd_run.c: run or guard the command that was given */
extern const struct cli_opt cli_result_opts[]; /* what becomes of the result */
int cli_run_command(struct cli *cli, bool guard, struct bawn_error *err);

/* help.c */
void cli_help(const struct cli_cmd *cmd, struct bawn_buf *out); /* NULL: the overview */
/* Number of options, over all tables of a verb; NULL past the end. */
const struct cli_opt *cli_opt_at(const struct cli_cmd *cmd, size_t i);

/* print.c: for people and for programs */
enum cli_colour {
	CLI_PLAIN,
	CLI_BOLD,
	CLI_RED,
	CLI_GREEN,
	CLI_YELLOW,
	CLI_DIM,
};
const char *cli_colour(bool on, enum cli_colour colour);
void cli_puts_safe(struct bawn_buf *b, const char *s); /* escaped; "" for NULL */
size_t cli_width(const char *s);                       /* columns of UTF-8 text */
void cli_pad(struct bawn_buf *b, const char *s, size_t width);
void cli_size(struct bawn_buf *b, uint64_t bytes); /* "4 GiB", "unlimited" */
void cli_msec(struct bawn_buf *b, uint64_t ms);    /* "10 min" */
/* A JSON string or null. */
void cli_json_str(struct bawn_buf *b, const char *s);
/* A member with a text; "" is null like NULL. */
void cli_json_text(struct bawn_buf *b, const char *key, const char *value);
/* "name": before a value, with the comma that the place needs. */
void cli_json_key(struct bawn_buf *b, const char *name);
/* The comma that a further element needs. */
void cli_json_next(struct bawn_buf *b);
void cli_json_list(struct bawn_buf *b, const char *const *v, size_t n);
/* The same for a number that may be unlimited (null). */
void cli_json_u64(struct bawn_buf *b, uint64_t v);
/* {"kind":…,"message":…} or null */
void cli_json_error(struct bawn_buf *b, const struct bawn_error *e);
void cli_json_controls(struct bawn_buf *b, uint32_t controls);

/* cmd_explain.c: also used by `doctor sandbox` */
int cli_explain_make(struct cli *cli, struct bawn_explanation *ret, struct bawn_error *err);
void cli_explain_header(struct cli *cli, const struct bawn_explanation *ex);
void cli_explain_controls(struct cli *cli, const struct bawn_explanation *ex);
void cli_explain_json_tried(struct bawn_buf *b, const struct bawn_result *r);
void cli_explain_json_controls(struct bawn_buf *b, const struct bawn_explanation *ex);

/* doctor_caps.c: every backend, tried now or a short while ago */
void cli_doctor_capabilities(struct cli *cli);

/* cmd_*.c */
extern const struct cli_cmd cli_cmd_run, cli_cmd_box, cli_cmd_guard, cli_cmd_explain,
	cli_cmd_doctor, cli_cmd_policy, cli_cmd_audit, cli_cmd_inspect, cli_cmd_verify,
	cli_cmd_hook, cli_cmd_proxy, cli_cmd_secret, cli_cmd_help, cli_cmd_version,
	cli_cmd_completion;
