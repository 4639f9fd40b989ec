/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses, the JSON object and the lines for people. */
#include <errno.h>
#include <jansson.h>
#include <signal.h>

#include "harness.h"
#include "result/text.h"

/* Stand-ins where the folders that own these words are not linked in. */
__attribute__((weak)) const char *bawn_verdict_name(enum bawn_verdict_kind k)
{
	return k == BAWN_SAFE ? "SAFE" : k == BAWN_SUSPICIOUS ? "SUSPICIOUS" : "MALICIOUS";
}
__attribute__((weak)) const char *bawn_severity_name(enum bawn_severity s)
{
	return s == BAWN_SEV_HIGH ? "high" : "none";
}

#define EXITED(n)   ((n) << 8)
#define SIGNALED(n) (n)

static struct bawn_result ran(int wait_status)
{
	return (struct bawn_result){
		.started = true, .outcome = {.exited = true, .wait_status = wait_status}};
}

TEST(own_status_passes_through)
{
	for (int i = 0; i < 256; i++) {
		struct bawn_result r = ran(EXITED(i));

		ASSERT_EQ(bawn_result_exit(&r), i);
	}
}

TEST(signals_and_limits)
{
	struct bawn_result r = ran(SIGNALED(SIGSEGV));

	ASSERT_EQ(bawn_result_exit(&r), 128 + SIGSEGV);
	r = ran(SIGNALED(SIGKILL));
	r.outcome.limit = BAWN_CTL_LIMIT_TIME;
	ASSERT_EQ(bawn_result_exit(&r), 124);
	r.outcome.limit = BAWN_CTL_LIMIT_MEMORY;
	ASSERT_EQ(bawn_result_exit(&r), 137);
	r.outcome.wait_status = SIGNALED(SIGTERM);
	ASSERT_EQ(bawn_result_exit(&r), 137);
	r = ran(EXITED(3));
	r.outcome.limit = BAWN_CTL_LIMIT_OUTPUT;
	ASSERT_EQ(bawn_result_exit(&r), 137);
	r = ran(0);
	r.outcome.exited = false;
	ASSERT_EQ(bawn_result_exit(&r), 137);
	r.outcome.got_signal = SIGINT;
	ASSERT_EQ(bawn_result_exit(&r), 130);
}

TEST(what_did_not_run)
{
	struct bawn_result r = {0};

	ASSERT_EQ(bawn_result_exit(&r), 125);
	r.error.kind = BAWN_ERR_UNSUPPORTED;
	ASSERT_EQ(bawn_result_exit(&r), 125);
	r.error.kind = BAWN_ERR_BLOCKED;
	ASSERT_EQ(bawn_result_exit(&r), 126);
	r.error.kind = BAWN_ERR_NOTFOUND;
	r.error.err = -ENOENT;
	ASSERT_EQ(bawn_result_exit(&r), 127);
	r.error.err = -EACCES;
	ASSERT_EQ(bawn_result_exit(&r), 126);
	r = (struct bawn_result){.started = true, .outcome = {.exec_errno = ENOENT}};
	ASSERT_EQ(bawn_result_exit(&r), 127);
	r.outcome.exec_errno = EACCES;
	ASSERT_EQ(bawn_result_exit(&r), 126);
	r.outcome.exec_errno = ENOEXEC;
	ASSERT_EQ(bawn_result_exit(&r), 126);
}

static const char *shown(enum limit_unit unit, uint64_t v)
{
	static char text[64];

	limit_print(unit, v, text, sizeof(text));
	return text;
}

