/* SPDX-License-Identifier: Apache-2.0 */
/* See jailer.h. The options are those of the jailer's published documentation. */
#include "backend/vm/jailer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/far/far.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/libexec.h"
#include "base/path.h"
#include "base/sys.h"

#define PROGRAM    "jailer"
#define PARENT     "bawn-vm"            /* of the control groups */
#define USERS      UINT32_C(0x62000000) /* far from those that people and containers have */
#define PROCESSES  256u
#define FILES      1024u
#define PERIOD     100000u
#define MOUNTS_MAX ((size_t)1 << 20)

bool bawn_jailer_find(char *dst, size_t size)
{
	return geteuid() == 0 && (bawn_libexec_find(PROGRAM, dst, size) == 0 ||
					 bawn_far_find(PROGRAM, "", dst, size, NULL) == 0);
}

/* ---- control groups ---- */

/* Where the hierarchy is that `controller` belongs to ("": version 2). NULL: nowhere. */
static const char *find_hierarchy(struct bawn_arena *a, const char *mounts, const char *controller)
{
	char where[PATH_MAX], type[32], options[512];

	for (const char *p = mounts; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		char *word, *rest = options;

		if (sscanf(p, "%*s %4095s %31s %511s", where, type, options) != 3)
			continue;
		if (!*controller && !strcmp(type, "cgroup2"))
			return bawn_arena_strdup(a, where);
		if (strcmp(type, "cgroup") != 0)
			continue;
		while (*controller && (word = strsep(&rest, ",")))
			if (!strcmp(word, controller))
				return bawn_arena_strdup(a, where);
	}
	return NULL;
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strstr(p, word)); p++)
		if ((p == text || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\n' || !p[n]))
			return true;
	return false;
}

static int add_group(struct bawn_jailer *j, struct bawn_arena *a, const char *where,
	const char *file, uint64_t value)
{
	struct bawn_jailer_group *g = &j->groups[j->n_groups];

	/* of every PERIOD, which in version 1 is another file and the same by default */
	g->setting = bawn_arena_printf(a, "%s=%llu%s", file, (unsigned long long)value,
		!strcmp(file, "cpu.max") ? " 100000" : "");
	g->parent = bawn_arena_printf(a, "%s/" PARENT, where);
	g->dir = bawn_arena_printf(a, "%s/" PARENT "/%s", where, j->id);
	if (!g->setting || !g->dir || !g->parent)
		return -ENOMEM;
	j->n_groups++;
	return 0;
}

static int add_cpu(
	struct bawn_jailer *j, struct bawn_arena *a, const struct bawn_limits *l, const char *where)
{
	bool two = j->group_version == 2;
	int r = 0;

	if (l->cpus_milli != BAWN_UNLIMITED)
		r = add_group(j, a, where, two ? "cpu.max" : "cpu.cfs_quota_us",
			l->cpus_milli * PERIOD / 1000);
	/* about as the kernel's documents convert them: 1024 shares are a weight of 100 */
	if (r >= 0 && l->cpu_shares != BAWN_UNLIMITED)
		r = add_group(j, a, where, two ? "cpu.weight" : "cpu.shares",
			two ? 1 + l->cpu_shares * 99 / 1024 : l->cpu_shares);
	return r;
}

int bawn_jailer_choose_groups(struct bawn_jailer *j, struct bawn_arena *a,
	const struct bawn_plan *plan, const char *mounts)
{
	const bool want_cpu = plan->demanded & BAWN_CTL_LIMIT_CPU;
	const char *two = find_hierarchy(a, mounts, "");
	const char *pids = NULL, *cpu = NULL;
	char path[PATH_MAX], have[256] = "";
	int r = 0;

	if (two &&
		(size_t)snprintf(path, sizeof(path), "%s/cgroup.controllers", two) < sizeof(path))
		(void)bawn_read_small(AT_FDCWD, path, have, sizeof(have));
	if (has_word(have, "pids") && (!want_cpu || has_word(have, "cpu"))) {
		j->group_version = 2;
		pids = cpu = two;
	} else {
		pids = find_hierarchy(a, mounts, "pids");
		cpu = find_hierarchy(a, mounts, "cpu");
		j->group_version = pids || (want_cpu && cpu) ? 1 : 0;
	}
	if (want_cpu && !cpu && !(plan->may_miss & BAWN_CTL_LIMIT_CPU))
		return -EOPNOTSUPP;
	if (pids)
		r = add_group(j, a, pids, "pids.max", PROCESSES);
	if (r >= 0 && want_cpu && cpu)
		r = add_cpu(j, a, &plan->limits, cpu);
	return r;
}

/* ---- where things are ---- */

int bawn_jailer_init(struct bawn_jailer *j, struct bawn_arena *a, const struct bawn_plan *plan)
{
	_cleanup_buf_ struct bawn_buf mounts = {.max = MOUNTS_MAX};
	char real[PATH_MAX];
	_cleanup_close_ int fd = open("/proc/mounts", O_RDONLY | O_CLOEXEC);

	if (!realpath(j->exec_file, real) || !strstr(strrchr(real, '/'), "firecracker"))
		return -EOPNOTSUPP; /* the jailer takes no other name */
	j->exec_file = bawn_arena_strdup(a, real);
	if (!j->exec_file)
		return -ENOMEM;
	j->root = bawn_arena_printf(a, "%s%s/%s/root", j->base, strrchr(j->exec_file, '/'), j->id);
	j->user = USERS + (uid_t)getpid();
	if (!j->root)
		return -ENOMEM;
	if (fd < 0 || bawn_read_all(fd, &mounts) < 0)
		bawn_buf_puts(&mounts, "");
	return bawn_jailer_choose_groups(j, a, plan, mounts.data ? mounts.data : "");
}

const char *const *bawn_jailer_argv(
	struct bawn_arena *a, const struct bawn_jailer *j, const char *api)
{
	const char *user = bawn_arena_printf(a, "%u", j->user);
	const char *files = bawn_arena_printf(a, "no-file=%u", FILES);
	const char *size = bawn_arena_printf(a, "fsize=%llu", (unsigned long long)j->file_max);
	const char *const begin[] = {j->program, "--id", j->id, "--exec-file", j->exec_file,
		"--uid", user, "--gid", user, "--chroot-base-dir", j->base, "--resource-limit",
		files, "--resource-limit", size, "--new-pid-ns"};
	const char *const end[] = {"--", "--api-sock", api};
	const size_t n = sizeof(begin) / sizeof(begin[0]);
	const char **argv = bawn_new(a, const char *, n + 8 + (size_t)2 * BAWN_JAILER_GROUPS);
	size_t at = n;

	if (!argv || !user || !files || !size)
		return NULL;
	memcpy(argv, begin, sizeof(begin));
	if (j->n_groups) {
		argv[at++] = "--cgroup-version";
		argv[at++] = j->group_version == 2 ? "2" : "1";
		argv[at++] = "--parent-cgroup";
		argv[at++] = PARENT;
	}
	for (size_t i = 0; i < j->n_groups; i++) {
		argv[at++] = "--cgroup";
		argv[at++] = j->groups[i].setting;
	}
	memcpy(argv + at, end, sizeof(end));
	return argv;
}

/* ---- what is in it ---- */

int bawn_jailer_open(const struct bawn_jailer *j, struct bawn_error *err)
{
	int r = bawn_path_make_dirs(j->root, strlen(j->root));

	/* who watches from outside has to get in as well as who is in it */
	if (r < 0 || chmod(j->root, 0700) < 0 || chown(j->root, j->user, j->user) < 0) {
		r = r < 0 ? r : -errno;
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot make '%s': %m", j->root);
	}
	return 0;
}

static int copy_file(int from, int to)
{
	ssize_t n;

	do
		n = copy_file_range(from, NULL, to, NULL, (size_t)1 << 30, 0);
	while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0 && (errno == EXDEV || errno == EOPNOTSUPP || errno == EINVAL)) {
		char piece[8192];

		while ((n = read(from, piece, sizeof(piece))) > 0)
			if (bawn_write_all(to, piece, (size_t)n) < 0)
				return -errno;
	}
	return n < 0 ? -errno : 0;
}

