/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.x heads, read so that there is one reading only. A proxy that repairs what it gets and a
 * server that reads the rest differently make request smuggling; so nothing is repaired. Bytes have
 * classes, headers that matter have a row in a table.
 */
#include "egress/http.h"

#include <errno.h>

#include "egress/http_bytes.h"

#define METHOD_MAX 32

/* What the headers say about host, framing and connection. */
struct facts {
	bool response;
	unsigned hosts, lengths, codings;
	struct bawn_slice host;
	uint64_t length;
	bool close, keep, upgrade, expect;
	int status; /* to answer when refused, 400 unless set */
};

struct reader {
	const char *p, *end; /* what is left of the head, without the empty line */
	int *status;
	struct bawn_error *err;
};

static int refuse(struct reader *r, int status, const char *why)
{
	if (r->status)
		*r->status = status;
	return bawn_fail(r->err, BAWN_ERR_CALL, -EBADMSG, "http: %s", why);
}

static bool same(struct bawn_slice a, const char *b)
{
	return a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

/* Some servers read a_b as a-b: a name that differs from `b` only in that. */
static bool alias(struct bawn_slice a, const char *b)
{
	bool under = false;

	if (a.n != strlen(b))
		return false;
	for (size_t i = 0; i < a.n; i++) {
		if (a.p[i] == '_' && b[i] == '-')
			under = true;
		else if ((a.p[i] | 0x20) != (b[i] | 0x20))
			return false;
	}
	return under;
}

static struct bawn_slice trim(struct bawn_slice s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) {
		s.p++;
		s.n--;
	}
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* The next element of a comma list; false at its end. */
static bool list_next(struct bawn_slice *list, struct bawn_slice *ret)
{
	const char *comma;

	if (!list->n)
		return false;
	comma = memchr(list->p, ',', list->n);
	ret->p = list->p;
	ret->n = comma ? (size_t)(comma - list->p) : list->n;
	list->p += ret->n + (comma != NULL);
	list->n -= ret->n + (comma != NULL);
	*ret = trim(*ret);
	return true;
}

static const char *on_host(struct facts *f, struct bawn_slice v)
{
	if (f->response)
		return NULL;
	f->host = v;
	return f->hosts++ ? "more than one Host" : NULL;
}

static const char *on_length(struct facts *f, struct bawn_slice v)
{
	uint64_t n = 0;

	if (f->lengths++)
		return "more than one Content-Length";
	/* 18 digits are an exabyte, and cannot overflow. */
	if (!v.n || v.n > 18)
		return "Content-Length is no number";
	for (size_t i = 0; i < v.n; i++) {
		if (v.p[i] < '0' || v.p[i] > '9')
			return "Content-Length is no number";
		n = n * 10 + (uint64_t)(v.p[i] - '0');
	}
	f->length = n;
	return NULL;
}

static const char *on_coding(struct facts *f, struct bawn_slice v)
{
	if (f->codings++)
		return "more than one Transfer-Encoding";
	if (same(v, "chunked"))
		return NULL;
	f->status = 501;
	return "a Transfer-Encoding other than chunked";
}

static const char *on_connection(struct facts *f, struct bawn_slice v)
{
	/* Naming these would have us drop them, and the server see another request. */
	static const char *const end_to_end[] = {"host", "content-length", "transfer-encoding"};
	struct bawn_slice e;

	while (list_next(&v, &e)) {
		f->close |= same(e, "close");
		f->keep |= same(e, "keep-alive");
		f->upgrade |= same(e, "upgrade");
		for (size_t i = 0; i < sizeof(end_to_end) / sizeof(end_to_end[0]); i++)
			if (same(e, end_to_end[i]))
				return "Connection names a header that must stay";
	}
	return NULL;
}

static const char *on_upgrade(struct facts *f, struct bawn_slice v)
{
	(void)v;
	f->upgrade = true;
	return NULL;
}

static const char *on_expect(struct facts *f, struct bawn_slice v)
{
	f->expect = same(v, "100-continue");
	return f->expect || f->response ? NULL : "an Expect other than 100-continue";
}

static const struct {
	const char *name;
	const char *(*on)(struct facts *f, struct bawn_slice v);
	bool framing; /* look-alikes are refused */
} known[] = {
	{"host", on_host, true},
	{"content-length", on_length, true},
	{"transfer-encoding", on_coding, true},
	{"connection", on_connection, false},
	{"proxy-connection", on_connection, false},
	{"upgrade", on_upgrade, false},
	{"expect", on_expect, false},
};

static const char *note(struct facts *f, const struct bawn_http_header *h)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (same(h->name, known[i].name))
			return known[i].on(f, h->value);
		if (known[i].framing && alias(h->name, known[i].name))
			return "a header that looks like one about framing";
	}
	return NULL;
}

