/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a machine and its monitor said before something went wrong. */

#include <stdbool.h>
#include <stddef.h>

#define BAWN_CONSOLE_MAX 16384

struct bawn_console {
	int fd; /* a socket, ours */
	size_t len;
	char text[BAWN_CONSOLE_MAX]; /* the end of it */
};

/* Take what is there, without waiting. False at its end. */
bool bawn_console_read(struct bawn_console *c);
bool bawn_console_has(const struct bawn_console *c, const char *text);
/* The last line that says something, safe to print; "" if nothing was said. */
void bawn_console_last(const struct bawn_console *c, char *dst, size_t size);
