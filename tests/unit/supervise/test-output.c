/* SPDX-License-Identifier: Apache-2.0 */
/* Output: passed on, kept, counted, capped; readers that are slow, stuck or gone. */
#include <seccomp.h>

#include <sys/resource.h>
#include <sys/socket.h>

#include "testbed.h"

TEST(status_and_both_streams)
{
	struct bed b;
	struct bawn_buf out = {0}, err = {0};

	bed_init(&b, SH("echo one; echo two >&2; exit 7"));
	b.o.out = &out;
	b.o.err = &err;
	bed_run(&b);
	ASSERT_TRUE(b.ret.exited);
	ASSERT_EQ(WEXITSTATUS(b.ret.wait_status), 7);
	ASSERT_STREQ(out.data, "one\n");
	ASSERT_STREQ(err.data, "two\n");
	ASSERT_EQ(b.ret.out_bytes, 4);
	ASSERT_EQ(b.ret.err_bytes, 4);
	ASSERT_EQ(b.ret.limit, 0);
	ASSERT_EQ(b.ret.usage.cpu_us, 4711);
	ASSERT_TRUE(!b.ret.sink_closed);
	bawn_buf_done(&out);
	bawn_buf_done(&err);
	bed_done(&b);
}

TEST(passed_on_to_a_file)
{
	struct bed b;
	char text[64] = {0};
	FILE *f = tmpfile();

	ASSERT_TRUE(f != NULL);
	bed_init(&b, SH("echo one; echo two >&2"));
	b.o.out_fd = fileno(f);
	bed_run(&b);
	ASSERT_EQ(pread(fileno(f), text, sizeof(text) - 1, 0), 4);
	ASSERT_STREQ(text, "one\n");
	(void)fclose(f);
	bed_done(&b);
}

TEST(both_outlets_and_the_sink_get_the_same)
{
	struct bed b;
	struct bawn_buf out = {0};
	int p[2];
	char text[16] = {0};

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	bed_init(&b, SH("printf abc"));
	b.o.out = &out;
	b.o.out_fd = p[1];
	bed_run(&b);
	ASSERT_EQ(read(p[0], text, sizeof(text)), 3);
	ASSERT_STREQ(text, "abc");
	ASSERT_STREQ(out.data, "abc");
	bawn_buf_done(&out);
	bed_done(&b);
}

TEST(cap_is_exact)
{
	struct bed b;
	struct bawn_buf out = {0};

	bed_init(&b, SH("head -c 1000 /dev/zero"));
	b.plan.limits.output = 1000;
	b.o.out = &out;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, 0);
	ASSERT_EQ(out.len, 1000);
	bawn_buf_done(&out);
	bed_done(&b);
}

TEST(cap_over_both_streams_kills)
{
	struct bed b;
	struct bawn_buf out = {0}, err = {0};

	bed_init(&b, SH("yes & yes >&2; sleep 1000"));
	b.plan.limits.output = 300000;
	b.o.out = &out;
	b.o.err = &err;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, BAWN_CTL_LIMIT_OUTPUT);
	ASSERT_EQ(out.len + err.len, 300000);
	ASSERT_EQ(b.ret.out_bytes + b.ret.err_bytes, 300000);
	ASSERT_TRUE(!b.ret.exited || !WIFEXITED(b.ret.wait_status));
	bawn_buf_done(&out);
	bawn_buf_done(&err);
	bed_done(&b);
}

TEST(capture_buffer_is_a_cap_too)
{
	struct bed b;
	struct bawn_buf out = {.max = 5000};

	bed_init(&b, SH("yes"));
	b.o.out = &out;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, BAWN_CTL_LIMIT_OUTPUT);
	ASSERT_EQ(out.len, 5000);
	bawn_buf_done(&out);
	bed_done(&b);
}

static long rss_kib(void)
{
	struct rusage ru;

	ASSERT_EQ(getrusage(RUSAGE_SELF, &ru), 0);
	return ru.ru_maxrss;
}

/* A process that reads `fd` to its end and exits with 0 if it got `want` bytes. */
static pid_t reader(int fd, int other, uint64_t want, unsigned nap_us)
{
	static char buf[65536];
	pid_t pid = fork();
	uint64_t got = 0;

	if (pid)
		return pid;
	(void)close(other);
	for (;;) {
		ssize_t n = read(fd, buf, nap_us ? 5000 : sizeof(buf));

		if (n <= 0)
			break;
		got += (uint64_t)n;
		if (nap_us)
			(void)usleep(nap_us);
	}
	_exit(got == want ? 0 : 1);
}

