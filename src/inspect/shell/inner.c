/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts that hide in the arguments of programs with another purpose: find -exec, git aliases,
 * tar's checkpoint actions, awk's system(), and the strings that a one-liner in another language
 * hands to a shell.
 */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "inspect/scan.h"
#include "inspect/shell/model.h"

#define UNIT_KEY 20 /* longer than ExecStartPost= */

/* What find calls the files that it looks for, with a slash before it. */
static const char *find_name(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i + 1 < c->args.n; i++) {
		if (sh_is(c->args.v[i].text, "|-name|-iname|"))
			return bawn_arena_printf(s->a, "/%s", c->args.v[i + 1].text);
	}
	return "";
}

/* The words behind -exec, up to its end; `found` stands for {}. */
static int exec_words(struct sh *s, const struct sh_command *c, size_t *i, const char *found,
	struct sh_words *w, bool *filled)
{
	for (; *i < c->args.n; (*i)++) {
		struct sh_word *x;
		const char *t = c->args.v[*i].text, *hole = strstr(t, "{}");

		if (!strcmp(t, ";") || !strcmp(t, "+"))
			break;
		*filled = *filled || hole;
		x = bawn_grow(s->a, &w->v, &w->n, &w->cap);
		if (!x)
			return sh_no_memory(s);
		*x = c->args.v[*i];
		if (hole)
			x->text = bawn_arena_printf(
				s->a, "%.*s%s%s", (int)(hole - t), t, found, hole + 2);
		if (!x->text)
			return sh_no_memory(s);
	}
	return 0;
}

/* -exec CMD … ; — {} becomes the first place that is searched, with the name for what only reads.
 */
static int find(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	const char *place = c->args.n > 1 && c->args.v[1].text[0] != '-' ? c->args.v[1].text : ".";
	const char *name = find_name(s, c);
	const char *file = name ? bawn_arena_printf(s->a, "%s%s", place, name) : NULL;

	if (!file)
		return sh_no_memory(s);
	for (size_t i = 1; i + 1 < c->args.n; i++) {
		struct sh_words w = {0};
		bool reads = sh_is(sh_base(c->args.v[i + 1].text),
				     "|cat|curl|wget|scp|nc|base64|strings|head|xxd|") ||
			     (i + 2 < c->args.n && sh_is_shell(c->args.v[i + 1].text) &&
				     !strcmp(c->args.v[i + 2].text, "{}"));
		bool filled = false;

		if (!sh_is(c->args.v[i].text, "|-exec|-execdir|-ok|-okdir|"))
			continue;
		i++;
		if (exec_words(s, c, &i, reads ? file : place, &w, &filled) < 0)
			return sh_no_memory(s);
		(void)sh_inner_put(s, in, sh_quote_words(s, &w, 0), filled ? SH_ARGSIN : 0);
	}
	return 0;
}

/* What follows `key` in some word. */
static const char *behind(const struct sh_command *c, const char *key)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *p = strstr(c->args.v[i].text, key);

		if (p && p == c->args.v[i].text)
			return p[strlen(key)] || i + 1 >= c->args.n ? p + strlen(key)
								    : c->args.v[i + 1].text;
	}
	return NULL;
}

/* ext::sh -c a% b: git splits the words itself, and % before a blank keeps it in its word. */
static const char *ext_command(struct sh *s, const char *t)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	bawn_buf_puts(&b, "'");
	for (; *t; t++) {
		if (*t == '%' && t[1])
			bawn_buf_add(&b, ++t, 1);
		else if (*t == '\'')
			bawn_buf_puts(&b, "'\\''");
		else if (*t == ' ')
			bawn_buf_puts(&b, "' '");
		else
			bawn_buf_add(&b, t, 1);
	}
	bawn_buf_puts(&b, "'");
	return b.failed ? NULL : bawn_arena_strndup(s->a, b.data, b.len);
}

