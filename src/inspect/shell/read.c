/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stack of readers. A text inside a text (a substitution, a script for bash -c, the body of a
 * function that is called) is read by a reader of its own on top of the one that met it, and what
 * it printed is handed down. Height and number are bounded; reaching a bound is remembered.
 */
#include "inspect/shell/read.h"

#include <string.h>

#define DEPTH_MAX 40
#define RUNS_MAX  4096

int sh_push(struct sh *s, enum sh_mode mode, const char *t, size_t n, struct sh_reader **ret)
{
	struct sh_reader *r;

	if ((s->top && s->top->level >= DEPTH_MAX) || s->runs >= RUNS_MAX) {
		s->deep = true;
		return 0;
	}
	r = bawn_new(s->a, struct sh_reader, 1);
	if (!r)
		return sh_no_memory(s);
	r->mode = mode;
	r->t = t;
	r->n = n;
	r->redir_fd = -1;
	r->known = true;
	r->out = sh_text("");
	r->up = r->below = s->top;
	if (s->top) {
		const struct sh_reader *up = s->top;

		r->how = up->how;
		r->level = up->level + 1;
		r->again = up->again;
		r->in = up->piped ? up->pipe : up->in;
		r->bias = up->bias;
		r->base = up->span ? up->base : up->base + up->cmd_start;
		r->span = up->span ? up->span : up->i - up->cmd_start + 1;
		r->taint = up->bias.taint;
	}
	s->top = r;
	s->runs++;
	*ret = r;
	return SH_STEP_CHILD;
}

void sh_scope(struct sh *s)
{
	s->top->scope = true;
	s->top->mark = s->undo_n;
	s->scopes++;
}

int sh_push_script(struct sh *s, const char *text, size_t len, const struct sh_data *in,
	unsigned how, const struct sh_words *params)
{
	struct sh_reader *owner = s->top, *r = NULL;
	int rc = sh_push(s, SH_MODE_SCRIPT, text, len, &r);

	if (rc != SH_STEP_CHILD || !r)
		return rc;
	r->how |= how;
	if (in)
		r->in = *in;
	if (params) {
		r->params = *params;
		r->has_params = true;
	}
	if (owner) {
		owner->pending++;
		owner->wait = SH_WAIT_OUTPUT;
	}
	return rc;
}

static struct sh_data trimmed(struct sh *s, struct sh_data d)
{
	size_t n = d.len;

	while (n && d.text[n - 1] == '\n')
		n--;
	if (n != d.len) {
		const char *t = bawn_arena_strndup(s->a, d.text, n);

		d.text = t ? t : "";
		d.len = strlen(d.text);
	}
	return d;
}

static int give_substitution(struct sh *s, struct sh_reader *p, struct sh_data out)
{
	out = trimmed(s, out);
	p->pieces++;
	p->known = p->known && out.known;
	if (!out.known && !out.len) {
		p->taint |= out.taint;
		p->from = p->from ? p->from : out.from;
		p->url = p->url ? p->url : out.url;
		return sh_put(s, p, "$()", 3);
	}
	return sh_put_value(s, p, &out, p->wait_dq);
}

static int give_process(struct sh *s, struct sh_reader *p, struct sh_data out)
{
	const char *name = bawn_arena_printf(s->a, "/dev/fd/%u", 63 + s->runs);
	struct sh_file *f = name ? sh_file_get(s, name, true) : NULL;

	if (!f)
		return sh_no_memory(s);
	f->data = out;
	f->reads = p->process_out;
	return sh_put(s, p, name, strlen(name));
}

static int give_output(struct sh *s, struct sh_reader *p, struct sh_data out)
{
	if (p->cmd)
		p->cmd->out = sh_join_data(s, p->cmd->out, out);
	if (p->pending && --p->pending)
		return 0;
	return p->cmd ? sh_command_after(s, p) : 0;
}

static int give(struct sh *s, struct sh_reader *p, struct sh_data out)
{
	enum sh_wait wait = p->wait;

	if (wait != SH_WAIT_OUTPUT)
		p->wait = SH_WAIT_NONE;
	switch (wait) {
	case SH_WAIT_SUBST:
		return give_substitution(s, p, out);
	case SH_WAIT_PROCESS:
		return give_process(s, p, out);
	case SH_WAIT_PARAM:
		p->known = p->known && out.known;
		if (p->wait_name && sh_var_set(s, p->wait_name, strlen(p->wait_name), out) < 0)
			return sh_no_memory(s);
		p->wait_name = NULL;
		return sh_put_value(s, p, &out, p->wait_dq);
	case SH_WAIT_NUMBER:
		p->known = false;
		return sh_put(s, p, "0", 1);
	case SH_WAIT_HERE:
		p->here_wait->body = out;
		return 0;
	case SH_WAIT_OUTPUT:
		return give_output(s, p, out);
	case SH_WAIT_NONE:
	case SH_WAIT_LOOP:
	default:
		return 0;
	}
}

static int pop(struct sh *s)
{
	struct sh_reader *r = s->top;

	if (r->mode == SH_MODE_TEXT) {
		r->out = (struct sh_data){
			.text = r->wn ? r->w : "",
			.len = r->wn,
			.known = r->known,
			.taint = r->taint,
			.from = r->from,
			.url = r->url,
		};
	}
	if (r->n_blocks && !r->up)
		s->broken = true;
	if (r->func)
		r->func->busy = false;
	if (r->scope)
		sh_undo(s, r->mark, r->func && !r->func->alias);
	s->top = r->below;
	return r->up ? give(s, r->up, r->out) : 0;
}

int sh_run(struct sh *s, const char *text, size_t len)
{
	struct sh_reader *r;
	int rc = sh_push(s, SH_MODE_SCRIPT, text, len, &r);

	while (rc >= 0 && s->top) {
		rc = sh_step(s, s->top);
		if (rc == SH_STEP_DONE)
			rc = pop(s);
	}
	return rc < 0 ? rc : 0;
}
