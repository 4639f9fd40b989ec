/* SPDX-License-Identifier: Apache-2.0 */
/* From a tool call to the agent's answer: vet, record, say. */
#include "serve/hook.h"

#include <errno.h>
#include <string.h>

#include "audit/audit.h"
#include "base/path.h"
#include "serve/agents.h"
#include "serve/tool_policy.h"

#define STATUS_BLOCK 2

static const struct bawn_hook_agent *const agents[] = {&bawn_hook_claude_code};

const struct bawn_hook_agent *bawn_hook_agent_at(size_t i)
{
	return i < sizeof(agents) / sizeof(agents[0]) ? agents[i] : NULL;
}

const struct bawn_hook_agent *bawn_hook_agent_find(const char *name)
{
	const struct bawn_hook_agent *h;

	for (size_t i = 0; (h = bawn_hook_agent_at(i)); i++)
		if (!strcmp(h->name, name))
			return h;
	return NULL;
}

struct turn {
	struct bawn_arena *a;
	const struct bawn_hook_agent *agent;
	const struct bawn_hook_options *o;
	const char *payload;
	size_t len;
	struct bawn_tool_call call;
	const struct bawn_policy *policy;
	struct bawn_verdict verdict;
	struct bawn_decision decision;
	struct bawn_hook_answer *ret;
};

static const char *line(struct bawn_arena *a, const char *word, const char *text)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	char *s;

	bawn_buf_printf(&b, "bawn: %s: ", word);
	bawn_buf_escape(&b, text, strlen(text));
	bawn_buf_puts(&b, "\n");
	s = b.failed ? NULL : bawn_arena_strndup(a, b.data, b.len);
	return s ? s : "bawn: out of memory\n";
}

static bool acts(const struct turn *t)
{
	return !t->policy || (t->policy->enf_enabled && !t->policy->enf_dry_run);
}

/* Something went wrong on our side: fail closed when we act, say so when we do not. */
static void give_up(struct turn *t, const char *why)
{
	t->ret->out = "";
	t->ret->status = acts(t) ? STATUS_BLOCK : 0;
	t->ret->say = line(t->a, acts(t) ? "blocked" : "warning", why);
}

static int load_policy(struct turn *t, struct bawn_error *err)
{
	struct bawn_policy_source src = t->o->policy;
	const char *dir = t->o->workspace ? t->o->workspace : t->call.cwd ? t->call.cwd : ".";
	int r = bawn_path_resolve(t->a, dir, &src.workspace);

	if (r < 0) {
		/* who decides whether that blocks, if it is not the project */
		src.workspace = "/";
		(void)bawn_policy_load(t->a, &src, &t->policy, NULL);
		errno = -r;
		return bawn_fail(err, BAWN_ERR_CALL, r, "workspace '%s': %m", dir);
	}
	return bawn_policy_load(t->a, &src, &t->policy, err);
}

/* `bawn run … -- bash -c COMMAND` with what this hook was given. */
static const char *confined(struct turn *t)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const char *workspace = t->policy->workspace;

	bawn_buf_quote(&b, t->o->self);
	bawn_buf_puts(&b, " run --workspace ");
	bawn_buf_quote(&b, workspace);
	if (t->call.cwd && strcmp(t->call.cwd, workspace) != 0 &&
		bawn_path_under(t->call.cwd, workspace)) {
		bawn_buf_puts(&b, " --cwd ");
		bawn_buf_quote(&b, t->call.cwd);
	}
	for (const char *const *f = t->o->policy.files; f && *f; f++) {
		const char *path = NULL;

		bawn_buf_puts(&b, " --policy ");
		bawn_buf_quote(&b, bawn_path_resolve(t->a, *f, &path) < 0 ? *f : path);
	}
	bawn_buf_puts(&b, " --tool ");
	bawn_buf_quote(&b, t->call.use.tool);
	bawn_buf_puts(&b, " --agent ");
	bawn_buf_quote(&b, t->call.agent);
	if (*t->call.session) {
		bawn_buf_puts(&b, " --session ");
		bawn_buf_quote(&b, t->call.session);
	}
	bawn_buf_puts(&b, " -- bash -c ");
	bawn_buf_quote(&b, t->call.use.command);
	return b.failed ? NULL : bawn_arena_strndup(t->a, b.data, b.len);
}

