/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a command, so that quoting, spacing and paths do not hide a program from a rule:
 * c"ur"l, /usr/bin/curl and curl are one word.
 */
#include "inspect/shell_words.h"

#include <errno.h>
#include <string.h>

static const char *const shells[] = {"sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh",
	"pdksh", "lksh", "yash", "posh", "fish", "csh", "tcsh", "elvish", "nu", "xonsh", "pwsh"};
static const char *const wrappers[] = {"sudo", "doas", "su", "runuser", "env", "nohup", "nice",
	"ionice", "chrt", "taskset", "command", "exec", "builtin", "eval", "time", "timeout",
	"xargs", "parallel", "find", "fd", "stdbuf", "setsid", "setpriv", "script", "strace",
	"ltrace", "gdb", "busybox", "toybox", "chroot", "unshare", "nsenter", "bwrap", "watch",
	"flock", "catchsegv", "ld.so", "ld-linux-x86-64.so.2", "systemd-run", "proot", "fakeroot"};
static const char *const keywords[] = {
	"if", "then", "else", "elif", "while", "until", "do", "!", "{", "coproc", "time"};

static bool listed(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(word, list[i]))
			return true;
	}
	return false;
}
#define LISTED(word, list) listed((word), (list), sizeof(list) / sizeof((list)[0]))

const char *shell_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool shell_is_shell(const char *word)
{
	const char *base = shell_basename(word);
	char name[16];
	size_t n;

	base += *base == '-';
	n = strlen(base);
	while (n && strchr("0123456789.-", base[n - 1]))
		n--;
	if (!n || n >= sizeof(name))
		return false;
	memcpy(name, base, n);
	name[n] = '\0';
	return LISTED(name, shells);
}

bool shell_is_wrapper(const char *word)
{
	return LISTED(shell_basename(word), wrappers);
}

int shell_words_add(struct bawn_arena *a, struct shell_words *out, const char *text, bool op)
{
	struct shell_word *w = bawn_grow(a, &out->v, &out->n, &out->cap);

	if (!w)
		return -ENOMEM;
	*w = (struct shell_word){.text = text, .op = op};
	return 0;
}

struct splitter {
	struct bawn_arena *a;
	struct shell_words *out;
	struct bawn_strlist *inner;
	struct bawn_buf word;
	bool in_word;
	const char *script;
	size_t at; /* where the word began */
};

static int end_word(struct splitter *s)
{
	const char *text;

	if (!s->in_word)
		return 0;
	s->in_word = false;
	text = bawn_arena_strndup(s->a, s->word.data ? s->word.data : "", s->word.len);
	s->word.len = 0;
	if (!text || shell_words_add(s->a, s->out, text, false) < 0)
		return -ENOMEM;
	s->out->v[s->out->n - 1].at = s->at;
	return 0;
}

/* An operator at `p`: end the word before it, add it, return its length. */
static int take_operator(struct splitter *s, const char *p)
{
	size_t n = 1;
	const char *text;
	int r = end_word(s);

	if (r < 0)
		return r;
	if (*p == '<' || *p == '>')
		n = strspn(p, "<>");
	else if ((*p == '|' || *p == '&') && p[1] == *p)
		n = 2;
	text = *p == '\n' ? ";" : bawn_arena_strndup(s->a, p, n);
	r = text ? shell_words_add(s->a, s->out, text, true) : -ENOMEM;
	return r < 0 ? r : (int)n;
}

static void take(struct splitter *s, const char *p, size_t n)
{
	if (!s->in_word)
		s->at = (size_t)(p - s->script);
	s->in_word = true;
	bawn_buf_add(&s->word, p, n);
}

/* A quoted part at `p`, its quotes included; returns its length. A quote that never ends runs to
 * the end. */
static int take_quoted(struct splitter *s, const char *p)
{
	const char quote = *p;
	const char *q = p + 1;

	take(s, q, 0);
	for (; *q && *q != quote; q++) {
		if (quote == '"' && *q == '\\' && q[1] && strchr("\\\"$`\n", q[1]))
			q++;
		else if (quote == '"' && (*q == '`' || (*q == '$' && q[1] == '('))) {
			if (bawn_strlist_add(s->a, s->inner, q + (*q == '`' ? 1 : 2)) < 0)
				return -ENOMEM;
		}
		take(s, q, 1);
	}
	return (int)(q - p) + (*q != '\0');
}

