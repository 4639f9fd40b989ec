/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/io.h"
#include "harness.h"
#include "inspect/inspector.h"

static struct bawn_inspector *start(const struct bawn_policy *p)
{
	struct bawn_inspector *i = NULL;
	struct bawn_error err = {0};

	if (bawn_inspector_new(p, &i, &err) < 0)
		FAIL("%s", err.msg);
	return i;
}

static void submit(struct bawn_inspector *i, const char *text, size_t len)
{
	struct bawn_error err = {0};
	struct bawn_subject sub = {
		.kind = BAWN_KIND_COMMAND,
		.lang = BAWN_LANG_BASH,
		.detect = BAWN_DETECT_ALL,
		.text = text,
		.len = len,
		.last = true,
	};

	if (bawn_inspector_submit(i, &sub, &err) < 0)
		FAIL("%s", err.msg);
}

static struct bawn_findings collect(struct bawn_inspector *i, struct bawn_arena *a)
{
	struct bawn_findings f = {0};
	struct bawn_error err = {0};

	if (bawn_inspector_collect(i, a, &f, &err) < 0)
		FAIL("%s", err.msg);
	return f;
}

static bool has(const struct bawn_findings *f, const char *category)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].category, category))
			return true;
	return false;
}

TEST(one_child_serves_many)
{
	struct bawn_item item = {.text = "forbidden"};
	struct bawn_policy p = {.shell_commands = {.v = &item, .n = 1}};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_inspector_ struct bawn_inspector *i = start(&p);
	pid_t pid = bawn_inspector_pid(i);
	struct bawn_findings f;

	for (int n = 0; n < 50; n++) {
		submit(i, "echo hello", 10);
		f = collect(i, a);
		ASSERT_TRUE(!has(&f, "policy"));
		submit(i, "x; forbidden y", 14);
		f = collect(i, a);
		ASSERT_TRUE(has(&f, "policy"));
	}
	ASSERT_EQ(bawn_inspector_pid(i), pid);
}

TEST(the_child_is_confined)
{
#ifdef BAWN_SANITIZED
	SKIP("the sanitizers need system calls of their own: make test runs it");
#else
	struct bawn_policy p = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_inspector_ struct bawn_inspector *i = start(&p);
	char path[64], text[4096];
	int r;

	/* it has answered, so it is past all that */
	submit(i, "echo", 4);
	(void)collect(i, a);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)bawn_inspector_pid(i));
	r = bawn_read_small(AT_FDCWD, path, text, sizeof(text));
	ASSERT_TRUE(r > 0);
	ASSERT_TRUE(strstr(text, "\nSeccomp:\t2\n") != NULL);
	ASSERT_TRUE(strstr(text, "\nNoNewPrivs:\t1\n") != NULL);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)bawn_inspector_pid(i));
	if (geteuid() == 0) {
		DIR *d = opendir(path);
		size_t n = 0;

		ASSERT_TRUE(d != NULL);
		while (readdir(d)) /* NOLINT(concurrency-mt-unsafe): no threads */
			n++;
		(void)closedir(d);
		ASSERT_EQ(n, 3); /* . and .. and the socket */
	}
#endif
}

TEST(a_dead_child_is_a_finding_and_the_next_one_works)
{
	struct bawn_policy p = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_inspector_ struct bawn_inspector *i = start(&p);
	struct bawn_findings f;

	ASSERT_EQ(kill(bawn_inspector_pid(i), SIGKILL), 0);
	submit(i, "echo", 4);
	f = collect(i, a);
	ASSERT_TRUE(has(&f, "budget"));
	ASSERT_EQ(f.v[0].end, 4);
	submit(i, "echo", 4);
	f = collect(i, a);
	ASSERT_TRUE(!has(&f, "budget"));
}

TEST(one_that_was_dismissed_comes_back)
{
	struct bawn_policy p = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_inspector_ struct bawn_inspector *i = start(&p);
	struct bawn_findings f;

	bawn_inspector_dismiss(i);
	bawn_inspector_dismiss(i);
	submit(i, "echo", 4);
	f = collect(i, a);
	ASSERT_TRUE(!has(&f, "budget"));
}

