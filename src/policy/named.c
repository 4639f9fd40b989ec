/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the policy that cannot be a struct: names chosen by the user. One table says for each
 * pattern what its value looks like and what holds when nothing is said.
 */
#include "policy/named.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "policy/draft.h"
#include "policy/entry.h"
#include "policy/read/suggest.h"
#include "policy/value.h"

#define ACTIONS  "allow,log,constrain,block"
#define LEAKS    "secrets.leak_detection.actions."
#define KEY_MAX  256
#define FALLBACK "sandbox.fallback"
#define SECRET   "secret."

/* As src/inspect/sequence.c has them. */
static const char *const sequences[] = {
	"SEQ-001", "SEQ-002", "SEQ-003", "SEQ-004", "SEQ-005", "SEQ-006", NULL};

static const char *const secret_rules[] = {
	"registered",
	"registered-encoded",
#include "secret-names.h"
	NULL,
};

static const struct bawn_named table[] = {
	{"tools.*.suspicious_threshold", BAWN_NAMED_REAL, .base = BAWN_F_thr_suspicious},
	{"tools.*.malicious_threshold", BAWN_NAMED_REAL, .base = BAWN_F_thr_malicious},
	{"tools.*.enforcement.adapter", BAWN_NAMED_BACKEND, .base = BAWN_F_backend},
	{"agents.*.suspicious_threshold", BAWN_NAMED_REAL, .base = BAWN_F_thr_suspicious},
	{"agents.*.malicious_threshold", BAWN_NAMED_REAL, .base = BAWN_F_thr_malicious},
	{"actions.SAFE", BAWN_NAMED_WORD, ACTIONS, "allow"},
	{"actions.SUSPICIOUS", BAWN_NAMED_WORD, ACTIONS, "constrain"},
	{"actions.MALICIOUS", BAWN_NAMED_WORD, ACTIONS, "block"},
	{"sequences.*.mode", BAWN_NAMED_WORD, "advisory,enforce", "enforce"},
	{"scan_modes.*", BAWN_NAMED_WORD, "lenient,standard,strict", "strict"},
	{"enforcement.suspicious.*.filesystem_writable", BAWN_NAMED_PATHS},
	{"enforcement.suspicious.*.filesystem_readable", BAWN_NAMED_PATHS},
	{"enforcement.suspicious.*.network_allow", BAWN_NAMED_HOSTS},
	{FALLBACK, BAWN_NAMED_BACKENDS},
	{"rules.*.pattern", BAWN_NAMED_REGEX, .adds = true},
	{"rules.*.level", BAWN_NAMED_WORD, "none,low,medium,high,critical", .adds = true},
	{"rules.*.confidence", BAWN_NAMED_CONFIDENCE, .adds = true},
	{"rules.*.message", BAWN_NAMED_TEXT, .adds = true},
	{LEAKS "*", BAWN_NAMED_WORD, "warn,redact,block", "block", BAWN_F_sec_action},
};

const struct bawn_named *bawn_named_at(size_t i)
{
	return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
}

const struct bawn_named *bawn_named_find(const char *key, const char **name, size_t *len)
{
	size_t n = strlen(key);

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *star = strchr(table[i].pattern, '*');
		size_t before = star ? (size_t)(star - table[i].pattern) : n + 1;
		size_t after = star ? strlen(star + 1) : 0;

		if (!star && strcmp(key, table[i].pattern) != 0)
			continue;
		if (star &&
			(n < before + after + 1 || strncmp(key, table[i].pattern, before) != 0 ||
				strcmp(key + n - after, star + 1) != 0))
			continue;
		*name = star ? key + before : NULL;
		*len = star ? n - before - after : 0;
		return &table[i];
	}
	return NULL;
}

