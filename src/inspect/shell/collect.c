/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways of getting at secrets and of showing them that no single word gives away: trees that are
 * offered to other machines, log-ins that are tried over and over, searches through what others
 * typed, and secrets written so that no mask knows them.
 */
#include <string.h>

#include "inspect/shell/shell.h"

static bool serves(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;
	const char *t = c->args.n > 1 ? c->args.v[1].text : "";
	const char *m = c->args.n > 2 ? c->args.v[2].text : "";

	if (!strncmp(p, "python", 6))
		return !strcmp(t, "-m") && sh_is(m, "|http.server|SimpleHTTPServer|pyftpdlib|");
	if (sh_is(p, "|npx|bunx|pnpx|"))
		return sh_is(t[0] == '-' ? m : t, "|http-server|serve|live-server|");
	if (sh_is(p, "|rclone|caddy|twistd|twist|"))
		return sh_is(t[0] == '-' ? m : t, "|serve|file-server|web|ftp|");
	return sh_is(p, "|http-server|live-server|darkhttpd|webfsd|miniserve|dufs|updog|goshs|ran|"
			"static-web-server|simple-http-server|smbserver.py|impacket-smbserver|");
}

/* The tree that is offered: named, or where it is started. */
static const char *served(const struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (!strncmp(t, "--directory=", 12))
			return t + 12;
		if (t[0] == '/' || t[0] == '~' || sh_is(c->args.v[i - 1].text, "|-d|--directory|"))
			return t;
	}
	return s->cwd ? s->cwd : ".";
}

/* A home, the whole system or all of its settings for whoever asks. */
static int vet_serve(struct sh *s, const struct sh_command *c)
{
	const char *dir;
	enum sh_place p;

	if (!serves(c))
		return 0;
	dir = served(s, c);
	p = sh_place(s, dir);
	if (p != SH_ROOT_DIR && p != SH_HOME_DIR && p != SH_SYSTEM_DIR && !sh_secret_of(s, dir))
		return 0;
	if (sh_is(dir, "|/srv|/mnt|/media|/opt|/srv/|/mnt/|/media/|/opt/|"))
		return 0;
	return sh_vet_fact(s, c, "@serve", dir);
}

/* It is given a password in its words. */
static bool logs_in(const struct sh *s, const struct sh_command *c)
{
	static const struct {
		const char *programs, *sign;
	} ways[] = {
		{"|curl|", " -u "},
		{"|curl|", "--user"},
		{"|curl|", "passw"},
		{"|curl|openssl|gpg|", "pass"},
		{"|mysql|unzip|7z|ftp|mongo|mongosh|", " -p"},
		{"|unzip|smbclient|", " -P"},
		{"|smbclient|", " -U"},
		{"|redis-cli|", " -a "},
		{"|ldapsearch|", " -w"},
		{"|kinit|cryptsetup|login|telnet|", ""},
	};

	if (!strcmp(c->args.v[0].text, "ssh"))
		return memmem(s->sub->text, s->sub->len, "sshpass", 7) != NULL;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (sh_is(c->args.v[0].text, ways[i].programs) && strstr(c->line, ways[i].sign))
			return true;
	}
	return !strcmp(c->args.v[0].text, "sshpass");
}

/* sshpass -p "$p" in a loop over the lines of a file, ?pin=$i over numbers. */
static bool from_list(const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (!strcmp(c->args.v[0].text, "curl") && !c->args.v[i].known &&
			(strstr(t, "pin=$") || strstr(t, "otp=$") || strstr(t, "passwd=$") ||
				strstr(t, "pwd=$")))
			return true;
		if (!strcmp(c->args.v[0].text, "sshpass") && !strcmp(c->args.v[i - 1].text, "-p") &&
			(c->args.v[i].taint & SH_FILE))
			return true;
	}
	return false;
}

/* Programs that ask who is there, fed from a list in a loop. */
static int vet_guess(struct sh *s, const struct sh_command *c)
{
	static const char *const lists[] = {"rockyou", "wordlist", "words.txt", "passwords.txt",
		"passlist", "passwd.txt", "pass.txt", "dict.txt", "dictionary.txt", "seclists",
		"pwlist", "passwords.lst"};
	const char *p = c->args.v[0].text;

	if (!(c->how & (SH_LOOP | SH_ARGSIN)) ||
		!sh_is(p, "|su|ssh|sshpass|curl|mysql|psql|ftp|smbclient|unzip|7z|openssl|gpg|"
			  "cryptsetup|redis-cli|mongo|mongosh|ldapsearch|kinit|login|telnet|"))
		return 0;
	if (!strcmp(p, "su"))
		return c->how & SH_STDIN ? sh_vet_fact(s, c, "@guess", p) : 0;
	if (from_list(c))
		return sh_vet_fact(s, c, "@guess", p);
	if (!s->sub->text || !logs_in(s, c))
		return 0;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (memmem(s->sub->text, s->sub->len, lists[i], strlen(lists[i])))
			return sh_vet_fact(s, c, "@guess", p);
	}
	return 0;
}

