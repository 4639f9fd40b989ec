/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A far instance from end to end, with a tool that is a plain child process: this program again,
 * being the bridge. What stands between them is the same as with another kernel; only the kernel is
 * not another one. A second kind of tool says what a broken or hostile inside would.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "backend/far/far.h"
#include "backend/far/frame.h"
#include "backend/inside/bridge.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "harness.h"

#define WAIT_MS 20000

/* ---- the other end ---- */

static void say(const char *bytes, size_t len)
{
	(void)!write(1, bytes, len);
}

static void misbehave(const char *how)
{
	struct bawn_buf out = {0};

	if (!strcmp(how, "garbage")) {
		say("this is no frame of any kind", 28);
	} else if (!strcmp(how, "long")) {
		say("\x01\x00\x00\x00\xff\xff\xff\x7f", 8);
	} else if (!strcmp(how, "half")) {
		say("\x01\x00\x00\x00\x08", 5);
	} else if (!strcmp(how, "ready")) { /* before anybody asked */
		struct bawn_event ev = {.control = ~0u};

		bawn_frame_put_event(&out, BAWN_FRAME_READY, &ev, &(struct bawn_usage){0});
		say(out.data, out.len);
	} else if (!strcmp(how, "version")) {
		bawn_frame_put_u32(&out, BAWN_FRAME_HELLO, 0, BAWN_FRAME_VERSION + 1);
		say(out.data, out.len);
	} else if (!strcmp(how, "words")) {
		(void)fprintf(stderr, "one line\nno kernel to boot\n");
		_exit(3);
	} else if (!strcmp(how, "silent")) {
		(void)pause();
	}
	(void)sleep(how[0] == 'h' ? 0 : 60);
}

/* The bridge behind a line that takes SLOW_BYTES every SLOW_MS. */
#define SLOW_BYTES 65536
#define SLOW_MS    100
static void slow_line(struct bawn_bridge *b)
{
	const struct timespec nap = {.tv_nsec = SLOW_MS * 1000000};
	static char block[SLOW_BYTES];
	int line[2];
	ssize_t n;

	if (pipe2(line, O_CLOEXEC) < 0)
		_exit(1);
	if (fork() == 0) {
		(void)close(line[1]);
		b->in = line[0];
		_exit(bawn_bridge_main(b));
	}
	(void)close(line[0]);
	while ((n = read(b->in, block, sizeof(block))) > 0) {
		(void)nanosleep(&nap, NULL);
		if (bawn_write_all(line[1], block, (size_t)n) < 0)
			_exit(1);
	}
	_exit(0);
}

/* A line of our own that is called, and takes as much at once as a socket may hold. */
#define WIDE_BYTES (1 << 20)
static struct sockaddr_un wide_name(const char *dir)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s/line", dir);
	return un;
}

static void wide_line(void)
{
	struct sockaddr_un un = wide_name(getenv("BAWN_TEST_FAR_AT"));
	int at = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

	if (at < 0 || bind(at, (struct sockaddr *)&un, sizeof(un)) < 0 || listen(at, 1) < 0)
		_exit(1);
	fd = accept(at, NULL, NULL);
	if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0)
		_exit(1);
}

static int wide_enter(const struct bawn_far_job *job, struct bawn_error *err)
{
	(void)err;
	return setenv("BAWN_TEST_FAR_AT", job->dir, 1);
}

static int wide_connect(const struct bawn_far_job *job, int *ret_stream, struct bawn_error *err)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	struct sockaddr_un un = wide_name(job->dir);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), bytes = WIDE_BYTES;
	int64_t stop = bawn_now_ms() + WAIT_MS;

	while (connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0) {
		if (bawn_now_ms() > stop)
			return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "nobody listens: %m");
		(void)nanosleep(&nap, NULL);
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	*ret_stream = fd;
	return 0;
}

__attribute__((constructor)) static void other_end(void)
{
	const char *how = getenv("BAWN_TEST_FAR");
	struct bawn_bridge b = {0};

	if (!how)
		return;
	if (!strcmp(how, "bridge") || !strcmp(how, "slow") || !strcmp(how, "wide")) {
		if (!strcmp(how, "wide"))
			wide_line();
		b.in = fcntl(0, F_DUPFD_CLOEXEC, 10);
		b.out = fcntl(1, F_DUPFD_CLOEXEC, 10);
		if (!strcmp(how, "slow"))
			slow_line(&b);
		_exit(bawn_bridge_main(&b));
	}
	misbehave(how);
	_exit(0);
}

static int build(const struct bawn_far_job *job, struct bawn_strlist *argv, struct bawn_error *err)
{
	(void)argv;
	(void)err;
	ASSERT_EQ(access(job->dir, W_OK), 0);
	return 0;
}

