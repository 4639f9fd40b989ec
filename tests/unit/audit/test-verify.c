/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a log behind its back, and what verify says about it. */
#include "common.h"

/* Line `n` (from 0) of the log as it is: start and length with newline. */
static char *line_at(const struct bawn_buf *b, unsigned n, size_t *len)
{
	char *p = b->data;

	while (n--)
		p = strchr(p, '\n') + 1;
	*len = (size_t)(strchr(p, '\n') + 1 - p);
	return p;
}

/* Rewrite a log of six records as the given lines, e.g. "124356". */
static void rewrite(const char *order)
{
	struct bawn_buf b, out = {0};

	slurp(log_path, &b);
	for (; *order; order++) {
		size_t len;
		char *p = line_at(&b, (unsigned)(*order - '1'), &len);

		bawn_buf_add(&out, p, len);
	}
	spew(log_path, out.data ? out.data : "", out.len);
	bawn_buf_done(&b);
	bawn_buf_done(&out);
}

static const struct {
	const char *order;
	uint64_t line;
	const char *problem;
} orders[] = {
	{"12345", 6, "1 records missing at the end"},
	{"123", 4, "3 records missing at the end"},
	{"", 1, "6 records missing at the end"},
	{"23456", 1, "line 1: starts with record 2: 1 records are missing at the beginning"},
	{"6", 1, "line 1: starts with record 6: 5 records are missing"},
	{"12456", 3, "line 3: record 4 follows record 2: 1 records are missing or out of order"},
	{"12356", 4, "line 4: record 5 follows record 3"},
	{"124356", 3, "line 3: record 4 follows record 2"},
	{"213456", 1, "line 1: starts with record 2"},
	{"1233456", 4, "line 4: record 3 is there twice"},
	{"1234562", 7, "line 7: record 2 stands after record 6"},
	{"123456123456", 7, "line 7: record 1 stands after record 6"},
};

TEST(lines_deleted_moved_repeated)
{
	struct bawn_buf log;

	make_scratch();
	add_records(6);
	expect_intact(6);
	slurp(log_path, &log);
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		rewrite(orders[i].order);
		expect_bad(orders[i].line, orders[i].problem);
		spew(log_path, log.data, log.len);
	}
	expect_intact(6);
	bawn_buf_done(&log);
}

TEST(every_byte_counts)
{
	struct bawn_buf log;
	size_t line = 1;

	make_scratch();
	add_records(3);
	slurp(log_path, &log);
	for (size_t i = 0; i < log.len; i++) {
		struct bawn_audit_report rep;
		bool nl = log.data[i] == '\n';

		log.data[i] ^= 1;
		spew(log_path, log.data, log.len);
		if (bawn_audit_verify(log_path, NULL, &rep, NULL) != -EBADMSG)
			FAIL("changing byte %zu is not seen", i);
		ASSERT_EQ(rep.bad_line, line);
		log.data[i] ^= 1;
		line += nl;
	}
	bawn_buf_done(&log);
}

TEST(every_truncation_counts)
{
	struct bawn_buf log;

	make_scratch();
	add_records(3);
	slurp(log_path, &log);
	for (size_t i = 0; i < log.len; i++) {
		struct bawn_audit_report rep;

		spew(log_path, log.data, i);
		if (bawn_audit_verify(log_path, NULL, &rep, NULL) != -EBADMSG)
			FAIL("cutting at byte %zu is not seen", i);
	}
	bawn_buf_done(&log);
}

/* Edit record 2 and hash it anew: record 3 no longer follows. */
TEST(edited_and_rehashed)
{
	struct bawn_buf log;
	struct audit_record r;
	char hash[BAWN_HEX_LEN + 1];
	char *p;
	size_t len, at;

	make_scratch();
	add_records(4);
	slurp(log_path, &log);
	p = line_at(&log, 1, &len);
	*strstr(p, "end") = 'E';
	spew(log_path, log.data, log.len);
	expect_bad(2, "line 2: record was edited");
	ASSERT_TRUE(audit_record_parse(p, len - 1, &r));
	bawn_sha256_hex(p, r.body_len, hash);
	at = (size_t)(r.hash - p);
	memcpy(p + at, hash, BAWN_HEX_LEN);
	spew(log_path, log.data, log.len);
	expect_bad(3, "line 3: does not continue the chain");
	bawn_buf_done(&log);
}

/* The last record edited and hashed anew: only the head can tell. */
TEST(last_record_forged)
{
	struct bawn_buf log;
	struct audit_record r;
	char hash[BAWN_HEX_LEN + 1];
	char *p;
	size_t len;

	make_scratch();
	add_records(2);
	slurp(log_path, &log);
	p = line_at(&log, 1, &len);
	*strstr(p, "end") = 'E';
	ASSERT_TRUE(audit_record_parse(p, len - 1, &r));
	bawn_sha256_hex(p, r.body_len, hash);
	memcpy(p + (r.hash - p), hash, BAWN_HEX_LEN);
	spew(log_path, log.data, log.len);
	expect_bad(2, "not the one that the head file names");
	/* the next writer goes on from the head, so it stays visible */
	add_records(1);
	expect_bad(3, "does not continue the chain");
	bawn_buf_done(&log);
}

TEST(foreign_lines)
{
	static const char *const lines[] = {
		"\n", "x\n", "{}\n", "null\n", "{\"schema\":\"bawn/audit/v1\"}\n"};
	struct bawn_buf log, out = {0};

	make_scratch();
	add_records(2);
	slurp(log_path, &log);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		out.len = 0;
		bawn_buf_add(&out, log.data, log.len);
		bawn_buf_puts(&out, lines[i]);
		spew(log_path, out.data, out.len);
		expect_bad(3, "line 3: not an audit record");
	}
	bawn_buf_done(&log);
	bawn_buf_done(&out);
}

