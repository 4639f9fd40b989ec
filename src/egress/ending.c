/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where TLS ends. Bytes wait in at most one block for each direction; a side that takes nothing is
 * not read for, so the other feels it through TCP. Handshakes have the deadlines of the connections
 * they belong to. An ending outlives its connection only to send what that one had written.
 */
#include "egress/ending.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "egress/authority.h"
#include "egress/door.h"

#define ENDINGS_MAX 4096
#define TURNS_MAX   8    /* blocks of one connection before others get their turn */
#define MUCH        8192 /* who gets this much at once probably gets more */
#define FLUSH_MS    15000
#define GOODBYE_MS  2000

struct queue {
	char *p; /* DOOR_BLOCK bytes or NULL */
	size_t at, len;
	size_t top; /* bytes of `p` that were written to */
};

struct ending {
	LIST_ENTRY(ending) link;
	struct door *door;
	struct door_conn *conn; /* NULL: it has gone */
	SSL *ssl;
	struct door_side raw, plain;
	int mate;              /* of `plain`, until the connection has it */
	struct queue in, out;  /* decrypted, for `plain`; from `plain`, to be encrypted */
	struct queue first;    /* what was read from `raw` before */
	bool server;           /* we are the server */
	bool shaken;           /* hands, that is */
	bool wants_write;      /* OpenSSL, before it can go on */
	bool raw_eof, raw_cut; /* nothing more comes; without a goodbye */
	bool plain_eof, told;  /* nothing more goes; the other side knows */
	bool passed_eof, dead;
	int64_t deadline; /* once the connection has gone */
};

LIST_HEAD(endings, ending);
static struct endings all = LIST_HEAD_INITIALIZER(all);
static struct endings dead = LIST_HEAD_INITIALIZER(dead);
static size_t n_all;

static void queue_done(struct queue *q)
{
	block_free_used(q->p, q->top);
	*q = (struct queue){0};
}

static void queue_got(struct queue *q, size_t n)
{
	q->len = q->top = n;
}

static void queue_took(struct queue *q, size_t n)
{
	q->at += n;
	q->len -= n;
	if (!q->len)
		queue_done(q);
}

/* OpenSSL's way to the socket. */
static int bio_read(BIO *b, char *buf, int size)
{
	struct ending *e = BIO_get_data(b);
	ssize_t n;

	BIO_clear_retry_flags(b);
	if (e->first.len) {
		size_t take = e->first.len < (size_t)size ? e->first.len : (size_t)size;

		memcpy(buf, e->first.p + e->first.at, take);
		queue_took(&e->first, take);
		return (int)take;
	}
	n = recv(e->raw.fd, buf, (size_t)size, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(b);
	return (int)n;
}

static int bio_write(BIO *b, const char *buf, int size)
{
	struct ending *e = BIO_get_data(b);
	ssize_t n = send(e->raw.fd, buf, (size_t)size, MSG_NOSIGNAL);

	BIO_clear_retry_flags(b);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_write(b);
	return (int)n;
}

static long bio_ctrl(BIO *b, int command, long num, void *arg)
{
	(void)b;
	(void)num;
	(void)arg;
	return command == BIO_CTRL_FLUSH;
}

static BIO *bio_new(struct ending *e)
{
	static BIO_METHOD *method;
	BIO *b;

	if (!method) {
		method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "bawn");
		if (!method || !BIO_meth_set_read(method, bio_read) ||
			!BIO_meth_set_write(method, bio_write) ||
			!BIO_meth_set_ctrl(method, bio_ctrl))
			return NULL;
	}
	b = BIO_new(method);
	if (b) {
		BIO_set_data(b, e);
		BIO_set_init(b, 1);
	}
	return b;
}

static void watch(struct event *ev, bool *on, bool want)
{
	if (*on == want)
		return;
	if (want)
		(void)event_add(ev, NULL);
	else
		(void)event_del(ev);
	*on = want;
}

static void side_done(struct door_side *s)
{
	if (s->fd < 0)
		return;
	watch(&s->rd, &s->reading, false);
	watch(&s->wr, &s->writing, false);
	(void)close(s->fd);
	s->fd = -1;
}

