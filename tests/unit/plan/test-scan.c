/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include <sys/mount.h>
#include <sys/stat.h>

#include "base/path.h"
#include "harness.h"
#include "plan/scan.h"

#define SETTLE_MS 2100 /* what changed longer ago than two seconds is taken from the cache */

static char top[64];
static struct bawn_arena *arena;
static struct bawn_strlist found;
static struct bawn_scan_stats stats;

static int shell(const char *text)
{
	int st = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-ec", text, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &st, 0) == pid && WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

static void begin(void)
{
	(void)snprintf(top, sizeof(top), "/tmp/bawn-scan-XXXXXX");
	ASSERT_TRUE(mkdtemp(top));
	ASSERT_EQ(chdir(top), 0);
	ASSERT_EQ(mkdir("cache", 0700), 0);
	ASSERT_EQ(mkdir("ws", 0755), 0);
	arena = bawn_arena_new();
	ASSERT_TRUE(arena);
}

static void end(void)
{
	char text[128];

	ASSERT_EQ(chdir("/"), 0);
	arena = bawn_arena_free(arena);
	(void)snprintf(text, sizeof(text), "rm -rf '%s'", top);
	ASSERT_EQ(shell(text), 0);
}

static void settle(void)
{
	struct timespec ts = {SETTLE_MS / 1000, SETTLE_MS % 1000 * 1000000L};

	while (nanosleep(&ts, &ts) < 0)
		;
}

static const char *at(const char *rel)
{
	return bawn_arena_printf(arena, "%s/%s", top, rel);
}

/* Patterns are relative to the scratch directory. */
static int scan(const char *const *patterns, const char *cache, struct bawn_error *err)
{
	const char *absolute[16] = {0};
	struct bawn_scan_options o = {.root = at("ws"), .patterns = absolute, .cache_dir = cache};

	for (size_t i = 0; patterns[i]; i++)
		absolute[i] = at(patterns[i]);
	found = (struct bawn_strlist){0};
	return bawn_scan(arena, &o, &found, &stats, err);
}

static const char *const env_only[] = {"ws/**/.env", NULL};

/* The matches as one text: paths below ws, each followed by a space. */
static const char *result(const char *const *patterns)
{
	struct bawn_error err = {0};
	const char *text = "";

	if (scan(patterns, at("cache"), &err) < 0)
		FAIL("%s", err.msg);
	for (size_t i = 0; i < found.n; i++)
		text = bawn_arena_printf(arena, "%s%s ", text, found.v[i] + strlen(at("ws/")));
	return text;
}

TEST(finds_what_matches)
{
	const char *const patterns[] = {"ws/**/.env", "ws/**/*.pem", "ws/**/id_*", "ws/**/secrets",
		"ws/a/[xy]?", "ws/b/**", NULL};

	begin();
	ASSERT_EQ(
		shell("cd ws; mkdir -p a/deep/er secrets/in b/c; touch .env a/.env a/deep/er/k.pem "
		      "secrets/in/.env a/x1 a/z1 b/c/f a/env id_; ln -s /nowhere a/deep/.env; "
		      "ln -s ../secrets a/dirlink; ln -s .. a/up"),
		0);
	ASSERT_STREQ(
		result(patterns), ".env a/.env a/deep/.env a/deep/er/k.pem a/x1 b/c id_ secrets ");
	end();
}

TEST(agrees_with_the_matcher)
{
	const char *const patterns[] = {
		"ws/**/a?/*.b", "ws/*/x", "ws/**/[ab]c*", "ws/p/**/q", "ws/**/n**m", "**/zz", NULL};
	static const char *const names[] = {
		"ac", "a1", "x", "q", "p", "f.b", "nom", "zz", "no", "bcc"};
	size_t want = 0;

	begin();
	for (size_t i = 0; i < 10; i++)
		for (size_t k = 0; k < 10; k++) {
			const char *dir = bawn_arena_printf(arena, "ws/%s/d%s", names[i], names[k]);
			const char *file = bawn_arena_printf(
				arena, "ws/%s/d%s/%s", names[i], names[k], names[(i + k) % 10]);

			(void)mkdir(at(bawn_arena_printf(arena, "ws/%s", names[i])), 0755);
			ASSERT_EQ(mkdir(dir, 0755), 0);
			ASSERT_EQ(mkdir(file, 0755), 0);
		}
	(void)result(patterns);
	for (size_t i = 0; i < found.n; i++) {
		bool hit = false;

		for (size_t j = 0; patterns[j]; j++)
			hit |= bawn_glob_match(at(patterns[j]), found.v[i]);
		ASSERT_TRUE(hit);
		want++;
	}
	ASSERT_TRUE(want > 10);
	/* what was not reported and does not lie in a match must not match */
	for (size_t i = 0; i < 1000; i++) {
		const char *path = bawn_arena_printf(arena, "%s/ws/%s/d%s/%s", top, names[i / 100],
			names[i / 10 % 10], names[i % 10]);
		bool covered = false, hit = false;

		if (access(path, F_OK) < 0)
			continue;
		for (size_t j = 0; j < found.n; j++)
			covered |= bawn_path_under(path, found.v[j]);
		for (size_t j = 0; patterns[j]; j++)
			hit |= bawn_glob_match(at(patterns[j]), path);
		if (hit && !covered)
			FAIL("%s was missed", path);
	}
	end();
}

TEST(plain_paths_need_no_walk)
{
	const char *const patterns[] = {"ws/a/.env", "ws/none", "ws/link/.env", "cache", NULL};

	begin();
	ASSERT_EQ(shell("mkdir ws/a; touch ws/a/.env; ln -s a ws/link"), 0);
	ASSERT_STREQ(result(patterns), "a/.env ");
	ASSERT_EQ(stats.directories, 0);
	ASSERT_EQ(rmdir("cache"), 0); /* still empty */
	end();
}

TEST(walks_only_below_the_literal_part)
{
	const char *const patterns[] = {"ws/src/**/*.pem", "ws/src/in/*.key", "ws/gone/**/x",
		"ws/link/**/y", "cache/**/z", NULL};

	begin();
	ASSERT_EQ(shell("mkdir -p ws/src/in ws/other/more ws/real; touch ws/src/in/a.pem "
			"ws/other/a.pem ws/real/y cache/z; ln -s real ws/link"),
		0);
	ASSERT_STREQ(result(patterns), "real/y src/in/a.pem ");
	ASSERT_EQ(stats.directories, 3);
	ASSERT_EQ(shell("rm -r ws/link"), 0);
	ASSERT_STREQ(result(patterns), "src/in/a.pem ");
	end();
}

TEST(later_runs_find_every_change)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws/a/b/c ws/d/e out/x/y; touch ws/a/b/.env out/x/y/.env ws/a/f"),
		0);
	settle();
	ASSERT_STREQ(result(env_only), "a/b/.env ");
	ASSERT_EQ(stats.directories, 6);
	ASSERT_EQ(stats.reread, 6);
	ASSERT_STREQ(result(env_only), "a/b/.env ");
	ASSERT_EQ(stats.reread, 0);
	ASSERT_EQ(stats.directories, 6);

	ASSERT_EQ(shell("touch ws/d/e/.env"), 0);
	ASSERT_STREQ(result(env_only), "a/b/.env d/e/.env ");
	ASSERT_EQ(stats.reread, 1);
	ASSERT_EQ(shell("touch ws/a/b/c/.env; touch -d 2001-01-01 ws/a/b/c"), 0);
	ASSERT_STREQ(result(env_only), "a/b/.env a/b/c/.env d/e/.env ");
	/* moved into place: the moved directories themselves did not change */
	ASSERT_EQ(shell("mv out/x ws/a/x"), 0);
	ASSERT_STREQ(result(env_only), "a/b/.env a/b/c/.env a/x/y/.env d/e/.env ");
	/* another one under a known name */
	ASSERT_EQ(shell("mv ws/a/b out/b; mv ws/a/x ws/a/b"), 0);
	ASSERT_STREQ(result(env_only), "a/b/y/.env d/e/.env ");
	/* file to directory, directory to file and to symlink */
	ASSERT_EQ(
		shell("rm ws/a/f; mkdir ws/a/f; touch ws/a/f/.env; mv ws/d/e out/e; touch ws/d/e; "
		      "mv ws/a/b out/b2; ln -s ../../out/b2 ws/a/b"),
		0);
	ASSERT_STREQ(result(env_only), "a/f/.env ");
	ASSERT_EQ(shell("rm -r ws/a; touch ws/.env"), 0);
	ASSERT_STREQ(result(env_only), ".env ");
	end();
}

