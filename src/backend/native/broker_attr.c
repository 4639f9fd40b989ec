/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to what is there: length, mode, owner, times, extended attributes. The object is held as
 * an O_PATH descriptor, checked by its canonical path, and changed through that very descriptor.
 * Only the Landlock tier suspends these; elsewhere mounts protect what exists.
 */

#include <errno.h>
#include <fcntl.h>
#include <utime.h>

#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>

#include "backend/native/broker_impl.h"
#include "base/cleanup.h"

#define XATTR_SIZE 65536

struct object {
	struct bawn_place place;
	int fd;
	char path[40]; /* /proc/self/fd/N */
};

static void object_done(struct object *o)
{
	bawn_place_done(&o->place);
	if (o->fd >= 0)
		(void)close(o->fd);
}
#define _cleanup_object_ _cleanup_(object_done)
#define OBJECT_NONE                                \
	{                                          \
		.place = BAWN_PLACE_NONE, .fd = -1 \
	}

/* True if the call means the descriptor itself: no path, a NULL one, or an empty one by flag. */
static int is_whole(struct bawn_susp *s, const struct bawn_op *op, int flags)
{
	char first = 1;
	int r;

	if (op->path1 < 0)
		return 1;
	if (s->args[op->path1] == 0)
		return op->act == bawn_act_utimensat || op->act == bawn_act_utimes ? 1 : -EFAULT;
	if (!(flags & AT_EMPTY_PATH))
		return 0;
	r = bawn_susp_bytes(s, s->args[op->path1], &first, 1);
	return r < 0 ? r : first == 0;
}

static int locate_object(struct bawn_susp *s, const struct bawn_op *op, int flags, struct object *o)
{
	struct bawn_place *p = &o->place;
	bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
	int r = is_whole(s, op, flags);

	if (r < 0)
		return r;
	if (r == 1) {
		p->whole = bawn_susp_base(s, bawn_op_dir(s, op->dir1));
		return p->whole < 0 ? p->whole : 0;
	}
	r = bawn_susp_locate_arg(s, bawn_op_dir(s, op->dir1), (unsigned int)op->path1, follow, p);
	if (r == 0 && (follow || p->slash))
		r = bawn_susp_follow_all(s, p);
	return r;
}

