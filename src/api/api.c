/* SPDX-License-Identifier: Apache-2.0 */
/* The installed interface, <bawn/bawn.h>: a thin face of the pipeline with one kind of report for
 * all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bawn/bawn.h>

#include "api/report.h"
#include "audit/audit.h"
#include "backend/ask.h"
#include "base/cleanup.h"
#include "pipeline/pipeline.h"

#define BACKENDS_MAX 32
#define PROBE_MS     45000 /* for each backend */

int api_report_new(struct bawn_report **ret)
{
	struct bawn_report *r;

	if (!ret)
		return -EINVAL;
	*ret = NULL;
	r = calloc(1, sizeof(*r));
	if (r)
		r->arena = bawn_arena_new();
	if (!r || !r->arena) {
		free(r);
		return -ENOMEM;
	}
	r->limit = "";
	r->verdict = "";
	r->exit_status = BAWN_EXIT_REFUSED;
	*ret = r;
	return 0;
}

void bawn_report_free(struct bawn_report *r)
{
	if (!r)
		return;
	(void)bawn_arena_free(r->arena);
	bawn_buf_done(&r->json);
	bawn_buf_done(&r->output[0]);
	bawn_buf_done(&r->output[1]);
	free(r);
}

/* "key=value" strings to settings. */
static int take_settings(
	struct bawn_report *r, const struct bawn_options *o, struct bawn_policy_source *p)
{
	struct bawn_setting *v;
	size_t n = 0;