/* Files that the text itself wrote where git will look for hooks. */
static void hooks(struct sh *s, struct sh_inners *in, const char *dir)
{
	size_t n = dir ? strlen(dir) : 0;

	for (size_t i = 0; i < SH_BUCKETS; i++) {
		for (const struct sh_file *f = dir ? s->files[i] : NULL; f; f = f->next) {
			if (!strncmp(f->path, dir, n) && f->path[n] == '/' && f->data.known &&
				in->n < SH_INNER_MAX / 2)
				(void)sh_inner_put(s, in, f->data.text, 0);
		}
	}
}

static int git(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	static const char *const keys[] = {"core.sshCommand", "core.pager", "core.editor",
		"core.fsmonitor", "sequence.editor", "diff.external", "credential.helper",
		"core.askPass", "gpg.program", "alias.", "protocol.ext.allow", "filter."};

	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text, *eq = strchr(t, '=');
		const char *v = eq ? eq + 1 : i + 1 < c->args.n ? c->args.v[i + 1].text : "";

		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			if (strncasecmp(t, keys[k], strlen(keys[k])) != 0)
				continue;
			if (*v == '!')
				v++;
			else if (!strncasecmp(t, "alias.", 6))
				continue;
			(void)sh_inner_put(s, in, v, 0);
		}
		if (!strncmp(t, "ext::", 5))
			(void)sh_inner_put(s, in, ext_command(s, t + 5), 0);
		if (!strncasecmp(t, "core.hooksPath", 14) && *v)
			hooks(s, in, v);
		if (*v && (!strncasecmp(t, "init.templateDir", 16) || sh_is(t, "|--template|") ||
				  !strncmp(t, "--template=", 11)))
			hooks(s, in, bawn_arena_printf(s->a, "%s/hooks", v));
	}
	return 0;
}

static int tar(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	(void)sh_inner_put(s, in, behind(c, "--checkpoint-action=exec="), 0);
	(void)sh_inner_put(s, in, behind(c, "--to-command="), 0);
	(void)sh_inner_put(s, in, behind(c, "--use-compress-program="), 0);
	(void)sh_inner_put(s, in, behind(c, "-I"), 0);
	(void)sh_inner_put(s, in, behind(c, "--rsh-command="), 0);
	return 0;
}

enum bawn_lang sh_interpreter(const char *prog)
{
	if (!strncmp(prog, "python", 6) || !strncmp(prog, "pypy", 4) ||
		!strncmp(prog, "ipython", 7))
		return BAWN_LANG_PYTHON;
	if (sh_is(prog, "|node|nodejs|deno|bun|"))
		return BAWN_LANG_JAVASCRIPT;
	if (!strncmp(prog, "perl", 4) || !strncmp(prog, "ruby", 4) || !strncmp(prog, "lua", 3) ||
		!strncmp(prog, "php", 3) ||
		sh_is(prog,
			"|tclsh|wish|osascript|elixir|iex|erl|ghc|runghc|"
			"jrunscript|jjs|julia|Rscript|irb|gdb|swift|octave|"
			"octave-cli|clisp|guile|emacs|vim|vi|ex|ghci|scala|groovy|expect|jshell|"))
		return BAWN_LANG_COUNT;
	return BAWN_LANG_AUTO;
}

/* python -m timeit [-s CODE] CODE: every word that is no option and no number. */
static bool times_code(const struct sh_command *c, size_t i)
{
	return i > 2 && !strcmp(c->args.v[1].text, "-m") && !strcmp(c->args.v[2].text, "timeit") &&
	       c->args.v[i].text[0] != '-' && !isdigit((unsigned char)c->args.v[i].text[0]);
}

/* -c CODE, -e CODE, -r CODE, and clustered forms like -ne, -lane. */
static const struct sh_word *code_word(const struct sh_command *c, size_t *from)
{
	for (size_t i = *from; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		size_t n = strlen(t);

		if (times_code(c, i)) {
			*from = i + 1;
			return &c->args.v[i];
		}
		if (i + 1 >= c->args.n)
			break;
		if (!strcmp(t, "eval") && i == 1 && !strcmp(c->args.v[0].text, "deno")) {
			*from = i + 2;
			return &c->args.v[i + 1];
		}
		if (t[0] != '-' || n < 2)
			continue;
		if (sh_is(t, "|--eval|--execute|-E|-p|--print|--command|-ex|-cmd|-eval|") ||
			(t[1] != '-' && n < 6 && strchr("cer", t[n - 1]))) {
			*from = i + 2;
			return &c->args.v[i + 1];
		}
	}
	return NULL;
}

