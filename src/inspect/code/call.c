/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call: what it does if the function is known, what its result is, and what goes on to be looked
 * at by itself: commands for a shell, words of a process, code for an interpreter.
 */
#include <string.h>

#include "inspect/code/code.h"

#define NESTED_MAX  512
#define WORDS_MAX   64
#define COMMAND_MAX ((size_t)64 << 10)

const struct code_known *code_known_find(const struct code_walk *w, const char *name)
{
	const struct code_known *v = w->front->known;
	const char *tail = strrchr(name, '.');

	if (tail == name)
		tail = NULL;
	for (const char *key = name; key; key = key == name ? tail : NULL) {
		size_t lo = 0, hi = w->front->n_known;

		while (lo < hi) {
			size_t mid = (lo + hi) / 2;
			int c = strcmp(key, v[mid].name);

			if (!c)
				return &v[mid];
			if (c < 0)
				hi = mid;
			else
				lo = mid + 1;
		}
	}
	return NULL;
}

static void nest(struct code_walk *w, const struct code_val *at, const char *text, size_t len,
	const char *const *argv, bool code)
{
	struct code_nested *x;

	if (!w->last || w->n_nested >= NESTED_MAX || !len || len > COMMAND_MAX)
		return;
	x = bawn_grow(w->a, &w->nested, &w->n_nested, &w->cap_nested);
	if (!x) {
		w->failed = true;
		return;
	}
	*x = (struct code_nested){.text = text,
		.len = (uint32_t)len,
		.argv = argv,
		.code = code,
		.start = at->start,
		.end = at->end};
}

static void nest_text(
	struct code_walk *w, const struct code_val *at, const struct code_val *v, bool code)
{
	if (v->str && (!code || (v->flags & CODE_V_EXACT)))
		nest(w, at, v->str, v->len, NULL, code);
	for (uint32_t i = 0; (v->flags & CODE_V_ANYOF) && i < v->n; i++)
		if (v->items[i].str)
			nest(w, at, v->items[i].str, v->items[i].len, NULL, code);
}

static const struct code_val *keyword(const struct code_val *args, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (args[i].key && strcmp(args[i].key, key) == 0)
			return &args[i];
	return NULL;
}

static bool is_true(const struct code_val *v)
{
	return v && (strcasecmp(v->name, "true") == 0 || ((v->flags & CODE_V_NUMBER) && v->num));
}

struct words {
	const char *v[WORDS_MAX + 1];
	size_t n, known;
};

static void add_word(struct words *x, const struct code_val *v)
{
	if (x->n >= WORDS_MAX)
		return;
	x->known += v->str != NULL;
	x->v[x->n++] = v->str ? v->str : "_";
}

static void add_words(struct words *x, const struct code_val *v)
{
	if (v->key || (v->flags & (CODE_V_FUNC | CODE_V_DICT)))
		return;
	if (!v->n || v->str) {
		add_word(x, v);
		return;
	}
	for (uint32_t i = 0; i < v->n; i++) {
		/* os.execvp("a", ["a", …]) names the program twice */
		if (!i && x->n == 1 && v->items[0].str && strcmp(x->v[0], v->items[0].str) == 0)
			continue;
		add_word(x, &v->items[i]);
	}
}

static void process(
	struct code_walk *w, const struct code_val *at, const struct code_val *args, size_t n)
{
	struct words x = {.n = 0};
	const char **argv;
	struct bawn_buf b = {.max = COMMAND_MAX};

