/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of engines against golden files, what is refused, and the image without a
 * system. With BAWN_UPDATE_GOLDEN set the files are written instead. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>

#include <sys/stat.h>

#include "backend/near/engine.h"
#include "base/io.h"
#include "harness.h"

static const struct bawn_engine_host host = {
	.uid = 1000, .gid = 1001, .processors = 8, .files = 4096, .procs = 2048, .runtime = ""};

static struct bawn_mount mounts[] = {
	{.kind = BAWN_MNT_RO, .src = "/usr", .dst = "/usr", .rule = "filesystem.system"},
	{.kind = BAWN_MNT_SYMLINK, .src = "usr/bin", .dst = "/bin"},
	{.kind = BAWN_MNT_SCRATCH, .dst = "/tmp"},
	{.kind = BAWN_MNT_SYMLINK, .src = "/tmp", .dst = "/var/tmp"},
	{.kind = BAWN_MNT_SCRATCH, .src = "0700", .dst = "/home/u", .no_exec = true},
	{.kind = BAWN_MNT_RW, .src = "/srv", .dst = "/srv/work space"},
	{.kind = BAWN_MNT_RO, .src = "/no/such/place", .dst = "/opt/x", .optional = true},
	{.kind = BAWN_MNT_HIDE, .dst = "/etc/passwd"},
	{.kind = BAWN_MNT_HIDE, .dst = "/usr/share"},
	{.kind = BAWN_MNT_HIDE, .dst = "/no/such/file"},
	{.kind = BAWN_MNT_FILE, .src = "text\n", .dst = "/home/u/.gitconfig"},
	{.kind = BAWN_MNT_DEVICE, .src = "/dev/null", .dst = "/dev/thing"},
};

static const char *const sys_allow[] = {"ptrace", NULL};

static struct bawn_plan plan_of(void)
{
	return (struct bawn_plan){.tier = BAWN_TIER_NEAR,
		.cwd = "/srv/work space",
		.workspace = "/srv/work space",
		.hostname = "bawn",
		.mounts = mounts,
		.n_mounts = sizeof(mounts) / sizeof(mounts[0]),
		.sys_allow = sys_allow,
		.limits = {.memory = 256u << 20,
			.cpus_milli = 1500,
			.processes = 100,
			.disk = 64u << 20},
		.backend = {.engine_runtime = "", .box_dir = ""}};
}

struct fixture {
	struct bawn_arena *a;
	char dir[32];
	struct bawn_near_job job;
	struct bawn_near_args args;
};

static void begin(struct fixture *f, const struct bawn_plan *plan)
{
	f->a = bawn_arena_new();
	ASSERT_TRUE(f->a);
	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/engine-XXXXXX");
	ASSERT_TRUE(mkdtemp(f->dir));
	f->job = (struct bawn_near_job){.plan = plan,
		.program = "docker",
		.inside = "/usr/libexec/bawn/bawn-inside",
		.dir = f->dir,
		.id = "bawn-1-abc"};
	f->args = (struct bawn_near_args){.a = f->a};
	(void)setenv("DOCKER_HOST", "tcp://nowhere", 1); /* NOLINT(concurrency-mt-unsafe) */
}

static void end(struct fixture *f)
{
	static const char *const names[] = {"inside", "none", "file0", "seccomp.json"};
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", f->dir, names[i]);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/none-dir", f->dir);
	(void)rmdir(path);
	ASSERT_EQ(rmdir(f->dir), 0);
	f->a = bawn_arena_free(f->a);
}

/* One word per line, the private directory by the name DIR. */
static void lines_of(const struct fixture *f, struct bawn_buf *b)
{
	for (size_t i = 0; i < f->args.argv.n; i++) {
		const char *p = f->args.argv.v[i];

		for (const char *at; (at = strstr(p, f->dir)); p = at + strlen(f->dir))
			bawn_buf_printf(b, "%.*sDIR", (int)(at - p), p);
		bawn_buf_printf(b, "%s\n", p);
	}
}

