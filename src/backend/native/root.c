/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fresh root on a tmpfs of our own, filled only with what the plan names. The new mount API is
 * used throughout: a bind is cloned, made read-only and only then attached, so that it is never
 * visible with too many rights. Mount points are made in our own tmpfs only; a directory of the
 * host is never written.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/native/hole.h"
#include "backend/native/mountfs.h"
#include "backend/native/wall.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/sys.h"

/* Where the private space is attached while parts of it are bound: what belongs there is bound over
 * it, so that it need not be unmounted, which would cost a grace period of the kernel. */
#define STAGE "dev/shm"
/* Where /proc waits, masked already, until the mounts of the plan are made. */
#define PROC_STAGE "dev/.proc"
#define MASK_MAX   64

struct builder {
	const struct bawn_plan *plan;
	int root;       /* the new root */
	dev_t root_dev; /* our own file systems: mount points may be made there */
	dev_t scratch_dev;
	int scratch;
	int proc; /* at PROC_STAGE */
	unsigned n_scratch;
	size_t at;  /* how many mounts of the plan are made */
	bool whole; /* the host's root is bound as a whole; directories are the host's and never
		       made */
};

static const char *const dev_nodes[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

static int attach(int tree, int at, const char *what, struct bawn_error *err)
{
	if (move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot attach '%s': %m", what);
	return 0;
}

/* Attach at a path whose parents are ours: no symlink of the host can be on the way. */
static int attach_at(const struct builder *b, int tree, const char *path, struct bawn_error *err)
{
	if (move_mount(tree, "", b->root, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot attach '/%s': %m", path);
	return 0;
}

/* A directory of the new root that must be there. */
static int need_dir(const struct builder *b, const char *path, struct bawn_error *err)
{
	int r = b->whole ? faccessat(b->root, path, F_OK, 0) : mkdirat(b->root, path, 0755);

	if (r < 0 && errno != EEXIST)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make '/%s': %m", path);
	return 0;
}

/* Open a place in the new root without following symlinks out of it. */
static int place(const struct builder *b, const char *path)
{
	while (*path == '/')
		path++;
	return bawn_openat2(b->root, *path ? path : ".", O_PATH | O_CLOEXEC | O_NOFOLLOW,
		RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

static int is_ours(const struct builder *b, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_dev == b->root_dev || st.st_dev == b->scratch_dev;
}

/* Make one component, in our own file systems only. */
static int make_component(const struct builder *b, const char *path, const char *name, mode_t type)
{
	/* symlinks of the new root lead to its own directories (/var/tmp to /tmp) */
	_cleanup_close_ int dir = bawn_openat2(b->root, *path ? path : "/",
		O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	int r;

	if (dir < 0)
		return -errno;
	r = is_ours(b, dir);
	if (r < 0)
		return r;
	if (!r)
		return -EROFS;
	if (type == S_IFDIR)
		return mkdirat(dir, name, 0755) < 0 && errno != EEXIST ? -errno : 0;
	r = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (r < 0)
		return -errno;
	(void)close(r);
	return 0;
}

/* Make `path` and its parents as far as they are missing. */
static int make_place(const struct builder *b, const char *path, mode_t type)
{
	char dir[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(dir))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= len; i++) {
		int r;

		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(dir, path, i);
		dir[i] = '\0';
		_cleanup_close_ int fd = place(b, dir);
		if (fd >= 0)
			continue;
		if (errno != ENOENT)
			return -errno;
		char *slash = strrchr(dir, '/');
		*slash = '\0';
		r = make_component(b, dir, slash + 1, path[i] ? S_IFDIR : type);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Open the mount point at `path`; made if it is missing and lies in a file system of ours. */
static int mount_point(
	const struct builder *b, const char *path, mode_t type, struct bawn_error *err)
{
	int fd = place(b, path);
	int r;

	if (fd < 0 && errno == ENOENT) {
		r = make_place(b, path, type);
		if (r < 0) {
			errno = -r;
			return bawn_fail(
				err, BAWN_ERR_BACKEND, r, "cannot make a place for '%s': %m", path);
		}
		fd = place(b, path);
	}
	if (fd < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot open the place of '%s': %m", path);
	return fd;
}

/* True if every directory above `path` is of our own making: then it can be reached by name. */
static bool is_above_ours(const struct builder *b, const char *path)
{
	if (b->whole)
		return false;
	for (size_t i = 0; i < b->at; i++)
		if (b->plan->mounts[i].kind != BAWN_MNT_SCRATCH &&
			bawn_path_under(path, b->plan->mounts[i].dst))
			return false;
	return true;
}

/* Make `path` (relative, below our own directories) and what is missing above it. */
static int make_dirs(const struct builder *b, const char *path)
{
	char dir[PATH_MAX];

	if (mkdirat(b->root, path, 0755) == 0 || errno == EEXIST)
		return 0;
	for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
		(void)snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
		if (mkdirat(b->root, dir, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return mkdirat(b->root, path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/* Attach a directory at dst; made if need be. */
static int attach_dir(const struct builder *b, int tree, const char *dst, struct bawn_error *err)
{
	_cleanup_close_ int at = -1;

	if (is_above_ours(b, dst) && make_dirs(b, dst + 1) == 0)
		return attach_at(b, tree, dst + 1, err);
	at = mount_point(b, dst, S_IFDIR, err);
	return at < 0 ? at : attach(tree, at, dst, err);
}

static int bind(
	const struct builder *b, const struct bawn_mount *m, uint64_t attrs, struct bawn_error *err)
{
	_cleanup_close_ int tree = bawn_mount_clone(AT_FDCWD, m->src, attrs);
	_cleanup_close_ int at = -1;
	struct stat st;

	if (tree == -ENOENT && m->optional)
		return 0;
	if (tree < 0) {
		errno = -tree;
		return bawn_fail(err, BAWN_ERR_BACKEND, tree, "cannot bind '%s': %m", m->src);
	}
	if (fstat(tree, &st) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot look at '%s': %m", m->src);
	/* a symlink cannot be a mount: it was one only if somebody swapped it in after the plan was
	 * made */
	if (S_ISLNK(st.st_mode))
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -ELOOP, "'%s' turned into a symlink", m->src);
	if (S_ISDIR(st.st_mode))
		return attach_dir(b, tree, m->dst, err);
	at = mount_point(b, m->dst, S_IFREG, err);
	return at < 0 ? at : attach(tree, at, m->dst, err);
}

static int do_ro(struct builder *b, const struct bawn_mount *m, struct bawn_error *err)
{
	bool hole = HOLE("mounts-ro") || (m->protect && HOLE("protect"));
	uint64_t ro = hole ? 0 : MOUNT_ATTR_RDONLY;

	return bind(b, m,
		ro | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (m->no_exec ? MOUNT_ATTR_NOEXEC : 0),
		err);
}

static int do_rw(struct builder *b, const struct bawn_mount *m, struct bawn_error *err)
{
	return bind(b, m,
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (m->no_exec ? MOUNT_ATTR_NOEXEC : 0), err);
}

static int do_node(struct builder *b, const struct bawn_mount *m, struct bawn_error *err)
{
	return bind(b, m, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
}

static int do_scratch(struct builder *b, const struct bawn_mount *m, struct bawn_error *err)
{
	_cleanup_close_ int tree = -1;
	char name[16];

	(void)snprintf(name, sizeof(name), "%u", b->n_scratch++);
	/* "0700" for a home; a place for temporary files is anybody's, as on the host */
	if (mkdirat(b->scratch, name, 0700) < 0 ||
		(!m->src && fchmodat(b->scratch, name, 01777, 0) < 0))
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make '%s': %m", m->dst);
	tree = bawn_mount_clone(b->scratch, name, m->no_exec ? MOUNT_ATTR_NOEXEC : 0);
	if (tree < 0) {
		errno = -tree;
		return bawn_fail(err, BAWN_ERR_BACKEND, tree, "cannot bind '%s': %m", m->dst);
	}
	return attach_dir(b, tree, m->dst, err);
}

static int do_symlink(struct builder *b, const struct bawn_mount *m, struct bawn_error *err)
{
	const char *rel = m->dst + 1;
	int r = 0;

	if (strchr(rel, '/')) {
		char dir[PATH_MAX];

		(void)snprintf(
			dir, sizeof(dir), "%.*s", (int)(strrchr(m->dst, '/') - m->dst), m->dst);
		r = make_place(b, dir, S_IFDIR);
	}
	if (r < 0 || symlinkat(m->src, b->root, rel) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r < 0 ? r : -errno,
			"cannot make the link '%s'", m->dst);
	return 0;
}

/* Empty, without any permission, on a read-only mount: what hidden paths turn into. */
static int clone_nothing(const struct builder *b, bool dir)
{
	return bawn_mount_clone(
		b->scratch, dir ? "none-dir" : "none", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);
}

/* What is there is covered by an empty, unreadable twin. Gone meanwhile: nothing to hide. */
static int do_hide(struct builder *b, const struct bawn_mount *m, struct bawn_error *err)
{
	_cleanup_close_ int at = place(b, m->dst);
	_cleanup_close_ int tree = -1;
	struct stat st;

	if (HOLE("hide"))
		return 0;
	if (at < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (at < 0 || fstat(at, &st) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot hide '%s': %m", m->dst);
	if (S_ISLNK(st.st_mode)) /* its target is what counts, and that is hidden or absent itself
				  */
		return 0;
	tree = clone_nothing(b, S_ISDIR(st.st_mode));
	if (tree < 0) {
		errno = -tree;
		return bawn_fail(err, BAWN_ERR_BACKEND, tree, "cannot hide '%s': %m", m->dst);
	}
	return attach(tree, at, m->dst, err);
}

/* A file of the host stays as it is: ours, of the private space, is mounted over it. */
static int cover_file(struct builder *b, const struct bawn_mount *m, int at, struct bawn_error *err)
{
	_cleanup_close_ int fd = -1;
	_cleanup_close_ int tree = -1;
	char name[16];

	(void)snprintf(name, sizeof(name), "%u", b->n_scratch++);
	fd = openat(b->scratch, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || bawn_write_all(fd, m->src, strlen(m->src)) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "cannot write '%s'", m->dst);
	tree = bawn_mount_clone(
		b->scratch, name, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (tree < 0) {
		errno = -tree;
		return bawn_fail(err, BAWN_ERR_BACKEND, tree, "cannot bind '%s': %m", m->dst);
	}
	return attach(tree, at, m->dst, err);
}

static int do_file(struct builder *b, const struct bawn_mount *m, struct bawn_error *err)
{
	_cleanup_close_ int at = mount_point(b, m->dst, S_IFREG, err);
	_cleanup_close_ int fd = -1;
	char self[32];
	int r;

	if (at < 0)
		return at;
	r = is_ours(b, at);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot look at '%s'", m->dst);
	if (!r)
		return cover_file(b, m, at, err);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	fd = open(self, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || bawn_write_all(fd, m->src, strlen(m->src)) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "cannot write '%s'", m->dst);
	return 0;
}

static int do_mount(struct builder *b, const struct bawn_mount *m, struct bawn_error *err)
{
	static int (*const how[])(
		struct builder *, const struct bawn_mount *, struct bawn_error *) = {
		[BAWN_MNT_RO] = do_ro,
		[BAWN_MNT_RW] = do_rw,
		[BAWN_MNT_SCRATCH] = do_scratch,
		[BAWN_MNT_SYMLINK] = do_symlink,
		[BAWN_MNT_HIDE] = do_hide,
		[BAWN_MNT_SOCKET] = do_node,
		[BAWN_MNT_DEVICE] = do_node,
		[BAWN_MNT_FILE] = do_file,
	};

	return how[m->kind](b, m, err);
}

/* Covered with a copy of `*first`, or with the first of its kind, which the next are copies of. */
static int mask(const struct builder *b, const char *place, const char *host, bool dir, char *first)
{
	_cleanup_close_ int tree = -1;

	if (*first)
		return mount(first, place, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
	/* the host's /proc is of the same kernel; a clone that found no place would cost a grace
	 * period when it is closed */
	if (faccessat(AT_FDCWD, host, F_OK, 0) < 0)
		return -errno;
	tree = clone_nothing(b, dir);
	if (tree < 0)
		return tree;
	if (move_mount(tree, "", b->root, place, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	(void)snprintf(first, MASK_MAX, "%s", place);
	return 0;
}

/* A bind takes one call where a clone takes three, and the attributes of its source. */
static int mask_proc(const struct builder *b, struct bawn_error *err)
{
	char place[MASK_MAX], first[2][MASK_MAX] = {"", ""};

	for (const struct bawn_proc_mask *m = bawn_proc_masked; m->path; m++) {
		int r;

		(void)snprintf(place, sizeof(place), "%s%s", PROC_STAGE, m->path + strlen("/proc"));
		r = mask(b, place, m->path, m->dir, first[m->dir]);
		errno = -r;
		if (r < 0 && r != -ENOENT)
			return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot mask '%s': %m", m->path);
	}
	return 0;
}

static int stage_proc(struct builder *b, struct bawn_error *err)
{
	static const char *const none[] = {NULL};
	int r;

	b->proc = bawn_mount_new(
		"proc", none, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (b->proc < 0)
		return b->proc;
	if (mkdirat(b->root, PROC_STAGE, 0755) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot fill '/dev': %m");
	r = attach_at(b, b->proc, PROC_STAGE, err);
	return r < 0 ? r : mask_proc(b, err);
}

/* To its place, masks and all. */
static int move_proc(const struct builder *b, struct bawn_error *err)
{
	struct mount_attr ro = {.attr_set = MOUNT_ATTR_RDONLY};
	int r;

	/* of our pid namespace; absent before Linux 6.3, where memfd_create is filtered anyway */
	if (b->plan->n_no_exec)
		(void)bawn_write_small(b->proc, "sys/vm/memfd_noexec", "1");
	if (mount_setattr(b->proc, "", AT_EMPTY_PATH, &ro, sizeof(ro)) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make /proc read-only: %m");
	r = need_dir(b, "proc", err);
	if (r >= 0)
		r = attach_at(b, b->proc, "proc", err);
	if (r >= 0 && unlinkat(b->root, PROC_STAGE, AT_REMOVEDIR) < 0)
		r = bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot tidy '/dev': %m");
	return r;
}

/* We stand in the new root. */
static int make_node(const struct builder *b, const char *path, struct bawn_error *err)
{
	if (mknodat(b->root, path + 1, S_IFREG | 0600, 0) < 0 ||
		mount(path, path + 1, NULL, MS_BIND, NULL) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot bind '%s': %m", path);
	return 0;
}

static int make_dev(struct builder *b, struct bawn_error *err)
{
	static const char *const links[][2] = {{"/proc/self/fd", "dev/fd"},
		{"/proc/self/fd/0", "dev/stdin"}, {"/proc/self/fd/1", "dev/stdout"},
		{"/proc/self/fd/2", "dev/stderr"}, {"pts/ptmx", "dev/ptmx"}};
	static const char *const small[] = {"mode", "0755", "size", "64k", NULL};
	static const char *const pts[] = {"ptmxmode", "0666", "mode", "0600", NULL};
	_cleanup_close_ int devpts =
		bawn_mount_new("devpts", pts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);

	int r = need_dir(b, "dev", err);

	if (devpts < 0 || r < 0)
		return devpts < 0 ? devpts : r;
	if (b->whole) { /* the host's must not be touched */
		_cleanup_close_ int own =
			bawn_mount_new("tmpfs", small, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);

		r = own < 0 ? own : attach_at(b, own, "dev", err);
		if (r < 0)
			return r;
	}
	if (mkdirat(b->root, "dev/pts", 0755) < 0 || mkdirat(b->root, STAGE, 0755) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot fill '/dev': %m");
	for (size_t i = 0; i < sizeof(dev_nodes) / sizeof(dev_nodes[0]); i++) {
		r = make_node(b, dev_nodes[i], err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (symlinkat(links[i][0], b->root, links[i][1]) < 0)
			return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make '/%s': %m",
				links[i][1]);
	return attach_at(b, devpts, "dev/pts", err);
}

static int stage_scratch(struct builder *b, struct bawn_error *err)
{
	struct stat st;

	b->scratch = bawn_mount_scratch(BAWN_UNLIMITED, err); /* until the plan says how much */
	if (b->scratch < 0)
		return b->scratch;
	if (fstat(b->scratch, &st) < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot make the private space: %m");
	b->scratch_dev = st.st_dev;
	return attach_at(b, b->scratch, STAGE, err);
}

int bawn_wall_root_left(struct bawn_error *err)
{
	struct statx below = {0}, above = {0};

	/* if anything else lay on top of ours, that is gone and the old root is still there */
	if (statx(AT_FDCWD, "/", AT_NO_AUTOMOUNT, STATX_MNT_ID, &below) < 0 ||
		statx(AT_FDCWD, "/dev/..", AT_NO_AUTOMOUNT, STATX_MNT_ID, &above) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot look at the new root: %m");
	if (!(below.stx_mask & above.stx_mask & STATX_MNT_ID) ||
		below.stx_mnt_id != above.stx_mnt_id)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -EBUSY, "something lies on top of the new root");
	return 0;
}

/* From here on the new root, in which we stand, is "/". */
static int enter(const struct builder *b, struct bawn_error *err)
{
	struct mount_attr ro = {.attr_set = MOUNT_ATTR_RDONLY};

	if (!b->whole && mount_setattr(b->root, "", AT_EMPTY_PATH, &ro, sizeof(ro)) < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot make the root read-only: %m");
	/* works on an initramfs as well; the way back needs a capability that the command never has
	 */
	if (b->plan->tier == BAWN_TIER_CHROOT)
		return chroot(".") < 0 || chdir("/") < 0 ? bawn_fail(err, BAWN_ERR_BACKEND, -errno,
								   "cannot change the root: %m")
							 : 0;
	if (bawn_pivot_root(".", ".") < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot change the root: %m");
	/* the old root lies on top of ours: "/" is below it, but "x/.." leads onto it */
	if (umount2(".", MNT_DETACH) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot leave the old root: %m");
	if (chdir("/") < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot enter the new root: %m");
	return 0;
}

/* The whole of the host's file system as the new root: filesystem.mode full or read-only. */
static int take_whole(struct builder *b, const struct bawn_mount *m, struct bawn_error *err)
{
	uint64_t ro = m->kind == BAWN_MNT_RO && !HOLE("mounts-ro") ? MOUNT_ATTR_RDONLY : 0;
	int tree;

	/* what was begun lies on "/": it would be cloned along, and stay between the two roots */
	if (fchdir(b->root) < 0 || umount2(".", MNT_DETACH) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot begin anew: %m");
	tree = bawn_mount_clone(AT_FDCWD, "/", ro | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (tree < 0) {
		errno = -tree;
		return bawn_fail(err, BAWN_ERR_BACKEND, tree, "cannot bind '/': %m");
	}
	(void)close(b->root);
	(void)close(b->scratch);
	(void)close(b->proc);
	b->scratch = b->proc = -1;
	b->root = tree;
	b->root_dev = 0;
	b->whole = true;
	if (move_mount(tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot attach the new root: %m");
	return 0;
}

/* What our own file systems hold before the mounts of the plan. */
static int furnish(struct builder *b, struct bawn_error *err)
{
	int r;

	if (fchdir(b->root) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot enter the new root: %m");
	r = make_dev(b, err);
	if (r >= 0)
		r = stage_scratch(b, err);
	return r < 0 ? r : stage_proc(b, err);
}

/* The same for every plan, in the order in which it costs the least. */
static int begin(struct builder *b, struct bawn_error *err)
{
	static const char *const options[] = {"mode", "0755", "size", "4m", NULL};
	struct stat st;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make mounts private: %m");
	b->root = bawn_mount_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (b->root < 0)
		return b->root;
	/* stacked on "/": needs no directory of the host, and nobody sees it before pivot_root */
	if (move_mount(b->root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
		fstat(b->root, &st) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot attach the new root: %m");
	b->root_dev = st.st_dev;
	return furnish(b, err);
}

static int build(struct builder *b, struct bawn_error *err)
{
	const struct bawn_plan *plan = b->plan;
	size_t first = plan->n_mounts && !strcmp(plan->mounts[0].dst, "/") ? 1 : 0;
	int r = first ? take_whole(b, &plan->mounts[0], err) : 0;

	if (r >= 0 && first)
		r = furnish(b, err);
	if (r >= 0 && plan->pty) /* there is none to open otherwise */
		r = make_node(b, "/dev/tty", err);
	if (r >= 0)
		r = bawn_mount_scratch_size(b->scratch, plan->limits.disk, err);
	for (b->at = first; r >= 0 && b->at < plan->n_mounts; b->at++)
		r = do_mount(b, &plan->mounts[b->at], err);
	/* last, so that nothing of the plan can lie over it */
	if (r >= 0)
		r = move_proc(b, err);
	return r < 0 ? r : enter(b, err);
}

static struct builder begun = {.root = -1, .scratch = -1, .proc = -1};

int bawn_wall_root_begin(struct bawn_error *err)
{
	return begin(&begun, err);
}

int bawn_wall_root(const struct bawn_plan *plan, struct bawn_error *err)
{
	int r = begun.root < 0 ? begin(&begun, err) : 0;

	begun.plan = plan;
	if (r >= 0)
		r = build(&begun, err);
	(void)close(begun.root);
	(void)close(begun.scratch);
	(void)close(begun.proc);
	begun = (struct builder){.root = -1, .scratch = -1, .proc = -1};
	return r;
}
