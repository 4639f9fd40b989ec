/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and settings that programs with another purpose are given, and the commands in them: ssh's
 * configuration, scripts of cmake and m4, the steps of an image, settings of cargo and git, a
 * compiler's wrapper. Files count as far as the text itself wrote them.
 */
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "inspect/shell/model.h"

/* What a file holds, when that is known; - and /dev/stdin: its input. */
static const char *content(struct sh *s, const struct sh_command *c, const char *path)
{
	if (!path)
		return NULL;
	if (sh_is(path, "|-|/dev/stdin|/dev/fd/0|"))
		return c->in.known && c->in.len ? c->in.text : NULL;
	return sh_file_text(s, path);
}

/* ProxyCommand CMD, LocalCommand CMD, KnownHostsCommand CMD, Match exec "CMD" */
static void ssh_config(struct sh *s, struct sh_inners *in, const char *t)
{
	static const char *const keys[] = {
		"ProxyCommand", "LocalCommand", "KnownHostsCommand", "Match exec"};

	while (t && *t && in->n < SH_INNER_MAX / 2) {
		size_t n;

		t += strspn(t, " \t\n");
		n = strcspn(t, "\n");
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			size_t k = strlen(keys[i]);

			if (n > k && !strncasecmp(t, keys[i], k) && strchr(" \t=", t[k]))
				(void)sh_inner_put(
					s, in, bawn_arena_strndup(s->a, t + k + 1, n - k - 1), 0);
		}
		t += n;
	}
}

/* Where the call ends: brackets inside of quotes do not end it. */
static size_t cmake_end(const char *t)
{
	bool quoted = false;
	size_t n = 0;

	for (; t[n] && (quoted || t[n] != ')'); n++) {
		if (t[n] == '\\' && t[n + 1])
			n++;
		else if (t[n] == '"')
			quoted = !quoted;
	}
	return n;
}

/* The words of execute_process(COMMAND …) up to a keyword or the end of the call. */
static void cmake_words(struct sh *s, struct sh_inners *in, const char *t)
{
	static const char *const keys[] = {"OUTPUT_", "RESULT_", "ERROR_", "WORKING_DIRECTORY",
		"TIMEOUT", "COMMAND_", "INPUT_FILE"};
	size_t n = cmake_end(t);
	char *x;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *hit = memmem(t, n, keys[i], strlen(keys[i]));

		n = hit ? (size_t)(hit - t) : n;
	}
	x = bawn_arena_strndup(s->a, t, n);
	for (char *p = x; p && *p; p++)
		*p = (char)(*p == '\n' ? ' ' : *p);
	(void)sh_inner_put(s, in, x, 0);
}

static void cmake_script(struct sh *s, struct sh_inners *in, const char *t)
{
	const char *p = t;

	while (p && in->n < SH_INNER_MAX / 2 && (p = strcasestr(p, "execute_process"))) {
		const char *end = p + strlen("execute_process");

		p = strstr(end, "COMMAND ");
		if (p)
			cmake_words(s, in, p + strlen("COMMAND "));
		p = p ? p + 1 : NULL;
	}
	p = t ? strstr(t, "REMOVE_RECURSE ") : NULL;
	if (p)
		(void)sh_inner_put(s, in,
			bawn_arena_printf(s->a, "rm -rf %.*s", (int)strcspn(p + 15, ")"), p + 15),
			0);
}

/* gcc -wrapper a,b,c: the program and its words. */
static void compiler_wrapper(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const char *t = sh_option(c, "-wrapper", "-wrapper");
	struct sh_words w = {0};

	while (t && *t) {
		size_t n = strcspn(t, ",");
		struct sh_word *x = bawn_grow(s->a, &w.v, &w.n, &w.cap);

		if (!x)
			return;
		*x = (struct sh_word){.text = bawn_arena_strndup(s->a, t, n), .known = true};
		if (!x->text)
			return;
		t += n + (t[n] == ',');
	}
	if (w.n)
		(void)sh_inner_put(s, in, sh_quote_words(s, &w, 0), 0);
}

/* A value of TOML that names a program: 'a b', "a b", ["a", "b"]. */
static const char *toml_words(struct sh *s, const char *v)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	size_t n = strlen(v), k = 0;

	if (*v == '\'' && n > 1)
		return bawn_arena_strndup(s->a, v + 1, n - 2);
	if (*v == '"' && n > 1)
		return sh_decode_escapes(s->a, v + 1, n - 2, &k);
	for (; *v; v++)
		bawn_buf_add(&b, strchr("[],", *v) ? " " : v, 1);
	return b.failed ? NULL : bawn_arena_strndup(s->a, b.data ? b.data : "", b.len);
}

