/* SPDX-License-Identifier: Apache-2.0 */
/* JavaScript, and TypeScript as far as this grammar goes: what its tree says, what its libraries
 * do. */
#include <string.h>

#include "inspect/code/code.h"

const TSLanguage *tree_sitter_javascript(void);

static const struct code_name kinds[] = {
	{"arguments", CODE_ARGS},
	{"array", CODE_LIST},
	{"array_pattern", CODE_PATTERN},
	{"arrow_function", CODE_FUNC},
	{"assignment_expression", CODE_ASSIGN},
	{"assignment_pattern", CODE_LIST},
	{"augmented_assignment_expression", CODE_AUGMENT},
	{"await_expression", CODE_PASS},
	{"binary_expression", CODE_BINARY},
	{"call_expression", CODE_CALL},
	{"class", CODE_CLASS},
	{"class_declaration", CODE_CLASS},
	{"comment", CODE_COMMENT},
	{"computed_property_name", CODE_PASS},
	{"escape_sequence", CODE_ESCAPE},
	{"expression_statement", CODE_STATEMENT},
	{"false", CODE_IDENT},
	{"for_in_statement", CODE_FOR_IN},
	{"formal_parameters", CODE_PARAMS},
	{"function_declaration", CODE_FUNC},
	{"function_expression", CODE_FUNC},
	{"generator_function", CODE_FUNC},
	{"generator_function_declaration", CODE_FUNC},
	{"identifier", CODE_IDENT},
	{"import", CODE_IDENT},
	{"import_clause", CODE_LIST},
	{"import_specifier", CODE_ALIAS},
	{"import_statement", CODE_IMPORT},
	{"member_expression", CODE_ATTR},
	{"method_definition", CODE_FUNC},
	{"named_imports", CODE_LIST},
	{"namespace_import", CODE_LIST},
	{"new_expression", CODE_NEW},
	{"null", CODE_IDENT},
	{"number", CODE_NUMBER},
	{"object", CODE_DICT},
	{"object_pattern", CODE_PATTERN},
	{"pair", CODE_PAIR},
	{"pair_pattern", CODE_PAIR},
	{"parenthesized_expression", CODE_PASS},
	{"property_identifier", CODE_IDENT},
	{"regex", CODE_REGEX},
	{"rest_pattern", CODE_LIST},
	{"return_statement", CODE_RETURN},
	{"sequence_expression", CODE_PASS},
	{"shorthand_property_identifier", CODE_IDENT},
	{"shorthand_property_identifier_pattern", CODE_IDENT},
	{"spread_element", CODE_PASS},
	{"statement_block", CODE_BLOCK},
	{"string", CODE_STRING},
	{"string_fragment", CODE_CONTENT},
	{"subscript_expression", CODE_INDEX},
	{"super", CODE_IDENT},
	{"template_string", CODE_STRING},
	{"template_substitution", CODE_INTERP},
	{"ternary_expression", CODE_TERNARY},
	{"this", CODE_IDENT},
	{"true", CODE_IDENT},
	{"undefined", CODE_IDENT},
	{"variable_declarator", CODE_ASSIGN},
	{"yield_expression", CODE_PASS},
};

