/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One checker per element type. Paths become canonical here so that the merge can compare them as
 * text; patterns keep their text, for a denied path need not exist yet.
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "policy/entry.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pcre2.h>
#include <seccomp.h>
#include <string.h>

#include "base/control.h"
#include "base/path.h"

const char *bawn_entry_literal(struct bawn_arena *a, const char *text)
{
	size_t n = 0;
	char *out;

	if (!bawn_path_is_glob(text))
		return text;
	out = bawn_arena_alloc(a, strlen(text) * 3 + 1);
	for (; out && *text; text++) {
		bool magic = strchr("*?[", *text) != NULL;

		if (magic)
			out[n++] = '[';
		out[n++] = *text;
		if (magic)
			out[n++] = ']';
	}
	return out;
}

/* What a ${NAME} stands for; NULL if there is no such name. */
static const char *variable(const struct bawn_context *c, const char *name, size_t len)
{
	const char *venv;

	if (len == strlen("PROJECT_DIR") && !strncmp(name, "PROJECT_DIR", len))
		return c->workspace;
	if (len != strlen("VENV_DIR") || strncmp(name, "VENV_DIR", len) != 0)
		return NULL;
	venv = getenv("VIRTUAL_ENV"); /* NOLINT(concurrency-mt-unsafe): no threads */
	if (venv && *venv == '/')
		return venv;
	return bawn_path_join(c->a, c->workspace, ".venv");
}

static int expand_variables(const struct bawn_context *c, const char *raw,
	const struct bawn_origin *from, bool pattern, const char **ret)
{
	const char *text = raw, *start;

	while ((start = strstr(text, "${"))) {
		const char *end = strchr(start, '}');
		const char *value = end ? variable(c, start + 2, (size_t)(end - start - 2)) : NULL;

		if (!value)
			return bawn_bad(c, from, -EINVAL,
				"'%s': only ${PROJECT_DIR} and ${VENV_DIR} are known",
				bawn_quote(c->a, raw));
		/* a value that itself contains "${" would never end */
		if (strstr(value, "${"))
			return bawn_bad(c, from, -EINVAL, "'%s' expands to a path with '${' in it",
				bawn_quote(c->a, raw));
		if (pattern)
			value = bawn_entry_literal(c->a, value);
		text = value ? bawn_arena_printf(
				       c->a, "%.*s%s%s", (int)(start - text), text, value, end + 1)
			     : NULL;
		if (!text)
			return bawn_oom(c);
	}
	*ret = text;
	return 0;
}

/* ~ and ${…}; `pattern` if the result is to be matched. 1 if there is no home. */
static int expand(const struct bawn_context *c, const char *raw, const struct bawn_origin *from,
	bool pattern, const char **ret)
{
	const char *home;

	if (raw[0] != '~')
		return strstr(raw, "${") ? expand_variables(c, raw, from, pattern, ret)
					 : (*ret = raw, 0);
	if (raw[1] && raw[1] != '/')
		return bawn_bad(
			c, from, -EINVAL, "'%s': only ~ and ~/ are known", bawn_quote(c->a, raw));
	if (!c->home)
		return 1;
	home = pattern ? bawn_entry_literal(c->a, c->home) : c->home;
	*ret = home ? bawn_arena_printf(c->a, "%s%s", home, raw + 1) : NULL;
	return *ret ? 0 : bawn_oom(c);
}

static int no_home(const struct bawn_context *c, const char *raw, const struct bawn_origin *from)
{
	return bawn_bad(
		c, from, -ENOENT, "'%s': there is no home directory", bawn_quote(c->a, raw));
}

static int path_text(const struct bawn_context *c, const char *raw, const struct bawn_origin *from,
	const char **ret)
{
	const char *text = NULL;
	int r = expand(c, raw, from, false, &text);

	if (r < 0)
		return r;
	if (r > 0)
		return no_home(c, raw, from);
	if (*text != '/')
		text = bawn_arena_printf(c->a, "%s/%s", c->workspace, text);
	if (!text)
		return bawn_oom(c);
	*ret = text;
	return 0;
}

int bawn_entry_path(const struct bawn_context *c, const char *raw, const struct bawn_origin *from,
	const char **ret)
{
	const char *text;
	int r;

	if (!*raw)
		return bawn_bad(c, from, -EINVAL, "empty path");
	r = path_text(c, raw, from, &text);
	if (r < 0)
		return r;
	r = bawn_path_resolve(c->a, text, ret);
	if (r == -ENOMEM)
		return bawn_oom(c);
	if (r < 0)
		return bawn_bad(
			c, from, r, "path '%s': %s", bawn_quote(c->a, raw), strerrordesc_np(-r));
	return 0;
}

