/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings of one command. Rules (rules/command/) look at its canonical line and at lines that say
 * what it writes and sets:
 *
 *   prog word word…        the command, wrappers taken away
 *   @write /path           a file that it makes, changes or appends to
 *   @touch /path           a file that is there afterwards, and empty if it is new
 *   @set NAME=VALUE        a variable for it or for what comes
 *   @input prog text       what a database client or the like is fed
 *   @put /path text        what it writes there, when that is known
 *   @name text             the name under which a process shows itself
 *   @as user               for whom sudo runs something
 *   @bomb name             a function that starts itself twice
 *   @serve /path           a tree that it offers to other machines
 *   @quiet prog word…      a search of everything that says nothing about what it may not see
 *   @drop prog word…       what it says goes nowhere
 *   @papers prog           it puts aside papers that were found
 *   @end name              a service, process, program or package that it ends or takes away
 *   @guess prog            a log-in that is tried again and again
 *   @raw text              a text that is no shell's, as it is
 *
 * A rule's args: `script` is the confidence in a source file, `remote` on another machine or in a
 * container, `timed` when it is ended after a while, `root` the least confidence when it runs as
 * root, `bulk` the least when it is done over and over (a loop, xargs), `harmless` when what it
 * writes is known and holds nothing that a schedule, a service or a login should worry about.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "inspect/code/forbidden.h"
#include "inspect/rules.h"
#include "inspect/shell/shell.h"

#define LINE_MAX_LEN 65536

int sh_report(struct sh *s, const struct sh_command *c, const struct sh_found *f)
{
	size_t end = c->end < s->sub->len ? c->end : s->sub->len;
	const char *prog = c->args.n ? c->args.v[0].text : NULL;
	struct bawn_finding x = {
		.detector = "shell",
		.rule = f->rule,
		.category = f->category,
		.level = f->level,
		.signal = BAWN_SIGNAL_PATTERN,
		.confidence = f->confidence,
		.start = c->start < end ? c->start : 0,
		.end = end,
		.message = f->means,
	};

	if (f->confidence <= 0)
		return 0;
	for (size_t i = 0; i < s->seen_n; i++) {
		if (!strcmp(s->seen[i].rule, f->rule) && s->seen[i].confidence >= f->confidence)
			return 0;
	}
	struct sh_seen *seen = bawn_grow(s->a, &s->seen, &s->seen_n, &s->seen_cap);

	if (!seen)
		return sh_no_memory(s);
	*seen = (struct sh_seen){.rule = f->rule, .confidence = f->confidence};
	if (prog && *prog) {
		_cleanup_buf_ struct bawn_buf b = {0};

		bawn_buf_puts(&b, "'");
		bawn_buf_escape(&b, prog, strlen(prog) > 40 ? 40 : strlen(prog));
		bawn_buf_printf(&b, "' %s", f->means);
		x.message = b.failed ? f->means : bawn_arena_strndup(s->a, b.data, b.len);
	}
	return x.message ? bawn_scan_report(s->scan, s->sub, &x) : sh_no_memory(s);
}

int sh_found(struct sh *s, const struct sh_command *c, const char *rule, const char *category,
	const char *means, double confidence)
{
	struct sh_found f = {
		.rule = rule,
		.category = category,
		.means = means,
		.level = confidence >= 0.7 ? BAWN_SEV_CRITICAL : BAWN_SEV_HIGH,
		.confidence = confidence,
	};

	return sh_report(s, c, &f);
}

struct run {
	struct sh *s;
	const struct sh_command *c;
	const char *line;
};

static double arg_number(const struct bawn_rule *r, const char *key, double otherwise)
{
	const char *v = bawn_rule_arg(&bawn_rules_command, r, key);

	return v ? strtod(v, NULL) : otherwise;
}

/* dev, pr-12, app_test: a part of a name that says nobody will miss it. Of an address only what
 * lies on this machine can say so. */
