/* SPDX-License-Identifier: Apache-2.0 */
/* Go: what its tree says, what its libraries do. */
#include <string.h>

#include "inspect/code/code.h"

const TSLanguage *tree_sitter_go(void);

static const struct code_name kinds[] = {
	{"argument_list", CODE_ARGS},
	{"assignment_statement", CODE_ASSIGN},
	{"binary_expression", CODE_BINARY},
	{"block", CODE_BLOCK},
	{"call_expression", CODE_CALL},
	{"comment", CODE_COMMENT},
	{"composite_literal", CODE_OBJECT},
	{"const_spec", CODE_ASSIGN},
	{"expression_list", CODE_PATTERN},
	{"expression_statement", CODE_STATEMENT},
	{"false", CODE_IDENT},
	{"field_identifier", CODE_IDENT},
	{"func_literal", CODE_FUNC},
	{"function_declaration", CODE_FUNC},
	{"identifier", CODE_IDENT},
	{"import_spec", CODE_IMPORT},
	{"index_expression", CODE_INDEX},
	{"int_literal", CODE_NUMBER},
	{"interpreted_string_literal", CODE_STRING},
	{"keyed_element", CODE_PAIR},
	{"literal_element", CODE_PASS},
	{"literal_value", CODE_LIST},
	{"method_declaration", CODE_FUNC},
	{"nil", CODE_IDENT},
	{"package_clause", CODE_OTHER},
	{"package_identifier", CODE_IDENT},
	{"parameter_declaration", CODE_LIST},
	{"parameter_list", CODE_PARAMS},
	{"parenthesized_expression", CODE_PASS},
	{"qualified_type", CODE_DOTTED},
	{"range_clause", CODE_FOR_IN},
	{"raw_string_literal", CODE_STRING},
	{"return_statement", CODE_RETURN},
	{"rune_literal", CODE_NUMBER},
	{"selector_expression", CODE_ATTR},
	{"short_var_declaration", CODE_ASSIGN},
	{"slice_expression", CODE_OTHER},
	{"true", CODE_IDENT},
	{"type_assertion_expression", CODE_OTHER},
	{"type_conversion_expression", CODE_CONVERT},
	{"type_identifier", CODE_IDENT},
	{"unary_expression", CODE_PASS},
	{"var_spec", CODE_ASSIGN},
	{"variadic_argument", CODE_PASS},
	{"variadic_parameter_declaration", CODE_LIST},
};