/*
 * Where the head ends: 1 and *ret_len, 0 if it has not, negative if it never will. Bare CR, bare LF
 * and NUL are refused as soon as they are there.
 */
static int head_end(struct reader *r, const char *p, size_t len, size_t *ret_len)
{
	size_t line = 0, max = len < BAWN_HTTP_HEAD_MAX ? len : BAWN_HTTP_HEAD_MAX;
	bool first = true;

	for (size_t i = 0; i < max; i++) {
		if (bawn_http_bytes[(uint8_t)p[i]] == BAWN_BYTE_BAD)
			return refuse(r, 400, "a control character");
		if (p[i] == '\n' && (!i || p[i - 1] != '\r'))
			return refuse(r, 400, "a line that ends in LF alone");
		if (i && p[i - 1] == '\r' && p[i] != '\n')
			return refuse(r, 400, "a CR inside a line");
		if (p[i] != '\n')
			continue;
		if (i == line + 1) {
			*ret_len = i + 1;
			return first ? refuse(r, 400, "an empty line in front") : 1;
		}
		line = i + 1;
		first = false;
	}
	if (len < BAWN_HTTP_HEAD_MAX)
		return 0;
	return first ? refuse(r, 414, "the request line is too long")
		     : refuse(r, 431, "the headers are too long");
}

/* The next line without its CRLF. Lines are known to be well-formed. */
static struct bawn_slice line_next(struct reader *r)
{
	const char *cr = memchr(r->p, '\r', (size_t)(r->end - r->p));
	struct bawn_slice s = {r->p, cr ? (size_t)(cr - r->p) : (size_t)(r->end - r->p)};

	r->p = cr ? cr + 2 : r->end;
	return s;
}

static int read_headers(
	struct reader *r, struct bawn_http_header *v, size_t *ret_n, struct facts *f)
{
	size_t n = 0;

	while (r->p < r->end) {
		struct bawn_slice line = line_next(r);
		size_t name = 0;
		const char *why;

		if (line.p[0] == ' ' || line.p[0] == '\t')
			return refuse(r, 400, "a folded header");
		while (name < line.n && bawn_http_is_token((uint8_t)line.p[name]))
			name++;
		if (!name || name == line.n || line.p[name] != ':')
			return refuse(r, 400, "a header without a well-formed name");
		if (n == BAWN_HTTP_HEADERS_MAX)
			return refuse(r, 431, "too many headers");
		v[n].name = (struct bawn_slice){line.p, name};
		v[n].value = trim((struct bawn_slice){line.p + name + 1, line.n - name - 1});
		why = note(f, &v[n++]);
		if (why)
			return refuse(r, f->status ? f->status : 400, why);
	}
	*ret_n = n;
	return 0;
}

/* "HTTP/1.0" or "HTTP/1.1". */
static int read_version(struct reader *r, struct bawn_slice s, int *ret_minor)
{
	if (s.n != 8 || memcmp(s.p, "HTTP/", 5) != 0 || s.p[6] != '.')
		return refuse(r, 400, "no HTTP version");
	if (s.p[5] != '1' || (s.p[7] != '0' && s.p[7] != '1'))
		return refuse(r, 505, "only HTTP/1.0 and 1.1 are spoken");
	*ret_minor = s.p[7] - '0';
	return 0;
}

