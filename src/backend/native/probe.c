/* SPDX-License-Identifier: Apache-2.0 */
/* What this host can do: found out by building the wall around nothing and taking it down again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include <sys/utsname.h>

#include "backend/backends.h"
#include "backend/native/cgroup.h"
#include "backend/native/native.h"
#include "backend/native/wall.h"
#include "base/cleanup.h"
#include "base/io.h"

/* Settings that forbid user namespaces, and what undoes each. */
static const struct {
	const char *file;
	const char *bad; /* the value that forbids them */
	const char *remedy;
} sysctls[] = {
	{"/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0",
		"sysctl -w kernel.unprivileged_userns_clone=1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
};

static const char *remedy_for_namespaces(const char **ret_file)
{
	for (size_t i = 0; i < sizeof(sysctls) / sizeof(sysctls[0]); i++) {
		char value[16];

		if (bawn_read_small(AT_FDCWD, sysctls[i].file, value, sizeof(value)) < 0)
			continue;
		value[strcspn(value, "\n")] = '\0';
		if (!strcmp(value, sysctls[i].bad)) {
			*ret_file = sysctls[i].file;
			return sysctls[i].remedy;
		}
	}
	*ret_file = NULL;
	return NULL;
}

int bawn_native_no_namespaces(int error, struct bawn_error *err)
{
	char was[BAWN_ERROR_MSG_MAX] = "";
	const char *file;
	const char *remedy = remedy_for_namespaces(&file);

	if (err && err->kind != BAWN_ERR_NONE)
		(void)snprintf(was, sizeof(was), " (%.200s)", err->msg);
	errno = error;
	if (remedy)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"user namespaces are switched off by %s; as root: %s", file, remedy);
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"user namespaces are refused here: %m%s; in a container allow them with --security-opt "
		"seccomp=unconfined or use the landlock backend",
		was);
}

int bawn_probe_by_doing(const struct bawn_backend *be, const char *image, struct bawn_probe *ret)
{
	static const char *const none[] = {NULL};
	static struct bawn_mount usr = {.kind = BAWN_MNT_RO,
		.src = "/usr",
		.dst = "/usr",
		.optional = true,
		.rule = "probe"};
	static const struct bawn_egress_plan egress = {
		.proxy_port = 1024, .capture_port = 1025, .allow = none, .block = none};
	struct bawn_plan plan = {.demanded = (1u << BAWN_CTL_COUNT) - 1,
		.may_miss = BAWN_CTL_NET_EGRESS,
		.egress = be->tier == BAWN_TIER_LANDLOCK || be->tier == BAWN_TIER_FAR ? NULL
										      : &egress,
		.tier = be->tier,
		.exe = "/bin/true",
		.argv = none,
		.envp = none,
		.cwd = "/",
		.workspace = "/",
		.hostname = "bawn",
		.mounts = &usr,
		.n_mounts = 1,
		.sys_allow = none,
		.sys_deny = none,
		.backend = {.image = image},
		.limits = {.memory = UINT64_C(1) << 30,
			.cpus_milli = 1000,
			.cpu_shares = BAWN_UNLIMITED,
			.processes = 64,
			.files = 1024,
			.disk = 1 << 20,
			.disk_reserve = 0,
			.time_ms = 1000,
			.output = 1000}};
	static const struct bawn_call call = {.run_id = "probe"};
	const int stdio[3] = {-1, -1, -1};
	struct bawn_error err = {0};
	struct bawn_instance *in = calloc(1, be->instance_size);
	struct utsname un;
	int r;

	if (!in)
		return -ENOMEM;
	plan.call = &call;
	in->be = be;
	r = be->begin ? be->begin(in, &err) : 0;
	if (r >= 0)
		r = be->prepare(in, &plan, stdio, &err);
	if (r >= 0)
		r = be->await(in, &err);
	(void)uname(&un);
	if (!*ret->version)
		(void)snprintf(ret->version, sizeof(ret->version), "Linux %.40s, Landlock ABI %d",
			un.release, bawn_landlock_abi());
	if (r < 0)
		(void)snprintf(ret->reason, sizeof(ret->reason), "%.199s", err.msg);
	else
		(void)snprintf(ret->reason, sizeof(ret->reason), "%s", in->flaw);
	if (r >= 0)
		ret->offers = in->enforced | BAWN_CTL_LIMIT_TIME | BAWN_CTL_LIMIT_OUTPUT |
			      BAWN_CTL_NET_NONE; /* whoever can have a door can have none */
	be->destroy(in);
	free(in);
	return 0;
}

int bawn_native_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	const char *file, *remedy;

	(void)err;
	*ret = (struct bawn_probe){0};
	if (bawn_probe_by_doing(&bawn_backend_native, NULL, ret) < 0)
		return -ENOMEM;
	remedy = ret->offers ? NULL : remedy_for_namespaces(&file);
	if (remedy)
		(void)snprintf(ret->remedy, sizeof(ret->remedy), "%s", remedy);
	return 0;
}

int bawn_chroot_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	(void)err;
	*ret = (struct bawn_probe){0};
	if (bawn_probe_by_doing(&bawn_backend_chroot, NULL, ret) < 0)
		return -ENOMEM;
	if (!ret->offers && geteuid() != 0)
		(void)snprintf(ret->remedy, sizeof(ret->remedy), "run bawn as root");
	return 0;
}

int bawn_landlock_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	(void)err;
	*ret = (struct bawn_probe){0};
	if (bawn_probe_by_doing(&bawn_backend_landlock, NULL, ret) < 0)
		return -ENOMEM;
	if (!ret->offers && bawn_landlock_abi() < 1)
		(void)snprintf(ret->remedy, sizeof(ret->remedy),
			"boot with lsm=landlock,… (kernel built with CONFIG_SECURITY_LANDLOCK)");
	return 0;
}
