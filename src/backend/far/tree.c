/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes in one array, in the order of the walk, and a hash index over it. The walk goes directory
 * by directory and opens each anew from its root, so that neither depth nor a name that is
 * exchanged for a link while we look leads anywhere else.
 */
#include "backend/far/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sys.h"

#define STAY (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static const char *where(const struct bawn_tree *t, const struct bawn_mount *m)
{
	return t->host ? m->src : m->dst;
}

int bawn_tree_init(
	struct bawn_tree *t, const struct bawn_plan *plan, bool host, struct bawn_error *err)
{
	const struct bawn_mount *m;

	*t = (struct bawn_tree){.plan = plan, .host = host};
	t->arena = bawn_arena_new();
	while (bawn_root_at(plan, t->n_roots))
		t->n_roots++;
	t->roots = calloc(t->n_roots + 1, sizeof(*t->roots));
	if (!t->arena || !t->roots || t->n_roots > UINT16_MAX)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->n_roots; i++)
		t->roots[i] = -1;
	for (size_t i = 0; (m = bawn_root_at(plan, i)); i++) {
		/* the plan's paths have no symlink in them: one that is there now was put there */
		t->roots[i] = host ? bawn_openat2(AT_FDCWD, m->src, O_PATH | O_CLOEXEC,
					     RESOLVE_NO_SYMLINKS)
				   : open(m->dst, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (t->roots[i] < 0 && !((m->optional || !host) && errno == ENOENT))
			return bawn_fail(err, BAWN_ERR_BACKEND, -errno,
				host && errno == ELOOP ? "'%s' turned into a symlink"
						       : "cannot open '%s': %m",
				where(t, m));
	}
	return 0;
}

int bawn_tree_again(struct bawn_tree *t, const struct bawn_tree *as, struct bawn_error *err)
{
	*t = (struct bawn_tree){.plan = as->plan, .host = as->host};
	t->arena = bawn_arena_new();
	t->roots = calloc(as->n_roots + 1, sizeof(*t->roots));
	if (!t->arena || !t->roots)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	for (; t->n_roots < as->n_roots; t->n_roots++) {
		int fd = as->roots[t->n_roots];

		t->roots[t->n_roots] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (fd >= 0 && t->roots[t->n_roots] < 0)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "cannot keep a directory open: %m");
	}
	return 0;
}

void bawn_tree_done(struct bawn_tree *t)
{
	for (size_t i = 0; t->roots && i < t->n_roots; i++)
		if (t->roots[i] >= 0)
			(void)close(t->roots[i]);
	free(t->roots);
	free(t->v);
	free(t->slots);
	(void)bawn_arena_free(t->arena);
	*t = (struct bawn_tree){0};
}

/* ---- index ---- */

static uint32_t hash_of(uint16_t root, const char *path, size_t len)
{
	uint32_t h = 2166136261u ^ root;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)path[i]) * 16777619u;
	return h;
}

static size_t slot_of(
	const struct bawn_tree *t, uint32_t hash, uint16_t root, const char *path, size_t len)
{
	size_t at = hash & (t->n_slots - 1);

	for (; t->slots[at]; at = (at + 1) & (t->n_slots - 1)) {
		const struct bawn_node *n = &t->v[t->slots[at] - 1];

		if (n->hash == hash && n->root == root && !strncmp(n->path, path, len) &&
			!n->path[len])
			break;
	}
	return at;
}

static bool grow(struct bawn_tree *t)
{
	size_t cap = t->cap ? t->cap * 2 : 256;
	struct bawn_node *v = realloc(t->v, cap * sizeof(*v));
	uint32_t *slots;

	if (!v)
		return false;
	t->v = v;
	slots = calloc(cap * 2, sizeof(*slots));
	if (!slots)
		return false;
	free(t->slots);
	t->slots = slots;
	t->n_slots = cap * 2;
	t->cap = cap;
	for (size_t i = 0; i < t->n; i++) {
		const struct bawn_node *n = &t->v[i];

		t->slots[slot_of(t, n->hash, n->root, n->path, strlen(n->path))] = (uint32_t)i + 1;
	}
	return true;
}

struct bawn_node *bawn_tree_add(struct bawn_tree *t, uint16_t root, const char *path, size_t len)
{
	uint32_t hash = hash_of(root, path, len);
	const char *copy;
	size_t at;

