/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks linked in a list; a request larger than a chunk gets a chunk of its own. */
#include "base/arena.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_SIZE 16384u

struct chunk {
	struct chunk *next;
	size_t used;
	size_t size;
	alignas(max_align_t) unsigned char data[];
};

struct bawn_arena {
	struct chunk *head;
};

struct bawn_arena *bawn_arena_new(void)
{
	return calloc(1, sizeof(struct bawn_arena));
}

struct bawn_arena *bawn_arena_free(struct bawn_arena *a)
{
	if (!a)
		return NULL;
	for (struct chunk *c = a->head, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(a);
	return NULL;
}

static struct chunk *chunk_new(struct bawn_arena *a, size_t least, bool zeroed)
{
	size_t size = least > CHUNK_SIZE ? least : CHUNK_SIZE;
	struct chunk *c;

	if (size > SIZE_MAX - sizeof(*c))
		return NULL;
	c = least > CHUNK_SIZE && zeroed ? calloc(1, sizeof(*c) + size) : malloc(sizeof(*c) + size);
	if (!c)
		return NULL;
	c->used = 0;
	c->size = size;
	/* A big chunk goes behind the head, so that the room left in the head is still used. */
	if (a->head && least > CHUNK_SIZE) {
		c->next = a->head->next;
		a->head->next = c;
	} else {
		c->next = a->head;
		a->head = c;
	}
	return c;
}

static void *take(struct bawn_arena *a, size_t size, bool zeroed)
{
	const size_t align = alignof(max_align_t);
	struct chunk *c = a->head;

	if (size > SIZE_MAX - align)
		return NULL;
	size = (size + align - 1) & ~(align - 1);
	if (!c || c->size - c->used < size)
		c = chunk_new(a, size, zeroed);
	if (!c)
		return NULL;
	void *p = c->data + c->used;
	c->used += size;
	/* zeroed as it is used, so that pages that are never used are never touched */
	return c->size > CHUNK_SIZE || !zeroed ? p : memset(p, 0, size);
}

void *bawn_arena_alloc(struct bawn_arena *a, size_t size)
{
	return take(a, size, true);
}

void *bawn_arena_raw(struct bawn_arena *a, size_t size)
{
	return take(a, size, false);
}

char *bawn_arena_strndup(struct bawn_arena *a, const char *s, size_t n)
{
	char *p = bawn_arena_alloc(a, n + 1);

	if (!p)
		return NULL;
	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *bawn_arena_strdup(struct bawn_arena *a, const char *s)
{
	return bawn_arena_strndup(a, s, strlen(s));
}

char *bawn_arena_printf(struct bawn_arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	p = bawn_arena_alloc(a, (size_t)n + 1);
	if (!p)
		return NULL;
	va_start(ap, fmt);
	(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void *bawn_arena_grow(struct bawn_arena *a, void **base, size_t *n, size_t *cap, size_t size)
{
	if (*n == *cap) {
		size_t more = *cap ? *cap * 2 : 8;
		void *p = bawn_arena_alloc(a, more * size);

		if (!p)
			return NULL;
		if (*n)
			memcpy(p, *base, *n * size);
		*base = p;
		*cap = more;
	}
	return (char *)*base + (*n)++ * size;
}

int bawn_strlist_add(struct bawn_arena *a, struct bawn_strlist *l, const char *s)
{
	if (l->n + 1 >= l->cap) {
		size_t more = l->cap ? l->cap * 2 : 8;
		const char **v = bawn_new(a, const char *, more);

		if (!v)
			return -ENOMEM;
		if (l->n)
			memcpy(v, l->v, l->n * sizeof(*v));
		l->v = v;
		l->cap = more;
	}
	l->v[l->n++] = s;
	l->v[l->n] = NULL;
	return 0;
}
