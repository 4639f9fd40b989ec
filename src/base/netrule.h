/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One rule about hosts, as text and as fields:
 *
 *     [METHOD[,METHOD…] ]HOST[:PORT][/PATH-GLOB]
 *
 * HOST is a name, an address, an address block (10.0.0.0/8, fd00::/8), `*.x` (x and everything
 * below it), `.x` (only below it) or `*`. Without PORT: 80 and 443; `:*` is any port. The policy
 * checks and compares rules with this, the door decides by them. Names are ASCII here: others are
 * to be written as their A-labels (xn--…).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bawn_netrule_kind {
	BAWN_NETRULE_ANY,   /* * */
	BAWN_NETRULE_NAME,  /* x */
	BAWN_NETRULE_TREE,  /* *.x: x and below */
	BAWN_NETRULE_BELOW, /* .x: only below */
	BAWN_NETRULE_BLOCK, /* an address block; a single address is one of 32 or 128 bits */
};

#define BAWN_NETRULE_MAX      299 /* bytes of a rule as written */
#define BAWN_NETRULE_TEXT_MAX 640 /* in its one form, with NUL */

struct bawn_netrule {
	enum bawn_netrule_kind kind;
	char name[254]; /* NAME, TREE, BELOW: lower case, no final dot, without the wildcard */
	int family;     /* BLOCK: AF_INET or AF_INET6 */
	uint8_t addr[16];
	unsigned bits;
	bool any_port;
	uint16_t port;    /* 0: 80 and 443 */
	char methods[96]; /* "GET,HEAD", upper case; "" for all */
	char path[256];   /* glob as bawn_glob_match() reads it, from '/'; "" for all */
};

/* 0, or -EINVAL with *why set to a word or two about what is wrong. */
int bawn_netrule_parse(const char *text, struct bawn_netrule *ret, const char **why);
/* True for a whole top-level domain (*.com): may be blocked, but not allowed. */
bool bawn_netrule_is_wide(const struct bawn_netrule *r);
/* The one form of it. */
void bawn_netrule_format(const struct bawn_netrule *r, char dst[BAWN_NETRULE_TEXT_MAX]);
/* True if everything that `in` speaks of, `out` speaks of too. */
bool bawn_netrule_within(const struct bawn_netrule *in, const struct bawn_netrule *out);
/* True if a canonical name (lower case, no final dot) is one that the rule's host means. */
bool bawn_netrule_has_name(const struct bawn_netrule *r, const char *name);
/* The same for an address in network order. */
bool bawn_netrule_has_address(const struct bawn_netrule *r, int family, const uint8_t *addr);
bool bawn_netrule_has_port(const struct bawn_netrule *r, uint16_t port);
bool bawn_netrule_has_method(const struct bawn_netrule *r, const char *method);
