/* SPDX-License-Identifier: Apache-2.0 */
/* `bawn box`: containers that stay, with the project in them. Images are in cmd_box_image.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/path.h"
#include "box/box.h"
#include "cli/box.h"

static int one_name(struct cli *cli, const char **ret, struct bawn_error *err)
{
	if (cli->args.n != 1)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "'box %s' needs the name of one box",
			cli->cmd->name);
	*ret = cli->args.v[0];
	return 0;
}

/* ---- printing ---- */

static void put_time(struct bawn_buf *b, uint64_t us)
{
	time_t t = (time_t)(us / 1000000);
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	bawn_buf_puts(b, text);
}

static void json_time(struct bawn_buf *b, const char *key, uint64_t us)
{
	cli_json_key(b, key);
	bawn_buf_puts(b, "\"");
	put_time(b, us);
	bawn_buf_puts(b, "\"");
}

static void put_box_json(struct bawn_buf *b, const struct bawn_box *box, const char *state)
{
	cli_json_text(b, "name", box->name);
	cli_json_text(b, "state", state);
	cli_json_text(b, "engine", box->engine);
	cli_json_text(b, "container", box->container);
	cli_json_text(b, "image", box->image);
	cli_json_text(b, "image_id", box->image_id);
	cli_json_text(b, "dockerfile", box->dockerfile);
	cli_json_text(b, "project", box->project);
	json_time(b, "created", box->created);
	json_time(b, "changed", box->changed);
}

static void put_box(struct cli *cli, const struct bawn_box *box, const char *state)
{
	struct bawn_buf *b = &cli->out;

	if (cli->json) {
		bawn_buf_puts(b, "{");
		cli_json_text(b, "schema", "bawn/box/v1");
		put_box_json(b, box, state);
		bawn_buf_puts(b, "}\n");
		return;
	}
	bawn_buf_printf(b, "%s: %s, %s in %s\n", box->name, state,
		*box->image ? box->image : "this host's system", box->engine);
	bawn_buf_puts(b, "project    ");
	cli_puts_safe(b, box->project);
	bawn_buf_printf(b, "\ncontainer  %s\ncreated    ", box->container);
	put_time(b, box->created);
	bawn_buf_puts(b, "\n");
}

/* What an engine does takes a while: each of its lines, where a person looks. */
static void progress(void *data, const char *text, size_t len)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	struct cli *cli = data;

	if (!len || cli->json || !isatty(STDERR_FILENO))
		return;
	bawn_buf_puts(&b, "bawn: ");
	bawn_buf_escape(&b, text, len);
	bawn_buf_puts(&b, "\n");
	cli_progress(cli, &b);
}

struct bawn_box_watch cli_box_watch(struct cli *cli)
{
	return (struct bawn_box_watch){.line = progress, .data = cli};
}

/* ---- the verbs ---- */

/* The engine and the image are the box's own: they change with it. */
static void take_settings(struct cli *cli, struct bawn_box *want)
{
	size_t kept = 0;

	for (size_t i = 0; i < cli->n_settings; i++) {
		const struct bawn_setting *s = &cli->settings[i];

		if (!strcmp(s->key, "backend"))
			want->engine = s->text;
		else if (!strcmp(s->key, "enforcement.docker.image"))
			want->image = s->text;
		else
			cli->settings[kept++] = *s;
	}
	want->settings = cli->settings;
	want->n_settings = kept;
}

static int canonical_policies(struct cli *cli, struct bawn_box *want, struct bawn_error *err)
{
	struct bawn_strlist l = {0};

	for (size_t i = 0; i < cli->policies.n; i++) {
		const char *path;
		int r = bawn_path_resolve(cli->arena, cli->policies.v[i], &path);

		if (r < 0) {
			errno = -r;
			return bawn_fail(
				err, BAWN_ERR_POLICY, r, "policy '%s': %m", cli->policies.v[i]);
		}
		if (bawn_strlist_add(cli->arena, &l, path) < 0)
			return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	}
	want->policies = l.v;
	return 0;
}

static int create(struct cli *cli, struct bawn_error *err)
{
	struct bawn_box_watch watch = cli_box_watch(cli);
	_cleanup_box_ struct bawn_box *box = NULL;
	struct bawn_box want = {.lock = -1};
	struct bawn_policy_source src;
	struct bawn_image image;
	int r = one_name(cli, &want.name, err);

	if (r >= 0)
		r = cli_policy_source(cli, &src, err);
	if (r < 0)
		return r;
	want.project = src.workspace;
	take_settings(cli, &want);
	r = canonical_policies(cli, &want, err);
	if (r < 0)
		return r;
	if (want.image && cli->dockerfile)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"--image and --dockerfile say two things; give one");
	if (cli->dockerfile) {
		struct bawn_image_options o = {.engine = want.engine ? want.engine : "docker",
			.dockerfile = cli->dockerfile,
			.network = cli->build_network};

		r = bawn_image_make(cli->arena, &o, &watch, &image, err);
		if (r < 0)
			return r;
		want.image = image.name;
		want.dockerfile = image.dockerfile;
	}
	r = bawn_box_create(cli->arena, &want, &watch, &box, err);
	if (r < 0)
		return r;
	put_box(cli, box, "running");
	return 0;
}

