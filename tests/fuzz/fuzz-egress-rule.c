/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule text and the decision: first line a rule, then host, port and path of a request. A rule
 * never allows more than the same text blocks.
 */
#include <stdint.h>

#include "egress/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bawn_egress_rules *compile(enum bawn_egress_mode mode, const char *rule)
{
	const char *const list[] = {rule, NULL};
	struct bawn_egress_source src = {.mode = mode, .ssrf = true, .block_private = true};
	struct bawn_egress_rules *r = NULL;
	struct bawn_error err;

	if (mode == BAWN_EGRESS_ALLOWLIST)
		src.allow = list;
	else
		src.block = list;
	return bawn_egress_rules_compile(&src, &r, &err) == 0 ? r : NULL;
}

static void compare(const struct bawn_egress_rules *allow, const struct bawn_egress_rules *block,
	const struct bawn_egress_ask *ask)
{
	struct bawn_egress_answer a, b;
	static const uint8_t loopback[4] = {127, 0, 0, 1};

	bawn_egress_decide(allow, ask, &a);
	bawn_egress_decide(block, ask, &b);
	if (ask->way != BAWN_WAY_DNS && a.allowed && b.allowed)
		abort();
	if (!a.rule[0] || !b.rule[0] || (!a.allowed && !a.reason[0]) ||
		(!b.allowed && !b.reason[0]))
		abort();
	bawn_egress_decide_address(allow, ask, NULL, AF_INET, loopback, &a);
	if (a.allowed)
		abort();
}

/* The next line, without its end. */
static char *line(char **text)
{
	char *s = *text;
	char *end = strchrnul(s, '\n');

	*text = *end ? end + 1 : end;
	*end = '\0';
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *at = text;
	struct bawn_egress_rules *allow, *block;
	struct bawn_host host;
	uint16_t port = 80;
	const char *authority;

	if (!text)
		return 0;
	const char *rule = line(&at);
	allow = compile(BAWN_EGRESS_ALLOWLIST, rule);
	block = compile(BAWN_EGRESS_BLOCKLIST, rule);
	if (allow && !block)
		abort();
	authority = line(&at);
	if (allow &&
		bawn_host_parse_port(authority, strlen(authority), 80, &host, &port, NULL) == 0)
		for (int way = BAWN_WAY_HTTP; way <= BAWN_WAY_DNS; way++) {
			struct bawn_egress_ask ask = {
				(enum bawn_egress_way)way, &host, port, "GET", at};

			compare(allow, block, &ask);
		}
	bawn_egress_rules_free(allow);
	bawn_egress_rules_free(block);
	free(text);
	return 0;
}
