/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the values of the children to the value of a node. What a name stands for is followed
 * through imports and assignments; texts are folded; where content comes from is carried along.
 */
#include <string.h>

#include "inspect/code/code.h"

#define NAME_MAX_LEN 200
#define ITEMS_MAX    4096
#define TABLE_MIN    8

const struct code_val *code_child(const struct code_val *c, size_t n, uint8_t field)
{
	for (size_t i = 0; i < n; i++)
		if (c[i].field == field)
			return &c[i];
	return NULL;
}

static uint32_t taint_of(const struct code_val *c, size_t n)
{
	uint32_t t = 0;

	for (size_t i = 0; i < n; i++)
		t |= c[i].taint;
	return t;
}

static const struct code_val *keep(struct code_walk *w, const struct code_val *c, size_t n)
{
	struct code_val *v;

	if (!n)
		return NULL;
	if (!bawn_scan_spend(w->scan, n * 8)) {
		w->spent = true;
		return NULL;
	}
	v = bawn_new(w->a, struct code_val, n);
	if (!v) {
		w->failed = true;
		return NULL;
	}
	memcpy(v, c, n * sizeof(*v));
	return v;
}

static struct code_val list_of(struct code_walk *w, const struct code_val *c, size_t n)
{
	struct code_val v = {.name = "", .taint = taint_of(c, n)};

	if (n > ITEMS_MAX)
		n = ITEMS_MAX;
	v.items = keep(w, c, n);
	v.n = v.items ? (uint32_t)n : 0;
	return v;
}

/* A name with one more part, never longer than NAME_MAX_LEN. */
static const char *member_name(struct code_walk *w, const char *base, const char *part, size_t len)
{
	size_t n = strlen(base);

	if (len > NAME_MAX_LEN / 2)
		len = NAME_MAX_LEN / 2;
	if (!n || n + len + 1 > NAME_MAX_LEN)
		base = "?";
	return code_join(w, base, ".", part, len);
}

static struct code_val ident(struct code_walk *w, uint32_t start, uint32_t end)
{
	const char *s = w->text + start;
	size_t len = end - start;
	const struct code_var *var = len < 256 ? code_var_find(w, s, len) : NULL;
	struct code_val v = {.name = ""};

	if (var) {
		v = var->val;
		v.var = (uint32_t)(var - w->vars) + 1;
		v.key = NULL;
		if (!*v.name && !v.str && !v.n)
			v.name = code_text(w, start, end);
		return v;
	}
	v.name = code_text(w, start, len > NAME_MAX_LEN ? start + NAME_MAX_LEN : end);
	return v;
}

/* What only reading a member of something tells. */
uint32_t code_taint_of_name(const struct code_walk *w, const char *name)
{
	const struct code_known *k = code_known_find(w, name);

	if (strncmp(name, "os.environ.", 11) == 0 || strncmp(name, "process.env.", 12) == 0)
		return code_taint_of_variable(strrchr(name, '.') + 1);
	return k && k->op == CODE_OP_NONE ? k->taint : 0;
}

static bool is_environment(const char *name)
{
	return strcmp(name, "os.environ") == 0 || strcmp(name, "process.env") == 0;
}

static bool ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), k = strlen(tail);

	return n >= k && strcmp(s + n - k, tail) == 0;
}

/* What a member of JavaScript is, whatever way leads to it: f.constructor is Function. */
static const char *script_member(
	const struct code_walk *w, const struct code_val *obj, const char *name)
{
	if (!w->front->index_is_member)
		return name;
	if (ends_with(name, ".constructor") &&
		((obj->flags & CODE_V_FUNC) || strcmp(obj->name, "Function") == 0 ||
			strcmp(obj->name, "Object.getPrototypeOf()") == 0 ||
			ends_with(obj->name, ".constructor")))
		return "Function";
	return ends_with(name, ").mainModule.require") || ends_with(name, ".constructor._load")
		       ? "require"
		       : name;
}

/* process.env.HOME, os.environ["HOME"], u.HomeDir */
static bool is_home(const char *name)
{
	const char *tail = strrchr(name, '.');

	if (!tail)
		return false;
	if (strncmp(name, "process.env.", 12) == 0 || strncmp(name, "os.environ.", 11) == 0)
		return code_names_home(tail + 1);
	return strcmp(name, "os/user.Current().HomeDir") == 0;
}

