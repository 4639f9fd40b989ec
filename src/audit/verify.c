/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a chain from its first byte. The first thing found wrong is reported, with the line a
 * person has to look at. Log and head are looked at under the lock once, so that a writer at work
 * does not look like damage; what it adds afterwards is not read.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "audit/audit.h"
#include "audit/store.h"

/* A record known from elsewhere: the head file, or the caller. */
struct known {
	bool given, met, same;
	uint64_t seq;
	uint64_t end; /* where its line ends; 0 if that is not known */
	char hash[BAWN_HEX_LEN + 1];
};

struct check {
	struct bawn_audit_report *out;
	uint64_t line;
	uint64_t end;       /* of that line */
	uint64_t seq;       /* of the last record */
	uint64_t lost_line; /* first record written without a head */
	uint64_t torn_line;
	struct known head, expect;
	bool no_head;
	bool bad_head;   /* damaged: no writer leaves it so */
	bool empty_head; /* as the very first writer leaves it if killed */
};

static int __attribute__((format(printf, 3, 4)))
bad(struct check *c, uint64_t line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(c->out->problem, sizeof(c->out->problem), fmt, ap);
	va_end(ap);
	c->out->bad_line = line ? line : 1;
	return -EBADMSG;
}

static void meet(struct known *k, const struct audit_record *r, uint64_t end)
{
	if (!k->given || r->seq != k->seq)
		return;
	k->met = true;
	k->same = !memcmp(k->hash, r->hash, BAWN_HEX_LEN) && (!k->end || k->end == end);
}

/* A record whose own hash is right, at the wrong place. */
static int misplaced(struct check *c, const struct audit_record *r)
{
	const uint64_t want = c->seq + 1;

	if (r->seq > want && c->line == 1)
		return bad(c, 1,
			"line 1: starts with record %" PRIu64 ": %" PRIu64
			" records are missing at the beginning",
			r->seq, r->seq - 1);
	if (r->seq > want)
		return bad(c, c->line,
			"line %" PRIu64 ": record %" PRIu64 " follows record %" PRIu64 ": %" PRIu64
			" records are missing or out of order",
			c->line, r->seq, c->seq, r->seq - want);
	if (r->seq == want)
		return bad(c, c->line,
			"line %" PRIu64 ": does not continue the chain: the record "
			"before it was replaced, or this one was inserted",
			c->line);
	if (r->seq == c->seq && !memcmp(r->hash, c->out->head, BAWN_HEX_LEN))
		return bad(c, c->line, "line %" PRIu64 ": record %" PRIu64 " is there twice",
			c->line, r->seq);
	return bad(c, c->line,
		"line %" PRIu64 ": record %" PRIu64 " stands after record %" PRIu64
		": out of order, repeated or inserted",
		c->line, r->seq, c->seq);
}

static int check_line(struct check *c, const char *line, size_t len)
{
	struct audit_record r;

	if (!audit_record_parse(line, len, &r))
		return bad(c, c->line, "line %" PRIu64 ": not an audit record", c->line);
	if (!audit_record_authentic(line, &r))
		return bad(c, c->line,
			"line %" PRIu64 ": record was edited: its hash does not match", c->line);
	if (r.seq != c->seq + 1 || memcmp(r.prev, c->out->head, BAWN_HEX_LEN) != 0)
		return misplaced(c, &r);
	c->seq = r.seq;
	memcpy(c->out->head, r.hash, BAWN_HEX_LEN);
	c->out->records++;
	if (r.head_lost && !c->lost_line)
		c->lost_line = c->line;
	meet(&c->head, &r, c->end);
	meet(&c->expect, &r, c->end);
	return 0;
}

static int check_lines(struct check *c, struct audit_lines *l)
{
	const char *line;
	size_t len;
	int kind;

	while ((kind = audit_lines_next(l, &line, &len)) > AUDIT_LINE_END) {
		int r = 0;

		c->line++;
		c->end = (uint64_t)l->start + len + 1;
		if (kind == AUDIT_LINE_LONG)
			r = bad(c, c->line, "line %" PRIu64 ": longer than %zu bytes", c->line,
				AUDIT_LINE_MAX);
		else if (kind == AUDIT_LINE_TORN)
			c->torn_line = c->line;
		else
			r = check_line(c, line, len);
		if (r < 0)
			return r;
	}
	return kind;
}

