/* SPDX-License-Identifier: Apache-2.0 */
/* The effective policy for programs: each setting with its value and where it came from. */
#include <inttypes.h>
#include <string.h>

#include "policy/show.h"
#include "policy/value.h"

static void json_origin(struct bawn_buf *b, const struct bawn_origin *o)
{
	bawn_buf_printf(b, ",\"layer\":\"%s\",\"file\":", bawn_layer_name(o->layer));
	if (o->file)
		(void)bawn_buf_json(b, o->file, strlen(o->file));
	else
		bawn_buf_puts(b, "null");
	bawn_buf_printf(b, ",\"line\":%u,\"column\":%u", o->line, o->column);
}

static void json_items(struct bawn_buf *b, const struct bawn_items *l)
{
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < l->n; i++) {
		if (i)
			bawn_buf_puts(b, ",");
		(void)bawn_buf_json(b, l->v[i].text, strlen(l->v[i].text));
	}
	bawn_buf_puts(b, "],\"items\":[");
	for (size_t i = 0; i < l->n; i++) {
		bawn_buf_puts(b, i ? ",{\"value\":" : "{\"value\":");
		(void)bawn_buf_json(b, l->v[i].text, strlen(l->v[i].text));
		json_origin(b, &l->v[i].from);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
}

static void json_pairs(struct bawn_buf *b, const struct bawn_pairs *l)
{
	bawn_buf_puts(b, "{");
	for (size_t i = 0; i < l->n; i++) {
		if (i)
			bawn_buf_puts(b, ",");
		(void)bawn_buf_json(b, l->v[i].key, strlen(l->v[i].key));
		bawn_buf_puts(b, ":");
		(void)bawn_buf_json(b, l->v[i].value, strlen(l->v[i].value));
	}
	bawn_buf_puts(b, "}");
}

static void json_number(struct bawn_buf *b, const struct bawn_field *f, const struct bawn_policy *p)
{
	uint64_t v = *(const uint64_t *)bawn_member(p, f);
	char value[BAWN_VALUE_MAX];

	bawn_value_format(f, p, value);
	if (v == BAWN_UNLIMITED)
		bawn_buf_puts(b, "\"unlimited\"");
	else if (f->unit == BAWN_UNIT_MILLI)
		bawn_buf_puts(b, value);
	else
		bawn_buf_printf(b, "%" PRIu64, v);
}

static void json_value(struct bawn_buf *b, const struct bawn_policy *p, const struct bawn_field *f)
{
	const char *text;
	char value[BAWN_VALUE_MAX];

	switch (f->kind) {
	case BAWN_KIND_LIST:
		json_items(b, bawn_member(p, f));
		break;
	case BAWN_KIND_MAP:
		json_pairs(b, bawn_member(p, f));
		break;
	case BAWN_KIND_STR:
		text = *(const char *const *)bawn_member(p, f);
		(void)bawn_buf_json(b, text, strlen(text));
		break;
	case BAWN_KIND_U64:
		json_number(b, f, p);
		break;
	case BAWN_KIND_ENUM:
		bawn_value_format(f, p, value);
		(void)bawn_buf_json(b, value, strlen(value));
		break;
	case BAWN_KIND_BOOL:
	case BAWN_KIND_REAL:
	default:
		bawn_value_format(f, p, value);
		bawn_buf_puts(b, value);
	}
}

void bawn_show_json(const struct bawn_policy *p, struct bawn_buf *b)
{
	struct bawn_origin from = bawn_show_mounts_origin(p);

	bawn_buf_printf(
		b, "{\"schema\":\"bawn/policy/v1\",\"digest\":\"%s\",\"settings\":{", p->digest);
	for (size_t i = 0; i < BAWN_FIELD_COUNT; i++) {
		bawn_buf_printf(b, "%s\"%s\":{\"value\":", i ? "," : "", bawn_fields[i].key);
		json_value(b, p, &bawn_fields[i]);
		json_origin(b, &p->origins[i]);
		bawn_buf_puts(b, "}");
	}
	for (size_t i = 0; i < p->named.n; i++) {
		bawn_buf_puts(b, ",");
		(void)bawn_buf_json(b, p->named.v[i].key, strlen(p->named.v[i].key));
		bawn_buf_puts(b, ":{\"value\":");
		bawn_show_named(b, &p->named.v[i], true);
		json_origin(b, &p->named.v[i].from);
		bawn_buf_puts(b, "}");
	}
	if (p->mounts) {
		bawn_buf_puts(b, ",\"enforcement.docker.mounts\":{\"value\":");
		bawn_show_mounts(b, p);
		json_origin(b, &from);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "}}\n");
}
