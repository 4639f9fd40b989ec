/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled rules and the decision. Rules are found by hash: a name and each of its parent domains,
 * an address under each block size that occurs. So a decision costs the same with ten rules and
 * with a hundred thousand, and it allocates nothing.
 */
#include "egress/rules.h"

#include <errno.h>
#include <stdarg.h>

#include <arpa/inet.h>

#include "base/cleanup.h"
#include "egress/rule.h"

#define RULES_MAX 1000000

struct table {
	struct bawn_rule *v;
	size_t n;
	uint32_t *slots; /* first rule about a host plus one, 0 for none */
	size_t mask;
	uint32_t any;                  /* first `*` rule plus one */
	uint8_t sizes[2][128 / 8 + 1]; /* which block sizes occur, IPv4 and IPv6 */
};

struct bawn_egress_rules {
	enum bawn_egress_mode mode;
	bool ssrf, block_private;
	struct table allow, block;
};

/* The best rule that names the host but does not fit, for the reason of a denial. */
struct near {
	const struct bawn_rule *rule;
	enum bawn_rule_fit fit;
};

#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash_byte(uint64_t h, uint8_t b)
{
	return (h ^ b) * UINT64_C(0x100000001b3);
}

static uint64_t hash_block(int family, const uint8_t *addr, unsigned bits)
{
	uint64_t h = hash_byte(hash_byte(HASH_START, (uint8_t)family), (uint8_t)bits);

	for (unsigned i = 0; i < bits / 8; i++)
		h = hash_byte(h, addr[i]);
	if (bits % 8)
		h = hash_byte(h, (uint8_t)(addr[bits / 8] & (0xff00 >> bits % 8)));
	return h;
}

/* From the end, so that one pass over a name meets the hash of each parent domain. */
static uint64_t hash_name(const char *name)
{
	uint64_t h = HASH_START;

	for (size_t i = strlen(name); i > 0; i--)
		h = hash_byte(h, (uint8_t)name[i - 1]);
	return h;
}

static size_t slot_of(uint64_t h, const struct table *t)
{
	return (size_t)(h ^ h >> 32) & t->mask;
}

static bool same_host(const struct bawn_rule *a, const struct bawn_rule *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == BAWN_RULE_NAME)
		return strcmp(a->name, b->name) == 0;
	return a->family == b->family && a->bits == b->bits &&
	       memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

static void append(struct table *t, uint32_t *head, uint32_t *tail, size_t i)
{
	if (*head)
		t->v[*tail - 1].next = (uint32_t)i + 1;
	else
		*head = (uint32_t)i + 1;
	*tail = (uint32_t)i + 1;
}

/* Tails of the chains are only needed while building. */
static int table_index(struct table *t)
{
	_cleanup_free_ uint32_t *tails = NULL;
	size_t size = 16;
	uint32_t any_tail = 0;

	while (size < t->n * 2)
		size *= 2;
	t->mask = size - 1;
	t->slots = calloc(size, sizeof(*t->slots));
	tails = calloc(size, sizeof(*tails));
	if (!t->slots || !tails)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		struct bawn_rule *r = &t->v[i];
		size_t s;

		if (r->kind == BAWN_RULE_ANY) {
			append(t, &t->any, &any_tail, i);
			continue;
		}
		if (r->kind == BAWN_RULE_ADDRESS)
			t->sizes[r->family == AF_INET6][r->bits / 8] |= (uint8_t)(1 << r->bits % 8);
		s = slot_of(r->kind == BAWN_RULE_NAME ? hash_name(r->name)
						      : hash_block(r->family, r->addr, r->bits),
			t);
		while (t->slots[s] && !same_host(&t->v[t->slots[s] - 1], r))
			s = (s + 1) & t->mask;
		append(t, &t->slots[s], &tails[s], i);
	}
	return 0;
}

