/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"

#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>

void bawn_sha256(const void *data, size_t len, unsigned char ret[BAWN_HEX_LEN / 2])
{
	(void)crypto_hash_sha256(ret, data, len);
}

void bawn_sha256_hex(const void *data, size_t len, char ret[BAWN_HEX_LEN + 1])
{
	unsigned char sum[crypto_hash_sha256_BYTES];

	(void)crypto_hash_sha256(sum, data, len);
	(void)sodium_bin2hex(ret, BAWN_HEX_LEN + 1, sum, sizeof(sum));
}
