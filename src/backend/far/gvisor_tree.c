/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The read-only part of what gVisor shows, put together by the host: see gvisor.h. It lives in a
 * mount namespace of the tool's process and goes with it, whoever is killed; there is nothing to
 * clean up.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/far/gvisor.h"
#include "backend/native/mountfs.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/sys.h"

#define ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* ---- what is in it ---- */

/* No-exec is for gVisor to keep: on a mount of the host's it would read the file, and run that. */
static bool is_fit(const struct bawn_mount *m)
{
	return !m->no_exec && !m->pin && !bawn_gvisor_owns(m) &&
	       (m->kind == BAWN_MNT_RO || m->kind == BAWN_MNT_HIDE || m->kind == BAWN_MNT_FILE);
}

const bool *bawn_gvisor_tree(const struct bawn_plan *plan, struct bawn_arena *a)
{
	bool *in = bawn_new(a, bool, plan->n_mounts + 1);
	size_t *others = bawn_new(a, size_t, plan->n_mounts + 1);
	size_t n = 0;

	if (!in || !others)
		return NULL;
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];

		in[i] = is_fit(m);
		for (size_t k = 0; in[i] && k < n; k++)
			in[i] = !bawn_path_under(m->dst, plan->mounts[others[k]].dst);
		if (!in[i] && m->kind != BAWN_MNT_SYMLINK)
			others[n++] = i;
	}
	return in;
}

const char *bawn_gvisor_file(const struct bawn_far_job *job, const struct bawn_mount *m)
{
	return bawn_arena_printf(
		job->arena, "%s/file-%zu", job->dir, (size_t)(m - job->plan->mounts));
}

const char *bawn_gvisor_nothing(const struct bawn_far_job *job, bool dir)
{
	return bawn_arena_printf(job->arena, "%s/%s", job->dir, dir ? "none-dir" : "none");
}

/* ---- putting it together ---- */

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

/* `src` at `at`, a descriptor of the place. */
static int attach(const char *src, int at, const char *dst, struct bawn_error *err)
{
	_cleanup_close_ int tree = src ? bawn_mount_clone(AT_FDCWD, src, ATTRS) : -ENOMEM;

	if (tree < 0) {
		errno = -tree;
		return bawn_fail(err, BAWN_ERR_BACKEND, tree, "cannot bind '%s': %m", src);
	}
	if (move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot attach '%s': %m", dst);
	return 0;
}

static int add(const struct bawn_far_job *job, int root, const struct bawn_mount *m,
	struct bawn_error *err)
{
	_cleanup_close_ int at = bawn_openat2(root, m->dst + 1, O_PATH | O_CLOEXEC | O_NOFOLLOW,
		RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	bool gone = at < 0 && (errno == ENOENT || errno == ENOTDIR);
	struct stat st = {0};

	if (gone && (m->optional || m->kind == BAWN_MNT_HIDE)) /* nothing to show, or to hide */
		return 0;
	if (at < 0 || fstat(at, &st) < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot open the place of '%s': %m", m->dst);
	if (m->kind == BAWN_MNT_HIDE && S_ISLNK(st.st_mode)) /* its target is what counts */
		return 0;
	switch ((int)m->kind) {
	case BAWN_MNT_HIDE:
		return attach(bawn_gvisor_nothing(job, S_ISDIR(st.st_mode)), at, m->dst, err);
	case BAWN_MNT_FILE:
		return attach(bawn_gvisor_file(job, m), at, m->dst, err);
	default:
		return attach(m->src, at, m->dst, err);
	}
}

static int build(const struct bawn_far_job *job, struct bawn_error *err)
{
	const struct bawn_mount agent = {.src = job->inside, .dst = BAWN_GVISOR_AGENT};
	const char *path = bawn_arena_printf(job->arena, "%s/rootfs", job->dir);
	const bool *in = bawn_gvisor_tree(job->plan, job->arena);
	_cleanup_close_ int root = -1;
	int r = 0;

	if (!path || !in)
		return no_memory(err);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot open '%s': %m", path);
	for (size_t i = 0; r >= 0 && i < job->plan->n_mounts; i++)
		if (in[i])
			r = add(job, root, &job->plan->mounts[i], err);
	return r < 0 ? r : add(job, root, &agent, err);
}

/* ---- namespaces ---- */

/* Whoever is not root becomes that of a user namespace, as `runsc --rootless` would. */
static int leave_host(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[32];
	int r = 0;

	if (uid != 0)
		(void)prctl(PR_SET_DUMPABLE, 1); /* so that the maps are ours to write */
	if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0)
		return -errno;
	if (uid != 0) {
		r = bawn_write_small(AT_FDCWD, "/proc/self/setgroups", "deny");
		(void)snprintf(map, sizeof(map), "0 %u 1", uid);
		if (r >= 0)
			r = bawn_write_small(AT_FDCWD, "/proc/self/uid_map", map);
		(void)snprintf(map, sizeof(map), "0 %u 1", gid);
		if (r >= 0)
			r = bawn_write_small(AT_FDCWD, "/proc/self/gid_map", map);
	}
	if (r >= 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		r = -errno;
	/* new rights undo it */
	if (r >= 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		r = -errno;
	return r;
}

/* A host may let `runsc` have such namespaces and nobody else: tried by a child. */
static bool can_leave(void)
{
	int status = 1;
	pid_t pid = geteuid() ? fork() : 0;

	if (geteuid() == 0)
		return true;
	if (pid == 0)
		_exit(leave_host() < 0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

static int without(const struct bawn_far_job *job, struct bawn_error *err)
{
	const char *plain = bawn_arena_printf(job->arena, "%s/" BAWN_GVISOR_PLAIN, job->dir);
	const char *config = bawn_arena_printf(job->arena, "%s/config.json", job->dir);

	if (!plain || !config)
		return no_memory(err);
	if (rename(plain, config) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot rename '%s': %m", plain);
	return 0;
}

int bawn_gvisor_enter(const struct bawn_far_job *job, struct bawn_error *err)
{
	int r;

	if (!can_leave())
		return without(job, err);
	r = leave_host();
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot make a mount namespace: %m");
	}
	return build(job, err);
}
