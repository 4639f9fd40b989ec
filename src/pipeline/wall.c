/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wall for the call: one candidate after the other until one can show that it enforces all that
 * is demanded. Why the others would not do is kept: who is refused wants to know what to change.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include "backend/ask.h"
#include "pipeline/choose.h"
#include "pipeline/filter.h"
#include "pipeline/flaw.h"
#include "pipeline/stages.h"
#include "plan/module.h"

#define ASK_MS 20000

/* A module, and nobody said who is to run it. Who names a backend may know of an interpreter. */
static bool is_for_others(const struct bawn_result *r)
{
	return !strcmp(r->policy->backend, "auto") && !r->plan->backend.image &&
	       bawn_is_module(r->plan->exe);
}

/* The plan for this candidate, and whether it is for the likes of it at all. */
static int make_plan(struct bawn_run *x, const struct bawn_backend *be)
{
	struct bawn_plan_options o = {.backend = be->name,
		.tier = be->tier,
		.image = be->image,
		.box = x->in->box,
		.box_dir = x->in->box_dir,
		.pty = x->in->pty,
		.own = x->own,
		.vault = x->vault,
		.authorities = x->authorities};
	struct bawn_result *r = x->r;
	int e;

	bawn_granted_forget(x->granted, r->plan);
	o.secrets = bawn_granted_plan(x->granted, &o.n_secrets);
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
	if (be->suits && !be->suits(r->plan))
		return bawn_fail(&r->error, BAWN_ERR_UNSUPPORTED, -ENOEXEC,
			"backend '%s' (%s) is not for '%.200s'; nothing was run", be->name,
			be->summary, r->plan->exe);
	if (!be->suits && is_for_others(r))
		return bawn_fail(&r->error, BAWN_ERR_UNSUPPORTED, -ENOEXEC,
			"'%.200s' is a WebAssembly module, which backend 'wasm' runs",
			r->plan->exe);
	return 0;
}

/*
 * Descriptors that are opened from here on: what is watched (also of control groups), a child that
 * looks at the output, what comes with the receipt. They must be there before the command runs: its
 * output would be withheld otherwise.
 */
static int need_descriptors(const struct bawn_plan *plan, struct bawn_error *err)
{
	int fds[64];
	size_t want = 14 + plan->n_loopback_ports + (plan->egress ? 8 : 0);
	size_t n = 0;
	int r = 0;

	for (; r >= 0 && n < want && n < sizeof(fds) / sizeof(fds[0]); n++)
		r = fds[n] = n ? fcntl(fds[0], F_DUPFD_CLOEXEC, 3) : eventfd(0, EFD_CLOEXEC);
	if (r < 0)
		r = bawn_fail(err, BAWN_ERR_BACKEND, -errno,
			"too few descriptors (ulimit -n), %zu more are needed: %m", want - n + 1);
	while (n--)
		if (fds[n] >= 0)
			(void)close(fds[n]);
	return r < 0 ? r : 0;
}

static int put_up(struct bawn_run *x, const struct bawn_backend *be)
{
	struct bawn_result *r = x->r;
	int e = bawn_stdio_open(&x->stdio, r->plan, x->in->stdin_fd, &r->error);

	if (e >= 0)
		e = bawn_instance_new(be, r->plan, x->stdio.child, &x->instance, &r->error);
	bawn_stdio_close_child(&x->stdio);
	/* the wall goes up meanwhile; nothing of it waits for the door, which takes longest */
	if (e >= 0 && r->plan->egress && !x->door)
		e = bawn_door_open(x->a, r->plan->egress, NULL, 0, &x->door, &r->error);
	if (e >= 0)
		e = bawn_instance_limit(x->instance, &r->error);
	if (e >= 0) {
		bawn_plan_digest(r->plan, x->r->plan_sha256);
		bawn_run_hear(x);
		e = need_descriptors(r->plan, &r->error);
	}
	if (e >= 0)
		e = bawn_instance_await(x->instance, r->plan, &r->missing, &r->error);
	if (e >= 0 && x->door)
		e = bawn_door_hand(x->door, x->instance, &r->error);
	if (e < 0) {
		x->instance = bawn_instance_free(x->instance);
		bawn_stdio_done(&x->stdio);
	}
	return e;
}

