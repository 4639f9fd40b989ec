/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bawn-wasm: runs one WebAssembly module with WASI preview 1. It is the command of a native
 * instance, so that whatever a module makes of the compiler or the run time below still stands
 * behind the wall of the plan. See wasm.h for its command line and its ways to end.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "backend/wasm/runner/api.h"
#include "backend/wasm/wasm.h"

struct options {
	uint64_t fuel; /* UINT64_MAX: no limit */
	uint64_t memory;
	uint64_t time_ms;
	const char *name;
	const char **ro, **rw;
	size_t n_ro, n_rw;
	const char *here; /* the current directory, as "." */
	bool here_rw;
};

static struct wt_api wt;
static struct wt_engine *engine; /* for the signal handler */

__attribute__((format(printf, 2, 0), noreturn)) static void die_with(
	int status, const char *fmt, va_list ap)
{
	char line[512];
	int n = vsnprintf(line, sizeof(line) - 1, fmt, ap);

	if (n < 0)
		n = 0;
	if ((size_t)n > sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n] = '\n';
	(void)!write(2, line, (size_t)n + 1);
	_exit(status);
}

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	die_with(BAWN_WASM_EXIT_FAILED, fmt, ap);
}

__attribute__((format(printf, 1, 2), noreturn)) static void die_of_library(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	die_with(BAWN_WASM_EXIT_LIBRARY, fmt, ap);
}

/* wasmtime explains at length: the innermost cause, in one line. */
static const char *one_line(const struct wt_bytes *msg)
{
	static char line[300];
	const char *end = msg->data + strnlen(msg->data, msg->size); /* some end with a NUL */
	const char *at = msg->data;
	size_t n = 0;

	for (const char *p = msg->data; p < end; p++) {
		const char *next = memchr(p, '\n', (size_t)(end - p));

		next = next ? next : end;
		while (p < next && (*p == ' ' || (*p >= '0' && *p <= '9') || *p == ':'))
			p++;
		/* the notes that follow the causes are indented less or start with "note:" */
		if (p < next && strncmp(p, "note:", 5) != 0)
			at = p;
		p = next;
	}
	while (at < end && n < sizeof(line) - 1 && *at != '\n') {
		line[n] = '?';
		if (*at >= ' ')
			line[n] = *at;
		n++;
		at++;
	}
	line[n] = '\0';
	return line;
}

static const char *error_text(struct wt_error *e)
{
	struct wt_bytes msg = {0};

	wt.wasmtime_error_message(e, &msg);
	return one_line(&msg);
}

static void need(struct wt_error *e, const char *name, const char *what)
{
	if (e)
		die("'%s' %s: %s", name, what, error_text(e));
}

static void make_engine(bool fuel)
{
	struct wt_config *c = wt.wasm_config_new();

	wt.wasmtime_config_epoch_interruption_set(c, true);
	wt.wasmtime_config_consume_fuel_set(c, fuel);
	/* no threads: neither for compiling nor by a module, whose memory is limited one by one */
	wt.wasmtime_config_parallel_compilation_set(c, false);
	wt.wasmtime_config_wasm_threads_set(c, false);
	wt.wasmtime_config_wasm_multi_memory_set(c, false);
	/* pays off from the second instance on, and needs memory files, which a policy may forbid
	 */
	wt.wasmtime_config_memory_init_cow_set(c, false);
	engine = wt.wasm_engine_new_with_config(c);
	if (!engine)
		die_of_library("wasmtime cannot be used on this machine");
}

static void load(const char *library)
{
	const char *why = wt_load(library, &wt);

	if (why)
		die_of_library("%s", why);
}

static void write_all(const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(1, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("cannot hand over the compiled module: %m");
		data += n;
		len -= (size_t)n;
	}
}

/* ---- compile ---- */

static struct wt_bytes read_stdin(void)
{
	struct wt_bytes b = {0};
	size_t cap = 0;
	ssize_t n;

