/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a document: match each key's path with the rules, set what they name. */
#include "policy/read/rules.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "policy/draft.h"
#include "policy/read/suggest.h"

struct keys {
	const char *v[BAWN_TREE_DEPTH + 1];
	size_t n;
};

enum match {
	MATCH_NONE,
	MATCH_PREFIX, /* the rule lies below */
	MATCH_EXACT,
};

struct bawn_origin bawn_node_origin(const struct bawn_context *c, const struct bawn_node *n)
{
	return (struct bawn_origin){c->layer, c->file, n->line, n->column};
}

static struct keys keys_of(const struct bawn_node *root, const struct bawn_node *n)
{
	struct keys k = {.n = 0};
	size_t depth = 0;

	for (const struct bawn_node *p = n; p != root; p = p->parent)
		depth++;
	k.n = depth;
	for (const struct bawn_node *p = n; p != root; p = p->parent)
		k.v[--depth] = p->key;
	return k;
}

/* *star is the key that met the pattern's asterisk. */
static enum match match_path(const char *pattern, const struct keys *k, const char **star)
{
	const char *p = pattern;

	for (size_t i = 0; i < k->n; i++) {
		size_t n = strcspn(p, ".");

		if (!n || !k->v[i])
			return MATCH_NONE;
		if (n == 1 && *p == '*')
			*star = k->v[i];
		else if (strlen(k->v[i]) != n || strncmp(p, k->v[i], n) != 0)
			return MATCH_NONE;
		p += n;
		if (*p == '.')
			p++;
	}
	return *p ? MATCH_PREFIX : MATCH_EXACT;
}

static const char *expected(const struct bawn_rule *rule, const struct bawn_field *f)
{
	if (f->kind == BAWN_KIND_LIST)
		return "a list";
	if (f->kind == BAWN_KIND_MAP)
		return "keys and values";
	return rule && rule->want == BAWN_WANT_INTEGER ? "a whole number" : "one value";
}

static int check_want(
	const struct bawn_reader *r, const struct bawn_rule *rule, const struct bawn_node *n)
{
	static const char *const names[] = {
		[BAWN_WANT_STRING] = "text",
		[BAWN_WANT_INTEGER] = "a whole number",
		[BAWN_WANT_BOOL] = "true or false",
	};
	struct bawn_origin at = bawn_node_origin(r->c, n);
	bool bad = false;

	if (!rule || rule->want == BAWN_WANT_ANY)
		return 0;
	if (rule->want == BAWN_WANT_INTEGER)
		bad = n->quoted || !*n->text || n->text[strspn(n->text, "0123456789")];
	else if (rule->want == BAWN_WANT_BOOL)
		bad = n->quoted || (strcmp(n->text, "true") != 0 && strcmp(n->text, "false") != 0);
	else if (!n->quoted)
		bad = !strcmp(n->text, "true") || !strcmp(n->text, "false") ||
		      (*n->text && !n->text[strspn(n->text, "0123456789")]);
	if (bad)
		return bawn_bad(r->c, &at, -EINVAL, "bad value '%s', expected %s",
			bawn_quote(r->c->a, n->text), names[rule->want]);
	return 0;
}

/* Other words for a value. */
static int translate(const struct bawn_reader *r, const struct bawn_rule *rule,
	const struct bawn_node *n, const char **ret)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);

	*ret = n->text;
	if (!rule)
		return 0;
	if (rule->suffix) {
		*ret = bawn_arena_printf(r->c->a, "%s%s", n->text, rule->suffix);
		return *ret ? 0 : bawn_oom(r->c);
	}
	if (!rule->words)
		return 0;
	for (const struct bawn_word_pair *w = rule->words; w->from; w++)
		if (!strcmp(w->from, n->text)) {
			*ret = w->to;
			return 0;
		}
	if (!rule->strict_words)
		return 0;
	return bawn_bad(r->c, &at, -EINVAL, "bad value '%s' for '%s', expected %s%s",
		bawn_quote(r->c->a, n->text), rule->path, rule->words[0].from,
		rule->words[1].from ? ", …" : "");
}