static bool scratch(const char *word, size_t n)
{
	const char *host = memmem(word, n, "://", 3), *path;
	size_t i = 0;

	/* a bucket is no machine */
	if (host && host - word == 2)
		host = NULL;
	if (host && strncmp(host + 3, "localhost", 9) != 0 && strncmp(host + 3, "127.", 4) != 0)
		return false;
	path = host ? memchr(host + 3, '/', n - (size_t)(host + 3 - word)) : NULL;
	if (host)
		i = path ? (size_t)(path - word) : n;
	while (i < n) {
		size_t k = 0;
		char part[16];

		while (i + k < n && !strchr("-_/.:=", word[i + k]))
			k++;
		memcpy(part, word + i, k < sizeof(part) ? k : 0);
		part[k < sizeof(part) ? k : 0] = 0;
		if (sh_is(part, "|pr|test|tests|testing|tmp|temp|dev|development|preview|review|"
				"staging|sandbox|e2e|demo|scratch|ephemeral|throwaway|playground|"))
			return true;
		i += k + 1;
	}
	return false;
}

/* Options whose word is the name of what is meant. */
static bool names_it(const char *option, size_t n)
{
	return (n == 2 && (option[1] == 'n' || option[1] == 'g')) || memmem(option, n, "name", 4) ||
	       (n == 16 && !strncmp(option, "--resource-group", 16)) ||
	       (n > 3 && !strncmp(option + n - 3, "-id", 3));
}

/* No word of the line that names what is meant says that it is there for a day only. */
static bool lasting(const char *line)
{
	bool named = true;

	if (strstr(line, "prod") || strstr(line, "$(") || strstr(line, "--all-namespaces") ||
		strstr(line, " -A"))
		return true;
	for (const char *p = strchr(line, ' '); p; p = strchr(p, ' ')) {
		size_t n = strcspn(++p, " ");
		const char *eq = *p == '-' ? memchr(p, '=', n) : NULL;
		size_t k = eq ? (size_t)(eq - p) : n;
		bool option = *p == '-';

		if (option)
			named = names_it(p, k);
		if ((named || memmem(p, n, "://", 3)) && !option && scratch(p, n))
			return false;
		if (named && eq && scratch(eq + 1, n - k - 1))
			return false;
		named = option && !eq ? named : true;
	}
	return true;
}

/* The conditions that a rule can name in `check`. */
static bool agrees(const struct bawn_rule *r, const char *line)
{
	static const char *const runs[] = {"exec", "eval", "system(", "subprocess", "popen",
		"spawn", "compile(", "__import__", "Function(", "passthru", "`", NULL};
	const char *name = bawn_rule_str(&bawn_rules_command, r->check);

	if (!strcmp(name, "lasting"))
		return lasting(line);
	if (!strcmp(name, "also-runs")) {
		for (size_t i = 0; runs[i]; i++) {
			if (strstr(line, runs[i]))
				return true;
		}
		return false;
	}
	return true;
}

static bool any_in(const char *text, const char *const *list)
{
	for (; *list; list++) {
		if (strcasestr(text, *list))
			return true;
	}
	return false;
}

/* What s/old/new/ puts in; otherwise the text as it is. */
static const char *put_in(const char *t)
{
	const char *mid =
		t[0] == 's' && t[1] && strchr("/|#,@:", t[1]) ? strchr(t + 2, t[1]) : NULL;

	while (mid && mid[-1] == '\\')
		mid = strchr(mid + 1, t[1]);
	return mid ? mid : t;
}

/* Settings of sshd that let more people in. */
static bool weakens_ssh(const struct sh_command *c, const struct sh_data *d)
{
	static const char *const weak[] = {"RootLogin yes", "PasswordAuthentication yes",
		"InteractiveAuthentication yes", "ResponseAuthentication yes",
		"HostbasedAuthentication yes", "EmptyPasswords yes", "AuthorizedKeys",
		"UserEnvironment yes", "GatewayPorts yes", "StrictModes no", "UsePAM no",
		"TrustedUserCA", "ForceCommand", NULL};

	if (!sh_is(c->args.n ? c->args.v[0].text : "", "|sed|gsed|perl|"))
		return !d->known || !d->len || any_in(d->text, weak);
	for (size_t i = 1; i < c->args.n; i++) {
		if (any_in(put_in(c->args.v[i].text), weak))
			return true;
	}
	return false;
}

static bool starts(const char *t, const char *const *list)
{
	for (; *list; list++) {
		if (!strncmp(t, *list, strlen(*list)))
			return true;
	}
	return false;
}

