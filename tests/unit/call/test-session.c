/* SPDX-License-Identifier: Apache-2.0 */
/* What a session remembers, how much of it, and what it refuses to trust. */
#include <errno.h>
#include <fcntl.h>

#include <sys/stat.h>

#include "base/sha256.h"
#include "call/session.h"
#include "harness.h"

static char dir[64];

static const char *fresh_dir(void)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/bawn-session-XXXXXX");
	ASSERT_TRUE(mkdtemp(dir) != NULL);
	return dir;
}

/* Removes what a test made: names are 64 hex digits. */
static void done(void)
{
	char cmd[160];

	(void)snprintf(cmd, sizeof(cmd), "%s", dir);
	execlp("rm", "rm", "-rf", cmd, (char *)NULL);
	_exit(1);
}

static void add(
	const char *agent, const char *session, enum bawn_step step, const char *word, uint64_t at)
{
	struct bawn_session_event e = {.time_us = at, .step = step};
	struct bawn_error err = {0};

	(void)snprintf(e.word, sizeof(e.word), "%s", word);
	if (bawn_session_add(dir, agent, session, &e, 1, &err) < 0)
		FAIL("%s", err.msg);
}

TEST(events_come_back_in_order)
{
	static struct bawn_session s;
	struct bawn_error err = {0};

	(void)fresh_dir();
	ASSERT_EQ(bawn_session_load(dir, "a", "one", &s, &err), 0);
	ASSERT_EQ(s.n, 0);
	add("a", "one", BAWN_STEP_SENSITIVE_READ, "ssh keys", 7);
	add("a", "one", BAWN_STEP_FETCH, "evil.example", 9);
	ASSERT_EQ(bawn_session_load(dir, "a", "one", &s, &err), 0);
	ASSERT_EQ(s.n, 2);
	ASSERT_EQ(s.v[0].step, BAWN_STEP_SENSITIVE_READ);
	ASSERT_STREQ(s.v[0].word, "ssh keys");
	ASSERT_EQ(s.v[1].time_us, 9);
	ASSERT_STREQ(s.v[1].word, "evil.example");
	/* another session, another agent: apart */
	ASSERT_EQ(bawn_session_load(dir, "a", "two", &s, &err), 0);
	ASSERT_EQ(s.n, 0);
	ASSERT_EQ(bawn_session_load(dir, "b", "one", &s, &err), 0);
	ASSERT_EQ(s.n, 0);
	done();
}

TEST(the_oldest_are_forgotten_and_the_file_stays_small)
{
	static struct bawn_session s;
	struct bawn_error err = {0};
	char hex[BAWN_HEX_LEN + 1], path[200];
	struct stat st;

	(void)fresh_dir();
	for (unsigned i = 0; i < 3 * BAWN_SESSION_EVENTS_MAX; i++)
		add("a", "s", BAWN_STEP_MCP, "mcp__x__y", i);
	ASSERT_EQ(bawn_session_load(dir, "a", "s", &s, &err), 0);
	ASSERT_EQ(s.n, BAWN_SESSION_EVENTS_MAX);
	ASSERT_EQ(s.v[s.n - 1].time_us, 3 * BAWN_SESSION_EVENTS_MAX - 1);
	ASSERT_EQ(s.v[0].time_us, 2 * BAWN_SESSION_EVENTS_MAX);
	bawn_sha256_hex("a\ns", 3, hex);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, hex);
	ASSERT_EQ(stat(path, &st), 0);
	ASSERT_TRUE(st.st_size <= 128 * 2 * BAWN_SESSION_EVENTS_MAX);
	ASSERT_EQ(st.st_mode & 07777, 0600);
	done();
}

TEST(words_cannot_break_the_file)
{
	static struct bawn_session s;
	struct bawn_error err = {0};
	char longest[3 * BAWN_SESSION_WORD_MAX];

	(void)fresh_dir();
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	add("a", "s", BAWN_STEP_FETCH, "two\nlines\x01", 1);
	add("a", "s", BAWN_STEP_FETCH, longest, 2);
	add("a", "s", BAWN_STEP_FETCH, "", 3);
	ASSERT_EQ(bawn_session_load(dir, "a", "s", &s, &err), 0);
	ASSERT_EQ(s.n, 3);
	ASSERT_STREQ(s.v[0].word, "two?lines?");
	ASSERT_TRUE(strlen(s.v[1].word) < BAWN_SESSION_WORD_MAX);
	ASSERT_STREQ(s.v[2].word, "");
	done();
}

TEST(damage_and_other_hands_are_refused)
{
	static struct bawn_session s;
	struct bawn_error err = {0};
	char hex[BAWN_HEX_LEN + 1], path[200];
	int fd;

	(void)fresh_dir();
	bawn_sha256_hex("a\ns", 3, hex);
	add("a", "s", BAWN_STEP_FETCH, "x", 1);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, hex);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(write(fd, "half", 4), 4);
	ASSERT_TRUE(bawn_session_load(dir, "a", "s", &s, &err) < 0);
	ASSERT_TRUE(strstr(err.msg, "remove it") != NULL);
	ASSERT_EQ(ftruncate(fd, 0), 0);
	ASSERT_EQ(fchmod(fd, 0666), 0);
	ASSERT_TRUE(bawn_session_load(dir, "a", "s", &s, &err) < 0);
	(void)close(fd);
	ASSERT_EQ(unlink(path), 0);
	ASSERT_EQ(symlink("/etc/passwd", path), 0);
	ASSERT_TRUE(bawn_session_load(dir, "a", "s", &s, &err) < 0);
	done();
}
