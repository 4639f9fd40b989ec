/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images for development, one per Dockerfile. Its name is a digest of what the Dockerfile says, of
 * what its context leaves out and of where it stands: so an image that is there is the right one,
 * and the engine itself is the cache. A small record per Dockerfile remembers what was built last,
 * to say that it is stale and to remove it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "backend/near/engine.h"
#include "base/io.h"
#include "base/path.h"
#include "base/sha256.h"
#include "box/internal.h"

#define DOCKERFILE_MAX ((size_t)1 << 20)

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

static int resolve(struct bawn_arena *a, const char *path, const char *what, const char **ret,
	struct bawn_error *err)
{
	int r = bawn_path_resolve(a, path, ret);

	if (r >= 0)
		return 0;
	errno = -r;
	return bawn_fail(err, BAWN_ERR_USAGE, r, "%s '%s': %m", what, path);
}

/* Where the Dockerfile and its context are. */
static int find(struct bawn_arena *a, const struct bawn_image_options *o, struct bawn_image *ret,
	struct bawn_error *err)
{
	const char *context = o->context ? o->context : ".";
	const char *file =
		o->dockerfile ? o->dockerfile : bawn_arena_printf(a, "%s/Dockerfile", context);
	int r;

	if (!file)
		return no_memory(err);
	r = resolve(a, file, "Dockerfile", &ret->dockerfile, err);
	if (r < 0)
		return r;
	if (o->context || !o->dockerfile)
		return resolve(a, context, "directory", &ret->context, err);
	ret->context = bawn_arena_strndup(
		a, ret->dockerfile, (size_t)(strrchr(ret->dockerfile, '/') - ret->dockerfile));
	if (ret->context && !*ret->context)
		ret->context = "/";
	return ret->context ? 0 : no_memory(err);
}

/* The file's text with its length before it, so that two texts cannot be one. */
static int add_text(struct bawn_buf *b, const char *path, bool optional, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf text = {.max = DOCKERFILE_MAX};
	int r = bawn_read_file(AT_FDCWD, path, DOCKERFILE_MAX, &text);

	if (r == -ENOENT && optional)
		r = 0;
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_USAGE, r, "cannot read '%s': %m", path);
	}
	bawn_buf_printf(b, "%zu ", text.len);
	bawn_buf_add(b, text.data ? text.data : "", text.len);
	return 0;
}

static int make_key(struct bawn_arena *a, struct bawn_image *im, struct bawn_error *err)
{
	const char *beside = bawn_arena_printf(a, "%s.dockerignore", im->dockerfile);
	const char *above = bawn_arena_printf(a, "%s/.dockerignore", im->context);
	_cleanup_buf_ struct bawn_buf b = {.max = 4 * DOCKERFILE_MAX};
	char hex[BAWN_HEX_LEN + 1];
	int r;

	if (!beside || !above)
		return no_memory(err);
	bawn_buf_printf(&b, "%s\n%s\n", im->dockerfile, im->context);
	r = add_text(&b, im->dockerfile, false, err);
	if (r >= 0)
		r = add_text(&b, beside, true, err);
	if (r >= 0)
		r = add_text(&b, above, true, err);
	if (r < 0)
		return r;
	if (b.failed)
		return no_memory(err);
	bawn_sha256_hex(b.data, b.len, hex);
	im->key = bawn_arena_strdup(a, hex);
	im->name = bawn_arena_printf(a, "bawn-env:%.32s", hex);
	return im->key && im->name ? 0 : no_memory(err);
}

/* Where is remembered what was built last of this Dockerfile. */
static const char *memory_of(
	struct bawn_arena *a, const struct bawn_image *im, struct bawn_error *err)
{
	const char *what = bawn_arena_printf(a, "%s\n%s", im->dockerfile, im->context);
	char hex[BAWN_HEX_LEN + 1];
	const char *rest;

	if (!what)
		return NULL;
	bawn_sha256_hex(what, strlen(what), hex);
	rest = bawn_arena_printf(a, "%.32s.image", hex);
	return rest ? box_path(a, rest, err) : NULL;
}

static int recall(struct bawn_arena *a, struct bawn_image *im, struct bawn_error *err)
{
	const char *path = memory_of(a, im, err);
	char text[BAWN_HEX_LEN + 2] = "";

	if (!path)
		return -EIO;
	if (bawn_read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
		text[0] = '\0';
	text[strspn(text, "0123456789abcdef")] = '\0';
	im->built_key = bawn_arena_strdup(a, strlen(text) == BAWN_HEX_LEN ? text : "");
	return im->built_key ? 0 : no_memory(err);
}

int bawn_image_look(struct bawn_arena *a, const struct bawn_image_options *o,
	struct bawn_image *ret, struct bawn_error *err)
{
	const char *id = "";
	int r;

	*ret = (struct bawn_image){0};
	r = find(a, o, ret, err);
	if (r >= 0)
		r = make_key(a, ret, err);
	if (r >= 0)
		r = recall(a, ret, err);
	if (r >= 0)
		r = box_image_id(a, o->engine, ret->name, &id, err);
	if (r < 0)
		return r;
	ret->present = *id;
	ret->stale = *ret->built_key && strcmp(ret->built_key, ret->key) != 0;
	return 0;
}

/* The last lines that an engine wrote before it gave up, without its step numbers. */
static int build_failed(
	const struct bawn_engine_call *c, const struct bawn_image *im, struct bawn_error *err)
{
	struct bawn_error why = *err;

	if (c->err.data && strcasestr(c->err.data, "no space left on device"))
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOSPC,
			"building '%s': the engine's disk is full", im->dockerfile);
	return bawn_fail(
		err, BAWN_ERR_BACKEND, why.err, "building '%s': %s", im->dockerfile, why.msg);
}