/* cat ~/.ssh/id_rsa.pub >> ~/.ssh/authorized_keys: one's own key, for one's own account. */
static bool own_key(const struct sh_command *c)
{
	bool own = false;

	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text, *end = strrchr(t, '.');

		own = own || (!strncmp(t, "~/.ssh/", 7) && end && !strcmp(end, ".pub"));
	}
	for (size_t i = 0; i < c->redirs.n; i++)
		own = own &&
		      (c->redirs.v[i].fd == 2 || !strncmp(c->redirs.v[i].path, "~/.ssh/", 7));
	for (size_t i = 0; i < c->writes.n; i++)
		own = own && !strncmp(c->writes.v[i], "~/.ssh/", 7);
	return own;
}

/* Modules that come with every kernel, one in a line. */
static bool stock_modules(const char *t)
{
	static const char *const stock[] = {"overlay", "br_netfilter", "ip_vs", "nf_", "xt_",
		"iptable", "ip_tables", "ip6", "wireguard", "tun", "tap", "fuse", "loop", "zram",
		"bonding", "8021q", "veth", "dummy", "vhost", "kvm", "nbd", "rbd", "i2c", "spi",
		"snd", "uinput", "v4l2", "usbip", "vfio", "tcp_bbr", "nvme", "dm_", "zfs", "tls",
		"softdog", "coretemp", "squashfs", "ceph", "rdma", "iscsi", "bridge", "vxlan", "#",
		"\n", NULL};

	while (*t) {
		if (!starts(t, stock))
			return false;
		t += strcspn(t, "\n");
		t += *t == '\n';
	}
	return true;
}

/* Settings that start nothing: modes of devices, options of modules, variables. */
static bool plain_settings(const struct sh_command *c, const struct sh_data *d)
{
	static const char *const runs[] = {"RUN", "PROGRAM", "IMPORT", "Invoke", "install ", "|",
		"&", "$(", "`", "Proxy", "Verify", "Unauth", "Insecure", "LD_", "BASH_ENV",
		"PROMPT_COMMAND", "alias ", "source ", ";", NULL};
	static const char *const places[] = {"/udev/rules.d/", "/modprobe.d/", "/modules-load.d/",
		"/apt.conf.d/", "/etc/environment", "/profile.d/", "/etc/profile", NULL};
	const char *path = c->writes.n   ? c->writes.v[0]
			   : c->redirs.n ? c->redirs.v[c->redirs.n - 1].path
					 : "";

	if (!d->known || !d->len || any_in(d->text, runs) || !any_in(path, places))
		return false;
	if (strstr(path, "/modules-load.d/"))
		return stock_modules(d->text);
	return !strstr(path, "profile") || !strncmp(d->text, "export ", 7);
}

/* /dev/tcp/…, ~/.x/run: devices that are no sink, and what is hidden; folders of tools are not. */
static bool odd_place(const char *t)
{
	static const char *const devices[] = {"null", "stdout", "stderr", "fd/", NULL};
	static const char *const folders[] = {"env", "venv", "local/", "config/", "cargo/", "nvm/",
		"rbenv/", "pyenv/", "npm", "bun/", "deno/", "asdf/", "sdkman/", "rvm/", "/", "./",
		NULL};

	for (const char *p = t; (p = strstr(p, "/dev/")); p += 5) {
		if (!starts(p + 5, devices))
			return true;
	}
	for (const char *p = t; (p = strstr(p, "/.")); p += 2) {
		if (!starts(p + 2, folders))
			return true;
	}
	return false;
}

/* LD_PRELOAD=./build/shim.so ./build/app: one's own library, for one's own program. */
static bool own_library(const struct sh_command *c)
{
	bool own = false;

	for (size_t i = 0; i < c->assigns.n; i++) {
		const char *t = c->assigns.v[i].text;

		if (!strncmp(t, "LD_PRELOAD=", 11))
			own = c->assigns.v[i].known && t[11] != '/' && t[11] != '~' &&
			      !strstr(t, "..");
	}
	return own && c->path && strchr(c->path, '/') && c->path[0] != '/' &&
	       !(c->how & (SH_ROOT | SH_REMOTE));
}

/* Nothing in the text hides, listens, decodes or lies where anybody can put it. Who tells a page
 * over https that he runs, and keeps nothing of the answer, does no harm either. */
