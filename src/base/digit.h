/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a digit stands for, or -1 if it is none. */

/* Hexadecimal, either case. */
static inline int bawn_digit16(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline int bawn_digit32(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

/* Either alphabet. */
static inline int bawn_digit64(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}
