/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a log and its head (the part behind the first NUL). Verify and query must
 * come to an end; the next append must leave a log that the following append only extends.
 */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "audit/audit.h"
#include "base/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/tmp/bawn-fuzz-audit-XXXXXX";
static char log_path[PATH_MAX], head_path[PATH_MAX];

static void clean_up(void)
{
	(void)unlink(log_path);
	(void)unlink(head_path);
	(void)rmdir(dir);
}

static void set_up(void)
{
	if (log_path[0])
		return;
	if (!mkdtemp(dir))
		abort();
	(void)snprintf(log_path, sizeof(log_path), "%s/log", dir);
	(void)snprintf(head_path, sizeof(head_path), "%s/log.head", dir);
	(void)atexit(clean_up);
}

static void put(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || bawn_write_all(fd, data, len) < 0)
		abort();
	(void)close(fd);
}

static int each(void *data, const char *line, size_t len)
{
	uint64_t *n = data;

	if (len && memchr(line, '\n', len))
		abort();
	(*n)++;
	return 0;
}

static off_t append_one(void)
{
	struct bawn_audit *au = NULL;
	struct stat st;

	if (bawn_audit_open(log_path, false, &au, NULL) < 0 ||
		bawn_audit_append(au, "\"event\":\"x\"", NULL) < 0 || stat(log_path, &st) < 0)
		abort();
	(void)bawn_audit_free(au);
	return st.st_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t len = nul ? (size_t)(nul - data) : size;
	struct bawn_audit_filter f = {.event = "x", .last = 2};
	struct bawn_audit_report rep;
	uint64_t n = 0;
	off_t before;
	int r, again;

	set_up();
	put(log_path, data, len);
	(void)unlink(head_path);
	if (nul)
		put(head_path, nul + 1, size - len - 1);
	r = bawn_audit_verify(log_path, NULL, &rep, NULL);
	if ((r == 0) != (rep.bad_line == 0))
		abort();
	if (bawn_audit_query(log_path, &f, false, each, &n, NULL) < 0 || n > 2)
		abort();
	/* what was broken stays broken, what was intact stays intact */
	before = append_one();
	again = bawn_audit_verify(log_path, NULL, &rep, NULL);
	if (r == 0 && again != 0)
		abort();
	if (append_one() <= before)
		abort();
	if (bawn_audit_verify(log_path, NULL, &rep, NULL) != again)
		abort();
	return 0;
}
