/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How bawn talks to the door, a process of its own (bawn-egress, with secrets bawn-egress-tls,
 * beside bawn or in libexec). One SOCK_SEQPACKET pair, descriptor 3 of the door. A message has at
 * most BAWN_EGRESS_MSG_MAX bytes and holds JSON objects, one per line (to the door: one per
 * message):
 *
 *   to the door    {"config": {...}}    once, first; again = reload (connections stay)
 *                  {"listen": "proxy|capture|dns-udp|dns-tcp|loopback", "port": N}
 *                                       with one descriptor (SCM_RIGHTS)
 *                  {"go": true}         every listener was sent
 *                  {"stats": true}      answer "stats"
 *                  {"stop": true}       answer "stats" and exit
 *   from the door  {"ca": "PEM"}        with secrets: after the config, before ready
 *                  {"ready": true}      the sandbox of the door is up and it accepts
 *                  {"reloaded": true}   the new rules are in force
 *                  {"error": "..."}     before ready: it exits; the network is gone, not open.
 *                                       For a reload: the old rules stay.
 *                  {"decision": "allow|deny", "way", "host", "port", "rule", "reason", "method"?,
 *                   "address"?}
 *                  {"closed": host, "port", "sent": N, "received": N, "ms": N}
 *                  {"injected": host, "port", "rule": name of the secret}   once per request and
 *                                       secret whose value went into a header
 *                  {"dropped": N}       decisions not sent because the reader was slow
 *                  {"host": name, "allowed", "blocked", "sent", "received"}   before "stats", each
 *                  {"stats": {"allowed", "blocked", "sent", "received", "connections"}}
 *
 * End of file on the pair ends the door at once: it never outlives bawn.
 *
 * config: {"mode", "allow": [], "block": [], "ssrf", "block_private", "development",
 * "host_bytes"?, "host_rate"?, "token"?, "resolver"? ["addr:port"] (default: the host's),
 * "timeouts"? {"head", "idle", "dial", "resolve"} in milliseconds, "secrets"? [{"name",
 * "placeholder", "value", "hosts": [], "headers"?: []}], "roots"? file}. An unknown key is an
 * error. Secrets are given once: a reload does not name them and keeps those that are there.
 *
 * With secrets the door ends TLS of bound hosts itself. It makes an authority for that (P-256,
 * valid for a day, only for the bound hosts), whose private key never leaves the process.
 *
 * "loopback" listeners: a connection to one is carried to 127.0.0.1:port of the host, nothing else.
 * "capture" listeners: SO_ORIGINAL_DST (or IP6T_SO_ORIGINAL_DST), else the socket's own address,
 * tells where it wanted to go; addresses of the synthetic pools (198.18.1.0 up to 198.19.255.255,
 * and fd00:6261:776e::/48) stand for the name the resolver gave them out for.
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
/* The certificate of the door's authority (PEM), which the confined programs must trust; waits for
 * it (bounded). Only with secrets, and before bawn_egress_go(). The text lives as long as `e`. */
int bawn_egress_ca(struct bawn_egress *e, const char **ret_pem, struct bawn_error *err);
/* Tell it to go and wait (bounded) until it says it is ready. */
int bawn_egress_go(struct bawn_egress *e, struct bawn_error *err);
/* New rules for new requests; connections stay. The outcome comes as an event. */
int bawn_egress_reload(struct bawn_egress *e, const struct bawn_egress_source *src,
	const char *token, struct bawn_error *err);
/* Ask for the statistics; they come as events. `stop`: and let it end. */
int bawn_egress_ask_stats(struct bawn_egress *e, bool stop, struct bawn_error *err);
/* Readable when bawn_egress_next() has something. */
int bawn_egress_fd(const struct bawn_egress *e);

struct bawn_egress_event {
	enum {
		BAWN_EGRESS_NOTHING,
		BAWN_EGRESS_DECISION,
		BAWN_EGRESS_CLOSED_CONN,
		BAWN_EGRESS_HOST,     /* statistics of one host */
		BAWN_EGRESS_STATS,    /* of all; the last of an answer */
		BAWN_EGRESS_DROPPED,  /* n_blocked decisions were not told */
		BAWN_EGRESS_RELOADED, /* allowed: the new rules are in force; else reason */
		BAWN_EGRESS_INJECTED, /* a header for host:port got the value of the secret `rule`
				       */
		BAWN_EGRESS_GONE
	} kind; /* GONE: the door died; whatever runs has no network any more */
	bool allowed;
	char host[BAWN_HOST_MAX + 1];
	uint16_t port;
	char way[16], method[24], address[48], rule[300], reason[300];
	uint64_t sent, received, ms;
	uint64_t n_allowed, n_blocked; /* HOST, STATS */
};
/* The next event without blocking; NOTHING if there is none now. */
int bawn_egress_next(struct bawn_egress *e, struct bawn_egress_event *ret, struct bawn_error *err);
/* It has nothing more to say: free need not wait for its end as long then. */
void bawn_egress_kill(struct bawn_egress *e);
/* Stop it and reap it. Never fails. */
struct bawn_egress *bawn_egress_free(struct bawn_egress *e);
