/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "inspect/escape.h"

#define TAME (BAWN_ESCAPE_TAME)
#define SHOW (BAWN_ESCAPE_TAME | BAWN_ESCAPE_SHOW)
#define HIDE (BAWN_ESCAPE_HIDDEN)

/* The whole at once, byte by byte, and in halves must give the same. */
static void check(unsigned flags, const char *in, size_t n, const char *expected)
{
	for (size_t step = 1; step <= n + 1; step = step == 1 ? 2 : step == 2 ? 7 : step + n) {
		_cleanup_buf_ struct bawn_buf out = {0};
		struct bawn_escape e;

		bawn_escape_init(&e, flags);
		bawn_buf_puts(&out, "");
		for (size_t i = 0; i < n; i += step)
			bawn_escape_feed(&e, in + i, n - i < step ? n - i : step, &out);
		bawn_escape_end(&e, &out);
		if (strcmp(out.data ? out.data : "", expected) != 0)
			FAIL("steps of %zu: '%s' became '%s', expected '%s'", step, in,
				out.data ? out.data : "", expected);
	}
}

#define CHECK(flags, in, expected) check((flags), (in), sizeof(in) - 1, (expected))

TEST(text_and_colours_stay)
{
	CHECK(TAME, "plain\r\n\ttext\b!", "plain\r\n\ttext\b!");
	CHECK(TAME, "\x1b[1;31mred\x1b[0m\x1b[m", "\x1b[1;31mred\x1b[0m\x1b[m");
	CHECK(TAME, "\x1b[38;5;8mgrey\x1b[48;2;8;8;8m", "\x1b[38;5;8mgrey\x1b[48;2;8;8;8m");
	CHECK(TAME, "\x1b[4:3mcurly", "\x1b[4:3mcurly");
	CHECK(TAME, "50%\x1b[K\r\x1b[2A\x1b[10G\x1b[J", "50%\x1b[K\r\x1b[2A\x1b[10G\x1b[J");
	CHECK(TAME, "gr\xc3\xbc\xc3\x9f \xe2\x9c\x93 \xf0\x9f\x98\x80",
		"gr\xc3\xbc\xc3\x9f \xe2\x9c\x93 \xf0\x9f\x98\x80");
	CHECK(TAME, "latin1 \xe4\xf6\xfc.", "latin1 \xe4\xf6\xfc.");
}

TEST(conceal_is_taken_out)
{
	CHECK(TAME, "\x1b[8mhidden\x1b[0m", "hidden\x1b[0m");
	CHECK(TAME, "\x1b[1;8;31mhidden", "\x1b[1;31mhidden");
	CHECK(TAME, "\x1b[38;5;8;008mx", "\x1b[38;5;8mx");
}

TEST(strings_that_act_are_taken_out)
{
	CHECK(TAME, "a\x1b]52;c;ZXZpbA==\ab", "ab");
	CHECK(TAME, "a\x1b]0;title\x1b\\b", "ab");
	CHECK(TAME, "a\x1b]2;t\xc3\xa9\ab", "ab");
	CHECK(TAME, "a\x1bP$q\"p\x1b\\b", "ab");
	CHECK(TAME, "a\x1b_Gf=100;AAAA\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd");
	CHECK(TAME, "a\x1b]50;x\x1b[31mb", "a\x1b[31mb");
	CHECK(TAME, "a\x1bPx\x18z", "az");
	CHECK(TAME, "a\x1b]\x1b\\b", "ab");
}

TEST(a_string_without_end_does_not_swallow_the_rest)
{
	static char in[80000];
	_cleanup_buf_ struct bawn_buf out = {0};
	struct bawn_escape e;

	CHECK(TAME, "\x1b]0;no end\nvisible", "\nvisible");
	memset(in, 'x', sizeof(in));
	in[0] = '\x1b';
	in[1] = 'P';
	bawn_escape_init(&e, TAME);
	bawn_escape_feed(&e, in, sizeof(in), &out);
	bawn_escape_end(&e, &out);
	ASSERT_TRUE(out.len > 10000 && out.len < sizeof(in));
	ASSERT_EQ(e.tamed, 1);
}

