/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header values with placeholders: what goes in is the value and nothing else, and only for the
 * bound header; a buffer that is too small is never written beyond. The first byte is the room, the
 * second picks the header; the rest is its value, in which '\1' stands for the placeholder.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "egress/secret.h"

#define HOLDER "bawn-secret-token-0123456789abcdef"
#define VALUE  "S3CR3T value"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bawn_secrets *secrets(void)
{
	static const char *const hosts[] = {"api.example.org", NULL};
	static const struct bawn_egress_secret e = {"TOKEN", HOLDER, VALUE, hosts, NULL};
	static struct bawn_secrets *s;

	if (!s && bawn_secrets_new(&e, 1, &s, NULL) < 0)
		abort();
	return s;
}

static size_t expand(const uint8_t *p, size_t n, char *dst, size_t size)
{
	size_t out = 0;

	for (size_t i = 0; i < n && out + sizeof(HOLDER) < size; i++) {
		if (p[i] != 1) {
			dst[out++] = (char)p[i];
			continue;
		}
		memcpy(dst + out, HOLDER, sizeof(HOLDER) - 1);
		out += sizeof(HOLDER) - 1;
	}
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"Authorization", "Cookie", "authorization", "X"};
	static char value[65536];
	struct bawn_host host;
	struct bawn_secrets_where where = {&host, 443, true};
	struct bawn_slice name;
	uint32_t used = 0;
	size_t n, room;
	int64_t got;
	char *dst;

	if (size < 2 || size > 2048 || bawn_host_parse("api.example.org", 15, &host, NULL) < 0)
		return 0;
	name = (struct bawn_slice){names[data[1] % 4U], strlen(names[data[1] % 4U])};
	n = expand(data + 2, size - 2, value, sizeof(value));
	room = data[0] < 128 ? data[0] : sizeof(value);
	dst = malloc(room ? room : 1); /* of this very size: sanitizers see what goes beyond */
	if (!dst)
		abort();
	got = bawn_secrets_put(
		secrets(), &where, name, (struct bawn_slice){value, n}, dst, room, &used);
	if (got > (int64_t)room || (got < 0 && got != -ENOBUFS))
		abort();
	if (got >= 0 && !used && ((size_t)got != n || memcmp(dst, value, n) != 0))
		abort();
	if (data[1] % 2U &&
		(used || (got >= 0 && memmem(dst, (size_t)got, VALUE, sizeof(VALUE) - 1) &&
				 !memmem(value, n, VALUE, sizeof(VALUE) - 1))))
		abort();
	if (got >= 0 && !(data[1] % 2U) && memmem(dst, (size_t)got, HOLDER, sizeof(HOLDER) - 1))
		abort(); /* the value has no part of a placeholder, so none is left */
	free(dst);
	return 0;
}
