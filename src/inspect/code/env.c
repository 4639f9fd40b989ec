/* SPDX-License-Identifier: Apache-2.0 */
/* What names stand for: variables by scope, functions of the file, scopes. */
#include <string.h>

#include "inspect/code/code.h"

#define SCOPE_CHAIN_MAX 64
#define FUNCTIONS       UINT32_MAX /* the scope that function names are kept under */

static uint64_t hash_of(uint32_t scope, const char *name, size_t len)
{
	uint64_t h = 1469598103934665603u ^ scope;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 1099511628211u;
	return h ^ (h >> 29);
}

static uint32_t *slot(struct code_walk *w, uint32_t scope, const char *name, size_t len)
{
	size_t mask = w->n_index - 1, i = hash_of(scope, name, len) & mask;

	for (;; i = (i + 1) & mask) {
		const struct code_var *v;

		if (!w->index[i])
			return &w->index[i];
		v = &w->vars[w->index[i] - 1];
		if (v->scope == scope && v->len == len && memcmp(v->name, name, len) == 0)
			return &w->index[i];
	}
}

static bool grow_index(struct code_walk *w)
{
	size_t n = w->n_index ? w->n_index * 2 : 256;
	uint32_t *old = w->index, *fresh = bawn_new(w->a, uint32_t, n);
	size_t n_old = w->n_index;

	if (!fresh) {
		w->failed = true;
		return false;
	}
	w->index = fresh;
	w->n_index = n;
	for (size_t i = 0; i < n_old; i++)
		if (old[i] && w->vars) {
			const struct code_var *v = &w->vars[old[i] - 1];

			*slot(w, v->scope, v->name, v->len) = old[i];
		}
	return true;
}

/* Scopes and functions are found through the same table, under names that no variable has. */
static size_t indexed(struct code_walk *w, uint32_t scope, const char *name)
{
	uint32_t at = w->n_index ? *slot(w, scope, name, strlen(name)) : 0;

	return at ? (size_t)w->vars[at - 1].val.num : 0;
}

static void put_index(struct code_walk *w, uint32_t scope, const char *name, size_t i)
{
	struct code_val v = {.name = "", .num = (int64_t)i + 1};

	(void)code_var_set(w, scope, name, strlen(name), &v);
}

struct code_scope *code_scope_at(struct code_walk *w, uint32_t id)
{
	size_t i = indexed(w, id, "\1scope");

	return i ? &w->scopes[i - 1] : NULL;
}

struct code_scope *code_scope_enter(struct code_walk *w, uint32_t id, const char *context)
{
	struct code_scope *s = code_scope_at(w, id);

	if (!s) {
		s = bawn_grow(w->a, &w->scopes, &w->n_scopes, &w->cap_scopes);
		if (!s) {
			w->failed = true;
			return NULL;
		}
		*s = (struct code_scope){.id = id, .parent = w->scope, .context = context};
		put_index(w, id, "\1scope", w->n_scopes - 1);
	}
	w->scope = id;
	return s;
}

const char *code_context(struct code_walk *w)
{
	const struct code_scope *s = code_scope_at(w, w->scope);
	const char *here = s ? s->context : "module";

	for (unsigned hops = 0; s && hops < SCOPE_CHAIN_MAX; hops++) {
		if (strcmp(s->context, "install") == 0 || strcmp(s->context, "build") == 0)
			return s->context;
		if (!s->id)
			break;
		s = code_scope_at(w, s->parent);
	}
	return here;
}

struct code_var *code_var_find(struct code_walk *w, const char *name, size_t len)
{
	uint32_t scope = w->scope;

	if (!w->n_index)
		return NULL;
	for (unsigned hops = 0; hops < SCOPE_CHAIN_MAX; hops++) {
		uint32_t at = *slot(w, scope, name, len);
		const struct code_scope *s;

		if (at)
			return &w->vars[at - 1];
		if (!scope)
			return NULL;
		s = code_scope_at(w, scope);
		scope = s ? s->parent : 0;
	}
	return NULL;
}

