/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How failures travel.
 *
 * A function that can fail returns int: >= 0 on success, a negative errno on failure, and takes a
 * `struct bawn_error *err` as its last parameter. On failure `err` says why; on success it is
 * untouched. `err` may be NULL when the caller only needs the number.
 *
 * The struct is caller-allocated and holds no pointers, so it can be filled when malloc fails, used
 * between fork and exec, and written whole into the setup pipe by the child.
 */

#include <stdbool.h>

#define BAWN_ERROR_MSG_MAX 480

/* Stable: printed in JSON, documented in bawn-errors(7). Append only. */
enum bawn_errkind {
	BAWN_ERR_NONE = 0,
	BAWN_ERR_USAGE,
	BAWN_ERR_POLICY,
	BAWN_ERR_CALL,
	BAWN_ERR_INSPECT,
	BAWN_ERR_PLAN,
	BAWN_ERR_UNSUPPORTED, /* the host cannot enforce what the policy demands */
	BAWN_ERR_BACKEND,
	BAWN_ERR_SUPERVISE,
	BAWN_ERR_AUDIT,
	BAWN_ERR_INTERNAL,
	BAWN_ERR_BLOCKED,  /* the verdict or the policy forbids this call */
	BAWN_ERR_NOTFOUND, /* the command does not exist or cannot be executed */
	BAWN_ERR_VAULT,    /* the vault cannot be opened, or a secret cannot be had */
	_BAWN_ERR_MAX,
};

struct bawn_error {
	enum bawn_errkind kind;
	int err;                      /* negative errno, as returned */
	char where[24];               /* file:line that raised it */
	char msg[BAWN_ERROR_MSG_MAX]; /* outermost context first: "a: b: Permission denied" */
};

/* Record a failure and return `neg_errno`, so that callers can write `return bawn_fail(...)`. */
#define bawn_fail(err, kind, neg_errno, ...) \
	bawn_error_set((err), (kind), (neg_errno), __FILE_NAME__, __LINE__, __VA_ARGS__)

int bawn_error_set(struct bawn_error *err, enum bawn_errkind kind, int neg_errno, const char *file,
	int line, const char *fmt, ...) __attribute__((format(printf, 6, 7), cold));

/* Prefix context to an error already set: "starting 'native': " + what was there. Returns err->err.
 */
int bawn_error_wrap(struct bawn_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));

const char *bawn_errkind_name(enum bawn_errkind kind);