	if (!n)
		return;
	if (args[0].str && !args[0].key &&
		(n == 1 || is_true(keyword(args, n, "shell")) || args[1].key ||
			(args[1].flags & (CODE_V_DICT | CODE_V_FUNC)))) {
		nest_text(w, at, &args[0], false);
		return;
	}
	if (args[0].flags & CODE_V_ANYOF) {
		nest_text(w, at, &args[0], false);
		return;
	}
	for (size_t i = 0; i < n; i++)
		add_words(&x, &args[i]);
	if (!x.known)
		return;
	argv = bawn_new(w->a, const char *, x.n + 1);
	if (!argv) {
		w->failed = true;
		return;
	}
	for (size_t i = 0; i < x.n; i++) {
		argv[i] = x.v[i];
		bawn_buf_printf(&b, "%s%s", i ? " " : "", x.v[i]);
	}
	if (!b.failed) {
		const char *text = bawn_arena_strndup(w->a, b.data, b.len);

		if (text)
			nest(w, at, text, b.len, argv, false);
	}
	bawn_buf_done(&b);
}

/* A parameter that reaches something dangerous: callers of the function are looked at as well. */
static void mark_sink(struct code_walk *w, const char *name, const struct code_val *args, size_t n)
{
	struct code_func *f = code_func_of(w, w->scope);
	uint32_t t = 0;

	for (size_t i = 0; i < n; i++)
		t |= args[i].taint;
	for (unsigned k = 0; f && k < 4; k++)
		if ((t & (CODE_T_ARG0 << k)) && !f->sinks[k])
			f->sinks[k] = name;
}

static void act(struct code_walk *w, const struct code_known *k, const char *name,
	const struct code_val *at, const struct code_val *args, size_t n)
{
	switch (k->op) {
	case CODE_OP_SHELL:
		if (n)
			nest_text(w, at, &args[0], false);
		break;
	case CODE_OP_PROCESS:
		process(w, at, args, n);
		break;
	case CODE_OP_PROCESS1:
		if (n)
			process(w, at, args + 1, n - 1);
		break;
	case CODE_OP_EVAL:
		if (n)
			nest_text(w, at, &args[0], true);
		break;
	case CODE_OP_SEND:
		break;
	default:
		return;
	}
	mark_sink(w, name, args, n);
}

static void flow_into(struct code_walk *w, const struct code_val *to, uint32_t taint)
{
	if (to && to->var && to->var <= w->n_vars)
		w->vars[to->var - 1].val.taint |= taint & ~CODE_T_ARGS;
}

/* What kind of call it is, for rules. */
static const char *verb_of(const struct code_known *k, bool new)
{
	uint8_t op = k ? k->op : (uint8_t)CODE_OP_NONE;

	if (op == CODE_OP_SHELL || op == CODE_OP_PROCESS || op == CODE_OP_PROCESS1)
		return "process";
	if (op == CODE_OP_EVAL)
		return "eval";
	if (op == CODE_OP_SEND)
		return "send";
	return new ? "new" : "call";
}

/* A function of this file: arguments flow into its parameters, what it returns comes back. */
static struct code_val own(struct code_walk *w, struct code_func *f, const struct code_val *at,
	const struct code_val *args, size_t n)
{
	struct code_val v = f->result;
	uint32_t taint = f->ret & ~(CODE_T_ARGS | CODE_T_PARAM);
	struct code_scope *body = code_scope_at(w, f->scope);

	if (body && strcmp(code_context(w), "install") == 0)
		body->context = "install";

	for (size_t i = 0; i < n && i < 4; i++) {
		f->args[i] |= args[i].taint & ~(CODE_T_ARGS | CODE_T_PARAM);
		if (f->ret & (CODE_T_ARG0 << i))
			taint |= args[i].taint;
		if (f->sinks[i] && (args[i].str || args[i].n || args[i].taint)) {
			const struct code_known *k = code_known_find(w, f->sinks[i]);

			code_event(w, verb_of(k, false), f->sinks[i], &args[i], 1, at);
			if (k)
				act(w, k, f->sinks[i], at, &args[i], 1);
		}
	}
	if (!v.name)
		v.name = "";
	v.taint = taint;
	v.flags &= (uint8_t)~CODE_V_HIDDEN;
	return v;
}

static const char *result_name(struct code_walk *w, const char *name)
{
	size_t n = strlen(name);

	if (!n || n > 180)
		return "";
	return code_join(w, name, "", "()", 2);
}

static struct code_val module_of(const struct code_walk *w, const struct code_val *name)
{
	struct code_val v = {.name = name->str};

