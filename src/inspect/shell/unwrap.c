/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that run another program: their own options are taken away until the program that does
 * the work stands first. Those that hand words to a shell, on this machine or another, give
 * scripts that are read next.
 */
#include <string.h>

#include "base/buf.h"
#include "inspect/shell/read.h"

struct wrapper {
	const char *name;
	const char *letters; /* short options that take a word */
	const char *longs;   /* long options that take a word, as |--a|--b| */
	unsigned skip;       /* words of its own before the program */
	unsigned how;
	bool assigns; /* NAME=VALUE may stand before the program */
};

static const struct wrapper wrappers[] = {
	{"sudo", "ugpCcDhRrTtU", "|--user|--group|--prompt|--host|--chdir|--chroot|", 0, SH_ROOT,
		true},
	{"doas", "uC", "", 0, SH_ROOT, false},
	{"pkexec", "", "|--user|", 0, SH_ROOT, false},
	{"ksu", "e", "", 0, SH_ROOT, false},
	{"env", "uC", "|--unset|--chdir|", 0, 0, true},
	{"nohup", "", "", 0, 0, false},
	{"timeout", "sk", "|--signal|--kill-after|", 1, SH_TIMED, false},
	{"gtimeout", "sk", "|--signal|--kill-after|", 1, SH_TIMED, false},
	{"nice", "n", "|--adjustment|", 0, 0, false},
	{"ionice", "cnpPu", "|--class|--classdata|", 0, 0, false},
	{"chrt", "TPD", "", 1, 0, false},
	{"taskset", "", "", 1, 0, false},
	{"numactl", "CNmip", "", 0, 0, false},
	{"strace", "aeEIoOpPsSuX", "|--output|--trace|", 0, 0, false},
	{"ltrace", "aeFlnopsuxX", "", 0, 0, false},
	{"setsid", "", "", 0, 0, false},
	{"stdbuf", "ioe", "|--input|--output|--error|", 0, 0, false},
	{"unbuffer", "", "", 0, 0, false},
	{"busybox", "", "", 0, 0, false},
	{"toybox", "", "", 0, 0, false},
	{"command", "", "", 0, 0, false},
	{"builtin", "", "", 0, 0, false},
	{"exec", "a", "", 0, 0, false},
	{"time", "fo", "|--format|--output|", 0, 0, false},
	{"gtime", "fo", "|--format|--output|", 0, 0, false},
	{"multitime", "n", "", 0, 0, false},
	{"setarch", "", "", 0, 0, false},
	{"x86_64", "", "", 0, 0, false},
	{"i386", "", "", 0, 0, false},
	{"aarch64", "", "", 0, 0, false},
	{"linux32", "", "", 0, 0, false},
	{"linux64", "", "", 0, 0, false},
	{"torsocks", "", "", 0, 0, false},
	{"torify", "", "", 0, 0, false},
	{"proxychains", "f", "", 0, 0, false},
	{"proxychains4", "f", "", 0, 0, false},
	{"rlwrap", "abCDfHlopqsStz", "", 0, 0, false},
	{"cpulimit", "lpe", "", 0, 0, false},
	{"choom", "np", "", 0, 0, false},
	{"setpriv", "", "|--reuid|--regid|--groups|", 0, 0, false},
	{"unshare", "SG", "", 0, 0, false},
	{"chronic", "", "", 0, 0, false},
	{"ts", "", "", 0, 0, false},
	{"dbus-run-session", "", "", 0, 0, false},
	{"caffeinate", "tw", "", 0, 0, false},
	{"firejail", "", "", 0, 0, false},
	{"catchsegv", "", "", 0, 0, false},
	{"softlimit", "acdflmoprst", "", 0, 0, false},
	{"fakeroot", "lsib", "", 0, 0, false},
	{"faketime", "f", "", 1, 0, false},
	{"winpty", "", "", 0, 0, false},
	{"daemonize", "acepluv", "", 0, 0, false},
	{"screen", "cehpsStT", "", 0, 0, false},
	{"gosu", "", "", 1, 0, false},
	{"su-exec", "", "", 1, 0, false},
	{"grc", "", "", 0, 0, false},
};

static const struct wrapper *wrapper_of(const char *name)
{
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
		if (!strcmp(wrappers[i].name, name))
			return &wrappers[i];
	}
	return NULL;
}

