/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall that another program has begun, see wall.h. What that program was asked for is looked at
 * and not believed; what it cannot do (no-exec, masks in /proc, numbers of files) is done
 * here, with the rights over its own namespaces that it has given us.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/nsfs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "backend/native/mountfs.h"
#include "backend/native/wall.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/sys.h"

/* ---- namespaces ---- */

static const char *const ns_files[BAWN_NS_COUNT] = {
	[BAWN_NS_PID] = "/proc/self/ns/pid",
	[BAWN_NS_MNT] = "/proc/self/ns/mnt",
	[BAWN_NS_NET] = "/proc/self/ns/net",
	[BAWN_NS_IPC] = "/proc/self/ns/ipc",
};

static uint64_t namespace_of(enum bawn_ns ns)
{
	struct stat st;

	return stat(ns_files[ns], &st) < 0 ? 0 : (uint64_t)st.st_ino;
}

void bawn_namespaces(uint64_t ret[BAWN_NS_COUNT])
{
	for (unsigned i = 0; i < BAWN_NS_COUNT; i++)
		ret[i] = namespace_of((enum bawn_ns)i);
}

/* What cannot be told is not ours. */
static bool is_own(const uint64_t host[BAWN_NS_COUNT], enum bawn_ns ns)
{
	uint64_t here = namespace_of(ns);

	return here && host[ns] && here != host[ns];
}

int bawn_wall_outer_check(const uint64_t host[BAWN_NS_COUNT], bool shared, struct bawn_error *err)
{
	static const enum bawn_ns wanted[] = {BAWN_NS_PID, BAWN_NS_MNT, BAWN_NS_IPC};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!is_own(host, wanted[i]))
			return bawn_fail(err, BAWN_ERR_BACKEND, -EPERM,
				"'%s' is the host's or cannot be told",
				ns_files[wanted[i]] + strlen("/proc/self/"));
	if (getpid() != 1 && !shared)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EPERM,
			"not the first process of the pid namespace");
	return 0;
}

/* Whether the network namespace belongs to our user namespace. Asks nothing of it that takes its
 * lock: that may be held for long by namespaces that are being taken down. */
static bool owns_network(void)
{
	_cleanup_close_ int net = open(ns_files[BAWN_NS_NET], O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int owner = net < 0 ? -1 : ioctl(net, NS_GET_USERNS);
	struct stat own, ours;

	return owner >= 0 && fstat(owner, &own) == 0 && stat("/proc/self/ns/user", &ours) == 0 &&
	       own.st_ino == ours.st_ino && own.st_dev == ours.st_dev;
}

/* Something that needs power over the mounts and changes nothing that matters; then the network. */
static bool has_power(void)
{
	struct mount_attr private = {.propagation = MS_PRIVATE};

	return mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof(private)) == 0 &&
	       owns_network();
}

int bawn_wall_outer_power(uid_t uid, gid_t gid, bool *ret_power, struct bawn_error *err)
{
	int r;

	*ret_power = has_power();
	if (*ret_power)
		return 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0)
		return 0;
	r = bawn_wall_identity(uid, gid, err);
	*ret_power = r == 0 && has_power();
	return r;
}

/* ---- the network ---- */

static int check_interface(int fd, const char *name, struct bawn_error *err)
{
	struct ifreq ifr = {0};

	(void)snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (!strcmp(name, "lo") || ioctl(fd, SIOCGIFFLAGS, &ifr) < 0 || !(ifr.ifr_flags & IFF_UP))
		return 0;
	return bawn_fail(err, BAWN_ERR_BACKEND, -EPERM,
		"there is a network interface '%s' inside, which leads around every rule", name);
}

/* From /proc: a list by netlink waits for the lock, see above. */
int bawn_wall_outer_network(const uint64_t host[BAWN_NS_COUNT], struct bawn_error *err)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	_cleanup_close_ int list = open("/proc/self/net/dev", O_RDONLY | O_CLOEXEC);
	_cleanup_buf_ struct bawn_buf b = {0};
	char *save = NULL;
	int r = 0;

	if (!is_own(host, BAWN_NS_NET))
		return bawn_fail(err, BAWN_ERR_BACKEND, -EPERM, "the network is the host's");
	if (fd < 0 || list < 0 || bawn_read_all(list, &b) < 0 || !b.data)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "cannot list network interfaces");
	for (char *line = strtok_r(b.data, "\n", &save); r == 0 && line;
		line = strtok_r(NULL, "\n", &save)) {
		char *colon = strrchr(line, ':');

		if (!colon) /* a heading */
			continue;
		*colon = '\0';
		r = check_interface(fd, line + strspn(line, " "), err);
	}
	return r;
}

/* ---- mounts: finish ---- */

