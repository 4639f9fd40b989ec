#!/bin/sh
# Fail when clang-format would change a file.
cd "$(dirname "$0")/.." || exit 1
find src include tests bench tools examples -name '*.[ch]' -exec "$1" --dry-run -Werror {} +
