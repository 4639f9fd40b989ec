/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Controllers may sit in one v2 tree, in up to a dozen v1 trees, or in a mix; a v1 mount may hold
 * several ("cpu,cpuacct"). The kernel's own tables are the only place that says which. Version 2
 * has the rule that a group with processes in it cannot hand controllers to children, so our own
 * group is usually no place for ours and the first writable one above it is taken.
 */
#include "backend/native/hierarchy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/vfs.h>

#include "base/buf.h"
#include "base/control.h"
#include "base/io.h"
#include "policy/policy.h"

#define TABLE_MAX    ((size_t)1 << 20)
#define ALL_CONTROLS (BAWN_CTL_LIMIT_MEMORY | BAWN_CTL_LIMIT_PROCESSES | BAWN_CTL_LIMIT_CPU)
#define MAGIC_V1     0x27e0eb
#define MAGIC_V2     0x63677270

static int real_make(int parent, const char *name)
{
	return mkdirat(parent, name, 0755) < 0 ? -errno : 0;
}

static int real_remove(int parent, const char *name)
{
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

const struct bawn_cgroup_host bawn_cgroup_real = {
	.mountinfo = "/proc/self/mountinfo",
	.self = "/proc/self/cgroup",
	.usual = "/sys/fs/cgroup",
	.make = real_make,
	.remove = real_remove,
};

static const struct {
	const char *name;
	uint32_t control;
} controllers[] = {
	{"memory", BAWN_CTL_LIMIT_MEMORY},
	{"pids", BAWN_CTL_LIMIT_PROCESSES},
	{"cpu", BAWN_CTL_LIMIT_CPU},
};

/* True if `word` is in a list whose items are divided by any of `seps`. */
static bool list_has(const char *list, const char *seps, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; *p;) {
		size_t n = strcspn(p, seps);

		if (n == len && memcmp(p, word, len) == 0)
			return true;
		p += n;
		p += strspn(p, seps);
	}
	return false;
}

static uint32_t controls_of(const char *list, const char *seps)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++)
		if (list_has(list, seps, controllers[i].name))
			mask |= controllers[i].control;
	return mask;
}

/* Spaces and the like are written \040 in the table of mounts. */
static void unescape(char *s)
{
	char *w = s;

	for (const char *r = s; *r; w++) {
		bool octal = r[0] == '\\' && r[1] >= '0' && r[1] <= '3' && r[2] >= '0' &&
			     r[2] <= '7' && r[3] >= '0' && r[3] <= '7';

		if (octal) {
			*w = (char)(((r[1] - '0') << 6) | ((r[2] - '0') << 3) | (r[3] - '0'));
			r += 4;
		} else {
			*w = *r++;
		}
	}
	*w = '\0';
}

/* Our group in the hierarchy `list` (v1: names of controllers; v2: "") from lines
 * "4:memory:/a/b". */
static const char *own_group(char *const *lines, size_t n, bool v2, const char *options)
{
	for (size_t i = 0; i < n; i++) {
		char *names = strchr(lines[i], ':');
		char *path = names ? strchr(names + 1, ':') : NULL;
		char list[256];

		if (!path || path[1] != '/')
			continue;
		(void)snprintf(list, sizeof(list), "%.*s", (int)(path - names - 1), names + 1);
		if (v2 ? list[0] == '\0' : controls_of(list, ",") & controls_of(options, ","))
			return path + 1;
	}
	return NULL;
}

uint32_t bawn_hier_v1_controls(const char *line)
{
	const char *names = line + strcspn(line, ":\n");
	char list[256];

	if (*names != ':')
		return 0;
	(void)snprintf(list, sizeof(list), "%.*s", (int)strcspn(names + 1, ":\n"), names + 1);
	return controls_of(list, ",");
}

/* Where group `group` is, in a mount of `root` at h->mount. False: not to be seen there. */
static bool set_own(struct bawn_hier *h, const char *root, const char *group)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	/* "/../x": outside our cgroup namespace. */
	if (strstr(group, "/..") || strncmp(group, root, len) != 0 ||
		(group[len] != '/' && group[len] != '\0'))
		return false;
	const char *rest = strcmp(group + len, "/") == 0 ? "" : group + len;
	int n = snprintf(h->own, sizeof(h->own), "%s%s", h->mount, rest);
	return n > 0 && (size_t)n < sizeof(h->own);
}

