/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faithfulness: the same list of operations in two trees, once straight and once through the
 * broker. Every result, errno, descriptor flag and the trees afterwards must be the same.
 */

/* NOLINTBEGIN(android-cloexec-*,concurrency-mt-unsafe,performance-no-int-to-ptr,readability-function-size):
 * calls are made as the commands of the world make them, one per line */

#include <ftw.h>

#include <linux/fs.h>

#include "broker-fixture.h"

#define STEPS_MAX 512

struct step {
	char what[120];
	long result;
	unsigned int flags, fdflags, mode;
	long size;
};
struct script {
	const char *dir;
	struct step step[STEPS_MAX];
	size_t n;
};
static struct script *now;

static void note(const char *what, long r)
{
	struct step *s = &now->step[now->n++];

	ASSERT_TRUE(now->n < STEPS_MAX);
	(void)snprintf(s->what, sizeof(s->what), "%s", what);
	s->result = r < 0 ? -errno : r;
}

/* Descriptors: the number does not matter, what it is does. The broker's F_GETFL lacks O_NOFOLLOW.
 */
static void note_fd(const char *what, int fd)
{
	struct step *s = &now->step[now->n];
	struct stat st;

	note(what, fd < 0 ? -1 : 0);
	if (fd < 0)
		return;
	ASSERT_EQ(fstat(fd, &st), 0);
	s->flags = (unsigned int)fcntl(fd, F_GETFL) & ~(unsigned int)O_NOFOLLOW;
	s->fdflags = (unsigned int)fcntl(fd, F_GETFD);
	s->mode = st.st_mode;
	s->size = st.st_size;
	(void)close(fd);
}

#define DO(e)   note(#e, (long)(e))
#define OPEN(e) note_fd(#e, (int)(e))
#define C       O_CREAT | O_WRONLY

static void opens(void)
{
	static const mode_t masks[] = {0, 022, 077, 027, 0777};
	char name[32];

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		(void)umask(masks[i]);
		(void)snprintf(name, sizeof(name), "mask%zu", i);
		OPEN(open(name, C, 0666));
		(void)snprintf(name, sizeof(name), "maskdir%zu", i);
		DO(mkdir(name, 0777));
		(void)snprintf(name, sizeof(name), "maskfifo%zu", i);
		DO(mkfifo(name, 0666));
	}
	(void)umask(022);
	OPEN(open("a", C | O_EXCL, 0644));
	OPEN(open("a", C | O_EXCL, 0644));
	OPEN(open("a", C | O_TRUNC, 0644));
	OPEN(open("a", O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0644));
	OPEN(open("a", O_CREAT | O_RDONLY, 0644));
	OPEN(open("a", O_CREAT | O_NOFOLLOW | O_WRONLY, 0644));
	OPEN(open("a/", C, 0644));
	OPEN(open("new/", C, 0644));
	OPEN(open("a/b", C, 0644));
	OPEN(open("missing/b", C, 0644));
	OPEN(open("missing/b/", C, 0644));
	OPEN(open("", C, 0644));
	OPEN(open(".", C, 0644));
	OPEN(open("..", C, 0644));
	OPEN(open("/", C, 0644));
	OPEN(open("//", C, 0644));
	OPEN(open("./a", C, 0644));
	OPEN(open("maskdir1/../a", C, 0644));
	OPEN(open("maskdir1//x", C, 02755));
	OPEN(open("maskdir1", C, 0644));
	OPEN(open("maskdir1", O_CREAT | O_RDONLY, 0644));
	OPEN(open("maskdir1", O_CREAT | O_DIRECTORY | O_RDONLY, 0644));
	OPEN(open("fresh", O_CREAT | O_DIRECTORY | O_RDONLY, 0644));
	OPEN(open("maskdir1", O_CREAT | O_EXCL | O_RDONLY, 0644));
	OPEN(open("maskdir4/x", C, 0644));
	OPEN(open("sticky", C, 01644));
	OPEN(open((const char *)(uintptr_t)1, C, 0644));
	OPEN(open((const char *)(uintptr_t)0xffff800000000000, C, 0644));
	OPEN(openat(99, "x", C, 0644));
	OPEN(openat(-5, "x", C, 0644));
	OPEN(openat(99, "/dev/null", C, 0644));
	OPEN(open("/dev/null", C | O_TRUNC, 0644));
	OPEN(open("/dev/zero", O_CREAT | O_RDWR, 0644));
	OPEN(open("/proc/nothing", C, 0644));
	OPEN(open("/proc/self/nothing", C, 0644));
	OPEN(open("/proc/self/comm", C | O_TRUNC, 0644));
	OPEN(open("/proc/thread-self/comm", C, 0644));
	OPEN(creat("created", 0640));
	OPEN(creat("maskdir1/", 0640));
	OPEN(open("tmp", O_TMPFILE | O_CREAT | O_RDWR, 0600));
	OPEN(open("wr3", O_CREAT | O_ACCMODE, 0600));
}

