/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What leaves: everything that a program which talks to other machines is given. What that is worth
 * is told in worth.c.
 */
#include "inspect/shell/leak.h"

#include <ctype.h>
#include <string.h>

#include "inspect/shell/model.h"

static void take(struct sh_leak *l, unsigned taint, const char *from)
{
	l->taint |= taint;
	l->from = l->from ? l->from : from;
	if (!(taint & SH_ENV))
		return;
	if (from && from[0] == '$')
		l->variable = from;
	else
		l->whole = true;
}

/* @FILE, name=@FILE; {"mail": "a@b.example"} is what it is. */
static bool names_file(const char *t)
{
	return t[0] == '@' || strstr(t, "=@") || !strncmp(t, "-d@", 3) ||
	       !strncmp(t, "--post-file", 11) || (strchr(t, '@') && !strpbrk(t, " {\"&"));
}

static void take_word(struct sh *s, struct sh_leak *l, const struct sh_word *w, bool files)
{
	const struct sh_secret *x = files ? sh_secret_of(s, w->text) : NULL;
	const char *path = w->text;
	const struct sh_file *f;

	if (x)
		take(l, x->taint & 0xff, w->text);
	take(l, w->taint & ~(SH_NET | SH_DECODED), w->from);
	if (!files)
		return;
	if (strchr(path, '@'))
		path = strchr(path, '@') + 1;
	else if (!strncmp(path, "--", 2) && strchr(path, '='))
		path = strchr(path, '=') + 1;
	f = sh_file_get(s, path, false);
	if (f)
		take(l, f->data.taint | SH_FILE, f->data.from);
	else if (names_file(w->text))
		take(l, SH_FILE, NULL);
}

/* All that comes in. One token is how services are used, what a store prints is not. */
static void take_input(struct sh_leak *l, const struct sh_command *c)
{
	const char *from = c->in.from ? c->in.from : "";
	bool store = from[0] == '$' && from[strlen(from) - 1] == '.';

	take(l, c->in.taint | (store ? SH_SECRET : 0), store ? "a store" : c->in.from);
}

static const char *const upload_options =
	"|-d|--data|--data-binary|--data-raw|--data-urlencode|--data-ascii|-F|--form|-T|"
	"--upload-file|--json|--form-string|--post-data|--post-file|--body-data|--body-file|";

/* -sF, -sST, -kd: the last of clustered letters takes the word. */
static bool uploads(const char *option)
{
	size_t n = strlen(option);

	return sh_is(option, upload_options) ||
	       (option[0] == '-' && option[1] != '-' && n > 2 && n < 8 &&
		       strchr("dFT", option[n - 1]) && !strpbrk(option, "=@/.:"));
}

/* A token in a header is how services are used; the whole environment is not. */
static void take_header(struct sh_leak *l, const struct sh_word *w)
{
	bool whole = w->from && w->from[0] != '$' && (w->taint & SH_ENV);

	take(l, w->taint & ~(SH_NET | SH_DECODED | SH_HOST | (whole ? 0 : SH_ENV)), w->from);
}

/* http://USER.HOST.example.com/, ?u=USER&h=HOST: an address that says who is here. One name alone
 * is how one's own machines are called. */
static bool announces(const struct sh_word *w)
{
	const char *p = strstr(w->text, "://"), *end;
	size_t name = 0, all = 0;
	bool who = w->from && sh_is(w->from, "|whoami|id|");

	if (!p || !(w->taint & SH_HOST))
		return false;
	end = p + 3 + strcspn(p + 3, "/?");
	for (p = strstr(p, "$()"); p; p = strstr(p + 3, "$()")) {
		name += p < end;
		all++;
	}
	return name > 1 || (who && (name || all > 1));
}

static bool ends_in(const char *t, const char *list)
{
	size_t n = strlen(t);

	for (const char *p = list; *p; p += strlen(p) + 1) {
		size_t k = strlen(p);

		if (n > k && !strcasecmp(t + n - k, p))
			return true;
	}
	return false;
}

