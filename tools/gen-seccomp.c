/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the default filter programs as a C header. Runs while building, on the target's kind of
 * machine: the header refuses to be compiled for another one. */

#include <stdio.h>

#include "backend/native/broker_mode.h"
#include "backend/native/seccomp_build.h"
#include "gen-machine.h"

static bool put(FILE *f, const char *name, int r, struct sock_filter *prog, size_t n)
{
	if (r < 0) {
		(void)fprintf(stderr, "gen-seccomp: %s: error %d\n", name, -r);
		return false;
	}
	(void)fprintf(f, "static struct sock_filter bawn_prog_%s[] = {\n", name);
	for (size_t i = 0; i < n; i++)
		(void)fprintf(f, "\t{0x%02x, %u, %u, 0x%08xu},\n", prog[i].code, prog[i].jt,
			prog[i].jf, prog[i].k);
	(void)fprintf(f, "};\n");
	free(prog);
	return true;
}

static bool put_base(FILE *f, const char *name, const struct bawn_seccomp_profile *p)
{
	struct sock_filter *prog = NULL;
	size_t n = 0;
	int r = bawn_seccomp_build_base(p, &prog, &n);

	return put(f, name, r, prog, n);
}

static const struct {
	const char *name;
	struct bawn_seccomp_profile profile;
} bases[] = {
	{"full", {.inet = true, .unix_sockets = true, .ipc = true}},
	{"closed", {.unix_sockets = true, .ipc = true}},
	{"shared", {.unix_sockets = true}},
	{"none", {0}},
};

/* Each base four times: _0, _1 with memfd_noexec, _2 with a broker, _3 with both. */
static bool put_variants(FILE *f, const char *name, struct bawn_seccomp_profile p)
{
	bool ok = true;

	for (unsigned int i = 0; i < 4; i++) {
		char full[32];

		p.memfd_noexec = i & 1;
		p.broker = i & 2;
		(void)snprintf(full, sizeof(full), "%s_%u", name, i);
		ok = ok && put_base(f, full, &p);
	}
	return ok;
}

static bool put_notify(FILE *f, const char *name, enum bawn_broker_mode mode)
{
	struct sock_filter *prog = NULL;
	size_t n = 0;
	int r = bawn_seccomp_build_notify((int)mode, &prog, &n);

	return put(f, name, r, prog, n);
}

int main(int argc, char *argv[])
{
	FILE *f = argc == 2 ? fopen(argv[1], "we") : NULL;
	bool ok = true;

	if (!f) {
		(void)fprintf(stderr, "usage: gen-seccomp HEADER\n");
		return 2;
	}
	(void)fprintf(f, "/* Made by tools/gen-seccomp.c. */\n#pragma once\n#if !defined(" MACHINE
			 ")\n#error \"generated for another architecture\"\n#endif\n"
			 "#include <linux/filter.h>\n");
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		ok = ok && put_variants(f, bases[i].name, bases[i].profile);
	ok = ok && put_base(f, "stage",
			   &(struct bawn_seccomp_profile){.inet = true,
				   .unix_sockets = true,
				   .ipc = true,
				   .broker = true,
				   .stage = true});
	ok = ok && put_notify(f, "notify_create", BAWN_BROKER_CREATE) &&
	     put_notify(f, "notify_write", BAWN_BROKER_WRITE) &&
	     put_notify(f, "notify_all", BAWN_BROKER_ALL);
	if (fclose(f) != 0)
		ok = false;
	return ok ? 0 : 1;
}