static const char *reason_of(struct turn *t)
{
	return bawn_arena_printf(t->a, "%s (%.2f): %s", bawn_verdict_name(t->verdict.kind),
		t->verdict.confidence, t->verdict.reason ? t->verdict.reason : "see the audit log");
}

/* Before the call, confining: a command is rewritten; for anything else the user is asked. */
static const char *constrain(struct turn *t, const char *reason)
{
	const char *command;

	if (t->call.when == BAWN_HOOK_AFTER || !t->call.use.command)
		return t->agent->caution(t->a, &t->call, reason);
	command = confined(t);
	return command ? t->agent->rewrite(t->a, t->payload, t->len, &t->call, command, reason)
		       : NULL;
}

static const char *outcome_name(const struct turn *t)
{
	if (t->ret->status == STATUS_BLOCK)
		return "blocked";
	return *t->ret->out ? "answered" : "let-through";
}

static void act(struct turn *t)
{
	enum bawn_action does = bawn_decision_does(&t->decision);
	const char *reason = reason_of(t);

	if (!reason) {
		give_up(t, "out of memory");
		return;
	}
	if (does == BAWN_ACTION_BLOCK) {
		t->ret->status = STATUS_BLOCK;
		t->ret->say = line(t->a, "blocked", reason);
	} else if (does == BAWN_ACTION_CONSTRAIN) {
		const char *out = constrain(t, reason);

		if (!out)
			give_up(t, "this command cannot be rewritten; run it with 'bawn run'");
		else
			t->ret->out = out;
	} else if (does == BAWN_ACTION_LOG && t->verdict.kind != BAWN_SAFE) {
		t->ret->say = line(t->a, "let through", reason);
	}
}

static int record(struct turn *t, const struct bawn_vetting_input *in, struct bawn_error *err)
{
	const struct bawn_vetted done = {
		.event = t->call.when == BAWN_HOOK_AFTER ? "tool-output" : "tool",
		.input = t->payload,
		.input_len = t->len,
		.verdict = &t->verdict,
		.decision = &t->decision,
		.outcome = outcome_name(t),
	};
	struct bawn_audit *au = NULL;
	int r = bawn_audit_open(t->policy->audit_path, t->policy->audit_sync, &au, err);

	if (r >= 0)
		r = bawn_vetting_record(au, t->policy, in, &done, err);
	(void)bawn_audit_free(au);
	return r;
}

void bawn_hook_answer(struct bawn_arena *a, const struct bawn_hook_agent *agent,
	const struct bawn_hook_options *o, const char *payload, size_t len,
	struct bawn_hook_answer *ret)
{
	struct turn t = {
		.a = a, .agent = agent, .o = o, .payload = payload, .len = len, .ret = ret};
	struct bawn_error err = {0}, bad = {0};
	struct bawn_findings found = {0};
	struct bawn_vetting_input in;
	int malformed;

	*ret = (struct bawn_hook_answer){.out = "", .say = ""};
	malformed = agent->parse(a, payload, len, &t.call, &bad);
	if (malformed < 0)
		t.call = (struct bawn_tool_call){0};
	if (load_policy(&t, &err) < 0) {
		give_up(&t, err.msg);
		return;
	}
	if (malformed < 0) {
		give_up(&t, bad.msg);
		return;
	}
	if (t.call.when == BAWN_HOOK_OTHER)
		return;
	in = (struct bawn_vetting_input){
		.tool = t.call.use.tool,
		.agent = t.call.agent,
		.session = t.call.session,
		.session_dir = o->session_dir,
		/* what was done is remembered when it is asked for, not once more when it is done
		 */
		.use = t.call.when == BAWN_HOOK_BEFORE ? &t.call.use : NULL,
		.subjects = t.call.subjects,
		.n_subjects = t.call.n_subjects,
		.also = &found,
	};
	if (bawn_tool_policy(a, t.policy, &t.call, &found, &err) < 0 ||
		bawn_vetting_all(a, t.policy, &in, &t.verdict, &t.decision, &err) < 0) {
		give_up(&t, err.msg);
		return;
	}
	act(&t);
	if (record(&t, &in, &err) < 0)
		give_up(&t, err.msg);
}
