/* SPDX-License-Identifier: Apache-2.0 */
/* `bawn run`: one command, confined. Its output passes through; its exit status is ours. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <sys/stat.h>

#include "base/io.h"
#include "cli/cli.h"

const struct cli_opt cli_result_opts[] = {
	{.name = "result",
		.kind = CLI_TEXT,
		.value = "FILE",
		.words = "@file",
		.offset = offsetof(struct cli, result_file),
		.help = "write the result as JSON to FILE"},
	{.name = "quiet",
		.letter = 'q',
		.kind = CLI_FLAG,
		.offset = offsetof(struct cli, quiet),
		.help = "no closing remarks; errors are still shown"},
	{.name = "verbose",
		.letter = 'v',
		.kind = CLI_FLAG,
		.offset = offsetof(struct cli, verbose),
		.help = "say what the walls were"},
	{NULL},
};

static int open_failed(const char *path, int errnum, struct bawn_error *err)
{
	if (errnum == ELOOP)
		return bawn_fail(err, BAWN_ERR_USAGE, -ELOOP,
			"result file '%s' is a symbolic link; name the file itself", path);
	if (errnum == ENXIO)
		return bawn_fail(err, BAWN_ERR_USAGE, -ENXIO,
			"result file '%s': nobody reads this pipe", path);
	errno = errnum;
	return bawn_fail(err, BAWN_ERR_USAGE, -errnum, "result file '%s': %m", path);
}

/* "/dev/fd/N" is a descriptor that the caller gave us; NULL otherwise. */
static const char *descriptor_of(const char *path)
{
	const char *digits = path + strlen("/dev/fd/");

	if (strncmp(path, "/dev/fd/", strlen("/dev/fd/")) != 0 || !*digits || strlen(digits) > 6 ||
		digits[strspn(digits, "0123456789")])
		return NULL;
	return digits;
}

/*
 * Open before anything runs, so that a result that cannot be kept stops the call. No link is
 * followed: an earlier call may have left one in the workspace.
 */
static int open_result(const char *path, int *ret, struct bawn_error *err)
{
	const char *digits = descriptor_of(path);
	int fd;

	if (!strcmp(path, "-"))
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--result' needs a file; for the result on standard output use '--json'");
	if (digits)
		fd = fcntl((int)strtol(digits, NULL, 10), F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY |
				O_NONBLOCK,
			0600);
	if (fd < 0)
		return open_failed(path, errno, err);
	*ret = fd;
	return 0;
}

/* True if the file at `path` is no longer the one that is open as `fd`. */
static bool was_replaced(int fd, const char *path)
{
	struct stat mine;
	struct stat now;

	if (descriptor_of(path) || fstat(fd, &mine) < 0)
		return false;
	return lstat(path, &now) < 0 || mine.st_dev != now.st_dev || mine.st_ino != now.st_ino;
}

static int write_result(
	int fd, const char *path, const struct bawn_buf *json, struct bawn_error *err)
{
	struct stat st;
	int r;

	/* The command may have been able to reach the file: what it left there goes. A pipe that is
	 * full is waited for. */
	if (fcntl(fd, F_SETFL, 0) < 0 ||
		(fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0))
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "result file '%s': %m", path);
	r = bawn_write_all(fd, json->data, json->len);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "result file '%s': %m", path);
	}
	if (was_replaced(fd, path))
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ESTALE,
			"result file '%s' was replaced or removed during the run; keep it outside the "
			"workspace",
			path);
	return 0;
}

static void say_more(struct cli *cli, const struct bawn_result *r)
{
	if (!r->plan || !r->backend)
		return;
	bawn_buf_printf(&cli->say, "bawn: run %s in '%s' (%s): %s; %lld ms\n", r->call->run_id,
		r->backend, r->level ? r->level : "?", r->walls ? r->walls : "no walls",
		(long long)r->outcome.wall_ms);
}

static void say_lost(struct cli *cli, const struct bawn_result *r)
{
	struct bawn_error e = {0};

	(void)bawn_fail(&e, BAWN_ERR_INTERNAL, -r->outcome.sink_errno,
		"the command's output could not be passed on: %s",
		strerrordesc_np(r->outcome.sink_errno));
	cli_say(cli, e.msg);
}

/* Who gives such an option expects it to hold, and let through it does not. */
static void say_unconfined(struct cli *cli, const struct bawn_result *r)
{
	for (size_t i = 0; r->passed && i < cli->n_settings; i++) {
		if (!cli->settings[i].flag)
			continue;
		bawn_buf_printf(&cli->say,
			"bawn: note: '%s' was not in force: guard let the command through without a wall; 'bawn run' always confines\n",
			cli->settings[i].flag);
		return;
	}
}

