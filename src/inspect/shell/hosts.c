/* SPDX-License-Identifier: Apache-2.0 */
/* Which machine a word names, and what is known about it. */
#include <ctype.h>
#include <string.h>

#include "inspect/shell/shell.h"

#define HOST_MAX 253

/* Made to receive things from anywhere: webhooks, pastes, drops, collaborators. */
static const char *const drops[] = {"webhook.site", "requestbin.", "pipedream.net", "ngrok.io",
	"ngrok.app", "ngrok-free.app", "ngrok-free.dev", "burpcollaborator.net", "oastify.com",
	"interact.sh", "oast.pro", "oast.live", "oast.site", "oast.online", "oast.fun", "oast.me",
	"transfer.sh", "file.io", "0x0.st", "pastebin.com", "paste.rs", "termbin.com", "ix.io",
	"bashupload.com", "anonfiles.com", "gofile.io", "temp.sh", "requestcatcher.com",
	"canarytokens.", "dnslog.cn", "ceye.io", "beeceptor.com", "hookbin.com",
	"trycloudflare.com", "serveo.net", "localhost.run", "lhr.life", "tunnelto.dev", "loca.lt",
	"catbox.moe", "sprunge.us", "clbin.com", "hastebin.com", "ghostbin.", "dpaste.",
	"rentry.co", "paste.ee", "paste.mozilla.org", "api.telegram.org/bot",
	"discord.com/api/webhooks", "discordapp.com/api/webhooks", "httpbin.org", "postb.in",
	"mockbin.", "webhook-test.com", "tmpfiles.org", "uguu.se", "oshi.at", "wetransfer.com",
	"sendspace.com", "mega.nz", "keep.sh", "proton.me", "protonmail.", "tutanota.", "tuta.io",
	"guerrillamail.", "mailinator.com", "yopmail.com", "cock.li", "exfil", "attacker", "evil",
	"c2."};

/* Where people keep files of their own, whoever they are. */
static const char *const personal[] = {"content.dropboxapi.com", "www.googleapis.com/upload/drive",
	"graph.microsoft.com/v1.0/me/drive", "api.box.com", "upload.box.com", "api.pcloud.com",
	"cloud-api.yandex.net", "api.mega.co.nz"};

/* Publishers who put there what everybody installs from them, and nobody else can. */
static const char *const known[] = {"sh.rustup.rs", "rustup.rs", "get.docker.com", "bun.sh",
	"bun.com", "astral.sh", "install.python-poetry.org", "get.pnpm.io", "get.sdkman.io",
	"get.helm.sh", "cli.github.com", "deb.nodesource.com", "rpm.nodesource.com", "nodejs.org",
	"brew.sh", "starship.rs", "nixos.org", "get.volta.sh", "fnm.vercel.app",
	"foundry.paradigm.xyz", "k3s.io", "ollama.com", "ollama.ai", "tailscale.com", "claude.ai",
	"pkgx.sh", "mise.run", "mise.jdx.dev", "install.julialang.org", "get.haskellstack.org",
	"get-ghcup.haskell.org", "ghcup.haskell.org", "sh.flyctl.io", "fly.io", "cursor.com",
	"supabase.com", "dl.google.com", "sdk.cloud.google.com", "packages.microsoft.com", "aka.ms",
	"dot.net", "download.docker.com", "apt.llvm.org", "bootstrap.pypa.io", "pyenv.run",
	"repo.anaconda.com", "micro.mamba.pm", "install.determinate.systems", "ohmyz.sh",
	"golang.org", "go.dev", "getcomposer.org", "codecov.io", "coverage.codacy.com",
	"firebase.tools", "hashicorp.com", "linkerd.io", "istio.io", "nvm.sh", "atuin.sh",
	"zed.dev", "moonrepo.dev", "get.wasmer.io", "wasmtime.dev", "get.jetify.com",
	"getfoundry.sh", "get.tur.so", "encore.dev", "opencode.ai", "cloud.r-project.org",
	"get.rvm.io", "sentry.io", "cli.doppler.com", "get.opentofu.org", "get.arkade.dev",
	"ohmyposh.dev", "railway.com", "get.nexte.st", "sh.vector.dev", "install.duckdb.org",
	"clickhouse.com", "get.pulumi.com", "install.meteor.com", "dl.dagger.io", "get.acme.sh",
	"bootstrap.saltproject.io", "omnitruck.chef.io", "get.scala-cli.org",
	"install.datadoghq.com", "elan.lean-lang.org", "get.nextflow.io", "pixi.sh", "devenv.sh",
	"cli-assets.heroku.com", "dl.deno.land", "packages.gitlab.com", "npmjs.com", "chatgpt.com",
	"k0s.sh", "rke2.io", "kiro.dev", "ampcode.com", "grafana.com", "elastic.co", "mongodb.org",
	"postgresql.org", "rclone.org", "install.pi-hole.net", "trunk.io", "get.okteto.com",
	"depot.dev", "aider.chat", "webi.sh", "webinstall.dev", "laravel.build", "xmake.io",
	"just.systems", "fresh.deno.dev", "install.zerotier.com", "get.wasp.sh", "swift.org",
	"ziglang.org", "internetcomputer.org", "get.symfony.com", "get.modular.com", "plandex.ai",
	"kitware.com"};

