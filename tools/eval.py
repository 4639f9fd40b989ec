#!/usr/bin/env python3
"""eval.py BUILD DATA [--out FILE] [--train]

How good detection is on labelled data: runs BUILD/bawn inspect --batch over DATA/{commands,secrets,code,inject}.jsonl[.gz]
and prints, per set, the budgets of false positives first, then recall, per source and tier, precision, AUC and how far a
confidence means what it says. Writes the same as Markdown. Texts are never shown, only counted. --train trains the injection
classifier again without each source in turn (tools/train; needs numpy) and scores each source by the model that has not seen it."""
import argparse
import collections
import gzip
import importlib.util
import json
import math
import pathlib
import re
import subprocess
import sys
import time

SUSPICIOUS, MALICIOUS = 0.30, 0.70
ODDS = 0.01  # how much of real work is unwanted, for calibration
BINS = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0]

# what the rows of a budget are, its limit and what to call it
SETS = [
    ("commands", "command", "Commands", [
        ("fp", "ordinary commands (agent work, manuals)", 0.005, lambda d: d["tier"].startswith(("natural", "doc", "hard"))),
        ("recall", "core", 0.90, lambda d: d["tier"] == "core"),
        ("recall", "obfuscated", 0.85, lambda d: d["tier"] == "obfuscated"),
        ("recall", "exfiltration", 0.90, lambda d: d.get("cat") in ("exfiltration", "collection") or d.get("sub") == "upload"),
    ]),
    ("secrets", "content", "Secrets", [
        ("fp", "ordinary files", 0.001, lambda d: d["tier"] in ("natural", "log", "auth_code", "minified_or_base64", "id_like")),
        ("fp", "lockfiles", 0.005, lambda d: d["tier"] == "lockfile"),
        ("fp", "near misses", 0.15, lambda d: d["tier"] == "rule_fp"),
        ("recall", "structured secrets", 0.92, lambda d: d["primary"]),
    ]),
    ("code", "code", "Code", [
        ("fp", "ordinary code", 0.03, lambda d: True),
        ("recall", "planted", 0.95, lambda d: d["source"] == "planted"),
        ("recall", "core", 0.80, lambda d: d["tier"] == "core" and d["source"] != "planted"),
        ("recall", "real malware", 0.65, lambda d: d["tier"] in ("real_malware", "malware_repo")),
    ]),
    ("inject", "content", "Injection", [
        ("fp", "tool output and repository content", 0.01, lambda d: d["tier"] in ("natural", "natural_quoted", "easy", "hard_neg")),
        ("fp", "agent instruction files", 0.02, lambda d: d["tier"].startswith("agent_doc")),
        ("fp", "text about attacks", 0.05, lambda d: d["tier"] == "security_doc"),
        ("recall", "overt", 0.98, lambda d: d["tier"] == "overt"),
        ("recall", "embedded", 0.75, lambda d: d["tier"] == "embedded"),
    ]),
]

PUBLISHED = """| system | figure | where |
|---|---|---|
| Prompt Guard 2 86M / 22M | 97.5 % / 88.7 % recall at 1 % false positives on its maker's private set; 92 / 19 ms on an A100. On AgentDyn's tool outputs: about 57 % of injected outputs caught, 0 of 3,034 benign ones blocked | model card; AgentDyn run logs |
| PIGuard / ProtectAI v2 / Lakera | over-defence, benign, malicious accuracy 87.3/85.7/77.4 · 57/86/49 · 88/91/53. On AgentDyn's benign outputs PIGuard blocks 22.9 %, ProtectAI v2 57.9 % | PIGuard paper; AgentDyn run logs |
| CloneGuard | patterns alone 23-32 % recall; patterns + MiniLM + language model 80.5 % recall with 22 % of benign text flagged | its documentation |
| gitleaks | precision 46 %, recall 88 % (SecretBench); 53 % and 24 % (CredData) | papers |
| detect-secrets | precision 14 %, recall 38 % (CredData) | paper |
| hashed n-gram linear model | injection: 36-39 % recall at 1 % false positives on unseen sources; commands 35 %; Python 11 %, Go 30 % | measured, leave-one-source-out |
"""

