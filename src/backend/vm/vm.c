/* SPDX-License-Identifier: Apache-2.0 */
/* See vm.h. */
#include "backend/vm/vm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/native/native.h"
#include "backend/near/near.h"

struct bawn_vm *bawn_vm_of(struct bawn_instance *in)
{
	return (struct bawn_vm *)(void *)in;
}

static int check_plan(const struct bawn_plan *plan, struct bawn_error *err)
{
	for (size_t i = 0; i < plan->n_mounts; i++) {
		if (plan->mounts[i].kind == BAWN_MNT_DEVICE)
			return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
				"a device of the host ('%s') cannot be had in a virtual machine",
				plan->mounts[i].src);
		if (!strcmp(plan->mounts[i].dst, "/"))
			return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
				"a virtual machine cannot have the whole file system: filesystem.mode must "
				"be scoped");
	}
	if (plan->backend.image && plan->backend.image_writable)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"the image of a virtual machine is read-only");
	return 0;
}

int bawn_vm_prepare(struct bawn_instance *in, const struct bawn_far_tool *tool,
	const struct bawn_plan *plan, const int stdio[3], struct bawn_error *err)
{
	int r = check_plan(plan, err);

	return r < 0 ? r : bawn_far_prepare(in, tool, plan, stdio, err);
}

int bawn_vm_await(struct bawn_instance *in, struct bawn_error *err)
{
	struct bawn_error why = {0};
	int r = bawn_far_await(in, &why);

	if (r >= 0)
		return r;
	/* no word came from inside: the machine's own words are all there is */
	if (r == -EIO || r == -EPIPE || r == -ETIMEDOUT || r == -EPROTO)
		return bawn_machine_failed(&bawn_vm_of(in)->machine,
			r == -ETIMEDOUT ? "the virtual machine did not start in time"
					: "the virtual machine did not start",
			err);
	if (err)
		*err = why;
	return r;
}

void bawn_vm_destroy(struct bawn_instance *in)
{
	bawn_far_destroy(in);
	bawn_machine_end(&bawn_vm_of(in)->machine);
}

uint32_t bawn_vm_claims(const struct bawn_plan *plan, uint32_t inside)
{
	(void)plan;
	/* no network, no file system and no process of the host are there at all; what may be read
	 * is the file server's wall, what may be changed the transfer's; inside, the root was built
	 * as native's is, or nothing would have come up */
	return inside | BAWN_CTL_FS_READ | BAWN_CTL_FS_WRITE | BAWN_CTL_FS_DENY |
	       BAWN_CTL_FS_PROTECT | BAWN_CTL_FS_EXEC | BAWN_CTL_NET_NONE | BAWN_CTL_IPC |
	       BAWN_CTL_PROC | BAWN_CTL_LIMIT_DISK;
}

static bool has_kernel(void)
{
	struct bawn_vm_kernel kernel;

	return bawn_vm_kernel_find("", &kernel, NULL) >= 0;
}

void bawn_vm_probe(const struct bawn_backend *be, const char *program, const char *remedy,
	struct bawn_probe *ret)
{
	struct bawn_error err = {0};
	char path[PATH_MAX];

	*ret = (struct bawn_probe){0};
	if (bawn_far_find(program, remedy, path, sizeof(path), &err) < 0) {
		(void)snprintf(ret->reason, sizeof(ret->reason), "'%s' is not installed", program);
		(void)snprintf(ret->remedy, sizeof(ret->remedy), "%s", remedy);
		return;
	}
	if (!has_kernel()) {
		(void)snprintf(ret->reason, sizeof(ret->reason), "no kernel for virtual machines");
		(void)snprintf(ret->remedy, sizeof(ret->remedy), "%s", bawn_vm_kernel_remedy);
		return;
	}
	bawn_near_version(path, ret->version, sizeof(ret->version));
	(void)bawn_probe_by_doing(be, NULL, ret);
}
