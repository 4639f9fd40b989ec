/* SPDX-License-Identifier: Apache-2.0 */
/* See files_nodes.h. A table that grows, a hash over (parent, name), and a list of free slots. */
#include "backend/vm/files_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 65536u
#define ROOT    1u

struct node {
	char *name; /* NULL: free (or the root) */
	uint64_t lookups;
	uint64_t generation; /* so that a number that is used again is not taken for the old one */
	uint32_t parent, children;
	uint32_t next; /* in its bucket, or of the free slots; 0: none */
};

struct bawn_nodes {
	struct node *v;
	uint32_t n, cap, free;
	uint64_t generation;
	uint32_t buckets[BUCKETS];
};

struct bawn_nodes *bawn_nodes_new(void)
{
	struct bawn_nodes *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->cap = 256;
	t->v = calloc(t->cap, sizeof(*t->v));
	if (!t->v)
		return bawn_nodes_free(t);
	t->n = ROOT + 1;
	return t;
}

struct bawn_nodes *bawn_nodes_free(struct bawn_nodes *t)
{
	if (!t)
		return NULL;
	for (uint32_t i = 0; t->v && i < t->n; i++)
		free(t->v[i].name);
	free(t->v);
	free(t);
	return NULL;
}

static bool is_known(const struct bawn_nodes *t, uint64_t id)
{
	return id == ROOT || (id > ROOT && id < t->n && t->v[id].name);
}

static uint32_t *bucket_of(struct bawn_nodes *t, uint32_t parent, const char *name)
{
	uint32_t h = 2166136261u ^ parent;

	for (const char *p = name; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	return &t->buckets[(h ^ h >> 16) % BUCKETS];
}

/* Put `name` and a slash before what stands at *at. */
static int prepend(char *dst, size_t *at, const char *name)
{
	size_t len = strlen(name);

	if (*at < len + 1)
		return -ENAMETOOLONG;
	*at -= len + 1;
	dst[*at] = '/';
	memcpy(dst + *at + 1, name,
		len); /* NOLINT(bugprone-not-null-terminated-result): not its end */
	return 0;
}

int bawn_nodes_child_path(
	const struct bawn_nodes *t, uint64_t id, const char *name, char *dst, size_t size)
{
	size_t at = size - 1;
	int r = 0;

	if (!is_known(t, id))
		return -ESTALE;
	dst[at] = '\0';
	if (name)
		r = prepend(dst, &at, name);
	for (; r >= 0 && id != ROOT; id = t->v[id].parent)
		r = prepend(dst, &at, t->v[id].name);
	if (r < 0)
		return r;
	if (at == size - 1) {
		memcpy(dst, ".", sizeof("."));
		return 0;
	}
	memmove(dst, dst + at + 1, size - at - 1);
	return 0;
}

int bawn_nodes_path(const struct bawn_nodes *t, uint64_t id, char *dst, size_t size)
{
	return bawn_nodes_child_path(t, id, NULL, dst, size);
}

uint64_t bawn_nodes_generation(const struct bawn_nodes *t, uint64_t id)
{
	return is_known(t, id) ? t->v[id].generation : UINT64_MAX;
}

static int take_slot(struct bawn_nodes *t, uint32_t *ret)
{
	if (t->free) {
		*ret = t->free;
		t->free = t->v[t->free].next;
		return 0;
	}
	if (t->n >= BAWN_NODES_MAX)
		return -ENFILE;
	if (t->n == t->cap) {
		struct node *v = reallocarray(t->v, (size_t)t->cap * 2, sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->v = v;
		t->cap *= 2u;
	}
	*ret = t->n++;
	t->v[*ret] = (struct node){0};
	return 0;
}

int bawn_nodes_enter(struct bawn_nodes *t, uint64_t parent, const char *name, uint64_t *ret_id,
	uint64_t *ret_generation)
{
	uint32_t *bucket = bucket_of(t, (uint32_t)parent, name);
	char *copy;
	uint32_t i;
	int r;

	if (!is_known(t, parent))
		return -ESTALE;
	for (i = *bucket; i; i = t->v[i].next)
		if (t->v[i].parent == parent && !strcmp(t->v[i].name, name))
			break;
	if (!i) {
		copy = strdup(name);
		r = copy ? take_slot(t, &i) : -ENOMEM;
		if (r < 0) {
			free(copy);
			return r;
		}
		t->v[i] = (struct node){.name = copy,
			.parent = (uint32_t)parent,
			.generation = ++t->generation,
			.next = *bucket};
		*bucket = i;
		t->v[parent].children++;
	}
	t->v[i].lookups++;
	*ret_id = i;
	*ret_generation = t->v[i].generation;
	return 0;
}

static void drop(struct bawn_nodes *t, uint32_t i)
{
	uint32_t *at = bucket_of(t, t->v[i].parent, t->v[i].name);

	while (*at != i)
		at = &t->v[*at].next;
	*at = t->v[i].next;
	t->v[t->v[i].parent].children--;
	free(t->v[i].name);
	t->v[i] = (struct node){.next = t->free};
	t->free = i;
}

void bawn_nodes_forget(struct bawn_nodes *t, uint64_t id, uint64_t times)
{
	uint32_t i = (uint32_t)id;

	if (id == ROOT || !is_known(t, id))
		return;
	t->v[i].lookups -= times < t->v[i].lookups ? times : t->v[i].lookups;
	/* those above it may have waited for this one only */
	while (i != ROOT && !t->v[i].lookups && !t->v[i].children) {
		uint32_t parent = t->v[i].parent;

		drop(t, i);
		i = parent;
	}
}
