/* SPDX-License-Identifier: Apache-2.0 */
/* The vetting part of <bawn/bawn.h>: buffers and streams through one inspector. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bawn/bawn.h>

#include "api/report.h"
#include "inspect/inspector.h"
#include "verdict/verdict.h"

#define STREAM_FINDINGS 4096 /* that are kept; the verdict is made of these */

struct bawn_vetter {
	struct bawn_report *holder; /* its arena holds the policy */
	const struct bawn_policy *policy;
	struct bawn_inspector *inspector;
	const char *tool, *agent;
	/* of the stream */
	bool open;
	int failed;
	enum bawn_mode mode;
	uint64_t bytes;
	struct bawn_arena *findings_arena;
	struct bawn_findings found;
};

void bawn_vetter_free(struct bawn_vetter *v)
{
	if (!v)
		return;
	(void)bawn_inspector_free(v->inspector);
	(void)bawn_arena_free(v->findings_arena);
	bawn_report_free(v->holder);
	free(v);
}

/* Strings of the caller, for as long as the policy that may point into them. */
static int copy_list(struct bawn_arena *a, const char *const **list)
{
	struct bawn_strlist l = {0};

	for (size_t i = 0; *list && (*list)[i]; i++) {
		const char *s = bawn_arena_strdup(a, (*list)[i]);

		if (!s || bawn_strlist_add(a, &l, s) < 0)
			return -ENOMEM;
	}
	*list = l.v;
	return 0;
}

static int vetter_fill(struct bawn_vetter *v, const struct bawn_options *given)
{
	struct bawn_report *r = v->holder;
	struct bawn_options o = {0};
	int e;

	if (given && given->size == sizeof(o))
		o = *given;
	else if (given)
		o.size = given->size;
	v->tool = bawn_arena_strdup(r->arena, o.tool ? o.tool : "");
	v->agent = bawn_arena_strdup(r->arena, o.agent ? o.agent : "");
	if (!v->tool || !v->agent || copy_list(r->arena, &o.settings) < 0 ||
		copy_list(r->arena, &o.policy_files) < 0)
		return -ENOMEM;
	e = api_load_policy(r, given ? &o : NULL, &v->policy);
	return e < 0 ? e : bawn_inspector_new(v->policy, &v->inspector, &r->error);
}

int bawn_vetter_new(
	const struct bawn_options *o, struct bawn_vetter **ret, struct bawn_report **why)
{
	struct bawn_vetter *v = ret ? calloc(1, sizeof(*v)) : NULL;
	int e = ret ? api_report_new(why) : -EINVAL;

	if (ret)
		*ret = NULL;
	if (e < 0 || !v) {
		free(v);
		return e < 0 ? e : api_fail(*why, -ENOMEM);
	}
	v->holder = *why;
	e = vetter_fill(v, o);
	if (e < 0) {
		v->holder = NULL;
		bawn_vetter_free(v);
		return api_fail(*why, e);
	}
	*why = NULL;
	*ret = v;
	return 0;
}

static int mode_of(const struct bawn_vetter *v, const struct bawn_vet_options *o,
	enum bawn_mode *ret, struct bawn_error *err)
{
	static const char *const names[] = {"standard", "strict", "lenient"};

	*ret = bawn_mode_for(v->policy, o->name);
	for (unsigned i = 0; o->mode && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(o->mode, names[i])) {
			*ret = (enum bawn_mode)i;
			return 0;
		}
	if (o->mode)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "unknown mode '%s'", o->mode);
	return 0;
}

static int subject_of(const struct bawn_vetter *v, const struct bawn_vet_options *o,
	struct bawn_subject *ret, struct bawn_error *err)
{
	static const enum bawn_kind kinds[] = {
		[BAWN_CONTENT] = BAWN_KIND_TEXT,
		[BAWN_COMMAND] = BAWN_KIND_COMMAND,
		[BAWN_CODE] = BAWN_KIND_CODE,
	};

	if (!o)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "no options given");
	if (o->size != sizeof(*o))
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"struct bawn_vet_options has size %zu here, not %zu", sizeof(*o), o->size);
	if ((unsigned)o->what >= sizeof(kinds) / sizeof(kinds[0]))
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "unknown kind of subject");
	*ret = (struct bawn_subject){
		.kind = kinds[o->what],
		.detect = BAWN_DETECT_ALL,
		.name = o->name,
		.last = true,
	};
	if (o->lang && bawn_lang_from_name(o->lang, &ret->lang) < 0)
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "unknown language '%s'", o->lang);
	if (ret->kind == BAWN_KIND_COMMAND)
		ret->lang = BAWN_LANG_BASH;
	return mode_of(v, o, &ret->mode, err);
}

