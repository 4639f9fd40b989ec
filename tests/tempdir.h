/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A directory that goes when the test does: tests end through _exit(), so a watcher removes it. */

#include <fcntl.h>
#include <stdlib.h>

#include "harness.h"

/* `path` is a pattern of mkdtemp() and becomes the name. */
static inline void make_tempdir(char *path)
{
	int p[2];

	ASSERT_TRUE(mkdtemp(path) != NULL);
	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	if (fork() == 0) {
		char c;
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		/* the harness must not wait for this process to let go of its output */
		(void)dup2(null, 1);
		(void)dup2(null, 2);
		(void)close(p[1]);
		(void)!read(p[0], &c, 1);
		(void)execlp("rm", "rm", "-rf", "--one-file-system", path, (char *)NULL);
		_exit(127);
	}
	(void)close(p[0]);
}