static bool plain_text(const char *t)
{
	static const char *const bad[] = {"/tmp/", "base64", "nc ", "ncat", "socat", "bash -i",
		"eval", "http:", "python -c", "python3 -c", "perl -e", "chmod", "rm -rf", "mkfifo",
		"@reboot", "exec ", NULL};
	static const char *const fetch[] = {"curl", "wget", NULL};
	static const char *const keep[] = {"|", " -o", " -O", "&&", ";", "$(", "`", " -d", " -F",
		" -T", "--data", "--post", "--upload"};
	bool fetches = any_in(t, fetch);

	if (fetches && !strstr(t, "https://"))
		return false;
	for (size_t i = 0; fetches && i < sizeof(keep) / sizeof(keep[0]); i++) {
		if (strstr(t, keep[i]))
			return false;
	}
	return !any_in(t, bad) && !odd_place(t);
}

/* sed -i s/old/new/: what it puts in, or lines that it takes out. */
static bool plain_edit(const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = put_in(c->args.v[i].text);

		/* i TEXT, a TEXT, c TEXT and files that are read are not looked into */
		if (!c->args.v[i].known || !plain_text(t) ||
			(t == c->args.v[i].text && strpbrk(t, "\\") && t[0] != '-'))
			return false;
	}
	return true;
}

/* What the command writes is known and nothing to worry about. */
static bool harmless(struct sh *s, const struct bawn_rule *r, const struct sh_command *c)
{
	const char *check = bawn_rule_str(&bawn_rules_command, r->check);
	bool in = c->writes.n || (c->args.n && !strcmp(c->args.v[0].text, "crontab"));
	struct sh_data d = in ? c->in : c->out;

	for (size_t i = 1; in && !d.len && i < c->args.n; i++) {
		const struct sh_file *f = sh_file_get(s, c->args.v[i].text, false);

		if (f && c->args.v[i].text[0] != '-')
			d = f->data;
	}
	if (!strcmp(check, "weakens-ssh"))
		return !weakens_ssh(c, &d);
	if (!strcmp(check, "foreign-key"))
		return own_key(c);
	if (!strcmp(check, "starts-something"))
		return plain_settings(c, &d) && plain_text(d.text);
	if (!strcmp(check, "foreign-library"))
		return own_library(c);
	if (c->args.n && sh_is(c->args.v[0].text, "|sed|gsed|"))
		return plain_edit(c);
	return d.len && d.text && strchr(d.text, '/') && plain_text(d.text);
}

static int hit(void *data, const struct bawn_match *m)
{
	struct run *run = data;
	const struct sh_command *c = run->c;
	const struct bawn_rule *r = m->rule;
	double conf = (double)r->confidence;
	struct sh_found f = {
		.rule = bawn_rule_str(&bawn_rules_command, r->id),
		.category = bawn_rule_str(&bawn_rules_command, r->category),
		.means = bawn_rule_str(&bawn_rules_command, r->means),
		.level = (enum bawn_severity)r->level,
	};

	if (!agrees(r, run->line))
		return 0;
	if (c->how & SH_REMOTE)
		conf = arg_number(r, "remote", conf);
	if (run->s->script)
		conf = arg_number(r, "script", conf);
	if (c->how & SH_TIMED)
		conf = arg_number(r, "timed", conf);
	if ((c->how & SH_ROOT) && arg_number(r, "root", 0) > conf)
		conf = arg_number(r, "root", 0);
	if ((c->how & (SH_LOOP | SH_ARGSIN)) && arg_number(r, "bulk", 0) > conf)
		conf = arg_number(r, "bulk", 0);
	if (bawn_rule_arg(&bawn_rules_command, r, "harmless") && harmless(run->s, r, c)) {
		double less = arg_number(r, "harmless", conf);

		conf = less < conf ? less : conf;
	}
	f.confidence = conf;
	return sh_report(run->s, c, &f);
}

static int match(struct sh *s, const struct sh_command *c, const char *line)
{
	struct run run = {s, c, line};
	size_t n = strlen(line);

	if (!n)
		return 0;
	if (n > LINE_MAX_LEN)
		n = LINE_MAX_LEN;
	if (!bawn_scan_spend(s->scan, n))
		return 0;
	return bawn_rules_match(s->scan, &bawn_rules_command, line, n, hit, &run, s->err);
}

int sh_vet_fact(struct sh *s, const struct sh_command *c, const char *what, const char *word)
{
	char *t = bawn_arena_printf(s->a, "%s %s", what, word);

	if (!t)
		return sh_no_memory(s);
	for (char *p = t + strlen(what) + 1; *p; p++) {
		if (*p == ' ' || *p == '\t' || *p == '\n')
			*p = '\x1f';
	}
	return match(s, c, t);
}