	if (t->n >= BAWN_TREE_NODES || (t->n == t->cap && !grow(t)))
		return NULL;
	copy = bawn_arena_strndup(t->arena, path, len);
	if (!copy)
		return NULL;
	at = slot_of(t, hash, root, path, len);
	if (!t->slots[at])
		t->slots[at] = (uint32_t)t->n++ + 1;
	t->v[t->slots[at] - 1] = (struct bawn_node){.root = root, .hash = hash, .path = copy};
	return &t->v[t->slots[at] - 1];
}

struct bawn_node *bawn_tree_find(
	const struct bawn_tree *t, uint16_t root, const char *path, size_t len)
{
	size_t at;

	if (!t->n)
		return NULL;
	at = slot_of(t, hash_of(root, path, len), root, path, len);
	return t->slots[at] ? &t->v[t->slots[at] - 1] : NULL;
}

/* ---- nodes ---- */

int64_t bawn_stat_ns(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

static enum bawn_entry_kind kind_of(mode_t mode)
{
	return S_ISREG(mode)   ? BAWN_ENTRY_FILE
	       : S_ISDIR(mode) ? BAWN_ENTRY_DIR
	       : S_ISLNK(mode) ? BAWN_ENTRY_LINK
			       : (enum bawn_entry_kind)0;
}

bool bawn_node_set(struct bawn_node *n, const struct stat *st)
{
	n->kind = kind_of(st->st_mode);
	n->mode = st->st_mode & 07777;
	n->size = (uint64_t)st->st_size;
	n->mtime = bawn_stat_ns(&st->st_mtim);
	n->ctime = bawn_stat_ns(&st->st_ctim);
	n->dev = st->st_dev;
	n->ino = st->st_ino;
	return n->kind != 0;
}

bool bawn_node_same(const struct bawn_node *n, const struct stat *st)
{
	if (!n->kind || n->kind != kind_of(st->st_mode) || n->ino != st->st_ino ||
		n->dev != st->st_dev)
		return false;
	/* of a directory only its own mode counts: its times follow its content */
	if (n->kind == BAWN_ENTRY_DIR)
		return n->mode == (st->st_mode & 07777);
	return n->size == (uint64_t)st->st_size && n->mtime == bawn_stat_ns(&st->st_mtim) &&
	       n->ctime == bawn_stat_ns(&st->st_ctim) && n->mode == (st->st_mode & 07777);
}

/* ---- places ---- */

/* Not by way of /proc inside: it may belong to another pid namespace. */
static int open_root(const struct bawn_tree *t, uint16_t root, int flags)
{
	int fd = openat(t->roots[root], ".", flags | O_CLOEXEC);
	char self[64];

	if (fd >= 0 || errno != ENOTDIR)
		return fd;
	if (flags & O_PATH)
		return fcntl(t->roots[root], F_DUPFD_CLOEXEC, 3);
	if (!t->host)
		return open(bawn_root_at(t->plan, root)->dst, flags | O_CLOEXEC | O_NOFOLLOW);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", t->roots[root]);
	return open(self, flags | O_CLOEXEC);
}

int bawn_tree_open(const struct bawn_tree *t, uint16_t root, const char *path, uint64_t flags)
{
	int fd;

	if (root >= t->n_roots || t->roots[root] < 0)
		return -ENOENT;
	if (!*path) {
		fd = open_root(t, root, (int)flags);
	} else {
		fd = bawn_openat2(t->roots[root], path, flags | O_CLOEXEC | O_NOFOLLOW, STAY);
		/* inside, nobody else is there when we look */
		if (fd < 0 && errno == ENOSYS && !t->host)
			fd = openat(t->roots[root], path, (int)flags | O_CLOEXEC | O_NOFOLLOW);
	}
	return fd < 0 ? -errno : fd;
}

int bawn_tree_parent(
	const struct bawn_tree *t, uint16_t root, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char dir[BAWN_FRAME_PATH + 1];

	if (!*path)
		return -EINVAL;
	*ret_name = slash ? slash + 1 : path;
	(void)snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 0, path);
	return bawn_tree_open(t, root, dir, O_PATH | O_DIRECTORY);
}

bool bawn_tree_path(
	const struct bawn_tree *t, uint16_t root, const char *path, char *dst, size_t size)
{
	const char *base = where(t, bawn_root_at(t->plan, root));

	return snprintf(dst, size, "%s%s%s", base, *path ? "/" : "", path) < (int)size;
}

