/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a plan to a command line of an engine. Always: no network, no capability, nothing to be
 * gained by exec, no host namespace, our own entry point, directory and user whatever the image
 * says. What the engine cannot express is refused here, before anything exists; what it only does
 * by halves (sizes, read-only below a bind) the stage does again inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include <sys/stat.h>

#include "backend/native/mountfs.h"
#include "backend/near/engine.h"
#include "base/io.h"
#include "base/path.h"

#define SPARE_MEMORY ((uint64_t)64 << 20) /* the stage's own, above what the command may have */
#define SPARE_PIDS   16u
#define MEMORY_MAX   ((uint64_t)1 << 50) /* more is no limit, and some engines overflow */

struct line {
	enum bawn_engine_kind kind;
	const struct bawn_engine_host *host;
	const struct bawn_near_job *job;
	struct bawn_near_args *args;
	unsigned files; /* made in the private directory so far */
	bool far;       /* behind another kernel, whose own capabilities these are */
};

/* Whoever can speak to one of these owns the host. */
static const char *const sockets[] = {"/run/docker.sock", "/var/run/docker.sock",
	"/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock",
	"/run/buildkit/buildkitd.sock", "/run/k3s/containerd/containerd.sock", NULL};

static int refuse(const char *what, struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP, "%s", what);
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return a && stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static bool is_hidden(const struct bawn_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == BAWN_MNT_HIDE &&
			bawn_path_under(path, plan->mounts[i].dst))
			return true;
	return false;
}

/* The engine's socket: by its place, by any other name that it has, or below what is bound. */
static bool shows_socket(
	const struct bawn_plan *plan, const struct bawn_mount *m, const char *socket)
{
	struct stat st;

	if (m->kind == BAWN_MNT_SOCKET && m->src)
		return !strcmp(m->src, socket) || same_file(m->src, socket);
	if ((m->kind != BAWN_MNT_RO && m->kind != BAWN_MNT_RW) || !m->src)
		return false;
	if (same_file(m->src, socket))
		return true;
	return bawn_path_under(socket, m->src) && lstat(socket, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       !is_hidden(plan, socket);
}

static int check_sockets(const struct bawn_plan *plan, struct bawn_error *err)
{
	const char *host = getenv("DOCKER_HOST"); /* NOLINT(concurrency-mt-unsafe): no threads */
	const char *own = host && !strncmp(host, "unix://", 7) ? host + 7 : NULL;

	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];
		const char *seen = own && shows_socket(plan, m, own) ? own : NULL;

		for (size_t k = 0; !seen && sockets[k]; k++)
			if (shows_socket(plan, m, sockets[k]))
				seen = sockets[k];
		if (seen)
			return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
				"'%s' (%s) would show the engine's socket '%s' inside, which is as good as root "
				"on this host; deny it or leave it out",
				m->src, m->rule ? m->rule : "plan", seen);
	}
	return 0;
}

int bawn_engine_check(const struct bawn_plan *plan, struct bawn_error *err)
{
	/* a directory that is reached through a descriptor may be one of the host's */
	if (bawn_path_under(plan->cwd, "/proc") || bawn_path_under(plan->cwd, "/dev/fd") ||
		plan->cwd[0] != '/')
		return bawn_fail(err, BAWN_ERR_CALL, -EINVAL,
			"a command cannot start in '%s': what is there may lead out of the container",
			plan->cwd);
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];

		if (!strcmp(m->dst, "/"))
			return refuse(
				"the host's whole file system (filesystem.mode full) cannot be put into a "
				"container",
				err);
		if (strpbrk(m->dst, "\r\n") ||
			(m->src && m->kind != BAWN_MNT_FILE && strpbrk(m->src, "\r\n")))
			return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
				"a path with a line break (%s) cannot be given to an engine",
				m->rule ? m->rule : "plan");
	}
	if (plan->backend.image && plan->backend.image[0] == '-')
		return bawn_fail(err, BAWN_ERR_PLAN, -EINVAL, "'%s' is no name of an image",
			plan->backend.image);
	return check_sockets(plan, err);
}

/* One field of a --mount option: comma-separated values as RFC 4180 has them. */
static void put_field(struct bawn_buf *b, const char *name, const char *value)
{
	bool quote = strpbrk(value, ",\"") != NULL;

	bawn_buf_puts(b, quote ? ",\"" : ",");
	bawn_buf_printf(b, "%s=", name);
	for (const char *p = value; *p; p++) {
		if (*p == '"')
			bawn_buf_puts(b, "\"");
		bawn_buf_add(b, p, 1);
	}
	if (quote)
		bawn_buf_puts(b, "\"");
}

