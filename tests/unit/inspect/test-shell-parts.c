/* SPDX-License-Identifier: Apache-2.0 */
/* The small parts of the shell detector: decoders, words, paths, secrets, hosts. */
#include "harness.h"
#include "inspect/scan.h"
#include "inspect/shell/shell.h"

static struct sh *make(void)
{
	static struct bawn_findings f;
	static struct bawn_error err;
	static struct bawn_scan scan;
	struct bawn_arena *a = bawn_arena_new(); /* lives as long as the test's process */
	struct sh *s = bawn_new(a, struct sh, 1);

	ASSERT_TRUE(s != NULL);
	scan = (struct bawn_scan){.a = a, .out = &f, .budget = 1 << 20};
	s->scan = &scan;
	s->a = a;
	s->err = &err;
	return s;
}

TEST(decoders)
{
	struct sh *s = make();
	size_t n = 0;

	ASSERT_STREQ(sh_decode_base64(s->a, "cm0gLXJmIC8=", 12, &n), "rm -rf /");
	ASSERT_EQ(n, 8);
	ASSERT_STREQ(sh_decode_base64(s->a, "cm0g\nLXJmIC8", 12, &n), "rm -rf /");
	ASSERT_TRUE(sh_decode_base64(s->a, "c*", 2, &n) == NULL);
	ASSERT_STREQ(sh_decode_base32(s->a, "NRZQ====", 8, &n), "ls");
	ASSERT_STREQ(sh_decode_hex(s->a, "6c 73", 5, &n), "ls");
	ASSERT_TRUE(sh_decode_hex(s->a, "6g", 2, &n) == NULL);
	ASSERT_STREQ(sh_decode_escapes(s->a, "\\x6c\\163\\u0041\\n\\q", 18, &n), "lsA\n\\q");
	ASSERT_STREQ(sh_decode_reverse(s->a, "ab\ncd", 5), "ba\ndc");
	ASSERT_STREQ(sh_decode_tr(s->a, "yf", 2, "a-zA-Z", "n-za-mN-ZA-M", false), "ls");
	ASSERT_STREQ(sh_decode_tr(s->a, "lxs", 3, "x", NULL, true), "ls");
}

TEST(printf_goes_over_its_words)
{
	struct sh *s = make();
	struct sh_word v[] = {{.text = "%s-%b|"}, {.text = "a"}, {.text = "\\x62"}, {.text = "c"}};
	struct sh_words w = {v, 4, 4};
	size_t n = 0;

	ASSERT_STREQ(sh_decode_printf(s->a, &w, 0, &n), "a-b|c-|");
	ASSERT_EQ(n, 7);
}

