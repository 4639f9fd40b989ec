/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered is only what was noted, under the same conditions, in a file that is ours. */
#include <fcntl.h>
#include <signal.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include "../../harness.h"
#include "pipeline/memo.h"

#define SIZE (96 + 1024 * 32)

static char dir[] = "/tmp/bawn-memo.XXXXXX";
static char path[64];
static struct bawn_policy policy = {.workspace = "/w", .home = "/h"};
static const char *argv[] = {"make", "test", NULL};
static struct bawn_subject subject;

static void begin(void)
{
	ASSERT_TRUE(mkdtemp(dir) != NULL);
	(void)snprintf(path, sizeof(path), "%s/judged", dir);
	memset(policy.digest, 'a', sizeof(policy.digest) - 1);
	subject = (struct bawn_subject){.kind = BAWN_KIND_COMMAND,
		.argv = argv,
		.text = "make test",
		.len = 9,
		.last = true};
}

static void end(void)
{
	(void)unlink(path);
	(void)rmdir(dir);
}

static bool ask(void)
{
	struct bawn_memo m;
	bool known = bawn_memo_ask(&m, path, &policy, &subject);

	bawn_memo_done(&m);
	return known;
}

static void note(void)
{
	struct bawn_memo m;

	bawn_memo_make(path);
	(void)bawn_memo_ask(&m, path, &policy, &subject);
	bawn_memo_note(&m);
	bawn_memo_done(&m);
}

static void poke(off_t at, char xor)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char c = 0;

	ASSERT_TRUE(fd >= 0 && pread(fd, &c, 1, at) == 1);
	c = (char)(c ^ xor);
	ASSERT_TRUE(pwrite(fd, &c, 1, at) == 1);
	(void)close(fd);
}

/* Where the one hash is that was noted. */
static off_t only_slot(void)
{
	static char all[SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t found = 0;

	ASSERT_TRUE(fd >= 0 && read(fd, all, sizeof(all)) == SIZE);
	(void)close(fd);
	for (off_t at = 96; at < SIZE; at += 32)
		for (off_t i = at; i < at + 32; i++)
			if (all[i]) {
				ASSERT_TRUE(!found || found == at);
				found = at;
			}
	ASSERT_TRUE(found != 0);
	return found;
}

TEST(what_was_noted_is_known)
{
	struct bawn_memo m;
	struct stat st;

	begin();
	ASSERT_TRUE(!ask());
	ASSERT_TRUE(access(path, F_OK) < 0); /* asking makes no file, nor does noting */
	ASSERT_TRUE(!bawn_memo_ask(&m, path, &policy, &subject));
	bawn_memo_note(&m);
	bawn_memo_done(&m);
	ASSERT_TRUE(access(path, F_OK) < 0);
	ASSERT_TRUE(!bawn_memo_ask(&m, path, &policy, &subject));
	bawn_memo_make(path); /* as a run does, between the two */
	ASSERT_TRUE(!ask());
	bawn_memo_note(&m);
	bawn_memo_done(&m);
	ASSERT_TRUE(ask());
	note();
	ASSERT_TRUE(ask());
	ASSERT_TRUE(stat(path, &st) == 0);
	ASSERT_EQ(st.st_mode & 07777, 0600);
	ASSERT_EQ(st.st_size, SIZE);
	end();
}

TEST(any_other_byte_is_another_command)
{
	static const char *other[] = {"make", "tesT", NULL};

	begin();
	note();
	subject.text = "make tesT";
	ASSERT_TRUE(!ask());
	subject.text = "make test";
	subject.argv = other;
	ASSERT_TRUE(!ask());
	subject.argv = NULL;
	ASSERT_TRUE(!ask());
	subject.argv = argv;
	subject.len = 8;
	ASSERT_TRUE(!ask());
	subject.len = 9;
	subject.name = "Bash";
	ASSERT_TRUE(!ask());
	subject.name = NULL;
	subject.mode++;
	ASSERT_TRUE(!ask());
	subject.mode--;
	ASSERT_TRUE(ask());
	end();
}

TEST(any_other_policy_is_another_question)
{
	begin();
	note();
	policy.digest[63] = 'b';
	ASSERT_TRUE(!ask());
	policy.digest[63] = 'a';
	policy.workspace = "/x";
	ASSERT_TRUE(!ask());
	policy.workspace = "/w";
	policy.home = NULL;
	ASSERT_TRUE(!ask());
	policy.home = "/h";
	ASSERT_TRUE(ask());
	policy.digest[0] = '\0'; /* no digest: nothing to go by */
	ASSERT_TRUE(!ask());
	end();
}

TEST(a_damaged_slot_does_not_match)
{
	begin();
	note();
	off_t at = only_slot();
	for (off_t i = 0; i < 32; i++) {
		poke(at + i, 1);
		ASSERT_TRUE(!ask());
		poke(at + i, 1);
	}
	ASSERT_TRUE(ask());
	end();
}

TEST(a_damaged_head_makes_all_of_it_worthless_and_is_made_anew)
{
	static const off_t places[] = {0, 7, 8, 32, 63, 64, 95};

	begin();
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		note();
		ASSERT_TRUE(ask());
		poke(places[i], 0x40);
		ASSERT_TRUE(!ask());
	}
	note();
	ASSERT_TRUE(ask());
	(void)only_slot(); /* what was there under the old key is gone */
	end();
}

