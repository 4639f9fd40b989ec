/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One simple command: its program is made plain, wrappers are taken away, what it would do is
 * modelled and vetted, and the scripts in it are read next.
 */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "inspect/shell/read.h"

#define CALLS_MAX 256 /* calls of functions of the text itself */

static const char *unmarked(struct sh *s, const char *t)
{
	char *x = bawn_arena_strdup(s->a, t);

	for (char *c = x; c && *c; c++) {
		if (*c == MARK_OPEN)
			*c = '{';
		else if (*c == MARK_CLOSE)
			*c = '}';
		else if (*c == MARK_COMMA)
			*c = ',';
		else if (*c == MARK_SPLIT)
			*c = ' ';
	}
	return x;
}

/* NAME=VALUE or NAME+=VALUE into the variables. */
static int assign(struct sh *s, const struct sh_word *w)
{
	const char *eq = strchr(w->text, '=');
	size_t n = eq ? (size_t)(eq - w->text) : 0;
	bool more = n && w->text[n - 1] == '+';
	const char *value = eq ? unmarked(s, eq + 1) : NULL;
	const struct sh_var *old;
	struct sh_data v;

	if (!value)
		return eq ? sh_no_memory(s) : 0;
	n -= more;
	v = sh_text(value);
	v.known = w->known;
	v.taint = w->taint;
	v.from = w->from;
	v.url = w->url;
	if (sh_keeps_meaning(s, w->text, n))
		return 0;
	old = more ? sh_var_get(s, w->text, n) : NULL;
	return sh_var_set(s, w->text, n, old ? sh_join_data(s, old->value, v) : v);
}

const char *sh_quote_words(struct sh *s, const struct sh_words *w, size_t from)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	for (size_t i = from; i < w->n; i++) {
		bawn_buf_puts(&b, i > from ? " '" : "'");
		for (const char *t = w->v[i].text; *t; t++) {
			if (*t == '\'')
				bawn_buf_puts(&b, "'\\''");
			else
				bawn_buf_add(&b, t, 1);
		}
		bawn_buf_puts(&b, "'");
	}
	return b.failed ? NULL : bawn_arena_strndup(s->a, b.data ? b.data : "", b.len);
}

/* Programs that obfuscation hides behind globs. */
static const char *glob_program(const char *pat)
{
	static const char *const common[] = {"cat", "rm", "sh", "bash", "nc", "dd", "curl", "wget",
		"ls", "id", "python", "python3", "perl", "base64", "chmod", "chown", "mkfs", "tac",
		"head", "tail", "less", "more", "nl", "od", "xxd", "cp", "mv", "tar", "ncat",
		"netcat", "socat", "ssh", "scp", "sed", "awk", "find", "xargs", "shred", "grep",
		"vi", "vim", "zsh", "dash", "ruby", "php", "node", "sudo", "su", "kill", "crontab",
		"whoami", "env", "printenv", "shutdown", "reboot", "busybox"};

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		if (sh_glob_match(pat, common[i]))
			return common[i];
	}
	return NULL;
}

/* Unknown parts in the middle of a program's name are most likely empty: c${x}at. */
static const char *without_unknown(struct sh *s, const char *t)
{
	char *out = bawn_arena_strdup(s->a, t);
	size_t k = 0;

	for (size_t i = 0; out && t[i];) {
		if (t[i] == '$') {
			i++;
			if (t[i] == '(' && t[i + 1] == ')')
				return NULL;
			if (sh_name_char(t[i], true) && t[i] >= 'A' && t[i] <= 'Z')
				return NULL;
			while (sh_name_char(t[i], false) || (t[i] && strchr("@*#?!-", t[i])))
				i++;
			continue;
		}
		out[k++] = t[i++];
	}
	if (!out || !k)
		return NULL;
	out[k] = 0;
	return out;
}

