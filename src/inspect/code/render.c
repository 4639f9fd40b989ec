/* SPDX-License-Identifier: Apache-2.0 */
/* Events as lines of text: what rules are written against. */
#include <string.h>

#include "inspect/code/code.h"

#define LINES_MAX   ((size_t)16 << 20)
#define TEXT_SHOWN  400
#define ITEMS_SHOWN 16
#define NAME_SHOWN  200
#define KEY_SHOWN   40
#define EVENT_MAX   2048
#define BLOB        1000
#define BLOB_SMALL  200
#define BLOBS       5

static bool shown(char c)
{
	return (unsigned char)c >= 0x20 && c != 0x7f;
}

static void quoted(struct bawn_buf *b, const struct code_val *v)
{
	size_t n = v->len > TEXT_SHOWN ? TEXT_SHOWN : v->len;

	bawn_buf_add(b, "\"", 1);
	for (size_t i = 0, from; i < n; i++) {
		unsigned char c;

		for (from = i; i < n && shown(v->str[i]); i++)
			;
		bawn_buf_add(b, v->str + from, i - from);
		if (i == n)
			break;
		c = (unsigned char)v->str[i];
		bawn_buf_puts(b, c == '\n' || c == '\r' ? "\\n" : ".");
	}
	bawn_buf_add(b, "\"", 1);
	if (v->len > TEXT_SHOWN)
		bawn_buf_puts(b, v->len > 4096 ? "<huge>" : "<long>");
}

static void taints(struct bawn_buf *b, uint32_t t)
{
	const char *sep = "<";

	t &= ~CODE_T_ARGS;
	if (!t)
		return;
	for (unsigned i = 0; i < CODE_TAINTS; i++)
		if (t & (1u << i)) {
			bawn_buf_puts(b, sep);
			bawn_buf_puts(b, code_taint_names[i]);
			sep = ",";
		}
	bawn_buf_add(b, ">", 1);
}

static void key(struct bawn_buf *b, const struct code_val *v)
{
	if (!v->key)
		return;
	bawn_buf_add(b, v->key, strnlen(v->key, KEY_SHOWN));
	bawn_buf_add(b, "=", 1);
}

/* One value without its items. */
static void flat(struct bawn_buf *b, const struct code_val *v)
{
	key(b, v);
	if (v->flags & CODE_V_FUNC)
		bawn_buf_puts(b, "func ");
	if (v->str)
		quoted(b, v);
	else if (v->flags & CODE_V_NUMBER)
		bawn_buf_printf(b, "%lld", (long long)v->num);
	else if (v->n)
		bawn_buf_puts(b, v->flags & CODE_V_DICT ? "{…}" : "[…]");
	else
		bawn_buf_puts(b, *v->name ? v->name : "?");
	taints(b, v->taint);
}

static void value(struct bawn_buf *b, const struct code_val *v)
{
	bool list = v->n && !v->str;

	if (!list) {
		flat(b, v);
		return;
	}
	key(b, v);
	bawn_buf_puts(b, v->flags & CODE_V_DICT ? "{" : "[");
	for (uint32_t i = 0; i < v->n && i < ITEMS_SHOWN; i++) {
		if (i)
			bawn_buf_puts(b, ", ");
		flat(b, &v->items[i]);
	}
	if (v->n > ITEMS_SHOWN)
		bawn_buf_printf(b, ", …<%u items>", v->n);
	bawn_buf_puts(b, v->flags & CODE_V_DICT ? "}" : "]");
	taints(b, v->taint);
}

static void begin(struct code_walk *w, uint32_t start, uint32_t end)
{
	struct code_event *e = bawn_grow(w->a, &w->events, &w->n_events, &w->cap_events);

	if (!e) {
		w->failed = true;
		return;
	}
	*e = (struct code_event){.line = (uint32_t)w->lines.len, .start = start, .end = end};
}

void code_event(struct code_walk *w, const char *verb, const char *name,
	const struct code_val *args, size_t n, const struct code_val *at)
{
	size_t from = w->lines.len;
	bool hidden = at->flags & CODE_V_HIDDEN;

	if (!w->last || w->lines.len > LINES_MAX)
		return;
	begin(w, at->start, at->end);
	bawn_buf_puts(&w->lines, verb);
	bawn_buf_add(&w->lines, " ", 1);
	bawn_buf_add(&w->lines, name, strnlen(name, NAME_SHOWN));
	for (size_t i = 0; i < n && w->lines.len - from < EVENT_MAX; i++) {
		bawn_buf_puts(&w->lines, i ? ", " : " ");
		value(&w->lines, &args[i]);
	}
	bawn_buf_add(&w->lines, " @", 2);
	bawn_buf_puts(&w->lines, code_context(w));
	if (hidden && (at->taint & (CODE_T_HIDDEN | CODE_T_DECODED)))
		bawn_buf_puts(&w->lines, " obscured");
	bawn_buf_puts(&w->lines, hidden ? " hidden\n" : "\n");
	if (!bawn_scan_spend(w->scan, w->lines.len - from))
		w->spent = true;
}

/* Text that is not meant to be read: base64, hex, or nothing but bytes. */
static bool encoded(const struct code_val *v)
{
	size_t odd = 0, n = v->len > 4096 ? 4096 : v->len, spaces = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)v->str[i];

		spaces += c == ' ';
		odd += !((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
			 c == '+' || c == '/' || c == '=' || c == '_' || c == '-' || c == '\n' ||
			 c == '\r' || c == '\\' || c >= 0x80 || c < 0x20);
	}
	return odd * 20 <= n && spaces * 40 <= n;
}

static void note_blob(struct code_walk *w, const struct code_val *v)
{
	if (v->len < BLOB_SMALL || !encoded(v))
		return;
	if (v->len >= BLOB)
		code_fact(w, "blob");
	if (++w->blobs == BLOBS)
		code_fact(w, "blobs");
}

/* Only texts that say something by themselves: places, addresses, commands, long ones. */
void code_event_text(struct code_walk *w, const struct code_val *v)
{
	struct code_val x = *v;

	if (!w->last || !v->str || v->len < 6 || w->parent == CODE_STATEMENT) /* a docstring */
		return;
	if (v->len < 60 && !memchr(v->str, '/', v->len) && !memchr(v->str, '\\', v->len) &&
		!memchr(v->str, '.', v->len) && !memchr(v->str, ' ', v->len))
		return;
	note_blob(w, v);
	x.key = NULL;
	code_event(w, "text", "", &x, 1, v);
}