static uint32_t claims(const struct bawn_plan *plan, uint32_t inside)
{
	(void)plan;
	return inside | BAWN_CTL_NET_NONE;
}

static struct bawn_far_tool tool = {.program = "/proc/self/exe",
	.remedy = "build it",
	.walls = "nothing",
	.stream_is_stdio = true,
	.no_inside = true,
	.setup_ms = 3000,
	.build = build,
	.claims = claims};

static int prepare(struct bawn_instance *in, const struct bawn_plan *plan, const int stdio[3],
	struct bawn_error *err)
{
	return bawn_far_prepare(in, &tool, plan, stdio, err);
}

static const struct bawn_backend backend = {.abi = BAWN_BACKEND_ABI,
	.name = "test",
	.instance_size = sizeof(struct bawn_far),
	.prepare = prepare,
	.await = bawn_far_await,
	.start = bawn_far_start,
	.event = bawn_far_event,
	.signal = bawn_far_signal,
	.usage = bawn_far_usage,
	.destroy = bawn_far_destroy};

/* ---- a plan ---- */

static char base[64], host_dir[80], inside_dir[80];
static struct bawn_mount mounts[8];
static const char *argv[] = {"sh", "-c", NULL, NULL};
static const char *const envp[] = {"PATH=/usr/bin:/bin", NULL};
static const char *const none[] = {NULL};
static const struct bawn_call call = {.run_id = "far"};
static struct bawn_plan plan;

static void put_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", host_dir, name);
	f = fopen(path, "we");
	ASSERT_TRUE(f && fputs(text, f) >= 0);
	ASSERT_EQ(fclose(f), 0);
}

static const char *file_text(const char *name)
{
	static char text[4096];
	char path[256];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/%s", host_dir, name);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? "(none)" : text;
}

static void begin(const char *how, const char *script)
{
	size_t n = 0;

	ASSERT_EQ(setenv("BAWN_TEST_FAR", how, 1), 0);
	ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	(void)snprintf(base, sizeof(base), "/tmp/far-XXXXXX");
	ASSERT_TRUE(mkdtemp(base));
	(void)snprintf(host_dir, sizeof(host_dir), "%s/host", base);
	(void)snprintf(inside_dir, sizeof(inside_dir), "%s/inside", base);
	ASSERT_EQ(mkdir(host_dir, 0755), 0);
	argv[2] = script;
	for (const char *const *p =
			(const char *const[]){"/usr", "/bin", "/lib", "/lib64", "/dev", NULL};
		*p; p++)
		mounts[n++] = (struct bawn_mount){.kind = BAWN_MNT_RO,
			.src = *p,
			.dst = *p,
			.optional = true,
			.rule = "test"};
	mounts[n++] = (struct bawn_mount){
		.kind = BAWN_MNT_RW, .src = host_dir, .dst = inside_dir, .rule = "test"};
	plan = (struct bawn_plan){.call = &call,
		.tier = BAWN_TIER_FAR,
		.exe = "/bin/sh",
		.argv = argv,
		.envp = envp,
		.cwd = inside_dir,
		.workspace = inside_dir,
		.hostname = "far",
		.mounts = mounts,
		.n_mounts = n,
		.sys_allow = none,
		.sys_deny = none,
		.backend = {.engine_runtime = "",
			.gvisor_engine = "auto",
			.vm_kernel = "",
			.wasm_library = "",
			.seatbelt_profile = "strict"},
		.limits = {.memory = BAWN_UNLIMITED,
			.cpus_milli = BAWN_UNLIMITED,
			.cpu_shares = BAWN_UNLIMITED,
			.processes = BAWN_UNLIMITED,
			.files = 1024,
			.disk = BAWN_UNLIMITED,
			.time_ms = BAWN_UNLIMITED,
			.output = BAWN_UNLIMITED}};
}

static void end(void)
{
	int st = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execlp("rm", "rm", "-rf", base, (char *)NULL);
		_exit(1);
	}
	ASSERT_TRUE(waitpid(pid, &st, 0) == pid && st == 0);
	/* orphans of a tool that was killed come to us; with a kernel of their own they would not
	 */
	for (int64_t stop = bawn_now_ms() + WAIT_MS; waitpid(-1, NULL, WNOHANG | __WALL) >= 0;)
		if (bawn_now_ms() > stop)
			FAIL("a process lives on");
}

/* ---- running ---- */

struct run {
	struct bawn_instance *in;
	int out, err, input;
	unsigned denials;
	char denied[BAWN_EVENT_TEXT_MAX];
};

static int make(struct run *r, struct bawn_error *err)
{
	int in[2], out[2], er[2], result;
	uint32_t missing = 0;

	ASSERT_TRUE(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC) && !pipe2(er, O_CLOEXEC));
	*r = (struct run){.input = in[1], .out = out[0], .err = er[0]};
	result = bawn_instance_new(
		&backend, &plan, (const int[]){in[0], out[1], er[1]}, &r->in, err);
	(void)close(in[0]);
	(void)close(out[1]);
	(void)close(er[1]);
	return result < 0 ? result : bawn_instance_await(r->in, &plan, &missing, err);
}

