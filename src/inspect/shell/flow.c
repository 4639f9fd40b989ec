/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data that flows: secrets that are read, secrets that leave through any program that talks to the
 * network, and bytes from the network or from a decoder that are run. What the programs are called
 * does not matter much; where the bytes come from and where they go does.
 */
#include <string.h>

#include "inspect/shell/shell.h"

static bool has_word(const struct sh_command *c, const char *list)
{
	for (size_t i = 1; i < c->args.n; i++) {
		if (sh_is(c->args.v[i].text, list))
			return true;
	}
	return false;
}

/* Names a file without looking into it. */
static bool only_names(const struct sh_command *c)
{
	return sh_is(c->args.v[0].text,
		"|ls|stat|test|[|chmod|chown|chgrp|mkdir|touch|rmdir|echo|printf|ssh-keygen|ssh-add|"
		"ssh-copy-id|which|file|basename|dirname|realpath|readlink|du|df|cd|export|unset|"
		"md5sum|sha256sum|sha1sum|git|ll|tree|rm|unlink|shred|truncate|alias|declare|local|"
		"logger|kubectl|helm|docker|podman|docker-compose|code|open|xdg-open|ansible|"
		"ansible-playbook|terraform|aws|gcloud|az|restorecon|setfacl|getfacl|mount|npm|yarn|"
		"pnpm|make|cargo|jq|yq|diff|wc|pytest|claude|codex|gh|set|history|ln|dotenv|direnv|"
		"mv|mktemp|compgen|complete|dpkg-statoverride|dpkg|install|man|whatis|apropos|info|tldr|bash|sh|zsh|source|.|");
}

/* Words that are patterns, messages or keys to use, not files to read. */
static bool not_read(const struct sh_command *c, size_t i)
{
	const char *p = c->args.v[0].text, *before = c->args.v[i - 1].text;

	if (sh_is(p, "|grep|egrep|fgrep|rg|ag|ack|zgrep|pgrep|pkill|")) {
		size_t k = 1;

		while (k < c->args.n && c->args.v[k].text[0] == '-' &&
			!sh_is(c->args.v[k].text, "|-e|-f|"))
			k++;
		return i == k || !strcmp(before, "-e");
	}
	if (sh_is(p, "|sed|awk|gawk|mawk|jq|"))
		return i == 1 || (i == 2 && c->args.v[1].text[0] == '-' && i + 1 < c->args.n);
	if (sh_is(p, "|ssh|scp|sftp|rsync|sshfs|autossh|ssh-keyscan|"))
		return sh_is(before, "|-i|-F|-e|-o|") || c->args.v[i].text[0] == '-';
	return sh_is(before, "|--private-key|--key|--exclude|--exclude-dir|--ignore|--message|"
			     "--exclude-from|--identity-file|--key-file|--cert|--volume|-keyout|"
			     "-key|-CAkey|-signkey|");
}

/* For password hashes and the like only these are harmless. */
static bool never_reads(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	if (!strcmp(p, "git"))
		return c->args.n < 2 || !sh_is(c->args.v[1].text, "|diff|hash-object|grep|");
	return sh_is(p, "|ls|stat|test|[|chmod|chown|chgrp|echo|printf|logger|restorecon|getfacl|"
			"touch|rm|truncate|shred|export|alias|ll|");
}

#define SURE 0.55 /* from here on a secret is one whoever names it */

struct read {
	double worst;
	const char *what;
};

static void worse(struct read *r, const struct sh_secret *x, double v)
{
	if (v <= r->worst)
		return;
	r->worst = v;
	r->what = x->what;
}

static void read_word(struct sh *s, const struct sh_command *c, size_t i, struct read *r)
{
	const struct sh_secret *x = sh_secret_of(s, i ? c->args.v[i].text : c->path);
	double v;

	if (!x)
		return;
	v = (double)x->read;
	if (v >= SURE ? never_reads(c) || (i && not_read(c, i) && c->args.v[0].text[0] != 's')
		      : !i || only_names(c) || not_read(c, i))
		return;
	worse(r, x, c->how & SH_REMOTE ? v * 0.76 : v);
}

