/* SPDX-License-Identifier: Apache-2.0 */
/* What would be lost: deletions, rights and devices, by where they aim and not by how they look. */
#include <string.h>

#include "inspect/shell/shell.h"

static bool flag(const struct sh_command *c, char letter, const char *longer)
{
	for (size_t i = 1; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;

		if (t[0] != '-')
			continue;
		if (t[1] == '-') {
			if (!strcmp(t, "--"))
				return false;
			if (!strcmp(t, longer))
				return true;
		} else if (strchr(t, letter)) {
			return true;
		}
	}
	return false;
}

static int found(
	struct sh *s, const struct sh_command *c, const char *rule, const char *means, double conf)
{
	struct sh_found f = {
		.rule = rule,
		.category = "destruction",
		.means = means,
		.level = conf >= 0.7 ? BAWN_SEV_CRITICAL : BAWN_SEV_HIGH,
		.confidence = conf,
	};

	if ((c->how & SH_REMOTE) && conf > 0.3)
		f.confidence = conf * (conf > 0.85 ? 0.8 : 0.6);
	if (s->script && conf < 0.6)
		f.confidence = conf * 0.4;
	return sh_report(s, c, &f);
}

/* Folders in a home that hold somebody's work. */
static double in_home(const char *path)
{
	const char *p = strchr(path, '/');
	size_t n;

	if (path[0] == '/') {
		p = strchr(path + 1, '/');
		p = p && strncmp(path, "/root", 5) != 0 ? strchr(p + 1, '/') : p;
	}
	if (!p)
		return 0.1;
	p++;
	n = strcspn(p, "/");
	if (p[n] && p[n + 1] && p[n + 1] != '*')
		return 0.05;
	for (const char *const *x = (const char *const[]){"Documents", "Desktop", "Pictures",
		     "Downloads", "Library", ".ssh", ".gnupg", ".aws", ".config", "Music", "Videos",
		     ".kube", ".mozilla", ".thunderbird", NULL};
		*x; x++) {
		if (strlen(*x) == n && !strncmp(p, *x, n))
			return 0.5;
	}
	return 0.1;
}

/* What everybody clears. */
static bool disposable(const char *p)
{
	static const char *const dirs[] = {"/var/lib/apt/lists", "/var/cache", "/usr/share/doc",
		"/usr/share/man", "/usr/share/locale", "/var/lib/docker/tmp", "/usr/local/go",
		"/usr/local/lib/node_modules", "/var/www/html", "/etc/nginx/sites-enabled",
		"/etc/apt/sources.list.d", "/var/lib/postgresql", "/usr/src"};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (!strncmp(p, dirs[i], strlen(dirs[i])))
			return true;
	}
	return strstr(p, "/node_modules") || strstr(p, "/__pycache__") || strstr(p, "/.cache") ||
	       strstr(p, "/site-packages") || strstr(p, "/dist-packages");
}

/* /ho??, /!(tmp): a folder of the system that a pattern means. */
static bool hits_system(const char *t)
{
	static const char *const dirs[] = {"/home", "/etc", "/usr", "/var", "/root", "/bin", "/lib",
		"/boot", "/sbin", "/Users", "/lib64"};

	if (!strncmp(t, "/!(", 3))
		return true;
	for (size_t i = 0; strpbrk(t, "?*[") && i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (sh_glob_match(t, dirs[i]))
			return true;
	}
	return false;
}

/* One file of a service: /etc/nginx/conf.d/old.conf. */
static bool one_setting(const char *p)
{
	const char *dot = strrchr(p, '.'), *slash = strrchr(p, '/');

	return !strncmp(p, "/etc/", 5) && dot > slash && strchr(p + 5, '/') && !strpbrk(p, "*?[") &&
	       sh_is(dot, "|.conf|.cfg|.ini|.list|.repo|.bak|.old|.yaml|.yml|.json|.toml|") &&
	       strncmp(p, "/etc/pam.d/", 11) != 0 && strncmp(p, "/etc/ssh/", 9) != 0 &&
	       strncmp(p, "/etc/audit", 10) != 0 && strncmp(p, "/etc/security/", 14) != 0;
}

static double remove_all(struct sh *s, const struct sh_word *w)
{
	const char *t = sh_path(s, w->text);

	if (!w->known && t[0] == '$') {
		const char *slash = strchr(t, '/');

		return slash && (!slash[1] || !strcmp(slash, "/*")) ? 0.25 : 0.05;
	}
	switch (sh_place(s, w->text)) {
	case SH_ROOT_DIR:
		return 0.97;
	case SH_HOME_DIR:
		return 0.88;
	case SH_SYSTEM_DIR:
		return disposable(t) ? 0.1 : 0.85;
	case SH_IN_SYSTEM:
		return disposable(t) ? 0.05 : one_setting(t) ? 0.2 : 0.42;
	case SH_IN_HOME:
		return in_home(t);
	case SH_DEVICE:
		return 0.6;
	case SH_UP:
		return !t[strspn(t, "./*")] ? 0.45 : 0.05;
	case SH_ALL_HERE:
		return 0.36;
	case SH_ABSOLUTE:
		return strchr(t + 1, '/') ? 0.1 : hits_system(t) ? 0.85 : 0.25;
	case SH_TEMP:
	case SH_HERE_DIR:
	default:
		return 0;
	}
}

