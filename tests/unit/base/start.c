/* SPDX-License-Identifier: Apache-2.0 */
/* A program that begins with src/base/start.c is as any other: guards, memory, constructors. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/platform/x86.h>
#include <sys/wait.h>

#include "harness.h"

static _Thread_local int own = 7;
static int built, argc_seen;

__attribute__((constructor)) static void build(int argc, char *argv[])
{
	built = argv && argv[0] ? 1 : 0;
	argc_seen = argc;
}

__attribute__((destructor)) static void leave(void)
{
	if (own == 8)
		_exit(99); /* that this was called */
}

TEST(it_was_the_short_start)
{
	/* every processor of this kind has it; nobody has asked */
	ASSERT_TRUE(!CPU_FEATURE_PRESENT(SSE2));
}

TEST(guards_are_of_the_kernels_random_bytes)
{
	const uint64_t *random = (const void *)getauxval(AT_RANDOM);
	uint64_t stack, pointer;

	__asm__("movq %%fs:0x28, %0" : "=r"(stack));
	__asm__("movq %%fs:0x30, %0" : "=r"(pointer));
	ASSERT_TRUE(random);
	ASSERT_TRUE(stack == (random[0] & ~(uint64_t)0xff) && stack != 0);
	ASSERT_TRUE(pointer == random[1] && pointer != 0);
}

TEST(constructors_and_destructors_are_called)
{
	int status = 0;
	pid_t pid;

	ASSERT_EQ(built, 1);
	ASSERT_EQ(argc_seen, 1);
	pid = fork();
	if (pid == 0) {
		own = 8;
		exit(0); /* NOLINT(concurrency-mt-unsafe): one thread */
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(WEXITSTATUS(status), 99);
}

TEST(what_is_only_relocated_cannot_be_written)
{
	static const char *const table[] = {"relocated", "as well"};
	uintptr_t at = (uintptr_t)table;
	int status = 0;
	pid_t pid = fork();

	__asm__ volatile("" : "+r"(at)); /* nobody can know what is written to */
	if (pid == 0) {
		*(const char *volatile *)at = "another";
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_TRUE(WIFSIGNALED(status));
}

/* Of every size that takes another way. */
TEST(memory_is_moved_as_it_should)
{
	static const size_t sizes[] = {
		1, 15, 31, 127, 128, 129, 4095, 65536, 786431, 786433, 3 << 20, 16 << 20};
	unsigned char *a = malloc((16 << 20) + 8), *b = malloc((16 << 20) + 8);

	ASSERT_TRUE(a && b);
	for (size_t i = 0; i < 16 << 20; i++)
		a[i] = (unsigned char)(i * 2654435761u >> 13);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(b, 0, sizes[i] + 8);
		memcpy(b + 3, a, sizes[i]);
		ASSERT_EQ(memcmp(b + 3, a, sizes[i]), 0);
		ASSERT_TRUE(!b[2] && !b[sizes[i] + 3]);
		memmove(b, b + 3, sizes[i]);
		ASSERT_EQ(memcmp(b, a, sizes[i]), 0);
	}
	free(a);
	free(b);
}

TEST(the_rest_of_the_library_works)
{
	struct timespec now = {0};
	char text[64];

	ASSERT_EQ(own, 7);
	ASSERT_EQ(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	ASSERT_TRUE(now.tv_sec || now.tv_nsec);
	ASSERT_EQ(setenv("START", "yes", 1), 0); /* NOLINT(concurrency-mt-unsafe): one thread */
	ASSERT_STREQ(getenv("START"), "yes");
	ASSERT_TRUE(snprintf(text, sizeof(text), "%.3f %s", 1.5, "x") == 7);
	ASSERT_STREQ(text, "1.500 x");
	ASSERT_TRUE(sysconf(_SC_PAGESIZE) == 4096);
}
