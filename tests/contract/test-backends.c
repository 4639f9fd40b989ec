/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The promises of backend/backend.h, kept by every backend of this build. Each test runs as it was
 * started and, when that is as root, once more as an ordinary user. What is left behind shows in
 * three places: this process is the reaper of all that descends from it, and its descriptors and
 * mounts are compared.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include "fixture.h"

/* ---- the tests ---- */

TEST(table_is_filled_and_sorted)
{
	const struct bawn_backend *be, *before = NULL;
	size_t n = 0;

	for (size_t i = 0; (be = bawn_backend_at(i)); i++) {
		ASSERT_EQ(be->abi, BAWN_BACKEND_ABI);
		ASSERT_TRUE(be->name && *be->name && be->aliases && be->summary && *be->summary);
		ASSERT_TRUE(!strchr(be->summary, '\n'));
		ASSERT_TRUE(be->probe && be->prepare && be->await && be->start && be->event &&
			    be->signal && be->destroy);
		ASSERT_TRUE(be->instance_size >= sizeof(struct bawn_instance));
		ASSERT_TRUE(be->level <= BAWN_LEVEL_VM);
		if (before)
			ASSERT_TRUE(before->strength > be->strength);
		before = be;
		n++;
	}
	ASSERT_TRUE(n >= 4);
	ASSERT_TRUE(!bawn_backend_at(n) && !bawn_backend_at(n + 1000));
}

static void check_aliases(const struct bawn_backend *be)
{
	char word[64];

	for (const char *p = be->aliases; *p;) {
		size_t len = strcspn(p, ",");

		ASSERT_TRUE(len > 0 && len < sizeof(word));
		memcpy(word, p, len);
		word[len] = '\0';
		if (bawn_backend_find(word) != be)
			FAIL("'%s' of %s belongs to another as well", word, be->name);
		p += len + (p[len] == ',');
	}
}

TEST(names_and_aliases_are_unique)
{
	const struct bawn_backend *be;

	for (size_t i = 0; (be = bawn_backend_at(i)); i++) {
		ASSERT_TRUE(bawn_backend_find(be->name) == be);
		check_aliases(be);
	}
	ASSERT_TRUE(!bawn_backend_find("") && !bawn_backend_find(",") && !bawn_backend_find("nat"));
	ASSERT_TRUE(!bawn_backend_find("kernel,namespace"));
}

BOTH_ANY(probe_leaves_nothing)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	for (int twice = is_slow(be); twice < 2; twice++) {
		struct bawn_probe p = *probe_of(be);

		if (twice == 1 && !is_slow(be))
			ASSERT_EQ(be->probe(&p, NULL), 0);
		ASSERT_TRUE(p.offers || p.reason[0]);
		ASSERT_TRUE(p.offers < 1u << BAWN_CTL_COUNT);
		expect_same(&before, be->name);
		expect_no_child(be);
	}
	free(before.mounts);
}

BOTH(receipt_is_what_the_probe_offers)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		struct run r;

		if (!usable(be))
			continue;
		r = prepare(be, plan_of(be, "exit 0"));
		if (r.in->enforced & ~probe_of(be)->offers)
			FAIL("%s claims %x, the probe offers %x", be->name, r.in->enforced,
				probe_of(be)->offers);
		ASSERT_TRUE(r.in->event_fd >= 0 || !is_kernel(be));
		ASSERT_EQ(r.in->pty_fd, -1);
		ASSERT_TRUE(r.in->walls[0]);
		drop(&r);
	}
}

BOTH_QUICK(prepared_but_not_started_runs_nothing)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		char out[64];
		struct run r;

		if (!usable(be))
			continue;
		r = prepare(be, plan_of(be, "echo ran; touch ran"));
		r.in = bawn_instance_free(r.in);
		read_all(r.out, out, sizeof(out));
		ASSERT_STREQ(out, "");
		ASSERT_TRUE(access("ran", F_OK) < 0);
		(void)close(r.out);
		expect_same(&before, be->name);
		expect_no_child(be);
	}
	free(before.mounts);
}

BOTH_QUICK(destroy_between_prepare_and_await)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		const int stdio[3] = {-1, -1, -1};
		struct bawn_instance *in = NULL;
		struct bawn_error err = {0};

		if (!usable(be))
			continue;
		if (bawn_instance_new(be, plan_of(be, "touch ran"), stdio, &in, &err) < 0)
			FAIL("%s: %s", be->name, err.msg);
		in = bawn_instance_free(in);
		ASSERT_TRUE(access("ran", F_OK) < 0);
		expect_same(&before, be->name);
		expect_no_child(be);
	}
	free(before.mounts);
}