TEST(units_for_people)
{
	ASSERT_STREQ(shown(UNIT_BYTES, (uint64_t)512 << 20), "512 MiB");
	ASSERT_STREQ(shown(UNIT_BYTES, (uint64_t)3 << 29), "1.5 GiB");
	ASSERT_STREQ(shown(UNIT_BYTES, 1000), "1000 bytes");
	ASSERT_STREQ(shown(UNIT_BYTES, 0), "0 bytes");
	ASSERT_STREQ(shown(UNIT_BYTES, (1u << 20) - 1), "1023.9 KiB");
	ASSERT_STREQ(shown(UNIT_BYTES, UINT64_MAX - 1), "16777215.9 TiB");
	ASSERT_STREQ(shown(UNIT_BYTES, BAWN_UNLIMITED), "unlimited");
	ASSERT_STREQ(shown(UNIT_MSEC, 30000), "30 s");
	ASSERT_STREQ(shown(UNIT_MSEC, 1500), "1.5 s");
	ASSERT_STREQ(shown(UNIT_MSEC, 600000), "10 min");
	ASSERT_STREQ(shown(UNIT_MSEC, 90000), "90 s");
	ASSERT_STREQ(shown(UNIT_MSEC, 7200000), "2 h");
	ASSERT_STREQ(shown(UNIT_MSEC, 250), "250 ms");
	ASSERT_STREQ(shown(UNIT_MSEC, 0), "0 ms");
	ASSERT_STREQ(shown(UNIT_MILLI, 500), "0.5");
	ASSERT_STREQ(shown(UNIT_COUNT, 512), "512");
}

static json_t *parsed(
	const struct bawn_result *r, const struct bawn_buf *out, const struct bawn_buf *err)
{
	struct bawn_buf b = {0};
	json_error_t je;
	json_t *j;

	ASSERT_EQ(bawn_result_json(r, out, err, &b), 0);
	j = json_loadb(b.data, b.len, JSON_ALLOW_NUL, &je);
	if (!j)
		FAIL("not JSON: %s at %d", je.text, je.position);
	bawn_buf_done(&b);
	return j;
}

static const char *str(json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "(none)";
}

TEST(json_of_nothing)
{
	struct bawn_result r = {0};
	json_t *j = parsed(&r, NULL, NULL);

	ASSERT_STREQ(str(j, "schema"), "bawn/result/v1");
	ASSERT_STREQ(str(j, "status"), "refused");
	ASSERT_EQ(json_integer_value(json_object_get(j, "exit_code")), 125);
	ASSERT_TRUE(json_is_null(json_object_get(j, "limit")));
	ASSERT_TRUE(json_is_null(json_object_get(j, "signal")));
	ASSERT_TRUE(json_is_null(json_object_get(j, "error")));
	ASSERT_TRUE(json_object_get(j, "stdout") == NULL);
	json_decref(j);
}

TEST(json_of_a_full_result)
{
	struct bawn_call call = {.workspace = "/w\"s", .cwd = "/w\"s/\xff", .run_id = "abc"};
	struct bawn_policy policy = {.digest = "d1"};
	struct bawn_plan plan = {.limits = {.memory = 1 << 20}};
	struct bawn_finding f[2] = {
		{.detector = "d", .rule = "r", .level = BAWN_SEV_HIGH, .message = "m\n"}, {0}};
	struct bawn_result r = ran(SIGNALED(SIGKILL));
	json_t *j, *x;

	r.call = &call;
	r.policy = &policy;
	r.plan = &plan;
	r.backend = "native";
	r.demanded = BAWN_CTL_FS_READ | BAWN_CTL_ENV;
	r.enforced = BAWN_CTL_FS_READ;
	r.missing = BAWN_CTL_ENV;
	r.verdict.findings = (struct bawn_findings){.v = f, .n = 2};
	r.outcome.limit = BAWN_CTL_LIMIT_MEMORY;
	r.outcome.out_bytes = 5;
	r.outcome.wall_ms = 12;
	r.outcome.usage.cpu_us = 3000;
	r.outcome.denials[0] = (struct bawn_denial){BAWN_CTL_FS_WRITE, "no\033[2J", 2};
	r.outcome.n_denials = 1;
	r.outcome.denials_total = 2;
	r.notes[0] = "n1";
	r.notes[1] = "n2";
	r.audit_path = "/a";
	j = parsed(&r, NULL, NULL);
	ASSERT_STREQ(str(j, "status"), "limit");
	ASSERT_STREQ(str(j, "limit"), "memory");
	ASSERT_EQ(json_integer_value(json_object_get(j, "limit_value")), 1 << 20);
	ASSERT_EQ(json_integer_value(json_object_get(j, "signal")), SIGKILL);
	ASSERT_STREQ(str(j, "workspace"), "/w\"s");
	ASSERT_STREQ(str(j, "cwd"), "/w\"s/\xef\xbf\xbd");
	ASSERT_STREQ(str(j, "policy_sha256"), "d1");
	ASSERT_EQ(json_integer_value(json_object_get(j, "cpu_ms")), 3);
	x = json_object_get(j, "controls");
	ASSERT_EQ(json_array_size(json_object_get(x, "demanded")), 2);
	ASSERT_STREQ(json_string_value(json_array_get(json_object_get(x, "missing"), 0)), "env");
	x = json_array_get(json_object_get(j, "denials"), 0);
	ASSERT_STREQ(str(x, "control"), "fs.write");
	ASSERT_STREQ(str(x, "text"), "no\033[2J");
	ASSERT_EQ(json_integer_value(json_object_get(x, "count")), 2);
	x = json_object_get(json_object_get(j, "verdict"), "findings");
	ASSERT_EQ(json_array_size(x), 2);
	ASSERT_STREQ(str(json_array_get(x, 0), "level"), "high");
	ASSERT_EQ(json_array_size(json_object_get(j, "notes")), 2);
	json_decref(j);
}