/* Programs that are told what to read through their input. */
static void read_input(struct sh *s, const struct sh_command *c, struct read *r)
{
	const struct sh_secret *x;

	if (!c->in.len || !sh_is(c->args.n ? c->args.v[0].text : "",
				  "|cpio|pax|ed|ex|sqlite3|ftp|sftp|tftp|afio|zip|rsync|tar|"))
		return;
	x = sh_secret_of(s, c->in.text);
	if (x && (double)x->read >= 0.4)
		worse(r, x, (double)x->read);
}

static int report_read(struct sh *s, const struct sh_command *c, const struct read *r)
{
	if (r->worst <= 0)
		return 0;
	return sh_found(s, c, "command.read-secret", "credential-access",
		bawn_arena_printf(s->a, "reads %s", r->what),
		s->script ? r->worst * 0.8 : r->worst);
}

/* What a wrapper is told to do besides running something. */
static int vet_own_word(struct sh *s, const struct sh_command *c, size_t i)
{
	const char *p = c->args.v[0].text, *t = c->args.v[i].text, *before = c->args.v[i - 1].text;

	if (!strcmp(p, "exec") && !strcmp(before, "-a"))
		return sh_vet_fact(s, c, "@name", t);
	if (t[0] != '-' && before[0] != '-' && strchr(t, '=') && sh_is(p, "|sudo|env|"))
		return sh_vet_fact(s, c, "@set", t);
	if (!strcmp(p, "sudo") && (!strncmp(t, "-u#", 3) || (!strcmp(before, "-u") && *t == '#')))
		return sh_vet_fact(s, c, "@as", strchr(t, '#'));
	return 0;
}

int sh_vet_words(struct sh *s, const struct sh_command *c, size_t n)
{
	struct read r = {0};
	int rc;

	for (size_t i = 1; i < n && i < c->args.n; i++) {
		const struct sh_secret *x = sh_secret_of(s, c->args.v[i].text);

		if (x && (double)x->read >= SURE)
			worse(&r, x, (double)x->read);
		rc = vet_own_word(s, c, i);
		if (rc < 0)
			return rc;
	}
	return report_read(s, c, &r);
}

static bool any_of(const char *text, const char *const *list)
{
	for (; *list; list++) {
		if (strstr(text, *list))
			return true;
	}
	return false;
}

/* A program in another language that reads secrets and talks to the network. */
static int code_leak(struct sh *s, const struct sh_command *c, const char *code)
{
	static const char *const net[] = {"urlopen", "requests.", "http.client", "socket", "fetch(",
		"http.request", "https.request", "axios", "Net::HTTP", "LWP", "HTTP::", "curl_exec",
		"fsockopen", "smtplib", "ftplib", "httpx", "aiohttp", "http.post", "URI.open",
		"file_get_contents('http", "file_get_contents(\"http", "TCPSocket", NULL};
	static const char *const all[] = {"dict(os.environ)", "=os.environ)", "str(os.environ)",
		"dumps(os.environ", "stringify(process.env)", "ENV.to_h", "ENV.to_a",
		"json.dumps(dict(os.environ", "%ENV", "getenv())", "os.environ.copy()", NULL};
	const struct sh_secret *x = sh_secret_of(s, code);

	if (!any_of(code, net))
		return 0;
	if (x && ((x->taint & SH_HARD) || (double)x->read >= 0.3))
		return sh_found(s, c, "command.exfiltration", "exfiltration",
			"reads secrets and sends them to another machine", 0.85);
	if (x && !strcmp(x->pattern, "/etc/passwd"))
		return sh_found(s, c, "command.exfiltration", "exfiltration",
			"sends the accounts of this machine to another one", 0.6);
	if (any_of(code, all))
		return sh_found(s, c, "command.exfiltration", "exfiltration",
			"sends the environment to another machine", 0.75);
	return 0;
}

int sh_vet_code(struct sh *s, const struct sh_command *c, const char *code)
{
	static const char *const packs[] = {"gzip.", "bz2.", "lzma.", "zlib.", "zipfile", "ZipFile",
		"tarfile", "shutil.make_archive", NULL};
	const struct sh_secret *x = sh_secret_of(s, code);
	struct read r = {0};
	int rc;

	if (x && (double)x->read >= SURE)
		worse(&r, x, (double)x->read);
	rc = report_read(s, c, &r);
	if (rc == 0)
		rc = code_leak(s, c, code);
	if (rc == 0 && strstr(code, "/etc/passwd") && any_of(code, packs))
		rc = sh_found(s, c, "command.stage-accounts", "collection",
			"packs the accounts of this machine", s->script ? 0.2 : 0.33);
	return rc < 0 ? rc : sh_vet_fact(s, c, c->args.v[0].text, code);
}

