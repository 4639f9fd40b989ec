/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/buf.h"
#include "harness.h"

TEST(json_keeps_utf8_and_replaces_what_is_not)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	ASSERT_EQ(bawn_buf_json(&b, "a\"\\\n\x01\xc3\xa4\xff\xed\xa0\x80", 11), 4);
	ASSERT_STREQ(b.data, "\"a\\\"\\\\\\n\\u0001\xc3\xa4\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

TEST(escape_neutralises_terminals_and_bidi)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	bawn_buf_escape(&b, "a\x1b]0;x\x07\n\xe2\x80\xae", 11);
	ASSERT_STREQ(b.data, "a\\x1b]0;x\\x07\\n\\u{202e}");
}

TEST(a_buffer_stops_at_its_maximum)
{
	_cleanup_buf_ struct bawn_buf b = {.max = 4};

	bawn_buf_puts(&b, "abcd");
	ASSERT_EQ(b.failed, 0);
	bawn_buf_puts(&b, "e");
	ASSERT_EQ(b.failed, -E2BIG);
	ASSERT_STREQ(b.data, "abcd");
}