static void die(struct ending *e)
{
	if (e->dead)
		return;
	e->dead = true;
	(void)event_del(&e->raw.rd); /* it may have been made active by hand */
	side_done(&e->raw);
	side_done(&e->plain);
	if (e->mate >= 0)
		(void)close(e->mate);
	queue_done(&e->in);
	queue_done(&e->out);
	queue_done(&e->first);
	SSL_free(e->ssl);
	e->ssl = NULL;
	n_all--;
	e->door->n_endings--;
	LIST_REMOVE(e, link);
	LIST_INSERT_HEAD(&dead, e, link);
}

/* Why a handshake failed, for those who can do something about it. */
static void explain(const struct ending *e, char *dst, size_t size)
{
	unsigned long code = ERR_peek_last_error();
	int reason = ERR_GET_REASON(code);
	const char *text = ERR_reason_error_string(code);
	long verify = e->server ? X509_V_OK : SSL_get_verify_result(e->ssl);

	if (!text)
		text = "it closed the connection";
	if (verify != X509_V_OK)
		(void)snprintf(dst, size, "the server's certificate is not accepted: %s",
			X509_verify_cert_error_string(verify));
	else if (!e->server)
		(void)snprintf(dst, size, "no TLS with the server: %s", text);
	else if (reason == SSL_R_NO_APPLICATION_PROTOCOL)
		(void)snprintf(dst, size,
			"the client wants HTTP/2 only; hosts that secrets are bound to are spoken "
			"to in HTTP/1.1");
	else if (reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA ||
		 reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
		 reason == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN)
		(void)snprintf(dst, size,
			"the client does not trust the door, which ends TLS of hosts that secrets "
			"are bound to; let it use the file that SSL_CERT_FILE names");
	else
		(void)snprintf(dst, size, "no TLS with the client: %s", text);
	ERR_clear_error();
}

static void fail(struct ending *e)
{
	struct door_conn *c = e->conn;
	char why[256];

	explain(e, why, sizeof(why));
	if (!c) {
		die(e);
	} else if (e->server) {
		conn_note_denial(c, "secrets", why, NULL);
		conn_close(c);
	} else {
		dial_secured(c, -1, why);
	}
}

/* False: not done yet, or never. */
static bool shake(struct ending *e)
{
	int r;

	ERR_clear_error();
	r = SSL_do_handshake(e->ssl);
	if (r == 1) {
		e->shaken = true;
		e->wants_write = false;
		if (!e->server && e->conn)
			dial_secured(e->conn, TAKE_FD(e->mate), NULL);
		return !e->dead;
	}
	r = SSL_get_error(e->ssl, r);
	e->wants_write = r == SSL_ERROR_WANT_WRITE;
	if (r != SSL_ERROR_WANT_READ && r != SSL_ERROR_WANT_WRITE)
		fail(e);
	return false;
}

/* The socket is of no use any more. */
static void raw_failed(struct ending *e)
{
	e->raw_eof = e->raw_cut = e->told = true;
	e->plain_eof = true;
	(void)shutdown(e->plain.fd, SHUT_RD);
	queue_done(&e->out);
	ERR_clear_error();
}

static void decrypt(struct ending *e)
{
	int n;

	e->in.p = block_new();
	if (!e->in.p) {
		raw_failed(e);
		return;
	}
	ERR_clear_error();
	n = SSL_read(e->ssl, e->in.p, DOOR_BLOCK);
	if (n > 0) {
		queue_got(&e->in, (size_t)n);
		return;
	}
	queue_done(&e->in);
	n = SSL_get_error(e->ssl, n);
	e->wants_write = n == SSL_ERROR_WANT_WRITE;
	if (n == SSL_ERROR_ZERO_RETURN)
		e->raw_eof = true;
	else if (n != SSL_ERROR_WANT_READ && n != SSL_ERROR_WANT_WRITE)
		raw_failed(e);
}

/* From the socket to the connection. True: there may be more; otherwise an event tells. */
static bool inward(struct ending *e)
{
	ssize_t n;

	if (!e->in.len && !e->raw_eof)
		decrypt(e);
	if (!e->in.len)
		return false;
	n = send(e->plain.fd, e->in.p + e->in.at, e->in.len, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR) { /* nobody wants it: read on for the end */
		queue_done(&e->in);
		return false;
	}
	if (n > 0)
		queue_took(&e->in, (size_t)n);
	return !e->in.len && (n >= MUCH || e->first.len || SSL_has_pending(e->ssl));
}