/* x=@FILE, x=<FILE, @FILE, -T FILE: the file that is sent; NULL: none. */
static const char *body_file(const struct sh_command *c, size_t i)
{
	const char *t = c->args.v[i].text, *eq = strchr(t, '=');

	if (t[0] == '@')
		return t + 1;
	if (eq && (eq[1] == '@' || eq[1] == '<'))
		return eq + 2;
	if (!strncmp(t, "-d@", 3))
		return t + 3;
	if (eq && (!strncmp(t, "--post-file", 11) || !strncmp(t, "--upload-file", 13) ||
			  !strncmp(t, "--body-file", 11)))
		return eq + 1;
	return sh_is(c->args.v[i - 1].text, "|-T|--upload-file|--post-file|--body-file|") ? t
											  : NULL;
}

bool sh_is_archive(const char *path)
{
	return ends_in(path, ".tgz\0.tar.gz\0.tar\0.zip\0.7z\0.rar\0.tar.xz\0.txz\0.tar.bz2\0"
			     ".tbz\0.tbz2\0.tar.zst\0.cpio\0");
}

static const char keys[] = ".pem\0.key\0.p12\0.pfx\0.kdbx\0.ppk\0.ovpn\0.jks\0.keystore\0";
static const char papers[] =
	".doc\0.docx\0.xls\0.xlsx\0.ppt\0.pptx\0.pdf\0.odt\0.ods\0.pst\0.eml\0.mbox\0";
static const char dumps[] = ".sql\0.sql.gz\0.dump\0.sql.bz2\0.sql.zst\0";

/* Somebody's whole home, his papers, tables about people, or what services keep. */
static bool is_papers(struct sh *s, const char *path)
{
	enum sh_place p = sh_place(s, path);
	bool own =
		strstr(path, "/Documents") || strstr(path, "/Desktop") || strstr(path, "/Pictures");

	return p == SH_HOME_DIR || (own && p == SH_IN_HOME) || !strncmp(path, "/var/lib/", 9) ||
	       sh_about_people(path);
}

/* The same, or another file of the system. */
static bool lies_beyond(struct sh *s, const char *path)
{
	return sh_of_system(s, path) || is_papers(s, path);
}

/* What the place and the name of a file say about what is in it. */
static void take_file(struct sh *s, struct sh_leak *l, const char *path, bool many)
{
	const struct sh_file *f = sh_file_get(s, path, false);
	enum sh_place p = sh_place(s, path);

	/* nobody sends a folder: it stands for the files that were found there */
	if (p == SH_ROOT_DIR || p == SH_HOME_DIR || p == SH_SYSTEM_DIR)
		take(l, SH_SECRET, "files of others");
	if (ends_in(path, dumps))
		take(l, SH_SECRET, "a dump of a database");
	/* find … -name '*.pem': all that are found */
	if (strpbrk(path, "*?") && ends_in(path, keys))
		take(l, SH_SECRET, "keys");
	if (strpbrk(path, "*?") && p == SH_IN_HOME && ends_in(path, papers))
		take(l, SH_SECRET, "somebody's papers");
	l->beyond = l->beyond || lies_beyond(s, path);
	l->parcel = l->parcel || (p == SH_TEMP && many) ||
		    (p == SH_TEMP && f && (f->data.taint & SH_PACKED)) ||
		    (p == SH_TEMP && sh_is_archive(path));
}

/* Word i is what is sent, or the file that holds it. */
static void take_body(struct sh *s, const struct sh_command *c, size_t i, struct sh_leak *l)
{
	const struct sh_word *w = &c->args.v[i];
	const char *file = body_file(c, i);
	size_t n = strlen(w->text);

	take_word(s, l, w, true);
	if (file)
		take_file(s, l, file, c->how & (SH_LOOP | SH_ARGSIN));
	if (sh_is(c->args.v[i - 1].text, "|-T|--upload-file|") || (c->how & SH_ARGSIN))
		take(l, SH_FILE, w->text);
	/* every file of a home or a system that fits */
	if (((c->how & SH_ARGSIN) && (c->in.taint & (SH_TREE | SH_SOME))) ||
		(file && (w->taint & (SH_TREE | SH_SOME))))
		take(l, SH_SECRET, "files of others");
	if (n && w->text[n - 1] == '-' && (n == 1 || strchr("@=<", w->text[n - 2]))) {
		take_input(l, c);
		l->stream = true;
	}
}

