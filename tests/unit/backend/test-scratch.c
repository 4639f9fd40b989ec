/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever is killed, the directory goes: the host process, or the keeper itself. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/native/scratch.h"
#include "base/io.h"
#include "harness.h"

#define WAIT_MS 20000

static char path[64];

static void choose(void)
{
	(void)snprintf(path, sizeof(path), "/tmp/bawn-scratch-%d", getpid());
}

static bool there(void)
{
	return access(path, F_OK) == 0;
}

static void fill(void)
{
	char name[128];

	for (int i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof(name), "%s/d%d", path, i);
		ASSERT_EQ(mkdir(name, 0), 0);
	}
}

static void await_gone(void)
{
	const struct timespec nap = {.tv_nsec = 5000000};

	for (int64_t stop = bawn_now_ms() + WAIT_MS; there(); (void)nanosleep(&nap, NULL))
		ASSERT_TRUE(bawn_now_ms() < stop);
}

TEST(gone_when_done)
{
	struct bawn_scratch s;
	struct bawn_error err = {0};

	choose();
	ASSERT_EQ(bawn_scratch_make(path, &s, &err), 0);
	ASSERT_TRUE(there());
	fill();
	bawn_scratch_done(&s);
	ASSERT_TRUE(!there());
}

TEST(gone_when_the_host_process_is_killed)
{
	int ready[2];
	char byte;
	pid_t pid;

	choose();
	ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct bawn_scratch s;
		struct bawn_error err = {0};

		if (bawn_scratch_make(path, &s, &err) == 0 && write(ready[1], "", 1) == 1)
			(void)pause();
		_exit(1);
	}
	ASSERT_EQ(read(ready[0], &byte, 1), 1);
	ASSERT_TRUE(there());
	fill();
	ASSERT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	await_gone();
}

TEST(gone_when_the_keeper_was_killed)
{
	struct bawn_scratch s;
	struct bawn_error err = {0};

	choose();
	ASSERT_EQ(bawn_scratch_make(path, &s, &err), 0);
	fill();
	ASSERT_EQ(kill(s.keeper, SIGKILL), 0);
	bawn_scratch_done(&s);
	ASSERT_TRUE(!there());
}
