/* SPDX-License-Identifier: Apache-2.0 */
/* The installed interface, used as an embedder would: only <bawn/bawn.h> and the shared library. */
#include <errno.h>
#include <signal.h>

#include <sys/stat.h>

#include <bawn/bawn.h>

#include "harness.h"

/* Made before the tests are forked and removed after the last of them. */
static char scratch[] = "/tmp/bawn-api-XXXXXX";

__attribute__((constructor)) static void scratch_make(void)
{
	if (!mkdtemp(scratch))
		_exit(1);
}

__attribute__((destructor)) static void scratch_remove(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)execlp("rm", "rm", "-rf", scratch, (char *)NULL);
		_exit(1);
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
}

static void in_workspace(void)
{
	char dir[64];

	(void)snprintf(dir, sizeof(dir), "%s/XXXXXX", scratch);
	ASSERT_TRUE(mkdtemp(dir));
	ASSERT_EQ(chdir(dir), 0);
	ASSERT_EQ(setenv("XDG_STATE_HOME", dir, 1), 0);
	ASSERT_EQ(mkdir("w", 0755), 0);
	ASSERT_EQ(chdir("w"), 0);
}

static struct bawn_report *run(const char *script, const char *const *settings, int expect)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct bawn_options o = {.size = sizeof(o),
		.argv = argv,
		.settings = settings,
		.flags = BAWN_CAPTURE | BAWN_ALONE};
	struct bawn_report *r = NULL;
	int e = bawn_run(&o, &r);

	ASSERT_TRUE(r != NULL);
	if (e != expect)
		FAIL("bawn_run gave %d, expected %d: %s", e, expect, bawn_report_error(r));
	return r;
}

TEST(output_and_status_come_back)
{
	struct bawn_report *r;
	size_t len = 0;

	in_workspace();
	r = run("echo out; echo err >&2; exit 3", NULL, 0);
	ASSERT_EQ(bawn_report_exit(r), 3);
	ASSERT_STREQ(bawn_report_output(r, 1, &len), "out\n");
	ASSERT_EQ(len, 4);
	ASSERT_STREQ(bawn_report_output(r, 2, NULL), "err\n");
	ASSERT_TRUE(strstr(bawn_report_json(r), "\"schema\":\"bawn/result/v1\""));
	bawn_report_free(r);
}

TEST(a_limit_is_named)
{
	static const char *const settings[] = {"limits.time=200ms", NULL};
	struct bawn_report *r;

	in_workspace();
	r = run("sleep 60", settings, 0);
	ASSERT_EQ(bawn_report_exit(r), 124);
	ASSERT_STREQ(bawn_report_limit(r), "time");
	bawn_report_free(r);
}

TEST(bad_settings_are_refused_before_anything_runs)
{
	static const char *const settings[] = {"limits.memroy=1g", NULL};
	struct bawn_report *r;

	in_workspace();
	r = run("touch ran", settings, -EINVAL);
	ASSERT_EQ(bawn_report_exit(r), 125);
	ASSERT_STREQ(bawn_report_error_kind(r), "policy");
	ASSERT_TRUE(strstr(bawn_report_error(r), "memroy"));
	ASSERT_TRUE(access("ran", F_OK) < 0);
	bawn_report_free(r);
}

static int count(void *data, int stream, const char *bytes, size_t len)
{
	size_t *n = data;

	(void)bytes;
	n[stream] += len;
	return 0;
}

TEST(a_sink_sees_every_byte)
{
	const char *const argv[] = {"head", "-c", "1000000", "/dev/zero", NULL};
	size_t n[3] = {0};
	struct bawn_options o = {
		.size = sizeof(o), .argv = argv, .flags = BAWN_ALONE, .output = count, .data = n};
	struct bawn_report *r = NULL;

	in_workspace();
	ASSERT_EQ(bawn_run(&o, &r), 0);
	ASSERT_EQ(n[1], 1000000);
	ASSERT_EQ(n[2], 0);
	bawn_report_free(r);
}

