/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include "inspect/inspect.h"

static const char *guess(const char *name, const char *text)
{
	return bawn_lang_name(bawn_lang_guess(name, text, strlen(text)));
}

TEST(by_name)
{
	ASSERT_STREQ(guess("a/b.py", ""), "python");
	ASSERT_STREQ(guess("b.tsx", ""), "javascript");
	ASSERT_STREQ(guess("x.go", "#!/bin/sh\n"), "go");
	ASSERT_STREQ(guess("README.md", "Hello.\n"), "auto");
}

TEST(by_first_line)
{
	ASSERT_STREQ(guess(NULL, "#!/bin/sh\n"), "bash");
	ASSERT_STREQ(guess("tool", "#!/usr/bin/env -S python3.11 -u\n"), "python");
	ASSERT_STREQ(guess(NULL, "#!/usr/bin/env node"), "javascript");
	ASSERT_STREQ(guess(NULL, "#!"), "auto");
}

TEST(by_content)
{
	ASSERT_STREQ(guess(NULL, "import os\n\ndef f(x):\n    return x\n"), "python");
	ASSERT_STREQ(guess(NULL, "package main\n\nimport \"fmt\"\n\nfunc main() {\n}\n"), "go");
	ASSERT_STREQ(guess(NULL, "const fs = require('fs');\n"), "javascript");
	ASSERT_STREQ(guess(NULL, "for i in *; do\n  echo $i\ndone\n"), "bash");
	ASSERT_STREQ(guess(NULL, ""), "auto");
}

TEST(names)
{
	enum bawn_lang l;

	ASSERT_EQ(bawn_lang_from_name("typescript", &l), 0);
	ASSERT_EQ(l, BAWN_LANG_JAVASCRIPT);
	ASSERT_TRUE(bawn_lang_from_name("cobol", &l) < 0);
}
