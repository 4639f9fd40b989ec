/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Firecracker as a wall. It is configured through its API, speaks with the guest by vsock, and
 * stands behind its own jailer (jailer.h) if that is installed and we are root; else behind the
 * native wall, as QEMU does. It runs with KVM only.
 */
#include "backend/vm/firecracker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "backend/backends.h"
#include "backend/vm/guest.h"
#include "backend/vm/http.h"
#include "backend/vm/machine.h"
#include "backend/vm/vm.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/libexec.h"

#define PROGRAM "firecracker"
#define REMEDY  "put its binary into /usr/local/bin (Debian has no package of it)"
#define API_MS  10000
#define KVM     "/dev/kvm"

#define FILE_SLACK_MIB 64u /* a guest's memory may be a file */

/* Where the guest will call for files. */
static int listen_for_files(const char *path, struct bawn_error *err)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);

	if (n < 0 || (size_t)n >= sizeof(sa.sun_path))
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENAMETOOLONG,
			"'%s' is too long for a socket", path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)(const void *)&sa, sizeof(sa)) < 0 ||
		listen(fd, 1) < 0)
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "cannot listen on '%s': %m", sa.sun_path);
	return TAKE_FD(fd);
}

static int open_jail(struct bawn_machine *m, const struct bawn_firecracker *f, const char *dir)
{
	struct bawn_jail *j = &m->monitor;
	int r = bawn_jail_system(j);

	if (r >= 0 && strncmp(f->program, "/usr/", 5) != 0)
		r = bawn_jail_mount(j, BAWN_MNT_RO, f->program);
	if (r >= 0)
		r = bawn_jail_mount(j, BAWN_MNT_RO, f->kernel);
	if (r >= 0)
		r = bawn_jail_mount(j, BAWN_MNT_RO, f->initrd);
	if (r >= 0 && f->image)
		r = bawn_jail_mount(j, BAWN_MNT_RO, f->image);
	if (r >= 0 && access(KVM, F_OK) == 0)
		r = bawn_jail_mount(j, BAWN_MNT_DEVICE, KVM);
	if (r >= 0)
		r = bawn_jail_mount(j, BAWN_MNT_RW, dir);
	j->plan.unix_open = true;
	return r < 0 ? r : bawn_jail_mount(j, BAWN_MNT_SOCKET, f->files);
}

static int dial_api(struct bawn_machine *m, const char *path, int64_t stop, struct bawn_error *err)
{
	const struct timespec nap = {.tv_nsec = 2000000};
	int fd;

	while ((fd = bawn_firecracker_dial(path)) < 0) {
		if (!bawn_console_read(&m->console))
			return bawn_machine_failed(m, "Firecracker ended", err);
		if (bawn_now_ms() >= stop)
			return bawn_machine_failed(m, "Firecracker opens no API", err);
		(void)nanosleep(&nap, NULL);
	}
	return fd;
}

static int configure(
	struct bawn_machine *m, const struct bawn_firecracker *f, struct bawn_error *err)
{
	struct bawn_firecracker_request requests[BAWN_FIRECRACKER_REQUESTS];
	const int64_t stop = bawn_now_ms() + API_MS;
	_cleanup_close_ int fd = dial_api(m, f->our_api, stop, err);
	int n = bawn_firecracker_requests(m->a, f, requests);
	int r = 0;

	if (fd < 0)
		return fd;
	if (n < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, n, "out of memory");
	for (int i = 0; r >= 0 && i < n; i++)
		r = bawn_http_put(fd, requests[i].path, requests[i].json, stop, err);
	/* it went away instead of answering: what it said is all there is */
	return r == -EPIPE || r == -ECONNRESET ? bawn_machine_failed(m, "Firecracker ended", err)
					       : r;
}

