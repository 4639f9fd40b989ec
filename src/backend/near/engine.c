/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker, podman and apple-container as backends: the generic instance of near.h with an engine's
 * command line. The one thing of their own is the image for this host's system, which is made when
 * the engine says that it is not there, so that a run never waits for the question.
 */
#include "backend/near/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

#include "backend/backends.h"
#include "base/cleanup.h"
#include "base/io.h"

#define END_MS 10000 /* how long podman may take to notice that nobody waits for it */

struct engine {
	enum bawn_engine_kind kind;
	struct bawn_tool tool;
};

/* The generic instance comes first; what follows is for a second try. */
struct engine_instance {
	struct bawn_near near;
	const struct bawn_plan *plan;
	int stdio[3];
};

static struct engine_instance *of(struct bawn_instance *in)
{
	return (struct engine_instance *)(void *)in;
}

/* ---- what near.h asks of a tool ---- */

static int build(enum bawn_engine_kind kind, const struct bawn_near_job *job,
	struct bawn_near_args *args, struct bawn_error *err)
{
	struct bawn_engine_host host;

	bawn_engine_look(kind, &host);
	return job->plan->backend.box ? bawn_engine_exec_args(kind, &host, job, args, err)
				      : bawn_engine_run_args(kind, &host, job, args, err);
}

static int build_docker(
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	return build(BAWN_ENGINE_DOCKER, job, args, err);
}

static int build_podman(
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	args->argv.n = 0;
	bawn_near_add(args, job->inside, "reap", job->program, NULL);
	return build(BAWN_ENGINE_PODMAN, job, args, err);
}

/* A box outlives its runs: what runs in it dies with its socket. */
static int clean(
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	(void)err;
	if (job->plan->backend.box)
		return 0;
	bawn_near_add(args, job->program, NULL);
	bawn_engine_remove_args(BAWN_ENGINE_DOCKER, job->id, args);
	return args->failed;
}

static bool says(const char *said, const char *const *phrases)
{
	for (; *phrases; phrases++)
		if (strcasestr(said, *phrases))
			return true;
	return false;
}

/* The last line of what an engine said that is no remark. */
static void last_words(const char *said, char *dst, size_t size)
{
	const char *best = "";
	size_t len = 0;

	for (const char *p = said; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t n = strcspn(p, "\r\n");

		if (n && strncmp(p, "See '", 5) != 0 && strncmp(p, "Run '", 5) != 0 &&
			strncmp(p, "time=", 5) != 0) {
			best = p;
			len = n;
		}
	}
	(void)snprintf(dst, size, "%.*s", (int)len, best);
}