/* A copy that somebody put beside the file before he changed it. */
static bool is_spare(const char *p)
{
	const char *dot = strrchr(p, '.');

	return (dot && sh_is(dot, "|.bak|.orig|.old|.backup|.save|.dpkg-old|.rpmsave|.gz|")) ||
	       (*p && p[strlen(p) - 1] == '~');
}

static bool vital(const char *p)
{
	static const char *const files[] = {"/etc/passwd", "/etc/shadow", "/etc/group",
		"/etc/fstab", "/etc/sudoers", "/etc/hosts", "/boot/", "/bin/", "/sbin/", "/lib/",
		"/lib64/", "/usr/bin/", "/usr/sbin/", "/usr/lib/x86", "/proc/", "/sys/",
		"/etc/ssh/sshd_config"};

	if (!strncmp(p, "/etc/", 5) && is_spare(p))
		return false;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (!strncmp(p, files[i], strlen(files[i])))
			return strncmp(p, "/etc/sudoers.d", 14) != 0;
	}
	return false;
}

static int vet_remove(struct sh *s, const struct sh_command *c)
{
	bool all = flag(c, 'r', "--recursive") || flag(c, 'R', "--recursive") ||
		   !strcmp(c->args.v[0].text, "srm");
	double worst = 0;

	for (size_t i = 1; i < c->args.n; i++) {
		const struct sh_word *w = &c->args.v[i];
		double x = 0;

		if (w->text[0] == '-')
			continue;
		if ((c->how & SH_ARGSIN) && !all)
			continue;
		if (all && !(c->how & SH_ARGSIN))
			x = remove_all(s, w);
		else if (vital(sh_path(s, w->text)) || sh_place(s, w->text) == SH_DEVICE)
			x = 0.5;
		else if (sh_place(s, w->text) == SH_ROOT_DIR || sh_place(s, w->text) == SH_HOME_DIR)
			x = c->how & SH_ARGSIN ? 0.2 : 0.45;
		worst = x > worst ? x : worst;
	}
	return found(s, c, "command.remove", "deletes what is not of this workspace", worst);
}

/* tar --remove-files, zip -m: what is packed is gone. */
static int vet_packed(struct sh *s, const struct sh_command *c)
{
	double worst = 0;

	if (!strcmp(c->args.v[0].text, "tar") ? !flag(c, '\001', "--remove-files")
					      : !flag(c, 'm', "--move"))
		return 0;
	for (size_t i = 2; i < c->args.n; i++) {
		const char *t = c->args.v[i].text;
		enum sh_place p = t[0] != '-' ? sh_place(s, t) : SH_HERE_DIR;

		if (p == SH_ROOT_DIR || p == SH_HOME_DIR || p == SH_SYSTEM_DIR)
			worst = 0.6;
	}
	return found(s, c, "command.remove", "deletes what is not of this workspace", worst);
}

/* sh -c '> "$1"' FILE: writes over what it is given. */
static bool empties(const char *script)
{
	for (const char *p = strchr(script, '>'); p; p = strchr(p + 1, '>')) {
		const char *to = p + 1 + strspn(p + 1, " |\"");

		if (to[0] == '$' && (strchr("01@f", to[1]) && to[1]) && p[1] != '>' &&
			(p == script || p[-1] != '>'))
			return true;
	}
	return strstr(script, "{}") && !strncmp(script, ">", 1);
}

/* The program behind -exec leaves nothing of the file. */
static bool ends_file(const struct sh_command *c, size_t i)
{
	const char *p = sh_base(c->args.v[i].text);
	const char *next = i + 1 < c->args.n ? c->args.v[i + 1].text : "";

	if (sh_is(p, "|rm|shred|unlink|srm|wipe|truncate|"))
		return true;
	if (!strcmp(p, "cp"))
		return !strcmp(next, "/dev/null");
	for (size_t k = i; !strcmp(p, "dd") && k < c->args.n; k++) {
		if (!strncmp(c->args.v[k].text, "of={}", 5))
			return true;
	}
	return sh_is_shell(p) && i + 2 < c->args.n && !strcmp(next, "-c") &&
	       empties(c->args.v[i + 2].text);
}

