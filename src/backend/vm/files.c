/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See files.h. Nodes are names in a tree, not descriptors: a guest may know of a million files, a
 * process may not have that many open. A path is put together for each request; a few descriptors
 * are kept for files and directories that are being read. Opens are not asked for at all (ENOSYS to
 * the first one), which saves two round trips per file.
 */
#include "backend/vm/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/fuse.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "backend/vm/files_nodes.h"
#include "base/io.h"

#define READ_MAX  ((uint32_t)128 << 10)
#define OPEN_MAX_ 32
#define VALID_S   60 /* how long the guest may believe what it was told */

struct open_file {
	uint64_t node; /* 0: unused */
	uint64_t generation;
	uint64_t used;
	int fd;
};

struct bawn_files {
	int root;
	uint64_t clock;
	struct bawn_nodes *nodes;
	struct open_file open[OPEN_MAX_];
};

/* One request and where its answer goes, behind the header. */
struct ask {
	struct fuse_in_header h;
	const char *body; /* NUL-terminated behind `len` */
	size_t len;
	char *out;
};

struct bawn_files *bawn_files_new(int root)
{
	struct bawn_files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->root = root;
	f->nodes = bawn_nodes_new();
	return f->nodes ? f : bawn_files_free(f);
}

struct bawn_files *bawn_files_free(struct bawn_files *f)
{
	if (!f)
		return NULL;
	for (size_t i = 0; i < OPEN_MAX_; i++)
		if (f->open[i].node)
			(void)close(f->open[i].fd);
	f->nodes = bawn_nodes_free(f->nodes);
	free(f);
	return NULL;
}

/* The guest has its own of these; ours tell about this process. */
static bool is_own(uint64_t parent, const char *name)
{
	return parent == FUSE_ROOT_ID &&
	       (!strcmp(name, "proc") || !strcmp(name, "sys") || !strcmp(name, "dev"));
}

static int open_path(const struct bawn_files *f, const char *path, int flags)
{
	/* where links lead is the guest's kernel's business, and there is no other place to lead to
	 */
	int fd = openat(f->root, path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* A descriptor to read `node` from, kept for the next time. */
static int open_node(struct bawn_files *f, uint64_t node, mode_t type)
{
	struct open_file *o = &f->open[0];
	char path[PATH_MAX];
	struct stat st;
	int r;

	for (size_t i = 0; i < OPEN_MAX_; i++) {
		if (f->open[i].node == node &&
			f->open[i].generation == bawn_nodes_generation(f->nodes, node)) {
			f->open[i].used = ++f->clock;
			return f->open[i].fd;
		}
		if (f->open[i].used < o->used)
			o = &f->open[i];
	}
	r = bawn_nodes_path(f->nodes, node, path, sizeof(path));
	if (r < 0)
		return r;
	_cleanup_close_ int fd =
		open_path(f, path, type == S_IFDIR ? O_RDONLY | O_DIRECTORY : O_RDONLY);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_mode & S_IFMT) != type)
		return type == S_IFDIR ? -ENOTDIR : -EINVAL;
	if (o->node)
		(void)close(o->fd);
	*o = (struct open_file){.node = node,
		.generation = bawn_nodes_generation(f->nodes, node),
		.used = ++f->clock,
		.fd = TAKE_FD(fd)};
	return o->fd;
}

