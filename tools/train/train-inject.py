#!/usr/bin/env python3
"""train-inject.py --data inject.jsonl[.gz] --features PROGRAM --out weights.h [--own FILE] [--report FILE] [--seed-only]

Train the model of the injection detector: logistic regression over the sentences that the detector itself would score
(PROGRAM prints their features). Only whole texts are labelled, so a positive text teaches through its best sentence
(multiple-instance learning, a few rounds). Figures and thresholds come from leave-one-source-out runs alone; the weights
that are written are then trained on everything. Needs numpy. Deterministic.

--own names texts written for this purpose (see tools/train/inject-own.txt). Their kinds are left out one by one, too."""
import argparse
import collections
import gzip
import json
import subprocess
import sys

import numpy as np

CLASS, NEAR, SHAPE, PAIR = 0, 64, 128, 288
GRAM = PAIR + 64 * 64
COUNT = GRAM + 4096
ROUNDS, STEPS = 3, 120
TRAIN_WEIGHT = {"overt": 1.0, "embedded": 1.0, "direct": 0.3, "jailbreak": 0.1, "own": 1.0}
BUDGET = {"natural": 0.006, "agent_doc": 0.012, "security_doc": 0.04}


def penalty():
    lam = np.full(COUNT, 1.0)
    lam[CLASS:NEAR] = 0.5
    lam[NEAR:SHAPE] = 1.5
    lam[SHAPE:PAIR] = 0.2
    lam[PAIR:GRAM] = 1.5
    lam[GRAM:] = 3.0
    lam *= 0.6
    lam[SHAPE + 11:SHAPE + 27] = 1e6  # rules have a say of their own
    return lam


