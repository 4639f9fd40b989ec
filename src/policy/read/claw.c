/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claw Kernel Protocol 0.3.0, kind Sandbox. The protocol's schema as a table: its keys, its types,
 * its words; nothing else is accepted.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "policy/draft.h"
#include "policy/entry.h"
#include "policy/read/rules.h"

static const struct bawn_word_pair runtime_words[] = {{"docker", "docker"},
	{"apple-container", "apple-container"}, {"wasmtime", "wasm"},
	{"firecracker", "firecracker"}, {"gvisor", "gvisor"}, {"native", "native"}, {NULL}};
static const struct bawn_word_pair network_words[] = {
	{"deny", "deny"}, {"allowlist", "allowlist"}, {"allow-all", "open"}, {NULL}};
static const struct bawn_word_pair injection_words[] = {{"host-boundary", "host-boundary"},
	{"environment", "environment"}, {"file-mount", "file-mount"}, {NULL}};

static int expect_text(
	const struct bawn_reader *r, const struct bawn_node *n, const char *what, bool ok)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);

	if (ok)
		return 0;
	return bawn_bad(r->c, &at, -EINVAL, "bad '%s' value '%s', expected %s", n->key,
		bawn_quote(r->c->a, n->kind == BAWN_NODE_SCALAR ? n->text : ""), what);
}

static int read_protocol(const struct bawn_reader *r, const struct bawn_node *n)
{
	return expect_text(
		r, n, "\"0.3.0\"", n->kind == BAWN_NODE_SCALAR && !strcmp(n->text, "0.3.0"));
}

static int read_kind(const struct bawn_reader *r, const struct bawn_node *n)
{
	return expect_text(r, n, "Sandbox, the one kind that is supported",
		n->kind == BAWN_NODE_SCALAR && !strcmp(n->text, "Sandbox"));
}

static bool name_ok(const char *s)
{
	size_t n = strlen(s);

	if (!n || n > 63 || *s == '-')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '-')
			return false;
	return true;
}

static int read_name(const struct bawn_reader *r, const struct bawn_node *n)
{
	int rc = expect_text(r, n, "1 to 63 letters, digits and '-', not '-' first",
		n->kind == BAWN_NODE_SCALAR && name_ok(n->text));

	if (rc >= 0)
		r->d->v.name = n->text;
	return rc;
}

/* N.N.N or N.N.N-anything */
static bool version_ok(const char *s)
{
	for (int part = 0; part < 3; part++) {
		size_t n = strspn(s, "0123456789");

		if (!n)
			return false;
		s += n;
		if (part < 2 && *s++ != '.')
			return false;
	}
	return !*s || (*s == '-' && s[1]);
}

static int read_version(const struct bawn_reader *r, const struct bawn_node *n)
{
	return expect_text(
		r, n, "MAJOR.MINOR.PATCH", n->kind == BAWN_NODE_SCALAR && version_ok(n->text));
}

static int read_label(const struct bawn_reader *r, const struct bawn_node *n)
{
	return expect_text(r, n, "text", n->kind == BAWN_NODE_SCALAR);
}

static int read_mount(const struct bawn_reader *r, const struct bawn_node *n)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);
	const struct bawn_node *path = bawn_node_get(n, "path");
	const struct bawn_node *perm = bawn_node_get(n, "permissions");
	bool rw;

	if (!path || !perm || n->n != 2 || path->kind != BAWN_NODE_SCALAR ||
		perm->kind != BAWN_NODE_SCALAR)
		return bawn_bad(r->c, &at, -EINVAL,
			"a mount needs exactly 'path' and 'permissions' (ro or rw)");
	rw = !strcmp(perm->text, "rw");
	if (!rw && strcmp(perm->text, "ro") != 0)
		return expect_text(r, perm, "ro or rw", false);
	at = bawn_node_origin(r->c, path);
	return bawn_draft_entry(
		r->c, r->d, &bawn_fields[rw ? BAWN_F_fs_write : BAWN_F_fs_read], path->text, &at);
}

static int read_mounts(const struct bawn_reader *r, const struct bawn_node *n)
{
	struct bawn_origin at = bawn_node_origin(r->c, n);
	int rc = bawn_draft_mark(r->c, r->d, &bawn_fields[BAWN_F_fs_read], NULL, &at);

	if (rc >= 0)
		rc = bawn_draft_mark(r->c, r->d, &bawn_fields[BAWN_F_fs_write], NULL, &at);
	if (n->kind != BAWN_NODE_LIST)
		return bawn_bad(r->c, &at, -EINVAL, "expected a list for 'mount_paths'");
	for (const struct bawn_node *e = n->first; rc >= 0 && e; e = e->next)
		rc = read_mount(r, e);
	return rc;
}

#define NETWORK    "spec.capabilities.network."
#define FILESYSTEM "spec.capabilities.filesystem."
#define SECRETS    "spec.capabilities.secrets."
#define SHELL      "spec.capabilities.shell."
#define LIMITS     "spec.resource_limits."

