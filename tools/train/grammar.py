"""Texts for training out of inject-grammar.txt: templates with slots, expanded at random with a fixed seed."""
import random
import re

PER_TEMPLATE = {"attack": 12, "benign": 9, "agentdoc": 10}
KINDS = ("attack", "benign", "agentdoc", "about", "carrier")
NAMED = {"domain", "url", "mail", "devact", "does"}  # slots that may be named as an alternative
DOC_TITLES = ("# AGENTS.md", "# CLAUDE.md", "# Project rules", "# Instructions for agents", "You are a coding agent.", "## Guidelines",
              "---\nname: workflow\ndescription: how we work here\n---", "# Copilot instructions", "# Conventions")


class Grammar:
    def __init__(self, path, seed=20240607):
        self.slots, self.parts, self.rng = {}, [], random.Random(seed)
        now, literal = None, False
        for line in open(path, encoding="utf-8").read().split("\n"):
            head = re.match(r"\[(%s) ([a-z-]+)\]$" % "|".join(KINDS), line)
            if line.startswith("%") and re.match(r"%[a-z0-9]+$", line):
                now, literal = self.slots.setdefault(line[1:], []), False
            elif head:
                now, literal = [], head[1] == "carrier"
                self.parts.append((head[1], head[2], now))
            elif now is not None and (literal or line.strip() and not line.startswith("# ---")):
                now.append(line)

    def expand(self, text, depth=0):
        out, i = [], 0
        while i < len(text):
            if text[i] != "{":
                out.append(text[i])
                i += 1
                continue
            level, cuts, k = 0, [i], i
            while k < len(text):
                level += (text[k] == "{") - (text[k] == "}")
                if not level:
                    break
                if text[k] == "|" and level == 1:
                    cuts.append(k)
                k += 1
            cuts.append(k)
            inner = [text[a + 1:b] for a, b in zip(cuts, cuts[1:])]
            if level or depth > 12:
                out.append(text[i])
                i += 1
                continue
            out.append(self.choose(inner, depth))
            i = k + 1
        return "".join(out)

    def choose(self, inner, depth):
        pick = self.rng.choice(inner)
        if pick in self.slots and (len(inner) == 1 or pick in NAMED):
            pick = self.rng.choice(self.slots[pick])
        elif len(inner) == 1:
            return "{" + self.expand(pick, depth + 1) + "}"
        return self.expand(pick, depth + 1)

    def sentence(self, template):
        """One expansion, in one of the ways people write."""
        x = re.sub(r" +", " ", self.expand(template.replace("\\n", "\n"))).replace(" .", ".").replace(" ,", ",").strip(" ")
        style = self.rng.random()
        if style < 0.85:
            x = re.sub(r"(^|[.!?] +|: )([a-z])", lambda m: m[1] + (m[2] if m[1] == ": " else m[2].upper()), x)
        elif style < 0.90:
            x = x.lower()
        elif style < 0.93:
            x = x.upper() if "http" not in x and "/" not in x else x
        return x.replace(". .", ".").replace("..", ".") if style < 0.97 else x.rstrip(".") + " !!"

    def texts(self, carriers):
        """Yields (label, kind, tier, text, what was planted in it); kind names what is left out together."""
        carriers = [c for c in carriers] + ["\n".join(body).strip("\n") for what, _, body in self.parts if what == "carrier"]
        lines = [(what, name, x) for what, name, body in self.parts for x in body if what != "carrier"]
        about = [x for what, _, x in lines if what == "about"]
        docs = [x for what, _, x in lines if what == "agentdoc"]
        for what, name, x in lines:
            for _ in range(PER_TEMPLATE.get(what, 0)):
                s = self.sentence(x)
                if what == "attack":
                    yield 1, name, "own", self.plant(s, carriers, docs), s
                    if self.rng.random() < 0.25:
                        yield 0, "about", "security_doc", self.expand(self.rng.choice(about).replace("\\n", "\n")).replace("@@", s), s
                elif what == "benign":
                    yield 0, name, "natural", self.plant(s, carriers, None), s
                else:
                    yield 0, name, "agent_doc", s if self.rng.random() < 0.3 else self.doc(docs, s), s

    def plant(self, s, carriers, docs):
        if self.rng.random() < 0.25:
            return s
        if docs and self.rng.random() < 0.12:
            return self.doc(docs, "- " + s)
        return self.expand(self.rng.choice(carriers)).replace("@@", s)

    def doc(self, docs, s):
        """A file of instructions for agents with s somewhere in it."""
        n = self.rng.randrange(3, 12)
        body = [self.sentence(self.rng.choice(docs)) for _ in range(n)]
        body.insert(self.rng.randrange(n), s)
        return self.rng.choice(DOC_TITLES) + "\n\n" + "\n".join(body) + "\n"
