/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the policy forbids or allows in code: modules, functions, patterns, paths. This is not a
 * guess, so it is reported with certainty.
 */
#include "inspect/code/forbidden.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "inspect/code/code.h"
#include "inspect/scan.h"
#include "inspect/shell_words.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define CERTAIN     1.0
#define HITS_MAX    20
#define MATCH_LIMIT 200000
#define HEAP_KIB    16384
#define PATH_MAX_   512

static int report(struct bawn_scan *s, const struct bawn_subject *sub, const char *rule,
	const char *category, const char *message, const size_t span[2])
{
	struct bawn_finding f = {
		.detector = "code",
		.rule = rule,
		.category = category,
		.level = BAWN_SEV_CRITICAL,
		.confidence = CERTAIN,
		.start = span[0],
		.end = span[1],
		.message = message,
	};

	return message ? bawn_scan_report(s, sub, &f) : -ENOMEM;
}

/* "os" forbids os and os.path; "os/exec" forbids os/exec. */
static bool is_module(const char *name, size_t len, const char *module)
{
	size_t n = strlen(module);

	return len >= n && memcmp(name, module, n) == 0 &&
	       (len == n || name[n] == '.' || name[n] == '/');
}

/* "os.system" forbids that function, "system" every function of that name; "exec.Command" is how Go
 * writes os/exec.Command. */
static bool is_function(const char *name, size_t len, const char *function)
{
	size_t n = strlen(function);

	return len >= n && memcmp(name + len - n, function, n) == 0 &&
	       (len == n || name[len - n - 1] == '.' || name[len - n - 1] == '/');
}

/* require("x"), import("x"), importlib.import_module("x"): the module, or NULL. */
static const char *loaded(
	const struct code_walk *w, const char *name, size_t n, const char *end, size_t *ret_len)
{
	char text[64];
	const struct code_known *k;
	const char *p = name + n, *q;

	if (n >= sizeof(text) || p + 2 >= end || p[0] != ' ' || p[1] != '"')
		return NULL;
	memcpy(text, name, n);
	text[n] = '\0';
	k = code_known_find(w, text);
	if (!k || k->op != CODE_OP_IMPORT)
		return NULL;
	p += 2;
	q = memchr(p, '"', (size_t)(end - p));
	if (q && q - p > 5 && strncmp(p, "node:", 5) == 0)
		p += 5;
	*ret_len = q ? (size_t)(q - p) : 0;
	return q ? p : NULL;
}

/* A kind of things that the policy may forbid. */
struct forbidden {
	const char *what, *rule, *type;
	bool (*is)(const char *name, size_t n, const char *text);
};

static const struct forbidden modules = {
	"module", "code.blocked-module", "blocked_module", is_module};
static const struct forbidden functions = {
	"function", "code.blocked-function", "blocked_function", is_function};

/* Reports what of a list a name is. */
static int forbid(struct code_walk *w, const struct code_event *e, const struct forbidden *f,
	const struct bawn_items *items, const char *name, size_t n)
{
	const size_t span[2] = {e->start, e->end};
	int r = 0;

	for (size_t i = 0; !r && i < items->n; i++)
		if (f->is(name, n, items->v[i].text))
			r = report(w->scan, w->sub, f->rule, f->type,
				bawn_arena_printf(w->a, "%s '%s' is forbidden by verify.%ss",
					f->what, items->v[i].text, f->type),
				span);
	return r;
}

static int event(struct code_walk *w, const struct code_event *e, const char *line, size_t len)
{
	const struct bawn_policy *p = bawn_scan_policy(w->scan);
	const char *name = memchr(line, ' ', len);
	const char *end = line + len, *module;
	size_t n, module_len;
	int r = 0;

	if (!name || strncmp(line, "text ", 5) == 0)
		return 0;
	name++;
	for (n = 0; name + n < end && name[n] != ' ' && name[n] != '\n'; n++)
		;
	if (strncmp(line, "import ", 7) == 0)
		return forbid(w, e, &modules, &p->code_modules, name, n);
	module = loaded(w, name, n, end, &module_len);
	if (module)
		r = forbid(w, e, &modules, &p->code_modules, module, module_len);
	return r ? r : forbid(w, e, &functions, &p->code_functions, name, n);
}

int code_forbidden_events(struct code_walk *w)
{
	const struct bawn_policy *p = bawn_scan_policy(w->scan);
	int r = 0;

	if (!p || (!p->code_modules.n && !p->code_functions.n))
		return 0;
	for (size_t i = 0; r >= 0 && i < w->n_events; i++) {
		size_t end = i + 1 < w->n_events ? w->events[i + 1].line : w->lines.len;

		r = event(w, &w->events[i], w->lines.data + w->events[i].line,
			end - w->events[i].line);
	}
	return r;
}