BOTH_ANY(destroy_without_prepare)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		struct bawn_instance *in = calloc(1, be->instance_size);

		ASSERT_TRUE(in);
		in->be = be;
		(void)bawn_instance_free(in);
		expect_same(&before, be->name);
	}
	expect_no_child(NULL);
	free(before.mounts);
}

/* A plan that no backend can carry out: a bind of what does not exist, descriptors that are not
 * open. */
BOTH_ANY(destroy_after_failed_prepare)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		struct bawn_plan plan = *plan_of(be, "touch ran");
		struct bawn_error err = {0};
		struct bawn_instance *in = NULL;
		uint32_t missing = 0;

		plan.n_loopback_ports = 1000;
		ASSERT_TRUE(make(be, &plan, -1, &in, &missing, &err) < 0);
		ASSERT_TRUE(err.kind && err.msg[0] && !in);
		plan.n_loopback_ports = 0;
		err = (struct bawn_error){0};
		ASSERT_TRUE(make(be, &plan, 999, &in, &missing, &err) < 0);
		ASSERT_TRUE(err.kind && err.msg[0] && !in);
		ASSERT_TRUE(!strchr(err.msg, '\n'));
		ASSERT_TRUE(access("ran", F_OK) < 0);
		expect_same(&before, be->name);
		expect_no_child(be);
	}
	free(before.mounts);
}

BOTH(refuses_a_plan_that_demands_more)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		struct bawn_plan plan = *plan_of(be, "touch ran");
		struct bawn_error err = {0};
		struct bawn_instance *in = NULL;
		uint32_t missing = 0;

		if (!usable(be))
			continue;
		plan.demanded |= BAWN_CTL_SNAPSHOT;
		ASSERT_EQ(make(be, &plan, -1, &in, &missing, &err), -EOPNOTSUPP);
		ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
		ASSERT_TRUE(strstr(err.msg, "snapshot") && strstr(err.msg, be->name));
		ASSERT_TRUE(!in);
		/* another one that may go missing does not help */
		plan.may_miss = BAWN_CTL_NET_EGRESS;
		if (!is_slow(be))
			ASSERT_TRUE(make(be, &plan, -1, &in, &missing, &err) < 0);
		plan.may_miss = BAWN_CTL_SNAPSHOT;
		ASSERT_EQ(make(be, &plan, -1, &in, &missing, &err), 0);
		ASSERT_EQ(missing, BAWN_CTL_SNAPSHOT);
		in = bawn_instance_free(in);
		ASSERT_TRUE(access("ran", F_OK) < 0);
		expect_same(&before, be->name);
		expect_no_child(be);
	}
	free(before.mounts);
}

BOTH_QUICK(kernel_backends_enforce_the_default_plan)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		struct run r;

		if (!is_kernel(be) || !usable(be))
			continue;
		r = prepare(be, plan_of(be, "exit 0"));
		ASSERT_TRUE(r.in->enforced & BAWN_CTL_FS_WRITE);
		ASSERT_TRUE(r.in->enforced & BAWN_CTL_NET_NONE);
		ASSERT_TRUE(!(r.in->enforced & (BAWN_CTL_NET_EGRESS | BAWN_CTL_SECRETS)));
		drop(&r);
	}
}

/* What `in` has for the door, as "proxy:63128 capture:63129 …". */
static const char *listeners_of(const struct bawn_instance *in)
{
	const char *all = "";

	for (size_t i = 0; i < in->n_listeners; i++) {
		const struct bawn_listener *l = &in->listeners[i];
		struct sockaddr_in6 sa = {0}; /* the port of either family is in the same place */
		socklen_t len = sizeof(sa);

		ASSERT_EQ(getsockname(l->fd, (struct sockaddr *)&sa, &len), 0);
		ASSERT_TRUE(fcntl(l->fd, F_GETFD) & FD_CLOEXEC);
		ASSERT_TRUE(fcntl(l->fd, F_GETFL) & O_NONBLOCK);
		ASSERT_EQ(ntohs(sa.sin6_port), l->port);
		all = bawn_arena_printf(arena, "%s%s%s:%u%s", all, i ? " " : "", l->kind, l->port,
			sa.sin6_family == AF_INET6 ? "/6" : "");
		ASSERT_TRUE(all);
	}
	return all;
}

