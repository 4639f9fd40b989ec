/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers can only tighten. Each kind of value has one comparison; what may be looser is an error
 * and never dropped, for the writer of the file believes that it holds.
 */
#include "policy/merge.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "policy/entry.h"
#include "policy/named.h"
#include "policy/value.h"

/* <0, 0, >0 as the draft's scalar is below, at or above the policy's. */
static int compare(
	const struct bawn_field *f, const struct bawn_policy *x, const struct bawn_policy *y)
{
	const void *m = bawn_member(x, f), *n = bawn_member(y, f);

	switch (f->kind) {
	case BAWN_KIND_BOOL:
		return *(const bool *)m - *(const bool *)n;
	case BAWN_KIND_U64:
		return (*(const uint64_t *)m > *(const uint64_t *)n) -
		       (*(const uint64_t *)m < *(const uint64_t *)n);
	case BAWN_KIND_REAL:
		return (*(const double *)m > *(const double *)n) -
		       (*(const double *)m < *(const double *)n);
	case BAWN_KIND_ENUM:
		return (*(const unsigned *)m > *(const unsigned *)n) -
		       (*(const unsigned *)m < *(const unsigned *)n);
	case BAWN_KIND_STR:
		return strcmp(*(const char *const *)m, *(const char *const *)n);
	case BAWN_KIND_LIST:
	case BAWN_KIND_MAP:
	default:
		return 1;
	}
}

static void copy_scalar(
	const struct bawn_field *f, struct bawn_policy *p, const struct bawn_policy *from)
{
	static const size_t sizes[] = {
		[BAWN_KIND_BOOL] = sizeof(bool),
		[BAWN_KIND_U64] = sizeof(uint64_t),
		[BAWN_KIND_REAL] = sizeof(double),
		[BAWN_KIND_ENUM] = sizeof(unsigned),
		[BAWN_KIND_STR] = sizeof(char *),
		[BAWN_KIND_MAP] = 0,
	};

	memcpy(bawn_member_mut(p, f), bawn_member(from, f), sizes[f->kind]);
}

/* Which hosts are allowed is said in two settings: who gave one of them has spoken of both. */
static enum bawn_layer spoken_for(const struct bawn_policy *p, size_t field)
{
	if (field == BAWN_F_net_development)
		return p->origins[BAWN_F_net_allow_hosts].layer;
	if (field == BAWN_F_net_allow_hosts && p->net_development)
		return p->origins[BAWN_F_net_development].layer;
	return BAWN_LAYER_DEFAULT;
}

/* The draft may set the value as it likes: nobody stronger has spoken. */
static bool is_free(
	const struct bawn_context *c, const struct bawn_policy *p, const struct bawn_field *f)
{
	size_t i = bawn_field_index(f);
	enum bawn_layer by = spoken_for(p, i);

	return p->origins[i].layer == BAWN_LAYER_DEFAULT && c->layer != BAWN_LAYER_WORKSPACE &&
	       (by == BAWN_LAYER_DEFAULT || by == c->layer);
}

static int merge_scalar(const struct bawn_context *c, struct bawn_policy *p,
	const struct bawn_draft *d, const struct bawn_field *f)
{
	const struct bawn_mark *m = &d->mark[bawn_field_index(f)];
	struct bawn_origin *from = &p->origins[bawn_field_index(f)];
	int cmp = compare(f, &d->v, p);
	bool ok = !cmp || (f->tighter == BAWN_TIGHTER_LOWER && cmp < 0) ||
		  (f->tighter == BAWN_TIGHTER_HIGHER && cmp > 0);
	char above[BAWN_VALUE_MAX];

	if (is_free(c, p, f) || (ok && cmp)) {
		copy_scalar(f, p, &d->v);
		*from = m->from;
		return 0;
	}
	/* what was only inferred gives way to what was said */
	if (ok || m->inferred)
		return 0;
	bawn_value_format(f, p, above);
	return bawn_widens(c, &m->from, f->key, m->raw, from,
		f->kind == BAWN_KIND_STR ? *(const char *const *)bawn_member(p, f) : above);
}

static bool under_any(const char *path, const struct bawn_items *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (bawn_path_under(path, l->v[i].text))
			return true;
	return false;
}

/*
 * A system directory keeps its links, so its text alone says little: what it resolves to must lie
 * inside what stands, too.
 */
