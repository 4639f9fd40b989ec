/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "egress/secret.h"
#include "harness.h"

#define HOLDER   "bawn-secret-token-0123456789abcdef"
#define IN_VALUE "x" HOLDER
#define VALUE    "s3cr3t/+ value="
#define OTHER    "bawn-secret-other-0123456789abcdef"

static const char *const one_host[] = {"api.example.org", NULL};

static struct bawn_secrets *make(const char *const *hosts, const char *const *headers)
{
	struct bawn_egress_secret e = {"TOKEN", HOLDER, VALUE, hosts, headers};
	struct bawn_error err = {0};
	struct bawn_secrets *s = NULL;

	if (bawn_secrets_new(&e, 1, &s, &err) < 0)
		FAIL("%s", err.msg);
	return s;
}

static bool bound(const struct bawn_secrets *s, const char *host, uint16_t port, bool tls)
{
	struct bawn_host h;

	ASSERT_EQ(bawn_host_parse(host, strlen(host), &h, NULL), 0);
	return bawn_secrets_bound(s, &h, port, tls);
}

TEST(bound_hosts)
{
	static const char *const hosts[] = {"Api.Example.org", "*.x.org:8443", ".below.org",
		"10.1.2.3:9443", "any.org:*", "plain.org:80", "[2001:db8::1]", NULL};
	static const struct {
		const char *host;
		uint16_t port;
		bool tls, want;
	} cases[] = {
		{"api.example.org", 443, true, true},
		{"API.example.ORG.", 443, true, true},
		{"api.example.org", 443, false, false},
		{"api.example.org", 80, false, false},
		{"api.example.org", 8443, true, false},
		{"x.api.example.org", 443, true, false},
		{"example.org", 443, true, false},
		{"evilapi.example.org", 443, true, false},
		{"api.example.org.evil.org", 443, true, false},
		{"x.org", 8443, true, true},
		{"a.b.x.org", 8443, true, true},
		{"ax.org", 8443, true, false},
		{"x.org", 443, true, false},
		{"below.org", 443, true, false},
		{"a.below.org", 443, true, true},
		{"10.1.2.3", 9443, true, true},
		{"10.1.2.3", 443, true, false},
		{"10.1.2.4", 9443, true, false},
		{"2001:db8::1", 443, true, true},
		{"any.org", 1234, true, true},
		{"any.org", 80, false, false},
		{"any.org", 80, true, false},
		{"plain.org", 80, false, true},
		{"plain.org", 443, true, false},
		{"plain.org", 8080, false, false},
	};
	struct bawn_secrets *s = make(hosts, NULL);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (bound(s, cases[i].host, cases[i].port, cases[i].tls) != cases[i].want)
			FAIL("%s:%u %d", cases[i].host, cases[i].port, cases[i].tls);
	ASSERT_TRUE(!bound(NULL, "api.example.org", 443, true));
	(void)bawn_secrets_free(s);
}

/* What a header becomes; the bits of the secrets that went in. */
static uint32_t put(const struct bawn_secrets *s, const char *host, const char *name,
	const char *value, char *dst, size_t size)
{
	struct bawn_host h;
	struct bawn_secrets_where where = {&h, 443, true};
	uint32_t used = 0;
	int64_t n;

	ASSERT_EQ(bawn_host_parse(host, strlen(host), &h, NULL), 0);
	n = bawn_secrets_put(s, &where, (struct bawn_slice){name, strlen(name)},
		(struct bawn_slice){value, strlen(value)}, dst, size - 1, &used);
	ASSERT_TRUE(n >= 0);
	dst[n] = '\0';
	return used;
}