/* Find the object and ask whether it may be changed. */
static int take_object(struct bawn_susp *s, const struct bawn_op *op, int flags, struct object *o)
{
	struct bawn_place *p = &o->place;
	int r = locate_object(s, op, flags, o);

	if (r < 0)
		return r;
	o->fd = p->whole >= 0 ? fcntl(p->whole, F_DUPFD_CLOEXEC, 3)
			      : openat(p->dir, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (o->fd < 0)
		return -errno;
	(void)snprintf(o->path, sizeof(o->path), "/proc/self/fd/%d", o->fd);
	return bawn_guard_check(s, p, BAWN_CHANGE_CONTENT);
}

static long finish(const struct bawn_susp *s, const struct object *o, int r)
{
	int result = r < 0 ? -errno : 0;

	bawn_guard_failed(s, &o->place, result);
	return result;
}

long bawn_act_truncate(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_object_ struct object o = OBJECT_NONE;
	_cleanup_close_ int fd = -1;
	off_t len = (off_t)s->args[op->data];
	struct stat st;
	int r;

	if (len < 0)
		return -EINVAL;
	r = take_object(s, op, 0, &o);
	if (r < 0)
		return r;
	if (fstat(o.fd, &st) < 0 || !S_ISREG(st.st_mode))
		return finish(s, &o, truncate(o.path, len));
	/* truncate() would wait for a lease to be given up, and the broker must not wait. */
	fd = open(o.path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return finish(s, &o, fd < 0 ? -1 : ftruncate(fd, len));
}

long bawn_act_chmod(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_object_ struct object o = OBJECT_NONE;
	int r, flags = bawn_op_int(s, op->flags, op->fixed);

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	r = take_object(s, op, flags, &o);
	return r < 0 ? r : finish(s, &o, chmod(o.path, (mode_t)s->args[op->data] & 07777));
}

long bawn_act_chown(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_object_ struct object o = OBJECT_NONE;
	int r, flags = bawn_op_int(s, op->flags, op->fixed);

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	r = take_object(s, op, flags, &o);
	return r < 0 ? r
		     : finish(s, &o,
			       chown(o.path, (uid_t)s->args[op->data],
				       (gid_t)s->args[op->data + 1]));
}

static long set_times(
	struct bawn_susp *s, const struct bawn_op *op, int flags, const struct timespec *ts)
{
	_cleanup_object_ struct object o = OBJECT_NONE;
	int r = take_object(s, op, flags, &o);

	return r < 0 ? r : finish(s, &o, utimensat(AT_FDCWD, o.path, ts, 0));
}

long bawn_act_utimensat(struct bawn_susp *s, const struct bawn_op *op)
{
	uint64_t addr = s->args[op->data];
	int flags = bawn_op_int(s, op->flags, op->fixed);
	struct timespec ts[2];
	int r = addr ? bawn_susp_bytes(s, addr, ts, sizeof(ts)) : 0;

	if (r < 0)
		return r;
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	/* Nothing to set: the kernel does not even look for the file. */
	if (addr && ts[0].tv_nsec == UTIME_OMIT && ts[1].tv_nsec == UTIME_OMIT)
		return 0;
	return set_times(s, op, flags, addr ? ts : NULL);
}

long bawn_act_utimes(struct bawn_susp *s, const struct bawn_op *op)
{
	uint64_t addr = s->args[op->data];
	struct timeval tv[2] = {0};
	struct timespec ts[2];
	int r = addr ? bawn_susp_bytes(s, addr, tv, sizeof(tv)) : 0;

	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++) {
		if (tv[i].tv_usec < 0 || tv[i].tv_usec >= 1000000)
			return -EINVAL;
		ts[i] = (struct timespec){tv[i].tv_sec, tv[i].tv_usec * 1000};
	}
	return set_times(s, op, 0, addr ? ts : NULL);
}

long bawn_act_utime(struct bawn_susp *s, const struct bawn_op *op)
{
	uint64_t addr = s->args[op->data];
	struct utimbuf t = {0};
	int r = addr ? bawn_susp_bytes(s, addr, &t, sizeof(t)) : 0;
	struct timespec ts[2] = {{t.actime, 0}, {t.modtime, 0}};

	return r < 0 ? r : set_times(s, op, 0, addr ? ts : NULL);
}

static int xattr_name(struct bawn_susp *s, uint64_t addr, char name[256])
{
	int r = bawn_susp_string(s, addr, name, 256);

	if (r == -ENAMETOOLONG || (r == 0 && name[0] == 0))
		return -ERANGE;
	return r;
}

long bawn_act_setxattr(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_object_ struct object o = OBJECT_NONE;
	_cleanup_free_ char *value = NULL;
	uint64_t size = s->args[op->data + 2];
	int flags = (int)(uint32_t)s->args[op->data + 3];
	char name[256];
	int r;

	if (flags & ~(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	r = xattr_name(s, s->args[op->data], name);
	if (r < 0)
		return r;
	if (size > XATTR_SIZE)
		return -E2BIG;
	value = malloc((size_t)size + 1);
	if (!value)
		return -ENOMEM;
	r = size ? bawn_susp_bytes(s, s->args[op->data + 1], value, (size_t)size) : 0;
	if (r == 0)
		r = take_object(s, op, op->fixed, &o);
	return r < 0 ? r : finish(s, &o, setxattr(o.path, name, value, (size_t)size, flags));
}

long bawn_act_removexattr(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_object_ struct object o = OBJECT_NONE;
	char name[256];
	int r = xattr_name(s, s->args[op->data], name);

	if (r == 0)
		r = take_object(s, op, op->fixed, &o);
	return r < 0 ? r : finish(s, &o, removexattr(o.path, name));
}