static void expect_listeners(const struct bawn_instance *in)
{
	const char *all = listeners_of(in);

	ASSERT_TRUE(in->enforced & BAWN_CTL_NET_EGRESS);
	ASSERT_TRUE(in->enforced & BAWN_CTL_NET_SSRF);
	ASSERT_TRUE(!(in->enforced & BAWN_CTL_NET_NONE));
	if (strcmp(all, "proxy:63128 capture:63129 dns-udp:53 dns-tcp:53") != 0)
		ASSERT_STREQ(all, "proxy:63128 capture:63129 dns-udp:53 dns-tcp:53 "
				  "proxy:63128/6 capture:63129/6");
}

static void check_door(const struct bawn_backend *be, const struct state *before)
{
	static const char *const argv[] = {"/bin/true", NULL};
	const struct bawn_plan *plan = plan_with(be, argv, "network.mode", "allowlist");
	struct bawn_instance *in = NULL;
	struct bawn_error err = {0};
	uint32_t missing = 0;

	if (make(be, plan, -1, &in, &missing, &err) < 0) {
		ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
		ASSERT_TRUE(strstr(err.msg, "net.egress"));
		ASSERT_TRUE(be->tier == BAWN_TIER_LANDLOCK || be->tier == BAWN_TIER_FAR ||
			    strstr(err.msg, "redirect"));
		return;
	}
	ASSERT_TRUE(be->tier != BAWN_TIER_LANDLOCK && be->tier != BAWN_TIER_FAR);
	expect_listeners(in);
	bawn_instance_drop_listeners(in);
	ASSERT_EQ(in->n_listeners, 0);
	in = bawn_instance_free(in);
	expect_same(before, be->name);
	/* destroy closes what was not taken */
	ASSERT_EQ(make(be, plan, -1, &in, &missing, &err), 0);
	in = bawn_instance_free(in);
	expect_same(before, be->name);
	expect_no_child(be);
}

BOTH_QUICK(the_door_gets_listeners_or_the_plan_is_refused)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	if (is_kernel(be) && usable(be))
		check_door(be, &before);
	free(before.mounts);
}

static void expect_exit(const struct bawn_backend *be, int code)
{
	struct run r = start(be, plan_of(be, bawn_arena_printf(arena, "exit %d", code)));
	struct bawn_event ev = outcome(&r);

	ASSERT_EQ(ev.kind, BAWN_EV_EXITED);
	ASSERT_TRUE(WIFEXITED(ev.status));
	ASSERT_EQ(WEXITSTATUS(ev.status), code);
	drop(&r);
}

BOTH_QUICK(exit_and_signal_status_are_faithful)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		struct bawn_event ev;
		struct run r;

		if (!usable(be))
			continue;
		for (int code = 0; code < 256; code += 85)
			expect_exit(be, code);
		r = start(be, plan_of(be, "kill -TERM $$"));
		ev = outcome(&r);
		ASSERT_EQ(ev.kind, BAWN_EV_EXITED);
		ASSERT_TRUE(WIFSIGNALED(ev.status));
		ASSERT_EQ(WTERMSIG(ev.status), SIGTERM);
		drop(&r);
		expect_same(&before, be->name);
		expect_no_child(be);
	}
	free(before.mounts);
}

BOTH_ALL(output_arrives_and_ends)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		char out[64];
		struct run r;

		if (!usable(be))
			continue;
		r = start(be, plan_of(be, "echo hello; echo \"$BAWN_SECRET_OF_HOST\""));
		read_all(r.out, out, sizeof(out));
		ASSERT_STREQ(out, "hello\n\n");
		ASSERT_EQ(outcome(&r).status, 0);
		drop(&r);
	}
}

BOTH_QUICK(missing_and_unusable_programs_fail_with_their_errno)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		struct bawn_plan plan = *plan_of(be, "exit 0");
		struct bawn_event ev;
		struct run r;

		if (!usable(be))
			continue;
		plan.exe = "/usr/bin/there is no such program";
		r = start(be, &plan);
		ev = outcome(&r);
		ASSERT_EQ(ev.kind, BAWN_EV_FAILED);
		ASSERT_EQ(ev.status, ENOENT);
		drop(&r);
		plan.exe = "/usr/bin";
		r = start(be, &plan);
		ev = outcome(&r);
		ASSERT_EQ(ev.kind, BAWN_EV_FAILED);
		ASSERT_EQ(ev.status, EACCES);
		drop(&r);
		expect_no_child(be);
	}
}

