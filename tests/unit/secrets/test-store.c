/* SPDX-License-Identifier: Apache-2.0 */
/* The file on disk: whose it must be, that it is never half written, and who waits for whom. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include <sys/stat.h>

#include "base/io.h"
#include "harness.h"
#include "secrets/store.h"

static char dir[64], file[96];

static void begin(struct store *s)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/bawn-store-XXXXXX");
	ASSERT_TRUE(mkdtemp(dir));
	ASSERT_EQ(setenv("XDG_STATE_HOME", dir, 1), 0);
	(void)snprintf(file, sizeof(file), "%s/bawn/vault", dir);
	ASSERT_EQ(store_open(s, true, NULL), 0);
	ASSERT_EQ(store_lock(s, NULL), 0);
}

static void end(struct store *s)
{
	char path[128];
	static const char *const names[] = {"vault", "vault.new", "vault.lock", "vault.tries", "x"};

	store_done(s);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/bawn/%s", dir, names[i]);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/bawn", dir);
	(void)rmdir(path);
	(void)rmdir(dir);
}

static int reads(const struct store *s, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	return store_read(s, &b, err);
}

TEST(written_and_read)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	struct store s;
	struct stat st;

	begin(&s);
	ASSERT_EQ(reads(&s, NULL), -ENOENT);
	ASSERT_EQ(store_write(&s, "hello", 5, NULL), 0);
	ASSERT_EQ(store_write(&s, "bytes", 5, NULL), 0);
	ASSERT_EQ(store_read(&s, &b, NULL), 0);
	ASSERT_STREQ(b.data, "bytes");
	ASSERT_EQ(stat(file, &st), 0);
	ASSERT_EQ(st.st_mode & 07777, 0600);
	end(&s);
}

TEST(others_must_not_read_it)
{
	struct bawn_error err = {0};
	struct store s;

	begin(&s);
	ASSERT_EQ(store_write(&s, "hello", 5, NULL), 0);
	for (unsigned mode = 1; mode < 0100; mode <<= 1) {
		ASSERT_EQ(chmod(file, 0600 | mode), 0);
		ASSERT_EQ(reads(&s, &err), -EPERM);
		ASSERT_TRUE(strstr(err.msg, "open to others"));
	}
	ASSERT_EQ(chmod(file, 0600), 0);
	ASSERT_EQ(reads(&s, NULL), 0);
	end(&s);
}

TEST(another_owner)
{
	struct bawn_error err = {0};
	struct store s;

	if (geteuid() != 0)
		SKIP("only root can give files away: run the suite as root");
	begin(&s);
	ASSERT_EQ(store_write(&s, "hello", 5, NULL), 0);
	ASSERT_EQ(chown(file, 12345, 12345), 0);
	ASSERT_EQ(reads(&s, &err), -EPERM);
	ASSERT_TRUE(strstr(err.msg, "belongs to user 12345"));
	end(&s);
}

TEST(links_are_refused)
{
	struct store s;
	char other[96];

	begin(&s);
	(void)snprintf(other, sizeof(other), "%s/bawn/x", dir);
	ASSERT_EQ(store_write(&s, "hello", 5, NULL), 0);
	ASSERT_EQ(link(file, other), 0); /* a second name, perhaps where a sandbox can read it */
	ASSERT_EQ(reads(&s, NULL), -EPERM);
	ASSERT_EQ(unlink(file), 0);
	ASSERT_EQ(symlink("x", file), 0);
	ASSERT_EQ(reads(&s, NULL), -EPERM);
	ASSERT_EQ(unlink(file), 0);
	ASSERT_EQ(mkfifo(file, 0600), 0);
	ASSERT_EQ(reads(&s, NULL), -EPERM);
	ASSERT_EQ(unlink(file), 0);
	end(&s);
}

TEST(the_directory_counts_too)
{
	struct bawn_error err = {0};
	struct store s, again;
	char path[96], other[96];

	begin(&s);
	(void)snprintf(path, sizeof(path), "%s/bawn", dir);
	(void)snprintf(other, sizeof(other), "%s/elsewhere", dir);
	ASSERT_EQ(chmod(path, 0755), 0);
	ASSERT_EQ(store_open(&again, false, &err), -EPERM);
	ASSERT_TRUE(strstr(err.msg, "chmod 700"));
	store_done(&again);
	ASSERT_EQ(chmod(path, 0700), 0);
	ASSERT_EQ(rename(path, other), 0);
	ASSERT_EQ(symlink("elsewhere", path), 0);
	ASSERT_EQ(store_open(&again, false, &err), -EPERM);
	store_done(&again);
	ASSERT_EQ(unlink(path), 0);
	ASSERT_EQ(rename(other, path), 0);
	end(&s);
}

static size_t fill(char *dst, char c, size_t n)
{
	memset(dst, c, n);
	return n;
}

