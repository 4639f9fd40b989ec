#!/usr/bin/env python3
"""train-inject.py --data inject.jsonl[.gz] --features PROGRAM --shapes shapes.h --lexicon inject-lexicon.h
                [--own FILE…] [--grammar FILE] [--held FILE] [--ordinary LIST FOLDER] [--out weights.h --gate gate-weights.h --rules FOLDER] [--scores FILE]

Train the model of the injection detector: a small network over the sentences that the detector itself would score
(PROGRAM prints their features, inject-fit next to it fits). Only whole texts are labelled, so a positive text teaches through its best sentence
(multiple-instance learning, a few rounds); of our own texts it is known where the payload stands. Figures and thresholds come from leave-one-source-out runs alone; the weights
that are written are then trained on everything. Needs numpy. Deterministic.

secrets.jsonl and code.jsonl next to the data, if they are there, add ordinary files that nothing is to be found in.
--ordinary names packages that ordinary.py has fetched: what is in them is for nobody's agent either. They are many and steady the threshold.
--own names texts written for this purpose (see tools/train/inject-own.txt, which also has what they are put into), --grammar a grammar that makes more of them
(inject-grammar.txt). The former are left out as a whole, too: one author's texts are judged by what was learned from others.
--kinds leaves out one kind of them after the other as well, and tells how much of it is found by what was learned from the rest."""
import argparse
import collections
import gzip
import json
import multiprocessing
import pathlib
import re
import subprocess
import sys

import numpy as np
import yaml

import gate
import ordinary
from grammar import Grammar

CLASS, NEAR, SHAPE, MIX = 0, 64, 128, 384
DEEP = MIX + 2 * 864 + 2 * 64  # features from here on are pairs of meanings and words: they have only the straight way
COUNT = DEEP + 2304 + 32768
HIDDEN, ROUNDS, EPOCHS, BATCH, RATE, DECAY, DROP, SEEDS = 12, 2, 14, 1024, 0.004, 3e-4, 0.1, (1, 2)  # units of each of the nets
DOUBT_MOST, TALK, SAYS, SAYS_FROM, SAYS_MEANT = -4.5, 6.0, 3.5, 2.0, 0.7  # as in score.c
HELD = -1e3  # the score of what is not scored
REAL_AGAINST = 32.0  # how much a sentence of a real harmless text counts against one of a collection of tasks for agents …
AGENT_AGAINST = 72.0  # … of a real file for agents: they are few …
OWN_AGAINST = 6.0  # … of our own harmless texts: near to attacks on purpose …
ABOUT_AGAINST = 5.0  # … and of our own texts about attacks
BULK = 5.0  # what all ordinary packages together weigh, and …
OTHERS = 2.0  # … what all other harmless texts do, against all that is to be found
IN_FILES, IN_FILE_MORE = 2, 2.0  # real files that a line of our own is put into, and how much more it counts there
PRIOR = 0.7  # how much of what is expected beforehand is believed
TRAIN_WEIGHT = {"overt": 1.0, "embedded": 1.0, "direct": 0.3, "jailbreak": 0.1, "own": 1.0}
CLASS_PRIOR = {
    "OVERRIDE": 0.3, "SECRECY": 0.6, "READER": 0.2, "AGENT": 0.1, "PROMPT": 0.5, "NEWTASK": 0.5, "MODE": 0.6, "PERMIT": 0.3,
    "DESPITE": 0.4, "TARGET": 0.3, "SECRET": 0.3, "PRIVATE": 0.2, "USER3": 0.2, "TOOL": 0.1, "URGENT": 0.2, "ROLE": 0.4,
    "ABOUT": -1.0, "EXAMPLE": -0.5, "NARRATE": -0.4, "LEET": 1.0}
