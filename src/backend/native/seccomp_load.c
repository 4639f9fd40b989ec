/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a filter, apart from making one: bawn-inside links no compiler of filters. */
#include <errno.h>
#include <unistd.h>

#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "backend/native/seccomp.h"

/* WAIT_KILLABLE_RECV (Linux 5.19): without it a signal can make a finished call be done again. */
int bawn_seccomp_load(const struct sock_fprog *prog, bool listener, struct bawn_error *err)
{
	unsigned long flags = listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	long r = -1;

	if (listener)
		r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, prog);
	if (!listener || (r < 0 && errno == EINVAL)) /* a flag that this kernel does not know */
		r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, prog);
	if (r < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "loading the system call filter failed: %m");
	return (int)r;
}
