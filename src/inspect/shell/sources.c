/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose output is worth something by itself: the environment, the host, stores of secrets.
 */
#include <string.h>

#include "base/buf.h"
#include "inspect/scan.h"
#include "inspect/shell/model.h"

#define SAID_MAX ((size_t)4096) /* of the words that a program may print */

/* ps e, ps auxe, ps eww: a letter that says more than -e does. */
static bool shows_environment(const struct sh_command *c)
{
	const char *t = c->args.n > 1 ? c->args.v[1].text : "";

	return sh_has(c, "|-E|e|axe|auxe|eaux|eww|auxeww|axeww|ewwax|") ||
	       (t[0] && !t[strspn(t, "auxewf")] && strchr(t, 'e'));
}

/* A database as a whole. */
static bool dumps(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	if (sh_is(p, "|mysqldump|mariadb-dump|pg_dump|pg_dumpall|mongodump|mongoexport|slapcat|"
		     "elasticdump|xtrabackup|mariabackup|ysql_dump|"))
		return true;
	return (!strcmp(p, "sqlite3") && strstr(c->line, ".dump")) ||
	       (!strcmp(p, "redis-cli") && strstr(c->line, "--rdb -")) ||
	       (!strcmp(p, "consul") && strstr(c->line, "kv export"));
}

/* What a query prints for another program. */
static bool asks_database(const struct sh_command *c)
{
	if (!(c->how & SH_PIPED) ||
		!sh_is(c->args.v[0].text, "|psql|mysql|mariadb|sqlite3|clickhouse-client|mongosh|"
					  "sqlcmd|duckdb|"))
		return false;
	return (strcasestr(c->line, "select\x1f") && strcasestr(c->line, "\x1f"
									 "from\x1f")) ||
	       strcasestr(c->line, "copy\x1f") || strstr(c->line, ".find(");
}

/* Stores and tools that print every secret they know. */
static bool tells_all(const struct sh_command *c)
{
	static const struct {
		const char *programs, *order;
	} ways[] = {
		{"|security|", "find-generic"},
		{"|security|", "find-internet"},
		{"|security|", "dump-keychain"},
		{"|gpg|gpg2|", "export-secret"},
		{"|kubectl|oc|", "get secret"},
		{"|kubectl|oc|", "config view --raw"},
		{"|terraform|tofu|", "state pull"},
		{"|heroku|", " config"},
		{"|railway|", "variables"},
		{"|aws|", "configure export-credentials"},
		{"|git|", "credential fill"},
		{"|bw|lpass|", " export"},
		{"|etcdctl|", "/registry/secrets"},
		{"|npm|pnpm|yarn|", "_authToken"},
		{"|aws|", "sts get-session-token"},
		{"|aws|", "sts assume-role"},
		{"|aws|", "create-access-key"},
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (sh_is(c->args.v[0].text, ways[i].programs) && strstr(c->line, ways[i].order))
			return true;
	}
	return false;
}

/* docker inspect NAME: with the container's whole environment. */
static bool inspects(const struct sh_command *c)
{
	const char *order = c->args.n > 1 ? c->args.v[1].text : "";

	return sh_is(c->args.v[0].text, "|docker|podman|") &&
	       (!strcmp(order, "inspect") || strstr(c->line, " container inspect ")) &&
	       !strstr(c->line, " -f") && !strstr(c->line, " --format");
}

/* What somebody copied. */
static bool pastes(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	return sh_is(p, "|pbpaste|wl-paste|") ||
	       (sh_is(p, "|xclip|xsel|") && sh_has(c, "|-o|-out|--output|-bo|-ob|-op|")) ||
	       (!strcmp(p, "xsel") && !(c->how & SH_STDIN));
}