static const struct code_known known[] = {
	{".Add", CODE_OP_INTO, 0, false},
	{".Append", CODE_OP_INTO, 0, false},
	{".Body", CODE_OP_SAME, 0, false},
	{".Bytes", CODE_OP_SAME, 0, false},
	{".CombinedOutput", CODE_OP_SAME, CODE_T_OUTPUT, false},
	{".CryptBlocks", CODE_OP_NONE, CODE_T_CRYPT, false},
	{".DecodeString", CODE_OP_BASE64, CODE_T_DECODED, false},
	{".DialContext", CODE_OP_SEND, CODE_T_NET, true},
	{".Do", CODE_OP_SEND, CODE_T_NET, true},
	{".Encode", CODE_OP_INTO, 0, false},
	{".Form", CODE_OP_NONE, CODE_T_USER, false},
	{".FormValue", CODE_OP_NONE, CODE_T_USER, false},
	{".Open().Decrypt", CODE_OP_NONE, CODE_T_CRYPT, false},
	{".Output", CODE_OP_SAME, CODE_T_OUTPUT, false},
	{".Param", CODE_OP_NONE, CODE_T_USER, false},
	{".PathValue", CODE_OP_NONE, CODE_T_USER, false},
	{".PostForm", CODE_OP_NONE, CODE_T_USER, false},
	{".PostFormValue", CODE_OP_NONE, CODE_T_USER, false},
	{".Query", CODE_OP_NONE, CODE_T_USER, false},
	{".QueryParam", CODE_OP_NONE, CODE_T_USER, false},
	{".ReadBytes", CODE_OP_SAME, 0, false},
	{".ReadLine", CODE_OP_SAME, 0, false},
	{".ReadMessage", CODE_OP_NONE, CODE_T_NET, true},
	{".ReadString", CODE_OP_SAME, 0, false},
	{".Referer", CODE_OP_NONE, CODE_T_USER, false},
	{".RoundTrip", CODE_OP_SEND, CODE_T_NET, true},
	{".Set", CODE_OP_INTO, 0, false},
	{".StdoutPipe", CODE_OP_SAME, CODE_T_OUTPUT, false},
	{".String", CODE_OP_SAME, 0, false},
	{".Text", CODE_OP_SAME, 0, false},
	{".URL", CODE_OP_NONE, CODE_T_USER, false},
	{".URL.Query", CODE_OP_NONE, CODE_T_USER, false},
	{".UserAgent", CODE_OP_NONE, CODE_T_USER, false},
	{".Vars", CODE_OP_NONE, CODE_T_USER, false},
	{".Write", CODE_OP_INTO, 0, false},
	{".WriteByte", CODE_OP_INTO, 0, false},
	{".WriteField", CODE_OP_INTO, 0, false},
	{".WriteString", CODE_OP_INTO, 0, false},
	{".XORKeyStream", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"append().len", CODE_OP_NONE, 0, true},
	{"bufio.NewReader", CODE_OP_SAME, 0, false},
	{"bufio.NewScanner", CODE_OP_SAME, 0, false},
	{"bufio.NewWriter", CODE_OP_SAME, 0, false},
	{"bytes.NewBuffer", CODE_OP_SAME, 0, false},
	{"bytes.NewBufferString", CODE_OP_SAME, 0, false},
	{"bytes.NewReader", CODE_OP_SAME, 0, false},
	{"cap", CODE_OP_NONE, 0, true},
	{"compress/flate.NewReader", CODE_OP_NONE, CODE_T_DECODED, false},
	{"compress/gzip.NewReader", CODE_OP_NONE, CODE_T_DECODED, false},
	{"compress/zlib.NewReader", CODE_OP_NONE, CODE_T_DECODED, false},
	{"copy", CODE_OP_COPY, 0, false},
	{"crypto/cipher.NewCBCDecrypter", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"crypto/cipher.NewGCM", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"crypto/rc4.NewCipher", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"crypto/tls.Dial", CODE_OP_SEND, CODE_T_NET, true},
	{"encoding/base64.NewDecoder", CODE_OP_NONE, CODE_T_DECODED, false},
	{"encoding/base64.RawStdEncoding.Decode", CODE_OP_COPY, CODE_T_DECODED, false},
	{"encoding/base64.RawStdEncoding.DecodeString", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"encoding/base64.RawURLEncoding.DecodeString", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"encoding/base64.StdEncoding.Decode", CODE_OP_COPY, CODE_T_DECODED, false},
	{"encoding/base64.StdEncoding.DecodeString", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"encoding/base64.URLEncoding.DecodeString", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"encoding/hex.Decode", CODE_OP_COPY, CODE_T_DECODED, false},
	{"encoding/hex.DecodeString", CODE_OP_HEX, CODE_T_DECODED, false},
	{"encoding/json.Marshal", CODE_OP_SAME, 0, false},
	{"encoding/json.Unmarshal", CODE_OP_COPY, 0, false},
	{"errors.New", CODE_OP_NONE, 0, true},
	{"flag.Arg", CODE_OP_NONE, CODE_T_CLI, false},
	{"flag.Args", CODE_OP_NONE, CODE_T_CLI, false},
	{"flag.String", CODE_OP_NONE, CODE_T_CLI, false},
	{"fmt.Errorf", CODE_OP_NONE, 0, true},
	{"fmt.Fprint", CODE_OP_COPY, 0, false},
	{"fmt.Fprintf", CODE_OP_COPY, 0, false},
	{"fmt.Println", CODE_OP_NONE, 0, true},
	{"fmt.Sprint", CODE_OP_PRINTF, 0, false},
	{"fmt.Sprintf", CODE_OP_PRINTF, 0, false},
	{"fmt.Sscanf", CODE_OP_COPY, 0, false},
	{"github.com/atotto/clipboard.ReadAll", CODE_OP_NONE, CODE_T_CLIP, true},
	{"github.com/kbinani/screenshot.CaptureDisplay", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"github.com/kbinani/screenshot.CaptureRect", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"github.com/vova616/screenshot.CaptureScreen", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"golang.design/x/clipboard.Read", CODE_OP_NONE, CODE_T_CLIP, true},
	{"golang.org/x/sys/execabs.Command", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"golang.org/x/sys/execabs.CommandContext", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"io.Copy", CODE_OP_COPY, 0, false},
	{"io.CopyN", CODE_OP_COPY, 0, false},
	{"io.ReadAll", CODE_OP_SAME, 0, false},
	{"io.WriteString", CODE_OP_COPY, 0, false},
	{"io/ioutil.ReadAll", CODE_OP_SAME, 0, false},
	{"io/ioutil.ReadDir", CODE_OP_NONE, CODE_T_FILE, false},
	{"io/ioutil.ReadFile", CODE_OP_NONE, CODE_T_FILE, false},
	{"io/ioutil.TempDir", CODE_OP_NONE, CODE_T_TEMP, true},
	{"io/ioutil.TempFile", CODE_OP_NONE, CODE_T_TEMP, true},
	{"json.Marshal", CODE_OP_SAME, 0, false},
	{"len", CODE_OP_NONE, 0, true},
	{"log.Fatal", CODE_OP_NONE, 0, true},
	{"log.Println", CODE_OP_NONE, 0, true},
	{"make", CODE_OP_NONE, 0, true},
	{"net.Dial", CODE_OP_SEND, CODE_T_NET, true},
	{"net.DialTCP", CODE_OP_SEND, CODE_T_NET, true},
	{"net.DialTimeout", CODE_OP_SEND, CODE_T_NET, true},
	{"net.DialUDP", CODE_OP_SEND, CODE_T_NET, true},
	{"net.InterfaceAddrs", CODE_OP_NONE, CODE_T_HOST, true},
	{"net.Interfaces", CODE_OP_NONE, CODE_T_HOST, true},
	{"net.LookupAddr", CODE_OP_SEND, CODE_T_NET, true},
	{"net.LookupHost", CODE_OP_SEND, CODE_T_NET, true},
	{"net.LookupIP", CODE_OP_SEND, CODE_T_NET, true},
	{"net.LookupTXT", CODE_OP_SEND, CODE_T_NET, true},
	{"net.ResolveTCPAddr", CODE_OP_SEND, CODE_T_NET, true},
	{"net/http.Client().Get", CODE_OP_SEND, CODE_T_NET, true},
	{"net/http.Client().Post", CODE_OP_SEND, CODE_T_NET, true},
	{"net/http.Client().PostForm", CODE_OP_SEND, CODE_T_NET, true},
	{"net/http.Get", CODE_OP_SEND, CODE_T_NET, true},
	{"net/http.Head", CODE_OP_SEND, CODE_T_NET, true},
	{"net/http.NewRequest", CODE_OP_NONE, 0, false},
	{"net/http.NewRequestWithContext", CODE_OP_NONE, 0, false},
	{"net/http.Post", CODE_OP_SEND, CODE_T_NET, true},
	{"net/http.PostForm", CODE_OP_SEND, CODE_T_NET, true},
	{"net/smtp.SendMail", CODE_OP_SEND, 0, true},
	{"net/url.QueryEscape", CODE_OP_SAME, 0, false},
	{"new", CODE_OP_NONE, 0, true},
	{"os.Args", CODE_OP_NONE, CODE_T_CLI, false},
	{"os.CreateTemp", CODE_OP_NONE, CODE_T_TEMP, true},
	{"os.Environ", CODE_OP_NONE, CODE_T_ENV, true},
	{"os.ExpandEnv", CODE_OP_SAME, 0, false},
	{"os.Getenv", CODE_OP_NONE, CODE_T_ENVVAR, true},
	{"os.Getwd", CODE_OP_NONE, CODE_T_HOST, true},
	{"os.Hostname", CODE_OP_NONE, CODE_T_HOST, true},
	{"os.LookupEnv", CODE_OP_NONE, CODE_T_ENVVAR, true},
	{"os.MkdirTemp", CODE_OP_NONE, CODE_T_TEMP, true},
	{"os.Open", CODE_OP_NONE, CODE_T_FILE, false},
	{"os.OpenFile", CODE_OP_NONE, CODE_T_FILE, false},
	{"os.ReadDir", CODE_OP_NONE, CODE_T_FILE, false},
	{"os.ReadFile", CODE_OP_NONE, CODE_T_FILE, false},
	{"os.StartProcess", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.Stat", CODE_OP_NONE, 0, true},
	{"os.Stdin", CODE_OP_NONE, CODE_T_CLI, false},
	{"os.TempDir", CODE_OP_NONE, CODE_T_TEMP, true},
	{"os.UserHomeDir", CODE_OP_HOME, 0, true},
	{"os/exec.Command", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os/exec.CommandContext", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"os/user.Current", CODE_OP_NONE, CODE_T_HOST, true},
	{"os/user.Current().HomeDir", CODE_OP_HOME, 0, true},
	{"path.Join", CODE_OP_PATH, 0, false},
	{"path/filepath.Clean", CODE_OP_SAME, 0, false},
	{"path/filepath.Join", CODE_OP_PATH, 0, false},
	{"strconv.Itoa", CODE_OP_NONE, 0, true},
	{"string", CODE_OP_SAME, 0, false},
	{"strings.Clone", CODE_OP_SAME, 0, false},
	{"strings.Contains", CODE_OP_NONE, 0, true},
	{"strings.Fields", CODE_OP_SAME, 0, false},
	{"strings.HasPrefix", CODE_OP_NONE, 0, true},
	{"strings.HasSuffix", CODE_OP_NONE, 0, true},
	{"strings.Join", CODE_OP_JOIN_SEP, 0, false},
	{"strings.NewReader", CODE_OP_SAME, 0, false},
	{"strings.Replace", CODE_OP_NONE, 0, false},
	{"strings.ReplaceAll", CODE_OP_NONE, 0, false},
	{"strings.Split", CODE_OP_SAME, 0, false},
	{"strings.ToLower", CODE_OP_SAME, 0, false},
	{"strings.Trim", CODE_OP_SAME, 0, false},
	{"strings.TrimPrefix", CODE_OP_SAME, 0, false},
	{"strings.TrimSpace", CODE_OP_SAME, 0, false},
	{"strings.TrimSuffix", CODE_OP_SAME, 0, false},
	{"syscall.Exec", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"syscall.ForkExec", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"syscall.Getenv", CODE_OP_NONE, CODE_T_ENVVAR, true},
	{"syscall.StartProcess", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"unsafe.Pointer", CODE_OP_SAME, 0, false},
};

static bool is_version(const char *s)
{
	return s[0] == 'v' && s[1] >= '0' && s[1] <= '9' && strlen(s) < 5;
}

/* The name a package has when the import gives none: its last part. */
static const char *package_name(struct code_walk *w, const char *path)
{
	const char *tail = strrchr(path, '/');
	char *copy;
	char *cut;

	if (!tail)
		return path;
	if (!is_version(tail + 1))
		return tail + 1;
	copy = bawn_arena_strndup(w->a, path, (size_t)(tail - path));
	if (!copy)
		return tail + 1;
	cut = strrchr(copy, '/');
	return cut ? cut + 1 : copy;
}

static void import(struct code_walk *w, const struct code_val *c, size_t n)
{
	const struct code_val *path = code_child(c, n, CODE_F_SOURCE);
	const struct code_val *name = code_child(c, n, CODE_F_NAME);
	struct code_val v = {.name = ""};
	const char *local;

	if (!path || !path->str)
		return;
	v.name = path->str;
	local = name ? code_text(w, name->start, name->end) : package_name(w, path->str);
	code_event(w, "import", path->str, NULL, 0, path);
	(void)code_var_set(w, 0, local, strlen(local), &v);
}

static const char *type_name(struct code_walk *w, const struct code_val *t)
{
	return t ? code_text(w, t->start, t->end - t->start > 60 ? t->start + 60 : t->end) : "";
}

/* []byte("x"), []byte{1, 2}: the text; T{…}: an event. */
static struct code_val object(struct code_walk *w, const struct code_val *c, size_t n)
{
	const struct code_val *t = code_child(c, n, CODE_F_TYPE),
			      *b = code_child(c, n, CODE_F_BODY);
	struct code_val v = {.name = ""};
	const char *type = type_name(w, t);

	if (!b)
		return v;
	v = *b;
	if (strncmp(type, "[]byte", 6) == 0 || strncmp(type, "[]rune", 6) == 0 ||
		strncmp(type, "[]uint8", 7) == 0) {
		struct code_val out;

		if (b->n && code_fold(w, CODE_OP_CHARS, NULL, b, 1, &out) && out.str)
			return out;
		return v;
	}
	if (t && t->kind == CODE_DOTTED && *t->name) {
		code_event(w, "new", t->name, b->items, b->n, t);
		v.name = bawn_arena_printf(w->a, "%.150s()", t->name) ?: "";
		v.items = NULL;
		v.n = 0;
	}
	return v;
}

static bool leave(
	struct code_walk *w, uint8_t kind, struct code_val *c, size_t n, struct code_val *out)
{
	switch (kind) {
	case CODE_IMPORT:
		import(w, c, n);
		return true;
	case CODE_OBJECT:
		*out = object(w, c, n);
		return true;
	case CODE_CONVERT:
		*out = n ? c[n - 1] : *out;
		return true;
	case CODE_DOTTED:
		if (n == 2)
			out->name = bawn_arena_printf(w->a, "%.120s.%.60s", c[0].name,
					    code_text(w, c[1].start, c[1].end))
					    ?: "";
		return true;
	case CODE_NUMBER: /* 'x' */
		if (out->end - out->start == 3 && w->text[out->start] == '\'') {
			out->num = (unsigned char)w->text[out->start + 1];
			out->flags = CODE_V_NUMBER;
			return true;
		}
		return false;
	case CODE_PATTERN: /* one expression is itself */
		if (n == 1) {
			*out = c[0];
			return true;
		}
		return false;
	default:
		return false;
	}
}

static void unquote(struct code_walk *w, struct code_val *v)
{
	const char *s = w->text + v->start;
	size_t len = v->end - v->start;

	if (len >= 2 && s[0] == '`') {
		v->str = code_text(w, v->start + 1, v->end - 1);
		v->len = (uint32_t)(len - 2);
		return;
	}
	code_python.unquote(w, v); /* the escapes are the same */
}

static const char *context(
	struct code_walk *w, uint8_t kind, const char *name, const struct code_val *c, size_t n)
{
	size_t lists = 0;

	(void)w;
	for (size_t i = 0; i < n; i++)
		lists += c[i].kind == CODE_PARAMS;
	/* a method has a list for its receiver as well */
	return kind == CODE_FUNC && lists < 2 && strcmp(name, "init") == 0 ? "init" : NULL;
}

const struct code_front code_go = {
	.name = "go",
	.lang = BAWN_LANG_GO,
	.grammar = tree_sitter_go,
	.kinds = kinds,
	.n_kinds = sizeof(kinds) / sizeof(kinds[0]),
	.known = known,
	.n_known = sizeof(known) / sizeof(known[0]),
	.self = "\1",
	.leave = leave,
	.unquote = unquote,
	.context = context,
};