/* An account at the service that it is sent to. */
static bool says_who(const char *before, const char *word)
{
	return sh_is(before, "|-u|--user|--oauth2-bearer|--netrc-file|") ||
	       (sh_is(before, "|-H|--header|") &&
		       (!strncasecmp(word, "Authorization:", 14) || strcasestr(word, "token:") ||
			       strcasestr(word, "api-key:") || strcasestr(word, "apikey:")));
}

/* https://api.telegram.org/bot$TOKEN/sendMessage: the service wants to know who speaks, there. */
static bool is_login(const struct sh_word *w)
{
	const char *at = strstr(w->text, "://api.telegram.org/bot$");

	return at && !strstr(w->text, "$(") && !strchr(at + 24, '$') && !strchr(at, '?');
}

/* What an address may not say. */
#define IN_URL \
	(SH_SECRET | SH_ENV | SH_HOST | SH_HARD | SH_FILE | SH_SYSTEM | SH_PACKED | SH_SEALED)

/* Names that were read from a file are asked for everywhere, but of machines that nobody knows. */
static unsigned in_url(const struct sh_word *w)
{
	bool known = !sh_host_abroad(w->text) && !sh_host_drop(w->text);

	return w->taint & ~(SH_NET | SH_DECODED | (known ? SH_FILE : 0));
}

static bool is_head(const struct sh_command *c, size_t i)
{
	return sh_is(c->args.v[i - 1].text,
		       "|-H|--header|-u|--user|-b|--cookie|-A|--oauth2-bearer|") ||
	       !strncmp(c->args.v[i].text, "--header=", 9) || !strncmp(c->args.v[i].text, "-H", 2);
}

/* Keys as they are, in what is sent or in the address itself. */
static void take_keys(const struct sh_command *c, struct sh_leak *l)
{
	const char *in = l->stream && c->in.known && c->in.len ? c->in.text : "";
	bool any = l->host && sh_stray_key(in, l->host);

	for (size_t i = 1; l->host && !any && i < c->args.n; i++)
		any = !is_head(c, i) && sh_stray_key(c->args.v[i].text, l->host);
	if (any)
		take(l, SH_SECRET, "a key");
	for (size_t i = 1; l->host && i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];

		/* many services understand the same requests, with keys of their own */
		if (is_head(c, i) && (w->taint & SH_ENV) && w->from && w->from[0] == '$' &&
			!strstr(w->from, "_API_KEY") && sh_stray_variable(w->from + 1, l->host))
			take(l, SH_ENV, w->from);
	}
}

/* @FILE, name=@FILE, name@FILE as httpie writes them. */
static bool is_item(const char *t)
{
	const char *at = strchr(t, '@');

	return at && !sh_is_url(t) && t[0] != '-' &&
	       (at == t || at[-1] == '=' || strchr("~/.", at[1]));
}

