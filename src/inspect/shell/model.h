/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to the models of programs (model.c, fetch.c, pack.c). */

#include "inspect/shell/shell.h"

/* Some word behind the program is one of "|a|b|". */
bool sh_has(const struct sh_command *c, const char *list);
/* The word behind an option, or glued to it (-ofile, --output=file). */
const char *sh_option(const struct sh_command *c, const char *shorter, const char *longer);
const char *sh_last(const struct sh_command *c);
/* What the files named by its words are. */
void sh_read_files(struct sh *s, const struct sh_command *c, struct sh_data *d);
int sh_put_file(struct sh *s, struct sh_command *c, const char *path, const struct sh_data *d);

/* The program makes a file out of others; NULL or "-": its output. */
int sh_convert(struct sh *s, struct sh_command *c, const char *to);

/* pack.c: tar cf FILE …, zip FILE …, 7z a FILE … */
int sh_archive(struct sh *s, struct sh_command *c);
/* gzip and its kin. */
int sh_compress(struct sh *s, struct sh_command *c);
/* As sh_convert; what was packed comes out sealed. */
int sh_seal(struct sh *s, struct sh_command *c, const char *to);
/* Somebody's whole home or a whole system among its words is as good as its secrets. */
void sh_whole_trees(struct sh *s, struct sh_command *c, bool packs);
void sh_note_unpacked(struct sh *s, const struct sh_command *c);

/* fetch.c: curl, wget and their kin. */
int sh_fetch(struct sh *s, struct sh_command *c);
/* tftp, ftpget, and scp or rsync from a bare address. *hit: it was such a download. */
int sh_fetch_odd(struct sh *s, struct sh_command *c, bool *hit);
/* The machine that a raw connection goes to; NULL: none, or this one. */
const char *sh_peer(struct sh *s, const struct sh_command *c);