/* True for an absent path that the built-in list names: optional there, so optional in a file. */
static bool is_optional(const struct bawn_field *f, const char *path)
{
	size_t n = strlen(path);

	for (const char *p = f->def_text; *p; p += *p == ',') {
		size_t m = strcspn(p, ",");

		if (m == n && !strncmp(p, path, n))
			return faccessat(AT_FDCWD, path, F_OK, 0) < 0 && errno == ENOENT;
		p += m;
	}
	return false;
}

/* System directories keep their links (/bin -> usr/bin): the plan makes the same links inside. */
static int system_path(const struct bawn_context *c, struct bawn_item *item)
{
	const char *text;
	int r = bawn_entry_path(c, item->raw, &item->from, &text);

	if (r < 0)
		return r;
	r = path_text(c, item->raw, &item->from, &text);
	if (r < 0)
		return r;
	item->text = bawn_path_clean(c->a, text);
	return item->text ? 0 : bawn_oom(c);
}

static bool has_dotdot(const char *path)
{
	for (const char *p = path; *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return true;
		p += n;
	}
	return false;
}

static bool is_bare(const char *text)
{
	size_t n = strcspn(text, "/");

	return n && text[n + strspn(text + n, "/")] == '\0' && !(n == 1 && *text == '.');
}

static int glob_text(const struct bawn_context *c, struct bawn_item *item)
{
	const char *text = item->raw, *below;
	int r;

	if (!*text)
		return bawn_bad(c, &item->from, -EINVAL, "empty path");
	r = expand(c, item->raw, &item->from, true, &text);
	if (r < 0)
		return r;
	if (r > 0)
		return 1;
	if (has_dotdot(text))
		return bawn_bad(c, &item->from, -EINVAL, "'%s': write the path without '..'",
			bawn_quote(c->a, item->raw));
	if (*text != '/') {
		below = bawn_entry_literal(c->a, c->workspace);
		text = below ? bawn_arena_printf(
				       c->a, "%s/%s%s", below, is_bare(text) ? "**/" : "", text)
			     : NULL;
	}
	item->text = text ? bawn_path_clean(c->a, text) : NULL;
	return item->text ? 0 : bawn_oom(c);
}

static int name_text(const struct bawn_context *c, struct bawn_item *item)
{
	const char *raw = item->raw;
	char *clean;

	if (!*raw || *raw == '/' || *raw == '~' || has_dotdot(raw) || strpbrk(raw, "*?\n"))
		return bawn_bad(c, &item->from, -EINVAL,
			"bad name '%s', expected a path relative to the workspace",
			bawn_quote(c->a, raw));
	clean = bawn_path_clean(c->a, raw);
	if (!clean)
		return bawn_oom(c);
	if (!clean[1])
		return bawn_bad(c, &item->from, -EINVAL,
			"'%s' is the workspace itself, name something in it",
			bawn_quote(c->a, raw));
	item->text = clean + 1;
	return 0;
}

bool bawn_env_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	while (isalnum((unsigned char)*name) || *name == '_')
		name++;
	return !*name;
}

/* NAME or NAME=VARIABLE */
static int secret_text(const struct bawn_context *c, struct bawn_item *item)
{
	const char *eq = strchr(item->raw, '=');
	const char *name =
		eq ? bawn_arena_strndup(c->a, item->raw, (size_t)(eq - item->raw)) : item->raw;

	if (!name)
		return bawn_oom(c);
	if (!bawn_env_name(name) || (eq && !bawn_env_name(eq + 1)))
		return bawn_bad(c, &item->from, -EINVAL,
			"bad secret '%s', expected NAME or NAME=VARIABLE",
			bawn_quote(c->a, item->raw));
	return 0;
}

static int word_text(
	const struct bawn_context *c, const struct bawn_field *f, struct bawn_item *item)
{
	const char *raw = item->raw;

	item->text = raw;
	if (!*raw || strchr(raw, '\n'))
		return bawn_bad(c, &item->from, -EINVAL, "expected one word or line");
	if (bawn_field_index(f) == BAWN_F_sec_use)
		return secret_text(c, item);
	if (bawn_field_index(f) != BAWN_F_env_pass)
		return 0;
	for (const char *p = raw; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '*')
			return bawn_bad(c, &item->from, -EINVAL,
				"bad variable name '%s', expected letters, digits, '_' and '*'",
				bawn_quote(c->a, raw));
	return 0;
}

