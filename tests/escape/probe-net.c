/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of every family, and the other ways in which processes of one host talk. */

#include <fcntl.h>
#include <mqueue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "probe.h"

#ifndef AF_XDP
#define AF_XDP 44
#endif

static const struct probe_word families[] = {{"unix", AF_UNIX}, {"inet", AF_INET},
	{"inet6", AF_INET6}, {"netlink", AF_NETLINK}, {"packet", AF_PACKET}, {"vsock", AF_VSOCK},
	{"alg", AF_ALG}, {"xdp", AF_XDP}, {"bluetooth", AF_BLUETOOTH}, {"can", AF_CAN},
	{"rds", AF_RDS}, {"tipc", AF_TIPC}, {"kcm", 41}, {"smc", 43}, {"key", AF_KEY}, {0}};
static const struct probe_word types[] = {{"stream", SOCK_STREAM}, {"dgram", SOCK_DGRAM},
	{"raw", SOCK_RAW}, {"seq", SOCK_SEQPACKET}, {0}};

/* FAMILY TYPE PROTOCOL */
static long do_socket(char **a)
{
	_cleanup_close_ int fd = socket((int)probe_word(families, a[0]),
		(int)probe_word(types, a[1]) | SOCK_CLOEXEC, (int)probe_num(a[2]));

	return rc(fd);
}

/* "@name" is abstract. */
static socklen_t name_to(struct sockaddr_un *un, const char *name)
{
	size_t n = strlen(name);

	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	if (n >= sizeof(un->sun_path))
		n = sizeof(un->sun_path) - 1;
	memcpy(un->sun_path, name, n);
	if (name[0] == '@')
		un->sun_path[0] = 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (name[0] == '@' ? 0 : 1));
}

static int dial(const char *name)
{
	struct sockaddr_un un;
	socklen_t len = name_to(&un, name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&un, len)) {
		int e = -errno;

		(void)close(fd);
		return e;
	}
	return fd;
}

static long do_connect_unix(char **a)
{
	int fd = dial(a[0]);

	return fd < 0 ? fd : rc(write(fd, "PWNED", 5));
}

static long do_sendto(char **a)
{
	struct sockaddr_un un;
	socklen_t len = name_to(&un, a[0]);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	return rc(sendto(fd, "PWNED", 5, 0, (struct sockaddr *)&un, len));
}

static long do_sendmsg(char **a)
{
	struct sockaddr_un un;
	socklen_t len = name_to(&un, a[0]);
	char text[] = "PWNED";
	struct iovec iov = {text, 5};
	struct msghdr msg = {.msg_name = &un, .msg_namelen = len, .msg_iov = &iov, .msg_iovlen = 1};
	struct mmsghdr many = {.msg_hdr = msg};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	return rc(strcmp(a[1], "many") ? sendmsg(fd, &msg, 0) : sendmmsg(fd, &many, 1, 0));
}

/* A socketpair needs no socket(): send from one end of it to a named socket. */
static long do_pair_sendto(char **a)
{
	struct sockaddr_un un;
	socklen_t len = name_to(&un, a[0]);
	int p[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, p))
		return -errno;
	return rc(sendto(p[0], "PWNED", 5, 0, (struct sockaddr *)&un, len));
}

/* NAME: connect, take a descriptor if one is sent, read from it. */
static long do_scm(char **a)
{
	char byte = 0;
	struct iovec iov = {&byte, 1};
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u = {0};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)};
	int fd = dial(a[0]);
	int got = -1;

	if (fd < 0)
		return fd;
	if (recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) < 0)
		return -errno;
	if (!CMSG_FIRSTHDR(&msg))
		return -ENOMSG;
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(got));
	return probe_cat(got);
}