static void curl_leak(struct sh *s, const struct sh_command *c, struct sh_leak *l)
{
	/* name=@FILE is what they send */
	bool items = sh_is(c->args.v[0].text, "|http|https|xh|xhs|curlie|");

	l->web = true;
	if (items && (c->how & SH_STDIN)) {
		take_input(l, c);
		l->stream = true;
	}
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];
		const char *before = c->args.v[i - 1].text;
		bool head = is_head(c, i);
		bool body =
			uploads(before) || !strncmp(w->text, "--post-", 7) ||
			!strncmp(w->text, "--data", 6) || !strncmp(w->text, "--upload-file=", 14) ||
			!strncmp(w->text, "--body-", 7) || !strncmp(w->text, "-d@", 3) ||
			(items && is_item(w->text)) || (!strncmp(w->text, "-F", 2) && w->text[2]) ||
			(!strncmp(w->text, "-T", 2) && w->text[2]);

		if (sh_is_url(w->text) && !body && !head && !l->host)
			l->host = w->text;
		l->named = l->named || says_who(before, w->text);
		if (body) {
			take_body(s, c, i, l);
		} else if (head) {
			take_header(l, w);
		} else if ((w->taint & IN_URL) && !is_login(w)) {
			take(l, in_url(w), w->from);
			l->lookup = l->lookup || announces(w);
		}
		/* … | xargs -I{} curl https://a.example/?d={} */
		if ((c->how & SH_ARGSIN) && !body && sh_is_url(w->text) && strstr(w->text, "{}") &&
			(c->in.taint & (SH_SEALED | SH_CODED | SH_SECRET | SH_ENV)))
			take_input(l, c);
	}
	for (size_t i = 1; !l->host && i < c->args.n; i++) {
		if (c->args.v[i].text[0] != '-' && !sh_is(c->args.v[i - 1].text, upload_options) &&
			sh_host_of(s, c->args.v[i].text, NULL) != SH_HOST_NONE)
			l->host = c->args.v[i].text;
	}
	take_keys(c, l);
}

/* ftp host <<< 'put .env': what it is told to send. */
static void take_orders(struct sh *s, const struct sh_command *c, struct sh_leak *l)
{
	const struct sh_secret *x;

	if (!c->in.len || !strstr(c->in.text, "put ") ||
		!sh_is(c->args.v[0].text, "|ftp|sftp|lftp|tftp|smbclient|"))
		return;
	x = sh_secret_of(s, c->in.text);
	if (x)
		take(l, x->taint & 0xff, x->pattern);
}

/* TCP4:host:port,option as socat writes it: host:port. */
static const char *socket_peer(struct sh *s, const char *word)
{
	const char *colon = strchr(word, ':');

	if (!colon ||
		(strncasecmp(word, "tcp", 3) != 0 && strncasecmp(word, "udp", 3) != 0 &&
			strncasecmp(word, "openssl", 7) != 0 && strncasecmp(word, "ssl", 3) != 0))
		return NULL;
	return bawn_arena_strndup(s->a, colon + 1, strcspn(colon + 1, ","));
}

/* Programs that send their input to a machine named in their words. */
static void pipe_leak(struct sh *s, const struct sh_command *c, struct sh_leak *l)
{
	bool socket = !strcmp(c->args.v[0].text, "socat");
	/* what is read over there does not leave from here */
	size_t there = !strcmp(c->args.v[0].text, "ssh") ? sh_ssh_words(c) : c->args.n;

	l->raw = sh_is(c->args.v[0].text, "|nc|ncat|netcat|socat|telnet|websocat|ftpput|");
	l->stream = (c->how & SH_STDIN) != 0;
	l->shown = !strcmp(c->args.v[0].text, "gh") && sh_has(c, "|gist|");
	l->web = l->shown;
	take(l, c->in.taint & ~SH_NET, c->in.from);
	if (l->stream || sh_is(c->args.v[0].text, "|ftpput|ncftpput|"))
		take(l, SH_FILE, NULL);
	take_orders(s, c, l);
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];
		const char *peer = socket ? socket_peer(s, w->text) : w->text;

		if (!l->host && w->text[0] != '-' && peer &&
			sh_host_of(s, peer, NULL) != SH_HOST_NONE)
			l->host = peer;
		if (!sh_not_read(c, i))
			take_word(s, l, w, i < there);
	}
}

static bool in_bucket(const char *t)
{
	return !strncmp(t, "s3://", 5) || !strncmp(t, "gs://", 5) || strstr(t, "blob.core");
}

