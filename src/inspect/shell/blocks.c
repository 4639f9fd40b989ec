/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that end, and groups of commands: { }, ( ), loops, if, case and the bodies of
 * functions. A group has input and output like a command. Loops over constants are read once per
 * item, and a group whose input comes from a redirection behind it is read again with that input.
 */
#include <string.h>

#include "inspect/shell/read.h"

#define LOOP_ITEMS 24
#define LOOP_BODY  2048
#define BLOCK_BODY ((size_t)8192)
#define BLOCKS_MAX 64
#define ROUNDS_MAX 512
#define SLACK      64 /* a word is longer than the place where it ended */

struct sh_command *sh_command_now(struct sh *s, struct sh_reader *r)
{
	if (!r->cmd) {
		r->cmd = bawn_new(s->a, struct sh_command, 1);
		r->cmd_start = r->i;
		r->block_cmd = false;
		if (r->cmd)
			r->cmd->out = sh_text("");
	}
	return r->cmd;
}

/* while true; do …, while :; do …: behind the first word. */
static bool never_ends(const struct sh_reader *r)
{
	static const char *const conditions[] = {"true", ":", "1", "[ 1 ]", "[[ 1 ]]", "[ true ]"};
	const char *p = r->t + r->i, *end = r->t + r->n;

	while (p < end && *p == ' ')
		p++;
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
		size_t n = strlen(conditions[i]);

		if ((size_t)(end - p) > n && !memcmp(p, conditions[i], n) && strchr(" ;\n", p[n]) &&
			p[n])
			return true;
	}
	return false;
}

int sh_block_begin(struct sh *s, struct sh_reader *r, enum sh_block_kind kind)
{
	struct sh_block *b = bawn_grow(s->a, &r->blocks, &r->n_blocks, &r->cap_blocks);

	if (!b)
		return sh_no_memory(s);
	*b = (struct sh_block){
		.kind = kind,
		.in = r->pipe,
		.piped = r->piped,
		.body = r->i,
		.out = sh_text(""),
		.ever = kind == SH_BLOCK_LOOP && !r->for_name && never_ends(r),
	};
	if (r->n_blocks > BLOCKS_MAX)
		s->deep = true;
	if (r->n_blocks > 1 && !b->piped) {
		b->in = b[-1].in;
		b->piped = b[-1].piped;
	}
	if (r->function && kind != SH_BLOCK_LOOP && kind != SH_BLOCK_IF) {
		b->name = r->function;
		b->function = true;
		r->function = NULL;
	}
	/* to define a function sets nothing */
	if (kind == SH_BLOCK_SUB || b->function) {
		b->mark = s->undo_n;
		s->scopes++;
	}
	if (kind == SH_BLOCK_LOOP && r->for_name) {
		struct sh_data v = sh_unknown(0, NULL);

		b->name = r->for_name;
		b->list = r->for_list;
		if (b->list.n) {
			v = sh_text(b->list.v[0].text);
			v.known = b->list.v[0].known;
			v.taint = b->list.v[0].taint;
			v.from = b->list.v[0].from;
			v.url = b->list.v[0].url;
		}
		r->for_name = NULL;
		r->piped = false;
		r->cmd = NULL;
		return sh_var_set(s, b->name, strlen(b->name), v);
	}
	r->piped = false;
	r->cmd = NULL;
	return 0;
}

static int quote(struct sh *s, struct bawn_buf *b, const char *t)
{
	(void)s;
	bawn_buf_puts(b, "'");
	for (; *t; t++) {
		if (*t == '\'')
			bawn_buf_puts(b, "'\\''");
		else
			bawn_buf_add(b, t, 1);
	}
	bawn_buf_puts(b, "'");
	return b->failed;
}

/* The rounds of a loop behind the first, as one text. */
static const char *rounds(struct sh *s, struct sh_reader *r, const struct sh_block *b, size_t n)
{
	_cleanup_buf_ struct bawn_buf out = {0};

	for (size_t i = 1; i < b->list.n && i < LOOP_ITEMS; i++) {
		if (!b->list.v[i].known)
			return NULL;
		bawn_buf_printf(&out, "%s=", b->name);
		(void)quote(s, &out, b->list.v[i].text);
		bawn_buf_puts(&out, "\n");
		bawn_buf_add(&out, r->t + b->body, n);
		bawn_buf_puts(&out, "\n");
	}
	return out.failed || !out.len ? NULL : bawn_arena_strndup(s->a, out.data, out.len);
}