static bool system_within(
	const struct bawn_context *c, const char *text, const struct bawn_items *above)
{
	const char *real, *root;

	for (size_t i = 0; i < above->n; i++)
		if (!strcmp(text, above->v[i].text))
			return true;
	if (!under_any(text, above) || bawn_path_resolve(c->a, text, &real) < 0)
		return false;
	for (size_t i = 0; i < above->n; i++)
		if (bawn_path_resolve(c->a, above->v[i].text, &root) >= 0 &&
			bawn_path_under(real, root))
			return true;
	return false;
}

/* Paths that a list of further paths may name because they are granted anyway. */
static bool granted_anyway(const struct bawn_context *c, const struct bawn_policy *p,
	const struct bawn_field *f, const char *path)
{
	bool below = bawn_path_under(path, p->workspace);

	switch (bawn_field_index(f)) {
	case BAWN_F_fs_read:
		return (below && p->fs_mode != BAWN_FS_DENY) || under_any(path, &p->fs_write) ||
		       system_within(c, path, &p->fs_system);
	case BAWN_F_fs_write:
		/* a workspace that is read-only must not become writable through its own file */
		return below && p->fs_mode < BAWN_FS_READ_ONLY;
	default:
		return false;
	}
}

static bool text_within(const struct bawn_field *f, const char *in, const char *out)
{
	switch (f->elem) {
	case BAWN_ELEM_PATH:
	case BAWN_ELEM_NAME:
		return bawn_path_under(in, out);
	case BAWN_ELEM_HOST:
		return bawn_host_within(in, out);
	case BAWN_ELEM_WORD:
	case BAWN_ELEM_GLOB:
		/* a * of `in` is only matched by a * of `out` */
		return bawn_glob_match(out, in);
	case BAWN_ELEM_PORT:
	case BAWN_ELEM_REGEX:
	case BAWN_ELEM_CONTROL:
	case BAWN_ELEM_SYSCALL:
	default:
		return !strcmp(in, out);
	}
}

/* The same secret, whatever the variable. */
static bool same_secret(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && !strncmp(a, b, n);
}

static bool item_within(const struct bawn_context *c, const struct bawn_policy *p,
	const struct bawn_field *f, const struct bawn_item *item)
{
	const struct bawn_items *above = bawn_member(p, f);

	if (bawn_field_index(f) == BAWN_F_fs_system)
		return system_within(c, item->text, above);
	for (size_t i = 0; i < above->n; i++)
		if (bawn_field_index(f) == BAWN_F_sec_use
				? same_secret(item->text, above->v[i].text)
				: text_within(f, item->text, above->v[i].text))
			return true;
	return granted_anyway(c, p, f, item->text);
}

static int add_items(
	const struct bawn_context *c, struct bawn_items *to, const struct bawn_items *from)
{
	size_t old = to->n;

	for (size_t i = 0; i < from->n; i++) {
		struct bawn_item *slot;
		bool twin = false;

		for (size_t j = 0; j < old && !twin; j++) {
			twin = !strcmp(to->v[j].text, from->v[i].text);
			if (twin && to->v[j].from.layer == BAWN_LAYER_DEFAULT)
				to->v[j].from = from->v[i].from; /* who says so stands behind it */
		}
		if (twin)
			continue;
		slot = bawn_grow(c->a, &to->v, &to->n, &to->cap);
		if (!slot)
			return bawn_oom(c);
		*slot = from->v[i];
	}
	return 0;
}

/* Names that a stronger layer protects are not for this one to release. */
static int check_unprotect(const struct bawn_context *c, const struct bawn_policy *p,
	const struct bawn_field *f, const struct bawn_items *new)
{
	for (size_t i = 0; i < new->n; i++)
		for (size_t k = 0; k < p->fs_protect.n; k++) {
			const struct bawn_item *kept = &p->fs_protect.v[k];

			if (kept->from.layer != BAWN_LAYER_DEFAULT && kept->from.layer < c->layer &&
				(bawn_path_under(new->v[i].text, kept->text) ||
					bawn_path_under(kept->text, new->v[i].text)))
				return bawn_widens(c, &new->v[i].from, f->key, new->v[i].raw,
					&kept->from, NULL);
		}
	return 0;
}

