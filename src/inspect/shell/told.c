/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that a program is told to run without a shell's words: variables that name its pager or
 * its editor, orders of debuggers and editors, lists behind :::, and what is fed to a shell on
 * another machine.
 */
#include <string.h>

#include "base/buf.h"
#include "inspect/shell/model.h"
#include "inspect/shell/read.h"

/* Prompts are read as between double quotes: $( ) in them runs. */
static const char *prompt(struct sh *s, const char *text)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	if (!sh_substitutes(text, strlen(text)))
		return NULL;
	bawn_buf_puts(&b, ": \"");
	for (; *text; text++) {
		if (*text == '"')
			bawn_buf_puts(&b, "\\");
		bawn_buf_add(&b, text, 1);
	}
	bawn_buf_puts(&b, "\"");
	return b.failed ? NULL : bawn_arena_strndup(s->a, b.data, b.len);
}

/* CARGO_TARGET_X_RUNNER, GIT_CONFIG_VALUE_0 */
static bool starts_value(const char *name)
{
	size_t n = strlen(name);

	return !strncmp(name, "GIT_CONFIG_VALUE_", 17) ||
	       (!strncmp(name, "CARGO_", 6) && n > 13 &&
		       (!strcmp(name + n - 7, "_RUNNER") || !strcmp(name + n - 8, "_WRAPPER")));
}

/* x='a[$(cmd)]': arithmetic with x will run cmd, and nothing else is written like that. */
static bool holds_index(const char *value)
{
	return sh_name_char(value[0], true) && (strstr(value, "[$(") || strstr(value, "[`"));
}

/* NAME=VALUE where programs run what the value says. */
static const char *command_of(struct sh *s, const char *word)
{
	const char *eq = strchr(word, '=');
	const char *name = eq ? bawn_arena_strndup(s->a, word, (size_t)(eq - word)) : NULL;

	if (name && sh_is(name, "|PS0|PS1|PS2|PS4|"))
		return prompt(s, eq + 1);
	if (name && sh_is(name, "|ENV|BASH_ENV|"))
		return sh_file_text(s, eq + 1); /* read before anything else */
	if (name && holds_index(eq + 1))
		return prompt(s, eq + 1);
	if (name && starts_value(name))
		return eq + 1;
	return name && sh_is(name, "|PAGER|GIT_PAGER|MANPAGER|SYSTEMD_PAGER|EDITOR|VISUAL|BROWSER|"
				   "GIT_EDITOR|GIT_SEQUENCE_EDITOR|GIT_SSH|GIT_SSH_COMMAND|"
				   "GIT_ASKPASS|SSH_ASKPASS|SUDO_ASKPASS|GIT_EXTERNAL_DIFF|"
				   "GIT_PROXY_COMMAND|RSYNC_RSH|LESSOPEN|LESSCLOSE|CVS_RSH|"
				   "PROMPT_COMMAND|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|RUSTC|"
				   "FZF_DEFAULT_COMMAND|"
				   "CMAKE_C_COMPILER_LAUNCHER|CMAKE_CXX_COMPILER_LAUNCHER|")
		       ? eq + 1 + (eq[1] == '|')
		       : NULL;
}

void sh_told_variables(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	for (size_t i = 0; i < c->assigns.n; i++)
		(void)sh_inner_put(s, in, command_of(s, c->assigns.v[i].text), 0);
	for (size_t i = 1; c->args.n && sh_is(c->args.v[0].text, "|export|declare|typeset|env|") &&
			   i < c->args.n;
		i++)
		(void)sh_inner_put(s, in, command_of(s, c->args.v[i].text), 0);
}

/* Words that stand at the start of a line or behind a semicolon, by the program that knows them. */
static const struct {
	const char *program, *order;
} orders[] = {
	{"|tclsh|wish|expect|", "exec "},
	{"|expect|", "spawn "},
	{"|expect|", "system "},
	{"|gdb|lldb|", "shell "},
	{"|lldb|", "platform shell "},
	{"|gdb|ed|ex|vi|vim|ftp|lftp|sftp|ipython|ipython3|mutt|", "!"},
	{"|less|more|", "+!"},
	{"|make|gmake|", "SHELL="},
};

/* The rest of the line; what Tcl has between braces, shells have between quotes. */
static const char *order_text(struct sh *s, const char *programs, const char *p)
{
	char *t = bawn_arena_strndup(s->a, p, strcspn(p, "\n;"));

	for (char *c = t; c && *c && strstr(programs, "expect") && !strchr(t, '\''); c++) {
		if (*c == '{' || *c == '}')
			*c = '"';
	}
	return t;
}

