/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A growing byte buffer with a maximum. The first failure sticks: append as you like, look at
 * `failed` once at the end. The content is always NUL-terminated behind `len` when data is set.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct bawn_buf {
	char *data;
	size_t len;
	size_t cap;
	size_t max; /* 0 means BAWN_BUF_MAX */
	int failed; /* 0, -ENOMEM or -E2BIG */
	bool wipe; /* what it held is not left behind, neither when it grows nor when it is freed */
};

#define BAWN_BUF_MAX ((size_t)64 << 20)

void bawn_buf_add(struct bawn_buf *b, const void *data, size_t len);
void bawn_buf_puts(struct bawn_buf *b, const char *s);
void bawn_buf_printf(struct bawn_buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* `s` as a JSON string with quotes; bytes that are not UTF-8 become U+FFFD. Returns how many did.
 */
size_t bawn_buf_json(struct bawn_buf *b, const char *s, size_t len);
/* `s` for a terminal or a log: control characters, bidi and invalid bytes as \xNN or \u{NNNN}. */
void bawn_buf_escape(struct bawn_buf *b, const char *s, size_t len);
/* `s` in single quotes, as one word for a shell. */
void bawn_buf_quote(struct bawn_buf *b, const char *s);
void bawn_buf_done(struct bawn_buf *b);

#define _cleanup_buf_ _cleanup_(bawn_buf_done)
