/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded names never come into being, whatever the way; and what a refusal tells. */

/* NOLINTBEGIN(android-cloexec-*,concurrency-mt-unsafe,performance-no-int-to-ptr,readability-function-size):
 * calls are made as the commands of the world make them, one per line */

#include <pthread.h>
#include <time.h>

#include <arpa/inet.h>
#include <linux/fs.h>
#include <netinet/in.h>

#include "base/control.h"
#include "broker-fixture.h"

#define FLIPS 2000

static char top[64], inner[80];

static struct bawn_guard guards[] = {
	{.dir = top, .name = ".claude", .rule = ".claude", .release = "--unprotect .claude"},
	{.dir = inner, .name = "hooks", .rule = "vault"},
};
static const struct bawn_plan plan = {.guards = guards, .n_guards = 2};

#define REFUSED(e)                                                                  \
	do {                                                                        \
		errno = 0;                                                          \
		long r_ = (long)(e);                                                \
		if (r_ >= 0 || errno != EPERM)                                      \
			FAIL("%s: %ld, %s", #e, r_, r_ < 0 ? strerror(errno) : ""); \
	} while (0)
#define WORKS(e)                                             \
	do {                                                 \
		if ((long)(e) < 0)                           \
			FAIL("%s: %s", #e, strerror(errno)); \
	} while (0)

static void prepare(void)
{
	(void)snprintf(top, sizeof(top), "%s", scratch(true));
	(void)snprintf(inner, sizeof(inner), "%s/sub/inner", top);
	ASSERT_EQ(chdir(top), 0);
	ASSERT_EQ(mkdir("sub", 0755), 0);
	ASSERT_EQ(mkdir("sub/inner", 0755), 0);
	ASSERT_EQ(mkdir("other", 0755), 0);
}

static void finish(void)
{
	ASSERT_TRUE(access(".claude", F_OK) < 0);
	ASSERT_TRUE(access("sub/inner/hooks", F_OK) < 0);
	ASSERT_EQ(chdir("/"), 0);
	remove_tree(top);
}

static void every_way(void *arg)
{
	char path[200];
	int fd, d;

	(void)arg;
	REFUSED(mkdir(".claude", 0755));
	REFUSED(mkdir(".claude/", 0755));
	REFUSED(mkdir("./.claude", 0755));
	REFUSED(mkdir("sub/../.claude", 0755));
	REFUSED(open(".claude", O_CREAT | O_WRONLY, 0644));
	REFUSED(open(".claude", O_CREAT | O_EXCL | O_RDWR, 0644));
	REFUSED(creat(".claude", 0644));
	ASSERT_EQ(open(".claude", O_CREAT | O_PATH, 0644), -1); /* the kernel ignores O_CREAT */
	ASSERT_EQ(errno, ENOENT);
	REFUSED(symlink("other", ".claude"));
	REFUSED(mkfifo(".claude", 0644));
	REFUSED(mknod(".claude", S_IFREG | 0644, 0));
	WORKS(mkdir("other/.claude", 0755));
	WORKS(close(creat("file", 0644)));
	REFUSED(rename("other/.claude", ".claude"));
	REFUSED(rename("other", ".claude"));
	REFUSED(rename("file", ".claude"));
	REFUSED(renameat2(AT_FDCWD, "file", AT_FDCWD, ".claude", RENAME_NOREPLACE));
	REFUSED(renameat2(AT_FDCWD, ".claude", AT_FDCWD, "file", RENAME_EXCHANGE));
	REFUSED(link("file", ".claude"));
	fd = open(".", O_TMPFILE | O_RDWR, 0600);
	if (fd >= 0)
		REFUSED(linkat(fd, "", AT_FDCWD, ".claude", AT_EMPTY_PATH));
	WORKS(symlink(".", "here"));
	REFUSED(mkdir("here/.claude", 0755));
	WORKS(symlink(".claude", "alias"));
	REFUSED(open("alias", O_CREAT | O_WRONLY, 0644));
	WORKS(symlink("alias", "alias2"));
	REFUSED(open("sub/../alias2", O_CREAT | O_WRONLY, 0644));
	REFUSED(mkdir("/proc/self/cwd/.claude", 0755));
	REFUSED(open("/proc/thread-self/cwd/.claude", O_CREAT | O_WRONLY, 0644));
	(void)snprintf(path, sizeof(path), "/proc/%d/cwd/.claude", getpid());
	REFUSED(mkdir(path, 0755));
	(void)snprintf(path, sizeof(path), "%s/.claude", top);
	REFUSED(mkdir(path, 0755));
	(void)snprintf(path, sizeof(path), "//proc//self//root%s/.claude", top);
	REFUSED(mkdir(path, 0755));
	d = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	REFUSED(mkdirat(d, ".claude", 0755));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/.claude", d);
	REFUSED(mkdir(path, 0755));
	(void)snprintf(path, sizeof(path), "/dev/fd/%d/.claude", d);
	REFUSED(open(path, O_CREAT | O_WRONLY, 0644));
	REFUSED(mkdir(".CLAUDE", 0755));
	REFUSED(mkdir(".Claude", 0755));
	REFUSED(mkdir(".cl\xe2\x80\x8c"
		      "aude",
		0755));                              /* U+200C */
	REFUSED(mkdir(".claude\xef\xbb\xbf", 0755)); /* U+FEFF */
	REFUSED(mkdir("\xe2\x80\x8b.claude", 0755)); /* U+200B */
	WORKS(mkdir(".claude2", 0755));
	WORKS(mkdir("claude", 0755));
	WORKS(mkdir("sub/.claude", 0755));
}

TEST(every_way)
{
	prepare();
	ASSERT_EQ(brokered(&plan, every_way, NULL), 0);
	ASSERT_TRUE(reports > 0);
	finish();
}

/* The guarded directory moved away, refilled and moved back; or replaced by one that has it. */
static void around(void *arg)
{
	(void)arg;
	REFUSED(mkdir("sub/inner/hooks", 0755));
	REFUSED(rename("sub/inner", "sub/moved"));
	REFUSED(rename("sub", "moved"));
	WORKS(mkdir("other/hooks", 0755));
	REFUSED(renameat2(AT_FDCWD, "other", AT_FDCWD, "sub/inner", RENAME_EXCHANGE));
	WORKS(rmdir("sub/inner"));
	REFUSED(rename("other", "sub/inner"));
	REFUSED(symlink("../other", "sub/inner"));
	WORKS(rmdir("sub"));
	WORKS(mkdir("other/inner", 0755));
	REFUSED(rename("other", "sub"));
	REFUSED(symlink("other", "sub"));
	WORKS(mkdir("sub", 0755));
	WORKS(mkdir("sub/inner", 0755));
	REFUSED(mkdir("sub/inner/hooks", 0755));
	REFUSED(open("sub/inner/HOOKS", O_CREAT | O_WRONLY, 0644));
}

TEST(around_the_directory)
{
	prepare();
	ASSERT_EQ(brokered(&plan, around, NULL), 0);
	finish();
}

static void make_one(void *arg)
{
	REFUSED(mkdir(arg, 0755));
}

TEST(report_says_what_to_do)
{
	char want[300];

	prepare();
	ASSERT_EQ(brokered(&plan, make_one, (void *)(uintptr_t) ".claude"), 0);
	ASSERT_EQ(reports, 1);
	ASSERT_EQ(last_control, BAWN_CTL_FS_PROTECT);
	(void)snprintf(want, sizeof(want),
		"creating '%s/.claude' is refused: it is protected agent or git configuration (rule "
		"filesystem.protect: .claude); the operator can allow it with --unprotect .claude",
		top);
	ASSERT_STREQ(last_report, want);
	finish();
}

TEST(report_of_what_no_option_allows)
{
	char want[300];

	prepare();
	ASSERT_EQ(brokered(&plan, make_one, (void *)(uintptr_t) "sub/inner/hooks"), 0);
	ASSERT_EQ(reports, 1);
	(void)snprintf(want, sizeof(want),
		"creating '%s/sub/inner/hooks' is refused: it is protected (vault), and no option allows it",
		top);
	ASSERT_STREQ(last_report, want);
	finish();
}

static void write_outside(void *arg)
{
	(void)arg;
	ASSERT_EQ(open("/etc/bawn-test", O_CREAT | O_WRONLY, 0644), -1);
	ASSERT_EQ(errno, EACCES);
}

TEST(report_of_a_place_that_is_not_writable)
{
	prepare();
	ASSERT_EQ(brokered(&plan, write_outside, NULL), 0);
	ASSERT_EQ(reports, 1);
	ASSERT_EQ(last_control, BAWN_CTL_FS_WRITE);
	ASSERT_STREQ(last_report,
		"writing '/etc/bawn-test' is refused: it is outside the writable directories; the "
		"operator can allow it with --rw /etc");
	finish();
}

static void make_odd(void *arg)
{
	(void)arg;
	REFUSED(mkdir("odd\033[2J\n", 0755));
}

/* Names come from the workspace: a refusal must not write to the operator's terminal. */
TEST(refusal_is_escaped)
{
	struct bawn_guard odd = {.dir = top,
		.name = "odd\033[2J\n",
		.rule = "odd\033[2J\n",
		.release = "--unprotect odd\033[2J\n"};
	struct bawn_plan p = {.guards = &odd, .n_guards = 1};

	prepare();
	ASSERT_EQ(brokered(&p, make_odd, NULL), 0);
	ASSERT_EQ(reports, 1);
	ASSERT_TRUE(strstr(last_report, "filesystem.protect: odd") != NULL);
	for (const char *c = last_report; *c; c++)
		ASSERT_TRUE((unsigned char)*c >= ' ');
	finish();
}

static void connects(void *arg)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(9)};
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)arg;
	if (s < 0)
		_exit(TEST_SKIP);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	WORKS(connect(s, (const struct sockaddr *)&a, sizeof(a)));
	a.sin_addr.s_addr = htonl(0xcb007107); /* 203.0.113.7, for documentation; a datagram socket
						  sends nothing */
	(void)connect(s, (const struct sockaddr *)&a, sizeof(a));
}