bool bawn_named_is_list(const struct bawn_named *n, const char *value)
{
	if (n->kind == BAWN_NAMED_HOSTS)
		return strcmp(value, "true") != 0 && strcmp(value, "false") != 0;
	return n->kind == BAWN_NAMED_PATHS || n->kind == BAWN_NAMED_BACKENDS;
}

/* Place of a word in "a,b,c", or -EINVAL. */
static int word_rank(const char *words, const char *word)
{
	size_t n = strlen(word);
	int rank = 0;

	for (const char *p = words;; p++, rank++) {
		size_t m = strcspn(p, ",");

		if (m == n && !strncmp(p, word, n))
			return rank;
		p += m;
		if (!*p)
			return -EINVAL;
	}
}

static int entry_text(const struct bawn_context *c, const struct bawn_named *n, const char *raw,
	const struct bawn_origin *from, const char **ret)
{
	if (strchr(raw, '\n'))
		return bawn_bad(c, from, -EINVAL, "expected one line");
	if (n->kind == BAWN_NAMED_PATHS)
		return bawn_entry_path(c, raw, from, ret);
	if (n->kind == BAWN_NAMED_HOSTS) {
		const char *why = "out of memory";

		if (bawn_host_clean(c->a, raw, false, ret, &why) < 0)
			return bawn_bad(
				c, from, -EINVAL, "bad host '%s': %s", bawn_quote(c->a, raw), why);
		return 0;
	}
	if (bawn_backend_word(raw, ret) < 0)
		return bawn_bad(c, from, -EINVAL, "unknown backend '%s'", bawn_quote(c->a, raw));
	if (n->kind == BAWN_NAMED_BACKENDS && !strcmp(*ret, "auto"))
		return bawn_bad(c, from, -EINVAL, "'auto' is no backend to fall back to, name one");
	return 0;
}

static int list_text(const struct bawn_context *c, const struct bawn_named *n,
	const struct bawn_node *node, const char **ret)
{
	_cleanup_buf_ struct bawn_buf b = {.max = (size_t)1 << 20};

	for (const struct bawn_node *e = node->first; e; e = e->next) {
		struct bawn_origin from = {c->layer, c->file, e->line, e->column};
		const char *text = NULL;
		int r;

		if (e->kind != BAWN_NODE_SCALAR)
			return bawn_bad(c, &from, -EINVAL, "expected text");
		r = entry_text(c, n, e->text, &from, &text);
		if (r < 0)
			return r;
		if (strchr(text, '\n'))
			return bawn_bad(c, &from, -EINVAL, "expected one line");
		if (b.len)
			bawn_buf_puts(&b, "\n");
		bawn_buf_puts(&b, text);
	}
	if (b.failed)
		return bawn_oom(c);
	*ret = b.data ? bawn_arena_strdup(c->a, b.data) : "";
	return *ret ? 0 : bawn_oom(c);
}

static int scalar_text(const struct bawn_context *c, const struct bawn_named *n, const char *key,
	const struct bawn_node *node, const char **ret)
{
	struct bawn_origin from = {c->layer, c->file, node->line, node->column};
	bool yes;
	double v;

	*ret = node->text;
	switch (n->kind) {
	case BAWN_NAMED_TEXT:
		if (strchr(node->text, '\n'))
			return bawn_bad(c, &from, -EINVAL, "expected one line");
		return 0;
	case BAWN_NAMED_REGEX:
		return bawn_entry_regex(c, node->text, &from);
	case BAWN_NAMED_REAL:
	case BAWN_NAMED_CONFIDENCE:
		if (bawn_value_real(node->text, &v) < 0)
			return bawn_bad(c, &from, -EINVAL, "bad number '%s', expected 0 to 1",
				bawn_quote(c->a, node->text));
		return 0;
	case BAWN_NAMED_WORD:
		if (word_rank(n->words, node->text) < 0)
			return bawn_bad(c, &from, -EINVAL,
				"bad value '%s' for '%s', expected one of %s",
				bawn_quote(c->a, node->text), bawn_quote(c->a, key), n->words);
		return 0;
	case BAWN_NAMED_HOSTS:
		if (node->quoted || bawn_value_bool(node->text, &yes) < 0)
			return bawn_bad(c, &from, -EINVAL, "expected a list, true or false");
		*ret = yes ? "true" : "false";
		return 0;
	case BAWN_NAMED_BACKEND:
	case BAWN_NAMED_BACKENDS:
		return entry_text(c, n, node->text, &from, ret);
	case BAWN_NAMED_PATHS:
	default:
		return bawn_bad(c, &from, -EINVAL, "expected a list");
	}
}

