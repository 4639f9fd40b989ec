/* SPDX-License-Identifier: Apache-2.0 */
/* Downloads: which address, and the file or output that holds what came from there. */
#include <string.h>

#include "inspect/shell/model.h"

static const char *url_of(const struct sh_command *c)
{
	const char *bare = NULL;

	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (sh_is_url(t) && t[0] != '-')
			return t;
		if (t[0] != '-' && strchr(t, '.') && !strchr(t, ' ') && !bare &&
			c->args.v[i - 1].text[0] != '-')
			bare = t;
	}
	if (!bare && c->args.n > 1)
		bare = c->args.v[c->args.n - 1].text;
	return bare;
}

static const char *url_name(const char *url)
{
	const char *p = strstr(url, "://");
	const char *slash = strrchr(p ? p + 3 : url, '/');

	return slash && slash[1] ? slash + 1 : "index.html";
}

/* The file that a download ends up in; NULL: its output. */
static const char *fetched_file(struct sh *s, const struct sh_command *c, const char *url)
{
	const char *p = c->args.v[0].text, *file, *dir = NULL;
	bool wget = sh_is(p, "|wget|wget2|");

	if (sh_is(p, "|lynx|w3m|links|elinks|"))
		return NULL;
	if (sh_is(p, "|svn|ipfs|"))
		return sh_has(c, "|cat|") ? NULL : sh_last(c);
	if (wget)
		file = sh_option(c, "-O", "--output-document");
	else if (sh_is(p, "|aria2c|axel|"))
		file = sh_option(c, "-o", "--out");
	else
		file = sh_option(c, "-o", "--output");
	if (sh_is(p, "|lwp-download|") && c->args.n > 2)
		file = c->args.v[c->args.n - 1].text;
	if (!file && url &&
		(wget || sh_is(p, "|aria2c|axel|lwp-download|fetch|") ||
			sh_has(c,
				"|-O|--remote-name|-OJ|-JO|-LO|-LJO|-sLO|-sO|-fsSLO|-sSLO|-OL|-fLO|-LOk|-kO|")))
		file = url_name(url);
	if (wget)
		dir = sh_option(c, "-P", "--directory-prefix");
	else if (!strcmp(p, "aria2c"))
		dir = sh_option(c, "-d", "--dir");
	else if (!strcmp(p, "curl"))
		dir = sh_option(c, "", "--output-dir");
	if (!file || !dir || file[0] == '/' || file[0] == '-')
		return file;
	return bawn_arena_printf(s->a, "%s/%s", dir, file);
}

/* curl, wget and their kin. */
int sh_fetch(struct sh *s, struct sh_command *c)
{
	const char *url = url_of(c), *file;
	struct sh_data d = sh_unknown(SH_NET, url);

	d.url = url;
	if (url && sh_host_of(s, url, NULL) == SH_HOST_LOCAL)
		d.taint = 0;
	if (url && !strncmp(url, "file://", 7)) {
		d = sh_unknown(SH_FILE, NULL);
		sh_read_files(s, c, &d);
	}
	file = fetched_file(s, c, url);
	if (file && strcmp(file, "-") != 0 && strcmp(file, "/dev/stdout") != 0) {
		c->out = sh_text("");
		return sh_put_file(s, c, file, &d);
	}
	c->out = d;
	return 0;
}

/* tftp, ftpget, and scp or rsync from a bare address: a download under another name. */
int sh_fetch_odd(struct sh *s, struct sh_command *c, bool *hit)
{
	const char *p = c->args.v[0].text, *file = NULL, *from = NULL;
	struct sh_data d = sh_unknown(SH_NET, NULL);

	for (size_t i = 1; !from && i + 1 <= c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (t[0] != '-' && sh_host_of(s, t, NULL) == SH_HOST_ODD &&
			(i + 1 < c->args.n || !strcmp(p, "tftp")))
			from = t;
	}
	*hit = from != NULL;
	if (!from)
		return 0;
	if (!strcmp(p, "tftp"))
		file = sh_option(c, "-l", "") ? sh_option(c, "-l", "") : sh_option(c, "-r", "");
	else if (!strcmp(p, "ftpget"))
		file = c->args.n > 3 ? c->args.v[c->args.n - 2].text : NULL;
	else
		file = sh_last(c);
	d.from = d.url = from;
	c->out = sh_text("");
	return sh_put_file(s, c, file, &d);
}

/* The machine that a raw connection goes to. */
const char *sh_peer(struct sh *s, const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text, *colon = strchr(t, ':');
		enum sh_host h;

		/* TCP:host:port,option as socat writes it */
		if (colon && !strcmp(c->args.v[0].text, "socat") && strchr(colon + 1, ':'))
			t = colon + 1;
		h = t[0] != '-' ? sh_host_of(s, t, NULL) : SH_HOST_NONE;
		if (h != SH_HOST_NONE)
			return h != SH_HOST_LOCAL ? t : NULL;
	}
	/* whoever calls */
	if (sh_has(c, "|s_server|"))
		return "0.0.0.1";
	for (size_t i = 1; i < c->args.n && c->args.v[i].text[0] == '-'; i++) {
		if (strchr(c->args.v[i].text, 'l'))
			return "0.0.0.1";
	}
	return NULL;
}