static int check_method(struct reader *r, struct bawn_slice m)
{
	if (!m.n || m.n > METHOD_MAX)
		return refuse(r, 400, "no method");
	for (size_t i = 0; i < m.n; i++)
		if ((m.p[i] < 'A' || m.p[i] > 'Z') && !(i && m.p[i] == '-'))
			return refuse(r, 501, "methods are capital letters");
	/* These give the request, with what was added to it, back to whoever made it. */
	if (same(m, "TRACE") || same(m, "TRACK"))
		return refuse(r, 405, "TRACE is not carried");
	return 0;
}

static int read_absolute(struct reader *r, struct bawn_http_request *q)
{
	static const char scheme[] = "http://";
	const size_t skip = sizeof(scheme) - 1;
	size_t n = skip;

	if (q->target.n < skip || strncasecmp(q->target.p, scheme, skip) != 0)
		return refuse(r, 400, "a target other than http://; use CONNECT");
	while (n < q->target.n && q->target.p[n] != '/')
		n++;
	q->form = BAWN_FORM_ABSOLUTE;
	if (bawn_host_parse_port(q->target.p + skip, n - skip, 80, &q->host, &q->port, r->err) < 0)
		return -EBADMSG;
	q->path = (struct bawn_slice){q->target.p + n, q->target.n - n};
	if (!q->path.n)
		q->path = (struct bawn_slice){"/", 1};
	return 0;
}

static int read_target(struct reader *r, struct bawn_http_request *q)
{
	for (size_t i = 0; i < q->target.n; i++)
		if (q->target.p[i] == '#' || q->target.p[i] == '\t')
			return refuse(r, 400, "a character that no target has");
	if (same(q->method, "CONNECT")) {
		q->form = BAWN_FORM_AUTHORITY;
		return bawn_host_parse_port(
			q->target.p, q->target.n, 0, &q->host, &q->port, r->err);
	}
	if (q->target.n && q->target.p[0] == '/') {
		q->form = BAWN_FORM_ORIGIN;
		q->path = q->target;
		return 0;
	}
	if (same(q->target, "*") && same(q->method, "OPTIONS")) {
		q->form = BAWN_FORM_ASTERISK;
		q->path = q->target;
		return 0;
	}
	return read_absolute(r, q);
}

static int read_request_line(struct reader *r, struct bawn_http_request *q)
{
	struct bawn_slice line = line_next(r), version;
	const char *a = memchr(line.p, ' ', line.n), *b;

	b = a ? memchr(a + 1, ' ', line.n - (size_t)(a + 1 - line.p)) : NULL;
	if (!a || !b)
		return refuse(r, 400, "no request line");
	q->method = (struct bawn_slice){line.p, (size_t)(a - line.p)};
	q->target = (struct bawn_slice){a + 1, (size_t)(b - a - 1)};
	version = (struct bawn_slice){b + 1, line.n - (size_t)(b + 1 - line.p)};
	if (read_version(r, version, &q->minor) < 0 || check_method(r, q->method) < 0)
		return -EBADMSG;
	return read_target(r, q);
}

/* Host must be there, and name what the target names if that names something. */
static int check_host(struct reader *r, const struct facts *f, struct bawn_http_request *q)
{
	bool named = q->form == BAWN_FORM_ABSOLUTE || q->form == BAWN_FORM_AUTHORITY;
	struct bawn_host host;
	uint16_t port;

	if (!f->hosts)
		return q->minor == 0 && named ? 0 : refuse(r, 400, "no Host");
	/* Clients leave the port away in the Host of a CONNECT. */
	if (bawn_host_parse_port(f->host.p, f->host.n,
		    q->form == BAWN_FORM_AUTHORITY ? q->port : 80, &host, &port, r->err) < 0)
		return -EBADMSG;
	if (named && (port != q->port || !bawn_host_equal(&host, &q->host)))
		return refuse(r, 400, "Host is not the host of the target");
	q->host = host;
	q->port = port;
	return 0;
}

