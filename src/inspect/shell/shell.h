/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Private to src/inspect/shell: what a shell text would do. One reader walks over the text as a
 * shell would (read.c), with an explicit stack of readers for what stands inside ($( ), eval,
 * bash -c, functions, heredocs). Each simple command is resolved, unwrapped (sudo, env, xargs, …),
 * given a model of what it prints and writes (model.c), and vetted: rules over its canonical line,
 * facts about paths (destroy.c), about data that flows (flow.c) and leaves (leak.c, worth.c), and
 * about processes (procs.c).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inspect/inspect.h"

/* What is known about bytes that flow: a mask. */
#define SH_SECRET  (1u << 0)  /* a credential, key or private data */
#define SH_ENV     (1u << 1)  /* the environment, or a variable that sounds like a secret */
#define SH_NET     (1u << 2)  /* came from the network */
#define SH_DECODED (1u << 3)  /* was decoded (base64, hex, …) */
#define SH_HOST    (1u << 4)  /* facts about the host: id, uname, … */
#define SH_FILE    (1u << 5)  /* content of some local file */
#define SH_HARD    (1u << 6)  /* secret beyond doubt: private keys, shadow */
#define SH_CODED   (1u << 7)  /* a secret, written in another way */
#define SH_TREE    (1u << 8)  /* names of all files of a system or a home */
#define SH_SOME    (1u << 9)  /* names of some files there */
#define SH_PACKED  (1u << 10) /* an archive */
#define SH_SEALED  (1u << 11) /* packed, and then encrypted or written as text */
#define SH_CLIP    (1u << 12) /* what somebody copied or typed */
#define SH_ENDLESS (1u << 13) /* never ends by itself: yes, /dev/zero */
#define SH_SMALL   (1u << 14) /* compressed, whatever it is */
#define SH_OUTER   (1u << 16) /* an archive of what lies outside of the workspace */
#define SH_SYSTEM  (1u << 15) /* content of a file of the system that is not public knowledge */

/* Bytes that are known, partly known or only known by where they come from. */
struct sh_data {
	const char *text; /* NUL-terminated; unknown parts stand as they were written */
	size_t len;
	bool known; /* nothing of text is unknown */
	unsigned taint;
	const char *from; /* the source that tainted it, for people */
	const char *url;  /* the address, when it came from the network */
};

struct sh_word {
	const char *text;
	bool known;
	bool quoted; /* some part was quoted */
	bool pieced; /* put together in a way that nobody needs: r''m, $a$b, $'\x72m' */
	unsigned taint;
	const char *from, *url;
};

struct sh_words {
	struct sh_word *v;
	size_t n, cap;
};

enum sh_redir_kind {
	SH_IN,
	SH_OUT,
	SH_APPEND,
	SH_HERE, /* heredoc or here-string */
	SH_DUP,
};

struct sh_redir {
	enum sh_redir_kind kind;
	int fd;
	const char *path;
	struct sh_data body; /* SH_HERE */
};

struct sh_redirs {
	struct sh_redir *v;
	size_t n, cap;
};

/* How a command runs. */
#define SH_ROOT   (1u << 0) /* sudo and the like */
#define SH_REMOTE (1u << 1) /* on another machine or in a container */
#define SH_ARGSIN (1u << 2) /* more arguments come from its input: xargs, find -exec */
#define SH_PIPED  (1u << 3) /* its output goes into another command */
#define SH_STDIN  (1u << 4) /* its input comes from another command or a file */
#define SH_LOOP   (1u << 5)
#define SH_EVER   (1u << 6) /* in a loop that never ends by itself */
#define SH_BEHIND (1u << 7) /* with & behind it: nobody waits for it */
#define SH_TIMED  (1u << 8) /* something ends it after a while */

struct sh_command {
	struct sh_words args;    /* [0] is the program's last path component */
	const char *path;        /* the program as written */
	struct sh_words assigns; /* NAME=VALUE before it */
	struct sh_redirs redirs;
	unsigned how;
	struct sh_data in, out;
	struct bawn_strlist writes; /* files that it makes or changes by its arguments */
	size_t start, end;          /* in the outermost text */
	const char *line; /* canonical: words apart by one blank, blanks inside words as \x1f */
};

