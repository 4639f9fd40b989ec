/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static, without a resolver library that could be replaced: what a program that knows nothing of
 * proxies does. HOST is an address, PORT a number; sends the lines of TEXT and prints what comes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	const struct timeval limit = {.tv_sec = 10};
	char buf[4096];
	ssize_t n;
	int is_v6, fd;

	if (argc != 4)
		return 2;
	is_v6 = strchr(argv[1], ':') != NULL;
	v4.sin_port = v6.sin6_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	if (inet_pton(is_v6 ? AF_INET6 : AF_INET, argv[1],
		    is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr) != 1)
		return 2;
	fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
		connect(fd, is_v6 ? (const void *)&v6 : (const void *)&v4,
			is_v6 ? sizeof(v6) : sizeof(v4)) < 0) {
		perror("connect");
		return 1;
	}
	if (write(fd, argv[3], strlen(argv[3])) < 0) {
		perror("write");
		return 1;
	}
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		(void)fwrite(buf, 1, (size_t)n, stdout);
	if (n < 0)
		perror("read");
	return n < 0;
}
