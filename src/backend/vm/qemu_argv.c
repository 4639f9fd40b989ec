/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMU's command line: the smallest machine that it has, nothing but what is listed here, and
 * QEMU's own system call filter on top of the wall around it.
 */
#include <stdio.h>
#include <string.h>

#include "backend/vm/guest.h"
#include "backend/vm/qemu.h"

#define WORDS_MAX 64

struct words {
	struct bawn_arena *a;
	const char **v;
	size_t n;
	bool failed;
};

static void add(struct words *w, const char *word)
{
	if (!word || w->n + 1 >= WORDS_MAX)
		w->failed = true;
	else
		w->v[w->n++] = word;
}

static void add2(struct words *w, const char *option, const char *value)
{
	add(w, option);
	add(w, value);
}

/* A value in a list of QEMU's options: a comma in it is doubled. */
static const char *escape(struct bawn_arena *a, const char *s)
{
	char *out = bawn_arena_alloc(a, strlen(s) * 2 + 1);

	for (size_t n = 0; out && *s; s++) {
		out[n++] = *s;
		if (*s == ',')
			out[n++] = ',';
	}
	return out;
}

static void add_kernel(struct words *w, const struct bawn_qemu *q)
{
	char tsc[40] = "";

	/* an emulated machine without the old timers cannot measure it */
	if (q->tsc_khz && !q->kvm)
		(void)snprintf(tsc, sizeof(tsc), " tsc_early_khz=%u", q->tsc_khz);
	add2(w, "-kernel", q->kernel->image);
	add2(w, "-initrd", q->initrd);
	add2(w, "-append",
		bawn_arena_printf(w->a,
			"console=ttyS0 quiet panic=-1 reboot=t rdinit=/init " BAWN_GUEST_QUICK
			"%s %s",
			tsc, q->guest));
}

static void add_port(struct words *w, const char *id, int fd, const char *name)
{
	add2(w, "-chardev", bawn_arena_printf(w->a, "socket,id=%s,fd=%d", id, fd));
	add2(w, "-device", bawn_arena_printf(w->a, "virtserialport,chardev=%s,name=%s", id, name));
}

static void add_devices(struct words *w, const struct bawn_qemu *q)
{
	const char *image = q->image ? escape(w->a, q->image) : NULL;

	add2(w, "-chardev", "socket,id=console,fd=2");
	add2(w, "-serial", "chardev:console");
	add2(w, "-device", "virtio-rng-device");
	add2(w, "-device", "virtio-serial-device");
	add_port(w, "stream", 0, BAWN_GUEST_STREAM);
	add_port(w, "files", 1, BAWN_GUEST_FILES);
	if (!q->image)
		return;
	add2(w, "-drive",
		image ? bawn_arena_printf(
				w->a, "if=none,id=root,format=raw,readonly=on,file=%s", image)
		      : NULL);
	add2(w, "-device", "virtio-blk-device,drive=root");
}

const char *const *bawn_qemu_argv(struct bawn_arena *a, const struct bawn_qemu *q)
{
	struct words w = {.a = a, .v = bawn_new(a, const char *, WORDS_MAX)};

	if (!w.v)
		return NULL;
	add(&w, q->program);
	add2(&w, "-M",
		q->kvm ? "microvm,accel=kvm,x-option-roms=off,auto-kernel-cmdline=off"
		       : "microvm,accel=tcg,x-option-roms=off,auto-kernel-cmdline=off");
	add2(&w, "-cpu", q->kvm ? "host" : "max");
	add2(&w, "-smp", bawn_arena_printf(a, "%u", q->cpus));
	add2(&w, "-m", bawn_arena_printf(a, "%lluM", (unsigned long long)q->memory_mib));
	add2(&w, "-nodefaults", "-no-user-config");
	add2(&w, "-display", "none");
	add2(&w, "-monitor", "none");
	add(&w, "-no-reboot");
	add2(&w, "-sandbox",
		"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
	add_kernel(&w, q);
	add_devices(&w, q);
	return w.failed ? NULL : w.v;
}