static void drop(struct run *r)
{
	r->in = bawn_instance_free(r->in);
	(void)close(r->out);
	(void)close(r->err);
	if (r->input >= 0)
		(void)close(r->input);
}

static struct run start(void)
{
	struct bawn_error err = {0};
	struct run r;

	if (make(&r, &err) < 0 || backend.start(r.in, &err) < 0)
		FAIL("%s", err.msg);
	return r;
}

/* Until the end; the event that says how the command ended, if one did. */
static struct bawn_event outcome(struct run *r)
{
	int64_t stop = bawn_now_ms() + WAIT_MS;
	struct bawn_event ev = {0}, ret = {0};

	while (ev.kind != BAWN_EV_ENDED) {
		struct pollfd p = {.fd = r->in->event_fd, .events = POLLIN};

		ASSERT_EQ(backend.event(r->in, &ev, NULL), 0);
		if (ev.kind == BAWN_EV_EXITED || ev.kind == BAWN_EV_FAILED)
			ret = ev;
		if (ev.kind == BAWN_EV_DENIED) {
			r->denials++;
			memcpy(r->denied, ev.text, sizeof(r->denied));
		}
		if (ev.kind == BAWN_EV_NONE)
			ASSERT_TRUE(poll(&p, 1, 1000) >= 0 && bawn_now_ms() < stop);
	}
	return ret;
}

static size_t read_all(int fd, char *dst, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while (n + 1 < size && (got = read(fd, dst + n, size - 1 - n)) > 0)
		n += (size_t)got;
	dst[n] = '\0';
	return n;
}

/* ---- what works ---- */

TEST(output_errors_and_status)
{
	char text[64];
	struct run r;

	begin("bridge", "echo out; echo err >&2; exit 7");
	r = start();
	ASSERT_TRUE(r.in->enforced & BAWN_CTL_SYSCALLS && r.in->enforced & BAWN_CTL_PRIVILEGE);
	struct bawn_event ev = outcome(&r);
	ASSERT_EQ(ev.kind, BAWN_EV_EXITED);
	ASSERT_EQ(WEXITSTATUS(ev.status), 7);
	(void)read_all(r.out, text, sizeof(text));
	ASSERT_STREQ(text, "out\n");
	(void)read_all(r.err, text, sizeof(text));
	ASSERT_STREQ(text, "err\n");
	ASSERT_EQ(r.denials, 0);
	drop(&r);
	end();
}

TEST(input_arrives_and_ends)
{
	char text[64];
	struct run r;

	begin("bridge", "wc -c");
	r = start();
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(bawn_write_all(r.input, text, sizeof(text)), 0);
	(void)close(TAKE_FD(r.input));
	ASSERT_EQ(outcome(&r).status, 0);
	(void)read_all(r.out, text, sizeof(text));
	ASSERT_STREQ(text, "6400\n");
	drop(&r);
	end();
}

TEST(more_than_a_window_of_output)
{
	static char bytes[3 << 20];
	struct run r;
	size_t n = 0;

	begin("bridge", "head -c 3000000 /dev/zero");
	r = start();
	n = read_all(r.out, bytes, sizeof(bytes));
	ASSERT_EQ(n, 3000000);
	ASSERT_EQ(outcome(&r).status, 0);
	drop(&r);
	end();
}

TEST(a_reader_that_goes_away_is_noticed)
{
	struct run r;

	begin("bridge", "exec head -c 300000000 /dev/zero");
	r = start();
	(void)close(r.out);
	struct bawn_event ev = outcome(&r);
	ASSERT_TRUE(WIFSIGNALED(ev.status) && WTERMSIG(ev.status) == SIGPIPE);
	r.out = -1;
	drop(&r);
	end();
}

TEST(files_go_in_and_changes_come_back)
{
	char path[128];
	struct run r;

	begin("bridge", "cat a && mkdir -p d/e && echo new > d/e/f && echo more >> a && rm b && "
			"ln -s a l && chmod 700 x && mv c d/c && rmdir gone");
	put_file("a", "a\n");
	put_file("b", "b\n");
	put_file("c", "c\n");
	put_file("x", "x\n");
	(void)snprintf(path, sizeof(path), "%s/gone", host_dir);
	ASSERT_EQ(mkdir(path, 0755), 0);
	r = start();
	ASSERT_EQ(outcome(&r).status, 0);
	if (r.denials)
		FAIL("%s", r.denied);
	ASSERT_STREQ(file_text("a"), "a\nmore\n");
	ASSERT_STREQ(file_text("b"), "(none)");
	ASSERT_STREQ(file_text("c"), "(none)");
	ASSERT_STREQ(file_text("d/c"), "c\n");
	ASSERT_STREQ(file_text("d/e/f"), "new\n");
	ASSERT_STREQ(file_text("x"), "x\n");
	drop(&r);
	end();
}