/* One line of mountinfo: "36 31 0:33 /root /point opts [tags] - type source superopts". */
static bool parse_mount(char *line, char *const *self, size_t n_self, struct bawn_hier *h)
{
	char *tail = strstr(line, " - ");
	char *save = NULL;
	char *f[5];

	if (!tail || strncmp(tail + 3, "cgroup", 6) != 0)
		return false;
	*tail = '\0';
	for (size_t i = 0; i < 5; i++) {
		f[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!f[i])
			return false;
	}
	const char *type = strtok_r(tail + 3, " ", &save);
	const char *source = strtok_r(NULL, " ", &save);
	const char *options = strtok_r(NULL, " ", &save);
	if (!type || !source || !options)
		return false;
	*h = (struct bawn_hier){.v2 = strcmp(type, "cgroup2") == 0};
	if (!h->v2 && strcmp(type, "cgroup") != 0)
		return false;
	h->controls = h->v2 ? 0 : controls_of(options, ",");
	h->acct = !h->v2 && list_has(options, ",", "cpuacct");
	if (!h->v2 && !h->controls)
		return false;
	unescape(f[3]);
	unescape(f[4]);
	const char *group = own_group(self, n_self, h->v2, options);
	int n = snprintf(h->mount, sizeof(h->mount), "%s", f[4]);
	return group && n > 0 && (size_t)n < sizeof(h->mount) && set_own(h, f[3], group);
}

static size_t split_lines(char *text, char **lines, size_t max)
{
	size_t n = 0;
	char *save = NULL;

	for (char *l = strtok_r(text, "\n", &save); l && n < max; l = strtok_r(NULL, "\n", &save))
		lines[n++] = l;
	return n;
}

/* Which controllers v2 has: what our own group was given, of which children can be given some. */
static void v2_controls(struct bawn_hier *h)
{
	_cleanup_close_ int dir = open(h->own, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char text[512];

	if (dir >= 0 && bawn_read_small(dir, "cgroup.controllers", text, sizeof(text)) > 0)
		h->controls = controls_of(text, " \n");
}

/* A hierarchy may be mounted more than once; the first mount that shows our group will do. */
static uint32_t known_controls(const struct bawn_hiers *all)
{
	uint32_t known = 0;

	for (size_t i = 0; i < all->n; i++)
		known |= all->v[i].controls;
	return known;
}

static void add_hier(struct bawn_hiers *all, const struct bawn_hier *h)
{
	uint32_t known = known_controls(all);

	if (all->n < BAWN_GROUPS_MAX && h->controls & ~known) {
		all->v[all->n] = *h;
		all->v[all->n++].controls &= ~known;
	}
}

/* The hierarchy of a line "4:memory:/a/b" at its usual place. False: it is not there. */
static bool try_usual(const struct bawn_cgroup_host *host, const char *line, struct bawn_hier *h)
{
	const char *names = strchr(line, ':');
	const char *path = names ? strchr(names + 1, ':') : NULL;
	char list[256];
	struct statfs fs;

	if (!path || path[1] != '/')
		return false;
	(void)snprintf(list, sizeof(list), "%.*s", (int)(path - names - 1), names + 1);
	*h = (struct bawn_hier){.v2 = !*list,
		.controls = controls_of(list, ","),
		.acct = list_has(list, ",", "cpuacct")};
	int n = snprintf(h->mount, sizeof(h->mount), "%s%s%s", host->usual, *list ? "/" : "", list);
	if (n < 0 || (size_t)n >= sizeof(h->mount) || !set_own(h, "/", path + 1))
		return false;
	if (statfs(h->own, &fs) < 0 || fs.f_type != (h->v2 ? MAGIC_V2 : MAGIC_V1))
		return false;
	if (h->v2)
		v2_controls(h);
	return true;
}

bool bawn_hier_all_v1(const struct bawn_cgroup_host *host)
{
	struct statfs fs;
	char path[64];

	if (!host->usual)
		return false;
	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", host->usual, controllers[i].name);
		if (statfs(path, &fs) < 0 || fs.f_type != MAGIC_V1)
			return false;
	}
	return true;
}

/*
 * The kernel writes the table of mounts for every reader, which takes long on a host with many.
 * True if it is not needed: each hierarchy of interest is where it usually is.
 */
static bool find_usual(
	const struct bawn_cgroup_host *host, char *const *lines, size_t n, struct bawn_hiers *ret)
{
	struct bawn_hier h;
	bool all = false;

	for (size_t i = 0; i < n; i++) {
		uint32_t v1 = bawn_hier_v1_controls(lines[i]);
		bool v2 = !strncmp(lines[i], "0::", 3);

		if ((!v1 && !v2) || known_controls(ret) == ALL_CONTROLS)
			continue;
		if (!try_usual(host, lines[i], &h))
			return false;
		add_hier(ret, &h);
		all |= v2;
	}
	return all || known_controls(ret) == ALL_CONTROLS;
}

