/* SPDX-License-Identifier: Apache-2.0 */
/* What the policy forbids or allows in code really counts; every finding has a violation type. */
#include "harness.h"
#include "inspect/code/violations.h"
#include "inspect/inspect.h"

static struct bawn_findings scan(struct bawn_policy *p, enum bawn_lang lang, const char *text)
{
	struct bawn_findings f = {0};
	struct bawn_error err = {0};
	struct bawn_subject sub = {
		.kind = BAWN_KIND_CODE,
		.lang = lang,
		.detect = BAWN_DETECT_CODE | BAWN_DETECT_COMMAND,
		.text = text,
		.len = strlen(text),
		.last = true,
	};

	if (bawn_scan_subject(bawn_arena_new(), p, &sub, &f, &err) < 0)
		FAIL("%s", err.msg);
	return f;
}

static const struct bawn_finding *found(const struct bawn_findings *f, const char *rule)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->v[i].rule, rule) == 0)
			return &f->v[i];
	return NULL;
}

static struct bawn_items one(const char *text)
{
	struct bawn_item *v = calloc(1, sizeof(*v));

	ASSERT_TRUE(v != NULL);
	v->text = v->raw = text;
	return (struct bawn_items){.v = v, .n = 1, .cap = 1};
}

TEST(modules)
{
	struct bawn_policy p = {.code_modules = one("os")};
	struct bawn_findings f = scan(&p, BAWN_LANG_PYTHON, "x = 1\nimport os.path as q\n");
	const struct bawn_finding *x = found(&f, "code.blocked-module");

	ASSERT_TRUE(x != NULL);
	ASSERT_STREQ(bawn_violation_type(x), "blocked_module");
	ASSERT_TRUE(x->start >= 6);
	f = scan(&p, BAWN_LANG_PYTHON, "import ostrich\n");
	ASSERT_TRUE(!found(&f, "code.blocked-module"));
	p.code_modules = one("os/exec");
	f = scan(&p, BAWN_LANG_GO, "package p\nimport x \"os/exec\"\n");
	ASSERT_TRUE(found(&f, "code.blocked-module") != NULL);
	p.code_modules = one("fs");
	f = scan(&p, BAWN_LANG_JAVASCRIPT, "import {a} from 'node:fs';\n");
	ASSERT_TRUE(found(&f, "code.blocked-module") != NULL);
}

TEST(functions)
{
	struct bawn_policy p = {.code_functions = one("os.getcwd")};
	struct bawn_findings f = scan(&p, BAWN_LANG_PYTHON, "from os import getcwd as g\ng()\n");

	ASSERT_TRUE(found(&f, "code.blocked-function") != NULL);
	ASSERT_STREQ(bawn_violation_type(found(&f, "code.blocked-function")), "blocked_function");
	f = scan(&p, BAWN_LANG_PYTHON, "import os\nos.getpid()\n");
	ASSERT_TRUE(!found(&f, "code.blocked-function"));
	p.code_functions = one("curl");
	f = scan(&p, BAWN_LANG_BASH, "ls; /usr/bin/curl http://h.example\n");
	ASSERT_TRUE(found(&f, "code.blocked-function") != NULL);
	f = scan(&p, BAWN_LANG_BASH, "echo curl\n");
	ASSERT_TRUE(!found(&f, "code.blocked-function"));
}

/* Where each finding of the rule starts, as "0 4 ". */
static const char *places(const struct bawn_findings *f, const char *rule)
{
	static char out[128];
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->v[i].rule, rule) == 0)
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%zu ", f->v[i].start);
	return out;
}

TEST(modules_that_are_loaded_by_name)
{
	static const char *const js[] = {"const cp = require('child_process'); cp.exec('ls')\n",
		"const {exec} = require('node:child_process');\n",
		"import('child_process').then(m => m)\n", "x = 'child_' + 'process'; require(x)\n"};
	struct bawn_policy p = {.code_modules = one("child_process")};
	struct bawn_findings f;

	for (size_t i = 0; i < sizeof(js) / sizeof(js[0]); i++) {
		f = scan(&p, BAWN_LANG_JAVASCRIPT, js[i]);
		if (!found(&f, "code.blocked-module"))
			FAIL("not found in: %s", js[i]);
	}
	f = scan(&p, BAWN_LANG_JAVASCRIPT, "require('child_process_x'); f('child_process')\n");
	ASSERT_TRUE(!found(&f, "code.blocked-module"));
	p.code_modules = one("subprocess");
	f = scan(&p, BAWN_LANG_PYTHON, "import importlib\nimportlib.import_module('subprocess')\n");
	ASSERT_TRUE(found(&f, "code.blocked-module") != NULL);
	f = scan(&p, BAWN_LANG_PYTHON, "__import__('subprocess').run('ls')\n");
	ASSERT_TRUE(found(&f, "code.blocked-module") != NULL);
}

