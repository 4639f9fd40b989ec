/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines among the words of programs that do something else: behind an option (git rebase
 * --exec, rsync --rsh, nodemon --exec), behind an order (uv run, git bisect run), and `sh -c TEXT`
 * behind whatever program, known or not.
 */
#include <string.h>
#include <strings.h>

#include "inspect/shell/model.h"

/* The word behind an option, or after its =, is read by a shell. An order must stand before it. */
static const struct {
	const char *programs, *order, *options;
} lines[] = {
	{"|git|", "rebase", "|-x|--exec|"},
	{"|git|", "difftool", "|-x|--extcmd|"},
	{"|git|", "filter-branch",
		"|--tree-filter|--env-filter|--index-filter|--msg-filter|--commit-filter|"
		"--parent-filter|--tag-name-filter|--setup|"},
	{"|git|", "grep", "|-O|--open-files-in-pager|"},
	{"|git|", "clone", "|-u|"},
	{"|git|", "archive", "|--exec|"},
	{"|wget|", "", "|--use-askpass|"},
	{"|git|", "", "|--upload-pack|--receive-pack|--sendmail-cmd|--to-cmd|--cc-cmd|"},
	{"|rsync|", "", "|-e|--rsh|--rsync-path|"},
	{"|tar|gtar|bsdtar|", "", "|-F|--info-script|--new-volume-script|"},
	{"|zip|", "", "|-TT|--unzip-command|"},
	{"|scp|sftp|", "", "|-S|"},
	{"|npm|npx|pnpm|yarn|", "", "|-c|--call|--script-shell|"},
	{"|nix-shell|", "", "|--run|--command|"},
	{"|nodemon|", "", "|-x|--exec|"},
	{"|entr|", "", "|-s|-rs|-cs|-ns|"},
	{"|fzf|", "", "|--preview|"},
	{"|rg|", "", "|--pre|"},
	{"|split|", "", "|--filter|"},
	{"|sort|", "", "|--compress-program|"},
	{"|tcpdump|", "", "|-z|"},
	{"|go|", "", "|-exec|-toolexec|"},
	{"|nc|ncat|netcat|", "", "|-c|--sh-exec|-e|--exec|"},
	{"|mapfile|readarray|compgen|complete|", "", "|-C|"},
	{"|hyperfine|", "", "|-p|--prepare|-c|--cleanup|-s|--setup|"},
	{"|lftp|", "", "|-e|-c|"},
	{"|cargo|", "", "|--runner|"},
};

/* These hand the words themselves to a shell. */
static const char shells[] = "|hyperfine|concurrently|sem|";

/* Behind the order, and behind `skip` words of its own, stands a program with its words. */
static const struct {
	const char *programs, *before, *order;
	size_t skip;
} starts[] = {
	{"|uv|poetry|pipenv|hatch|pdm|rye|conda|mamba|micromamba|pixi|devbox|toolbox|heroku|op|"
	 "flatpak|snap|doppler|infisical|",
		"", "run", 0},
	{"|bundle|npm|pnpm|yarn|mise|rtx|asdf|opam|stack|cabal|composer|", "", "exec", 0},
	{"|aws-vault|direnv|chamber|sops|", "", "exec", 1},
	{"|git|", "bisect", "run", 0},
	{"|ip|", "netns", "exec", 1},
	{"|nix|", "", "-c", 0},
	{"|cmake|", "", "-E", 0},
	{"|nix|", "", "--command", 0},
	{"|fd|fdfind|", "", "-x", 0},
	{"|fd|fdfind|", "", "--exec", 0},
	{"|fd|fdfind|", "", "-X", 0},
	{"|fd|fdfind|", "", "--exec-batch", 0},
	{"|perf|", "", "stat", 0},
	{"|perf|", "", "record", 0},
	{"|perf|", "", "trace", 0},
	{"|npx|bunx|pnpx|valgrind|xvfb-run|prlimit|chpst|dtach|abduco|with-contenv|dotenv|setuidgid|"
	 "envdir|s6-setuidgid|systemd-inhibit|systemd-cat|dumb-init|tini|nsjail|proot|bwrap|rr|"
	 "ccache|distcc|watchexec|heaptrack|cgexec|pgrphack|entr|flatpak-spawn|"
	 "distrobox-host-exec|dbus-launch|uftrace|xe|ld.so|ld-linux-x86-64.so.2|"
	 "ld-linux-aarch64.so.1|ld-linux.so.2|",
		"", "", 0},
};

static bool said(const struct sh_command *c, const char *order)
{
	for (size_t i = 1; *order && i < c->args.n; i++) {
		if (!strcmp(c->args.v[i].text, order))
			return true;
	}
	return !*order;
}

static void option_lines(struct sh *s, const struct sh_command *c, struct sh_inners *in, size_t row)
{
	for (size_t i = 1; i < c->args.n && in->n < SH_INNER_MAX / 2; i++) {
		const char *t = c->args.v[i].text, *eq = t[0] == '-' ? strchr(t, '=') : NULL;
		const char *name = eq ? bawn_arena_strndup(s->a, t, (size_t)(eq - t)) : t;

		if (!name || !sh_is(name, lines[row].options))
			continue;
		(void)sh_inner_put(s, in,
			eq                  ? eq + 1
			: i + 1 < c->args.n ? c->args.v[i + 1].text
					    : NULL,
			0);
	}
}

/* Which of the words is the program cannot be told without knowing each option: a word right
 * behind one may belong to it. */
