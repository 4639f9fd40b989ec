/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the parser library, which takes and gives back a small piece for nearly every token.
 * Pieces are cut from chunks and kept by size; all of it is gone at once when a file was read.
 * Sanitizers are to see every piece: there it is the C library's.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/code/code.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define WATCHED
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define WATCHED
#endif

#ifdef WATCHED
bool code_pool_begin(void)
{
	return false;
}

void code_pool_end(void)
{
}
#else
#define STEP    16u
#define SIZES   64u /* larger pieces are not kept */
#define CHUNK   ((size_t)256 << 10)
#define CHUNKS  4 /* that stay for the next file */
#define LARGEST (SIZE_MAX / 2)

/* Before each piece, and before what a chunk has room for. */
struct head {
	size_t size;
	struct head *next; /* of those that were given back, or of the chunks */
};
_Static_assert(sizeof(struct head) % STEP == 0, "pieces are aligned");

static struct {
	struct head *chunks; /* all of them; the first is the one at hand */
	struct head *spare;
	struct head *given[SIZES];
	char *at;
	size_t left;
	size_t n_spare;
} pool;

/* The library does not ask whether it got any. */
__attribute__((noreturn)) static void give_up(void)
{
	abort();
}

/* A chunk with room for `size` bytes behind its head. */
static struct head *new_chunk(size_t size)
{
	struct head *c = pool.spare;

	if (c && size <= CHUNK) {
		pool.spare = c->next;
		pool.n_spare--;
	} else {
		size = size > CHUNK ? size : CHUNK;
		c = size < LARGEST ? malloc(sizeof(*c) + size) : NULL;
		if (!c)
			give_up();
		c->size = size;
	}
	return c;
}

static void *cut(size_t size)
{
	struct head *h;

	if (pool.left < sizeof(*h) + size) {
		struct head *c = new_chunk(sizeof(*h) + size);

		c->next = pool.chunks;
		pool.chunks = c;
		pool.at = (char *)(c + 1);
		pool.left = c->size;
	}
	h = (struct head *)(void *)pool.at;
	pool.at += sizeof(*h) + size;
	pool.left -= sizeof(*h) + size;
	h->size = size;
	return h + 1;
}

static void *pool_malloc(size_t size)
{
	struct head *h;

	if (size > LARGEST)
		give_up();
	size = size ? (size + STEP - 1) / STEP * STEP : STEP;
	h = size / STEP < SIZES ? pool.given[size / STEP] : NULL;
	if (!h)
		return cut(size);
	pool.given[size / STEP] = h->next;
	return h + 1;
}

static void *pool_calloc(size_t n, size_t size)
{
	if (size && n > LARGEST / size)
		give_up();
	return memset(pool_malloc(n * size), 0, n * size);
}

static void pool_free(void *p)
{
	struct head *h = p;

	if (!h)
		return;
	h--;
	if (h->size / STEP >= SIZES)
		return;
	h->next = pool.given[h->size / STEP];
	pool.given[h->size / STEP] = h;
}

static void *pool_realloc(void *p, size_t size)
{
	const struct head *h = p;
	void *more;

	if (h && h[-1].size >= size)
		return p;
	more = pool_malloc(size);
	if (h)
		memcpy(more, p, h[-1].size);
	pool_free(p);
	return more;
}

bool code_pool_begin(void)
{
	ts_set_allocator(pool_malloc, pool_calloc, pool_realloc, pool_free);
	return true;
}

void code_pool_end(void)
{
	struct head *next;

	ts_set_allocator(NULL, NULL, NULL, NULL);
	memset(pool.given, 0, sizeof(pool.given));
	for (struct head *c = pool.chunks; c; c = next) {
		next = c->next;
		if (c->size != CHUNK || pool.n_spare == CHUNKS) {
			free(c);
			continue;
		}
		c->next = pool.spare;
		pool.spare = c;
		pool.n_spare++;
	}
	pool.chunks = NULL;
	pool.left = 0;
}
#endif
