/* SPDX-License-Identifier: Apache-2.0 */
/* The images of `bawn box`: one per Dockerfile, built when it is asked for and not there. */
#include <errno.h>
#include <string.h>

#include "cli/box.h"

static int options(struct cli *cli, struct bawn_image_options *ret, struct bawn_error *err)
{
	const char *engine = cli->engine ? cli->engine : "docker";

	if (cli->args.n > 1)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'box %s' takes one directory, not '%s' as well", cli->cmd->name,
			cli->args.v[1]);
	if (strcmp(engine, "docker") != 0 && strcmp(engine, "podman") != 0)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--engine' needs docker or podman, not '%s'", engine);
	*ret = (struct bawn_image_options){.engine = engine,
		.dockerfile = cli->dockerfile,
		.context = cli->args.n ? cli->args.v[0] : NULL,
		.network = cli->build_network};
	return 0;
}

static void flag(struct bawn_buf *b, const char *key, bool value)
{
	cli_json_key(b, key);
	bawn_buf_puts(b, value ? "true" : "false");
}

static void put_image(
	struct cli *cli, const struct bawn_image *im, const char *const *swapped, size_t n)
{
	struct bawn_buf *b = &cli->out;

	if (!cli->json) {
		bawn_buf_printf(b, "%s\n", im->name);
		return;
	}
	bawn_buf_puts(b, "{");
	cli_json_text(b, "schema", "bawn/image/v1");
	cli_json_text(b, "image", im->name);
	cli_json_text(b, "key", im->key);
	cli_json_text(b, "dockerfile", im->dockerfile);
	cli_json_text(b, "context", im->context);
	flag(b, "present", im->present);
	flag(b, "stale", im->stale);
	flag(b, "built", im->built);
	cli_json_key(b, "swapped");
	cli_json_list(b, swapped, n);
	bawn_buf_puts(b, "}\n");
}

static int make(
	struct cli *cli, bool always, bool no_cache, struct bawn_image *ret, struct bawn_error *err)
{
	struct bawn_box_watch watch = cli_box_watch(cli);
	struct bawn_image_options o;
	int r = options(cli, &o, err);

	if (r < 0)
		return r;
	o.always = always;
	o.no_cache = no_cache;
	r = bawn_image_make(cli->arena, &o, &watch, ret, err);
	if (r >= 0)
		bawn_image_tidy(cli->arena, &o, ret);
	return r;
}

int cli_box_build(struct cli *cli, struct bawn_error *err)
{
	struct bawn_image im;
	int r = make(cli, true, false, &im, err);

	if (r < 0)
		return r;
	put_image(cli, &im, NULL, 0);
	return 0;
}

int cli_box_image(struct cli *cli, struct bawn_error *err)
{
	struct bawn_image_options o;
	struct bawn_image im;
	int r;

	if (!cli->check) {
		r = make(cli, false, false, &im, err);
		if (r < 0)
			return r;
		put_image(cli, &im, NULL, 0);
		return 0;
	}
	r = options(cli, &o, err);
	if (r >= 0)
		r = bawn_image_look(cli->arena, &o, &im, err);
	if (r < 0)
		return r;
	put_image(cli, &im, NULL, 0);
	if (im.present)
		return 0;
	if (!cli->json)
		bawn_buf_printf(&cli->say, "bawn: %s\n",
			im.stale ? "stale: the Dockerfile has changed since its image was built"
				 : "not built yet");
	return CLI_EXIT_FAILED;
}

/* Every box that was made from this Dockerfile gets the new image; one that is in use is named. */
static int swap_all(struct cli *cli, const struct bawn_image *im, struct bawn_strlist *swapped,
	struct bawn_error *err)
{
	struct bawn_box_watch watch = cli_box_watch(cli);
	struct bawn_box **boxes = NULL;
	size_t n = 0;
	int r = bawn_box_list(cli->arena, &boxes, &n, err);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		_cleanup_box_ struct bawn_box *box = NULL;

		if (strcmp(boxes[i]->dockerfile, im->dockerfile) != 0)
			continue;
		r = bawn_box_open(cli->arena, boxes[i]->name, BAWN_BOX_CHANGE, &box, err);
		if (r >= 0)
			r = bawn_box_swap(cli->arena, box, im->name, im->dockerfile, &watch, err);
		if (r >= 0)
			r = bawn_strlist_add(cli->arena, swapped, boxes[i]->name);
	}
	return r;
}

int cli_box_rebuild(struct cli *cli, struct bawn_error *err)
{
	struct bawn_strlist swapped = {0};
	struct bawn_image_options o;
	struct bawn_image im;
	int r = options(cli, &o, err);

	if (r >= 0)
		r = make(cli, true, true, &im, err);
	if (r >= 0)
		r = swap_all(cli, &im, &swapped, err);
	if (r < 0)
		return r;
	/* now that no box uses it */
	bawn_image_tidy(cli->arena, &o, &im);
	put_image(cli, &im, swapped.v, swapped.n);
	for (size_t i = 0; !cli->json && i < swapped.n; i++)
		bawn_buf_printf(&cli->out, "%s: swapped\n", swapped.v[i]);
	return 0;
}

int cli_box_invalidate(struct cli *cli, struct bawn_error *err)
{
	struct bawn_image_options o;
	struct bawn_image im;
	int r = options(cli, &o, err);

	if (r >= 0)
		r = bawn_image_forget(cli->arena, &o, &im, err);
	if (r < 0)
		return r;
	put_image(cli, &im, NULL, 0);
	return 0;
}

#define OPT(name_, letter_, kind_, value_, words_, member_, help_)                          \
	{                                                                                   \
		.name = (name_), .letter = (letter_), .kind = (kind_), .value = (value_),   \
		.words = (words_), .offset = offsetof(struct cli, member_), .help = (help_) \
	}

const struct cli_opt cli_box_image_opts[] = {
	OPT("dockerfile", 'f', CLI_TEXT, "FILE", "@file", dockerfile,
		"the Dockerfile (default: Dockerfile in DIR)"),
	OPT("build-network", 0, CLI_TEXT, "NAME", NULL, build_network,
		"the engine's network for the steps of a build (default: none)"),
	OPT("engine", 0, CLI_TEXT, "NAME", "docker,podman", engine, "who builds (default: docker)"),
	{NULL},
};

const struct cli_opt cli_box_check_opts[] = {
	OPT("check", 0, CLI_FLAG, NULL, NULL, check,
		"build nothing; exit status 0 if it is there, 1 if it is missing or stale"),
	{NULL},
};
