/* SPDX-License-Identifier: Apache-2.0 */
/* Appending in a world that is full, hostile, busy or dying. */
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common.h"

TEST(record_shape)
{
	struct bawn_buf log;
	json_t *j;

	make_scratch();
	add_records(2);
	slurp(log_path, &log);
	*strchr(log.data, '\n') = '\0';
	j = json_loads(log.data, JSON_REJECT_DUPLICATES, NULL);
	ASSERT_TRUE(j != NULL);
	ASSERT_STREQ(json_string_value(json_object_get(j, "schema")), "bawn/audit/v1");
	ASSERT_EQ(json_integer_value(json_object_get(j, "seq")), 1);
	ASSERT_EQ(json_string_length(json_object_get(j, "time")), AUDIT_TIME_LEN);
	ASSERT_STREQ(json_string_value(json_object_get(j, "event")), "start");
	ASSERT_STREQ(json_string_value(json_object_get(j, "prev")), AUDIT_ZERO_HASH);
	ASSERT_EQ(json_string_length(json_object_get(j, "hash")), BAWN_HEX_LEN);
	json_decref(j);
	bawn_buf_done(&log);
}

TEST(modes_and_parents)
{
	struct stat st;

	make_scratch();
	(void)umask(0);
	(void)snprintf(log_path, sizeof(log_path), "%s/a/b/c.jsonl", scratch);
	add_records(1);
	ASSERT_EQ(stat(log_path, &st), 0);
	ASSERT_EQ(st.st_mode, S_IFREG | 0600);
	(void)snprintf(log_path, sizeof(log_path), "%s/a/b", scratch);
	ASSERT_EQ(stat(log_path, &st), 0);
	ASSERT_EQ(st.st_mode, S_IFDIR | 0700);
}

TEST(default_place)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_audit *au = NULL;
	char want[PATH_MAX];

	make_scratch();
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(setenv("XDG_STATE_HOME", scratch, 1), 0);
	(void)snprintf(want, sizeof(want), "%s/bawn/audit.jsonl", scratch);
	ASSERT_STREQ(bawn_audit_default_path(a), want);
	ASSERT_EQ(bawn_audit_open("", false, &au, NULL), 0);
	ASSERT_STREQ(bawn_audit_path(au), want);
	(void)bawn_audit_free(au);
	/* a relative one is to be ignored, says its specification */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(setenv("XDG_STATE_HOME", "state", 1), 0);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(setenv("HOME", scratch, 1), 0);
	(void)snprintf(want, sizeof(want), "%s/.local/state/bawn/audit.jsonl", scratch);
	ASSERT_STREQ(bawn_audit_default_path(a), want);
}

static void expect_refused(int r, const char *text)
{
	struct bawn_audit *au = NULL;
	struct bawn_error err = {0};
	int got = bawn_audit_open(log_path, false, &au, &err);

	if (got != r || !strstr(err.msg, text))
		FAIL("open gives %d '%s', expected %d '%s'", got, err.msg, r, text);
	ASSERT_EQ(err.kind, BAWN_ERR_AUDIT);
	ASSERT_TRUE(au == NULL);
}

TEST(not_a_log)
{
	char other[PATH_MAX];

	make_scratch();
	(void)snprintf(other, sizeof(other), "%s/other", scratch);
	spew(other, "x", 1);
	ASSERT_EQ(symlink(other, log_path), 0);
	expect_refused(-ELOOP, "is a symbolic link");
	ASSERT_EQ(unlink(log_path), 0);
	ASSERT_EQ(symlink("/nonexistent", log_path), 0);
	expect_refused(-ELOOP, "is a symbolic link");
	ASSERT_EQ(unlink(log_path), 0);
	ASSERT_EQ(mkdir(log_path, 0700), 0);
	expect_refused(-EISDIR, "Is a directory");
	ASSERT_EQ(rmdir(log_path), 0);
	ASSERT_EQ(mkfifo(log_path, 0600), 0);
	expect_refused(-EINVAL, "is a FIFO");
	ASSERT_EQ(unlink(log_path), 0);
	ASSERT_EQ(link(other, log_path), 0);
	expect_refused(-EPERM, "second name");
	ASSERT_EQ(unlink(log_path), 0);
	ASSERT_EQ(size_of(other), 1);

	add_records(1);
	ASSERT_EQ(chmod(log_path, 0620), 0);
	expect_refused(-EPERM, "others can write audit log");
	ASSERT_EQ(chmod(log_path, 0602), 0);
	expect_refused(-EPERM, "others can write audit log");
	ASSERT_EQ(chmod(log_path, 0600), 0);
	ASSERT_EQ(unlink(head_path), 0);
	ASSERT_EQ(symlink(other, head_path), 0);
	expect_refused(-ELOOP, "head file");
	ASSERT_EQ(size_of(other), 1);
}

