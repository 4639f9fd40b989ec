/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/vet.h"

#include <errno.h>
#include <string.h>

#include "audit/audit.h"
#include "base/io.h"
#include "call/session.h"

/* What this call makes together with those before it. Without a session there is nothing before it.
 */
static int check_sequences(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_vet_input *in, struct bawn_findings *found, struct bawn_error *err)
{
	struct bawn_session *past = bawn_new(a, struct bawn_session, 1);
	struct bawn_session_event now[BAWN_STEPS_PER_CALL];
	size_t n;
	int r;

	if (!past)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	n = bawn_sequence_steps(in->use, p, bawn_wall_us(), now);
	if (!n)
		return 0;
	if (*in->session) {
		r = bawn_session_load(in->session_dir, in->agent, in->session, past, err);
		if (r < 0)
			return r;
	}
	r = bawn_sequence_check(a, p, past, now, n, found, err);
	if (r < 0 || !*in->session)
		return r;
	return bawn_session_add(in->session_dir, in->agent, in->session, now, n, err);
}

int bawn_vet(struct bawn_arena *a, const struct bawn_policy *p, const struct bawn_vet_input *in,
	struct bawn_verdict *ret, struct bawn_decision *ret_decision, struct bawn_error *err)
{
	struct bawn_findings found = {0};
	int r = 0;

	if (in->also)
		found = *in->also;

	for (size_t i = 0; r >= 0 && i < in->n_subjects; i++)
		r = bawn_scan_subject(a, p, &in->subjects[i], &found, err);
	if (r >= 0 && in->use)
		r = check_sequences(a, p, in, &found, err);
	if (r >= 0)
		r = bawn_verdict_make(p, &found, ret, err);
	if (r < 0)
		return r;
	bawn_decide(p, ret, ret_decision);
	return 0;
}

static void put(struct bawn_buf *b, const char *key, const char *value)
{
	bawn_buf_printf(b, "%s\"%s\":", b->len ? "," : "", key);
	(void)bawn_buf_json(b, value, strlen(value));
}

int bawn_vet_record(struct bawn_audit *au, const struct bawn_policy *p,
	const struct bawn_vet_input *in, const char *event, const void *input, size_t input_len,
	const struct bawn_verdict *v, const struct bawn_decision *d, const char *outcome,
	struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	char hash[BAWN_HEX_LEN + 1];

	bawn_sha256_hex(input, input_len, hash);
	put(&b, "event", event);
	put(&b, "session", in->session);
	put(&b, "agent", in->agent);
	put(&b, "tool", in->tool);
	put(&b, "input_sha256", hash);
	put(&b, "policy_sha256", p ? p->digest : "");
	put(&b, "verdict", bawn_verdict_name(v->kind));
	bawn_buf_printf(&b, ",\"confidence\":%.3f,\"signals\":[", v->confidence);
	for (size_t i = 0; i < v->findings.n; i++) {
		bawn_buf_puts(&b, i ? "," : "");
		(void)bawn_buf_json(&b, v->findings.v[i].rule, strlen(v->findings.v[i].rule));
	}
	bawn_buf_puts(&b, "]");
	put(&b, "action", bawn_decision_name(d));
	put(&b, "would", bawn_action_name(d->would));
	put(&b, "outcome", outcome);
	if (b.failed)
		return bawn_fail(err, BAWN_ERR_AUDIT, b.failed, "cannot build the audit record");
	return bawn_audit_append(au, b.data, err);
}
