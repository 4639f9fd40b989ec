/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's grammar: characters to words and operators, operators to commands and blocks. It
 * follows what bash does and not what a grammar would like; text that bash refuses is read on, so
 * that nothing hides behind a mistake.
 */
#include <string.h>

#include "inspect/shell/read.h"

#define FD_NAMED 10 /* as the shell would choose */

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static char at(const struct sh_reader *r, size_t k)
{
	return (char)(r->i + k < r->n ? r->t[r->i + k] : '\0');
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A quote that starts or ends between two letters. */
static void note_patch(struct sh_reader *r, size_t next)
{
	r->patched = r->patched || (r->wn && letter(r->w[r->wn - 1]) && next < r->n &&
					   (letter(r->t[next]) || strchr("'\"\\", r->t[next])));
}

static int ansi_string(struct sh *s, struct sh_reader *r)
{
	size_t from = r->i + 2, k = from, n = 0;
	const char *t;

	while (k < r->n && r->t[k] != '\'')
		k += r->t[k] == '\\' ? 2 : 1;
	if (k >= r->n) {
		s->broken = true;
		k = r->n;
	}
	r->i = k < r->n ? k + 1 : r->n;
	r->quoted = true;
	r->patched = r->patched || memchr(r->t + from, '\\', k - (from > k ? k : from));
	t = sh_decode_escapes(s->a, r->t + (from > k ? k : from), k - (from > k ? k : from), &n);
	return t ? sh_put(s, r, t, strlen(t)) : sh_no_memory(s);
}

static int raw_string(struct sh *s, struct sh_reader *r)
{
	const char *from = r->t + r->i + 1, *end = memchr(from, '\'', r->n - r->i - 1);
	size_t n = end ? (size_t)(end - from) : r->n - r->i - 1;

	int rc;

	s->broken = s->broken || !end;
	note_patch(r, r->i + 1);
	r->i += n + 1 + (end != NULL);
	r->quoted = true;
	rc = sh_put(s, r, from, n);
	note_patch(r, r->i);
	return rc;
}

/* One step between double quotes, or in a text of the same kind. */
static int quoted_step(struct sh *s, struct sh_reader *r)
{
	size_t k = r->i;
	char c = r->t[r->i];

	if (c == '$')
		return sh_dollar(s, r);
	if (c == '`')
		return sh_backtick(s, r);
	if (c == '\\' && r->i + 1 < r->n) {
		char d = r->t[r->i + 1];

		r->i += 2;
		if (d == '\n')
			return 0;
		if (strchr("$`\\", d) || (d == '"' && r->dq))
			return sh_put(s, r, &d, 1);
		return sh_put(s, r, r->t + r->i - 2, 2);
	}
	if (c == '"' && r->dq) {
		r->dq = false;
		r->i++;
		note_patch(r, r->i);
		return 0;
	}
	while (k < r->n && r->t[k] != '$' && r->t[k] != '`' && r->t[k] != '"' && r->t[k] != '\\')
		k++;
	k += k == r->i;
	k -= r->i;
	r->i += k;
	return sh_put(s, r, r->t + r->i - k, k);
}

/* NAME=( starts an array. */
static bool array_start(const struct sh_reader *r)
{
	size_t n = r->wn;

	if (!n || r->w[n - 1] != '=' || r->quoted || r->target != SH_TO_ARGS)
		return false;
	n -= n > 1 && r->w[n - 2] == '+' ? 2 : 1;
	for (size_t i = 0; i < n; i++) {
		if (!sh_name_char(r->w[i], i == 0))
			return false;
	}
	return n > 0;
}

static int begin_array(struct sh *s, struct sh_reader *r)
{
	size_t n = r->wn - (r->wn > 1 && r->w[r->wn - 2] == '+' ? 2 : 1);
	const struct sh_var *old = sh_var_get(s, r->w, n);

	r->array = bawn_arena_strndup(s->a, r->w, n);
	if (!r->array)
		return sh_no_memory(s);
	r->items = r->w[n] == '+' && old ? old->value : sh_text("");
	r->word = false;
	r->wn = 0;
	r->target = SH_TO_ARRAY;
	r->i++;
	return 0;
}

static int extglob(struct sh *s, struct sh_reader *r)
{
	size_t end = sh_skip_paren(r->t, r->n, r->i + 1);
	size_t n = (end < r->n ? end + 1 : r->n) - r->i;

	r->i += n;
	return sh_put(s, r, r->t + r->i - n, n);
}

static int open_paren(struct sh *s, struct sh_reader *r)
{
	if (array_start(r))
		return begin_array(s, r);
	if (r->wn && strchr("?*+@!", r->w[r->wn - 1]) && !r->quoted)
		return extglob(s, r);
	return sh_word_end(s, r);
}

static int mark(struct sh *s, struct sh_reader *r, char c)
{
	char m = MARK_COMMA;

	if (c != ',')
		m = c == '{' ? MARK_OPEN : MARK_CLOSE;

	r->i++;
	return sh_put(s, r, &m, 1);
}

static int escaped(struct sh *s, struct sh_reader *r)
{
	char c = at(r, 1);

	r->i += 2;
	if (r->i > r->n)
		r->i = r->n;
	if (!c || c == '\n')
		return 0;
	r->quoted = true;
	r->patched = r->patched || (r->wn && letter(r->w[r->wn - 1]) && letter(c));
	return sh_put(s, r, &c, 1);
}

static int word_step(struct sh *s, struct sh_reader *r)
{
	char c = at(r, 0);

	if (r->i >= r->n) {
		s->broken = s->broken || r->dq;
		r->dq = false;
		return sh_word_end(s, r);
	}
	if (r->dq)
		return quoted_step(s, r);
	switch (c) {
	case '\'':
		return raw_string(s, r);
	case '"':
		note_patch(r, r->i + 1);
		r->dq = r->quoted = true;
		r->i++;
		return 0;
	case '`':
		return sh_backtick(s, r);
	case '$':
		if (at(r, 1) == '\'')
			return ansi_string(s, r);
		if (at(r, 1) == '"') {
			r->i++;
			return 0;
		}
		return sh_dollar(s, r);
	case '\\':
		return escaped(s, r);
	case '(':
		return open_paren(s, r);
	case '<':
	case '>':
		return at(r, 1) == '(' ? sh_process(s, r) : sh_word_end(s, r);
	case ' ':
	case '\t':
	case '\n':
	case ';':
	case '&':
	case '|':
	case ')':
		return sh_word_end(s, r);
	case '{':
	case '}':
	case ',':
		return mark(s, r, c);
	default:
		r->i++;
		r->literal = true;
		return sh_put(s, r, &c, 1);
	}
}

/* Where the line ends that r->i stands on, quotes respected. */
static size_t line_end(const struct sh_reader *r)
{
	char q = 0;

	for (size_t i = r->i; i < r->n; i++) {
		char c = r->t[i];

		if (c == '\\' && q != '\'')
			i++;
		else if (q)
			q = (char)(c == q ? '\0' : q);
		else if (c == '"' || c == '\'')
			q = c;
		else if (c == '\n')
			return i;
	}
	return r->n;
}

/* The body of a heredoc starts behind this line, or behind the body before it. */
static int heredoc(struct sh *s, struct sh_reader *r, struct sh_redir *d, const struct sh_word *w)
{
	size_t from = r->here_next ? r->here_next : line_end(r) + 1, i = from, end = r->n;
	size_t n = strlen(w->text);
	struct sh_reader *c;
	int rc;

	if (from > r->n)
		from = i = r->n;
	r->here_next = r->n;
	while (i < r->n) {
		const char *nl = memchr(r->t + i, '\n', r->n - i);
		size_t stop = nl ? (size_t)(nl - r->t) : r->n, k = i;

		while (r->here_tabs && k < stop && r->t[k] == '\t')
			k++;
		if (stop - k == n && !memcmp(r->t + k, w->text, n)) {
			end = i;
			r->here_next = stop;
			break;
		}
		i = stop + 1;
	}
	d->body = sh_text("");
	if (w->quoted) {
		const char *t = bawn_arena_strndup(s->a, r->t + from, end - from);

		if (!t)
			return sh_no_memory(s);
		d->body = sh_text(t);
		return 0;
	}
	rc = sh_push(s, SH_MODE_TEXT, r->t + from, end - from, &c);
	if (rc == SH_STEP_CHILD) {
		r->wait = SH_WAIT_HERE;
		r->here_wait = d;
	}
	return rc;
}

static int end_redirect(struct sh *s, struct sh_reader *r, const struct sh_word *w)
{
	struct sh_command *c = sh_command_now(s, r);
	struct sh_redir *d = c ? bawn_grow(s->a, &c->redirs.v, &c->redirs.n, &c->redirs.cap) : NULL;

	r->target = SH_TO_ARGS;
	if (!d)
		return sh_no_memory(s);
	*d = (struct sh_redir){.kind = r->redir, .fd = r->redir_fd, .path = w->text};
	r->redir_fd = -1;
	d->body.taint = w->taint;
	d->body.from = w->from;
	if (r->redir == SH_HERE && r->here_doc)
		return heredoc(s, r, d, w);
	if (r->redir == SH_HERE) {
		d->body = sh_text(w->text);
		d->body.known = w->known;
		d->body.taint = w->taint;
		d->body.from = w->from;
		d->body.url = w->url;
	}
	return 0;
}

/* A word that only means something where a command may start. */
static int keyword(struct sh *s, struct sh_reader *r, const char *t, bool *hit)
{
	*hit = true;
	if (r->timed && sh_is(t, "|-p|--|"))
		return 0;
	r->timed = !strcmp(t, "time");
	r->coproc = !strcmp(t, "coproc");
	if (sh_is(t, "|then|else|elif|!|time|coproc|"))
		return 0;
	if (sh_is(t, "|if|"))
		return sh_block_begin(s, r, SH_BLOCK_IF);
	if (sh_is(t, "|while|until|"))
		return sh_block_begin(s, r, SH_BLOCK_LOOP);
	if (!strcmp(t, "do"))
		return r->for_name ? sh_block_begin(s, r, SH_BLOCK_LOOP) : 0;
	if (!strcmp(t, "done"))
		return sh_block_end(s, r, SH_BLOCK_LOOP);
	if (!strcmp(t, "fi"))
		return sh_block_end(s, r, SH_BLOCK_IF);
	if (!strcmp(t, "esac"))
		return sh_block_end(s, r, SH_BLOCK_CASE);
	if (t[0] == MARK_OPEN && !t[1])
		return sh_block_begin(s, r, SH_BLOCK_GROUP);
	if (t[0] == MARK_CLOSE && !t[1])
		return sh_block_end(s, r, SH_BLOCK_GROUP);
	if (sh_is(t, "|for|select|")) {
		r->target = SH_TO_FOR_NAME;
		return 0;
	}
	if (!strcmp(t, "case")) {
		r->target = SH_TO_CASE;
		return 0;
	}
	if (!strcmp(t, "function")) {
		r->target = SH_TO_FUNCTION;
		return 0;
	}
	if (!strcmp(t, "in") && r->want_in) {
		r->want_in = false;
		r->pattern = true;
		return sh_block_begin(s, r, SH_BLOCK_CASE);
	}
	*hit = false;
	return 0;
}

static bool assignment(const char *t)
{
	size_t i = 0;

	while (sh_name_char(t[i], i == 0))
		i++;
	if (i && t[i] == '[') {
		const char *close = strchr(t + i, ']');

		i = close ? (size_t)(close - t) + 1 : i;
	}
	return i && (t[i] == '=' || (t[i] == '+' && t[i + 1] == '='));
}

static int add_arg(struct sh *s, struct sh_reader *r, const struct sh_word *w)
{
	struct sh_command *c;
	struct sh_word *x;
	int rc = 0;

	if (r->block_cmd) {
		rc = sh_command_end(s, r, false);
		if (rc < 0)
			return rc;
	}
	c = sh_command_now(s, r);
	if (!c)
		return sh_no_memory(s);
	if (c->args.n || !assignment(w->text)) {
		int e = sh_split_word(s, w, &c->args);

		return e < 0 ? e : rc;
	}
	x = bawn_grow(s->a, &c->assigns.v, &c->assigns.n, &c->assigns.cap);
	if (!x)
		return sh_no_memory(s);
	*x = *w;
	return rc;
}

/* coproc NAME { …: the word that has just ended is a name if a compound command follows. */
static bool names_coproc(struct sh_reader *r)
{
	static const char *const begins[] = {
		"{ ", "{\n", "(", "while ", "until ", "for ", "if ", "case ", "[[ "};
	bool was = r->coproc;
	size_t i = r->i;

	r->coproc = false;
	while (was && i < r->n && blank(r->t[i]))
		i++;
	for (size_t k = 0; was && k < sizeof(begins) / sizeof(begins[0]); k++) {
		size_t n = strlen(begins[k]);

		if (i + n <= r->n && !memcmp(r->t + i, begins[k], n))
			return true;
	}
	return false;
}

static int word_to_args(struct sh *s, struct sh_reader *r, const struct sh_word *w)
{
	bool hit = false;
	int rc = 0, ended = 0;

	if (r->test) {
		r->test = strcmp(w->text, "]]") != 0;
		/* what -eq compares is arithmetic */
		return strstr(w->text, "[$(") || strstr(w->text, "[`")
			       ? sh_arithmetic(s, r, w->text, strlen(w->text))
			       : 0;
	}
	if (names_coproc(r))
		return 0;
	if (!w->quoted && (!r->cmd || r->block_cmd || (!r->cmd->args.n && !r->cmd->assigns.n))) {
		if (r->block_cmd && sh_is(w->text, "|then|do|else|fi|done|esac|\x04|")) {
			ended = sh_command_end(s, r, false);
			if (ended < 0)
				return ended;
		}
		rc = keyword(s, r, w->text, &hit);
		if (!hit && !strcmp(w->text, "[["))
			hit = r->test = true;
	}
	if (rc == 0 && !hit)
		rc = add_arg(s, r, w);
	return rc != 0 ? rc : ended;
}

static bool is_number(const struct sh_reader *r)
{
	for (size_t i = 0; i < r->wn; i++) {
		if (r->w[i] < '0' || r->w[i] > '9')
			return false;
	}
	return r->wn && r->wn < 4 && !r->quoted;
}

static int give_word(struct sh *s, struct sh_reader *r, const struct sh_word *w)
{
	struct sh_data d;

	switch (r->target) {
	case SH_TO_REDIR:
		return end_redirect(s, r, w);
	case SH_TO_FOR_NAME:
		r->for_name = w->text;
		r->for_list = (struct sh_words){0};
		r->target = SH_TO_FOR_LIST;
		return 0;
	case SH_TO_FOR_LIST:
		if (!strcmp(w->text, "in") && !w->quoted && !r->for_list.n)
			return 0;
		return sh_split_word(s, w, &r->for_list);
	case SH_TO_CASE:
		r->target = SH_TO_ARGS;
		r->want_in = true;
		return 0;
	case SH_TO_FUNCTION:
		r->target = SH_TO_ARGS;
		r->function = w->text;
		return 0;
	case SH_TO_ARRAY:
		/* [0]=a [1]=b */
		d = sh_text(w->text[0] == '[' && strstr(w->text, "]=") ? strstr(w->text, "]=") + 2
								       : w->text);
		d.known = w->known;
		d.taint = w->taint;
		if (r->items.len)
			r->items = sh_join_data(s, r->items, sh_text("\x05"));
		r->items = sh_join_data(s, r->items, d);
		return 0;
	case SH_TO_ARGS:
	default:
		return word_to_args(s, r, w);
	}
}

/* Only letters come out, and yet it was not written as letters. */
static bool pieced(const struct sh_reader *r)
{
	size_t i = 0;

	while (i < r->wn && (letter(r->w[i]) || r->w[i] == MARK_SPLIT))
		i++;
	if (r->wn < 2 || !letter(r->w[0]) || (i < r->wn && r->w[i] != MARK_SPLIT))
		return false;
	return r->patched || r->pieces > 1 || (r->pieces && r->literal);
}

int sh_word_end(struct sh *s, struct sh_reader *r)
{
	struct sh_word w = {
		.known = r->known,
		.quoted = r->quoted,
		.taint = r->taint,
		.from = r->from,
		.url = r->url,
	};
	char c = at(r, 0);

	r->word = false;
	if ((c == '<' || c == '>') && is_number(r) && r->target == SH_TO_ARGS) {
		r->redir_fd = r->w[0] - '0';
		return 0;
	}
	/* {fd}> FILE: the shell puts a number into fd */
	if ((c == '<' || c == '>') && r->wn > 2 && r->w[0] == MARK_OPEN &&
		r->w[r->wn - 1] == MARK_CLOSE && r->target == SH_TO_ARGS &&
		!memchr(r->w, MARK_COMMA, r->wn)) {
		r->redir_fd = FD_NAMED;
		return 0;
	}
	w.text = bawn_arena_strndup(s->a, r->wn ? r->w : "", r->wn);
	if (!w.text)
		return sh_no_memory(s);
	w.pieced = pieced(r);
	return give_word(s, r, &w);
}

static int begin_word(struct sh_reader *r)
{
	r->word = true;
	r->dq = r->quoted = r->literal = r->patched = false;
	r->pieces = 0;
	r->known = true;
	r->wn = 0;
	r->taint = r->bias.taint;
	r->from = r->bias.from;
	r->url = r->bias.url;
	return 0;
}

/* < and > and what may follow them. */
static int redirect(struct sh *s, struct sh_reader *r)
{
	char c = at(r, 0), d = at(r, 1);

	(void)s;
	if (d == '(') {
		(void)begin_word(r);
		return 0;
	}
	r->here_doc = r->here_tabs = false;
	r->redir = c == '<' ? SH_IN : SH_OUT;
	if (r->redir_fd < 0)
		r->redir_fd = c == '<' ? 0 : 1;
	r->i++;
	if (c == '<' && d == '<' && at(r, 1) == '<') {
		r->redir = SH_HERE;
		r->i += 2;
	} else if (c == '<' && d == '<') {
		r->redir = SH_HERE;
		r->here_doc = true;
		r->i++;
		r->here_tabs = at(r, 0) == '-';
		r->i += r->here_tabs;
	} else if (c == '>' && d == '>') {
		r->redir = SH_APPEND;
		r->i++;
	} else if (d == '&') {
		r->i++;
		if (c == '<' || (at(r, 0) >= '0' && at(r, 0) <= '9') || at(r, 0) == '-')
			r->redir = SH_DUP;
	} else if (d == '>' || d == '|') {
		r->i++;
	}
	r->target = SH_TO_REDIR;
	return 0;
}

static int skip_pattern(struct sh_reader *r)
{
	size_t end;

	while (r->i < r->n && (blank(at(r, 0)) || at(r, 0) == '\n'))
		r->i++;
	r->pattern = false;
	if (!strncmp(r->t + r->i, "esac", r->n - r->i < 4 ? r->n - r->i : 4) &&
		!sh_name_char(at(r, 4), false))
		return 0;
	r->i += at(r, 0) == '(';
	end = sh_skip_paren(r->t, r->n, r->i);
	r->i = end < r->n ? end + 1 : r->n;
	return 0;
}

static int newline(struct sh *s, struct sh_reader *r)
{
	r->i++;
	if (!r->again)
		s->commands = 0;
	if (r->here_next) {
		r->i = r->here_next;
		r->here_next = 0;
	}
	return r->target == SH_TO_ARRAY || r->target == SH_TO_REDIR ? 0
								    : sh_command_end(s, r, false);
}

/* ( at the start of a command, or behind a name. */
static int paren(struct sh *s, struct sh_reader *r)
{
	struct sh_command *c = r->cmd;

	if (at(r, 1) == '(' && (!c || !c->args.n || r->target == SH_TO_FOR_NAME)) {
		size_t end = sh_skip_paren(r->t, r->n, r->i + 1);

		if (end < r->n && r->t[end - 1] == ')') {
			size_t from = r->i + 2;

			if (r->target == SH_TO_FOR_NAME) {
				r->for_name = "i";
				r->for_list = (struct sh_words){0};
				r->target = SH_TO_FOR_LIST;
			}
			r->i = end + 1;
			return sh_arithmetic(s, r, r->t + from, end - 1 - from);
		}
	}
	r->i++;
	if (r->function && at(r, 0) == ')') {
		r->i++;
		return 0;
	}
	if (c && c->args.n == 1 && !c->assigns.n && !r->block_cmd) {
		while (blank(at(r, 0)))
			r->i++;
		if (at(r, 0) == ')') {
			r->i++;
			r->function = c->args.v[0].text;
			r->cmd = NULL;
			return 0;
		}
	}
	return sh_block_begin(s, r, SH_BLOCK_SUB);
}

static int close_paren(struct sh *s, struct sh_reader *r)
{
	int rc;

	if (r->target == SH_TO_ARRAY) {
		r->i++;
		r->target = SH_TO_ARGS;
		return sh_var_set(s, r->array, strlen(r->array), r->items);
	}
	rc = sh_block_end(s, r, SH_BLOCK_SUB);
	if (rc == 0)
		r->i++;
	return rc;
}

static int semicolon(struct sh *s, struct sh_reader *r)
{
	bool two = at(r, 1) == ';' || at(r, 1) == '&';

	r->i += two ? 2 : 1;
	if (two && r->n_blocks && r->blocks[r->n_blocks - 1].kind == SH_BLOCK_CASE) {
		r->i += at(r, 0) == '&';
		r->pattern = true;
	}
	return sh_command_end(s, r, false);
}

static int ampersand(struct sh *s, struct sh_reader *r)
{
	if (at(r, 1) == '>') {
		r->i++;
		r->redir_fd = 1;
		return redirect(s, r);
	}
	if (r->cmd && at(r, 1) != '&')
		r->cmd->how |= SH_BEHIND;
	r->i += at(r, 1) == '&' ? 2 : 1;
	return sh_command_end(s, r, false);
}

static int bar(struct sh *s, struct sh_reader *r)
{
	bool or = at(r, 1) == '|';

	r->i += or || at(r, 1) == '&' ? 2 : 1;
	return sh_command_end(s, r, ! or);
}

static int skip_comment(struct sh_reader *r)
{
	const char *nl = memchr(r->t + r->i, '\n', r->n - r->i);

	r->i = nl ? (size_t)(nl - r->t) : r->n;
	return 0;
}

/* Between [[ and ]] operators are only words. */
static int test_token(struct sh_reader *r)
{
	if (strchr("<>()&|;\n", at(r, 0))) {
		r->i++;
		return 0;
	}
	return begin_word(r);
}

int sh_token(struct sh *s, struct sh_reader *r)
{
	char c = at(r, 0);

	if (r->pattern)
		return skip_pattern(r);
	if (r->i >= r->n) {
		int rc = sh_command_end(s, r, false);

		return rc != 0 ? rc : SH_STEP_DONE;
	}
	if (c != '<' && c != '>' && r->target != SH_TO_REDIR)
		r->redir_fd = -1;
	if (blank(c)) {
		r->i++;
		return 0;
	}
	if (c == '\\' && at(r, 1) == '\n') {
		r->i += 2;
		return 0;
	}
	if (r->test)
		return test_token(r);
	switch (c) {
	case '\n':
		return newline(s, r);
	case '#':
		return skip_comment(r);
	case ';':
		return semicolon(s, r);
	case '&':
		return ampersand(s, r);
	case '|':
		return bar(s, r);
	case '(':
		return paren(s, r);
	case ')':
		return close_paren(s, r);
	case '<':
	case '>':
		return redirect(s, r);
	default:
		return begin_word(r);
	}
}

/* Until the text ends or something must be read first. */
int sh_step(struct sh *s, struct sh_reader *r)
{
	for (;;) {
		int rc;

		if (!bawn_scan_spend(s->scan, 1))
			return SH_STEP_DONE;
		if (r->mode == SH_MODE_TEXT) {
			if (r->i >= r->n)
				return SH_STEP_DONE;
			rc = quoted_step(s, r);
		} else {
			rc = r->word ? word_step(s, r) : sh_token(s, r);
		}
		if (rc != SH_STEP_MORE)
			return rc;
	}
}
