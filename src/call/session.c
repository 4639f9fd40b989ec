/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session files are lines of one fixed width, so that whatever a crash leaves behind is still whole
 * lines, and forgetting the oldest is a copy within the file.
 */
#include "call/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "base/sha256.h"

/* "TIME STEP WORD\n": 20 + 1 + 2 + 1 + the word, padded with blanks */
#define LINE       (20 + 1 + 2 + 1 + BAWN_SESSION_WORD_MAX)
#define LINES_KEEP BAWN_SESSION_EVENTS_MAX
#define LINES_MAX  (2 * LINES_KEEP)

const char *bawn_step_name(enum bawn_step s)
{
	static const char *const names[] = {"other", "sensitive-read", "fetch", "net-command",
		"mcp", "mcp-send", "build-write", "build-run", "config-write"};

	return (size_t)s < sizeof(names) / sizeof(names[0]) ? names[s] : "unknown";
}

static int check_file(int fd, const char *path, struct bawn_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bawn_fail(err, BAWN_ERR_CALL, -errno, "session file '%s': %m", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) ||
		st.st_size % LINE != 0)
		return bawn_fail(err, BAWN_ERR_CALL, -EPERM,
			"session file '%s' is not a file that only this user can write, or it is damaged; "
			"remove it",
			path);
	return 0;
}

/* Opens and locks. `flags` is O_RDONLY, or O_RDWR | O_CREAT. -ENOENT passes silently for O_RDONLY.
 */
