#!/usr/bin/env python3
"""train-inject.py --data inject.jsonl[.gz] --features PROGRAM --shapes features.c --lexicon inject-lexicon.h
                [--own FILE] [--out weights.h] [--scores FILE]

Train the model of the injection detector: logistic regression over the sentences that the detector itself would score
(PROGRAM prints their features). Only whole texts are labelled, so a positive text teaches through its best sentence
(multiple-instance learning, a few rounds). Figures and thresholds come from leave-one-source-out runs alone; the weights
that are written are then trained on everything. Needs numpy. Deterministic.

--own names texts written for this purpose (see tools/train/inject-own.txt). Their kinds are left out one by one, too."""
import argparse
import collections
import gzip
import json
import multiprocessing
import re
import subprocess
import sys

import numpy as np

CLASS, NEAR, SHAPE, PAIR = 0, 64, 128, 288
GRAM = PAIR + 64 * 64
COUNT = GRAM + 4096
ROUNDS, STEPS = 3, 70
LAMBDA = 1.0
DOUBT_MOST, TALK = -4.0, 8.0
TRAIN_WEIGHT = {"overt": 1.0, "embedded": 1.0, "direct": 0.3, "jailbreak": 0.1, "own": 1.0}
CLASS_PRIOR = {
    "OVERRIDE": 0.3, "SECRECY": 0.8, "READER": 1.0, "AGENT": 0.4, "PROMPT": 0.5, "NEWTASK": 0.5, "MODE": 0.6, "PERMIT": 0.3,
    "DESPITE": 0.4, "TARGET": 0.3, "SECRET": 0.3, "PRIVATE": 0.2, "USER3": 0.2, "TOOL": 0.1, "URGENT": 0.2, "ROLE": 0.4,
    "ABOUT": -1.0, "EXAMPLE": -0.5, "NARRATE": -0.4, "LEET": 1.0}
SHAPE_PRIOR = {
    "UNSEEN": 0.8, "UNSEEN_ORDER": 0.8, "UNSEEN_YOU": 0.4, "UNSEEN_AGENT": 0.8, "QUOTED_WORD": -1.0, "QUOTED_BACK": -0.7,
    "MENTIONED": -0.8, "ISOLATED": 0.4, "ISOLATED_ORDER": 0.4, "ISOLATED_YOU_ORDER": 0.4, "ISOLATED_AGENT": 0.8,
    "ISOLATED_PRESSED": 0.8, "QUESTION": -0.4, "FRAMED": 0.3, "EXCLAIMS": 0.2, "OVERRIDE_INSTR": 0.5,
    "OVERRIDE_INSTR_ORDER": 1.0, "OVERRIDE_PRIOR": 0.3, "OVERRIDE_PRIOR_ORDER": 0.7, "OVERRIDE_ALL": 0.7,
    "OVERRIDE_ALL_ORDER": 1.2, "SECRECY_USER": 1.5, "NOT_TELL_USER": 1.0, "VOCATIVE": 1.2, "IF_AGENT": 1.5,
    "NOTE_AGENT": 1.2, "EXFIL_TARGET": 1.0, "EXFIL_OBJECT": 1.0, "EXFIL_OBJECT_TARGET": 1.0, "REVEAL_PROMPT": 1.5,
    "REVEAL_SECRET": 0.8, "EXEC_TOOL": 0.4, "EXEC_IDENT": 0.4, "BEFORE_TASK": 0.7, "ORDER_USER": 0.4, "USER_OBJECT": 0.8,
    "YOU_MUST": 0.3, "AGENT_MUST": 0.8, "TASK_COLON": 0.5, "ROLE_FIRST": 0.3, "YOU_MODE": 1.0, "AUTHORITY_COLON": 0.6,
    "AUTHORITY_PERMIT": 0.8, "URGENT_ORDER": 0.3, "DESPITE_ORDER": 0.5, "ALWAYS_ORDER": 0.3, "MY_OBJECT_ORDER": 0.4,
    "INSTEAD_ORDER": 0.8, "FAKE_ERROR": 0.8, "NEW_POLICY": 0.6, "READER_ORDER": 1.0, "NEAR_HIT": 0.5,
    "ABOUT_QUOTED": -0.8}
STEP_PRIOR = {
    "MANY": [0.2, 0.4, 0.4, 0.4, 0.4], "ABOUT": [0.0, -0.3, -0.8, -1.5], "ORDERS": [0.2, 0.0, -0.4, -0.8],
    "AGENTS": [0.2, -0.3, -0.6]}
BUDGET = {"natural": 0.005, "agent_doc": 0.01, "security_doc": 0.045}


