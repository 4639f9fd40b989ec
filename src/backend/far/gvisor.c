/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gVisor: a kernel in a process, between the command and ours. `runsc` is run on a bundle of our
 * own making, without an engine: the mounts of the plan become mounts of the bundle, the frames are
 * its standard input and output. The writable trees are seen through an overlay in the sandbox's
 * memory, so that nothing needs to be sent in, and what changed comes back to be applied by the
 * host.
 *
 * The bridge has one capability, CAP_SYS_ADMIN as gVisor's kernel understands it, to give the
 * command a pid namespace; the command has none.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "backend/backends.h"
#include "backend/far/far.h"
#include "backend/far/frame.h"
#include "backend/near/engine.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"

#define AGENT "/.bawn-inside"

static void cleanup_json(json_t **j)
{
	json_decref(*j);
}

struct bundle {
	const struct bawn_far_job *job;
	json_t *mounts; /* borrowed from the configuration */
	unsigned files; /* made in the private directory */
	int root;       /* the private directory's rootfs */
	bool rootless;
};

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

/* ---- the tree that mounts are put on ---- */

/* The directories above `path` (absolute) in our rootfs. They are ours alone: plain mkdir will do.
 */
static int make_parents(struct bundle *b, const char *path)
{
	char part[PATH_MAX];

	for (const char *p = path + 1; (p = strchr(p, '/')); p++) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(p - path - 1), path + 1);
		if (mkdirat(b->root, part, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* True if a mount that comes earlier covers `path`: then it is there or it cannot be made by us. */
static bool is_covered(const struct bundle *b, const struct bawn_mount *m)
{
	const struct bawn_plan *plan = b->job->plan;

	for (const struct bawn_mount *o = plan->mounts; o < plan->mounts + plan->n_mounts && o != m;
		o++)
		if (o->kind != BAWN_MNT_SYMLINK && o->kind != BAWN_MNT_DEVICE && !o->pin &&
			strcmp(o->dst, m->dst) != 0 && bawn_path_under(m->dst, o->dst))
			return true;
	return false;
}

static int make_point(
	struct bundle *b, const struct bawn_mount *m, bool dir, struct bawn_error *err)
{
	int r = is_covered(b, m) ? 1 : make_parents(b, m->dst);

	if (r == 0 && dir && mkdirat(b->root, m->dst + 1, 0755) < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0 && !dir) {
		_cleanup_close_ int fd = openat(
			b->root, m->dst + 1, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);

		r = fd < 0 ? -errno : 0;
	}
	if (r < 0) {
		errno = -r;
		return bawn_fail(
			err, BAWN_ERR_BACKEND, r, "cannot make a place for '%s': %m", m->dst);
	}
	return 0;
}

/* ---- mounts ---- */

static int add(struct bundle *b, const char *type, const char *src, const char *dst,
	json_t *options, struct bawn_error *err)
{
	json_t *m = json_pack("{s:s, s:s, s:s, s:o}", "destination", dst, "type", type, "source",
		src, "options", options);

	if (!m || json_array_append_new(b->mounts, m) < 0)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"gVisor's configuration cannot name '%s': it is not UTF-8", dst);
	return 0;
}

static int add_bind(struct bundle *b, const struct bawn_mount *m, const char *src, bool ro,
	struct bawn_error *err)
{
	struct stat st;
	json_t *options;
	int r;

	if (stat(src, &st) < 0) {
		if (m->optional && errno == ENOENT)
			return 0;
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot look at '%s': %m", src);
	}
	r = make_point(b, m, S_ISDIR(st.st_mode), err);
	if (r < 0)
		return r;
	options = json_pack("[s, s, s, s]", "rbind", ro ? "ro" : "rw", "nosuid", "nodev");
	if (options && m->no_exec)
		(void)json_array_append_new(options, json_string("noexec"));
	return add(b, "bind", src, m->dst, options, err);
}

static int add_tmpfs(struct bundle *b, const struct bawn_mount *m, const char *mode, bool hide,
	struct bawn_error *err)
{
	const struct bawn_far_job *job = b->job;
	uint64_t size = hide ? 4096 : job->plan->limits.disk;
	const char *limit = bawn_arena_printf(job->arena, "size=%" PRIu64, size);
	const char *uid = bawn_arena_printf(job->arena, "uid=%u", b->rootless ? 0 : geteuid());
	const char *gid = bawn_arena_printf(job->arena, "gid=%u", b->rootless ? 0 : getegid());
	int r = make_point(b, m, true, err);
	json_t *options;

	if (r < 0)
		return r;
	if (!limit || !uid || !gid)
		return no_memory(err);
	options = json_pack(
		"[s, s, s, s, s, s]", "nosuid", "nodev", hide ? "ro" : "rw", mode, uid, gid);
	if (options && size < BAWN_UNLIMITED / 2)
		(void)json_array_append_new(options, json_string(limit));
	if (options && m->no_exec)
		(void)json_array_append_new(options, json_string("noexec"));
	return add(b, "tmpfs", "tmpfs", m->dst, options, err);
}

/* A file of our own with `text` in it, bound to its place. */
static int add_file(struct bundle *b, const struct bawn_mount *m, const char *text, mode_t mode,
	struct bawn_error *err)
{
	const char *path = bawn_arena_printf(b->job->arena, "%s/file-%u", b->job->dir, b->files++);
	_cleanup_close_ int fd = -1;

	if (!path)
		return no_memory(err);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || bawn_write_all(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot write '%s': %m", path);
	return add_bind(b, m, path, true, err);
}

static int add_hidden(struct bundle *b, const struct bawn_mount *m, struct bawn_error *err)
{
	struct stat st;

	if (lstat(m->dst, &st) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot look at '%s': %m", m->dst);
	return S_ISDIR(st.st_mode) ? add_tmpfs(b, m, "mode=0000", true, err)
				   : add_file(b, m, "", 0, err);
}

static int add_symlink(struct bundle *b, const struct bawn_mount *m, struct bawn_error *err)
{
	int r = is_covered(b, m) ? 1 : make_parents(b, m->dst);

	if (r == 0 && symlinkat(m->src, b->root, m->dst + 1) < 0 && errno != EEXIST)
		r = -errno;
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot make the link '%s'", m->dst);
	return 0;
}

/* gVisor's kernel has its own /proc, /sys and /dev. */
static bool is_its_own(const struct bawn_mount *m)
{
	return m->kind != BAWN_MNT_SCRATCH &&
	       (bawn_path_under(m->dst, "/proc") || bawn_path_under(m->dst, "/sys") ||
		       bawn_path_under(m->dst, "/dev"));
}

static int add_mount(struct bundle *b, const struct bawn_mount *m, struct bawn_error *err)
{
	bool sticky = !strcmp(m->dst, "/tmp") || !strcmp(m->dst, "/dev/shm");

	if (is_its_own(m) || (m->pin && !m->no_exec))
		return 0;
	switch (m->kind) {
	case BAWN_MNT_RO:
		return add_bind(b, m, m->src, true, err);
	case BAWN_MNT_RW:
		return add_bind(b, m, m->src, false, err);
	case BAWN_MNT_SCRATCH:
		return add_tmpfs(b, m, sticky ? "mode=1777" : "mode=0700", false, err);
	case BAWN_MNT_SYMLINK:
		return add_symlink(b, m, err);
	case BAWN_MNT_HIDE:
		return add_hidden(b, m, err);
	case BAWN_MNT_FILE:
		return add_file(b, m, m->src, 0444, err);
	case BAWN_MNT_SOCKET:
	case BAWN_MNT_DEVICE:
		break;
	}
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"'%s' of the host cannot be had in gVisor (%s)", m->dst, m->rule);
}

/* ---- the configuration ---- */

static json_t *configure(const struct bundle *b)
{
	const struct bawn_plan *plan = b->job->plan;
	static const char *const power[] = {"bounding", "effective", "permitted"};
	json_t *caps = json_object();

	for (size_t i = 0; caps && i < sizeof(power) / sizeof(power[0]); i++)
		(void)json_object_set_new(
			caps, power[i], json_pack("[s, s]", "CAP_SYS_ADMIN", "CAP_SETPCAP"));
	return json_pack("{s:s, s:s, s:{s:s, s:b}, s:[],"
			 " s:{s:{s:i, s:i}, s:[s, s, s, s], s:[], s:s, s:b, s:o},"
			 " s:{s:[{s:s}, {s:s}, {s:s}, {s:s}, {s:s}]}}",
		"ociVersion", "1.0.2", "hostname", plan->hostname, "root", "path", "rootfs",
		"readonly", 1, "mounts", "process", "user", "uid", b->rootless ? 0 : (int)geteuid(),
		"gid", b->rootless ? 0 : (int)getegid(), "args", AGENT, "far", "gvisor", "pids",
		"env", "cwd", "/", "noNewPrivileges", 1, "capabilities", caps, "linux",
		"namespaces", "type", "pid", "type", "network", "type", "ipc", "type", "uts",
		"type", "mount");
}

static int write_bundle(struct bundle *b, struct bawn_error *err)
{
	_cleanup_(cleanup_json) json_t *config = configure(b);
	const struct bawn_plan *plan = b->job->plan;
	const struct bawn_mount agent = {.kind = BAWN_MNT_RO, .dst = AGENT};
	const char *path = bawn_arena_printf(b->job->arena, "%s/config.json", b->job->dir);
	int r = 0;

	if (!config || !path)
		return no_memory(err);
	b->mounts = json_object_get(config, "mounts");
	for (size_t i = 0; r >= 0 && i < plan->n_mounts; i++)
		r = add_mount(b, &plan->mounts[i], err);
	if (r >= 0)
		r = add_bind(b, &agent, b->job->inside, true, err);
	if (r >= 0 && json_dump_file(config, path, JSON_COMPACT) < 0)
		r = bawn_fail(err, BAWN_ERR_BACKEND, -EIO,
			"cannot write '%s'; is there room where it is?", path);
	return r;
}

static int common_args(
	const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	const char *state = bawn_arena_printf(job->arena, "--root=%s/state", job->dir);
	int r = !state || bawn_strlist_add(job->arena, argv, state) < 0 ? -ENOMEM : 0;

	if (r == 0 && geteuid() != 0)
		r = bawn_strlist_add(job->arena, argv, "--rootless");
	return r < 0 ? no_memory(err) : 0;
}

static int gvisor_build(
	const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	static const char *const options[] = {"--network=none", "--overlay2=all:memory",
		"--file-access-mounts=exclusive", "--ignore-cgroups", "run", "--bundle"};
	struct bundle b = {.job = job, .rootless = geteuid() != 0};
	const char *rootfs = bawn_arena_printf(job->arena, "%s/rootfs", job->dir);
	int r;

	if (job->plan->backend.image)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"an image ('%s') needs an engine: enforcement.gvisor.engine must be docker or "
			"auto",
			job->plan->backend.image);
	if (!rootfs)
		return no_memory(err);
	if (mkdir(rootfs, 0755) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make '%s': %m", rootfs);
	_cleanup_close_ int root = open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	b.root = root;
	r = root < 0 ? bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot open '%s': %m", rootfs)
		     : write_bundle(&b, err);
	if (r >= 0)
		r = common_args(job, argv, err);
	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < sizeof(options) / sizeof(options[0]); i++)
		r = bawn_strlist_add(job->arena, argv, options[i]);
	if (r < 0 || bawn_strlist_add(job->arena, argv, job->dir) < 0 ||
		bawn_strlist_add(job->arena, argv, job->id) < 0)
		return no_memory(err);
	return 0;
}

static int gvisor_clean(
	const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	int r = bawn_strlist_add(job->arena, argv, job->program);

	if (r >= 0)
		r = common_args(job, argv, err);
	if (r < 0 || bawn_strlist_add(job->arena, argv, "delete") < 0 ||
		bawn_strlist_add(job->arena, argv, "--force") < 0 ||
		bawn_strlist_add(job->arena, argv, job->id) < 0)
		return no_memory(err);
	return 0;
}

/*
 * Files, network and processes are held by gVisor's kernel and its mounts, and what comes back by
 * the host. What init says of its own doing counts as it says. That nothing is executed from a
 * listed directory cannot be had: gVisor maps a file as code from where execve is refused, so that
 * the loader (`ld.so FILE`) runs it.
 */
static uint32_t gvisor_claims(const struct bawn_plan *plan, uint32_t inside)
{
	uint32_t exec = plan->n_no_exec ? 0 : BAWN_CTL_FS_EXEC;

	return (inside & ~(uint32_t)BAWN_CTL_FS_EXEC) | exec | BAWN_CTL_FS_READ |
	       BAWN_CTL_FS_WRITE | BAWN_CTL_FS_DENY | BAWN_CTL_FS_PROTECT | BAWN_CTL_NET_NONE |
	       BAWN_CTL_IPC | BAWN_CTL_PROC;
}

static const struct bawn_far_tool direct = {.program = "runsc",
	.remedy = "apt-get install runsc",
	.walls = "gVisor (runsc)",
	.copy_on_write = true,
	.stream_is_stdio = true,
	.as_user = true,
	.build = gvisor_build,
	.clean = gvisor_clean,
	.claims = gvisor_claims};

/* ---- through docker ---- */

/*
 * The plan as docker carries it out: it cannot be told to make copies on write, so that the
 * writable trees are empty directories in the sandbox's memory, which files are sent into. What is
 * bound or hidden below them is for the transfer to see to.
 */
static const struct bawn_plan *docker_plan(const struct bawn_plan *plan, struct bawn_arena *a)
{
	struct bawn_plan *p = bawn_new(a, struct bawn_plan, 1);
	struct bawn_mount *m = bawn_new(a, struct bawn_mount, plan->n_mounts + 1);

	if (!p || !m)
		return NULL;
	*p = *plan;
	p->mounts = m;
	p->n_mounts = 0;
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *from = &plan->mounts[i];
		bool root = from->kind == BAWN_MNT_RW && !from->pin, below = false;

		for (size_t k = 0; k < i; k++)
			below |= plan->mounts[k].kind == BAWN_MNT_RW && !plan->mounts[k].pin &&
				 bawn_path_under(from->dst, plan->mounts[k].dst);
		if ((below && !root) || from->pin || is_its_own(from))
			continue;
		m[p->n_mounts] = *from;
		if (root)
			m[p->n_mounts].kind = BAWN_MNT_SCRATCH;
		p->n_mounts++;
	}
	return p;
}