/* A secret that is read by whatever program. */
static int vet_read(struct sh *s, const struct sh_command *c)
{
	struct read r = {0};

	for (size_t i = 0; i < c->args.n; i++)
		read_word(s, c, i, &r);
	for (size_t i = 0; i < c->redirs.n; i++) {
		const struct sh_secret *x =
			c->redirs.v[i].kind == SH_IN ? sh_secret_of(s, c->redirs.v[i].path) : NULL;

		if (x)
			worse(&r, x, (double)x->read);
	}
	for (size_t i = 0; i < c->assigns.n; i++) {
		const struct sh_secret *x = sh_secret_of(s, c->assigns.v[i].text);

		if (x && (double)x->read >= SURE && c->args.n)
			worse(&r, x, (double)x->read);
	}
	read_input(s, c, &r);
	return report_read(s, c, &r);
}

/* curl … | tar x -C /: somebody else's files among those of the system. */
static int vet_unpack(struct sh *s, const struct sh_command *c)
{
	const char *host = c->in.url;

	if (!sh_is(c->args.v[0].text, "|tar|gtar|bsdtar|cpio|") || !(c->in.taint & SH_NET) ||
		!host || sh_host_of(s, host, NULL) != SH_HOST_ODD)
		return 0;
	return sh_found(s, c, "command.unpack-download", "execution",
		"unpacks what a bare address sends", s->script ? 0.2 : 0.4);
}

/* All settings or all homes, not those of one program or one person. */
static bool packs_system(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		enum sh_place p = t[0] != '-' ? sh_place(s, t) : SH_HERE_DIR;

		if (p == SH_ROOT_DIR ||
			sh_is(sh_path(s, t), "|/etc|/etc/|/etc/*|/home|/home/|/home/*|"
					     "/root|/root/|/Users|/Users/*|"))
			return true;
	}
	return false;
}

/* Secrets that are gathered in one file: the step before they leave. */
static int vet_stage(struct sh *s, const struct sh_command *c)
{
	bool pack = sh_is(c->args.v[0].text, "|tar|gtar|bsdtar|zip|7z|7za|7zr|rar|cpio|pax|ditto|");
	double x = pack && (c->how & SH_REMOTE) && packs_system(s, c) ? 0.34 : 0;

	if (!pack && (strcmp(c->args.v[0].text, "cp") != 0 || !has_word(c, "|-r|-a|-R|-rf|-ar|")))
		return 0;
	if (has_word(c, "|x|-x|xf|-xf|xzf|-xzf|xvf|-xvf|xzvf|-xzvf|xvzf|-xvzf|-t|tf|-tf|tvf|-tvf|"))
		return 0;
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_secret *k = sh_secret_of(s, c->args.v[i].text);
		bool last = i + 1 == c->args.n;

		if (k && (k->taint & SH_HARD) && !(last && !pack) && !not_read(c, i))
			x = pack ? 0.42 : 0.36;
	}
	return sh_found(s, c, "command.stage-secrets", "collection",
		"puts secrets of others together in one place", s->script ? x * 0.5 : x);
}

/* The file that is run: the program, or the script of a shell when that is hidden. */
static const char *script_of(const struct sh_command *c)
{
	const char *t = c->args.n > 1 ? c->args.v[1].text : "";

	if ((sh_is_shell(c->args.v[0].text) || sh_interpreter(c->args.v[0].text)) && t[0] == '/' &&
		strstr(t, "/."))
		return t;
	return c->path ? c->path : "";
}

