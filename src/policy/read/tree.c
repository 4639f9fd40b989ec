/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML through libyaml's events. Policy files may come from a hostile repository: size, depth and
 * number of nodes are capped, and what can make a small file large or mean two things (anchors,
 * aliases, tags, duplicate keys, further documents) is refused.
 */
#include "policy/read/tree.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "policy/context.h"

struct build {
	struct bawn_arena *a;
	const char *file;
	struct bawn_error *err;
	struct bawn_node *root, *here; /* here: the open list or map */
	const char *key;               /* read, waits for its value */
	unsigned key_line, key_column;
	size_t nodes, depth, documents;
};

#define refuse(b, mark, ...)                                                                   \
	bawn_at((b)->err, (b)->file, (unsigned)(mark)->line + 1, (unsigned)(mark)->column + 1, \
		bawn_fail((b)->err, BAWN_ERR_POLICY, -EINVAL, __VA_ARGS__))

const struct bawn_node *bawn_node_get(const struct bawn_node *map, const char *key)
{
	if (map->kind != BAWN_NODE_MAP)
		return NULL;
	for (const struct bawn_node *n = map->first; n; n = n->next)
		if (!strcmp(n->key, key))
			return n;
	return NULL;
}

const struct bawn_node *bawn_node_next(
	const struct bawn_node *root, const struct bawn_node *n, bool deeper)
{
	if (deeper && n->first)
		return n->first;
	while (n != root && !n->next)
		n = n->parent;
	return n == root ? NULL : n->next;
}

static struct bawn_node *add_node(struct build *b, enum bawn_node_kind kind, const yaml_mark_t *at)
{
	struct bawn_node *n = bawn_new(b->a, struct bawn_node, 1);

	if (!n)
		return NULL;
	n->kind = kind;
	n->line = (unsigned)at->line + 1;
	n->column = (unsigned)at->column + 1;
	n->key = b->key;
	n->key_line = b->key_line;
	n->key_column = b->key_column;
	b->key = NULL;
	n->parent = b->here;
	if (!b->here) {
		b->root = n;
		return n;
	}
	if (b->here->last)
		b->here->last->next = n;
	else
		b->here->first = n;
	b->here->last = n;
	b->here->n++;
	return n;
}

static int count_node(struct build *b, const yaml_mark_t *at)
{
	if (++b->nodes > BAWN_TREE_NODES)
		return refuse(b, at, "more than %d entries", BAWN_TREE_NODES);
	return 0;
}

static int take_key(struct build *b, const char *text, const yaml_mark_t *at)
{
	const struct bawn_node *twin = bawn_node_get(b->here, text);

	if (!*text)
		return refuse(b, at, "empty key");
	if (twin)
		return refuse(b, at, "key '%s' is given twice, first in line %u",
			bawn_quote(b->a, text), twin->key_line);
	b->key = text;
	b->key_line = (unsigned)at->line + 1;
	b->key_column = (unsigned)at->column + 1;
	return 0;
}

static bool is_null(const char *text)
{
	return !*text || !strcasecmp(text, "null");
}

static int on_scalar(struct build *b, const yaml_event_t *e)
{
	const char *value = (const char *)e->data.scalar.value;
	size_t len = e->data.scalar.length;
	bool quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	bool key = b->here && b->here->kind == BAWN_NODE_MAP && !b->key;
	struct bawn_node *n;
	char *text;

	if (e->data.scalar.anchor)
		return refuse(b, &e->start_mark, "anchors are not supported, write the value out");
	if (e->data.scalar.tag)
		return refuse(b, &e->start_mark, "tags are not supported");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		if ((c < 0x20 && (key || (c != '\t' && c != '\n'))) || c == 0x7f)
			return refuse(b, &e->start_mark, "control character \\x%02x in a value", c);
	}
	if (count_node(b, &e->start_mark) < 0)
		return -EINVAL;
	text = bawn_arena_strndup(b->a, value, len);
	if (!text)
		return -ENOMEM;
	if (key)
		return take_key(b, text, &e->start_mark);
	n = add_node(
		b, !quoted && is_null(text) ? BAWN_NODE_NULL : BAWN_NODE_SCALAR, &e->start_mark);
	if (!n)
		return -ENOMEM;
	n->text = text;
	n->quoted = quoted;
	return 0;
}

