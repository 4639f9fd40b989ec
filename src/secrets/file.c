/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the vault lies. A file that others could have written or can read is not used, and said so:
 * to repair it silently would hide that somebody was there. The file is only ever replaced as a
 * whole, by one who holds the lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/path.h"
#include "secrets/store.h"

#define NAME     "vault"
#define NAME_NEW "vault.new"

int bawn_vault_paths(struct bawn_arena *a, struct bawn_vault_paths *ret)
{
	ret->file = bawn_path_state(a, NAME);
	ret->lock = bawn_path_state(a, NAME ".lock");
	ret->tries = bawn_path_state(a, NAME ".tries");
	ret->fresh = bawn_path_state(a, NAME_NEW);
	if (!ret->file || !ret->lock || !ret->tries || !ret->fresh)
		return -ENOENT;
	ret->dir = bawn_arena_strndup(a, ret->file, strlen(ret->file) - strlen("/" NAME));
	return ret->dir ? 0 : -ENOMEM;
}

bool bawn_vault_exists(void)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_vault_paths at;
	struct stat st;

	return a && bawn_vault_paths(a, &at) == 0 && lstat(at.file, &st) == 0;
}

/* Ours alone? `may` is the mode it should have. */
static int check(const char *path, const struct stat *st, unsigned may, struct bawn_error *err)
{
	if (st->st_uid != geteuid())
		return bawn_fail(err, BAWN_ERR_VAULT, -EPERM,
			"'%s' belongs to user %u, not to you; it is not used", path,
			(unsigned)st->st_uid);
	if (st->st_mode & 077)
		return bawn_fail(err, BAWN_ERR_VAULT, -EPERM,
			"'%s' is open to others (mode %04o); if that was your doing: chmod %o '%s'",
			path, (unsigned)st->st_mode & 07777, may, path);
	return 0;
}

static int failed(const char *path, int e, struct bawn_error *err)
{
	errno = e;
	if (e == ELOOP || e == ENOTDIR)
		return bawn_fail(err, BAWN_ERR_VAULT, -EPERM,
			"'%s' is a symbolic link or no directory; it is not used", path);
	return bawn_fail(err, BAWN_ERR_VAULT, -e, "'%s': %m", path);
}

int store_open(struct store *s, bool make, struct bawn_error *err)
{
	struct stat st;

	*s = (struct store){.a = bawn_arena_new(), .dir = -1, .lock = -1};
	if (!s->a || bawn_vault_paths(s->a, &s->at) < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOENT,
			"there is no home directory for a vault (HOME, XDG_STATE_HOME)");
	if (make) {
		int r = bawn_path_make_state_dirs(s->at.dir, strlen(s->at.dir));

		if (r < 0)
			return failed(s->at.dir, -r, err);
	}
	s->dir = open(s->at.dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->dir < 0 && errno == ENOENT)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOENT,
			"there is no vault; make one with 'bawn secret init'");
	if (s->dir < 0 || fstat(s->dir, &st) < 0)
		return failed(s->at.dir, errno, err);
	return check(s->at.dir, &st, 0700, err);
}

void store_done(struct store *s)
{
	if (s->dir >= 0)
		(void)close(s->dir);
	if (s->lock >= 0)
		(void)close(s->lock);
	s->dir = s->lock = -1;
	s->a = bawn_arena_free(s->a);
}

int store_lock(struct store *s, struct bawn_error *err)
{
	int64_t end = bawn_now_ms() + STORE_LOCK_MS;
	struct timespec nap = {.tv_nsec = 20000000};

	s->lock = openat(
		s->dir, NAME ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (s->lock < 0)
		return failed(s->at.lock, errno, err);
	while (flock(s->lock, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return failed(s->at.lock, errno, err);
		if (bawn_now_ms() > end)
			return bawn_fail(err, BAWN_ERR_VAULT, -EBUSY,
				"the vault is being changed by somebody else (lock '%s')",
				s->at.lock);
		(void)nanosleep(&nap, NULL);
	}
	return 0;
}

int store_read(const struct store *s, struct bawn_buf *ret, struct bawn_error *err)
{
	_cleanup_close_ int fd =
		openat(s->dir, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 && errno == ENOENT)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOENT,
			"there is no vault; make one with 'bawn secret init'");
	if (fd < 0 || fstat(fd, &st) < 0)
		return failed(s->at.file, errno, err);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return bawn_fail(err, BAWN_ERR_VAULT, -EPERM,
			"'%s' is no file of its own (another kind, or it has a second name); it is not used",
			s->at.file);
	r = check(s->at.file, &st, 0600, err);
	if (r < 0)
		return r;
	ret->max = STORE_MAX;
	r = bawn_read_all(fd, ret);
	if (r == -E2BIG)
		return bawn_fail(
			err, BAWN_ERR_VAULT, -EBADMSG, "'%s' is too long for a vault", s->at.file);
	return r < 0 ? failed(s->at.file, -r, err) : 0;
}

int store_write(const struct store *s, const void *data, size_t len, struct bawn_error *err)
{
	_cleanup_close_ int fd = -1;
	int r;

	/* what a writer left who was killed; we hold the lock */
	(void)unlinkat(s->dir, NAME_NEW, 0);
	fd = openat(s->dir, NAME_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed(s->at.fresh, errno, err);
	r = bawn_write_all(fd, data, len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(s->dir, NAME_NEW, s->dir, NAME) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(s->dir, NAME_NEW, 0);
		return failed(s->at.fresh, -r, err);
	}
	return fsync(s->dir) < 0 ? failed(s->at.dir, errno, err) : 0;
}
