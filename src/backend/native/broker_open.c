/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening on behalf of the caller. What exists is opened as O_PATH first and then by that very
 * descriptor, so it cannot be exchanged for something that blocks the broker; what does not exist
 * is created exclusively, so that it is ours or nobody's. Opening a FIFO may block: a short-lived
 * child does that.
 */

#include <errno.h>
#include <fcntl.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "backend/native/broker_impl.h"
#include "base/cleanup.h"
#include "base/io.h"

#define LINKS_MAX   40
#define RETRIES_MAX 100
#define AGAIN       1 /* something changed under us, or a symlink was followed: look again */
#define ANSWERED    2
#define SLOW        3 /* not the usual case */

struct opening {
	struct bawn_susp *s;
	int flags;
	mode_t mode;
	int base;
	char path[PATH_MAX];
	unsigned int links;
	bool need_dir; /* slashes behind the path: follow, and it must be a directory */
	int fd;        /* the result */
	bool late;     /* it may be closed after the caller goes on */
};

/* Open the very thing that `fd` (O_PATH) is. With `wait` it may block. */
static int reopen(const struct opening *o, int fd, bool wait)
{
	int r, drop = O_CREAT | O_NOFOLLOW | (o->flags & O_CREAT ? O_EXCL : 0);
	bool makes = (o->flags & O_TMPFILE) == O_TMPFILE;
	bool added = !wait && !(o->flags & O_NONBLOCK);
	mode_t old = makes ? bawn_susp_umask(o->s) : 0;
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = open(path, (o->flags & ~drop) | O_NOCTTY | O_CLOEXEC | (added ? O_NONBLOCK : 0),
		o->mode);
	r = r < 0 ? -errno : r;
	if (makes)
		(void)umask(old);
	if (r >= 0 && added)
		(void)fcntl(r, F_SETFL, o->flags);
	return r;
}

/* In the child: wait for the other end, looking now and then whether the caller still waits. */
static void open_waiting(const struct opening *o, int fifo)
{
	int fd;

	bawn_child_begin(true);
	do
		fd = reopen(o, fifo, true);
	while (fd == -EINTR && bawn_susp_alive(o->s));
	bawn_tick_off(NULL);
	if (fd < 0)
		bawn_susp_answer(o->s, fd);
	else
		bawn_susp_answer_fd(o->s, fd, o->flags & O_CLOEXEC, false);
}

static int open_in_child(struct opening *o, int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		open_waiting(o, fd);
		_exit(0);
	}
	return ANSWERED;
}

static bool fifo_waits(const struct opening *o, mode_t type)
{
	return S_ISFIFO(type) && !(o->flags & O_NONBLOCK) && (o->flags & O_ACCMODE) != O_RDWR;
}

/* In a directory for everybody, a stranger's link or file is a trap: the kernel's
 * protected_symlinks and protected_regular, which do not see what the broker does on behalf of the
 * caller. */
static bool is_trap(const struct bawn_place *p, const struct stat *st)
{
	struct stat dir;

	if (p->whole >= 0 || st->st_uid == geteuid() || fstat(p->dir, &dir) < 0)
		return false;
	return (dir.st_mode & S_ISVTX) && (dir.st_mode & S_IWOTH) && st->st_uid != dir.st_uid;
}

/* The device number of the caller's terminal, 0 if it has none: the fifth field behind the name. */
static dev_t caller_tty(const struct bawn_susp *s)
{
	char text[1024], *p = NULL;
	long tty = 0;

	if (bawn_susp_proc(s) >= 0 &&
		bawn_read_small(bawn_susp_proc(s), "stat", text, sizeof(text)) >= 0)
		p = strrchr(text, ')');
	if (!p || strlen(p) < 4)
		return 0;
	p += 3; /* ") S" */
	for (int i = 0; i < 4; i++)
		tty = strtol(p, &p, 10);
	return (dev_t)tty;
}

/* /dev/tty is the terminal of whoever opens it: find the caller's. */
static int open_tty(struct opening *o)
{
	dev_t tty = caller_tty(o->s);
	char path[40];
	struct stat st;

	if (major(tty) < 136 || major(tty) > 143)
		return -ENXIO;
	(void)snprintf(path, sizeof(path), "/dev/pts/%u", (major(tty) - 136) * 256 + minor(tty));
	o->fd = open(path, (o->flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NOCTTY | O_CLOEXEC, 0);
	if (o->fd < 0)
		return -errno;
	if (fstat(o->fd, &st) < 0 || st.st_rdev != tty) {
		(void)close(o->fd);
		return -ENXIO;
	}
	return 0;
}

static enum bawn_change change_of(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) ? BAWN_CHANGE_CONTENT
								    : BAWN_CHANGE_READ;
}

static int open_existing(
	struct opening *o, const struct bawn_place *p, int fd, const struct stat *st)
{
	int r;

	if ((o->flags & O_CREAT) && S_ISDIR(st->st_mode))
		return -EISDIR;
	if ((o->flags & O_CREAT) && (S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode)) &&
		is_trap(p, st))
		return -EACCES;
	r = bawn_guard_check(o->s, p, change_of(o->flags));
	if (r < 0)
		return r;
	if (fifo_waits(o, st->st_mode))
		return open_in_child(o, fd);
	if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(5, 0))
		return open_tty(o);
	o->fd = reopen(o, fd, false);
	if (o->fd == -EWOULDBLOCK && !(o->flags & O_NONBLOCK)) /* a lease must be given up first */
		return open_in_child(o, fd);
	if (o->fd >= 0)
		return 0;
	if (change_of(o->flags) == BAWN_CHANGE_CONTENT)
		bawn_guard_failed(o->s, p, o->fd);
	return o->fd;
}

