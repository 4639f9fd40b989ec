/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SBPL from a plan, see profile.h. The order of a plan's mounts (a later one covers an earlier one)
 * is that of SBPL's rules, so each mount becomes its rules in place; what is denied, protected or
 * guarded follows behind all that is allowed.
 */
#include "backend/seatbelt/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"

/* What a program needs of the system before its first line: the loader, its cache, small devices.
 */
static const char *const system_read[] = {"/System/Library", "/System/Cryptexes",
	"/System/Volumes/Preboot/Cryptexes", "/Library/Apple", "/usr/lib", "/usr/share", "/usr/bin",
	"/bin", "/private/var/db/dyld", "/private/var/db/timezone", "/private/etc/localtime", NULL};
static const char *const system_exec[] = {
	"/System/Library", "/System/Cryptexes", "/usr/lib", "/usr/bin", "/bin", NULL};
static const char *const devices_write[] = {
	"/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", NULL};
static const char *const devices_read[] = {
	"/dev/random", "/dev/urandom", "/dev/autofs_nowait", NULL};

/* Settings that run-time libraries ask for at start. */
static const char *const sysctls[] = {"hw.activecpu", "hw.byteorder", "hw.cacheconfig",
	"hw.cachelinesize", "hw.cpufamily", "hw.cputype", "hw.logicalcpu", "hw.logicalcpu_max",
	"hw.machine", "hw.memsize", "hw.ncpu", "hw.nperflevels", "hw.pagesize",
	"hw.pagesize_compat", "hw.physicalcpu", "hw.physicalcpu_max", "hw.tbfrequency_compat",
	"kern.argmax", "kern.hostname", "kern.maxfilesperproc", "kern.osproductversion",
	"kern.osrelease", "kern.ostype", "kern.osvariant_status", "kern.osversion",
	"kern.usrstack64", "kern.version", "sysctl.proc_cputype", "vm.loadavg", NULL};

/* Who a user is, and where log lines go; nothing that acts on behalf of the caller. */
static const char *const services[] = {"com.apple.logd", "com.apple.system.logger",
	"com.apple.system.notification_center", "com.apple.system.opendirectoryd.libinfo", NULL};

/* Links of macOS: a rule is about the place behind it. */
static const char *const private_dirs[] = {"/etc", "/tmp", "/var", NULL};

struct writer {
	const struct bawn_plan *plan;
	struct bawn_buf *out;
	struct bawn_error *err;
	int failed;
};

/* The inside of a string of SBPL. Nothing in it can end it, and what not every reader reads alike
 * is refused. */
static void put_text(struct writer *w, const char *s)
{
	for (const char *p = s; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f) {
			w->failed = bawn_fail(w->err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
				"a path with control characters cannot be put into a seatbelt profile");
			return;
		}
		if (*p == '"' || *p == '\\')
			bawn_buf_puts(w->out, "\\");
		bawn_buf_add(w->out, p, 1);
	}
}

static void put_filter(struct writer *w, const char *kind, const char *path)
{
	bawn_buf_printf(w->out, " (%s \"", kind);
	put_text(w, path);
	bawn_buf_puts(w->out, "\")");
	for (const char *const *d = private_dirs; *d; d++)
		if (bawn_path_under(path, *d)) {
			bawn_buf_printf(w->out, " (%s \"/private", kind);
			put_text(w, path);
			bawn_buf_puts(w->out, "\")");
		}
}

/* One rule about one path and all below it, or about the path alone. */
static void rule(struct writer *w, const char *what, const char *kind, const char *path)
{
	bawn_buf_printf(w->out, "(%s", what);
	put_filter(w, kind, path);
	bawn_buf_puts(w->out, ")\n");
}

static void rules(struct writer *w, const char *what, const char *kind, const char *const *paths)
{
	bawn_buf_printf(w->out, "(%s", what);
	for (; *paths; paths++) {
		bawn_buf_puts(w->out, "\n   ");
		put_filter(w, kind, *paths);
	}
	bawn_buf_puts(w->out, ")\n");
}

static bool is_moderate(const struct bawn_plan *plan)
{
	return !strcmp(plan->backend.seatbelt_profile, "moderate");
}

static void put_process(struct writer *w)
{
	bawn_buf_puts(w->out, "\n; processes: its own, and nobody else's\n"
			      "(allow process-fork)\n"
			      "(allow process-info* (target same-sandbox))\n"
			      "(allow signal (target same-sandbox))\n");
	rules(w, "allow process-exec*", "subpath", system_exec);
}

