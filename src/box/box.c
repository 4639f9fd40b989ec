/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a box. A record is written before there is a container and marked ready after it
 * runs, so that no container of ours is without a record that names it, whenever bawn is killed.
 */
#include "box/box.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include <sys/random.h>
#include <sys/stat.h>

#include "backend/near/engine.h"
#include "base/io.h"
#include "base/libexec.h"
#include "base/path.h"
#include "box/internal.h"
#include "call/call.h"
#include "plan/plan.h"
#include "verdict/verdict.h"

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

static enum bawn_engine_kind kind_of(const struct bawn_box *b)
{
	return !strcmp(b->engine, "podman") ? BAWN_ENGINE_PODMAN : BAWN_ENGINE_DOCKER;
}

static int find_stage(struct bawn_arena *a, const char **ret, struct bawn_error *err)
{
	char path[4096];

	if (bawn_libexec_find("bawn-inside", path, sizeof(path)) < 0)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"'bawn-inside' is neither beside this program nor in '%s'",
			BAWN_LIBEXECDIR);
	*ret = bawn_arena_strdup(a, path);
	return *ret ? 0 : no_memory(err);
}

/* Which bawn-inside this is: another one may speak another protocol. */
static const char *stage_of(struct bawn_arena *a, const char *inside)
{
	struct stat st;

	if (!inside || stat(inside, &st) < 0)
		return "";
	return bawn_arena_printf(a, "%s %llx:%llx:%lld", BAWN_VERSION,
		(unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
		(long long)st.st_mtim.tv_sec);
}

static int load_policy(struct bawn_arena *a, const struct bawn_box *b,
	const struct bawn_policy **ret, struct bawn_error *err)
{
	struct bawn_setting *all = bawn_new(a, struct bawn_setting, b->n_settings + 2);
	struct bawn_policy_source src = {
		.workspace = b->project, .files = b->policies, .settings = all};

	if (!all || !b->project)
		return no_memory(err);
	for (size_t i = 0; i < b->n_settings; i++)
		all[src.n_settings++] = b->settings[i];
	if (b->engine)
		all[src.n_settings++] =
			(struct bawn_setting){.key = "backend", .text = b->engine, .flag = "box"};
	if (b->image && *b->image)
		all[src.n_settings++] = (struct bawn_setting){
			.key = "enforcement.docker.image", .text = b->image, .flag = "box"};
	return bawn_policy_load(a, &src, ret, err);
}

/* The plan of a run in it: its mounts and limits are the box's. */
static int make_plan(struct bawn_arena *a, const struct bawn_box *b, const struct bawn_policy *p,
	const struct bawn_plan **ret, struct bawn_error *err)
{
	static const char *const argv[] = {"true", NULL};
	static const char *const envp[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
	struct bawn_call_input in = {
		.argv = argv, .envp = envp, .workspace = b->project, .tool = "box"};
	struct bawn_plan_options o = {
		.backend = b->engine, .tier = BAWN_TIER_NEAR, .image = BAWN_IMAGE_CONTAINER};
	struct bawn_verdict verdict = {0};
	const struct bawn_call *call;
	struct bawn_plan *plan;
	int r = bawn_call_make(a, &in, &call, err);

	if (r >= 0)
		r = bawn_plan_make(a, p, call, &verdict, &o, ret, err);
	if (r < 0)
		return r;
	plan = bawn_new(a, struct bawn_plan, 1);
	if (!plan)
		return no_memory(err);
	*plan = **ret;
	/* the image may be one that was built for it, which the settings do not name */
	plan->backend.image = *b->image ? b->image : NULL;
	*ret = plan;
	return 0;
}

static const char *engine_of(const struct bawn_policy *p)
{
	return !strcmp(p->backend, "podman") ? "podman" : "docker";
}

static int check_backend(const struct bawn_policy *p, struct bawn_error *err)
{
	if (!strcmp(p->backend, "auto") || !strcmp(p->backend, "docker") ||
		!strcmp(p->backend, "podman"))
		return 0;
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"a box needs backend docker or podman, but the policy says '%s'", p->backend);
}

/* ---- the container ---- */

/* A name that nobody has, and its private directory. */
static int name_container(struct bawn_arena *a, struct bawn_box *b, struct bawn_error *err)
{
	const char *owner = box_owner(a);
	uint32_t salt = 0;

	if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
		return bawn_fail(err, BAWN_ERR_INTERNAL, -EIO, "no random numbers");
	b->container = bawn_arena_printf(a, "bawn-box-%s-%s-%08x", owner, b->name, salt);
	b->dir = b->container ? box_path(a, b->container, err) : NULL;
	return b->dir ? 0 : -EIO;
}

static int make_dir(struct bawn_arena *a, const struct bawn_box *b, struct bawn_error *err)
{
	const char *run = bawn_arena_printf(a, "%s/run", b->dir);

	if (!run)
		return no_memory(err);
	if (mkdir(b->dir, 0700) < 0 || mkdir(run, 0700) < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "cannot make '%s': %m", run);
	return 0;
}

static void remove_container(const struct bawn_box *b)
{
	const char *const words[] = {"rm", "--force", "--volumes", b->container, NULL};

	(void)box_engine(b->engine, words, NULL, NULL);
	box_remove_tree(b->dir);
}

static int is_running(const struct bawn_box *b, bool *ret, struct bawn_error *err)
{
	const char *const words[] = {
		"inspect", "--format", "{{.State.Running}}", b->container, NULL};
	_cleanup_buf_ struct bawn_buf out = {0};
	int r = box_engine(b->engine, words, &out, err);

	if (r >= 0)
		*ret = out.data && !strncmp(out.data, "true", 4);
	return r;
}

static int run_container(struct bawn_arena *a, const struct bawn_box *b,
	const struct bawn_plan *plan, const char *inside, struct bawn_error *err)
{
	struct bawn_near_job job = {.plan = plan,
		.program = b->engine,
		.inside = inside,
		.dir = b->dir,
		.id = b->container};
	struct bawn_near_args args = {.a = a};
	struct bawn_engine_host host;
	int r;

	bawn_engine_look(kind_of(b), &host);
	bawn_near_add(&args, b->engine, NULL);
	r = bawn_engine_box_args(kind_of(b), &host, &job, &args, err);
	if (r < 0)
		return r;
	_cleanup_call_ struct bawn_engine_call c = {.argv = args.argv.v, .timeout_ms = BOX_CALL_MS};
	r = bawn_engine_call(&c, err);
	return r < 0 ? bawn_engine_explain(b->engine, plan, c.err.data ? c.err.data : "", err) : 0;
}

/* Up and answering, or gone again. */
static int bring_up(struct bawn_arena *a, struct bawn_box *b, const struct bawn_plan *plan,
	struct bawn_error *err)
{
	const char *inside = NULL, *image;
	bool runs = false;
	int r = find_stage(a, &inside, err);

	if (r >= 0)
		r = make_dir(a, b, err);
	if (r < 0)
		return r;
	r = run_container(a, b, plan, inside, err);
	if (r == BAWN_ENGINE_NO_IMAGE) {
		r = bawn_engine_make_base(b->engine, plan, err);
		r = r < 0 ? r : run_container(a, b, plan, inside, err);
	}
	if (r >= 0)
		r = is_running(b, &runs, err);
	if (r >= 0 && !runs)
		r = bawn_fail(err, BAWN_ERR_BACKEND, -ESRCH, "the container ended at once");
	image = *b->image ? b->image : bawn_engine_base_name(a, plan);
	if (r >= 0)
		r = image ? box_image_id(a, b->engine, image, &b->image_id, err) : no_memory(err);
	b->stage = stage_of(a, inside);
	if (r < 0) {
		struct bawn_error why = *err;

		remove_container(b);
		*err = why;
	}
	return r;
}

static void say(const struct bawn_box_watch *w, const char *text)
{
	if (w && w->line)
		w->line(w->data, text, strlen(text));
}

int bawn_box_create(struct bawn_arena *a, const struct bawn_box *want,
	const struct bawn_box_watch *watch, struct bawn_box **ret, struct bawn_error *err)
{
	struct bawn_box *b = bawn_new(a, struct bawn_box, 1);
	const struct bawn_policy *p = NULL;
	const struct bawn_plan *plan = NULL;
	int r = box_check_name(want->name, err);

	if (r < 0 || !b)
		return r < 0 ? r : no_memory(err);
	*b = *want;
	b->lock = -1;
	r = load_policy(a, b, &p, err);
	if (r >= 0)
		r = check_backend(p, err);
	if (r < 0)
		return r;
	b->engine = engine_of(p);
	if (!b->image)
		b->image = p->docker_image;
	if (!b->dockerfile)
		b->dockerfile = "";
	b->image_id = b->stage = "";
	b->ready = false;
	b->created = b->changed = bawn_wall_us();
	r = make_plan(a, b, p, &plan, err);
	if (r >= 0)
		r = name_container(a, b, err);
	if (r >= 0)
		r = box_register(a, b, err);
	if (r < 0) {
		(void)bawn_box_close(b);
		return r;
	}
	say(watch, "starting the container");
	r = bring_up(a, b, plan, err);
	if (r < 0) {
		(void)box_unregister(b, NULL);
		(void)bawn_box_close(b);
		return bawn_error_wrap(err, "box '%s'", want->name);
	}
	b->ready = true;
	r = box_save(b, err);
	if (r < 0) {
		remove_container(b);
		(void)box_unregister(b, NULL);
		(void)bawn_box_close(b);
		return r;
	}
	*ret = b;
	return 0;
}

/* ---- what becomes of it ---- */

int bawn_box_usable(struct bawn_arena *a, const struct bawn_box *b, struct bawn_error *err)
{
	const char *inside = NULL;
	int r = find_stage(a, &inside, err);

	if (r < 0)
		return r;
	if (!b->ready)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ESTALE,
			"box '%s' was never finished; 'bawn box cleanup' removes it", b->name);
	if (strcmp(b->stage, stage_of(a, inside)) != 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ESTALE,
			"box '%s' was made by another bawn; 'bawn box swap %s' renews it", b->name,
			b->name);
	return 0;
}