BOTH_QUICK(sigterm_reaches_the_command)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		struct bawn_event ev;
		struct run r;

		if (!usable(be))
			continue;
		r = start(be,
			plan_of(be, "trap 'exit 43' TERM; echo up; while :; do sleep 0.1; done"));
		await_line(&r, "up");
		ASSERT_EQ(be->signal(r.in, SIGTERM, NULL), 0);
		ev = outcome(&r);
		ASSERT_EQ(ev.kind, BAWN_EV_EXITED);
		ASSERT_TRUE(WIFEXITED(ev.status));
		ASSERT_EQ(WEXITSTATUS(ev.status), 43);
		/* one that is gone can be signalled without harm */
		ASSERT_EQ(be->signal(r.in, SIGTERM, NULL), 0);
		ASSERT_EQ(be->signal(r.in, SIGKILL, NULL), 0);
		drop(&r);
		expect_no_child(be);
	}
}

/* The pipe ends only when the last of them has gone. */
static const char family[] = "setsid sh -c 'setsid sleep 1000 & exec sleep 1000' & "
			     "(trap '' TERM HUP INT; exec sleep 1000) & echo up; exec sleep 1000";

BOTH(sigkill_ends_everything_inside)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		char rest[16];
		struct run r;

		if (!is_kernel(be) || !usable(be))
			continue;
		r = start(be, plan_of(be, family));
		await_line(&r, "up");
		ASSERT_EQ(be->signal(r.in, SIGKILL, NULL), 0);
		(void)outcome(&r);
		read_all(r.out, rest, sizeof(rest));
		ASSERT_STREQ(rest, "");
		drop(&r);
		expect_all_dead(be->name);
	}
}

BOTH_QUICK(nothing_survives_the_command)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		char rest[16];
		struct run r;

		if (!is_kernel(be) || !usable(be))
			continue;
		r = start(be,
			plan_of(be, "setsid sh -c 'setsid sleep 1000 & exec sleep 1000' & exit 7"));
		ASSERT_EQ(WEXITSTATUS(outcome(&r).status), 7);
		read_all(r.out, rest, sizeof(rest));
		ASSERT_STREQ(rest, "");
		drop(&r);
		expect_all_dead(be->name);
	}
}

BOTH_QUICK(destroy_while_running_kills_all)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		char rest[16];
		struct run r;

		if (!usable(be))
			continue;
		r = start(be,
			plan_of(be, is_kernel(be) ? family : "echo up; sleep 1000 & sleep 1000"));
		await_line(&r, "up");
		r.in = bawn_instance_free(r.in);
		read_all(r.out, rest, sizeof(rest));
		ASSERT_STREQ(rest, "");
		(void)close(r.out);
		expect_same(&before, be->name);
		expect_all_dead(be->name);
	}
	free(before.mounts);
}

BOTH_QUICK(two_at_once_do_not_know_each_other)
{
	const struct bawn_backend *be;
	struct state before = look();

	EACH(be)
	{
		struct run a, b;

		if (!usable(be))
			continue;
		a = start(be, plan_of(be, "echo up; read x; exec sleep 1000"));
		b = start(be,
			plan_of(be, "trap 'exit 3' TERM; echo up; while :; do sleep 0.1; done"));
		await_line(&b, "up");
		await_line(&a, "up");
		a.in = bawn_instance_free(a.in);
		ASSERT_EQ(be->signal(b.in, SIGTERM, NULL), 0);
		ASSERT_EQ(WEXITSTATUS(outcome(&b).status), 3);
		drop(&b);
		(void)close(a.out);
		expect_same(&before, be->name);
		expect_all_dead(be->name);
	}
	free(before.mounts);
}

/* How often the limit was told until the end. */
static int count_limits(const struct run *r, uint32_t control)
{
	struct bawn_event ev;
	int n = 0;

	while ((ev = next(r)).kind != BAWN_EV_ENDED) {
		if (ev.kind == BAWN_EV_LIMIT)
			ASSERT_EQ(ev.control, control);
		n += ev.kind == BAWN_EV_LIMIT;
	}
	return n;
}

BOTH(a_hit_limit_is_an_event_and_the_end)
{
	const struct bawn_backend *be;
	const char *argv[] = {
		"/bin/sh", "-c", "head -c 200000000 /dev/zero | tail -n 1 | wc -c", NULL};

	EACH(be)
	{
		struct run r;

		if (!is_kernel(be) || !usable(be))
			continue;
		r = start(be, plan_with(be, argv, "limits.memory", "64m"));
		ASSERT_EQ(count_limits(&r, BAWN_CTL_LIMIT_MEMORY), 1);
		drop(&r);
		expect_all_dead(be->name);
	}
}

