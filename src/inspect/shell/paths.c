/* SPDX-License-Identifier: Apache-2.0 */
/* Where a path lies, and whether what lies there is somebody's secret. */
#include <ctype.h>
#include <string.h>

#include "inspect/shell/shell.h"

/* /a//b/./c/../d/ to /a/b/d, without a look at any disk. */
static char *lexical(struct sh *s, const char *path)
{
	char *out = bawn_arena_alloc(s->a, strlen(path) + 2);
	size_t k = 0;

	if (!out)
		return NULL;
	for (const char *p = path; *p;) {
		size_t n;

		while (*p == '/')
			p++;
		n = strcspn(p, "/");
		if (!n)
			break;
		if (n == 2 && p[0] == '.' && p[1] == '.') {
			while (k && out[k - 1] != '/')
				k--;
			k -= k > 0;
		} else if (n != 1 || p[0] != '.') {
			out[k++] = '/';
			memcpy(out + k, p, n);
			k += n;
		}
		p += n;
	}
	if (!k)
		out[k++] = '/';
	out[k] = 0;
	return out;
}

static bool all_glob(const char *t)
{
	bool any = false;

	while (*t && (strchr("*.?", *t) || *t == '[')) {
		const char *close = *t == '[' ? strchr(t, ']') : NULL;

		if (*t == '[' && !close)
			return false;
		any = any || *t == '*';
		t = close ? close + 1 : t + 1;
	}
	return !*t && any;
}

static enum sh_place home_place(const char *rest)
{
	while (*rest == '/')
		rest++;
	if (!*rest || all_glob(rest) || !strcmp(rest, "."))
		return SH_HOME_DIR;
	return strncmp(rest, "..", 2) != 0 ? SH_IN_HOME : SH_HOME_DIR;
}

static bool under(const char *p, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(p, dir, n) && (!p[n] || p[n] == '/');
}

static enum sh_place device_place(const char *p)
{
	static const char *const disks[] = {"/dev/sd", "/dev/nvme", "/dev/hd", "/dev/vd",
		"/dev/xvd", "/dev/mmcblk", "/dev/disk", "/dev/rdisk", "/dev/mapper/", "/dev/md",
		"/dev/dm-", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/loop"};

	for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		if (!strncmp(p, disks[i], strlen(disks[i])))
			return SH_DEVICE;
	}
	return SH_TEMP;
}

/* A directory of /var that every system has. */
static bool known_var(const char *name)
{
	static const char *const dirs[] = {
		"lib", "log", "spool", "mail", "run", "lock", "backups", "db", "opt", "local"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (under(name, dirs[i]))
			return true;
	}
	return false;
}

/* Below one of the directories that the system is made of. */
static enum sh_place system_place(const char *p, const char *dir)
{
	const char *name = p + strlen(dir);

	name += *name == '/';
	if (!*name || all_glob(name))
		return SH_SYSTEM_DIR;
	if (!strcmp(dir, "/var") && !known_var(name))
		return SH_IN_SYSTEM;
	name += strcspn(name, "/");
	if ((!*name || all_glob(name + 1)) && sh_is(dir, "|/usr|/var|/System|"))
		return SH_SYSTEM_DIR;
	if (sh_is(dir, "|/opt|/mnt|/media|/srv|/snap|") || !strncmp(p, "/usr/local/", 11))
		return SH_ABSOLUTE;
	return SH_IN_SYSTEM;
}

static enum sh_place absolute_place(const char *p)
{
	static const char *const temps[] = {"/tmp", "/var/tmp", "/dev/shm", "/run/user",
		"/var/cache", "/private/tmp", "/usr/src/app", "/workspace", "/workspaces", "/app",
		"/repo", "/src", "/build", "/testbed", "/code", "/var/www", "/project", "/data",
		"/content", "/github"};
	static const char *const systems[] = {"/etc", "/usr", "/var", "/bin", "/sbin", "/lib",
		"/lib64", "/lib32", "/boot", "/sys", "/proc", "/opt", "/srv", "/run", "/System",
		"/Library", "/Applications", "/private", "/lost+found", "/snap", "/mnt", "/media"};
	const char *name;