/* Programs in places where anybody can put them. */
static int vet_place(struct sh *s, const struct sh_command *c)
{
	const char *p = script_of(c);
	bool temp = !strncmp(p, "/tmp/", 5) || !strncmp(p, "/var/tmp/", 9) ||
		    !strncmp(p, "/dev/shm/", 9);
	bool hidden = temp && strstr(p, "/.");
	double x = hidden                        ? 0.6
		   : !strncmp(p, "/dev/shm/", 9) ? 0.45
		   : c->how & SH_ROOT            ? 0.34
						 : 0.1;

	if (!temp || sh_file_get(s, p, false) || s->script)
		return 0;
	return sh_found(s, c, "command.run-from-temp", "execution",
		"runs a program from a place where anybody can put one", x);
}

/* Something that is about to leave. */
struct leak {
	unsigned taint;
	const char *from;
	const char *host; /* word that names where it goes */
	bool transfer;    /* a tool for copying files between one's own machines */
	bool lookup;      /* as part of a name that is looked up */
};

static void take(struct leak *l, unsigned taint, const char *from)
{
	l->taint |= taint;
	l->from = l->from ? l->from : from;
}

static void take_word(struct sh *s, struct leak *l, const struct sh_word *w, bool files)
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
	else if (strchr(w->text, '@') || !strncmp(w->text, "--post-file", 11))
		take(l, SH_FILE, NULL);
}

/* All that comes in. One token is how services are used, what a store prints is not. */
static void take_input(struct leak *l, const struct sh_command *c)
{
	bool store = c->in.from && !strcmp(c->in.from, "$token");

	take(l, c->in.taint | (store ? SH_SECRET : 0), store ? "a store" : c->in.from);
}

static const char *const upload_options =
	"|-d|--data|--data-binary|--data-raw|--data-urlencode|--data-ascii|-F|--form|-T|"
	"--upload-file|--json|--form-string|--post-data|--post-file|--body-data|--body-file|";

/* A token in a header is how services are used; the whole environment is not. */
static void take_header(struct leak *l, const struct sh_word *w)
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

static void curl_leak(struct sh *s, const struct sh_command *c, struct leak *l)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];
		const char *before = c->args.v[i - 1].text;
		bool head =
			sh_is(before, "|-H|--header|-u|--user|-b|--cookie|-A|--oauth2-bearer|") ||
			!strncmp(w->text, "--header=", 9) || !strncmp(w->text, "-H", 2);
		bool body = sh_is(before, upload_options) || !strncmp(w->text, "--post-", 7) ||
			    !strncmp(w->text, "--data", 6) ||
			    !strncmp(w->text, "--upload-file=", 14) ||
			    !strncmp(w->text, "--body-", 7) || !strncmp(w->text, "-d@", 3) ||
			    (!strncmp(w->text, "-F", 2) && w->text[2]) ||
			    (!strncmp(w->text, "-T", 2) && w->text[2]);

		if (sh_is_url(w->text) && !body && !head && !l->host)
			l->host = w->text;
		if (body) {
			const char *end = w->text + strlen(w->text);

			take_word(s, l, w, true);
			if (sh_is(before, "|-T|--upload-file|") || (c->how & SH_ARGSIN))
				take(l, SH_FILE, w->text);
			if (end - w->text >= 1 && end[-1] == '-' &&
				(end - w->text == 1 || end[-2] == '@' || end[-2] == '='))
				take_input(l, c);
		} else if (head) {
			take_header(l, w);
		} else if (w->taint & (SH_SECRET | SH_ENV | SH_HOST | SH_HARD)) {
			take_word(s, l, w, false);
			l->lookup = l->lookup || announces(w);
		}
	}
	for (size_t i = 1; !l->host && i < c->args.n; i++) {
		if (c->args.v[i].text[0] != '-' && !sh_is(c->args.v[i - 1].text, upload_options) &&
			sh_host_of(s, c->args.v[i].text, NULL) != SH_HOST_NONE)
			l->host = c->args.v[i].text;
	}
}

/* Programs that send their input to a machine named in their words. */
static void pipe_leak(struct sh *s, const struct sh_command *c, struct leak *l)
{
	take(l, c->in.taint & ~SH_NET, c->in.from);
	if (c->how & SH_STDIN)
		take(l, SH_FILE, NULL);
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];

		if (!l->host && w->text[0] != '-' && sh_host_of(s, w->text, NULL) != SH_HOST_NONE)
			l->host = w->text;
		if (!not_read(c, i))
			take_word(s, l, w, true);
	}
}