/* $CURL, $which_gpg, ${PYTHON_BIN}: nobody said what it is, but its name does. */
static const char *named_program(struct sh *s, const char *t)
{
	static const char *const frills[] = {"which_", "my_", "_bin", "_cmd", "_path", "_exe"};
	static const char *const programs =
		"|curl|wget|gpg|7z|zip|tar|openssl|python|python3|perl|ruby|php|node|nc|ncat|socat|"
		"ssh|scp|rsync|ccrypt|ccencrypt|crontab|base64|";
	size_t n = strlen(t), k;
	char *x;

	if (t[0] != '$' || n < 3 || n > 40)
		return NULL;
	for (k = 1; t[k] && sh_name_char(t[k], false);)
		k++;
	x = t[k] ? NULL : bawn_arena_strdup(s->a, t + 1);
	for (char *p = x; p && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (size_t i = 0; x && i < sizeof(frills) / sizeof(frills[0]); i++) {
		char *hit = strstr(x, frills[i]);

		if (hit == x && i < 2)
			x += strlen(frills[i]);
		else if (hit && i >= 2 && !hit[strlen(frills[i])])
			*hit = 0;
	}
	return x && sh_is(x, programs) ? x : NULL;
}

/* The program's name as a plain word. */
static int plain_program(struct sh *s, struct sh_command *c)
{
	struct sh_word *w = &c->args.v[0];
	const char *base, *x = NULL;
	const struct sh_file *copy;
	bool hidden;
	static const struct sh_found f = {
		.rule = "command.hidden-name",
		.category = "obfuscation",
		.means = "hides the name of the program; write it plainly",
		.level = BAWN_SEV_HIGH,
		.confidence = 0.5,
	};

	c->path = w->text;
	if (!w->known && strchr(w->text, '$')) {
		x = without_unknown(s, w->text);
		if (!x || !glob_program(sh_base(x)))
			x = named_program(s, w->text);
		w->text = x ? x : w->text;
	}
	copy = strchr(w->text, '/') ? sh_file_get(s, w->text, false) : NULL;
	if (!copy && !strncmp(w->text, "./", 2))
		copy = sh_file_get(s, w->text + 2, false);
	if (copy && copy->was)
		w->text = copy->was;
	base = sh_base(w->text);
	if (strpbrk(base, "?*[") && strcmp(base, "[") != 0 && strcmp(base, "[[") != 0) {
		x = glob_program(base);
		if (x)
			base = x;
	}
	if (!strcmp(w->text, "/") || base[0] == '/')
		base = w->text;
	if (sh_is(base, "|nc.openbsd|nc.traditional|nc6|pnc|"))
		base = "nc";
	hidden = w->known && !s->script && (w->pieced || (strpbrk(c->path, "?[") && x));
	w->text = base;
	if (!w->known && (w->taint & (SH_NET | SH_CLIP))) {
		struct sh_data d = {.taint = w->taint, .from = w->from, .url = w->url};

		return sh_vet_execution(s, c, &d);
	}
	return hidden ? sh_report(s, c, &f) : 0;
}

/* A name that the text itself defined. */
static int call_function(struct sh *s, struct sh_command *c, struct sh_inners *in, bool *hit)
{
	struct sh_func *f = !strchr(c->path, '/') ? sh_func_get(s, c->args.v[0].text) : NULL;
	struct sh_words rest = {0};
	int rc;

	if (!f || f->busy || s->runs > CALLS_MAX)
		return 0;
	for (size_t i = 1; i < c->args.n; i++) {
		struct sh_word *w = bawn_grow(s->a, &rest.v, &rest.n, &rest.cap);

		if (!w)
			return sh_no_memory(s);
		*w = c->args.v[i];
	}
	if (f->alias) {
		const char *more = sh_quote_words(s, &rest, 0);
		struct sh_inner *x = more ? sh_inner_put(s, in,
						    bawn_arena_printf(s->a, "%.*s %s", (int)f->len,
							    f->body, more),
						    0)
					  : NULL;

		/* scripts know no aliases, nor do lines that define them: it may mean itself */
		if (x)
			x->func = f;
		return 0;
	}
	*hit = true;
	rc = sh_push_script(s, f->body, f->len, &c->in, 0, &rest);
	if (rc == SH_STEP_CHILD) {
		f->busy = true;
		s->top->again = true;
		s->top->func = f;
		sh_scope(s);
	}
	return rc;
}

/* Words apart by one blank; blanks inside words are \x1f, so that rules can tell them. */
static int make_line(struct sh *s, struct sh_command *c)
{
	bool init = c->path && (!strncmp(c->path, "/etc/init.d/", 12) ||
				       !strncmp(c->path, "/etc/rc.d/init.d/", 17));
	size_t n = sizeof("service "), k = 0;
	char *t;

	c->line = "";
	for (size_t i = 0; i < c->args.n; i++)
		n += strlen(c->args.v[i].text) + 1;
	t = bawn_arena_alloc(s->a, n);
	if (!t || !bawn_scan_spend(s->scan, n))
		return t ? 0 : sh_no_memory(s);
	/* as service calls it */
	for (const char *p = init ? "service " : ""; *p; p++)
		t[k++] = *p;
	for (size_t i = 0; i < c->args.n; i++) {
		if (i)
			t[k++] = ' ';
		for (const char *p = c->args.v[i].text; *p; p++)
			t[k++] = (char)(strchr(" \t\n", *p) ? '\x1f' : *p);
	}
	t[k] = 0;
	c->line = t;
	return 0;
}

/* <&3: what exec 3< FILE or exec 3<<< TEXT opened before. */
static const struct sh_file *opened(struct sh *s, const struct sh_redir *d)
{
	return d->kind == SH_DUP && !d->fd ? sh_descriptor(s, d->path, false) : NULL;
}

/* What redirections feed it. */
static void input(struct sh *s, struct sh_command *c)
{
	for (size_t i = 0; i < c->redirs.n; i++) {
		const struct sh_redir *d = &c->redirs.v[i];
		const struct sh_file *f = opened(s, d);
		const struct sh_secret *x;

		if (f) {
			c->in = f->data;
			c->how |= SH_STDIN;
		}
		if (d->kind == SH_HERE) {
			c->in = d->body;
			c->how |= SH_STDIN;
		}
		if (d->kind != SH_IN)
			continue;
		x = sh_secret_of(s, d->path);
		f = sh_file_get(s, d->path, false);
		c->how |= SH_STDIN;
		if (f)
			c->in = f->data;
		else
			c->in = sh_unknown(x ? x->taint : SH_FILE, x ? d->path : NULL);
	}
}

static int push_inners(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	struct sh_reader *owner = s->top;
	int rc = 0;

	for (size_t i = in->n; owner && i-- > 0;) {
		struct sh_inner *x = &in->v[i];
		struct sh_reader *top;
		int one;

		top = s->top;
		one = sh_push_script(s, x->text, x->len, x->has_in ? &x->in : &c->in, x->how,
			x->has_params ? &x->params : NULL);
		if (one < 0)
			return one;
		if (one != SH_STEP_CHILD)
			continue;
		/* the words of what it runs in turn are its own */
		s->top->how &= ~SH_ARGSIN | x->how;
		/* all of them work for the command, whichever lies on top */
		s->top->up = owner;
		s->top->below = top;
		s->top->level = owner->level + 1;
		if (top != owner) {
			top->pending--;
			top->wait = SH_WAIT_NONE;
			owner->pending++;
			owner->wait = SH_WAIT_OUTPUT;
		}
		s->top->bias = x->bias;
		s->top->zero = x->zero;
		s->top->func = x->func;
		if (x->func)
			x->func->busy = true;
		else
			sh_scope(s);
		rc = SH_STEP_CHILD;
	}
	return rc;
}

/* No program: assignments, or a redirection alone. */
static int bare(struct sh *s, struct sh_command *c)
{
	struct sh_inners in = {0};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->assigns.n; i++)
		rc = assign(s, &c->assigns.v[i]);
	if (rc == 0 && c->redirs.n) {
		input(s, c);
		c->out = c->how & SH_STDIN ? c->in : sh_text("");
	}
	c->line = "";
	if (rc == 0)
		rc = sh_vet(s, c);
	sh_told_variables(s, c, &in);
	return rc < 0 || !in.n ? rc : push_inners(s, c, &in);
}

