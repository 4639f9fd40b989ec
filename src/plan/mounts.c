/* SPDX-License-Identifier: Apache-2.0 */
/* What the command sees of the file system: one list, parents first, a later entry covers an
 * earlier one. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <sys/stat.h>

#include "plan/build.h"

int plan_add_mount(struct plan_builder *b, struct bawn_mount m, struct bawn_error *err)
{
	struct bawn_mount *slot =
		bawn_grow(b->a, &b->plan->mounts, &b->plan->n_mounts, &b->mounts_cap);

	if (!slot)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	*slot = m;
	return 0;
}

const struct bawn_mount *plan_cover(const struct plan_builder *b, const char *path)
{
	const struct bawn_mount *best = NULL;

	for (size_t i = 0; i < b->plan->n_mounts; i++) {
		const struct bawn_mount *m = &b->plan->mounts[i];

		if (m->kind != BAWN_MNT_SYMLINK && bawn_path_under(path, m->dst) &&
			(!best || strlen(m->dst) >= strlen(best->dst)))
			best = m;
	}
	return best;
}

static int add(struct plan_builder *b, enum bawn_mount_kind kind, const char *path,
	const char *rule, struct bawn_error *err)
{
	return plan_add_mount(
		b, (struct bawn_mount){.kind = kind, .src = path, .dst = path, .rule = rule}, err);
}

/* /bin may be a directory or, on a merged system, a symlink into /usr: as on the host. */
static int add_system_dir(struct plan_builder *b, const char *path, struct bawn_error *err)
{
	char target[PATH_MAX];
	const char *to;
	struct stat st;
	ssize_t n = 0;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0
				       : bawn_fail(err, BAWN_ERR_PLAN, -errno,
						 "cannot look at '%s': %m", path);
	if (!S_ISLNK(st.st_mode))
		return add(b, BAWN_MNT_RO, path, "filesystem.system", err);
	if (b->plan->tier == BAWN_TIER_LANDLOCK) /* sees the host's own link */
		return 0;
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return bawn_fail(err, BAWN_ERR_PLAN, -errno, "cannot read the link '%s': %m", path);
	to = bawn_arena_strndup(b->a, target, (size_t)n);
	if (!to)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	return plan_add_mount(b,
		(struct bawn_mount){.kind = BAWN_MNT_SYMLINK,
			.src = to,
			.dst = path,
			.rule = "filesystem.system"},
		err);
}

static int add_system(struct plan_builder *b, struct bawn_error *err)
{
	for (size_t i = 0; i < b->p->fs_system.n; i++) {
		int r = add_system_dir(b, b->p->fs_system.v[i].text, err);

		if (r < 0)
			return r;
	}
	/* processors and memory nodes: run-time libraries size their pools by it */
	return plan_add_mount(b,
		(struct bawn_mount){.kind = BAWN_MNT_RO,
			.src = "/sys/devices/system",
			.dst = "/sys/devices/system",
			.optional = true,
			.rule = "built in"},
		err);
}

/* What every sandbox has of its own cannot be the host's; its kernel is not for commands to set. */
static int check_grant(
	enum bawn_mount_kind kind, const char *path, const char *rule, struct bawn_error *err)
{
	if (!strcmp(path, "/dev") || bawn_path_under(path, "/proc"))
		return bawn_fail(err, BAWN_ERR_PLAN, -EINVAL,
			"%s: '%s' cannot be granted, every sandbox has its own%s", rule, path,
			path[1] == 'd' ? "; single devices are granted with --device" : "");
	if (kind == BAWN_MNT_RW && bawn_path_under(path, "/sys"))
		return bawn_fail(err, BAWN_ERR_PLAN, -EINVAL,
			"%s: '%s' is the kernel's and can be granted to be read only (--ro)", rule,
			path);
	return 0;
}

