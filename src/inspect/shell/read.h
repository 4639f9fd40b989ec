/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to the reader (read.c, tokens.c, expand.c, skip.c). */

#include "inspect/shell/marks.h"

enum sh_mode {
	SH_MODE_SCRIPT,
	SH_MODE_TEXT, /* as between double quotes: only expansions count; the result is its output
		       */
};

/* What the result of the reader above is for. */
enum sh_wait {
	SH_WAIT_NONE,
	SH_WAIT_SUBST,   /* $( ), ` `: part of the word */
	SH_WAIT_PROCESS, /* <( ), >( ): the word is a file with it */
	SH_WAIT_PARAM,   /* the word in ${x:-word} */
	SH_WAIT_NUMBER,  /* $(( )) */
	SH_WAIT_HERE,    /* body of a heredoc */
	SH_WAIT_OUTPUT,  /* output of the current command */
	SH_WAIT_LOOP,    /* further rounds of a loop: nothing */
};

/* Where a finished word goes. */
enum sh_target {
	SH_TO_ARGS,
	SH_TO_REDIR,
	SH_TO_FOR_NAME,
	SH_TO_FOR_LIST,
	SH_TO_CASE,
	SH_TO_FUNCTION,
	SH_TO_ARRAY,
};

enum sh_block_kind {
	SH_BLOCK_GROUP, /* { } */
	SH_BLOCK_SUB,   /* ( ) */
	SH_BLOCK_LOOP,  /* while, until, for … done */
	SH_BLOCK_IF,    /* if … fi */
	SH_BLOCK_CASE,  /* case … esac */
};

struct sh_block {
	enum sh_block_kind kind;
	struct sh_data in, out;
	bool piped;       /* it has input of its own */
	bool ever;        /* a loop that never ends by itself */
	bool behind;      /* starts something that nobody waits for */
	size_t body;      /* where its text starts */
	size_t mark;      /* of sh_undo, for ( ) and functions */
	const char *name; /* for NAME, or the function that is being defined */
	bool function;
	struct sh_words list; /* for … in LIST */
};

struct sh_reader {
	struct sh_reader *up;    /* whom the result is for */
	struct sh_reader *below; /* on the stack */
	bool again;              /* a text that was read before: rounds of a loop, a function */
	unsigned level;          /* readers that wait for it */
	unsigned pending;        /* readers above that work for the current command */
	enum sh_mode mode;
	const char *t;
	size_t n, i;
	unsigned how;
	bool has_params;
	struct sh_words params;
	const struct sh_word *zero; /* $0 */
	bool scope;                 /* variables that it sets end with it */
	size_t mark;                /* of sh_undo */
	struct sh_func *func;
	struct sh_data in, out;
	struct sh_data bias; /* what taints every word, because the text itself came from there */
	size_t base, span;   /* place in the outermost text; span 0: positions count themselves */

	struct sh_command *cmd; /* under way; NULL: none */
	bool block_cmd;         /* cmd stands for a block that has just ended */
	bool piped;             /* cmd's input is `pipe` */
	struct sh_data pipe;
	size_t cmd_start;
	bool to_pipe; /* the command that waits for its output is followed by | */

	bool word, dq, quoted, known;
	unsigned pieces; /* expansions that gave something */
	bool literal;    /* and letters that stood there */
	bool patched;    /* quotes or escapes inside a run of letters */
	char *w;
	size_t wn, wcap;
	unsigned taint;
	const char *from, *url;
	enum sh_target target;
	bool coproc;       /* the word before this one was coproc */
	bool timed;        /* … or time */
	bool test;         /* between [[ and ]] */
	bool pattern;      /* before a pattern of case */
	const char *array; /* NAME of the array that is being filled */
	struct sh_data items;
	const char *for_name;
	struct sh_words for_list;
	const char *function; /* the next block is its body */
	bool want_in;         /* behind case WORD */
	enum sh_redir_kind redir;
	int redir_fd;
	bool here_tabs, here_doc;
	size_t here_next; /* where the text goes on behind the bodies of this line; 0: none */
	struct sh_redir *here_wait;

	enum sh_wait wait;
	bool wait_dq;
	const char *wait_name;   /* ${name:=word}: what is set to the word */
	const char *process_out; /* >( ): its script; NULL: it is <( ) */

	struct sh_block *blocks;
	size_t n_blocks, cap_blocks;
};

/* What a step of the reader says. */
#define SH_STEP_MORE  0
#define SH_STEP_DONE  1
#define SH_STEP_CHILD 2 /* a reader was pushed */

/* skip.c: where something ends, quotes and nesting respected; n when it does not end. */
size_t sh_skip_paren(const char *t, size_t n, size_t i); /* i behind "(": index of its ")" */
size_t sh_skip_brace(const char *t, size_t n, size_t i); /* i behind "${" */
size_t sh_skip_backtick(const char *t, size_t n, size_t i);
bool sh_name_char(char c, bool first);
/* Whether $( ) or ` ` stands in it. */
bool sh_substitutes(const char *t, size_t n);

/* read.c */
int sh_push(struct sh *s, enum sh_mode mode, const char *t, size_t n, struct sh_reader **ret);
/* What the top of the stack sets, nobody else sees. */
void sh_scope(struct sh *s);
/* tokens.c */
int sh_step(struct sh *s, struct sh_reader *r);
int sh_token(struct sh *s, struct sh_reader *r);
int sh_word_end(struct sh *s, struct sh_reader *r);
int sh_command_end(struct sh *s, struct sh_reader *r, bool piped);
/* commands.c */
int sh_execute(struct sh *s, struct sh_reader *r, struct sh_command *c);
/* The output of the current command is complete. */
int sh_command_after(struct sh *s, struct sh_reader *r);
/* builtins.c: what the shell does itself. *hit: it was one. */
int sh_builtin(struct sh *s, struct sh_reader *r, struct sh_command *c, bool *hit);
/* blocks.c */
int sh_block_begin(struct sh *s, struct sh_reader *r, enum sh_block_kind kind);
int sh_block_end(struct sh *s, struct sh_reader *r, enum sh_block_kind kind);
int sh_arithmetic(struct sh *s, struct sh_reader *r, const char *t, size_t n);
struct sh_command *sh_command_now(struct sh *s, struct sh_reader *r);
/* expand.c */
int sh_put(struct sh *s, struct sh_reader *r, const char *t, size_t n);
int sh_put_value(struct sh *s, struct sh_reader *r, const struct sh_data *v, bool dq);
int sh_dollar(struct sh *s, struct sh_reader *r);
int sh_backtick(struct sh *s, struct sh_reader *r);
int sh_process(struct sh *s, struct sh_reader *r);
