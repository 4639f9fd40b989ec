# SPDX-License-Identifier: Apache-2.0
"""How fast output passes, and what memory that takes."""
from common import Section, ratio


def measure(bench):
    place = bench.place("output")
    size = 32 if bench.quick else 1024
    bench.say(f"output: {size} MiB through bawn and through cat")
    head = ["/usr/bin/head", "-c", f"{size}M", "/dev/zero"]
    cat = ["/bin/sh", "-c", " ".join(head) + " | cat"]
    small, bawn, pipe = place.times([[bench.bawn, "run", "--", "/bin/true"],
                                     [bench.bawn, "run", "--output-limit", "4G", "--", *head], cat],
                                    1 if bench.quick else 5)
    s = Section("Output", f"{size:,} MiB of zeros written by `head`, passed on by bawn (counted against the "
                "limit on output) or by `cat`, to /dev/null.")
    s.tables.append(("", ["", "MiB/s", "peak resident, KiB", "throughput ÷ cat"], [
        ["head | cat", f"{size / pipe.median * 1e6:.0f}", str(pipe.rss_kib), "1.00"],
        ["bawn run -- head", f"{size / bawn.median * 1e6:.0f}", str(bawn.rss_kib), ratio(pipe.median, bawn.median)],
        ["bawn run -- true, for its memory", "", str(small.rss_kib), ""]]))
    if bawn.failed:
        s.notes.append(f"{bawn.failed} of {bawn.runs} runs failed")
    return s