def read_data(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        for line in f:
            d = json.loads(line)
            yield d


def read_own(path):
    """Plant own payloads and own benign lines in own carriers; quote payloads in texts about attacks."""
    parts = []
    for line in open(path, encoding="utf-8").read().split("\n"):
        if line.startswith("[") and line.endswith("]") and line[1:].split(" ")[0].rstrip("]") in ("payload", "benign", "about", "carrier"):
            what, _, name = line[1:-1].partition(" ")
            parts.append((what, name, []))
        elif parts:
            parts[-1][2].append(line)
    lines = {w: [] for w in ("payload", "benign", "about")}
    carriers = []
    for what, name, body in parts:
        if what == "carrier":
            carriers.append((name, "\n".join(body).strip("\n")))
        elif what == "payload":
            text = "\n".join(body).replace("<|im_start|>system\n", "<|im_start|>system ")
            lines[what] += [(name, x.replace("<|im_start|>system ", "<|im_start|>system\n")) for x in text.split("\n") if x.strip()]
        elif what == "benign":
            lines[what] += [(name, x) for x in body if x.strip()]
        else:
            group_ = []
            for x in body + [""]:
                if x.startswith(("##", "|", "Untrusted")) or (group_ and not x) and group_[0].startswith("##") and len(group_) < 3:
                    group_.append(x)
                elif group_:
                    if x and group_[0].startswith("- "):
                        group_.append(x)
                        continue
                    lines[what].append((name, "\n".join(group_)))
                    group_ = [x] if x else []
                elif x:
                    group_ = [x]
    n = 0

    def make(label, kind, tier, text):
        nonlocal n
        n += 1
        return {"id": f"own-{n}", "source": "own:" + kind, "label": label, "text": text, "tier": tier, "primary": True}

    plain = [c for c in carriers if c[0] != "agentfile"]
    for i, (kind, x) in enumerate(lines["payload"]):
        for k in range(3):
            name, c = plain[(i * 5 + k * 3) % len(plain)]
            yield make(1, kind, "own", c.replace("@@", x))
        about = [a for a in lines["about"] if "@@" in a[1]]
        for k in range(2):
            yield make(0, "about", "security_doc", about[(i + k * 3) % len(about)][1].replace("@@", x))
    for i, (kind, x) in enumerate(lines["benign"]):
        for k in range(3):
            name, c = plain[(i * 5 + k * 3) % len(plain)] if kind != "agent-doc" else carriers[-1]
            if kind == "agent-doc" and k:
                break
            yield make(0, kind, "agent_doc" if kind == "agent-doc" else "natural", c.replace("@@", x))
    docs = [x for kind, x in lines["benign"] if kind == "agent-doc"]
    for i in range(0, len(docs), 4):
        yield make(0, "agent-doc", "agent_doc", "# Instructions\n\n" + "\n".join("- " + x for x in docs[i:i + 8]))
    for name, c in carriers:
        yield make(0, "carrier", "natural", c.replace("@@", ""))


def group(d):
    """What is left out together."""
    name, _, rest = d["source"].partition(":")
    if name == "repo":
        return "repo%d" % (sum(rest.encode()) % 5)
    if name == "own":
        return "own%d" % (sum(rest.encode()) % 4) if d["label"] else "own:benign"
    return name


def kind_of(d):
    """The false-positive budget a negative counts against."""
    t = d["tier"]
    if t.startswith("agent_doc"):
        return "agent_doc"
    if t in ("security_doc", "natural_quoted"):
        return "security_doc"
    return "natural"


class Set:
    """Sentences of all texts as one sparse matrix."""

    def __init__(self, docs, program):
        self.docs = docs
        lines = "".join(json.dumps({"id": str(i), "text": d["text"]}) + "\n" for i, d in enumerate(docs))
        out = subprocess.run([program], input=lines.encode("utf-8", "surrogatepass"), stdout=subprocess.PIPE, check=True).stdout.decode()
        idx, ptr, doc, base = [], [0], [], []
        for line in out.splitlines():
            if line.startswith("= "):
                now = int(line[2:])
                continue
            v = line.split()
            base.append(float(v[2]))
            v = v[3:]
            idx.extend(map(int, v))
            ptr.append(len(idx))
            doc.append(now)
        self.idx, self.ptr, self.doc = np.array(idx), np.array(ptr), np.array(doc)
        self.row = np.repeat(np.arange(len(doc)), np.diff(self.ptr))
        self.base = np.array(base)
        self.label = np.array([d["label"] for d in docs])[self.doc]

    def score(self, w, b):
        return np.bincount(self.row, weights=w[self.idx], minlength=len(self.doc)) + b + self.base

    def best(self, s):
        """Per text: the best score, -20 when no sentence is scored."""
        top = np.full(len(self.docs), -20.0)
        np.maximum.at(top, self.doc, s)
        return top


def start(s):
    """First guess at which sentence of a positive text is meant: how many classes and relations it has."""
    w = np.zeros(COUNT)
    w[SHAPE + 10:SHAPE + 27] = 1.0
    w[SHAPE + 37:SHAPE + 42] = 0.5
    w[SHAPE + 73:SHAPE + 110] = 0.7
    return s.score(w, 0.0)


def fit(s, use, weight):
    """use: mask over texts. Returns weights and bias."""
    lam, n = penalty(), len(s.doc)
    w, b = np.zeros(COUNT), 0.0
    in_use = use[s.doc]
    guess = start(s)
    for _ in range(ROUNDS):
        top = s.best(guess)
        chosen = (s.label == 1) & in_use & (guess >= top[s.doc] - 1e-9)
        if np.any(w):
            chosen |= (s.label == 1) & in_use & (guess > 1.5)
        y = chosen.astype(float)
        c = np.where(s.label == 0, 1.0, np.where(chosen, weight[s.doc], 0.0)) * in_use
        # a text counts once, however many of its sentences were chosen
        per = np.bincount(s.doc, weights=chosen, minlength=len(s.docs))
        c = np.where(chosen, c / np.maximum(per[s.doc], 1.0), c)
        pos, neg = c[chosen].sum(), c[s.label == 0].sum()
        c[s.label == 0] *= 2.0 * pos / max(neg, 1.0)
        m, v, mb, vb = np.zeros(COUNT), np.zeros(COUNT), 0.0, 0.0
        for t in range(1, STEPS + 1):
            p = 1.0 / (1.0 + np.exp(-np.clip(s.score(w, b), -30, 30)))
            r = c * (p - y)
            g = np.bincount(s.idx, weights=r[s.row], minlength=COUNT) + lam * w
            gb = r.sum()
            m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
            mb, vb = 0.9 * mb + 0.1 * gb, 0.99 * vb + 0.01 * gb * gb
            rate = 0.1 if t < STEPS * 0.6 else 0.02
            w -= rate * (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.99 ** t)) + 1e-8)
            b -= rate * (mb / (1 - 0.9 ** t)) / (np.sqrt(vb / (1 - 0.99 ** t)) + 1e-8)
        guess = s.score(w, b)
    return w, b