/* A name that nothing has would be a setting without effect. */
static int check_name(const struct bawn_context *c, const struct bawn_named *n, const char *key,
	const struct bawn_node *node)
{
	const bool sequence = !strcmp(n->pattern, "sequences.*.mode");
	const struct bawn_node *at = sequence && node->parent ? node->parent : node;
	struct bawn_origin from = {c->layer, c->file, at->key_line, at->key_column};
	struct bawn_suggest s = {0};
	const char *name;
	size_t len;

	if ((!sequence && n->base != BAWN_F_sec_action) || !bawn_named_find(key, &name, &len))
		return 0;
	name = bawn_arena_strndup(c->a, name, len);
	if (!name)
		return bawn_oom(c);
	s.word = !sequence && !strncmp(name, SECRET, sizeof(SECRET) - 1) ? name + sizeof(SECRET) - 1
									 : name;
	for (const char *const *x = sequence ? sequences : secret_rules; *x; x++) {
		char full[KEY_MAX];

		(void)snprintf(full, sizeof(full), SECRET "%s", *x);
		if (sequence ? !strcmp(name, *x)
			     : bawn_glob_match(name, *x) || bawn_glob_match(name, full))
			return 0;
		bawn_suggest_offer(&s, *x, strlen(*x));
	}
	if (!s.best_len)
		return bawn_bad(c, &from, -EINVAL, "unknown key '%s', no %s has this name",
			bawn_quote(c->a, name), sequence ? "sequence" : "rule for secrets");
	return bawn_bad(c, &from, -EINVAL, "unknown key '%s', did you mean '%.*s'?",
		bawn_quote(c->a, name), (int)s.best_len, s.best);
}

int bawn_named_set(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_named *n,
	const char *key, const struct bawn_node *node)
{
	struct bawn_pair pair = {.key = key, .from = {c->layer, c->file, node->line, node->column}};
	bool list = n->kind >= BAWN_NAMED_BACKENDS;
	int r = check_name(c, n, key, node);

	if (r < 0)
		return r;
	if (node->kind == BAWN_NODE_LIST && list)
		r = list_text(c, n, node, &pair.value);
	else if (node->kind == BAWN_NODE_SCALAR)
		r = scalar_text(c, n, key, node, &pair.value);
	else
		return bawn_bad(c, &pair.from, -EINVAL, "expected %s for '%s'",
			list ? "a list" : "one value", bawn_quote(c->a, key));
	if (r < 0)
		return r;
	if (strlen(key) > KEY_MAX)
		return bawn_bad(
			c, &pair.from, -EINVAL, "name too long: '%s'", bawn_quote(c->a, key));
	return bawn_pairs_put(c->a, &d->v.named, &pair) < 0 ? bawn_oom(c) : 0;
}

/* True if every entry of `list` lies inside one of `above` (both separated by \n). */
static bool entry_inside(const struct bawn_named *n, const char *entry, const char *above)
{
	char in[4096], out[4096];
	size_t len = strcspn(entry, "\n");

	if (len >= sizeof(in))
		return false;
	memcpy(in, entry, len);
	in[len] = '\0';
	for (const char *p = above; *p;) {
		size_t m = strcspn(p, "\n");

		if (m < sizeof(out)) {
			memcpy(out, p, m);
			out[m] = '\0';
			if (n->kind == BAWN_NAMED_PATHS ? bawn_path_under(in, out)
							: bawn_host_within(in, out))
				return true;
		}
		p += m + (p[m] == '\n');
	}
	return false;
}