/* Writes a's and b's in turn until it is killed. */
static void write_for_ever(const struct store *s)
{
	static char a[60000], b[200000];
	size_t n_a = fill(a, 'a', sizeof(a)), n_b = fill(b, 'b', sizeof(b));

	for (;;)
		if (store_write(s, a, n_a, NULL) < 0 || store_write(s, b, n_b, NULL) < 0)
			_exit(1);
}

static void check_whole(const struct store *s)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	ASSERT_EQ(store_read(s, &b, NULL), 0);
	ASSERT_TRUE(b.len == 60000 || b.len == 200000);
	for (size_t i = 0; i < b.len; i++)
		ASSERT_EQ(b.data[i], b.len == 60000 ? 'a' : 'b');
}

TEST(killed_while_writing)
{
	struct store s;
	static char a[60000];

	begin(&s);
	ASSERT_EQ(store_write(&s, a, fill(a, 'a', sizeof(a)), NULL), 0);
	for (long i = 0; i < 60; i++) {
		struct timespec nap = {.tv_nsec = (i * 7919 % 97) * 50000 + 1};
		pid_t pid = fork();
		int st = 0;

		if (pid == 0)
			write_for_ever(&s);
		(void)nanosleep(&nap, NULL);
		ASSERT_EQ(kill(pid, SIGKILL), 0);
		ASSERT_EQ(waitpid(pid, &st, 0), pid);
		ASSERT_TRUE(WIFSIGNALED(st));
		check_whole(&s);
	}
	ASSERT_EQ(store_write(&s, a, sizeof(a), NULL), 0); /* what was left is no obstacle */
	end(&s);
}

static void count_up(int n)
{
	for (int i = 0; i < n; i++) {
		_cleanup_buf_ struct bawn_buf b = {0};
		struct store s;
		char text[16];

		if (store_open(&s, false, NULL) < 0 || store_lock(&s, NULL) < 0 ||
			store_read(&s, &b, NULL) < 0)
			_exit(1);
		(void)snprintf(text, sizeof(text), "%ld", strtol(b.data, NULL, 10) + 1);
		if (store_write(&s, text, strlen(text), NULL) < 0)
			_exit(2);
		store_done(&s);
	}
}

TEST(many_writers)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	struct store s;
	pid_t pid[4];

	begin(&s);
	ASSERT_EQ(store_write(&s, "0", 1, NULL), 0);
	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			store_done(&s); /* the lock is whose has it open */
			count_up(25);
			_exit(0);
		}
	}
	(void)close(s.lock);
	s.lock = -1;
	for (int i = 0; i < 4; i++) {
		int st = 0;

		ASSERT_EQ(waitpid(pid[i], &st, 0), pid[i]);
		ASSERT_EQ(st, 0);
	}
	ASSERT_EQ(store_read(&s, &b, NULL), 0);
	ASSERT_STREQ(b.data, "100");
	end(&s);
}

TEST(three_wrong_ones_lock)
{
	struct bawn_error err = {0};
	struct store s;

	begin(&s);
	for (int i = 0; i < 2; i++)
		tries_end(tries_begin(&s, NULL), false);
	tries_end(tries_begin(&s, NULL), true); /* a right one forgives */
	for (int i = 0; i < 3; i++) {
		int fd = tries_begin(&s, &err);

		if (fd < 0)
			FAIL("%s", err.msg);
		tries_end(fd, false);
	}
	ASSERT_EQ(tries_begin(&s, &err), -EBUSY);
	ASSERT_TRUE(strstr(err.msg, "again in"));
	end(&s);
}

TEST(the_lock_ends)
{
	struct store s;
	char path[96], line[33];
	int fd;

	begin(&s);
	(void)snprintf(path, sizeof(path), "%s/bawn/vault.tries", dir);
	(void)snprintf(line, sizeof(line), "3 %-29llu\n",
		(unsigned long long)(bawn_wall_us() / 1000000 - TRIES_WAIT));
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ASSERT_EQ(write(fd, line, 32), 32);
	ASSERT_EQ(close(fd), 0);
	fd = tries_begin(&s, NULL);
	ASSERT_TRUE(fd >= 0);
	tries_end(fd, false);
	fd = tries_begin(&s, NULL); /* one, not four */
	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(close(fd), 0);
	end(&s);
}

TEST(a_strange_count_locks)
{
	static const char *const strange[] = {"0", "9 17                            \n",
		"nonsense that is exactly so long", "0 99999999999                  \n",
		"-1                              "};

	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		struct store s;
		char path[96];
		int fd;

		begin(&s);
		(void)snprintf(path, sizeof(path), "%s/bawn/vault.tries", dir);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		ASSERT_TRUE(write(fd, strange[i], strlen(strange[i])) > 0);
		ASSERT_EQ(close(fd), 0);
		fd = tries_begin(&s, NULL);
		if (fd != -EBUSY)
			FAIL("'%s' is taken for %d", strange[i], fd);
		end(&s);
	}
}
