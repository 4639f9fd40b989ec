/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second wall behind the mounts, and the first one where there are none. Every right of the
 * running ABI is handled; what the plan does not grant is refused. A rule that cannot be added is
 * an error, never skipped.
 */
#include <errno.h>
#include <fcntl.h>

#include <linux/landlock.h>

#include "backend/native/hole.h"
#include "backend/native/wall.h"
#include "base/cleanup.h"
#include "base/sys.h"

/* Rights and scopes newer than the headers of Debian 12. */
#define FS_TRUNCATE         (UINT64_C(1) << 14) /* ABI 3 */
#define FS_IOCTL_DEV        (UINT64_C(1) << 15) /* ABI 5 */
#define NET_BIND            (UINT64_C(1) << 0)  /* ABI 4 */
#define NET_CONNECT         (UINT64_C(1) << 1)
#define SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0) /* ABI 6 */
#define SCOPE_SIGNAL        (UINT64_C(1) << 1)

#define FS_ABI1 ((UINT64_C(1) << 13) - 1) /* EXECUTE … MAKE_SYM */
#define READ    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define DIR_ONLY                                                        \
	(~(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
		LANDLOCK_ACCESS_FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV))
#define NODE \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_IOCTL_DEV | FS_TRUNCATE)
/* nothing grants the making of devices */
#define WRITE (~(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | FS_IOCTL_DEV))

int bawn_landlock_abi(void)
{
	int abi = bawn_landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : abi;
}

static uint64_t handled_fs(int abi)
{
	return FS_ABI1 | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) |
	       (abi >= 5 ? FS_IOCTL_DEV : 0);
}

struct rules {
	int fd;
	uint64_t handled;
};

static int allow(const struct rules *r, const char *path, uint64_t access, struct bawn_error *err)
{
	struct bawn_landlock_path_beneath rule = {.allowed_access = access & r->handled};
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	int e;

	if (fd < 0)
		return errno == ENOENT ? -ENOENT
				       : bawn_fail(err, BAWN_ERR_BACKEND, -errno,
						 "landlock: cannot open '%s': %m", path);
	rule.parent_fd = fd;
	e = bawn_landlock_add_path(r->fd, &rule);
	if (e < 0 && errno == EINVAL) { /* not a directory: rights that only directories have are
					   refused */
		rule.allowed_access &= ~DIR_ONLY;
		e = bawn_landlock_add_path(r->fd, &rule);
	}
	if (e < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "landlock: cannot grant '%s': %m", path);
	return 0;
}

static uint64_t access_of(const struct bawn_mount *m)
{
	uint64_t exec = m->no_exec ? 0 : (uint64_t)LANDLOCK_ACCESS_FS_EXECUTE;

	switch (m->kind) {
	case BAWN_MNT_RO:
	case BAWN_MNT_FILE:
		return READ | exec;
	case BAWN_MNT_RW:
	case BAWN_MNT_SCRATCH:
		return m->pin ? 0 : (WRITE & ~LANDLOCK_ACCESS_FS_EXECUTE) | exec;
	case BAWN_MNT_DEVICE:
		return LANDLOCK_ACCESS_FS_READ_DIR | NODE;
	case BAWN_MNT_SOCKET:
	case BAWN_MNT_SYMLINK:
	case BAWN_MNT_HIDE:
		return 0;
	}
	return 0;
}

static int allow_plan(const struct rules *r, const struct bawn_plan *plan, struct bawn_error *err)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		const struct bawn_mount *m = &plan->mounts[i];
		uint64_t access = access_of(m);
		int e;

		if (!access)
			continue;
		e = allow(r, m->dst, access, err);
		if (e == -ENOENT && m->optional)
			continue;
		if (e == -ENOENT)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, e, "landlock: '%s' is gone", m->dst);
		if (e < 0)
			return e;
	}
	return 0;
}

/* The fresh root holds nothing but what was granted: few rules do. */
static const struct basic {
	const char *path;
	uint64_t access;
} basics_full[] = {
	{"/proc", READ},
	{"/dev", LANDLOCK_ACCESS_FS_READ_DIR | NODE},
	{"/", LANDLOCK_ACCESS_FS_READ_DIR},
	{NULL, 0},
};

static const struct basic basics_landlock[] = {
	{"/proc", READ},
	{"/dev/null", NODE},
	{"/dev/zero", NODE},
	{"/dev/full", NODE},
	{"/dev/random", NODE},
	{"/dev/urandom", NODE},
	{"/dev/tty", NODE},
	{"/dev/pts", LANDLOCK_ACCESS_FS_READ_DIR | NODE},
	{NULL, 0},
};

static int allow_basics(const struct rules *r, const struct bawn_plan *plan, struct bawn_error *err)
{
	const struct basic *b = plan->tier == BAWN_TIER_LANDLOCK ? basics_landlock : basics_full;

	for (; b->path; b++) {
		int e = allow(r, b->path, b->access, err);

		if (e < 0 && e != -ENOENT)
			return e;
	}
	if (!plan->backend.image)
		return 0;
	/* its directories are not among the mounts */
	return allow(r, "/",
		READ | LANDLOCK_ACCESS_FS_EXECUTE | (plan->backend.image_writable ? WRITE : 0),
		err);
}

int bawn_wall_landlock(const struct bawn_plan *plan, struct bawn_error *err)
{
	int abi = bawn_landlock_abi();
	struct bawn_landlock_ruleset_attr attr = {.handled_access_fs = handled_fs(abi)};
	size_t size = sizeof(attr.handled_access_fs);
	_cleanup_close_ int fd = -1;
	int e;

	if (abi < 1)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"this kernel has no Landlock (add 'landlock' to the lsm= boot option)");
	if (abi >= 4) {
		/* a network namespace has its own loopback, which programs may use freely */
		if (plan->tier == BAWN_TIER_LANDLOCK || plan->net_closed)
			attr.handled_access_net = NET_BIND | NET_CONNECT;
		size += sizeof(attr.handled_access_net);
	}
	if (abi >= 6) {
		attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
		size += sizeof(attr.scoped);
	}
	fd = bawn_landlock_create_ruleset(&attr, size, 0);
	if (fd < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "landlock: cannot make a ruleset: %m");
	struct rules r = {.fd = fd, .handled = attr.handled_access_fs};
	e = allow_basics(&r, plan, err);
	if (e == 0)
		e = allow_plan(&r, plan, err);
	if (e < 0)
		return e;
	if (!HOLE("landlock") && bawn_landlock_restrict_self(fd, 0) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "landlock: cannot restrict: %m");
	return abi;
}
