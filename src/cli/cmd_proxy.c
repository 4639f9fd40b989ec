/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `bawn proxy`: the door on its own, for programs that bawn does not start. It listens on this
 * host's loopback, so every client needs the token that is printed at the start. The rules are
 * those of the policy; SIGHUP reads them again, SIGUSR1 prints statistics, SIGINT and SIGTERM end
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "base/io.h"
#include "cli/cli.h"
#include "egress/control.h"
#include "pipeline/door.h"

#define TOKEN_BYTES 24
#define STOP_MS     2000

static const char *const variables[] = {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY",
	"all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"};

struct proxy {
	struct cli *cli;
	struct bawn_egress *door;
	int signals;
	uint16_t port;
	char token[2 * TOKEN_BYTES + 1];
	bool stopping;
	int status;
};

static const char **items(struct bawn_arena *a, const struct bawn_items *l)
{
	const char **v = bawn_new(a, const char *, l->n + 1);

	for (size_t i = 0; v && i < l->n; i++)
		v[i] = l->v[i].text;
	return v;
}

/* Nobody said what of the network can be reached: then what is listed can, and nothing else. */
static enum bawn_netmode mode_of(const struct bawn_policy *p)
{
	const struct bawn_field_info *f;

	for (size_t i = 0; (f = bawn_field_at(i)); i++)
		if (!strcmp(f->key, "network.mode") && p->origins[i].layer == BAWN_LAYER_DEFAULT)
			return BAWN_NET_ALLOWLIST;
	return p->net_mode;
}

/* Read the policy (again). What it points to lives in the arena. */
static int read_rules(struct cli *cli, struct bawn_egress_source *ret, struct bawn_error *err)
{
	struct bawn_policy_source src;
	const struct bawn_policy *p = NULL;
	int r = cli_policy_source(cli, &src, err);

	if (r >= 0)
		r = bawn_policy_load(cli->arena, &src, &p, err);
	if (r < 0)
		return r;
	*ret = (struct bawn_egress_source){
		.mode = bawn_door_mode(mode_of(p)),
		.allow = items(cli->arena, &p->net_allow_hosts),
		.block = items(cli->arena, &p->net_block_hosts),
		.ssrf = p->ssrf_enabled,
		.block_private = p->ssrf_private,
		.host_bytes = p->net_host_bytes,
		.host_rate =
			p->net_host_rate == BAWN_UNLIMITED ? 0 : (double)p->net_host_rate / 1000,
		.development = p->net_development,
		.resolvers = cli->resolvers.v,
	};
	if (!ret->allow || !ret->block)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -ENOMEM, "out of memory");
	return 0;
}

static int read_port(const char *text, uint16_t *ret, struct bawn_error *err)
{
	char *end = NULL;
	unsigned long v = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;

	if (text && (!end || *end || v > UINT16_MAX))
		return bawn_fail(err, BAWN_ERR_USAGE, -EINVAL,
			"option '--port' needs a number up to 65535 (0 for any), not '%s'", text);
	*ret = (uint16_t)v;
	return 0;
}

static int listen_on(uint16_t *port, int *ret, struct bawn_error *err)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_port = htons(*port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	if (fd < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "listening socket: %m");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, SOMAXCONN) < 0) {
		if (errno == EADDRINUSE)
			return bawn_fail(err, BAWN_ERR_BACKEND, -EADDRINUSE,
				"port %u is in use; choose another with '--port', 0 takes any",
				*port);
		return bawn_fail(
			err, BAWN_ERR_BACKEND, -errno, "listening on 127.0.0.1:%u: %m", *port);
	}
	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return bawn_fail(err, BAWN_ERR_BACKEND, -errno, "listening socket: %m");
	*port = ntohs(a.sin_port);
	*ret = TAKE_FD(fd);
	return 0;
}

static int make_token(char *dst, struct bawn_error *err)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t raw[TOKEN_BYTES];

	if (getrandom(raw, sizeof(raw), 0) != (ssize_t)sizeof(raw))
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "no random numbers: %m");
	for (size_t i = 0; i < sizeof(raw); i++) {
		dst[2 * i] = digits[raw[i] >> 4];
		dst[2 * i + 1] = digits[raw[i] & 15];
	}
	dst[2 * sizeof(raw)] = '\0';
	return 0;
}