/* ADDRESS PORT as a socket address. */
static socklen_t inet_to(struct sockaddr_storage *ss, char **a)
{
	uint16_t port = htons((uint16_t)probe_num(a[1]));

	memset(ss, 0, sizeof(*ss));
	if (strchr(a[0], ':')) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;

		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		(void)inet_pton(AF_INET6, a[0], &in6->sin6_addr);
		return sizeof(*in6);
	}
	((struct sockaddr_in *)ss)->sin_family = AF_INET;
	((struct sockaddr_in *)ss)->sin_port = port;
	(void)inet_pton(AF_INET, a[0], &((struct sockaddr_in *)ss)->sin_addr);
	return sizeof(struct sockaddr_in);
}

/* A socket of that type for ADDRESS PORT, and where that is; or a negative errno. */
static int inet_socket(char **a, int type, struct sockaddr_storage *ss, socklen_t *len)
{
	*len = inet_to(ss, a);
	return (int)rc(socket(ss->ss_family, type | SOCK_CLOEXEC, 0));
}

static long do_tcp(char **a)
{
	struct sockaddr_storage ss;
	socklen_t len = 0;
	_cleanup_close_ int fd = inet_socket(a, SOCK_STREAM, &ss, &len);

	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&ss, len))
		return -errno;
	if (write(fd, "PWNED", 5) < 0)
		return -errno;
	return probe_cat(fd);
}

/* Connects without connect(). */
static long do_fastopen(char **a)
{
	struct sockaddr_storage ss;
	socklen_t len = 0;
	_cleanup_close_ int fd = inet_socket(a, SOCK_STREAM, &ss, &len);

	if (fd < 0)
		return fd;
	if (sendto(fd, "PWNED", 5, MSG_FASTOPEN, (struct sockaddr *)&ss, len) < 0)
		return -errno;
	return probe_cat(fd);
}

static long do_udp(char **a)
{
	struct sockaddr_storage ss;
	socklen_t len = 0;
	_cleanup_close_ int fd = inet_socket(a, SOCK_DGRAM, &ss, &len);

	if (fd < 0)
		return fd;
	return rc(sendto(fd, "PWNED", 5, 0, (struct sockaddr *)&ss, len));
}

/* Hexadecimal digits in their own place as bytes: how many. */
static size_t unhex(char *s)
{
	size_t n = 0;

	for (; s[2 * n] && s[2 * n + 1]; n++) {
		char two[3] = {s[2 * n], s[2 * n + 1], 0};

		s[n] = (char)strtoul(two, NULL, 16);
	}
	return n;
}

static void patience(int fd, int seconds)
{
	struct timeval t = {.tv_sec = seconds};

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

/* Print what comes: some of it, or all that comes without a longer pause. */
static ssize_t hear(int fd, bool all)
{
	static char buf[65536];
	ssize_t n = 0, heard = 0;

	do {
		n = recv(fd, buf, sizeof(buf), 0);
		if (n > 0)
			heard += (ssize_t)fwrite(buf, 1, (size_t)n, stdout);
		if (all)
			patience(fd, 1); /* an answer may come in parts */
	} while (all && n > 0);
	return heard;
}

/* ADDRESS PORT PIECE...: hexadecimal, each sent when the one before was answered; prints answers.
 */
static long do_talk(char **a)
{
	struct sockaddr_storage ss;
	socklen_t len = 0;
	_cleanup_close_ int fd = inet_socket(a, SOCK_STREAM, &ss, &len);

	if (fd < 0)
		return fd;
	patience(fd, 10);
	if (connect(fd, (struct sockaddr *)&ss, len))
		return -errno;
	for (char **piece = a + 2; *piece; piece++) {
		if (send(fd, *piece, unhex(*piece), MSG_NOSIGNAL) < 0)
			return -errno;
		(void)hear(fd, !piece[1]);
		(void)printf("\n");
	}
	return 0;
}

/* ADDRESS PORT DATAGRAM: in hexadecimal; prints the answer. */
static long do_ask(char **a)
{
	struct sockaddr_storage ss;
	socklen_t len = 0;
	_cleanup_close_ int fd = inet_socket(a, SOCK_DGRAM, &ss, &len);

	if (fd < 0)
		return fd;
	patience(fd, 1);
	if (sendto(fd, a[2], unhex(a[2]), 0, (struct sockaddr *)&ss, len) < 0)
		return -errno;
	return hear(fd, false) > 0 ? 0 : -ETIMEDOUT;
}

static void say_ready(void)
{
	(void)printf("ready\n");
	(void)fflush(stdout);
}

/* ADDRESS PORT SECONDS */
static long do_listen_tcp(char **a)
{
	struct sockaddr_storage ss;
	socklen_t len = 0;
	_cleanup_close_ int fd = inet_socket(a, SOCK_STREAM, &ss, &len);
	int one = 1;

	if (fd < 0)
		return fd;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&ss, len) || listen(fd, 4))
		return -errno;
	say_ready();
	probe_nap(probe_num(a[2]) * 1000);
	return 0;
}