static void order_lines(
	struct sh *s, const struct sh_command *c, struct sh_inners *in, const char *text)
{
	const char *p = text;

	if (!bawn_scan_spend(s->scan, strlen(text)))
		return;
	while (p && *p && in->n < SH_INNER_MAX / 2) {
		size_t n;

		p += strspn(p, " \t");
		for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
			size_t k = strlen(orders[i].order);

			if (sh_is(c->args.v[0].text, orders[i].program) &&
				!strncmp(p, orders[i].order, k))
				(void)sh_inner_put(
					s, in, order_text(s, orders[i].program, p + k), 0);
		}
		n = strcspn(p, "\n;");
		p = p[n] ? p + n + 1 : NULL;
	}
}

/* flock FILE CMD, man -P CMD */
static int wrapped(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	size_t i = 1;

	if (!strcmp(c->args.v[0].text, "man")) {
		(void)sh_inner_put(s, in, sh_option(c, "-P", "--pager"), 0);
		return 0;
	}
	while (i < c->args.n && c->args.v[i].text[0] == '-')
		i += 1 + (size_t)sh_is(c->args.v[i].text, "|-w|-E|--timeout|");
	if (i + 1 < c->args.n && c->args.v[i + 1].text[0] != '-')
		(void)sh_inner_put(s, in, sh_quote_words(s, &c->args, i + 1), 0);
	return 0;
}

/* parallel CMD ::: WORD…: with each of the words, which is as good as with all of them. */
static int listed(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	struct sh_words w = {0};
	bool list = false, bare = false;

	for (size_t i = 1; i < c->args.n; i++) {
		struct sh_word *x;

		/* without CMD the words are what runs */
		bare = bare || (!w.n && !strcmp(c->args.v[i].text, ":::"));
		if (bare && list && in->n < SH_INNER_MAX / 2)
			(void)sh_inner_put(s, in, c->args.v[i].text, 0);

		list = list || !strcmp(c->args.v[i].text, ":::");
		if (!strcmp(c->args.v[i].text, ":::") || (!w.n && c->args.v[i].text[0] == '-') ||
			!strcmp(c->args.v[i].text, "{}"))
			continue;
		x = bawn_grow(s->a, &w.v, &w.n, &w.cap);
		if (!x)
			return sh_no_memory(s);
		*x = c->args.v[i];
	}
	if (list && w.n && !bare) {
		(void)sh_inner_put(s, in,
			strpbrk(w.v[0].text, " \t") ? sh_join_words(s, &w, 0, w.n, ' ').text
						    : sh_quote_words(s, &w, 0),
			0);
	}
	/* … | parallel: the lines are what runs */
	if (!list && !w.n) {
		if (c->in.known && c->in.len)
			(void)sh_inner_put(s, in, c->in.text, 0);
		return sh_vet_execution(s, c, &c->in);
	}
	return 0;
}

/* tmux send-keys -t x 'make' Enter, screen -X stuff 'make': what it types for somebody. */
static void typed(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	bool types = false;

	for (size_t i = 1; i < c->args.n && in->n < SH_INNER_MAX / 2; i++) {
		const char *t = c->args.v[i].text;

		if (types && t[0] != '-' && !sh_is(c->args.v[i - 1].text, "|-t|-N|-p|") &&
			!sh_is(t, "|Enter|C-m|C-c|C-d|Escape|Space|Tab|"))
			(void)sh_inner_put(s, in, t, 0);
		types = types || sh_is(t, "|send-keys|send|stuff|");
	}
}

/* ssh HOST, ssh HOST bash, ssh HOST 'sudo bash -s': a shell there that reads its input. */
static bool remote_shell(struct sh *s, const struct sh_command *c, size_t words)
{
	const char *last = c->args.n > 1 ? c->args.v[c->args.n - 1].text : "";
	const char *before = c->args.n > 2 ? c->args.v[c->args.n - 2].text : "";
	const char *sp;

	if (!words)
		return true;
	sp = strchr(last, ' ');
	if (words == 1 && sp) {
		before = bawn_arena_strndup(s->a, last, (size_t)(sp - last));
		last = strrchr(last, ' ') + 1;
	}
	return sh_is_shell(last) ||
	       (before && sh_is(before, "|sudo|doas|") && sh_is(last, "|-s|-i|")) ||
	       (before && (sh_is_shell(before) || sh_is(before, "|sudo|doas|")) &&
		       sh_is(last, "|-s|-|-e|-es|-se|-xs|--|"));
}