static int stat_path(const struct bawn_files *f, const char *path, struct fuse_attr *ret)
{
	struct stat st;

	if (fstatat(f->root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*ret = (struct fuse_attr){.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.blocks = (uint64_t)st.st_blocks,
		.atime = (uint64_t)st.st_atim.tv_sec,
		.mtime = (uint64_t)st.st_mtim.tv_sec,
		.ctime = (uint64_t)st.st_ctim.tv_sec,
		.atimensec = (uint32_t)st.st_atim.tv_nsec,
		.mtimensec = (uint32_t)st.st_mtim.tv_nsec,
		.ctimensec = (uint32_t)st.st_ctim.tv_nsec,
		.mode = st.st_mode,
		.nlink = (uint32_t)st.st_nlink,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.rdev = (uint32_t)st.st_rdev,
		.blksize = 4096};
	return 0;
}

/* ---- one function per question: the length of the answer's body, or a negative errno ---- */

static ssize_t do_init(struct bawn_files *f, const struct ask *a)
{
	struct fuse_init_in in = {0};
	struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_readahead = READ_MAX,
		.flags = FUSE_ASYNC_READ | FUSE_PARALLEL_DIROPS | FUSE_CACHE_SYMLINKS |
			 FUSE_NO_OPEN_SUPPORT | FUSE_NO_OPENDIR_SUPPORT,
		.max_background = 16,
		.congestion_threshold = 12,
		.max_write = 4096,
		.time_gran = 1};

	(void)f;
	memcpy(&in, a->body, a->len < sizeof(in) ? a->len : sizeof(in));
	if (in.major != FUSE_KERNEL_VERSION || in.minor < out.minor)
		return -EPROTO;
	out.flags &= in.flags;
	if (in.max_readahead < out.max_readahead)
		out.max_readahead = in.max_readahead;
	memcpy(a->out, &out, sizeof(out));
	return sizeof(out);
}

static ssize_t do_lookup(struct bawn_files *f, const struct ask *a)
{
	struct fuse_entry_out out = {.entry_valid = VALID_S, .attr_valid = VALID_S};
	size_t len = strnlen(a->body, a->len);
	char path[PATH_MAX];
	int r;

	if (!len || len == a->len || len > NAME_MAX || memchr(a->body, '/', len) ||
		!strcmp(a->body, ".") || !strcmp(a->body, ".."))
		return -EINVAL;
	r = bawn_nodes_child_path(f->nodes, a->h.nodeid, a->body, path, sizeof(path));
	if (r >= 0)
		r = is_own(a->h.nodeid, a->body) ? -ENOENT : stat_path(f, path, &out.attr);
	if (r >= 0)
		r = bawn_nodes_enter(f->nodes, a->h.nodeid, a->body, &out.nodeid, &out.generation);
	/* node 0: that it is not there may be remembered as well */
	if (r < 0 && r != -ENOENT)
		return r;
	memcpy(a->out, &out, sizeof(out));
	return sizeof(out);
}

static ssize_t do_getattr(struct bawn_files *f, const struct ask *a)
{
	struct fuse_attr_out out = {.attr_valid = VALID_S};
	char path[PATH_MAX];
	int r = bawn_nodes_path(f->nodes, a->h.nodeid, path, sizeof(path));

	if (r >= 0)
		r = stat_path(f, path, &out.attr);
	if (r < 0)
		return r;
	memcpy(a->out, &out, sizeof(out));
	return sizeof(out);
}

static ssize_t do_readlink(struct bawn_files *f, const struct ask *a)
{
	char path[PATH_MAX];
	int r = bawn_nodes_path(f->nodes, a->h.nodeid, path, sizeof(path));
	ssize_t n;

	if (r < 0)
		return r;
	n = readlinkat(f->root, path, a->out, PATH_MAX);
	return n < 0 ? -errno : n;
}

static ssize_t do_access(struct bawn_files *f, const struct ask *a)
{
	struct fuse_access_in in;
	char path[PATH_MAX];
	int r = bawn_nodes_path(f->nodes, a->h.nodeid, path, sizeof(path));

	if (a->len < sizeof(in))
		return -EINVAL;
	memcpy(&in, a->body, sizeof(in));
	if (r < 0)
		return r;
	if (in.mask & W_OK)
		return -EROFS;
	return faccessat(f->root, path, (int)(in.mask & (R_OK | X_OK)), AT_SYMLINK_NOFOLLOW) < 0
		       ? -errno
		       : 0;
}

static ssize_t do_read(struct bawn_files *f, const struct ask *a)
{
	struct fuse_read_in in;
	ssize_t n;
	int fd;

	if (a->len < sizeof(in))
		return -EINVAL;
	memcpy(&in, a->body, sizeof(in));
	if (in.offset > INT64_MAX)
		return -EINVAL;
	fd = open_node(f, a->h.nodeid, S_IFREG);
	if (fd < 0)
		return fd;
	n = pread(fd, a->out, in.size < READ_MAX ? in.size : READ_MAX, (off_t)in.offset);
	return n < 0 ? -errno : n;
}

/* One entry at `at` of the answer; false if there is no room for it. */
static bool put_entry(char *out, size_t *at, size_t size, const struct dirent64 *d)
{
	size_t len = strlen(d->d_name);
	size_t whole = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + len);
	struct fuse_dirent e = {.ino = d->d_ino,
		.off = (uint64_t)d->d_off,
		.namelen = (uint32_t)len,
		.type = d->d_type};

	if (*at + whole > size)
		return false;
	memset(out + *at, 0, whole);
	memcpy(out + *at, &e, FUSE_NAME_OFFSET);
	memcpy(out + *at + FUSE_NAME_OFFSET, d->d_name, len);
	*at += whole;
	return true;
}

static ssize_t do_readdir(struct bawn_files *f, const struct ask *a)
{
	char buf[8192] __attribute__((aligned(8)));
	struct fuse_read_in in;
	size_t at = 0, size;
	long n;
	int fd;

	if (a->len < sizeof(in))
		return -EINVAL;
	memcpy(&in, a->body, sizeof(in));
	size = in.size < READ_MAX ? in.size : READ_MAX;
	fd = open_node(f, a->h.nodeid, S_IFDIR);
	if (fd < 0)
		return fd;
	if (in.offset > INT64_MAX || lseek(fd, (off_t)in.offset, SEEK_SET) < 0)
		return -EINVAL;
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long i = 0; i < n;) {
			const struct dirent64 *d = (const struct dirent64 *)(const void *)(buf + i);

			if (!is_own(a->h.nodeid, d->d_name) && !put_entry(a->out, &at, size, d))
				return (ssize_t)at;
			i += d->d_reclen;
		}
	return n < 0 ? -errno : (ssize_t)at;
}

