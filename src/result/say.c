/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines after a run that a person or a model can act on: what happened, by which rule, which
 * setting would change it. All text that the command or a file could have chosen is escaped.
 */
#include <errno.h>
#include <inttypes.h>

#include "plan/plan.h"
#include "result/text.h"

static void say_start(struct bawn_buf *b, bool colour, bool bad, const char *word)
{
	bawn_buf_puts(b, "bawn: ");
	if (colour)
		bawn_buf_puts(b, bad ? "\033[31m" : "\033[33m");
	bawn_buf_puts(b, word);
	if (colour)
		bawn_buf_puts(b, "\033[0m");
	bawn_buf_puts(b, ": ");
}

static void say_text(struct bawn_buf *b, const char *text)
{
	bawn_buf_escape(b, text, strlen(text));
}

static void say_error(const struct bawn_result *r, bool colour, struct bawn_buf *b)
{
	const char *word = "refused";

	if (r->error.kind == BAWN_ERR_BLOCKED)
		word = "blocked";
	else if (r->error.kind == BAWN_ERR_NOTFOUND)
		word = "cannot run";
	else if (r->started)
		word = "failed";
	say_start(b, colour, true, word);
	say_text(b, r->error.msg);
	bawn_buf_puts(b, "\n");
	/* the first one's reason is in the message */
	for (size_t i = 1; r->error.kind == BAWN_ERR_UNSUPPORTED && i < r->n_tried; i++) {
		say_start(b, colour, false, "nor");
		bawn_buf_printf(b, "%s: ", r->tried[i].backend);
		say_text(b, r->tried[i].why);
		bawn_buf_puts(b, "\n");
	}
}

static void say_limit(const struct bawn_result *r, bool colour, struct bawn_buf *b)
{
	const struct limit_info *li = limit_find(r->outcome.limit);
	uint64_t v = limit_value(r, r->outcome.limit);
	const char *mark;
	char value[64] = "its limit";

	if (!li)
		return;
	if (v != BAWN_UNLIMITED)
		limit_print(li->unit, v, value, sizeof(value));
	mark = strstr(li->said, "%s");
	say_start(b, colour, true, "killed");
	bawn_buf_add(b, li->said, (size_t)(mark - li->said));
	bawn_buf_printf(b, "%s%s (%s, flag %s)\n", value, mark + 2, li->key, li->flag);
}

static void say_denials(const struct bawn_outcome *o, bool colour, struct bawn_buf *b)
{
	uint64_t shown = 0;

	for (size_t i = 0; i < o->n_denials; i++) {
		const struct bawn_denial *d = &o->denials[i];

		say_start(b, colour, true, "denied");
		say_text(b, d->text);
		if (d->count > 1)
			bawn_buf_printf(b, " (%u times)", d->count);
		bawn_buf_puts(b, "\n");
		shown += d->count;
	}
	if (o->denials_total > shown) {
		say_start(b, colour, true, "denied");
		bawn_buf_printf(b, "%" PRIu64 " more, not listed\n", o->denials_total - shown);
	}
}

static void say_permission(const struct bawn_policy *p, const char *control, struct bawn_buf *b)
{
	for (size_t i = 0; p && i < p->allow_missing.n; i++) {
		const struct bawn_item *it = &p->allow_missing.v[i];

		if (strcmp(it->text, control) != 0 || !it->from.file)
			continue;
		bawn_buf_puts(b, " in ");
		say_text(b, it->from.file);
		if (it->from.line)
			bawn_buf_printf(b, ":%u", it->from.line);
		return;
	}
}

static void say_missing(const struct bawn_result *r, bool colour, struct bawn_buf *b)
{
	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++) {
		if (!(r->missing & 1u << i))
			continue;
		say_start(b, colour, false, "warning");
		bawn_buf_printf(b, "running without %s (%s), permitted by allow_missing",
			bawn_control_name(i), bawn_control_help(i));
		say_permission(r->policy, bawn_control_name(i), b);
		bawn_buf_puts(b, "\n");
	}
}

static void say_exec(const struct bawn_result *r, bool colour, struct bawn_buf *b)
{
	int e = r->outcome.exec_errno;
	const char *cmd = r->call && r->call->argv ? r->call->argv[0] : NULL;
	const char *why = strerrordesc_np(e), *hint = "";

	if (e == ENOENT && cmd && bawn_is_for_shells(cmd))
		hint = "; what is meant for a shell is run as: sh -c '…'";
	else if (e == ENOENT && !r->passed)
		hint = " (as the sandbox sees it: it may lie outside of what is granted)";

	say_start(b, colour, true, "cannot run");
	bawn_buf_puts(b, "'");
	if (cmd)
		say_text(b, cmd);
	bawn_buf_printf(b, "': %s%s\n", why ? why : "unknown error", hint);
}

/* What the verdict did or, in a dry run, would have done. Nothing when there is nothing to act on.
 */
static void say_decision(const struct bawn_result *r, bool colour, struct bawn_buf *b)
{
	const struct bawn_decision *d = &r->decision;
	const char *done = d->would == BAWN_ACTION_BLOCK ? "blocked" : "confined";

	if (!r->guarded || !r->started || r->verdict.kind == BAWN_SAFE)
		return;
	if (d->would == BAWN_ACTION_ALLOW)
		return;
	say_start(b, colour, false,
		d->would == BAWN_ACTION_LOG ? "let through"
		: d->dry_run                ? "dry run"
					    : "confined");
	bawn_buf_printf(
		b, "%s (%.2f): ", bawn_verdict_name(r->verdict.kind), r->verdict.confidence);
	say_text(b, r->verdict.reason ? r->verdict.reason : "see the findings");
	if (d->dry_run && d->would != BAWN_ACTION_LOG)
		bawn_buf_printf(b, "; with %s it would be %s",
			r->policy && r->policy->enf_enabled ? "enforcement.dry_run: false"
							    : "enforcement.enabled: true",
			done);
	bawn_buf_puts(b, "\n");
}

/* Weak hints are in the result object only. */
static void say_output(const struct bawn_result *r, bool colour, struct bawn_buf *b)
{
	double floor = r->policy ? r->policy->thr_suspicious : 0.0;

	for (size_t i = 0; i < r->n_output_findings; i++) {
		const struct bawn_finding *f = &r->output_findings[i];

		if (f->confidence < floor)
			continue;
		say_start(b, colour, false, "output");
		say_text(b, f->message);
		bawn_buf_printf(b, " (%s, standard %s", f->rule,
			r->output_stream[i] == 1 ? "output" : "error");
		if (r->output_count[i] > 1)
			bawn_buf_printf(b, ", %u times", r->output_count[i]);
		bawn_buf_puts(b, ")\n");
	}
}

int bawn_result_say(const struct bawn_result *r, bool colour, struct bawn_buf *ret)
{
	const struct bawn_outcome *o = &r->outcome;

	say_decision(r, colour, ret);
	if (r->started)
		say_missing(r, colour, ret);
	if (r->error.kind != BAWN_ERR_NONE)
		say_error(r, colour, ret);
	if (o->exec_errno && r->error.kind == BAWN_ERR_NONE)
		say_exec(r, colour, ret);
	if (o->limit)
		say_limit(r, colour, ret);
	say_denials(o, colour, ret);
	say_output(r, colour, ret);
	for (size_t i = 0; i < sizeof(r->notes) / sizeof(r->notes[0]) && r->notes[i]; i++) {
		say_start(ret, colour, false, "note");
		say_text(ret, r->notes[i]);
		bawn_buf_puts(ret, "\n");
	}
	return ret->failed;
}
