/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The names that a guest's kernel holds on to, as a tree: a number for each, how often it was told
 * that number, and the way back to a path. Numbers that were never given out are refused, whatever
 * the guest does.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BAWN_NODES_MAX (1u << 20)

struct bawn_nodes;

struct bawn_nodes *bawn_nodes_new(void); /* with the root, which is number 1 */
struct bawn_nodes *bawn_nodes_free(struct bawn_nodes *t);

/* The path of a node, relative to the root ("." for itself). -ESTALE, -ENAMETOOLONG. */
int bawn_nodes_path(const struct bawn_nodes *t, uint64_t id, char *dst, size_t size);
/* The same for a name below it, known or not. */
int bawn_nodes_child_path(
	const struct bawn_nodes *t, uint64_t id, const char *name, char *dst, size_t size);
/* Give out the number of a name once more. -ESTALE, -ENOMEM, -ENFILE. */
int bawn_nodes_enter(struct bawn_nodes *t, uint64_t parent, const char *name, uint64_t *ret_id,
	uint64_t *ret_generation);
/* Tells apart the names that had the same number one after the other. */
uint64_t bawn_nodes_generation(const struct bawn_nodes *t, uint64_t id);
/* It was forgotten as many times. Unknown numbers are ignored. */
void bawn_nodes_forget(struct bawn_nodes *t, uint64_t id, uint64_t times);
