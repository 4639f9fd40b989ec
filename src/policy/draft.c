/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to values of one layer. Files of a layer and its flags are the same authority: a later one
 * replaces single values and adds to lists. What stands above the layer is the merge's business.
 */
#include "policy/draft.h"

#include <errno.h>
#include <string.h>

#include "policy/entry.h"
#include "policy/value.h"

#define MEMORY_MIN ((uint64_t)1 << 20) /* with less even the wall cannot be built */

static const char *const backends[] = {"auto", "native", "landlock", "bwrap", "nsjail", "chroot",
	"docker", "podman", "apple-container", "gvisor", "firecracker", "qemu", "wasm", "seatbelt",
	"path", "noop", NULL};

/* Texts that are one of a few words, or the default. */
static const struct {
	size_t field;
	const char *words[4];
	const char *expected;
} worded[] = {
	{BAWN_F_sec_injection, {"host-boundary", "environment", "file-mount"},
		"one of host-boundary, environment, file-mount"},
	{BAWN_F_sec_encryption, {"aes-256-gcm"}, "aes-256-gcm"},
	{BAWN_F_gvisor_engine, {"auto", "direct", "docker"}, "one of auto, direct, docker"},
	{BAWN_F_docker_network, {"none"},
		"none: any other would lead around every rule; what is to be reached is network.mode's business"},
};

/* Other people's words for a backend. */
static const struct {
	const char *word, *backend;
} backend_aliases[] = {
	{"kernel", "native"},
	{"namespace", "native"},
	{"landlock+bwrap", "native"},
	{"bubblewrap", "bwrap"},
	{"macos", "seatbelt"},
	{"sandbox-exec", "seatbelt"},
	{"wasmtime", "wasm"},
	{"runsc", "gvisor"},
	{"container", "apple-container"},
	{"microvm", "qemu"},
	{"soft", "path"},
	{"none", "noop"},
	{"off", "noop"},
};

static bool is_one_of(const char *const *words, const char *word)
{
	for (; *words; words++)
		if (!strcmp(*words, word))
			return true;
	return false;
}

int bawn_backend_word(const char *word, const char **ret)
{
	for (size_t i = 0; i < sizeof(backend_aliases) / sizeof(backend_aliases[0]); i++)
		if (!strcmp(backend_aliases[i].word, word))
			word = backend_aliases[i].backend;
	if (!is_one_of(backends, word))
		return -EINVAL;
	*ret = word;
	return 0;
}

int bawn_draft_mark(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_field *f,
	const char *raw, const struct bawn_origin *from)
{
	struct bawn_mark *m = &d->mark[bawn_field_index(f)];

	if (m->set && c->source && m->source == c->source && f->kind != BAWN_KIND_LIST)
		return bawn_bad(c, from, -EINVAL, "'%s' is given twice, first in line %u", f->key,
			m->from.line);
	*m = (struct bawn_mark){.set = true,
		.from_file = m->from_file || c->source,
		.source = c->source,
		.raw = raw,
		.from = *from};
	return 0;
}

static int set_u64(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_field *f,
	const char *text, const struct bawn_origin *from)
{
	static const char *const nouns[] = {
		[BAWN_UNIT_SIZE] = "size",
		[BAWN_UNIT_MSEC] = "time",
		[BAWN_UNIT_COUNT] = "number",
		[BAWN_UNIT_MILLI] = "number",
	};
	uint64_t v = 0;
	int r = bawn_value_u64(f->unit, text, &v);

	if (r == -ERANGE)
		return bawn_bad(
			c, from, r, "%s '%s' is too large", nouns[f->unit], bawn_quote(c->a, text));
	if (r < 0)
		return bawn_bad(c, from, r, "bad %s '%s', expected %s", nouns[f->unit],
			bawn_quote(c->a, text), bawn_unit_hint(f->unit));
	if (!v && f->tighter == BAWN_TIGHTER_LOWER)
		return bawn_bad(c, from, -EINVAL,
			"'%s' must be more than 0, write 'unlimited' for no limit", f->key);
	if (v < MEMORY_MIN && !strcmp(f->key, "limits.memory"))
		return bawn_bad(c, from, -EINVAL,
			"'%s' of '%s' is too little for any program, expected 1m at least", f->key,
			bawn_quote(c->a, text));
	*(uint64_t *)bawn_member_mut(&d->v, f) = v;
	return 0;
}

