/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strings that a source text in some language hands to a shell: system("…"), `…`, qx{…},
 * %x(…), [[…]], ["sh", "-c", "…"], and pipes of awk. No grammar: what stands before a string says
 * what becomes of it.
 */
#include <ctype.h>
#include <string.h>

#include "inspect/scan.h"
#include "inspect/shell/shell.h"

#define STRINGS_MAX 64
#define GAP_MAX     256 /* between a call and what it is given */

const char *sh_string_end(const char *p)
{
	char q = *p++;

	while (*p && *p != q)
		p += *p == '\\' && p[1] ? 2 : 1;
	return p;
}

/* What joins the string that ends at `end` to another one: nothing, + or a dot. */
static const char *next_string(const char *end)
{
	const char *p = *end ? end + 1 : end;

	p += strspn(p, " \t");
	if (*p == '+' || *p == '.')
		p += 1 + strspn(p + 1, " \t");
	return *p == '"' || *p == '\'' ? p : NULL;
}

int sh_add_string(struct sh *s, struct sh_inners *in, const char *p)
{
	const char *end = sh_string_end(p), *next = *p == '`' ? NULL : next_string(end);
	size_t n = (size_t)(end - p - 1), k = 0;
	const char *t = *p == '`' ? bawn_arena_strndup(s->a, p + 1, n)
				  : sh_decode_escapes(s->a, p + 1, n, &k);

	for (unsigned i = 0; t && next && i < STRINGS_MAX; i++) {
		const char *more;

		end = sh_string_end(next);
		more = sh_decode_escapes(s->a, next + 1, (size_t)(end - next - 1), &k);
		t = more ? bawn_arena_printf(s->a, "%s%s", t, more) : NULL;
		next = next_string(end);
	}
	if (!t)
		return sh_no_memory(s);
	(void)sh_inner_put(s, in, t, 0);
	return 0;
}

static bool before(const char *code, const char *p, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(p - code) >= n && !strncmp(p - n, word, n);
}

/* Is the string at p given to something that runs it? Looks at what stands before it. */
static bool runs_string(const char *code, const char *p)
{
	static const char *const calls[] = {"system", "exec", "popen", "Popen", "shell_exec",
		"passthru", "execSync", "spawn", "spawnSync", "os.execute", "call", "run",
		"check_output", "check_call", "getoutput", "qx", "exec!", "proc_open", "execute",
		"run-shell-command", "shell-command", "getstatusoutput", "posix_spawn", "cmd",
		"do.shell.script", "do shell script", "do script", "callCommand", "System.shell",
		"capture2", "capture2e", "capture3", "popen3", "Command", "execvp", "execv",
		"execlp", "execl", "spawnvp", "spawnlp", "send(:system,", "send(:exec,"};
	const char *q = p;

	while (q > code && p - q < GAP_MAX && strchr(" \t\n([{'\"]", q[-1]))
		q--;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (before(code, q, calls[i]))
			return true;
	}
	return false;
}

/* "cmd" | getline, print | "cmd": pipes of awk. */
static bool piped_string(const char *code, const char *p)
{
	const char *end = sh_string_end(p), *q = p;

	while (q > code && strchr(" \t(", q[-1]))
		q--;
	if (q > code && q[-1] == '|')
		return true;
	for (end += *end != 0; *end && strchr(" \t)", *end);)
		end++;
	if (*end != '|')
		return false;
	end += 1 + (end[1] == '&');
	return !strncmp(end + strspn(end, " \t"), "getline", 7);
}

/* How languages write somebody's home; 0: p is something else. */
static size_t home_at(const char *p)
{
	static const char *const ways[] = {"$ENV{HOME}", "$ENV{'HOME'}", "ENV['HOME']",
		"ENV[\"HOME\"]", "os.environ['HOME']", "os.environ[\"HOME\"]", "process.env.HOME",
		"os.homedir()", "Dir.home", "os.path.expanduser('~')", "os.path.expanduser(\"~\")",
		"getenv('HOME')", "getenv(\"HOME\")"};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!strncmp(p, ways[i], strlen(ways[i])))
			return strlen(ways[i]);
	}
	return 0;
}

/* subprocess.run(["rm", "-rf", "/"]): the strings of the list as one command. */
static int add_list(struct sh *s, struct sh_inners *in, const char *p)
{
	struct sh_words w = {0};
	size_t home = 0;

	while (*p == '"' || *p == '\'' || (home = home_at(p))) {
		const char *end = home ? p + home - 1 : sh_string_end(p);
		struct sh_word *x = bawn_grow(s->a, &w.v, &w.n, &w.cap);

		if (!x)
			return sh_no_memory(s);
		*x = (struct sh_word){
			.text = home ? "~" : bawn_arena_strndup(s->a, p + 1, (size_t)(end - p - 1)),
			.known = true};
		if (!x->text)
			return sh_no_memory(s);
		home = 0;
		for (p = *end ? end + 1 : end; *p && strchr(" ,\n[", *p);)
			p++;
	}
	if (w.n > 1)
		(void)sh_inner_put(s, in, sh_quote_words(s, &w, 0), 0);
	return 0;
}

/* system(q{…}), system qq(…), qx{…} in perl, %x(…) and %q(…) in ruby, [[…]] in lua: where their own
 * quotes end; NULL: p is no such quote, or nothing runs it. */
