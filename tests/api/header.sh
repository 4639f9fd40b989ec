#!/bin/sh
# The installed header compiles alone, as C99 and as C++, and names nothing of ours that is not in it.
set -eu
printf '#include <bawn/bawn.h>\nint main(void) { return bawn_version() == 0; }\n' > "${TMPDIR:-/tmp}/bawn-header-$$.c"
trap 'rm -f "${TMPDIR:-/tmp}/bawn-header-$$.c"' EXIT
cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$1" -fsyntax-only "${TMPDIR:-/tmp}/bawn-header-$$.c"
if command -v c++ >/dev/null; then
    c++ -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$1" -fsyntax-only "${TMPDIR:-/tmp}/bawn-header-$$.c"
fi