static int nested_code(
	struct sh *s, const struct sh_command *c, enum bawn_lang lang, const char *code, size_t len)
{
	struct bawn_subject inner = {
		.kind = BAWN_KIND_CODE,
		.lang = lang,
		.mode = s->sub->mode,
		.detect = s->sub->detect & (BAWN_DETECT_CODE | BAWN_DETECT_COMMAND),
		.text = code,
		.len = len,
		.last = true,
	};

	size_t before = s->scan->out->n;
	int rc;

	if (lang == BAWN_LANG_COUNT || !len)
		return 0;
	rc = bawn_scan_nested(s->scan, s->sub, c->start, c->end, &inner, s->err);
	/* one-liners start programs and evaluate text all day: only what is sure counts in full */
	for (size_t i = before; i < s->scan->out->n; i++) {
		struct bawn_finding *f = &s->scan->out->v[i];

		if (!strcmp(f->detector, "code") && f->confidence < 0.65 &&
			strcmp(f->rule, "code.wiper") != 0)
			f->confidence *= 0.5;
	}
	return rc;
}

static bool has_one(const char *text, const char *const *list)
{
	for (; *list; list++) {
		if (strstr(text, *list))
			return true;
	}
	return false;
}

/* perl -ne 'system($_)', python -c 'os.system(sys.stdin.read())': what is read is run. */
static int runs_input(struct sh *s, struct sh_command *c, const char *code, struct sh_inners *in)
{
	static const char *const runs[] = {"system", "exec", "popen", "Popen", "spawn",
		"subprocess", "passthru", "eval", NULL};
	static const char *const reads[] = {"stdin", "STDIN", "$_", "<>", "gets", "input(",
		"readFileSync(0", "ARGF", "$0", NULL};
	int rc;

	if (!(c->how & SH_STDIN) || !has_one(code, runs) || !has_one(code, reads))
		return 0;
	rc = sh_vet_execution(s, c, &c->in);
	if (rc == 0 && c->in.known && c->in.len)
		(void)sh_inner_put(s, in, c->in.text, 0);
	return rc;
}

static int interpreter(
	struct sh *s, struct sh_command *c, struct sh_inners *in, enum bawn_lang lang)
{
	const struct sh_word *w;
	size_t from = 1;
	bool any = false;
	int rc = 0;

	while (rc == 0 && (w = code_word(c, &from))) {
		struct sh_data d = sh_text(w->text);

		any = true;
		d.known = w->known;
		d.taint = w->taint & (SH_NET | SH_DECODED);
		d.from = w->from;
		d.url = w->url;
		rc = sh_vet_execution(s, c, &d);
		if (rc == 0)
			rc = sh_vet_code(s, c, w->text);
		if (rc == 0)
			rc = nested_code(s, c, lang, w->text, strlen(w->text));
		if (rc == 0)
			rc = sh_code_inner(s, c, w->text, in);
		if (rc == 0)
			rc = runs_input(s, c, w->text, in);
	}
	if (rc < 0 || any || !(c->how & SH_STDIN) || (c->args.n > 1 && c->args.v[1].text[0] != '-'))
		return rc;
	/* its program comes through its input */
	if (c->args.n > 1 && strcmp(c->args.v[1].text, "-") != 0)
		return 0;
	rc = sh_vet_execution(s, c, &c->in);
	if (rc == 0 && c->in.len)
		rc = sh_vet_code(s, c, c->in.text);
	if (rc == 0 && c->in.known)
		rc = nested_code(s, c, lang, c->in.text, c->in.len);
	return rc < 0 || !c->in.len ? rc : sh_code_inner(s, c, c->in.text, in);
}

static enum bawn_lang file_lang(const char *prog)
{
	enum bawn_lang lang = !strcmp(prog, "go") ? BAWN_LANG_GO : sh_interpreter(prog);

	return lang ? lang : BAWN_LANG_COUNT;
}

