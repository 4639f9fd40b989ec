/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs where: children that share our memory, and what is undone afterwards. */
#include <signal.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/sched.h"
#include "harness.h"

static cpu_set_t all;

static bool is_one_processor(void)
{
	ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	return CPU_COUNT(&all) < 2;
}

/* The first one but `not`. */
static int another(int not )
{
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (i != not &&CPU_ISSET((size_t)i, &all))
			return i;
	return -1;
}

static void go_to(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
}

static int seen;

static int look_from(void *arg)
{
	go_to(*(const int *)arg);
	seen = bawn_sched_cpu();
	return 0;
}

/* The C library's own answer is where the parent was. */
TEST(child_that_shares_our_memory_knows_where_it_is)
{
	static char stack[65536] __attribute__((aligned(64)));
	int there;
	pid_t pid;

	if (is_one_processor())
		SKIP("one processor: needs two");
	go_to(another(-1));
	there = another(bawn_sched_cpu());
	pid = clone(look_from, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &there);
	ASSERT_TRUE(pid > 0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	ASSERT_EQ(seen, there);
}

TEST(who_stays_can_go_again)
{
	cpu_set_t was, now;

	if (is_one_processor())
		SKIP("one processor: needs two");
	ASSERT_TRUE(bawn_sched_here(&was));
	ASSERT_TRUE(CPU_EQUAL(&was, &all));
	ASSERT_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
	ASSERT_EQ(CPU_COUNT(&now), 1);
	ASSERT_TRUE(CPU_ISSET((size_t)bawn_sched_cpu(), &now));
	/* there is no choice any more */
	ASSERT_TRUE(!bawn_sched_here(&now));
	ASSERT_TRUE(!bawn_sched_elsewhere(0, &now));
}

/* Every processor has somebody else to run: nobody is sent anywhere. */
TEST(nobody_is_sent_to_a_busy_processor)
{
	pid_t busy[8];
	int n = 0;
	cpu_set_t was;

	if (is_one_processor() || CPU_COUNT(&all) > 8)
		SKIP("for machines with two processors or more, and not too many");
	for (; n < CPU_COUNT(&all); n++) {
		busy[n] = fork();
		if (busy[n] == 0)
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (busy[n] == 0)
			;
		ASSERT_TRUE(busy[n] > 0);
	}
	bawn_sched_look();
	ASSERT_TRUE(!bawn_sched_here(&was));
	ASSERT_TRUE(!bawn_sched_elsewhere(0, &was));
	ASSERT_TRUE(!bawn_sched_waits(-1));
	while (n--) {
		ASSERT_EQ(kill(busy[n], SIGKILL), 0);
		ASSERT_EQ(waitpid(busy[n], NULL, 0), busy[n]);
	}
}
