/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of QEMU and of Firecracker, word for word, and how Firecracker's answers are read.
 */
#include <errno.h>
#include <jansson.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "backend/vm/firecracker.h"
#include "backend/vm/guest.h"
#include "backend/vm/http.h"
#include "backend/vm/jailer.h"
#include "backend/vm/qemu.h"
#include "base/io.h"
#include "harness.h"

static struct bawn_vm_kernel kernel = {.image = "/k/vmlinux"};

static void is_argv(const char *const *argv, const char *expected)
{
	char all[4096] = "";

	ASSERT_TRUE(argv != NULL);
	for (size_t i = 0, n = 0; argv[i]; i++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? "\n" : "", argv[i]);
	ASSERT_STREQ(all, expected);
}

#define MACHINE                                                                                  \
	"\n-nodefaults\n-no-user-config\n-display\nnone\n-monitor\nnone\n-no-reboot\n-sandbox\n" \
	"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny\n"              \
	"-kernel\n/k/vmlinux\n-initrd\n/i\n-append\n"                                            \
	"console=ttyS0 quiet panic=-1 reboot=t rdinit=/init " BAWN_GUEST_QUICK
#define DEVICES                                                                                      \
	"\n-chardev\nsocket,id=console,fd=2\n-serial\nchardev:console\n-device\nvirtio-rng-device\n" \
	"-device\nvirtio-serial-device\n"                                                            \
	"-chardev\nsocket,id=stream,fd=0\n-device\nvirtserialport,chardev=stream,name=bawn.stream\n" \
	"-chardev\nsocket,id=files,fd=1\n-device\nvirtserialport,chardev=files,name=bawn.files"

TEST(qemu_emulated)
{
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_qemu q = {.program = "/usr/bin/qemu",
		.kernel = &kernel,
		.initrd = "/i",
		.guest = "guest serial files",
		.memory_mib = 512,
		.cpus = 1,
		.tsc_khz = 2500000};

	is_argv(bawn_qemu_argv(a, &q),
		"/usr/bin/qemu\n-M\nmicrovm,accel=tcg,x-option-roms=off,auto-kernel-cmdline=off\n-cpu\nmax\n"
		"-smp\n1\n-m\n512M" MACHINE " tsc_early_khz=2500000 guest serial files" DEVICES);
	a = bawn_arena_free(a);
}

TEST(qemu_with_kvm_and_a_disk_with_a_comma)
{
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_qemu q = {.program = "/usr/bin/qemu",
		.kernel = &kernel,
		.initrd = "/i",
		.image = "/d/a,readonly=off",
		.guest = "guest serial disk",
		.memory_mib = 4096,
		.cpus = 4,
		.tsc_khz = 2500000,
		.kvm = true};

	is_argv(bawn_qemu_argv(a, &q),
		"/usr/bin/qemu\n-M\nmicrovm,accel=kvm,x-option-roms=off,auto-kernel-cmdline=off\n-cpu\nhost\n"
		"-smp\n4\n-m\n4096M" MACHINE " guest serial disk" DEVICES
		"\n-drive\nif=none,id=root,format=raw,readonly=on,file=/d/a,,readonly=off\n"
		"-device\nvirtio-blk-device,drive=root");
	a = bawn_arena_free(a);
}

TEST(there_is_no_network_device)
{
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_qemu q = {
		.program = "q", .kernel = &kernel, .initrd = "/i", .guest = "g", .cpus = 1};
	const char *const *argv = bawn_qemu_argv(a, &q);

	for (size_t i = 0; argv[i]; i++)
		ASSERT_TRUE(!strstr(argv[i], "net") && !!strcmp(argv[i], "-nic") &&
			    !strstr(argv[i], "fsdev"));
	a = bawn_arena_free(a);
}

static const struct bawn_firecracker fc = {.program = "/opt/firecracker",
	.id = "run-1",
	.kernel = "/k/vmlinux",
	.initrd = "/i",
	.image = "/d/root.ext4",
	.guest = "guest vsock disk",
	.api = "/r/api",
	.vsock = "/r/vsock",
	.memory_mib = 512,
	.cpus = 2};

TEST(firecracker_command_lines)
{
	struct bawn_arena *a = bawn_arena_new();

	is_argv(bawn_firecracker_argv(a, &fc), "/opt/firecracker\n--id\nrun-1\n--api-sock\n/r/api");
	a = bawn_arena_free(a);
}

