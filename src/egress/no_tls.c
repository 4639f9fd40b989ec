/* SPDX-License-Identifier: Apache-2.0 */
/* In place of authority.c in the door that has no secrets: none come in here. */
#include <errno.h>

#include "egress/authority.h"

int authority_new(const struct bawn_secrets *s, struct authority **ret, char **ret_pem,
	struct bawn_error *err)
{
	(void)s;
	(void)ret;
	(void)ret_pem;
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -ENOTSUP, "this door has no TLS for secrets");
}

struct authority *authority_free(struct authority *a)
{
	(void)a;
	return NULL;
}

int authority_roots(struct authority *a, const char *file, struct bawn_error *err)
{
	(void)a;
	(void)file;
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -ENOTSUP, "this door has no TLS for secrets");
}
