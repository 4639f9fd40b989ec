/* SPDX-License-Identifier: Apache-2.0 */
/* Python: what its tree says, what its libraries do. */
#include <string.h>

#include "inspect/code/code.h"

const TSLanguage *tree_sitter_python(void);

static const struct code_name kinds[] = {
	{"aliased_import", CODE_ALIAS},
	{"argument_list", CODE_ARGS},
	{"as_pattern", CODE_AS},
	{"as_pattern_target", CODE_PASS},
	{"assignment", CODE_ASSIGN},
	{"attribute", CODE_ATTR},
	{"augmented_assignment", CODE_AUGMENT},
	{"await", CODE_PASS},
	{"binary_operator", CODE_BINARY},
	{"block", CODE_BLOCK},
	{"boolean_operator", CODE_BINARY},
	{"call", CODE_CALL},
	{"class_definition", CODE_CLASS},
	{"comment", CODE_COMMENT},
	{"concatenated_string", CODE_CONCAT},
	{"conditional_expression", CODE_TERNARY},
	{"decorator", CODE_PASS},
	{"default_parameter", CODE_LIST},
	{"dictionary", CODE_DICT},
	{"dictionary_comprehension", CODE_COMPREHENSION},
	{"dictionary_splat", CODE_PASS},
	{"dotted_name", CODE_DOTTED},
	{"escape_sequence", CODE_ESCAPE},
	{"exec_statement", CODE_OTHER},
	{"expression_list", CODE_LIST},
	{"expression_statement", CODE_STATEMENT},
	{"false", CODE_IDENT},
	{"for_in_clause", CODE_FOR_IN},
	{"for_statement", CODE_FOR_IN},
	{"function_definition", CODE_FUNC},
	{"future_import_statement", CODE_COMMENT},
	{"generator_expression", CODE_COMPREHENSION},
	{"identifier", CODE_IDENT},
	{"import_from_statement", CODE_IMPORT_FROM},
	{"import_statement", CODE_IMPORT},
	{"integer", CODE_NUMBER},
	{"interpolation", CODE_INTERP},
	{"keyword_argument", CODE_KWARG},
	{"lambda", CODE_FUNC},
	{"lambda_parameters", CODE_PARAMS},
	{"list", CODE_LIST},
	{"list_comprehension", CODE_COMPREHENSION},
	{"list_pattern", CODE_PATTERN},
	{"list_splat", CODE_PASS},
	{"named_expression", CODE_ASSIGN},
	{"none", CODE_IDENT},
	{"pair", CODE_PAIR},
	{"parameters", CODE_PARAMS},
	{"parenthesized_expression", CODE_PASS},
	{"pattern_list", CODE_PATTERN},
	{"return_statement", CODE_RETURN},
	{"set", CODE_LIST},
	{"set_comprehension", CODE_COMPREHENSION},
	{"slice", CODE_SLICE},
	{"string", CODE_STRING},
	{"string_content", CODE_CONTENT},
	{"subscript", CODE_INDEX},
	{"true", CODE_IDENT},
	{"tuple", CODE_LIST},
	{"tuple_pattern", CODE_PATTERN},
	{"type", CODE_TYPE},
	{"typed_default_parameter", CODE_LIST},
	{"typed_parameter", CODE_LIST},
	{"with_item", CODE_PASS},
	{"yield", CODE_PASS},
};

