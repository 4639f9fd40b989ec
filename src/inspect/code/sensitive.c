/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that name a place where credentials lie. */
#include <string.h>

#include "inspect/code/code.h"

#define PATH_TEXT_MAX 400

const char *const code_taint_names[CODE_TAINTS] = {
	"net",
	"decoded",
	"hidden",
	"env",
	"envvar",
	"host",
	"cred",
	"user",
	"output",
	"clip",
	"screen",
	"keys",
	"file",
	"stego",
	"param",
	"crypt",
	"serial",
	"temp",
	"cli",
	"home",
};

static const char *const places[] = {
	"/.ssh",
	"\\.ssh",
	"id_rsa",
	"id_ed25519",
	".aws/credentials",
	".aws\\credentials",
	".aws/config",
	".netrc",
	".git-credentials",
	".npmrc",
	".pypirc",
	".docker/config.json",
	".kube/config",
	"/etc/shadow",
	"/etc/passwd",
	"/etc/sudoers",
	"login data",
	"local state",
	"/cookies",
	"\\cookies",
	"cookies.sqlite",
	"logins.json",
	"key4.db",
	"key3.db",
	"web data",
	"leveldb",
	"wallet.dat",
	"\\exodus",
	"/exodus",
	"electrum",
	"metamask",
	"atomic\\local",
	"coinomi",
	"nkbihfbeogaeaoehlefnkodbefgpgknn",
	"telegram desktop",
	"\\tdata",
	"/tdata",
	"login.keychain",
	"keychains/",
	".gnupg",
	".bash_history",
	".zsh_history",
	"\\user data",
	"/user data",
	"google/chrome",
	"google\\chrome",
	"bravesoftware",
	"firefox/profiles",
	"firefox\\profiles",
	"discordcanary",
	"discordptb",
	"\\discord",
	".config/discord",
	"filezilla",
	"serviceaccount/token",
	"gcloud/credentials",
	"application_default_credentials",
	".azure/accesstokens",
	"credentials.db",
	".config/solana",
	"solana/id.json",
	"/.bitcoin",
	".ethereum/keystore",
	"\\sam",
	"ntds.dit",
	"/proc/self/environ",
	"169.254.169.254",
	"/etc/gshadow",
	"steam\\config",
	"minecraft\\launcher",
	".minecraft/launcher",
	".config/gh/hosts",
	".cargo/credentials",
	".gem/credentials",
	"credentials.tfrc.json",
	"msal_token_cache",
	".password-store",
	"share/keyrings",
	".vault-token",
	".s3cfg",
	"id_ecdsa",
	"id_dsa",
	".claude/.credentials",
	".codex/auth.json",
	"/proc/*/environ",
	"/proc/1/environ",
	"rclone/rclone.conf",
	".pgpass",
	"/.my.cnf",
	"globalstorage/state.vscdb",
	".xauthority",
	".config/op/config",
	"/.boto",
	"doctl/config.yaml",
	".composer/auth.json",
	".m2/settings",
	".subversion/auth",
	"wireguard/wg0.conf",
	".kdbx",
	"ledger live",
};

/*
 * What places start with, two letters by their hash: few texts have any of these, and to look for
 * every place in every text is slow.
 */
#define STARTS 1024u

static unsigned start_of(const char *p)
{
	return ((unsigned char)p[0] * 37u + (unsigned char)p[1]) % STARTS;
}

static const uint64_t *starts(void)
{
	static uint64_t bits[STARTS / 64];
	static bool known;

	if (known)
		return bits;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		bits[start_of(places[i]) / 64] |= (uint64_t)1 << start_of(places[i]) % 64;
	known = true;
	return bits;
}

/* What lies next to keys and is none: the public halves, the names of hosts. */
static bool names_public(const char *low, size_t len)
{
	static const char *const ends[] = {".pub", "known_hosts", ".ssh/config"};

	if (memchr(low, ' ', len)) /* more than one name */
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t k = strlen(ends[i]);

		if (len >= k && memcmp(low + len - k, ends[i], k) == 0)
			return true;
	}
	return false;
}

/* Whether a place is named in a text of small letters. */
static bool names_place(const char *low, size_t len)
{
	const uint64_t *bits = starts();

	if (names_public(low, len))
		return false;
	for (size_t at = 0; at + 1 < len; at++) {
		if (!(bits[start_of(low + at) / 64] >> start_of(low + at) % 64 & 1))
			continue;
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
			if (low[at] == *places[i] &&
				!strncmp(low + at, places[i], strlen(places[i])))
				return true;
	}
	return false;
}

uint32_t code_taint_of_text(const char *s, size_t len)
{
	char low[PATH_TEXT_MAX + 1];
	uint32_t t = 0;

	if (!s || len < 4 || len > PATH_TEXT_MAX || memchr(s, '\n', len))
		return 0;
	for (size_t i = 0; i < len; i++)
		low[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] | 32 : s[i]);
	low[len] = '\0';
	len = strlen(low);
	if (strncmp(low, "/tmp/", 5) == 0 || strncmp(low, "/dev/shm/", 9) == 0 ||
		strncmp(low, "/var/tmp/", 9) == 0 || strstr(low, "\\temp\\") ||
		strstr(low, "%temp%"))
		t |= CODE_T_TEMP;
	if (names_place(low, len) || strcmp(low, ".ssh") == 0 || strcmp(low, ".aws") == 0)
		t |= CODE_T_CRED;
	else if (strncmp(low, "~/.", 3) == 0)
		t |= CODE_T_HOME;
	return t;
}

uint32_t code_taint_of_path(const struct code_val *v)
{
	bool public = v->str && v->len && !(v->taint & CODE_T_FILE) && names_public(v->str, v->len);

	return public ? v->taint & ~(uint32_t)CODE_T_CRED : v->taint;
}

uint32_t code_taint_of_variable(const char *name)
{
	static const char *const secrets[] = {
		"AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "NPM_TOKEN"};
	static const char *const hosts[] = {"COMPUTERNAME", "USERNAME", "USERDOMAIN", "HOSTNAME"};

	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
		if (strcmp(name, secrets[i]) == 0)
			return CODE_T_CRED;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (strcasecmp(name, hosts[i]) == 0)
			return CODE_T_HOST;
	return 0;
}

bool code_names_home(const char *name)
{
	return strcmp(name, "HOME") == 0 || strcmp(name, "USERPROFILE") == 0;
}

bool code_names_program(const char *name)
{
	static const char *const programs[] = {"EDITOR", "VISUAL", "PAGER", "SHELL", "BROWSER"};
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		size_t k = strlen(programs[i]); /* GIT_EDITOR as well */

		if (n >= k && strcmp(name + n - k, programs[i]) == 0 &&
			(n == k || name[n - k - 1] == '_'))
			return true;
	}
	return false;
}