	if (!strcmp(p, "/") || (all_glob(p + 1)))
		return SH_ROOT_DIR;
	if (under(p, "/root") || under(p, "/var/root"))
		return home_place(p + (p[1] == 'v' ? 9 : 5));
	if (under(p, "/home") || under(p, "/Users")) {
		name = p + (p[1] == 'h' ? 5 : 6);
		name += *name == '/';
		name += strcspn(name, "/");
		return home_place(name);
	}
	for (size_t i = 0; i < sizeof(temps) / sizeof(temps[0]); i++) {
		if (under(p, temps[i]))
			return SH_TEMP;
	}
	if (under(p, "/dev"))
		return strcmp(p, "/dev") != 0 && strcmp(p, "/dev/*") != 0 ? device_place(p)
									  : SH_SYSTEM_DIR;
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		if (under(p, systems[i]))
			return system_place(p, systems[i]);
	}
	return SH_ABSOLUTE;
}

enum sh_place sh_place(struct sh *s, const char *path)
{
	const char *p = sh_path(s, path);
	char *plain;

	if (p[0] == '~')
		return home_place(p + strcspn(p, "/"));
	if (p[0] == '/') {
		plain = lexical(s, p);
		return plain ? absolute_place(plain) : SH_ABSOLUTE;
	}
	if (!strncmp(p, "..", 2) && (!p[2] || p[2] == '/'))
		return SH_UP;
	if (all_glob(p) || !strcmp(p, ".") || !*p || !strcmp(p, ".git") || !strcmp(p, ".git/"))
		return SH_ALL_HERE;
	return SH_HERE_DIR;
}

#define WORD (1u << 30) /* a name of its own: nothing may follow it */
#define BOTH (SH_SECRET | SH_HARD)