static bool remote_place(const char *t)
{
	const char *colon = strchr(t, ':');

	return !strncmp(t, "s3://", 5) || !strncmp(t, "gs://", 5) || strstr(t, "blob.core") ||
	       (colon && colon > t + 1 && t[0] != '/' && t[0] != '.' && t[0] != '-' &&
		       strncmp(t, "file:", 5) != 0);
}

/* scp, rsync, rclone, aws s3 cp: what is copied away from here. */
static void copy_leak(struct sh *s, const struct sh_command *c, struct leak *l)
{
	const char *to = c->args.n > 1 ? c->args.v[c->args.n - 1].text : "";
	size_t away = 0, here = 0;

	l->transfer = true;
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];

		if (remote_place(w->text)) {
			to = w->text;
			away = away ? away : i;
		} else if (!not_read(c, i)) {
			take_word(s, l, w, true);
			if (w->text[0] != '-' && c->args.v[i - 1].text[0] != '-')
				here = i;
		}
	}
	if (has_word(c, "|-|"))
		take(l, c->in.taint & ~SH_NET, c->in.from);
	l->host = remote_place(to) ? to : NULL;
	if (!l->host)
		l->taint = 0;
	/* from there to here */
	if (l->host && away < here)
		l->taint &= ~(SH_SECRET | SH_HARD);
}

/* Names that are looked up carry data to whoever answers. */
static void name_leak(struct sh *s, const struct sh_command *c, struct leak *l)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];
		const char *dot = strchr(w->text, '.');

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

static bool is_key_copied(const struct leak *l)
{
	return (l->taint & SH_HARD) && l->transfer;
}

static bool is_key(const struct leak *l)
{
	return (l->taint & SH_HARD) != 0;
}

/* A variable that belongs to one service, on its way to another. */
static bool is_stray(const struct leak *l)
{
	static const struct {
		const char *name, *home;
	} bound[] = {
		{"AWS_SECRET", "amazonaws"},
		{"AWS_SESSION", "amazonaws"},
		{"AWS_ACCESS", "amazonaws"},
		{"GITHUB_TOKEN", "github"},
		{"GH_TOKEN", "github"},
		{"GITHUB_PAT", "github"},
		{"GITLAB_TOKEN", "gitlab"},
		{"CI_JOB_TOKEN", "gitlab"},
		{"NPM_TOKEN", "npm"},
		{"NODE_AUTH_TOKEN", "npm"},
		{"PYPI_TOKEN", "pypi"},
		{"ANTHROPIC_API_KEY", "anthropic"},
		{"OPENAI_API_KEY", "openai"},
		{"STRIPE_SECRET", "stripe"},
		{"DATABASE_URL", "?"},
		{"SSH_PRIVATE_KEY", "?"},
	};

	const char *host = l->host && strstr(l->host, "://") ? strstr(l->host, "://") + 3 : l->host;

	if (!(l->taint & SH_ENV) || l->transfer || !l->from || l->from[0] != '$' || !host ||
		host[0] == '$')
		return false;
	for (size_t i = 0; i < sizeof(bound) / sizeof(bound[0]); i++) {
		if (!strncmp(l->from + 1, bound[i].name, strlen(bound[i].name)))
			return !strstr(l->host, bound[i].home);
	}
	return false;
}

/* One variable: that is also how services are used. */
static bool is_variable(const struct leak *l)
{
	return (l->taint & SH_ENV) && !(l->taint & SH_SECRET) && l->from && l->from[0] == '$';
}

static bool is_environment(const struct leak *l)
{
	return (l->taint & SH_ENV) != 0;
}

static bool is_dump(const struct leak *l)
{
	return (l->taint & SH_SECRET) && l->from && strstr(l->from, "dump");
}

static bool is_secret_copied(const struct leak *l)
{
	return (l->taint & SH_SECRET) && l->transfer;
}

static bool is_secret(const struct leak *l)
{
	return (l->taint & SH_SECRET) != 0;
}

static bool is_lookup(const struct leak *l)
{
	return (l->taint & SH_HOST) && l->lookup;
}

static bool is_host(const struct leak *l)
{
	return (l->taint & SH_HOST) != 0;
}

