/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "backend/backend.h"

/* Every backend compiled in, one per file or folder. */
extern const struct bawn_backend bawn_backend_firecracker;
extern const struct bawn_backend bawn_backend_qemu;
extern const struct bawn_backend bawn_backend_gvisor;
extern const struct bawn_backend bawn_backend_docker;
extern const struct bawn_backend bawn_backend_podman;
extern const struct bawn_backend bawn_backend_apple_container;
extern const struct bawn_backend bawn_backend_native;
extern const struct bawn_backend bawn_backend_bwrap;
extern const struct bawn_backend bawn_backend_nsjail;
extern const struct bawn_backend bawn_backend_landlock;
extern const struct bawn_backend bawn_backend_path;
extern const struct bawn_backend bawn_backend_noop;
