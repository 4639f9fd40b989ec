/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Private to src/inspect: a command as a flat list of words and operators. This is not a shell
 * parser; where it cannot tell, it errs towards more places where a command may start.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

struct shell_word {
	const char *text; /* quotes and backslashes taken away; an operator as it is */
	bool op;          /* ; | || & && ( ) ` and redirections */
	bool starts;      /* a command may start here */
	size_t at;        /* where it began in the script */
};

struct shell_words {
	struct shell_word *v;
	size_t n, cap;
};

/* Split a script. `inner` gets the text behind each $( or ` inside double quotes. */
int shell_words_split(struct bawn_arena *a, const char *script, struct shell_words *out,
	struct bawn_strlist *inner);
/* Words that are already apart, e.g. argv. */
int shell_words_add(struct bawn_arena *a, struct shell_words *out, const char *text, bool op);
/* Set `starts`: behind operators, assignments, keywords, and every word behind a program that runs
 * another (env, sudo, xargs, …). */
void shell_words_mark(struct shell_words *w);
const char *shell_basename(const char *path);
/* sh, bash, … by any path, version suffix or leading dash. */
bool shell_is_shell(const char *word);
/* A program that runs the program named by its arguments. */
bool shell_is_wrapper(const char *word);
/* A script for a shell that stands at or is given to w[i] (sh -c SCRIPT, su -c SCRIPT, eval
 * SCRIPT, <<< SCRIPT), else NULL. */
const char *shell_script_at(const struct shell_words *w, size_t i);
