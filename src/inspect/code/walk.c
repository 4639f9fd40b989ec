/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of a file, children first, with a stack of our own: hostile files nest as deep as they
 * like. Node and field names are looked up once per language, and the parser's tree is gone through
 * once: it is walked several times, which its cursor is slow at.
 */
#include <errno.h>
#include <string.h>

#include "inspect/code/code.h"

#define PARSE_MAX    ((size_t)4 << 20)
#define PARSE_MICROS 3000000u
#define SYMBOLS_MAX  1024
#define FIELDS_MAX   128
#define DEPTH_MAX    20000
#define PIECE        20000u /* tokens */
#define PIECE_MAX    30000u
#define STEP_BYTES   2 /* of text; most have fewer steps */

struct table {
	const TSLanguage *lang;
	uint8_t kinds[SYMBOLS_MAX];
	uint8_t fields[FIELDS_MAX];
};

struct frame {
	uint32_t first; /* of its children in vals */
	uint32_t start, end;
	uint32_t scope; /* to return to */
	uint8_t kind, field;
};

static const struct code_name field_names[] = {
	{"alias", CODE_F_ALIAS},
	{"argument", CODE_F_VALUE},
	{"arguments", CODE_F_ARGS},
	{"attribute", CODE_F_ATTR},
	{"body", CODE_F_BODY},
	{"constructor", CODE_F_FUNC},
	{"field", CODE_F_ATTR},
	{"function", CODE_F_FUNC},
	{"index", CODE_F_INDEX},
	{"key", CODE_F_KEY},
	{"left", CODE_F_LEFT},
	{"module_name", CODE_F_SOURCE},
	{"name", CODE_F_NAME},
	{"object", CODE_F_OBJECT},
	{"operand", CODE_F_OBJECT},
	{"operator", CODE_F_OP},
	{"parameter", CODE_F_PARAM},
	{"path", CODE_F_SOURCE},
	{"property", CODE_F_ATTR},
	{"right", CODE_F_RIGHT},
	{"source", CODE_F_SOURCE},
	{"subscript", CODE_F_INDEX},
	{"superclasses", CODE_F_SUPER},
	{"type", CODE_F_TYPE},
	{"value", CODE_F_VALUE},
};

static uint8_t look_up(const struct code_name *v, size_t n, const char *name)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int c = strcmp(name, v[mid].name);

		if (!c)
			return v[mid].value;
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return 0;
}

static const struct table *table_for(const struct code_front *f)
{
	static struct table tables[BAWN_LANG_COUNT];
	struct table *t = &tables[f->lang];
	uint32_t n;

	if (t->lang)
		return t;
	t->lang = f->grammar();
	n = ts_language_symbol_count(t->lang);
	for (uint32_t i = 0; i < n && i < SYMBOLS_MAX; i++)
		if (ts_language_symbol_type(t->lang, (TSSymbol)i) == TSSymbolTypeRegular)
			t->kinds[i] = look_up(f->kinds, f->n_kinds,
				ts_language_symbol_name(t->lang, (TSSymbol)i));
	n = ts_language_field_count(t->lang);
	for (uint32_t i = 1; i <= n && i < FIELDS_MAX; i++)
		t->fields[i] = look_up(field_names, sizeof(field_names) / sizeof(field_names[0]),
			ts_language_field_name_for_id(t->lang, (TSFieldId)i));
	return t;
}

/*
 * Where the next piece ends. The parser library keeps the number of children of a node in 16 bits
 * and corrupts its memory beyond that, so no piece may have more tokens. Cuts are made between
 * lines that are not indented, unless the text has none.
 */
static uint32_t piece_end(const struct code_walk *w, uint32_t from)
{
	size_t tokens = 0;
	bool word = false;

	for (uint32_t i = from; i < w->len; i++) {
		unsigned char c = (unsigned char)w->text[i];
		bool in_word = c == '_' || c >= 0x80 || (c >= '0' && c <= '9') ||
			       ((c | 32) >= 'a' && (c | 32) <= 'z');

		if (!in_word || !word)
			tokens += c != ' ' && c != '\t';
		word = in_word;
		if (tokens >= PIECE && c == '\n' && i + 1 < w->len &&
			!strchr(" \t\n\r)]}#", w->text[i + 1]))
			return i + 1;
		if (tokens >= PIECE_MAX)
			return i + 1;
	}
	return w->len;
}

