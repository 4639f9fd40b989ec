/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result as one JSON object, schema bawn/result/v1. Written straight into the caller's buffer:
 * captured output may be tens of megabytes and is not to be held several times over.
 */
#include <inttypes.h>

#include <sys/wait.h>

#include "result/text.h"

static void put_key(struct bawn_buf *b, const char *key)
{
	bool first = !b->len || b->data[b->len - 1] == '{';

	bawn_buf_printf(b, "%s\"%s\":", first ? "" : ",", key);
}

static void put_str(struct bawn_buf *b, const char *key, const char *s)
{
	put_key(b, key);
	if (s)
		(void)bawn_buf_json(b, s, strlen(s));
	else
		bawn_buf_puts(b, "null");
}

static void put_u64(struct bawn_buf *b, const char *key, uint64_t v)
{
	put_key(b, key);
	bawn_buf_printf(b, "%" PRIu64, v);
}

static void put_bool(struct bawn_buf *b, const char *key, bool v)
{
	put_key(b, key);
	bawn_buf_puts(b, v ? "true" : "false");
}

static void put_controls(struct bawn_buf *b, const char *key, uint32_t set)
{
	const char *comma = "";

	put_key(b, key);
	bawn_buf_puts(b, "[");
	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++) {
		if (!(set & 1u << i))
			continue;
		bawn_buf_printf(b, "%s\"%s\"", comma, bawn_control_name(i));
		comma = ",";
	}
	bawn_buf_puts(b, "]");
}

/* "refused", "blocked", "not-found", "failed", "timeout", "limit", "signal" or "exited" */
static const char *status_name(const struct bawn_result *r)
{
	const struct bawn_outcome *o = &r->outcome;

	if (r->error.kind == BAWN_ERR_BLOCKED)
		return "blocked";
	if (r->error.kind == BAWN_ERR_NOTFOUND || o->exec_errno)
		return "not-found";
	if (r->error.kind != BAWN_ERR_NONE)
		return r->started ? "failed" : "refused";
	if (!r->started)
		return "refused";
	if (o->limit)
		return o->limit == BAWN_CTL_LIMIT_TIME ? "timeout" : "limit";
	return o->exited && WIFEXITED(o->wait_status) ? "exited" : "signal";
}

static void put_ending(const struct bawn_result *r, struct bawn_buf *b)
{
	const struct bawn_outcome *o = &r->outcome;
	const struct limit_info *li = limit_find(o->limit);
	uint64_t v = limit_value(r, o->limit);

	put_str(b, "status", status_name(r));
	put_key(b, "exit_code");
	bawn_buf_printf(b, "%d", bawn_result_exit(r));
	put_key(b, "signal");
	if (o->exited && WIFSIGNALED(o->wait_status))
		bawn_buf_printf(b, "%d", WTERMSIG(o->wait_status));
	else
		bawn_buf_puts(b, "null");
	put_str(b, "limit", li ? li->name : NULL);
	put_key(b, "limit_value");
	if (li && v != BAWN_UNLIMITED)
		bawn_buf_printf(b, "%" PRIu64, v);
	else
		bawn_buf_puts(b, "null");
	put_bool(b, "timed_out", o->limit == BAWN_CTL_LIMIT_TIME);
}

static void put_walls(const struct bawn_result *r, struct bawn_buf *b)
{
	put_str(b, "backend", r->backend);
	put_str(b, "level", r->level);
	put_str(b, "reason", r->reason);
	put_str(b, "walls", r->walls);
	put_key(b, "tried");
	bawn_buf_puts(b, "{");
	for (size_t i = 0; i < r->n_tried; i++)
		put_str(b, r->tried[i].backend, r->tried[i].why);
	bawn_buf_puts(b, "}");
	put_key(b, "controls");
	bawn_buf_puts(b, "{");
	put_controls(b, "demanded", r->demanded);
	put_controls(b, "enforced", r->enforced);
	put_controls(b, "missing", r->missing);
	bawn_buf_puts(b, "}");
}