static const char *value_of(const struct proxy *p, const char *variable)
{
	struct bawn_arena *a = p->cli->arena;

	if (!strcasecmp(variable, "no_proxy"))
		return "";
	return bawn_arena_printf(a, "%s://bawn:%s@127.0.0.1:%u",
		!strcasecmp(variable, "all_proxy") ? "socks5h" : "http", p->token, p->port);
}

static void print_start(const struct proxy *p)
{
	struct bawn_buf *b = &p->cli->out;

	if (!p->cli->json) {
		for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
			bawn_buf_printf(
				b, "export %s='%s'\n", variables[i], value_of(p, variables[i]));
		return;
	}
	bawn_buf_puts(b, "{");
	cli_json_key(b, "schema");
	cli_json_str(b, "bawn/proxy/v1");
	cli_json_key(b, "event");
	cli_json_str(b, "ready");
	cli_json_key(b, "address");
	cli_json_str(b, "127.0.0.1");
	cli_json_key(b, "port");
	bawn_buf_printf(b, "%u", p->port);
	cli_json_key(b, "token");
	cli_json_str(b, p->token);
	cli_json_key(b, "environment");
	bawn_buf_puts(b, "{");
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		cli_json_key(b, variables[i]);
		cli_json_str(b, value_of(p, variables[i]));
	}
	bawn_buf_puts(b, "}}\n");
}

static void json_counts(struct bawn_buf *b, const struct bawn_egress_event *ev)
{
	const struct {
		const char *name;
		uint64_t value;
	} all[] = {{"allowed", ev->n_allowed}, {"blocked", ev->n_blocked}, {"sent", ev->sent},
		{"received", ev->received}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cli_json_key(b, all[i].name);
		bawn_buf_printf(b, "%llu", (unsigned long long)all[i].value);
	}
}

static void json_decision(struct bawn_buf *b, const struct bawn_egress_event *ev)
{
	const struct {
		const char *name, *text;
	} all[] = {{"decision", ev->allowed ? "allow" : "deny"}, {"way", ev->way},
		{"method", ev->method}, {"host", ev->host}, {"rule", ev->rule},
		{"reason", ev->reason}, {"address", ev->address}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		cli_json_key(b, all[i].name);
		cli_json_str(b, *all[i].text ? all[i].text : NULL);
	}
	cli_json_key(b, "port");
	bawn_buf_printf(b, "%u", ev->port);
}

static void print_json(struct bawn_buf *b, const struct bawn_egress_event *ev)
{
	static const char *const names[] = {
		[BAWN_EGRESS_DECISION] = "decision",
		[BAWN_EGRESS_CLOSED_CONN] = "closed",
		[BAWN_EGRESS_HOST] = "host",
		[BAWN_EGRESS_STATS] = "statistics",
		[BAWN_EGRESS_DROPPED] = "dropped",
		[BAWN_EGRESS_RELOADED] = "reloaded",
		[BAWN_EGRESS_INJECTED] = "injected",
		[BAWN_EGRESS_GONE] = "gone",
	};

	bawn_buf_puts(b, "{");
	cli_json_key(b, "event");
	cli_json_str(b, names[ev->kind]);
	cli_json_key(b, "time_us");
	bawn_buf_printf(b, "%llu", (unsigned long long)bawn_wall_us());
	if (ev->kind == BAWN_EGRESS_DECISION)
		json_decision(b, ev);
	if (ev->kind == BAWN_EGRESS_CLOSED_CONN || ev->kind == BAWN_EGRESS_HOST) {
		cli_json_key(b, "host");
		cli_json_str(b, ev->host);
	}
	if (ev->kind != BAWN_EGRESS_DECISION && ev->kind != BAWN_EGRESS_RELOADED)
		json_counts(b, ev);
	if (ev->kind == BAWN_EGRESS_RELOADED) {
		cli_json_key(b, "ok");
		bawn_buf_puts(b, ev->allowed ? "true" : "false");
		cli_json_key(b, "reason");
		cli_json_str(b, *ev->reason ? ev->reason : NULL);
	}
	bawn_buf_puts(b, "}\n");
}

