/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program would print and write, as far as it matters: constants are computed, and of
 * everything else only where it came from is kept. A program that is not known here passes its
 * input and the files it is given on to its output.
 */
#include "inspect/shell/model.h"

#include <string.h>

bool sh_has(const struct sh_command *c, const char *list)
{
	for (size_t i = 1; i < c->args.n; i++) {
		if (sh_is(c->args.v[i].text, list))
			return true;
	}
	return false;
}

const char *sh_option(const struct sh_command *c, const char *shorter, const char *longer)
{
	size_t n = strlen(longer), k = strlen(shorter);

	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		const char *next = i + 1 < c->args.n ? c->args.v[i + 1].text : NULL;
		const char *in;

		if (n && !strncmp(t, longer, n) && (t[n] == '=' || !t[n]))
			return t[n] ? t + n + 1 : next;
		if (!k || t[0] != '-' || t[1] == '-')
			continue;
		if (!strcmp(t, shorter))
			return next;
		if (!strncmp(t, shorter, k))
			return t + k;
		/* clustered: -sSLo file, -qO- */
		in = k == 2 ? strchr(t + 1, shorter[1]) : NULL;
		if (in && in - t < 8)
			return in[1] ? in + 1 : next;
	}
	return NULL;
}

const char *sh_last(const struct sh_command *c)
{
	for (size_t i = c->args.n; i-- > 1;) {
		if (c->args.v[i].text[0] != '-')
			return c->args.v[i].text;
	}
	return NULL;
}

static void add_taint(struct sh_data *d, unsigned taint, const char *from)
{
	d->taint |= taint;
	d->from = d->from ? d->from : from;
}

/* What the files named by its words are. */
void sh_read_files(struct sh *s, const struct sh_command *c, struct sh_data *d)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];
		const struct sh_secret *x = sh_secret_of(s, w->text);
		const struct sh_file *f = w->text[0] != '-' ? sh_file_get(s, w->text, false) : NULL;

		if (x)
			add_taint(d, x->taint & 0xff, w->text);
		if (strstr(w->text, "/.ssh/known_hosts"))
			add_taint(d, SH_HOST, "known_hosts");
		if (f) {
			add_taint(d, f->data.taint, f->data.from);
			d->url = d->url ? d->url : f->data.url;
		}
		add_taint(d, w->taint, w->from);
		d->url = d->url ? d->url : w->url;
	}
}

int sh_put_file(struct sh *s, struct sh_command *c, const char *path, const struct sh_data *d)
{
	struct sh_file *f;

	if (!path || !*path || !strcmp(path, "-"))
		return 0;
	if (bawn_strlist_add(s->a, &c->writes, path) < 0)
		return sh_no_memory(s);
	if (!d)
		return 0;
	f = sh_file_get(s, path, true);
	if (!f)
		return sh_no_memory(s);
	f->data = *d;
	return 0;
}

static int echo(struct sh *s, struct sh_command *c)
{
	struct sh_data d;
	bool escapes = false, newline = true;
	size_t i = 1, n;

	for (; i < c->args.n && c->args.v[i].text[0] == '-'; i++) {
		const char *t = c->args.v[i].text;

		if (!t[1] || t[strspn(t + 1, "neE") + 1])
			break;
		escapes = escapes || strchr(t, 'e');
		newline = newline && !strchr(t, 'n');
	}
	d = sh_join_words(s, &c->args, i, c->args.n, ' ');
	if (escapes || strstr(d.text, "\\x") || strstr(d.text, "\\0")) {
		const char *t = sh_decode_escapes(s->a, d.text, d.len, &n);

		if (!t)
			return sh_no_memory(s);
		if (escapes && n < d.len && strstr(d.text, "\\x"))
			d.taint |= SH_DECODED;
		if (escapes) {
			d.text = t;
			d.len = strlen(t);
		}
	}
	c->out = newline ? sh_join_data(s, d, sh_text("\n")) : d;
	return 0;
}

