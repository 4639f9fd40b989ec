/* SPDX-License-Identifier: Apache-2.0 */
/* What the walk remembers: bytes and where they came from, variables, files, functions. */
#include <errno.h>
#include <string.h>

#include "inspect/shell/shell.h"

#define TEXT_MAX ((size_t)1 << 20) /* a value longer than this is no longer followed */

int sh_no_memory(struct sh *s)
{
	return bawn_fail(s->err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
}

struct sh_data sh_text(const char *text)
{
	return (struct sh_data){.text = text, .len = strlen(text), .known = true};
}

struct sh_data sh_unknown(unsigned taint, const char *from)
{
	return (struct sh_data){.text = "", .taint = taint, .from = from};
}

struct sh_data sh_join_data(struct sh *s, struct sh_data a, struct sh_data b)
{
	struct sh_data r = a;
	char *t;

	r.taint |= b.taint;
	r.from = a.from ? a.from : b.from;
	r.url = a.url ? a.url : b.url;
	r.known = a.known && b.known;
	if (!b.len)
		return r;
	if (!a.len || a.len + b.len > TEXT_MAX) {
		r.text = a.len ? a.text : b.text;
		r.len = a.len ? a.len : b.len;
		r.known = r.known && !a.len;
		return r;
	}
	t = bawn_scan_spend(s->scan, a.len + b.len) ? bawn_arena_alloc(s->a, a.len + b.len + 1)
						    : NULL;
	if (!t) {
		r.known = false;
		return r;
	}
	memcpy(t, a.text, a.len);
	memcpy(t + a.len, b.text, b.len);
	t[a.len + b.len] = 0;
	r.text = t;
	r.len = a.len + b.len;
	return r;
}

struct sh_data sh_join_words(
	struct sh *s, const struct sh_words *w, size_t from, size_t to, char sep)
{
	struct sh_data r = {.text = "", .known = true};
	size_t n = 1, k = 0;
	char *t;

	for (size_t i = from; i < to; i++) {
		const struct sh_word *x = &w->v[i];

		n += strlen(x->text) + 1;
		r.known = r.known && x->known;
		r.taint |= x->taint;
		r.from = r.from ? r.from : x->from;
		r.url = r.url ? r.url : x->url;
	}
	t = bawn_scan_spend(s->scan, n) ? bawn_arena_alloc(s->a, n) : NULL;
	if (!t) {
		r.known = false;
		return r;
	}
	for (size_t i = from; i < to; i++) {
		size_t len = strlen(w->v[i].text);

		if (i > from)
			t[k++] = sep;
		memcpy(t + k, w->v[i].text, len);
		k += len;
	}
	t[k] = 0;
	r.text = t;
	r.len = k;
	return r;
}

static unsigned hash(const char *t, size_t n)
{
	unsigned h = 5381;

	for (size_t i = 0; i < n; i++)
		h = h * 33 + (unsigned char)t[i];
	return h % SH_BUCKETS;
}

#define REFS_MAX 4 /* names that stand for names */

static struct sh_var *find_var(const struct sh *s, const char *name, size_t n)
{
	for (struct sh_var *v = s->vars[hash(name, n)]; v; v = v->next) {
		if (!strncmp(v->name, name, n) && !v->name[n])
			return v;
	}
	return NULL;
}

const struct sh_var *sh_var_get(const struct sh *s, const char *name, size_t n)
{
	const struct sh_var *v = find_var(s, name, n);

	for (unsigned i = 0; v && v->ref; i++)
		v = i < REFS_MAX ? find_var(s, v->ref, strlen(v->ref)) : NULL;
	return v && !v->gone ? v : NULL;
}

static int note_undo(struct sh *s, struct sh_var *x, bool local)
{
	struct sh_undo *u;

	if (!s->scopes)
		return 0;
	u = bawn_grow(s->a, &s->undo, &s->undo_n, &s->undo_cap);
	if (!u)
		return sh_no_memory(s);
	*u = (struct sh_undo){.var = x, .was = *x, .local = local};
	return 0;
}

void sh_undo(struct sh *s, size_t mark, bool locals)
{
	size_t kept = mark;

	for (size_t i = s->undo_n; i-- > mark;) {
		struct sh_undo *u = &s->undo[i];

		if (locals && !u->local)
			continue;
		u->var->value = u->was.value;
		u->var->ref = u->was.ref;
		u->var->gone = u->was.gone;
	}
	/* what a function set for everybody is still to be undone when a subshell around it ends */
	for (size_t i = mark; locals && i < s->undo_n; i++) {
		if (!s->undo[i].local)
			s->undo[kept++] = s->undo[i];
	}
	s->undo_n = kept;
	s->scopes--;
}

static int set_var(struct sh *s, const char *name, size_t n, struct sh_data v, bool local)
{
	struct sh_var *x = find_var(s, name, n), **head;

	for (unsigned i = 0; x && x->ref && i < REFS_MAX; i++) {
		name = x->ref;
		n = strlen(name);
		x = find_var(s, name, n);
	}
	if (x) {
		int rc = note_undo(s, x, local);

		x->value = v;
		x->gone = false;
		return rc;
	}
	x = bawn_new(s->a, struct sh_var, 1);
	if (!x)
		return sh_no_memory(s);
	x->name = bawn_arena_strndup(s->a, name, n);
	if (!x->name)
		return sh_no_memory(s);
	head = &s->vars[hash(name, n)];
	x->gone = true;
	x->next = *head;
	*head = x;
	if (note_undo(s, x, local) < 0)
		return sh_no_memory(s);
	x->value = v;
	x->gone = false;
	return 0;
}

int sh_var_set(struct sh *s, const char *name, size_t n, struct sh_data v)
{
	return set_var(s, name, n, v, false);
}

int sh_var_local(struct sh *s, const char *name, size_t n, struct sh_data v)
{
	return set_var(s, name, n, v, true);
}

int sh_var_refer(struct sh *s, const char *name, size_t n, const char *to)
{
	struct sh_var *x = find_var(s, name, n);
	int rc = x ? 0 : sh_var_set(s, name, n, sh_unknown(0, NULL));

	x = rc < 0 ? NULL : find_var(s, name, n);
	if (!x)
		return sh_no_memory(s);
	x->ref = to;
	return 0;
}

/* `./x` and `x` are one file. */
const char *sh_path(struct sh *s, const char *path)
{
	const char *p = path;

	while (p[0] == '.' && p[1] == '/') {
		p += 2;
		while (*p == '/')
			p++;
	}
	if (!s->cwd || p[0] == '/' || p[0] == '~' || p[0] == '$' || p[0] == '-' || !p[0])
		return p;
	p = bawn_arena_printf(s->a, "%s%s%s", s->cwd, s->cwd[strlen(s->cwd) - 1] == '/' ? "" : "/",
		strcmp(p, ".") != 0 ? p : "");
	return p ? p : path;
}

struct sh_file *sh_file_get(struct sh *s, const char *path, bool make)
{
	const char *p = *sh_path(s, path) ? sh_path(s, path) : ".";
	size_t n = strlen(p);
	struct sh_file **head = &s->files[hash(p, n)], *f;

	for (f = *head; f; f = f->next) {
		if (!strcmp(f->path, p))
			return f;
	}
	if (!make)
		return NULL;
	f = bawn_new(s->a, struct sh_file, 1);
	if (!f)
		return NULL;
	f->path = p;
	f->data = sh_unknown(0, NULL);
	f->next = *head;
	*head = f;
	return f;
}

const char *sh_file_text(struct sh *s, const char *path)
{
	const struct sh_file *f = sh_file_get(s, path, false);

	return f && f->data.known && f->data.len ? f->data.text : NULL;
}

struct sh_file *sh_descriptor(struct sh *s, const char *number, bool make)
{
	const char *path = number ? bawn_arena_printf(s->a, "/dev/fd/%s", number) : NULL;

	return path ? sh_file_get(s, path, make) : NULL;
}

static struct sh_func *find_func(struct sh *s, const char *name)
{
	for (struct sh_func *f = s->funcs[hash(name, strlen(name))]; f; f = f->next) {
		if (!strcmp(f->name, name))
			return f;
	}
	return NULL;
}

struct sh_func *sh_func_get(struct sh *s, const char *name)
{
	struct sh_func *f = find_func(s, name);

	return f && f->body ? f : NULL;
}

void sh_func_unset(struct sh *s, const char *name)
{
	struct sh_func *f = find_func(s, name);

	if (f)
		f->body = NULL;
}

int sh_func_set(struct sh *s, const char *name, const char *body, size_t n, bool alias)
{
	struct sh_func *f = find_func(s, name);
	struct sh_func **head = &s->funcs[hash(name, strlen(name))];

	if (!f) {
		f = bawn_new(s->a, struct sh_func, 1);
		if (!f)
			return sh_no_memory(s);
		f->name = name;
		f->next = *head;
		*head = f;
	}
	f->body = body;
	f->len = n;
	f->alias = alias;
	return 0;
}
