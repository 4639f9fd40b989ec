/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for escape.c and secret/ until they are merged. */
#include <errno.h>

#include "inspect/escape.h"
#include "inspect/secret/secret.h"

void bawn_escape_init(struct bawn_escape *e, unsigned flags)
{
	*e = (struct bawn_escape){.flags = flags};
}
void bawn_escape_feed(struct bawn_escape *e, const char *bytes, size_t n, struct bawn_buf *out)
{
	(void)e;
	bawn_buf_add(out, bytes, n);
}
void bawn_escape_end(struct bawn_escape *e, struct bawn_buf *out)
{
	(void)e;
	(void)out;
}
size_t bawn_secret_tail(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && n < BAWN_SECRET_SPAN_MAX && (unsigned char)text[len - n - 1] > ' ')
		n++;
	return n;
}
enum bawn_leak_action bawn_leak_action(const struct bawn_policy *p, const struct bawn_finding *f)
{
	(void)p;
	(void)f;
	return BAWN_LEAK_REDACT;
}
int bawn_registered_new(
	const char *const *secrets, struct bawn_registered **ret, struct bawn_error *err)
{
	(void)secrets;
	*ret = NULL;
	return bawn_fail(err, BAWN_ERR_INSPECT, -ENOSYS, "no registered secrets yet");
}
struct bawn_registered *bawn_registered_free(struct bawn_registered *r)
{
	(void)r;
	return NULL;
}
size_t bawn_registered_span(const struct bawn_registered *r)
{
	(void)r;
	return 0;
}
int bawn_registered_find(const struct bawn_registered *r, const struct bawn_subject *sub,
	struct bawn_arena *a, struct bawn_findings *out, struct bawn_error *err)
{
	(void)r;
	(void)sub;
	(void)a;
	(void)out;
	(void)err;
	return 0;
}
size_t bawn_registered_tail(const struct bawn_registered *r, const char *text, size_t len)
{
	(void)r;
	(void)text;
	(void)len;
	return 0;
}