static void put_action(const struct bawn_result *r, struct bawn_buf *b)
{
	if (!r->guarded)
		return;
	put_str(b, "action", bawn_decision_name(&r->decision));
	put_str(b, "would", bawn_action_name(r->decision.would));
	put_bool(b, "dry_run", r->decision.dry_run);
}

static void put_finding(const struct bawn_finding *f, struct bawn_buf *b)
{
	bawn_buf_puts(b, "{");
	put_str(b, "detector", f->detector);
	put_str(b, "rule", f->rule);
	put_str(b, "category", f->category);
	put_str(b, "level", bawn_severity_name(f->level));
	put_key(b, "confidence");
	bawn_buf_printf(b, "%.4f", f->confidence);
	put_u64(b, "start", f->start);
	put_u64(b, "end", f->end);
	put_str(b, "message", f->message);
	bawn_buf_puts(b, "}");
}

static void put_verdict(const struct bawn_verdict *v, struct bawn_buf *b)
{
	put_key(b, "verdict");
	bawn_buf_puts(b, "{");
	put_str(b, "kind", bawn_verdict_name(v->kind));
	put_key(b, "confidence");
	bawn_buf_printf(b, "%.4f", v->confidence);
	put_bool(b, "blocked", v->blocked);
	put_str(b, "reason", v->reason);
	put_key(b, "findings");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < v->findings.n; i++) {
		bawn_buf_puts(b, i ? "," : "");
		put_finding(&v->findings.v[i], b);
	}
	bawn_buf_puts(b, "]}");
}

/* What was found in the output; spans are offsets in what the command wrote. */
static void put_output_findings(const struct bawn_result *r, struct bawn_buf *b)
{
	put_key(b, "output_findings");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < r->n_output_findings; i++) {
		const struct bawn_finding *f = &r->output_findings[i];

		bawn_buf_puts(b, i ? ",{" : "{");
		put_str(b, "stream", r->output_stream[i] == 1 ? "stdout" : "stderr");
		put_str(b, "rule", f->rule);
		put_str(b, "category", f->category);
		put_str(b, "level", bawn_severity_name(f->level));
		put_key(b, "confidence");
		bawn_buf_printf(b, "%.4f", f->confidence);
		put_u64(b, "count", r->output_count[i]);
		put_u64(b, "start", f->start);
		put_u64(b, "end", f->end);
		put_str(b, "message", f->message);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
	put_u64(b, "output_findings_total", r->output_findings_total);
}

static void put_base64(struct bawn_buf *b, const char *s, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)s;

	bawn_buf_puts(b, "\"");
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t v = (uint32_t)p[i] << 16;
		char q[4];

		if (left > 1)
			v |= (uint32_t)p[i + 1] << 8;
		if (left > 2)
			v |= p[i + 2];
		q[0] = digits[v >> 18];
		q[1] = digits[v >> 12 & 63];
		q[2] = '=';
		q[3] = '=';
		if (left > 1)
			q[2] = digits[v >> 6 & 63];
		if (left > 2)
			q[3] = digits[v & 63];
		bawn_buf_add(b, q, sizeof(q));
	}
	bawn_buf_puts(b, "\"");
}

/* The text; and the bytes as they were if some of them are no text. */
static void put_output(struct bawn_buf *b, const char *name, const struct bawn_buf *kept)
{
	size_t bad;

	if (!kept)
		return;
	put_key(b, name);
	bad = kept->data ? bawn_buf_json(b, kept->data, kept->len) : bawn_buf_json(b, "", 0);
	if (!bad || !kept->data)
		return;
	bawn_buf_printf(b, ",\"%s_base64\":", name);
	put_base64(b, kept->data, kept->len);
}

static void put_usage(const struct bawn_outcome *o, struct bawn_buf *b)
{
	put_key(b, "bytes");
	bawn_buf_puts(b, "{");
	put_u64(b, "stdout", o->out_bytes);
	put_u64(b, "stderr", o->err_bytes);
	bawn_buf_puts(b, "}");
	put_u64(b, "wall_ms", o->wall_ms > 0 ? (uint64_t)o->wall_ms : 0);
	put_u64(b, "cpu_ms", o->usage.cpu_us / 1000);
	put_u64(b, "memory_peak", o->usage.memory_peak);
}