static int set_list(const struct bawn_reader *r, const struct bawn_rule *rule,
	const struct bawn_field *f, const struct bawn_node *n)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);
	int rc = bawn_draft_mark(r->c, r->d, f, NULL, &at);

	for (const struct bawn_node *e = n->first; rc >= 0 && e; e = e->next) {
		at = bawn_node_origin(r->c, e);
		if (e->kind != BAWN_NODE_SCALAR)
			return bawn_bad(r->c, &at, -EINVAL, "expected text in '%s'", f->key);
		rc = check_want(r, rule, e);
		if (rc >= 0)
			rc = bawn_draft_entry(r->c, r->d, f, e->text, &at);
	}
	return rc;
}

static int set_map(
	const struct bawn_reader *r, const struct bawn_field *f, const struct bawn_node *n)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);
	int rc = bawn_draft_mark(r->c, r->d, f, NULL, &at);

	for (const struct bawn_node *e = n->first; rc >= 0 && e; e = e->next) {
		at = (struct bawn_origin){r->c->layer, r->c->file, e->key_line, e->key_column};
		if (e->kind != BAWN_NODE_SCALAR && e->kind != BAWN_NODE_NULL)
			return bawn_bad(r->c, &at, -EINVAL, "expected text for '%s'",
				bawn_quote(r->c->a, e->key));
		rc = bawn_draft_pair(r->c, r->d, f, e->key, e->text, &at);
	}
	return rc;
}

int bawn_rule_set(const struct bawn_reader *r, const struct bawn_rule *rule,
	const struct bawn_field *f, const struct bawn_node *n)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);
	const char *text;
	int rc;

	if (f->kind == BAWN_KIND_LIST && n->kind == BAWN_NODE_LIST)
		return set_list(r, rule, f, n);
	if (f->kind == BAWN_KIND_MAP && n->kind == BAWN_NODE_MAP)
		return set_map(r, f, n);
	if (f->kind == BAWN_KIND_LIST || f->kind == BAWN_KIND_MAP || n->kind != BAWN_NODE_SCALAR)
		return bawn_bad(r->c, &at, -EINVAL, "expected %s for '%s'%s", expected(rule, f),
			f->key,
			f->kind == BAWN_KIND_LIST && n->kind == BAWN_NODE_NULL
				? ", write [] for an empty one"
				: "");
	rc = check_want(r, rule, n);
	if (rc >= 0)
		rc = translate(r, rule, n, &text);
	if (rc < 0)
		return rc;
	return bawn_draft_scalar(r->c, r->d, f, text, n->quoted && text == n->text, &at);
}

static int set_named(const struct bawn_reader *r, const struct bawn_named *named,
	const char *pattern, const char *star, const struct bawn_node *n)
{
	const char *at = strchr(pattern, '*');
	const char *key = pattern;

	if (at) {
		key = bawn_arena_printf(
			r->c->a, "%.*s%s%s", (int)(at - pattern), pattern, star, at + 1);
		if (!key)
			return bawn_oom(r->c);
	}
	return bawn_named_set(r->c, r->d, named, key, n);
}

static int apply_rule(const struct bawn_reader *r, const struct bawn_rule *rule, const char *star,
	const struct bawn_node *n)
{
	const struct bawn_field *f;

	if (rule->subtree)
		return 0;
	if (rule->fn)
		return rule->fn(r, n);
	f = bawn_field_find(rule->key);
	if (f)
		return bawn_rule_set(r, rule, f, n);
	for (size_t i = 0; bawn_named_at(i); i++)
		if (!strcmp(bawn_named_at(i)->pattern, rule->key))
			return set_named(r, bawn_named_at(i), rule->key, star, n);
	return bawn_fail(
		r->c->err, BAWN_ERR_INTERNAL, -EINVAL, "rule for unknown key '%s'", rule->key);
}