static int add_list(struct plan_builder *b, enum bawn_mount_kind kind,
	const struct bawn_items *items, const char *rule, struct bawn_error *err)
{
	for (size_t i = 0; i < items->n; i++) {
		int r;

		if (!strcmp(items->v[i].text, "/"))
			return bawn_fail(err, BAWN_ERR_PLAN, -EINVAL,
				"%s: '/' cannot be granted; if the whole file system is meant, say filesystem.mode: full",
				rule);
		r = check_grant(kind, items->v[i].text, rule, err);
		if (r == 0)
			r = add(b, kind, items->v[i].text, rule, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * /var/tmp is /tmp under another name, unless it is granted, itself or with what it lies in: then
 * it is there; or something in it is: then that needs a place.
 */
static int add_var_tmp(struct plan_builder *b, struct bawn_error *err)
{
	static const char place[] = "/var/tmp";
	const struct bawn_items *const lists[] = {&b->p->fs_write, &b->p->fs_read};
	bool above = bawn_path_under(place, b->c->workspace);
	bool below = bawn_path_under(b->c->workspace, place);

	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
		for (size_t i = 0; i < lists[k]->n; i++) {
			above |= bawn_path_under(place, lists[k]->v[i].text);
			below |= bawn_path_under(lists[k]->v[i].text, place);
		}
	if (above && b->p->fs_mode != BAWN_FS_DENY)
		return 0;
	return plan_add_mount(b,
		(struct bawn_mount){.kind = below ? BAWN_MNT_SCRATCH : BAWN_MNT_SYMLINK,
			.src = below ? NULL : "/tmp",
			.dst = place,
			.rule = "limits.disk"},
		err);
}

/* Private directories. In the Landlock tier there is one, in the host's temporary directory. */
static int add_scratch(struct plan_builder *b, struct bawn_error *err)
{
	static const char *const places[] = {"/tmp", "/dev/shm"};

	if (b->plan->tier == BAWN_TIER_LANDLOCK) {
		b->home = bawn_arena_printf(b->a, "/tmp/bawn-%s", b->c->run_id);
		return b->home ? plan_add_mount(b,
					 (struct bawn_mount){.kind = BAWN_MNT_SCRATCH,
						 .dst = b->home,
						 .rule = "limits.disk"},
					 err)
			       : bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int r = plan_add_mount(b,
			(struct bawn_mount){
				.kind = BAWN_MNT_SCRATCH, .dst = places[i], .rule = "limits.disk"},
			err);

		if (r < 0)
			return r;
	}
	int r = add_var_tmp(b, err);
	if (r < 0)
		return r;
	b->home = b->p->home ? b->p->home : "/tmp";
	/* a home that is (in) the workspace or (in) a system directory is there already */
	const struct bawn_mount *cover = plan_cover(b, b->home);
	if (bawn_path_under(b->home, b->c->workspace) ||
		(cover && cover->kind != BAWN_MNT_SCRATCH) || !strcmp(b->home, "/") ||
		!strcmp(b->home, "/tmp"))
		return 0;
	return plan_add_mount(b,
		(struct bawn_mount){.kind = BAWN_MNT_SCRATCH,
			.src = "0700",
			.dst = b->home,
			.rule = "private home"},
		err);
}

static int add_workspace(struct plan_builder *b, struct bawn_error *err)
{
	b->workspace_writable = b->p->fs_mode == BAWN_FS_SCOPED || b->p->fs_mode == BAWN_FS_FULL;
	for (size_t i = 0; i < b->p->fs_read.n; i++)
		if (!strcmp(b->p->fs_read.v[i].text, b->c->workspace))
			b->workspace_writable = false;
	if (b->p->fs_mode == BAWN_FS_DENY)
		return 0;
	return add(b, b->workspace_writable ? BAWN_MNT_RW : BAWN_MNT_RO, b->c->workspace,
		"workspace", err);
}

/* Who commits: the name and address only, not the whole of ~/.gitconfig, which may hold
 * credentials. */
static int add_git_identity(struct plan_builder *b, struct bawn_error *err)
{
	const struct bawn_mount *home = plan_cover(b, b->home);
	const char *text, *path;

	if (b->plan->tier == BAWN_TIER_LANDLOCK || !b->git.user_name || !b->git.user_email ||
		!home || home->kind != BAWN_MNT_SCRATCH)
		return 0;
	text = bawn_arena_printf(b->a, "[user]\n\tname = \"%s\"\n\temail = \"%s\"\n",
		b->git.user_name, b->git.user_email);
	path = bawn_path_join(b->a, b->home, ".gitconfig");
	if (!text || !path)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	return plan_add_mount(b,
		(struct bawn_mount){
			.kind = BAWN_MNT_FILE, .src = text, .dst = path, .rule = "git identity"},
		err);
}

static int depth_of(const char *path)
{
	int n = 0;

	for (; *path; path++)
		n += *path == '/';
	return path[-1] == '/' ? 0 : n;
}

struct ranked {
	struct bawn_mount m;
	int depth;
	size_t order;
};

static int compare(const void *va, const void *vb)
{
	const struct ranked *a = va, *b = vb;

	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* True if something denied lies above: nothing can be placed in it, and nothing needs to. */
static bool is_buried(const struct bawn_plan *plan, const struct bawn_mount *m)
{
	for (size_t i = 0; m->kind != BAWN_MNT_HIDE && i < plan->n_mounts; i++)
		if (plan->mounts[i].kind == BAWN_MNT_HIDE &&
			bawn_path_under(m->dst, plan->mounts[i].dst))
			return true;
	return false;
}

/* Parents first, else as added: a bind clones the host's tree and would cover what was made below
 * it. */
int plan_sort_mounts(struct plan_builder *b, struct bawn_error *err)
{
	struct bawn_plan *plan = b->plan;
	struct ranked *r = bawn_new(b->a, struct ranked, plan->n_mounts + 1);
	size_t n = 0;

	if (!r)
		return bawn_fail(err, BAWN_ERR_PLAN, -ENOMEM, "out of memory");
	for (size_t i = 0; i < plan->n_mounts; i++)
		if (!is_buried(plan, &plan->mounts[i]))
			r[n++] = (struct ranked){plan->mounts[i], depth_of(plan->mounts[i].dst), i};
	plan->n_mounts = n;
	qsort(r, plan->n_mounts, sizeof(*r), compare);
	for (size_t i = 0; i < plan->n_mounts; i++)
		plan->mounts[i] = r[i].m;
	return 0;
}

/* The host's root as it is, less the kernel's knobs: filesystem.mode full. */
static int add_whole(struct plan_builder *b, struct bawn_error *err)
{
	int r = add(b, BAWN_MNT_RW, "/", "filesystem.mode", err);

	if (r == 0)
		r = plan_add_mount(b,
			(struct bawn_mount){.kind = BAWN_MNT_RO,
				.src = "/sys",
				.dst = "/sys",
				.optional = true,
				.rule = "built in"},
			err);
	b->home = b->p->home ? b->p->home : "/";
	if (r == 0 && b->plan->tier != BAWN_TIER_LANDLOCK)
		r = plan_add_mount(b,
			(struct bawn_mount){
				.kind = BAWN_MNT_SCRATCH, .dst = "/dev/shm", .rule = "limits.disk"},
			err);
	return r;
}

/* What may be written is writable in the modes scoped and full only; read-only sees the same and
 * writes nothing. */
int plan_make_mounts(struct plan_builder *b, struct bawn_error *err)
{
	bool whole = b->p->fs_mode == BAWN_FS_FULL;
	bool writes = whole || b->p->fs_mode == BAWN_FS_SCOPED;
	int r = whole ? add_whole(b, err) : b->plan->backend.image ? 0 : add_system(b, err);

	if (r == 0 && !whole)
		r = add_scratch(b, err);
	if (r == 0 && b->p->fs_mode != BAWN_FS_DENY)
		r = add_list(b, writes ? BAWN_MNT_RW : BAWN_MNT_RO, &b->p->fs_write,
			"filesystem.write", err);
	if (r == 0)
		r = add_workspace(b, err);
	for (size_t i = 0; r == 0 && b->workspace_writable && i < b->git.writable.n; i++)
		r = add(b, BAWN_MNT_RW, b->git.writable.v[i], "git worktree", err);
	if (r == 0 && b->p->fs_mode != BAWN_FS_DENY)
		r = add_list(b, BAWN_MNT_RO, &b->p->fs_read, "filesystem.read", err);
	return r == 0 ? add_git_identity(b, err) : r;
}

/* Its kind, and that nobody denied it: what is denied is granted under no heading. */
static int check_node(struct plan_builder *b, const struct bawn_item *it, const char *rule,
	bool socket, struct bawn_error *err)
{
	struct stat st;
	bool fits;

	if (stat(it->text, &st) < 0)
		return bawn_fail(
			err, BAWN_ERR_PLAN, -errno, "%s: cannot look at '%s': %m", rule, it->text);
	fits = socket ? S_ISSOCK(st.st_mode)
		      : S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ||
				(S_ISDIR(st.st_mode) && bawn_path_under(it->text, "/dev"));
	if (!fits)
		return bawn_fail(err, BAWN_ERR_PLAN, -EINVAL,
			"%s: '%s' is not a %s; files are granted with --ro and --rw", rule,
			it->text, socket ? "socket" : "device");
	for (size_t i = 0; i < b->p->fs_deny.n; i++)
		if (bawn_path_under(it->text, b->p->fs_deny.v[i].text))
			return bawn_fail(err, BAWN_ERR_PLAN, -EACCES,
				"%s: '%s' is denied (filesystem.deny: %s), so it cannot be granted",
				rule, it->text, b->p->fs_deny.v[i].text);
	return 0;
}

static int add_nodes(struct plan_builder *b, const struct bawn_items *items, const char *rule,
	bool socket, struct bawn_error *err)
{
	for (size_t i = 0; i < items->n; i++) {
		int r = check_node(b, &items->v[i], rule, socket, err);

		if (r < 0)
			return r;
	}
	return add_list(b, socket ? BAWN_MNT_SOCKET : BAWN_MNT_DEVICE, items, rule, err);
}

int plan_make_nodes(struct plan_builder *b, struct bawn_error *err)
{
	int r = add_nodes(b, &b->p->net_unix, "network.unix_sockets", true, err);

	return r < 0 ? r : add_nodes(b, &b->p->devices, "devices", false, err);
}
