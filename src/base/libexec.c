/* SPDX-License-Identifier: Apache-2.0 */
/* See libexec.h. Never by PATH or the environment: who controls those must not choose our wall. */
#include "base/libexec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int find(const char *name, int mode, char *dst, size_t size)
{
	size_t need = strlen(name) + 2;
	ssize_t n = size > need ? readlink("/proc/self/exe", dst, size - need) : -1;
	char *slash;

	if (n > 0) {
		dst[n] = '\0';
		slash = strrchr(dst, '/');
		if (slash) {
			memcpy(slash + 1, name, need - 1);
			if (access(dst, mode) == 0)
				return 0;
		}
	}
	if ((size_t)snprintf(dst, size, "%s/%s", BAWN_LIBEXECDIR, name) >= size)
		return -ENAMETOOLONG;
	return access(dst, mode) == 0 ? 0 : -errno;
}

int bawn_libexec_find(const char *name, char *dst, size_t size)
{
	return find(name, X_OK, dst, size);
}

int bawn_libexec_data(const char *name, char *dst, size_t size)
{
	return find(name, R_OK, dst, size);
}
