/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appending: lock, see where the chain stands, write the record, write the head. The head is
 * believed before the log: if the log was cut, the chain goes on from the head, so the gap stays
 * visible for ever instead of being closed by the next writer.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "audit/audit.h"
#include "audit/store.h"
#include "base/io.h"

#define ROOM_AHEAD  ((off_t)64 << 10) /* allocated behind the log in one go */
#define ROOM_AT_END ((off_t)16 << 10) /* must be left behind the first record of a handle */

struct audit_state {
	struct audit_head head; /* the last record; size is where the next one goes */
	struct stat st;         /* of the log */
	bool head_lost;         /* there are records, but the head does not say which is last */
	bool head_empty;        /* that is also how the very first writer leaves it if killed */
	bool torn;              /* the log ends in the middle of a line that cannot be cut off */
};

int bawn_audit_open(const char *path, bool sync, struct bawn_audit **ret, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_audit *au;
	const char *slash;
	int r;

	if (!a)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ENOMEM, "out of memory");
	r = audit_path_or_default(a, path, &path, err);
	if (r < 0)
		return r;
	au = calloc(1, sizeof(*au));
	if (!au)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ENOMEM, "out of memory");
	au->dir_fd = au->log_fd = au->head_fd = -1;
	au->lock_ms = AUDIT_LOCK_MS;
	au->sync = sync;
	au->path = strdup(path);
	slash = au->path ? strrchr(au->path, '/') : NULL;
	au->name = slash ? slash + 1 : au->path;
	if (!au->path || asprintf(&au->head_name, "%s.head", au->name) < 0) {
		au->head_name = NULL;
		(void)bawn_audit_free(au);
		return bawn_fail(err, BAWN_ERR_AUDIT, -ENOMEM, "out of memory");
	}
	audit_shown(path, au->shown, sizeof(au->shown));
	r = audit_store_open(au, err);
	if (r < 0) {
		(void)bawn_audit_free(au);
		return r;
	}
	*ret = au;
	return 0;
}

struct bawn_audit *bawn_audit_free(struct bawn_audit *au)
{
	if (!au)
		return NULL;
	cleanup_close_p(&au->dir_fd);
	cleanup_close_p(&au->log_fd);
	cleanup_close_p(&au->head_fd);
	free(au->path);
	free(au->head_name);
	free(au);
	return NULL;
}

const char *bawn_audit_path(const struct bawn_audit *au)
{
	return au->path;
}

/* Lock the file that has the log's name now; it may have been rotated or removed since the open. */
static int lock_current(struct bawn_audit *au, struct stat *st, struct bawn_error *err)
{
	for (int tries = 0; tries < 100; tries++) {
		struct stat named;
		int r = audit_lock(au->log_fd, LOCK_EX, au->lock_ms);

		if (r == -ETIMEDOUT)
			return bawn_fail(err, BAWN_ERR_AUDIT, r,
				"audit log '%s' has been locked by another process for %u seconds; "
				"'fuser' on the file names it",
				au->shown, au->lock_ms / 1000);
		if (r < 0 || fstat(au->log_fd, st) < 0) {
			r = r < 0 ? r : -errno;
			return bawn_fail(err, BAWN_ERR_AUDIT, r, "cannot lock audit log '%s': %s",
				au->shown, strerrordesc_np(-r));
		}
		if (fstatat(au->dir_fd, au->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
			named.st_ino == st->st_ino && named.st_dev == st->st_dev)
			return 0;
		(void)flock(au->log_fd, LOCK_UN);
		r = audit_store_open(au, err);
		if (r < 0)
			return r;
	}
	return bawn_fail(err, BAWN_ERR_AUDIT, -EAGAIN,
		"audit log '%s' is replaced again and again by another process", au->shown);
}

/* What the head file says. */
static int read_head(struct bawn_audit *au, struct audit_state *s, struct bawn_error *err)
{
	struct stat st;
	int r;

	if (fstat(au->head_fd, &st) < 0 || st.st_nlink != 1) {
		r = audit_store_open_head(au, err);
		if (r < 0)
			return r;
	}
	r = audit_head_read(au->head_fd, &s->head);
	if (r == -ENODATA || r == -EBADMSG) {
		s->head = (struct audit_head){.hash = AUDIT_ZERO_HASH};
		s->head_lost = s->st.st_size > 0 || r == -EBADMSG;
		s->head_empty = r == -ENODATA;
		return 0;
	}
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, r, "cannot read head file of '%s': %s",
			au->shown, strerrordesc_np(-r));
	return 0;
}

