/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log and its head as files. Whoever can plant a link, a FIFO or a file of their own where the
 * log is to be could divert or forge the record, so everything is opened below one checked
 * directory, without following links, and checked after it is open.
 */
#include "audit/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/path.h"

#define HINT "; set audit.path to a place that only you can write"

void audit_shown(const char *path, char *ret, size_t size)
{
	size_t len = strlen(path);

	if (len < size)
		(void)snprintf(ret, size, "%s", path);
	else
		(void)snprintf(
			ret, size, "%.*s…%s", (int)size / 2 - 4, path, path + len - size / 2 + 1);
}

const char *bawn_audit_default_path(struct bawn_arena *a)
{
	return bawn_path_state(a, "audit.jsonl");
}

int audit_path_or_default(
	struct bawn_arena *a, const char *path, const char **ret, struct bawn_error *err)
{
	if (!path || !*path)
		path = bawn_audit_default_path(a);
	if (!path)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ENOENT,
			"no place for the audit log: neither XDG_STATE_HOME nor a home directory "
			"is known; set audit.path");
	if (strlen(path) >= PATH_MAX)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ENAMETOOLONG,
			"the path of the audit log is longer than %d bytes; shorten audit.path",
			PATH_MAX - 1);
	*ret = path;
	return 0;
}

static int check_dir(const struct bawn_audit *au, struct bawn_error *err)
{
	struct stat st;

	if (fstat(au->dir_fd, &st) < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, -errno,
			"cannot look at the directory of audit log '%s': %m", au->shown);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, -EPERM,
			"the directory of audit log '%s' belongs to user %u" HINT, au->shown,
			st.st_uid);
	if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))
		return bawn_fail(err, BAWN_ERR_AUDIT, -EPERM,
			"others can write the directory of audit log '%s' (mode %04o); chmod go-w "
			"it, or set audit.path to another place",
			au->shown, st.st_mode & 07777u);
	return 0;
}

static int open_dir(struct bawn_audit *au, struct bawn_error *err)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	size_t len = (size_t)(au->name - au->path);
	_cleanup_free_ char *dir = len ? strndup(au->path, len) : strdup(".");
	int fd;

	if (!dir)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ENOMEM, "out of memory");
	fd = open(dir, flags);
	if (fd < 0 && errno == ENOENT && len) {
		int r = bawn_path_make_state_dirs(au->path, len - 1);

		if (r < 0) {
			errno = -r;
			return bawn_fail(err, BAWN_ERR_AUDIT, r,
				"cannot create the directory of audit log '%s': %m" HINT,
				au->shown);
		}
		fd = open(dir, flags);
	}
	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, -errno,
			"cannot open the directory of audit log '%s': %m" HINT, au->shown);
	if (au->dir_fd >= 0)
		(void)close(au->dir_fd);
	au->dir_fd = fd;
	return check_dir(au, err);
}

static const char *file_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	default:
		return "a device";
	}
}

static int check_file(const struct bawn_audit *au, const char *what, int fd, struct bawn_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bawn_fail(
			err, BAWN_ERR_AUDIT, -errno, "cannot look at %s '%s': %m", what, au->shown);
	if (!S_ISREG(st.st_mode))
		return bawn_fail(err, BAWN_ERR_AUDIT, -EINVAL, "%s '%s' is %s, not a regular file",
			what, au->shown, file_type(st.st_mode));
	if (st.st_uid != geteuid())
		return bawn_fail(err, BAWN_ERR_AUDIT, -EPERM, "%s '%s' belongs to user %u" HINT,
			what, au->shown, st.st_uid);
	if (st.st_mode & 022)
		return bawn_fail(err, BAWN_ERR_AUDIT, -EPERM,
			"others can write %s '%s' (mode %04o); check it with 'bawn audit verify', "
			"then chmod 600",
			what, au->shown, st.st_mode & 07777u);
	if (st.st_nlink > 1)
		return bawn_fail(err, BAWN_ERR_AUDIT, -EPERM,
			"%s '%s' has a second name (hard link); remove it", what, au->shown);
	return 0;
}

/* The head is opened like the log; `what` is for messages. */
static int open_file(struct bawn_audit *au, const char *name, int extra, const char *what,
	struct bawn_error *err)
{
	_cleanup_close_ int fd = openat(au->dir_fd, name,
		O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | extra, 0600);
	int r;

	if (fd < 0 && errno == ELOOP)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ELOOP,
			"%s '%s' is a symbolic link; set audit.path to where it points", what,
			au->shown);
	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, -errno, "cannot open %s '%s': %m" HINT, what,
			au->shown);
	r = check_file(au, what, fd, err);
	return r < 0 ? r : TAKE_FD(fd);
}

int audit_store_open_head(struct bawn_audit *au, struct bawn_error *err)
{
	int fd = open_file(au, au->head_name, 0, "head file of audit log", err);

	if (fd < 0)
		return fd;
	if (au->head_fd >= 0)
		(void)close(au->head_fd);
	au->head_fd = fd;
	return 0;
}

int audit_store_open(struct bawn_audit *au, struct bawn_error *err)
{
	int fd, r;

	r = open_dir(au, err);
	if (r < 0)
		return r;
	/* O_APPEND: nothing that is in the log is ever overwritten, and chattr +a works. */
	fd = open_file(au, au->name, O_APPEND, "audit log", err);
	if (fd < 0)
		return fd;
	if (au->log_fd >= 0)
		(void)close(au->log_fd);
	au->log_fd = fd;
	return audit_store_open_head(au, err);
}

int audit_lock(int fd, int op, unsigned ms)
{
	struct timespec nap = {0, 200000};
	int64_t until = 0;

	/* Polling, because a signal to end a blocking flock() is not a library's to take. */
	while (flock(fd, op | LOCK_NB) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return -errno;
		if (!until)
			until = bawn_now_ms() + (int64_t)ms;
		if (bawn_now_ms() >= until)
			return -ETIMEDOUT;
		(void)nanosleep(&nap, NULL);
		if (nap.tv_nsec < 10000000)
			nap.tv_nsec += nap.tv_nsec / 4;
	}
	return 0;
}

int audit_open_read(const char *path, struct bawn_error *err)
{
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char shown[160];
	struct stat st;

	audit_shown(path, shown, sizeof(shown));
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 && errno == ELOOP)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ELOOP, "'%s' is a symbolic link", shown);
	if (fd < 0 || fstat(fd, &st) < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, -errno, "cannot open '%s': %m", shown);
	if (!S_ISREG(st.st_mode))
		return bawn_fail(err, BAWN_ERR_AUDIT, -EINVAL, "'%s' is %s, not a regular file",
			shown, file_type(st.st_mode));
	return TAKE_FD(fd);
}
