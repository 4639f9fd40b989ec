/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `ip rule`, `ip route` and `nft` would do, as two netlink messages of our own:
 *
 *   ip rule add ipproto tcp lookup TABLE
 *   ip route add local default dev lo table TABLE
 *   nft add chain inet bawn out { type nat hook output priority dstnat; }
 *   nft add rule inet bawn out meta l4proto tcp ip daddr != 127.0.0.0/8 redirect to :PORT
 *
 * and the same for IPv6. Only TCP has a route, so that anything else is refused by the routing
 * itself, with an error and not with silence. The wall does not depend on any of this: what is not
 * led to the door has nowhere to go.
 */
#include "backend/native/redirect.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "base/cleanup.h"

#define TABLE    100
#define PRIORITY 1000
#define LOOPBACK 1 /* index of lo: the first interface of a namespace */

/* Messages back to back, as one datagram. */
struct batch {
	_Alignas(struct nlmsghdr) char buf[2048];
	size_t len;
	size_t msg; /* where the last message starts */
	uint32_t seq;
	bool full;
};

static void put(struct batch *b, const void *data, size_t len)
{
	if (b->len + NLMSG_ALIGN(len) > sizeof(b->buf)) {
		b->full = true;
		return;
	}
	if (len)
		memcpy(b->buf + b->len, data, len);
	b->len += NLMSG_ALIGN(len);
}

/* A length that was left open: bytes from `at` to the end. */
static void close_length(struct batch *b, size_t at, size_t size)
{
	uint32_t len = (uint32_t)(b->len - at);

	if (b->full)
		return;
	if (size == sizeof(uint16_t))
		memcpy(b->buf + at, &(uint16_t){(uint16_t)len}, size);
	else
		memcpy(b->buf + at, &len, size);
}

static void end_message(struct batch *b)
{
	close_length(b, b->msg, sizeof(uint32_t));
}

static void begin_message(
	struct batch *b, uint16_t type, uint16_t flags, const void *head, size_t len)
{
	struct nlmsghdr h = {.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = ++b->seq};

	b->msg = b->len;
	put(b, &h, sizeof(h));
	put(b, head, len);
}

static void attr(struct batch *b, uint16_t type, const void *data, size_t len)
{
	struct nlattr a = {.nla_len = (uint16_t)(sizeof(a) + len), .nla_type = type};

	put(b, &a, sizeof(a));
	put(b, data, len);
}

static size_t begin_nest(struct batch *b, uint16_t type)
{
	size_t at = b->len;
	struct nlattr a = {.nla_type = (uint16_t)(type | NLA_F_NESTED)};

	put(b, &a, sizeof(a));
	return at;
}

static void end_nest(struct batch *b, size_t at)
{
	close_length(b, at, sizeof(uint16_t));
}

static void attr_text(struct batch *b, uint16_t type, const char *text)
{
	attr(b, type, text, strlen(text) + 1);
}

static void attr_be32(struct batch *b, uint16_t type, uint32_t v)
{
	v = htonl(v);
	attr(b, type, &v, sizeof(v));
}

/* The answers are there when sendmsg returns: the kernel makes them on our time. */
static int answer_of(int fd, uint32_t last)
{
	_Alignas(struct nlmsghdr) char buf[8192];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		unsigned left = (unsigned)n;

		for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			const struct nlmsgerr *e = NLMSG_DATA(h);

			if (h->nlmsg_type != NLMSG_ERROR)
				continue;
			if (e->error || h->nlmsg_seq == last)
				return e->error;
		}
	}
	return n < 0 && errno != EAGAIN ? -errno : -EPROTO;
}

