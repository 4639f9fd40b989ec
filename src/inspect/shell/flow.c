/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data that flows: secrets that are read, secrets that leave through any program that talks to the
 * network, and bytes from the network or from a decoder that are run. What the programs are called
 * does not matter much; where the bytes come from and where they go does.
 */
#include <string.h>

#include "inspect/shell/model.h"
#include "inspect/shell/read.h"

#define NEXT_MAX ((size_t)64) /* of the text behind a pipe */

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

bool sh_not_read(const struct sh_command *c, size_t i)
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

/* A plain word that is looked for, and no part of a secret. */
static bool asks_plainly(const char *t)
{
	static const char *const secret[] = {"pass", "secret", "token", "key", "cert", "auth",
		"cred", "data", "user", "login", "BEGIN", NULL};

	if (strlen(t) < 4 || strpbrk(t, ".*[\\|$?+"))
		return false;
	for (const char *const *x = secret; *x; x++) {
		if (strcasestr(t, *x))
			return false;
	}
	return true;
}

/* … | grep server: what comes next in the text that is being read. */
static bool next_asks(struct sh *s, const struct sh_command *c)
{
	const struct sh_reader *r = s->top;
	const char *p = NULL, *word;
	size_t n;

	if (r && r->i < r->n && (c->how & SH_PIPED) && sh_is(c->args.v[0].text, "|cat|head|tail|"))
		p = bawn_arena_strndup(
			s->a, r->t + r->i, r->n - r->i < NEXT_MAX ? r->n - r->i : NEXT_MAX);
	if (!p)
		return false;
	p += strspn(p, " ");
	if (strncmp(p, "grep ", 5) != 0)
		return false;
	p += 5 + strspn(p + 5, " '\"");
	n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_:");
	word = *p != '-' ? bawn_arena_strndup(s->a, p, n) : NULL;
	return word && (!p[n] || strchr("'\" \n;|", p[n])) && asks_plainly(word);
}