static void put_system(struct writer *w)
{
	bool all = is_moderate(w->plan);

	bawn_buf_puts(w->out, "\n; the system\n");
	if (all)
		bawn_buf_puts(w->out, "(allow sysctl-read)\n(allow mach-lookup)\n"
				      "(allow ipc-posix-shm*)\n");
	else {
		rules(w, "allow sysctl-read", "sysctl-name", sysctls);
		rules(w, "allow mach-lookup", "global-name", services);
	}
	if (all)
		bawn_buf_puts(w->out, "(allow file-read*)\n");
	else {
		bawn_buf_puts(w->out, "(allow file-read* (literal \"/\"))\n");
		rules(w, "allow file-read*", "subpath", system_read);
	}
	rules(w, "allow file-read* file-write-data file-ioctl", "literal", devices_write);
	rules(w, "allow file-read*", "literal", devices_read);
}

/* Whether a grant before this one has said it. */
static bool is_above_earlier(const struct writer *w, const char *dir, size_t before)
{
	for (size_t i = 0; i < before; i++) {
		const struct bawn_mount *m = &w->plan->mounts[i];
		bool grant = m->kind == BAWN_MNT_RO || m->kind == BAWN_MNT_SCRATCH ||
			     (m->kind == BAWN_MNT_RW && !m->pin);

		if (grant && !m->protect && bawn_path_under(m->dst, dir))
			return true;
	}
	return false;
}

/* What lies above a granted path has to be walked through. */
static void put_parents(struct writer *w, const char *path, size_t at)
{
	char up[4096];

	for (const char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		size_t n = (size_t)(slash - path);

		if (n >= sizeof(up))
			return;
		memcpy(up, path, n);
		up[n] = '\0';
		if (!is_above_earlier(w, up, at))
			rule(w, "allow file-read-metadata", "literal", up);
	}
}

static void put_grant(struct writer *w, const struct bawn_mount *m, size_t at)
{
	bool rw = m->kind == BAWN_MNT_RW || m->kind == BAWN_MNT_SCRATCH;

	if (!m->protect && !is_moderate(w->plan))
		put_parents(w, m->dst, at);
	rule(w, rw ? "allow file-read* file-write*" : "allow file-read*", "subpath", m->dst);
	if (!rw)
		rule(w, "deny file-write*", "subpath", m->dst);
	rule(w, m->no_exec ? "deny process-exec*" : "allow process-exec*", "subpath", m->dst);
}

static void put_mount(struct writer *w, size_t at)
{
	const struct bawn_mount *m = &w->plan->mounts[at];

	switch (m->kind) {
	case BAWN_MNT_RW:
		if (m->pin) { /* it stays where it is; what is in it has rules of its own */
			rule(w, "deny file-write-unlink", "literal", m->dst);
			break;
		}
		put_grant(w, m, at);
		break;
	case BAWN_MNT_RO:
	case BAWN_MNT_SCRATCH:
		put_grant(w, m, at);
		break;
	case BAWN_MNT_HIDE:
		rule(w, "deny file-read* file-write* process-exec*", "subpath", m->dst);
		break;
	case BAWN_MNT_SOCKET:
		bawn_buf_puts(
			w->out, "(allow network-outbound (remote unix-socket (path-literal \"");
		put_text(w, m->dst);
		bawn_buf_puts(w->out, "\")))\n");
		break;
	case BAWN_MNT_DEVICE:
		rule(w, "allow file-read* file-write-data file-ioctl", "literal", m->dst);
		break;
	case BAWN_MNT_SYMLINK:
	case BAWN_MNT_FILE: /* nothing is mounted: what is there is there */
		break;
	}
}

static void put_denials(struct writer *w)
{
	const struct bawn_plan *p = w->plan;

	bawn_buf_puts(w->out, "\n; whatever was granted above\n");
	for (size_t i = 0; i < p->n_protect; i++)
		rule(w, "deny file-write*", "subpath", p->protect[i]);
	for (size_t i = 0; i < p->n_guards; i++) {
		const struct bawn_guard *g = &p->guards[i];
		char path[4096];

		if ((size_t)snprintf(path, sizeof(path), "%s/%s", g->dir, g->name) >=
			sizeof(path)) {
			w->failed = bawn_fail(w->err, BAWN_ERR_PLAN, -ENAMETOOLONG,
				"a protected path is too long");
			return;
		}
		rule(w, "deny file-write*", "subpath", path);
	}
	for (size_t i = 0; i < p->n_no_exec; i++)
		rule(w, "deny process-exec*", "subpath", p->no_exec[i]);
	for (size_t i = 0; i < p->n_deny; i++)
		rule(w, "deny file-read* file-write* process-exec*", "subpath", p->deny[i]);
}

static void put_network(struct writer *w)
{
	bawn_buf_puts(w->out, "\n; network: nothing but what is named here\n(deny network*)\n");
	for (size_t i = 0; i < w->plan->n_loopback_ports; i++)
		bawn_buf_printf(w->out, "(allow network-outbound (remote ip \"localhost:%u\"))\n",
			w->plan->loopback_ports[i]);
}

