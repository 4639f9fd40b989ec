/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back: one entry at a time. Everything is done relative to a directory that was opened
 * without following links, on a single name; what stands under that name is compared with what was
 * sent before it is replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "backend/far/transfer_impl.h"
#include "base/cleanup.h"
#include "base/io.h"

#define REPORTS_MAX 1000u
#define XATTRS_MAX  65536u

/* ---- telling ---- */

static void tell(struct bawn_transfer *t, uint32_t control, const struct bawn_entry *e,
	const char *verb, const char *why)
{
	_cleanup_buf_ struct bawn_buf text = {0};
	const struct bawn_mount *root = bawn_root_at(t->plan, e->root);

	if (t->refused++ >= REPORTS_MAX)
		return;
	bawn_buf_printf(&text, "%s '", verb);
	bawn_buf_escape(&text, root->src, strlen(root->src));
	bawn_buf_puts(&text, "/");
	bawn_buf_escape(&text, e->path, strlen(e->path));
	bawn_buf_printf(&text, "' %s", why);
	if (!text.failed)
		t->report(t->data, control, text.data);
}

static void refuse(
	struct bawn_transfer *t, uint32_t control, const struct bawn_entry *e, const char *rule)
{
	char why[300];

	(void)snprintf(why, sizeof(why), "is refused: %s (%.200s)",
		control == BAWN_CTL_FS_PROTECT ? "it is protected"
		: control == BAWN_CTL_FS_DENY  ? "it is denied"
					       : "it is not writable",
		rule ? rule : "policy");
	tell(t, control, e, "changing", why);
}

static void failed(struct bawn_transfer *t, const struct bawn_entry *e, int error)
{
	char why[200];

	if (error == -ESTALE) {
		tell(t, BAWN_CTL_FS_WRITE, e, "the change to",
			"was not applied: it was changed on the host meanwhile, and that was kept");
		return;
	}
	errno = -error;
	(void)snprintf(why, sizeof(why), "was not applied: %m");
	tell(t, error == -ENOSPC || error == -EDQUOT ? BAWN_CTL_LIMIT_DISK : BAWN_CTL_FS_WRITE, e,
		"the change to", why);
}

/* ---- what is there ---- */

static struct bawn_node *node_of(struct bawn_transfer *t, const struct bawn_entry *e)
{
	return bawn_tree_find(&t->tree, e->root, e->path, strlen(e->path));
}

/* 1: it is what the inside was shown; 0: there is nothing, as the inside was shown; or -ESTALE. */
static int as_sent(struct bawn_transfer *t, const struct bawn_entry *e, int dir, const char *name)
{
	const struct bawn_node *n = node_of(t, e);
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT ? -errno : n && n->kind ? -ESTALE : 0;
	if (!n || !bawn_node_same(n, &st))
		return -ESTALE;
	return 1;
}

/* What came from inside may be the host's own later version, which is seen there as well. */
static bool is_that_already(const struct bawn_entry *e, int dir, const char *name)
{
	char target[BAWN_FRAME_PATH + 1];
	struct stat st;
	ssize_t n;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (e->kind == BAWN_ENTRY_FILE)
		return S_ISREG(st.st_mode) && (uint64_t)st.st_size == e->size &&
		       bawn_stat_ns(&st.st_mtim) == e->mtime;
	n = e->kind == BAWN_ENTRY_LINK ? readlinkat(dir, name, target, sizeof(target)) : -1;
	return n >= 0 && (size_t)n == e->target_len && !memcmp(target, e->target, e->target_len);
}

/* Remember what we made, so that a later entry about it is no conflict. */
static int note(struct bawn_transfer *t, const struct bawn_entry *e, int dir, const char *name)
{
	struct bawn_node *n = node_of(t, e);
	struct stat st;

	if (!n)
		n = bawn_tree_add(&t->tree, e->root, e->path, strlen(e->path));
	if (!n)
		return -ENOMEM;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		n->kind = 0;
	else
		(void)bawn_node_set(n, &st);
	t->applied++;
	return 0;
}

