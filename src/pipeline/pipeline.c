/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of a call, stage by stage. Each stage fills its part of the result; the first failure
 * ends it. */
#include "pipeline/pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "pipeline/choose.h"
#include "pipeline/door.h"
#include "pipeline/filter.h"
#include "pipeline/record.h"
#include "pipeline/vet.h"
#include "supervise/pass.h"

struct run {
	struct bawn_arena *a;
	const struct bawn_run_input *in;
	struct bawn_result *r;
	struct bawn_audit *audit;
	struct bawn_instance *instance;
	struct bawn_door *door;
	struct bawn_stdio stdio;
	const char *own[3]; /* the audit log and its head */
	struct bawn_tool_use use;
	struct bawn_subject subject;
	struct bawn_vetting *vetting; /* the call is looked at while its wall goes up */
	bool judged;
};

/* inspect begins; it answers in judge() */
static int look(struct run *x)
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
	};

	x->use = (struct bawn_tool_use){.tool = c->tool, .command = c->text};
	x->subject = bawn_call_subject(c);
	return bawn_vetting_begin(x->a, x->r->policy, &in, &x->vetting, &x->r->error);
}

/* call → policy → inspect */
static int understand(struct run *x)
{
	struct bawn_result *r = x->r;
	struct bawn_policy_source src = x->in->policy;
	int e;

	e = bawn_call_make(x->a, &x->in->call, &r->call, &r->error);
	if (e < 0)
		return e;
	src.workspace = r->call->workspace;
	e = bawn_policy_load(x->a, &src, &r->policy, &r->error);
	return e < 0 ? e : look(x);
}

/*
 * inspect → verdict. For `run`, called when the wall stands and nothing of the call has run, so
 * that looking at the call costs no time of its own; also when there is no wall (`wall` < 0): that
 * the call is forbidden says more than why it could not be confined. For `guard`, called first: the
 * verdict says whether there is to be a wall.
 */
static int judge(struct run *x, int wall)
{
	struct bawn_result *r = x->r;
	struct bawn_error err = {0};
	bool stop;
	int e = bawn_vetting_end(x->vetting, &r->verdict, &r->decision, &err);

	x->judged = true;
	r->guarded = x->in->guard;
	/* `run` confines whatever the verdict is; only the policy's own rules stop it */
	stop = r->guarded ? bawn_decision_does(&r->decision) == BAWN_ACTION_BLOCK
			  : r->verdict.blocked;
	if (e >= 0 && stop)
		e = bawn_fail(&err, BAWN_ERR_BLOCKED, -EACCES, "%s", r->verdict.reason);
	if (e < 0)
		r->error = err;
	r->passed =
		e >= 0 && r->guarded && bawn_decision_does(&r->decision) != BAWN_ACTION_CONSTRAIN;
	return e < 0 ? e : wall;
}

