/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How strictly content is read, by where it lies. A pattern may begin at any component of the path,
 * so that it means the same for absolute and relative paths. The policy's patterns come first, and
 * of several the strictest counts.
 */
#include <string.h>

#include "base/path.h"
#include "inspect/inspect.h"

#define PREFIX "scan_modes."

static const struct {
	const char *pattern;
	enum bawn_mode mode;
} table[] = {
	/* what agents take as instructions */
	{"CLAUDE.md", BAWN_MODE_STRICT},
	{"CLAUDE.local.md", BAWN_MODE_STRICT},
	{"AGENTS.md", BAWN_MODE_STRICT},
	{"AGENT.md", BAWN_MODE_STRICT},
	{"GEMINI.md", BAWN_MODE_STRICT},
	{"QWEN.md", BAWN_MODE_STRICT},
	{"SKILL.md", BAWN_MODE_STRICT},
	{".cursorrules", BAWN_MODE_STRICT},
	{".windsurfrules", BAWN_MODE_STRICT},
	{".clinerules", BAWN_MODE_STRICT},
	{".clinerules/**", BAWN_MODE_STRICT},
	{".roorules", BAWN_MODE_STRICT},
	{".goosehints", BAWN_MODE_STRICT},
	{".mcp.json", BAWN_MODE_STRICT},
	{".claude/**", BAWN_MODE_STRICT},
	{".cursor/**", BAWN_MODE_STRICT},
	{".windsurf/**", BAWN_MODE_STRICT},
	{".codex/**", BAWN_MODE_STRICT},
	{".gemini/**", BAWN_MODE_STRICT},
	{".agents/**", BAWN_MODE_STRICT},
	{"copilot-instructions.md", BAWN_MODE_STRICT},
	{".github/instructions/**", BAWN_MODE_STRICT},
	{".github/prompts/**", BAWN_MODE_STRICT},
	{".aider.conf.yml", BAWN_MODE_STRICT},
	/* what shows attacks on purpose */
	{"test/**", BAWN_MODE_LENIENT},
	{"tests/**", BAWN_MODE_LENIENT},
	{"testing/**", BAWN_MODE_LENIENT},
	{"testdata/**", BAWN_MODE_LENIENT},
	{"__tests__/**", BAWN_MODE_LENIENT},
	{"spec/**", BAWN_MODE_LENIENT},
	{"fixtures/**", BAWN_MODE_LENIENT},
	{"__fixtures__/**", BAWN_MODE_LENIENT},
	{"test_*.py", BAWN_MODE_LENIENT},
	{"*_test.py", BAWN_MODE_LENIENT},
	{"*_test.go", BAWN_MODE_LENIENT},
	{"*.test.[jt]s", BAWN_MODE_LENIENT},
	{"*.test.[jt]sx", BAWN_MODE_LENIENT},
	{"*.spec.[jt]s", BAWN_MODE_LENIENT},
	{"*.bats", BAWN_MODE_LENIENT},
};

static bool fits(const char *pattern, const char *path)
{
	if (pattern[0] == '/')
		return bawn_glob_match(pattern, path);
	for (const char *p = path; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (bawn_glob_match(pattern, p))
			return true;
	}
	return false;
}

static int strictness(enum bawn_mode m)
{
	return m == BAWN_MODE_STRICT ? 2 : m == BAWN_MODE_STANDARD;
}

static enum bawn_mode from_word(const char *word)
{
	if (!strcmp(word, "strict"))
		return BAWN_MODE_STRICT;
	return !strcmp(word, "lenient") ? BAWN_MODE_LENIENT : BAWN_MODE_STANDARD;
}

enum bawn_mode bawn_mode_for(const struct bawn_policy *p, const char *path)
{
	enum bawn_mode best = BAWN_MODE_LENIENT;
	bool found = false;

	if (!path)
		return BAWN_MODE_STANDARD;
	for (size_t i = 0; p && i < p->named.n; i++) {
		const struct bawn_pair *x = &p->named.v[i];

		if (strncmp(x->key, PREFIX, strlen(PREFIX)) != 0 ||
			!fits(x->key + strlen(PREFIX), path))
			continue;
		if (strictness(from_word(x->value)) > strictness(best))
			best = from_word(x->value);
		found = true;
	}
	if (found)
		return best;
	/* strict ones stand first: an instruction file inside tests/ still instructs */
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (fits(table[i].pattern, path))
			return table[i].mode;
	return BAWN_MODE_STANDARD;
}
