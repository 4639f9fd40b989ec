/* SPDX-License-Identifier: Apache-2.0 */
/* Input and terminals: what the command is given, and what the user's terminal is left as. */
#include "testbed.h"

static void run_kept(struct bed *b, struct bawn_buf *out)
{
	b->o.out = out;
	bed_run(b);
}

TEST(no_input_is_an_end_at_once)
{
	struct bed b;
	struct bawn_buf out = {0};

	bed_init(&b, SH("cat; readlink /proc/self/fd/0; echo x >&0"));
	run_kept(&b, &out);
	ASSERT_STREQ(out.data, "/dev/null\n"); /* and it is read-only */
	ASSERT_TRUE(WEXITSTATUS(b.ret.wait_status) != 0);
	bawn_buf_done(&out);
	bed_done(&b);
}

TEST(pipe_is_passed_on)
{
	struct bed b;
	struct bawn_buf out = {0};
	int p[2];

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	ASSERT_EQ(write(p[1], "in\n", 3), 3);
	(void)close(p[1]);
	bed_init(&b, (const char *const[]){"cat", NULL});
	b.stdin_fd = p[0];
	run_kept(&b, &out);
	ASSERT_STREQ(out.data, "in\n");
	bawn_buf_done(&out);
	bed_done(&b);
}

TEST(input_that_never_ends_does_not_keep_us)
{
	struct bed b;
	int p[2];

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	bed_init(&b, SH("exit 4"));
	b.stdin_fd = p[0];
	bed_run(&b);
	ASSERT_EQ(WEXITSTATUS(b.ret.wait_status), 4);
	bed_done(&b);
}

static void open_terminal(int *master, int *slave)
{
	*master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*master < 0 || unlockpt(*master) < 0)
		SKIP("no pseudo-terminals here: mount devpts at /dev/pts");
	*slave = ioctl(*master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	ASSERT_TRUE(*slave >= 0);
}

TEST(terminal_is_pumped_never_handed_over)
{
	struct bed b;
	struct bawn_buf out = {0};
	int master, slave;

	open_terminal(&master, &slave);
	ASSERT_EQ(write(master, "typed\n\004", 7), 7);
	bed_init(&b, SH("test -t 0 && echo terminal; test -p /dev/stdin && echo pipe; cat"));
	b.stdin_fd = slave;
	run_kept(&b, &out);
	ASSERT_STREQ(out.data, "pipe\ntyped\n");
	bawn_buf_done(&out);
	bed_done(&b);
}

TEST(open_terminal_does_not_keep_us)
{
	struct bed b;
	int master, slave;

	open_terminal(&master, &slave);
	bed_init(&b, SH("exit 4"));
	b.stdin_fd = slave;
	bed_run(&b);
	ASSERT_EQ(WEXITSTATUS(b.ret.wait_status), 4);
	bed_done(&b);
}

/* Far more is typed than a pipe holds, and nobody reads it: the deadline still comes. */
TEST(command_that_never_reads_does_not_block_us)
{
	struct bed b;
	int master, slave;
	pid_t typist;

	open_terminal(&master, &slave);
	typist = fork();
	if (typist == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)!write(master, "0123456789abcdef0123456789abcdef\n", 33);
	}
	bed_init(&b, SH("sleep 1000"));
	b.stdin_fd = slave;
	b.plan.limits.time_ms = 1000;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, BAWN_CTL_LIMIT_TIME);
	ASSERT_EQ(kill(typist, SIGKILL), 0);
	ASSERT_EQ(waitpid(typist, NULL, 0), typist);
	bed_done(&b);
}

TEST(terminal_as_outlet_stuck)
{
	struct bed b;
	int master, slave;
	int flags;

	open_terminal(&master, &slave);
	flags = fcntl(slave, F_GETFL);
	bed_init(&b, (const char *const[]){"yes", NULL});
	b.o.out_fd = slave;
	b.plan.limits.time_ms = 300;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, BAWN_CTL_LIMIT_TIME);
	ASSERT_TRUE(b.ret.sink_closed);
	ASSERT_EQ(fcntl(slave, F_GETFL), flags);
	bed_done(&b);
}

TEST(pty_is_a_terminal_and_its_output_counts)
{
	struct bed b;
	struct bawn_buf out = {0};

	bed_init(&b, SH("test -t 0 && test -t 1 && test -t 2 && echo all; echo err >&2"));
	b.plan.pty = true;
	run_kept(&b, &out);
	ASSERT_STREQ(out.data, "all\r\nerr\r\n");
	ASSERT_EQ(b.ret.out_bytes, 10);
	bawn_buf_done(&out);
	bed_done(&b);
}

