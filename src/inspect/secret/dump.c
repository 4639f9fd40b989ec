/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a dump is an offset, white space, and groups of digits (bytes or words), or single
 * characters as od -c has them. Lines that are none are passed over.
 */
#include "inspect/secret/dump.h"

#include <stdbool.h>
#include <string.h>

#include "inspect/secret/squeeze.h"

#define OFFSET_MIN 4
#define OFFSET_MAX 16
#define INDENT_MAX 8

static bool hex(char c)
{
	return squeeze_symbol((unsigned char)c) < 16;
}

static size_t run_of(const struct dump *d, size_t at, size_t end, bool spaces)
{
	size_t i = at;

	while (i < end && (spaces ? d->text[i] == ' ' : d->text[i] > ' '))
		i++;
	return i - at;
}

static bool all_hex(const struct dump *d, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!hex(d->text[at + i]))
			return false;
	return true;
}

/* The end of the column that starts at `at`. */
static size_t column_end(const struct dump *d, size_t at, size_t end, bool narrow)
{
	size_t first = run_of(d, at, end, false), stop = at;
	/* single characters, or an escape such as \n, or three digits: od -c */
	bool chars = first == 1 || d->text[at] == '\\';

	while (at < end) {
		size_t n = run_of(d, at, end, false), gap;

		if (!n || (chars ? n > 3 : n % 2 || n > 8 || !all_hex(d, at, n)))
			break;
		at += n;
		stop = at;
		gap = run_of(d, at, end, true);
		/* behind a colon two spaces end the column */
		if (narrow && gap > 1)
			break;
		at += gap;
	}
	return stop;
}

/* Sets at and stop for the line [from, end); false if it is none of a dump. */
static bool read_line(struct dump *d, size_t from, size_t end)
{
	size_t indent = run_of(d, from, end, true), n = 0, gap;
	bool colon;

	if (indent > INDENT_MAX)
		return false;
	from += indent;
	while (from + n < end && n <= OFFSET_MAX && hex(d->text[from + n]))
		n++;
	if (n < OFFSET_MIN || n > OFFSET_MAX)
		return false;
	from += n;
	colon = from < end && d->text[from] == ':';
	from += colon;
	gap = run_of(d, from, end, true);
	if (!gap)
		return false;
	d->at = from + gap;
	d->stop = column_end(d, d->at, end, colon);
	return d->stop > d->at;
}

static bool next_line(struct dump *d)
{
	while (d->at < d->len) {
		const char *nl = memchr(d->text + d->at, '\n', d->len - d->at);
		size_t end = nl ? (size_t)(nl - d->text) : d->len;

		if (read_line(d, d->at, end))
			return true;
		d->at = end + 1;
	}
	return false;
}

/* Leave the line: what is behind the column does not count. */
static void leave_line(struct dump *d)
{
	const char *nl = memchr(d->text + d->at, '\n', d->len - d->at);

	d->at = nl ? (size_t)(nl - d->text) + 1 : d->len;
	d->stop = 0;
}

unsigned dump_next(struct dump *d)
{
	for (;;) {
		if (!d->stop && !next_line(d))
			return SQUEEZE_NONE;
		while (d->at < d->stop) {
			unsigned c = squeeze_symbol((unsigned char)d->text[d->at]);

			d->start = d->at++;
			if (c < 36)
				return c;
		}
		leave_line(d);
	}
}