static int try_backend(struct bawn_run *x, const struct bawn_backend *be)
{
	struct bawn_result *r = x->r;
	int e = make_plan(x, be);

	if (e >= 0)
		e = put_up(x, be);
	if (e < 0)
		return e;
	r->enforced = x->instance->enforced;
	if (bawn_output_filter_guards_secrets(r->policy) || x->granted) {
		r->demanded |= BAWN_CTL_SECRETS;
		r->enforced |= BAWN_CTL_SECRETS;
	}
	r->walls = bawn_arena_strdup(x->a, x->instance->walls);
	return r->walls ? 0 : bawn_fail(&r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
}

/*
 * What was asked for by name and cannot be used: the probe knows what would help. Those that start
 * other programs have said so themselves, and asking them takes long.
 */
static void say_remedy(struct bawn_run *x, const struct bawn_backend *be)
{
	struct bawn_error *err = &x->r->error;
	struct bawn_error was = *err;
	struct bawn_probe p;

	if (err->err == -ENOEXEC || be->program)
		return;
	bawn_ask(be, ASK_MS, &p);
	if (!p.offers && *p.remedy && !strstr(was.msg, p.remedy))
		(void)bawn_fail(err, was.kind, was.err, "%.260s; remedy: %s", was.msg, p.remedy);
}

/* The message without the name that stands before it in a list of reasons anyway. */
static const char *without_name(const char *msg, const char *name)
{
	size_t n = strlen(name);

	if (!strncmp(msg, "backend '", 9) && !strncmp(msg + 9, name, n) && msg[9 + n] == '\'')
		msg += 10 + n + strspn(msg + 10 + n, ": ");
	return msg;
}

static void note_tried(struct bawn_run *x, const struct bawn_backend *be)
{
	struct bawn_result *r = x->r;
	const char *why = bawn_arena_strdup(x->a, without_name(r->error.msg, be->name));

	r->tried[r->n_tried++] = (struct bawn_tried){be->name, why ? why : "out of memory"};
}

/* None would do: the first one's reason, and who else was asked. */
static void combine_reasons(struct bawn_result *r, const struct bawn_choices *c)
{
	char others[160] = "";
	size_t n = 0;

	if (r->n_tried < 2)
		return;
	for (size_t i = 1; i < r->n_tried && n < sizeof(others); i++)
		n += (size_t)snprintf(others + n, sizeof(others) - n, "%s'%s'", i > 1 ? ", " : "",
			r->tried[i].backend);
	(void)bawn_fail(&r->error, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"no backend %s%s%s will do: backend '%s' %.200s; nor can %s",
		c->named ? "that the policy names" : "of level '",
		c->named ? "" : bawn_level_name(c->level), c->named ? "" : "' or above",
		r->tried[0].backend, r->tried[0].why, others);
}

/* Why this one, when it was not the first. */
static const char *reason_of(struct bawn_run *x, const struct bawn_choices *c)
{
	const struct bawn_result *r = x->r;
	const char *more = r->n_tried > 1 ? ", others neither" : "";

	return bawn_arena_printf(x->a, "%s; '%s' would not do%s: %.300s", c->reason,
		r->tried[0].backend, more, r->tried[0].why);
}

/* ---- flaws ---- */

static void note_flaw(struct bawn_run *x, const struct bawn_backend *be, const char *flaw)
{
	const char *why = bawn_arena_strdup(x->a, flaw);

	x->r->tried[x->r->n_tried++] = (struct bawn_tried){be->name, why ? why : "out of memory"};
}

static bool was_tried(const struct bawn_result *r, const struct bawn_backend *be)
{
	for (size_t i = 0; i < r->n_tried; i++)
		if (r->tried[i].backend == be->name)
			return true;
	return false;
}

/* Candidates that are known for one stand back at once. Where ours is the first, as it mostly is,
 * it is not worth asking about those behind it. */
static void stand_back(struct bawn_run *x, struct bawn_choices *c)
{
	const struct bawn_choices was = *c;
	bool ask = was.n && !was.named && was.v[0]->program;

	for (size_t i = 0; ask && i < was.n; i++) {
		const char *flaw = bawn_flaw_recall(x->a, was.v[i]);
		size_t at = 0;

		while (flaw && c->v[at] != was.v[i])
			at++;
		if (flaw && bawn_choices_put_back(c, at))
			note_flaw(x, was.v[i], flaw);
	}
}

/*
 * A wall that stands, but something does not work behind it: another of its level is to be tried
 * first, unless this one was named. True if so; its turn comes again.
 */
static bool set_aside(struct bawn_run *x, struct bawn_choices *c, size_t i)
{
	const struct bawn_backend *be = c->v[i];
	const char *flaw = x->instance->flaw;

	if (!*flaw)
		return false;
	if (!c->named && !was_tried(x->r, be)) {
		bawn_flaw_remember(x->a, be, flaw);
		if (bawn_choices_put_back(c, i)) {
			note_flaw(x, be, flaw);
			x->instance = bawn_instance_free(x->instance);
			bawn_stdio_done(&x->stdio);
			return true;
		}
	}
	bawn_run_note(x->r, bawn_arena_printf(x->a, "backend '%s': %s; %s", be->name, flaw,
				    "a newer one does not have this, nor has another --backend"));
	return false;
}

/* The one that is used after all was not refused. */
static void forget_tried(struct bawn_result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_tried; i++)
		if (r->tried[i].backend != r->backend)
			r->tried[n++] = r->tried[i];
	r->n_tried = n;
}