int bawn_engine_explain(
	const char *engine, const struct bawn_plan *plan, const char *said, struct bawn_error *err)
{
	static const char *const absent[] = {"no such image", "unable to find image",
		"image not known", "manifest unknown", NULL};
	static const char *const silent[] = {"cannot connect to the docker daemon",
		"is the docker daemon running", "error during connect", NULL};
	static const char *const denied[] = {"permission denied while trying to connect", NULL};
	static const char *const full[] = {"no space left on device", "disk quota exceeded", NULL};
	static const char *const runtime[] = {
		"unknown or invalid runtime", "runtime not found", "is not a valid runtime", NULL};
	static const char *const apart[] = {"bawn-inside: cannot open the socket", NULL};
	static const char *const subids[] = {"/etc/subuid", "newuidmap", NULL};
	static const char *const hybrid[] = {"cgroups in hybrid mode not supported", NULL};
	static const char *const gone[] = {"no such container", "is not running",
		"can only create exec sessions on running containers", NULL};
	char words[300];

	last_words(said, words, sizeof(words));
	if (says(said, absent) && !plan->backend.image)
		return bawn_fail(err, BAWN_ERR_BACKEND, BAWN_ENGINE_NO_IMAGE,
			"%s has no image for it", engine);
	if (says(said, absent))
		return bawn_fail(err, BAWN_ERR_CALL, -ENOENT,
			"image '%s' is not on this host; get it with '%s pull %s', or make one with "
			"'bawn box build'",
			plan->backend.image, engine, plan->backend.image);
	if (says(said, silent))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"the %s daemon does not answer; start it with 'systemctl start %s'", engine,
			engine);
	if (says(said, denied))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"this user may not speak to the %s daemon; take 'podman', or join its group "
			"('usermod -aG docker USER'), which is as good as root",
			engine);
	if (says(said, full))
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOSPC, "the disk of %s is full: %s",
			engine, words);
	if (says(said, runtime))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"%s knows no runtime '%s' (enforcement.docker.runtime)", engine,
			plan->backend.engine_runtime);
	if (says(said, apart) && *plan->backend.engine_runtime)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"runtime '%s' keeps our stage from the host, so that nothing can be checked inside; for "
			"gVisor there is backend 'gvisor'",
			plan->backend.engine_runtime);
	if (says(said, subids))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"%s needs subordinate ids for this user: 'usermod --add-subuids 100000-165535 "
			"--add-subgids 100000-165535 USER'",
			engine);
	if (says(said, hybrid))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"this host has control groups of both kinds, with which crun does not work; "
			"'apt-get install runc', which does");
	if (plan->backend.box && says(said, gone))
		return bawn_fail(err, BAWN_ERR_BACKEND, -ESRCH,
			"the box does not run; 'bawn box start' starts it");
	return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "%s: %s", engine,
		*words ? words : "it ended without a word");
}

static int explain_docker(const struct bawn_plan *plan, const char *said, struct bawn_error *err)
{
	return bawn_engine_explain("docker", plan, said, err);
}

static int explain_podman(const struct bawn_plan *plan, const char *said, struct bawn_error *err)
{
	return bawn_engine_explain("podman", plan, said, err);
}

static const struct engine docker = {.kind = BAWN_ENGINE_DOCKER,
	.tool = {.program = "docker",
		.remedy = "apt-get install docker.io",
		.walls = "docker: namespaces (mount pid net ipc uts), no capabilities, seccomp",
		.by_path = true,
		.setup_ms = 60000,
		.build = build_docker,
		.clean = clean,
		.explain = explain_docker}};

static const struct engine podman = {.kind = BAWN_ENGINE_PODMAN,
	.tool = {.program = "podman",
		.remedy = "apt-get install podman runc",
		.walls = "podman: namespaces (mount pid net ipc uts), no capabilities, seccomp",
		.by_path = true,
		.finishes = true,
		.setup_ms = 60000,
		.build = build_podman,
		.clean = clean,
		.explain = explain_podman}};

/* ---- the backends ---- */

static const struct engine *engine_of(const struct bawn_instance *in);

static void drop_stdio(struct engine_instance *e)
{
	for (int i = 0; i < 3; i++) {
		if (e->stdio[i] >= 0)
			(void)close(e->stdio[i]);
		e->stdio[i] = -1;
	}
}

static int engine_prepare(struct bawn_instance *in, const struct bawn_plan *plan,
	const int stdio[3], struct bawn_error *err)
{
	struct engine_instance *e = of(in);
	int r = 0;

	e->plan = plan;
	for (int i = 0; i < 3; i++)
		e->stdio[i] = -1;
	for (int i = 0; i < 3 && r == 0; i++) {
		e->stdio[i] = stdio[i] < 0 ? -1 : fcntl(stdio[i], F_DUPFD_CLOEXEC, 3);
		if (stdio[i] >= 0 && e->stdio[i] < 0)
			r = bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "cannot take descriptor %d: %m", i);
	}
	if (r == 0)
		r = bawn_engine_check(plan, err);
	return r < 0 ? r : bawn_near_prepare(in, &engine_of(in)->tool, plan, e->stdio, err);
}