static void put_time(struct bawn_buf *b)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];

	if (gmtime_r(&now, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ ", &tm))
		bawn_buf_puts(b, text);
}

static void text_decision(struct cli *cli, const struct bawn_egress_event *ev)
{
	struct bawn_buf *b = &cli->say;

	put_time(b);
	bawn_buf_printf(b, "%s%s%s ",
		cli_colour(cli->colour_err, ev->allowed ? CLI_GREEN : CLI_RED),
		ev->allowed ? "allow" : "deny ", cli_colour(cli->colour_err, CLI_PLAIN));
	cli_puts_safe(b, ev->way);
	bawn_buf_puts(b, " ");
	if (*ev->method) {
		cli_puts_safe(b, ev->method);
		bawn_buf_puts(b, " ");
	}
	cli_puts_safe(b, ev->host);
	bawn_buf_printf(b, ":%u (", ev->port);
	cli_puts_safe(b, ev->rule);
	bawn_buf_puts(b, ")");
	if (*ev->reason) {
		bawn_buf_puts(b, ": ");
		cli_puts_safe(b, ev->reason);
	}
	bawn_buf_puts(b, "\n");
}

static void text_counts(struct cli *cli, const char *name, const struct bawn_egress_event *ev)
{
	struct bawn_buf *b = &cli->say;

	bawn_buf_printf(b, "%8llu allowed  %8llu blocked  ", (unsigned long long)ev->n_allowed,
		(unsigned long long)ev->n_blocked);
	cli_size(b, ev->sent);
	bawn_buf_puts(b, " sent  ");
	cli_size(b, ev->received);
	bawn_buf_puts(b, " received  ");
	cli_puts_safe(b, name);
	bawn_buf_puts(b, "\n");
}

static void print_text(struct cli *cli, const struct bawn_egress_event *ev)
{
	switch (ev->kind) {
	case BAWN_EGRESS_DECISION:
		if (!cli->quiet || !ev->allowed)
			text_decision(cli, ev);
		break;
	case BAWN_EGRESS_HOST:
		text_counts(cli, ev->host, ev);
		break;
	case BAWN_EGRESS_STATS:
		text_counts(cli, "in all", ev);
		break;
	case BAWN_EGRESS_DROPPED:
		bawn_buf_printf(&cli->say, "bawn: %llu decisions are not shown\n",
			(unsigned long long)ev->n_blocked);
		break;
	case BAWN_EGRESS_RELOADED:
	case BAWN_EGRESS_INJECTED:
		cli_say(cli, ev->allowed ? "the rules were read again" : ev->reason);
		break;
	case BAWN_EGRESS_GONE:
	case BAWN_EGRESS_CLOSED_CONN:
	case BAWN_EGRESS_NOTHING:
		break;
	}
}

/* Everything there is from the door. */
static int show_events(struct proxy *p, struct bawn_error *err)
{
	struct bawn_egress_event ev;

	for (;;) {
		int r = bawn_egress_next(p->door, &ev, err);

		if (r < 0)
			return r;
		if (ev.kind == BAWN_EGRESS_NOTHING)
			return cli_flush_all(p->cli, err);
		if (p->cli->json)
			print_json(&p->cli->out, &ev);
		else
			print_text(p->cli, &ev);
		if (ev.kind != BAWN_EGRESS_GONE)
			continue;
		if (p->stopping)
			return 1;
		return bawn_fail(err, BAWN_ERR_BACKEND, -EPIPE,
			"the proxy's process ended; nothing gets through any more");
	}
}

/* Rules that cannot be read leave the old ones in force. */
static void reload(struct proxy *p)
{
	struct bawn_egress_source src;
	struct bawn_error err = {0};
	int r = read_rules(p->cli, &src, &err);

	if (r >= 0)
		r = bawn_egress_reload(p->door, &src, p->token, &err);
	if (r < 0) {
		(void)bawn_error_wrap(&err, "the old rules stay in force");
		cli_say(p->cli, err.msg);
	}
}

static int take_signal(struct proxy *p, struct bawn_error *err)
{
	struct signalfd_siginfo si;

	if (read(p->signals, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return 0;
	if (si.ssi_signo == SIGHUP) {
		reload(p);
		return cli_flush_all(p->cli, err);
	}
	p->stopping = si.ssi_signo != SIGUSR1;
	return bawn_egress_ask_stats(p->door, p->stopping, err);
}

static int serve(struct proxy *p, struct bawn_error *err)
{
	int r = cli_flush_all(p->cli, err);

	while (r == 0) {
		struct pollfd fds[] = {{.fd = bawn_egress_fd(p->door), .events = POLLIN},
			{.fd = p->signals, .events = POLLIN}};
		int n = poll(fds, 2, p->stopping ? STOP_MS : -1);

		if (n < 0 && errno != EINTR)
			return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "waiting: %m");
		if (n == 0) /* asked to stop, and no answer */
			return 0;
		if (n > 0 && fds[1].revents)
			r = take_signal(p, err);
		if (r >= 0 && n > 0 && fds[0].revents)
			r = show_events(p, err);
	}
	return r > 0 ? 0 : r;
}

static int catch_signals(struct proxy *p, struct bawn_error *err)
{
	static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGQUIT};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		(void)sigaddset(&set, all[i]);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p->signals < 0)
		return bawn_fail(err, BAWN_ERR_INTERNAL, -errno, "signals: %m");
	return 0;
}