static int attach(int tree, const char *dst, struct bawn_error *err)
{
	if (move_mount(tree, "", AT_FDCWD, dst, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot attach '%s': %m", dst);
	return 0;
}

/* A flood of empty files takes memory too: as many as root.c grants. */
static int limit_inodes(const struct bawn_plan *plan, const char *dst, struct bawn_error *err)
{
	_cleanup_close_ int fd = -1;
	struct statvfs st;
	char inodes[32];

	if (plan->limits.disk == BAWN_UNLIMITED)
		return 0;
	bawn_mount_inodes(plan->limits.disk, inodes);
	if (statvfs(dst, &st) == 0 && st.f_files <= strtoull(inodes, NULL, 10))
		return 0; /* the tool has done it */
	fd = fspick(AT_FDCWD, dst, FSPICK_CLOEXEC | FSPICK_NO_AUTOMOUNT);
	if (fd < 0 && errno == EPERM)
		return 0; /* another user namespace's: then the meter counts them */
	if (fd < 0 || fsconfig(fd, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) < 0 ||
		fsconfig(fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno,
			"cannot limit the number of files in '%s': %m", dst);
	return 0;
}

static int mask(const struct bawn_proc_mask *m, struct bawn_error *err)
{
	static const char *const nothing[] = {"mode", "0", "size", "4k", NULL};
	const unsigned attrs = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC;
	_cleanup_close_ int tree = m->dir ? bawn_mount_new("tmpfs", nothing, attrs, err)
					  : bawn_mount_clone(AT_FDCWD, "/dev/null", attrs);

	if (tree < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, tree, "cannot mask '%s'", m->path);
	return attach(tree, m->path, err);
}

static int finish_proc(const struct bawn_plan *plan, struct bawn_error *err)
{
	struct mount_attr ro = {.attr_set = MOUNT_ATTR_RDONLY};
	int r = 0;

	if (plan->n_no_exec)
		(void)bawn_write_small(AT_FDCWD, "/proc/sys/vm/memfd_noexec", "1");
	for (const struct bawn_proc_mask *m = bawn_proc_masked; r == 0 && m->path; m++)
		if (access(m->path, F_OK) == 0)
			r = mask(m, err);
	if (r == 0 && mount_setattr(AT_FDCWD, "/proc", 0, &ro, sizeof(ro)) < 0)
		r = bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make /proc read-only: %m");
	return r;
}

/* Terminals of our own, where the tool has left an empty place for them. */
static int finish_pts(struct bawn_error *err)
{
	static const char *const options[] = {"ptmxmode", "0666", "mode", "0600", NULL};
	_cleanup_close_ int pts = -1;

	if (access("/dev/pts/ptmx", F_OK) == 0)
		return 0;
	pts = bawn_mount_new("devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	return pts < 0 ? pts : attach(pts, "/dev/pts", err);
}

/* ---- mounts: look ---- */

/* The record of the plan that decides about what is at `path`: the last one at or above it. */
static const struct bawn_mount *ruler(const struct bawn_plan *plan, const char *path)
{
	const struct bawn_mount *best = NULL;

	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];

		if (m->kind != BAWN_MNT_SYMLINK && bawn_path_under(path, m->dst) &&
			(!best || strlen(m->dst) >= strlen(best->dst)))
			best = m;
	}
	return best;
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; out++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
			s[3] >= '0' && s[3] <= '7') {
			*out = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*out = *s++;
		}
	}
	*out = '\0';
}

static int tighten(const char *path, uint64_t attrs, struct bawn_error *err)
{
	struct mount_attr attr = {.attr_set = attrs};

	if (mount_setattr(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &attr, sizeof(attr)) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot tighten '%s': %m", path);
	return 0;
}

/* A place that is no mount of its own: bound over itself. Nothing was bound below it, or it would
 * be a mount. */
static int seal(const char *path, uint64_t attrs, struct bawn_error *err)
{
	_cleanup_close_ int tree = bawn_mount_clone(AT_FDCWD, path, attrs);

	if (tree < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, tree, "cannot bind '%s'", path);
	return attach(tree, path, err);
}

struct view {
	const struct bawn_plan *plan;
	const struct bawn_place *places; /* may be NULL */
	bool power;
	bool exec_holds; /* every no-exec mount is one */
};

static int check_mount(struct view *v, const char *path, struct bawn_error *err)
{
	const struct bawn_mount *m = ruler(v->plan, path);
	_cleanup_close_ int fd = -1;
	struct statvfs st;
	int r = 0;

	if (!m || (!m->dst[1] && (bawn_path_under(path, "/dev") || bawn_path_under(path, "/proc"))))
		return 0; /* those two are nobody's but ours */
	fd = bawn_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
	if (fd < 0 && errno == ELOOP)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ELOOP, "'%s' turned into a symlink", path);
	if (fd < 0 || fstatvfs(fd, &st) < 0) /* below a cover, or not there: nobody gets to it */
		return 0;
	if (m->kind == BAWN_MNT_RO && !(st.f_flag & ST_RDONLY)) {
		/* engines do not reach below a bind */
		if (!v->power || tighten(path, MOUNT_ATTR_RDONLY, NULL) < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -EPERM, "'%s' is not read-only", path);
	}
	if (m->no_exec && !(st.f_flag & ST_NOEXEC)) {
		r = v->power ? tighten(path, MOUNT_ATTR_NOEXEC, err) : 0;
		v->exec_holds &= v->power;
	}
	return r;
}