static const struct bawn_rule rules[] = {
	{"claw", .fn = read_protocol},
	{"kind", .fn = read_kind},
	{"metadata.name", .fn = read_name},
	{"metadata.version", .fn = read_version},
	{"metadata.labels.*", .fn = read_label},
	{"metadata.annotations", .subtree = true},
	{"spec.level", "level", BAWN_WANT_STRING},
	{"spec.runtime", "backend", BAWN_WANT_STRING, true, runtime_words},
	{NETWORK "mode", "network.mode", BAWN_WANT_STRING, true, network_words},
	{NETWORK "allowed_hosts", "network.allow_hosts", BAWN_WANT_STRING},
	{NETWORK "ssrf_protection.enabled", "network.ssrf.enabled", BAWN_WANT_BOOL},
	{NETWORK "ssrf_protection.block_private_ips", "network.ssrf.block_private_ips",
		BAWN_WANT_BOOL},
	{NETWORK "ssrf_protection.dns_pinning", "network.ssrf.dns_pinning", BAWN_WANT_BOOL},
	{FILESYSTEM "mode", "filesystem.mode", BAWN_WANT_STRING},
	{FILESYSTEM "mount_paths", .fn = read_mounts},
	{FILESYSTEM "denied_paths", "filesystem.deny", BAWN_WANT_STRING},
	{SECRETS "injection", "secrets.injection", BAWN_WANT_STRING, true, injection_words},
	{SECRETS "encryption", "secrets.encryption", BAWN_WANT_STRING},
	{SECRETS "leak_detection.enabled", "secrets.leak_detection.enabled", BAWN_WANT_BOOL},
	{SECRETS "leak_detection.patterns", "secrets.leak_detection.patterns", BAWN_WANT_INTEGER},
	{SHELL "mode", "shell.mode", BAWN_WANT_STRING},
	{SHELL "blocked_commands", "shell.blocked_commands", BAWN_WANT_STRING},
	{SHELL "blocked_patterns", "shell.blocked_patterns", BAWN_WANT_STRING},
	{LIMITS "memory_mb", "limits.memory", BAWN_WANT_INTEGER, .suffix = "m"},
	{LIMITS "cpu_shares", "limits.cpu_shares", BAWN_WANT_INTEGER},
	{LIMITS "max_processes", "limits.processes", BAWN_WANT_INTEGER},
	{LIMITS "max_open_files", "limits.files", BAWN_WANT_INTEGER},
	{LIMITS "timeout_ms", "limits.time", BAWN_WANT_INTEGER},
	{LIMITS "max_output_bytes", "limits.output", BAWN_WANT_INTEGER},
	{NULL},
};

static int need(const struct bawn_context *c, const struct bawn_node *map, const char *key)
{
	struct bawn_origin at = bawn_node_origin(c, map);

	if (bawn_node_get(map, key))
		return 0;
	return bawn_bad(c, &at, -EINVAL, "'%s' is missing", key);
}

/* Where a level has one usual runtime it is asked for by name; else `auto` picks one of the level.
 */
static int infer_backend(
	const struct bawn_context *c, struct bawn_draft *d, const struct bawn_node *level)
{
	static const char *const usual[] = {
		[BAWN_LEVEL_NONE] = "noop",
		[BAWN_LEVEL_WASM] = "wasm",
		[BAWN_LEVEL_CONTAINER] = "docker",
		[BAWN_LEVEL_VM] = NULL,
	};
	struct bawn_origin at = bawn_node_origin(c, level);

	int r;

	if (!usual[d->v.level] || d->mark[BAWN_F_backend].set)
		return 0;
	r = bawn_draft_scalar(c, d, &bawn_fields[BAWN_F_backend], usual[d->v.level], false, &at);
	d->mark[BAWN_F_backend].inferred = true;
	return r;
}

int bawn_read_claw(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_node *root)
{
	static const char *const top[] = {"claw", "kind", "metadata", "spec"};
	struct bawn_reader r = {.c = c, .d = d, .rules = rules};
	const struct bawn_node *kind = bawn_node_get(root, "kind");
	const struct bawn_node *spec;
	int rc = 0;

	if (kind) /* first: the rest of another kind would only be unknown keys */
		rc = read_kind(&r, kind);
	for (size_t i = 0; rc >= 0 && i < sizeof(top) / sizeof(top[0]); i++)
		rc = need(c, root, top[i]);
	if (rc >= 0)
		rc = bawn_rules_apply(&r, root);
	if (rc >= 0)
		rc = need(c, bawn_node_get(root, "metadata"), "name");
	if (rc < 0)
		return rc;
	spec = bawn_node_get(root, "spec");
	rc = need(c, spec, "level");
	if (rc < 0 || bawn_node_get(spec, "runtime"))
		return rc;
	return infer_backend(c, d, bawn_node_get(spec, "level"));
}
