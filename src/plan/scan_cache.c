/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of the last run in a file: header, directories, matches, names, as they stand in memory.
 * The file belongs to us, but it is read like any other input: every index is checked, and the
 * directories must form exactly one forest. The sum finds torn writes; the key says for which root
 * and patterns the tree was made.
 */
#include <errno.h>
#include <fcntl.h>

#include <sys/stat.h>

#include "base/io.h"
#include "base/path.h"
#include "plan/scan_tree.h"

#define CACHE_MAX ((size_t)1 << 30)

struct head {
	char magic[8];
	char key[BAWN_HEX_LEN];
	uint64_t sum; /* of all that follows */
	uint64_t n_nodes, n_hits, n_names, n_tops;
};

static const char magic[8] = "bawnsc1\n";

uint64_t scan_cache_sum(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t sum = 0x9e3779b97f4a7c15u ^ len, word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum = (sum ^ word) * 0x100000001b3u;
		sum ^= sum >> 29;
	}
	for (; len; p++, len--)
		sum = (sum ^ *p) * 0x100000001b3u;
	return sum;
}

static bool name_ok(const struct scan_tree *t, uint32_t off, size_t len)
{
	const char *s = t->names + off;

	if (off > t->n_names || len > t->n_names - off || !len || len > 255)
		return false;
	if (memchr(s, '\0', len) || memchr(s, '/', len))
		return false;
	return !(s[0] == '.' && (len == 1 || (len == 2 && s[1] == '.')));
}

static bool top_ok(const struct scan_tree *t, const struct scan_node *n)
{
	return n->name <= t->n_names && n->name_len <= t->n_names - n->name &&
	       (!n->name_len || !memchr(t->names + n->name, '\0', n->name_len)) &&
	       n->parent == SCAN_NONE && n->depth == 0;
}

static bool hits_ok(const struct scan_tree *t, const struct scan_node *n)
{
	for (uint32_t k = 0; k < n->n_hits; k++)
		if (!name_ok(t, t->hits[n->hit + k].name, t->hits[n->hit + k].len))
			return false;
	return true;
}

/* Children and matches must follow one another without gap or overlap. */
static bool tree_ok(const struct scan_tree *t)
{
	size_t child = t->n_tops, hit = 0;

	for (size_t i = 0; i < t->n_nodes; i++) {
		const struct scan_node *n = &t->nodes[i];

		if (i < t->n_tops ? !top_ok(t, n) : !name_ok(t, n->name, n->name_len))
			return false;
		if (i >= child) /* nobody's child: also keeps parents in front */
			return false;
		if (n->child != child || n->n_children > t->n_nodes - child)
			return false;
		if (n->hit != hit || n->n_hits > t->n_hits - hit)
			return false;
		for (uint32_t k = 0; k < n->n_children; k++)
			if (t->nodes[child + k].parent != i ||
				t->nodes[child + k].depth != n->depth + 1)
				return false;
		/* the match without a name stands for an unreadable directory, never reused */
		if (!(n->flags & SCAN_VOLATILE) && !hits_ok(t, n))
			return false;
		child += n->n_children;
		hit += n->n_hits;
	}
	return child == t->n_nodes && hit == t->n_hits;
}

int scan_cache_parse(void *data, size_t len, const char *key, struct scan_tree *ret)
{
	struct scan_tree t = {0};
	struct head h;
	char *p = data;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, data, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(magic)) != 0 || strncmp(h.key, key, sizeof(h.key)) != 0)
		return -EBADMSG;
	if (h.n_nodes > SCAN_DIRS_MAX || h.n_hits > SCAN_HITS_MAX || h.n_names > SCAN_NAMES_MAX ||
		h.n_tops > h.n_nodes)
		return -EBADMSG;
	if (len !=
		sizeof(h) + h.n_nodes * sizeof(*t.nodes) + h.n_hits * sizeof(*t.hits) + h.n_names)
		return -EBADMSG;
	if (h.sum != scan_cache_sum(p + sizeof(h), len - sizeof(h)))
		return -EBADMSG;
	t.nodes = (void *)(p + sizeof(h));
	t.hits = (void *)(t.nodes + h.n_nodes);
	t.names = (void *)(t.hits + h.n_hits);
	t.n_nodes = h.n_nodes;
	t.n_hits = h.n_hits;
	t.n_names = h.n_names;
	t.n_tops = h.n_tops;
	if (!tree_ok(&t))
		return -EBADMSG;
	t.memory = data;
	*ret = t;
	return 0;
}

