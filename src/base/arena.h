/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One arena per call: everything that lives as long as the call (policy, plan, argv, paths) is
 * taken from it and freed at once. Memory is zeroed. Every function returns NULL when memory is
 * out.
 */

#include <stdarg.h>
#include <stddef.h>

#include "base/cleanup.h"

struct bawn_arena;

struct bawn_arena *bawn_arena_new(void);
struct bawn_arena *bawn_arena_free(struct bawn_arena *a); /* NULL is fine; returns NULL */

void *bawn_arena_alloc(struct bawn_arena *a, size_t size);
/* The same for what is large and written before it is read: not zeroed. */
void *bawn_arena_raw(struct bawn_arena *a, size_t size);
char *bawn_arena_strdup(struct bawn_arena *a, const char *s);
char *bawn_arena_strndup(struct bawn_arena *a, const char *s, size_t n);
char *bawn_arena_printf(struct bawn_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define bawn_new(a, type, n) ((type *)bawn_arena_alloc((a), sizeof(type) * (n)))

BAWN_DEFINE_CLEANUP(struct bawn_arena, arena, bawn_arena_free)
#define _cleanup_arena_ _cleanup_(cleanup_arena_p)

/* A list of strings that grows in an arena. `v` is NULL-terminated once something was added. */
struct bawn_strlist {
	const char **v;
	size_t n;
	size_t cap;
};

/* 0 or -ENOMEM. The string itself is not copied. */
int bawn_strlist_add(struct bawn_arena *a, struct bawn_strlist *l, const char *s);

/*
 * Make room for one more element in an arena-backed array: returns the new element (zeroed) and
 * bumps *n, or NULL. `base` is the address of the array pointer.
 */
#define bawn_grow(a, base, n, cap) \
	((__typeof__(*(base)))bawn_arena_grow((a), (void **)(base), (n), (cap), sizeof(**(base))))
void *bawn_arena_grow(struct bawn_arena *a, void **base, size_t *n, size_t *cap, size_t size);