static int docker_check(const struct bawn_plan *plan, struct bawn_error *err)
{
	const struct bawn_mount *m;
	struct stat st;

	for (size_t i = 0; (m = bawn_root_at(plan, i)); i++)
		if (stat(m->src, &st) == 0 && !S_ISDIR(st.st_mode))
			return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
				"a single writable file ('%s') cannot be had in gVisor through docker; "
				"enforcement.gvisor.engine 'direct' can",
				m->src);
	return 0;
}

static const char *docker_runtime(const struct bawn_plan *plan)
{
	const char *asked = plan->backend.engine_runtime;

	return asked && *asked ? asked : "runsc";
}

static int docker_build(
	const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	const struct bawn_near_job near = {.plan = docker_plan(job->plan, job->arena),
		.program = job->program,
		.inside = job->inside,
		.dir = job->dir,
		.id = job->id};
	struct bawn_near_args args = {.a = job->arena};
	struct bawn_engine_host host;
	int r = docker_check(job->plan, err);

	if (r < 0)
		return r;
	if (!near.plan)
		return no_memory(err);
	bawn_engine_look(BAWN_ENGINE_DOCKER, &host);
	host.runtime =
		*job->plan->backend.engine_runtime ? job->plan->backend.engine_runtime : "runsc";
	r = bawn_engine_far_args(&host, &near, &args, err);
	if (r < 0)
		return r;
	bawn_near_add(&args, "far", "gvisor", "pids", NULL);
	for (size_t i = 0; !args.failed && i < args.argv.n; i++)
		args.failed = bawn_strlist_add(job->arena, argv, args.argv.v[i]);
	return args.failed ? no_memory(err) : 0;
}

