/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Secrets as the door keeps them: which hosts and headers each is bound to, and the one place where
 * a value is put in. Values lie in memory of their own that is locked where the limits allow it,
 * left out of dumps, and wiped at the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "egress/http.h"
#include "egress/mask.h"
#include "egress/rule.h"
#include "egress/rules.h"

#define BAWN_SECRET_HOSTS_MAX   64
#define BAWN_SECRET_HEADERS_MAX 16

struct bawn_secret {
	struct bawn_slice placeholder, value;
	const char *name;
	struct bawn_rule *hosts;
	size_t n_hosts;
	struct bawn_slice headers[BAWN_SECRET_HEADERS_MAX];
	size_t n_headers;
};

struct bawn_secrets {
	struct bawn_secret v[BAWN_EGRESS_SECRETS_MAX];
	size_t n;
	struct bawn_mask_set *mask; /* all values */
	char *mem;                  /* the mapping that the slices point into */
	size_t size, used;
};

/* What is wrong with one is said without its value. */
int bawn_secrets_new(const struct bawn_egress_secret *v, size_t n, struct bawn_secrets **ret,
	struct bawn_error *err);
struct bawn_secrets *bawn_secrets_free(struct bawn_secrets *s);

/* Is any secret bound to this host and port? `tls`: the way there is encrypted; without it only
 * port 80 can be bound. NULL has none. */
bool bawn_secrets_bound(
	const struct bawn_secrets *s, const struct bawn_host *host, uint16_t port, bool tls);

struct bawn_secrets_where {
	const struct bawn_host *host;
	uint16_t port;
	bool tls;
};
/*
 * The value of the header `name`, with every placeholder of a secret that is bound to this header
 * there replaced, also inside the base64 of "Basic …". Bytes written to `dst`, or -ENOBUFS. Bit i
 * of *used is set when the value of secret i went in.
 */
int64_t bawn_secrets_put(const struct bawn_secrets *s, const struct bawn_secrets_where *where,
	struct bawn_slice name, struct bawn_slice value, char *dst, size_t size, uint32_t *used);