/* alias ls='/tmp/.x; ls': something from a place where anybody can put it. */
static bool runs_from_temp(const char *line)
{
	static const char *const starts_it[] = {
		"alias ", "eval ", "source ", ". ", "trap ", "PROMPT_COMMAND", NULL};
	static const char *const temp[] = {"/tmp/", "/dev/shm/", NULL};
	size_t n = strcspn(line, "\n");

	for (size_t i = 0; starts(line, starts_it) && temp[i]; i++) {
		if (memmem(line, n, temp[i], strlen(temp[i])))
			return true;
	}
	return false;
}

/* x &: nobody who logs in waits for it, or sees it. What is only defined does not run yet. */
static bool runs_behind(const char *line)
{
	size_t n = strcspn(line, "\n");

	if (strchr("# \t", line[0]) || !strncmp(line, "alias ", 6) || memmem(line, n, "()", 2))
		return false;
	for (size_t i = 1; i < n; i++) {
		if (line[i] == '&' && !strchr("&><|\\=", line[i - 1]) && line[i + 1] != '&' &&
			line[i + 1] != '>')
			return true;
	}
	return false;
}

/* mkcd() { …: a new word, and not another meaning of one that everybody uses. */
static bool new_word(struct sh *s, const char *line)
{
	size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_-");
	const char *name = n ? bawn_arena_strndup(s->a, line, n) : NULL;

	return name && !strncmp(line + n, "()", 2) &&
	       !sh_is(name, "|sudo|su|ssh|scp|ls|cd|cat|cp|mv|rm|git|ps|top|login|passwd|gpg|curl|"
			    "wget|docker|kubectl|python|python3|npm|");
}