SHAPE_PRIOR = {
    "UNSEEN": 0.8, "UNSEEN_ORDER": 0.8, "UNSEEN_YOU": 0.4, "UNSEEN_AGENT": 0.4, "QUOTED_WORD": -1.0, "QUOTED_BACK": -0.7,
    "MENTIONED": -0.8, "ISOLATED": 0.4, "ISOLATED_ORDER": 0.4, "ISOLATED_YOU_ORDER": 0.4, "ISOLATED_AGENT": 0.3,
    "ISOLATED_PRESSED": 0.8, "QUESTION": -0.4, "FRAMED": 0.3, "EXCLAIMS": 0.2, "OVERRIDE_INSTR": 0.5,
    "OVERRIDE_INSTR_ORDER": 1.0, "OVERRIDE_PRIOR": 0.3, "OVERRIDE_PRIOR_ORDER": 0.7, "OVERRIDE_ALL": 0.7,
    "OVERRIDE_ALL_ORDER": 1.2, "SECRECY_USER": 1.5, "NOT_TELL_USER": 1.0, "VOCATIVE": 0.4, "IF_AGENT": 0.3,
    "NOTE_AGENT": 0.3, "EXFIL_TARGET": 1.0, "EXFIL_OBJECT": 1.0, "EXFIL_OBJECT_TARGET": 1.0, "REVEAL_PROMPT": 1.5,
    "REVEAL_SECRET": 0.8, "EXEC_TOOL": 0.4, "EXEC_IDENT": 0.4, "BEFORE_TASK": 0.7, "ORDER_USER": 0.4, "USER_OBJECT": 0.8,
    "YOU_MUST": 0.3, "AGENT_MUST": 0.3, "TASK_COLON": 0.5, "ROLE_FIRST": 0.3, "YOU_MODE": 1.0, "AUTHORITY_COLON": 0.6,
    "AUTHORITY_PERMIT": 0.8, "URGENT_ORDER": 0.3, "DESPITE_ORDER": 0.5, "ALWAYS_ORDER": 0.3, "MY_OBJECT_ORDER": 0.4,
    "INSTEAD_ORDER": 0.8, "FAKE_ERROR": 0.8, "NEW_POLICY": 0.6, "READER_ORDER": 0.3, "NEAR_HIT": 0.5,
    "ABOUT_QUOTED": -0.8, "AGENT_DOES": 0.2, "AGENT_NORM": 0.4, "NORM_OBJECT": 0.2, "AGENT_OBJECT": 0.3, "PUT_PARAM": 0.2,
    "HUSHED_AFTER": 0.4, "HUSHED_HERE": 0.4, "ONLY_AGENT": 0.2, "CALLED_ORDER": 0.4, "MODEL_ORDER": 0.3, "ADDRESSED": 0.0,
    "RIGHTS_ORDER": 0.3, "PARAM_OBJECT": 0.3, "HIDE_ORDER": 0.3, "CARES": -0.5,
    "HELD": -0.8, "HELD_NEAR": -0.3, "HARM_NEAR": 0.2, "CALLED_ONLY": -1.0, "CALLED_HARM": 1.2, "HUSHED_HARM": 1.0, "CONSENT_HARM": 0.5,
    "CLAIMED_HARM": 0.3, "PRESSED_HARM": 0.3, "SWITCHED_HARM": 0.5, "CAREFUL_HARM": -0.4, "DEV_HARM": -0.3, "UNSEEN_HARM": 1.0,
    "USER_HARM": 0.4, "STRANGE_HARM": 0.4}
STEP_PRIOR = {
    "MANY": [0.2, 0.4, 0.4, 0.4, 0.4], "ABOUT": [0.0, -0.3, -0.8, -1.5], "ORDERS": [0.2, 0.0, -0.4, -0.8],
    "AGENTS": [0.2, -0.3, -0.6], "HARM": [0.8, 0.8, 0.3, 0.5, 0.3, 0.6, 0.4, 0.1, 0.2, 0.2], "HARM_KINDS": [-0.5, 0.0, 0.5, 1.0]}
AGENT_DOCS = ("agent-doc", "habit-rules", "config-rules", "skill-file", "cursor-rules", "agents-md-rules", "skill-file-lines", "agent-rules-legit")  # kinds of our own harmless texts that stand in files for agents
MARGIN = 0.15  # how far above the point where the budgets are just kept texts become suspicious: other sources are other sources
BUDGET = {"file": 0.0015, "natural": 0.0065, "agent_doc": 0.0135, "security_doc": 0.045}


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


def read_names(shapes_h, lexicon_h):
    """Numbers of the shapes and classes, from the sources that define them."""
    names, n = {}, 0
    for line in open(lexicon_h, encoding="utf-8"):
        m = re.match(r"#define (LEX_[A-Z0-9]+) (\d+)u", line)
        if m:
            names[m[1]] = int(m[2])
    text = open(shapes_h, encoding="utf-8").read()
    text = re.sub(r"/\*.*?\*/", "", text[text.index("enum shape {") + 12:text.index("S_COUNT,")], flags=re.S)
    names["PLACE_COUNT"] = names["HARM_COUNT"] = 10
    names["INJECT_FAMILY_AGENT"] = 2
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
            d["twin"] = (d["source"], re.sub(r"[^a-z]", "", d["text"].lower())[-24:] if d["source"] == "bipia" else d["id"])
            yield d