TEST(a_hash_of_another_file_means_nothing)
{
	char hash[32];
	int fd;

	begin();
	note();
	off_t at = only_slot();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_TRUE(fd >= 0 && pread(fd, hash, sizeof(hash), at) == sizeof(hash));
	(void)close(fd);
	ASSERT_TRUE(unlink(path) == 0);
	subject.len = 4; /* another command begins a file with another key */
	note();
	subject.len = 9;
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_TRUE(fd >= 0);
	for (off_t to = 96; to < SIZE; to += 32) /* forged everywhere */
		ASSERT_TRUE(pwrite(fd, hash, sizeof(hash), to) == sizeof(hash));
	(void)close(fd);
	ASSERT_TRUE(!ask());
	end();
}

TEST(its_size_is_bounded)
{
	struct stat st;

	begin();
	note();
	ASSERT_TRUE(truncate(path, SIZE + 4096) == 0);
	ASSERT_TRUE(!ask());
	note();
	ASSERT_TRUE(ask());
	ASSERT_TRUE(truncate(path, 100) == 0);
	ASSERT_TRUE(!ask());
	for (size_t i = 0; i < 3000; i++) {
		char text[16];

		subject.len = (size_t)snprintf(text, sizeof(text), "echo %zu", i);
		subject.text = text;
		note();
		ASSERT_TRUE(ask());
	}
	ASSERT_TRUE(stat(path, &st) == 0);
	ASSERT_EQ(st.st_size, SIZE);
	end();
}

TEST(a_file_that_others_can_write_or_reach_is_not_trusted)
{
	static const mode_t modes[] = {0606, 0660, 0640, 0604, 0601};
	char second[80];

	begin();
	note();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		ASSERT_TRUE(chmod(path, modes[i]) == 0);
		ASSERT_TRUE(!ask());
	}
	ASSERT_TRUE(chmod(path, 0600) == 0);
	(void)snprintf(second, sizeof(second), "%s/second", dir);
	ASSERT_TRUE(link(path, second) == 0);
	ASSERT_TRUE(!ask());
	ASSERT_TRUE(unlink(second) == 0);
	ASSERT_TRUE(ask());
	ASSERT_TRUE(rename(path, second) == 0 && symlink(second, path) == 0);
	ASSERT_TRUE(!ask());
	subject.len = 4;
	note(); /* nor is anything written through the link */
	ASSERT_TRUE(unlink(path) == 0 && rename(second, path) == 0);
	ASSERT_TRUE(!ask());
	subject.len = 9;
	ASSERT_TRUE(ask());
	end();
}

TEST(a_file_of_another_owner_is_neither_trusted_nor_written)
{
	begin();
	if (geteuid() != 0)
		SKIP("needs root to give a file away: run the suite as root");
	note();
	ASSERT_TRUE(chown(path, 1000, 1000) == 0);
	ASSERT_TRUE(!ask());
	subject.len = 4;
	note();
	ASSERT_TRUE(chown(path, 0, 0) == 0);
	ASSERT_TRUE(!ask());
	subject.len = 9;
	ASSERT_TRUE(ask());
	end();
}

TEST(what_is_no_file_is_left_alone)
{
	begin();
	ASSERT_TRUE(mkfifo(path, 0600) == 0);
	note();
	ASSERT_TRUE(!ask()); /* nor does it wait */
	ASSERT_TRUE(unlink(path) == 0 && mkdir(path, 0700) == 0);
	note();
	ASSERT_TRUE(!ask());
	ASSERT_TRUE(rmdir(path) == 0);
	end();
}

TEST(no_place_no_memo)
{
	struct rlimit small = {.rlim_cur = 1000, .rlim_max = 1000};
	struct bawn_memo m;

	begin();
	ASSERT_TRUE(!bawn_memo_ask(&m, NULL, &policy, &subject));
	bawn_memo_note(&m);
	bawn_memo_done(&m);
	(void)snprintf(path, sizeof(path), "/proc/self/judged");
	note();
	ASSERT_TRUE(!ask());
	(void)snprintf(path, sizeof(path), "%s/a/b/judged", dir);
	note();
	ASSERT_TRUE(ask()); /* missing directories are made, as for the log */
	ASSERT_TRUE(truncate(path, 0) == 0);
	/* writing beyond this limit would be a deadly signal */
	ASSERT_TRUE(setrlimit(RLIMIT_FSIZE, &small) == 0);
	note();
	ASSERT_TRUE(!ask());
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/a/b", dir);
	(void)rmdir(path);
	(void)snprintf(path, sizeof(path), "%s/a", dir);
	(void)rmdir(path);
	end();
}

TEST(many_writers_at_once)
{
	size_t known = 0;
	int status;

	begin();
	for (int child = 0; child < 6; child++)
		if (fork() == 0) {
			/* who does not get to begin it remembers nothing until another has */
			subject.text = "begun";
			subject.len = 5;
			for (int i = 0; i < 2000 && !ask(); i++) {
				note();
				(void)usleep(1000);
			}
			for (int i = 0; i < 40; i++) {
				char text[24];

				subject.len = (size_t)snprintf(
					text, sizeof(text), "echo %d %d", child, i);
				subject.text = text;
				note();
			}
			_exit(0);
		}
	while (wait(&status) > 0)
		ASSERT_EQ(status, 0);
	subject.text = "never noted";
	subject.len = 11;
	ASSERT_TRUE(!ask());
	for (int i = 0; i < 40; i++) { /* the last ones were written under the key that stayed */
		char text[24];

		subject.len = (size_t)snprintf(text, sizeof(text), "echo %d %d", i % 6, 30 + i / 6);
		subject.text = text;
		known += ask();
	}
	ASSERT_TRUE(known >= 20);
	end();
}
