/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the policy says, as bytes: key, value, value, …, each ended by a NUL, so that no two
 * policies share a text. Lists and pairs keep no order that would change their meaning: sorted.
 */
#include "policy/digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/value.h"

static void put(struct bawn_buf *b, const char *text)
{
	bawn_buf_add(b, text, strlen(text) + 1);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static int put_items(struct bawn_buf *b, const struct bawn_items *l)
{
	_cleanup_free_ const char **v = calloc(l->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++)
		v[i] = l->v[i].text;
	if (l->n)
		qsort(v, l->n, sizeof(*v), by_text);
	for (size_t i = 0; i < l->n; i++)
		put(b, v[i]);
	return 0;
}

static int by_key(const void *x, const void *y)
{
	return strcmp(((const struct bawn_pair *)x)->key, ((const struct bawn_pair *)y)->key);
}

static int put_pairs(struct bawn_buf *b, const struct bawn_pairs *l)
{
	_cleanup_free_ struct bawn_pair *v = NULL;

	if (!l->n)
		return 0;
	v = calloc(l->n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	memcpy(v, l->v, l->n * sizeof(*v));
	qsort(v, l->n, sizeof(*v), by_key);
	for (size_t i = 0; i < l->n; i++) {
		put(b, v[i].key);
		put(b, v[i].value);
	}
	return 0;
}

static int put_field(struct bawn_buf *b, const struct bawn_policy *p, const struct bawn_field *f)
{
	char value[BAWN_VALUE_MAX];

	put(b, f->key);
	if (f->kind == BAWN_KIND_LIST)
		return put_items(b, bawn_member(p, f));
	if (f->kind == BAWN_KIND_MAP)
		return put_pairs(b, bawn_member(p, f));
	if (f->kind == BAWN_KIND_STR) {
		put(b, *(const char *const *)bawn_member(p, f));
		return 0;
	}
	bawn_value_format(f, p, value);
	put(b, value);
	return 0;
}

int bawn_policy_digest(struct bawn_policy *p)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	int r = 0;

	for (size_t i = 0; i < BAWN_FIELD_COUNT && r >= 0; i++)
		r = put_field(&b, p, &bawn_fields[i]);
	if (r >= 0)
		r = put_pairs(&b, &p->named);
	for (size_t i = 0; i < p->n_mounts; i++) {
		put(&b, p->mounts[i].source);
		put(&b, p->mounts[i].target);
		put(&b, p->mounts[i].read_only ? "ro" : "rw");
	}
	if (r < 0 || b.failed)
		return -ENOMEM;
	bawn_sha256_hex(b.data, b.len, p->digest);
	return 0;
}
