/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The detector for source files: parse, walk twice, match the rules against the events, then
 * against what the file as a whole amounts to, and have the commands and code inside looked at as
 * well.
 */
#include "inspect/code/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/detectors.h"
#include "inspect/rules.h"
#include "inspect/scan.h"

#define LEARN       2  /* walks before the one that counts: from callers to functions and back */
#define REPEATS_MAX 20 /* findings of one rule in one file */

struct report {
	struct code_walk *w;
	uint16_t *times; /* per rule */
	struct code_event whole;
	bool file; /* events are about the file as a whole */
};

static const struct code_front *front_for(enum bawn_lang lang)
{
	switch (lang) {
	case BAWN_LANG_PYTHON:
		return &code_python;
	case BAWN_LANG_GO:
		return &code_go;
	case BAWN_LANG_JAVASCRIPT:
		return &code_javascript;
	case BAWN_LANG_AUTO:
	case BAWN_LANG_BASH:
	case BAWN_LANG_COUNT:
	default:
		return NULL;
	}
}

static const struct code_event *event_at(const struct code_walk *w, size_t offset)
{
	size_t lo = 0, hi = w->n_events;

	while (lo + 1 < hi) {
		size_t mid = (lo + hi) / 2;

		if (w->events[mid].line <= offset)
			lo = mid;
		else
			hi = mid;
	}
	return w->n_events ? &w->events[lo] : NULL;
}

static int hit(void *data, const struct bawn_match *m)
{
	struct report *r = data;
	const struct bawn_ruleset *set = &bawn_rules_code;
	const char *lang = bawn_rule_arg(set, m->rule, "lang");
	const char *fact = bawn_rule_arg(set, m->rule, "fact");
	const struct code_event *e = r->file ? &r->whole : event_at(r->w, m->whole_start);
	size_t i = (size_t)(m->rule - set->rules);
	struct bawn_match at = *m;

	if (lang && !strstr(lang, r->w->front->name))
		return 0;
	if (!r->file && e && strcmp(bawn_rule_str(set, m->rule->category), "file_access") == 0 &&
		code_path_allowed(r->w, e))
		return 0;
	if (fact)
		code_fact(r->w, fact);
	if (!e || r->times[i]++ >= REPEATS_MAX)
		return 0;
	at.start = at.whole_start = e->start;
	at.end = at.whole_end = e->end;
	return bawn_rules_report(r->w->scan, r->w->sub, "code", set, &at);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The last line: everything that was noticed, sorted so that rules can name combinations. */
static int match_file(struct code_walk *w, struct report *r, struct bawn_error *err)
{
	struct bawn_buf b = {.max = 0};
	int ret;

	if (w->facts.n > 1)
		qsort(w->facts.v, w->facts.n, sizeof(*w->facts.v), by_name);
	bawn_buf_printf(&b, "file %s", w->front->name);
	for (size_t i = 0; i < w->facts.n; i++)
		bawn_buf_printf(&b, " %s", w->facts.v[i]);
	bawn_buf_puts(&b, " end\n");
	r->whole = (struct code_event){.start = 0, .end = w->len};
	r->file = true;
	ret = b.failed ? b.failed
		       : bawn_rules_match(w->scan, &bawn_rules_code, b.data, b.len, hit, r, err);
	bawn_buf_done(&b);
	return ret;
}

static int match(struct code_walk *w, struct bawn_error *err)
{
	struct report r = {.w = w};
	int ret;

	r.times = bawn_new(w->a, uint16_t, bawn_rules_code.n + 1);
	if (!r.times)
		return -ENOMEM;
	ret = bawn_rules_match(w->scan, &bawn_rules_code, w->lines.data ? w->lines.data : "",
		w->lines.len, hit, &r, err);
	return ret < 0 ? ret : match_file(w, &r, err);
}

static int look_inside(struct code_walk *w, struct bawn_error *err)
{
	for (size_t i = 0; i < w->n_nested; i++) {
		const struct code_nested *x = &w->nested[i];
		struct bawn_subject inner = {
			.kind = x->code ? BAWN_KIND_CODE : BAWN_KIND_COMMAND,
			.lang = x->code ? w->front->lang : BAWN_LANG_BASH,
			.mode = w->sub->mode,
			.detect = w->sub->detect | BAWN_DETECT_COMMAND,
			.argv = x->argv,
			.text = x->text,
			.len = x->len,
			.last = true,
		};
		int r = bawn_scan_nested(w->scan, w->sub, x->start, x->end, &inner, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int code_understand(struct code_walk *w, struct bawn_error *err)
{
	int r;

	w->seen = bawn_new(w->a, uint8_t, w->len / 8 + 1);
	if (!w->seen)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	r = code_parse(w, err);
	if (r < 0)
		return r;
	for (int i = 0; i < LEARN; i++)
		code_walk_all(w);
	w->last = true;
	code_walk_all(w);
	if (w->errors)
		code_lex(w);
	code_shape(w);
	if (w->failed || w->lines.failed)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	return 0;
}

/* Strictly read, a text that no parser understands is not known to be harmless. */
static int unparsable(struct code_walk *w)
{
	struct bawn_finding f = {
		.detector = "code",
		.rule = "code.unparsable",
		.category = "dangerous_pattern",
		.level = BAWN_SEV_MEDIUM,
		.signal = BAWN_SIGNAL_PATTERN,
		.confidence = 0.35,
		.end = w->len,
		.message =
			"cannot be parsed, so it is not known what it does; correct it, or name its "
			"language",
	};

	if (!w->errors || w->inner || w->sub->mode != BAWN_MODE_STRICT)
		return 0;
	return bawn_scan_report(w->scan, w->sub, &f);
}

static int inspect(struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err)
{
	enum bawn_lang lang = sub->lang == BAWN_LANG_AUTO
				      ? bawn_lang_guess(sub->name, sub->text, sub->len)
				      : sub->lang;
	struct code_walk w = {
		.scan = s,
		.sub = sub,
		.a = bawn_scan_arena(s),
		.front = front_for(lang),
		.text = sub->text,
		.len = (uint32_t)sub->len,
		.inner = s->depth > 0,
	};
	int r;

	r = code_forbidden_patterns(s, sub, err);
	if (r >= 0 && lang == BAWN_LANG_BASH)
		r = code_forbidden_commands(s, sub, err);
	if (r < 0 || !w.front)
		return r;
	if (sub->len > UINT32_MAX / 2) {
		(void)bawn_scan_spend(s, UINT64_MAX);
		return 0;
	}
	r = code_understand(&w, err);
	if (r >= 0)
		r = code_forbidden_events(&w);
	if (r >= 0)
		r = match(&w, err);
	if (r >= 0)
		r = look_inside(&w, err);
	if (r >= 0)
		r = unparsable(&w);
	if (w.spent) /* whoever asked must know that this was not looked at to its end */
		(void)bawn_scan_spend(s, UINT64_MAX);
	bawn_buf_done(&w.lines);
	return r;
}

const struct bawn_detector bawn_detector_code = {
	.name = "code",
	.kinds = 1u << BAWN_KIND_CODE,
	.detect = BAWN_DETECT_CODE,
	.inspect = inspect,
};