static const struct code_known known[] = {
	{"$.ajax", CODE_OP_SEND, CODE_T_NET, true},
	{"$.get", CODE_OP_SEND, CODE_T_NET, true},
	{"$.post", CODE_OP_SEND, CODE_T_NET, true},
	{".add", CODE_OP_INTO, 0, false},
	{".append", CODE_OP_INTO, 0, false},
	{".apply", CODE_OP_CALLEE, 0, false},
	{".arrayBuffer", CODE_OP_SAME, 0, false},
	{".bind", CODE_OP_CALLEE, 0, false},
	{".body", CODE_OP_SAME, 0, false},
	{".buffer", CODE_OP_SAME, 0, false},
	{".call", CODE_OP_CALLEE, 0, false},
	{".catch", CODE_OP_SAME, 0, false},
	{".concat", CODE_OP_SAME, 0, false},
	{".data", CODE_OP_SAME, 0, false},
	{".digest", CODE_OP_NONE, 0, true},
	{".end", CODE_OP_INTO, 0, false},
	{".endsWith", CODE_OP_NONE, 0, true},
	{".filter", CODE_OP_SAME, 0, false},
	{".finally", CODE_OP_SAME, 0, false},
	{".flat", CODE_OP_SAME, 0, false},
	{".includes", CODE_OP_NONE, 0, true},
	{".indexOf", CODE_OP_NONE, 0, true},
	{".join", CODE_OP_JOIN_SEP, 0, false},
	{".json", CODE_OP_SAME, 0, false},
	{".map", CODE_OP_SAME, 0, false},
	{".match", CODE_OP_NONE, 0, true},
	{".push", CODE_OP_INTO, 0, false},
	{".replace", CODE_OP_REPLACE, 0, false},
	{".replaceAll", CODE_OP_REPLACE, 0, false},
	{".reverse", CODE_OP_REVERSE, 0, false},
	{".send", CODE_OP_SEND, CODE_T_NET, true},
	{".sendMail", CODE_OP_SEND, CODE_T_NET, true},
	{".sendMessage", CODE_OP_SEND, CODE_T_NET, true},
	{".set", CODE_OP_INTO, 0, false},
	{".slice", CODE_OP_SAME, 0, false},
	{".split", CODE_OP_SAME, 0, false},
	{".startsWith", CODE_OP_NONE, 0, true},
	{".test", CODE_OP_NONE, 0, true},
	{".text", CODE_OP_SAME, 0, false},
	{".then", CODE_OP_SAME, 0, false},
	{".toLowerCase", CODE_OP_SAME, 0, false},
	{".toString", CODE_OP_SAME, 0, false},
	{".toUpperCase", CODE_OP_SAME, 0, false},
	{".trim", CODE_OP_SAME, 0, false},
	{".unshift", CODE_OP_INTO, 0, false},
	{".valueOf", CODE_OP_SAME, 0, false},
	{".write", CODE_OP_INTO, 0, false},
	{"Array.from", CODE_OP_SAME, 0, false},
	{"Boolean", CODE_OP_NONE, 0, true},
	{"Buffer", CODE_OP_BUFFER, 0, false},
	{"Buffer.from", CODE_OP_BUFFER, 0, false},
	{"Bun.spawn", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"CryptoJS.AES.decrypt", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"Deno.run", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"Function", CODE_OP_EVAL, 0, true},
	{"JSON.parse", CODE_OP_SAME, 0, false},
	{"JSON.stringify", CODE_OP_SAME, 0, false},
	{"Number", CODE_OP_NONE, 0, true},
	{"Object.assign", CODE_OP_SAME, 0, false},
	{"Object.entries", CODE_OP_SAME, 0, false},
	{"Object.keys", CODE_OP_SAME, 0, false},
	{"Object.values", CODE_OP_SAME, 0, false},
	{"Promise.all", CODE_OP_SAME, 0, false},
	{"Promise.resolve", CODE_OP_SAME, 0, false},
	{"Reflect.get", CODE_OP_GETATTR, 0, false},
	{"String", CODE_OP_SAME, 0, false},
	{"String.fromCharCode", CODE_OP_CHARS, CODE_T_HIDDEN, false},
	{"String.fromCodePoint", CODE_OP_CHARS, CODE_T_HIDDEN, false},
	{"WebSocket", CODE_OP_SEND, CODE_T_NET, true},
	{"XMLHttpRequest", CODE_OP_SEND, CODE_T_NET, true},
	{"atob", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"axios", CODE_OP_SEND, CODE_T_NET, true},
	{"axios.create().get", CODE_OP_SEND, CODE_T_NET, true},
	{"axios.create().post", CODE_OP_SEND, CODE_T_NET, true},
	{"axios.create().put", CODE_OP_SEND, CODE_T_NET, true},
	{"axios.default.get", CODE_OP_SEND, CODE_T_NET, true},
	{"axios.default.post", CODE_OP_SEND, CODE_T_NET, true},
	{"axios.get", CODE_OP_SEND, CODE_T_NET, true},
	{"axios.post", CODE_OP_SEND, CODE_T_NET, true},
	{"axios.put", CODE_OP_SEND, CODE_T_NET, true},
	{"axios.request", CODE_OP_SEND, CODE_T_NET, true},
	{"bent", CODE_OP_SEND, CODE_T_NET, true},
	{"btoa", CODE_OP_SAME, 0, false},
	{"buffer.Buffer.from", CODE_OP_BUFFER, 0, false},
	{"child_process.exec", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"child_process.exec().exec", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"child_process.execFile", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"child_process.execFileSync", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"child_process.execSync", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"child_process.fork", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"child_process.spawn", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"child_process.spawnSync", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"clipboardy.read", CODE_OP_NONE, CODE_T_CLIP, true},
	{"clipboardy.readSync", CODE_OP_NONE, CODE_T_CLIP, true},
	{"console.log", CODE_OP_NONE, 0, true},
	{"createRequire()", CODE_OP_IMPORT, 0, false},
	{"cross-fetch", CODE_OP_SEND, CODE_T_NET, true},
	{"cross-spawn", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"cross-spawn.spawn", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"crypto-js.AES.decrypt", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"crypto.createDecipher", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"crypto.createDecipheriv", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"ctx.query", CODE_OP_NONE, CODE_T_USER, false},
	{"ctx.request.body", CODE_OP_NONE, CODE_T_USER, false},
	{"decodeURI", CODE_OP_PERCENT, 0, false},
	{"decodeURIComponent", CODE_OP_PERCENT, 0, false},
	{"desktop-screenshot", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"dgram.createSocket", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.Resolver().resolve", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.Resolver().resolve4", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.Resolver().resolveTxt", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.lookup", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.promises.lookup", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.promises.resolve", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.promises.resolve4", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.promises.resolveTxt", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.resolve", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.resolve4", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.resolveTxt", CODE_OP_SEND, CODE_T_NET, true},
	{"document.cookie", CODE_OP_NONE, CODE_T_CRED, true},
	{"document.location", CODE_OP_NONE, CODE_T_USER, false},
	{"electron.clipboard.readText", CODE_OP_NONE, CODE_T_CLIP, true},
	{"encodeURIComponent", CODE_OP_SAME, 0, false},
	{"escape", CODE_OP_SAME, 0, false},
	{"eval", CODE_OP_EVAL, 0, true},
	{"event.data", CODE_OP_NONE, CODE_T_USER, false},
	{"execAsync", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"execSync", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"execa", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"execa.command", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"execa.commandSync", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"execa.execa", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"fetch", CODE_OP_SEND, CODE_T_NET, true},
	{"fs-extra.readFileSync", CODE_OP_NONE, CODE_T_FILE, false},
	{"fs.createReadStream", CODE_OP_NONE, CODE_T_FILE, false},
	{"fs.existsSync", CODE_OP_NONE, 0, true},
	{"fs.promises.readFile", CODE_OP_NONE, CODE_T_FILE, false},
	{"fs.readFile", CODE_OP_NONE, CODE_T_FILE, false},
	{"fs.readFileSync", CODE_OP_NONE, CODE_T_FILE, false},
	{"fs.readdir", CODE_OP_NONE, CODE_T_FILE, false},
	{"fs.readdirSync", CODE_OP_NONE, CODE_T_FILE, false},
	{"fs/promises.readFile", CODE_OP_NONE, CODE_T_FILE, false},
	{"global.eval", CODE_OP_EVAL, 0, true},
	{"global.fetch", CODE_OP_SEND, CODE_T_NET, true},
	{"globalThis.eval", CODE_OP_EVAL, 0, true},
	{"globalThis.fetch", CODE_OP_SEND, CODE_T_NET, true},
	{"got", CODE_OP_SEND, CODE_T_NET, true},
	{"got.get", CODE_OP_SEND, CODE_T_NET, true},
	{"got.post", CODE_OP_SEND, CODE_T_NET, true},
	{"http.get", CODE_OP_SEND, CODE_T_NET, true},
	{"http.request", CODE_OP_SEND, CODE_T_NET, true},
	{"http2.connect().request", CODE_OP_SEND, CODE_T_NET, true},
	{"https.get", CODE_OP_SEND, CODE_T_NET, true},
	{"https.request", CODE_OP_SEND, CODE_T_NET, true},
	{"import", CODE_OP_IMPORT, 0, false},
	{"iohook.on", CODE_OP_NONE, CODE_T_KEYS, true},
	{"isNaN", CODE_OP_NONE, 0, true},
	{"jQuery.get", CODE_OP_SEND, CODE_T_NET, true},
	{"jQuery.post", CODE_OP_SEND, CODE_T_NET, true},
	{"js-base64.Base64.decode", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"ky", CODE_OP_SEND, CODE_T_NET, true},
	{"ky.get", CODE_OP_SEND, CODE_T_NET, true},
	{"ky.post", CODE_OP_SEND, CODE_T_NET, true},
	{"ky.put", CODE_OP_SEND, CODE_T_NET, true},
	{"localStorage.getItem", CODE_OP_NONE, CODE_T_CRED, true},
	{"location.hash", CODE_OP_NONE, CODE_T_USER, false},
	{"location.search", CODE_OP_NONE, CODE_T_USER, false},
	{"module._load", CODE_OP_IMPORT, 0, false},
	{"module.constructor._load", CODE_OP_IMPORT, 0, false},
	{"module.require", CODE_OP_IMPORT, 0, false},
	{"navigator.clipboard.readText", CODE_OP_NONE, CODE_T_CLIP, true},
	{"navigator.sendBeacon", CODE_OP_SEND, CODE_T_NET, true},
	{"needle", CODE_OP_SEND, CODE_T_NET, true},
	{"needle.get", CODE_OP_SEND, CODE_T_NET, true},
	{"needle.post", CODE_OP_SEND, CODE_T_NET, true},
	{"net.Socket", CODE_OP_SEND, CODE_T_NET, true},
	{"net.connect", CODE_OP_SEND, CODE_T_NET, true},
	{"net.createConnection", CODE_OP_SEND, CODE_T_NET, true},
	{"node-fetch", CODE_OP_SEND, CODE_T_NET, true},
	{"node-global-key-listener.GlobalKeyboardListener", CODE_OP_NONE, CODE_T_KEYS, true},
	{"node-pty.spawn", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.homedir", CODE_OP_HOME, 0, true},
	{"os.hostname", CODE_OP_NONE, CODE_T_HOST, true},
	{"os.networkInterfaces", CODE_OP_NONE, CODE_T_HOST, true},
	{"os.release", CODE_OP_NONE, CODE_T_HOST, true},
	{"os.tmpdir", CODE_OP_NONE, CODE_T_TEMP, true},
	{"os.userInfo", CODE_OP_NONE, CODE_T_HOST, true},
	{"os.userInfo().username", CODE_OP_NONE, CODE_T_HOST, true},
	{"parseInt", CODE_OP_NONE, 0, true},
	{"path.join", CODE_OP_PATH, 0, false},
	{"path.normalize", CODE_OP_SAME, 0, false},
	{"path.resolve", CODE_OP_SAME, 0, false},
	{"phin", CODE_OP_SEND, CODE_T_NET, true},
	{"process.argv", CODE_OP_NONE, CODE_T_CLI, false},
	{"process.env", CODE_OP_NONE, CODE_T_ENV, false},
	{"process.mainModule.require", CODE_OP_IMPORT, 0, false},
	{"promisify()", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"querystring.stringify", CODE_OP_SAME, 0, false},
	{"req.body", CODE_OP_NONE, CODE_T_USER, false},
	{"req.headers", CODE_OP_NONE, CODE_T_USER, false},
	{"req.params", CODE_OP_NONE, CODE_T_USER, false},
	{"req.query", CODE_OP_NONE, CODE_T_USER, false},
	{"request", CODE_OP_SEND, CODE_T_NET, true},
	{"request.body", CODE_OP_NONE, CODE_T_USER, false},
	{"request.get", CODE_OP_SEND, CODE_T_NET, true},
	{"request.post", CODE_OP_SEND, CODE_T_NET, true},
	{"request.query", CODE_OP_NONE, CODE_T_USER, false},
	{"require", CODE_OP_IMPORT, 0, false},
	{"robotjs.screen.capture", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"screenshot-desktop", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"self.fetch", CODE_OP_SEND, CODE_T_NET, true},
	{"shelljs.exec", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"socket.io-client().emit", CODE_OP_SEND, CODE_T_NET, true},
	{"spawn", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"spawnSync", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"superagent.get", CODE_OP_SEND, CODE_T_NET, true},
	{"superagent.post", CODE_OP_SEND, CODE_T_NET, true},
	{"superagent.put", CODE_OP_SEND, CODE_T_NET, true},
	{"tls.connect", CODE_OP_SEND, CODE_T_NET, true},
	{"undici.fetch", CODE_OP_SEND, CODE_T_NET, true},
	{"undici.request", CODE_OP_SEND, CODE_T_NET, true},
	{"unescape", CODE_OP_PERCENT, 0, false},
	{"util.inspect", CODE_OP_SAME, 0, false},
	{"util.promisify()", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"vm.Script", CODE_OP_EVAL, 0, true},
	{"vm.compileFunction", CODE_OP_EVAL, 0, true},
	{"vm.runInContext", CODE_OP_EVAL, 0, true},
	{"vm.runInNewContext", CODE_OP_EVAL, 0, true},
	{"vm.runInThisContext", CODE_OP_EVAL, 0, true},
	{"window.atob", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"window.eval", CODE_OP_EVAL, 0, true},
	{"window.fetch", CODE_OP_SEND, CODE_T_NET, true},
	{"window.location.hash", CODE_OP_NONE, CODE_T_USER, false},
	{"ws", CODE_OP_SEND, CODE_T_NET, true},
	{"zlib.brotliDecompressSync", CODE_OP_NONE, CODE_T_DECODED, false},
	{"zlib.gunzipSync", CODE_OP_NONE, CODE_T_DECODED, false},
	{"zlib.inflateRawSync", CODE_OP_NONE, CODE_T_DECODED, false},
	{"zlib.inflateSync", CODE_OP_NONE, CODE_T_DECODED, false},
	{"zlib.unzipSync", CODE_OP_NONE, CODE_T_DECODED, false},
};

static const char *module_name(const struct code_val *v)
{
	return v && v->str ? (strncmp(v->str, "node:", 5) == 0 ? v->str + 5 : v->str) : "";
}

static void import_name(struct code_walk *w, const char *module, const struct code_val *x)
{
	const struct code_val *from = x, *local = x;
	struct code_val v = {.name = module};

	if (x->kind == CODE_ALIAS && x->n) {
		from = &x->items[0];
		local = &x->items[x->n - 1];
		v.name = bawn_arena_printf(
				 w->a, "%.100s.%.80s", module, code_text(w, from->start, from->end))
				 ?: "";
	}
	v.taint = code_taint_of_name(w, v.name);
	(void)code_var_set(w, 0, w->text + local->start, local->end - local->start, &v);
}

static void import(struct code_walk *w, const struct code_val *c, size_t n)
{
	const struct code_val *source = code_child(c, n, CODE_F_SOURCE);
	const char *module = module_name(source);

	if (!*module)
		return;
	code_event(w, "import", module, NULL, 0, source);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; c[i].kind == CODE_LIST && k < c[i].n; k++) {
			const struct code_val *x = &c[i].items[k];

			if (x->kind == CODE_IDENT)
				import_name(w, module, x);
			for (uint32_t j = 0; x->kind == CODE_LIST && j < x->n; j++)
				import_name(w, module, &x->items[j]);
		}
}

/* const {a, b: c} = require("x"): members of the module. */
static bool destructure(struct code_walk *w, const struct code_val *c, size_t n)
{
	const struct code_val *l = code_child(c, n, CODE_F_NAME),
			      *r = code_child(c, n, CODE_F_VALUE);

	if (!l || !r || l->kind != CODE_PATTERN || w->text[l->start] != '{' || !*r->name)
		return false;
	for (uint32_t i = 0; i < l->n; i++) {
		const struct code_val *x = &l->items[i];
		struct code_val v = {
			.name = "", .taint = r->taint, .flags = r->flags & CODE_V_HIDDEN};
		const char *key = x->key ? x->key : code_text(w, x->start, x->end);
		const char *s = w->text + x->start;
		size_t len = x->end - x->start;

		if (x->kind != CODE_PAIR && x->kind != CODE_IDENT)
			continue;
		if (x->kind == CODE_PAIR) {
			const char *colon = memchr(s, ':', len);

			if (!colon)
				continue;
			len -= (size_t)(colon + 1 - s);
			s = colon + 1;
			while (len && *s == ' ')
				s++, len--;
		}
		v.name = bawn_arena_printf(w->a, "%.100s.%.80s", r->name, key) ?: "";
		v.taint |= code_taint_of_name(w, v.name);
		(void)code_var_set(w, w->scope, s, len, &v);
	}
	return true;
}

static void unicode_escape(const char *s, size_t len, size_t *i, struct bawn_buf *b)
{
	unsigned x = 0;
	size_t k = *i + 2, digits = 0, want = s[*i + 1] == 'x' ? 2 : 4;
	bool braces = k < len && s[k] == '{';

	if (braces) {
		k++;
		want = 6;
	}
	for (; digits < want && k < len; k++, digits++) {
		int d = bawn_digit16(s[k]);

		if (d < 0)
			break;
		x = x * 16 + (unsigned)d;
	}
	if (x < 0x80) {
		char c = (char)x;

		bawn_buf_add(b, &c, 1);
	} else {
		bawn_buf_add(b, "?", 1);
	}
	*i = k + (braces ? 1 : 0);
}

static void unquote(struct code_walk *w, struct code_val *v)
{
	const char *s = w->text + v->start;
	size_t len = v->end - v->start;
	struct bawn_buf b = {.max = 0};

	len = len ? len - 1 : 0;
	for (size_t i = 1; i < len;) {
		static const char from[] = "nrtbfv0", to[] = "\n\r\t\b\f\v";
		const char *k;

		if (s[i] != '\\' || i + 1 >= len) {
			bawn_buf_add(&b, &s[i++], 1);
			continue;
		}
		if (s[i + 1] == 'x' || s[i + 1] == 'u') {
			unicode_escape(s, len, &i, &b);
			continue;
		}
		k = s[i + 1] ? strchr(from, s[i + 1]) : NULL;
		if (s[i + 1] != '\n')
			bawn_buf_add(&b, k ? &to[k - from] : &s[i + 1], 1);
		i += 2;
	}
	v->str = bawn_arena_strndup(w->a, b.data ? b.data : "", b.len);
	v->len = (uint32_t)b.len;
	if (!v->str || b.failed)
		w->failed = true;
	bawn_buf_done(&b);
}

/* Most say nothing about what a program is for; long runs of letters are tokens or wallets. */
static void regex(struct code_walk *w, const struct code_val *v)
{
	static const char *const marks[] = {"{40}", "{64}", "{24}", "bc1", "{25,", "{36,", "{26,"};
	struct code_val x = *v;
	size_t len = v->end - v->start;

	if (!w->last || len < 12)
		return;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (!memmem(w->text + v->start, len, marks[i], strlen(marks[i])))
			continue;
		x.str = w->text + v->start;
		x.len = (uint32_t)len;
		code_event(w, "regex", "", &x, 1, v);
		return;
	}
}

static bool leave(
	struct code_walk *w, uint8_t kind, struct code_val *c, size_t n, struct code_val *out)
{
	switch (kind) {
	case CODE_IMPORT:
		import(w, c, n);
		return true;
	case CODE_ALIAS: {
		struct code_val *v = bawn_new(w->a, struct code_val, n + 1);

		if (!v) {
			w->failed = true;
			return true;
		}
		memcpy(v, c, sizeof(*v) * n);
		out->items = v;
		out->n = (uint32_t)n;
		return true;
	}
	case CODE_ASSIGN:
		return destructure(w, c, n);
	case CODE_REGEX:
		regex(w, out);
		return true;
	default:
		return false;
	}
}

const struct code_front code_javascript = {
	.name = "javascript",
	.lang = BAWN_LANG_JAVASCRIPT,
	.grammar = tree_sitter_javascript,
	.kinds = kinds,
	.n_kinds = sizeof(kinds) / sizeof(kinds[0]),
	.known = known,
	.n_known = sizeof(known) / sizeof(known[0]),
	.index_is_member = true,
	.self = "this.",
	.leave = leave,
	.unquote = unquote,
};
