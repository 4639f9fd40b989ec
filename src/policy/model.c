/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables behind fields.def: each setting's type, place in struct bawn_policy, default and rule
 * of tightening, and the words of the enums.
 */
#include "policy/model.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/value.h"

static_assert(sizeof(enum bawn_level) == sizeof(unsigned), "enums are read as unsigned");

#define COMMON(member, k, kind_, tighter_, help_)                                  \
	.key = (k), .kind = BAWN_KIND_##kind_, .tighter = BAWN_TIGHTER_##tighter_, \
	.offset = offsetof(struct bawn_policy, member), .tighter_name = #tighter_, .help = (help_)

const struct bawn_field bawn_fields[BAWN_FIELD_COUNT] = {
#define BAWN_BOOL(member, k, def, t, help) {COMMON(member, k, BOOL, t, help), .type = ""},
#define BAWN_U64(member, k, u, def, t, help) \
	{COMMON(member, k, U64, t, help), .unit = BAWN_UNIT_##u, .type = #u},
#define BAWN_REAL(member, k, def, t, help)     {COMMON(member, k, REAL, t, help), .type = ""},
#define BAWN_ENUM(member, k, ty, def, t, help) {COMMON(member, k, ENUM, t, help), .type = #ty},
#define BAWN_STR(member, k, def, t, help) \
	{COMMON(member, k, STR, t, help), .type = "", .def_text = (def)},
#define BAWN_LIST(member, k, e, def, t, help) \
	{COMMON(member, k, LIST, t, help), .elem = BAWN_ELEM_##e, .type = #e, .def_text = (def)},
#define BAWN_MAP(member, k, t, help) {COMMON(member, k, MAP, t, help), .type = ""},
#include "policy/fields.def"
#undef BAWN_BOOL
#undef BAWN_U64
#undef BAWN_REAL
#undef BAWN_ENUM
#undef BAWN_STR
#undef BAWN_LIST
#undef BAWN_MAP
};

void bawn_defaults_scalar(struct bawn_policy *p)
{
#define BAWN_BOOL(member, k, def, t, help)     p->member = (def);
#define BAWN_U64(member, k, u, def, t, help)   p->member = (def);
#define BAWN_REAL(member, k, def, t, help)     p->member = (def);
#define BAWN_ENUM(member, k, ty, def, t, help) p->member = (def);
#define BAWN_STR(member, k, def, t, help)      p->member = (def);
#define BAWN_LIST(member, k, e, def, t, help)
#define BAWN_MAP(member, k, t, help)
#include "policy/fields.def"
#undef BAWN_BOOL
#undef BAWN_U64
#undef BAWN_REAL
#undef BAWN_ENUM
#undef BAWN_STR
#undef BAWN_LIST
#undef BAWN_MAP
}

static const char *const level_words[] = {"none", "process", "wasm", "container", "vm", NULL};
static const char *const isolation_words[] = {
	"off", "default", "enhanced", "container", "maximum", NULL};
static const char *const prefer_words[] = {"fastest", "strongest", NULL};
static const char *const fsmode_words[] = {"full", "scoped", "read-only", "deny", NULL};
static const char *const netmode_words[] = {
	"open", "blocklist", "allowlist", "deny", "closed", NULL};
static const char *const leak_action_words[] = {"warn", "redact", "block", NULL};
static const char *const shellmode_words[] = {"full", "restricted", "deny", NULL};

static const struct {
	const char *type;
	const char *const *words;
} enums[] = {
	{"level", level_words},
	{"isolation", isolation_words},
	{"prefer", prefer_words},
	{"fsmode", fsmode_words},
	{"netmode", netmode_words},
	{"leak_action", leak_action_words},
	{"shellmode", shellmode_words},
};

static const char *const *words_of(const char *type)
{
	for (size_t i = 0; i < sizeof(enums) / sizeof(enums[0]); i++)
		if (!strcmp(enums[i].type, type))
			return enums[i].words;
	return NULL;
}

const char *bawn_enum_name(const char *type, unsigned value)
{
	const char *const *words = words_of(type);

	for (unsigned i = 0; words && words[i]; i++)
		if (i == value)
			return words[i];
	return NULL;
}

int bawn_enum_find(const char *type, const char *word)
{
	const char *const *words = words_of(type);

	for (int i = 0; words && words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	return -EINVAL;
}

void bawn_enum_words(const char *type, char *dst, size_t size)
{
	const char *const *words = words_of(type);
	size_t n = 0;

	dst[0] = '\0';
	for (size_t i = 0; words && words[i] && n < size; i++) {
		int m = snprintf(dst + n, size - n, "%s%s", i ? ", " : "", words[i]);

		n += m > 0 ? (size_t)m : 0;
	}
}

const char *bawn_layer_name(enum bawn_layer layer)
{
	static const char *const names[BAWN_LAYER_COUNT] = {
		[BAWN_LAYER_DEFAULT] = "default",
		[BAWN_LAYER_ADMIN] = "admin",
		[BAWN_LAYER_USER] = "user",
		[BAWN_LAYER_OPERATOR] = "operator",
		[BAWN_LAYER_WORKSPACE] = "workspace",
	};

	assert((unsigned)layer < BAWN_LAYER_COUNT);
	return names[layer];
}

const struct bawn_field *bawn_field_find(const char *key)
{
	for (size_t i = 0; i < BAWN_FIELD_COUNT; i++)
		if (!strcmp(bawn_fields[i].key, key))
			return &bawn_fields[i];
	return NULL;
}

size_t bawn_field_index(const struct bawn_field *f)
{
	return (size_t)(f - bawn_fields);
}

const struct bawn_field_info *bawn_field_at(size_t i)
{
	static const char *const kinds[] = {
		"bool", "number", "real", "enum", "text", "list", "map"};
	static struct bawn_field_info infos[BAWN_FIELD_COUNT];
	static char defs[BAWN_FIELD_COUNT][BAWN_VALUE_MAX];
	struct bawn_policy p = {0};

	if (i >= BAWN_FIELD_COUNT)
		return NULL;
	if (!infos[i].key) {
		const struct bawn_field *f = &bawn_fields[i];

		bawn_defaults_scalar(&p);
		infos[i] = (struct bawn_field_info){.key = f->key,
			.type = kinds[f->kind],
			.unit = f->type,
			.tighter = f->tighter_name,
			.def = f->def_text,
			.help = f->help};
		if (!infos[i].def) {
			bawn_value_format(f, &p, defs[i]);
			infos[i].def = defs[i];
		}
	}
	return &infos[i];
}
