/* SPDX-License-Identifier: Apache-2.0 */
/* Frames and entries: what is written is read again, and nothing else is. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>

#include "backend/far/frame.h"
#include "harness.h"

static struct bawn_frame_reader reader;

static void feed(const void *data, size_t len)
{
	ASSERT_EQ(bawn_frame_feed(&reader, data, len), len);
}

static void begin(bool inside)
{
	ASSERT_EQ(bawn_frame_reader_init(&reader, inside), 0);
}

/* The one frame in `out`, byte by byte. */
static struct bawn_frame one(const struct bawn_buf *out)
{
	struct bawn_frame f = {0};

	ASSERT_EQ(out->failed, 0);
	for (size_t i = 0; i + 1 < out->len; i++) {
		feed(out->data + i, 1);
		ASSERT_EQ(bawn_frame_next(&reader, &f), 0);
	}
	feed(out->data + out->len - 1, 1);
	ASSERT_EQ(bawn_frame_next(&reader, &f), 1);
	return f;
}

TEST(a_frame_comes_in_pieces)
{
	struct bawn_buf out = {0};
	struct bawn_frame f;

	begin(false);
	bawn_frame_put(&out, BAWN_FRAME_STDOUT, 0, "hello", 5);
	f = one(&out);
	ASSERT_EQ(f.type, BAWN_FRAME_STDOUT);
	ASSERT_EQ(f.len, 5);
	ASSERT_TRUE(!memcmp(f.data, "hello", 5));
	ASSERT_EQ(bawn_frame_next(&reader, &f), 0);
}

TEST(many_frames_in_one_piece)
{
	struct bawn_buf out = {0};
	struct bawn_frame f;

	begin(true);
	for (uint8_t i = 0; i < 100; i++)
		bawn_frame_put_u32(&out, BAWN_FRAME_CREDIT, i, 1000u + i);
	feed(out.data, out.len);
	for (uint8_t i = 0; i < 100; i++) {
		ASSERT_EQ(bawn_frame_next(&reader, &f), 1);
		ASSERT_EQ(f.arg, i);
		ASSERT_EQ(bawn_frame_u32(&f), 1000u + i);
	}
	ASSERT_EQ(bawn_frame_next(&reader, &f), 0);
}

TEST(the_largest_frame_fits_exactly)
{
	static char big[BAWN_FRAME_MAX + 1];
	struct bawn_buf out = {0};
	struct bawn_frame f;

	begin(false);
	bawn_frame_put(&out, BAWN_FRAME_STDOUT, 0, big, BAWN_FRAME_MAX);
	feed(out.data, out.len);
	ASSERT_EQ(bawn_frame_next(&reader, &f), 1);
	ASSERT_EQ(f.len, BAWN_FRAME_MAX);
	out.len = 0;
	bawn_frame_put(&out, BAWN_FRAME_STDOUT, 0, big, sizeof(big));
	(void)bawn_frame_feed(&reader, out.data, BAWN_FRAME_HEADER);
	ASSERT_EQ(bawn_frame_next(&reader, &f), -EPROTO);
}

static void expect_bad(bool inside, const char *head)
{
	struct bawn_frame f;

	begin(inside);
	feed(head, BAWN_FRAME_HEADER);
	ASSERT_EQ(bawn_frame_next(&reader, &f), -EPROTO);
	bawn_frame_reader_done(&reader);
}

TEST(bad_headers)
{
	expect_bad(false, "\0\0\0\0\0\0\0\0");   /* no type */
	expect_bad(false, "\xff\0\0\0\0\0\0\0"); /* no such type */
	expect_bad(false, "\x0b\0\1\0\4\0\0\0"); /* bytes that must be zero */
	expect_bad(false, "\x0b\0\0\1\4\0\0\0");
	expect_bad(false, "\x0b\0\0\0\0\0\0\0");         /* output without bytes */
	expect_bad(false, "\x0b\0\0\0\xff\xff\xff\xff"); /* endless */
	expect_bad(false, "\x08\0\0\0\0\0\0\0");         /* GO from inside */
	expect_bad(false, "\x09\0\0\0\1\0\0\0");         /* STDIN from inside */
	expect_bad(true, "\x0b\0\0\0\1\0\0\0");          /* STDOUT from the host */
	expect_bad(true, "\x10\0\0\0\0\0\0\0");          /* DONE from the host */
}

/* ---- entries ---- */

