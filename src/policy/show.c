/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effective policy for people, as YAML that can be read back, and the commented template. Keys
 * that share a section are gathered first, wherever they come from, since a section may be written
 * only once.
 */
#include "policy/show.h"

#include <errno.h>
#include <string.h>

#include "policy/named.h"
#include "policy/value.h"

#define COMMENT_COLUMN 44
#define PART_MAX       8

/* One line to be: its key in parts, its value, where it came from. */
struct line {
	const char *part[PART_MAX];
	size_t n;
	const struct bawn_field *field; /* or NULL */
	const struct bawn_pair *named;  /* or NULL: the mounts */
	bool done;
};

struct lines {
	struct line *v;
	size_t n, cap;
};

static void split(struct bawn_arena *a, struct line *l, const char *key, const char *end)
{
	while (key < end && l->n < PART_MAX) {
		size_t n = strcspn(key, ".");

		if (n > (size_t)(end - key))
			n = (size_t)(end - key);
		l->part[l->n] = bawn_arena_strndup(a, key, n);
		l->n += l->part[l->n] ? 1 : 0;
		key += n + 1;
	}
}

static int collect(struct bawn_arena *a, const struct bawn_policy *p, struct lines *ls)
{
	struct line *l;

	for (size_t i = 0; i < BAWN_FIELD_COUNT; i++) {
		l = bawn_grow(a, &ls->v, &ls->n, &ls->cap);
		if (!l)
			return -ENOMEM;
		*l = (struct line){.field = &bawn_fields[i]};
		split(a, l, bawn_fields[i].key, bawn_fields[i].key + strlen(bawn_fields[i].key));
	}
	for (size_t i = 0; p && i < p->named.n; i++) {
		const char *key = p->named.v[i].key, *name = NULL;
		size_t len = 0;

		l = bawn_grow(a, &ls->v, &ls->n, &ls->cap);
		if (!l || !bawn_named_find(key, &name, &len))
			return -ENOMEM;
		*l = (struct line){.named = &p->named.v[i]};
		split(a, l, key, name ? name - 1 : key + strlen(key));
		if (name) {
			l->part[l->n++] = bawn_arena_strndup(a, name, len);
			split(a, l, name + len + 1, key + strlen(key));
		}
	}
	if (p && p->mounts) {
		static const char mounts[] = "enforcement.docker.mounts";

		l = bawn_grow(a, &ls->v, &ls->n, &ls->cap);
		if (!l)
			return -ENOMEM;
		*l = (struct line){0};
		split(a, l, mounts, mounts + strlen(mounts));
	}
	return 0;
}

