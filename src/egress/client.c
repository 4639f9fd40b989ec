/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of the door: starts bawn-egress, hands it rules and listeners, reads what it
 * tells. Linked into bawn, so it knows nothing of event loops or resolvers. Whatever goes wrong
 * here leaves the door closed: it accepts nothing before "go", and ends when our end of the pair
 * does.
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/libexec.h"
#include "egress/control.h"

#define PROGRAM    "bawn-egress"
#define WITH_TLS   "bawn-egress-tls" /* the same with what bound hosts need, which costs time */
#define READY_MS   10000
#define SEND_MS    5000
#define SOCKET_BUF (1 << 20)

struct bawn_egress {
	int fd;
	pid_t pid;
	bool gone, gone_told;
	char *packet; /* BAWN_EGRESS_MSG_MAX + 1 bytes: the message being read */
	size_t len, at;
	char *ca;
	bool has_secrets;
};

static const char *const mode_names[] = {
	[BAWN_EGRESS_DENY] = "deny",
	[BAWN_EGRESS_ALLOWLIST] = "allowlist",
	[BAWN_EGRESS_BLOCKLIST] = "blocklist",
	[BAWN_EGRESS_OPEN] = "open",
	[BAWN_EGRESS_CLOSED] = "closed",
};

static void put_list(struct bawn_buf *b, const char *name, const char *const *v)
{
	bawn_buf_printf(b, ",\"%s\":[", name);
	for (size_t i = 0; v && v[i]; i++) {
		if (i)
			bawn_buf_puts(b, ",");
		(void)bawn_buf_json(b, v[i], strlen(v[i]));
	}
	bawn_buf_puts(b, "]");
}

static const char *truth(bool v)
{
	return v ? "true" : "false";
}

static void put_text(struct bawn_buf *b, const char *key, const char *text)
{
	bawn_buf_printf(b, "\"%s\":", key);
	(void)bawn_buf_json(b, text, strlen(text));
}

static void put_secrets(struct bawn_buf *b, const struct bawn_egress_source *src)
{
	const char *roots = src->roots ? src->roots : secure_getenv("SSL_CERT_FILE");

	bawn_buf_puts(b, ",\"secrets\":[");
	for (size_t i = 0; i < src->n_secrets; i++) {
		const struct bawn_egress_secret *s = &src->secrets[i];

		bawn_buf_puts(b, i ? ",{" : "{");
		put_text(b, "name", s->name);
		bawn_buf_puts(b, ",");
		put_text(b, "placeholder", s->placeholder);
		bawn_buf_puts(b, ",");
		put_text(b, "value", s->value);
		put_list(b, "hosts", s->hosts);
		if (s->headers && s->headers[0])
			put_list(b, "headers", s->headers);
		bawn_buf_puts(b, "}");
	}
	bawn_buf_puts(b, "]");
	if (roots && *roots) {
		bawn_buf_puts(b, ",");
		put_text(b, "roots", roots);
	}
}

static void put_config(struct bawn_buf *b, const struct bawn_egress_source *src, const char *token)
{
	bawn_buf_printf(b, "{\"config\":{\"mode\":\"%s\"", mode_names[src->mode]);
	put_list(b, "allow", src->allow);
	put_list(b, "block", src->block);
	bawn_buf_printf(b, ",\"ssrf\":%s,\"block_private\":%s,\"development\":%s", truth(src->ssrf),
		truth(src->block_private), truth(src->development));
	if (src->host_bytes < INT64_MAX)
		bawn_buf_printf(b, ",\"host_bytes\":%llu", (unsigned long long)src->host_bytes);
	if (src->host_rate > 0) /* thousandths: no locale, no exponent */
		bawn_buf_printf(b, ",\"host_rate\":%llu.%03llu", (unsigned long long)src->host_rate,
			(unsigned long long)(src->host_rate * 1000) % 1000);
	if (token) {
		bawn_buf_puts(b, ",\"token\":");
		(void)bawn_buf_json(b, token, strlen(token));
	}
	if (src->resolvers)
		put_list(b, "resolver", src->resolvers);
	if (src->n_secrets)
		put_secrets(b, src);
	bawn_buf_puts(b, "}}");
}

static int wait_for(int fd, short what, int ms)
{
	struct pollfd p = {.fd = fd, .events = what};
	int r;

	do
		r = poll(&p, 1, ms);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r == 0 ? -ETIMEDOUT : 0;
}

/* One message, with a descriptor if `pass` is one. */
static int send_message(
	struct bawn_egress *e, char *text, size_t len, int pass, struct bawn_error *err)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = text, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (pass >= 0) {
		struct cmsghdr *c;

		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &pass, sizeof(int));
	}
	for (;;) {
		n = sendmsg(e->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0)
			return 0;
		if (errno == EAGAIN && wait_for(e->fd, POLLOUT, SEND_MS) == 0)
			continue;
		if (errno != EINTR)
			return bawn_fail(
				err, BAWN_ERR_BACKEND, -errno, "talking to '%s': %m", PROGRAM);
	}
}