static bool deletes(const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		if (!strcmp(c->args.v[i].text, "-delete"))
			return true;
		if (sh_is(c->args.v[i].text, "|-exec|-execdir|-ok|") && i + 1 < c->args.n &&
			ends_file(c, i + 1))
			return true;
	}
	return false;
}

/* Nobody cleans up like that. */
static bool shreds(const struct sh_command *c)
{
	for (size_t i = 1; i + 1 < c->args.n; i++) {
		if (sh_is(c->args.v[i].text, "|-exec|-execdir|") &&
			sh_is(sh_base(c->args.v[i + 1].text), "|shred|srm|wipe|"))
			return true;
	}
	return false;
}

/* -exec rm -rf {}: how deep find itself goes does not matter then. */
static bool deletes_trees(const struct sh_command *c)
{
	for (size_t i = 1; i + 2 < c->args.n; i++) {
		const char *o = c->args.v[i + 2].text;

		if (sh_is(c->args.v[i].text, "|-exec|-execdir|") &&
			!strcmp(sh_base(c->args.v[i + 1].text), "rm") && o[0] == '-' &&
			strpbrk(o, "rR"))
			return true;
	}
	return false;
}

static int vet_find(struct sh *s, const struct sh_command *c)
{
	bool trees = deletes_trees(c);
	double worst = 0;

	if (!deletes(c))
		return 0;
	for (size_t i = 1; i < c->args.n && c->args.v[i].text[0] != '-'; i++) {
		enum sh_place p = sh_place(s, c->args.v[i].text);
		double x = 0;

		if (p == SH_ROOT_DIR || p == SH_HOME_DIR || p == SH_SYSTEM_DIR)
			x = !sh_narrowed(c, p != SH_ROOT_DIR && !trees) ? 0.9
			    : shreds(c)                                 ? 0.45
									: 0.15;
		else if (p == SH_IN_SYSTEM && !sh_narrowed(c, true))
			x = 0.4;
		else if (p == SH_ALL_HERE && !sh_narrowed(c, true))
			x = shreds(c) ? 0.4 : 0.25;
		/* scripts that make images of machines empty the logs */
		if (s->script && x > 0.36 && !strncmp(c->args.v[i].text, "/var/log", 8))
			x = 0.36;
		worst = x > worst ? x : worst;
	}
	return found(s, c, "command.find-delete", "deletes everything that it finds there", worst);
}

static int vet_rights(struct sh *s, const struct sh_command *c)
{
	bool all = flag(c, 'R', "--recursive");
	double worst = 0;

	for (size_t i = 2; i < c->args.n; i++) {
		enum sh_place p = sh_place(s, c->args.v[i].text);
		double x = 0;

		if (c->args.v[i].text[0] == '-')
			continue;
		if (all && p == SH_ROOT_DIR)
			x = 0.85;
		else if (all && p == SH_SYSTEM_DIR)
			x = strncmp(c->args.v[i].text, "/var/www", 8) != 0 ? 0.45 : 0.05;
		else if (all && p == SH_HOME_DIR && !strcmp(c->args.v[0].text, "chmod"))
			x = 0.3;
		worst = x > worst ? x : worst;
	}
	return found(s, c, "command.rights-of-all", "changes the rights of a whole system", worst);
}

static const char *target(const struct sh_command *c)
{
	for (size_t i = 1; i < c->args.n; i++) {
		if (!strncmp(c->args.v[i].text, "of=", 3))
			return c->args.v[i].text + 3;
	}
	return NULL;
}

/* A disk as manuals write it: /dev/sdX, /dev/sdXY, /dev/nvmeXnY. */
static bool placeholder(const char *device)
{
	return strchr(sh_base(device), 'X') || strpbrk(device, "<>{}") ||
	       !strcmp(device, "/dev/sdx") || !strcmp(device, "/dev/sdx1");
}

static int vet_dd(struct sh *s, const struct sh_command *c)
{
	const char *to = target(c);
	bool blank = strstr(c->line, "if=/dev/zero") || strstr(c->line, "if=/dev/urandom") ||
		     strstr(c->line, "if=/dev/random");
	double x = 0;

	if (to && sh_place(s, to) == SH_DEVICE)
		x = placeholder(to) ? 0.2 : blank ? 0.85 : 0.4;
	else if (to && vital(to))
		x = 0.7;
	else if (to && blank && !strstr(c->line, "count=") && strncmp(to, "/dev/", 5) != 0)
		x = 0.31;
	return found(s, c, "command.write-device", "overwrites a disk or a file of the system", x);
}