static int on_open(struct build *b, const yaml_event_t *e, enum bawn_node_kind kind,
	const unsigned char *anchor, const unsigned char *tag)
{
	struct bawn_node *n;

	if (anchor)
		return refuse(b, &e->start_mark, "anchors are not supported, write the value out");
	if (tag)
		return refuse(b, &e->start_mark, "tags are not supported");
	if (b->here && b->here->kind == BAWN_NODE_MAP && !b->key)
		return refuse(b, &e->start_mark, "a key must be a word");
	if (++b->depth > BAWN_TREE_DEPTH)
		return refuse(b, &e->start_mark, "nested deeper than %d", BAWN_TREE_DEPTH);
	if (count_node(b, &e->start_mark) < 0)
		return -EINVAL;
	n = add_node(b, kind, &e->start_mark);
	if (!n)
		return -ENOMEM;
	b->here = n;
	return 0;
}

static int on_event(struct build *b, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->documents++)
			return refuse(b, &e->start_mark, "a second document, only one is allowed");
		return 0;
	case YAML_ALIAS_EVENT:
		return refuse(b, &e->start_mark, "aliases are not supported, write the value out");
	case YAML_SCALAR_EVENT:
		return on_scalar(b, e);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(b, e, BAWN_NODE_LIST, e->data.sequence_start.anchor,
			e->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return on_open(b, e, BAWN_NODE_MAP, e->data.mapping_start.anchor,
			e->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		b->here = b->here ? b->here->parent : NULL;
		b->depth--;
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
	default:
		return 0;
	}
}

/* What libyaml could not read. Its reader knows only the byte, so the line is counted here. */
static int syntax_error(const struct build *b, const yaml_parser_t *p, const char *text, size_t len)
{
	yaml_mark_t at = p->problem_mark;

	if (p->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (p->error == YAML_READER_ERROR) {
		at.line = 0;
		at.column = 0;
		for (size_t i = 0; i < p->problem_offset && i < len; i++) {
			at.column = text[i] == '\n' ? 0 : at.column + 1;
			at.line += text[i] == '\n';
		}
	}
	return refuse(b, &at, "%s%s%s", p->problem ? p->problem : "not valid YAML",
		p->context ? " " : "", p->context ? p->context : "");
}

static int run(struct build *b, yaml_parser_t *p, const char *text, size_t len)
{
	for (bool done = false; !done;) {
		yaml_event_t e;
		int r;

		if (!yaml_parser_parse(p, &e))
			return syntax_error(b, p, text, len);
		done = e.type == YAML_STREAM_END_EVENT;
		r = on_event(b, &e);
		yaml_event_delete(&e);
		if (r < 0)
			return r;
	}
	return 0;
}

int bawn_tree_yaml(struct bawn_arena *a, const char *file, const char *text, size_t len,
	struct bawn_node **ret, struct bawn_error *err)
{
	struct build b = {.a = a, .file = file, .err = err};
	yaml_parser_t p;
	int r;

	if (len > BAWN_TREE_BYTES)
		return bawn_fail(err, BAWN_ERR_POLICY, -E2BIG, "%s: larger than 1 MiB", file);
	if (!yaml_parser_initialize(&p))
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "%s: out of memory", file);
	yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
	r = run(&b, &p, text, len);
	yaml_parser_delete(&p);
	if (r >= 0 && !b.root) {
		b.root = bawn_new(a, struct bawn_node, 1);
		if (b.root)
			b.root->line = b.root->column = 1;
		r = b.root ? 0 : -ENOMEM;
	}
	if (r == -ENOMEM)
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "%s: out of memory", file);
	if (r < 0)
		return r;
	*ret = b.root;
	return 0;
}
