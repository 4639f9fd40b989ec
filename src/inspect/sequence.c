/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls are reduced to steps by what they name (paths, hosts, programs), steps are matched against
 * a table of "first this, then that". A command is looked at word by word: what hides from that is
 * the business of the detectors that understand the shell.
 */
#include "inspect/sequence.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>

#include "base/netrule.h"

#define MINUTE   ((uint64_t)60 * 1000 * 1000)
#define WORD_MAX 512

/* A path is sensitive when one of these is a run of whole components in it; * stands for the rest
 * of one. */
static const struct {
	const char *part, *kind;
} sensitive[] = {
	{".ssh/id_*", "ssh keys"},
	{".ssh/*.pem", "ssh keys"},
	{".ssh", "ssh keys"},
	{".aws/credentials", "cloud credentials"},
	{".aws/config", "cloud credentials"},
	{".config/gcloud", "cloud credentials"},
	{".azure", "cloud credentials"},
	{".kube/config", "cluster credentials"},
	{".docker/config.json", "registry credentials"},
	{".gnupg", "private keys"},
	{".netrc", "passwords"},
	{".pgpass", "passwords"},
	{".git-credentials", "passwords"},
	{".npmrc", "registry credentials"},
	{".pypirc", "registry credentials"},
	{".env", "environment secrets"},
	{".env.*", "environment secrets"},
	{"credentials.json", "credentials"},
	{"secrets.y*ml", "credentials"},
	{"secrets.json", "credentials"},
	{"id_rsa", "ssh keys"},
	{"id_ed25519", "ssh keys"},
	{"etc/shadow", "password hashes"},
	{"etc/sudoers", "system secrets"},
	{".password-store", "passwords"},
	{"keyrings", "passwords"},
	{"Login Data", "browser passwords"},
	{"logins.json", "browser passwords"},
	{"*.kdbx", "passwords"},
	{".bash_history", "shell history"},
	{".zsh_history", "shell history"},
	{"proc/self/environ", "environment secrets"},
	{".vault-token", "credentials"},
	{".claude/.credentials.json", "agent credentials"},
	{".codex/auth.json", "agent credentials"},
};

/* Templates are meant to be read. */
static const char *const harmless_ends[] = {
	".example", ".sample", ".template", ".dist", ".pub", "known_hosts", ".md"};

static const char *const build_files[] = {"Makefile", "GNUmakefile", "makefile", "CMakeLists.txt",
	"package.json", "setup.py", "setup.cfg", "pyproject.toml", "conftest.py", "build.rs",
	"Cargo.toml", "build.gradle", "build.gradle.kts", "pom.xml", "Rakefile", "Gemfile",
	"meson.build", "configure.ac", "Justfile", "justfile", "Taskfile.yml", "binding.gyp",
	"Dockerfile", "tox.ini", "noxfile.py", "webpack.config.js", "vite.config.ts",
	"vite.config.js"};

static const char *const build_programs[] = {"make", "gmake", "cmake", "ninja", "npm", "npx",
	"yarn", "pnpm", "pip", "pip3", "cargo", "gradle", "gradlew", "mvn", "rake", "bundle",
	"meson", "just", "task", "tox", "nox", "pytest", "bazel", "configure", "docker", "go"};

static const char *const config_parts[] = {".git/hooks", ".git/config", ".claude", ".codex",
	".cursor", ".gemini", ".mcp.json", ".vscode/tasks.json", ".vscode/settings.json", ".envrc",
	".bawn.yaml", ".cursorrules", ".windsurfrules", "CLAUDE.md", "AGENTS.md", "GEMINI.md",
	".gitconfig", ".github/copilot-instructions.md"};

static const char *const sending_words[] = {"send", "post", "mail", "message", "upload", "publish",
	"share", "reply", "comment", "create_issue", "create_pull", "push", "tweet", "webhook",
	"notify", "submit", "export"};