def read_more(folder):
    """Ordinary files out of the data for other detectors: what they hold is for nobody's agent."""
    for name in ("secrets", "code"):
        path = next((p for p in (folder / f"{name}.jsonl.gz", folder / f"{name}.jsonl") if p.exists()), None)
        for d in read_data(str(path)) if path else ():
            if not d["label"] and d["tier"] not in ("rule_fp", "test"):
                yield {**d, "id": f"{name}-{d['id']}", "tier": "file" if name == "secrets" else "natural"}


def planted(d, payload):
    """Remember where the payload stands, in bytes."""
    at = d["text"].find(payload)
    start = len(d["text"][:at].encode("utf-8", "surrogatepass"))
    d["planted"] = (start, start + len(payload.encode("utf-8", "surrogatepass"))) if at >= 0 else (0, 1 << 30)
    return d


def read_own(paths, source="own"):
    """Plant own payloads and own benign lines in own carriers; quote payloads in texts about attacks."""
    parts = []
    for path in paths:
        here = None
        for line in open(path, encoding="utf-8").read().split("\n"):
            if line.startswith("[") and line.endswith("]") and line[1:].split(" ")[0].rstrip("]") in ("payload", "benign", "about", "story", "carrier"):
                what, _, name = line[1:-1].partition(" ")
                here = (what, name, [])
                parts.append(here)
            elif here:
                here[2].append(line)
    lines = {w: [] for w in ("payload", "benign", "about")}
    carriers, stories = [], []
    for what, name, body in parts:
        if what == "story":
            stories.append("\n".join(body).strip("\n"))
        elif what == "carrier":
            carriers.append((name, "\n".join(body).strip("\n")))
        elif what == "payload":
            text = "\n".join(body).replace("<|im_start|>system\n", "<|im_start|>system ")
            lines[what] += [(name, x.replace("<|im_start|>system ", "<|im_start|>system\n").replace("\\n", "\n"))
                            for x in text.split("\n") if x.strip()]
        elif what == "benign":
            lines[what] += [(name, x.replace("\\n", "\n")) for x in body if x.strip()]
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
        return {"id": f"{source}-{n}", "source": f"{source}:{kind}", "label": label, "text": text, "tier": tier, "primary": True}

    plain = [c for c in carriers if c[0] != "agentfile"]
    docs = [x.lstrip("- ") for kind, x in lines["benign"] if kind in AGENT_DOCS]
    rules = THEMES["rules"].split()
    for i, (kind, x) in enumerate(lines["payload"]):
        for k in range(3):
            name, c = plain[(i * 5 + k * 3) % len(plain)]
            yield planted(make(1, kind, "own", c.replace("@@", x)), x)
        for k in range(3 if kind in rules else i % 4 == 0):  # among rules for agents
            body = [docs[(i * 7 + k * 11 + j * 3) % len(docs)] for j in range(4 + (i + 3 * k) % 7)]
            body.insert((i + k) % len(body), x)
            yield planted(make(1, kind, "own", ("# AGENTS.md", "# Rules", "# CLAUDE.md")[k] + "\n\n- " + "\n- ".join(body) + "\n"), x)
        about = [a for a in lines["about"] if "@@" in a[1]]
        for k in range(2):
            yield make(0, "about", "security_doc", about[(i + k * 3) % len(about)][1].replace("@@", x))
        yield make(0, "about", "security_doc", stories[i * 7 % len(stories)].replace("@@", x))
    for i, (kind, x) in enumerate(lines["benign"]):
        for k in range(3):
            name, c = plain[(i * 5 + k * 3) % len(plain)] if kind not in AGENT_DOCS else carriers[-1]
            if kind in AGENT_DOCS and k:
                break
            yield planted(make(0, kind, "agent_doc" if kind in AGENT_DOCS else "natural", c.replace("@@", x)), x)
    for i in range(0, len(docs), 2):
        yield make(0, "agent-doc", "agent_doc", "# Instructions\n\n" + "\n".join("- " + x for x in docs[i:i + 8]))
    for name, c in carriers:
        yield make(0, "carrier", "natural", c.replace("@@", ""))


def read_grammar(path, own):
    """Texts of the grammar, planted in the carriers of our own texts and in its own."""
    carriers = re.findall(r"^\[carrier [a-z-]+\]\n(.*?)\n(?=\[carrier|\Z)", open(own, encoding="utf-8").read() + "\n", re.S | re.M)
    for n, (label, kind, tier, text, payload) in enumerate(Grammar(path).texts([c.strip("\n") for c in carriers])):
        d = {"id": f"gen-{n}", "source": "gen:" + kind, "label": label, "text": text, "tier": tier, "primary": True}
        yield planted(d, payload) if label or tier == "natural" else d


def line_of(d):
    """What was planted, if anything was and is one line."""
    a, b = d.get("planted", (0, 0))
    line = d["text"].encode("utf-8", "surrogatepass")[a:b].decode("utf-8", "surrogatepass")
    return line if 0 < len(line) < 2000 and "\n" not in line else None