/*
 * Go over what the log holds behind the point that the head knows: the record of a writer that was
 * killed before it wrote the head, a torn line, or something foreign. With the head lost, that is
 * the whole log. Returns where the last whole line ends in *end.
 */
static int catch_up(struct bawn_audit *au, struct audit_state *s, off_t *end)
{
	struct audit_lines l;
	const char *line;
	size_t len;
	int kind;

	audit_lines_init(&l, au->log_fd, (off_t)s->head.size, s->st.st_size);
	while ((kind = audit_lines_next(&l, &line, &len)) > AUDIT_LINE_END) {
		struct audit_record r;

		if (kind == AUDIT_LINE_TORN)
			break;
		if (kind != AUDIT_LINE_FULL || !audit_record_parse(line, len, &r) ||
			!audit_record_authentic(line, &r))
			continue;
		if (s->head_lost ||
			(r.seq == s->head.seq + 1 && !memcmp(r.prev, s->head.hash, BAWN_HEX_LEN))) {
			s->head.seq = r.seq;
			memcpy(s->head.hash, r.hash, BAWN_HEX_LEN);
		}
	}
	*end = kind == AUDIT_LINE_TORN ? l.start : s->st.st_size;
	audit_lines_done(&l);
	return kind < 0 ? kind : 0;
}

/* Make the end of the log a place where a line can start. */
static int settle_tail(struct bawn_audit *au, struct audit_state *s, struct bawn_error *err)
{
	off_t end = s->st.st_size;
	char last = '\n';
	int r;

	if ((uint64_t)end == s->head.size)
		return 0;
	if ((uint64_t)end < s->head.size) {
		/* The log was cut: keep what is left of it as it is. */
		if (end > 0 && pread(au->log_fd, &last, 1, end - 1) != 1)
			return bawn_fail(
				err, BAWN_ERR_AUDIT, -EIO, "cannot read audit log '%s'", au->shown);
		s->torn = last != '\n';
		return 0;
	}
	r = catch_up(au, s, &end);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, r, "cannot read audit log '%s': %s",
			au->shown, strerrordesc_np(-r));
	if (s->head_empty && s->head.seq <= 1)
		s->head_lost = false;
	if (end == s->st.st_size)
		return 0;
	/* A line without an end never was a record. On an append-only file it can only be ended. */
	if (ftruncate(au->log_fd, end) < 0)
		s->torn = true;
	else if (fstat(au->log_fd, &s->st) < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, -errno, "cannot look at audit log '%s': %m",
			au->shown);
	return 0;
}

static void format_time(uint64_t us, char *ret, size_t size)
{
	uint64_t sec = us / 1000000, day = sec / 86400;
	/* days to a date by the calendar's 400-year period, counted from 1 March 0000; gmtime_r
	 * would read the time zone's file first */
	uint64_t z = day + 719468, era = z / 146097, doe = z % 146097;
	uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	uint64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	uint64_t month = mp < 10 ? mp + 3 : mp - 9;
	uint64_t year = yoe + era * 400 + (month <= 2 ? 1 : 0);

	(void)snprintf(ret, size, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ", (unsigned)(year % 10000),
		(unsigned)month, (unsigned)(doy - (153 * mp + 2) / 5 + 1),
		(unsigned)(sec % 86400 / 3600), (unsigned)(sec % 3600 / 60), (unsigned)(sec % 60),
		(unsigned)(us % 1000000));
}

/* The line, and in `next` the head that belongs to it. */
static int build(const struct audit_state *s, const char *members, struct bawn_buf *b,
	struct audit_head *next)
{
	char when[64];
	size_t start;

	if (s->torn)
		bawn_buf_puts(b, "\n");
	start = b->len;
	format_time(bawn_wall_us(), when, sizeof(when));
	bawn_buf_printf(b,
		"{\"schema\":\"bawn/audit/v1\",\"seq\":%" PRIu64 ",\"time\":\"%s\"%s%s%s,"
		"\"prev\":\"%.64s\"",
		s->head.seq + 1, when, s->head_lost ? ",\"head_lost\":true" : "",
		*members ? "," : "", members, s->head.hash);
	if (b->failed)
		return b->failed;
	bawn_sha256_hex(b->data + start, b->len - start, next->hash);
	bawn_buf_printf(b, ",\"hash\":\"%s\"}\n", next->hash);
	next->seq = s->head.seq + 1;
	next->size = (uint64_t)s->st.st_size + b->len;
	return b->failed;
}

