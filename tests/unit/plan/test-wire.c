/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as bytes: comes back whole, and no damage to the bytes does harm. */
#include <errno.h>

#include "harness.h"
#include "plan/wire.h"

static const char *const words[] = {"one", "", "three words\n", NULL};
static const char *const none[] = {NULL};

static struct bawn_mount mounts[] = {
	{.kind = BAWN_MNT_RO, .src = "/usr", .dst = "/usr", .rule = "built in", .optional = true},
	{.kind = BAWN_MNT_RW, .src = "/w", .dst = "/w", .no_exec = true, .pin = true},
	{.kind = BAWN_MNT_RO, .src = "/w/.git", .dst = "/w/.git", .protect = true, .rule = "p"},
	{.kind = BAWN_MNT_SCRATCH, .dst = "/tmp", .rule = "limits.disk"},
	{.kind = BAWN_MNT_FILE, .src = "text\n", .dst = "/etc/x"},
};
static struct bawn_guard guards[] = {{.dir = "/w", .name = ".claude", .rule = ".claude"}};
static const uint16_t ports[] = {80, 65535};
static const struct bawn_egress_plan egress = {.mode = BAWN_NET_ALLOWLIST,
	.allow = words,
	.block = none,
	.development = true,
	.block_private = true,
	.host_bytes = BAWN_UNLIMITED,
	.host_rate_milli = 1500,
	.proxy_port = 3128,
	.capture_port = 3129};

static struct bawn_plan rich(void)
{
	return (struct bawn_plan){.demanded = 0xfeed,
		.may_miss = 0x10,
		.tier = BAWN_TIER_NEAR,
		.exe = "/bin/sh",
		.argv = words,
		.envp = words,
		.cwd = "/w/sub",
		.workspace = "/w",
		.hostname = "bawn",
		.mounts = mounts,
		.n_mounts = sizeof(mounts) / sizeof(mounts[0]),
		.guards = guards,
		.n_guards = 1,
		.protect = words,
		.n_protect = 3,
		.deny = words,
		.n_deny = 2,
		.no_exec = words,
		.n_no_exec = 1,
		.writable = words,
		.n_writable = 1,
		.loopback_ports = ports,
		.n_loopback_ports = 2,
		.egress = &egress,
		.unix_open = true,
		.sys_allow = words,
		.sys_deny = none,
		.limits = {1, 2, 3, 4, 5, 6, 7, BAWN_UNLIMITED, 9},
		.pty = true,
		.backend = {.image = "debian:12",
			.image_writable = true,
			.engine_runtime = "",
			.gvisor_engine = "auto",
			.vm_kernel = "",
			.wasm_library = "",
			.wasm_fuel = 77,
			.seatbelt_profile = "strict"},
		.note = "a remark"};
}

static const struct bawn_plan *there_and_back(struct bawn_arena *a, const struct bawn_plan *plan)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const struct bawn_plan *p = NULL;
	struct bawn_error err = {0};

	bawn_plan_encode(plan, &b);
	ASSERT_EQ(b.failed, 0);
	if (bawn_plan_decode(a, b.data, b.len, &p, &err) < 0)
		FAIL("%s", err.msg);
	return p;
}

static void assert_same_list(const char *const *got, const char *const *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ASSERT_STREQ(got[i], want[i]);
}

/* What is the same again as bytes is the same. */
TEST(comes_back_whole)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_buf_ struct bawn_buf one = {0}, two = {0};
	struct bawn_plan plan = rich();
	const struct bawn_plan *p = there_and_back(a, &plan);

	bawn_plan_encode(&plan, &one);
	bawn_plan_encode(p, &two);
	ASSERT_EQ(one.len, two.len);
	ASSERT_EQ(memcmp(one.data, two.data, one.len), 0);
}

