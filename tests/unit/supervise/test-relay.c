/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relay with real sockets. Inside and outside are one network here, so the "inside" listener
 * has a port of its own and stands for the one in the plan.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "testbed.h"

static int listen_at(uint16_t *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(bind(fd, (const void *)&sa, sizeof(sa)), 0);
	ASSERT_EQ(listen(fd, 256), 0);
	ASSERT_EQ(getsockname(fd, (void *)&sa, &len), 0);
	*port = ntohs(sa.sin_port);
	return fd;
}

static int dial_to(uint16_t port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && connect(fd, (const void *)&sa, sizeof(sa)) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static void echo_one(int fd)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (bawn_write_all(fd, buf, (size_t)n) < 0)
			break;
	/* Only after the end of input: proves that half-close came through. */
	(void)bawn_write_all(fd, "bye", 3);
	_exit(0);
}

/* The host's service: one process per connection. */
static pid_t echo_server(int listener)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0 && fork() == 0)
			echo_one(fd);
		(void)close(fd);
	}
}

static void stop(pid_t pid)
{
	ASSERT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
}

/* Send `len` bytes, half-close, expect them back and "bye". Writes and reads alternate. */
static bool exchange(uint16_t port, size_t len)
{
	int fd = dial_to(port);
	char buf[1000], back[1000];
	size_t sent = 0;

	if (fd < 0)
		return false;
	(void)memset(buf, 'x', sizeof(buf));
	for (; sent < len; sent += sizeof(buf)) {
		if (bawn_write_all(fd, buf, sizeof(buf)) < 0 ||
			recv(fd, back, sizeof(back), MSG_WAITALL) != (ssize_t)sizeof(back))
			return false;
	}
	if (shutdown(fd, SHUT_WR) < 0 || recv(fd, back, 4, MSG_WAITALL) != 3 ||
		memcmp(back, "bye", 3) != 0)
		return false;
	(void)close(fd);
	return true;
}

struct net {
	struct bed b;
	uint16_t inside, outside;
	int listener;
	pid_t server;
};

/* The command of these runs lives as long as its client: it waits for its input to end. */
static int net_open(struct net *n, bool serve)
{
	static const char *const argv[] = {"cat", NULL};
	static uint16_t port;
	int service, p[2];

	n->listener = listen_at(&n->inside);
	service = listen_at(&n->outside);
	n->server = serve ? echo_server(service) : 0;
	(void)close(service);
	port = n->outside;
	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	bed_init(&n->b, argv);
	n->b.stdin_fd = p[0];
	n->b.plan.loopback_ports = &port;
	n->b.plan.n_loopback_ports = 1;
	n->b.in.base.relay_fds = &n->listener;
	return p[1];
}

static void net_client(struct net *n, int gate, int (*client)(uint16_t port))
{
	int st;
	pid_t pid;

	bed_prepare_all(&n->b);
	pid = fork();
	if (pid == 0) {
		(void)alarm(60);
		_exit(client(n->inside)); /* which closes the gate */
	}
	(void)close(gate);
	ASSERT_EQ(bed_go(&n->b), 0);
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	ASSERT_TRUE(WIFEXITED(st));
	ASSERT_EQ(WEXITSTATUS(st), 0);
	bed_done(&n->b);
}

static int client_echo(uint16_t port)
{
	return exchange(port, 3000) && exchange(port, 2000000) ? 0 : 1;
}

TEST(echo_and_half_close)
{
	struct net n;
	int gate = net_open(&n, true);

	net_client(&n, gate, client_echo);
	stop(n.server);
}

/* All are open at once; only 64 are served at a time, the others wait and are served later. */
static int client_many(uint16_t port)
{
	int bad = 0;

	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(exchange(port, 20000) ? 0 : 1);
		bad += pid < 0;
	}
	for (int i = 0; i < 100; i++) {
		int st;

		bad += wait(&st) < 0 || st != 0;
	}
	return bad ? 1 : 0;
}

TEST(many_connections)
{
	struct net n;
	int gate = net_open(&n, true);

	net_client(&n, gate, client_many);
	stop(n.server);
}

/* Idle clients take every place; one more waits until one of them leaves. */
static int client_full(uint16_t port)
{
	int idle[64];
	struct pollfd p;
	char c;

	for (int i = 0; i < 64; i++) {
		idle[i] = dial_to(port);
		if (idle[i] < 0 || write(idle[i], "x", 1) != 1 || read(idle[i], &c, 1) != 1)
			return 1;
	}
	p = (struct pollfd){.fd = dial_to(port), .events = POLLIN};
	if (p.fd < 0 || write(p.fd, "y", 1) != 1 || poll(&p, 1, 300) != 0)
		return 2;
	(void)close(idle[0]);
	return read(p.fd, &c, 1) == 1 && c == 'y' ? 0 : 3;
}

TEST(at_most_64_at_once)
{
	struct net n;
	int gate = net_open(&n, true);

	net_client(&n, gate, client_full);
	stop(n.server);
}

static int client_refused(uint16_t port)
{
	int fd = dial_to(port);
	char c;

	return fd >= 0 && read(fd, &c, 1) < 0 && errno == ECONNRESET ? 0 : 1;
}

TEST(refused_upstream_resets_the_client)
{
	struct net n;
	int gate = net_open(&n, false);

	net_client(&n, gate, client_refused);
}

/* An open connection does not keep the run alive, and ends with it. */
TEST(connections_end_with_the_run)
{
	struct net n;
	int gate = net_open(&n, true);
	int fd = dial_to(n.inside);
	char c;

	n.b.plan.argv = SH("sleep 0.3");
	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(write(fd, "x", 1), 1);
	bed_run(&n.b);
	ASSERT_EQ(read(fd, &c, 1), 1);
	ASSERT_TRUE(read(fd, &c, 1) <= 0);
	(void)close(gate);
	stop(n.server);
	bed_done(&n.b);
}