struct code_var *code_var_set(
	struct code_walk *w, uint32_t scope, const char *name, size_t len, const struct code_val *v)
{
	struct code_var *x;
	uint32_t *at;

	if ((w->n_vars + 1) * 2 > w->n_index && !grow_index(w))
		return NULL;
	at = slot(w, scope, name, len);
	if (*at) {
		x = &w->vars[*at - 1];
		/* What flowed into a name once stays with it: branches are not told apart. */
		uint32_t taint = x->val.taint;

		x->val = *v;
		x->val.taint |= taint;
		return x;
	}
	x = bawn_grow(w->a, &w->vars, &w->n_vars, &w->cap_vars);
	if (!x) {
		w->failed = true;
		return NULL;
	}
	*x = (struct code_var){.scope = scope, .len = (uint32_t)len, .name = name, .val = *v};
	*slot(w, scope, name, len) = (uint32_t)w->n_vars;
	return x;
}

static bool plain_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		bool ok = c >= 0x80 || c == '_' || c == '$' || c == '@' || c == '#' || c == '.' ||
			  (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');

		if (!ok)
			return false;
	}
	return len && len < 256;
}

/* Give `v` to what stands at `target`: a name, a member (kept for the whole file), or several. */
void code_bind(struct code_walk *w, const struct code_val *target, const struct code_val *v)
{
	const char *s = w->text + target->start;
	size_t len = target->end - target->start;
	const struct code_var *outer;

	if (target->n && (target->kind == CODE_PATTERN || target->kind == CODE_LIST)) {
		for (uint32_t i = 0; i < target->n; i++) {
			struct code_val part = *v;

			if (v->n == target->n && !(v->flags & CODE_V_ANYOF)) {
				part = v->items[i];
			} else if (!(v->flags & CODE_V_ANYOF) && (i || w->front != &code_go)) {
				part.str = NULL;
				part.flags &= (uint8_t)~CODE_V_EXACT;
			}
			if (target->items[i].kind == CODE_IDENT ||
				target->items[i].kind == CODE_ATTR) {
				const char *t = w->text + target->items[i].start;
				size_t n = target->items[i].end - target->items[i].start;

				if (plain_name(t, n))
					(void)code_var_set(w, w->scope, t, n, &part);
			}
		}
		return;
	}
	if (!plain_name(s, len))
		return;
	if (memchr(s, '.', len)) {
		(void)code_var_set(w, 0, s, len, v);
		return;
	}
	/* without a declaration it is the variable of the function around, if there is one */
	outer = w->front->index_is_member && target->field == CODE_F_LEFT ? code_var_find(w, s, len)
									  : NULL;
	(void)code_var_set(w, outer ? outer->scope : w->scope, s, len, v);
}

struct code_func *code_func_named(struct code_walk *w, const char *name)
{
	size_t i = indexed(w, FUNCTIONS, name);

	return i ? &w->funcs[i - 1] : NULL;
}

struct code_func *code_func_of(struct code_walk *w, uint32_t scope)
{
	for (unsigned hops = 0; scope && hops < SCOPE_CHAIN_MAX; hops++) {
		size_t i = indexed(w, scope, "\1func");
		const struct code_scope *s;

		if (i)
			return &w->funcs[i - 1];
		s = code_scope_at(w, scope);
		scope = s ? s->parent : 0;
	}
	return NULL;
}

struct code_func *code_func_add(struct code_walk *w, uint32_t scope, const char *name)
{
	size_t i = indexed(w, scope, "\1func");
	struct code_func *f;

	if (i)
		return &w->funcs[i - 1];
	f = bawn_grow(w->a, &w->funcs, &w->n_funcs, &w->cap_funcs);
	if (!f) {
		w->failed = true;
		return NULL;
	}
	*f = (struct code_func){.name = name, .scope = scope};
	put_index(w, scope, "\1func", w->n_funcs - 1);
	put_index(w, FUNCTIONS, name, w->n_funcs - 1);
	return f;
}