static int add_bind(
	const struct line *l, const char *src, const char *dst, bool ro, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const char *text;

	/* only docker reads the option as it is documented for all three */
	if (l->kind != BAWN_ENGINE_DOCKER && (strpbrk(src, ",\"") || strpbrk(dst, ",\"")))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"'%s' has a comma or a quote in it, which this engine cannot bind", src);
	bawn_buf_puts(&b, "type=bind");
	put_field(&b, "source", src);
	put_field(&b, "target", dst);
	if (ro)
		bawn_buf_puts(&b, ",readonly");
	text = b.failed ? NULL : bawn_arena_strdup(l->args->a, b.data);
	if (!text)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	bawn_near_add(l->args, "--mount", text, NULL);
	return 0;
}

/* A file of the private directory with `text` in it, or an empty directory (`text` NULL). */
static const char *make_own(const struct line *l, const char *name, const char *text, mode_t mode,
	struct bawn_error *err)
{
	const char *path = bawn_arena_printf(l->args->a, "%s/%s", l->job->dir, name);
	_cleanup_close_ int fd = -1;
	int r = 0;

	if (!path) {
		(void)bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
		return NULL;
	}
	if (!text) {
		r = mkdir(path, mode) < 0 && errno != EEXIST ? -errno : 0;
	} else {
		fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
		r = fd < 0 ? -errno : bawn_write_all(fd, text, strlen(text));
		if (r >= 0 && fchmod(fd, mode) < 0)
			r = -errno;
	}
	if (r < 0) {
		errno = -r;
		(void)bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot make '%s': %m", path);
		return NULL;
	}
	return path;
}

static int add_tmpfs(const struct line *l, const struct bawn_mount *m, struct bawn_error *err)
{
	const struct bawn_plan *plan = l->job->plan;
	char size[80] = "", inodes[32];

	if (strchr(m->dst, ':'))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"'%s' has a colon in it, which an engine cannot mount", m->dst);
	bawn_near_add(l->args, "--tmpfs", NULL);
	if (l->kind == BAWN_ENGINE_APPLE) {
		bawn_near_add(l->args, m->dst, NULL);
		return 0;
	}
	bawn_mount_inodes(plan->limits.disk, inodes);
	if (plan->limits.disk != BAWN_UNLIMITED)
		(void)snprintf(size, sizeof(size), ",size=%llu%s%s",
			(unsigned long long)plan->limits.disk,
			l->kind == BAWN_ENGINE_DOCKER ? ",nr_inodes=" : "",
			l->kind == BAWN_ENGINE_DOCKER ? inodes : "");
	if (m->src && l->kind == BAWN_ENGINE_DOCKER)
		bawn_near_addf(l->args, "%s:rw,nosuid,nodev,%s,mode=0700,uid=%u,gid=%u%s", m->dst,
			m->no_exec ? "noexec" : "exec", l->host->uid, l->host->gid, size);
	else /* podman knows no uid there, and would copy what the image has */
		bawn_near_addf(l->args, "%s:rw,nosuid,nodev,%s,mode=1777%s%s", m->dst,
			m->no_exec ? "noexec" : "exec", size,
			l->kind == BAWN_ENGINE_PODMAN ? ",notmpcopyup" : "");
	return 0;
}

/* What is at dst is covered by an empty, unreadable twin. Gone meanwhile: nothing to hide. */
static int add_hide(const struct line *l, const struct bawn_mount *m, struct bawn_error *err)
{
	struct stat st;
	const char *own;

	if (lstat(m->dst, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot hide '%s': %m",
					 m->dst);
	if (S_ISLNK(st.st_mode))
		return 0;
	own = S_ISDIR(st.st_mode) ? make_own(l, "none-dir", NULL, 0, err)
				  : make_own(l, "none", "", 0, err);
	return own ? add_bind(l, own, m->dst, true, err) : -EIO;
}

static int add_file(struct line *l, const struct bawn_mount *m, struct bawn_error *err)
{
	char name[16];
	const char *own;

	(void)snprintf(name, sizeof(name), "file%u", l->files++);
	own = make_own(l, name, m->src, 0444, err);
	return own ? add_bind(l, own, m->dst, true, err) : -EIO;
}

static int add_device(const struct line *l, const struct bawn_mount *m, struct bawn_error *err)
{
	if (l->kind == BAWN_ENGINE_APPLE)
		return refuse("Apple's container engine passes no devices on", err);
	if (strchr(m->src, ':') || strchr(m->dst, ':'))
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"'%s' has a colon in it, which an engine cannot pass on", m->src);
	bawn_near_add(l->args, "--device", NULL);
	bawn_near_addf(l->args, "%s:%s:rw", m->src, m->dst);
	return 0;
}