/* Bits that give the file's owner's power to whoever runs it stay as they were on the host. */
static mode_t safe_mode(const struct bawn_entry *e, const struct bawn_node *n)
{
	mode_t mode = e->mode & 01777;

	if (n && n->kind && n->kind != BAWN_ENTRY_LINK)
		mode |= n->mode & 06000 & e->mode;
	return mode;
}

static struct timespec mtime_of(const struct bawn_entry *e)
{
	int64_t sec = e->mtime / 1000000000, ns = e->mtime % 1000000000;

	return (struct timespec){
		.tv_sec = ns < 0 ? sec - 1 : sec, .tv_nsec = ns < 0 ? ns + 1000000000 : ns};
}

/* ---- one kind each ---- */

static int apply_delete(
	struct bawn_transfer *t, const struct bawn_entry *e, int dir, const char *name)
{
	struct bawn_node *n = node_of(t, e);
	int r;

	if (!n || !n->kind)
		return -ESTALE;
	r = as_sent(t, e, dir, name);
	if (r <= 0)
		return r == -ESTALE && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : r;
	if (unlinkat(dir, name, n->kind == BAWN_ENTRY_DIR ? AT_REMOVEDIR : 0) < 0)
		return -errno;
	return note(t, e, dir, name);
}

/* Through a descriptor: by its name it could be a link to somewhere else by now. */
static int set_dir_mode(int dir, const char *name, mode_t mode)
{
	_cleanup_close_ int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char self[64];

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? -ESTALE : -errno;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return chmod(self, mode) < 0 ? -errno : 0;
}

static int apply_dir(struct bawn_transfer *t, const struct bawn_entry *e, int dir, const char *name)
{
	struct stat st;
	int r;

	if (mkdirat(dir, name, 0700) == 0) {
		/* usable until everything is in it: META brings its own mode */
		r = set_dir_mode(dir, name, safe_mode(e, NULL) | 0700);
		return r < 0 ? r : note(t, e, dir, name);
	}
	if (errno != EEXIST)
		return -errno;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return -ESTALE;
	return note(t, e, dir, name);
}

static void temp_name(char *dst, size_t size)
{
	static unsigned count;

	(void)snprintf(dst, size, ".bawn-%d-%u", (int)getpid(), count++);
}

/* Put `temp` where `name` is, if that is still what was sent; else it goes. */
static int replace(struct bawn_transfer *t, const struct bawn_entry *e, int dir, const char *temp,
	const char *name)
{
	int r = as_sent(t, e, dir, name);
	const struct bawn_node *n = node_of(t, e);

	if (r == 1 && n->kind == BAWN_ENTRY_DIR)
		r = -EISDIR;
	if (r >= 0 && renameat2(dir, temp, dir, name, r == 0 ? RENAME_NOREPLACE : 0) < 0)
		r = errno == EEXIST ? -ESTALE : -errno;
	if (r < 0) {
		(void)unlinkat(dir, temp, 0);
		return r;
	}
	return note(t, e, dir, name);
}

static int apply_link(
	struct bawn_transfer *t, const struct bawn_entry *e, int dir, const char *name)
{
	char target[BAWN_FRAME_PATH + 1], temp[40];

	memcpy(target, e->target, e->target_len);
	target[e->target_len] = '\0';
	if (as_sent(t, e, dir, name) < 0 && is_that_already(e, dir, name))
		return 0;
	temp_name(temp, sizeof(temp));
	if (symlinkat(target, dir, temp) < 0)
		return -errno;
	return replace(t, e, dir, temp, name);
}

/* Mode and time of a file or directory that is there; through a descriptor, so that it is that one.
 */
static int apply_meta(
	struct bawn_transfer *t, const struct bawn_entry *e, int dir, const char *name)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, mtime_of(e)};
	_cleanup_close_ int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	const struct bawn_node *n = node_of(t, e);
	char self[64];
	struct stat st;
	mode_t mode;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (!n || !bawn_node_same(n, &st) || n->kind == BAWN_ENTRY_LINK)
		return -ESTALE;
	mode = safe_mode(e, n);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (mode != n->mode && chmod(self, mode) < 0)
		return -errno;
	if (n->kind == BAWN_ENTRY_FILE && utimensat(AT_FDCWD, self, times, 0) < 0)
		return -errno;
	return note(t, e, dir, name);
}

