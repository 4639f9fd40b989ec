/* SPDX-License-Identifier: Apache-2.0 */
/* What the shell does itself: it changes what later words mean. */
#include <string.h>

#include "inspect/shell/read.h"

static struct sh_data data_of(const struct sh_word *w, const char *text)
{
	struct sh_data d = sh_text(text);

	d.known = w->known;
	d.taint = w->taint;
	d.from = w->from;
	d.url = w->url;
	return d;
}

static bool in_function(const struct sh *s)
{
	const struct sh_reader *r = s->top;

	while (r && !r->scope)
		r = r->up;
	return r && r->func;
}

/* unset NAME, unset -f NAME, unalias NAME */
static int unset(struct sh *s, const struct sh_command *c)
{
	bool alias = !strcmp(c->args.v[0].text, "unalias");
	bool functions = alias || (c->args.n > 1 && !strcmp(c->args.v[1].text, "-f"));

	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (t[0] == '-')
			continue;
		if (functions || !sh_var_get(s, t, strlen(t)))
			sh_func_unset(s, t);
		else if (sh_var_set(s, t, strlen(t), sh_text("")) < 0)
			return sh_no_memory(s);
	}
	return 0;
}

/* export, declare, local, readonly, typeset */
static int declare(struct sh *s, const struct sh_command *c)
{
	bool refers = false;

	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];
		const char *eq = strchr(w->text, '=');
		size_t n = eq ? (size_t)(eq - w->text) : 0;
		int rc;

		if (!eq || w->text[0] == '-') {
			/* declare -n A=B: A is B under another name */
			refers = refers || (w->text[0] == '-' && strchr(w->text, 'n') &&
						   strcmp(c->args.v[0].text, "export") != 0);
			continue;
		}
		if (sh_keeps_meaning(s, w->text, n))
			continue;
		if (refers)
			rc = sh_var_refer(s, w->text, n, eq + 1);
		else if (in_function(s) && sh_is(c->args.v[0].text, "|local|declare|typeset|"))
			rc = sh_var_local(s, w->text, n, data_of(w, eq + 1));
		else
			rc = sh_var_set(s, w->text, n, data_of(w, eq + 1));
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* What parts the fields of a line that read reads. */
static const char *between_fields(const struct sh_command *c)
{
	const char *apart = " \t";

	for (size_t i = 0; i < c->assigns.n; i++) {
		if (!strncmp(c->assigns.v[i].text, "IFS=", 4))
			apart = c->assigns.v[i].text + 4;
	}
	return apart;
}

/* IFS=: read -a: the line as the items of an array. */
static struct sh_data items(struct sh *s, const struct sh_command *c, struct sh_data v)
{
	const char *apart = between_fields(c);
	char *t = bawn_arena_strdup(s->a, v.text);

	for (char *p = t; p && *p; p++) {
		if (strchr(apart, *p))
			*p = MARK_ITEM;
	}
	v.text = t ? t : "";
	return v;
}

/* read A B C: the next field of what is left; the last name gets all of it. */
static struct sh_data field(
	struct sh *s, const struct sh_command *c, struct sh_data *left, bool last)
{
	const char *apart = between_fields(c);
	struct sh_data v = *left;
	size_t n, skip;

	n = *apart ? strcspn(v.text, apart) : v.len;
	if (last || !v.known)
		return v;
	v.text = bawn_arena_strndup(s->a, v.text, n);
	v.text = v.text ? v.text : "";
	v.len = strlen(v.text);
	skip = n + (left->text[n] != 0);
	left->text += skip;
	left->len -= skip;
	return v;
}