static int merge_list(const struct bawn_context *c, struct bawn_policy *p,
	const struct bawn_draft *d, const struct bawn_field *f)
{
	const struct bawn_mark *m = &d->mark[bawn_field_index(f)];
	struct bawn_origin *from = &p->origins[bawn_field_index(f)];
	const struct bawn_items *new = bawn_member(&d->v, f);
	struct bawn_items *to = bawn_member_mut(p, f);
	bool free_to_set = is_free(c, p, f);

	if (f->tighter == BAWN_TIGHTER_WITHIN && !free_to_set)
		for (size_t i = 0; i < new->n; i++)
			if (!item_within(c, p, f, &new->v[i]))
				return bawn_widens(
					c, &new->v[i].from, f->key, new->v[i].raw, from, NULL);
	if (bawn_field_index(f) == BAWN_F_fs_unprotect && check_unprotect(c, p, f, new) < 0)
		return -EPERM;
	if (free_to_set || to->n != new->n || f->tighter == BAWN_TIGHTER_UNION)
		*from = m->from;
	/* a file says what the list is, a flag adds to it */
	if (f->tighter == BAWN_TIGHTER_WITHIN && m->from_file) {
		*to = *new;
		return 0;
	}
	return add_items(c, to, new);
}

static bool same_pairs(const struct bawn_pairs *x, const struct bawn_pairs *y)
{
	size_t same = 0;

	for (size_t i = 0; i < x->n; i++)
		for (size_t j = 0; j < y->n; j++)
			same += !strcmp(x->v[i].key, y->v[j].key) &&
				!strcmp(x->v[i].value, y->v[j].value);
	return same == x->n && same == y->n;
}

static int merge_map(const struct bawn_context *c, struct bawn_policy *p,
	const struct bawn_draft *d, const struct bawn_field *f)
{
	const struct bawn_mark *m = &d->mark[bawn_field_index(f)];
	struct bawn_origin *from = &p->origins[bawn_field_index(f)];
	const struct bawn_pairs *new = bawn_member(&d->v, f);
	struct bawn_pairs *to = bawn_member_mut(p, f);

	if (is_free(c, p, f)) {
		*to = *new;
		*from = m->from;
		return 0;
	}
	if (same_pairs(new, to))
		return 0;
	return bawn_widens(c, &m->from, f->key, new->n ? new->v[0].key : "{}", from,
		to->n ? to->v[0].key : NULL);
}

static bool mount_stands(const struct bawn_policy *p, const struct bawn_mount_entry *m)
{
	for (size_t i = 0; p->mounts && i < p->n_mounts; i++)
		if (!strcmp(p->mounts[i].source, m->source) &&
			!strcmp(p->mounts[i].target, m->target) &&
			(m->read_only || !p->mounts[i].read_only))
			return true;
	return false;
}

static int merge_mounts(
	const struct bawn_context *c, struct bawn_policy *p, const struct bawn_draft *d)
{
	static const struct bawn_origin nothing = {.layer = BAWN_LAYER_DEFAULT};

	if (!d->v.mounts)
		return 0;
	for (size_t i = 0; i < d->v.n_mounts; i++)
		if ((p->mounts || c->layer == BAWN_LAYER_WORKSPACE) &&
			!mount_stands(p, &d->v.mounts[i]))
			return bawn_widens(c, &d->v.mounts[i].from, "enforcement.docker.mounts",
				d->v.mounts[i].source, p->n_mounts ? &p->mounts[0].from : &nothing,
				NULL);
	p->mounts = d->v.mounts;
	p->n_mounts = d->v.n_mounts;
	return 0;
}

int bawn_merge(const struct bawn_context *c, struct bawn_policy *p, const struct bawn_draft *d)
{
	for (size_t i = 0; i < BAWN_FIELD_COUNT; i++) {
		const struct bawn_field *f = &bawn_fields[i];
		int r;

		if (!d->mark[i].set)
			continue;
		if (f->kind == BAWN_KIND_LIST)
			r = merge_list(c, p, d, f);
		else if (f->kind == BAWN_KIND_MAP)
			r = merge_map(c, p, d, f);
		else
			r = merge_scalar(c, p, d, f);
		if (r < 0)
			return r;
	}
	if (d->v.name)
		p->name = d->v.name;
	int r = bawn_named_merge(c, p, d);
	return r < 0 ? r : merge_mounts(c, p, d);
}
