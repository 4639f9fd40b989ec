/* SPDX-License-Identifier: Apache-2.0 */
/* See http.h. What is not understood is refused: the monitor is given no chance to be interpreted.
 */
#include "backend/vm/http.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <sys/socket.h>

#include "base/io.h"

/* "HTTP/1.1 204 …" */
static int status_of(const char *line, size_t len)
{
	if (len < 12 || (memcmp(line, "HTTP/1.1 ", 9) != 0 && memcmp(line, "HTTP/1.0 ", 9) != 0))
		return -EPROTO;
	if (!isdigit((unsigned char)line[9]) || !isdigit((unsigned char)line[10]) ||
		!isdigit((unsigned char)line[11]) || (len > 12 && line[12] != ' '))
		return -EPROTO;
	return (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
}

static bool is_named(const char *line, size_t len, const char *name)
{
	size_t n = strlen(name);

	return len > n && line[n] == ':' && !strncasecmp(line, name, n);
}

/* A decimal number and nothing else but spaces. */
static int number_of(const char *s, size_t len, size_t *ret)
{
	size_t v = 0, i = 0, digits = 0;

	while (i < len && (s[i] == ' ' || s[i] == '\t'))
		i++;
	for (; i < len && isdigit((unsigned char)s[i]) && digits < 7; i++, digits++)
		v = v * 10 + (size_t)(s[i] - '0');
	while (i < len && (s[i] == ' ' || s[i] == '\t'))
		i++;
	if (!digits || i < len || v > BAWN_HTTP_BODY_MAX)
		return -EPROTO;
	*ret = v;
	return 0;
}

/* One header line. Only the length matters; a body that comes in another way is refused. */
static int take_header(const char *line, size_t len, bool *told, size_t *ret_length)
{
	size_t was = *ret_length;

	if (!memchr(line, ':', len) || *line == ' ' || *line == '\t' || memchr(line, '\0', len))
		return -EPROTO;
	if (is_named(line, len, "transfer-encoding"))
		return -EPROTO;
	if (!is_named(line, len, "content-length"))
		return 0;
	if (number_of(line + 15, len - 15, ret_length) < 0 || (*told && was != *ret_length))
		return -EPROTO;
	*told = true;
	return 0;
}

int bawn_http_parse(const char *data, size_t len, struct bawn_http_answer *ret)
{
	size_t at = 0, length = 0;
	bool told = false;
	int status = 0;

	for (;;) {
		const char *line = data + at;
		const char *nl = len > at ? memchr(line, '\n', len - at) : NULL;
		size_t n;

		if (!nl)
			return len > BAWN_HTTP_HEAD_MAX ? -EPROTO : 0;
		n = (size_t)(nl - line);
		at += n + 1;
		if (at > BAWN_HTTP_HEAD_MAX || n == 0 || line[n - 1] != '\r')
			return -EPROTO;
		n--;
		if (n == 0)
			break;
		if (!status)
			status = status_of(line, n);
		else if (take_header(line, n, &told, &length) < 0)
			return -EPROTO;
		if (status < 0)
			return status;
	}
	if (status < 100)
		return -EPROTO;
	if (len - at < length)
		return 0;
	*ret = (struct bawn_http_answer){.status = status, .body = data + at, .body_len = length};
	return (int)(at + length);
}

/* The message in an answer that is no success, as the API's schema has it. */
static void fault_of(const struct bawn_http_answer *a, char *dst, size_t size)
{
	json_t *root =
		a->body_len ? json_loadb(a->body, a->body_len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *text = json_string_value(json_object_get(root, "fault_message"));
	_cleanup_buf_ struct bawn_buf b = {0};

	if (text)
		bawn_buf_escape(&b, text, strlen(text));
	(void)snprintf(dst, size, "%s", text && b.data ? b.data : "no reason given");
	json_decref(root);
}

/* Wait until there is something, and take it. */
static int take_some(int fd, int64_t stop, struct bawn_buf *b)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t left = stop - bawn_now_ms();
	char chunk[4096];
	ssize_t n;

	if (left <= 0)
		return -ETIMEDOUT;
	if (poll(&p, 1, left > INT32_MAX ? INT32_MAX : (int)left) <= 0)
		return 0;
	n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	if (n == 0)
		return -EPIPE;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	bawn_buf_add(b, chunk, (size_t)n);
	return b->failed;
}

static int take_answer(int fd, int64_t stop, struct bawn_buf *b, struct bawn_http_answer *ret)
{
	int r = 0;

	while (r == 0) {
		r = bawn_http_parse(b->data ? b->data : "", b->len, ret);
		if (r > 0)
			return 0;
		if (r == 0)
			r = take_some(fd, stop, b);
	}
	return r;
}

static int send_request(int fd, const char *path, const char *json)
{
	_cleanup_buf_ struct bawn_buf b = {0};

	bawn_buf_printf(&b,
		"PUT %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
		"Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		path, strlen(json), json);
	if (b.failed)
		return b.failed;
	for (size_t at = 0; at < b.len;) {
		ssize_t n = send(fd, b.data + at, b.len - at, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int bawn_http_put(int fd, const char *path, const char *json, int64_t stop, struct bawn_error *err)
{
	_cleanup_buf_ struct bawn_buf b = {.max = BAWN_HTTP_HEAD_MAX + BAWN_HTTP_BODY_MAX};
	struct bawn_http_answer a = {0};
	char fault[240];
	int r = send_request(fd, path, json);

	if (r >= 0)
		r = take_answer(fd, stop, &b, &a);
	if (r < 0) {
		errno = -r;
		return bawn_fail(err, BAWN_ERR_BACKEND, r, "no answer to PUT %s: %m", path);
	}
	if (a.status >= 200 && a.status < 300)
		return 0;
	fault_of(&a, fault, sizeof(fault));
	return bawn_fail(err, BAWN_ERR_BACKEND, -EREMOTEIO, "PUT %s was refused (%d): %s", path,
		a.status, fault);
}
