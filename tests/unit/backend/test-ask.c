/* SPDX-License-Identifier: Apache-2.0 */
/* Backends that answer, hang with children, die and complain: every question has an end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "../../harness.h"
#include "backend/ask.h"
#include "base/io.h"

static int good(struct bawn_probe *ret, struct bawn_error *err)
{
	(void)err;
	*ret = (struct bawn_probe){.offers = BAWN_CTL_ENV, .version = "1.2", .reason = "r"};
	return 0;
}

static int bad(struct bawn_probe *ret, struct bawn_error *err)
{
	ret->offers = BAWN_CTL_ENV;
	return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "no luck");
}

static int dies(struct bawn_probe *ret, struct bawn_error *err)
{
	(void)ret;
	(void)err;
	_exit(3);
}

static int alive[2];

/* Hangs, and so does what it started; both hold the pipe. */
static int hangs(struct bawn_probe *ret, struct bawn_error *err)
{
	(void)ret;
	(void)err;
	(void)fork();
	for (;;)
		(void)pause();
	return 0;
}

#define BE(fn)                             \
	(const struct bawn_backend)        \
	{                                  \
		.name = #fn, .probe = (fn) \
	}

TEST(an_answer_comes_through)
{
	struct bawn_probe p;

	bawn_ask(&BE(good), 20000, &p);
	ASSERT_EQ(p.offers, BAWN_CTL_ENV);
	ASSERT_STREQ(p.version, "1.2");
	ASSERT_STREQ(p.reason, "r");
}

TEST(a_failure_is_no_offer)
{
	struct bawn_probe p;

	bawn_ask(&BE(bad), 20000, &p);
	ASSERT_EQ(p.offers, 0);
	ASSERT_STREQ(p.reason, "no luck");
	bawn_ask(&BE(dies), 20000, &p);
	ASSERT_EQ(p.offers, 0);
	ASSERT_TRUE(strstr(p.reason, "died"));
}

TEST(what_hangs_is_killed_with_all_it_started)
{
	struct bawn_probe p;
	char c;

	ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ASSERT_EQ(pipe2(alive, O_CLOEXEC), 0);
	bawn_ask(&BE(hangs), 100, &p);
	ASSERT_EQ(p.offers, 0);
	ASSERT_TRUE(strstr(p.reason, "killed"));
	(void)close(alive[1]);
	ASSERT_EQ(read(alive[0], &c, 1), 0); /* nobody holds it */
	while (waitpid(-1, NULL, 0) > 0)
		;
}

TEST(many_at_a_time_each_its_own)
{
	const struct bawn_backend be[] = {BE(good), BE(hangs), BE(bad), BE(good), BE(dies),
		BE(good), BE(hangs), BE(good), BE(good), BE(good)};
	struct bawn_asking v[sizeof(be) / sizeof(be[0])] = {0};
	size_t n = sizeof(be) / sizeof(be[0]);

	for (size_t i = 0; i < n; i++)
		v[i].be = &be[i];
	/* one that is known already is left alone */
	v[9].done = true;
	bawn_ask_all(v, n, 2000, NULL, NULL);
	for (size_t i = 0; i < n; i++) {
		ASSERT_TRUE(v[i].done);
		ASSERT_EQ(v[i].probe.offers != 0, i != 9 && !strcmp(be[i].name, "good"));
		ASSERT_EQ(v[i].probe.reason[0] == '\0', i == 9);
	}
	ASSERT_EQ(waitpid(-1, NULL, WNOHANG), -1);
}
