/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One rule: its text taken apart, and whether a request that names its host fits it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "egress/rules.h"

#define BAWN_RULE_MAX 299

enum bawn_rule_kind {
	BAWN_RULE_ANY,     /* `*` */
	BAWN_RULE_NAME,    /* `name` itself, all below it, or both */
	BAWN_RULE_ADDRESS, /* the first `bits` of `addr` */
};

struct bawn_rule {
	enum bawn_rule_kind kind;
	bool self, below;
	int family;
	uint8_t addr[16];
	uint8_t bits;
	bool nameable; /* lies wholly in addresses that a rule may open by naming them */
	bool any_port;
	uint16_t port; /* 0: 80 and 443 */
	uint32_t next; /* the next rule about the same host, plus one */
	char *text;    /* owns what the others point into */
	const char *name, *methods, *path;
};

/* `block`: rules that forbid are read wider: every port if none is named, and top-level domains. */
int bawn_rule_parse(const char *text, bool block, struct bawn_rule *ret, struct bawn_error *err);
void bawn_rule_done(struct bawn_rule *r);

enum bawn_rule_fit {
	BAWN_FIT_YES,
	BAWN_FIT_NOT_PORT,
	BAWN_FIT_NOT_TUNNEL, /* names a method or path, and this way shows neither */
	BAWN_FIT_NOT_METHOD,
	BAWN_FIT_NOT_PATH,
	BAWN_FIT_ODD_PATH, /* servers would not agree which path it is */
};
/* Whether port, way, method and path fit; the host is known to. What cannot be checked does not fit
 * a rule that allows and does fit one that blocks. */
enum bawn_rule_fit bawn_rule_fit(
	const struct bawn_rule *r, bool block, const struct bawn_egress_ask *ask);