/* The engine's words about a container that it does not have help nobody. */
static int say_gone(struct bawn_box *b, int r, struct bawn_error *err)
{
	struct bawn_box *const one[] = {b};
	const char *state = "";

	if (r >= 0)
		return r;
	bawn_box_states(one, 1, &state);
	if (strcmp(state, "gone") != 0)
		return r;
	return bawn_fail(err, BAWN_ERR_BACKEND, -ENOENT,
		"its container is gone; 'bawn box rm %s' forgets it, 'bawn box create' makes a new one",
		b->name);
}

int bawn_box_start(struct bawn_arena *a, struct bawn_box *b, struct bawn_error *err)
{
	const char *const words[] = {"start", b->container, NULL};
	int r = bawn_box_usable(a, b, err);

	if (r >= 0)
		r = say_gone(b, box_engine(b->engine, words, NULL, err), err);
	return r < 0 ? bawn_error_wrap(err, "box '%s'", b->name) : 0;
}

int bawn_box_stop(struct bawn_box *b, struct bawn_error *err)
{
	/* its own process waits for nothing; what runs in it has no claim to a last word */
	const char *const words[] = {"kill", b->container, NULL};
	bool runs = false;
	int r = say_gone(b, is_running(b, &runs, err), err);

	if (r >= 0 && runs)
		r = box_engine(b->engine, words, NULL, err);
	return r < 0 ? bawn_error_wrap(err, "box '%s'", b->name) : 0;
}

