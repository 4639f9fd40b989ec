/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Showing records. Two passes when only the last N are wanted: the first counts, so that memory
 * does not grow with N. Following polls, which also works on network file systems.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sys/stat.h>

#include "audit/audit.h"
#include "audit/store.h"
#include "base/io.h"

#define POLL_NS 200000000L

struct query {
	const struct bawn_audit_filter *f;
	char since[AUDIT_TIME_LEN + 1]; /* "" for any; may be shorter: compared as a prefix */
	int (*each)(void *data, const char *line, size_t len);
	void *data;
	uint64_t skip;    /* matches to leave out first */
	uint64_t matches; /* counted when each is NULL */
};

/* "10m", "2h", "1d", "30s" before now. */
static bool parse_ago(const char *text, char ret[AUDIT_TIME_LEN + 1])
{
	static const char units[] = "smhd";
	static const uint64_t seconds[] = {1, 60, 3600, 86400};
	uint64_t now = bawn_wall_us() / 1000000, n;
	const char *unit;
	struct tm tm = {0};
	char *end = NULL;
	time_t then;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || !*end || end[1] || !(unit = strchr(units, *end)))
		return false;
	if (__builtin_mul_overflow(n, seconds[unit - units], &n) || n > now)
		n = now;
	then = (time_t)(now - n);
	(void)gmtime_r(&then, &tm);
	return strftime(ret, AUDIT_TIME_LEN + 1, "%Y-%m-%dT%H:%M:%S", &tm) > 0;
}

/* A UTC time, given as far as one likes: "2026-11-15", "2026-11-15T06:00", with or without Z. */
static bool parse_iso(const char *text, char ret[AUDIT_TIME_LEN + 1])
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddddd";
	size_t len = strlen(text);

	if (len && text[len - 1] == 'Z')
		len--;
	if (len < 4 || len >= sizeof(form))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';
		char c = text[i];

		if (i == 10 && c == ' ')
			c = form[i];
		if (form[i] == 'd' ? !digit : c != form[i])
			return false;
		ret[i] = c;
	}
	ret[len] = '\0';
	return true;
}

/* True if the top-level member `key` of the record is the string `want`. */
static bool member_is(json_t *record, const char *key, const char *want)
{
	const char *s = json_string_value(json_object_get(record, key));

	return !want || (s && !strcmp(s, want));
}

static bool matches(const struct query *q, const char *line, size_t len)
{
	struct audit_record r;
	bool hit;
	json_t *j;

	if (!audit_record_parse(line, len, &r))
		return false;
	if (strncmp(r.time, q->since, strlen(q->since)) < 0)
		return false;
	if (!q->f->run && !q->f->event)
		return true;
	j = json_loadb(line, len, 0, NULL);
	hit = j && member_is(j, "run", q->f->run) && member_is(j, "event", q->f->event);
	json_decref(j);
	return hit;
}

/* From *at to `limit`; *at moves behind the last whole line. 1 when `each` has had enough. */
static int pass(struct query *q, int fd, off_t *at, off_t limit)
{
	struct audit_lines l;
	const char *line;
	size_t len;
	int kind, r = 0;

	audit_lines_init(&l, fd, *at, limit);
	while (r == 0 && (kind = audit_lines_next(&l, &line, &len)) != AUDIT_LINE_END) {
		if (kind < 0)
			r = kind;
		if (kind < 0 || kind == AUDIT_LINE_TORN)
			break;
		*at = l.next - (off_t)(l.len - l.used);
		if (kind != AUDIT_LINE_FULL || !matches(q, line, len))
			continue;
		q->matches++;
		if (!q->each)
			continue;
		if (q->skip)
			q->skip--;
		else
			r = q->each(q->data, line, len);
		if (r > 0)
			r = 1;
	}
	audit_lines_done(&l);
	return r;
}

/* Wait for the file to grow. 1 when a signal came. A file that took its name is opened. */
static int wait_more(const char *path, int *fd, off_t *at)
{
	const struct timespec nap = {0, POLL_NS};
	struct stat named, st;
	int r;

	if (nanosleep(&nap, NULL) < 0)
		return 1;
	if (fstat(*fd, &st) < 0)
		return -errno;
	if (st.st_size < *at)
		*at = 0;
	if (st.st_size > *at || lstat(path, &named) < 0 ||
		(named.st_ino == st.st_ino && named.st_dev == st.st_dev))
		return 0;
	r = audit_open_read(path, NULL);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	(void)close(*fd);
	*fd = r;
	*at = 0;
	return 0;
}

static int run_query(struct query *q, const char *path, int *fd, bool follow)
{
	struct stat st;
	off_t at = 0;
	int r;

	if (fstat(*fd, &st) < 0)
		return -errno;
	if (q->f->last) {
		struct query count = *q;

		count.each = NULL;
		r = pass(&count, *fd, &at, st.st_size);
		if (r < 0)
			return r;
		q->skip = count.matches > q->f->last ? count.matches - q->f->last : 0;
		at = 0;
	}
	r = pass(q, *fd, &at, st.st_size);
	while (follow && r == 0) {
		r = wait_more(path, fd, &at);
		if (r == 0 && fstat(*fd, &st) == 0 && st.st_size > at)
			r = pass(q, *fd, &at, st.st_size);
	}
	return r < 0 ? r : 0;
}

int bawn_audit_query(const char *path, const struct bawn_audit_filter *f, bool follow,
	int (*each)(void *data, const char *line, size_t len), void *data, struct bawn_error *err)
{
	static const struct bawn_audit_filter any = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct query q = {.f = f ? f : &any, .each = each, .data = data};
	_cleanup_close_ int fd = -1;
	int r;

	if (!a)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ENOMEM, "out of memory");
	if (q.f->since && !parse_ago(q.f->since, q.since) && !parse_iso(q.f->since, q.since))
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'%.100s' is not a time: give 10m, 2h, 1d or a UTC time such as "
			"2026-11-15T06:00",
			q.f->since);
	r = audit_path_or_default(a, path, &path, err);
	if (r < 0)
		return r;
	fd = audit_open_read(path, err);
	if (fd == -ENOENT)
		return bawn_fail(
			err, BAWN_ERR_AUDIT, -ENOENT, "there is no audit log '%.200s'", path);
	if (fd < 0)
		return fd;
	r = run_query(&q, path, &fd, follow);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, r, "cannot read '%.200s': %s", path,
			strerrordesc_np(-r));
	return 0;
}