static int check_framing(struct reader *r, const struct facts *f, int minor)
{
	if (f->lengths && f->codings)
		return refuse(r, 400, "both Content-Length and Transfer-Encoding");
	if (f->codings && minor == 0)
		return refuse(r, 400, "Transfer-Encoding in HTTP/1.0");
	return 0;
}

int bawn_http_request_parse(const char *p, size_t len, struct bawn_http_request *ret,
	int *ret_status, struct bawn_error *err)
{
	struct reader r = {p, p, ret_status, err};
	struct facts f = {0};
	int k;

	*ret_status = 400;
	k = head_end(&r, p, len, &ret->head_len);
	if (k <= 0)
		return k;
	ret->n_headers = 0;
	ret->length = 0;
	ret->path = (struct bawn_slice){NULL, 0};
	ret->body = BAWN_BODY_NONE;
	r.end = p + ret->head_len - 2;
	if (read_request_line(&r, ret) < 0 ||
		read_headers(&r, ret->headers, &ret->n_headers, &f) < 0 ||
		check_host(&r, &f, ret) < 0 || check_framing(&r, &f, ret->minor) < 0)
		return -EBADMSG;
	if (f.codings)
		ret->body = BAWN_BODY_CHUNKED;
	else if (f.lengths)
		ret->body = BAWN_BODY_LENGTH;
	ret->length = f.length;
	ret->upgrade = f.upgrade;
	ret->expect_continue = f.expect;
	ret->keep_alive = !f.close && (ret->minor == 1 || f.keep);
	/* What follows is the tunnel; a body in front of it has no agreed meaning. */
	if ((ret->form == BAWN_FORM_AUTHORITY || f.upgrade) &&
		(f.codings || (f.lengths && f.length)))
		return refuse(&r, 400, "a body in front of a tunnel");
	return 1;
}

static int read_status_line(struct reader *r, struct bawn_http_response *q)
{
	struct bawn_slice line = line_next(r);

	if (line.n < 12 || line.p[8] != ' ')
		return refuse(r, 502, "no status line");
	if (read_version(r, (struct bawn_slice){line.p, 8}, &q->minor) < 0)
		return -EBADMSG;
	q->status = 0;
	for (size_t i = 9; i < 12; i++) {
		if (line.p[i] < '0' || line.p[i] > '9')
			return refuse(r, 502, "no status line");
		q->status = q->status * 10 + (line.p[i] - '0');
	}
	if (q->status < 100 || q->status > 599 || (line.n > 12 && line.p[12] != ' '))
		return refuse(r, 502, "no status line");
	return 0;
}

int bawn_http_response_parse(
	const char *p, size_t len, struct bawn_http_response *ret, struct bawn_error *err)
{
	struct reader r = {p, p, NULL, err};
	struct facts f = {.response = true};
	bool empty;
	int k = head_end(&r, p, len, &ret->head_len);

	if (k <= 0)
		return k;
	ret->n_headers = 0;
	r.end = p + ret->head_len - 2;
	if (read_status_line(&r, ret) < 0 ||
		read_headers(&r, ret->headers, &ret->n_headers, &f) < 0 ||
		check_framing(&r, &f, ret->minor) < 0)
		return -EBADMSG;
	empty = ret->status < 200 || ret->status == 204;
	if (empty && (f.codings || f.length))
		return refuse(&r, 502, "a body where there can be none");
	ret->length = f.length;
	ret->keep_alive = !f.close && (ret->minor == 1 || f.keep);
	if (empty || ret->status == 304) {
		ret->body = BAWN_BODY_NONE;
	} else if (f.codings) {
		ret->body = BAWN_BODY_CHUNKED;
	} else if (f.lengths) {
		ret->body = BAWN_BODY_LENGTH;
	} else {
		ret->body = BAWN_BODY_UNTIL_CLOSE;
		ret->keep_alive = false;
	}
	return 1;
}
