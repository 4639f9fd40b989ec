/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a hyperscan database as one of its own; a part of compile-rules. */
#include <hs.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compile-rules.h"

#define HEAD_LEN       4096u
#define AT_LENGTH      8u
#define AT_SUM         24u
#define AT_BYTECODE    36u
#define CRC32C_REVERSE 0x82f63b78u

static uint32_t crc32c(const char *p, size_t n)
{
	uint32_t crc = 0;

	for (size_t i = 0; i < n; i++) {
		crc ^= (unsigned char)p[i];
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? CRC32C_REVERSE : 0);
	}
	return crc;
}

static uint32_t word_at(const char *p, size_t at_byte)
{
	uint32_t v;

	memcpy(&v, p + at_byte, sizeof(v));
	return v;
}

static size_t scratch_size(const char *db)
{
	hs_scratch_t *s = NULL;
	size_t n = 0;

	if (hs_alloc_scratch((const hs_database_t *)(const void *)db, &s) == HS_SUCCESS &&
		hs_scratch_size(s, &n) != HS_SUCCESS)
		n = 0;
	(void)hs_free_scratch(s);
	return n;
}

size_t rules_head(const char *db, size_t size, char **ret)
{
	size_t start = size > AT_BYTECODE + 4 ? word_at(db, AT_BYTECODE) : size;
	size_t len = start < size ? word_at(db, AT_LENGTH) : 0;
	uint32_t head = HEAD_LEN;
	uint32_t sum;

	*ret = NULL;
	if (len <= HEAD_LEN || len > size - start || crc32c(db + start, len) != word_at(db, AT_SUM))
		return 0;
	*ret = aligned_alloc(64, (start + HEAD_LEN + 63) / 64 * 64);
	if (!*ret)
		exit(1);
	memcpy(*ret, db, start + HEAD_LEN);
	sum = crc32c(*ret + start, HEAD_LEN);
	memcpy(*ret + AT_LENGTH, &head, sizeof(head));
	memcpy(*ret + AT_SUM, &sum, sizeof(sum));
	return scratch_size(*ret) && scratch_size(*ret) == scratch_size(db) ? start + HEAD_LEN : 0;
}