int bawn_jailer_place(
	const struct bawn_jailer *j, const char *src, const char *name, struct bawn_error *err)
{
	char dst[PATH_MAX];
	_cleanup_close_ int from = open(src, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_close_ int to = -1;
	struct stat st;
	int r = 0;

	if (from < 0 || fstat(from, &st) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot open '%s': %m", src);
	(void)snprintf(dst, sizeof(dst), "%s%s", j->root, name);
	/* a link has the owner and the mode of what it leads to: they must do as they are, and
	 * nobody in there may write to it */
	if (S_ISREG(st.st_mode) && st.st_uid == 0 && (st.st_mode & 0022) == 0 &&
		(st.st_mode & S_IROTH) &&
		linkat(AT_FDCWD, src, AT_FDCWD, dst, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	to = open(dst, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0400);
	if (to < 0 || fchown(to, j->user, j->user) < 0)
		r = -errno;
	if (r == 0)
		r = copy_file(from, to);
	if (r < 0) {
		errno = -r;
		return bawn_fail(
			err, BAWN_ERR_BACKEND, r, "cannot copy '%s' to '%s': %m", src, dst);
	}
	return 0;
}

/* ---- life and death ---- */

static void run_jailer(const char *const *argv) __attribute__((noreturn));
static void run_jailer(const char *const *argv)
{
	static const char *const no_environment[] = {NULL};

	bawn_exec(argv[0], argv, no_environment);
	(void)dprintf(2, "cannot run '%s': %m\n", argv[0]);
	_exit(127);
}

/* The first process of the namespaces. Ends when the last one in there has, or the host process. */
static void first_main(const char *const *argv, const int stdio[3], int go)
	__attribute__((noreturn));
static void first_main(const char *const *argv, const int stdio[3], int go)
{
	sigset_t none;
	char byte;

	(void)prctl(PR_SET_NAME, "bawn-jailer");
	(void)sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	/* a host process that is gone by now has not sent its word */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || read(go, &byte, 1) != 1)
		_exit(1);
	(void)bawn_setsid();
	for (int i = 0; i < 3; i++)
		if (dup2(stdio[i], i) < 0)
			_exit(1);
	(void)close_range(3, ~0u, 0);
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
		mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
		(void)dprintf(2, "cannot mount /proc: %m\n");
		_exit(1);
	}
	pid_t pid = fork();
	if (pid == 0)
		run_jailer(argv);
	while (pid > 0 && (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR))
		;
	_exit(0);
}

/* Descriptors out of the way of the first three. */
static int lift(const int stdio[3], int fds[3])
{
	for (int i = 0; i < 3; i++) {
		fds[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 10);
		if (fds[i] < 0)
			return -errno;
	}
	return 0;
}

int bawn_jailer_start(
	struct bawn_jailer *j, const char *const *argv, const int stdio[3], struct bawn_error *err)
{
	const unsigned long flags =
		CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | SIGCHLD;
	_cleanup_close_ int go_read = -1, go_write = -1;
	int fds[3] = {-1, -1, -1}, pair[2];
	int r = lift(stdio, fds);

	if (r == 0 && pipe2(pair, O_CLOEXEC) < 0)
		r = -errno;
	if (r == 0) {
		go_read = pair[0];
		go_write = pair[1];
		j->pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0);
	}
	if (r == 0 && j->pid == 0) {
		(void)close(TAKE_FD(go_write));
		first_main(argv, fds, go_read);
	}
	if (r == 0 && (j->pid < 0 || write(go_write, "", 1) != 1))
		r = -errno;
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot start '%s': %m", argv[0]);
	}
	return 0;
}

void bawn_jailer_end(struct bawn_jailer *j)
{
	if (j->pid > 0) {
		(void)kill(j->pid, SIGKILL);
		while (waitpid(j->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	for (size_t i = 0; j->pid > 0 && i < j->n_groups; i++) {
		(void)rmdir(j->groups[i].dir);
		(void)rmdir(j->groups[i].parent); /* unless there are others */
	}
	j->pid = 0;
}