/* A file that the text itself fetched or wrote, run as a program or given to an interpreter. */
static int run_file(struct sh *s, struct sh_command *c, struct sh_inners *in, bool script)
{
	const char *path = c->path;
	const struct sh_file *f = NULL;
	struct sh_data d;
	int rc;

	for (size_t i = 1; script && !f && i < c->args.n && i < 4; i++) {
		path = c->args.v[i].text;
		f = path[0] != '-' ? sh_file_get(s, path, false) : NULL;
	}
	if (!script)
		f = path ? sh_file_get(s, path, false) : NULL;

	if (!f && !script && path && strchr(path, '/') && path[0] != '/' && s->unpacked) {
		d = (struct sh_data){.taint = SH_NET, .from = s->unpacked, .url = s->unpacked};
		return sh_vet_execution(s, c, &d);
	}
	if (!f || (!script && !strchr(path, '/') && !f->exec))
		return 0;
	d = f->data;
	if (f->seen && d.url && sh_host_of(s, d.url, NULL) != SH_HOST_ODD)
		d.taint &= ~SH_NET;
	rc = sh_vet_execution(s, c, &d);
	if (rc == 0 && script && f->data.len)
		rc = sh_vet_code(s, c, f->data.text);
	if (rc == 0 && script && f->data.len && f->data.known) {
		rc = nested_code(s, c, file_lang(c->args.v[0].text), f->data.text, f->data.len);
		if (rc == 0)
			rc = sh_code_inner(s, c, f->data.text, in);
	}
	if (rc == 0 && !script && f->data.known && f->data.len)
		(void)sh_inner_put(s, in, f->data.text, 0);
	return rc;
}

/* dpkg -i FILE, rpm -i FILE, pip install FILE: what a bare address sent runs as root. */
static int install_file(struct sh *s, struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_file *f = sh_file_get(s, c->args.v[i].text, false);
		const char *url = f ? f->data.url : c->args.v[i].url;
		unsigned taint = f ? f->data.taint : c->args.v[i].taint;
		struct sh_data d = {.taint = SH_NET, .url = url, .from = url};

		if ((taint & SH_NET) && url && sh_host_of(s, url, NULL) == SH_HOST_ODD)
			return sh_vet_execution(s, c, &d);
	}
	return 0;
}

/* deno run URL, npx URL, uvx --from URL: code of whoever answers there. */
static int run_address(struct sh *s, struct sh_command *c)
{
	const char *p = c->args.v[0].text, *order = c->args.n > 1 ? c->args.v[1].text : "";

	if ((sh_is(p, "|deno|pipx|") && strcmp(order, "run") != 0) ||
		(!strcmp(p, "bun") && !sh_is(order, "|x|run|")))
		return 0;
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		struct sh_data d = {.taint = SH_NET, .url = t, .from = t};
		enum sh_host h =
			sh_is_url(t) && t[0] != '-' ? sh_host_of(s, t, NULL) : SH_HOST_NONE;

		if (h == SH_HOST_PLAIN || h == SH_HOST_ODD)
			return sh_vet_execution(s, c, &d);
		/* the words behind it are its own */
		if (h != SH_HOST_NONE)
			break;
	}
	return 0;
}

/* Clouds that run a script on one of their machines: the option that it stands behind. */
static const struct {
	const char *program, *order, *option;
} runners[] = {
	{"az", "run-command", "--scripts"},
	{"gcloud", "ssh", "--command"},
	{"flyctl", "ssh", "-C"},
	{"fly", "ssh", "-C"},
	{"aws", "send-command", "--parameters"},
	{"aws", "start-session", "--parameters"},
	{"doctl", "ssh", "--ssh-command"},
	{"multipass", "exec", "--"},
	{"vagrant", "ssh", "-c"},
	{"pssh", "-h", "-i"},
};