/* grep server ~/.kube/config: lines that say something else than the secrets in the file. */
static bool asks_for_other(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;
	size_t i = 1;

	if (!strcmp(p, "security"))
		return c->args.n > 1 && sh_is(c->args.v[1].text, "|find-certificate|verify-cert|"
								 "list-keychains|import|");
	if (!sh_is(p, "|grep|egrep|fgrep|"))
		return false;
	while (i < c->args.n && c->args.v[i].text[0] == '-') {
		if (strpbrk(c->args.v[i].text, "vrRfABC"))
			return false;
		i++;
	}
	return i < c->args.n && c->args.v[i].known && asks_plainly(c->args.v[i].text);
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
	if (v < SURE && (strstr(x->pattern, "kube") || c->args.v[0].text[0] == 's') &&
		(asks_for_other(c) || next_asks(s, c)))
		return;
	if (!strcmp(x->pattern, "_history") && !(c->how & SH_PIPED) &&
		sh_is(c->args.v[0].text, "|cat|less|more|strings|xxd|base64|"))
		v = 0.31;
	if (i && !strncmp(c->args.v[i].text, "/home/*/", 8) && v > 0 && !never_reads(c)) {
		worse(r, x, v);
		return;
	}
	if (v >= SURE ? never_reads(c) || (i && sh_not_read(c, i) && c->args.v[0].text[0] != 's')
		      : !i || only_names(c) || sh_not_read(c, i))
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

/* 203.0.113.9 in a source text; documentation and one's own networks do not count. */
static bool names_address(struct sh *s, const char *code)
{
	for (const char *p = code; (p = strpbrk(p, "0123456789")); p += strspn(p, "0123456789.")) {
		size_t n = strspn(p, "0123456789."), dots = 0;
		const char *word;

		for (size_t i = 0; i < n; i++)
			dots += p[i] == '.';
		word = n > 6 && n < 16 && dots == 3 ? bawn_arena_strndup(s->a, p, n) : NULL;
		if (word && sh_host_abroad(word))
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
		"file_get_contents('http", "file_get_contents(\"http", "TCPSocket", "dns",
		"IO::Socket", "LWP::Simple", "lookup(", NULL};
	static const char *const all[] = {"dict(os.environ)", "=os.environ)", "str(os.environ)",
		"dumps(os.environ", "stringify(process.env)", "ENV.to_h", "ENV.to_a",
		"json.dumps(dict(os.environ", "%ENV", "getenv())", "os.environ.copy()", NULL};
	static const char *const opens[] = {"open(", "read_text", "read_bytes", "readFile",
		"File.read", "file_get_contents", "IO.read", "<F>", "`cat ", "readTextFile",
		"Bun.file", NULL};
	static const char *const sends[] = {".post(", ".put(", "Net::HTTP.post", "->post(",
		"sendmail", "send_message", ".sendall(", ".send(", ".sendfile(", "storbinary",
		"storlines", "data=", "data =", "body:", "body=", "POST", "PUT", ".lookup(",
		"urlencode", "encodeURIComponent", "quote(", "http_build_query", NULL};
	static const char *const puts[] = {".post(", ".put(", "Net::HTTP.post", ".sendall(",
		".send(", ".sendfile(", "storbinary", "storlines", "data=open", "print $s", NULL};
	const struct sh_secret *x = sh_secret_of(s, code);

	if (!any_of(code, net))
		return 0;
	if (x && ((x->taint & SH_HARD) || (double)x->read >= 0.3))
		return sh_found(s, c, "command.exfiltration", "exfiltration",
			"reads secrets and sends them to another machine", 0.85);
	if (x && !strcmp(x->pattern, "/etc/passwd"))
		return sh_found(s, c, "command.exfiltration", "exfiltration",
			"sends the accounts of this machine to another one", 0.6);
	if (!s->script && strstr(code, "://") && sh_stray_in_code(code))
		return sh_found(s, c, "command.exfiltration", "exfiltration",
			"sends a variable of one service to another", 0.4);
	if (any_of(code, all))
		return sh_found(s, c, "command.exfiltration", "exfiltration",
			"sends the environment to another machine", 0.75);
	if (x && (x->taint & SH_SECRET) && any_of(code, opens) && any_of(code, sends) &&
		!strstr(code, "://localhost") && !strstr(code, "://127.0.0.1"))
		return sh_found(s, c, "command.exfiltration", "exfiltration",
			"reads secrets and sends them to another machine", s->script ? 0.25 : 0.5);
	if (!s->script && any_of(code, opens) && any_of(code, puts) && names_address(s, code))
		return sh_found(s, c, "command.exfiltration", "exfiltration",
			"sends a file to a machine that has no name", 0.36);
	return 0;
}

/* open('/tmp/x', 'wb').write(urlopen('http://…').read()): the file is what came from there. */
static int note_download(struct sh *s, const char *code)
{
	static const char *const gets[] = {"urlopen", "urlretrieve", "requests.get", "httpx.get",
		"getstore", "LWP", "mirror(", "URI.open", "Net::HTTP", "http.get", "https.get",
		"fetch(", "file_get_contents", "copy(", "curl_exec", "http.request", NULL};
	const char *url = strstr(code, "://"), *end;

	if (!url || !any_of(code, gets))
		return 0;
	while (url > code && !strchr("'\"` (", url[-1]))
		url--;
	url = bawn_arena_strndup(s->a, url, strcspn(url, "'\"` )"));
	for (const char *p = code; url && (p = strpbrk(p, "'\"`")); p = end + 1) {
		const char *path = bawn_arena_strndup(s->a, p + 1, strcspn(p + 1, "'\"`"));
		struct sh_file *f = NULL;

		end = p + 1 + strcspn(p + 1, "'\"`");
		if (path && (path[0] == '/' || path[0] == '.') && !strstr(path, "://"))
			f = sh_file_get(s, path, true);
		if (f && !f->data.len && !f->data.taint) {
			f->data = sh_unknown(SH_NET, url);
			f->data.url = url;
		}
		if (!*end)
			break;
	}
	return 0;
}

/* "/etc/sha" . "dow" as one string: what stands between two strings that are joined is left out. */
static const char *joined(struct sh *s, const char *code)
{
	char *out = bawn_arena_strdup(s->a, code);
	size_t k = 0;

	for (size_t i = 0; out && code[i];) {
		size_t j = i + 1;

		if (code[i] == '"' || code[i] == '\'') {
			j += strspn(code + j, " ");
			j += code[j] == '+' || code[j] == '.';
			j += strspn(code + j, " ");
		}
		if (j > i + 1 && code[j] == code[i]) {
			i = j + 1;
			continue;
		}
		out[k++] = code[i++];
	}
	if (out)
		out[k] = 0;
	return out ? out : code;
}

int sh_vet_code(struct sh *s, const struct sh_command *c, const char *code)
{
	static const char *const packs[] = {"gzip.", "bz2.", "lzma.", "zlib.", "zipfile", "ZipFile",
		"tarfile", "shutil.make_archive", NULL};
	const struct sh_secret *x;
	struct read r = {0};
	int rc;

	code = joined(s, code);
	x = sh_secret_of(s, code);
	if (x && (double)x->read >= SURE)
		worse(&r, x, (double)x->read);
	rc = report_read(s, c, &r);
	if (rc == 0)
		rc = code_leak(s, c, code);
	if (rc == 0)
		rc = sh_vet_code_input(s, c, code);
	if (rc == 0)
		rc = note_download(s, code);
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

/* chmod +x of what a bare address sent: the step before it runs. */
static int vet_made_program(struct sh *s, const struct sh_command *c)
{
	if (!sh_is(c->args.v[0].text, "|chmod|hdiutil|installer|"))
		return 0;
	for (size_t i = 2; i < c->args.n; i++) {
		const struct sh_file *f = sh_file_get(s, c->args.v[i].text, false);

		if (f && (f->exec || c->args.v[0].text[0] != 'c') && (f->data.taint & SH_NET) &&
			f->data.url && sh_host_of(s, f->data.url, NULL) == SH_HOST_ODD)
			return sh_found(s, c, "command.unpack-download", "execution",
				"makes a program of what a bare address sends",
				s->script ? 0.2 : 0.36);
	}
	return 0;
}

/* The file that is run: the program, or the script of a shell when that is hidden. */
static const char *script_of(struct sh *s, const struct sh_command *c)
{
	const char *t = c->args.n > 1 ? c->args.v[1].text : "";

	if ((sh_is_shell(c->args.v[0].text) || sh_interpreter(c->args.v[0].text)) && t[0] == '/' &&
		strstr(t, "/."))
		return t;
	/* cd /tmp/.x && ./run */
	if (c->path && !strncmp(c->path, "./", 2) && s->cwd && strstr(s->cwd, "/."))
		return sh_path(s, c->path);
	return c->path ? c->path : "";
}

/* Programs in places where anybody can put them. */
static int vet_place(struct sh *s, const struct sh_command *c)
{
	const char *p = script_of(s, c);
	bool temp = !strncmp(p, "/tmp/", 5) || !strncmp(p, "/var/tmp/", 9) ||
		    !strncmp(p, "/dev/shm/", 9);
	bool hidden = temp && strstr(p, "/.");
	double x = hidden                        ? 0.6
		   : !strncmp(p, "/dev/shm/", 9) ? 0.45
		   : c->how & SH_ROOT            ? (s->past & SH_PAST_UNPACK ? 0.2 : 0.34)
						 : 0.1;

	if (!temp || sh_file_get(s, p, false) || s->script)
		return 0;
	return sh_found(s, c, "command.run-from-temp", "execution",
		"runs a program from a place where anybody can put one", x);
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
	if (h == SH_HOST_KNOWN || h == SH_HOST_SHARED)
		x = 0.36;
	/* what its makers tell everybody to run, from the place where only they put things */
	if (h == SH_HOST_KNOWN && !strncmp(d->url, "https://", 8))
		x = 0.2;
	if (h == SH_HOST_ALLOWED || h == SH_HOST_LOCAL)
		x = 0.2;
	if (file)
		x -= 0.14;
	if (s->script && h == SH_HOST_PLAIN && d->url && !file)
		return 0.31;
	return s->script ? x * 0.5 : x;
}

/* bash <(curl …): no file that somebody could have read before. */
static bool from_pipe(const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		if (!strncmp(c->args.v[i].text, "/dev/fd/", 8))
			return true;
	}
	return false;
}

int sh_vet_execution(struct sh *s, const struct sh_command *c, const struct sh_data *d)
{
	bool file = !(c->how & SH_STDIN) && c->args.n && !from_pipe(c) &&
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
	int rc = sh_vet_tcp(s, c);

	if (rc == 0)
		rc = vet_read(s, c);
	if (rc < 0 || !c->args.n)
		return rc;
	rc = sh_vet_leak(s, c);
	if (rc == 0)
		rc = vet_unpack(s, c);
	if (rc == 0)
		rc = vet_made_program(s, c);
	if (rc == 0)
		rc = vet_place(s, c);
	if (rc == 0)
		rc = vet_shell_pipe(s, c);
	return rc;
}