/* One path component against a pattern with at most one *. */
static bool component_is(const char *s, size_t n, const char *pattern, size_t m)
{
	const char *star = memchr(pattern, '*', m);
	size_t before, after;

	if (!star)
		return n == m && !strncasecmp(s, pattern, n);
	before = (size_t)(star - pattern);
	after = m - before - 1;
	return n >= before + after && !strncasecmp(s, pattern, before) &&
	       !strncasecmp(s + n - after, star + 1, after);
}

/* Do the components at `path` begin with those of `pattern`? */
static bool components_at(const char *path, const char *pattern)
{
	for (;;) {
		size_t n = strcspn(path, "/"), m = strcspn(pattern, "/");

		if (!component_is(path, n, pattern, m))
			return false;
		path += n;
		pattern += m;
		if (!*pattern)
			return true;
		if (!*path)
			return false;
		path++;
		pattern++;
	}
}

static bool has_components(const char *path, const char *pattern)
{
	for (const char *p = path; p; p = strchr(p, '/')) {
		if (*p == '/')
			p++;
		if (components_at(p, pattern))
			return true;
	}
	return false;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcasecmp(s + n - m, end);
}

const char *bawn_sensitive_path(const char *path)
{
	for (size_t i = 0; i < sizeof(harmless_ends) / sizeof(harmless_ends[0]); i++)
		if (ends_with(path, harmless_ends[i]))
			return NULL;
	for (size_t i = 0; i < sizeof(sensitive) / sizeof(sensitive[0]); i++)
		if (has_components(path, sensitive[i].part))
			return sensitive[i].kind;
	return NULL;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool in_list(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

static const char *config_of(const char *path)
{
	for (size_t i = 0; i < sizeof(config_parts) / sizeof(config_parts[0]); i++)
		if (has_components(path, config_parts[i]))
			return config_parts[i];
	return NULL;
}

/* The host of a URL into `dst`, lower-case, without brackets and final dot; false if there is none.
 */
static bool host_of(const char *url, char *dst, size_t size)
{
	const char *p = strstr(url, "://");
	size_t n;
	const char *at;

	if (!p)
		return false;
	p += 3;
	n = strcspn(p, "/?#\\ \t\"'`|;&<>)");
	at = memrchr(p, '@', n);
	if (at) {
		n -= (size_t)(at + 1 - p);
		p = at + 1;
	}
	if (*p == '[') {
		p++;
		n = strcspn(p, "]");
	} else {
		n = strcspn(p, ":/?#\\ \t\"'`|;&<>)") < n ? strcspn(p, ":/?#\\ \t\"'`|;&<>)") : n;
	}
	n -= n > 0 && p[n - 1] == '.';
	if (!n || n >= size)
		return false;
	for (size_t i = 0; i < n; i++)
		dst[i] = (char)tolower((unsigned char)p[i]);
	dst[n] = '\0';
	return true;
}

/* Does the rule speak of this host, whatever the port and the path? */
static bool rule_has(const char *rule, const char *host)
{
	struct bawn_netrule r;
	uint8_t addr[16];
	int family = strchr(host, ':') ? AF_INET6 : AF_INET;
	const char *why;

	if (bawn_netrule_parse(rule, &r, &why) < 0)
		return false;
	return inet_pton(family, host, addr) == 1 ? bawn_netrule_has_address(&r, family, addr)
						  : bawn_netrule_has_name(&r, host);
}

static bool is_outside(const char *host, const struct bawn_policy *p)
{
	if (!strcmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "::1"))
		return false;
	for (size_t i = 0; p && i < p->net_allow_hosts.n; i++)
		if (rule_has(p->net_allow_hosts.v[i].text, host))
			return false;
	return true;
}

struct steps {
	struct bawn_session_event *v;
	size_t n;
	uint64_t now;
};

static void add(struct steps *s, enum bawn_step step, const char *word)
{
	struct bawn_session_event *e;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].step == step)
			return;
	if (s->n == BAWN_STEPS_PER_CALL)
		return;
	e = &s->v[s->n++];
	*e = (struct bawn_session_event){.time_us = s->now, .step = step};
	(void)snprintf(e->word, sizeof(e->word), "%s", word);
}