/* ---- files ---- */

/* A file without a name where the file system has that, so that nothing is left if we are killed.
 */
static int open_temp(struct incoming *in)
{
	char here[64];

	(void)snprintf(here, sizeof(here), "/proc/self/fd/%d", in->dir);
	in->fd = open(here, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	in->named = in->fd < 0;
	if (in->fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)
		return -errno;
	temp_name(in->temp, sizeof(in->temp));
	in->fd = openat(
		in->dir, in->temp, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	return in->fd < 0 ? -errno : 0;
}

/* A file that is granted by itself is written in place: its directory is not ours to change. */
static int begin_root_file(struct bawn_transfer *t, const struct bawn_entry *e)
{
	struct incoming *in = &t->in;
	const struct bawn_node *n = node_of(t, e);
	struct stat st;
	int r = 0;

	in->fd = bawn_tree_open(&t->tree, e->root, "", O_WRONLY | O_NONBLOCK | O_NOCTTY);
	if (in->fd < 0)
		r = in->fd;
	else if (fstat(in->fd, &st) < 0 || !n || !bawn_node_same(n, &st))
		r = -ESTALE;
	else if (ftruncate(in->fd, 0) < 0 || ftruncate(in->fd, (off_t)e->size) < 0)
		r = -errno;
	if (r < 0)
		bawn_apply_drop(t);
	in->open = true;
	in->refuse = r < 0;
	return r;
}

static int begin_file(
	struct bawn_transfer *t, const struct bawn_entry *e, int dir, const char *name)
{
	struct incoming *in = &t->in;
	int r = as_sent(t, e, dir, name);

	if (r < 0)
		return r == -ESTALE && is_that_already(e, dir, name) ? 0 : r;
	in->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	if (in->dir < 0)
		return -errno;
	r = open_temp(in);
	if (r == 0 && ftruncate(in->fd, (off_t)e->size) < 0)
		r = -errno;
	if (r < 0)
		bawn_apply_drop(t);
	in->open = true; /* its content comes all the same */
	in->refuse = r < 0;
	return r;
}

/* What the old file had and the inside knows nothing of. */
static void keep_attributes(int old, int fd)
{
	_cleanup_free_ char *names = malloc(XATTRS_MAX), *value = malloc(XATTRS_MAX);
	ssize_t n = names && value ? flistxattr(old, names, XATTRS_MAX) : -1;

	for (const char *p = names; n > 0 && p < names + n; p += strlen(p) + 1) {
		ssize_t len =
			strncmp(p, "security.", 9) != 0 ? fgetxattr(old, p, value, XATTRS_MAX) : -1;

		if (len >= 0)
			(void)fsetxattr(fd, p, value, (size_t)len, 0);
	}
}

static int keep_owner(const struct incoming *in, const char *name)
{
	_cleanup_close_ int old =
		openat(in->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st, now;

	if (fstatat(in->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (fstat(in->fd, &now) < 0)
		return -errno;
	if (now.st_uid != st.st_uid && fchown(in->fd, st.st_uid, (gid_t)-1) < 0)
		return -errno;
	if (now.st_gid != st.st_gid && fchown(in->fd, (uid_t)-1, st.st_gid) < 0)
		return -errno;
	if (old >= 0)
		keep_attributes(old, in->fd);
	return 0;
}

static int finish_file(struct bawn_transfer *t, const char *name)
{
	struct incoming *in = &t->in;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, mtime_of(&in->e)};
	char self[64];
	int r = keep_owner(in, name);

	if (r < 0)
		return r;
	/* new content runs with nobody's power, as a write takes these bits away in any kernel */
	if (fchmod(in->fd, safe_mode(&in->e, NULL)) < 0 || futimens(in->fd, times) < 0)
		return -errno;
	if (!in->named) {
		temp_name(in->temp, sizeof(in->temp));
		(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", in->fd);
		if (linkat(AT_FDCWD, self, in->dir, in->temp, AT_SYMLINK_FOLLOW) < 0)
			return -errno;
	}
	in->named = false; /* replace() sees to it */
	return replace(t, &in->e, in->dir, in->temp, name);
}

void bawn_apply_drop(struct bawn_transfer *t)
{
	struct incoming *in = &t->in;

	if (in->named && in->fd >= 0)
		(void)unlinkat(in->dir, in->temp, 0);
	if (in->fd >= 0)
		(void)close(TAKE_FD(in->fd));
	if (in->dir >= 0)
		(void)close(TAKE_FD(in->dir));
	in->named = in->open = in->refuse = false;
}

void bawn_apply_finish(struct bawn_transfer *t)
{
	struct incoming *in = &t->in;
	const char *slash = strrchr(in->path, '/');
	int r = 0;

	if (in->open && !in->refuse && in->dir < 0)
		t->applied++;
	else if (in->open && !in->refuse)
		r = finish_file(t, slash ? slash + 1 : in->path);
	if (r < 0)
		failed(t, &in->e, r);
	bawn_apply_drop(t);
}

static int has_room(const struct bawn_transfer *t, int fd, size_t len)
{
	struct statvfs vfs;
	uint64_t reserve = t->plan->limits.disk_reserve;

	if (reserve == 0 || fstatvfs(fd, &vfs) < 0)
		return 0;
	return (uint64_t)vfs.f_bavail * vfs.f_frsize < reserve + len ? -ENOSPC : 0;
}

int bawn_apply_data(struct bawn_transfer *t, uint64_t offset, const uint8_t *bytes, size_t len)
{
	struct incoming *in = &t->in;
	int r;

	if (!in->open || offset < in->next || offset > in->e.size || len > in->e.size - offset)
		return -EPROTO;
	in->next = offset + len;
	if (in->refuse)
		return 0;
	r = has_room(t, in->fd, len);
	while (r == 0 && len > 0) {
		ssize_t n = pwrite(in->fd, bytes, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : -EIO;
			break;
		}
		bytes += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	if (r < 0) {
		failed(t, &in->e, r);
		in->refuse = true;
	}
	return 0;
}

/* ---- the entry ---- */

/* Nobody asked for it, but somebody may look for it. Where copies on write are seen, the host's own
 * are seen as well. */
static void tell_other(
	struct bawn_transfer *t, const struct bawn_entry *e, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
		!S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
		return;
	tell(t, BAWN_CTL_FS_WRITE, e, "the special file",
		"stayed in the sandbox: FIFOs, sockets and devices do not come back");
}

static int apply(struct bawn_transfer *t, const struct bawn_entry *e)
{
	const char *name;
	_cleanup_close_ int dir = -1;

	if (!*e->path && e->kind == BAWN_ENTRY_FILE)
		return begin_root_file(t, e);
	dir = bawn_tree_parent(&t->tree, e->root, e->path, &name);
	if (dir < 0)
		return dir;
	switch (e->kind) {
	case BAWN_ENTRY_FILE:
		return begin_file(t, e, dir, name);
	case BAWN_ENTRY_DIR:
		return apply_dir(t, e, dir, name);
	case BAWN_ENTRY_LINK:
		return apply_link(t, e, dir, name);
	case BAWN_ENTRY_META:
		return apply_meta(t, e, dir, name);
	case BAWN_ENTRY_DELETE:
		return apply_delete(t, e, dir, name);
	case BAWN_ENTRY_OTHER:
		tell_other(t, e, dir, name);
		return 0;
	case _BAWN_ENTRY_KINDS:
		break;
	}
	return -EINVAL;
}

int bawn_apply_entry(struct bawn_transfer *t, const struct bawn_entry *e, struct bawn_error *err)
{
	struct incoming *in = &t->in;
	const char *rule = NULL;
	uint32_t control;
	int r;

	memcpy(in->path, e->path, e->path_len);
	in->path[e->path_len] = '\0';
	in->e = *e;
	in->e.path = in->path;
	in->next = 0;
	in->open = in->refuse = e->kind == BAWN_ENTRY_FILE;
	control = e->kind == BAWN_ENTRY_OTHER ? 0 : bawn_apply_refused(t, &in->e, &rule);
	if (control) {
		refuse(t, control, &in->e, rule);
		return 0;
	}
	r = apply(t, &in->e);
	if (r == -ENOMEM)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "out of memory");
	if (r < 0)
		failed(t, &in->e, r);
	return 0;
}