static int vet_format(struct sh *s, const struct sh_command *c)
{
	double x = 0;

	/* alone it only tells what is there */
	if (!strcmp(c->args.v[0].text, "wipefs") && !flag(c, 'a', "--all") &&
		!flag(c, 'o', "--offset"))
		return 0;
	for (size_t i = 1; i < c->args.n; i++) {
		if (sh_place(s, c->args.v[i].text) == SH_DEVICE &&
			strncmp(c->args.v[i].text, "/dev/loop", 9) != 0)
			x = placeholder(c->args.v[i].text) ? 0.2
			    : sh_is(c->args.v[0].text, "|shred|wipefs|blkdiscard|") ||
					    flag(c, 'F', "--force")
				    ? 0.72
				    : 0.5;
	}
	return found(s, c, "command.wipe-device", "destroys the content of a disk", x);
}

static int vet_move(struct sh *s, const struct sh_command *c)
{
	double x = 0;

	if (c->args.n >= 3 && !strcmp(c->args.v[c->args.n - 1].text, "/dev/null")) {
		enum sh_place p = sh_place(s, c->args.v[c->args.n - 2].text);

		x = p == SH_ROOT_DIR || p == SH_HOME_DIR || p == SH_SYSTEM_DIR ? 0.9 : 0.4;
	}
	for (size_t i = 1; i + 1 < c->args.n; i++) {
		if (sh_is(c->args.v[i].text,
			    "|/etc|/usr|/bin|/sbin|/lib|/lib64|/boot|/var|/usr/bin|/usr/lib|/usr/sbin|"
			    "/etc/|/usr/|/bin/|/lib/|/boot/|/var/|/*|/etc/*|/bin/*|/lib/*|/boot/*|"
			    "/etc/passwd|/etc/shadow|/etc/group|/etc/gshadow|/etc/sudoers|"))
			x = x > 0.5 ? x : 0.5;
	}
	/* a home that is somewhere else is as good as gone */
	for (size_t i = 1; i + 1 < c->args.n && !s->script && !(c->how & SH_REMOTE); i++) {
		if (c->args.v[i].text[0] != '-' && sh_place(s, c->args.v[i].text) == SH_HOME_DIR &&
			x < 0.45)
			x = 0.45;
	}
	return found(s, c, "command.move-to-null", "throws files away", x);
}

/* cp x /dev/sda, tee /dev/sda */
static int vet_device_writes(struct sh *s, const struct sh_command *c)
{
	double x = 0;

	for (size_t i = 0; i < c->writes.n; i++) {
		const char *p = c->writes.v[i];

		if (sh_place(s, p) == SH_DEVICE && strncmp(p, "/dev/loop", 9) != 0)
			x = placeholder(p) ? 0.2 : 0.72;
	}
	return found(s, c, "command.write-device", "overwrites a disk or a file of the system", x);
}

/* > /dev/sda, > /etc/passwd */
static int vet_redirects(struct sh *s, const struct sh_command *c)
{
	double worst = 0;

	for (size_t i = 0; i < c->redirs.n; i++) {
		const struct sh_redir *d = &c->redirs.v[i];
		const char *p = sh_path(s, d->path);
		double x = 0;

		if (d->kind != SH_OUT && d->kind != SH_APPEND)
			continue;
		if (sh_place(s, p) == SH_DEVICE)
			x = 0.8;
		else if (vital(p) && strncmp(p, "/etc/hosts", 10) != 0)
			x = !strncmp(p, "/proc/", 6) || !strncmp(p, "/sys/", 5) ? 0.15
			    : d->kind == SH_OUT                                 ? 0.62
										: 0.5;
		/* installers put programs and kernels there */
		if (s->script && strncmp(p, "/etc/", 5) != 0 && x < 0.7)
			x *= 0.4;
		worst = x > worst ? x : worst;
	}
	return found(s, c, "command.overwrite-system",
		"overwrites a disk or a file that the system needs", worst);
}

int sh_vet_destroy(struct sh *s, const struct sh_command *c)
{
	const char *p = c->args.n ? c->args.v[0].text : "";
	int rc = c->redirs.n ? vet_redirects(s, c) : 0;

	if (rc < 0 || !c->args.n)
		return rc;
	if (sh_is(p, "|rm|grm|srm|unlink|rmtree|truncate|"))
		return vet_remove(s, c);
	if (sh_is(p, "|tar|zip|"))
		return vet_packed(s, c);
	if (sh_is(p, "|find|gfind|"))
		return vet_find(s, c);
	if (sh_is(p, "|chmod|chown|chgrp|"))
		return vet_rights(s, c);
	if (sh_is(p, "|dd|dcfldd|"))
		return vet_dd(s, c);
	if (!strncmp(p, "mkfs", 4) || sh_is(p, "|shred|wipefs|blkdiscard|mke2fs|mkswap|badblocks|"))
		return vet_format(s, c);
	if (!strcmp(p, "mv"))
		return vet_move(s, c);
	if (sh_is(p, "|cp|tee|"))
		return vet_device_writes(s, c);
	return 0;
}