static const char *own_quote(
	const char *prog, const char *code, const char *p, const char **ret_text)
{
	static const char opens[] = "{(<[/|!", closes[] = "})>]/|!";
	bool perl = !strncmp(prog, "perl", 4), ruby = !strncmp(prog, "ruby", 4);
	const char *from = p, *open, *end;
	size_t depth = 1;
	bool runs;

	if ((!strncmp(prog, "lua", 3) || !strcmp(prog, "nvim")) && p[0] == '[' && p[1] == '[') {
		if (!runs_string(code, p))
			return NULL;
		*ret_text = p + 2;
		end = strstr(p + 2, "]]");
		return end ? end : p + strlen(p);
	}
	if (!(perl && p[0] == 'q') && !(ruby && p[0] == '%'))
		return NULL;
	if (p > code && isalnum((unsigned char)p[-1]))
		return NULL;
	p += 1 + (p[1] && strchr(perl ? "qxw" : "qQxw", p[1]));
	runs = p[-1] == 'x' || runs_string(code, from) || (perl && strstr(code, "open"));
	open = *p ? strchr(opens, *p) : NULL;
	if (!open || !runs)
		return NULL;
	for (end = p + 1; *end; end++) {
		depth += *end == *open && *end != closes[open - opens];
		depth -= *end == closes[open - opens];
		if (!depth)
			break;
	}
	*ret_text = p + 1;
	return end;
}

static void own_quotes(struct sh *s, const char *prog, const char *code, struct sh_inners *in)
{
	for (const char *p = code; *p && in->n < SH_INNER_MAX / 2; p++) {
		const char *text, *end = own_quote(prog, code, p, &text);

		if (!end)
			continue;
		(void)sh_inner_put(s, in, bawn_arena_strndup(s->a, text, (size_t)(end - text)), 0);
		p = end - 1;
	}
}

static bool holds(const char *p, const char *list)
{
	size_t n = (size_t)(sh_string_end(p) - p - 1);
	char word[16];

	if (n >= sizeof(word))
		return false;
	memcpy(word, p + 1, n);
	word[n] = 0;
	return sh_is(list ? word : sh_base(word), list ? list : "|sh|bash|dash|zsh|ksh|ash|");
}

/* One text while its strings are walked: the two before this one, and where the statement began. */
struct walk {
	struct sh *s;
	struct sh_inners *in;
	const char *code, *prog;
	const char *last, *last2, *statement;
};

/* "sh", "-c", "…" in any list; open(F, "-|", "…") and open(F, "… |") in perl. */
static bool by_others(const struct walk *w, const char *p)
{
	const char *end = sh_string_end(p);

	if (w->last && w->last2 && holds(w->last, "|-c|-lc|-ec|-ic|") && holds(w->last2, NULL))
		return true;
	if (strncmp(w->prog, "perl", 4) != 0 || !strstr(w->code, "open"))
		return false;
	return (w->last && (!strncmp(w->last + 1, "-|", 2) || !strncmp(w->last + 1, "|-", 2))) ||
	       (end - p > 4 && (end[-1] == '|' || p[1] == '|'));
}

/* print "…" | "sh": what is printed is run. */
static int printed(struct walk *w, const char *p)
{
	const char *q = p;
	int rc = 0;

	while (q > w->code && strchr(" \t(", q[-1]))
		q--;
	if (q == w->code || q[-1] != '|' || !holds(p, NULL))
		return 0;
	for (q = w->statement; rc == 0 && q < p; q++) {
		if (*q != '"')
			continue;
		rc = sh_add_string(w->s, w->in, q);
		q = sh_string_end(q);
	}
	return rc;
}

/* $f("…") in php: whatever $f is called. */
static bool called_by_name(const struct walk *w, const char *p)
{
	const char *q = p;

	if (strncmp(w->prog, "php", 3) != 0 || q == w->code || q[-1] != '(')
		return false;
	for (q--; q > w->code && (isalnum((unsigned char)q[-1]) || q[-1] == '_');)
		q--;
	return q > w->code && q[-1] == '$' && q < p - 1;
}

static int one_string(struct walk *w, const char *p, size_t *found)
{
	bool awk = strstr(w->prog, "awk") != NULL;
	int rc;

	if (w->in->n >= SH_INNER_MAX - 2)
		return 0;
	if (*p != '`' && !runs_string(w->code, p) && !by_others(w, p) && !called_by_name(w, p) &&
		!(awk && piped_string(w->code, p)))
		return 0;
	rc = sh_add_string(w->s, w->in, p);
	if (rc == 0)
		rc = add_list(w->s, w->in, p);
	if (rc == 0 && awk)
		rc = printed(w, p);
	(*found)++;
	return rc;
}

int sh_code_inner(struct sh *s, const struct sh_command *c, const char *code, struct sh_inners *in)
{
	const char *prog = c->args.n ? c->args.v[0].text : "";
	struct walk w = {.s = s, .in = in, .code = code, .prog = prog, .statement = code};
	size_t found = 0;

	if (!bawn_scan_spend(s->scan, strlen(code)))
		return 0;
	own_quotes(s, prog, code, in);
	for (const char *p = code; *p; p++) {
		int rc;

		if (found > SH_INNER_MAX / 2) {
			s->deep = true;
			break;
		}
		if (*p == '\\' && p[1]) {
			p++;
			continue;
		}
		if (strchr(";{}\n", *p))
			w.statement = p;
		if (*p != '"' && *p != '\'' && *p != '`')
			continue;
		rc = one_string(&w, p, &found);
		if (rc < 0)
			return rc;
		w.last2 = w.last;
		w.last = p;
		p = sh_string_end(p);
		if (!*p)
			break;
	}
	return 0;
}
