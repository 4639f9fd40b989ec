/* SPDX-License-Identifier: Apache-2.0 */
/* Who the command is: the id maps of its user namespace, no capabilities. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>

#include <linux/capability.h>
#include <sys/prctl.h>

#include "backend/native/hole.h"
#include "backend/native/wall.h"
#include "base/io.h"
#include "base/sys.h"

int bawn_wall_identity(uid_t uid, gid_t gid, struct bawn_error *err)
{
	char map[64];
	int r;

	/* an unprivileged process may map its own ids only, and only once it has given up setgroups
	 */
	r = bawn_write_small(AT_FDCWD, "/proc/self/setgroups", "deny");
	if (r == 0) {
		(void)snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
		r = bawn_write_small(AT_FDCWD, "/proc/self/uid_map", map);
	}
	if (r == 0) {
		(void)snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
		r = bawn_write_small(AT_FDCWD, "/proc/self/gid_map", map);
	}
	if (r < 0) {
		errno = -r;
		return bawn_fail(
			err, BAWN_ERR_BACKEND, r, "cannot map ids into the user namespace: %m");
	}
	return 0;
}

int bawn_wall_no_groups(struct bawn_error *err)
{
	/* a user namespace of somebody else's may have given up setgroups for good */
	if (setgroups(0, NULL) < 0 && getgroups(0, NULL) != 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot drop supplementary groups: %m");
	return 0;
}

int bawn_wall_no_bounding(struct bawn_error *err)
{
	if (HOLE("caps"))
		return 0;
	/* EINVAL: past the last capability of this kernel. EPERM at the first: not ours to drop, so
	 * not ours to use: without CAP_SETPCAP the bounding set stays, but no_new_privs makes it
	 * meaningless.
	 */
	for (int cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL || (errno == EPERM && cap == 0))
			break;
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot drop capability %d: %m", cap);
	}
	return 0;
}

int bawn_wall_no_privilege(struct bawn_error *err)
{
	struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}};

	if (!HOLE("nnp") && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot set no_new_privs: %m");
	if (HOLE("caps"))
		return 0;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot clear ambient capabilities: %m");
	if (syscall(SYS_capset, &hdr, none) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot drop capabilities: %m");
	return 0;
}