bool bawn_seatbelt_is_custom(const struct bawn_plan *plan)
{
	const char *p = plan->backend.seatbelt_profile;

	return strcmp(p, "strict") != 0 && strcmp(p, "moderate") != 0;
}

int bawn_seatbelt_profile(
	const struct bawn_plan *plan, struct bawn_buf *out, struct bawn_error *err)
{
	struct writer w = {.plan = plan, .out = out, .err = err};

	if (plan->egress)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"net.egress: network.mode '%s' needs a network namespace, which macOS does not have; only deny and closed can be enforced",
			bawn_enum_name("netmode", plan->egress->mode));
	bawn_buf_printf(out, "; bawn: %s\n(version 1)\n(deny default)\n",
		is_moderate(plan) ? "moderate" : "strict");
	put_process(&w);
	put_system(&w);
	put_network(&w);
	bawn_buf_puts(out, "\n; files of the plan\n");
	for (size_t i = 0; i < plan->n_mounts; i++)
		put_mount(&w, i);
	put_denials(&w);
	if (w.failed)
		return w.failed;
	return out->failed ? bawn_fail(err, BAWN_ERR_BACKEND, out->failed, "out of memory") : 0;
}

static const char *env_of(const struct bawn_plan *plan, const char *name)
{
	size_t n = strlen(name);

	for (const char *const *v = plan->envp; *v; v++)
		if (!strncmp(*v, name, n) && (*v)[n] == '=')
			return *v + n + 1;
	return "";
}

/* The operator's own profile reads them with (param "WORKSPACE"). */
static int add_custom(struct bawn_arena *a, const struct bawn_plan *plan, struct bawn_strlist *l)
{
	const char *const values[][2] = {{"WORKSPACE", plan->workspace}, {"CWD", plan->cwd},
		{"HOME", env_of(plan, "HOME")}, {"TMPDIR", env_of(plan, "TMPDIR")}};
	int r = bawn_strlist_add(a, l, "-f");

	if (r == 0)
		r = bawn_strlist_add(a, l, plan->backend.seatbelt_profile);
	for (size_t i = 0; r == 0 && i < sizeof(values) / sizeof(values[0]); i++) {
		const char *pair = bawn_arena_printf(a, "%s=%s", values[i][0], values[i][1]);

		r = pair ? bawn_strlist_add(a, l, "-D") : -ENOMEM;
		if (r == 0)
			r = bawn_strlist_add(a, l, pair);
	}
	return r;
}

static int add_generated(struct bawn_arena *a, const struct bawn_plan *plan, struct bawn_strlist *l,
	struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	int r = bawn_seatbelt_profile(plan, &b, err);
	const char *text = r < 0 ? NULL : bawn_arena_strndup(a, b.data, b.len);

	if (r < 0)
		return r;
	r = text ? bawn_strlist_add(a, l, "-p") : -ENOMEM;
	if (r == 0)
		r = bawn_strlist_add(a, l, text);
	return r < 0 ? bawn_fail(err, BAWN_ERR_BACKEND, r, "out of memory") : 0;
}

int bawn_seatbelt_argv(struct bawn_arena *a, const struct bawn_plan *plan, const char *const **ret,
	struct bawn_error *err)
{
	struct bawn_strlist l = {0};
	int r = bawn_strlist_add(a, &l, BAWN_SEATBELT_PROGRAM);

	if (r == 0 && bawn_seatbelt_is_custom(plan))
		r = add_custom(a, plan, &l);
	else if (r == 0) {
		r = add_generated(a, plan, &l, err);
		if (r < 0)
			return r;
	}
	if (r == 0) /* an absolute path: it cannot be taken for an option */
		r = bawn_strlist_add(a, &l, plan->exe);
	for (const char *const *v = plan->argv + 1; r == 0 && plan->argv[0] && *v; v++)
		r = bawn_strlist_add(a, &l, *v);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "out of memory");
	*ret = l.v;
	return 0;
}

uint32_t bawn_seatbelt_claims(const struct bawn_plan *plan)
{
	uint32_t c = BAWN_CTL_ENV;

	if (bawn_seatbelt_is_custom(plan))
		return c;
	c |= BAWN_CTL_FS_WRITE | BAWN_CTL_FS_DENY | BAWN_CTL_FS_EXEC | BAWN_CTL_FS_PROTECT |
	     BAWN_CTL_NET_NONE | BAWN_CTL_PROC;
	if (!is_moderate(plan)) /* reading and services are limited there only */
		c |= BAWN_CTL_FS_READ | BAWN_CTL_IPC;
	return c;
}
