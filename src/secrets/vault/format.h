/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The vault's file, version 1. Numbers are little endian.
 *
 *     0    8  "bawn-vlt"
 *     8    4  version: 1
 *    12    4  what wraps the data key: 1 passphrase, 2 key file
 *    16    4  Argon2id: passes               (0 for a key file)
 *    20    4  Argon2id: memory in KiB        (0 for a key file)
 *    24   16  salt
 *    40   16  id of this data key: its name in the keyring
 *    56   12  nonce of the wrapping
 *    68   48  data key, sealed; bytes 0 to 67 are bound to it
 *   116    8  generation: how often the file was written
 *   124    4  number of secrets
 *   128   32  salt of this writing
 *   160   16  seal over nothing; bytes 0 to 159 are bound to it
 *   176       the secrets: u32 length, then that many sealed bytes; bytes 0 to 175 are bound to
 * each
 *
 * The secrets are sealed under a key made of the data key and the salt of this writing, with their
 * index as nonce, and hold name, bindings and value. So a secret fits only its place in this very
 * writing: none can be exchanged, taken from an older file, left out or added. Only the file as a
 * whole can be put back; the generation tells.
 */

#include "secrets/pack.h"
#include "secrets/vault/crypt.h"

#define FORMAT_MAGIC    "bawn-vlt"
#define FORMAT_VERSION  1
#define FORMAT_BOUND    68 /* of the head, to the data key */
#define FORMAT_WRAPPED  68
#define FORMAT_WRITING  116
#define FORMAT_SEAL     160
#define FORMAT_HEAD     176
#define FORMAT_ID       40
#define FORMAT_ID_LEN   16
#define FORMAT_SALT_LEN 32 /* of a writing */

#define FORMAT_PASSES      3
#define FORMAT_PASSES_MAX  16
#define FORMAT_KIB         65536
#define FORMAT_KIB_MIN     8
#define FORMAT_KIB_MAX     1048576
#define FORMAT_KIND_PHRASE 1
#define FORMAT_KIND_FILE   2

struct format_key { /* what wraps the data key */
	uint32_t kind;
	const void *data;
	size_t len;
};

struct format_entry {
	struct bawn_secret about;  /* in the arena */
	struct bawn_locked *value; /* `len` bytes */
};

/* A vault in memory. */
struct format {
	struct bawn_arena *a;
	uint8_t head[FORMAT_HEAD]; /* as read or last written */
	struct bawn_locked *key;   /* the data key; NULL: not open */
	uint64_t generation;
	struct format_entry *v;
	size_t n;
};

/* What a passphrase costs, for tests that need many. */
struct format_cost {
	uint32_t passes, kib;
	uint32_t wrong_ms; /* when a wrong one is answered */
};

int format_init(struct format *f);
void format_done(struct format *f);
/* An empty one with a new data key. */
int format_new(struct format *f, const struct format_key *key, const struct format_cost *cost);
/* Is this a vault at all? Fills in `head`. -EBADMSG, -EPROTONOSUPPORT for a later version. */
int format_look(struct format *f, const void *file, size_t len);
/* After format_look: the data key by what wraps it. -EKEYREJECTED if it does not; -EINVAL if it is
 * of the other kind. */
int format_unwrap(struct format *f, const struct format_key *key);
/* After format_look: the data key itself. */
int format_take_key(struct format *f, const uint8_t key[KEY_LEN]);
/* With the data key: everything. -EKEYREJECTED: not this vault's key; -EBADMSG: damaged. */
int format_read(struct format *f, const void *file, size_t len);
/* A new data key, wrapped anew. */
int format_rekey(struct format *f, const struct format_key *key, const struct format_cost *cost);
/* The file, malloced; one generation later. */
int format_write(struct format *f, char **ret, size_t *ret_len);

/* NULL if there is none. */
struct format_entry *format_find(struct format *f, const char *name);
/* Add or replace; takes the value. `value` NULL keeps what is there. */
int format_put(struct format *f, const struct bawn_secret *s, struct bawn_locked *value);
int format_remove(struct format *f, const char *name);
