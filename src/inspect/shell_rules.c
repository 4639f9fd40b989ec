/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's own rules about commands: shell.mode, shell.blocked_commands and
 * shell.blocked_patterns. They look at the command as given, at scripts handed to a shell with -c
 * (also nested), and at both with quoting, spacing and program paths made plain.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "inspect/detectors.h"
#include "inspect/shell_words.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define TEXTS_MAX   64     /* scripts inside scripts that are looked into */
#define MATCH_LIMIT 200000 /* steps; a typical search needs some hundred */
#define HEAP_KIB    16384

/* The setting's number in fields.def, to find where it was set. */
enum field {
#define BAWN_BOOL(member, ...) FIELD_##member,
#define BAWN_U64(member, ...)  FIELD_##member,
#define BAWN_REAL(member, ...) FIELD_##member,
#define BAWN_ENUM(member, ...) FIELD_##member,
#define BAWN_STR(member, ...)  FIELD_##member,
#define BAWN_LIST(member, ...) FIELD_##member,
#define BAWN_MAP(member, ...)  FIELD_##member,
#include "policy/fields.def"
#undef BAWN_BOOL
#undef BAWN_U64
#undef BAWN_REAL
#undef BAWN_ENUM
#undef BAWN_STR
#undef BAWN_LIST
#undef BAWN_MAP
};

struct rules {
	struct bawn_arena *a;
	const struct bawn_policy *p;
	struct bawn_scan *s;
	const struct bawn_subject *sub;
	const char *const *argv;
	const char *text; /* the subject, ended by a NUL */
	struct bawn_error *err;
	struct shell_words words[TEXTS_MAX]; /* [0] is argv, the others are scripts */
	size_t n_words;
	struct bawn_strlist scripts; /* as written */
	bool too_deep;
};

static int no_memory(struct bawn_error *err)
{
	return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
}

/* " (policy.yaml:12)", or "" if nobody set it. */
static const char *origin_text(struct bawn_arena *a, const struct bawn_origin *o)
{
	const char *s = "";

	if (o && o->file && o->line)
		s = bawn_arena_printf(a, " (%s:%u)", o->file, o->line);
	else if (o && o->file)
		s = bawn_arena_printf(a, " (%s)", o->file);
	return s ? s : "";
}

/* What matched, short and harmless to print. */
static const char *shown(struct bawn_arena *a, const char *text)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	size_t len = strlen(text);
	const char *s;

	bawn_buf_escape(&b, text, len > 120 ? 120 : len);
	if (len > 120)
		bawn_buf_puts(&b, "…");
	s = b.data ? bawn_arena_strdup(a, b.data) : NULL;
	return s ? s : "";
}

static int add_finding(
	struct rules *r, const char *rule, size_t start, size_t end, const char *message)
{
	struct bawn_finding f = {
		.detector = "shell-rules",
		.rule = rule,
		.category = "policy",
		.level = BAWN_SEV_CRITICAL,
		.confidence = 1.0,
		.start = start,
		.end = end,
		.message = message,
	};

	if (!message || bawn_scan_report(r->s, r->sub, &f) < 0)
		return no_memory(r->err);
	return 0;
}

/* argv as words, and every script in it as words of its own. */
static int collect(struct rules *r)
{
	for (size_t i = 0; r->argv[i]; i++) {
		if (shell_words_add(r->a, &r->words[0], r->argv[i], false) < 0)
			return no_memory(r->err);
	}
	for (r->n_words = 1;; r->n_words++) {
		struct shell_words *w = &r->words[r->n_words - 1];

		shell_words_mark(w);
		for (size_t i = 0; i < w->n; i++) {
			const char *script = shell_script_at(w, i);

			if (script && bawn_strlist_add(r->a, &r->scripts, script) < 0)
				return no_memory(r->err);
		}
		if (r->n_words > r->scripts.n)
			return 0;
		if (r->n_words == TEXTS_MAX) {
			r->too_deep = true;
			return 0;
		}
		if (shell_words_split(r->a, r->scripts.v[r->n_words - 1], &r->words[r->n_words],
			    &r->scripts) < 0)
			return no_memory(r->err);
	}
}

/* The words as one line; programs by their last component if `base`. */
static const char *join(struct rules *r, const struct shell_words *w, bool base)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	for (size_t i = 0; i < w->n; i++) {
		const char *t = w->v[i].text;

		if (i)
			bawn_buf_puts(&b, " ");
		bawn_buf_puts(&b, base && w->v[i].starts ? shell_basename(t) : t);
	}
	return b.failed ? NULL : bawn_arena_strndup(r->a, b.data ? b.data : "", b.len);
}

/* What a rule pattern and a command have in common: runs of blanks as one, operators apart. */
static const char *plain_pattern(struct rules *r, const char *pattern)
{
	struct shell_words w = {0};
	struct bawn_strlist ignored = {0};

	if (shell_words_split(r->a, pattern, &w, &ignored) < 0)
		return NULL;
	return join(r, &w, false);
}

