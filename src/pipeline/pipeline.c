/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of a call, stage by stage. Each stage fills its part of the result; the first failure
 * ends it. */
#include "pipeline/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "pipeline/choose.h"
#include "pipeline/door.h"
#include "pipeline/filter.h"
#include "pipeline/memo.h"
#include "pipeline/record.h"
#include "pipeline/stages.h"
#include "pipeline/vet.h"
#include "supervise/pass.h"

/* inspect begins; it answers in bawn_run_hear() */
static int look(struct bawn_run *x)
{
	const struct bawn_call *c = x->r->call;
	struct bawn_vetting_input in = {
		.tool = c->tool,
		.agent = c->agent,
		.session = c->session,
		.session_dir = x->in->session_dir,
		.use = x->in->guard ? &x->use : NULL,
		.subjects = &x->subject,
		.n_subjects = 1,
		.memo = x->in->memo && !x->in->guard ? bawn_memo_path(x->a) : NULL,
	};

	x->use = (struct bawn_tool_use){.tool = c->tool, .command = c->text};
	x->subject = bawn_call_subject(c);
	return bawn_vetting_begin(x->a, x->r->policy, &in, &x->vetting, &x->r->error);
}

void bawn_run_hear(struct bawn_run *x)
{
	struct bawn_result *r = x->r;

	if (x->heard)
		return;
	x->heard = true;
	x->heard_error = bawn_vetting_end(x->vetting, &r->verdict, &r->decision, &x->heard_why);
}

int bawn_run_understand(struct bawn_run *x)
{
	struct bawn_result *r = x->r;
	struct bawn_policy_source src = x->in->policy;
	int e;

	bawn_run_guess(x);
	e = bawn_call_make(x->a, &x->in->call, &r->call, &r->error);
	if (e < 0)
		return e;
	src.workspace = r->call->workspace;
	e = bawn_policy_load(x->a, &src, &r->policy, &r->error);
	/* an error of choosing is the plan's to tell: that the call is forbidden says more */
	if (e >= 0 && !x->in->guard)
		(void)bawn_run_begin(x);
	if (e >= 0 && x->choices && x->choices->level > BAWN_LEVEL_NONE && bawn_backend_inside())
		e = bawn_fail(&r->error, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"this runs in a sandbox of bawn's already, in which no other can be built; start the command without one");
	return e < 0 ? e : look(x);
}

int bawn_run_judge(struct bawn_run *x, int wall)
{
	struct bawn_result *r = x->r;
	bool stop;
	int e;

	bawn_run_hear(x);
	e = x->heard_error;
	x->judged = true;
	r->guarded = x->in->guard;
	/* `run` confines whatever the verdict is; only the policy's own rules stop it */
	stop = r->guarded ? bawn_decision_does(&r->decision) == BAWN_ACTION_BLOCK
			  : r->verdict.blocked;
	if (e >= 0 && stop)
		e = bawn_fail(&x->heard_why, BAWN_ERR_BLOCKED, -EACCES, "%s", r->verdict.reason);
	if (e < 0)
		r->error = x->heard_why;
	r->passed =
		e >= 0 && r->guarded && bawn_decision_does(&r->decision) != BAWN_ACTION_CONSTRAIN;
	return e < 0 ? e : wall;
}

