/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <time.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

int bawn_read_all(int fd, struct bawn_buf *b)
{
	char chunk[8192];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		bawn_buf_add(b, chunk, (size_t)n);
		if (b->failed)
			return b->failed;
	}
}

int bawn_read_file(int dirfd, const char *path, size_t max, struct bawn_buf *b)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > 0 && (uintmax_t)st.st_size > max)
		return -E2BIG;
	b->max = max;
	return bawn_read_all(fd, b);
}

int bawn_read_small(int dirfd, const char *path, char *dst, size_t size)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, dst, size - 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	dst[n] = '\0';
	return (int)n;
}

int bawn_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int bawn_write_small(int dirfd, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int64_t bawn_now_ms(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

uint64_t bawn_wall_us(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

int bawn_poll_soon(struct pollfd *fds, nfds_t n, int timeout_ms, int64_t *left_us)
{
	struct timespec start = {0}, now = {0};
	int64_t passed = 0;
	int r = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	while (r == 0 && passed < *left_us) {
		r = poll(fds, n, 0);
		if (r == 0)
			(void)sched_yield();
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		passed = (int64_t)(now.tv_sec - start.tv_sec) * 1000000 +
			 (now.tv_nsec - start.tv_nsec) / 1000;
	}
	*left_us -= passed;
	return r ? r : poll(fds, n, timeout_ms);
}

int bawn_pidfd_await(int pidfd, int timeout_ms)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	int r;

	do
		r = poll(&p, 1, timeout_ms);
	while (r < 0 && errno == EINTR);
	return r;
}

int bawn_send_fds(int sock, const void *data, size_t len, const int *fds, size_t n)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int) * BAWN_SEND_FDS_MAX)];
	} c = {.hdr = {.cmsg_len = CMSG_LEN(sizeof(int) * n),
		       .cmsg_level = SOL_SOCKET,
		       .cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {.iov_len = len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t sent;

	if (n > BAWN_SEND_FDS_MAX)
		return -E2BIG;
	memcpy(&iov.iov_base, &data, sizeof(data)); /* sendmsg() does not write to it */
	if (n) {
		mh.msg_control = c.buf;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		memcpy(CMSG_DATA(&c.hdr), fds, sizeof(int) * n);
	}
	sent = sendmsg(sock, &mh, MSG_NOSIGNAL);
	return sent < 0 ? -errno : (size_t)sent == len ? 0 : -EMSGSIZE;
}

static void take_control(struct msghdr *mh, struct bawn_received *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS && !ret->n) {
			ret->n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(ret->fds, CMSG_DATA(c), ret->n * sizeof(int));
		} else if (c->cmsg_type == SCM_CREDENTIALS) {
			struct ucred who;

			memcpy(&who, CMSG_DATA(c), sizeof(who));
			ret->from = who.pid;
		}
	}
}

void bawn_received_close(struct bawn_received *r)
{
	while (r->n)
		(void)close(r->fds[--r->n]);
}

ssize_t bawn_receive_fds(int sock, void *data, size_t len, int flags, struct bawn_received *ret)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int) * BAWN_SEND_FDS_MAX) +
			 CMSG_SPACE(sizeof(struct ucred))];
	} c = {.buf = {0}};
	struct iovec iov = {.iov_base = data, .iov_len = len};
	struct msghdr mh = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = c.buf,
		.msg_controllen = sizeof(c.buf)};
	ssize_t n;

	ret->n = 0;
	ret->from = 0;
	do
		n = recvmsg(sock, &mh, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	take_control(&mh, ret);
	/* the room for credentials, where there are none, holds a few more: hence fds' size */
	if (!(mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && ret->n <= BAWN_SEND_FDS_MAX)
		return n;
	bawn_received_close(ret);
	return -EPROTO;
}

bool bawn_fd_is_local(int fd)
{
	static const uint32_t known[] = {0xef53, 0x58465342, 0x9123683e, 0x01021994, 0xf2f52010,
		0x794c7630, 0x2fc12fc1, 0xca451a4e, 0x858458f6};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if ((uint32_t)fs.f_type == known[i])
			return true;
	return false;
}