/* One step of the pattern automaton: from the states in `on` over character `c` into `next`. */
static void step(const char *pat, size_t m, const bool *on, bool *next, char c)
{
	memset(next, 0, m + 1);
	for (size_t i = 0; i < m; i++) {
		if (!on[i])
			continue;
		if (pat[i] == '*')
			next[i] = true;
		else if (pat[i] == c)
			next[i + 1] = true;
	}
}

/* `*` may stand for nothing: "curl *" also means "curl". */
static void skip_stars(const char *pat, size_t m, bool *on)
{
	for (size_t i = 0; i < m; i++) {
		if (on[i] && pat[i] == '*')
			on[i + 1] = true;
	}
}

static bool accepts(const char *pat, size_t m, const bool *on)
{
	return on[m] || (m >= 2 && on[m - 2] && pat[m - 2] == ' ' && pat[m - 1] == '*');
}

/*
 * Does the pattern match from a place where a command may start up to the end of some word? Words
 * behind the match are further arguments. All starts are followed at once, so the time is length ×
 * pattern whatever the pattern.
 */
static int match_words(
	struct rules *r, const struct shell_words *w, bool base, const char *pat, bool *ret)
{
	size_t m = strlen(pat);
	bool *on = bawn_new(r->a, bool, m + 1), *next = bawn_new(r->a, bool, m + 1);

	if (!on || !next)
		return no_memory(r->err);
	*ret = false;
	for (size_t i = 0; i < w->n && !*ret; i++) {
		const char *t = w->v[i].text;

		if (base && w->v[i].starts)
			t = shell_basename(t);
		if (i) {
			step(pat, m, on, next, ' ');
			memcpy(on, next, m + 1);
		}
		on[0] = on[0] || w->v[i].starts;
		skip_stars(pat, m, on);
		for (; *t; t++) {
			bool *swap = on;

			step(pat, m, on, next, *t);
			skip_stars(pat, m, next);
			on = next;
			next = swap;
		}
		*ret = accepts(pat, m, on);
	}
	return 0;
}

static int match_command(struct rules *r, const char *pat, const char **what)
{
	for (size_t i = 0; i < r->n_words; i++) {
		bool hit = false;
		int rc = match_words(r, &r->words[i], false, pat, &hit);

		if (rc == 0 && !hit)
			rc = match_words(r, &r->words[i], true, pat, &hit);
		if (rc < 0)
			return rc;
		if (hit) {
			*what = join(r, &r->words[i], false);
			return *what ? 0 : no_memory(r->err);
		}
	}
	return 0;
}

static int check_commands(struct rules *r)
{
	const struct bawn_items *list = &r->p->shell_commands;

	for (size_t i = 0; i < list->n; i++) {
		const char *what = NULL, *pat = plain_pattern(r, list->v[i].text);
		int rc;

		if (!pat)
			return no_memory(r->err);
		if (!*pat)
			continue;
		rc = match_command(r, pat, &what);
		if (rc == 0 && what)
			rc = add_finding(r, "shell.blocked_commands", 0, strlen(r->text),
				bawn_arena_printf(r->a,
					"command '%s' is blocked by shell.blocked_commands '%s'%s; "
					"remove that entry to allow it",
					shown(r->a, what), shown(r->a, list->v[i].text),
					origin_text(r->a, &list->v[i].from)));
		if (rc < 0)
			return rc;
	}
	return 0;
}

struct regex {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *ctx;
};

static void regex_done(struct regex *x)
{
	pcre2_match_context_free(x->ctx);
	pcre2_match_data_free(x->data);
	pcre2_code_free(x->code);
}