/* Behind the native wall, with everything where it is. */
static int start_here(struct bawn_machine *m, const struct bawn_firecracker *f, const char *dir,
	const int stdio[3], struct bawn_error *err)
{
	const char *const *argv = bawn_firecracker_argv(m->a, f);

	if (!argv || open_jail(m, f, dir) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	return bawn_jail_start(&m->monitor, argv, stdio, err);
}

/* Behind its own jailer, with everything where that shows it. */
static int start_jailed(struct bawn_machine *m, const struct bawn_firecracker *f, const char *image,
	const int stdio[3], struct bawn_error *err)
{
	struct bawn_jailer *j = &m->jailer;
	const char *const *argv = bawn_jailer_argv(m->a, j, f->api);
	int r = bawn_jailer_place(j, m->kernel.image, f->kernel, err);

	if (!argv)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	if (r >= 0)
		r = bawn_jailer_place(j, m->initrd, f->initrd, err);
	if (r >= 0 && image)
		r = bawn_jailer_place(j, image, f->image, err);
	if (r >= 0 && chown(f->files, j->user, j->user) < 0)
		r = bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot give '%s' away: %m", f->files);
	return r < 0 ? r : bawn_jailer_start(j, argv, stdio, err);
}

static int start(struct bawn_machine *m, const struct bawn_firecracker *f,
	const struct bawn_far_job *job, struct bawn_error *err)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	_cleanup_close_ int console = -1, files = -1;
	int pair[2], r;

	files = listen_for_files(f->files, err);
	if (files < 0)
		return files;
	if (null < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a socket pair: %m");
	m->console.fd = pair[0];
	console = pair[1];
	const int stdio[3] = {null, console, console};
	r = m->jailer.program ? start_jailed(m, f, job->plan->backend.image, stdio, err)
			      : start_here(m, f, job->dir, stdio, err);
	(void)close(TAKE_FD(console));
	if (r >= 0)
		r = bawn_machine_serve(m, files, err);
	return r < 0 ? r : configure(m, f, err);
}

/* Names as they are here, or in the jailer's root directory. */
static int name_files(struct bawn_machine *m, struct bawn_firecracker *f,
	const struct bawn_far_job *job, struct bawn_error *err)
{
	const bool jailed = m->jailer.program;
	const char *top = jailed ? m->jailer.root : job->dir;

	f->kernel = jailed ? "/kernel" : m->kernel.image;
	f->initrd = jailed ? "/initrd" : m->initrd;
	f->image = job->plan->backend.image && jailed ? "/disk" : job->plan->backend.image;
	f->guest = bawn_machine_words(m, "vsock");
	f->our_api = bawn_arena_printf(m->a, "%s/api", top);
	f->api = jailed ? "/api" : f->our_api;
	f->vsock = jailed ? "/vsock" : bawn_arena_printf(m->a, "%s/vsock", top);
	/* as Firecracker derives it from the vsock's path */
	f->files = bawn_arena_printf(m->a, "%s/vsock_%u", top, BAWN_GUEST_FILES_PORT);
	return f->guest && f->our_api && f->vsock && f->files
		       ? 0
		       : bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
}

/* The jailer, if this instance is to have one: its program is NULL otherwise. */
static int choose_jailer(struct bawn_jailer *j, const struct bawn_far_job *job,
	struct bawn_arena *a, struct bawn_error *err)
{
	char program[PATH_MAX];
	int r;

	*j = (struct bawn_jailer){.exec_file = job->program, .id = job->id, .base = job->dir};
	if (!bawn_jailer_find(program, sizeof(program)))
		return 0;
	j->file_max = (bawn_machine_memory_mib(job->plan) + FILE_SLACK_MIB) << 20;
	r = bawn_jailer_init(j, a, job->plan);
	if (r == -EOPNOTSUPP)
		return 0;
	if (r >= 0)
		j->program = bawn_arena_strdup(a, program);
	return r < 0 || !j->program ? bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory")
				    : 0;
}

static int build(const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	struct bawn_machine *m = &bawn_vm_of(job->in)->machine;
	struct bawn_firecracker f = {.program = job->program, .id = job->id};
	int r = bawn_machine_init(m, job->plan, err);

	(void)argv;
	if (r < 0)
		return r;
	if (!m->kernel.elf)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"Firecracker needs an uncompressed kernel (vmlinux), '%s' is none",
			m->kernel.image);
	r = choose_jailer(&m->jailer, job, m->a, err);
	if (r >= 0 && m->jailer.program)
		r = bawn_jailer_open(&m->jailer, err);
	if (r >= 0)
		r = name_files(m, &f, job, err);
	if (r < 0)
		return r;
	f.memory_mib = bawn_machine_memory_mib(job->plan);
	f.cpus = bawn_machine_cpus(job->plan);
	return start(m, &f, job, err);
}

