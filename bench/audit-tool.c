/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills an audit log through one handle and checks it.
 *
 * usage: audit-tool RECORDS FILE
 * Prints: records per second, bytes of the log, milliseconds of the check.
 */
#include <time.h>

#include <sys/stat.h>

#include "audit/audit.h"

#define MEMBERS                                                                             \
	"\"event\":\"start\",\"run\":\"0123456789abcdef\",\"command_sha256\":"              \
	"\"0000000000000000000000000000000000000000000000000000000000000000\",\"verdict\":" \
	"\"SAFE\",\"action\":\"CONSTRAIN\",\"adapter\":\"native\",\"level\":\"process\","   \
	"\"walls\":\"namespaces (user mount pid net ipc uts cgroup), Landlock, seccomp\","  \
	"\"enforced\":[\"fs.read\",\"fs.write\",\"fs.deny\",\"net.none\",\"ipc\",\"proc\"," \
	"\"syscalls\",\"nested\",\"privilege\",\"env\",\"limit.memory\",\"limit.processes\"]"

static double now_ms(void)
{
	struct timespec ts = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int fill(const char *path, unsigned long records, struct bawn_error *err)
{
	struct bawn_audit *au = NULL;
	int r = bawn_audit_open(path, false, &au, err);

	for (unsigned long i = 0; r >= 0 && i < records; i++)
		r = bawn_audit_append(au, MEMBERS, err);
	(void)bawn_audit_free(au);
	return r;
}

int main(int argc, char *argv[])
{
	unsigned long records = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	struct bawn_audit_report report = {0};
	struct bawn_error err = {0};
	double start = now_ms(), filled;
	struct stat st = {0};

	if (!records) {
		(void)fprintf(stderr, "usage: audit-tool RECORDS FILE\n");
		return 2;
	}
	if (fill(argv[2], records, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	filled = now_ms();
	if (bawn_audit_verify(argv[2], NULL, &report, &err) < 0 || report.records != records ||
		stat(argv[2], &st) < 0) {
		(void)fprintf(stderr, "the log is not intact: %s %s\n", err.msg, report.problem);
		return 1;
	}
	(void)printf("%.0f %lld %.2f\n", (double)records / ((filled - start) / 1e3),
		(long long)st.st_size, now_ms() - filled);
	return 0;
}