/* … | ssh HOST bash, … | xargs bash -c: the input is what runs. `in` has what ssh was given. */
static int fed(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const char *last = c->args.n > 1 ? c->args.v[c->args.n - 1].text : "";
	const char *before = c->args.n > 2 ? c->args.v[c->args.n - 2].text : "";
	bool remote = strcmp(c->args.v[0].text, "xargs") != 0;
	size_t first = sh_ssh_words(c), words = c->args.n > first ? c->args.n - first : 0;
	int rc;

	if (!(c->how & SH_STDIN))
		return 0;
	if (remote ? !remote_shell(s, c, words) || sh_has(c, "|-N|-W|-L|-R|-D|-f|-n|-O|")
		   : !(sh_is_shell(before) && !strcmp(last, "-c")))
		return 0;
	rc = sh_vet_execution(s, c, &c->in);
	if (rc == 0 && c->in.known && c->in.len)
		(void)sh_inner_put(s, in, c->in.text, remote ? SH_REMOTE : 0);
	return rc;
}

/* bind -x '"\C-a": cmd' */
static const char *key_command(const char *t)
{
	const char *colon = strstr(t, "\":");

	return colon ? colon + 2 : NULL;
}

/* An index is arithmetic, and $( ) in it runs although it was quoted: test -v 'a[$(cmd)]'. */
static void indices(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	if (!sh_is(c->args.v[0].text,
		    "|test|[|[[|let|unset|printf|read|declare|typeset|local|wait|"))
		return;
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (c->args.v[i].known && (strstr(t, "[$(") || strstr(t, "[`")))
			(void)sh_inner_put(s, in, prompt(s, t), 0);
	}
}

/* PERL5OPT='-Mx;system("cmd")' perl …: code that runs first. */
static int code_variables(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->assigns.n; i++) {
		const char *t = c->assigns.v[i].text, *eq = strchr(t, '=');
		const char *name = eq ? bawn_arena_strndup(s->a, t, (size_t)(eq - t)) : NULL;

		if (name && sh_is(name, "|PERL5OPT|PERL5DB|RUBYOPT|PYTHONWARNINGS|"))
			rc = sh_code_inner(s, c, eq + 1, in);
	}
	return rc;
}

/* … | docker exec -i BOX sh */
static int fed_inside(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const char *last = c->args.v[c->args.n - 1].text;
	const char *before = c->args.v[c->args.n - 2].text;
	int rc;

	if (!(c->how & SH_STDIN) ||
		(!sh_is_shell(last) && !(sh_is_shell(before) && sh_is(last, "|-s|-|"))))
		return 0;
	rc = sh_vet_execution(s, c, &c->in);
	if (rc == 0 && c->in.known && c->in.len)
		(void)sh_inner_put(s, in, c->in.text, SH_REMOTE);
	return rc;
}

int sh_told(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const char *p = c->args.n ? c->args.v[0].text : "";
	int rc;

	if (!*p)
		return 0;
	sh_told_variables(s, c, in);
	if (sh_is(p, "|tclsh|wish|expect|gdb|lldb|ed|ex|less|more|make|gmake|ftp|lftp|sftp|ipython|"
		     "ipython3|mutt|")) {
		for (size_t i = 1; i < c->args.n; i++)
			order_lines(s, c, in, c->args.v[i].text);
		if (c->in.known && c->in.len && !sh_is(p, "|less|more|make|gmake|"))
			order_lines(s, c, in, c->in.text);
	}
	indices(s, c, in);
	rc = code_variables(s, c, in);
	if (rc < 0)
		return rc;
	if (!strcmp(p, "bind") && c->args.n > 2 && !strcmp(c->args.v[1].text, "-x"))
		(void)sh_inner_put(s, in, key_command(c->args.v[2].text), 0);
	if (sh_is(p, "|screen|tmux|"))
		typed(s, c, in);
	if (sh_is(p, "|flock|man|"))
		return wrapped(s, c, in);
	if (!strcmp(p, "parallel"))
		return listed(s, c, in);
	if (sh_is(p, "|ssh|xargs|")) {
		sh_given(s, c, in);
		return fed(s, c, in);
	}
	if (sh_is(p, "|docker|podman|kubectl|oc|nerdctl|lxc|") && sh_has(c, "|exec|run|")) {
		rc = fed_inside(s, c, in);
		if (rc < 0)
			return rc;
	}
	sh_given(s, c, in);
	sh_handed(s, c, in);
	return 0;
}
