/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a suspended call's arguments mean. Memory is copied once; paths are resolved from the
 * caller's own directories. The kernel's magic links (/proc/PID/fd, cwd, root) would resolve to the
 * broker's own descriptors when the path says "self", so these are recognised in the text and taken
 * from the caller, and openat2 refuses every other one.
 */

#include <errno.h>
#include <fcntl.h>

#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "backend/native/broker_impl.h"
#include "base/cleanup.h"
#include "base/io.h"

#define LINKS_MAX 40
#define SHORT     256

void bawn_place_done(struct bawn_place *p)
{
	if (p->dir >= 0)
		(void)close(p->dir);
	if (p->whole >= 0)
		(void)close(p->whole);
	p->dir = p->whole = -1;
}

/* Something in the caller's /proc directory by its number, so that the directory is opened only by
 * those that need more of it. */
static int open_of(const struct bawn_susp *s, const char *what, int flags)
{
	char path[48];
	int fd;

	if (s->lazy->proc >= 0) {
		fd = openat(s->lazy->proc, what, flags | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", s->tid, what);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (bawn_susp_alive(s))
		return fd;
	(void)close(fd);
	return -EACCES;
}

int bawn_susp_proc(const struct bawn_susp *s)
{
	if (s->lazy->proc < 0) {
		int fd = open_of(s, "", O_PATH | O_DIRECTORY);

		if (fd < 0)
			return -EACCES;
		s->lazy->proc = fd;
	}
	return s->lazy->proc;
}

/* Not everywhere may memory be read by number: containers forbid it and let the file be read. */
static ssize_t read_file(const struct bawn_susp *s, uint64_t addr, void *dst, size_t size)
{
	ssize_t n;

	if (s->lazy->mem < 0)
		s->lazy->mem = open_of(s, "mem", O_RDONLY);
	if (s->lazy->mem < 0) {
		s->lazy->mem = -1;
		return -EACCES;
	}
	n = pread(s->lazy->mem, dst, size, (off_t)addr);
	return n <= 0 ? -EFAULT : n;
}

/* Stops at the first page that is not mapped. */
static ssize_t read_memory(const struct bawn_susp *s, uint64_t addr, void *dst, size_t size)
{
	struct iovec to = {.iov_base = dst, .iov_len = size};
	struct iovec from = {.iov_len = size};
	ssize_t n;

	if (addr > INT64_MAX)
		return -EFAULT;
	memcpy(&from.iov_base, &addr, sizeof(from.iov_base));
	n = s->lazy->mem >= 0 ? -1 : process_vm_readv(s->tid, &to, 1, &from, 1, 0);
	if (n > 0)
		return bawn_susp_alive(s) ? n : -EACCES;
	if (n == 0 || (s->lazy->mem < 0 && errno == EFAULT))
		return -EFAULT;
	return read_file(s, addr, dst, size);
}

int bawn_susp_bytes(struct bawn_susp *s, uint64_t addr, void *dst, size_t size)
{
	ssize_t n = read_memory(s, addr, dst, size);

	if (n < 0)
		return (int)n;
	return n == (ssize_t)size ? 0 : -EFAULT;
}

/* Most are short; a longer one is read anew as a whole. */
int bawn_susp_string(struct bawn_susp *s, uint64_t addr, char *dst, size_t size)
{
	size_t part = size < SHORT ? size : SHORT;
	ssize_t n = read_memory(s, addr, dst, part);

	if (n == SHORT && !memchr(dst, 0, part) && part < size)
		n = read_memory(s, addr, dst, size);
	if (n < 0)
		return (int)n;
	if (memchr(dst, 0, (size_t)n))
		return 0;
	return n == (ssize_t)size ? -ENAMETOOLONG : -EFAULT;
}

int bawn_susp_base(const struct bawn_susp *s, int dirfd)
{
	char path[24];
	int fd;

	if (dirfd == AT_FDCWD)
		return open_of(s, "cwd", O_PATH | O_DIRECTORY);
	if (dirfd < 0)
		return -EBADF;
	(void)snprintf(path, sizeof(path), "fd/%d", dirfd);
	fd = open_of(s, path, O_PATH);
	return fd == -ENOENT ? -EBADF : fd;
}

long bawn_susp_status(const struct bawn_susp *s, const char *key, int radix)
{
	_cleanup_close_ int fd = -1;
	char text[4096];
	const char *p;
	ssize_t n;

	fd = open_of(s, "status", O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -1;
	text[n] = 0;
	p = strstr(text, key);
	return p ? strtol(p + strlen(key), NULL, radix) : -1;
}

mode_t bawn_susp_umask(const struct bawn_susp *s)
{
	long mask = s->b->umask;

	/* Until somebody has changed it, it is what everybody was born with; reading it is slow. */
	if (s->b->umask_changed)
		mask = bawn_susp_status(s, "\nUmask:", 8);
	return umask(mask < 0 ? 077 : (mode_t)mask);
}

int bawn_fd_path(int fd, char dst[PATH_MAX])
{
	char link[40];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, dst, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	dst[n] = 0;
	return 0;
}

int bawn_place_path(const struct bawn_place *p, char dst[PATH_MAX + NAME_MAX + 2])
{
	size_t len;
	int r = bawn_fd_path(p->whole >= 0 ? p->whole : p->dir, dst);

	if (r < 0 || p->whole >= 0)
		return r;
	len = strlen(dst);
	if (len == 1)
		len = 0;
	dst[len++] = '/';
	memcpy(dst + len, p->name, strnlen(p->name, NAME_MAX) + 1);
	dst[len + strnlen(p->name, NAME_MAX)] = 0;
	return 0;
}

/* If `text` goes on with `word` as a whole component, what follows it without slashes. */
static const char *after(const char *text, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(text, word, n) != 0 || (text[n] != '/' && text[n] != 0))
		return NULL;
	text += n;
	return text + strspn(text, "/");
}

/* The part of an absolute path behind the caller's own /proc directory; NULL if it is not that. */
static const char *own_proc(const struct bawn_susp *s, const char *path)
{
	const char *p, *rest;
	char *end = NULL;
	long pid;

	path += strspn(path, "/");
	p = after(path, "dev");
	if (p)
		return after(p, "fd") ? p : NULL;
	p = after(path, "proc");
	if (!p)
		return NULL;
	if (after(p, "net") || after(p, "mounts"))
		return p;
	rest = after(p, "self");
	if (!rest)
		rest = after(p, "thread-self");
	if (rest)
		return rest;
	pid = strtol(p, &end, 10);
	if (end == p || (*end != '/' && *end != 0))
		return NULL;
	if (pid != s->tid && pid != bawn_susp_status(s, "\nTgid:", 10))
		return NULL;
	return end + strspn(end, "/");
}

bool bawn_susp_own_proc(const struct bawn_susp *s, const char *path)
{
	return path[0] == '/' && own_proc(s, path);
}

/*
 * Start at the right directory: *base becomes the caller's descriptor or /proc directory where the
 * text says so, *path what is left. Returns 1 if the path is that descriptor itself.
 */
static int rewrite(const struct bawn_susp *s, int *base, const char **path)
{
	const char *own = own_proc(s, *path), *rest = NULL;
	int fd = -1;

	if (!own)
		return 0;
	if ((rest = after(own, "cwd")) || (rest = after(own, "root"))) {
		fd = open_of(s, own[0] == 'r' ? "root" : "cwd", O_PATH);
	} else if ((rest = after(own, "exe"))) {
		fd = open_of(s, "exe", O_PATH);
	} else if (after(own, "fd") && after(own, "fd")[0]) {
		char *end = NULL;
		const char *num = after(own, "fd");
		long n = strtol(num, &end, 10);

		if (end == num || num[0] == '-' || n > INT_MAX || (*end != '/' && *end != 0))
			return -ENOENT;
		fd = bawn_susp_base(s, (int)n);
		if (fd == -EBADF)
			return -ENOENT;
		rest = end + strspn(end, "/");
	} else {
		fd = open_of(s, "", O_PATH | O_DIRECTORY);
		rest = own;
	}
	if (fd < 0)
		return fd;
	if (*base >= 0)
		(void)close(*base);
	*base = fd;
	*path = rest;
	return rest == own || rest[0] ? 0 : 1;
}

static int open_parent(int base, const char *text)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, base < 0 ? AT_FDCWD : base, text, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Our own /proc directory is never what the caller means: it says "self" in a way we did not see.
 */
static int not_ours(const struct bawn_susp *s, int dir)
{
	char own[32], path[PATH_MAX];
	struct statfs fs;

	if (fstatfs(dir, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return 0;
	if (bawn_fd_path(dir, path) < 0)
		return -EACCES;
	(void)snprintf(own, sizeof(own), "proc/%d", s->b->self);
	return after(path + 1, own) ? -EACCES : 0;
}

/* "a/b/" → parent "a/", name "b", slash. "/" → name "/", "" (rest of a rewritten path) → ".". */
static int split(const char *path, char parent[PATH_MAX], struct bawn_place *ret)
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	ret->slash = path[end] == '/' && end > 0;
	start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	if (end == 0)
		start = strlen(path);
	memcpy(parent, path, start);
	parent[start] = 0;
	if (end == 0) {
		(void)snprintf(ret->name, sizeof(ret->name), path[0] ? "/" : ".");
		return 0;
	}
	if (end - start > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(ret->name, path + start, end - start);
	ret->name[end - start] = 0;
	return 0;
}

int bawn_susp_locate(
	const struct bawn_susp *s, int base, const char *path, bool whole, struct bawn_place *ret)
{
	_cleanup_close_ int from = base;
	char parent[PATH_MAX] = "";
	int r = 0, too_long;

	if (path[0] == '/') {
		const char *before = path;

		r = rewrite(s, &from, &path);
		if (r < 0)
			return r;
		if (r == 1 && whole) {
			ret->whole = TAKE_FD(from);
			return 0;
		}
		if (r == 1) { /* the link itself is meant: a name in /proc */
			path = strrchr(before, '/') + 1;
			ret->dir = open_of(s, strstr(before, "fd") ? "fd" : "", O_PATH);
			(void)snprintf(ret->name, sizeof(ret->name), "%s", path[0] ? path : ".");
			return ret->dir < 0 ? ret->dir : 0;
		}
	}
	too_long = split(path, parent, ret);
	if (parent[0] == 0 && from >= 0) {
		ret->dir = TAKE_FD(from);
		return too_long < 0 ? too_long : not_ours(s, ret->dir);
	}
	r = open_parent(from, parent);
	if (r < 0)
		return r;
	ret->dir = r;
	return too_long < 0 ? too_long : not_ours(s, ret->dir);
}

int bawn_susp_locate_arg(
	struct bawn_susp *s, int dirfd, unsigned int arg, bool whole, struct bawn_place *ret)
{
	char path[PATH_MAX];
	int base = -1, r = bawn_susp_string(s, s->args[arg], path, sizeof(path));

	if (r < 0)
		return r;
	if (path[0] == 0)
		return -ENOENT;
	if (path[0] != '/') {
		base = bawn_susp_base(s, dirfd);
		if (base < 0)
			return base;
	}
	return bawn_susp_locate(s, base, path, whole, ret);
}

int bawn_susp_follow(const struct bawn_susp *s, struct bawn_place *p, int link, int *ret_base,
	char text[PATH_MAX])
{
	char target[PATH_MAX], dir[PATH_MAX] = "";
	struct statfs fs;
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);

	(void)s;
	if (n < 0)
		return -errno;
	target[n] = 0;
	if (n == 0)
		return -ENOENT;
	if (fstatfs(link, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC) {
		/* Only the links of /proc itself are text; all others are magic. */
		if (bawn_fd_path(p->dir, dir) < 0 || strcmp(dir, "/proc") != 0)
			return -EACCES;
		*ret_base = -1;
		n = snprintf(text, PATH_MAX, "%s%s", target[0] == '/' ? "" : "/proc/", target);
		return n < PATH_MAX ? 0 : -ENAMETOOLONG;
	}
	*ret_base = target[0] == '/' ? -1 : TAKE_FD(p->dir);
	memcpy(text, target, (size_t)n + 1);
	return 0;
}

int bawn_susp_follow_all(const struct bawn_susp *s, struct bawn_place *p)
{
	for (int i = 0; i < LINKS_MAX && p->whole < 0; i++) {
		_cleanup_close_ int fd = -1;
		bool slash = p->slash;
		char text[PATH_MAX] = "";
		struct stat st;
		int base = -1, r;

		fd = openat(p->dir, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0)
			return -errno;
		if (!S_ISLNK(st.st_mode))
			return slash && !S_ISDIR(st.st_mode) ? -ENOTDIR : 0;
		r = bawn_susp_follow(s, p, fd, &base, text);
		if (r < 0)
			return r;
		bawn_place_done(p);
		r = bawn_susp_locate(s, base, text, true, p);
		if (r < 0)
			return r;
		p->slash |= slash;
	}
	return p->whole < 0 ? -ELOOP : 0;
}
