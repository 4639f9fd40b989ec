/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands behind a $ or between backticks. Values that the text itself sets are put in; what
 * only the running shell knows stays as it was written, and the word is then not `known`.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/shell/read.h"

#define WORD_MAX ((size_t)65536) /* that expansions may make */

int sh_put(struct sh *s, struct sh_reader *r, const char *t, size_t n)
{
	if (r->wn + n + 1 > r->wcap) {
		size_t cap = (r->wn + n + 1) * 2 + 64;
		char *w = bawn_arena_alloc(s->a, cap);

		if (!w)
			return sh_no_memory(s);
		if (r->wn)
			memcpy(w, r->w, r->wn);
		r->w = w;
		r->wcap = cap;
	}
	memcpy(r->w + r->wn, t, n);
	r->wn += n;
	r->w[r->wn] = 0;
	return 0;
}

static void taint(struct sh_reader *r, const struct sh_data *v)
{
	r->taint |= v->taint;
	r->from = r->from ? r->from : v->from;
	r->url = r->url ? r->url : v->url;
}

int sh_put_value(struct sh *s, struct sh_reader *r, const struct sh_data *v, bool dq)
{
	const struct sh_var *ifs = dq ? NULL : sh_var_get(s, "IFS", 3);
	const char *blanks = ifs && ifs->value.known ? ifs->value.text : " \t\n";
	size_t n = v->len;

	taint(r, v);
	if (r->wn + n > WORD_MAX) {
		s->deep = true;
		r->known = false;
		return 0;
	}
	if (!bawn_scan_spend(s->scan, n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		char c = v->text[i];
		int rc;

		if (c == MARK_ITEM)
			c = r->mode == SH_MODE_TEXT ? ' ' : MARK_SPLIT;
		else if (!dq && c && strchr(blanks, c))
			c = MARK_SPLIT;
		rc = sh_put(s, r, &c, 1);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* What every shell has. */
static const char *builtin_value(const char *name, size_t n, bool part)
{
	static const struct {
		const char *name, *value, *part;
	} known[] = {
		{"HOME", "~", "/home/user"},
		{"PATH", "/usr/local/bin:/usr/bin:/bin", "/usr/local/bin:/usr/bin:/bin"},
		{"SHELL", "/bin/bash", "/bin/bash"},
		{"BASH", "/bin/bash", "/bin/bash"},
		{"PWD", ".", "/home/user"},
		{"OSTYPE", "linux-gnu", "linux-gnu"},
		{"TMPDIR", "/tmp", "/tmp"},
		{"UID", "1000", "1000"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].name) == n && !strncmp(known[i].name, name, n))
			return part ? known[i].part : known[i].value;
	}
	return NULL;
}

bool sh_keeps_meaning(const struct sh *s, const char *name, size_t n)
{
	const struct sh_reader *r = s->top;

	if (!r || s->script || !builtin_value(name, n, false) || sh_var_get(s, name, n))
		return false;
	for (size_t i = 0; i < r->n_blocks; i++) {
		if (r->blocks[i].kind == SH_BLOCK_IF || r->blocks[i].kind == SH_BLOCK_CASE ||
			r->blocks[i].kind == SH_BLOCK_LOOP)
			return true;
	}
	return r->piped || r->to_pipe;
}

static struct sh_data word_value(const struct sh_word *w)
{
	struct sh_data v = sh_text(w->text);

	v.known = w->known;
	v.taint = w->taint;
	v.from = w->from;
	v.url = w->url;
	return v;
}

static struct sh_data positional(struct sh_reader *r, const char *name, size_t n)
{
	struct sh_reader *p = r;
	unsigned long k = strtoul(name, NULL, 10);
	struct sh_data v = sh_unknown(0, NULL);

	(void)n;
	while (p && !p->has_params)
		p = p->up;
	if (!p || !k || k > p->params.n)
		return v;
	return word_value(&p->params.v[k - 1]);
}

/* bash -c SCRIPT ZERO: in SCRIPT, $0 is ZERO. */
static const struct sh_word *zero(const struct sh_reader *r)
{
	while (r && !r->zero && !r->has_params)
		r = r->up;
	return r ? r->zero : NULL;
}

/* $@ and $*: all parameters. At the top of a command line there are none. */
static struct sh_data all_params(struct sh *s, struct sh_reader *r)
{
	struct sh_data v = sh_text("");
	struct sh_reader *p = r;

	while (p && !p->has_params)
		p = p->up;
	if (!p) {
		v.known = !s->script;
		return v;
	}
	return sh_join_words(s, &p->params, 0, p->params.n, MARK_ITEM);
}

/* The value of a name; `found` says whether anything is known of it. */
static struct sh_data value_of(
	struct sh *s, struct sh_reader *r, const char *name, size_t n, bool part, bool *found)
{
	const struct sh_var *v = sh_var_get(s, name, n);
	const char *b;

	*found = true;
	if (v)
		return v->value;
	if (n == 1 && (*name == '@' || *name == '*')) {
		struct sh_data d = all_params(s, r);

		*found = d.known || d.len;
		return d;
	}
	if (n == 1 && *name == '0' && zero(r))
		return word_value(zero(r));
	if (n == 1 && *name == '0' && !s->script)
		return sh_text("bash");
	if (*name >= '0' && *name <= '9') {
		struct sh_data d = positional(r, name, n);

		*found = d.len || (n == 1 && *name == '9' && !s->script);
		d.known = d.known || !d.len;
		return d;
	}
	b = builtin_value(name, n, part);
	if (b)
		return sh_text(b);
	*found = false;
	return sh_unknown(sh_secret_name(name, n) ? SH_ENV : 0,
		sh_secret_name(name, n) ? bawn_arena_printf(s->a, "$%.*s", (int)n, name) : NULL);
}

/* c${x}url: a name that nobody set, between the letters of a program's, is there to hide it. */
static bool filler(const struct sh *s, const struct sh_reader *r, const char *name)
{
	char next = (char)(r->i < r->n ? r->t[r->i] : '\0');

	return !s->script && r->target == SH_TO_ARGS && (!r->cmd || !r->cmd->args.n) && r->wn &&
	       sh_name_char(r->w[r->wn - 1], false) && sh_name_char(next, false) &&
	       ((*name >= 'a' && *name <= 'z' && r->t[r->i - 1] == '}') ||
		       (*name >= '1' && *name <= '9')) &&
	       !memchr(r->w, '=', r->wn);
}

/* It is not known: it stands as $NAME. */
static int put_unknown(
	struct sh *s, struct sh_reader *r, const char *name, size_t n, const struct sh_data *v)
{
	int rc;

	taint(r, v);
	r->known = false;
	if (filler(s, r, name))
		return 0;
	rc = sh_put(s, r, "$", 1);
	return rc < 0 ? rc : sh_put(s, r, name, n);
}

static int put_variable(struct sh *s, struct sh_reader *r, const char *name, size_t n, bool dq)
{
	bool found;
	struct sh_data v;

	if (n == 3 && !memcmp(name, "IFS", 3) && !sh_var_get(s, name, n)) {
		char c = dq ? ' ' : MARK_SPLIT;

		if (!dq && r->target == SH_TO_ARGS && !memchr(r->wn ? r->w : "", '=', r->wn))
			s->separator = true;
		return sh_put(s, r, &c, 1);
	}
	v = value_of(s, r, name, n, false, &found);
	if (!found || (!v.known && !v.len))
		return put_unknown(s, r, name, n, &v);
	r->known = r->known && v.known;
	r->pieces++;
	return sh_put_value(s, r, &v, dq);
}

/* ${x:1:2} on a known value. */
static struct sh_data substring(struct sh *s, struct sh_data v, const char *ops, size_t n)
{
	char *end = NULL;
	const char *copy = bawn_arena_strndup(s->a, ops, n);
	long off, len;

	if (!copy)
		return v;
	while (*copy == ' ' || *copy == '(')
		copy++;
	off = strtol(copy, &end, 10);
	if (off < 0)
		off += (long)v.len;
	if (off < 0 || (size_t)off > v.len)
		off = (long)v.len;
	len = (long)v.len - off;
	if (end && (*end == ':' || *end == ')')) {
		long want = strtol(end + 1 + (*end == ')'), NULL, 10);

		len = want < 0 ? len + want : want < len ? want : len;
	}
	v.text = bawn_arena_strndup(s->a, v.text + off, len > 0 ? (size_t)len : 0);
	v.len = v.text ? strlen(v.text) : 0;
	v.text = v.text ? v.text : "";
	return v;
}

/* ${x/from/to}, ${x//from/to} with plain text as pattern. */
static struct sh_data replace(struct sh *s, struct sh_data v, const char *ops, size_t n)
{
	bool all = n && *ops == '/';
	const char *from = ops + all, *slash = memchr(from, '/', n - all);
	size_t nf = slash ? (size_t)(slash - from) : n - all;
	const char *to = slash ? slash + 1 : "";
	size_t nt = slash ? n - all - nf - 1 : 0, k = 0;
	char *out = bawn_arena_alloc(s->a, (v.len + 1) * (nt + 1) + 1);
	bool done = false;

	if (!out || !nf || v.len > 65536 || !bawn_scan_spend(s->scan, v.len * (nt + 1)))
		return v;
	for (size_t i = 0; i < v.len;) {
		if (!done && v.len - i >= nf && !memcmp(v.text + i, from, nf)) {
			memcpy(out + k, to, nt);
			k += nt;
			i += nf;
			done = !all;
		} else {
			out[k++] = v.text[i++];
		}
	}
	out[k] = 0;
	v.text = out;
	v.len = k;
	return v;
}

/* ${x#pat}, ${x%pat} with the longest or shortest prefix or suffix. */
static struct sh_data strip(struct sh *s, struct sh_data v, const char *ops, size_t n)
{
	bool tail = ops[0] == '%', longest = n > 1 && ops[1] == ops[0];
	const char *pat = bawn_arena_strndup(s->a, ops + 1 + longest, n - 1 - longest);

	if (!pat || v.len > 1024 || !bawn_scan_spend(s->scan, v.len * v.len))
		return v;
	for (size_t k = 0; k <= v.len; k++) {
		size_t cut = longest ? v.len - k : k;
		const char *piece =
			tail ? v.text + v.len - cut : bawn_arena_strndup(s->a, v.text, cut);

		if (!piece || !sh_glob_match(pat, piece))
			continue;
		v.text = tail ? bawn_arena_strndup(s->a, v.text, v.len - cut) : v.text + cut;
		v.text = v.text ? v.text : "";
		v.len -= cut;
		return v;
	}
	return v;
}

static struct sh_data change_case(struct sh *s, struct sh_data v, const char *ops, size_t n)
{
	char *out = bawn_arena_strndup(s->a, v.text, v.len);
	bool all = n > 1 && ops[1] == ops[0];

	for (size_t i = 0; out && i < (all ? v.len : v.len ? 1 : 0); i++) {
		if (ops[0] == '^' && out[i] >= 'a' && out[i] <= 'z')
			out[i] = (char)(out[i] - 32);
		if (ops[0] == ',' && out[i] >= 'A' && out[i] <= 'Z')
			out[i] = (char)(out[i] + 32);
	}
	v.text = out ? out : v.text;
	return v;
}

/* ${a[1]}: one item; ${a[@]}: all of them. */
static struct sh_data item(struct sh *s, struct sh_data v, const char *index)
{
	unsigned long k = strtoul(index, NULL, 10);
	const char *p = v.text, *end;

	if (*index == '@' || *index == '*')
		return v;
	while (k-- && p)
		p = (p = strchr(p, MARK_ITEM)) ? p + 1 : NULL;
	if (!p)
		return sh_text("");
	end = strchr(p, MARK_ITEM);
	v.text = bawn_arena_strndup(s->a, p, end ? (size_t)(end - p) : strlen(p));
	v.text = v.text ? v.text : "";
	v.len = strlen(v.text);
	return v;
}

static int push_param(struct sh *s, struct sh_reader *r, const char *t, size_t n, bool dq)
{
	bool quoted = !dq && n > 1 && (*t == '\'' || *t == '"') && t[n - 1] == *t;
	struct sh_reader *c;
	int rc = sh_push(s, SH_MODE_TEXT, t + quoted, n - 2 * (size_t)quoted, &c);

	if (rc != SH_STEP_CHILD)
		return rc;
	r->wait = SH_WAIT_PARAM;
	r->wait_dq = dq;
	return SH_STEP_CHILD;
}

/* Operators that make something else of a known value. */
static struct sh_data changed(struct sh *s, struct sh_data v, const char *ops, size_t n)
{
	switch (ops[0]) {
	case '[':
		return item(s, v, ops + 1);
	case ':':
		return substring(s, v, ops + 1, n - 1);
	case '/':
		return replace(s, v, ops + 1, n - 1);
	case '#':
	case '%':
		return strip(s, v, ops, n);
	case '^':
	case ',':
		return change_case(s, v, ops, n);
	default:
		return v;
	}
}

/* ${a[$(cmd)]} */
static bool runs_index(const char *ops, size_t n)
{
	return n && ops[0] == '[' && sh_substitutes(ops, n);
}

/* ${IFS:0:1}, ${IFS%??} where nobody set it: some blank. */
static bool is_blank(const char *name, size_t nn, bool word_op, bool found)
{
	return !word_op && !found && nn == 3 && !memcmp(name, "IFS", 3);
}

/* The operators behind the name in ${…}. */
static int put_operated(struct sh *s, struct sh_reader *r, const char *name, size_t nn,
	const char *ops, size_t n, bool dq)
{
	bool found, colon = n && ops[0] == ':';
	struct sh_data v = value_of(s, r, name, nn, true, &found);
	char op = (char)(n ? ops[colon && n > 1] : '\0');
	bool word_op = op && strchr("-=+?", op) && (colon || ops[0] == op);

	if (runs_index(ops, n))
		return push_param(s, r, ops, n, dq);
	if (is_blank(name, nn, word_op, found))
		return put_variable(s, r, name, nn, dq);
	if (word_op && (op == '?' || n == 1 + (size_t)colon) && !found)
		return put_unknown(s, r, name, nn, &v);
	if (word_op && op != '+' && (!found || (!v.len && v.known))) {
		r->wait_name = op == '=' ? bawn_arena_strndup(s->a, name, nn) : NULL;
		return push_param(s, r, ops + 1 + colon, n - 1 - colon, dq);
	}
	if (word_op && op == '+')
		return found && v.len ? push_param(s, r, ops + 1 + colon, n - 1 - colon, dq) : 0;
	if (!found || !v.known)
		return put_unknown(s, r, name, nn, &v);
	if (word_op)
		return put_variable(s, r, name, nn, dq);
	/* a prompt is expanded once more */
	if (n == 2 && !memcmp(ops, "@P", 2))
		return push_param(s, r, v.text, v.len, dq);
	v = changed(s, v, ops, n);
	r->pieces += 2;
	return sh_put_value(s, r, &v, dq);
}

/* ${…}: i stands behind the brace. */
static int braces(struct sh *s, struct sh_reader *r, bool dq)
{
	size_t from = r->i, end = sh_skip_brace(r->t, r->n, r->i), k = from;
	const char *t = r->t;
	const struct sh_var *v;

	if (end >= r->n)
		s->broken = true;
	r->i = end < r->n ? end + 1 : r->n;
	if (t[k] == '#' && end - k > 1) {
		r->known = false;
		return sh_put(s, r, "0", 1);
	}
	if (t[k] == '!' && end - k > 1) {
		v = sh_var_get(s, t + k + 1, end - k - 1);
		if (v && v->value.known)
			return put_variable(s, r, v->value.text, v->value.len, dq);
		k++;
	}
	if (k < end && strchr("@*#?$!-", t[k]))
		k++;
	else
		while (k < end && sh_name_char(t[k], false))
			k++;
	from += t[from] == '!' && k > from + 1;
	if (k == from)
		return put_unknown(s, r, "?", 1, &(struct sh_data){0});
	if (k == end)
		return put_variable(s, r, t + from, k - from, dq);
	return put_operated(s, r, t + from, k - from, t + k, end - k, dq);
}

static int push_child(struct sh *s, struct sh_reader *r, enum sh_mode mode, const char *t, size_t n,
	enum sh_wait wait)
{
	struct sh_reader *c;
	int rc = sh_push(s, mode, t, n, &c);

	if (rc != SH_STEP_CHILD)
		return rc;
	r->wait = wait;
	r->wait_dq = r->dq || r->mode == SH_MODE_TEXT;
	if (mode == SH_MODE_SCRIPT)
		sh_scope(s);
	return SH_STEP_CHILD;
}

/* $((x)) evaluates what x holds, and a[$(cmd)] in it runs cmd. */
static const char *with_values(struct sh *s, const char *t, size_t n)
{
	const char *sum = bawn_arena_strndup(s->a, t, n);

	for (size_t i = 0, k; sum && i < n; i = k + 1) {
		const struct sh_var *v;

		for (k = i; k < n && sh_name_char(t[k], k == i); k++)
			;
		v = k > i ? sh_var_get(s, t + i, k - i) : NULL;
		if (v && v->value.len && v->value.len < WORD_MAX && strlen(sum) < WORD_MAX &&
			sh_substitutes(v->value.text, v->value.len))
			sum = bawn_arena_printf(s->a, "%s %s", sum, v->value.text);
	}
	return sum;
}

static int paren(struct sh *s, struct sh_reader *r)
{
	size_t from = r->i, end = sh_skip_paren(r->t, r->n, r->i);

	if (end >= r->n)
		s->broken = true;
	r->i = end < r->n ? end + 1 : r->n;
	if (r->t[from] == '(' && end < r->n && r->t[end - 1] == ')') {
		const char *sum = with_values(s, r->t + from + 1, end - from - 2);

		return sum ? push_child(s, r, SH_MODE_TEXT, sum, strlen(sum), SH_WAIT_NUMBER)
			   : sh_no_memory(s);
	}
	return push_child(s, r, SH_MODE_SCRIPT, r->t + from, end - from, SH_WAIT_SUBST);
}

/* r->i stands on the $. */
int sh_dollar(struct sh *s, struct sh_reader *r)
{
	bool dq = r->dq || r->mode == SH_MODE_TEXT;
	size_t from;
	char c;

	r->i++;
	c = (char)(r->i < r->n ? r->t[r->i] : '\0');
	if (c == '(') {
		r->i++;
		return paren(s, r);
	}
	if (c == '{') {
		r->i++;
		return braces(s, r, dq);
	}
	from = r->i;
	if (c && (strchr("@*#?$!-", c) || (c >= '0' && c <= '9'))) {
		r->i++;
		return put_variable(s, r, r->t + from, 1, dq);
	}
	while (r->i < r->n && sh_name_char(r->t[r->i], r->i == from))
		r->i++;
	if (r->i == from)
		return sh_put(s, r, "$", 1);
	return put_variable(s, r, r->t + from, r->i - from, dq);
}

/* Backslashes before `, $ and \ are taken away once. */
int sh_backtick(struct sh *s, struct sh_reader *r)
{
	size_t from = r->i + 1, end = sh_skip_backtick(r->t, r->n, from), k = 0;
	char *t = bawn_arena_alloc(s->a, end - (from > end ? end : from) + 1);

	if (!t)
		return sh_no_memory(s);
	if (end >= r->n)
		s->broken = true;
	for (size_t i = from; i < end; i++) {
		if (r->t[i] == '\\' && i + 1 < end && strchr("`$\\", r->t[i + 1]))
			i++;
		t[k++] = r->t[i];
	}
	r->i = end < r->n ? end + 1 : r->n;
	return push_child(s, r, SH_MODE_SCRIPT, t, k, SH_WAIT_SUBST);
}

/* <( ) and >( ): r->i stands on < or >. */
int sh_process(struct sh *s, struct sh_reader *r)
{
	size_t from = r->i + 2, end = sh_skip_paren(r->t, r->n, from);

	if (end >= r->n)
		s->broken = true;
	r->process_out = r->t[r->i] == '>' && end > from
				 ? bawn_arena_strndup(s->a, r->t + from, end - from)
				 : NULL;
	r->i = end < r->n ? end + 1 : r->n;
	return push_child(s, r, SH_MODE_SCRIPT, r->t + from, end - from, SH_WAIT_PROCESS);
}
