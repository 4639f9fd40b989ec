/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives: what goes into them, what they are sealed with, and what comes out of those that
 * somebody else made. Whose tree is packed matters more than which program packs it.
 */
#include <string.h>

#include "inspect/shell/model.h"

/* ~/Documents and its kin, all of it. */
static bool private_tree(const char *t)
{
	size_t n = strlen(t);
	const char *name;

	while (n > 1 && (t[n - 1] == '/' || t[n - 1] == '*'))
		n--;
	for (name = t + n; name > t && name[-1] != '/';)
		name--;
	return (n == (size_t)(name - t) + 9 && !strncmp(name, "Documents", 9)) ||
	       (n == (size_t)(name - t) + 7 && !strncmp(name, "Desktop", 7)) ||
	       (n == (size_t)(name - t) + 8 && !strncmp(name, "Pictures", 8));
}

void sh_whole_trees(struct sh *s, struct sh_command *c, bool packs)
{
	for (size_t i = 1; i < c->args.n; i++) {
		struct sh_word *w = &c->args.v[i];
		enum sh_place p = w->text[0] != '-' ? sh_place(s, w->text) : SH_HERE_DIR;

		if ((p == SH_HOME_DIR || p == SH_ROOT_DIR ||
			    ((packs || (c->how & SH_ARGSIN)) && p == SH_IN_HOME &&
				    private_tree(w->text)) ||
			    (p == SH_SYSTEM_DIR && strncmp(w->text, "/usr", 4) != 0)) &&
			!w->from) {
			w->taint |= SH_SECRET;
			w->from = w->text;
		}
	}
}

/* What it made: the file that was named, or what it prints. */
static struct sh_data *made(struct sh *s, struct sh_command *c, const char *to)
{
	struct sh_file *f = to ? sh_file_get(s, to, false) : NULL;

	return f ? &f->data : &c->out;
}

/* A tree of the system or of a service. */
static bool packs_outer(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		enum sh_place p =
			c->args.v[i].text[0] == '/' ? sh_place(s, c->args.v[i].text) : SH_HERE_DIR;

		if (p == SH_ABSOLUTE || p == SH_IN_SYSTEM || p == SH_SYSTEM_DIR)
			return true;
	}
	return false;
}

/* As convert, and what comes out is an archive. */
static int pack(struct sh *s, struct sh_command *c, const char *to)
{
	int rc = sh_convert(s, c, to);

	made(s, c, rc == 0 ? to : NULL)->taint |= SH_PACKED | (packs_outer(s, c) ? SH_OUTER : 0);
	return rc;
}

int sh_seal(struct sh *s, struct sh_command *c, const char *to)
{
	int rc = sh_convert(s, c, to);
	struct sh_data *d = made(s, c, rc == 0 ? to : NULL);

	if (sh_has(c, "|-d|--decrypt|"))
		d->taint |= SH_DECODED;
	else if (d->taint & (SH_PACKED | SH_SMALL))
		d->taint |= SH_SEALED;
	return rc;
}

/* tar x, unzip: files of somebody who is only known by an address. */
void sh_note_unpacked(struct sh *s, const struct sh_command *c)
{
	struct sh_data d = c->in;
	const char *flags = c->args.n > 1 ? c->args.v[1].text : "";

	if (strcmp(c->args.v[0].text, "unzip") != 0 && !strchr(flags, 'x') &&
		!sh_has(c, "|--extract|"))
		return;
	s->past |= SH_PAST_UNPACK;
	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_file *f = sh_file_get(s, c->args.v[i].text, false);

		if (f && (f->data.taint & SH_NET))
			d = f->data;
	}
	if ((d.taint & SH_NET) && d.url && sh_host_of(s, d.url, NULL) == SH_HOST_ODD)
		s->unpacked = d.url;
}

/* find ~ … | tar c -T -: everything that was found in the homes or the system of others. */
static void take_names(struct sh_command *c)
{
	bool reads = sh_has(c, "|-T|--files-from|--files-from=-|-@|") ||
		     sh_is(c->args.v[0].text, "|cpio|pax|");

	if (reads && (c->in.taint & (SH_TREE | SH_SOME)))
		c->in.taint |= SH_SECRET;
}

int sh_compress(struct sh *s, struct sh_command *c)
{
	bool prints = c->args.n < 2 || sh_has(c, "|-c|--stdout|-9c|-kc|-ck|-c9|-|");
	unsigned endless = c->in.taint & SH_ENDLESS;
	const char *from = prints ? NULL : sh_last(c);
	const char *to = from ? bawn_arena_printf(s->a, "%s.%s", from,
					!strcmp(c->args.v[0].text, "bzip2")  ? "bz2"
					: !strcmp(c->args.v[0].text, "xz")   ? "xz"
					: !strcmp(c->args.v[0].text, "zstd") ? "zst"
									     : "gz")
			      : NULL;
	int rc = from && !to ? sh_no_memory(s) : sh_convert(s, c, to);

	if (rc == 0 && !to)
		c->out.taint |= SH_SMALL | endless;
	return rc;
}

int sh_archive(struct sh *s, struct sh_command *c)
{
	const char *p = c->args.v[0].text, *to = NULL;
	const char *flags = c->args.n > 1 ? c->args.v[1].text : "";

	if (sh_is(p, "|tar|gtar|bsdtar|")) {
		to = sh_option(c, "-f", "--file");
		if (!to && flags[0] != '-' && strchr(flags, 'f') && c->args.n > 2)
			to = c->args.v[2].text;
		if (!strchr(flags, 'c') && !sh_has(c, "|--create|-c|"))
			to = NULL;
	} else if (!strcmp(p, "git")) {
		to = sh_has(c, "|bundle|") && c->args.n > 3 ? c->args.v[3].text
							    : sh_option(c, "-o", "--output");
	} else if (sh_is(p, "|7z|7za|7zr|rar|")) {
		to = c->args.n > 2 ? c->args.v[2].text : NULL;
	} else {
		for (size_t i = 1; !to && i < c->args.n; i++) {
			if (c->args.v[i].text[0] != '-' || !c->args.v[i].text[1])
				to = c->args.v[i].text;
		}
	}
	sh_note_unpacked(s, c);
	sh_whole_trees(s, c, true);
	take_names(c);
	return to || sh_is(p, "|tar|gtar|bsdtar|cpio|pax|git|") ? pack(s, c, to)
								: sh_convert(s, c, to);
}