/* A run like any other, in the box: everything that `bawn run` does is done. */
static int exec(struct cli *cli, struct bawn_error *err)
{
	_cleanup_box_ struct bawn_box *box = NULL;
	const struct bawn_setting *own = cli->settings;
	size_t n_own = cli->n_settings;
	int r;

	if (cli->args.n < 2)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"no command given, as in 'bawn box exec NAME -- make test'");
	r = bawn_box_open(cli->arena, cli->args.v[0], BAWN_BOX_USE, &box, err);
	if (r >= 0)
		r = bawn_box_usable(cli->arena, box, err);
	if (r < 0)
		return r;
	cli->settings = NULL;
	cli->n_settings = cli->cap_settings = 0;
	for (size_t i = 0; r >= 0 && i < box->n_settings + n_own; i++) {
		const struct bawn_setting *s =
			i < box->n_settings ? &box->settings[i] : &own[i - box->n_settings];

		r = cli_add_setting(cli, s->key, s->text, s->flag, err);
	}
	if (r >= 0)
		r = cli_add_setting(cli, "backend", box->engine, "box", err);
	if (r >= 0 && *box->image)
		r = cli_add_setting(cli, "enforcement.docker.image", box->image, "box", err);
	for (const char *const *p = box->policies; r >= 0 && p && *p; p++)
		r = bawn_strlist_add(cli->arena, &cli->policies, *p);
	if (r < 0)
		return r;
	cli->workspace = box->project;
	cli->box = box->container;
	cli->box_dir = box->dir;
	cli->args.v++;
	cli->args.n--;
	return cli_run_command(cli, false, err);
}

static int list(struct cli *cli, struct bawn_error *err)
{
	struct bawn_buf *b = &cli->out;
	struct bawn_box **boxes = NULL;
	const char *states[BAWN_BOXES_MAX * 2];
	size_t n = 0;
	int r = bawn_box_list(cli->arena, &boxes, &n, err);

	if (r < 0)
		return r;
	if (n > sizeof(states) / sizeof(states[0]))
		n = sizeof(states) / sizeof(states[0]);
	bawn_box_states(boxes, n, states);
	if (cli->json) {
		bawn_buf_puts(b, "{");
		cli_json_text(b, "schema", "bawn/boxes/v1");
		cli_json_key(b, "boxes");
		bawn_buf_puts(b, "[");
	}
	for (size_t i = 0; i < n; i++) {
		if (cli->json) {
			cli_json_next(b);
			bawn_buf_puts(b, "{");
			put_box_json(b, boxes[i], states[i]);
			bawn_buf_puts(b, "}");
			continue;
		}
		cli_pad(b, boxes[i]->name, 20);
		cli_pad(b, states[i], 11);
		cli_pad(b, *boxes[i]->image ? boxes[i]->image : "(host)", 28);
		cli_puts_safe(b, boxes[i]->project);
		bawn_buf_puts(b, "\n");
	}
	if (cli->json)
		bawn_buf_puts(b, "]}\n");
	return 0;
}

static int status(struct cli *cli, struct bawn_error *err)
{
	_cleanup_box_ struct bawn_box *box = NULL;
	const char *name = NULL, *state = "unknown";
	int r = one_name(cli, &name, err);

	if (r >= 0)
		r = bawn_box_open(cli->arena, name, BAWN_BOX_USE, &box, err);
	if (r < 0)
		return r;
	bawn_box_states(&box, 1, &state);
	put_box(cli, box, state);
	return !strcmp(state, "running") ? 0 : CLI_EXIT_FAILED;
}

static int start(struct cli *cli, struct bawn_error *err)
{
	_cleanup_box_ struct bawn_box *box = NULL;
	const char *name = NULL;
	int r = one_name(cli, &name, err);

	if (r >= 0)
		r = bawn_box_open(cli->arena, name, BAWN_BOX_CHANGE, &box, err);
	if (r >= 0)
		r = bawn_box_start(cli->arena, box, err);
	if (r < 0)
		return r;
	put_box(cli, box, "running");
	return 0;
}

