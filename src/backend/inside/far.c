/* SPDX-License-Identifier: Apache-2.0 */
/* The stage on another kernel, with the stream on its standard input and output. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backend/inside/bridge.h"
#include "backend/inside/mode.h"

#define FAILED 1

int bawn_inside_far(char *const *argv)
{
	struct bawn_bridge b = {0};
	int null;

	for (; *argv; argv++)
		if (!strcmp(*argv, "pids"))
			b.flags |= BAWN_BRIDGE_PIDS;
		else
			return 2;
	/* what is written by mistake must not get between the frames */
	b.in = fcntl(0, F_DUPFD_CLOEXEC, 3);
	b.out = fcntl(1, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (b.in < 0 || b.out < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		return FAILED;
	return bawn_bridge_main(&b);
}