static int docker_clean(
	const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	struct bawn_near_args args = {.a = job->arena};

	bawn_near_add(&args, job->program, NULL);
	bawn_engine_remove_args(BAWN_ENGINE_DOCKER, job->id, &args);
	*argv = args.argv;
	return args.failed ? no_memory(err) : 0;
}

static int docker_explain(const struct bawn_plan *plan, const char *said, struct bawn_error *err)
{
	if (strstr(said, "in root network namespace"))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"this runsc does not understand the network of this kernel; in "
			"/etc/docker/daemon.json give its runtime the argument --network=none: "
			"\"runtimes\": {\"runsc\": {\"path\": \"runsc\", \"runtimeArgs\": "
			"[\"--network=none\"]}}");
	if (strstr(said, "unknown or invalid runtime") || strstr(said, "Unknown runtime"))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"docker has no runtime '%s'; 'runsc install' and restart docker, or start "
			"dockerd with --add-runtime runsc=/usr/bin/runsc",
			docker_runtime(plan));
	return bawn_engine_explain("docker", plan, said, err);
}

static const struct bawn_far_tool through_docker = {.program = "docker",
	.remedy = "apt-get install docker.io",
	.walls = "gVisor (docker --runtime=runsc)",
	.stream_is_stdio = true,
	.setup_ms = 60000,
	.build = docker_build,
	.clean = docker_clean,
	.claims = gvisor_claims,
	.explain = docker_explain};