/* Without its plugin the newer builder is not there, and docker complains at length. */
static bool has_buildx(struct bawn_arena *a)
{
	static const char *const dirs[] = {"/usr/local/lib/docker", "/usr/local/libexec/docker",
		"/usr/lib/docker", "/usr/libexec/docker"};
	const char *home = bawn_path_home(a);

	for (size_t i = 0; i <= sizeof(dirs) / sizeof(dirs[0]); i++) {
		const char *path =
			i < sizeof(dirs) / sizeof(dirs[0])
				? bawn_arena_printf(a, "%s/cli-plugins/docker-buildx", dirs[i])
			: home ? bawn_arena_printf(a, "%s/.docker/cli-plugins/docker-buildx", home)
			       : NULL;

		if (path && access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static int build(struct bawn_arena *a, const struct bawn_image_options *o,
	const struct bawn_image *im, const struct bawn_box_watch *watch, struct bawn_error *err)
{
	static const char label[] = BAWN_ENGINE_LABEL "=env";
	const char *words[] = {"build", "--file", im->dockerfile, "--tag", im->name, "--label",
		label, "--network", o->network ? o->network : "none", "--force-rm"};
	const char *argv[24] = {o->engine};
	struct bawn_engine_call c = {.argv = argv, .timeout_ms = BOX_BUILD_MS};
	struct bawn_engine_host host;
	size_t n = 1;
	int r;

	bawn_engine_look(
		!strcmp(o->engine, "podman") ? BAWN_ENGINE_PODMAN : BAWN_ENGINE_DOCKER, &host);
	if (*host.runtime) {
		argv[n++] = "--runtime";
		argv[n++] = host.runtime;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		argv[n++] = words[i];
	if (!has_buildx(a))
		c.env = "DOCKER_BUILDKIT=0";
	if (o->no_cache)
		argv[n++] = "--no-cache";
	argv[n++] = "--";
	argv[n++] = im->context;
	if (watch) {
		c.line = watch->line;
		c.data = watch->data;
	}
	r = bawn_engine_call(&c, err);
	if (r < 0)
		r = build_failed(&c, im, err);
	bawn_engine_call_done(&c);
	return r;
}

int bawn_image_make(struct bawn_arena *a, const struct bawn_image_options *o,
	const struct bawn_box_watch *watch, struct bawn_image *ret, struct bawn_error *err)
{
	const char *memory;
	int r = bawn_image_look(a, o, ret, err);

	if (r < 0 || (ret->present && !o->always))
		return r;
	memory = memory_of(a, ret, err);
	if (!memory)
		return -EIO;
	r = build(a, o, ret, watch, err);
	if (r >= 0)
		r = box_write(memory, ret->key, strlen(ret->key), err);
	if (r < 0)
		return r;
	ret->present = ret->built = true;
	ret->stale = false;
	return 0;
}

void bawn_image_tidy(
	struct bawn_arena *a, const struct bawn_image_options *o, const struct bawn_image *im)
{
	const char *old = bawn_arena_printf(a, "bawn-env:%.32s", im->built_key);
	const char *const words[] = {"image", "rm", old, NULL};

	if (old && im->built && *im->built_key && strcmp(im->built_key, im->key) != 0)
		(void)box_engine(o->engine, words, NULL, NULL);
}

int bawn_image_forget(struct bawn_arena *a, const struct bawn_image_options *o,
	struct bawn_image *ret, struct bawn_error *err)
{
	const char *memory, *old;
	int r = bawn_image_look(a, o, ret, err);

	if (r < 0)
		return r;
	memory = memory_of(a, ret, err);
	old = bawn_arena_printf(a, "bawn-env:%.32s", ret->built_key);
	if (!memory || !old)
		return -EIO;
	for (int i = 0; i < 2; i++) {
		const char *const words[] = {"image", "rm", i ? old : ret->name, NULL};

		/* one that a box still uses loses its name only, and goes with the box */
		if (i ? *ret->built_key && ret->stale : ret->present)
			(void)box_engine(o->engine, words, NULL, NULL);
	}
	(void)unlink(memory);
	ret->present = false;
	return 0;
}