/* Pieces of paths. `read`: what reading it alone is worth. */
static const struct sh_secret secrets[] = {
	{"/etc/shadow", 0.72f, BOTH | WORD, "password hashes"},
	{"/etc/gshadow", 0.72f, BOTH | WORD, "password hashes"},
	{"/etc/master.passwd", 0.6f, BOTH | WORD, "password hashes"},
	{"/etc/security/opasswd", 0.6f, BOTH | WORD, "password hashes"},
	{"/etc/shadow-", 0.72f, BOTH | WORD, "password hashes"},
	{"/etc/shadow.", 0.6f, BOTH, "password hashes"},
	{"/etc/ppp/chap-secrets", 0.5f, BOTH, "network passwords"},
	{"/etc/mysql/debian.cnf", 0.4f, BOTH, "database passwords"},
	{"wpa_supplicant.conf", 0.33f, SH_SECRET | WORD, "network passwords"},
	{"/var/lib/sss/", 0.45f, BOTH, "cached logins"},
	{"/var/lib/samba/private", 0.5f, BOTH, "domain credentials"},
	{"/etc/kubernetes/pki", 0.4f, BOTH, "cluster keys"},
	{"/etc/sudoers", 0.32f, SH_SECRET, "who may become root"},
	{"/etc/krb5.keytab", 0.5f, BOTH, "Kerberos keys"},
	{"/etc/kubernetes/admin.conf", 0.5f, BOTH, "cluster credentials"},
	{"/etc/ssl/private", 0.45f, BOTH, "private keys"},
	{"/etc/ssh/ssh_host_", 0.4f, BOTH, "host keys"},
	{".ssh/id_", 0.5f, BOTH, "SSH keys"},
	{"id_rsa", 0.42f, BOTH, "SSH keys"},
	{"id_ed25519", 0.42f, BOTH, "SSH keys"},
	{"id_ecdsa", 0.42f, BOTH, "SSH keys"},
	{"id_dsa", 0.42f, BOTH, "SSH keys"},
	{".ssh/*", 0.45f, BOTH | WORD, "SSH keys"},
	{".ssh", 0.0f, BOTH | WORD, "SSH keys"},
	{".ssh/authorized_keys", 0.0f, 0, "who may log in"},
	{".aws/credentials", 0.45f, BOTH, "AWS credentials"},
	{".aws", 0.0f, SH_SECRET | WORD, "AWS credentials"},
	{".azure/", 0.35f, SH_SECRET, "Azure credentials"},
	{".config/gcloud", 0.35f, SH_SECRET, "Google Cloud credentials"},
	{"application_default_credentials.json", 0.4f, BOTH, "Google Cloud credentials"},
	{".oci/", 0.35f, SH_SECRET, "cloud credentials"},
	{".kube/config", 0.3f, SH_SECRET, "cluster credentials"},
	{".kube", 0.0f, SH_SECRET | WORD, "cluster credentials"},
	{".docker/config.json", 0.35f, SH_SECRET, "registry credentials"},
	{".dockercfg", 0.3f, SH_SECRET, "registry credentials"},
	{".gnupg", 0.35f, BOTH, "PGP keys"},
	{".password-store", 0.45f, BOTH, "passwords"},
	{".netrc", 0.42f, BOTH | WORD, "passwords"},
	{".git-credentials", 0.45f, BOTH | WORD, "git credentials"},
	{".config/gh/hosts.yml", 0.45f, BOTH, "GitHub credentials"},
	{".npmrc", 0.1f, SH_SECRET | WORD, "registry tokens"},
	{".pypirc", 0.35f, SH_SECRET | WORD, "registry tokens"},
	{".pgpass", 0.42f, BOTH | WORD, "database passwords"},
	{".my.cnf", 0.35f, SH_SECRET | WORD, "database passwords"},
	{".vault-token", 0.45f, BOTH | WORD, "vault token"},
	{".terraform.d/credentials", 0.45f, BOTH, "Terraform credentials"},
	{".env", 0.0f, SH_SECRET | WORD, "secrets of the application"},
	{".env.", 0.0f, SH_SECRET, "secrets of the application"},
	{"wp-config.php", 0.1f, SH_SECRET | WORD, "database passwords"},
	{"_history", 0.25f, SH_SECRET | WORD, "shell history"},
	{".history", 0.2f, SH_SECRET | WORD, "shell history"},
	{"Login Data", 0.72f, BOTH, "browser passwords"},
	{"Login\\ Data", 0.72f, BOTH, "browser passwords"},
	{"logins.json", 0.6f, BOTH, "browser passwords"},
	{"key4.db", 0.6f, BOTH, "browser keys"},
	{"key3.db", 0.5f, BOTH, "browser keys"},
	{"cookies.sqlite", 0.5f, BOTH, "browser cookies"},
	{"Cookies.binarycookies", 0.5f, BOTH, "browser cookies"},
	{"/Default/Cookies", 0.5f, BOTH, "browser cookies"},
	{".mozilla/firefox", 0.35f, SH_SECRET, "browser profile"},
	{".config/google-chrome", 0.35f, SH_SECRET, "browser profile"},
	{"/Google/Chrome", 0.3f, SH_SECRET, "browser profile"},
	{".config/BraveSoftware", 0.35f, SH_SECRET, "browser profile"},
	{".config/chromium", 0.33f, SH_SECRET, "browser profile"},
	{".config/microsoft-edge", 0.35f, SH_SECRET, "browser profile"},
	{".thunderbird", 0.35f, SH_SECRET, "mail"},
	{"Library/Messages/chat.db", 0.5f, BOTH, "messages"},
	{"Library/Messages", 0.35f, SH_SECRET, "messages"},
	{"NoteStore.sqlite", 0.5f, BOTH, "notes"},
	{"group.com.apple.notes", 0.4f, SH_SECRET, "notes"},
	{".config/Signal/", 0.45f, BOTH, "messages"},
	{"tdata", 0.33f, SH_SECRET | WORD, "messages"},
	{".purple/accounts.xml", 0.45f, BOTH, "passwords of messengers"},
	{"filezilla/sitemanager.xml", 0.45f, BOTH, "passwords of servers"},
	{"filezilla/recentservers.xml", 0.45f, BOTH, "passwords of servers"},
	{"rclone/rclone.conf", 0.36f, SH_SECRET | WORD, "cloud credentials"},
	{".s3cfg", 0.36f, SH_SECRET | WORD, "cloud credentials"},
	{".cargo/credentials", 0.4f, BOTH, "registry tokens"},
	{".gem/credentials", 0.4f, BOTH, "registry tokens"},
	{".config/hub", 0.4f, BOTH | WORD, "GitHub credentials"},
	{".subversion/auth", 0.4f, BOTH, "repository passwords"},
	{"github-copilot/hosts.json", 0.4f, BOTH, "agent credentials"},
	{"github-copilot/apps.json", 0.4f, BOTH, "agent credentials"},
	{".databrickscfg", 0.33f, SH_SECRET | WORD, "cloud credentials"},
	{"Exodus/exodus.wallet", 0.5f, BOTH, "wallet"},
	{"atomic/Local Storage", 0.5f, BOTH, "wallet"},
	{"Library/Keychains", 0.5f, BOTH, "keychain"},
	{"login.keychain", 0.5f, BOTH, "keychain"},
	{".local/share/keyrings", 0.45f, BOTH, "keyring"},
	{"kwallet", 0.4f, BOTH, "keyring"},
	{"Library/Cookies", 0.45f, SH_SECRET, "browser cookies"},
	{"wallet.dat", 0.5f, BOTH | WORD, "wallet"},
	{".bitcoin", 0.4f, BOTH, "wallet"},
	{".ethereum/keystore", 0.5f, BOTH, "wallet"},
	{".electrum", 0.4f, BOTH, "wallet"},
	{".config/solana/id.json", 0.5f, BOTH, "wallet"},
	{"/environ", 0.45f, SH_ENV | WORD, "the environment of a process"},
	{"serviceaccount/token", 0.4f, BOTH, "cluster token"},
	{"secrets/kubernetes.io", 0.4f, BOTH, "cluster token"},
	{"/var/run/secrets", 0.4f, BOTH, "mounted secrets"},
	{"/run/secrets/", 0.3f, BOTH, "mounted secrets"},
	{"/etc/passwd", 0.0f, SH_SECRET | WORD, "accounts"},
	{".claude/.credentials.json", 0.45f, BOTH, "agent credentials"},
	{".codex/auth.json", 0.45f, BOTH, "agent credentials"},
	{".config/op/", 0.4f, BOTH, "password manager"},
	{".kdbx", 0.4f, BOTH | WORD, "password database"},
	{"/var/lib/mysql", 0.0f, SH_SECRET, "database"},
	{"/var/backups/shadow", 0.6f, BOTH, "password hashes"},
	{"/var/backups/gshadow", 0.6f, BOTH, "password hashes"},
	{"/etc/ipsec.secrets", 0.5f, BOTH | WORD, "network passwords"},
	{"/etc/postfix/sasl_passwd", 0.45f, BOTH, "mail passwords"},
	{"/etc/exim4/passwd.client", 0.45f, BOTH | WORD, "mail passwords"},
	{"/etc/ldap.secret", 0.5f, BOTH | WORD, "domain credentials"},
	{"/etc/pam_ldap.secret", 0.5f, BOTH | WORD, "domain credentials"},
	{"dslocal/nodes/Default/users", 0.5f, BOTH, "password hashes"},
	{"/etc/samba/smbpasswd", 0.5f, BOTH | WORD, "password hashes"},
	{"/etc/davfs2/secrets", 0.45f, BOTH | WORD, "network passwords"},
	{"/etc/pve/priv", 0.5f, BOTH, "cluster keys"},
	{"/var/lib/jenkins/secrets", 0.45f, BOTH, "credentials of a build server"},
	{"/var/lib/jenkins/credentials.xml", 0.5f, BOTH | WORD, "credentials of a build server"},
	{"/var/lib/kubelet/pki", 0.4f, BOTH, "cluster keys"},
	{"/var/log/btmp", 0.0f, BOTH | WORD, "failed logins"},
	{"/var/spool/mail", 0.0f, SH_SECRET, "mail"},
	{"/var/mail", 0.0f, SH_SECRET, "mail"},
	{"krb5cc_", 0.4f, BOTH, "Kerberos tickets"},
	{".smbcredentials", 0.42f, BOTH | WORD, "network passwords"},
	{".vnc/passwd", 0.42f, BOTH | WORD, "passwords of servers"},
	{".remmina", 0.33f, SH_SECRET, "passwords of servers"},
	{".mysql_history", 0.33f, SH_SECRET | WORD, "queries with passwords in them"},
	{".psql_history", 0.33f, SH_SECRET | WORD, "queries with passwords in them"},
	{".boto", 0.33f, SH_SECRET | WORD, "cloud credentials"},
	{"doctl/config.yaml", 0.36f, SH_SECRET | WORD, "cloud credentials"},
	{".snowsql/config", 0.33f, SH_SECRET | WORD, "database passwords"},
	{".kaggle/kaggle.json", 0.33f, SH_SECRET | WORD, "tokens"},
	{"huggingface/token", 0.36f, SH_SECRET | WORD, "tokens"},
	{".composer/auth.json", 0.36f, SH_SECRET | WORD, "registry tokens"},
	{"sops/age/keys.txt", 0.45f, BOTH | WORD, "private key"},
	{".vault_pass", 0.36f, BOTH, "vault password"},
	{".claude.json", 0.0f, SH_SECRET | WORD, "agent credentials"},
	{".config/openai", 0.33f, SH_SECRET, "agent credentials"},
	{".gemini/oauth_creds.json", 0.45f, BOTH, "agent credentials"},
	{"Bitwarden/data.json", 0.45f, BOTH | WORD, "password manager"},
	{"TelegramDesktop/tdata", 0.36f, SH_SECRET, "messages"},
	{"discord/Local Storage", 0.45f, BOTH, "messages"},
	{"Slack/storage", 0.36f, SH_SECRET, "messages"},
	{"Library/Mail", 0.36f, SH_SECRET, "mail"},
	{"Application Support/AddressBook", 0.36f, SH_SECRET, "contacts"},
	{".config", 0.0f, SH_SECRET | WORD, "settings of every program"},
	{"NTDS.dit", 0.6f, BOTH, "domain credentials"},
	{"com.apple.TCC/TCC.db", 0.5f, BOTH, "what programs may do"},
	{"/etc/wireguard", 0.35f, SH_SECRET, "VPN keys"},
	{"/etc/NetworkManager/system-connections", 0.4f, SH_SECRET, "network passwords"},
	{"credentials.db", 0.4f, BOTH | WORD, "cloud credentials"},
	{"access_tokens.db", 0.4f, BOTH | WORD, "cloud credentials"},
	{"accessTokens.json", 0.4f, BOTH | WORD, "cloud credentials"},
	{"msal_token_cache", 0.4f, BOTH, "cloud credentials"},
	{"/Cookies", 0.4f, BOTH | WORD, "cookies of a browser or a messenger"},
	{"state.vscdb", 0.36f, SH_SECRET | WORD, "secrets of an editor"},
	{"credentials-config.json", 0.42f, BOTH | WORD, "database passwords"},
	{".rclone.conf", 0.36f, SH_SECRET | WORD, "cloud credentials"},
	{"tomcat-users.xml", 0.33f, SH_SECRET | WORD, "passwords of servers"},
	{"/etc/openvpn/", 0.33f, SH_SECRET, "VPN keys"},
	{"containers/auth.json", 0.36f, BOTH | WORD, "registry credentials"},
	{"helm/registry/config.json", 0.36f, SH_SECRET | WORD, "registry credentials"},
	{"configstore/firebase-tools.json", 0.4f, BOTH | WORD, "cloud credentials"},
	{".fly/config.yml", 0.36f, SH_SECRET | WORD, "cloud credentials"},
	{"netlify/config.json", 0.36f, SH_SECRET | WORD, "cloud credentials"},
	{"stripe/config.toml", 0.36f, SH_SECRET | WORD, "tokens"},
	{"ngrok/ngrok.yml", 0.33f, SH_SECRET | WORD, "tokens"},
	{".ngrok2/ngrok.yml", 0.33f, SH_SECRET | WORD, "tokens"},
	{".sentryclirc", 0.33f, SH_SECRET | WORD, "tokens"},
	{".aliyun/config.json", 0.4f, BOTH | WORD, "cloud credentials"},
	{".tccli/", 0.36f, BOTH, "cloud credentials"},
	{".bluemix/config.json", 0.36f, BOTH | WORD, "cloud credentials"},
	{"linode-cli", 0.0f, SH_SECRET | WORD, "cloud credentials"},
	{"hcloud/cli.toml", 0.36f, BOTH | WORD, "cloud credentials"},
	{".m2/settings-security.xml", 0.36f, BOTH | WORD, "registry credentials"},
	{".m2/settings.xml", 0.0f, SH_SECRET | WORD, "registry credentials"},
	{"Bitwarden CLI/data.json", 0.45f, BOTH | WORD, "password manager"},
	{".pki/nssdb", 0.0f, SH_SECRET, "keys and certificates"},
	{"/etc/letsencrypt/archive", 0.33f, BOTH, "private keys"},
	{"/etc/rancher/k3s/k3s.yaml", 0.42f, BOTH | WORD, "cluster credentials"},
	{"server/node-token", 0.42f, BOTH | WORD, "cluster token"},
	{"/etc/kubernetes/super-admin.conf", 0.5f, BOTH | WORD, "cluster credentials"},
	{"/etc/kubernetes/kubelet.conf", 0.42f, BOTH | WORD, "cluster credentials"},
	{"gitlab-secrets.json", 0.45f, BOTH | WORD, "credentials of a build server"},
	{"/etc/gitlab-runner/config.toml", 0.4f, BOTH | WORD, "credentials of a build server"},
	{".cloudflared/", 0.33f, SH_SECRET, "tunnel credentials"},
	{".msmtprc", 0.36f, BOTH | WORD, "mail passwords"},
	{"/etc/msmtprc", 0.36f, BOTH | WORD, "mail passwords"},
	{".authinfo", 0.42f, BOTH | WORD, "passwords"},
	{".fetchmailrc", 0.36f, BOTH | WORD, "mail passwords"},
	{".offlineimaprc", 0.33f, SH_SECRET | WORD, "mail passwords"},
	{".android/adbkey", 0.4f, BOTH | WORD, "private key"},
	{"Monero/wallets", 0.5f, BOTH, "wallet"},
	{"nkbihfbeogaeaoehlefnkodbefgpgknn", 0.5f, BOTH, "wallet"},
	{".p12", 0.0f, SH_SECRET | WORD, "private key"},
	{".pfx", 0.0f, SH_SECRET | WORD, "private key"},
	{".ppk", 0.0f, SH_SECRET | WORD, "private key"},
	{".jks", 0.0f, SH_SECRET | WORD, "private key"},
	{".keytab", 0.2f, SH_SECRET | WORD, "Kerberos keys"},
	{".ovpn", 0.0f, SH_SECRET | WORD, "VPN keys"},
	{".tfstate", 0.0f, SH_SECRET | WORD, "secrets of an infrastructure"},
	{"private_key", 0.0f, SH_SECRET, "private key"},
	{"privkey.pem", 0.25f, BOTH | WORD, "private key"},
	{"server.key", 0.0f, SH_SECRET | WORD, "private key"},
	{"secrets.json", 0.0f, SH_SECRET | WORD, "secrets"},
	{"secrets.yml", 0.0f, SH_SECRET | WORD, "secrets"},
	{"secrets.yaml", 0.0f, SH_SECRET | WORD, "secrets"},
	{"credentials.json", 0.0f, SH_SECRET | WORD, "credentials"},
};