/* plan → backend, for one candidate */
static int try_backend(struct run *x, const struct bawn_backend *be)
{
	struct bawn_plan_options o = {.backend = be->name,
		.tier = be->tier,
		.image = be->image,
		.box = x->in->box,
		.box_dir = x->in->box_dir,
		.pty = x->in->pty,
		.own = x->own};
	struct bawn_result *r = x->r;
	int e;

	r->backend = be->name;
	r->level = bawn_level_name(be->level);
	e = bawn_plan_make(x->a, r->policy, r->call, &r->verdict, &o, &r->plan, &r->error);
	if (e < 0)
		return e;
	r->demanded = r->plan->demanded;
	e = bawn_output_filter_check(r->policy, &r->error);
	if (e < 0)
		return e;
	if (!strcmp(be->name, "noop") && r->demanded & BAWN_CTL_SYSCALLS & ~r->plan->may_miss)
		return bawn_fail(&r->error, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"backend 'noop' confines nothing; it runs only where the policy says level: none");
	/* the door starts while the wall goes up */
	e = r->plan->egress && !x->door ? bawn_door_open(x->a, r->plan->egress, &x->door, &r->error)
					: 0;
	if (e >= 0)
		e = bawn_stdio_open(&x->stdio, r->plan, x->in->stdin_fd, &r->error);
	if (e >= 0)
		e = bawn_instance_new(be, r->plan, x->stdio.child, &x->instance, &r->error);
	bawn_stdio_close_child(&x->stdio);
	if (e >= 0) {
		/* the wall goes up meanwhile */
		bawn_plan_digest(r->plan, x->r->plan_sha256);
		e = bawn_instance_await(x->instance, r->plan, &r->missing, &r->error);
	}
	if (e >= 0 && x->door)
		e = bawn_door_hand(x->door, x->instance, &r->error);
	if (e < 0) {
		x->instance = bawn_instance_free(x->instance);
		bawn_stdio_done(&x->stdio);
		return e;
	}
	r->enforced = x->instance->enforced;
	if (bawn_output_filter_guards_secrets(r->policy)) {
		r->demanded |= BAWN_CTL_SECRETS;
		r->enforced |= BAWN_CTL_SECRETS;
	}
	r->walls = bawn_arena_strdup(x->a, x->instance->walls);
	return r->walls ? 0 : bawn_fail(&r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

/* No candidate would do: the first one's reason, and the second one's where it is another. */
static void combine_reasons(struct bawn_result *r, const char *first, const struct bawn_choices *c)
{
	bool same = strstr(first, "cannot enforce") && strstr(r->error.msg, "cannot enforce");

	if (c->n < 2)
		return;
	if (same)
		(void)bawn_fail(&r->error, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"%.400s; nor can '%s'", first, c->v[c->n - 1]->name);
	else
		(void)bawn_error_wrap(&r->error, "%.200s", first);
}

/* The strongest candidate that meets every demanded control. The reasons of those that did not are
 * kept. */
static int wall_in(struct run *x)
{
	struct bawn_result *r = x->r;
	struct bawn_choices c;
	char first[BAWN_ERROR_MSG_MAX] = "";
	int e = bawn_choose(r->policy, &c, &r->error);

	if (e < 0)
		return e;
	r->reason = c.reason;
	for (size_t i = 0; i < c.n; i++) {
		e = try_backend(x, c.v[i]);
		if (e >= 0 || r->error.kind != BAWN_ERR_UNSUPPORTED)
			break;
		if (!*first)
			(void)snprintf(first, sizeof(first), "%s", r->error.msg);
		else
			combine_reasons(r, first, &c);
	}
	if (e >= 0 && *first)
		r->reason = bawn_arena_printf(x->a, "%s does; %s", r->backend, first);
	if (e >= 0)
		r->error = (struct bawn_error){0};
	return e;
}

static int open_audit(struct run *x)
{
	const struct bawn_policy *p = x->r->policy;
	int e = bawn_audit_open(
		p ? p->audit_path : NULL, p && p->audit_sync, &x->audit, &x->r->error);

	if (e < 0)
		return e;
	x->r->audit_path = bawn_arena_strdup(x->a, bawn_audit_path(x->audit));
	x->own[0] = x->r->audit_path;
	x->own[1] = bawn_arena_printf(x->a, "%s.head", bawn_audit_path(x->audit));
	return x->own[0] && x->own[1]
		       ? 0
		       : bawn_fail(&x->r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

static void add_note(struct bawn_result *r, const char *text)
{
	for (size_t i = 0; text && i + 1 < sizeof(r->notes) / sizeof(r->notes[0]); i++)
		if (!r->notes[i]) {
			r->notes[i] = text;
			return;
		}
}

static void note_network(struct run *x)
{
	struct bawn_network *n = &x->r->network;

	if (!x->door)
		return;
	bawn_door_end(x->door, n, &x->r->outcome);
	x->door = bawn_door_free(x->door);
	if (n->lost)
		add_note(x->r,
			"the egress proxy died during the run; from then on the command had no network");
	if (n->unrecorded)
		add_note(
			x->r, bawn_arena_printf(x->a,
				      "%llu decisions of the egress proxy are not in the audit log",
				      (unsigned long long)n->unrecorded));
}

/* supervise, with the output looked at on its way */
static int supervise(struct run *x)
{
	struct bawn_output_findings *found = bawn_new(x->a, struct bawn_output_findings, 1);
	struct bawn_outlets o = x->in->outlets;
	struct bawn_output_filter filter;
	struct bawn_result *r = x->r;
	int e;

	if (!found)
		return bawn_fail(&r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	if (bawn_output_filter_init(&filter, x->a, r->policy, &o, found))
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

static int execute(struct run *x)
{
	struct bawn_result *r = x->r;
	struct bawn_error audit_err = {0};
	int e = bawn_record_start(x->audit, r, &r->error);

	if (e < 0)
		return bawn_error_wrap(&r->error, "nothing was run");
	r->started = true;
	e = supervise(x);
	note_network(x);
	x->instance = bawn_instance_free(x->instance);
	add_note(r, r->plan->note);
	if (!(r->enforced & BAWN_CTL_SYSCALLS))
		add_note(r, "the command was NOT CONFINED: no wall stood around it");
	if (bawn_record_end(x->audit, r, &audit_err) < 0)
		add_note(r,
			bawn_arena_printf(x->a, "the end of this run is not in the audit log: %s",
				audit_err.msg));
	return e;
}

/* The verdict lets it through: no wall, as if we were not there, but recorded. */
static int let_through(struct run *x)
{
	struct bawn_result *r = x->r;
	struct bawn_error audit_err = {0};
	int e = bawn_record_start(x->audit, r, &r->error);

	if (e < 0)
		return bawn_error_wrap(&r->error, "nothing was run");
	r->started = true;
	e = bawn_pass_through(r->call, &x->in->outlets, &r->outcome, &r->error);
	if (bawn_record_end(x->audit, r, &audit_err) < 0)
		add_note(r,
			bawn_arena_printf(x->a, "the end of this run is not in the audit log: %s",
				audit_err.msg));
	return e;
}

static int refused(struct run *x, int e)
{
	struct bawn_error why = x->r->error;

	x->instance = bawn_instance_free(x->instance);
	/* as good as it can be recorded: nothing ran, so nothing is lost if it cannot */
	if (!x->r->started && (x->audit || open_audit(x) >= 0))
		(void)bawn_record_refusal(x->audit, x->r, NULL);
	x->r->error = why;
	return e;
}

/* The wall goes up while the call is looked at. */
static int confine(struct run *x)
{
	int e = open_audit(x);

	if (e >= 0)
		e = wall_in(x);
	if (!x->judged)
		e = judge(x, e);
	return e < 0 ? e : execute(x);
}

/* The verdict comes first and says which way. */
static int guard(struct run *x)
{
	struct bawn_result *r = x->r;
	int e = judge(x, 0);

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
	struct run x = {.a = a,
		.in = in,
		.r = ret,
		.stdio = {.child = {-1, -1, -1}, .parent = {-1, -1, -1}, .stdin_fd = -1}};
	int e;

	*ret = (struct bawn_result){0};
	e = understand(&x);
	if (e >= 0)
		e = in->guard ? guard(&x) : confine(&x);
	if (e < 0)
		e = refused(&x, e);
	x.vetting = bawn_vetting_drop(x.vetting);
	bawn_stdio_done(&x.stdio);
	x.door = bawn_door_free(x.door);
	(void)bawn_audit_free(x.audit);
	return e;
}

/* What enforces a control, per tier, in the order of BAWN_CONTROLS. */
static const struct {
	const char *full, *landlock;
} by[BAWN_CTL_COUNT] = {
	[BAWN_CTLI_FS_READ] = {"mount namespace, Landlock", "Landlock"},
	[BAWN_CTLI_FS_WRITE] = {"read-only mounts, Landlock", "Landlock"},
	[BAWN_CTLI_FS_DENY] = {"covering mounts", "Landlock, path broker"},
	[BAWN_CTLI_FS_EXEC] = {"noexec mounts, Landlock", "Landlock"},
	[BAWN_CTLI_FS_PROTECT] = {"read-only mounts, path broker", "path broker"},
	[BAWN_CTLI_NET_NONE] = {"network namespace", "seccomp, Landlock"},
	[BAWN_CTLI_NET_EGRESS] = {"network namespace, egress proxy", ""},
	[BAWN_CTLI_NET_SSRF] = {"egress proxy", ""},
	[BAWN_CTLI_IPC] = {"ipc, network and mount namespaces", "seccomp, Landlock scopes"},
	[BAWN_CTLI_PROC] = {"pid namespace, Landlock scopes", "Landlock scopes, seccomp"},
	[BAWN_CTLI_SYSCALLS] = {"seccomp", "seccomp"},
	[BAWN_CTLI_NESTED] = {"seccomp", "seccomp"},
	[BAWN_CTLI_PRIVILEGE] = {"no capabilities, no_new_privs, nosuid",
		"no capabilities, no_new_privs"},
	[BAWN_CTLI_ENV] = {"fresh environment", "fresh environment"},
	[BAWN_CTLI_LIMIT_MEMORY] = {"metering", "metering"},
	[BAWN_CTLI_LIMIT_CPU] = {"metering", "metering"},
	[BAWN_CTLI_LIMIT_PROCESSES] = {"rlimit, metering", "metering"},
	[BAWN_CTLI_LIMIT_FILES] = {"rlimit, metering", "rlimit, metering"},
	[BAWN_CTLI_LIMIT_DISK] = {"tmpfs size, metering", "metering"},
	[BAWN_CTLI_LIMIT_TIME] = {"supervisor", "supervisor"},
	[BAWN_CTLI_SECRETS] = {"inspection of output", "inspection of output"},
	[BAWN_CTLI_LIMIT_OUTPUT] = {"supervisor", "supervisor"},
};

/* "at most 4 GiB" for a limit, else what the control means. */
static const char *detail_of(struct bawn_arena *a, const struct bawn_result *r, unsigned i)
{
	char value[64];

	if (!r->plan || bawn_result_limit(r, 1u << i, value, sizeof(value)) < 0)
		return bawn_control_help(i);
	return bawn_arena_printf(a, "%s: at most %s", bawn_control_help(i), value);
}

static const char *by_of(const struct bawn_result *r, unsigned i)
{
	const char *groups = r->walls ? strstr(r->walls, "cgroup for") : NULL;

	bool limit = !strncmp(bawn_control_name(i), "limit.", 6);

	if (groups && limit && strstr(groups, bawn_limit_name(1u << i)))
		return "cgroup";
	return !r->plan || r->plan->tier == BAWN_TIER_FULL ? by[i].full : by[i].landlock;
}

static void fill_rows(struct bawn_arena *a, struct bawn_explanation *ret)
{
	const struct bawn_result *r = &ret->result;

	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++) {
		uint32_t bit = 1u << i;
		bool on = r->enforced & bit;

		ret->rows[ret->n_rows++] = (struct bawn_explain_row){
			.control = bawn_control_name(i),
			.demanded = r->demanded & bit,
			.enforced = on,
			.by = on ? by_of(r, i) : "",
			.detail = r->demanded & bit ? detail_of(a, r, i) : bawn_control_help(i),
		};
	}
}

int bawn_pipeline_explain(
	struct bawn_arena *a, const struct bawn_run_input *in, struct bawn_explanation *ret)
{
	struct run x = {.a = a,
		.in = in,
		.r = &ret->result,
		.stdio = {.child = {-1, -1, -1}, .parent = {-1, -1, -1}, .stdin_fd = -1}};
	int e;

	*ret = (struct bawn_explanation){0};
	e = understand(&x);
	if (e >= 0)
		e = judge(&x, wall_in(&x));
	x.vetting = bawn_vetting_drop(x.vetting);
	x.instance = bawn_instance_free(x.instance);
	x.door = bawn_door_free(x.door);
	bawn_stdio_done(&x.stdio);
	if (ret->result.plan)
		add_note(&ret->result, ret->result.plan->note);
	fill_rows(a, ret);
	return e;
}