/* Links are part of our own image. Another image keeps its own; a second name of the private space
 * becomes a place of its own there. */
static int add_symlink(const struct line *l, const struct bawn_mount *m, struct bawn_error *err)
{
	struct bawn_mount own = {.kind = BAWN_MNT_SCRATCH, .dst = m->dst};

	return l->job->plan->backend.image && !strcmp(m->src, "/tmp") ? add_tmpfs(l, &own, err) : 0;
}

static int add_mount(struct line *l, const struct bawn_mount *m, struct bawn_error *err)
{
	struct stat st;

	if (m->optional && stat(m->src, &st) < 0)
		return 0;
	switch (m->kind) {
	case BAWN_MNT_RO:
		return add_bind(l, m->src, m->dst, true, err);
	case BAWN_MNT_RW:
	case BAWN_MNT_SOCKET:
		return add_bind(l, m->src, m->dst, false, err);
	case BAWN_MNT_SCRATCH:
		return add_tmpfs(l, m, err);
	case BAWN_MNT_SYMLINK:
		return add_symlink(l, m, err);
	case BAWN_MNT_HIDE:
		return add_hide(l, m, err);
	case BAWN_MNT_DEVICE:
		return add_device(l, m, err);
	case BAWN_MNT_FILE:
		return add_file(l, m, err);
	}
	return -EINVAL;
}

