/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of their own, so that what is asked of the kernel for them touches nothing else. What it
 * refuses (locking, above the limit) is done without: the rest still holds.
 */
#include "secrets/locked.h"

#include <stdint.h>
#include <string.h>

#include <sys/mman.h>

static size_t pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + 1 + page - 1) / page * page;
}

struct bawn_locked *bawn_locked_new(size_t size)
{
	struct bawn_locked *l;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	p = mmap(NULL, pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		free(l);
		return NULL;
	}
	(void)mlock(p, pages(size));
	(void)madvise(p, pages(size), MADV_DONTDUMP);
	(void)madvise(p, pages(size), MADV_WIPEONFORK);
	*l = (struct bawn_locked){.data = p, .size = size};
	return l;
}

struct bawn_locked *bawn_locked_free(struct bawn_locked *l)
{
	if (!l)
		return NULL;
	explicit_bzero(l->data, l->size + 1);
	(void)munmap(l->data, pages(l->size));
	free(l);
	return NULL;
}