TEST(functions_of_go_as_go_writes_them)
{
	struct bawn_policy p = {.code_functions = one("exec.Command")};
	struct bawn_findings f = scan(&p, BAWN_LANG_GO,
		"package p\nimport \"os/exec\"\nfunc f() { exec.Command(\"ls\") }\n");

	ASSERT_TRUE(found(&f, "code.blocked-function") != NULL);
	f = scan(&p, BAWN_LANG_GO,
		"package p\nimport \"my/myexec\"\nfunc f() { myexec.Command(\"ls\") }\n");
	ASSERT_TRUE(!found(&f, "code.blocked-function"));
}

TEST(commands_of_scripts_each_where_it_stands)
{
	static const struct {
		const char *script, *places;
	} cases[] = {
		{"ls\nnc a\nls; nc b\n", "3 12 "},
		{"bash -c 'nc a'\n", "0 "},
		{"ls\neval \"nc a\"\n", "3 "},
		{"x=nc; $x a\n", "6 "},
		{"sudo nc a\n", "0 "},
		{"f() { nc a; }\n", "6 "},
		{"echo nc # nc\n", ""},
	};
	struct bawn_policy p = {.code_functions = one("nc")};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bawn_findings f = scan(&p, BAWN_LANG_BASH, cases[i].script);
		const char *at = places(&f, "code.blocked-function");

		if (strcmp(at, cases[i].places) != 0)
			FAIL("'%s': at '%s', not at '%s'", cases[i].script, at, cases[i].places);
	}
	p.code_functions = one("sudo");
	struct bawn_findings f = scan(&p, BAWN_LANG_BASH, "sudo nc a\n");
	ASSERT_STREQ(places(&f, "code.blocked-function"), "0 ");
}

TEST(patterns)
{
	struct bawn_policy p = {.code_patterns = one("sec.et")};
	struct bawn_findings f = scan(&p, BAWN_LANG_PYTHON, "a = 1\nsecret = 2\n");
	const struct bawn_finding *x = found(&f, "code.blocked-pattern");

	ASSERT_TRUE(x != NULL);
	ASSERT_EQ(x->start, 6);
	ASSERT_EQ(x->end, 12);
	p.code_patterns = one("(a+)+$");
	f = scan(&p, BAWN_LANG_PYTHON,
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab = 1\n");
	ASSERT_TRUE(found(&f, "code.blocked-pattern") != NULL); /* reaching the limit is a match */
}

TEST(allowed_paths)
{
	struct bawn_policy p = {.thr_suspicious = 0.3};
	const char *text = "open('/home/u/.aws/config').read()\n";
	struct bawn_findings f = scan(&p, BAWN_LANG_PYTHON, text);

	ASSERT_TRUE(found(&f, "code.credential-read") != NULL);
	p.code_paths = one("/home/*/.aws/config");
	f = scan(&p, BAWN_LANG_PYTHON, text);
	ASSERT_TRUE(!found(&f, "code.credential-read"));
	f = scan(&p, BAWN_LANG_PYTHON, "open('/home/u/.aws/config/../credentials').read()\n");
	ASSERT_TRUE(found(&f, "code.credential-read") != NULL);
}

TEST(types)
{
	struct bawn_finding f = {.category = "exfiltration"};

	ASSERT_STREQ(bawn_violation_type(&f), "network_access");
	f.category = "destruction";
	ASSERT_STREQ(bawn_violation_type(&f), "file_access");
	f.category = "execution";
	ASSERT_STREQ(bawn_violation_type(&f), "system_call");
	f.category = "dangerous_pattern";
	ASSERT_STREQ(bawn_violation_type(&f), "dangerous_pattern");
}

TEST(too_large_is_never_safe)
{
	size_t n = (size_t)5 << 20;
	char *text = malloc(n + 1);
	struct bawn_findings f;

	ASSERT_TRUE(text != NULL);
	memset(text, '\n', n);
	text[n] = '\0';
	f = scan(NULL, BAWN_LANG_PYTHON, text);
	ASSERT_TRUE(found(&f, "scan.budget") != NULL);
	free(text);
}