static const char *control_name_of(uint32_t bit)
{
	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++)
		if (bit == 1u << i)
			return bawn_control_name(i);
	return NULL;
}

static void put_denials(const struct bawn_outcome *o, struct bawn_buf *b)
{
	put_key(b, "denials");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < o->n_denials; i++) {
		bawn_buf_puts(b, i ? ",{" : "{");
		put_str(b, "control", control_name_of(o->denials[i].control));
		put_str(b, "text", o->denials[i].text);
		put_u64(b, "count", o->denials[i].count);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
	put_u64(b, "denials_total", o->denials_total);
}

static void put_network(const struct bawn_network *n, struct bawn_buf *b)
{
	put_key(b, "network");
	if (!n->door) {
		bawn_buf_puts(b, "null");
		return;
	}
	bawn_buf_puts(b, "{");
	put_u64(b, "allowed", n->allowed);
	put_u64(b, "blocked", n->blocked);
	put_u64(b, "sent", n->sent);
	put_u64(b, "received", n->received);
	put_key(b, "hosts");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < n->n_hosts; i++) {
		bawn_buf_puts(b, i ? ",{" : "{");
		put_str(b, "host", n->hosts[i].name);
		put_u64(b, "allowed", n->hosts[i].allowed);
		put_u64(b, "blocked", n->hosts[i].blocked);
		put_u64(b, "sent", n->hosts[i].sent);
		put_u64(b, "received", n->hosts[i].received);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
	put_u64(b, "more_hosts", n->more_hosts);
	put_u64(b, "unrecorded", n->unrecorded);
	put_bool(b, "lost", n->lost);
	bawn_buf_puts(b, "}");
}

static void put_rest(const struct bawn_result *r, struct bawn_buf *b)
{
	put_key(b, "notes");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < sizeof(r->notes) / sizeof(r->notes[0]) && r->notes[i]; i++) {
		bawn_buf_puts(b, i ? "," : "");
		(void)bawn_buf_json(b, r->notes[i], strlen(r->notes[i]));
	}
	bawn_buf_puts(b, "]");
	put_key(b, "error");
	if (r->error.kind == BAWN_ERR_NONE) {
		bawn_buf_puts(b, "null");
	} else {
		bawn_buf_puts(b, "{");
		put_str(b, "kind", bawn_errkind_name(r->error.kind));
		put_str(b, "message", r->error.msg);
		bawn_buf_puts(b, "}");
	}
	put_str(b, "audit", r->audit_path);
}

/* Room for the worst case: every byte of output as \uXXXX, and once more as base64. */
static size_t most(const struct bawn_buf *out, const struct bawn_buf *err)
{
	size_t n = (out ? out->len : 0) + (err ? err->len : 0);

	return BAWN_BUF_MAX + (n < SIZE_MAX / 16 ? n * 8 : SIZE_MAX / 2);
}

int bawn_result_json(const struct bawn_result *r, const struct bawn_buf *out,
	const struct bawn_buf *err, struct bawn_buf *ret)
{
	if (!ret->max)
		ret->max = most(out, err);
	bawn_buf_puts(ret, "{\"schema\":\"bawn/result/v1\"");
	put_ending(r, ret);
	put_walls(r, ret);
	put_action(r, ret);
	put_verdict(&r->verdict, ret);
	put_output_findings(r, ret);
	put_str(ret, "policy_sha256", r->policy ? r->policy->digest : NULL);
	put_str(ret, "run", r->call ? r->call->run_id : NULL);
	put_str(ret, "workspace", r->call ? r->call->workspace : NULL);
	put_str(ret, "cwd", r->call ? r->call->cwd : NULL);
	put_output(ret, "stdout", out);
	put_output(ret, "stderr", err);
	put_usage(&r->outcome, ret);
	put_denials(&r->outcome, ret);
	put_network(&r->network, ret);
	put_rest(r, ret);
	bawn_buf_puts(ret, "}");
	return ret->failed;
}