static int set_bool(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_field *f,
	const char *text, bool quoted, const struct bawn_origin *from)
{
	bool *v = bawn_member_mut(&d->v, f);

	if (quoted || bawn_value_bool(text, v) < 0)
		return bawn_bad(c, from, -EINVAL, "bad value '%s' for '%s', expected true or false",
			bawn_quote(c->a, text), f->key);
	if (bawn_field_index(f) == BAWN_F_ssrf_pinning && !*v)
		return bawn_bad(c, from, -EINVAL,
			"'%s' cannot be turned off: no address is dialled but the one that was checked; leave it out",
			f->key);
	return 0;
}

static int set_enum(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_field *f,
	const char *text, const struct bawn_origin *from)
{
	int v = bawn_enum_find(f->type, text);
	char words[128];

	if (v < 0) {
		bawn_enum_words(f->type, words, sizeof(words));
		return bawn_bad(c, from, -EINVAL, "bad value '%s' for '%s', expected one of %s",
			bawn_quote(c->a, text), f->key, words);
	}
	*(unsigned *)bawn_member_mut(&d->v, f) = (unsigned)v;
	return 0;
}

/* A path of the user's own: not relative to a workspace, which has no say in it. */
static int key_path(const struct bawn_context *c, const char **text, const struct bawn_origin *from)
{
	const char *raw = *text;

	if (!strncmp(raw, "~/", 2) && c->home)
		*text = bawn_arena_printf(c->a, "%s%s", c->home, raw + 1);
	else if (*raw && *raw != '/')
		return bawn_bad(c, from, -EINVAL,
			"bad path '%s', expected an absolute one or one below ~/",
			bawn_quote(c->a, raw));
	return *text ? 0 : bawn_oom(c);
}

static int set_str(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_field *f,
	const char *text, const struct bawn_origin *from)
{
	size_t i = bawn_field_index(f);

	if (strpbrk(text, "\n\t"))
		return bawn_bad(c, from, -EINVAL, "'%s' must be one line", f->key);
	if (i == BAWN_F_backend && bawn_backend_word(text, &text) < 0)
		return bawn_bad(c, from, -EINVAL,
			"unknown backend '%s', expected auto, native, bwrap, docker, podman, gvisor, firecracker, …",
			bawn_quote(c->a, text));
	for (size_t k = 0; k < sizeof(worded) / sizeof(worded[0]); k++)
		if (i == worded[k].field && strcmp(text, f->def_text) != 0 &&
			!is_one_of(worded[k].words, text))
			return bawn_bad(c, from, -EINVAL, "bad value '%s' for '%s', expected %s",
				bawn_quote(c->a, text), f->key, worded[k].expected);
	if (i == BAWN_F_sec_key_file && key_path(c, &text, from) < 0)
		return -EINVAL;
	*(const char **)bawn_member_mut(&d->v, f) = text;
	return 0;
}

static int set_scalar(const struct bawn_context *c, struct bawn_draft *d,
	const struct bawn_field *f, const char *text, bool quoted, const struct bawn_origin *from)
{
	int r;

	switch (f->kind) {
	case BAWN_KIND_BOOL:
		return set_bool(c, d, f, text, quoted, from);
	case BAWN_KIND_U64:
		return set_u64(c, d, f, text, from);
	case BAWN_KIND_REAL:
		r = bawn_value_real(text, (double *)bawn_member_mut(&d->v, f));
		if (r < 0)
			return bawn_bad(c, from, r, "bad number '%s', expected 0 to 1",
				bawn_quote(c->a, text));
		return 0;
	case BAWN_KIND_ENUM:
		return set_enum(c, d, f, text, from);
	case BAWN_KIND_STR:
		return set_str(c, d, f, text, from);
	case BAWN_KIND_LIST:
	case BAWN_KIND_MAP:
	default:
		return bawn_bad(c, from, -EINVAL, "'%s' does not take a single value", f->key);
	}
}