/* From the connection to the socket; likewise. */
static bool outward(struct ending *e)
{
	int n;

	if (!e->out.len && !e->plain_eof) {
		ssize_t got;

		e->out.p = block_new();
		got = e->out.p ? recv(e->plain.fd, e->out.p, DOOR_BLOCK, 0) : -1;
		if (got > 0)
			queue_got(&e->out, (size_t)got);
		else
			queue_done(&e->out);
		e->plain_eof = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
	}
	if (!e->out.len)
		return false;
	ERR_clear_error();
	n = SSL_write(e->ssl, e->out.p + e->out.at, (int)e->out.len);
	if (n > 0) {
		queue_took(&e->out, (size_t)n);
		e->deadline = door_now() + FLUSH_MS;
		return e->out.len || n >= MUCH;
	}
	n = SSL_get_error(e->ssl, n);
	if (n != SSL_ERROR_WANT_READ && n != SSL_ERROR_WANT_WRITE)
		raw_failed(e);
	return false;
}

static void pass_eof(struct ending *e)
{
	if (!e->raw_eof || e->in.len || e->passed_eof)
		return;
	e->passed_eof = true;
	(void)shutdown(e->plain.fd, SHUT_WR);
}

/* The last words, once everything before them is out. */
static void goodbye(struct ending *e)
{
	int r;

	if (e->told || !e->plain_eof || e->out.len)
		return;
	ERR_clear_error();
	r = SSL_shutdown(e->ssl);
	e->wants_write = r < 0 && SSL_get_error(e->ssl, r) == SSL_ERROR_WANT_WRITE;
	if (e->wants_write)
		return;
	ERR_clear_error();
	e->told = true;
	(void)shutdown(e->raw.fd, SHUT_WR);
	e->deadline = door_now() + GOODBYE_MS;
}

static void watch_all(struct ending *e)
{
	bool in = e->shaken && !e->raw_eof && !e->in.len;
	bool out = e->shaken && (e->out.len || (e->plain_eof && !e->told));

	watch(&e->raw.rd, &e->raw.reading, e->shaken ? in : !e->wants_write);
	watch(&e->raw.wr, &e->raw.writing, out || e->wants_write);
	watch(&e->plain.rd, &e->plain.reading, e->shaken && !e->plain_eof && !e->out.len);
	watch(&e->plain.wr, &e->plain.writing, e->in.len > 0);
}

/* Move what is worth trying: each failed try costs as much as moving a small message. */
static void pump(struct ending *e, bool in, bool out)
{
	if (!e->shaken) {
		if (!shake(e)) {
			if (!e->dead)
				watch_all(e);
			return;
		}
		in = out = true;
	}
	for (int i = 0; (in || out) && (i < TURNS_MAX || e->first.len); i++) {
		in = in && inward(e);
		out = out && outward(e);
	}
	pass_eof(e);
	goodbye(e);
	if (!e->conn && e->told && e->raw_eof)
		die(e);
	else
		watch_all(e);
}

static void on_raw(evutil_socket_t fd, short what, void *arg)
{
	struct ending *e = arg;

	(void)fd;
	if (!e->dead)
		pump(e, true, what & EV_WRITE || e->out.len);
}

static void on_plain(evutil_socket_t fd, short what, void *arg)
{
	struct ending *e = arg;

	(void)fd;
	if (!e->dead)
		pump(e, what & EV_WRITE, what & EV_READ);
}

static void assign(struct ending *e, struct door_side *s, int fd, event_callback_fn on_event)
{
	s->fd = fd;
	(void)event_assign(&s->rd, e->door->base, fd, EV_READ | EV_PERSIST, on_event, e);
	(void)event_assign(&s->wr, e->door->base, fd, EV_WRITE | EV_PERSIST, on_event, e);
}

/* Takes the socket when it succeeds. */
static struct ending *ending_new(struct door_conn *c, SSL *ssl, int raw)
{
	struct ending *e = calloc(1, sizeof(*e));
	BIO *bio = e ? bio_new(e) : NULL;
	int sv[2];

