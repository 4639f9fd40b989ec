/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The vault's file and those beside it, on bawn's side. Private to this folder. */

#include "base/buf.h"
#include "secrets/talk.h"

#define STORE_MAX     TALK_BLOB_MAX
#define STORE_LOCK_MS 10000

/* file.c */
struct store {
	struct bawn_arena *a;
	struct bawn_vault_paths at;
	int dir;  /* descriptor */
	int lock; /* held for a change; -1: not */
};

/* Check the directory; with `make`, make it if it is not there. -ENOENT without one. */
int store_open(struct store *s, bool make, struct bawn_error *err);
void store_done(struct store *s);
/* Wait for other writers. */
int store_lock(struct store *s, struct bawn_error *err);
/* -ENOENT: there is no vault. */
int store_read(const struct store *s, struct bawn_buf *ret, struct bawn_error *err);
/* Old or new, whatever happens meanwhile; on disk when it returns. Needs the lock. */
int store_write(const struct store *s, const void *data, size_t len, struct bawn_error *err);

/* tries.c: after three wrong passphrases nothing is tried for half a minute. */
#define TRIES_MAX  3
#define TRIES_WAIT 30 /* seconds */
/* Returns a descriptor that keeps others from trying meanwhile; -EBUSY while locked. */
int tries_begin(const struct store *s, struct bawn_error *err);
/* The outcome; closes the descriptor. */
void tries_end(int fd, bool right);

/* key.c: each fills `frame` with kind and text, as in talk.h */
/* From the file that is named; `make` it if it is not there. */
int key_from_file(const char *path, bool make, struct pack *p, struct bawn_error *err);
/* From a descriptor or a person. `repeat`: for a new vault, asked for twice. */
int key_from_phrase(const struct bawn_vault_key *key, const char *prompt, bool repeat,
	struct pack *p, struct bawn_error *err);
