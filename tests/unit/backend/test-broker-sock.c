/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets in the file system: who may be connected to, and what may be bound. */

/* NOLINTBEGIN(android-cloexec-*,concurrency-mt-unsafe,readability-function-size): calls are made as
 * the commands of the world make them, one per line */

#include <pthread.h>
#include <time.h>

#include <netinet/in.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/control.h"
#include "broker-fixture.h"

#define FLIPS   2000
#define BACKLOG 16

static char top[64], listed[96];
static int host, other_host, listed_host;

static struct bawn_guard guards[] = {{.dir = top, .name = ".claude", .rule = ".claude"}};
static struct bawn_mount mounts[] = {{.kind = BAWN_MNT_SOCKET, .src = listed, .dst = listed}};
static const struct bawn_plan plan = {
	.guards = guards, .n_guards = 1, .mounts = mounts, .n_mounts = 1};

#define WORKS(e)                                             \
	do {                                                 \
		if ((long)(e) < 0)                           \
			FAIL("%s: %s", #e, strerror(errno)); \
	} while (0)
#define FAILS(e, want)                                                              \
	do {                                                                        \
		errno = 0;                                                          \
		long r_ = (long)(e);                                                \
		if (r_ >= 0 || errno != (want))                                     \
			FAIL("%s: %ld, %s", #e, r_, r_ < 0 ? strerror(errno) : ""); \
	} while (0)

static int new_socket(int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	ASSERT_TRUE(fd >= 0);
	return fd;
}

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	memcpy(a.sun_path, path, strlen(path));
	return a;
}

static int bind_to(int fd, const char *path)
{
	struct sockaddr_un a = address(path);

	return bind(fd, (const struct sockaddr *)&a,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
}

static int connect_to(int fd, const char *path)
{
	struct sockaddr_un a = address(path);

	return connect(fd, (const struct sockaddr *)&a, sizeof(a));
}

/* Connect a new socket; returns 0 or -1 with errno. */
static int reach(const char *path)
{
	int fd = new_socket(SOCK_STREAM), r = connect_to(fd, path), e = errno;

	(void)close(fd);
	errno = e;
	return r;
}

static int listen_at(const char *path, int type, int backlog)
{
	int fd = new_socket(type);

	WORKS(bind_to(fd, path));
	WORKS(listen(fd, backlog));
	return fd;
}

static void prepare(void)
{
	(void)snprintf(top, sizeof(top), "%s", scratch(true));
	(void)snprintf(listed, sizeof(listed), "%s/listed.sock", top);
	ASSERT_EQ(chdir(top), 0);
	ASSERT_EQ(mkdir("sub", 0755), 0);
	host = listen_at("host.sock", SOCK_STREAM | SOCK_NONBLOCK, BACKLOG);
	other_host = listen_at("sub/other.sock", SOCK_STREAM | SOCK_NONBLOCK, BACKLOG);
	listed_host = listen_at("listed.sock", SOCK_STREAM | SOCK_NONBLOCK, 4096);
}

/* Nobody came to the host's sockets. */
static void finish(void)
{
	FAILS(accept(host, NULL, NULL), EAGAIN);
	FAILS(accept(other_host, NULL, NULL), EAGAIN);
	ASSERT_EQ(chdir("/"), 0);
	remove_tree(top);
}

static void host_sockets(void *arg)
{
	char path[100];

	(void)arg;
	FAILS(reach("host.sock"), EACCES);
	(void)snprintf(path, sizeof(path), "%s/sub/../host.sock", top);
	FAILS(reach(path), EACCES);
	FAILS(reach("sub/other.sock"), EACCES);
	FAILS(reach("/proc/self/cwd/host.sock"), EACCES);
	WORKS(symlink("host.sock", "link"));
	FAILS(reach("link"), EACCES);
	WORKS(link("host.sock", "second"));
	FAILS(reach("second"), EACCES);
	WORKS(rename("second", "third"));
	FAILS(reach("third"), EACCES);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", open("third", O_PATH));
	FAILS(reach(path), EACCES);
	WORKS(reach("listed.sock"));
	WORKS(reach(listed));
	WORKS(symlink(listed, "short"));
	WORKS(reach("short"));
	FAILS(reach("host.sock"), EACCES);
}

TEST(host_sockets)
{
	char want[300];

	prepare();
	ASSERT_EQ(brokered(&plan, host_sockets, NULL), 0);
	ASSERT_TRUE(reports > 0);
	ASSERT_EQ(last_control, BAWN_CTL_IPC);
	(void)snprintf(want, sizeof(want),
		"connecting to the socket '%s/host.sock' is refused: it belongs to the host; the "
		"operator can allow it with --unix-socket %s/host.sock",
		top, top);
	ASSERT_STREQ(last_report, want);
	for (int i = 0; i < 3; i++)
		WORKS(accept(listed_host, NULL, NULL));
	finish();
}

/* The whole conversation with a socket bound under `path` and reached by `by`. */
static void converse(const char *path, const char *by, int type)
{
	struct sockaddr_un a = {0};
	socklen_t len = sizeof(a);
	int l = listen_at(path, type, BACKLOG), c = new_socket(type), s;
	char text[8] = "";

	WORKS(getsockname(l, (struct sockaddr *)&a, &len));
	ASSERT_STREQ(a.sun_path, path);
	WORKS(connect_to(c, by));
	s = accept(l, NULL, NULL);
	WORKS(s);
	ASSERT_EQ(write(c, "hello", 5), 5);
	ASSERT_EQ(read(s, text, sizeof(text)), 5);
	ASSERT_STREQ(text, "hello");
	(void)close(s);
	(void)close(c);
	(void)close(l);
}

static void own_sockets(void *arg)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "\0bawn-test-abstract"};
	char path[100];
	struct stat st;
	int l, c;

	(void)arg;
	converse("own", "own", SOCK_STREAM);
	converse("./sub/own", "sub/own", SOCK_SEQPACKET);
	(void)snprintf(path, sizeof(path), "%s/sub/absolute", top);
	converse(path, "sub/absolute", SOCK_STREAM);
	WORKS(chdir("sub"));
	converse("../back", "/proc/self/cwd/../back", SOCK_STREAM);
	WORKS(chdir(".."));
	l = listen_at("moved", SOCK_STREAM, BACKLOG);
	WORKS(rename("moved", "sub/here"));
	WORKS(reach("sub/here"));
	WORKS(symlink("sub/here", "to-own"));
	WORKS(reach("to-own"));
	(void)close(l);
	l = listen_at("/proc/self/cwd/by-proc", SOCK_STREAM, BACKLOG);
	WORKS(reach("by-proc"));
	(void)close(l);
	(void)umask(027);
	l = listen_at("masked", SOCK_STREAM, BACKLOG);
	WORKS(stat("masked", &st));
	ASSERT_EQ(st.st_mode, S_IFSOCK | 0750);
	ASSERT_EQ(st.st_uid, geteuid());
	(void)close(l);
	l = new_socket(SOCK_STREAM);
	c = new_socket(SOCK_STREAM);
	WORKS(bind(l, (const struct sockaddr *)&a, sizeof(a)));
	WORKS(listen(l, 1));
	WORKS(connect(c, (const struct sockaddr *)&a, sizeof(a)));
	(void)close(l);
	l = new_socket(SOCK_STREAM); /* a name of the kernel's choice */
	WORKS(bind(l, (const struct sockaddr *)&a, sizeof(a.sun_family)));
}

