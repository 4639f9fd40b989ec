/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* fields.def as tables: what the readers, the merge and `policy show` walk over. */

#include <stdint.h>

#include "policy/policy.h"

enum bawn_kind {
	BAWN_KIND_BOOL,
	BAWN_KIND_U64,
	BAWN_KIND_REAL,
	BAWN_KIND_ENUM,
	BAWN_KIND_STR,
	BAWN_KIND_LIST,
	BAWN_KIND_MAP,
};

enum bawn_unit {
	BAWN_UNIT_SIZE,
	BAWN_UNIT_MSEC,
	BAWN_UNIT_COUNT,
	BAWN_UNIT_MILLI,
};

enum bawn_elem {
	BAWN_ELEM_PATH,
	BAWN_ELEM_GLOB,
	BAWN_ELEM_NAME,
	BAWN_ELEM_WORD,
	BAWN_ELEM_HOST,
	BAWN_ELEM_PORT,
	BAWN_ELEM_REGEX,
	BAWN_ELEM_CONTROL,
	BAWN_ELEM_SYSCALL,
};

enum bawn_tighter {
	BAWN_TIGHTER_LOWER,
	BAWN_TIGHTER_HIGHER,
	BAWN_TIGHTER_UNION,
	BAWN_TIGHTER_WITHIN,
	BAWN_TIGHTER_FIXED,
};

/* The number of each setting: BAWN_F_lim_memory, … */
enum bawn_field_id {
#define BAWN_BOOL(member, ...) BAWN_F_##member,
#define BAWN_U64(member, ...)  BAWN_F_##member,
#define BAWN_REAL(member, ...) BAWN_F_##member,
#define BAWN_ENUM(member, ...) BAWN_F_##member,
#define BAWN_STR(member, ...)  BAWN_F_##member,
#define BAWN_LIST(member, ...) BAWN_F_##member,
#define BAWN_MAP(member, ...)  BAWN_F_##member,
#include "policy/fields.def"
#undef BAWN_BOOL
#undef BAWN_U64
#undef BAWN_REAL
#undef BAWN_ENUM
#undef BAWN_STR
#undef BAWN_LIST
#undef BAWN_MAP
	BAWN_FIELD_COUNT
};

struct bawn_field {
	const char *key;
	enum bawn_kind kind;
	enum bawn_unit unit; /* of BAWN_KIND_U64 */
	enum bawn_elem elem; /* of BAWN_KIND_LIST */
	enum bawn_tighter tighter;
	size_t offset;        /* in struct bawn_policy */
	const char *type;     /* enum type, unit or element as fields.def spells it; "" for none */
	const char *def_text; /* of lists and strings */
	const char *tighter_name;
	const char *help;
};

extern const struct bawn_field bawn_fields[BAWN_FIELD_COUNT];

/* The setting of a key; NULL if there is none. */
const struct bawn_field *bawn_field_find(const char *key);
size_t bawn_field_index(const struct bawn_field *f);

/* Every scalar at its default; lists stay empty. */
void bawn_defaults_scalar(struct bawn_policy *p);

/* The member of a policy, typed by the caller as the field's kind says. */
static inline const void *bawn_member(const struct bawn_policy *p, const struct bawn_field *f)
{
	return (const char *)p + f->offset;
}
static inline void *bawn_member_mut(struct bawn_policy *p, const struct bawn_field *f)
{
	return (char *)p + f->offset;
}

/* The number of a word of an enum type, or -EINVAL. */
int bawn_enum_find(const char *type, const char *word);
/* "none, process, wasm, container, vm" for messages. */
void bawn_enum_words(const char *type, char *dst, size_t size);