static bool list_inside(const struct bawn_named *n, const char *list, const char *above)
{
	if (!strcmp(list, above) || !*list)
		return true;
	if (n->kind == BAWN_NAMED_HOSTS) {
		if (!strcmp(above, "true") || !strcmp(list, "false"))
			return true;
		if (!strcmp(above, "false") || !strcmp(list, "true"))
			return false;
	}
	for (const char *p = list; *p;) {
		if (!entry_inside(n, p, above))
			return false;
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	return true;
}

static bool tighter(const struct bawn_named *n, const char *value, const char *above)
{
	double v = 1, w = 0;

	switch (n->kind) {
	case BAWN_NAMED_REAL:
		return bawn_value_real(value, &v) == 0 && bawn_value_real(above, &w) == 0 && v <= w;
	case BAWN_NAMED_CONFIDENCE:
		return bawn_value_real(value, &v) == 0 && bawn_value_real(above, &w) == 0 && v >= w;
	case BAWN_NAMED_WORD:
		return word_rank(n->words, value) >= word_rank(n->words, above);
	case BAWN_NAMED_PATHS:
	case BAWN_NAMED_HOSTS:
		return list_inside(n, value, above);
	case BAWN_NAMED_BACKENDS:
		return !*value || !strcmp(value, above);
	case BAWN_NAMED_TEXT:
	case BAWN_NAMED_REGEX:
	case BAWN_NAMED_BACKEND:
	default:
		return !strcmp(value, above);
	}
}

/*
 * What is done about leaks of one rule must be at least what a stronger layer said for all rules
 * and for any that this pattern may overlap.
 */
static const struct bawn_origin *standing_leaks(const struct bawn_context *c,
	const struct bawn_policy *p, const struct bawn_named *n, const char **text)
{
	static const char *const words[] = {"warn", "redact", "block"};
	const struct bawn_origin *from = &p->origins[BAWN_F_sec_action];
	bool bound = c->layer == BAWN_LAYER_WORKSPACE ||
		     (from->layer != BAWN_LAYER_DEFAULT && from->layer != c->layer);

	*text = words[p->sec_action];
	for (size_t i = 0; i < p->named.n; i++) {
		const struct bawn_pair *x = &p->named.v[i];

		if (strncmp(x->key, LEAKS, sizeof(LEAKS) - 1) != 0 || x->from.layer == c->layer)
			continue;
		if (!bound || word_rank(n->words, x->value) > word_rank(n->words, *text)) {
			*text = x->value;
			from = &x->from;
		}
		bound = true;
	}
	return bound ? from : NULL;
}

static bool names_backend(const struct bawn_pair *pair)
{
	const char *name;
	size_t len;
	const struct bawn_named *n = bawn_named_find(pair->key, &name, &len);

	return n && n->kind == BAWN_NAMED_BACKEND && strcmp(pair->value, "auto") != 0;
}

/* Where a stronger layer named a backend: others in its place would be weaker than that. */
static const struct bawn_origin *stronger_backend(
	const struct bawn_context *c, const struct bawn_policy *p)
{
	const struct bawn_origin *from = &p->origins[BAWN_F_backend];

	if (from->layer != BAWN_LAYER_DEFAULT && from->layer != c->layer)
		return from;
	for (size_t i = 0; i < p->named.n; i++)
		if (names_backend(&p->named.v[i]) && p->named.v[i].from.layer != c->layer)
			return &p->named.v[i].from;
	return NULL;
}

/* What a value is compared with: the text in *above and its origin; NULL if it may be set. */
static const struct bawn_origin *standing(const struct bawn_context *c, const struct bawn_policy *p,
	const struct bawn_named *n, const char *key, char above[BAWN_VALUE_MAX], const char **text)
{
	static const struct bawn_origin nothing = {.layer = BAWN_LAYER_DEFAULT};
	bool hostile = c->layer == BAWN_LAYER_WORKSPACE;

	for (size_t i = 0; i < p->named.n; i++) {
		*text = p->named.v[i].value;
		if (!strcmp(p->named.v[i].key, key))
			return &p->named.v[i].from;
	}
	if (n->adds)
		return NULL;
	if (n->base == BAWN_F_sec_action)
		return standing_leaks(c, p, n, text);
	*text = above;
	if (n->kind == BAWN_NAMED_REAL || n->kind == BAWN_NAMED_BACKEND) {
		const struct bawn_origin *base = &p->origins[n->base];

		bawn_value_format(&bawn_fields[n->base], p, above);
		if (n->kind == BAWN_NAMED_BACKEND)
			*text = p->backend;
		return hostile || (base->layer != BAWN_LAYER_DEFAULT && base->layer != c->layer)
			       ? base
			       : NULL;
	}
	above[0] = '\0';
	if (n->kind == BAWN_NAMED_BACKENDS && stronger_backend(c, p))
		return stronger_backend(c, p);
	if (n->def)
		*text = n->def;
	/* A pattern may overlap one that a stronger layer chose: only the tightest word is safe. */
	if (!strcmp(n->pattern, "scan_modes.*"))
		for (size_t i = 0; i < p->named.n; i++)
			if (!strncmp(p->named.v[i].key, "scan_modes.", 11) &&
				p->named.v[i].from.layer != c->layer)
				return &p->named.v[i].from;
	return hostile ? &nothing : NULL;
}

static int merge_one(
	const struct bawn_context *c, struct bawn_policy *p, const struct bawn_pair *pair)
{
	const char *name, *text = NULL;
	char above[BAWN_VALUE_MAX];
	size_t len;
	const struct bawn_named *n = bawn_named_find(pair->key, &name, &len);
	const struct bawn_origin *from = n ? standing(c, p, n, pair->key, above, &text) : NULL;

	if (from && !tighter(n, pair->value, text))
		return bawn_widens(c, &pair->from, pair->key, pair->value, from, text);
	return bawn_pairs_put(c->a, &p->named, pair) < 0 ? bawn_oom(c) : 0;
}

int bawn_named_merge(
	const struct bawn_context *c, struct bawn_policy *p, const struct bawn_draft *d)
{
	for (size_t i = 0; i < d->v.named.n; i++) {
		int r = merge_one(c, p, &d->v.named.v[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

int bawn_named_check(const struct bawn_context *c, const struct bawn_policy *p)
{
	const struct bawn_pair *fallback = NULL;
	bool named = strcmp(p->backend, "auto") != 0;

	for (size_t i = 0; i < p->named.n; i++) {
		named = named || names_backend(&p->named.v[i]);
		if (!strcmp(p->named.v[i].key, FALLBACK) && *p->named.v[i].value)
			fallback = &p->named.v[i];
	}
	if (!fallback || named)
		return 0;
	return bawn_bad(c, &fallback->from, -EINVAL,
		"'%s' has no backend to stand in for: 'auto' takes whichever will do; name one (backend, sandbox.preferred)",
		FALLBACK);
}

const char *bawn_policy_named(const struct bawn_policy *p, const char *key)
{
	for (size_t i = 0; i < p->named.n; i++)
		if (!strcmp(p->named.v[i].key, key))
			return p->named.v[i].value;
	return NULL;
}

const char *bawn_policy_fallback(const struct bawn_policy *p)
{
	const struct bawn_origin *from = p->origins ? &p->origins[BAWN_F_backend] : NULL;
	const char *list = bawn_policy_named(p, FALLBACK);

	return !list || (from && from->file && !from->line) ? "" : list;
}
