/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules' own examples cannot say: spans, boundaries, checksums, placeholders, windows, and
 * which of several readings wins. Values are put together here, so that no scanner takes this file
 * for a leak.
 */
#include "harness.h"
#include "inspect/secret/secret.h"
#include "inspect/secret/value.h"

#define GH(x)     "gh" x
#define GH_GOOD   GH("p_wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx") /* the checksum is right */
#define GH_BAD    GH("p_hc5d7vhmqxneolzg9t51kg3itvzn7xmyxmfr")
#define V(s)      ((struct value){(s), sizeof(s) - 1})
#define JWT_HEAD  "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
#define JWT_BODY  "eyJzdWIiOiJib2IiLCJpYXQiOjE3MDAwMDAwMDB9"
#define SIGNATURE "kq8dD2hUj3Lx0aVw7ZrT5yPcNbE1mGsF4iOoQ9RtXzU"

static struct bawn_arena *arena;

static struct bawn_findings scan_at(const char *text, size_t len, size_t base, size_t fresh)
{
	struct bawn_subject sub = {
		.kind = BAWN_KIND_TEXT,
		.detect = BAWN_DETECT_SECRETS,
		.text = text,
		.len = len,
		.base = base,
		.fresh = fresh,
		.last = true,
	};
	struct bawn_findings out = {0};
	struct bawn_error err = {0};

	if (!arena)
		arena = bawn_arena_new();
	if (bawn_scan_subject(arena, NULL, &sub, &out, &err) < 0)
		FAIL("%s", err.msg);
	return out;
}

static struct bawn_findings scan(const char *text)
{
	return scan_at(text, strlen(text), 0, 0);
}

static void found(const char *text, const char *rule, const char *value)
{
	struct bawn_findings f = scan(text);
	const char *at = strstr(text, value);

	if (f.n != 1)
		FAIL("%zu findings in '%s'", f.n, text);
	ASSERT_STREQ(f.v[0].rule, rule);
	ASSERT_STREQ(f.v[0].category, "secret");
	ASSERT_EQ(f.v[0].start, at - text);
	ASSERT_EQ(f.v[0].end, (size_t)(at - text) + strlen(value));
	if (strstr(f.v[0].message, value))
		FAIL("the message tells the value: %s", f.v[0].message);
}

static void quiet(const char *text)
{
	struct bawn_findings f = scan(text);

	if (f.n)
		FAIL("%s in '%s'", f.v[0].rule, text);
}

TEST(spans_are_the_value_alone)
{
	found("export GITHUB_TOKEN=" GH_GOOD "\n", "secret.github-token", GH_GOOD);
	found("postgres://app:zk3QmW8xLp@db.internal:5432/app", "secret.url-password",
		"zk3QmW8xLp");
	found("Authorization: Basic ZGVwbG95OnhLMjlsUTcxdnBaNA==", "secret.authorization-basic",
		"ZGVwbG95OnhLMjlsUTcxdnBaNA==");
	found("db_password = \"vQ7#xL2!mB9zR4\"", "secret.assigned", "vQ7#xL2!mB9zR4");
}

TEST(a_checksum_that_holds_is_certain_one_that_does_not_is_less)
{
	struct bawn_findings good = scan(GH_GOOD), bad = scan(GH_BAD);

	ASSERT_EQ(good.n, 1);
	ASSERT_EQ(bad.n, 1);
	ASSERT_TRUE(good.v[0].confidence > bad.v[0].confidence && bad.v[0].confidence >= 0.7);
}

TEST(escapes_in_front_do_not_hide_a_value)
{
	static const char *const before[] = {
		"\\n", "\\t", "%3D", "\\u003d", "\x1b[1;32m", "=", "\"", "(", "https://", "+ "};

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		char text[128];

		(void)snprintf(text, sizeof(text), "x%s" GH_GOOD ".", before[i]);
		found(text, "secret.github-token", GH_GOOD);
	}
}

TEST(parts_of_longer_words_are_no_values)
{
	quiet("x" GH_GOOD);
	quiet(GH_GOOD "_");
	quiet("QmFzZTY0IGJsb2IgdGhhdCBnb2VzIG9uIGFuZCBvbg8rT1V3Zm9yIGV2ZXI/"
	      "AKIA4H7CM7XR53SYIWA4/QmFzZTY0IGJsb2IgdGhhdCBnb2VzIG9uIGFuZCBvbg8rT1V3Zm9yIGV2");
}