bool sh_is_shell(const char *word)
{
	return sh_is(sh_base(word[0] == '-' ? word + 1 : word),
		"|sh|bash|dash|zsh|ksh|ash|fish|csh|tcsh|mksh|rbash|yash|posh|elvish|nu|sash|rksh|pwsh|");
}

struct sh_inner *sh_inner_add(struct sh *s, struct sh_inners *in, const char *text)
{
	struct sh_inner *x;

	if (in->n == SH_INNER_MAX) {
		s->deep = true;
		return NULL;
	}
	x = &in->v[in->n++];
	*x = (struct sh_inner){.text = text, .len = strlen(text)};
	return x;
}

struct sh_inner *sh_inner_put(struct sh *s, struct sh_inners *in, const char *text, unsigned how)
{
	struct sh_inner *x = text && *text ? sh_inner_add(s, in, text) : NULL;

	if (x)
		x->how = how;
	return x;
}

static void drop(struct sh_command *c, size_t n)
{
	if (n > c->args.n)
		n = c->args.n;
	c->args.v += n;
	c->args.n -= n;
	c->args.cap = c->args.n;
	if (c->args.n) {
		c->path = c->args.v[0].text;
		c->args.v[0].text = sh_base(c->args.v[0].text);
	}
}

static bool is_assign(const char *t)
{
	const char *eq = strchr(t, '=');

	return eq && eq != t && t[0] != '-' && t[0] != '/' && t[0] != '.';
}

/* Words that belong to the wrapper itself. */
static size_t own_words(const struct wrapper *w, const struct sh_command *c)
{
	size_t i = 1;

	for (; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		size_t n = strlen(t);

		if (!strcmp(t, "--")) {
			i++;
			break;
		}
		/* env - is env -i */
		if (!strcmp(t, "-") && !strcmp(w->name, "env"))
			continue;
		if (t[0] == '-' && t[1] == '-') {
			const char *list = w->longs;

			i += sh_is(t, list);
		} else if (t[0] == '-' && t[1]) {
			i += strchr(w->letters, t[n - 1]) != NULL && t[n - 1] != '-';
		} else if (w->assigns && is_assign(t)) {
			continue;
		} else {
			break;
		}
	}
	return i + w->skip;
}

/* env -S 'cmd args' splits its word itself. */
static const char *env_split(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		bool shorter = t[0] == '-' && t[1] != '-' && strchr(t, 'S');

		if (shorter && strchr(t, 'S')[1])
			return strchr(t, 'S') + 1;
		if ((shorter || !strcmp(t, "--split-string")) && i + 1 < c->args.n) {
			const char *rest = sh_quote_words(s, &c->args, i + 2);

			return rest ? bawn_arena_printf(s->a, "%s %s", c->args.v[i + 1].text, rest)
				    : NULL;
		}
		if (!strncmp(t, "--split-string=", 15))
			return t + 15;
	}
	return NULL;
}

/* Further options of a shell between -c and its script: bash -c -x -- SCRIPT. */
static size_t past_flags(const struct sh_command *c, size_t i)
{
	if (!sh_is_shell(c->args.v[0].text))
		return i;
	while (i + 1 < c->args.n) {
		const char *t = c->args.v[i].text;

		if (!strcmp(t, "--"))
			return i + 1;
		if ((t[0] != '-' && t[0] != '+') || !t[1] || strpbrk(t, " \t\n"))
			break;
		i += 1 + (size_t)(t[1] != '-' && strchr(t, 'o'));
	}
	return i < c->args.n ? i : c->args.n - 1;
}

/* The word behind option `-c` (also clustered: -lc), or NULL. */
static const struct sh_word *script_word(const struct sh_command *c, size_t *at)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (t[0] == '-' && t[1] != '-' && strchr(t, 'c') && i + 1 < c->args.n) {
			*at = past_flags(c, i + 1);
			return &c->args.v[*at];
		}
		if (!strncmp(t, "--command=", 10)) {
			*at = i;
			return &c->args.v[i];
		}
		if (!strcmp(t, "--command") && i + 1 < c->args.n) {
			*at = i + 1;
			return &c->args.v[i + 1];
		}
		if ((t[0] == '-' && t[1] == 'o' && !t[2]) || !strcmp(t, "--rcfile") ||
			!strcmp(t, "--init-file"))
			i++;
	}
	return NULL;
}