static int open_link(struct opening *o, struct bawn_place *p, int link)
{
	int r;

	if (o->flags & O_NOFOLLOW && !o->need_dir)
		return -ELOOP;
	if (++o->links > LINKS_MAX)
		return -ELOOP;
	r = bawn_susp_follow(o->s, p, link, &o->base, o->path);
	return r < 0 ? r : AGAIN;
}

static int open_new(struct opening *o, const struct bawn_place *p)
{
	mode_t old;
	int r;

	if (!(o->flags & O_CREAT))
		return -ENOENT;
	r = bawn_guard_check(o->s, p, BAWN_CHANGE_MAKE);
	if (r < 0)
		return r;
	old = bawn_susp_umask(o->s);
	o->fd = openat(p->dir, p->name, o->flags | O_EXCL | O_NOCTTY | O_CLOEXEC, o->mode);
	r = o->fd < 0 ? -errno : 0;
	(void)umask(old);
	if (r == -EEXIST && !(o->flags & O_EXCL))
		return AGAIN;
	bawn_guard_failed(o->s, p, r);
	return r;
}

/*
 * The usual case, a regular file, by its name: nothing in the sandbox can put another thing there
 * meanwhile, as that takes a call that waits for us. Should the host do it, the wrong thing was
 * opened without waiting and without a change, and we look again.
 */
static int open_regular(struct opening *o, const struct bawn_place *p, const struct stat *st)
{
	int flags = (o->flags & ~(O_CREAT | O_TRUNC)) | O_NOFOLLOW | O_NONBLOCK;
	_cleanup_close_ int fd = -1;
	struct stat got;
	int r;

	if ((o->flags & O_CREAT) && is_trap(p, st))
		return -EACCES;
	r = bawn_guard_check(o->s, p, change_of(o->flags));
	if (r < 0)
		return r;
	fd = openat(p->dir, p->name, flags | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &got) < 0 || got.st_ino != st->st_ino || got.st_dev != st->st_dev)
		return SLOW;
	if ((o->flags & O_TRUNC) && ftruncate(fd, 0) < 0)
		return SLOW;
	if (!(o->flags & O_NONBLOCK))
		(void)fcntl(fd, F_SETFL, o->flags);
	o->late = (o->flags & O_ACCMODE) == O_RDONLY;
	o->fd = TAKE_FD(fd);
	return 0;
}

/* Try it in the quick way; SLOW if that is not possible. */
static int open_quick(struct opening *o, const struct bawn_place *p)
{
	struct stat st;

	if (p->whole >= 0 || o->need_dir || (o->flags & O_TMPFILE))
		return SLOW;
	if (fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? open_new(o, p) : SLOW;
	if (!S_ISREG(st.st_mode) || (o->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) ||
		((o->flags & O_TRUNC) && (o->flags & O_ACCMODE) == O_RDONLY))
		return SLOW;
	return open_regular(o, p, &st);
}

/* One step: 0 and o->fd, AGAIN, ANSWERED or a negative errno. */
static int open_step(struct opening *o)
{
	_cleanup_place_ struct bawn_place p = BAWN_PLACE_NONE;
	_cleanup_close_ int fd = -1;
	struct stat st;
	int base = o->base, r;
	bool slash;

	o->base = -1;
	slash = o->path[strlen(o->path) - 1] == '/';
	r = bawn_susp_locate(o->s, base, o->path, slash || !(o->flags & O_NOFOLLOW), &p);
	if (r < 0)
		return r;
	if (slash && (o->flags & O_CREAT) && p.name[0] != '/')
		return -EISDIR;
	o->need_dir |= slash;
	r = open_quick(o, &p);
	if (r != SLOW)
		return r;
	fd = p.whole >= 0 ? fcntl(p.whole, F_DUPFD_CLOEXEC, 3)
			  : openat(p.dir, p.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? open_new(o, &p) : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if ((o->flags & O_CREAT) && (o->flags & O_EXCL))
		return -EEXIST;
	if (S_ISLNK(st.st_mode))
		return is_trap(&p, &st) ? -EACCES : open_link(o, &p, fd);
	if (o->need_dir && !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return open_existing(o, &p, fd, &st);
}

static int open_prepare(struct opening *o, int dirfd, unsigned int path_arg)
{
	int r;

	/* The kernel's own opinion of the flags comes before everything else; it has one of these.
	 */
	if ((o->flags & O_TMPFILE) && openat(-1, "x", o->flags, o->mode) < 0 && errno == EINVAL)
		return -EINVAL;
	r = bawn_susp_string(o->s, o->s->args[path_arg], o->path, sizeof(o->path));
	if (r < 0)
		return r;
	if (o->path[0] == 0)
		return -ENOENT;
	if (o->path[0] == '/')
		return 0;
	o->base = bawn_susp_base(o->s, dirfd);
	return o->base < 0 ? o->base : 0;
}

void bawn_broker_open(struct bawn_susp *s, int dirfd, unsigned int path_arg, int flags, mode_t mode)
{
	struct opening o = {.s = s, .flags = flags, .mode = mode & 03777, .base = -1, .fd = -1};
	int r = open_prepare(&o, dirfd, path_arg);

	for (unsigned int i = 0; r == 0 || r == AGAIN; i++) {
		r = i < RETRIES_MAX ? open_step(&o) : -EAGAIN;
		if (r == 0)
			break;
	}
	if (o.base >= 0)
		(void)close(o.base);
	if (r == ANSWERED)
		return;
	if (r < 0)
		bawn_susp_answer(s, r);
	else
		bawn_susp_answer_fd(s, o.fd, flags & O_CLOEXEC, o.late);
}
