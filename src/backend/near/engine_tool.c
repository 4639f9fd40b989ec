/* SPDX-License-Identifier: Apache-2.0 */
/* One command of an engine, run to its end: both streams are read, time is bounded, and what is
 * left of it when time is up is killed as a group. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/near/engine.h"
#include "base/io.h"
#include "base/sys.h"

#define OUTPUT_MAX ((size_t)1 << 20)

struct stream {
	int fd;
	struct bawn_buf *all;
	size_t told; /* how much of it was passed on as lines */
};

void bawn_engine_call_done(struct bawn_engine_call *c)
{
	bawn_buf_done(&c->out);
	bawn_buf_done(&c->err);
}

/* Input as a file: nobody has to write it while output is read. */
static int open_input(const struct bawn_engine_call *c)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (!c->input)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	fd = memfd_create("bawn-input", MFD_CLOEXEC);
	r = fd < 0 ? -errno : bawn_write_all(fd, c->input, c->input_len);
	if (r >= 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	errno = r < 0 ? -r : 0;
	return r < 0 ? -1 : TAKE_FD(fd);
}

/* Our environment and one more; from malloc. */
static const char **environment(const char *more)
{
	const char **env;
	size_t n = 0;

	while (environ[n])
		n++;
	env = calloc(n + 2, sizeof(*env));
	for (size_t i = 0; env && i < n; i++)
		env[i] = environ[i];
	if (env)
		env[n] = more;
	return env;
}

static int spawn(const struct bawn_engine_call *c, int out, int err_fd, pid_t *ret)
{
	_cleanup_free_ const char **env = environment(c->env);
	_cleanup_close_ int in = open_input(c);
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	char *const *argv, *const *envp;
	sigset_t none, def;
	int r;

	if (in < 0 || !env)
		return -errno;
	/* nothing is written through them */
	memcpy(&argv, &c->argv, sizeof(argv));
	memcpy(&envp, &env, sizeof(envp));
	(void)sigemptyset(&none);
	(void)sigemptyset(&def);
	(void)sigaddset(&def, SIGPIPE);
	r = posix_spawn_file_actions_init(&fa);
	if (r)
		return -r;
	r = posix_spawnattr_init(&at);
	if (r == 0) {
		(void)posix_spawn_file_actions_adddup2(&fa, in, 0);
		(void)posix_spawn_file_actions_adddup2(&fa, out, 1);
		(void)posix_spawn_file_actions_adddup2(&fa, err_fd, 2);
		(void)posix_spawnattr_setsigmask(&at, &none);
		(void)posix_spawnattr_setsigdefault(&at, &def);
		(void)posix_spawnattr_setflags(&at,
			POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
		r = posix_spawnp(ret, c->argv[0], &fa, &at, argv, envp);
		(void)posix_spawnattr_destroy(&at);
	}
	(void)posix_spawn_file_actions_destroy(&fa);
	return -r;
}

static void pass_lines(const struct bawn_engine_call *c, struct stream *s, bool rest)
{
	while (c->line && s->all->data && s->told < s->all->len) {
		const char *from = s->all->data + s->told;
		const char *nl = memchr(from, '\n', s->all->len - s->told);
		size_t len = nl ? (size_t)(nl - from) : s->all->len - s->told;

		if (!nl && !rest)
			return;
		s->told += len + (nl != NULL);
		while (len && from[len - 1] == '\r')
			len--;
		c->line(c->data, from, len);
	}
}

/* False at the end of the stream. What is beyond the maximum is read and dropped. */
static bool take(const struct bawn_engine_call *c, struct stream *s)
{
	char chunk[4096];
	ssize_t n = read(s->fd, chunk, sizeof(chunk));

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	if (s->all->len + (size_t)n <= OUTPUT_MAX)
		bawn_buf_add(s->all, chunk, (size_t)n);
	pass_lines(c, s, false);
	return true;
}

/* Both streams to their end. -ETIMEDOUT when time is up first. */
static int read_streams(const struct bawn_engine_call *c, struct stream s[2], int64_t end)
{
	while (s[0].fd >= 0 || s[1].fd >= 0) {
		struct pollfd p[2] = {
			{.fd = s[0].fd, .events = POLLIN}, {.fd = s[1].fd, .events = POLLIN}};
		int64_t left = end - bawn_now_ms();
		int r = left > 0 ? poll(p, 2, (int)left) : 0;

		if (r == 0)
			return -ETIMEDOUT;
		if (r < 0 && errno != EINTR)
			return -errno;
		for (size_t i = 0; r > 0 && i < 2; i++)
			if (p[i].revents && !take(c, &s[i])) {
				pass_lines(c, &s[i], true);
				s[i].fd = -1;
			}
	}
	return 0;
}

static void last_line(const struct bawn_buf *b, char *dst, size_t size)
{
	const char *end = b->data ? b->data + b->len : "";
	const char *from;

	while (b->data && end > b->data && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	from = end;
	while (b->data && from > b->data && from[-1] != '\n')
		from--;
	(void)snprintf(dst, size, "%.*s", (int)(end - from), from);
}

static int ended(const struct bawn_engine_call *c, struct bawn_error *err)
{
	char said[300];

	if (WIFEXITED(c->status) && WEXITSTATUS(c->status) == 0)
		return 0;
	if (WIFEXITED(c->status) && WEXITSTATUS(c->status) == 127 && !c->err.len)
		return bawn_fail(
			err, BAWN_ERR_UNSUPPORTED, -ENOENT, "there is no '%s' here", c->argv[0]);
	last_line(c->err.len ? &c->err : &c->out, said, sizeof(said));
	return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "'%s %s' failed: %s", c->argv[0],
		c->argv[1] ? c->argv[1] : "", *said ? said : "it said nothing");
}

int bawn_engine_call(struct bawn_engine_call *c, struct bawn_error *err)
{
	struct stream s[2] = {{.all = &c->out}, {.all = &c->err}};
	int out[2], errs[2];
	pid_t pid = -1;
	int r;

	if (pipe2(out, O_CLOEXEC) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a pipe: %m");
	_cleanup_close_ int out0 = out[0];
	if (pipe2(errs, O_CLOEXEC) < 0) {
		(void)close(out[1]);
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "cannot make a pipe: %m");
	}
	_cleanup_close_ int errs0 = errs[0];
	r = spawn(c, out[1], errs[1], &pid);
	(void)close(out[1]);
	(void)close(errs[1]);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, r == -ENOENT ? BAWN_ERR_UNSUPPORTED : BAWN_ERR_BACKEND, r,
			"cannot run '%s': %m", c->argv[0]);
	}
	s[0].fd = out0;
	s[1].fd = errs0;
	r = read_streams(c, s, bawn_now_ms() + c->timeout_ms);
	if (r < 0)
		(void)kill(-pid, SIGKILL);
	while (waitpid(pid, &c->status, 0) < 0 && errno == EINTR)
		;
	if (r == -ETIMEDOUT)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "'%s %s' did not answer within %d s",
			c->argv[0], c->argv[1] ? c->argv[1] : "", c->timeout_ms / 1000);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "cannot hear '%s': %m", c->argv[0]);
	}
	return ended(c, err);
}
