/* SPDX-License-Identifier: Apache-2.0 */
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