static int run_rounds(struct sh *s, struct sh_reader *r, const struct sh_block *b, size_t end)
{
	size_t n = end > b->body ? end - b->body : 0;
	const char *text;
	struct sh_reader *c;
	int rc;

	if (b->function || !b->name || b->list.n < 2 || n > LOOP_BODY || r->level > 3 ||
		s->runs > ROUNDS_MAX)
		return 0;
	text = rounds(s, r, b, n);
	if (!text || !bawn_scan_spend(s->scan, strlen(text)))
		return 0;
	rc = sh_push(s, SH_MODE_SCRIPT, text, strlen(text), &c);
	if (rc == SH_STEP_CHILD) {
		r->wait = SH_WAIT_LOOP;
		c->again = true;
	}
	return rc;
}

/* A body like `f | f &`: each call starts two more. */
static bool bomb(const char *name, const char *body, size_t n)
{
	size_t k = strlen(name);
	const char *p = body;

	while (k && (p = memmem(p, n - (size_t)(p - body), name, k))) {
		const char *q = p + k, *end = body + n;

		while (q < end && (*q == ' ' || *q == '\n'))
			q++;
		if (q < end && *q == '|') {
			for (q++; q < end && *q == ' ';)
				q++;
			if ((size_t)(end - q) >= k && !memcmp(q, name, k))
				return true;
		}
		p += k;
	}
	return false;
}

static int end_function(struct sh *s, struct sh_reader *r, const struct sh_block *b, size_t n)
{
	struct sh_command c = {.start = r->base, .end = r->base + r->i};
	int rc = 0;

	if (bomb(b->name, r->t + b->body, n))
		rc = sh_vet_fact(s, &c, "@bomb", b->name);
	return rc < 0 ? rc : sh_func_set(s, b->name, r->t + b->body, n, false);
}

/* while :; do x & done: one more each time, as fast as it can. */
static int vet_spawn(struct sh *s, const struct sh_reader *r, const struct sh_block *b)
{
	static const char *const waits[] = {"sleep", "wait", "read", "nc ", "ncat", "timeout",
		"flock", "sem ", "break", "exit"};
	struct sh_command c = {.start = r->base, .end = r->base + r->i};

	if (!b->ever || !b->behind || r->i <= b->body)
		return 0;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		if (memmem(r->t + b->body, r->i - b->body, waits[i], strlen(waits[i])))
			return 0;
	}
	return sh_found(s, &c, "command.spawn", "destruction",
		"starts ever more programs without waiting for any", s->script ? 0.31 : 0.45);
}

/* (( a[$(cmd)] )): a number for nobody, but cmd runs. */
int sh_arithmetic(struct sh *s, struct sh_reader *r, const char *t, size_t n)
{
	struct sh_reader *c;
	int rc;

	if (!sh_substitutes(t, n))
		return 0;
	rc = sh_push(s, SH_MODE_TEXT, t, n, &c);
	if (rc == SH_STEP_CHILD)
		r->wait = SH_WAIT_LOOP;
	return rc;
}

int sh_block_end(struct sh *s, struct sh_reader *r, enum sh_block_kind kind)
{
	size_t k = r->n_blocks, word = kind == SH_BLOCK_LOOP || kind == SH_BLOCK_CASE ? 4 : 1;
	struct sh_block b;
	struct sh_command *c;
	int rc = 0;

	while (k && r->blocks[k - 1].kind != kind)
		k--;
	if (!bawn_scan_spend(s->scan, r->n_blocks - k))
		return 0;
	if (r->cmd) {
		rc = sh_command_end(s, r, false);
		if (rc != 0 && kind == SH_BLOCK_SUB)
			return rc;
		if (rc < 0)
			return rc;
	}
	if (!k)
		return rc;
	/* those that did not end as they should end with it */
	for (size_t i = r->n_blocks; i-- >= k;) {
		if (r->blocks[i].kind == SH_BLOCK_SUB || r->blocks[i].function)
			sh_undo(s, r->blocks[i].mark, false);
	}
	b = r->blocks[k - 1];
	r->n_blocks = k - 1;
	r->pattern = false;
	if (b.function) {
		size_t n = r->i > b.body + word ? r->i - b.body - word : 0;

		return end_function(s, r, &b, n);
	}
	c = sh_command_now(s, r);
	if (!c)
		return sh_no_memory(s);
	if (rc == 0)
		rc = vet_spawn(s, r, &b);
	if (rc < 0)
		return rc;
	r->block_cmd = true;
	r->cmd_start = b.body;
	r->piped = b.piped;
	r->pipe = b.in;
	c->out = b.out;
	return rc != 0 ? rc : run_rounds(s, r, &b, r->i > word ? r->i - word : 0);
}