	if (strncmp(v.name, "node:", 5) == 0)
		v.name += 5;
	if (!w->front->index_is_member || (name->taint & (CODE_T_HIDDEN | CODE_T_DECODED)))
		v.flags = CODE_V_HIDDEN;
	return v;
}

static struct code_val member_of(
	struct code_walk *w, const struct code_val *obj, const struct code_val *name)
{
	struct code_val v = {.name = "", .flags = CODE_V_HIDDEN, .taint = obj->taint};

	if (!name || !name->str) {
		v.name = bawn_arena_printf(w->a, "%.180s.[]", obj->name) ?: "";
		if (!name || !(name->taint & (CODE_T_HIDDEN | CODE_T_DECODED)))
			v.flags = 0;
		return v;
	}
	if (strstr(obj->name, "builtins") || strcmp(obj->name, "globals()") == 0)
		v.name = name->str;
	else
		v.name = bawn_arena_printf(w->a, "%.100s.%.80s", obj->name, name->str) ?: "";
	v.taint |= name->taint & (CODE_T_HIDDEN | CODE_T_DECODED);
	return v;
}

/* __import__("a.b") gives a, unless it is told what to take from b. */
static struct code_val top_module(struct code_walk *w, const struct code_known *k,
	const struct code_val *args, size_t n, struct code_val module)
{
	const char *dot = strchr(module.name, '.');

	if (!dot || !strstr(k->name, "__import__") || n > 3)
		return module;
	for (size_t i = 0; i < n; i++) {
		if (args[i].key && strcmp(args[i].key, "fromlist") == 0)
			return module;
	}
	module.name = bawn_arena_strndup(w->a, module.name, (size_t)(dot - module.name)) ?: "";
	return module;
}

/* Functions that give a module or a member by its name. */
static bool dynamic(struct code_walk *w, const struct code_known *k,
	const struct code_val *receiver, const struct code_val *args, size_t n,
	struct code_val *out)
{
	switch (k->op) {
	case CODE_OP_CALLEE:
		if (receiver)
			*out = *receiver;
		return receiver != NULL;
	case CODE_OP_IMPORT:
		if (!n || !args[0].str)
			return false;
		*out = top_module(w, k, args, n, module_of(w, &args[0]));
		return true;
	case CODE_OP_GETATTR:
		if (!n || !*args[0].name)
			return false;
		*out = member_of(w, &args[0], n > 1 ? &args[1] : NULL);
		return true;
	case CODE_OP_MEMBER:
		if (!receiver || !*receiver->name)
			return false;
		*out = member_of(w, receiver, n ? &args[0] : NULL);
		return true;
	default:
		return false;
	}
}

/* What a known function makes of what it is given; false: something new. */
static bool known_result(struct code_walk *w, const struct code_known *k,
	const struct code_val *receiver, const struct code_val *args, size_t n, struct code_val *v)
{
	const struct code_val *x = receiver ? receiver : (n ? &args[0] : NULL);

	if (dynamic(w, k, receiver, args, n, v) || code_fold(w, k->op, receiver, args, n, v)) {
		v->taint |= k->taint;
		if (k->op != CODE_OP_CALLEE)
			v->var = 0;
		return true;
	}
	if (k->op == CODE_OP_HOME) {
		*v = code_str(w, "~", 1, 0);
		return true;
	}
	if (k->op == CODE_OP_SAME && x) {
		*v = *x;
		v->key = NULL;
		v->taint |= k->taint;
		return true;
	}
	if (k->op == CODE_OP_COPY && n > 1)
		flow_into(w, &args[0], args[1].taint | k->taint);
	return false;
}

