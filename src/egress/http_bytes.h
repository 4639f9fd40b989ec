/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What class each byte of a head or of chunk framing is (RFC 9110 5.6.2, RFC 9112 2.2). */

#include <stdbool.h>
#include <stdint.h>

enum bawn_http_byte {
	BAWN_BYTE_BAD, /* controls */
	BAWN_BYTE_HEX, /* hexadecimal digits, which are token characters too */
	BAWN_BYTE_TOKEN,
	BAWN_BYTE_COLON,
	BAWN_BYTE_TEXT, /* the rest of what a value may have */
	BAWN_BYTE_CR,
	BAWN_BYTE_LF,
	_BAWN_BYTE_MAX,
};
extern const uint8_t bawn_http_bytes[256];

static inline bool bawn_http_is_token(uint8_t b)
{
	return bawn_http_bytes[b] == BAWN_BYTE_HEX || bawn_http_bytes[b] == BAWN_BYTE_TOKEN;
}