static int try_again(struct bawn_instance *in, struct bawn_error *err)
{
	const struct bawn_backend *be = in->be;
	struct engine_instance *e = of(in);
	int r = bawn_engine_make_base(engine_of(in)->tool.program, e->plan, err);

	if (r < 0)
		return r;
	bawn_near_destroy(in);
	e->near = (struct bawn_near){.in = {.be = be}};
	r = bawn_near_prepare(in, &engine_of(in)->tool, e->plan, e->stdio, err);
	return r < 0 ? r : bawn_near_await(in, err);
}

static int engine_await(struct bawn_instance *in, struct bawn_error *err)
{
	int r = bawn_near_await(in, err);

	if (r == BAWN_ENGINE_NO_IMAGE)
		r = try_again(in, err);
	drop_stdio(of(in));
	return r;
}

/*
 * Podman is no daemon: killed in the middle it leaves its helpers to whoever reaps here. A stage
 * that finds nobody listening ends, and podman with it.
 */
static void let_end(struct bawn_near *n)
{
	struct pollfd tool = {.fd = n->link.pidfd, .events = POLLIN};

	if (n->listener < 0 || n->link.pid <= 0)
		return;
	(void)close(n->listener);
	n->listener = -1;
	(void)poll(&tool, 1, END_MS);
}

static void engine_destroy(struct bawn_instance *in)
{
	if (!of(in)->plan) /* prepare was never called */
		return;
	drop_stdio(of(in));
	if (engine_of(in)->kind == BAWN_ENGINE_PODMAN)
		let_end(&of(in)->near);
	bawn_near_destroy(in);
}

static int docker_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	return bawn_near_probe(&bawn_backend_docker, &docker.tool, NULL, ret, err);
}

static int podman_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	return bawn_near_probe(&bawn_backend_podman, &podman.tool, NULL, ret, err);
}

static int apple_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	(void)err;
	*ret = (struct bawn_probe){.reason = "Apple's container engine runs on macOS only"};
	return 0;
}

static int apple_prepare(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
	struct bawn_error *err)
{
	(void)in;
	(void)plan;
	(void)stdio;
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"Apple's container engine runs on macOS only; here 'docker' and 'podman' do the same");
}

static void apple_destroy(struct bawn_instance *in)
{
	(void)in;
}

#define ENGINE(id, word, other, text, force)                                    \
	const struct bawn_backend bawn_backend_##id = {.abi = BAWN_BACKEND_ABI, \
		.name = word,                                                   \
		.aliases = other,                                               \
		.summary = text,                                                \
		.level = BAWN_LEVEL_CONTAINER,                                  \
		.strength = force,                                              \
		.tier = BAWN_TIER_NEAR,                                         \
		.image = BAWN_IMAGE_CONTAINER,                                  \
		.program = word,                                                \
		.instance_size = sizeof(struct engine_instance),                \
		.probe = id##_probe,                                            \
		.prepare = engine_prepare,                                      \
		.await = engine_await,                                          \
		.start = bawn_near_start,                                       \
		.event = bawn_near_event,                                       \
		.signal = bawn_near_signal,                                     \
		.usage = bawn_near_usage,                                       \
		.destroy = engine_destroy}

ENGINE(docker, "docker", "", "a container of Docker, with our own walls inside", 110);
ENGINE(podman, "podman", "", "a container of Podman, with our own walls inside", 105);

const struct bawn_backend bawn_backend_apple_container = {.abi = BAWN_BACKEND_ABI,
	.name = "apple-container",
	.aliases = "container",
	.summary = "a container of Apple's engine, on macOS",
	.level = BAWN_LEVEL_CONTAINER,
	.strength = 100,
	.tier = BAWN_TIER_FAR,
	.image = BAWN_IMAGE_CONTAINER,
	.foreign = true,
	.instance_size = sizeof(struct engine_instance),
	.probe = apple_probe,
	.prepare = apple_prepare,
	.await = bawn_near_await,
	.start = bawn_near_start,
	.event = bawn_near_event,
	.signal = bawn_near_signal,
	.usage = bawn_near_usage,
	.destroy = apple_destroy};

static const struct engine *engine_of(const struct bawn_instance *in)
{
	return in->be == &bawn_backend_podman ? &podman : &docker;
}