/* Engines put files of their own over these unless somebody else does: then they are the host's. */
static int add_etc(const struct line *l, struct bawn_error *err)
{
	static const char *const files[] = {"/etc/hostname", "/etc/hosts", "/etc/resolv.conf"};
	const struct bawn_plan *plan = l->job->plan;

	for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		bool covered = false, own = false, ro = true;
		struct stat st;
		int r;

		for (size_t i = 0; i < plan->n_mounts; i++) {
			const struct bawn_mount *m = &plan->mounts[i];

			own |= !strcmp(m->dst, files[f]);
			if ((m->kind != BAWN_MNT_RO && m->kind != BAWN_MNT_RW) ||
				strcmp(m->dst, "/etc") != 0)
				continue;
			covered = true;
			ro = m->kind == BAWN_MNT_RO;
		}
		if (!covered || own || lstat(files[f], &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		r = add_bind(l, files[f], files[f], ro, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* An engine takes one mount for a place: the last, which would lie on top of the others. */
static bool is_topmost(const struct bawn_plan *plan, size_t i)
{
	for (size_t k = i + 1; k < plan->n_mounts; k++)
		if (!strcmp(plan->mounts[k].dst, plan->mounts[i].dst) &&
			!plan->mounts[k].optional && plan->mounts[k].kind != BAWN_MNT_SYMLINK)
			return false;
	return true;
}

static int add_mounts(struct line *l, struct bawn_error *err)
{
	const struct bawn_plan *plan = l->job->plan;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < plan->n_mounts; i++)
		r = is_topmost(plan, i) ? add_mount(l, &plan->mounts[i], err) : 0;
	if (r >= 0 && l->kind != BAWN_ENGINE_APPLE)
		r = add_etc(l, err);
	if (r < 0)
		return r;
	/* the stage's place in the private directory, so that nothing else is made there */
	if (!make_own(l, "inside", "", 0555, err))
		return -EIO;
	r = add_bind(l, l->job->dir, BAWN_ENGINE_DIR, true, err);
	return r < 0 ? r : add_bind(l, l->job->inside, BAWN_ENGINE_INSIDE, true, err);
}

/* A backstop behind the stage's own meter, which names the limit that was hit: a little wider. */
static void add_limits(const struct line *l)
{
	const struct bawn_limits *m = &l->job->plan->limits;
	uint64_t disk = m->disk == BAWN_UNLIMITED ? 0 : m->disk; /* private space is memory */

	if (m->memory < MEMORY_MAX && disk < MEMORY_MAX) {
		uint64_t total = m->memory + disk + SPARE_MEMORY;

		bawn_near_add(l->args, "--memory", NULL);
		if (l->kind == BAWN_ENGINE_APPLE)
			bawn_near_addf(l->args, "%" PRIu64 "M", total >> 20);
		else
			bawn_near_addf(l->args, "%" PRIu64, total);
	}
	if (m->cpus_milli < (uint64_t)l->host->processors * 1000) {
		bawn_near_add(l->args, "--cpus", NULL);
		if (l->kind == BAWN_ENGINE_APPLE) /* whole ones only */
			bawn_near_addf(l->args, "%" PRIu64, (m->cpus_milli + 999) / 1000);
		else
			bawn_near_addf(l->args, "%llu.%03u",
				(unsigned long long)(m->cpus_milli / 1000),
				(unsigned)(m->cpus_milli % 1000));
	}
	if (m->processes < 1u << 22 && l->kind != BAWN_ENGINE_APPLE) {
		bawn_near_add(l->args, "--pids-limit", NULL);
		bawn_near_addf(l->args, "%" PRIu64, m->processes + SPARE_PIDS);
	}
}

static int add_security(const struct line *l, struct bawn_error *err)
{
	static const char *const powers[] = {"SYS_ADMIN", "SETPCAP", "SETUID", "SETGID", "CHOWN",
		"FOWNER", "DAC_OVERRIDE", NULL};
	_cleanup_buf_ struct bawn_buf profile = {0};
	const char *path;

	bawn_near_add(l->args, "--network", "none", "--cap-drop", "ALL", NULL);
	/* the bridge puts files into place, and gives the command a pid namespace and its user */
	for (const char *const *cap = powers; l->far && *cap; cap++)
		bawn_near_add(l->args, "--cap-add", *cap, NULL);
	/* without it root cannot be root in a user namespace of its own, where the stage goes first
	 * and which the capability does not reach out of; the stage drops it before the command */
	if (l->host->uid == 0 && l->kind != BAWN_ENGINE_APPLE && !l->far)
		bawn_near_add(l->args, "--cap-add", "SETFCAP", NULL);
	if (!l->job->plan->backend.image_writable || !l->job->plan->backend.image)
		bawn_near_add(l->args, "--read-only", NULL);
	if (l->kind == BAWN_ENGINE_APPLE) {
		bawn_near_add(l->args, "--no-dns", NULL);
		return 0;
	}
	bawn_engine_seccomp(l->job->plan, &profile);
	path = profile.failed ? NULL : make_own(l, "seccomp.json", profile.data, 0400, err);
	if (!path)
		return profile.failed ? bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory")
				      : -EIO;
	bawn_near_add(l->args, "--security-opt", "no-new-privileges", "--security-opt", NULL);
	bawn_near_addf(l->args, "seccomp=%s", path);
	bawn_near_add(l->args, "--ipc", l->kind == BAWN_ENGINE_DOCKER ? "none" : "private",
		"--hostname", l->job->plan->hostname, NULL);
	return 0;
}

/* What only one of them has or needs. */
static void add_own_options(const struct line *l)
{
	if (l->kind == BAWN_ENGINE_APPLE)
		return;
	bawn_near_add(l->args, "--pull", "never", "--no-healthcheck", "--log-driver", "none", NULL);
	if (l->kind == BAWN_ENGINE_DOCKER)
		return;
	/* podman raises limits to its own defaults, which takes a privilege; these are ours */
	bawn_near_add(l->args, "--ulimit", NULL);
	bawn_near_addf(l->args, "nofile=%llu:%llu", (unsigned long long)l->host->files,
		(unsigned long long)l->host->files);
	bawn_near_add(l->args, "--ulimit", NULL);
	bawn_near_addf(l->args, "nproc=%llu:%llu", (unsigned long long)l->host->procs,
		(unsigned long long)l->host->procs);
	/* no files of its own below /run, /tmp and /var/tmp: those are in the plan */
	bawn_near_add(l->args, "--read-only-tmpfs=false", "--no-hosts", "--passwd=false", NULL);
	if (l->host->keep_id)
		bawn_near_add(l->args, "--userns", "keep-id", NULL);
}

static int add_common(struct line *l, struct bawn_error *err)
{
	const struct bawn_plan *plan = l->job->plan;
	const char *image = plan->backend.image;
	int r;

	bawn_near_add(l->args, "--name", l->job->id, "--label", NULL);
	bawn_near_addf(l->args, "%s=%s", BAWN_ENGINE_LABEL, l->job->id);
	add_own_options(l);
	r = add_security(l, err);
	if (r < 0)
		return r;
	add_limits(l);
	/* whatever user, directory and program the image names */
	bawn_near_add(l->args, "--user", NULL);
	bawn_near_addf(l->args, "%u:%u", l->far ? 0 : l->host->uid, l->far ? 0 : l->host->gid);
	bawn_near_add(l->args, "--workdir", "/", "--entrypoint", BAWN_ENGINE_INSIDE, NULL);
	r = add_mounts(l, err);
	if (r < 0)
		return r;
	if (!image)
		image = bawn_engine_base_name(l->args->a, plan);
	if (!image)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	bawn_near_add(l->args, image, NULL);
	return 0;
}

static void add_runtime(const struct line *l)
{
	const char *asked = l->job->plan->backend.engine_runtime;
	const char *runtime = asked && *asked ? asked : l->host->runtime;

	/* podman's is an option of the program, docker's one of "run" */
	if (l->kind == BAWN_ENGINE_PODMAN && *runtime)
		bawn_near_add(l->args, "--runtime", runtime, "run", NULL);
	else
		bawn_near_add(l->args, "run", NULL);
	if (l->kind == BAWN_ENGINE_DOCKER && *runtime)
		bawn_near_add(l->args, "--runtime", runtime, NULL);
}

static int done(const struct bawn_near_args *args, struct bawn_error *err)
{
	return args->failed ? bawn_fail(err, BAWN_ERR_BACKEND, args->failed, "out of memory") : 0;
}

int bawn_engine_run_args(enum bawn_engine_kind kind, const struct bawn_engine_host *host,
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	struct line l = {.kind = kind, .host = host, .job = job, .args = args};
	int r = bawn_engine_check(job->plan, err);

	if (r < 0)
		return r;
	add_runtime(&l);
	bawn_near_add(args, "--rm", NULL);
	/* another kernel, which a socket of ours does not reach into: it speaks on its streams */
	if (kind == BAWN_ENGINE_APPLE)
		bawn_near_add(args, "--interactive", NULL);
	r = add_common(&l, err);
	if (r < 0)
		return r;
	if (kind == BAWN_ENGINE_APPLE)
		bawn_near_add(args, "far", NULL);
	else
		bawn_near_add(args, "near", "unix:" BAWN_ENGINE_DIR "/socket", NULL);
	return done(args, err);
}

int bawn_engine_far_args(const struct bawn_engine_host *host, const struct bawn_near_job *job,
	struct bawn_near_args *args, struct bawn_error *err)
{
	struct line l = {
		.kind = BAWN_ENGINE_DOCKER, .host = host, .job = job, .args = args, .far = true};
	int r = bawn_engine_check(job->plan, err);

	if (r < 0)
		return r;
	bawn_near_add(args, "run", "--runtime", host->runtime, "--rm", "--interactive", NULL);
	r = add_common(&l, err);
	return r < 0 ? r : done(args, err);
}

int bawn_engine_box_args(enum bawn_engine_kind kind, const struct bawn_engine_host *host,
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	struct line l = {.kind = kind, .host = host, .job = job, .args = args};
	int r = bawn_engine_check(job->plan, err);

	if (r < 0)
		return r;
	add_runtime(&l);
	bawn_near_add(args, "--detach", NULL);
	r = add_common(&l, err);
	if (r < 0)
		return r;
	bawn_near_add(args, "wait", NULL);
	return done(args, err);
}

int bawn_engine_exec_args(enum bawn_engine_kind kind, const struct bawn_engine_host *host,
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	int r = bawn_engine_check(job->plan, err);

	if (r < 0)
		return r;
	if (host->socket && kind == BAWN_ENGINE_DOCKER) {
		args->argv.n = 0; /* our own program instead */
		bawn_near_add(
			args, job->inside, "exec", host->socket, job->plan->backend.box, NULL);
		bawn_near_addf(args, "%u:%u", host->uid, host->gid);
	} else {
		bawn_near_add(args, "exec", "--detach", "--user", NULL);
		bawn_near_addf(args, "%u:%u", host->uid, host->gid);
		bawn_near_add(args, "--workdir", "/", job->plan->backend.box, NULL);
	}
	bawn_near_add(args, BAWN_ENGINE_INSIDE, "near", NULL);
	bawn_near_addf(args, "unix:%s/run/%s/socket", BAWN_ENGINE_DIR, job->id);
	return done(args, err);
}

void bawn_engine_remove_args(
	enum bawn_engine_kind kind, const char *id, struct bawn_near_args *args)
{
	bawn_near_add(args, "rm", "--force", NULL);
	if (kind != BAWN_ENGINE_APPLE) /* volumes that the image asked for */
		bawn_near_add(args, "--volumes", NULL);
	bawn_near_add(args, id, NULL);
}
