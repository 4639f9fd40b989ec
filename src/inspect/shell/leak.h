/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to what leaves (leak.c, connection.c, worth.c). */

#include "inspect/shell/shell.h"

/* Something that is about to leave. */
struct sh_leak {
	unsigned taint;
	const char *from;
	const char *variable; /* of the environment, when it is a single one */
	bool whole;           /* all of the environment */
	const char *host;     /* word that names where it goes */
	bool transfer;        /* a tool for copying files between one's own machines */
	bool store;           /* what leaves is where a person keeps the keys to other machines */
	bool bucket;          /* … and it goes into a bucket, by its own name */
	bool lookup;          /* as part of a name that is looked up */
	bool web;             /* by a client of the web */
	bool raw;             /* by a bare connection */
	bool named;           /* with a user or a token: the sender has an account there */
	bool far;             /* to a machine that is named and that nobody knows */
	bool stream;          /* what another program prints, as it comes */
	bool beyond;          /* a file of the system or of somebody's own papers */
	bool papers;          /* somebody's own, or about people */
	bool parcel;          /* an archive that lies where things are put aside */
	bool shown;           /* on a page that everybody can read */
	bool copied;          /* from here to there, whatever it is */
	bool abroad;          /* to a bare address that is in no network of one's own */
};

/* A variable that belongs to a service, and the host is none of its machines. */
bool sh_stray_variable(const char *name, const char *host);

/* How sure it is that this should not leave, by what it is and where it goes; 0: it may. */
double sh_worth(struct sh *s, const struct sh_leak *l);