TEST(pty_cap)
{
	struct bed b;

	bed_init(&b, (const char *const[]){"yes", NULL});
	b.plan.pty = true;
	b.plan.limits.output = 100000;
	bed_run(&b);
	ASSERT_EQ(b.ret.limit, BAWN_CTL_LIMIT_OUTPUT);
	ASSERT_EQ(b.ret.out_bytes, 100000);
	bed_done(&b);
}

TEST(pty_end_of_piped_input)
{
	struct bed b;
	struct bawn_buf out = {0};
	int p[2];

	ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
	ASSERT_EQ(write(p[1], "abc", 3), 3);
	(void)close(p[1]);
	bed_init(&b, SH("stty -echo; cat"));
	b.plan.pty = true;
	b.stdin_fd = p[0];
	run_kept(&b, &out);
	ASSERT_TRUE(strstr(out.data, "abc") != NULL);
	ASSERT_EQ(WEXITSTATUS(b.ret.wait_status), 0);
	bawn_buf_done(&out);
	bed_done(&b);
}

struct user {
	int master, slave;
	struct termios during;
	int step;
};

/* Plays the user: resizes when the first size was shown, types when the second was. */
static int user_acts(void *data, int stream, const char *bytes, size_t len)
{
	struct user *u = data;
	struct winsize ws = {.ws_row = 50, .ws_col = 132};

	(void)stream;
	if (u->step == 0 && memmem(bytes, len, "11 77", 5)) {
		u->step = 1;
		(void)tcgetattr(u->slave, &u->during);
		(void)ioctl(u->slave, TIOCSWINSZ, &ws);
		(void)kill(getpid(), SIGWINCH);
	} else if (u->step == 1 && memmem(bytes, len, "50 132", 6)) {
		u->step = 2;
		(void)!write(u->master, "word\r", 5);
	}
	return 0;
}

TEST(pty_size_keys_and_raw_mode)
{
	struct bed b;
	struct bawn_buf out = {0};
	struct user u = {0};
	struct winsize ws = {.ws_row = 11, .ws_col = 77};
	struct termios before, after;

	open_terminal(&u.master, &u.slave);
	ASSERT_EQ(ioctl(u.slave, TIOCSWINSZ, &ws), 0);
	ASSERT_EQ(tcgetattr(u.slave, &before), 0);
	bed_init(&b, SH("stty size; until [ \"$(stty size)\" = '50 132' ]; do sleep 0.05; done; "
			"stty size; read w; echo got $w"));
	b.plan.pty = true;
	b.stdin_fd = u.slave;
	b.o.terminal_fd = u.slave;
	b.o.sink = user_acts;
	b.o.sink_data = &u;
	run_kept(&b, &out);
	ASSERT_EQ(u.step, 2);
	ASSERT_TRUE(strstr(out.data, "got word") != NULL);
	ASSERT_TRUE(!(u.during.c_lflag & (ICANON | ECHO | ISIG)));
	ASSERT_EQ(tcgetattr(u.slave, &after), 0);
	ASSERT_EQ(after.c_lflag, before.c_lflag);
	ASSERT_EQ(after.c_iflag, before.c_iflag);
	ASSERT_EQ(after.c_oflag, before.c_oflag);
	bawn_buf_done(&out);
	bed_done(&b);
}

static int stop_us(void *data, int stream, const char *bytes, size_t len)
{
	(void)data, (void)stream, (void)bytes, (void)len;
	(void)kill(getpid(), SIGTERM);
	return 0;
}

TEST(terminal_is_restored_after_a_fatal_signal)
{
	struct bed b;
	struct termios before, after;
	int master, slave;

	open_terminal(&master, &slave);
	ASSERT_EQ(tcgetattr(slave, &before), 0);
	bed_init(&b, SH("echo r; exec sleep 1000"));
	b.plan.pty = true;
	b.o.terminal_fd = slave;
	b.o.sink = stop_us;
	bed_run(&b);
	ASSERT_EQ(b.ret.got_signal, SIGTERM);
	ASSERT_EQ(tcgetattr(slave, &after), 0);
	ASSERT_EQ(after.c_lflag, before.c_lflag);
	bed_done(&b);
}