/* ---- the backend ---- */

/* The generic instance comes first; what follows is for a second try, with an image made for it. */
struct gvisor {
	struct bawn_far far;
	const struct bawn_plan *plan;
	const struct bawn_far_tool *tool;
	int stdio[3];
};

static struct gvisor *of(struct bawn_instance *in)
{
	return (struct gvisor *)(void *)in;
}

static const struct bawn_far_tool *choose(const struct bawn_plan *plan)
{
	const char *engine = plan->backend.gvisor_engine ? plan->backend.gvisor_engine : "auto";
	char path[4096];

	if (!strcmp(engine, "direct"))
		return &direct;
	if (!strcmp(engine, "docker") || plan->backend.image)
		return &through_docker;
	return bawn_far_find(direct.program, "", path, sizeof(path), NULL) == 0 ||
			       bawn_far_find(through_docker.program, "", path, sizeof(path), NULL) <
				       0
		       ? &direct
		       : &through_docker;
}

static int gvisor_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	return bawn_far_probe(&bawn_backend_gvisor, &direct, ret, err);
}

static void drop_stdio(struct gvisor *g)
{
	for (int i = 0; i < 3; i++) {
		if (g->stdio[i] >= 0)
			(void)close(g->stdio[i]);
		g->stdio[i] = -1;
	}
}

