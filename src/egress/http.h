/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HTTP/1.x heads as a proxy must read them: strict, table-driven, no allocation. Anything that two
 * parsers could read differently is refused, not repaired.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/host.h"

#define BAWN_HTTP_HEAD_MAX    32768
#define BAWN_HTTP_HEADERS_MAX 128

struct bawn_slice {
	const char *p;
	size_t n;
};

struct bawn_http_header {
	struct bawn_slice name, value; /* value without surrounding blanks */
};

enum bawn_http_form {
	BAWN_FORM_ORIGIN,
	BAWN_FORM_ABSOLUTE,
	BAWN_FORM_AUTHORITY,
	BAWN_FORM_ASTERISK
};
enum bawn_http_body {
	BAWN_BODY_NONE,
	BAWN_BODY_LENGTH,
	BAWN_BODY_CHUNKED,
	BAWN_BODY_UNTIL_CLOSE
};

struct bawn_http_request {
	struct bawn_slice method, target;
	enum bawn_http_form form;
	int minor;              /* HTTP/1.minor */
	struct bawn_host host;  /* of the target, or of Host in origin-form; both must agree */
	uint16_t port;          /* default 80 */
	struct bawn_slice path; /* from the first '/', with query; "/" if empty */
	struct bawn_http_header headers[BAWN_HTTP_HEADERS_MAX];
	size_t n_headers;
	enum bawn_http_body body;
	uint64_t length;
	bool keep_alive, upgrade, expect_continue;
	size_t head_len; /* bytes up to and including the empty line */
};

struct bawn_http_response {
	int status, minor;
	struct bawn_http_header headers[BAWN_HTTP_HEADERS_MAX];
	size_t n_headers;
	enum bawn_http_body body; /* as for a GET; the caller knows about HEAD and CONNECT */
	uint64_t length;
	bool keep_alive;
	size_t head_len;
};

/*
 * 1: complete, *ret is set and points into `p`; 0: more bytes are needed; negative: refused,
 * with the status to answer (400, 405, 414, 431, 501, 505) in *ret_status and why in err.
 * Refused among others: CL with TE, two different or repeated CL, TE other than one `chunked`, two
 * Host, no Host in 1.1, Host ≠ authority, obs-fold, bare LF or CR, blank before the colon, NUL, odd
 * methods, heads over BAWN_HTTP_HEAD_MAX, userinfo in the target.
 */
int bawn_http_request_parse(const char *p, size_t len, struct bawn_http_request *ret,
	int *ret_status, struct bawn_error *err);
int bawn_http_response_parse(
	const char *p, size_t len, struct bawn_http_response *ret, struct bawn_error *err);

/* A chunked body seen in passing: consumes what is well-formed, refuses the rest (extensions too).
 */
struct bawn_http_chunks {
	uint64_t left;
	unsigned state;
	unsigned trailer;
};
/* Bytes used up to and including the next piece of data, which is *ret_data (empty: there is none
 * in these); negative: refused. Trailers are passed over. */
int64_t bawn_http_chunks_next(struct bawn_http_chunks *c, const char *p, size_t len,
	struct bawn_slice *ret_data, bool *ret_done);
/* Number of bytes that belong to the body (and may be passed on), *ret_done when it ended;
 * negative: refused. */
int64_t bawn_http_chunks_feed(
	struct bawn_http_chunks *c, const char *p, size_t len, bool *ret_done);
