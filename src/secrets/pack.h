/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values as bytes, for the vault's file and for what its two processes say to each other: numbers
 * in little endian, strings with their length before them, lists with their count. Private to this
 * folder. The first failure sticks.
 */

#include "secrets/secrets.h"

#define PACK_MAX 16384 /* bytes of one secret with its value */

struct pack { /* into memory of the caller's */
	char *at;
	size_t left;
	bool failed;
};

void pack_bytes(struct pack *p, const void *data, size_t len); /* without a length */
void pack_u32(struct pack *p, uint32_t v);
void pack_u64(struct pack *p, uint64_t v);
void pack_text(struct pack *p, const char *s, size_t len);
void pack_secret(struct pack *p, const struct bawn_secret *s);

struct unpack {
	const char *at;
	size_t left;
	bool failed;
};

uint32_t unpack_u32(struct unpack *u);
uint64_t unpack_u64(struct unpack *u);
/* The bytes stay where they are; "" when it failed. */
const char *unpack_text(struct unpack *u, size_t *ret_len);
/* A string of its own, without NUL bytes in it; NULL when it failed or memory is out. */
const char *unpack_string(struct unpack *u, struct bawn_arena *a);
/* Checked. -EBADMSG, -ENOMEM or what bawn_secret_check says. */
int unpack_secret(struct unpack *u, struct bawn_arena *a, struct bawn_secret *ret);
