/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files on the inside: put into place before the command runs, and compared with how they were then
 * when it is over. Nothing here is trusted by the host; it only has to be right when nobody lies.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/inside/bridge.h"
#include "base/cleanup.h"
#include "base/path.h"

#define CHUNK  61440u
#define ENOUGH 131072u

int bawn_arrival_init(struct bawn_arrival *a, const struct bawn_init *init, struct bawn_error *err)
{
	*a = (struct bawn_arrival){.uid = init->uid, .gid = init->gid, .file = -1};
	return bawn_tree_init(&a->was, init->plan, false, err);
}

/* ---- arriving ---- */

static int own(int dir, const char *name, const struct bawn_arrival *a)
{
	if (geteuid() != 0 || (a->uid == 0 && a->gid == 0))
		return 0;
	return fchownat(dir, name, a->uid, a->gid, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0 ? -errno
											    : 0;
}

static struct timespec time_of(int64_t ns)
{
	int64_t rest = ns % 1000000000;

	return (struct timespec){.tv_sec = ns / 1000000000 - (rest < 0),
		.tv_nsec = rest < 0 ? rest + 1000000000 : rest};
}

/* How it looks now is how it will look if nobody touches it. */
static int note(struct bawn_arrival *a, size_t i, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return -errno;
	(void)bawn_node_set(&a->was.v[i], &st);
	return 0;
}

static int finish_file(struct bawn_arrival *a)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, time_of(a->e.mtime)};
	_cleanup_close_ int fd = TAKE_FD(a->file);
	int r;

	if (fd < 0)
		return 0;
	r = own(fd, "", a);
	if (r == 0 && (fchmod(fd, a->e.mode) < 0 || futimens(fd, times) < 0))
		r = -errno;
	return r < 0 ? r : note(a, a->node, fd, "");
}

