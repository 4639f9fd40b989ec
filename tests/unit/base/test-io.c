/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors over sockets; waiting without sleeping. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>

#include "base/io.h"
#include "harness.h"

static int pair[2];

static void make_pair(void)
{
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ASSERT_TRUE(fd >= 0 && close(fd) == 0);
	return fd;
}

TEST(descriptors_come_as_they_were_sent)
{
	int out[3] = {open("/dev/null", O_WRONLY), 0, 1};
	struct bawn_received got;
	char text[8] = "";
	struct stat a, b;

	make_pair();
	ASSERT_TRUE(out[0] >= 0);
	ASSERT_EQ(bawn_send_fds(pair[0], "hello", 6, out, 3), 0);
	ASSERT_EQ(bawn_receive_fds(pair[1], text, sizeof(text), 0, &got), 6);
	ASSERT_STREQ(text, "hello");
	ASSERT_EQ(got.n, 3);
	ASSERT_EQ(got.from, 0);
	for (int i = 0; i < 3; i++) {
		ASSERT_TRUE(fcntl(got.fds[i], F_GETFD) & FD_CLOEXEC);
		ASSERT_TRUE(fstat(got.fds[i], &a) == 0 && fstat(out[i], &b) == 0);
		ASSERT_TRUE(a.st_dev == b.st_dev && a.st_ino == b.st_ino);
	}
	bawn_received_close(&got);
	ASSERT_EQ(got.n, 0);
}

TEST(who_sent_it)
{
	struct bawn_received got;
	char c = 'x';
	int on = 1;

	make_pair();
	ASSERT_EQ(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	ASSERT_EQ(bawn_send_fds(pair[0], &c, 1, NULL, 0), 0);
	ASSERT_EQ(bawn_receive_fds(pair[1], &c, 1, 0, &got), 1);
	ASSERT_EQ(got.n, 0);
	ASSERT_EQ(got.from, getpid());
}

TEST(nothing_and_the_end)
{
	struct bawn_received got;
	char c;

	make_pair();
	ASSERT_EQ(bawn_receive_fds(pair[1], &c, 1, MSG_DONTWAIT, &got), -EAGAIN);
	ASSERT_EQ(close(pair[0]), 0);
	ASSERT_EQ(bawn_receive_fds(pair[1], &c, 1, 0, &got), 0);
}

/* As many as may be sent, and more than that by somebody who does not keep to it. */
TEST(too_many_are_not_kept)
{
	int fds[BAWN_SEND_FDS_MAX + 4];
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(fds))];
	} c = {.hdr = {.cmsg_len = CMSG_LEN(sizeof(fds)),
		       .cmsg_level = SOL_SOCKET,
		       .cmsg_type = SCM_RIGHTS}};
	char text[4] = "abc";
	struct iovec iov = {.iov_base = text, .iov_len = sizeof(text)};
	struct msghdr mh = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = c.buf,
		.msg_controllen = sizeof(c.buf)};
	struct bawn_received got;
	int before;

	make_pair();
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		fds[i] = 0;
	ASSERT_EQ(bawn_send_fds(pair[0], text, sizeof(text), fds, BAWN_SEND_FDS_MAX + 1), -E2BIG);
	ASSERT_EQ(bawn_send_fds(pair[0], text, sizeof(text), fds, BAWN_SEND_FDS_MAX), 0);
	ASSERT_EQ(bawn_receive_fds(pair[1], text, sizeof(text), 0, &got), sizeof(text));
	ASSERT_EQ(got.n, BAWN_SEND_FDS_MAX);
	bawn_received_close(&got);
	before = lowest_free();
	memcpy(CMSG_DATA(&c.hdr), fds, sizeof(fds));
	ASSERT_EQ(sendmsg(pair[0], &mh, 0), sizeof(text));
	ASSERT_EQ(bawn_receive_fds(pair[1], text, sizeof(text), 0, &got), -EPROTO);
	ASSERT_EQ(got.n, 0);
	ASSERT_EQ(lowest_free(), before);
	/* longer than what was asked for */
	ASSERT_EQ(bawn_send_fds(pair[0], text, sizeof(text), fds, 2), 0);
	ASSERT_EQ(bawn_receive_fds(pair[1], text, 2, 0, &got), -EPROTO);
	ASSERT_EQ(lowest_free(), before);
}

TEST(what_is_there_is_seen_at_once)
{
	struct pollfd p;
	int64_t left = INT64_C(3600) * 1000000;

	make_pair();
	p = (struct pollfd){.fd = pair[1], .events = POLLIN};
	ASSERT_EQ(bawn_send_fds(pair[0], "x", 1, NULL, 0), 0);
	ASSERT_EQ(bawn_poll_soon(&p, 1, -1, &left), 1);
	ASSERT_EQ(p.revents, POLLIN);
	ASSERT_TRUE(left > 0);
}

TEST(no_more_patience_than_there_is)
{
	struct pollfd p;
	int64_t left = 2000;

	make_pair();
	p = (struct pollfd){.fd = pair[1], .events = POLLIN};
	ASSERT_EQ(bawn_poll_soon(&p, 1, 0, &left), 0);
	ASSERT_TRUE(left <= 0);
	/* it is used up: the next time sleeps */
	ASSERT_EQ(bawn_poll_soon(&p, 1, 1, &left), 0);
}

TEST(what_comes_while_it_sleeps_is_seen)
{
	struct pollfd p;
	int64_t left = 0;
	pid_t pid;

	make_pair();
	p = (struct pollfd){.fd = pair[1], .events = POLLIN};
	pid = fork();
	ASSERT_TRUE(pid >= 0);
	if (pid == 0) {
		(void)usleep(20000);
		_exit(bawn_send_fds(pair[0], "x", 1, NULL, 0) < 0);
	}
	ASSERT_EQ(bawn_poll_soon(&p, 1, -1, &left), 1);
	ASSERT_EQ(p.revents, POLLIN);
}