def in_files(docs, hosts):
    """Each line of our own, harmful or not, once more in the midst of a real file: what stands around it is to tell nothing."""
    frames = ("%s", "%s", "<!-- %s -->", "> **Note:** %s", "# %s", "// %s", "- %s", '  "description": "%s",')
    seen, n = set(), 0
    for d in docs:
        line = line_of(d)
        if not line or line in seen or d["tier"] not in ("own", "natural") or not d["source"].startswith(("own:", "gen:")):
            continue
        seen.add(line)
        for k in range(IN_FILES if d["source"].startswith("own:") else 1):
            rows = hosts[(len(seen) * 61 + k * 4099) % len(hosts)]["text"].split("\n")
            at = len(rows) * (1 + (len(seen) + k) % 5) // 6
            first = max(0, at - 30)
            text = "\n".join(rows[first:at] + [frames[(len(seen) + 3 * k) % len(frames)] % line] + rows[at:at + 30])
            for t in (text, line)[:1 if d["source"].startswith("gen:") or k else 2]:  # and once by itself
                n += 1
                yield planted({"id": f"in-{n}", "source": d["source"], "label": d["label"], "text": t, "tier": d["tier"], "primary": True,
                               "more": IN_FILE_MORE if t is text else 1.0}, line)


def read_ordinary(path, folder):
    for n, (name, text) in enumerate(ordinary.texts(path, folder)):
        yield {"id": f"ordinary-{n}", "source": "ordinary:" + name, "label": 0, "text": text, "tier": "natural", "primary": False}


def group(d):
    """What is left out together."""
    name, _, rest = d["source"].partition(":")
    if name in ("repo", "file", "authfile", "lockfile", "asset"):
        return "repo%d" % (sum(rest.encode()) % 2)
    if name in ("agentdojo", "injecagent", "xinjectagent"):
        return "agents"
    if name in ("garak", "deepset", "promptfoo", "piguard_valid_pint"):
        return "chat"
    return name if name in ("own", "gen", "held", "ordinary", "synthetic_embed") else "other"


def kind_of(d):
    """The false-positive budget a negative counts against."""
    t = d["tier"]
    if t == "file":
        return "file"
    if t.startswith("agent_doc"):
        return "agent_doc"
    if t == "security_doc":
        return "security_doc"
    return "natural"


def against(d):
    """How much a sentence of a harmless text counts."""
    g = group(d)
    if g in ("own", "gen"):
        return d.get("more", 1.0) * (ABOUT_AGAINST if d["tier"] == "security_doc" else OWN_AGAINST)
    if g not in ("repo0", "repo1", "other"):
        return 1.0
    return AGENT_AGAINST if kind_of(d) == "agent_doc" else REAL_AGAINST


class Set:
    """Sentences of all texts, their features as a matrix of zeros and ones."""

    def __init__(self, docs, program, names):
        self.docs, self.middle = docs, prior(names).astype(np.float32)
        self.fit_program = program.replace("inject-features", "inject-fit")
        lines = "".join(json.dumps({"id": str(i), "text": d["text"]}) + "\n" for i, d in enumerate(docs))
        out = subprocess.run([program], input=lines.encode("utf-8", "surrogatepass"), stdout=subprocess.PIPE, check=True).stdout.decode()
        idx, row, doc, base, talk, strong, inside = [], [], [], [], [], [], []
        for line in out.splitlines():
            if line.startswith("= "):
                now = int(line[2:])
                continue
            v = line.split()
            base.append(float(v[2]))
            talk.append(1.0 - float(v[1]))
            strong.append(v[3] == "1")
            inside.append(int(v[4]) < docs[now]["planted"][1] and int(v[5]) > docs[now]["planted"][0] if "planted" in docs[now] else True)
            idx.extend(map(int, v[6:]))
            row.extend([len(doc)] * (len(v) - 6))
            doc.append(now)
        self.doc = np.array(doc)
        self.first = np.append(0, np.cumsum(np.bincount(row, minlength=len(doc)))).astype(np.uint32)
        self.feature = np.array(idx, np.uint16)
        self.base, self.talk, self.strong = np.array(base), np.array(talk), np.array(strong)
        told = np.zeros(COUNT, np.float32)  # by rules that do not only find an agent addressed
        told[[SHAPE + names["S_HIT"] + k for k in range(16) if k != names["INJECT_FAMILY_AGENT"]]] = 1.0
        self.told = self.sums(told) > 0.0
        self.label = np.array([d["label"] for d in docs])[self.doc]
        self.against = np.array([against(d) for d in docs])[self.doc]
        self.bulk = np.array([group(d) == "ordinary" for d in docs])[self.doc]
        self.inside = np.array(inside)  # of what was planted, where that is known
        self.against[~self.inside] = 0.0  # what stands around a harmless line of our own is taught elsewhere
        self.weight = np.array([d.get("more", 1.0) * TRAIN_WEIGHT.get(d["tier"], 0.0) for d in docs])
        self.given = (np.maximum(self.base, 0.0) - TALK * self.talk).astype(np.float32)  # what score.c adds to the model

    def sums(self, w):
        """Per sentence: the sum of the rows of w that belong to its features."""
        out = np.zeros((len(self.doc), *w.shape[1:]), np.float32)
        for a in range(0, len(self.doc), 4096):
            b = min(a + 4096, len(self.doc))
            f = self.feature[self.first[a]:self.first[b]]
            at, of = f < len(w), np.repeat(np.arange(b - a), np.diff(self.first[a:b + 1].astype(int)))
            if w.ndim == 1:
                out[a:b] = np.bincount(of[at], weights=w[f[at]], minlength=b - a)
            else:
                start = np.append(0, np.cumsum(np.bincount(of[at], minlength=b - a)))
                out[a:b] = np.add.reduceat(np.vstack([w[f[at]], np.zeros((1, w.shape[1]), np.float32)]), start[:-1]) * (np.diff(start) > 0)[:, None]
        return out

    def best(self, s):
        """Per text: the best score, -20 when no sentence is scored."""
        top = np.full(len(self.docs), -20.0)
        np.maximum.at(top, self.doc, s)
        return top


