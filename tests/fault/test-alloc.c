/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out, at every single allocation: the whole library is called again and again,
 * and the Nth allocation fails (in this process and, counted on from there, in the sandbox's init)
 * until N is past the last one. Whatever N is: no crash, an error in words or the right result,
 * nothing leaked, nothing left, and no command that ran without a record.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <bawn/bawn.h>

#include "harness.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

/* seen by every library: everything is built with hidden names */
#define OURS __attribute__((visibility("default")))

static long fail_at, count, live;
static volatile int *hit; /* shared with init: some allocation did fail */

static bool is_due(void)
{
	if (!fail_at || ++count != fail_at)
		return false;
	*hit = 1;
	errno = ENOMEM;
	return true;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's are its own */
OURS void *malloc(size_t size)
{
	void *p = is_due() ? NULL : __libc_malloc(size);

	live += p != NULL;
	return p;
}

OURS void *calloc(size_t n, size_t size)
{
	void *p = is_due() ? NULL : __libc_calloc(n, size);

	live += p != NULL;
	return p;
}

OURS void *realloc(void *old, size_t size)
{
	void *p = is_due() ? NULL : __libc_realloc(old, size);

	live += p && !old;
	return p;
}

OURS void free(void *p)
{
	live -= p != NULL;
	__libc_free(p);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static char top[64];
static const char *settings[4];

static void begin(void)
{
	(void)snprintf(top, sizeof(top), "/tmp/alloc-XXXXXX");
	ASSERT_TRUE(mkdtemp(top));
	ASSERT_EQ(chdir(top), 0);
	ASSERT_EQ(mkdir("home", 0700), 0);
	ASSERT_EQ(mkdir("ws", 0700), 0);
	char home[96];
	(void)snprintf(home, sizeof(home), "%s/home", top);
	ASSERT_EQ(setenv("HOME", home, 1), 0);     /* NOLINT(concurrency-mt-unsafe) */
	ASSERT_EQ(unsetenv("XDG_STATE_HOME"), 0);  /* NOLINT(concurrency-mt-unsafe) */
	ASSERT_EQ(unsetenv("XDG_CONFIG_HOME"), 0); /* NOLINT(concurrency-mt-unsafe) */
	int fd = open("policy.yaml", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ASSERT_TRUE(fd >= 0);
	ASSERT_TRUE(
		dprintf(fd, "limits:\n  time: 60s\nenvironment:\n  set: {A: b}\nfilesystem:\n  "
			    "deny: [\"*.key\"]\nshell:\n  blocked_patterns: [\"rm -rf /\"]\n") > 0);
	ASSERT_EQ(close(fd), 0);
	hit = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(hit != MAP_FAILED);
}

static int shell(const char *text)
{
	int st = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-c", text, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &st, 0) == pid && WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

static void end(void)
{
	char text[96];

	ASSERT_EQ(chdir("/"), 0);
	(void)snprintf(text, sizeof(text), "rm -rf '%s'", top);
	ASSERT_EQ(shell(text), 0);
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	ASSERT_TRUE(d);
	while (readdir(d)) /* NOLINT(concurrency-mt-unsafe) */
		n++;
	(void)closedir(d);
	return n;
}

/* ---- the calls ---- */

static const char *const argv_hi[] = {"/bin/sh", "-c", "echo hi; : > started", NULL};

static struct bawn_options options(void)
{
	static const char *const files[] = {"policy.yaml", NULL};

	return (struct bawn_options){.size = sizeof(struct bawn_options),
		.argv = argv_hi,
		.workspace = "ws",
		.policy_files = files,
		.settings = settings,
		.flags = BAWN_CAPTURE};
}

static int call_run(struct bawn_report **ret)
{
	struct bawn_options o = options();

	return bawn_run(&o, ret);
}

static int call_explain(struct bawn_report **ret)
{
	struct bawn_options o = options();

	return bawn_explain(&o, ret);
}

static int call_policy(struct bawn_report **ret)
{
	struct bawn_options o = options();

	return bawn_show_policy(&o, ret);
}

static int call_audit(struct bawn_report **ret)
{
	return bawn_check_audit(NULL, ret);
}

static int call_probe(struct bawn_report **ret)
{
	return bawn_probe_host(ret);
}

/* ---- one attempt, in a process of its own ---- */

static void expect_no_child(long n)
{
	const struct timespec nap = {.tv_nsec = 2000000};

	for (int i = 0; waitpid(-1, NULL, WNOHANG | __WALL) >= 0; i++) {
		if (i > 5000)
			FAIL("allocation %ld: a process is left", n);
		(void)nanosleep(&nap, NULL);
	}
}

static void check(int (*call)(struct bawn_report **), int r, const struct bawn_report *rep, long n)
{
	bool ran = access("ws/started", F_OK) == 0;

	if (r < 0 && !rep) /* not even memory to say so */
		return;
	if (!rep)
		FAIL("allocation %ld: success without a report", n);
	if (r < 0 && !*bawn_report_error(rep))
		FAIL("allocation %ld: %d without a reason", n, r);
	if (r < 0 && bawn_report_exit(rep) == 0)
		FAIL("allocation %ld: %d with exit status 0", n, r);
	if (bawn_report_json(rep)[0] != '{')
		FAIL("allocation %ld: no JSON", n);
	if (r == 0 && call != call_run && !strcmp(bawn_report_json(rep), "{}"))
		FAIL("allocation %ld: success with an empty report", n);
	if (call != call_run) {
		if (ran)
			FAIL("allocation %ld: something ran", n);
		return;
	}
	if (ran && shell("grep -q '\"event\":\"start\"' home/.local/state/bawn/audit.jsonl") != 0)
		FAIL("allocation %ld: ran without a record", n);
	if (r == 0 && bawn_report_exit(rep) == 0 &&
		strcmp(bawn_report_output(rep, 1, NULL), "hi\n") != 0)
		FAIL("allocation %ld: success with output '%s'", n,
			bawn_report_output(rep, 1, NULL));
	if (r == 0 && bawn_report_exit(rep) == 0 && !ran)
		FAIL("allocation %ld: success, but it did not run", n);
}

static void attempt(int (*call)(struct bawn_report **), long n)
{
	struct bawn_report *rep = NULL;
	int fds, r;
	long before;

	(void)call(&rep); /* what the C library keeps for itself it has now */
	fds = count_fds();
	bawn_report_free(rep);
	rep = NULL;
	(void)unlink("ws/started");
	(void)unlink("home/.local/state/bawn/audit.jsonl");
	(void)unlink("home/.local/state/bawn/audit.jsonl.head");
	if (call == call_audit && call_run(&rep) < 0)
		FAIL("%s", bawn_report_error(rep));
	bawn_report_free(rep);
	(void)unlink("ws/started");
	rep = NULL;
	before = live;
	*hit = 0;
	count = 0;
	fail_at = n;
	r = call(&rep);
	fail_at = 0;
	check(call, r, rep, n);
	bawn_report_free(rep);
	if (live != before)
		FAIL("allocation %ld: %ld allocations leaked", n, live - before);
	if (count_fds() != fds)
		FAIL("allocation %ld: %d descriptors were open, now %d", n, fds, count_fds());
	expect_no_child(n);
	(void)unlink("ws/started");
}

/* Whether the Nth went well. */
static bool try_one(int (*call)(struct bawn_report **), long n)
{
	int st = 0;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	ASSERT_TRUE(pid >= 0);
	if (pid == 0) {
		(void)alarm(60);
		ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
		attempt(call, n);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &st, 0), pid);
	if (WIFSIGNALED(st))
		(void)printf("# allocation %ld: signal %d\n", n, WTERMSIG(st));
	return st == 0;
}

/* Every failing N is told, then the test fails. */
static void sweep(int (*call)(struct bawn_report **), const char *backend)
{
	char text[64];
	long bad = 0;

	begin();
	(void)snprintf(text, sizeof(text), "backend=%s", backend);
	settings[0] = backend ? text : NULL;
	*hit = 1;
	for (long n = 1; *hit; n++) {
		bad += !try_one(call, n);
		if (bad > 20 || n > 20000)
			FAIL("too many of them");
	}
	end();
	if (bad)
		FAIL("%ld failing allocations were not taken well", bad);
}

TEST(policy)
{
	sweep(call_policy, NULL);
}
TEST(audit)
{
	sweep(call_audit, NULL);
}
TEST(probe)
{
	sweep(call_probe, NULL);
}
TEST(explain)
{
	sweep(call_explain, NULL);
}
TEST(run_native)
{
	sweep(call_run, "native");
}
TEST(run_landlock)
{
	sweep(call_run, "landlock");
}
TEST(run_noop)
{
	settings[1] = "level=none";
	sweep(call_run, "noop");
}