static int gvisor_prepare(struct bawn_instance *in, const struct bawn_plan *plan,
	const int stdio[3], struct bawn_error *err)
{
	struct gvisor *g = of(in);

	g->plan = plan;
	g->tool = choose(plan);
	for (int i = 0; i < 3; i++) {
		g->stdio[i] = -1;
		if (g->tool == &through_docker && stdio[i] >= 0)
			g->stdio[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 3);
	}
	return bawn_far_prepare(in, g->tool, plan, stdio, err);
}

static int try_again(struct bawn_instance *in, struct bawn_error *err)
{
	const struct bawn_backend *be = in->be;
	struct gvisor *g = of(in);
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	const struct bawn_plan *plan = a ? docker_plan(g->plan, a) : NULL;
	int r = plan ? bawn_engine_make_base(through_docker.program, plan, err) : no_memory(err);

	if (r < 0)
		return r;
	bawn_far_destroy(in);
	g->far = (struct bawn_far){.in = {.be = be}};
	r = bawn_far_prepare(in, g->tool, g->plan, g->stdio, err);
	return r < 0 ? r : bawn_far_await(in, err);
}

static int gvisor_await(struct bawn_instance *in, struct bawn_error *err)
{
	int r = bawn_far_await(in, err);

	if (r == BAWN_ENGINE_NO_IMAGE && of(in)->tool == &through_docker)
		r = try_again(in, err);
	drop_stdio(of(in));
	return r;
}

static void gvisor_destroy(struct bawn_instance *in)
{
	if (!of(in)->plan) /* prepare was never called */
		return;
	drop_stdio(of(in));
	bawn_far_destroy(in);
}

const struct bawn_backend bawn_backend_gvisor = {
	.abi = BAWN_BACKEND_ABI,
	.name = "gvisor",
	.aliases = "runsc",
	.summary = "gVisor's kernel in a process (runsc), changes to files applied by the host",
	.level = BAWN_LEVEL_CONTAINER,
	.strength = 120,
	.tier = BAWN_TIER_FAR,
	.image = BAWN_IMAGE_CONTAINER,
	.program = "runsc",
	.instance_size = sizeof(struct gvisor),
	.probe = gvisor_probe,
	.prepare = gvisor_prepare,
	.await = gvisor_await,
	.start = bawn_far_start,
	.event = bawn_far_event,
	.signal = bawn_far_signal,
	.usage = bawn_far_usage,
	.destroy = gvisor_destroy,
};
