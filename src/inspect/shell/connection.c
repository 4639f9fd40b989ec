/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that the shell opens itself: > /dev/tcp/host/port, and what is sent there later by
 * the number that exec opened it under.
 */
#include <string.h>

#include "inspect/shell/leak.h"

/* The /dev/tcp/… that a redirection means, also by the number that exec opened it under; or NULL.
 */
static const char *connection(struct sh *s, const struct sh_redir *d)
{
	const struct sh_file *f = d->kind == SH_DUP ? sh_descriptor(s, d->path, false) : NULL;

	if (f)
		return f->peer;
	return !strncmp(d->path, "/dev/tcp/", 9) || !strncmp(d->path, "/dev/udp/", 9) ? d->path
										      : NULL;
}

/* exec 3<>/dev/tcp/host/port: opened for later, as who waits for a service does. */
static bool opens_for_later(struct sh *s, const struct sh_command *c, const struct sh_redir *d)
{
	struct sh_file *f;

	if (c->args.n != 1 || strcmp(c->args.v[0].text, "exec") != 0 || d->fd <= 2)
		return false;
	f = sh_descriptor(s, bawn_arena_printf(s->a, "%d", d->fd), true);
	if (f)
		f->peer = d->path;
	return f;
}

static int vet_connection(struct sh *s, const struct sh_command *c, const char *p, bool later)
{
	struct sh_leak l = {.taint = c->out.taint | c->in.taint, .from = c->out.from};
	bool shell = c->args.n && sh_is_shell(c->args.v[0].text);
	bool tied = c->args.n && !later && !strcmp(c->args.v[0].text, "exec");
	const char *slash = strchr(p + 9, '/');
	double x;
	int rc;

	l.host = bawn_arena_strndup(s->a, p + 9, slash ? (size_t)(slash - p - 9) : strlen(p + 9));
	if (!l.host)
		return sh_no_memory(s);
	/* a service of this machine */
	if (!shell && sh_host_of(s, l.host, NULL) == SH_HOST_LOCAL)
		return 0;
	s->past |= SH_PAST_NET;
	if (shell || tied)
		return sh_found(s, c, "command.reverse-shell", "execution",
			"ties a shell to a network connection", shell ? 0.96 : 0.6);
	x = sh_worth(s, &l);
	rc = sh_found(s, c, "command.exfiltration", "exfiltration",
		"sends secrets to another machine", x >= 0.3 ? x : 0);
	if (rc < 0 || sh_host_of(s, l.host, NULL) != SH_HOST_ODD)
		return rc;
	return sh_found(s, c, "command.raw-socket", "network",
		"opens a network connection from the shell itself", 0.35);
}

/* cmd > /dev/tcp/host/port */
int sh_vet_tcp(struct sh *s, const struct sh_command *c)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < c->redirs.n; i++) {
		const char *p = connection(s, &c->redirs.v[i]);

		if (p)
			rc = vet_connection(s, c, p, opens_for_later(s, c, &c->redirs.v[i]));
	}
	return rc;
}
