/* SPDX-License-Identifier: Apache-2.0 */
/* See machine.h. */
#include "backend/vm/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "backend/vm/initrd.h"
#include "base/libexec.h"
#include "base/path.h"

#define MIB       ((uint64_t)1 << 20)
#define GUEST_MIB 160u /* the kernel, our processes, and some cache */
#define LEAST_MIB 256u
#define CPUS_MAX  8u

int bawn_machine_init(struct bawn_machine *m, const struct bawn_plan *plan, struct bawn_error *err)
{
	int r;

	m->plan = plan;
	m->console.fd = -1;
	m->a = bawn_arena_new();
	if (!m->a)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	bawn_jail_init(&m->monitor, m->a, plan);
	bawn_jail_init(&m->files, m->a, plan);
	r = bawn_vm_kernel_find(
		plan->backend.vm_kernel ? plan->backend.vm_kernel : "", &m->kernel, err);
	if (r < 0)
		return r;
	r = bawn_libexec_find("bawn-inside", m->inside, sizeof(m->inside));
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"'%s' is missing: bawn is not completely installed", m->inside);
	return bawn_initrd_file(m->a, &m->kernel, m->inside, &m->initrd, err);
}

/* What the guest sees of a mount of the plan. Of a writable one only what it is: an empty twin. */
static int show(struct bawn_machine *m, const struct bawn_mount *mount)
{
	struct bawn_mount as = *mount;
	struct stat st;

	switch (mount->kind) {
	case BAWN_MNT_RO:
		/* the guest has its own */
		if (bawn_path_under(mount->src, "/sys"))
			return 0;
		as.dst = mount->src;
		return bawn_jail_add(&m->files, as);
	case BAWN_MNT_HIDE:
		return bawn_jail_add(&m->files, as);
	case BAWN_MNT_RW:
		as.dst = mount->src;
		as.src = NULL;
		as.kind = BAWN_MNT_SCRATCH;
		if (stat(mount->src, &st) == 0 && !S_ISDIR(st.st_mode)) {
			as.kind = BAWN_MNT_FILE;
			as.src = "";
		}
		return bawn_jail_add(&m->files, as);
	case BAWN_MNT_SCRATCH:
	case BAWN_MNT_SYMLINK:
	case BAWN_MNT_SOCKET:
	case BAWN_MNT_DEVICE:
	case BAWN_MNT_FILE:
		break;
	}
	return 0;
}

/* The plan's mounts where they are on the host, and nothing of what is hidden in them. */
static int show_all(struct bawn_machine *m)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < m->plan->n_mounts; i++)
		r = show(m, &m->plan->mounts[i]);
	return r;
}

int bawn_machine_serve(struct bawn_machine *m, int fd, struct bawn_error *err)
{
	const char **argv = bawn_new(m->a, const char *, 3);
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int stdio[3] = {fd, null, null};

	if (!argv || null < 0 || show_all(m) < 0 ||
		bawn_jail_mount(&m->files, BAWN_MNT_RO, m->inside) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	argv[0] = m->inside;
	argv[1] = "files";
	return bawn_jail_start(&m->files, argv, stdio, err);
}

uint64_t bawn_machine_memory_mib(const struct bawn_plan *plan)
{
	struct sysinfo si = {0};
	uint64_t host, want = plan->limits.memory / MIB + GUEST_MIB;

	(void)sysinfo(&si);
	/* the host needs some itself; what is not used is not taken */
	host = (uint64_t)si.totalram * si.mem_unit / MIB * 3 / 4;
	if (want > host)
		want = host;
	return want > LEAST_MIB ? want : LEAST_MIB;
}

unsigned bawn_machine_cpus(const struct bawn_plan *plan)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t n = online > 0 ? (uint64_t)online : 1;

	if (plan->limits.cpus_milli != BAWN_UNLIMITED && (plan->limits.cpus_milli + 999) / 1000 < n)
		n = (plan->limits.cpus_milli + 999) / 1000;
	return n < 1 ? 1 : n > CPUS_MAX ? CPUS_MAX : (unsigned)n;
}

const char *bawn_machine_words(const struct bawn_machine *m, const char *stream)
{
	return bawn_arena_printf(
		m->a, "guest %s %s", stream, m->plan->backend.image ? "disk" : "files");
}

int bawn_machine_failed(struct bawn_machine *m, const char *what, struct bawn_error *err)
{
	char last[200];

	if (m->console.fd >= 0)
		(void)bawn_console_read(&m->console);
	bawn_console_last(&m->console, last, sizeof(last));
	if (!*last)
		return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "%s, and said nothing (kernel '%s')",
			what, m->kernel.image);
	return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "%s: %s", what, last);
}

void bawn_machine_end(struct bawn_machine *m)
{
	if (!m->a)
		return;
	bawn_jail_end(&m->monitor);
	bawn_jailer_end(&m->jailer);
	bawn_jail_end(&m->files);
	if (m->console.fd >= 0)
		(void)close(m->console.fd);
	m->console.fd = -1;
	m->a = bawn_arena_free(m->a);
}
