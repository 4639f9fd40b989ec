/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bawn inspect --batch KIND`: one JSON object per line with "id" and "text" in, one with the
 * verdict out, in the same order. Made for measuring and for programs that vet a lot. A line that
 * is no such object is answered with an "error" and counts as a failure of the whole.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "cli/cli.h"
#include "inspect/inspector.h"
#include "verdict/verdict.h"

#define LINE_MAX_LEN ((size_t)256 << 20)
#define READ_SIZE    65536u
#define OUT_FLUSH    65536u
#define CHUNK        65536u /* of content, as large as a window */

struct batch {
	struct cli *cli;
	const struct bawn_policy *policy;
	enum bawn_kind kind;
	unsigned detect;
	struct bawn_inspector *inspector;
	struct bawn_buf in;
	size_t looked; /* bytes of `in` that hold no end of a line */
	bool failed;
};

static inline void cleanup_json_p(json_t **j)
{
	json_decref(*j);
}

static int put_error(struct batch *b, json_t *id, const char *why)
{
	struct bawn_buf *out = &b->cli->out;
	char *text = id ? json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

	bawn_buf_puts(out, "{");
	cli_json_key(out, "id");
	bawn_buf_puts(out, text ? text : "null");
	cli_json_key(out, "error");
	cli_json_str(out, why);
	bawn_buf_puts(out, "}\n");
	free(text);
	b->failed = true;
	return 0;
}

static void put_verdict(struct batch *b, json_t *id, const struct bawn_verdict *v)
{
	struct bawn_buf *out = &b->cli->out;
	char *text = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);

	bawn_buf_puts(out, "{");
	cli_json_key(out, "id");
	bawn_buf_puts(out, text ? text : "null");
	cli_json_key(out, "verdict");
	cli_json_str(out, bawn_verdict_name(v->kind));
	cli_json_key(out, "confidence");
	bawn_buf_printf(out, "%.4f", v->confidence);
	cli_json_key(out, "rules");
	bawn_buf_puts(out, "[");
	for (size_t i = 0; i < v->findings.n; i++) {
		cli_json_next(out);
		cli_json_str(out, v->findings.v[i].rule);
	}
	bawn_buf_puts(out, "]}\n");
	free(text);
}

/* Content that does not fit one window goes through several. */
static int vet_stream(struct batch *b, const struct bawn_subject *sub, struct bawn_arena *a,
	struct bawn_findings *found, struct bawn_error *err)
{
	struct bawn_stream_options o = {.like = *sub, .findings_only = true};
	int r = bawn_inspector_stream(b->inspector, &o, err);

	for (size_t at = 0; r >= 0 && at < sub->len;) {
		struct bawn_stream_chunk c = {.bytes = sub->text + at, .n = sub->len - at};

		if (c.n > CHUNK)
			c.n = CHUNK;
		at += c.n;
		c.last = at == sub->len;
		r = bawn_inspector_filter(b->inspector, &c, a, NULL, found, err);
	}
	/* a child that failed left a finding that says so */
	return r == -EIO && found->n ? 0 : r;
}

static int vet(struct batch *b, json_t *id, struct bawn_subject *sub, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings found = {0};
	struct bawn_verdict v = {0};
	int r;

	if (!a)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	if (sub->kind == BAWN_KIND_TEXT && sub->len > CHUNK) {
		r = vet_stream(b, sub, a, &found, err);
	} else {
		r = bawn_inspector_submit(b->inspector, sub, err);
		if (!r)
			r = bawn_inspector_collect(b->inspector, a, &found, err);
	}
	if (!r)
		r = bawn_verdict_make(b->policy, NULL, &found, &v, err);
	if (r < 0)
		return put_error(b, id, err->msg);
	put_verdict(b, id, &v);
	return 0;
}

static int one_line(struct batch *b, const char *line, size_t len, struct bawn_error *err)
{
	json_error_t why;
	_cleanup_(cleanup_json_p) json_t *o =
		json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	json_t *id = json_object_get(o, "id");
	json_t *text = json_object_get(o, "text");
	const char *lang = json_string_value(json_object_get(o, "lang"));
	struct bawn_subject sub = {
		.kind = b->kind,
		.detect = b->detect,
		.last = true,
	};

	if (!o)
		return put_error(b, NULL, why.text);
	if (!id || !json_is_string(text))
		return put_error(b, id, "a line needs \"id\" and the string \"text\"");
	sub.text = json_string_value(text);
	sub.len = json_string_length(text);
	if (lang && bawn_lang_from_name(lang, &sub.lang) < 0)
		return put_error(b, id, "this language is not known");
	if (b->kind == BAWN_KIND_COMMAND)
		sub.lang = BAWN_LANG_BASH;
	else if (b->kind == BAWN_KIND_CODE && sub.lang == BAWN_LANG_AUTO)
		sub.lang = bawn_lang_guess(NULL, sub.text, sub.len);
	return vet(b, id, &sub, err);
}

/* Looks no further than its line: there may be many empty ones behind it. */
static bool blank(const char *line, size_t len)
{
	while (len && (*line == ' ' || *line == '\t' || *line == '\r')) {
		line++;
		len--;
	}
	return !len;
}

/* Every whole line that is there; `last`: the rest is one as well. */
static int lines(struct batch *b, bool last, struct bawn_error *err)
{
	size_t at = 0;
	int r = 0;

	while (!r && at < b->in.len) {
		const char *line = b->in.data + at;
		size_t from = b->looked > at ? b->looked : at;
		const char *end = memchr(b->in.data + from, '\n', b->in.len - from);
		size_t len = end ? (size_t)(end - line) : b->in.len - at;

		if (!end && !last)
			break;
		if (!blank(line, len))
			r = one_line(b, line, len, err);
		at += len + (end != NULL);
		if (!r && b->cli->out.len >= OUT_FLUSH)
			r = cli_flush(b->cli, err);
	}
	if (at)
		memmove(b->in.data, b->in.data + at, b->in.len - at);
	b->in.len -= at;
	b->looked = b->in.len;
	return r ? r : cli_flush(b->cli, err);
}

static int read_some(struct batch *b, struct bawn_error *err)
{
	static char chunk[READ_SIZE];
	ssize_t n;

	do
		n = read(STDIN_FILENO, chunk, sizeof(chunk));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "reading standard input: %m");
	bawn_buf_add(&b->in, chunk, (size_t)n);
	if (b->in.failed)
		return bawn_fail(err, BAWN_ERR_INTERNAL, b->in.failed,
			"a line of standard input is too long");
	return n > 0;
}

int cli_batch(struct cli *cli, const struct bawn_policy *p, const char *what, unsigned detect,
	struct bawn_error *err)
{
	struct batch b = {.cli = cli, .policy = p, .detect = detect, .in = {.max = LINE_MAX_LEN}};
	int r;

	if (!strcmp(what, "command"))
		b.kind = BAWN_KIND_COMMAND;
	else if (!strcmp(what, "content"))
		b.kind = BAWN_KIND_TEXT;
	else if (!strcmp(what, "code"))
		b.kind = BAWN_KIND_CODE;
	else
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--batch' takes command, content or code, not '%s'", what);
	r = bawn_inspector_new(p, &b.inspector, err);
	if (r < 0)
		return r;
	do {
		r = read_some(&b, err);
		if (r >= 0) {
			int l = lines(&b, !r, err);

			r = l < 0 ? l : r;
		}
	} while (r > 0);
	bawn_buf_done(&b.in);
	b.inspector = bawn_inspector_free(b.inspector);
	return r < 0 ? r : b.failed ? CLI_EXIT_USAGE : 0;
}