static int print_formatted(struct sh *s, struct sh_command *c)
{
	size_t first = 1, n = 0;
	const char *name = NULL, *t;

	if (c->args.n > 2 && !strcmp(c->args.v[1].text, "-v")) {
		name = c->args.v[2].text;
		first = 3;
	} else if (c->args.n > 1 && !strcmp(c->args.v[1].text, "--")) {
		first = 2;
	}
	t = sh_decode_printf(s->a, &c->args, first, &n);
	c->out = t ? sh_text(t) : sh_text("");
	for (size_t i = first; i < c->args.n; i++) {
		c->out.known = c->out.known && c->args.v[i].known;
		add_taint(&c->out, c->args.v[i].taint, c->args.v[i].from);
	}
	if (first < c->args.n && strstr(c->args.v[first].text, "\\x"))
		c->out.taint |= SH_DECODED;
	if (name) {
		struct sh_data d = c->out;

		c->out = sh_text("");
		return sh_var_set(s, name, strlen(name), d);
	}
	return 0;
}

/* head -c 60: how much, not of what. */
static bool is_amount(const struct sh_command *c, size_t i)
{
	const char *t = c->args.v[i].text;

	return sh_is(c->args.v[i - 1].text, "|-n|-c|-s|-w|--lines|--bytes|-qn|-nq|") && t[0] &&
	       !t[strspn(t, "+-0123456789kKMGbB")];
}

/* cat and the like: files if given, else the input. */
static int copy_input(struct sh *s, struct sh_command *c)
{
	struct sh_data d = sh_text("");
	bool files = false;

	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		struct sh_file *f;

		if (t[0] == '-' || is_amount(c, i))
			continue;
		files = true;
		if (sh_is(t, "|/dev/zero|/dev/urandom|/dev/random|"))
			add_taint(&d, SH_ENDLESS, t);
		if (sh_of_system(s, t))
			add_taint(&d, SH_SYSTEM, t);
		f = sh_file_get(s, t, false);
		if (f && !(c->how & SH_PIPED) && !c->redirs.n)
			f->seen = true;
		d = sh_join_data(s, d, f ? f->data : sh_unknown(SH_FILE, NULL));
	}
	c->out = files ? d : c->in;
	sh_read_files(s, c, &c->out);
	if (sh_is(c->args.v[0].text, "|head|"))
		c->out.taint &= ~SH_ENDLESS;
	return 0;
}

/* The bytes that a decoder works on. */
static struct sh_data decoder_input(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_file *f = c->args.v[i].text[0] != '-'
						  ? sh_file_get(s, c->args.v[i].text, false)
						  : NULL;

		if (f)
			return f->data;
	}
	return c->in;
}

static int decode(struct sh *s, struct sh_command *c,
	const char *(*fn)(struct bawn_arena *, const char *, size_t, size_t *))
{
	struct sh_data d = decoder_input(s, c);
	size_t n = 0;
	const char *t = d.len ? fn(s->a, d.text, d.len, &n) : NULL;

	c->out = sh_unknown(d.taint | SH_DECODED, d.from);
	c->out.url = d.url;
	sh_read_files(s, c, &c->out);
	if (t && d.known && strlen(t) == n) {
		c->out.text = t;
		c->out.len = n;
		c->out.known = true;
	}
	return 0;
}

static int translate(struct sh *s, struct sh_command *c)
{
	bool del = sh_has(c, "|-d|--delete|");
	const char *set[2] = {NULL, NULL};
	size_t k = 0;

	for (size_t i = 1; i < c->args.n && k < 2; i++) {
		if (c->args.v[i].text[0] != '-' || !c->args.v[i].text[1])
			set[k++] = c->args.v[i].text;
	}
	c->out = c->in;
	if (c->in.known && set[0]) {
		const char *t = sh_decode_tr(s->a, c->in.text, c->in.len, set[0], set[1], del);

		if (t) {
			c->out.text = t;
			c->out.len = strlen(t);
			c->out.taint |= SH_DECODED;
			return 0;
		}
	}
	c->out.known = false;
	return 0;
}

static int reverse(struct sh *s, struct sh_command *c)
{
	const char *t = c->in.known ? sh_decode_reverse(s->a, c->in.text, c->in.len) : NULL;

	c->out = c->in;
	sh_read_files(s, c, &c->out);
	c->out.taint |= SH_DECODED | (c->in.taint & (SH_ENV | SH_SECRET) ? SH_CODED : 0u);
	c->out.known = t != NULL;
	c->out.text = t ? t : "";
	c->out.len = strlen(c->out.text);
	return 0;
}