static void ended_well(pid_t pid)
{
	int st;

	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	ASSERT_TRUE(WIFEXITED(st));
	ASSERT_EQ(WEXITSTATUS(st), 0);
}

/* 200 MB of one endless line through a pipe; our own memory must not follow. */
TEST(much_output_constant_memory)
{
	struct bed b;
	int p[2];
	long before;
	pid_t pid;

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	pid = reader(p[0], p[1], 200000000, 0);
	(void)close(p[0]);
	bed_init(&b, SH("head -c 200000000 /dev/zero"));
	b.o.out_fd = p[1];
	before = rss_kib();
	bed_run(&b);
	(void)close(p[1]);
	ASSERT_EQ(b.ret.out_bytes, 200000000);
	ASSERT_TRUE(rss_kib() - before < 4096);
	ended_well(pid);
	bed_done(&b);
}

TEST(slow_reader_gets_everything)
{
	struct bed b;
	int p[2];
	pid_t pid;

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	pid = reader(p[0], p[1], 400000, 1000);
	(void)close(p[0]);
	bed_init(&b, SH("head -c 400000 /dev/zero"));
	b.o.out_fd = p[1];
	bed_run(&b);
	(void)close(p[1]);
	ASSERT_TRUE(!b.ret.sink_closed);
	ended_well(pid);
	bed_done(&b);
}

TEST(socket_outlet_gets_everything)
{
	struct bed b;
	int p[2];
	pid_t pid;

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	pid = reader(p[0], p[1], 3000000, 0);
	(void)close(p[0]);
	bed_init(&b, SH("head -c 3000000 /dev/zero"));
	b.o.out_fd = p[1];
	bed_run(&b);
	(void)close(p[1]);
	ended_well(pid);
	bed_done(&b);
}

/* The caller's descriptor may be shared: its flags must be as they were. */
TEST(flags_of_the_outlet_untouched)
{
	struct bed b;
	int p[2];
	int flags;

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	flags = fcntl(p[1], F_GETFL);
	bed_init(&b, SH("echo x"));
	b.o.out_fd = p[1];
	bed_run(&b);
	ASSERT_EQ(fcntl(p[1], F_GETFL), flags);
	bed_done(&b);
}

TEST(closed_reader_gives_the_command_sigpipe)
{
	struct bed b;
	int p[2];
	sigset_t pending, mask;

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	(void)close(p[0]);
	bed_init(&b, (const char *const[]){"yes", NULL});
	b.o.out_fd = p[1];
	bed_run(&b);
	ASSERT_TRUE(b.ret.sink_closed);
	ASSERT_TRUE(WIFSIGNALED(b.ret.wait_status));
	ASSERT_EQ(WTERMSIG(b.ret.wait_status), SIGPIPE);
	ASSERT_EQ(sigpending(&pending), 0);
	ASSERT_TRUE(!sigismember(&pending, SIGPIPE));
	ASSERT_EQ(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	ASSERT_TRUE(!sigismember(&mask, SIGPIPE));
	bed_done(&b);
}

TEST(stuck_reader_and_deadline)
{
	struct bed b;
	int p[2];

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	bed_init(&b, (const char *const[]){"yes", NULL});
	b.o.out_fd = p[1];
	b.plan.limits.time_ms = 300;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, BAWN_CTL_LIMIT_TIME);
	ASSERT_TRUE(b.ret.sink_closed);
	ASSERT_TRUE(b.ret.wall_ms >= 300);
	bed_done(&b);
}

/* stderr goes on while nobody reads stdout. */
TEST(stuck_stdout_does_not_hold_stderr)
{
	struct bawn_buf err = {0};

	/* it must get as far as that, which takes longer on a busy machine */
	for (uint64_t ms = 1000; ms < 30000 && !err.len; ms *= 5) {
		struct bed b;
		int p[2];

		ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
		bed_init(&b, SH("yes & sleep 0.2; echo here >&2; sleep 1000"));
		b.o.out_fd = p[1];
		b.o.err = &err;
		b.plan.limits.time_ms = ms;
		bed_run(&b);
		bed_done(&b);
	}
	ASSERT_TRUE(err.len > 0);
	ASSERT_STREQ(err.data, "here\n");
	bawn_buf_done(&err);
}

