/* SPDX-License-Identifier: Apache-2.0 */
/* The stage on this kernel: take the handover from the socket, then be the sandbox's init. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "backend/inside/mode.h"
#include "backend/inside/parcel.h"

#define FAILED 1

static int connect_to(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	return fd;
}

static int open_socket(const char *where)
{
	if (where && !strncmp(where, "fd:", 3)) {
		char *end = NULL;
		long fd = strtol(where + 3, &end, 10);

		return *end || end == where + 3 || fd < 0 || fd > 1 << 20 ? -EINVAL : (int)fd;
	}
	if (where && !strncmp(where, "unix:", 5))
		return connect_to(where + 5);
	return -EINVAL;
}

static int complain(int error, const char *what)
{
	errno = -error;
	(void)fprintf(stderr, "bawn-inside: cannot %s: %m\n", what);
	return FAILED;
}

int bawn_inside_near(char *const *argv)
{
	struct bawn_init init = {.reset_signals = true};
	struct bawn_init_msg msg = {.kind = BAWN_INIT_ERROR};
	struct bawn_arena *a = bawn_arena_new(); /* lives as long as we do */

	init.sock = open_socket(argv[0]);
	if (init.sock < 0)
		return complain(init.sock, "open the socket to the host");
	if (!a)
		return complain(-ENOMEM, "map the plan");
	if (bawn_parcel_take(a, init.sock, &init, &msg.error) < 0) {
		(void)send(init.sock, &msg, sizeof(msg), MSG_NOSIGNAL);
		return FAILED;
	}
	bawn_init_main(&init);
}
