/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "fixture.h"
#include "policy/entry.h"
#include "policy/value.h"

TEST(numbers)
{
	static const struct {
		enum bawn_unit unit;
		const char *text;
		int r;
		uint64_t v;
	} t[] = {
		{BAWN_UNIT_SIZE, "0", 0, 0},
		{BAWN_UNIT_SIZE, "10k", 0, 10240},
		{BAWN_UNIT_SIZE, "512m", 0, 512ull << 20},
		{BAWN_UNIT_SIZE, "1G", 0, 1ull << 30},
		{BAWN_UNIT_SIZE, "1GiB", 0, 1ull << 30},
		{BAWN_UNIT_SIZE, "3MiB", 0, 3ull << 20},
		{BAWN_UNIT_SIZE, "2KiB", 0, 2048},
		{BAWN_UNIT_SIZE, "unlimited", 0, BAWN_UNLIMITED},
		{BAWN_UNIT_SIZE, "18446744073709551614", 0, UINT64_MAX - 1},
		{BAWN_UNIT_SIZE, "18446744073709551615", -ERANGE, 0},
		{BAWN_UNIT_SIZE, "18446744073709551616", -ERANGE, 0},
		{BAWN_UNIT_SIZE, "16777216t", -ERANGE, 0},
		{BAWN_UNIT_SIZE, "", -EINVAL, 0},
		{BAWN_UNIT_SIZE, "-1", -EINVAL, 0},
		{BAWN_UNIT_SIZE, "+1", -EINVAL, 0},
		{BAWN_UNIT_SIZE, " 1", -EINVAL, 0},
		{BAWN_UNIT_SIZE, "1 m", -EINVAL, 0},
		{BAWN_UNIT_SIZE, "0x10", -EINVAL, 0},
		{BAWN_UNIT_SIZE, "1.5g", -EINVAL, 0},
		{BAWN_UNIT_SIZE, "m", -EINVAL, 0},
		{BAWN_UNIT_MSEC, "250ms", 0, 250},
		{BAWN_UNIT_MSEC, "250", 0, 250},
		{BAWN_UNIT_MSEC, "30s", 0, 30000},
		{BAWN_UNIT_MSEC, "5m", 0, 300000},
		{BAWN_UNIT_MSEC, "1h", 0, 3600000},
		{BAWN_UNIT_MSEC, "1g", -EINVAL, 0},
		{BAWN_UNIT_MSEC, "99999999999999999h", -ERANGE, 0},
		{BAWN_UNIT_COUNT, "17", 0, 17},
		{BAWN_UNIT_COUNT, "17k", -EINVAL, 0},
		{BAWN_UNIT_MILLI, "0.5", 0, 500},
		{BAWN_UNIT_MILLI, "2", 0, 2000},
		{BAWN_UNIT_MILLI, "1.234", 0, 1234},
		{BAWN_UNIT_MILLI, "1.2345", -EINVAL, 0},
		{BAWN_UNIT_MILLI, "1.", -EINVAL, 0},
		{BAWN_UNIT_MILLI, ".5", -EINVAL, 0},
		{BAWN_UNIT_MILLI, "18446744073709551.616", -ERANGE, 0},
		{BAWN_UNIT_MILLI, "99999999999999999", -ERANGE, 0},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t v = 0;
		int r = bawn_value_u64(t[i].unit, t[i].text, &v);

		if (r != t[i].r || (!r && v != t[i].v))
			FAIL("'%s' gives %d, %llu", t[i].text, r, (unsigned long long)v);
	}
}

TEST(reals)
{
	static const char *const bad[] = {
		"", "-0.1", "1.1", "nan", "inf", "1e-3", "0x1", ".", "1.2.3"};
	double v = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (bawn_value_real(bad[i], &v) >= 0)
			FAIL("'%s' was accepted", bad[i]);
	ASSERT_EQ(bawn_value_real("0.25", &v), 0);
	ASSERT_TRUE(v == 0.25);
}

TEST(formats)
{
	static const struct {
		enum bawn_field_id id;
		uint64_t v;
		const char *text;
	} t[] = {
		{BAWN_F_lim_memory, 4ull << 30, "4g"},
		{BAWN_F_lim_memory, 1025, "1025"},
		{BAWN_F_lim_memory, 0, "0"},
		{BAWN_F_lim_time, 600000, "10m"},
		{BAWN_F_lim_time, 250, "250ms"},
		{BAWN_F_lim_cpus, 500, "0.5"},
		{BAWN_F_lim_cpus, 10000, "10"},
		{BAWN_F_lim_cpus, 1234, "1.234"},
		{BAWN_F_lim_files, BAWN_UNLIMITED, "unlimited"},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct bawn_field *f = &bawn_fields[t[i].id];
		struct bawn_policy p = {0};
		char text[BAWN_VALUE_MAX];
		uint64_t back = 1;

		*(uint64_t *)bawn_member_mut(&p, f) = t[i].v;
		bawn_value_format(f, &p, text);
		ASSERT_STREQ(text, t[i].text);
		ASSERT_EQ(bawn_value_u64(f->unit, text, &back), 0);
		ASSERT_TRUE(back == t[i].v);
	}
}

TEST(hosts)
{
	static const struct {
		const char *raw, *clean;
	} t[] = {
		{"Example.ORG.", "example.org"},
		{"localhost", "localhost"},
		{"*.example.org", "*.example.org"},
		{".example.org", ".example.org"},
		{"*", "*"},
		{"example.org:443", "example.org:443"},
		{"10.0.0.1", "10.0.0.1"},
		{"10.0.0.1:80", "10.0.0.1:80"},
		{"::1", "::1"},
		{"0:0:0:0:0:0:0:1", "::1"},
		{"[::1]", "::1"},
		{"[::1]:8080", "[::1]:8080"},
		{"a_b.x-y.test", "a_b.x-y.test"},
		{"", NULL},
		{".", NULL},
		{"*.", NULL},
		{"**.x.test", NULL},
		{"a.*.test", NULL},
		{"*x.test", NULL},
		{"http://x.test", NULL},
		{"x.test/path", "x.test/path"},
		{"u@x.test", NULL},
		{"a b c", NULL},
		{"*.com", NULL},
		{"a..b", NULL},
		{"-a.test", NULL},
		{"x.test:", NULL},
		{"x.test:0", NULL},
		{"x.test:65536", NULL},
		{"x.test:8a", NULL},
		{"127.1", NULL},
		{"0x7f.0.0.1", NULL},
		{"1.2.3.0x4", NULL},
		{"256.1.1.1", NULL},
		{"[::1", NULL},
		{"[x.test]", NULL},
		{"[::1]x", NULL},
		{"b\xc3\xbc"
		 "cher.test",
			NULL},
	};

	setup();
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const char *clean = NULL, *why = NULL;
		int r = bawn_host_clean(arena, t[i].raw, false, &clean, &why);

		if ((r < 0) != !t[i].clean)
			FAIL("'%s' gives %d", t[i].raw, r);
		if (t[i].clean)
			ASSERT_STREQ(clean, t[i].clean);
	}
}
