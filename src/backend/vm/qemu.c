/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMU's microvm as a wall: no device but serial lines, no network, no disk unless an image is
 * named. QEMU itself stands behind the native wall, for it is what a guest would break into first.
 */
#include "backend/vm/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>

#include "backend/backends.h"
#include "backend/far/far.h"
#include "backend/vm/machine.h"
#include "backend/vm/vm.h"
#include "base/cleanup.h"

#define PROGRAM "qemu-system-x86_64"
#define REMEDY  "apt-get install qemu-system-x86"

static int describe(
	struct bawn_machine *m, const char *program, struct bawn_qemu *ret, struct bawn_error *err)
{
	*ret = (struct bawn_qemu){.program = program,
		.kernel = &m->kernel,
		.initrd = m->initrd,
		.image = m->plan->backend.image,
		.guest = bawn_machine_words(m, "serial"),
		.memory_mib = bawn_machine_memory_mib(m->plan),
		.cpus = 1,
		.tsc_khz = bawn_qemu_tsc_khz()};
	if (!ret->guest)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	ret->kvm = bawn_qemu_kvm_works(m->a, ret);
	if (ret->kvm) /* more than one at a time is of no use where they are emulated */
		ret->cpus = bawn_machine_cpus(m->plan);
	return 0;
}

static int open_jail(struct bawn_machine *m, const struct bawn_qemu *q)
{
	struct bawn_jail *j = &m->monitor;
	int r = bawn_jail_system(j);

	if (r >= 0 && strncmp(q->program, "/usr/", 5) != 0)
		r = bawn_jail_mount(j, BAWN_MNT_RO, q->program);
	if (r >= 0)
		r = bawn_jail_mount(j, BAWN_MNT_RO, q->kernel->image);
	if (r >= 0)
		r = bawn_jail_mount(j, BAWN_MNT_RO, q->initrd);
	if (r >= 0 && q->image)
		r = bawn_jail_mount(j, BAWN_MNT_RO, q->image);
	if (r >= 0 && q->kvm)
		r = bawn_jail_mount(j, BAWN_MNT_DEVICE, "/dev/kvm");
	return r;
}

static int start(
	struct bawn_machine *m, const struct bawn_qemu *q, int stream, struct bawn_error *err)
{
	const char *const *argv = bawn_qemu_argv(m->a, q);
	_cleanup_close_ int ours = -1, theirs = -1, console = -1;
	int pair[2], r;

	if (!argv || open_jail(m, q) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a socket pair: %m");
	ours = pair[0];
	theirs = pair[1];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a socket pair: %m");
	m->console.fd = pair[0];
	console = pair[1];
	r = bawn_jail_start(&m->monitor, argv, (const int[3]){stream, theirs, console}, err);
	return r < 0 ? r : bawn_machine_serve(m, ours, err);
}

static int build(const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	struct bawn_vm *vm = bawn_vm_of(job->in);
	struct bawn_qemu q;
	size_t at = strlen(job->in->walls);
	int r = bawn_machine_init(&vm->machine, job->plan, err);

	(void)argv;
	if (r >= 0)
		r = describe(&vm->machine, job->program, &q, err);
	if (r < 0)
		return r;
	(void)snprintf(job->in->walls + at, sizeof(job->in->walls) - at,
		", %s, QEMU in native's wall", q.kvm ? "KVM" : "emulated (TCG)");
	return start(&vm->machine, &q, job->stream, err);
}

static const struct bawn_far_tool tool = {
	.program = PROGRAM,
	.remedy = REMEDY,
	.walls = "virtual machine (QEMU microvm)",
	.hosted = true,
	.setup_ms = BAWN_MACHINE_BOOT_MS,
	.build = build,
	.claims = bawn_vm_claims,
};

static int qemu_prepare(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
	struct bawn_error *err)
{
	return bawn_vm_prepare(in, &tool, plan, stdio, err);
}

static int qemu_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	(void)err;
	bawn_vm_probe(&bawn_backend_qemu, PROGRAM, REMEDY, ret);
	return 0;
}

const struct bawn_backend bawn_backend_qemu = {
	BAWN_VM_BACKEND,
	.name = "qemu",
	.aliases = "microvm",
	.summary = "a virtual machine: QEMU's microvm with a kernel of its own",
	.strength = 130,
	.program = "qemu-system-x86_64",
	.probe = qemu_probe,
	.prepare = qemu_prepare,
};