def prior(names):
    """What is expected of each feature before any data: the middle that regularisation pulls to. Texts are few and come
    from few sources; who is addressed, what is asked for and what is to be hidden are known to matter."""
    w = np.zeros(COUNT)
    for name, value in CLASS_PRIOR.items():
        w[CLASS + names["LEX_" + name]] = value
    for name, value in SHAPE_PRIOR.items():
        w[SHAPE + names["S_" + name]] = value
    for name, values in STEP_PRIOR.items():
        for i, value in enumerate(values):
            w[SHAPE + names["S_" + name] + i] = value
    return w


def penalty():
    lam = np.full(COUNT, 1.0)
    lam[CLASS:NEAR] = 1.0
    lam[NEAR:SHAPE] = 2.0
    lam[SHAPE:PAIR] = 0.7
    lam[PAIR:GRAM] = 3.0
    lam[GRAM:] = 6.0
    lam *= LAMBDA
    lam[SHAPE + 11:SHAPE + 27] = 1e6  # rules have a say of their own
    return lam


def read_names(features_c, lexicon_h):
    """Numbers of the shapes and classes, from the sources that define them."""
    names, n = {}, 0
    for line in open(lexicon_h, encoding="utf-8"):
        m = re.match(r"#define (LEX_[A-Z0-9]+) (\d+)u", line)
        if m:
            names[m[1]] = int(m[2])
    text = open(features_c, encoding="utf-8").read()
    text = re.sub(r"/\*.*?\*/", "", text[text.index("enum shape {") + 12:text.index("S_COUNT,")], flags=re.S)
    names["PLACE_COUNT"] = 10
    for item in text.split(","):
        item = item.strip()
        if not item:
            continue
        name, _, value = item.partition("=")
        if value:
            n = sum(names[x] if x in names else int(x) for x in "".join(value.split()).split("+"))
        names[name.strip()] = n
        n += 1
    return names


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
        return "repo%d" % (sum(rest.encode()) % 4)
    if name == "own":
        return "own%d" % (sum(rest.encode()) % 4) if d["label"] else "own:benign"
    return "other" if name in ("asb", "bipia", "intercode", "loghub") else name


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
        idx, ptr, doc, base, talk = [], [0], [], [], []
        for line in out.splitlines():
            if line.startswith("= "):
                now = int(line[2:])
                continue
            v = line.split()
            base.append(float(v[2]))
            talk.append(1.0 - float(v[1]))
            v = v[3:]
            idx.extend(map(int, v))
            ptr.append(len(idx))
            doc.append(now)
        self.idx, self.ptr, self.doc = np.array(idx), np.array(ptr), np.array(doc)
        self.row = np.repeat(np.arange(len(doc)), np.diff(self.ptr))
        self.base, self.talk = np.array(base), np.array(talk)
        self.label = np.array([d["label"] for d in docs])[self.doc]

    def score(self, w, b):
        return np.bincount(self.row, weights=w[self.idx], minlength=len(self.doc)) + b

    def best(self, s):
        """Per text: the best score, -20 when no sentence is scored."""
        top = np.full(len(self.docs), -20.0)
        np.maximum.at(top, self.doc, s)
        return top


def fit(s, use, weight):
    """use: mask over texts. Returns weights and bias."""
    lam, middle = penalty(), s.prior
    w, b = middle.copy(), -4.0
    in_use = use[s.doc]
    guess = s.score(w, b) + s.base
    for turn in range(ROUNDS):
        top = s.best(guess)
        chosen = (s.label == 1) & in_use & (guess >= top[s.doc] - 1e-9)
        if turn:
            chosen |= (s.label == 1) & in_use & (guess > 1.5)
        y = chosen.astype(float)
        c = np.where(s.label == 0, 1.0, np.where(chosen, weight[s.doc], 0.0)) * in_use
        c = np.where(chosen & (s.base > 4.0), c * 0.5, c)  # the rules have these already
        # a text counts once, however many of its sentences were chosen
        per = np.bincount(s.doc, weights=chosen, minlength=len(s.docs))
        c = np.where(chosen, c / np.maximum(per[s.doc], 1.0), c)
        pos, neg = c[chosen].sum(), c[s.label == 0].sum()
        c[s.label == 0] *= 2.0 * pos / max(neg, 1.0)
        m, v, mb, vb = np.zeros(COUNT), np.zeros(COUNT), 0.0, 0.0
        for t in range(1, STEPS + 1):
            p = 1.0 / (1.0 + np.exp(-np.clip(s.score(w, b), -30, 30)))
            r = c * (p - y)
            g = np.bincount(s.idx, weights=r[s.row], minlength=COUNT) + lam * (w - middle)
            gb = r.sum()
            m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
            mb, vb = 0.9 * mb + 0.1 * gb, 0.99 * vb + 0.01 * gb * gb
            rate = 0.1 if t < STEPS * 0.6 else 0.02
            w -= rate * (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.99 ** t)) + 1e-8)
            b -= rate * (mb / (1 - 0.9 ** t)) / (np.sqrt(vb / (1 - 0.99 ** t)) + 1e-8)
        guess = s.score(w, b)
    return w, b


