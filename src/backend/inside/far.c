/* SPDX-License-Identifier: Apache-2.0 */
/* The stage on another kernel, with the stream on its standard input and output. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/klog.h>

#include "backend/inside/bridge.h"
#include "backend/inside/mode.h"

#define FAILED                 1
#define SYSLOG_ACTION_READ_ALL 3

/* Whether this is gVisor's kernel: it says so in its log. */
static bool is_gvisor(void)
{
	char log[4096];
	int n = klogctl(SYSLOG_ACTION_READ_ALL, log, sizeof(log) - 1);

	log[n > 0 ? n : 0] = '\0';
	return strstr(log, "gVisor") != NULL;
}

int bawn_inside_far(char *const *argv)
{
	struct bawn_bridge b = {0};
	int null;

	for (; *argv; argv++)
		if (!strcmp(*argv, "pids"))
			b.flags |= BAWN_BRIDGE_PIDS;
		else if (strcmp(*argv, "gvisor") != 0)
			return 2;
		else if (!is_gvisor()) {
			(void)fprintf(stderr, "the sandbox's kernel is not gVisor's\n");
			return FAILED;
		}
	/* what is written by mistake must not get between the frames */
	b.in = fcntl(0, F_DUPFD_CLOEXEC, 3);
	b.out = fcntl(1, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (b.in < 0 || b.out < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		return FAILED;
	return bawn_bridge_main(&b);
}