static void add_path(struct steps *s, const char *path, bool writes)
{
	const char *kind = bawn_sensitive_path(path);
	const char *name = name_of(path);

	if (kind && !writes)
		add(s, BAWN_STEP_SENSITIVE_READ, kind);
	if (!writes)
		return;
	if (in_list(name, build_files, sizeof(build_files) / sizeof(build_files[0])))
		add(s, BAWN_STEP_BUILD_WRITE, name);
	if (config_of(path))
		add(s, BAWN_STEP_CONFIG_WRITE, config_of(path));
}

/* The next word of a command, quotes dropped; *starts when it stands where a program is named. */
static const char *next_word(const char *p, char *dst, size_t size, bool *starts, bool *redirected)
{
	static const char breaks[] = " \t\r\n;|&(){}<>`";
	size_t n = 0;

	for (; *p && strchr(breaks, *p); p++) {
		if (strchr(";|&({\n`", *p)) {
			*starts = true;
			*redirected = false;
		}
		if (*p == '>')
			*redirected = true;
	}
	if (!*p)
		return NULL;
	for (; *p && !strchr(breaks, *p); p++)
		if (*p != '"' && *p != '\'' && *p != '\\' && n + 1 < size)
			dst[n++] = *p;
	dst[n] = '\0';
	return p;
}

static void add_command(struct steps *s, const char *text, const struct bawn_policy *p)
{
	char word[WORD_MAX], host[256];
	bool starts = true, redirected = false;

	for (const char *at = text;
		(at = next_word(at, word, sizeof(word), &starts, &redirected));) {
		if (starts && in_list(name_of(word), build_programs,
				      sizeof(build_programs) / sizeof(build_programs[0])))
			add(s, BAWN_STEP_BUILD_RUN, name_of(word));
		add_path(s, word, redirected);
		if (host_of(word, host, sizeof(host)) && is_outside(host, p))
			add(s, BAWN_STEP_NET_COMMAND, host);
		starts = starts && strchr(word, '=') != NULL;
		redirected = false;
	}
}

static bool sends(const char *tool)
{
	for (size_t i = 0; i < sizeof(sending_words) / sizeof(sending_words[0]); i++)
		if (strcasestr(tool, sending_words[i]))
			return true;
	return false;
}

size_t bawn_sequence_steps(const struct bawn_tool_use *use, const struct bawn_policy *p,
	uint64_t now_us, struct bawn_session_event *ret)
{
	struct steps s = {.v = ret, .now = now_us};
	char host[256];

	if (use->command)
		add_command(&s, use->command, p);
	if (use->path)
		add_path(&s, use->path, use->writes);
	if (use->url && host_of(use->url, host, sizeof(host)) && is_outside(host, p))
		add(&s, BAWN_STEP_FETCH, host);
	if (!strncmp(use->tool, "mcp__", 5)) {
		add(&s, BAWN_STEP_MCP, use->tool);
		if (sends(use->tool))
			add(&s, BAWN_STEP_MCP_SEND, use->tool);
	}
	return s.n;
}