static struct sh_data word_data(const struct sh_word *w, const char *text)
{
	struct sh_data d = sh_text(text);

	d.known = w->known;
	d.taint = w->taint;
	d.from = w->from;
	d.url = w->url;
	return d;
}

/* CMD=… sh -c 'eval "$CMD"': what stands before it is known inside. Names that mean something
 * outside keep what they mean. */
static int pass_variables(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 0; i < c->assigns.n; i++) {
		const struct sh_word *w = &c->assigns.v[i];
		size_t n = strcspn(w->text, "=");
		const char *name = bawn_arena_strndup(s->a, w->text, n);

		if (!name)
			return sh_no_memory(s);
		if (!w->text[n] || sh_var_get(s, name, n) || strchr(name, '+') ||
			sh_is(name, "|HOME|PATH|SHELL|BASH|PWD|OSTYPE|TMPDIR|UID|IFS|"))
			continue;
		if (sh_var_set(s, name, n, word_data(w, w->text + n + 1)) < 0)
			return sh_no_memory(s);
	}
	return 0;
}

static int shell_script(struct sh *s, struct sh_command *c, struct sh_inners *in,
	const struct sh_word *w, size_t at)
{
	const char *t = !strncmp(w->text, "--command=", 10) ? w->text + 10 : w->text;
	struct sh_data d = word_data(w, t);
	struct sh_inner *x;
	int rc = sh_vet_execution(s, c, &d);

	if (rc == 0)
		rc = pass_variables(s, c);
	if (rc < 0)
		return rc;
	/* bash -c {echo,…}: written for a program that splits its words in another way */
	if (!strcmp(t, "echo") && at + 1 < c->args.n)
		t = sh_join_words(s, &c->args, at, c->args.n, ' ').text;
	x = sh_inner_add(s, in, t);
	if (!x)
		return 0;
	x->bias = (struct sh_data){.taint = d.taint, .from = d.from, .url = d.url};
	/* $0 is the first word behind the script */
	x->has_params = true;
	x->zero = at + 1 < c->args.n ? &c->args.v[at + 1] : NULL;
	x->params = (struct sh_words){
		.v = c->args.v + at + 2, .n = c->args.n > at + 2 ? c->args.n - at - 2 : 0};
	return 0;
}