TEST(queries_modes_and_windows_are_taken_out)
{
	static const char *const acting[] = {"\x1b[6n", "\x1b[c", "\x1b[>c", "\x1b[0x", "\x1b[21t",
		"\x1b[8;1;1t", "\x1b[?1049h", "\x1b[?1000h", "\x1b[?1006h", "\x1b[?2004l",
		"\x1b[?25l", "\x1b[2J", "\x1b[3J", "\x1b[H", "\x1b[1;1H", "\x1b[s", "\x1b[u",
		"\x1b[5i", "\x1b[>4;2m", "\x1b[?4m", "\x1b[1;5r", "\x1b[99b", "\x1b[!p", "\x1b[1 q",
		"\x1b[2L", "\x1b[2M", "\x1b[2P", "\x1b[2S", "\x1b[2T", "\x1b\x37", "\x1b\x38",
		"\x1b\x63", "\x1b=", "\x1b>", "\x1b(0", "\x1b)B", "\x1b%G", "\x1b#8", "\x1bM",
		"\x1bZ", "\x0e", "\x0f", "\x05", "\a", "\x0b", "\x0c", "\x7f", "\x9b", "\x9d",
		"\xc2\x9b", "\xc2\x90"};

	for (size_t i = 0; i < sizeof(acting) / sizeof(acting[0]); i++) {
		char in[32];
		int n = snprintf(in, sizeof(in), "a%sb", acting[i]);

		check(TAME, in, (size_t)n, "ab");
	}
}

TEST(hyperlinks_to_the_web_stay_others_go)
{
	CHECK(TAME, "\x1b]8;;https://a.example/x\x1b\\text\x1b]8;;\x1b\\",
		"\x1b]8;;https://a.example/x\x1b\\text\x1b]8;;\x1b\\");
	CHECK(TAME, "\x1b]8;id=1;http://a.example\atext\x1b]8;;\a",
		"\x1b]8;id=1;http://a.example\atext\x1b]8;;\a");
	CHECK(TAME, "\x1b]8;;file:///etc/passwd\x1b\\text", "text");
	CHECK(TAME, "\x1b]8;;javascript:x\atext", "text");
	CHECK(TAME, "\x1b]8;;ssh://-oProxyCommand=x/\atext", "text");
	CHECK(TAME, "\x1b]8;;https://a\x1b[2Jtext", "text");
}

TEST(showing_keeps_every_character)
{
	CHECK(SHOW, "a\x1b]0;t\ab",
		"a\xe2\x90\x9b]0;t\xe2\x90\x87"
		"b");
	CHECK(SHOW, "a\x1b[6nb", "a\xe2\x90\x9b[6nb");
	CHECK(SHOW, "a\x1b[31mb", "a\x1b[31mb");
	CHECK(SHOW, "a\x1bPq\x1b\\b", "a\xe2\x90\x9bPq\xe2\x90\x9b\\b");
	CHECK(SHOW,
		"a\x9b"
		"6nb",
		"a<9B>6nb");
	CHECK(SHOW,
		"a\xc2\x9b"
		"6nb",
		"a<U+009B>6nb");
	CHECK(SHOW, "a\x1b]8;;file:///x\x1b\\b", "a\xe2\x90\x9b]8;;file:///x\xe2\x90\x9b\\b");
}

TEST(what_is_cut_off_is_inert)
{
	CHECK(TAME, "a\x1b", "a");
	CHECK(TAME, "a\x1b[3", "a");
	CHECK(TAME, "a\x1b\x1b[31mb", "a\x1b[31mb");
	CHECK(TAME, "a\x1b[\x1b[31mb", "a\x1b[31mb");
	CHECK(SHOW, "a\x1b[3", "a\xe2\x90\x9b[3");
	CHECK(TAME, "a\xe2\x80", "a\xe2");
}

TEST(hidden_characters_become_visible)
{
	CHECK(HIDE,
		"a\xe2\x80\x8b"
		"b\xe2\x80\xae"
		"c",
		"a<U+200B>b<U+202E>c");
	CHECK(HIDE, "\xf3\xa0\x81\xa1", "<U+E0061>");
	CHECK(HIDE, "x\xef\xb8\x8f", "x<U+FE0F>");
	CHECK(HIDE, "\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4\xef\xb8\x8f");
	CHECK(HIDE, "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x92\xbb",
		"\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x92\xbb");
	CHECK(HIDE, "\xef\xbb\xbfstart\xef\xbb\xbf", "\xef\xbb\xbfstart<U+FEFF>");
	CHECK(HIDE, "\x1b]0;t\a", "\x1b]0;t\a");
}

TEST(counts_say_what_was_done)
{
	_cleanup_buf_ struct bawn_buf out = {0};
	struct bawn_escape e;
	static const char in[] = "\x1b]0;t\a\x1b[31m\x1b[6n\xe2\x80\x8b";

	bawn_escape_init(&e, TAME | HIDE);
	bawn_escape_feed(&e, in, sizeof(in) - 1, &out);
	ASSERT_EQ(e.tamed, 2);
	ASSERT_EQ(e.hidden, 1);
}
