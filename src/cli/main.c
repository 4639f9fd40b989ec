/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the verb, runs it, prints what it has to say. Nothing else of the program prints, so that
 * what cannot be printed is noticed in one place. No locale, no name service: `bawn run` starts
 * with every tool call.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include <sys/prctl.h>

#include "base/io.h"
#include "cli/cli.h"

#define OUT_LARGE 65536u

const struct cli_cmd *const cli_verbs[] = {
	&cli_cmd_run,
	&cli_cmd_guard,
	&cli_cmd_explain,
	&cli_cmd_inspect,
	&cli_cmd_verify,
	&cli_cmd_hook,
	&cli_cmd_doctor,
	&cli_cmd_policy,
	&cli_cmd_audit,
	&cli_cmd_box,
	&cli_cmd_proxy,
	&cli_cmd_secret,
	&cli_cmd_completion,
	&cli_cmd_help,
	&cli_cmd_version,
	NULL,
};

/*
 * A standard descriptor that is closed is taken by the next file that is opened, and what is
 * printed goes into that file. Put something there on which the wrong operation fails.
 */
static int claim_stdio(unsigned *ret_closed)
{
	*ret_closed = 0;
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* NOLINTNEXTLINE(android-cloexec-open): becomes a standard descriptor */
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			return -EBADF;
		*ret_closed |= 1u << fd;
	}
	return 0;
}

int cli_flush(struct cli *cli, struct bawn_error *err)
{
	int r = cli->out.failed;

	if (!r && cli->out.len) {
		/* Only now: a command that was run must not inherit it. */
		(void)signal(SIGPIPE, SIG_IGN);
		r = bawn_write_all(STDOUT_FILENO, cli->out.data, cli->out.len);
	}
	cli->out.len = 0;
	if (r == 0)
		return 0;
	cli->unwritable = true;
	errno = -r;
	return bawn_fail(err, BAWN_ERR_INTERNAL, r, "writing to standard output: %m");
}

int cli_drain(struct cli *cli, struct bawn_error *err)
{
	char last;
	int r;

	if (cli->out.failed)
		return cli_flush(cli, err);
	if (cli->out.len < OUT_LARGE)
		return 0;
	/* what comes next may depend on it: in a list, a comma */
	last = cli->out.data[--cli->out.len];
	r = cli_flush(cli, err);
	bawn_buf_add(&cli->out, &last, 1);
	return r;
}

void cli_progress(struct cli *cli, const struct bawn_buf *text)
{
	(void)cli;
	(void)bawn_write_all(STDERR_FILENO, text->data, text->len);
}

static void flush_say(struct cli *cli)
{
	if (cli->say.len) {
		(void)signal(SIGPIPE, SIG_IGN);
		(void)bawn_write_all(STDERR_FILENO, cli->say.data, cli->say.len);
	}
	cli->say.len = 0;
}

int cli_flush_all(struct cli *cli, struct bawn_error *err)
{
	flush_say(cli);
	return cli_flush(cli, err);
}

void cli_say(struct cli *cli, const char *text)
{
	struct bawn_buf *b = &cli->say;

	bawn_buf_printf(b, "%sbawn:%s ", cli_colour(cli->colour_err, CLI_RED),
		cli_colour(cli->colour_err, CLI_PLAIN));
	cli_puts_safe(b, text);
	bawn_buf_puts(b, "\n");
}

/* The verb failed: say why, and for programs say it on standard output as well. */
static int failed(struct cli *cli, const struct bawn_error *err)
{
	cli_say(cli, err->msg);
	if (cli->json && !cli->unwritable) {
		struct bawn_buf *b = &cli->out;

		b->len = 0;
		bawn_buf_puts(b, "{");
		cli_json_key(b, "schema");
		cli_json_str(b, "bawn/error/v1");
		cli_json_key(b, "error");
		cli_json_error(b, err);
		bawn_buf_puts(b, "}\n");
	}
	if (!cli->cmd)
		return CLI_EXIT_USAGE;
	return err->kind == BAWN_ERR_USAGE ? cli->cmd->usage_status : cli->cmd->failed_status;
}

static int run_cmd(struct cli *cli, int argc, char **argv, struct bawn_error *err)
{
	int r;

	if (cli->cmd->subs) {
		const char *name = argc > 0 ? argv[0] : NULL;

		if (!name || (strcmp(name, "--help") != 0 && strcmp(name, "-h") != 0)) {
			r = cli_find_sub(cli->cmd, name, &cli->cmd, err);
			if (r < 0)
				return r;
			argc--;
			argv++;
		}
	}
	r = cli_parse(cli, argc, argv, err);
	if (r < 0)
		return r;
	if (cli->help) {
		cli_help(cli->cmd, &cli->out);
		return 0;
	}
	return cli->cmd->run(cli, err);
}

static int dispatch(struct cli *cli, int argc, char **argv, struct bawn_error *err)
{
	const char *verb = argc > 1 ? argv[1] : NULL;
	int r;

	if (!verb) {
		cli_help(NULL, &cli->say);
		return CLI_EXIT_USAGE;
	}
	if (!strcmp(verb, "--help") || !strcmp(verb, "-h"))
		verb = "help";
	if (!strcmp(verb, "--version") || !strcmp(verb, "-V"))
		verb = "version";
	r = cli_find_cmd(verb, &cli->cmd, err);
	if (r < 0)
		return r;
	return run_cmd(cli, argc - 2, argv + 2, err);
}

const char *cli_env(const struct cli *cli, const char *name)
{
	size_t len = strlen(name);

	for (const char *const *e = cli->envp; e && *e; e++)
		if (!strncmp(*e, name, len) && (*e)[len] == '=')
			return *e + len + 1;
	return NULL;
}

static bool want_colour(const struct cli *cli, int fd)
{
	const char *no = cli_env(cli, "NO_COLOR");
	const char *term = cli_env(cli, "TERM");

	return !(no && *no) && !(term && !strcmp(term, "dumb")) && isatty(fd);
}

bool cli_shows_progress(const struct cli *cli)
{
	const char *term = cli_env(cli, "TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

int main(int argc, char **argv)
{
	_cleanup_arena_ struct bawn_arena *arena = NULL;
	struct cli cli = {0};
	struct bawn_error err = {0};
	int status;

	if (claim_stdio(&cli.closed) < 0)
		return BAWN_EXIT_REFUSED;
	/* ignored by whoever started us, no child would ever be seen to end */
	(void)signal(SIGCHLD, SIG_DFL);
	/* a file that may not grow is an error to tell, of the record first of all; who runs a
	 * command gives it back */
	(void)signal(SIGXFSZ, SIG_IGN);
#ifndef BAWN_SANITIZED /* the leak checker looks into the process */
	/* nobody of the same user reads our memory, and it is never dumped */
	(void)prctl(PR_SET_DUMPABLE, 0);
#endif
	arena = bawn_arena_new();
	cli.arena = arena;
	cli.envp = (const char *const *)environ;
	cli.colour_out = want_colour(&cli, STDOUT_FILENO);
	cli.colour_err = want_colour(&cli, STDERR_FILENO);
	/* JSON of a run holds the run's output. */
	cli.out.max = SIZE_MAX / 2;

	if (arena)
		status = dispatch(&cli, argc, argv, &err);
	else
		status = bawn_fail(&err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	if (status < 0)
		status = failed(&cli, &err);
	if (cli_flush(&cli, &err) < 0) {
		cli_say(&cli, err.msg);
		status = status ? status : CLI_EXIT_FAILED;
	}
	flush_say(&cli);
	bawn_buf_done(&cli.out);
	bawn_buf_done(&cli.say);
	return status;
}
