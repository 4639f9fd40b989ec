/* SPDX-License-Identifier: Apache-2.0 */
/* Output through a filter: changed, held back, let go of in silence and at the end, withheld. */
#include "testbed.h"

/* Makes letters large, writes each `x` as "[ex]", holds back the last byte, refuses what has a `!`.
 */
struct maker {
	char held[3];
	bool holds[3];
	unsigned flushed, ended;
};

static int feed(void *data, int stream, const char *bytes, size_t n, bool last,
	struct bawn_buf *out, struct bawn_error *err)
{
	struct maker *m = data;

	for (size_t i = 0; i < n; i++) {
		char c = bytes[i];

		if (c == '!')
			return bawn_fail(err, BAWN_ERR_BLOCKED, -EACCES, "no shouting");
		if (m->holds[stream])
			bawn_buf_add(out, &m->held[stream], 1);
		m->holds[stream] = c != 'x';
		m->held[stream] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
		if (c == 'x')
			bawn_buf_puts(out, "[ex]");
	}
	m->flushed += !n && !last;
	m->ended += last;
	if ((!n || last) && m->holds[stream]) {
		bawn_buf_add(out, &m->held[stream], 1);
		m->holds[stream] = false;
	}
	return 0;
}

TEST(both_streams_are_changed_and_complete)
{
	struct maker m = {0};
	const struct bawn_filter f = {feed, &m};
	struct bawn_buf out = {0}, err = {0};
	struct bed b;

	bed_init(&b, SH("printf abxc; printf err >&2"));
	b.o.out = &out;
	b.o.err = &err;
	b.o.filter = &f;
	bed_run(&b);
	ASSERT_STREQ(out.data, "AB[ex]C");
	ASSERT_STREQ(err.data, "ERR");
	ASSERT_EQ(b.ret.out_bytes, 4); /* what the command wrote */
	ASSERT_EQ(m.ended, 2);
	bawn_buf_done(&out);
	bawn_buf_done(&err);
	bed_done(&b);
}

TEST(output_that_grows_beyond_the_buffer_arrives_whole)
{
	struct maker m = {0};
	const struct bawn_filter f = {feed, &m};
	struct bed b;
	char text[64];
	FILE *file = tmpfile();

	ASSERT_TRUE(file != NULL);
	bed_init(&b, SH("head -c 300000 /dev/zero | tr '\\0' x"));
	b.o.out_fd = fileno(file);
	b.o.filter = &f;
	bed_run(&b);
	ASSERT_EQ(lseek(fileno(file), 0, SEEK_END), 1200000);
	ASSERT_EQ(pread(fileno(file), text, 8, 1200000 - 8), 8);
	ASSERT_EQ(memcmp(text, "[ex][ex]", 8), 0);
	(void)fclose(file);
	bed_done(&b);
}

TEST(silence_lets_go_of_what_is_held)
{
	struct maker m = {0};
	const struct bawn_filter f = {feed, &m};
	struct bed b;
	int p[2];
	char text[16] = {0};

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	/* the prompt must be there before the answer is given */
	bed_init(&b, SH("printf 'name:'; read -r x; printf ok"));
	b.o.out_fd = p[1];
	b.o.filter = &f;
	b.plan.limits.time_ms = 400;
	b.stdin_fd = -1;
	bed_run(&b);
	ASSERT_TRUE(read(p[0], text, sizeof(text) - 1) > 0);
	ASSERT_TRUE(strstr(text, "NAME:") == text);
	bed_done(&b);
}

TEST(what_is_refused_is_withheld_and_ends_the_run)
{
	struct maker m = {0};
	const struct bawn_filter f = {feed, &m};
	struct bawn_buf out = {0};
	struct bed b;

	bed_init(&b, SH("printf 'abc!def'; sleep 100"));
	b.o.out = &out;
	b.o.filter = &f;
	bed_prepare_all(&b);
	ASSERT_TRUE(bed_go(&b) < 0);
	ASSERT_EQ(b.err.kind, BAWN_ERR_BLOCKED);
	ASSERT_EQ(out.len, 0);
	ASSERT_TRUE(b.in.kills > 0);
	bed_done(&b);
}

TEST(a_sink_sees_only_what_was_filtered)
{
	struct maker m = {0};
	const struct bawn_filter f = {feed, &m};
	struct bawn_buf out = {0};
	struct bed b;

	bed_init(&b, SH("printf secret"));
	b.o.out = &out;
	b.o.filter = &f;
	b.plan.limits.output = 3;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, BAWN_CTL_LIMIT_OUTPUT);
	ASSERT_STREQ(out.data, "SEC");
	bawn_buf_done(&out);
	bed_done(&b);
}