/* exec <<< TEXT, exec 3< FILE: from now on that is what comes in there. */
static int open_for_all(struct sh *s, struct sh_reader *r, const struct sh_command *c)
{
	for (size_t i = 0; i < c->redirs.n; i++) {
		const struct sh_redir *d = &c->redirs.v[i];
		struct sh_file *f;

		if (d->kind != SH_HERE && d->kind != SH_IN)
			continue;
		if (d->fd <= 0) {
			r->in = c->in;
			r->how |= SH_STDIN;
			continue;
		}
		f = sh_descriptor(s, bawn_arena_printf(s->a, "%d", d->fd), true);
		if (!f)
			return sh_no_memory(s);
		f->data = c->in;
	}
	return 0;
}

int sh_execute(struct sh *s, struct sh_reader *r, struct sh_command *c)
{
	struct sh_inners in = {0};
	bool hit = false;
	int rc;

	if (!r->again && ++s->commands > s->most)
		s->most = s->commands;
	if (!c->args.n)
		return bare(s, c);
	input(s, c);
	rc = plain_program(s, c);
	if (rc == 0)
		rc = call_function(s, c, &in, &hit);
	if (rc != 0 || hit)
		return rc;
	if (c->args.n == 1 && c->redirs.n && !strcmp(c->args.v[0].text, "exec"))
		rc = open_for_all(s, r, c);
	if (rc == 0)
		rc = sh_unwrap(s, c, &in);
	if (rc < 0)
		return rc;
	rc = make_line(s, c);
	if (rc == 0)
		rc = sh_find_inner(s, c, &in);
	if (rc == 0 && c->args.n)
		rc = sh_model(s, c);
	if (rc == 0 && c->args.n && (c->how & SH_PIPED) && !c->out.known && !c->out.len &&
		!(c->out.taint & SH_NET))
		sh_say_words(s, c, &c->out);
	if (in.n && c->args.n && sh_is_shell(c->args.v[0].text))
		c->out = sh_text("");
	if (rc == 0 && c->args.n && !s->script)
		sh_later(s, c, &in);
	if (rc == 0)
		rc = sh_vet(s, c);
	if (rc == 0 && c->args.n)
		rc = sh_builtin(s, r, c, &hit);
	return rc != 0 || (hit && !in.n) ? rc : push_inners(s, c, &in);
}
