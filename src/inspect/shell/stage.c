/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is put together or put aside before it leaves: papers that were found, homes and secrets in
 * one archive, the list of accounts, what somebody copied, and archives that are sealed. The places
 * for it are those where every program of the machine may write.
 */
#include <string.h>

#include "inspect/shell/model.h"

/* An archive that was encrypted and is now written as text: nobody reads it here. */
static int vet_sealed(struct sh *s, const struct sh_command *c)
{
	unsigned taint = c->in.taint;

	if (!sh_is(c->args.v[0].text, "|base64|base32|xxd|uuencode|basenc|"))
		return 0;
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_file *f = sh_file_get(s, c->args.v[i].text, false);

		taint |= f ? f->data.taint : 0;
		if (sh_is(c->args.v[i].text, "|-d|-D|--decode|-r|"))
			return 0;
	}
	return (taint & SH_SEALED) ? sh_found(s, c, "command.stage-sealed", "collection",
					     "makes a sealed archive ready to be sent as text",
					     s->script ? 0.2 : 0.33)
				   : 0;
}

static bool accounts(const char *word)
{
	return sh_is(word, "|/etc/passwd|/etc/group|");
}

static bool set_aside(const char *path)
{
	return !strncmp(path, "/tmp/", 5) || !strncmp(path, "/var/tmp/", 9) ||
	       !strncmp(path, "/dev/shm/", 9);
}

/* All accounts, copied or packed where others find them. Reading them is everyday work. */
static int vet_accounts(struct sh *s, const struct sh_command *c)
{
	const char *p = c->args.v[0].text;
	bool whole = c->args.n > 1 && accounts(c->args.v[1].text), away = false;

	if (sh_is(p, "|cp|gzip|bzip2|xz|zip|tar|7z|install|")) {
		for (size_t i = 1; i < c->args.n; i++) {
			whole = whole || accounts(c->args.v[i].text);
			away = away || set_aside(c->args.v[i].text);
		}
	}
	for (size_t i = 0; !strcmp(p, "cat") && c->args.n == 2 && i < c->redirs.n; i++)
		away = away || (c->redirs.v[i].kind == SH_OUT && set_aside(c->redirs.v[i].path));
	return whole && away
		       ? sh_found(s, c, "command.stage-accounts", "collection",
				 "puts the accounts of this machine aside", s->script ? 0.2 : 0.31)
		       : 0;
}

static bool hidden_file(const char *path)
{
	return set_aside(path) && (strstr(path, "/.") || !strncmp(path, "/dev/shm/", 9));
}

/* The environment or what a store said, in a file that nobody is meant to see. */
static int vet_hide(struct sh *s, const struct sh_command *c)
{
	bool hides = false;

	if (!((c->out.taint | c->in.taint) & (SH_ENV | SH_SECRET)))
		return 0;
	for (size_t i = 0; i < c->redirs.n; i++)
		hides = hides || (c->redirs.v[i].kind != SH_IN && c->redirs.v[i].path &&
					 hidden_file(c->redirs.v[i].path));
	for (size_t i = 0; i < c->writes.n; i++)
		hides = hides || hidden_file(c->writes.v[i]);
	if (!hides)
		return 0;
	return sh_found(s, c, "command.stage-secrets", "collection",
		"puts secrets aside in a hidden place", s->script ? 0.2 : 0.36);
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
static int vet_together(struct sh *s, const struct sh_command *c)
{
	bool pack = sh_is(c->args.v[0].text, "|tar|gtar|bsdtar|zip|7z|7za|7zr|rar|cpio|pax|ditto|");
	double x = pack && (c->how & SH_REMOTE) && packs_system(s, c) ? 0.34 : 0;

	if (!pack && (strcmp(c->args.v[0].text, "cp") != 0 || !sh_has(c, "|-r|-a|-R|-rf|-ar|")))
		return 0;
	if (sh_has(c, "|x|-x|xf|-xf|xzf|-xzf|xvf|-xvf|xzvf|-xzvf|xvzf|-xvzf|-t|tf|-tf|tvf|-tvf|"))
		return 0;
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_secret *k = sh_secret_of(s, c->args.v[i].text);
		bool last = i + 1 == c->args.n;

		if (k && (k->taint & SH_HARD) && !(last && !pack) && !sh_not_read(c, i))
			x = pack ? 0.42 : 0.36;
	}
	return sh_found(s, c, "command.stage-secrets", "collection",
		"puts secrets of others together in one place", s->script ? x * 0.5 : x);
}

