/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detectors look at bytes and produce findings. One detector per file (or folder), all behind one
 * vtable; they only compute: no files, no clock, no environment, no output. They run in a child
 * that can do nothing else (inspector.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "call/call.h"
#include "policy/policy.h"

enum bawn_severity {
	BAWN_SEV_NONE,
	BAWN_SEV_LOW,
	BAWN_SEV_MEDIUM,
	BAWN_SEV_HIGH,
	BAWN_SEV_CRITICAL,
};

/* Which kind of evidence a finding is; fusion (verdict/) weighs them differently. */
enum bawn_signal {
	BAWN_SIGNAL_PATTERN,  /* a rule matched */
	BAWN_SIGNAL_SEMANTIC, /* the learned classifier */
	BAWN_SIGNAL_SEQUENCE, /* several calls of one session together */
};

/*
 * confidence is meant as a probability that this deserves to be acted on: with the default
 * thresholds a finding of 0.30 alone makes the subject SUSPICIOUS and one of 0.70 MALICIOUS. Weak
 * hints stay below 0.30 and only count together.
 */
struct bawn_finding {
	const char *detector; /* "shell" */
	const char *rule;     /* "command.reverse-shell"; rule ids start with command. code. inject.
				 secret. policy. */
	const char *
		category; /* "execution", "exfiltration", "secret", "injection", "policy", "budget",
			     …; for code one of the six violation types of `bawn verify` */
	enum bawn_severity level;
	enum bawn_signal signal;
	double confidence;
	size_t start, end;   /* span in the outermost subject, absolute offsets of the stream */
	const char *message; /* what, by which rule, how to allow it; never a secret itself */
};

struct bawn_findings {
	struct bawn_finding *v;
	size_t n, cap;
};

enum bawn_kind {
	BAWN_KIND_COMMAND, /* shell text, or words */
	BAWN_KIND_CODE,    /* a source file */
	BAWN_KIND_TEXT,    /* content: tool output, files, web pages; seen through windows */
};

enum bawn_lang {
	BAWN_LANG_AUTO,
	BAWN_LANG_BASH,
	BAWN_LANG_PYTHON,
	BAWN_LANG_GO,
	BAWN_LANG_JAVASCRIPT, /* TypeScript is read as far as the grammar goes */
	BAWN_LANG_COUNT,
};

enum bawn_mode {
	BAWN_MODE_STANDARD,
	BAWN_MODE_STRICT,  /* agent instruction files; what cannot be parsed is never SAFE */
	BAWN_MODE_LENIENT, /* tests and fixtures: levels drop by one, critical stays */
};

/* What of a subject is looked for; a mask. */
#define BAWN_DETECT_COMMAND   (1u << 0)
#define BAWN_DETECT_CODE      (1u << 1)
#define BAWN_DETECT_INJECTION (1u << 2)
#define BAWN_DETECT_SECRETS   (1u << 3)
#define BAWN_DETECT_POLICY    (1u << 4)
#define BAWN_DETECT_ALL       0x1fu

struct bawn_subject {
	enum bawn_kind kind;
	enum bawn_lang lang;
	enum bawn_mode mode;
	unsigned detect;         /* BAWN_DETECT_* */
	const char *name;        /* path or tool for rules that go by it, or NULL */
	const char *const *argv; /* a command given as words; NULL when it is shell text */
	const char *text;        /* not NUL-terminated; any byte may occur */
	size_t len;

	/*
	 * Content of any length arrives as overlapping windows: `base` is the stream offset of
	 * text[0]; what lies wholly before text[fresh] was there in the window before, so a match
	 * that ends at or before it was reported already. Commands and code are one window (base 0,
	 * fresh 0, last).
	 */
	size_t base, fresh;
	bool last;
};

struct bawn_scan; /* one pass over one subject: arena, policy, findings, budget */

struct bawn_detector {
	const char *name;
	unsigned kinds;  /* 1u << BAWN_KIND_*: what it wants to see */
	unsigned detect; /* the one BAWN_DETECT_* it belongs to */
	/* Adds findings with bawn_scan_report. A failure is a failure of the scan, never "nothing
	 * found". */
	int (*inspect)(struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err);
};

const struct bawn_detector *bawn_detector_at(size_t i); /* NULL past the end */

/* For detectors. */
struct bawn_arena *bawn_scan_arena(struct bawn_scan *s);
const struct bawn_policy *bawn_scan_policy(struct bawn_scan *s); /* NULL: built-in rules only */
/* Adds subject->base to the span, drops what was reported already; strings must live in the arena
 * or for ever. */
int bawn_scan_report(
	struct bawn_scan *s, const struct bawn_subject *sub, const struct bawn_finding *f);
/*
 * Take `units` (about one byte looked at each) from the budget of the scan. False when it is used
 * up: the detector returns 0 at once; the scan itself then adds a finding "budget" that is never
 * SAFE.
 */
bool bawn_scan_spend(struct bawn_scan *s, uint64_t units);
/*
 * Look at something found inside the subject (a `python -c` text, an os.system argument, a decoded
 * block): findings carry the span [start, end) of `outer`. Depth and total size are bounded; beyond
 * that it counts as budget used up.
 */
int bawn_scan_nested(struct bawn_scan *s, const struct bawn_subject *outer, size_t start,
	size_t end, const struct bawn_subject *inner, struct bawn_error *err);

/* Run every detector that wants it over one subject, in this process. */
int bawn_scan_subject(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_subject *sub, struct bawn_findings *out, struct bawn_error *err);
/* A call that is about to run as a subject; points into the call. */
struct bawn_subject bawn_call_subject(const struct bawn_call *c);
/* The same for a call. */
int bawn_inspect_call(struct bawn_arena *a, const struct bawn_policy *p, const struct bawn_call *c,
	struct bawn_findings *out, struct bawn_error *err);

const char *bawn_severity_name(enum bawn_severity s);
const char *bawn_lang_name(enum bawn_lang l);
int bawn_lang_from_name(const char *name, enum bawn_lang *ret);
/* By extension, #! line and content; BAWN_LANG_AUTO when it cannot be told. */
enum bawn_lang bawn_lang_guess(const char *name, const char *text, size_t len);
/* scan_modes of the policy, then the built-in table (CLAUDE.md, AGENTS.md, … strict; tests,
 * fixtures lenient). */
enum bawn_mode bawn_mode_for(const struct bawn_policy *p, const char *path);