static int send_config(struct bawn_egress *e, const struct bawn_egress_source *src,
	const char *token, struct bawn_error *err)
{
	/* of its full size at once: growing would leave copies of the secrets behind */
	size_t cap = BAWN_EGRESS_MSG_MAX + 2;
	_cleanup_buf_ struct bawn_buf b = {
		.max = BAWN_EGRESS_MSG_MAX + 1, .data = malloc(cap), .cap = cap};
	int r;

	if (!b.data)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	e->has_secrets |= src->n_secrets > 0;
	put_config(&b, src, token);
	if (b.failed || b.len > BAWN_EGRESS_MSG_MAX)
		r = bawn_fail(err, BAWN_ERR_POLICY, -E2BIG,
			"the rules for hosts%s are longer than %d bytes",
			src->n_secrets ? " and the secrets" : "", BAWN_EGRESS_MSG_MAX);
	else
		r = send_message(e, b.data, b.len, -1, err);
	explicit_bzero(b.data, b.len); /* the token and the secrets */
	return r;
}

int bawn_egress_spawn(const struct bawn_egress_source *src, const char *token,
	struct bawn_egress **ret, struct bawn_error *err)
{
	char path[4096];
	struct bawn_egress *e;
	const char *program = src->n_secrets ? WITH_TLS : PROGRAM;
	int r = bawn_libexec_find(program, path, sizeof(path));

	if (r < 0)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, r,
			"'%s' is neither beside this program nor in '%s'; without it there is no "
			"network",
			program, BAWN_LIBEXECDIR);
	e = calloc(1, sizeof(*e));
	if (e)
		e->packet = malloc(BAWN_EGRESS_MSG_MAX + 1);
	if (!e || !e->packet) {
		free(e);
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	}
	e->fd = -1;
	r = bawn_libexec_start(path, PROGRAM, SOCK_SEQPACKET, SOCKET_BUF, &e->pid, &e->fd);
	if (r < 0) {
		errno = -r;
		r = bawn_fail(err, BAWN_ERR_BACKEND, r, "starting '%s': %m", path);
	} else {
		r = send_config(e, src, token, err);
	}
	if (r < 0) {
		(void)bawn_egress_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

static int send_word(struct bawn_egress *e, const char *word, struct bawn_error *err)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "{\"%s\":true}", word);

	return n < 0 ? -EIO : send_message(e, text, (size_t)n, -1, err);
}

int bawn_egress_reload(struct bawn_egress *e, const struct bawn_egress_source *src,
	const char *token, struct bawn_error *err)
{
	struct bawn_egress_source rules = *src;

	rules.n_secrets = 0; /* the door keeps those it has */
	return send_config(e, &rules, token, err);
}

int bawn_egress_ask_stats(struct bawn_egress *e, bool stop, struct bawn_error *err)
{
	return send_word(e, stop ? "stop" : "stats", err);
}

int bawn_egress_fd(const struct bawn_egress *e)
{
	return e->fd;
}

/* The next object the door sent, or NULL with 0 (none now), -EPIPE (it is gone) or an error. */
static int next_object(struct bawn_egress *e, json_t **ret)
{
	char *line, *end;

	*ret = NULL;
	if (e->at >= e->len) {
		ssize_t n;

		do
			n = recv(e->fd, e->packet, BAWN_EGRESS_MSG_MAX, MSG_DONTWAIT);
		/* a reset is told once, before what it said last */
		while (n < 0 && (errno == EINTR || errno == ECONNRESET));
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -EPIPE;
		e->at = 0;
		e->len = (size_t)n;
	}
	line = e->packet + e->at;
	end = memchr(line, '\n', e->len - e->at);
	if (!end)
		end = e->packet + e->len;
	e->at = (size_t)(end - e->packet) + 1;
	*ret = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, NULL);
	return *ret ? 0 : -EPROTO;
}

static inline void cleanup_json_p(json_t **j)
{
	json_decref(*j);
}

/* Reads until it says `word`; what else it says before it is ready is kept or an error. */
static int wait_word(struct bawn_egress *e, const char *word, struct bawn_error *err)
{
	int64_t end = bawn_now_ms() + READY_MS;

	for (;;) {
		_cleanup_(cleanup_json_p) json_t *o = NULL;
		const char *why, *ca;
		int r = next_object(e, &o);

		if (r < 0)
			return bawn_fail(err, BAWN_ERR_BACKEND, r, "'%s' ended before it was ready",
				PROGRAM);
		why = json_string_value(json_object_get(o, "error"));
		if (why)
			return bawn_fail(err, BAWN_ERR_BACKEND, -EIO, "egress: %s", why);
		ca = json_string_value(json_object_get(o, "ca"));
		if (ca && !e->ca)
			e->ca = strdup(ca);
		if (json_object_get(o, word))
			return 0;
		if (o)
			continue;
		r = (int)(end - bawn_now_ms());
		r = r > 0 ? wait_for(e->fd, POLLIN, r) : -ETIMEDOUT;
		if (r < 0)
			return bawn_fail(err, BAWN_ERR_BACKEND, r, "'%s' was not ready in %d s",
				PROGRAM, READY_MS / 1000);
	}
}