static int digit(char c)
{
	static const char all[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	return (int)(strchr(all, c) - all);
}

/* Byte `i` of what `b64` stands for. */
static int decoded(const char *b64, size_t i)
{
	const char *q = b64 + i / 3 * 4 + i % 3;
	int shift = 2 * (int)(i % 3) + 2;

	return (digit(q[0]) << shift | digit(q[1]) >> (6 - shift)) & 255;
}

static void keeps(char *raw, size_t len)
{
	struct bawn_result r = ran(0);
	struct bawn_buf out = {.data = raw, .len = len};
	json_t *j = parsed(&r, &out, NULL);
	const char *b64 = str(j, "stdout_base64");

	ASSERT_EQ(strlen(b64), (len + 2) / 3 * 4);
	for (size_t i = 0; i < len; i++)
		ASSERT_EQ(decoded(b64, i), (unsigned char)raw[i]);
	ASSERT_EQ(b64[strlen(b64) - 1] == '=', len % 3 != 0);
	json_decref(j);
}

TEST(json_keeps_bytes_that_are_no_text)
{
	static char raw[] = "\xff\0b\xff\xc3\x80";

	for (size_t len = 1; len <= 6; len++)
		keeps(raw, len);
}

TEST(json_text_with_nul)
{
	static char text[] = "gr\xc3\xbc\xc3\x9f\0e";
	struct bawn_result r = ran(0);
	struct bawn_buf err = {.data = text, .len = 8};
	json_t *j = parsed(&r, NULL, &err);
	json_t *x = json_object_get(j, "stderr");

	ASSERT_EQ(json_string_length(x), 8);
	ASSERT_EQ(memcmp(json_string_value(x), text, 8), 0);
	ASSERT_TRUE(json_object_get(j, "stderr_base64") == NULL);
	json_decref(j);
}

TEST(json_of_a_big_capture)
{
	struct bawn_result r = ran(0);
	struct bawn_buf out = {.max = (size_t)64 << 20};
	struct bawn_buf b = {0};
	size_t n = (size_t)16 << 20;

	out.data = malloc(n);
	ASSERT_TRUE(out.data != NULL);
	(void)memset(out.data, 1, n); /* the worst text: six characters each */
	out.len = n;
	ASSERT_EQ(bawn_result_json(&r, &out, NULL, &b), 0);
	ASSERT_TRUE(b.len > 6 * n);
	ASSERT_EQ(b.data[b.len - 1], '}');
	bawn_buf_done(&b);
	bawn_buf_done(&out);
}

static void says(const struct bawn_result *r, const char *want)
{
	struct bawn_buf b = {0};

	ASSERT_EQ(bawn_result_say(r, false, &b), 0);
	ASSERT_STREQ(b.data ? b.data : "", want);
	bawn_buf_done(&b);
}

TEST(nothing_to_say)
{
	struct bawn_result r = ran(EXITED(1));

	says(&r, "");
}

TEST(limits_are_said_with_what_raises_them)
{
	struct bawn_plan plan = {.limits = {.memory = (uint64_t)512 << 20, .time_ms = 30000}};
	struct bawn_result r = ran(SIGNALED(SIGKILL));

	r.plan = &plan;
	r.outcome.limit = BAWN_CTL_LIMIT_MEMORY;
	says(&r, "bawn: killed: the tree used more than 512 MiB of memory (limits.memory, flag "
		 "--memory)\n");
	r.outcome.limit = BAWN_CTL_LIMIT_TIME;
	says(&r, "bawn: killed: the command ran longer than 30 s (limits.time, flag --timeout)\n");
}

TEST(every_limit_has_words)
{
	for (unsigned i = BAWN_CTLI_LIMIT_MEMORY; i <= BAWN_CTLI_LIMIT_OUTPUT; i++) {
		const struct limit_info *li = limit_find(1u << i);

		ASSERT_TRUE(li != NULL);
		ASSERT_STREQ(li->name, bawn_control_name(i) + strlen("limit."));
		ASSERT_TRUE(strstr(li->said, "%s") != NULL);
	}
}

TEST(missing_controls_and_who_permitted_it)
{
	struct bawn_item it = {.text = "fs.protect",
		.from = {.layer = BAWN_LAYER_USER, .file = "/p\033.yaml", .line = 7}};
	struct bawn_policy policy = {.allow_missing = {.v = &it, .n = 1}};
	struct bawn_result r = ran(0);

	r.policy = &policy;
	r.missing = BAWN_CTL_FS_PROTECT;
	says(&r, "bawn: warning: running without fs.protect (agent and git configuration cannot be "
		 "changed), permitted by allow_missing in /p\\x1b.yaml:7\n");
}

TEST(denials_errors_and_notes_are_escaped)
{
	struct bawn_result r = ran(0);

	r.outcome.denials[0] = (struct bawn_denial){BAWN_CTL_FS_WRITE, "write '/x\n\033]52'", 3};
	r.outcome.n_denials = 1;
	r.outcome.denials_total = 5;
	r.notes[0] = "a\rb";
	says(&r, "bawn: denied: write '/x\\n\\x1b]52' (3 times)\n"
		 "bawn: denied: 2 more, not listed\n"
		 "bawn: note: a\\x0db\n");
	r = (struct bawn_result){0};
	(void)bawn_fail(&r.error, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP, "no '%s'", "\033[0m");
	says(&r, "bawn: refused: no '\\x1b[0m'\n");
	(void)bawn_fail(&r.error, BAWN_ERR_BLOCKED, -EPERM, "rule 'x'");
	says(&r, "bawn: blocked: rule 'x'\n");
}

TEST(colour_only_when_asked)
{
	struct bawn_result r = {0};
	struct bawn_buf b = {0};

	(void)bawn_fail(&r.error, BAWN_ERR_BLOCKED, -EPERM, "x");
	ASSERT_EQ(bawn_result_say(&r, true, &b), 0);
	ASSERT_TRUE(!strncmp(b.data, "bawn: ", 6) && strchr(b.data, '\033'));
	bawn_buf_done(&b);
}

TEST(command_that_could_not_be_executed)
{
	const char *const argv[] = {"no\nsuch", NULL};
	struct bawn_call call = {.argv = argv};
	struct bawn_result r = {.started = true, .call = &call, .outcome = {.exec_errno = EACCES}};

	says(&r, "bawn: cannot run: 'no\\nsuch': Permission denied\n");
}
