/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units, both ways. What is printed is read back as the same value. */
#include "policy/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct suffix {
	const char *name;
	uint64_t factor;
};

static const struct suffix size_suffixes[] = {
	{"", 1},
	{"b", 1},
	{"k", 1ull << 10},
	{"kb", 1ull << 10},
	{"kib", 1ull << 10},
	{"m", 1ull << 20},
	{"mb", 1ull << 20},
	{"mib", 1ull << 20},
	{"g", 1ull << 30},
	{"gb", 1ull << 30},
	{"gib", 1ull << 30},
	{"t", 1ull << 40},
	{"tb", 1ull << 40},
	{"tib", 1ull << 40},
	{NULL, 0},
};
static const struct suffix time_suffixes[] = {
	{"", 1},
	{"ms", 1},
	{"s", 1000},
	{"m", 60000},
	{"h", 3600000},
	{"d", 86400000},
	{NULL, 0},
};
static const struct suffix no_suffixes[] = {{"", 1}, {NULL, 0}};

static const struct suffix *suffixes_of(enum bawn_unit unit)
{
	if (unit == BAWN_UNIT_SIZE)
		return size_suffixes;
	return unit == BAWN_UNIT_MSEC ? time_suffixes : no_suffixes;
}

/* Decimal digits at *text; moves behind them. */
static int take_digits(const char **text, uint64_t *ret)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	for (; isdigit((unsigned char)**text); (*text)++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
			__builtin_add_overflow(v, (uint64_t)(**text - '0'), &v))
			return -ERANGE;
	*ret = v;
	return 0;
}

/* 0.5 is 500; more than three decimals would be lost and so are refused. */
static int parse_milli(const char *text, uint64_t *ret)
{
	uint64_t v, scale = 100;
	int r = take_digits(&text, &v);

	if (r < 0)
		return r;
	if (__builtin_mul_overflow(v, 1000u, &v))
		return -ERANGE;
	if (*text == '.') {
		text++;
		for (; isdigit((unsigned char)*text) && scale; text++, scale /= 10)
			if (__builtin_add_overflow(v, (uint64_t)(*text - '0') * scale, &v))
				return -ERANGE;
		if (scale == 100)
			return -EINVAL;
	}
	if (*text)
		return -EINVAL;
	if (v == BAWN_UNLIMITED)
		return -ERANGE;
	*ret = v;
	return 0;
}

int bawn_value_u64(enum bawn_unit unit, const char *text, uint64_t *ret)
{
	uint64_t v;
	int r;

	if (!strcmp(text, "unlimited")) {
		*ret = BAWN_UNLIMITED;
		return 0;
	}
	if (unit == BAWN_UNIT_MILLI)
		return parse_milli(text, ret);
	r = take_digits(&text, &v);
	if (r < 0)
		return r;
	for (const struct suffix *s = suffixes_of(unit); s->name; s++) {
		if (strcasecmp(s->name, text) != 0)
			continue;
		if (__builtin_mul_overflow(v, s->factor, &v) || v == BAWN_UNLIMITED)
			return -ERANGE;
		*ret = v;
		return 0;
	}
	return -EINVAL;
}

int bawn_value_real(const char *text, double *ret)
{
	char *end;
	double v;

	/* strtod alone would also take spaces, hex, nan and inf */
	if (!*text || text[strspn(text, "0123456789.")])
		return -EINVAL;
	v = strtod(text, &end);
	if (*end)
		return -EINVAL;
	if (!(v >= 0.0 && v <= 1.0))
		return -ERANGE;
	*ret = v;
	return 0;
}

int bawn_value_bool(const char *text, bool *ret)
{
	static const char *const yes[] = {"true", "yes", "on"}, *const no[] = {
									"false", "no", "off"};

	for (size_t i = 0; i < 3; i++) {
		if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
			*ret = !strcasecmp(text, yes[i]);
			return 0;
		}
	}
	return -EINVAL;
}

const char *bawn_unit_hint(enum bawn_unit unit)
{
	switch (unit) {
	case BAWN_UNIT_SIZE:
		return "a size such as 65536, 512m, 4g or unlimited";
	case BAWN_UNIT_MSEC:
		return "a time such as 250ms, 30s, 5m, 1h or unlimited";
	case BAWN_UNIT_MILLI:
		return "a number such as 0.5, 2 or unlimited";
	case BAWN_UNIT_COUNT:
	default:
		return "a whole number or unlimited";
	}
}

/* The largest unit that leaves nothing over. */
static void format_u64(enum bawn_unit unit, uint64_t v, char dst[BAWN_VALUE_MAX])
{
	const struct suffix *best = NULL;

	if (v == BAWN_UNLIMITED) {
		(void)snprintf(dst, BAWN_VALUE_MAX, "unlimited");
		return;
	}
	if (unit == BAWN_UNIT_MILLI) {
		int n = snprintf(
			dst, BAWN_VALUE_MAX, "%" PRIu64 ".%03u", v / 1000, (unsigned)(v % 1000));

		while (n > 0 && dst[n - 1] == '0')
			dst[--n] = '\0';
		if (n > 0 && dst[n - 1] == '.')
			dst[n - 1] = '\0';
		return;
	}
	for (const struct suffix *s = suffixes_of(unit); s->name; s++)
		if (v && v % s->factor == 0 && (!best || s->factor > best->factor))
			best = s;
	if (best && best->factor == 1 && unit == BAWN_UNIT_MSEC)
		best = &time_suffixes[1];
	(void)snprintf(dst, BAWN_VALUE_MAX, "%" PRIu64 "%s", best ? v / best->factor : v,
		best ? best->name : "");
}

void bawn_value_format(
	const struct bawn_field *f, const struct bawn_policy *p, char dst[BAWN_VALUE_MAX])
{
	const void *m = bawn_member(p, f);

	dst[0] = '\0';
	switch (f->kind) {
	case BAWN_KIND_BOOL:
		(void)snprintf(dst, BAWN_VALUE_MAX, "%s", *(const bool *)m ? "true" : "false");
		break;
	case BAWN_KIND_U64:
		format_u64(f->unit, *(const uint64_t *)m, dst);
		break;
	case BAWN_KIND_REAL:
		(void)snprintf(dst, BAWN_VALUE_MAX, "%.9g", *(const double *)m);
		/* the reader takes no exponents */
		if (strchr(dst, 'e'))
			(void)snprintf(dst, BAWN_VALUE_MAX, "%.18f", *(const double *)m);
		break;
	case BAWN_KIND_ENUM:
		(void)snprintf(
			dst, BAWN_VALUE_MAX, "%s", bawn_enum_name(f->type, *(const unsigned *)m));
		break;
	case BAWN_KIND_STR:
	case BAWN_KIND_LIST:
	case BAWN_KIND_MAP:
	default:
		break;
	}
}