int bawn_hier_find(const struct bawn_cgroup_host *host, struct bawn_hiers *ret)
{
	_cleanup_buf_ struct bawn_buf mounts = {.max = TABLE_MAX};
	_cleanup_buf_ struct bawn_buf self = {.max = TABLE_MAX};
	char *lines[32];
	char *save = NULL;
	struct bawn_hier h;

	ret->n = 0;
	int r = bawn_read_file(AT_FDCWD, host->self, TABLE_MAX, &self);
	if (r < 0 || !self.data)
		return r < 0 ? r : 0;
	size_t n = split_lines(self.data, lines, sizeof(lines) / sizeof(lines[0]));
	if (host->usual && find_usual(host, lines, n, ret))
		return 0;
	ret->n = 0;
	r = bawn_read_file(AT_FDCWD, host->mountinfo, TABLE_MAX, &mounts);
	if (r < 0 && r != -E2BIG)
		return r;
	if (!mounts.data)
		return 0;
	for (char *l = strtok_r(mounts.data, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		if (known_controls(ret) == ALL_CONTROLS)
			break;
		if (!parse_mount(l, lines, n, &h))
			continue;
		if (h.v2)
			v2_controls(&h);
		add_hier(ret, &h);
	}
	return 0;
}

static int open_dir(
	const struct bawn_cgroup_host *host, const struct bawn_hier *h, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return -errno;
	/* Something else may be mounted over what the table shows. */
	if (!host->any_fs && (fstatfs(fd, &fs) < 0 || fs.f_type != (h->v2 ? MAGIC_V2 : MAGIC_V1)))
		return -ENODEV;
	return TAKE_FD(fd);
}

/* What of `want` children of `dir` get, after asking for what is missing. */
static uint32_t v2_children_get(int dir, uint32_t want)
{
	char text[512];
	uint32_t got = 0;

	if (bawn_read_small(dir, "cgroup.subtree_control", text, sizeof(text)) >= 0)
		got = controls_of(text, " \n") & want;
	if (got == want)
		return got;
	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		if (!(want & ~got & controllers[i].control))
			continue;
		(void)snprintf(text, sizeof(text), "+%s", controllers[i].name);
		if (bawn_write_small(dir, "cgroup.subtree_control", text) == 0)
			got |= controllers[i].control;
	}
	return got;
}

static void cap_by(int dir, const char *file, uint64_t *cap)
{
	char text[64];
	char *end = NULL;

	if (bawn_read_small(dir, file, text, sizeof(text)) <= 0)
		return;
	uint64_t v = strtoull(text, &end, 10); /* "max" is no number */
	if (end != text && v < *cap)
		*cap = v;
}

static void cap_cpu(int dir, uint64_t *cap)
{
	char text[64];
	char *end = NULL;

	if (bawn_read_small(dir, "cpu.max", text, sizeof(text)) <= 0)
		return;
	uint64_t quota = strtoull(text, &end, 10);
	uint64_t period = end != text ? strtoull(end, NULL, 10) : 0;
	if (period && quota < UINT64_MAX / 1000 && quota * 1000 / period < *cap)
		*cap = quota * 1000 / period;
}

static int open_v2(const struct bawn_cgroup_host *host, const struct bawn_hier *h, uint32_t want,
	uint32_t *ret_got, struct bawn_hier_caps *caps)
{
	char path[BAWN_HIER_PATH_MAX];
	size_t top = strlen(h->mount);
	int r = -EACCES;

	(void)snprintf(path, sizeof(path), "%s", h->own);
	for (;;) {
		_cleanup_close_ int dir = open_dir(host, h, path);

		if (dir < 0)
			return dir;
		/* To move a process from our group into one below this takes this permission. */
		if (faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0 ||
			faccessat(dir, ".", W_OK, AT_EACCESS) < 0)
			return r;
		*ret_got = v2_children_get(dir, want);
		if (*ret_got)
			return TAKE_FD(dir);
		r = -EBUSY;
		cap_by(dir, "memory.max", &caps->memory);
		cap_by(dir, "pids.max", &caps->processes);
		cap_cpu(dir, &caps->cpus_milli);
		char *slash = strrchr(path, '/');
		if (!slash || (size_t)(slash - path) < top || path[top] == '\0')
			return r;
		*slash = '\0';
	}
}

int bawn_hier_open(const struct bawn_cgroup_host *host, const struct bawn_hier *h, uint32_t want,
	uint32_t *ret_got, struct bawn_hier_caps *caps)
{
	want &= h->controls;
	if (h->v2)
		return open_v2(host, h, want, ret_got, caps);
	*ret_got = want;
	return open_dir(host, h, h->own);
}
