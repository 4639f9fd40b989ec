/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See relay.h. One request at a time: the server answers each before it reads the next, so nothing
 * can wait for something that waits for it, and there is nothing to keep in order.
 */
#include "backend/inside/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "backend/vm/files.h"
#include "base/io.h"

static int read_whole(int fd, char *dst, size_t len)
{
	for (size_t have = 0; have < len;) {
		ssize_t n = read(fd, dst + have, len - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		have += (size_t)n;
	}
	return 0;
}

static int take_answer(int stream, int dev, char *buf)
{
	uint32_t len;
	int r = read_whole(stream, buf, sizeof(len));

	if (r < 0)
		return r;
	memcpy(&len, buf, sizeof(len));
	if (len < sizeof(struct fuse_out_header) || len > BAWN_FILES_REPLY_MAX)
		return -EPROTO;
	r = read_whole(stream, buf + sizeof(len), len - sizeof(len));
	if (r < 0)
		return r;
	/* ENOENT: whoever asked was killed meanwhile */
	return write(dev, buf, len) < 0 && errno != ENOENT ? -errno : 0;
}

static int pass_on(int stream, int dev, char *buf)
{
	ssize_t n = read(dev, buf, BAWN_FILES_REQUEST_MAX);
	struct fuse_in_header h;
	int r;

	/* ENOENT: interrupted before it was read */
	if (n < 0)
		return errno == EINTR || errno == EAGAIN || errno == ENOENT ? 0 : -errno;
	if ((size_t)n < sizeof(h))
		return -EPROTO;
	memcpy(&h, buf, sizeof(h));
	if (h.opcode == FUSE_INTERRUPT) /* what is interrupted is answered already */
		return 0;
	r = bawn_write_all(stream, buf, (size_t)n);
	if (r < 0 || h.opcode == FUSE_FORGET || h.opcode == FUSE_BATCH_FORGET)
		return r;
	return take_answer(stream, dev, buf);
}

static void relay(int stream, int dev) __attribute__((noreturn));
static void relay(int stream, int dev)
{
	static char buf[BAWN_FILES_REPLY_MAX];
	int r = 0;

	(void)prctl(PR_SET_NAME, "bawn-relay");
	while (r >= 0)
		r = pass_on(stream, dev, buf);
	_exit(1);
}

int bawn_relay_mount(int stream, const char *where)
{
	_cleanup_close_ int dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];
	pid_t pid;

	if (dev < 0)
		return -errno;
	/* who may read what is the server's business, which runs as the user */
	(void)snprintf(options, sizeof(options),
		"fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", dev);
	if (mount("host", where, "fuse.bawn", MS_RDONLY | MS_NOSUID | MS_NODEV, options) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		relay(stream, dev);
	return pid < 0 ? -errno : 0;
}
