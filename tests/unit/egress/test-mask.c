/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/mask.h"
#include "harness.h"

#define TEXT_MAX 8192

static const char value[] = "gh/p_T0ken+9%\"=z";

static struct bawn_mask_set *set_of(const char *a, const char *b)
{
	struct bawn_slice v[2] = {{a, strlen(a)}, {b, b ? strlen(b) : 0}};
	struct bawn_mask_set *s = bawn_mask_set_new(v, b ? 2 : 1);

	ASSERT_TRUE(s != NULL);
	return s;
}

/* The text in pieces that end at the given places; *held is the most that had to wait. */
static void stream(const struct bawn_mask_set *s, const char *text, const size_t *cuts, size_t n,
	char *out, size_t *held)
{
	static char window[2 * TEXT_MAX];
	struct bawn_mask m = {0};
	size_t len = strlen(text), at = 0, have = 0, done = 0;

	*held = 0;
	for (size_t i = 0; i <= n; i++) {
		size_t to = i < n ? cuts[i] : len;
		size_t decided;

		memcpy(window + have, text + at, to - at);
		have += to - at;
		at = to;
		decided = bawn_mask_feed(s, &m, window, have, i == n);
		memcpy(out + done, window, decided);
		done += decided;
		have -= decided;
		memmove(window, window + decided, have);
		if (have > *held)
			*held = have;
	}
	ASSERT_EQ(done, len);
	ASSERT_EQ(have, 0);
	out[len] = '\0';
}

static void escape(const char *v, int way, char *dst, size_t size)
{
	dst[0] = '\0';
	for (size_t at = 0; *v; v++, at = strlen(dst)) {
		unsigned b = (unsigned char)*v;

		switch (way) {
		case 0:
			(void)snprintf(dst + at, size - at, "%%%02x", b);
			break;
		case 1:
			(void)snprintf(dst + at, size - at, "%%%02X", b);
			break;
		case 2:
			(void)snprintf(dst + at, size - at, "\\u%04x", b);
			break;
		case 3:
			(void)snprintf(dst + at, size - at, "&#%u;", b);
			break;
		default:
			(void)snprintf(dst + at, size - at, "&#x%02X;", b);
		}
	}
}

static void hex(const char *v, bool upper, char *dst, size_t size)
{
	for (size_t at = 0; *v; v++, at += 2)
		(void)snprintf(dst + at, size - at, upper ? "%02X" : "%02x", (unsigned char)*v);
}

static void base64(const char *v, bool url, char *dst)
{
	const char *digits =
		url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		    : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strlen(v);

	for (size_t i = 0; i < n; i += 3) {
		unsigned b = (unsigned)(unsigned char)v[i] << 16;

		b |= i + 1 < n ? (unsigned)(unsigned char)v[i + 1] << 8 : 0;
		b |= i + 2 < n ? (unsigned char)v[i + 2] : 0;
		*dst++ = digits[b >> 18];
		*dst++ = digits[b >> 12 & 63];
		*dst++ = i + 1 < n ? digits[b >> 6 & 63] : '=';
		*dst++ = i + 2 < n ? digits[b & 63] : '=';
	}
	*dst = '\0';
}

/* Every pair of cuts gives what the whole text gives; how many bytes were masked. */
static size_t same_everywhere(const struct bawn_mask_set *s, const char *text)
{
	static char whole[TEXT_MAX], out[TEXT_MAX];
	size_t len = strlen(text), stars = 0, held;

	(void)snprintf(whole, sizeof(whole), "%s", text);
	bawn_mask_text(s, whole, len);
	for (size_t i = 0; i <= len; i++)
		for (size_t k = i; k <= len; k++) {
			size_t cuts[2] = {i, k};

			stream(s, text, cuts, 2, out, &held);
			if (strcmp(out, whole) != 0)
				FAIL("'%s' cut at %zu and %zu: '%s'", text, i, k, out);
			if (held > bawn_mask_window(s))
				FAIL("%zu bytes had to wait", held);
		}
	for (size_t i = 0; i < len; i++)
		stars += whole[i] == '*';
	return stars;
}

TEST(every_way_of_writing_and_every_cut)
{
	struct bawn_mask_set *s = set_of(value, NULL);
	char enc[512], text[600];
	size_t n = strlen(value);

	(void)snprintf(text, sizeof(text), "before %s behind", value);
	ASSERT_EQ(same_everywhere(s, text), n);
	for (int way = 0; way < 5; way++) {
		escape(value, way, enc, sizeof(enc));
		(void)snprintf(text, sizeof(text), "a=%s&b", enc);
		ASSERT_EQ(same_everywhere(s, text), strlen(enc));
	}
	for (int upper = 0; upper < 2; upper++) {
		hex(value, upper, enc, sizeof(enc));
		(void)snprintf(text, sizeof(text), "0x%s.", enc);
		ASSERT_EQ(same_everywhere(s, text), 2 * n);
	}
	(void)bawn_mask_set_free(s);
}

TEST(base64_at_every_alignment)
{
	struct bawn_mask_set *s = set_of(value, NULL);

	for (size_t before = 0; before < 6; before++)
		for (size_t behind = 0; behind < 4; behind++)
			for (int url = 0; url < 2; url++) {
				char plain[64], text[128];
				size_t from = 8 * before / 6;
				size_t to = (8 * (before + strlen(value)) + 5) / 6;

				(void)snprintf(plain, sizeof(plain), "%.*s%s%.*s", (int)before,
					"user:x", value, (int)behind, "tail");
				base64(plain, url, text);
				ASSERT_EQ(same_everywhere(s, text), to - from);
			}
	(void)bawn_mask_set_free(s);
}