static struct code_val attr(struct code_walk *w, const struct code_val *c, size_t n)
{
	const struct code_val *obj = code_child(c, n, CODE_F_OBJECT);
	const struct code_val *a = code_child(c, n, CODE_F_ATTR);
	struct code_val v = {.name = ""};
	const struct code_var *whole;

	if (!obj || !a)
		return v;
	whole = a->end - obj->start < 256 /* hostile chains are long */
			? code_var_find(w, w->text + obj->start, a->end - obj->start)
			: NULL;
	if (whole) {
		v = whole->val;
		v.var = (uint32_t)(whole - w->vars) + 1;
		v.key = NULL;
		if (*v.name || v.str || v.n)
			return v;
	}
	v.name = member_name(w, obj->str && !*obj->name ? "str" : obj->name, w->text + a->start,
		a->end - a->start);
	v.name = script_member(w, obj, v.name);
	if (is_home(v.name))
		return code_str(w, "~", 1, 0);
	v.taint |= obj->taint | code_taint_of_name(w, v.name);
	if ((v.taint & CODE_T_ENV) && is_environment(obj->name) && !code_taint_of_name(w, v.name))
		v.taint = (v.taint & ~CODE_T_ENV) | CODE_T_ENVVAR;
	v.flags = obj->flags & CODE_V_HIDDEN;
	if (!whole)
		v.var = obj->var;
	/* The receiver of a method call. */
	v.items = keep(w, obj, 1);
	v.n = 0;
	return v;
}

static bool is_namespace(const char *name)
{
	size_t n = strlen(name);
	static const char *const tails[] = {
		"__dict__",
		"globals()",
		"locals()",
		"vars()",
		"__builtins__",
		"sys.modules",
		"window",
		"globalThis",
		"global",
		"self",
		"this",
		"process",
		"builtins",
	};

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		size_t k = strlen(tails[i]);

		if (n >= k && strcmp(name + n - k, tails[i]) == 0 &&
			(n == k || name[n - k - 1] == '.'))
			return true;
	}
	return false;
}

/* globals()["x"], os.__dict__["x"]: the member itself. */
static const char *namespace_member(struct code_walk *w, const char *base, const struct code_val *i)
{
	size_t n = strlen(base);
	const char *tail = n > 9 ? base + n - 9 : "";

	if (strcmp(tail, ".__dict__") == 0)
		return member_name(w, bawn_arena_strndup(w->a, base, n - 9) ?: "", i->str, i->len);
	if (strcmp(base, "vars()") == 0 || strncmp(base, "window", 6) == 0 ||
		strncmp(base, "global", 6) == 0 || strcmp(base, "locals()") == 0 ||
		strcmp(base, "sys.modules") == 0 || strstr(base, "builtins") ||
		(w->front->index_is_member &&
			(strcmp(base, "self") == 0 || strcmp(base, "top") == 0)))
		return bawn_arena_strndup(w->a, i->str, i->len) ?: "";
	return member_name(w, base, i->str, i->len);
}

/* x["y"] */
static struct code_val key_of(
	struct code_walk *w, const struct code_val *obj, const struct code_val *i)
{
	bool space = is_namespace(obj->name), member = w->front->index_is_member;
	struct code_val v = {.name = ""};

	for (uint32_t k = 0; k < obj->n && (obj->flags & CODE_V_DICT); k++)
		if (obj->items[k].key && strcmp(obj->items[k].key, i->str) == 0)
			return obj->items[k];
	v.items = keep(w, obj, 1);
	if (space || (member && (i->taint & CODE_T_HIDDEN)))
		v.flags = CODE_V_HIDDEN;
	v.name = space || member ? namespace_member(w, obj->name, i)
				 : member_name(w, obj->name, i->str, i->len);
	v.name = script_member(w, obj, v.name);
	if (is_home(v.name))
		return code_str(w, "~", 1, 0);
	v.taint = obj->taint | code_taint_of_name(w, v.name);
	if (strstr(v.name, "environ.") || strstr(v.name, ".env."))
		v.taint = (v.taint & ~CODE_T_ENV) | CODE_T_ENVVAR;
	return v;
}

static struct code_val slice_of(
	struct code_walk *w, const struct code_val *obj, const struct code_val *i)
{
	struct code_val v = *obj;

	if (i->flags & CODE_V_HIDDEN)
		return code_reverse(w, obj);
	v.str = NULL;
	v.items = NULL;
	v.n = 0;
	v.flags = 0;
	return v;
}

