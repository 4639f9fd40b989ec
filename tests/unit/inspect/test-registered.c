/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "inspect/secret/secret.h"

/* Made up: 32 characters with signs, as a password manager would make it. */
#define SECRET "kT9-vQ2_xL7!mB4zR8+wN5yH3/cJ6pD1"
#define WORDS  "correcthorsebatterystaple"

static struct bawn_arena *arena;

static struct bawn_findings find(const char *secret, const char *text, size_t len)
{
	const char *const list[] = {secret, NULL};
	struct bawn_subject sub = {.kind = BAWN_KIND_TEXT, .text = text, .len = len, .last = true};
	struct bawn_findings out = {0};
	struct bawn_registered *r = NULL;
	struct bawn_error err = {0};

	if (!arena)
		arena = bawn_arena_new();
	if (bawn_registered_new(list, &r, &err) < 0)
		FAIL("%s", err.msg);
	ASSERT_EQ(bawn_registered_find(r, &sub, arena, &out, &err), 0);
	(void)bawn_registered_free(r);
	for (size_t i = 0; i < out.n; i++)
		ASSERT_TRUE(!strstr(out.v[i].message, secret));
	return out;
}

static void must(const char *secret, const char *text, size_t len, const char *what)
{
	struct bawn_findings f = find(secret, text, len);

	if (f.n != 1)
		FAIL("%s: %zu findings in '%.*s'", what, f.n, (int)len, text);
}

static void must_str(const char *secret, const char *text, const char *what)
{
	must(secret, text, strlen(text), what);
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void base64(const char *in, size_t n, const char *last_two, char *out)
{
	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)(unsigned char)in[i] << 16;

		v |= i + 1 < n ? (unsigned)(unsigned char)in[i + 1] << 8 : 0;
		v |= i + 2 < n ? (unsigned char)in[i + 2] : 0;
		for (unsigned k = 0; k < 4; k++) {
			unsigned d = v >> (18 - 6 * k) & 63;

			*out = alphabet[d];
			if (i + k > n)
				*out = '=';
			else if (d > 61)
				*out = last_two[d - 62];
			out++;
		}
	}
	*out = '\0';
}

TEST(as_it_is_with_the_right_span)
{
	static const char text[] = "token: " SECRET " and more";
	struct bawn_findings f = find(SECRET, text, sizeof(text) - 1);

	ASSERT_EQ(f.n, 1);
	ASSERT_EQ(f.v[0].start, 7);
	ASSERT_EQ(f.v[0].end, 7 + strlen(SECRET));
	ASSERT_STREQ(f.v[0].rule, "secret.registered");
	f = find(WORDS, WORDS " " WORDS, sizeof(WORDS " " WORDS) - 1);
	ASSERT_EQ(f.n, 2);
	ASSERT_STREQ(f.v[0].rule, "secret.registered");
}

TEST(base64_of_every_alignment_and_alphabet)
{
	static const char *const before[] = {"", "a", "ab", "abc", "user:", "{\"key\": \""};
	static const char *const alphabets[] = {"+/", "-_"};

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		for (size_t k = 0; k < 2; k++) {
			char in[256], out[512];

			(void)snprintf(in, sizeof(in), "%s%s\"} tail", before[i], SECRET);
			base64(in, strlen(in), alphabets[k], out);
			must_str(SECRET, out, "base64");
			(void)snprintf(in, sizeof(in), "%s%s", before[i], SECRET);
			base64(in, strlen(in), alphabets[k], out);
			must_str(SECRET, out, "base64 at the end");
		}
}

TEST(base64_with_line_breaks_and_twice)
{
	char once[256], twice[512], lines[512];
	size_t n = 0;

	base64(SECRET, strlen(SECRET), "+/", once);
	base64(once, strlen(once), "+/", twice);
	must_str(SECRET, twice, "base64 of base64");
	for (size_t i = 0; once[i]; i++) {
		lines[n++] = once[i];
		if (i % 8 == 7)
			lines[n++] = '\n';
	}
	must(SECRET, lines, n, "base64 in lines");
}

static size_t number(char *out, unsigned v, unsigned base, unsigned width, const char *digits)
{
	char back[8];
	unsigned n = 0;

	do {
		back[n++] = digits[v % base];
		v /= base;
	} while (v || n < width);
	for (unsigned i = 0; i < n; i++)
		out[i] = back[n - 1 - i];
	return n;
}

TEST(numbers)
{
	static const struct {
		const char *before;
		unsigned base, width;
		const char *digits, *after;
	} forms[] = {
		{"", 16, 2, "0123456789abcdef", ""},
		{"", 16, 2, "0123456789ABCDEF", ""},
		{"", 16, 2, "0123456789abcdef", " "},
		{"", 16, 2, "0123456789abcdef", ":"},
		{"\\x", 16, 2, "0123456789abcdef", ""},
		{"\\u", 16, 4, "0123456789abcdef", ""},
		{"%", 16, 2, "0123456789ABCDEF", ""},
		{"%", 16, 2, "0123456789abcdef", ""},
		{"&#x", 16, 1, "0123456789abcdef", ";"},
		{"&#", 10, 1, "0123456789", ";"},
		{"", 10, 1, "0123456789", ", "},
		{"", 8, 3, "01234567", " "},
		{"\\", 8, 3, "01234567", ""},
		{"", 2, 8, "01", " "},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char text[1024] = "";
		size_t n = 0;

		for (const char *p = SECRET; *p; p++) {
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", forms[i].before);
			n += number(text + n, (unsigned char)*p, forms[i].base, forms[i].width,
				forms[i].digits);
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", forms[i].after);
		}
		must(SECRET, text, n, forms[i].before);
	}
}