/* 1 if a rule took the node, 0 if some lie below it, -ENOENT if none knows it. */
static int apply_node(const struct bawn_reader *r, const struct keys *k, const struct bawn_node *n)
{
	const char *star = NULL;
	bool below = false;
	enum match m;
	int rc;

	for (const struct bawn_rule *rule = r->rules; rule->path; rule++) {
		m = match_path(rule->path, k, &star);
		if (m == MATCH_EXACT) {
			rc = apply_rule(r, rule, star, n);
			return rc < 0 ? rc : 1;
		}
		below |= m == MATCH_PREFIX;
	}
	for (size_t i = 0; r->native && i < BAWN_FIELD_COUNT; i++) {
		m = match_path(bawn_fields[i].key, k, &star);
		if (m == MATCH_EXACT) {
			rc = bawn_rule_set(r, NULL, &bawn_fields[i], n);
			return rc < 0 ? rc : 1;
		}
		below |= m == MATCH_PREFIX;
	}
	for (size_t i = 0; r->native && bawn_named_at(i); i++) {
		m = match_path(bawn_named_at(i)->pattern, k, &star);
		if (m == MATCH_EXACT) {
			rc = set_named(r, bawn_named_at(i), bawn_named_at(i)->pattern, star, n);
			return rc < 0 ? rc : 1;
		}
		below |= m == MATCH_PREFIX;
	}
	return below ? 0 : -ENODATA;
}

/* Offer the key that stands where `pattern` has its k->n'th word. */
static void offer(struct bawn_suggest *s, const struct keys *k, const char *pattern)
{
	struct keys p = *k;
	const char *star = NULL, *at = pattern;

	p.n--;
	if (match_path(pattern, &p, &star) != MATCH_PREFIX)
		return;
	for (size_t i = 0; i < p.n; i++)
		at += strcspn(at, ".") + 1;
	bawn_suggest_offer(s, at, strcspn(at, "."));
	/* the last word of a longer key: "memory" for limits.memory */
	if (k->n == 1)
		bawn_suggest_offer(s, pattern, strlen(pattern));
}

static int unknown(const struct bawn_reader *r, const struct keys *k, const struct bawn_node *n)
{
	struct bawn_suggest s = {.word = n->key};
	struct bawn_origin at = {r->c->layer, r->c->file, n->key_line, n->key_column};

	for (const struct bawn_rule *rule = r->rules; rule->path; rule++)
		offer(&s, k, rule->path);
	for (size_t i = 0; r->native && i < BAWN_FIELD_COUNT; i++)
		offer(&s, k, bawn_fields[i].key);
	for (size_t i = 0; r->native && bawn_named_at(i); i++)
		offer(&s, k, bawn_named_at(i)->pattern);
	if (!s.best_len)
		return bawn_bad(
			r->c, &at, -EINVAL, "unknown key '%s'", bawn_quote(r->c->a, n->key));
	if (!strncmp(n->key, s.best, s.best_len) && !n->key[s.best_len])
		return bawn_bad(r->c, &at, -EINVAL,
			"unknown key '%s', write its parts as sections, one below the other",
			n->key);
	return bawn_bad(r->c, &at, -EINVAL, "unknown key '%s', did you mean '%.*s'?",
		bawn_quote(r->c->a, n->key), (int)s.best_len, s.best);
}

int bawn_rules_apply(const struct bawn_reader *r, const struct bawn_node *root)
{
	const struct bawn_node *n = root->kind == BAWN_NODE_MAP ? root->first : NULL;

	if (root->kind != BAWN_NODE_MAP && root->kind != BAWN_NODE_NULL) {
		struct bawn_origin at = bawn_node_origin(r->c, root);

		return bawn_bad(r->c, &at, -EINVAL, "expected keys and values");
	}
	while (n) {
		struct keys k = keys_of(root, n);
		int rc = apply_node(r, &k, n);

		if (rc == -ENODATA)
			return unknown(r, &k, n);
		if (rc < 0)
			return rc;
		if (!rc && n->kind != BAWN_NODE_MAP && n->kind != BAWN_NODE_NULL) {
			struct bawn_origin at = bawn_node_origin(r->c, n);

			return bawn_bad(r->c, &at, -EINVAL, "expected keys and values below '%s'",
				bawn_quote(r->c->a, n->key));
		}
		n = bawn_node_next(root, n, !rc);
	}
	return 0;
}