TEST(own_sockets)
{
	prepare();
	ASSERT_EQ(brokered(&plan, own_sockets, NULL), 0);
	ASSERT_EQ(reports, 0);
	finish();
}

/* A path as long as the address, without an end. */
static void longest(void *arg)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int l = new_socket(SOCK_STREAM), c = new_socket(SOCK_STREAM);

	(void)arg;
	memset(a.sun_path, 'x', sizeof(a.sun_path));
	WORKS(bind(l, (const struct sockaddr *)&a, sizeof(a)));
	WORKS(listen(l, 1));
	WORKS(connect(c, (const struct sockaddr *)&a, sizeof(a)));
	memset(a.sun_path, '/', sizeof(a.sun_path));
	a.sun_path[0] = '.';
	memcpy(a.sun_path + sizeof(a.sun_path) - 7, ".claude", 7);
	(void)close(l);
	l = new_socket(SOCK_STREAM);
	FAILS(bind(l, (const struct sockaddr *)&a, sizeof(a)), EPERM);
}

TEST(longest_path)
{
	prepare();
	ASSERT_EQ(brokered(&plan, longest, NULL), 0);
	ASSERT_TRUE(access(".claude", F_OK) < 0);
	finish();
}

static void guarded(void *arg)
{
	int fd = new_socket(SOCK_STREAM);
	char path[100];

	(void)arg;
	FAILS(bind_to(fd, ".claude"), EPERM);
	FAILS(bind_to(fd, ".Claude"), EPERM);
	FAILS(bind_to(fd, "sub/../.claude"), EPERM);
	FAILS(bind_to(fd, "/proc/self/cwd/.claude"), EPERM);
	(void)snprintf(path, sizeof(path), "%s/.claude", top);
	FAILS(bind_to(fd, path), EPERM);
	WORKS(symlink(".", "here"));
	FAILS(bind_to(fd, "here/.claude"), EPERM);
	WORKS(bind_to(fd, "sub/.claude"));
	FAILS(rename("sub/.claude", ".claude"), EPERM);
}