/* `last` is the message that is to be acknowledged; an error of any other ends it, too. */
static int talk(const struct batch *b, int protocol, uint32_t last)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

	if (b->full)
		return -ENOBUFS;
	if (fd < 0)
		return -errno;
	if (sendto(fd, b->buf, b->len, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	return answer_of(fd, last);
}

/* ---- routes ---- */

static void put_rule(struct batch *b, uint8_t family)
{
	const struct fib_rule_hdr head = {
		.family = family, .table = TABLE, .action = FR_ACT_TO_TBL};
	const uint32_t priority = PRIORITY;
	const uint8_t tcp = IPPROTO_TCP;

	begin_message(b, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
	attr(b, FRA_PRIORITY, &priority, sizeof(priority));
	attr(b, FRA_IP_PROTO, &tcp, sizeof(tcp));
	end_message(b);
}

static void put_route(struct batch *b, uint8_t family)
{
	const struct rtmsg head = {.rtm_family = family,
		.rtm_table = TABLE,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_scope = RT_SCOPE_HOST,
		.rtm_type = RTN_LOCAL};
	const uint32_t lo = LOOPBACK, self = htonl(INADDR_LOOPBACK);

	begin_message(b, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &head, sizeof(head));
	attr(b, RTA_OIF, &lo, sizeof(lo));
	if (family == AF_INET) /* else the source would be the destination itself */
		attr(b, RTA_PREFSRC, &self, sizeof(self));
	end_message(b);
}

static int make_routes(bool v6)
{
	struct batch b = {.len = 0};

	put_rule(&b, AF_INET);
	if (v6) {
		put_rule(&b, AF_INET6);
		put_route(&b, AF_INET6);
	}
	put_route(&b, AF_INET);
	return talk(&b, NETLINK_ROUTE, b.seq);
}

/* ---- rules ---- */

static const char table_name[] = "bawn", chain_name[] = "out";

/* One step of a rule: its attributes are numbers, and at most one holds a value to compare or load.
 */
struct step {
	const char *name;
	struct {
		uint16_t type;
		uint32_t value;
	} numbers[4];
	uint16_t data_type; /* 0: none */
	uint8_t data[16];
	uint8_t data_len;
};

static void put_step(struct batch *b, const struct step *s)
{
	size_t elem = begin_nest(b, NFTA_LIST_ELEM), data, value;

	attr_text(b, NFTA_EXPR_NAME, s->name);
	data = begin_nest(b, NFTA_EXPR_DATA);
	for (size_t i = 0; i < 4 && s->numbers[i].type; i++)
		attr_be32(b, s->numbers[i].type, s->numbers[i].value);
	if (s->data_type) {
		value = begin_nest(b, s->data_type);
		attr(b, NFTA_DATA_VALUE, s->data, s->data_len);
		end_nest(b, value);
	}
	end_nest(b, data);
	end_nest(b, elem);
}

#define LOAD(key_)                                        \
	{                                                 \
		"meta",                                   \
		{                                         \
			{NFTA_META_KEY, (key_)},          \
			{                                 \
				NFTA_META_DREG, NFT_REG_1 \
			}                                 \
		}                                         \
	}
#define LOAD_HEADER(offset_, len_)                                                            \
	{                                                                                     \
		"payload",                                                                    \
		{                                                                             \
			{NFTA_PAYLOAD_DREG, NFT_REG_1},                                       \
				{NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER},              \
				{NFTA_PAYLOAD_OFFSET, (offset_)}, {NFTA_PAYLOAD_LEN, (len_)}, \
		}                                                                             \
	}
#define COMPARE(op_, len_, ...)                                                           \
	{                                                                                 \
		"cmp", {{NFTA_CMP_SREG, NFT_REG_1}, {NFTA_CMP_OP, (op_)}}, NFTA_CMP_DATA, \
			{__VA_ARGS__}, (len_)                                             \
	}

/* Which packets: of this family, TCP, not to the loopback. */
static const struct step match_v4[] = {
	LOAD(NFT_META_NFPROTO),
	COMPARE(NFT_CMP_EQ, 1, NFPROTO_IPV4),
	LOAD(NFT_META_L4PROTO),
	COMPARE(NFT_CMP_EQ, 1, IPPROTO_TCP),
	LOAD_HEADER(16, 1), /* the first byte of the destination */
	COMPARE(NFT_CMP_NEQ, 1, 127),
};
static const struct step match_v6[] = {
	LOAD(NFT_META_NFPROTO),
	COMPARE(NFT_CMP_EQ, 1, NFPROTO_IPV6),
	LOAD(NFT_META_L4PROTO),
	COMPARE(NFT_CMP_EQ, 1, IPPROTO_TCP),
	LOAD_HEADER(24, 16),
	COMPARE(NFT_CMP_NEQ, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
};

static void begin_nft(struct batch *b, uint16_t type, uint16_t flags)
{
	const struct nfgenmsg head = {.nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0};

	begin_message(b, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, &head, sizeof(head));
}

static void put_mark(struct batch *b, uint16_t type)
{
	const struct nfgenmsg head = {.nfgen_family = AF_UNSPEC,
		.version = NFNETLINK_V0,
		.res_id = htons(NFNL_SUBSYS_NFTABLES)};

	begin_message(b, type, 0, &head, sizeof(head));
	end_message(b);
}

static void put_chain(struct batch *b)
{
	size_t hook;

	begin_nft(b, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL);
	attr_text(b, NFTA_TABLE_NAME, table_name);
	end_message(b);

	begin_nft(b, NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL);
	attr_text(b, NFTA_CHAIN_TABLE, table_name);
	attr_text(b, NFTA_CHAIN_NAME, chain_name);
	hook = begin_nest(b, NFTA_CHAIN_HOOK);
	attr_be32(b, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
	attr_be32(b, NFTA_HOOK_PRIORITY, (uint32_t)-100);
	end_nest(b, hook);
	attr_text(b, NFTA_CHAIN_TYPE, "nat");
	end_message(b);
}

static void put_redirect(struct batch *b, const struct step *match, size_t n, uint16_t port)
{
	const struct step load = {.name = "immediate",
		.numbers = {{NFTA_IMMEDIATE_DREG, NFT_REG_1}},
		.data_type = NFTA_IMMEDIATE_DATA,
		.data = {(uint8_t)(port >> 8), (uint8_t)port},
		.data_len = 2};
	const struct step redirect = {
		.name = "redir", .numbers = {{NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1}}};
	size_t list;

	begin_nft(b, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK);
	attr_text(b, NFTA_RULE_TABLE, table_name);
	attr_text(b, NFTA_RULE_CHAIN, chain_name);
	list = begin_nest(b, NFTA_RULE_EXPRESSIONS);
	for (size_t i = 0; i < n; i++)
		put_step(b, &match[i]);
	put_step(b, &load);
	put_step(b, &redirect);
	end_nest(b, list);
	end_message(b);
}

static int make_rules(uint16_t port, bool v6)
{
	struct batch b = {.len = 0};
	uint32_t last;

	put_mark(&b, NFNL_MSG_BATCH_BEGIN);
	put_chain(&b);
	if (v6)
		put_redirect(&b, match_v6, sizeof(match_v6) / sizeof(match_v6[0]), port);
	put_redirect(&b, match_v4, sizeof(match_v4) / sizeof(match_v4[0]), port);
	last = b.seq;
	put_mark(&b, NFNL_MSG_BATCH_END);
	return talk(&b, NETLINK_NETFILTER, last);
}

int bawn_redirect(uint16_t port, bool v6, const char **ret_what)
{
	int r = make_rules(port, v6);

	*ret_what = "nftables";
	if (r < 0)
		return r;
	/* last: without the rules a connection would arrive at whatever listens inside */
	*ret_what = "routes by protocol";
	return make_routes(v6);
}
