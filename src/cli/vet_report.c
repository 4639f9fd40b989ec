/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found, for people and as JSON. Neither quotes content: it may hold secrets, and whoever
 * reads the report may be the agent that the content is aimed at.
 */
#include <errno.h>
#include <string.h>

#include "cli/vet.h"
#include "inspect/code/violations.h"

static enum cli_colour colour_of(enum bawn_severity level)
{
	if (level >= BAWN_SEV_HIGH)
		return CLI_RED;
	return level == BAWN_SEV_MEDIUM ? CLI_YELLOW : CLI_DIM;
}

static struct bawn_buf *text_out(struct vet *v)
{
	/* with --redact the content has standard output for itself */
	return v->redact ? &v->cli->say : &v->cli->out;
}

static bool colours(const struct vet *v)
{
	return v->redact ? v->cli->colour_err : v->cli->colour_out;
}

static const char *severity(const struct vet *v, const struct bawn_finding *f)
{
	return vet_serious(v, f) ? "error" : "warning";
}

/* path:3:7: high inject.x: message (confidence 0.80, bytes 10..20) */
static void text_finding(struct vet *v, const struct vet_file *f, size_t i)
{
	const struct bawn_finding *x = &f->verdict.findings.v[i];
	const struct vet_place *at = &f->places[i];
	struct bawn_buf *b = text_out(v);
	bool on = colours(v);

	cli_puts_safe(b, f->path);
	bawn_buf_printf(b, ":%zu:%zu: %s%s%s ", at->line, at->column,
		cli_colour(on, colour_of(x->level)),
		v->verify ? severity(v, x) : bawn_severity_name(x->level),
		cli_colour(on, CLI_PLAIN));
	cli_puts_safe(b, v->verify ? bawn_violation_type(x) : x->rule);
	bawn_buf_puts(b, ": ");
	cli_puts_safe(b, x->message);
	if (v->verify) {
		bawn_buf_puts(b, " [");
		cli_puts_safe(b, x->rule);
		bawn_buf_printf(b, ", %.2f]\n", x->confidence);
	} else {
		bawn_buf_printf(b, " %s(confidence %.2f, bytes %zu..%zu)%s\n",
			cli_colour(on, CLI_DIM), x->confidence, x->start, x->end,
			cli_colour(on, CLI_PLAIN));
	}
	if (v->verify && at->code) {
		bawn_buf_puts(b, "    ");
		cli_puts_safe(b, at->code);
		bawn_buf_puts(b, "\n");
	}
}

static void text_file(struct vet *v, const struct vet_file *f)
{
	struct bawn_buf *b = text_out(v);
	const struct bawn_verdict *d = &f->verdict;
	bool flagged = d->kind != BAWN_SAFE;

	for (size_t i = 0; i < d->findings.n; i++)
		if (flagged || v->cli->verbose)
			text_finding(v, f, i);
	if (!flagged && !v->cli->verbose)
		return;
	cli_puts_safe(b, f->path);
	bawn_buf_printf(b, ": %s%s%s (confidence %.2f)\n",
		cli_colour(colours(v), flagged ? CLI_BOLD : CLI_GREEN), bawn_verdict_name(d->kind),
		cli_colour(colours(v), CLI_PLAIN), d->confidence);
}

static void json_finding(struct vet *v, const struct vet_file *f, size_t i)
{
	const struct bawn_finding *x = &f->verdict.findings.v[i];
	static const char *const signals[] = {"pattern", "semantic", "sequence"};
	struct bawn_buf *b = &v->cli->out;

	cli_json_next(b);
	bawn_buf_puts(b, "{");
	if (v->verify) {
		cli_json_key(b, "type");
		cli_json_str(b, bawn_violation_type(x));
		cli_json_key(b, "severity");
		cli_json_str(b, severity(v, x));
		cli_json_key(b, "code");
		cli_json_str(b, f->places[i].code);
		cli_json_key(b, "reason");
		cli_json_str(b, x->message);
	} else {
		cli_json_key(b, "detector");
		cli_json_str(b, x->detector);
		cli_json_key(b, "category");
		cli_json_str(b, x->category);
		cli_json_key(b, "message");
		cli_json_str(b, x->message);
	}
	cli_json_key(b, "rule");
	cli_json_str(b, x->rule);
	cli_json_key(b, "level");
	cli_json_str(b, bawn_severity_name(x->level));
	cli_json_key(b, "signal");
	cli_json_str(b, signals[x->signal]);
	cli_json_key(b, "confidence");
	bawn_buf_printf(b, "%.4f", x->confidence);
	bawn_buf_printf(b, ",\"line\":%zu,\"column\":%zu,\"start\":%zu,\"end\":%zu}",
		f->places[i].line, f->places[i].column, x->start, x->end);
}