static void first_words(struct sh *s, const struct sh_command *c, struct sh_inners *in, size_t i)
{
	bool option = false;

	for (; i < c->args.n && in->n < SH_INNER_MAX / 2; i++) {
		const char *t = c->args.v[i].text;
		bool own = option;

		option = t[0] == '-' && strcmp(t, "--") != 0 && !strchr(t, '=');
		if (t[0] == '-' || strchr(t, '='))
			continue;
		(void)sh_inner_put(s, in, sh_quote_words(s, &c->args, i), 0);
		if (!own)
			return;
	}
}

/* fd PATTERN PLACE -x CMD: with everything that is found there. */
static void for_each(struct sh *s, const struct sh_command *c, struct sh_inners *in, size_t i)
{
	const char *place = NULL, *words = sh_quote_words(s, &c->args, i);
	struct sh_words one = {.v = (struct sh_word[]){{.text = ""}}, .n = 1};

	for (size_t k = 2; k + 1 < i; k++) {
		if (c->args.v[k].text[0] == '/' || c->args.v[k].text[0] == '~')
			place = c->args.v[k].text;
	}
	if (!place || !words || strstr(words, "{}")) {
		(void)sh_inner_put(s, in, words, 0);
		return;
	}
	one.v[0].text = place;
	(void)sh_inner_put(
		s, in, bawn_arena_printf(s->a, "%s %s", words, sh_quote_words(s, &one, 0)), 0);
}

static void started(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	for (size_t k = 0; k < sizeof(starts) / sizeof(starts[0]); k++) {
		size_t i = 1;

		if (!sh_is(c->args.v[0].text, starts[k].programs) || !said(c, starts[k].before) ||
			!said(c, starts[k].order))
			continue;
		while (*starts[k].order && strcmp(c->args.v[i++].text, starts[k].order) != 0)
			;
		if (!strncmp(c->args.v[0].text, "fd", 2))
			for_each(s, c, in, i);
		else
			first_words(s, c, in, i + starts[k].skip);
	}
}

/* Programs whose words are text for people, patterns or names. */
static bool only_words(const char *p)
{
	return sh_is(p,
		"|echo|printf|grep|egrep|fgrep|rg|ag|ack|git|gh|glab|man|apropos|which|type|"
		"whereis|alias|history|logger|wall|notify-send|say|jq|yq|sed|gsed|test|[|"
		"export|declare|read|pgrep|pkill|ps|pidof|killall|tldr|apt|apt-get|dnf|"
		"yum|brew|pacman|apk|ls|cat|rm|cp|mv|chmod|chown|diff|cmp|file|stat|");
}

/* PROGRAM … sh -c TEXT, PROGRAM … python -c CODE: the words from there on. */
static void shell_words(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const char *p = c->args.v[0].text;

	for (size_t i = 1; i + 2 < c->args.n; i++) {
		const char *t = sh_base(c->args.v[i].text), *o = c->args.v[i + 1].text;
		bool code;

		if (o[0] != '-' || o[1] == '-' || !strpbrk(o, "cer"))
			continue;
		code = sh_interpreter(t) != BAWN_LANG_AUTO && sh_is(o, "|-c|-e|-r|");
		if (!code && !(sh_is_shell(t) && strchr(o, 'c')))
			continue;
		if (!only_words(p) && !sh_is_shell(p) && sh_interpreter(p) == BAWN_LANG_AUTO)
			(void)sh_inner_put(s, in, sh_quote_words(s, &c->args, i), 0);
		return;
	}
}

/* npm pkg set scripts.x=CMD, socat - SYSTEM:CMD */
static const char *behind_key(const char *t)
{
	if (!strncmp(t, "scripts.", 8) && strchr(t, '='))
		return strchr(t, '=') + 1;
	if (!strncasecmp(t, "system:", 7))
		return t + 7;
	if (!strncasecmp(t, "shell:", 6))
		return t + 6;
	return strncasecmp(t, "exec:", 5) == 0 ? t + 5 : NULL;
}

/* git submodule foreach 'CMD' */
static void in_submodules(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	size_t i = 1;

	while (i < c->args.n && strcmp(c->args.v[i].text, "foreach") != 0)
		i++;
	for (i++; i < c->args.n && c->args.v[i].text[0] == '-';)
		i++;
	if (i < c->args.n)
		(void)sh_inner_put(s, in, sh_join_words(s, &c->args, i, c->args.n, ' ').text, 0);
}

static void known_ways(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const char *p = c->args.v[0].text;

	for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
		if (sh_is(p, lines[k].programs) && said(c, lines[k].order))
			option_lines(s, c, in, k);
	}
	for (size_t i = 1; sh_is(p, shells) && i < c->args.n && in->n < SH_INNER_MAX / 2; i++) {
		if (c->args.v[i].text[0] != '-' && strpbrk(c->args.v[i].text, " \t\n"))
			(void)sh_inner_put(s, in, c->args.v[i].text, 0);
	}
	if (!strcmp(p, "git") && said(c, "submodule"))
		in_submodules(s, c, in);
	for (size_t i = 1; sh_is(p, "|npm|pnpm|yarn|socat|") && i < c->args.n; i++)
		(void)sh_inner_put(s, in, behind_key(c->args.v[i].text), 0);
	started(s, c, in);
}

void sh_handed(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	if (c->args.n > 1)
		known_ways(s, c, in);
	if (!in->n)
		shell_words(s, c, in);
}