/* KEY=VALUE where cargo starts what VALUE names; the key may have an = between quotes. */
static void cargo_setting(struct sh *s, struct sh_inners *in, const char *t)
{
	static const char *const keys[] = {
		"runner", "rustc-wrapper", "rustc-workspace-wrapper", "rustc", "rustdoc", "linker"};

	for (const char *eq = strchr(t, '='); eq; eq = strchr(eq + 1, '=')) {
		const char *end = eq;

		while (end > t && strchr(" \"'", end[-1]))
			end--;
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			size_t n = strlen(keys[k]);

			if ((size_t)(end - t) < n || strncmp(end - n, keys[k], n) != 0)
				continue;
			(void)sh_inner_put(s, in, toml_words(s, eq + 1 + strspn(eq + 1, " ")), 0);
			return;
		}
	}
}

/* cargo --config KEY=VALUE */
static void cargo_config(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (!strncmp(t, "--config=", 9))
			cargo_setting(s, in, t + 9);
		else if (!strcmp(c->args.v[i - 1].text, "--config"))
			cargo_setting(s, in, t);
	}
}

/* One step of an image; lines that go on are one line. Only what reaches out of the image or hides
 * what it does counts: the rest is the image's own business. */
static void image_step(struct sh *s, struct sh_inners *in, const char *t, size_t n)
{
	static const char *const reaches[] = {"curl", "wget", "/dev/tcp", "nc ", "ncat", "socat",
		"base64", "urlopen", "http://", "/run/secrets", NULL};
	char *x = bawn_arena_strndup(s->a, t, n);
	bool far = false;

	for (size_t i = 0; x && !far && reaches[i]; i++)
		far = strstr(x, reaches[i]) != NULL;
	if (!far)
		return;
	while (!strncmp(x, "--", 2)) {
		x += strcspn(x, " \t");
		x += strspn(x, " \t");
	}
	for (char *p = x; *x == '[' && *p; p++)
		*p = (char)(strchr("[],", *p) ? ' ' : *p);
	(void)sh_inner_put(s, in, x, SH_REMOTE);
}

static void image_steps(struct sh *s, struct sh_inners *in, const char *t)
{
	while (t && *t && in->n < SH_INNER_MAX / 2) {
		size_t n = 0;

		t += strspn(t, " \t\n");
		while (t[n] && (t[n] != '\n' || (n && t[n - 1] == '\\')))
			n++;
		if (n > 4 && !strncasecmp(t, "RUN", 3) && strchr(" \t", t[3]))
			image_step(s, in, t + 4, n - 4);
		t += n;
	}
}

/* docker build [-f FILE] [.|-] */
static void image(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const char *file = sh_option(c, "-f", "--file");
	const char *t = content(s, c, file);

	if (!file && !strcmp(c->args.v[c->args.n - 1].text, "-"))
		t = content(s, c, "-");
	for (const char *const *x = (const char *const[]){"Dockerfile", "Containerfile", NULL};
		!file && !t && *x; x++)
		t = content(s, c, *x);
	image_steps(s, in, t);
}

/* syscmd(`CMD'), esyscmd(CMD) */
static void macros(struct sh *s, struct sh_inners *in, const char *t)
{
	for (t = t ? strstr(t, "syscmd(") : NULL; t && in->n < SH_INNER_MAX / 2;
		t = strstr(t, "syscmd(")) {
		size_t n;

		t += strlen("syscmd(");
		t += strspn(t, " \n`'\"");
		n = strcspn(t, ")");
		while (n && strchr("'\" ", t[n - 1]))
			n--;
		(void)sh_inner_put(s, in, bawn_arena_strndup(s->a, t, n), 0);
	}
}

void sh_given(struct sh *s, const struct sh_command *c, struct sh_inners *in)
{
	const char *p = c->args.v[0].text;

	if (sh_is(p, "|ssh|scp|sftp|rsync|"))
		ssh_config(s, in, content(s, c, sh_option(c, "-F", "-F")));
	else if (!strcmp(p, "cmake") && sh_has(c, "|-P|"))
		cmake_script(s, in, content(s, c, sh_option(c, "-P", "-P")));
	else if (!strcmp(p, "cmake") && content(s, c, "CMakeLists.txt"))
		cmake_script(s, in, content(s, c, "CMakeLists.txt"));
	else if (sh_is(p, "|gcc|g++|cc|c++|clang|clang++|gfortran|"))
		compiler_wrapper(s, c, in);
	else if (!strcmp(p, "cargo"))
		cargo_config(s, c, in);
	else if (sh_is(p, "|docker|podman|nerdctl|buildah|docker-compose|") &&
		 sh_has(c, "|build|bud|buildx|"))
		image(s, c, in);
	else if (!strcmp(p, "m4"))
		macros(s, in, content(s, c, c->args.n > 1 ? c->args.v[c->args.n - 1].text : "-"));
}