TEST(connect_is_recorded)
{
	prepare();
	if (brokered(&plan, connects, NULL) == TEST_SKIP)
		SKIP("no AF_INET here: needs a kernel with IPv4");
	ASSERT_EQ(reports, 1);
	ASSERT_EQ(last_control, BAWN_CTL_NET_NONE);
	ASSERT_TRUE(strstr(last_report, "203.0.113.7:9") != NULL);
	finish();
}

static void nested_filter(void *arg)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, 0x7fff0000U);
	struct sock_fprog p = {.len = 1, .filter = &allow};

	(void)arg;
	REFUSED(syscall(SYS_seccomp, 1, 8, &p));
	WORKS(syscall(SYS_seccomp, 1, 0, &p));
	ASSERT_EQ(syscall(SYS_openat2, AT_FDCWD, "x", NULL, 0), -1);
	ASSERT_EQ(errno, ENOSYS);
}

TEST(no_listener_of_its_own)
{
	prepare();
	ASSERT_EQ(brokered(&plan, nested_filter, NULL), 0);
	finish();
}

static char flipped[16];
static volatile bool stop;

static void *flip(void *arg)
{
	(void)arg;
	while (!stop) {
		memcpy(flipped, "innocent", 9);
		__asm__ volatile("" ::: "memory");
		for (volatile int i = 0; i < 300; i++)
			;
		memcpy(flipped, ".claude", 8);
		__asm__ volatile("" ::: "memory");
		for (volatile int i = 0; i < 300; i++)
			;
	}
	return NULL;
}