static int runner(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	for (size_t k = 0; k < sizeof(runners) / sizeof(runners[0]); k++) {
		const char *t = NULL;
		bool runs = false;

		if (strcmp(c->args.v[0].text, runners[k].program) != 0)
			continue;
		for (size_t i = 1; i < c->args.n; i++)
			runs = runs || !strcmp(c->args.v[i].text, runners[k].order);
		t = runs ? behind(c, runners[k].option) : NULL;
		if (!t)
			continue;
		t += strspn(t, "=");
		/* commands=["a","b"] */
		if (!strncmp(t, "commands=", 9))
			t += 9;
		(void)sh_inner_put(s, in,
			t[0] == '['
				? bawn_arena_strndup(s->a, t + 2, strlen(t) > 4 ? strlen(t) - 4 : 0)
				: t,
			SH_REMOTE);
	}
	return 0;
}

static int ssh_options(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *p = strcasestr(c->args.v[i].text, "ProxyCommand");

		if (!p)
			p = strcasestr(c->args.v[i].text, "LocalCommand");
		if (p && (p = strpbrk(p, "= ")))
			(void)sh_inner_put(s, in, p + 1, 0);
	}
	if (!strcmp(c->args.v[0].text, "rsync"))
		(void)sh_inner_put(s, in, behind(c, "-e"), 0);
	return 0;
}

/* :w FILE, :saveas FILE, :redir > FILE */
static const char *saves_to(struct sh *s, const char *t)
{
	static const char *const orders[] = {"write", "saveas", "redir", "wq", "w"};
	size_t n = 0;

	t += strspn(t, ": ");
	for (size_t i = 0; !n && i < sizeof(orders) / sizeof(orders[0]); i++) {
		size_t k = strlen(orders[i]);

		if (!strncmp(t, orders[i], k) && (t[k] == ' ' || t[k] == '!' || t[k] == '>'))
			n = k;
	}
	if (!n)
		return NULL;
	t += n + (t[n] == '!');
	t += strspn(t, " >");
	n = strcspn(t, " |");
	return n && !strchr("!%", t[0]) ? bawn_arena_strndup(s->a, t, n) : NULL;
}

/* Some line of what an editor is told is w or wq. */
static bool told_to_save(const struct sh_data *d)
{
	for (const char *p = d->len ? d->text : NULL; p && *p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (p[0] == 'w' && (p[1] == '\n' || !p[1] || p[1] == 'q'))
			return true;
	}
	return false;
}

/* vim -c ':!cmd', ed/less/… with !cmd, sed '1e cmd', and the files that they are told to write */
static int editor(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	const char *file = c->args.n > 1 ? c->args.v[c->args.n - 1].text : "-";
	int rc = 0;

	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text, *bang = strchr(t, '!'), *to;

		if (bang && bang - t < 4 && (t[0] == ':' || t[0] == '+' || t == bang))
			(void)sh_inner_put(s, in, bang + 1, 0);
		else if (t[0] == '+' || sh_is(c->args.v[i - 1].text, "|-c|--cmd|"))
			rc = sh_code_inner(s, c, t, in);
		if (rc < 0)
			return rc;
		to = t[0] == ':' || sh_is(c->args.v[i - 1].text, "|-c|--cmd|") ? saves_to(s, t)
									       : NULL;
		if (to && bawn_strlist_add(s->a, &c->writes, to) < 0)
			return sh_no_memory(s);
	}
	if (file[0] != '-' && told_to_save(&c->in) && bawn_strlist_add(s->a, &c->writes, file) < 0)
		return sh_no_memory(s);
	return 0;
}

/* COPY … PROGRAM 'cmd', \! cmd, .shell cmd, system cmd: what database clients hand to a shell. */
static int database(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	static const char *const keys[] = {"\\!", ".shell ", ".system ", "system "};

	for (size_t i = 1; i <= c->args.n; i++) {
		const char *t = i < c->args.n ? c->args.v[i].text : c->in.len ? c->in.text : "";
		const char *p = strcasestr(t, "PROGRAM");

		for (p = p ? p + 7 : ""; *p && strchr(" \t\nE$", *p);)
			p++;
		if (*p == '\'' && sh_add_string(s, in, p) < 0)
			return sh_no_memory(s);
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			if (!strncmp(t, keys[k], strlen(keys[k])))
				(void)sh_inner_put(s, in, t + strlen(keys[k]), 0);
		}
	}
	return 0;
}