static int open_audit(struct bawn_run *x)
{
	const struct bawn_policy *p = x->r->policy;
	int e = bawn_audit_open(
		p ? p->audit_path : NULL, p && p->audit_sync, &x->audit, &x->r->error);

	if (e < 0)
		return e;
	x->r->audit_path = bawn_arena_strdup(x->a, bawn_audit_path(x->audit));
	x->own[0] = (struct bawn_plan_own){x->r->audit_path, "audit log"};
	x->own[1] = (struct bawn_plan_own){
		bawn_arena_printf(x->a, "%s.head", bawn_audit_path(x->audit)), "audit log"};
	x->own[2] = (struct bawn_plan_own){bawn_memo_path(x->a), "memo"};
	if (x->own[2].path)
		bawn_memo_make(x->own[2].path);
	return x->own[0].path && x->own[1].path
		       ? 0
		       : bawn_fail(&x->r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

void bawn_run_note(struct bawn_result *r, const char *text)
{
	for (size_t i = 0; text && i + 1 < sizeof(r->notes) / sizeof(r->notes[0]); i++)
		if (!r->notes[i]) {
			r->notes[i] = text;
			return;
		}
}

static void note_hints(struct bawn_run *x)
{
	const char *hints[BAWN_HINTS_MAX];
	size_t n = bawn_result_hints(x->a, x->r, hints);

	for (size_t i = 0; i < n; i++)
		bawn_run_note(x->r, hints[i]);
}

static void note_network(struct bawn_run *x)
{
	struct bawn_network *n = &x->r->network;

	if (!x->door)
		return;
	bawn_door_end(x->door, n, &x->r->outcome);
	if (n->lost)
		bawn_run_note(x->r,
			"the egress proxy died during the run; from then on the command had no network");
	if (n->unrecorded)
		bawn_run_note(
			x->r, bawn_arena_printf(x->a,
				      "%llu decisions of the egress proxy are not in the audit log",
				      (unsigned long long)n->unrecorded));
}

/* supervise, with the output looked at on its way */
static int supervise(struct bawn_run *x)
{
	struct bawn_output_findings *found = bawn_new(x->a, struct bawn_output_findings, 1);
	struct bawn_outlets o = x->in->outlets;
	struct bawn_output_filter filter;
	struct bawn_result *r = x->r;
	int e;

	if (!found)
		return bawn_fail(&r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	if (bawn_output_filter_init(
		    &filter, x->a, r->policy, bawn_granted_values(x->granted), &o, found))
		o.filter = &filter.ops;
	if (x->door)
		o.watch = bawn_door_watch(x->door, x->audit, r);
	e = bawn_supervise(x->a, x->instance, r->plan, &x->stdio, &o, &r->outcome, &r->error);
	bawn_output_filter_done(&filter);
	r->output_findings = found->v;
	r->output_stream = found->stream;
	r->output_count = found->count;
	r->n_output_findings = found->n;
	r->output_findings_total = found->total;
	return e;
}

static int execute(struct bawn_run *x)
{
	struct bawn_result *r = x->r;
	struct bawn_error audit_err = {0};
	int e = bawn_granted_record(x->granted, x->audit, r->call->run_id, &r->error);

	if (e >= 0)
		e = bawn_record_start(x->audit, r, &r->error);
	if (e < 0)
		return bawn_error_wrap(&r->error, "nothing was run");
	r->started = true;
	e = supervise(x);
	note_network(x);
	x->instance = bawn_instance_free(x->instance);
	bawn_run_note(r, r->plan->note);
	bawn_run_note(r, bawn_granted_warning(x->a, x->granted));
	bawn_run_note(r, bawn_granted_short(x->a, x->granted));
	if (!(r->enforced & BAWN_CTL_SYSCALLS))
		bawn_run_note(r, "the command was NOT CONFINED: no wall stood around it");
	if (bawn_record_end(x->audit, r, &audit_err) < 0)
		bawn_run_note(r,
			bawn_arena_printf(x->a, "the end of this run is not in the audit log: %s",
				audit_err.msg));
	note_hints(x);
	return e;
}

/* The verdict lets it through: no wall, as if we were not there, but recorded. */
static int let_through(struct bawn_run *x)
{
	struct bawn_result *r = x->r;
	struct bawn_error audit_err = {0};
	int e = bawn_record_start(x->audit, r, &r->error);

	if (e < 0)
		return bawn_error_wrap(&r->error, "nothing was run");
	r->started = true;
	e = bawn_pass_through(r->call, &x->in->outlets, &r->outcome, &r->error);
	if (bawn_record_end(x->audit, r, &audit_err) < 0)
		bawn_run_note(r,
			bawn_arena_printf(x->a, "the end of this run is not in the audit log: %s",
				audit_err.msg));
	return e;
}

static int refused(struct bawn_run *x, int e)
{
	struct bawn_error why = x->r->error;

	x->instance = bawn_instance_free(x->instance);
	/* as good as it can be recorded: nothing ran, so nothing is lost if it cannot */
	if (!x->r->started && (x->audit || open_audit(x) >= 0))
		(void)bawn_record_refusal(x->audit, x->r, NULL);
	x->r->error = why;
	return e;
}

int bawn_run_grant(struct bawn_run *x, bool values)
{
	struct bawn_result *r = x->r;

	x->vault = bawn_vault_files(x->a, r->policy, &x->in->secrets);
	if (!x->vault)
		return bawn_fail(&r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	return bawn_granted_make(x->a, r->policy, &x->in->secrets, values, &x->granted, &r->error);
}

/* The wall goes up while the call is looked at. */
static int confine(struct bawn_run *x)
{
	int e = open_audit(x);

	/* nobody is asked to approve what is forbidden anyway */
	if (e >= 0 && !x->judged && x->r->policy->sec_use.n)
		e = bawn_run_judge(x, 0);
	if (e >= 0)
		e = bawn_run_grant(x, true);
	if (e >= 0)
		e = bawn_run_wall(x);
	if (!x->judged)
		e = bawn_run_judge(x, e);
	return e < 0 ? e : execute(x);
}

/* The verdict comes first and says which way. */
static int guard(struct bawn_run *x)
{
	struct bawn_result *r = x->r;
	int e = bawn_run_judge(x, 0);

	/* without a wall there is no door that could keep secrets outside */
	if (e >= 0 && r->policy->sec_use.n)
		r->passed = false;
	if (e >= 0 && !r->passed)
		e = bawn_policy_for_tool(x->a, r->policy, r->call->tool, &r->policy, &r->error);
	if (e < 0 || !r->passed)
		return e < 0 ? e : confine(x);
	e = open_audit(x);
	return e < 0 ? e : let_through(x);
}

int bawn_pipeline_run(
	struct bawn_arena *a, const struct bawn_run_input *in, struct bawn_result *ret)
{
	struct bawn_run x = BAWN_RUN(a, in, ret);
	int e;

	*ret = (struct bawn_result){0};
	e = bawn_run_understand(&x);
	if (e >= 0)
		e = in->guard ? guard(&x) : confine(&x);
	if (e < 0)
		e = refused(&x, e);
	x.vetting = bawn_vetting_drop(x.vetting);
	bawn_stdio_done(&x.stdio);
	x.door = bawn_door_free(x.door);
	bawn_granted_forget(x.granted, ret->plan);
	x.granted = bawn_granted_free(x.granted);
	(void)bawn_audit_free(x.audit);
	return e;
}
