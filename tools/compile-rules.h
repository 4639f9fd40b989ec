/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Private to compile-rules. */

#include <stddef.h>

/*
 * Where a pattern for commands, '^program word.*rest', can end for hyperscan: before the first .*
 * or group behind a telling word, neither in a group itself. What comes behind is left to PCRE2;
 * databases grow with the square of what they have to remember. 0: it is one piece.
 */
size_t rules_beginning(const char *pattern);

/*
 * Where the rest of a pattern for events begins, '(?m)^verb anything rest' or '(?m)^verb
 * (?:name|name)rest', if that has no alternatives on its own and stays in the line: every match has
 * it in it, and what stands before it is common. *ret_flags gets how many bytes of the pattern are
 * its flags. 0: it has none.
 */
size_t rules_ending(const char *pattern, size_t *ret_flags);

/*
 * The beginning of a database, with its own length and checksum. hs_alloc_scratch() reads no more
 * of it but checks the sum over all; the whole database would cost more than most searches. Returns
 * 0 if this hyperscan lays its databases out in another way: then the whole one has to do.
 */
size_t rules_head(const char *db, size_t size, char **ret);