/* ansible -m shell -a CMD, salt '*' cmd.run CMD */
static int fleet(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	for (size_t i = 1; i + 1 < c->args.n; i++) {
		if (sh_is(c->args.v[i].text, "|-a|--args|cmd.run|cmd.shell|"))
			(void)sh_inner_put(s, in, c->args.v[i + 1].text, 0);
	}
	return 0;
}

static bool is_unit(const char *path)
{
	size_t n = strlen(path);

	return n > 8 && !strcmp(path + n - 8, ".service");
}

/* ExecStart= and its kin; what stands before the program says how to start it. */
static void unit_lines(struct sh *s, struct sh_inners *in, const char *t)
{
	for (const char *p = strstr(t, "Exec"); p; p = strstr(p, "Exec")) {
		const char *eq = memchr(p, '=', strnlen(p, UNIT_KEY)), *end;

		p += 4;
		if ((p - 4 > t && !strchr("\nn", p[-5])) || !eq)
			continue;
		eq += 1 + strspn(eq + 1, "@-:+!");
		end = eq + strcspn(eq, "\n");
		(void)sh_inner_put(s, in, bawn_arena_strndup(s->a, eq, (size_t)(end - eq)), 0);
		p = end;
	}
}

/* A service that is written here is run later, by someone who may do more. */
static void unit_file(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	bool unit = false;

	for (size_t i = 0; !unit && i < c->redirs.n; i++) {
		enum sh_redir_kind k = c->redirs.v[i].kind;

		unit = (k == SH_OUT || k == SH_APPEND) && is_unit(c->redirs.v[i].path);
	}
	for (size_t i = 1; !unit && !strcmp(c->args.v[0].text, "tee") && i < c->args.n; i++)
		unit = is_unit(c->args.v[i].text);
	if (unit && c->in.len)
		unit_lines(s, in, c->in.text);
	for (size_t i = 1; unit && i < c->args.n; i++)
		unit_lines(s, in, c->args.v[i].text);
}

/* $(shell CMD) in what make is told. */
static void make_shell(struct sh *s, struct sh_inners *in, const char *t)
{
	for (t = strstr(t, "$(shell "); t && in->n < SH_INNER_MAX / 2; t = strstr(t, "$(shell ")) {
		size_t depth = 1, n = 0;

		for (t += 8; t[n]; n++) {
			depth += t[n] == '(';
			depth -= t[n] == ')';
			if (!depth)
				break;
		}
		(void)sh_inner_put(s, in, bawn_arena_strndup(s->a, t, n), 0);
	}
}

/* make -f - <<< …: what its rules run, as one script; everything else is blanked. */
static int recipes(struct sh *s, const char *makefile, struct sh_inners *in)
{
	char *text = bawn_arena_strdup(s->a, makefile);

	if (!text)
		return sh_no_memory(s);
	for (char *p = text; *p;) {
		size_t n = strcspn(p, "\n");
		const char *semi = memchr(p, ';', n);
		/* target: ; cmd */
		size_t blank = *p == '\t'                                   ? strspn(p, "\t@-+ ")
			       : semi && memchr(p, ':', (size_t)(semi - p)) ? (size_t)(semi - p) + 1
									    : n;

		memset(p, ' ', blank < n ? blank : n);
		p += n + (p[n] != 0);
	}
	(void)sh_inner_put(s, in, text, 0);
	return 0;
}

/* What it was told to read, or finds by itself, as far as the text itself wrote it. */
static const struct sh_data *makefile(struct sh *s, const struct sh_command *c)
{
	static const char *const names[] = {"GNUmakefile", "makefile", "Makefile"};
	const struct sh_file *f = NULL;

	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (strncmp(t, "-f", 2) != 0 && strncmp(t, "--file=", 7) != 0)
			continue;
		t = t[1] == '-'         ? t + 7
		    : t[2]              ? t + 2
		    : i + 1 < c->args.n ? c->args.v[i + 1].text
					: "";
		if (sh_is(t, "|-|/dev/stdin|"))
			return &c->in;
		f = sh_file_get(s, t, false);
		return f ? &f->data : NULL;
	}
	for (size_t i = 0; !f && i < sizeof(names) / sizeof(names[0]); i++)
		f = sh_file_get(s, names[i], false);
	return f ? &f->data : NULL;
}

