/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the workspace's own file, the one that a stranger writes: whatever it says, the policy
 * that comes out is never wider than the defaults, and what is shown reads back as the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>

#include <sys/stat.h>

#include "base/path.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char workspace[PATH_MAX];
static int dir = -1;

#define REQUIRE(e)               \
	do {                     \
		if (!(e))        \
			abort(); \
	} while (0)

static void remove_workspace(void)
{
	(void)unlinkat(dir, ".bawn.yaml", 0);
	(void)rmdir(workspace);
}

static void put(const uint8_t *data, size_t size)
{
	int fd;

	if (dir < 0) {
		char name[] = "/tmp/bawn-fuzz-XXXXXX";

		REQUIRE(mkdtemp(name) && realpath(name, workspace));
		dir = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
		REQUIRE(dir >= 0 && atexit(remove_workspace) == 0);
	}
	fd = openat(dir, ".bawn.yaml", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	REQUIRE(write(fd, data, size) == (ssize_t)size);
	REQUIRE(close(fd) == 0);
}

static bool holds(const struct bawn_items *l, const char *text)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].text, text))
			return true;
	return false;
}

static void check_lists(const struct bawn_policy *p, const struct bawn_policy *def)
{
	REQUIRE(p->allow_missing.n == 0 && p->fs_unprotect.n == 0 && p->sys_allow.n == 0);
	REQUIRE(p->net_allow_hosts.n == 0 && p->net_loopback.n == 0 && p->net_unix.n == 0);
	REQUIRE(p->devices.n == 0 && p->env_set.n == 0 && p->n_mounts == 0);
	for (size_t i = 0; i < def->fs_deny.n; i++)
		REQUIRE(holds(&p->fs_deny, def->fs_deny.v[i].text));
	for (size_t i = 0; i < def->fs_protect.n; i++)
		REQUIRE(holds(&p->fs_protect, def->fs_protect.v[i].text));
	for (size_t i = 0; i < p->fs_write.n; i++)
		REQUIRE(bawn_path_under(p->fs_write.v[i].text, workspace));
	for (size_t i = 0; i < p->env_pass.n; i++) {
		const char *name = p->env_pass.v[i].text;

		REQUIRE(holds(&def->env_pass, name) || !strncmp(name, "LC_", 3));
	}
}

static void check(const struct bawn_policy *p, const struct bawn_policy *def)
{
	REQUIRE(p->level >= def->level && p->isolation >= def->isolation);
	REQUIRE(p->fs_mode >= def->fs_mode && p->net_mode >= def->net_mode);
	REQUIRE(p->shell_mode >= def->shell_mode && p->prefer >= def->prefer);
	REQUIRE(!strcmp(p->backend, def->backend) && !strcmp(p->audit_path, def->audit_path));
	REQUIRE(p->lim_memory <= def->lim_memory && p->lim_processes <= def->lim_processes);
	REQUIRE(p->lim_time <= def->lim_time && p->lim_output <= def->lim_output);
	REQUIRE(p->lim_disk <= def->lim_disk && p->lim_reserve >= def->lim_reserve);
	REQUIRE(p->ssrf_enabled && p->ssrf_private && p->ssrf_pinning && !p->enf_dry_run);
	REQUIRE(p->thr_suspicious <= def->thr_suspicious && p->thr_malicious <= def->thr_malicious);
	check_lists(p, def);
}

static void check_shown(struct bawn_arena *a, const struct bawn_policy *p)
{
	struct bawn_policy_source src = {.workspace = workspace, .no_admin = true, .no_user = true};
	_cleanup_buf_ struct bawn_buf out = {0};
	const struct bawn_policy *again;
	struct bawn_error err;

	REQUIRE(bawn_policy_show(p, false, &out) == 0);
	if (out.len > (size_t)1 << 20)
		return;
	put((const uint8_t *)out.data, out.len);
	if (bawn_policy_load(a, &src, &again, &err) < 0) {
		(void)fprintf(stderr, "%s\n%s", err.msg, out.data);
		abort();
	}
	REQUIRE(!strcmp(again->digest, p->digest));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct bawn_policy_source src = {.workspace = workspace, .no_admin = true, .no_user = true};
	const struct bawn_policy *def, *p;
	struct bawn_error err;

	REQUIRE(a != NULL);
	put(data, size);
	src.no_workspace = true;
	REQUIRE(bawn_policy_load(a, &src, &def, &err) == 0);
	src.no_workspace = false;
	if (bawn_policy_load(a, &src, &p, &err) < 0) {
		REQUIRE(err.kind == BAWN_ERR_POLICY && err.msg[0]);
		return 0;
	}
	check(p, def);
	check_shown(a, p);
	return 0;
}
