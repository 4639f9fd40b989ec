# SPDX-License-Identifier: Apache-2.0
"""
The gate before the model (src/inspect/inject/gate.c): what lets nearly all sentences pass that matter, and little else. First a
small network over the classes of a sentence's words and of its neighbours', then the words themselves on top of that. Everything
is in integers, as the program computes it.
"""
import json
import subprocess

import numpy as np

INPUTS, HIDDEN, LONG = 130, 8, 12  # as in gate.c
LOSS, LOSS_OUTRIGHT, LOSS_WORDS = 0.010, 0.001, 0.001  # of the sentences that matter, at each step
STEPS, BATCH, DECAY = 3000, 8192, 1e-5
WORDS, WORD_SHIFT, WORD_SCALE = 1 << 14, 18, 32  # the first bits of a word's hash tell its weight
WORD_STEPS, WORD_BATCH, WORD_DECAY, WORD_DROP = 1500, 6000, 1e-4, 0.3
SURE = 30.0  # how much more those count that have to pass
UNIT = 1024  # of the sums


class Adam:
    """Parameters that follow their gradients; steps get smaller to the end."""

    def __init__(self, values, rate, steps):
        self.p = [v.astype(np.float32) for v in values]
        self.m, self.v = [0 * k for k in self.p], [0 * k for k in self.p]
        self.rate, self.steps, self.t = rate, steps, 0

    def step(self, grad):
        self.t += 1
        rate = self.rate * (1 - (self.t - 1) / self.steps)
        for k, g in enumerate(grad):
            self.m[k], self.v[k] = 0.9 * self.m[k] + 0.1 * g, 0.99 * self.v[k] + 0.01 * g * g
            self.p[k] = self.p[k] - rate * (self.m[k] / (1 - 0.9 ** self.t)) / (np.sqrt(self.v[k] / (1 - 0.99 ** self.t)) + 1e-8)


def wrong(z, y):
    return (1 / (1 + np.exp(-np.clip(z, -30, 30))) - y).astype(np.float32) / len(y)


def least(sums, wanted, sure, loss):
    """What a sentence needs so that no more is lost of the wanted, and nothing of the sure."""
    return int(min(np.floor(np.quantile(sums[wanted], loss)), sums[sure].min()))


class Sentences:
    """What the detector says of every sentence of these texts (inject-features -g)."""

    def __init__(self, texts, program):
        lines = "".join(json.dumps({"id": str(i), "text": t}) + "\n" for i, t in enumerate(texts))
        out = subprocess.run([program, "-g"], input=lines.encode("utf-8", "surrogatepass"), stdout=subprocess.PIPE, check=True).stdout.decode()
        own, near, rest, doc, words, ends = [], [], [], [], [], [0]
        for line in out.splitlines():
            v = line.split()
            if v[0] == "=":
                now = int(v[1])
                continue
            own.append(int(v[0], 16))
            near.append(int(v[1], 16))
            rest.append([float(x) for x in v[2:8]])
            doc.append(now)
            words.extend(int(x, 16) >> WORD_SHIFT for x in v[8:])
            ends.append(len(words))
        rest = np.array(rest, np.float32)
        self.doc, self.words, self.ends = np.array(doc), np.array(words), np.array(ends)
        self.comes, self.outright, self.hit, self.score = rest[:, 2] > 0, rest[:, 3] > 0, rest[:, 4] > 0, rest[:, 5]
        self.x = np.zeros((len(own), INPUTS), np.uint8)
        for k in range(64):
            self.x[:, k] = np.array(own, np.uint64) >> np.uint64(k) & np.uint64(1)
            self.x[:, 64 + k] = np.array(near, np.uint64) >> np.uint64(k) & np.uint64(1)
        self.x[:, 128], self.x[:, 129] = rest[:, 0], rest[:, 1] >= LONG

    def word_sums(self, weights):
        c = np.concatenate([[0], np.cumsum(weights[self.words])])
        return c[self.ends[1:]] - c[self.ends[:-1]]


