/* SPDX-License-Identifier: Apache-2.0 */
/* Which records a filter shows, and following a log that grows, rotates and ends. */
#include <signal.h>
#include <time.h>

#include <sys/mman.h>

#include "common.h"

struct seen {
	unsigned n;
	uint64_t first, last;
	unsigned stop_after; /* 0: never */
};

static int each(void *data, const char *line, size_t len)
{
	struct seen *s = data;
	struct audit_record r;

	ASSERT_TRUE(audit_record_parse(line, len, &r));
	if (!s->n++)
		s->first = r.seq;
	s->last = r.seq;
	return s->stop_after && s->n >= s->stop_after;
}

/* Ten records: start r0, end r0, … end r4. */
static const struct {
	struct bawn_audit_filter f;
	unsigned n;
	uint64_t first, last;
} rows[] = {
	{{0}, 10, 1, 10},
	{{.run = "r3"}, 2, 7, 8},
	{{.run = "r3", .event = "end"}, 1, 8, 8},
	{{.event = "start"}, 5, 1, 9},
	{{.event = "star"}, 0, 0, 0},
	{{.run = ""}, 0, 0, 0},
	{{.last = 3}, 3, 8, 10},
	{{.last = 100}, 10, 1, 10},
	{{.last = UINT64_MAX}, 10, 1, 10},
	{{.last = 1, .event = "start"}, 1, 9, 9},
	{{.since = "1d"}, 10, 1, 10},
	{{.since = "99999999999999999d"}, 10, 1, 10},
	{{.since = "2020-01-01"}, 10, 1, 10},
	{{.since = "2020"}, 10, 1, 10},
	{{.since = "2020-01-01T00:00:00Z"}, 10, 1, 10},
	{{.since = "2020-01-01 10:30"}, 10, 1, 10},
	{{.since = "9998-01-01"}, 0, 0, 0},
	{{.since = "9998-01-01T00:00:00.123456Z"}, 0, 0, 0},
};

TEST(filters)
{
	make_scratch();
	add_records(10);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seen s = {0};
		struct bawn_error err = {0};

		if (bawn_audit_query(log_path, &rows[i].f, false, each, &s, &err) != 0)
			FAIL("row %zu: %s", i, err.msg);
		if (s.n != rows[i].n || s.first != rows[i].first || s.last != rows[i].last)
			FAIL("row %zu: %u records, %llu to %llu", i, s.n,
				(unsigned long long)s.first, (unsigned long long)s.last);
	}
}

TEST(no_time)
{
	static const char *const wrong[] = {"", "x", "10", "10w", "-5m", "5mm", "2026-1-1", "202",
		"2026-11-15T06:00+02:00", "2026-11-15T06:00:00.1234567Z"};

	make_scratch();
	add_records(1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct bawn_audit_filter f = {.since = wrong[i]};
		struct bawn_error err = {0};
		struct seen s = {0};

		if (bawn_audit_query(log_path, &f, false, each, &s, &err) != -EINVAL)
			FAIL("'%s' is taken as a time", wrong[i]);
		ASSERT_EQ(err.kind, BAWN_ERR_USAGE);
	}
}

TEST(no_log)
{
	struct bawn_error err = {0};
	struct seen s = {0};

	make_scratch();
	ASSERT_EQ(bawn_audit_query(log_path, NULL, false, each, &s, &err), -ENOENT);
	ASSERT_TRUE(strstr(err.msg, "there is no audit log") != NULL);
	ASSERT_EQ(mkfifo(log_path, 0600), 0);
	ASSERT_EQ(bawn_audit_query(log_path, NULL, false, each, &s, &err), -EINVAL);
}

TEST(enough)
{
	struct seen s = {.stop_after = 4};

	make_scratch();
	add_records(10);
	ASSERT_EQ(bawn_audit_query(log_path, NULL, false, each, &s, NULL), 0);
	ASSERT_EQ(s.n, 4);
}

TEST(foreign_and_torn_lines_are_left_out)
{
	struct seen s = {0};
	int fd;

	make_scratch();
	add_records(2);
	fd = open(log_path, O_WRONLY | O_APPEND | O_CLOEXEC);
	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(bawn_write_all(fd, "junk\n\n{\"a\":1}\n{\"schema", 23), 0);
	(void)close(fd);
	ASSERT_EQ(bawn_audit_query(log_path, NULL, false, each, &s, NULL), 0);
	ASSERT_EQ(s.n, 2);
}

/* Somebody else counts them. */
static void until_seen(const struct seen *s, unsigned n)
{
	const struct timespec nap = {0, 10000000};

	while (__atomic_load_n(&s->n, __ATOMIC_ACQUIRE) < n && getppid() != 1)
		(void)nanosleep(&nap, NULL);
}

TEST(follow_through_rotation)
{
	struct bawn_error err = {0};
	char moved[PATH_MAX + 8];
	struct seen *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(s != MAP_FAILED);
	s->stop_after = 6;
	make_scratch();
	add_records(2);
	if (fork() == 0) {
		until_seen(s, 2);
		add_records(2);
		until_seen(s, 4);
		(void)snprintf(moved, sizeof(moved), "%s.1", log_path);
		(void)rename(log_path, moved);
		add_records(2);
		_exit(0);
	}
	ASSERT_EQ(bawn_audit_query(log_path, NULL, true, each, s, &err), 0);
	ASSERT_EQ(s->n, 6);
	ASSERT_EQ(s->last, 6);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST(follow_ends_with_a_signal)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct seen s = {0};
	pid_t self = getpid();

	make_scratch();
	add_records(3);
	ASSERT_EQ(sigaction(SIGUSR1, &act, NULL), 0);
	if (fork() == 0) {
		const struct timespec nap = {0, 20000000};

		/* until it is gone: one signal might come between two waits */
		while (kill(self, SIGUSR1) == 0 && getppid() == self)
			(void)nanosleep(&nap, NULL);
		_exit(0);
	}
	ASSERT_EQ(bawn_audit_query(log_path, NULL, true, each, &s, NULL), 0);
	ASSERT_EQ(s.n, 3);
}