static bool remote_place(const char *t)
{
	const char *colon = strchr(t, ':');

	return in_bucket(t) || (colon && colon > t + 1 && t[0] != '/' && t[0] != '.' &&
				       t[0] != '-' && strncmp(t, "file:", 5) != 0);
}

/* A whole home, all homes or all settings of a machine. */
static bool all_of_somebody(struct sh *s, const char *path)
{
	enum sh_place p = sh_place(s, path);

	return p == SH_ROOT_DIR || p == SH_HOME_DIR || sh_is(path, "|/etc|/etc/|");
}

/* Where a copy goes from and to, as places among the words; 0: none. */
struct route {
	const char *to;
	const char *service; /* that is not the usual one */
	size_t away, here;
};

/* An option whose word comes behind it. */
static bool takes_word(const struct sh_command *c, const char *option)
{
	const char *p = c->args.v[0].text;
	size_t n = strlen(option);

	if (option[0] != '-' || strchr(option, '='))
		return false;
	if (!strcmp(p, "scp"))
		return strchr("PioFlcJSD", option[n - 1]) != NULL;
	if (!strcmp(p, "rsync"))
		return sh_is(option, "|--exclude|--include|--exclude-from|--include-from|--rsh|"
				     "--files-from|--filter|--bwlimit|--port|--password-file|") ||
		       (option[1] != '-' && strchr("efTBM", option[n - 1]));
	return true;
}

static void take_copied(
	struct sh *s, const struct sh_command *c, struct sh_leak *l, struct route *r)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];

		if (sh_is(c->args.v[i - 1].text, "|--endpoint-url|--endpoint|")) {
			r->service = w->text;
		} else if (remote_place(w->text)) {
			r->to = w->text;
			r->away = r->away ? r->away : i;
		} else if (!sh_not_read(c, i)) {
			take_word(s, l, w, true);
			if (w->text[0] == '-' || takes_word(c, c->args.v[i - 1].text))
				continue;
			r->here = i;
			l->papers = l->papers || is_papers(s, w->text);
		}
	}
}

/* Where a person keeps the keys to other machines, or everything in a bucket. */
static bool is_kept(struct sh *s, const char *from, const char *to)
{
	if ((!strncmp(from, "~/.", 3) || !strncmp(from, "/root/.", 7)) && sh_secret_of(s, from))
		return true;
	return in_bucket(to) && all_of_somebody(s, from);
}

/* scp, rsync, rclone, aws s3 cp: what is copied away from here. */
static void copy_leak(struct sh *s, const struct sh_command *c, struct sh_leak *l)
{
	struct route r = {.to = c->args.n > 1 ? c->args.v[c->args.n - 1].text : ""};
	/* where to stands before what */
	bool first = sh_is(c->args.v[0].text, "|restic|borg|duplicity|kopia|") &&
		     sh_has(c, "|backup|create|snapshot|full|incr|~|/|/home|/etc|");

	l->transfer = true;
	take_copied(s, c, l, &r);
	if (sh_has(c, "|-|rcat|"))
		take(l, c->in.taint & ~SH_NET, c->in.from);
	if (remote_place(r.to))
		l->host = r.service ? r.service : r.to;
	/* for everybody to read, or a service that is not the usual one */
	if (sh_has(c,
		    "|public-read|public-read-write|--no-sign-request|--endpoint-url|publicRead|")) {
		l->transfer = false;
		if (r.here && ends_in(c->args.v[r.here].text, dumps))
			take(l, SH_SECRET, "a database");
	}
	l->store = l->from && is_kept(s, l->from, r.to);
	l->bucket = l->from && in_bucket(r.to) && r.here && r.here < r.away &&
		    !strcmp(l->from, c->args.v[r.here].text) && l->from[0] != '/';
	if (!l->host)
		l->taint = 0;
	/* from there to here */
	if (l->host && r.away < r.here && !first)
		l->taint &= ~(SH_SECRET | SH_HARD);
	l->copied = l->host && r.here && (r.here < r.away || first);
	l->papers = l->papers && l->copied;
}