#define JAILER                                                                                  \
	"/opt/jailer\n--id\nrun-1\n--exec-file\n/opt/firecracker\n--uid\n7001\n--gid\n7001\n"   \
	"--chroot-base-dir\n/b\n--resource-limit\nno-file=1024\n--resource-limit\nfsize=4096\n" \
	"--new-pid-ns"

static struct bawn_jailer a_jailer(void)
{
	return (struct bawn_jailer){.program = "/opt/jailer",
		.exec_file = "/opt/firecracker",
		.id = "run-1",
		.base = "/b",
		.user = 7001,
		.file_max = 4096};
}

TEST(jailer_command_lines)
{
	static const char v1[] =
		"tmpfs /sys/fs/cgroup tmpfs ro 0 0\n"
		"cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n"
		"cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0\n"
		"cgroup2 /nowhere/unified cgroup2 rw 0 0\n";
	struct bawn_plan plan = {.limits = {.cpus_milli = 1500, .cpu_shares = 512}};
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_jailer j = a_jailer();

	ASSERT_EQ(bawn_jailer_choose_groups(&j, a, &plan, ""), 0);
	is_argv(bawn_jailer_argv(a, &j, "/api"), JAILER "\n--\n--api-sock\n/api");
	ASSERT_EQ(bawn_jailer_choose_groups(&j, a, &plan, v1), 0);
	ASSERT_STREQ(j.groups[0].dir, "/sys/fs/cgroup/pids/bawn-vm/run-1");
	is_argv(bawn_jailer_argv(a, &j, "/api"),
		JAILER "\n--cgroup-version\n1\n--parent-cgroup\nbawn-vm\n--cgroup\npids.max=256"
		       "\n--\n--api-sock\n/api");
	j = a_jailer();
	plan.demanded = BAWN_CTL_LIMIT_CPU;
	ASSERT_EQ(bawn_jailer_choose_groups(&j, a, &plan, v1), 0);
	ASSERT_STREQ(j.groups[2].dir, "/sys/fs/cgroup/cpu,cpuacct/bawn-vm/run-1");
	is_argv(bawn_jailer_argv(a, &j, "/api"),
		JAILER "\n--cgroup-version\n1\n--parent-cgroup\nbawn-vm\n--cgroup\npids.max=256"
		       "\n--cgroup\ncpu.cfs_quota_us=150000\n--cgroup\ncpu.shares=512"
		       "\n--\n--api-sock\n/api");
	a = bawn_arena_free(a);
}

/* A limit that was asked for and cannot be had is not left out: then it is another wall's turn. */
TEST(a_jailer_without_the_groups_that_are_needed)
{
	struct bawn_plan plan = {.demanded = BAWN_CTL_LIMIT_CPU,
		.limits = {.cpus_milli = 1000, .cpu_shares = BAWN_UNLIMITED}};
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_jailer j = a_jailer();

	ASSERT_EQ(bawn_jailer_choose_groups(&j, a, &plan, ""), -EOPNOTSUPP);
	plan.may_miss = BAWN_CTL_LIMIT_CPU;
	ASSERT_EQ(bawn_jailer_choose_groups(&j, a, &plan, ""), 0);
	ASSERT_EQ(j.n_groups, 0);
	a = bawn_arena_free(a);
}