/* { …; } < file: read the body again, now that its input is known. */
static int block_command_end(struct sh *s, struct sh_reader *r, struct sh_command *c)
{
	struct sh_data in = sh_unknown(0, NULL);
	size_t from = r->cmd_start, to = r->i;
	struct sh_reader *child;
	bool again = false;
	int rc;

	for (size_t i = 0; i < c->redirs.n; i++) {
		const struct sh_redir *d = &c->redirs.v[i];
		const struct sh_secret *x = d->kind == SH_IN ? sh_secret_of(s, d->path) : NULL;
		const struct sh_file *f = d->kind == SH_IN ? sh_file_get(s, d->path, false) : NULL;

		if (x)
			in = sh_unknown(x->taint, d->path);
		else if (f)
			in = f->data;
		else if (d->kind == SH_HERE)
			in = d->body;
		else
			continue;
		again = in.taint || in.known;
	}
	c->line = "";
	rc = sh_vet(s, c);
	if (rc == 0)
		rc = sh_command_after(s, r);
	if (rc != 0 || !again || to - from > BLOCK_BODY || r->level > 3)
		return rc;
	rc = sh_push(s, SH_MODE_SCRIPT, r->t + from, to - from, &child);
	if (rc == SH_STEP_CHILD) {
		/* the text ends with the word that closed the block, which is then no block */
		child->in = in;
		child->again = true;
		r->wait = SH_WAIT_LOOP;
	}
	return rc;
}

/* For the second reading: this part of the outermost text was understood. */
static int note_place(struct sh *s, const struct sh_reader *r)
{
	struct sh_span *x;

	if (r->up || s->second)
		return 0;
	x = s->places.n ? &s->places.v[s->places.n - 1] : NULL;
	if (!x || x->end < r->cmd_start) {
		x = bawn_grow(s->a, &s->places.v, &s->places.n, &s->places.cap);
		if (!x)
			return sh_no_memory(s);
		x->start = r->cmd_start > SLACK ? r->cmd_start - SLACK : 0;
	}
	x->end = r->i > x->end ? r->i : x->end;
	return 0;
}

static unsigned in_loop(struct sh_reader *r, bool behind)
{
	unsigned how = 0;

	for (size_t i = 0; i < r->n_blocks; i++) {
		if (r->blocks[i].kind != SH_BLOCK_LOOP)
			continue;
		how |= SH_LOOP | (r->blocks[i].ever ? SH_EVER : 0);
		r->blocks[i].behind = r->blocks[i].behind || behind;
	}
	return how;
}

int sh_command_end(struct sh *s, struct sh_reader *r, bool piped)
{
	struct sh_command *c = r->cmd;
	int rc;

	if (r->target == SH_TO_FOR_LIST || r->target == SH_TO_REDIR)
		r->target = SH_TO_ARGS;
	if (!c) {
		if (!piped && !r->function)
			r->piped = false;
		return 0;
	}
	r->to_pipe = piped;
	c->how |= r->how | (piped ? SH_PIPED : 0) | in_loop(r, c->how & SH_BEHIND);
	c->in = r->in;
	if (r->piped)
		c->in = r->pipe;
	else if (r->n_blocks && r->blocks[r->n_blocks - 1].piped)
		c->in = r->blocks[r->n_blocks - 1].in;
	if (r->piped || (r->n_blocks && r->blocks[r->n_blocks - 1].piped))
		c->how |= SH_STDIN;
	c->start = r->base + (r->span ? 0 : r->cmd_start);
	c->end = r->span ? r->base + r->span : r->base + r->i;
	rc = note_place(s, r);
	if (rc < 0)
		return rc;
	if (r->block_cmd)
		return block_command_end(s, r, c);
	rc = sh_execute(s, r, c);
	if (rc != 0)
		return rc;
	return r->cmd ? sh_command_after(s, r) : 0;
}

int sh_command_after(struct sh *s, struct sh_reader *r)
{
	struct sh_command *c = r->cmd;
	struct sh_data out = c->out;
	bool away = false;

	r->wait = SH_WAIT_NONE;
	r->cmd = NULL;
	r->block_cmd = false;
	for (size_t i = 0; i < c->redirs.n; i++) {
		const struct sh_redir *d = &c->redirs.v[i];
		struct sh_file *f;

		if ((d->kind != SH_OUT && d->kind != SH_APPEND) || d->fd > 1)
			continue;
		away = true;
		f = sh_file_get(s, d->path, true);
		if (!f)
			continue;
		if (d->kind == SH_APPEND && (f->data.len || f->data.taint))
			f->data = sh_join_data(s, f->data, out);
		else
			f->data = out;
	}
	if (away)
		out = sh_text("");
	if (r->to_pipe) {
		r->pipe = out;
		r->piped = true;
		return 0;
	}
	r->piped = false;
	if (r->n_blocks) {
		struct sh_block *b = &r->blocks[r->n_blocks - 1];

		b->out = sh_join_data(s, b->out, out);
	} else {
		r->out = sh_join_data(s, r->out, out);
	}
	return 0;
}
