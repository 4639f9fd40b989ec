/* SPDX-License-Identifier: Apache-2.0 */
/* See mountfs.h. */
#include "backend/native/mountfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include <sys/stat.h>

#include "backend/native/hole.h"
#include "base/cleanup.h"
#include "base/sys.h"

const struct bawn_proc_mask bawn_proc_masked[] = {
	{"/proc/acpi", true},
	{"/proc/asound", true},
	{"/proc/scsi", true},
	{"/proc/kcore", false},
	{"/proc/key-users", false},
	{"/proc/keys", false},
	{"/proc/kmsg", false},
	{"/proc/latency_stats", false},
	{"/proc/sched_debug", false},
	{"/proc/sysrq-trigger", false},
	{"/proc/timer_list", false},
	{"/proc/timer_stats", false},
	{NULL, false},
};

int bawn_mount_new(
	const char *type, const char *const *options, unsigned attrs, struct bawn_error *err)
{
	_cleanup_close_ int ctx = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (ctx < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a %s: %m", type);
	for (; *options; options += 2)
		if (fsconfig(ctx, FSCONFIG_SET_STRING, options[0], options[1], 0) < 0)
			return bawn_fail(err, BAWN_ERR_BACKEND, -errno,
				"cannot set %s=%s on a %s: %m", options[0], options[1], type);
	if (fsconfig(ctx, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a %s: %m", type);
	fd = fsmount(ctx, FSMOUNT_CLOEXEC, attrs);
	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot mount a %s: %m", type);
	return fd;
}

int bawn_mount_clone(int dirfd, const char *src, uint64_t attrs)
{
	const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
			       AT_SYMLINK_NOFOLLOW | (*src ? 0 : AT_EMPTY_PATH);
	struct mount_attr attr = {.attr_set = attrs};
	_cleanup_close_ int fd = open_tree(dirfd, src, flags);

	if (fd < 0)
		return -errno;
	if (attrs && mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* One per 4 KiB, as many as a disk would have; never so many that they eat the host's memory. */
void bawn_mount_inodes(uint64_t bytes, char ret[32])
{
	(void)snprintf(ret, 32, "%llu",
		(unsigned long long)(bytes / 4096 < 64       ? 64
				     : bytes / 4096 > 262144 ? 262144
							     : bytes / 4096));
}

int bawn_mount_scratch(uint64_t bytes, struct bawn_error *err)
{
	char size[32], inodes[32];
	const char *options[] = {"mode", "0755", "size", size, "nr_inodes", inodes, NULL};
	_cleanup_close_ int fd = -1;

	bawn_mount_inodes(bytes, inodes);
	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
	if (bytes == BAWN_UNLIMITED || HOLE("disk"))
		options[2] = NULL;
	fd = bawn_mount_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
	if (fd < 0)
		return fd;
	if (mkdirat(fd, "none-dir", 0) < 0 || mknodat(fd, "none", S_IFREG, 0) < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot make the private space: %m");
	return TAKE_FD(fd);
}

int bawn_mount_scratch_size(int scratch, uint64_t bytes, struct bawn_error *err)
{
	char size[32], inodes[32];
	_cleanup_close_ int fs = -1;

	if (bytes == BAWN_UNLIMITED || HOLE("disk"))
		return 0;
	bawn_mount_inodes(bytes, inodes);
	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
	fs = fspick(scratch, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "size", size, 0) < 0 ||
		fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) < 0 ||
		fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot limit the private space: %m");
	return 0;
}