/* What the lines alone cannot show. */
static int check_ends(struct check *c)
{
	const uint64_t next = c->out->records + 1;

	if (c->head.given && c->head.seq > c->seq)
		return bad(c, next,
			"%" PRIu64 " records missing at the end (the head file says %" PRIu64
			", the log ends with %" PRIu64 ")",
			c->head.seq - c->seq, c->head.seq, c->seq);
	if (c->head.met && !c->head.same)
		return bad(c, c->head.seq,
			"line %" PRIu64 ": record is not the one that the head file names",
			c->head.seq);
	/* A writer killed between the very first record and the head leaves one record. */
	if (c->bad_head || (c->no_head && c->line) || (c->empty_head && c->out->records > 1))
		return bad(c, next,
			"head file is missing, empty or damaged: records may be missing at the "
			"end");
	if (c->expect.given && !c->expect.met)
		return bad(c, next,
			"record %" PRIu64 " is expected, but the log ends with %" PRIu64,
			c->expect.seq, c->seq);
	if (c->expect.given && !c->expect.same)
		return bad(c, c->expect.seq, "line %" PRIu64 ": record is not the one expected",
			c->expect.seq);
	if (c->lost_line)
		return bad(c, c->lost_line,
			"line %" PRIu64 ": the head file was missing or damaged when this "
			"was written: records before it may be missing",
			c->lost_line);
	if (c->torn_line)
		(void)snprintf(c->out->problem, sizeof(c->out->problem),
			"line %" PRIu64 ": incomplete last line, never a record; the next record "
			"cuts it off",
			c->torn_line);
	return 0;
}

static int parse_expect(const char *text, struct known *k, struct bawn_error *err)
{
	char *end = NULL;

	if (!text)
		return 0;
	errno = 0;
	k->seq = strtoull(text, &end, 10);
	if (errno || *text < '1' || *text > '9' || *end != ':' || strlen(end + 1) != BAWN_HEX_LEN ||
		strspn(end + 1, "0123456789abcdef") != BAWN_HEX_LEN)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"'%.100s' is not a record: give NUMBER:HASH as an earlier check printed it",
			text);
	memcpy(k->hash, end + 1, sizeof(k->hash));
	k->given = true;
	return 0;
}

/* The head as it is, if it is one. */
static int load_head(
	struct bawn_arena *a, const char *path, struct check *c, struct bawn_error *err)
{
	const char *name = bawn_arena_printf(a, "%s.head", path);
	_cleanup_close_ int fd = -1;
	struct audit_head h;
	int r;

	if (!name)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ENOMEM, "out of memory");
	fd = audit_open_read(name, err);
	r = fd < 0 ? fd : audit_head_read(fd, &h);
	if (r == -ENOENT || r == -ENODATA || r == -EBADMSG) {
		c->no_head = r == -ENOENT;
		c->bad_head = r == -EBADMSG;
		c->empty_head = r == -ENODATA;
		return r == -ENOENT ? -ENOENT : 0;
	}
	if (fd < 0)
		return r;
	if (r < 0)
		return bawn_fail(
			err, BAWN_ERR_AUDIT, r, "cannot read the head file of '%.200s'", path);
	c->head.given = true;
	c->head.seq = h.seq;
	c->head.end = h.size;
	memcpy(c->head.hash, h.hash, sizeof(h.hash));
	return 0;
}

/* Log and head at one moment: returns the log's descriptor (-1: there is none) and size. */
static int load(struct bawn_arena *a, const char *path, struct check *c, off_t *size, int *ret_fd,
	struct bawn_error *err)
{
	_cleanup_close_ int fd = audit_open_read(path, err);
	struct stat st = {0};
	int r;

	if (fd < 0 && fd != -ENOENT)
		return fd;
	r = fd >= 0 ? audit_lock(fd, LOCK_SH, AUDIT_LOCK_MS) : 0;
	if (r < 0 || (fd >= 0 && fstat(fd, &st) < 0))
		return bawn_fail(err, BAWN_ERR_AUDIT, r < 0 ? r : -errno,
			"cannot lock '%.200s': another process holds it", path);
	r = load_head(a, path, c, err);
	if (fd >= 0)
		(void)flock(fd, LOCK_UN);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == -ENOENT && fd < 0 && !c->expect.given)
		return bawn_fail(
			err, BAWN_ERR_AUDIT, -ENOENT, "there is no audit log '%.200s'", path);
	*size = st.st_size;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int bawn_audit_verify(
	const char *path, const char *expect, struct bawn_audit_report *ret, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct check c = {.out = ret};
	_cleanup_close_ int fd = -1;
	struct audit_lines l;
	off_t size = 0;
	int r;

	*ret = (struct bawn_audit_report){.head = AUDIT_ZERO_HASH};
	if (!a)
		return bawn_fail(err, BAWN_ERR_AUDIT, -ENOMEM, "out of memory");
	r = parse_expect(expect, &c.expect, err);
	if (r == 0)
		r = audit_path_or_default(a, path, &path, err);
	if (r == 0)
		r = load(a, path, &c, &size, &fd, err);
	if (r < 0)
		return r;
	audit_lines_init(&l, fd, 0, size);
	r = check_lines(&c, &l);
	audit_lines_done(&l);
	if (r == 0)
		r = check_ends(&c);
	if (r == -EBADMSG)
		return bawn_fail(err, BAWN_ERR_AUDIT, r, "'%.200s': %s", path, ret->problem);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_AUDIT, r, "cannot read '%.200s': %s", path,
			strerrordesc_np(-r));
	return 0;
}
