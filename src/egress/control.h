/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How bawn talks to the door, a process of its own (bawn-egress, beside bawn or in libexec). One
 * SOCK_SEQPACKET pair, descriptor 3 of the door. Messages are JSON objects of at most
 * BAWN_EGRESS_MSG_MAX bytes:
 *
 *   to the door    {"config": {...}}                     once, first; again = reload (established
 * connections stay)
 *                  {"listen": "proxy|capture|dns-udp|dns-tcp|loopback", "port": N}  + one
 * descriptor each (SCM_RIGHTS)
 *                  {"go": true}                          every listener was sent
 *                  {"stop": true}                        answer "stats" and exit
 *   from the door  {"ready": true}                       the sandbox of the door is up and it
 * accepts
 *                  {"error": "..."}                      and it exits; the network is gone, not
 * open
 *                  {"decision": "allow|deny", "way", "host", "port", "rule", "reason", "method"?,
 * "address"?}
 *                  {"closed": host, "port", "sent": N, "received": N, "ms": N}
 *                  {"dropped": N}                        decisions not sent because the reader was
 * slow
 *                  {"stats": {"allowed", "blocked", "sent", "received", "hosts": {name: {...}}}}
 *
 * End of file on the pair ends the door at once: it never outlives bawn.
 *
 * config: {"mode", "allow": [], "block": [], "ssrf", "block_private", "host_bytes", "host_rate",
 * "token"?, "resolver"? ["addr:port"] (default: the host's), "development": bool,
 * "trust_addresses"? [] } "loopback" listeners: a connection to one is carried to 127.0.0.1:port of
 * the host, nothing else. "capture" listeners: SO_ORIGINAL_DST (or IP6T_SO_ORIGINAL_DST) tells
 * where it wanted to go; addresses of the synthetic pools (198.18.0.0/15 and fd00:6261:776e::/48)
 * stand for the name the resolver gave them out for.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/error.h"
#include "egress/rules.h"

#define BAWN_EGRESS_MSG_MAX    65536
#define BAWN_EGRESS_CONTROL_FD 3

struct bawn_egress; /* host side: a running door */

/* Start bawn-egress and hand it the config; returns at once, it starts up meanwhile. */
int bawn_egress_spawn(const struct bawn_egress_source *src, const char *token,
	struct bawn_egress **ret, struct bawn_error *err);
/* `fd` is duplicated into the door; the caller keeps its own. */
int bawn_egress_listen(
	struct bawn_egress *e, const char *kind, uint16_t port, int fd, struct bawn_error *err);
/* Tell it to go and wait (bounded) until it says it is ready. */
int bawn_egress_go(struct bawn_egress *e, struct bawn_error *err);
/* Readable when bawn_egress_next() has something. */
int bawn_egress_fd(const struct bawn_egress *e);

struct bawn_egress_event {
	enum {
		BAWN_EGRESS_NOTHING,
		BAWN_EGRESS_DECISION,
		BAWN_EGRESS_CLOSED_CONN,
		BAWN_EGRESS_STATS,
		BAWN_EGRESS_GONE
	} kind; /* GONE: the door died; whatever runs has no network any more */
	bool allowed;
	char host[BAWN_HOST_MAX + 1];
	uint16_t port;
	char way[16], rule[300], reason[300];
	uint64_t sent, received;
};
/* The next event without blocking. */
int bawn_egress_next(struct bawn_egress *e, struct bawn_egress_event *ret, struct bawn_error *err);
/* Stop it and reap it. Never fails. */
struct bawn_egress *bawn_egress_free(struct bawn_egress *e);