static struct code_val index_of(struct code_walk *w, const struct code_val *c, size_t n)
{
	const struct code_val *obj = code_child(c, n, CODE_F_OBJECT);
	const struct code_val *i = code_child(c, n, CODE_F_INDEX);
	struct code_val v = {.name = ""};

	if (!obj)
		obj = code_child(c, n, CODE_F_VALUE);
	if (!obj || !i)
		return v;
	if (i->kind == CODE_SLICE)
		return slice_of(w, obj, i);
	if ((i->flags & CODE_V_NUMBER) && i->num >= 0 && (uint64_t)i->num < obj->n &&
		!(obj->flags & CODE_V_DICT)) {
		v = obj->items[i->num];
		if (v.str && v.len == 1 && obj->n >= TABLE_MIN) /* letters taken out of a table */
			v.taint |= CODE_T_HIDDEN;
		v.taint |= obj->taint & (CODE_T_HIDDEN | CODE_T_DECODED);
		return v;
	}
	if (i->str && (i->flags & CODE_V_EXACT))
		return key_of(w, obj, i);
	v.name = *obj->name ? member_name(w, obj->name, "[]", 2) : "";
	v.taint = obj->taint;
	if (i->taint & (CODE_T_HIDDEN | CODE_T_DECODED))
		v.flags = CODE_V_HIDDEN;
	return v;
}

static unsigned base_of(const char *s, size_t len, size_t *skip)
{
	char k;

	*skip = 0;
	if (len < 2 || s[0] != '0')
		return 10;
	k = (char)(s[1] | 32);
	*skip = 2;
	if (k == 'x')
		return 16;
	if (k == 'o')
		return 8;
	if (k == 'b')
		return 2;
	*skip = 0;
	return k >= '0' && k <= '7' ? 8 : 10;
}

static struct code_val number(struct code_walk *w, uint32_t start, uint32_t end)
{
	struct code_val v = {.name = ""};
	size_t skip;
	unsigned base = base_of(w->text + start, end - start, &skip);
	uint64_t x = 0;

	if (end - start > 20)
		return v;
	for (size_t i = start + skip; i < end; i++) {
		int d = bawn_digit16(w->text[i]);

		if (w->text[i] == '_')
			continue;
		if (d < 0 || (unsigned)d >= base)
			return v;
		x = x * base + (unsigned)d;
	}
	v.num = (int64_t)(x & INT64_MAX);
	v.flags = CODE_V_NUMBER;
	return v;
}

static bool op_is(const struct code_walk *w, const struct code_val *op, const char *s)
{
	return op && op->end - op->start == strlen(s) &&
	       memcmp(w->text + op->start, s, op->end - op->start) == 0;
}

static int64_t arith(const struct code_walk *w, const struct code_val *op, int64_t a, int64_t b)
{
	uint64_t x = (uint64_t)a, y = (uint64_t)b;

	switch (w->text[op->start]) {
	case '+':
		return (int64_t)(x + y);
	case '-':
		return (int64_t)(x - y);
	case '*':
		return (int64_t)(x * y);
	case '^':
		return (int64_t)(x ^ y);
	case '|':
		return (int64_t)(x | y);
	default:
		return (int64_t)(x & y);
	}
}

static struct code_val binary(struct code_walk *w, const struct code_val *c, size_t n)
{
	const struct code_val *l = code_child(c, n, CODE_F_LEFT),
			      *r = code_child(c, n, CODE_F_RIGHT);
	const struct code_val *op = code_child(c, n, CODE_F_OP);
	struct code_val v = {.name = "", .taint = taint_of(c, n)};

	if (!l || !r || !op)
		return v;
	if ((l->flags & r->flags & CODE_V_NUMBER) && op->end - op->start == 1 &&
		strchr("+-*^|&", w->text[op->start])) {
		v.num = arith(w, op, l->num, r->num);
		v.flags = CODE_V_NUMBER;
		return v;
	}
	if (op_is(w, op, "|") && (*l->name || *r->name)) { /* flags */
		v.name = *l->name && *r->name
				 ? bawn_arena_printf(w->a, "%.90s|%.90s", l->name, r->name) ?: ""
				 : (*l->name ? l->name : r->name);
		return v;
	}
	if (op_is(w, op, "+") && (l->str || r->str))
		return code_concat(w, l, r);
	if (op_is(w, op, "%") && l->str)
		return code_percent(w, l, r);
	if (op_is(w, op, "/") && (r->str || l->str)) { /* paths */
		struct code_val slash = code_str(w, "/", 1, 0), x = code_concat(w, l, &slash);

		x = code_concat(w, &x, r);
		x.taint = code_taint_of_path(&x);
		return x;
	}
	if ((op_is(w, op, "||") || op_is(w, op, "??") || op_is(w, op, "or")) &&
		(*l->name || l->str)) {
		v = *l;
		v.taint |= r->taint;
		v.var = 0;
	}
	return v;
}