int bawn_box_remove(struct bawn_box *b, struct bawn_error *err)
{
	const char *const words[] = {"rm", "--force", "--volumes", b->container, NULL};
	struct bawn_error why = {0};
	int r = box_engine(b->engine, words, NULL, &why);

	if (r < 0 && !strcasestr(why.msg, "no such container")) {
		*err = why;
		return bawn_error_wrap(err, "box '%s'", b->name);
	}
	box_remove_tree(b->dir);
	return box_unregister(b, err);
}

int bawn_box_swap(struct bawn_arena *a, struct bawn_box *b, const char *image,
	const char *dockerfile, const struct bawn_box_watch *watch, struct bawn_error *err)
{
	const struct bawn_policy *p = NULL;
	const struct bawn_plan *plan = NULL;
	struct bawn_box next = *b, old = *b;
	int r;

	if (image)
		next.image = image;
	if (dockerfile)
		next.dockerfile = dockerfile;
	r = load_policy(a, &next, &p, err);
	if (r < 0)
		return r;
	r = make_plan(a, &next, p, &plan, err);
	if (r >= 0)
		r = name_container(a, &next, err);
	if (r < 0)
		return r;
	say(watch, "starting the new container");
	r = bring_up(a, &next, plan, err);
	if (r < 0)
		return bawn_error_wrap(err, "box '%s' stays as it was", b->name);
	next.ready = true;
	next.changed = bawn_wall_us();
	r = box_save(&next, err);
	if (r < 0) {
		remove_container(&next);
		return r;
	}
	*b = next;
	say(watch, "removing the old container");
	remove_container(&old);
	return 0;
}

/* ---- all of them ---- */

struct seen {
	struct bawn_buf docker, podman; /* "NAME STATUS" lines */
	bool no_docker, no_podman;
};

static void ask_states(const char *engine, struct bawn_buf *out, bool *failed)
{
	static const char *const words[] = {"ps", "--all", "--no-trunc", "--filter",
		"name=bawn-box-", "--format", "{{.Names}} {{.Status}}", NULL};

	*failed = box_engine(engine, words, out, NULL) < 0;
	if (!*failed && !out->data)
		bawn_buf_puts(out, "\n");
}

/* "Up 2 hours", "Up 2 hours (Paused)", "Paused", "Exited (0) 2 hours ago", "Created" */
static const char *state_word(const char *status)
{
	size_t n = strcspn(status, "\n");

	if (memmem(status, n, "Paused", 6))
		return "paused";
	return !strncmp(status, "Up", 2) ? "running" : "stopped";
}