HEAD = """# Detection: how good it is

Made by `make eval DATA=folder`. Nothing here is a promise about other data.

**Read these figures as an upper bound.** The rules were written while their authors looked at this data, and the weights of
the injection classifier that ship were trained on all of it. What other data gives is told by the leave-one-source-out figures
of the classifier at the end, and by figures from sources that nobody looked at, which are not in this file.

A score is the confidence of the verdict. SUSPICIOUS is 0.30 and more, MALICIOUS 0.70 and more. In brackets: 95 % (Wilson).
"""


def read(path):
    for p in (path.with_suffix(".jsonl.gz"), path.with_suffix(".jsonl")):
        if p.exists():
            with (gzip.open if p.suffix == ".gz" else open)(p, "rt", encoding="utf-8") as f:
                return [json.loads(line) for line in f]
    return None


def score(bawn, kind, rows, detect="all"):
    """Confidence per row, and seconds for all."""
    lines = "".join(json.dumps({"id": i, "text": d["text"], **({"lang": d["lang"]} if kind == "code" else {})}) + "\n"
                    for i, d in enumerate(rows))
    start = time.monotonic()
    r = subprocess.run([bawn, "inspect", "--batch", kind, "--detect", detect], input=lines.encode("utf-8", "surrogatepass"), stdout=subprocess.PIPE,
                       check=False)
    spent = time.monotonic() - start
    got = {}
    for line in r.stdout.splitlines():
        d = json.loads(line)
        got[d["id"]] = d
    bad = [i for i in range(len(rows)) if "confidence" not in got.get(i, {})]
    if bad:
        sys.exit(f"eval: {len(bad)} rows without a verdict, the first is {rows[bad[0]]['id']}: {got.get(bad[0])}")
    return [got[i]["confidence"] for i in range(len(rows))], spent


def wilson(k, n):
    if not n:
        return 0.0, 0.0, 0.0
    p, q = k / n, 1.96
    c, h = (p + q * q / 2 / n) / (1 + q * q / n), q * math.sqrt(p * (1 - p) / n + q * q / 4 / n / n) / (1 + q * q / n)
    return p, max(0.0, c - h), min(1.0, c + h)


def auc(pos, neg):
    v = sorted([(s, 1) for s in pos] + [(s, 0) for s in neg])
    i, ranks = 0, 0.0
    while i < len(v):
        j = i
        while j < len(v) and v[j][0] == v[i][0]:
            j += 1
        ranks += (i + 1 + j) / 2 * sum(t for _, t in v[i:j])
        i = j
    return (ranks - len(pos) * (len(pos) + 1) / 2) / (len(pos) * len(neg)) if pos and neg else float("nan")


def share(scores, at):
    k = sum(s >= at for s in scores)
    p, lo, hi = wilson(k, len(scores))
    return p, f"{100 * p:.2f} % [{100 * lo:.2f}, {100 * hi:.2f}] ({k}/{len(scores)})"


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if i == 0 else "--:" for i in range(len(head))) + "|"]
    return out + ["| " + " | ".join(str(c) for c in r) + " |" for r in rows]


def budgets(spec, rows, scores):
    """The fixed budget first, recall after it; both thresholds."""
    out = []
    for what, name, limit, pick in spec:
        label = 0 if what == "fp" else 1
        s = [x for x, d in zip(scores, rows) if d["label"] == label and pick(d)]
        if not s:
            continue
        p, text = share(s, SUSPICIOUS)
        q, strict = share(s, MALICIOUS)
        kept = p <= limit if what == "fp" else p >= limit
        sign = "≤" if what == "fp" else "≥"
        ten = f", ≤ {10 * limit:.2f} % at MALICIOUS" if what == "fp" else ""
        out.append([("false positives: " if what == "fp" else "recall: ") + name, f"{sign} {100 * limit:g} %{ten}", text, strict,
                    "yes" if kept and (what != "fp" or q <= limit / 10 or q == 0) else "**no**"])
    return table(["what", "goal", "SUSPICIOUS and worse", "MALICIOUS", "met"], out)


