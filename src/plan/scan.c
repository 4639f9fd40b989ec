/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what deny patterns match below a root: load what the last run knew, check each known
 * directory, read those that changed, keep the result. The cache only ever saves time: without it,
 * or with one that is damaged, the tree is read in full.
 */
#include "plan/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include <sys/stat.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/sha256.h"
#include "plan/scan_tree.h"

#define RACY_NS       ((int64_t)2000000000)
#define ALL_PATHS_MAX ((size_t)64 << 20)

struct scan {
	const struct bawn_scan_options *o;
	struct scan_matcher matcher;
	struct scan_walk walk;
	struct scan_tree old;
	uint8_t *state;
	int cache_fd;
	char key[BAWN_HEX_LEN + 1];
	char name[32];
};

static void scan_done(struct scan *s)
{
	scan_tree_done(&s->old);
	scan_tree_done(&s->walk.tree);
	scan_path_done(&s->walk.path);
	free(s->state);
	if (s->walk.root_fd >= 0)
		(void)close(s->walk.root_fd);
	if (s->cache_fd >= 0)
		(void)close(s->cache_fd);
}

static int make_key(struct scan *s)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	struct stat st;

	if (fstat(s->walk.root_fd, &st) < 0)
		return -errno;
	bawn_buf_printf(&b, "%zu %ju %ju ", sizeof(struct scan_node), (uintmax_t)st.st_dev,
		(uintmax_t)st.st_ino);
	bawn_buf_add(&b, s->o->root, strlen(s->o->root) + 1);
	for (size_t i = 0; i < s->matcher.n; i++)
		bawn_buf_add(&b, s->matcher.v[i].text, strlen(s->matcher.v[i].text) + 1);
	if (b.failed)
		return b.failed;
	bawn_sha256_hex(b.data, b.len, s->key);
	(void)snprintf(s->name, sizeof(s->name), "scan-%.24s", s->key);
	return 0;
}

/* From here on no failure counts: without a cache everything is read. */
static void load(struct bawn_arena *a, struct scan *s)
{
	s->cache_fd = scan_cache_open(a, s->o->cache_dir, s->o->root);
	if (s->cache_fd < 0)
		return;
	if (scan_cache_load(s->cache_fd, s->name, s->key, &s->old) < 0)
		return;
	s->state = calloc(s->old.n_nodes + 1, 1);
	if (!s->state || scan_check(&s->old, s->o->root, s->walk.root_fd, s->state) < 0)
		scan_tree_done(&s->old);
}

/* Reading a few directories again next time is cheaper than writing the whole file now. */
static void store(struct scan *s)
{
	const struct scan_walk *w = &s->walk;

	if (s->cache_fd < 0 || !w->reread_stable)
		return;
	if (w->reread_stable < 64 && w->reread_stable * 8 < w->tree.n_nodes && s->old.n_nodes)
		return;
	(void)scan_cache_store(s->cache_fd, s->name, s->key, &w->tree);
}

static int64_t wall_ns(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int add_copy(struct bawn_arena *a, struct bawn_strlist *l, const char *s)
{
	const char *copy = bawn_arena_strdup(a, s);

	return copy ? bawn_strlist_add(a, l, copy) : -ENOMEM;
}

static int collect(struct bawn_arena *a, struct scan *s, struct bawn_strlist *ret)
{
	struct scan_walk *w = &s->walk;
	size_t total = 0;
	int r;

	for (uint32_t i = 0; i < w->tree.n_nodes; i++) {
		const struct scan_node *n = &w->tree.nodes[i];

		for (uint32_t k = n->hit; k < n->hit + n->n_hits; k++) {
			const struct scan_hit *h = &w->tree.hits[k];

			r = scan_path_set(&w->path, w->root, &w->tree, i);
			if (r >= 0 && h->len)
				r = scan_path_add(&w->path, w->tree.names + h->name, h->len);
			total += w->path.len + 1;
			if (r >= 0 && total > ALL_PATHS_MAX)
				r = -E2BIG;
			if (r >= 0)
				r = add_copy(a, ret, w->path.s);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* A plain path: what is at it, with the directory in front made canonical. */
static int add_literal(
	struct bawn_arena *a, const char *root, const char *pattern, struct bawn_strlist *ret)
{
	const char *clean = bawn_path_clean(a, pattern), *dir, *real = NULL, *path;
	const char *slash;
	struct stat st;
	int r;

	if (!clean)
		return -ENOMEM;
	slash = strrchr(clean, '/');
	dir = slash == clean ? "/" : bawn_arena_strndup(a, clean, (size_t)(slash - clean));
	if (!dir)
		return -ENOMEM;
	r = bawn_path_resolve(a, dir, &real);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	path = bawn_path_join(a, real, slash + 1);
	if (!path)
		return -ENOMEM;
	if (!bawn_path_under(path, root) || lstat(path, &st) < 0)
		return 0;
	return bawn_strlist_add(a, ret, path);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_unique(struct bawn_strlist *l)
{
	size_t n = 0;

	if (!l->n)
		return;
	qsort(l->v, l->n, sizeof(*l->v), by_text);
	for (size_t i = 0; i < l->n; i++)
		if (!n || strcmp(l->v[n - 1], l->v[i]) != 0)
			l->v[n++] = l->v[i];
	l->n = n;
	l->v[n] = NULL;
}

static int scan_tree(
	struct bawn_arena *a, struct scan *s, struct bawn_strlist *ret, struct bawn_error *err)
{
	const char *root = s->o->root;
	int r;

	s->walk.root_fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->walk.root_fd < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, -errno, "cannot open '%s': %s", root,
			strerrordesc_np(errno));
	s->walk.racy_from = wall_ns() - RACY_NS;
	r = make_key(s);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, r, "cannot look into '%s': %s", root,
			strerrordesc_np(-r));
	load(a, s);
	s->walk.old = &s->old;
	s->walk.state = s->state;
	s->walk.root = root;
	s->walk.matcher = &s->matcher;
	r = scan_walk(&s->walk, err);
	if (r < 0)
		return r;
	store(s);
	r = collect(a, s, ret);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, r,
			"too many denied files in '%s': deny their directory instead", root);
	return 0;
}

int bawn_scan(struct bawn_arena *a, const struct bawn_scan_options *o, struct bawn_strlist *ret,
	struct bawn_scan_stats *ret_stats, struct bawn_error *err)
{
	_cleanup_(scan_done) struct scan s = {.o = o, .cache_fd = -1, .walk.root_fd = -1};
	struct bawn_scan_stats stats = {0};
	struct bawn_strlist found = {0};
	int r = scan_matcher_make(a, o->root, o->patterns, &s.matcher);

	for (size_t i = 0; i < s.matcher.literal.n && r >= 0; i++)
		r = add_literal(a, o->root, s.matcher.literal.v[i], &found);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, r, "out of memory");
	if (s.matcher.n) {
		r = scan_tree(a, &s, &found, err);
		if (r < 0)
			return r;
	}
	sort_unique(&found);
	*ret = found;
	for (size_t i = 0; i < s.walk.tree.n_nodes; i++)
		stats.files += s.walk.tree.nodes[i].entries;
	stats.directories = s.walk.tree.n_nodes;
	stats.reread = s.walk.reread;
	if (ret_stats)
		*ret_stats = stats;
	return 0;
}