TEST(device)
{
	(void)snprintf(log_path, sizeof(log_path), "/dev/null");
	expect_refused(-EINVAL, "is a device");
}

TEST(directory_of_others)
{
	make_scratch();
	ASSERT_EQ(chmod(scratch, 0777), 0);
	expect_refused(-EPERM, "others can write the directory");
	ASSERT_EQ(chmod(scratch, 0770), 0);
	expect_refused(-EPERM, "others can write the directory");
	ASSERT_EQ(chmod(scratch, 01777), 0);
	add_records(1);
	expect_intact(1);
}

TEST(other_owner)
{
	if (geteuid())
		SKIP("needs root to make a file of another user: run the suite as root");
	make_scratch();
	add_records(1);
	ASSERT_EQ(chown(log_path, 1000, 1000), 0);
	expect_refused(-EPERM, "belongs to user 1000");
	ASSERT_EQ(chown(scratch, 1000, 1000), 0);
	expect_refused(-EPERM, "the directory of audit log");
	/* the user itself can use a directory of its own, but not root's log in it */
	ASSERT_EQ(setregid(1000, 1000) + setreuid(1000, 1000), 0);
	ASSERT_EQ(unlink(head_path), 0);
	add_records(1);
	ASSERT_EQ(unlink(log_path), 0);
	ASSERT_EQ(unlink(head_path), 0);
	add_records(2);
	expect_intact(2);
	(void)snprintf(log_path, sizeof(log_path), "/etc/bawn-test/audit.jsonl");
	expect_refused(-EACCES, "Permission denied");
}

TEST(long_paths)
{
	static char path[PATH_MAX + 100];
	struct bawn_audit *au = NULL;
	struct bawn_error err = {0};

	memset(path, 'a', PATH_MAX);
	path[0] = '/';
	ASSERT_EQ(bawn_audit_open(path, false, &au, &err), -ENAMETOOLONG);
	ASSERT_TRUE(strstr(err.msg, "longer than 4095 bytes") != NULL);
	path[PATH_MAX - 1] = '\0';
	ASSERT_EQ(bawn_audit_open(path, false, &au, &err), -ENAMETOOLONG);
	ASSERT_TRUE(strstr(err.msg, "File name too long") != NULL);

	/* 4095 bytes that do work */
	make_scratch();
	size_t n = strlen(scratch);
	memset(path, '/', PATH_MAX);
	memcpy(path, scratch, n);
	memcpy(path + PATH_MAX - 7, "x.jsonl", 7);
	path[PATH_MAX - 1] = '\0';
	ASSERT_EQ(strlen(path), PATH_MAX - 1);
	if (bawn_audit_open(path, false, &au, &err) < 0)
		FAIL("%s", err.msg);
	append(au, "\"event\":\"x\"");
	(void)bawn_audit_free(au);
}

TEST(bad_members)
{
	static const char *const bad[] = {"\"a\":\"\n\"", "\"a\":\"\x1b\"", "\t"};
	static char big[AUDIT_LINE_MAX + 10];
	struct bawn_audit *au;
	struct bawn_error err = {0};

	make_scratch();
	au = open_log();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ASSERT_EQ(bawn_audit_append(au, bad[i], &err), -EINVAL);
	memset(big, 'x', sizeof(big) - 1);
	ASSERT_EQ(bawn_audit_append(au, big, &err), -E2BIG);
	ASSERT_EQ(size_of(log_path), 0);
	append(au, "");
	expect_intact(1);
	/* the longest record that fits is one that verify accepts */
	big[0] = big[2] = big[4] = '"';
	big[1] = 'a';
	big[3] = ':';
	for (size_t n = AUDIT_LINE_MAX - 400; n < AUDIT_LINE_MAX; n++) {
		big[n - 1] = '"';
		big[n] = '\0';
		if (bawn_audit_append(au, big, &err) < 0)
			break;
		big[n - 1] = big[n] = 'x';
		ASSERT_EQ(ftruncate(au->log_fd, 0) + ftruncate(au->head_fd, 0), 0);
	}
	ASSERT_EQ(err.err, -E2BIG);
	(void)bawn_audit_free(au);
}