TEST(long_line)
{
	static char big[(1 << 20) + 2];

	make_scratch();
	add_records(1);
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\n';
	spew(log_path, big, sizeof(big));
	expect_bad(1, "line 1: longer than");
}

TEST(log_or_head_missing)
{
	struct bawn_audit_report rep;
	struct bawn_error err = {0};
	struct bawn_buf head;

	make_scratch();
	ASSERT_EQ(bawn_audit_verify(log_path, NULL, &rep, &err), -ENOENT);
	ASSERT_TRUE(strstr(err.msg, "there is no audit log") != NULL);
	add_records(5);
	slurp(head_path, &head);
	ASSERT_EQ(unlink(head_path), 0);
	expect_bad(6, "head file is missing");
	spew(head_path, "", 0);
	expect_bad(6, "head file is missing, empty or damaged");
	spew(head_path, head.data, head.len - 1);
	expect_bad(6, "head file is missing, empty or damaged");
	spew(head_path, head.data, head.len);
	expect_intact(5);
	ASSERT_EQ(unlink(log_path), 0);
	expect_bad(1, "5 records missing at the end");
	bawn_buf_done(&head);
}

/* What the next writer does must not wipe out the traces. */
TEST(damage_stays_visible_after_append)
{
	struct bawn_buf log;

	make_scratch();
	add_records(6);
	slurp(log_path, &log);
	rewrite("123");
	add_records(1);
	expect_bad(4, "line 4: record 7 follows record 3: 3 records are missing");

	ASSERT_EQ(unlink(log_path), 0);
	add_records(1);
	expect_bad(1, "line 1: starts with record 8: 7 records are missing at the beginning");

	spew(log_path, log.data, log.len);
	ASSERT_EQ(unlink(head_path), 0);
	add_records(2);
	expect_bad(7, "line 7: the head file was missing or damaged when this was written");
	bawn_buf_done(&log);
}

/* A record cut in its middle was acknowledged: what is left of it must not be thrown away. */
TEST(cut_record_is_kept)
{
	struct bawn_buf log;

	make_scratch();
	add_records(3);
	slurp(log_path, &log);
	ASSERT_EQ(truncate(log_path, (off_t)log.len - 20), 0);
	add_records(1);
	expect_bad(3, "line 3: not an audit record");
	bawn_buf_done(&log);
}

/* A head that is too long is written anew as a whole. */
TEST(damaged_head_is_replaced)
{
	static char junk[500];

	make_scratch();
	memset(junk, 'x', sizeof(junk));
	spew(head_path, junk, sizeof(junk));
	spew(log_path, "", 0);
	expect_bad(1, "head file is missing, empty or damaged");
	add_records(1);
	ASSERT_EQ(size_of(head_path), AUDIT_HEAD_LEN);
	expect_bad(1, "line 1: the head file was missing or damaged when this was written");
}

TEST(killed_between_log_and_head)
{
	struct bawn_buf head;

	make_scratch();
	add_records(3);
	slurp(head_path, &head);
	add_records(1);
	spew(head_path, head.data, head.len);
	expect_intact(4);
	add_records(1);
	expect_intact(5);
	bawn_buf_done(&head);
}

TEST(killed_before_the_first_head)
{
	make_scratch();
	add_records(1);
	spew(head_path, "", 0);
	expect_intact(1);
	add_records(2);
	expect_intact(3);
}

TEST(torn_tail_is_repaired)
{
	struct bawn_audit_report rep;
	struct bawn_buf log, head;

	make_scratch();
	add_records(3);
	slurp(head_path, &head);
	add_records(1);
	slurp(log_path, &log);
	size_t last;
	size_t from = (size_t)(line_at(&log, 3, &last) - log.data);
	for (size_t n = from + 1; n < log.len; n += 7) {
		spew(log_path, log.data, n);
		spew(head_path, head.data, head.len);
		ASSERT_EQ(bawn_audit_verify(log_path, NULL, &rep, NULL), 0);
		ASSERT_TRUE(strstr(rep.problem, "line 4: incomplete last line") != NULL);
		add_records(1);
		expect_intact(4);
	}
	bawn_buf_done(&log);
	bawn_buf_done(&head);
}

TEST(expected_record)
{
	struct bawn_audit_report rep, later;
	struct bawn_error err = {0};
	char expect[128];

	make_scratch();
	add_records(4);
	ASSERT_EQ(bawn_audit_verify(log_path, NULL, &rep, NULL), 0);
	(void)snprintf(expect, sizeof(expect), "4:%s", rep.head);
	add_records(2);
	ASSERT_EQ(bawn_audit_verify(log_path, expect, &later, NULL), 0);
	expect[0] = '3';
	ASSERT_EQ(bawn_audit_verify(log_path, expect, &later, NULL), -EBADMSG);
	ASSERT_STREQ(later.problem, "line 3: record is not the one expected");
	/* everything removed and begun anew: only a hash kept elsewhere can tell */
	ASSERT_EQ(unlink(log_path), 0);
	ASSERT_EQ(unlink(head_path), 0);
	expect[0] = '4';
	ASSERT_EQ(bawn_audit_verify(log_path, expect, &later, NULL), -EBADMSG);
	add_records(2);
	expect_intact(2);
	ASSERT_EQ(bawn_audit_verify(log_path, expect, &later, NULL), -EBADMSG);
	ASSERT_STREQ(later.problem, "record 4 is expected, but the log ends with 2");
	static const char *const wrong[] = {"", "4", "x:1", "4:", "0:00", "4:zz", "-4:00"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ASSERT_EQ(bawn_audit_verify(log_path, wrong[i], &later, &err), -EINVAL);
	ASSERT_EQ(err.kind, BAWN_ERR_USAGE);
}
