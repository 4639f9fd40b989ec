/* SPDX-License-Identifier: Apache-2.0 */
/* What a secret may look like. Checked by both sides: what is set, and what is read from a file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/random.h>

#include "base/netrule.h"
#include "secrets/secrets.h"

static const char *const access_names[] = {
	[BAWN_ACCESS_ALWAYS] = "always",
	[BAWN_ACCESS_APPROVAL] = "approval",
	[BAWN_ACCESS_AUTH] = "auth",
	[BAWN_ACCESS_SKILL_ONLY] = "skill-only",
	[BAWN_ACCESS_TRIGGER_ONLY] = "trigger-only",
};

static const char *const injection_names[] = {
	[BAWN_INJECT_ENVIRONMENT] = "environment",
	[BAWN_INJECT_FILE_MOUNT] = "file-mount",
	[BAWN_INJECT_BOUNDARY] = "host-boundary",
};

const char *bawn_secret_access_name(enum bawn_secret_access access)
{
	return access_names[access];
}

const char *bawn_secret_injection_name(enum bawn_secret_injection injection)
{
	return injection_names[injection];
}

int bawn_secret_access_find(const char *word, enum bawn_secret_access *ret)
{
	for (unsigned i = 0; i < BAWN_ACCESS_COUNT; i++)
		if (!strcmp(word, access_names[i])) {
			*ret = (enum bawn_secret_access)i;
			return 0;
		}
	return -EINVAL;
}

int bawn_secret_injection_find(const char *word, enum bawn_secret_injection *ret)
{
	for (unsigned i = 0; i < BAWN_INJECT_COUNT; i++)
		if (!strcmp(word, injection_names[i])) {
			*ret = (enum bawn_secret_injection)i;
			return 0;
		}
	return -EINVAL;
}

bool bawn_secret_name_ok(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	size_t n = strlen(name);

	return n && n <= BAWN_SECRET_NAME_MAX && strchr(letters, name[0]) &&
	       strspn(name, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") == n;
}

/* Printable, no controls; UTF-8 is fine. */
static bool text_ok(const char *s)
{
	size_t n = strlen(s);

	if (n > BAWN_SECRET_TEXT_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return false;
	return true;
}

static bool header_ok(const char *s)
{
	static const char token[] = "0123456789abcdefghijklmnopqrstuvwxyz!#$%&'*+-.^_`|~";

	return *s && strlen(s) <= BAWN_SECRET_NAME_MAX && strspn(s, token) == strlen(s);
}

/* A host and perhaps a port: no method, no path, and neither everything nor a whole top level. */
static int check_host(const struct bawn_secret *s, const char *host, struct bawn_error *err)
{
	const char *why = NULL;
	struct bawn_netrule r;

	if (bawn_netrule_parse(host, &r, &why) < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL, "host '%.200s' of '%s': %s", host,
			s->name, why);
	if (*r.methods || *r.path)
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"host '%.200s' of '%s': a secret is bound to HOST or HOST:PORT, without method or path",
			host, s->name);
	if (r.kind == BAWN_NETRULE_ANY || bawn_netrule_is_wide(&r) || r.any_port)
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"host '%.200s' of '%s' is too wide: name the hosts that are to get the secret",
			host, s->name);
	if (r.kind == BAWN_NETRULE_BLOCK)
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"host '%.200s' of '%s' is an address: certificates are for names", host,
			s->name);
	return 0;
}

static int check_list(const char *const *v, bool (*ok)(const char *), const char *what,
	const struct bawn_secret *s, struct bawn_error *err)
{
	size_t n = 0;

	for (; v[n]; n++)
		if (!*v[n] || !ok(v[n]))
			return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
				"%s '%.200s' of '%s' is none", what, v[n], s->name);
	if (n > BAWN_SECRET_LIST_MAX)
		return bawn_fail(err, BAWN_ERR_VAULT, -E2BIG, "'%s' has more than %d of: %s",
			s->name, BAWN_SECRET_LIST_MAX, what);
	return 0;
}

static int check_lists(const struct bawn_secret *s, struct bawn_error *err)
{
	int r = check_list(s->headers, header_ok, "header", s, err);

	if (r == 0)
		r = check_list(s->skills, text_ok, "skill", s, err);
	if (r == 0)
		r = check_list(s->triggers, text_ok, "trigger", s, err);
	if (r == 0)
		r = check_list(s->hosts, text_ok, "host", s, err);
	for (size_t i = 0; r == 0 && s->hosts[i]; i++)
		r = check_host(s, s->hosts[i], err);
	return r;
}

int bawn_secret_check(const struct bawn_secret *s, struct bawn_error *err)
{
	int r;

	if (!bawn_secret_name_ok(s->name))
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"'%.100s' is no name for a secret: letters, digits and _, at most %d",
			s->name, BAWN_SECRET_NAME_MAX);
	if (!bawn_secret_name_ok(s->env))
		return bawn_fail(
			err, BAWN_ERR_VAULT, -EINVAL, "'%.100s' is no name for a variable", s->env);
	if (!text_ok(s->note))
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"the note of '%s' is longer than %d bytes or has control characters",
			s->name, BAWN_SECRET_TEXT_MAX);
	r = check_lists(s, err);
	if (r < 0)
		return r;
	if (s->injection == BAWN_INJECT_BOUNDARY && (!s->hosts[0] || !s->headers[0]))
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"'%s' needs the hosts that are to get it (--host) and their headers",
			s->name);
	if ((s->access == BAWN_ACCESS_SKILL_ONLY && !s->skills[0]) ||
		(s->access == BAWN_ACCESS_TRIGGER_ONLY && !s->triggers[0]))
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"access '%s' of '%s' needs at least one %s", access_names[s->access],
			s->name,
			s->access == BAWN_ACCESS_SKILL_ONLY ? "--for-skill" : "--for-trigger");
	return 0;
}

int bawn_secret_check_value(
	const struct bawn_secret *s, const char *value, size_t len, struct bawn_error *err)
{
	if (!len || len > BAWN_SECRET_VALUE_MAX)
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"the value of '%s' has %zu bytes; 1 to %d are possible", s->name, len,
			BAWN_SECRET_VALUE_MAX);
	if (memchr(value, '\0', len))
		return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
			"the value of '%s' has a NUL byte in it", s->name);
	for (size_t i = 0; s->hosts[0] && i < len; i++)
		if (value[i] < ' ' || value[i] > '~')
			return bawn_fail(err, BAWN_ERR_VAULT, -EINVAL,
				"the value of '%s' has bytes that no header can carry (line ends, controls, not ASCII)",
				s->name);
	return 0;
}

int bawn_secret_placeholder(const char *name, char dst[BAWN_PLACEHOLDER_MAX + 1])
{
	unsigned char random[16];
	size_t at;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	at = (size_t)snprintf(dst, BAWN_PLACEHOLDER_MAX + 1, "bawn-secret-%s-", name);
	for (char *p = dst; *p; p++) {
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
		else if (*p == '_')
			*p = '-';
	}
	for (size_t i = 0; i < sizeof(random) && at + 2 <= BAWN_PLACEHOLDER_MAX; i++)
		at += (size_t)snprintf(dst + at, BAWN_PLACEHOLDER_MAX + 1 - at, "%02x", random[i]);
	return 0;
}
