/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/path.h"
#include "harness.h"

TEST(clean_is_lexical)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"/", "/"},
		{"//a///b/", "/a/b"},
		{"/a/./b/../c", "/a/c"},
		{"/../..", "/"},
		{"/a/..", "/"},
		{"/a/...", "/a/..."},
	};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ASSERT_STREQ(bawn_path_clean(a, rows[i].in), rows[i].out);
}

TEST(under_compares_whole_components)
{
	ASSERT_TRUE(bawn_path_under("/srv/repo/x", "/srv/repo"));
	ASSERT_TRUE(bawn_path_under("/srv/repo", "/srv/repo"));
	ASSERT_TRUE(!bawn_path_under("/srv/repo-evil", "/srv/repo"));
	ASSERT_TRUE(bawn_path_under("/anything", "/"));
}

TEST(globs)
{
	static const struct {
		const char *pat, *path;
		bool hit;
	} rows[] = {
		{"/w/**/.env", "/w/.env", true},
		{"/w/**/.env", "/w/a/b/.env", true},
		{"/w/**/.env", "/w/a/b/x.env", false},
		{"/w/**/.env", "/w/.env/x", false},
		{"/w/*.pem", "/w/k.pem", true},
		{"/w/*.pem", "/w/a/k.pem", false},
		{"/w/**", "/w/a/b", true},
		{"/w/**/secret*/**", "/w/a/secrets/b/c", true},
		{"/w/a?c", "/w/abc", true},
		{"/w/a?c", "/w/a/c", false},
		{"/w/[a-c]x", "/w/bx", true},
		{"/w/[!a-c]x", "/w/bx", false},
		{"/w/[", "/w/[", true},
		{"/w/**/a/**/b", "/w/1/a/2/3/b", true},
		{"/w/**/a/**/b", "/w/1/2/3/b", false},
		{"*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
		{"/etc/ssh/ssh_host_*_key", "/etc/ssh/ssh_host_rsa_key", true},
		{"/etc/ssh/ssh_host_*_key", "/etc/ssh/ssh_host_rsa_key.pub", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (bawn_glob_match(rows[i].pat, rows[i].path) != rows[i].hit)
			FAIL("%s against %s", rows[i].pat, rows[i].path);
}

static void set_runtime(const char *dir)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no threads */
	ASSERT_EQ(dir ? setenv("XDG_RUNTIME_DIR", dir, 1) : unsetenv("XDG_RUNTIME_DIR"), 0);
}

TEST(place_for_private_directories)
{
	char long_one[80] = "/", own[64];
	struct statfs fs;
	struct stat st;
	const char *dir;

	set_runtime("/var/tmp");
	ASSERT_STREQ(bawn_path_runtime(true), "/var/tmp");
	ASSERT_STREQ(bawn_path_runtime(false), "/var/tmp");
	memset(long_one, '/', 70);
	memcpy(long_one + 70, "tmp", 4);
	(void)snprintf(own, sizeof(own), "/run/user/%u", geteuid());
	for (int i = 0; i < 5; i++) {
		const char *bad[] = {NULL, "", "tmp", "/no/such", long_one};

		set_runtime(bad[i]);
		ASSERT_STREQ(bawn_path_runtime(false), "/tmp");
		dir = bawn_path_runtime(true);
		if (!strcmp(dir, "/tmp"))
			continue;
		ASSERT_TRUE(!strcmp(dir, own) || !strcmp(dir, "/dev/shm") || !strcmp(dir, "/run"));
		ASSERT_TRUE(lstat(dir, &st) == 0 && S_ISDIR(st.st_mode));
		ASSERT_TRUE(st.st_uid == 0 || st.st_uid == geteuid());
		ASSERT_TRUE(!(st.st_mode & 022) || st.st_mode & S_ISVTX);
		ASSERT_TRUE(statfs(dir, &fs) == 0 && fs.f_type == TMPFS_MAGIC);
	}
	/* where there is shared memory that everybody may use, a disk is not */
	if (stat("/dev/shm", &st) == 0 && (st.st_mode & 07777) == 01777 && !st.st_uid &&
		statfs("/dev/shm", &fs) == 0 && fs.f_type == TMPFS_MAGIC)
		ASSERT_TRUE(strcmp(bawn_path_runtime(true), "/tmp") != 0);
}

TEST(no_home_is_made)
{
	char dir[] = "/tmp/test-path-XXXXXX", home[64], state[96];
	struct stat st;

	ASSERT_TRUE(mkdtemp(dir));
	(void)snprintf(home, sizeof(home), "%s/home", dir);
	(void)snprintf(state, sizeof(state), "%s/.local/state", home);
	ASSERT_EQ(setenv("HOME", home, 1), 0);
	ASSERT_EQ(bawn_path_make_state_dirs(state, strlen(state)), -ENOENT);
	ASSERT_TRUE(stat(home, &st) < 0);
	ASSERT_EQ(mkdir(home, 0700), 0);
	ASSERT_EQ(bawn_path_make_state_dirs(state, strlen(state)), 0);
	ASSERT_EQ(stat(state, &st), 0);
	ASSERT_EQ(rmdir(state), 0);
	state[strlen(home) + strlen("/.local")] = 0;
	ASSERT_EQ(rmdir(state), 0);
	ASSERT_EQ(rmdir(home), 0);
	ASSERT_EQ(rmdir(dir), 0);
}