TEST(a_child_that_does_not_answer_is_a_finding)
{
	struct bawn_policy p = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_inspector_ struct bawn_inspector *i = start(&p);
	struct bawn_findings f;

	bawn_inspector_set_patience(i, 50);
	ASSERT_EQ(kill(bawn_inspector_pid(i), SIGSTOP), 0);
	submit(i, "echo", 4);
	f = collect(i, a);
	ASSERT_TRUE(has(&f, "budget"));
	ASSERT_TRUE(bawn_inspector_pid(i) < 0);
}

TEST(what_is_too_large_is_a_finding)
{
	struct bawn_policy p = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_inspector_ struct bawn_inspector *i = start(&p);
	size_t len = (size_t)100 << 20;
	char *text = calloc(1, len);
	struct bawn_findings f;

	ASSERT_TRUE(text != NULL);
	memset(text, 'a', len);
	submit(i, text, len);
	f = collect(i, a);
	ASSERT_TRUE(has(&f, "budget"));
	submit(i, "echo", 4);
	f = collect(i, a);
	ASSERT_TRUE(!has(&f, "budget"));
	free(text);
}

TEST(a_megabyte_goes_through)
{
	struct bawn_policy p = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_inspector_ struct bawn_inspector *i = start(&p);
	size_t len = (size_t)4 << 20;
	char *text = calloc(1, len);

	ASSERT_TRUE(text != NULL);
	memset(text, 'a', len);
	submit(i, text, len);
	(void)collect(i, a);
	free(text);
}

TEST(submit_and_collect_come_in_pairs)
{
	struct bawn_policy p = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_inspector_ struct bawn_inspector *i = start(&p);
	struct bawn_subject sub = {.text = "", .last = true};
	struct bawn_findings f = {0};
	struct bawn_error err = {0};

	ASSERT_EQ(bawn_inspector_collect(i, a, &f, &err), -EINVAL);
	submit(i, "a", 1);
	ASSERT_EQ(bawn_inspector_submit(i, &sub, &err), -EBUSY);
	(void)collect(i, a);
}

static size_t filter(struct bawn_inspector *i, struct bawn_arena *a, const char *text, bool last,
	struct bawn_buf *out)
{
	struct bawn_stream_chunk c = {.bytes = text, .n = strlen(text), .last = last};
	struct bawn_findings f = {0};
	struct bawn_error err = {0};

	if (bawn_inspector_filter(i, &c, a, out, &f, &err) < 0)
		FAIL("%s", err.msg);
	return f.n;
}

TEST(a_stream_through_the_child)
{
	struct bawn_policy p = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_inspector_ struct bawn_inspector *i = start(&p);
	struct bawn_stream_options o = {
		.like = {.kind = BAWN_KIND_TEXT, .detect = BAWN_DETECT_ALL}};
	struct bawn_error err = {0};
	_cleanup_buf_ struct bawn_buf out = {0};

	ASSERT_EQ(bawn_inspector_stream(i, &o, &err), 0);
	(void)filter(i, a, "some ", false, &out);
	(void)filter(i, a, "words", false, &out);
	(void)filter(i, a, ".\n", true, &out);
	ASSERT_STREQ(out.data, "some words.\n");
	/* another one, with the same child */
	ASSERT_EQ(bawn_inspector_stream(i, &o, &err), 0);
	out.len = 0;
	(void)filter(i, a, "again", true, &out);
	ASSERT_STREQ(out.data, "again");
}

TEST(a_stream_whose_child_dies)
{
	struct bawn_policy p = {0};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_inspector_ struct bawn_inspector *i = start(&p);
	struct bawn_stream_options o = {
		.like = {.kind = BAWN_KIND_TEXT, .detect = BAWN_DETECT_ALL}};
	struct bawn_stream_chunk c = {.bytes = "abc", .n = 3};
	struct bawn_findings f = {0};
	struct bawn_error err = {0};

	ASSERT_EQ(bawn_inspector_stream(i, &o, &err), 0);
	ASSERT_EQ(kill(bawn_inspector_pid(i), SIGKILL), 0);
	ASSERT_EQ(bawn_inspector_filter(i, &c, a, NULL, &f, &err), -EIO);
	ASSERT_TRUE(has(&f, "budget"));
	ASSERT_EQ(bawn_inspector_send(i, &c, &err), -EIO);
	ASSERT_EQ(bawn_inspector_stream(i, &o, &err), 0);
}