TEST(headers_and_values)
{
	static const char *const headers[] = {"authorization", "X-Api-Key", NULL};
	static const struct {
		const char *host, *name, *value, *want;
	} cases[] = {
		{"api.example.org", "Authorization", "Bearer " HOLDER, "Bearer " VALUE},
		{"api.example.org", "AUTHORIZATION", HOLDER HOLDER, VALUE VALUE},
		{"api.example.org", "x-api-key", "a" HOLDER "b", "a" VALUE "b"},
		{"api.example.org", "X-Api-Keys", HOLDER, HOLDER},
		{"api.example.org", "Cookie", HOLDER, HOLDER},
		{"other.example.org", "Authorization", HOLDER, HOLDER},
		{"api.example.org", "Authorization", "bawn-secret-token-0123456789abcde",
			"bawn-secret-token-0123456789abcde"},
		{"api.example.org", "Authorization", "bawn-secret-" HOLDER, "bawn-secret-" VALUE},
		{"api.example.org", "Authorization", "", ""},
		/* user:HOLDER */
		{"api.example.org", "Authorization",
			"Basic dXNlcjpiYXduLXNlY3JldC10b2tlbi0wMTIzNDU2Nzg5YWJjZGVm",
			"Basic dXNlcjpzM2NyM3QvKyB2YWx1ZT0="},
		{"api.example.org", "Authorization",
			"basic   dXNlcjpiYXduLXNlY3JldC10b2tlbi0wMTIzNDU2Nzg5YWJjZGVm",
			"Basic dXNlcjpzM2NyM3QvKyB2YWx1ZT0="},
		{"other.example.org", "Authorization",
			"Basic dXNlcjpiYXduLXNlY3JldC10b2tlbi0wMTIzNDU2Nzg5YWJjZGVm",
			"Basic dXNlcjpiYXduLXNlY3JldC10b2tlbi0wMTIzNDU2Nzg5YWJjZGVm"},
		{"api.example.org", "Authorization", "Basic dXNlcjp4", "Basic dXNlcjp4"},
		{"api.example.org", "Authorization", "Basic dXNlcjp4!", "Basic dXNlcjp4!"},
		{"api.example.org", "Authorization", "Basic " HOLDER, "Basic " VALUE},
	};
	struct bawn_secrets *s = make(one_host, headers);
	char got[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t used =
			put(s, cases[i].host, cases[i].name, cases[i].value, got, sizeof(got));

		ASSERT_STREQ(got, cases[i].want);
		ASSERT_EQ(used, strcmp(cases[i].value, cases[i].want) != 0);
	}
	(void)bawn_secrets_free(s);
}

TEST(each_secret_has_hosts_of_its_own)
{
	static const char *const second[] = {"two.example.org", NULL};
	struct bawn_egress_secret v[] = {
		{"TOKEN", HOLDER, VALUE, one_host, NULL}, {"OTHER", OTHER, "0ther", second, NULL}};
	struct bawn_secrets *s = NULL;
	char got[512];

	ASSERT_EQ(bawn_secrets_new(v, 2, &s, NULL), 0);
	ASSERT_EQ(
		put(s, "api.example.org", "Authorization", HOLDER " " OTHER, got, sizeof(got)), 1);
	ASSERT_STREQ(got, VALUE " " OTHER);
	ASSERT_EQ(
		put(s, "two.example.org", "Authorization", HOLDER " " OTHER, got, sizeof(got)), 2);
	ASSERT_STREQ(got, HOLDER " 0ther");
	(void)bawn_secrets_free(s);
}

TEST(what_does_not_fit_is_not_cut)
{
	struct bawn_secrets *s = make(one_host, NULL);
	struct bawn_host h;
	struct bawn_secrets_where where = {&h, 443, true};
	static const char *const values[] = {
		"Bearer " HOLDER, "Basic dXNlcjpiYXduLXNlY3JldC10b2tlbi0wMTIzNDU2Nzg5YWJjZGVm"};

	ASSERT_EQ(bawn_host_parse("api.example.org", 15, &h, NULL), 0);
	for (size_t k = 0; k < 2; k++) {
		struct bawn_slice v = {values[k], strlen(values[k])};
		char got[256];
		uint32_t used = 0;
		int64_t n = bawn_secrets_put(s, &where, (struct bawn_slice){"authorization", 13}, v,
			got, sizeof(got), &used);

		ASSERT_TRUE(n > 0);
		for (size_t room = 0; room < (size_t)n; room++)
			ASSERT_EQ(bawn_secrets_put(s, &where,
					  (struct bawn_slice){"authorization", 13}, v, got, room,
					  &used),
				-ENOBUFS);
	}
	(void)bawn_secrets_free(s);
}

