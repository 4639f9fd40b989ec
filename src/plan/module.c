/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/module.h"

#include <fcntl.h>
#include <string.h>

#include <sys/stat.h>

#include "base/cleanup.h"

bool bawn_is_module(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char start[4];

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       read(fd, start, sizeof(start)) == sizeof(start) && !memcmp(start, "\0asm", 4);
}