def groups(rows, scores):
    by = collections.defaultdict(list)
    for s, d in zip(scores, rows):
        by[("unwanted" if d["label"] else "wanted", d["source"].split(":")[0], d["tier"])].append(s)
    out = [[*k, len(v), f"{100 * sum(s >= SUSPICIOUS for s in v) / len(v):.1f} %",
            f"{100 * sum(s >= MALICIOUS for s in v) / len(v):.1f} %"] for k, v in sorted(by.items())]
    return table(["label", "source", "tier", "rows", "flagged", "malicious"], out)


def whole(rows, scores):
    out = []
    for name, pick in (("primary rows", lambda d: d.get("primary")), ("all rows", lambda d: True)):
        pos = [s for s, d in zip(scores, rows) if d["label"] == 1 and pick(d)]
        neg = [s for s, d in zip(scores, rows) if d["label"] == 0 and pick(d)]
        top = sorted(neg, reverse=True)
        at = [sum(s > top[min(len(top) - 1, int(len(top) * q))] for s in pos) / max(1, len(pos)) for q in (.001, .01, .05)]
        tp, fp = sum(s >= SUSPICIOUS for s in pos), sum(s >= SUSPICIOUS for s in neg)
        out.append([name, share(neg, SUSPICIOUS)[1], share(pos, SUSPICIOUS)[1], f"{100 * tp / max(1, tp + fp):.1f} %",
                    f"{auc(pos, neg):.3f}", " / ".join(f"{100 * a:.1f} %" for a in at)])
    return table(["", "false positives", "recall", "precision", "AUC", "recall at 0.1 / 1 / 5 % FP"], out)


def alone(bawn, name, kind, rows):
    """The same with one kind of detector: files of one set may hold what the other looks for."""
    detect = {"secrets": "secrets", "inject": "injection"}.get(name)
    if not detect:
        return []
    scores, _ = score(bawn, kind, rows, detect)
    return [f"With `--detect {detect}` alone:", "", *whole(rows, scores), ""]


def calibration(rows, scores):
    """How often rows with a confidence in a range are unwanted: in this data, and if ODDS of all were."""
    pairs = [(s, d["label"]) for s, d in zip(scores, rows) if d.get("primary")]
    pos, neg = sum(y for _, y in pairs), sum(1 - y for _, y in pairs)
    out, error = [], 0.0
    for lo, hi in zip(BINS, BINS[1:]):
        pick = [(s, y) for s, y in pairs if lo <= s < hi or (hi == 1.0 and s == 1.0)]
        if not pick:
            continue
        mean, bad = sum(s for s, _ in pick) / len(pick), sum(y for _, y in pick)
        p, n = ODDS * bad / max(1, pos), (1 - ODDS) * (len(pick) - bad) / max(1, neg)
        error += (p + n) * abs(mean - p / (p + n))
        out.append([f"{lo:.2f} – {hi:.2f}", len(pick), f"{mean:.2f}", f"{bad / len(pick):.2f}", f"{p / (p + n):.2f}"])
    return table(["confidence", "primary rows", "mean confidence", "share unwanted here", f"if 1 in {1 / ODDS:.0f} were"], out) + \
        ["", f"Expected calibration error if 1 in {1 / ODDS:.0f} were unwanted: {error:.4f}"]


def by_type(rows, scores):
    by = collections.defaultdict(list)
    for s, d in zip(scores, rows):
        if d["label"] == 1 and d.get("primary"):
            by[d.get("type", "")].append(s)
    weak = [[k, len(v), f"{100 * sum(s >= SUSPICIOUS for s in v) / len(v):.0f} %"] for k, v in sorted(by.items())
            if sum(s >= SUSPICIOUS for s in v) / len(v) < 0.80]
    return [f"{len(by)} vendors have structured rows; {len(by) - len(weak)} are at 80 % recall and more."] + \
        ([""] + table(["vendor below 80 %", "rows", "recall"], weak) if weak else [])