/* A string with its parts: pieces of text and what is put into it. */
static struct code_val string(
	struct code_walk *w, const struct code_val *c, size_t n, uint32_t start, uint32_t end)
{
	struct code_val v = {.name = "", .start = start, .end = end};
	bool parts = false;

	for (size_t i = 0; i < n; i++)
		parts = parts || c[i].kind == CODE_INTERP;
	if (!parts) {
		w->front->unquote(w, &v);
		v.flags = CODE_V_EXACT;
		v.taint = code_taint_of_text(v.str, v.len);
		code_event_text(w, &v);
		return v;
	}
	v = code_str(w, "", 0, 0);
	for (size_t i = 0; i < n; i++) {
		if (c[i].kind == CODE_CONTENT || c[i].kind == CODE_ESCAPE) {
			struct code_val piece =
				code_str(w, w->text + c[i].start, c[i].end - c[i].start, 0);

			v = code_concat(w, &v, &piece);
		} else if (c[i].kind == CODE_INTERP) {
			v = code_concat(w, &v, &c[i]);
		}
	}
	v.taint |= code_taint_of_text(v.str, v.len);
	v.start = start;
	v.end = end;
	code_event_text(w, &v);
	return v;
}

/* a.b as it stands there, with what `a` is: its value is of no interest when it is overwritten. */
static const char *target_name(struct code_walk *w, const struct code_val *l)
{
	const char *s = w->text + l->start, *dot = memchr(s, '.', l->end - l->start);
	const struct code_var *head;

	if (l->kind != CODE_ATTR || !dot || l->end - l->start > NAME_MAX_LEN)
		return l->name;
	head = code_var_find(w, s, (size_t)(dot - s));
	if (!head || !*head->val.name)
		return code_text(w, l->start, l->end);
	return bawn_arena_printf(w->a, "%.100s%.*s", head->val.name,
		       (int)(l->end - l->start - (size_t)(dot - s)), dot)
		       ?: "";
}

static void assign(struct code_walk *w, const struct code_val *c, size_t n, bool augment)
{
	const struct code_val *l = code_child(c, n, CODE_F_LEFT),
			      *r = code_child(c, n, CODE_F_RIGHT);
	struct code_val v;

	if (!l)
		l = code_child(c, n, CODE_F_NAME);
	if (!r)
		r = code_child(c, n, CODE_F_VALUE);
	if (!l || !r)
		return;
	v = augment ? code_concat(w, l, r) : *r;
	if (augment)
		v.taint |= l->taint | r->taint;
	if (r->start > l->end && r->start - l->end < 16 &&
		memchr(w->text + l->end, '^', r->start - l->end)) /* b[i] ^= key */
		v.taint |= CODE_T_HIDDEN;
	v.key = NULL;
	for (uint32_t i = 0; l->kind == CODE_PATTERN && i < l->n; i++) /* a.x, b.y = … */
		if (l->items[i].kind == CODE_ATTR)
			code_event(w, "assign", target_name(w, &l->items[i]),
				v.n == l->n ? &v.items[i] : &v, 1, &l->items[i]);
	if (augment && r->kind == CODE_ATTR && ends_with(r->name, ".key")) /* key strokes */
		code_event(w, "assign", "text", r, 1, l);
	if (l->kind == CODE_ATTR || l->kind == CODE_INDEX) {
		code_event(w, "assign", target_name(w, l), &v, 1, l);
		if (l->kind == CODE_INDEX && l->items && l->items[0].var)
			w->vars[l->items[0].var - 1].val.taint |= v.taint;
	}
	code_bind(w, l, &v);
}

static struct code_val call(struct code_walk *w, const struct code_val *c, size_t n, bool made)
{
	const struct code_val *f = code_child(c, n, CODE_F_FUNC);
	const struct code_val *a = code_child(c, n, CODE_F_ARGS);
	const struct code_val *receiver = NULL;