bool sh_about_people(const char *path)
{
	static const char *const whom[] = {"customer", "employee", "payroll", "salar", "patient",
		"passport", "credit_card", "creditcard"};
	const char *base = sh_base(path), *dot = strrchr(base, '.');

	if (!dot || !sh_is(dot, "|.csv|.xls|.xlsx|.db|.sqlite|.mdb|.accdb|.tsv|"))
		return false;
	for (size_t i = 0; i < sizeof(whom) / sizeof(whom[0]); i++) {
		if (strcasestr(base, whom[i]))
			return true;
	}
	return false;
}

bool sh_of_system(struct sh *s, const char *path)
{
	if (sh_about_people(path))
		return true;
	/* sites and the temporary files of some systems lie there too */
	if (!strncmp(path, "/var/", 5) && !known_var(path + 5))
		return false;
	return sh_place(s, path) == SH_IN_SYSTEM &&
	       !sh_is(path, "|/etc/os-release|/etc/hostname|/etc/machine-id|/etc/timezone|"
			    "/etc/issue|/etc/debian_version|/etc/redhat-release|/etc/localtime|") &&
	       strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 &&
	       strncmp(path, "/usr/", 5) != 0 && strncmp(path, "/etc/ssl/certs", 14) != 0;
}

static bool edge(char c)
{
	return !c || (!isalnum((unsigned char)c) && c != '_' && c != '-');
}