static void put_finding(struct bawn_buf *b, const struct bawn_finding *f, bool first)
{
	static const char *const signals[] = {"pattern", "semantic", "sequence"};
	const struct {
		const char *key, *text;
	} parts[] = {
		{"{\"detector\":", f->detector},
		{",\"rule\":", f->rule},
		{",\"category\":", f->category},
		{",\"level\":", bawn_severity_name(f->level)},
		{",\"signal\":", signals[f->signal]},
		{",\"message\":", f->message},
	};

	if (!first)
		bawn_buf_puts(b, ",");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		bawn_buf_puts(b, parts[i].key);
		(void)bawn_buf_json(b, parts[i].text, strlen(parts[i].text));
	}
	bawn_buf_printf(b, ",\"confidence\":%.4f,\"start\":%zu,\"end\":%zu}", f->confidence,
		f->start, f->end);
}

/* The verdict over what was found goes into the report. */
static int judge(const struct bawn_vetter *v, enum bawn_mode mode, struct bawn_findings *found,
	uint64_t bytes, struct bawn_report *r)
{
	struct bawn_verdict_place place = {.mode = mode, .tool = v->tool, .agent = v->agent};
	struct bawn_verdict d = {0};
	struct bawn_buf *b = &r->json;
	int e = bawn_verdict_make(v->policy, &place, found, &d, &r->error);

	if (e < 0)
		return api_fail(r, e);
	r->verdict = bawn_verdict_name(d.kind);
	r->confidence = d.confidence;
	r->exit_status = d.kind != BAWN_SAFE;
	bawn_buf_printf(b,
		"{\"schema\":\"bawn/vet/v1\",\"verdict\":\"%s\",\"confidence\":%.4f,\"bytes\":%llu,"
		"\"reason\":",
		r->verdict, d.confidence, (unsigned long long)bytes);
	if (d.reason)
		(void)bawn_buf_json(b, d.reason, strlen(d.reason));
	else
		bawn_buf_puts(b, "null");
	bawn_buf_puts(b, ",\"findings\":[");
	for (size_t i = 0; i < d.findings.n; i++)
		put_finding(b, &d.findings.v[i], i == 0);
	bawn_buf_puts(b, "]}");
	return b->failed ? api_fail(r, b->failed) : 0;
}

int bawn_vet(struct bawn_vetter *v, const struct bawn_vet_options *o, const char *bytes, size_t n,
	struct bawn_report **ret)
{
	struct bawn_findings found = {0};
	struct bawn_subject sub = {0};
	struct bawn_report *r;
	int e = api_report_new(ret);

	if (e < 0)
		return e;
	r = *ret;
	if (!v || (n && !bytes))
		return api_fail(r, bawn_fail(&r->error, BAWN_ERR_USAGE, -EINVAL, "no %s given",
					   v ? "bytes" : "vetter"));
	if (v->open)
		e = bawn_fail(&r->error, BAWN_ERR_USAGE, -EBUSY, "a stream is open");
	else
		e = subject_of(v, o, &sub, &r->error);
	if (e < 0)
		return api_fail(r, e);
	sub.text = n ? bytes : "";
	sub.len = n;
	if (sub.kind == BAWN_KIND_CODE && sub.lang == BAWN_LANG_AUTO)
		sub.lang = bawn_lang_guess(o->name, sub.text, n);
	e = bawn_inspector_submit(v->inspector, &sub, &r->error);
	if (e >= 0)
		e = bawn_inspector_collect(v->inspector, r->arena, &found, &r->error);
	return e < 0 ? api_fail(r, e) : judge(v, sub.mode, &found, n, r);
}