	if (!bio || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv) < 0) {
		(void)BIO_free(bio);
		free(e);
		return NULL;
	}
	e->door = c->door;
	e->conn = c;
	e->ssl = ssl;
	SSL_set_bio(ssl, bio, bio);
	assign(e, &e->raw, raw, on_raw);
	assign(e, &e->plain, sv[0], on_plain);
	e->mate = sv[1];
	LIST_INSERT_HEAD(&all, e, link);
	n_all++;
	e->door->n_endings++;
	event_active(&e->raw.rd, EV_READ, 0);
	return e;
}

static bool tls_accept(struct door_conn *c)
{
	SSL *ssl = n_all < ENDINGS_MAX ? authority_accept(c->door->authority, &c->host) : NULL;
	struct ending *e = ssl ? ending_new(c, ssl, c->client.fd) : NULL;

	if (!e) {
		SSL_free(ssl);
		return false;
	}
	e->server = true;
	e->first = (struct queue){.p = TAKE_PTR(c->up.in), .len = c->up.len, .top = c->up.top};
	c->up.len = c->up.ok = c->up.top = 0;
	conn_swap_client(c, TAKE_FD(e->mate));
	c->client.end = e;
	return true;
}

static bool tls_connect(struct door_conn *c)
{
	SSL *ssl = n_all < ENDINGS_MAX ? authority_connect(c->door->authority, &c->host) : NULL;
	struct ending *e = ssl ? ending_new(c, ssl, c->upstream.fd) : NULL;

	if (!e) {
		SSL_free(ssl);
		return false;
	}
	conn_detach_upstream(c);
	c->upstream.end = e;
	return true;
}

static void tls_release(struct ending *e, bool reset)
{
	struct linger now = {.l_onoff = 1};

	e->conn = NULL;
	if (reset && e->raw.fd >= 0)
		(void)setsockopt(e->raw.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	if (!reset && e->shaken && !e->server && !e->told && !e->out.len)
		(void)SSL_shutdown(e->ssl); /* a server needs no more than the word */
	ERR_clear_error();
	if (reset || !e->shaken || !e->server) {
		die(e);
		return;
	}
	e->deadline = door_now() + FLUSH_MS;
	watch(&e->plain.rd, &e->plain.reading, !e->plain_eof && !e->out.len);
}

static bool tls_cut(const struct ending *e)
{
	return e->raw_cut;
}

static void tls_sweep(struct door *d, int64_t now)
{
	struct ending *e, *next;

	(void)d;
	for (e = LIST_FIRST(&all); e; e = next) {
		next = LIST_NEXT(e, link);
		if (!e->conn && now >= e->deadline)
			die(e);
	}
}

static void tls_collect(struct door *d)
{
	struct ending *e;

	(void)d;
	while ((e = LIST_FIRST(&dead))) {
		LIST_REMOVE(e, link);
		free(e);
	}
}

/* The command starts meanwhile. */
static void on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct door *d = arg;

	(void)fd;
	(void)what;
	authority_finish(d->authority);
}

static void tls_ready(struct door *d)
{
	static const struct timeval soon = {.tv_usec = 1000};

	(void)event_base_once(d->base, -1, EV_TIMEOUT, on_idle, d, &soon);
}

static int tls_start(struct door *d, const char *roots, struct bawn_error *err)
{
	char *pem = NULL;
	int r = authority_new(d->secrets, &d->authority, &pem, err);

	if (r < 0)
		return r;
	report_ca(d, pem); /* the host waits for it */
	free(pem);
	report_flush(d);
	return authority_roots(d->authority, roots, err);
}

static void tls_stop(struct door *d)
{
	while (LIST_FIRST(&all))
		die(LIST_FIRST(&all));
	tls_collect(d);
	d->authority = authority_free(d->authority);
}

static const struct door_tls ops = {
	.start = tls_start,
	.ready = tls_ready,
	.stop = tls_stop,
	.accept = tls_accept,
	.connect = tls_connect,
	.release = tls_release,
	.cut = tls_cut,
	.sweep = tls_sweep,
	.collect = tls_collect,
};
const struct door_tls *const door_tls = &ops;