static bool wants_children(const struct code_step *s, size_t depth)
{
	return s->opened && depth < DEPTH_MAX && s->kind != CODE_COMMENT && s->kind != CODE_TYPE;
}

static struct code_step *add_step(struct code_walk *w, const struct table *t, const TSTreeCursor *c,
	uint32_t base, struct code_piece *x)
{
	TSNode node = ts_tree_cursor_current_node(c);
	TSSymbol sym = ts_node_symbol(node);
	TSFieldId fid = ts_tree_cursor_current_field_id(c);
	struct code_step *s = bawn_grow(w->a, &x->steps, &x->n, &x->cap);

	if (!s) {
		w->failed = true;
		return NULL;
	}
	*s = (struct code_step){
		.start = base + ts_node_start_byte(node),
		.end = base + ts_node_end_byte(node),
		.field = fid < FIELDS_MAX ? t->fields[fid] : 0,
		.kind = sym < SYMBOLS_MAX ? t->kinds[sym] : (uint8_t)CODE_ERROR,
		.opened = ts_node_is_named(node) || fid,
	};
	return s;
}

/* Write the tree of a piece that starts at `base` down as steps. */
static void record(struct code_walk *w, const TSTree *tree, uint32_t base, struct code_piece *x)
{
	const struct table *t = table_for(w->front);
	TSTreeCursor c = ts_tree_cursor_new(ts_tree_root_node(tree));
	size_t depth = 0; /* of the cursor below the root */
	size_t open = 0;
	struct code_step *s;
	bool done = false;

	while (!done && (s = add_step(w, t, &c, base, x))) {
		open += s->opened;
		if (open >= DEPTH_MAX)
			break;
		s->children = wants_children(s, open) && ts_tree_cursor_goto_first_child(&c);
		if (s->children) {
			depth++;
			continue;
		}
		open -= s->opened;
		while (!ts_tree_cursor_goto_next_sibling(&c)) {
			if (!depth || !ts_tree_cursor_goto_parent(&c) || !open) {
				done = true;
				break;
			}
			depth--;
			open--;
			s->up++;
		}
	}
	ts_tree_cursor_delete(&c);
}

/* The piece that starts at `at`; returns where it ends. */
static uint32_t parse_piece(struct code_walk *w, TSParser *p, uint32_t at, bool pooled)
{
	struct code_piece *x = bawn_grow(w->a, &w->pieces, &w->n_pieces, &w->cap_pieces);
	uint32_t end = piece_end(w, at);
	size_t room = (end - at) / STEP_BYTES + 1;
	TSTree *tree;

	if (x) {
		x->steps = bawn_arena_raw(w->a, room * sizeof(*x->steps));
		x->cap = room;
	}
	if (!x || !x->steps) {
		w->failed = true;
		return end;
	}
	tree = ts_parser_parse_string(p, NULL, w->text + at, end - at);
	if (!tree) {
		w->spent = true;
		return end;
	}
	w->errors = w->errors || ts_node_has_error(ts_tree_root_node(tree));
	record(w, tree, at, x);
	/* what of many pieces is not needed any more makes room for the next */
	if (!pooled || end < w->len)
		ts_tree_delete(tree);
	return end;
}

static int parse_all(struct code_walk *w, bool pooled, struct bawn_error *err)
{
	TSParser *p = ts_parser_new();

	if (!p)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	if (!ts_parser_set_language(p, table_for(w->front)->lang)) {
		ts_parser_delete(p);
		return bawn_fail(err, BAWN_ERR_INSPECT, -EINVAL,
			"the grammar of '%s' does not fit the parser library", w->front->name);
	}
	ts_parser_set_timeout_micros(p, PARSE_MICROS);
	for (uint32_t at = 0; at < w->len && !w->spent && !w->failed;)
		at = parse_piece(w, p, at, pooled);
	ts_parser_delete(p);
	return 0;
}

int code_parse(struct code_walk *w, struct bawn_error *err)
{
	int r;

	if (w->len > PARSE_MAX || !bawn_scan_spend(w->scan, (uint64_t)w->len * 16)) {
		w->spent = true;
		return 0;
	}
	r = parse_all(w, code_pool_begin(), err);
	code_pool_end();
	return r;
}

