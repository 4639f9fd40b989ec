/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside of bawn-egress. One process, one event loop, no threads; everything hangs off one
 * struct door. A connection that ends is only marked: its memory goes after the loop's round, so
 * that callbacks further up the stack may still look at it.
 */

#include <event2/event.h>
#include <event2/event_struct.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/error.h"
#include "egress/address.h"
#include "egress/control.h"
#include "egress/ending.h"
#include "egress/host.h"
#include "egress/http.h"
#include "egress/rules.h"
#include "egress/secret.h"

/* A request head and what rewriting may add to it. The only size a buffer has. */
#define DOOR_BLOCK         (BAWN_HTTP_HEAD_MAX + 2048)
#define DOOR_LISTENERS_MAX 64
#define DOOR_CONNS_MAX     16384 /* of one listener */
#define DOOR_ADDRS_MAX     16
#define DOOR_NAMES_MAX     65536 /* of the synthetic pool */
#define DOOR_HOSTS_MAX     4096  /* with statistics and budget of their own */

enum door_kind {
	DOOR_PROXY,
	DOOR_CAPTURE,
	DOOR_DNS_UDP,
	DOOR_DNS_TCP,
	DOOR_LOOPBACK,
};

struct door_listener {
	struct door *door;
	enum door_kind kind;
	uint16_t port;
	int fd;
	struct event event;
	unsigned conns;
	bool paused;
};

struct door_timeouts {   /* milliseconds */
	int64_t head;    /* from the first byte of a head (or from accept) to its end */
	int64_t idle;    /* without a byte in either direction */
	int64_t dial;    /* for all addresses together */
	int64_t resolve; /* for all questions together */
};

/* What the host sent as "config"; replaced as a whole by a reload. */
struct door_config {
	struct bawn_egress_rules *rules;
	enum bawn_egress_mode mode;
	uint64_t host_bytes;
	double host_rate;
	char token[256]; /* empty: none is asked for */
	struct door_timeouts timeouts;
	struct bawn_buf resolvers; /* "addr:port,addr:port" or empty */
	/* of the first config; moved to the door */
	struct bawn_secrets *secrets;
	struct bawn_buf roots; /* a file or empty */
};

/* One host's statistics and budget (budget.c). */
struct door_host {
	struct door_host *next; /* of its bucket */
	uint64_t allowed, blocked, sent, received;
	double tokens; /* of the rate bucket */
	int64_t refilled;
	char name[];
};

struct door_lane_pipe {
	int fd[2];
};

/* One direction of a connection: what was read from one side and is to be written to the other.
 * `head` is ours and goes first; then the first `ok` bytes of `in`; then what is in the pipe. */
struct door_lane {
	char *in; /* DOOR_BLOCK bytes or NULL */
	size_t len, ok;
	size_t top; /* bytes of `in` that were ever written to */
	char *head; /* DOOR_BLOCK bytes or NULL */
	size_t head_at, head_len;
	struct door_lane_pipe pipe; /* fd[0] -1: none */
	size_t piped;
	size_t flow;    /* bytes read since the last pause */
	size_t burst;   /* of them, those since the source was last waited for */
	uint64_t total; /* bytes written */
	bool eof;       /* nothing more will be read */
	bool shut;      /* the other side was told so */
	bool broken;    /* the other side takes nothing more */
	bool patient;   /* a long flow: its source is read when much has come, or after a moment */
	bool more;      /* a long flow whose turn was over before its source was empty */
};

struct door_side {
	int fd; /* -1: none */
	struct event rd, wr;
	bool reading, writing;
	bool again;         /* `rd` fires in the next round, ready or not */
	struct ending *end; /* NULL: the descriptor is the socket itself */
};

enum door_phase {
	DOOR_FIRST,  /* proxy: which protocol? */
	DOOR_HEAD,   /* an HTTP request head */
	DOOR_SOCKS,  /* the SOCKS conversation */
	DOOR_WAIT,   /* resolving or dialling */
	DOOR_TALK,   /* an HTTP exchange */
	DOOR_HELLO,  /* a tunnel whose first bytes from the client are not checked yet */
	DOOR_RAW,    /* a tunnel */
	DOOR_DNS,    /* questions over TCP */
	DOOR_LINGER, /* the last words are being sent */
	DOOR_DEAD,
};