/* One s/a/b/ or s/a/b/g of plain text; anything else is not computed. */
static int substitute(struct sh *s, struct sh_command *c)
{
	const char *e = c->args.n > 1 ? c->args.v[c->args.n - 1].text : "";
	const char *mid, *end;
	struct sh_data d = c->in;
	char sep = (char)(e[0] ? e[1] : '\0');

	c->out = sh_unknown(c->in.taint, c->in.from);
	sh_read_files(s, c, &c->out);
	/* as generic() has it: a constant that goes through a filter first does so to hide */
	if (d.known && d.len && !s->script)
		c->out.taint |= SH_DECODED;
	if (!d.known || e[0] != 's' || !sep || !(mid = strchr(e + 2, sep)) ||
		!(end = strchr(mid + 1, sep)) || strpbrk(e + 2, "\\.*[^$&") || mid == e + 2)
		return 0;
	for (unsigned turn = 0; turn < 512; turn++) {
		const char *from = bawn_arena_strndup(s->a, e + 2, (size_t)(mid - e - 2));
		const char *hit = from ? strstr(d.text, from) : NULL;

		if (!hit)
			break;
		d.text = bawn_arena_printf(s->a, "%.*s%.*s%s", (int)(hit - d.text), d.text,
			(int)(end - mid - 1), mid + 1, hit + strlen(from));
		if (!d.text || !bawn_scan_spend(s->scan, d.len))
			return 0;
		d.len = strlen(d.text);
		if (end[1] != 'g')
			break;
	}
	d.taint |= c->out.taint;
	c->out = d;
	return 0;
}

int sh_convert(struct sh *s, struct sh_command *c, const char *to)
{
	struct sh_data d = sh_unknown(c->in.taint, c->in.from);

	d.url = c->in.url;
	sh_read_files(s, c, &d);
	c->out = d;
	if (!to || !strcmp(to, "-") || !strcmp(to, "/dev/stdout"))
		return 0;
	c->out = sh_text("");
	return sh_put_file(s, c, to, &d);
}

/* cp /bin/nc /tmp/update: what update is from now on. */
static int note_copy(struct sh *s, const struct sh_command *c, const char *to)
{
	const char *from = c->args.n > 2 ? c->args.v[c->args.n - 2].text : "";
	const char *name = sh_base(from);
	size_t n = to ? strlen(to) : 0;
	struct sh_file *f;

	if (!n || !strchr(to, '/') || strncmp(from, "/", 1) != 0 || !strstr(from, "bin/"))
		return 0;
	if (!strcmp(sh_base(to), name))
		return 0;
	if (to[n - 1] == '/')
		return 0;
	f = sh_file_get(s, to, true);
	if (!f)
		return sh_no_memory(s);
	f->was = name;
	return 0;
}

/* cp a b DIR/ makes DIR/a and DIR/b. */
static int into_folder(struct sh *s, struct sh_command *c, const char *to)
{
	/* that is how everybody installs a service */
	size_t n = to && !strstr(to, "/systemd/") ? strlen(to) : 0;

	for (size_t i = 1; n && to[n - 1] == '/' && i < c->args.n; i++) {
		const char *t = c->args.v[i].text, *path;

		if (t == to || t[0] == '-' || !*sh_base(t))
			continue;
		path = bawn_arena_printf(s->a, "%s%s", to, sh_base(t));
		if (!path || bawn_strlist_add(s->a, &c->writes, path) < 0)
			return sh_no_memory(s);
	}
	return 0;
}

static int copy(struct sh *s, struct sh_command *c)
{
	const char *to = sh_option(c, "-t", "--target-directory");
	struct sh_data d = sh_unknown(0, NULL);
	const struct sh_file *f =
		c->args.n > 2 ? sh_file_get(s, c->args.v[c->args.n - 2].text, false) : NULL;

	if (!to)
		to = sh_last(c);
	if (f)
		d = f->data;
	else if (c->args.n > 2 && sh_is(c->args.v[c->args.n - 2].text, "|/dev/stdin|"))
		d = c->in;
	sh_read_files(s, c, &d);
	c->out = sh_text("");
	if (sh_put_file(s, c, to, &d) < 0 || into_folder(s, c, to) < 0)
		return sh_no_memory(s);
	return note_copy(s, c, to);
}