static int table_compile(
	const char *const *text, bool block, struct table *t, struct bawn_error *err)
{
	size_t n = 0;
	int r;

	while (text && text[n])
		n++;
	if (n > RULES_MAX)
		return bawn_fail(
			err, BAWN_ERR_POLICY, -E2BIG, "%zu rules; %d are possible", n, RULES_MAX);
	t->v = calloc(n ? n : 1, sizeof(*t->v));
	if (!t->v)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	for (; t->n < n; t->n++) {
		r = bawn_rule_parse(text[t->n], block, &t->v[t->n], err);
		if (r < 0)
			return r;
	}
	if (table_index(t) < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	return 0;
}

static void table_done(struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		bawn_rule_done(&t->v[i]);
	free(t->v);
	free(t->slots);
}

struct bawn_egress_rules *bawn_egress_rules_free(struct bawn_egress_rules *r)
{
	if (r) {
		table_done(&r->allow);
		table_done(&r->block);
		free(r);
	}
	return NULL;
}

BAWN_DEFINE_CLEANUP(struct bawn_egress_rules, rules, bawn_egress_rules_free)

int bawn_egress_rules_compile(const struct bawn_egress_source *src, struct bawn_egress_rules **ret,
	struct bawn_error *err)
{
	_cleanup_(cleanup_rules_p) struct bawn_egress_rules *r = calloc(1, sizeof(*r));
	int k;

	if (!r)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	r->mode = src->mode;
	r->ssrf = src->ssrf;
	r->block_private = src->block_private;
	k = table_compile(src->allow, false, &r->allow, err);
	if (k < 0)
		return k;
	k = table_compile(src->block, true, &r->block, err);
	if (k < 0)
		return k;
	*ret = TAKE_PTR(r);
	return 0;
}

/* What is looked for, carried through the lookups of one decision. */
struct search {
	const struct table *t;
	bool block;
	bool named; /* only rules that open an address by naming it */
	const struct bawn_egress_ask *ask;
	struct near near;
};

static const struct bawn_rule *search_chain(struct search *s, uint32_t head, bool below)
{
	for (uint32_t i = head; i; i = s->t->v[i - 1].next) {
		const struct bawn_rule *r = &s->t->v[i - 1];
		enum bawn_rule_fit fit;

		if (r->kind == BAWN_RULE_NAME && !(below ? r->below : r->self))
			continue;
		if (s->named && !r->nameable)
			continue;
		fit = bawn_rule_fit(r, s->block, s->ask);
		if (fit == BAWN_FIT_YES)
			return r;
		if (!s->near.rule || fit > s->near.fit)
			s->near = (struct near){r, fit};
	}
	return NULL;
}

static const struct bawn_rule *search_name(struct search *s, const char *name)
{
	const struct table *t = s->t;
	uint64_t h = HASH_START;

	for (size_t i = strlen(name); i > 0; i--) {
		const struct bawn_rule *r;
		size_t slot;

		h = hash_byte(h, (uint8_t)name[i - 1]);
		if (i > 1 && name[i - 2] != '.')
			continue;
		for (slot = slot_of(h, t); t->slots[slot]; slot = (slot + 1) & t->mask) {
			r = &t->v[t->slots[slot] - 1];
			if (r->kind != BAWN_RULE_NAME || strcmp(r->name, name + i - 1) != 0)
				continue;
			r = search_chain(s, t->slots[slot], i > 1);
			if (r)
				return r;
			break;
		}
	}
	return NULL;
}

static const struct bawn_rule *search_address(struct search *s, int family, const uint8_t *addr)
{
	const struct table *t = s->t;
	const uint8_t *sizes = t->sizes[family == AF_INET6];

	for (unsigned n = family == AF_INET ? 33 : 129; n > 0; n--) {
		unsigned bits = n - 1;
		const struct bawn_rule *r;
		size_t slot;

		if (!(sizes[bits / 8] & 1 << bits % 8))
			continue;
		for (slot = slot_of(hash_block(family, addr, bits), t); t->slots[slot];
			slot = (slot + 1) & t->mask) {
			r = &t->v[t->slots[slot] - 1];
			if (r->kind != BAWN_RULE_ADDRESS || r->family != family ||
				r->bits != bits || !bawn_address_in_block(addr, r->addr, bits))
				continue;
			r = search_chain(s, t->slots[slot], false);
			if (r)
				return r;
			break;
		}
	}
	return NULL;
}

/* A block rule about an IPv4 address also means that address inside an IPv6 one. */
static const struct bawn_rule *search_wrapped(struct search *s, int family, const uint8_t *addr)
{
	const struct bawn_rule *r = search_address(s, family, addr);
	uint8_t inner[2][4];
	size_t n = bawn_address_unwrap(family, addr, inner);

	for (size_t i = 0; !r && i < n; i++)
		r = search_address(s, AF_INET, inner[i]);
	return r;
}

static const struct bawn_rule *search_host(struct search *s, const struct bawn_host *host)
{
	int family = host->kind == BAWN_HOST_V4 ? AF_INET : AF_INET6;
	const struct bawn_rule *r;

	if (host->kind == BAWN_HOST_NAME)
		r = search_name(s, host->text);
	else if (s->block)
		r = search_wrapped(s, family, host->addr);
	else
		r = search_address(s, family, host->addr);
	return r ? r : search_chain(s, s->t->any, false);
}

static void set_rule(struct bawn_egress_answer *a, const char *text)
{
	size_t n = strlen(text);

	if (n >= sizeof(a->rule))
		n = sizeof(a->rule) - 1;
	memcpy(a->rule, text, n);
	a->rule[n] = '\0';
}

__attribute__((format(printf, 2, 3))) static void say(
	struct bawn_egress_answer *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(a->reason, sizeof(a->reason), fmt, ap);
	va_end(ap);
}

static const char *mode_name(enum bawn_egress_mode mode)
{
	switch (mode) {
	case BAWN_EGRESS_DENY:
		return "network.mode: deny";
	case BAWN_EGRESS_ALLOWLIST:
		return "network.mode: allowlist";
	case BAWN_EGRESS_BLOCKLIST:
		return "network.mode: blocklist";
	case BAWN_EGRESS_OPEN:
		return "network.mode: open";
	case BAWN_EGRESS_CLOSED:
		break;
	}
	return "network.mode: closed";
}

/* What to write into the allow list for this request. */
static const char *suggestion(const struct bawn_egress_ask *ask, char *dst, size_t size)
{
	bool v6 = ask->host->kind == BAWN_HOST_V6;
	bool port = ask->way != BAWN_WAY_DNS && ask->port != 80 && ask->port != 443;
	char digits[8];

	(void)snprintf(digits, sizeof(digits), ":%u", ask->port);
	(void)snprintf(dst, size, "%s%.120s%s%s", v6 && port ? "[" : "", ask->host->text,
		v6 && port ? "]" : "", port ? digits : "");
	return dst;
}

static void explain(
	const struct bawn_egress_ask *ask, const struct near *near, struct bawn_egress_answer *a)
{
	static const char *const not [] = {
		[BAWN_FIT_YES] = "",
		[BAWN_FIT_NOT_PORT] = "does not cover the port",
		[BAWN_FIT_NOT_TUNNEL] = "names a method or path, which a tunnel hides",
		[BAWN_FIT_NOT_METHOD] = "does not cover the method",
		[BAWN_FIT_NOT_PATH] = "does not cover the path",
		[BAWN_FIT_ODD_PATH] = "names a path, and this one can be read in two ways",
	};
	char what[160];

	(void)suggestion(ask, what, sizeof(what));
	if (near->rule)
		say(a,
			"'%s' is not allowed: rule '%.60s' %s; to allow it, add '%s' to "
			"network.allow_hosts (--allow-host)",
			what, near->rule->text, not [near->fit], what);
	else
		say(a,
			"'%s' is not on the allow list; to allow it, add it to network.allow_hosts "
			"(--allow-host '%s')",
			what, what);
}

static bool off(const struct bawn_egress_rules *r)
{
	return r->mode != BAWN_EGRESS_ALLOWLIST && r->mode != BAWN_EGRESS_BLOCKLIST &&
	       r->mode != BAWN_EGRESS_OPEN;
}

void bawn_egress_decide(const struct bawn_egress_rules *r, const struct bawn_egress_ask *ask,
	struct bawn_egress_answer *ret)
{
	struct search block = {&r->block, .block = true, .ask = ask};
	struct search allow = {&r->allow, .ask = ask};
	const struct bawn_rule *hit;

	ret->allowed = false;
	ret->reason[0] = '\0';
	set_rule(ret, mode_name(r->mode));
	if (off(r)) {
		say(ret,
			"the network is off (%s); to allow '%.120s', set network.mode: allowlist "
			"and add it to network.allow_hosts",
			mode_name(r->mode), ask->host->text);
		return;
	}
	hit = search_host(&block, ask->host);
	if (hit) {
		set_rule(ret, hit->text);
		say(ret, "'%.120s' is blocked by rule '%.60s' of network.block_hosts%s",
			ask->host->text, hit->text,
			(hit->methods || hit->path) && ask->way != BAWN_WAY_HTTP
				? ", which names a method or path that a tunnel hides"
				: "");
		return;
	}
	if (r->mode != BAWN_EGRESS_ALLOWLIST) {
		ret->allowed = true;
		return;
	}
	hit = search_host(&allow, ask->host);
	if (!hit) {
		explain(ask, &allow.near, ret);
		return;
	}
	set_rule(ret, hit->text);
	ret->allowed = true;
}

/* Whether the address rules let this class through when nobody named the address. */
static bool class_open(const struct bawn_egress_rules *r, enum bawn_address_class c)
{
	return c == BAWN_ADDR_PUBLIC ||
	       ((c == BAWN_ADDR_PRIVATE || c == BAWN_ADDR_CGNAT) && !r->block_private);
}

static bool can_be_named(enum bawn_address_class c)
{
	return c == BAWN_ADDR_PRIVATE || c == BAWN_ADDR_CGNAT || c == BAWN_ADDR_TEST;
}

static void explain_address(const struct bawn_egress_ask *ask, enum bawn_address_class c,
	const char *text, struct bawn_egress_answer *a)
{
	bool v6 = strchr(text, ':') != NULL;
	char how[120];

	if (can_be_named(c))
		(void)snprintf(how, sizeof(how),
			"; to allow it, add '%s%s%s:%u' to network.allow_hosts (--allow-host)",
			v6 ? "[" : "", text, v6 ? "]" : "", ask->port);
	else if (c == BAWN_ADDR_LOOPBACK)
		(void)snprintf(how, sizeof(how),
			"; a port of this host is reached with network.loopback_ports "
			"(--loopback-port)");
	else
		(void)snprintf(how, sizeof(how), "; no rule can allow it");
	set_rule(a, "network.ssrf");
	if (ask->host->kind == BAWN_HOST_NAME)
		say(a, "'%.80s' resolves to %s, a %s address%s", ask->host->text, text,
			bawn_address_class_name(c), how);
	else
		say(a, "%s is a %s address%s", text, bawn_address_class_name(c), how);
}

void bawn_egress_decide_address(const struct bawn_egress_rules *r,
	const struct bawn_egress_ask *ask, const struct bawn_own_addresses *own, int family,
	const uint8_t *addr, struct bawn_egress_answer *ret)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct search block = {&r->block, .block = true, .ask = ask};
	struct search allow = {&r->allow, .named = true, .ask = ask};
	char text[INET6_ADDRSTRLEN] = "?";
	const struct bawn_rule *hit;
	enum bawn_address_class c;

	ret->allowed = false;
	ret->reason[0] = '\0';
	set_rule(ret, mode_name(r->mode));
	if (off(r) || (family != AF_INET && family != AF_INET6)) {
		say(ret, "the network is off (%s)", mode_name(r->mode));
		return;
	}
	/* The kernel dials IPv4 for a mapped address. */
	if (family == AF_INET6 && bawn_address_in_block(addr, mapped, 96)) {
		family = AF_INET;
		addr += 12;
	}
	(void)inet_ntop(family, addr, text, sizeof(text));
	hit = search_wrapped(&block, family, addr);
	if (hit) {
		set_rule(ret, hit->text);
		say(ret, "'%.120s' is at %s, which rule '%.60s' of network.block_hosts blocks",
			ask->host->text, text, hit->text);
		return;
	}
	c = bawn_address_classify(family, addr);
	/* The own addresses include the loopback ones; those have the better advice. */
	if (own && c != BAWN_ADDR_LOOPBACK && bawn_own_addresses_has(own, family, addr))
		c = BAWN_ADDR_OWN;
	ret->allowed = !r->ssrf || class_open(r, c);
	if (ret->allowed)
		return;
	hit = can_be_named(c) ? search_address(&allow, family, addr) : NULL;
	ret->allowed = hit != NULL;
	if (hit)
		set_rule(ret, hit->text);
	else
		explain_address(ask, c, text, ret);
}