TEST(guarded_names)
{
	prepare();
	ASSERT_EQ(brokered(&plan, guarded, NULL), 0);
	ASSERT_EQ(last_control, BAWN_CTL_FS_PROTECT);
	ASSERT_TRUE(access(".claude", F_OK) < 0);
	finish();
}

static void in_protected(void *arg)
{
	int fd = new_socket(SOCK_STREAM), c = new_socket(SOCK_STREAM);

	(void)arg;
	FAILS(bind_to(fd, "sub/new"), EPERM);
	WORKS(bind_to(fd, "new"));
	WORKS(listen(fd, 1));
	WORKS(connect_to(c, "new"));
	FAILS(reach("host.sock"), EACCES);
	WORKS(reach("listed.sock"));
}

TEST(landlock_tier)
{
	char protect[100];
	const char *const list[] = {protect};
	struct bawn_plan p = {.tier = BAWN_TIER_LANDLOCK,
		.unix_open = true,
		.protect = list,
		.n_protect = 1,
		.mounts = mounts,
		.n_mounts = 1};

	prepare();
	(void)snprintf(protect, sizeof(protect), "%s/sub", top);
	ASSERT_EQ(brokered(&p, in_protected, NULL), 0);
	ASSERT_TRUE(access("sub/new", F_OK) < 0);
	finish();
}

#define CASES_MAX 64
static int *results; /* shared: errno of each case */
static unsigned int n_results;

static void note(long r)
{
	ASSERT_TRUE(n_results < CASES_MAX);
	results[n_results++] = r < 0 ? errno : 0;
}

static void note_addresses(int fd)
{
	struct sockaddr_un a = address("nowhere");
	struct sockaddr_storage big = {.ss_family = AF_UNIX};

	note(connect(-1, (const struct sockaddr *)&a, sizeof(a)));
	note(connect(999, (const struct sockaddr *)&a, sizeof(a)));
	note(connect(fd, NULL, sizeof(a)));
	note(connect(fd, (const struct sockaddr *)&a, (socklen_t)-1));
	note(connect(fd, (const struct sockaddr *)&a, 0));
	note(connect(fd, (const struct sockaddr *)&a, 2));
	memset((char *)&big + 2, 'x', sizeof(big) - 2);
	note(connect(fd, (const struct sockaddr *)&big, sizeof(big)));
	note(bind(fd, (const struct sockaddr *)&big, sizeof(big)));
	note(bind(fd, NULL, sizeof(a)));
	note(bind(fd, (const struct sockaddr *)&a, 0));
	a.sun_family = AF_INET;
	note(connect(fd, (const struct sockaddr *)&a, sizeof(a)));
	note(bind(fd, (const struct sockaddr *)&a, sizeof(a)));
	fd = open("file", O_RDONLY);
	note(connect(fd, (const struct sockaddr *)&a, sizeof(a)));
	note(bind(fd, (const struct sockaddr *)&a, sizeof(a)));
}