static int tee(struct sh *s, struct sh_command *c)
{
	c->out = c->in;
	for (size_t i = 1; i < c->args.n; i++) {
		int rc = 0;

		if (c->args.v[i].text[0] != '-')
			rc = sh_put_file(s, c, c->args.v[i].text, &c->in);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int disk_dump(struct sh *s, struct sh_command *c)
{
	const char *to = NULL;

	for (size_t i = 1; i < c->args.n; i++) {
		if (!strncmp(c->args.v[i].text, "of=", 3))
			to = c->args.v[i].text + 3;
	}
	for (size_t i = 1; i < c->args.n; i++) {
		struct sh_word *w = &c->args.v[i];

		if (!strncmp(w->text, "if=", 3) && sh_place(s, w->text + 3) == SH_DEVICE) {
			w->taint |= SH_SECRET;
			w->from = "a dump of the disk";
		}
	}
	/* … | dd of=FILE is no more than > FILE */
	if (to && c->in.known && c->in.len && !strstr(c->line, " if=")) {
		c->out = sh_text("");
		return sh_put_file(s, c, to, &c->in);
	}
	return sh_convert(s, c, to);
}

/* The screen, the microphone or the camera. */
static bool records(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	if (!strcmp(p, "ffmpeg"))
		return sh_has(c, "|x11grab|kmsgrab|avfoundation|alsa|pulse|v4l2|video4linux2|");
	return sh_is(p, "|scrot|maim|grim|xwd|gnome-screenshot|spectacle|screencapture|flameshot|"
			"arecord|parecord|parec|pw-record|fswebcam|streamer|imagesnap|") ||
	       (!strcmp(p, "import") && sh_has(c, "|-window|"));
}

static int record(struct sh *s, struct sh_command *c)
{
	struct sh_data d = sh_unknown(SH_SECRET, "the screen or a microphone");
	const char *to = sh_last(c);
	size_t n = to ? strlen(to) : 0;

	c->out = d;
	if (!n || to[n - 1] == '-')
		return 0;
	return sh_put_file(s, c, to, &d);
}

static int change_mode(struct sh *s, struct sh_command *c)
{
	for (size_t i = 2; i < c->args.n; i++) {
		struct sh_file *f = sh_file_get(s, c->args.v[i].text, false);

		if (f)
			f->exec = true;
	}
	c->out = sh_text("");
	return 0;
}

static int edit_in_place(struct sh *s, struct sh_command *c)
{
	size_t i = c->args.n;

	if (!sh_option(c, "-i", "--in-place") && !sh_has(c, "|-i|--in-place|")) {
		int rc = sh_is(c->args.v[0].text, "|sed|gsed|") ? substitute(s, c)
								: sh_convert(s, c, NULL);

		if (c->in.known && c->in.len && !s->script && !c->out.known)
			c->out.taint |= SH_DECODED;
		return rc;
	}
	c->out = sh_text("");
	while (i-- > 2 && c->args.v[i].text[0] != '-') {
		int rc = sh_put_file(s, c, c->args.v[i].text, NULL);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A one-liner that prints what a shell is then given. */
static bool printer(const struct sh_command *c)
{
	if ((c->how & SH_STDIN) || !(c->how & SH_PIPED))
		return false;
	return (sh_interpreter(c->args.v[0].text) != BAWN_LANG_AUTO &&
		       sh_has(c, "|-e|-c|-r|-ne|-le|")) ||
	       (sh_is(c->args.v[0].text, "|awk|gawk|mawk|") && strstr(c->line, "BEGIN"));
}

static bool swallows(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	return sh_is(p,
		       "|wc|test|[|true|false|sleep|kill|mkdir|rmdir|touch|ls|stat|du|rm|cd|exit|"
		       "return|md5sum|sha1sum|sha256sum|sha512sum|basename|dirname|which|file|"
		       "type|seq|date|pwd|chown|chgrp|ssh-add|ssh-keygen|ssh-copy-id|realpath|"
		       "readlink|make|npm|pip|cargo|go|pytest|systemctl|service|apt|apt-get|kubectl|"
		       "crontab|mysql|psql|docker|") ||
	       (sh_is(p, "|grep|egrep|rg|") && sh_has(c, "|-q|-c|-l|--quiet|--count|-ql|-L|"));
}

static bool pid_file(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && !strcmp(name + n - 4, ".pid") && name[n - 5] != '/';
}

/* $(which rm) is rm; $(pgrep sshd) and $(cat /run/sshd.pid) are some process called sshd. */
static int lookup(struct sh *s, struct sh_command *c, bool *hit)
{
	const char *p = c->args.v[0].text, *name = sh_last(c);
	bool pid = sh_is(p, "|pgrep|pidof|");
	bool file = sh_is(p, "|cat|head|") && name && strstr(name, "run/") && pid_file(name);
	char *t;

	*hit = name && c->args.n > 1 &&
	       (pid || file || sh_is(p, "|which|whence|") ||
		       (sh_is(p, "|command|type|") && sh_is(c->args.v[1].text, "|-v|-p|-P|-pv|")));
	if (!*hit)
		return 0;
	t = pid || file ? bawn_arena_printf(s->a, "@pid:%s", sh_base(name))
			: bawn_arena_printf(s->a, "/usr/bin/%s", sh_base(name));
	if (!t)
		return sh_no_memory(s);
	t[strcspn(t, " \t\n")] = 0;
	if (file)
		t[strlen(t) - 4] = 0;
	c->out = sh_text(t);
	c->out.known = false;
	return 0;
}

/* Its output goes into a file. */
static bool kept(const struct sh_command *c)
{
	for (size_t i = 0; i < c->redirs.n; i++) {
		if (c->redirs.v[i].kind == SH_OUT && c->redirs.v[i].fd < 2)
			return true;
	}
	return false;
}

static int generic(struct sh *s, struct sh_command *c)
{
	const char *host, *from = NULL;
	unsigned t = sh_source(c, &from);
	struct sh_data d = sh_unknown(c->in.taint & ~SH_ENDLESS, c->in.from);

	d.url = c->in.url;
	if (sh_prints_token(c)) {
		c->out = sh_unknown(SH_ENV, sh_token_name(c));
		return 0;
	}
	if (t) {
		c->out = sh_unknown(t, from);
		return 0;
	}
	/* what the other end sends */
	if (sh_is(c->args.v[0].text, "|nc|ncat|netcat|telnet|socat|openssl|") &&
		((c->how & SH_PIPED) || kept(c)) && (host = sh_peer(s, c))) {
		c->out = sh_unknown(SH_NET, host);
		c->out.url = host;
		return 0;
	}
	if (swallows(c)) {
		c->out = sh_unknown(sh_spells(c) ? SH_DECODED : 0, NULL);
		return 0;
	}
	/* a constant that goes through a filter first does so to hide */
	if (c->in.known && c->in.len &&
		sh_is(c->args.v[0].text,
			"|awk|gawk|mawk|cut|perl|python|python3|ruby|fold|paste|iconv|"
			"grep|egrep|fgrep|rg|fmt|pr|expand|unexpand|join|comm|colrm|tclsh|m4|cpp|"
			"jq|tac|shuf|sort|uniq|php|node|bc|dc|od|crypt|ccrypt|sqlite3|lua|"))
		d.taint |= SH_DECODED;
	if (printer(c) || sh_spells(c))
		d.taint |= SH_DECODED;
	if (sh_encodes(c) && (d.taint & (SH_ENV | SH_SECRET)))
		d.taint |= SH_CODED;
	if (sh_encodes(c) && (d.taint & (SH_PACKED | SH_SMALL)))
		d.taint |= SH_SEALED;
	if (sh_seeks_keys(c))
		add_taint(&d, SH_SECRET, "a search for keys");
	if (d.from && !strncmp(d.from, "ps", 2))
		d.from = sh_picked(s, c, d.from);
	if (d.taint & SH_TREE && sh_is(c->args.v[0].text, "|grep|egrep|fgrep|rg|awk|gawk|"))
		d.taint = (d.taint & ~SH_TREE) | SH_SOME;
	sh_read_files(s, c, &d);
	c->out = d;
	return 0;
}

/* To another machine or into a bucket. */
static bool copies_away(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	return sh_is(p, "|scp|rsync|") ||
	       (sh_is(p, "|aws|gsutil|gcloud|s3cmd|mc|azcopy|b2|rclone|s5cmd|") &&
		       sh_has(c, "|cp|sync|copy|rsync|mirror|put|mv|move|"));
}

static bool packs(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	return sh_is(p, "|tar|gtar|bsdtar|zip|7z|7za|7zr|rar|cpio|pax|ar|") ||
	       (!strcmp(p, "git") && sh_has(c, "|archive|bundle|"));
}

/* sort -o FILE, gcc -o FILE; sort alone is a filter like any other. */
static int makes_file(struct sh *s, struct sh_command *c)
{
	const char *to = sh_option(c, "-o", "--output");

	return to || strcmp(c->args.v[0].text, "sort") != 0 ? sh_convert(s, c, to) : generic(s, c);
}

static int model_file(struct sh *s, struct sh_command *c, bool *hit)
{
	const char *p = c->args.v[0].text;

	*hit = true;
	if (sh_is(p, "|curl|wget|wget2|fetch|aria2c|axel|http|https|xh|curlie|lwp-download|GET|"
		     "lynx|w3m|links|elinks|") ||
		(sh_is(p, "|svn|ipfs|") && sh_has(c, "|export|checkout|co|cat|get|")))
		return sh_fetch(s, c);
	if (!strcmp(p, "ftp") && sh_has(c, "|-o|"))
		return sh_fetch(s, c);
	if (copies_away(c))
		sh_whole_trees(s, c, false);
	if (sh_is(p, "|tftp|ftpget|scp|rsync|")) {
		int rc = sh_fetch_odd(s, c, hit);

		if (rc < 0 || *hit)
			return rc;
		*hit = !sh_is(p, "|tftp|ftpget|scp|");
		if (!*hit)
			return 0;
	}
	if (sh_is(p, "|cp|mv|install|ln|gcp|ditto|rsync|link|"))
		return copy(s, c);
	if (sh_is(p, "|tee|sponge|"))
		return tee(s, c);
	if (!strcmp(p, "unzip"))
		sh_note_unpacked(s, c);
	if (!strcmp(p, "dd"))
		return disk_dump(s, c);
	if (packs(c))
		return sh_archive(s, c);
	if (sh_is(p, "|chmod|"))
		return change_mode(s, c);
	if (sh_is(p, "|sed|gsed|") || (!strcmp(p, "perl") && !printer(c)))
		return edit_in_place(s, c);
	if (sh_is(p, "|gpg|gpg2|age|rage|"))
		return sh_seal(s, c, sh_option(c, "-o", "--output"));
	if (sh_is(p, "|gzip|pigz|bzip2|xz|zstd|lz4|"))
		return sh_compress(s, c);
	if (sh_is(p, "|sort|gcc|cc|clang|g++|go|"))
		return makes_file(s, c);
	if (sh_is(p, "|truncate|shred|touch|"))
		return sh_put_file(s, c, sh_last(c), NULL);
	*hit = false;
	return 0;
}

/* Something inside a file of another kind: unzip -p, steghide extract, the end of a picture. */
static bool hidden_in(const struct sh_command *c)
{
	const char *p = c->args.v[0].text, *f, *dot;

	if (!(c->how & SH_PIPED) ||
		!sh_is(p, "|steghide|outguess|stegosuite|exiftool|binwalk|unzip|"
			  "7z|7za|unrar|bsdtar|tail|dd|strings|cut|"))
		return false;
	f = sh_last(c);
	dot = f ? strrchr(f, '.') : NULL;
	if (sh_is(p, "|steghide|outguess|stegosuite|exiftool|binwalk|"))
		return !strcmp(p, "exiftool") ? sh_has(c, "|-b|") : sh_has(c, "|extract|-r|-e|");
	if (sh_is(p, "|unzip|7z|7za|unrar|bsdtar|"))
		return sh_has(c, "|-p|-so|p|-xOf|-xO|");
	return dot && sh_is(dot, "|.png|.jpg|.jpeg|.gif|.ico|.bmp|.pdf|.mp3|.mp4|.wav|");
}

static int model_decoder(struct sh *s, struct sh_command *c, bool *hit)
{
	const char *p = c->args.v[0].text;
	const bool d = sh_has(c, "|-d|-D|--decode|-di|-id|-r|-rp|-pr|-r -p|-a|-A|-base64|");

	*hit = true;
	if (sh_is(p, "|base64|gbase64|b64decode|") && (d || !strcmp(p, "b64decode")))
		return decode(s, c, sh_decode_base64);
	if (!strcmp(p, "base32") && d)
		return decode(s, c, sh_decode_base32);
	if (!strcmp(p, "basenc") && d)
		return decode(s, c,
			sh_has(c, "|--base16|")   ? sh_decode_hex
			: sh_has(c, "|--base32|") ? sh_decode_base32
						  : sh_decode_base64);
	if (!strcmp(p, "xxd") && d)
		return decode(s, c, sh_decode_hex);
	if (!strcmp(p, "openssl") && sh_has(c, "|-d|") && sh_has(c, "|base64|-base64|-a|"))
		return decode(s, c, sh_decode_base64);
	if (!strcmp(p, "openssl") && sh_has(c, "|-d|") && !sh_has(c, "|-out|")) {
		c->out = sh_unknown(c->in.taint | SH_DECODED, c->in.from);
		return 0;
	}
	if (!strcmp(p, "openssl") && sh_has(c, "|enc|des3|aes-256-cbc|aes256|"))
		return sh_seal(s, c, sh_option(c, "-out", ""));
	if (!strcmp(p, "rev"))
		return reverse(s, c);
	if (!strcmp(p, "tr"))
		return translate(s, c);
	if (sh_is(p, "|gunzip|zcat|bzcat|xzcat|uudecode|lzcat|zstdcat|") ||
		(sh_is(p, "|gzip|bzip2|xz|zstd|") && d) || hidden_in(c)) {
		int rc = generic(s, c);

		c->out.taint |= SH_DECODED;
		return rc;
	}
	*hit = false;
	return 0;
}

/* realpath X, readlink -f X, dirname X, pwd: as known as X is; true says nothing. */
static int place_of(struct sh *s, struct sh_command *c, bool *hit)
{
	const char *p = c->args.v[0].text;
	const struct sh_word *w = &c->args.v[c->args.n - 1];
	const char *slash = w->text[0] ? strrchr(w->text + 1, '/') : NULL;
	const char *t = w->text;

	*hit = (!strcmp(p, "pwd") && s->cwd) || sh_is(p, "|:|true|false|") ||
	       (c->args.n > 1 && w->known && (t[0] == '~' || t[0] == '/') &&
		       (sh_is(p, "|realpath|dirname|") ||
			       (!strcmp(p, "readlink") && sh_has(c, "|-f|-e|-m|"))));
	if (!*hit)
		return 0;
	if (!strcmp(p, "pwd"))
		t = s->cwd;
	else if (sh_is(p, "|:|true|false|"))
		t = "";
	else if (!strcmp(p, "dirname"))
		t = bawn_arena_strndup(s->a, t, slash ? (size_t)(slash - t) : 1);
	if (!t)
		return sh_no_memory(s);
	c->out = sh_text(t);
	return 0;
}

int sh_model(struct sh *s, struct sh_command *c)
{
	const char *p = c->args.v[0].text;
	bool hit = false;
	int rc;

	if (sh_is(p, "|echo|yes|")) {
		rc = echo(s, c);
		c->out.taint |= !strcmp(p, "yes") ? SH_ENDLESS : 0;
		return rc;
	}
	if (!strcmp(p, "printf"))
		return print_formatted(s, c);
	rc = place_of(s, c, &hit);
	if (rc != 0 || hit)
		return rc;
	if (hidden_in(c))
		return model_decoder(s, c, &hit);
	if (records(c))
		return record(s, c);
	rc = lookup(s, c, &hit);
	if (rc != 0 || hit)
		return rc;
	if (sh_is(p, "|cat|tac|head|tail|less|more|nl|column|pv|bat|batcat|strings|"))
		return copy_input(s, c);
	if (sh_lists_names(c))
		return sh_tree_names(s, c);
	rc = model_decoder(s, c, &hit);
	if (rc == 0 && !hit)
		rc = model_file(s, c, &hit);
	if (rc == 0 && !hit)
		rc = generic(s, c);
	return rc;
}
