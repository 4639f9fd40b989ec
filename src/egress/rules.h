/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The one decision function of the door. Rules are text, one per entry:
 *     [METHOD[,METHOD…] ]HOST[:PORT][/PATH-GLOB]
 * HOST is a name, an address, an address block (10.0.0.0/8, 10.*), `*.x` (x and everything below
 * it), `.x` (only below it) or `*`. Wildcards match whole labels; `*.com` (one label below the
 * root) is refused in the allow list. Without PORT: 80 and 443, in the block list every port; `:*`
 * is any port. METHOD and PATH apply to plain HTTP; on a tunnel such a rule does not allow
 * anything, and in the block list it blocks the tunnel (what cannot be checked is not allowed).
 * In PATH, `*` is any run of characters, `/` too; it is compared with the decoded path without the
 * query, and a path that servers read differently (dot segments, `//`, `;`, encoded separators)
 * counts as not allowed and as blocked. Block rules hold in every mode, and for the addresses of
 * names, too.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "egress/address.h"
#include "egress/host.h"

enum bawn_egress_mode {
	BAWN_EGRESS_DENY,      /* nothing */
	BAWN_EGRESS_ALLOWLIST, /* what a rule allows and none blocks; empty = nothing */
	BAWN_EGRESS_BLOCKLIST, /* what no rule blocks */
	BAWN_EGRESS_OPEN,      /* everything the address rules permit */
	BAWN_EGRESS_CLOSED,    /* nothing, not even loopback ports */
};

enum bawn_egress_way {
	BAWN_WAY_HTTP, /* plain request: method and path known */
	BAWN_WAY_CONNECT,
	BAWN_WAY_SOCKS,
	BAWN_WAY_CAPTURE, /* redirected connection */
	BAWN_WAY_DNS,     /* may the name be resolved at all; port and method ignored */
};

struct bawn_egress_rules; /* immutable once compiled */

/*
 * A secret that stays outside: the box knows `placeholder`, the door puts `value` in its place in
 * the named headers of requests to the named hosts, and nowhere else. A binding opens nothing: the
 * host must be allowed by the rules as well.
 */
struct bawn_egress_secret {
	const char *name;        /* [A-Za-z_][A-Za-z0-9_]{0,63} */
	const char *placeholder; /* 16 to 255 printable characters without blanks */
	const char *value;       /* 1 to 8192 bytes of printable ASCII */
	const char *const
		*hosts; /* NULL-terminated, at least one: HOST[:PORT] as in a rule, a name,
			 * `*.x`, `.x` or an address; 443 if no port is named. Port 80 means
			 * plain HTTP, every other one TLS. */
	const char *const *headers; /* NULL-terminated; NULL or empty: authorization */
};
#define BAWN_EGRESS_SECRETS_MAX      32
#define BAWN_EGRESS_SECRET_BYTES_MAX 32768 /* of all values together */

struct bawn_egress_source {
	enum bawn_egress_mode mode;
	const char *const *allow; /* NULL-terminated or NULL */
	const char *const *block; /* wins over allow */
	bool ssrf;                /* check addresses at all */
	bool block_private;       /* private ranges too, not only loopback/metadata/… */
	uint64_t host_bytes;      /* budget per host and direction-sum, UINT64_MAX for none */
	double host_rate;         /* requests per second per host, 0 for no limit */
	/* Not rules, but part of what the door is told; bawn_egress_rules_compile ignores them. */
	bool development;             /* the door adds bawn_egress_development_hosts() to `allow` */
	const char *const *resolvers; /* "addr:port", NULL-terminated; NULL: the host's */
	const struct bawn_egress_secret *secrets;
	size_t n_secrets;
	const char *roots; /* PEM file: who may vouch for bound hosts; NULL: $SSL_CERT_FILE of this
			    * process, else the host's store */
};

struct bawn_egress_ask {
	enum bawn_egress_way way;
	const struct bawn_host *host;
	uint16_t port;
	const char *method; /* BAWN_WAY_HTTP */
	const char *path;   /* BAWN_WAY_HTTP; with query */
};

struct bawn_egress_answer {
	bool allowed;
	char rule[300];   /* the rule's text, or "network.mode: allowlist" */
	char reason[300]; /* for denials: what, why, how to allow it */
};

int bawn_egress_rules_compile(const struct bawn_egress_source *src, struct bawn_egress_rules **ret,
	struct bawn_error *err);
struct bawn_egress_rules *bawn_egress_rules_free(struct bawn_egress_rules *r);
void bawn_egress_decide(const struct bawn_egress_rules *r, const struct bawn_egress_ask *ask,
	struct bawn_egress_answer *ret);
/* May this resolved (or literal) address be dialled for that ask? An address rule of the allow list
 * that names the address itself (`10.1.2.3:5432`) or a block that is private as a whole permits a
 * private, CGNAT or test one; the others never. */
void bawn_egress_decide_address(const struct bawn_egress_rules *r,
	const struct bawn_egress_ask *ask, const struct bawn_own_addresses *own, int family,
	const uint8_t *addr, struct bawn_egress_answer *ret);
/* The development default: package registries and source hosts by domain pattern. NULL-terminated.
 */
const char *const *bawn_egress_development_hosts(void);