static void hammer(void *arg)
{
	unsigned int made = 0, refused = 0;
	pthread_t t;

	(void)arg;
	memcpy(flipped, "innocent", 9);
	ASSERT_EQ(pthread_create(&t, NULL, flip, NULL), 0);
	for (int i = 0; i < FLIPS; i++) {
		int fd = open(flipped, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

		if (fd >= 0)
			made++;
		else if (errno == EPERM)
			refused++;
		if (fd >= 0)
			(void)close(fd);
		ASSERT_TRUE(access(".claude", F_OK) < 0);
		(void)unlink("innocent");
	}
	stop = true;
	(void)pthread_join(t, NULL);
	(void)printf("# flipped paths: %u made, %u refused\n", made, refused);
	(void)fflush(stdout);
	ASSERT_TRUE(refused > 0);
	ASSERT_TRUE(made > 0);
}

TEST(path_changed_while_it_is_checked)
{
	prepare();
	ASSERT_EQ(brokered(&plan, hammer, NULL), 0);
	finish();
}

static char kept[80], secret[80];
static const char *const protect[] = {kept}, *const deny[] = {secret};

static void landlock_tree(struct bawn_plan *p)
{
	prepare();
	(void)snprintf(kept, sizeof(kept), "%s/kept", top);
	(void)snprintf(secret, sizeof(secret), "%s/other/secret", top);
	ASSERT_EQ(mkdir(kept, 0755), 0);
	ASSERT_EQ(close(creat("kept/f", 0644)), 0);
	ASSERT_EQ(mkdir(secret, 0755), 0);
	ASSERT_EQ(close(creat("other/secret/f", 0644)), 0);
	ASSERT_EQ(symlink("kept/f", "alias"), 0);
	ASSERT_EQ(symlink("other/secret", "alias2"), 0);
	*p = (struct bawn_plan){.tier = BAWN_TIER_LANDLOCK, .protect = protect, .n_protect = 1};
}

static void change_protected(void *arg)
{
	const struct timespec ts[2] = {{1, 1}, {1, 1}};
	int fd, dir;

	(void)arg;
	fd = open("kept/f", O_RDONLY | O_CLOEXEC);
	dir = open("kept", O_RDONLY | O_CLOEXEC);
	WORKS(fd);
	WORKS(dir);
	REFUSED(open("kept/f", O_WRONLY));
	REFUSED(open("kept/f", O_RDONLY | O_TRUNC));
	REFUSED(open("alias", O_RDWR));
	REFUSED(openat(dir, "f", O_RDWR));
	REFUSED(open("/proc/self/cwd/kept/f", O_RDWR));
	REFUSED(open("kept/new", O_CREAT | O_RDWR, 0644));
	REFUSED(open("kept", O_TMPFILE | O_RDWR, 0644));
	REFUSED(mkdir("kept/d", 0755));
	REFUSED(unlink("kept/f"));
	REFUSED(unlinkat(dir, "f", 0));
	REFUSED(rmdir("kept"));
	REFUSED(rename("kept", "x"));
	REFUSED(rename("kept/f", "x"));
	REFUSED(rename("alias", "kept/f"));
	REFUSED(link("kept/f", "x"));
	REFUSED(truncate("alias", 0));
	REFUSED(chmod("kept/f", 0777));
	REFUSED(fchmod(fd, 0777));
	REFUSED(fchmod(dir, 0777));
	REFUSED(chown("alias", getuid(), getgid()));
	REFUSED(fchown(fd, getuid(), getgid()));
	REFUSED(utimensat(AT_FDCWD, "kept/f", ts, 0));
	REFUSED(futimens(fd, ts));
	REFUSED(syscall(SYS_setxattr, "alias", "user.x", "v", 1, 0));
	REFUSED(syscall(SYS_fsetxattr, fd, "user.x", "v", 1, 0));
	REFUSED(syscall(SYS_fremovexattr, fd, "user.x"));
	WORKS(unlink("alias"));
	WORKS(open("file", O_CREAT | O_WRONLY, 0644));
	WORKS(rename("file", "file2"));
}

TEST(protected_paths_in_the_landlock_tier)
{
	struct bawn_plan p;

	landlock_tree(&p);
	ASSERT_EQ(brokered(&p, change_protected, NULL), 0);
	ASSERT_EQ(last_control, BAWN_CTL_FS_PROTECT);
	finish();
}

#define DENIED(e)                                            \
	do {                                                 \
		errno = 0;                                   \
		if ((long)(e) >= 0 || errno != EACCES)       \
			FAIL("%s: %s", #e, strerror(errno)); \
	} while (0)

static void read_denied(void *arg)
{
	char path[64];
	int fd;

	(void)arg;
	DENIED(open("other/secret/f", O_RDONLY));
	DENIED(open("other/secret", O_RDONLY | O_DIRECTORY));
	DENIED(open("alias2/f", O_RDONLY));
	DENIED(open("alias2/", O_RDONLY));
	DENIED(open("alias2/", O_RDONLY | O_NOFOLLOW));
	DENIED(open("other/secret/.", O_RDONLY));
	DENIED(open("sub/../other/secret/f", O_RDONLY));
	DENIED(rename("other/secret", "shown"));
	DENIED(rename("other", "shown"));
	DENIED(link("other/secret/f", "shown"));
	fd = open("other/secret/f", O_PATH | O_CLOEXEC);
	WORKS(fd);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	DENIED(open(path, O_RDONLY));
	DENIED(linkat(fd, "", AT_FDCWD, "shown", AT_EMPTY_PATH));
	fd = open("other/secret", O_PATH | O_CLOEXEC);
	DENIED(openat(fd, "f", O_RDONLY));
	DENIED(openat(fd, ".", O_RDONLY));
	WORKS(fchdir(fd));
	DENIED(open("f", O_RDONLY));
	WORKS(chdir(top));
	WORKS(open("other", O_RDONLY));
	WORKS(open("kept/f", O_RDWR));
}

TEST(denied_paths_in_the_landlock_tier)
{
	struct bawn_plan p;

	landlock_tree(&p);
	p = (struct bawn_plan){.tier = BAWN_TIER_LANDLOCK, .deny = deny, .n_deny = 1};
	ASSERT_EQ(brokered(&p, read_denied, NULL), 0);
	ASSERT_EQ(last_control, BAWN_CTL_FS_DENY);
	finish();
}

/* A lease makes whoever opens the file wait: that must not be the broker. */
static void leased(void *arg)
{
	pid_t pid;
	int fd, st = 0;

	(void)arg;
	WORKS(close(creat("leased", 0644)));
	(void)signal(SIGIO, SIG_IGN);
	fd = open("leased", O_RDONLY | O_CLOEXEC);
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		_exit(TEST_SKIP);
	pid = fork();
	if (pid == 0)
		_exit(open("leased", O_CREAT | O_WRONLY, 0644) >= 0 ? 0 : 1);
	(void)usleep(100000);
	WORKS(mkdir("meanwhile", 0755));
	ASSERT_EQ(waitpid(pid, &st, WNOHANG), 0);
	WORKS(fcntl(fd, F_SETLEASE, F_UNLCK));
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	ASSERT_EQ(st, 0);
}

TEST(a_lease_does_not_stop_the_broker)
{
	int r;

	prepare();
	r = brokered(&plan, leased, NULL);
	finish();
	if (r == TEST_SKIP)
		SKIP("no leases on this file system: set TMPDIR to one of ext4 or tmpfs");
	ASSERT_EQ(r, 0);
}

static void tools(void *arg)
{
	static const char text[] =
		"set -e; exec > out 2> log; mkdir -p a/b; echo hi > a/b/f; echo no > /dev/null; echo err 2> a/err >&2;"
		"echo x > /dev/stderr; (echo a; echo b) | tee a/t > /dev/fd/1; cp -r a c; mv c d;"
		"ln -s a l; ln a/t hard; mkfifo p; (echo through > p) & read -r v < p; [ $v = through ];"
		"if command -v git > /dev/null; then export HOME=$PWD; git init -q r; cd r;"
		"git config user.name n; git config user.email e; echo 1 > f; git add f;"
		"git commit -qm m; git gc -q; cd ..; fi;"
		"if command -v gcc > /dev/null; then echo 'int main(void){return 0;}' > m.c;"
		"gcc m.c -o m; ./m; fi;"
		"if command -v python3 > /dev/null; then python3 -c 'import tempfile,shutil,os;"
		"d=tempfile.mkdtemp(dir=\".\");open(d+\"/x\",\"w\").write(\"y\");shutil.rmtree(d)'; fi;"
		"! mkdir .claude 2> /dev/null; tar cf t.tar a; mkdir u; tar xf t.tar -C u; rm -rf a u";

	(void)arg;
	(void)execl("/bin/bash", "bash", "-c", text, (char *)NULL);
	_exit(126);
}

TEST(ordinary_tools)
{
	if (access("/bin/bash", X_OK) < 0)
		SKIP("no bash here (apt-get install bash)");
	prepare();
	ASSERT_EQ(brokered(&plan, tools, NULL), 0);
	finish();
}

TEST(ordinary_tools_when_all_opens_are_brokered)
{
	struct bawn_plan p;

	if (access("/bin/bash", X_OK) < 0)
		SKIP("no bash here (apt-get install bash)");
	landlock_tree(&p);
	p.guards = guards;
	p.n_guards = 2;
	p.deny = deny;
	p.n_deny = 1;
	ASSERT_EQ(brokered(&p, tools, NULL), 0);
	finish();
}

static void on_usr1(int sig)
{
	(void)sig;
}

/* Signals must neither lose nor repeat a call. */
static void interrupted(void *arg)
{
	struct sigaction sa = {.sa_handler = on_usr1, .sa_flags = SA_RESTART};
	pid_t me = getpid(), pid;
	char name[32];

	(void)arg;
	(void)sigaction(SIGUSR1, &sa, NULL);
	pid = fork();
	if (pid == 0) {
		for (;;) {
			(void)kill(me, SIGUSR1);
			(void)usleep(50);
		}
	}
	for (int i = 0; i < 500; i++) {
		(void)snprintf(name, sizeof(name), "other/d%d", i);
		WORKS(mkdir(name, 0755));
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

TEST(signals)
{
	prepare();
	ASSERT_EQ(brokered(&plan, interrupted, NULL), 0);
	finish();
}

static void creates(void *arg)
{
	struct timespec a, b;
	double us;

	(void)clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 2000; i++) {
		int fd = open("speed", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

		ASSERT_TRUE(fd >= 0);
		(void)close(fd);
		(void)unlink("speed");
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &b);
	us = (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3;
	(void)printf("# create+close+unlink %s: %.1f us\n", (const char *)arg, us / 2000);
	(void)clock_gettime(CLOCK_MONOTONIC, &a);
	ASSERT_TRUE(close(creat("speed", 0644)) == 0);
	for (int i = 0; i < 2000; i++) {
		int fd = open("speed", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

		(void)close(fd);
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &b);
	us = (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3;
	(void)printf(
		"# open O_CREAT of an existing file %s: %.1f us\n", (const char *)arg, us / 2000);
	(void)fflush(stdout);
}

TEST(speed)
{
	prepare();
	creates((void *)(uintptr_t) "without the broker");
	ASSERT_EQ(brokered(&plan, creates, (void *)(uintptr_t) "with the broker"), 0);
	finish();
}

/* NOLINTEND(android-cloexec-*,concurrency-mt-unsafe,performance-no-int-to-ptr,readability-function-size)
 */