/* What comes out of functions that are given to another one to be called with each part. */
static uint32_t made_by(
	const struct code_walk *w, const char *name, const struct code_val *args, size_t n)
{
	const char *tail = strrchr(name, '.');
	const struct code_known *k;
	uint32_t t = 0;

	if (strcmp(name, "map") != 0 &&
		(!tail || (strcmp(tail, ".map") != 0 && strcmp(tail, ".replace") != 0)))
		return 0;
	for (size_t i = 0; i < n && i < 2; i++) {
		if ((args[i].flags & CODE_V_FUNC) && args[i].num > 0 &&
			(size_t)args[i].num <= w->n_funcs)
			t |= w->funcs[args[i].num - 1].ret;
		k = !i && *args[i].name ? code_known_find(w, args[i].name) : NULL;
		if (k &&
			(k->op == CODE_OP_CHARS || k->op == CODE_OP_BASE64 || k->op == CODE_OP_HEX))
			t |= CODE_T_HIDDEN;
	}
	return t & (CODE_T_HIDDEN | CODE_T_DECODED);
}

static struct code_val result(struct code_walk *w, const struct code_known *k, const char *name,
	const struct code_val *receiver, const struct code_val *args, size_t n)
{
	/* a function of a module is not a method of a value */
	const struct code_val *method = k && k->name[0] != '.' ? NULL : receiver;
	struct code_val v = {.name = ""};
	uint32_t in = receiver ? receiver->taint : 0;

	for (size_t i = 0; i < n; i++)
		in |= args[i].taint;
	in |= made_by(w, name, args, n);
	if (k && known_result(w, k, method, args, n, &v)) {
		if (k->op == CODE_OP_SAME)
			v.taint |= in;
		if (k->op == CODE_OP_REPLACE)
			v.taint |= in & (CODE_T_HIDDEN | CODE_T_DECODED);
		return v;
	}
	if (k && k->op == CODE_OP_INTO)
		flow_into(w, receiver, in);
	v.name = result_name(w, name);
	v.taint =
		(k && k->clears ? 0 : in & ~CODE_T_ARGS) | (in & CODE_T_ARGS) | (k ? k->taint : 0);
	if (k && (k->taint & CODE_T_ENVVAR) && n && args[0].str) {
		v.taint |= code_taint_of_variable(args[0].str);
		if (code_names_program(args[0].str))
			v.taint &= ~CODE_T_ENVVAR;
		if (code_names_home(args[0].str))
			return code_str(w, "~", 1, 0);
	}
	return v;
}

/* git rev-parse HEAD and the like: what they print is in every build. */
static bool about_tree(const struct code_val *args, size_t n)
{
	static const char *const tells[] = {
		"rev-parse", "describe", "status", "branch", "symbolic-ref", "rev-list", "tag"};
	const char *s = n && args[0].str ? args[0].str : "";
	const struct code_val *v = n && args[0].n && !args[0].str ? args[0].items : args;
	size_t k = v == args ? n : args[0].n;

	if (strncmp(s, "git ", 4) == 0)
		s += 4;
	else if (k > 1 && v[0].str && strcmp(v[0].str, "git") == 0 && v[1].str)
		s = v[1].str;
	else if (k > 1 && v[0].str && strcmp(v[0].str, "git") == 0 && v[1].n && v[1].items[0].str)
		s = v[1].items[0].str;
	else
		return false;
	for (size_t i = 0; i < sizeof(tells) / sizeof(tells[0]); i++)
		if (strncmp(s, tells[i], strlen(tells[i])) == 0)
			return !strpbrk(s, ";|&`$");
	return false;
}

static struct code_func *own_function(struct code_walk *w, const struct code_val *callee)
{
	const char *name = callee->name, *tail;

	/* const f = x => …; f(y) */
	if ((callee->flags & CODE_V_FUNC) && callee->num > 0 && (size_t)callee->num <= w->n_funcs)
		return &w->funcs[callee->num - 1];
	if (!*name)
		return NULL;
	if (strncmp(name, w->front->self, strlen(w->front->self)) == 0)
		return code_func_named(w, name + strlen(w->front->self));
	tail = strrchr(name, '.');
	if (tail && !(callee->flags & CODE_V_FUNC))
		return NULL;
	return code_func_named(w, tail ? tail + 1 : name);
}