/* With --force what runs in it is ended, and then its lock is free. */
static int open_to_end(
	struct cli *cli, const char *name, struct bawn_box **ret, struct bawn_error *err)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	int r = bawn_box_open(cli->arena, name, BAWN_BOX_CHANGE, ret, err);

	if (r != -EBUSY || !cli->force)
		return r;
	for (int i = 0; r == -EBUSY && i < 200; i++) {
		_cleanup_box_ struct bawn_box *used = NULL;

		if (bawn_box_open(cli->arena, name, BAWN_BOX_USE, &used, NULL) >= 0)
			(void)bawn_box_stop(used, &(struct bawn_error){0});
		used = bawn_box_close(used);
		(void)nanosleep(&pause, NULL);
		r = bawn_box_open(cli->arena, name, BAWN_BOX_CHANGE, ret, err);
	}
	return r;
}

static int stop(struct cli *cli, struct bawn_error *err)
{
	_cleanup_box_ struct bawn_box *box = NULL;
	const char *name = NULL;
	int r = one_name(cli, &name, err);

	if (r >= 0)
		r = open_to_end(cli, name, &box, err);
	if (r >= 0)
		r = bawn_box_stop(box, err);
	if (r < 0)
		return r;
	put_box(cli, box, "stopped");
	return 0;
}

static void put_removed(struct cli *cli, const char *const *names, size_t n, int others)
{
	struct bawn_buf *b = &cli->out;

	if (cli->json) {
		bawn_buf_puts(b, "{");
		cli_json_text(b, "schema", "bawn/box-removed/v1");
		cli_json_key(b, "removed");
		cli_json_list(b, names, n);
		cli_json_key(b, "leftovers");
		cli_json_u64(b, (uint64_t)others);
		bawn_buf_puts(b, "}\n");
		return;
	}
	for (size_t i = 0; i < n; i++)
		bawn_buf_printf(b, "%s: removed\n", names[i]);
	if (others)
		bawn_buf_printf(b, "%d leftovers removed\n", others);
}

static int rm(struct cli *cli, struct bawn_error *err)
{
	if (!cli->args.n)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "'box rm' needs a name");
	for (size_t i = 0; i < cli->args.n; i++) {
		_cleanup_box_ struct bawn_box *box = NULL;
		int r = open_to_end(cli, cli->args.v[i], &box, err);

		if (r >= 0)
			r = bawn_box_remove(box, err);
		if (r < 0)
			return r;
	}
	put_removed(cli, cli->args.v, cli->args.n, 0);
	return 0;
}

static int swap(struct cli *cli, struct bawn_error *err)
{
	struct bawn_box_watch watch = cli_box_watch(cli);
	_cleanup_box_ struct bawn_box *box = NULL;
	const char *image = cli->args.n == 2 ? cli->args.v[1] : NULL;
	int r;

	if (cli->args.n < 1 || cli->args.n > 2)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'box swap' needs the name of a box and of an image");
	r = bawn_box_open(cli->arena, cli->args.v[0], BAWN_BOX_CHANGE, &box, err);
	if (r >= 0)
		r = bawn_box_swap(cli->arena, box, image, image ? "" : NULL, &watch, err);
	if (r < 0)
		return r;
	put_box(cli, box, "running");
	return 0;
}

/* "90s", "10m", "2h", "7d" in microseconds. */
static int parse_age(const char *text, uint64_t *ret, struct bawn_error *err)
{
	static const char units[] = "smhd";
	static const uint64_t seconds[] = {1, 60, 3600, 86400};
	char *end = NULL;
	unsigned long long v = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
	const char *unit = end && *end && !end[1] ? strchr(units, *end) : NULL;

	if (!unit || v > 100000)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--older-than' needs an age such as 2h or 7d, not '%s'", text);
	*ret = v * seconds[unit - units] * 1000000u;
	return 0;
}

/* Those that are gone, those that are old enough, or all; and what no record knows. */
static int cleanup(struct cli *cli, struct bawn_error *err)
{
	const char *states[BAWN_BOXES_MAX * 2];
	struct bawn_strlist removed = {0};
	struct bawn_box **boxes = NULL;
	uint64_t age = UINT64_MAX;
	size_t n = 0;
	int r = cli->older_than ? parse_age(cli->older_than, &age, err) : 0;

	if (r >= 0)
		r = bawn_box_list(cli->arena, &boxes, &n, err);
	if (r < 0)
		return r;
	if (n > sizeof(states) / sizeof(states[0]))
		n = sizeof(states) / sizeof(states[0]);
	bawn_box_states(boxes, n, states);
	for (size_t i = 0; i < n; i++) {
		_cleanup_box_ struct bawn_box *box = NULL;
		uint64_t now = bawn_wall_us();
		bool old = now > boxes[i]->changed && now - boxes[i]->changed >= age;

		if (!cli->all && !old && strcmp(states[i], "gone") != 0)
			continue;
		/* one that is in use stays */
		if (bawn_box_open(cli->arena, boxes[i]->name, BAWN_BOX_CHANGE, &box, NULL) < 0)
			continue;
		r = bawn_box_remove(box, err);
		if (r >= 0)
			r = bawn_strlist_add(cli->arena, &removed, boxes[i]->name);
		if (r < 0)
			return r;
	}
	r = bawn_box_sweep(cli->arena, err);
	if (r < 0)
		return r;
	put_removed(cli, removed.v, removed.n, r);
	return 0;
}