static void links(void)
{
	char big[300], path[5000];

	DO(symlink("a", "to-a"));
	DO(symlink("dangling-target", "dangling"));
	DO(symlink("maskdir1", "to-dir"));
	DO(symlink("loop2", "loop1"));
	DO(symlink("loop1", "loop2"));
	DO(symlink("to-a", "chain1"));
	DO(symlink("chain1", "chain2"));
	DO(symlink("../a", "maskdir1/up"));
	DO(symlink("", "empty"));
	DO(symlink("x", ""));
	DO(symlink("x", "a"));
	DO(symlink("x", "slash/"));
	DO(symlink("x", "missing/y"));
	OPEN(open("to-a", C, 0644));
	OPEN(open("chain2", C, 0644));
	OPEN(open("chain2", C | O_EXCL, 0644));
	OPEN(open("chain2", C | O_NOFOLLOW, 0644));
	OPEN(open("loop1", C, 0644));
	OPEN(open("loop1/x", C, 0644));
	OPEN(open("dangling", C | O_EXCL, 0644));
	OPEN(open("dangling", C, 0644));
	OPEN(open("to-dir", C, 0644));
	OPEN(open("to-dir/in", C, 0644));
	OPEN(open("to-dir/up", C, 0644));
	DO(mkdir("to-a", 0755));
	DO(mkdir("dangling", 0755));
	DO(symlink("nowhere", "dangling2"));
	DO(mkdir("dangling2/", 0755));
	DO(mkdir("to-dir/", 0755));
	memset(big, 'n', sizeof(big));
	big[255] = 0;
	OPEN(open(big, C, 0644));
	big[255] = 'n';
	big[256] = 0;
	OPEN(open(big, C, 0644));
	DO(mkdir(big, 0755));
	memset(path, '/', sizeof(path));
	path[4094] = 'z';
	path[4095] = 0;
	(void)path;
	path[0] = '.';
	OPEN(open(path, C, 0644));
	path[4095] = 'z';
	path[4999] = 0;
	OPEN(open(path, C, 0644));
}