struct sh_var {
	const char *name;
	const char *ref; /* the name that it stands for: declare -n */
	bool gone;       /* it was set where nobody sees it any more */
	struct sh_data value;
	struct sh_var *next;
};

/* What a variable was before something set it that will end: a subshell, a function. */
struct sh_undo {
	struct sh_var *var, was;
	bool local;
};

struct sh_file {
	const char *path;
	struct sh_data data;
	bool exec;         /* chmod +x */
	bool seen;         /* somebody looked into it */
	const char *was;   /* the program that it is a copy of */
	const char *reads; /* >( ): the script that reads what is written there */
	const char *peer;  /* /dev/fd/3: the /dev/tcp/… that exec opened there */
	struct sh_file *next;
};

struct sh_func {
	const char *name, *body;
	size_t len;
	bool alias;
	bool busy;
	struct sh_func *next;
};

#define SH_BUCKETS 64

struct sh_reader;

/* Where the outermost text has commands, in order. */
struct sh_span {
	size_t start, end;
};

struct sh_places {
	struct sh_span *v;
	size_t n, cap;
};

struct sh_seen {
	const char *rule;
	double confidence;
};

/* One text and all that is known while it is walked. */
struct sh {
	struct bawn_scan *scan;
	const struct bawn_subject *sub;
	struct bawn_arena *a;
	struct bawn_error *err;
	bool script; /* a source file, not a command */
	struct sh_var *vars[SH_BUCKETS];
	struct sh_undo *undo; /* newest last */
	size_t undo_n, undo_cap;
	size_t scopes; /* that are open */
	struct sh_file *files[SH_BUCKETS];
	struct sh_func *funcs[SH_BUCKETS];
	const char *cwd; /* NULL: where it was started */
	struct sh_reader *top;
	unsigned runs;
	size_t commands, most; /* in one line, and in the longest */
	size_t seen_n, seen_cap;
	struct sh_seen *seen; /* reported already: a long script does not repeat itself */
	bool deep;            /* some bound was reached */
	bool broken;          /* quotes or brackets do not end */
	bool refused;         /* tree-sitter's grammar cannot make sense of it */
	bool second;          /* the second reading is under way */
	bool separator;       /* $IFS stands where a blank would do */
	unsigned past;        /* SH_PAST_* */
	struct sh_places places;
	const char *past_from;
	struct bawn_strlist encrypted; /* words of commands that encrypt */
	const char *unpacked;          /* the bare address whose archive lies unpacked here */
};

/* What earlier commands of the text did. */
#define SH_PAST_SECRET (1u << 0) /* read something secret */
#define SH_PAST_FIFO   (1u << 1) /* made a named pipe */
#define SH_PAST_NET    (1u << 2)
#define SH_PAST_UNPACK (1u << 3) /* unpacked an archive */

int sh_no_memory(struct sh *s);

/* data.c: bytes, variables, files. */
struct sh_data sh_text(const char *text);
struct sh_data sh_unknown(unsigned taint, const char *from);
struct sh_data sh_join_data(struct sh *s, struct sh_data a, struct sh_data b);
struct sh_data sh_join_words(
	struct sh *s, const struct sh_words *w, size_t from, size_t to, char sep);
const struct sh_var *sh_var_get(const struct sh *s, const char *name, size_t n);
int sh_var_set(struct sh *s, const char *name, size_t n, struct sh_data v);
int sh_var_refer(struct sh *s, const char *name, size_t n, const char *to);
/* As sh_var_set, until the function ends. */
int sh_var_local(struct sh *s, const char *name, size_t n, struct sh_data v);
/* A scope ends: variables are what they were when `mark` was s->undo_n. */
void sh_undo(struct sh *s, size_t mark, bool locals);
struct sh_file *sh_file_get(struct sh *s, const char *path, bool make);
/* What it holds, when that is known and something; or NULL. */
const char *sh_file_text(struct sh *s, const char *path);
/* What exec opened under a number. */
struct sh_file *sh_descriptor(struct sh *s, const char *number, bool make);
struct sh_func *sh_func_get(struct sh *s, const char *name);
void sh_func_unset(struct sh *s, const char *name);
int sh_func_set(struct sh *s, const char *name, const char *body, size_t n, bool alias);
const char *sh_path(struct sh *s, const char *path); /* absolute where the place is known */

