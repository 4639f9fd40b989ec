/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast detection is, in this process and through the confined child.
 *
 * usage: detect-tool RUNS STREAM_MIB FILE...
 * The files are the mixed content. Prints lines "name value": times in microseconds (medians),
 * speeds in MiB/s, memory in KiB.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/wait.h>

#include "base/io.h"
#include "inspect/inspector.h"
#include "inspect/rules.h"
#include "inspect/scan.h"

#define WINDOW     ((size_t)65536)
#define RUNS_MAX   10000u
#define ROUNDS_MAX 15u

static const struct bawn_policy policy; /* nothing is set */

static const char *const commands[] = {
	"git status",
	"ls -la src && wc -l src/*.c",
	"grep -rn 'TODO' --include='*.py' . | head -20",
	"cd build && cmake -DCMAKE_BUILD_TYPE=Release .. && make -j4",
	"npm test -- --watch=false 2>&1 | tail -40",
	"python3 -m pytest tests/unit -q -k 'parser and not slow'",
	"find . -name '*.o' -newer Makefile -print0 | xargs -0 ls -l",
	"for f in *.json; do jq . \"$f\" > /dev/null || echo \"bad: $f\"; done",
	"curl -sS https://api.example.org/v1/status | jq .version",
	"docker build -t app:dev . && docker run --rm app:dev --version",
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static double clock_us(clockid_t which)
{
	struct timespec ts = {0};

	(void)clock_gettime(which, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* Where a child works, too. */
static double now_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

/* What is done in this process alone: others on the machine do not count. */
static double spent_us(void)
{
	return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

__attribute__((noreturn)) static void die(const char *what)
{
	(void)fprintf(stderr, "detect-tool: %s\n", what);
	exit(1);
}

static struct bawn_subject subject(
	enum bawn_kind kind, enum bawn_lang lang, const char *text, size_t len)
{
	return (struct bawn_subject){
		.kind = kind,
		.lang = lang,
		.detect = BAWN_DETECT_ALL,
		.text = text,
		.len = len,
		.last = true,
	};
}

static double scan_us(const struct bawn_subject *sub)
{
	double start = spent_us();
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = {0};

	if (!a || bawn_scan_subject(a, &policy, sub, &f, NULL) < 0)
		die("a scan failed");
	(void)bawn_arena_free(a);
	return spent_us() - start;
}

static double command_warm(size_t runs)
{
	static double v[RUNS_MAX];

	for (size_t i = 0; i < runs; i++) {
		const char *c = commands[i % COMMANDS];
		struct bawn_subject sub = subject(BAWN_KIND_COMMAND, BAWN_LANG_BASH, c, strlen(c));

		v[i] = scan_us(&sub);
	}
	return median(v, runs);
}

/* A process that never scanned anything: as `bawn run` does it, from start to answer. */
static double command_cold(size_t runs)
{
	static double v[RUNS_MAX];

	for (size_t i = 0; i < runs; i++) {
		const char *c = commands[i % COMMANDS];
		struct bawn_subject sub = subject(BAWN_KIND_COMMAND, BAWN_LANG_BASH, c, strlen(c));
		struct bawn_arena *a = bawn_arena_new();
		struct bawn_inspector *x = NULL;
		struct bawn_findings f = {0};
		double start = now_us();

		if (!a || bawn_inspector_new(&policy, &x, NULL) < 0 ||
			bawn_inspector_submit(x, &sub, NULL) < 0 ||
			bawn_inspector_collect(x, a, &f, NULL) < 0)
			die("an inspector failed");
		v[i] = now_us() - start;
		(void)bawn_inspector_free(x);
		(void)bawn_arena_free(a);
	}
	return median(v, runs);
}

static double through_child(size_t runs)
{
	static double v[RUNS_MAX];
	struct bawn_inspector *x = NULL;

	if (bawn_inspector_new(&policy, &x, NULL) < 0)
		die("an inspector failed");
	for (size_t i = 0; i < runs; i++) {
		const char *c = commands[i % COMMANDS];
		struct bawn_subject sub = subject(BAWN_KIND_COMMAND, BAWN_LANG_BASH, c, strlen(c));
		struct bawn_arena *a = bawn_arena_new();
		struct bawn_findings f = {0};
		double start = now_us();

		if (!a || bawn_inspector_submit(x, &sub, NULL) < 0 ||
			bawn_inspector_collect(x, a, &f, NULL) < 0)
			die("an inspector failed");
		v[i] = now_us() - start;
		(void)bawn_arena_free(a);
	}
	(void)bawn_inspector_free(x);
	return median(v, runs);
}

static double repeated(const struct bawn_subject *sub, size_t runs)
{
	static double v[RUNS_MAX];

	for (size_t i = 0; i < runs; i++)
		v[i] = scan_us(sub);
	return median(v, runs);
}

/* Slices of the content, each as large as asked, so that no single file decides. */
static double slices(const struct bawn_buf *b, size_t size, size_t runs)
{
	static double v[RUNS_MAX];

	for (size_t i = 0; i < runs; i++) {
		size_t at = b->len > size ? i * 7919 * 64 % (b->len - size) : 0;
		struct bawn_subject sub = subject(BAWN_KIND_TEXT, BAWN_LANG_AUTO, b->data + at,
			b->len < size ? b->len : size);

		v[i] = scan_us(&sub);
	}
	return median(v, runs);
}

static int no_hit(void *data, const struct bawn_match *m)
{
	(void)data;
	(void)m;
	return 0;
}

/* Rules over all of it in windows; the median of the rounds. */
static double rules_speed(const struct bawn_buf *b, const struct bawn_ruleset *set, size_t rounds)
{
	double v[ROUNDS_MAX];

	for (size_t i = 0; i < rounds; i++) {
		double start = spent_us();

		for (size_t at = 0; at + WINDOW <= b->len; at += WINDOW) {
			struct bawn_arena *a = bawn_arena_new();
			struct bawn_findings f = {0};
			struct bawn_scan s = {.a = a, .out = &f, .budget = UINT64_MAX};

			if (!a || bawn_rules_match(
					  &s, set, b->data + at, WINDOW, no_hit, NULL, NULL) < 0)
				die("matching failed");
			(void)bawn_arena_free(a);
		}
		v[i] = spent_us() - start;
	}
	return (double)(b->len / WINDOW * WINDOW) / 1.048576 / median(v, rounds);
}

static long resident_kib(void)
{
	char line[128] = "";
	const char *space = NULL;

	if (bawn_read_small(AT_FDCWD, "/proc/self/statm", line, sizeof(line)) > 0)
		space = strchr(line, ' ');
	return space ? strtol(space, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024) : -1;
}

static void feed(struct bawn_stream *s, const struct bawn_buf *b, size_t done)
{
	struct bawn_stream_chunk c = {.bytes = b->data + done % (b->len - WINDOW), .n = WINDOW};
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_findings f = {0};

	if (!a || bawn_stream_feed(s, &c, a, NULL, &f, NULL) < 0)
		die("a stream failed");
	(void)bawn_arena_free(a);
}

/* All detectors over a stream: the median of its parts, each as long as the content itself. *early
 * and *late are the memory after a tenth and at the end. */
static double stream_speed(const struct bawn_buf *b, size_t mib, long *early, long *late)
{
	struct bawn_stream_options o = {
		.like = subject(BAWN_KIND_TEXT, BAWN_LANG_AUTO, NULL, 0),
		.findings_only = true,
	};
	struct bawn_stream *s = NULL;
	size_t total = mib << 20, part = b->len / WINDOW * WINDOW, parts = 0;
	static double v[RUNS_MAX];
	double start = spent_us();

	if (bawn_stream_new(&policy, &o, &s, NULL) < 0)
		die("a stream failed");
	for (size_t done = 0; done < total || !parts;) {
		feed(s, b, done);
		done += WINDOW;
		if (done % part == 0 && parts < RUNS_MAX) {
			v[parts++] = spent_us() - start;
			start = spent_us();
		}
		if (done > total / 10 && !*early)
			*early = resident_kib();
	}
	*late = resident_kib();
	(void)bawn_stream_free(s);
	return (double)part / 1.048576 / median(v, parts);
}

/* About 20 KB of ordinary Python. */
static void put_source(struct bawn_buf *b)
{
	bawn_buf_puts(b, "import json\nimport os\nimport sys\n\n");
	for (int i = 0; b->len < 20480; i++)
		bawn_buf_printf(b,
			"def load_%d(path, limit=%d):\n"
			"    \"\"\"Read a table and return its rows.\"\"\"\n"
			"    rows = []\n"
			"    with open(os.path.join('data', path)) as f:\n"
			"        for line in f:\n"
			"            row = json.loads(line)\n"
			"            if row.get('size', 0) > limit:\n"
			"                rows.append({'id': row['id'], 'size': row['size'] * %d})\n"
			"    print('loaded', len(rows), file=sys.stderr)\n"
			"    return sorted(rows, key=lambda r: r['id'])\n\n\n",
			i, i * 10, i + 1);
}

static void measure(size_t runs, size_t mib, const struct bawn_buf *mixed)
{
	static const struct bawn_ruleset *const sets[] = {
		&bawn_rules_secret, &bawn_rules_inject, &bawn_rules_command, &bawn_rules_code};
	struct bawn_buf source = {0};
	struct bawn_subject sub;
	long early = 0, late = 0;

	(void)printf("command_cold %.1f\n", command_cold(runs / 4 + 1));
	(void)printf("command_warm %.1f\n", command_warm(runs));
	(void)printf("command_child %.1f\n", through_child(runs));
	(void)printf("output_16k %.1f\n", slices(mixed, 16384, runs / 4 + 1));
	put_source(&source);
	if (source.failed)
		die("out of memory");
	sub = subject(BAWN_KIND_CODE, BAWN_LANG_PYTHON, source.data, source.len);
	(void)printf("source_20k %.1f\n", repeated(&sub, runs / 16 + 1));
	bawn_buf_done(&source);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		(void)printf("rules_%s %.0f\n", sets[i]->name,
			rules_speed(mixed, sets[i], mib > 64 ? ROUNDS_MAX : 1));
	(void)printf("all %.1f\n", stream_speed(mixed, mib, &early, &late));
	(void)printf("early_kib %ld\nlate_kib %ld\n", early, late);
}

int main(int argc, char *argv[])
{
	struct bawn_buf mixed = {.max = (size_t)64 << 20};
	size_t runs = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
	size_t mib = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (!runs || runs > RUNS_MAX || !mib)
		die("usage: detect-tool RUNS STREAM_MIB FILE...");
	for (int i = 3; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0 || bawn_read_all(fd, &mixed) < 0)
			die("a file cannot be read");
		(void)close(fd);
	}
	if (mixed.len < 4 * WINDOW)
		die("too little content");
	measure(runs, mib, &mixed);
	bawn_buf_done(&mixed);
	return 0;
}