static bool plain(const char *text)
{
	static const char *const words[] = {
		"true", "false", "yes", "no", "on", "off", "null", "y", "n"};

	if (!*text || strchr("-.~=<", *text) ||
		text[strspn(text,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+~=")])
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(words[i], text))
			return false;
	return true;
}

static void put_word(struct bawn_buf *b, const char *text, size_t len)
{
	char copy[128];

	if (len < sizeof(copy)) {
		memcpy(copy, text, len);
		copy[len] = '\0';
		if (plain(copy)) {
			bawn_buf_puts(b, copy);
			return;
		}
	}
	(void)bawn_buf_json(b, text, len);
}

/* End a line that began at `start` with where its value came from. */
static void put_origin(struct bawn_buf *b, size_t start, const struct bawn_origin *o)
{
	size_t len = b->len - start;

	bawn_buf_printf(b, "%*s # %s", len < COMMENT_COLUMN ? (int)(COMMENT_COLUMN - len) : 0, "",
		bawn_layer_name(o->layer));
	if (o->file) {
		bawn_buf_puts(b, ", ");
		bawn_buf_escape(b, o->file, strlen(o->file));
		if (o->line)
			bawn_buf_printf(b, ":%u", o->line);
	}
	bawn_buf_puts(b, "\n");
}

static void indent(struct bawn_buf *b, size_t depth)
{
	bawn_buf_printf(b, "%*s", (int)(depth * 2), "");
}

static void yaml_items(struct bawn_buf *b, const struct bawn_policy *p, const struct bawn_field *f,
	size_t depth, size_t start)
{
	const struct bawn_items *l = bawn_member(p, f);

	if (!l->n)
		bawn_buf_puts(b, " []");
	put_origin(b, start, &p->origins[bawn_field_index(f)]);
	for (size_t i = 0; i < l->n; i++) {
		start = b->len;
		indent(b, depth);
		bawn_buf_puts(b, "- ");
		put_word(b, l->v[i].text, strlen(l->v[i].text));
		put_origin(b, start, &l->v[i].from);
	}
}

static void yaml_pairs(struct bawn_buf *b, const struct bawn_policy *p, const struct bawn_field *f,
	size_t depth, size_t start)
{
	const struct bawn_pairs *l = bawn_member(p, f);

	if (!l->n)
		bawn_buf_puts(b, " {}");
	put_origin(b, start, &p->origins[bawn_field_index(f)]);
	for (size_t i = 0; i < l->n; i++) {
		start = b->len;
		indent(b, depth);
		put_word(b, l->v[i].key, strlen(l->v[i].key));
		bawn_buf_puts(b, ": ");
		(void)bawn_buf_json(b, l->v[i].value, strlen(l->v[i].value));
		put_origin(b, start, &l->v[i].from);
	}
}

static void yaml_field(struct bawn_buf *b, const struct bawn_policy *p, const struct bawn_field *f,
	size_t depth, size_t start)
{
	char value[BAWN_VALUE_MAX];

	if (f->kind == BAWN_KIND_LIST) {
		yaml_items(b, p, f, depth, start);
		return;
	}
	if (f->kind == BAWN_KIND_MAP) {
		yaml_pairs(b, p, f, depth, start);
		return;
	}
	bawn_buf_puts(b, " ");
	if (f->kind == BAWN_KIND_STR) {
		const char *text = *(const char *const *)bawn_member(p, f);

		put_word(b, text, strlen(text));
	} else {
		bawn_value_format(f, p, value);
		bawn_buf_puts(b, value);
	}
	put_origin(b, start, &p->origins[bawn_field_index(f)]);
}

/* A list of a named setting, its entries separated by \n. */
static void put_entries(struct bawn_buf *b, const char *text)
{
	bawn_buf_puts(b, "[");
	for (const char *s = text; *s;) {
		size_t n = strcspn(s, "\n");

		(void)bawn_buf_json(b, s, n);
		s += n;
		if (*s) {
			bawn_buf_puts(b, ", ");
			s++;
		}
	}
	bawn_buf_puts(b, "]");
}

void bawn_show_named(struct bawn_buf *b, const struct bawn_pair *pair, bool json)
{
	const char *name;
	size_t len;
	const struct bawn_named *n = bawn_named_find(pair->key, &name, &len);

	if (n && bawn_named_is_list(n, pair->value))
		put_entries(b, pair->value);
	else if (json)
		(void)bawn_buf_json(b, pair->value, strlen(pair->value));
	else if (n && n->kind == BAWN_NAMED_HOSTS)
		bawn_buf_puts(b, pair->value);
	else
		put_word(b, pair->value, strlen(pair->value));
}

void bawn_show_mounts(struct bawn_buf *b, const struct bawn_policy *p)
{
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < p->n_mounts; i++) {
		const struct bawn_mount_entry *m = &p->mounts[i];

		bawn_buf_puts(b, i ? ", {\"source\": " : "{\"source\": ");
		(void)bawn_buf_json(b, m->source, strlen(m->source));
		bawn_buf_puts(b, ", \"target\": ");
		(void)bawn_buf_json(b, m->target, strlen(m->target));
		bawn_buf_printf(b, ", \"read_only\": %s}", m->read_only ? "true" : "false");
	}
	bawn_buf_puts(b, "]");
}

struct bawn_origin bawn_show_mounts_origin(const struct bawn_policy *p)
{
	return p->n_mounts ? p->mounts[0].from
			   : (struct bawn_origin){BAWN_LAYER_DEFAULT, NULL, 0, 0};
}

static void yaml_line(
	struct bawn_buf *b, const struct bawn_policy *p, const struct line *l, size_t depth)
{
	struct bawn_origin from = bawn_show_mounts_origin(p);
	size_t start = b->len;

	indent(b, depth);
	put_word(b, l->part[depth], strlen(l->part[depth]));
	bawn_buf_puts(b, ":");
	if (l->field) {
		yaml_field(b, p, l->field, depth + 1, start);
		return;
	}
	bawn_buf_puts(b, " ");
	if (l->named)
		bawn_show_named(b, l->named, false);
	else
		bawn_show_mounts(b, p);
	put_origin(b, start, l->named ? &l->named->from : &from);
}

/* A commented line of the template. */
static void template_line(
	struct bawn_buf *b, const struct bawn_policy *p, const struct line *l, size_t depth)
{
	const struct bawn_field_info *info = bawn_field_at(bawn_field_index(l->field));

	(void)p;
	indent(b, depth);
	bawn_buf_printf(b, "# %s.%s", info->help, info->type[0] == 'e' ? " One of " : "");
	if (info->type[0] == 'e') {
		char words[128];

		bawn_enum_words(info->unit, words, sizeof(words));
		bawn_buf_printf(b, "%s.", words);
	}
	bawn_buf_puts(b, "\n");
	indent(b, depth);
	bawn_buf_printf(b, "# %s: ", l->part[depth]);
	if (l->field->kind == BAWN_KIND_LIST) {
		bawn_buf_puts(b, "[");
		for (const char *s = info->def; *s;) {
			size_t n = strcspn(s, ",");

			put_word(b, s, n);
			s += n;
			if (*s++ == ',')
				bawn_buf_puts(b, ", ");
			else
				break;
		}
		bawn_buf_puts(b, "]\n");
		return;
	}
	if (l->field->kind == BAWN_KIND_MAP)
		bawn_buf_puts(b, "{}");
	else if (l->field->kind == BAWN_KIND_STR)
		put_word(b, info->def, strlen(info->def));
	else
		bawn_buf_puts(b, info->def);
	bawn_buf_puts(b, "\n");
}

typedef void put_line(
	struct bawn_buf *b, const struct bawn_policy *p, const struct line *l, size_t depth);

static size_t shared_parts(const struct line *x, const struct line *y)
{
	size_t n = 0;

	while (n < x->n && n < y->n && !strcmp(x->part[n], y->part[n]))
		n++;
	return n;
}

/*
 * The next line to print: of those left, the first that shares most of the sections still open.
 * Values come before the sections of the same level only by their order in fields.def.
 */
static struct line *next_line(const struct lines *ls, const struct line *last)
{
	struct line *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < ls->n; i++) {
		size_t n = last ? shared_parts(&ls->v[i], last) : 0;

		if (ls->v[i].done || (best && n <= most))
			continue;
		best = &ls->v[i];
		most = n;
	}
	return best;
}