/* The command is done, but its reader never comes: the time limit holds for us as well. */
TEST(stuck_reader_after_the_end)
{
	struct bed b;
	int p[2];

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	bed_init(&b, SH("head -c 120000 /dev/zero"));
	b.o.out_fd = p[1];
	b.plan.limits.time_ms = 1500;
	bed_run(&b);
	ASSERT_TRUE(b.ret.sink_closed);
	bed_done(&b);
}

TEST(survivor_holding_stdout_is_killed)
{
	struct bed b;
	struct bawn_buf out = {0};

	bed_init(&b, SH("sleep 1000 & echo hi"));
	b.o.out = &out;
	bed_run(&b);
	ASSERT_STREQ(out.data, "hi\n");
	ASSERT_EQ(WEXITSTATUS(b.ret.wait_status), 0);
	ASSERT_EQ(b.ret.limit, 0);
	bawn_buf_done(&out);
	bed_done(&b);
}

/* Somebody outside keeps our pipe open and even writes: we read what was there and go. */
TEST(outside_holder_does_not_keep_us)
{
	struct bed b;
	struct bawn_buf out = {0};
	pid_t pid;

	bed_init(&b, SH("echo hi"));
	b.o.out = &out;
	bed_prepare_all(&b);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGPIPE, SIG_IGN);
		(void)close(b.in.life);
		for (;;) {
			if (write(b.stdio.child[1], "x", 1) < 0)
				(void)usleep(1000);
		}
	}
	ASSERT_EQ(bed_go(&b), 0);
	ASSERT_TRUE(strstr(out.data, "hi\n") != NULL);
	ASSERT_EQ(kill(pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	bawn_buf_done(&out);
	bed_done(&b);
}

/* All that was written before the end arrives, though the command was gone first. */
TEST(rest_in_the_pipe_is_drained)
{
	struct bed b;
	struct bawn_buf out = {0};

	bed_init(&b, SH("head -c 60000 /dev/zero"));
	b.o.out = &out;
	bed_prepare_all(&b);
	bawn_stdio_close_child(&b.stdio);
	ASSERT_EQ(bed_go(&b), 0);
	ASSERT_EQ(out.len, 60000);
	bawn_buf_done(&out);
	bed_done(&b);
}

static int refuse(void *data, int stream, const char *bytes, size_t len)
{
	*(int *)data += stream;
	return bytes && len ? -1 : 0;
}

TEST(sink_can_end_the_run)
{
	struct bed b;
	int calls = 0;

	bed_init(&b, SH("echo x; sleep 1000"));
	b.o.sink = refuse;
	b.o.sink_data = &calls;
	bed_run(&b);
	ASSERT_EQ(calls, 1);
	ASSERT_TRUE(b.ret.sink_closed);
	ASSERT_EQ(b.ret.limit, 0);
	bed_done(&b);
}

TEST(full_disk_is_a_closed_sink)
{
	struct bed b;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		SKIP("no /dev/full here: mknod /dev/full c 1 7");
	bed_init(&b, (const char *const[]){"yes", NULL});
	b.o.out_fd = fd;
	bed_run(&b);
	ASSERT_TRUE(b.ret.sink_closed);
	bed_done(&b);
}

/* A kernel whose pipes know no RWF_NOWAIT. */
static void old_kernel(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	ASSERT_TRUE(ctx != NULL);
	ASSERT_EQ(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EOPNOTSUPP), SCMP_SYS(pwritev2), 0), 0);
	if (seccomp_load(ctx) < 0)
		SKIP("no seccomp here: needs CONFIG_SECCOMP_FILTER");
	seccomp_release(ctx);
}

TEST(old_kernel_slow_reader_gets_everything)
{
	old_kernel();
	test_slow_reader_gets_everything();
}

TEST(old_kernel_stuck_reader_and_deadline)
{
	old_kernel();
	test_stuck_reader_and_deadline();
}

TEST(old_kernel_closed_reader)
{
	old_kernel();
	test_closed_reader_gives_the_command_sigpipe();
}