/* One after the other until one will do. */
static int try_all(struct bawn_run *x, struct bawn_choices *c)
{
	struct bawn_result *r = x->r;
	int e = -EOPNOTSUPP;

	for (size_t i = 0; i < c->n;) {
		e = try_backend(x, c->v[i]);
		if (e >= 0 && set_aside(x, c, i))
			continue;
		/* a system call that is missing here is not a matter of this call */
		if (e < 0 && r->error.kind == BAWN_ERR_BACKEND && r->error.err == -ENOSYS)
			r->error.kind = BAWN_ERR_UNSUPPORTED;
		if (e >= 0 || r->error.kind != BAWN_ERR_UNSUPPORTED)
			break;
		if (c->named)
			say_remedy(x, c->v[i]);
		if (c->named || e != -ENOEXEC) /* not for commands of this kind: not worth a word */
			note_tried(x, c->v[i]);
		i++;
	}
	return e;
}

/* An error is met again where there is a plan, and somebody to be told. */
static void begin(struct bawn_run *x, const struct bawn_backend *be)
{
	if (x->instance && x->instance->be != be)
		x->instance = bawn_instance_free(x->instance);
	if (!x->instance && be && be->begin)
		(void)bawn_instance_begin(be, &x->instance, NULL);
}

void bawn_run_guess(struct bawn_run *x)
{
	if (!x->in->guard && !x->in->box)
		begin(x, bawn_choose_guess(&x->in->policy));
}

int bawn_run_begin(struct bawn_run *x)
{
	struct bawn_choices *c = bawn_new(x->a, struct bawn_choices, 1);
	struct bawn_result *r = x->r;
	int e;

	if (!c)
		return bawn_fail(&r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	e = bawn_choose(r->policy, c, &r->error);
	if (e < 0)
		return e;
	r->tried = bawn_new(x->a, struct bawn_tried, 2 * c->n);
	if (!r->tried)
		return bawn_fail(&r->error, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	r->reason = c->reason;
	stand_back(x, c);
	x->choices = c;
	begin(x, c->n ? c->v[0] : NULL);
	return 0;
}

/*
 * A door that knows secrets comes first: its authority's certificate is part of the plan. Once it
 * runs it is the door of whatever backend is taken.
 */
static int open_door(struct bawn_run *x)
{
	const struct bawn_egress_plan *plan = NULL;
	const struct bawn_egress_secret *secrets;
	const char *ca = NULL;
	struct bawn_error *err = &x->r->error;
	size_t n = 0;
	int e;

	secrets = bawn_granted_door(x->granted, &n);
	if (!n)
		return 0;
	e = bawn_plan_egress(x->a, x->r->policy, &plan, err);
	if (e >= 0 && !plan)
		e = bawn_fail(err, BAWN_ERR_PLAN, -ENETDOWN, "there is no network for the secrets");
	if (e >= 0)
		e = bawn_authorities_check(x->a, x->r->call->workspace, err);
	if (e >= 0)
		e = bawn_door_open(x->a, plan, secrets, n, &x->door, err);
	if (e >= 0)
		e = bawn_door_ca(x->door, &ca, err);
	return e < 0 ? e : bawn_authorities(x->a, ca, &x->authorities, err);
}

int bawn_run_wall(struct bawn_run *x)
{
	struct bawn_result *r = x->r;
	struct bawn_choices *c;
	int e = x->choices ? 0 : bawn_run_begin(x);

	if (e >= 0)
		e = open_door(x);
	c = x->choices;
	if (e < 0 || !c)
		return e;
	e = try_all(x, c);
	if (e < 0 && r->error.kind == BAWN_ERR_UNSUPPORTED)
		combine_reasons(r, c);
	if (e < 0)
		return e;
	forget_tried(r);
	if (r->n_tried)
		r->reason = reason_of(x, c);
	if (r->n_tried && c->named)
		bawn_run_note(r, bawn_arena_printf(x->a, "backend '%s' stood in for '%s': %.300s",
					 r->backend, r->tried[0].backend, r->tried[0].why));
	r->error = (struct bawn_error){0};
	return 0;
}
