/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads directories. The array of the new tree is also the queue: each directory in turn either
 * takes over what the last run knew about it or is read, and its subdirectories go to the end.
 * d_type says what an entry is, so no file is ever looked at.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/io.h"
#include "plan/scan_tree.h"

#define ENTRIES_SIZE ((size_t)256 << 10)
#define PART_MAX     ((size_t)4000) /* of a path in one system call */
#define LOOKUPS_MAX  ((size_t)50 << 20)

struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static int open_part(int dir_fd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, dir_fd, *path ? path : ".", &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Longer than the kernel takes at once: in steps. */
static int open_long(int root_fd, const char *s, int flags)
{
	_cleanup_close_ int at = -1;
	char part[PART_MAX + 1];

	while (strlen(s) > PART_MAX) {
		size_t n = PART_MAX;
		int fd;

		while (n && s[n] != '/')
			n--;
		if (!n)
			return -ENAMETOOLONG;
		memcpy(part, s, n);
		part[n] = '\0';
		fd = open_part(at < 0 ? root_fd : at, part, O_PATH);
		if (fd < 0)
			return fd;
		if (at >= 0)
			(void)close(at);
		at = fd;
		s += n + 1;
	}
	return open_part(at < 0 ? root_fd : at, s, flags);
}

int scan_open(int root_fd, const struct scan_path *p, int flags)
{
	const char *rel = p->len > p->rel ? p->s + p->rel : "";

	if (p->len > p->rel + PART_MAX)
		return open_long(root_fd, rel, flags);
	return open_part(root_fd, rel, flags);
}

static int64_t to_ns(int64_t sec, long nsec)
{
	return (int64_t)((uint64_t)sec * 1000000000u + (uint64_t)nsec);
}

static int note_times(struct scan_walk *w, uint32_t i, int fd)
{
	struct scan_node *n = &w->tree.nodes[i];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	n->dev = st.st_dev;
	n->ino = st.st_ino;
	n->mtime = to_ns(st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	n->ctime = to_ns(st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	if (n->dev != w->dev) {
		w->dev = n->dev;
		w->dev_ok = bawn_fd_is_local(fd);
	}
	if (!w->dev_ok || n->ctime >= w->racy_from)
		n->flags |= SCAN_VOLATILE;
	w->reread_stable += !!w->dev_ok;
	return 0;
}

/* The old child `name` of old node `old`. Order is mostly kept, so the search goes on from *at. */
static uint32_t find_old(
	struct scan_walk *w, uint32_t old, const char *name, size_t len, uint32_t *at)
{
	const struct scan_tree *t = w->old;
	uint32_t first, count;

	if (old == SCAN_NONE)
		return SCAN_NONE;
	first = t->nodes[old].child;
	count = t->nodes[old].n_children;
	for (uint32_t k = 0; k < count && w->lookups < LOOKUPS_MAX; k++, w->lookups++) {
		uint32_t slot = *at + k < count ? *at + k : *at + k - count;
		const struct scan_node *c = &t->nodes[first + slot];

		if (c->name_len == len && !memcmp(t->names + c->name, name, len)) {
			*at = slot + 1 < count ? slot + 1 : 0;
			return first + slot;
		}
	}
	return SCAN_NONE;
}

/* Whether `name` in the directory at w->path matches. */
static int entry_matches(struct scan_walk *w, const char *name, size_t len)
{
	size_t dir_len = w->path.len;
	bool hit;
	int r;

	if (!scan_matcher_name(w->matcher, name, len))
		return 0;
	r = scan_path_add(&w->path, name, len);
	if (r < 0)
		return r;
	hit = scan_matcher_path(w->matcher, w->path.s, name);
	w->path.len = dir_len;
	w->path.s[dir_len] = '\0';
	return hit;
}

static bool is_dir(int fd, const struct entry *e)
{
	struct stat st;

	if (e->type != DT_UNKNOWN)
		return e->type == DT_DIR;
	return fstatat(fd, e->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* A pattern that begins at the root of all files is not about the kernel's. */
static bool is_kernels(const struct scan_walk *w, uint32_t i, const char *name)
{
	return !strcmp(w->root, "/") && i < w->tree.n_tops && !w->tree.nodes[i].name_len &&
	       (!strcmp(name, "proc") || !strcmp(name, "sys") || !strcmp(name, "dev"));
}

static int take_entry(struct scan_walk *w, uint32_t i, int fd, const struct entry *e, uint32_t *at)
{
	size_t len = strlen(e->name);
	uint32_t old;
	int r;

	if (e->name[0] == '.' && (len == 1 || (len == 2 && e->name[1] == '.')))
		return 0;
	w->tree.nodes[i].entries++;
	r = entry_matches(w, e->name, len);
	if (r < 0)
		return r;
	if (r > 0) {
		w->tree.nodes[i].n_hits++;
		return scan_tree_add_hit(&w->tree, e->name, len);
	}
	if (!is_dir(fd, e) || is_kernels(w, i, e->name))
		return 0;
	old = find_old(w, w->tree.nodes[i].old, e->name, len, at);
	r = scan_tree_add_node(&w->tree, i, e->name, len);
	if (r < 0)
		return r;
	w->tree.nodes[w->tree.n_nodes - 1].old = old;
	w->tree.nodes[i].n_children++;
	return 0;
}

static int take_entries(struct scan_walk *w, uint32_t i, int fd)
{
	uint32_t at = 0;

	for (;;) {
		long n = syscall(SYS_getdents64, fd, w->entries, ENTRIES_SIZE);

		if (n < 0)
			return errno == ENOENT ? 0 : -errno;
		if (n == 0)
			return 0;
		for (long off = 0; off < n;) {
			const struct entry *e = (const void *)(w->entries + off);
			int r = take_entry(w, i, fd, e, &at);

			if (r < 0)
				return r;
			off += e->reclen;
		}
	}
}

/*
 * What cannot be listed may still be entered by name, and its owner may change its mode: then the
 * directory as a whole counts as a match. If the command can do neither there is nothing to hide.
 */
static int take_unreadable(struct scan_walk *w, uint32_t i)
{
	_cleanup_close_ int fd = scan_open(w->root_fd, &w->path, O_PATH);
	struct stat st;

	w->tree.nodes[i].flags |= SCAN_VOLATILE;
	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	if (st.st_uid != geteuid() && faccessat(fd, ".", X_OK, AT_EACCESS) < 0)
		return 0;
	w->tree.nodes[i].n_hits = 1;
	return scan_tree_add_hit(&w->tree, "", 0);
}

static int read_dir(struct scan_walk *w, uint32_t i)
{
	_cleanup_close_ int fd = -1;
	int r;

	w->reread++;
	fd = scan_open(w->root_fd, &w->path, O_RDONLY | O_NONBLOCK);
	if (fd == -EACCES || fd == -EPERM)
		return take_unreadable(w, i);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP) {
		w->tree.nodes[i].flags |= SCAN_VOLATILE;
		return 0; /* gone or replaced meanwhile */
	}
	if (fd < 0)
		return fd;
	r = note_times(w, i, fd);
	return r < 0 ? r : take_entries(w, i, fd);
}

static int keep_dir(struct scan_walk *w, uint32_t i)
{
	const struct scan_tree *t = w->old;
	const struct scan_node *o = &t->nodes[w->tree.nodes[i].old];
	struct scan_node *n = &w->tree.nodes[i];
	int r = 0;

	n->dev = o->dev;
	n->ino = o->ino;
	n->mtime = o->mtime;
	n->ctime = o->ctime;
	n->entries = o->entries;
	n->n_children = o->n_children;
	n->n_hits = o->n_hits;
	for (uint32_t k = o->child; k < o->child + o->n_children && r >= 0; k++) {
		const struct scan_node *c = &t->nodes[k];

		r = scan_tree_add_node(&w->tree, i, t->names + c->name, c->name_len);
		if (r >= 0)
			w->tree.nodes[w->tree.n_nodes - 1].old = k;
	}
	for (uint32_t k = o->hit; k < o->hit + o->n_hits && r >= 0; k++)
		r = scan_tree_add_hit(&w->tree, t->names + t->hits[k].name, t->hits[k].len);
	return r;
}

static int take_dir(struct scan_walk *w, uint32_t i)
{
	struct scan_node *n = &w->tree.nodes[i];
	int r;

	n->child = (uint32_t)w->tree.n_nodes;
	n->hit = (uint32_t)w->tree.n_hits;
	if (n->old != SCAN_NONE && w->state[n->old] == SCAN_SAME)
		return keep_dir(w, i);
	r = scan_path_set(&w->path, w->root, &w->tree, i);
	if (r < 0)
		return r;
	return read_dir(w, i);
}

static uint32_t find_old_top(const struct scan_tree *old, const char *rel)
{
	for (uint32_t i = 0; i < old->n_tops; i++)
		if (old->nodes[i].name_len == strlen(rel) &&
			!memcmp(old->names + old->nodes[i].name, rel, strlen(rel)))
			return i;
	return SCAN_NONE;
}

static int walk_all(struct scan_walk *w, uint32_t *i)
{
	const struct bawn_strlist *tops = &w->matcher->tops;
	int r = 0;

	for (size_t k = 0; k < tops->n && r >= 0; k++) {
		r = scan_tree_add_node(&w->tree, SCAN_NONE, tops->v[k], strlen(tops->v[k]));
		if (r >= 0)
			w->tree.nodes[k].old = find_old_top(w->old, tops->v[k]);
	}
	w->tree.n_tops = tops->n;
	for (*i = 0; *i < w->tree.n_nodes && r >= 0; (*i)++)
		r = take_dir(w, *i);
	return r;
}

int scan_walk(struct scan_walk *w, struct bawn_error *err)
{
	uint32_t i = 0;
	int r;

	w->entries = malloc(ENTRIES_SIZE);
	if (!w->entries)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	r = walk_all(w, &i);
	free(w->entries);
	w->entries = NULL;
	if (r >= 0)
		return 0;
	if (!i || scan_path_set(&w->path, w->root, &w->tree, i - 1) < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, r, "cannot look for denied files in '%s': %s",
			w->root, strerrordesc_np(-r));
	if (r == -E2BIG || r == -ELOOP)
		return bawn_fail(err, BAWN_ERR_PLAN, r,
			"'%.300s' is too large or too deep to look for denied files; deny less or choose a smaller workspace",
			w->path.s);
	return bawn_fail(err, BAWN_ERR_PLAN, r, "cannot look for denied files in '%.300s': %s",
		w->path.s, strerrordesc_np(-r));
}