/* The root of a tree: a directory or a single file, which may not be there yet. */
static int take_root(struct bawn_arrival *a, const struct bawn_entry *e)
{
	const char *dst = bawn_root_at(a->was.plan, e->root)->dst;
	const char *slash = strrchr(dst, '/');
	int *root = &a->was.roots[e->root];
	int r = 0;

	if (e->kind == BAWN_ENTRY_DIR) {
		r = *root < 0 ? bawn_path_make_dirs(dst, strlen(dst)) : 0;
		if (r >= 0)
			r = own(AT_FDCWD, dst, a);
	} else if (*root < 0) {
		r = bawn_path_make_dirs(dst, (size_t)(slash - dst));
		if (r >= 0) {
			_cleanup_close_ int fd =
				open(dst, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);

			r = fd < 0 ? -errno : 0;
		}
	}
	if (r < 0)
		return r;
	if (*root < 0)
		*root = open(dst, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (*root < 0)
		return -errno;
	if (e->kind != BAWN_ENTRY_FILE)
		return note(a, a->node, *root, "");
	a->file = bawn_tree_open(&a->was, e->root, "", O_WRONLY);
	return a->file < 0 ? a->file : 0;
}

/* A directory may be there already: on the way to another root, or to a mount. */
static int make_dir(const struct bawn_arrival *a, int dir, const char *name)
{
	struct stat st;

	if (mkdirat(dir, name, 0700) < 0 &&
		(errno != EEXIST || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISDIR(st.st_mode)))
		return -errno;
	return own(dir, name, a);
}

static int take_new(struct bawn_arrival *a, const struct bawn_entry *e, int dir, const char *name)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, time_of(e->mtime)};
	char target[BAWN_FRAME_PATH + 1];
	int r;

	switch (e->kind) {
	case BAWN_ENTRY_DIR:
		r = make_dir(a, dir, name);
		return r < 0 ? r : note(a, a->node, dir, name);
	case BAWN_ENTRY_LINK:
		memcpy(target, e->target, e->target_len);
		target[e->target_len] = '\0';
		if (symlinkat(target, dir, name) < 0 || own(dir, name, a) < 0 ||
			utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		return note(a, a->node, dir, name);
	case BAWN_ENTRY_FILE:
		a->file = openat(
			dir, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (a->file < 0 || (e->size && ftruncate(a->file, (off_t)e->size) < 0))
			return -errno;
		return 0;
	case BAWN_ENTRY_META:
	case BAWN_ENTRY_DELETE:
	case BAWN_ENTRY_OTHER:
	case _BAWN_ENTRY_KINDS:
		break;
	}
	return -EPROTO;
}

static int take_entry(struct bawn_arrival *a, const struct bawn_entry *e)
{
	struct bawn_node *n = e->root < a->was.n_roots
				      ? bawn_tree_add(&a->was, e->root, e->path, e->path_len)
				      : NULL;
	const char *name;
	_cleanup_close_ int dir = -1;

	if (!n)
		return -ENOMEM;
	n->kind = e->kind;
	n->mode = n->want = e->mode;
	n->size = e->size;
	n->mtime = e->mtime;
	n->ctime = e->ctime;
	if (e->flags & BAWN_ENTRY_HAVE)
		return 0;
	a->e = *e;
	a->node = (size_t)(n - a->was.v);
	if (!e->path_len)
		return take_root(a, e);
	dir = bawn_tree_parent(&a->was, e->root, n->path, &name);
	return dir < 0 ? dir : take_new(a, e, dir, name);
}

static int take_data(struct bawn_arrival *a, const struct bawn_frame *f)
{
	const uint8_t *bytes;
	uint64_t offset;
	size_t len;
	int r = bawn_frame_data(f, &offset, &bytes, &len);

	while (r == 0 && len) {
		ssize_t n = pwrite(a->file, bytes, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return r;
}

/* Directories get their modes when everything is in them. */
static int finish_dirs(struct bawn_arrival *a)
{
	for (size_t i = a->was.n; i-- > 0;) {
		struct bawn_node *n = &a->was.v[i];
		char path[PATH_MAX];

		if (n->kind != BAWN_ENTRY_DIR || !n->ino)
			continue;
		if (!bawn_tree_path(&a->was, n->root, n->path, path, sizeof(path)) ||
			chmod(path, n->want) < 0)
			return -errno;
		n->mode = n->want;
	}
	return 0;
}

int bawn_arrival_take(struct bawn_arrival *a, const struct bawn_frame *f, struct bawn_error *err)
{
	struct bawn_entry e = {0};
	int r = 0;

	if (f->type == BAWN_FRAME_DATA) {
		r = a->file < 0 ? -EPROTO : take_data(a, f);
	} else {
		r = finish_file(a);
		if (r == 0 && f->type == BAWN_FRAME_ENTRY)
			r = bawn_entry_get(f, &e);
		if (r == 0 && f->type == BAWN_FRAME_ENTRY)
			r = take_entry(a, &e);
		else if (r == 0)
			r = finish_dirs(a);
	}
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot put '%.200s' into place: %m",
			a->was.n ? a->was.v[a->node].path : "");
	}
	return 0;
}

/* ---- leaving ---- */

struct leaving {
	const struct bawn_tree *was;
	struct bawn_tree now;
	struct bawn_buf *out;
	int (*flush)(void *data, struct bawn_buf *out);
	void *data;
};

static bool is_ours(const struct bawn_plan *plan, uint16_t root, const char *inside)
{
	return bawn_root_owns(plan, root, inside);
}

static int sent(struct leaving *l)
{
	if (l->out->failed)
		return l->out->failed;
	return l->out->len >= ENOUGH ? l->flush(l->data, l->out) : 0;
}

static void put(struct leaving *l, const struct bawn_node *n, enum bawn_entry_kind kind,
	const char *target, size_t target_len)
{
	struct bawn_entry e = {.kind = kind,
		.root = n->root,
		.mode = n->mode,
		.size = kind == BAWN_ENTRY_FILE ? n->size : 0,
		.mtime = n->mtime,
		.path = n->path,
		.path_len = strlen(n->path),
		.target = target,
		.target_len = target_len};

	bawn_entry_put(l->out, &e);
}

/* The same as when it was given? What the host only told us about has no inode number here. */
static bool is_same(const struct bawn_node *was, const struct bawn_node *now)
{
	if (!was || was->kind != now->kind || was->mode != now->mode)
		return false;
	if (now->kind == BAWN_ENTRY_DIR)
		return true;
	return was->mtime == now->mtime && was->ctime == now->ctime &&
	       (now->kind == BAWN_ENTRY_LINK || was->size == now->size) &&
	       (!was->ino || (was->ino == now->ino && was->dev == now->dev));
}

/* What is there now and is sent; special files are not. */
static const struct bawn_node *find_now(
	const struct leaving *l, uint16_t root, const char *path, size_t len)
{
	const struct bawn_node *now = bawn_tree_find(&l->now, root, path, len);

	return now && now->kind != BAWN_ENTRY_OTHER ? now : NULL;
}

/* Something else than a directory is now where the directory was that `path` is or was in. */
static bool is_replaced(const struct leaving *l, const struct bawn_node *was)
{
	for (size_t n = 0;; n++) {
		const struct bawn_node *now;

		if (was->path[n] && was->path[n] != '/')
			continue;
		now = n ? find_now(l, was->root, was->path, n) : NULL;
		if (now && (was->path[n] ? now->kind != BAWN_ENTRY_DIR : now->kind != was->kind))
			return true;
		if (!was->path[n])
			return false;
	}
}

/* Children before their parents. What makes room for something else goes first, the rest last: what
 * was only moved is never nowhere, should the rest not get through. */
static int send_deletions(struct leaving *l, bool for_room)
{
	int r = 0;

	for (size_t i = l->was->n; r == 0 && i-- > 0;) {
		const struct bawn_node *was = &l->was->v[i];
		const struct bawn_node *now;
		char path[PATH_MAX];

		if (!bawn_tree_path(l->was, was->root, was->path, path, sizeof(path)) ||
			!is_ours(l->was->plan, was->root, path))
			continue;
		now = find_now(l, was->root, was->path, strlen(was->path));
		if (now && (now->kind == was->kind ||
				   (now->kind != BAWN_ENTRY_DIR && was->kind != BAWN_ENTRY_DIR)))
			continue;
		if (is_replaced(l, was) != for_room)
			continue;
		put(l, was, BAWN_ENTRY_DELETE, NULL, 0);
		r = sent(l);
	}
	return r;
}

static int send_content(struct leaving *l, int fd)
{
	_cleanup_free_ char *chunk = malloc(CHUNK + 8);
	off_t at = 0;
	int r = chunk ? 0 : -ENOMEM;

	while (r == 0) {
		off_t data = lseek(fd, at, SEEK_DATA);
		ssize_t n;

		if (data < 0 && errno == ENXIO)
			return 0;
		at = data < 0 ? at : data; /* a file system without holes */
		n = pread(fd, chunk + 8, CHUNK, at);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (size_t i = 0; i < 8; i++)
			chunk[i] = (char)((uint64_t)at >> 8 * i & 0xff);
		bawn_frame_put(l->out, BAWN_FRAME_DATA, 0, chunk, (size_t)n + 8);
		at += n;
		r = sent(l);
	}
	return r;
}

static int send_file(struct leaving *l, const struct bawn_node *n)
{
	_cleanup_close_ int fd = bawn_tree_open(&l->now, n->root, n->path, O_RDONLY);

	if (fd == -EACCES && bawn_tree_unlock(&l->now, n) == 0)
		fd = bawn_tree_open(&l->now, n->root, n->path, O_RDONLY);
	if (fd < 0)
		return fd;
	put(l, n, BAWN_ENTRY_FILE, NULL, 0);
	return send_content(l, fd);
}

static int send_link(struct leaving *l, const struct bawn_node *n)
{
	char target[BAWN_FRAME_PATH + 1];
	const char *name;
	_cleanup_close_ int dir = bawn_tree_parent(&l->now, n->root, n->path, &name);
	ssize_t len = dir < 0 ? -1 : readlinkat(dir, name, target, sizeof(target));

	if (len <= 0 || len > (ssize_t)BAWN_FRAME_PATH)
		return -EIO;
	put(l, n, BAWN_ENTRY_LINK, target, (size_t)len);
	return 0;
}

static int send_changes(struct leaving *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->now.n; i++) {
		struct bawn_node *now = &l->now.v[i];
		const struct bawn_node *was =
			bawn_tree_find(l->was, now->root, now->path, strlen(now->path));

		now->seen = !is_same(was, now);
		if (!now->seen)
			continue;
		if (now->kind == BAWN_ENTRY_FILE)
			r = send_file(l, now);
		else if (now->kind == BAWN_ENTRY_LINK)
			r = send_link(l, now);
		else if (now->kind == BAWN_ENTRY_OTHER)
			put(l, now, BAWN_ENTRY_OTHER, NULL, 0);
		else if (*now->path && (!was || was->kind != BAWN_ENTRY_DIR))
			put(l, now, BAWN_ENTRY_DIR, NULL, 0);
		if (r == 0)
			r = sent(l);
	}
	if (r == 0)
		r = send_deletions(l, false);
	/* modes of directories last: what is in them has to get there first */
	for (size_t i = l->now.n; r == 0 && i-- > 0;)
		if (l->now.v[i].seen && l->now.v[i].kind == BAWN_ENTRY_DIR && *l->now.v[i].path)
			put(l, &l->now.v[i], BAWN_ENTRY_META, NULL, 0);
	return r;
}

int bawn_arrival_return(struct bawn_arrival *a, struct bawn_buf *out,
	int (*flush)(void *data, struct bawn_buf *out), void *data, struct bawn_error *err)
{
	struct leaving l = {.was = &a->was, .out = out, .flush = flush, .data = data};
	int r = bawn_tree_again(&l.now, &a->was, err);

	l.now.others = true;
	if (r >= 0)
		r = bawn_tree_begin(&l.now, err);
	for (size_t i = 0; r >= 0 && i < l.now.n; i++)
		r = bawn_tree_expand(&l.now, i, is_ours, err);
	if (r < 0) {
		bawn_tree_done(&l.now);
		return r;
	}
	r = send_deletions(&l, true);
	if (r == 0)
		r = send_changes(&l);
	bawn_tree_done(&l.now);
	bawn_frame_put(out, BAWN_FRAME_TREE_END, 0, NULL, 0);
	if (r == 0)
		r = out->failed;
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot send back what changed: %m");
	}
	return 0;
}
