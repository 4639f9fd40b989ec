/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See wire.h. One walk over the members serves both directions, so that they cannot differ: each
 * `pass_*` writes what it is pointed at, or fills it in.
 */
#include "plan/wire.h"

#include <errno.h>
#include <string.h>

#define VERSION  UINT32_C(0x62770001) /* "bw", 1 */
#define ABSENT   UINT32_MAX           /* the length of a NULL string */
#define MANY_MAX (UINT32_C(1) << 24)  /* elements of a list */

struct pass {
	struct bawn_buf *out; /* NULL: decoding */
	struct bawn_arena *a;
	const uint8_t *at, *end;
	int failed; /* decoding: 0, -EPROTO or -ENOMEM. Sticks */
};

static void fail(struct pass *p, int error)
{
	if (!p->failed)
		p->failed = error;
	p->at = p->end;
}

static void pass_number(struct pass *p, uint64_t *v, size_t bytes)
{
	uint8_t raw[8] = {0};

	for (size_t i = 0; p->out && i < bytes; i++)
		raw[i] = (uint8_t)(*v >> (8 * i));
	if (p->out) {
		bawn_buf_add(p->out, raw, bytes);
		return;
	}
	*v = 0;
	if ((size_t)(p->end - p->at) < bytes) {
		fail(p, -EPROTO);
		return;
	}
	for (size_t i = 0; i < bytes; i++)
		*v |= (uint64_t)p->at[i] << (8 * i);
	p->at += bytes;
}

static void pass_u64(struct pass *p, uint64_t *v)
{
	pass_number(p, v, 8);
}

static void pass_u32(struct pass *p, uint32_t *v)
{
	uint64_t wide = *v;

	pass_number(p, &wide, 4);
	*v = (uint32_t)wide;
}

static void pass_u16(struct pass *p, uint16_t *v)
{
	uint64_t wide = *v;

	pass_number(p, &wide, 2);
	*v = (uint16_t)wide;
}

static void pass_bool(struct pass *p, bool *v)
{
	uint64_t wide = *v;

	pass_number(p, &wide, 1);
	if (wide > 1)
		fail(p, -EPROTO);
	*v = wide == 1;
}

/* A member of an enum whose last one is `last`. */
static uint32_t pass_choice(struct pass *p, uint32_t v, uint32_t last)
{
	pass_u32(p, &v);
	if (v > last) {
		fail(p, -EPROTO);
		v = 0;
	}
	return v;
}

static void pass_str(struct pass *p, const char **s)
{
	uint32_t len = p->out && *s ? (uint32_t)strlen(*s) : ABSENT;
	char *copy;

	pass_u32(p, &len);
	if (p->out) {
		if (*s)
			bawn_buf_add(p->out, *s, len);
		return;
	}
	*s = NULL;
	if (len == ABSENT || p->failed)
		return;
	if (len > (size_t)(p->end - p->at) || memchr(p->at, '\0', len)) {
		fail(p, -EPROTO);
		return;
	}
	copy = bawn_arena_strndup(p->a, (const char *)p->at, len);
	if (!copy)
		fail(p, -ENOMEM);
	*s = copy;
	p->at += len;
}

/* A string that must be there. */
static void pass_text(struct pass *p, const char **s)
{
	pass_str(p, s);
	if (!p->out && !*s) {
		fail(p, -EPROTO);
		*s = "";
	}
}

/*
 * How many elements follow, none of which takes fewer than `least` bytes; when decoding, *array is
 * made for one more than that, zeroed.
 */
static size_t pass_count(struct pass *p, size_t n, size_t least, size_t size, void **array)
{
	uint32_t count = n > MANY_MAX ? MANY_MAX : (uint32_t)n;

	if (p->out && n > MANY_MAX)
		p->out->failed = -E2BIG;
	pass_u32(p, &count);
	if (p->out)
		return count;
	if (count > MANY_MAX || count > (size_t)(p->end - p->at) / least) {
		fail(p, -EPROTO);
		count = 0;
	}
	*array = bawn_arena_alloc(p->a, size * ((size_t)count + 1));
	if (!*array) {
		fail(p, -ENOMEM);
		return 0;
	}
	return count;
}

static void pass_list(struct pass *p, const char *const **list, size_t *n)
{
	void *made = NULL;
	size_t count = pass_count(p, *n, 4, sizeof(char *), &made);
	const char **words = made;

	for (size_t i = 0; i < count; i++) {
		const char *s = p->out && *list ? (*list)[i] : NULL;

		pass_text(p, &s);
		if (words)
			words[i] = s;
	}
	if (p->out)
		return;
	*list = words;
	*n = count;
}

/* A list that ends with NULL, or none at all. */
static void pass_ended(struct pass *p, const char *const **list)
{
	size_t n = 0;

	while (p->out && *list && (*list)[n])
		n++;
	pass_list(p, list, &n);
}

static void pass_mounts(struct pass *p, struct bawn_plan *plan)
{
	void *made = NULL;
	size_t n = pass_count(p, plan->n_mounts, 24, sizeof(struct bawn_mount), &made);

	if (!p->out) {
		plan->mounts = made;
		plan->n_mounts = n;
	}
	for (size_t i = 0; i < n; i++) {
		struct bawn_mount m = plan->mounts[i];

		m.kind = (enum bawn_mount_kind)pass_choice(p, (uint32_t)m.kind, BAWN_MNT_FILE);
		pass_bool(p, &m.no_exec);
		pass_bool(p, &m.optional);
		pass_bool(p, &m.protect);
		pass_bool(p, &m.pin);
		pass_str(p, &m.src);
		pass_text(p, &m.dst);
		pass_str(p, &m.rule);
		pass_str(p, &m.release);
		if (!p->out)
			plan->mounts[i] = m;
	}
}

