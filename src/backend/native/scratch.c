/* SPDX-License-Identifier: Apache-2.0 */
/* See scratch.h. The tree is hostile: no step follows a symlink, and depth does not matter. */
#include "backend/native/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/sys.h"

#define INODE_COST 4096u /* so that a flood of empty files is seen as well */

static inline void cleanup_dir_p(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}
#define _cleanup_dir_ _cleanup_(cleanup_dir_p)

/* Open a directory entry for listing, whatever its mode is. */
static DIR *open_dir(int dirfd, const char *name)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char self[32];
	DIR *d;
	int rd;

	if (fd < 0)
		return NULL;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	(void)chmod(self, 0700);
	rd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (rd < 0)
		return NULL;
	d = fdopendir(rd);
	if (!d)
		(void)close(rd);
	return d;
}

static struct dirent *next_entry(DIR *d)
{
	struct dirent *e;

	do
		e = readdir(d); /* NOLINT(concurrency-mt-unsafe): the stream is ours alone */
	while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
	return e;
}

/* Empty one directory; its subdirectories move up to `top`, so that the tree never is deeper than
 * two. */
static void flatten(int top, const char *name, unsigned long *serial)
{
	_cleanup_dir_ DIR *d = open_dir(top, name);
	struct dirent *e;

	while (d && (e = next_entry(d))) {
		char up[32];

		if (unlinkat(dirfd(d), e->d_name, 0) == 0 || errno != EISDIR)
			continue;
		(void)snprintf(up, sizeof(up), ".%lu", (*serial)++);
		(void)renameat(dirfd(d), e->d_name, top, up);
	}
	(void)unlinkat(top, name, AT_REMOVEDIR);
}

static bool remove_tree(const char *path)
{
	_cleanup_dir_ DIR *top = open_dir(AT_FDCWD, path);
	unsigned long serial = 0;
	bool again = true;

	while (top && again) {
		struct dirent *e;

		again = false;
		rewinddir(top);
		while ((e = next_entry(top))) {
			if (unlinkat(dirfd(top), e->d_name, 0) < 0 && errno == EISDIR)
				flatten(dirfd(top), e->d_name, &serial);
			again = true;
		}
		if (rmdir(path) == 0)
			return true;
	}
	return rmdir(path) == 0 || errno == ENOENT;
}

static void run_clean(const char *const *argv)
{
	sigset_t none;
	pid_t pid = fork();

	if (pid == 0) {
		for (int fd = 0; fd < 3; fd++) /* the lowest numbers that are free; for exec */
			(void)open("/dev/null", O_RDWR); /* NOLINT(android-cloexec-open) */
		(void)sigemptyset(&none);
		(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
		/* the host's environment: it says where an engine is */
		bawn_exec(argv[0], argv, (const char *const *)environ);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* A daemon that was asked just before the host died may still make what is to be removed. */
static void clean_again(const char *const *clean)
{
	static const struct timespec pauses[] = {{.tv_nsec = 300000000}, {.tv_sec = 2}};

	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		(void)nanosleep(&pauses[i], NULL);
		run_clean(clean);
	}
}

static void keep(const char *path, const char *const *clean, int pipe_fd) __attribute__((noreturn));
static void keep(const char *path, const char *const *clean, int pipe_fd)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	pid_t host = getppid();
	sigset_t all;
	char byte;
	ssize_t n;

	(void)prctl(PR_SET_NAME, "bawn-keeper");
	(void)bawn_setsid();
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	if (pipe_fd > 0)
		(void)dup2(pipe_fd, 0);
	(void)close_range(1, ~0u, 0);
	do
		n = read(0, &byte, 1);
	while (n < 0 && errno == EINTR);
	(void)close(0);
	if (clean && n == 0)
		run_clean(clean);
	/* if the host process was killed, init may still be ending the run: try again for a while
	 */
	for (int i = 0; path && i < 500 && !remove_tree(path); i++)
		(void)nanosleep(&pause, NULL);
	if (clean && n == 0 && getppid() != host)
		clean_again(clean);
	_exit(0);
}

int bawn_keeper_start(const char *path, const char *const *clean, struct bawn_scratch *ret,
	struct bawn_error *err)
{
	int fds[2];
	pid_t pid;

	/* not a pipe: writing to a keeper that is no more must not end us */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a socket pair: %m");
	pid = fork();
	if (pid == 0) {
		(void)close(fds[1]);
		keep(path, clean, fds[0]);
	}
	(void)close(fds[0]);
	*ret = (struct bawn_scratch){
		.pipe = fds[1], .keeper = pid, .path = path, .alone = path && !clean};
	/* the keeper stands before there is anything to keep */
	if (pid < 0 || (path && mkdir(path, 0700) < 0)) {
		int r = bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make '%s': %m",
			path ? path : "a keeper");

		bawn_keeper_dismiss(ret);
		return r;
	}
	return 0;
}

const char *bawn_scratch_of(const struct bawn_plan *plan)
{
	for (size_t i = 0; plan->tier == BAWN_TIER_LANDLOCK && i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == BAWN_MNT_SCRATCH)
			return plan->mounts[i].dst;
	return NULL;
}

int bawn_scratch_make(const char *path, struct bawn_scratch *ret, struct bawn_error *err)
{
	return bawn_keeper_start(path, NULL, ret, err);
}

void bawn_keeper_dismiss(struct bawn_scratch *s)
{
	if (s->pipe >= 0)
		(void)send(s->pipe, "", 1, MSG_NOSIGNAL);
	bawn_scratch_done(s);
}

void bawn_scratch_done(struct bawn_scratch *s)
{
	int status = 0;

	if (s->pipe < 0)
		return;
	/* it mostly sleeps, and would have to begin; what we cannot remove it tries for a while */
	if (s->alone && s->keeper > 0 && remove_tree(s->path)) {
		(void)kill(s->keeper, SIGKILL);
		s->path = NULL;
	}
	(void)close(s->pipe);
	while (s->keeper > 0 && waitpid(s->keeper, &status, 0) < 0 && errno == EINTR)
		;
	/* whoever killed it did not mean the directory to stay */
	if (status != 0 && s->path)
		(void)remove_tree(s->path);
	*s = BAWN_SCRATCH_NONE;
}

uint64_t bawn_scratch_usage(const char *path, uint64_t enough)
{
	char copy[PATH_MAX];
	char *roots[] = {copy, NULL};
	uint64_t used = 0;
	FTS *fts;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!fts)
		return 0;
	for (FTSENT *e; used <= enough && (e = fts_read(fts));)
		if (e->fts_info != FTS_DP && e->fts_statp)
			used += INODE_COST + (uint64_t)e->fts_statp->st_blocks * 512u;
	(void)fts_close(fts);
	return used;
}
