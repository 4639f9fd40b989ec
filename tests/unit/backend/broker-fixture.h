/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Runs a function under the notification filter with a broker in this process. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "backend/native/broker.h"
#include "backend/native/seccomp.h"
#include "harness.h"

static unsigned int reports;
static uint32_t last_control;
static char last_report[8192];

static void on_report(void *data, uint32_t control, const char *text)
{
	(void)data;
	reports++;
	last_control = control;
	(void)snprintf(last_report, sizeof(last_report), "%s", text);
}

static void send_fd(int sock, int fd)
{
	char byte = 'x', ctl[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = ctl,
		.msg_controllen = sizeof(ctl)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	ASSERT_EQ(sendmsg(sock, &m, 0), 1);
}

static int recv_fd(int sock)
{
	char byte = 0, ctl[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = ctl,
		.msg_controllen = sizeof(ctl)};
	int fd = -1;

	ASSERT_EQ(recvmsg(sock, &m, MSG_CMSG_CLOEXEC), 1);
	ASSERT_TRUE(CMSG_FIRSTHDR(&m) != NULL);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void confine(const struct bawn_plan *plan, int sock)
{
	struct bawn_error err = {0};
	struct sock_fprog notify = {0};
	int fd;

	bawn_seccomp_notify(bawn_broker_mode(plan), &notify);
	fd = bawn_seccomp_load(&notify, true, &err);
	if (fd < 0)
		FAIL("%s", err.msg);
	send_fd(sock, fd);
	(void)close(fd);
	(void)close(sock);
}

/* As in a sandbox, the broker itself lives under the base filter. */
static void load_base(const struct bawn_plan *plan)
{
	struct bawn_error err = {0};
	struct sock_fprog base = {0};

	ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (bawn_seccomp_base(NULL, plan, &base, &err) < 0 ||
		bawn_seccomp_load(&base, false, &err) < 0)
		FAIL("%s", err.msg);
}

/* Under the broker; returns the exit status of the child that ran fn(arg). */
static int brokered(const struct bawn_plan *plan, void (*fn)(void *), void *arg)
{
	struct bawn_broker *b = NULL;
	int sock[2], st = 0, before = fcntl(0, F_DUPFD_CLOEXEC, 0), after;
	pid_t pid;

	(void)fflush(stdout);
	(void)close(before);
	load_base(plan);
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock), 0);
	pid = fork();
	ASSERT_TRUE(pid >= 0);
	if (pid == 0) {
		(void)close(sock[0]);
		confine(plan, sock[1]);
		fn(arg);
		(void)fflush(stdout);
		_exit(0);
	}
	(void)close(sock[1]);
	/* Nor can the command look into it. */
	ASSERT_EQ(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
	ASSERT_EQ(bawn_broker_new(plan, recv_fd(sock[0]), on_report, NULL, &b, NULL), 0);
	(void)close(sock[0]);
	for (;;) {
		struct pollfd p = {.fd = bawn_broker_fd(b), .events = POLLIN};

		(void)poll(&p, 1, 1000);
		if (bawn_broker_serve(b) == -ENOENT)
			break;
	}
	(void)bawn_broker_free(b);
	after = fcntl(0, F_DUPFD_CLOEXEC, 0);
	ASSERT_EQ(after, before); /* no descriptor is left behind */
	(void)close(after);
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

/* A directory of our own; as an ordinary user if `user`. */
static char *scratch(bool user)
{
	static char path[64];

	(void)snprintf(path, sizeof(path), "/tmp/bawn-test-XXXXXX");
	ASSERT_TRUE(mkdtemp(path) != NULL);
	if (user && getuid() == 0) {
		ASSERT_EQ(chown(path, 12345, 12345), 0);
		ASSERT_EQ(setresgid(12345, 12345, 12345), 0);
		ASSERT_EQ(setresuid(12345, 12345, 12345), 0);
		ASSERT_EQ(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	}
	return path;
}

static void remove_tree(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)execl("/bin/rm", "rm", "-rf", path, (char *)NULL);
		_exit(1);
	}
	(void)waitpid(pid, NULL, 0);
}
