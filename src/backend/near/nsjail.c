/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsjail. Its mounts are given as a configuration in the text form of its config.proto, through a
 * descriptor: on the command line a path with a colon in it would be two. Files with a mode of
 * their own are beyond it: what it cannot hide, bawn-inside hides with the capabilities that it
 * keeps.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/backends.h"
#include "backend/near/near.h"
#include "base/buf.h"

static const char *const nodes[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
static const char *const links[][2] = {{"/proc/self/fd", "/dev/fd"},
	{"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"},
	{"/proc/self/fd/2", "/dev/stderr"}, {"pts/ptmx", "/dev/ptmx"}};

/* A string of protobuf's text form. */
static void put_string(struct bawn_buf *b, const char *name, const char *s)
{
	bawn_buf_printf(b, " %s: \"", name);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			bawn_buf_printf(b, "\\%03o", c);
		else
			bawn_buf_add(b, s, 1);
	}
	bawn_buf_puts(b, "\"");
}

static void put_bind(struct bawn_buf *b, const char *src, const char *dst, bool rw)
{
	bawn_buf_puts(b, "mount {");
	put_string(b, "src", src);
	put_string(b, "dst", dst);
	bawn_buf_printf(b, " is_bind: true rw: %s }\n", rw ? "true" : "false");
}

static void put_tmpfs(struct bawn_buf *b, const char *dst, const char *options, bool rw)
{
	bawn_buf_puts(b, "mount {");
	put_string(b, "dst", dst);
	bawn_buf_printf(b, " fstype: \"tmpfs\" options: \"%s\" is_bind: false rw: %s }\n", options,
		rw ? "true" : "false");
}

static void put_symlink(struct bawn_buf *b, const char *src, const char *dst)
{
	bawn_buf_puts(b, "mount {");
	put_string(b, "src", src);
	put_string(b, "dst", dst);
	bawn_buf_puts(b, " is_symlink: true }\n");
}

static void put_file(struct bawn_buf *b, const struct bawn_mount *m)
{
	bawn_buf_puts(b, "mount {");
	put_string(b, "src_content", m->src);
	put_string(b, "dst", m->dst);
	bawn_buf_puts(b, " is_bind: true rw: false }\n");
}

static void put_scratch(
	struct bawn_buf *b, const struct bawn_plan *plan, const struct bawn_mount *m)
{
	char options[64];
	const char *mode = m->src ? "mode=0700" : "mode=1777";

	if (plan->limits.disk == BAWN_UNLIMITED)
		(void)snprintf(options, sizeof(options), "%s", mode);
	else
		(void)snprintf(options, sizeof(options), "%s,size=%llu", mode,
			(unsigned long long)plan->limits.disk);
	put_tmpfs(b, m->dst, options, true);
}

/* By descriptor: nsjail takes only names, but this one leads to what we have opened. */
static int put_opened(struct bawn_buf *b, const struct bawn_mount *m, struct bawn_near_args *args,
	struct bawn_error *err)
{
	int fd = bawn_near_open(args, m, err);
	char name[32];

	if (fd == -ENOENT && m->optional)
		return 0;
	if (fd < 0)
		return fd;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	put_bind(b, name, m->dst, m->kind != BAWN_MNT_RO);
	return 0;
}

static int put_mount(struct bawn_buf *b, const struct bawn_plan *plan, size_t i,
	struct bawn_near_args *args, struct bawn_error *err)
{
	const struct bawn_mount *m = &plan->mounts[i];

	switch (m->kind) {
	case BAWN_MNT_RO:
	case BAWN_MNT_RW:
	case BAWN_MNT_SOCKET:
	case BAWN_MNT_DEVICE:
		return put_opened(b, m, args, err);
	case BAWN_MNT_SCRATCH:
		put_scratch(b, plan, m);
		break;
	case BAWN_MNT_SYMLINK:
		put_symlink(b, m->src, m->dst);
		break;
	case BAWN_MNT_HIDE: /* bawn-inside's: where nothing is, a place would be made on the host */
		break;
	case BAWN_MNT_FILE:
		put_file(b, m);
		break;
	}
	return 0;
}

static void put_dev(struct bawn_buf *b, const struct bawn_plan *plan, bool whole)
{
	if (whole) /* the host's own must not be touched */
		put_tmpfs(b, "/dev", "mode=0755,size=65536", true);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		put_bind(b, nodes[i], nodes[i], true);
	if (plan->pty)
		put_bind(b, "/dev/tty", "/dev/tty", true);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		put_symlink(b, links[i][0], links[i][1]);
	put_tmpfs(b, "/dev/pts", "mode=0755,size=4096", true);
}

/* Its descriptor's number. */
static int put_config(
	struct bawn_near_args *args, const struct bawn_plan *plan, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	bool whole = plan->n_mounts && !strcmp(plan->mounts[0].dst, "/");
	int r = whole ? put_mount(&b, plan, 0, args, err) : 0;

	put_dev(&b, plan, whole);
	for (size_t i = whole ? 1 : 0; r >= 0 && i < plan->n_mounts; i++)
		r = put_mount(&b, plan, i, args, err);
	if (r < 0)
		return r;
	if (b.failed)
		return bawn_fail(err, BAWN_ERR_INTERNAL, b.failed, "out of memory");
	r = bawn_near_data(args, b.data, b.len);
	return r < 0 ? bawn_fail(err, BAWN_ERR_BACKEND, args->failed, "too many descriptors") : r;
}

static int nsjail_build(
	const struct bawn_near_job *job, struct bawn_near_args *args, struct bawn_error *err)
{
	int config = put_config(args, job->plan, err);

	if (config < 0)
		return config;
	bawn_near_add(args, "--config", NULL);
	bawn_near_addf(args, "/proc/self/fd/%d", config);
	bawn_near_add(args, "--mode", "o", "--quiet", "--time_limit", "0", "--disable_rlimits",
		"--nice_level", "0", "--keep_caps", "--hostname", job->plan->hostname, "--cwd", "/",
		"--pass_fd", NULL);
	bawn_near_addf(args, "%d", job->inside_fd);
	bawn_near_add(args, "--pass_fd", job->socket + strlen("fd:"), "--", NULL);
	bawn_near_addf(args, "/proc/self/fd/%d", job->inside_fd);
	bawn_near_add(args, "near", job->socket, NULL);
	return 0;
}

const struct bawn_tool bawn_tool_nsjail = {
	.program = "nsjail",
	.remedy =
		"not in Debian 12: build it from https://github.com/google/nsjail (make), and put "
		"'nsjail' into /usr/local/bin",
	.walls = "nsjail: namespaces (user mount pid net ipc uts cgroup)",
	.follow_parent = true,
	.cgroups = true,
	.build = nsjail_build,
};

static int nsjail_probe(struct bawn_probe *ret, struct bawn_error *err)
{
	return bawn_near_probe(&bawn_backend_nsjail, &bawn_tool_nsjail, NULL, ret, err);
}

static int nsjail_prepare(struct bawn_instance *in, const struct bawn_plan *plan,
	const int stdio[3], struct bawn_error *err)
{
	return bawn_near_prepare(in, &bawn_tool_nsjail, plan, stdio, err);
}

const struct bawn_backend bawn_backend_nsjail = {
	BAWN_NEAR_BACKEND,
	.name = "nsjail",
	.aliases = "",
	.summary = "nsjail's namespaces, our Landlock and seccomp inside",
	.strength = 45,
	.program = "nsjail",
	.probe = nsjail_probe,
	.prepare = nsjail_prepare,
};