/*
 * Room for the record, and behind the first one of a handle (the start of a run) for the last (its
 * end): a run that fills the disk must not lose the record of what it did. A file system that
 * cannot allocate ahead is left to the write itself.
 */
static int make_room(struct bawn_audit *au, const struct audit_state *s, off_t len)
{
	off_t size = s->st.st_size;
	off_t room = (off_t)s->st.st_blocks * 512 - size;
	struct rlimit lim;

	/* Above the limit a write would send SIGXFSZ and end the process. */
	if (getrlimit(RLIMIT_FSIZE, &lim) < 0)
		return -errno;
	if (lim.rlim_cur != RLIM_INFINITY && (uint64_t)(size + len) > lim.rlim_cur)
		return -EFBIG;
	if (room >= len + ROOM_AT_END || (au->appended && room >= len))
		return 0;
	if (lim.rlim_cur != RLIM_INFINITY && (uint64_t)(size + len + ROOM_AHEAD) > lim.rlim_cur)
		return 0;
	if (fallocate(au->log_fd, FALLOC_FL_KEEP_SIZE, size, len + ROOM_AHEAD) == 0)
		return 0;
	if ((errno == ENOSPC || errno == EDQUOT) && !au->appended)
		return -errno;
	return 0;
}

static int write_head(const struct bawn_audit *au, const struct audit_head *h, bool damaged)
{
	char text[AUDIT_HEAD_LEN + 1];
	ssize_t n;

	audit_head_format(h, text);
	do
		n = pwrite(au->head_fd, text, AUDIT_HEAD_LEN, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n != AUDIT_HEAD_LEN)
		return -ENOSPC;
	/* what was no head may have been longer than one */
	if (damaged && ftruncate(au->head_fd, AUDIT_HEAD_LEN) < 0)
		return -errno;
	return au->sync && fdatasync(au->head_fd) < 0 ? -errno : 0;
}

/* Log, then head; either both or neither. */
static int write_both(struct bawn_audit *au, struct audit_state *s, const struct bawn_buf *b,
	struct audit_head *next)
{
	off_t size = s->st.st_size;
	struct stat st;
	int r = make_room(au, s, (off_t)b->len);

	if (r < 0)
		return r;
	r = bawn_write_all(au->log_fd, b->data, b->len);
	if (r == 0 && au->sync && fdatasync(au->log_fd) < 0)
		r = -errno;
	if (r == 0)
		r = write_head(au, next, s->head_lost);
	if (r == 0)
		return 0;
	/* Only when something came into it: cutting also gives the room ahead back. */
	if (fstat(au->log_fd, &st) == 0 && st.st_size > size)
		(void)!ftruncate(au->log_fd, size);
	return r;
}

static int append_locked(
	struct bawn_audit *au, struct audit_state *s, const char *members, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {.max = AUDIT_LINE_MAX};
	struct audit_head next;
	int r;

	r = read_head(au, s, err);
	if (r < 0)
		return r;
	r = settle_tail(au, s, err);
	if (r < 0)
		return r;
	r = build(s, members, &b, &next);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, r, "audit record is too large: %s",
			strerrordesc_np(-r));
	r = write_both(au, s, &b, &next);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, r, "cannot write audit log '%s': %s%s",
			au->shown, strerrordesc_np(-r),
			r == -ENOSPC || r == -EDQUOT ? "; free some space, or set audit.path to "
						       "another disk"
						     : "");
	au->appended = true;
	return 0;
}

int bawn_audit_append(struct bawn_audit *au, const char *members, struct bawn_error *err)
{
	struct audit_state s = {0};
	int r;

	/* A raw control character is never valid JSON, and a newline would forge a record. */
	for (const char *p = members; *p; p++) {
		if ((unsigned char)*p < 0x20)
			return bawn_fail(err, BAWN_ERR_AUDIT, -EINVAL,
				"audit record has a raw control character at byte %zu",
				(size_t)(p - members));
	}
	r = lock_current(au, &s.st, err);
	if (r < 0)
		return r;
	r = append_locked(au, &s, members, err);
	(void)flock(au->log_fd, LOCK_UN);
	return r;
}
