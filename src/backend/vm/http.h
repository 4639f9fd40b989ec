/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests to a machine monitor's API: HTTP/1.1 with JSON bodies over a Unix socket, one at a time.
 * The answer is read strictly and up to a limit: a status line, header lines, and a body whose
 * length was told.
 *
 * Runs in: the host process.
 */

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define BAWN_HTTP_HEAD_MAX 8192
#define BAWN_HTTP_BODY_MAX 65536

struct bawn_http_answer {
	int status;
	const char *body; /* in the bytes that were read, not terminated */
	size_t body_len;
};

/* Read an answer in `data`. Its length if it is whole, 0 if more is needed, -EPROTO if it is none.
 */
int bawn_http_parse(const char *data, size_t len, struct bawn_http_answer *ret);

/*
 * PUT `json` to `path` on the connection `fd` and wait for the answer at most until `stop`
 * (bawn_now_ms()). Fails unless it is a success, with the `fault_message` of the answer.
 */
int bawn_http_put(int fd, const char *path, const char *json, int64_t stop, struct bawn_error *err);
