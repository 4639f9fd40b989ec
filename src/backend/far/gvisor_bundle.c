/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle that `runsc` runs: what of the plan's mounts is not in the tree (gvisor.h) becomes a
 * mount of gVisor's, and bawn-inside its first process.
 *
 * That has one capability, CAP_SYS_ADMIN as gVisor's kernel understands it, to give the command a
 * pid namespace; the command has none.
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

#include "backend/far/gvisor.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"

static void cleanup_json(json_t **j)
{
	json_decref(*j);
}

struct bundle {
	const struct bawn_far_job *job;
	const bool *in_tree; /* for each mount: not gVisor's business */
	json_t *mounts;      /* borrowed from the configuration */
	int root;            /* the private directory's rootfs */
	bool rootless, with_tree;
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

static int add_hidden(struct bundle *b, const struct bawn_mount *m, struct bawn_error *err)
{
	struct stat st;

	if (lstat(m->dst, &st) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot look at '%s': %m", m->dst);
	return S_ISDIR(st.st_mode) ? add_tmpfs(b, m, "mode=0000", true, err)
				   : add_bind(b, m, bawn_gvisor_nothing(b->job, false), true, err);
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

bool bawn_gvisor_owns(const struct bawn_mount *m)
{
	return m->kind != BAWN_MNT_SCRATCH &&
	       (bawn_path_under(m->dst, "/proc") || bawn_path_under(m->dst, "/sys") ||
		       bawn_path_under(m->dst, "/dev"));
}

/* What is in the tree only needs its place; what is hidden has one. */
static int add_to_tree(struct bundle *b, const struct bawn_mount *m, struct bawn_error *err)
{
	struct stat st = {.st_mode = S_IFREG};

	if (m->kind == BAWN_MNT_HIDE)
		return 0;
	if (m->kind == BAWN_MNT_RO && stat(m->src, &st) < 0)
		return m->optional && errno == ENOENT ? 0
						      : bawn_fail(err, BAWN_ERR_BACKEND, -errno,
								"cannot look at '%s': %m", m->src);
	return make_point(b, m, S_ISDIR(st.st_mode), err);
}

static int add_mount(struct bundle *b, const struct bawn_mount *m, struct bawn_error *err)
{
	bool sticky = !strcmp(m->dst, "/tmp") || !strcmp(m->dst, "/dev/shm");

	if (bawn_gvisor_owns(m) || (m->pin && !m->no_exec))
		return 0;
	if (b->in_tree[m - b->job->plan->mounts])
		return add_to_tree(b, m, err);
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
		return add_bind(b, m, bawn_gvisor_file(b->job, m), true, err);
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
	/* none can be had again by executing something */
	json_t *caps = json_pack("{s:[], s:[s], s:[s]}", "bounding", "effective", "CAP_SYS_ADMIN",
		"permitted", "CAP_SYS_ADMIN");

	return json_pack("{s:s, s:s, s:{s:s, s:b}, s:[],"
			 " s:{s:{s:i, s:i}, s:[s, s, s, s], s:[], s:s, s:b, s:o},"
			 " s:{s:[{s:s}, {s:s}, {s:s}, {s:s}, {s:s}]}}",
		"ociVersion", "1.0.2", "hostname", plan->hostname, "root", "path", "rootfs",
		"readonly", 1, "mounts", "process", "user", "uid", b->rootless ? 0 : (int)geteuid(),
		"gid", b->rootless ? 0 : (int)getegid(), "args", BAWN_GVISOR_AGENT, "far", "gvisor",
		"pids", "env", "cwd", "/", "noNewPrivileges", 1, "capabilities", caps, "linux",
		"namespaces", "type", "pid", "type", "network", "type", "ipc", "type", "uts",
		"type", "mount");
}

static int write_config(struct bundle *b, const char *name, struct bawn_error *err)
{
	_cleanup_(cleanup_json) json_t *config = configure(b);
	const struct bawn_plan *plan = b->job->plan;
	const struct bawn_mount agent = {.kind = BAWN_MNT_RO, .dst = BAWN_GVISOR_AGENT};
	const char *path = bawn_arena_printf(b->job->arena, "%s/%s", b->job->dir, name);
	int r = 0;

	if (!config || !path)
		return no_memory(err);
	b->mounts = json_object_get(config, "mounts");
	for (size_t i = 0; r >= 0 && i < plan->n_mounts; i++)
		r = add_mount(b, &plan->mounts[i], err);
	if (r >= 0 && b->with_tree)
		r = make_point(b, &agent, false, err);
	else if (r >= 0)
		r = add_bind(b, &agent, b->job->inside, true, err);
	if (r >= 0 && json_dump_file(config, path, JSON_COMPACT) < 0)
		r = bawn_fail(err, BAWN_ERR_BACKEND, -EIO,
			"cannot write '%s'; is there room where it is?", path);
	return r;
}

static int make_file(const char *path, const char *text, mode_t mode, struct bawn_error *err)
{
	_cleanup_close_ int fd =
		path ? open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;

	if (!path)
		return no_memory(err);
	if (fd < 0 || bawn_write_all(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot write '%s': %m", path);
	return 0;
}

/* What mounts show that is nowhere on the host. */
static int make_sources(const struct bawn_far_job *job, struct bawn_error *err)
{
	const char *none = bawn_gvisor_nothing(job, true);
	int r = make_file(bawn_gvisor_nothing(job, false), "", 0, err);

	if (r >= 0 && (!none || mkdir(none, 0) < 0))
		r = bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make '%s': %m", none);
	for (size_t i = 0; r >= 0 && i < job->plan->n_mounts; i++) {
		const struct bawn_mount *m = &job->plan->mounts[i];

		if (m->kind == BAWN_MNT_FILE)
			r = make_file(bawn_gvisor_file(job, m), m->src, 0444, err);
	}
	return r;
}

int bawn_gvisor_bundle(const struct bawn_far_job *job, struct bawn_error *err)
{
	struct bundle b = {.job = job, .rootless = geteuid() != 0, .with_tree = true};
	const char *rootfs = bawn_arena_printf(job->arena, "%s/rootfs", job->dir);
	_cleanup_close_ int root = -1;
	int r;

	b.in_tree = bawn_gvisor_tree(job->plan, job->arena);
	if (!rootfs || !b.in_tree)
		return no_memory(err);
	if (mkdir(rootfs, 0755) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make '%s': %m", rootfs);
	root = open(rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot open '%s': %m", rootfs);
	b.root = root;
	r = make_sources(job, err);
	if (r >= 0)
		r = write_config(&b, "config.json", err);
	if (r < 0 || !b.rootless)
		return r;
	b.with_tree = false;
	b.in_tree = bawn_new(job->arena, bool, job->plan->n_mounts + 1);
	return b.in_tree ? write_config(&b, BAWN_GVISOR_PLAIN, err) : no_memory(err);
}