/* bash /dev/fd/3 3<<< TEXT */
static const struct sh_data *here_body(const struct sh_command *c, const char *path)
{
	int fd = -1;

	if (!strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/proc/self/fd/", 14))
		fd = sh_base(path)[0] - '0';
	for (size_t i = 0; i < c->redirs.n; i++) {
		if (c->redirs.v[i].kind == SH_HERE && c->redirs.v[i].fd == fd)
			return &c->redirs.v[i].body;
	}
	return NULL;
}

/* bash FILE, bash < FILE, … | bash: the program is bytes that may be known. */
static int shell_input(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	struct sh_data d = c->in;
	const struct sh_file *f = NULL;
	struct sh_inner *x;
	size_t i = 1;
	int rc;

	while (i < c->args.n && (c->args.v[i].text[0] == '-' || c->args.v[i].text[0] == '+')) {
		if (!strcmp(c->args.v[i].text, "-o"))
			i++;
		if (strchr(c->args.v[i < c->args.n ? i : c->args.n - 1].text, 's')) {
			i = c->args.n;
			break;
		}
		i++;
	}
	if (i < c->args.n && here_body(c, c->args.v[i].text)) {
		d = *here_body(c, c->args.v[i].text);
	} else if (i < c->args.n && strcmp(c->args.v[i].text, "/dev/stdin") != 0) {
		f = sh_file_get(s, c->args.v[i].text, false);
		d = f ? f->data : word_data(&c->args.v[i], "");
		/* read first, as everybody should */
		if (f && f->seen && d.url && sh_host_of(s, d.url, NULL) != SH_HOST_ODD)
			d.taint &= ~SH_NET;
		if (!f)
			d.taint &= SH_NET;
	} else if (!(c->how & SH_STDIN)) {
		return 0;
	}
	rc = sh_vet_execution(s, c, &d);
	if (rc < 0 || !d.len || (!d.known && !(d.taint & SH_DECODED) && f))
		return rc;
	x = sh_inner_add(s, in, d.text);
	if (x)
		x->bias = (struct sh_data){.taint = d.taint & SH_NET, .url = d.url};
	return 0;
}

static int shell(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	size_t at = 0;
	const struct sh_word *w = script_word(c, &at);

	return w ? shell_script(s, c, in, w, at) : shell_input(s, c, in);
}

/* su [-] [user] -c SCRIPT, runuser, script -c, flock f -c, sg group -c */
static int other_shell(struct sh *s, struct sh_command *c, struct sh_inners *in, unsigned how)
{
	size_t at = 0;
	const struct sh_word *w = script_word(c, &at);
	int rc = w ? shell_script(s, c, in, w, at) : 0;

	if (w && in->n) {
		in->v[in->n - 1].how |= how;
		in->v[in->n - 1].has_params = false;
	}
	return rc;
}

static int quoted_inner(
	struct sh *s, const struct sh_command *c, struct sh_inners *in, size_t from, unsigned how)
{
	const char *t = from < c->args.n ? sh_quote_words(s, &c->args, from) : NULL;
	struct sh_inner *x = t ? sh_inner_add(s, in, t) : NULL;

	if (x)
		x->how = how;
	for (size_t i = from; x && i < c->args.n; i++) {
		x->bias.taint |= c->args.v[i].taint;
		x->bias.from = x->bias.from ? x->bias.from : c->args.v[i].from;
	}
	return 0;
}

/* Words joined by blanks and read by a shell again: ssh, watch. */
static int joined_inner(
	struct sh *s, const struct sh_command *c, struct sh_inners *in, size_t from, unsigned how)
{
	struct sh_data all = sh_join_words(s, &c->args, from, c->args.n, ' ');
	struct sh_inner *x;

	if (!all.len)
		return 0;
	x = sh_inner_add(s, in, all.text);
	if (x) {
		x->how = how;
		x->bias = (struct sh_data){.taint = all.taint, .from = all.from};
	}
	return 0;
}

static size_t past_options(const struct sh_command *c, size_t i, const char *letters)
{
	for (; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (t[0] != '-' || !t[1])
			break;
		if (t[1] != '-' && !t[2] && strchr(letters, t[1]))
			i++;
	}
	return i;
}

size_t sh_ssh_words(const struct sh_command *c)
{
	bool again = !strcmp(c->args.v[0].text, "autossh"); /* -M PORT */
	size_t i = past_options(c, 1, again ? "BbcDEeFIiJLlMmOopQRSWw" : "BbcDEeFIiJLlmOopQRSWw");

	return past_options(c, i + 1, "oip");
}

/* Every `from` that is a whole path or the beginning of one, as `to`. */
static const char *moved(struct sh *s, const char *t, const char *from, const char *to)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	size_t n = strlen(from);
	char last = 0;

	for (; *t; t++) {
		if (!strncmp(t, from, n) && !strchr("/.~", last) && !sh_name_char(last, false) &&
			!sh_name_char(t[n], false)) {
			bawn_buf_puts(&b, strcmp(to, "/") != 0 || t[n] != '/' ? to : "");
			t += n - 1;
		} else {
			bawn_buf_add(&b, t, 1);
		}
		last = *t;
	}
	return b.failed ? NULL : bawn_arena_strndup(s->a, b.data ? b.data : "", b.len);
}

/* What is of this machine, or of somebody who works on it. */
static bool of_host(struct sh *s, const char *path)
{
	enum sh_place p = sh_place(s, path);

	return p == SH_ROOT_DIR || p == SH_HOME_DIR || p == SH_SYSTEM_DIR || p == SH_IN_SYSTEM ||
	       sh_secret_of(s, path) || !strncmp(path, "/root/.", 7) ||
	       (path[0] == '~' && strstr(path, "/.ssh"));
}

/* src=… and dst=… of --mount. */
static const char *mount_part(struct sh *s, const char *t, const char *const *names)
{
	for (; *names; names++) {
		const char *p = strstr(t, *names);

		if (p && (p == t || p[-1] == ','))
			return bawn_arena_strndup(
				s->a, p + strlen(*names), strcspn(p + strlen(*names), ","));
	}
	return NULL;
}