def leave_one_out(s, weight):
    """Scores of each text by weights that saw nothing of its source."""
    groups = [group(d) for d in s.docs]
    out = np.full(len(s.docs), -20.0)
    made_from = {"agentdojo", "injecagent", "deepset", "garak", "piguard_valid_pint", "promptfoo", "xinjectagent"}
    for g in sorted(set(groups)):
        gone = np.array([x == g or (x == "synthetic_embed" and g in made_from) for x in groups])
        w, b = fit(s, ~gone, weight)
        top = s.best(s.score(w, b))
        mine = np.array([x == g for x in groups])
        out[mine] = top[mine]
        print(f"  left out {g}: {mine.sum()} texts", file=sys.stderr)
    return out


def threshold(docs, score, share):
    t = -20.0
    for kind, budget in BUDGET.items():
        v = sorted((x for d, x in zip(docs, score) if not d["label"] and d["tier"] not in ("user_prompt",) and kind_of(d) == kind
                    and not d["source"].startswith("own:")), reverse=True)
        if v:
            print("  %s: %s" % (kind, " ".join("%.2f" % x for x in v[:12])))
            t = max(t, v[min(len(v) - 1, int(len(v) * budget * share))] + 1e-3)
    return t


def table(docs, score, marks, out):
    by = collections.OrderedDict()
    for d, x in sorted(zip(docs, score), key=lambda z: (z[0]["label"], z[0]["source"].split(":")[0], z[0]["tier"])):
        k = ("+" if d["label"] else "-", d["source"].split(":")[0], d["tier"])
        by.setdefault(k, []).append(x)
    for k, v in by.items():
        cells = "  ".join("%6.2f %%" % (100.0 * sum(x >= m for x in v) / len(v)) for m in marks)
        print("%s %-20s %-18s %5d  %s" % (*k, len(v), cells), file=out)


def write(path, w, b, marks):
    scale = max(np.abs(w).max(), 1e-3) / 127.0
    q = np.round(w / scale).astype(int)
    with open(path, "w", encoding="utf-8") as f:
        f.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* Generated by tools/train/train-inject.py: do not edit. */\n")
        f.write("/* clang-format off */\n#pragma once\n\n#include <stdint.h>\n\n")
        f.write(f"#define WEIGHT_SCALE {scale:.9f}\n#define WEIGHT_BIAS {b:.6f}\n")
        f.write(f"#define SCORE_SUSPICIOUS {marks[0]:.4f}\n#define SCORE_MALICIOUS {marks[1]:.4f}\n\n")
        f.write(f"static const int8_t weights[{COUNT}] = {{\n")
        for i in range(0, COUNT, 32):
            f.write("\t" + ",".join(map(str, q[i:i + 32])) + ",\n")
        f.write("};\n")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--data", required=True)
    a.add_argument("--features", required=True)
    a.add_argument("--own")
    a.add_argument("--out")
    a.add_argument("--scores")
    z = a.parse_args()
    docs = list(read_data(z.data)) + (list(read_own(z.own)) if z.own else [])
    s = Set(docs, z.features)
    weight = np.array([TRAIN_WEIGHT.get(d["tier"], 0.0) for d in docs])
    loso = leave_one_out(s, weight)
    marks = [threshold(docs, loso, 1.0), threshold(docs, loso, 0.1)]
    print("leave-one-source-out; flagged as suspicious (%.2f), malicious (%.2f)" % tuple(marks))
    table(docs, loso, marks, sys.stdout)
    if z.scores:
        with open(z.scores, "w", encoding="utf-8") as f:
            for d, x in zip(docs, loso):
                f.write(f"{d['id']}\t{x:.4f}\n")
    if z.out:
        w, b = fit(s, np.ones(len(docs), bool), weight)
        write(z.out, w, b, marks)
        print("trained on everything:")
        table(docs, s.best(s.score(w, b)), marks, sys.stdout)


main()