enum door_entry {
	DOOR_BY_HTTP,
	DOOR_BY_CONNECT,
	DOOR_BY_SOCKS4,
	DOOR_BY_SOCKS5,
	DOOR_BY_CAPTURE,
	DOOR_BY_LOOPBACK,
};

/* What is known only while a connection to the other side is being made (dial.c). */
struct door_trial {
	struct bawn_egress_answer answer;
	char method[24];
	struct sockaddr_storage addrs[DOOR_ADDRS_MAX];
	size_t n, next;
	int last_errno;
	int64_t total_deadline;
};

struct door_exchange {
	enum bawn_http_body up_body, down_body;
	uint64_t up_left, down_left;
	struct bawn_http_chunks up_chunks, down_chunks;
	int minor;      /* the client's */
	bool head_only; /* HEAD */
	bool up_done, down_started, down_done;
	bool client_keep, up_keep;
	bool websocket; /* an upgrade was passed on */
	bool reused;    /* the upstream connection had served a request before */
	bool bound;     /* to a host that secrets are bound to: masked.c */
	size_t kept;    /* bytes of the request head, kept until the answer begins */
};

struct door_conn {
	struct door *door;
	struct door_listener *listener;
	LIST_ENTRY(door_conn) link;
	struct door_side client, upstream;
	struct door_lane up, down;
	enum door_phase phase;
	enum door_entry entry;
	bool ended;            /* TLS ends here, on both sides */
	bool pinned;           /* HTTP inside a tunnel: every request must be for `host` */
	bool replied;          /* the tunnel was announced: from here on refusals are silent */
	bool greeted;          /* SOCKS5: a method was chosen */
	bool authorized;       /* SOCKS5: the password was right */
	bool exact;            /* the rule names the very address */
	struct bawn_host host; /* where it goes; of the request at hand */
	uint16_t port;
	struct bawn_host up_host; /* where `upstream` leads */
	uint16_t up_port;
	struct door_host *stats;
	struct door_query *query; /* being resolved */
	struct door_trial *trial;
	struct door_cover *cover; /* of an answer that is masked */
	struct door_exchange x;
	int64_t started, deadline; /* of what is waited for now */
};

LIST_HEAD(door_conns, door_conn);

struct door {
	struct event_base *base;
	int control;
	struct event control_event, control_room, sweep_event;
	bool wants_room, sweeping;
	bool going, stopping, sandboxed;
	struct door_config config;
	struct bawn_own_addresses own;
	struct door_listener *listeners[DOOR_LISTENERS_MAX];
	size_t n_listeners;
	struct door_conns conns, dead;
	unsigned n_conns, n_upstreams, n_endings, max_sockets;
	uint64_t allowed, blocked, sent, received, served;
	struct door_host *hosts[1024]; /* buckets */
	size_t n_hosts;
	struct door_host *others; /* what no longer fits */
	struct door_names *names;
	struct door_resolver *resolver;
	struct bawn_secrets *secrets; /* NULL: none, and then nothing of TLS is ever touched */
	struct authority *authority;
	struct bawn_buf report;
	uint64_t dropped;
	/* one at a time is parsed; too big for the stack of a callback */
	struct bawn_http_request request;
	struct bawn_http_response response;
};

/* door.c: the loop and what all parts ask */
int door_new(int control, struct door **ret, struct bawn_error *err);
int door_run(struct door *d, struct bawn_error *err);
struct door *door_free(struct door *d);
int64_t door_now(void); /* CLOCK_MONOTONIC_COARSE would do; milliseconds */
/* Decide, count and (denials, or when `tell`) report. All ways in come through here. */
bool door_decide(struct door *d, const struct bawn_egress_ask *ask, bool tell,
	struct bawn_egress_answer *ret);
enum bawn_egress_way door_way(enum door_entry entry);

/* control.c: what the host says */
void door_control_read(struct door *d);
/* config.c */
int door_config_parse(json_t *top, struct door_config *ret, struct bawn_error *err);
void door_config_done(struct door_config *c);