TEST(jailer_with_groups_of_version_2)
{
	char dir[] = "/tmp/bawn-groups.XXXXXX", path[64], mounts[128];
	struct bawn_plan plan = {
		.demanded = BAWN_CTL_LIMIT_CPU, .limits = {.cpus_milli = 500, .cpu_shares = 1024}};
	struct bawn_arena *a = bawn_arena_new();
	struct bawn_jailer j = a_jailer();
	FILE *f;

	ASSERT_TRUE(mkdtemp(dir) != NULL);
	(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", dir);
	(void)snprintf(mounts, sizeof(mounts), "none %s cgroup2 rw 0 0\n", dir);
	f = fopen(path, "we");
	ASSERT_TRUE(f != NULL);
	ASSERT_TRUE(fputs("cpuset cpu io memory pids\n", f) >= 0);
	ASSERT_EQ(fclose(f), 0);
	ASSERT_EQ(bawn_jailer_choose_groups(&j, a, &plan, mounts), 0);
	is_argv(bawn_jailer_argv(a, &j, "/api"),
		JAILER "\n--cgroup-version\n2\n--parent-cgroup\nbawn-vm\n--cgroup\npids.max=256"
		       "\n--cgroup\ncpu.max=50000 100000\n--cgroup\ncpu.weight=100"
		       "\n--\n--api-sock\n/api");
	ASSERT_EQ(unlink(path), 0);
	ASSERT_EQ(rmdir(dir), 0);
	a = bawn_arena_free(a);
}

TEST(firecracker_requests)
{
	static const struct bawn_firecracker_request expected[] = {
		{"/machine-config", "{\"vcpu_count\":2,\"mem_size_mib\":512,\"smt\":false}"},
		{"/boot-source",
			"{\"kernel_image_path\":\"/k/vmlinux\",\"initrd_path\":\"/i\",\"boot_args\":"
			"\"console=ttyS0 quiet panic=-1 reboot=k pci=off rdinit=/init " BAWN_GUEST_QUICK
			" guest vsock disk\"}"},
		{"/drives/rootfs",
			"{\"drive_id\":\"rootfs\",\"path_on_host\":\"/d/root.ext4\",\"is_root_device\":false,"
			"\"is_read_only\":true}"},
		{"/vsock", "{\"guest_cid\":3,\"uds_path\":\"/r/vsock\"}"},
		{"/actions", "{\"action_type\":\"InstanceStart\"}"},
	};
	struct bawn_firecracker_request got[BAWN_FIRECRACKER_REQUESTS];
	struct bawn_firecracker no_disk = fc;
	struct bawn_arena *a = bawn_arena_new();

	ASSERT_EQ(bawn_firecracker_requests(a, &fc, got), 5);
	for (size_t i = 0; i < 5; i++) {
		ASSERT_STREQ(got[i].path, expected[i].path);
		ASSERT_STREQ(got[i].json, expected[i].json);
	}
	no_disk.image = NULL;
	ASSERT_EQ(bawn_firecracker_requests(a, &no_disk, got), 4);
	ASSERT_STREQ(got[2].path, "/vsock");
	a = bawn_arena_free(a);
}

TEST(a_path_is_json_whatever_is_in_it)
{
	struct bawn_firecracker_request got[BAWN_FIRECRACKER_REQUESTS];
	struct bawn_firecracker odd = fc;
	struct bawn_arena *a = bawn_arena_new();
	json_t *root;

	odd.image = "/d/\"},\"is_read_only\":false,\"x\":\"";
	ASSERT_EQ(bawn_firecracker_requests(a, &odd, got), 5);
	root = json_loads(got[2].json, 0, NULL);
	ASSERT_STREQ(json_string_value(json_object_get(root, "path_on_host")), odd.image);
	ASSERT_TRUE(json_is_true(json_object_get(root, "is_read_only")));
	json_decref(root);
	a = bawn_arena_free(a);
}

/* ---- answers ---- */

TEST(answers_are_read_strictly)
{
	static const struct {
		const char *text;
		int status; /* 0: more is needed; -1: refused */
		size_t body;
	} rows[] = {
		{"HTTP/1.1 204 \r\nServer: Firecracker API\r\nConnection: keep-alive\r\n\r\n", 204,
			0},
		{"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nabc", 400, 3},
		{"HTTP/1.1 400\r\ncontent-length:3\r\n\r\nabcdef", 400, 3},
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", 0, 0},
		{"HTTP/1.1 200 OK\r\nContent-Le", 0, 0},
		{"", 0, 0},
		{"HTTP/2 200 OK\r\n\r\n", -1, 0},
		{"HTTP/1.1 20 OK\r\n\r\n", -1, 0},
		{"HTTP/1.1 2000\r\n\r\n", -1, 0},
		{"HTTP/1.1 099 no\r\n\r\n", -1, 0},
		{"\r\n\r\n", -1, 0},
		{"HTTP/1.1 200 OK\n\n", -1, 0},
		{"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", -1, 0},
		{"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", -1, 0},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", -1, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", -1, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n", -1, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", -1, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", -1, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n", -1, 0},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", -1, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bawn_http_answer a = {0};
		int r = bawn_http_parse(rows[i].text, strlen(rows[i].text), &a);

		if (rows[i].status < 0)
			ASSERT_EQ(r, -EPROTO);
		if (rows[i].status == 0)
			ASSERT_EQ(r, 0);
		if (rows[i].status > 0) {
			ASSERT_TRUE(r > 0);
			ASSERT_EQ(a.status, rows[i].status);
			ASSERT_EQ(a.body_len, rows[i].body);
		}
	}
}

