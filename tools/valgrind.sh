#!/bin/sh
# Unit tests under valgrind. Left out: what loads filters or makes namespaces, which valgrind cannot follow, and the
# searches of large trees, which it makes endless.
set -u
bad=0
for test in "$1"/tests/base-test-* "$1"/tests/policy-test-* "$1"/tests/call-test-* "$1"/tests/inspect-test-* \
    "$1"/tests/verdict-test-* "$1"/tests/plan-test-git "$1"/tests/result-test-* "$1"/tests/audit-test-verify; do
    [ -f "$test" ] && [ -x "$test" ] || continue
    case $test in */base-test-sched | */inspect-test-inspector) continue ;; esac # a child in our memory, a filter
    out=$(valgrind --quiet --error-exitcode=99 --leak-check=no "$test" 2>&1)
    if echo "$out" | grep -qE '^not ok|^==[0-9]+== '; then
        echo "FAILED $(basename "$test")"
        echo "$out" | grep -E '^not ok|^==[0-9]+== ' | head -n 20
        bad=1
    else
        echo "ok $(basename "$test")"
    fi
done
exit $bad