/* -v HOST:DIR, --mount type=bind,src=HOST,dst=DIR in word k, or in the one behind it. */
static bool mounted(struct sh *s, const struct sh_command *c, size_t k, const char **ret_host,
	const char **ret_dir)
{
	static const char *const from[] = {"src=", "source=", NULL};
	static const char *const to[] = {"dst=", "target=", "destination=", NULL};
	const char *t = c->args.v[k].text, *colon;
	const char *next = k + 1 < c->args.n ? c->args.v[k + 1].text : "";
	bool mount = !strcmp(t, "--mount") || !strncmp(t, "--mount=", 8);

	if (mount) {
		t = t[7] ? t + 8 : next;
		*ret_host = mount_part(s, t, from);
		*ret_dir = mount_part(s, t, to);
		return *ret_host && *ret_dir;
	}
	t = sh_is(t, "|-v|--volume|") ? next : !strncmp(t, "--volume=", 9) ? t + 9 : NULL;
	colon = t ? strchr(t, ':') : NULL;
	if (!colon || colon[1] != '/')
		return false;
	*ret_host = bawn_arena_strndup(s->a, t, (size_t)(colon - t));
	*ret_dir = bawn_arena_strndup(s->a, colon + 1, strcspn(colon + 1, ":"));
	return *ret_host && *ret_dir;
}

/* docker run -v ~:/h IMAGE rm -rf /h: what is done there is done here. */
static void outside(struct sh *s, const struct sh_command *c, size_t image, struct sh_inners *in)
{
	for (size_t k = 1; in->n && k < image; k++) {
		const char *host, *dir, *x;

		if (!mounted(s, c, k, &host, &dir) || strlen(dir) < 2 || !of_host(s, host))
			continue;
		x = moved(s, in->v[in->n - 1].text, dir, host);
		if (x && strcmp(x, in->v[in->n - 1].text) != 0) {
			in->v[in->n - 1].text = x;
			in->v[in->n - 1].len = strlen(x);
			in->v[in->n - 1].how &= ~SH_REMOTE;
		}
	}
}

/* docker exec … CONTAINER CMD, docker run … IMAGE CMD, kubectl exec POD -- CMD */
static int container(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	const char *entry = NULL;
	size_t i = 1;

	for (size_t k = 1; k < c->args.n; k++) {
		if (!strcmp(c->args.v[k].text, "--"))
			return quoted_inner(s, c, in, k + 1, SH_REMOTE);
	}
	while (i < c->args.n && !sh_is(c->args.v[i].text, "|exec|run|shell|"))
		i++;
	if (i >= c->args.n)
		return 0;
	for (i++; i < c->args.n && c->args.v[i].text[0] == '-'; i++) {
		const char *t = c->args.v[i].text;

		if (sh_is(t, "|-v|-e|-u|-w|-p|-n|-c|-l|-h|--name|--volume|--env|--user|--workdir|"
			     "--network|--net|--entrypoint|--publish|--mount|--hostname|--env-file|"
			     "--memory|-m|--cpus|--platform|--gpus|--add-host|--label|--restart|"
			     "--namespace|--container|--context|--image|--device|--cap-add|--pid|"
			     "--security-opt|--shm-size|--ulimit|--tmpfs|--link|--dns|--ip|")) {
			if (!strcmp(t, "--entrypoint") && i + 1 < c->args.n)
				entry = c->args.v[i + 1].text;
			i++;
		} else if (!strncmp(t, "--entrypoint=", 13)) {
			entry = t + 13;
		}
	}
	if (!strcmp(c->args.v[0].text, "adb"))
		return joined_inner(s, c, in, i, SH_REMOTE);
	if (i >= c->args.n)
		return 0;
	/* --entrypoint sh IMAGE -c … */
	if (entry)
		(void)sh_inner_put(s, in,
			bawn_arena_printf(s->a, "%s %s", entry, sh_quote_words(s, &c->args, i + 1)),
			SH_REMOTE);
	else
		(void)quoted_inner(s, c, in, i + 1, SH_REMOTE);
	outside(s, c, i, in);
	return 0;
}

/* docker -H … run: what stands before the order is taken away, but for another machine's name. */
static void past_engine(struct sh_command *c)
{
	size_t i = 1;

	while (i < c->args.n && c->args.v[i].text[0] == '-') {
		if (strstr(c->args.v[i].text, "tcp://"))
			return;
		i += 1 + (size_t)sh_is(c->args.v[i].text,
				 "|-H|--host|-c|--context|--config|-l|--log-level|--tlscacert|"
				 "--tlscert|--tlskey|--url|--connection|--root|--runroot|"
				 "--namespace|-n|--address|-a|--storage-driver|");
		if (i < c->args.n && strstr(c->args.v[i - 1].text, "tcp://"))
			return;
	}
	if (i < 2 || i >= c->args.n)
		return;
	c->args.v[i - 1] = c->args.v[0];
	c->args.v += i - 1;
	c->args.n -= i - 1;
	c->args.cap = c->args.n;
}