static void refused(const struct bawn_egress_secret *e)
{
	struct bawn_secrets *s = NULL;
	struct bawn_error err = {0};

	if (bawn_secrets_new(e, 1, &s, &err) >= 0)
		FAIL("accepted");
	ASSERT_TRUE(err.msg[0] != '\0');
	if (strstr(err.msg, VALUE))
		FAIL("the value is in '%s'", err.msg);
}

TEST(bad_ones)
{
	static const char *const bad_hosts[] = {"*", "10.0.0.0/8", "10.*", "GET api.example.org",
		"api.example.org/x", "*.org", "", "a b", "https://api.example.org",
		"api.example.org:0", "api.example.org:99999"};
	static const char *const bad_headers[] = {"host", "Content-Length", "transfer-encoding",
		"Connection", "TE", "proxy-authorization", "upgrade", "a b", "", "x:", "Range",
		"accept-encoding", "Accept-Charset"};
	static const char *const bad_values[] = {
		"", "a\nb", "a\rb", "\x7f", "\xc3\xbc", "\t", IN_VALUE};
	static const char *const bad_names[] = {"", "1A", "A-B", "A B", "\xc3\xbc"};
	static const char *const none[] = {NULL};

	for (size_t i = 0; i < sizeof(bad_hosts) / sizeof(bad_hosts[0]); i++)
		refused(&(struct bawn_egress_secret){"T", HOLDER, VALUE,
			(const char *const[]){"ok.org", bad_hosts[i], NULL}, NULL});
	for (size_t i = 0; i < sizeof(bad_headers) / sizeof(bad_headers[0]); i++)
		refused(&(struct bawn_egress_secret){"T", HOLDER, VALUE, one_host,
			(const char *const[]){"ok", bad_headers[i], NULL}});
	for (size_t i = 0; i < sizeof(bad_values) / sizeof(bad_values[0]); i++)
		refused(&(struct bawn_egress_secret){"T", HOLDER, bad_values[i], one_host, NULL});
	for (size_t i = 0; i < sizeof(bad_names) / sizeof(bad_names[0]); i++)
		refused(&(struct bawn_egress_secret){bad_names[i], HOLDER, VALUE, one_host, NULL});
	refused(&(struct bawn_egress_secret){"T", HOLDER, VALUE, none, NULL});
	refused(&(struct bawn_egress_secret){"T", HOLDER, VALUE, NULL, NULL});
	refused(&(struct bawn_egress_secret){"T", "too-short", VALUE, one_host, NULL});
	refused(&(struct bawn_egress_secret){"T", "sixteen and blanks", VALUE, one_host, NULL});
}

TEST(limits)
{
	static char value[8194], names[33][8], holders[33][64];
	struct bawn_egress_secret v[33];
	struct bawn_secrets *s = NULL;
	struct bawn_error err = {0};

	memset(value, 'v', sizeof(value) - 1);
	for (int i = 0; i < 33; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "N%d", i);
		(void)snprintf(holders[i], sizeof(holders[i]), "%s-%03d", HOLDER, i);
		v[i] = (struct bawn_egress_secret){names[i], holders[i], "v", one_host, NULL};
	}
	ASSERT_EQ(bawn_secrets_new(v, 33, &s, &err), -E2BIG);
	ASSERT_EQ(bawn_secrets_new(v, 32, &s, &err), 0);
	s = bawn_secrets_free(s);
	v[0].value = value;
	ASSERT_EQ(bawn_secrets_new(v, 1, &s, &err), -EINVAL);
	value[8192] = '\0';
	ASSERT_EQ(bawn_secrets_new(v, 1, &s, &err), 0);
	s = bawn_secrets_free(s);
	for (int i = 0; i < 5; i++)
		v[i].value = value;
	ASSERT_EQ(bawn_secrets_new(v, 4, &s, &err), 0);
	s = bawn_secrets_free(s);
	ASSERT_EQ(bawn_secrets_new(v, 5, &s, &err), -E2BIG);
	v[1].placeholder = HOLDER;
	v[1].value = "v";
	ASSERT_EQ(bawn_secrets_new(v, 2, &s, &err), -EINVAL);
}