static int open_file(struct bawn_arena *a, const char *dir, const char *agent, const char *session,
	int flags, struct bawn_error *err)
{
	_cleanup_close_ int fd = -1;
	char name[BAWN_HEX_LEN + 1];
	const char *both, *path;
	int r;

	if (!dir)
		dir = bawn_path_state(a, "sessions");
	if (!dir)
		return bawn_fail(err, BAWN_ERR_CALL, -ENOENT,
			"no place for session files: neither XDG_STATE_HOME nor a home directory is known");
	both = bawn_arena_printf(a, "%s\n%s", agent, session);
	if (!both)
		return bawn_fail(err, BAWN_ERR_CALL, -ENOMEM, "out of memory");
	bawn_sha256_hex(both, strlen(both), name);
	path = bawn_path_join(a, dir, name);
	if (!path)
		return bawn_fail(err, BAWN_ERR_CALL, -ENOMEM, "out of memory");
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	if (fd < 0 && errno == ENOENT && (flags & O_CREAT)) {
		r = bawn_path_make_state_dirs(dir, strlen(dir));
		errno = r < 0 ? -r : ENOENT;
		if (r == 0)
			fd = open(
				path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	}
	if (fd < 0 && errno == ENOENT && !(flags & O_CREAT))
		return -ENOENT;
	if (fd < 0)
		return bawn_fail(
			err, BAWN_ERR_CALL, -errno, "cannot open session file '%s': %m", path);
	if (flock(fd, flags & O_CREAT ? LOCK_EX : LOCK_SH) < 0)
		return bawn_fail(
			err, BAWN_ERR_CALL, -errno, "cannot lock session file '%s': %m", path);
	r = check_file(fd, path, err);
	return r < 0 ? r : TAKE_FD(fd);
}

static bool parse_line(const char *p, struct bawn_session_event *ret)
{
	char number[21], step[3];
	char *end;
	unsigned long which;
	size_t n = BAWN_SESSION_WORD_MAX - 1;

	if (p[LINE - 1] != '\n' || p[20] != ' ' || p[23] != ' ')
		return false;
	memcpy(number, p, 20);
	number[20] = '\0';
	memcpy(step, p + 21, 2);
	step[2] = '\0';
	ret->time_us = strtoull(number, &end, 10);
	if (*end)
		return false;
	which = strtoul(step, &end, 10);
	if (*end || which >= BAWN_STEP_COUNT)
		return false;
	ret->step = (enum bawn_step)which;
	memcpy(ret->word, p + 24, n);
	while (n && ret->word[n - 1] == ' ')
		n--;
	ret->word[n] = '\0';
	return true;
}

static void format_line(const struct bawn_session_event *e, char dst[LINE + 1])
{
	int n = snprintf(dst, LINE + 1, "%020llu %02u ", (unsigned long long)e->time_us,
		(unsigned)e->step % 100);
	size_t at = n > 0 ? (size_t)n : 0;

	for (const char *p = e->word; *p && at < LINE - 1; p++)
		dst[at++] = (char)((unsigned char)*p < 0x20 ? '?' : *p);
	while (at < LINE - 1)
		dst[at++] = ' ';
	dst[at++] = '\n';
	dst[at] = '\0';
}

static int read_lines(int fd, struct bawn_session *ret, off_t *ret_size, struct bawn_error *err)
{
	char line[LINE];
	struct stat st;
	off_t at;

	if (fstat(fd, &st) < 0)
		return bawn_fail(err, BAWN_ERR_CALL, -errno, "session file: %m");
	*ret_size = st.st_size;
	at = st.st_size > (off_t)LINES_KEEP * LINE ? st.st_size - (off_t)LINES_KEEP * LINE : 0;
	for (ret->n = 0; at < st.st_size; at += LINE) {
		if (pread(fd, line, LINE, at) != LINE || !parse_line(line, &ret->v[ret->n]))
			return bawn_fail(err, BAWN_ERR_CALL, -EBADMSG,
				"a session file is damaged; remove the files in bawn's 'sessions' directory");
		ret->n++;
	}
	return 0;
}

int bawn_session_load(const char *dir, const char *agent, const char *session,
	struct bawn_session *ret, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_close_ int fd = -1;
	off_t size;

	ret->n = 0;
	if (!a)
		return bawn_fail(err, BAWN_ERR_CALL, -ENOMEM, "out of memory");
	fd = open_file(a, dir, agent, session, O_RDONLY, err);
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	return read_lines(fd, ret, &size, err);
}

/* Keep the newest lines only, in place: each write is whole lines. */
static int forget_old(int fd, struct bawn_session *old, struct bawn_error *err)
{
	char line[LINE + 1];

	for (size_t i = 0; i < old->n; i++) {
		format_line(&old->v[i], line);
		if (pwrite(fd, line, LINE, (off_t)i * LINE) != LINE)
			return bawn_fail(
				err, BAWN_ERR_CALL, errno ? -errno : -EIO, "session file: %m");
	}
	if (ftruncate(fd, (off_t)old->n * LINE) < 0)
		return bawn_fail(err, BAWN_ERR_CALL, -errno, "session file: %m");
	return 0;
}

int bawn_session_add(const char *dir, const char *agent, const char *session,
	const struct bawn_session_event *v, size_t n, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_session *old = a ? bawn_new(a, struct bawn_session, 1) : NULL;
	_cleanup_close_ int fd = -1;
	char line[LINE + 1];
	off_t size = 0;
	int r;

	if (!n)
		return 0;
	if (!old)
		return bawn_fail(err, BAWN_ERR_CALL, -ENOMEM, "out of memory");
	fd = open_file(a, dir, agent, session, O_RDWR | O_CREAT, err);
	if (fd < 0)
		return fd;
	r = read_lines(fd, old, &size, err);
	if (r == 0 && size >= (off_t)LINES_MAX * LINE) {
		r = forget_old(fd, old, err);
		size = (off_t)old->n * LINE;
	}
	for (size_t i = 0; r == 0 && i < n; i++, size += LINE) {
		format_line(&v[i], line);
		if (pwrite(fd, line, LINE, size) == LINE)
			continue;
		r = bawn_fail(err, BAWN_ERR_CALL, -EIO, "cannot write the session file: %m");
		/* half a line would be taken for damage from then on */
		if (ftruncate(fd, size) < 0)
			return r;
	}
	return r;
}
