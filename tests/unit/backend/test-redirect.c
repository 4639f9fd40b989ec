/* SPDX-License-Identifier: Apache-2.0 */
/* In a network namespace of the test's own: where connections end, and what is refused at once. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <linux/netfilter_ipv4.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "backend/native/redirect.h"
#include "base/cleanup.h"
#include "harness.h"

#define PORT 4000

static socklen_t address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	ASSERT_EQ(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	return sizeof(*v6);
}

static int listener(const char *at)
{
	struct sockaddr_storage ss;
	socklen_t len = address(at, PORT, &ss);
	int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(bind(fd, (const struct sockaddr *)&ss, len), 0);
	ASSERT_EQ(listen(fd, 16), 0);
	return fd;
}

/* 0 or the errno of connecting. */
static int dial(const char *to, int type, int *ret)
{
	struct sockaddr_storage ss;
	socklen_t len = address(to, 80, &ss);

	*ret = socket(ss.ss_family, type | SOCK_CLOEXEC, 0);
	ASSERT_TRUE(*ret >= 0);
	return connect(*ret, (const struct sockaddr *)&ss, len) < 0 ? errno : 0;
}

static void map_root(const char *path, unsigned id)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	ASSERT_TRUE(fd >= 0);
	ASSERT_TRUE(dprintf(fd, "0 %u 1", id) > 0);
}

/* A namespace with a loopback that is up, or the test is skipped. */
static void enter(void)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	_cleanup_close_ int fd = -1;
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		SKIP("no network namespaces here: needs user namespaces (sysctl user.max_user_namespaces) and CONFIG_NET_NS");
	/* who has no name here can make no namespace within */
	fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	ASSERT_EQ(write(fd, "deny", 4), 4);
	(void)close(fd);
	map_root("/proc/self/uid_map", uid);
	map_root("/proc/self/gid_map", gid);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ASSERT_TRUE(fd >= 0);
	ASSERT_EQ(ioctl(fd, SIOCSIFFLAGS, &ifr), 0);
}

static bool has_v6(void)
{
	struct sockaddr_storage ss;
	socklen_t len = address("::1", 0, &ss);
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && bind(fd, (const struct sockaddr *)&ss, len) == 0;
}

static void redirect(bool v6)
{
	const char *what = NULL;
	int r = bawn_redirect(PORT, v6, &what);

	if (r == -EOPNOTSUPP || r == -EPROTONOSUPPORT || r == -ENOENT || r == -EPERM)
		SKIP("this kernel cannot redirect: needs nf_tables with nat (modprobe nft_redir nft_chain_nat)");
	if (r < 0)
		FAIL("%s: %s", what, strerrordesc_np(-r));
}

static void expect_arrival(int at, const char *to)
{
	struct sockaddr_in was = {0};
	socklen_t len = sizeof(was);
	char text[INET_ADDRSTRLEN];
	int out, in;

	ASSERT_EQ(dial(to, SOCK_STREAM, &out), 0);
	in = accept4(at, NULL, NULL, SOCK_CLOEXEC);
	if (in < 0)
		FAIL("a connection to %s did not arrive: %m", to);
	if (!strchr(to, ':')) {
		ASSERT_EQ(getsockopt(in, IPPROTO_IP, SO_ORIGINAL_DST, &was, &len), 0);
		ASSERT_TRUE(inet_ntop(AF_INET, &was.sin_addr, text, sizeof(text)));
		ASSERT_STREQ(text, to);
		ASSERT_EQ(ntohs(was.sin_port), 80);
	}
	(void)close(in);
	(void)close(out);
}

TEST(every_connection_arrives)
{
	static const char *const v4[] = {"1.2.3.4", "10.0.0.1", "169.254.169.254", "198.18.1.0"};
	static const char *const v6[] = {"2606:2800:220::1", "fd00:6261:776e::1", "64:ff9b::1"};
	int at, at6 = -1;
	bool six;

	enter();
	six = has_v6();
	at = listener("127.0.0.1");
	if (six)
		at6 = listener("::1");
	redirect(six);
	for (size_t i = 0; i < sizeof(v4) / sizeof(v4[0]); i++)
		expect_arrival(at, v4[i]);
	for (size_t i = 0; six && i < sizeof(v6) / sizeof(v6[0]); i++)
		expect_arrival(at6, v6[i]);
}

TEST(the_loopback_stays_itself)
{
	int fd;

	enter();
	(void)listener("127.0.0.1");
	redirect(has_v6());
	ASSERT_EQ(dial("127.0.0.1", SOCK_STREAM, &fd), ECONNREFUSED);
	ASSERT_EQ(dial("127.9.9.9", SOCK_STREAM, &fd), ECONNREFUSED);
	if (has_v6())
		ASSERT_EQ(dial("::1", SOCK_STREAM, &fd), ECONNREFUSED);
}

TEST(everything_else_is_unreachable)
{
	static const char *const to[] = {"1.2.3.4", "224.0.0.251", "255.255.255.255"};
	struct sockaddr_storage ss;
	socklen_t len;
	int fd;

	enter();
	redirect(has_v6());
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		len = address(to[i], 443, &ss);
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		ASSERT_TRUE(fd >= 0);
		ASSERT_EQ(sendto(fd, "x", 1, 0, (const struct sockaddr *)&ss, len), -1);
		ASSERT_TRUE(errno == ENETUNREACH || errno == EACCES);
	}
	if (has_v6())
		ASSERT_EQ(dial("2606:2800:220::1", SOCK_DGRAM, &fd), ENETUNREACH);
}

TEST(without_ipv6_there_is_none)
{
	int fd, at;

	enter();
	at = listener("127.0.0.1");
	redirect(false);
	expect_arrival(at, "1.2.3.4");
	if (has_v6())
		ASSERT_EQ(dial("2606:2800:220::1", SOCK_STREAM, &fd), ENETUNREACH);
}

TEST(twice_is_an_error)
{
	const char *what = NULL;

	enter();
	redirect(false);
	ASSERT_EQ(bawn_redirect(PORT, false, &what), -EEXIST);
	ASSERT_STREQ(what, "nftables");
}

/* Without privilege in the namespace. */
TEST(not_ours)
{
	const char *what = NULL;

	enter();
	redirect(false);
	if (unshare(CLONE_NEWUSER) < 0)
		SKIP("no user namespace within another here: sysctl user.max_user_namespaces");
	ASSERT_EQ(bawn_redirect(PORT, false, &what), -EPERM);
}