TEST(explain_runs_nothing)
{
	const char *const argv[] = {"touch", "ran", NULL};
	struct bawn_options o = {.size = sizeof(o), .argv = argv, .flags = BAWN_ALONE};
	struct bawn_report *r = NULL;

	in_workspace();
	ASSERT_EQ(bawn_explain(&o, &r), 0);
	ASSERT_TRUE(access("ran", F_OK) < 0);
	ASSERT_TRUE(strstr(bawn_report_json(r), "fs.protect"));
	bawn_report_free(r);
}

TEST(host_policy_and_audit_can_be_asked)
{
	struct bawn_options o = {.size = sizeof(o), .flags = BAWN_ALONE};
	struct bawn_report *r = NULL;

	in_workspace();
	ASSERT_EQ(bawn_probe_host(&r), 0);
	ASSERT_TRUE(strstr(bawn_report_json(r), "\"name\":\"native\""));
	bawn_report_free(r);
	ASSERT_EQ(bawn_show_policy(&o, &r), 0);
	ASSERT_TRUE(strstr(bawn_report_json(r), "limits.memory"));
	bawn_report_free(r);
	bawn_report_free(run("true", NULL, 0));
	ASSERT_EQ(bawn_check_audit(NULL, &r), 0);
	ASSERT_TRUE(strstr(bawn_report_json(r), "\"records\":2"));
	bawn_report_free(r);
}

TEST(another_size_of_the_options_is_refused)
{
	struct bawn_options o = {.size = 1};
	struct bawn_report *r = NULL;

	ASSERT_EQ(bawn_run(&o, &r), -EINVAL);
	ASSERT_STREQ(bawn_report_error_kind(r), "usage");
	bawn_report_free(r);
}

#define TOKEN   \
	"sk_li" \
	"ve_9fK2mQ7xVb3LtR8wZc5YhN4p"

static struct bawn_vetter *vetter(const char *const *settings)
{
	struct bawn_options o = {
		.size = sizeof(o), .settings = settings, .flags = BAWN_ALONE, .tool = "Read"};
	struct bawn_vetter *v = NULL;
	struct bawn_report *why = NULL;

	if (bawn_vetter_new(&o, &v, &why) < 0)
		FAIL("%s", bawn_report_error(why));
	ASSERT_TRUE(!why);
	return v;
}

TEST(buffers_are_vetted)
{
	struct bawn_vet_options o = {.size = sizeof(o), .what = BAWN_CONTENT};
	const char *const settings[] = {"shell.blocked_commands=forbidden", NULL};
	struct bawn_report *r = NULL;
	struct bawn_vetter *v;

	in_workspace();
	v = vetter(settings);
	ASSERT_EQ(bawn_vet(v, &o, "plain words", 11, &r), 0);
	ASSERT_STREQ(bawn_report_verdict(r), "SAFE");
	bawn_report_free(r);
	ASSERT_EQ(bawn_vet(v, &o, "key " TOKEN "\n", strlen(TOKEN) + 5, &r), 0);
	ASSERT_TRUE(strcmp(bawn_report_verdict(r), "SAFE") != 0);
	ASSERT_TRUE(bawn_report_confidence(r) >= 0.3);
	ASSERT_TRUE(strstr(bawn_report_json(r), "\"start\":4,") != NULL);
	ASSERT_TRUE(!strstr(bawn_report_json(r), TOKEN));
	bawn_report_free(r);
	o.what = BAWN_COMMAND;
	ASSERT_EQ(bawn_vet(v, &o, "x; forbidden", 12, &r), 0);
	ASSERT_STREQ(bawn_report_verdict(r), "MALICIOUS");
	bawn_report_free(r);
	o.mode = "sloppy";
	ASSERT_EQ(bawn_vet(v, &o, "x", 1, &r), -EINVAL);
	bawn_report_free(r);
	o.size--;
	ASSERT_EQ(bawn_vet(v, &o, "x", 1, &r), -EINVAL);
	bawn_report_free(r);
	bawn_vetter_free(v);
}

struct passed {
	char text[256];
	size_t n;
};