TEST(rotated_or_deleted_while_open)
{
	char moved[PATH_MAX + 8];
	struct bawn_audit *au;

	make_scratch();
	au = open_log();
	append(au, "\"event\":\"1\"");
	(void)snprintf(moved, sizeof(moved), "%s.1", log_path);
	ASSERT_EQ(rename(log_path, moved), 0);
	append(au, "\"event\":\"2\"");
	/* the chain goes on in the new file */
	expect_bad(1, "line 1: starts with record 2");
	ASSERT_EQ(unlink(log_path), 0);
	ASSERT_EQ(unlink(head_path), 0);
	append(au, "\"event\":\"3\"");
	append(au, "\"event\":\"4\"");
	expect_intact(2);
	(void)bawn_audit_free(au);
}

TEST(lock_held_by_a_stopped_process)
{
	struct bawn_audit *au;
	struct bawn_error err = {0};
	int p[2], st;
	char c;
	pid_t pid;

	make_scratch();
	add_records(1);
	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open(log_path, O_RDONLY | O_CLOEXEC);

		(void)flock(fd, LOCK_EX);
		(void)!write(p[1], "x", 1);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	ASSERT_EQ(read(p[0], &c, 1), 1);
	ASSERT_EQ(waitpid(pid, &st, WUNTRACED), pid);
	au = open_log();
	au->lock_ms = 200;
	ASSERT_EQ(bawn_audit_append(au, "\"event\":\"x\"", &err), -ETIMEDOUT);
	ASSERT_TRUE(strstr(err.msg, "has been locked by another process") != NULL);
	ASSERT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	append(au, "\"event\":\"x\"");
	expect_intact(2);
	(void)bawn_audit_free(au);
}

TEST(file_size_limit)
{
	struct bawn_audit *au;
	struct bawn_error err = {0};
	struct rlimit lim = {2000, 2000};
	off_t size;
	int n = 0;

	make_scratch();
	ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &lim), 0);
	au = open_log();
	do
		size = size_of(log_path);
	while (bawn_audit_append(au, "\"event\":\"x\"", &err) == 0 && ++n < 100);
	ASSERT_EQ(err.err, -EFBIG);
	ASSERT_TRUE(n > 1 && n < 100);
	ASSERT_EQ(size_of(log_path), size);
	expect_intact((uint64_t)n);
	(void)bawn_audit_free(au);
}