/* A path that an event is about may be allowed. */
bool code_path_allowed(struct code_walk *w, const struct code_event *e)
{
	const struct bawn_policy *p = bawn_scan_policy(w->scan);
	const char *s, *nl;

	if (!p || !p->code_paths.n || !w->lines.data)
		return false;
	s = w->lines.data + e->line;
	nl = memchr(s, '\n', w->lines.len - e->line);
	s = nl ? memchr(s, '"', (size_t)(nl - s)) : NULL;
	if (s) {
		const char *end = memchr(s + 1, '"', (size_t)(nl - s - 1));
		char path[PATH_MAX_];

		if (!end || (size_t)(end - s) >= sizeof(path))
			return false;
		memcpy(path, s + 1, (size_t)(end - s - 1));
		path[end - s - 1] = '\0';
		if (strstr(path, ".."))
			return false;
		for (size_t i = 0; i < p->code_paths.n; i++)
			if (fnmatch(p->code_paths.v[i].text, path, FNM_LEADING_DIR) == 0 ||
				fnmatch(p->code_paths.v[i].raw, path, FNM_LEADING_DIR) == 0)
				return true;
	}
	return false;
}

static int pattern(struct bawn_scan *s, const struct bawn_subject *sub, const char *text,
	pcre2_match_data *data, pcre2_match_context *ctx)
{
	int number = 0, r = 0;
	PCRE2_SIZE where = 0;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
		PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE, &number, &where, NULL);
	const PCRE2_SIZE *v = pcre2_get_ovector_pointer(data);
	size_t at = 0;

	if (!code)
		return -EINVAL;
	for (int i = 0; r >= 0 && i < HITS_MAX && at <= sub->len; i++) {
		int m = pcre2_match(code, (PCRE2_SPTR)sub->text, sub->len, at, 0, data, ctx);
		size_t span[2] = {0, sub->len};

		if (m == PCRE2_ERROR_NOMATCH)
			break;
		if (m > 0) {
			span[0] = v[0];
			span[1] = v[1];
		}
		r = report(s, sub, "code.blocked-pattern", "dangerous_pattern",
			bawn_arena_printf(bawn_scan_arena(s),
				"matches '%s', which verify.blocked_patterns forbids", text),
			span);
		if (m < 0) /* a search that exceeds its limits counts as a match of everything */
			break;
		at = v[1] > v[0] ? v[1] : v[1] + 1;
	}
	pcre2_code_free(code);
	return r;
}

int code_forbidden_patterns(
	struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err)
{
	const struct bawn_policy *p = bawn_scan_policy(s);
	pcre2_match_data *data;
	pcre2_match_context *ctx;
	int r = 0;

	if (!p || !p->code_patterns.n)
		return 0;
	data = pcre2_match_data_create(1, NULL);
	ctx = pcre2_match_context_create(NULL);
	if (!data || !ctx)
		r = -ENOMEM;
	else
		(void)(pcre2_set_match_limit(ctx, MATCH_LIMIT) |
			pcre2_set_heap_limit(ctx, HEAP_KIB));
	for (size_t i = 0; r >= 0 && i < p->code_patterns.n; i++)
		r = pattern(s, sub, p->code_patterns.v[i].text, data, ctx);
	pcre2_match_data_free(data);
	pcre2_match_context_free(ctx);
	return r < 0 ? bawn_fail(err, BAWN_ERR_INSPECT, r, "cannot match 'verify.blocked_patterns'")
		     : 0;
}

/* By who understands the script better. */
static bool was_found(const struct bawn_scan *s, const char *message, size_t at)
{
	for (size_t i = 0; i < s->out->n; i++) {
		const struct bawn_finding *f = &s->out->v[i];

		if (f->start <= at && at < f->end && !strcmp(f->message, message))
			return true;
	}
	return false;
}

int code_forbid_command(struct bawn_scan *s, const struct bawn_subject *sub, const char *command,
	const size_t span[2])
{
	const struct bawn_policy *p = bawn_scan_policy(s);
	int r = 0;

	for (size_t i = 0; p && r >= 0 && i < p->code_functions.n; i++) {
		const char *name = p->code_functions.v[i].text, *message;

		if (strcmp(shell_basename(command), name) != 0)
			continue;
		message = bawn_arena_printf(bawn_scan_arena(s),
			"command '%s' is forbidden by verify.blocked_functions", name);
		if (!message || !was_found(s, message, span[0] + sub->base))
			r = report(
				s, sub, "code.blocked-function", "blocked_function", message, span);
	}
	return r;
}

/* Word by word: also what the shell's reader cannot follow, or never comes to. */
int code_forbidden_commands(
	struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err)
{
	const struct bawn_policy *p = bawn_scan_policy(s);
	struct bawn_arena *a = bawn_scan_arena(s);
	struct shell_words words = {0};
	struct bawn_strlist inner = {0};
	const char *script;
	int r;

	if (!p || !p->code_functions.n)
		return 0;
	script = bawn_arena_strndup(a, sub->text, sub->len);
	r = script ? shell_words_split(a, script, &words, &inner) : -ENOMEM;
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_INSPECT, r, "out of memory");
	shell_words_mark(&words);
	for (size_t i = 0; r >= 0 && i < words.n; i++) {
		const size_t span[2] = {words.v[i].at, words.v[i].at + strlen(words.v[i].text)};

		if (words.v[i].starts)
			r = code_forbid_command(s, sub, words.v[i].text, span);
	}
	return r < 0 ? bawn_fail(err, BAWN_ERR_INSPECT, r, "out of memory") : 0;
}