static void dirs(void)
{
	int d;

	DO(mkdir("d1", 0755));
	DO(mkdir("d1", 0755));
	DO(mkdir("d2/", 0755));
	DO(mkdir("d3//", 01777));
	DO(mkdir("d1/.", 0755));
	DO(mkdir("d1/..", 0755));
	DO(mkdir("/", 0755));
	DO(mkdir("", 0755));
	DO(mkdir("a/x", 0755));
	DO(mkdir("missing/x", 0755));
	DO(mkdir("missing/x/", 0755));
	DO(mkdir("sgid", 02755));
	DO(mkdir((const char *)(uintptr_t)8, 0755));
	d = open("d1", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DO(mkdirat(d, "sub", 0700));
	DO(mkdirat(99, "sub", 0700));
	OPEN(openat(d, "sub/f", C, 0644));
	OPEN(openat(d, "../viaparent", C, 0644));
	DO(mknodat(d, "node", S_IFREG | 0604, 0));
	DO(mknodat(d, "node", S_IFREG | 0604, 0));
	DO(mknodat(d, "node0", 0604, 0));
	DO(mknodat(d, "dir", S_IFDIR | 0604, 0));
	DO(mknodat(d, "sock", S_IFSOCK | 0604, 0));
	DO(mkfifoat(d, "fifo/", 0600));
	DO(linkat(d, "node", AT_FDCWD, "hard", 0));
	DO(linkat(d, "node", AT_FDCWD, "hard", 0));
	DO(linkat(d, "none", AT_FDCWD, "hard2", 0));
	DO(linkat(d, "node", AT_FDCWD, "hard3", 0x4000));
	DO(link("to-a", "hardlink-of-symlink"));
	DO(linkat(AT_FDCWD, "to-a", AT_FDCWD, "hard-of-a", AT_SYMLINK_FOLLOW));
	DO(link("d1", "hard-dir"));
	DO(link("a", "missing/z"));
	DO(link("a/", "hard-slash"));
	DO(link("a", "hard-slash/"));
	DO(link("", "z"));
	(void)close(d);
	d = open("a", O_RDONLY | O_CLOEXEC);
	DO(mkdirat(d, "sub", 0700));
	OPEN(openat(d, "x", C, 0644));
	OPEN(openat(d, "", C, 0644));
	(void)close(d);
}

static void renames(void)
{
	DO(mkdir("r1", 0755));
	DO(mkdir("r2", 0755));
	OPEN(open("r1/f", C, 0644));
	OPEN(open("r2/g", C, 0644));
	DO(rename("r1/f", "r1/h"));
	DO(rename("r1/f", "r1/h"));
	DO(rename("r1/h", "r2/g"));
	DO(rename("r1", "r2"));
	DO(rename("r2", "r2/inside"));
	DO(rename("r2/g", "r1"));
	DO(rename("r1", "r2/g"));
	DO(rename("r1/", "r3"));
	DO(rename("r3", "r4/"));
	DO(rename("r2/g", "file/"));
	DO(rename("r4/.", "x"));
	DO(rename("r4/..", "x"));
	DO(rename("/", "x"));
	DO(rename("x", "/"));
	DO(rename("", "x"));
	DO(rename("missing/x", "y"));
	DO(rename("a", "missing/y"));
	DO(rename("loop1", "loop3"));
	DO(rename("to-dir", "to-dir2"));
	DO(rename("to-dir2/", "to-dir3"));
	DO(renameat2(AT_FDCWD, "r2", AT_FDCWD, "r4", RENAME_NOREPLACE));
	DO(renameat2(AT_FDCWD, "r2", AT_FDCWD, "r5", RENAME_NOREPLACE));
	DO(renameat2(AT_FDCWD, "r5", AT_FDCWD, "r4", RENAME_EXCHANGE));
	DO(renameat2(AT_FDCWD, "r5", AT_FDCWD, "none", RENAME_EXCHANGE));
	DO(renameat2(AT_FDCWD, "r5", AT_FDCWD, "r4", RENAME_EXCHANGE | RENAME_NOREPLACE));
	DO(renameat2(AT_FDCWD, "r5", AT_FDCWD, "r4", 0x80));
	DO(renameat(77, "r5", AT_FDCWD, "r4"));
	DO(rename("a", "/proc/a"));
}

static void own_descriptors(void)
{
	char path[64];
	int fd = open("d1/node", O_RDWR | O_CLOEXEC), tmp;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	OPEN(open(path, C | O_TRUNC, 0644));
	DO(mkdir(path, 0755));
	DO(symlink("x", path));
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	OPEN(open(path, C | O_APPEND, 0644));
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	OPEN(open(path, C, 0644));
	OPEN(open("/proc/self/fd/999", C, 0644));
	OPEN(open("/proc/self/cwd/by-cwd", C, 0644));
	OPEN(open("/proc/self/cwd", C, 0644));
	(void)close(fd);
	fd = open("d1", O_RDONLY | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/by-fd", fd);
	OPEN(open(path, C, 0644));
	(void)snprintf(path, sizeof(path), "/dev/fd/%d/by-dev-fd", fd);
	DO(mkdir(path, 0755));
	(void)close(fd);
	fd = open("d1/node", O_RDWR | O_CLOEXEC);
	ASSERT_EQ(dup2(fd, 2), 2);
	OPEN(open("/dev/stderr", C, 0644));
	OPEN(open("/dev/tty", O_CREAT | O_RDWR, 0644));
	tmp = open(".", O_TMPFILE | O_RDWR, 0640);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", tmp);
	DO(linkat(AT_FDCWD, path, AT_FDCWD, "from-tmp", AT_SYMLINK_FOLLOW));
	DO(linkat(AT_FDCWD, path, AT_FDCWD, "from-tmp2", 0));
	DO(linkat(fd, "", AT_FDCWD, "from-fd", AT_EMPTY_PATH));
	DO(linkat(fd, "", AT_FDCWD, "from-fd2", 0));
}

static void fifos(void)
{
	pid_t pid;
	int fd;

	DO(mkfifo("pipe", 0644));
	OPEN(open("pipe", O_CREAT | O_RDWR, 0644));
	OPEN(open("pipe", C | O_NONBLOCK, 0644));
	OPEN(open("pipe", O_CREAT | O_RDONLY | O_NONBLOCK, 0644));
	pid = fork();
	if (pid == 0) {
		fd = open("pipe", O_CREAT | O_WRONLY, 0644);
		_exit(fd >= 0 && write(fd, "x", 1) == 1 ? 0 : 1);
	}
	OPEN(open("pipe", O_CREAT | O_RDONLY, 0644));
	(void)signal(SIGPIPE, SIG_IGN);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static void note_times(const char *path)
{
	struct stat st;

	DO(lstat(path, &st));
	note("atime", st.st_atim.tv_sec % 100000);
	note("mtime", st.st_mtim.tv_sec % 100000 + st.st_mtim.tv_nsec % 1000);
}

static void times(void)
{
	const struct timespec ts[2] = {{1000, 1}, {2000, 2}}, bad[2] = {{1, -7}, {1, 1}};
	const struct timespec omit[2] = {{1, UTIME_OMIT}, {1, UTIME_OMIT}};
	const struct timeval tv[2] = {{3000, 3}, {4000, 4}}, badtv[2] = {{1, 1000000}, {1, 1}};
	int fd = open("d1/node", O_RDWR | O_CLOEXEC);

	DO(utimensat(AT_FDCWD, "a", ts, 0));
	note_times("a");
	DO(utimensat(AT_FDCWD, "a", bad, 0));
	DO(utimensat(AT_FDCWD, "missing", omit, 0));
	DO(utimensat(AT_FDCWD, "missing", ts, 0));
	DO(utimensat(AT_FDCWD, "to-a", ts, AT_SYMLINK_NOFOLLOW));
	note_times("to-a");
	DO(utimensat(AT_FDCWD, "a", ts, 0x4));
	DO(futimens(fd, ts));
	note_times("d1/node");
	DO(syscall(SYS_utimensat, 99, NULL, ts, 0));
#ifdef SYS_utimes
	DO(syscall(SYS_utimes, "to-a", tv));
	note_times("a");
	DO(syscall(SYS_utimes, "a", badtv));
	DO(syscall(SYS_utime, "a", ts));
	DO(syscall(SYS_utime, "", ts));
	DO(syscall(SYS_futimesat, fd, NULL, tv));
	note_times("d1/node");
#endif
	(void)close(fd);
}

static void xattrs(void)
{
	int fd = open("d1/node", O_RDWR | O_CLOEXEC);

	DO(syscall(SYS_setxattr, "a", "user.x", "v", 1, 0));
	DO(syscall(SYS_setxattr, "a", "user.x", "v", 1, 1));
	DO(syscall(SYS_setxattr, "a", "user.y", "v", 1, 2));
	DO(syscall(SYS_setxattr, "a", "user.y", "v", 1, 8));
	DO(syscall(SYS_setxattr, "a", "user.y", NULL, 1, 0));
	DO(syscall(SYS_setxattr, "a", "", "v", 1, 0));
	DO(syscall(SYS_setxattr, "a", "user.big", "v", 70000, 0));
	DO(syscall(SYS_setxattr, "missing", "user.x", "v", 1, 0));
	DO(syscall(SYS_lsetxattr, "to-a", "user.l", "v", 1, 0));
	DO(syscall(SYS_setxattr, "to-a", "user.via", "v", 1, 0));
	DO(syscall(SYS_fsetxattr, fd, "user.f", "", 0, 0));
	DO(syscall(SYS_fsetxattr, 99, "user.f", "", 0, 0));
	DO(syscall(SYS_listxattr, "a", NULL, 0));
	DO(syscall(SYS_removexattr, "a", "user.x"));
	DO(syscall(SYS_removexattr, "a", "user.none"));
	DO(syscall(SYS_lremovexattr, "to-a", "user.x"));
	DO(syscall(SYS_fremovexattr, fd, "user.f"));
	(void)close(fd);
}

static void attributes(void)
{
	int fd = open("d1/node", O_RDWR | O_CLOEXEC);

	DO(write(fd, "content", 7));
	DO(truncate("d1/node", 3));
	DO(truncate("d1/node", -1));
	DO(truncate("d1", 0));
	DO(truncate("pipe", 0));
	DO(truncate("missing", 0));
	DO(truncate("to-a", 100));
	DO(truncate("loop1", 100));
	DO(truncate("a/", 100));
	DO(chmod("a", 0600));
	DO(chmod("to-a", 0640));
	DO(chmod("dangling2", 0640));
	DO(chmod("d1/", 0711));
	DO(chmod("a/", 0711));
	DO(chmod(".", 0751));
	DO(chmod("", 0751));
	DO(chmod((const char *)(uintptr_t)8, 0751));
	DO(fchmod(fd, 02755));
	DO(fchmod(99, 0700));
	DO(syscall(SYS_fchmodat, AT_FDCWD, "hard", 0606));
	DO(syscall(SYS_fchmodat2, AT_FDCWD, "to-a", 0606, AT_SYMLINK_NOFOLLOW));
	DO(syscall(SYS_fchmodat2, fd, "", 0606, AT_EMPTY_PATH));
	DO(syscall(SYS_fchmodat2, fd, "", 0606, 0));
	DO(syscall(SYS_fchmodat2, AT_FDCWD, "a", 0606, 0x4));
	DO(chown("a", getuid(), getgid()));
	DO(chown("a", (uid_t)-1, (gid_t)-1));
	DO(chown("a", 0, 0));
	DO(lchown("to-a", getuid(), (gid_t)-1));
	DO(lchown("dangling2", getuid(), (gid_t)-1));
	DO(chown("dangling2", getuid(), (gid_t)-1));
	DO(fchown(fd, getuid(), (gid_t)-1));
	DO(fchownat(fd, "", getuid(), (gid_t)-1, AT_EMPTY_PATH));
	DO(fchownat(AT_FDCWD, "to-a", getuid(), (gid_t)-1, AT_SYMLINK_NOFOLLOW));
	DO(fchownat(AT_FDCWD, "a", getuid(), (gid_t)-1, 0x8));
	OPEN(open("a", O_WRONLY));
	OPEN(open("a", O_WRONLY | O_TRUNC));
	OPEN(open("to-a", O_RDWR | O_CLOEXEC));
	OPEN(open("missing", O_RDWR));
	OPEN(open("to-a", O_RDWR | O_NOFOLLOW));
	OPEN(open("d1", O_RDWR));
	OPEN(open("d1/", O_RDONLY));
	OPEN(open("a/", O_RDWR));
	OPEN(open(".", O_TMPFILE | O_RDWR, 0600));
	OPEN(open("d1/sock", O_RDWR));
	OPEN(open("/etc/passwd", O_RDWR | O_CREAT, 0644));
	DO(unlink("hard"));
	DO(unlink("hard"));
	DO(unlink("d1"));
	DO(unlink("a/"));
	DO(unlink("to-dir3"));
	DO(unlink("dangling2/"));
	DO(rmdir("d1"));
	DO(rmdir("d2/"));
	DO(rmdir("d1/."));
	DO(rmdir("d1/.."));
	DO(rmdir("a"));
	DO(rmdir("/"));
	DO(unlinkat(AT_FDCWD, "d3", AT_REMOVEDIR));
	DO(unlinkat(AT_FDCWD, "d3", 0x40));
	(void)close(fd);
}

static void reads(void)
{
	OPEN(open("a", O_RDONLY));
	OPEN(open("to-a", O_RDONLY | O_NOFOLLOW));
	OPEN(open("to-a", O_PATH | O_NOFOLLOW));
	OPEN(open("a", O_PATH | O_CLOEXEC));
	OPEN(open(".", O_RDONLY | O_DIRECTORY));
	OPEN(open("..", O_RDONLY | O_DIRECTORY));
	OPEN(open("/", O_RDONLY));
	OPEN(open("a", O_RDONLY | O_DIRECTORY));
	OPEN(open("d1/", O_RDONLY | O_NOFOLLOW));
	OPEN(open("/proc/self/exe", O_RDONLY));
	OPEN(open("/proc/self", O_RDONLY));
	OPEN(open("/proc/self/", O_RDONLY));
	OPEN(open("/proc/self/maps", O_RDONLY));
	OPEN(open("/proc/self/fd", O_RDONLY));
	OPEN(open("/proc/self/task", O_RDONLY));
	OPEN(open("/proc/mounts", O_RDONLY));
	OPEN(open("/proc/net/dev", O_RDONLY));
	OPEN(open("/proc/self/mountinfo", O_RDONLY));
	OPEN(open("/dev/fd", O_RDONLY));
	OPEN(open("/dev/null", O_RDWR));
	OPEN(open("/proc/self/cwd/", O_RDONLY | O_NOFOLLOW));
	OPEN(open("/proc/self/cwd/", O_CREAT | O_RDONLY, 0644));
	OPEN(open("/proc/self/exe/", O_RDONLY));
	OPEN(open("/dev/fd/2/", O_RDONLY));
	OPEN(open("/", O_CREAT | O_EXCL | O_RDONLY, 0644));
	OPEN(open("d1/.", O_CREAT | O_EXCL | O_RDONLY, 0644));
	OPEN(open("d1/", O_CREAT | O_EXCL | O_RDONLY, 0644));
	OPEN(open("to-dir/", O_RDONLY | O_NOFOLLOW));
	OPEN(open("missing", O_RDONLY));
	OPEN(open("a/x", O_RDONLY));
}

static void script(void *arg)
{
	now = arg;
	ASSERT_EQ(chdir(now->dir), 0);
	opens();
	links();
	dirs();
	renames();
	own_descriptors();
	fifos();
	attributes();
	times();
	xattrs();
	reads();
	DO(mkdir("gone", 0755));
	DO(chdir("gone"));
	DO(rmdir("../gone"));
	OPEN(open("x", C, 0644));
	DO(mkdir("x", 0755));
	OPEN(open("../after", C, 0644));
	DO(chdir(now->dir));
	OPEN(open("done", C, 0644));
}

static char *listing;
static size_t listing_len, root_len;

static int visit(const char *path, const struct stat *st, int type, struct FTW *f)
{
	char line[5200], target[4096] = "";

	(void)type;
	(void)f;
	if (S_ISLNK(st->st_mode))
		(void)!readlink(path, target, sizeof(target) - 1);
	(void)snprintf(line, sizeof(line), "%s %o %u %lu %ld %.200s\n", path + root_len,
		st->st_mode, st->st_uid, (unsigned long)st->st_nlink,
		S_ISDIR(st->st_mode) ? 0L : (long)st->st_size, target);
	listing = realloc(listing, listing_len + strlen(line) + 1);
	memcpy(listing + listing_len, line, strlen(line) + 1);
	listing_len += strlen(line);
	return 0;
}

static char *list(const char *dir)
{
	char *text;

	listing = NULL;
	listing_len = 0;
	root_len = strlen(dir);
	ASSERT_EQ(nftw(dir, visit, 16, FTW_PHYS), 0);
	text = listing;
	return text;
}

static int by_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(char *text, char *lines[], size_t *n)
{
	char *save = NULL;

	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		lines[(*n)++] = l;
	qsort(lines, *n, sizeof(*lines), by_line);
}

static void compare_trees(const char *a, const char *b)
{
	static char *la[2000], *lb[2000];
	size_t na = 0, nb = 0;

	sort_lines(list(a), la, &na);
	sort_lines(list(b), lb, &nb);
	for (size_t i = 0; i < na && i < nb; i++)
		ASSERT_STREQ(lb[i], la[i]);
	ASSERT_EQ(nb, na);
}

static void same(bool user, struct bawn_plan *plan)
{
	char *top = scratch(user), a[80], b[80];
	struct script *s = mmap(
		NULL, 2 * sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int wrong = 0;
	int st = 0;
	pid_t pid;

	ASSERT_TRUE(s != MAP_FAILED);
	(void)snprintf(a, sizeof(a), "%s/a", top);
	(void)snprintf(b, sizeof(b), "%s/b", top);
	ASSERT_EQ(mkdir(a, 0755), 0);
	ASSERT_EQ(mkdir(b, 0755), 0);
	s[0].dir = a;
	s[1].dir = b;
	plan->guards[0].dir = b;
	pid = fork();
	if (pid == 0) {
		script(&s[0]);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	ASSERT_EQ(st, 0);
	ASSERT_EQ(brokered(plan, script, &s[1]), 0);
	for (size_t i = 0; i < s[0].n; i++) {
		const struct step *x = &s[0].step[i], *y = &s[1].step[i];

		if (x->result == y->result && x->flags == y->flags && x->fdflags == y->fdflags &&
			x->mode == y->mode && x->size == y->size)
			continue;
		wrong++;
		(void)printf("# %s: %ld %o %o %o %ld instead of %ld %o %o %o %ld\n", x->what,
			y->result, y->flags, y->fdflags, y->mode, y->size, x->result, x->flags,
			x->fdflags, x->mode, x->size);
	}
	(void)printf("# %zu operations compared\n", s[0].n);
	(void)fflush(stdout);
	ASSERT_EQ(wrong, 0);
	ASSERT_EQ(s[1].n, s[0].n);
	compare_trees(a, b);
	remove_tree(top);
}

static struct bawn_guard guard = {.name = ".claude", .rule = ".claude"};

TEST(same_as_root)
{
	struct bawn_plan plan = {.guards = &guard, .n_guards = 1};

	if (getuid() != 0)
		SKIP("needs root: run the suite as root");
	same(false, &plan);
}

TEST(same_as_user)
{
	struct bawn_plan plan = {.guards = &guard, .n_guards = 1};

	same(true, &plan);
}

static const char *const nowhere[] = {"/nowhere"};

TEST(same_when_writes_are_brokered)
{
	struct bawn_plan plan = {.tier = BAWN_TIER_LANDLOCK,
		.guards = &guard,
		.n_guards = 1,
		.protect = nowhere,
		.n_protect = 1};

	ASSERT_EQ(bawn_broker_mode(&plan), BAWN_BROKER_WRITE);
	same(true, &plan);
}

TEST(same_when_all_opens_are_brokered)
{
	struct bawn_plan plan = {.tier = BAWN_TIER_LANDLOCK,
		.guards = &guard,
		.n_guards = 1,
		.deny = nowhere,
		.n_deny = 1};

	ASSERT_EQ(bawn_broker_mode(&plan), BAWN_BROKER_ALL);
	same(true, &plan);
}

TEST(same_as_root_when_all_opens_are_brokered)
{
	struct bawn_plan plan = {.tier = BAWN_TIER_LANDLOCK,
		.guards = &guard,
		.n_guards = 1,
		.deny = nowhere,
		.n_deny = 1};

	if (getuid() != 0)
		SKIP("needs root: run the suite as root");
	same(false, &plan);
}

/* NOLINTEND(android-cloexec-*,concurrency-mt-unsafe,performance-no-int-to-ptr,readability-function-size)
 */