static void same_as(const struct fixture *f, const char *name)
{
	_cleanup_buf_ struct bawn_buf got = {0}, want = {0};
	char path[256];

	lines_of(f, &got);
	(void)snprintf(path, sizeof(path), "%.*s/golden/%s.txt",
		(int)(strrchr(__FILE__, '/') - __FILE__), __FILE__, name);
	if (getenv("BAWN_UPDATE_GOLDEN")) { /* NOLINT(concurrency-mt-unsafe): no threads */
		_cleanup_close_ int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);

		ASSERT_EQ(bawn_write_all(fd, got.data, got.len), 0);
		return;
	}
	ASSERT_EQ(bawn_read_file(AT_FDCWD, path, 1 << 16, &want), 0);
	ASSERT_TRUE(got.data && want.data);
	ASSERT_STREQ(got.data, want.data);
}

#define GOLDEN(id, kind, make, file, ...)                         \
	TEST(id)                                                  \
	{                                                         \
		struct bawn_plan plan = plan_of();                \
		struct bawn_error err = {0};                      \
		struct fixture f;                                 \
                                                                  \
		__VA_ARGS__;                                      \
		begin(&f, &plan);                                 \
		if (make(kind, &host, &f.job, &f.args, &err) < 0) \
			FAIL("%s", err.msg);                      \
		same_as(&f, file);                                \
		end(&f);                                          \
	}

GOLDEN(docker_run, BAWN_ENGINE_DOCKER, bawn_engine_run_args, "docker-run")
GOLDEN(podman_run, BAWN_ENGINE_PODMAN, bawn_engine_run_args, "podman-run")
GOLDEN(apple_run, BAWN_ENGINE_APPLE, bawn_engine_run_args, "apple-run",
	plan.backend.image = "alpine:3";
	plan.n_mounts--)
GOLDEN(docker_image, BAWN_ENGINE_DOCKER, bawn_engine_run_args, "docker-image",
	plan.backend.image = "img:1";
	plan.backend.image_writable = true; plan.backend.engine_runtime = "runsc";
	plan.limits = (struct bawn_limits){.memory = BAWN_UNLIMITED,
		.cpus_milli = 8000,
		.processes = BAWN_UNLIMITED,
		.disk = BAWN_UNLIMITED})
GOLDEN(docker_box, BAWN_ENGINE_DOCKER, bawn_engine_box_args, "docker-box",
	plan.backend.image = "img:1")
GOLDEN(docker_exec, BAWN_ENGINE_DOCKER, bawn_engine_exec_args, "docker-exec",
	plan.backend.image = "img:1";
	plan.backend.box = "bawn-box-x-one-1")

/* Engines refuse two mounts at one place; with --rw /etc the plan has them. */
TEST(one_mount_at_a_place)
{
	struct bawn_mount twice[] = {
		{.kind = BAWN_MNT_RO, .src = "/etc", .dst = "/etc", .rule = "filesystem.system"},
		{.kind = BAWN_MNT_RW, .src = "/etc", .dst = "/etc", .rule = "filesystem.write"},
		{.kind = BAWN_MNT_RO, .src = "/srv", .dst = "/srv"},
		{.kind = BAWN_MNT_RO, .src = "/no/such", .dst = "/srv", .optional = true},
	};
	struct bawn_plan plan = plan_of();
	struct bawn_error err = {0};
	_cleanup_buf_ struct bawn_buf got = {0};
	struct fixture f;

	plan.mounts = twice;
	plan.n_mounts = sizeof(twice) / sizeof(twice[0]);
	begin(&f, &plan);
	if (bawn_engine_run_args(BAWN_ENGINE_PODMAN, &host, &f.job, &f.args, &err) < 0)
		FAIL("%s", err.msg);
	lines_of(&f, &got);
	ASSERT_TRUE(strstr(got.data, "type=bind,source=/etc,target=/etc\n"));
	ASSERT_TRUE(!strstr(got.data, "source=/etc,target=/etc,readonly"));
	ASSERT_TRUE(strstr(got.data, "source=/srv,target=/srv,readonly"));
	/* what the engine would put over these is the host's, and as writable as the rest */
	if (access("/etc/hosts", F_OK) == 0)
		ASSERT_TRUE(strstr(got.data, "source=/etc/hosts,target=/etc/hosts\n"));
	end(&f);
}