static void put_lines(
	struct bawn_buf *b, const struct bawn_policy *p, const struct lines *ls, put_line *put)
{
	const struct line *last = NULL;
	struct line *l;

	while ((l = next_line(ls, last))) {
		size_t open = last ? shared_parts(l, last) : 0;

		if (last && !open && (l->n > 1 || last->n > 1))
			bawn_buf_puts(b, "\n");
		for (size_t depth = open; depth + 1 < l->n; depth++) {
			indent(b, depth);
			put_word(b, l->part[depth], strlen(l->part[depth]));
			bawn_buf_puts(b, ":\n");
		}
		put(b, p, l, l->n - 1);
		l->done = true;
		last = l;
	}
}

int bawn_policy_show(const struct bawn_policy *p, bool json, struct bawn_buf *out)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct lines ls = {0};

	if (!a)
		return -ENOMEM;
	if (json) {
		bawn_show_json(p, out);
		return out->failed;
	}
	if (collect(a, p, &ls) < 0)
		return -ENOMEM;
	bawn_buf_printf(out, "# effective policy, sha256 %s\n", p->digest);
	put_lines(out, p, &ls, yaml_line);
	return out->failed;
}

int bawn_policy_template(struct bawn_buf *out)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct lines ls = {0};

	if (!a || collect(a, NULL, &ls) < 0)
		return -ENOMEM;
	bawn_buf_puts(out,
		"# A bawn policy: every setting with its default. Take the # away to set one.\n"
		"# A weaker layer can only tighten what a stronger one sets.\n"
		"version: 1\n\n");
	put_lines(out, NULL, &ls, template_line);
	return out->failed;
}

bool bawn_policy_by_flag(const struct bawn_policy *p, const char *flag)
{
	for (size_t i = 0; p->origins && i < BAWN_FIELD_COUNT; i++)
		if (p->origins[i].file && !strcmp(p->origins[i].file, flag))
			return true;
	return false;
}
