/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool reserve(struct bawn_buf *b, size_t more)
{
	size_t max = b->max ? b->max : BAWN_BUF_MAX;
	size_t cap = b->cap ? b->cap : 256;
	char *p;

	if (b->failed)
		return false;
	if (more > max || b->len > max - more) {
		b->failed = -E2BIG;
		return false;
	}
	if (b->cap > b->len + more)
		return true;
	while (cap <= b->len + more)
		cap *= 2;
	p = b->wipe ? malloc(cap) : realloc(b->data, cap);
	if (p && b->wipe && b->data) {
		memcpy(p, b->data, b->len + 1);
		explicit_bzero(b->data, b->cap);
		free(b->data);
	}
	if (!p) {
		b->failed = -ENOMEM;
		return false;
	}
	b->data = p;
	b->cap = cap;
	return true;
}

void bawn_buf_add(struct bawn_buf *b, const void *data, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void bawn_buf_puts(struct bawn_buf *b, const char *s)
{
	bawn_buf_add(b, s, strlen(s));
}

void bawn_buf_printf(struct bawn_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !reserve(b, (size_t)n))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

/* Length of the well-formed UTF-8 sequence at `s`, its code point in *cp; 0 if there is none. */
static size_t utf8_at(const unsigned char *s, size_t len, uint32_t *cp)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;

	if (!n || n > len || s[0] > 0xf4)
		return 0;
	*cp = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (s[i] & 0x3f);
	}
	if (*cp < least[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp <= 0xdfff))
		return 0;
	return n;
}

static void json_control(struct bawn_buf *b, uint32_t cp)
{
	switch (cp) {
	case '\n':
		bawn_buf_puts(b, "\\n");
		break;
	case '\r':
		bawn_buf_puts(b, "\\r");
		break;
	case '\t':
		bawn_buf_puts(b, "\\t");
		break;
	default:
		bawn_buf_printf(b, "\\u%04x", cp);
	}
}

size_t bawn_buf_json(struct bawn_buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t bad = 0;

	(void)reserve(b, len + 2);
	bawn_buf_add(b, "\"", 1);
	for (size_t i = 0; i < len;) {
		uint32_t cp = 0;
		size_t n = utf8_at(p + i, len - i, &cp);

		if (!n) {
			bawn_buf_puts(b, "\\ufffd");
			bad++;
			i++;
			continue;
		}
		if (cp == '"' || cp == '\\') {
			bawn_buf_add(b, "\\", 1);
			bawn_buf_add(b, p + i, n);
		} else if (cp < 0x20 || cp == 0x7f || cp == 0x2028 || cp == 0x2029) {
			json_control(b, cp);
		} else {
			bawn_buf_add(b, p + i, n);
		}
		i += n;
	}
	bawn_buf_add(b, "\"", 1);
	return bad;
}

/* Characters that a terminal acts on, or that change how the text around them is shown. */
static bool is_active(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || (cp >= 0x200b && cp <= 0x200f) ||
	       (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2060 && cp <= 0x206f) || cp == 0xfeff ||
	       (cp >= 0xe0000 && cp <= 0xe007f);
}

void bawn_buf_escape(struct bawn_buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	for (size_t i = 0; i < len;) {
		uint32_t cp = 0;
		size_t n = utf8_at(p + i, len - i, &cp);

		if (!n)
			bawn_buf_printf(b, "\\x%02x", p[i]);
		else if (cp == '\n')
			bawn_buf_puts(b, "\\n");
		else if (is_active(cp))
			bawn_buf_printf(b, cp < 0x80 ? "\\x%02x" : "\\u{%x}", cp);
		else
			bawn_buf_add(b, p + i, n);
		i += n ? n : 1;
	}
}

void bawn_buf_done(struct bawn_buf *b)
{
	if (b->wipe && b->data)
		explicit_bzero(b->data, b->cap);
	free(b->data);
	*b = (struct bawn_buf){0};
}

void bawn_buf_quote(struct bawn_buf *b, const char *s)
{
	bawn_buf_puts(b, "'");
	for (; *s; s++) {
		if (*s == '\'')
			bawn_buf_puts(b, "'\\''");
		else
			bawn_buf_add(b, s, 1);
	}
	bawn_buf_puts(b, "'");
}