static void json_file(struct vet *v, const struct vet_file *f)
{
	static const char *const modes[] = {"standard", "strict", "lenient"};
	struct bawn_buf *b = &v->cli->out;

	cli_json_next(b);
	bawn_buf_puts(b, "{");
	cli_json_key(b, "path");
	cli_json_str(b, f->path);
	cli_json_key(b, "bytes");
	cli_json_u64(b, f->bytes);
	cli_json_key(b, "mode");
	cli_json_str(b, modes[f->mode]);
	if (v->verify) {
		cli_json_key(b, "language");
		cli_json_str(b, bawn_lang_name(f->lang));
		cli_json_key(b, "safe");
		bawn_buf_puts(b, f->verdict.kind == BAWN_SAFE ? "true" : "false");
	}
	cli_json_key(b, "verdict");
	cli_json_str(b, bawn_verdict_name(f->verdict.kind));
	cli_json_key(b, "confidence");
	bawn_buf_printf(b, "%.4f", f->verdict.confidence);
	cli_json_key(b, v->verify ? "violations" : "findings");
	bawn_buf_puts(b, "[");
	for (size_t i = 0; i < f->verdict.findings.n; i++)
		json_finding(v, f, i);
	bawn_buf_puts(b, "]}");
}

void vet_report_begin(struct vet *v)
{
	struct bawn_buf *b = &v->cli->out;

	if (v->format == VET_SARIF)
		vet_sarif_begin(v);
	if (v->format != VET_JSON)
		return;
	bawn_buf_puts(b, "{");
	cli_json_key(b, "schema");
	cli_json_str(b, v->verify ? "bawn/code/v1" : "bawn/inspect/v1");
	cli_json_key(b, "files");
	bawn_buf_puts(b, "[");
}

/* Lenient mode took out findings: take out their places, so that both go by one number again. */
static void match_places(struct vet_file *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_places && n < f->verdict.findings.n; i++)
		if (f->places[i].offset == f->verdict.findings.v[n].start)
			f->places[n++] = f->places[i];
}

int vet_report_file(struct vet *v, struct vet_file *f, struct bawn_error *err)
{
	int r = 0;

	match_places(f);
	v->files++;
	v->bytes += f->bytes;
	v->findings += f->verdict.findings.n;
	v->flagged += f->verdict.kind != BAWN_SAFE;
	if (f->verdict.kind > v->worst)
		v->worst = f->verdict.kind;
	if (f->verdict.confidence > v->confidence)
		v->confidence = f->verdict.confidence;
	switch (v->format) {
	case VET_TEXT:
		text_file(v, f);
		break;
	case VET_JSON:
		json_file(v, f);
		break;
	case VET_SARIF:
		r = vet_sarif_file(v, f);
		break;
	}
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, r, "out of memory");
	return cli_drain(v->cli, err);
}

static const char *why_not(int why)
{
	if (why == -EINVAL)
		return "not a regular file";
	if (why == -E2BIG)
		return "larger than the 32 MiB that code is read up to";
	return strerrordesc_np(-why);
}

int vet_report_unreadable(struct vet *v, const char *path, int why, struct bawn_error *err)
{
	struct bawn_buf *b = &v->cli->out;
	struct bawn_error e = {0};

	errno = -why;
	(void)bawn_fail(
		&e, BAWN_ERR_INSPECT, why, "'%s' was not looked at: %s", path, why_not(why));
	cli_say(v->cli, e.msg);
	v->unreadable++;
	if (v->format == VET_SARIF)
		vet_sarif_unreadable(v, e.msg);
	if (v->format == VET_JSON) {
		cli_json_next(b);
		bawn_buf_puts(b, "{");
		cli_json_key(b, "path");
		cli_json_str(b, path);
		cli_json_key(b, "error");
		cli_json_error(b, &e);
		bawn_buf_puts(b, "}");
	}
	return cli_drain(v->cli, err);
}

int vet_report_end(struct vet *v, struct bawn_error *err)
{
	struct bawn_buf *b = &v->cli->out;

	if (v->format == VET_SARIF)
		vet_sarif_end(v);
	if (v->format == VET_JSON) {
		bawn_buf_puts(b, "]");
		if (v->verify) {
			cli_json_key(b, "safe");
			bawn_buf_puts(
				b, v->worst == BAWN_SAFE && !v->unreadable ? "true" : "false");
		}
		cli_json_key(b, "verdict");
		cli_json_str(b, bawn_verdict_name(v->worst));
		cli_json_key(b, "confidence");
		bawn_buf_printf(b, "%.4f", v->confidence);
		bawn_buf_printf(b, ",\"looked_at\":%llu,\"flagged\":%llu,\"unreadable\":%llu}\n",
			(unsigned long long)v->files, (unsigned long long)v->flagged,
			(unsigned long long)v->unreadable);
	}
	if (v->format == VET_TEXT && v->verify && !v->flagged && !v->unreadable)
		bawn_buf_printf(b, "%sno violation%s\n", cli_colour(v->cli->colour_out, CLI_GREEN),
			cli_colour(v->cli->colour_out, CLI_PLAIN));
	else if (v->format == VET_TEXT && v->files + v->unreadable > 1)
		bawn_buf_printf(text_out(v),
			"%llu files looked at, %llu flagged, %llu unreadable\n",
			(unsigned long long)v->files, (unsigned long long)v->flagged,
			(unsigned long long)v->unreadable);
	return cli_flush(v->cli, err);
}
