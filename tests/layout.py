#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What every run goes through lies together in the program (src/start.ld), and what few go through does not lie among it.

usage: layout.py NM BAWN
"""
import subprocess
import sys

EVERY = ["main", "bawn_call_make", "bawn_policy_load", "bawn_pipeline_run", "bawn_plan_make", "bawn_init_main", "bawn_wall_root",
         "bawn_audit_append", "bawn_supervise", "malloc", "__libc_start_main"]
FEW = ["bawn_shell_parse", "ts_parser_new", "pcre2_match_8", "yaml_parser_parse"]
ROOM = 1 << 20


def main():
    at = {}
    for line in subprocess.run([sys.argv[1], sys.argv[2]], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3:
            at[words[2]] = int(words[0], 16)
    missing = [n for n in EVERY if n not in at]
    if missing:
        sys.exit(f"not in the program: {missing}; the list of this test is out of date")
    low, high = min(at[n] for n in EVERY), max(at[n] for n in EVERY)
    if high - low > ROOM:
        sys.exit(f"over {high - low} bytes, more than {ROOM}: {sorted((at[n] - low, n) for n in EVERY)}")
    among = [n for n in FEW if n in at and low < at[n] < high]
    if among:
        sys.exit(f"lies among it: {among}")
    print(f"within {high - low} bytes")


main()