static void pass_guards(struct pass *p, struct bawn_plan *plan)
{
	void *made = NULL;
	size_t n = pass_count(p, plan->n_guards, 16, sizeof(struct bawn_guard), &made);

	if (!p->out) {
		plan->guards = made;
		plan->n_guards = n;
	}
	for (size_t i = 0; i < n; i++) {
		pass_text(p, &plan->guards[i].dir);
		pass_text(p, &plan->guards[i].name);
		pass_str(p, &plan->guards[i].rule);
		pass_str(p, &plan->guards[i].release);
	}
}

static void pass_ports(struct pass *p, struct bawn_plan *plan)
{
	void *made = NULL;
	size_t n = pass_count(p, plan->n_loopback_ports, 2, sizeof(uint16_t), &made);
	uint16_t *ports = made;

	for (size_t i = 0; i < n; i++) {
		uint16_t port = p->out ? plan->loopback_ports[i] : 0;

		pass_u16(p, &port);
		if (ports)
			ports[i] = port;
	}
	if (p->out)
		return;
	plan->loopback_ports = ports;
	plan->n_loopback_ports = n;
}

static void pass_egress(struct pass *p, const struct bawn_egress_plan **egress)
{
	struct bawn_egress_plan e = *egress ? **egress : (struct bawn_egress_plan){0};
	bool there = *egress != NULL;
	struct bawn_egress_plan *made;

	pass_bool(p, &there);
	if (!p->out)
		*egress = NULL;
	if (!there)
		return;
	e.mode = (enum bawn_netmode)pass_choice(p, (uint32_t)e.mode, 64);
	pass_ended(p, &e.allow);
	pass_ended(p, &e.block);
	pass_bool(p, &e.development);
	pass_bool(p, &e.ssrf);
	pass_bool(p, &e.block_private);
	pass_u64(p, &e.host_bytes);
	pass_u64(p, &e.host_rate_milli);
	pass_u16(p, &e.proxy_port);
	pass_u16(p, &e.capture_port);
	if (p->out)
		return;
	made = bawn_new(p->a, struct bawn_egress_plan, 1);
	if (!made) {
		fail(p, -ENOMEM);
		return;
	}
	*made = e;
	*egress = made;
}

static void pass_limits(struct pass *p, struct bawn_limits *l)
{
	uint64_t *const all[] = {&l->memory, &l->cpus_milli, &l->cpu_shares, &l->processes,
		&l->files, &l->disk, &l->disk_reserve, &l->time_ms, &l->output};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		pass_u64(p, all[i]);
}

static void pass_options(struct pass *p, struct bawn_backend_options *o)
{
	pass_str(p, &o->image);
	pass_bool(p, &o->image_writable);
	pass_str(p, &o->engine_runtime);
	pass_str(p, &o->gvisor_engine);
	pass_str(p, &o->vm_kernel);
	pass_str(p, &o->wasm_library);
	pass_u64(p, &o->wasm_fuel);
	pass_str(p, &o->seatbelt_profile);
}

static void pass_plan(struct pass *p, struct bawn_plan *plan)
{
	uint32_t version = VERSION;

	pass_u32(p, &version);
	if (version != VERSION)
		fail(p, -EPROTO);
	pass_u32(p, &plan->demanded);
	pass_u32(p, &plan->may_miss);
	plan->tier = (enum bawn_tier)pass_choice(p, (uint32_t)plan->tier, BAWN_TIER_FAR);
	pass_text(p, &plan->exe);
	pass_ended(p, &plan->argv);
	pass_ended(p, &plan->envp);
	pass_text(p, &plan->cwd);
	pass_text(p, &plan->workspace);
	pass_text(p, &plan->hostname);
	pass_mounts(p, plan);
	pass_guards(p, plan);
	pass_list(p, &plan->protect, &plan->n_protect);
	pass_list(p, &plan->deny, &plan->n_deny);
	pass_list(p, &plan->no_exec, &plan->n_no_exec);
	pass_list(p, &plan->writable, &plan->n_writable);
	pass_ports(p, plan);
	pass_egress(p, &plan->egress);
	pass_bool(p, &plan->net_closed);
	pass_bool(p, &plan->unix_open);
	pass_ended(p, &plan->sys_allow);
	pass_ended(p, &plan->sys_deny);
	pass_limits(p, &plan->limits);
	pass_bool(p, &plan->pty);
	pass_options(p, &plan->backend);
	pass_str(p, &plan->note);
}

void bawn_plan_encode(const struct bawn_plan *plan, struct bawn_buf *out)
{
	struct bawn_plan copy = *plan; /* only read when there is an `out` */
	struct pass p = {.out = out};

	pass_plan(&p, &copy);
}

int bawn_plan_decode(struct bawn_arena *a, const void *data, size_t len,
	const struct bawn_plan **ret, struct bawn_error *err)
{
	struct pass p = {.a = a, .at = data, .end = (const uint8_t *)data + len};
	struct bawn_plan *plan = bawn_new(a, struct bawn_plan, 1);

	if (!plan)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	pass_plan(&p, plan);
	if (!p.failed && p.at != p.end)
		fail(&p, -EPROTO);
	if (p.failed)
		return bawn_fail(err, BAWN_ERR_INTERNAL, p.failed,
			p.failed == -ENOMEM ? "out of memory"
					    : "these bytes are not a plan of this version");
	*ret = plan;
	return 0;
}
