/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * TLS of bound hosts: the authority of this door, a certificate per host, and who is believed on
 * the other side. The only user of OpenSSL besides ending.c; nothing of it is touched without
 * secrets.
 */

#include <openssl/types.h>
#include <stdbool.h>

#include "base/error.h"
#include "egress/secret.h"

struct authority;

/* New keys, nobody else's. *ret_pem (freed by the caller) is the certificate to trust. */
int authority_new(const struct bawn_secrets *s, struct authority **ret, char **ret_pem,
	struct bawn_error *err);
struct authority *authority_free(struct authority *a);
/* Whom to believe about servers: the PEM file, or (NULL) the host's store. Before the sandbox. */
int authority_roots(struct authority *a, const char *file, struct bawn_error *err);
/* Reads the rest of them, which takes a while; the first connection does it if nobody did. */
void authority_finish(struct authority *a);

/* A connection that a client begins, as `host`; NULL: out of memory. */
SSL *authority_accept(struct authority *a, const struct bawn_host *host);
/* A connection to `host`, which must prove to be it. */
SSL *authority_connect(struct authority *a, const struct bawn_host *host);
