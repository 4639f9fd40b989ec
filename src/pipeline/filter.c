/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "inspect/secret/secret.h"

static int note(struct bawn_output_filter *f, int stream, const struct bawn_finding *x)
{
	struct bawn_output_findings *o = f->found;
	struct bawn_finding *own;

	o->total++;
	for (size_t i = 0; i < o->n; i++)
		if (o->stream[i] == stream && !strcmp(o->v[i].rule, x->rule)) {
			o->count[i]++;
			if (x->confidence > o->v[i].confidence)
				o->v[i].confidence = x->confidence;
			return 0;
		}
	if (o->n == BAWN_OUTPUT_FINDINGS_MAX)
		return 0;
	own = &o->v[o->n];
	*own = *x;
	own->detector = bawn_arena_strdup(f->a, x->detector);
	own->rule = bawn_arena_strdup(f->a, x->rule);
	own->category = bawn_arena_strdup(f->a, x->category);
	own->message = bawn_arena_strdup(f->a, x->message ? x->message : "");
	if (!own->detector || !own->rule || !own->category || !own->message)
		return -ENOMEM;
	o->stream[o->n] = stream;
	o->count[o->n++] = 1;
	return 0;
}

static int begin(struct bawn_output_filter *f, int stream, struct bawn_error *err)
{
	struct bawn_stream_options o = {
		.like = {.kind = BAWN_KIND_TEXT,
			.mode = BAWN_MODE_STANDARD,
			.detect = BAWN_DETECT_SECRETS | BAWN_DETECT_INJECTION,
			.name = stream == 1 ? "standard output" : "standard error"},
		.leaks_by_policy = true,
		.tame_escapes = f->tame[stream - 1],
		.secrets = f->secrets,
	};
	int r = bawn_inspector_new(f->p, &f->inspector[stream - 1], err);

	return r < 0 ? r : bawn_inspector_stream(f->inspector[stream - 1], &o, err);
}

static int feed(void *data, int stream, const char *bytes, size_t n, bool last,
	struct bawn_buf *out, struct bawn_error *err)
{
	_cleanup_arena_ struct bawn_arena *a = bawn_arena_new(); /* findings live only here */
	struct bawn_stream_chunk c = {.bytes = bytes, .n = n, .flush = !n, .last = last};
	struct bawn_output_filter *f = data;
	struct bawn_findings found = {0};
	int r = 0;

	if (!a)
		return bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	if (!f->inspector[stream - 1])
		r = begin(f, stream, err);
	if (r >= 0)
		r = bawn_inspector_filter(f->inspector[stream - 1], &c, a, out, &found, err);
	for (size_t i = 0; i < found.n; i++)
		if (note(f, stream, &found.v[i]) < 0 && r >= 0)
			r = bawn_fail(err, BAWN_ERR_INSPECT, -ENOMEM, "out of memory");
	if (r < 0)
		return bawn_error_wrap(
			err, "standard %s was withheld", stream == 1 ? "output" : "error");
	return 0;
}

/* Bytes for another program stay as they are; a terminal and a result object are read by somebody.
 */
static bool is_read(const struct bawn_policy *p, int fd, const struct bawn_buf *kept)
{
	if (p->out_escapes != BAWN_ESC_AUTO)
		return p->out_escapes == BAWN_ESC_TAME;
	return kept || (fd >= 0 && isatty(fd));
}

bool bawn_output_filter_guards_secrets(const struct bawn_policy *p)
{
	return p->sec_leaks || p->sec_patterns;
}

int bawn_output_filter_check(const struct bawn_policy *p, struct bawn_error *err)
{
	uint64_t n = bawn_secret_patterns();

	if (p->sec_patterns == BAWN_UNLIMITED || p->sec_patterns > n)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
			"the policy demands %" PRIu64 " leak patterns "
			"(secrets.leak_detection.patterns), and there are %" PRIu64,
			p->sec_patterns, n);
	return 0;
}

bool bawn_output_filter_init(struct bawn_output_filter *f, struct bawn_arena *a,
	const struct bawn_policy *p, const char *const *secrets, const struct bawn_outlets *o,
	struct bawn_output_findings *found)
{
	*f = (struct bawn_output_filter){
		.ops = {feed, f},
		.a = a,
		.p = p,
		.secrets = secrets,
		.tame = {is_read(p, o->out_fd, o->out), is_read(p, o->err_fd, o->err)},
		.found = found,
	};
	return secrets || p->out_scan || bawn_output_filter_guards_secrets(p) ||
	       p->out_escapes == BAWN_ESC_TAME;
}

void bawn_output_filter_done(struct bawn_output_filter *f)
{
	for (int i = 0; i < 2; i++)
		f->inspector[i] = bawn_inspector_free(f->inspector[i]);
}
