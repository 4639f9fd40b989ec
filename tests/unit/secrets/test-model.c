/* SPDX-License-Identifier: Apache-2.0 */
/* What a secret may be called, bound to and contain. */
#include <errno.h>

#include "harness.h"
#include "secrets/pack.h"

static const char *const none[] = {NULL};
static const char *const usual[] = {"authorization", NULL};

static struct bawn_secret one(const char *const *hosts)
{
	return (struct bawn_secret){.name = "TOKEN",
		.env = "TOKEN",
		.note = "",
		.hosts = hosts,
		.headers = usual,
		.skills = none,
		.triggers = none,
		.access = BAWN_ACCESS_ALWAYS,
		.injection = BAWN_INJECT_BOUNDARY};
}

TEST(names)
{
	char longest[BAWN_SECRET_NAME_MAX + 2];

	ASSERT_TRUE(bawn_secret_name_ok("A"));
	ASSERT_TRUE(bawn_secret_name_ok("_x9"));
	ASSERT_TRUE(!bawn_secret_name_ok(""));
	ASSERT_TRUE(!bawn_secret_name_ok("9A"));
	ASSERT_TRUE(!bawn_secret_name_ok("A-B"));
	ASSERT_TRUE(!bawn_secret_name_ok("A=B"));
	ASSERT_TRUE(!bawn_secret_name_ok("A\n"));
	memset(longest, 'a', sizeof(longest));
	longest[BAWN_SECRET_NAME_MAX] = '\0';
	ASSERT_TRUE(bawn_secret_name_ok(longest));
	longest[BAWN_SECRET_NAME_MAX] = 'a';
	longest[BAWN_SECRET_NAME_MAX + 1] = '\0';
	ASSERT_TRUE(!bawn_secret_name_ok(longest));
}

TEST(hosts)
{
	static const struct {
		const char *host;
		bool ok;
	} t[] = {{"api.github.com", true}, {"*.example.org:8443", true}, {".example.org", true},
		{"*", false}, {"*.com", false}, {"example.org:*", false},
		{"GET example.org", false}, {"example.org/path", false}, {"10.0.0.0/8", false},
		{"10.1.2.3", false}, {"", false}, {"a b", false}, {"x\ny", false}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const char *const v[] = {t[i].host, NULL};
		struct bawn_secret s = one(v);
		struct bawn_error err = {0};

		if ((bawn_secret_check(&s, &err) == 0) != t[i].ok)
			FAIL("host '%s': %s", t[i].host, err.msg);
	}
}

TEST(a_boundary_needs_hosts)
{
	struct bawn_secret s = one(none);

	ASSERT_EQ(bawn_secret_check(&s, NULL), -EINVAL);
	s.injection = BAWN_INJECT_ENVIRONMENT;
	ASSERT_EQ(bawn_secret_check(&s, NULL), 0);
}

TEST(headers_are_tokens_in_lower_case)
{
	static const char *const hosts[] = {"x.org", NULL};
	static const char *const bad[] = {"X-Key", "a b", "a:", "", "a\r\n"};
	struct bawn_secret s = one(hosts);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *const v[] = {bad[i], NULL};

		s.headers = v;
		ASSERT_TRUE(bawn_secret_check(&s, NULL) < 0);
	}
}

TEST(access_for_some_needs_to_say_whom)
{
	static const char *const hosts[] = {"x.org", NULL};
	static const char *const skills[] = {"deploy", NULL};
	struct bawn_secret s = one(hosts);

	s.access = BAWN_ACCESS_SKILL_ONLY;
	ASSERT_EQ(bawn_secret_check(&s, NULL), -EINVAL);
	s.skills = skills;
	ASSERT_EQ(bawn_secret_check(&s, NULL), 0);
	s.access = BAWN_ACCESS_TRIGGER_ONLY;
	ASSERT_EQ(bawn_secret_check(&s, NULL), -EINVAL);
}

