/* SPDX-License-Identifier: Apache-2.0 */
/* See handover.h. */
#include "backend/inside/handover.h"

#include <errno.h>
#include <string.h>

#include "plan/wire.h"

#define VERSION UINT32_C(0x62680003)

struct head {
	uint32_t version;
	uint32_t uid, gid;
	uint32_t by_cgroup, groups_follow;
	uint32_t base, notify; /* instructions of the filters, which follow in this order */
	uint32_t follow_parent, shared, limits;
	uint32_t places; /* follow the filters */
	uint32_t zero;   /* what follows is aligned */
	uint64_t host_ns[BAWN_NS_COUNT];
};

void bawn_handover_encode(const struct bawn_init *in, struct bawn_buf *out)
{
	struct head h = {.version = VERSION,
		.uid = in->uid,
		.gid = in->gid,
		.by_cgroup = in->by_cgroup,
		.groups_follow = in->groups_follow,
		.base = in->base.len,
		.notify = in->notify.len,
		.follow_parent = in->outer.follow_parent,
		.shared = in->outer.shared,
		.limits = in->outer.limits,
		.places = in->outer.places ? (uint32_t)in->plan->n_mounts : 0};

	memcpy(h.host_ns, in->outer.host_ns, sizeof(h.host_ns));
	bawn_buf_add(out, &h, sizeof(h));
	bawn_buf_add(out, in->base.filter, in->base.len * sizeof(struct sock_filter));
	if (in->notify.len)
		bawn_buf_add(out, in->notify.filter, in->notify.len * sizeof(struct sock_filter));
	if (h.places)
		bawn_buf_add(out, in->outer.places, h.places * sizeof(struct bawn_place));
	bawn_plan_encode(in->plan, out);
}

static int take_filter(
	struct bawn_arena *a, const uint8_t **at, size_t *left, uint32_t n, struct sock_fprog *ret)
{
	struct sock_filter *copy;

	if (n > UINT16_MAX || n > *left / sizeof(*copy))
		return -EPROTO;
	copy = bawn_new(a, struct sock_filter, (size_t)n + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, *at, n * sizeof(*copy));
	*at += n * sizeof(*copy);
	*left -= n * sizeof(*copy);
	*ret = (struct sock_fprog){.len = (unsigned short)n, .filter = copy};
	return 0;
}

static int take_places(struct bawn_arena *a, const uint8_t **at, size_t *left, uint32_t n,
	const struct bawn_place **ret)
{
	struct bawn_place *copy = NULL;

	if (n > *left / sizeof(*copy))
		return -EPROTO;
	if (n) {
		copy = bawn_new(a, struct bawn_place, n);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, *at, n * sizeof(*copy));
	}
	*at += n * sizeof(*copy);
	*left -= n * sizeof(*copy);
	*ret = copy;
	return 0;
}

int bawn_handover_decode(struct bawn_arena *a, const void *data, size_t len, struct bawn_init *ret,
	struct bawn_error *err)
{
	struct head h = {0};
	const uint8_t *at = data;
	int r = -EPROTO;

	if (len >= sizeof(h)) {
		memcpy(&h, at, sizeof(h));
		at += sizeof(h);
		len -= sizeof(h);
	}
	if (h.version == VERSION)
		r = take_filter(a, &at, &len, h.base, &ret->base);
	if (r == 0)
		r = take_filter(a, &at, &len, h.notify, &ret->notify);
	if (r == 0)
		r = take_places(a, &at, &len, h.places, &ret->outer.places);
	if (r < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, r,
			"what came is no handover of this version: bawn and bawn-inside differ");
	ret->uid = h.uid;
	ret->gid = h.gid;
	ret->by_cgroup = h.by_cgroup;
	ret->groups_follow = h.groups_follow != 0;
	ret->outer.follow_parent = h.follow_parent != 0;
	ret->outer.shared = h.shared != 0;
	ret->outer.limits = h.limits;
	memcpy(ret->outer.host_ns, h.host_ns, sizeof(h.host_ns));
	r = bawn_plan_decode(a, at, len, &ret->plan, err);
	if (r >= 0)
		ret->tier = ret->plan->tier;
	if (r >= 0 && ret->outer.places && h.places != ret->plan->n_mounts)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -EPROTO, "places and mounts differ");
	return r;
}
