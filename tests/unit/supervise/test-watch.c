/* SPDX-License-Identifier: Apache-2.0 */
/* The second source of events: what it tells is noted, and its end is not the end of the run. */
#include "testbed.h"

struct teller {
	int pipe[2];
	const char *const *lines; /* one denial per byte in the pipe; NULL ends it */
	int calls;
};

static void tell_next(void *data, struct bawn_event *ret)
{
	struct teller *t = data;
	char c;

	t->calls++;
	if (read(t->pipe[0], &c, 1) != 1)
		return;
	if (!*t->lines) {
		ret->kind = BAWN_EV_ENDED;
		return;
	}
	ret->kind = BAWN_EV_DENIED;
	ret->control = BAWN_CTL_NET_EGRESS;
	(void)snprintf(ret->text, sizeof(ret->text), "%s", *t->lines++);
}

static void run_with(struct bed *b, struct teller *t, const char *const *lines, size_t n)
{
	struct bawn_watch w = {.next = tell_next, .data = t};

	t->lines = lines;
	ASSERT_EQ(pipe2(t->pipe, O_CLOEXEC | O_NONBLOCK), 0);
	for (size_t i = 0; i < n; i++)
		ASSERT_EQ(write(t->pipe[1], "x", 1), 1);
	w.fd = t->pipe[0];
	b->o.watch = &w;
	bed_run(b);
}

TEST(denials_are_counted)
{
	static const char *const lines[] = {"a", "b", "a", NULL};
	struct teller t = {.calls = 0};
	struct bed b;

	bed_init(&b, SH("sleep 0.1; exit 3"));
	run_with(&b, &t, lines, 3);
	ASSERT_EQ(WEXITSTATUS(b.ret.wait_status), 3);
	ASSERT_EQ(b.ret.n_denials, 2);
	ASSERT_EQ(b.ret.denials_total, 3);
	ASSERT_STREQ(b.ret.denials[0].text, "a");
	ASSERT_EQ(b.ret.denials[0].count, 2);
	ASSERT_EQ(b.ret.denials[0].control, BAWN_CTL_NET_EGRESS);
	bed_done(&b);
}

/* Its descriptor stays readable: whoever went on asking would never sleep again. */
TEST(its_end_is_not_the_end)
{
	static const char *const lines[] = {"a", NULL};
	struct teller t = {.calls = 0};
	struct bed b;

	bed_init(&b, SH("sleep 0.3; exit 4"));
	run_with(&b, &t, lines, 5);
	ASSERT_EQ(WEXITSTATUS(b.ret.wait_status), 4);
	ASSERT_EQ(b.ret.denials_total, 1);
	ASSERT_EQ(t.calls, 2);
	bed_done(&b);
}

TEST(last_words_are_heard)
{
	static const char *const lines[] = {"late", NULL};
	struct teller t = {.lines = lines};
	struct bawn_watch w = {.next = tell_next, .data = &t};
	struct bed b;

	bed_init(&b, SH("exit 0"));
	ASSERT_EQ(pipe2(t.pipe, O_CLOEXEC | O_NONBLOCK), 0);
	ASSERT_EQ(write(t.pipe[1], "x", 1), 1);
	/* never readable, so only the look at the end finds it */
	w.fd = t.pipe[1];
	b.o.watch = &w;
	bed_run(&b);
	ASSERT_EQ(b.ret.denials_total, 1);
	bed_done(&b);
}

TEST(nobody_to_watch)
{
	struct bawn_watch none = {.fd = -1};
	struct bed b;

	bed_init(&b, SH("exit 0"));
	b.o.watch = &none;
	bed_run(&b);
	ASSERT_EQ(b.ret.denials_total, 0);
	bed_done(&b);
}