/* Programs that put files into a store or onto a page of somebody, by the words that say so. */
static const struct {
	const char *program, *orders;
	enum {
		OWN,
		MESSAGE,
		DROP
	} to; /* a place of one's own, a message, for everybody to see */
} stores[] = {
	{"|az|", "|upload|upload-batch|copy|sync|", OWN},
	{"|aws|", "|put-object|upload-part|", OWN},
	{"|aws|gcloud|",
		"|publish|send-message|send-email|send-raw-email|put-record|put-records|put-events|"
		"invoke|",
		MESSAGE},
	{"|mc|", "|cp|mirror|put|mv|pipe|", OWN},
	{"|swift|openstack|", "|upload|create|", OWN},
	{"|oci|", "|put|bulk-upload|", OWN},
	{"|s5cmd|s4cmd|obsutil|ossutil|ossutil64|coscli|qshell|", "|cp|sync|put|mv|pipe|upload|",
		OWN},
	{"|wrangler|", "|put|upload|deploy|", OWN},
	{"|netlify|vercel|surge|firebase|", "|deploy|publish|", OWN},
	{"|npm|pnpm|yarn|twine|cargo|gem|", "|publish|upload|push|", OWN},
	{"|pastebinit|wgetpaste|fpaste|pastebin|gist|pb|sprunge|nopaste|hastebin|", NULL, DROP},
	{"|onionshare|onionshare-cli|sharefile|transfer|transfersh|ffsend|plik|wetransfer|", NULL,
		DROP},
	{"|telegram-send|slackcat|slack-cli|discord.sh|apprise|ntfy|pushbullet|signal-cli|", NULL,
		MESSAGE},
};

/* A whole home as the pages of a site. */
static bool take_pages(struct sh *s, const struct sh_command *c, struct sh_leak *l)
{
	if (!sh_is(c->args.v[0].text, "|netlify|vercel|surge|firebase|"))
		return false;
	for (size_t i = 2; i < c->args.n; i++) {
		const char *t = c->args.v[i].text, *eq = strchr(t, '=');

		t = t[0] == '-' && eq ? eq + 1 : t;
		if (t[0] != '-' && all_of_somebody(s, t)) {
			take(l, SH_SECRET, "a whole home");
			return true;
		}
	}
	return false;
}

static bool store_leak(struct sh *s, const struct sh_command *c, struct sh_leak *l)
{
	/* everything below in one look */
	if (!sh_is(c->args.v[0].text,
		    "|az|aws|gcloud|mc|swift|openstack|oci|s5cmd|s4cmd|obsutil|ossutil|ossutil64|coscli|qshell|"
		    "wrangler|netlify|vercel|surge|firebase|npm|pnpm|yarn|twine|cargo|gem|"
		    "pastebinit|wgetpaste|fpaste|pastebin|gist|pb|sprunge|nopaste|hastebin|"
		    "onionshare|onionshare-cli|sharefile|transfer|transfersh|ffsend|plik|wetransfer|"
		    "telegram-send|slackcat|slack-cli|discord.sh|apprise|ntfy|pushbullet|"
		    "signal-cli|"))
		return false;
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		if (!sh_is(c->args.v[0].text, stores[i].program) ||
			(stores[i].orders && !sh_has(c, stores[i].orders)))
			continue;
		take(l, c->in.taint & ~SH_NET, c->in.from);
		for (size_t k = 1; k < c->args.n; k++)
			take_word(s, l, &c->args.v[k],
				!sh_not_read(c, k) || !strncmp(c->args.v[k].text, "file", 4));
		l->transfer = stores[i].to == OWN && !take_pages(s, c, l);
		l->host = stores[i].to == DROP ? "https://0x0.st" : "https://store.example.com";
		return true;
	}
	return false;
}