/* decode.c: what a constant pipeline would print. NULL: cannot be told. */
const char *sh_decode_base64(struct bawn_arena *a, const char *t, size_t n, size_t *ret_n);
const char *sh_decode_base32(struct bawn_arena *a, const char *t, size_t n, size_t *ret_n);
const char *sh_decode_hex(struct bawn_arena *a, const char *t, size_t n, size_t *ret_n);
/* Escapes as in $'…', echo -e and printf. `octal0`: \0NNN as echo has it. */
const char *sh_decode_escapes(struct bawn_arena *a, const char *t, size_t n, size_t *ret_n);
const char *sh_decode_reverse(struct bawn_arena *a, const char *t, size_t n);
const char *sh_decode_tr(
	struct bawn_arena *a, const char *t, size_t n, const char *from, const char *to, bool del);
const char *sh_decode_printf(
	struct bawn_arena *a, const struct sh_words *w, size_t first, size_t *ret_n);

/* norm.c: bytes that shells, parsers and people read differently. */
struct sh_norm {
	const char *text; /* without NUL, BOM, CR before LF, line continuations stay */
	size_t len;
	const char *folded; /* full-width and look-alike letters as ASCII, or NULL */
	const char *odd;    /* why no reader can be trusted, or NULL */
};
int sh_normalise(struct sh *s, const char *text, size_t len, struct sh_norm *ret);
/* ASCII look-alike of a word, or NULL when it has none. */
const char *sh_fold_word(struct bawn_arena *a, const char *word);

/* parse.c: what tree-sitter makes of it; commands that only it sees are vetted. */
int sh_second_reading(struct sh *s, const char *text, size_t len);

/* read.c */
int sh_run(struct sh *s, const char *text, size_t len);
/* Runs `text` next, before the current reader goes on; what it prints becomes the output of the
 * current command. */
int sh_push_script(struct sh *s, const char *text, size_t len, const struct sh_data *in,
	unsigned how, const struct sh_words *params);

/* split.c: one word of a reader from its marked form into words. */
int sh_split_word(struct sh *s, const struct sh_word *w, struct sh_words *out);
bool sh_glob_match(const char *pat, const char *text);
const char *sh_base(const char *path);
bool sh_is(const char *word, const char *list); /* list: "|a|b|c|" */

/* `words` from `from` on as a text that a shell reads back as the same words. */
const char *sh_quote_words(struct sh *s, const struct sh_words *w, size_t from);