static void note_inet(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(a);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	note(bind(l, (const struct sockaddr *)&a, sizeof(a)));
	note(getsockname(l, (struct sockaddr *)&a, &len));
	note(connect(c, (const struct sockaddr *)&a, sizeof(a)));
	note(listen(l, 1));
	note(connect(c, (const struct sockaddr *)&a, sizeof(a)));
	note(connect(c, (const struct sockaddr *)&a, sizeof(a)));
	note(bind(c, (const struct sockaddr *)&a, sizeof(a)));
	a.sin_addr.s_addr = htonl(0xcb007107); /* 203.0.113.7: nobody has it */
	note(bind(socket(AF_INET, SOCK_STREAM, 0), (const struct sockaddr *)&a, sizeof(a)));
}

static void same(void *arg)
{
	int l, c, n = 0, fd = new_socket(SOCK_STREAM);

	(void)arg;
	note(reach("nowhere"));
	note(reach("no/where"));
	note(reach("file/x"));
	note(reach("file"));
	note(reach("sub"));
	note(reach("loop"));
	note(bind_to(fd, "no/where"));
	note(bind_to(fd, "file"));
	note(bind_to(fd, "file/x"));
	note(bind_to(fd, "dangling"));
	note(bind_to(fd, "sub/"));
	note(bind_to(fd, "/"));
	note(bind_to(fd, "."));
	note(bind_to(fd, "closed/x"));
	note_addresses(fd);
	l = new_socket(SOCK_STREAM | SOCK_NONBLOCK);
	note(bind_to(l, "own"));
	note(bind_to(l, "twice"));
	note(reach("own")); /* does not listen yet */
	note(listen(l, 1));
	c = new_socket(SOCK_STREAM);
	note(connect_to(c, "own"));
	note(connect_to(c, "own")); /* is connected */
	note(connect_to(new_socket(SOCK_SEQPACKET), "own"));
	note(chmod("own", 0));
	note(reach("own"));
	note(chmod("own", 0700));
	while (connect_to(new_socket(SOCK_STREAM | SOCK_NONBLOCK), "own") == 0)
		n++;
	note(-1); /* the backlog is full */
	note(n == 1 ? 0 : -1);
	(void)close(l);
	note(reach("own"));
	note(unlink("own"));
	note_inet();
}

static void prepare_same(void)
{
	ASSERT_EQ(close(creat("file", 0644)), 0);
	ASSERT_EQ(symlink("loop", "loop"), 0);
	ASSERT_EQ(symlink("nothing", "dangling"), 0);
	ASSERT_EQ(mkdir("closed", 0), 0);
}