TEST(changes_within_the_clock_tick)
{
	begin();
	ASSERT_EQ(shell("mkdir -p ws/a/b"), 0);
	for (int i = 0; i < 100; i++) {
		int fd;

		ASSERT_STREQ(result(env_only), "");
		fd = open("ws/a/b/.env", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		ASSERT_TRUE(fd >= 0 && close(fd) == 0);
		ASSERT_STREQ(result(env_only), "a/b/.env ");
		ASSERT_EQ(unlink("ws/a/b/.env"), 0);
	}
	end();
}

TEST(other_patterns_other_cache)
{
	const char *const pem[] = {"ws/**/*.pem", NULL};

	begin();
	ASSERT_EQ(shell("touch ws/.env ws/a.pem"), 0);
	settle();
	ASSERT_STREQ(result(env_only), ".env ");
	ASSERT_STREQ(result(pem), "a.pem ");
	ASSERT_STREQ(result(env_only), ".env ");
	ASSERT_EQ(stats.reread, 0);
	end();
}

TEST(mounts_are_seen)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		SKIP("mounting needs root: run the suite as root");
	begin();
	ASSERT_EQ(shell("mkdir -p ws/a/b out; touch out/.env"), 0);
	settle();
	ASSERT_STREQ(result(env_only), "");
	ASSERT_EQ(mount("out", "ws/a/b", NULL, MS_BIND, NULL), 0);
	ASSERT_STREQ(result(env_only), "a/b/.env ");
	ASSERT_EQ(umount("ws/a/b"), 0);
	ASSERT_STREQ(result(env_only), "");
	ASSERT_EQ(mount("none", "ws/a/b", "tmpfs", 0, NULL), 0);
	ASSERT_EQ(shell("touch ws/a/b/.env"), 0);
	ASSERT_STREQ(result(env_only), "a/b/.env ");
	ASSERT_EQ(umount("ws/a/b"), 0);
	end();
}

