/* SPDX-License-Identifier: Apache-2.0 */
/* See console.h. What comes from a guest's kernel is as hostile as the guest. */
#include "backend/vm/console.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/socket.h>

#include "base/buf.h"

bool bawn_console_read(struct bawn_console *c)
{
	for (;;) {
		char chunk[4096];
		ssize_t n = recv(c->fd, chunk, sizeof(chunk), MSG_DONTWAIT);
		size_t drop;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		drop = c->len + (size_t)n > sizeof(c->text) ? c->len + (size_t)n - sizeof(c->text)
							    : 0;
		memmove(c->text, c->text + drop, c->len - drop);
		c->len -= drop;
		memcpy(c->text + c->len, chunk, (size_t)n);
		c->len += (size_t)n;
	}
}

bool bawn_console_has(const struct bawn_console *c, const char *text)
{
	return memmem(c->text, c->len, text, strlen(text)) != NULL;
}

/* "[    0.123456] " before a line of the kernel's says nothing to people. */
static const char *skip_time(const char *line, const char *end)
{
	const char *close =
		line < end && *line == '[' ? memchr(line, ']', (size_t)(end - line)) : NULL;

	return close && close + 1 < end && close[1] == ' ' ? close + 2 : line;
}

/* The frame of a panic, or the reboot that follows it, is no message. */
static bool is_noise(const char *line, const char *end)
{
	return memmem(line, (size_t)(end - line), "---[ end", 8) ||
	       (end - line > 8 && !memcmp(line, "reboot: ", 8));
}

void bawn_console_last(const struct bawn_console *c, char *dst, size_t size)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const char *end = c->text + c->len;
	const char *line, *from;

	do {
		while (end > c->text && (unsigned char)end[-1] <= ' ')
			end--;
		from = end;
		while (from > c->text && from[-1] != '\n')
			from--;
		line = skip_time(from, end);
		if (!is_noise(line, end))
			break;
		end = from;
	} while (end > c->text);
	if (end > line)
		bawn_buf_escape(&b, line, (size_t)(end - line));
	(void)snprintf(dst, size, "%s", b.data ? b.data : "");
}
