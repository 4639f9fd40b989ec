/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where TLS ends: between a socket and one end of a pair, whose other end a connection uses as if
 * it were the socket. So there is one reader of HTTP and one decision for what comes in the clear
 * and what came encrypted. All of it is behind one table, which the door without secrets lacks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct door;
struct door_conn;
struct ending;

struct door_tls {
	/* The authority of the door; its certificate is told to the host. Before the sandbox. */
	int (*start)(struct door *d, const char *roots, struct bawn_error *err);
	/* The door accepts: time for what can be done later. */
	void (*ready)(struct door *d);
	void (*stop)(struct door *d);
	/* The client of c, which sent a ClientHello for its host, is spoken to in TLS from here on.
	 * False: there is no room. A failure later ends the connection. */
	bool (*accept)(struct door_conn *c);
	/* The same for the server that was connected to; dial_secured() tells how it went. */
	bool (*connect)(struct door_conn *c);
	/* The connection has closed its end. `reset`: the other side must not take it for a proper
	 * end. What was written before still goes out otherwise. */
	void (*release)(struct ending *e, bool reset);
	/* Did the other side go without saying so? Then what it sent may be cut short. */
	bool (*cut)(const struct ending *e);
	void (*sweep)(struct door *d, int64_t now);
	/* After a round of the loop: free what has ended. */
	void (*collect)(struct door *d);
};

extern const struct door_tls *const door_tls; /* NULL: this door has none */