/* What goes where after the run. Returns the exit status or a negative errno. */
static int report(struct cli *cli, const struct bawn_result *r, int result_fd,
	const struct bawn_buf captured[2], struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf json = {.max = SIZE_MAX / 2};
	int status = bawn_result_exit(r);
	bool remarks = !cli->json && !cli->quiet;
	int e = 0;

	if (remarks)
		e = bawn_result_say(r, cli->colour_err, &cli->say);
	else if (r->error.kind != BAWN_ERR_NONE)
		cli_say(cli, r->error.msg);
	if (e >= 0 && remarks)
		say_unconfined(cli, r);
	if (r->outcome.sink_errno) {
		say_lost(cli, r);
		status = status ? status : CLI_EXIT_FAILED;
	}
	if (e >= 0 && cli->verbose)
		say_more(cli, r);
	if (e >= 0 && cli->json)
		e = bawn_result_json(r, &captured[0], &captured[1], &json);
	else if (e >= 0 && result_fd >= 0)
		e = bawn_result_json(r, NULL, NULL, &json);
	if (e >= 0)
		e = json.failed;
	if (e < 0) {
		errno = -e;
		return bawn_fail(err, BAWN_ERR_INTERNAL, e, "making the result: %m");
	}
	if (json.len && json.data[json.len - 1] != '\n')
		bawn_buf_puts(&json, "\n");
	if (cli->json)
		bawn_buf_add(&cli->out, json.data, json.len);
	if (result_fd >= 0) {
		e = write_result(result_fd, cli->result_file, &json, err);
		if (e < 0)
			return e;
	}
	return status;
}

static int run_checked(
	struct cli *cli, const struct bawn_run_input *input, int result_fd, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf out = {.max = SIZE_MAX / 2};
	_cleanup_buf_ struct bawn_buf errs = {.max = SIZE_MAX / 2};
	struct bawn_run_input in = *input;
	struct bawn_buf captured[2];
	struct bawn_result result = {0};
	int r;

	in.stdin_fd = cli->closed & 1u ? -1 : STDIN_FILENO;
	in.outlets.forward_signals = true;
	in.outlets.terminal_fd = cli->pty && isatty(STDIN_FILENO) ? STDIN_FILENO : -1;
	if (cli->json) {
		in.outlets.out = &out;
		in.outlets.err = &errs;
	} else {
		in.outlets.out_fd = STDOUT_FILENO;
		in.outlets.err_fd = STDERR_FILENO;
	}
	(void)bawn_pipeline_run(cli->arena, &in, &result);
	captured[0] = out;
	captured[1] = errs;
	r = report(cli, &result, result_fd, captured, err);
	/* The command has run: 125 would say that it has not. */
	if (r < 0 && result.started) {
		cli_say(cli, err->msg);
		return bawn_result_exit(&result) ? bawn_result_exit(&result) : CLI_EXIT_FAILED;
	}
	return r;
}

int cli_run_command(struct cli *cli, bool guard, struct bawn_error *err)
{
	_cleanup_close_ int result_fd = -1;
	struct bawn_run_input in;
	int r;

	if (cli->closed & 6u)
		return bawn_fail(err, BAWN_ERR_CALL, -EBADF,
			"standard %s is closed, so what the command writes would be lost; redirect it to "
			"/dev/null if that is meant",
			cli->closed & 2u ? "output" : "error");
	if (!cli->args.n)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"no command given, as in 'bawn %s -- make test'", cli->cmd->name);
	r = cli_run_input(cli, &in, err);
	if (r < 0)
		return r;
	in.guard = guard;
	in.memo = true;
	if (cli->result_file) {
		r = open_result(cli->result_file, &result_fd, err);
		if (r < 0)
			return r;
	}
	return run_checked(cli, &in, result_fd, err);
}

static int run(struct cli *cli, struct bawn_error *err)
{
	return cli_run_command(cli, false, err);
}

const struct cli_cmd cli_cmd_run = {
	.name = "run",
	.summary = "Run a command confined",
	.usage = "[options] [--] command [argument...]",
	.about = "Exit status: the command's own; 124 timed out, 125 refused before anything ran,\n"
		 "126 blocked or not executable, 127 not found, 128+N killed by signal N.",
	.words = "@command",
	.opts = {cli_policy_opts, cli_secret_opts, cli_call_opts, cli_result_opts, cli_common_opts},
	.command = true,
	.usage_status = BAWN_EXIT_REFUSED,
	.failed_status = BAWN_EXIT_REFUSED,
	.run = run,
};