static int trip(const struct bawn_entry *e, struct bawn_entry *ret)
{
	struct bawn_buf out = {0};
	struct bawn_frame f;

	begin(false);
	bawn_entry_put(&out, e);
	feed(out.data, out.len);
	return bawn_frame_next(&reader, &f) == 1 ? bawn_entry_get(&f, ret) : -EBADMSG;
}

static int path_trip(const char *path, size_t len)
{
	struct bawn_entry e = {.kind = BAWN_ENTRY_FILE, .path = path, .path_len = len}, got;
	int r = trip(&e, &got);

	if (r == 0)
		ASSERT_TRUE(got.path_len == len && !memcmp(got.path, path, len));
	return r;
}

TEST(an_entry_survives_the_trip)
{
	struct bawn_entry e = {.kind = BAWN_ENTRY_LINK,
		.flags = BAWN_ENTRY_HAVE,
		.root = 513,
		.mode = 07654,
		.size = INT64_MAX,
		.mtime = -1,
		.ctime = INT64_MAX,
		.path = "a/b c/\xff",
		.path_len = 7,
		.target = "../../etc",
		.target_len = 9};
	struct bawn_entry got;

	ASSERT_EQ(trip(&e, &got), 0);
	ASSERT_TRUE(got.kind == e.kind && got.flags == e.flags && got.root == e.root);
	ASSERT_TRUE(got.mode == e.mode && got.size == e.size && got.mtime == -1);
	ASSERT_TRUE(got.ctime == INT64_MAX && got.path_len == 7 && got.target_len == 9);
	ASSERT_TRUE(!memcmp(got.target, "../../etc", 9) && !memcmp(got.path, e.path, 7));
}

TEST(paths_that_are_no_plain_names)
{
	static const char *const bad[] = {"/", "/etc/passwd", "..", "../x", "a/../b", "a/..", ".",
		"./a", "a/.", "a//b", "a/", "/a"};
	static const char *const good[] = {"", "a", "...", "..a", "a..", ".a", "a/b", "a/.b/..c"};
	char name[NAME_MAX + 2];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (path_trip(bad[i], strlen(bad[i])) != -EPROTO)
			FAIL("'%s' was taken", bad[i]);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (path_trip(good[i], strlen(good[i])) != 0)
			FAIL("'%s' was refused", good[i]);
	ASSERT_EQ(path_trip("a\0b", 3), -EPROTO);
	memset(name, 'n', sizeof(name));
	ASSERT_EQ(path_trip(name, NAME_MAX), 0);
	ASSERT_EQ(path_trip(name, NAME_MAX + 1), -EPROTO);
}

TEST(a_long_path)
{
	static char path[BAWN_FRAME_PATH + 2];

	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 ? '/' : 'd';
	ASSERT_EQ(path_trip(path, BAWN_FRAME_PATH), 0); /* ends with a name */
	ASSERT_EQ(path_trip(path, BAWN_FRAME_PATH + 1), -EPROTO);
}

TEST(entries_that_make_no_sense)
{
	struct bawn_entry e = {.kind = BAWN_ENTRY_FILE, .path = "a", .path_len = 1}, got;

	e.mode = 010000;
	ASSERT_EQ(trip(&e, &got), -EPROTO);
	e.mode = 0;
	e.flags = 2;
	ASSERT_EQ(trip(&e, &got), -EPROTO);
	e.flags = 0;
	e.kind = _BAWN_ENTRY_KINDS;
	ASSERT_EQ(trip(&e, &got), -EPROTO);
	e.kind = BAWN_ENTRY_FILE;
	e.size = (uint64_t)INT64_MAX + 1;
	ASSERT_EQ(trip(&e, &got), -EPROTO);
	e.size = 0;
	e.target = "t"; /* a file with a target */
	e.target_len = 1;
	ASSERT_EQ(trip(&e, &got), -EPROTO);
	e.kind = BAWN_ENTRY_LINK;
	ASSERT_EQ(trip(&e, &got), 0);
	e.target_len = 0; /* a link without one */
	ASSERT_EQ(trip(&e, &got), -EPROTO);
	e.target = "a\0b";
	e.target_len = 3;
	ASSERT_EQ(trip(&e, &got), -EPROTO);
}

/* ---- the rest ---- */