/* Installers of the makers of a place where anybody can put other things. */
static const char *const pages[] = {
	"deno.land/install.sh", "deno.land/x/install/", "yarnpkg.com/install.sh"};

/* Everybody gets things from there, and anybody can put things there. */
static const char *const shared[] = {"raw.githubusercontent.com", "raw.github.com", "github.com",
	"githubusercontent.com", "gitlab.com", "deno.land", "packagecloud.io", "pythonhosted.org",
	"amazonaws.com", "storage.googleapis.com", "yarnpkg.com", "npmjs.org", "jsdelivr.net",
	"unpkg.com", "esm.sh", "jsr.io", "deno.dev", "skypack.dev"};

/* Whose files on a forge are installers that everybody uses: how the path begins. */
static const char *const projects[] = {"nvm-sh/nvm/", "creationix/nvm/", "helm/helm/",
	"kubernetes/helm/", "Homebrew/", "ohmyzsh/ohmyzsh/", "robbyrussell/oh-my-zsh/",
	"pyenv/pyenv-installer/", "rbenv/rbenv-installer/", "golangci/golangci-lint/",
	"aquasecurity/trivy/", "anchore/syft/", "anchore/grype/", "k3d-io/k3d/", "rancher/k3d/",
	"kubernetes-sigs/", "docker/", "tj/n/", "asdf-vm/asdf/", "zdharma-continuum/", "junegunn/",
	"python-poetry/poetry/", "rust-lang/", "goreleaser/", "nektos/act/", "cilium/", "argoproj/",
	"fluxcd/", "terraform-linters/", "conda-forge/", "sdkman/", "casey/just/", "denoland/",
	"astral-sh/", "Schniz/fnm/", "jesseduffield/lazydocker/", "hashicorp/", "dotnet/",
	"oven-sh/bun/"};

bool sh_is_url(const char *word)
{
	return strstr(word, "://") != NULL;
}

bool sh_host_drop(const char *word)
{
	for (size_t i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
		const char *hit = strstr(word, drops[i]);

		if (hit && (hit == word || !isalnum((unsigned char)hit[-1])))
			return true;
	}
	return false;
}

bool sh_host_personal(const char *word)
{
	for (size_t i = 0; i < sizeof(personal) / sizeof(personal[0]); i++) {
		if (strstr(word, personal[i]))
			return true;
	}
	return false;
}

/* The name or address in a URL, user@host:path or host:port; "" when it is none. */
static void host_part(const char *word, char host[HOST_MAX + 1])
{
	const char *p = strstr(word, "://"), *at;
	size_t n, k = 0;

	p = p ? p + 3 : word;
	n = strcspn(p, "/?#'\" ;,");
	at = memchr(p, '@', n);
	if (at) {
		n -= (size_t)(at + 1 - p);
		p = at + 1;
	}
	if (*p == '[')
		n = strcspn(++p, "]");
	else if (memchr(p, ':', n))
		n = (size_t)((const char *)memchr(p, ':', n) - p);
	for (; k < n && k < HOST_MAX; k++)
		host[k] = (char)tolower((unsigned char)p[k]);
	while (k && host[k - 1] == '.')
		k--;
	host[k] = 0;
}

static bool is_address(const char *h)
{
	bool dots = false, digits = false, colon = strchr(h, ':') != NULL;

	for (const char *p = h; *p; p++) {
		digits = digits || isdigit((unsigned char)*p);
		if (*p == '.')
			dots = true;
		else if (!isdigit((unsigned char)*p) &&
			 !(colon && (isxdigit((unsigned char)*p) || *p == ':')) && *p != 'x')
			return false;
	}
	return (dots && digits) || colon || (isdigit((unsigned char)h[0]) && strlen(h) > 7);
}

static bool is_local(const char *h)
{
	return !strcmp(h, "localhost") || !strncmp(h, "127.", 4) || !strcmp(h, "::1") ||
	       !strcmp(h, "0.0.0.0") || !strcmp(h, "host.docker.internal") ||
	       !strncmp(h, "192.168.", 8);
}