TEST(placeholders_are_no_values)
{
	static const char *const texts[] = {GH("p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
		GH("p_abcdefghijklmnopqrstuvwxyz0123456789"),
		GH("p_123123123123123123123123123123123123"),
		GH("p_000000000000000000000000000000000000"), "AKIAIOSFODNN7EXAMPLE",
		"api_key = \"your-api-key-goes-here-1234\"", "password: \"${DB_PASSWORD_V2}\"",
		"token = process.env.API_TOKEN_2", "secret: {{ vault_secret_v2 }}",
		"postgres://user:password@db.prod.internal/x",
		"Authorization: Bearer <token123456789012345>",
		"Authorization: Bearer " JWT_HEAD ".<payload>.<signature>",
		("token = \"pk_"
		 "live_4eC39HqLyjWDarjtT1zdp7dc\""),
		"api_key = os.environ[\"OPENAI_API_KEY_2\"]",
		"password = getpass.getpass(\"P4ssword: \")",
		"token: 6f1ed002-ab55-4585-9014-ebf095152234",
		"\"integrity\": \"sha512-kq8dD2hUj3Lx0aVw7ZrT5yPcNbE1mGsF4iOoQ9RtXzUkq8dD2hUj3Lx0aVw7ZrT5yPcNbE1mGsF4iOoQ9RtXzU==\"",
		"golang.org/x/oauth2 v0.35.0 h1:Mv2mzuHuZuY2+bkyWXIHMfhNdJAdwW3FuWeCPYN5GVQ=",
		"commit 6f1ed002ab5595859014ebf0951522d96f1ed002",
		"etag: \"6f1ed002ab5595859014ebf0951522d9\""};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		quiet(texts[i]);
}

/* Only where nothing but the name speaks for a secret. */
TEST(values_that_are_shown_are_no_values_that_are_used)
{
	static const char value[] = "token = \"gX69YO4CvBsVjzAwYxdGyDd30t5+9ez31gKATtj4\"";
	struct bawn_findings plain = scan(value), shown;
	char text[160];

	ASSERT_EQ(plain.n, 1);
	ASSERT_TRUE(plain.v[0].confidence >= 0.3);
	(void)snprintf(text, sizeof(text), "Like this:\n```toml\n%s\n```\n", value);
	shown = scan(text);
	ASSERT_EQ(shown.n, 1);
	ASSERT_TRUE(shown.v[0].confidence < 0.3);
	(void)snprintf(text, sizeof(text), "```\nx\n```\n%s\n", value);
	ASSERT_TRUE(scan(text).v[0].confidence >= 0.3);
	(void)snprintf(text, sizeof(text), "%s  # pragma: allowlist secret\n", value);
	quiet(text);
	quiet("\"access_token\": \"2YotnFZFEjr1zCsicMWpAA\"");
	quiet("Next page token: eav1OzQB0OM8rLdGXOEsyQWSG");
	found(GH_GOOD " # pragma: allowlist secret", "secret.github-token", GH_GOOD);
}

TEST(a_web_token_has_to_decode)
{
	found("t " JWT_HEAD "." JWT_BODY "." SIGNATURE " x", "secret.jwt",
		JWT_HEAD "." JWT_BODY "." SIGNATURE);
	quiet("eyJhbasdGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." JWT_BODY "." SIGNATURE);
	quiet(JWT_HEAD ".eyJub3QganNvbg." SIGNATURE);
	quiet("module.eyJ.foo(eyJ.bar)");
}

TEST(private_keys_are_found_whole_public_ones_are_not)
{
#define LINE "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDAC4AWkdwKYSd8\n"
	static const char key[] =
		"-----BEGIN RSA PRIVATE KEY-----\n" LINE LINE "-----END RSA PRIVATE KEY-----";
	static const char json[] =
		"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\\n-----END "
		"PRIVATE KEY-----";
	char text[512];

	(void)snprintf(text, sizeof(text), "a\n%s\nb", key);
	found(text, "secret.private-key", key);
	(void)snprintf(text, sizeof(text), "{\"k\": \"%s\\n\"}", json);
	found(text, "secret.private-key", json);
	quiet("-----BEGIN PUBLIC KEY-----\n" LINE "-----END PUBLIC KEY-----");
	quiet("-----BEGIN CERTIFICATE-----\n" LINE "-----END CERTIFICATE-----");
	quiet("if line == \"-----BEGIN RSA PRIVATE KEY-----\": continue");
}

TEST(one_place_is_reported_once)
{
	struct bawn_findings f =
		scan("curl -H \"Authorization: Bearer " JWT_HEAD "." JWT_BODY "." SIGNATURE "\"");

	ASSERT_EQ(f.n, 1);
	f = scan("GITHUB_TOKEN = \"" GH_GOOD "\" # " GH_GOOD);
	ASSERT_EQ(f.n, 2);
}

TEST(windows_report_what_ends_in_their_fresh_part)
{
	static const char text[] = "xx " GH_GOOD " yy";

	ASSERT_EQ(scan_at(text, sizeof(text) - 1, 500, 3 + 40).n, 0);
	ASSERT_EQ(scan_at(text, sizeof(text) - 1, 500, 3 + 39).n, 1);
	ASSERT_EQ(scan_at(text, sizeof(text) - 1, 500, 42).v[0].start, 503);
}

TEST(the_tail_waits_for_words_and_keys)
{
	ASSERT_EQ(bawn_secret_tail("a line\n", 7), 0);
	ASSERT_EQ(bawn_secret_tail("Password: ", 10), 0);
	ASSERT_EQ(bawn_secret_tail("token=abc", 9), 9);
	ASSERT_EQ(bawn_secret_tail("x \"abc", 6), 3);
	ASSERT_EQ(bawn_secret_tail("x\n-----BEGIN PRIVATE KEY-----\nMII\n", 35), 33);
	ASSERT_EQ(bawn_secret_tail("-----BEGIN CERTIFICATE-----\nMII\n", 32), 0);
	ASSERT_EQ(
		bawn_secret_tail("-----BEGIN PRIVATE KEY-----\nM\n-----END PRIVATE KEY-----\n", 56),
		0);
}

TEST(actions_follow_the_policy)
{
	struct bawn_pair pairs[] = {
		{.key = "secrets.leak_detection.actions.secret.jwt", .value = "warn"},
		{.key = "secrets.leak_detection.actions.github-*", .value = "block"},
		{.key = "secrets.leak_detection.actions.*-token", .value = "redact"},
	};
	struct bawn_policy p = {.sec_action = BAWN_LEAK_REDACT, .thr_suspicious = 0.3};
	struct bawn_finding f = {.rule = "secret.jwt", .confidence = 0.65};

	ASSERT_EQ(bawn_leak_action(NULL, &f), BAWN_LEAK_REDACT);
	ASSERT_EQ(bawn_leak_action(&p, &f), BAWN_LEAK_REDACT);
	p.named.v = pairs;
	p.named.n = 3;
	ASSERT_EQ(bawn_leak_action(&p, &f), BAWN_LEAK_WARN);
	f.rule = "secret.github-token";
	ASSERT_EQ(bawn_leak_action(&p, &f), BAWN_LEAK_BLOCK);
	f.rule = "secret.slack-bot-token";
	ASSERT_EQ(bawn_leak_action(&p, &f), BAWN_LEAK_REDACT);
	f.confidence = 0.2;
	ASSERT_EQ(bawn_leak_action(&p, &f), BAWN_LEAK_WARN);
}

TEST(there_are_more_patterns_than_anybody_asks_for)
{
	ASSERT_TRUE(bawn_secret_patterns() > 200);
}

TEST(measures)
{
	char out[16];

	ASSERT_TRUE(value_entropy(V("aaaaaaaa")) < 0.001);
	ASSERT_TRUE(value_entropy(V("abcdefgh")) > 2.99 && value_entropy(V("abcdefgh")) < 3.01);
	ASSERT_TRUE(value_wordlike(V("requiredCharacteristicTypesForDisplay")));
	ASSERT_TRUE(!value_wordlike(V("jXqZvKwBfGhTzPdLmRnCxYsVbQ")));
	ASSERT_EQ(value_classes(V("aB3$")), 4);
	ASSERT_TRUE(value_is_uuid(V("6f1ed002-ab55-4585-9014-ebf095152234")));
	ASSERT_EQ(value_base64(V("aGk="), out, sizeof(out)), 2);
	ASSERT_EQ(value_base64(V("aGk"), out, sizeof(out)), 2);
	ASSERT_EQ(value_base64(V("a"), out, sizeof(out)), -1);
	ASSERT_EQ(value_base64(V("a*k="), out, sizeof(out)), -1);
}
