/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BAWN_BAWN_H
#define BAWN_BAWN_H

/*
 * bawn: vet a tool call of an AI agent, and run it behind the strongest wall that this host can
 * prove.
 *
 * Everything the program `bawn` does is here. A function returns 0 or a negative errno; *ret is set
 * in either case where there is something to report, and is freed with bawn_report_free(); NULL,
 * when memory ran out, can be asked like any other report. Nothing here prints, exits or keeps
 * state between calls.
 *
 * bawn_run() forks. Call it from a process without other threads, or from one where no other thread
 * can hold a lock of the C library at that moment; it blocks until nothing of the command is left.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BAWN_API __attribute__((visibility("default")))

/* Flags of struct bawn_options. */
#define BAWN_CAPTURE (1u << 0) /* keep the output: bawn_report_output() */
#define BAWN_PTY     (1u << 1) /* give the command a terminal */
#define BAWN_ALONE \
	(1u << 2) /* leave out the administrator's, the user's and the workspace's policy */
#define BAWN_WITH_STDIN (1u << 3) /* pass stdin_fd on; else the command has no input */

/* Set `size` to sizeof(struct bawn_options) and the rest to what you need; zero is a good default.
 */
struct bawn_options {
	size_t size;
	const char *const *argv; /* the command, NULL-terminated; required for run and explain */
	const char *const *envp; /* NULL: this process's environment; the policy picks from it */
	const char *workspace;   /* NULL: the current directory */
	const char *cwd;         /* NULL: the workspace */
	const char *const *policy_files;    /* like --policy; NULL-terminated or NULL */
	const char *const *settings;        /* "limits.memory=512m", "filesystem.read=/data";
					       NULL-terminated or NULL */
	const char *tool, *agent, *session; /* for the record; NULL is fine */
	uint32_t flags;
	int stdin_fd; /* with BAWN_WITH_STDIN */
	/* Optional: gets each piece of output (stream 1 or 2) as it comes. Negative ends the run.
	 */
	int (*output)(void *data, int stream, const char *bytes, size_t len);
	void *data;
};

struct bawn_report;

/* Run one command. 0 when it was started, whatever became of it; negative when it was refused. */
BAWN_API int bawn_run(const struct bawn_options *o, struct bawn_report **ret);
/* What bawn_run() would do: the wall is built and taken down again, nothing of the command runs. */
BAWN_API int bawn_explain(const struct bawn_options *o, struct bawn_report **ret);
/* The effective policy for these options, with the layer behind each value. */
BAWN_API int bawn_show_policy(const struct bawn_options *o, struct bawn_report **ret);
/* What each backend can enforce on this host, found out by trying. */
BAWN_API int bawn_probe_host(struct bawn_report **ret);
/* Check the chain of an audit log (NULL: the default one). -EBADMSG when it was tampered with. */
BAWN_API int bawn_check_audit(const char *path, struct bawn_report **ret);

/*
 * Vetting: what a command or a source file would do, what content would make an agent do, which
 * secrets it holds. Detection runs in a child process that can do nothing but compute; a vetter is
 * that child and the policy. It serves one buffer or one stream at a time.
 */
struct bawn_vetter;

enum bawn_what {
	BAWN_CONTENT, /* tool output, files, web pages */
	BAWN_COMMAND, /* shell text */
	BAWN_CODE     /* a source file */
};

/* What happens to secrets in a stream. */
enum bawn_leaks {
	BAWN_LEAKS_REPORT, /* they pass and are reported */
	BAWN_LEAKS_REDACT, /* they are replaced by [redacted:RULE] */
	BAWN_LEAKS_BLOCK   /* the stream ends with -EACCES */
};

#define BAWN_SHOW_HIDDEN  (1u << 0) /* zero-width, bidi and tag characters become visible */
#define BAWN_TAME_ESCAPES (1u << 1) /* terminal escapes that act become inert */

/* Set `size` to sizeof(struct bawn_vet_options); zero is a good default for the rest. */
struct bawn_vet_options {
	size_t size;
	enum bawn_what what;
	const char *name; /* path, for the mode and the language; NULL is fine */
	const char *lang; /* "bash", "python", "go", "javascript"; NULL or "auto": by name and
			     content */
	const char *mode; /* "strict", "standard", "lenient"; NULL: by name */
	/* of a stream */
	enum bawn_leaks leaks;
	uint32_t flags;
	const char *const *secrets; /* known values, found encoded and split too; NULL-terminated */
};

/* Policy and tool and agent come from `o`, which needs no argv. On failure *why says so; free it.
 */
BAWN_API int bawn_vetter_new(
	const struct bawn_options *o, struct bawn_vetter **ret, struct bawn_report **why);
BAWN_API void bawn_vetter_free(struct bawn_vetter *v); /* NULL is fine */

/* One buffer. 0 whatever the verdict is: bawn_report_verdict(), bawn_report_confidence(). */
BAWN_API int bawn_vet(struct bawn_vetter *v, const struct bawn_vet_options *o, const char *bytes,
	size_t n, struct bawn_report **ret);

/*
 * A stream of content in constant memory. bawn_vet_begin(), bawn_vet_feed() as often as there is
 * something, bawn_vet_end(). What may be passed on goes to `output` (NULL: nowhere), which returns
 * 0 or a negative errno. The tail that may be the beginning of a secret is held back; with `flush`
 * (nothing more comes for now) only if it looks like one. feed returns 0; -EACCES when a secret is
 * to be blocked; -EIO when detection failed: what it held back is lost, and the verdict is not
 * SAFE.
 */
typedef int (*bawn_output)(void *data, const char *bytes, size_t n);
BAWN_API int bawn_vet_begin(struct bawn_vetter *v, const struct bawn_vet_options *o);
BAWN_API int bawn_vet_feed(struct bawn_vetter *v, const char *bytes, size_t n, int flush,
	bawn_output output, void *data);
BAWN_API int bawn_vet_end(
	struct bawn_vetter *v, bawn_output output, void *data, struct bawn_report **ret);

/* "SAFE", "SUSPICIOUS" or "MALICIOUS"; "" where nothing was vetted. */
BAWN_API const char *bawn_report_verdict(const struct bawn_report *r);
BAWN_API double bawn_report_confidence(const struct bawn_report *r); /* 0..1 */

/* The exit status that `bawn run` would have: the command's own, or 124 timed out, 125 refused, 126
 * blocked, 127 not found, 128+N killed by signal N. */
BAWN_API int bawn_report_exit(const struct bawn_report *r);
/* Why it was refused: "" if it was not. One line. */
BAWN_API const char *bawn_report_error(const struct bawn_report *r);
/* The kind of error: "none", "usage", "policy", "unsupported", …; see bawn-errors(7). */
BAWN_API const char *bawn_report_error_kind(const struct bawn_report *r);
/* The limit that ended the run ("memory", "time", …), "" if none did. */
BAWN_API const char *bawn_report_limit(const struct bawn_report *r);
/* The whole report as one JSON object, as `--json` prints it. */
BAWN_API const char *bawn_report_json(const struct bawn_report *r);
/* Captured output of stream 1 or 2 (may hold NUL bytes; one more NUL stands behind it). */
BAWN_API const char *bawn_report_output(const struct bawn_report *r, int stream, size_t *ret_len);
/* NULL is fine. */
BAWN_API void bawn_report_free(struct bawn_report *r);

BAWN_API const char *bawn_version(void);

#ifdef __cplusplus
}
#endif

#endif