static int read_exact(int fd, char *data, size_t len)
{
	while (len) {
		ssize_t n = read(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int scan_cache_load(int dir_fd, const char *name, const char *key, struct scan_tree *ret)
{
	_cleanup_close_ int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	_cleanup_free_ char *data = NULL;
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) ||
		st.st_size < 1 || (uint64_t)st.st_size > CACHE_MAX)
		return -EPERM;
	data = malloc((size_t)st.st_size);
	if (!data)
		return -ENOMEM;
	r = read_exact(fd, data, (size_t)st.st_size);
	if (r < 0)
		return r;
	r = scan_cache_parse(data, (size_t)st.st_size, key, ret);
	if (r >= 0)
		(void)TAKE_PTR(data);
	return r;
}

static int write_tree(int fd, const char *key, const struct scan_tree *t)
{
	size_t nodes = t->n_nodes * sizeof(*t->nodes), hits = t->n_hits * sizeof(*t->hits);
	size_t len = sizeof(struct head) + nodes + hits + t->n_names;
	_cleanup_free_ char *data = NULL;
	struct head h = {.n_nodes = t->n_nodes,
		.n_hits = t->n_hits,
		.n_names = t->n_names,
		.n_tops = t->n_tops};
	char *p;

	if (len > CACHE_MAX)
		return -E2BIG;
	data = malloc(len);
	if (!data)
		return -ENOMEM;
	p = data + sizeof(h);
	memcpy(p, t->nodes, nodes);
	if (hits)
		memcpy(p + nodes, t->hits, hits);
	if (t->n_names)
		memcpy(p + nodes + hits, t->names, t->n_names);
	memcpy(h.magic, magic, sizeof(magic));
	memcpy(h.key, key, sizeof(h.key));
	h.sum = scan_cache_sum(p, len - sizeof(h));
	memcpy(data, &h, sizeof(h));
	return bawn_write_all(fd, data, len);
}

int scan_cache_store(int dir_fd, const char *name, const char *key, const struct scan_tree *t)
{
	_cleanup_close_ int fd = -1;
	char temp[128];
	int r;

	(void)snprintf(temp, sizeof(temp), ".%.80s.%d", name, (int)getpid());
	(void)unlinkat(dir_fd, temp, 0);
	fd = openat(dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = write_tree(fd, key, t);
	if (r >= 0 && renameat(dir_fd, temp, dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir_fd, temp, 0);
	return r;
}

static int open_ours(int at, const char *path)
{
	_cleanup_close_ int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return -EPERM;
	return TAKE_FD(fd);
}

/* `name` in a directory of ours, made if missing: never litter in a home that is not our own. */
static int make_ours(const char *dir, const char *name)
{
	_cleanup_close_ int fd = open_ours(AT_FDCWD, dir);

	if (fd < 0)
		return fd;
	if (mkdirat(fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	return open_ours(fd, name);
}

/* The place for caches, made (one level) if it is missing. */
static int default_parent(struct bawn_arena *a, const char **ret)
{
	const char *env = getenv("XDG_CACHE_HOME"); /* NOLINT(concurrency-mt-unsafe) */
	const char *home = bawn_path_home(a);
	const char *path, *slash, *dir;
	int fd;

	if (env && *env == '/')
		path = bawn_path_clean(a, env);
	else if (home)
		path = bawn_path_join(a, home, ".cache");
	else
		return -ENOENT;
	slash = path ? strrchr(path, '/') : NULL;
	dir = slash ? bawn_arena_strndup(a, path, slash > path ? (size_t)(slash - path) : 1) : NULL;
	if (!dir)
		return -ENOMEM;
	/* the parent of one that exists is not asked who owns it */
	fd = access(path, F_OK) == 0 ? 0 : make_ours(dir, slash + 1);
	if (fd > 0)
		(void)close(fd);
	*ret = path;
	return fd < 0 ? fd : 0;
}

int scan_cache_open(struct bawn_arena *a, const char *dir, const char *root)
{
	const char *parent = NULL, *real = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (dir && !*dir)
		return -ENOENT;
	if (!dir) {
		r = default_parent(a, &parent);
		if (r < 0)
			return r;
		dir = bawn_path_join(a, parent, "bawn");
		if (!dir)
			return -ENOMEM;
		fd = make_ours(parent, "bawn");
	} else {
		fd = open_ours(AT_FDCWD, dir);
	}
	if (fd < 0)
		return fd;
	/* what lies in the workspace could be forged by the command */
	r = bawn_path_resolve(a, dir, &real);
	if (r < 0)
		return r;
	if (bawn_path_under(real, root))
		return -EPERM;
	return TAKE_FD(fd);
}
