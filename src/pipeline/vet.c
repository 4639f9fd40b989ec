/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/vet.h"

#include <errno.h>
#include <string.h>

#include "audit/audit.h"
#include "base/io.h"
#include "call/session.h"
#include "inspect/inspector.h"
#include "pipeline/memo.h"
#include "pipeline/record.h"

struct steps {
	struct bawn_session_event v[BAWN_STEPS_PER_CALL];
	size_t n;
};

/* What this call makes together with those before it. Without a session there is nothing before it.
 */
static int check_sequences(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_vetting_input *in, struct steps *now, struct bawn_findings *found,
	struct bawn_error *err)
{
	struct bawn_session *past = bawn_new(a, struct bawn_session, 1);
	int r;

	if (!past)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	now->n = bawn_sequence_steps(in->use, p, bawn_wall_us(), now->v);
	if (!now->n)
		return 0;
	if (*in->session) {
		r = bawn_session_load(in->session_dir, in->agent, in->session, past, err);
		if (r < 0)
			return r;
	}
	return bawn_sequence_check(a, p, past, now->v, now->n, found, err);
}

struct bawn_vetting {
	struct bawn_arena *a;
	const struct bawn_policy *p;
	struct bawn_vetting_input in;
	struct bawn_inspector *inspector; /* NULL when there is nothing to look at */
	struct bawn_memo memo;
	bool known; /* the same was looked at before, and nothing was found */
};

int bawn_vetting_begin(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_vetting_input *in, struct bawn_vetting **ret, struct bawn_error *err)
{
	struct bawn_vetting *v = bawn_new(a, struct bawn_vetting, 1);
	int r;

	if (!v)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	*v = (struct bawn_vetting){.a = a, .p = p, .in = *in, .memo = {.fd = -1}};
	if (in->n_subjects == 1 && in->memo && p->memo)
		v->known = bawn_memo_ask(&v->memo, in->memo, p, &in->subjects[0]);
	if (in->n_subjects && !v->known) {
		r = bawn_inspector_new(p, &v->inspector, err);
		if (r >= 0)
			r = bawn_inspector_submit(v->inspector, &in->subjects[0], err);
		if (r < 0) {
			(void)bawn_vetting_drop(v);
			return r;
		}
	}
	*ret = v;
	return 0;
}

struct bawn_vetting *bawn_vetting_drop(struct bawn_vetting *v)
{
	if (v) {
		v->inspector = bawn_inspector_free(v->inspector);
		bawn_memo_done(&v->memo);
	}
	return NULL;
}

static int collect(struct bawn_vetting *v, struct bawn_findings *found, struct bawn_error *err)
{
	size_t before = found->n;
	int r = 0;

	for (size_t i = 0; r >= 0 && !v->known && i < v->in.n_subjects; i++) {
		if (i)
			r = bawn_inspector_submit(v->inspector, &v->in.subjects[i], err);
		if (r >= 0)
			r = bawn_inspector_collect(v->inspector, v->a, found, err);
	}
	if (r >= 0 && !v->known && found->n == before)
		bawn_memo_note(&v->memo);
	bawn_memo_done(&v->memo);
	return r;
}

int bawn_vetting_end(struct bawn_vetting *v, struct bawn_verdict *ret,
	struct bawn_decision *ret_decision, struct bawn_error *err)
{
	struct bawn_verdict_place place = {
		.mode = v->in.n_subjects ? v->in.subjects[0].mode : BAWN_MODE_STANDARD,
		.tool = v->in.tool,
		.agent = v->in.agent,
	};
	struct bawn_findings found = {0};
	struct steps now = {.n = 0};
	int r;

	if (v->in.also)
		found = *v->in.also;
	r = collect(v, &found, err);
	if (v->inspector)
		bawn_inspector_dismiss(v->inspector);
	if (r >= 0 && v->in.use)
		r = check_sequences(v->a, v->p, &v->in, &now, &found, err);
	if (r >= 0)
		r = bawn_verdict_make(v->p, &place, &found, ret, err);
	if (r < 0)
		return r;
	bawn_decide(v->p, ret, ret_decision);
	/* what is blocked was not done, and what comes later does not follow from it */
	if (!now.n || !*v->in.session || bawn_decision_does(ret_decision) == BAWN_ACTION_BLOCK)
		return 0;
	return bawn_session_add(v->in.session_dir, v->in.agent, v->in.session, now.v, now.n, err);
}

int bawn_vetting_all(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_vetting_input *in, struct bawn_verdict *ret,
	struct bawn_decision *ret_decision, struct bawn_error *err)
{
	struct bawn_vetting *v = NULL;
	int r = bawn_vetting_begin(a, p, in, &v, err);

	if (r >= 0 && v)
		r = bawn_vetting_end(v, ret, ret_decision, err);
	(void)bawn_vetting_drop(v);
	return r;
}

int bawn_vetting_record(struct bawn_audit *au, const struct bawn_policy *p,
	const struct bawn_vetting_input *in, const struct bawn_vetted *done, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const struct bawn_verdict *v = done->verdict;
	char hash[BAWN_HEX_LEN + 1];

	bawn_sha256_hex(done->input, done->input_len, hash);
	bawn_record_text(&b, "event", done->event);
	bawn_record_text(&b, "session", in->session);
	bawn_record_text(&b, "agent", in->agent);
	bawn_record_text(&b, "tool", in->tool);
	bawn_record_text(&b, "input_sha256", hash);
	bawn_record_text(&b, "policy_sha256", p ? p->digest : "");
	bawn_record_text(&b, "verdict", bawn_verdict_name(v->kind));
	bawn_buf_printf(&b, ",\"confidence\":%.3f,\"signals\":[", v->confidence);
	for (size_t i = 0; i < v->findings.n; i++) {
		bawn_buf_puts(&b, i ? "," : "");
		(void)bawn_buf_json(&b, v->findings.v[i].rule, strlen(v->findings.v[i].rule));
	}
	bawn_buf_puts(&b, "]");
	bawn_record_text(&b, "action", bawn_decision_name(done->decision));
	bawn_record_text(&b, "would", bawn_action_name(done->decision->would));
	bawn_record_text(&b, "outcome", done->outcome);
	if (b.failed)
		return bawn_fail(err, BAWN_ERR_AUDIT, b.failed, "cannot build the audit record");
	return bawn_audit_append(au, b.data, err);
}