TEST(backwards)
{
	char text[128], enc[256], back[256];
	size_t n = strlen(SECRET);

	for (size_t i = 0; i < n; i++)
		text[i] = SECRET[n - 1 - i];
	must(SECRET, text, n, "reversed");
	base64(text, n, "+/", enc);
	must_str(SECRET, enc, "base64 of reversed");
	base64(SECRET, n, "+/", enc);
	n = strlen(enc);
	for (size_t i = 0; i < n; i++)
		back[i] = enc[n - 1 - i];
	must(SECRET, back, n, "reversed base64");
}

TEST(split_by_anything)
{
	static const char *const between[] = {" ", "\n", "\r\n", "\"+\"", "' '", "-", ".", "\t|\t",
		"\x1b[31m", "\x1b[0m\x1b[1;38;5;196m", "\x1b[K", "\\n", "\xe2\x80\x8b", "&nbsp;",
		"\" .\n \"", "', '", "\x1b[2;5H"};

	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++)
		for (size_t every = 1; every < 12; every += 5) {
			char text[2048];
			size_t n = 0;

			for (size_t k = 0; SECRET[k]; k++)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%c%s", SECRET[k],
					k % every == 0 ? between[i] : "");
			must(SECRET, text, n, between[i]);
		}
}

TEST(inside_a_terminal_escape_and_split_by_one)
{
	char enc[256], text[512];

	base64(SECRET, strlen(SECRET), "+/", enc);
	(void)snprintf(text, sizeof(text), "\x1b]52;c;%s\a", enc);
	must_str(SECRET, text, "clipboard");
	(void)snprintf(text, sizeof(text), "%.10s\x1b]0;title\a%s", WORDS, &WORDS[10]);
	must_str(WORDS, text, "split by a title");
}

TEST(escapes_of_json_urls_and_case)
{
	must_str("p\"a\\s/s\tword1234", "{\"k\": \"p\\\"a\\\\s\\/s\\tword1234\"}", "JSON");
	must_str("a b&c=d/e?f1234567", "x=a%20b%26c%3Dd%2Fe%3Ff1234567", "URL");
	must_str("a b&c=d/e?f1234567", "x=a+b%26c%3Dd%2Fe%3Ff1234567", "form");
	must_str("100%41secretvalue", "100%41secretvalue", "looks like an escape");
	must_str("100%41secretvalue", "100%2541secretvalue", "escaped percent");
	must_str(WORDS, "50%" WORDS, "a percent sign before");
	must_str(WORDS, "\\u" WORDS, "a backslash before");
	must_str(WORDS, "CORRECTHORSEBATTERYSTAPLE", "upper case");
	must_str(WORDS, "pbeerpgubefronggrelfgncyr", "rotated");
	must(WORDS, "c\0o\0r\0r\0e\0c\0t\0h\0o\0r\0s\0e\0b\0a\0t\0t\0e\0r\0y\0s\0t\0a\0p\0l\0e\0",
		50, "UTF-16");
}

TEST(short_and_strange_values)
{
	ASSERT_EQ(find("a!b?", "xxa!b?yy", 8).n, 1);
	ASSERT_EQ(find("a!b?", "xxa!b.yy", 8).n, 0);
	must_str("#$%&/()=", "value #$%&/()= end", "no letters at all");
	must_str("hunter2", "is hunter2 it", "seven letters");
	ASSERT_EQ(find("hunter2", "aHVudGVyMg== and 68756e74657232", 31).n, 2);
}

TEST(silence)
{
	static const char *const texts[] = {"", "nothing here", "correct horse battery",
		"correcthorsebatterystapl", "kT9-vQ2_xL7!mB4zR8+wN5yH3/cJ6pD", "a", "\x1b[",
		"\x1b]", "%", "\\", "&#", "\\u{", "%4"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ASSERT_EQ(find(WORDS, texts[i], strlen(texts[i])).n, 0);
		ASSERT_EQ(find(SECRET, texts[i], strlen(texts[i])).n, 0);
	}
}

TEST(a_long_value_is_found_by_its_pieces)
{
	char value[2048], part[200];

	for (size_t i = 0; i < sizeof(value) - 1; i++)
		value[i] = alphabet[i * i % 61 * 31 % 62];
	value[sizeof(value) - 1] = '\0';
	memcpy(part, value + 960, 192);
	part[192] = '\0';
	ASSERT_TRUE(find(value, part, 192).n >= 1);
	ASSERT_TRUE(find(value, value, sizeof(value) - 1).n >= 1);
}

