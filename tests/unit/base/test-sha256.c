/* SPDX-License-Identifier: Apache-2.0 */
/* Whichever way it is computed on this processor: the standard's examples, and libsodium's opinion.
 */
#include <sodium/crypto_hash_sha256.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "harness.h"

TEST(examples_of_the_standard)
{
	char hex[BAWN_HEX_LEN + 1];

	bawn_sha256_hex("", 0, hex);
	ASSERT_STREQ(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	bawn_sha256_hex("abc", 3, hex);
	ASSERT_STREQ(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	bawn_sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
	ASSERT_STREQ(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* Every length around the ends of blocks, and at odd addresses. */
TEST(the_same_as_libsodium)
{
	unsigned char *text = malloc(5000);
	unsigned char ours[32], theirs[32];

	ASSERT_TRUE(text);
	for (size_t i = 0; i < 5000; i++)
		text[i] = (unsigned char)(i * 131 + (i >> 7));
	for (size_t len = 0; len < 4990; len += len < 300 ? 1 : 97) {
		bawn_sha256(text + len % 7, len, ours);
		(void)crypto_hash_sha256(theirs, text + len % 7, len);
		ASSERT_EQ(memcmp(ours, theirs, sizeof(ours)), 0);
	}
	free(text);
}
