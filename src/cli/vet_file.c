/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content of any length through the inspector. The bytes that were read last are kept as long as a
 * finding may still point into them, so that line numbers need neither the whole file nor a second
 * look.
 */
#include <errno.h>
#include <string.h>

#include <sys/stat.h>

#include "base/io.h"
#include "cli/vet.h"

#define CHUNK 65536u
#define KEPT  ((size_t)512 << 10) /* more than the stream holds back */

struct lines {
	char *buf;
	size_t len;
	uint64_t base;       /* offset of buf[0] */
	size_t line;         /* number of the line buf[0] is in */
	uint64_t line_start; /* where that line starts */
};

static void lines_drop(struct lines *l, size_t n)
{
	const char *end = l->buf + n;

	for (const char *p = l->buf; (p = memchr(p, '\n', (size_t)(end - p))); p++) {
		l->line++;
		l->line_start = l->base + (uint64_t)(p - l->buf) + 1;
	}
	memmove(l->buf, end, l->len - n);
	l->len -= n;
	l->base += n;
}

static void lines_add(struct lines *l, const char *bytes, size_t n)
{
	if (l->len + n > KEPT)
		lines_drop(l, KEPT / 2);
	memcpy(l->buf + l->len, bytes, n);
	l->len += n;
}

static struct vet_place lines_find(const struct lines *l, uint64_t offset)
{
	struct vet_place at = {.offset = offset, .line = l->line};
	uint64_t start = l->line_start;
	size_t n = offset > l->base ? (size_t)(offset - l->base) : 0;
	const char *end = l->buf + (n < l->len ? n : l->len);

	for (const char *p = l->buf; (p = memchr(p, '\n', (size_t)(end - p))); p++) {
		at.line++;
		start = l->base + (uint64_t)(p - l->buf) + 1;
	}
	at.column = offset >= start ? (size_t)(offset - start) + 1 : 1;
	return at;
}

static int add_places(struct vet_file *f, const struct lines *l)
{
	for (size_t i = f->n_places; i < f->found.n; i++) {
		struct vet_place *p = bawn_grow(f->a, &f->places, &f->n_places, &f->cap_places);

		if (!p)
			return -ENOMEM;
		*p = lines_find(l, f->found.v[i].start);
	}
	return 0;
}

/* At most *left bytes: a file may grow faster than it is looked at. */
static ssize_t read_chunk(int fd, char *dst, uint64_t *left)
{
	ssize_t n;

	do
		n = read(fd, dst, *left < CHUNK ? (size_t)*left : CHUNK);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	*left -= (uint64_t)n;
	return n;
}

/* What a file holds behind where we are; of what has no size, such as a pipe, all that comes. */
static uint64_t length_of(int fd)
{
	struct stat st;
	off_t at;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return UINT64_MAX;
	at = lseek(fd, 0, SEEK_CUR);
	return at >= 0 && at < st.st_size ? (uint64_t)(st.st_size - at) : UINT64_MAX;
}

/* One chunk through the child. What it passes on goes to standard output. */
static int feed(struct vet *v, struct vet_file *f, const struct bawn_stream_chunk *c,
	struct bawn_error *err)
{
	int r = bawn_inspector_filter(v->inspector, c, f->a, &v->cli->out, &f->found, err);

	/* with the finding that says so */
	if (r == -EIO && f->found.n)
		return 1;
	if (r >= 0 && v->redact)
		r = cli_flush(v->cli, err);
	return r;
}

static int stream(
	struct vet *v, struct vet_file *f, int fd, struct lines *l, struct bawn_error *err)
{
	struct bawn_stream_options o = {
		.like = {.kind = BAWN_KIND_TEXT,
			.mode = f->mode,
			.detect = v->detect,
			.name = f->path},
		.leaks = v->redact ? BAWN_LEAK_REDACT : BAWN_LEAK_WARN,
		.show_hidden = v->redact,
		.tame_escapes = v->redact,
		.findings_only = !v->redact,
	};
	_cleanup_free_ char *chunk = malloc(CHUNK);
	uint64_t left = length_of(fd);
	ssize_t n = 1;
	int r = chunk ? bawn_inspector_stream(v->inspector, &o, err) : -ENOMEM;

	while (!r && n > 0) {
		struct bawn_stream_chunk c = {.bytes = chunk};

		n = read_chunk(fd, chunk, &left);
		if (n < 0)
			return (int)n;
		c.n = (size_t)n;
		c.last = n == 0;
		/* what comes slowly is passed on as it comes */
		c.flush = v->redact && c.n < CHUNK;
		f->bytes += c.n;
		lines_add(l, chunk, c.n);
		r = feed(v, f, &c, err);
		if (add_places(f, l) < 0)
			return -ENOMEM;
	}
	return r;
}

int vet_fd(struct vet *v, const char *path, int fd, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new();
	struct lines l = {.buf = malloc(KEPT + CHUNK), .line = 1};
	struct vet_file f = {.a = a, .path = path};
	struct bawn_verdict_place place = {0};
	int r = a && l.buf ? 0 : -ENOMEM;

	f.mode = v->mode_given ? v->mode : bawn_mode_for(v->policy, path);
	place.mode = f.mode;
	if (!r)
		r = stream(v, &f, fd, &l, err);
	free(l.buf);
	/* reading failed: this file alone is left out */
	if (r < 0 && err->kind == BAWN_ERR_NONE)
		return vet_report_unreadable(v, path, r, err);
	if (r >= 0)
		r = bawn_verdict_make(v->policy, &place, &f.found, &f.verdict, err);
	return r < 0 ? r : vet_report_file(v, &f, err);
}
