#!/usr/bin/env python3
"""Whatever a rule matches has what hyperscan looks for instead of it. needs.py RULES: texts are made at random from each pattern that
says what it needs, and those that it does match must have that from where the match starts."""
import pathlib
import random
import re
import sys

import yaml

try:
    import re._parser as parser
except ImportError:  # before Python 3.11
    import sre_parse as parser

TEXTS = 500  # for each pattern
KINDS = {"CATEGORY_SPACE": " \n\t", "CATEGORY_NOT_SPACE": "a-.", "CATEGORY_WORD": "azX09_", "CATEGORY_NOT_WORD": " -.",
         "CATEGORY_DIGIT": "059", "CATEGORY_NOT_DIGIT": "a -"}
OTHERS = "abc xyz,;-:'\"09"  # what a class that excludes some is taken from


def one_of(items):
    some = []
    for op, arg in items:
        if str(op) == "LITERAL":
            some.append(chr(arg))
        elif str(op) == "RANGE":
            some += map(chr, range(arg[0], arg[1] + 1))
        elif str(op) == "CATEGORY":
            some += KINDS[str(arg)]
    if str(items[0][0]) == "NEGATE":
        some = [c for c in OTHERS if c not in some]
    return random.choice(some)


def text_of(items):
    out = ""
    for op, arg in items:
        name = str(op)
        if name == "LITERAL":
            out += chr(arg)
        elif name in ("ANY", "NOT_LITERAL"):
            out += random.choice("'a x")
        elif name == "IN":
            out += one_of(arg)
        elif name == "BRANCH":
            out += text_of(random.choice(arg[1]))
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            out += text_of(arg[-1] if name == "SUBPATTERN" else arg)
        elif name.endswith("_REPEAT"):
            least, most = arg[0], min(int(arg[1]), arg[0] + 6)
            for _ in range(random.choice((least, least, min(least + 1, most), random.randint(least, most)))):
                out += text_of(arg[2])
    return out


def patterns(folder):
    for path in sorted(folder.rglob("*.yaml")):
        for rule in yaml.safe_load(path.read_text(encoding="utf-8")):
            for p in rule.get("patterns", []):
                if "needs" in p and isinstance(p, dict):
                    yield rule, p["pattern"], p["needs"]


def check(rule, pattern, needs):
    flags = re.ASCII | (re.IGNORECASE if rule.get("caseless") else 0)
    whole, part, items = re.compile(pattern, flags), re.compile(needs, flags), parser.parse(pattern)
    matched = 0
    for _ in range(TEXTS):
        text = random.choice(("", " ", "x ", ". ")) + text_of(items) + random.choice(("", " ", ".", " x"))
        m = whole.search(text)
        matched += bool(m)
        if m and not part.search(text, m.start()):
            sys.exit(f"{rule['id']}: '{text}' matches '{pattern}' without '{needs}'")
    return matched


def main():
    random.seed(1)
    matched = [check(*p) for p in patterns(pathlib.Path(sys.argv[1]))]
    if not matched or sum(n > TEXTS // 20 for n in matched) * 10 < len(matched) * 9:
        sys.exit("too few texts match: nothing was tested")
    print(f"{sum(matched)} texts of {len(matched)} patterns")


main()