def combine(s, model):
    """As inject_combine in score.c, with the model's zero moved to its threshold."""
    model = model - TALK * s.talk
    return np.where(s.base > 0, s.base + np.maximum(model, DOUBT_MOST), model)


def one_left_out(job):
    s, weight, g, gone = job
    w, b = fit(s, ~gone, weight)
    return g, s.score(w, b)


def leave_one_out(s, weight):
    """Scores of each sentence by weights that saw nothing of its source."""
    groups = [group(d) for d in s.docs]
    out = np.zeros(len(s.doc))
    made_from = {"agentdojo", "injecagent", "deepset", "garak", "piguard_valid_pint", "promptfoo", "xinjectagent"}
    jobs = [(s, weight, g, np.array([x == g or (x == "synthetic_embed" and g in made_from) for x in groups]))
            for g in sorted(set(groups))]
    with multiprocessing.Pool() as pool:
        for g, top in pool.imap_unordered(one_left_out, jobs):
            mine = np.array([x == g for x in groups])[s.doc]
            out[mine] = top[mine]
            print(f"  left out {g}: {mine.sum()} sentences", file=sys.stderr)
    return out


def shares(docs, score, mark):
    """Flagged share of each kind of negative text, own texts left out."""
    n, bad = collections.Counter(), collections.Counter()
    for d, x in zip(docs, score):
        if d["label"] or d["tier"] == "user_prompt" or d["source"].startswith("own:"):
            continue
        n[kind_of(d)] += 1
        bad[kind_of(d)] += x >= mark
    return {k: bad[k] / n[k] for k in n}, n


def find_zero(s, model):
    """The lowest threshold of the model at which rules and model together keep the budgets, or do as well as rules alone."""
    floor, _ = shares(s.docs, s.best(combine(s, np.full(len(s.doc), -20.0))), 0.0)
    for zero in np.arange(-2.0, 12.0, 0.05):
        now, _ = shares(s.docs, s.best(combine(s, model - zero)), 0.0)
        if all(now[k] <= max(BUDGET[k], floor[k]) for k in now):
            return zero
    return 12.0


def find_malicious(docs, score):
    """A tenth of the budgets; of few texts one may be above."""
    for mark in np.arange(0.5, 20.0, 0.05):
        now, n = shares(docs, score, mark)
        if all(now[k] <= max(BUDGET[k] / 10.0, 1.0 / n[k]) for k in now):
            return mark
    return 20.0


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
    a.add_argument("--shapes", required=True, help="features.c")
    a.add_argument("--lexicon", required=True, help="the generated inject-lexicon.h")
    a.add_argument("--out")
    a.add_argument("--scores")
    z = a.parse_args()
    docs = list(read_data(z.data)) + (list(read_own(z.own)) if z.own else [])
    s = Set(docs, z.features)
    s.prior = prior(read_names(z.shapes, z.lexicon))
    weight = np.array([TRAIN_WEIGHT.get(d["tier"], 0.0) for d in docs])
    base = s.best(s.base)
    print("rules alone (1, 4):")
    table(docs, base, [1.0, 4.0], sys.stdout)
    model = leave_one_out(s, weight)
    zero = find_zero(s, model)
    alone = s.best(model - zero - TALK * s.talk)
    print("leave-one-source-out, model alone (%.2f):" % zero)
    table(docs, alone, [0.0], sys.stdout)
    loso = s.best(combine(s, model - zero))
    marks = [zero, find_malicious(docs, loso)]
    print("leave-one-source-out, together; suspicious (0), malicious (%.2f):" % marks[1])
    table(docs, loso, [0.0, marks[1]], sys.stdout)
    if z.scores:
        with open(z.scores, "w", encoding="utf-8") as f:
            for d, x in zip(docs, loso):
                f.write(f"{d['id']}\t{x:.4f}\n")
    if z.out:
        w, b = fit(s, np.ones(len(docs), bool), weight)
        write(z.out, w, b, marks)
        print("trained on everything:")
        table(docs, s.best(combine(s, s.score(w, b) - zero)), [0.0, marks[1]], sys.stdout)


main()