static const char *state_of(const struct bawn_box *b, const struct bawn_buf *lines)
{
	size_t n = strlen(b->container);

	for (const char *p = lines->data; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (!strncmp(p, b->container, n) && p[n] == ' ')
			return state_word(p + n + 1);
	return "gone";
}

void bawn_box_states(struct bawn_box *const *boxes, size_t n, const char **ret)
{
	struct seen s = {0};

	for (size_t i = 0; i < n; i++) {
		bool podman = !strcmp(boxes[i]->engine, "podman");
		struct bawn_buf *lines = podman ? &s.podman : &s.docker;
		bool *failed = podman ? &s.no_podman : &s.no_docker;

		if (!lines->data && !*failed)
			ask_states(boxes[i]->engine, lines, failed);
		ret[i] = *failed            ? "unknown"
			 : !boxes[i]->ready ? "unfinished"
					    : state_of(boxes[i], lines);
	}
	bawn_buf_done(&s.docker);
	bawn_buf_done(&s.podman);
}

static bool is_known(struct bawn_box *const *boxes, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(boxes[i]->container) == len && !strncmp(boxes[i]->container, name, len))
			return true;
	return false;
}

/* A swap makes a container that no record names yet: its box is locked meanwhile. */
static bool is_changing(struct bawn_arena *a, const char *prefix, const char *container)
{
	_cleanup_box_ struct bawn_box *b = NULL;
	size_t from = strlen(prefix), len = strlen(container);
	const char *name =
		len > from + 9 ? bawn_arena_strndup(a, container + from, len - from - 9) : NULL;

	return name && bawn_box_open(a, name, BAWN_BOX_CHANGE, &b, NULL) == -EBUSY;
}

/* Containers with our owner's mark that no record names. */
static int sweep_containers(struct bawn_arena *a, const char *engine, const char *prefix,
	struct bawn_box *const *boxes, size_t n)
{
	_cleanup_buf_ struct bawn_buf out = {0};
	bool failed;
	int count = 0;

	ask_states(engine, &out, &failed);
	for (const char *p = failed ? NULL : out.data; p && *p;
		p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		size_t len = strcspn(p, " \n");
		const char *name = bawn_arena_strndup(a, p, len);
		const char *const words[] = {"rm", "--force", "--volumes", name, NULL};

		if (!name || strncmp(name, prefix, strlen(prefix)) != 0 ||
			is_known(boxes, n, name, len) || is_changing(a, prefix, name))
			continue;
		count += box_engine(engine, words, NULL, NULL) >= 0;
	}
	return count;
}

static int sweep_dirs(struct bawn_arena *a, const char *prefix, struct bawn_box *const *boxes,
	size_t n, struct bawn_error *err)
{
	const char *dir = box_path(a, ".", err);
	DIR *d = dir ? opendir(dir) : NULL;
	struct dirent *e;
	int count = 0;

	if (!d)
		return dir ? 0 : -ENOENT;
	while ((e = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours alone */
		const char *path;

		if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 ||
			is_known(boxes, n, e->d_name, strlen(e->d_name)) ||
			is_changing(a, prefix, e->d_name))
			continue;
		path = bawn_arena_printf(a, "%s/%s", dir, e->d_name);
		if (path)
			box_remove_tree(path);
		count++;
	}
	(void)closedir(d);
	return count;
}

/* Records that nobody holds and that were never finished. */
static int sweep_records(struct bawn_arena *a, struct bawn_box *const *boxes, size_t n)
{
	int count = 0;

	for (size_t i = 0; i < n; i++) {
		_cleanup_box_ struct bawn_box *b = NULL;

		if (boxes[i]->ready ||
			bawn_box_open(a, boxes[i]->name, BAWN_BOX_CHANGE, &b, NULL) < 0)
			continue;
		if (!b->ready && bawn_box_remove(b, &(struct bawn_error){0}) >= 0)
			count++;
	}
	return count;
}

int bawn_box_sweep(struct bawn_arena *a, struct bawn_error *err)
{
	const char *owner = box_owner(a);
	const char *prefix = owner ? bawn_arena_printf(a, "bawn-box-%s-", owner) : NULL;
	struct bawn_box **boxes;
	size_t n = 0;
	int r, count;

	if (!prefix)
		return no_memory(err);
	r = bawn_box_list(a, &boxes, &n, err);
	if (r < 0)
		return r;
	count = sweep_records(a, boxes, n);
	r = bawn_box_list(a, &boxes, &n, err);
	if (r < 0)
		return r;
	count += sweep_containers(a, "docker", prefix, boxes, n);
	count += sweep_containers(a, "podman", prefix, boxes, n);
	r = sweep_dirs(a, prefix, boxes, n, err);
	return r < 0 ? r : count + r;
}
