/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A scratch directory per test, and logs to play with. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include <sys/stat.h>

#include "audit/audit.h"
#include "audit/store.h"
#include "base/io.h"
#include "harness.h"
#include "tempdir.h"

static char scratch[] = "/tmp/bawn-audit-XXXXXX";
static char log_path[PATH_MAX], head_path[PATH_MAX];

static inline void make_scratch(void)
{
	make_tempdir(scratch);
	(void)snprintf(log_path, sizeof(log_path), "%s/audit.jsonl", scratch);
	(void)snprintf(head_path, sizeof(head_path), "%s/audit.jsonl.head", scratch);
}

static inline struct bawn_audit *open_log(void)
{
	struct bawn_audit *au = NULL;
	struct bawn_error err = {0};

	if (bawn_audit_open(log_path, false, &au, &err) < 0)
		FAIL("open: %s", err.msg);
	return au;
}

static inline void append(struct bawn_audit *au, const char *members)
{
	struct bawn_error err = {0};

	if (bawn_audit_append(au, members, &err) < 0)
		FAIL("append: %s", err.msg);
}

static inline void add_records(unsigned n)
{
	struct bawn_audit *au = open_log();

	for (unsigned i = 0; i < n; i++) {
		char m[64];

		(void)snprintf(m, sizeof(m), "\"event\":\"%s\",\"run\":\"r%u\"",
			i % 2 ? "end" : "start", i / 2);
		append(au, m);
	}
	(void)bawn_audit_free(au);
}

static inline void slurp(const char *path, struct bawn_buf *b)
{
	*b = (struct bawn_buf){0};
	ASSERT_EQ(bawn_read_file(AT_FDCWD, path, 64 << 20, b), 0);
}

static inline void spew(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(bawn_write_all(fd, data, len), 0);
	(void)close(fd);
}

static inline off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

/* The log must be intact with `n` records. */
static inline void expect_intact(uint64_t n)
{
	struct bawn_audit_report rep;
	struct bawn_error err = {0};

	if (bawn_audit_verify(log_path, NULL, &rep, &err) != 0)
		FAIL("verify: %s", err.msg);
	ASSERT_EQ(rep.bad_line, 0);
	ASSERT_EQ(rep.records, n);
}

/* The log must be found damaged at `line` with `text` in the message. */
static inline void expect_bad(uint64_t line, const char *text)
{
	struct bawn_audit_report rep;
	struct bawn_error err = {0};
	int r = bawn_audit_verify(log_path, NULL, &rep, &err);

	if (r != -EBADMSG)
		FAIL("verify gave %d (%s), expected '%s'", r, err.msg, text);
	if (!strstr(rep.problem, text))
		FAIL("problem is '%s', expected '%s'", rep.problem, text);
	ASSERT_EQ(rep.bad_line, line);
}