/* What only says something about the host, the environment or a secret. */
unsigned sh_source(const struct sh_command *c, const char **ret_from)
{
	const char *p = c->args.v[0].text;

	*ret_from = p;
	/* everything below in one look */
	if (!sh_is(p,
		    "|env|printenv|set|export|declare|ps|pbpaste|wl-paste|xclip|xsel|tcpdump|tshark|"
		    "ngrep|hostname|id|whoami|uname|ifconfig|ip|w|who|last|netstat|ss|lscpu|lsblk|"
		    "groups|uptime|df|mount|dmesg|arp|dpkg|rpm|lsmod|lsof|crontab|psql|mysql|"
		    "mariadb|sqlite3|clickhouse-client|mongosh|sqlcmd|duckdb|history|fc|mysqldump|"
		    "mariadb-dump|pg_dump|pg_dumpall|mongodump|mongoexport|slapcat|elasticdump|"
		    "xtrabackup|mariabackup|ysql_dump|redis-cli|consul|security|gpg|gpg2|kubectl|"
		    "oc|terraform|tofu|heroku|railway|aws|git|bw|lpass|etcdctl|npm|pnpm|yarn|dig|docker|podman|"
		    "nslookup|host|"))
		return 0;

	if (sh_is(p, "|env|printenv|") ||
		(sh_is(p, "|set|export|declare|") && c->args.n < 3 &&
			(c->args.n < 2 || !strcmp(c->args.v[1].text, "-p"))))
		return SH_ENV;
	if (!strcmp(p, "ps") && shows_environment(c))
		return SH_ENV;
	if (pastes(c))
		return SH_SECRET | SH_CLIP;
	if (sh_is(p, "|tcpdump|tshark|ngrep|"))
		return sh_has(c, "|-r|") ? SH_FILE : SH_SECRET;
	if (sh_is(p, "|hostname|id|whoami|uname|ifconfig|ip|ps|w|who|last|netstat|ss|lscpu|lsblk|"
		     "groups|uptime|df|mount|dmesg|arp|"))
		return SH_HOST;
	if ((sh_is(p, "|dpkg|rpm|") && sh_has(c, "|-l|-qa|--list|")) || !strcmp(p, "lsmod") ||
		!strcmp(p, "lsof") || (!strcmp(p, "crontab") && sh_has(c, "|-l|")))
		return SH_HOST;
	if (asks_database(c)) {
		*ret_from = "a database";
		return SH_SYSTEM;
	}
	if (sh_is(p, "|history|fc|"))
		return SH_SECRET | SH_CLIP;
	if (dumps(c)) {
		*ret_from = strstr(p, "dump") ? p : "a dump of a database";
		return SH_SECRET;
	}
	if (tells_all(c))
		return SH_SECRET | SH_HARD;
	if (inspects(c)) {
		*ret_from = "the settings of a container";
		return SH_SECRET;
	}
	if (sh_is(p, "|dig|nslookup|host|"))
		return SH_NET;
	return 0;
}

/* Asks for a token in order to use it. */
/* A dot behind the name: a program printed it. */
const char *sh_token_name(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	return !strcmp(p, "gh")      ? "$GITHUB_TOKEN."
	       : !strcmp(p, "glab")  ? "$GITLAB_TOKEN."
	       : !strcmp(p, "vault") ? "$VAULT_TOKEN."
				     : "$token.";
}

bool sh_prints_token(const struct sh_command *c)
{
	static const char *const asks[] = {"secretsmanager get-secret", "print-access-token",
		"print-identity-token", "auth token", "get-login-password", "vault kv get",
		"pass show", "op read", "secrets versions access", "get-access-token",
		"op item get", "bw get", "keyvault secret show", "lpass show", "doppler secrets",
		"ssm get-param", "vault print token", NULL};

	if (!sh_is(c->args.v[0].text, "|aws|gcloud|gh|glab|vault|pass|gopass|op|az|bw|lpass|"
				      "doppler|kubectl|oc|docker|podman|ssh|flyctl|fly|"))
		return false;
	for (size_t i = 0; asks[i]; i++) {
		if (strstr(c->line, asks[i]))
			return true;
	}
	return false;
}

/* Bytes that stay the same but look like something else. */
bool sh_encodes(const struct sh_command *c)
{
	const char *p = c->args.n ? c->args.v[0].text : "";

	return sh_is(p, "|base64|base32|basenc|xxd|hexdump|od|rev|uuencode|") &&
	       !sh_has(c, "|-d|-D|--decode|-r|");
}

/* grep -r 'AKIA…' .: what it prints are keys. */
bool sh_seeks_keys(const struct sh_command *c)
{
	static const char *const signs[] = {
		"AKIA", "ghp_", "sk-", "xox", "PRIVATE\x1fKEY", "glpat-", "npm_", "AIza"};

	if (!sh_is(c->args.v[0].text, "|grep|egrep|rg|ag|ack|"))
		return false;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (strstr(c->line, signs[i]))
			return true;
	}
	return false;
}

bool sh_spells(const struct sh_command *c)
{
	const char *p = c->args.v[0].text;

	if (!strcmp(p, "dc"))
		return strchr(c->line, 'P') != NULL;
	if (!sh_is(p, "|sqlite3|mysql|mariadb|psql|duckdb|jq|"))
		return false;
	return strcasestr(c->line, "char(") || strcasestr(c->line, "chr(") ||
	       strcasestr(c->line, "unhex(") || strstr(c->line, "implode") ||
	       strstr(c->line, "@base64d");
}

void sh_say_words(struct sh *s, const struct sh_command *c, struct sh_data *d)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const char *all;

	for (size_t i = 1; i < c->args.n && b.len < SAID_MAX; i++) {
		const char *t = c->args.v[i].text, *eq = t[0] == '-' ? strchr(t, '=') : NULL;
		size_t n;

		if (!strchr(t, ' ') || !c->args.v[i].known)
			continue;
		t = eq ? eq + 1 : t;
		t += strspn(t, "+\"'[");
		n = strnlen(t, SAID_MAX);
		while (n && strchr("\"']", t[n - 1]))
			n--;
		bawn_buf_puts(&b, b.len ? "\n" : "");
		bawn_buf_add(&b, t, n);
	}
	all = b.len && !b.failed ? bawn_arena_strndup(s->a, b.data, b.len) : NULL;
	if (!all || !bawn_scan_spend(s->scan, b.len))
		return;
	d->text = all;
	d->len = strlen(all);
	d->known = false;
}