/* Words that only secrets and their labels are made of. */
static bool seeks_secrets(const struct sh_command *c)
{
	static const char *const words[] = {"passw", "secret", "private_key", "private key",
		"private\x1fkey", "api_key", "apikey", "access_key", "credential", "akia", "ghp_"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasestr(c->line, words[i]))
			return true;
	}
	return false;
}

/* A shell history, the traffic or the environment of others that is searched for passwords. */
static int vet_search(struct sh *s, const struct sh_command *c)
{
	static const char *const words[] = {"pass", "secret", "token", "key", "authorization"};

	if (!sh_is(c->args.v[0].text, "|grep|egrep|rg|awk|") || !c->in.from)
		return 0;
	/* find ~ … | xargs grep -l private_key: in whatever others have */
	if ((c->how & SH_ARGSIN) && (c->in.taint & (SH_TREE | SH_SOME)) && seeks_secrets(c))
		return sh_found(s, c, "command.credential-hunt", "credential-access",
			"searches the files of others for secrets", s->script ? 0.2 : 0.36);
	if (!(c->in.taint & (SH_SECRET | SH_ENV)))
		return 0;
	if (!strcmp(c->in.from, "a dump of the disk"))
		return sh_found(s, c, "command.search-disk", "credential-access",
			"searches a disk itself, past the rights of the files on it",
			s->script ? 0.2 : 0.36);
	if (!strstr(c->in.from, "history") && !strstr(c->in.from, "environ") &&
		!sh_is(c->in.from, "|ps|tcpdump|tshark|ngrep|") &&
		!(sh_is(c->in.from, "|env|printenv|") && sh_goes_aside(s, c)))
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasestr(c->line, words[i]))
			return sh_found(s, c, "command.credential-hunt", "credential-access",
				"searches what others typed, sent or started for secrets", 0.36);
	}
	return 0;
}

/* The folders that web servers show to everybody. */
static bool shown_to_all(const char *path)
{
	return path[0] == '/' &&
	       (strstr(path, "/www/") || strstr(path, "/html/") || strstr(path, "/htdocs/") ||
		       strstr(path, "/public_html/") || strstr(path, "/wwwroot/"));
}

/* Keys, a whole home or a database; an application's own settings belong there. */
static bool grave(const struct sh_data *d)
{
	return (d->taint & SH_HARD) ||
	       ((d->taint & SH_SECRET) &&
		       ((d->taint & SH_PACKED) || (d->from && strstr(d->from, "dump"))));
}

/* Secrets in a file that a web server hands out. */
static int vet_show(struct sh *s, const struct sh_command *c)
{
	bool shows = false;

	for (size_t i = 0; i < c->redirs.n; i++)
		shows = shows || (c->redirs.v[i].kind != SH_IN && c->redirs.v[i].path &&
					 shown_to_all(c->redirs.v[i].path) && grave(&c->out));
	for (size_t i = 0; !shows && i < c->writes.n; i++) {
		const struct sh_file *f = sh_file_get(s, c->writes.v[i], false);

		shows = f && shown_to_all(c->writes.v[i]) && grave(&f->data);
	}
	return !shows ? 0
		      : sh_found(s, c, "command.show-secrets", "exfiltration",
				"puts secrets where a web server shows them to everybody",
				s->script ? 0.31 : 0.45);
}

/* s/./& /g and its kin: every letter apart. */
static bool spreads(const struct sh_command *c)
{
	return sh_is(c->args.v[0].text, "|sed|gsed|") &&
	       (strstr(c->line, "s/./&") || strstr(c->line, "s/\\(.\\)/\\1"));
}

/* What prints secrets masks them as they are; written twice over they pass. */
static int vet_unmask(struct sh *s, const struct sh_command *c)
{
	bool shown = !(c->how & SH_PIPED), all;

	if (!(c->in.taint & (SH_ENV | SH_SECRET)))
		return 0;
	all = c->in.from && sh_is(c->in.from, "|env|printenv|set|export|declare|");
	for (size_t i = 0; i < c->redirs.n; i++)
		shown = shown && c->redirs.v[i].kind != SH_OUT;
	if (!(sh_encodes(c) && (c->in.taint & SH_CODED)) && !spreads(c) &&
		!(sh_encodes(c) && all && shown))
		return 0;
	return sh_found(s, c, "command.unmask-secret", "credential-access",
		"writes secrets in a form that masks do not know", s->script ? 0.31 : 0.42);
}

int sh_vet_collect(struct sh *s, const struct sh_command *c)
{
	static int (*const vets[])(struct sh * s, const struct sh_command *c) = {
		vet_serve, vet_unmask, vet_show, vet_guess, vet_search};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(vets) / sizeof(vets[0]); i++)
		rc = vets[i](s, c);
	return rc;
}