def left_out(build, data):
    """Rows per source and tier, scored by rules and a model that was trained without the source."""
    root = pathlib.Path(__file__).resolve().parent
    rows = read(data / "inject")
    file = next(p for p in (data / "inject.jsonl.gz", data / "inject.jsonl") if p.exists())
    scores = build / "loso.tsv"
    subprocess.run(["ninja", "-C", str(build), "--quiet", "tools/train/inject-features", "tools/train/inject-fit"], check=True, stdout=subprocess.DEVNULL)
    texts = root.parent / "build-deps/ordinary"  # as make train fetches them
    ordinary = ["--ordinary", str(root / "train/ordinary.txt"), str(texts)] if texts.is_dir() else []
    if not ordinary:
        print("eval: no ordinary packages in build-deps (make train fetches them): sources are left out without them", file=sys.stderr)
    r = subprocess.run([sys.executable, str(root / "train/train-inject.py"), "--data", str(file), "--features",
                        str(build / "tools/train/inject-features"), "--own", str(root / "train/inject-own.txt"),
                        *map(str, sorted((root / "train").glob("inject-own-*.txt"))),
                        "--grammar", str(root / "train/inject-grammar.txt"), "--shapes",
                        str(root.parent / "src/inspect/inject/shapes.h"), "--lexicon", str(build / "src/inspect/inject-lexicon.h"),
                        "--scores", str(scores), *ordinary], stdout=subprocess.PIPE, check=True, text=True)
    mark = float(re.search(r"together; suspicious \(0\), malicious \(([-0-9.]+)\)", r.stdout)[1])
    got = dict(line.split("\t")[:2] for line in scores.read_text().splitlines())
    # to the scale of a confidence, for the same tables
    to = lambda x: MALICIOUS if x >= mark else SUSPICIOUS if x >= 0 else 0.0
    found = [to(float(got[d["id"]])) for d in rows]
    spec = next(x[3] for x in SETS if x[0] == "inject")
    return ["## Injection, leave one source out", "",
            "Each source is scored by the detector's own rules and a model that was trained without that source; the thresholds come "
            "from these scores. **These are the figures to expect of data from elsewhere**, as far as the rules were not written "
            "for this data.", "", *budgets(spec, rows, found), "", *groups(rows, found), ""]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("build", type=pathlib.Path)
    ap.add_argument("data", type=pathlib.Path)
    ap.add_argument("--out", type=pathlib.Path)
    ap.add_argument("--train", action="store_true")
    z = ap.parse_args()
    if not z.data.is_dir():
        sys.exit(f"eval: no folder '{z.data}'; give one with DATA=folder")
    lines = [HEAD]
    for name, kind, title, spec in SETS:
        rows = read(z.data / name)
        if rows is None:
            print(f"eval: '{z.data / name}.jsonl' is not there, left out", file=sys.stderr)
            continue
        scores, spent = score(z.build / "bawn", kind, rows)
        size = sum(len(d["text"].encode("utf-8", "surrogatepass")) for d in rows)
        lines += [f"## {title}", "", *budgets(spec, rows, scores), "", *whole(rows, scores), "",
                  *alone(z.build / "bawn", name, kind, rows),
                  f"{len(rows)} rows, {size / 2**20:.1f} MiB in {spent:.2f} s through the confined child.", "", "### By source and tier", "",
                  *groups(rows, scores), "", "### Calibration", "", *calibration(rows, scores), ""]
        if name == "secrets":
            lines += ["### By vendor", "", *by_type(rows, scores), ""]
    if z.train and importlib.util.find_spec("numpy"):
        lines += left_out(z.build, z.data)
    elif z.train:
        print("eval: no numpy, so the classifier is not trained without each source", file=sys.stderr)
    lines += ["## Published figures of other systems", "", "From their makers or from papers, on other data: not to be compared row by row.", "",
              PUBLISHED]
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    if z.out:
        z.out.write_text(text)


main()