/* What people put into the files that a login reads. */
static bool usual_setup(struct sh *s, const struct sh_data *d)
{
	static const char *const usual[] = {"export ", "alias ", "eval ", "source ", ". ",
		"PATH=", "#", "[ ", "[[ ", "if ", "fi", "then", "else", "autoload", "bind",
		"setopt", "PS1", "shopt", "unalias", "umask", "ulimit", "HIST", "complete ",
		"compinit", "zstyle", "plugins", "ZSH", "fpath", "test ", "command -v", "set -o",
		"function ", "}", " ", "\t", "\n", "$(", "\"$(", NULL};
	static const char *const unusual[] = {"curl ", "wget ", "/dev/tcp", "base64", "nc ",
		"LD_PRELOAD", "alias sudo=", "='rm -r", "=\"rm -r", "=rm -r", NULL};
	const char *p = d->text;

	if (!d->known || !d->len || !p)
		return true;
	while (p && *p) {
		if (!starts(p, usual) && !new_word(s, p) && !strchr("\n", *p))
			return strncmp(p, "cd ", 3) == 0;
		if (runs_from_temp(p) || runs_behind(p))
			return false;
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	for (size_t i = 0; unusual[i]; i++) {
		if (strstr(d->text, unusual[i]))
			return false;
	}
	return true;
}

/* ~/.bashrc and its kin: it depends on what is put there. */
static int vet_login(
	struct sh *s, const struct sh_command *c, const char *path, const struct sh_data *d)
{
	static const char *const files[] = {".bashrc", ".bash_profile", ".profile", ".zshrc",
		".zprofile", ".zshenv", ".bash_login", ".shrc", ".kshrc", ".cshrc", ".tcshrc",
		".bash_logout", ".zlogin", "config.fish", ".bash_aliases", NULL};
	struct sh_found f = {
		.rule = "command.login-script",
		.category = "persistence",
		.means = "makes every login run something",
		.level = BAWN_SEV_MEDIUM,
		.confidence = s->script ? 0.15 : 0.38,
	};
	const char *base = sh_base(path);

	for (size_t i = 0; files[i]; i++) {
		if (!strcmp(base, files[i]))
			return usual_setup(s, d) ? 0 : sh_report(s, c, &f);
	}
	return 0;
}

#define PUT_MAX 4096

static int vet_put(
	struct sh *s, const struct sh_command *c, const char *path, const struct sh_data *d)
{
	const char *t;

	if (path[0] == '&' || (!d->len && !(d->taint & SH_NET)))
		return 0;
	if (!d->len) {
		t = bawn_arena_printf(
			s->a, "%s <network> %s", sh_path(s, path), d->url ? d->url : "");
		return t ? sh_vet_fact(s, c, "@put", t) : sh_no_memory(s);
	}
	t = bawn_arena_printf(s->a, "%s %.*s", sh_path(s, path),
		(int)(d->len < PUT_MAX ? d->len : PUT_MAX), d->text);
	return t ? sh_vet_fact(s, c, "@put", t) : sh_no_memory(s);
}

/* A program from a bare address, put where programs are found by their name. */
static int vet_install(
	struct sh *s, const struct sh_command *c, const char *path, const struct sh_data *d)
{
	struct sh_found f = {
		.rule = "command.install-download",
		.category = "persistence",
		.means = "puts what a bare address sends among the programs",
		.level = BAWN_SEV_HIGH,
		.confidence = s->script ? 0.35 : 0.55,
	};

	if (!d || !(d->taint & SH_NET) || !d->url ||
		(!strstr(path, "bin/") && strncmp(path, "/lib", 4) != 0 &&
			strncmp(path, "/usr/lib", 8) != 0 && strncmp(path, "/etc/", 5) != 0 &&
			!strstr(path, "/www/") && !strstr(path, "/htdocs/")) ||
		sh_host_of(s, d->url, NULL) != SH_HOST_ODD)
		return 0;
	return sh_report(s, c, &f);
}

/* The command's line behind a word that says what else is known of it. */
static int match_as(struct sh *s, const struct sh_command *c, const char *what)
{
	const char *line = bawn_arena_printf(s->a, "%s %s", what, c->line);

	return line ? match(s, c, line) : sh_no_memory(s);
}

/* find / … 2>/dev/null: who looks where he has no business does not want to hear about it.
 * yes > /dev/null: what never ends by itself and says nothing to anybody is there for the work. */
static int vet_nowhere(struct sh *s, const struct sh_command *c, const struct sh_redir *d)
{
	if (strcmp(d->path, "/dev/null") != 0 || !c->args.n)
		return 0;
	if (d->fd != 2)
		return match_as(s, c, "@drop");
	return strcmp(c->args.v[0].text, "find") == 0 && d->kind == SH_OUT
		       ? match_as(s, c, "@quiet")
		       : 0;
}

static int vet_redirect(struct sh *s, const struct sh_command *c, const struct sh_redir *d)
{
	bool out = d->kind == SH_OUT || d->kind == SH_APPEND;
	int rc = 0;

	if (out || !strncmp(d->path, "/dev/tcp", 8) || !strncmp(d->path, "/dev/udp", 8))
		rc = sh_vet_fact(
			s, c, d->kind == SH_APPEND ? "@append" : "@write", sh_path(s, d->path));
	if (rc == 0 && out)
		rc = vet_login(s, c, d->path, c->writes.n ? &c->in : &c->out);
	if (rc == 0 && out && d->fd != 2)
		rc = vet_put(s, c, d->path, &c->out);
	if (rc == 0 && d->kind == SH_OUT && d->fd != 2)
		rc = vet_install(s, c, d->path, &c->out);
	if (rc == 0 && out)
		rc = vet_nowhere(s, c, d);
	return rc;
}

/* cp FILE FILE.bak: a copy that lies beside what it is a copy of. */
static bool keeps(const struct sh_command *c, const char *path)
{
	static const char *const ends[] = {".bak", ".orig", ".old", ".backup", ".save", ".dist",
		"~", "_bak", "-bak", "-backup", "_backup", ".$", "-$", ".20", "-20", ".default",
		NULL};
	const char *from = c->args.n > 2 ? c->args.v[c->args.n - 2].text : "";
	size_t n = strlen(from);

	return !strcmp(c->args.v[0].text, "cp") && n && !strncmp(path, from, n) &&
	       starts(path + n, ends) && !strchr(path + n, '/');
}

/* tee -a */
static bool adds(const struct sh_command *c)
{
	for (size_t i = 1; !strcmp(c->args.v[0].text, "tee") && i < c->args.n; i++) {
		if (sh_is(c->args.v[i].text, "|-a|--append|-ai|-ia|"))
			return true;
	}
	return false;
}

/* A file that its arguments name. */
static int vet_write(struct sh *s, const struct sh_command *c, const char *path)
{
	const char *p = c->args.v[0].text;
	const struct sh_file *to = sh_file_get(s, path, false);
	int rc;

	if (keeps(c, path))
		return 0;
	rc = vet_install(s, c, path, to ? &to->data : NULL);
	if (rc == 0)
		rc = sh_vet_fact(s, c,
			!strcmp(p, "touch") ? "@touch"
			: adds(c)           ? "@append"
					    : "@write",
			sh_path(s, path));
	if (rc == 0 && sh_is(p, "|tee|sponge|"))
		rc = vet_login(s, c, path, &c->in);
	else if (rc == 0 && to && sh_is(p, "|cp|mv|install|"))
		rc = vet_login(s, c, path, &to->data);
	if (rc == 0 && sh_is(p, "|tee|sponge|ed|ex|gpg|gpg2|"))
		rc = vet_put(s, c, path, &c->in);
	return rc;
}

static int vet_writes(struct sh *s, const struct sh_command *c)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->redirs.n; i++)
		rc = vet_redirect(s, c, &c->redirs.v[i]);
	for (size_t i = 0; rc == 0 && i < c->writes.n; i++)
		rc = vet_write(s, c, c->writes.v[i]);
	return rc;
}

