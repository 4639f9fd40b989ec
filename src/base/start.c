/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a static program begins with glibc 2.36 on x86-64, without its look at the processor. That
 * asks seventy times, mostly for the sizes of caches, and in a virtual machine every question
 * leaves the guest: half of what such a program needs to come to main(). What is not asked is not
 * there: the C library takes its plain functions for strings, which suits whoever moves little.
 *
 * Linked with --wrap=__libc_start_main, and only where the build has tried it. START_VERB names the
 * one verb that begins like this; everything else, and every other C library, begins as ever.
 */
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <sys/mman.h>
#include <sys/syscall.h>

_Static_assert(__GLIBC__ == 2 && __GLIBC_MINOR__ == 36 && __x86_64__, "not tried with this one");

/* Before memory is relocated nothing may go through an address that is stored anywhere. */
#pragma GCC visibility push(hidden)

typedef int main_fn(int argc, char *argv[], char *envp[]);
typedef void array_fn(int argc, char *argv[], char *envp[]);

/* Of the C library, in the order of use. */
extern char **env __asm__("__environ"); /* declared elsewhere as anybody's */
extern void *__libc_stack_end;
extern int __libc_enable_secure;
extern void *_dl_random;
extern uint64_t _dl_hwcap;
extern long __x86_shared_non_temporal_threshold, __x86_rep_movsb_stop_threshold;
extern const Elf64_Ehdr __ehdr_start; /* the linker's */
extern array_fn *const __preinit_array_start[], *const __preinit_array_end[];
extern array_fn *const __init_array_start[], *const __init_array_end[];
extern void (*const __fini_array_start[])(void), (*const __fini_array_end[])(void);

void _dl_aux_init(const Elf64_auxv_t *auxv);
void __tunables_init(char *envp[]);
void _dl_relocate_static_pie(void);
void __libc_setup_tls(void);
void __libc_early_init(bool initial);
void __libc_init_first(int argc, char *argv[], char *envp[]);
void __libc_check_standard_fds(void);
void _init(void);
void _fini(void);
void *_dl_debug_initialize(uintptr_t base);
int __cxa_atexit(void (*what)(void *arg), void *arg, void *dso);

int __real___libc_start_main(main_fn *main, int argc, char *argv[], void (*init)(void),
	void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __wrap___libc_start_main(main_fn *main, int argc, char *argv[], void (*init)(void),
	void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

#pragma GCC visibility pop

#define PAGE             4096
#define HWCAP_LONG_MODE  (1u << 1)
#define NON_TEMPORAL_MIN 0xc0000 /* what the C library takes where it knows no cache */

static void call_fini(void *arg)
{
	(void)arg;
	for (size_t i = (size_t)(__fini_array_end - __fini_array_start); i-- > 0;)
		__fini_array_start[i]();
	_fini();
}

static void call_all(array_fn *const *from, array_fn *const *to, int argc, char *argv[])
{
	for (; from < to; from++)
		(*from)(argc, argv, env);
}

/* The kernel's random bytes: against overwritten return addresses and stored pointers. */
static inline void set_guards(void)
{
	const uint64_t *random = _dl_random;
	uint64_t stack = random[0] & ~(uint64_t)0xff; /* ends strings */

	__asm__ volatile("movq %0, %%fs:0x28" : : "r"(stack));
	__asm__ volatile("movq %0, %%fs:0x30" : : "r"(random[1]));
}

static inline void madvise_raw(uintptr_t from, size_t len, long advice)
{
	long r = SYS_madvise;

	__asm__ volatile("syscall"
			 : "+a"(r)
			 : "D"(from), "S"(len), "d"(advice)
			 : "rcx", "r11", "memory");
}

/*
 * What every start touches, at once instead of page by page: what is relocated, and the code and
 * constants that src/start.ld puts together. Where the kernel does not know how, nothing is lost.
 */
static inline void populate(void)
{
	const Elf64_Phdr *p = (const void *)((const char *)&__ehdr_start + __ehdr_start.e_phoff);
	uintptr_t base = (uintptr_t)&__ehdr_start;

	for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
		uintptr_t from = (base + p[i].p_vaddr) & ~(uintptr_t)(PAGE - 1);

		if (p[i].p_type == PT_GNU_RELRO)
			madvise_raw(from, base + p[i].p_vaddr + p[i].p_memsz - from,
				MADV_POPULATE_WRITE);
	}
}

static void start(main_fn *main, int argc, char *argv[], void *stack_end)
	__attribute__((noreturn, no_stack_protector));
static void start(main_fn *main, int argc, char *argv[], void *stack_end)
{
	char **p = argv + argc + 1;

	env = p;
	__libc_stack_end = stack_end;
	while (*p++)
		;
	_dl_aux_init((const Elf64_auxv_t *)(void *)p);
	__tunables_init(env);
	_dl_hwcap = HWCAP_LONG_MODE;
	__x86_shared_non_temporal_threshold = NON_TEMPORAL_MIN;
	__x86_rep_movsb_stop_threshold = NON_TEMPORAL_MIN;
	populate();
	_dl_relocate_static_pie();
	__libc_setup_tls();
	set_guards();
	__libc_early_init(true);
	__libc_init_first(argc, argv, env);
	(void)__cxa_atexit(call_fini, NULL, NULL);
	if (__libc_enable_secure)
		__libc_check_standard_fds();
	call_all(__preinit_array_start, __preinit_array_end, argc, argv);
	_init();
	call_all(__init_array_start, __init_array_end, argc, argv);
	(void)_dl_debug_initialize(0);
	exit(main(argc, argv, env)); /* NOLINT(concurrency-mt-unsafe): there is but one thread */
}

static bool is_for_us(int argc, char *const argv[]) __attribute__((no_stack_protector));
static bool is_for_us(int argc, char *const argv[])
{
#ifdef START_VERB
	const char *verb = START_VERB;
	const char *word = argc > 1 ? argv[1] : "";

	while (*verb && *verb == *word) {
		verb++;
		word++;
	}
	return *verb == *word;
#else
	(void)argc;
	(void)argv;
	return true;
#endif
}

__attribute__((no_stack_protector)) int __wrap___libc_start_main(main_fn *main, int argc,
	char *argv[], void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
	void *stack_end)
{
	/* whoever has a dynamic linker is not static */
	if (!rtld_fini && is_for_us(argc, argv))
		start(main, argc, argv, stack_end);
	return __real___libc_start_main(main, argc, argv, init, fini, rtld_fini, stack_end);
}