class Gate:
    def __init__(self, s, wanted, others, sure):
        """wanted, others, sure: which sentences of s are to pass, which not, and which of the wanted have to."""
        times = np.where(sure, SURE, 1.0)
        self.fit_classes(s.x, wanted, others, times)
        sums = self.class_sums(s.x)
        self.least = [least(sums, wanted & which, sure & which, loss) for which, loss in ((~s.outright, LOSS), (s.outright, LOSS_OUTRIGHT))]
        passed = s.comes & (sums >= np.where(s.outright, self.least[1], self.least[0]))
        self.fit_words(s, sums, np.flatnonzero(passed & (wanted | others)), wanted, times)
        sums = sums + WORD_SCALE * s.word_sums(self.word)
        self.least.append(least(sums, wanted & passed, sure, LOSS_WORDS))
        for name, p in ("by classes", passed), ("by words", passed & (sums >= self.least[2])):
            print("gate, %s: %.2f %% of %d sentences that matter and %.2f %% of %d others pass" % (
                name, 100 * p[wanted].mean(), wanted.sum(), 100 * p[others].sum() / (~wanted).sum(), (~wanted).sum()))

    def fit_classes(self, x, wanted, others, times):
        # many are alike: each kind of row once, with how many there are
        rows, which = np.unique(np.hstack([x, wanted[:, None]])[wanted | others], axis=0, return_inverse=True)
        y, c, r = rows[:, -1].astype(np.float32), np.bincount(which.ravel(), weights=times[wanted | others]), np.random.RandomState(1)
        c[y > 0] *= 20.0 * c[y == 0].sum() / max(c[y > 0].sum(), 1.0)
        rows, c = rows[:, :-1].astype(np.float32), c / c.sum()
        net = Adam([0.1 * r.randn(INPUTS, HIDDEN), np.zeros(HIDDEN), 0.3 * r.randn(HIDDEN), np.zeros(INPUTS), np.zeros(1)], 0.01, STEPS)
        for _ in range(STEPS):
            at = r.choice(len(rows), BATCH, p=c)
            first, bias, out, direct, base = net.p
            before = rows[at] @ first + bias
            after = np.maximum(before, 0)
            g = wrong(after @ out + rows[at] @ direct + base, y[at])
            back = np.outer(g, out) * (before > 0)
            net.step([rows[at].T @ back + DECAY * first, back.sum(0), after.T @ g + DECAY * out, rows[at].T @ g + DECAY * direct, g.sum(keepdims=True)])
        first, bias, out, direct, _ = net.p
        self.first = np.clip(np.round(16 * first), -127, 127).astype(int)
        self.bias, self.out, self.direct = (np.round(k * v).astype(int) for k, v in ((16, bias), (UNIT // 16, out), (UNIT, direct)))

    def class_sums(self, x):
        return np.concatenate([np.maximum(r.astype(np.float32) @ self.first + self.bias, 0) @ self.out + r.astype(np.float32) @ self.direct
                               for r in np.array_split(x, len(x) // 200000 + 1)])

    def fit_words(self, s, sums, which, wanted, times):
        y, z, r = wanted[which].astype(np.float32), sums[which] / UNIT, np.random.RandomState(1)
        c = times[which] * np.where(y > 0, 4.0 * (y == 0).sum() / max(y.sum(), 1.0), 1.0)
        c /= c.sum()
        net = Adam([np.ones(1), np.zeros(1), np.zeros(WORDS)], 0.02, WORD_STEPS)
        for _ in range(WORD_STEPS):
            at = r.choice(len(y), WORD_BATCH, p=c)
            first, n = s.ends[which[at]], s.ends[which[at] + 1] - s.ends[which[at]]
            of = np.repeat(np.arange(WORD_BATCH), n)
            w = s.words[np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n) + np.repeat(first, n)]
            kept = r.rand(len(w)) >= WORD_DROP  # what is known of one word is not to decide
            of, w = of[kept], w[kept]
            scale, base, word = net.p
            g = wrong(scale * z[at] + base + np.bincount(of, weights=word[w], minlength=WORD_BATCH), y[at])
            net.step([(g * z[at]).sum(keepdims=True), g.sum(keepdims=True), np.bincount(w, weights=g[of], minlength=WORDS).astype(np.float32) + WORD_DECAY * word])
        scale, _, word = net.p
        self.word = np.clip(np.round(word / scale * UNIT / WORD_SCALE), -127, 127).astype(int)

    def write(self, f, numbers):
        f.write(f"#define GATE_INPUTS {INPUTS}u\n#define GATE_HIDDEN {HIDDEN}u\n#define GATE_WORD_SHIFT {WORD_SHIFT}\n#define GATE_WORD_SCALE {WORD_SCALE}\n")
        f.write(f"#define GATE_MIN {self.least[0]}\n#define GATE_OUTRIGHT {self.least[1]}\n#define GATE_WORDS_MIN {self.least[2]}\n\n")
        f.write("static const int8_t gate[GATE_INPUTS][GATE_HIDDEN] = {\n" + "".join("\t{" + ",".join(map(str, r)) + "},\n" for r in self.first) + "};\n")
        numbers(f, "int16_t gate_bias[GATE_HIDDEN]", self.bias, "%d")
        numbers(f, "int16_t gate_out[GATE_HIDDEN]", self.out, "%d")
        numbers(f, "int16_t gate_direct[GATE_INPUTS]", self.direct, "%d")
        numbers(f, f"int8_t gate_word[{WORDS}]", self.word, "%d")
