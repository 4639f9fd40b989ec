/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the makers of system call filters have in common: a list of calls becomes a C header that
 * refuses to be compiled for another kind of machine. */

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>

#include <linux/filter.h>

#include "gen-machine.h"

/* One argument must have (or must not have) one value. */
struct checked {
	const char *name;
	unsigned int arg;
	uint64_t mask, value;
};

struct filter {
	const char *program;      /* who makes it */
	const char *name;         /* of the array */
	const char *const *plain; /* allowed whatever the arguments */
	size_t n_plain;
	const struct checked *checked;
	size_t n_checked;
};

static inline int filter_add_all(scmp_filter_ctx ctx, const struct filter *f)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->n_plain; i++) {
		int nr = seccomp_syscall_resolve_name(f->plain[i]);

		if (nr != __NR_SCMP_ERROR) /* not every machine has all of them */
			r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
		if (r == -EDOM)
			r = 0;
	}
	for (size_t i = 0; r == 0 && i < f->n_checked; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW,
			seccomp_syscall_resolve_name(f->checked[i].name), 1,
			SCMP_CMP(f->checked[i].arg, SCMP_CMP_MASKED_EQ, f->checked[i].mask,
				f->checked[i].value));
	return r;
}

static inline int filter_put(FILE *out, scmp_filter_ctx ctx, const struct filter *f)
{
	FILE *tmp = tmpfile();
	struct sock_filter one;
	int r = tmp ? seccomp_export_bpf(ctx, fileno(tmp)) : -errno;

	if (r < 0 || fseek(tmp, 0, SEEK_SET) != 0)
		return r < 0 ? r : -EIO;
	(void)fprintf(out,
		"/* Made by tools/%s.c. */\n#pragma once\n#if !defined(" MACHINE
		")\n#error \"generated for another architecture\"\n#endif\n"
		"#include <linux/filter.h>\n"
		"static struct sock_filter %s[] = {\n",
		f->program, f->name);
	while (fread(&one, sizeof(one), 1, tmp) == 1)
		(void)fprintf(
			out, "\t{0x%02x, %u, %u, 0x%08xu},\n", one.code, one.jt, one.jf, one.k);
	(void)fprintf(out, "};\n");
	(void)fclose(tmp);
	return 0;
}

/* main() of such a program. */
static inline int filter_main(int argc, char *argv[], const struct filter *f)
{
	/* what is not listed ends the process: it is never a mistake of ours that should go on */
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	FILE *out = argc == 2 ? fopen(argv[1], "we") : NULL;
	int r;

	if (!out || !ctx) {
		(void)fprintf(stderr, "usage: %s HEADER\n", f->program);
		return 2;
	}
	(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	r = filter_add_all(ctx, f);
	if (r == 0)
		r = filter_put(out, ctx, f);
	seccomp_release(ctx);
	if (fclose(out) != 0)
		r = -EIO;
	if (r < 0)
		(void)fprintf(stderr, "%s: error %d\n", f->program, -r);
	return r < 0;
}