/* Names that are looked up carry data to whoever answers. */
static void name_leak(struct sh *s, const struct sh_command *c, struct sh_leak *l)
{
	const char *server = NULL;

	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];
		const char *dot = strchr(w->text, '.');

		if (w->text[0] == '@' && w->text[1])
			server = w->text + 1;
		/* dig @SERVER DATA */
		if (server && !dot && (w->taint & (SH_SECRET | SH_HARD | SH_CODED | SH_ENV))) {
			take(l, w->taint & ~SH_NET, w->from);
			l->host = server;
		}
		if (w->text[0] == '-' || w->text[0] == '@' || !dot || !dot[1])
			continue;
		if (strstr(w->text, "$().") || strstr(w->text, "$()-"))
			take(l, SH_HOST, w->from);
		else if (!w->taint)
			continue;
		take(l, w->taint & ~SH_NET, w->from);
		if (w->taint & SH_DECODED)
			take(l, SH_FILE, w->from);
		l->host = w->text;
		l->lookup = true;
	}
	(void)s;
}

#define CONTENT (SH_SECRET | SH_HARD | SH_CODED)

/* $(xxd -p k).x.example: a name that is looked up, whichever program does it. */
static bool in_name(const struct sh_word *w)
{
	const char *p = strstr(w->text, "$().");

	return p && (w->taint & CONTENT) && isalnum((unsigned char)p[4]);
}

/* The word that names another machine: an address, or behind an option that says so. */
static const char *named_host(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (t[0] != '-' && !(c->args.v[i].taint & CONTENT) &&
			(sh_is_url(t) ||
				sh_is(c->args.v[i - 1].text,
					"|-h|-H|--host|-n|--server|-s|--hostname|--broker|")) &&
			sh_host_of(s, t, NULL) != SH_HOST_NONE)
			return t;
	}
	return NULL;
}

/* Who logs in says the password; that is what it is for. */
static bool is_password(const struct sh_command *c, size_t i)
{
	const char *t = c->args.v[i].text;

	return !strncmp(t, "-p", 2) || !strncmp(t, "--pass", 6) || !strncmp(t, "--token", 7) ||
	       strcasestr(t, "password=") ||
	       sh_is(c->args.v[i - 1].text,
		       "|-p|-P|-a|-u|-U|-w|-k|--password|--token|--user|--username|--key|--auth|");
}

/* A program nobody listed: what secrets say stands in its words, and a machine is named. What goes
 * into the history of a repository leaves with the next push. */
static void other_leak(struct sh *s, const struct sh_command *c, struct sh_leak *l)
{
	bool kept = !strcmp(c->args.v[0].text, "git") && c->args.n > 1 &&
		    sh_is(c->args.v[1].text, "|commit|notes|tag|");
	const struct sh_word *w = NULL;

	for (size_t i = 1; i < c->args.n; i++) {
		if ((c->args.v[i].taint & CONTENT) && !c->args.v[i].known && !is_password(c, i))
			w = &c->args.v[i];
		if (!in_name(&c->args.v[i]))
			continue;
		l->host = c->args.v[i].text;
		l->lookup = true;
	}
	if (w && (strstr(w->text, "](http") || strstr(w->text, "<img")) && strstr(w->text, "$()")) {
		/* whoever shows the picture sends it */
		l->host = strstr(w->text, "http");
		take(l, l->host ? w->taint & CONTENT : 0, w->from);
		return;
	}
	if (!w || sh_is(c->args.v[0].text, "|echo|printf|export|test|[|docker|podman|helm|"))
		return;
	if (!l->host)
		l->host = kept ? "https://store.example.com" : named_host(s, c);
	if (l->host)
		take(l, w->taint & CONTENT, w->from);
}