bool sh_host_abroad(const char *word)
{
	char host[HOST_MAX + 1] = {0};

	host_part(word, host);
	return is_address(host) && !is_local(host) && strncmp(host, "10.", 3) != 0 &&
	       strncmp(host, "172.", 4) != 0 && strncmp(host, "100.", 4) != 0 &&
	       strncmp(host, "169.254.", 8) != 0 && !strchr(host, ':');
}

static bool allowed_by(const struct bawn_items *list, const char *h)
{
	size_t n = strlen(h);

	for (size_t i = 0; i < list->n; i++) {
		const char *t = list->v[i].text;
		size_t k = strcspn(t, ":");

		if (!strncmp(t, "*.", 2)) {
			if (n > k - 1 && !strncasecmp(h + n - (k - 1), t + 1, k - 1))
				return true;
		} else if (n == k && !strncasecmp(h, t, n)) {
			return true;
		}
	}
	return false;
}

static bool in_list(const char *h, const char *const *list, size_t count)
{
	size_t n = strlen(h);

	for (size_t i = 0; i < count; i++) {
		size_t k = strlen(list[i]);

		if (n >= k && !strcmp(h + n - k, list[i]) && (n == k || h[n - k - 1] == '.'))
			return true;
	}
	return false;
}

static bool is_onion(const char *h)
{
	static const char *const onion[] = {"onion"};

	return in_list(h, onion, 1);
}

/* https://raw.githubusercontent.com/OWNER/PROJECT/…, by owners that everybody knows. */
static bool known_project(const char *word, const char *host)
{
	const char *path = strstr(word, "://");

	for (size_t i = 0; path && i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (!strncmp(path + 3, pages[i], strlen(pages[i])) && !strstr(path, ".."))
			return true;
	}
	path = path ? strchr(path + 3, '/') : NULL;
	if (!path || strstr(path, "..") ||
		!sh_is(host, "|raw.githubusercontent.com|raw.github.com|"))
		return false;
	for (size_t i = 0; i < sizeof(projects) / sizeof(projects[0]); i++) {
		if (!strncmp(path + 1, projects[i], strlen(projects[i])))
			return true;
	}
	return false;
}

static enum sh_host public_host(const char *word, const char *host)
{
	if (in_list(host, known, sizeof(known) / sizeof(known[0])) || known_project(word, host))
		return SH_HOST_KNOWN;
	return in_list(host, shared, sizeof(shared) / sizeof(shared[0])) ? SH_HOST_SHARED
									 : SH_HOST_PLAIN;
}

enum sh_host sh_host_of(struct sh *s, const char *word, const char **ret_host)
{
	const struct bawn_policy *p = bawn_scan_policy(s->scan);
	char host[HOST_MAX + 1] = {0};

	host_part(word, host);
	if (ret_host)
		*ret_host = bawn_arena_strdup(s->a, host);
	if (!host[0] || (!sh_is_url(word) && !strchr(host, '.') && !is_local(host)))
		return SH_HOST_NONE;
	if (p && allowed_by(&p->net_allow_hosts, host))
		return SH_HOST_ALLOWED;
	if (is_local(host))
		return SH_HOST_LOCAL;
	if (sh_host_drop(word) || is_address(host) || is_onion(host))
		return SH_HOST_ODD;
	return public_host(word, host);
}

/* Keys that say of themselves what they open: how they begin, how long they are at least behind
 * that, and what the names of the machines have in them that they are for. */
static const struct {
	const char *start;
	size_t least;
	const char *home;
} keys[] = {
	{"AKIA", 16, "amazonaws"},
	{"ASIA", 16, "amazonaws"},
	{"ghp_", 30, "github"},
	{"gho_", 30, "github"},
	{"ghs_", 30, "github"},
	{"ghu_", 30, "github"},
	{"github_pat_", 30, "github"},
	{"glpat-", 18, "git"},
	{"xoxb-", 20, "slack"},
	{"xoxp-", 20, "slack"},
	{"sk-ant-", 20, "anthropic"},
	{"sk-proj-", 20, "openai"},
	{"sk_live_", 16, "stripe"},
	{"npm_", 34, "npm"},
	{"pypi-", 40, "pypi"},
	{"hf_", 30, "huggingface"},
	{"-----BEGIN", 10, "?"},
};

bool sh_stray_key(const char *text, const char *host)
{
	/* an address that was signed names its key */
	if (strstr(text, "X-Amz-") || strstr(text, "AWSAccessKeyId") || strstr(text, "EXAMPLE"))
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *p = strstr(text, keys[i].start);
		size_t n = p ? strlen(keys[i].start) : 0;

		if (!p || (p > text && isalnum((unsigned char)p[-1])) || strstr(host, keys[i].home))
			continue;
		if (strspn(p + n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				  "_- ") >= keys[i].least)
			return true;
	}
	return false;
}