TEST(errors_are_the_kernels)
{
	pid_t pid;

	prepare();
	prepare_same();
	results = mmap(NULL, sizeof(int) * CASES_MAX * 2, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(results != MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		same(NULL);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	results += CASES_MAX;
	ASSERT_EQ(brokered(&plan, same, NULL), 0);
	results -= CASES_MAX;
	for (int i = 0; i < CASES_MAX; i++) {
		if (results[i] != results[CASES_MAX + i])
			FAIL("case %d: '%s' instead of '%s'", i, strerror(results[CASES_MAX + i]),
				strerror(results[i]));
	}
	ASSERT_EQ(results[0], ENOENT);
	finish();
}

static struct sockaddr_un flipped;
static volatile bool stop;
static int flipped_fd, inet_fd, unix_fd;

static void pause_a_little(void)
{
	__asm__ volatile("" ::: "memory");
	for (volatile int i = 0; i < 300; i++)
		;
}

static void *flip(void *arg)
{
	const char *const *names = arg;

	while (!stop) {
		memcpy(flipped.sun_path, names[0], strlen(names[0]) + 1);
		pause_a_little();
		memcpy(flipped.sun_path, names[1], strlen(names[1]) + 1);
		pause_a_little();
	}
	return NULL;
}

static void connect_flipping(void *arg)
{
	const char *names[] = {"host.sock", "mine.sock"};
	unsigned int made = 0, refused = 0;
	int l = listen_at("mine.sock", SOCK_STREAM | SOCK_NONBLOCK, BACKLOG);
	pthread_t t;

	(void)arg;
	flipped = address(names[1]);
	ASSERT_EQ(pthread_create(&t, NULL, flip, (void *)names), 0);
	for (int i = 0; i < FLIPS; i++) {
		int fd = new_socket(SOCK_STREAM), s;

		if (connect(fd, (const struct sockaddr *)&flipped, sizeof(flipped)) == 0)
			made++;
		else if (errno == EACCES)
			refused++;
		(void)close(fd);
		s = accept(l, NULL, NULL);
		if (s >= 0)
			(void)close(s);
	}
	stop = true;
	(void)pthread_join(t, NULL);
	(void)printf("# flipped addresses: %u made, %u refused\n", made, refused);
	(void)fflush(stdout);
	ASSERT_TRUE(made > 0);
	ASSERT_TRUE(refused > 0);
}

TEST(address_race)
{
	prepare();
	ASSERT_EQ(brokered(&plan, connect_flipping, NULL), 0);
	finish();
}

static void *flip_fd(void *arg)
{
	(void)arg;
	while (!stop) {
		(void)dup2(inet_fd, flipped_fd);
		pause_a_little();
		(void)dup2(unix_fd, flipped_fd);
		pause_a_little();
	}
	return NULL;
}

/* A socket of the network exchanged for one of the file system. */
static void descriptor_flipping(void *arg)
{
	pthread_t t;

	(void)arg;
	unix_fd = new_socket(SOCK_STREAM);
	inet_fd = socket(AF_INET, SOCK_STREAM, 0);
	flipped_fd = fcntl(unix_fd, F_DUPFD, 50);
	if (inet_fd < 0)
		_exit(TEST_SKIP);
	ASSERT_EQ(pthread_create(&t, NULL, flip_fd, NULL), 0);
	for (int i = 0; i < FLIPS; i++)
		ASSERT_EQ(connect_to(flipped_fd, "host.sock"), -1);
	stop = true;
	(void)pthread_join(t, NULL);
}

TEST(descriptor_race)
{
	prepare();
	if (brokered(&plan, descriptor_flipping, NULL) == TEST_SKIP)
		SKIP("no AF_INET here: needs a kernel with IPv4");
	finish();
}

static void bind_flipping(void *arg)
{
	const char *names[] = {".claude", "innocent"};
	unsigned int made = 0, refused = 0;
	pthread_t t;

	(void)arg;
	flipped = address(names[1]);
	ASSERT_EQ(pthread_create(&t, NULL, flip, (void *)names), 0);
	for (int i = 0; i < FLIPS; i++) {
		int fd = new_socket(SOCK_STREAM);

		if (bind(fd, (const struct sockaddr *)&flipped, sizeof(flipped)) == 0)
			made++;
		else if (errno == EPERM)
			refused++;
		(void)close(fd);
		ASSERT_TRUE(access(".claude", F_OK) < 0);
		(void)unlink("innocent");
	}
	stop = true;
	(void)pthread_join(t, NULL);
	ASSERT_TRUE(made > 0);
	ASSERT_TRUE(refused > 0);
}

TEST(bind_race)
{
	prepare();
	ASSERT_EQ(brokered(&plan, bind_flipping, NULL), 0);
	finish();
}

static volatile int connected;

static void *connect_waiting(void *arg)
{
	(void)arg;
	connected = connect_to(new_socket(SOCK_STREAM), "busy") == 0 ? 1 : -errno;
	return NULL;
}

static int fill(void)
{
	int l = listen_at("busy", SOCK_STREAM, 0);

	while (connect_to(new_socket(SOCK_STREAM | SOCK_NONBLOCK), "busy") == 0)
		;
	ASSERT_EQ(errno, EAGAIN);
	return l;
}

static void busy(void *arg)
{
	struct timeval limit = {0, 150000};
	int l = fill(), c = new_socket(SOCK_STREAM);
	char name[32];
	pthread_t t;
	pid_t pid;

	(void)arg;
	ASSERT_EQ(pthread_create(&t, NULL, connect_waiting, NULL), 0);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "sub/d%d", i);
		WORKS(mkdir(name, 0755));
	}
	(void)usleep(50000);
	ASSERT_EQ(connected, 0); /* it waits still, and nothing else had to */
	/* a time limit of the socket's own */
	WORKS(setsockopt(c, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)));
	FAILS(connect_to(c, "busy"), EAGAIN);
	/* one that ends while it waits */
	pid = fork();
	if (pid == 0) {
		(void)connect_to(new_socket(SOCK_STREAM), "busy");
		_exit(0);
	}
	(void)usleep(20000);
	WORKS(kill(pid, SIGKILL));
	WORKS(waitpid(pid, NULL, 0));
	/* the one that ended may still have taken a place in the queue: accept until it is our turn
	 */
	WORKS(fcntl(l, F_SETFL, O_NONBLOCK));
	while (connected == 0) {
		int s = accept(l, NULL, NULL);

		if (s >= 0)
			(void)close(s);
		(void)usleep(1000);
	}
	(void)pthread_join(t, NULL);
	ASSERT_EQ(connected, 1);
}