static int vet_sets(struct sh *s, const struct sh_command *c)
{
	bool export =
		c->args.n && sh_is(c->args.v[0].text, "|export|declare|typeset|readonly|env|");
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < c->assigns.n; i++)
		rc = sh_vet_fact(s, c, "@set", c->assigns.v[i].text);
	for (size_t i = 1; rc == 0 && export && i < c->args.n; i++) {
		if (strchr(c->args.v[i].text, '='))
			rc = sh_vet_fact(s, c, "@set", c->args.v[i].text);
	}
	return rc;
}

/* Clients that are told what to do through their input. */
static int vet_input(struct sh *s, const struct sh_command *c)
{
	const char *p = c->args.n ? c->args.v[0].text : "", *what;

	if (!strcmp(p, "apt-key") && (c->in.taint & SH_NET) && c->in.url)
		return sh_vet_fact(s, c, "@input apt-key", c->in.url);
	if (!c->in.len || c->in.len > LINE_MAX_LEN ||
		!sh_is(p,
			"|mysql|mariadb|psql|sqlite3|mongo|mongosh|redis-cli|ftp|sftp|tftp|telnet|"
			"lftp|smbclient|ed|ex|fdisk|parted|crontab|chpasswd|passwd|gdb|at|batch|"
			"launchctl|debugfs|ldapadd|ldapmodify|kubectl|oc|vault|gcc|cc|clang|tcc|"))
		return 0;
	what = bawn_arena_printf(s->a, "@input %s", p);
	return what ? sh_vet_fact(s, c, what, c->in.text) : sh_no_memory(s);
}

/* What the policy forbids in scripts, also where it is put together, or handed to another shell. */
static int vet_forbidden(struct sh *s, const struct sh_command *c)
{
	size_t span[2] = {c->start, c->end};

	if (!s->script || !c->args.n)
		return 0;
	/* a command is known from where its first word ends */
	while (span[0] && span[0] <= s->sub->len &&
		!strchr(" \t\n;|&(){}`", s->sub->text[span[0] - 1]))
		span[0]--;
	return code_forbid_command(s->scan, s->sub, c->args.v[0].text, span) < 0 ? sh_no_memory(s)
										 : 0;
}

int sh_vet(struct sh *s, struct sh_command *c)
{
	int rc = match(s, c, c->line);

	if (rc >= 0)
		rc = vet_forbidden(s, c);

	if (rc >= 0)
		rc = vet_writes(s, c);
	if (rc >= 0)
		rc = vet_sets(s, c);
	if (rc >= 0)
		rc = vet_input(s, c);
	if (rc >= 0)
		rc = sh_vet_destroy(s, c);
	if (rc >= 0)
		rc = sh_vet_trees(s, c);
	if (rc >= 0)
		rc = sh_vet_flow(s, c);
	if (rc >= 0 && c->args.n)
		rc = sh_vet_collect(s, c);
	if (rc >= 0 && c->args.n)
		rc = sh_vet_stage(s, c);
	if (rc >= 0 && c->args.n)
		rc = sh_vet_procs(s, c);
	return rc < 0 ? rc : 0;
}