static int pass(void *data, const char *bytes, size_t n)
{
	struct passed *p = data;

	if (p->n + n >= sizeof(p->text))
		return -ENOBUFS;
	memcpy(p->text + p->n, bytes, n);
	p->n += n;
	return 0;
}

TEST(streams_are_vetted_and_masked)
{
	struct bawn_vet_options o = {.size = sizeof(o), .leaks = BAWN_LEAKS_REDACT};
	struct bawn_report *r = NULL;
	struct passed p = {.n = 0};
	struct bawn_vetter *v;
	const char *text = "one " TOKEN " two";

	in_workspace();
	v = vetter(NULL);
	ASSERT_EQ(bawn_vet_end(v, NULL, NULL, &r), -EINVAL);
	bawn_report_free(r);
	ASSERT_EQ(bawn_vet_begin(v, &o), 0);
	for (size_t i = 0; text[i]; i++)
		ASSERT_EQ(bawn_vet_feed(v, text + i, 1, 0, pass, &p), 0);
	ASSERT_EQ(bawn_vet(v, &o, "x", 1, &r), -EBUSY);
	bawn_report_free(r);
	ASSERT_EQ(bawn_vet_end(v, pass, &p, &r), 0);
	ASSERT_TRUE(strcmp(bawn_report_verdict(r), "SAFE") != 0);
	bawn_report_free(r);
	ASSERT_TRUE(!strncmp(p.text, "one [redacted:secret.", 21));
	ASSERT_TRUE(!strcmp(p.text + p.n - 5, "] two"));
	o.leaks = BAWN_LEAKS_BLOCK;
	ASSERT_EQ(bawn_vet_begin(v, &o), 0);
	p = (struct passed){.n = 0};
	ASSERT_EQ(bawn_vet_feed(v, text, strlen(text), 1, pass, &p), -EACCES);
	ASSERT_EQ(bawn_vet_end(v, pass, &p, &r), -EACCES);
	ASSERT_STREQ(bawn_report_error_kind(r), "blocked");
	ASSERT_STREQ(p.text, "one ");
	bawn_report_free(r);
	bawn_vetter_free(v);
}

TEST(a_vetter_with_a_bad_policy)
{
	const char *const settings[] = {"limits.memory=lots", NULL};
	struct bawn_options o = {.size = sizeof(o), .settings = settings, .flags = BAWN_ALONE};
	struct bawn_vetter *v = NULL;
	struct bawn_report *why = NULL;

	in_workspace();
	ASSERT_TRUE(bawn_vetter_new(&o, &v, &why) < 0);
	ASSERT_TRUE(!v && why);
	ASSERT_STREQ(bawn_report_error_kind(why), "policy");
	bawn_report_free(why);
	bawn_vetter_free(NULL);
}