bool sh_goes_aside(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 0; i < c->redirs.n; i++) {
		const struct sh_redir *r = &c->redirs.v[i];

		if ((r->kind == SH_OUT || r->kind == SH_APPEND) && r->fd != 2 &&
			set_aside(sh_path(s, r->path)))
			return true;
	}
	for (size_t i = 0; i < c->writes.n; i++) {
		if (set_aside(sh_path(s, c->writes.v[i])))
			return true;
	}
	return false;
}

/* find / -name '*.pdf' | xargs tar czf /tmp/x.tgz, and cp "$f" /tmp/x/ for each of them. */
static int vet_papers(struct sh *s, const struct sh_command *c)
{
	bool papers = (c->how & SH_ARGSIN) && c->in.from && !strcmp(c->in.from, SH_PAPERS);

	for (size_t i = 1; i < c->args.n; i++)
		papers = papers || (c->args.v[i].from && !strcmp(c->args.v[i].from, SH_PAPERS));
	return papers && sh_goes_aside(s, c) ? sh_vet_fact(s, c, "@papers", c->args.v[0].text) : 0;
}

/* Somebody's whole home or all of his papers among what is packed; sh_whole_trees marked it. */
static bool packs_home(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];
		enum sh_place p;

		if (!(w->taint & SH_SECRET) || w->from != w->text)
			continue;
		p = sh_place(s, w->text);
		if (p == SH_HOME_DIR || p == SH_IN_HOME)
			return true;
	}
	return false;
}

/* A file of a person that says more than the person would tell: what was typed, mail. Of whole
 * folders and of what is packed together everything counts. */
static bool is_private(struct sh *s, const struct sh_word *w, bool whole)
{
	const struct sh_secret *x =
		w->text[0] == '/' || w->text[0] == '~' ? sh_secret_of(s, w->text) : NULL;

	return x && !set_aside(w->text) &&
	       ((double)x->read >= 0.2 || !strcmp(x->what, "mail") ||
		       (whole && (x->taint & SH_SECRET) && !accounts(w->text)));
}

static bool takes_private(struct sh *s, const struct sh_command *c)
{
	bool copy = sh_is(c->args.v[0].text, "|cp|mv|install|rsync|");
	bool whole = !copy || sh_has(c, "|-r|-a|-R|-rf|-ar|");

	for (size_t i = 1; i + copy < c->args.n; i++) {
		if (is_private(s, &c->args.v[i], whole))
			return true;
	}
	return false;
}

static int vet_aside(struct sh *s, const struct sh_command *c)
{
	const char *p = c->args.v[0].text, *means = NULL;
	bool cuts = !strcmp(p, "split") && (c->in.taint & SH_PACKED) && c->args.n > 1 &&
		    set_aside(sh_path(s, sh_last(c)));

	if (!cuts && !sh_goes_aside(s, c))
		return 0;
	if (packs_home(s, c))
		means = "packs a home or the papers in it where others find them";
	else if (cuts)
		means = "cuts an archive into pieces that can be sent";
	else if (sh_is(p, "|cat|cp|mv|install|rsync|head|tail|dd|tar|zip|7z|rar|cpio|") &&
		 takes_private(s, c))
		means = "puts what somebody wrote or typed where others find it";
	else if ((c->out.taint & SH_CLIP) && sh_is(p, "|xclip|xsel|pbpaste|wl-paste|"))
		means = "puts what somebody copied where others find it";
	return means ? sh_found(s, c, "command.stage-private", "collection", means,
			       s->script || (c->how & SH_REMOTE) ? 0.15 : 0.32)
		     : 0;
}

/* An archive that was put aside, locked with a password that stands in the command. */
static int vet_locked(struct sh *s, const struct sh_command *c)
{
	bool parcel = false;

	if (!sh_is(c->args.v[0].text, "|openssl|gpg|gpg2|ccrypt|ccencrypt|mcrypt|") ||
		!sh_encrypts(c) || !sh_has(c, "|-k|-pass|--passphrase|-K|-p|"))
		return 0;
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		const struct sh_file *f = sh_file_get(s, t, false);

		if (!strncmp(t, "env:", 4) || !strncmp(t, "file:", 5) || strchr(t, '$'))
			return 0;
		parcel =
			parcel || (set_aside(sh_path(s, t)) &&
					  (sh_is_archive(t) || (f && (f->data.taint & SH_PACKED))));
	}
	return parcel ? sh_found(s, c, "command.stage-sealed", "collection",
				"locks an archive that was put aside", s->script ? 0.15 : 0.32)
		      : 0;
}

int sh_vet_stage(struct sh *s, const struct sh_command *c)
{
	static int (*const vets[])(struct sh * s, const struct sh_command *c) = {vet_together,
		vet_hide, vet_sealed, vet_accounts, vet_papers, vet_aside, vet_locked};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(vets) / sizeof(vets[0]); i++)
		rc = vets[i](s, c);
	return rc;
}
