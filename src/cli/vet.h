/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to src/cli: what `inspect` and `verify` share. One pass over files, one report. */

#include "cli/cli.h"
#include "inspect/inspector.h"
#include "verdict/verdict.h"

/* Exit statuses of inspect and verify. */
enum {
	VET_CLEAN = 0,
	VET_FOUND = 1,  /* something is SUSPICIOUS or worse; verify: there is an error */
	VET_FAILED = 2, /* usage, or something could not be read */
};

enum vet_format {
	VET_TEXT,
	VET_JSON,
	VET_SARIF,
};

struct vet_rule {
	const char *id, *means;
};

struct vet {
	struct cli *cli;
	const struct bawn_policy *policy;
	struct bawn_inspector *inspector;
	enum vet_format format;
	bool verify; /* the report is one of `verify` */
	unsigned detect;
	bool mode_given, redact;
	enum bawn_mode mode;
	enum bawn_lang lang;
	bool progress;           /* show how far it came */
	int64_t shown;           /* when it was shown last */
	bool in_tree;            /* the file was met on the way, not named */
	struct bawn_buf notices; /* SARIF: what could not be read */
	/* so far */
	uint64_t files, bytes, flagged, unreadable, findings;
	enum bawn_verdict_kind worst;
	double confidence;
	struct vet_rule *rules; /* that were reported, for SARIF */
	size_t n_rules, cap_rules;
};

struct vet_place {
	size_t offset;
	size_t line, column; /* from 1; a column is a byte */
	const char *code;    /* verify: the line itself */
};

/* One subject that was looked at. */
struct vet_file {
	struct bawn_arena *a; /* gone after it was reported */
	const char *path;
	uint64_t bytes;
	enum bawn_mode mode;
	enum bawn_lang lang;
	struct bawn_findings found;
	struct vet_place *places; /* one per finding that there was, in their order */
	size_t n_places, cap_places;
	struct bawn_verdict verdict;
};

/* vet.c */
int vet_start(struct vet *v, struct cli *cli, struct bawn_error *err);
void vet_stop(struct vet *v);
int vet_status(const struct vet *v);
/* "injection,secrets" to a mask. */
int vet_parse_detect(const char *text, unsigned *ret, struct bawn_error *err);
/* Whether a finding alone would be acted on. */
bool vet_serious(const struct vet *v, const struct bawn_finding *f);

/* vet_file.c: look at one open file, or a descriptor, and report it */
int vet_fd(struct vet *v, const char *path, int fd, struct bawn_error *err);
/* vet_code.c: look at a whole file as code */
int vet_code(struct vet *v, const char *path, int fd, struct bawn_error *err);

/* vet_tree.c: a file, a directory with everything below it, or "-" */
int vet_path(struct vet *v, const char *path,
	int (*one)(struct vet *v, const char *path, int fd, struct bawn_error *err),
	struct bawn_error *err);

/* vet_report.c */
void vet_report_begin(struct vet *v);
int vet_report_file(struct vet *v, struct vet_file *f, struct bawn_error *err);
int vet_report_unreadable(struct vet *v, const char *path, int why, struct bawn_error *err);
int vet_report_end(struct vet *v, struct bawn_error *err);
/* vet_sarif.c */
void vet_sarif_begin(struct vet *v);
int vet_sarif_file(struct vet *v, const struct vet_file *f);
void vet_sarif_unreadable(struct vet *v, const char *why);
void vet_sarif_end(struct vet *v);