BOTH_QUICK(usage_is_known_after_the_end)
{
	const struct bawn_backend *be;

	EACH(be)
	{
		struct bawn_usage u = {0};
		struct run r;

		if (!be->usage || !usable(be))
			continue;
		r = start(be, plan_of(be, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
		ASSERT_EQ(outcome(&r).status, 0);
		be->usage(r.in, &u);
		ASSERT_TRUE(u.cpu_us > 0 && u.cpu_us < 600000000);
		drop(&r);
	}
}

/* ---- what was seen, for docs/BACKENDS.md ---- */

static void put_text(struct bawn_buf *b, const char *key, const char *text)
{
	bawn_buf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", key);
	(void)bawn_buf_json(b, text, strlen(text));
}

/* {"fs.read": "mount namespace", …}: the receipt, and what enforces each control. */
static void put_receipt(struct bawn_buf *b, const char *key, const struct bawn_instance *in)
{
	const char *comma = "";

	bawn_buf_printf(b, ",\"%s\":{", key);
	for (unsigned i = 0; i < BAWN_CTL_COUNT; i++)
		if (in->enforced & 1u << i) {
			bawn_buf_printf(b, "%s\"%s\":\"%s\"", comma, bawn_control_name(i),
				bawn_instance_by(in, i));
			comma = ",";
		}
	bawn_buf_puts(b, "}");
}

/* The receipt for a plan with one more setting, or why there is none. */
static void see_plan(struct bawn_buf *b, const struct bawn_backend *be, const char *name,
	const char *key, const char *value)
{
	static const char *const argv[] = {"/bin/true", NULL};
	const struct bawn_plan *plan = plan_with(be, argv, key, value);
	struct bawn_instance *in = NULL;
	struct bawn_error err = {0};
	uint32_t missing = 0;

	if (make(be, plan, -1, &in, &missing, &err) < 0) {
		ASSERT_EQ(err.kind, BAWN_ERR_UNSUPPORTED);
		put_text(b, name, err.msg);
		return;
	}
	put_receipt(b, name, in);
	in = bawn_instance_free(in);
}

static void see_times(struct bawn_buf *b, const struct bawn_backend *be)
{
	int n = is_slow(be) ? 1 : be->level == BAWN_LEVEL_CONTAINER ? 3 : 9;

	bawn_buf_puts(b, ",\"ms\":[");
	for (int i = 0; i < n; i++) {
		int64_t start_at = bawn_now_ms();
		struct run r = start(be, plan_of(be, "exit 0"));

		ASSERT_EQ(outcome(&r).status, 0);
		drop(&r);
		bawn_buf_printf(b, "%s%lld", i ? "," : "", (long long)(bawn_now_ms() - start_at));
	}
	bawn_buf_puts(b, "]");
}

static void see(const struct bawn_backend *be)
{
	_cleanup_buf_ struct bawn_buf b = {0};
	const char *why = unusable(be);

	bawn_buf_puts(&b, "{");
	put_text(&b, "backend", be->name);
	put_text(&b, "identity", geteuid() ? "user" : "root");
	put_text(&b, "level", bawn_enum_name("level", be->level));
	bawn_buf_printf(&b, ",\"strength\":%d", be->strength);
	put_text(&b, "version", probe_of(be)->version);
	if (why)
		put_text(&b, "skipped", why);
	if (be->suits && probe_of(be)->offers) {
		struct bawn_instance in = {.be = be, .enforced = probe_of(be)->offers};

		put_receipt(&b, "plain", &in);
	} else if (!why && !(is_slow(be) && geteuid())) {
		see_plan(&b, be, "plain", "limits.cpus", "1");
		if (is_kernel(be))
			see_plan(&b, be, "egress", "network.mode", "allowlist");
		see_times(&b, be);
	}
	bawn_buf_puts(&b, "}\n");
	ASSERT_EQ(b.failed, 0);
	if (seen_fd >= 0)
		ASSERT_EQ(bawn_write_all(seen_fd, b.data, b.len), 0);
}

BOTH_ANY(what_is_enforced_is_written_down)
{
	const struct bawn_backend *be;

	EACH(be)
	see(be);
}
