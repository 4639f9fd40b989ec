/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From names to open files. A link that was named is followed, one that is met on the way is not;
 * what is no regular file is left out. Version control's own files are not content.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <poll.h>
#include <string.h>

#include <sys/stat.h>

#include "base/io.h"
#include "cli/vet.h"

#define SHOW_EVERY_MS 100

typedef int (*one_fn)(struct vet *v, const char *path, int fd, struct bawn_error *err);

static void show_progress(struct vet *v)
{
	struct bawn_buf b = {0};
	int64_t now;

	if (!v->progress)
		return;
	now = bawn_now_ms();
	if (now - v->shown < SHOW_EVERY_MS)
		return;
	v->shown = now;
	bawn_buf_printf(&b, "\r%llu files, %llu MiB, %llu flagged\x1b[K",
		(unsigned long long)v->files, (unsigned long long)(v->bytes >> 20),
		(unsigned long long)v->flagged);
	cli_progress(v->cli, &b);
	bawn_buf_done(&b);
}

static void hide_progress(struct vet *v)
{
	struct bawn_buf b = {0};

	if (!v->progress || !v->shown)
		return;
	bawn_buf_puts(&b, "\r\x1b[K");
	cli_progress(v->cli, &b);
	bawn_buf_done(&b);
}

/* A pipe that was named is waited for: until somebody writes, reading would find its end. */
static void await_writer(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
}

static int open_one(struct vet *v, const char *path, int flags, one_fn one, struct bawn_error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
	struct stat st;

	if (fd < 0)
		return vet_report_unreadable(v, path, -errno, err);
	if (fstat(fd, &st) < 0)
		return vet_report_unreadable(v, path, -errno, err);
	if (!S_ISREG(st.st_mode) && flags & O_NOFOLLOW)
		return 0;
	if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)) {
		if (S_ISFIFO(st.st_mode))
			await_writer(fd);
		if (fcntl(fd, F_SETFL, 0) < 0)
			return vet_report_unreadable(v, path, -errno, err);
		return one(v, path, fd, err);
	}
	return vet_report_unreadable(v, path, -EINVAL, err);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_control(const char *name)
{
	static const char *const names[] = {".git", ".hg", ".svn", ".jj"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int visit(struct vet *v, FTS *t, FTSENT *e, one_fn one, struct bawn_error *err)
{
	switch (e->fts_info) {
	case FTS_D:
		if (e->fts_level > 0 && is_control(e->fts_name))
			(void)fts_set(t, e, FTS_SKIP);
		return 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return vet_report_unreadable(v, e->fts_path, -e->fts_errno, err);
	case FTS_F:
		if (e->fts_level > 0 && is_control(e->fts_name))
			return 0; /* of a worktree or submodule: a file that names a directory */
		return open_one(v, e->fts_path, O_NOFOLLOW, one, err);
	default:
		return 0;
	}
}

static int walk(struct vet *v, const char *path, one_fn one, struct bawn_error *err)
{
	_cleanup_free_ char *copy = strdup(path);
	char *const roots[] = {copy, NULL};
	FTS *t = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name) : NULL;
	FTSENT *e = NULL;
	int r = 0;

	if (!t)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "'%s': %m", path);
	v->in_tree = true;
	while (r >= 0 && (errno = 0, e = fts_read(t))) {
		r = visit(v, t, e, one, err);
		show_progress(v);
	}
	if (r >= 0 && errno)
		r = vet_report_unreadable(v, path, -errno, err);
	v->in_tree = false;
	(void)fts_close(t);
	hide_progress(v);
	return r < 0 ? r : 0;
}

/* What is passed on would be read again, and so on until the disk is full. */
static bool feeds_itself(const struct vet *v, const struct stat *in)
{
	struct stat out;

	return v->redact && S_ISREG(in->st_mode) && fstat(STDOUT_FILENO, &out) == 0 &&
	       in->st_dev == out.st_dev && in->st_ino == out.st_ino;
}

int vet_path(struct vet *v, const char *path, one_fn one, struct bawn_error *err)
{
	bool standard = !strcmp(path, "-");
	struct stat st;

	if ((standard ? fstat(STDIN_FILENO, &st) : stat(path, &st)) < 0)
		return vet_report_unreadable(v, path, -errno, err);
	if (feeds_itself(v, &st))
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'%s' is the file that the output goes to; name another one", path);
	if (standard)
		return one(v, "-", STDIN_FILENO, err);
	if (!S_ISDIR(st.st_mode))
		return open_one(v, path, 0, one, err);
	if (v->redact)
		return bawn_fail(err, BAWN_ERR_USAGE, -EISDIR,
			"'%s' is a directory; '--redact' takes files or '-'", path);
	return walk(v, path, one, err);
}