/* Text that only looks like it: public halves, templates. */
static bool harmless(const char *hit, const char *needle)
{
	const char *end = hit + strlen(needle);
	size_t n = strcspn(end, " \t\n'\"<>|;&),");

	if (n >= 4 && (!strncmp(end + n - 4, ".pub", 4) || memmem(end, n, ".pub.", 5)))
		return true;
	if (!strcmp(needle, ".env.")) {
		static const char *const templates[] = {"example", "sample", "template", "dist",
			"test", "defaults", "schema", "ci"};

		for (size_t i = 0; i < sizeof(templates) / sizeof(templates[0]); i++) {
			if (!strncmp(end, templates[i], strlen(templates[i])))
				return true;
		}
	}
	return false;
}

/* Where else a system keeps its /etc: BSD, macOS, and hosts seen from a container. */
static bool other_root(const char *word, const char *hit)
{
	static const char *const roots[] = {
		"/usr/local", "/private", "/mnt", "/host", "/rootfs", "/hostfs", "/proc/1/root"};

	/* a disk that somebody put there */
	if (!strncmp(word, "/mnt/", 5) || !strncmp(word, "/media/", 7))
		return true;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		size_t n = strlen(roots[i]);

		if ((size_t)(hit - word) >= n && !strncmp(hit - n, roots[i], n) &&
			((size_t)(hit - word) == n || !isalnum((unsigned char)hit[-1 - (long)n])))
			return true;
	}
	return false;
}