TEST(wrong_arguments_are_refused_with_a_reason)
{
	const char *const argv[] = {"true", NULL};
	struct bawn_options o = {.size = sizeof(o), .argv = argv, .flags = BAWN_ALONE};
	struct bawn_report *r = NULL;
	struct bawn_vetter *v = NULL;

	in_workspace();
	ASSERT_EQ(bawn_run(NULL, &r), -EINVAL);
	ASSERT_STREQ(bawn_report_error_kind(r), "usage");
	bawn_report_free(r);
	ASSERT_EQ(bawn_run(&o, NULL), -EINVAL);
	o.flags |= 1u << 20;
	ASSERT_EQ(bawn_run(&o, &r), -EINVAL);
	ASSERT_TRUE(strstr(bawn_report_error(r), "flags") != NULL);
	bawn_report_free(r);
	ASSERT_EQ(bawn_vetter_new(NULL, &v, &r), -EINVAL);
	ASSERT_TRUE(!v);
	bawn_report_free(r);
	o = (struct bawn_options){.size = 8};
	ASSERT_EQ(bawn_vetter_new(&o, &v, &r), -EINVAL);
	bawn_report_free(r);
	o = (struct bawn_options){.size = sizeof(o), .flags = BAWN_ALONE};
	ASSERT_EQ(bawn_vetter_new(&o, &v, &r), 0);
	ASSERT_EQ(bawn_vet(v, NULL, "x", 1, &r), -EINVAL);
	bawn_report_free(r);
	ASSERT_EQ(bawn_vet_begin(v, NULL), -EINVAL);
	struct bawn_vet_options what = {.size = sizeof(what)};
	ASSERT_EQ(bawn_vet(v, &what, NULL, 0, &r), 0);
	ASSERT_STREQ(bawn_report_verdict(r), "SAFE");
	bawn_report_free(r);
	ASSERT_EQ(bawn_vet(v, &what, NULL, 5, &r), -EINVAL);
	ASSERT_TRUE(strstr(bawn_report_error(r), "bytes") != NULL);
	bawn_report_free(r);
	ASSERT_EQ(bawn_vet(NULL, &what, "x", 1, &r), -EINVAL);
	bawn_report_free(r);
	ASSERT_EQ(bawn_vet_begin(NULL, &what), -EINVAL);
	ASSERT_EQ(bawn_vet_feed(NULL, "x", 1, 0, NULL, NULL), -EINVAL);
	ASSERT_EQ(bawn_vet_end(NULL, NULL, NULL, &r), -EINVAL);
	bawn_report_free(r);
	ASSERT_EQ(bawn_vet_begin(v, &what), 0);
	ASSERT_EQ(bawn_vet_feed(v, NULL, 5, 0, NULL, NULL), -EINVAL);
	ASSERT_EQ(bawn_vet_feed(v, NULL, 0, 1, NULL, NULL), 0);
	ASSERT_EQ(bawn_vet_end(v, NULL, NULL, &r), 0);
	bawn_report_free(r);
	bawn_vetter_free(v);
	ASSERT_STREQ(bawn_report_json(NULL), "{}");
	ASSERT_STREQ(bawn_report_error(NULL), "out of memory");
	ASSERT_EQ(bawn_report_exit(NULL), 125);
}

/* However many weak findings come first. */
TEST(nothing_hides_behind_many_others)
{
	static const char *const policies[] = {"weak.yaml", NULL};
	static const char token[] = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\n";
	struct bawn_options o = {.size = sizeof(o), .flags = BAWN_ALONE, .policy_files = policies};
	struct bawn_vet_options what = {.size = sizeof(what)};
	struct bawn_report *r = NULL;
	struct bawn_vetter *v = NULL;
	FILE *f;

	in_workspace();
	f = fopen("weak.yaml", "we");
	ASSERT_TRUE(f && fputs("rules:\n", f) > 0);
	for (int i = 100; i < 200; i++)
		ASSERT_TRUE(fprintf(f, "  x%d: {pattern: weak%d, confidence: 0.05}\n", i, i) > 0);
	ASSERT_EQ(fclose(f), 0);
	if (bawn_vetter_new(&o, &v, &r) < 0)
		FAIL("%s", bawn_report_error(r));
	ASSERT_EQ(bawn_vet_begin(v, &what), 0);
	for (int i = 0; i < 5000; i++) {
		char line[16];
		int n = snprintf(line, sizeof(line), "weak%d\n", 100 + i % 100);

		ASSERT_EQ(bawn_vet_feed(v, line, (size_t)n, i % 100 == 99, NULL, NULL), 0);
	}
	ASSERT_EQ(bawn_vet_feed(v, token, sizeof(token) - 1, 1, NULL, NULL), 0);
	ASSERT_EQ(bawn_vet_end(v, NULL, NULL, &r), 0);
	ASSERT_TRUE(strstr(bawn_report_json(r), "github-token") != NULL);
	bawn_report_free(r);
	bawn_vetter_free(v);
}

TEST(children_may_be_ignored)
{
	static const char *const settings[] = {"limits.time=20s", NULL};
	struct bawn_report *r;

	in_workspace();
	(void)signal(SIGCHLD, SIG_IGN);
	r = run("sh -c true; echo text; exit 3", settings, 0);
	ASSERT_EQ(bawn_report_exit(r), 3);
	ASSERT_STREQ(bawn_report_output(r, 1, NULL), "text\n");
	bawn_report_free(r);
}