	do {
		if (b.size == cap) {
			cap = cap ? cap * 2 : 1 << 20;
			b.data = realloc(b.data, cap);
			if (!b.data)
				die("out of memory");
		}
		n = read(0, b.data + b.size, cap - b.size);
		if (n > 0)
			b.size += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return b;
}

/* Everything it imports is there: a module that would fail to start is told so now. */
static void check_imports(struct wt_module *m, const char *name)
{
	struct wt_linker *l = wt.wasmtime_linker_new(engine);
	struct wt_pre *pre = NULL;

	need(wt.wasmtime_linker_define_wasi(l), name, "cannot be linked");
	need(wt.wasmtime_linker_instantiate_pre(l, m, &pre), name,
		"needs what WASI preview 1 does not have");
}

static struct wt_bytes compile(const struct wt_bytes *module, const char *name)
{
	struct wt_module *m = NULL;
	struct wt_bytes out = {0};

	need(wt.wasmtime_module_new(engine, (const uint8_t *)module->data, module->size, &m), name,
		"is not a module that can be run");
	check_imports(m, name);
	need(wt.wasmtime_module_serialize(m, &out), name, "cannot be compiled");
	return out;
}

static int main_compile(const char *library, const char *name, bool fuel)
{
	struct wt_bytes module, out;

	load(library);
	make_engine(fuel);
	module = read_stdin();
	out = compile(&module, name);
	write_all(out.data, out.size);
	return 0;
}

/* ---- run ---- */

/* The epoch is counted up by a timer; a module is looked at whenever it jumps back or calls. One
 * that waits in a call of the host is ended by the second alarm. */
static void on_alarm(int signo)
{
	static volatile sig_atomic_t seen;

	(void)signo;
	wt.wasmtime_engine_increment_epoch(engine);
	if (seen++)
		(void)kill(getpid(), SIGKILL);
}

static void start_clock(uint64_t ms)
{
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_ONSTACK};
	struct itimerval t = {.it_interval = {.tv_sec = 1}};

	if (ms > (uint64_t)86400000 * 365)
		return;
	t.it_value.tv_sec = (time_t)(ms / 1000);
	t.it_value.tv_usec = (suseconds_t)(ms % 1000 * 1000 + (ms ? 0 : 1));
	if (sigaction(SIGALRM, &sa, NULL) < 0 || setitimer(ITIMER_REAL, &t, NULL) < 0)
		die("cannot set the deadline: %m");
}

