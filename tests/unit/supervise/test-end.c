/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines, signals, events: every way a run ends, and that the caller is left as it was. */
#include <sys/resource.h>

#include "testbed.h"

TEST(deadline_kills_all)
{
	struct bed b;

	bed_init(&b, SH("trap '' TERM INT; sleep 1000 & sleep 1000; sleep 1000"));
	b.plan.limits.time_ms = 200;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, BAWN_CTL_LIMIT_TIME);
	ASSERT_TRUE(WIFSIGNALED(b.ret.wait_status));
	ASSERT_EQ(WTERMSIG(b.ret.wait_status), SIGKILL);
	ASSERT_TRUE(b.ret.wall_ms >= 200);
	bed_done(&b);
}

TEST(huge_time_limits_do_not_overflow)
{
	static const uint64_t huge[] = {
		UINT64_MAX, UINT64_MAX - 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT32_MAX};

	for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
		struct bed b;

		bed_init(&b, SH("sleep 0.05; exit 3"));
		b.plan.limits.time_ms = huge[i];
		bed_run(&b);
		ASSERT_EQ(b.ret.limit, 0);
		ASSERT_EQ(WEXITSTATUS(b.ret.wait_status), 3);
		bed_done(&b);
	}
}

TEST(no_time_at_all)
{
	struct bed b;

	bed_init(&b, SH("sleep 1000"));
	b.plan.limits.time_ms = 0;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, BAWN_CTL_LIMIT_TIME);
	bed_done(&b);
}

struct tell {
	int signo;
	int times;
	int seen;
};

/* Signals us when the command has said that it is ready: no guess about time. */
static int tell_us(void *data, int stream, const char *bytes, size_t len)
{
	struct tell *t = data;

	if (stream != 1 || !len || bytes[0] != 'r' || t->seen++)
		return 0;
	for (int i = 0; i < t->times; i++)
		(void)kill(getpid(), i ? SIGTERM : t->signo);
	return 0;
}

static void run_told(struct bed *b, struct tell *t)
{
	b->o.forward_signals = true;
	b->o.sink = tell_us;
	b->o.sink_data = t;
	bed_run(b);
}

TEST(signal_is_forwarded)
{
	static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct bed b;
		struct tell t = {.signo = all[i], .times = 1};
		struct sigaction sa = {.sa_handler = SIG_DFL};
		sigset_t mask;

		/* whoever runs the tests in the background may have had it ignored */
		ASSERT_EQ(sigaction(all[i], &sa, NULL), 0);
		bed_init(&b,
			SH("trap 'exit 42' INT TERM HUP QUIT; echo r; while :; do sleep 0.05; done"));
		run_told(&b, &t);
		ASSERT_EQ(b.ret.got_signal, all[i]);
		ASSERT_TRUE(WIFEXITED(b.ret.wait_status));
		ASSERT_EQ(WEXITSTATUS(b.ret.wait_status), 42);
		ASSERT_EQ(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
		ASSERT_TRUE(!sigismember(&mask, all[i]));
		ASSERT_EQ(sigaction(all[i], NULL, &sa), 0);
		ASSERT_TRUE(sa.sa_handler == SIG_DFL);
		bed_done(&b);
	}
}

TEST(who_ignores_sigterm_is_killed_after_a_grace)
{
	struct bed b;
	struct tell t = {.signo = SIGTERM, .times = 1};

	bed_init(&b, SH("trap '' TERM; echo r; while :; do sleep 0.05; done"));
	run_told(&b, &t);
	ASSERT_EQ(b.ret.got_signal, SIGTERM);
	ASSERT_TRUE(WIFSIGNALED(b.ret.wait_status));
	ASSERT_EQ(WTERMSIG(b.ret.wait_status), SIGKILL);
	ASSERT_TRUE(b.ret.wall_ms >= 2000);
	bed_done(&b);
}

TEST(second_signal_kills_at_once)
{
	struct bed b;
	struct tell t = {.signo = SIGINT, .times = 2};

	bed_init(&b, SH("trap '' TERM INT; echo r; while :; do sleep 0.05; done"));
	run_told(&b, &t);
	ASSERT_TRUE(b.ret.got_signal == SIGINT || b.ret.got_signal == SIGTERM);
	ASSERT_EQ(WTERMSIG(b.ret.wait_status), SIGKILL);
	ASSERT_TRUE(b.ret.wall_ms < 2000);
	bed_done(&b);
}

TEST(ignored_signal_stays_ignored)
{
	struct bed b;
	struct tell t = {.signo = SIGHUP, .times = 1};

	ASSERT_TRUE(signal(SIGHUP, SIG_IGN) != SIG_ERR);
	bed_init(&b, SH("echo r; sleep 0.2; exit 5"));
	run_told(&b, &t);
	ASSERT_EQ(b.ret.got_signal, 0);
	ASSERT_EQ(WEXITSTATUS(b.ret.wait_status), 5);
	bed_done(&b);
}