int bawn_vet_begin(struct bawn_vetter *v, const struct bawn_vet_options *o)
{
	static const enum bawn_leak_action actions[] = {
		[BAWN_LEAKS_REPORT] = BAWN_LEAK_WARN,
		[BAWN_LEAKS_REDACT] = BAWN_LEAK_REDACT,
		[BAWN_LEAKS_BLOCK] = BAWN_LEAK_BLOCK,
	};
	struct bawn_stream_options s = {0};
	int e = !v ? -EINVAL : v->open ? -EBUSY : subject_of(v, o, &s.like, NULL);

	if (e < 0)
		return e;
	if (s.like.kind != BAWN_KIND_TEXT || (unsigned)o->leaks >= 3)
		return -EINVAL;
	s.like.last = false;
	s.leaks = actions[o->leaks];
	s.show_hidden = o->flags & BAWN_SHOW_HIDDEN;
	s.tame_escapes = o->flags & BAWN_TAME_ESCAPES;
	s.secrets = o->secrets;
	v->findings_arena = bawn_arena_free(v->findings_arena);
	v->findings_arena = bawn_arena_new();
	if (!v->findings_arena)
		return -ENOMEM;
	e = bawn_inspector_stream(v->inspector, &s, NULL);
	if (e < 0)
		return e;
	v->mode = s.like.mode;
	v->found = (struct bawn_findings){0};
	v->bytes = 0;
	v->failed = 0;
	v->open = true;
	return 0;
}

static struct bawn_finding *weakest(const struct bawn_findings *found)
{
	struct bawn_finding *f = found->v;

	for (size_t i = 1; i < found->n; i++)
		if (found->v[i].confidence < f->confidence)
			f = &found->v[i];
	return f;
}

/* Findings outlive the chunk; of too many the weakest go, so that none can be hidden behind others.
 */
static int keep(struct bawn_vetter *v, const struct bawn_findings *more)
{
	for (size_t i = 0; i < more->n; i++) {
		bool room = v->found.n < STREAM_FINDINGS;
		struct bawn_finding *f =
			room ? bawn_grow(v->findings_arena, &v->found.v, &v->found.n, &v->found.cap)
			     : weakest(&v->found);

		if (!f)
			return -ENOMEM;
		if (!room && f->confidence >= more->v[i].confidence)
			continue;
		*f = more->v[i];
		f->detector = bawn_arena_strdup(v->findings_arena, f->detector);
		f->rule = bawn_arena_strdup(v->findings_arena, f->rule);
		f->category = bawn_arena_strdup(v->findings_arena, f->category);
		f->message = bawn_arena_strdup(v->findings_arena, f->message);
		if (!f->detector || !f->rule || !f->category || !f->message)
			return -ENOMEM;
	}
	return 0;
}

static int feed(
	struct bawn_vetter *v, const struct bawn_stream_chunk *c, bawn_output output, void *data)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	_cleanup_buf_ struct bawn_buf out = {0};
	struct bawn_findings found = {0};
	int e = a ? bawn_inspector_filter(v->inspector, c, a, &out, &found, NULL) : -ENOMEM;
	int k = keep(v, &found);

	v->bytes += c->n;
	/* what stands before a secret that is blocked may pass */
	if (out.len && output) {
		int o = output(data, out.data, out.len);

		e = e < 0 ? e : o;
	}
	e = e < 0 ? e : k;
	if (e < 0)
		v->failed = e;
	return e < 0 ? e : 0;
}

int bawn_vet_feed(struct bawn_vetter *v, const char *bytes, size_t n, int flush, bawn_output output,
	void *data)
{
	int e = v && v->open && (bytes || !n) ? v->failed : -EINVAL;

	while (e >= 0 && (n || flush)) {
		struct bawn_stream_chunk c = {.bytes = bytes, .n = n};

		if (c.n > BAWN_STREAM_CHUNK)
			c.n = BAWN_STREAM_CHUNK;
		n -= c.n;
		bytes = c.n ? bytes + c.n : bytes;
		c.flush = flush && !n;
		e = feed(v, &c, output, data);
		flush = n ? flush : 0;
	}
	return e;
}

int bawn_vet_end(struct bawn_vetter *v, bawn_output output, void *data, struct bawn_report **ret)
{
	struct bawn_stream_chunk c = {.bytes = "", .last = true};
	struct bawn_report *r;
	int e = api_report_new(ret);
	int failed;

	if (e < 0)
		return e;
	r = *ret;
	if (!v || !v->open)
		return api_fail(
			r, bawn_fail(&r->error, BAWN_ERR_USAGE, -EINVAL, "no stream is open"));
	failed = v->failed < 0 ? v->failed : feed(v, &c, output, data);
	v->open = false;
	e = judge(v, v->mode, &v->found, v->bytes, r);
	if (e >= 0 && failed < 0)
		(void)bawn_fail(&r->error, failed == -EACCES ? BAWN_ERR_BLOCKED : BAWN_ERR_INSPECT,
			failed,
			failed == -EACCES ? "a secret was about to pass; the rest is withheld"
					  : "the stream could not be looked at to its end");
	return e < 0 ? e : failed;
}