class Net:
    """One hidden layer and a straight way past it."""

    def __init__(self, middle, rng):
        small = (rng.normal(0.0, 0.05, (DEEP, HIDDEN)), np.zeros(HIDDEN), rng.normal(0.0, 0.3, HIDDEN), PRIOR * middle, np.full(1, -3.0))
        self.p = [a.astype(np.float32) for a in small]

    def score(self, s):
        a, b, out, straight, bias = self.p
        return np.maximum(s.sums(a) + b, 0.0) @ out + s.sums(straight) + bias

    def fit(self, s, rows, y, c, seed):
        """By inject-fit: the job on its standard input, the weights on its standard output."""
        head = np.array([len(s.doc), COUNT, HIDDEN, len(rows), EPOCHS, BATCH, DEEP, 0], np.uint32).tobytes() + np.uint64(seed).tobytes()
        parts = [np.array([PRIOR, RATE, DECAY, DROP], np.float32), s.first, s.feature, y, c, s.given, rows.astype(np.uint32), s.middle, *self.p]
        got = subprocess.run([s.fit_program], input=head + b"".join(a.tobytes() for a in parts), stdout=subprocess.PIPE, check=True).stdout
        got, at = np.frombuffer(got, np.float32), 0
        for k, a in enumerate(self.p):
            self.p[k] = got[at:at + a.size].reshape(a.shape).copy()
            at += a.size

    @classmethod
    def joined(cls, nets):
        """Side by side as one."""
        one = cls.__new__(cls)
        p = list(zip(*(n.p for n in nets)))
        one.p = [np.hstack(p[0]), np.concatenate(p[1]), np.concatenate(p[2]) / len(nets), sum(p[3]) / len(nets), sum(p[4]) / len(nets)]
        return one

    def rounded(self):
        """As it is written: small integers and a scale for each unit."""
        a, _, _, straight, _ = self.p
        scale = np.maximum(np.abs(a).max(0), 1e-3) / 127.0
        straight_scale = max(float(np.abs(straight).max()), 1e-3) / 127.0
        self.ints = np.round(a / scale).astype(int), np.round(straight / straight_scale).astype(int)
        self.scales = scale, straight_scale
        self.p[0] = (self.ints[0] * scale).astype(np.float32)
        self.p[3] = (self.ints[1] * straight_scale).astype(np.float32)
        return self


def targets(s, use, guess, turn):
    """Which sentences of the positive texts are to be learned, and how much each sentence counts."""
    in_use = use[s.doc]
    guess = np.where(s.inside, guess, HELD)
    chosen = (s.label == 1) & in_use & s.inside & (guess >= s.best(guess)[s.doc] - 1e-6)
    if turn:
        chosen |= (s.label == 1) & in_use & (guess > 1.5)
    c = np.where(s.label == 0, s.against, np.where(chosen, s.weight[s.doc], 0.0)) * in_use
    per = np.bincount(s.doc, weights=chosen, minlength=len(s.docs))
    c = np.where(chosen, c / np.maximum(per[s.doc], 1.0), c)  # a text counts once, however many of its sentences were chosen
    for part, weight in ((s.label == 0) & ~s.bulk, OTHERS), (s.bulk, BULK):
        c[part] *= weight * c[chosen].sum() / max(c[part].sum(), 1.0)
    rows = np.nonzero(c > 0)[0]
    return rows, chosen.astype(np.float32), (c / c[rows].mean()).astype(np.float32)


