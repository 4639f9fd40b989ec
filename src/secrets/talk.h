/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What bawn and bawn-vault say to each other, one question and one answer at a time, over a stream
 * socket (descriptor 3 of bawn-vault). A message is two numbers, the bytes of its frame and the
 * bytes of its blob. The frame holds what must not be seen and lives in locked memory; the blob
 * what may be: the sealed file, the list without values. Private to this folder.
 *
 *   question: u32 what, then      answer: u32 0, then               blob
 *   CREATE    key                                                   answer: file
 *   OPEN      key                                                   question: file
 *   HELD      -                   (the key is in the keyring)       question: file
 *   LIST      -                   u32 count                         answer: secrets
 *   GET       name                value
 *   PUT       secret, u32 keep, value
 *   REMOVE    name
 *   RENAME    name, name
 *   REKEY     key
 *   SEAL      -                   u64 generation                    answer: file
 *   HOLD      u32 seconds
 *   DROP      -                   u32 was there                     question: file
 *   key: u32 kind (1 passphrase, 2 key file), text
 *   a failure: u32 errno, text for people
 *
 * The first question is CREATE, OPEN, HELD or DROP; an OPEN that was refused may be asked again.
 * Whatever is not as it should be ends the vault.
 */

#include "secrets/pack.h"

#define TALK_FD        3
#define TALK_FRAME_MAX 32768
#define TALK_BLOB_MAX  (BAWN_SECRETS_MAX * (PACK_MAX + 64) + 4096)

enum talk_what {
	TALK_CREATE = 1,
	TALK_OPEN,
	TALK_HELD,
	TALK_LIST,
	TALK_GET,
	TALK_PUT,
	TALK_REMOVE,
	TALK_RENAME,
	TALK_REKEY,
	TALK_SEAL,
	TALK_HOLD,
	TALK_DROP,
};

enum talk_key {
	TALK_KEY_PASSPHRASE = 1,
	TALK_KEY_FILE,
};

struct talk {
	int fd;
	struct bawn_locked *frame; /* frame->len bytes are the message's */
	char *blob;                /* or NULL */
	size_t blob_len;
};

int talk_init(struct talk *t, int fd); /* takes the descriptor in any case */
void talk_done(struct talk *t);
/* Free `blob`. */
void talk_drop(struct talk *t);
/* Write `frame` and `blob`, which is freed. Waits at most `ms` (-1: for ever) for the other side.
 */
int talk_send(struct talk *t, int ms);
/* Fill them in. -EPIPE: the other side is gone; -EPROTO: it sent nonsense. */
int talk_receive(struct talk *t, int ms);
/* Begin a message, without the blob of the one before: `p` writes into the frame; talk_packed()
 * ends it, -E2BIG if it was too much. */
struct pack talk_pack(struct talk *t);
int talk_packed(struct talk *t, const struct pack *p);
struct unpack talk_unpack(const struct talk *t);