static int regex_init(struct regex *x, const struct bawn_item *item, struct bawn_error *err)
{
	PCRE2_UCHAR why[120] = {0};
	PCRE2_SIZE at = 0;
	int code = 0;

	x->code = pcre2_compile((PCRE2_SPTR)item->text, PCRE2_ZERO_TERMINATED,
		PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
	if (!x->code) {
		(void)pcre2_get_error_message(code, why, sizeof(why));
		return bawn_fail(err, BAWN_ERR_INSPECT, -EINVAL,
			"shell.blocked_patterns '%.200s' is no regular expression: %s at %zu",
			item->text, (const char *)why, at);
	}
	x->data = pcre2_match_data_create_from_pattern(x->code, NULL);
	x->ctx = pcre2_match_context_create(NULL);
	if (!x->data || !x->ctx)
		return no_memory(err);
	(void)pcre2_set_match_limit(x->ctx, MATCH_LIMIT);
	(void)pcre2_set_depth_limit(x->ctx, MATCH_LIMIT);
	(void)pcre2_set_heap_limit(x->ctx, HEAP_KIB);
	return 0;
}

/* The forms of the command that a pattern is searched in; NULL past the last. [0] is call->text. */
static const char *form_at(struct rules *r, size_t i)
{
	if (i == 0)
		return r->text;
	i--;
	if (i < 2 * r->n_words)
		return join(r, &r->words[i / 2], i % 2);
	i -= 2 * r->n_words;
	return i < r->scripts.n ? r->scripts.v[i] : NULL;
}

static int check_pattern(struct rules *r, const struct bawn_item *item, const struct regex *x)
{
	const char *form;

	for (size_t i = 0; (form = form_at(r, i)); i++) {
		const size_t len = strlen(form);
		size_t start = 0, end = strlen(r->text);
		int rc = pcre2_match(x->code, (PCRE2_SPTR)form, len, 0, 0, x->data, x->ctx);
		const char *hit = form;

		if (rc == PCRE2_ERROR_NOMATCH)
			continue;
		if (rc >= 0) {
			const PCRE2_SIZE *ov = pcre2_get_ovector_pointer(x->data);
			const size_t from = ov[0] < ov[1] ? ov[0] : ov[1];

			hit = bawn_arena_strndup(r->a, form + from, ov[1] - from);
			if (i == 0) {
				start = from;
				end = ov[1];
			}
		}
		/* a search that does not come to an end must not be a way around the rule */
		return add_finding(r, "shell.blocked_patterns", start, end,
			bawn_arena_printf(r->a,
				"'%s' %s shell.blocked_patterns '%s'%s; remove that entry to allow "
				"it",
				hit ? shown(r->a, hit) : "",
				rc >= 0 ? "is blocked by"
					: "is too costly to search and counts as blocked by",
				shown(r->a, item->text), origin_text(r->a, &item->from)));
	}
	return 0;
}

static int check_patterns(struct rules *r)
{
	const struct bawn_items *list = &r->p->shell_patterns;

	for (size_t i = 0; i < list->n; i++) {
		_cleanup_(regex_done) struct regex x = {0};
		int rc = regex_init(&x, &list->v[i], r->err);

		if (rc == 0)
			rc = check_pattern(r, &list->v[i], &x);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A whole command line in one word, or an operator as a word: meant for a shell. */
static bool is_syntax(const char *word, bool alone)
{
	static const char *const ops[] = {
		"|", "||", "&", "&&", ";", "<", ">", ">>", "<<", "|&", "2>"};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!strcmp(word, ops[i]))
			return true;
	}
	return alone && strpbrk(word, "|&;<>()$`\n") != NULL;
}

static int check_mode(struct rules *r)
{
	const struct shell_words *w = &r->words[0];
	const bool find = w->n && !strcmp(shell_basename(w->v[0].text), "find");
	const char *where;

	if (r->p->shell_mode != BAWN_SHELL_DENY)
		return 0;
	where = origin_text(r->a, r->p->origins ? &r->p->origins[FIELD_shell_mode] : NULL);
	for (size_t i = 0; i < w->n; i++) {
		const char *t = w->v[i].text;
		bool shell = shell_is_shell(t) && (w->v[i].starts || shell_script_at(w, i));
		const char *end = strstr(r->text, t);
		size_t at = end ? (size_t)(end - r->text) : 0;

		/* find ends its -exec with a semicolon of its own */
		if (!shell && (!is_syntax(t, i == 0) || (find && !strcmp(t, ";"))))
			continue;
		return add_finding(r, "shell.mode", at, end ? at + strlen(t) : strlen(r->text),
			bawn_arena_printf(r->a,
				"'%s' is %s, and shell.mode is deny%s; run the program itself, or "
				"set shell.mode to restricted or full to allow it",
				shown(r->a, t), shell ? "a shell" : "shell syntax", where));
	}
	return 0;
}

/* Shell text is what some shell would be given. */
static const char *const *shell_argv(struct bawn_arena *a, const char *text)
{
	const char **argv = bawn_new(a, const char *, 4);

	if (argv) {
		argv[0] = "sh";
		argv[1] = "-c";
		argv[2] = text;
	}
	return argv;
}

static int inspect(struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err)
{
	struct bawn_arena *a = bawn_scan_arena(s);
	const struct bawn_policy *p = bawn_scan_policy(s);
	const char *const *as_shell = NULL;
	struct rules *r;
	const char *text;
	int rc;

	/* the common case costs nothing */
	if (!p ||
		(p->shell_mode != BAWN_SHELL_DENY && !p->shell_commands.n && !p->shell_patterns.n))
		return 0;
	r = bawn_new(a, struct rules, 1);
	text = bawn_arena_strndup(a, sub->text, sub->len);
	if (!sub->argv && text)
		as_shell = shell_argv(a, text);
	if (!r || !text || (!sub->argv && !as_shell))
		return no_memory(err);
	*r = (struct rules){.a = a,
		.p = p,
		.s = s,
		.sub = sub,
		.argv = sub->argv ? sub->argv : as_shell,
		.text = text,
		.err = err};
	rc = collect(r);
	if (rc == 0)
		rc = check_mode(r);
	if (rc == 0)
		rc = check_commands(r);
	if (rc == 0)
		rc = check_patterns(r);
	if (rc == 0 && r->too_deep)
		rc = add_finding(r, "shell.blocked_commands", 0, strlen(r->text),
			"the command holds too many scripts inside scripts to check against the "
			"blocked commands; make it simpler");
	return rc;
}

const struct bawn_detector bawn_detector_shell_rules = {
	.name = "shell-rules",
	.kinds = 1u << BAWN_KIND_COMMAND,
	.detect = BAWN_DETECT_POLICY,
	.inspect = inspect,
};