#define OPT(name_, letter_, kind_, value_, words_, member_, help_)                          \
	{                                                                                   \
		.name = (name_), .letter = (letter_), .kind = (kind_), .value = (value_),   \
		.words = (words_), .offset = offsetof(struct cli, member_), .help = (help_) \
	}

static const struct cli_opt create_opts[] = {
	OPT("dockerfile", 'f', CLI_TEXT, "FILE", "@file", dockerfile,
		"build the image from FILE, or take the one that was built from it"),
	OPT("build-network", 0, CLI_TEXT, "NAME", NULL, build_network,
		"the engine's network for the steps of a build (default: none)"),
	{NULL},
};

static const struct cli_opt force_opts[] = {
	OPT("force", 0, CLI_FLAG, NULL, NULL, force, "end what runs in it"),
	{NULL},
};

static const struct cli_opt cleanup_opts[] = {
	OPT("all", 'a', CLI_FLAG, NULL, NULL, all, "every box that is not in use"),
	OPT("older-than", 0, CLI_TEXT, "AGE", NULL, older_than,
		"boxes that were made or swapped longer ago: 2h, 7d"),
	{NULL},
};

#define BOX(name_, summary_, usage_, run_, ...)                                             \
	{                                                                                   \
		.name = (name_), .parent = "box", .summary = (summary_), .usage = (usage_), \
		.opts = {__VA_ARGS__}, .usage_status = CLI_EXIT_USAGE,                      \
		.failed_status = CLI_EXIT_FAILED, .run = (run_)                             \
	}

static const struct cli_cmd box_cmds[] = {
	BOX("create", "Make a box and start it", "[options] NAME", create, create_opts,
		cli_policy_opts, cli_common_opts),
	{.name = "exec",
		.parent = "box",
		.summary = "Run a command in a box",
		.usage = "NAME [options] -- command [argument...]",
		.about = "Exit status: as of 'bawn run'.",
		.opts = {cli_limit_opts, cli_call_opts, cli_result_opts, cli_common_opts},
		.usage_status = BAWN_EXIT_REFUSED,
		.failed_status = BAWN_EXIT_REFUSED,
		.run = exec},
	BOX("list", "Show all boxes, newest first", "[options]", list, cli_common_opts),
	BOX("status", "Show one box; exit status 0 if it runs", "NAME", status, cli_common_opts),
	BOX("start", "Start a box that was stopped", "NAME", start, cli_common_opts),
	BOX("stop", "Stop a box; it keeps its place", "[options] NAME", stop, force_opts,
		cli_common_opts),
	BOX("rm", "Remove boxes", "[options] NAME...", rm, force_opts, cli_common_opts),
	BOX("swap", "Put another image under a box, which keeps its workspace", "NAME [IMAGE]",
		swap, cli_common_opts),
	BOX("cleanup", "Remove boxes that are gone or old, and what nobody knows", "[options]",
		cleanup, cleanup_opts, cli_common_opts),
	BOX("build", "Build an image from a Dockerfile", "[options] [DIR]", cli_box_build,
		cli_box_image_opts, cli_common_opts),
	BOX("image", "Name the image of a Dockerfile; build it if it is not there",
		"[options] [DIR]", cli_box_image, cli_box_check_opts, cli_box_image_opts,
		cli_common_opts),
	BOX("rebuild", "Build an image anew and put it under the boxes that use it",
		"[options] [DIR]", cli_box_rebuild, cli_box_image_opts, cli_common_opts),
	BOX("invalidate", "Forget the image of a Dockerfile", "[options] [DIR]", cli_box_invalidate,
		cli_box_image_opts, cli_common_opts),
	{NULL},
};

const struct cli_cmd cli_cmd_box = {
	.name = "box",
	.summary = "Keep a container with the project in it, and run commands there",
	.usage =
		"create|exec|list|status|start|stop|rm|swap|cleanup|build|image|rebuild|invalidate ...",
	.words =
		"create,exec,list,status,start,stop,rm,swap,cleanup,build,image,rebuild,invalidate",
	.opts = {cli_common_opts},
	.subs = box_cmds,
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_FAILED,
};
