/* SPDX-License-Identifier: Apache-2.0 */
/* See confine.h. */
#include "base/confine.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define CAPS_MAX 64

int bawn_confine_begin(void)
{
	struct rlimit none = {0, 0};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
#ifndef BAWN_SANITIZED /* the leak checker looks into the process */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return -errno;
#endif
	return setrlimit(RLIMIT_CORE, &none) < 0 ? -errno : 0;
}

int bawn_confine_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* without CAP_SETPCAP this fails; then nothing can be gained from it either */
	for (int i = 0; i < CAPS_MAX && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == 0; i++)
		;
	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

int bawn_confine_filter(struct sock_filter *prog, size_t len)
{
#ifdef BAWN_SANITIZED /* sanitizers read /proc and start helpers */
	(void)prog;
	(void)len;
	return 0;
#else
	struct sock_fprog all = {.len = (unsigned short)len, .filter = prog};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all) < 0 ? -errno : 0;
#endif
}