int bawn_egress_ca(struct bawn_egress *e, const char **ret_pem, struct bawn_error *err)
{
	int r = 0;

	if (!e->has_secrets)
		return bawn_fail(
			err, BAWN_ERR_INTERNAL, -EINVAL, "a door without secrets has no authority");
	if (!e->ca)
		r = wait_word(e, "ca", err);
	if (r >= 0 && !e->ca)
		r = bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	if (r >= 0)
		*ret_pem = e->ca;
	return r;
}

int bawn_egress_listen(
	struct bawn_egress *e, const char *kind, uint16_t port, int fd, struct bawn_error *err)
{
	char text[96];
	int n = snprintf(text, sizeof(text), "{\"listen\":\"%s\",\"port\":%u}", kind, port);

	if (n < 0 || (size_t)n >= sizeof(text))
		return bawn_fail(err, BAWN_ERR_INTERNAL, -EINVAL, "no listener '%s'", kind);
	n = send_message(e, text, (size_t)n, fd, err);
	/* What it sent before it went is more telling than that it went. */
	return n == -EPIPE || n == -ECONNRESET ? wait_word(e, "ready", err) : n;
}

int bawn_egress_go(struct bawn_egress *e, struct bawn_error *err)
{
	int r = send_word(e, "go", err);

	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return r;
	return wait_word(e, "ready", err);
}

static void copy(char *dst, size_t size, const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	(void)snprintf(dst, size, "%s", s ? s : "");
}

static uint64_t number(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 ? (uint64_t)v : 0;
}

static void read_counts(const json_t *o, struct bawn_egress_event *ret)
{
	ret->port = (uint16_t)number(o, "port");
	ret->sent = number(o, "sent");
	ret->received = number(o, "received");
	ret->ms = number(o, "ms");
	ret->n_allowed = number(o, "allowed");
	ret->n_blocked = number(o, "blocked");
}

static void read_event(const json_t *o, struct bawn_egress_event *ret)
{
	const char *decision = json_string_value(json_object_get(o, "decision"));

	read_counts(o, ret);
	if (decision) {
		ret->kind = BAWN_EGRESS_DECISION;
		ret->allowed = !strcmp(decision, "allow");
		copy(ret->host, sizeof(ret->host), o, "host");
		copy(ret->way, sizeof(ret->way), o, "way");
		copy(ret->method, sizeof(ret->method), o, "method");
		copy(ret->address, sizeof(ret->address), o, "address");
		copy(ret->rule, sizeof(ret->rule), o, "rule");
		copy(ret->reason, sizeof(ret->reason), o, "reason");
	} else if (json_object_get(o, "closed")) {
		ret->kind = BAWN_EGRESS_CLOSED_CONN;
		copy(ret->host, sizeof(ret->host), o, "closed");
	} else if (json_object_get(o, "injected")) {
		ret->kind = BAWN_EGRESS_INJECTED;
		copy(ret->host, sizeof(ret->host), o, "injected");
		copy(ret->rule, sizeof(ret->rule), o, "rule");
	} else if (json_object_get(o, "host")) {
		ret->kind = BAWN_EGRESS_HOST;
		copy(ret->host, sizeof(ret->host), o, "host");
	} else if (json_object_get(o, "stats")) {
		ret->kind = BAWN_EGRESS_STATS;
		read_counts(json_object_get(o, "stats"), ret);
	} else if (json_object_get(o, "dropped")) {
		ret->kind = BAWN_EGRESS_DROPPED;
		ret->n_blocked = number(o, "dropped");
	} else if (json_object_get(o, "reloaded") || json_object_get(o, "error")) {
		ret->kind = BAWN_EGRESS_RELOADED;
		ret->allowed = json_is_true(json_object_get(o, "reloaded"));
		copy(ret->reason, sizeof(ret->reason), o, "error");
	}
}

int bawn_egress_next(struct bawn_egress *e, struct bawn_egress_event *ret, struct bawn_error *err)
{
	_cleanup_(cleanup_json_p) json_t *o = NULL;
	int r = e->gone ? -EPIPE : next_object(e, &o);

	*ret = (struct bawn_egress_event){.kind = BAWN_EGRESS_NOTHING};
	if (r == -EPROTO)
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "'%s' sent what is not JSON", PROGRAM);
	if (r < 0) {
		e->gone = true;
		ret->kind = e->gone_told ? BAWN_EGRESS_NOTHING : BAWN_EGRESS_GONE;
		e->gone_told = true;
		return 0;
	}
	if (o)
		read_event(o, ret);
	return 0;
}

void bawn_egress_kill(struct bawn_egress *e)
{
	if (e->pid > 0)
		(void)kill(e->pid, SIGKILL);
}

struct bawn_egress *bawn_egress_free(struct bawn_egress *e)
{
	if (!e)
		return NULL;
	if (e->fd >= 0)
		(void)close(e->fd);
	if (e->pid > 0) {
		pid_t r;

		bawn_egress_kill(e);
		do
			r = waitpid(e->pid, NULL, 0);
		while (r < 0 && errno == EINTR);
	}
	free(e->packet);
	free(e->ca);
	free(e);
	return NULL;
}