/* Some tools are told what to bind by its name, which may have led elsewhere by then. */
static int check_place(const struct view *v, const struct bawn_mount *m, const struct statx *st,
	struct bawn_error *err)
{
	const struct bawn_place *p = v->places ? &v->places[m - v->plan->mounts] : NULL;

	if (!p || !p->ino || ruler(v->plan, m->dst) != m || bawn_path_under(m->dst, "/dev") ||
		bawn_path_under(m->dst, "/proc"))
		return 0;
	if (p->ino == st->stx_ino && p->dev == makedev(st->stx_dev_major, st->stx_dev_minor))
		return 0;
	return bawn_fail(err, BAWN_ERR_BACKEND, -ESTALE,
		"'%s' shows another file than the host has there: it was exchanged meanwhile",
		m->dst);
}

/* A bind of the plan is a mount of its own: else what lies there is what was there before, and can
 * be moved away. */
static int check_bind(struct view *v, const struct bawn_mount *m, struct bawn_error *err)
{
	struct statx st;
	int r;

	if (statx(AT_FDCWD, m->dst, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO, &st) < 0)
		return m->optional ? 0
				   : bawn_fail(err, BAWN_ERR_BACKEND, -errno,
					     "'%s' is not there: %m", m->dst);
	r = check_place(v, m, &st, err);
	if (r < 0)
		return r;
	/* a box is older than some of the plan: what it shows at its own place can still be bound
	 */
	if (!(st.stx_attributes & STATX_ATTR_MOUNT_ROOT) && v->power && m->src &&
		!strcmp(m->src, m->dst))
		return seal(m->dst, m->kind == BAWN_MNT_RO ? MOUNT_ATTR_RDONLY : 0, err);
	if (!(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -EPERM, "'%s' is no mount of its own", m->dst);
	return check_mount(v, m->dst, err);
}

static int check_line(struct view *v, char *line, struct bawn_error *err)
{
	char *save = NULL, *path = NULL;

	for (int i = 0; i < 5; i++) /* the fifth word is the place */
		path = strtok_r(i ? NULL : line, " ", &save);
	if (!path)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "cannot read the list of mounts");
	unescape(path);
	return check_mount(v, path, err);
}

static int check_mounts(struct view *v, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	_cleanup_close_ int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char *save = NULL;
	int r = fd < 0 ? -errno : bawn_read_all(fd, &b);

	if (r < 0 || !b.data)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "cannot read the list of mounts");
	r = 0;
	for (char *line = strtok_r(b.data, "\n", &save); r == 0 && line;
		line = strtok_r(NULL, "\n", &save))
		r = check_line(v, line, err);
	/* what should be a mount and is none shows nowhere in that list */
	for (size_t i = 0; r == 0 && i < v->plan->n_mounts; i++) {
		const struct bawn_mount *m = &v->plan->mounts[i];

		if (m->kind == BAWN_MNT_RO || m->kind == BAWN_MNT_RW || m->kind == BAWN_MNT_SCRATCH)
			r = check_bind(v, m, err);
	}
	return r;
}

/* Already covered by something that nobody may open, or not there. */
static bool is_hidden(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 || S_ISLNK(st.st_mode) || (st.st_mode & 07777) == 0;
}

/* What is hidden is covered by an empty twin of a file system that lies at `stage` meanwhile. */
static int hide_at(const struct bawn_plan *plan, const char *stage, struct bawn_error *err)
{
	_cleanup_close_ int scratch = bawn_mount_scratch(plan->limits.disk, err);
	int r = scratch < 0 ? scratch : attach(scratch, stage, err);

	for (size_t i = 0; r == 0 && i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];
		_cleanup_close_ int tree = -1;
		struct stat st;

		if (m->kind != BAWN_MNT_HIDE || is_hidden(m->dst) || stat(m->dst, &st) < 0)
			continue;
		tree = bawn_mount_clone(scratch, S_ISDIR(st.st_mode) ? "none-dir" : "none",
			MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC);
		r = tree < 0 ? bawn_fail(err, BAWN_ERR_BACKEND, tree, "cannot hide '%s'", m->dst)
			     : attach(tree, m->dst, err);
	}
	return r;
}