TEST(values)
{
	static const char *const hosts[] = {"x.org", NULL};
	struct bawn_secret s = one(hosts);
	char big[BAWN_SECRET_VALUE_MAX + 1];

	memset(big, 'v', sizeof(big));
	ASSERT_EQ(bawn_secret_check_value(&s, "v", 1, NULL), 0);
	ASSERT_EQ(bawn_secret_check_value(&s, "a b~", 4, NULL), 0);
	ASSERT_EQ(bawn_secret_check_value(&s, big, sizeof(big) - 1, NULL), 0);
	ASSERT_TRUE(bawn_secret_check_value(&s, big, sizeof(big), NULL) < 0);
	ASSERT_TRUE(bawn_secret_check_value(&s, "", 0, NULL) < 0);
	ASSERT_TRUE(bawn_secret_check_value(&s, "a\nb", 3, NULL) < 0);
	ASSERT_TRUE(bawn_secret_check_value(&s, "a\r", 2, NULL) < 0);
	ASSERT_TRUE(bawn_secret_check_value(&s, "a\0b", 3, NULL) < 0);
	ASSERT_TRUE(bawn_secret_check_value(&s, "\xc3\xa4", 2, NULL) < 0);
	s.hosts = none; /* for no header */
	s.injection = BAWN_INJECT_ENVIRONMENT;
	ASSERT_EQ(bawn_secret_check_value(&s, "a\nb", 3, NULL), 0);
	ASSERT_TRUE(bawn_secret_check_value(&s, "a\0b", 3, NULL) < 0);
}

TEST(words)
{
	enum bawn_secret_access a;
	enum bawn_secret_injection i;

	for (unsigned k = 0; k < BAWN_ACCESS_COUNT; k++) {
		ASSERT_EQ(bawn_secret_access_find(
				  bawn_secret_access_name((enum bawn_secret_access)k), &a),
			0);
		ASSERT_EQ(a, k);
	}
	for (unsigned k = 0; k < BAWN_INJECT_COUNT; k++) {
		ASSERT_EQ(bawn_secret_injection_find(
				  bawn_secret_injection_name((enum bawn_secret_injection)k), &i),
			0);
		ASSERT_EQ(i, k);
	}
	ASSERT_EQ(bawn_secret_access_find("never", &a), -EINVAL);
	ASSERT_EQ(bawn_secret_injection_find("Environment", &i), -EINVAL);
}

TEST(placeholders_differ)
{
	char a[BAWN_PLACEHOLDER_MAX + 1], b[BAWN_PLACEHOLDER_MAX + 1];

	ASSERT_EQ(bawn_secret_placeholder("GITHUB_TOKEN", a), 0);
	ASSERT_EQ(bawn_secret_placeholder("GITHUB_TOKEN", b), 0);
	ASSERT_EQ(strncmp(a, "bawn-secret-github-token-", 25), 0);
	ASSERT_EQ(strlen(a), 25 + 32);
	ASSERT_EQ(strspn(a + 25, "0123456789abcdef"), 32);
	ASSERT_TRUE(strcmp(a, b) != 0);
}

TEST(packed_and_unpacked)
{
	static const char *const hosts[] = {"x.org", "y.org:8443", NULL};
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_secret s = one(hosts), back;
	char buf[1024];
	struct pack p = {buf, sizeof(buf), false};
	size_t len;

	s.created = UINT64_MAX;
	pack_secret(&p, &s);
	ASSERT_TRUE(!p.failed);
	len = (size_t)(p.at - buf);
	struct unpack u = {buf, len, false};
	ASSERT_EQ(unpack_secret(&u, a, &back), 0);
	ASSERT_EQ(u.left, 0);
	ASSERT_STREQ(back.hosts[1], "y.org:8443");
	ASSERT_TRUE(!back.hosts[2]);
	ASSERT_EQ(back.created, UINT64_MAX);
	for (size_t n = 0; n < len; n++) {
		struct unpack cut = {buf, n, false};

		ASSERT_TRUE(unpack_secret(&cut, a, &back) < 0);
	}
	p = (struct pack){buf, len - 1, false};
	pack_secret(&p, &s);
	ASSERT_TRUE(p.failed);
}