/* What the jailer leaves in the kernel when nobody ends it in good order. */
static int clean(const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	struct bawn_jailer j;
	int r = choose_jailer(&j, job, job->arena, err);

	if (r >= 0 && j.program && j.n_groups)
		r = bawn_strlist_add(job->arena, argv, "/bin/rmdir");
	for (size_t i = 0; r >= 0 && j.program && i < j.n_groups; i++) {
		r = bawn_strlist_add(job->arena, argv, j.groups[i].dir);
		if (r >= 0)
			r = bawn_strlist_add(job->arena, argv, j.groups[i].parent);
	}
	return r < 0 ? bawn_fail(err, BAWN_ERR_BACKEND, r, "out of memory") : 0;
}

/* In the pump. */
static int reach(const struct bawn_far_job *job, int *ret_stream, struct bawn_error *err)
{
	const struct bawn_jailer *j = &bawn_vm_of(job->in)->machine.jailer;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/vsock", j->program ? j->root : job->dir);
	fd = bawn_firecracker_connect(
		path, BAWN_GUEST_STREAM_PORT, bawn_now_ms() + BAWN_MACHINE_BOOT_MS, err);
	if (fd < 0)
		return fd;
	*ret_stream = fd;
	return 0;
}

static const struct bawn_far_tool tool = {
	.program = PROGRAM,
	.remedy = REMEDY,
	.walls = "virtual machine (Firecracker, KVM) in native's wall",
	.hosted = true,
	.setup_ms = BAWN_MACHINE_BOOT_MS,
	.build = build,
	.connect = reach,
	.clean = clean,
	.claims = bawn_vm_claims,
};

/* There is no package that says where it belongs: our own directory will do as well. */
static const char *find_program(char *dst, size_t size)
{
	return bawn_libexec_find(PROGRAM, dst, size) == 0 ? dst : PROGRAM;
}

static int firecracker_prepare(struct bawn_instance *in, const struct bawn_plan *plan,
	const int stdio[3], struct bawn_error *err)
{
	struct bawn_vm *vm = bawn_vm_of(in);
	char jailer[PATH_MAX];

	vm->tool = tool;
	vm->tool.program = find_program(vm->program, sizeof(vm->program));
	vm->tool.devices = bawn_jailer_find(jailer, sizeof(jailer));
	if (vm->tool.devices)
		vm->tool.walls = "virtual machine (Firecracker, KVM) in its jailer";
	return bawn_vm_prepare(in, &vm->tool, plan, stdio, err);
}

static int firecracker_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	char program[PATH_MAX];

	(void)err;
	bawn_vm_probe(
		&bawn_backend_firecracker, find_program(program, sizeof(program)), REMEDY, ret);
	return 0;
}

const struct bawn_backend bawn_backend_firecracker = {
	BAWN_VM_BACKEND,
	.name = "firecracker",
	.aliases = "",
	.summary = "a virtual machine: Firecracker with a kernel of its own",
	.strength = 140,
	.program = "firecracker",
	.probe = firecracker_probe,
	.prepare = firecracker_prepare,
};