TEST(docker_exec_by_socket)
{
	struct bawn_engine_host own = host;
	struct bawn_plan plan = plan_of();
	struct bawn_error err = {0};
	struct fixture f;

	own.socket = "/run/docker.sock";
	plan.backend.box = "bawn-box-x-one-1";
	begin(&f, &plan);
	bawn_near_add(&f.args, "docker", NULL);
	ASSERT_EQ(bawn_engine_exec_args(BAWN_ENGINE_DOCKER, &own, &f.job, &f.args, &err), 0);
	same_as(&f, "docker-exec-socket");
	end(&f);
}

TEST(remove)
{
	struct fixture f;
	struct bawn_plan plan = plan_of();

	begin(&f, &plan);
	bawn_engine_remove_args(BAWN_ENGINE_DOCKER, "id", &f.args);
	ASSERT_EQ(f.args.argv.n, 4);
	ASSERT_STREQ(f.args.argv.v[2], "--volumes");
	ASSERT_STREQ(f.args.argv.v[3], "id");
	end(&f);
}

/* ---- what is refused ---- */

static int check(struct bawn_mount m, const char *cwd, struct bawn_error *err)
{
	struct bawn_plan plan = plan_of();

	plan.mounts = &m;
	plan.n_mounts = 1;
	plan.cwd = cwd;
	return bawn_engine_check(&plan, err);
}

TEST(start_directories)
{
	struct bawn_mount usr = mounts[0];
	struct bawn_error err = {0};

	ASSERT_EQ(check(usr, "/srv", &err), 0);
	ASSERT_EQ(check(usr, "/", &err), 0);
	ASSERT_TRUE(check(usr, "/proc/self/fd/7", &err) < 0);
	ASSERT_TRUE(check(usr, "/proc", &err) < 0);
	ASSERT_TRUE(check(usr, "/dev/fd/7", &err) < 0);
	ASSERT_TRUE(check(usr, "relative", &err) < 0);
	ASSERT_EQ(check(usr, "/procession", &err), 0);
}

TEST(engine_sockets)
{
	struct bawn_error err = {0};
	char dir[] = "/tmp/engine-XXXXXX";
	char sock[64], link_path[64], env[80];

	ASSERT_TRUE(mkdtemp(dir));
	(void)snprintf(sock, sizeof(sock), "%s/engine.sock", dir);
	(void)snprintf(link_path, sizeof(link_path), "%s/other", dir);
	(void)snprintf(env, sizeof(env), "unix://%s", sock);
	ASSERT_EQ(mknod(sock, S_IFSOCK | 0600, 0), 0);
	ASSERT_EQ(link(sock, link_path), 0);
	(void)setenv("DOCKER_HOST", env, 1); /* NOLINT(concurrency-mt-unsafe): no threads */
#define BOUND(k, path) ((struct bawn_mount){.kind = (k), .src = (path), .dst = (path), .rule = "x"})
	ASSERT_TRUE(check(BOUND(BAWN_MNT_RO, dir), "/", &err) < 0);
	ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
	ASSERT_TRUE(strstr(err.msg, sock));
	ASSERT_TRUE(check(BOUND(BAWN_MNT_RW, "/tmp"), "/", &err) < 0);
	ASSERT_TRUE(check(BOUND(BAWN_MNT_SOCKET, sock), "/", &err) < 0);
	ASSERT_TRUE(check(BOUND(BAWN_MNT_SOCKET, link_path), "/", &err) < 0);
	ASSERT_TRUE(check(BOUND(BAWN_MNT_SOCKET, "/var/run/docker.sock"), "/", &err) < 0);
	ASSERT_EQ(check(BOUND(BAWN_MNT_RO, "/usr"), "/", &err), 0);
	(void)unlink(link_path);
	(void)unlink(sock);
	ASSERT_EQ(rmdir(dir), 0);
}

