/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row per system call: which arguments are what, and the function that does it. Everything acts
 * on (directory descriptor, name); the kernel itself decides about all that is not policy, so its
 * errors are the caller's errors.
 */

#include <errno.h>
#include <fcntl.h>

#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "backend/native/broker_impl.h"
#include "base/cleanup.h"

int bawn_op_int(const struct bawn_susp *s, int arg, int none)
{
	return arg < 0 ? none : (int)(uint32_t)s->args[arg];
}

int bawn_op_dir(const struct bawn_susp *s, int arg)
{
	return bawn_op_int(s, arg, AT_FDCWD);
}

static int locate1(struct bawn_susp *s, const struct bawn_op *op, bool whole, struct bawn_place *p)
{
	return bawn_susp_locate_arg(s, bawn_op_dir(s, op->dir1), (unsigned int)op->path1, whole, p);
}

/* The name with one slash behind it if the caller wrote some: the kernel knows what that means. */
static const char *spelled(struct bawn_place *p)
{
	size_t n = strlen(p->name);

	if (p->slash && n < sizeof(p->name) - 1)
		memcpy(p->name + n, "/", 2);
	p->slash = false;
	return p->name;
}

static long result_of(const struct bawn_susp *s, struct bawn_place *p, long r)
{
	long result = r < 0 ? -errno : r;
	size_t n = strlen(p->name);

	if (n > 1 && p->name[n - 1] == '/')
		p->name[n - 1] = 0;
	bawn_guard_failed(s, p, (int)result);
	return result;
}

static long act_open(struct bawn_susp *s, const struct bawn_op *op)
{
	int flags = bawn_op_int(s, op->flags, op->fixed);

	/* Such a descriptor gives no access and cannot be handed over; flags are in registers. */
	if (flags & O_PATH)
		return BAWN_CONTINUE;
	bawn_broker_open(s, bawn_op_dir(s, op->dir1), (unsigned int)op->path1, flags,
		(mode_t)bawn_op_int(s, op->data, 0));
	return BAWN_ANSWERED;
}

static long act_mkdir(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_place_ struct bawn_place p = BAWN_PLACE_NONE;
	mode_t old;
	long r = locate1(s, op, false, &p);

	if (r == 0)
		r = bawn_guard_check(s, &p, BAWN_CHANGE_MAKE);
	if (r < 0)
		return r;
	old = bawn_susp_umask(s);
	r = mkdirat(p.dir, spelled(&p), (mode_t)bawn_op_int(s, op->data, 0));
	r = result_of(s, &p, r);
	(void)umask(old);
	return r;
}

static long act_mknod(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_place_ struct bawn_place p = BAWN_PLACE_NONE;
	mode_t old, mode = (mode_t)bawn_op_int(s, op->data, 0) & ~(mode_t)S_ISUID;
	long r;

	if (S_ISCHR(mode) || S_ISBLK(mode))
		return -EPERM;
	r = locate1(s, op, false, &p);
	if (r == 0)
		r = bawn_guard_check(s, &p, BAWN_CHANGE_MAKE);
	if (r < 0)
		return r;
	old = bawn_susp_umask(s);
	r = mknodat(p.dir, spelled(&p), mode, 0);
	r = result_of(s, &p, r);
	(void)umask(old);
	return r;
}

/* path1 is the text of the link, path2 where it is put. */
static long act_symlink(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_place_ struct bawn_place p = BAWN_PLACE_NONE;
	char text[PATH_MAX];
	long r = bawn_susp_string(s, s->args[op->path1], text, sizeof(text));

	if (r == 0 && text[0] == 0)
		r = -ENOENT;
	if (r == 0)
		r = bawn_susp_locate_arg(
			s, bawn_op_dir(s, op->dir2), (unsigned int)op->path2, false, &p);
	if (r == 0)
		r = bawn_guard_check(s, &p, BAWN_CHANGE_PUT);
	if (r < 0)
		return r;
	r = symlinkat(text, p.dir, spelled(&p));
	return result_of(s, &p, r);
}

/* What is linked: a place, or a whole descriptor (AT_EMPTY_PATH, or /proc/self/fd/N followed). */
static long link_source(
	struct bawn_susp *s, const struct bawn_op *op, int flags, struct bawn_place *p)
{
	char first = 0;