/* End by a signal, which no module can do: so its meaning is beyond doubt. */
__attribute__((noreturn)) static void end_by(int signo)
{
	sigset_t none;

	(void)sigaction(signo, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	(void)sigemptyset(&none);
	(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
	(void)kill(getpid(), signo);
	_exit(128 + signo);
}

__attribute__((noreturn)) static void trapped(const struct options *o, struct wt_trap *trap)
{
	struct wt_bytes msg = {0};
	uint8_t code = UINT8_MAX;
	char line[512];
	int n;

	wt.wasm_trap_message(trap, &msg);
	if (!wt.wasmtime_trap_code(trap, &code))
		code = UINT8_MAX;
	if (code == WT_TRAP_OUT_OF_FUEL)
		n = snprintf(line, sizeof(line),
			"'%s' used up its fuel of %llu (enforcement.wasm.fuel_limit)\n", o->name,
			(unsigned long long)o->fuel);
	else if (code == WT_TRAP_INTERRUPT)
		n = snprintf(line, sizeof(line), "'%s' ran out of time (limits.time)\n", o->name);
	else
		n = snprintf(line, sizeof(line), "'%s' was stopped: %s\n", o->name, one_line(&msg));
	if (n > 0)
		(void)!write(2, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
	end_by(code == WT_TRAP_OUT_OF_FUEL  ? SIGXCPU
		: code == WT_TRAP_INTERRUPT ? SIGALRM
					    : SIGABRT);
}

static void give_env(struct wt_wasi *w)
{
	size_t n = 0;
	const char **names, **values;

	while (environ[n])
		n++;
	names = calloc(n + 1, sizeof(*names));
	values = calloc(n + 1, sizeof(*values));
	if (!names || !values)
		die("out of memory");
	for (size_t i = 0; i < n; i++) {
		char *eq = strchr(environ[i], '=');

		if (eq)
			*eq = '\0';
		names[i] = environ[i];
		values[i] = eq ? eq + 1 : "";
	}
	if (!wt.wasi_config_set_env(w, n, names, values))
		die("the environment is not UTF-8");
}

static void give_dir(struct wt_wasi *w, const char *path, const char *as, bool rw)
{
	/* what the plan grants may have gone since; a directory that is not there grants nothing */
	if (!wt.wasi_config_preopen_dir(w, path, as, rw) && access(path, R_OK | X_OK) == 0)
		die("cannot grant the directory '%s'", path);
}

static struct wt_wasi *make_wasi(const struct options *o, size_t argc, const char **argv)
{
	struct wt_wasi *w = wt.wasi_config_new();

	wt.wasi_config_inherit_stdin(w);
	wt.wasi_config_inherit_stdout(w);
	wt.wasi_config_inherit_stderr(w);
	if (!wt.wasi_config_set_argv(w, argc, argv))
		die("the arguments are not UTF-8");
	give_env(w);
	for (size_t i = 0; i < o->n_rw; i++)
		give_dir(w, o->rw[i], o->rw[i], true);
	for (size_t i = 0; i < o->n_ro; i++)
		give_dir(w, o->ro[i], o->ro[i], false);
	if (o->here)
		give_dir(w, o->here, ".", o->here_rw);
	return w;
}

static struct wt_module *load_module(const char *file, const char *name)
{
	struct wt_module *m = NULL;
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *data;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= BAWN_WASM_HEADER)
		die("cannot read the compiled module of '%s'", name);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		die("cannot map the compiled module of '%s': %m", name);
	(void)close(fd);
	need(wt.wasmtime_module_deserialize(
		     engine, data + BAWN_WASM_HEADER, (size_t)st.st_size - BAWN_WASM_HEADER, &m),
		name, "was compiled for another machine");
	(void)munmap(data, (size_t)st.st_size);
	return m;
}

static void set_limits(const struct options *o, struct wt_store *store, struct wt_context *ctx)
{
	wt.wasmtime_store_limiter(store, o->memory > INT64_MAX ? -1 : (int64_t)o->memory,
		1 << 20 /* table elements */, 1, 64, 1);
	if (o->fuel != UINT64_MAX)
		need(wt.wasmtime_context_set_fuel(ctx, o->fuel), o->name, "got no fuel");
	wt.wasmtime_context_set_epoch_deadline(ctx, 1);
}

static int run(const struct options *o, struct wt_module *m, size_t argc, const char **argv)
{
	struct wt_linker *l = wt.wasmtime_linker_new(engine);
	struct wt_store *store = wt.wasmtime_store_new(engine, NULL, NULL);
	struct wt_context *ctx = wt.wasmtime_store_context(store);
	struct wt_trap *trap = NULL;
	struct wt_error *e;
	struct wt_func start;
	int status = 0;

	need(wt.wasmtime_linker_define_wasi(l), o->name, "cannot be linked");
	need(wt.wasmtime_context_set_wasi(ctx, make_wasi(o, argc, argv)), o->name, "got no WASI");
	set_limits(o, store, ctx);
	need(wt.wasmtime_linker_module(l, ctx, "", 0, m), o->name, "cannot be started");
	need(wt.wasmtime_linker_get_default(l, ctx, "", 0, &start), o->name, "cannot be started");
	start_clock(o->time_ms);
	e = wt.wasmtime_func_call(ctx, &start, NULL, 0, NULL, 0, &trap);
	if (trap)
		trapped(o, trap);
	if (e && !wt.wasmtime_error_exit_status(e, &status))
		die("'%s' failed: %s", o->name, error_text(e));
	return status;
}

/* ---- the command line ---- */

static uint64_t number(const char *text)
{
	return strcmp(text, "none") != 0 ? strtoull(text, NULL, 10) : UINT64_MAX;
}

/* key=value words until "--"; returns where the module's own arguments start. */
static int read_options(struct options *o, int argc, char **argv, int at)
{
	o->ro = calloc((size_t)argc, sizeof(*o->ro));
	o->rw = calloc((size_t)argc, sizeof(*o->rw));
	if (!o->ro || !o->rw)
		die("out of memory");
	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		const char *v = strchr(argv[at], '=');

		if (!v++)
			die("'%s' is no option", argv[at]);
		if (!strncmp(argv[at], "fuel=", 5))
			o->fuel = number(v);
		else if (!strncmp(argv[at], "memory=", 7))
			o->memory = number(v);
		else if (!strncmp(argv[at], "time=", 5))
			o->time_ms = number(v);
		else if (!strncmp(argv[at], "name=", 5))
			o->name = v;
		else if (!strncmp(argv[at], "ro=", 3))
			o->ro[o->n_ro++] = v;
		else if (!strncmp(argv[at], "rw=", 3))
			o->rw[o->n_rw++] = v;
		else if (!strncmp(argv[at], "here-ro=", 8) || !strncmp(argv[at], "here-rw=", 8)) {
			o->here = v;
			o->here_rw = argv[at][6] == 'w';
		} else
			die("'%s' is no option", argv[at]);
	}
	return at + 1;
}

static int main_run(int argc, char **argv)
{
	struct options o = {
		.fuel = UINT64_MAX, .memory = UINT64_MAX, .time_ms = UINT64_MAX, .name = "module"};
	int at = read_options(&o, argc, argv, 4);
	struct wt_module *m;

	load(argv[2]);
	make_engine(o.fuel != UINT64_MAX);
	m = load_module(argv[3], o.name);
	return run(&o, m, at < argc ? (size_t)(argc - at) : 0, (const char **)(void *)(argv + at));
}

/* ---- what is this library? ---- */

/* The version that wasmtime notes in what it compiles: an ELF section of its own. */
static const char *version_of(const struct wt_bytes *c)
{
	static char version[32] = "of unknown version";
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)(const void *)c->data;
	const Elf64_Shdr *sh, *names;

	if (c->size < sizeof(*eh) || eh->e_shoff > c->size ||
		eh->e_shoff + (uint64_t)eh->e_shnum * sizeof(*sh) > c->size ||
		eh->e_shstrndx >= eh->e_shnum)
		return version;
	sh = (const Elf64_Shdr *)(const void *)(c->data + eh->e_shoff);
	names = &sh[eh->e_shstrndx];
	for (size_t i = 0; i < eh->e_shnum; i++) {
		uint64_t name = names->sh_offset + sh[i].sh_name;
		const char *data = c->data + sh[i].sh_offset;

		if (name + 17 > c->size || strcmp(c->data + name, ".wasmtime.engine") != 0)
			continue;
		if (sh[i].sh_offset + 32 <= c->size && data[1] > 0 && data[1] < 30)
			(void)snprintf(version, sizeof(version), "%.*s", data[1], data + 2);
	}
	return version;
}

