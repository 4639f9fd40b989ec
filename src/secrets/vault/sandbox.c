/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vault's own sandbox: it holds every secret, so it can reach nothing. It opens no file, for
 * bawn hands it the bytes; it has no network, starts nothing, gains nothing. A part the kernel does
 * not have (Landlock) is left out, since the filter refuses files as well; one that fails is fatal.
 */
#include <errno.h>
#include <signal.h>

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/sys.h"
#include "secrets/vault/serve.h"
#include "vault-seccomp.h"

#define CAPS_MAX 64

static int forbid_dumps(void)
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

static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* without CAP_SETPCAP this fails; then nothing can be gained from it either */
	for (int i = 0; i < CAPS_MAX && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == 0; i++)
		;
	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

#ifndef BAWN_SANITIZED
/* Every right of the first version of Landlock, granted to nothing. */
static int close_files(void)
{
	struct bawn_landlock_ruleset_attr attr = {.handled_access_fs = (UINT64_C(1) << 13) - 1};
	_cleanup_close_ int fd =
		bawn_landlock_create_ruleset(&attr, sizeof(attr.handled_access_fs), 0);

	if (fd < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	return bawn_landlock_restrict_self(fd, 0) < 0 ? -errno : 0;
}

static int filter(void)
{
	struct sock_fprog prog = {
		.len = sizeof(bawn_prog_vault) / sizeof(bawn_prog_vault[0]),
		.filter = bawn_prog_vault,
	};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}
#else
/* Sanitizers read /proc and start helpers. */
static int close_files(void)
{
	return 0;
}

static int filter(void)
{
	(void)bawn_prog_vault;
	return 0;
}
#endif

int vault_sandbox(void)
{
	int r = forbid_dumps();

	if (r == 0)
		r = drop_capabilities();
	if (r == 0)
		r = close_files();
	return r == 0 ? filter() : r;
}