static int host_text(
	const struct bawn_context *c, const struct bawn_field *f, struct bawn_item *item)
{
	const char *why = "";
	int r = bawn_host_clean(
		c->a, item->raw, bawn_field_index(f) == BAWN_F_net_block_hosts, &item->text, &why);

	if (r == -ENOMEM)
		return bawn_oom(c);
	if (r < 0)
		return bawn_bad(c, &item->from, r,
			"bad host '%s': %s; expected example.org, *.example.org:8080, 10.0.0.0/8 or "
			"GET example.org/path/*",
			bawn_quote(c->a, item->raw), why);
	return 0;
}

static int port_text(const struct bawn_context *c, struct bawn_item *item)
{
	unsigned port = 0;
	const char *p = item->raw;

	for (; isdigit((unsigned char)*p) && port <= UINT16_MAX; p++)
		port = port * 10 + (unsigned)(*p - '0');
	if (*p || p == item->raw || !port || port > UINT16_MAX)
		return bawn_bad(c, &item->from, -EINVAL, "bad port '%s', expected 1 to 65535",
			bawn_quote(c->a, item->raw));
	item->text = bawn_arena_printf(c->a, "%u", port);
	return item->text ? 0 : bawn_oom(c);
}

int bawn_entry_regex(const struct bawn_context *c, const char *raw, const struct bawn_origin *from)
{
	PCRE2_SIZE at = 0;
	char why[128];
	int code = 0;
	pcre2_code *re =
		pcre2_compile((PCRE2_SPTR)raw, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &code, &at, NULL);

	if (!re) {
		if (pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why)) < 0)
			why[0] = '\0';
		return bawn_bad(c, from, -EINVAL,
			"bad regular expression '%s' at character %zu: %s", bawn_quote(c->a, raw),
			(size_t)at + 1, why);
	}
	pcre2_code_free(re);
	return 0;
}

static int regex_text(const struct bawn_context *c, struct bawn_item *item)
{
	item->text = item->raw;
	return bawn_entry_regex(c, item->raw, &item->from);
}

static int known_text(
	const struct bawn_context *c, struct bawn_item *item, const char *what, bool known)
{
	item->text = item->raw;
	if (!known)
		return bawn_bad(c, &item->from, -EINVAL, "unknown %s '%s'", what,
			bawn_quote(c->a, item->raw));
	return 0;
}

static int make(const struct bawn_context *c, const struct bawn_field *f, struct bawn_item *item)
{
	switch (f->elem) {
	case BAWN_ELEM_PATH:
		return bawn_field_index(f) == BAWN_F_fs_system
			       ? system_path(c, item)
			       : bawn_entry_path(c, item->raw, &item->from, &item->text);
	case BAWN_ELEM_GLOB:
		return glob_text(c, item);
	case BAWN_ELEM_NAME:
		return name_text(c, item);
	case BAWN_ELEM_WORD:
		return word_text(c, f, item);
	case BAWN_ELEM_HOST:
		return host_text(c, f, item);
	case BAWN_ELEM_PORT:
		return port_text(c, item);
	case BAWN_ELEM_REGEX:
		return regex_text(c, item);
	case BAWN_ELEM_CONTROL:
		return known_text(c, item, "control", bawn_control_find(item->raw) != 0);
	case BAWN_ELEM_SYSCALL:
	default:
		return known_text(c, item, "system call",
			seccomp_syscall_resolve_name(item->raw) != __NR_SCMP_ERROR);
	}
}

int bawn_entry_make(
	const struct bawn_context *c, const struct bawn_field *f, struct bawn_item *item)
{
	int r;

	if (f->elem == BAWN_ELEM_PATH && is_optional(f, item->raw))
		return 1;
	r = make(c, f, item);
	return r > 0 ? no_home(c, item->raw, &item->from) : r;
}

int bawn_entry_default(
	const struct bawn_context *c, const struct bawn_field *f, struct bawn_item *item)
{
	if (f->elem != BAWN_ELEM_PATH)
		return make(c, f, item);
	/* Built-in paths are absolute and clean; absent ones are optional by definition. */
	item->text = item->raw;
	return faccessat(AT_FDCWD, item->raw, F_OK, 0) < 0 ? 1 : 0;
}