/* What leaves, and what that is worth by where it goes; the first that fits counts. */
static const struct {
	bool (*is)(const struct leak *);
	double odd, plain;
} worths[] = {
	{is_key_copied, 0.8, 0.6},
	{is_key, 0.95, 0.88},
	{is_stray, 0.85, 0.5},
	{is_variable, 0.72, 0.2},
	{is_environment, 0.92, 0.8},
	{is_dump, 0.7, 0.25},
	{is_secret_copied, 0.45, 0.25},
	{is_secret, 0.85, 0.6},
	{is_lookup, 0.6, 0.42},
	{is_host, 0.6, 0.22},
};

static double worth(struct sh *s, const struct leak *l)
{
	enum sh_host h = l->host ? sh_host_of(s, l->host, NULL) : SH_HOST_NONE;
	bool odd = h == SH_HOST_ODD;

	if (h == SH_HOST_ALLOWED)
		return 0;
	if (h == SH_HOST_LOCAL)
		return l->taint & SH_HARD ? 0.35 : 0;
	for (size_t i = 0; i < sizeof(worths) / sizeof(worths[0]); i++) {
		if (worths[i].is(l))
			return odd ? worths[i].odd : worths[i].plain;
	}
	if (!(l->taint & SH_FILE) || !odd)
		return 0;
	if (sh_host_drop(l->host))
		return 0.5;
	return l->transfer ? 0 : 0.35;
}

/* cmd > /dev/tcp/host/port */
static int vet_tcp(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 0; i < c->redirs.n; i++) {
		const char *p = c->redirs.v[i].path;
		struct leak l = {.taint = c->out.taint | c->in.taint, .from = c->out.from};
		bool shell = c->args.n && sh_is_shell(c->args.v[0].text);
		const char *slash;
		double x;
		int rc;

		if (strncmp(p, "/dev/tcp/", 9) != 0 && strncmp(p, "/dev/udp/", 9) != 0)
			continue;
		slash = strchr(p + 9, '/');
		l.host = bawn_arena_strndup(
			s->a, p + 9, slash ? (size_t)(slash - p - 9) : strlen(p + 9));
		if (!l.host)
			return sh_no_memory(s);
		s->past |= SH_PAST_NET;
		if (shell || sh_is(c->args.n ? c->args.v[0].text : "", "|exec|"))
			return sh_found(s, c, "command.reverse-shell", "execution",
				"ties a shell to a network connection", shell ? 0.96 : 0.6);
		x = worth(s, &l);
		rc = sh_found(s, c, "command.exfiltration", "exfiltration",
			"sends secrets to another machine", x >= 0.3 ? x : 0);
		if (rc < 0)
			return rc;
		if (sh_host_of(s, l.host, NULL) == SH_HOST_ODD)
			return sh_found(s, c, "command.raw-socket", "network",
				"opens a network connection from the shell itself", 0.35);
	}
	return 0;
}

static int vet_leak(struct sh *s, const struct sh_command *c)
{
	const char *p = c->args.v[0].text;
	struct leak l = {0};
	double x;

	if (sh_is(p,
		    "|curl|wget|wget2|http|https|xh|curlie|nscurl|aria2c|lwp-request|POST|ab|hping3|"))
		curl_leak(s, c, &l);
	else if (sh_is(p, "|nc|ncat|netcat|socat|telnet|openssl|ssh|ftp|tftp|lftp|mail|mailx|mutt|"
			  "sendmail|swaks|msmtp|smbclient|sftp|s-nail|restic|websocat|wscat|finger|"
			  "whois|gs-netcat|croc|wormhole|magic-wormhole|ffsend|lp|rlogin|hping3|ab|"
			  "ncftpput|tailscale|gh|"))
		pipe_leak(s, c, &l);
	else if (
		sh_is(p,
			"|scp|rsync|rclone|aws|gsutil|gcloud|s3cmd|mc|az|azcopy|b2|kubectl|docker|"))
		copy_leak(s, c, &l);
	else if (sh_is(p, "|dig|nslookup|host|ping|drill|resolvectl|getent|ping6|traceroute|"))
		name_leak(s, c, &l);
	else
		return 0;
	if (!l.taint || (c->how & SH_REMOTE && !(l.taint & (SH_HARD | SH_ENV))))
		return 0;
	if (sh_is(p, "|ssh|kubectl|docker|openssl|") ||
		(!strcmp(p, "gh") && !has_word(c, "|gist|")))
		l.transfer = true;
	if (sh_is(p, "|openssl|") && !has_word(c, "|s_client|"))
		return 0;
	x = worth(s, &l);
	/* who sends a backup to his own machine does not hide it from that machine */
	if (l.transfer && (l.taint & SH_SECRET) && s->encrypted.n && x > 0 && x < 0.42)
		x = 0.42;
	if (s->script && x < 0.7)
		x *= 0.5;
	return sh_found(s, c, "command.exfiltration", "exfiltration",
		"sends secrets or local data to another machine", x);
}