	while (o->settings && o->settings[n])
		n++;
	v = bawn_new(r->arena, struct bawn_setting, n + 1);
	if (!v)
		return bawn_fail(&r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const char *eq = strchr(o->settings[i], '=');

		if (!eq)
			return bawn_fail(&r->error, BAWN_ERR_USAGE, -EINVAL,
				"setting '%s' has no '='", o->settings[i]);
		v[i].key =
			bawn_arena_strndup(r->arena, o->settings[i], (size_t)(eq - o->settings[i]));
		v[i].text = eq + 1;
		v[i].flag = "settings";
		if (!v[i].key)
			return bawn_fail(&r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	}
	p->settings = v;
	p->n_settings = n;
	return 0;
}

int api_make_input(struct bawn_report *r, const struct bawn_options *o, struct bawn_run_input *in)
{
	const uint32_t known = BAWN_CAPTURE | BAWN_PTY | BAWN_ALONE | BAWN_WITH_STDIN;
	bool alone = o && o->flags & BAWN_ALONE;

	if (!o)
		return bawn_fail(&r->error, BAWN_ERR_USAGE, -EINVAL, "no options given");
	if (o->size != sizeof(*o))
		return bawn_fail(&r->error, BAWN_ERR_USAGE, -EINVAL,
			"struct bawn_options has size %zu here, not %zu", sizeof(*o), o->size);
	/* what is not known cannot be heeded */
	if (o->flags & ~known)
		return bawn_fail(&r->error, BAWN_ERR_USAGE, -EINVAL,
			"unknown flags %#x in struct bawn_options", o->flags & ~known);
	*in = (struct bawn_run_input){
		.call = {.argv = o->argv,
			.envp = o->envp ? o->envp : (const char *const *)environ,
			.workspace = o->workspace,
			.cwd = o->cwd,
			.tool = o->tool,
			.agent = o->agent,
			.session = o->session},
		.policy = {.files = o->policy_files,
			.no_admin = alone,
			.no_user = alone,
			.no_workspace = alone},
		.pty = o->flags & BAWN_PTY,
		.stdin_fd = o->flags & BAWN_WITH_STDIN ? o->stdin_fd : -1,
		.outlets = {.out_fd = -1,
			.err_fd = -1,
			.out = o->flags & BAWN_CAPTURE ? &r->output[0] : NULL,
			.err = o->flags & BAWN_CAPTURE ? &r->output[1] : NULL,
			.sink = o->output,
			.sink_data = o->data,
			.terminal_fd = -1},
	};
	return take_settings(r, o, &in->policy);
}

int api_fail(struct bawn_report *r, int e)
{
	if (r->error.kind == BAWN_ERR_NONE)
		(void)bawn_fail(
			&r->error, BAWN_ERR_INTERNAL, e, "out of memory while making the report");
	r->exit_status = r->exit_status ? r->exit_status : BAWN_EXIT_REFUSED;
	bawn_buf_done(&r->json);
	bawn_buf_printf(&r->json,
		"{\"schema\":\"bawn/error/v1\",\"error\":{\"kind\":\"%s\",\"message\":",
		bawn_errkind_name(r->error.kind));
	(void)bawn_buf_json(&r->json, r->error.msg, strlen(r->error.msg));
	bawn_buf_puts(&r->json, "}}");
	return e;
}

int bawn_run(const struct bawn_options *o, struct bawn_report **ret)
{
	struct bawn_run_input in = {0};
	struct bawn_result result = {0};
	struct bawn_report *r;
	int e = api_report_new(ret);

	if (e < 0)
		return e;
	r = *ret;
	e = api_make_input(r, o, &in);
	if (e < 0)
		return api_fail(r, e);
	e = bawn_pipeline_run(r->arena, &in, &result);
	r->error = result.error;
	r->exit_status = bawn_result_exit(&result);
	r->limit = bawn_limit_name(result.outcome.limit);
	if (bawn_result_json(&result, in.outlets.out, in.outlets.err, &r->json) < 0)
		return api_fail(r, e < 0 ? e : -ENOMEM);
	return e;
}

int bawn_explain(const struct bawn_options *o, struct bawn_report **ret)
{
	struct bawn_explanation ex;
	struct bawn_run_input in = {0};
	struct bawn_report *r;
	int e = api_report_new(ret);

	if (e < 0)
		return e;
	r = *ret;
	e = api_make_input(r, o, &in);
	if (e < 0)
		return api_fail(r, e);
	e = bawn_pipeline_explain(r->arena, &in, &ex);
	r->error = ex.result.error;
	r->exit_status = e < 0 ? bawn_result_exit(&ex.result) : 0;
	if (bawn_result_json(&ex.result, NULL, NULL, &r->json) < 0)
		return api_fail(r, e < 0 ? e : -ENOMEM);
	return e;
}

int api_load_policy(
	struct bawn_report *r, const struct bawn_options *o, const struct bawn_policy **ret)
{
	const char *const nothing[] = {"true", NULL};
	const struct bawn_call *c = NULL;
	struct bawn_run_input in = {0};
	int e = api_make_input(r, o, &in);