TEST(events_and_errors)
{
	struct bawn_event ev = {.kind = BAWN_EV_DENIED, .status = -5, .control = 8}, got;
	struct bawn_usage usage = {.cpu_us = 7, .memory_peak = UINT64_MAX}, used;
	struct bawn_error err = {.kind = BAWN_ERR_CALL, .err = -ENOENT}, why;
	struct bawn_buf out = {0};
	struct bawn_frame f;

	begin(false);
	(void)snprintf(ev.text, sizeof(ev.text), "a\x1b[2Jb\n");
	(void)snprintf(err.msg, sizeof(err.msg), "no '%s'", "x");
	bawn_frame_put_event(&out, BAWN_FRAME_EVENT, &ev, &usage);
	bawn_frame_put_error(&out, &err);
	feed(out.data, out.len);
	ASSERT_EQ(bawn_frame_next(&reader, &f), 1);
	ASSERT_EQ(bawn_frame_get_event(&f, &got, &used), 0);
	ASSERT_TRUE(got.kind == ev.kind && got.status == -5 && got.control == 8);
	ASSERT_TRUE(used.cpu_us == 7 && used.memory_peak == UINT64_MAX);
	ASSERT_STREQ(got.text, "a?[2Jb?"); /* nothing that moves a terminal */
	ASSERT_EQ(bawn_frame_next(&reader, &f), 1);
	ASSERT_EQ(bawn_frame_get_error(&f, &why), 0);
	ASSERT_TRUE(why.kind == BAWN_ERR_CALL && why.err == -ENOENT);
	ASSERT_STREQ(why.msg, "no 'x'");
}

TEST(an_error_that_is_none)
{
	struct bawn_error err = {.kind = BAWN_ERR_CALL, .err = 0}, why;
	struct bawn_buf out = {0};
	struct bawn_frame f;

	begin(false);
	bawn_frame_put_error(&out, &err);
	err.err = -1;
	err.kind = _BAWN_ERR_MAX;
	bawn_frame_put_error(&out, &err);
	feed(out.data, out.len);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(bawn_frame_next(&reader, &f), 1);
		ASSERT_EQ(bawn_frame_get_error(&f, &why), -EPROTO);
	}
}

TEST(a_flush_goes_on_where_it_was)
{
	static char bytes[300000];
	struct bawn_buf out = {0};
	char back[4096];
	size_t total = 0;
	int p[2];

	ASSERT_EQ(pipe2(p, O_NONBLOCK), 0);
	bawn_buf_add(&out, bytes, sizeof(bytes));
	while (out.len) {
		int r = bawn_frame_flush(&out, p[1]);
		ssize_t n;

		ASSERT_TRUE(r == 0 || r == -EAGAIN);
		while ((n = read(p[0], back, sizeof(back))) > 0)
			total += (size_t)n;
	}
	ASSERT_EQ(total, sizeof(bytes));
	(void)close(p[0]);
	bawn_buf_add(&out, bytes, 1);
	(void)signal(SIGPIPE, SIG_IGN);
	ASSERT_EQ(bawn_frame_flush(&out, p[1]), -EPIPE);
}

/* ---- roots ---- */

TEST(who_owns_a_path)
{
	struct bawn_mount m[] = {{.kind = BAWN_MNT_RO, .src = "/usr", .dst = "/usr"},
		{.kind = BAWN_MNT_RW, .src = "/w", .dst = "/w"},
		{.kind = BAWN_MNT_RW, .src = "/w/.git", .dst = "/w/.git", .pin = true},
		{.kind = BAWN_MNT_RO, .src = "/w/.git/hooks", .dst = "/w/.git/hooks"},
		{.kind = BAWN_MNT_HIDE, .dst = "/w/secret"},
		{.kind = BAWN_MNT_RW, .src = "/w/other", .dst = "/w/other"}};
	struct bawn_plan plan = {.mounts = m, .n_mounts = 6};

	ASSERT_TRUE(bawn_root_at(&plan, 0) == &m[1] && bawn_root_at(&plan, 1) == &m[5]);
	ASSERT_TRUE(!bawn_root_at(&plan, 2));
	ASSERT_TRUE(bawn_root_owns(&plan, 0, "/w") && bawn_root_owns(&plan, 0, "/w/a"));
	ASSERT_TRUE(bawn_root_owns(&plan, 0, "/w/.git/index"));
	ASSERT_TRUE(!bawn_root_owns(&plan, 0, "/w/.git/hooks/x"));
	ASSERT_TRUE(!bawn_root_owns(&plan, 0, "/w/secret"));
	ASSERT_TRUE(!bawn_root_owns(&plan, 0, "/w/other/x"));
	ASSERT_TRUE(bawn_root_owns(&plan, 1, "/w/other/x"));
	ASSERT_TRUE(bawn_root_owns(&plan, 0, "/w/secrets"));
	ASSERT_TRUE(!bawn_root_owns(&plan, 0, "/x") && !bawn_root_owns(&plan, 7, "/w"));
}
