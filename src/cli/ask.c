/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a person. Always at the terminal itself: standard input belongs to the command, or
 * carries a value. The one place besides main() that prints, for an answer cannot wait until the
 * end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <termios.h>

#include "base/io.h"
#include "cli/cli.h"

static volatile sig_atomic_t caught;

static void catch (int signo)
{
	caught = signo;
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define N_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static int open_terminal(struct bawn_error *err)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOTTY, "there is no terminal to ask at");
	return fd;
}

/* One line. What does not fit is an error, not an answer. */
static int read_line(int fd, char *dst, size_t size, struct bawn_error *err)
{
	size_t n = 0;

	for (;;) {
		char c;
		ssize_t r = read(fd, &c, 1);

		if (r < 0 && errno == EINTR && !caught)
			continue;
		if (r <= 0)
			return bawn_fail(err, BAWN_ERR_VAULT, -ECANCELED, "no answer was given");
		if (c == '\n')
			break;
		if (n + 1 >= size)
			return bawn_fail(err, BAWN_ERR_VAULT, -E2BIG,
				"the answer is longer than %zu bytes", size - 1);
		dst[n++] = c;
	}
	dst[n] = '\0';
	return 0;
}

/* Whatever ends it, the terminal is as it was; then the signal takes its course. */
int cli_ask_hidden(const char *prompt, char *dst, size_t size, struct bawn_error *err)
{
	struct sigaction act = {.sa_handler = catch}, was[N_SIGNALS];
	_cleanup_close_ int fd = open_terminal(err);
	struct termios old, hidden;
	int r;

	if (fd < 0)
		return fd;
	if (tcgetattr(fd, &old) < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, -ENOTTY, "there is no terminal to ask at");
	caught = 0;
	for (size_t i = 0; i < N_SIGNALS; i++)
		(void)sigaction(signals[i], &act, &was[i]);
	hidden = old;
	hidden.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
	(void)tcsetattr(fd, TCSAFLUSH, &hidden);
	(void)bawn_write_all(fd, prompt, strlen(prompt));
	r = read_line(fd, dst, size, err);
	(void)tcsetattr(fd, TCSAFLUSH, &old);
	(void)bawn_write_all(fd, "\n", 1);
	for (size_t i = 0; i < N_SIGNALS; i++)
		(void)sigaction(signals[i], &was[i], NULL);
	if (r < 0)
		explicit_bzero(dst, size);
	if (caught)
		(void)raise(caught);
	return r;
}

int cli_ask_yes(const char *question, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	_cleanup_close_ int fd = open_terminal(err);
	char answer[16];
	int r;

	if (fd < 0)
		return fd;
	cli_puts_safe(&b, question);
	bawn_buf_puts(&b, " [y/N] ");
	if (b.failed || bawn_write_all(fd, b.data, b.len) < 0)
		return bawn_fail(err, BAWN_ERR_VAULT, -EIO, "the terminal cannot be written to");
	caught = 0;
	r = read_line(fd, answer, sizeof(answer), NULL);
	return r == 0 && (!strcmp(answer, "y") || !strcmp(answer, "yes") || !strcmp(answer, "Y"));
}