TEST(unreadable_directories)
{
	int st = -1;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("needs root to become two users: run the suite as root");
	begin();
	ASSERT_EQ(shell("mkdir -m 700 ws/closed; mkdir -m 711 ws/enter; mkdir -m 0 ws/own; mkdir "
			"ws/open; touch ws/open/.env; chown 4711 ws/own cache; chmod 755 ."),
		0);
	pid = fork();
	ASSERT_TRUE(pid >= 0);
	if (pid == 0) {
		ASSERT_EQ(setresuid(4711, 4711, 4711), 0);
		for (int i = 0; i < 2; i++)
			ASSERT_STREQ(result(env_only), "enter open/.env own ");
		ASSERT_EQ(chmod("ws/own", 0700), 0);
		ASSERT_STREQ(result(env_only), "enter open/.env ");
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	ASSERT_EQ(st, 0);
	end();
}

static void make_chain(int levels)
{
	int fd = open("ws", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < levels; i++) {
		int next;

		ASSERT_EQ(mkdirat(fd, "directory", 0755), 0);
		next = openat(fd, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ASSERT_TRUE(next >= 0);
		ASSERT_EQ(close(fd), 0);
		fd = next;
	}
	ASSERT_EQ(mkdirat(fd, ".env", 0755), 0);
	ASSERT_EQ(close(fd), 0);
}

TEST(paths_longer_than_the_kernel_takes)
{
	begin();
	make_chain(1500);
	settle();
	(void)result(env_only);
	ASSERT_EQ(found.n, 1);
	ASSERT_EQ(strlen(found.v[0]), strlen(at("ws")) + (size_t)15000 + 5);
	ASSERT_EQ(stats.reread, 1501);
	(void)result(env_only);
	ASSERT_EQ(found.n, 1);
	ASSERT_EQ(stats.reread, 0);
	end();
}

TEST(too_deep_is_an_error)
{
	struct bawn_error err = {0};

	begin();
	make_chain(4200);
	ASSERT_EQ(scan(env_only, "", &err), -ELOOP);
	ASSERT_TRUE(strstr(err.msg, "too deep"));
	end();
}

TEST(many_directories_use_a_helper)
{
	begin();
	ASSERT_EQ(
		shell("cd ws; for a in $(seq 95); do mkdir $a; (cd $a; seq 100 | xargs mkdir); done"),
		0);
	settle();
	ASSERT_STREQ(result(env_only), "");
	ASSERT_EQ(stats.directories, 9596);
	ASSERT_EQ(shell("touch ws/1/1/.env ws/50/2/.env ws/95/100/.env"), 0);
	ASSERT_STREQ(result(env_only), "1/1/.env 50/2/.env 95/100/.env ");
	ASSERT_EQ(stats.reread, 3);
	ASSERT_TRUE(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	ASSERT_STREQ(result(env_only), "1/1/.env 50/2/.env 95/100/.env ");
	ASSERT_EQ(stats.reread, 3);
	ASSERT_TRUE(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
	ASSERT_EQ(waitpid(-1, NULL, WNOHANG), -1); /* no child stays */
	end();
}

TEST(damaged_cache_is_no_harm)
{
	begin();
	ASSERT_EQ(shell("mkdir ws/a; touch ws/a/.env"), 0);
	settle();
	ASSERT_STREQ(result(env_only), "a/.env ");
	ASSERT_EQ(shell("for f in cache/scan-*; do test $(stat -c %a $f) = 600; done"), 0);
	ASSERT_STREQ(result(env_only), "a/.env ");
	ASSERT_EQ(stats.reread, 0);
	ASSERT_EQ(
		shell("cp cache/scan-* good; for f in cache/scan-*; do head -c 200 good >$f; done"),
		0);
	ASSERT_STREQ(result(env_only), "a/.env ");
	ASSERT_EQ(stats.reread, 2);
	ASSERT_EQ(shell("for f in cache/scan-*; do printf x | dd of=$f bs=1 seek=150 conv=notrunc "
			"2>/dev/null; done"),
		0);
	ASSERT_STREQ(result(env_only), "a/.env ");
	ASSERT_EQ(stats.reread, 2);
	/* one that others may write, a symlink, a FIFO */
	ASSERT_EQ(shell("chmod 666 cache/scan-*"), 0);
	ASSERT_STREQ(result(env_only), "a/.env ");
	ASSERT_EQ(stats.reread, 2);
	ASSERT_EQ(shell("for f in cache/scan-*; do rm $f; ln -s ../good $f; done"), 0);
	ASSERT_STREQ(result(env_only), "a/.env ");
	ASSERT_EQ(stats.reread, 2);
	ASSERT_EQ(shell("for f in cache/scan-*; do test ! -L $f; rm $f; mkfifo $f; done"), 0);
	ASSERT_STREQ(result(env_only), "a/.env ");
	ASSERT_EQ(stats.reread, 2);
	ASSERT_EQ(shell("chmod 777 cache; rm cache/*"), 0);
	ASSERT_STREQ(result(env_only), "a/.env ");
	ASSERT_EQ(rmdir("cache"), 0);
	ASSERT_STREQ(result(env_only), "a/.env ");
	end();
}

TEST(cache_in_the_workspace_is_not_used)
{
	struct bawn_error err = {0};

	begin();
	ASSERT_EQ(mkdir("ws/cache", 0700), 0);
	ASSERT_EQ(scan(env_only, at("ws/cache"), &err), 0);
	ASSERT_EQ(rmdir("ws/cache"), 0); /* empty */
	end();
}

TEST(default_cache_directory)
{
	struct bawn_error err = {0};

	begin();
	ASSERT_EQ(mkdir("home", 0700), 0);
	ASSERT_EQ(unsetenv("XDG_CACHE_HOME"), 0);    /* NOLINT(concurrency-mt-unsafe) */
	ASSERT_EQ(setenv("HOME", at("home"), 1), 0); /* NOLINT(concurrency-mt-unsafe) */
	ASSERT_EQ(scan(env_only, NULL, &err), 0);
	ASSERT_EQ(shell("test $(stat -c %a home/.cache/bawn) = 700; ls home/.cache/bawn/scan-*"
			">/dev/null"),
		0);
	ASSERT_EQ(setenv("XDG_CACHE_HOME", at("cache"), 1), 0); /* NOLINT(concurrency-mt-unsafe) */
	ASSERT_EQ(scan(env_only, NULL, &err), 0);
	ASSERT_EQ(shell("ls cache/bawn/scan-* >/dev/null"), 0);
	end();
}

TEST(root_that_is_gone)
{
	struct bawn_error err = {0};

	begin();
	ASSERT_EQ(rmdir("ws"), 0);
	ASSERT_EQ(scan(env_only, "", &err), 0);
	ASSERT_EQ(found.n, 0);
	end();
}
