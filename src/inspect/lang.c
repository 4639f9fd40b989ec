/* SPDX-License-Identifier: Apache-2.0 */
/* Which language a text is written in: by its name, its first line, or how its lines begin. */
#include <errno.h>
#include <string.h>

#include "inspect/inspect.h"

#define LOOK_AT 16384u /* bytes of content that are looked at */
#define SURE    2      /* signs that are enough */

static const char *const names[BAWN_LANG_COUNT] = {"auto", "bash", "python", "go", "javascript"};

static const struct {
	const char *word;
	enum bawn_lang lang;
} aliases[] = {
	{"sh", BAWN_LANG_BASH},
	{"shell", BAWN_LANG_BASH},
	{"zsh", BAWN_LANG_BASH},
	{"py", BAWN_LANG_PYTHON},
	{"python3", BAWN_LANG_PYTHON},
	{"golang", BAWN_LANG_GO},
	{"js", BAWN_LANG_JAVASCRIPT},
	{"ts", BAWN_LANG_JAVASCRIPT},
	{"typescript", BAWN_LANG_JAVASCRIPT},
};

static const struct {
	const char *ext;
	enum bawn_lang lang;
} extensions[] = {
	{"sh", BAWN_LANG_BASH},
	{"bash", BAWN_LANG_BASH},
	{"zsh", BAWN_LANG_BASH},
	{"ksh", BAWN_LANG_BASH},
	{"bats", BAWN_LANG_BASH},
	{"py", BAWN_LANG_PYTHON},
	{"pyw", BAWN_LANG_PYTHON},
	{"pyi", BAWN_LANG_PYTHON},
	{"go", BAWN_LANG_GO},
	{"js", BAWN_LANG_JAVASCRIPT},
	{"mjs", BAWN_LANG_JAVASCRIPT},
	{"cjs", BAWN_LANG_JAVASCRIPT},
	{"jsx", BAWN_LANG_JAVASCRIPT},
	{"ts", BAWN_LANG_JAVASCRIPT},
	{"mts", BAWN_LANG_JAVASCRIPT},
	{"cts", BAWN_LANG_JAVASCRIPT},
	{"tsx", BAWN_LANG_JAVASCRIPT},
};

/* Programs of a #! line: the name begins like this. */
static const struct {
	const char *program;
	enum bawn_lang lang;
} programs[] = {
	{"bash", BAWN_LANG_BASH},
	{"sh", BAWN_LANG_BASH},
	{"dash", BAWN_LANG_BASH},
	{"zsh", BAWN_LANG_BASH},
	{"ksh", BAWN_LANG_BASH},
	{"python", BAWN_LANG_PYTHON},
	{"pypy", BAWN_LANG_PYTHON},
	{"node", BAWN_LANG_JAVASCRIPT},
	{"deno", BAWN_LANG_JAVASCRIPT},
	{"bun", BAWN_LANG_JAVASCRIPT},
};

/* How a line begins, and what must stand somewhere behind it. */
static const struct {
	const char *begin, *has;
	enum bawn_lang lang;
	int weight;
} signs[] = {
	{"def ", "):", BAWN_LANG_PYTHON, 2},
	{"def ", "->", BAWN_LANG_PYTHON, 2},
	{"class ", ":\n", BAWN_LANG_PYTHON, 2},
	{"from ", " import ", BAWN_LANG_PYTHON, 2},
	{"import ", " as ", BAWN_LANG_PYTHON, 1},
	{"import os", "", BAWN_LANG_PYTHON, 2},
	{"import sys", "", BAWN_LANG_PYTHON, 2},
	{"import subprocess", "", BAWN_LANG_PYTHON, 2},
	{"import socket", "", BAWN_LANG_PYTHON, 2},
	{"import re", "", BAWN_LANG_PYTHON, 1},
	{"elif ", ":\n", BAWN_LANG_PYTHON, 2},
	{"if ", ":\n", BAWN_LANG_PYTHON, 1},
	{"for ", ":\n", BAWN_LANG_PYTHON, 1},
	{"while ", ":\n", BAWN_LANG_PYTHON, 1},
	{"try:", "", BAWN_LANG_PYTHON, 2},
	{"except", ":\n", BAWN_LANG_PYTHON, 2},
	{"with ", ":\n", BAWN_LANG_PYTHON, 2},
	{"print(", "", BAWN_LANG_PYTHON, 1},
	{"package ", "", BAWN_LANG_GO, 2},
	{"func ", "{", BAWN_LANG_GO, 2},
	{"import (", "", BAWN_LANG_GO, 2},
	{"import \"", "", BAWN_LANG_GO, 1},
	{"type ", " struct", BAWN_LANG_GO, 2},
	{"defer ", "(", BAWN_LANG_GO, 1},
	{"const ", " = ", BAWN_LANG_JAVASCRIPT, 1},
	{"let ", " = ", BAWN_LANG_JAVASCRIPT, 2},
	{"var ", " = ", BAWN_LANG_JAVASCRIPT, 1},
	{"const ", "require(", BAWN_LANG_JAVASCRIPT, 2},
	{"var ", "require(", BAWN_LANG_JAVASCRIPT, 2},
	{"import ", " from ", BAWN_LANG_JAVASCRIPT, 2},
	{"import ", " from '", BAWN_LANG_JAVASCRIPT, 1},
	{"export ", "function", BAWN_LANG_JAVASCRIPT, 2},
	{"export default", "", BAWN_LANG_JAVASCRIPT, 2},
	{"export const ", "", BAWN_LANG_JAVASCRIPT, 2},
	{"export class ", "", BAWN_LANG_JAVASCRIPT, 2},
	{"module.exports", "", BAWN_LANG_JAVASCRIPT, 2},
	{"require(", ")", BAWN_LANG_JAVASCRIPT, 2},
	{"function ", "{", BAWN_LANG_JAVASCRIPT, 1},
	{"async function ", "{", BAWN_LANG_JAVASCRIPT, 2},
	{"console.log(", "", BAWN_LANG_JAVASCRIPT, 2},
	{"eval(", ");", BAWN_LANG_JAVASCRIPT, 1},
	{"(function", "{", BAWN_LANG_JAVASCRIPT, 2},
	{"\"use strict\"", "", BAWN_LANG_JAVASCRIPT, 2},
	{"'use strict'", "", BAWN_LANG_JAVASCRIPT, 2},
	{"fi\n", "", BAWN_LANG_BASH, 2},
	{"done\n", "", BAWN_LANG_BASH, 2},
	{"esac\n", "", BAWN_LANG_BASH, 2},
	{"if [", "]", BAWN_LANG_BASH, 2},
	{"for ", "; do", BAWN_LANG_BASH, 2},
	{"while ", "; do", BAWN_LANG_BASH, 2},
	{"echo ", "", BAWN_LANG_BASH, 1},
	{"set -", "", BAWN_LANG_BASH, 2},
	{"export ", "=", BAWN_LANG_BASH, 1},
	{"sudo ", "", BAWN_LANG_BASH, 2},
	{"curl ", "", BAWN_LANG_BASH, 2},
	{"wget ", "", BAWN_LANG_BASH, 2},
	{"chmod ", "", BAWN_LANG_BASH, 2},
	{"cd ", "", BAWN_LANG_BASH, 1},
	{"rm ", "", BAWN_LANG_BASH, 1},
};