/* unwrap.c: takes sudo, env, xargs, … away; finds the scripts that it hands to shells. */
struct sh_inner {
	const char *text;
	size_t len;
	unsigned how;
	struct sh_words params;
	bool has_params, has_in;
	const struct sh_word *zero; /* what $0 is; NULL: nobody said */
	struct sh_data in;
	struct sh_data bias;  /* where the text came from */
	struct sh_func *func; /* the alias that it is */
};
#define SH_INNER_MAX 32
struct sh_inners {
	struct sh_inner v[SH_INNER_MAX];
	size_t n;
};
/* A script that the command runs. Too many are as bad as too deep. */
struct sh_inner *sh_inner_add(struct sh *s, struct sh_inners *in, const char *text);
/* The same with how it is run; nothing for no text. */
struct sh_inner *sh_inner_put(struct sh *s, struct sh_inners *in, const char *text, unsigned how);
int sh_unwrap(struct sh *s, struct sh_command *c, struct sh_inners *in);
/* inner.c: scripts in the arguments of programs that are no wrappers (find, git, tar, awk, …). */
int sh_find_inner(struct sh *s, struct sh_command *c, struct sh_inners *in);
/* told.c: the same for variables, orders and lists of programs; sh_find_inner calls it. */
int sh_told(struct sh *s, const struct sh_command *c, struct sh_inners *in);
/* The variables alone, for a line that only sets them. */
void sh_told_variables(struct sh *s, const struct sh_command *c, struct sh_inners *in);
/* handed.c: command lines behind options and orders; sh_told calls it. */
void sh_handed(struct sh *s, const struct sh_command *c, struct sh_inners *in);
/* given.c: commands in files and settings that it is given; sh_told calls it. */
void sh_given(struct sh *s, const struct sh_command *c, struct sh_inners *in);
/* awk.c: what a program of awk runs. */
int sh_awk(struct sh *s, struct sh_command *c, struct sh_inners *in);
/* sed.c: what a script of sed runs and writes. */
int sh_sed(struct sh *s, struct sh_command *c, struct sh_inners *in);
/* later.c: what it writes where others will run it; its output is known by now. */
void sh_later(struct sh *s, const struct sh_command *c, struct sh_inners *in);
/* strings.c: the strings that a source text in some language hands to a shell. */
int sh_code_inner(struct sh *s, const struct sh_command *c, const char *code, struct sh_inners *in);
/* The end of a string in quotes that starts at p. */
const char *sh_string_end(const char *p);
int sh_add_string(struct sh *s, struct sh_inners *in, const char *p); /* the one that starts at p */
bool sh_is_shell(const char *word);
/* unwrap.c: where the words begin that ssh hands to the other machine. */
size_t sh_ssh_words(const struct sh_command *c);
/* The program's language when its text is given in words or input; BAWN_LANG_COUNT: some other
 * interpreter; BAWN_LANG_AUTO: none. */
enum bawn_lang sh_interpreter(const char *prog);
/* expand.c: a name that means something in every shell, set where it may not come to pass. */
bool sh_keeps_meaning(const struct sh *s, const char *name, size_t n);

/* model.c: what it reads, prints and writes. */
int sh_model(struct sh *s, struct sh_command *c);
/* sources.c: what its output is, whatever its input, and what to call it; 0: nothing special. */
unsigned sh_source(const struct sh_command *c, const char **ret_from);
bool sh_encodes(const struct sh_command *c);
bool sh_seeks_keys(const struct sh_command *c);
bool sh_spells(const struct sh_command *c); /* it makes text out of numbers */
/* Nobody knows what it prints, but some of its own words may be part of that: date '+a b'. */
void sh_say_words(struct sh *s, const struct sh_command *c, struct sh_data *d);
bool sh_prints_token(const struct sh_command *c);      /* it prints one secret in order to use it */
const char *sh_token_name(const struct sh_command *c); /* the variable that usually holds it */

/* paths.c */
enum sh_place {
	SH_HERE_DIR, /* below the workspace, or unknown */
	SH_ROOT_DIR,
	SH_HOME_DIR,   /* a home itself or all in it */
	SH_IN_HOME,    /* something in a home */
	SH_SYSTEM_DIR, /* a system directory itself */
	SH_IN_SYSTEM,
	SH_DEVICE,
	SH_TEMP,
	SH_ABSOLUTE,
	SH_UP,       /* above the workspace */
	SH_ALL_HERE, /* *, ., .git and the like */
};
enum sh_place sh_place(struct sh *s, const char *path);
struct sh_secret {
	const char *pattern;
	float read; /* confidence of reading it alone */
	unsigned taint;
	const char *what;
};
/* A file of the system, or a table about people; what every machine has and tells everybody does
 * not count. */
bool sh_of_system(struct sh *s, const char *path);
bool sh_about_people(const char *path); /* customers.xlsx */
/* The secret that a word names as a path (also @path, name=@path, file://path, if=path), or NULL.
 */
const struct sh_secret *sh_secret_of(struct sh *s, const char *word);
bool sh_secret_name(const char *variable, size_t n);