static int start(struct proxy *p, struct bawn_error *err)
{
	struct bawn_egress_source src;
	_cleanup_close_ int fd = -1;
	int r = read_port(p->cli->port, &p->port, err);

	if (r >= 0 && p->cli->args.n)
		r = bawn_fail(err, BAWN_ERR_USAGE, -EINVAL, "unexpected argument '%s'",
			p->cli->args.v[0]);
	if (r >= 0)
		r = read_rules(p->cli, &src, err);
	if (r >= 0)
		r = listen_on(&p->port, &fd, err);
	if (r >= 0)
		r = make_token(p->token, err);
	if (r >= 0)
		r = catch_signals(p, err);
	if (r >= 0)
		r = bawn_egress_spawn(&src, p->token, &p->door, err);
	if (r >= 0)
		r = bawn_egress_listen(p->door, "proxy", p->port, fd, err);
	return r < 0 ? r : bawn_egress_go(p->door, err);
}

static int proxy(struct cli *cli, struct bawn_error *err)
{
	struct proxy p = {.cli = cli, .signals = -1};
	int r = start(&p, err);

	if (r >= 0) {
		print_start(&p);
		r = serve(&p, err);
	}
	p.door = bawn_egress_free(p.door);
	if (p.signals >= 0)
		(void)close(p.signals);
	explicit_bzero(p.token, sizeof(p.token));
	return r < 0 ? r : 0;
}

static int handle_mode(struct cli *cli, const char *value, struct bawn_error *err)
{
	return cli_add_setting(cli, "network.mode", value, "--mode", err);
}

static int handle_development(struct cli *cli, const char *value, struct bawn_error *err)
{
	(void)value;
	return cli_add_setting(cli, "network.development", "true", "--development", err);
}

#define AT(name_, letter_, kind_, value_, words_, member_, help_)                           \
	{                                                                                   \
		.name = (name_), .letter = (letter_), .kind = (kind_), .value = (value_),   \
		.words = (words_), .offset = offsetof(struct cli, member_), .help = (help_) \
	}

static const struct cli_opt proxy_opts[] = {
	AT("port", 0, CLI_TEXT, "PORT", NULL, port, "listen here (default: any free port)"),
	{.name = "mode",
		.kind = CLI_HANDLER,
		.value = "MODE",
		.words = "@netmode",
		.handle = handle_mode,
		.help = "what of the network is reachable (default: allowlist)"},
	{.name = "allow-host",
		.kind = CLI_SETTING,
		.value = "HOST",
		.key = "network.allow_hosts",
		.help = "let clients reach HOST; may be repeated"},
	{.name = "block-host",
		.kind = CLI_SETTING,
		.value = "HOST",
		.key = "network.block_hosts",
		.help = "refuse HOST, whatever else allows it; may be repeated"},
	{.name = "development",
		.kind = CLI_HANDLER,
		.handle = handle_development,
		.help = "allow package registries and source hosts"},
	AT("resolver", 0, CLI_LIST, "ADDRESS[:PORT]", NULL, resolvers,
		"ask this name server instead of the host's; may be repeated"),
	AT("policy", 'p', CLI_LIST, "FILE", "@file", policies, "read a policy; may be repeated"),
	AT("workspace", 'w', CLI_TEXT, "DIR", "@dir", workspace,
		"whose policy applies (default: the current directory)"),
	AT("quiet", 'q', CLI_FLAG, NULL, NULL, quiet, "show only what is refused"),
	{NULL},
};

const struct cli_cmd cli_cmd_proxy = {
	.name = "proxy",
	.summary = "Run the egress proxy alone, for programs that bawn does not start",
	.usage = "[options]",
	.about = "Prints the variables that its clients need, then each decision (to standard\n"
		 "error; with --json to standard output). SIGHUP reads the rules again, SIGUSR1\n"
		 "prints statistics, SIGINT and SIGTERM end it.",
	.opts = {proxy_opts, cli_common_opts},
	.usage_status = CLI_EXIT_USAGE,
	.failed_status = CLI_EXIT_FAILED,
	.run = proxy,
};