/* report.c: what the host is told; never blocks, never fails */
void report_word(struct door *d, const char *word);
void report_error(struct door *d, const char *text);
void report_ca(struct door *d, const char *pem);
void report_injected(struct door *d, const struct door_conn *c, const char *name);
void report_decision(struct door *d, const struct bawn_egress_ask *ask,
	const struct bawn_egress_answer *a, const char *address);
void report_closed(struct door *d, const struct door_conn *c);
void report_stats(struct door *d);
void report_flush(struct door *d);
/* Wait until everything was taken, for at most a second. */
void report_drain(struct door *d);

/* listener.c */
int listener_add(struct door *d, const char *kind, uint16_t port, int fd, struct bawn_error *err);
int listener_start(struct door *d, struct bawn_error *err);
void listener_resume(struct door *d);
void listener_free(struct door_listener *l);

/* conn.c: life of a connection */
void conn_new(struct door_listener *l, int fd);
void conn_close(struct door_conn *c);
/* Do what can be done now, then wait for what is missing. */
void conn_advance(struct door_conn *c);
void conn_close_upstream(struct door_conn *c);
/* The same for a connection that could serve another request: it goes to the pool. */
void conn_keep_upstream(struct door_conn *c);
/* The upstream descriptor is connected: start watching it. */
void conn_attach_upstream(struct door_conn *c, int fd);
/* Send what is in the lanes and close, reading (and dropping) what the client still sends. */
void conn_finish(struct door_conn *c);
/* Close with a reset: what a captured connection sees as refusal. */
void conn_reset(struct door_conn *c);
void conn_wait(struct door_conn *c, int64_t ms);
/* The client is reached through another descriptor from now on; the old one is not closed. */
void conn_swap_client(struct door_conn *c, int fd);
/* The same without another one. */
void conn_detach_upstream(struct door_conn *c);
/* The other end of this socket, or of what this listener accepts, is on the same machine. */
void conn_is_local(int fd);
/* Its source is waited for in another way from now on. */
void conn_unwatch_source(struct door_side *s);
void conn_sweep(struct door *d);
void conn_sweep_on(struct door *d); /* let it run, four times a second while there is anything */
void conn_free_dead(struct door *d);

/* lane.c: bytes */
char *block_new(void);
void block_free(char *p);
void block_free_used(char *p, size_t used); /* nothing was written behind `used` */
void block_wipe_all(void);                  /* from now on they are wiped when given back */
/* Read once; false: the source failed (a reset). End of file sets eof. */
bool lane_fill(struct door_conn *c, struct door_lane *l, int fd);
void lane_consume(struct door_lane *l, size_t n);
/* Append to `head`; false when there is no room. */
bool lane_say(struct door_lane *l, const void *p, size_t n);
bool lane_pending(const struct door_lane *l);
/* Write what may go; false: the destination failed. */
bool lane_flush(struct door_conn *c, struct door_lane *l, int fd);
void lane_done(struct door_lane *l);

/* refuse.c: the same refusal in the words of each way in */
void conn_refuse(struct door_conn *c, int status, const char *reason);
/* The same for what is a decision: it is counted and reported, too. */
void conn_deny(struct door_conn *c, int status, const char *rule, const char *why);
/* Count and report it only; *ret (or NULL) is set to what was said. */
void conn_note_denial(
	struct door_conn *c, const char *rule, const char *why, struct bawn_egress_answer *ret);
/* False, after a denial, when the host has used up its bytes or (`request`) its requests. */
bool conn_within_budget(struct door_conn *c, bool request);

/* dial.c: allowed, so resolve, check, connect; then conn_dialled() */
void dial_start(struct door_conn *c, const struct bawn_egress_answer *a, const char *method);
void dial_loopback(struct door_conn *c);
void dial_writable(struct door_conn *c);
void dial_timeout(struct door_conn *c);
void dial_cancel(struct door_conn *c);
void conn_dialled(struct door_conn *c);
/* The server proved who it is, and `fd` leads to it; or (-1) it did not. */
void dial_secured(struct door_conn *c, int fd, const char *why);

