/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vault's own sandbox: it holds every secret, so it can reach nothing. It opens no file, for
 * bawn hands it the bytes; it has no network, starts nothing, gains nothing. A part the kernel does
 * not have (Landlock) is left out, since the filter refuses files as well; one that fails is fatal.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/sys.h"
#include "secrets/vault/serve.h"
#include "vault-seccomp.h"

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
#else
/* Sanitizers read /proc and start helpers. */
static int close_files(void)
{
	return 0;
}
#endif

int vault_sandbox(void)
{
	int r = bawn_confine_begin();

	if (r == 0)
		r = bawn_confine_capabilities();
	if (r == 0)
		r = close_files();
	return r == 0 ? bawn_confine_filter(bawn_prog_vault,
				sizeof(bawn_prog_vault) / sizeof(bawn_prog_vault[0]))
		      : r;
}
