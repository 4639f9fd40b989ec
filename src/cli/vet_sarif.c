/* SPDX-License-Identifier: Apache-2.0 */
/* The report as SARIF 2.1.0. Results are written as they come; the rules they name follow at the
 * end, as the order within an object is free. */
#include <errno.h>
#include <string.h>

#include "cli/vet.h"

#define SCHEMA "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"

static const char *level_of(enum bawn_severity s)
{
	if (s >= BAWN_SEV_HIGH)
		return "error";
	return s == BAWN_SEV_MEDIUM ? "warning" : "note";
}

/* A path as a relative reference or file URI. */
static void put_uri(struct bawn_buf *b, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~/!$&'()*+,;=@";

	bawn_buf_puts(b, path[0] == '/' ? "\"file://" : "\"");
	if (!strcmp(path, "-"))
		path = "stdin";
	for (const char *p = path; *p; p++) {
		if (strchr(plain, *p))
			bawn_buf_add(b, p, 1);
		else
			bawn_buf_printf(b, "%%%02X", (unsigned)(unsigned char)*p);
	}
	bawn_buf_puts(b, "\"");
}

static int remember(struct vet *v, const struct bawn_finding *f)
{
	struct vet_rule *r;

	for (size_t i = 0; i < v->n_rules; i++)
		if (!strcmp(v->rules[i].id, f->rule))
			return (int)i;
	r = bawn_grow(v->cli->arena, &v->rules, &v->n_rules, &v->cap_rules);
	if (!r)
		return -ENOMEM;
	r->id = bawn_arena_strdup(v->cli->arena, f->rule);
	r->means = bawn_arena_strdup(v->cli->arena, f->message);
	return r->id && r->means ? (int)(v->n_rules - 1) : -ENOMEM;
}

void vet_sarif_begin(struct vet *v)
{
	struct bawn_buf *b = &v->cli->out;

	bawn_buf_puts(b, "{");
	cli_json_key(b, "$schema");
	cli_json_str(b, SCHEMA);
	cli_json_key(b, "version");
	cli_json_str(b, "2.1.0");
	cli_json_key(b, "runs");
	bawn_buf_puts(b, "[{");
	cli_json_key(b, "results");
	bawn_buf_puts(b, "[");
}

static int put_result(struct vet *v, const struct vet_file *f, size_t i)
{
	const struct bawn_finding *x = &f->verdict.findings.v[i];
	struct bawn_buf *b = &v->cli->out;
	int rule = remember(v, x);

	if (rule < 0)
		return rule;
	cli_json_next(b);
	bawn_buf_puts(b, "{");
	cli_json_key(b, "ruleId");
	cli_json_str(b, x->rule);
	bawn_buf_printf(b, ",\"ruleIndex\":%d", rule);
	cli_json_key(b, "level");
	cli_json_str(b, level_of(x->level));
	cli_json_key(b, "message");
	bawn_buf_puts(b, "{");
	cli_json_key(b, "text");
	cli_json_str(b, *x->message ? x->message : x->rule);
	bawn_buf_puts(b, "}");
	cli_json_key(b, "locations");
	bawn_buf_puts(b, "[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":");
	put_uri(b, f->path);
	bawn_buf_printf(b,
		"},\"region\":{\"startLine\":%zu,\"startColumn\":%zu,\"byteOffset\":%zu,"
		"\"byteLength\":%zu}}}]",
		f->places[i].line, f->places[i].column, x->start, x->end - x->start);
	bawn_buf_printf(b, ",\"rank\":%.1f,\"properties\":{\"confidence\":%.4f,\"category\":",
		x->confidence * 100.0, x->confidence);
	cli_json_str(b, x->category);
	bawn_buf_puts(b, "}}");
	return 0;
}

int vet_sarif_file(struct vet *v, const struct vet_file *f)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < f->verdict.findings.n; i++)
		if (f->verdict.kind != BAWN_SAFE || v->cli->verbose)
			r = put_result(v, f, i);
	return r;
}

void vet_sarif_unreadable(struct vet *v, const char *why)
{
	struct bawn_buf *b = &v->notices;

	cli_json_next(b);
	bawn_buf_puts(b, "{\"level\":\"error\",\"message\":{\"text\":");
	cli_json_str(b, why);
	bawn_buf_puts(b, "}}");
}

void vet_sarif_end(struct vet *v)
{
	struct bawn_buf *b = &v->cli->out;

	bawn_buf_puts(b, "]");
	cli_json_key(b, "columnKind");
	cli_json_str(b, "utf16CodeUnits");
	cli_json_key(b, "invocations");
	bawn_buf_printf(b, "[{\"executionSuccessful\":%s", v->unreadable ? "false" : "true");
	if (v->notices.len) {
		cli_json_key(b, "toolExecutionNotifications");
		bawn_buf_puts(b, "[");
		bawn_buf_add(b, v->notices.data, v->notices.len);
		bawn_buf_puts(b, "]");
	}
	bawn_buf_puts(b, "}]");
	cli_json_key(b, "tool");
	bawn_buf_puts(b, "{\"driver\":{");
	cli_json_key(b, "name");
	cli_json_str(b, "bawn");
	cli_json_key(b, "version");
	cli_json_str(b, BAWN_VERSION);
	cli_json_key(b, "rules");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < v->n_rules; i++) {
		cli_json_next(b);
		bawn_buf_puts(b, "{");
		cli_json_key(b, "id");
		cli_json_str(b, v->rules[i].id);
		cli_json_key(b, "shortDescription");
		bawn_buf_puts(b, "{");
		cli_json_key(b, "text");
		cli_json_str(b, *v->rules[i].means ? v->rules[i].means : v->rules[i].id);
		bawn_buf_puts(b, "}}");
	}
	bawn_buf_puts(b, "]}}}]}\n");
}