/* resolver.c: c-ares */
int resolver_new(struct door *d, struct door_resolver **ret, struct bawn_error *err);
int resolver_configure(
	struct door_resolver *r, const struct door_config *c, struct bawn_error *err);
struct door_resolver *resolver_free(struct door_resolver *r);
/* Calls dial_resolved() later, unless cancelled before. */
void resolver_ask(struct door_resolver *r, struct door_conn *c);
void resolver_cancel(struct door_query *q);
/* n 0: `why` says what went wrong; status is 502 or 504. */
void dial_resolved(struct door_conn *c, const struct sockaddr_storage *v, size_t n, int status,
	const char *why);

/* forward.c, exchange.c: HTTP requests and the exchange with a server */
void forward_head(struct door_conn *c);
void forward_start(struct door_conn *c);
/* The reused connection was closed before it answered: make one and ask again. */
void forward_again(struct door_conn *c);
void forward_talk(struct door_conn *c);
bool forward_authorized(const struct door *d, const struct bawn_http_request *r);
/* rewrite.c: heads without what is meant for this hop only; false when there is no room */
bool rewrite_request(struct door_conn *c, const struct bawn_http_request *r);
bool rewrite_response(struct door_conn *c, const struct bawn_http_response *r);

/* masked.c: answers of hosts that secrets are bound to */
/* Why an answer cannot be looked into; NULL: it can. */
const char *masked_objection(const struct door_conn *c, const struct bawn_http_response *r);
bool masked_start(struct door_conn *c);
/* As pass_body() of exchange.c, but everything that leaves went through the mask. */
bool masked_body(struct door_conn *c);
void masked_done(struct door_conn *c);

/* socks_way.c, capture.c */
void socks_step(struct door_conn *c);
bool socks_reply(struct door_conn *c, int code);
void capture_start(struct door_conn *c);

/* tunnel.c */
/* Host and port are known: decide, then dial or (port 80) read requests. */
void tunnel_ask(struct door_conn *c);
void tunnel_start(struct door_conn *c);
void tunnel_check(struct door_conn *c);
void tunnel_pump(struct door_conn *c, struct door_lane *l);
void tunnel_settle(struct door_conn *c);
void tunnel_drop_pipe(struct door_lane *l);
bool token_equal(const struct door *d, const char *p, size_t n);

/* names.c: synthetic addresses */
int names_new(struct door_names **ret);
struct door_names *names_free(struct door_names *n);
/* The number of a name, new ones are added (*ret_new); negative when the pool is full. */
int64_t names_number(struct door_names *n, const struct bawn_host *host, bool *ret_new);
void names_address(uint32_t number, int family, uint8_t addr[16]);
/* The name behind an address; false if the address is of no pool or was never given out. */
bool names_find(const struct door_names *n, int family, const uint8_t *addr, struct bawn_host *ret);
/* A host that is a synthetic address becomes the name it stands for: programs that resolve for
 * themselves and then ask for the address. */
void names_undo(const struct door_names *n, struct bawn_host *host);

/* dnsd.c: questions of the confined */
void dnsd_udp(struct door_listener *l);
void dnsd_tcp(struct door_conn *c);

/* pool.c: idle connections to servers */
bool pool_put(int fd, const struct bawn_host *host, uint16_t port); /* false: there is no room */
int pool_take(const struct bawn_host *host, uint16_t port);         /* a descriptor or -1 */
void pool_sweep(int64_t now);                                       /* INT64_MAX drops all */
bool pool_empty(void);

/* budget.c */
/* NULL only when the table is full and a budget is set: then the host must be refused. */
struct door_host *budget_host(struct door *d, const struct bawn_host *host);
void budget_blocked(struct door *d, const struct bawn_host *host);
/* Take one request; false: too many per second. */
bool budget_request(struct door *d, struct door_host *h);
uint64_t budget_left(const struct door *d, const struct door_host *h);
void budget_bytes(struct door_conn *c, const struct door_lane *l, size_t n);
void budget_free(struct door *d);

/* sandbox.c: nothing but sockets from here on */
int sandbox_before(void); /* first thing in main: dies with the parent, no new privileges */
int sandbox_enter(struct bawn_error *err);
