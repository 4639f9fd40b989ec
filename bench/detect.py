# SPDX-License-Identifier: Apache-2.0
"""How fast detection is."""
import pathlib
import subprocess
import sysconfig

from common import Budget, Section

KINDS = ("*.md", "*.c", "*.h", "*.py", "*.1", "*.5.in", "*.sh")


def content(bench):
    """Prose, code and manuals of this repository; not the rules and tests, which are full of attacks."""
    root = bench.source.parent
    return sorted(str(p) for d in ("docs", "src", "man", "tools", "bench") for k in KINDS for p in (root / d).rglob(k)
                  if "DETECTION" not in p.name and "train" not in p.parts and p.is_file())


def elsewhere():
    """What others wrote: Python's library, C headers and the notes of packages, so far as they are on this machine."""
    places = ((sysconfig.get_path("stdlib"), "*.py"), ("/usr/include", "*.h"), ("/usr/share/doc", "*/*.md"), ("/usr/share/doc", "*/README*"))
    found = (str(p) for d, k in places for p in sorted(pathlib.Path(d).glob(k))[:150] if p.is_file() and p.suffix != ".gz")
    return list(found)


def run(bench, runs, mib, files):
    r = subprocess.run([str(bench.build / "bench/detect-tool"), str(runs), str(mib), *files], check=True,
                       stdout=subprocess.PIPE, timeout=900, text=True)
    return {k: float(x) for k, x in (line.split() for line in r.stdout.splitlines())}


def measure(bench):
    bench.say("detection: commands, output, code, streams")
    runs, mib = (64, 8) if bench.quick else (4000, 1024)
    v = run(bench, runs, mib, content(bench))
    other = run(bench, 1, mib // 4, elsewhere())["all"]
    s = Section("Detection", f"Medians in one process, all detectors on. Mixed content is this repository's own prose, manuals and "
                f"code; the stream is {mib:,} MiB of it. Rule matching is hyperscan with PCRE2 behind it, per set, in windows of "
                "64 KiB. Cold is a child that is started, confined, asked and answers. Times are of the processor, but for those with "
                "a child.")
    s.tables.append(("", ["", ""], [
        ["typical command, cold, child included", f"{v['command_cold']:.0f} µs"],
        ["typical command, warm", f"{v['command_warm']:.0f} µs"],
        ["typical command, warm, through the child", f"{v['command_child']:.0f} µs"],
        ["16 KB of output", f"{v['output_16k']:.0f} µs"],
        ["20 KB of Python", f"{v['source_20k'] / 1000:.1f} ms"],
        *[[f"rule matching, set {k}", f"{v['rules_' + k]:,.0f} MiB/s"] for k in ("secret", "inject", "command", "code")],
        ["all detectors, mixed content", f"{v['all']:,.0f} MiB/s"],
        ["all detectors, files of others: Python's library, C headers, notes of packages", f"{other:,.0f} MiB/s"],
        ["resident after a tenth of the stream", f"{v['early_kib']:,.0f} KiB"],
        ["resident at its end", f"{v['late_kib']:,.0f} KiB"]]))
    s.budgets += [
        Budget("typical command, cold", v["command_cold"] / 1000, 1.0, "ms"),
        Budget("typical command, warm", v["command_warm"], 100.0, "µs"),
        Budget("16 KB of output", v["output_16k"] / 1000, 1.0, "ms"),
        Budget("20 KB of source", v["source_20k"] / 1000, 10.0, "ms"),
        Budget("rule matching, secrets", v["rules_secret"], 1024.0, "MiB/s", at_least=True),
        Budget("all detectors together", v["all"], 100.0, "MiB/s", at_least=True),
        Budget("memory of a stream, end ÷ tenth", v["late_kib"] / v["early_kib"], 1.05),
    ]
    return s