def fit(s, use, seed=SEEDS[0]):
    """use: mask over texts."""
    rng = np.random.default_rng(seed)
    guess = s.sums(s.middle) - 4.0 + s.given
    for turn in range(ROUNDS):
        rows, y, c = targets(s, use, guess, turn)
        net = Net(s.middle, rng)
        net.fit(s, rows, y, c, seed)
        guess = net.score(s) + s.given
    return net


def combine(s, model):
    """As inject_combine in score.c, with the model's zero moved to its threshold."""
    says = SAYS * (s.told & (s.base >= SAYS_FROM) & (1.0 - s.talk >= SAYS_MEANT))
    return s.given + says + np.where(s.strong, np.maximum(model, DOUBT_MOST), model)


def together(s, use):
    """The mean of several nets: it wavers less than one."""
    return Net.joined([fit(s, use, k) for k in SEEDS])


def one_left_out(job):
    g, gone = job
    return g, together(Set.all, ~gone).score(Set.all)


def leave_one_out(s):
    """Scores of each sentence by weights that saw nothing of its source; texts of the grammar are never left out, nor scored."""
    groups = np.array([group(d) for d in s.docs])
    out = np.full(len(s.doc), HELD)
    made_from = {"agents", "chat"}
    held = groups == "held"
    jobs = [(g, (groups == g) | held | ((groups == "synthetic_embed") & (g in made_from))) for g in sorted(set(groups) - {"gen", "ordinary"})]
    Set.all = s
    with multiprocessing.get_context("fork").Pool() as pool:
        for g, top in pool.imap_unordered(one_left_out, jobs):
            mine = (groups == g)[s.doc]
            out[mine] = top[mine]
            print(f"  left out {g}: {mine.sum()} sentences", file=sys.stderr)
    return out


# Kinds of our own texts that are of one theme are left out together, so that none is judged by its like.
THEMES = {
    "tool": "tool-manual tool-poisoning tool-need smuggle-parameter tool-poison tool-duty tool-wants tool-others tool-asks", "image": "picture-trick image-link riddle", "memory": "profile-notes memory memory-write persist slow-burn",
    "rules": "rules-file backdoor-rule rule-planted habit-planted habit-config plant-habit agent-rules-poison cursor-rule-poison skill-poison memory-and-habit claude-md cursorrules", "aside": "new-words override set-aside new-task before-you-continue task-switch put-differently plain-override",
    "authority": "legal-voice fake-authority identity authority consent-claimed important-user", "turns": "done-then forged-turn turns next-task", "error": "status-trick false-frame fake-error plain-threat",
    "verdict": "recommend-this set-answer falsify verdict-job answer-only small-print words-in-mouth", "data": "data-rows log-csv data-talk data-field log-line cell-text json-words",
    "language": "sprachen translated more-languages tongues other-language tongues-two", "repo": "code-remarks issue-steps package-meta repo-talk code-words old-news", "mail": "invite-lines mail-calendar invite-mail quiet-ticket",
    "web": "shop-lines web-page page-talk web web-trap", "secrecy": "secrecy hide-it hidden-step quiet-change", "leak": "exfil prompt-leak tell-secret", "persona": "let-us-play persona freed",
    "orders": "change-details open-doors tidy-away money-moves tool-order goal plain-order plain-words", "soft": "plain-favour moral-appeal polite softly custom indirect-policy bureau chatty side-wish gentle", "called": "reader-address job-addressed called reader-robots"}
FOLDS = 8


def theme(d):
    name, _, kind = d["source"].partition(":")
    if name not in ("own", "gen"):
        return None
    return next((t for t, kinds in THEMES.items() if d["label"] and kind in kinds.split()), kind)


