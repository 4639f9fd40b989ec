/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of directories as arrays. Names are kept once, paths are put together on demand: a tree
 * that is thousands of levels deep would cost gigabytes if each directory held its path.
 */
#include "plan/scan_tree.h"

#include <errno.h>

void scan_tree_done(struct scan_tree *t)
{
	if (t->memory) {
		free(t->memory);
	} else {
		free(t->nodes);
		free(t->hits);
		free(t->names);
	}
	*t = (struct scan_tree){0};
}

/* Room for `more` elements behind `n`. */
static int reserve(void **base, size_t n, size_t more, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap : 256;
	void *p;

	if (n + more <= *cap)
		return 0;
	while (want < n + more)
		want *= 2;
	p = reallocarray(*base, want, size);
	if (!p)
		return -ENOMEM;
	*base = p;
	*cap = want;
	return 0;
}

int scan_tree_add_name(struct scan_tree *t, const char *s, size_t len, uint32_t *ret)
{
	int r;

	if (len > SCAN_NAMES_MAX - t->n_names)
		return -E2BIG;
	r = reserve((void **)&t->names, t->n_names, len, &t->cap_names, 1);
	if (r < 0)
		return r;
	*ret = (uint32_t)t->n_names;
	if (len)
		memcpy(t->names + t->n_names, s, len);
	t->n_names += len;
	return 0;
}

int scan_tree_add_node(struct scan_tree *t, uint32_t parent, const char *name, size_t len)
{
	struct scan_node node = {.parent = parent, .old = SCAN_NONE};
	int r;

	if (t->n_nodes >= SCAN_DIRS_MAX || len > UINT16_MAX)
		return -E2BIG;
	if (parent != SCAN_NONE) {
		if (t->nodes[parent].depth >= SCAN_DEPTH_MAX)
			return -ELOOP;
		node.depth = (uint16_t)(t->nodes[parent].depth + 1);
	}
	node.name_len = (uint16_t)len;
	r = scan_tree_add_name(t, name, len, &node.name);
	if (r < 0)
		return r;
	r = reserve((void **)&t->nodes, t->n_nodes, 1, &t->cap_nodes, sizeof(node));
	if (r < 0)
		return r;
	t->nodes[t->n_nodes++] = node;
	return 0;
}

int scan_tree_add_hit(struct scan_tree *t, const char *name, size_t len)
{
	struct scan_hit hit = {.len = (uint32_t)len};
	int r;

	if (t->n_hits >= SCAN_HITS_MAX)
		return -E2BIG;
	r = scan_tree_add_name(t, name, len, &hit.name);
	if (r < 0)
		return r;
	r = reserve((void **)&t->hits, t->n_hits, 1, &t->cap_hits, sizeof(hit));
	if (r < 0)
		return r;
	t->hits[t->n_hits++] = hit;
	return 0;
}

void scan_path_done(struct scan_path *p)
{
	free(p->s);
	*p = (struct scan_path){0};
}

int scan_path_set(struct scan_path *p, const char *root, const struct scan_tree *t, uint32_t i)
{
	size_t root_len = strcmp(root, "/") != 0 ? strlen(root) : 0;
	size_t len = root_len;
	int r;

	for (uint32_t k = i; k != SCAN_NONE; k = t->nodes[k].parent)
		len += t->nodes[k].name_len ? t->nodes[k].name_len + 1u : 0;
	r = reserve((void **)&p->s, 0, len + 2, &p->cap, 1);
	if (r < 0)
		return r;
	p->len = len;
	p->rel = root_len + 1;
	p->s[len] = '\0';
	for (uint32_t k = i; k != SCAN_NONE; k = t->nodes[k].parent) {
		const struct scan_node *n = &t->nodes[k];

		if (!n->name_len)
			continue;
		len -= n->name_len;
		memcpy(p->s + len, t->names + n->name, n->name_len);
		p->s[--len] = '/';
	}
	memcpy(p->s, root, root_len);
	return 0;
}

int scan_path_add(struct scan_path *p, const char *name, size_t len)
{
	int r = reserve((void **)&p->s, p->len, len + 3, &p->cap, 1);

	if (r < 0)
		return r;
	p->s[p->len++] = '/';
	memcpy(p->s + p->len, name, len);
	p->len += len;
	p->s[p->len] = '\0';
	return 0;
}