static ssize_t do_statfs(struct bawn_files *f, const struct ask *a)
{
	struct fuse_statfs_out out = {.st = {.bsize = 4096, .frsize = 4096, .namelen = NAME_MAX}};

	(void)f;
	memcpy(a->out, &out, sizeof(out));
	return sizeof(out);
}

/* ---- what wants no answer ---- */

static void do_forget(struct bawn_files *f, const struct ask *a)
{
	struct fuse_forget_in in;

	if (a->len < sizeof(in))
		return;
	memcpy(&in, a->body, sizeof(in));
	bawn_nodes_forget(f->nodes, a->h.nodeid, in.nlookup);
}

static void do_batch_forget(struct bawn_files *f, const struct ask *a)
{
	struct fuse_batch_forget_in in;
	struct fuse_forget_one one;

	if (a->len < sizeof(in))
		return;
	memcpy(&in, a->body, sizeof(in));
	for (size_t i = 0; i < in.count && a->len - sizeof(in) >= (i + 1) * sizeof(one); i++) {
		memcpy(&one, a->body + sizeof(in) + i * sizeof(one), sizeof(one));
		bawn_nodes_forget(f->nodes, one.nodeid, one.nlookup);
	}
}

/* ---- requests ---- */

static ssize_t dispatch(struct bawn_files *f, const struct ask *a)
{
	static const struct {
		uint32_t opcode;
		ssize_t (*run)(struct bawn_files *f, const struct ask *a);
	} ops[] = {{FUSE_LOOKUP, do_lookup}, {FUSE_GETATTR, do_getattr}, {FUSE_READ, do_read},
		{FUSE_READLINK, do_readlink}, {FUSE_READDIR, do_readdir}, {FUSE_ACCESS, do_access},
		{FUSE_STATFS, do_statfs}, {FUSE_INIT, do_init}};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].opcode == a->h.opcode)
			return ops[i].run(f, a);
	return -ENOSYS;
}

ssize_t bawn_files_answer(struct bawn_files *f, const void *request, size_t len, char *out)
{
	struct fuse_out_header h = {.len = sizeof(h)};
	struct ask a = {.out = out + sizeof(h)};
	ssize_t n;

	if (len < sizeof(a.h))
		return -EPROTO;
	memcpy(&a.h, request, sizeof(a.h));
	if (a.h.len != len)
		return -EPROTO;
	a.body = (const char *)request + sizeof(a.h);
	a.len = len - sizeof(a.h);
	switch (a.h.opcode) {
	case FUSE_FORGET:
		do_forget(f, &a);
		return 0;
	case FUSE_BATCH_FORGET:
		do_batch_forget(f, &a);
		return 0;
	case FUSE_INTERRUPT:
		return 0;
	default:
		break;
	}
	n = dispatch(f, &a);
	h.unique = a.h.unique;
	h.error = n < 0 ? (int32_t)n : 0;
	h.len += n > 0 ? (uint32_t)n : 0;
	memcpy(out, &h, sizeof(h));
	return (ssize_t)h.len;
}

static ssize_t read_exactly(int fd, char *dst, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = read(fd, dst + have, len - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : (ssize_t)have;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

static int serve(struct bawn_files *f, int fd, char *in, char *out)
{
	for (;;) {
		uint32_t len;
		ssize_t n = read_exactly(fd, in, sizeof(len));

		if (n <= 0)
			return (int)n;
		memcpy(&len, in, sizeof(len));
		if (n != sizeof(len) || len < sizeof(struct fuse_in_header) ||
			len >= BAWN_FILES_REQUEST_MAX)
			return -EPROTO;
		n = read_exactly(fd, in + sizeof(len), len - sizeof(len));
		if (n != (ssize_t)(len - sizeof(len)))
			return n < 0 ? (int)n : -EPROTO;
		in[len] = '\0';
		n = bawn_files_answer(f, in, len, out);
		if (n > 0)
			n = bawn_write_all(fd, out, (size_t)n);
		if (n < 0)
			return (int)n;
	}
}

int bawn_files_serve(int fd, int root)
{
	_cleanup_(cleanup_files_p) struct bawn_files *f = bawn_files_new(root);
	_cleanup_free_ char *in = malloc(BAWN_FILES_REQUEST_MAX);
	_cleanup_free_ char *out = malloc(BAWN_FILES_REPLY_MAX);

	return f && in && out ? serve(f, fd, in, out) : -ENOMEM;
}
