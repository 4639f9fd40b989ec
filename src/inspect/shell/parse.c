/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second opinion. tree-sitter's bash grammar reads the same text on its own; it is slower and
 * coarser than the reader (no expansion, heredocs and braces as it sees fit), but where it finds a
 * command in a place that the reader took for something else, that command is vetted too, and what
 * it cannot parse is known. So a text must fool two readers that have nothing in common.
 */
#include <string.h>
#include <tree_sitter/api.h>

#include "inspect/shell/shell.h"

#define TEXT_MAX ((size_t)16384) /* longer texts are the reader's alone */
#define MORE_MAX 64              /* commands that only the grammar sees */
/* A grammar that looks at the same text more often than this is being abused. Counted, not timed:
 * the same text gets the same answer on a busy machine. */
#define PIECE      16 /* bytes that it is handed at a time */
#define LOOKS_FREE 4096
#define LOOKS_EACH 8 /* per byte; ordinary texts need less than one */

const TSLanguage *tree_sitter_bash(void);

static void free_tree(TSTree **t)
{
	if (*t)
		ts_tree_delete(*t);
}

static void free_cursor(TSTreeCursor *c)
{
	ts_tree_cursor_delete(c);
}

/* Did the reader see a command around this byte? Places are in order. */
static bool covered(const struct sh *s, size_t at)
{
	size_t low = 0, high = s->places.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->places.v[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->places.n && s->places.v[low].start <= at;
}

static int vet_node(struct sh *s, const char *text, TSNode node, unsigned *more)
{
	size_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);
	const struct sh before = *s;
	int rc;

	if (covered(s, start) || *more >= MORE_MAX)
		return 0;
	(*more)++;
	rc = sh_run(s, text + start, end - start);
	/* only what it would do counts; how it is written was judged before */
	s->broken = before.broken;
	s->separator = before.separator;
	s->deep = before.deep;
	s->most = before.most;
	return rc;
}

/* Every node once, with the cursor as the only stack. */
static int walk(struct sh *s, const char *text, TSTreeCursor *c)
{
	TSSymbol command = ts_language_symbol_for_name(tree_sitter_bash(), "command", 7, true);
	unsigned more = 0;

	for (;;) {
		TSNode node = ts_tree_cursor_current_node(c);
		int rc = 0;

		if (!bawn_scan_spend(s->scan, 4))
			return 0;
		if (ts_node_symbol(node) == command)
			rc = vet_node(s, text, node, &more);
		if (rc < 0)
			return rc;
		if (ts_tree_cursor_goto_first_child(c))
			continue;
		while (!ts_tree_cursor_goto_next_sibling(c)) {
			if (!ts_tree_cursor_goto_parent(c))
				return 0;
		}
	}
}

/* Kept from text to text: making one costs as much as a short command. */
static TSParser *parser(void)
{
	static TSParser *p;

	if (p)
		return p;
	p = ts_parser_new();
	if (!p || !ts_parser_set_language(p, tree_sitter_bash()))
		return NULL;
	return p;
}

struct source {
	const char *text;
	uint32_t len;
	size_t looks; /* that are left */
	size_t stop;  /* the parser's sign to give up */
};

static const char *piece(void *payload, uint32_t at, TSPoint where, uint32_t *ret_len)
{
	struct source *src = payload;
	uint32_t left = at < src->len ? src->len - at : 0;

	(void)where;
	if (src->looks)
		src->looks--;
	else
		__atomic_store_n(&src->stop, 1, __ATOMIC_RELAXED);
	*ret_len = left < PIECE ? left : PIECE;
	return src->text + (left ? at : src->len);
}

static TSTree *parse(TSParser *p, const char *text, size_t len)
{
	struct source src = {
		.text = text, .len = (uint32_t)len, .looks = LOOKS_FREE + LOOKS_EACH * len};
	TSInput in = {.payload = &src, .read = piece, .encoding = TSInputEncodingUTF8};
	TSTree *t;

	ts_parser_set_cancellation_flag(p, &src.stop);
	t = ts_parser_parse(p, NULL, in);
	ts_parser_set_cancellation_flag(p, NULL);
	if (!t)
		ts_parser_reset(p);
	return t;
}

int sh_second_reading(struct sh *s, const char *text, size_t len)
{
	TSParser *p;
	_cleanup_(free_tree) TSTree *t = NULL;

	/* plain words leave nothing to disagree about */
	if (len > TEXT_MAX || !strpbrk(text, "\n$`({\\") || !bawn_scan_spend(s->scan, len))
		return 0;
	p = parser();
	if (!p)
		return sh_no_memory(s);
	t = parse(p, text, len);
	if (!t) {
		s->deep = true;
		return 0;
	}
	s->refused = ts_node_has_error(ts_tree_root_node(t));
	_cleanup_(free_cursor) TSTreeCursor c = ts_tree_cursor_new(ts_tree_root_node(t));

	return walk(s, text, &c);
}