static bool matches(const struct sh_secret *x, const char *word, const char *hit)
{
	const char *end = hit + strlen(x->pattern);
	char before = (char)(hit > word ? hit[-1] : '\0');

	/* /etc/shadow may follow anything; names start a component */
	if (x->pattern[0] != '/' && x->pattern[0] != '_' && x->pattern[0] != '.' && !edge(before))
		return false;
	if (x->pattern[0] == '.' && before && (isalnum((unsigned char)before) || before == '*'))
		return sh_is(x->pattern, "|.kdbx|.p12|.pfx|.ppk|.jks|.keytab|.ovpn|.tfstate|");
	if (x->pattern[0] == '/' && before && isalnum((unsigned char)before) &&
		!strncmp(x->pattern, "/etc", 4) && !other_root(word, hit))
		return false;
	if ((x->taint & WORD) && *end && *end != '/' && !strchr("'\" \t\n),;|&<>*:]}\\?", *end))
		return false;
	/* a directory of secrets, but something in it that has an entry of its own or none */
	if ((x->taint & WORD) && *end == '/' && end[1] && !strchr("'\" *)$", end[1]))
		return false;
	return !harmless(hit, x->pattern);
}

/* /etc/sh?dow: a pattern with enough letters that only a secret fits. */
static const char *glob_secret(const char *word)
{
	static const char *const files[] = {"/etc/shadow", "/etc/gshadow", "~/.ssh/id_rsa",
		"~/.ssh/id_ed25519", "/root/.ssh/id_rsa", "~/.aws/credentials"};
	const char *base = sh_base(word);
	size_t letters = 0;

	for (const char *p = base; *p; p++)
		letters += isalnum((unsigned char)*p) != 0;
	for (size_t i = 0; letters >= 3 && i < sizeof(files) / sizeof(files[0]); i++) {
		if (sh_glob_match(word, files[i]))
			return files[i];
	}
	return word;
}