TEST(a_head_without_end_is_refused)
{
	static char head[BAWN_HTTP_HEAD_MAX * 2];
	struct bawn_http_answer a;

	memset(head, 'x', sizeof(head));
	ASSERT_EQ(bawn_http_parse(head, sizeof(head), &a), -EPROTO);
}

/* Have a child answer what is asked. */
static int served(const char *answer)
{
	int pair[2];
	char asked[1024];

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	if (fork() == 0) {
		(void)!read(pair[1], asked, sizeof(asked));
		(void)bawn_write_all(pair[1], answer, strlen(answer));
		_exit(0);
	}
	(void)close(pair[1]);
	return pair[0];
}

TEST(a_refusal_says_why)
{
	struct bawn_error err = {0};
	int fd = served("HTTP/1.1 400 Bad\r\nContent-Length: 36\r\n\r\n"
			"{\"fault_message\":\"no \\u001b kernel\"}");

	ASSERT_EQ(bawn_http_put(fd, "/boot-source", "{}", bawn_now_ms() + 10000, &err), -EREMOTEIO);
	ASSERT_STREQ(err.msg, "PUT /boot-source was refused (400): no \\x1b kernel");
	(void)close(fd);
}

TEST(silence_and_nonsense_are_no_answers)
{
	struct bawn_error err = {0};
	int fd = served("");

	ASSERT_EQ(bawn_http_put(fd, "/a", "{}", bawn_now_ms() + 10000, &err), -EPIPE);
	(void)close(fd);
	fd = served("hello\r\n\r\n");
	ASSERT_EQ(bawn_http_put(fd, "/a", "{}", bawn_now_ms() + 10000, &err), -EPROTO);
	(void)close(fd);
	fd = served("HTTP/1.1 204 \r\n\r\n");
	ASSERT_EQ(bawn_http_put(fd, "/a", "{}", bawn_now_ms() + 10000, &err), 0);
	(void)close(fd);
}

/* ---- the vsock ---- */

/* A listener that closes `refusals` connections, then says `answer`. */
static void vsock(const char *path, int refusals, const char *answer)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	ASSERT_EQ(bind(s, (struct sockaddr *)(void *)&sa, sizeof(sa)), 0);
	ASSERT_EQ(listen(s, 4), 0);
	if (fork() == 0) {
		for (int i = 0; i <= refusals; i++) {
			int fd = accept(s, NULL, NULL);
			char order[64] = "";

			(void)!read(fd, order, sizeof(order) - 1);
			if (i == refusals && !strcmp(order, "CONNECT 1024\n"))
				(void)bawn_write_all(fd, answer, strlen(answer));
			(void)close(fd);
		}
		_exit(0);
	}
	(void)close(s);
}

TEST(the_guest_is_asked_until_it_listens)
{
	char path[64], bytes[8] = "";
	int fd;

	(void)snprintf(path, sizeof(path), "/tmp/bawn-vsock-%d", (int)getpid());
	vsock(path, 3, "OK 1073741824\nHELLO");
	fd = bawn_firecracker_connect(path, 1024, bawn_now_ms() + 20000, NULL);
	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(recv(fd, bytes, 5, MSG_WAITALL), 5); /* the stream's first byte is still there */
	ASSERT_STREQ(bytes, "HELLO");
	(void)unlink(path);
}

TEST(no_guest_is_an_error)
{
	struct bawn_error err = {0};
	char path[64];

	(void)snprintf(path, sizeof(path), "/tmp/bawn-vsock-%d", (int)getpid());
	ASSERT_EQ(bawn_firecracker_connect(path, 1024, bawn_now_ms() + 20000, &err), -EPIPE);
	vsock(path, 0, "NO 1\n");
	ASSERT_EQ(bawn_firecracker_connect(path, 1024, bawn_now_ms() + 20000, &err), -EPROTO);
	(void)unlink(path);
	vsock(path, 0, "OK 1111111111111111111111111111111111111111111\n");
	ASSERT_EQ(bawn_firecracker_connect(path, 1024, bawn_now_ms() + 20000, &err), -EPROTO);
	(void)unlink(path);
}