/* Whatever stands at `p`; returns how many bytes that was. */
static int take_next(struct splitter *s, const char *p)
{
	int r = 1;

	if (*p == '\\' && p[1]) {
		if (p[1] != '\n')
			take(s, p + 1, 1);
		return 2;
	}
	if (*p == '\'' || *p == '"')
		return take_quoted(s, p);
	if (strchr(";|&()`<>\n", *p))
		return take_operator(s, p);
	if (strchr(" \t\r\v\f", *p)) {
		r = end_word(s);
		return r < 0 ? r : 1;
	}
	/* the dollar of $( $' and $" belongs to what follows */
	if (*p != '$' || !p[1] || !strchr("('\"", p[1]))
		take(s, p, 1);
	return r;
}

int shell_words_split(struct bawn_arena *a, const char *script, struct shell_words *out,
	struct bawn_strlist *inner)
{
	struct splitter s = {.a = a, .out = out, .inner = inner, .script = script};
	int r = 0;

	for (const char *p = script; *p && !s.word.failed; p += r) {
		r = take_next(&s, p);
		if (r < 0)
			break;
	}
	if (r >= 0)
		r = s.word.failed ? s.word.failed : end_word(&s);
	bawn_buf_done(&s.word);
	return r < 0 ? r : 0;
}

static bool is_assignment(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n && (word[n] == '=' || (word[n] == '+' && word[n + 1] == '=')) &&
	       !(word[0] >= '0' && word[0] <= '9');
}

void shell_words_mark(struct shell_words *w)
{
	bool at_start = true, wrapped = false;

	for (size_t i = 0; i < w->n; i++) {
		struct shell_word *x = &w->v[i];

		if (x->op) {
			bool redirect = *x->text == '<' || *x->text == '>';

			/* <( and >( start a command too, through their parenthesis */
			at_start = at_start || !redirect;
			wrapped = wrapped && redirect;
			continue;
		}
		x->starts = at_start || wrapped;
		if (!at_start)
			continue;
		at_start = is_assignment(x->text) || LISTED(x->text, keywords);
		wrapped = wrapped || shell_is_wrapper(x->text);
	}
}

/* An option of a shell whose value is the next word: -o pipefail, -eo pipefail, --rcfile FILE. */
static bool takes_value(const char *option)
{
	size_t n = strlen(option);

	if (!strcmp(option, "--rcfile") || !strcmp(option, "--init-file"))
		return true;
	return n >= 2 && option[1] != '-' && (option[n - 1] == 'o' || option[n - 1] == 'O');
}

static bool is_script_option(const char *option)
{
	return (*option == '-' && option[1] != '-' && strchr(option, 'c')) ||
	       !strcmp(option, "--command");
}

/* The script of a shell. Options may stand before and behind -c: sh -e -c -u SCRIPT. */
static const char *shell_script(const struct shell_words *w, size_t i)
{
	bool given = false;

	for (size_t j = i + 1; j < w->n && !w->v[j].op; j++) {
		const char *t = w->v[j].text;

		if (*t != '-' && *t != '+')
			return given ? t : NULL;
		given = given || is_script_option(t);
		if (!strncmp(t, "--command=", 10))
			return t + 10;
		if (takes_value(t))
			j++;
	}
	return NULL;
}

/* The script of a program that hands it to a shell: su root -c SCRIPT. */
static const char *handed_script(const struct shell_words *w, size_t i)
{
	for (size_t j = i + 1; j + 1 < w->n && !w->v[j].op; j++) {
		const char *t = w->v[j].text;

		if (!strncmp(t, "--command=", 10))
			return t + 10;
		if (is_script_option(t) && !w->v[j + 1].op)
			return w->v[j + 1].text;
	}
	return NULL;
}

const char *shell_script_at(const struct shell_words *w, size_t i)
{
	static const char *const hand[] = {"su", "runuser", "script", "flock"};
	static const char *const whole[] = {"eval", "watch", "trap", "parallel", "<<<"};

	if (i && !w->v[i].op && LISTED(shell_basename(w->v[i - 1].text), whole))
		return w->v[i].text;
	if (w->v[i].op)
		return NULL;
	if (shell_is_shell(w->v[i].text))
		return shell_script(w, i);
	return LISTED(shell_basename(w->v[i].text), hand) ? handed_script(w, i) : NULL;
}
