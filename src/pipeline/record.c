/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/record.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sys/wait.h>

void bawn_record_text(struct bawn_buf *b, const char *key, const char *value)
{
	bawn_buf_printf(b, "%s\"%s\":", b->len ? "," : "", key);
	(void)bawn_buf_json(b, value, strlen(value));
}

static void put_controls(struct bawn_buf *b, const char *key, uint32_t set)
{
	const char *comma = "";

	bawn_buf_printf(b, ",\"%s\":[", key);
	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++)
		if (set & (1u << i)) {
			bawn_buf_printf(b, "%s\"%s\"", comma, bawn_control_name(i));
			comma = ",";
		}
	bawn_buf_puts(b, "]");
}

static void put_call(struct bawn_buf *b, const char *event, const struct bawn_result *r)
{
	bawn_record_text(b, "event", event);
	if (r->call) {
		bawn_record_text(b, "run", r->call->run_id);
		bawn_record_text(b, "session", r->call->session);
		bawn_record_text(b, "agent", r->call->agent);
		bawn_record_text(b, "tool", r->call->tool);
		bawn_record_text(b, "input_sha256", r->call->input_sha256);
		bawn_record_text(b, "workspace", r->call->workspace);
	}
	if (r->policy)
		bawn_record_text(b, "policy_sha256", r->policy->digest);
	bawn_record_text(b, "verdict", bawn_verdict_name(r->verdict.kind));
	bawn_buf_printf(b, ",\"confidence\":%.3f,\"signals\":[", r->verdict.confidence);
	for (size_t i = 0; i < r->verdict.findings.n; i++) {
		bawn_buf_puts(b, i ? "," : "");
		(void)bawn_buf_json(
			b, r->verdict.findings.v[i].rule, strlen(r->verdict.findings.v[i].rule));
	}
	bawn_buf_puts(b, "]");
}

static void put_tried(struct bawn_buf *b, const struct bawn_result *r)
{
	if (!r->n_tried)
		return;
	bawn_buf_puts(b, ",\"tried\":{");
	for (size_t i = 0; i < r->n_tried; i++) {
		bawn_buf_printf(b, "%s\"%s\":", i ? "," : "", r->tried[i].backend);
		(void)bawn_buf_json(b, r->tried[i].why, strlen(r->tried[i].why));
	}
	bawn_buf_puts(b, "}");
}

static int append(struct bawn_audit *au, const struct bawn_buf *b, struct bawn_error *err)
{
	if (b->failed)
		return bawn_fail(err, BAWN_ERR_AUDIT, b->failed, "cannot build the audit record");
	return bawn_audit_append(au, b->data, err);
}

int bawn_record_start(struct bawn_audit *au, const struct bawn_result *r, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	put_call(&b, "start", r);
	if (r->guarded) {
		bawn_record_text(&b, "action", bawn_decision_name(&r->decision));
		bawn_record_text(&b, "would", bawn_action_name(r->decision.would));
	} else {
		bawn_record_text(&b, "action",
			r->plan->demanded & BAWN_CTL_SYSCALLS ? "CONSTRAIN" : "ALLOW");
	}
	if (r->passed) {
		bawn_record_text(&b, "adapter", "none");
		return append(au, &b, err);
	}
	bawn_record_text(&b, "adapter", r->backend);
	bawn_record_text(&b, "level", r->level);
	bawn_record_text(&b, "reason", r->reason);
	put_tried(&b, r);
	bawn_record_text(&b, "walls", r->walls);
	bawn_record_text(&b, "plan_sha256", r->plan_sha256);
	put_controls(&b, "demanded", r->demanded);
	put_controls(&b, "enforced", r->enforced);
	put_controls(&b, "missing", r->missing);
	return append(au, &b, err);
}

/* A request got the value of a secret. */
static int record_injection(struct bawn_audit *au, const struct bawn_result *r,
	const struct bawn_egress_event *ev, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	bawn_record_text(&b, "event", "secret");
	bawn_record_text(&b, "action", "inject");
	bawn_record_text(&b, "run", r->call->run_id);
	bawn_record_text(&b, "name", ev->rule);
	bawn_record_text(&b, "host", ev->host);
	bawn_buf_printf(&b, ",\"port\":%u", ev->port);
	return append(au, &b, err);
}

