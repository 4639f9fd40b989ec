/* SPDX-License-Identifier: Apache-2.0 */
/* The stage on this kernel: take the handover from the socket, then be the sandbox's init. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "backend/inside/handover.h"
#include "backend/inside/mode.h"

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

static int take_parcel(int sock, struct bawn_parcel *ret, int fds[BAWN_PARCEL_FDS])
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int) * BAWN_PARCEL_FDS)];
	} c = {.buf = {0}};
	struct iovec iov = {.iov_base = ret, .iov_len = sizeof(*ret)};
	struct msghdr mh = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = c.buf,
		.msg_controllen = sizeof(c.buf)};
	ssize_t n;

	do
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n != sizeof(*ret) || ret->magic != BAWN_PARCEL_MAGIC || mh.msg_flags & MSG_CTRUNC ||
		c.hdr.cmsg_type != SCM_RIGHTS ||
		c.hdr.cmsg_len != CMSG_LEN(sizeof(int) * BAWN_PARCEL_FDS))
		return -EPROTO;
	memcpy(fds, CMSG_DATA(&c.hdr), sizeof(int) * BAWN_PARCEL_FDS);
	return 0;
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
	struct bawn_parcel parcel = {0};
	int fds[BAWN_PARCEL_FDS] = {0};
	struct bawn_arena *a = bawn_arena_new(); /* lives as long as we do */
	void *data;
	int r;

	init.sock = open_socket(argv[0]);
	if (init.sock < 0)
		return complain(init.sock, "open the socket to the host");
	r = take_parcel(init.sock, &parcel, fds);
	if (r < 0)
		return complain(r, "take what the host sends");
	data = mmap(NULL, parcel.size, PROT_READ, MAP_PRIVATE, fds[3], 0);
	if (!a || data == MAP_FAILED)
		return complain(-ENOMEM, "map the plan");
	if (bawn_handover_decode(a, data, parcel.size, &init, &msg.error) < 0) {
		(void)send(init.sock, &msg, sizeof(msg), MSG_NOSIGNAL);
		return FAILED;
	}
	memcpy(init.stdio, fds, sizeof(init.stdio));
	bawn_init_main(&init);
}
