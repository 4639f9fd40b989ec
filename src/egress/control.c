/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host says. It is the only one who may say anything here; still, what makes no sense ends
 * the door, and so does the end of the conversation: no network is better than one nobody watches.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include <sys/socket.h>

#include "base/io.h"
#include "egress/door.h"

static inline void cleanup_json_p(json_t **j)
{
	json_decref(*j);
}

/* One message and the descriptor that came with it. 0: none now. */
static ssize_t receive(struct door *d, char *text, size_t size, int *ret_fd)
{
	struct bawn_received got;
	ssize_t n = bawn_receive_fds(d->control, text, size, MSG_DONTWAIT, &got);

	*ret_fd = -1;
	if (n == -EAGAIN)
		return 0;
	if (n == 0 || n == -EPROTO)
		return -EPIPE;
	if (n > 0 && got.n == 1)
		*ret_fd = got.fds[0];
	else
		bawn_received_close(&got);
	return n;
}

/* Once, before the sandbox: it needs files. The host waits for the certificate first. */
static int take_secrets(struct door *d, struct door_config *c, struct bawn_error *err)
{
	if (!c->secrets)
		return 0;
	if (!door_tls)
		return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -ENOTSUP, "this door has no TLS");
	d->secrets = TAKE_PTR(c->secrets);
	block_wipe_all();
	return door_tls->start(d, c->roots.len ? c->roots.data : NULL, err);
}

/* Rules and budgets change for what comes; what is established stays. */
static int take_config(struct door *d, json_t *json, struct bawn_error *err)
{
	struct door_config fresh = {0};
	int r;

	/* reading them takes what is not there any more in the sandbox */
	if (d->config.rules && json_object_get(json, "secrets"))
		return bawn_fail(err, BAWN_ERR_POLICY, -EINVAL,
			"secrets are given once, when the door starts");
	r = door_config_parse(json, &fresh, err);
	if (r >= 0)
		r = resolver_configure(d->resolver, &fresh, err);
	if (r >= 0)
		r = take_secrets(d, &fresh, err);
	if (r < 0) {
		door_config_done(&fresh);
		return r;
	}
	pool_sweep(INT64_MAX);
	door_config_done(&d->config);
	d->config = fresh;
	return 0;
}

/* What was to be read is read: everything else can come in the sandbox. */
static int take_first_config(struct door *d, json_t *json, struct bawn_error *err)
{
	int r = take_config(d, json, err);

	return r < 0 ? r : sandbox_enter(err);
}

static int take_go(struct door *d, struct bawn_error *err)
{
	int r;

	if (!d->config.rules)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -EPROTO, "go before config");
	r = listener_start(d, err);
	if (r < 0)
		return r;
	d->going = true;
	report_word(d, "ready");
	if (d->secrets)
		door_tls->ready(d);
	return 0;
}

static int obey(struct door *d, const json_t *o, int *fd, struct bawn_error *err)
{
	json_t *config = json_object_get(o, "config");
	const char *kind = json_string_value(json_object_get(o, "listen"));
	bool again = d->config.rules;
	int r;

	if (config && !again)
		return take_first_config(d, config, err);
	if (config) {
		r = take_config(d, config, err);
		if (r < 0) /* the old rules stay */
			report_error(d, err->msg);
		else
			report_word(d, "reloaded");
		return 0;
	}
	if (kind && !d->going && *fd >= 0) {
		json_int_t port = json_integer_value(json_object_get(o, "port"));

		return listener_add(d, kind, (uint16_t)port, TAKE_FD(*fd), err);
	}
	if (json_is_true(json_object_get(o, "go")) && !d->going)
		return take_go(d, err);
	if (json_is_true(json_object_get(o, "stats")) || json_is_true(json_object_get(o, "stop"))) {
		report_stats(d);
		d->stopping = json_is_true(json_object_get(o, "stop"));
		return 0;
	}
	return bawn_fail(err, BAWN_ERR_INTERNAL, -EPROTO, "a message that makes no sense now");
}

void door_control_read(struct door *d)
{
	static char text[BAWN_EGRESS_MSG_MAX];

	while (!d->stopping) {
		_cleanup_(cleanup_json_p) json_t *o = NULL;
		_cleanup_close_ int fd = -1;
		struct bawn_error err = {0};
		ssize_t n = receive(d, text, sizeof(text), &fd);

		if (n == 0)
			return;
		if (n < 0) {
			d->stopping = true;
			return;
		}
		o = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
		explicit_bzero(text, (size_t)n); /* the token and the secrets */
		if (!o)
			(void)bawn_fail(&err, BAWN_ERR_INTERNAL, -EPROTO, "not JSON");
		if (!o || obey(d, o, &fd, &err) < 0) {
			report_error(d, err.msg);
			d->stopping = true;
		}
	}
}