const char *code_text(struct code_walk *w, uint32_t start, uint32_t end)
{
	char *s = bawn_arena_strndup(w->a, w->text + start, end - start);

	if (!s)
		w->failed = true;
	return s ? s : "";
}

const char *code_join(
	struct code_walk *w, const char *a, const char *between, const char *b, size_t len)
{
	size_t n = strlen(a), m = strlen(between), more = strnlen(b, len);
	char *s = bawn_arena_alloc(w->a, n + m + more + 1);

	if (!s) {
		w->failed = true;
		return "";
	}
	memcpy(s, a, n + 1);
	memcpy(s + n, between, m + 1);
	memcpy(s + n + m, b, more);
	return s;
}

static bool push_val(struct code_walk *w, const struct code_val *v)
{
	struct code_val *x;

	if (w->n_vals < w->cap_vals) {
		w->vals[w->n_vals++] = *v;
		return true;
	}
	x = bawn_grow(w->a, &w->vals, &w->n_vals, &w->cap_vals);
	if (!x) {
		w->failed = true;
		return false;
	}
	*x = *v;
	return true;
}

/* Scopes open before their children are looked at. */
static void enter(struct code_walk *w, const struct frame *f)
{
	if (f->kind == CODE_FUNC)
		(void)code_scope_enter(w, f->start + 1, "func");
	else if (f->kind == CODE_CLASS)
		(void)code_scope_enter(w, f->start + 1, "class");
}

static void leave(struct code_walk *w, const struct frame *f, const struct frame *parent)
{
	struct code_val *children = w->vals ? w->vals + f->first : NULL;
	struct code_val v;

	w->parent = parent ? parent->kind : (uint8_t)CODE_OTHER;
	v = code_leave(w, f->kind, children, w->n_vals - f->first, f->start, f->end);
	w->n_vals = f->first;
	w->scope = f->scope;
	/* one name is itself, not a pattern */
	v.kind = f->kind == CODE_PATTERN && v.kind ? v.kind : f->kind;
	v.field = f->field;
	v.start = f->start;
	v.end = f->end;
	if (!v.name)
		v.name = "";
	(void)push_val(w, &v);
	/* what a loop runs over is known before its body is looked at */
	if (f->field == CODE_F_RIGHT && parent && parent->kind == CODE_FOR_IN)
		code_loop(w, w->vals + parent->first, w->n_vals - parent->first);
	if (f->field == CODE_F_PARAM && parent && parent->kind == CODE_FUNC) /* x => … */
		code_params(w, &w->vals[w->n_vals - 1], 1);
}

struct stack {
	struct frame *v;
	size_t n, cap;
};

static void leave_top(struct code_walk *w, struct stack *st)
{
	if (!st->v || !st->n)
		return;
	st->n--;
	leave(w, &st->v[st->n], st->n ? &st->v[st->n - 1] : NULL);
}

static void open_node(struct code_walk *w, const struct code_step *s, struct stack *st)
{
	struct frame *f = bawn_grow(w->a, &st->v, &st->n, &st->cap);

	if (!f) {
		w->failed = true;
		return;
	}
	*f = (struct frame){
		.first = (uint32_t)w->n_vals,
		.start = s->start,
		.end = s->end,
		.scope = w->scope,
		.field = s->field,
		.kind = s->kind,
	};
	enter(w, f);
}

static void walk_piece(struct code_walk *w, const struct code_piece *x)
{
	struct stack st = {0};

	w->n_vals = 0;
	w->scope = 0;
	(void)code_scope_enter(w, 0, "module");
	for (size_t i = 0; i < x->n && !w->failed && !w->spent; i++) {
		const struct code_step *s = &x->steps[i];

		if (s->opened)
			open_node(w, s, &st);
		if (w->failed)
			break;
		if (st.n >= DEPTH_MAX || !bawn_scan_spend(w->scan, 16)) {
			w->spent = true;
			break;
		}
		if (s->opened && !s->children)
			leave_top(w, &st);
		for (unsigned k = 0; k < s->up; k++)
			leave_top(w, &st);
	}
}

void code_walk_all(struct code_walk *w)
{
	for (size_t i = 0; i < w->n_pieces && !w->spent; i++)
		walk_piece(w, &w->pieces[i]);
}
