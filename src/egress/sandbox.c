/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door's own sandbox. It reads what strangers send, so it keeps nothing that would be worth
 * taking: no capability, no file, no program to start, no new privilege, and of the system calls
 * those that move bytes between sockets. A part the kernel does not have (Landlock) is left out; a
 * part that fails is fatal.
 */
#include <errno.h>

#include <sys/resource.h>

#include "base/confine.h"
#include "base/sys.h"
#include "door-seccomp.h"
#include "egress/door.h"

/* Landlock: every right, granted to nothing. */
#define FS_ABI1             ((UINT64_C(1) << 13) - 1)
#define FS_REFER            (UINT64_C(1) << 13)
#define FS_TRUNCATE         (UINT64_C(1) << 14)
#define FS_IOCTL_DEV        (UINT64_C(1) << 15)
#define NET_BIND            (UINT64_C(1) << 0)
#define SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0)
#define SCOPE_SIGNAL        (UINT64_C(1) << 1)
#define LANDLOCK_VERSION    1U

int sandbox_before(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	return bawn_confine_begin();
}

#ifndef BAWN_SANITIZED
static int landlock(void)
{
	int abi = bawn_landlock_create_ruleset(NULL, 0, LANDLOCK_VERSION);
	struct bawn_landlock_ruleset_attr attr = {
		.handled_access_fs = FS_ABI1 | (abi >= 2 ? FS_REFER : 0) |
				     (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0),
		.handled_access_net = abi >= 4 ? NET_BIND : 0,
		.scoped = abi >= 6 ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0,
	};
	size_t size = abi >= 6 ? sizeof(attr) : abi >= 4 ? 16 : 8;
	_cleanup_close_ int fd = -1;

	if (abi <= 0)
		return 0; /* the filter below refuses files as well */
	fd = bawn_landlock_create_ruleset(&attr, size, 0);
	if (fd < 0 || bawn_landlock_restrict_self(fd, 0) < 0)
		return -errno;
	return 0;
}
#else
/* Sanitizers read /proc and start helpers. */
static int landlock(void)
{
	return 0;
}
#endif

static int filter(void)
{
	return bawn_confine_filter(
		bawn_prog_door, sizeof(bawn_prog_door) / sizeof(bawn_prog_door[0]));
}

int sandbox_enter(struct bawn_error *err)
{
	const struct {
		const char *what;
		int (*do_it)(void);
	} steps[] = {{"capabilities", bawn_confine_capabilities}, {"landlock", landlock},
		{"system call filter", filter}};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = steps[i].do_it();

		if (r < 0) {
			errno = -r;
			return bawn_fail(err, BAWN_ERR_BACKEND, r, "confining the door: %s: %m",
				steps[i].what);
		}
	}
	return 0;
}
