/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What something that leaves is worth: keys, dumps, archives, lists and plain files, each by the
 * kind of machine that it goes to and by how it gets there.
 */
#include <string.h>

#include "inspect/shell/leak.h"

static bool is_key_copied(const struct sh_leak *l)
{
	return (l->taint & SH_HARD) && l->transfer;
}

static bool is_key(const struct sh_leak *l)
{
	return (l->taint & SH_HARD) != 0;
}

/* Variables that belong to one service, and what the names of its machines have in them. */
static const struct {
	const char *name, *homes;
} bound[] = {
	{"AWS_SECRET", "amazonaws|"},
	{"AWS_SESSION", "amazonaws|"},
	{"AWS_ACCESS", "amazonaws|"},
	{"GITHUB_TOKEN", "github|ghcr|git|ghe|"},
	{"GH_TOKEN", "github|ghcr|git|ghe|"},
	{"GITHUB_PAT", "github|ghcr|git|ghe|"},
	{"GITLAB_TOKEN", "gitlab|git|"},
	{"CI_JOB_TOKEN", "gitlab|git|"},
	{"NPM_TOKEN", "npm|registry|pkg|nexus|artifactory|jfrog|verdaccio|"},
	{"NODE_AUTH_TOKEN", "npm|registry|pkg|nexus|artifactory|jfrog|verdaccio|"},
	{"PYPI_TOKEN", "pypi|registry|pkg|nexus|artifactory|jfrog|"},
	{"ANTHROPIC_API_KEY", "anthropic|"},
	{"OPENAI_API_KEY", "openai|"},
	{"STRIPE_SECRET", "stripe|"},
	{"VAULT_TOKEN", "vault|"},
	{"DATABASE_URL", "?|"},
	{"SSH_PRIVATE_KEY", "?|"},
};

#define BOUND (sizeof(bound) / sizeof(bound[0]))

/* Some machine in `text` is one of those. */
static bool at_home(size_t i, const char *text)
{
	for (const char *h = bound[i].homes; *h; h = strchr(h, '|') + 1) {
		if (memmem(text, strlen(text), h, strcspn(h, "|")))
			return true;
	}
	return false;
}

bool sh_stray_variable(const char *name, const char *host)
{
	const char *h = strstr(host, "://") ? strstr(host, "://") + 3 : host;

	/* who knows what $HOST is; $( ) is part of a name */
	if (h[0] == '$' && h[1] != '(')
		return false;
	for (size_t i = 0; i < BOUND; i++) {
		if (!strncmp(name, bound[i].name, strlen(bound[i].name)))
			return !at_home(i, host);
	}
	return false;
}

bool sh_stray_in_code(const char *code)
{
	/* many services understand what these two are asked */
	bool asks = strcasestr(code, "bearer") || strcasestr(code, "api_key=") ||
		    strcasestr(code, "x-api-key");

	for (size_t i = 0; i < BOUND; i++) {
		if (strstr(code, bound[i].name) && !at_home(i, code) && bound[i].homes[0] != '?' &&
			!(asks && strstr(bound[i].name, "_API_KEY")))
			return true;
	}
	return false;
}

/* A variable that belongs to one service, on its way to another. */
static bool is_stray(const struct sh_leak *l)
{
	return !l->whole && !l->transfer && l->variable && l->host &&
	       sh_stray_variable(l->variable + 1, l->host);
}

/* One variable: that is also how services are used. */
static bool is_variable(const struct sh_leak *l)
{
	return l->variable && !l->whole && !(l->taint & SH_SECRET);
}

static bool is_environment(const struct sh_leak *l)
{
	return (l->taint & SH_ENV) != 0;
}

static bool is_dump(const struct sh_leak *l)
{
	return (l->taint & SH_SECRET) && l->from && strstr(l->from, "dump");
}

/* Backups go to one's own machines, and those are seldom spoken to like that. */
static bool is_dump_to_web(const struct sh_leak *l)
{
	return is_dump(l) && (l->web || l->raw);
}

/* One variable in a letter, over a bare connection or in a name that is looked up: no service is
 * used like that. */
static bool is_variable_told(const struct sh_leak *l)
{
	return is_variable(l) && (l->lookup || (l->stream && !l->web && !l->transfer));
}

/* A backup that goes to a machine of one's own network, through ssh and the like. */
static bool is_dump_at_home(const struct sh_leak *l)
{
	const char *h = l->host ? l->host : "", *at = strchr(h, '@');

	h = at ? at + 1 : h;
	return is_dump(l) && l->transfer &&
	       (!strncmp(h, "10.", 3) || !strncmp(h, "172.", 4) || !strncmp(h, "192.168.", 8));
}

static bool is_store_copied(const struct sh_leak *l)
{
	return (l->taint & SH_SECRET) && l->transfer && l->store;
}

/* What is called a secret, one file of it, into a bucket. */
static bool is_secret_stored(const struct sh_leak *l)
{
	return (l->taint & SH_SECRET) && l->transfer && l->bucket;
}

