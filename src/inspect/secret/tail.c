/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a stream may be cut. Nearly every secret is one word, so the unfinished word at the end is
 * what has to wait; only private keys span lines, and these announce themselves.
 */
#include <string.h>

#include "inspect/secret/secret.h"

#define WORD_MAX 4096

static bool word_char(char c)
{
	return (unsigned char)c > ' ' && !strchr("\"'`<>(){}[],;", c);
}

/* A private key block that has begun and not ended, or what may be the beginning of one. */
static size_t open_block(const char *text, size_t len)
{
	static const char begin[] = "-----BEGIN";
	size_t from = len > BAWN_SECRET_SPAN_MAX ? len - BAWN_SECRET_SPAN_MAX : 0;
	const char *last = NULL, *p = text + from;

	while ((p = memmem(p, (size_t)(text + len - p), begin, sizeof(begin) - 1)))
		last = p++;
	if (!last || memmem(last, (size_t)(text + len - last), "-----END", 8))
		return 0;
	/* a certificate or public key may go on its way */
	p = memchr(last, '\n', (size_t)(text + len - last));
	if (p && !memmem(last, (size_t)(p - last), "PRIVATE", 7))
		return 0;
	return (size_t)(text + len - last);
}

size_t bawn_secret_tail(const char *text, size_t len)
{
	size_t block = open_block(text, len), word = 0;

	while (word < len && word < WORD_MAX && word_char(text[len - 1 - word]))
		word++;
	return block > word ? block : word;
}