static int read_variables(struct sh *s, const struct sh_command *c)
{
	const char *letters = strcmp(c->args.v[0].text, "read") != 0 ? "dnOsuCc" : "dinNptu";
	struct sh_data v = c->in;

	if (v.known) {
		const char *nl = strchr(v.text, '\n');

		v.text = bawn_arena_strndup(s->a, v.text, nl ? (size_t)(nl - v.text) : v.len);
		if (!v.text)
			return sh_no_memory(s);
		v.len = strlen(v.text);
	} else {
		v.text = "";
		v.len = 0;
	}
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		int rc;

		if (t[0] == '-') {
			if (strchr(t, 'a') && !strcmp(c->args.v[0].text, "read"))
				v = items(s, c, v);
			i += strchr(letters, t[strlen(t) - 1]) && t[1] ? 1 : 0;
			continue;
		}
		rc = sh_var_set(s, t, strlen(t), field(s, c, &v, i + 1 == c->args.n));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int alias(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text, *eq = strchr(t, '='), *name;
		int rc;

		if (!eq)
			continue;
		name = bawn_arena_strndup(s->a, t, (size_t)(eq - t));
		if (!name)
			return sh_no_memory(s);
		rc = sh_func_set(s, name, eq + 1, strlen(eq + 1), true);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The words as one script: eval, trap. */
static int run_words(struct sh *s, struct sh_command *c, size_t from, size_t to)
{
	struct sh_data all = sh_join_words(s, &c->args, from, to, ' ');
	int rc;

	rc = sh_vet_execution(s, c, &all);
	if (rc < 0 || !all.len)
		return rc;
	rc = sh_push_script(s, all.text, all.len, &c->in, 0, NULL);
	if (rc == SH_STEP_CHILD) {
		s->top->bias.taint = all.taint;
		s->top->bias.from = all.from;
		s->top->bias.url = all.url;
	}
	return rc;
}

/* source FILE */
static int source(struct sh *s, struct sh_command *c)
{
	struct sh_file *f;
	struct sh_data d = c->in;
	int rc;

	if (c->args.n < 2)
		return 0;
	f = sh_file_get(s, c->args.v[1].text, false);
	if (f)
		d = f->data;
	else if (strcmp(c->args.v[1].text, "/dev/stdin") != 0)
		return 0;
	rc = sh_vet_execution(s, c, &d);
	if (rc < 0 || !d.known || !d.len)
		return rc;
	return sh_push_script(s, d.text, d.len, &c->in, 0, NULL);
}

static int change_dir(struct sh *s, const struct sh_command *c)
{
	const char *t = c->args.n > 1 ? c->args.v[c->args.n - 1].text : "~";

	if (!strcmp(t, "-") || t[0] == '$') {
		s->cwd = NULL;
		return 0;
	}
	if (t[0] == '/' || t[0] == '~' || s->cwd)
		s->cwd = sh_path(s, t);
	return 0;
}

static int set_params(struct sh *s, struct sh_reader *r, const struct sh_command *c)
{
	size_t i = 1;

	while (i < c->args.n && strcmp(c->args.v[i].text, "--") != 0)
		i++;
	/* set a b */
	if (i >= c->args.n && c->args.n > 1 && !strchr("-+", c->args.v[1].text[0]))
		i = 0;
	if (i >= c->args.n)
		return 0;
	(void)s;
	/* eval "set -- …" sets them for whoever said eval */
	for (; r; r = r->scope ? NULL : r->up) {
		r->params = (struct sh_words){.v = c->args.v + i + 1, .n = c->args.n - i - 1};
		r->has_params = true;
	}
	return 0;
}

int sh_builtin(struct sh *s, struct sh_reader *r, struct sh_command *c, bool *hit)
{
	const char *p = c->args.v[0].text;

	*hit = true;
	if (sh_is(p, "|export|declare|local|readonly|typeset|"))
		return declare(s, c);
	if (sh_is(p, "|read|mapfile|readarray|"))
		return read_variables(s, c);
	if (!strcmp(p, "alias"))
		return alias(s, c);
	/* hash -p PATH NAME: NAME is PATH from now on */
	if (!strcmp(p, "hash") && c->args.n > 3 && !strcmp(c->args.v[1].text, "-p"))
		return sh_func_set(
			s, c->args.v[3].text, c->args.v[2].text, strlen(c->args.v[2].text), true);
	if (sh_is(p, "|unset|unalias|"))
		return unset(s, c);
	if (!strcmp(p, "eval"))
		return run_words(s, c, 1, c->args.n);
	if (!strcmp(p, "trap") && c->args.n > 3 && !strcmp(c->args.v[1].text, "--"))
		return run_words(s, c, 2, 3);
	if (!strcmp(p, "trap") && c->args.n > 2 && c->args.v[1].text[0] != '-')
		return run_words(s, c, 1, 2);
	if (sh_is(p, "|source|.|"))
		return source(s, c);
	if (sh_is(p, "|cd|pushd|"))
		return change_dir(s, c);
	if (!strcmp(p, "set"))
		return set_params(s, r, c);
	*hit = false;
	return 0;
}