static void put_big_file(int mib)
{
	static char line[1025];
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/big", host_dir);
	f = fopen(path, "we");
	ASSERT_TRUE(f != NULL);
	memset(line, 'x', sizeof(line) - 1);
	for (int i = 0; i < mib << 10; i++)
		ASSERT_TRUE(fputs(line, f) >= 0);
	ASSERT_EQ(fclose(f), 0);
}

/* A line that takes all that is ready at once: nothing but we ourselves can go on then. */
TEST(a_wide_line_does_not_stand_still)
{
	struct run r;

	begin("wide", "test $(wc -c <big) = 4194304");
	tool.enter = wide_enter;
	tool.connect = wide_connect;
	put_big_file(4);
	r = start();
	ASSERT_EQ(outcome(&r).status, 0);
	drop(&r);
	end();
}

/* Sending much takes longer than starting may: both limits are for standing still. */
TEST(files_may_take_their_time)
{
	int64_t began;
	struct run r;

	begin("slow", "wc -c <big");
	tool.setup_ms = 1500;
	put_big_file(8);
	began = bawn_now_ms();
	r = start();
	/* longer than the host process would wait in silence */
	ASSERT_TRUE(bawn_now_ms() - began > 1500 + 10000);
	ASSERT_EQ(outcome(&r).status, 0);
	drop(&r);
	end();
}

TEST(a_kill_brings_back_what_was_done)
{
	char text[8] = "";
	struct run r;

	begin("bridge", "echo kept > kept; echo x; sleep 1000 & sleep 1000");
	r = start();
	ASSERT_EQ(read(r.out, text, 2), 2);
	ASSERT_EQ(backend.signal(r.in, SIGKILL, NULL), 0);
	(void)outcome(&r);
	ASSERT_STREQ(file_text("kept"), "kept\n");
	drop(&r);
	end();
}

TEST(a_signal_reaches_the_command)
{
	char text[8] = "";
	struct run r;

	begin("bridge", "trap 'exit 9' TERM; echo x; while :; do sleep 0.05; done");
	r = start();
	ASSERT_EQ(read(r.out, text, 2), 2);
	ASSERT_EQ(backend.signal(r.in, SIGTERM, NULL), 0);
	ASSERT_EQ(WEXITSTATUS(outcome(&r).status), 9);
	drop(&r);
	end();
}

TEST(a_command_that_is_not_there)
{
	struct run r;

	begin("bridge", "");
	plan.exe = "/usr/bin/there-is-no-such-thing";
	r = start();
	struct bawn_event ev = outcome(&r);
	ASSERT_EQ(ev.kind, BAWN_EV_FAILED);
	ASSERT_EQ(ev.status, ENOENT);
	drop(&r);
	end();
}

TEST(prepared_and_dropped_runs_nothing)
{
	struct bawn_error err = {0};
	struct run r;

	begin("bridge", "echo ran > ran");
	ASSERT_EQ(make(&r, &err), 0);
	drop(&r);
	ASSERT_STREQ(file_text("ran"), "(none)");
	ASSERT_EQ(access(inside_dir, F_OK), 0); /* the files were there */
	end();
}

TEST(dropped_while_running_leaves_nothing)
{
	char text[8] = "";
	struct run r;

	begin("bridge", "echo x; sleep 1000 & sleep 1000");
	r = start();
	ASSERT_EQ(read(r.out, text, 2), 2);
	drop(&r);
	end();
}

/* ---- what does not ---- */

static void expect_failure(const char *how, const char *says)
{
	struct bawn_error err = {0};
	struct run r;

	begin(how, "true");
	if (make(&r, &err) >= 0)
		FAIL("'%s' was taken for a sandbox", how);
	if (!strstr(err.msg, says))
		FAIL("'%s' gives '%s', not '%s'", how, err.msg, says);
	drop(&r);
	end();
}

TEST(garbage_is_refused)
{
	expect_failure("garbage", "no frame");
}

TEST(an_endless_frame_is_refused)
{
	expect_failure("long", "no frame");
}

TEST(half_a_frame_and_an_end)
{
	expect_failure("half", "it said nothing");
}

TEST(ready_too_early)
{
	expect_failure("ready", "no frame");
}

TEST(another_version)
{
	expect_failure("version", "no frame");
}

TEST(last_words_are_quoted)
{
	expect_failure("words", "failed: no kernel to boot");
}

TEST(silence_has_an_end)
{
	expect_failure("silent", "in time");
}