TEST(busy_listener)
{
	prepare();
	ASSERT_EQ(brokered(&plan, busy, NULL), 0);
	finish();
}

static void closed_caller(void *arg)
{
	int fd = new_socket(SOCK_STREAM);

	(void)arg;
	WORKS(bind_to(fd, "mine"));
	/* it has no effect: who cannot be read cannot be served */
	WORKS(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
	WORKS(connect_to(new_socket(SOCK_STREAM), "listed.sock"));
	WORKS(bind_to(new_socket(SOCK_STREAM), "other"));
}

TEST(caller_that_does_not_want_to_be_read)
{
	prepare();
	ASSERT_EQ(brokered(&plan, closed_caller, NULL), 0);
	finish();
}

/* What the command cannot do, though the broker can. */
static void take_descriptor(void *arg)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);

	(void)arg;
	FAILS(syscall(SYS_pidfd_getfd, pidfd, 0, 0), EPERM);
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	FAILS(syscall(SYS_pidfd_getfd, pidfd, 0, 0), EPERM);
}

TEST(no_descriptors_of_others)
{
	prepare();
	ASSERT_EQ(brokered(&plan, take_descriptor, NULL), 0);
	finish();
}

static void connects(void *arg)
{
	struct timespec a, b;
	double us;

	(void)clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 1000; i++)
		WORKS(reach("listed.sock"));
	(void)clock_gettime(CLOCK_MONOTONIC, &b);
	us = (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3;
	(void)printf("# socket+connect+close %s: %.1f us\n", (const char *)arg, us / 1000);
	(void)fflush(stdout);
}

TEST(speed)
{
	static char with[] = "with the broker", without[] = "without the broker";

	prepare();
	connects(without);
	ASSERT_EQ(brokered(&plan, connects, with), 0);
	finish();
}

/* NOLINTEND(android-cloexec-*,concurrency-mt-unsafe,readability-function-size) */