int bawn_record_network(struct bawn_audit *au, const struct bawn_result *r,
	const struct bawn_egress_event *ev, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	if (ev->kind == BAWN_EGRESS_INJECTED)
		return record_injection(au, r, ev, err);
	bawn_record_text(&b, "event", "network");
	bawn_record_text(&b, "run", r->call->run_id);
	bawn_record_text(&b, "decision", ev->allowed ? "allow" : "deny");
	bawn_record_text(&b, "way", ev->way);
	bawn_record_text(&b, "host", ev->host);
	bawn_buf_printf(&b, ",\"port\":%u", ev->port);
	if (*ev->method)
		bawn_record_text(&b, "method", ev->method);
	if (*ev->address)
		bawn_record_text(&b, "address", ev->address);
	bawn_record_text(&b, "rule", ev->rule);
	if (*ev->reason)
		bawn_record_text(&b, "why", ev->reason);
	return append(au, &b, err);
}

static void put_network(struct bawn_buf *b, const struct bawn_network *n)
{
	if (!n->door)
		return;
	bawn_buf_printf(b,
		",\"network\":{\"allowed\":%" PRIu64 ",\"blocked\":%" PRIu64 ",\"sent\":%" PRIu64
		",\"received\":%" PRIu64 ",\"unrecorded\":%" PRIu64 ",\"lost\":%s}",
		n->allowed, n->blocked, n->sent, n->received, n->unrecorded,
		n->lost ? "true" : "false");
}

static void put_denials(struct bawn_buf *b, const struct bawn_outcome *o)
{
	bawn_buf_printf(b, ",\"denials_total\":%" PRIu64 ",\"denials\":[", o->denials_total);
	for (size_t i = 0; i < o->n_denials; i++) {
		const struct bawn_denial *d = &o->denials[i];
		unsigned index = d->control ? (unsigned)__builtin_ctz(d->control) : 0;

		bawn_buf_printf(b, "%s{\"control\":\"%s\",\"count\":%u,\"text\":", i ? "," : "",
			bawn_control_name(index), d->count);
		(void)bawn_buf_json(b, d->text, strlen(d->text));
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
}

static void put_output(struct bawn_buf *b, const struct bawn_result *r)
{
	bawn_buf_printf(b, ",\"output_findings_total\":%" PRIu64 ",\"output_findings\":[",
		r->output_findings_total);
	for (size_t i = 0; i < r->n_output_findings; i++) {
		const struct bawn_finding *f = &r->output_findings[i];

		bawn_buf_printf(b,
			"%s{\"stream\":%d,\"count\":%u,\"confidence\":%.3f,\"rule\":", i ? "," : "",
			r->output_stream[i], r->output_count[i], f->confidence);
		(void)bawn_buf_json(b, f->rule, strlen(f->rule));
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
}

int bawn_record_end(struct bawn_audit *au, const struct bawn_result *r, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const struct bawn_outcome *o = &r->outcome;

	bawn_record_text(&b, "event", "end");
	bawn_record_text(&b, "run", r->call->run_id);
	bawn_record_text(&b, "policy_sha256", r->policy->digest);
	bawn_record_text(&b, "adapter", r->passed ? "none" : r->backend);
	bawn_record_text(&b, "outcome",
		o->limit                    ? "limit"
		: o->exec_errno             ? "not-executed"
		: !o->exited                ? "killed"
		: WIFEXITED(o->wait_status) ? "exited"
					    : "signal");
	bawn_buf_printf(&b, ",\"exit\":%d", bawn_result_exit(r));
	if (o->limit)
		bawn_record_text(&b, "limit", bawn_limit_name(o->limit));
	bawn_buf_printf(&b,
		",\"stdout_bytes\":%" PRIu64 ",\"stderr_bytes\":%" PRIu64 ",\"wall_ms\":%" PRId64
		",\"cpu_ms\":%" PRIu64 ",\"memory_peak\":%" PRIu64,
		o->out_bytes, o->err_bytes, o->wall_ms, o->usage.cpu_us / 1000,
		o->usage.memory_peak);
	put_denials(&b, o);
	put_network(&b, &r->network);
	put_output(&b, r);
	return append(au, &b, err);
}

int bawn_record_refusal(struct bawn_audit *au, const struct bawn_result *r, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	bool blocked = r->error.kind == BAWN_ERR_BLOCKED;

	put_call(&b, blocked ? "blocked" : "refused", r);
	bawn_record_text(&b, "action", "BLOCK");
	if (r->guarded)
		bawn_record_text(&b, "would", bawn_action_name(r->decision.would));
	if (r->backend)
		bawn_record_text(&b, "adapter", r->backend);
	put_tried(&b, r);
	bawn_record_text(&b, "error", bawn_errkind_name(r->error.kind));
	bawn_record_text(&b, "why", r->error.msg);
	return append(au, &b, err);
}