TEST(what_cannot_be_said)
{
	struct bawn_error err = {0};
	struct bawn_plan plan = plan_of();
	struct bawn_mount m = {.kind = BAWN_MNT_RO, .src = "/a,b", .dst = "/a,b"};
	struct fixture f;

	ASSERT_TRUE(check(BOUND(BAWN_MNT_RW, "/"), "/", &err) < 0);
	ASSERT_TRUE(check(BOUND(BAWN_MNT_RO, "/a\nb"), "/", &err) < 0);
	plan.mounts = &m;
	plan.n_mounts = 1;
	begin(&f, &plan);
	ASSERT_EQ(bawn_engine_run_args(BAWN_ENGINE_DOCKER, &host, &f.job, &f.args, &err), 0);
	ASSERT_TRUE(bawn_engine_run_args(BAWN_ENGINE_PODMAN, &host, &f.job, &f.args, &err) < 0);
	bool found = false;
	for (size_t i = 0; i < f.args.argv.n; i++)
		found |= !strcmp(
			f.args.argv.v[i], "type=bind,\"source=/a,b\",\"target=/a,b\",readonly");
	ASSERT_TRUE(found);
	m.kind = BAWN_MNT_SCRATCH;
	m.dst = "/a:b";
	ASSERT_TRUE(bawn_engine_run_args(BAWN_ENGINE_DOCKER, &host, &f.job, &f.args, &err) < 0);
	plan.backend.image = "--privileged";
	ASSERT_TRUE(bawn_engine_check(&plan, &err) < 0);
	end(&f);
}

/* ---- the filter and the image ---- */

TEST(seccomp_profile)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	struct bawn_plan plan = plan_of();
	json_t *j, *names;
	unsigned n = 0;

	bawn_engine_seccomp(&plan, &b);
	j = json_loadb(b.data, b.len, 0, NULL);
	ASSERT_TRUE(j);
	ASSERT_STREQ(json_string_value(json_object_get(j, "defaultAction")), "SCMP_ACT_ERRNO");
	names = json_object_get(json_array_get(json_object_get(j, "syscalls"), 0), "names");
	ASSERT_TRUE(json_array_size(names) > 200);
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));

		n += (unsigned)(!strcmp(name, "unshare") + !strcmp(name, "ptrace") +
				!strcmp(name, "openat"));
		ASSERT_TRUE(strcmp(name, "bpf") != 0 && strcmp(name, "kexec_load") != 0 &&
			    strcmp(name, "init_module") != 0 && strcmp(name, "keyctl") != 0);
	}
	ASSERT_EQ(n, 3);
	json_decref(j);
}

TEST(base_image)
{
	_cleanup_buf_ struct bawn_buf tar = {0}, again = {0};
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_plan plan = plan_of();
	struct bawn_error err = {0};
	const char *name = bawn_engine_base_name(a, &plan);

	ASSERT_TRUE(!strncmp(name, "bawn-base:", 10) && strlen(name) == 26);
	ASSERT_EQ(bawn_engine_base_tar(&plan, &tar, &err), 0);
	ASSERT_EQ(bawn_engine_base_tar(&plan, &again, &err), 0);
	ASSERT_EQ(tar.len, 512 * 5); /* bin, var, var/tmp and the end */
	ASSERT_TRUE(!memcmp(tar.data, again.data, tar.len));
	ASSERT_STREQ(tar.data, "bin");
	ASSERT_STREQ(tar.data + 157, "usr/bin");
	ASSERT_STREQ(tar.data + 1024, "var/tmp");
	plan.n_mounts = 1;
	ASSERT_TRUE(strcmp(bawn_engine_base_name(a, &plan), name) != 0);
	a = bawn_arena_free(a);
}