/* The place of the terminals is free if they are still to be mounted, over the stage. Unmounting it
 * would cost a grace period of the kernel. */
static int hide_rest(const struct bawn_plan *plan, struct bawn_error *err)
{
	bool free_place = access("/dev/pts/ptmx", F_OK) < 0;
	const char *stage = free_place ? "/dev/pts" : "/dev/shm";
	size_t i = 0;
	int r;

	while (i < plan->n_mounts &&
		(plan->mounts[i].kind != BAWN_MNT_HIDE || is_hidden(plan->mounts[i].dst)))
		i++;
	if (i == plan->n_mounts)
		return 0;
	r = hide_at(plan, stage, err);
	if (r == 0 && !free_place && umount2(stage, MNT_DETACH) < 0)
		r = bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot leave '%s': %m", stage);
	return r;
}

/* Sockets of other runs in the same box are in there. */
static int hide_own(struct bawn_error *err)
{
	static const char *const nothing[] = {"mode", "0", "size", "4k", NULL};
	_cleanup_close_ int tree = -1;

	if (access(BAWN_OUTER_DIR, F_OK) < 0)
		return 0;
	tree = bawn_mount_new("tmpfs", nothing, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, err);
	return tree < 0 ? tree : attach(tree, BAWN_OUTER_DIR, err);
}

static int finish_mounts(const struct bawn_plan *plan, struct bawn_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == BAWN_MNT_SCRATCH)
			r = limit_inodes(plan, plan->mounts[i].dst, err);
	if (r == 0)
		r = hide_rest(plan, err);
	if (r == 0)
		r = hide_own(err);
	if (r == 0)
		r = finish_proc(plan, err);
	return r < 0 ? r : finish_pts(err);
}

/* Every private directory is a file system that is not larger than it may be. */
static bool is_disk_limited(const struct bawn_plan *plan)
{
	struct statvfs st;

	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == BAWN_MNT_SCRATCH &&
			(statvfs(plan->mounts[i].dst, &st) < 0 ||
				(uint64_t)st.f_blocks * st.f_frsize > plan->limits.disk))
			return false;
	return true;
}

#define INODE_COST 1024u /* so that a flood of empty files is seen as well */

uint64_t bawn_wall_outer_scratch(const struct bawn_plan *plan)
{
	struct statvfs st;
	uint64_t used = 0;

	for (size_t i = 0; i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == BAWN_MNT_SCRATCH &&
			statvfs(plan->mounts[i].dst, &st) == 0)
			used += (uint64_t)(st.f_blocks - st.f_bfree) * st.f_frsize +
				(uint64_t)(st.f_files - st.f_ffree) * INODE_COST;
	return used;
}

/* The root that the tool has made for the plan's mounts: an image's and a box's are their own. */
static int seal_root(const struct view *v, struct bawn_error *err)
{
	const struct bawn_plan *plan = v->plan;
	struct statvfs st;

	if (plan->backend.image || plan->backend.box || (plan->n_mounts && !plan->mounts[0].dst[1]))
		return 0;
	if (statvfs("/", &st) == 0 && st.f_flag & ST_RDONLY)
		return 0;
	return v->power ? tighten("/", MOUNT_ATTR_RDONLY, err)
			: bawn_fail(err, BAWN_ERR_BACKEND, -EPERM, "'/' is not read-only");
}

int bawn_wall_outer_mounts(const struct bawn_plan *plan, const struct bawn_place *places,
	bool power, uint32_t *ret_claims, struct bawn_error *err)
{
	struct view v = {.plan = plan, .places = places, .power = power, .exec_holds = true};
	int r = power ? finish_mounts(plan, err) : 0;

	if (r >= 0)
		r = check_mounts(&v, err);
	if (r >= 0)
		r = seal_root(&v, err);
	if (r < 0)
		return r;
	*ret_claims = (is_disk_limited(plan) ? (uint32_t)BAWN_CTL_LIMIT_DISK : 0) |
		      (v.exec_holds ? (uint32_t)BAWN_CTL_FS_EXEC : 0);
	return 0;
}

int bawn_wall_outer_hidden(const struct bawn_plan *plan, struct bawn_error *err)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];
		_cleanup_close_ int fd = -1;

		if (m->kind != BAWN_MNT_HIDE)
			continue;
		fd = open(m->dst, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
		if (fd >= 0)
			return bawn_fail(err, BAWN_ERR_BACKEND, -EPERM, "'%s' can be read", m->dst);
	}
	return 0;
}