static const struct sequence {
	const char *id, *rule;
	enum bawn_step first, then; /* first OTHER: the one step is enough */
	unsigned times;             /* so many of `then` with the same word within the window */
	uint64_t window;
	bool advisory; /* unless the policy says enforce */
	enum bawn_severity level;
	double confidence;
	const char *category, *says; /* %s first word, %s second word */
} sequences[] = {
	{"SEQ-001", "sequence.SEQ-001", BAWN_STEP_SENSITIVE_READ, BAWN_STEP_FETCH, 1, 60 * MINUTE,
		false, BAWN_SEV_HIGH, 0.60, "exfiltration",
		"%s were read earlier in this session and now '%s' is fetched; add the host to "
		"network.allow_hosts if that is meant"},
	{"SEQ-002", "sequence.SEQ-002", BAWN_STEP_SENSITIVE_READ, BAWN_STEP_NET_COMMAND, 1,
		60 * MINUTE, false, BAWN_SEV_HIGH, 0.55, "exfiltration",
		"%s were read earlier in this session and this command names '%s'; add the host to "
		"network.allow_hosts if that is meant"},
	{"SEQ-003", "sequence.SEQ-003", BAWN_STEP_OTHER, BAWN_STEP_MCP, 20, MINUTE, false,
		BAWN_SEV_MEDIUM, 0.40, "loop", "%s'%s' was called over and over within a minute"},
	{"SEQ-004", "sequence.SEQ-004", BAWN_STEP_BUILD_WRITE, BAWN_STEP_BUILD_RUN, 1, 60 * MINUTE,
		true, BAWN_SEV_MEDIUM, 0.45, "execution",
		"'%s' was written earlier in this session and '%s' now runs what it says"},
	{"SEQ-005", "sequence.SEQ-005", BAWN_STEP_OTHER, BAWN_STEP_CONFIG_WRITE, 1, MINUTE, false,
		BAWN_SEV_HIGH, 0.50, "persistence",
		"%s'%s' configures the agent or git: what stands there acts later, outside of any wall"},
	{"SEQ-006", "sequence.SEQ-006", BAWN_STEP_SENSITIVE_READ, BAWN_STEP_MCP_SEND, 1,
		60 * MINUTE, false, BAWN_SEV_HIGH, 0.65, "exfiltration",
		"%s were read earlier in this session and '%s' sends something away"},
};

/* Advisory sequences are recorded but do not make a call suspicious on their own. */
#define ADVISORY_CONFIDENCE 0.20

static bool is_advisory(const struct sequence *q, const struct bawn_policy *p)
{
	char key[64];
	const char *mode;

	(void)snprintf(key, sizeof(key), "sequences.%s.mode", q->id);
	mode = p ? bawn_policy_named(p, key) : NULL;
	return mode ? !strcmp(mode, "advisory") : q->advisory;
}

/* The event that `now` completes the sequence with, or NULL. */
static const struct bawn_session_event *completed(const struct sequence *q,
	const struct bawn_session *past, const struct bawn_session_event *now)
{
	const struct bawn_session_event *first = q->first == BAWN_STEP_OTHER ? now : NULL;
	unsigned seen = 1;

	if (now->step != q->then)
		return NULL;
	for (size_t i = past->n; i-- > 0;) {
		const struct bawn_session_event *e = &past->v[i];

		/* a clock that went back does not hide anything */
		if (e->time_us < now->time_us && now->time_us - e->time_us > q->window)
			continue;
		if (q->first != BAWN_STEP_OTHER && e->step == q->first)
			first = e;
		if (e->step == q->then && !strcmp(e->word, now->word))
			seen++;
	}
	return seen >= q->times ? first : NULL;
}

static int report(struct bawn_arena *a, const struct bawn_policy *p, const struct sequence *q,
	const struct bawn_session_event *first, const struct bawn_session_event *now,
	struct bawn_findings *out, struct bawn_error *err)
{
	struct bawn_finding *f = bawn_grow(a, &out->v, &out->n, &out->cap);
	const char *message;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	message = bawn_arena_printf(a, q->says, first == now ? "" : first->word, now->word);
#pragma GCC diagnostic pop
	if (!f || !message)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	*f = (struct bawn_finding){
		.detector = "sequence",
		.rule = q->rule,
		.category = q->category,
		.level = is_advisory(q, p) ? BAWN_SEV_LOW : q->level,
		.signal = BAWN_SIGNAL_SEQUENCE,
		.confidence = is_advisory(q, p) ? ADVISORY_CONFIDENCE : q->confidence,
		.message = message,
	};
	return 0;
}

int bawn_sequence_check(struct bawn_arena *a, const struct bawn_policy *p,
	const struct bawn_session *past, const struct bawn_session_event *now, size_t n_now,
	struct bawn_findings *out, struct bawn_error *err)
{
	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++)
		for (size_t k = 0; k < n_now; k++) {
			const struct bawn_session_event *first =
				completed(&sequences[i], past, &now[k]);
			int r = first ? report(a, p, &sequences[i], first, &now[k], out, err) : 0;

			if (r < 0)
				return r;
		}
	return 0;
}
