/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.yaml: the keys of fields.def, the named settings, and the keys that CloneGuard's
 * documentation and code use for the same things.
 */
#include <errno.h>
#include <string.h>

#include "policy/draft.h"
#include "policy/entry.h"
#include "policy/read/rules.h"

static const struct bawn_word_pair network_words[] = {{"true", "open"}, {"false", "deny"}, {NULL}};

static int read_version(const struct bawn_reader *r, const struct bawn_node *n)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);

	if (n->kind != BAWN_NODE_SCALAR || strcmp(n->text, "1") != 0)
		return bawn_bad(
			r->c, &at, -EINVAL, "unknown version, this program reads version 1");
	return 0;
}

static int mount_part(
	const struct bawn_reader *r, struct bawn_mount_entry *m, const struct bawn_node *n)
{
	struct bawn_origin at = {r->c->layer, r->c->file, n->key_line, n->key_column};

	if (n->kind != BAWN_NODE_SCALAR)
		return bawn_bad(r->c, &at, -EINVAL, "expected one value for '%s'",
			bawn_quote(r->c->a, n->key));
	at = bawn_node_origin(r->c, n);
	if (!strcmp(n->key, "source"))
		return bawn_entry_path(r->c, n->text, &at, &m->source);
	if (!strcmp(n->key, "target")) {
		m->target = n->text;
		if (*n->text == '/' && !strpbrk(n->text, "\n:"))
			return 0;
		return bawn_bad(r->c, &at, -EINVAL, "bad target '%s', expected an absolute path",
			bawn_quote(r->c->a, n->text));
	}
	if (!strcmp(n->key, "read_only")) {
		m->read_only = !strcmp(n->text, "true");
		if (m->read_only || !strcmp(n->text, "false"))
			return 0;
		return bawn_bad(r->c, &at, -EINVAL, "bad value '%s', expected true or false",
			bawn_quote(r->c->a, n->text));
	}
	at = (struct bawn_origin){r->c->layer, r->c->file, n->key_line, n->key_column};
	return bawn_bad(r->c, &at, -EINVAL,
		"unknown key '%s', expected source, target and read_only",
		bawn_quote(r->c->a, n->key));
}

static int read_mounts(const struct bawn_reader *r, const struct bawn_node *n)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);
	struct bawn_policy *v = &r->d->v;

	if (n->kind != BAWN_NODE_LIST)
		return bawn_bad(r->c, &at, -EINVAL, "expected a list of mounts");
	v->n_mounts = 0;
	v->mounts = bawn_new(r->c->a, struct bawn_mount_entry, n->n + 1);
	if (!v->mounts)
		return bawn_oom(r->c);
	for (const struct bawn_node *e = n->first; e; e = e->next) {
		struct bawn_mount_entry *m = &v->mounts[v->n_mounts++];

		m->from = at = bawn_node_origin(r->c, e);
		m->read_only = true;
		for (const struct bawn_node *part = e->first; part && e->kind == BAWN_NODE_MAP;
			part = part->next) {
			int rc = mount_part(r, m, part);

			if (rc < 0)
				return rc;
		}
		if (!m->source || !m->target)
			return bawn_bad(r->c, &at, -EINVAL, "a mount needs 'source' and 'target'");
	}
	return 0;
}

/* rules.ID.PART of one rule. */
static int rule_part(const struct bawn_reader *r, const char *id, const struct bawn_node *n)
{
	static const char *const parts[] = {"pattern", "level", "confidence", "message"};
	struct bawn_origin at = {r->c->layer, r->c->file, n->key_line, n->key_column};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *key, *name;
		size_t len;

		if (strcmp(n->key, parts[i]) != 0)
			continue;
		key = bawn_arena_printf(r->c->a, "rules.%s.%s", id, parts[i]);
		return key ? bawn_named_set(r->c, r->d, bawn_named_find(key, &name, &len), key, n)
			   : bawn_oom(r->c);
	}
	return bawn_bad(r->c, &at, -EINVAL,
		"unknown key '%s', expected id, pattern, level, confidence and message",
		bawn_quote(r->c->a, n->key));
}

static int read_rule(const struct bawn_reader *r, const char *id, const struct bawn_node *n)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);

	if (!id || !*id ||
		id[strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")])
		return bawn_bad(
			r->c, &at, -EINVAL, "a rule needs an 'id' of letters, digits, - and _");
	if (n->kind != BAWN_NODE_MAP || !bawn_node_get(n, "pattern"))
		return bawn_bad(r->c, &at, -EINVAL, "rule '%s' has no 'pattern'", id);
	for (const struct bawn_node *part = n->first; part; part = part->next) {
		int rc = strcmp(part->key, "id") != 0 ? rule_part(r, id, part) : 0;

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A list of rules with an id each, or a mapping from id to rule. */
static int read_rules(const struct bawn_reader *r, const struct bawn_node *n)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);

	if (n->kind != BAWN_NODE_LIST && n->kind != BAWN_NODE_MAP)
		return bawn_bad(r->c, &at, -EINVAL, "expected a list of rules");
	for (const struct bawn_node *e = n->first; e; e = e->next) {
		const char *id = e->key;
		int rc;

		if (n->kind == BAWN_NODE_LIST) {
			const struct bawn_node *named =
				e->kind == BAWN_NODE_MAP ? bawn_node_get(e, "id") : NULL;

			id = named && named->kind == BAWN_NODE_SCALAR ? named->text : NULL;
		}
		rc = read_rule(r, id, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

#define OVERRIDE(by, to)                                                                       \
	{"verdicts.overrides." by ".*.suspicious_floor", to ".*.suspicious_threshold"},        \
		{"verdicts.overrides." by ".*.malicious_floor", to ".*.malicious_threshold"},  \
		{"verdicts.overrides." by ".*.suspicious_threshold",                           \
			to ".*.suspicious_threshold"},                                         \
	{                                                                                      \
		"verdicts.overrides." by ".*.malicious_threshold", to ".*.malicious_threshold" \
	}

static const struct bawn_rule rules[] = {
	{"version", .fn = read_version},
	{"dry_run", "enforcement.dry_run"},
	{"sandbox.preferred", "backend"},
	{"enforcement.adapter", "backend"},
	{"enforcement.landlock.allowed_read", "filesystem.read"},
	{"enforcement.landlock.allowed_write", "filesystem.write"},
	{"enforcement.landlock.network", "network.mode", BAWN_WANT_BOOL, .words = network_words},
	{"enforcement.docker.mounts", .fn = read_mounts},
	{"rules", .fn = read_rules},
	{"verdicts.thresholds.suspicious_floor", "detection.suspicious_threshold"},
	{"verdicts.thresholds.malicious_floor", "detection.malicious_threshold"},
	OVERRIDE("tool_name", "tools"),
	OVERRIDE("agent_type", "agents"),
	{NULL},
};

int bawn_read_native(
	const struct bawn_context *c, struct bawn_draft *d, const struct bawn_node *root)
{
	struct bawn_reader r = {.c = c, .d = d, .rules = rules, .native = true};

	return bawn_rules_apply(&r, root);
}

int bawn_read_text(const struct bawn_context *c, struct bawn_draft *d, const char *text, size_t len)
{
	struct bawn_node *root;
	int r = bawn_tree_yaml(c->a, c->file, text, len, &root, c->err);

	if (r < 0)
		return r;
	if (bawn_node_get(root, "kind") || bawn_node_get(root, "claw"))
		return bawn_read_claw(c, d, root);
	return bawn_read_native(c, d, root);
}