TEST(mixed_escapes)
{
	struct bawn_mask_set *s = set_of("a/b c&d\"e", NULL);
	static const char *const texts[] = {"a/b c&d\"e", "a%2Fb+c%26d%22e", "a\\/b c&d\\\"e",
		"a/b c&amp;d&quot;e", "a\\u002fb\\u0020c\\u0026d\\\"e", "%61/b%20c&d\"e"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ASSERT_EQ(same_everywhere(s, texts[i]), strlen(texts[i]));
	(void)bawn_mask_set_free(s);
}

/* A header with base64 in it, sent back as a part of JSON, a URL or HTML. */
TEST(base64_that_was_escaped)
{
	/* it is YWI/Pz4+P35+Pnl6, all of it */
	struct bawn_mask_set *s = set_of("ab?\?>>?~~>yz", NULL);
	static const char *const texts[] = {"YWI/Pz4+P35+Pnl6", "YWI\\/Pz4+P35+Pnl6",
		"YWI%2FPz4%2BP35%2bPnl6", "YWI\\u002FPz4\\u002bP35+Pnl6",
		"YWI&#x2F;Pz4&#43;P35&#x2B;Pnl6", "YWI_Pz4-P35-Pnl6"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ASSERT_EQ(same_everywhere(s, texts[i]), strlen(texts[i]));
	(void)bawn_mask_set_free(s);
}

TEST(quotes_as_pages_and_scripts_write_them)
{
	struct bawn_mask_set *s = set_of("it's\"so\"", NULL);
	static const char *const texts[] = {"it's\"so\"", "it&#039;s&#034;so&#034;",
		"it\\'s\\\"so\\\"", "it&#39;s&quot;so&#x22;", "it&apos;s\"so\""};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ASSERT_EQ(same_everywhere(s, texts[i]), strlen(texts[i]));
	(void)bawn_mask_set_free(s);
}

TEST(values_that_look_like_escapes)
{
	static const char *const values[] = {
		"%25%25abc", "100%2525%", "\\u0041\\\\x", "&amp;&#38;", "++++", "%%%%"};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct bawn_mask_set *s = set_of(values[i], NULL);
		char text[64];

		(void)snprintf(text, sizeof(text), "<%s>", values[i]);
		ASSERT_TRUE(same_everywhere(s, text) >= strlen(values[i]));
		(void)bawn_mask_set_free(s);
	}
}

TEST(what_is_not_the_value_stays)
{
	struct bawn_mask_set *s = set_of(value, NULL);
	static const char *const texts[] = {"", "gh/p_T0ken+9%\"=", "h/p_T0ken+9%\"=z",
		"gh/p_t0ken+9%\"=z", "gh/p_T0ken+8%\"=z", "gh/p_gh/p_gh/p_", "67682f705f54306b656e",
		"Z2gvcF9UMGtlbg=="};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ASSERT_EQ(same_everywhere(s, texts[i]), 0);
	(void)bawn_mask_set_free(s);
}

TEST(again_and_again)
{
	struct bawn_mask_set *s = set_of("abab", NULL);

	ASSERT_EQ(same_everywhere(s, "abababab"), 8);
	ASSERT_EQ(same_everywhere(s, "ababab"), 6);
	ASSERT_EQ(same_everywhere(s, "abaabab"), 4);
	(void)bawn_mask_set_free(s);
}

TEST(values_that_overlap)
{
	struct bawn_mask_set *s = set_of("abcdef", "defghi");

	ASSERT_EQ(same_everywhere(s, "xabcdefghix"), 9);
	ASSERT_EQ(same_everywhere(s, "xdefghi abcdef"), 12);
	(void)bawn_mask_set_free(s);
	s = set_of("abcdef", "abcdefghij");
	ASSERT_EQ(same_everywhere(s, "abcdefghij abcdefghi"), 16);
	(void)bawn_mask_set_free(s);
}

TEST(short_values_are_found_as_they_are)
{
	struct bawn_mask_set *s = set_of("x", "yz");

	ASSERT_EQ(same_everywhere(s, "axbyzcy 78 eA== %78"), 3);
	(void)bawn_mask_set_free(s);
}

TEST(the_longest_value)
{
	static char big[TEXT_MAX], text[6 * TEXT_MAX + 64], *at = text;
	struct bawn_slice v = {big, sizeof(big)};
	struct bawn_mask_set *s;
	struct bawn_mask m = {0};

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)('!' + (i * 7 + i / 90) % 94);
	s = bawn_mask_set_new(&v, 1);
	ASSERT_TRUE(s != NULL);
	for (size_t i = 0; i < sizeof(big); i++)
		at += snprintf(at, 8, "\\u%04x", (unsigned char)big[i]);
	ASSERT_TRUE((size_t)(at - text) <= bawn_mask_window(s));
	/* the last byte decides */
	ASSERT_EQ(bawn_mask_feed(s, &m, text, (size_t)(at - text) - 1, false), 0);
	ASSERT_EQ(bawn_mask_feed(s, &m, text, (size_t)(at - text), false), (size_t)(at - text));
	ASSERT_EQ(strspn(text, "*"), (size_t)(at - text));
	(void)bawn_mask_set_free(s);
}

TEST(a_line_that_ends_does_not_wait)
{
	struct bawn_mask_set *s = set_of(value, "another-value");
	static const char *const texts[] = {"data: {\"a\":\"g\"}\n\n", "50%\n", "\\\"}\n\n",
		"&\r\n", "Z2gv\n", "67 68\n", "gh/p_T0ken\n", "an\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char text[64];
		struct bawn_mask m = {0};

		(void)snprintf(text, sizeof(text), "%s", texts[i]);
		ASSERT_EQ(bawn_mask_feed(s, &m, text, strlen(text), false), strlen(text));
		ASSERT_STREQ(text, texts[i]);
	}
	(void)bawn_mask_set_free(s);
}