/* NAME SECONDS */
static long do_listen_unix(char **a)
{
	struct sockaddr_un un;
	socklen_t len = name_to(&un, a[0]);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&un, len) || listen(fd, 4))
		return -errno;
	say_ready();
	probe_nap(probe_num(a[1]) * 1000);
	return 0;
}

/* KEY: what the host has under this key. */
static long do_shm(char **a)
{
	int id = shmget((key_t)probe_num(a[0]), 0, 0);
	const char *p = NULL;

	if (id < 0)
		return -errno;
	p = shmat(id, NULL, SHM_RDONLY);
	if ((intptr_t)p == -1)
		return -errno;
	(void)printf("%.16s\n", p);
	return 0;
}

static long do_msg(char **a)
{
	return rc(msgget((key_t)probe_num(a[0]), 0));
}

static long do_sem(char **a)
{
	return rc(semget((key_t)probe_num(a[0]), 0, 0));
}

static long do_mq(char **a)
{
	_cleanup_close_ int q = mq_open(a[0], O_RDONLY | O_CLOEXEC);

	return rc(q);
}

/* KEY SECONDS: make one of each and keep it; "ready" when made. */
static long do_ipc_make(char **a)
{
	key_t key = (key_t)probe_num(a[0]);
	int shm = shmget(key, 4096, IPC_CREAT | 0666);
	int msg = msgget(key, IPC_CREAT | 0666);
	int sem = semget(key, 1, IPC_CREAT | 0666);
	char name[64], *p = NULL;
	int q = -1;
	long r = 0;

	(void)snprintf(name, sizeof(name), "/bawn-escape-%ld", probe_num(a[0]));
	q = mq_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666, NULL);
	p = shm < 0 ? NULL : shmat(shm, NULL, 0);
	if (shm < 0 || msg < 0 || sem < 0 || (intptr_t)p == -1) {
		r = -errno;
	} else {
		memcpy(p, "canary", 7);
		(void)printf("mq %s\n", q < 0 ? strerrorname_np(errno) : "made");
		say_ready();
		probe_nap(probe_num(a[1]) * 1000);
	}
	if (shm >= 0)
		(void)shmctl(shm, IPC_RMID, NULL);
	if (msg >= 0)
		(void)msgctl(msg, IPC_RMID, NULL);
	if (sem >= 0)
		(void)semctl(sem, 0, IPC_RMID);
	if (q >= 0)
		(void)mq_unlink(name);
	return r;
}

const struct probe probes_net[] = {
	{"socket", 3, do_socket},
	{"connect-unix", 1, do_connect_unix},
	{"sendto", 1, do_sendto},
	{"sendmsg", 2, do_sendmsg},
	{"pair-sendto", 1, do_pair_sendto},
	{"scm", 1, do_scm},
	{"tcp", 2, do_tcp},
	{"fastopen", 2, do_fastopen},
	{"udp", 2, do_udp},
	{"talk", 3, do_talk},
	{"ask", 3, do_ask},
	{"listen-tcp", 3, do_listen_tcp},
	{"listen-unix", 2, do_listen_unix},
	{"shm", 1, do_shm},
	{"msg", 1, do_msg},
	{"sem", 1, do_sem},
	{"mq", 1, do_mq},
	{"ipc-make", 2, do_ipc_make},
	{0},
};
