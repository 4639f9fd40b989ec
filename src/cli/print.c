/* SPDX-License-Identifier: Apache-2.0 */
/* How things look: colours, columns, sizes, JSON. Text that a call brought along is escaped. */
#include <string.h>

#include "base/control.h"
#include "cli/cli.h"

const char *cli_colour(bool on, enum cli_colour colour)
{
	static const char *const codes[] = {
		[CLI_PLAIN] = "\x1b[0m",
		[CLI_BOLD] = "\x1b[1m",
		[CLI_RED] = "\x1b[31m",
		[CLI_GREEN] = "\x1b[32m",
		[CLI_YELLOW] = "\x1b[33m",
		[CLI_DIM] = "\x1b[2m",
	};

	return on ? codes[colour] : "";
}

void cli_puts_safe(struct bawn_buf *b, const char *s)
{
	if (s)
		bawn_buf_escape(b, s, strlen(s));
}

size_t cli_width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void cli_pad(struct bawn_buf *b, const char *s, size_t width)
{
	size_t have = cli_width(s);

	bawn_buf_puts(b, s);
	for (; have < width; have++)
		bawn_buf_add(b, " ", 1);
}

void cli_size(struct bawn_buf *b, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	size_t u = 0;

	if (bytes == BAWN_UNLIMITED) {
		bawn_buf_puts(b, "unlimited");
		return;
	}
	while (u < 4 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		u++;
	}
	bawn_buf_printf(b, "%llu %s", (unsigned long long)bytes, units[u]);
}

void cli_msec(struct bawn_buf *b, uint64_t ms)
{
	if (ms == BAWN_UNLIMITED)
		bawn_buf_puts(b, "unlimited");
	else if (ms >= 60000 && ms % 60000 == 0)
		bawn_buf_printf(b, "%llu min", (unsigned long long)(ms / 60000));
	else if (ms >= 1000 && ms % 1000 == 0)
		bawn_buf_printf(b, "%llu s", (unsigned long long)(ms / 1000));
	else
		bawn_buf_printf(b, "%llu ms", (unsigned long long)ms);
}

void cli_json_str(struct bawn_buf *b, const char *s)
{
	if (s)
		(void)bawn_buf_json(b, s, strlen(s));
	else
		bawn_buf_puts(b, "null");
}

void cli_json_next(struct bawn_buf *b)
{
	if (b->len && b->data[b->len - 1] != '{' && b->data[b->len - 1] != '[')
		bawn_buf_add(b, ",", 1);
}

void cli_json_key(struct bawn_buf *b, const char *name)
{
	cli_json_next(b);
	cli_json_str(b, name);
	bawn_buf_add(b, ":", 1);
}

void cli_json_text(struct bawn_buf *b, const char *key, const char *value)
{
	cli_json_key(b, key);
	cli_json_str(b, value && *value ? value : NULL);
}

void cli_json_list(struct bawn_buf *b, const char *const *v, size_t n)
{
	bawn_buf_add(b, "[", 1);
	for (size_t i = 0; i < n; i++) {
		cli_json_next(b);
		cli_json_str(b, v[i]);
	}
	bawn_buf_add(b, "]", 1);
}

void cli_json_u64(struct bawn_buf *b, uint64_t v)
{
	if (v == BAWN_UNLIMITED)
		bawn_buf_puts(b, "null");
	else
		bawn_buf_printf(b, "%llu", (unsigned long long)v);
}

void cli_json_error(struct bawn_buf *b, const struct bawn_error *e)
{
	if (e->kind == BAWN_ERR_NONE) {
		bawn_buf_puts(b, "null");
		return;
	}
	bawn_buf_add(b, "{", 1);
	cli_json_key(b, "kind");
	cli_json_str(b, bawn_errkind_name(e->kind));
	cli_json_key(b, "message");
	cli_json_str(b, e->msg);
	bawn_buf_add(b, "}", 1);
}

void cli_json_controls(struct bawn_buf *b, uint32_t controls)
{
	bawn_buf_add(b, "[", 1);
	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++) {
		if (!(controls & 1u << i))
			continue;
		cli_json_next(b);
		cli_json_str(b, bawn_control_name(i));
	}
	bawn_buf_add(b, "]", 1);
}