TEST(strings_and_lists)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_plan plan = rich();
	const struct bawn_plan *p = there_and_back(a, &plan);

	ASSERT_STREQ(p->exe, "/bin/sh");
	assert_same_list(p->argv, words, 3);
	ASSERT_TRUE(!p->argv[3]);
	ASSERT_EQ(p->n_deny, 2);
	assert_same_list(p->deny, words, 2);
	ASSERT_TRUE(p->sys_deny && !p->sys_deny[0]);
	ASSERT_STREQ(p->note, "a remark");
	ASSERT_TRUE(!p->policy && !p->call);
	ASSERT_EQ(p->loopback_ports[1], 65535);
}

TEST(mounts_and_guards)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_plan plan = rich();
	const struct bawn_plan *p = there_and_back(a, &plan);

	ASSERT_EQ(p->n_mounts, 5);
	ASSERT_EQ(p->mounts[1].kind, BAWN_MNT_RW);
	ASSERT_TRUE(p->mounts[1].no_exec && p->mounts[1].pin && !p->mounts[1].protect);
	ASSERT_TRUE(p->mounts[2].protect);
	ASSERT_TRUE(!p->mounts[3].src);
	ASSERT_STREQ(p->mounts[4].src, "text\n");
	ASSERT_STREQ(p->guards[0].name, ".claude");
}

TEST(numbers)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_plan plan = rich();
	const struct bawn_plan *p = there_and_back(a, &plan);

	ASSERT_EQ(p->demanded, 0xfeed);
	ASSERT_EQ(p->tier, BAWN_TIER_NEAR);
	ASSERT_TRUE(p->limits.time_ms == BAWN_UNLIMITED && p->limits.output == 9);
	ASSERT_TRUE(p->pty && p->unix_open && !p->net_closed);
	ASSERT_EQ(p->egress->capture_port, 3129);
	ASSERT_EQ(p->egress->mode, BAWN_NET_ALLOWLIST);
	ASSERT_EQ(p->backend.wasm_fuel, 77);
	ASSERT_STREQ(p->backend.image, "debian:12");
}

TEST(without_network)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_plan plan = rich();

	plan.egress = NULL;
	plan.sys_allow = NULL;
	plan.n_mounts = 0;
	plan.mounts = NULL;
	const struct bawn_plan *p = there_and_back(a, &plan);
	ASSERT_TRUE(!p->egress);
	ASSERT_TRUE(p->sys_allow && !p->sys_allow[0]);
	ASSERT_EQ(p->n_mounts, 0);
}

/* Each shorter piece, and anything behind it, is refused. */
TEST(cut_short_or_too_long)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	struct bawn_plan plan = rich();
	const struct bawn_plan *p = NULL;

	bawn_plan_encode(&plan, &b);
	for (size_t n = 0; n < b.len; n++) {
		_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
		_cleanup_free_ char *copy = malloc(n + 1);

		ASSERT_TRUE(copy != NULL);
		memcpy(copy, b.data, n);
		ASSERT_EQ(bawn_plan_decode(a, copy, n, &p, NULL), -EPROTO);
	}
	bawn_buf_add(&b, "x", 1);
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	ASSERT_EQ(bawn_plan_decode(a, b.data, b.len, &p, NULL), -EPROTO);
}

TEST(another_version)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_buf_ struct bawn_buf b = {0};
	struct bawn_plan plan = rich();
	const struct bawn_plan *p = NULL;

	bawn_plan_encode(&plan, &b);
	b.data[0] ^= 2;
	ASSERT_EQ(bawn_plan_decode(a, b.data, b.len, &p, NULL), -EPROTO);
}

/* A count that promises more than there is must not cost memory. */
TEST(huge_counts)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	struct bawn_plan plan = rich();
	const struct bawn_plan *p = NULL;

	bawn_plan_encode(&plan, &b);
	for (size_t i = 0; i + 4 <= b.len; i++) {
		_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
		_cleanup_free_ char *copy = malloc(b.len);

		ASSERT_TRUE(copy != NULL);
		memcpy(copy, b.data, b.len);
		memset(copy + i, 0x7f, 4);
		(void)bawn_plan_decode(a, copy, b.len, &p, NULL); /* may be a plan still */
	}
}