TEST(words_split_and_expand)
{
	static const struct {
		const char *in, *out;
		bool quoted;
	} rows[] = {
		{"a\x01"
		 "b",
			"a,b", false},
		{"x\x02"
		 "a\x03"
		 "b\x04y",
			"xay,xby", false},
		{"\x02"
		 "1..3\x04",
			"1,2,3", false},
		{"\x02"
		 "a\x03\x02"
		 "b\x03"
		 "c\x04\x04",
			"a,b,c", false},
		{"\x02"
		 "a\x04",
			"{a}", false},
		{"", "", true},
		{"", NULL, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sh *s = make();
		struct sh_word w = {.text = rows[i].in, .known = true, .quoted = rows[i].quoted};
		struct sh_words out = {0};

		ASSERT_EQ(sh_split_word(s, &w, &out), 0);
		if (!rows[i].out) {
			ASSERT_EQ(out.n, 0);
			continue;
		}
		ASSERT_STREQ(sh_join_words(s, &out, 0, out.n, ',').text, rows[i].out);
	}
}

TEST(globs)
{
	ASSERT_TRUE(sh_glob_match("c?t", "cat"));
	ASSERT_TRUE(sh_glob_match("/?"
				  "?"
				  "?/[a-c]*t",
		"/bin/cat"));
	ASSERT_TRUE(sh_glob_match("*a*a*b", "aaaaaab"));
	ASSERT_TRUE(!sh_glob_match("*a*a*c", "aaaaaab"));
	ASSERT_TRUE(!sh_glob_match("[!c]at", "cat"));
	ASSERT_TRUE(!sh_glob_match("", "a"));
}

TEST(places)
{
	static const struct {
		const char *path, *cwd;
		enum sh_place place;
	} rows[] = {
		{"/", NULL, SH_ROOT_DIR},
		{"//", NULL, SH_ROOT_DIR},
		{"/*", NULL, SH_ROOT_DIR},
		{"/usr/..", NULL, SH_ROOT_DIR},
		{"~", NULL, SH_HOME_DIR},
		{"~/*", NULL, SH_HOME_DIR},
		{"/home/x/", NULL, SH_HOME_DIR},
		{"~/x", NULL, SH_IN_HOME},
		{"/etc", NULL, SH_SYSTEM_DIR},
		{"/usr/lib", NULL, SH_SYSTEM_DIR},
		{"/etc/x/y", NULL, SH_IN_SYSTEM},
		{"/tmp/x", NULL, SH_TEMP},
		{"/dev/sda", NULL, SH_DEVICE},
		{"/dev/null", NULL, SH_TEMP},
		{"build", NULL, SH_HERE_DIR},
		{"./build/*", NULL, SH_HERE_DIR},
		{"*", NULL, SH_ALL_HERE},
		{"..", NULL, SH_UP},
		{"*", "/", SH_ROOT_DIR},
		{"etc", "/", SH_SYSTEM_DIR},
		{"x", "~", SH_IN_HOME},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sh *s = make();

		s->cwd = rows[i].cwd;
		if (sh_place(s, rows[i].path) != rows[i].place)
			FAIL("'%s' in '%s' is %d", rows[i].path, rows[i].cwd ? rows[i].cwd : "",
				(int)sh_place(s, rows[i].path));
	}
}

TEST(secrets)
{
	static const char *const yes[] = {"/etc/shadow", "@/etc/shadow", "file:///etc/shadow",
		"~/.ssh/id_rsa", "f=@/root/.aws/credentials", "open('/etc/shadow')", "id_ed25519",
		".env", ".env.production", "/proc/1/environ", "/etc/sh?dow"};
	static const char *const no[] = {"~/.ssh/id_rsa.pub", ".env.example", "/etc/shadowsocks",
		"shadow", "environment", "src/env.ts", "README.md", "-la", ""};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (!sh_secret_of(make(), yes[i]))
			FAIL("'%s' is a secret", yes[i]);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		if (sh_secret_of(make(), no[i]))
			FAIL("'%s' is no secret", no[i]);
	}
	ASSERT_TRUE(sh_secret_name("GITHUB_TOKEN", 12));
	ASSERT_TRUE(!sh_secret_name("HOME", 4));
}

TEST(hosts)
{
	static const struct {
		const char *word;
		enum sh_host host;
	} rows[] = {
		{"https://example.com/x", SH_HOST_PLAIN},
		{"http://127.0.0.1:80/", SH_HOST_LOCAL},
		{"localhost", SH_HOST_LOCAL},
		{"http://[::1]/", SH_HOST_LOCAL},
		{"http://203.0.113.9/", SH_HOST_ODD},
		{"http://2852039166/", SH_HOST_ODD},
		{"https://webhook.site/x", SH_HOST_ODD},
		{"https://sh.rustup.rs", SH_HOST_KNOWN},
		{"https://sh.rustup.rs.example.com", SH_HOST_PLAIN},
		{"https://sh.rustup.rs@example.com", SH_HOST_PLAIN},
		{"user@example.com:/x", SH_HOST_PLAIN},
		{"file", SH_HOST_NONE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (sh_host_of(make(), rows[i].word, NULL) != rows[i].host)
			FAIL("'%s' is %d", rows[i].word,
				(int)sh_host_of(make(), rows[i].word, NULL));
	}
}