/* `t` with the known input in it: at the place that -I names, or at the end. */
static const char *filled(struct sh *s, const struct sh_command *c, size_t options, const char *t)
{
	struct sh_words one = {.v = (struct sh_word[]){{.text = c->in.text}}, .n = 1};
	const char *text = c->in.text, *hole = NULL;

	for (size_t k = 1; k < options; k++) {
		if (!strncmp(c->args.v[k].text, "-I", 2))
			hole = c->args.v[k].text[2] ? c->args.v[k].text + 2 : c->args.v[k + 1].text;
	}
	if (hole && *hole && strstr(t, hole))
		return bawn_arena_printf(s->a, "%.*s%s%s", (int)(strstr(t, hole) - t), t, text,
			strstr(t, hole) + strlen(hole));
	return bawn_arena_printf(s->a, "%s %s", t,
		strpbrk(text, "'\"$`;|&()<>") ? sh_quote_words(s, &one, 0) : text);
}

/* The words that xargs adds are those of its input, when that is known. */
static int xargs(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	size_t i = past_options(c, 1, "IniPdLEsa");
	/* parallel gives its words to a shell */
	bool line = i < c->args.n && !strcmp(c->args.v[0].text, "parallel") &&
		    strpbrk(c->args.v[i].text, " \t");
	const char *t = line            ? sh_join_words(s, &c->args, i, c->args.n, ' ').text
			: i < c->args.n ? sh_quote_words(s, &c->args, i)
					: NULL;
	struct sh_inner *x;

	if (!t)
		return 0;
	for (size_t k = 1; k + 1 < i; k++) {
		const struct sh_file *f = !strcmp(c->args.v[k].text, "-a")
						  ? sh_file_get(s, c->args.v[k + 1].text, false)
						  : NULL;

		if (f)
			c->in = f->data;
	}
	if (c->in.known && c->in.len && c->in.len < 4096)
		t = filled(s, c, i, t);
	if (!t)
		return sh_no_memory(s);
	x = sh_inner_add(s, in, t);
	if (x) {
		x->how = c->in.known ? 0 : SH_ARGSIN;
		x->bias = (struct sh_data){
			.taint = c->in.taint, .from = c->in.from, .url = c->in.url};
		if (c->in.taint & (SH_TREE | SH_SOME)) {
			x->has_in = true;
			x->in = sh_unknown(c->in.taint, c->in.from);
		}
	}
	return 0;
}

/* What tmux starts in a window, or types into one. */
static int tmux(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	size_t at = past_options(c, 1, "cfLSTf");
	const char *order = at < c->args.n ? c->args.v[at].text : "";
	struct sh_words typed = {0};

	if (sh_is(order, "|new|new-session|neww|new-window|splitw|split-window|respawn-pane|run|"
			 "run-shell|popup|display-popup|"))
		return joined_inner(s, c, in, past_options(c, at + 1, "cefFnstxylpT"), 0);
	if (!sh_is(order, "|send|send-keys|"))
		return 0;
	for (at = past_options(c, at + 1, "tN"); at < c->args.n; at++) {
		struct sh_word *w;

		if (sh_is(c->args.v[at].text, "|Enter|C-m|KPEnter|C-c|C-u|Escape|C-l|"))
			continue;
		w = bawn_grow(s->a, &typed.v, &typed.n, &typed.cap);
		if (!w)
			return sh_no_memory(s);
		*w = c->args.v[at];
	}
	if (typed.n)
		(void)sh_inner_add(s, in, sh_join_words(s, &typed, 0, typed.n, ' ').text);
	return 0;
}

