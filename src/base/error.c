/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[_BAWN_ERR_MAX] = {
	[BAWN_ERR_NONE] = "none",
	[BAWN_ERR_USAGE] = "usage",
	[BAWN_ERR_POLICY] = "policy",
	[BAWN_ERR_CALL] = "call",
	[BAWN_ERR_INSPECT] = "inspect",
	[BAWN_ERR_PLAN] = "plan",
	[BAWN_ERR_UNSUPPORTED] = "unsupported",
	[BAWN_ERR_BACKEND] = "backend",
	[BAWN_ERR_SUPERVISE] = "supervise",
	[BAWN_ERR_AUDIT] = "audit",
	[BAWN_ERR_INTERNAL] = "internal",
	[BAWN_ERR_BLOCKED] = "blocked",
	[BAWN_ERR_NOTFOUND] = "not-found",
	[BAWN_ERR_VAULT] = "vault",
};

const char *bawn_errkind_name(enum bawn_errkind kind)
{
	assert((unsigned)kind < _BAWN_ERR_MAX);
	return kind_names[kind];
}

int bawn_error_set(struct bawn_error *err, enum bawn_errkind kind, int neg_errno, const char *file,
	int line, const char *fmt, ...)
{
	va_list ap;

	assert(neg_errno < 0);
	if (!err)
		return neg_errno;

	err->kind = kind;
	err->err = neg_errno;
	(void)snprintf(err->where, sizeof(err->where), "%s:%d", file, line);
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return neg_errno;
}

int bawn_error_wrap(struct bawn_error *err, const char *fmt, ...)
{
	char inner[BAWN_ERROR_MSG_MAX];
	va_list ap;
	int n;

	if (!err)
		return 0;

	memcpy(inner, err->msg, sizeof(inner));
	va_start(ap, fmt);
	n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->msg))
		(void)snprintf(err->msg + n, sizeof(err->msg) - (size_t)n, ": %s", inner);
	return err->err;
}
