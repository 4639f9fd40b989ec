/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written here and run later, by somebody else's hand: the lines of a crontab, the files
 * that every login reads, hooks of git. It is read as if it ran now.
 */
#include <ctype.h>
#include <string.h>

#include "inspect/shell/model.h"

#define FIELDS     5  /* of a time in a crontab */
#define LINES_MAX  16 /* of one crontab */
#define SCRIPT_MAX 16384

static const char *skip_field(const char *p, const char *end)
{
	while (p < end && !isspace((unsigned char)*p))
		p++;
	while (p < end && isspace((unsigned char)*p) && *p != '\n')
		p++;
	return p;
}

/* 5 4 * * * [user] command; NULL: no such line. */
static const char *scheduled(const char *p, const char *end, bool user)
{
	size_t n = *p == '@' ? 1 : FIELDS;

	if (p == end || (*p != '@' && !isdigit((unsigned char)*p) && *p != '*'))
		return NULL;
	for (size_t i = 0; i < n + user; i++)
		p = skip_field(p, end);
	return p < end ? p : NULL;
}

static void cron_lines(struct sh *s, struct sh_inners *in, const char *text, bool user)
{
	const char *p = text;

	for (unsigned k = 0; *p && k < LINES_MAX && in->n < SH_INNER_MAX / 2; k++) {
		const char *end, *run;

		p += strspn(p, " \t\n");
		end = p + strcspn(p, "\n");
		run = scheduled(p, end, user);
		if (run)
			(void)sh_inner_put(
				s, in, bawn_arena_strndup(s->a, run, (size_t)(end - run)), 0);
		p = end;
	}
}

/* Files that a shell reads when somebody logs in, or that the system or git runs as they are. */
static bool is_script(const char *path)
{
	return sh_is(sh_base(path), "|.bashrc|.bash_profile|.profile|.zshrc|.zprofile|.zshenv|"
				    ".bash_login|.bash_logout|.zlogin|.bash_aliases|rc.local|"
				    "config.fish|.xinitrc|.xsession|.xprofile|bash.bashrc|") ||
	       strstr(path, "/.ssh/rc") || strstr(path, "/etc/profile") ||
	       strstr(path, "/etc/update-motd.d/") || strstr(path, "/etc/cron.hourly/") ||
	       strstr(path, "/etc/cron.daily/") || strstr(path, "/etc/cron.weekly/") ||
	       strstr(path, "/etc/cron.monthly/") || strstr(path, "/etc/init.d/") ||
	       strstr(path, ".git/hooks/") || !strncmp(path, ".husky/", 7);
}

/* "scripts": {"postinstall": "CMD"}: what an installation runs without being asked, and the rest.
 */
static void package_scripts(struct sh *s, struct sh_inners *in, const char *text)
{
	const char *p = strstr(text, "\"scripts\"");

	p = p ? strchr(p, '{') : NULL;
	if (!p)
		return;
	while (in->n < SH_INNER_MAX / 2) {
		const char *colon = strpbrk(p, ":}");

		if (!colon || *colon != ':')
			break;
		p = colon + 1 + strspn(colon + 1, " \t\n");
		if (*p != '"')
			break;
		(void)sh_add_string(s, in, p);
		for (p++; *p && *p != '"'; p++)
			p += *p == '\\' && p[1];
	}
}

static void written(struct sh *s, struct sh_inners *in, const char *path, const struct sh_data *d)
{
	bool table = strstr(path, "/etc/crontab") || strstr(path, "/etc/cron.d/");
	const struct sh_file *f =
		!strncmp(path, "/dev/fd/", 8) ? sh_file_get(s, path, false) : NULL;
	struct sh_inner *x = f ? sh_inner_put(s, in, f->reads, 0) : NULL;

	/* > >(sh): now it is known what comes in there */
	if (x) {
		x->has_in = true;
		x->in = *d;
		x->how = SH_STDIN;
	}
	if (!d->len || d->len > SCRIPT_MAX || !bawn_scan_spend(s->scan, d->len))
		return;
	if (table || strstr(path, "/spool/cron"))
		cron_lines(s, in, d->text, table);
	else if (is_script(path))
		(void)sh_inner_put(s, in, d->text, 0);
	else if (!strcmp(sh_base(path), "package.json"))
		package_scripts(s, in, d->text);
}

/* crontab FILE, … | crontab - */
static void crontab(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	if (c->in.len && c->in.len <= SCRIPT_MAX)
		cron_lines(s, in, c->in.text, false);
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_file *f = sh_file_get(s, c->args.v[i].text, false);

		if (f && f->data.len && f->data.len <= SCRIPT_MAX)
			cron_lines(s, in, f->data.text, false);
	}
}

/* echo … > x; mv x ~/.bashrc, … | dd of=~/.bashrc, sed -i '$a …' ~/.bashrc */
static void placed(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	bool edits = sh_is(c->args.v[0].text, "|sed|gsed|");
	const char *last = sh_last(c);

	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		const char *add =
			edits && last && (t[0] == '$' || t[0] == '1') ? strpbrk(t, "aic") : NULL;

		if (!strncmp(t, "of=", 3)) {
			written(s, in, sh_path(s, t + 3), &c->in);
		} else if (add && add < t + 4) {
			struct sh_data d = sh_text(add + 1 + strspn(add + 1, " \\\n"));

			written(s, in, sh_path(s, last), &d);
		}
	}
	for (size_t i = 0; !edits && i < c->writes.n; i++) {
		const struct sh_file *f = sh_file_get(s, c->writes.v[i], false);

		if (f)
			written(s, in, sh_path(s, c->writes.v[i]), &f->data);
	}
}

void sh_later(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const char *p = c->args.v[0].text;

	if (!strcmp(p, "crontab"))
		crontab(s, c, in);
	for (size_t i = 0; i < c->redirs.n; i++) {
		const struct sh_redir *r = &c->redirs.v[i];

		if ((r->kind == SH_OUT || r->kind == SH_APPEND) && r->fd != 2)
			written(s, in, sh_path(s, r->path), &c->out);
	}
	for (size_t i = 0; sh_is(p, "|tee|sponge|") && i < c->writes.n; i++)
		written(s, in, sh_path(s, c->writes.v[i]), &c->in);
	if (sh_is(p, "|cp|mv|install|rsync|dd|sed|gsed|"))
		placed(s, c, in);
}