	if (flags & AT_EMPTY_PATH) {
		long r = bawn_susp_bytes(s, s->args[op->path1], &first, 1);

		if (r < 0)
			return r;
		if (first == 0) {
			p->whole = bawn_susp_base(s, bawn_op_dir(s, op->dir1));
			return p->whole < 0 ? p->whole : 0;
		}
	}
	return locate1(s, op, flags & AT_SYMLINK_FOLLOW, p);
}

static long do_link(struct bawn_place *from, struct bawn_place *to)
{
	char path[40];

	if (from->whole < 0)
		return linkat(from->dir, spelled(from), to->dir, spelled(to), 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", from->whole);
	return linkat(AT_FDCWD, path, to->dir, spelled(to), AT_SYMLINK_FOLLOW);
}

static long act_link(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_place_ struct bawn_place from = BAWN_PLACE_NONE;
	_cleanup_place_ struct bawn_place to = BAWN_PLACE_NONE;
	int flags = bawn_op_int(s, op->flags, op->fixed);
	long r;

	if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	r = link_source(s, op, flags, &from);
	if (r == 0 && (flags & AT_SYMLINK_FOLLOW))
		r = bawn_susp_follow_all(s, &from);
	if (r == 0)
		r = bawn_susp_locate_arg(
			s, bawn_op_dir(s, op->dir2), (unsigned int)op->path2, false, &to);
	/* A second name for a protected file would be a way around its protection. */
	if (r == 0)
		r = bawn_guard_check(s, &from, BAWN_CHANGE_CONTENT);
	if (r == 0)
		r = bawn_guard_check(s, &to, BAWN_CHANGE_PUT);
	if (r < 0)
		return r;
	r = do_link(&from, &to);
	return result_of(s, &to, r);
}

static long act_rename(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_place_ struct bawn_place from = BAWN_PLACE_NONE;
	_cleanup_place_ struct bawn_place to = BAWN_PLACE_NONE;
	unsigned int flags = (unsigned int)bawn_op_int(s, op->flags, op->fixed);
	long result, r = locate1(s, op, false, &from);

	if (r == 0)
		r = bawn_susp_locate_arg(
			s, bawn_op_dir(s, op->dir2), (unsigned int)op->path2, false, &to);
	if (r == 0)
		r = bawn_guard_check(s, &to, BAWN_CHANGE_PUT);
	if (r == 0)
		r = bawn_guard_check(
			s, &from, flags & RENAME_EXCHANGE ? BAWN_CHANGE_PUT : BAWN_CHANGE_AWAY);
	if (r < 0)
		return r;
	r = syscall(SYS_renameat2, from.dir, spelled(&from), to.dir, spelled(&to), flags);
	result = result_of(s, &to, r);
	if (result == -EBUSY || result == -EXDEV) /* one of the two may be kept by a mount */
		bawn_guard_failed(s, &from, (int)result);
	return result;
}

static long act_unlink(struct bawn_susp *s, const struct bawn_op *op)
{
	_cleanup_place_ struct bawn_place p = BAWN_PLACE_NONE;
	int flags = bawn_op_int(s, op->flags, op->fixed);
	long r;

	if (flags & ~AT_REMOVEDIR)
		return -EINVAL;
	r = locate1(s, op, false, &p);
	if (r == 0)
		r = bawn_guard_check(s, &p, BAWN_CHANGE_AWAY);
	if (r < 0)
		return r;
	r = unlinkat(p.dir, spelled(&p), flags);
	return result_of(s, &p, r);
}

/* Not a matter of policy: only to know that it was changed. */
static long act_umask(struct bawn_susp *s, const struct bawn_op *op)
{
	(void)op;
	s->b->umask_changed = true;
	return BAWN_CONTINUE;
}

#define ROW(sys, fn, d1, p1, d2, p2, fl, mo, fix)                                             \
	{                                                                                     \
		.nr = SYS_##sys, .act = fn, .dir1 = d1, .path1 = p1, .dir2 = d2, .path2 = p2, \
		.flags = fl, .data = mo, .fixed = fix                                         \
	}

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* clang-format off */
const struct bawn_op bawn_broker_ops[] = {
	/*  call       function     dir1 path1 dir2 path2 flags data  flags without an argument */
	ROW(openat,       act_open,       0,  1, -1, -1,  2,  3, 0),
	ROW(mkdirat,      act_mkdir,      0,  1, -1, -1, -1,  2, 0),
	ROW(mknodat,      act_mknod,      0,  1, -1, -1, -1,  2, 0),
	ROW(symlinkat,    act_symlink,   -1,  0,  1,  2, -1, -1, 0),
	ROW(linkat,       act_link,       0,  1,  2,  3,  4, -1, 0),
	ROW(renameat,     act_rename,     0,  1,  2,  3, -1, -1, 0),
	ROW(renameat2,    act_rename,     0,  1,  2,  3,  4, -1, 0),
	ROW(connect,      bawn_act_connect,     -1, -1, -1, -1, -1, -1, 0),
	ROW(bind,         bawn_act_bind,        -1, -1, -1, -1, -1, -1, 0),
	ROW(umask,        act_umask,     -1, -1, -1, -1, -1, -1, 0),
	ROW(unlinkat,     act_unlink,     0,  1, -1, -1,  2, -1, 0),
	ROW(truncate,     bawn_act_truncate,    -1,  0, -1, -1, -1,  1, 0),
	ROW(fchmod,       bawn_act_chmod,        0, -1, -1, -1, -1,  1, 0),
	ROW(fchmodat,     bawn_act_chmod,        0,  1, -1, -1, -1,  2, 0),
	ROW(fchmodat2,    bawn_act_chmod,        0,  1, -1, -1,  3,  2, 0),
	ROW(fchown,       bawn_act_chown,        0, -1, -1, -1, -1,  1, 0),
	ROW(fchownat,     bawn_act_chown,        0,  1, -1, -1,  4,  2, 0),
	ROW(utimensat,    bawn_act_utimensat,    0,  1, -1, -1,  3,  2, 0),
	ROW(setxattr,     bawn_act_setxattr,    -1,  0, -1, -1, -1,  1, 0),
	ROW(lsetxattr,    bawn_act_setxattr,    -1,  0, -1, -1, -1,  1, AT_SYMLINK_NOFOLLOW),
	ROW(fsetxattr,    bawn_act_setxattr,     0, -1, -1, -1, -1,  1, 0),
	ROW(removexattr,  bawn_act_removexattr, -1,  0, -1, -1, -1,  1, 0),
	ROW(lremovexattr, bawn_act_removexattr, -1,  0, -1, -1, -1,  1, AT_SYMLINK_NOFOLLOW),
	ROW(fremovexattr, bawn_act_removexattr,  0, -1, -1, -1, -1,  1, 0),
#ifdef SYS_open /* machines with the calls of old */
	ROW(open,         act_open,      -1,  0, -1, -1,  1,  2, 0),
	ROW(creat,        act_open,      -1,  0, -1, -1, -1,  1, O_CREAT | O_WRONLY | O_TRUNC),
	ROW(mkdir,        act_mkdir,     -1,  0, -1, -1, -1,  1, 0),
	ROW(mknod,        act_mknod,     -1,  0, -1, -1, -1,  1, 0),
	ROW(symlink,      act_symlink,   -1,  0, -1,  1, -1, -1, 0),
	ROW(link,         act_link,      -1,  0, -1,  1, -1, -1, 0),
	ROW(rename,       act_rename,    -1,  0, -1,  1, -1, -1, 0),
	ROW(unlink,       act_unlink,    -1,  0, -1, -1, -1, -1, 0),
	ROW(rmdir,        act_unlink,    -1,  0, -1, -1, -1, -1, AT_REMOVEDIR),
	ROW(chmod,        bawn_act_chmod,       -1,  0, -1, -1, -1,  1, 0),
	ROW(chown,        bawn_act_chown,       -1,  0, -1, -1, -1,  1, 0),
	ROW(lchown,       bawn_act_chown,       -1,  0, -1, -1, -1,  1, AT_SYMLINK_NOFOLLOW),
	ROW(utime,        bawn_act_utime,       -1,  0, -1, -1, -1,  1, 0),
	ROW(utimes,       bawn_act_utimes,      -1,  0, -1, -1, -1,  1, 0),
	ROW(futimesat,    bawn_act_utimes,       0,  1, -1, -1, -1,  2, 0),
#endif
};
/* clang-format on */
const size_t bawn_broker_n_ops = sizeof(bawn_broker_ops) / sizeof(bawn_broker_ops[0]);