def leave_kind_out(s, zero, out):
    """How much is found of kinds of attacks that were never seen, and how many harmless texts of unseen kinds are flagged."""
    themes = [theme(d) for d in s.docs]
    known = sorted({(d["label"], t) for d, t in zip(s.docs, themes) if t})
    fold = {k: i % FOLDS for i, k in enumerate(known)}
    number = np.array([fold[d["label"], t] if t else -1 for d, t in zip(s.docs, themes)])
    score = np.full(len(s.doc), HELD)
    Set.all = s
    with multiprocessing.get_context("fork").Pool() as pool:
        held = np.array([group(d) == "held" for d in s.docs])
        for k, top in pool.imap_unordered(one_left_out, [(k, (number == k) | held) for k in range(FOLDS)]):
            mine = (number == k)[s.doc]
            score[mine] = top[mine]
    best = s.best(combine(s, score - zero))
    for label in (0, 1):
        total, flagged = 0, 0
        for _, t in (k for k in known if k[0] == label):
            v = np.array([b for b, d, x in zip(best, s.docs, themes) if x == t and d["label"] == label])
            print("%s %-16s %5d  %6.2f %%" % ("-+"[label], t, len(v), 100.0 * (v >= 0).mean()), file=out)
            total, flagged = total + len(v), flagged + (v >= 0).sum()
        print("%s all              %5d  %6.2f %%" % ("-+"[label], total, 100.0 * flagged / total), file=out)
    return np.where([t is None for t in themes], HELD, best)


def shares(docs, score, mark):
    """Flagged share of each kind of negative text, own texts left out. What is nearly the same counts once."""
    n, bad, seen = collections.Counter(), collections.Counter(), set()
    for d, x in zip(docs, score):
        if d["label"] or d["tier"] == "user_prompt" or d["source"].startswith(("own:", "gen:", "held:", "ordinary:")):
            continue
        n[kind_of(d)] += 1
        if x >= mark and d["twin"] not in seen:
            seen.add(d["twin"])
            bad[kind_of(d)] += 1
    return {k: bad[k] / n[k] for k in n}, n


def find_zero(s, model):
    """The lowest threshold of the model at which rules and model together keep the budgets, or do as well as rules alone. Of few
    texts two may be above: one more or less of them is chance."""
    floor, _ = shares(s.docs, s.best(combine(s, np.full(len(s.doc), -20.0))), 0.0)
    for zero in np.arange(-2.0, 12.0, 0.05):
        now, n = shares(s.docs, s.best(combine(s, model - zero)), 0.0)
        if all(now[k] <= max(BUDGET[k], floor[k], 2.0 / n[k]) for k in now):
            return zero
    return 12.0


def find_malicious(docs, score):
    """A tenth of the budgets; of few texts two may be above."""
    for mark in np.arange(0.5, 20.0, 0.05):
        now, n = shares(docs, score, mark)
        if all(now[k] <= max(BUDGET[k] / 10.0, 2.0 / n[k]) for k in now):
            return mark
    return 20.0


def table(docs, score, marks, out):
    by = collections.OrderedDict()
    for d, x in sorted(((d, x) for d, x in zip(docs, score) if not x == HELD), key=lambda z: (z[0]["label"], z[0]["source"].split(":")[0], z[0]["tier"])):
        k = ("+" if d["label"] else "-", d["source"].split(":")[0], d["tier"])
        by.setdefault(k, []).append(x)
    for k, v in by.items():
        cells = "  ".join("%6.2f %%" % (100.0 * sum(x >= m for x in v) / len(v)) for m in marks)
        print("%s %-20s %-18s %5d  %s" % (*k, len(v), cells), file=out)


def held_table(docs, score, marks, out):
    """What is found and flagged of the kinds that nothing is learned from."""
    by = collections.defaultdict(list)
    for d, x in zip(docs, score):
        if group(d) == "held":
            by["-+"[d["label"]], d["source"].partition(":")[2]].append(x)
            by["-+"[d["label"]], "all " + (d["tier"] if not d["label"] else "")].append(x)
    for k, v in sorted(by.items()):
        print("%s held %-20s %5d  %s" % (*k, len(v), "  ".join("%6.2f %%" % (100.0 * sum(x >= m for x in v) / len(v)) for m in (0.0, marks[1]))), file=out)


def read_examples(folder):
    """What the rules for injection say that they match."""
    rules = (r for p in sorted(pathlib.Path(folder).glob("inject/*.yaml")) for r in yaml.safe_load(p.read_text(encoding="utf-8")))
    return [e for r in rules for e in r.get("match", [])]


def fit_gate(s, program, net, zero, rules):
    """Sentences of positive texts that are above zero are to pass, and what rules match in their own examples; those of negative
    texts are not."""
    examples = read_examples(rules)
    v = gate.Sentences([d["text"] for d in s.docs] + examples, program)
    ours, score = v.doc < len(s.docs), np.full(len(v.doc), -20.0)
    score[ours & (v.score > -1e5)] = combine(s, net.score(s) - zero)
    label = np.array([d["label"] if group(d) != "held" else -1 for d in s.docs] + [-1] * len(examples))[v.doc]
    weight = np.append(s.weight, np.zeros(len(examples)))[v.doc]
    sure = ~ours & v.hit & v.comes
    return gate.Gate(v, sure | ((label == 1) & (weight > 0) & (score > -0.5) & v.comes), (label == 0) & v.comes, sure)