	if (!f)
		return (struct code_val){.name = ""};
	if ((f->kind == CODE_ATTR || f->kind == CODE_INDEX) && f->items)
		receiver = f->items;
	if (a && a->kind != CODE_ARGS) /* f(x for x in …), f`…` */
		return code_call(w, f, receiver, a, 1, made);
	return code_call(w, f, receiver, a ? a->items : NULL, a ? a->n : 0, made);
}

void code_params(struct code_walk *w, const struct code_val *c, size_t n)
{
	struct code_func *f = code_func_add(w, w->scope, "");

	for (size_t i = 0; f && i < n; i++) {
		const struct code_val *name = c[i].n ? &c[i].items[0] : &c[i];
		struct code_val v = {.name = "", .taint = CODE_T_PARAM};
		uint32_t k = f->n_params;

		if (name->kind != CODE_IDENT)
			continue;
		v.name = code_text(w, name->start, name->end);
		if (!f->known && k < 4)
			f->params[f->n_params++] = v.name;
		for (k = 0; k < f->n_params; k++)
			if (strcmp(f->params[k], v.name) == 0)
				v.taint |= (CODE_T_ARG0 << k) | f->args[k];
		(void)code_var_set(w, w->scope, w->text + name->start, name->end - name->start, &v);
	}
	if (f)
		f->known = true;
}

static struct code_val func(struct code_walk *w, const struct code_val *c, size_t n, uint32_t start)
{
	const struct code_val *name = code_child(c, n, CODE_F_NAME);
	const struct code_val *body = code_child(c, n, CODE_F_BODY);
	struct code_func *f = code_func_add(w, start + 1, "");
	struct code_val v = {.name = "", .flags = CODE_V_FUNC};

	if (!f)
		return v;
	if (body && body->kind != CODE_BLOCK) { /* x => f(x) */
		f->ret |= body->taint;
		if (strncmp(body->name, "reversed()", 10) == 0)
			f->ret |= CODE_T_HIDDEN;
	}
	v.num = f - w->funcs + 1;
	if (!name)
		return v;
	v.name = code_text(w, name->start, name->end);
	if (!*f->name) {
		struct code_val x = {.name = "", .num = v.num};

		f->name = v.name;
		(void)code_var_set(w, UINT32_MAX, v.name, strlen(v.name), &x);
	}
	return v;
}

static struct code_val comprehension(const struct code_val *c, size_t n)
{
	const struct code_val *body = code_child(c, n, CODE_F_BODY);
	struct code_val v = {.name = "", .taint = taint_of(c, n)};

	/* chr(x) for x in [numbers]: the characters themselves. */
	if (!body || (strcmp(body->name, "chr()") != 0 && strcmp(body->name, "bytes()") != 0))
		return v;
	v.taint |= CODE_T_HIDDEN;
	for (size_t i = 0; i < n; i++)
		if (c[i].kind == CODE_FOR_IN && c[i].n) {
			v.items = c[i].items;
			v.n = c[i].n;
		}
	return v;
}

void code_loop(struct code_walk *w, const struct code_val *c, size_t n)
{
	const struct code_val *l = code_child(c, n, CODE_F_LEFT),
			      *r = code_child(c, n, CODE_F_RIGHT);
	struct code_val v;

	if (!l || !r)
		return;
	v = *r;
	v.str = NULL;
	v.key = NULL;
	v.var = 0;
	v.name = "";
	v.flags = r->n ? CODE_V_ANYOF : 0;
	code_bind(w, l, &v);
}

static void returns(struct code_walk *w, const struct code_val *c, size_t n)
{
	struct code_func *f = code_func_of(w, w->scope);

	if (!f || !n)
		return;
	f->ret |= c[n - 1].taint;
	if (c[n - 1].str || *c[n - 1].name) {
		f->result = c[n - 1];
		f->result.var = 0;
	}
}

static struct code_val dict(struct code_walk *w, const struct code_val *c, size_t n)
{
	struct code_val v = list_of(w, c, n);

	v.flags = CODE_V_DICT;
	return v;
}

static struct code_val pair(struct code_walk *w, const struct code_val *c, size_t n)
{
	const struct code_val *k = code_child(c, n, CODE_F_KEY),
			      *v = code_child(c, n, CODE_F_VALUE);
	struct code_val out = {.name = ""};

	if (!k)
		k = code_child(c, n, CODE_F_NAME);
	if (!k || !v)
		return n ? c[n - 1] : out;
	out = *v;
	out.key = k->str ? k->str
			 : code_text(w, k->start, k->end - k->start > 64 ? k->start + 64 : k->end);
	return out;
}