/* Compiles and runs a module that does nothing, then says what it was. */
static int main_probe(const char *library)
{
	static char empty[] =
		"\0asm\1\0\0\0\1\4\1\x60\0\0\3\2\1\0\7\12\1\6_start\0\0\12\4\1\2\0\13";
	struct wt_bytes module = {sizeof(empty) - 1, empty};
	struct options o = {.fuel = 1000, .memory = 1 << 20, .time_ms = 10000, .name = "probe"};
	struct wt_module *m = NULL;
	struct wt_bytes compiled;
	const char *version;

	load(library);
	make_engine(true);
	compiled = compile(&module, "probe");
	need(wt.wasmtime_module_deserialize(
		     engine, (const uint8_t *)compiled.data, compiled.size, &m),
		"probe", "cannot be loaded");
	if (run(&o, m, 0, NULL) != 0)
		die("a module that does nothing failed");
	version = version_of(&compiled);
	write_all(version, strlen(version));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "probe"))
		_exit(main_probe(argv[2]));
	if (argc == 5 && !strcmp(argv[1], "compile"))
		_exit(main_compile(argv[2], argv[3], !strcmp(argv[4], "fuel")));
	if (argc >= 5 && !strcmp(argv[1], "run"))
		_exit(main_run(argc, argv));
	die("bawn-wasm is started by bawn");
}