const char *bawn_lang_name(enum bawn_lang l)
{
	return (size_t)l < BAWN_LANG_COUNT ? names[l] : "unknown";
}

int bawn_lang_from_name(const char *name, enum bawn_lang *ret)
{
	for (unsigned i = 0; i < BAWN_LANG_COUNT; i++)
		if (!strcmp(names[i], name)) {
			*ret = (enum bawn_lang)i;
			return 0;
		}
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (!strcmp(aliases[i].word, name)) {
			*ret = aliases[i].lang;
			return 0;
		}
	return -EINVAL;
}

/* NULL if it has none. */
static const char *extension_of(const char *name)
{
	const char *slash = name ? strrchr(name, '/') : NULL;
	const char *base = slash ? slash + 1 : name;

	return base && *base ? strrchr(base + 1, '.') : NULL;
}

/* Files that shells read by themselves; they have no extension. */
static bool is_startup(const char *name)
{
	static const char *const files[] = {".bashrc", ".bash_profile", ".bash_login",
		".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile",
		".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".xinitrc", ".xsession", ".xprofile",
		".envrc", "bash.bashrc", "rc.local"};
	const char *slash = name ? strrchr(name, '/') : NULL;
	const char *base = slash ? slash + 1 : name;

	for (size_t i = 0; base && i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(base, files[i]))
			return true;
	return false;
}

static enum bawn_lang by_extension(const char *name)
{
	const char *dot = extension_of(name);

	if (is_startup(name))
		return BAWN_LANG_BASH;
	for (size_t i = 0; dot && i < sizeof(extensions) / sizeof(extensions[0]); i++)
		if (!strcmp(dot + 1, extensions[i].ext))
			return extensions[i].lang;
	return BAWN_LANG_AUTO;
}

/* The program of `#!/usr/bin/env -S python3 -u` is the first word that names one. */
static enum bawn_lang by_first_line(const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len);
	size_t n = end ? (size_t)(end - text) : len;
	size_t at = 2;

	if (n < 3 || text[0] != '#' || text[1] != '!')
		return BAWN_LANG_AUTO;
	while (at < n) {
		size_t stop = at;
		size_t start = at;

		while (stop < n && text[stop] != ' ' && text[stop] != '\t') {
			if (text[stop] == '/')
				start = stop + 1;
			stop++;
		}
		for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
			size_t m = strlen(programs[i].program);

			if (stop - start >= m && !memcmp(text + start, programs[i].program, m))
				return programs[i].lang;
		}
		at = stop + 1;
	}
	return BAWN_LANG_AUTO;
}

static void weigh_line(const char *line, size_t len, int score[BAWN_LANG_COUNT])
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		size_t m = strlen(signs[i].begin);

		if (len >= m && !memcmp(line, signs[i].begin, m) &&
			memmem(line + m, len - m, signs[i].has, strlen(signs[i].has)))
			score[signs[i].lang] += signs[i].weight;
	}
}

static enum bawn_lang by_content(const char *text, size_t len)
{
	int score[BAWN_LANG_COUNT] = {0};
	enum bawn_lang best = BAWN_LANG_AUTO;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t stop = end ? (size_t)(end - text) + 1 : len;

		while (at < stop && (text[at] == ' ' || text[at] == '\t'))
			at++;
		weigh_line(text + at, stop - at, score);
		at = stop;
	}
	for (unsigned i = 1; i < BAWN_LANG_COUNT; i++)
		if (score[i] >= SURE && score[i] > score[best])
			best = (enum bawn_lang)i;
	return best;
}

enum bawn_lang bawn_lang_guess(const char *name, const char *text, size_t len)
{
	enum bawn_lang l = by_extension(name);
	const char *dot = extension_of(name);

	if (len > LOOK_AT)
		len = LOOK_AT;
	if (l == BAWN_LANG_AUTO)
		l = by_first_line(text, len);
	/* an extension that is none of ours names another language */
	if (l == BAWN_LANG_AUTO && (!dot || !strcmp(dot, ".txt")))
		l = by_content(text, len);
	return l;
}
