/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The three operations the vault is made of. AES-256-GCM is OpenSSL's, which is as safe without the
 * processor's help (libsodium's needs it); Argon2id and BLAKE2b are libsodium's. */

#include <stddef.h>
#include <stdint.h>

#define KEY_LEN   32
#define NONCE_LEN 12
#define TAG_LEN   16
#define SALT_LEN  16

struct crypt_span {
	const void *data;
	size_t len;
};

/* Once, before the sandbox goes up. */
int crypt_start(void);
/* `dst` gets plain.len bytes and the tag. 0 or -EIO. */
int crypt_seal(const uint8_t key[KEY_LEN], const uint8_t nonce[NONCE_LEN], struct crypt_span aad,
	struct crypt_span plain, uint8_t *dst);
/* `dst` gets sealed.len - TAG_LEN bytes; they are wiped when the tag is wrong (-EBADMSG). */
int crypt_open(const uint8_t key[KEY_LEN], const uint8_t nonce[NONCE_LEN], struct crypt_span aad,
	struct crypt_span sealed, uint8_t *dst);
/* A key from a passphrase. -ENOMEM where there is not so much memory. */
int crypt_stretch(uint8_t dst[KEY_LEN], struct crypt_span passphrase, const uint8_t salt[SALT_LEN],
	uint32_t passes, uint32_t kib);
/* A key from a key (or a key file) and what tells it from others made of the same. */
void crypt_derive(uint8_t dst[KEY_LEN], struct crypt_span key, struct crypt_span context);
void crypt_random(void *dst, size_t len);