static int special(struct sh *s, struct sh_command *c, struct sh_inners *in, bool *hit)
{
	const char *p = c->args.v[0].text;

	*hit = true;
	if (sh_is_shell(p))
		return shell(s, c, in);
	if (sh_is(p, "|su|runuser|machinectl|"))
		return other_shell(s, c, in, SH_ROOT);
	if (!strcmp(p, "sg") && c->args.n > 2 && strcmp(c->args.v[2].text, "-c") != 0)
		return joined_inner(s, c, in, 2, 0);
	if (sh_is(p, "|script|flock|sg|expect|capsh|nix-shell|poetry|vagrant|wsl|"))
		return other_shell(s, c, in, 0);
	if (sh_is(p, "|ssh|autossh|rsh|plink|dbclient|"))
		return joined_inner(s, c, in, sh_ssh_words(c), SH_REMOTE);
	if (!strcmp(p, "mosh"))
		return quoted_inner(s, c, in, sh_ssh_words(c), SH_REMOTE);
	if (!strcmp(p, "sshpass"))
		return quoted_inner(s, c, in, past_options(c, 1, "pfdP"), 0);
	if (sh_is(p, "|pssh|parallel-ssh|pdsh|clush|dsh|mussh|"))
		return joined_inner(s, c, in, past_options(c, 1, "hHlpoetOxwuRgf"), SH_REMOTE);
	if (!strcmp(p, "tmux"))
		return tmux(s, c, in);
	if (!strcmp(p, "watch"))
		return joined_inner(s, c, in, past_options(c, 1, "nd"), 0);
	if (sh_is(p, "|docker|podman|nerdctl|"))
		past_engine(c);
	if (sh_is(p, "|docker|podman|nerdctl|kubectl|oc|crictl|lxc|ctr|docker-compose|adb|"))
		return container(s, c, in);
	if (sh_is(p, "|xargs|parallel|"))
		return xargs(s, c, in);
	if (!strcmp(p, "chroot"))
		return quoted_inner(s, c, in, past_options(c, 1, "") + 1, SH_ROOT);
	if (sh_is(p, "|nsenter|systemd-run|start-stop-daemon|"))
		return quoted_inner(s, c, in,
			past_options(c, 1, strcmp(p, "nsenter") != 0 ? "puEM" : "tSG"), 0);
	*hit = false;
	return 0;
}

static bool moves_files(const char *t)
{
	return !strncmp(t, "--put=", 6) || !strncmp(t, "--get=", 6) || !strncmp(t, "--ls=", 5) ||
	       !strncmp(t, "--cat=", 6);
}

static bool sends_order(const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		if (!strcmp(c->args.v[i].text, "-X"))
			return true;
	}
	return false;
}

/* It has a wrapper's name but does something else here. */
static bool not_wrapping(const struct sh_command *c)
{
	const char *p = c->args.v[0].text, *first = c->args.n > 1 ? c->args.v[1].text : "";

	/* command -v NAME; files in and out of firejail's boxes; an order to a screen that is there
	 * (told.c) */
	return (!strcmp(p, "command") && sh_is(first, "|-v|-V|-pv|")) ||
	       (!strcmp(p, "firejail") && moves_files(first)) ||
	       (!strcmp(p, "screen") && sends_order(c));
}

/* env A=b sh -c …: as if it stood before the command. */
static int keep_assigns(struct sh *s, struct sh_command *c, size_t own)
{
	for (size_t i = 1; i < own && i < c->args.n; i++) {
		struct sh_word *w;

		if (!is_assign(c->args.v[i].text))
			continue;
		w = bawn_grow(s->a, &c->assigns.v, &c->assigns.n, &c->assigns.cap);
		if (!w)
			return sh_no_memory(s);
		*w = c->args.v[i];
	}
	return 0;
}

int sh_unwrap(struct sh *s, struct sh_command *c, struct sh_inners *in)
{
	for (unsigned turn = 0; turn < 32; turn++) {
		const char *p = c->args.n ? c->args.v[0].text : "";
		const struct wrapper *w = wrapper_of(p);
		bool hit;
		int rc;

		if (!strcmp(p, "env")) {
			const char *split = env_split(s, c);

			if (split) {
				(void)sh_inner_add(s, in, split);
				return 0;
			}
		}
		if (!w)
			return c->args.n ? special(s, c, in, &hit) : 0;
		if (not_wrapping(c))
			return 0;
		/* alone it is itself: sudo -s, env, nohup */
		if (own_words(w, c) >= c->args.n)
			return 0;
		c->how |= w->how;
		rc = sh_vet_words(s, c, own_words(w, c));
		if (rc == 0 && w->assigns)
			rc = keep_assigns(s, c, own_words(w, c));
		if (rc < 0)
			return rc;
		drop(c, own_words(w, c));
	}
	s->deep = true;
	return 0;
}
