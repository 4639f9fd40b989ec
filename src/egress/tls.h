/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a ClientHello says before anything is encrypted. Read only; TLS itself is not spoken here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/host.h"

#define BAWN_HELLO_MAX 16384

struct bawn_hello {
	bool has_sni, has_ech; /* ech: outer ClientHello with a real or GREASE extension alike */
	struct bawn_host sni;
};

/*
 * 1: complete; 0: more needed; negative: not a well-formed ClientHello (or over several records
 * beyond BAWN_HELLO_MAX). Hellos split over records and over packets are reassembled.
 */
int bawn_hello_parse(const uint8_t *p, size_t n, struct bawn_hello *ret, struct bawn_error *err);