static struct code_val slice(
	const struct code_walk *w, const struct code_val *c, size_t n, uint32_t start, uint32_t end)
{
	struct code_val v = {.name = ""};

	/* [::-1] */
	if (end - start >= 4 && memcmp(w->text + end - 2, "-1", 2) == 0 &&
		memchr(w->text + start, ':', end - start - 2))
		v.flags = CODE_V_HIDDEN;
	(void)c;
	(void)n;
	return v;
}

static void scope_context(struct code_walk *w, uint8_t kind, const struct code_val *c, size_t n)
{
	const struct code_val *name = code_child(c, n, CODE_F_NAME);
	struct code_scope *s = code_scope_at(w, w->scope);
	const char *context;

	if (!s || w->last || !w->front->context)
		return;
	context =
		w->front->context(w, kind, name ? code_text(w, name->start, name->end) : "", c, n);
	if (context)
		s->context = context;
}

/* Nodes whose value comes from one shape of children in every language. */
static bool structure(struct code_walk *w, uint8_t kind, struct code_val *c, size_t n,
	uint32_t start, struct code_val *out)
{
	switch (kind) {
	case CODE_FUNC:
	case CODE_CLASS:
		scope_context(w, kind, c, n);
		*out = kind == CODE_FUNC ? func(w, c, n, start) : (struct code_val){.name = ""};
		return true;
	case CODE_PARAMS:
		code_params(w, c, n);
		*out = list_of(w, c, n);
		return true;
	case CODE_ASSIGN:
	case CODE_AUGMENT: {
		const struct code_val *r = code_child(c, n, CODE_F_RIGHT);

		assign(w, c, n, kind == CODE_AUGMENT);
		*out = r ? *r : (struct code_val){.name = ""};
		return true;
	}
	case CODE_FOR_IN: {
		const struct code_val *r = code_child(c, n, CODE_F_RIGHT);

		*out = r ? *r : (struct code_val){.name = ""};
		return true;
	}
	case CODE_RETURN:
		returns(w, c, n);
		*out = (struct code_val){.name = ""};
		return true;
	case CODE_AS: {
		const struct code_val *a = code_child(c, n, CODE_F_ALIAS);

		*out = n ? c[0] : (struct code_val){.name = ""};
		if (a && n)
			code_bind(w, a, &c[0]);
		return true;
	}
	case CODE_BLOCK:
	case CODE_STATEMENT:
	case CODE_COMMENT:
	case CODE_TYPE:
		*out = (struct code_val){.name = ""};
		return true;
	default:
		return false;
	}
}

struct code_val code_leave(struct code_walk *w, uint8_t kind, struct code_val *c, size_t n,
	uint32_t start, uint32_t end)
{
	struct code_val v = {.name = "", .start = start, .end = end};

	if (w->front->leave(w, kind, c, n, &v) || structure(w, kind, c, n, start, &v))
		return v;
	switch (kind) {
	case CODE_IDENT:
		return ident(w, start, end);
	case CODE_ATTR:
		return attr(w, c, n);
	case CODE_INDEX:
		return index_of(w, c, n);
	case CODE_NUMBER:
		return number(w, start, end);
	case CODE_STRING:
		return string(w, c, n, start, end);
	case CODE_CONCAT: {
		v = code_str(w, "", 0, 0);
		for (size_t i = 0; i < n; i++)
			v = code_concat(w, &v, &c[i]);
		return v;
	}
	case CODE_BINARY:
		return binary(w, c, n);
	case CODE_CALL:
	case CODE_NEW:
		return call(w, c, n, kind == CODE_NEW);
	case CODE_LIST:
	case CODE_ARGS:
	case CODE_PATTERN:
		return list_of(w, c, n);
	case CODE_DICT:
		return dict(w, c, n);
	case CODE_PAIR:
	case CODE_KWARG:
		return pair(w, c, n);
	case CODE_SLICE:
		return slice(w, c, n, start, end);
	case CODE_COMPREHENSION:
		return comprehension(c, n);
	case CODE_INTERP:
		return n ? c[0] : v;
	case CODE_PASS:
		return n ? c[n - 1] : v;
	case CODE_TERNARY:
		if (n > 1) {
			v = c[n - 1].str ? c[n - 1] : c[0];
			v.taint = taint_of(c, n);
		}
		return v;
	default:
		v.taint = taint_of(c, n);
		return v;
	}
}