/* … | sh -i | nc host port: a shell between two ends of a connection. */
static int vet_shell_pipe(struct sh *s, const struct sh_command *c)
{
	const char *p = c->args.v[0].text;
	bool runs_text = sh_is_shell(p) || p[0] == '$' || !strcmp(p, "eval");

	for (size_t i = 0; runs_text && (s->past & SH_PAST_NET) && i < c->redirs.n; i++) {
		if (c->redirs.v[i].kind == SH_DUP && !sh_is(c->redirs.v[i].path, "|0|1|2|-|"))
			return sh_found(s, c, "command.reverse-shell", "execution",
				"ties a shell to a network connection", 0.95);
	}
	if (sh_is_shell(p) && (c->how & SH_STDIN) && (c->how & SH_PIPED) &&
		!(c->in.known && c->in.len))
		s->past |= SH_PAST_FIFO;
	else if (sh_is(p, "|nc|ncat|netcat|telnet|socat|openssl|websocat|") &&
		 (s->past & SH_PAST_FIFO) && (c->how & SH_STDIN))
		return sh_found(s, c, "command.reverse-shell", "execution",
			"ties a shell to a network connection", 0.92);
	return 0;
}

/* By who made it. A file that was stored first could have been read first. */
static double download_worth(struct sh *s, const struct sh_data *d, bool file)
{
	enum sh_host h = d->url ? sh_host_of(s, d->url, NULL) : SH_HOST_PLAIN;
	double x = d->url && !strncmp(d->url, "http://", 7) ? 0.6 : 0.5;

	if (h == SH_HOST_ODD)
		return s->script ? 0.74 : 0.82;
	if (h == SH_HOST_KNOWN)
		x = 0.36;
	if (h == SH_HOST_ALLOWED || h == SH_HOST_LOCAL)
		x = 0.2;
	if (file)
		x -= 0.14;
	if (s->script && h == SH_HOST_PLAIN && d->url && !file)
		return 0.31;
	return s->script ? x * 0.5 : x;
}

int sh_vet_execution(struct sh *s, const struct sh_command *c, const struct sh_data *d)
{
	bool file = !(c->how & SH_STDIN) && c->args.n &&
		    (sh_is_shell(c->args.v[0].text) || sh_interpreter(c->args.v[0].text) ||
			    strchr(c->path ? c->path : "", '/'));
	int rc = 0;

	if (d->taint & SH_NET) {
		double x = download_worth(s, d, file);

		rc = sh_found(s, c, "command.run-download", "execution",
			"runs what it gets from the network; download it, read it, then run it", x);
	}
	if (rc == 0 && (d->taint & SH_CLIP))
		rc = sh_found(s, c, "command.run-unseen", "execution",
			"runs what somebody copied or typed before, whatever that is",
			s->script ? 0.31 : 0.45);
	if (rc == 0 && (d->taint & SH_DECODED))
		rc = sh_found(s, c, "command.run-decoded", "obfuscation",
			"runs what was encoded before; write it in plain text",
			s->script ? 0.5 : 0.62);
	return rc;
}

int sh_vet_flow(struct sh *s, const struct sh_command *c)
{
	int rc = vet_tcp(s, c);

	if (rc == 0)
		rc = vet_read(s, c);
	if (rc < 0 || !c->args.n)
		return rc;
	rc = vet_leak(s, c);
	if (rc == 0)
		rc = vet_stage(s, c);
	if (rc == 0)
		rc = vet_unpack(s, c);
	if (rc == 0)
		rc = vet_place(s, c);
	if (rc == 0)
		rc = vet_shell_pipe(s, c);
	return rc;
}