/* Two letters as a number below 256: most names share none with most words. */
static unsigned pair(const char *p)
{
	return ((unsigned char)p[0] * 7u + (unsigned char)p[1]) & 255;
}

const struct sh_secret *sh_secret_of(struct sh *s, const char *word)
{
	uint64_t pairs[4] = {0};
	const struct sh_secret *best = NULL;
	const char *path = word;

	if (!s->cwd && !strpbrk(word, "./_ "))
		return NULL;
	if (s->cwd && word[0] != '-' && word[0] != '/')
		path = sh_path(s, word);
	if (!strncmp(path, "/proc/self/root/", 16))
		path += 15;
	if (path[0] == '/' && (strstr(path, "//") || strstr(path, "/./") || strstr(path, "/..")))
		path = lexical(s, path);
	if (!path)
		return NULL;
	if (strpbrk(path, "?*["))
		path = glob_secret(path);
	for (const char *p = path; p[0] && p[1]; p++)
		pairs[pair(p) / 64] |= 1ull << pair(p) % 64;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		unsigned k = pair(secrets[i].pattern);
		const char *hit = NULL;

		if (pairs[k / 64] >> k % 64 & 1)
			hit = strstr(path, secrets[i].pattern);
		if (hit && matches(&secrets[i], path, hit) &&
			(!best || secrets[i].read > best->read ||
				(secrets[i].taint & ~best->taint & SH_HARD)))
			best = &secrets[i];
	}
	return best && (best->taint & ~WORD) ? best : NULL;
}

bool sh_secret_name(const char *name, size_t n)
{
	static const char *const parts[] = {"SECRET", "TOKEN", "PASSWORD", "PASSWD", "API_KEY",
		"APIKEY", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIAL", "_PAT", "AUTH_KEY",
		"ENCRYPTION_KEY", "SIGNING_KEY", "DATABASE_URL"};
	char up[64];

	if (n >= sizeof(up))
		n = sizeof(up) - 1;
	for (size_t i = 0; i < n; i++)
		up[i] = (char)toupper((unsigned char)name[i]);
	up[n] = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strstr(up, parts[i]))
			return true;
	}
	return false;
}