/* hosts.c */
enum sh_host {
	SH_HOST_NONE,
	SH_HOST_LOCAL,
	SH_HOST_ALLOWED, /* by the policy */
	SH_HOST_KNOWN,   /* installers that everybody uses, on hosts of their own */
	SH_HOST_SHARED,  /* where everybody gets things, and anybody can put them */
	SH_HOST_PLAIN,
	SH_HOST_ODD, /* a bare address, a tunnel, a paste or drop site */
};
enum sh_host sh_host_of(struct sh *s, const char *word, const char **ret_host);
bool sh_host_drop(const char *word);   /* made to receive things: webhooks, pastes, collaborators */
bool sh_host_abroad(const char *word); /* a bare address outside of networks of one's own */
bool sh_host_personal(const char *word); /* where people keep files of their own */
/* worth.c: a source text names a variable of a service, but none of its machines. */
bool sh_stray_in_code(const char *code);
/* A key that opens something else than what that host is. */
bool sh_stray_key(const char *text, const char *host);
bool sh_is_url(const char *word);

/* vet.c: findings of one command. */
struct sh_found {
	const char *rule, *category, *means;
	enum bawn_severity level;
	double confidence;
};
int sh_report(struct sh *s, const struct sh_command *c, const struct sh_found *f);
/* The same, as severe as it is sure. */
int sh_found(struct sh *s, const struct sh_command *c, const char *rule, const char *category,
	const char *means, double confidence);
int sh_vet(struct sh *s, struct sh_command *c);
/* Rules over a line with one word; blanks in it as in canonical lines. */
int sh_vet_fact(struct sh *s, const struct sh_command *c, const char *what, const char *word);
int sh_vet_destroy(struct sh *s, const struct sh_command *c);
/* trees.c: names that are found, and what is done to all of them. */
bool sh_lists_names(const struct sh_command *c); /* it prints names of files */
int sh_tree_names(struct sh *s, struct sh_command *c);
bool sh_narrowed(const struct sh_command *c, bool depth); /* find with conditions */
int sh_vet_trees(struct sh *s, const struct sh_command *c);
/* It makes something that nobody reads without a key. */
bool sh_encrypts(const struct sh_command *c);
/* Names of papers, mail and databases of people: where names of files come from. */
#define SH_PAPERS "papers of people"
/* collect.c: what is offered, guessed or searched. */
int sh_vet_collect(struct sh *s, const struct sh_command *c);
/* stage.c: what is put together or aside before it leaves. */
int sh_vet_stage(struct sh *s, const struct sh_command *c);
/* It makes or adds to a file where every program of the machine may write. */
bool sh_goes_aside(struct sh *s, const struct sh_command *c);
/* procs.c: "ps NAMES" when the command picks processes by their names out of `from`. */
const char *sh_picked(struct sh *s, const struct sh_command *c, const char *from);
/* Processes that are ended by a name that was picked, and loops that flood or spread. */
int sh_vet_procs(struct sh *s, const struct sh_command *c);
int sh_vet_flow(struct sh *s, const struct sh_command *c);
/* Word i is a pattern, a message or a key to use, not a file to read. */
bool sh_not_read(const struct sh_command *c, size_t i);
/* leak.c: secrets and local data that leave, through a program or through /dev/tcp. */
int sh_vet_leak(struct sh *s, const struct sh_command *c);
bool sh_is_archive(const char *path); /* by its name */
/* A program in another language that sends on what it is fed. */
int sh_vet_code_input(struct sh *s, const struct sh_command *c, const char *code);
int sh_vet_tcp(struct sh *s, const struct sh_command *c);
/* The first n words, before a wrapper is taken away: only secrets beyond doubt. */
int sh_vet_words(struct sh *s, const struct sh_command *c, size_t n);
/* Source code that is run, in whatever language. */
int sh_vet_code(struct sh *s, const struct sh_command *c, const char *code);
/* Bytes that reach a shell or an interpreter as its program. */
int sh_vet_execution(struct sh *s, const struct sh_command *c, const struct sh_data *d);