int bawn_draft_scalar(const struct bawn_context *c, struct bawn_draft *d,
	const struct bawn_field *f, const char *text, bool quoted, const struct bawn_origin *from)
{
	int r = bawn_draft_mark(c, d, f, text, from);

	return r < 0 ? r : set_scalar(c, d, f, text, quoted, from);
}

int bawn_draft_entry(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_field *f,
	const char *text, const struct bawn_origin *from)
{
	struct bawn_items *l = bawn_member_mut(&d->v, f);
	struct bawn_item item = {.raw = text, .from = *from}, *slot;
	int r = bawn_draft_mark(c, d, f, NULL, from);

	if (r < 0)
		return r;
	if (l->n >= BAWN_LIST_MAX)
		return bawn_bad(
			c, from, -E2BIG, "'%s' has more than %d entries", f->key, BAWN_LIST_MAX);
	r = bawn_entry_make(c, f, &item);
	if (r)
		return r < 0 ? r : 0;
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].text, item.text))
			return 0;
	slot = bawn_grow(c->a, &l->v, &l->n, &l->cap);
	if (!slot)
		return bawn_oom(c);
	*slot = item;
	return 0;
}

int bawn_pairs_put(struct bawn_arena *a, struct bawn_pairs *pairs, const struct bawn_pair *pair)
{
	struct bawn_pair *slot;

	for (size_t i = 0; i < pairs->n; i++)
		if (!strcmp(pairs->v[i].key, pair->key)) {
			pairs->v[i] = *pair;
			return 0;
		}
	slot = bawn_grow(a, &pairs->v, &pairs->n, &pairs->cap);
	if (!slot)
		return -ENOMEM;
	*slot = *pair;
	return 0;
}

int bawn_draft_pair(const struct bawn_context *c, struct bawn_draft *d, const struct bawn_field *f,
	const char *key, const char *value, const struct bawn_origin *from)
{
	struct bawn_pair pair = {.key = key, .value = value, .from = *from};

	if (!bawn_env_name(key))
		return bawn_bad(c, from, -EINVAL,
			"bad variable name '%s', expected letters, digits and '_'",
			bawn_quote(c->a, key));
	if (bawn_pairs_put(c->a, bawn_member_mut(&d->v, f), &pair) < 0)
		return bawn_oom(c);
	return 0;
}

int bawn_draft_flag(
	const struct bawn_context *c, struct bawn_draft *d, const struct bawn_setting *s)
{
	struct bawn_origin from = {.layer = c->layer, .file = s->flag};
	const struct bawn_field *f = bawn_field_find(s->key);
	const char *eq, *name;
	int r;

	if (!f)
		return bawn_bad(
			c, &from, -EINVAL, "unknown setting '%s'", bawn_quote(c->a, s->key));
	if (f->kind == BAWN_KIND_LIST)
		return bawn_draft_entry(c, d, f, s->text, &from);
	if (f->kind != BAWN_KIND_MAP)
		return bawn_draft_scalar(c, d, f, s->text, false, &from);
	eq = strchr(s->text, '=');
	if (!eq)
		return bawn_bad(c, &from, -EINVAL, "bad value '%s', expected NAME=VALUE",
			bawn_quote(c->a, s->text));
	name = bawn_arena_strndup(c->a, s->text, (size_t)(eq - s->text));
	if (!name)
		return bawn_oom(c);
	r = bawn_draft_mark(c, d, f, NULL, &from);
	return r < 0 ? r : bawn_draft_pair(c, d, f, name, eq + 1, &from);
}
