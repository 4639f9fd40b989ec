/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes: which ones a pipeline picks out of a list in order to end them, loops that never end
 * and take the disk of this machine or the time of another one, and those that go from machine to
 * machine.
 */
#include <string.h>

#include "inspect/shell/model.h"

#define NAMES_MAX 16

/* The pattern that grep or awk picks lines with; NULL: it leaves lines out, or takes all. */
static const char *pattern_of(struct sh *s, const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text, *slash = strchr(t, '/');

		if (sh_is(p, "|awk|gawk|mawk|"))
			return slash && strchr(slash + 1, '/') ? bawn_arena_strndup(s->a, slash + 1,
									 strcspn(slash + 1, "/"))
							       : NULL;
		if (t[0] != '-')
			return t;
		if (t[1] != '-' && strchr(t, 'v'))
			return NULL;
	}
	return NULL;
}

const char *sh_picked(struct sh *s, const struct sh_command *c, const char *from)
{
	const char *pattern, *t;

	if (!sh_is(c->args.v[0].text, "|grep|egrep|fgrep|awk|gawk|mawk|rg|"))
		return from;
	pattern = pattern_of(s, c);
	t = pattern ? bawn_arena_printf(s->a, "ps %s", pattern) : NULL;
	return t ? t : from;
}

/* Where the processes come from that are ended: its words, or the names that xargs hands on. */
static const char *ended(const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		if (c->args.v[i].from && !strncmp(c->args.v[i].from, "ps ", 3))
			return c->args.v[i].from + 3;
	}
	if ((c->how & SH_ARGSIN) && c->in.from && !strncmp(c->in.from, "ps ", 3))
		return c->in.from + 3;
	return NULL;
}

/* ps aux | grep -E 'a|b' | awk '{print $2}' | xargs kill: as if each were named. */
static int vet_ended(struct sh *s, const struct sh_command *c)
{
	const char *p = ended(c);
	int rc = 0;

	for (unsigned k = 0; rc == 0 && p && *p && k < NAMES_MAX; k++) {
		char name[64];
		size_t n = 0;

		for (; *p && *p != '|'; p++) {
			if (n + 1 < sizeof(name) && !strchr("[]()^$\\ ", *p))
				name[n++] = *p;
		}
		name[n] = 0;
		p += *p == '|';
		if (n)
			rc = sh_vet_fact(s, c, "kill -9", bawn_arena_printf(s->a, "@pid:%s", name));
	}
	return rc;
}

static const char *other_machine(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		enum sh_host h = t[0] != '-' ? sh_host_of(s, t, NULL) : SH_HOST_NONE;

		if (h != SH_HOST_NONE && h != SH_HOST_LOCAL && h != SH_HOST_ALLOWED)
			return t;
	}
	return NULL;
}

/* while true; do curl … & done: more requests all the time, and nobody waits for an answer. */
static int vet_flood(struct sh *s, const struct sh_command *c)
{
	if ((c->how & (SH_EVER | SH_BEHIND)) != (SH_EVER | SH_BEHIND) ||
		!sh_is(c->args.v[0].text, "|curl|wget|nc|ncat|ping|ab|http|xh|telnet|dig|nmap|") ||
		!other_machine(s, c))
		return 0;
	return sh_found(s, c, "command.flood", "destruction",
		"sends requests to another machine without end and without waiting",
		s->script ? 0.31 : 0.42);
}

/* for h in $(… known_hosts); do ssh $h …: from here to every machine that is known here. */
static int vet_spread(struct sh *s, const struct sh_command *c)
{
	if (!(c->how & (SH_LOOP | SH_ARGSIN)) ||
		!sh_is(c->args.v[0].text, "|ssh|scp|rsync|sftp|sshpass|"))
		return 0;
	for (size_t i = 0; i < c->args.n; i++) {
		const char *from = i ? c->args.v[i].from : c->in.from;

		if (from && !strcmp(from, "known_hosts"))
			return sh_found(s, c, "command.spread", "execution",
				"goes on to every machine that is known here",
				s->script ? 0.35 : 0.5);
	}
	return 0;
}

/* A name that is another one in each round. */
static bool new_each_time(const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		if (!c->args.v[i].known && c->args.v[i].text[0] != '-' &&
			strchr(c->args.v[i].text, '$'))
			return true;
	}
	return false;
}

/* What never ends goes into a file, or ever more files are made. */
static int vet_fill(struct sh *s, const struct sh_command *c)
{
	bool fills = (c->how & SH_EVER) &&
		     sh_is(c->args.v[0].text, "|fallocate|mkfile|dd|truncate|") && new_each_time(c);

	for (size_t i = 0; (c->out.taint & SH_ENDLESS) && i < c->redirs.n; i++) {
		const struct sh_redir *d = &c->redirs.v[i];

		fills = fills || ((d->kind == SH_OUT || d->kind == SH_APPEND) && d->fd < 2 &&
					 strncmp(d->path, "/dev/", 5) != 0 && d->path[0] != '&');
	}
	return !fills ? 0
		      : sh_found(s, c, "command.fill-disk", "destruction",
				"writes until the disk is full", s->script ? 0.31 : 0.42);
}

/* The word that says that services, processes or packages are ended, by the program. */
static const struct {
	const char *programs, *orders;
} endings[] = {
	{"|systemctl|service|rc-service|initctl|launchctl|",
		"|stop|disable|mask|kill|unload|bootout|remove|"},
	{"|chkconfig|update-rc.d|sysrc|", "|off|disable|remove|NO|"},
	{"|apt|apt-get|aptitude|yum|dnf|zypper|apk|pacman|snap|brew|",
		"|remove|purge|autoremove|erase|uninstall|del|-R|-Rs|-Rns|"},
	{"|rpm|dpkg|", "|-e|--erase|-r|-P|--remove|--purge|"},
	{"|pkill|killall|kill|rm|unlink|mv|", NULL},
};

/* A signal that only wakes, or a process that is asked for. */
static bool wakes(const struct sh_command *c)
{
	return sh_has(c, "|-HUP|-1|-USR1|-USR2|-CONT|-0|-10|-12|-SIGHUP|-SIGUSR1|-s|-l|");
}

static bool ends(const struct sh_command *c)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (sh_is(c->args.v[0].text, endings[i].programs))
			return endings[i].orders ? sh_has(c, endings[i].orders) : !wakes(c);
	}
	return false;
}

/* What it ends, one by one: rules know who watches over a machine. */
static int vet_ends(struct sh *s, const struct sh_command *c)
{
	int rc = 0;

	if (!ends(c))
		return 0;
	for (size_t i = 1; rc == 0 && i < c->args.n && i < NAMES_MAX; i++) {
		const char *t = c->args.v[i].text;
		bool path = t[0] == '/';

		/* programs and what starts them, not what they once wrote */
		if (t[0] == '-' || (path && !strstr(t, "bin/") && !strstr(t, "/systemd/") &&
					   !strstr(t, "/init.d/") && strncmp(t, "/opt/", 5) != 0))
			continue;
		t = !strncmp(t, "@pid:", 5) ? t + 5 : path ? sh_base(t) : t;
		if (*t)
			rc = sh_vet_fact(s, c, "@end", t);
	}
	return rc;
}

int sh_vet_procs(struct sh *s, const struct sh_command *c)
{
	int rc = !strcmp(c->args.v[0].text, "kill") ? vet_ended(s, c) : 0;

	if (rc == 0)
		rc = vet_ends(s, c);
	if (rc == 0)
		rc = vet_flood(s, c);
	if (rc == 0)
		rc = vet_spread(s, c);
	return rc == 0 ? vet_fill(s, c) : rc;
}