/* What xxd, hexdump -C, hexdump and od -c make of "key=" SECRET "\n". */
TEST(dumps)
{
	must_str(SECRET,
		"00000000: 6b65 793d 6b54 392d 7651 325f 784c 3721  key=kT9-vQ2_xL7!\n"
		"00000010: 6d42 347a 5238 2b77 4e35 7948 332f 634a  mB4zR8+wN5yH3/cJ\n"
		"00000020: 3670 4431 0a                             6pD1.\n",
		"xxd");
	must_str(SECRET,
		"00000000  6b 65 79 3d 6b 54 39 2d  76 51 32 5f 78 4c 37 21  |key=kT9-vQ2_xL7!|\n"
		"00000010  6d 42 34 7a 52 38 2b 77  4e 35 79 48 33 2f 63 4a  |mB4zR8+wN5yH3/cJ|\n"
		"00000020  36 70 44 31 0a                                    |6pD1.|\n",
		"hexdump -C");
	must_str(SECRET,
		"0000000 656b 3d79 546b 2d39 5176 5f32 4c78 2137\n"
		"0000010 426d 7a34 3852 772b 354e 4879 2f33 4a63\n"
		"0000020 7036 3144 000a\n0000025\n",
		"hexdump");
	must_str(SECRET,
		"0000000   k   e   y   =   k   T   9   -   v   Q   2   _   x   L   7   !\n"
		"0000020   m   B   4   z   R   8   +   w   N   5   y   H   3   /   c   J\n"
		"0000040   6   p   D   1  \\n\n0000045\n",
		"od -c");
}

TEST(a_key_file_with_line_numbers)
{
	static const char head[] = "-----BEGIN PRIVATE KEY-----\n",
			  tail[] = "-----END PRIVATE KEY-----\n";
	char key[1200] = "", numbered[1600] = "";
	size_t n = 0, m = 0;

	n += (size_t)snprintf(key, sizeof(key), "%s", head);
	m += (size_t)snprintf(numbered, sizeof(numbered), "     1\t%s", head);
	for (unsigned line = 0; line < 12; line++) {
		char body[65];

		for (unsigned i = 0; i < 64; i++)
			body[i] = alphabet[(line * 64 + i) * (line * 64 + i + 7) % 61];
		body[64] = '\0';
		n += (size_t)snprintf(key + n, sizeof(key) - n, "%s\n", body);
		m += (size_t)snprintf(
			numbered + m, sizeof(numbered) - m, "    %2u\t%s\n", line + 2, body);
	}
	(void)snprintf(key + n, sizeof(key) - n, "%s", tail);
	ASSERT_TRUE(find(key, numbered, m).n >= 1);
	/* another key has the same header */
	ASSERT_EQ(find(key, head, sizeof(head) - 1).n, 0);
}

TEST(windows_report_once)
{
	const char *const list[] = {WORDS, NULL};
	static const char text[] = "..." WORDS "...";
	struct bawn_subject sub = {.text = text, .len = sizeof(text) - 1, .base = 100};
	struct bawn_findings out = {0};
	struct bawn_registered *r = NULL;

	arena = bawn_arena_new();
	ASSERT_EQ(bawn_registered_new(list, &r, NULL), 0);
	sub.fresh = 28;
	ASSERT_EQ(bawn_registered_find(r, &sub, arena, &out, NULL), 0);
	ASSERT_EQ(out.n, 0);
	sub.fresh = 27;
	ASSERT_EQ(bawn_registered_find(r, &sub, arena, &out, NULL), 0);
	ASSERT_EQ(out.n, 1);
	ASSERT_EQ(out.v[0].start, 103);
	(void)bawn_registered_free(r);
}

TEST(the_tail_is_held_back_while_it_may_go_on)
{
	const char *const list[] = {WORDS, "a!b?", NULL};
	struct bawn_registered *r = NULL;

	ASSERT_EQ(bawn_registered_new(list, &r, NULL), 0);
	ASSERT_EQ(bawn_registered_tail(r, "text correctho", 14), 9);
	ASSERT_EQ(bawn_registered_tail(r, "text cor rec\x1b[1m tho", 21), 16);
	ASSERT_EQ(bawn_registered_tail(r, "Password: ", 10), 0);
	ASSERT_EQ(bawn_registered_tail(r, "xx a!b", 6), 3);
	ASSERT_EQ(bawn_registered_tail(r, WORDS, strlen(WORDS)), 0);
	ASSERT_TRUE(bawn_registered_span(r) >= 2 * strlen(WORDS));
	(void)bawn_registered_free(r);
}

TEST(values_of_wrong_size_are_refused)
{
	const char *const tiny[] = {"abc", NULL};
	struct bawn_registered *r = NULL;
	struct bawn_error err = {0};

	ASSERT_TRUE(bawn_registered_new(tiny, &r, &err) < 0);
	ASSERT_TRUE(strstr(err.msg, "3 bytes") && !strstr(err.msg, "abc"));
	ASSERT_TRUE(!r);
}