def numbers(f, name, values, form):
    f.write(f"static const {name} = {{\n")
    for i in range(0, len(values), 128):
        f.write("\t" + ",".join(form % v for v in values[i:i + 128]) + ",\n")
    f.write("};\n")


def head(f):
    f.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* Generated by tools/train/train-inject.py: do not edit. */\n")
    f.write("/* clang-format off */\n#pragma once\n\n#include <stdint.h>\n\n")


def write_gate(path, g):
    with open(path, "w", encoding="utf-8") as f:
        head(f)
        g.write(f, numbers)


def write(path, net, marks):
    _, b, out, _, bias = net.p
    with open(path, "w", encoding="utf-8") as f:
        head(f)
        f.write(f"#define HIDDEN {len(b)}u\n#define DIRECT_SCALE {net.scales[1]:.9f}\n#define WEIGHT_BIAS {bias[0]:.6f}\n")
        f.write(f"#define SCORE_SUSPICIOUS {marks[0]:.4f}\n#define SCORE_MALICIOUS {marks[1]:.4f}\n\n")
        numbers(f, "double hidden_scale[HIDDEN]", net.scales[0], "%.9f")
        numbers(f, "double hidden_bias[HIDDEN]", b, "%.6f")
        numbers(f, "double hidden_out[HIDDEN]", out, "%.6f")
        numbers(f, f"int8_t direct[{COUNT}]", net.ints[1], "%d")
        f.write(f"static const int8_t hidden[{DEEP}][HIDDEN] = {{\n")
        rows = ["{" + ("0" if not row.any() else ",".join(map(str, row))) + "}," for row in net.ints[0]]
        f.writelines("\t" + "".join(rows[i:i + 5]) + "\n" for i in range(0, len(rows), 5))
        f.write("};\n")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--data", required=True)
    a.add_argument("--features", required=True)
    a.add_argument("--own", nargs="+", help="own texts; the first file also has what they are put into")
    a.add_argument("--grammar")
    a.add_argument("--held", help="own texts of kinds that nothing is learned from")
    a.add_argument("--ordinary", nargs=2, default=[], help="list of packages, and where they are")
    a.add_argument("--shapes", required=True, help="shapes.h")
    a.add_argument("--lexicon", required=True, help="the generated inject-lexicon.h")
    a.add_argument("--out", help="weights.h")
    a.add_argument("--gate", help="gate-weights.h, with --out")
    a.add_argument("--rules", help="folder of the rules, with --out")
    a.add_argument("--scores")
    a.add_argument("--kinds", action="store_true", help="measure kinds of texts that were left out, too")
    z = a.parse_args()
    docs = list(read_data(z.data)) + list(read_more(pathlib.Path(z.data).parent)) + (list(read_own(z.own)) if z.own else [])
    docs += list(read_grammar(z.grammar, z.own[0])) if z.grammar else []
    docs += list(read_own([z.held], "held")) if z.held else []
    hosts = list(read_ordinary(*z.ordinary)) if z.ordinary else []
    docs += (list(in_files(docs, hosts)) if hosts else []) + hosts
    s = Set(docs, z.features, read_names(z.shapes, z.lexicon))
    print("rules alone (1, 4):")
    table(docs, s.best(s.base), [1.0, 4.0], sys.stdout)
    model = leave_one_out(s)
    least = find_zero(s, model)
    zero = least + MARGIN
    loso = np.where([group(d) in ("gen", "ordinary") for d in docs], HELD, s.best(combine(s, model - zero)))
    marks = [zero, find_malicious(docs, loso)]
    print("leave-one-source-out, together; suspicious (0), malicious (%.2f):" % marks[1])
    table(docs, loso, [0.0, marks[1]], sys.stdout)
    held_table(docs, loso, marks, sys.stdout)
    kinds = loso
    if z.kinds:
        print("leave-kind-out (own texts and those of the grammar):")
        kinds = leave_kind_out(s, zero, sys.stdout)
    if z.scores:
        with open(z.scores, "w", encoding="utf-8") as f:
            for d, x, y in zip(docs, loso, kinds):
                f.write(f"{d['id']}\t{x:.4f}\t{y:.4f}\n")
    if z.out:
        use = np.array([group(d) != "held" for d in docs])
        net = together(s, use).rounded()
        write(z.out, net, marks)
        write_gate(z.gate, fit_gate(s, z.features, net, least, z.rules))
        print("trained on everything:")
        table(docs, s.best(combine(s, net.score(s) - zero)), [0.0, marks[1]], sys.stdout)


main()
