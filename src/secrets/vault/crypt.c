/* SPDX-License-Identifier: Apache-2.0 */
#include "secrets/vault/crypt.h"

#include <errno.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sodium.h>

static EVP_CIPHER *cipher;

int crypt_start(void)
{
	/* no configuration of the host's: it could bring in other code */
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) != 1)
		return -EIO;
	cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
	return cipher && sodium_init() >= 0 ? 0 : -EIO;
}

int crypt_seal(const uint8_t key[KEY_LEN], const uint8_t nonce[NONCE_LEN], struct crypt_span aad,
	struct crypt_span plain, uint8_t *dst)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n = 0;
	int ok = c && aad.len <= INT_MAX && plain.len <= INT_MAX &&
		 EVP_EncryptInit_ex2(c, cipher, key, nonce, NULL) == 1 &&
		 EVP_EncryptUpdate(c, NULL, &n, aad.data, (int)aad.len) == 1 &&
		 (!plain.len || EVP_EncryptUpdate(c, dst, &n, plain.data, (int)plain.len) == 1) &&
		 EVP_EncryptFinal_ex(c, dst + plain.len, &n) == 1 &&
		 EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG_LEN, dst + plain.len) == 1;

	EVP_CIPHER_CTX_free(c);
	return ok ? 0 : -EIO;
}

int crypt_open(const uint8_t key[KEY_LEN], const uint8_t nonce[NONCE_LEN], struct crypt_span aad,
	struct crypt_span sealed, uint8_t *dst)
{
	const uint8_t *from = sealed.data;
	size_t len = sealed.len - TAG_LEN;
	uint8_t tag[TAG_LEN];
	uint8_t none[TAG_LEN];
	EVP_CIPHER_CTX *c;
	int n = 0;
	int ok;

	if (sealed.len < TAG_LEN || sealed.len > INT_MAX || aad.len > INT_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < TAG_LEN; i++)
		tag[i] = from[len + i];
	c = EVP_CIPHER_CTX_new();
	ok = c && EVP_DecryptInit_ex2(c, cipher, key, nonce, NULL) == 1 &&
	     EVP_DecryptUpdate(c, NULL, &n, aad.data, (int)aad.len) == 1 &&
	     (!len || EVP_DecryptUpdate(c, dst, &n, from, (int)len) == 1) &&
	     EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG_LEN, tag) == 1 &&
	     EVP_DecryptFinal_ex(c, none, &n) == 1;
	EVP_CIPHER_CTX_free(c);
	if (!ok)
		sodium_memzero(dst, len);
	return ok ? 0 : -EBADMSG;
}

int crypt_stretch(uint8_t dst[KEY_LEN], struct crypt_span passphrase, const uint8_t salt[SALT_LEN],
	uint32_t passes, uint32_t kib)
{
	return crypto_pwhash(dst, KEY_LEN, passphrase.data, passphrase.len, salt, passes,
		       (size_t)kib * 1024, crypto_pwhash_ALG_ARGON2ID13) == 0
		       ? 0
		       : -ENOMEM;
}

void crypt_derive(uint8_t dst[KEY_LEN], struct crypt_span key, struct crypt_span context)
{
	uint8_t short_key[KEY_LEN];

	/* key files may be longer than what BLAKE2b takes as a key */
	(void)crypto_generichash(short_key, sizeof(short_key), key.data, key.len, NULL, 0);
	(void)crypto_generichash(
		dst, KEY_LEN, context.data, context.len, short_key, sizeof(short_key));
	sodium_memzero(short_key, sizeof(short_key));
}

void crypt_random(void *dst, size_t len)
{
	randombytes_buf(dst, len);
}
