/* SPDX-License-Identifier: Apache-2.0 */
/* The command as it will be executed: its program and its environment, nothing inherited by
 * accident. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "plan/build.h"
#include "plan/module.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Variables that make programs load or run something. Passed only when named in full. */
static const char *const dangerous[] = {"LD_*", "DYLD_*", "GCONV_PATH", "GETCONF_DIR",
	"HOSTALIASES", "LOCALDOMAIN", "LOCPATH", "MALLOC_*", "NLSPATH", "RESOLV_HOST_CONF",
	"RES_OPTIONS", "TZDIR", "BASH_ENV", "BASH_FUNC_*", "ENV", "IFS", "PS4", "PROMPT_COMMAND",
	"SHELLOPTS", "BASHOPTS", "PYTHON*", "PERL*", "RUBYOPT", "RUBYLIB", "NODE_*",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GIT_*", "SSH_*", "GPG_*",
	"DBUS_*", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_*",
	"KUBECONFIG", "EDITOR", "VISUAL", "PAGER", "LESSOPEN", "LESSCLOSE", "MANPAGER", "BROWSER",
	"BAWN_*"};

static bool is_dangerous(const char *name)
{
	for (size_t i = 0; i < sizeof(dangerous) / sizeof(dangerous[0]); i++)
		if (bawn_glob_match(dangerous[i], name))
			return true;
	return false;
}

static bool is_passed(const struct bawn_policy *p, const char *name)
{
	for (size_t i = 0; i < p->env_pass.n; i++) {
		const char *pattern = p->env_pass.v[i].text;

		if (!strcmp(pattern, name) ||
			(bawn_glob_match(pattern, name) && !is_dangerous(name)))
			return true;
	}
	return false;
}

/* Only absolute entries: "." or an empty one would run what lies in the workspace. */
static char *clean_search_path(struct bawn_arena *a, const char *value)
{
	char *out = bawn_arena_alloc(a, strlen(value) + 1);
	size_t n = 0;

	for (const char *p = value; out && *p;) {
		size_t len = strcspn(p, ":");

		if (*p == '/') {
			if (n)
				out[n++] = ':';
			memcpy(out + n, p, len);
			n += len;
		}
		p += len + (p[len] ? 1 : 0);
	}
	return out;
}

struct env {
	struct bawn_arena *a;
	struct bawn_strlist list;
	int failed;
};

static const char *env_find(const struct env *e, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < e->list.n; i++)
		if (!strncmp(e->list.v[i], name, n) && e->list.v[i][n] == '=')
			return e->list.v[i] + n + 1;
	return NULL;
}

static void env_put(struct env *e, const char *name, const char *value)
{
	char *text = bawn_arena_printf(e->a, "%s=%s", name, value);
	size_t n = strlen(name);

	if (!text) {
		e->failed = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < e->list.n; i++)
		if (!strncmp(e->list.v[i], name, n) && e->list.v[i][n] == '=') {
			e->list.v[i] = text;
			return;
		}
	if (bawn_strlist_add(e->a, &e->list, text) < 0)
		e->failed = -ENOMEM;
}

static void take_callers(struct plan_builder *b, struct env *e)
{
	for (const char *const *v = b->c->envp; v && *v; v++) {
		const char *eq = strchr(*v, '=');
		const char *name = eq ? bawn_arena_strndup(b->a, *v, (size_t)(eq - *v)) : NULL;

		if (!name || !*name || !is_passed(b->p, name))
			continue;
		if (!strcmp(name, "PATH")) {
			const char *path = clean_search_path(b->a, eq + 1);

			if (path && *path)
				env_put(e, name, path);
		} else {
			env_put(e, name, eq + 1);
		}
	}
}

static void put_variable(void *data, const char *name, const char *value)
{
	env_put(data, name, value);
}

int plan_make_env(struct plan_builder *b, struct bawn_error *err)
{
	struct env e = {.a = b->a};

	take_callers(b, &e);
	if (!env_find(&e, "PATH"))
		env_put(&e, "PATH", DEFAULT_PATH);
	env_put(&e, "HOME", b->home);
	env_put(&e, "PWD", b->plan->cwd);
	env_put(&e, "TMPDIR", b->plan->tier == BAWN_TIER_LANDLOCK ? b->home : "/tmp");
	env_put(&e, "BAWN_SANDBOX", b->backend);
	if (plan_proxy_env(b, put_variable, &e) < 0)
		e.failed = -ENOMEM;
	for (size_t i = 0; i < b->p->env_set.n; i++)
		env_put(&e, b->p->env_set.v[i].key, b->p->env_set.v[i].value);
	/* last: a variable of the same name must not turn up in the place of a secret */
	if (plan_secret_env(b, put_variable, &e) < 0)
		e.failed = -ENOMEM;
	if (e.failed)
		return bawn_fail(err, BAWN_ERR_PLAN, e.failed, "out of memory");
	b->plan->envp = e.list.v;
	return 0;
}