TEST(sigchld_of_the_caller_is_left_alone)
{
	struct bed b;
	struct sigaction sa;

	ASSERT_TRUE(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
	bed_init(&b, SH("true"));
	b.o.forward_signals = true;
	bed_run(&b);
	ASSERT_EQ(sigaction(SIGCHLD, NULL, &sa), 0);
	ASSERT_TRUE(sa.sa_handler == SIG_DFL);
	bed_done(&b);
}

TEST(denials_are_counted_and_bounded)
{
	static struct bawn_event ev[102];
	struct bed b;

	for (size_t i = 0; i < 102; i++) {
		ev[i] = (struct bawn_event){.kind = BAWN_EV_DENIED, .control = BAWN_CTL_FS_WRITE};
		(void)snprintf(ev[i].text, sizeof(ev[i].text), "path %zu", i < 3 ? 0 : i);
	}
	bed_init(&b, SH("true"));
	b.in.extra = ev;
	b.in.n_extra = 102;
	bed_run(&b);
	ASSERT_EQ(b.ret.n_denials, BAWN_DENIALS_MAX);
	ASSERT_EQ(b.ret.denials_total, 102);
	ASSERT_EQ(b.ret.denials[0].count, 3);
	ASSERT_STREQ(b.ret.denials[0].text, "path 0");
	ASSERT_STREQ(b.ret.denials[1].text, "path 3");
	ASSERT_EQ(b.ret.denials[1].control, BAWN_CTL_FS_WRITE);
	bed_done(&b);
}

TEST(first_limit_wins)
{
	static const struct bawn_event ev[] = {
		{.kind = BAWN_EV_LIMIT, .control = BAWN_CTL_LIMIT_MEMORY},
		{.kind = BAWN_EV_LIMIT, .control = BAWN_CTL_LIMIT_PROCESSES}};
	struct bed b;

	bed_init(&b, SH("sleep 1000"));
	b.in.extra = ev;
	b.in.n_extra = 2;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, BAWN_CTL_LIMIT_MEMORY);
	bed_done(&b);
}

TEST(exec_failure_is_told)
{
	static const struct bawn_event ev[] = {{.kind = BAWN_EV_FAILED, .status = ENOENT}};
	struct bed b;

	bed_init(&b, SH("sleep 1000"));
	b.in.extra = ev;
	b.in.n_extra = 1;
	bed_run(&b);
	ASSERT_EQ(b.ret.exec_errno, ENOENT);
	bed_done(&b);
}

TEST(backend_failure_kills)
{
	struct bed b;
	int st;

	bed_init(&b, SH("exec sleep 1000"));
	bed_prepare_all(&b);
	b.in.fail_event = true;
	ASSERT_EQ(eventfd_write(b.in.extra_fd, 1), 0);
	ASSERT_EQ(bed_go(&b), -EIO);
	ASSERT_EQ(b.err.kind, BAWN_ERR_SUPERVISE);
	ASSERT_EQ(waitpid(b.in.pid, &st, 0), b.in.pid);
	ASSERT_EQ(WTERMSIG(st), SIGKILL);
	bed_done(&b);
}

/* Many runs in one process leave no descriptor behind. */
TEST(no_descriptor_leaks)
{
	int before = fcntl(0, F_DUPFD_CLOEXEC, 0), after;
	struct bed b;

	(void)close(before);
	for (int i = 0; i < 20; i++) {
		bed_init(&b, SH("echo x"));
		b.o.forward_signals = true;
		bed_run(&b);
		bed_done(&b);
	}
	after = fcntl(0, F_DUPFD_CLOEXEC, 0);
	ASSERT_EQ(after, before);
}

static int64_t cpu_ms(void)
{
	struct rusage ru;

	ASSERT_EQ(getrusage(RUSAGE_SELF, &ru), 0);
	return (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000 +
	       (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1000;
}

/* Runs for at least a second, of which we ourselves use but little. */
static void idle(struct bed *b)
{
	int64_t before = cpu_ms();

	bed_run(b);
	ASSERT_TRUE(b->ret.wall_ms >= 900);
	ASSERT_TRUE(cpu_ms() - before < 300);
	bed_done(b);
}

TEST(waiting_is_not_spinning)
{
	struct bed b;

	bed_init(&b, SH("exec sleep 1"));
	idle(&b);
}

TEST(waiting_with_closed_output_is_not_spinning)
{
	struct bed b;

	bed_init(&b, SH("exec >&- 2>&-; exec sleep 1"));
	idle(&b);
}

TEST(waiting_with_an_abandoned_pty_is_not_spinning)
{
	struct bed b;

	bed_init(&b, SH("exec <&- >&- 2>&-; exec sleep 1"));
	b.plan.pty = true;
	idle(&b);
}

TEST(waiting_for_a_stuck_reader_is_not_spinning)
{
	struct bed b;
	int p[2];

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	bed_init(&b, (const char *const[]){"yes", NULL});
	b.o.out_fd = p[1];
	b.plan.limits.time_ms = 1000;
	idle(&b);
}

/* The command's terminal is full of input that it does not read. */
TEST(waiting_to_type_is_not_spinning)
{
	struct bed b;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	ASSERT_TRUE(fd >= 0);
	bed_init(&b, SH("stty raw -echo; exec sleep 1"));
	b.plan.pty = true;
	b.stdin_fd = fd;
	idle(&b);
}