static const struct code_known known[] = {
	{".__call__", CODE_OP_CALLEE, 0, false},
	{".__getattr__", CODE_OP_MEMBER, 0, false},
	{".__getattribute__", CODE_OP_MEMBER, 0, false},
	{".__getitem__", CODE_OP_MEMBER, 0, false},
	{".add", CODE_OP_INTO, 0, false},
	{".append", CODE_OP_INTO, 0, false},
	{".as_posix", CODE_OP_SAME, 0, false},
	{".casefold", CODE_OP_SAME, 0, false},
	{".clipboard_get", CODE_OP_NONE, CODE_T_CLIP, true},
	{".content", CODE_OP_SAME, 0, false},
	{".copy", CODE_OP_SAME, 0, false},
	{".count", CODE_OP_NONE, 0, true},
	{".decode", CODE_OP_CODEC, 0, false},
	{".decrypt", CODE_OP_NONE, CODE_T_CRYPT, false},
	{".encode", CODE_OP_SAME, 0, false},
	{".endswith", CODE_OP_NONE, 0, true},
	{".exec_command", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{".exists", CODE_OP_NONE, 0, true},
	{".expanduser", CODE_OP_SAME, 0, false},
	{".extend", CODE_OP_INTO, 0, false},
	{".find", CODE_OP_NONE, 0, true},
	{".format", CODE_OP_FORMAT, 0, false},
	{".format_map", CODE_OP_SAME, 0, false},
	{".get_text", CODE_OP_SAME, 0, false},
	{".getvalue", CODE_OP_SAME, 0, false},
	{".group", CODE_OP_SAME, 0, false},
	{".hexdigest", CODE_OP_NONE, 0, true},
	{".index", CODE_OP_NONE, 0, true},
	{".insert", CODE_OP_INTO, 0, false},
	{".is_dir", CODE_OP_NONE, 0, true},
	{".is_file", CODE_OP_NONE, 0, true},
	{".items", CODE_OP_SAME, 0, false},
	{".iterdir", CODE_OP_NONE, CODE_T_FILE, false},
	{".join", CODE_OP_JOIN, 0, false},
	{".joinpath", CODE_OP_PATH, 0, false},
	{".json", CODE_OP_SAME, 0, false},
	{".keys", CODE_OP_SAME, 0, false},
	{".lower", CODE_OP_SAME, 0, false},
	{".lstrip", CODE_OP_SAME, 0, false},
	{".open", CODE_OP_NONE, CODE_T_FILE, false},
	{".push", CODE_OP_INTO, 0, false},
	{".put", CODE_OP_INTO, 0, false},
	{".read", CODE_OP_SAME, 0, false},
	{".read_bytes", CODE_OP_NONE, CODE_T_FILE, false},
	{".read_text", CODE_OP_NONE, CODE_T_FILE, false},
	{".readline", CODE_OP_SAME, 0, false},
	{".readlines", CODE_OP_SAME, 0, false},
	{".recv", CODE_OP_SEND, CODE_T_NET, true},
	{".recvfrom", CODE_OP_SEND, CODE_T_NET, true},
	{".replace", CODE_OP_REPLACE, 0, false},
	{".resolve", CODE_OP_SAME, 0, false},
	{".rstrip", CODE_OP_SAME, 0, false},
	{".sendall", CODE_OP_SEND, 0, true},
	{".sendmail", CODE_OP_SEND, 0, true},
	{".sendto", CODE_OP_SEND, 0, true},
	{".setdefault", CODE_OP_INTO, 0, false},
	{".splitlines", CODE_OP_SAME, 0, false},
	{".startswith", CODE_OP_NONE, 0, true},
	{".storbinary", CODE_OP_SEND, 0, true},
	{".strip", CODE_OP_SAME, 0, false},
	{".text", CODE_OP_SAME, 0, false},
	{".title", CODE_OP_SAME, 0, false},
	{".update", CODE_OP_INTO, 0, false},
	{".upper", CODE_OP_SAME, 0, false},
	{".values", CODE_OP_SAME, 0, false},
	{".write", CODE_OP_INTO, 0, false},
	{".write_bytes", CODE_OP_INTO, 0, false},
	{".write_text", CODE_OP_INTO, 0, false},
	{".writelines", CODE_OP_INTO, 0, false},
	{"Fernet", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"Fernet().decrypt", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"IPython.get_ipython().system", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"ImageGrab.grab", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"PIL.ImageGrab.grab", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"PIL.ImageGrab.grabclipboard", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"Path", CODE_OP_SAME, 0, false},
	{"Path.home", CODE_OP_HOME, 0, true},
	{"__builtins__.__import__", CODE_OP_IMPORT, 0, false},
	{"__builtins__.eval", CODE_OP_EVAL, 0, true},
	{"__builtins__.exec", CODE_OP_EVAL, 0, true},
	{"__import__", CODE_OP_IMPORT, 0, false},
	{"_pickle.loads", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"abs", CODE_OP_NONE, 0, true},
	{"aiohttp.ClientSession().get", CODE_OP_SEND, CODE_T_NET, true},
	{"aiohttp.ClientSession().post", CODE_OP_SEND, CODE_T_NET, true},
	{"aiohttp.ClientSession().put", CODE_OP_SEND, CODE_T_NET, true},
	{"aiohttp.ClientSession().request", CODE_OP_SEND, CODE_T_NET, true},
	{"aiohttp.request", CODE_OP_SEND, CODE_T_NET, true},
	{"all", CODE_OP_NONE, 0, true},
	{"any", CODE_OP_NONE, 0, true},
	{"asyncio.create_subprocess_exec", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"asyncio.create_subprocess_shell", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"asyncio.subprocess.create_subprocess_shell", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"b64decode", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"base64.a85decode", CODE_OP_NONE, CODE_T_DECODED, false},
	{"base64.b16decode", CODE_OP_HEX, CODE_T_DECODED, false},
	{"base64.b32decode", CODE_OP_BASE32, CODE_T_DECODED, false},
	{"base64.b64decode", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"base64.b85decode", CODE_OP_NONE, CODE_T_DECODED, false},
	{"base64.decodebytes", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"base64.decodestring", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"base64.standard_b64decode", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"base64.urlsafe_b64decode", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"binascii.a2b_base64", CODE_OP_BASE64, CODE_T_DECODED, false},
	{"binascii.a2b_hex", CODE_OP_HEX, CODE_T_DECODED, false},
	{"binascii.a2b_uu", CODE_OP_NONE, CODE_T_DECODED, false},
	{"binascii.unhexlify", CODE_OP_HEX, CODE_T_DECODED, false},
	{"bool", CODE_OP_NONE, 0, true},
	{"boto3.client().put_object", CODE_OP_SEND, 0, true},
	{"boto3.client().upload_file", CODE_OP_SEND, 0, true},
	{"builtins.__import__", CODE_OP_IMPORT, 0, false},
	{"builtins.compile", CODE_OP_SAME, 0, false},
	{"builtins.eval", CODE_OP_EVAL, 0, true},
	{"builtins.exec", CODE_OP_EVAL, 0, true},
	{"bytearray", CODE_OP_CHARS, 0, false},
	{"bytearray.fromhex", CODE_OP_HEX, CODE_T_DECODED, false},
	{"bytes", CODE_OP_CHARS, 0, false},
	{"bytes.decode", CODE_OP_SAME, 0, false},
	{"bytes.fromhex", CODE_OP_HEX, CODE_T_DECODED, false},
	{"bytes.join", CODE_OP_SAME, 0, false},
	{"bz2.decompress", CODE_OP_NONE, CODE_T_DECODED, false},
	{"cPickle.load", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"cPickle.loads", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"callable", CODE_OP_NONE, 0, true},
	{"chr", CODE_OP_CHARS, 0, false},
	{"clipboard.paste", CODE_OP_NONE, CODE_T_CLIP, true},
	{"cloudpickle.loads", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"cloudscraper.create_scraper().get", CODE_OP_SEND, CODE_T_NET, true},
	{"cloudscraper.create_scraper().post", CODE_OP_SEND, CODE_T_NET, true},
	{"code.interact", CODE_OP_EVAL, 0, true},
	{"codecs.decode", CODE_OP_CODEC, 0, false},
	{"codecs.open", CODE_OP_NONE, CODE_T_FILE, false},
	{"commands.getoutput", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"commands.getstatusoutput", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"compile", CODE_OP_SAME, 0, false},
	{"cryptography.fernet.Fernet", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"cryptography.fernet.Fernet().decrypt", CODE_OP_NONE, CODE_T_CRYPT, false},
	{"cv2.VideoCapture", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"cv2.VideoCapture().read", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"d3dshot.create", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"dhooks.Webhook().send", CODE_OP_SEND, CODE_T_NET, true},
	{"dict", CODE_OP_SAME, 0, false},
	{"dict(os.environ)", CODE_OP_NONE, CODE_T_ENV, false},
	{"dill.load", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"dill.loads", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"discord_webhook.DiscordWebhook", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.resolver.query", CODE_OP_SEND, CODE_T_NET, true},
	{"dns.resolver.resolve", CODE_OP_SEND, CODE_T_NET, true},
	{"enumerate", CODE_OP_NONE, 0, true},
	{"eval", CODE_OP_EVAL, 0, true},
	{"exec", CODE_OP_EVAL, 0, true},
	{"execfile", CODE_OP_EVAL, 0, true},
	{"fabric.api.local", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"fabric.api.run", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"feedparser.parse", CODE_OP_NONE, CODE_T_NET, true},
	{"flask.request.args", CODE_OP_NONE, CODE_T_USER, true},
	{"flask.request.args.get", CODE_OP_NONE, CODE_T_USER, true},
	{"flask.request.cookies", CODE_OP_NONE, CODE_T_USER, true},
	{"flask.request.data", CODE_OP_NONE, CODE_T_USER, true},
	{"flask.request.files", CODE_OP_NONE, CODE_T_USER, true},
	{"flask.request.form", CODE_OP_NONE, CODE_T_USER, true},
	{"flask.request.form.get", CODE_OP_NONE, CODE_T_USER, true},
	{"flask.request.get_json", CODE_OP_NONE, CODE_T_USER, true},
	{"flask.request.headers", CODE_OP_NONE, CODE_T_USER, true},
	{"flask.request.json", CODE_OP_NONE, CODE_T_USER, true},
	{"flask.request.values", CODE_OP_NONE, CODE_T_USER, true},
	{"float", CODE_OP_NONE, 0, true},
	{"ftplib.FTP().retrbinary", CODE_OP_SEND, CODE_T_NET, true},
	{"ftplib.FTP().storbinary", CODE_OP_SEND, 0, true},
	{"getattr", CODE_OP_GETATTR, 0, false},
	{"getpass.getuser", CODE_OP_NONE, CODE_T_HOST, true},
	{"gzip.decompress", CODE_OP_NONE, CODE_T_DECODED, false},
	{"hasattr", CODE_OP_NONE, 0, true},
	{"hash", CODE_OP_NONE, 0, true},
	{"hashlib.md5", CODE_OP_NONE, 0, true},
	{"hashlib.sha1", CODE_OP_NONE, 0, true},
	{"hashlib.sha256", CODE_OP_NONE, 0, true},
	{"http.client.HTTPConnection", CODE_OP_NONE, 0, true},
	{"http.client.HTTPConnection().getresponse", CODE_OP_SEND, CODE_T_NET, true},
	{"http.client.HTTPConnection().request", CODE_OP_SEND, 0, true},
	{"http.client.HTTPSConnection", CODE_OP_NONE, 0, true},
	{"http.client.HTTPSConnection().getresponse", CODE_OP_SEND, CODE_T_NET, true},
	{"http.client.HTTPSConnection().request", CODE_OP_SEND, 0, true},
	{"httplib.HTTPConnection().getresponse", CODE_OP_SEND, CODE_T_NET, true},
	{"httplib.HTTPConnection().request", CODE_OP_SEND, 0, true},
	{"httplib.HTTPSConnection().getresponse", CODE_OP_SEND, CODE_T_NET, true},
	{"httplib.HTTPSConnection().request", CODE_OP_SEND, 0, true},
	{"httpx.AsyncClient().get", CODE_OP_SEND, CODE_T_NET, true},
	{"httpx.AsyncClient().post", CODE_OP_SEND, CODE_T_NET, true},
	{"httpx.Client", CODE_OP_NONE, 0, true},
	{"httpx.Client().get", CODE_OP_SEND, CODE_T_NET, true},
	{"httpx.Client().post", CODE_OP_SEND, CODE_T_NET, true},
	{"httpx.get", CODE_OP_SEND, CODE_T_NET, true},
	{"httpx.post", CODE_OP_SEND, CODE_T_NET, true},
	{"httpx.put", CODE_OP_SEND, CODE_T_NET, true},
	{"httpx.request", CODE_OP_SEND, CODE_T_NET, true},
	{"id", CODE_OP_NONE, 0, true},
	{"imaplib.IMAP4().fetch", CODE_OP_NONE, CODE_T_NET, true},
	{"imaplib.IMAP4_SSL().fetch", CODE_OP_NONE, CODE_T_NET, true},
	{"importlib.__import__", CODE_OP_IMPORT, 0, false},
	{"importlib.import_module", CODE_OP_IMPORT, 0, false},
	{"input", CODE_OP_NONE, CODE_T_CLI, true},
	{"int", CODE_OP_NONE, 0, true},
	{"invoke.run", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"io.BytesIO", CODE_OP_SAME, 0, false},
	{"io.StringIO", CODE_OP_SAME, 0, false},
	{"io.open", CODE_OP_NONE, CODE_T_FILE, false},
	{"isinstance", CODE_OP_NONE, 0, true},
	{"iter", CODE_OP_SAME, 0, false},
	{"joblib.load", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"json.dumps", CODE_OP_SAME, 0, false},
	{"json.loads", CODE_OP_SAME, 0, false},
	{"judyb.lsb.reveal", CODE_OP_NONE, CODE_T_STEGO, true},
	{"keyboard.hook", CODE_OP_NONE, CODE_T_KEYS, true},
	{"keyboard.on_press", CODE_OP_NONE, CODE_T_KEYS, true},
	{"keyboard.on_release", CODE_OP_NONE, CODE_T_KEYS, true},
	{"keyboard.read_key", CODE_OP_NONE, CODE_T_KEYS, true},
	{"keyboard.record", CODE_OP_NONE, CODE_T_KEYS, true},
	{"len", CODE_OP_NONE, 0, true},
	{"list", CODE_OP_SAME, 0, false},
	{"logging.getLogger", CODE_OP_NONE, 0, true},
	{"lsb.reveal", CODE_OP_NONE, CODE_T_STEGO, true},
	{"lzma.LZMADecompressor().decompress", CODE_OP_NONE, CODE_T_DECODED, false},
	{"lzma.decompress", CODE_OP_NONE, CODE_T_DECODED, false},
	{"map", CODE_OP_NONE, 0, false},
	{"marshal.load", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"marshal.loads", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"max", CODE_OP_NONE, 0, true},
	{"min", CODE_OP_NONE, 0, true},
	{"mss.mss().grab", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"mss.mss().shot", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"multiprocessing.Process().start", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"netifaces.interfaces", CODE_OP_NONE, CODE_T_HOST, true},
	{"next", CODE_OP_SAME, 0, false},
	{"nt.system", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"ntpath.join", CODE_OP_PATH, 0, false},
	{"open", CODE_OP_NONE, CODE_T_FILE, false},
	{"ord", CODE_OP_NONE, 0, true},
	{"os.environ", CODE_OP_NONE, CODE_T_ENV, false},
	{"os.environ.copy", CODE_OP_NONE, CODE_T_ENV, false},
	{"os.environ.get", CODE_OP_NONE, CODE_T_ENVVAR, true},
	{"os.environ.items", CODE_OP_NONE, CODE_T_ENV, false},
	{"os.environ.pop", CODE_OP_NONE, CODE_T_ENVVAR, true},
	{"os.environ.setdefault", CODE_OP_NONE, CODE_T_ENVVAR, true},
	{"os.environ.values", CODE_OP_NONE, CODE_T_ENV, false},
	{"os.environb", CODE_OP_NONE, CODE_T_ENV, false},
	{"os.execl", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.execle", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.execlp", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.execlpe", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.execv", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.execve", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.execvp", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.execvpe", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.fdopen", CODE_OP_NONE, CODE_T_FILE, false},
	{"os.fsencode", CODE_OP_SAME, 0, false},
	{"os.getcwd", CODE_OP_NONE, CODE_T_HOST, true},
	{"os.getenv", CODE_OP_NONE, CODE_T_ENVVAR, true},
	{"os.getlogin", CODE_OP_NONE, CODE_T_HOST, true},
	{"os.getuid", CODE_OP_NONE, CODE_T_HOST, true},
	{"os.listdir", CODE_OP_NONE, 0, true},
	{"os.open", CODE_OP_NONE, CODE_T_FILE, false},
	{"os.path.abspath", CODE_OP_SAME, 0, false},
	{"os.path.exists", CODE_OP_NONE, 0, true},
	{"os.path.expanduser", CODE_OP_SAME, 0, false},
	{"os.path.expandvars", CODE_OP_SAME, 0, false},
	{"os.path.getsize", CODE_OP_NONE, 0, true},
	{"os.path.homedir", CODE_OP_HOME, 0, true},
	{"os.path.isdir", CODE_OP_NONE, 0, true},
	{"os.path.isfile", CODE_OP_NONE, 0, true},
	{"os.path.join", CODE_OP_PATH, 0, false},
	{"os.path.normpath", CODE_OP_SAME, 0, false},
	{"os.path.realpath", CODE_OP_SAME, 0, false},
	{"os.popen", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"os.popen2", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"os.popen3", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"os.popen4", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"os.posix_spawn", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.posix_spawnp", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"os.spawnl", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"os.spawnle", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"os.spawnlp", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"os.spawnlpe", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"os.spawnv", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"os.spawnve", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"os.spawnvp", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"os.spawnvpe", CODE_OP_PROCESS1, CODE_T_OUTPUT, true},
	{"os.startfile", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"os.stat", CODE_OP_NONE, 0, true},
	{"os.system", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"os.uname", CODE_OP_NONE, CODE_T_HOST, true},
	{"paho.mqtt.client.Client().publish", CODE_OP_SEND, 0, true},
	{"paho.mqtt.publish.single", CODE_OP_SEND, 0, true},
	{"pandas.read_clipboard", CODE_OP_NONE, CODE_T_CLIP, true},
	{"paramiko.SSHClient", CODE_OP_NONE, 0, true},
	{"pathlib.Path", CODE_OP_SAME, 0, false},
	{"pathlib.Path.home", CODE_OP_HOME, 0, true},
	{"pexpect.run", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"pexpect.runu", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"pexpect.spawn", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"pickle.load", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"pickle.loads", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"platform.node", CODE_OP_NONE, CODE_T_HOST, true},
	{"platform.popen", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"platform.uname", CODE_OP_NONE, CODE_T_HOST, true},
	{"plumbum.local", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"popen2.Popen3", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"popen2.Popen4", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"popen2.popen2", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"popen2.popen3", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"popen2.popen4", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"posix.system", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"posixpath.join", CODE_OP_PATH, 0, false},
	{"print", CODE_OP_NONE, 0, true},
	{"psutil.disk_partitions", CODE_OP_NONE, CODE_T_HOST, true},
	{"psutil.net_if_addrs", CODE_OP_NONE, CODE_T_HOST, true},
	{"psutil.process_iter", CODE_OP_NONE, CODE_T_HOST, true},
	{"psutil.users", CODE_OP_NONE, CODE_T_HOST, true},
	{"pty.spawn", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"pwd.getpwuid", CODE_OP_NONE, CODE_T_HOST, true},
	{"pyHook.HookManager", CODE_OP_NONE, CODE_T_KEYS, true},
	{"pyaudio.PyAudio().open", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"pyautogui.screenshot", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"pycurl.Curl().setopt", CODE_OP_SEND, 0, true},
	{"pynput.keyboard.Listener", CODE_OP_NONE, CODE_T_KEYS, true},
	{"pynput.mouse.Listener", CODE_OP_NONE, CODE_T_KEYS, true},
	{"pyperclip.paste", CODE_OP_NONE, CODE_T_CLIP, true},
	{"pyscreenshot.grab", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"pyxhook.HookManager", CODE_OP_NONE, CODE_T_KEYS, true},
	{"range", CODE_OP_NONE, 0, true},
	{"raw_input", CODE_OP_NONE, CODE_T_CLI, true},
	{"redis.Redis().get", CODE_OP_NONE, CODE_T_NET, true},
	{"repr", CODE_OP_SAME, 0, false},
	{"request.GET", CODE_OP_NONE, CODE_T_USER, true},
	{"request.GET.get", CODE_OP_NONE, CODE_T_USER, true},
	{"request.POST", CODE_OP_NONE, CODE_T_USER, true},
	{"request.POST.get", CODE_OP_NONE, CODE_T_USER, true},
	{"request.args", CODE_OP_NONE, CODE_T_USER, true},
	{"request.args.get", CODE_OP_NONE, CODE_T_USER, true},
	{"request.files", CODE_OP_NONE, CODE_T_USER, true},
	{"request.form", CODE_OP_NONE, CODE_T_USER, true},
	{"request.form.get", CODE_OP_NONE, CODE_T_USER, true},
	{"request.get_json", CODE_OP_NONE, CODE_T_USER, true},
	{"request.query_params", CODE_OP_NONE, CODE_T_USER, true},
	{"request.values", CODE_OP_NONE, CODE_T_USER, true},
	{"requests.Session", CODE_OP_NONE, 0, true},
	{"requests.Session().get", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.Session().post", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.Session().put", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.Session().request", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.delete", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.get", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.head", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.options", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.patch", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.post", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.put", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.request", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.session", CODE_OP_NONE, 0, true},
	{"requests.session().get", CODE_OP_SEND, CODE_T_NET, true},
	{"requests.session().post", CODE_OP_SEND, CODE_T_NET, true},
	{"reversed", CODE_OP_REVERSE, 0, false},
	{"round", CODE_OP_NONE, 0, true},
	{"runpy.run_path", CODE_OP_EVAL, 0, true},
	{"set", CODE_OP_SAME, 0, false},
	{"sh.Command", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"sh.bash", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"shelve.open", CODE_OP_NONE, CODE_T_SERIAL, false},
	{"shlex.quote", CODE_OP_SAME, 0, false},
	{"shlex.split", CODE_OP_SAME, 0, false},
	{"shutil.copy", CODE_OP_COPY, 0, false},
	{"shutil.copyfile", CODE_OP_COPY, 0, false},
	{"shutil.copyfileobj", CODE_OP_COPY, 0, false},
	{"smtplib.SMTP().send_message", CODE_OP_SEND, 0, true},
	{"smtplib.SMTP().sendmail", CODE_OP_SEND, 0, true},
	{"smtplib.SMTP_SSL().send_message", CODE_OP_SEND, 0, true},
	{"smtplib.SMTP_SSL().sendmail", CODE_OP_SEND, 0, true},
	{"socket.create_connection", CODE_OP_SEND, 0, true},
	{"socket.getaddrinfo", CODE_OP_SEND, 0, true},
	{"socket.getfqdn", CODE_OP_NONE, CODE_T_HOST, true},
	{"socket.gethostbyname", CODE_OP_SEND, 0, true},
	{"socket.gethostname", CODE_OP_NONE, CODE_T_HOST, true},
	{"socket.socket", CODE_OP_NONE, 0, true},
	{"socket.socket().connect", CODE_OP_SEND, 0, true},
	{"socket.socket().makefile", CODE_OP_NONE, 0, true},
	{"socket.socket().send", CODE_OP_SEND, 0, true},
	{"sorted", CODE_OP_SAME, 0, false},
	{"sounddevice.rec", CODE_OP_NONE, CODE_T_SCREEN, true},
	{"stegano.exifHeader.reveal", CODE_OP_NONE, CODE_T_STEGO, true},
	{"stegano.lsb.reveal", CODE_OP_NONE, CODE_T_STEGO, true},
	{"steganography.steganography.Steganography.decode", CODE_OP_NONE, CODE_T_STEGO, true},
	{"str", CODE_OP_SAME, 0, false},
	{"str.fromhex", CODE_OP_HEX, CODE_T_DECODED, false},
	{"subprocess.Popen", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"subprocess.call", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"subprocess.check_call", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"subprocess.check_output", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"subprocess.getoutput", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"subprocess.getstatusoutput", CODE_OP_SHELL, CODE_T_OUTPUT, true},
	{"subprocess.run", CODE_OP_PROCESS, CODE_T_OUTPUT, true},
	{"sum", CODE_OP_NONE, 0, true},
	{"sys.argv", CODE_OP_NONE, CODE_T_CLI, true},
	{"sys.argv.pop", CODE_OP_NONE, CODE_T_CLI, true},
	{"sys.stdin", CODE_OP_NONE, CODE_T_CLI, true},
	{"sys.stdin.read", CODE_OP_NONE, CODE_T_CLI, true},
	{"telebot.TeleBot().send_document", CODE_OP_SEND, 0, true},
	{"telebot.TeleBot().send_message", CODE_OP_SEND, 0, true},
	{"telegram.Bot().send_document", CODE_OP_SEND, 0, true},
	{"telegram.Bot().send_message", CODE_OP_SEND, 0, true},
	{"telnetlib.Telnet().write", CODE_OP_SEND, 0, true},
	{"tempfile.NamedTemporaryFile", CODE_OP_NONE, CODE_T_TEMP, true},
	{"tempfile.gettempdir", CODE_OP_NONE, CODE_T_TEMP, true},
	{"tempfile.mkdtemp", CODE_OP_NONE, CODE_T_TEMP, true},
	{"tempfile.mkstemp", CODE_OP_NONE, CODE_T_TEMP, true},
	{"tls_client.Session().get", CODE_OP_SEND, CODE_T_NET, true},
	{"tls_client.Session().post", CODE_OP_SEND, CODE_T_NET, true},
	{"tuple", CODE_OP_SAME, 0, false},
	{"type", CODE_OP_NONE, 0, true},
	{"types.CodeType", CODE_OP_SAME, CODE_T_SERIAL, false},
	{"types.FunctionType", CODE_OP_SAME, CODE_T_SERIAL, false},
	{"unhexlify", CODE_OP_HEX, CODE_T_DECODED, false},
	{"unichr", CODE_OP_CHARS, 0, false},
	{"urllib.parse.unquote", CODE_OP_PERCENT, 0, false},
	{"urllib.request.build_opener().open", CODE_OP_SEND, CODE_T_NET, true},
	{"urllib.request.urlopen", CODE_OP_SEND, CODE_T_NET, true},
	{"urllib.request.urlretrieve", CODE_OP_SEND, CODE_T_NET, true},
	{"urllib.unquote", CODE_OP_PERCENT, 0, false},
	{"urllib.urlopen", CODE_OP_SEND, CODE_T_NET, true},
	{"urllib.urlretrieve", CODE_OP_SEND, CODE_T_NET, true},
	{"urllib2.urlopen", CODE_OP_SEND, CODE_T_NET, true},
	{"urllib3.PoolManager().request", CODE_OP_SEND, CODE_T_NET, true},
	{"urlopen", CODE_OP_SEND, CODE_T_NET, true},
	{"urlretrieve", CODE_OP_SEND, CODE_T_NET, true},
	{"uuid.getnode", CODE_OP_NONE, CODE_T_HOST, true},
	{"websocket.WebSocket().send", CODE_OP_SEND, 0, true},
	{"websocket.create_connection().send", CODE_OP_SEND, 0, true},
	{"wget.download", CODE_OP_SEND, CODE_T_NET, true},
	{"win32clipboard.GetClipboardData", CODE_OP_NONE, CODE_T_CLIP, true},
	{"wmi.WMI", CODE_OP_NONE, CODE_T_HOST, true},
	{"xerox.paste", CODE_OP_NONE, CODE_T_CLIP, true},
	{"zlib.decompress", CODE_OP_NONE, CODE_T_DECODED, false},
	{"zlib.decompressobj().decompress", CODE_OP_NONE, CODE_T_DECODED, false},
};

/* Letters that Python folds into plain ones: mathematical alphabets and full-width forms. */
static size_t plain_letter(const unsigned char *s, size_t len, char *out)
{
	uint32_t cp;

	if (len >= 4 && s[0] == 0xf0 && s[1] == 0x9d) {
		cp = ((s[0] & 7u) << 18) | ((s[1] & 63u) << 12) | ((s[2] & 63u) << 6) |
		     (s[3] & 63u);
		if (cp < 0x1d400 || cp > 0x1d6a3)
			return 0;
		cp = (cp - 0x1d400) % 52;
		*out = (char)(cp < 26 ? 'A' + cp : 'a' + cp - 26);
		return 4;
	}
	if (len >= 3 && s[0] == 0xef && (s[1] == 0xbc || s[1] == 0xbd)) {
		cp = ((s[0] & 15u) << 12) | ((s[1] & 63u) << 6) | (s[2] & 63u);
		if (cp < 0xff01 || cp > 0xff5e)
			return 0;
		*out = (char)(cp - 0xff01 + '!');
		return 3;
	}
	return 0;
}

static bool odd_ident(struct code_walk *w, struct code_val *out)
{
	const unsigned char *s = (const unsigned char *)w->text + out->start;
	size_t len = out->end - out->start, n = 0;
	bool odd = false;
	char plain[64];

	if (!memchr(s, 0xf0, len) && !memchr(s, 0xef, len))
		return false;
	for (size_t i = 0; i < len && n < sizeof(plain);) {
		size_t k = plain_letter(s + i, len - i, &plain[n]);

		odd = odd || k;
		if (!k)
			plain[n] = (char)s[i];
		i += k ? k : 1;
		n++;
	}
	if (!odd || n >= sizeof(plain))
		return false;
	*out = (struct code_val){
		.name = bawn_arena_strndup(w->a, plain, n) ?: "", .flags = CODE_V_HIDDEN};
	code_fact(w, "odd-letters");
	return true;
}

static void name_module(struct code_walk *w, const char *module, const char *local, size_t len)
{
	struct code_val v = {.name = module, .taint = code_taint_of_name(w, module)};

	(void)code_var_set(w, w->scope, local, len, &v);
}

static void import_plain(struct code_walk *w, const struct code_val *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *s = w->text + c[i].start;
		size_t len = c[i].end - c[i].start, top;

		if (c[i].kind == CODE_ALIAS && c[i].n == 2) {
			const struct code_val *x = c[i].items;

			const char *module = code_text(w, x[0].start, x[0].end);

			code_event(w, "import", module, NULL, 0, &c[i]);
			name_module(w, module, w->text + x[1].start, x[1].end - x[1].start);
		} else if (c[i].kind == CODE_DOTTED) {
			const char *dot = memchr(s, '.', len);

			top = dot ? (size_t)(dot - s) : len;
			code_event(w, "import", code_text(w, c[i].start, c[i].end), NULL, 0, &c[i]);
			name_module(
				w, code_text(w, c[i].start, c[i].start + (uint32_t)top), s, top);
		}
	}
}

static void import_from(struct code_walk *w, const struct code_val *c, size_t n)
{
	const struct code_val *m = code_child(c, n, CODE_F_SOURCE);
	const char *module = m ? code_text(w, m->start, m->end) : "";

	code_event(w, "import", module, NULL, 0, m ? m : c);
	for (size_t i = 0; i < n; i++) {
		const struct code_val *x = &c[i], *local = &c[i];
		const char *name;

		if (c[i].field != CODE_F_NAME)
			continue;
		if (c[i].kind == CODE_ALIAS && c[i].n == 2) {
			x = &c[i].items[0];
			local = &c[i].items[1];
		}
		name = bawn_arena_printf(
			       w->a, "%.100s.%.80s", module, code_text(w, x->start, x->end))
			       ?: "";
		code_event(w, "import", name, NULL, 0, &c[i]);
		name_module(w, name, w->text + local->start, local->end - local->start);
	}
}

static bool leave(
	struct code_walk *w, uint8_t kind, struct code_val *c, size_t n, struct code_val *out)
{
	switch (kind) {
	case CODE_IDENT:
		return odd_ident(w, out);
	case CODE_IMPORT:
		import_plain(w, c, n);
		return true;
	case CODE_IMPORT_FROM:
		import_from(w, c, n);
		return true;
	case CODE_ALIAS:
		if (n == 2) {
			struct code_val *v = bawn_new(w->a, struct code_val, 2);

			if (!v) {
				w->failed = true;
				return true;
			}
			memcpy(v, c, sizeof(*v) * 2);
			out->items = v;
			out->n = 2;
		}
		return true;
	default:
		return false;
	}
}

/* Up to `want` digits; returns how many there are. */
static size_t digits(const char *s, size_t len, size_t want, unsigned base, char *out)
{
	size_t n = 0;
	unsigned x = 0;

	for (; n < want && n < len; n++) {
		int d = bawn_digit16(s[n]);

		if (d < 0 || (unsigned)d >= base)
			break;
		x = x * base + (unsigned)d;
	}
	*out = (char)x;
	return n;
}

static size_t escape(const char *s, size_t len, char *out)
{
	static const char from[] = "nrtbfav", to[] = "\n\r\t\b\f\a\v";
	const char *k;

	if (len < 2) {
		*out = '\\';
		return 1;
	}
	if (s[1] == 'x' || s[1] == 'u' || s[1] == 'U')
		return 2 + digits(s + 2, len - 2, s[1] == 'x' ? 2 : (s[1] == 'u' ? 4 : 8), 16, out);
	if (s[1] >= '0' && s[1] <= '7')
		return 1 + digits(s + 1, len - 1, 3, 8, out);
	k = s[1] ? strchr(from, s[1]) : NULL;
	if (k)
		*out = to[k - from];
	else
		*out = s[1];
	return 2;
}

static void unquote(struct code_walk *w, struct code_val *v)
{
	const char *s = w->text + v->start;
	size_t len = v->end - v->start, i = 0, q, n = 0;
	bool raw = false;
	char *out;

	for (; i < len && s[i] != '"' && s[i] != '\''; i++)
		raw = raw || (s[i] | 32) == 'r';
	q = i + 2 < len && s[i] == s[i + 1] && s[i] == s[i + 2] ? 3 : 1;
	i += q;
	len = len >= i + q ? len - q : i;
	out = bawn_arena_alloc(w->a, len > i ? len - i + 1 : 1);
	if (!out) {
		w->failed = true;
		return;
	}
	while (i < len) {
		if (s[i] == '\\' && !raw && i + 1 < len && s[i + 1] == '\n')
			i += 2;
		else if (s[i] == '\\' && !raw)
			i += escape(s + i, len - i, &out[n++]);
		else
			out[n++] = s[i++];
	}
	v->str = out;
	v->len = (uint32_t)n;
}

/* A class that the installation of a package runs. */
static const char *context(
	struct code_walk *w, uint8_t kind, const char *name, const struct code_val *c, size_t n)
{
	const struct code_val *s = code_child(c, n, CODE_F_SUPER);
	static const char *const bases[] = {"install", "develop", "egg_info"};

	const char *build = NULL;

	(void)w;
	(void)name;
	if (kind != CODE_CLASS || !s)
		return NULL;
	for (uint32_t i = 0; i < s->n; i++) {
		const char *base = s->items[i].name, *tail = strrchr(base, '.');

		if (!strstr(base, "setuptools") && !strstr(base, "distutils") &&
			!strstr(base, "command"))
			continue;
		for (size_t k = 0; k < sizeof(bases) / sizeof(bases[0]); k++)
			if (tail && strcmp(tail + 1, bases[k]) == 0)
				return "install";
		build = "build";
	}
	return build;
}

const struct code_front code_python = {
	.name = "python",
	.lang = BAWN_LANG_PYTHON,
	.grammar = tree_sitter_python,
	.kinds = kinds,
	.n_kinds = sizeof(kinds) / sizeof(kinds[0]),
	.known = known,
	.n_known = sizeof(known) / sizeof(known[0]),
	.self = "self.",
	.leave = leave,
	.unquote = unquote,
	.context = context,
};
