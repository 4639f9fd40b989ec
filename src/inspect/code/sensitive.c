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
};

uint32_t code_taint_of_text(const char *s, size_t len)
{
	char low[PATH_TEXT_MAX + 1];
	uint32_t t = 0;

	if (!s || len < 4 || len > PATH_TEXT_MAX || memchr(s, '\n', len))
		return 0;
	for (size_t i = 0; i < len; i++)
		low[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] | 32 : s[i]);
	low[len] = '\0';
	if (strncmp(low, "/tmp/", 5) == 0 || strncmp(low, "/dev/shm/", 9) == 0 ||
		strncmp(low, "/var/tmp/", 9) == 0 || strstr(low, "\\temp\\") ||
		strstr(low, "%temp%"))
		t |= CODE_T_TEMP;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strstr(low, places[i]))
			return t | CODE_T_CRED;
	if (strcmp(low, ".ssh") == 0 || strcmp(low, ".aws") == 0)
		t |= CODE_T_CRED;
	return t;
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
