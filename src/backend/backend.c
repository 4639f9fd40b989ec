/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backends.h"
#include "backend/native/native.h"
#include "base/cleanup.h"

static const struct bawn_backend *const backends[] = {
	&bawn_backend_firecracker,
	&bawn_backend_qemu,
	&bawn_backend_gvisor,
	&bawn_backend_docker,
	&bawn_backend_podman,
	&bawn_backend_apple_container,
	&bawn_backend_wasm,
	&bawn_backend_native,
	&bawn_backend_bwrap,
	&bawn_backend_nsjail,
	&bawn_backend_seatbelt,
	&bawn_backend_chroot,
	&bawn_backend_landlock,
	&bawn_backend_path,
	&bawn_backend_noop,
};

const struct bawn_backend *bawn_backend_at(size_t i)
{
	return i < sizeof(backends) / sizeof(backends[0]) ? backends[i] : NULL;
}

/* True if `name` is one of the comma-separated words of `list`. */
static bool in_list(const char *list, const char *name)
{
	size_t n = strlen(name);

	if (strchr(name, ',')) /* several words are no name */
		return false;
	for (const char *p = list; n && p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, name, n) && (p[n] == ',' || p[n] == '\0'))
			return true;
	return false;
}

bool bawn_backend_is(const struct bawn_backend *be, const char *name)
{
	return !strcmp(be->name, name) || in_list(be->aliases, name);
}

const struct bawn_backend *bawn_backend_find(const char *name)
{
	const struct bawn_backend *be;

	for (size_t i = 0; (be = bawn_backend_at(i)); i++)
		if (bawn_backend_is(be, name))
			return be;
	return NULL;
}

bool bawn_backend_inside(void)
{
	return bawn_native_inside();
}

static int refuse(const struct bawn_backend *be, uint32_t missing, struct bawn_error *err)
{
	char names[256] = "";
	size_t n = 0;

	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++)
		if (missing & (1u << i) && n < sizeof(names))
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
				bawn_control_name(i));
	return bawn_fail(err, BAWN_ERR_UNSUPPORTED, -EOPNOTSUPP,
		"backend '%s' cannot enforce %s here; nothing was run (see 'bawn doctor'; to run without, "
		"the policy must say so: --allow-missing CONTROL)",
		be->name, names);
}

BAWN_DEFINE_CLEANUP(struct bawn_instance, instance, bawn_instance_free)

int bawn_instance_begin(
	const struct bawn_backend *be, struct bawn_instance **ret, struct bawn_error *err)
{
	_cleanup_(cleanup_instance_p) struct bawn_instance *in = NULL;

	assert(be->abi == BAWN_BACKEND_ABI);
	assert(be->instance_size >= sizeof(struct bawn_instance));

	in = calloc(1, be->instance_size);
	if (!in)
		return bawn_fail(err, BAWN_ERR_BACKEND, -ENOMEM, "out of memory");
	in->be = be;
	if (be->begin && be->begin(in, err) < 0)
		/* cppcheck-suppress memleak ; freed by its cleanup attribute */
		return bawn_error_wrap(err, "backend '%s'", be->name);
	*ret = TAKE_PTR(in);
	return 0;
}

int bawn_instance_new(const struct bawn_backend *be, const struct bawn_plan *plan,
	const int stdio[3], struct bawn_instance **ret, struct bawn_error *err)
{
	_cleanup_(cleanup_instance_p) struct bawn_instance *in = TAKE_PTR(*ret);
	int r = 0;

	if (!in || in->be != be) {
		in = bawn_instance_free(in);
		r = bawn_instance_begin(be, &in, err);
	}
	if (r < 0)
		return r;
	if (be->prepare(in, plan, stdio, err) < 0)
		/* cppcheck-suppress memleak ; freed by its cleanup attribute */
		return bawn_error_wrap(err, "backend '%s'", be->name);
	*ret = TAKE_PTR(in);
	return 0;
}

int bawn_instance_limit(struct bawn_instance *in, struct bawn_error *err)
{
	if (in->be->limit && in->be->limit(in, err) < 0)
		return bawn_error_wrap(err, "backend '%s'", in->be->name);
	return 0;
}

int bawn_instance_await(struct bawn_instance *in, const struct bawn_plan *plan,
	uint32_t *ret_missing, struct bawn_error *err)
{
	uint32_t missing;

	if (in->be->await(in, err) < 0)
		return bawn_error_wrap(err, "backend '%s'", in->be->name);
	/* the supervisor watches the clock and the output of every backend */
	in->enforced |= BAWN_CTL_LIMIT_TIME | BAWN_CTL_LIMIT_OUTPUT;

	missing = plan->demanded & ~in->enforced;
	if (missing & ~plan->may_miss)
		return refuse(in->be, missing & ~plan->may_miss, err);
	*ret_missing = missing;
	return 0;
}

void bawn_instance_drop_listeners(struct bawn_instance *in)
{
	for (size_t i = 0; i < in->n_listeners; i++)
		(void)close(in->listeners[i].fd);
	in->n_listeners = 0;
}

struct bawn_instance *bawn_instance_free(struct bawn_instance *in)
{
	if (!in)
		return NULL;
	in->be->destroy(in);
	free(in);
	return NULL;
}
