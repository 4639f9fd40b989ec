/* SPDX-License-Identifier: Apache-2.0 */
/* Reads addresses, one per line, and prints the class of each: the C half of compare-ipaddress.py.
 */
#include <arpa/inet.h>

#include "egress/address.h"

int main(void)
{
	char line[80];
	uint8_t addr[16];

	while (fgets(line, sizeof(line), stdin)) {
		int family = strchr(line, ':') ? AF_INET6 : AF_INET;

		line[strcspn(line, "\n")] = '\0';
		if (inet_pton(family, line, addr) != 1)
			return 1;
		if (puts(bawn_address_class_name(bawn_address_classify(family, addr))) < 0)
			return 1;
	}
	return ferror(stdin) || fflush(stdout) != 0;
}