int bawn_tree_unlock(const struct bawn_tree *t, const struct bawn_node *n)
{
	char path[PATH_MAX];

	if (!bawn_tree_path(t, n->root, n->path, path, sizeof(path)))
		return -ENAMETOOLONG;
	return chmod(path, n->mode | (n->kind == BAWN_ENTRY_DIR ? 0700 : 0600)) < 0 ? -errno : 0;
}

/* ---- the walk ---- */

int bawn_tree_begin(struct bawn_tree *t, struct bawn_error *err)
{
	for (size_t i = 0; i < t->n_roots; i++) {
		struct bawn_node *n;
		struct stat st;

		if (t->roots[i] < 0)
			continue;
		n = bawn_tree_add(t, (uint16_t)i, "", 0);
		if (!n)
			return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
		if (fstat(t->roots[i], &st) < 0 || !bawn_node_set(n, &st) ||
			n->kind == BAWN_ENTRY_LINK)
			return bawn_fail(err, BAWN_ERR_BACKEND, -EINVAL,
				"'%s' is neither a file nor a directory",
				where(t, bawn_root_at(t->plan, i)));
	}
	return 0;
}

struct look {
	struct bawn_tree *t;
	bawn_tree_wanted_fn *wanted;
	uint16_t root;
	const char *dir; /* below the root */
	int fd;
};

/* Some kernels do not even let us look at those of the host. */
static bool is_special(unsigned char type)
{
	return type == DT_FIFO || type == DT_SOCK || type == DT_CHR || type == DT_BLK;
}

static int look_at(
	const struct look *l, const char *name, unsigned char type, struct bawn_error *err)
{
	const struct bawn_mount *m = bawn_root_at(l->t->plan, l->root);
	char path[PATH_MAX], inside[PATH_MAX];
	struct bawn_node *n;
	struct stat st = {.st_mode = S_IFIFO};
	int len = snprintf(path, sizeof(path), "%s%s%s", l->dir, *l->dir ? "/" : "", name);

	if (len > (int)BAWN_FRAME_PATH ||
		snprintf(inside, sizeof(inside), "%s/%s", m->dst, path) >= (int)sizeof(inside))
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENAMETOOLONG,
			"a path below '%s' is longer than %u bytes", where(l->t, m),
			BAWN_FRAME_PATH);
	if (!l->wanted(l->t->plan, l->root, inside))
		return 0;
	if (!is_special(type) && fstatat(l->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (l->t->host || errno == ENOENT)
			return 0; /* gone since, or not ours to look at */
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot look at '%s': %m", inside);
	}
	if (!kind_of(st.st_mode) && !l->t->others)
		return 0;
	n = bawn_tree_add(l->t, l->root, path, (size_t)len);
	if (!n)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM,
			"'%s' holds too many files for this backend", where(l->t, m));
	if (!bawn_node_set(n, &st))
		n->kind = BAWN_ENTRY_OTHER;
	return 0;
}

int bawn_tree_expand(
	struct bawn_tree *t, size_t i, bawn_tree_wanted_fn *wanted, struct bawn_error *err)
{
	struct look l = {.t = t, .wanted = wanted, .root = t->v[i].root, .dir = t->v[i].path};
	struct dirent *e;
	int r = 0;
	DIR *d;

	if (t->v[i].kind != BAWN_ENTRY_DIR)
		return 0;
	l.fd = bawn_tree_open(t, l.root, l.dir, O_RDONLY | O_DIRECTORY);
	/* inside, all of it is the command's, which may have locked it */
	if (l.fd == -EACCES && !t->host && bawn_tree_unlock(t, &t->v[i]) == 0)
		l.fd = bawn_tree_open(t, l.root, l.dir, O_RDONLY | O_DIRECTORY);
	if (l.fd < 0 && t->host) /* gone since, or not ours to look into: nor is it inside */
		return 0;
	if (l.fd < 0) /* what is in it must not be taken for deleted */
		return bawn_fail(
			err, BAWN_ERR_BACKEND, l.fd, "cannot look into '%.200s'", t->v[i].path);
	d = fdopendir(l.fd);
	if (!d) {
		(void)close(l.fd);
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	}
	while (r == 0 && (e = readdir(d))) /* NOLINT(concurrency-mt-unsafe): its own stream */
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
			(t->others || !is_special(e->d_type)))
			r = look_at(&l, e->d_name, e->d_type, err);
	(void)closedir(d);
	return r;
}