static int make(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const struct sh_data *d;
	int rc = 0;

	for (size_t i = 1; rc == 0 && i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		make_shell(s, in, t);
		if (!strncmp(t, "--eval=", 7))
			rc = recipes(s, t + 7, in);
		else if (sh_is(t, "|--eval|-E|") && i + 1 < c->args.n)
			rc = recipes(s, c->args.v[i + 1].text, in);
	}
	if (rc == 0 && (d = makefile(s, c))) {
		rc = sh_vet_execution(s, c, d);
		if (rc == 0 && d->known && d->len) {
			make_shell(s, in, d->text);
			rc = recipes(s, d->text, in);
		}
	}
	return rc;
}

/* Terminals, cmd.exe and make: what they are told to start. */
static int starter(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const char *p = c->args.v[0].text;
	bool cmd = sh_is(p, "|cmd|cmd.exe|");

	if (sh_is(p, "|make|gmake|bmake|"))
		return make(s, c, in);
	(void)sh_inner_put(s, in, behind(c, cmd ? "/c" : "-e"), 0);
	(void)sh_inner_put(s, in, behind(c, cmd ? "/C" : "--command="), 0);
	return 0;
}

int sh_find_inner(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	const char *p = c->args.n ? c->args.v[0].text : "";
	enum bawn_lang lang = sh_interpreter(p);
	int rc;

	rc = sh_told(s, c, in);
	if (rc < 0)
		return rc;
	if (sh_is(p, "|deno|bun|bunx|npx|pnpx|uvx|pipx|"))
		rc = run_address(s, c);
	if (rc < 0)
		return rc;
	if (sh_is(p, "|cat|tee|echo|printf|"))
		unit_file(s, c, in);
	if (sh_is(p, "|find|gfind|fd|"))
		return find(s, c, in);
	if (!strcmp(p, "git"))
		return git(s, c, in);
	if (sh_is(p, "|tar|gtar|bsdtar|"))
		return tar(s, c, in);
	if (sh_is(p, "|ssh|scp|sftp|rsync|"))
		return ssh_options(s, c, in);
	if (sh_is(p, "|vim|vi|view|nvim|ex|ed|rvim|"))
		return editor(s, c, in);
	if (sh_is(p, "|awk|gawk|mawk|nawk|"))
		return sh_awk(s, c, in);
	if (sh_is(p, "|sed|gsed|"))
		return sh_sed(s, c, in);
	if (sh_is(p, "|make|gmake|bmake|cmd|cmd.exe|xterm|rxvt|urxvt|konsole|gnome-terminal|"
		     "xfce4-terminal|lxterminal|terminator|alacritty|kitty|tilix|mate-terminal|"
		     "foot|"))
		return starter(s, c, in);
	if (sh_is(p, "|psql|mysql|mariadb|sqlite3|"))
		return database(s, c, in);
	if (sh_is(p, "|ansible|salt|"))
		return fleet(s, c, in);
	if (sh_is(p, "|az|aws|gcloud|fly|flyctl|doctl|vagrant|pssh|multipass|"))
		return runner(s, c, in);
	if (sh_is(p, "|dpkg|rpm|apt|apt-get|yum|dnf|zypper|apk|pacman|pip|pip3|npm|gem|"))
		return install_file(s, c);
	if (sh_is(p, "|at|batch|") && c->in.known && c->in.len) {
		(void)sh_inner_put(s, in, c->in.text, 0);
		return 0;
	}
	if (lang != BAWN_LANG_AUTO) {
		rc = interpreter(s, c, in, lang);
		return rc < 0 ? rc : run_file(s, c, in, true);
	}
	if (sh_is(p,
		    "|go|gcc|g++|cc|clang|java|javac|rustc|latex|pdflatex|latexmk|cmake|make|swift|"))
		return run_file(s, c, in, true);
	return sh_is_shell(p) ? 0 : run_file(s, c, in, false);
}
