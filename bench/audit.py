# SPDX-License-Identifier: Apache-2.0
"""How fast records are appended, and a log checked."""
import statistics

from common import Section


def measure(bench):
    place = bench.place("audit")
    records = 500 if bench.quick else 50000
    seen = []
    for turn in range(1 if bench.quick else 3):
        bench.say(f"audit: {records:,} records, turn {turn + 1}")
        log = place.top / f"audit-{turn}.jsonl"
        seen.append([float(v) for v in place.run([str(bench.bin / "audit-tool"), str(records), str(log)]).stdout.split()])
    speed, size, check = (statistics.median(v) for v in zip(*seen))
    mib = size / (1 << 20)
    s = Section("Audit", f"{records:,} chained records appended through one handle, each locked, hashed and with "
                "its head written (not synced to the disk, as by default), then the whole chain checked.")
    s.tables.append(("", ["what", "value"], [
        ["records appended per second", f"{speed:,.0f}"], ["bytes per record", f"{size / records:.0f}"],
        ["check, ms per MiB", f"{check / mib:.2f}"], ["check, records per second", f"{records / check * 1e3:,.0f}"]]))
    return s