/* ---- running one ---- */

static void count(void *data, const char *text, size_t len)
{
	*(unsigned *)data += len == 3 && !memcmp(text, "abc", 3);
}

TEST(calls)
{
	static const char *const ok[] = {
		"sh", "-c", "cat; printf 'abc\\r\\nabc\\nabc' >&2; echo $X", NULL};
	static const char *const bad[] = {"sh", "-c", "echo one >&2; echo two >&2; exit 4", NULL};
	static const char *const slow[] = {"sh", "-c", "sleep 60 & sleep 60", NULL};
	static const char *const none[] = {"no-such-engine", NULL};
	struct bawn_error err = {0};
	unsigned lines = 0;
	struct bawn_engine_call c = {.argv = ok,
		.input = "in",
		.input_len = 2,
		.env = "X=yes",
		.timeout_ms = 30000,
		.line = count,
		.data = &lines};

	ASSERT_EQ(bawn_engine_call(&c, &err), 0);
	ASSERT_STREQ(c.out.data, "inyes\n");
	ASSERT_EQ(lines, 3);
	bawn_engine_call_done(&c);
	c = (struct bawn_engine_call){.argv = bad, .timeout_ms = 30000};
	ASSERT_TRUE(bawn_engine_call(&c, &err) < 0);
	ASSERT_TRUE(strstr(err.msg, "two") && !strstr(err.msg, "one"));
	bawn_engine_call_done(&c);
	c = (struct bawn_engine_call){.argv = slow, .timeout_ms = 200};
	ASSERT_EQ(bawn_engine_call(&c, &err), -ETIMEDOUT);
	bawn_engine_call_done(&c);
	c = (struct bawn_engine_call){.argv = none, .timeout_ms = 1000};
	ASSERT_EQ(bawn_engine_call(&c, &err), -ENOENT);
	ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
	bawn_engine_call_done(&c);
}

TEST(explanations)
{
	static const struct {
		const char *said;
		int kind;
		const char *part;
	} rows[] = {
		{"docker: Error response from daemon: No such image: x:1.\nSee 'docker run --help'.",
			BAWN_ERR_CALL, "docker pull img:1"},
		{"docker: Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
			BAWN_ERR_UNSUPPORTED, "does not answer"},
		{"permission denied while trying to connect to the Docker daemon socket",
			BAWN_ERR_UNSUPPORTED, "may not"},
		{"Error: write /x: no space left on device", BAWN_ERR_BACKEND, "full"},
		{"Error: unknown or invalid runtime name: q", BAWN_ERR_UNSUPPORTED, "runtime"},
		{"Error: OCI runtime error: crun: cgroups in hybrid mode not supported, drop",
			BAWN_ERR_UNSUPPORTED, "runc"},
		{"first\nthe last words\nSee 'docker run --help'.", BAWN_ERR_BACKEND,
			"the last words"},
		{"", BAWN_ERR_BACKEND, "without a word"},
	};
	struct bawn_plan plan = plan_of();
	struct bawn_error err = {0};

	ASSERT_EQ(bawn_engine_explain("docker", &plan, "No such image: bawn-base:1", &err),
		BAWN_ENGINE_NO_IMAGE);
	plan.backend.image = "img:1";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ASSERT_TRUE(bawn_engine_explain("docker", &plan, rows[i].said, &err) < 0);
		ASSERT_EQ((int)err.kind, rows[i].kind);
		if (!strstr(err.msg, rows[i].part))
			FAIL("'%s' lacks '%s'", err.msg, rows[i].part);
	}
}