/* A function given to a call is called with what the call is about. */
static void call_back(struct code_walk *w, const struct code_known *k,
	const struct code_val *receiver, const struct code_val *args, size_t n)
{
	uint32_t t = (k ? k->taint : 0) | (receiver ? receiver->taint : 0);

	t &= ~(CODE_T_ARGS | CODE_T_PARAM);
	for (size_t i = 0; t && i < n; i++)
		if ((args[i].flags & CODE_V_FUNC) && args[i].num > 0 &&
			(size_t)args[i].num <= w->n_funcs)
			for (size_t p = 0; p < 4; p++)
				w->funcs[args[i].num - 1].args[p] |= t;
}

/* f.__call__(x), f.call(this, x), f.apply(this, [x]): a call of f. */
static bool unwrap_call(bool script, const struct code_val **callee,
	const struct code_val **receiver, const struct code_val **args, size_t *n)
{
	const char *tail = strrchr((*callee)->name, '.');
	const struct code_val *f = *receiver;

	if (!tail || !f || !*f->name || (f->flags & CODE_V_FUNC))
		return false;
	if (script && strcmp(tail, ".apply") == 0 && *n == 2) {
		bool known = (*args)[1].n;

		*n = known ? (*args)[1].n : 1;
		*args = known ? (*args)[1].items : *args + 1;
	} else if (script && strcmp(tail, ".call") == 0 && *n) {
		*args += 1;
		*n -= 1;
	} else if (strcmp(tail, ".__call__") != 0) {
		return false;
	}
	*callee = f;
	*receiver = f->items && !f->n ? f->items : NULL;
	return true;
}

/* p.write_text(x): the path is what a rule has to see first. */
static void say(struct code_walk *w, const char *verb, const char *name,
	const struct code_val *receiver, const struct code_val *args, size_t n,
	const struct code_val *at)
{
	static const char *const methods[] = {"str.open", "str.read_bytes", "str.read_text",
		"str.unlink", "str.write_bytes", "str.write_text"};
	struct code_val with[3];

	for (size_t i = 0; receiver && receiver->str && i < sizeof(methods) / sizeof(methods[0]);
		i++) {
		size_t m = n < 2 ? n : 2;

		if (strcmp(name, methods[i]) != 0)
			continue;
		with[0] = *receiver;
		with[0].key = NULL;
		for (size_t j = 0; j < m; j++)
			with[j + 1] = args[j];
		code_event(w, "call", name, with, m + 1, at);
		return;
	}
	code_event(w, verb, name, args, n, at);
}

struct code_val code_call(struct code_walk *w, const struct code_val *callee,
	const struct code_val *receiver, const struct code_val *args, size_t n, bool new)
{
	(void)unwrap_call(w->front->index_is_member, &callee, &receiver, &args, &n);
	const char *name = *callee->name ? callee->name : "?";
	struct code_func *f = own_function(w, callee);
	const struct code_known *k = f ? NULL : code_known_find(w, name);
	struct code_val at = *callee, v;

	if (w->seen && callee->start < w->len)
		w->seen[callee->start / 8] |= (uint8_t)(1u << (callee->start % 8));
	if (n)
		at.end = args[n - 1].end > at.end ? args[n - 1].end : at.end;
	if (callee->kind == CODE_FUNC || ((callee->flags & CODE_V_FUNC) && (!f || !*callee->name)))
		name = "(func)";
	say(w, verb_of(k, new), name, receiver, args, n, &at);
	call_back(w, k, receiver, args, n);
	if (f) {
		v = own(w, f, &at, args, n);
		if (callee->kind == CODE_FUNC || (!*v.name && !v.str && !v.n && !*callee->name))
			v.name = "(func)()";
	} else {
		if (k)
			act(w, k, name, &at, args, n);
		v = result(w, k, name, receiver, args, n);
		if (k && (k->taint & CODE_T_OUTPUT) && about_tree(args, n))
			v.taint &= ~CODE_T_OUTPUT;
	}
	return v;
}