/* Is the name itself inside, and not only what it leads to? Without mounts a link is followed
 * wherever it lies. */
static bool is_there(const struct plan_builder *b, const char *path)
{
	const char *name = strrchr(path, '/');
	const char *dir = name ? bawn_arena_strndup(b->a, path, (size_t)(name - path)) : NULL;
	const struct bawn_mount *m;
	const char *real;

	if (!dir || b->plan->tier == BAWN_TIER_LANDLOCK ||
		bawn_path_resolve(b->a, *dir ? dir : "/", &real) < 0)
		return true;
	real = bawn_path_join(b->a, real, name + 1);
	m = real ? plan_cover(b, real) : NULL;
	return m && m->kind != BAWN_MNT_SCRATCH;
}

/* True if the file can be executed inside: visible, regular, executable for us. */
static int usable(const struct plan_builder *b, const char *path)
{
	const char *real;
	struct stat st;
	const struct bawn_mount *m;

	if (bawn_path_resolve(b->a, path, &real) < 0)
		return -ENOENT;
	m = plan_cover(b, real);
	if (!m || m->kind == BAWN_MNT_SCRATCH || (strcmp(real, path) != 0 && !is_there(b, path)))
		return -EXDEV;
	if (m->kind == BAWN_MNT_HIDE || stat(real, &st) < 0 || !S_ISREG(st.st_mode))
		return -EACCES;
	/* a module is executed by a run time, which reads it */
	return faccessat(AT_FDCWD, real, X_OK, AT_EACCESS) == 0 || bawn_is_module(real) ? 0
											: -EACCES;
}

bool bawn_is_for_shells(const char *cmd)
{
	static const char *const builtins[] = {"cd", "source", "export", "alias", "set", "unset",
		"eval", "exec", "ulimit", "umask", "type", "trap", "wait", "if", "for", "while"};

	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (!strcmp(cmd, builtins[i]))
			return true;
	return strpbrk(cmd, " |&;<>$") != NULL;
}

static int not_found(const char *cmd, const char *hidden, int why, struct bawn_error *err)
{
	if (why == -EACCES)
		return bawn_fail(
			err, BAWN_ERR_NOTFOUND, -EACCES, "'%s' cannot be executed", hidden);
	if (why == -EXDEV)
		return bawn_fail(err, BAWN_ERR_NOTFOUND, -ENOENT,
			"'%s' is at '%s', outside the sandbox; allow it with --ro on its directory",
			cmd, hidden);
	if (bawn_is_for_shells(cmd))
		return bawn_fail(err, BAWN_ERR_NOTFOUND, -ENOENT,
			"command '%s' not found; what is meant for a shell is run as: sh -c '…'",
			cmd);
	return bawn_fail(err, BAWN_ERR_NOTFOUND, -ENOENT, "command '%s' not found", cmd);
}

static int search(struct plan_builder *b, const char *cmd, struct bawn_error *err)
{
	const char *path = NULL, *hidden = NULL, *first = NULL;
	int why = -ENOENT;

	for (const char *const *v = b->plan->envp; *v; v++)
		if (!strncmp(*v, "PATH=", 5))
			path = *v + 5;
	for (const char *p = path; p && *p;) {
		size_t len = strcspn(p, ":");
		const char *at = bawn_arena_printf(b->a, "%.*s/%s", (int)len, p, cmd);
		int r = at ? usable(b, at) : -ENOMEM;

		if (r == 0) {
			b->plan->exe = at;
			if (first)
				b->plan->instead = bawn_arena_printf(b->a,
					"'%s' is '%s' here: '%s', which PATH names first, is not part of this sandbox; the operator can show it with --ro on its directory",
					cmd, at, first);
			return 0;
		}
		if (r == -EXDEV && !first)
			first = at;
		if (r != -ENOENT && why != -EACCES) {
			why = r;
			hidden = at;
		}
		p += len + (p[len] ? 1 : 0);
	}
	return not_found(cmd, hidden, why, err);
}

int plan_make_exe(struct plan_builder *b, struct bawn_error *err)
{
	const char *cmd = b->c->argv[0];
	const char *path;
	int r;

	b->plan->argv = b->c->argv;
	if (b->plan->backend.image && (!strchr(cmd, '/') || cmd[0] == '/')) {
		b->plan->exe = cmd; /* the image's, which only the other side can look at */
		return 0;
	}
	if (!strchr(cmd, '/'))
		return search(b, cmd, err);
	path = bawn_path_join(b->a, b->plan->cwd, cmd);
	if (!path)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	r = usable(b, path);
	if (r < 0)
		return not_found(cmd, path, r, err);
	b->plan->exe = path;
	return 0;
}