int sh_vet_code_input(struct sh *s, const struct sh_command *c, const char *code)
{
	static const char *const reads[] = {"stdin", "STDIN", "<>", "fileinput", "/dev/fd/0"};
	static const char *const sends[] = {
		".post(", ".put(", "urlopen(", ".sendall(", ".send(", "data=", "body", "POST"};
	const char *url = strstr(code, "://");
	struct sh_leak l = {.web = true, .stream = true};
	bool in = false, out = false;

	if (!url || !(c->how & SH_STDIN) || s->script)
		return 0;
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
		in = in || strstr(code, reads[i]);
	for (size_t i = 0; i < sizeof(sends) / sizeof(sends[0]); i++)
		out = out || strstr(code, sends[i]);
	while (url > code && isalpha((unsigned char)url[-1]))
		url--;
	l.host = in && out ? bawn_arena_strndup(s->a, url, strcspn(url, "'\"` )")) : NULL;
	if (!l.host)
		return 0;
	take_input(&l, c);
	l.far = sh_host_of(s, l.host, NULL) >= SH_HOST_PLAIN;
	return sh_found(s, c, "command.exfiltration", "exfiltration",
		"sends what it is given to another machine", sh_worth(s, &l));
}

/* What leaves, by the kind of program. */
static void gather(struct sh *s, const struct sh_command *c, struct sh_leak *l)
{
	const char *p = c->args.v[0].text;

	if (sh_is(p,
		    "|curl|wget|wget2|http|https|xh|curlie|nscurl|aria2c|lwp-request|POST|ab|hping3|"
		    "lynx|w3m|links|elinks|"))
		curl_leak(s, c, l);
	else if (sh_is(p, "|nc|ncat|netcat|socat|telnet|openssl|ssh|ftp|tftp|lftp|mail|mailx|mutt|"
			  "sendmail|swaks|msmtp|smbclient|sftp|s-nail|websocat|wscat|finger|"
			  "whois|gs-netcat|croc|wormhole|magic-wormhole|ffsend|lp|rlogin|hping3|ab|"
			  "ncftpput|ftpput|tailscale|gh|kcat|kafkacat|mosquitto_pub|nats|") ||
		 (!strcmp(p, "logger") && sh_has(c, "|-n|--server|")))
		pipe_leak(s, c, l);
	else if (sh_is(p, "|dig|nslookup|host|ping|drill|resolvectl|getent|ping6|traceroute|"))
		name_leak(s, c, l);
	else if (store_leak(s, c, l))
		return;
	else if (sh_is(p,
			 "|scp|rsync|rclone|aws|gsutil|gcloud|s3cmd|mc|az|azcopy|b2|kubectl|docker|"
			 "restic|borg|duplicity|kopia|"))
		copy_leak(s, c, l);
	else
		other_leak(s, c, l);
}

int sh_vet_leak(struct sh *s, const struct sh_command *c)
{
	const char *p = c->args.v[0].text;
	struct sh_leak l = {0};
	double x;

	gather(s, c, &l);
	if ((!l.taint && !l.beyond && !l.parcel && !l.copied) ||
		(c->how & SH_REMOTE && !(l.taint & (SH_HARD | SH_ENV)) &&
			!(c->in.taint & SH_SECRET)))
		return 0;
	if (sh_is(p, "|ssh|kubectl|docker|") ||
		(!strcmp(p, "gh") && !sh_has(c, "|gist|issue|pr|discussion|")))
		l.transfer = true;
	if (sh_is(p, "|openssl|") && !sh_has(c, "|s_client|"))
		return 0;
	for (size_t i = 1; i < c->args.n; i++)
		l.transfer = l.transfer && !in_name(&c->args.v[i]);
	l.far = l.host && ((sh_host_of(s, l.host, NULL) == SH_HOST_PLAIN &&
				   (!l.named || sh_host_personal(l.host))) ||
				  sh_host_of(s, l.host, NULL) == SH_HOST_ODD);
	l.far = l.far || l.shown;
	l.abroad = l.host && sh_host_abroad(l.host);
	x = sh_worth(s, &l);
	/* who sends a backup to his own machine does not hide it from that machine */
	if (l.transfer && (l.taint & SH_SECRET) && s->encrypted.n && x > 0 && x < 0.42)
		x = 0.42;
	if (s->script && x < 0.7)
		x *= 0.5;
	return sh_found(s, c, "command.exfiltration", "exfiltration",
		"sends secrets or local data to another machine", x);
}