/* A private tmpfs on the scratch directory, or no test. */
static void small_disk(const char *options)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	make_scratch();
	if (uid && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		SKIP("no user namespaces to mount a small disk in: run the suite as root");
	if (!uid && unshare(CLONE_NEWNS) < 0)
		SKIP("not allowed to make a mount namespace: needs CAP_SYS_ADMIN");
	if (uid) {
		char map[64];

		(void)bawn_write_small(AT_FDCWD, "/proc/self/setgroups", "deny");
		(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		(void)bawn_write_small(AT_FDCWD, "/proc/self/uid_map", map);
		(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		(void)bawn_write_small(AT_FDCWD, "/proc/self/gid_map", map);
	}
	(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	if (mount("tmpfs", scratch, "tmpfs", 0, options) < 0)
		SKIP("not allowed to mount a tmpfs: needs CAP_SYS_ADMIN");
	ASSERT_EQ(chmod(scratch, 0700), 0);
}

/* Fill the disk until nothing more fits. */
static void fill_disk(void)
{
	char path[PATH_MAX];
	static char chunk[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/fill", scratch);
	fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	ASSERT_TRUE(fd >= 0);
	while (write(fd, chunk, sizeof(chunk)) > 0)
		;
	ASSERT_EQ(errno, ENOSPC);
	(void)close(fd);
}

TEST(disk_full)
{
	struct bawn_audit *au, *late;
	struct bawn_error err = {0};
	off_t size;
	uint64_t n = 1;

	small_disk("size=1m");
	au = open_log();
	append(au, "\"event\":\"start\"");
	fill_disk();
	/* the end of a run fits into the room that its start has kept */
	for (; n < 12; n++)
		append(au, "\"event\":\"end\"");
	expect_intact(n);
	/* in the end it is full all the same */
	while (bawn_audit_append(au, "\"event\":\"end\"", &err) == 0 && n < 10000)
		n++;
	ASSERT_EQ(err.err, -ENOSPC);
	ASSERT_TRUE(strstr(err.msg, "No space left on device; free some space") != NULL);
	size = size_of(log_path);
	expect_intact(n);
	/* nothing new starts */
	late = open_log();
	ASSERT_EQ(bawn_audit_append(late, "\"event\":\"start\"", &err), -ENOSPC);
	ASSERT_EQ(size_of(log_path), size);
	expect_intact(n);
	(void)bawn_audit_free(late);
	(void)bawn_audit_free(au);
}

TEST(disk_full_from_the_start)
{
	struct bawn_audit *au;
	struct bawn_error err = {0};

	small_disk("size=64k");
	fill_disk();
	au = open_log();
	ASSERT_EQ(bawn_audit_append(au, "\"event\":\"start\"", &err), -ENOSPC);
	ASSERT_EQ(size_of(log_path), 0);
	(void)bawn_audit_free(au);
}

/* The record fits, the head does not: neither is there afterwards. */
TEST(no_room_for_the_head)
{
	struct bawn_audit *au;
	struct bawn_error err = {0};
	char path[PATH_MAX];

	small_disk("size=1m");
	au = open_log();
	/* the log gets its room, then the disk fills up before the head has its first block */
	ASSERT_EQ(fallocate(au->log_fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 17), 0);
	fill_disk();
	ASSERT_EQ(bawn_audit_append(au, "\"event\":\"start\"", &err), -ENOSPC);
	ASSERT_EQ(size_of(log_path), 0);
	(void)snprintf(path, sizeof(path), "%s/fill", scratch);
	ASSERT_EQ(unlink(path), 0);
	append(au, "\"event\":\"start\"");
	expect_intact(1);
	(void)bawn_audit_free(au);
}

TEST(read_only_disk)
{
	struct bawn_audit *au = NULL;
	struct bawn_error err = {0};

	small_disk("size=64k");
	ASSERT_EQ(mount(NULL, scratch, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	ASSERT_EQ(bawn_audit_open(log_path, false, &au, &err), -EROFS);
	ASSERT_TRUE(strstr(err.msg, "Read-only file system") != NULL);
}

#define WRITERS 16
#define EACH    500

TEST(many_writers)
{
	make_scratch();
	for (int w = 0; w < WRITERS; w++) {
		if (fork() == 0) {
			for (int i = 0; i < EACH; i++) {
				struct bawn_audit *au = open_log();

				append(au, "\"event\":\"x\"");
				(void)bawn_audit_free(au);
			}
			_exit(0);
		}
	}
	for (int w = 0, st; w < WRITERS; w++) {
		pid_t pid = waitpid(-1, &st, 0);

		/* the watcher of the scratch directory only ends after this test */
		ASSERT_TRUE(pid > 0);
		ASSERT_EQ(st, 0);
	}
	expect_intact((uint64_t)WRITERS * EACH);
}

/* Append for ever, and tell the parent of each record. */
static void write_until_killed(int tell)
{
	struct bawn_audit *au = open_log();

	for (;;) {
		append(au, "\"event\":\"x\"");
		if (write(tell, "x", 1) != 1)
			_exit(0);
	}
}

/* Three writers for a moment; returns how many records they were told are written. */
static uint64_t killed_round(unsigned round)
{
	struct timespec nap = {0, 1000000 + (long)(round * 77777 % 5000000)};
	static char buf[65536];
	uint64_t told = 0;
	pid_t pid[3];
	ssize_t n;
	int p[2];

	ASSERT_EQ(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	for (int w = 0; w < 3; w++) {
		pid[w] = fork();
		if (pid[w] == 0)
			write_until_killed(p[1]);
	}
	(void)nanosleep(&nap, NULL);
	for (int w = 0; w < 3; w++)
		ASSERT_EQ(kill(pid[w], SIGKILL), 0);
	for (int w = 0; w < 3; w++)
		ASSERT_EQ(waitpid(pid[w], NULL, 0), pid[w]);
	(void)close(p[1]);
	while ((n = read(p[0], buf, sizeof(buf))) > 0)
		told += (uint64_t)n;
	(void)close(p[0]);
	return told;
}

/* Writers killed at random instants: what they were told is written must be there. */
TEST(killed_writers)
{
	struct bawn_audit_report rep = {0};
	uint64_t had = 1;

	make_scratch();
	add_records(1);
	for (unsigned round = 0; round < 60; round++) {
		uint64_t told = killed_round(round);
		struct bawn_error err = {0};

		if (bawn_audit_verify(log_path, NULL, &rep, &err) < 0)
			FAIL("round %u: %s", round, err.msg);
		if (rep.records < had + told)
			FAIL("%llu records told, %llu there", (unsigned long long)(had + told),
				(unsigned long long)rep.records);
		had = rep.records;
	}
	ASSERT_TRUE(had > 60);
	add_records(1);
	expect_intact(had + 1);
}

TEST(sync)
{
	struct bawn_audit *au = NULL;

	make_scratch();
	ASSERT_EQ(bawn_audit_open(log_path, true, &au, NULL), 0);
	append(au, "\"event\":\"x\"");
	expect_intact(1);
	(void)bawn_audit_free(au);
}