	if (!in.call.argv)
		in.call.argv = nothing;
	if (e >= 0)
		e = bawn_call_make(r->arena, &in.call, &c, &r->error);
	if (e < 0)
		return e;
	in.policy.workspace = c->workspace;
	return bawn_policy_load(r->arena, &in.policy, ret, &r->error);
}

int bawn_show_policy(const struct bawn_options *o, struct bawn_report **ret)
{
	const struct bawn_policy *p = NULL;
	struct bawn_report *r;
	int e = api_report_new(ret);

	if (e < 0)
		return e;
	r = *ret;
	e = api_load_policy(r, o, &p);
	if (e >= 0)
		e = bawn_policy_show(p, true, &r->json);
	if (e < 0)
		return api_fail(r, e);
	r->exit_status = 0;
	return 0;
}

static void put_text(struct bawn_buf *b, const char *key, const char *text)
{
	bawn_buf_printf(b, ",\"%s\":", key);
	(void)bawn_buf_json(b, text, strlen(text));
}

int bawn_probe_host(struct bawn_report **ret)
{
	struct bawn_asking *all;
	const struct bawn_backend *be;
	struct bawn_report *r;
	size_t n = 0;
	int e = api_report_new(ret);

	if (e < 0)
		return e;
	r = *ret;
	all = bawn_new(r->arena, struct bawn_asking, BACKENDS_MAX);
	if (!all)
		return api_fail(r, -ENOMEM);
	while (n < BACKENDS_MAX && (be = bawn_backend_at(n)))
		all[n++].be = be;
	bawn_ask_all(all, n, PROBE_MS, NULL, NULL);
	bawn_buf_puts(&r->json, "{\"schema\":\"bawn/probe/v1\",\"backends\":[");
	for (size_t i = 0; i < n; i++) {
		struct bawn_probe probe = all[i].probe;
		const char *comma = "";

		bawn_buf_printf(&r->json, "%s{\"name\":\"%s\"", i ? "," : "", all[i].be->name);
		put_text(&r->json, "version", probe.version);
		put_text(&r->json, "reason", probe.reason);
		put_text(&r->json, "remedy", probe.remedy);
		bawn_buf_puts(&r->json, ",\"offers\":[");
		for (unsigned c = 0; c < BAWN_CTL_COUNT; c++)
			if (probe.offers & (1u << c)) {
				bawn_buf_printf(&r->json, "%s\"%s\"", comma, bawn_control_name(c));
				comma = ",";
			}
		bawn_buf_puts(&r->json, "]}");
	}
	bawn_buf_puts(&r->json, "]}");
	if (r->json.failed)
		return api_fail(r, r->json.failed);
	r->exit_status = 0;
	return 0;
}

int bawn_check_audit(const char *path, struct bawn_report **ret)
{
	struct bawn_audit_report au = {0};
	struct bawn_report *r;
	int e = api_report_new(ret);

	if (e < 0)
		return e;
	r = *ret;
	e = bawn_audit_verify(
		path ? path : bawn_audit_default_path(r->arena), NULL, &au, &r->error);
	if (e < 0 && e != -EBADMSG)
		return api_fail(r, e);
	if (e == -EBADMSG)
		(void)bawn_fail(&r->error, BAWN_ERR_AUDIT, e, "%s", au.problem);
	bawn_buf_printf(&r->json,
		"{\"schema\":\"bawn/verify/v1\",\"intact\":%s,\"records\":%llu,\"bad_line\":%llu,\"head\":\"%s\"",
		e < 0 ? "false" : "true", (unsigned long long)au.records,
		(unsigned long long)au.bad_line, au.head);
	put_text(&r->json, "problem", au.problem);
	bawn_buf_puts(&r->json, "}");
	if (r->json.failed)
		return api_fail(r, r->json.failed);
	r->exit_status = e < 0 ? 1 : 0;
	return e;
}

int bawn_report_exit(const struct bawn_report *r)
{
	return r ? r->exit_status : BAWN_EXIT_REFUSED;
}

const char *bawn_report_error(const struct bawn_report *r)
{
	return r ? r->error.msg : "out of memory";
}

const char *bawn_report_error_kind(const struct bawn_report *r)
{
	return bawn_errkind_name(r ? r->error.kind : BAWN_ERR_INTERNAL);
}

const char *bawn_report_limit(const struct bawn_report *r)
{
	return r ? r->limit : "";
}

const char *bawn_report_verdict(const struct bawn_report *r)
{
	return r ? r->verdict : "";
}

double bawn_report_confidence(const struct bawn_report *r)
{
	return r ? r->confidence : 0.0;
}

const char *bawn_report_json(const struct bawn_report *r)
{
	return r && r->json.data && !r->json.failed ? r->json.data : "{}";
}

const char *bawn_report_output(const struct bawn_report *r, int stream, size_t *ret_len)
{
	const struct bawn_buf *b = r ? &r->output[stream == 2] : NULL;

	if (ret_len)
		*ret_len = b ? b->len : 0;
	return b && b->data ? b->data : "";
}

const char *bawn_version(void)
{
	return BAWN_VERSION;
}