static bool is_secret_copied(const struct sh_leak *l)
{
	return (l->taint & SH_SECRET) && l->transfer;
}

static bool is_secret(const struct sh_leak *l)
{
	return (l->taint & SH_SECRET) != 0;
}

/* What a microphone hears or a screen shows, as it comes. */
static bool is_recorded(const struct sh_leak *l)
{
	return (l->taint & SH_SECRET) && l->stream && l->from && strstr(l->from, "microphone");
}

/* An archive that nobody on the way can look into. */
static bool is_sealed(const struct sh_leak *l)
{
	return (l->taint & SH_SEALED) && !l->transfer && l->far;
}

/* tar c … | curl -T -: a tree on its way to a page, or one from beyond the workspace over a bare
 * connection. */
static bool is_packed(const struct sh_leak *l)
{
	return (l->taint & SH_PACKED) && l->stream && l->far &&
	       (l->web || (l->raw && (l->taint & SH_OUTER)));
}

/* Work lies in the workspace; this does not. */
static bool is_beyond(const struct sh_leak *l)
{
	return (l->beyond || (l->taint & SH_SYSTEM)) && (l->web || l->raw) && l->far;
}

/* The same, or a tree as it is packed, onto a machine that has no name. */
static bool is_sent_abroad(const struct sh_leak *l)
{
	return l->transfer && l->abroad && (l->papers || (l->stream && (l->taint & SH_OUTER)));
}

/* By ssh and the like, to a machine that says what it is for. */
static bool is_copied(const struct sh_leak *l)
{
	return l->copied && sh_host_drop(l->host);
}

static bool is_parcel(const struct sh_leak *l)
{
	return l->parcel && l->web && l->far;
}

/* What lies where on the whole machine. */
static bool is_tree(const struct sh_leak *l)
{
	return (l->taint & SH_TREE) && l->far;
}

static bool is_lookup(const struct sh_leak *l)
{
	return (l->taint & SH_HOST) && l->lookup;
}

/* What runs here, who is here and whom this machine talks to; its name alone is less. */
static bool is_inventory(const struct sh_leak *l)
{
	return (l->taint & SH_HOST) && l->far && !l->transfer && l->from &&
	       sh_is(l->from, "|ps|netstat|ss|last|w|who|arp|ifconfig|ip|dmesg|lsof|dpkg|rpm|"
			      "crontab|lsmod|");
}

static bool is_host(const struct sh_leak *l)
{
	return (l->taint & SH_HOST) != 0;
}

/* What leaves, and what that is worth by where it goes; the first that fits counts. */
static const struct {
	bool (*is)(const struct sh_leak *);
	double odd, plain;
} worths[] = {
	{is_key_copied, 0.8, 0.6},
	{is_key, 0.95, 0.88},
	{is_stray, 0.85, 0.5},
	{is_variable_told, 0.72, 0.4},
	{is_variable, 0.72, 0.2},
	{is_environment, 0.92, 0.8},
	{is_dump_at_home, 0.25, 0.25},
	{is_dump_to_web, 0.7, 0.36},
	{is_dump, 0.7, 0.25},
	{is_recorded, 0.8, 0.5},
	{is_store_copied, 0.6, 0.36},
	{is_secret_stored, 0.45, 0.31},
	{is_secret_copied, 0.45, 0.25},
	{is_secret, 0.85, 0.6},
	{is_sealed, 0.6, 0.36},
	{is_packed, 0.5, 0.33},
	{is_beyond, 0.5, 0.36},
	{is_sent_abroad, 0.34, 0},
	{is_copied, 0.5, 0},
	{is_parcel, 0.4, 0.31},
	{is_tree, 0.5, 0.33},
	{is_lookup, 0.6, 0.42},
	{is_inventory, 0.6, 0.32},
	{is_host, 0.6, 0.22},
};

double sh_worth(struct sh *s, const struct sh_leak *l)
{
	enum sh_host h = l->host ? sh_host_of(s, l->host, NULL) : SH_HOST_NONE;
	/* machines of one's own have no names either */
	bool own = h == SH_HOST_ODD && !sh_host_drop(l->host) && !sh_host_abroad(l->host);
	bool odd = h == SH_HOST_ODD && !(own && (l->transfer || l->named || is_variable(l)));

	if (h == SH_HOST_ALLOWED)
		return 0;
	if (h == SH_HOST_LOCAL)
		return l->taint & SH_HARD ? 0.35 : 0;
	for (size_t i = 0; i < sizeof(worths) / sizeof(worths[0]); i++) {
		if (worths[i].is(l))
			return odd ? worths[i].odd : worths[i].plain;
	}
	if (!(l->taint & SH_FILE) || !odd)
		return 0;
	if (sh_host_drop(l->host))
		return 0.5;
	return l->transfer ? 0 : 0.35;
}
