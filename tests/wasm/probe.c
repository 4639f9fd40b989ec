/* SPDX-License-Identifier: Apache-2.0 */
/* A WebAssembly module that does one thing per call, for the wasm tests. Not part of the build's
 * own sources: compiled for wasm32-wasi. Prints "ok" or the name of the error. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>

static int told(int r)
{
	if (r >= 0) {
		(void)puts("ok");
		return 0;
	}
	(void)printf("error %d %s\n", errno, strerror(errno));
	return 1;
}

static int do_hello(char **v)
{
	(void)v;
	(void)printf("hello");
	for (; *v; v++)
		(void)printf(" %s", *v);
	(void)puts("");
	return 0;
}

static int do_env(char **v)
{
	const char *s = getenv(v[0]);

	(void)printf("%s\n", s ? s : "(unset)");
	return 0;
}

static int do_exit(char **v)
{
	exit(atoi(v[0]));
}

static int do_cat(char **v)
{
	char b[4096];
	ssize_t n;
	int fd = strcmp(v[0], "-") ? open(v[0], O_RDONLY) : 0;

	if (fd < 0)
		return told(-1);
	while ((n = read(fd, b, sizeof(b))) > 0)
		(void)!write(1, b, (size_t)n);
	return n < 0 ? told(-1) : 0;
}

static int do_write(char **v)
{
	int fd = open(v[0], O_WRONLY | O_CREAT, 0644);

	return told(fd < 0 ? -1 : (int)write(fd, "wasm\n", 5));
}

static int do_rename(char **v)
{
	return told(rename(v[0], v[1]));
}

static int do_link(char **v)
{
	return told(link(v[0], v[1]));
}

static int do_symlink(char **v)
{
	return told(symlink(v[0], v[1]));
}

static int do_unlink(char **v)
{
	return told(unlink(v[0]));
}

static int do_mkdir(char **v)
{
	return told(mkdir(v[0], 0755));
}

static int do_truncate(char **v)
{
	return told(truncate(v[0], 0));
}

static int do_list(char **v)
{
	DIR *d = opendir(v[0]);
	struct dirent *e;

	if (!d)
		return told(-1);
	while ((e = readdir(d)))
		(void)puts(e->d_name);
	return 0;
}

/* Takes and touches memory until there is none; says how many MiB there were. */
static int do_grow(char **v)
{
	size_t pages = 0;

	(void)v;
	for (;;) {
		size_t at = __builtin_wasm_memory_grow(0, 16);

		if (at == (size_t)-1)
			break;
		memset((void *)(at * 65536), 1, (size_t)16 * 65536);
		pages += 16;
	}
	(void)printf("%zu\n", pages / 16);
	return 0;
}

static int do_loop(char **v)
{
	volatile unsigned n = 0;

	(void)v;
	(void)puts("up");
	(void)fflush(stdout);
	for (;;)
		n++;
}

static int do_sleep(char **v)
{
	(void)puts("up");
	(void)fflush(stdout);
	(void)sleep((unsigned)atoi(v[0]));
	return 0;
}

static int deeper(volatile char *p)
{
	volatile char b[4096];

	b[0] = *p;
	return deeper(b) + b[0];
}

static int do_trap(char **v)
{
	if (!strcmp(v[0], "memory"))
		(void)printf("%d\n", *(volatile char *)0x7ffffff0);
	if (!strcmp(v[0], "stack")) {
		volatile char c = 0;

		return deeper(&c);
	}
	__builtin_trap();
}

/* The socket calls that WASI preview 1 has; all that it could be given is a descriptor. */
__attribute__((import_module("wasi_snapshot_preview1"), import_name("sock_accept"))) int
sock_accept(int, int, int);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("sock_shutdown"))) int
sock_shutdown(int, int);

static int do_sockets(char **v)
{
	int made;

	(void)v;
	for (int fd = 0; fd < 64; fd++)
		if (sock_accept(fd, 0, (int)&made) == 0 || sock_shutdown(fd, 3) == 0) {
			(void)printf("descriptor %d is a socket\n", fd);
			return 1;
		}
	(void)puts("none");
	return 0;
}

static const struct {
	const char *name;
	int args;
	int (*run)(char **);
} what[] = {{"hello", 0, do_hello}, {"env", 1, do_env}, {"exit", 1, do_exit}, {"cat", 1, do_cat},
	{"write", 1, do_write}, {"rename", 2, do_rename}, {"link", 2, do_link},
	{"symlink", 2, do_symlink}, {"unlink", 1, do_unlink}, {"mkdir", 1, do_mkdir},
	{"truncate", 1, do_truncate}, {"list", 1, do_list}, {"grow", 0, do_grow},
	{"loop", 0, do_loop}, {"sleep", 1, do_sleep}, {"trap", 1, do_trap},
	{"sockets", 0, do_sockets}};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(what) / sizeof(what[0]); i++)
		if (!strcmp(argv[1], what[i].name) && argc >= 2 + what[i].args)
			return what[i].run(argv + 2);
	(void)fprintf(stderr, "probe: what?\n");
	return 2;
}
